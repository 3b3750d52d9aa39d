/*
 * Loading and launching of kernels.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "cuda/launch/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "cuda/process/statistics.h"

enum { SMALL_THREADS = 256, LARGE_THREADS = 1024, BASE64_THREADS = 256, WARP = 32 };
enum { CTR_TILE = 256 }; /* blocks a warp of the large CTR kernel takes */

/* Scratch memory: the queue, the block that one launch leaves for the next, the chain. */
enum { SCRATCH_QUEUE = 0, SCRATCH_CARRY = 48, SCRATCH_CHAIN = 64 };
#define CHAINED_BLOCKS ((uint64_t)1 << 26) /* of CBC a launch, if chained */

static const char *const op_names[GPUAES_OPS] = {
    [GPUAES_ECB_ENCRYPT] = "ecb_encrypt",
    [GPUAES_ECB_DECRYPT] = "ecb_decrypt",
    [GPUAES_CBC_DECRYPT] = "cbc_decrypt",
    [GPUAES_CTR] = "ctr",
};
static const char *const size_names[] = {
    [KERNEL_SMALL] = "small",
    [KERNEL_TWO_TABLE] = "two_table",
    [KERNEL_LARGE] = "large",
    [KERNEL_HYBRID] = "hybrid",
    [KERNEL_HYBRID_UNALIGNED] = "hybrid_unaligned",
};

static unsigned block_threads(const struct kernels *kernels, int size)
{
    return min_unsigned(size == KERNEL_SMALL ? SMALL_THREADS : LARGE_THREADS, kernels->max_threads);
}

static unsigned shared_bytes(const struct kernels *kernels, int size)
{
    switch (size) {
    case KERNEL_SMALL:
        return AES_SMALL_SHARED;
    case KERNEL_TWO_TABLE:
        return AES_TWO_TABLE_SHARED;
    case KERNEL_HYBRID:
    case KERNEL_HYBRID_UNALIGNED:
        return AES_LARGE_SHARED + block_threads(kernels, size) / WARP * AES_HYBRID_WARP_SHARED;
    default:
        return AES_LARGE_SHARED;
    }
}

/* Leaves NULL what this device cannot run, or its architecture's image does not have. */
static drv_result load_aes_kernel(const struct driver *driver, struct kernels *kernels, int op,
                                  int size, int k, int shared)
{
    unsigned bytes = shared_bytes(kernels, size);
    if (bytes > (unsigned)shared && size != KERNEL_SMALL)
        return DRV_SUCCESS;
    char name[64];
    (void)snprintf(name, sizeof name, "aes_%s_%s_%d", op_names[op], size_names[size], 10 + 2 * k);
    drv_function function;
    drv_result r = driver->module_get_function(&function, kernels->module, name);
    if (r == DRV_NOT_FOUND && size != KERNEL_SMALL)
        return DRV_SUCCESS;
    if (r != DRV_SUCCESS)
        return r;
    kernels->aes[op][size][k] = function;
    return driver->func_set_attribute(function, DRV_FUNC_MAX_DYNAMIC_SHARED, (int)bytes);
}

static drv_result load_aes(const struct driver *driver, struct kernels *kernels, int shared)
{
    for (int op = 0; op < GPUAES_OPS; op++)
        for (int size = 0; size < AES_KERNELS; size++)
            for (int k = 0; k < KEY_SIZES; k++) {
                drv_result r = load_aes_kernel(driver, kernels, op, size, k, shared);
                if (r != DRV_SUCCESS)
                    return r;
            }
    return driver->module_get_function(&kernels->cbc_chain, kernels->module, "cbc_chain");
}

static drv_result load_all(const struct driver *driver, drv_device device, struct kernels *kernels)
{
    int multiprocessors, threads, shared;
    drv_result r;
    if ((r = driver->device_get_attribute(&multiprocessors, DRV_ATTR_MULTIPROCESSOR_COUNT,
                                          device)) != DRV_SUCCESS ||
        (r = driver->device_get_attribute(&threads, DRV_ATTR_MAX_THREADS_PER_BLOCK, device)) !=
            DRV_SUCCESS ||
        (r = driver->device_get_attribute(&shared, DRV_ATTR_MAX_SHARED_PER_BLOCK_OPTIN, device)) !=
            DRV_SUCCESS)
        return r;
    kernels->multiprocessors = (unsigned)multiprocessors;
    kernels->max_threads = (unsigned)threads;
    if ((r = load_aes(driver, kernels, shared)) != DRV_SUCCESS ||
        (r = kernels_load_batch(driver, kernels, shared)) != DRV_SUCCESS ||
        (r = driver->module_get_function(&kernels->base64_encode, kernels->module,
                                         "base64_encode")) != DRV_SUCCESS)
        return r;
    return driver->module_get_function(&kernels->base64_decode, kernels->module, "base64_decode");
}

