/*
 * Updates on device memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_DEVICE_MEMORY_H
#define GPUAES_PROVIDER_CIPHERS_AES_DEVICE_MEMORY_H

#include "provider/ciphers/aes/cpu.h"

/*
 * A call on a context with `device-memory`. DECLINED: the CPU can touch the
 * memory, and no work queued on a stream conflicts.
 */
int aes_device_update(struct aes_context *context, const struct call *call);
int aes_device_final(struct aes_context *context, unsigned char *out, size_t *out_bytes,
                     size_t room);

/* A call on memory that turned out to be a device's, without the parameter. */
int aes_device_found(struct aes_context *context, const struct call *call);

#endif
