/*
 * What differs between nvcc and the emulator. Inline PTX lives here alone; for
 * the emulator, device.h (included by force) gives the same names.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_INTRINSICS_CUH
#define GPUAES_KERNELS_INTRINSICS_CUH

#include <stdint.h>

/* KERNEL(name) makes a kernel known by name: to the driver it already is. */
#ifdef __CUDACC__
#define KERNEL(name)
#endif

#ifdef __CUDACC__
/* One LOP3: nvcc does not always merge two exclusive ors. */
static __device__ __forceinline__ uint32_t xor3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t result;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}
#else
static inline uint32_t xor3(uint32_t a, uint32_t b, uint32_t c)
{
    return a ^ b ^ c;
}
#endif

/* A 32-bit word with its bytes in the opposite order. */
static __device__ __forceinline__ uint32_t swap_bytes(uint32_t x)
{
    return __byte_perm(x, 0, 0x0123);
}

#endif
