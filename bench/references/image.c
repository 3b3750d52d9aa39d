/*
 * The fat binary of published work's kernels, inside the benchmark.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/references/references.h"

#include <stddef.h>

#ifdef GPUAES_CUDA_BUILD

/* The path is relative to the folder that make runs in. */
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl gpuaes_reference_image\n"
        ".type gpuaes_reference_image, @object\n"
        "gpuaes_reference_image:\n"
        ".incbin \"bench/references/references.fatbin\"\n"
        ".size gpuaes_reference_image, . - gpuaes_reference_image\n"
        ".popsection\n");

extern const unsigned char gpuaes_reference_image[];

const void *reference_image(void)
{
    return gpuaes_reference_image;
}

#else

const void *reference_image(void)
{
    return NULL;
}

#endif
