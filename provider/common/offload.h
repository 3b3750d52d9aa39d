/*
 * Calls of libgpuaes that may call the driver, from wherever we are called.
 *
 * Where the caller's stack has no room for the driver, a new thread makes the call and
 * the caller waits for it. Elsewhere the caller makes the call itself.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_OFFLOAD_H
#define GPUAES_PROVIDER_COMMON_OFFLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/gpuaes.h"
#include "provider/common/statistics.h"

/* Returns 1 if calls from here are made by a new thread, 0 if by the caller. */
int offload_needs_thread(void);

enum offload_call {
    OFFLOAD_LOCATE, /* gpuaes_memory_kind() of both ranges; one of no bytes is PAGEABLE */
    OFFLOAD_COPY,
    OFFLOAD_AES,
    OFFLOAD_GCM,
    OFFLOAD_ENCODE, /* gpuaes_base64_encode() */
    OFFLOAD_DECODE,
    OFFLOAD_BIND,  /* gpuaes_stream_binding_open() */
    OFFLOAD_QUEUE, /* gpuaes_stream_binding_aes() */
    OFFLOAD_QUEUE_GCM,
    OFFLOAD_WAIT,  /* gpuaes_stream_binding_wait() */
    OFFLOAD_HASH,  /* gpuaes_stream_binding_hash(), to gcm_state */
    OFFLOAD_CLOSE, /* `binding` and `keystream`, each of which may be NULL */
    OFFLOAD_DEVICE /* `device`, a number below that of devices in use, becomes its ordinal, or -1 */
};

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

struct model_cell;

/* One piece of work: policy_choose() decides who does it, and offload() calls libgpuaes for it. */
struct work {
    enum policy_work kind;
    unsigned key_bytes; /* 0 for Base64 */
    const void *in;
    void *out;
    size_t len, out_len; /* bytes of the input; bytes of the output, to locate it */
    int is_located;      /* the kinds of memory are known; else policy_choose() asks */
    enum gpuaes_memory in_kind, out_kind;

    /* What else calls take and give; see gpuaes.h. */
    const struct gpuaes_key *key;
    unsigned char *iv;
    const struct gpuaes_gcm_key *gcm_key;
    struct gpuaes_gcm_state *gcm_state;
    int begins;     /* the first text of a message that is queued */
    unsigned flags; /* GPUAES_WAIT: also starts a device again that was released, being idle */
    struct gpuaes_report *report;
    size_t line_length; /* Base64 */
    size_t offset;      /* of a wrong character */
    struct gpuaes_stream_binding *binding;
    struct gpuaes_keystream *keystream;
    void *stream;
    int device;
    enum offload_call call; /* the last one, and its status */
    enum gpuaes_status status;

    /* Set by policy_choose(): */
    enum work_memory memory;
    enum cpu_reason why;     /* where it chose the CPU, and if the device then fails */
    struct model_cell *cell; /* NULL: not to be observed */
    double line_ns[2];       /* by enum model_side */
    int64_t begun;
    double weight;
};

/*
 * Makes the call, and returns its status. NO_MEMORY also where no thread could be created: then
 * nothing was called, and what was to be closed stays open until the process ends.
 */
enum gpuaes_status offload(struct work *work, enum offload_call call);

/* Returns CUDA's ordinal of device `n` of those in use; -1 where there are not so many. */
int offload_device(unsigned n);

#endif
