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

#include "provider/ciphers/gcm/cuda_stream.h"
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

/* Ours that a call names. */
struct own_params {
    const OSSL_PARAM *memory, *stream; /* NULL: it stays as it is */
    unsigned memory_value;
    uint64_t handle;
};

static int read_own(const struct gcm_context *c, const OSSL_PARAM params[], struct own_params *o)
{
    memset(o, 0, sizeof *o);
    o->memory = OSSL_PARAM_locate_const(params, PARAM_DEVICE_MEMORY);
    o->stream = OSSL_PARAM_locate_const(params, PARAM_CUDA_STREAM);
    if (o->memory != NULL &&
        (!OSSL_PARAM_get_uint(o->memory, &o->memory_value) || o->memory_value > 1))
        error_raise(c->provider, ERROR_BAD_PARAMETER, PARAM_DEVICE_MEMORY " must be 0 or 1");
    else if (o->stream != NULL &&
             (!OSSL_PARAM_get_uint64(o->stream, &o->handle) || o->handle == GCM_STREAM_PER_THREAD))
        error_raise(c->provider, ERROR_BAD_PARAMETER,
                    PARAM_CUDA_STREAM " must be a CUstream, 0 for the legacy default stream;"
                                      " that of each thread is not one stream");
    else if (o->stream != NULL && o->memory != NULL && o->memory_value == 0)
        error_raise(c->provider, ERROR_BAD_PARAMETER,
                    PARAM_CUDA_STREAM " and " PARAM_DEVICE_MEMORY "=0 exclude each other");
    else if (names_tls(params) &&
             (o->stream != NULL || o->memory_value != 0 || (o->memory == NULL && c->device_memory)))
        error_raise(c->provider, ERROR_DEVICE_MEMORY, "TLS records are the CPU's work");
    else
        return 1;
    return 0;
}

int gcm_check_params(const struct gcm_context *c, const OSSL_PARAM params[])
{
    struct own_params o;
    return params == NULL || read_own(c, params, &o);
}

static int apply_own(struct gcm_context *c, const struct own_params *o)
{
    if (o->memory == NULL && o->stream == NULL)
        return 1;
    if (o->memory != NULL && o->memory_value == 0) {
        if (!gcm_stream_close(c))
            return 0;
        c->device_memory = 0;
        return 1;
    }
    if (!policy_require(c->provider) || (o->stream != NULL && !gcm_stream_open(c, o->handle)))
        return 0;
    c->device_memory = 1;
    return 1;
}

static size_t get_iv_length(const struct gcm_context *c)
{
    size_t bytes = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_IVLEN, &bytes),
                           OSSL_PARAM_construct_end()};
    return c->cipher->cpu.get_ctx_params(c->cpu, params) ? bytes : 0;
}

int gcm_set_params(struct gcm_context *c, const OSSL_PARAM params[])
{
    struct own_params o;
    if (!read_own(c, params, &o))
        return 0;
    size_t iv_bytes = get_iv_length(c);
    c->iv_bytes = 0;
    c->again = -1;
    int ok = c->cipher->cpu.set_ctx_params(c->cpu, params);
    if (ok && OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TAG) != NULL)
        c->is_tagless = 0;
    /* Another length of the IV ends a message, as the default provider's context will say. */
    if (c->side == GCM_OURS ? (ok && names_tls(params)) || iv_bytes != get_iv_length(c)
                            : names_tls(params))
        gcm_leave_to_cpu(c, CPU_UNSUITED);
    /* Some may have been set where others were refused. */
    ok = apply_own(c, &o) && ok;
    if (o.memory != NULL || o.stream != NULL)
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
    OSSL_PARAM *memory = OSSL_PARAM_locate(params, PARAM_DEVICE_MEMORY);
    OSSL_PARAM *stream = OSSL_PARAM_locate(params, PARAM_CUDA_STREAM);
    if ((c->side == GCM_OURS || c->is_tagless) &&
        OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TAG) != NULL) {
        error_raise(c->provider, ERROR_OUT_OF_ORDER, "the tag of a message that has not ended");
        return 0;
    }
    /* Makes an IV, and begins a message. */
    int ok = c->cipher->cpu.get_ctx_params(c->cpu, params);
    if (OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN) != NULL &&
        (ok || c->side != GCM_OURS))
        gcm_leave_to_cpu(c, CPU_UNSUITED);
    return ok && (memory == NULL || OSSL_PARAM_set_uint(memory, c->device_memory != 0)) &&
           (stream == NULL || c->stream.binding == NULL ||
            OSSL_PARAM_set_uint64(stream, c->stream.handle));
}
