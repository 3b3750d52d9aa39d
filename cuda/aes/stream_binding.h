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
 * Marks where the binding's work on its stream begins. Fails where the stream takes no work, and
 * where memory is too short for events: nothing may be queued then. The device has been told of it.
 */
enum gpuaes_status stream_binding_begin(struct gpuaes_stream_binding *binding);

/*
 * Marks where that work ends. Call it whenever the work has begun: a part of it is on the stream
 * where queueing failed. Returns `result`, which is what queueing returned, or why this failed.
 */
drv_result stream_binding_end(struct gpuaes_stream_binding *binding, drv_result result);

/* ---- gcm_binding.c ---- */

/*
 * Overwrites the powers of H, and sums, of messages that were given up. Nothing of them is under
 * way. Where memory is too short for that, the powers stay, and the binding no longer has the
 * memory that they lie in: nobody gets it until the context ends.
 */
drv_result gcm_binding_wipe(struct gpuaes_stream_binding *binding);

/* Overwrites what the CPU can reach of that, also where the device has failed. */
void gcm_binding_cleanse(struct gpuaes_stream_binding *binding);

/* The same after stream_binding_enter() has refused; nothing is entered. */
void gcm_binding_cleanse_refused(struct gpuaes_stream_binding *binding);

#endif
