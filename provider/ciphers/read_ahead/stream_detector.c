/*
 * Whether the small updates of a process are a stream for which a device pays.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/read_ahead/stream_detector.h"

/*
 * A process whose device was started exits 60 to 100 ms later, and waits 200 ms for it. Small
 * updates gain by read-ahead alone, so they must have gone on for longer than that, at a
 * rate that keeps a CPU busy, before another such while is expected of them: a client of a
 * network never starts a device.
 */
static const int64_t LEAST_NS = 400000000, PAUSE_NS = 100000000;
static const double LEAST_RATE = 0.25; /* bytes a ns */

/*
 * Read-ahead brings no more than a PCIe 5.0 link of 16 lanes does, some 50 GB/s. CPUs that
 * stream as fast without a device have no use for one: 64 threads on 16 cores make 75 to 83
 * GB/s, and lost a tenth of that to a start.
 */
static const double MOST_RATE = 45;

static int is_over(const struct stream_detector *s, int64_t begun, int64_t last, int64_t now)
{
    return begun == 0 || now - last > PAUSE_NS ||
           (now - begun > PAUSE_NS &&
            (double)atomic_load(&s->bytes) < (double)(now - begun) * LEAST_RATE);
}

int stream_detector_add(struct stream_detector *s, int64_t now, uint64_t bytes, uint64_t least)
{
    int64_t begun = atomic_load(&s->begun);
    if (is_over(s, begun, atomic_exchange(&s->last, now), now)) {
        atomic_store(&s->begun, now);
        atomic_store(&s->bytes, 0);
        begun = now;
    }
    uint64_t all = atomic_fetch_add(&s->bytes, bytes) + bytes;
    return all >= least && now - begun >= LEAST_NS &&
           (double)all <= (double)(now - begun) * MOST_RATE;
}

void stream_detector_forget(struct stream_detector *s)
{
    atomic_store(&s->begun, 0);
}
