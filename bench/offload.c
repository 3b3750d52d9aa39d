/*
 * Base64 of host memory by kernels as others wrote them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/offload.h"

#include <string.h>

#include "bench/rows.h"
#include "bench/sides.h"

/* Bytes that a thread of each kernel encodes, and threads of a block at most. */
static const size_t bytes_of_thread[ACCESSES] = {3, (size_t)3 * REFERENCE_BASE64_FOUR};
enum { BLOCK = 256 };

int offload_open(struct offload *o, size_t most, const char *part)
{
    static const char *const names[ACCESSES] = {"reference_base64_scalar",
                                                "reference_base64_vector"};
    memset(o, 0, sizeof *o);
    if (!reference_open(&o->reference, part))
        return 0;
    for (int i = 0; i < ACCESSES; i++)
        o->kernel[i] = reference_function(&o->reference, names[i]);
    o->threads = o->reference.most_threads < BLOCK ? o->reference.most_threads : BLOCK;
    o->device_in = buffer_take(DEVICE, most);
    o->device_out = buffer_take(DEVICE, base64_characters(most));
    if (o->device_in.p == NULL || o->device_out.p == NULL) {
        buffer_give(&o->device_in);
        buffer_give(&o->device_out);
        reference_close(&o->reference);
        print_skipped(part, "there is no device memory");
        return 0;
    }
    for (int i = 0; i < OFFLOAD_STREAMS; i++)
        o->stream[i] = card_stream();
    return 1;
}

void offload_close(struct offload *o)
{
    for (int i = 0; i < OFFLOAD_STREAMS; i++)
        card_check(card()->stream_destroy(o->stream[i]), "cuStreamDestroy");
    buffer_give(&o->device_in);
    buffer_give(&o->device_out);
    reference_close(&o->reference);
}

static void wait_if_synchronous(const struct offload *o, drv_stream stream)
{
    if (o->synchronous)
        card_wait(stream);
}

/* One part of the input, on a stream of its own. */
static void queue_part(const struct offload *o, drv_stream stream, size_t at, size_t bytes)
{
    size_t text_at = at / 3 * 4;
    drv_ptr in = card_address(o->device_in.p + at), out = card_address(o->device_out.p + text_at);
    struct reference_base64_arguments arguments = {in, out, bytes};
    void *parameters[] = {&arguments};
    size_t threads = (bytes + bytes_of_thread[o->access] - 1) / bytes_of_thread[o->access];
    unsigned grid = (unsigned)((threads + o->threads - 1) / o->threads);
    card_check(card()->memcpy_htod_async(in, o->in + at, bytes, stream), "cuMemcpyHtoDAsync");
    wait_if_synchronous(o, stream);
    card_check(card()->launch_kernel(o->kernel[o->access], grid, 1, 1, o->threads, 1, 1, 0, stream,
                                     parameters, NULL),
               "cuLaunchKernel");
    wait_if_synchronous(o, stream);
    card_check(card()->memcpy_dtoh_async(o->out + text_at, out, base64_characters(bytes), stream),
               "cuMemcpyDtoHAsync");
}

void offload_run(struct offload *o)
{
    /* Whole vectors, so that all parts but the last are aligned and without padding. */
    size_t unit = 4 * bytes_of_thread[VECTOR];
    size_t each = ((o->length + o->streams - 1) / o->streams + unit - 1) / unit * unit, bytes;
    unsigned used = 0;
    for (size_t at = 0; at < o->length; at += bytes) {
        bytes = o->length - at < each ? o->length - at : each;
        queue_part(o, o->stream[used++], at, bytes);
    }
    for (unsigned i = 0; i < used; i++)
        card_wait(o->stream[i]);
}

void offload_check(const struct offload *o)
{
    enum { END = 3 << 10 };
    unsigned char expected[END / 3 * 4 + 1];
    size_t first = o->length < END ? o->length : END;
    size_t last = o->length < END ? 0 : (o->length - END + 2) / 3 * 3; /* where a group begins */
    int n = EVP_EncodeBlock(expected, o->in, (int)first);
    int right = memcmp(expected, o->out, (size_t)n) == 0;
    n = EVP_EncodeBlock(expected, o->in + last, (int)(o->length - last));
    if (!right || memcmp(expected, o->out + last / 3 * 4, (size_t)n) != 0) {
        (void)fprintf(stderr, "gpuaes_bench: a kernel encoded %zu bytes wrongly\n", o->length);
        exit(EXIT_FAILURE);
    }
}
