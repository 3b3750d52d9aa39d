/*
 * AES-XTS beyond what the tests of all ciphers do with it, compared with the default provider's:
 * keys that are refused, every short length, the longest data units, where bytes are counted, on
 * the CPU and on the device; then several threads, and devices that are lost.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/cases.h"
#include "test/support/compared.h"
#include "test/support/device_state.h"

enum { UNIT_MOST = 16 * MIB };

static const struct cipher_row *const rows = cipher_rows + CIPHER_ROWS;
enum { ROWS = UNTAGGED_ROWS - CIPHER_ROWS };

static struct memory *memory;
static int on_device;

static struct stream open_stream(struct memory *where, const struct cipher_row *row, int encrypt)
{
    unsigned char key[LONGEST_KEY];
    tap_random_bytes(&random_state, key, sizeof key);
    return stream_open_with(where, row->name, key, usual_iv, encrypt, NULL);
}

/* ---- Keys ---------------------------------------------------------------------------- */

/* Both halves are the same: refused when it is to encrypt. */
static void check_equal_halves(const struct cipher_row *row)
{
    unsigned char equal[LONGEST_KEY];
    tap_random_bytes(&random_state, equal, sizeof equal);
    memcpy(equal + row->key_bytes / 2, equal, row->key_bytes / 2);
    struct stream s = open_stream(memory, row, 1);
    int right = stream_init(&s, equal, other_iv, 1) && s.broken;
    /* The key of before, and the IV of the refused initialisation. */
    right = right && stream_update(&s, 100) && !s.broken && stream_agrees(&s);
    right = right && stream_init(&s, equal, NULL, 0) && stream_update(&s, 100) && !s.broken;
    tap_ok(right, "%s refuses a key of equal halves where the default's does", row->name);
    stream_close(&s);
}

/* A copy without a key: the default provider's own would crash in an update. */
static void check_keyless_copy(const struct cipher_row *row, const unsigned char *iv)
{
    unsigned char key[LONGEST_KEY], out[64];
    int n;
    tap_random_bytes(&random_state, key, sizeof key);
    struct stream s = stream_open(memory, row->name, NULL, iv), copy = {.side = {NULL}};
    int right = stream_update(&s, 64) && s.broken && stream_copy(&copy, &s);
    if (!stand_in())
        right = right && !EVP_CipherUpdate(copy.side[OURS], out, &n, memory->text, sizeof out);
    ERR_clear_error();
    right = right && stream_agrees(&copy) && stream_init(&copy, key, NULL, 1) &&
            stream_update(&copy, 100) && copy.broken == (iv == NULL);
    right =
        right && stream_init(&copy, NULL, other_iv, 1) && stream_update(&copy, 100) && !copy.broken;
    tap_ok(right && stream_update(&s, 64) && s.broken,
           "%s: a copy without a key, but %s IV, takes one", row->name, iv != NULL ? "an" : "no");
    stream_close(&copy);
    stream_close(&s);
}

/* ---- Lengths ------------------------------------------------------------------------- */

static void check_lengths(const struct cipher_row *row)
{
    int right = 1;
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        struct stream s = open_stream(memory, row, encrypt);
        for (size_t length = 0; right && length <= 200; length++)
            right = stream_update(&s, length) && s.broken == (length < BLOCK) &&
                    stream_call(&s, &(struct call){ONE_SHOT, length, .out_of_place = 0}) &&
                    stream_final(&s);
        stream_close(&s);
    }
    tap_ok(right, "%s: every length of 0 to 200 bytes", row->name);
}

/* A data unit has 2^20 blocks at most. */
static void check_longest(const struct cipher_row *row)
{
    struct memory *large = memory_for(1, UNIT_MOST + 1);
    struct stream s = open_stream(large, row, 1);
    int right = stream_update(&s, UNIT_MOST) && !s.broken && stream_update(&s, UNIT_MOST + 1) &&
                s.broken && stream_update(&s, UNIT_MOST - 1) && !s.broken;
    tap_ok(right, "%s: the longest data unit, and one that is longer", row->name);
    stream_close(&s);
    free(large);
}

