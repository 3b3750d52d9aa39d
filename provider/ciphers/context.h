/*
 * The state of one AES message.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_CONTEXT_H
#define GPUAES_PROVIDER_CIPHERS_AES_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "provider/ciphers/blocks/blocks_device.h"
#include "provider/ciphers/blocks/modes.h"
#include "provider/ciphers/read_ahead/read_ahead.h"
#include "provider/common/provider.h"
#include "provider/common/statistics.h"

/*
 * What every small update needs, in one cache line; see update.c.
 *
 * The default provider's context (`cpu`) holds the state of the cipher, always:
 * after the device has done a part, it is set to where that part ended. The bytes
 * that it holds back are asked of it, never stored a second time.
 */
struct aes_hot {
    void *cpu;
    OSSL_FUNC_cipher_update_fn *cpu_update;
    OSSL_FUNC_cipher_cipher_fn *cpu_cipher;
    size_t small;                       /* updates of fewer bytes are the CPU's, and not counted */
    int64_t countdown;                  /* bytes until an update must take the long way */
    size_t large;                       /* updates of so many bytes must take it, too */
    struct gpuaes_keystream *keystream; /* NULL: it does not read ahead; see read_ahead.h */
    int64_t armed;                      /* what the countdown was set to */
};

/* What was given at initialisation and since. */
struct aes_state {
    int encrypting;
    int key_encrypting; /* the direction that the key was given for */
    int has_key, has_iv;
    int tls;           /* TLS records: all of it is the CPU's */
    int finished;      /* until the next initialisation, likewise */
    int stays_on_cpu;  /* so the last choice was; until the next initialisation */
    int iv_lent;       /* the application has a pointer to the IV in `cpu`; see aes_get_params() */
    int device_memory; /* the parameter: pointers may be a device's */
    unsigned char key[32];
    int expanded;
    struct gpuaes_key schedule;
};

struct aes_context {
    struct aes_hot hot;
    const struct aes_cipher *cipher;
    const struct aes_mode *mode; /* the cipher's */
    struct provider *provider;
    struct totals totals;
    enum cpu_reason others; /* why updates that do not take the long way are the CPU's */
    struct aes_state state;
    struct aes_read_ahead ahead;
    struct aes_stream stream;
};

struct aes_context *aes_context_new(struct provider *provider, const struct aes_cipher *cipher);
void aes_context_free(struct aes_context *context);

/* Copies the default provider's context and the key, and nothing that was counted. */
struct aes_context *aes_context_copy(const struct aes_context *original);

/* ---- State ------------------------------------------------------------------------ */

void aes_note_key(struct aes_context *context, const unsigned char *key);
void aes_forget_key(struct aes_context *context);

/* Returns 1 if the context is in a state that the device can take over, 0 otherwise. */
int aes_is_eligible(const struct aes_context *context);

/* Returns 1 if one message's blocks cannot be done in parallel, 0 otherwise. */
int aes_is_serial(const struct aes_context *context);

/* What the device does of a context's work, and the key schedule for it; NULL without a key. */
enum gpuaes_op aes_op(const struct aes_context *context);
const struct gpuaes_key *aes_schedule(struct aes_context *context);

/* ---- Totals ----------------------------------------------------------------------- */

/*
 * What a forked child finds counted is its parent's, and is forgotten; so are small updates that
 * the child itself has done since. Not so `bytes`, of the update that is just being done.
 */
void aes_count_own(struct aes_context *context, size_t bytes);

/*
 * Adds the bytes that were counted down since the last time to the totals. Not so `bytes`, of the
 * update that is just being done, which adds them where they are done. Returns all of them.
 */
uint64_t aes_add_to_totals(struct aes_context *context, size_t bytes);

/* Hands what was counted to the statistics of the process. */
void aes_flush_totals(struct aes_context *context);

#endif
