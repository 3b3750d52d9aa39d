/*
 * The driver that fails on demand (faulty_driver.cc), before the emulator: it forwards,
 * counts, fails once, loses the device and seems to hang.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "../cuda/driver.h"
#include "tap.h"

static struct driver driver;
static void (*configure)(const char *);
static unsigned (*calls)(const char *);

static int open_it(void)
{
    const char *top = getenv("TOP_BUILDDIR"), *modules = getenv("OPENSSL_MODULES");
    char path[4096];
    snprintf(path, sizeof path, "%s/gpuaes.so", modules ? modules : ".");
    setenv("GPUAES_DRIVER", path, 1);
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

int main(void)
{
    drv_context context;
    drv_ptr p = 0;
    int count = 0;
    if (!tap_ok(open_it(), "it has all functions, and the hooks"))
        return tap_done();
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
