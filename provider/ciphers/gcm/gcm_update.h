/*
 * Updates of AES-GCM: the hot path, and the choice of a side.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_GCM_GCM_UPDATE_H
#define GPUAES_PROVIDER_CIPHERS_GCM_GCM_UPDATE_H

#include "provider/ciphers/gcm/gcm_state.h"

/* Dispatch functions. The result is the default provider's in every case. */
OSSL_FUNC_cipher_update_fn gcm_update;
OSSL_FUNC_cipher_cipher_fn gcm_cipher;
OSSL_FUNC_cipher_final_fn gcm_final;

#endif