static enum kernel_size forced_size(void)
{
    const char *name = secure_getenv("GPUAES_KERNEL");
    int size = 0;
    while (name != NULL && size < KERNEL_SIZES && strcmp(name, size_names[size]) != 0)
        size++;
    return name != NULL ? (enum kernel_size)size : KERNEL_SIZES; /* KERNEL_SIZES: none of them */
}

const char *kernels_unknown_family(void)
{
    const char *name = secure_getenv("GPUAES_KERNEL");
    return forced_size() == KERNEL_SIZES ? name : NULL;
}

drv_result kernels_load(const struct driver *driver, drv_device device, struct kernels *kernels)
{
    memset(kernels, 0, sizeof *kernels);
    kernels->forced = forced_size();
    drv_result r = driver->module_load_data(&kernels->module, driver_kernels());
    if (r != DRV_SUCCESS)
        return r;
    r = load_all(driver, device, kernels);
    if (r != DRV_SUCCESS)
        (void)driver->module_unload(kernels->module);
    return r;
}

drv_result kernels_launch(const struct driver *driver, drv_function function, unsigned grid,
                          unsigned threads, unsigned shared, drv_stream stream, void *arguments)
{
    void *parameters[] = {arguments};
    statistics_add_launch();
    return driver->launch_kernel(function, grid, 1, 1, threads, 1, 1, shared, stream, parameters,
                                 NULL);
}

/* ---- AES ---------------------------------------------------------------- */

/* What the functions of one kernels_launch_aes() share. */
struct call {
    const struct driver *driver;
    const struct kernels *kernels;
    enum gpuaes_op op;
    unsigned rounds;
    struct kernels_scratch scratch; /* of 0 bytes: none */
    drv_stream stream;
};

/*
 * Measured: the large kernels pay for their tables once every thread of the
 * device has a block; for CTR, whose warps take 256 counters, later. The hybrid
 * ones need many chunks a warp, or some warps wait for the last ones: on an H200
 * they are ahead from 64 MiB on, 31 blocks a thread.
 */
static enum kernel_size choose_size(const struct kernels *kernels, enum gpuaes_op op,
                                    uint64_t blocks)
{
    uint64_t threads = (uint64_t)kernels->multiprocessors * kernels->max_threads;
    int size = KERNEL_SMALL;
    if (kernels->forced != KERNEL_SIZES)
        size = kernels->forced;
    else if (blocks >= threads * 31)
        size = KERNEL_HYBRID;
    else if (blocks >= (op == GPUAES_CTR ? threads * 6 : threads))
        size = KERNEL_LARGE;
    while (kernels->aes[op][size][0] == NULL)
        size--;
    return (enum kernel_size)size;
}

size_t kernels_scratch_bytes(const struct kernels *kernels, enum gpuaes_op op, uint64_t blocks,
                             int chained)
{
    if (op == GPUAES_CBC_DECRYPT && chained)
        return SCRATCH_CHAIN + AES_CHAIN_BYTES(min_u64(blocks, CHAINED_BLOCKS));
    return choose_size(kernels, op, blocks) == KERNEL_HYBRID ? SCRATCH_CHAIN : 0;
}

/* Round keys for bitsliced warps: see arguments.h. */
static void key_planes(uint32_t planes[32], const uint32_t round_key[4])
{
    memset(planes, 0, 32 * sizeof *planes);
    for (unsigned column = 0; column < 4; column++)
        for (unsigned bit = 0; bit < 32; bit++)
            planes[bit] |= (round_key[column] >> bit & 1) * 0xffu << (8 * column);
}

static drv_result launch_hybrid(const struct call *call, const struct aes_arguments *arguments)
{
    const struct kernels *kernels = call->kernels;
    int size = KERNEL_HYBRID;
    if (((arguments->in | arguments->out) & 15) != 0)
        size = KERNEL_HYBRID_UNALIGNED;
    struct aes_hybrid_arguments hybrid = {.aes = *arguments,
                                          .queue = call->scratch.address + SCRATCH_QUEUE};
    for (unsigned round = 0; round < call->rounds; round++)
        key_planes(hybrid.planes[round], &arguments->round_key[4 * round]);
    drv_result r =
        call->driver->memset_d8_async(hybrid.queue, 0, sizeof(struct aes_queue), call->stream);
    if (r == DRV_SUCCESS)
        r = kernels_launch(call->driver,
                           kernels->aes[call->op][size][key_size_index(key_size_of(call->rounds))],
                           kernels->multiprocessors, block_threads(kernels, size),
                           shared_bytes(kernels, size), call->stream, &hybrid);
    gpuaes_cleanse(&hybrid, sizeof hybrid);
    return r;
}

