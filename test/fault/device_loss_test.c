/*
 * A device that is lost, hangs or fails in the middle of 1000 streams, of all ciphers, some
 * of which are read ahead of: each goes on as the default provider's does, and new ones can
 * be opened. For the emulator only; each case is a run of this program of its own.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/gpuaes.h"
#include "test/support/cases.h"
#include "test/support/read_ahead_streams.h"
#include "test/support/streams.h"

enum { STREAMS = 1000, AHEAD = 4, PIECE = 9100, WHOLE = 9104 /* min-bytes is 9000 */ };

static const struct {
    const char *name, *settings, *fault;
} cases[] = {
    {"the device is lost by a launch", "", "lost=launch_kernel:300"},
    {"the device is lost by a copy", "", "lost=memcpy_htod_async:200"},
    {"a kernel hangs", "GPUAES_TIMEOUT_MS=15000", "hang=300"},
    {"a launch fails", "", "fault=launch_kernel:300"},
    {"a release of the idle device fails", "GPUAES_IDLE_SECONDS=1", "lost=mem_free_host:1"},
    {"one of two devices is lost", "GPUAES_DEVICES=all", "devices=2,lost=launch_kernel:300"},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static struct stream streams[STREAMS], ahead[AHEAD];

static int open_streams(struct memory *memory)
{
    int right = 1;
    for (int i = 0; i < STREAMS; i++) {
        const char *name = cipher_rows[i % CIPHER_ROWS].name;
        streams[i] = stream_open(memory, name, usual_key, usual_iv);
        right &= stream_update(&streams[i], PIECE + (size_t)i % 100);
    }
    for (int i = 0; i < AHEAD; i++) {
        ahead[i] = stream_open(memory, "AES-256-CTR", usual_key, usual_iv);
        right &= stream_served(&ahead[i], 1);
    }
    return right;
}

static int go_on(void)
{
    int right = 1;
    for (int i = 0; i < STREAMS; i++)
        right &= stream_update(&streams[i], PIECE + (size_t)i % 77);
    for (int i = 0; i < AHEAD; i++)
        right &= stream_hurry(&ahead[i], 50000, PACED);
    return right;
}

static void close_streams(void)
{
    for (int i = 0; i < STREAMS; i++)
        stream_close(&streams[i]);
    for (int i = 0; i < AHEAD; i++)
        stream_close(&ahead[i]);
}

/* New ones, with or without a device. */
static int work_again(struct memory *memory)
{
    struct stream s = stream_open(memory, "AES-256-CTR", usual_key, usual_iv);
    int right =
        stream_hurry(&s, 2 * BEGINS_AFTER, PACED) && stream_update(&s, 100000) && stream_agrees(&s);
    stream_close(&s);
    return right;
}

static int run_case(size_t number)
{
    struct memory *memory = memory_new(1);
    alarm(300);
    test_providers = providers_load();
    int right = open_streams(memory) && go_on() && ahead_get().faults == 0;
    emulate(cases[number].fault);
    if (strstr(cases[number].settings, "IDLE") != NULL)
        for (int i = 0; i < 6000 && ahead_get().faults == 0; i++)
            sleep_ms(10);
    for (int i = 0; i < 2 && right; i++)
        right = go_on();
    if (ahead_get().faults == 0) {
        fprintf(stderr, "# no fault is counted\n");
        right = 0;
    }
    close_streams();
    right = right && work_again(memory);
    providers_unload(&test_providers);
    free(memory);
    return right;
}

/* ---- Output that is undefined ------------------------------------------------------------- */

static const char *const modes[] = {"AES-128-ECB", "AES-256-CBC", "AES-256-CTR"};
enum { MODES = sizeof modes / sizeof modes[0] };

/*
 * Where it is not known what a device has written, no text follows before an IV: CTR would use the
 * same keystream again, and CBC go on at another place.
 */
static int run_undefined(size_t mode)
{
    int n, is_chained = mode != 0;
    alarm(300);
    test_providers = providers_load();
    unsigned char *pinned;
    static unsigned char text[WHOLE];
    EVP_CIPHER_CTX *c = context_open(1, modes[mode], usual_key, usual_iv, 0, NULL);
    int right = EVP_CIPHER_CTX_set_padding(c, 0) && EVP_CipherUpdate(c, text, &n, text, WHOLE) &&
                (pinned = LIBRARY(gpuaes_pinned_alloc)(WHOLE)) != NULL;
    if (!right)
        return 0;
    memset(pinned, 0, WHOLE);
    right = EVP_CipherUpdate(c, pinned, &n, pinned, WHOLE);
    emulate("hang=1,stay-lost=1");
    right = right && !EVP_CipherUpdate(c, pinned, &n, pinned, WHOLE) && reason_is(undefined);
    int goes_on = EVP_CipherUpdate(c, text, &n, text, 48);
    right = right && (is_chained ? !goes_on && reason_is(undefined) : goes_on);
    right = right && EVP_CipherInit_ex2(c, NULL, NULL, usual_iv, -1, NULL) &&
            EVP_CipherUpdate(c, text, &n, text, WHOLE);
    EVP_CIPHER_CTX_free(c);
    LIBRARY(gpuaes_pinned_free)(pinned, WHOLE);
    return right;
}

int main(int argc, char **argv)
{
    size_t number = argc > 1 ? strtoul(argv[1], NULL, 10) % (CASES + MODES) : 0;
    if (argc > 1)
        return !(number < CASES ? run_case(number) : run_undefined(number - CASES));
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    setenv("GPUAES_MIN_BYTES", "9000", 1);
    for (size_t i = 0; i < CASES; i++) {
        const char *emulator = strstr(cases[i].fault, "devices=2") ? "devices=2" : "";
        tap_ok(ended_well(case_begin(cases[i].settings, emulator, "%zu", i)),
               "%d streams, %s: all right", STREAMS, cases[i].name);
    }
    for (size_t i = 0; i < MODES; i++)
        tap_ok(ended_well(case_begin("GPUAES_TIMEOUT_MS=300", "", "%zu", CASES + i)),
               "%s after output that is undefined", modes[i]);
    return tap_done();
}
