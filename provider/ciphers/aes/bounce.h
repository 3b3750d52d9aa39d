/*
 * The CPU's part of an update on memory that it cannot, or should not, touch:
 * through host buffers, with the result that the default provider would have.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_BOUNCE_H
#define GPUAES_PROVIDER_CIPHERS_AES_BOUNCE_H

#include "provider/ciphers/aes/cpu.h"

/* As the default provider's update() or cipher(). */
int aes_bounce(struct aes_context *context, const struct call *call);

/*
 * As the default provider's final(). Where `out` cannot be written, the context
 * is as it was before.
 */
int aes_bounced_final(struct aes_context *context, unsigned char *out, size_t *out_bytes,
                      size_t room);

#endif
