/*
 * Kernels that reach a limit of the device, for the reference lines of
 * figures. The benchmark loads them from an image of their own.
 *
 * Included by C host code and by nvcc: plain types only.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_LIMITS_H
#define GPUAES_BENCH_LIMITS_H

#include <stdint.h>

/*
 * extern "C" void limit_shared_port(const struct limit_shared_port_arguments)
 * Each thread loads LIMIT_LOADS words a round from shared memory, each lane of a
 * warp out of its own bank, as the lookups of the AES kernels do. Best: two blocks
 * of 1024 threads a multiprocessor, no dynamic shared memory, some thousand rounds.
 */
enum { LIMIT_LOADS = 64 };
struct limit_shared_port_arguments {
    uint32_t rounds;
};

/*
 * extern "C" void limit_device_copy(const struct limit_device_copy_arguments)
 * Copies `vectors` of 16 bytes; both addresses are aligned to 16. Any grid.
 */
struct limit_device_copy_arguments {
    uint64_t in, out;
    uint64_t vectors;
};

/* The image for module_load_data, or NULL in a build without a toolkit. */
const void *limits_image(void);

#endif
