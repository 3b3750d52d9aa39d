/*
 * Rings of keystream: pinned memory in three segments that a device writes ahead
 * of their use, and what is needed to order them.
 *
 * A ring is free, or leased to the keystream (keystream.c) that has taken it. The
 * library reclaims it from an owner that is not using it at that moment: when idle devices
 * are released, or for a keystream that has more use for it.
 * So its memory is only touched between ring_enter() and ring_leave(), which cost
 * one atomic operation and a store.
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
    _Atomic int closing;   /* the process ends: the use that is under way is the last one */
    _Atomic int64_t last_use;
    struct device *device; /* NULL: it has no memory */
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
 * Takes a ring with memory on any device in use, entered by the caller. Without
 * `allocate` only one that has its memory; else one may get memory on `device`,
 * within the limits, or be taken from an owner that has not used it for a second.
 * It is entered. OK; BUSY without `allocate`; NO_MEMORY; FAULT.
 */
enum gpuaes_status ring_take(struct device *device, int allocate, struct ring_lease *lease);

/* Returns 1, or 0 if the ring was reclaimed: then the lease is over. */
int ring_enter(const struct ring_lease *lease);
void ring_leave(const struct ring_lease *lease);

/* As ring_leave(), and marks the ring as used, so that it does not count as idle. */
void ring_leave_used(const struct ring_lease *lease);

/*
 * Gives an entered ring back: waits for what is under way, and cleanses. A ring
 * whose device cannot be waited for is never used again.
 */
void ring_give(const struct ring_lease *lease);

/*
 * For the thread that releases devices, while no other thread can enter one. Reclaims all
 * rings from their owners; returns 0, with nothing changed, if one is being used.
 * rings_free() frees the memory of those of a device, which is entered;
 * rings_reopen() lets all be taken again.
 */
int rings_reclaim(void);
drv_result rings_free(struct device *device);
void rings_reopen(void);

/*
 * For the exit of the process: takes all rings away for good. 0 where a thread is just using one,
 * which is taken at the end of that use; 1 once no thread uses one any more.
 */
int rings_close(void);

#endif
