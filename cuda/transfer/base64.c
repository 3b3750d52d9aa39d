/*
 * Base64 over memory of any kind: its part of the job.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cuda/process/statistics.h"
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

/* ---- Encode --------------------------------------------------------------------- */

static drv_result launch_encode(struct transfer *t, struct slot *slot, struct piece *piece,
                                drv_ptr in, drv_ptr out)
{
    const struct device *device = t->shard->device;
    struct base64_encode_arguments arguments = {.in = in,
                                                .out = out,
                                                .bytes = piece->in_bytes,
                                                .characters = piece->out_bytes,
                                                .line_length = t->job->line_length};
    return kernels_launch_base64_encode(device->driver, &device->kernels, &arguments, slot->stream);
}

/* ---- Decode --------------------------------------------------------------------- */

/*
 * What a kernel found, at the end of the staging memory. Kernels write it there
 * themselves, and only where there is something to find: a copy would stand in
 * the way of the output.
 */
enum { FINDING = 16 };

static size_t extra_decode(const struct transfer *t)
{
    (void)t;
    return FINDING;
}

static drv_result launch_decode(struct transfer *t, struct slot *slot, struct piece *piece,
                                drv_ptr in, drv_ptr out)
{
    const struct device *device = t->shard->device;
    size_t finding = slot->staging_bytes - FINDING;
    struct base64_decode_arguments arguments = {.in = in,
                                                .out = out,
                                                .quads = piece->in_bytes / 4,
                                                .error = slot->staging_address + finding};
    memset(slot->staging + finding, 0xff, sizeof(uint64_t));
    return kernels_launch_base64_decode(device->driver, &device->kernels, &arguments, slot->stream);
}

static enum gpuaes_status finish_decode(struct transfer *t, const struct slot *slot,
                                        const struct piece *piece)
{
    uint64_t bad;
    memcpy(&bad, slot->staging + slot->staging_bytes - FINDING, sizeof bad);
    if (bad == UINT64_MAX)
        return GPUAES_OK;
    t->shard->bad = (size_t)(t->in - t->job->in) + piece->in_at + (size_t)bad;
    return GPUAES_BAD_INPUT;
}

/* ---- Both ----------------------------------------------------------------------- */

static enum gpuaes_status run(struct job *job)
{
    if (memory_overlap(job->in, job->in_bytes, job->out, job->out_bytes))
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
    static const struct transform encode = {.launch = launch_encode};
    struct shard shard[GPUAES_SHARDS];
    size_t characters = gpuaes_base64_encoded_size(len, line_length);
    if (line_length % 4 != 0 || line_length > UINT32_MAX || characters == SIZE_MAX)
        return GPUAES_BAD_ARGUMENT;
    struct job job = {.transform = &encode,
                      .in = in,
                      .out = out,
                      .in_bytes = len,
                      .out_bytes = characters,
                      .in_unit = line_length != 0 ? line_length / 4 * 3 : ENCODE_IN,
                      .out_unit = line_length != 0 ? line_length + 1 : ENCODE_OUT,
                      .flags = flags,
                      .out_of_place = 1,
                      .line_length = (uint32_t)line_length,
                      .shard = shard};
    return run(&job);
}

enum gpuaes_status gpuaes_base64_decode(const void *in, size_t len, void *out, unsigned flags,
                                        size_t *offset)
{
    static const struct transform decode = {
        .extra = extra_decode, .launch = launch_decode, .finished = finish_decode};
    struct shard shard[GPUAES_SHARDS];
    if (len % 4 != 0)
        return GPUAES_BAD_ARGUMENT;
    struct job job = {.transform = &decode,
                      .in = in,
                      .out = out,
                      .in_bytes = len,
                      .out_bytes = len / 4 * 3,
                      .in_unit = DECODE_IN,
                      .out_unit = DECODE_OUT,
                      .flags = flags,
                      .out_of_place = 1,
                      .shard = shard};
    enum gpuaes_status status = run(&job);
    for (unsigned i = job.shards; status == GPUAES_BAD_INPUT && i-- > 0;)
        if (shard[i].status == GPUAES_BAD_INPUT)
            *offset = shard[i].bad;
    return status;
}
