/*
 * The kernels on a device: loading, choice by size, launch.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_LAUNCH_KERNELS_H
#define GPUAES_CUDA_LAUNCH_KERNELS_H

#include <stdatomic.h>

#include "base/key_size.h"
#include "cuda/launch/ghash.h"
#include "cuda/launch/mode.h"

enum kernel_size { KERNEL_SMALL, KERNEL_TWO_TABLE, KERNEL_HYBRID, KERNEL_SIZES };
/* The hybrid for `in` or `out` that is not aligned to 16: chosen by that alone. */
enum { KERNEL_HYBRID_UNALIGNED = KERNEL_SIZES, AES_KERNELS };

/* Of messages: what kernels do, with one key or with a raw key for each. */
enum message_kind {
    MESSAGE_KIND_CTR,
    MESSAGE_KIND_GCM,
    MESSAGE_KIND_ENCRYPT,
    MESSAGE_KIND_DECRYPT,
    MESSAGE_KINDS
};
struct message_kernels {
    drv_function function[KEY_SIZES];
    unsigned size, threads;
};

struct kernels {
    drv_module module;
    drv_function aes[GPUAES_ALL_OPS][AES_KERNELS][KEY_SIZES]; /* NULL: not on this device */
    drv_function cbc_chain, ghash_powers, gcm_rest;
    atomic_int ghash_is_right; /* shown by gcm_check() */
    struct message_kernels message[MESSAGE_KINDS][2];
    drv_function message_ctr_hybrid[KEY_SIZES]; /* NULL: not on this device */
    drv_function message_plan, message_chain;
    drv_function random_small, random_large; /* large: NULL: not on this device */
    drv_function base64_encode, base64_decode;
    unsigned multiprocessors;
    unsigned max_threads;
    enum kernel_size forced; /* KERNEL_SIZES: none, the size decides */
    int toolkit;             /* of the image that was loaded: 13050 is 13.5 */
};

/* The value of GPUAES_KERNEL in the environment if it names no family of kernels, else NULL. */
const char *kernels_unknown_family(void);

/*
 * Loads every kernel, with the device's context current: launches later load
 * nothing. On an error nothing stays loaded.
 *
 * GPUAES_KERNEL=small|two_table|hybrid in the environment, for tests and
 * the benchmark, forces one kind of AES kernel wherever the device has it.
 */
drv_result kernels_load(const struct driver *driver, drv_device device, struct kernels *kernels);

/*
 * A part of kernels_load(): loads the image of the newest toolkit that the driver takes.
 *
 * GPUAES_IMAGE=MAJOR in the environment, for tests and the benchmark, leaves only images whose
 * toolkit has that major version, as 12.
 */
drv_result kernels_load_image(const struct driver *driver, struct kernels *kernels);

/*
 * Returns the oldest CUDA, as 12000, that a driver may be for to load an image of this build; 0
 * where GPUAES_IMAGE leaves none.
 */
int kernels_oldest_cuda(void);

/*
 * A part of kernels_load(): finds a kernel of the module, whose blocks may have `shared` bytes of
 * shared memory from then on. Returns DRV_NOT_FOUND, and leaves *function, where there is none.
 */
drv_result kernels_find(const struct driver *driver, const struct kernels *kernels,
                        const char *name, unsigned shared, drv_function *function);

/*
 * Device memory that a launch may use until it is done, aligned to 16. Launches
 * that follow each other on one stream may share it.
 */
struct kernels_scratch {
    drv_ptr address;
    size_t bytes;
};

/*
 * Returns the scratch memory that a chained launch of `blocks` blocks would use, at most 4 MiB and
 * some bytes: CBC in place, or with `iv_at` or `next`. Others use none.
 */
size_t kernels_chain_bytes(uint64_t blocks);

/*
 * Queues AES of any size; the arguments are copied. `iv_at` and `next` of the
 * arguments are the caller's for CBC; `chain` is filled in here, unless the caller
 * has (see arguments.h) and it is not 0.
 *
 * Without scratch (NULL, or less than 48 bytes) chained CBC is DRV_INVALID_VALUE. With less
 * than kernels_chain_bytes() says, or with more than 1 GiB of it, it becomes several launches.
 */
drv_result kernels_launch_aes(const struct driver *driver, const struct kernels *kernels,
                              enum gpuaes_op op, unsigned rounds, struct aes_arguments *arguments,
                              const struct kernels_scratch *scratch, drv_stream stream);

