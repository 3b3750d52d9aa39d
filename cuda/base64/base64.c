/*
 * Base64 over memory of any kind: its part of the job.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cuda/process/statistics.h"
#include "cuda/runtime/runtime.h"
#include "cuda/transfer/job.h"
#include "cuda/transfer/transfer.h"

/* Groups that kernels take whole: a thread's work, or a line. */
enum { ENCODE_IN = 12, ENCODE_OUT = 16, DECODE_IN = 16, DECODE_OUT = 12 };

size_t gpuaes_base64_encoded_size(size_t len, size_t line_length)
{
    if (len / 3 >= SIZE_MAX / 8)
        return SIZE_MAX;
    size_t characters = (len + 2) / 3 * 4;
    if (line_length == 0)
        return characters;
    return characters + (characters + line_length - 1) / line_length;
}

struct base64_job {
    struct job job; /* first: the callbacks get this */
    uint32_t line_length;
    size_t bad[GPUAES_SHARDS]; /* offset of the first wrong character of each shard */
};

/* What one thread does of it. */
struct base64_shard {
    struct transfer transfer; /* first: the callbacks get this */
    uint32_t line_length;
    size_t bad;
};

static struct memory memory_at(struct memory memory, size_t at)
{
    memory.address += at;
    return memory;
}

/* What is not done of a shard, as a transfer. */
static struct transfer rest_of(const struct job *job, const struct shard *shard)
{
    size_t at = shard->at + shard->done, end = shard->at + shard->bytes;
    size_t out_at = job_out_bytes(job, at), out_end = job_out_bytes(job, end);
    return (struct transfer){.in = job->in + at,
                             .out = job->out + out_at,
                             .in_bytes = end - at,
                             .out_bytes = out_end - out_at,
                             .in_memory = memory_at(job->in_memory, at),
                             .out_memory = memory_at(job->out_memory, out_at),
                             .in_unit = job->in_unit,
                             .out_unit = job->out_unit,
                             .out_of_place = 1};
}

/* ---- Encode --------------------------------------------------------------------- */

static drv_result launch_encode(struct transfer *t, struct device *device, struct slot *slot,
                                const struct piece *piece, drv_ptr in, drv_ptr out)
{
    const struct base64_shard *task = (struct base64_shard *)t;
    struct base64_encode_arguments arguments = {.in = in,
                                                .out = out,
                                                .bytes = piece->in_bytes,
                                                .characters = piece->out_bytes,
                                                .line_length = task->line_length};
    return kernels_launch_base64_encode(device->driver, &device->kernels, &arguments, slot->stream);
}

static enum gpuaes_status run_encode(struct job *job, unsigned number)
{
    const struct base64_job *w = (struct base64_job *)job;
    struct shard *shard = &job->shard[number];
    struct base64_shard task = {.transfer = rest_of(job, shard), .line_length = w->line_length};
    task.transfer.launch = launch_encode;
    enum gpuaes_status status = transfer_run(shard->device, &task.transfer, job->flags);
    shard->done += task.transfer.in_done;
    return status;
}

/* ---- Decode --------------------------------------------------------------------- */

/*
 * What a kernel found, at the end of the staging memory. Kernels write it there
 * themselves, and only where there is something to find: a copy would stand in
 * the way of the output.
 */
enum { FINDING = 16 };

static size_t finding_at(const struct slot *slot)
{
    return slot->staging_bytes - FINDING;
}

static drv_result launch_decode(struct transfer *t, struct device *device, struct slot *slot,
                                const struct piece *piece, drv_ptr in, drv_ptr out)
{
    struct base64_decode_arguments arguments = {.in = in,
                                                .out = out,
                                                .quads = piece->in_bytes / 4,
                                                .error = slot->staging_address + finding_at(slot)};
    (void)t;
    memset(slot->staging + finding_at(slot), 0xff, sizeof(uint64_t));
    return kernels_launch_base64_decode(device->driver, &device->kernels, &arguments, slot->stream);
}

static enum gpuaes_status finish_decode(struct transfer *t, struct slot *slot,
                                        const struct piece *piece)
{
    struct base64_shard *task = (struct base64_shard *)t;
    uint64_t bad;
    memcpy(&bad, slot->staging + finding_at(slot), sizeof bad);
    if (bad == UINT64_MAX)
        return GPUAES_OK;
    task->bad = piece->in_at + (size_t)bad;
    return GPUAES_BAD_INPUT;
}

static enum gpuaes_status run_decode(struct job *job, unsigned number)
{
    struct base64_job *w = (struct base64_job *)job;
    struct shard *shard = &job->shard[number];
    struct base64_shard task = {.transfer = rest_of(job, shard)};
    task.transfer.extra = FINDING;
    task.transfer.launch = launch_decode;
    task.transfer.finished = finish_decode;
    enum gpuaes_status status = transfer_run(shard->device, &task.transfer, job->flags);
    w->bad[number] = shard->at + shard->done + task.bad;
    shard->done += task.transfer.in_done;
    return status;
}

static size_t first_bad(const struct base64_job *w)
{
    unsigned i = 0;
    while (w->job.shard[i].status != GPUAES_BAD_INPUT)
        i++;
    return w->bad[i];
}

/* ---- Both ----------------------------------------------------------------------- */

static enum gpuaes_status run(struct base64_job *w, const void *in, void *out, unsigned flags)
{
    struct job *job = &w->job;
    job->in = in;
    job->out = out;
    job->flags = flags;
    job->whole = 0;
    job->begin = NULL;
    if (job->in < job->out + job->out_bytes && job->out < job->in + job->in_bytes)
        return GPUAES_BAD_ARGUMENT;
    if (job->in_bytes == 0)
        return GPUAES_OK;
    enum gpuaes_status status = job_run(job);
    if (status == GPUAES_OK) /* else somebody does all of it again */
        statistics_add_bytes(job->in_bytes);
    return status;
}

enum gpuaes_status gpuaes_base64_encode(const void *in, size_t len, void *out, size_t line_length,
                                        unsigned flags)
{
    struct base64_job w; /* large: not all of it is set */
    size_t characters = gpuaes_base64_encoded_size(len, line_length);
    if (line_length % 4 != 0 || line_length > UINT32_MAX || characters == SIZE_MAX)
        return GPUAES_BAD_ARGUMENT;
    w.line_length = (uint32_t)line_length;
    w.job.in_bytes = len;
    w.job.out_bytes = characters;
    w.job.in_unit = line_length != 0 ? line_length / 4 * 3 : ENCODE_IN;
    w.job.out_unit = line_length != 0 ? line_length + 1 : ENCODE_OUT;
    w.job.run = run_encode;
    return run(&w, in, out, flags);
}

enum gpuaes_status gpuaes_base64_decode(const void *in, size_t len, void *out, unsigned flags,
                                        size_t *offset)
{
    struct base64_job w;
    if (len % 4 != 0)
        return GPUAES_BAD_ARGUMENT;
    w.line_length = 0;
    w.job.in_bytes = len;
    w.job.out_bytes = len / 4 * 3;
    w.job.in_unit = DECODE_IN;
    w.job.out_unit = DECODE_OUT;
    w.job.run = run_decode;
    enum gpuaes_status status = run(&w, in, out, flags);
    if (status == GPUAES_BAD_INPUT)
        *offset = first_bad(&w);
    return status;
}
