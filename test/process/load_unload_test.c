/*
 * Loads the module, uses it, and unloads it, GPUAES_TEST_CYCLES (20) times in
 * one process: for a run under valgrind, and to see that a cycle leaves neither
 * memory nor threads of its own behind.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <dirent.h>

#include "test/support/providers.h"

/* One message of each cipher, or none: loading alone must be right too. */
static int use(void)
{
    int right = 1;
    for (size_t i = 0; i < CIPHER_ROWS; i++)
        right &= message_agrees(&test_providers, cipher_rows[i].name, 40000);
    return right;
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
        test_providers = providers_load();
        if (i % 4 == 3)
            tap_ok(1, "cycle %u: loaded and unloaded, unused", i + 1);
        else
            tap_ok(use(), "cycle %u: loaded, used, unloaded", i + 1);
        providers_unload(&test_providers);
        if (i == 0)
            threads = threads_now();
    }
    tap_ok(threads_now() <= threads, "no more threads after %u cycles than after one", cycles);
    return tap_done();
}
