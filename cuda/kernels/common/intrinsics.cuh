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

/*
 * Hybrid kernels are for compute capability 9.0 alone: setmaxnreg needs its
 * architecture-specific features, and only there have they been measured.
 */
#if !defined(__CUDACC__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HAS_HYBRID_KERNELS 1
#endif

#ifdef __CUDACC__
extern __shared__ __align__(16) uint32_t shared_words[];

/* One LOP3: nvcc does not always merge two exclusive ors. */
static __device__ __forceinline__ uint32_t xor3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t result;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}

/* Any function of three bits: bit 4a + 2b + c of TABLE. */
template <int TABLE>
static __device__ __forceinline__ uint32_t lut3(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t result;
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(result) : "r"(a), "r"(b), "r"(c), "n"(TABLE));
    return result;
}

/* 0xff in each byte whose highest bit is set in x. */
static __device__ __forceinline__ uint32_t byte_signs(uint32_t x)
{
    uint32_t result;
    asm("prmt.b32 %0, %1, %1, 0xba98;" : "=r"(result) : "r"(x));
    return result;
}

/*
 * Constant memory read as any other: a warp gets 32 words at once, where the
 * constant cache would serve one address after the other, each a miss. What the
 * compiler does not know to be constant it reads by an ordinary load.
 */
static __device__ __forceinline__ const uint32_t *read_by_lanes(const uint32_t *constant)
{
    asm("" : "+l"(constant));
    return constant;
}

/* A value that stays in a register: nvcc would make it again wherever it is used. */
static __device__ __forceinline__ uint32_t in_register(uint32_t x)
{
    asm volatile("" : "+r"(x));
    return x;
}

/* Registers a thread, from here on; by all warps of an aligned group of four. */
template <int COUNT> static __device__ __forceinline__ void more_registers()
{
#ifdef HAS_HYBRID_KERNELS
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}
template <int COUNT> static __device__ __forceinline__ void fewer_registers()
{
#ifdef HAS_HYBRID_KERNELS
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}

/* Where shared_words begins, as shared_word() takes addresses. */
static __device__ __forceinline__ uint32_t shared_base()
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared_words));
}

/*
 * A word of shared memory. The offset goes into the instruction: nvcc would
 * spend an addition on each lookup. Volatile keeps it behind barriers.
 */
template <uint32_t OFFSET> static __device__ __forceinline__ uint32_t shared_word(uint32_t address)
{
    uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1 + %2];" : "=r"(word) : "r"(address), "n"(OFFSET));
    return word;
}

/*
 * Copies the granule of 16 bytes at `from` to shared memory; its first `unused` bytes need not be
 * there. copy_wait() waits for all copies of the lane. Asynchronous from compute capability 8.0 on.
 */
static __device__ __forceinline__ void copy_async(uint4 *to, uint64_t from, uint32_t)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     static_cast<uint32_t>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
#else
    *to = __ldcs(reinterpret_cast<const uint4 *>(from));
#endif
}
static __device__ __forceinline__ void copy_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
#else
static inline uint32_t xor3(uint32_t a, uint32_t b, uint32_t c)
{
    return a ^ b ^ c;
}

/* A function of two bits, bit 2b + c of TABLE: a sum of 1, b, c and their product. */
template <int TABLE> static inline uint32_t lut2(uint32_t b, uint32_t c)
{
    constexpr int one = TABLE, by_c = TABLE ^ TABLE >> 1, by_b = TABLE ^ TABLE >> 2;
    return ((one & 1) != 0 ? ~0u : 0) ^ ((by_c & 1) != 0 ? c : 0) ^ ((by_b & 1) != 0 ? b : 0) ^
           (((by_c ^ by_c >> 2) & 1) != 0 ? b & c : 0);
}

template <int TABLE> static inline uint32_t lut3(uint32_t a, uint32_t b, uint32_t c)
{
    return lut2<TABLE & 15>(b, c) ^ (a & lut2<(TABLE ^ TABLE >> 4) & 15>(b, c));
}

