/*
 * Devices, primary contexts, and each thread's stack of current contexts.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/emulator/emulator.h"
#include "test/emulator/hooks.h"

#include <cstdio>
#include <cstdlib>
#include <time.h>

namespace emulator
{

/* Plain data, so that it can still be used while a process exits. */
enum { MAX_CONTEXT_STACK = 64 };
static __thread drv_context context_stack[MAX_CONTEXT_STACK];
static __thread unsigned context_depth;

drv_context current_context()
{
    if (context_depth == 0)
        return nullptr;
    drv_context top = context_stack[context_depth - 1];
    return state().contexts.count(top) ? top : nullptr;
}

bool is_lost(drv_context context)
{
    if (context)
        return state().devices[context->device].lost;
    bool all = true;
    for (const device_state &each : state().devices)
        all = all && each.lost;
    return all;
}

size_t objects_of(drv_context context)
{
    size_t objects = context->streams.size() + context->events.size() + context->modules.size() +
                     context->pools.size();
    for (const regions *kind : {&state().device_memory, &state().host_memory})
        for (const auto &each : kind->all)
            objects += each.second.context == context;
    return objects;
}

static bool device_exists(drv_device device)
{
    return device >= 0 && static_cast<unsigned>(device) < state().options.devices;
}

void take_time(state_lock &lock, unsigned ms)
{
    lock.unlock();
    struct timespec pause = {ms / 1000, static_cast<long>(ms % 1000) * 1000000};
    nanosleep(&pause, nullptr);
    lock.lock();
}

/* ---- Devices ------------------------------------------------------------------- */

drv_result init(unsigned flags)
{
    state_lock lock(state().mutex);
    take_time(lock, state().options.init_ms);
    if (flags)
        return DRV_INVALID_VALUE;
    if (state().options.devices == 0)
        return DRV_NO_DEVICE;
    if (state().options.ends_at_exit && !state().initialized)
        (void)atexit(end_driver);
    state().initialized = true;
    return DRV_SUCCESS;
}

drv_result driver_get_version(int *version)
{
    if (!version)
        return DRV_INVALID_VALUE;
    state_lock lock(state().mutex);
    *version = static_cast<int>(state().options.driver);
    return DRV_SUCCESS;
}

drv_result device_get_count(int *count)
{
    state_lock lock(state().mutex);
    if (!count)
        return DRV_INVALID_VALUE;
    *count = static_cast<int>(state().options.devices);
    return DRV_SUCCESS;
}

drv_result device_get(drv_device *device, int ordinal)
{
    state_lock lock(state().mutex);
    if (!device)
        return DRV_INVALID_VALUE;
    if (!device_exists(ordinal))
        return DRV_INVALID_DEVICE;
    *device = ordinal;
    return DRV_SUCCESS;
}

drv_result device_get_name(char *name, int size, drv_device device)
{
    state_lock lock(state().mutex);
    if (!name || size <= 0)
        return DRV_INVALID_VALUE;
    if (!device_exists(device))
        return DRV_INVALID_DEVICE;
    snprintf(name, static_cast<size_t>(size), "Emulated GPU %d", device);
    return DRV_SUCCESS;
}

drv_result device_get_attribute(int *value, int attribute, drv_device device)
{
    state_lock lock(state().mutex);
    const options &set = state().options;
    if (!value)
        return DRV_INVALID_VALUE;
    if (!device_exists(device))
        return DRV_INVALID_DEVICE;
    unsigned found;
    switch (attribute) {
    case DRV_ATTR_MAX_THREADS_PER_BLOCK:
        found = set.threads;
        break;
    case DRV_ATTR_MULTIPROCESSOR_COUNT:
        found = set.multiprocessors;
        break;
    case DRV_ATTR_COMPUTE_MODE:
        found = set.compute_mode;
        break;
    case DRV_ATTR_MEMORY_POOLS:
        found = set.pools;
        break;
    case DRV_ATTR_CC_MAJOR:
        found = set.capability / 10;
        break;
    case DRV_ATTR_CC_MINOR:
        found = set.capability % 10;
        break;
    case DRV_ATTR_MAX_SHARED_PER_BLOCK_OPTIN:
        found = set.shared;
        break;
    default:
        return DRV_INVALID_VALUE;
    }
    *value = static_cast<int>(found);
    return DRV_SUCCESS;
}

/* ---- Primary contexts ------------------------------------------------------------ */

drv_result primary_ctx_get_state(drv_device device, unsigned *flags, int *active)
{
    state_lock lock(state().mutex);
    if (!flags || !active)
        return DRV_INVALID_VALUE;
    if (!device_exists(device))
        return DRV_INVALID_DEVICE;
    *flags = 0;
    *active = state().devices[device].primary != nullptr;
    return DRV_SUCCESS;
}

drv_result primary_ctx_retain(drv_context *context, drv_device device)
{
    state_lock lock(state().mutex);
    if (!context)
        return DRV_INVALID_VALUE;
    if (!device_exists(device))
        return DRV_INVALID_DEVICE;
    if (state().options.compute_mode == DRV_COMPUTE_MODE_PROHIBITED)
        return DRV_INVALID_DEVICE;
    device_state &own = state().devices[device];
    if (!own.primary) {
        own.primary = new CUctx_st;
        own.primary->device = device;
        state().contexts.insert(own.primary);
    }
    own.retained++;
    *context = own.primary;
    return DRV_SUCCESS;
}

static void end_primary(device_state &own, state_lock &lock)
{
    drv_context context = own.primary;
    own.primary = nullptr;
    state().left += objects_of(context);
    state().contexts.erase(context);
    end_streams(context, lock);
    free_memory_of(context);
    for (drv_event each : context->events)
        delete each;
    for (drv_module each : context->modules)
        delete each;
    for (drv_pool each : context->pools)
        delete each;
    delete context;
}

drv_result primary_ctx_release(drv_device device)
{
    state_lock lock(state().mutex);
    if (!device_exists(device))
        return DRV_INVALID_DEVICE;
    device_state &own = state().devices[device];
    if (own.retained == 0)
        return DRV_INVALID_CONTEXT;
    if (--own.retained)
        return DRV_SUCCESS;
    end_primary(own, lock);
    return DRV_SUCCESS;
}

/* ---- The current context ----------------------------------------------------------- */

drv_result ctx_push_current(drv_context context)
{
    state_lock lock(state().mutex);
    if (!state().contexts.count(context))
        return DRV_INVALID_CONTEXT;
    if (context_depth == MAX_CONTEXT_STACK)
        return DRV_OUT_OF_MEMORY;
    context_stack[context_depth++] = context;
    return DRV_SUCCESS;
}

/* It forbids nothing here; the mode is kept as each thread set it. */
drv_result thread_exchange_stream_capture_mode(int *mode)
{
    static __thread int current; /* 0: global */
    std::swap(current, *mode);
    return DRV_SUCCESS;
}

drv_result ctx_pop_current(drv_context *context)
{
    if (context_depth == 0)
        return DRV_INVALID_CONTEXT;
    context_depth--;
    if (context)
        *context = context_stack[context_depth];
    return DRV_SUCCESS;
}

} // namespace emulator

void emulator_reset(int device)
{
    using namespace emulator;
    state_lock lock(state().mutex);
    if (forked || !device_exists(device) || !state().devices[device].primary)
        return;
    state().devices[device].retained = 0;
    end_primary(state().devices[device], lock);
}
