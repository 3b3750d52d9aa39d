/*
 * The table of AES ciphers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/blocks/modes.h"

#include <pthread.h>

#include "provider/ciphers/aes/parameters.h"
#include "provider/policy/policy.h"

struct aes_cipher aes_ciphers[AES_CIPHER_COUNT] = {
#define AES_ROW(bits, MODE, mode, names)                                                           \
    [AES_##bits##_##MODE] = {&aes_##mode, names, (bits) / 8, {0}, {{0}}, {{0}}},
    AES_CIPHERS(AES_ROW)
#undef AES_ROW
};

/* What the device does of a cipher. */
static void tell_policy(const struct aes_cipher *c)
{
    for (int encrypts = 0; encrypts < 2; encrypts++) {
        int op = (int)c->mode->op[encrypts];
        if (op == GPUAES_CBC_ENCRYPT) /* serial: the CPU's */
            continue;
        work_rows[op].name = c->mode->op_names[encrypts];
        work_rows[op].encrypts = encrypts;
        work_rows[op].cpu[key_size_index(c->key_bytes)] = &c->cpu;
    }
}

int aes_learn_ciphers(const struct cpu *cpu)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int learnt; /* the functions are libcrypto's, the same for the whole process */
    (void)pthread_mutex_lock(&lock);
    for (; learnt < AES_CIPHER_COUNT; learnt++) {
        struct aes_cipher *cipher = &aes_ciphers[learnt];
        if (!cpu_learn(cpu, cipher->names, &cipher->cpu, 1))
            break;
        cipher->cpu.iv_bytes = cipher->mode->iv_bytes;
        cipher->cpu.key_bytes = cipher->key_bytes;
        aes_list_params(cipher, cpu->context);
        tell_policy(cipher);
    }
    int ok = learnt == AES_CIPHER_COUNT;
    (void)pthread_mutex_unlock(&lock);
    return ok;
}