/* The kernel for so many blocks, and how it is launched. */
struct kernels_shape {
    drv_function function;
    unsigned grid, threads, shared;
    int is_hybrid, has_tiles; /* plain, of 256 counters: see aes_modes.cuh */
};
struct kernels_shape kernels_shape(const struct kernels *kernels, enum gpuaes_op op,
                                   unsigned rounds, const struct aes_arguments *arguments);

/* Returns 1 if a launch of so many blocks is a hybrid kernel's. */
int kernels_are_hybrid(const struct kernels *kernels, enum gpuaes_op op, uint64_t blocks);

/* Returns the blocks of threads of a launch at most. */
unsigned kernels_most_blocks(const struct kernels *kernels);

/* Fills a part of the arguments of hybrid kernels: the round keys as bit planes, see arguments.h.
 */
void kernels_fill_planes(uint32_t planes[][32], unsigned rounds, const uint32_t *round_key);

/* ---- GCM: kernels_gcm.c ---- */

/*
 * A hash as launches leave it: the sum of `count` elements, which tell H. `memory` is any that the
 * device reaches, aligned to 16, of kernels_gcm_sums_bytes() bytes; each launch adds what is in one
 * half of it to its own sums in the other one. Begins with the other members 0.
 */
struct kernels_sums {
    drv_ptr memory;
    unsigned launches, count;
};
size_t kernels_gcm_sums_bytes(const struct kernels *kernels);

/*
 * Returns the hash, and overwrites all that launches left, once they are done. `memory` is that of
 * the sums as the CPU reaches it.
 */
struct ghash_element kernels_take_sums(const struct kernels *kernels,
                                       const struct kernels_sums *sums, unsigned char *memory);

/* Returns the scratch memory that a launch of so many blocks needs. If any, it has powers of H. */
size_t kernels_gcm_scratch_bytes(const struct kernels *kernels, enum gpuaes_op op, uint64_t blocks);

/*
 * Queues GCM of any number of blocks, in a launch for each wrap of the 32-bit counter, and adds
 * their hash to *sums. The scratch memory has what kernels_gcm_scratch_bytes() says at least; with
 * less, DRV_INVALID_VALUE.
 */
drv_result kernels_launch_gcm(const struct driver *driver, const struct kernels *kernels,
                              enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                              const struct aes_arguments *arguments, struct kernels_sums *sums,
                              const struct kernels_scratch *scratch, drv_stream stream);

/* Queues the end of a text that is no whole block; the arguments are copied. */
drv_result kernels_launch_gcm_rest(const struct driver *driver, const struct kernels *kernels,
                                   struct gcm_rest_arguments *arguments, drv_stream stream);

/* Queues `levels` levels of powers of H, factors of 16 bytes, KERNELS_POWERS_BYTES a level. */
enum {
    KERNELS_POWERS_BYTES = GHASH_POWERS * GPUAES_BLOCK,
    KERNELS_GCM_SCRATCH_MOST = GHASH_LEVELS * KERNELS_POWERS_BYTES
};
drv_result kernels_launch_ghash_powers(const struct driver *driver, const struct kernels *kernels,
                                       const struct gpuaes_gcm_key *key, uint32_t levels,
                                       drv_ptr powers, drv_stream stream);

/* ---- Random numbers: kernels_random.c ---- */

/* A part of kernels_load(); `shared` is what a block may have. */
drv_result kernels_load_random(const struct driver *driver, struct kernels *kernels, int shared);

/* Queues random numbers of any count but 0; the arguments are copied. */
drv_result kernels_launch_random(const struct driver *driver, const struct kernels *kernels,
                                 struct random_arguments *arguments, drv_stream stream);

/* Launches a kernel; all launches go through this. */
drv_result kernels_launch(const struct driver *driver, drv_function function, unsigned grid,
                          unsigned threads, unsigned shared, drv_stream stream, void *arguments);

/* ---- Base64 ---- */

/* Queue Base64; the first sets `reciprocal` in its arguments. */
drv_result kernels_launch_base64_encode(const struct driver *driver, const struct kernels *kernels,
                                        struct base64_encode_arguments *arguments,
                                        drv_stream stream);
drv_result kernels_launch_base64_decode(const struct driver *driver, const struct kernels *kernels,
                                        struct base64_decode_arguments *arguments,
                                        drv_stream stream);

#endif
