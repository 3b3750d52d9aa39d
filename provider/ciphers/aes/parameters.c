/*
 * Parameters of the AES contexts.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/parameters.h"

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <string.h>

#include "provider/ciphers/blocks/blocks_update.h"
#include "provider/common/errors.h"
#include "provider/policy/policy.h"

/* ---- What there is ------------------------------------------------------------------ */

void aes_list_params(struct aes_cipher *c, void *cpu_provider)
{
    enum { MOST = sizeof c->gettable / sizeof c->gettable[0] };
    device_params_list(c->gettable, MOST, c->cpu.gettable_ctx_params(NULL, cpu_provider));
    device_params_list(c->settable, MOST, c->cpu.settable_ctx_params(NULL, cpu_provider));
}

/* ---- Setting ------------------------------------------------------------------------- */

int aes_read_params(const struct aes_context *c, const OSSL_PARAM params[], struct aes_params *p)
{
    memset(p, 0, sizeof *p);
    if (params == NULL)
        return 1;
    p->names_tls = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_TLS_VERSION) != NULL ||
                   OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_TLS_MAC_SIZE) != NULL;
    return device_params_read(c->provider, params, c->state.device_memory,
                              p->names_tls || c->state.tls, &p->device);
}

int aes_apply_params(struct aes_context *c, const struct aes_params *p)
{
    const struct device_params *d = &p->device;
    if (p->names_tls)
        c->state.tls = 1;
    if (d->names_memory && !d->memory) {
        int ok = aes_stream_close(c);
        c->state.device_memory = c->stream.named.binding != NULL;
        return ok;
    }
    if (!d->names_memory && !d->names_stream)
        return 1;
    if (!policy_require(c->provider) || (d->names_stream && !aes_stream_open(c, d->stream)))
        return 0;
    c->state.device_memory = 1;
    return 1;
}

int aes_set_params(struct aes_context *c, const OSSL_PARAM params[])
{
    struct aes_params read;
    if (!aes_read_params(c, params, &read))
        return 0;
    int ok = aes_read_ahead_end(c);
    aes_read_ahead_forget_run(c);
    ok = c->cipher->cpu.set_ctx_params(c->hot.cpu, params) && ok;
    /* Some may have been set where others were refused. */
    ok = aes_apply_params(c, &read) && ok;
    aes_update_thresholds(c);
    return ok;
}

/* ---- Getting ------------------------------------------------------------------------- */

/*
 * Gives the application a pointer to the IV in the CPU's context, as the default provider does. It
 * shows the IV after each update, and what is written there is the IV of the next one. So
 * that context must never be behind: there is no more reading ahead.
 */
static int lend_iv(struct aes_context *c)
{
    int ok = aes_read_ahead_end(c);
    c->state.iv_lent = 1;
    aes_update_thresholds(c);
    return ok;
}

int aes_get_params(struct aes_context *c, OSSL_PARAM params[])
{
    if (cpu_get_length(&c->cipher->cpu, params))
        return 1;
    const OSSL_PARAM *iv = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_UPDATED_IV);
    int lends = iv != NULL && iv->data_type == OSSL_PARAM_OCTET_PTR && !c->state.iv_lent;
    if ((c->stream.chained || c->stream.lost) && iv != NULL && !aes_stream_sync(c))
        return 0;
    return (!lends || lend_iv(c)) && aes_read_ahead_sync(c) &&
           c->cipher->cpu.get_ctx_params(c->hot.cpu, params) &&
           device_params_write(params, c->state.device_memory,
                               c->stream.named.binding != NULL ? &c->stream.named.handle : NULL);
}
