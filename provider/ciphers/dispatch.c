/*
 * The table of all ciphers of AES, and what EVP calls.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/dispatch.h"

#include <pthread.h>

#include "base/gcm.h"
#include "provider/ciphers/blocks/blocks.h"
#include "provider/ciphers/blocks/blocks_update.h"
#include "provider/ciphers/gcm/gcm_context.h"
#include "provider/ciphers/gcm/gcm_update.h"
#include "provider/ciphers/read_ahead/read_ahead.h"
#include "provider/common/core_3_5.h"
#include "provider/keys/skey.h"

/* ---- What EVP calls --------------------------------------------------------------------- */

SKEY_INITS(blocks)
SKEY_INITS(gcm)

/* Functions without a context, and newctx: EVP finds the cipher by them. */
#define CIPHER_FUNCTIONS(bits, MODE, room, names)                                                  \
    static OSSL_FUNC_cipher_newctx_fn newctx_##bits##_##MODE;                                      \
    static OSSL_FUNC_cipher_get_params_fn get_params_##bits##_##MODE;                              \
    static OSSL_FUNC_cipher_gettable_params_fn gettable_params_##bits##_##MODE;                    \
    static OSSL_FUNC_cipher_gettable_ctx_params_fn gettable_##bits##_##MODE;                       \
    static OSSL_FUNC_cipher_settable_ctx_params_fn settable_##bits##_##MODE;                       \
    static void *newctx_##bits##_##MODE(void *provider)                                            \
    {                                                                                              \
        return room##_new(provider, &ciphers[AES_##bits##_##MODE]);                                \
    }                                                                                              \
    static int get_params_##bits##_##MODE(OSSL_PARAM params[])                                     \
    {                                                                                              \
        return ciphers[AES_##bits##_##MODE].cpu.get_params(params);                                \
    }                                                                                              \
    static const OSSL_PARAM *gettable_params_##bits##_##MODE(void *provider)                       \
    {                                                                                              \
        void *cpu = ((struct provider *)provider)->cpu.context;                                    \
        return ciphers[AES_##bits##_##MODE].cpu.gettable_params(cpu);                              \
    }                                                                                              \
    static const OSSL_PARAM *gettable_##bits##_##MODE(void *context, void *provider)               \
    {                                                                                              \
        (void)context;                                                                             \
        (void)provider;                                                                            \
        return ciphers[AES_##bits##_##MODE].gettable;                                              \
    }                                                                                              \
    static const OSSL_PARAM *settable_##bits##_##MODE(void *context, void *provider)               \
    {                                                                                              \
        (void)context;                                                                             \
        (void)provider;                                                                            \
        return ciphers[AES_##bits##_##MODE].settable;                                              \
    }
CIPHERS(CIPHER_FUNCTIONS)

#define CIPHER_TABLE(bits, MODE, room, names)                                                      \
    static const OSSL_DISPATCH functions_##bits##_##MODE[] = {                                     \
        FUNCTION(OSSL_FUNC_CIPHER_NEWCTX, newctx_##bits##_##MODE),                                 \
        FUNCTION(OSSL_FUNC_CIPHER_FREECTX, room##_free),                                           \
        FUNCTION(OSSL_FUNC_CIPHER_DUPCTX, room##_copy),                                            \
        FUNCTION(OSSL_FUNC_CIPHER_ENCRYPT_INIT, room##_encrypt_init),                              \
        FUNCTION(OSSL_FUNC_CIPHER_DECRYPT_INIT, room##_decrypt_init),                              \
        FUNCTION(OSSL_FUNC_CIPHER_UPDATE, room##_update),                                          \
        FUNCTION(OSSL_FUNC_CIPHER_FINAL, room##_final),                                            \
        FUNCTION(OSSL_FUNC_CIPHER_CIPHER, room##_cipher),                                          \
        FUNCTION(OSSL_FUNC_CIPHER_GET_PARAMS, get_params_##bits##_##MODE),                         \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_PARAMS, gettable_params_##bits##_##MODE),               \
        FUNCTION(OSSL_FUNC_CIPHER_GET_CTX_PARAMS, room##_get_params),                              \
        FUNCTION(OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, gettable_##bits##_##MODE),                  \
        FUNCTION(OSSL_FUNC_CIPHER_SET_CTX_PARAMS, room##_set_params),                              \
        FUNCTION(OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, settable_##bits##_##MODE),                  \
        FUNCTION(CIPHER_ENCRYPT_SKEY_INIT, room##_encrypt_skey_init),                              \
        FUNCTION(CIPHER_DECRYPT_SKEY_INIT, room##_decrypt_skey_init),                              \
        {0, NULL}};
CIPHERS(CIPHER_TABLE)

/* ---- The table -------------------------------------------------------------------------- */

/* What the rows of a mode have in common. The GPU's part of CBC encryption is of batches alone. */
#define IS_ECB(bits)                                                                               \
    .op = {GPUAES_ECB_DECRYPT, GPUAES_ECB_ENCRYPT}, .op_names = {"ECB decrypt", "ECB encrypt"},    \
    .flags = CIPHER_DEVICE_PARAMS
#define IS_CBC(bits)                                                                               \
    .op = {GPUAES_CBC_DECRYPT, GPUAES_CBC_ENCRYPT}, .op_names = {"CBC decrypt", "CBC encrypt"},    \
    .iv_bytes = GPUAES_BLOCK, .flags = CIPHER_CHAINED | CIPHER_DEVICE_PARAMS
#define IS_CTR(bits)                                                                               \
    .op = {GPUAES_CTR, GPUAES_CTR}, .op_names = {"CTR", "CTR"}, .iv_bytes = GPUAES_BLOCK,          \
    .flags = CIPHER_STREAM | CIPHER_DEVICE_PARAMS, .read_ahead = &read_ahead
#define IS_GCM(bits)                                                                               \
    .op = {GPUAES_GCM_DECRYPT, GPUAES_GCM_ENCRYPT}, .op_names = {"GCM decrypt", "GCM encrypt"},    \
    .iv_bytes = GCM_USUAL_IV, .flags = CIPHER_DEVICE_PARAMS, .helper_names = "AES-" #bits "-CTR"
#define IS_XTS(bits)                                                                               \
    .op = {GPUAES_XTS_DECRYPT, GPUAES_XTS_ENCRYPT}, .op_names = {"XTS decrypt", "XTS encrypt"},    \
    .iv_bytes = GPUAES_BLOCK, .flags = CIPHER_STREAM | CIPHER_UNITS,                               \
    .helper_names = "AES-" #bits "-ECB"

struct cipher ciphers[CIPHER_COUNT] = {
#define CIPHER_ROW(bits, MODE, room, cipher_names)                                                 \
    [AES_##bits##_##MODE] = {IS_##MODE(bits), .names = (cipher_names), .key_bytes = (bits) / 8,    \
                             .all_functions = functions_##bits##_##MODE},
    CIPHERS(CIPHER_ROW)
#undef CIPHER_ROW
};

/* ---- What is learnt --------------------------------------------------------------------- */

/* What the device does of a cipher. CBC encryption is serial: the CPU's. */
static void tell_policy(const struct cipher *c)
{
    for (int encrypts = 0; encrypts < 2; encrypts++) {
        struct work_row *row = &work_rows[c->op[encrypts]];
        if (c->op[encrypts] == GPUAES_CBC_ENCRYPT)
            continue;
        row->name = c->op_names[encrypts];
        row->encrypts = encrypts;
        row->cpu[key_size_index(c->key_bytes)] = &c->cpu;
    }
}

/* OpenSSL 3.0 cannot copy contexts of GCM. */
static void fill_functions(struct cipher *c)
{
    OSSL_DISPATCH *to = c->functions;
    for (const OSSL_DISPATCH *from = c->all_functions; from->function_id != 0; from++)
        if (from->function_id != OSSL_FUNC_CIPHER_DUPCTX || c->cpu.dupctx != NULL)
            *to++ = *from;
}

static int learn(struct cipher *c, const struct cpu *cpu)
{
    enum { MOST = sizeof c->gettable / sizeof c->gettable[0] };
    int is_gcm = c->op[1] == GPUAES_GCM_ENCRYPT, has_own = (c->flags & CIPHER_DEVICE_PARAMS) != 0;
    if (!cpu_learn(cpu, c->names, &c->cpu, !is_gcm) ||
        (c->helper_names != NULL && !cpu_learn(cpu, c->helper_names, &c->helper, 1)))
        return 0;
    c->cpu.iv_bytes = c->iv_bytes;
    c->cpu.key_bytes = (c->flags & CIPHER_UNITS) != 0 ? 2 * (size_t)c->key_bytes : c->key_bytes;
    device_params_list(c->gettable, MOST, c->cpu.gettable_ctx_params(NULL, cpu->context), has_own);
    device_params_list(c->settable, MOST, c->cpu.settable_ctx_params(NULL, cpu->context), has_own);
    fill_functions(c);
    tell_policy(c);
    return 1;
}

int learn_ciphers(const struct cpu *cpu)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int learnt; /* the functions are libcrypto's, the same for the whole process */
    (void)pthread_mutex_lock(&lock);
    while (learnt < CIPHER_COUNT && learn(&ciphers[learnt], cpu))
        learnt++;
    int ok = learnt == CIPHER_COUNT;
    (void)pthread_mutex_unlock(&lock);
    return ok;
}
