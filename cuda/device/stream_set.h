/*
 * Stream sets: the streams and buffers with which one call keeps the device
 * busy. A stream set has slots, each with a stream, an event, device buffers and a pinned
 * staging buffer, so that the copies of one piece overlap the kernel of another.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_DEVICE_STREAM_SET_H
#define GPUAES_CUDA_DEVICE_STREAM_SET_H

#include <pthread.h>

#include "cuda/driver/driver.h"
#include "cuda/gpuaes.h"

struct device;

/*
 * Batches, which hold a stream set between calls, take only the last BATCH_STREAM_SETS. Calls take
 * those, too, once the others are taken.
 */
enum { STREAM_SETS = 16, BATCH_STREAM_SETS = 8, STREAM_SET_SLOTS = 4 };

struct slot {
    drv_stream stream;
    drv_event event;
    drv_ptr buffer[2]; /* device memory */
    size_t buffer_bytes[2];
    unsigned char *staging; /* pinned memory, and as the device sees it */
    drv_ptr staging_address;
    size_t staging_bytes;
    drv_ptr scratch; /* device memory of the kernels */
    size_t scratch_bytes;
    int wiping; /* a wipe was queued and not waited for yet */
};

struct stream_set {
    struct slot slots[STREAM_SET_SLOTS];
    drv_event application; /* marks what the application had queued when the work began */
    int follows;           /* the work comes after that, however long it takes */
    int timed_out;         /* a wait timed out: the next ones only look */
    int taken;
    int lost; /* the device may still write to it: never touched again */
};

struct stream_sets {
    pthread_mutex_t lock;
    pthread_cond_t returned;
    struct stream_set set[STREAM_SETS];
};

void stream_sets_init(struct stream_sets *sets);

/*
 * Ends all stream sets, none of which may be taken, and gives their memory, cleansed, to the pool.
 * On an error the device may still be at work on the rest.
 */
drv_result stream_sets_end(struct device *device);

/*
 * Takes a stream set, for a call or for a batch; stream_set_return() gives it back. With
 * GPUAES_WAIT in flags a call waits for one, a batch for timeout_ms at most. Returns NULL if all
 * are taken, and to a waiting caller once the device is lost.
 */
enum stream_set_use { STREAM_SET_CALL, STREAM_SET_BATCH };
struct stream_set *stream_set_take(struct device *device, enum stream_set_use use, unsigned flags);

/* The status for a call that stream_set_take() gave no stream set. */
enum gpuaes_status stream_set_refusal(const struct device *device);

/* Wakes the threads that wait for a stream set: the device is lost. */
void stream_sets_wake(struct device *device);

/* Gives a stream set back. Nothing may be under way on it, except with `lost`. */
void stream_set_return(struct device *device, struct stream_set *set, int lost);

/*
 * Makes sure that the first `slots` slots, or fewer where memory is short, have a stream, an event
 * and buffers of at least these sizes (0: not needed). DRV_OUT_OF_MEMORY also where the
 * cap on pinned memory would be exceeded. Frees nothing: see memory_pool.h.
 */
struct stream_set_needs {
    unsigned slots;
    size_t buffer[2];
    size_t staging, scratch;
};
drv_result stream_set_prepare(struct device *device, struct stream_set *set,
                              struct stream_set_needs *needs);

/*
 * For work on device memory: from here on, work in the first `slots` slots comes after all work
 * that the application has put on the legacy stream.
 */
drv_result stream_set_follow(struct device *device, struct stream_set *set, unsigned slots);

/* Sizes of buffers are multiples of this, so that they seldom grow. */
enum { BUFFER_ROUNDING = 256 << 10 };
static inline size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/*
 * Waits for an event of a slot, or, where that is NULL, for all work queued on it: without
 * limit for the application's work that the stream set follows, then for timeout_ms. All waits
 * until the stream set is given back share that limit: a device that hangs does so on every stream.
 */
drv_result stream_set_wait(struct device *device, struct stream_set *set, const struct slot *slot,
                           drv_event event);

/*
 * Overwrites device memory, or staging memory as the device sees it, or the first bytes of each
 * memory of a slot; queued, not waited for.
 */
drv_result slot_wipe_range(struct slot *slot, const struct driver *driver, drv_ptr p, size_t bytes);
drv_result slot_wipe(struct slot *slot, const struct driver *driver,
                     const struct stream_set_needs *bytes);

/*
 * Overwrites staging memory by the CPU, after a fault: the device may not be able to. Waits for
 * a wipe that is queued, as stream_set_wait() does, so that CPU and device do not write there at
 * once.
 */
void stream_set_cleanse_staging(struct device *device, struct stream_set *set);

#endif
