/*
 * CTR keystream made ahead of its use.
 *
 * Three segments of a ring are ordered ahead of the position. While the device is
 * faster than the stream they follow each other without a gap. A segment that is
 * late leaves bytes to the caller, and the next ones are ordered further ahead, so
 * that a device that is shared with others still does what it can.
 *
 * Segments grow with the stream: what was ordered but is not used when it ends is at most
 * three eighths of what was used.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "cuda/aes/aes.h"
#include "cuda/device/ring.h"
#include "cuda/memory/host_copy.h"
#include "cuda/process/fork.h"
#include "cuda/process/settings.h"
#include "cuda/process/statistics.h"
#include "cuda/runtime/runtime.h"

#define FIRST_BYTES ((uint64_t)256 << 10)
#define MOST_LEAD ((uint64_t)256 << 20)

/* A segment is so much of what the stream has used so far, until it is as large as can be. */
enum { GROWTH = 8 };
/* So many segments that are not used, one after the other, end it. */
enum { MISSES_MOST = 16 };
/* The driver is not asked again before the stream has gone on by so much, at first and later. */
enum { ASK_BYTES = 32 << 10, ASK_MOST = 4 << 20 };

/* What of the stream a segment has. Empty: begin == end. */
struct span {
    uint64_t begin, end;
    int64_t missed_at; /* when the position was in it before it was made; 0: never */
};

struct gpuaes_keystream {
    /* What every call needs; `left` bytes at `next` are made. */
    struct ring_lease lease;
    const unsigned char *next;
    size_t left;
    uint64_t position; /* bytes from where `iv` is */

    int open;            /* there is a ring, unless it has been taken away */
    uint64_t used, told; /* bytes that were combined; what statistics know of them */
    uint64_t ask_at;     /* position from which on the driver is asked again */
    uint64_t ask_bytes;  /* and how far the next time is from then */
    uint64_t ordered;    /* end of the last segment */
    uint64_t lead;       /* least distance of a new one */
    unsigned misses;     /* one after the other */
    unsigned first;      /* segment that comes first in the stream */
    struct span span[RING_SEGMENTS];
    struct gpuaes_key key;
    unsigned char iv[GPUAES_BLOCK];
};

/* ---- Orders ------------------------------------------------------------------- */

static uint64_t bytes_to_order(const struct gpuaes_keystream *k)
{
    uint64_t bytes = FIRST_BYTES;
    while (bytes < k->lease.ring->segment_bytes && bytes * GROWTH <= k->used)
        bytes *= 2;
    return min_u64(bytes, k->lease.ring->segment_bytes);
}

static drv_result launch(const struct gpuaes_keystream *k, const struct segment *segment,
                         const struct span *span)
{
    const struct ring *ring = k->lease.ring;
    const struct driver *d = ring->device->driver;
    struct aes_arguments arguments;
    unsigned char iv[GPUAES_BLOCK];
    memcpy(iv, k->iv, sizeof iv);
    counter_add(iv, COUNTER_CTR, span->begin / GPUAES_BLOCK);
    aes_fill_arguments(&arguments, GPUAES_CTR, &k->key, iv, 0, segment->address,
                       span->end - span->begin);
    drv_result r = kernels_launch_aes(d, &ring->device->kernels, GPUAES_CTR, k->key.rounds,
                                      &arguments, NULL, ring->stream);
    gpuaes_cleanse(&arguments, sizeof arguments);
    return r == DRV_SUCCESS ? d->event_record(segment->made, ring->stream) : r;
}

/* The next piece of the stream into that segment. */
static drv_result order(struct gpuaes_keystream *k, unsigned number)
{
    struct segment *segment = &k->lease.ring->segment[number];
    struct span *span = &k->span[number];
    uint64_t begin = k->position + k->lead, bytes = bytes_to_order(k);
    begin -= begin % GPUAES_BLOCK;
    if (begin < k->ordered)
        begin = k->ordered;
    *span = (struct span){begin, begin + bytes, 0};
    k->ordered = span->end;
    segment->under_way = 1;
    if (segment->dirty < bytes)
        segment->dirty = bytes;
    return launch(k, segment, span);
}

