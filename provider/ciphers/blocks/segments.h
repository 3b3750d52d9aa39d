/*
 * An update in its parts: a head and a tail for the CPU, whole blocks in the middle for the
 * device.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BLOCKS_SEGMENTS_H
#define GPUAES_PROVIDER_CIPHERS_BLOCKS_SEGMENTS_H

#include "provider/ciphers/context.h"

/*
 * Finds where what is left of a request is cut; `middle` is 0 where there is nothing that the
 * device may do. Returns 0 if the default provider's context cannot tell.
 */
int segments_cut(const struct blocks_context *context, struct request *request);

/*
 * Does a request as it is cut: head, middle, tail; what the devices leave of the middle is the
 * CPU's. `flags` are those of gpuaes_aes(). Tells the policy what `work` took where devices did
 * all of the middle. Returns 0 with an error raised if that fails.
 */
int segments_run(struct blocks_context *context, struct request *request, const struct work *work,
                 unsigned flags);

#endif
