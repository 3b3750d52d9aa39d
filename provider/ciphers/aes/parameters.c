/*
 * Parameters of the AES contexts.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/parameters.h"

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <string.h>

#include "provider/ciphers/aes/update.h"
#include "provider/common/errors.h"
#include "provider/policy/policy.h"

#define PARAM_DEVICE_MEMORY "device-memory"
#define PARAM_CUDA_STREAM "cuda-stream"

static const OSSL_PARAM own[] = {OSSL_PARAM_uint(PARAM_DEVICE_MEMORY, NULL),
                                 OSSL_PARAM_uint64(PARAM_CUDA_STREAM, NULL), OSSL_PARAM_END};

/* ---- What there is ------------------------------------------------------------------ */

static void list(OSSL_PARAM *params, size_t most, const OSSL_PARAM *theirs)
{
    size_t n = sizeof own / sizeof own[0] - 1;
    memcpy(params, own, n * sizeof own[0]);
    for (; theirs->key != NULL && n < most - 1; theirs++)
        params[n++] = *theirs;
    params[n] = own[sizeof own / sizeof own[0] - 1];
}

void aes_list_params(struct aes_cipher *c, void *cpu_provider)
{
    enum { MOST = sizeof c->gettable / sizeof c->gettable[0] };
    list(c->gettable, MOST, c->cpu.gettable_ctx_params(NULL, cpu_provider));
    list(c->settable, MOST, c->cpu.settable_ctx_params(NULL, cpu_provider));
}

/* ---- Setting ------------------------------------------------------------------------- */

int aes_read_params(const struct aes_context *c, const OSSL_PARAM params[], struct aes_params *p)
{
    memset(p, 0, sizeof *p);
    if (params == NULL)
        return 1;
    const OSSL_PARAM *memory = OSSL_PARAM_locate_const(params, PARAM_DEVICE_MEMORY);
    const OSSL_PARAM *stream = OSSL_PARAM_locate_const(params, PARAM_CUDA_STREAM);
    p->names_memory = memory != NULL;
    p->names_stream = stream != NULL;
    p->names_tls = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_TLS_VERSION) != NULL ||
                   OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_TLS_MAC_SIZE) != NULL;
    int uses_memory = stream != NULL || (memory == NULL && c->state.device_memory);
    if (memory != NULL && (!OSSL_PARAM_get_uint(memory, &p->memory) || p->memory > 1))
        error_raise(c->provider, ERROR_BAD_PARAMETER, PARAM_DEVICE_MEMORY " must be 0 or 1");
    else if (stream != NULL &&
             (!OSSL_PARAM_get_uint64(stream, &p->stream) || p->stream == AES_STREAM_PER_THREAD))
        error_raise(c->provider, ERROR_BAD_PARAMETER,
                    PARAM_CUDA_STREAM " must be a CUstream, 0 for the legacy default stream;"
                                      " that of each thread is not one stream");
    else if (stream != NULL && memory != NULL && p->memory == 0)
        error_raise(c->provider, ERROR_BAD_PARAMETER,
                    PARAM_CUDA_STREAM " and " PARAM_DEVICE_MEMORY "=0 exclude each other");
    else if ((uses_memory || p->memory != 0) && (p->names_tls || c->state.tls))
        error_raise(c->provider, ERROR_DEVICE_MEMORY, "TLS records are the CPU's work");
    else
        return 1;
    return 0;
}

int aes_apply_params(struct aes_context *c, const struct aes_params *p)
{
    if (p->names_tls)
        c->state.tls = 1;
    if (p->names_memory && !p->memory) {
        int ok = aes_stream_close(c);
        c->state.device_memory = c->stream.binding != NULL;
        return ok;
    }
    if (!p->names_memory && !p->names_stream)
        return 1;
    if (!policy_require(c->provider) || (p->names_stream && !aes_stream_open(c, p->stream)))
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

static int get_own(const struct aes_context *c, OSSL_PARAM params[])
{
    OSSL_PARAM *memory = OSSL_PARAM_locate(params, PARAM_DEVICE_MEMORY);
    OSSL_PARAM *stream = OSSL_PARAM_locate(params, PARAM_CUDA_STREAM);
    return (memory == NULL || OSSL_PARAM_set_uint(memory, c->state.device_memory != 0)) &&
           (stream == NULL || c->stream.binding == NULL ||
            OSSL_PARAM_set_uint64(stream, c->stream.handle));
}

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
    const OSSL_PARAM *iv = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_UPDATED_IV);
    int lends = iv != NULL && iv->data_type == OSSL_PARAM_OCTET_PTR && !c->state.iv_lent;
    if ((c->stream.chained || c->stream.lost) && iv != NULL && !aes_stream_sync(c))
        return 0;
    return (!lends || lend_iv(c)) && aes_read_ahead_settle(c) &&
           c->cipher->cpu.get_ctx_params(c->hot.cpu, params) && get_own(c, params);
}
