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

enum { KEY_BYTES = 32, KINDS = GPUAES_RANDOM_RANGE_FLOAT64 + 1 };

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
                   (int)GPUAES_RANDOM_NORMAL_BFLOAT16 == RANDOM_NORMAL_BFLOAT16 &&
                   (int)GPUAES_RANDOM_RANGE_FLOAT16 == RANDOM_RANGE_FLOAT16 &&
                   (int)GPUAES_RANDOM_RANGE_BFLOAT16 == RANDOM_RANGE_BFLOAT16 &&
                   (int)GPUAES_RANDOM_RANGE_FLOAT32 == RANDOM_RANGE_FLOAT32 &&
                   (int)GPUAES_RANDOM_RANGE_FLOAT64 == RANDOM_RANGE_FLOAT64,
               "the same numbers");

/* ---- Arguments ---------------------------------------------------------------------- */

/* What is scaled: nothing, floats, or doubles. */
enum scaled { NONE, FLOATS, DOUBLES };

static const struct {
    unsigned stream_bytes;  /* of keystream that an element is made of */
    unsigned element_bytes; /* 0: the caller's */
    enum scaled scaled;
    int is_range;
    unsigned digits; /* RANGE: the type has all integers up to 2^digits; 0: is of integers */
} kinds[KINDS] = {
    [GPUAES_RANDOM_BYTES] = {1, 1, NONE, 0, 0},
    [GPUAES_RANDOM_UNIFORM32] = {4, 4, FLOATS, 0, 0},
    [GPUAES_RANDOM_UNIFORM64] = {8, 8, DOUBLES, 0, 0},
    [GPUAES_RANDOM_NORMAL32] = {4, 4, FLOATS, 0, 0},
    [GPUAES_RANDOM_NORMAL64] = {8, 8, DOUBLES, 0, 0},
    [GPUAES_RANDOM_RANGE] = {8, 0, NONE, 1, 0},
    [GPUAES_RANDOM_BERNOULLI] = {8, 0, NONE, 0, 0},
    [GPUAES_RANDOM_UNIFORM_FLOAT16] = {4, 2, FLOATS, 0, 0},
    [GPUAES_RANDOM_UNIFORM_BFLOAT16] = {4, 2, FLOATS, 0, 0},
    [GPUAES_RANDOM_NORMAL_FLOAT16] = {4, 2, FLOATS, 0, 0},
    [GPUAES_RANDOM_NORMAL_BFLOAT16] = {4, 2, FLOATS, 0, 0},
    [GPUAES_RANDOM_RANGE_FLOAT16] = {8, 2, NONE, 1, 11},
    [GPUAES_RANDOM_RANGE_BFLOAT16] = {8, 2, NONE, 1, 8},
    [GPUAES_RANDOM_RANGE_FLOAT32] = {8, 4, NONE, 1, 24},
    [GPUAES_RANDOM_RANGE_FLOAT64] = {8, 8, NONE, 1, 53},
};

/* A word of 64 bits would make some integers of so many visibly likelier than others. */
static unsigned stream_bytes(const struct gpuaes_random *random)
{
    int is_wide = kinds[random->kind].is_range && random->range > RANDOM_WORD_RANGE;
    return is_wide ? 16 : kinds[random->kind].stream_bytes;
}

static size_t element_bytes(const struct gpuaes_random *random)
{
    size_t bytes = kinds[random->kind].element_bytes;
    return bytes != 0 ? bytes : random->element_bytes;
}

/* Whether an integer of the range is none of the floating-point type. */
static int is_bad_range(const struct gpuaes_random *random)
{
    unsigned digits = kinds[random->kind].digits;
    if (digits == 0)
        return 0;
    int64_t most = (int64_t)1 << digits;
    return random->low < -most || random->low > most || random->range == 0 ||
           random->range - 1 > (uint64_t)(most - random->low);
}

static int is_bad_number(const struct gpuaes_random *random)
{
    switch (kinds[random->kind].scaled) {
    case FLOATS:
        return !isfinite((float)random->scale) || !isfinite((float)random->shift);
    case DOUBLES:
        return !isfinite(random->scale) || !isfinite(random->shift);
    default:
        break;
    }
    if (random->kind == GPUAES_RANDOM_BERNOULLI) /* not a number is refused, too */
        return !(random->probability >= 0 && random->probability <= 1);
    return is_bad_range(random);
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
                                 .kind = (uint32_t)random->kind,
                                 .element_bytes = (uint32_t)element_bytes(random),
                                 .range = kinds[random->kind].is_range ? random->range : 0,
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
    if (r != DRV_SUCCESS) /* nothing is queued yet */
        return device_fault(device, "queueing random numbers", r);
    if (capturing != DRV_NOT_CAPTURED)
        runtime_keep_for_graphs();
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
