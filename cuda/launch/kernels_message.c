/*
 * Launching of the kernels of messages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/launch/kernels_message.h"

#include <stdio.h>
#include <string.h>

#include "base/minmax.h"

enum { WARP = 32, ALIGNMENT = 256, PLAN_THREADS = 1024, SMALL_THREADS = 256, SMALL_BLOCKS = 8 };

/*
 * Blocks of a segment. Without a plan a lane has one segment, as short as it takes to fill the
 * device. With a plan, which costs a launch, a lane has several, long enough to pay for their
 * begins. A segment of GCM costs more: products, H of a raw key, and where text is not aligned two
 * parts of a granule. So does a part of one.
 */
enum { DIRECT_LEAST = 4, DIRECT_MOST = 16, PLANNED_LEAST = 16, PLANNED_MOST = 128, TURNS = 4 };
enum { HASHED_MOST = 256, RAW_HASHED_MOST = 512, PART_LEAST = 16, HASHED_PART_LEAST = 32 };
/*
 * A launch of CBC encryption takes a part of the multiprocessors only, so that the launches of a
 * batch, STREAM_SET_SLOTS of them, run side by side. A block waits for the block before it, which
 * takes 1.2 times as long in eight warps of a multiprocessor, two for each scheduler, as in one.
 */
enum { SERIAL_LAUNCHES = 4, SERIAL_LANES = 8 * WARP };
/* Of a chain, which keeps a block for each segment but the first of a message. */
#define CHAIN_BYTES ((uint64_t)64 << 20)

/* ---- Kernels --------------------------------------------------------------------- */

static const char *const kind_names[MESSAGE_KINDS] = {
    [MESSAGE_KIND_CTR] = "ctr",
    [MESSAGE_KIND_GCM] = "gcm",
    [MESSAGE_KIND_ENCRYPT] = "encrypt",
    [MESSAGE_KIND_DECRYPT] = "decrypt",
};

/*
 * Pieces are in blocks. At least `least` warps must have room: with fewer the next size is faster.
 * Devices of 9.0 and later that have `large` have 227 KiB for a block, so they need no other size.
 */
static const struct {
    const char *name;
    unsigned tables, piece, least;
} sizes[] = {{"large", 4, MESSAGE_LARGE_PIECE, 16},
             {"middle", 4, MESSAGE_SMALL_PIECE, 1},
             {"small", 1, MESSAGE_SMALL_PIECE, 1}};
enum { LARGE, SIZES = sizeof sizes / sizeof sizes[0] };

static unsigned most_threads(unsigned size, enum message_kind kind, int raw)
{
    return size == LARGE && !(raw && kind >= MESSAGE_KIND_ENCRYPT) ? MESSAGE_LARGE_THREADS
                                                                   : MESSAGE_SMALL_THREADS;
}

static unsigned table_bytes(unsigned size, enum message_kind kind)
{
    return sizes[size].tables * AES_TABLE_SHARED +
           (kind == MESSAGE_KIND_DECRYPT ? MESSAGE_SBOX_SHARED : 0) +
           (kind == MESSAGE_KIND_GCM ? MESSAGE_HASH_SHARED : 0);
}

static unsigned warp_bytes(unsigned size, enum message_kind kind)
{
    return MESSAGE_ROWS_SHARED(sizes[size].piece) +
           (kind == MESSAGE_KIND_GCM ? MESSAGE_REST_SHARED : 0);
}

static unsigned shared_bytes(unsigned size, enum message_kind kind, unsigned threads)
{
    return table_bytes(size, kind) + threads / WARP * warp_bytes(size, kind);
}

static drv_result load_kind(const struct driver *driver, struct kernels *kernels, unsigned size,
                            enum message_kind kind, int raw, unsigned shared)
{
    struct message_kernels *to = &kernels->message[kind][raw];
    if (shared_bytes(size, kind, sizes[size].least * WARP) > shared)
        return DRV_NOT_FOUND;
    to->size = size;
    to->threads = min_unsigned(min_unsigned(most_threads(size, kind, raw), kernels->max_threads),
                               (shared - table_bytes(size, kind)) / warp_bytes(size, kind) * WARP);
    for (int k = 0; k < KEY_SIZES; k++) {
        char name[64];
        (void)snprintf(name, sizeof name, "message_%s%s_%s_%d", kind_names[kind], raw ? "_raw" : "",
                       sizes[size].name, 10 + 2 * k);
        drv_result r = kernels_find(driver, kernels, name, shared_bytes(size, kind, to->threads),
                                    &to->function[k]);
        if (r != DRV_SUCCESS)
            return r;
    }
    return DRV_SUCCESS;
}