/* Segments that the position has passed are ordered anew; what is under way stays. */
static drv_result turn(struct gpuaes_keystream *k)
{
    const struct ring *ring = k->lease.ring;
    for (unsigned i = 0; i < RING_SEGMENTS; i++) {
        struct segment *segment = &k->lease.ring->segment[k->first];
        if (k->span[k->first].end > k->position)
            break;
        drv_result r = DRV_SUCCESS;
        if (segment->under_way)
            r = ring->device->driver->event_query(segment->made);
        if (r == DRV_NOT_READY)
            break;
        if (r == DRV_SUCCESS)
            r = order(k, k->first);
        if (r != DRV_SUCCESS)
            return r;
        k->first = (k->first + 1) % RING_SEGMENTS;
    }
    return DRV_SUCCESS;
}

/* ---- Use ------------------------------------------------------------------------ */

/* The position is in a segment that is not made. 1: for longer than may be. */
static int miss(struct gpuaes_keystream *k, struct span *span)
{
    int64_t now = clock_ns(CLOCK_MONOTONIC);
    if (span->missed_at != 0) {
        if (now - span->missed_at > settings_timeout_ns())
            return 1;
        if (k->ask_bytes < ASK_MOST)
            k->ask_bytes *= 2;
    } else {
        span->missed_at = now;
        statistics_count(STATISTIC_UNDERRUNS, 1);
        k->misses++;
        k->lead = k->lead * 2 + FIRST_BYTES;
        if (k->lead > MOST_LEAD)
            k->lead = MOST_LEAD;
        k->ask_bytes = ASK_BYTES;
    }
    k->ask_at = k->position + k->ask_bytes;
    return 0;
}

static void use(struct gpuaes_keystream *k, const struct segment *segment, const struct span *span)
{
    if (span->missed_at == 0) {
        k->misses = 0;
        k->lead -= k->lead / GROWTH;
    }
    k->next = segment->bytes + (k->position - span->begin);
    k->left = (size_t)(span->end - k->position);
}

/* What is made of the segment that comes first. */
static drv_result look(struct gpuaes_keystream *k)
{
    struct segment *segment = &k->lease.ring->segment[k->first];
    struct span *span = &k->span[k->first];
    if (k->position < span->begin) {
        k->ask_at = span->begin;
        return DRV_SUCCESS;
    }
    drv_result r = DRV_SUCCESS;
    if (segment->under_way)
        r = k->lease.ring->device->driver->event_query(segment->made);
    if (r == DRV_NOT_READY) {
        if (!miss(k, span))
            return DRV_SUCCESS;
        /* The process may have been stopped since that query, and not the device. */
        r = k->lease.ring->device->driver->event_query(segment->made);
    }
    if (r != DRV_SUCCESS)
        return r;
    segment->under_way = 0;
    if (k->position < span->end)
        use(k, segment, span);
    return DRV_SUCCESS;
}

/* With the ring entered; 0, and it is given back, if there is no more to be had of it. */
static int work_on_ring(struct gpuaes_keystream *k)
{
    struct device *device = k->lease.ring->device;
    drv_result r = DRV_UNKNOWN;
    if (atomic_load(&device->use) != DEVICE_LOST && device_enter(device)) {
        r = turn(k);
        if (r == DRV_SUCCESS)
            r = look(k);
        if (r != DRV_SUCCESS)
            (void)device_fault(device, "making keystream", r);
        device_leave(device);
    }
    if (r == DRV_SUCCESS && k->misses < MISSES_MOST) {
        ring_leave_used(&k->lease);
        return 1;
    }
    ring_give(&k->lease);
    return 0;
}

static void tell_statistics(struct gpuaes_keystream *k)
{
    statistics_count(STATISTIC_READ_AHEAD, k->used - k->told);
    k->told = k->used;
}