/* Of what the CPU does, updates of 1 KiB and more are counted; of what the device does, all. */
static void check_figures(const struct cipher_row *row)
{
    static const size_t lengths[] = {65537, 1023, 4097, 33, 15};
    if (stand_in()) {
        tap_skip("figures: the default provider has none");
        return;
    }
    struct stream s = open_stream(memory, row, 1);
    uint64_t small = figure("cpu-bytes-small"), cpu = figure("cpu-bytes"),
             gpu = figure("gpu-bytes");
    int right = 1;
    for (size_t i = 0; right && i < sizeof lengths / sizeof lengths[0]; i++)
        right = stream_update(&s, lengths[i]);
    stream_close(&s);
    small = figure("cpu-bytes-small") - small;
    cpu = figure("cpu-bytes") - cpu;
    gpu = figure("gpu-bytes") - gpu;
    if (on_device)
        tap_ok(right && gpu == 65520 + 1008 - 16 + 4080 + 16 && small == 17 + 31 + 17 + 17 &&
                   cpu == small,
               "%s: whole blocks are the device's, but for the last one before a part", row->name);
    else
        tap_ok(right && gpu == 0 && cpu == 65537 + 4097, "%s: the CPU's data units are counted",
               row->name);
}

/* ---- In one process -------------------------------------------------------------------- */

/* With a provider that has these settings. */
static void check_all(const char *settings)
{
    application_environment(settings);
    test_providers = providers_load();
    memory = memory_for(tap_random_next(&random_state), 70000);
    for (size_t i = 0; i < ROWS; i++) {
        check_equal_halves(&rows[i]);
        check_keyless_copy(&rows[i], usual_iv);
        check_keyless_copy(&rows[i], NULL);
        check_lengths(&rows[i]);
        check_longest(&rows[i]);
        check_figures(&rows[i]);
    }
    free(memory);
    providers_unload(&test_providers);
}

/* ---- In processes of their own ----------------------------------------------------------- */

static int longest_units(void)
{
    struct memory *large = memory_for(tap_random_next(&random_state), UNIT_MOST + 64);
    int right = 1;
    for (int i = 0; right && i < 4; i++) {
        struct stream s = open_stream(large, &rows[i / 2], i % 2);
        struct call call = {UPDATE, UNIT_MOST - 3 * (size_t)i, .out_of_place = i % 3 != 0,
                            .in_at = 5};
        right = stream_call(&s, &call) && !s.broken && stream_update(&s, UNIT_MOST / 2 + 1) &&
                stream_init(&s, NULL, other_iv, -1) && stream_update(&s, UNIT_MOST / 4);
        stream_close(&s);
    }
    free(large);
    return right;
}

static int several_threads(void)
{
    return longest_units() &&
           (stand_in() || (figure("gpu-bytes") > 4 * (uint64_t)UNIT_MOST && figure("faults") == 0));
}

static int is_lost(void)
{
    if (stand_in() || application_hook("emulator_contexts") == NULL)
        return -1;
    return longest_units() && figure("faults") > 0 && figure("gpu-bytes") > 0 &&
           figure("cpu-bytes-failed") > 0;
}

/* By the model's choice, which a CPU will mostly win. */
static int own_choice(void)
{
    int right = 1;
    memory = memory_for(tap_random_next(&random_state), MIB);
    struct stream s = open_stream(memory, &rows[0], 1);
    (void)COMES(device_state() != GPUAES_STARTING);
    for (int i = 0; right && i < 60; i++)
        right = stream_update(&s, BLOCK + tap_random_below(&random_state, MIB - BLOCK)) &&
                stream_init(&s, NULL, other_iv, -1);
    stream_close(&s);
    free(memory);
    return right && (stand_in() || figure("cpu-bytes") + figure("gpu-bytes") > 0);
}

static const struct case_row cases[] = {
    {"the longest units, by several threads", "GPUAES_MIN_BYTES=0 GPUAES_THREADS=4", NULL,
     several_threads},
    {"a device that is lost", "GPUAES_MIN_BYTES=0", "lost=launch_kernel:20", is_lost},
    {"a device that is lost, and several threads", "GPUAES_MIN_BYTES=0 GPUAES_THREADS=4",
     "lost=launch_kernel:20", is_lost},
    {"CPU or GPU as the policy has it", "GPUAES_START=eager", NULL, own_choice},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    tap_random_seed(&random_state);
    if (argc > 1)
        return case_named(argv[1], cases);
    cases_check(cases, CASES, 2);
    check_all("GPUAES_POLICY=cpu");
    on_device = 1;
    check_all("GPUAES_POLICY=gpu GPUAES_MIN_BYTES=0");
    return tap_done();
}
