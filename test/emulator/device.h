/*
 * CUDA's device language for the host compiler.
 *
 * Force-included when a .cu file (device code only) is compiled for the
 * emulator: g++ -x c++ -std=c++17 -Wno-unknown-pragmas -include .../device.h.
 * What the CUDA programming guide calls qualifiers, built-in variables and
 * intrinsics are macros, thread-local variables and inline functions here.
 * Only what kernels of this project may use is defined; overloads are no wider
 * than CUDA's, so that what compiles here compiles there.
 *
 * Two conventions of the project:
 *   shared_words
 * is the one name of dynamic shared memory, which only nvcc is told of, and
 *   KERNEL(name)
 * without a semicolon, after the kernel's definition, makes it known by name.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_EMULATOR_DEVICE_H
#define GPUAES_EMULATOR_DEVICE_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

/* ---- Qualifiers ---------------------------------------------------------- */

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __shared__ thread_local
#define __launch_bounds__(...)
/* What g++ thinks fit: kernels that are one function take it minutes under sanitizers. */
#define __forceinline__ inline
#define __align__(bytes) __attribute__((aligned(bytes)))

/* ---- Vector types and built-in variables --------------------------------- */

struct alignas(8) uint2 {
    uint32_t x, y;
};
struct uint3 {
    uint32_t x, y, z;
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct alignas(4) uchar4 {
    unsigned char x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
    {
    }
};

static inline uint2 make_uint2(uint32_t x, uint32_t y)
{
    return {x, y};
}
static inline uint3 make_uint3(uint32_t x, uint32_t y, uint32_t z)
{
    return {x, y, z};
}
static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return {x, y, z, w};
}
static inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y)
{
    return {x, y};
}

/*
 * __thread: no initialisation at run time, so no wrapper call at each use. Initial-exec:
 * no call either to find them, which ASan and TSan would make longer than the use.
 */
#define EMULATOR_THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))
extern EMULATOR_THREAD_LOCAL uint3 threadIdx, blockIdx, blockDim, gridDim;
extern EMULATOR_THREAD_LOCAL uint32_t *shared_words;
static constexpr int warpSize = 32;

/* ---- Kernels by name ------------------------------------------------------ */

namespace emulator
{

using thread_function = std::function<void()>; /* what one device thread runs */
using bind_function = thread_function (*)(void **parameters);

/* Wiped when they are done with: a search of memory is to find what others leave. */
template <class... P> struct parameter_copies {
    std::tuple<P...> all;
    explicit parameter_copies(const P &...each) : all(each...)
    {
    }
    parameter_copies(const parameter_copies &) = default;
    ~parameter_copies()
    {
        explicit_bzero(static_cast<void *>(&all), sizeof all);
    }
};

/* Copies the parameters, as cuLaunchKernel does when it is called. */
template <auto kernel> struct kernel_binder;
template <class... P, void (*kernel)(P...)> struct kernel_binder<kernel> {
    template <size_t... I>
    static thread_function bind_each(void **parameters, std::index_sequence<I...>)
    {
        (void)parameters; /* a kernel without any */
        parameter_copies<P...> copies(*static_cast<P *>(parameters[I])...);
        return [copies] { std::apply(kernel, copies.all); };
    }
    static thread_function bind(void **parameters)
    {
        return bind_each(parameters, std::index_sequence_for<P...>{});
    }
    static constexpr size_t parameter_count = sizeof...(P);
};

struct kernel_registration {
    kernel_registration(const char *name, size_t parameter_count, bind_function bind);
};

} // namespace emulator

#define KERNEL(name)                                                                               \
    [[maybe_unused]] static const emulator::kernel_registration emulator_kernel_##name{            \
        #name, emulator::kernel_binder<name>::parameter_count,                                     \
        emulator::kernel_binder<name>::bind};

/* ---- Synchronisation and warps -------------------------------------------- */

