/*
 * Rings of keystream.
 *
 * The word of a ring is the number of its ownership times STATES, plus a state. Every
 * change of hands is a compare and swap of that word: no lock is held, and an owner
 * whose number is no longer that of the ring has lost it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/device/ring.h"

#include "base/clock.h"
#include "cuda/process/settings.h"
#include "cuda/process/statistics.h"

enum {
    STATE_FREE,
    STATE_IDLE, /* it has an owner that is not using it */
    STATE_BUSY, /* a thread uses it, or is giving it to an owner */
    STATE_LOST, /* its memory is not touched again: its device failed, or the process ends */
    RELEASED,   /* added to STATE_FREE or STATE_IDLE while the devices are released */
    STATES = 2 * RELEASED
};

enum { PAGE_BYTES = 4096 };
#define LARGEST_SEGMENT ((size_t)4 << 20)
#define SMALLEST_SEGMENT ((size_t)256 << 10)

/* A ring whose owner has ordered nothing for so long may be reclaimed for another one. */
static const int64_t IDLE_NS = 1000000000;

static struct {
    _Atomic uint64_t bytes; /* pinned memory of all of them */
    struct ring ring[RINGS];
} rings;

static uint64_t word_of(uint64_t ownership, unsigned state)
{
    return ownership * STATES + state;
}

/* ---- Changing hands ------------------------------------------------------------ */

/*
 * Ends a use. Once the process ends, the ring is lost, whatever state was wanted. The load
 * of `closing` costs an update nothing: the swap has fetched that cache line.
 */
static void set_state(const struct ring_lease *lease, unsigned state)
{
    if (atomic_load_explicit(&lease->ring->closing, memory_order_relaxed))
        state = STATE_LOST;
    atomic_store_explicit(&lease->ring->word, word_of(lease->ownership, state),
                          memory_order_release);
}

int ring_enter(const struct ring_lease *lease)
{
    uint64_t idle = word_of(lease->ownership, STATE_IDLE);
    return atomic_compare_exchange_strong_explicit(&lease->ring->word, &idle,
                                                   word_of(lease->ownership, STATE_BUSY),
                                                   memory_order_acquire, memory_order_relaxed);
}

void ring_leave(const struct ring_lease *lease)
{
    set_state(lease, STATE_IDLE);
}

void ring_leave_used(const struct ring_lease *lease)
{
    atomic_store_explicit(&lease->ring->last_use, clock_ns(CLOCK_MONOTONIC_COARSE),
                          memory_order_relaxed);
    ring_leave(lease);
}

/* Takes a ring that is in that state: it is busy then, under a new number. */
static int reclaim(struct ring *ring, unsigned state, struct ring_lease *lease)
{
    uint64_t word = atomic_load(&ring->word);
    uint64_t ownership = word / STATES + 1;
    if (word % STATES != state ||
        !atomic_compare_exchange_strong(&ring->word, &word, word_of(ownership, STATE_BUSY)))
        return 0;
    *lease = (struct ring_lease){ring, ownership};
    return 1;
}

/* ---- Memory ---------------------------------------------------------------------- */

/* Returns the bytes of a segment in the largest ring that the limit allows. */
static size_t largest_segment(void)
{
    size_t share = settings_in_force()->read_ahead_bytes / RING_SEGMENTS / PAGE_BYTES * PAGE_BYTES;
    return share < LARGEST_SEGMENT ? share : LARGEST_SEGMENT;
}

static int count_bytes(size_t bytes)
{
    uint64_t now = atomic_load(&rings.bytes), cap = settings_in_force()->read_ahead_bytes;
    do {
        if (bytes > cap || now > cap - bytes)
            return 0;
    } while (!atomic_compare_exchange_weak(&rings.bytes, &now, now + bytes));
    if (statistics_take_pinned(bytes, settings_in_force()->pinned_bytes))
        return 1;
    atomic_fetch_sub(&rings.bytes, bytes);
    return 0;
}

static void uncount_bytes(size_t bytes)
{
    statistics_give_pinned(bytes);
    atomic_fetch_sub(&rings.bytes, bytes);
}

/* Leaves the memory to the memory pool, pinned as it is. */
static void spare_bytes(struct device *device, struct block *block)
{
    block->address = 0; /* not known */
    memory_pool_give(device, block);
    atomic_fetch_sub(&rings.bytes, block->bytes);
}

