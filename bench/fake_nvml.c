/*
 * A management library of GPUs in place of libnvidia-ml.so.1: test/bench/bench.t runs the benchmark
 * with it. The first device takes 120 W at this moment; where FAKE_NVML is "old", it can
 * only tell the 130 W of the last second, and where it is "none", there is nothing.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bench/nvml.h"

#define DECLARATION(member, symbol, parameters)                                                    \
    int symbol parameters __attribute__((visibility("default")));
NVML_FUNCTIONS(DECLARATION)

static int initialised;

static int is_kind(const char *name)
{
    const char *kind = getenv("FAKE_NVML");
    return kind != NULL && strcmp(kind, name) == 0;
}

int nvmlInit_v2(void)
{
    initialised = !is_kind("none");
    return initialised ? NVML_SUCCESS : NVML_NOT_FOUND;
}

/* The emulator's devices have no place on a bus. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device)
{
    *device = NULL;
    return strlen(bus_id) > 0 ? NVML_NOT_FOUND : NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = &initialised;
    return index == 0 && initialised ? NVML_SUCCESS : NVML_NOT_FOUND;
}

int nvmlDeviceGetFieldValues(void *device, int count, struct nvml_field *fields)
{
    if (device != &initialised || count != 1 || is_kind("old"))
        return NVML_NOT_SUPPORTED;
    fields->result = fields->field == NVML_POWER_INSTANT ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
    fields->value.number = 120000;
    return NVML_SUCCESS;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 130000;
    return device == &initialised ? NVML_SUCCESS : NVML_NOT_FOUND;
}
