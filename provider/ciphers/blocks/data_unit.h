/*
 * Data units of XTS: each update is one, and nothing but key and tweak is kept from one to the
 * next.
 *
 * Devices take the encrypted tweak, and go on from any block by the one that they report. The
 * default provider takes the tweak as it is: what devices leave of a unit it does as a unit of its
 * own, whose tweak encrypts to the one of the first block.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BLOCKS_DATA_UNIT_H
#define GPUAES_PROVIDER_CIPHERS_BLOCKS_DATA_UNIT_H

#include "provider/ciphers/context.h"

/*
 * Sets `middle` of a request. Blocks that ciphertext stealing makes depend on each other are no
 * part of it: the last one, and the one before a part of a block.
 */
void unit_cut(struct request *request);

/* Gets the encrypted tweak of the next unit. Returns 0 if that fails. */
int unit_get_tweak(const struct blocks_context *context, unsigned char tweak[GPUAES_BLOCK]);

/*
 * Has the CPU do all of a request: a part of a unit, to its end or of whole blocks, whose first
 * block has that encrypted tweak. Returns 0 if that fails.
 */
int unit_finish(struct blocks_context *context, const unsigned char tweak[GPUAES_BLOCK],
                struct request *request);

#endif
