/*
 * Whether the small updates of a process are a stream for which a device pays.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_READ_AHEAD_STREAM_DETECTOR_H
#define GPUAES_PROVIDER_CIPHERS_READ_AHEAD_STREAM_DETECTOR_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * The stream under way, of all threads together; begun is 0 where there is none. Updates that two
 * threads make at once may be lost without harm.
 */
struct stream_detector {
    _Atomic int64_t begun, last; /* ns of a monotonic clock that is not 0 */
    _Atomic uint64_t bytes;
};

/*
 * Adds `bytes` at `now` (ns). Returns 1 once at least `least` bytes have come over a time and at
 * a rate for which a device pays. From any thread.
 */
int stream_detector_add(struct stream_detector *stream, int64_t now, uint64_t bytes,
                        uint64_t least);

/* As if nothing had been seen. From any thread. */
void stream_detector_forget(struct stream_detector *stream);

#endif
