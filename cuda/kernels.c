/*
 * Loading and launching of kernels.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "kernels.h"

#include <stdio.h>
#include <string.h>

#include "statistics.h"

enum { SMALL_THREADS = 256, LARGE_THREADS = 1024, BASE64_THREADS = 512, WARP = 32 };
enum { CTR_TILE = 256 }; /* blocks a warp of the large CTR kernel takes */

static const char *const op_names[GPUAES_OPS] = {
    [GPUAES_ECB_ENCRYPT] = "ecb_encrypt",
    [GPUAES_ECB_DECRYPT] = "ecb_decrypt",
    [GPUAES_CBC_DECRYPT] = "cbc_decrypt",
    [GPUAES_CTR] = "ctr",
};
static const char *const size_names[KERNEL_SIZES] = {"small", "large"};

static unsigned smaller(uint64_t a, unsigned b)
{
    return a < b ? (unsigned)a : b;
}

static unsigned shared_bytes(enum gpuaes_op op, enum kernel_size size)
{
    unsigned bytes = size == KERNEL_LARGE ? AES_LARGE_SHARED : AES_SMALL_SHARED;
    if (op == GPUAES_ECB_DECRYPT || op == GPUAES_CBC_DECRYPT)
        bytes += AES_INVERSE_SBOX_SHARED;
    return bytes;
}

static drv_result load_aes(const struct driver *driver, struct kernels *kernels)
{
    for (int op = 0; op < GPUAES_OPS; op++)
        for (int size = 0; size < KERNEL_SIZES; size++)
            for (int k = 0; k < KEY_SIZES; k++) {
                if (size == KERNEL_LARGE && !kernels->has_large)
                    continue;
                char name[64];
                drv_function *function = &kernels->aes[op][size][k];
                (void)snprintf(name, sizeof name, "aes_%s_%s_%d", op_names[op], size_names[size],
                               10 + 2 * k);
                drv_result r = driver->module_get_function(function, kernels->module, name);
                if (r != DRV_SUCCESS)
                    return r;
                unsigned bytes = shared_bytes((enum gpuaes_op)op, (enum kernel_size)size);
                r = driver->func_set_attribute(*function, DRV_FUNC_MAX_DYNAMIC_SHARED, (int)bytes);
                if (r != DRV_SUCCESS)
                    return r;
            }
    return DRV_SUCCESS;
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
    kernels->has_large = shared >= AES_LARGE_SHARED + AES_INVERSE_SBOX_SHARED;
    if ((r = load_aes(driver, kernels)) != DRV_SUCCESS ||
        (r = driver->module_get_function(&kernels->base64_encode, kernels->module,
                                         "base64_encode")) != DRV_SUCCESS)
        return r;
    return driver->module_get_function(&kernels->base64_decode, kernels->module, "base64_decode");
}

drv_result kernels_load(const struct driver *driver, drv_device device, struct kernels *kernels)
{
    memset(kernels, 0, sizeof *kernels);
    drv_result r = driver->module_load_data(&kernels->module, driver_kernels());
    if (r != DRV_SUCCESS)
        return r;
    r = load_all(driver, device, kernels);
    if (r != DRV_SUCCESS)
        (void)driver->module_unload(kernels->module);
    return r;
}

static drv_result launch(const struct driver *driver, drv_function function, unsigned grid,
                         unsigned threads, unsigned shared, drv_stream stream, void *arguments)
{
    void *parameters[] = {arguments};
    statistics_add_launch();
    return driver->launch_kernel(function, grid, 1, 1, threads, 1, 1, shared, stream, parameters,
                                 NULL);
}

/*
 * The large kernels spend 5 us on their tables. They pay once every thread of
 * half the device has a block; below, more and smaller blocks are quicker.
 */
static enum kernel_size choose_size(const struct kernels *kernels, uint64_t blocks)
{
    uint64_t half = (uint64_t)kernels->multiprocessors * kernels->max_threads / 2;
    return kernels->has_large && blocks >= half ? KERNEL_LARGE : KERNEL_SMALL;
}

drv_result kernels_launch_aes(const struct driver *driver, const struct kernels *kernels,
                              enum gpuaes_op op, unsigned rounds, struct aes_arguments *arguments,
                              drv_stream stream)
{
    enum kernel_size size = choose_size(kernels, arguments->blocks);
    drv_function function = kernels->aes[op][size][(rounds - 10) / 2];
    unsigned threads, grid;
    if (size == KERNEL_SMALL) {
        threads = smaller(SMALL_THREADS, kernels->max_threads);
        grid = smaller((arguments->blocks + threads - 1) / threads, kernels->multiprocessors * 6);
    } else {
        threads = smaller(LARGE_THREADS, kernels->max_threads);
        uint64_t workers = arguments->blocks; /* threads that find work */
        if (op == GPUAES_CTR)
            workers = (arguments->blocks / CTR_TILE + 2) * WARP;
        grid = smaller((workers + threads - 1) / threads, kernels->multiprocessors);
    }
    return launch(driver, function, grid, threads, shared_bytes(op, size), stream, arguments);
}

static drv_result launch_base64(const struct driver *driver, const struct kernels *kernels,
                                drv_function function, uint64_t vectors, void *arguments,
                                drv_stream stream)
{
    unsigned threads = smaller(BASE64_THREADS, kernels->max_threads);
    unsigned grid = smaller(vectors / threads + 1, kernels->multiprocessors * 64);
    return launch(driver, function, grid, threads, 0, stream, arguments);
}

drv_result kernels_launch_base64_encode(const struct driver *driver, const struct kernels *kernels,
                                        struct base64_encode_arguments *arguments,
                                        drv_stream stream)
{
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
