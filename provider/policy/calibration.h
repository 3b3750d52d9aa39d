/*
 * What a piece of work takes on the CPU and on the device, from samples on this machine.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_POLICY_CALIBRATION_H
#define GPUAES_PROVIDER_POLICY_CALIBRATION_H

#include "provider/policy/policy.h"

/*
 * Samples the device on every kind of work, pinned and pageable: some milliseconds, in the
 * device's start thread. With `reads_ahead`, uses some MiB of keystream, too: a millisecond, and
 * those of allocating its memory; with underruns, 20. Calls nothing in libcrypto, which may be
 * going down at that moment.
 */
void calibrate_device(int reads_ahead);

/*
 * Sets what `work` is expected to take on each side in nanoseconds: HUGE_VAL for the device where
 * it was not sampled or did not work. The CPU has its data in caches; the first call for a kind of
 * work and key size samples it on the calling thread, in about 0.2 ms.
 */
void calibrated_ns(struct provider *provider, const struct work *work, double ns[MODEL_SIDES]);

#endif
