/*
 * Keys in device memory, for messages that are described there.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_DEVICE_BATCH_DEVICE_KEYS_H
#define GPUAES_CUDA_DEVICE_BATCH_DEVICE_KEYS_H

#include "cuda/runtime/runtime.h"

/* The memory has schedules, of GCM powers of the hash keys, and what both were made of, wiped. */
struct gpuaes_device_keys {
    struct device *device;
    struct block memory;
    uint32_t count;
    unsigned rounds;
    int decrypts, hashes;
    struct gpuaes_key only; /* where there is one, and the CPU has it: `rounds` is not 0 */
};

static inline drv_ptr device_keys_schedules(const struct gpuaes_device_keys *keys)
{
    return keys->memory.address;
}

static inline drv_ptr device_keys_powers(const struct gpuaes_device_keys *keys)
{
    return device_keys_schedules(keys) + (drv_ptr)keys->count * AES_BATCH_KEY_WORDS * 4;
}

/*
 * Enters the keys' device for work on `stream`, unless it is lost. Returns BAD_ARGUMENT for a
 * stream of another context.
 */
enum gpuaes_status device_keys_enter(const struct gpuaes_device_keys *keys, drv_stream stream,
                                     struct runtime_guard *guard);

#endif
