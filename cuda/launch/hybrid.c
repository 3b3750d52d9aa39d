/*
 * Launching of hybrid kernels, of whatever mode.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cuda/launch/kernels.h"

/* Round keys for bitsliced warps: see arguments.h. */
static void fill_planes(uint32_t planes[32], const uint32_t round_key[4])
{
    memset(planes, 0, 32 * sizeof *planes);
    for (unsigned column = 0; column < 4; column++)
        for (unsigned bit = 0; bit < 32; bit++)
            planes[bit] |= (round_key[column] >> bit & 1) * 0xffu << (8 * column);
}

drv_result kernels_launch_hybrid(const struct driver *driver, const struct kernels_shape *shape,
                                 unsigned rounds, const uint32_t *round_key, uint32_t planes[][32],
                                 void *arguments, size_t bytes, drv_stream stream)
{
    for (unsigned round = 0; round < rounds; round++)
        fill_planes(planes[round], &round_key[4 * round]);
    drv_result r = kernels_launch(driver, shape->function, shape->grid, shape->threads,
                                  shape->shared, stream, arguments);
    gpuaes_cleanse(arguments, bytes);
    return r;
}
