/*
 * What a binding to a stream of the application consists of, and the steps that its calls share.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_AES_STREAM_BINDING_H
#define GPUAES_CUDA_AES_STREAM_BINDING_H

#include "cuda/aes/stream_events.h"
#include "cuda/memory/memory_kind.h"
#include "cuda/runtime/runtime.h"

struct gpuaes_stream_binding {
    struct device *device;
    drv_stream stream;
    struct block memory, large_memory;
    drv_ptr next; /* one block of the memory; the scratch memory follows it */
    struct kernels_scratch scratch;
    struct kernels_scratch large; /* of 0 bytes: there is none */
    struct stream_events events;  /* what of the stream is ours */
    int chained;                  /* `next` holds a block */
    struct block read_back;       /* pinned: a block, for the CPU */

    /* GCM: scratch memory, and room for the sums of two launches, pinned. Of 0 bytes: none. */
    struct block gcm_memory, gcm_sums;
    struct kernels_sums sums; /* of the launch before */
    uint64_t hashed;          /* blocks whose hash that is; 0: none, and `sums` is empty */
};

/* Enters the binding's device, unless it is lost. */
enum gpuaes_status stream_binding_enter(struct gpuaes_stream_binding *binding,
                                        struct runtime_guard *guard);

/*
 * Begin and end the binding's work on its stream. To begin fails where the stream takes no work.
 * Only where it has not, the end is called, also where something in between has failed: `result` is
 * that of it, and of both.
 */
drv_result stream_binding_begin(struct gpuaes_stream_binding *binding);
drv_result stream_binding_end(struct gpuaes_stream_binding *binding, drv_result result);

#endif
