/*
 * The real driver: libcuda.so.1, opened when it is first needed.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver.h"

static const char library[] = "libcuda.so.1";

/* NULL, or the symbol that is missing. */
static const char *resolve(void *handle, struct driver *table)
{
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
        if (*member == NULL)
            return rows[i].symbol;
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
    const char *missing = resolve(handle, table);
    if (missing == NULL)
        return NULL;
    static char reason[96];
    (void)snprintf(reason, sizeof reason, "%s has no %s: the driver is too old", library, missing);
    return reason;
}

/* What is found stays loaded: calls may be under way when the application closes it. */
const struct driver *driver_of_application(void)
{
    static _Atomic(struct driver *) found;
    struct driver *table = atomic_load_explicit(&found, memory_order_acquire), *other = NULL;
    if (table != NULL)
        return table;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == NULL)
        return NULL;
    table = malloc(sizeof *table);
    if (table != NULL && resolve(handle, table) == NULL &&
        atomic_compare_exchange_strong(&found, &other, table))
        return table;
    free(table);
    (void)dlclose(handle);
    return other;
}
