/*
 * CTR updates from keystream that a device makes ahead of them.
 *
 * While a context reads ahead (`keystream` is not NULL), all its updates come here.
 * The default provider's context then lags behind: it is brought to the position when
 * it is needed there.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_READ_AHEAD_H
#define GPUAES_PROVIDER_CIPHERS_AES_READ_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/gpuaes.h"

struct aes_context;
struct request;

struct aes_read_ahead {
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

/*
 * An update of a context that reads ahead. DECLINED: the CPU's context is at the position, for
 * other handlers; aes_read_ahead_note() is to be told their result.
 */
int aes_read_ahead_update(struct aes_context *context, struct request *request);

/*
 * Reports the result of other handlers: `written` bytes of output, and `bytes` of the stream since
 * the last report, by the CPU if `is_cpus`. Begins to read ahead once there were enough of them.
 * Returns the result, or REFUSED if the CPU's context could not be set.
 */
int aes_read_ahead_note(struct aes_context *context, int result, uint64_t bytes, size_t written,
                        int is_cpus);

/* Bytes of the stream after which that may happen at the earliest; UINT64_MAX: never. */
uint64_t aes_read_ahead_distance(const struct aes_context *context);

/* Reports that the stream ends, or is no longer one. */
void aes_read_ahead_forget_run(struct aes_context *context);

/* Synchronises the CPU's context with the position. Returns 0 on failure. */
int aes_read_ahead_sync(struct aes_context *context);

/* The same, and reads ahead no more. */
int aes_read_ahead_end(struct aes_context *context);

/* The same for a copy of a context, which begins anew; the original stays as it is. */
int aes_read_ahead_copy(struct aes_context *copy, const struct aes_context *original);

#endif
