/*
 * Keys in device memory, for random numbers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_RANDOM_DEVICE_KEYS_H
#define GPUAES_CUDA_RANDOM_DEVICE_KEYS_H

#include "cuda/runtime/runtime.h"

/*
 * The memory has schedules, of pairs first those of the first keys, then of the second ones; and
 * what all were made of, wiped.
 */
struct gpuaes_device_keys {
    struct device *device;
    struct block memory;
    uint32_t count; /* of keys or of pairs */
    unsigned rounds;
    int decrypts, pairs;
    struct gpuaes_key only; /* where there is one, and the CPU has it: `rounds` is not 0 */
};

static inline drv_ptr device_keys_schedules(const struct gpuaes_device_keys *keys)
{
    return keys->memory.address;
}

/* How many keys of AES there are. */
static inline uint32_t device_keys_single(const struct gpuaes_device_keys *keys)
{
    return keys->pairs ? 2 * keys->count : keys->count;
}

/*
 * Enters the keys' device for work on `stream`, unless it is lost. Returns BAD_ARGUMENT for a
 * stream of another context.
 */
enum gpuaes_status device_keys_enter(const struct gpuaes_device_keys *keys, drv_stream stream,
                                     struct runtime_guard *guard);

#endif