/* Destroys all but the memory; the device is entered. */
static void destroy(struct ring *ring, const struct driver *d)
{
    for (int i = 0; i < RING_SEGMENTS && ring->segment[i].made != NULL; i++)
        (void)d->event_destroy(ring->segment[i].made);
    if (ring->stream != NULL)
        (void)d->stream_destroy(ring->stream);
    for (int i = 0; i < RING_SEGMENTS; i++)
        ring->segment[i] = (struct segment){0};
    ring->stream = NULL;
}

/* The memory comes last: it cannot be freed again before the device is released. */
static drv_result create(struct ring *ring, struct device *device, size_t bytes)
{
    const struct driver *d = device->driver;
    struct block block = {.bytes = bytes * RING_SEGMENTS};
    void *p = NULL;
    drv_result r = d->stream_create(&ring->stream, DRV_STREAM_NON_BLOCKING);
    for (size_t i = 0; i < RING_SEGMENTS && r == DRV_SUCCESS; i++)
        r = d->event_create(&ring->segment[i].made, DRV_EVENT_DISABLE_TIMING);
    if (r == DRV_SUCCESS)
        r = d->mem_host_alloc(&p, block.bytes, DRV_HOST_ALLOC_PORTABLE | DRV_HOST_ALLOC_MAPPED);
    if (r == DRV_SUCCESS) {
        block.host = p;
        r = d->mem_host_get_device_pointer(&block.address, p, 0);
    }
    for (size_t i = 0; i < RING_SEGMENTS && r == DRV_SUCCESS; i++) {
        ring->segment[i].bytes = block.host + i * bytes;
        ring->segment[i].address = block.address + i * bytes;
    }
    if (r == DRV_SUCCESS)
        return r;
    destroy(ring, d);
    if (block.host == NULL)
        uncount_bytes(block.bytes);
    else
        spare_bytes(device, &block);
    return r;
}

static enum gpuaes_status allocate_memory(struct ring *ring, struct device *device)
{
    size_t bytes = largest_segment();
    while (bytes >= SMALLEST_SEGMENT && !count_bytes(bytes * RING_SEGMENTS))
        bytes = bytes / 2 / PAGE_BYTES * PAGE_BYTES;
    if (bytes < SMALLEST_SEGMENT)
        return GPUAES_NO_MEMORY;
    drv_result r = create(ring, device, bytes);
    if (r != DRV_SUCCESS)
        return device_fault(device, "memory for keystream", r);
    ring->segment_bytes = bytes;
    ring->device = device;
    return GPUAES_OK;
}

/* ---- Emptying ---------------------------------------------------------------------- */

/*
 * Waits for segments under way, where the device is `entered`, and cleanses; memory that
 * the device may still write to, or that is gone, is not touched.
 */
static drv_result empty(struct ring *ring, int entered)
{
    drv_result r = entered ? DRV_SUCCESS : DRV_UNKNOWN;
    if (!device_has_pinned(ring->device->driver, ring->segment[0].bytes))
        return DRV_UNKNOWN;
    for (int i = 0; i < RING_SEGMENTS; i++) {
        struct segment *s = &ring->segment[i];
        int made = !s->under_way;
        if (!made && r == DRV_SUCCESS) {
            r = device_wait(ring->device, NULL, s->made);
            made = r == DRV_SUCCESS;
        } else if (!made) {
            made = ring->device->driver->event_query(s->made) == DRV_SUCCESS;
        }
        if (!made)
            continue;
        gpuaes_cleanse(s->bytes, s->dirty);
        s->dirty = 0;
        s->under_way = 0;
    }
    return r;
}

/* Leaves its memory alone for ever; other rings may have as much. */
static void lose(const struct ring_lease *lease)
{
    atomic_fetch_sub(&rings.bytes, lease->ring->segment_bytes * RING_SEGMENTS);
    set_state(lease, STATE_LOST);
}

/* Empties a ring that is entered. Returns 0 if the ring is lost by that. */
static int empty_or_lose(const struct ring_lease *lease)
{
    struct device *device = lease->ring->device;
    int was_lost = atomic_load(&device->use) == DEVICE_LOST;
    int entered = !was_lost && device_enter(device);
    drv_result r = empty(lease->ring, entered);
    if (entered) {
        if (r != DRV_SUCCESS)
            (void)device_fault(device, "making keystream", r);
        device_leave(device);
    }
    if (r != DRV_SUCCESS)
        lose(lease);
    return r == DRV_SUCCESS;
}

void ring_give(const struct ring_lease *lease)
{
    if (empty_or_lose(lease))
        set_state(lease, STATE_FREE);
}

/* ---- Taking ------------------------------------------------------------------------- */

