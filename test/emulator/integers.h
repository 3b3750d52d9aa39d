/*
 * CUDA's integer intrinsics: bits, bytes, and four bytes at a time.
 *
 * Part of device.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_EMULATOR_INTEGERS_H
#define GPUAES_EMULATOR_INTEGERS_H

#include <cstdint>
#include <type_traits>

template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}

/* ---- Bits ------------------------------------------------------------------ */

static inline int __clz(int x)
{
    return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}
static inline int __clzll(long long x)
{
    return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}
static inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}
static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
static inline unsigned __brev(unsigned x)
{
    x = (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
    x = (x & 0x33333333) << 2 | (x >> 2 & 0x33333333);
    x = (x & 0x0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f);
    return __builtin_bswap32(x);
}
static inline unsigned long long __brevll(unsigned long long x)
{
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    __extension__ typedef unsigned __int128 wide;
    return static_cast<unsigned long long>(static_cast<wide>(a) * b >> 64);
}

/* The high (l) or low (r) word of hi:lo shifted by the low five bits of `shift`. */
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift)
{
    return static_cast<unsigned>((static_cast<uint64_t>(hi) << 32 | lo) << (shift & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift)
{
    return static_cast<unsigned>((static_cast<uint64_t>(hi) << 32 | lo) >> (shift & 31));
}

/* ---- Bytes ------------------------------------------------------------------ */

namespace emulator
{
/* The byte of `bytes` that a nibble names, or with bit 3 its sign in all bits. */
[[gnu::always_inline]] static inline unsigned selected_byte(uint64_t bytes, unsigned nibble)
{
    const unsigned byte = static_cast<unsigned>(bytes >> 8 * (nibble & 7)) & 255;
    return nibble & 8 ? (byte >> 7) * 255 : byte;
}
} // namespace emulator

/*
 * Byte i of the result is the byte of b:a that nibble i of `selector` names. Always inlined: with a
 * constant for it little is left.
 */
[[gnu::always_inline]] static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    using emulator::selected_byte;
    const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    return selected_byte(bytes, selector & 15) | selected_byte(bytes, selector >> 4 & 15) << 8 |
           selected_byte(bytes, selector >> 8 & 15) << 16 |
           selected_byte(bytes, selector >> 12 & 15) << 24;
}
[[gnu::always_inline]] static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    return c + (a & 255) * (b & 255) + (a >> 8 & 255) * (b >> 8 & 255) +
           (a >> 16 & 255) * (b >> 16 & 255) + (a >> 24) * (b >> 24);
}

namespace emulator
{
template <class F> static inline unsigned each_byte(unsigned a, unsigned b, F f)
{
    unsigned result = 0;
    for (unsigned shift = 0; shift < 32; shift += 8)
        result |= (f(a >> shift & 255, b >> shift & 255) & 255u) << shift;
    return result;
}
static constexpr int sign_extend(unsigned byte)
{
    return static_cast<int>(byte ^ 128u) - 128;
}
} // namespace emulator

/* A comparison gives 0xff or 0x00 in each byte. `a` and `b` are bytes without a sign. */
#define EMULATOR_EACH_BYTE(name, expression)                                                       \
    static inline unsigned name(unsigned left, unsigned right)                                     \
    {                                                                                              \
        return emulator::each_byte(left, right,                                                    \
                                   [](unsigned a, unsigned b) -> unsigned { return expression; }); \
    }
EMULATOR_EACH_BYTE(__vadd4, a + b)
EMULATOR_EACH_BYTE(__vsub4, a - b)
EMULATOR_EACH_BYTE(__vaddus4, a + b > 255 ? 255 : a + b)
EMULATOR_EACH_BYTE(__vsubus4, a < b ? 0 : a - b)
EMULATOR_EACH_BYTE(__vminu4, a < b ? a : b)
EMULATOR_EACH_BYTE(__vmaxu4, a < b ? b : a)
EMULATOR_EACH_BYTE(__vabsdiffu4, a < b ? b - a : a - b)
EMULATOR_EACH_BYTE(__vcmpeq4, a == b ? 255 : 0)
EMULATOR_EACH_BYTE(__vcmpne4, a != b ? 255 : 0)
EMULATOR_EACH_BYTE(__vcmpgtu4, a > b ? 255 : 0)
EMULATOR_EACH_BYTE(__vcmpgeu4, a >= b ? 255 : 0)
EMULATOR_EACH_BYTE(__vcmpltu4, a < b ? 255 : 0)
EMULATOR_EACH_BYTE(__vcmpleu4, a <= b ? 255 : 0)
EMULATOR_EACH_BYTE(__vcmpgts4, emulator::sign_extend(a) > emulator::sign_extend(b) ? 255 : 0)
EMULATOR_EACH_BYTE(__vcmpges4, emulator::sign_extend(a) >= emulator::sign_extend(b) ? 255 : 0)
EMULATOR_EACH_BYTE(__vcmplts4, emulator::sign_extend(a) < emulator::sign_extend(b) ? 255 : 0)
EMULATOR_EACH_BYTE(__vcmples4, emulator::sign_extend(a) <= emulator::sign_extend(b) ? 255 : 0)
#undef EMULATOR_EACH_BYTE

#endif
