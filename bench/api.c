/*
 * One call of libgpuaes as something to measure.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/buffers.h"
#include "bench/options.h"
#include "bench/rows.h"
#include "bench/sides.h"

struct call call_make(enum gpuaes_op op, unsigned bits)
{
    static const unsigned char key[32] = "the key of all measurements ...";
    struct call call = {.op = op, .iv = "and the vector."};
    gpuaes_key_expand(&call.key, key, bits / 8);
    return call;
}

void call_run(struct call *c)
{
    enum gpuaes_status status =
        gpuaes_aes(c->op, &c->key, c->iv, c->in, c->out, c->length, GPUAES_WAIT, NULL);
    if (status != GPUAES_OK) {
        (void)fprintf(stderr, "gpuaes_bench: gpuaes_aes: %s (%s)\n", gpuaes_status_text(status),
                      gpuaes_reason());
        exit(EXIT_FAILURE);
    }
}

int device_memory_open(struct device_memory *m, size_t most, const char *part)
{
    if (gpuaes_state() != GPUAES_READY || !card_begin(0)) {
        print_skipped(part, "%s", no_device());
        return 0;
    }
    struct buffer in = {.p = NULL}, out = {.p = NULL};
    for (m->bytes = most; m->bytes >= MIB / 16; m->bytes /= 2) {
        in = buffer_take(DEVICE, m->bytes + SPARE);
        out = buffer_take(DEVICE, m->bytes + SPARE);
        if (in.p != NULL && out.p != NULL)
            break;
        buffer_give(&in);
        buffer_give(&out);
    }
    if (in.p == NULL) {
        print_skipped(part, "there is no device memory");
        return 0;
    }
    if (m->bytes < most)
        printf("# %s: %zu bytes of device memory are the most\n", part, m->bytes);
    m->in = in.p;
    m->out = out.p;
    m->stream = card_stream();
    return 1;
}

void device_memory_close(struct device_memory *m)
{
    card_check(card()->stream_destroy(m->stream), "cuStreamDestroy");
    card_check(card()->mem_free(card_address(m->in)), "cuMemFree");
    card_check(card()->mem_free(card_address(m->out)), "cuMemFree");
}

void device_memory_copy(const struct device_memory *m, size_t bytes)
{
    card_check(
        card()->memcpy_dtod_async(card_address(m->out), card_address(m->in), bytes, m->stream),
        "cuMemcpyDtoDAsync");
    card_wait(m->stream);
}
