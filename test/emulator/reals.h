/*
 * CUDA's floating-point functions. Those that round one operation by itself do so here as well:
 * the compiler must not join two of them.
 *
 * Part of device.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_EMULATOR_REALS_H
#define GPUAES_EMULATOR_REALS_H

#include <cmath>
#include <cstdint>
#include <cstring>

static inline unsigned __float_as_uint(float x)
{
    unsigned bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline long long __double_as_longlong(double x)
{
    long long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- One rounding each ------------------------------------------------------ */

static inline float __fmul_rn(float a, float b)
{
    volatile float product = a * b;
    return product;
}
static inline float __fadd_rn(float a, float b)
{
    volatile float sum = a + b;
    return sum;
}
static inline float __fmaf_rn(float a, float b, float c)
{
    return std::fma(a, b, c);
}
static inline double __dmul_rn(double a, double b)
{
    volatile double product = a * b;
    return product;
}
static inline double __dadd_rn(double a, double b)
{
    volatile double sum = a + b;
    return sum;
}
static inline double __fma_rn(double a, double b, double c)
{
    return std::fma(a, b, c);
}

/* ---- Of pi times x ---------------------------------------------------------- */

static inline void sincospi(double x, double *sine, double *cosine)
{
    const double pi = 3.14159265358979323846;
    *sine = std::sin(pi * x);
    *cosine = std::cos(pi * x);
}
static inline void sincospif(float x, float *sine, float *cosine)
{
    double s, c;
    sincospi(static_cast<double>(x), &s, &c);
    *sine = static_cast<float>(s);
    *cosine = static_cast<float>(c);
}

#endif
