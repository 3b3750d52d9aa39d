/*
 * An update in its parts: a head and a tail for the CPU, whole blocks in the middle for the
 * device.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_SEGMENTS_H
#define GPUAES_PROVIDER_CIPHERS_AES_SEGMENTS_H

#include "provider/ciphers/blocks/blocks_cpu.h"
#include "provider/policy/policy.h"

/*
 * Finds where what is left of a request is cut; `middle` is 0 where there is nothing that the
 * device may do. Returns 0 if the default provider's context cannot tell.
 */
int aes_segment(const struct aes_context *context, struct request *request);

/* For struct aes_mode: modes that work on blocks, and hold back what is not a whole one. */
int aes_segment_blocks(const struct aes_context *context, struct request *request);

/*
 * Does a request as it is cut: head, middle, tail; what the devices leave of the middle is the
 * CPU's. `flags` are those of gpuaes_aes().
 */
int aes_run_segments(struct aes_context *context, struct request *request, unsigned flags);

#endif
