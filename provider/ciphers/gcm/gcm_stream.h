/*
 * Text that is queued on a CUDA stream of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_GCM_GCM_STREAM_H
#define GPUAES_PROVIDER_CIPHERS_GCM_GCM_STREAM_H

#include "provider/ciphers/gcm/gcm_state.h"

/* Binds the context to a stream, which may be another than before. On 0 there is none. */
int gcm_stream_open(struct gcm_context *context, uint64_t handle);

/*
 * Waits, adds the hash of what is queued to that of the message, and does so with what the
 * application has queued before. Returns 0 with an error raised if queued work failed, which is the
 * end of the message, or if the stream is captured. Without a stream it does nothing.
 */
int gcm_stream_sync(struct gcm_context *context);

/* Waits, and works without a stream from now on. Returns 0 where gcm_stream_sync() does. */
int gcm_stream_close(struct gcm_context *context);

/*
 * Drops the hash of what is queued, of a message that is given up, and queues that it is
 * overwritten. Its key must still be there. Where the stream takes no work, the next message or the
 * end of the context does that.
 */
void gcm_stream_drop(struct gcm_context *context);

/*
 * Queues whole blocks at a block boundary. Returns 1; 0 with an error raised; -1 where they cannot
 * be queued, or there is no stream: nothing was done, and the stream has been waited for.
 */
int gcm_stream_queue(struct gcm_context *context, const struct work *work);

#endif
