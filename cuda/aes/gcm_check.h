/*
 * The self-test of GCM's carry-less multiplication on a device.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_AES_GCM_CHECK_H
#define GPUAES_CUDA_AES_GCM_CHECK_H

#include "cuda/device/device.h"

/*
 * Before the first GCM of a device, lets it make powers of a hash key that is known, waits for them
 * and compares one with the CPU's; afterwards does nothing. The device is entered. `stream` is one
 * of ours, which no work of the application holds up; NULL: there is none, and one is made. Returns
 * DRV_UNKNOWN for a wrong one, with the device given up: a tag made by it would be of no use to
 * anybody. DRV_OUT_OF_MEMORY says nothing of the device: nothing is under way then, and the next
 * call tries again.
 */
drv_result gcm_check(struct device *device, drv_stream stream);

#endif
