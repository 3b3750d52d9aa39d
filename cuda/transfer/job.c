/*
 * Cutting of work, and what becomes of a part whose device fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/transfer/job.h"

#include "base/minmax.h"
#include "cuda/process/thread_pool.h"
#include "cuda/runtime/runtime.h"

/*
 * Smaller parts are not worth the hand-over to another thread; where nobody asked for several
 * threads, the CPU's time counts, too.
 */
enum { PART_STAGED = 1 << 20, PART_AUTOMATIC = 4 << 20, PART_PINNED = 8 << 20 };
/* Staging memory that the lane of a part may take. */
enum { PART_STAGING = 8 << 20 };
/* Parts begin at multiples of so many units. */
enum { PART_UNITS = 4096 };

size_t work_out_bytes(const struct work *work, size_t in_bytes)
{
    return in_bytes == work->in_bytes ? work->out_bytes : in_bytes / work->in_unit * work->out_unit;
}

/* Then one device can do it, and no other. */
static int is_on_device(const struct work *work)
{
    return work->in_memory.kind == GPUAES_DEVICE || work->out_memory.kind == GPUAES_DEVICE;
}

static int is_pageable(const struct work *work)
{
    return work->in_memory.kind == GPUAES_PAGEABLE || work->out_memory.kind == GPUAES_PAGEABLE;
}

static unsigned count_threads(const struct work *work)
{
    if (life_settings()->threads != 0)
        return life_settings()->threads;
    unsigned parts = min_unsigned(work->in_bytes / PART_AUTOMATIC, GPUAES_PARTS);
    return is_pageable(work) && parts > 1 ? min_unsigned(pool_automatic_threads(), parts) : 1;
}

static unsigned count_parts(const struct work *work, unsigned devices)
{
    int staged = is_pageable(work);
    unsigned parts = 1;
    if (work->whole && work->in_memory.kind == GPUAES_DEVICE)
        return 1;
    if (staged)
        parts = min_unsigned(life_settings()->pinned_bytes / PART_STAGING, work->threads);
    else if (!is_on_device(work))
        parts = devices;
    parts = min_unsigned(work->in_bytes / (staged ? PART_STAGED : PART_PINNED), parts);
    return parts == 0 ? 1 : min_unsigned(parts, GPUAES_PARTS);
}

/* The calling thread's own device comes first; memory of a device is for that one. */
static void cut(struct work *work, struct device *first)
{
    struct device *devices[MAX_DEVICES];
    unsigned count = life_devices(devices), own = 0;
    while (own < count && devices[own] != first)
        own++;
    unsigned parts = count_parts(work, count);
    size_t step = work->in_unit * PART_UNITS;
    size_t size = parts == 1 ? work->in_bytes : (work->in_bytes / parts + step - 1) / step * step;
    work->parts = 0;
    for (size_t at = 0; at < work->in_bytes; at += size) {
        size_t left = work->in_bytes - at;
        struct device *device =
            is_on_device(work) || own == count ? first : devices[(own + work->parts) % count];
        work->part[work->parts++] =
            (struct part){.at = at, .bytes = min_u64(left, size), .device = device};
    }
}

/* For calls of all threads together. */
static unsigned count_helpers(const struct work *work)
{
    int automatic = life_settings()->threads == 0 && is_pageable(work);
    return automatic ? work->threads - 1 : GPUAES_PARTS - 1;
}

static void run_part(void *arg, unsigned number)
{
    struct work *work = arg;
    struct part *part = &work->part[number];
    part->status = GPUAES_FAULT;
    if (device_enter(part->device)) {
        part->status = work->run(work, number);
        device_leave(part->device);
    }
}

/* 1 if another device, or a second attempt after the others have ended, may do better. */
static int is_worth_another(const struct work *work, const struct part *part)
{
    return part->status == GPUAES_FAULT || part->status == GPUAES_NO_MEMORY ||
           (part->status == GPUAES_BUSY && work->parts > 1);
}

/* On each device that is left, until one has done it. */
static void run_again(struct work *work, unsigned number)
{
    struct device *devices[MAX_DEVICES];
    struct part *part = &work->part[number];
    unsigned count = life_devices(devices);
    for (unsigned i = 0; i < count && is_worth_another(work, part); i++) {
        if (atomic_load(&devices[i]->use) != DEVICE_IN_USE ||
            (work->parts == 1 && devices[i] == part->device))
            continue;
        part->device = devices[i];
        run_part(work, number);
    }
}

/* The worst; bad input only where all that is before it is known. */
static enum gpuaes_status combine(const struct work *work)
{
    enum gpuaes_status worst = GPUAES_OK;
    int bad_input = 0;
    for (unsigned i = 0; i < work->parts; i++) {
        enum gpuaes_status status = work->part[i].status;
        if (status == GPUAES_BAD_INPUT)
            bad_input = 1;
        else if (status > worst)
            worst = status;
    }
    return worst == GPUAES_OK && bad_input ? GPUAES_BAD_INPUT : worst;
}

/* What memory it is, and the device that comes first. */
static enum gpuaes_status look(struct work *work, struct device **device)
{
    struct device *own = life_own_device();
    if (own == NULL)
        return GPUAES_NOT_READY;
    if (!device_enter(own))
        return GPUAES_FAULT;
    enum gpuaes_status status = memory_look(own, work->in, work->in_bytes, &work->in_memory);
    if (status == GPUAES_OK && work->in == work->out)
        work->out_memory = work->in_memory;
    else if (status == GPUAES_OK)
        status = memory_look(own, work->out, work->out_bytes, &work->out_memory);
    device_leave(own);
    if (status == GPUAES_OK)
        status = memory_device(&work->in_memory, &work->out_memory, own, device);
    return status;
}

enum gpuaes_status work_run(struct work *work)
{
    struct visit visit;
    struct device *device;
    work->parts = 0;
    if (!life_enter(&visit))
        return GPUAES_NOT_READY;
    enum gpuaes_status status = look(work, &device);
    if (status == GPUAES_OK) {
        work->threads = count_threads(work);
        cut(work, device);
        if (work->begin != NULL)
            work->begin(work);
        pool_run(run_part, work, work->parts, count_helpers(work));
        for (unsigned i = 0; i < work->parts && !is_on_device(work); i++)
            run_again(work, i);
        status = combine(work);
    }
    life_leave(&visit);
    return status;
}
