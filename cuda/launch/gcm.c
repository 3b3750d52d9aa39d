/*
 * Launching of the kernels of GCM.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/minmax.h"
#include "cuda/launch/ghash.h"
#include "cuda/launch/kernels.h"
#include "cuda/process/cleanse.h"

enum { WARP = 32, TILE = 256, TABLE_POWERS = 16 };

/* base^levels is more than the blocks. */
static uint32_t levels_of(uint64_t blocks, unsigned base)
{
    uint32_t levels = 1;
    while (blocks /= base)
        levels++;
    return levels;
}

size_t kernels_gcm_sums_bytes(const struct kernels *kernels)
{
    return (size_t)kernels_most_blocks(kernels) * GPUAES_BLOCK;
}

size_t kernels_gcm_scratch_bytes(const struct kernels *kernels, enum gpuaes_op op, uint64_t blocks)
{
    if (!kernels_are_hybrid(kernels, op, blocks))
        return 0;
    return (size_t)levels_of(blocks, GHASH_POWERS) * KERNELS_POWERS_BYTES;
}

/* ---- Powers of H --------------------------------------------------------------------- */

static drv_result launch_powers(const struct driver *driver, const struct kernels *kernels,
                                const struct gpuaes_gcm_key *key, uint32_t levels,
                                const struct kernels_scratch *scratch, drv_stream stream)
{
    unsigned threads = min_unsigned(GHASH_POWERS, kernels->max_threads);
    struct ghash_powers_arguments a = {.powers = scratch->address, .levels = levels};
    struct ghash_element base = ghash_h(key);
    for (uint32_t level = 0; level < levels; level++) {
        ghash_set(a.base[level], base);
        for (int power = 1; power < GHASH_POWERS; power *= 2)
            base = ghash_square(base);
    }
    drv_result r =
        kernels_launch(driver, kernels->ghash_powers,
                       (levels * GHASH_POWERS + threads - 1) / threads, threads, 0, stream, &a);
    gpuaes_cleanse(&a, sizeof a);
    gpuaes_cleanse(&base, sizeof base);
    return r;
}

drv_result kernels_launch_ghash_powers(const struct driver *driver, const struct kernels *kernels,
                                       const struct gpuaes_gcm_key *key,
                                       const struct kernels_scratch *scratch, drv_stream stream,
                                       drv_ptr *powers)
{
    *powers = scratch->address;
    return launch_powers(driver, kernels, key, 1, scratch, stream);
}

/* ---- The end that is no whole block ---------------------------------------------------- */

drv_result kernels_launch_gcm_rest(const struct driver *driver, const struct kernels *kernels,
                                   struct gcm_rest_arguments *arguments, drv_stream stream)
{
    return kernels_launch(driver, kernels->gcm_rest, 1, WARP, 0, stream, arguments);
}

/* ---- Kernels --------------------------------------------------------------------------- */

static void set_sums(struct ghash_sums *to, const struct gpuaes_gcm_key *key, uint64_t blocks,
                     const struct kernels_sums *before, const struct kernels_sums *own)
{
    to->own = own->address;
    to->before = before->address;
    to->count = before->count;
    if (before->count != 0)
        ghash_set(to->factor, ghash_power(key, blocks));
}

/* Warps take rows of 32 blocks, or tiles of eight rows, in turn. */
static void set_plain(struct ghash_arguments *to, const struct gpuaes_gcm_key *key, uint64_t blocks,
                      const struct kernels_shape *shape)
{
    uint64_t warps = (uint64_t)shape->grid * (shape->threads / WARP);
    uint64_t distance = warps * (shape->has_tiles ? TILE : WARP);
    struct ghash_element square = ghash_h(key);
    for (int n = 0; n < GHASH_SQUARES; n++) {
        ghash_set(to->squares[n], square);
        square = ghash_square(square);
    }
    if (shape->has_tiles) {
        ghash_set(to->row, ghash_power(key, WARP));
        ghash_set(to->tile, ghash_power(key, distance - (TILE - WARP)));
    } else {
        ghash_set(to->row, ghash_power(key, distance));
    }
    to->levels = levels_of(min_u64(distance, blocks), TABLE_POWERS);
}

static drv_result launch_plain(const struct driver *driver, const struct kernels_shape *shape,
                               const struct gpuaes_gcm_key *key,
                               const struct aes_arguments *arguments, const struct ghash_sums *sums,
                               drv_stream stream)
{
    struct aes_gcm_arguments a = {.aes = *arguments, .hash.sums = *sums};
    set_plain(&a.hash, key, arguments->blocks, shape);
    drv_result r = kernels_launch(driver, shape->function, shape->grid, shape->threads,
                                  shape->shared, stream, &a);
    gpuaes_cleanse(&a, sizeof a);
    return r;
}

static __attribute__((noinline)) drv_result
launch_hybrid(const struct driver *driver, const struct kernels *kernels,
              const struct kernels_shape *shape, const struct gpuaes_gcm_key *key,
              const struct aes_arguments *arguments, const struct ghash_sums *sums,
              const struct kernels_scratch *scratch, drv_stream stream)
{
    const uint32_t levels = levels_of(arguments->blocks, GHASH_POWERS);
    drv_result r = launch_powers(driver, kernels, key, levels, scratch, stream);
    if (r != DRV_SUCCESS)
        return r;
    struct aes_gcm_hybrid_arguments a = {
        .hybrid.aes = *arguments,
        .hash = {.sums = *sums, .powers = scratch->address, .levels = levels}};
    memcpy(a.hash.step, key->steps, sizeof a.hash.step);
    return kernels_launch_hybrid(driver, shape, key->schedule.rounds, arguments->round_key,
                                 a.hybrid.planes, &a, sizeof a, stream);
}

SECRET_FRAME static drv_result launch(const struct driver *driver, const struct kernels *kernels,
                                      enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                                      const struct aes_arguments *arguments,
                                      const struct kernels_sums *before, struct kernels_sums *own,
                                      const struct kernels_scratch *scratch, drv_stream stream)
{
    if (scratch->bytes < kernels_gcm_scratch_bytes(kernels, op, arguments->blocks))
        return DRV_INVALID_VALUE;
    struct kernels_shape shape = kernels_shape(kernels, op, key->schedule.rounds, arguments);
    struct ghash_sums sums = {0};
    set_sums(&sums, key, arguments->blocks, before, own);
    own->count = shape.grid;
    drv_result r = shape.is_hybrid ? launch_hybrid(driver, kernels, &shape, key, arguments, &sums,
                                                   scratch, stream)
                                   : launch_plain(driver, &shape, key, arguments, &sums, stream);
    gpuaes_cleanse(&sums, sizeof sums);
    return r;
}

drv_result kernels_launch_gcm(const struct driver *driver, const struct kernels *kernels,
                              enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                              const struct aes_arguments *arguments,
                              const struct kernels_sums *before, struct kernels_sums *own,
                              const struct kernels_scratch *scratch, drv_stream stream)
{
    drv_result r = launch(driver, kernels, op, key, arguments, before, own, scratch, stream);
    cleanse_stack(); /* of powers of H */
    return r;
}
