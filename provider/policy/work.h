/*
 * Pieces of work, and what kinds of it there are.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_POLICY_WORK_H
#define GPUAES_PROVIDER_POLICY_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "base/key_size.h"
#include "cuda/gpuaes.h"
#include "provider/common/default_ciphers.h"
#include "provider/common/statistics.h"
#include "provider/policy/cost_model.h"

/* The kinds of work that are chosen for separately; those of AES are its operations. */
enum policy_work {
    WORK_ECB_ENCRYPT = GPUAES_ECB_ENCRYPT,
    WORK_ECB_DECRYPT = GPUAES_ECB_DECRYPT,
    WORK_CBC_DECRYPT = GPUAES_CBC_DECRYPT,
    WORK_CTR = GPUAES_CTR,
    WORK_CBC_ENCRYPT = GPUAES_CBC_ENCRYPT, /* never the device's: it is serial */
    WORK_GCM_ENCRYPT = GPUAES_GCM_ENCRYPT,
    WORK_GCM_DECRYPT = GPUAES_GCM_DECRYPT,
    WORK_XTS_ENCRYPT = GPUAES_XTS_ENCRYPT,
    WORK_XTS_DECRYPT = GPUAES_XTS_DECRYPT,
    WORK_BASE64_ENCODE,
    WORK_BASE64_DECODE,
    POLICY_WORKS
};

/* So are these kinds of memory. */
enum work_memory { MEMORY_PINNED, MEMORY_OUT_OF_PLACE, MEMORY_IN_PLACE, WORK_MEMORIES };

/* One piece of work. The caller sets what is above the line. */
struct work {
    enum policy_work kind;
    unsigned key_bytes; /* 0 for Base64 */
    const void *in;
    void *out;
    size_t len, out_len; /* bytes of the input; bytes of the output, to locate it */

    /* ---- Set by policy_choose(), and by policy_locate() the first line: */
    int is_located; /* the kinds of memory are known; else policy_choose() asks */
    enum gpuaes_memory in_kind, out_kind;
    enum work_memory memory;
    enum cpu_reason why;     /* where it chose the CPU, and if the device then fails */
    struct model_cell *cell; /* NULL: not to be observed */
    double line_ns[MODEL_SIDES];
    int64_t begun;
    double weight;
};

/* Returns 1 if the input or the output is known to be memory that the CPU cannot reach. */
static inline int work_is_on_device(const struct work *work)
{
    return work->is_located && (work->in_kind == GPUAES_DEVICE || work->out_kind == GPUAES_DEVICE);
}

/* What each kind of work is called, and how the CPU does it. The ciphers fill in those of AES. */
struct work_row {
    const char *name;
    int encrypts;
    const struct cpu_cipher *cpu[KEY_SIZES]; /* NULL for Base64 */
};
extern struct work_row work_rows[POLICY_WORKS];

#endif
