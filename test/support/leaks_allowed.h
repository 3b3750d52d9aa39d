/*
 * For programs whose leaks AddressSanitizer is not to look for: a process may end with
 * everything still there, a device that is lost keeps what it may still write to, and in a
 * child that ends LeakSanitizer looks for the parent's threads, and hangs.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_LEAKS_ALLOWED_H
#define GPUAES_TEST_LEAKS_ALLOWED_H

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

#endif
