/*
 * Parameters of contexts. The default provider's context has them all; what is noted here is what
 * messages of ours need.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/parameters.h"

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <string.h>

#include "provider/ciphers/gcm/gcm_cpu.h"
#include "provider/ciphers/gcm/gcm_stream.h"
#include "provider/common/device_params.h"
#include "provider/policy/policy.h"

/* ---- What there is ------------------------------------------------------------------ */

void gcm_list_params(struct gcm_cipher *c, void *cpu_provider)
{
    enum { MOST = sizeof c->gettable / sizeof c->gettable[0] };
    device_params_list(c->gettable, MOST, c->cpu.gettable_ctx_params(NULL, cpu_provider));
    device_params_list(c->settable, MOST, c->cpu.settable_ctx_params(NULL, cpu_provider));
}

/* ---- Setting ------------------------------------------------------------------------- */

/* TLS records, and IVs that the default provider counts: such messages are the CPU's. */
static int names_tls(const OSSL_PARAM params[])
{
    static const char *const names[] = {OSSL_CIPHER_PARAM_AEAD_TLS1_AAD,
                                        OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED,
                                        OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (OSSL_PARAM_locate_const(params, names[i]) != NULL)
            return 1;
    return 0;
}

static int read_own(const struct gcm_context *c, const OSSL_PARAM params[],
                    struct device_params *read)
{
    return device_params_read(c->provider, params, c->device_memory, names_tls(params), read);
}

int gcm_check_params(const struct gcm_context *c, const OSSL_PARAM params[])
{
    struct device_params read;
    return params == NULL || read_own(c, params, &read);
}

static int apply_own(struct gcm_context *c, const struct device_params *d)
{
    if (!d->names_memory && !d->names_stream)
        return 1;
    if (d->names_memory && !d->memory) {
        if (!gcm_stream_close(c))
            return 0;
        c->device_memory = 0;
        return 1;
    }
    if (!policy_require(c->provider) || (d->names_stream && !gcm_stream_open(c, d->stream)))
        return 0;
    c->device_memory = 1;
    return 1;
}

/* Whether they end a message of ours, also where they are refused as a whole. */
static int end_ours(const struct gcm_context *c, const OSSL_PARAM params[])
{
    int names_any =
        names_tls(params) || OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_IVLEN) != NULL;
    return names_any && !gcm_cpu_goes_on(c, params);
}

int gcm_set_params(struct gcm_context *c, const OSSL_PARAM params[])
{
    struct device_params read;
    if (!read_own(c, params, &read))
        return 0;
    int leaves = c->side == GCM_OURS ? end_ours(c, params) : names_tls(params);
    c->iv_bytes = 0;
    c->again = -1;
    int ok = c->cipher->cpu.set_ctx_params(c->cpu, params);
    if (leaves)
        gcm_leave_to_cpu(c, CPU_UNSUITED);
    /* Some may have been set where others were refused. */
    ok = apply_own(c, &read) && ok;
    if (read.names_memory || read.names_stream)
        gcm_update_thresholds(c);
    return ok;
}

/* ---- Getting ------------------------------------------------------------------------- */

/*
 * The length of the IV alone, which libcrypto 3.0 asks for before each IV. The default provider
 * looks for all names that it knows, which takes a seventh of a short message's instructions; so
 * the length of the last IV is the answer, as long as no parameter may have changed it.
 */
static int is_known(const struct gcm_context *c, const OSSL_PARAM params[])
{
    return c->iv_bytes != 0 && params[0].key != NULL && params[1].key == NULL &&
           strcmp(params[0].key, OSSL_CIPHER_PARAM_IVLEN) == 0;
}

int gcm_get_params(struct gcm_context *c, OSSL_PARAM params[])
{
    if (is_known(c, params) && OSSL_PARAM_set_size_t(params, c->iv_bytes))
        return 1;
    /* Makes an IV, and begins a message. */
    int ok = c->cipher->cpu.get_ctx_params(c->cpu, params);
    if (OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN) != NULL &&
        (ok || c->side != GCM_OURS))
        gcm_leave_to_cpu(c, CPU_UNSUITED);
    return ok && device_params_write(params, c->device_memory,
                                     c->stream.binding != NULL ? &c->stream.handle : NULL);
}
