/*
 * Random numbers in device memory: the keystream of AES-256-CTR, and what is made of it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <string.h>

#include "cuda/aes/aes.h"
#include "cuda/memory/memory_kind.h"
#include "cuda/process/struct_bytes.h"
#include "cuda/runtime/runtime.h"

enum { KEY_BYTES = 32, KINDS = GPUAES_RANDOM_NORMAL_BFLOAT16 + 1 };

/* Kinds are numbered as kernels have them. */
_Static_assert((int)GPUAES_RANDOM_BYTES == RANDOM_BYTES &&
                   (int)GPUAES_RANDOM_UNIFORM32 == RANDOM_UNIFORM32 &&
                   (int)GPUAES_RANDOM_UNIFORM64 == RANDOM_UNIFORM64 &&
                   (int)GPUAES_RANDOM_NORMAL32 == RANDOM_NORMAL32 &&
                   (int)GPUAES_RANDOM_NORMAL64 == RANDOM_NORMAL64 &&
                   (int)GPUAES_RANDOM_RANGE == RANDOM_RANGE &&
                   (int)GPUAES_RANDOM_BERNOULLI == RANDOM_BERNOULLI &&
                   (int)GPUAES_RANDOM_UNIFORM_FLOAT16 == RANDOM_UNIFORM_FLOAT16 &&
                   (int)GPUAES_RANDOM_UNIFORM_BFLOAT16 == RANDOM_UNIFORM_BFLOAT16 &&
                   (int)GPUAES_RANDOM_NORMAL_FLOAT16 == RANDOM_NORMAL_FLOAT16 &&
                   (int)GPUAES_RANDOM_NORMAL_BFLOAT16 == RANDOM_NORMAL_BFLOAT16,
               "the same numbers");

/* ---- Arguments ---------------------------------------------------------------------- */

static int takes_element_bytes(enum gpuaes_random_kind kind)
{
    return kind == GPUAES_RANDOM_RANGE || kind == GPUAES_RANDOM_BERNOULLI;
}

static int is_half(enum gpuaes_random_kind kind)
{
    return kind >= GPUAES_RANDOM_UNIFORM_FLOAT16 && kind <= GPUAES_RANDOM_NORMAL_BFLOAT16;
}

/* A word of 64 bits would make some integers of so many visibly likelier than others. */
static int is_wide_range(const struct gpuaes_random *random)
{
    return random->kind == GPUAES_RANDOM_RANGE && random->range > (uint64_t)1 << 32;
}

/* Bytes of keystream that an element is made of. */
static unsigned stream_bytes(const struct gpuaes_random *random)
{
    if (is_wide_range(random))
        return 16;
    if (is_half(random->kind))
        return 4;
    switch (random->kind) {
    case GPUAES_RANDOM_BYTES:
        return 1;
    case GPUAES_RANDOM_UNIFORM32:
    case GPUAES_RANDOM_NORMAL32:
        return 4;
    default:
        return 8;
    }
}

static size_t element_bytes(const struct gpuaes_random *random)
{
    if (is_half(random->kind))
        return 2;
    return takes_element_bytes(random->kind) ? random->element_bytes : stream_bytes(random);
}

static int is_bad_number(const struct gpuaes_random *random)
{
    if (is_half(random->kind))
        return !isfinite((float)random->scale) || !isfinite((float)random->shift);
    switch (random->kind) {
    case GPUAES_RANDOM_BYTES:
    case GPUAES_RANDOM_RANGE:
        return 0;
    case GPUAES_RANDOM_BERNOULLI: /* not a number is refused, too */
        return !(random->probability >= 0 && random->probability <= 1);
    case GPUAES_RANDOM_UNIFORM32:
    case GPUAES_RANDOM_NORMAL32:
        return !isfinite((float)random->scale) || !isfinite((float)random->shift);
    default:
        return !isfinite(random->scale) || !isfinite(random->shift);
    }
}

static int is_bad(const struct gpuaes_random *random, const void *out)
{
    if ((unsigned)random->kind >= KINDS || random->key == NULL || is_bad_number(random))
        return 1;
    size_t bytes = element_bytes(random), width = stream_bytes(random);
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return 1;
    return out == NULL || (uintptr_t)out % bytes != 0 || random->count > SIZE_MAX / bytes ||
           random->first > UINT64_MAX / width || random->count > UINT64_MAX / width - random->first;
}

static struct random_arguments arguments_of(const struct gpuaes_random *random, drv_ptr key,
                                            drv_ptr out)
{
    const unsigned in_block = GPUAES_BLOCK / stream_bytes(random);
    struct random_arguments a = {.out = out,
                                 .key = key,
                                 .first = random->first % in_block,
                                 .end = random->first % in_block + random->count,
                                 .kind = is_wide_range(random) ? RANDOM_WIDE_RANGE
                                                               : (uint32_t)random->kind,
                                 .element_bytes = (uint32_t)element_bytes(random),
                                 .range = random->range,
                                 .low = (uint64_t)random->low,
                                 .success = random->success,
                                 .scale64 = random->scale,
                                 .shift64 = random->shift,
                                 .scale32 = (float)random->scale,
                                 .shift32 = (float)random->shift};
    unsigned char counter[GPUAES_BLOCK];
    a.blocks = a.end / in_block + (a.end % in_block != 0);
    if (random->kind == GPUAES_RANDOM_BERNOULLI)
        a.threshold = (uint64_t)(random->probability * 0x1p63);
    memcpy(counter, random->counter, sizeof counter);
    counter_add(counter, COUNTER_CTR, random->first / in_block);
    memcpy(a.counter, counter, sizeof counter);
    return a;
}

/* ---- Queueing ------------------------------------------------------------------------- */

static enum gpuaes_status queue(struct device *device, const struct gpuaes_random *random,
                                const void *out, drv_stream stream)
{
    struct memory key_memory, out_memory;
    int capturing = DRV_NOT_CAPTURED;
    enum gpuaes_status status = memory_reach(device, random->key, KEY_BYTES, &key_memory);
    if (status == GPUAES_OK)
        status = memory_reach(device, out, random->count * element_bytes(random), &out_memory);
    if (status != GPUAES_OK)
        return status;
    struct random_arguments arguments =
        arguments_of(random, key_memory.address, out_memory.address);
    /* Fails for the legacy stream while one that it waits for is captured. */
    drv_result r = device->driver->stream_is_capturing(stream, &capturing);
    if (r == DRV_SUCCESS && capturing != DRV_NOT_CAPTURED)
        runtime_keep_for_graphs();
    if (r == DRV_SUCCESS)
        r = kernels_launch_random(device->driver, &device->kernels, &arguments, stream);
    if (r == DRV_SUCCESS)
        return GPUAES_OK;
    return device_fault_midway(device, "queueing random numbers", r);
}

enum gpuaes_status gpuaes_random_queue(const struct gpuaes_random *random, void *out, void *stream,
                                       int device)
{
    struct runtime_guard guard;
    struct device *its;
    struct gpuaes_random own;
    if (!struct_take(&own, sizeof own, random))
        return GPUAES_BAD_ARGUMENT;
    random = &own;
    if (random->count == 0 && (unsigned)random->kind < KINDS)
        return GPUAES_OK;
    if (is_bad(random, out))
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = runtime_enter_stream(&guard, stream, device, &its);
    if (status != GPUAES_OK)
        return status;
    status = queue(its, random, out, stream);
    runtime_leave_device(&guard, its);
    return status;
}
