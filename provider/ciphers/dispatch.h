/*
 * The dispatch tables of the AES ciphers, such as aes_128_ecb.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_DISPATCH_H
#define GPUAES_PROVIDER_CIPHERS_AES_DISPATCH_H

#include "provider/ciphers/blocks/modes.h"

#define AES_DECLARE(bits, MODE, mode, names) extern const OSSL_DISPATCH aes_##bits##_##mode[];
AES_CIPHERS(AES_DECLARE)
#undef AES_DECLARE

#endif
