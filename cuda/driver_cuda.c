/*
 * The real driver: libcuda.so.1, opened when it is first needed.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "driver.h"

static const char library[] = "libcuda.so.1";

static const char *resolve(void *handle, struct driver *table)
{
    static char missing[96];
    const struct {
        const char *symbol;
        void *member;
    } rows[] = {
#define ROW(member, symbol, parameters) {#symbol, (void *)&table->member},
        DRIVER_FUNCTIONS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        /* POSIX: a function pointer fits the void pointer that dlsym() returns. */
        void **member = rows[i].member;
        *member = dlsym(handle, rows[i].symbol);
        if (*member == NULL) {
            (void)snprintf(missing, sizeof missing, "%s has no %s: the driver is too old", library,
                           rows[i].symbol);
            return missing;
        }
    }
    return NULL;
}

const char *driver_open(struct driver *table)
{
    /* Cheaper than loading the driver to learn that there is no device. */
    if (access("/dev/nvidiactl", F_OK) != 0 && access("/dev/dxg", F_OK) != 0)
        return "no NVIDIA device files (/dev/nvidiactl)";
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return "libcuda.so.1 cannot be loaded: is the NVIDIA driver installed?";
    return resolve(handle, table);
}

int driver_in_use(void)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == NULL)
        return 0;
    drv_result (*get_state)(drv_device, unsigned *, int *);
    *(void **)&get_state = dlsym(handle, "cuDevicePrimaryCtxGetState");
    unsigned flags;
    int active = 0;
    /* Fails where the application has not initialised CUDA, and behind the last device. */
    for (int ordinal = 0; get_state != NULL && !active; ordinal++)
        if (get_state(ordinal, &flags, &active) != DRV_SUCCESS)
            break;
    (void)dlclose(handle);
    return active != 0;
}
