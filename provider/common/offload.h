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

/* Returns 1 if calls from here are made by a new thread, 0 if by the caller. */
int offload_needs_thread(void);

enum offload_call {
    OFFLOAD_LOCATE, /* gpuaes_memory_kind() of both ranges; one of no bytes is PAGEABLE */
    OFFLOAD_COPY,
    OFFLOAD_AES,
    OFFLOAD_ENCODE, /* gpuaes_base64_encode() */
    OFFLOAD_DECODE,
    OFFLOAD_BIND,  /* gpuaes_stream_binding_open() */
    OFFLOAD_QUEUE, /* gpuaes_stream_binding_aes() */
    OFFLOAD_WAIT,  /* gpuaes_stream_binding_wait() */
    OFFLOAD_CLOSE, /* `binding` and `keystream`, each of which may be NULL */
    OFFLOAD_DEVICE /* `device`, a number below that of devices in use, becomes its ordinal, or -1 */
};

/* One call with the arguments that it takes; see gpuaes.h. */
struct offload {
    enum offload_call call;
    int restarts; /* starts a device again that was released since it was chosen, being idle */
    enum gpuaes_op op;
    const struct gpuaes_key *key;
    unsigned char *iv;
    const void *in;
    void *out;
    size_t bytes;
    unsigned flags;
    struct gpuaes_report *report;
    size_t out_bytes;                     /* to locate */
    enum gpuaes_memory in_kind, out_kind; /* located */
    size_t line_length;                   /* Base64 */
    size_t offset;                        /* of a wrong character */
    struct gpuaes_stream_binding *binding;
    struct gpuaes_keystream *keystream;
    void *stream;
    int device;
    enum gpuaes_status status; /* of the call */
};

/*
 * Makes the call, and returns its status. NO_MEMORY also where no thread could be created: then
 * nothing was called, and what was to be closed stays open until the process ends.
 */
enum gpuaes_status offload(struct offload *call);

/* Returns CUDA's ordinal of device `n` of those in use; -1 where there are not so many. */
int offload_device(unsigned n);

#endif
