/*
 * Launching of the kernels of GCM.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/counter.h"
#include "base/minmax.h"
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

size_t kernels_gcm_scratch_bytes(const struct kernels *kernels, enum gpuaes_op op, uint64_t blocks)
{
    if (!kernels_are_hybrid(kernels, op, blocks))
        return 0;
    return (size_t)levels_of(blocks, GHASH_POWERS) * KERNELS_POWERS_BYTES;
}

/* ---- Powers of H --------------------------------------------------------------------- */

drv_result kernels_launch_ghash_powers(const struct driver *driver, const struct kernels *kernels,
                                       const struct gpuaes_gcm_key *key, uint32_t levels,
                                       drv_ptr powers, drv_stream stream)
{
    unsigned threads = min_unsigned(GHASH_POWERS, kernels->max_threads);
    struct ghash_powers_arguments a = {.powers = powers, .levels = levels};
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

/* ---- The end that is no whole block ---------------------------------------------------- */

drv_result kernels_launch_gcm_rest(const struct driver *driver, const struct kernels *kernels,
                                   struct gcm_rest_arguments *arguments, drv_stream stream)
{
    return kernels_launch(driver, kernels->gcm_rest, 1, WARP, 0, stream, arguments);
}

/* ---- Sums -------------------------------------------------------------------------------- */

size_t kernels_gcm_sums_bytes(const struct kernels *kernels)
{
    return (size_t)2 * kernels_most_blocks(kernels) * GPUAES_BLOCK;
}

/* The half that launch number `launch` writes. */
static size_t half_of(const struct kernels *kernels, unsigned launch)
{
    return launch % 2 * (kernels_gcm_sums_bytes(kernels) / 2);
}

struct ghash_element kernels_take_sums(const struct kernels *kernels,
                                       const struct kernels_sums *sums, unsigned char *memory)
{
    unsigned char *last = memory + half_of(kernels, sums->launches + 1);
    const size_t bytes = sums->count * sizeof(struct ghash_element);
    struct ghash_element sum = {0, 0}, e;
    for (size_t at = 0; at < bytes; at += sizeof e) {
        memcpy(&e, last + at, sizeof e);
        sum = ghash_add(sum, e);
    }
    gpuaes_cleanse(last, bytes);
    if (sums->launches > 1)
        gpuaes_cleanse(memory, kernels_gcm_sums_bytes(kernels));
    return sum;
}

/* ---- Kernels --------------------------------------------------------------------------- */

static void fill_sums(struct ghash_sums *to, const struct kernels *kernels,
                      const struct gpuaes_gcm_key *key, uint64_t blocks,
                      const struct kernels_sums *sums)
{
    *to = (struct ghash_sums){.own = sums->memory + half_of(kernels, sums->launches),
                              .before = sums->memory + half_of(kernels, sums->launches + 1),
                              .count = sums->count};
    if (sums->count != 0)
        ghash_set(to->factor, ghash_power(key, blocks));
}

/* Warps take rows of 32 blocks, or tiles of eight rows, in turn. */
SECRET_FRAME static void fill_plain(struct aes_gcm_arguments *a, const struct kernels *kernels,
                                    const struct kernels_shape *shape,
                                    const struct gpuaes_gcm_key *key,
                                    const struct aes_arguments *part,
                                    const struct kernels_sums *sums)
{
    uint64_t warps = (uint64_t)shape->grid * (shape->threads / WARP);
    uint64_t distance = warps * (shape->has_tiles ? TILE : WARP);
    struct ghash_element square = ghash_h(key);
    *a = (struct aes_gcm_arguments){.aes = *part};
    fill_sums(&a->hash.sums, kernels, key, part->blocks, sums);
    for (int n = 0; n < GHASH_SQUARES; n++) {
        ghash_set(a->hash.squares[n], square);
        square = ghash_square(square);
    }
    if (shape->has_tiles) {
        ghash_set(a->hash.row, ghash_power(key, WARP));
        ghash_set(a->hash.tile, ghash_power(key, distance - (TILE - WARP)));
    } else {
        ghash_set(a->hash.row, ghash_power(key, distance));
    }
    a->hash.levels = levels_of(min_u64(distance, part->blocks), TABLE_POWERS);
}

SECRET_FRAME static void fill_hybrid(struct aes_gcm_hybrid_arguments *a,
                                     const struct kernels *kernels,
                                     const struct gpuaes_gcm_key *key,
                                     const struct aes_arguments *part,
                                     const struct kernels_sums *sums, drv_ptr powers)
{
    *a = (struct aes_gcm_hybrid_arguments){
        .hybrid.aes = *part,
        .hash = {.powers = powers, .levels = levels_of(part->blocks, GHASH_POWERS)}};
    fill_sums(&a->hash.sums, kernels, key, part->blocks, sums);
    kernels_fill_planes(a->hybrid.planes, key->schedule.rounds, part->round_key);
    memcpy(a->hash.step, key->steps, sizeof a->hash.step);
}

drv_result kernels_launch_gcm(const struct driver *driver, const struct kernels *kernels,
                              enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                              const struct aes_arguments *arguments, struct kernels_sums *sums,
                              const struct kernels_scratch *scratch, drv_stream stream)
{
    union {
        struct aes_gcm_arguments plain;
        struct aes_gcm_hybrid_arguments hybrid;
    } a;
    if (scratch->bytes < kernels_gcm_scratch_bytes(kernels, op, arguments->blocks))
        return DRV_INVALID_VALUE;
    struct aes_arguments part = *arguments;
    drv_result r = DRV_SUCCESS;
    for (uint64_t left = arguments->blocks; left != 0 && r == DRV_SUCCESS; left -= part.blocks) {
        part.blocks = min_u64(left, counter_until_wrap((const unsigned char *)part.iv));
        const struct kernels_shape shape = kernels_shape(kernels, op, key->schedule.rounds, &part);
        if (shape.is_hybrid) {
            fill_hybrid(&a.hybrid, kernels, key, &part, sums, scratch->address);
            r = kernels_launch_ghash_powers(driver, kernels, key, a.hybrid.hash.levels,
                                            scratch->address, stream);
        } else {
            fill_plain(&a.plain, kernels, &shape, key, &part, sums);
        }
        if (r == DRV_SUCCESS)
            r = kernels_launch(driver, shape.function, shape.grid, shape.threads, shape.shared,
                               stream, &a);
        sums->launches++;
        sums->count = shape.grid;
        part.in += part.blocks * GPUAES_BLOCK;
        part.out += part.blocks * GPUAES_BLOCK;
        gpuaes_modes[op]->advance((unsigned char *)part.iv, part.blocks, NULL);
    }
    gpuaes_cleanse(&a, sizeof a);
    gpuaes_cleanse(&part, sizeof part);
    cleanse_stack(); /* of powers of H */
    return r;
}