/* Takes a free ring with memory on a device in use, or one without memory. */
static int take_free(int with_memory, struct ring_lease *lease)
{
    for (int i = 0; i < RINGS; i++) {
        if (!reclaim(&rings.ring[i], STATE_FREE, lease))
            continue;
        const struct device *device = lease->ring->device;
        int use = device != NULL ? atomic_load(&device->use) : DEVICE_OUT;
        if (use == DEVICE_LOST)
            lose(lease);
        else if (with_memory ? use == DEVICE_IN_USE : device == NULL)
            return 1;
        else
            set_state(lease, STATE_FREE);
    }
    return 0;
}

static int take_from_idle_owner(struct ring_lease *lease)
{
    int64_t before = clock_ns(CLOCK_MONOTONIC_COARSE) - IDLE_NS;
    for (int i = 0; i < RINGS; i++) {
        struct ring *ring = &rings.ring[i];
        if (atomic_load_explicit(&ring->last_use, memory_order_relaxed) > before ||
            !reclaim(ring, STATE_IDLE, lease))
            continue;
        if (empty_or_lose(lease))
            return 1;
    }
    return 0;
}

static enum gpuaes_status take_new(struct device *device, struct ring_lease *lease)
{
    if (!take_free(0, lease))
        return GPUAES_NO_MEMORY;
    enum gpuaes_status status = allocate_memory(lease->ring, device);
    if (status != GPUAES_OK)
        set_state(lease, STATE_FREE);
    return status;
}

enum gpuaes_status ring_take(struct device *device, int allocate, struct ring_lease *lease)
{
    enum gpuaes_status status = GPUAES_OK;
    if (!take_free(1, lease)) {
        if (!allocate)
            return GPUAES_BUSY;
        status = take_new(device, lease);
        if (status == GPUAES_NO_MEMORY && take_from_idle_owner(lease))
            status = GPUAES_OK;
    }
    if (status == GPUAES_OK)
        atomic_store(&lease->ring->last_use, clock_ns(CLOCK_MONOTONIC_COARSE));
    return status;
}

/* ---- Release ------------------------------------------------------------------------ */

static int is_released(struct ring *ring)
{
    return atomic_load(&ring->word) % STATES >= RELEASED;
}

static int reclaim_for_release(struct ring *ring)
{
    uint64_t word = atomic_load(&ring->word);
    unsigned state = (unsigned)(word % STATES);
    if (state == STATE_BUSY || atomic_load(&ring->closing))
        return 0;
    return state == STATE_LOST ||
           atomic_compare_exchange_strong(&ring->word, &word, word + RELEASED);
}

int rings_reclaim(void)
{
    int i = 0;
    while (i < RINGS && reclaim_for_release(&rings.ring[i]))
        i++;
    if (i == RINGS)
        return 1;
    while (i-- > 0) {
        uint64_t word = atomic_load(&rings.ring[i].word);
        if (is_released(&rings.ring[i]))
            set_state(&(struct ring_lease){&rings.ring[i], word / STATES},
                      (unsigned)(word % STATES) - RELEASED);
    }
    return 0;
}

void rings_reopen(void)
{
    for (int i = 0; i < RINGS; i++) {
        struct ring *ring = &rings.ring[i];
        struct ring_lease lease = {ring, atomic_load(&ring->word) / STATES + 1};
        if (is_released(ring) && (ring->device == NULL || empty_or_lose(&lease)))
            set_state(&lease, STATE_FREE);
    }
}

/* Returns 1 if no thread uses the ring, nor will again. */
static int close_ring(struct ring *ring)
{
    struct ring_lease lease;
    atomic_store(&ring->closing, 1);
    if (reclaim(ring, STATE_FREE, &lease) || reclaim(ring, STATE_IDLE, &lease))
        set_state(&lease, STATE_LOST);
    return atomic_load(&ring->word) % STATES == STATE_LOST;
}

int rings_close(void)
{
    int closed = 1;
    for (int i = 0; i < RINGS; i++)
        closed &= close_ring(&rings.ring[i]);
    return closed;
}

drv_result rings_free(struct device *device)
{
    for (int i = 0; i < RINGS; i++) {
        struct ring *ring = &rings.ring[i];
        if (!is_released(ring) || ring->device != device)
            continue;
        drv_result r = empty(ring, 1);
        if (r != DRV_SUCCESS)
            return r;
        (void)device->driver->mem_free_host(ring->segment[0].bytes);
        destroy(ring, device->driver);
        uncount_bytes(ring->segment_bytes * RING_SEGMENTS);
        ring->device = NULL;
    }
    return DRV_SUCCESS;
}
