/*
 * The cost of a piece of work on the CPU and on the device, from samples on this machine.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_POLICY_CALIBRATION_H
#define GPUAES_PROVIDER_POLICY_CALIBRATION_H

#include <stddef.h>

#include "provider/policy/work.h"

struct provider;

/* GPU work of fewer bytes is not sampled: it loses to any CPU. */
enum { MEASURE_FLOOR = 64 << 10 };

/*
 * Samples the device on every kind of work and of memory: some
 * milliseconds, in the device's start thread. It calls nothing in libcrypto,
 * which may be going down at that moment.
 */
void measure_gpu(void);

/*
 * Expected nanoseconds of work on the device; HUGE_VAL where it was not
 * sampled or did not work.
 */
double measured_gpu_ns(const struct work *work);

/*
 * Returns the length below which work need not be asked about, since the samples of both sides say
 * that the CPU is faster in any memory: MEASURE_FLOOR where either was not sampled yet.
 */
size_t measured_floor(enum policy_work work, unsigned key_bytes);

/*
 * Expected nanoseconds on the CPU with data in its caches. The first call for a
 * kind of work and key size samples it on the calling thread, in about 0.2 ms.
 */
double measured_cpu_ns(struct provider *provider, const struct work *work);

#endif
