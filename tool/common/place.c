/*
 * See place.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/common/place.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fills in the folder of the command; returns 1 if the library lies there. */
static int find(char folder[PATH_MAX])
{
    char library[PATH_MAX + sizeof "/libgpuaes.so.1"];
    if (realpath("/proc/self/exe", folder) == NULL)
        return 0;
    *strrchr(folder, '/') = '\0';
    (void)snprintf(library, sizeof library, "%s/libgpuaes.so.1", folder);
    return access(library, F_OK) == 0;
}

int place_is_wheel(void)
{
    char folder[PATH_MAX];
    return find(folder);
}

const char *place_modules(void)
{
    static char folder[PATH_MAX];
    return find(folder) ? folder : MODULES_FOLDER;
}
