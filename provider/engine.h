/*
 * The choice of engine: when the device is started, and which updates it gets.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_ENGINE_H
#define GPUAES_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "../cuda/gpuaes.h"

struct provider;

/* The kinds of work that are chosen for separately. */
enum engine_work {
    WORK_ECB_ENCRYPT = GPUAES_ECB_ENCRYPT,
    WORK_ECB_DECRYPT = GPUAES_ECB_DECRYPT,
    WORK_CBC_DECRYPT = GPUAES_CBC_DECRYPT,
    WORK_CTR = GPUAES_CTR,
    WORK_BASE64_ENCODE,
    WORK_BASE64_DECODE,
    ENGINE_WORKS
};

/* One piece of work. The pointers are never dereferenced here. */
struct work {
    enum engine_work kind;
    unsigned key_bytes; /* 0 for Base64 */
    const void *in, *out;
    size_t len;   /* of the input */
    int pageable; /* set by engine_choose() where it chose the GPU: a part is pageable memory */
};

enum engine_choice {
    CHOICE_CPU,
    CHOICE_GPU,
    CHOICE_GPU_ONLY, /* device memory: the CPU cannot read it */
    CHOICE_FAIL      /* engine=gpu and no device; the error is raised */
};

/*
 * Chooses for one piece of work. Starts the device where the settings ask for
 * it, and waits for the start only where they say so.
 */
enum engine_choice engine_choose(struct provider *provider, struct work *work);

/*
 * The cheap half of that question, by kind and length alone: 0 if the answer
 * will be the CPU whatever the pointers are. It starts the device, too.
 */
int engine_considers(struct provider *provider, const struct work *work);

/* Part of `work` is device memory, also of a device that is not in use. */
int engine_finds_device_memory(const struct work *work);

/*
 * A device for what cannot do without (`device-memory`): started if need be,
 * and waited for. 0 where there is none; the error is raised.
 */
int engine_require(struct provider *provider);

/* Tells how long large work took, on the engine that was chosen for it. */
void engine_observe(const struct work *work, int on_gpu, double ns);

/* Large work, which is worth observing. */
int engine_observes(const struct work *work);

/* Told of every new context, for start=eager. */
void engine_context_created(struct provider *provider);

/*
 * Work of fewer bytes need not be offered to engine_choose() at all: the
 * smallest length that may ever be worth it. SIZE_MAX where no work ever will
 * be, in this process and with these settings.
 */
size_t engine_floor(struct provider *provider, enum engine_work kind, unsigned key_bytes);

/* The settings decide for the device, not the measurement: engine=gpu, or a fixed min-bytes. */
int engine_is_forced(const struct provider *provider);

/* The settings allow keystream to be made ahead, and there is a device or one may come. */
int engine_may_read_ahead(const struct provider *provider);

/* Counts work that the CPU did towards `start-bytes`. */
void engine_count(struct provider *provider, uint64_t bytes);

/* With log=debug, says why the device did not do what it was chosen for. */
void engine_explain_failure(const struct provider *provider, enum gpuaes_status status);

/* GPUAES_WAIT where the settings insist on the device, else 0. */
unsigned engine_flags(const struct provider *provider);

#endif
