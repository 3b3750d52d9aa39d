/*
 * The choice of engine.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "engine.h"

#include <openssl/async.h>
#include <stdatomic.h>
#include <stdio.h>

#include "cpu.h"
#include "engine_measure.h"
#include "errors.h"
#include "offload.h"
#include "provider.h"
#include "read_ahead_measure.h"

/*
 * The device must be expected to take at most this part of the CPU's time: what
 * the measurement does not see (other threads, caches, a busy bus) must not
 * make a program slower than it was. Less is asked where more is known.
 */
static const double margin_measured = 0.8;  /* by our measurement alone */
static const double margin_untried = 0.85;  /* the CPU's time was seen, the device's not */
static const double margin_observed = 0.93; /* both were seen */

/* A thread must be made for the call of an ASYNC job. */
static const double async_job_ns = 60000;

/* With engine=gpu and no min-bytes: less than this is not worth being strict. */
enum { STRICT_FLOOR = 16 << 10 };

/* Where the device was never found to win, it is looked at from here on. */
#define LARGEST_FLOOR ((size_t)4 << 20)

/* An update that may start the device at once where CUDA already runs. */
enum { SHARED_START_BYTES = 1 << 20 };

/* Towards start-bytes, for the whole process. */
static _Atomic uint64_t seen_bytes;

static int has_fixed_minimum(const struct settings *s)
{
    return s->min_bytes != MIN_BYTES_AUTO;
}

/* The settings decide for the device, not the measurement. */
static int is_forced(const struct settings *s)
{
    return s->engine == ENGINE_GPU || has_fixed_minimum(s);
}

/* From which length on the device wins with the best of memory; found once. */
static _Atomic size_t worth_from[ENGINE_WORKS][AES_KEY_SIZES];

static size_t find_worth(struct provider *provider, enum engine_work kind, unsigned key_bytes)
{
    _Atomic size_t *slot = &worth_from[kind][key_bytes == 0 ? 0 : key_bytes / 8 - 2];
    size_t known = atomic_load_explicit(slot, memory_order_relaxed);
    if (known != 0)
        return known;
    struct work work = {.kind = kind, .key_bytes = key_bytes, .len = MEASURE_FLOOR};
    while (work.len < LARGEST_FLOOR &&
           !(measured_gpu_ns(&work, 1) < measured_cpu_ns(provider, &work) * margin_measured))
        work.len *= 2;
    atomic_store(slot, work.len);
    return work.len;
}

size_t engine_floor(struct provider *provider, enum engine_work kind, unsigned key_bytes)
{
    const struct settings *s = &provider->settings;
    if (s->engine == ENGINE_CPU)
        return SIZE_MAX;
    enum gpuaes_state state = gpuaes_state();
    int may_come = state == GPUAES_READY || state == GPUAES_STARTING ||
                   (state == GPUAES_OFF && s->start != START_NEVER);
    if (!may_come && s->engine != ENGINE_GPU)
        return SIZE_MAX;
    if (has_fixed_minimum(s))
        return s->min_bytes;
    if (s->engine == ENGINE_GPU)
        return STRICT_FLOOR;
    return state == GPUAES_READY ? find_worth(provider, kind, key_bytes) : MEASURE_FLOOR;
}

int engine_is_forced(const struct provider *provider)
{
    return is_forced(&provider->settings);
}

unsigned engine_flags(const struct provider *provider)
{
    return is_forced(&provider->settings) ? GPUAES_WAIT : 0;
}

int engine_may_read_ahead(const struct provider *provider)
{
    return provider->settings.read_ahead_bytes != 0 && provider->settings.engine != ENGINE_CPU;
}

void engine_count(struct provider *provider, uint64_t bytes)
{
    (void)provider;
    atomic_fetch_add_explicit(&seen_bytes, bytes, memory_order_relaxed);
}

/* ---- Start -------------------------------------------------------------------------- */

