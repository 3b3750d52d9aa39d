/*
 * Calls of libgpuaes that may call the driver, from wherever we are called.
 *
 * Where the caller's stack has no room for the driver (stack.h), a new thread makes the call and
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

/* Two ranges and the kinds of memory that they are; a range of no bytes is PAGEABLE. */
struct offload_places {
    const void *in, *out;
    size_t in_bytes, out_bytes;
    enum gpuaes_memory in_kind, out_kind;
};
/* Sets the kinds. Returns 1, or 0 if no thread could be created: then they are unknown. */
int offload_locate(struct offload_places *places);

/*
 * As gpuaes_copy(); NO_MEMORY also where no thread could be made. A device that has been
 * released since it was chosen, for want of work, is started again.
 */
enum gpuaes_status offload_copy(void *to, const void *from, size_t len);

/*
 * As gpuaes_aes(); BUSY also where no thread could be made. With GPUAES_WAIT, a device
 * that has been released since it was chosen, because it was idle, is started again.
 */
struct offload_aes {
    enum gpuaes_op op;
    const struct gpuaes_key *key;
    unsigned char *iv;
    const unsigned char *in;
    unsigned char *out;
    size_t bytes;
    unsigned flags;
    struct gpuaes_report *report;
};
enum gpuaes_status offload_aes(const struct offload_aes *work);

/* As gpuaes_base64_encode(), or, with `decodes`, gpuaes_base64_decode(). */
struct offload_base64 {
    const void *in;
    void *out;
    size_t bytes, line_length;
    unsigned flags;
    int decodes;
    size_t offset; /* of a wrong character */
};
enum gpuaes_status offload_base64(struct offload_base64 *work);

/*
 * As gpuaes_stream_binding_open() and so on; with `iv` NULL the queue continues. NO_MEMORY also
 * where no thread could be made. To open one, a device that has been released is started again.
 */
enum gpuaes_status offload_stream_binding_open(struct gpuaes_stream_binding **queue, void *stream,
                                               int device);
enum gpuaes_status offload_stream_binding_aes(struct gpuaes_stream_binding *queue,
                                              const struct offload_aes *work);
enum gpuaes_status offload_stream_binding_wait(struct gpuaes_stream_binding *queue,
                                               unsigned char iv[GPUAES_BLOCK]);
/* Where no thread can be made, the queue stays open until the process ends. */
void offload_stream_binding_close(struct gpuaes_stream_binding *queue);

/* As gpuaes_keystream_close(); likewise. */
void offload_keystream_close(struct gpuaes_keystream *keystream);

/* CUDA's ordinal of device `n` of those in use; -1 where there are not so many. */
int offload_device(unsigned n);

#endif
