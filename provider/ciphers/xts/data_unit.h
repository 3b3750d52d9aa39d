/*
 * Data units: which go to the device, and which stay on the CPU.
 *
 * Whole blocks are the device's. What it leaves, and blocks that ciphertext stealing makes depend
 * on each other, are finished by the default provider, as data units of their own with an IV that
 * encrypts to the tweak of their first block.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_XTS_UNIT_H
#define GPUAES_PROVIDER_CIPHERS_XTS_UNIT_H

#include "provider/ciphers/xts/context.h"

/* Call for new contexts, and for new keys. */
void xts_set_thresholds(struct xts_context *context);

/* An update or one-shot call of context->small bytes or more, by `function` where the CPU does it.
 */
int xts_unit(struct xts_context *context, OSSL_FUNC_cipher_update_fn *function, unsigned char *out,
             size_t *out_bytes, size_t outsize, const unsigned char *in, size_t in_bytes);

#endif
