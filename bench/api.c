/*
 * One call of libgpuaes as something to measure, and device memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/api.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/options.h"
#include "bench/rows.h"
#include "bench/sides.h"

struct call call_make(enum gpuaes_op op, unsigned bits, const unsigned char *in, unsigned char *out,
                      size_t length)
{
    static const unsigned char key[32] = "the key of all measurements ...";
    struct call call = {.op = op, .iv = "and the vector.", .in = in, .out = out, .length = length};
    gpuaes_key_expand(&call.key, key, bits / 8);
    return call;
}

void call_check(enum gpuaes_status status, const char *what)
{
    if (status == GPUAES_OK)
        return;
    (void)fprintf(stderr, "gpuaes_bench: %s: %s (%s)\n", what, gpuaes_status_text(status),
                  gpuaes_reason());
    exit(EXIT_FAILURE);
}

void call_run(int side, void *argument)
{
    struct call *c = argument;
    (void)side;
    call_check(gpuaes_aes(c->op, &c->key, c->iv, c->in, c->out, c->length, GPUAES_WAIT, NULL),
               "gpuaes_aes");
}

int device_memory_take(struct memory *m, const char *part, size_t most)
{
    if (!device_begin(part))
        return 0;
    for (size_t bytes = most; bytes >= MIB / 16; bytes /= 2) {
        *m =
            (struct memory){buffer_take(DEVICE, bytes + SPARE), buffer_take(DEVICE, bytes + SPARE)};
        if (m->in.p != NULL && m->out.p != NULL) {
            m->in.bytes = m->out.bytes = bytes;
            if (bytes < most)
                printf("# %s: %zu bytes of device memory are the most\n", part, bytes);
            return 1;
        }
        memory_give(m);
    }
    print_skipped(part, "there is no device memory");
    return 0;
}

void device_memory_copy(const struct memory *m, size_t bytes)
{
    static drv_stream stream;
    if (stream == NULL)
        stream = card_stream();
    card_copy(m->out.p, m->in.p, bytes, stream);
    card_wait(stream);
}
