/*
 * Device memory that the library has freed, on a card: another owner gets it as the driver
 * hands it out, and finds no key, schedule, keystream or plaintext in it, nor powers of GCM's
 * hash key. In the same process and context, where nothing is cleared by the driver; the
 * application keeps the context alive.
 *
 * GPUAES_TEST_GIB (4) of memory are looked at.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <sys/wait.h>

#include "cuda/gpuaes.h"
#include "test/support/application.h"
#include "test/support/hash_forms.h"
#include "test/support/memory_search.h"
#include "test/support/read_ahead_streams.h"

enum { LENGTH = 64 * MIB, STEP = 4096, LOOK = 8 * MIB, SECRET_SIZES = 2 * LENGTH + 64 };

static const unsigned char mark[] = "the mark of the test";
static struct search *search;
static unsigned char *key, *plain, *out; /* in memory that is not searched */

/* Keystream and text, every so many bytes. */
static void add_text(const char *name, size_t step)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, "provider=default");
    int n;
    EVP_CipherInit_ex2(context, cipher, key, usual_iv, 1, NULL);
    EVP_CipherUpdate(context, out, &n, plain, LENGTH);
    for (size_t at = 0; at < LENGTH && search->count + 2 < NEEDLES_MOST; at += step) {
        unsigned char block[NEEDLE];
        for (int k = 0; k < NEEDLE; k++)
            block[k] = plain[at + (size_t)k] ^ out[at + (size_t)k];
        search_add(search, block);
        search_add(search, plain + at);
    }
}

/* The first ones of each level of a kernel's table, see cuda/kernels/common/arguments.h. */
static void add_powers(void)
{
    struct gpuaes_gcm_key gcm;
    (void)gpuaes_gcm_key_expand(&gcm, key, 32);
    for (uint64_t level = 1; level <= 1 << 16; level <<= 8)
        for (uint64_t number = 1; number < 16; number++) {
            unsigned char power[NEEDLE], forms[HASH_FORMS][NEEDLE];
            hash_key_power(&gcm, number * level, power);
            hash_forms(power, forms);
            for (int i = 0; i < HASH_FORMS; i++)
                search_add(search, forms[i]);
        }
}

/* In a child, whose memory goes with it. */
static void make_needles(void)
{
    struct tap_random random = {9};
    struct gpuaes_key schedule;
    tap_random_bytes(&random, key, 32);
    tap_random_bytes(&random, plain, LENGTH);
    (void)gpuaes_key_expand(&schedule, key, 32);
    for (unsigned round = 0; round <= schedule.rounds; round++)
        search_add(search, (const unsigned char *)&schedule.encrypt[4 * round]);
    add_powers();
    add_text("AES-256-CTR", (size_t)8 * STEP);
    add_text("AES-256-GCM", (size_t)8 * STEP + 16);
    memset(out, 0, LENGTH);
    _exit(0);
}

static int prepare(void)
{
    int status = -1;
    search = search_new(SECRET_SIZES);
    if (search == NULL)
        return 0;
    key = search->own;
    plain = key + 64;
    out = plain + LENGTH;
    pid_t child = fork();
    if (child == 0)
        make_needles();
    return waitpid(child, &status, 0) == child && status == 0;
}

/* Each mode once, on all of the data, out of place and in place. */
static int work(void)
{
    static const char *const names[] = {"AES-256-CTR", "AES-256-ECB", "AES-256-CBC", "AES-256-GCM"};
    int right = 1, n;
    for (int i = 0; i < 8; i++) {
        EVP_CIPHER *cipher = fetch_ours(&test_providers, names[i % 4]);
        EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
        memcpy(out, plain, LENGTH);
        right &= EVP_CipherInit_ex2(context, cipher, key, usual_iv, i % 4 != 2, NULL) &&
                 EVP_CIPHER_CTX_set_padding(context, 0) &&
                 EVP_CipherUpdate(context, out, &n, i < 4 ? plain : out, LENGTH - 4096 * i);
        EVP_CIPHER_CTX_free(context);
        EVP_CIPHER_free(cipher);
    }
    return right;
}

/* Needles in fresh device memory; `marked`: blocks of the test's own, to show that it is old. */
static unsigned look_at_device(size_t bytes, unsigned *marked)
{
    unsigned char *host = application_alloc(PINNED, LOOK);
    unsigned found = 0;
    *marked = 0;
    if (host == NULL)
        return 1;
    for (size_t at = 0; at < bytes; at += LOOK) {
        unsigned char *device = application_alloc(DEVICE, LOOK); /* is kept: fresh each time */
        if (device == NULL || !application_read(host, DEVICE, device, LOOK))
            break;
        for (size_t i = 0; i < LOOK; i += SEARCH_WINDOW) {
            memset(search->found, 0, sizeof search->found);
            memcpy(search->window, host + i, SEARCH_WINDOW);
            search_window(search, (uintptr_t)(device + i), SEARCH_WINDOW);
            for (unsigned n = 0; n < search->count; n++)
                found += search->found[n] != 0;
        }
        *marked += memcmp(host, mark, sizeof mark) == 0;
    }
    memset(host, 0, LOOK);
    application_free(PINNED, host);
    return found;
}

/* Memory that the application frees is handed out again as it was: so the search finds. */
static void leave_marks(void)
{
    unsigned char *text = calloc(1, LOOK);
    unsigned char *device[8];
    memcpy(text, mark, sizeof mark);
    for (int i = 0; i < 8; i++) {
        device[i] = application_alloc(DEVICE, LOOK);
        (void)application_write(DEVICE, device[i], text, LOOK);
    }
    for (int i = 0; i < 8; i++)
        application_free(DEVICE, device[i]);
    free(text);
}

int main(int argc, char **argv)
{
    (void)argc;
    search_bind_now(argv);
    size_t bytes = setting("GPUAES_TEST_GIB", 4) << 30;
    unsigned marked, found;
    setenv("GPUAES_MIN_BYTES", "0", 1);
    setenv("GPUAES_IDLE_SECONDS", "1", 1);
    if (!tap_ok(prepare(), "there is something to look for"))
        return tap_done();
    test_providers = providers_load();
    if (!application_begin(0)) {
        tap_skip("there is no device");
        return tap_done();
    }
    tap_ok(work() && ahead_get().gpu > 0, "the device does some work");
    for (int i = 0; i < 6000 && ahead_get().pinned != 0; i++)
        sleep_ms(10);
    tap_ok(ahead_get().pinned == 0, "the library has freed its memory");
    leave_marks();
    found = look_at_device(bytes, &marked);
    tap_diag("%u blocks of the test's own were handed out again", marked);
    tap_ok(found == 0, "%zu GiB of fresh device memory: %u blocks of secrets", bytes >> 30, found);
    unsigned left = search_memory(search);
    for (unsigned i = 0, shown = 0; i < search->count && shown < 12; i++)
        if (search->found[i] != 0 && ++shown) {
            char line[300];
            search_describe(search->where[i], line, sizeof line);
            tap_diag("block %u (of %s) at %#" PRIxPTR ": %s", i,
                     i < 15 ? "the schedule" : "the hash key or data", search->where[i], line);
        }
    tap_diag("host memory of the process, the driver's included: %u of %u blocks", left,
             search->count);
    providers_unload(&test_providers);
    return tap_done();
}
