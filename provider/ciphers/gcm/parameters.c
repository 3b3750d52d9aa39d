/*
 * Parameters of contexts. The default provider's context has them all; what is noted here is what
 * messages of ours need.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/parameters.h"

#include <openssl/core_names.h>
#include <openssl/params.h>

#include "provider/common/errors.h"
#include "provider/policy/policy.h"

#define PARAM_DEVICE_MEMORY "device-memory"

static const OSSL_PARAM own = OSSL_PARAM_uint(PARAM_DEVICE_MEMORY, NULL);

/* ---- What there is ------------------------------------------------------------------ */

static void list(OSSL_PARAM *params, size_t most, const OSSL_PARAM *theirs)
{
    static const OSSL_PARAM end = OSSL_PARAM_END;
    size_t n = 0;
    params[n++] = own;
    for (; theirs->key != NULL && n < most - 1; theirs++)
        params[n++] = *theirs;
    params[n] = end;
}

void gcm_list_params(struct gcm_cipher *c, void *cpu_provider)
{
    enum { MOST = sizeof c->gettable / sizeof c->gettable[0] };
    list(c->gettable, MOST, c->cpu.gettable_ctx_params(NULL, cpu_provider));
    list(c->settable, MOST, c->cpu.settable_ctx_params(NULL, cpu_provider));
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

int gcm_check_params(const struct gcm_context *c, const OSSL_PARAM params[])
{
    const OSSL_PARAM *memory;
    unsigned value = (unsigned)c->device_memory;
    if (params == NULL)
        return 1;
    memory = OSSL_PARAM_locate_const(params, PARAM_DEVICE_MEMORY);
    if (memory != NULL && (!OSSL_PARAM_get_uint(memory, &value) || value > 1))
        error_raise(c->provider, ERROR_BAD_PARAMETER, PARAM_DEVICE_MEMORY " must be 0 or 1");
    else if (value != 0 && names_tls(params))
        error_raise(c->provider, ERROR_DEVICE_MEMORY, "TLS records are the CPU's work");
    else
        return memory == NULL || value == 0 || policy_require(c->provider);
    return 0;
}

int gcm_set_params(struct gcm_context *c, const OSSL_PARAM params[])
{
    unsigned memory = 0;
    if (!gcm_check_params(c, params))
        return 0;
    const OSSL_PARAM *p = OSSL_PARAM_locate_const(params, PARAM_DEVICE_MEMORY);
    if (p != NULL && OSSL_PARAM_get_uint(p, &memory))
        c->device_memory = memory != 0;
    int ok = c->cipher->cpu.set_ctx_params(c->cpu, params);
    if (ok && OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TAG) != NULL)
        c->ours.has_tag = 1;
    /* Another length of the IV ends a message, as the default provider's context will say. */
    if (names_tls(params))
        gcm_leave_to_cpu(c, CPU_UNSUITED);
    else if (c->side == GCM_OURS &&
             OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_IVLEN) != NULL)
        gcm_leave_to_cpu(c, CPU_UNSUITED);
    else if (p != NULL)
        gcm_update_thresholds(c);
    return ok;
}

/* ---- Getting ------------------------------------------------------------------------- */

int gcm_get_params(struct gcm_context *c, OSSL_PARAM params[])
{
    OSSL_PARAM *memory = OSSL_PARAM_locate(params, PARAM_DEVICE_MEMORY);
    if (c->side == GCM_OURS && OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TAG) != NULL) {
        error_raise(c->provider, ERROR_OUT_OF_ORDER, "the tag of a message that has not ended");
        return 0;
    }
    /* Makes an IV, and begins a message. */
    if (OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN) != NULL)
        gcm_leave_to_cpu(c, CPU_UNSUITED);
    return c->cipher->cpu.get_ctx_params(c->cpu, params) &&
           (memory == NULL || OSSL_PARAM_set_uint(memory, c->device_memory != 0));
}