int gpuaes_keystream_order(struct gpuaes_keystream *k)
{
    struct runtime_guard guard;
    if (k == NULL)
        return 0;
    if (!k->open || k->left != 0 || k->position < k->ask_at)
        return k->left != 0;
    k->open = runtime_enter(&guard);
    if (!k->open)
        return 0;
    k->open = ring_enter(&k->lease) && work_on_ring(k);
    runtime_leave(&guard);
    tell_statistics(k);
    return k->left != 0;
}

size_t gpuaes_keystream_xor(struct gpuaes_keystream *k, const void *in, void *out, size_t len)
{
    if (k == NULL || in == NULL || out == NULL)
        return 0;
    if (len > k->left)
        len = k->left;
    if (len == 0)
        return 0;
    if (fork_is_child() || !ring_enter(&k->lease)) {
        k->left = 0;
        k->open = 0;
        return 0;
    }
    host_xor(out, in, k->next, len, 0);
    ring_leave(&k->lease);
    k->next += len;
    k->left -= len;
    k->position += len;
    k->used += len;
    return len;
}

void gpuaes_keystream_skip(struct gpuaes_keystream *k, size_t len)
{
    if (k == NULL)
        return;
    size_t made = min_u64(len, k->left);
    if (made != 0) /* there may be no ring yet */
        k->next += made;
    k->left -= made;
    k->position += len;
}

uint64_t gpuaes_keystream_position(const struct gpuaes_keystream *k)
{
    return k != NULL ? k->position : 0;
}

int gpuaes_keystream_is_open(const struct gpuaes_keystream *k)
{
    return k != NULL && k->open;
}

/* ---- Open and close ---------------------------------------------------------------- */

static enum gpuaes_status take_ring(struct gpuaes_keystream *k, int allocate)
{
    struct runtime_guard guard;
    enum gpuaes_status status = GPUAES_NOT_READY;
    if (!runtime_enter(&guard))
        return status;
    struct device *device = runtime_own_device();
    if (device != NULL && device_enter(device)) {
        status = ring_take(device, allocate, &k->lease);
        device_leave(device);
    }
    if (status == GPUAES_OK && !work_on_ring(k))
        status = GPUAES_FAULT;
    runtime_leave(&guard);
    return status;
}

enum gpuaes_status gpuaes_keystream_open(struct gpuaes_keystream **keystream,
                                         const struct gpuaes_key *key,
                                         const unsigned char iv[GPUAES_BLOCK], unsigned flags)
{
    if (keystream == NULL)
        return GPUAES_BAD_ARGUMENT;
    *keystream = NULL;
    if (aes_bad_arguments(key, NULL, NULL, 0) || iv == NULL)
        return GPUAES_BAD_ARGUMENT;
    struct gpuaes_keystream *k = calloc(1, sizeof *k);
    if (k == NULL)
        return GPUAES_NO_MEMORY;
    k->key = *key;
    memcpy(k->iv, iv, sizeof k->iv);
    k->open = 1;
    enum gpuaes_status status = take_ring(k, (flags & GPUAES_ALLOCATE) != 0);
    if (status == GPUAES_OK) {
        *keystream = k;
        return status;
    }
    gpuaes_cleanse(k, sizeof *k);
    free(k);
    return status;
}

/* Unless it has been taken away. Without a device it is cleansed as far as nothing is under way. */
static void give_ring(const struct gpuaes_keystream *k)
{
    struct runtime_guard guard;
    int entered = runtime_enter(&guard);
    if (ring_enter(&k->lease))
        ring_give(&k->lease);
    if (entered)
        runtime_leave(&guard);
}

void gpuaes_keystream_close(struct gpuaes_keystream *k)
{
    if (k == NULL)
        return;
    if (!fork_is_child()) { /* whose pages of the ring may not be there */
        give_ring(k);
        tell_statistics(k);
    }
    gpuaes_cleanse(k, sizeof *k);
    free(k);
}
