/*
 * What contexts of all modes have devices do: whole blocks, copies, and work that is queued on CUDA
 * streams of the application; with the parameters that name device memory and streams.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_DEVICE_CALLS_H
#define GPUAES_PROVIDER_CIPHERS_DEVICE_CALLS_H

#include <openssl/params.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/gpuaes.h"
#include "provider/common/statistics.h"
#include "provider/policy/work.h"

struct provider;

/* ---- Whole blocks -------------------------------------------------------------------------- */

/* The result of a part of the way. DECLINED: another part is to do the rest. */
enum { REFUSED = 0, DONE = 1, DECLINED = -1 };

/* What gpuaes_aes() takes or, with a key of GCM, gpuaes_gcm(); or the functions of a stream. */
struct device_call {
    enum gpuaes_op op;
    const struct gpuaes_key *key;         /* AES */
    unsigned char *iv;                    /* AES; NULL continues the chain of a stream */
    const struct gpuaes_gcm_key *gcm_key; /* GCM, and then this: */
    struct gpuaes_gcm_state *state;
    const unsigned char *in;
    unsigned char *out;
    size_t len;
    unsigned flags;
    struct gpuaes_report *report; /* of 0 shards before the call; not for a stream */
    int is_written;               /* set by device_judge() */
};

/*
 * Judges a call that run_on_big_stack() made for a part of `work`. Returns DONE where the devices
 * did all of it. DECLINED: the CPU is to do what the report leaves, which is counted as its bytes.
 * REFUSED, with an error raised: a range cannot be used, or the output is undefined; nothing more
 * may be done. call->is_written says then whether a device may have written output.
 */
int device_judge(const struct provider *provider, struct totals *totals, const struct work *work,
                 struct device_call *call, enum gpuaes_status status);

/* ---- The parameters device-memory and cuda-stream ------------------------------------------ */

/* What a call names of them; what it does not name stays as it is. */
struct device_params {
    int names_memory, names_stream;
    unsigned memory; /* 0 or 1 */
    uint64_t stream; /* handle, as it was given */
};

/*
 * Fills a list of `most` parameters: these two, if `has_own`, those of `default_params` for which
 * there is room, the end.
 */
void device_params_list(OSSL_PARAM *list, size_t most, const OSSL_PARAM *default_params,
                        int has_own);

/*
 * Reads them. `has_memory`: the context works on device memory so far; `is_tls`: on TLS records.
 * Returns 0 with an error raised for a value that cannot be set.
 */
int device_params_read(struct provider *provider, const OSSL_PARAM params[], int has_memory,
                       int is_tls, struct device_params *read);

/* Writes them where `params` has them. `stream`: the handle, or NULL for none. Returns 0 on error.
 */
int device_params_write(OSSL_PARAM params[], int has_memory, const uint64_t *stream);

/* ---- Copies -------------------------------------------------------------------------------- */

/* Copies, and waits for it. Returns 0 with an error raised if that fails. */
int device_copy(const struct provider *provider, void *to, const void *from, size_t bytes);

/* ---- Streams ------------------------------------------------------------------------------- */

/* The parameter cuda-stream of a context. */
struct stream {
    struct gpuaes_stream_binding *binding; /* NULL: no stream is named */
    uint64_t handle;                       /* as it was given */
};

/* Returns 1 for the legacy default stream, which each device has one of. */
int stream_is_legacy(const struct stream *stream);

/*
 * Binds to the stream of stream->handle; the legacy default stream is that of the first device in
 * use. Returns 0 with an error raised if that fails: there is no binding then.
 */
int stream_bind(const struct provider *provider, struct stream *stream);

/* Binds to the legacy default stream of a device. */
enum gpuaes_status stream_bind_legacy(struct gpuaes_stream_binding **binding, int device);

/* Gives a binding up without waiting for it. NULL is ignored. */
void stream_unbind(struct gpuaes_stream_binding **binding);

/* gpuaes_stream_binding_aes() or, with a key of GCM, gpuaes_stream_binding_gcm() with `begins`. */
enum gpuaes_status stream_queue(struct gpuaes_stream_binding *binding,
                                const struct device_call *call, int begins);

/*
 * gpuaes_stream_binding_wait(), where `iv` may be NULL; or, with a key,
 * gpuaes_stream_binding_hash(). On another status than OK an error is raised.
 */
enum gpuaes_status stream_wait(const struct provider *provider,
                               struct gpuaes_stream_binding *binding, unsigned char *iv,
                               const struct gpuaes_gcm_key *gcm_key, unsigned char *hash);

/* Returns 1 if a call with that status has left all as it was, and can be repeated. */
int stream_can_repeat(enum gpuaes_status status);

/* Raises the error of a captured stream, or of a device that failed. */
void stream_raise(const struct provider *provider, enum gpuaes_status status);

#endif
