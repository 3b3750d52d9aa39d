/*
 * The power that a device takes, sampled while something runs: by the management
 * library of its driver, or, where that is absent or does not tell, by nvidia-smi.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_POWER_H
#define GPUAES_BENCH_POWER_H

#include <pthread.h>
#include <stdatomic.h>

struct power {
    double (*sample)(const struct power *power); /* watts; 0: it does not tell */
    void *device;                                /* nvmlDevice_t */
    char bus_id[32];                             /* PCI's name of the device, or "0" */
    pthread_t thread;
    atomic_int stop;
    unsigned samples;
    double least, most, sum; /* watts, over the samples */
};

/* A device by CUDA's ordinal, after card_begin(). NULL, or why its power cannot be told. */
const char *power_open(struct power *power, int ordinal);

/* Forgets what was sampled, and samples in a thread of its own until power_end(). */
void power_begin(struct power *power);

/* NULL, or why there are no samples. */
const char *power_end(struct power *power);

#endif
