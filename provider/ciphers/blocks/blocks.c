/*
 * One message from initialisation to end.
 *
 * Whatever the default provider accepts or refuses is decided by calling it;
 * we only remember what we need to take over in mid-stream.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/blocks/blocks.h"

#include "provider/ciphers/aes/device_memory.h"
#include "provider/ciphers/aes/parameters.h"
#include "provider/ciphers/blocks/blocks_update.h"
#include "provider/policy/policy.h"

struct aes_context *aes_message_new(struct provider *provider, const struct aes_cipher *cipher)
{
    struct aes_context *c = aes_context_new(provider, cipher);
    if (c == NULL)
        return NULL;
    policy_context_created(provider);
    return c;
}

void aes_message_free(struct aes_context *c)
{
    (void)aes_read_ahead_end(c);
    aes_stream_unbind(c);
    aes_context_free(c);
}

struct aes_context *aes_message_copy(const struct aes_context *c)
{
    struct aes_context *copy = aes_context_copy(c);
    if (copy == NULL)
        return NULL;
    int ok = aes_read_ahead_copy(copy, c);
    ok = aes_stream_copy(copy, c) && ok;
    aes_update_thresholds(copy);
    if (ok)
        return copy;
    aes_message_free(copy);
    return NULL;
}

int aes_message_init(struct aes_context *c, int encrypting, const unsigned char *key,
                     size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                     const OSSL_PARAM params[])
{
    struct aes_state *s = &c->state;
    OSSL_FUNC_cipher_encrypt_init_fn *init =
        encrypting ? c->cipher->cpu.encrypt_init : c->cipher->cpu.decrypt_init;
    /* Without an IV, CBC begins again with the original one, and CTR goes on with its counter. */
    int takes_iv = iv != NULL && iv_bytes != 0 && iv_bytes == c->mode->iv_bytes;
    int repeats_iv = iv == NULL && s->has_iv && (c->mode->flags & MODE_STREAM) == 0;
    struct aes_params read;
    if (!aes_read_params(c, params, &read))
        return 0;
    int ok = aes_read_ahead_end(c);
    aes_read_ahead_forget_run(c);
    aes_flush_totals(c);
    s->encrypting = encrypting;
    ok = init(c->hot.cpu, key, key_bytes, iv, iv_bytes, params) && ok;
    /* An IV is taken first, whatever is refused after it; then the key. */
    if (takes_iv || repeats_iv) {
        s->has_iv = 1;
        c->stream.chained = c->stream.lost = 0;
    }
    if (ok && key != NULL)
        aes_note_key(c, key);
    else if (!ok)
        aes_forget_key(c); /* which key the CPU has now is not known */
    s->finished = s->stays_on_cpu = 0;
    ok = aes_apply_params(c, &read) && ok;
    aes_update_thresholds(c);
    return ok;
}

int aes_final(void *context, unsigned char *out, size_t *out_bytes, size_t outsize)
{
    struct aes_context *c = context;
    int ok = aes_read_ahead_end(c);
    c->state.finished = 1;
    aes_update_thresholds(c);
    if (!ok || !aes_stream_check(c))
        return 0;
    if (c->state.device_memory)
        return aes_device_final(c, out, out_bytes, outsize);
    return c->cipher->cpu.final(c->hot.cpu, out, out_bytes, outsize);
}
