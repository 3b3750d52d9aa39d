/*
 * Where an update is cut: a head and a tail for the CPU, whole blocks in the
 * middle for the device.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_SEGMENTS_H
#define GPUAES_PROVIDER_CIPHERS_AES_SEGMENTS_H

#include "provider/ciphers/aes/cpu.h"

/* How it is split. Every count is of bytes. */
struct split {
    size_t head_in, head_out;
    size_t middle;
    size_t tail_in, tail_out;
};

/*
 * What the context holds back before a call (nothing in CTR and before a
 * one-shot call of whole blocks), and how much the call will write.
 */
int aes_measure(const struct aes_context *context, const struct call *call, size_t *held,
                size_t *writes);

/* 1, or 0 where there is no middle that the device may do. `held` as measured. */
int aes_make_split(const struct aes_context *context, const struct call *call, size_t held,
                   struct split *split);

/*
 * Runs a call as it is split: head, middle, tail; what the devices leave of the
 * middle is the CPU's. With `insist`, waits for a stream set.
 */
int aes_run_split(struct aes_context *context, const struct call *call, const struct split *split,
                  int insist);

/* What the device does of a context's work, and the key schedule for it. */
enum gpuaes_op aes_op(const struct aes_context *context);
const struct gpuaes_key *aes_schedule(struct aes_context *context);

#endif
