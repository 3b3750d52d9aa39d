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

/* What a call asks for; what it does not name stays as it is. */
struct wanted {
    int names_memory, names_stream, names_tls;
    unsigned memory;
    uint64_t stream;
};

static int read_wanted(const struct aes_context *c, const OSSL_PARAM params[], struct wanted *w)
{
    memset(w, 0, sizeof *w);
    if (params == NULL)
        return 1;
    const OSSL_PARAM *memory = OSSL_PARAM_locate_const(params, PARAM_DEVICE_MEMORY);
    const OSSL_PARAM *stream = OSSL_PARAM_locate_const(params, PARAM_CUDA_STREAM);
    w->names_memory = memory != NULL;
    w->names_stream = stream != NULL;
    w->names_tls = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_TLS_VERSION) != NULL ||
                   OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_TLS_MAC_SIZE) != NULL;
    if (memory != NULL && (!OSSL_PARAM_get_uint(memory, &w->memory) || w->memory > 1)) {
        error_raise(c->provider, ERROR_BAD_PARAMETER, PARAM_DEVICE_MEMORY " must be 0 or 1");
        return 0;
    }
    if (stream == NULL)
        return 1;
    if (!OSSL_PARAM_get_uint64(stream, &w->stream) || w->stream == AES_STREAM_PER_THREAD) {
        error_raise(c->provider, ERROR_BAD_PARAMETER,
                    PARAM_CUDA_STREAM " must be a CUstream, 0 for the legacy default stream;"
                                      " that of each thread is not one stream");
        return 0;
    }
    if (memory != NULL && w->memory == 0) {
        error_raise(c->provider, ERROR_BAD_PARAMETER,
                    PARAM_CUDA_STREAM " and " PARAM_DEVICE_MEMORY "=0 exclude each other");
        return 0;
    }
    return 1;
}

int aes_check_params(const struct aes_context *c, const OSSL_PARAM params[])
{
    struct wanted w;
    if (!read_wanted(c, params, &w))
        return 0;
    int memory = w.names_stream || (w.names_memory ? w.memory != 0 : c->state.device_memory);
    if (!memory || !(w.names_tls || c->state.tls))
        return 1;
    error_raise(c->provider, ERROR_DEVICE_MEMORY, "TLS records are the CPU's work");
    return 0;
}

int aes_apply_params(struct aes_context *c, const OSSL_PARAM params[])
{
    struct wanted w;
    if (!read_wanted(c, params, &w))
        return 0;
    if (w.names_tls)
        c->state.tls = 1;
    if (w.names_memory && !w.memory) {
        int ok = aes_stream_close(c);
        c->state.device_memory = c->stream.binding != NULL;
        return ok;
    }
    if (!w.names_memory && !w.names_stream)
        return 1;
    if (!policy_require(c->provider) || (w.names_stream && !aes_stream_open(c, w.stream)))
        return 0;
    c->state.device_memory = 1;
    return 1;
}

int aes_set_params(struct aes_context *c, const OSSL_PARAM params[])
{
    if (!aes_check_params(c, params))
        return 0;
    int ok = aes_read_ahead_end(c);
    aes_read_ahead_forget_run(c);
    ok = c->cipher->cpu.set_ctx_params(c->hot.cpu, params) && ok;
    /* Some may have been set where others were refused. */
    ok = aes_apply_params(c, params) && ok;
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
