/*
 * What a piece of work costs on either engine, as measured on this machine.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_ENGINE_MEASURE_H
#define GPUAES_ENGINE_MEASURE_H

#include <stddef.h>

#include "engine.h"

/* GPU work of fewer bytes was not measured: it loses to any CPU. */
enum { MEASURE_FLOOR = 64 << 10 };

/*
 * Measures the device on every kind of work, pinned and pageable: some tens of
 * milliseconds, in the device's start thread. It calls nothing in libcrypto,
 * which may be going down at that moment.
 */
void measure_gpu(void);

/*
 * Expected nanoseconds of work on the device; HUGE_VAL where it was not
 * measured or did not work. `pinned`: input and output both are.
 */
double measured_gpu_ns(const struct work *work, int pinned);

/*
 * Expected nanoseconds on the CPU with data in its caches. The first call for a
 * kind of work and key size measures it on the calling thread, in about 0.2 ms.
 */
double measured_cpu_ns(struct provider *provider, const struct work *work);

/*
 * Work of at least this size does not fit the caches, and costs more than was
 * measured, by how much depends on the machine. There, what the application's
 * own updates took is remembered, for both engines, by size and by whether they
 * were in place: 0 while there is nothing to remember. For pageable memory.
 */
enum { OBSERVED_FROM = 4 << 20 };
double observed_ns(const struct work *work, int on_gpu);
void observe_ns(const struct work *work, int on_gpu, double ns);

/*
 * Counts a choice between two engines that have both been observed. 1 now and
 * then, ever more rarely: the engine that lost should be tried once more, as
 * what was seen of it may have been bad luck.
 */
int observation_is_due(const struct work *work);

/* Monotonic time. */
double measure_now_ns(void);

#endif
