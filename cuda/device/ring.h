/*
 * Rings of keystream: pinned memory in three segments that a device writes ahead
 * of their use, with the stream and the events to order them.
 *
 * A ring is free, or leased to a keystream (keystream.c). The library reclaims it from an
 * owner that is not using it at that moment: when idle devices are released, or for another
 * keystream after a second without use. So its memory is only touched between ring_enter()
 * and ring_leave(), which cost one atomic operation and a store.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_DEVICE_RING_H
#define GPUAES_CUDA_DEVICE_RING_H

#include "cuda/device/device.h"

enum { RINGS = 64, RING_SEGMENTS = 3 };

struct segment {
    unsigned char *bytes; /* pinned memory, and as the device sees it */
    drv_ptr address;
    drv_event made;
    size_t dirty;  /* bytes that hold keystream, or soon will */
    int under_way; /* the device has not been seen to be done with it */
};

struct ring {
    _Atomic uint64_t word; /* state and number of the ownership; see ring.c */
    _Atomic int closing;   /* the process ends: a use that is under way is the last one */
    _Atomic int64_t last_use;
    struct device *device; /* NULL: the ring has no memory */
    drv_stream stream;
    size_t segment_bytes; /* a multiple of 4096 */
    struct segment segment[RING_SEGMENTS];
};

/* A lease: the ring and the number of its ownership. */
struct ring_lease {
    struct ring *ring;
    uint64_t ownership;
};

/*
 * Leases a free ring that has memory, on any device in use. With `allocate`, where there
 * is none, gives one memory on `device`, which the caller has entered, within the limits; or
 * reclaims one from an owner that has not used it for a second. The ring is entered.
 * Returns OK; BUSY without `allocate`; NO_MEMORY; FAULT.
 */
enum gpuaes_status ring_take(struct device *device, int allocate, struct ring_lease *lease);

/* Returns 1, or 0 if the ring was reclaimed, which ends the lease. */
int ring_enter(const struct ring_lease *lease);
void ring_leave(const struct ring_lease *lease);

/* As ring_leave(), and marks the ring as used, so that it does not count as idle. */
void ring_leave_used(const struct ring_lease *lease);

/*
 * Gives an entered ring back: waits for segments under way, and cleanses all. A ring
 * whose device cannot be waited for is never used again.
 */
void ring_give(const struct ring_lease *lease);

/*
 * For the thread that releases devices, while no other thread can enter a device.
 * rings_reclaim() reclaims all rings from their owners; returns 0, with nothing changed, if
 * one is being used. rings_free() then frees the memory of the rings of a device, which is
 * entered. rings_reopen() lets all rings be leased again.
 */
int rings_reclaim(void);
drv_result rings_free(struct device *device);
void rings_reopen(void);

/*
 * For the exit of the process: ends all leases for good, those of rings in use at the end of
 * that use. Returns 1 once no thread uses a ring, 0 before.
 */
int rings_close(void);

#endif
