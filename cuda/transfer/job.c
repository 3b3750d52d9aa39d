/*
 * Cutting of jobs, and what becomes of a transfer whose device fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/transfer/transfer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/process/settings.h"
#include "cuda/process/statistics.h"
#include "cuda/process/thread_pool.h"
#include "cuda/runtime/runtime.h"

/*
 * Smaller transfers are not worth the hand-over to another thread; where nobody asked for several
 * threads, the CPU's time counts, too.
 */
enum { LEAST_STAGED = 1 << 20, LEAST_AUTOMATIC = 4 << 20, LEAST_PINNED = 8 << 20 };
/* Staging memory that the stream set of a transfer may take. */
enum { MOST_STAGING = 8 << 20 };
/* Transfers begin at multiples of so many units. */
enum { STEP_UNITS = 4096 };

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
    unsigned parts = min_unsigned(job->in_bytes / LEAST_AUTOMATIC, GPUAES_SHARDS);
    return is_pageable(job) && parts > 1 ? min_unsigned(thread_pool_automatic_threads(), parts) : 1;
}

static unsigned count_transfers(const struct job *job, unsigned threads, unsigned devices)
{
    int staged = is_pageable(job);
    unsigned count = 1;
    if (job->whole && job->in_memory.kind == GPUAES_DEVICE)
        return 1;
    if (staged) /* one device does all that threads of the CPU can copy */
        count = min_unsigned(settings_in_force()->pinned_bytes / MOST_STAGING, threads);
    else if (!job_is_on_device(job))
        count = devices;
    count = min_unsigned(job->in_bytes / (staged ? LEAST_STAGED : LEAST_PINNED), count);
    return count == 0 ? 1 : min_unsigned(count, GPUAES_SHARDS);
}

/* Devices share pinned memory alone. The calling thread's own one comes first. */
static void cut(struct job *job, unsigned threads, struct device *first)
{
    struct device *devices[MAX_DEVICES];
    unsigned count = runtime_devices(devices), own = 0;
    while (own < count && devices[own] != first)
        own++;
    unsigned most = count_transfers(job, threads, count);
    job->transfer = most > 1 ? calloc(most, sizeof *job->transfer) : NULL;
    if (job->transfer == NULL) {
        job->transfer = &job->only;
        most = 1;
    }
    int is_shared = !is_pageable(job) && !job_is_on_device(job) && own < count;
    /* Both quotients are rounded up, so that no more than `most` transfers are made. */
    size_t step = job->in_unit * STEP_UNITS;
    size_t share = job->in_bytes / most + (job->in_bytes % most != 0);
    size_t size = most == 1 ? job->in_bytes : (share + step - 1) / step * step;
    for (size_t at = 0; at < job->in_bytes; at += size) {
        struct device *device = is_shared ? devices[(own + job->transfers) % count] : first;
        job->transfer[job->transfers++] = (struct transfer){
            .job = job, .at = at, .bytes = min_u64(job->in_bytes - at, size), .device = device};
    }
}

/* For a helper thread, or the calling one. */
static void run_number(void *arg, unsigned number)
{
    const struct job *job = arg;
    struct transfer *t = &job->transfer[number];
    (void)driver_exchange_capture_mode(t->device->driver, DRV_CAPTURE_RELAXED);
    transfer_run(t);
}

/* 1 if another device, or a second attempt after the others have ended, may do better. */
static int is_worth_another(const struct transfer *t)
{
    return t->status == GPUAES_FAULT || t->status == GPUAES_NO_MEMORY ||
           (t->status == GPUAES_BUSY && t->job->transfers > 1);
}

/* On each device that is left, until one has done it. */
static void run_again(struct transfer *t)
{
    struct device *devices[MAX_DEVICES];
    unsigned count = runtime_devices(devices);
    for (unsigned i = 0; i < count && is_worth_another(t); i++) {
        if (atomic_load(&devices[i]->use) != DEVICE_IN_USE ||
            (t->job->transfers == 1 && devices[i] == t->device))
            continue;
        t->device = devices[i];
        transfer_run(t);
    }
}

void job_report_nothing(struct gpuaes_report *report, size_t len, const unsigned char *iv)
{
    report->shards = 1;
    report->shard[0] = (struct gpuaes_shard){.bytes = len};
    if (iv != NULL)
        memcpy(report->shard[0].iv, iv, sizeof report->shard[0].iv);
}

static void fill_shard(struct gpuaes_shard *shard, const struct transfer *t)
{
    shard->at = t->at;
    shard->bytes = t->bytes;
    shard->done = t->done;
    memcpy(shard->iv, t->iv, sizeof shard->iv);
    ghash_store(shard->hash, t->hash);
}

/* The worst; bad input only where all that is before it is known. */
static enum gpuaes_status combine(struct job *job, struct gpuaes_report *report)
{
    enum gpuaes_status worst = GPUAES_OK;
    int bad_input = 0;
    if (report != NULL)
        report->shards = 0;
    for (unsigned i = 0; i < job->transfers; i++) {
        const struct transfer *t = &job->transfer[i];
        memcpy(job->iv, t->iv, sizeof job->iv);
        if (report != NULL)
            fill_shard(&report->shard[report->shards++], t);
        job->done += t->done;
        if (t->status == GPUAES_BAD_INPUT && !bad_input)
            job->bad = t->bad;
        bad_input |= t->status == GPUAES_BAD_INPUT;
        if (t->status != GPUAES_BAD_INPUT && t->status > worst)
            worst = t->status;
    }
    return worst == GPUAES_OK && bad_input ? GPUAES_BAD_INPUT : worst;
}

/* By what was hashed, they tell the key of the hash. */
static void cleanse_hashes(struct transfer *t)
{
    gpuaes_cleanse(&t->hash, sizeof t->hash);
    gpuaes_cleanse(&t->power, sizeof t->power);
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

enum gpuaes_status job_run(struct job *job, struct gpuaes_report *report)
{
    struct runtime_guard guard;
    struct device *device;
    if (job->in_bytes > PTRDIFF_MAX || job->out_bytes > PTRDIFF_MAX) /* no object is as large */
        return GPUAES_BAD_ARGUMENT;
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
        if (job->transfers == 1)
            transfer_run(job->transfer);
        else
            thread_pool_run(run_number, job, job->transfers,
                            automatic ? threads - 1 : GPUAES_SHARDS - 1);
        for (unsigned i = 0; i < job->transfers && !job_is_on_device(job); i++)
            run_again(&job->transfer[i]);
        status = combine(job, report);
        if (status == GPUAES_OK || job->key != NULL) /* else somebody does all of it again */
            statistics_count(STATISTIC_BYTES, job->done);
        if (job->transfer != &job->only) {
            gpuaes_cleanse(job->transfer, job->transfers * sizeof *job->transfer); /* secret IVs */
            free(job->transfer);
        } else if (job->gcm != NULL)
            cleanse_hashes(job->transfer);
    }
    runtime_leave(&guard);
    return status;
}
