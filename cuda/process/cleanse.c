/*
 * Overwriting of secrets.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/process/cleanse.h"

#include <string.h>

#include "cuda/gpuaes.h"

void gpuaes_cleanse(void *p, size_t bytes)
{
    if (p == NULL || bytes == 0)
        return;
    memset(p, 0, bytes);
    /* The compiler must assume that this reads the memory. */
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* With no red zones of a sanitizer, which it would leave as they are. */
__attribute__((noinline, no_sanitize_address)) void cleanse_stack(void)
{
    enum { FRAMES = 4 << 10 };
    unsigned char frames[FRAMES];
    gpuaes_cleanse(frames, sizeof frames);
}