static drv_result launch_plain(const struct call *call, enum kernel_size size,
                               struct aes_arguments *arguments)
{
    const struct kernels *kernels = call->kernels;
    unsigned threads = block_threads(kernels, size), blocks_of_grid = kernels->multiprocessors;
    uint64_t workers = arguments->blocks; /* threads that find work */
    if (size == KERNEL_SMALL)
        blocks_of_grid *= 6;
    else if (call->op == GPUAES_CTR)
        workers = (arguments->blocks / CTR_TILE + 2) * WARP;
    return kernels_launch(call->driver,
                          kernels->aes[call->op][size][key_size_index(key_size_of(call->rounds))],
                          min_unsigned((workers + threads - 1) / threads, blocks_of_grid), threads,
                          shared_bytes(kernels, size), call->stream, arguments);
}

static drv_result launch_sized(const struct call *call, struct aes_arguments *arguments)
{
    enum kernel_size size = choose_size(call->kernels, call->op, arguments->blocks);
    if (size == KERNEL_HYBRID && call->scratch.bytes == 0)
        size = KERNEL_LARGE;
    return size == KERNEL_HYBRID ? launch_hybrid(call, arguments)
                                 : launch_plain(call, size, arguments);
}

/* With its chain filled before, if it has one. */
static drv_result launch_part(const struct call *call, struct aes_arguments *arguments)
{
    const struct kernels *kernels = call->kernels;
    if (arguments->chain != 0) {
        unsigned threads = block_threads(kernels, KERNEL_SMALL);
        uint64_t entries = AES_CHAIN_BYTES(arguments->blocks) / 16;
        drv_result r = kernels_launch(
            call->driver, kernels->cbc_chain,
            min_unsigned((entries + threads - 1) / threads, kernels->multiprocessors * 8), threads,
            0, call->stream, arguments);
        if (r != DRV_SUCCESS)
            return r;
    }
    return launch_sized(call, arguments);
}

/* CBC whose previous blocks come from the chain, in parts that the scratch has room for. */
static drv_result launch_chained(const struct call *call, const struct aes_arguments *whole)
{
    struct aes_arguments part = *whole;
    drv_ptr carry = call->scratch.address + SCRATCH_CARRY;
    uint64_t chunks = (call->scratch.bytes - SCRATCH_CHAIN) / GPUAES_BLOCK - 1;
    drv_result r = DRV_SUCCESS;
    part.chain = call->scratch.address + SCRATCH_CHAIN;
    for (uint64_t at = 0; at < whole->blocks && r == DRV_SUCCESS; at += part.blocks) {
        part.blocks = min_u64(whole->blocks - at, chunks * AES_CHUNK);
        part.in = whole->in + at * GPUAES_BLOCK;
        part.out = whole->out + at * GPUAES_BLOCK;
        part.iv_at = at == 0 ? whole->iv_at : carry;
        part.next = at + part.blocks == whole->blocks ? whole->next : carry;
        r = launch_part(call, &part);
    }
    gpuaes_cleanse(&part, sizeof part);
    return r;
}

drv_result kernels_launch_aes(const struct driver *driver, const struct kernels *kernels,
                              enum gpuaes_op op, unsigned rounds, struct aes_arguments *arguments,
                              const struct kernels_scratch *scratch, drv_stream stream)
{
    struct call call = {driver, kernels, op, rounds, {0, 0}, stream};
    int chained = op == GPUAES_CBC_DECRYPT && (arguments->in == arguments->out ||
                                               arguments->iv_at != 0 || arguments->next != 0);
    size_t least_bytes = SCRATCH_CHAIN + (chained ? AES_CHAIN_BYTES(1) : 0);
    if (scratch != NULL && scratch->bytes >= least_bytes)
        call.scratch = *scratch;
    if (op == GPUAES_CBC_DECRYPT && arguments->chain != 0)
        return launch_sized(&call, arguments);
    if (!chained)
        return launch_part(&call, arguments);
    return call.scratch.bytes != 0 ? launch_chained(&call, arguments) : DRV_INVALID_VALUE;
}

/* ---- Base64 ------------------------------------------------------------- */

static drv_result launch_base64(const struct driver *driver, const struct kernels *kernels,
                                drv_function function, uint64_t vectors, void *arguments,
                                drv_stream stream)
{
    unsigned threads = min_unsigned(BASE64_THREADS, kernels->max_threads);
    unsigned grid = min_unsigned(vectors / threads + 1, kernels->multiprocessors * 256);
    return kernels_launch(driver, function, grid, threads, 0, stream, arguments);
}

drv_result kernels_launch_base64_encode(const struct driver *driver, const struct kernels *kernels,
                                        struct base64_encode_arguments *arguments,
                                        drv_stream stream)
{
    arguments->reciprocal = UINT64_MAX / ((uint64_t)arguments->line_length + 1);
    return launch_base64(driver, kernels, kernels->base64_encode, arguments->characters / 16,
                         arguments, stream);
}

drv_result kernels_launch_base64_decode(const struct driver *driver, const struct kernels *kernels,
                                        struct base64_decode_arguments *arguments,
                                        drv_stream stream)
{
    return launch_base64(driver, kernels, kernels->base64_decode, arguments->quads / 4, arguments,
                         stream);
}
