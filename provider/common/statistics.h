/*
 * Bytes done by each side, for the whole process: provider parameters and the
 * summary line.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_STATISTICS_H
#define GPUAES_PROVIDER_COMMON_STATISTICS_H

#include <openssl/core.h>
#include <stdint.h>

/* Why the CPU did input bytes. */
enum cpu_reason {
    CPU_SMALL,     /* too small for a device, or below min-bytes */
    CPU_UNSUITED,  /* CBC encryption, TLS records, overlapping buffers and the like */
    CPU_NO_DEVICE, /* none was ready, or is allowed */
    CPU_FASTER,    /* as was expected */
    CPU_FAILED,    /* the device was chosen, and was busy or failed */
    CPU_REASONS
};

/* Adds input bytes that the CPU did. One atomic addition: not for hot paths. */
void statistics_add_cpu_bytes(enum cpu_reason reason, uint64_t bytes);

/* The figures as provider parameters, e.g. "gpu-bytes"; all are uint64_t. */
extern const OSSL_PARAM statistics_gettable[];
int statistics_get(OSSL_PARAM params[]);

/*
 * Once the provider is loaded: a forked child counts from 0. With `summary` the line is
 * printed when this process ends, and when a process forked from it ends that has done
 * something.
 */
void statistics_begin(int summary);

#endif
