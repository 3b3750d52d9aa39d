/*
 * Base64 over host memory: its part of a transfer.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "device.h"
#include "memory.h"
#include "statistics.h"
#include "transfer.h"

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

struct encode_job {
    struct transfer transfer; /* first: the callbacks get this */
    uint32_t line_length;
};

static drv_result launch_encode(struct transfer *t, struct device *device, struct slot *slot,
                                const struct piece *piece, drv_ptr in, drv_ptr out)
{
    const struct encode_job *job = (struct encode_job *)t;
    struct base64_encode_arguments arguments = {.in = in,
                                                .out = out,
                                                .bytes = piece->in_bytes,
                                                .characters = piece->out_bytes,
                                                .line_length = job->line_length};
    return kernels_launch_base64_encode(&device->driver, &device->kernels, &arguments,
                                        slot->stream);
}

/* ---- Decode --------------------------------------------------------------------- */

struct decode_job {
    struct transfer transfer; /* first: the callbacks get this */
    size_t bad;               /* offset of the first wrong character */
};

/* Where a slot keeps what its kernel found: at the end of its buffers. */
enum { FINDING = 16 };

static drv_result launch_decode(struct transfer *t, struct device *device, struct slot *slot,
                                const struct piece *piece, drv_ptr in, drv_ptr out)
{
    const struct driver *d = &device->driver;
    drv_ptr finding = slot->buffer[1] + slot->buffer_bytes[1] - FINDING;
    struct base64_decode_arguments arguments = {
        .in = in, .out = out, .quads = piece->in_bytes / 4, .error = finding};
    (void)t;
    drv_result r = d->memset_d8_async(finding, 0xff, sizeof(uint64_t), slot->stream);
    if (r == DRV_SUCCESS)
        r = kernels_launch_base64_decode(d, &device->kernels, &arguments, slot->stream);
    if (r == DRV_SUCCESS)
        r = d->memcpy_dtoh_async(slot->staging + slot->staging_bytes - FINDING, finding,
                                 sizeof(uint64_t), slot->stream);
    return r;
}

static enum gpuaes_status finish_decode(struct transfer *t, struct slot *slot,
                                        const struct piece *piece)
{
    struct decode_job *job = (struct decode_job *)t;
    uint64_t bad;
    memcpy(&bad, slot->staging + slot->staging_bytes - FINDING, sizeof bad);
    if (bad == UINT64_MAX)
        return GPUAES_OK;
    job->bad = piece->in_at + (size_t)bad;
    return GPUAES_BAD_INPUT;
}

/* ---- Both ----------------------------------------------------------------------- */

static int overlap(const struct transfer *t)
{
    return t->in < t->out + t->out_bytes && t->out < t->in + t->in_bytes;
}

static enum gpuaes_status run(struct transfer *t, unsigned flags)
{
    if (overlap(t))
        return GPUAES_BAD_ARGUMENT;
    if (t->in_bytes == 0)
        return GPUAES_OK;
    struct visit visit;
    struct device *device = device_enter(&visit);
    if (device == NULL)
        return GPUAES_NOT_READY;
    enum gpuaes_status status = memory_kind(device, t->in, t->in_bytes, &t->in_kind);
    if (status == GPUAES_OK)
        status = memory_kind(device, t->out, t->out_bytes, &t->out_kind);
    if (status == GPUAES_OK && (t->in_kind >= GPUAES_DEVICE || t->out_kind >= GPUAES_DEVICE))
        status = GPUAES_BAD_ARGUMENT;
    if (status == GPUAES_OK)
        status = transfer_run(device, t, flags);
    if (status == GPUAES_OK)
        statistics_add_bytes(t->in_bytes);
    device_leave(device, &visit);
    return status;
}

enum gpuaes_status gpuaes_base64_encode(const void *in, size_t len, void *out, size_t line_length,
                                        unsigned flags)
{
    size_t characters = gpuaes_base64_encoded_size(len, line_length);
    if (line_length % 4 != 0 || line_length > UINT32_MAX || characters == SIZE_MAX)
        return GPUAES_BAD_ARGUMENT;
    struct encode_job job = {
        .transfer = {.in = in,
                     .out = out,
                     .in_bytes = len,
                     .out_bytes = characters,
                     .in_unit = line_length != 0 ? line_length / 4 * 3 : ENCODE_IN,
                     .out_unit = line_length != 0 ? line_length + 1 : ENCODE_OUT,
                     .apart = 1,
                     .launch = launch_encode},
        .line_length = (uint32_t)line_length,
    };
    return run(&job.transfer, flags);
}

enum gpuaes_status gpuaes_base64_decode(const void *in, size_t len, void *out, unsigned flags,
                                        size_t *offset)
{
    if (len % 4 != 0)
        return GPUAES_BAD_ARGUMENT;
    struct decode_job job = {
        .transfer = {.in = in,
                     .out = out,
                     .in_bytes = len,
                     .out_bytes = len / 4 * 3,
                     .in_unit = DECODE_IN,
                     .out_unit = DECODE_OUT,
                     .apart = 1,
                     .scattered = 1,
                     .extra = FINDING,
                     .launch = launch_decode,
                     .finished = finish_decode},
    };
    enum gpuaes_status status = run(&job.transfer, flags);
    if (status == GPUAES_BAD_INPUT)
        *offset = job.bad;
    return status;
}
