/*
 * Updates that may be worth a device.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_UPDATE_H
#define GPUAES_PROVIDER_CIPHERS_AES_UPDATE_H

#include "provider/ciphers/aes/cpu.h"

/* Returns 1 if the context is in a state that the device can take over, 0 otherwise. */
int aes_is_eligible(const struct aes_context *context);

/*
 * As OSSL_FUNC_cipher_update() and OSSL_FUNC_cipher_cipher(): whole blocks in
 * the middle may go to the device, the rest goes to the CPU; the result is the
 * default provider's in every case.
 */
int aes_update_call(struct aes_context *context, const struct call *call);
int aes_update_large(struct aes_context *context, unsigned char *out, size_t *out_bytes,
                     size_t room, const unsigned char *in, size_t in_bytes);
int aes_cipher_large(struct aes_context *context, unsigned char *out, size_t *out_bytes,
                     size_t room, const unsigned char *in, size_t in_bytes);

#endif
