/*
 * The state of the library's device, and updates of the application's memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/device_state.h"

enum gpuaes_state device_state(void)
{
    return LIBRARY(gpuaes_state)();
}

int device_becomes(enum gpuaes_state wanted)
{
    return COMES(device_state() == wanted);
}

/* ---- Updates of the application's memory ---------------------------------- */

struct pair pair_open(const char *name, int encrypt, enum place from, enum place to, int asks,
                      size_t bytes)
{
    static const unsigned char key[32] = "a key", iv[16] = "\xff\xff";
    struct pair p = {.from = from, .to = to};
    unsigned value = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &value), OSSL_PARAM_END};
    for (int i = 0; i < 2; i++) {
        p.context[i] = context_open(i == 0, name, key, iv, encrypt, i == 0 && asks ? params : NULL);
        if (p.context[i] == NULL)
            abort();
        EVP_CIPHER_CTX_set_padding(p.context[i], 0);
    }
    p.in = application_alloc(from, bytes);
    p.out = application_alloc(to, bytes);
    p.plain = malloc(bytes + 16);
    p.got = malloc(bytes + 16);
    p.expected = malloc(bytes + 16);
    memset(p.plain, 0x5a, bytes);
    if (!application_write(from, p.in, p.plain, bytes))
        abort();
    return p;
}

void pair_close(struct pair *p)
{
    for (int i = 0; i < 2; i++)
        EVP_CIPHER_CTX_free(p->context[i]);
    application_free(p->from, p->in);
    application_free(p->to, p->out);
    free(p->plain);
    free(p->got);
    free(p->expected);
}

int pair_update(struct pair *p, int bytes)
{
    int n[2];
    return EVP_CipherUpdate(p->context[0], p->out, &n[0], p->in, bytes) &&
           EVP_CipherUpdate(p->context[1], p->expected, &n[1], p->plain, bytes) && n[0] == n[1] &&
           application_read(p->got, p->to, p->out, (size_t)n[0]) &&
           memcmp(p->got, p->expected, (size_t)n[0]) == 0;
}

int pair_tags_agree(struct pair *p)
{
    unsigned char tags[2][16] = {{1}, {2}}, nothing[16];
    int n;
    for (int i = 0; i < 2; i++)
        if (!EVP_CipherFinal_ex(p->context[i], nothing, &n) ||
            EVP_CIPHER_CTX_ctrl(p->context[i], EVP_CTRL_AEAD_GET_TAG, sizeof tags[i], tags[i]) <= 0)
            return 0;
    return memcmp(tags[0], tags[1], sizeof tags[0]) == 0;
}
