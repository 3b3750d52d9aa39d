/*
 * Loads the module, uses it, and unloads it, GPUAES_TEST_CYCLES (20) times in
 * one process: for a run under valgrind, and to see that a cycle leaves neither
 * memory nor threads of its own behind.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <dirent.h>

#include "test/support/providers.h"

enum { LENGTH = 40000 };

static unsigned char in[LENGTH], ours[LENGTH + 32], reference[LENGTH + 32];

/* One message of each cipher, or none: loading alone must be right too. */
static int use(void)
{
    static const unsigned char key[32] = "loaded, used, unloaded, again...",
                               iv[16] = "and again......";
    int good = 1, n, m;
    size_t i;

    for (i = 0; i < CIPHER_ROWS; i++) {
        EVP_CIPHER *a = fetch_ours(&providers, cipher_rows[i].name);
        EVP_CIPHER *b = fetch_reference(&providers, cipher_rows[i].name);
        EVP_CIPHER_CTX *x = EVP_CIPHER_CTX_new(), *y = EVP_CIPHER_CTX_new();

        good = good && EVP_EncryptInit_ex2(x, a, key, iv, NULL) &&
               EVP_EncryptInit_ex2(y, b, key, iv, NULL) &&
               EVP_EncryptUpdate(x, ours, &n, in, LENGTH) &&
               EVP_EncryptUpdate(y, reference, &m, in, LENGTH) && n == m &&
               !memcmp(ours, reference, (size_t)n);
        EVP_CIPHER_CTX_free(x);
        EVP_CIPHER_CTX_free(y);
        EVP_CIPHER_free(a);
        EVP_CIPHER_free(b);
    }
    return good;
}

static unsigned threads_now(void)
{
    DIR *folder = opendir("/proc/self/task");
    unsigned count = 0;

    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

int main(void)
{
    unsigned cycles = (unsigned)setting("GPUAES_TEST_CYCLES", 20), i, threads = 0;

    setenv("GPUAES_MIN_BYTES", "0", 0);
    for (i = 0; i < cycles; i++) {
        providers = providers_load();
        if (i % 4 == 3)
            tap_ok(1, "cycle %u: loaded and unloaded, unused", i + 1);
        else
            tap_ok(use(), "cycle %u: loaded, used, unloaded", i + 1);
        providers_unload(&providers);
        if (i == 0)
            threads = threads_now();
    }
    tap_ok(threads_now() <= threads, "no more threads after %u cycles than after one", cycles);
    return tap_done();
}
