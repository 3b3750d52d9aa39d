/*
 * What of NVIDIA's management library, libnvidia-ml.so.1, is called, as its nvml.h has
 * it: a build needs neither. All functions return 0 for success.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_NVML_H
#define GPUAES_BENCH_NVML_H

enum { NVML_SUCCESS = 0, NVML_NOT_SUPPORTED = 3, NVML_NOT_FOUND = 6 };

/* nvmlFieldValue_t, and the field of the power of this moment, in milliwatts. */
enum { NVML_POWER_INSTANT = 186 };
struct nvml_field {
    unsigned field, scope;
    long long timestamp, latency_us;
    int value_type, result;
    union {
        double real;
        unsigned number;
        unsigned long long large;
    } value;
};

/*
 * F(member, symbol, parameter list). The power that nvmlDeviceGetPowerUsage tells is a mean
 * over a second on newer cards.
 */
#define NVML_FUNCTIONS(F)                                                                          \
    F(init, nvmlInit_v2, (void))                                                                   \
    F(by_bus_id, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus_id, void **device))            \
    F(by_index, nvmlDeviceGetHandleByIndex_v2, (unsigned index, void **device))                    \
    F(field_values, nvmlDeviceGetFieldValues,                                                      \
      (void *device, int count, struct nvml_field *fields))                                        \
    F(power_usage, nvmlDeviceGetPowerUsage, (void *device, unsigned *milliwatts))

#endif
