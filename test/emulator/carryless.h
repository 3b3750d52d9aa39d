/*
 * Carry-less multiplication by an instruction of the CPU.
 *
 * Part of device.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_EMULATOR_CARRYLESS_H
#define GPUAES_EMULATOR_CARRYLESS_H

#include <cstdint>

namespace emulator
{

struct carryless {
    uint64_t low, high;
};

#ifdef __x86_64__
extern const bool has_carryless_product; /* whether the CPU knows PCLMULQDQ */

/* The product of `a` and `b`. Only where has_carryless_product. */
[[gnu::always_inline]] static inline carryless carryless_product(uint64_t a, uint64_t b)
{
    typedef uint64_t vector __attribute__((vector_size(16)));
    vector product = {a, 0}, factor = {b, 0};
    /* An intrinsic would ask that all of a kernel is compiled for such a CPU. */
    asm("pclmulqdq $0, %1, %0" : "+x"(product) : "x"(factor));
    return {product[0], product[1]};
}
#else
static constexpr bool has_carryless_product = false;
static inline carryless carryless_product(uint64_t, uint64_t)
{
    return {0, 0};
}
#endif

} // namespace emulator

#endif
