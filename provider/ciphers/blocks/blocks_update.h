/*
 * Updates: the hot path, and what may be worth a device.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BLOCKS_BLOCKS_UPDATE_H
#define GPUAES_PROVIDER_CIPHERS_BLOCKS_BLOCKS_UPDATE_H

#include "provider/ciphers/context.h"

/*
 * Dispatch functions. Whole blocks in the middle of an update may go to the device, the rest goes
 * to the CPU; the result is the default provider's in every case.
 */
OSSL_FUNC_cipher_update_fn blocks_update;
OSSL_FUNC_cipher_cipher_fn blocks_cipher;

#endif
