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
#include "cuda/launch/kernels_message.h"
#include "cuda/process/statistics.h"

enum {
    SMALL_THREADS = 256,
    SMALL_BLOCKS = 6,
    LARGE_THREADS = 1024,
    BASE64_THREADS = 256,
    WARP = 32
};

/* Scratch memory: the block that one launch leaves for the next, the chain. */
enum { SCRATCH_CARRY = 0, SCRATCH_CHAIN = GPUAES_BLOCK };
#define CHAINED_BLOCKS ((uint64_t)1 << 26) /* of CBC a launch, if chained */

static const char *const size_names[] = {
    [KERNEL_SMALL] = "small",
    [KERNEL_TWO_TABLE] = "two_table",
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
    default:
        return AES_LARGE_SHARED + block_threads(kernels, size) / WARP * AES_HYBRID_WARP_SHARED +
               AES_HYBRID_QUEUE_SHARED;
    }
}

drv_result kernels_find(const struct driver *driver, const struct kernels *kernels,
                        const char *name, unsigned shared, drv_function *function)
{
    drv_function found;
    drv_result r = driver->module_get_function(&found, kernels->module, name);
    if (r != DRV_SUCCESS)
        return r;
    *function = found;
    return driver->func_set_attribute(found, DRV_FUNC_MAX_DYNAMIC_SHARED, (int)shared);
}

/* Leaves NULL what this device cannot run, or its architecture's image does not have. */
static drv_result load_aes_kernel(const struct driver *driver, struct kernels *kernels, int op,
                                  int size, int k, int shared)
{
    unsigned bytes = shared_bytes(kernels, size);
    if (bytes > (unsigned)shared && size != KERNEL_SMALL)
        return DRV_SUCCESS;
    char name[64];
    (void)snprintf(name, sizeof name, "aes_%s_%s_%d", gpuaes_modes[op]->name, size_names[size],
                   10 + 2 * k);
    drv_result r = kernels_find(driver, kernels, name, bytes, &kernels->aes[op][size][k]);
    return r == DRV_NOT_FOUND && size != KERNEL_SMALL ? DRV_SUCCESS : r;
}

static drv_result load_aes(const struct driver *driver, struct kernels *kernels, int shared)
{
    for (int op = 0; op < GPUAES_ALL_OPS; op++)
        for (int size = 0; size < AES_KERNELS && !gpuaes_modes[op]->serial; size++)
            for (int k = 0; k < KEY_SIZES; k++) {
                drv_result r = load_aes_kernel(driver, kernels, op, size, k, shared);
                if (r != DRV_SUCCESS)
                    return r;
            }
    return DRV_SUCCESS;
}

/* Those that every image has, and that take no more shared memory than any block may have. */
static drv_result load_required(const struct driver *driver, struct kernels *kernels)
{
    const struct {
        const char *name;
        drv_function *to;
    } required[] = {
        {"cbc_chain", &kernels->cbc_chain},         {"ghash_powers", &kernels->ghash_powers},
        {"gcm_rest", &kernels->gcm_rest},           {"message_plan", &kernels->message_plan},
        {"message_chain", &kernels->message_chain}, {"base64_encode", &kernels->base64_encode},
        {"base64_decode", &kernels->base64_decode}};
    drv_result r = DRV_SUCCESS;
    for (size_t i = 0; i < sizeof required / sizeof required[0] && r == DRV_SUCCESS; i++)
        r = driver->module_get_function(required[i].to, kernels->module, required[i].name);
    return r;
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
        (r = kernels_load_message(driver, kernels, shared)) != DRV_SUCCESS ||
        (r = kernels_load_random(driver, kernels, shared)) != DRV_SUCCESS)
        return r;
    return load_required(driver, kernels);
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
    drv_result r = kernels_load_image(driver, kernels);
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
    statistics_count(STATISTIC_LAUNCHES, 1);
    return driver->launch_kernel(function, grid, 1, 1, threads, 1, 1, shared, stream, parameters,
                                 NULL);
}

/* ---- AES ---------------------------------------------------------------- */

/*
 * Measured: the two-table kernels pay for their tables once every thread of the device has some
 * blocks (see struct gpuaes_mode). The hybrid ones are ahead, by little in ECB and much in CTR,
 * where warps of the two-table ones would take a second chunk: on an H200 from 17 MiB on.
 */
static enum kernel_size choose_size(const struct kernels *kernels, enum gpuaes_op op,
                                    uint64_t blocks)
{
    uint64_t threads = (uint64_t)kernels->multiprocessors * kernels->max_threads;
    int size = KERNEL_SMALL;
    if (kernels->forced != KERNEL_SIZES)
        size = kernels->forced;
    else if (blocks > threads * (AES_CHUNK / WARP))
        size = KERNEL_HYBRID;
    else if (blocks >= threads * gpuaes_modes[op]->tables_from)
        size = KERNEL_TWO_TABLE;
    while (kernels->aes[op][size][0] == NULL)
        size--;
    return (enum kernel_size)size;
}

int kernels_are_hybrid(const struct kernels *kernels, enum gpuaes_op op, uint64_t blocks)
{
    return choose_size(kernels, op, blocks) == KERNEL_HYBRID;
}

size_t kernels_chain_bytes(uint64_t blocks)
{
    return SCRATCH_CHAIN + AES_CHAIN_BYTES(min_u64(blocks, CHAINED_BLOCKS));
}

