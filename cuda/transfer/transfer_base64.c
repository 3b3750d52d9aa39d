/*
 * Base64 over memory of any kind: calls, and what they do with the pieces of a transfer.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

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
    return characters + characters / line_length + (characters % line_length != 0);
}

/* ---- Encode --------------------------------------------------------------------- */

static drv_result launch_encode(struct transfer *t, size_t piece, drv_ptr in, drv_ptr out)
{
    const struct device *device = t->device;
    drv_stream stream = piece_slot(t, piece)->stream;
    struct base64_encode_arguments arguments = {.in = in,
                                                .out = out,
                                                .bytes = piece_in_bytes(t, piece),
                                                .characters = piece_out_bytes(t, piece),
                                                .line_length = t->job->line_length};
    return kernels_launch_base64_encode(device->driver, &device->kernels, &arguments, stream);
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

static drv_result launch_decode(struct transfer *t, size_t piece, drv_ptr in, drv_ptr out)
{
    const struct device *device = t->device;
    const struct slot *slot = piece_slot(t, piece);
    size_t finding = slot->staging_bytes - FINDING;
    struct base64_decode_arguments arguments = {.in = in,
                                                .out = out,
                                                .quads = piece_in_bytes(t, piece) / 4,
                                                .error = slot->staging_address + finding};
    memset(slot->staging + finding, 0xff, sizeof(uint64_t));
    return kernels_launch_base64_decode(device->driver, &device->kernels, &arguments, slot->stream);
}

static enum gpuaes_status finish_decode(struct transfer *t, size_t piece)
{
    const struct slot *slot = piece_slot(t, piece);
    uint64_t bad;
    memcpy(&bad, slot->staging + slot->staging_bytes - FINDING, sizeof bad);
    if (bad == UINT64_MAX)
        return GPUAES_OK;
    t->bad = (size_t)(t->in - t->job->in) + piece * t->in_piece + (size_t)bad;
    return GPUAES_BAD_INPUT;
}

/* ---- Both ----------------------------------------------------------------------- */

static enum gpuaes_status run(struct job *job)
{
    if ((job->in_bytes != 0 && (job->in == NULL || job->out == NULL)) ||
        memory_overlap(job->in, job->in_bytes, job->out, job->out_bytes))
        return GPUAES_BAD_ARGUMENT;
    if (job->in_bytes == 0)
        return GPUAES_OK;
    return job_run(job, NULL);
}

enum gpuaes_status gpuaes_base64_encode(const void *in, size_t len, void *out, size_t line_length,
                                        unsigned flags)
{
    static const struct transform encode = {.launch = launch_encode};
    const size_t all = gpuaes_base64_encoded_size(len, 0);
    if (line_length % 4 != 0)
        return GPUAES_BAD_ARGUMENT;
    if (line_length > all) /* a piece has a line at least: not more than there is */
        line_length = all;
    size_t characters = gpuaes_base64_encoded_size(len, line_length);
    if (line_length > UINT32_MAX || characters == SIZE_MAX)
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
                      .line_length = (uint32_t)line_length};
    return run(&job);
}

enum gpuaes_status gpuaes_base64_decode(const void *in, size_t len, void *out, unsigned flags,
                                        size_t *offset)
{
    static const struct transform decode = {
        .extra = extra_decode, .launch = launch_decode, .finished = finish_decode};
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
                      .out_of_place = 1};
    enum gpuaes_status status = run(&job);
    if (status == GPUAES_BAD_INPUT && offset != NULL)
        *offset = job.bad;
    return status;
}
