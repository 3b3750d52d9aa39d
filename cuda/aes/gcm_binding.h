/*
 * What GCM leaves in the memory of a binding.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_AES_GCM_BINDING_H
#define GPUAES_CUDA_AES_GCM_BINDING_H

#include "cuda/driver/driver.h"

struct gpuaes_stream_binding;

/* Overwrites the powers of H of a message that was given up. Nothing of it is under way. */
drv_result gcm_binding_wipe(struct gpuaes_stream_binding *binding);

#endif
