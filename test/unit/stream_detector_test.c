/*
 * Which streams of small updates are worth a device: made-up clocks, no device.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/read_ahead/stream_detector.h"
#include "test/support/tap.h"

static const int64_t MS = 1000000, BEGIN = 1000000000;

/* ms at which a stream of `rate` bytes a ns, updates each `step` ns, is worth it; -1: never. */
static int64_t worth_at(struct stream_detector *s, int64_t begin, double rate, int64_t step,
                        uint64_t least)
{
    for (int64_t t = 0; t < 5000 * MS; t += step) {
        if (stream_detector_add(s, begin + t, (uint64_t)(rate * (double)step), least))
            return t / MS;
    }
    return -1;
}

static int64_t fresh(double rate, int64_t step, uint64_t least)
{
    struct stream_detector s = {0};
    return worth_at(&s, BEGIN, rate, step, least);
}

static void test_rates(void)
{
    tap_ok(fresh(6, MS, 1) == 400, "a core's stream is worth a device after 400 ms");
    tap_ok(fresh(0.3, MS, 1) == 400, "a slow one, too");
    tap_ok(fresh(0.2, MS, 1) == -1, "one that leaves the CPU idle never is");
    tap_ok(fresh(44, MS, 1) == 400, "as fast as the link, it is");
    tap_ok(fresh(60, MS, 1) == -1, "faster than the link, it never is");
    tap_ok(fresh(6, MS, 6000 * 1000 * MS / 1000) == 999, "nor before start-bytes");
}

static void test_pauses(void)
{
    tap_ok(fresh(6, 90 * MS, 1) == 450, "a pause of 90 ms does not end a stream");
    tap_ok(fresh(6, 110 * MS, 1) == -1, "one of 110 ms does");
    struct stream_detector s = {0};
    (void)worth_at(&s, BEGIN, 60, MS, 1);
    tap_ok(worth_at(&s, BEGIN + 5200 * MS, 6, MS, 1) == 400,
           "after a pause, what came before does not count");
    stream_detector_forget(&s);
    tap_ok(worth_at(&s, BEGIN + 10200 * MS, 6, MS, 1) == 400, "nor what was forgotten");
}

int main(void)
{
    test_rates();
    test_pauses();
    return tap_done();
}
