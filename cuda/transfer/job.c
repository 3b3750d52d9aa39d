/*
 * Cutting of work, and what becomes of a shard whose device fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/transfer/job.h"

#include "base/minmax.h"
#include "cuda/process/settings.h"
#include "cuda/process/thread_pool.h"
#include "cuda/runtime/runtime.h"
#include "cuda/transfer/transfer.h"

/*
 * Smaller shards are not worth the hand-over to another thread; where nobody asked for several
 * threads, the CPU's time counts, too.
 */
enum { SHARD_STAGED = 1 << 20, SHARD_AUTOMATIC = 4 << 20, SHARD_PINNED = 8 << 20 };
/* Staging memory that the stream set of a shard may take. */
enum { SHARD_STAGING = 8 << 20 };
/* Shards begin at multiples of so many units. */
enum { SHARD_UNITS = 4096 };

int job_is_on_device(const struct job *job)
{
    return job->in_memory.kind == GPUAES_DEVICE || job->out_memory.kind == GPUAES_DEVICE;
}

static int is_pageable(const struct job *job)
{
    return job->in_memory.kind == GPUAES_PAGEABLE || job->out_memory.kind == GPUAES_PAGEABLE;
}

/* Threads that may move the data of one call. */
static unsigned count_threads(const struct job *job)
{
    unsigned threads = settings_in_force()->threads;
    if (threads != 0)
        return threads;
    unsigned shards = min_unsigned(job->in_bytes / SHARD_AUTOMATIC, GPUAES_SHARDS);
    return is_pageable(job) && shards > 1 ? min_unsigned(thread_pool_automatic_threads(), shards)
                                          : 1;
}

static unsigned count_shards(const struct job *job, unsigned threads, unsigned devices)
{
    int staged = is_pageable(job);
    unsigned shards = 1;
    if (job->whole && job->in_memory.kind == GPUAES_DEVICE)
        return 1;
    if (staged)
        shards = min_unsigned(settings_in_force()->pinned_bytes / SHARD_STAGING, threads);
    else if (!job_is_on_device(job))
        shards = devices;
    shards = min_unsigned(job->in_bytes / (staged ? SHARD_STAGED : SHARD_PINNED), shards);
    return shards == 0 ? 1 : min_unsigned(shards, GPUAES_SHARDS);
}

/* The calling thread's own device comes first; memory of a device is for that one. */
static void cut(struct job *job, unsigned threads, struct device *first)
{
    struct device *devices[MAX_DEVICES];
    unsigned count = runtime_devices(devices), own = 0;
    while (own < count && devices[own] != first)
        own++;
    unsigned shards = count_shards(job, threads, count);
    size_t step = job->in_unit * SHARD_UNITS;
    size_t size = shards == 1 ? job->in_bytes : (job->in_bytes / shards + step - 1) / step * step;
    job->shards = 0;
    for (size_t at = 0; at < job->in_bytes; at += size) {
        size_t left = job->in_bytes - at;
        struct device *device =
            job_is_on_device(job) || own == count ? first : devices[(own + job->shards) % count];
        job->shard[job->shards++] =
            (struct shard){.at = at, .bytes = min_u64(left, size), .device = device};
    }
}

static void shard_run(const struct job *job, struct shard *shard)
{
    shard->status = GPUAES_FAULT;
    if (device_enter(shard->device)) {
        shard->status = transfer_run(job, shard);
        device_leave(shard->device);
    }
}

/* For a helper thread, or the calling one. */
static void run_number(void *arg, unsigned number)
{
    const struct job *job = arg;
    struct shard *shard = &job->shard[number];
    (void)driver_exchange_capture_mode(shard->device->driver, DRV_CAPTURE_RELAXED);
    shard_run(job, shard);
}

/* 1 if another device, or a second attempt after the others have ended, may do better. */
static int is_worth_another(const struct job *job, const struct shard *shard)
{
    return shard->status == GPUAES_FAULT || shard->status == GPUAES_NO_MEMORY ||
           (shard->status == GPUAES_BUSY && job->shards > 1);
}

/* On each device that is left, until one has done it. */
static void run_again(const struct job *job, struct shard *shard)
{
    struct device *devices[MAX_DEVICES];
    unsigned count = runtime_devices(devices);
    for (unsigned i = 0; i < count && is_worth_another(job, shard); i++) {
        if (atomic_load(&devices[i]->use) != DEVICE_IN_USE ||
            (job->shards == 1 && devices[i] == shard->device))
            continue;
        shard->device = devices[i];
        shard_run(job, shard);
    }
}

/* The worst; bad input only where all that is before it is known. */
static enum gpuaes_status combine(const struct job *job)
{
    enum gpuaes_status worst = GPUAES_OK;
    int bad_input = 0;
    for (unsigned i = 0; i < job->shards; i++) {
        enum gpuaes_status status = job->shard[i].status;
        if (status == GPUAES_BAD_INPUT)
            bad_input = 1;
        else if (status > worst)
            worst = status;
    }
    return worst == GPUAES_OK && bad_input ? GPUAES_BAD_INPUT : worst;
}

/* What memory it is, and the device that comes first. */
static enum gpuaes_status look(struct job *job, struct device **device)
{
    struct device *own = runtime_own_device();
    if (own == NULL)
        return GPUAES_NOT_READY;
    if (!device_enter(own))
        return GPUAES_FAULT;
    enum gpuaes_status status = memory_look(own, job->in, job->in_bytes, &job->in_memory);
    if (status == GPUAES_OK && job->in == job->out)
        job->out_memory = job->in_memory;
    else if (status == GPUAES_OK)
        status = memory_look(own, job->out, job->out_bytes, &job->out_memory);
    device_leave(own);
    if (status == GPUAES_OK)
        status = memory_device(&job->in_memory, &job->out_memory, own, device);
    return status;
}

enum gpuaes_status job_run(struct job *job)
{
    struct runtime_guard guard;
    struct device *device;
    job->shards = 0;
    if (!runtime_enter(&guard))
        return GPUAES_NOT_READY;
    enum gpuaes_status status = look(job, &device);
    if (status == GPUAES_OK) {
        unsigned threads = count_threads(job);
        cut(job, threads, device);
        if (job->transform->begin != NULL)
            job->transform->begin(job);
        /* Helpers that nobody asked for are few, for calls of all threads together. */
        int automatic = settings_in_force()->threads == 0 && is_pageable(job);
        if (job->shards == 1)
            shard_run(job, &job->shard[0]);
        else
            thread_pool_run(run_number, job, job->shards,
                            automatic ? threads - 1 : GPUAES_SHARDS - 1);
        for (unsigned i = 0; i < job->shards && !job_is_on_device(job); i++)
            run_again(job, &job->shard[i]);
        status = combine(job);
    }
    runtime_leave(&guard);
    return status;
}