static unsigned hybrid_threads(const struct kernels *kernels)
{
    return min_unsigned(MESSAGE_HYBRID_THREADS, kernels->max_threads);
}

static unsigned hybrid_bytes(const struct kernels *kernels)
{
    const unsigned warps = hybrid_threads(kernels) / WARP, tables = MESSAGE_TABLES_OF(warps);
    return 4 * AES_TABLE_SHARED + tables * MESSAGE_ROWS_SHARED(MESSAGE_SMALL_PIECE) +
           (warps - tables) * MESSAGE_ROWS_SHARED(MESSAGE_LARGE_PIECE);
}

static drv_result load_hybrid(const struct driver *driver, struct kernels *kernels, unsigned shared)
{
    drv_result r = DRV_SUCCESS;
    if (hybrid_bytes(kernels) > shared)
        return r;
    for (int k = 0; k < KEY_SIZES && r == DRV_SUCCESS; k++) {
        char name[64];
        (void)snprintf(name, sizeof name, "message_ctr_hybrid_%d", 10 + 2 * k);
        r = kernels_find(driver, kernels, name, hybrid_bytes(kernels),
                         &kernels->message_ctr_hybrid[k]);
    }
    return r == DRV_NOT_FOUND ? DRV_SUCCESS : r;
}

/* The largest size that the image has for this device, and there is room for. */
drv_result kernels_load_message(const struct driver *driver, struct kernels *kernels, int shared)
{
    drv_result r = DRV_SUCCESS;
    for (int i = 0; i < 2 * MESSAGE_KINDS && r == DRV_SUCCESS; i++) {
        r = DRV_NOT_FOUND;
        for (unsigned size = 0; size < SIZES && r == DRV_NOT_FOUND; size++)
            r = load_kind(driver, kernels, size, (enum message_kind)(i / 2), i % 2,
                          (unsigned)shared);
    }
    return r == DRV_SUCCESS ? load_hybrid(driver, kernels, (unsigned)shared) : r;
}

static enum message_kind kind_of(const struct gpuaes_mode *mode)
{
    if (mode->hashes)
        return MESSAGE_KIND_GCM;
    if (mode->message_mode == MESSAGE_CTR)
        return MESSAGE_KIND_CTR;
    return mode->decrypts ? MESSAGE_KIND_DECRYPT : MESSAGE_KIND_ENCRYPT;
}

/* ---- Segments ---------------------------------------------------------------------- */

/* As message.cuh has it. */
static uint64_t segments_of(uint64_t blocks, uint64_t segment)
{
    return blocks <= segment + 1 ? 1 : (blocks - 2) / segment + 1;
}

static int is_chained(enum gpuaes_op op)
{
    return gpuaes_modes[op]->chained;
}

/*
 * `count` messages have up to `blocks` blocks each, and `all` together. A message of CBC encryption
 * is one segment.
 */
static uint32_t planned_segment(enum gpuaes_op op, int raw, uint64_t count, uint64_t blocks,
                                uint64_t all, uint64_t lanes)
{
    const uint64_t hashed_most = raw ? RAW_HASHED_MOST : HASHED_MOST;
    if (gpuaes_modes[op]->serial)
        return INT32_MAX;
    uint64_t each = all / TURNS / (lanes + 1), segment = PLANNED_LEAST;
    while (segment < each && segment < PLANNED_MOST)
        segment *= 2;
    while (gpuaes_modes[op]->hashes && segment < hashed_most && 2 * segment < each)
        segment *= 2;
    /* Full segments are numbered in 32 bits, whatever the total is. */
    while (segment < PLANNED_MOST && count * (segments_of(blocks, segment) - 1) > UINT32_MAX)
        segment *= 2;
    while (is_chained(op) &&
           count * (segments_of(blocks, segment) - 1) * GPUAES_BLOCK > CHAIN_BYTES)
        segment *= 2;
    return (uint32_t)segment;
}

