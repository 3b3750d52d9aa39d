/*
 * Messages that a GPU does: whole blocks are a device's, or the CPU's where that is better or a
 * device failed.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_GCM_GCM_MESSAGE_H
#define GPUAES_PROVIDER_CIPHERS_GCM_GCM_MESSAGE_H

#include "provider/ciphers/gcm/gcm_state.h"

/* The message is the CPU's from now on; what a GPU did of it is given up. */
void gcm_leave_to_cpu(struct gcm_context *context, enum cpu_reason why);

/* Forgets a GPU's message that has not ended. The key must be that of the message. */
void gcm_message_give_up(struct gcm_context *context);

/* Takes the message over from the default provider, which has had no text of it. */
int gcm_message_begin(struct gcm_context *context);

/*
 * Encrypts or decrypts the next text: `work` has `in`, `out` and `len`, `flags` are those of
 * gpuaes_gcm(). Any length up to GCM_TEXT_MOST in all; in place or out of place. With
 * `by_gpu` whole blocks are offered to a device, else the CPU does all of it, for the reason
 * `work->why`. Returns 0 with an error raised; if some of the text was done, the message has ended,
 * and has no tag.
 */
int gcm_message_update(struct gcm_context *context, const struct work *work, int by_gpu,
                       unsigned flags);

/* Makes the tag, and for a decryption returns 1 if it is the expected one. */
int gcm_message_final(struct gcm_context *context);

#endif