static inline uint32_t byte_signs(uint32_t x)
{
    return __byte_perm(x, x, 0xba98);
}

static inline const uint32_t *read_by_lanes(const uint32_t *constant)
{
    return constant;
}

static inline uint32_t in_register(uint32_t x)
{
    return x;
}

template <int COUNT> static inline void more_registers()
{
}
template <int COUNT> static inline void fewer_registers()
{
}

static inline uint32_t shared_base()
{
    return 0;
}

/*
 * A call would take longer than the lookup. But the threads of a block take turns in one thread of
 * the host: ThreadSanitizer would find nothing here, and take most of a kernel's time for it.
 */
#ifdef __SANITIZE_THREAD__
#define SHARED_WORD_ATTRIBUTE gnu::noinline, gnu::no_sanitize("thread")
#else
#define SHARED_WORD_ATTRIBUTE gnu::always_inline
#endif
template <uint32_t OFFSET>
[[SHARED_WORD_ATTRIBUTE]] static inline uint32_t shared_word(uint32_t address)
{
    return shared_words[(address + OFFSET) / 4];
}
#endif

/* See above; here the unused bytes are not even read. */
#ifndef __CUDACC__
static inline void copy_async(uint4 *to, uint64_t from, uint32_t unused)
{
    memcpy(reinterpret_cast<unsigned char *>(to) + unused,
           reinterpret_cast<const unsigned char *>(from) + unused, 16 - unused);
}
static inline void copy_wait()
{
}
#endif

/*
 * The low half of a carry-less product, by integer multiplication with holes: of four bits one is
 * used, so that sums of up to 15 bits carry into holes alone. After Thomas Pornin, BearSSL,
 * ghash_ctmul64. Constant time.
 */
static __device__ __forceinline__ uint64_t product_low(uint64_t a, uint64_t b)
{
    const uint64_t one_of_four = 0x1111111111111111;
    uint64_t x[4], y[4], product = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        x[i] = a & one_of_four << i;
        y[i] = b & one_of_four << i;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        product ^=
            (x[0] * y[i] ^ x[1] * y[(i + 3) % 4] ^ x[2] * y[(i + 2) % 4] ^ x[3] * y[(i + 1) % 4]) &
            one_of_four << i;
    return product;
}
/* The high half: the product of two mirrored numbers is the mirrored product. */
static __device__ __forceinline__ uint64_t product_high(uint64_t a, uint64_t b)
{
    return __brevll(product_low(__brevll(a), __brevll(b))) >> 1;
}

/*
 * Carry-less multiplication and addition: a half of the product of `a` and `b`, added to `c`. One
 * instruction from compute capability 8.0 on, where the compiler knows it (CUDA 13.3).
 */
static __device__ __forceinline__ uint64_t clmad_low(uint64_t a, uint64_t b, uint64_t c)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 &&                                              \
    __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1303
    uint64_t result;
    asm("clmad.lo.u64 %0, %1, %2, %3;" : "=l"(result) : "l"(a), "l"(b), "l"(c));
    return result;
#elif defined(__CUDACC__)
    return c ^ product_low(a, b);
#else
    return c ^ (emulator::has_carryless_product ? emulator::carryless_product(a, b).low
                                                : product_low(a, b));
#endif
}
static __device__ __forceinline__ uint64_t clmad_high(uint64_t a, uint64_t b, uint64_t c)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 &&                                              \
    __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1303
    uint64_t result;
    asm("clmad.hi.u64 %0, %1, %2, %3;" : "=l"(result) : "l"(a), "l"(b), "l"(c));
    return result;
#elif defined(__CUDACC__)
    return c ^ product_high(a, b);
#else
    return c ^ (emulator::has_carryless_product ? emulator::carryless_product(a, b).high
                                                : product_high(a, b));
#endif
}

/* A 32-bit word with its bytes in the opposite order. */
static __device__ __forceinline__ uint32_t swap_bytes(uint32_t x)
{
    return __byte_perm(x, 0, 0x0123);
}

#endif
