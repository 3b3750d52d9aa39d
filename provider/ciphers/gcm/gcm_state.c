/*
 * The state of an AES-GCM context: its key, and the lengths from which text is looked at.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/gcm_state.h"

#include <openssl/crypto.h>

void gcm_keep_long_aad(struct gcm_context *c, const unsigned char *in, size_t bytes)
{
    size_t before = c->aad_bytes;
    c->aad_bytes = GCM_AAD_MOST + 1;
    if (before > GCM_AAD_MOST || bytes > GCM_AAD_MOST - before)
        return;
    if (c->aad_long == NULL && (c->aad_long = OPENSSL_malloc(GCM_AAD_MOST)) == NULL)
        return;
    if (before <= GCM_AAD_SHORT)
        memcpy(c->aad_long, c->aad_short, before);
    memcpy(c->aad_long + before, in, bytes);
    c->aad_bytes = before + bytes;
}

const struct gpuaes_gcm_key *gcm_schedule(struct gcm_context *c)
{
    if (!c->expanded && !gpuaes_gcm_key_expand(&c->schedule, c->key, c->cipher->key_bytes))
        return NULL;
    c->expanded = 1;
    return &c->schedule;
}

void gcm_ask_policy(struct gcm_context *c)
{
    enum policy_work work = c->encrypting ? WORK_GCM_ENCRYPT : WORK_GCM_DECRYPT;
    c->floor = c->has_key ? policy_floor(c->provider, work, c->cipher->key_bytes) : SIZE_MAX;
    c->reason_if_small = c->has_key && c->floor == SIZE_MAX ? CPU_NO_DEVICE : CPU_SMALL;
}

void gcm_keep_choice(struct gcm_context *c, size_t bytes)
{
    /* The next one's memory may be a device's, which longer ones may be without being named. */
    if (bytes >= POLICY_ASK_AGAIN || policy_saw_cuda())
        return;
    c->floor = bytes + 1;
    c->reason_if_small = CPU_FASTER;
}

void gcm_set_thresholds(struct gcm_context *c)
{
    int is_cpus = c->side == GCM_BY_CPU || c->side == GCM_ENDED;
    c->small = is_cpus ? SIZE_MAX : c->floor;
    c->why = is_cpus ? c->why : c->reason_if_small;
    if (c->side == GCM_BY_GPU || (c->device_memory && c->side != GCM_ENDED))
        c->small = 0;
    int is_usual = c->has_key && c->iv_bytes != 0 && !c->device_memory;
    c->again = is_usual && c->side == GCM_UNDECIDED ? c->encrypting : -1;
}

void gcm_end_message(struct gcm_context *c)
{
    OPENSSL_cleanse(&c->message, sizeof c->message);
    c->side = GCM_ENDED;
    gcm_set_thresholds(c);
}
