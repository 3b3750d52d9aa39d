/*
 * Kernels of tests, launched by themselves.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/bare_kernels.h"

#include <string.h>

#include "test/support/library.h"

static drv_module module;
static drv_stream stream;

void *bare_kernels_open(struct kernels *kernels, size_t bytes)
{
    drv_device device;
    drv_ptr memory;
    become_an_application(0);
    if (application.device_get(&device, 0) != DRV_SUCCESS ||
        kernels_load(&application, device, kernels) != DRV_SUCCESS ||
        application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS ||
        application.mem_alloc(&memory, bytes) != DRV_SUCCESS)
        return NULL;
    module = kernels->module;
    return memset((void *)(uintptr_t)memory, 0, bytes);
}

int bare_kernel_run(const char *name, unsigned grid, unsigned threads, unsigned shared,
                    void *const pointers[BARE_POINTERS])
{
    drv_function function;
    void *parameters[BARE_POINTERS];
    for (int i = 0; i < BARE_POINTERS; i++)
        parameters[i] = (void *)&pointers[i];
    int ok = application.module_get_function(&function, module, name) == DRV_SUCCESS &&
             application.func_set_attribute(function, DRV_FUNC_MAX_DYNAMIC_SHARED, (int)shared) ==
                 DRV_SUCCESS &&
             application.launch_kernel(function, grid, 1, 1, threads, 1, 1, shared, stream,
                                       parameters, NULL) == DRV_SUCCESS;
    while (emulator_under_way() != 0)
        usleep(1000);
    return ok && application.stream_query(stream) == DRV_SUCCESS;
}
