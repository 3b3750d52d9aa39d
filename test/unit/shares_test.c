/*
 * How a call is cut for several devices: by their rates, in whole steps, without a gap.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/transfer/shares.h"
#include "test/support/tap.h"

enum { STEP = 64 << 10, MOST = 8 };

static const size_t bytes_of_call = (size_t)1 << 30;

/* The share of a device, in parts of 1000. */
static unsigned share(const size_t *ends, unsigned i)
{
    size_t begin = i == 0 ? 0 : ends[i - 1];
    return (unsigned)(((ends[i] - begin) * 1000 + bytes_of_call / 2) / bytes_of_call);
}

static void check_two(unsigned first, unsigned second, unsigned expected, const char *what)
{
    const unsigned rates[] = {first, second};
    size_t ends[2];
    shares_cut(rates, 2, bytes_of_call, STEP, ends);
    unsigned got = share(ends, 0);
    if (!tap_ok(got == expected && ends[1] == bytes_of_call, "%s", what))
        tap_diag("the first of rates %u and %u has %u of 1000 parts", first, second, got);
}

/* Any rates and lengths: ends do not fall, are multiples of a step, and the last is the call's. */
static void check_random(void)
{
    struct tap_random state;
    int right = 1;
    tap_random_seed(&state);
    for (int turn = 0; turn < 10000 && right; turn++) {
        unsigned rates[MOST], count = 1 + (unsigned)tap_random_below(&state, MOST);
        size_t ends[MOST], bytes = 1 + tap_random_below(&state, (size_t)1 << (1 + turn % 40));
        for (unsigned i = 0; i < count; i++)
            rates[i] = turn % 33 == 32 ? 0 : (unsigned)tap_random_next(&state) >> turn % 33;
        shares_cut(rates, count, bytes, STEP, ends);
        for (unsigned i = 0; i + 1 < count && right; i++)
            right = ends[i] <= ends[i + 1] && (ends[i] % STEP == 0 || ends[i] == bytes);
        right = right && ends[count - 1] == bytes;
        if (!right)
            tap_diag("%zu bytes for %u devices, turn %d", bytes, count, turn);
    }
    tap_ok(right, "shares of any rates and lengths follow each other without a gap");
}

int main(void)
{
    check_two(0, 0, 500, "devices whose rates are not known have equal shares");
    check_two(50000, 0, 500, "and where one is not known");
    check_two(48000, 48000, 500, "equal devices have equal shares");
    check_two(60000, 40000, 600, "shares are in proportion to rates");
    check_two(1, 4000000000U, 111, "a slow device has a quarter of an equal share");
    check_random();
    return tap_done();
}
