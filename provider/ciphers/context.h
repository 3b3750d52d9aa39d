/*
 * Ciphers, and contexts of ECB, CBC, CTR and XTS: the default provider's context, the key, what was
 * counted, and the lengths from which updates are looked at.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_CONTEXT_H
#define GPUAES_PROVIDER_CIPHERS_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/gpuaes.h"
#include "provider/ciphers/device_calls.h"
#include "provider/common/provider.h"
#include "provider/common/statistics.h"
#include "provider/policy/policy.h"

/* ---- Ciphers -------------------------------------------------------------------------- */

/* A mode with one size of keys: a row of the table in dispatch.c. */
struct cipher {
    const char *names;        /* as the default provider's */
    const char *helper_names; /* another cipher of its that the CPU's part needs; or NULL */
    unsigned flags;
    unsigned key_bytes;                       /* of AES; a key of XTS is two of them */
    unsigned iv_bytes;                        /* 0: it has none */
    enum gpuaes_op op[2];                     /* of decryption and of encryption */
    const char *op_names[2];                  /* in logs */
    const struct read_ahead_door *read_ahead; /* NULL: no keystream is made ahead */
    const OSSL_DISPATCH *all_functions;       /* what EVP calls */

    /* Learnt from the default provider. */
    struct cpu_cipher cpu, helper;
    OSSL_PARAM gettable[32], settable[32]; /* the parameters of a context: both providers' */
    OSSL_DISPATCH functions[20];           /* without those that the default provider has not */
};

enum {
    /* Any length, without padding or buffer. */
    CIPHER_STREAM = 1,
    /*
     * A block depends on the ciphertext of the one before: one message's encryption is serial, and
     * what follows a decryption needs its last block of input as the IV.
     */
    CIPHER_CHAINED = 2,
    CIPHER_DEVICE_PARAMS = 4, /* contexts have the parameters of device_calls.h */
    /*
     * Each update is a data unit by itself, with the IV as its tweak, which stays. A key is two:
     * the second one is of tweaks.
     */
    CIPHER_UNITS = 8
};

/* Functions that each small update calls: they begin with a line of the instruction cache. */
#define HOT __attribute__((hot, aligned(64)))

/* ---- Contexts of ECB, CBC, CTR and XTS ---------------------------------------------------- */

/*
 * What every small update needs, in one cache line; see blocks_update.c.
 *
 * The default provider's context (`cpu`) holds the state of the cipher, always:
 * after the device has done a part, it is set to where that part ended. The bytes
 * that it holds back are asked of it, never stored a second time.
 */
struct blocks_hot {
    void *cpu;
    OSSL_FUNC_cipher_update_fn *cpu_update;
    OSSL_FUNC_cipher_cipher_fn *cpu_cipher;
    size_t small;                       /* updates of fewer bytes are the CPU's, and not counted */
    int64_t countdown;                  /* bytes until an update must take the long way */
    size_t large;                       /* updates of so many bytes must take it, too */
    struct gpuaes_keystream *keystream; /* NULL: it does not read ahead */
    int64_t armed;                      /* what the countdown was set to */
};

/* What was given at initialisation and since. */
struct blocks_state {
    int encrypting;
    int key_encrypting; /* the direction that the key was given for */
    int has_key, has_iv;
    int tls;             /* TLS records: all of it is the CPU's */
    int finished;        /* until the next initialisation, likewise */
    int stays_on_cpu;    /* so the last choice was; until the next initialisation */
    int iv_lent;         /* the application has a pointer to the IV in `cpu` */
    int device_memory;   /* the parameter: pointers may be a device's */
    int chained;         /* the stream's binding knows the IV, and `cpu` does not */
    int lost;            /* no text may follow what a device failed to do. Until an IV is given */
    int thresholds_stay; /* they are also those of a message with another IV */
    unsigned char key[64];
    int cpu_has_key; /* `cpu` was given one, this or another */
    int expanded;
    struct gpuaes_key schedule;
};

/* What read_ahead/ keeps of a context; a new one is all zeros. */
struct read_ahead_state {
    uint64_t run;                       /* bytes that the CPU has done of the stream */
    uint64_t retry_after;               /* the run at which to try again */
    unsigned char origin[GPUAES_BLOCK]; /* counter of position 0 */
    size_t checked_from;                /* updates of so many bytes may be device memory */
    int behind;                         /* `cpu` is not at the position */
    uint64_t partial;   /* where the last update that ended within a block did; 0: none */
    unsigned turns;     /* times that the end of what was made was reached */
    int useless;        /* it was seen to be no faster */
    unsigned sample_in; /* updates until one is timed; 0: none is */
};

struct blocks_context {
    struct blocks_hot hot;
    const struct cipher *cipher;
    struct provider *provider;
    struct totals totals;
    enum cpu_reason reason_if_small; /* why updates that do not take the long way are the CPU's */
    struct blocks_state state;
    struct stream stream;
    struct read_ahead_state ahead;
};

