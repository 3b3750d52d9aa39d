/*
 * Loading and launching of the kernels of batches.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "base/minmax.h"
#include "cuda/launch/kernels.h"
#include "cuda/process/cleanse.h"

enum { WARP = 32, THREADS = 1024, ROWS_MOST = AES_BATCH_ROWS_MOST, SMALL_THREADS = 256 };
/* Rows a warp from which on hybrid kernels are worth their slow first and last spans. */
enum { HYBRID_ROWS = 16 };

static unsigned threads_of(const struct kernels *kernels)
{
    return min_unsigned(THREADS, kernels->max_threads);
}

static uint32_t warps_of(const struct kernels *kernels)
{
    return kernels->multiprocessors * (threads_of(kernels) / WARP);
}

static drv_result load_hybrid(const struct driver *driver, struct kernels *kernels)
{
    for (int size = 0; size < KEY_SIZES; size++) {
        char name[64];
        (void)snprintf(name, sizeof name, "aes_batch_hybrid_%d", 10 + 2 * size);
        drv_result r = kernels_find(driver, kernels, name, kernels->batch_shared[0],
                                    &kernels->batch_hybrid[size]);
        if (r != DRV_SUCCESS && r != DRV_NOT_FOUND)
            return r;
    }
    return DRV_SUCCESS;
}

drv_result kernels_load_batch(const struct driver *driver, struct kernels *kernels, int shared)
{
    static const char *const directions[] = {"encrypt", "decrypt"}, *const keys[] = {"one", "many"};
    unsigned more = threads_of(kernels) / WARP * AES_BATCH_WARP_SHARED;
    int large = AES_LARGE_SHARED + more <= (unsigned)shared;
    kernels->batch_shared[0] = large ? AES_LARGE_SHARED : AES_SMALL_SHARED;
    unsigned left = (unsigned)shared - kernels->batch_shared[0] - more;
    kernels->batch_lane_keys = left / AES_BATCH_LANES_SHARED;
    if (kernels->batch_lane_keys > threads_of(kernels) / WARP)
        kernels->batch_lane_keys = threads_of(kernels) / WARP;
    kernels->batch_shared[1] = kernels->batch_shared[0] + more;
    unsigned lane_keys[] = {0, kernels->batch_lane_keys * AES_BATCH_LANES_SHARED};
    for (int i = 0; i < 2 * 2 * KEY_SIZES; i++) {
        int decrypts = i % 2, many = i / 2 % 2, size = i / 4;
        char name[64];
        (void)snprintf(name, sizeof name, "aes_batch_%s_%s_%s_%d", directions[decrypts], keys[many],
                       large ? "large" : "small", 10 + 2 * size);
        drv_result r =
            kernels_find(driver, kernels, name, kernels->batch_shared[many] + lane_keys[many],
                         &kernels->batch[decrypts][many][size]);
        if (r != DRV_SUCCESS)
            return r;
    }
    drv_result r = large ? load_hybrid(driver, kernels) : DRV_SUCCESS;
    if (r == DRV_SUCCESS)
        r = driver->module_get_function(&kernels->batch_chain, kernels->module, "aes_batch_chain");
    if (r != DRV_SUCCESS)
        return r;
    return driver->module_get_function(&kernels->batch_expand, kernels->module, "aes_batch_expand");
}

/* Long spans are begun less often, short ones are there for every warp. */
static uint32_t rows_of(const struct kernels *kernels, uint32_t blocks)
{
    uint32_t each = warps_of(kernels) * WARP, rows = blocks / each + (blocks % each != 0);
    return rows < 1 ? 1 : rows < ROWS_MOST ? rows : ROWS_MOST;
}

uint32_t kernels_batch_spans(const struct kernels *kernels, uint32_t blocks)
{
    uint32_t each = rows_of(kernels, blocks) * WARP;
    return blocks / each + (blocks % each != 0);
}

int kernels_batch_has_whole_spans(const struct kernels *kernels, uint32_t blocks)
{
    return rows_of(kernels, blocks) == ROWS_MOST;
}

size_t kernels_batch_chain_bytes(const struct kernels *kernels, uint32_t blocks)
{
    size_t spans = blocks / (ROWS_MOST * WARP) + KEY_SIZES * ((size_t)warps_of(kernels) + 1);
    return spans * GPUAES_BLOCK;
}