static void on_ready(void *unused)
{
    (void)unused;
    measure_gpu();
    if (read_ahead_is_wanted())
        read_ahead_measure();
}

static enum gpuaes_state start(const struct provider *provider, int wait)
{
    atomic_store(&seen_bytes, 0); /* after an idle release it counts anew */
    enum gpuaes_state state =
        gpuaes_start(is_forced(&provider->settings) ? NULL : on_ready, NULL, wait);
    if (provider->settings.log == LOG_DEBUG && state == GPUAES_FAILED)
        (void)fprintf(stderr, "gpuaes: debug no device: %s\n", gpuaes_reason());
    return state;
}

void engine_context_created(struct provider *provider)
{
    if (provider->settings.start == START_EAGER && provider->settings.engine != ENGINE_CPU &&
        gpuaes_state() == GPUAES_OFF)
        (void)start(provider, 0);
}

/* The state after starting the device, if the settings ask for it now. */
static enum gpuaes_state start_if_wanted(const struct provider *provider, size_t len)
{
    const struct settings *s = &provider->settings;
    enum gpuaes_state state = gpuaes_state();
    if (state == GPUAES_READY || state == GPUAES_FAILED || s->start == START_NEVER)
        return state;
    if (is_forced(s))
        return start(provider, 1);
    if (state == GPUAES_STARTING)
        return state;
    if (len >= SHARED_START_BYTES && ASYNC_get_current_job() == NULL &&
        gpuaes_application_uses_cuda())
        return start(provider, 1);
    if (atomic_load_explicit(&seen_bytes, memory_order_relaxed) >= s->start_bytes)
        return start(provider, 0);
    return state;
}

int engine_require(struct provider *provider)
{
    const struct settings *s = &provider->settings;
    if (s->engine == ENGINE_CPU) {
        error_raise(provider, ERROR_NO_DEVICE, "engine=cpu, but device-memory needs one");
        return 0;
    }
    enum gpuaes_state state = gpuaes_state();
    if (state != GPUAES_READY && s->start != START_NEVER)
        state = start(provider, 1);
    if (state == GPUAES_READY)
        return 1;
    const char *reason = gpuaes_reason();
    error_raise(provider, ERROR_NO_DEVICE, "device-memory needs one, but %s",
                reason[0] != '\0' ? reason : "start=never forbids to start it");
    return 0;
}

void engine_explain_failure(const struct provider *provider, enum gpuaes_status status)
{
    const char *reason = gpuaes_reason();
    if (provider->settings.log == LOG_DEBUG)
        (void)fprintf(stderr, "gpuaes: debug %s%s%s\n", gpuaes_status_text(status),
                      reason[0] != '\0' ? ": " : "", reason);
}

/* ---- Choice --------------------------------------------------------------------------- */

static void explain(const struct provider *provider, const struct work *work, double gpu,
                    double cpu, int chosen)
{
    static const char *const names[ENGINE_WORKS] = {
        [WORK_ECB_ENCRYPT] = "ECB encrypt",     [WORK_ECB_DECRYPT] = "ECB decrypt",
        [WORK_CBC_DECRYPT] = "CBC decrypt",     [WORK_CTR] = "CTR",
        [WORK_BASE64_ENCODE] = "Base64 encode", [WORK_BASE64_DECODE] = "Base64 decode"};
    if (provider->settings.log == LOG_DEBUG)
        (void)fprintf(stderr, "gpuaes: debug %s of %zu %s bytes: GPU %.0f us, CPU %.0f us: %s\n",
                      names[work->kind], work->len, work->pageable ? "pageable" : "pinned",
                      gpu / 1e3, cpu / 1e3, chosen ? "GPU" : "CPU");
}

/*
 * Asking the driver for the kind of memory costs half a microsecond where its
 * data has left the caches, so what was pageable last time counts as pageable.
 * That is right at any time, if not always the fastest.
 */
static _Thread_local struct {
    const void *in, *out;
    size_t len;
} known_pageable;

