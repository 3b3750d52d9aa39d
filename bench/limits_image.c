/*
 * The fat binary of the limits' kernels, inside the benchmark.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/limits.h"

#include <stddef.h>

#ifdef GPUAES_CUDA_BUILD

/* The path is relative to the folder that make runs in. */
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl gpuaes_limits_image\n"
        ".type gpuaes_limits_image, @object\n"
        "gpuaes_limits_image:\n"
        ".incbin \"bench/limits.fatbin\"\n"
        ".size gpuaes_limits_image, . - gpuaes_limits_image\n"
        ".popsection\n");

extern const unsigned char gpuaes_limits_image[];

const void *limits_image(void)
{
    return gpuaes_limits_image;
}

#else

const void *limits_image(void)
{
    return NULL;
}

#endif
