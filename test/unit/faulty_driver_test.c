/*
 * The driver that fails on demand (faulty_driver.cc), before the emulator: it forwards,
 * counts, fails once, loses the device and seems to hang. And what libgpuaes, with its table
 * of a libcuda.so.1, learns of an application that has loaded that: no start.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "cuda/driver/driver.h"
#include "cuda/gpuaes.h"
#include "test/support/tap.h"

static struct driver driver;
static void (*configure)(const char *);
static unsigned (*calls)(const char *);

static int open_it(void)
{
    const char *top = getenv("TOP_BUILDDIR"), *modules = getenv("OPENSSL_MODULES");
    char path[4096];
    snprintf(path, sizeof path, "%s/gpuaes.so", modules ? modules : ".");
    setenv("GPUAES_TEST_DRIVER", path, 1);
    snprintf(path, sizeof path, "%s/test/faulty/libcuda.so.1", top ? top : ".");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
    if (library == NULL)
        return 0;
#define FIND(member, name, parameters)                                                             \
    if ((symbol = dlsym(library, #name)) == NULL)                                                  \
        return 0;                                                                                  \
    memcpy(&driver.member, &symbol, sizeof symbol);
    DRIVER_FUNCTIONS(FIND)
#undef FIND
    symbol = dlsym(library, "emulator_configure");
    memcpy(&configure, &symbol, sizeof symbol);
    symbol = dlsym(library, "emulator_calls");
    memcpy(&calls, &symbol, sizeof symbol);
    return configure != NULL && calls != NULL;
}

/* ---- An application with CUDA of its own -------------------------------------------------- */

static uint64_t (*devices)(void);
static enum gpuaes_memory (*memory_kind)(const void *, size_t);

static int open_library(void)
{
    const char *top = getenv("TOP_BUILDDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/cuda/.libs/libgpuaes.so.1", top ? top : ".");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol;
    if (library == NULL)
        return 0;
    symbol = dlsym(library, "gpuaes_application_devices");
    memcpy(&devices, &symbol, sizeof symbol);
    symbol = dlsym(library, "gpuaes_memory_kind");
    memcpy(&memory_kind, &symbol, sizeof symbol);
    return devices != NULL && memory_kind != NULL;
}

static void test_application(drv_ptr memory, size_t bytes)
{
    static unsigned char pageable[64];
    void *pinned = NULL;
    int here = driver.mem_host_alloc(&pinned, sizeof pageable, DRV_HOST_ALLOC_PORTABLE);
    errno = ERANGE;
    const void *p = (const void *)(uintptr_t)memory;
    tap_ok(devices() == 1, "the library sees whose context the application has");
    tap_ok(memory_kind(p, bytes) == GPUAES_FOREIGN && memory_kind(p, bytes + 1) == GPUAES_FOREIGN,
           "device memory is known without a start");
    tap_ok(here == DRV_SUCCESS && memory_kind(pinned, sizeof pageable) == GPUAES_PINNED &&
               memory_kind(pageable, sizeof pageable) == GPUAES_PAGEABLE,
           "so is pinned memory, and pageable");
    tap_ok(errno == ERANGE, "errno stays");
    configure("fault=cuPointerGetAttributes:1");
    enum gpuaes_memory first = memory_kind(p, bytes), second = memory_kind(p, bytes);
    tap_ok(first == GPUAES_PAGEABLE && second == GPUAES_FOREIGN,
           "what the driver cannot say is pageable");
    (void)driver.mem_free_host(pinned);
}

int main(void)
{
    drv_context context;
    drv_ptr p = 0;
    int count = 0;
    tap_ok(open_library() && devices() == 0 && memory_kind(&p, sizeof p) == GPUAES_PAGEABLE,
           "without a driver, the library knows of no application");
    if (!tap_ok(open_it(), "it has all functions, and the hooks"))
        return tap_done();
    tap_ok(devices() == 0, "nor where none has initialised it");
    tap_ok(driver.init(0) == DRV_SUCCESS && driver.device_get_count(&count) == DRV_SUCCESS &&
               count == 1 && driver.primary_ctx_retain(&context, 0) == DRV_SUCCESS &&
               driver.ctx_push_current(context) == DRV_SUCCESS,
           "it forwards");
    configure("fault=cuMemAlloc_v2:2:2");
    drv_result results[3];
    for (int i = 0; i < 3; i++)
        results[i] = driver.mem_alloc(&p, 100);
    tap_ok(!results[0] && results[1] == DRV_OUT_OF_MEMORY && !results[2] && calls("mem_alloc") == 3,
           "one call fails, and calls are counted");
    test_application(p, 100);
    configure("lost=device_get_count:2");
    for (int i = 0; i < 2; i++)
        results[i] = driver.device_get_count(&count);
    tap_ok(!results[0] && results[1] == DRV_LAUNCH_FAILED &&
               driver.mem_free(p) == DRV_LAUNCH_FAILED,
           "the device is lost");
    configure("hang=1");
    (void)driver.launch_kernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    tap_ok(driver.stream_query(DRV_STREAM_LEGACY) == DRV_NOT_READY, "a launch does not end");
    configure("");
    tap_ok(driver.stream_query(DRV_STREAM_LEGACY) == DRV_SUCCESS && driver.mem_free(p) == 0,
           "it works again");
    return tap_done();
}