namespace emulator
{

enum warp_operation { WARP_SYNC, WARP_SHUFFLE, WARP_BALLOT };

/*
 * Waits for every live lane of `mask`, then returns the value of lane `source`
 * (WARP_SHUFFLE) or the lanes whose value is not zero (WARP_BALLOT).
 */
uint64_t warp_exchange(warp_operation operation, uint32_t mask, uint64_t value, uint32_t source);
uint32_t lane();

template <class T> T shuffle(uint32_t mask, T value, uint32_t source)
{
    static_assert(sizeof(T) <= 8 && std::is_arithmetic<T>::value, "no such shuffle in CUDA");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = warp_exchange(WARP_SHUFFLE, mask, bits, source);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The lane `to` if it is inside the caller's segment of `width`, else the caller. */
static inline uint32_t within(uint32_t to, int width)
{
    uint32_t segment = ~(static_cast<uint32_t>(width) - 1);
    return ((to ^ lane()) & segment) == 0 ? to : lane();
}

} // namespace emulator

void __syncthreads();

static inline void __syncwarp(uint32_t mask = 0xffffffff)
{
    emulator::warp_exchange(emulator::WARP_SYNC, mask, 0, 0);
}
template <class T> T __shfl_sync(uint32_t mask, T value, int source, int width = 32)
{
    uint32_t segment = ~(static_cast<uint32_t>(width) - 1);
    return emulator::shuffle(
        mask, value, (emulator::lane() & segment) | (static_cast<uint32_t>(source) & ~segment));
}
template <class T> T __shfl_xor_sync(uint32_t mask, T value, int lanes, int width = 32)
{
    uint32_t to = emulator::lane() ^ static_cast<uint32_t>(lanes);
    return emulator::shuffle(mask, value, emulator::within(to, width));
}
template <class T> T __shfl_up_sync(uint32_t mask, T value, unsigned lanes, int width = 32)
{
    return emulator::shuffle(mask, value, emulator::within(emulator::lane() - lanes, width));
}
template <class T> T __shfl_down_sync(uint32_t mask, T value, unsigned lanes, int width = 32)
{
    return emulator::shuffle(mask, value, emulator::within(emulator::lane() + lanes, width));
}
static inline uint32_t __ballot_sync(uint32_t mask, int predicate)
{
    return static_cast<uint32_t>(
        emulator::warp_exchange(emulator::WARP_BALLOT, mask, predicate != 0, 0));
}
static inline int __any_sync(uint32_t mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}
static inline int __all_sync(uint32_t mask, int predicate)
{
    return __ballot_sync(mask, !predicate) == 0;
}
static inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static inline void __threadfence_block()
{
    __threadfence();
}

/* ---- Atomics: CUDA's overloads, relaxed as there --------------------------- */

#define EMULATOR_ATOMICS(type)                                                                     \
    static inline type atomicAdd(type *p, type v)                                                  \
    {                                                                                              \
        return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);                                         \
    }                                                                                              \
    static inline type atomicOr(type *p, type v)                                                   \
    {                                                                                              \
        return __atomic_fetch_or(p, v, __ATOMIC_RELAXED);                                          \
    }                                                                                              \
    static inline type atomicXor(type *p, type v)                                                  \
    {                                                                                              \
        return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED);                                         \
    }                                                                                              \
    static inline type atomicExch(type *p, type v)                                                 \
    {                                                                                              \
        return __atomic_exchange_n(p, v, __ATOMIC_RELAXED);                                        \
    }                                                                                              \
    static inline type atomicCAS(type *p, type expected, type v)                                   \
    {                                                                                              \
        __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);   \
        return expected;                                                                           \
    }                                                                                              \
    static inline type atomicMin(type *p, type v)                                                  \
    {                                                                                              \
        type old = __atomic_load_n(p, __ATOMIC_RELAXED);                                           \
        while (v < old && !__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_RELAXED,        \
                                                       __ATOMIC_RELAXED))                          \
            ;                                                                                      \
        return old;                                                                                \
    }                                                                                              \
    static inline type atomicMax(type *p, type v)                                                  \
    {                                                                                              \
        type old = __atomic_load_n(p, __ATOMIC_RELAXED);                                           \
        while (v > old && !__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_RELAXED,        \
                                                       __ATOMIC_RELAXED))                          \
            ;                                                                                      \
        return old;                                                                                \
    }
EMULATOR_ATOMICS(int)
EMULATOR_ATOMICS(unsigned)
EMULATOR_ATOMICS(unsigned long long)
#undef EMULATOR_ATOMICS

/* ---- Loads and stores with cache hints ------------------------------------- */

template <class T> T __ldg(const T *p)
{
    return *p;
}
template <class T> T __ldcs(const T *p)
{
    return *p;
}
template <class T> T __ldcg(const T *p)
{
    return *p;
}
template <class T> T __ldca(const T *p)
{
    return *p;
}
template <class T> void __stcs(T *p, T value)
{
    *p = value;
}
template <class T> void __stcg(T *p, T value)
{
    *p = value;
}
template <class T> void __stwt(T *p, T value)
{
    *p = value;
}

#include "test/emulator/carryless.h"
#include "test/emulator/integers.h"
#include "test/emulator/reals.h"

#endif
