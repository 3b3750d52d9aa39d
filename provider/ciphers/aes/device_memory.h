/*
 * Updates on device memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_DEVICE_MEMORY_H
#define GPUAES_PROVIDER_CIPHERS_AES_DEVICE_MEMORY_H

#include "provider/ciphers/blocks/blocks_cpu.h"

/*
 * A request on memory that is, or may be, a device's: `work` learns which. DECLINED: the CPU can
 * touch the memory, and no work queued on a stream conflicts.
 */
int aes_device_update(struct aes_context *context, struct request *request, struct work *work);

/* As the default provider's final(), of a context with `device-memory`. */
int aes_device_final(struct aes_context *context, unsigned char *out, size_t *out_bytes,
                     size_t outsize);

#endif
