/*
 * Modules, functions and launches.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/emulator/emulator.h"

#include <cstring>
#include <time.h>

/* There is one module, as two toolkits would compile it; its images only have to be told apart. */
static const driver_image images[] = {{"gpuaes emulated kernels of CUDA 13.5", 13050},
                                      {"gpuaes emulated kernels of CUDA 12.9", 12090}};

int driver_find_image(unsigned n, struct driver_image *image)
{
    if (n >= sizeof images / sizeof images[0])
        return 0;
    *image = images[n];
    return 1;
}

namespace emulator
{

/* The toolkit of an image, or 0. */
static int toolkit_of(const void *image)
{
    for (const struct driver_image &each : images) {
        const char *text = static_cast<const char *>(each.data);
        if (strcmp(static_cast<const char *>(image), text) == 0)
            return each.toolkit;
    }
    return 0;
}

drv_result module_load_data(drv_module *module, const void *image)
{
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!module || !image)
        return DRV_INVALID_VALUE;
    const int toolkit = toolkit_of(image);
    if (toolkit == 0 || toolkit / 1000 > static_cast<int>(state().options.driver / 1000))
        return DRV_INVALID_IMAGE;
    state().loading++;
    take_time(lock, state().options.load_ms);
    state().loading--;
    *module = new CUmod_st{context, {}};
    context->modules.insert(*module);
    return DRV_SUCCESS;
}

drv_result module_unload(drv_module module)
{
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!context->modules.erase(module))
        return DRV_INVALID_HANDLE;
    delete module;
    return DRV_SUCCESS;
}

drv_result module_get_function(drv_function *function, drv_module module, const char *name)
{
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!function || !name)
        return DRV_INVALID_VALUE;
    if (!context->modules.count(module))
        return DRV_INVALID_HANDLE;
    const kernel *found = find_kernel(name);
    if (!found)
        return DRV_NOT_FOUND;
    std::unique_ptr<CUfunc_st> &handle = module->functions[name];
    if (!handle)
        handle.reset(new CUfunc_st{module, found, STATIC_SHARED_LIMIT});
    *function = handle.get();
    return DRV_SUCCESS;
}

static bool function_exists(drv_context context, drv_function function)
{
    for (drv_module module : context->modules)
        for (const auto &each : module->functions)
            if (each.second.get() == function)
                return true;
    return false;
}

drv_result func_set_attribute(drv_function function, int attribute, int value)
{
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!function_exists(context, function))
        return DRV_INVALID_HANDLE;
    if (attribute != DRV_FUNC_MAX_DYNAMIC_SHARED || value < 0 ||
        static_cast<unsigned>(value) > state().options.shared)
        return DRV_INVALID_VALUE;
    function->dynamic_shared_limit = static_cast<unsigned>(value);
    return DRV_SUCCESS;
}

/* Block and grid sizes within the limits of the device. */
static bool valid_sizes(const launch &asked)
{
    const uint64_t threads = uint64_t{asked.block.x} * asked.block.y * asked.block.z;
    return asked.grid.x > 0 && asked.grid.x <= 0x7fffffff && asked.grid.y > 0 &&
           asked.grid.y <= 65535 && asked.grid.z > 0 && asked.grid.z <= 65535 && threads > 0 &&
           asked.block.x <= 1024 && asked.block.y <= 1024 && asked.block.z <= 64 &&
           threads <= state().options.threads;
}

/* What hang=N counts: all launches, or those on the device of fault-device=N. */
static bool hangs(const CUctx_st &context)
{
    device_state &own = state().devices[context.device];
    const unsigned device = state().options.fault_device;
    const unsigned total = ++state().total_launches, here = ++own.launches;
    if (device == MAX_DEVICES)
        return total == state().options.hang;
    return static_cast<unsigned>(context.device) == device && here == state().options.hang;
}

static void enqueue_launch(drv_stream stream, const launch &work)
{
    state().launches[work.name]++;
    CUstream_st::operation run;
    run.hangs = hangs(*stream->context);
    const long ns = static_cast<long>(state().options.kernel_us) * 1000;
    const unsigned idle_kernels = state().options.idle_kernels;
    const bool idle =
        idle_kernels > 1 || (idle_kernels == 1 && work.name != std::string("ghash_powers"));
    if (idle && ns == 0 && !run.hangs)
        return; /* nothing to wait for: not even for the stream's thread to wake */
    run.work = [work, ns, idle] {
        struct timespec pause = {ns / 1000000000, ns % 1000000000};
        if (ns)
            nanosleep(&pause, nullptr);
        if (!idle)
            run_grid(work);
    };
    enqueue(stream, std::move(run));
}

drv_result launch_kernel(drv_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z,
                         unsigned shared_bytes, drv_stream stream, void **parameters, void **extra)
{
    state_lock lock(state().mutex);
    drv_result error = find_stream(stream, &stream);
    if (error)
        return error;
    if (!function_exists(stream->context, function))
        return DRV_INVALID_HANDLE;
    launch work{function->kernel->name,
                {grid_x, grid_y, grid_z},
                {block_x, block_y, block_z},
                shared_bytes,
                {}};
    if (!valid_sizes(work) || shared_bytes > function->dynamic_shared_limit || extra ||
        (!parameters && function->kernel->parameter_count))
        return DRV_INVALID_VALUE;
    work.thread = function->kernel->bind(parameters);
    enqueue_launch(stream, work);
    return DRV_SUCCESS;
}

} // namespace emulator