static int is_known_pageable(const struct work *work)
{
    return work->in == known_pageable.in && work->out == known_pageable.out &&
           work->len <= known_pageable.len;
}

static enum engine_choice find_memory(struct work *work)
{
    struct offload_places places = {
        .in = work->in, .out = work->out, .in_bytes = work->len, .out_bytes = work->len};
    work->pageable = 1;
    if (is_known_pageable(work) || !offload_locate(&places))
        return CHOICE_GPU;
    if (places.in_kind >= GPUAES_DEVICE || places.out_kind >= GPUAES_DEVICE)
        return CHOICE_GPU_ONLY;
    work->pageable = places.in_kind != GPUAES_PINNED || places.out_kind != GPUAES_PINNED;
    if (places.in_kind == GPUAES_PAGEABLE && places.out_kind == GPUAES_PAGEABLE) {
        known_pageable.in = work->in;
        known_pageable.out = work->out;
        known_pageable.len = work->len;
    }
    return CHOICE_GPU;
}

int engine_finds_device_memory(const struct work *work)
{
    struct work looked_at = *work;
    return gpuaes_state() == GPUAES_READY && find_memory(&looked_at) == CHOICE_GPU_ONLY;
}

int engine_observes(const struct work *work)
{
    return work->len >= OBSERVED_FROM && work->key_bytes != 0;
}

void engine_observe(const struct work *work, int on_gpu, double ns)
{
    if (!on_gpu || work->pageable)
        observe_ns(work, on_gpu, ns);
}

/* Large work in pageable memory: the CPU goes first, so that its time is known. */
static int observation_favours_gpu(const struct provider *provider, const struct work *work)
{
    double cpu = observed_ns(work, 0), gpu = observed_ns(work, 1);
    double margin = gpu > 0 ? margin_observed : margin_untried;
    if (gpu <= 0)
        gpu = measured_gpu_ns(work, 0);
    int favours = cpu > 0 && gpu < cpu * margin;
    if (cpu > 0 && observed_ns(work, 1) > 0 && observation_is_due(work))
        favours = !favours;
    explain(provider, work, gpu, cpu, favours);
    return favours;
}

static enum engine_choice choose_by_measure(struct provider *provider, struct work *work)
{
    enum engine_choice choice = find_memory(work);
    if (choice != CHOICE_GPU)
        return choice;
    if (work->pageable && engine_observes(work))
        return observation_favours_gpu(provider, work) ? CHOICE_GPU : CHOICE_CPU;
    double cpu = measured_cpu_ns(provider, work);
    double gpu = measured_gpu_ns(work, !work->pageable) +
                 (ASYNC_get_current_job() != NULL ? async_job_ns : 0);
    int favours = gpu < cpu * margin_measured;
    explain(provider, work, gpu, cpu, favours);
    return favours ? CHOICE_GPU : CHOICE_CPU;
}

int engine_considers(struct provider *provider, const struct work *work)
{
    const struct settings *s = &provider->settings;
    if (s->engine == ENGINE_CPU || work->len < engine_floor(provider, work->kind, work->key_bytes))
        return 0;
    return start_if_wanted(provider, work->len) == GPUAES_READY || s->engine == ENGINE_GPU;
}

enum engine_choice engine_choose(struct provider *provider, struct work *work)
{
    const struct settings *s = &provider->settings;
    work->pageable = 0;
    if (!engine_considers(provider, work))
        return CHOICE_CPU;
    if (gpuaes_state() == GPUAES_READY)
        return is_forced(s) ? find_memory(work) : choose_by_measure(provider, work);
    if (s->engine != ENGINE_GPU)
        return CHOICE_CPU;
    const char *reason = gpuaes_reason();
    error_raise(provider, ERROR_NO_DEVICE, "engine=gpu, but %s",
                reason[0] != '\0' ? reason : "start=never forbids to start it");
    return CHOICE_FAIL;
}
