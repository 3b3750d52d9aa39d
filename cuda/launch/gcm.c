/*
 * Launching of the kernels of GCM.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/minmax.h"
#include "cuda/launch/kernels.h"

/* Scratch memory: the queue, the total, the powers of H. */
enum { SCRATCH_QUEUE = 0, SCRATCH_TOTAL = 16, SCRATCH_POWERS = 64 };
enum { LEVEL_BYTES = GHASH_POWERS * GPUAES_BLOCK };

/* GHASH_POWERS^levels is more than the blocks. */
static uint32_t levels_of(uint64_t blocks)
{
    uint32_t levels = 1;
    while (blocks /= GHASH_POWERS)
        levels++;
    return levels;
}

size_t kernels_gcm_scratch_bytes(uint64_t blocks)
{
    return SCRATCH_POWERS + (size_t)levels_of(blocks) * LEVEL_BYTES;
}

static drv_result launch_powers(const struct driver *driver, const struct kernels *kernels,
                                struct ghash_arguments *hash, const struct gpuaes_gcm_key *key,
                                drv_stream stream)
{
    memcpy(hash->step[0], key->steps[0][0], sizeof hash->step[0]);
    memcpy(hash->step[1], key->h, sizeof hash->step[1]);
    unsigned threads = min_unsigned(GHASH_POWERS, kernels->max_threads);
    return kernels_launch(driver, kernels->ghash_powers,
                          (hash->levels * GHASH_POWERS + threads - 1) / threads, threads, 0, stream,
                          hash);
}

drv_result kernels_launch_ghash_powers(const struct driver *driver, const struct kernels *kernels,
                                       const struct gpuaes_gcm_key *key,
                                       const struct kernels_scratch *scratch, drv_stream stream,
                                       drv_ptr *powers)
{
    *powers = scratch->address + SCRATCH_POWERS;
    struct ghash_arguments g = {
        .powers = *powers, .total = scratch->address + SCRATCH_TOTAL, .levels = 1};
    drv_result r = launch_powers(driver, kernels, &g, key, stream);
    gpuaes_cleanse(&g, sizeof g);
    return r;
}

drv_result kernels_launch_gcm(const struct driver *driver, const struct kernels *kernels,
                              enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                              const struct aes_arguments *arguments, drv_ptr hash,
                              const struct kernels_scratch *scratch, drv_stream stream)
{
    struct kernels_shape shape =
        kernels_shape(kernels, op, key->schedule.rounds, arguments, scratch);
    union {
        struct aes_gcm_arguments plain;
        struct aes_gcm_hybrid_arguments hybrid;
    } a;
    struct ghash_arguments g = {.powers = scratch->address + SCRATCH_POWERS,
                                .total = scratch->address + SCRATCH_TOTAL,
                                .hash = hash,
                                .levels = levels_of(arguments->blocks)};
    drv_result r = launch_powers(driver, kernels, &g, key, stream);
    memcpy(g.step, key->steps[shape.is_hybrid], sizeof g.step);
    if (r == DRV_SUCCESS && shape.is_hybrid) {
        r = kernels_fill_hybrid(&a.hybrid.hybrid, driver, key->schedule.rounds, arguments,
                                scratch->address + SCRATCH_QUEUE, stream);
        a.hybrid.hash = g;
    } else {
        a.plain.aes = *arguments;
        a.plain.hash = g;
    }
    if (r == DRV_SUCCESS)
        r = kernels_launch(driver, shape.function, shape.grid, shape.threads, shape.shared, stream,
                           &a);
    gpuaes_cleanse(&g, sizeof g);
    gpuaes_cleanse(&a, sizeof a);
    return r;
}