struct blocks_context *context_new(struct provider *provider, const struct cipher *cipher);
void context_free(struct blocks_context *context);

/* Copies the default provider's context and the key, and nothing that was counted. */
struct blocks_context *context_copy(const struct blocks_context *original);

/* ---- State ------------------------------------------------------------------------ */

void context_note_key(struct blocks_context *context, const unsigned char *key);
void context_forget_key(struct blocks_context *context);

/* Returns 1 if the context is in a state that the device can take over, 0 otherwise. */
int context_is_eligible(const struct blocks_context *context);

/* What the device does of a context's work, and the key schedule for it; NULL without a key. */
enum gpuaes_op context_op(const struct blocks_context *context);
const struct gpuaes_key *context_schedule(struct blocks_context *context);

/* ---- The default provider's context --------------------------------------------------- */

int context_get_uint(const struct blocks_context *context, const char *name, unsigned *value);
int context_set_uint(struct blocks_context *context, const char *name, unsigned value);

/*
 * Asks and tells it the IV that continues the message at a block boundary, if the cipher has one.
 * Return 0 if that fails.
 */
int context_get_iv(const struct blocks_context *context, unsigned char iv[GPUAES_BLOCK]);
int context_set_iv(struct blocks_context *context, const unsigned char iv[GPUAES_BLOCK]);

/* ---- Totals and thresholds ------------------------------------------------------------ */

/*
 * Forgets what a forked child finds counted, which is its parent's, and small updates that the
 * child itself has done since; but not `bytes`, of the update that is just being done.
 */
void context_forget_parent(struct blocks_context *context, size_t bytes);

/*
 * Adds the bytes that were counted down since the last time to the totals, but not `bytes`, of the
 * update that is just being done, which adds them where they are done. Returns all of them.
 */
uint64_t context_count(struct blocks_context *context, size_t bytes);

/* Hands what was counted to the statistics of the process. */
void context_flush_totals(struct blocks_context *context);

/*
 * Adds to the totals, and sets `small`, `large` and the countdown for what the context is now
 * good for. Call after everything that changes it.
 */
void context_set_thresholds(struct blocks_context *context);

/* ---- Updates -------------------------------------------------------------------------- */

/*
 * One call of update() or cipher(). What does a part of it moves `in` and `out` past that part:
 * this is always what is left.
 */
struct request {
    const unsigned char *in;
    size_t in_bytes;
    unsigned char *out;
    size_t outsize, written; /* bytes of room at `out`, and before it those that were written */
    int oneshot;
    unsigned bounced; /* sides in device memory: host buffers stand in for the CPU */

    /* Set by segments_cut(). */
    int is_cut;
    size_t buffered;          /* bytes that the context held back before */
    size_t writes;            /* bytes that the request will write in all */
    size_t head_in, head_out; /* the CPU's, to a block boundary; and the rest is its tail */
    size_t middle;            /* whole blocks for the device, in and out; 0: none */
};

/* Moves a request past what was done of it. */
void request_advance(struct request *request, size_t bytes, size_t written);

/* Lets the CPU do the next `bytes` of a request in host memory. */
int context_on_host(struct blocks_context *context, struct request *request, size_t bytes);

/*
 * The door to read_ahead/: CTR updates from keystream that a device makes ahead of them. While a
 * context reads ahead (`keystream` is not NULL), `update` gets all its updates first. The default
 * provider's context then lags behind: it is brought to the position when it is needed there.
 */
struct read_ahead_door {
    /* DECLINED: the CPU's context is at the position; `report` is to be told what became of it. */
    int (*update)(struct blocks_context *context, struct request *request);

    /*
     * Reports what became of an update that was declined: `written` bytes of output, and `bytes` of
     * the stream since the last report, by the CPU if `is_by_cpu`. Begins to read ahead once there
     * were enough of them. Returns the result, or REFUSED if the CPU's context could not be set.
     */
    int (*report)(struct blocks_context *context, int result, uint64_t bytes, size_t written,
                  int is_by_cpu);

    /* Counts small updates of the process towards a start of the device. */
    void (*count)(const struct provider *provider, uint64_t bytes);

    /* Bytes of the stream after which it may begin at the earliest; UINT64_MAX: never. */
    uint64_t (*distance)(const struct blocks_context *context);

    /* Synchronises the CPU's context with the position. With `ends` it reads ahead no more. */
    int (*sync)(struct blocks_context *context, int ends);

    /* The same for a copy of a context, which begins anew; the original stays as it is. */
    int (*copy)(struct blocks_context *copy, const struct blocks_context *original);
};

/* These do nothing for ciphers that do not read ahead. */
int context_sync_ahead(struct blocks_context *context);
int context_end_ahead(struct blocks_context *context);

#endif
