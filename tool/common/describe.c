/*
 * Devices and sizes in words.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/describe.h"

#include <stdio.h>

void describe_device(const struct gpuaes_device_info *device, char text[DESCRIBE_TEXT])
{
    (void)snprintf(text, DESCRIBE_TEXT,
                   "%s, compute capability %d.%d, %d multiprocessors, driver for CUDA %d.%d",
                   device->name, device->compute_major, device->compute_minor,
                   device->multiprocessors, device->driver_version / 1000,
                   device->driver_version % 1000 / 10);
}

void describe_bytes(size_t bytes, char text[DESCRIBE_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    unsigned unit = 0;
    for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    (void)snprintf(text, DESCRIBE_TEXT, "%zu %s", bytes, units[unit]);
}