unsigned kernels_most_blocks(const struct kernels *kernels)
{
    return kernels->multiprocessors * SMALL_BLOCKS;
}

static unsigned grid_of(const struct kernels *kernels, const struct gpuaes_mode *mode, int size,
                        uint64_t blocks)
{
    unsigned threads = block_threads(kernels, size), most = kernels->multiprocessors;
    uint64_t workers = blocks; /* threads that find work */
    if (size >= KERNEL_HYBRID)
        return most;
    if (size == KERNEL_SMALL)
        most *= SMALL_BLOCKS;
    else if (mode->warp_blocks != 0)
        workers = (blocks / mode->warp_blocks + 2) * WARP;
    return min_unsigned((workers + threads - 1) / threads, most);
}

/* A mode whose previous blocks come from the chain, in parts that the scratch has room for. */
static drv_result launch_chained(const struct driver *driver, const struct kernels *kernels,
                                 enum gpuaes_op op, unsigned rounds,
                                 const struct aes_arguments *whole,
                                 const struct kernels_scratch *scratch, drv_stream stream)
{
    struct aes_arguments part = *whole;
    drv_ptr carry = scratch->address + SCRATCH_CARRY;
    uint64_t chunks = (scratch->bytes - SCRATCH_CHAIN) / GPUAES_BLOCK - 1;
    unsigned threads = block_threads(kernels, KERNEL_SMALL);
    drv_result r = DRV_SUCCESS;
    part.chain = scratch->address + SCRATCH_CHAIN;
    for (uint64_t at = 0; at < whole->blocks && r == DRV_SUCCESS; at += part.blocks) {
        part.blocks = min_u64(whole->blocks - at, chunks * AES_CHUNK);
        part.in = whole->in + at * GPUAES_BLOCK;
        part.out = whole->out + at * GPUAES_BLOCK;
        part.iv_at = at == 0 ? whole->iv_at : carry;
        part.next = at + part.blocks == whole->blocks ? whole->next : carry;
        uint64_t entries = AES_CHAIN_BYTES(part.blocks) / GPUAES_BLOCK;
        r = kernels_launch(
            driver, kernels->cbc_chain,
            min_unsigned((entries + threads - 1) / threads, kernels->multiprocessors * 8), threads,
            0, stream, &part);
        if (r == DRV_SUCCESS)
            r = kernels_launch_aes(driver, kernels, op, rounds, &part, scratch, stream);
    }
    gpuaes_cleanse(&part, sizeof part);
    return r;
}

struct kernels_shape kernels_shape(const struct kernels *kernels, enum gpuaes_op op,
                                   unsigned rounds, const struct aes_arguments *arguments)
{
    int size = choose_size(kernels, op, arguments->blocks);
    if (size == KERNEL_HYBRID && ((arguments->in | arguments->out) & 15) != 0)
        size = KERNEL_HYBRID_UNALIGNED;
    return (struct kernels_shape){
        .function = kernels->aes[op][size][key_size_index(key_size_of(rounds))],
        .grid = grid_of(kernels, gpuaes_modes[op], size, arguments->blocks),
        .threads = block_threads(kernels, size),
        .shared = shared_bytes(kernels, size),
        .is_hybrid = size >= KERNEL_HYBRID,
        .has_tiles = size == KERNEL_TWO_TABLE};
}

static void fill_planes_of_round(uint32_t planes[32], const uint32_t round_key[4])
{
    memset(planes, 0, 32 * sizeof *planes);
    for (unsigned column = 0; column < 4; column++)
        for (unsigned bit = 0; bit < 32; bit++)
            planes[bit] |= (round_key[column] >> bit & 1) * 0xffu << (8 * column);
}

void kernels_fill_planes(uint32_t planes[][32], unsigned rounds, const uint32_t *round_key)
{
    for (unsigned round = 0; round < rounds; round++)
        fill_planes_of_round(planes[round], &round_key[4 * round]);
}

drv_result kernels_launch_aes(const struct driver *driver, const struct kernels *kernels,
                              enum gpuaes_op op, unsigned rounds, struct aes_arguments *arguments,
                              const struct kernels_scratch *scratch, drv_stream stream)
{
    const struct gpuaes_mode *mode = gpuaes_modes[op];
    size_t scratch_bytes = scratch != NULL ? scratch->bytes : 0;
    if (mode->chained && arguments->chain == 0 &&
        (arguments->in == arguments->out || arguments->iv_at != 0 || arguments->next != 0))
        return scratch_bytes < SCRATCH_CHAIN + AES_CHAIN_BYTES(1)
                   ? DRV_INVALID_VALUE
                   : launch_chained(driver, kernels, op, rounds, arguments, scratch, stream);
    const struct kernels_shape shape = kernels_shape(kernels, op, rounds, arguments);
    if (!shape.is_hybrid)
        return kernels_launch(driver, shape.function, shape.grid, shape.threads, shape.shared,
                              stream, arguments);
    struct aes_hybrid_arguments hybrid = {.aes = *arguments};
    kernels_fill_planes(hybrid.planes, rounds, arguments->round_key);
    drv_result r = kernels_launch(driver, shape.function, shape.grid, shape.threads, shape.shared,
                                  stream, &hybrid);
    gpuaes_cleanse(&hybrid, sizeof hybrid);
    return r;
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
