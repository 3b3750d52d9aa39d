/*
 * Shares in proportion to rates.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/transfer/shares.h"

#include "base/minmax.h"

enum { LEAST = 4 }; /* a part of an equal share */

/* `least` is 0 where a rate is not known. */
static double weight(unsigned rate, double least)
{
    return least > 0 ? max_double(rate, least) : 1;
}

void shares_cut(const unsigned *rates, unsigned count, size_t bytes, size_t step, size_t *ends)
{
    double least = 0, all = 0, passed = 0;
    for (unsigned i = 0; i < count; i++)
        least += (double)rates[i] / count / LEAST;
    for (unsigned i = 0; i < count; i++)
        least = rates[i] == 0 ? 0 : least;
    for (unsigned i = 0; i < count; i++)
        all += weight(rates[i], least);
    for (unsigned i = 0; i < count; i++) {
        passed += weight(rates[i], least);
        size_t steps = (size_t)((double)(bytes / step) * (passed / all) + 0.5);
        ends[i] = i + 1 == count ? bytes : min_u64(steps * step, bytes);
    }
}
