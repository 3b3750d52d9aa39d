/*
 * When the device is started.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "provider/common/big_stack.h"
#include "provider/common/errors.h"
#include "provider/common/provider.h"
#include "provider/policy/calibration.h"
#include "provider/policy/policy.h"

/* An update that starts the device where the application already runs CUDA on it. */
enum { SHARED_START_BYTES = 1 << 20 };

/*
 * Whether the application uses CUDA is asked of the dynamic linker, which looks for a file
 * under a lock: 16 threads that asked with each update of 1 MiB lost three quarters of their
 * rate. So one thread asks once in a while, when there was a first answer.
 */
static const int64_t ASK_NS = 20000000;

atomic_int policy_cuda_seen;

/* Towards start-bytes, for the whole process. */
static _Atomic uint64_t seen_bytes;

static void (*_Atomic when_ready)(void);

void policy_count(uint64_t bytes)
{
    if (bytes != 0 && gpuaes_state() == GPUAES_OFF)
        atomic_fetch_add_explicit(&seen_bytes, bytes, memory_order_relaxed);
}

void policy_when_ready(void (*function)(void))
{
    atomic_store_explicit(&when_ready, function, memory_order_relaxed);
}

static void on_ready(void *unused)
{
    (void)unused;
    measure_gpu();
    void (*function)(void) = atomic_load(&when_ready);
    if (function != NULL)
        function();
}

void policy_explain_absence(const struct provider *provider)
{
    static atomic_flag explained = ATOMIC_FLAG_INIT;
    if (provider->settings.log == LOG_DEBUG && !atomic_flag_test_and_set(&explained))
        (void)fprintf(stderr, "gpuaes: debug no device: %s\n", gpuaes_reason());
}

const char *policy_absence(const struct provider *provider)
{
    const char *reason = gpuaes_reason();
    if (reason[0] != '\0')
        return reason;
    return provider->settings.start == START_NEVER ? "start=never forbids to start it"
                                                   : "the idle one is still being released";
}

static enum gpuaes_state start(const struct provider *provider, int wait)
{
    atomic_store(&seen_bytes, 0); /* after an idle release it counts anew */
    enum gpuaes_state state =
        gpuaes_start(policy_is_forced(provider) ? NULL : on_ready, NULL, wait);
    if (state == GPUAES_FAILED)
        policy_explain_absence(provider);
    return state;
}

void policy_context_created(struct provider *provider)
{
    if (provider->settings.start == START_EAGER && provider->settings.policy != POLICY_CPU &&
        gpuaes_state() == GPUAES_OFF)
        (void)start(provider, 0);
}

void policy_note_cuda(void)
{
    atomic_store_explicit(&policy_cuda_seen, 1, memory_order_relaxed);
}

/* The application runs CUDA on a device that the process may use. */
static int application_is_there(void)
{
    struct gpuaes_settings settings = {.struct_bytes = sizeof settings};
    static _Atomic int64_t ask_at; /* 0: there was no answer yet */
    int64_t now = clock_ns(CLOCK_MONOTONIC_COARSE), due = atomic_load(&ask_at);
    if (due != 0 && (now < due || !atomic_compare_exchange_strong(&ask_at, &due, now + ASK_NS)))
        return 0;
    uint64_t used = gpuaes_application_devices();
    if (used != 0)
        policy_note_cuda();
    if (due == 0)
        atomic_store(&ask_at, now + ASK_NS);
    return used != 0 && gpuaes_get_settings(&settings) && (used & settings.devices) != 0;
}

void policy_start(const struct provider *provider)
{
    (void)start(provider, 0);
}

enum gpuaes_state policy_start_for(const struct provider *provider, size_t len)
{
    const struct settings *s = &provider->settings;
    enum gpuaes_state state = gpuaes_state();
    if (state == GPUAES_READY || state == GPUAES_FAILED || s->start == START_NEVER)
        return state;
    if (policy_is_forced(provider))
        return start(provider, 1);
    if (state == GPUAES_STARTING)
        return state;
    if (len >= SHARED_START_BYTES && !big_stack_needs_thread() && application_is_there())
        return start(provider, 0);
    if (state == GPUAES_OFF && s->policy != POLICY_CPU &&
        atomic_load_explicit(&seen_bytes, memory_order_relaxed) >= s->start_bytes)
        return start(provider, 0);
    return state;
}

int policy_require(struct provider *provider)
{
    const struct settings *s = &provider->settings;
    if (s->policy == POLICY_CPU) {
        error_raise(provider, ERROR_NO_DEVICE, "policy=cpu, but device memory needs one");
        return 0;
    }
    enum gpuaes_state state = gpuaes_state();
    if (state != GPUAES_READY && s->start != START_NEVER)
        state = start(provider, 1);
    if (state == GPUAES_READY)
        return 1;
    error_raise(provider, ERROR_NO_DEVICE, "device memory needs one, but %s",
                policy_absence(provider));
    return 0;
}
