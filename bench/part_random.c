/*
 * Random numbers in device memory: rates of each kind, compared with CTR of libgpuaes, which reads
 * as much as it writes, on the same stream.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/minmax.h"
#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"

enum { KEY = 32, CALLS_MOST = 64 };

static const struct random_kind {
    enum gpuaes_random_kind kind;
    const char *name;
    size_t element_bytes;
} kinds[] = {{GPUAES_RANDOM_BYTES, "random bytes", 1},
             {GPUAES_RANDOM_UNIFORM32, "random uniform floats", 4},
             {GPUAES_RANDOM_UNIFORM64, "random uniform doubles", 8},
             {GPUAES_RANDOM_NORMAL32, "random normal floats", 4},
             {GPUAES_RANDOM_NORMAL64, "random normal doubles", 8},
             {GPUAES_RANDOM_RANGE, "random integers of 8 bytes", 8}};
enum { KIND_ROWS = sizeof kinds / sizeof kinds[0] };

struct work {
    struct gpuaes_random random;
    const struct memory *memory;
    size_t bytes, calls; /* of a call; in a turn */
    struct gpuaes_stream_binding *binding;
    struct gpuaes_key key;
    drv_stream stream;
};

/* Calls queued back to back, and one wait. */
static void turn(int side, void *argument)
{
    static const unsigned char iv[GPUAES_BLOCK] = "a counter block";
    const struct work *w = argument;
    for (size_t i = 0; i < w->calls; i++)
        if (side == REFERENCE)
            call_check(gpuaes_stream_binding_aes(w->binding, GPUAES_CTR, &w->key, iv,
                                                 w->memory->in.p, w->memory->out.p, w->bytes),
                       "gpuaes_stream_binding_aes");
        else
            call_check(gpuaes_random_queue(&w->random, w->memory->out.p, w->stream, 0),
                       "gpuaes_random_queue");
    card_wait(w->stream);
}

/* Ends the program where zeros at the end of the output stay zeros. */
static void check_written(struct work *w)
{
    unsigned char end[GPUAES_BLOCK] = {0}, zeros[GPUAES_BLOCK] = {0};
    unsigned char *at = w->memory->out.p + w->bytes - sizeof end;
    card_zero(at, sizeof end, w->stream);
    turn(OURS, w);
    card_down(end, at, sizeof end, w->stream);
    card_wait(w->stream);
    if (memcmp(end, zeros, sizeof end) == 0)
        call_check(GPUAES_UNDEFINED, "random numbers stay unwritten: gpuaes_random_queue");
}

static void measure_kind(struct work *w, const struct random_kind *kind, size_t bytes)
{
    struct row row = row_of("random", "AES-256-CTR", kind->name, "device", bytes);
    row.processor = "gpu";
    row.against = "CTR, which reads as well, on a stream";
    w->bytes = bytes;
    w->random.kind = kind->kind;
    w->random.count = bytes / kind->element_bytes;
    w->random.element_bytes = kind->element_bytes;
    w->calls = options.quick ? 2 : min_u64(3 + 8 * GIB / bytes, CALLS_MOST);
    check_written(w);
    (void)measure_rates(&row, 15, turn, w, (double)(w->calls * bytes));
}

int part_random(void)
{
    static const unsigned char raw[KEY] = "the key of all measurements ...";
    const size_t sizes[] = {4 * GIB, 64 * MIB};
    struct memory m;
    if (!device_memory_take(&m, "random", options.quick ? 256 * KIB : 4 * GIB))
        return 0;
    drv_stream stream = card_stream();
    struct work w = {.memory = &m, .stream = stream};
    /* The key lies in device memory, in the input that the other side reads. */
    card_up(m.in.p, raw, KEY, stream);
    card_wait(stream);
    call_check(gpuaes_stream_binding_open(&w.binding, stream, 0), "gpuaes_stream_binding_open");
    (void)gpuaes_key_expand(&w.key, raw, KEY);
    w.random = (struct gpuaes_random){
        .struct_bytes = sizeof w.random, .key = m.in.p, .scale = 1, .range = 1000003};
    for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++)
        for (size_t kind = 0; kind < KIND_ROWS; kind++)
            measure_kind(&w, &kinds[kind],
                         min_u64(sizes[size], m.out.bytes / GPUAES_BLOCK * GPUAES_BLOCK));
    gpuaes_stream_binding_close(w.binding);
    memory_give(&m);
    return 0;
}
