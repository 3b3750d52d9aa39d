/*
 * Updates: the hot path, and the handlers of what may be worth a device.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_UPDATE_H
#define GPUAES_PROVIDER_CIPHERS_AES_UPDATE_H

#include "provider/ciphers/context.h"

/*
 * Dispatch functions. Whole blocks in the middle of an update may go to the device, the rest goes
 * to the CPU; the result is the default provider's in every case.
 */
OSSL_FUNC_cipher_update_fn aes_update;
OSSL_FUNC_cipher_cipher_fn aes_cipher;

/*
 * Adds to the totals, and sets `small`, `large` and the countdown for what the context is now
 * good for. Call after everything that changes it.
 */
void aes_update_thresholds(struct aes_context *context);

#endif
