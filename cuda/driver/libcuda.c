/*
 * The real driver: libcuda.so.1, opened when it is first needed, where it was when we were loaded.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "cuda/driver/driver.h"
#include "cuda/driver/library_path.h"

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

static int is_device(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISCHR(file.st_mode);
}

/* The application's, if it has loaded one: two would not share a context. */
static void *open_library(const char **why)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle != NULL)
        return handle;
    const char *path = driver_path(why);
    if (path == NULL)
        return NULL;
    *why = "libcuda.so.1 cannot be loaded: is the NVIDIA driver installed?";
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

const char *driver_open(struct driver *table)
{
    const char *why;
    /* Cheaper than loading the driver to learn that there is no device. */
    if (!is_device("/dev/nvidiactl") && !is_device("/dev/dxg"))
        return "no NVIDIA device files (/dev/nvidiactl)";
    void *handle = open_library(&why);
    if (handle == NULL)
        return why;
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