/* A shorter part of a full segment would not pay for its begin. */
static uint32_t least_part(enum gpuaes_op op, uint32_t segment)
{
    const struct gpuaes_mode *mode = gpuaes_modes[op];
    const uint32_t least = mode->hashes ? HASHED_PART_LEAST : PART_LEAST;
    return !mode->serial && !mode->chained && segment >= 2 * least ? least : 0;
}

static int choose_direct(enum gpuaes_op op, uint64_t blocks, uint64_t lanes, unsigned threads,
                         struct message_arguments *a)
{
    uint64_t segment = gpuaes_modes[op]->serial ? INT32_MAX : DIRECT_LEAST;
    do {
        const uint64_t segments = segments_of(blocks, segment);
        if (segments <= threads && a->count * segments <= lanes) {
            a->segment = (uint32_t)segment;
            a->segments = (uint32_t)segments;
            return 1;
        }
        segment *= 2;
    } while (segment <= DIRECT_MOST);
    return 0;
}

/* ---- Temporary memory ---------------------------------------------------------------- */

struct layout {
    size_t order, full, sums, chain; /* offsets; 0: there is none */
    size_t bytes;
};

static size_t place(struct layout *l, uint64_t bytes)
{
    size_t at = l->bytes;
    l->bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static struct layout lay_out(enum gpuaes_op op, uint64_t count, uint64_t blocks, uint64_t segment)
{
    struct layout l = {.bytes = ALIGNMENT}; /* of the plan itself */
    const uint64_t segments = segments_of(blocks, segment);
    l.order = place(&l, count * sizeof(uint32_t));
    if (segments == 1)
        return l;
    l.full = place(&l, count * sizeof(struct message_full));
    l.sums = place(&l, count * sizeof(struct message_sum));
    if (is_chained(op))
        l.chain = place(&l, count * (segments - 1) * GPUAES_BLOCK);
    return l;
}

size_t kernels_message_temp_bytes(enum gpuaes_op op, size_t count, size_t max_bytes)
{
    const uint64_t blocks = (max_bytes + GPUAES_BLOCK - 1) / GPUAES_BLOCK;
    /* The shortest segments take the most. */
    return lay_out(op, count, blocks, planned_segment(op, 0, count, blocks, 0, 0)).bytes;
}

/* ---- Launches ------------------------------------------------------------------------ */

/* Messages of each block of threads in a direct launch. */
static unsigned messages_of_block(const struct kernels *kernels, enum gpuaes_op op,
                                  unsigned threads, const struct message_arguments *a)
{
    const unsigned multiprocessors = kernels->multiprocessors;
    unsigned each = (a->count - 1) / multiprocessors + 1;
    if (gpuaes_modes[op]->serial && each < SERIAL_LANES)
        each = min_unsigned((uint64_t)(a->count - 1) * SERIAL_LAUNCHES / multiprocessors + 1,
                            SERIAL_LANES);
    return min_unsigned(each, threads / a->segments);
}

struct message_shape kernels_message_shape(const struct kernels *kernels, enum gpuaes_op op,
                                           unsigned rounds, uint64_t total_bytes,
                                           struct message_arguments *a)
{
    const enum message_kind kind = kind_of(gpuaes_modes[op]);
    const int raw = a->keys != 0 || a->key_table != 0;
    const struct message_kernels *own = &kernels->message[kind][raw];
    const uint64_t blocks = ((uint64_t)a->max_bytes + GPUAES_BLOCK - 1) / GPUAES_BLOCK;
    const uint64_t lanes = (uint64_t)kernels->multiprocessors * own->threads;
    const uint64_t most = a->count * blocks;
    /* More segments would be a longer chain. */
    const int by_total = total_bytes != 0 && !is_chained(op);
    const uint64_t all = by_total ? min_u64(total_bytes / GPUAES_BLOCK, most) : most;
    const unsigned k = key_size_index(key_size_of(rounds));
    struct message_shape shape = {.kernel = {.function = own->function[k],
                                             .grid = kernels->multiprocessors,
                                             .threads = own->threads,
                                             .shared = shared_bytes(own->size, kind, own->threads)},
                                  .rounds = rounds};
    if (choose_direct(op, blocks, lanes, own->threads, a)) {
        a->per_block = messages_of_block(kernels, op, own->threads, a);
        shape.kernel.grid = (a->count - 1) / a->per_block + 1;
        return shape;
    }
    shape.is_planned = 1;
    a->segment = planned_segment(op, raw, a->count, blocks, all, lanes);
    a->least_part = least_part(op, a->segment);
    shape.temp_bytes = lay_out(op, a->count, blocks, a->segment).bytes;
    if (kind == MESSAGE_KIND_CTR && !raw && kernels->message_ctr_hybrid[k] != NULL &&
        (kernels->forced == KERNEL_SIZES || kernels->forced == KERNEL_HYBRID))
        shape.kernel = (struct kernels_shape){.function = kernels->message_ctr_hybrid[k],
                                              .grid = kernels->multiprocessors,
                                              .threads = hybrid_threads(kernels),
                                              .shared = hybrid_bytes(kernels),
                                              .is_hybrid = 1};
    return shape;
}

static drv_result launch_plan(const struct driver *driver, const struct kernels *kernels,
                              struct message_arguments *a, drv_stream stream)
{
    const unsigned threads = min_unsigned(PLAN_THREADS, kernels->max_threads);
    const unsigned words = MESSAGE_CLASSES + 34;
    drv_result r = driver->memset_d8_async(a->plan, 0, sizeof(struct message_queue), stream);
    if (r == DRV_SUCCESS)
        r = kernels_launch(driver, kernels->message_plan,
                           (a->count - 1) / (threads * MESSAGE_TILE) + 1, threads,
                           words * (unsigned)sizeof(uint32_t), stream, a);
    if (r != DRV_SUCCESS || a->chain == 0)
        return r;
    return kernels_launch(driver, kernels->message_chain, kernels->multiprocessors * SMALL_BLOCKS,
                          min_unsigned(SMALL_THREADS, kernels->max_threads), 0, stream, a);
}

static drv_result launch_hybrid(const struct driver *driver, const struct message_shape *shape,
                                const struct message_arguments *a, drv_stream stream)
{
    const struct kernels_shape *kernel = &shape->kernel;
    struct message_hybrid_arguments hybrid = {.message = *a};
    kernels_fill_planes(hybrid.planes, shape->rounds, a->round_key);
    drv_result r = kernels_launch(driver, kernel->function, kernel->grid, kernel->threads,
                                  kernel->shared, stream, &hybrid);
    gpuaes_cleanse(&hybrid, sizeof hybrid);
    return r;
}

drv_result kernels_launch_message(const struct driver *driver, const struct kernels *kernels,
                                  const struct message_shape *shape, struct message_arguments *a,
                                  drv_ptr temp, drv_stream stream)
{
    drv_result r = DRV_SUCCESS;
    if (shape->is_planned) {
        const enum gpuaes_op op = (enum gpuaes_op)a->op;
        const uint64_t blocks = ((uint64_t)a->max_bytes + GPUAES_BLOCK - 1) / GPUAES_BLOCK;
        const struct layout l = lay_out(op, a->count, blocks, a->segment);
        a->plan = temp;
        a->order = temp + l.order;
        a->full = l.full != 0 ? temp + l.full : 0;
        a->sums = l.sums != 0 ? temp + l.sums : 0;
        a->chain = l.chain != 0 ? temp + l.chain : 0;
        r = launch_plan(driver, kernels, a, stream);
    }
    if (r != DRV_SUCCESS)
        return r;
    const struct kernels_shape *kernel = &shape->kernel;
    if (kernel->is_hybrid)
        return launch_hybrid(driver, shape, a, stream);
    return kernels_launch(driver, kernel->function, kernel->grid, kernel->threads, kernel->shared,
                          stream, a);
}
