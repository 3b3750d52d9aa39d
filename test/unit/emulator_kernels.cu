/*
 * Kernels that try out the emulator itself.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdint.h>

#include "test/unit/emulator_kernels.h"

__constant__ const uint32_t primes[4] = {2, 3, 5, 7};

static __device__ __forceinline__ uint32_t *words_at(uint64_t address)
{
    return reinterpret_cast<uint32_t *>(address);
}

/* out[thread] = its opposite's number, through shared memory, across a barrier. */
extern "C" __global__ void __launch_bounds__(64)
    test_barrier(const __grid_constant__ struct test_arguments arguments)
{
    uint32_t *out = words_at(arguments.out) + blockIdx.x * blockDim.x;
    for (uint32_t round = 0; round < 3; round++) {
        shared_words[threadIdx.x] = threadIdx.x + round + blockIdx.x;
        __syncthreads();
        out[threadIdx.x] = shared_words[blockDim.x - 1 - threadIdx.x];
        __syncthreads();
    }
}
KERNEL(test_barrier)

/* Half of the threads end before the barrier; static shared memory. */
extern "C" __global__ void test_early_exit(const __grid_constant__ struct test_arguments arguments)
{
    __shared__ uint32_t sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    if (threadIdx.x & 1)
        return;
    atomicAdd(&sum, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0)
        words_at(arguments.out)[blockIdx.x] = sum;
}
KERNEL(test_early_exit)

extern "C" __global__ void test_warp(const __grid_constant__ struct test_arguments arguments)
{
    const uint32_t lane = threadIdx.x & 31;
    uint32_t *out = words_at(arguments.out) + 8 * threadIdx.x;
    uint32_t sum = threadIdx.x;
    for (int distance = 16; distance; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    out[0] = sum;
    out[1] = __shfl_sync(0xffffffff, threadIdx.x, 5);
    out[2] = __ballot_sync(0xffffffff, threadIdx.x % 3 == 0);
    out[3] = static_cast<uint32_t>(__any_sync(0xffffffff, threadIdx.x == 40));
    out[4] = static_cast<uint32_t>(__all_sync(0xffffffff, threadIdx.x >= 32));
    if (lane < 8) {
        out[5] = __shfl_sync(0xffu, lane * 10, 7 - static_cast<int>(lane));
        __syncwarp(0xffu);
    } else {
        out[5] = __ballot_sync(0xffffff00u, 1);
    }
    out[6] =
        static_cast<uint32_t>(__shfl_up_sync(0xffffffff, 0x100000000ull * threadIdx.x, 1) >> 32);
    out[7] = __shfl_down_sync(0xffffffff, threadIdx.x, 1, 8);
}
KERNEL(test_warp)

extern "C" __global__ void test_atomic(const __grid_constant__ struct test_arguments arguments)
{
    unsigned long long *out = reinterpret_cast<unsigned long long *>(arguments.out);
    const unsigned long long number = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&out[0], number);
    atomicMin(&out[1], 1000 + number);
    atomicMax(&out[2], number);
}
KERNEL(test_atomic)

extern "C" __global__ void test_integers(const __grid_constant__ struct test_arguments arguments)
{
    uint32_t *out = words_at(arguments.out);
    out[0] = __byte_perm(0x33221180, 0x77665544, 0x7048);
    out[1] = __funnelshift_l(0x80000001, 0x12345678, 4);
    out[2] = __funnelshift_r(0x80000001, 0x12345678, 4);
    out[3] = __vcmpgeu4(0x00807f41, 0x01807f40);
    out[4] = __vadd4(0xff01ff01, 0x01010101);
    out[5] = __vsub4(0x00000000, 0x01000001);
    out[6] = __brev(0x80000002);
    out[7] = static_cast<uint32_t>(__ffs(8) * 100 + __clz(1));
    out[8] = min(3u, 2u) * 10 + max(3u, 2u) + primes[2];
    out[9] = __dp4a(0x01020304, 0x01010102, 5u);
    const uint4 vector = make_uint4(1, 2, 3, 4);
    __stcs(reinterpret_cast<uint4 *>(out + 12), vector);
    out[10] = __ldcs(reinterpret_cast<const uint4 *>(out + 12)).z;
    out[11] = __ldg(&primes[3]);
}
KERNEL(test_integers)

extern "C" __global__ void test_add(const __grid_constant__ struct test_arguments arguments)
{
    const uint32_t *in = words_at(arguments.in);
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < arguments.words;
         i += gridDim.x * blockDim.x)
        words_at(arguments.out)[i] = in[i] + arguments.number;
}
KERNEL(test_add)

/* Wrong: half of a warp waits in a barrier and half in a shuffle. */
extern "C" __global__ void test_divergent(const __grid_constant__ struct test_arguments arguments)
{
    if (threadIdx.x & 1)
        __syncthreads();
    else
        words_at(arguments.out)[0] = __shfl_sync(0xffffffff, 1u, 0);
}
KERNEL(test_divergent)

/* Wrong: writes beyond the dynamic shared memory of the launch. */
extern "C" __global__ void test_overrun(const __grid_constant__ struct test_arguments arguments)
{
    shared_words[arguments.number] = 1;
}
KERNEL(test_overrun)
