/*
 * The table of AES-GCM ciphers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/gcm/cipher.h"

#include <pthread.h>

#include "provider/ciphers/gcm/dispatch.h"
#include "provider/ciphers/gcm/parameters.h"
#include "provider/policy/policy.h"

struct gcm_cipher gcm_ciphers[GCM_CIPHER_COUNT] = {
#define GCM_ROW(bits, names, ctr)                                                                  \
    [GCM_##bits] = {names, ctr, (bits) / 8, {0}, {0}, {{0}}, {{0}}, {{0}}},
    GCM_CIPHERS(GCM_ROW)
#undef GCM_ROW
};

static void tell_policy(const struct gcm_cipher *c)
{
    static const char *const names[] = {"GCM decrypt", "GCM encrypt"};
    for (int encrypts = 0; encrypts < 2; encrypts++) {
        struct work_row *row = &work_rows[encrypts ? WORK_GCM_ENCRYPT : WORK_GCM_DECRYPT];
        row->name = names[encrypts];
        row->encrypts = encrypts;
        row->cpu[key_size_index(c->key_bytes)] = &c->cpu;
    }
}

/* Copies a table without what the default provider cannot do, either. */
static void fill_functions(OSSL_DISPATCH *to, const OSSL_DISPATCH *from,
                           const struct cpu_cipher *cpu)
{
    for (; from->function_id != 0; from++)
        if (from->function_id != OSSL_FUNC_CIPHER_DUPCTX || cpu->dupctx != NULL)
            *to++ = *from;
}

static int learn(struct gcm_cipher *c, const OSSL_DISPATCH *functions, const struct cpu *cpu)
{
    enum { USUAL_IV = 12 };
    if (!cpu_learn(cpu, c->names, &c->cpu, 0) || !cpu_learn(cpu, c->ctr_names, &c->ctr, 1))
        return 0;
    c->cpu.iv_bytes = USUAL_IV;
    c->cpu.key_bytes = c->key_bytes;
    c->ctr.iv_bytes = GPUAES_BLOCK;
    gcm_list_params(c, cpu->context);
    fill_functions(c->functions, functions, &c->cpu);
    tell_policy(c);
    return 1;
}

int gcm_learn_ciphers(const struct cpu *cpu)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int learnt; /* the functions are libcrypto's, the same for the whole process */
    (void)pthread_mutex_lock(&lock);
    while (learnt < GCM_CIPHER_COUNT && learn(&gcm_ciphers[learnt], gcm_functions[learnt], cpu))
        learnt++;
    int ok = learnt == GCM_CIPHER_COUNT;
    (void)pthread_mutex_unlock(&lock);
    return ok;
}
