/*
 * The fat binary of all kernels, inside the library.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/driver/driver.h"

#ifdef GPUAES_CUDA_BUILD

/* The path is relative to the folder that make runs in. */
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".hidden gpuaes_kernels_image\n"
        ".globl gpuaes_kernels_image\n"
        ".type gpuaes_kernels_image, @object\n"
        "gpuaes_kernels_image:\n"
        ".incbin \"cuda/kernels.fatbin\"\n"
        ".size gpuaes_kernels_image, . - gpuaes_kernels_image\n"
        ".popsection\n");

extern const unsigned char gpuaes_kernels_image[] __attribute__((visibility("hidden")));

const void *driver_kernels(void)
{
    return gpuaes_kernels_image;
}

const char *driver_build(void)
{
    return GPUAES_CUDA_BUILD;
}

#else

const void *driver_kernels(void)
{
    return NULL;
}

const char *driver_build(void)
{
    return "none";
}

#endif