/* A thread for each of `count`, or one for some. */
static drv_result launch_small(const struct driver *driver, const struct kernels *kernels,
                               drv_function function, uint32_t count, unsigned shared,
                               drv_stream stream, void *arguments)
{
    unsigned threads = min_unsigned(SMALL_THREADS, kernels->max_threads);
    unsigned grid = min_unsigned((count + threads - 1) / threads, kernels->multiprocessors * 8);
    return kernels_launch(driver, function, grid, threads, shared, stream, arguments);
}

drv_result kernels_launch_batch_expand(const struct driver *driver, const struct kernels *kernels,
                                       struct aes_batch_expand_arguments *arguments,
                                       drv_stream stream)
{
    return launch_small(driver, kernels, kernels->batch_expand, arguments->count, AES_SMALL_SHARED,
                        stream, arguments);
}

/*
 * How many warps serial messages take, and on how many multiprocessors. A warp by itself
 * waits for its own lookups: four of quads share a multiprocessor without being slower,
 * eight are a tenth slower, which leaves others to other batches. Beyond fourteen the
 * lookups of single lanes, which need no exchange, take less of its time.
 */
enum { QUADS = 8, QUAD_WARPS = 8, QUAD_WARPS_MOST = 14 };

struct serial_shape {
    uint32_t units, blocks, quads;
};

static struct serial_shape shape_serial(const struct kernels *kernels, uint32_t serial)
{
    struct serial_shape shape = {.units = (serial + QUADS - 1) / QUADS};
    shape.quads = threads_of(kernels) / WARP >= QUAD_WARPS &&
                  shape.units <= QUAD_WARPS_MOST * kernels->multiprocessors;
    if (!shape.quads)
        shape.units = (serial + WARP - 1) / WARP;
    shape.blocks = shape.units;
    if (shape.quads) {
        shape.blocks = (shape.units + QUAD_WARPS / 2 - 1) / (QUAD_WARPS / 2);
        if (shape.blocks > kernels->multiprocessors / 4)
            shape.blocks = (shape.units + QUAD_WARPS - 1) / QUAD_WARPS;
    }
    return shape;
}

static int is_hybrid(const struct kernels *kernels, const struct kernels_batch_kind *kind,
                     uint32_t blocks)
{
    return kind->counts && !kind->many && kernels->batch_hybrid[kind->key_size] != NULL &&
           kernels->forced >= KERNEL_HYBRID && blocks / (warps_of(kernels) * WARP) >= HYBRID_ROWS;
}

/* Its 2 KiB of arguments are on the stack of large launches alone. */
static __attribute__((noinline)) drv_result
launch_hybrid(const struct driver *driver, const struct kernels *kernels, unsigned key_size,
              const struct aes_batch_arguments *arguments, drv_stream stream)
{
    struct aes_batch_hybrid_arguments hybrid = {.batch = *arguments};
    kernels_fill_planes(hybrid.planes, 10 + 2 * key_size, arguments->round_key);
    drv_result r = kernels_launch(driver, kernels->batch_hybrid[key_size], kernels->multiprocessors,
                                  threads_of(kernels), kernels->batch_shared[0], stream, &hybrid);
    gpuaes_cleanse(&hybrid, sizeof hybrid);
    return r;
}

drv_result kernels_launch_batch(const struct driver *driver, const struct kernels *kernels,
                                const struct kernels_batch_kind *kind,
                                struct aes_batch_arguments *arguments, uint32_t blocks,
                                drv_stream stream)
{
    uint32_t spans = kernels_batch_spans(kernels, blocks);
    struct serial_shape shape = shape_serial(kernels, arguments->serial);
    arguments->rows = rows_of(kernels, blocks);
    arguments->quads = shape.quads;
    if (arguments->chain != 0) {
        drv_result r =
            launch_small(driver, kernels, kernels->batch_chain, spans, 0, stream, arguments);
        if (r != DRV_SUCCESS)
            return r;
    }
    if (is_hybrid(kernels, kind, blocks))
        return launch_hybrid(driver, kernels, kind->key_size, arguments, stream);
    uint32_t grid = min_unsigned(spans + shape.blocks, kernels->multiprocessors);
    uint32_t serial_warps = (shape.units + grid - 1) / grid;
    arguments->lane_keys = 0;
    if (kind->many && !shape.quads)
        arguments->lane_keys = min_unsigned(serial_warps, kernels->batch_lane_keys);
    unsigned shared =
        kernels->batch_shared[kind->many] + arguments->lane_keys * AES_BATCH_LANES_SHARED;
    return kernels_launch(driver, kernels->batch[kind->decrypts][kind->many][kind->key_size], grid,
                          threads_of(kernels), shared, stream, arguments);
}
