/*
 * The AES ciphers: one matrix of modes and key sizes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_CONTEXT_H
#define GPUAES_PROVIDER_CIPHERS_AES_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/gpuaes.h"
#include "provider/common/default_ciphers.h"
#include "provider/common/provider.h"
#include "provider/common/statistics.h"

/* M(bits, MODE, mode, names): one row per cipher, names as the default provider's. */
#define AES_CIPHERS(M)                                                                             \
    M(128, ECB, ecb, "AES-128-ECB:2.16.840.1.101.3.4.1.1")                                         \
    M(192, ECB, ecb, "AES-192-ECB:2.16.840.1.101.3.4.1.21")                                        \
    M(256, ECB, ecb, "AES-256-ECB:2.16.840.1.101.3.4.1.41")                                        \
    M(128, CBC, cbc, "AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2")                                  \
    M(192, CBC, cbc, "AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22")                                 \
    M(256, CBC, cbc, "AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42")                                 \
    M(128, CTR, ctr, "AES-128-CTR")                                                                \
    M(192, CTR, ctr, "AES-192-CTR")                                                                \
    M(256, CTR, ctr, "AES-256-CTR")

#define AES_DECLARE(bits, MODE, mode, names) extern const OSSL_DISPATCH aes_##bits##_##mode[];
AES_CIPHERS(AES_DECLARE)
#undef AES_DECLARE

/*
 * A cipher context. What every small update needs comes first, in one cache
 * line; the rest is for initialisation and for updates that may be offloaded.
 *
 * The default provider's context (`cpu`) holds the state of the cipher, always:
 * after the device has done a part, it is set to where that part ended. The bytes
 * that it holds back are asked of it, never stored a second time.
 */
struct aes_context {
    void *cpu;
    OSSL_FUNC_cipher_update_fn *cpu_update;
    OSSL_FUNC_cipher_cipher_fn *cpu_cipher;
    size_t small;                       /* updates of fewer bytes are the CPU's, and not counted */
    int64_t countdown;                  /* bytes until an update must take the long way */
    size_t large;                       /* updates of so many bytes must take it, too */
    struct gpuaes_keystream *keystream; /* NULL: it does not read ahead; see read_ahead.h */

    int64_t armed; /* what the countdown was set to */
    struct totals totals;
    enum cpu_reason others; /* why updates that do not take the long way are the CPU's */
    int stays_on_cpu;       /* so the last choice was; until the next initialisation */
    const struct cpu_cipher *functions;
    struct provider *provider;

    enum aes_mode mode;
    unsigned key_bytes;
    int encrypting;
    int key_encrypting; /* the direction that the key was given for */
    int has_key, has_iv;
    int tls;      /* TLS records: all of it is the CPU's */
    int finished; /* until the next initialisation, likewise */

    int iv_lent; /* the application has a pointer to the IV in `cpu`; see aes_get_params() */
    unsigned char key[32];
    int expanded;
    struct gpuaes_key schedule;

    struct {
        uint64_t run;                       /* bytes that the CPU has done of the stream */
        uint64_t retry_after;               /* the run at which to try again */
        unsigned char origin[GPUAES_BLOCK]; /* counter of position 0 */
        size_t checked_from;                /* updates of so many bytes may be device memory */
        int behind;                         /* `cpu` is not at the position */
        unsigned offset;                    /* of the position in its block */
        uint64_t partial;   /* where the last update that ended within a block did; 0: none */
        unsigned turns;     /* times that the end of what was made was reached */
        int useless;        /* it was seen to be no faster */
        unsigned sample_in; /* updates until one is timed; 0: none is */
    } ahead;

    struct aes_pipeline *pipeline; /* NULL: it is for one message; see pipeline.h */

    int device_memory; /* the parameter: pointers may be a device's */
    struct {
        struct gpuaes_stream_binding *queue; /* NULL: no stream is named */
        uint64_t handle;                     /* as it was given */
        int chained;                         /* the queue knows the IV, and `cpu` does not */
        int lost; /* nobody knows it: its device failed. Until an IV is given */
    } stream;
};

/* Dispatch functions, and what is behind others, for pipelines: each pipe is a context. */
OSSL_FUNC_cipher_freectx_fn aes_freectx;
OSSL_FUNC_cipher_update_fn aes_update;
OSSL_FUNC_cipher_final_fn aes_final;
int aes_init(struct aes_context *context, int encrypting, const unsigned char *key,
             size_t key_bytes, const unsigned char *iv, size_t iv_bytes, const OSSL_PARAM params[]);

/* As dupctx(), but for pipes, of which the copy has none. */
struct aes_context *aes_copy_context(const struct aes_context *original);

/* CUDA's handles that are no pointers. */
enum { AES_STREAM_LEGACY = 1, AES_STREAM_PER_THREAD = 2 };

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

/*
 * Adds to the totals, and sets `small` and the countdown for what the context is now good
 * for. Called after everything that changes it.
 */
void aes_update_thresholds(struct aes_context *context);

#endif
