/*
 * What GCM leaves in the memory of a binding.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_AES_GCM_BINDING_H
#define GPUAES_CUDA_AES_GCM_BINDING_H

#include "cuda/driver/driver.h"

struct gpuaes_stream_binding;

/*
 * Overwrites the powers of H, and sums, of messages that were given up. Nothing of them is under
 * way.
 */
drv_result gcm_binding_wipe(struct gpuaes_stream_binding *binding);

/* Overwrites what the CPU can reach of that, also where the device has failed. */
void gcm_binding_cleanse(struct gpuaes_stream_binding *binding);

#endif
