/*
 * Whole blocks, copies, and CUDA streams of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/device_calls.h"

#include <string.h>

#include "provider/common/big_stack.h"
#include "provider/common/errors.h"
#include "provider/policy/policy.h"

/* ---- Whole blocks --------------------------------------------------------------------------- */

int device_judge(const struct provider *provider, struct totals *totals, const struct work *work,
                 struct device_call *call, enum gpuaes_status status)
{
    struct gpuaes_report *report = call->report;
    size_t done = 0;
    if (status == GPUAES_OK) {
        policy_done(work, MODEL_GPU);
        return DONE;
    }
    policy_explain_failure(provider, status);
    if (report->shards == 0) { /* no thread could be made for the call */
        report->shards = 1;
        report->shard[0] = (struct gpuaes_shard){.bytes = call->len};
        memcpy(report->shard[0].iv, call->gcm_key != NULL ? call->state->counter : call->iv,
               GPUAES_BLOCK);
    }
    for (unsigned i = 0; i < report->shards; i++)
        done += report->shard[i].done;
    if (status == GPUAES_UNDEFINED || status == GPUAES_BAD_RANGE) {
        call->is_written = status == GPUAES_UNDEFINED || done != 0;
        error_raise(provider,
                    status == GPUAES_BAD_RANGE ? ERROR_BAD_DEVICE_RANGE : ERROR_OUTPUT_UNDEFINED,
                    "after %zu of %zu bytes", done, call->len);
        return REFUSED;
    }
    totals->cpu_bytes[CPU_FAILED] += call->len - done;
    return DECLINED;
}

/* ---- Parameters ----------------------------------------------------------------------------- */

#define PARAM_DEVICE_MEMORY "device-memory"
#define PARAM_CUDA_STREAM "cuda-stream"

enum { STREAM_PER_THREAD = 2 }; /* CUDA's handle */

static const OSSL_PARAM own[] = {OSSL_PARAM_uint(PARAM_DEVICE_MEMORY, NULL),
                                 OSSL_PARAM_uint64(PARAM_CUDA_STREAM, NULL), OSSL_PARAM_END};

void device_params_list(OSSL_PARAM *list, size_t most, const OSSL_PARAM *default_params,
                        int has_own)
{
    size_t n = has_own ? sizeof own / sizeof own[0] - 1 : 0;
    memcpy(list, own, n * sizeof own[0]);
    for (; default_params->key != NULL && n < most - 1; default_params++)
        list[n++] = *default_params;
    list[n] = own[sizeof own / sizeof own[0] - 1];
}

int device_params_read(struct provider *provider, const OSSL_PARAM params[], int has_memory,
                       int is_tls, struct device_params *p)
{
    const OSSL_PARAM *memory = OSSL_PARAM_locate_const(params, PARAM_DEVICE_MEMORY);
    const OSSL_PARAM *stream = OSSL_PARAM_locate_const(params, PARAM_CUDA_STREAM);
    *p = (struct device_params){.names_memory = memory != NULL, .names_stream = stream != NULL};
    if (memory != NULL && (!OSSL_PARAM_get_uint(memory, &p->memory) || p->memory > 1))
        error_raise(provider, ERROR_BAD_PARAMETER, PARAM_DEVICE_MEMORY " must be 0 or 1");
    else if (stream != NULL &&
             (!OSSL_PARAM_get_uint64(stream, &p->stream) || p->stream == STREAM_PER_THREAD))
        error_raise(provider, ERROR_BAD_PARAMETER,
                    PARAM_CUDA_STREAM " must be a CUstream, 0 for the legacy default stream;"
                                      " that of each thread is not one stream");
    else if (stream != NULL && memory != NULL && p->memory == 0)
        error_raise(provider, ERROR_BAD_PARAMETER,
                    PARAM_CUDA_STREAM " and " PARAM_DEVICE_MEMORY "=0 exclude each other");
    else if (is_tls && (stream != NULL || (memory != NULL ? p->memory != 0 : has_memory)))
        error_raise(provider, ERROR_DEVICE_MEMORY, "TLS records are the CPU's work");
    else
        return 1;
    return 0;
}

int device_params_write(OSSL_PARAM params[], int has_memory, const uint64_t *stream)
{
    OSSL_PARAM *memory = OSSL_PARAM_locate(params, PARAM_DEVICE_MEMORY);
    OSSL_PARAM *handle = OSSL_PARAM_locate(params, PARAM_CUDA_STREAM);
    return (memory == NULL || OSSL_PARAM_set_uint(memory, has_memory != 0)) &&
           (handle == NULL || stream == NULL || OSSL_PARAM_set_uint64(handle, *stream));
}

/* ---- Copies --------------------------------------------------------------------------------- */

struct copy {
    void *to;
    const void *from;
    size_t bytes;
};

static enum gpuaes_status run_copy(void *arg)
{
    const struct copy *copy = arg;
    return gpuaes_copy(copy->to, copy->from, copy->bytes);
}

int device_copy(const struct provider *provider, void *to, const void *from, size_t bytes)
{
    struct copy copy = {to, from, bytes};
    enum gpuaes_status status =
        bytes == 0 ? GPUAES_OK : run_on_big_stack(run_copy, &copy, GPUAES_WAIT);
    if (status == GPUAES_OK)
        return 1;
    if (status == GPUAES_BUSY)
        error_raise(provider, ERROR_CAPTURED,
                    "device memory cannot be used until that ends, but through a cuda-stream "
                    "that is not captured");
    else
        error_raise(provider,
                    status == GPUAES_BAD_RANGE ? ERROR_BAD_DEVICE_RANGE : ERROR_DEVICE_MEMORY,
                    "a copy of %zu bytes: %s", bytes, gpuaes_status_text(status));
    return 0;
}

/* ---- Streams -------------------------------------------------------------------------------- */

enum { FIRST_DEVICE = -1 }; /* in use; also where there is none */
enum { STREAM_LEGACY = 1 }; /* CU_STREAM_LEGACY, CUDA's handle, which is no pointer */

int stream_is_legacy(const struct stream *s)
{
    return s->handle == 0 || s->handle == STREAM_LEGACY;
}

struct binding_call {
    struct gpuaes_stream_binding *binding;
    void *stream;
    int device;
    unsigned char *iv, *hash;
    const struct gpuaes_gcm_key *gcm_key;
};

static enum gpuaes_status call_open(void *arg)
{
    struct binding_call *call = arg;
    struct gpuaes_device_info info = {.struct_bytes = sizeof info, .ordinal = call->device};
    if (call->device == FIRST_DEVICE)
        (void)gpuaes_device(0, &info);
    return gpuaes_stream_binding_open(&call->binding, call->stream, info.ordinal);
}

static enum gpuaes_status bind(struct gpuaes_stream_binding **binding, void *stream, int device)
{
    struct binding_call call = {.stream = stream, .device = device};
    enum gpuaes_status status = run_on_big_stack(call_open, &call, GPUAES_WAIT);
    *binding = status == GPUAES_OK ? call.binding : NULL;
    return status;
}

enum gpuaes_status stream_bind_legacy(struct gpuaes_stream_binding **binding, int device)
{
    return bind(binding, NULL, device);
}

int stream_bind(const struct provider *provider, struct stream *s)
{
    void *stream = stream_is_legacy(s) ? NULL : (void *)(uintptr_t)s->handle;
    enum gpuaes_status status = bind(&s->binding, stream, FIRST_DEVICE);
    if (status != GPUAES_OK)
        error_raise(provider, status == GPUAES_BAD_ARGUMENT ? ERROR_BAD_PARAMETER : ERROR_NO_DEVICE,
                    "cuda-stream cannot be used: %s", gpuaes_status_text(status));
    return status == GPUAES_OK;
}

static enum gpuaes_status call_close(void *arg)
{
    gpuaes_stream_binding_close(arg);
    return GPUAES_OK;
}

void stream_unbind(struct gpuaes_stream_binding **binding)
{
    if (*binding != NULL)
        (void)run_on_big_stack(call_close, *binding, 0);
    *binding = NULL;
}

struct queue {
    struct gpuaes_stream_binding *binding;
    const struct device_call *call;
    int begins;
};

static enum gpuaes_status call_queue(void *arg)
{
    const struct queue *q = arg;
    const struct device_call *c = q->call;
    if (c->gcm_key != NULL)
        return gpuaes_stream_binding_gcm(q->binding, c->op, c->gcm_key, c->state->counter,
                                         q->begins, c->in, c->out, c->len);
    return gpuaes_stream_binding_aes(q->binding, c->op, c->key, c->iv, c->in, c->out, c->len);
}

enum gpuaes_status stream_queue(struct gpuaes_stream_binding *binding,
                                const struct device_call *call, int begins)
{
    struct queue queue = {binding, call, begins};
    return run_on_big_stack(call_queue, &queue, 0);
}

static enum gpuaes_status call_wait(void *arg)
{
    const struct binding_call *call = arg;
    if (call->gcm_key != NULL)
        return gpuaes_stream_binding_hash(call->binding, call->gcm_key, call->hash);
    return gpuaes_stream_binding_wait(call->binding, call->iv);
}

enum gpuaes_status stream_wait(const struct provider *provider,
                               struct gpuaes_stream_binding *binding, unsigned char *iv,
                               const struct gpuaes_gcm_key *gcm_key, unsigned char *hash)
{
    struct binding_call call = {.binding = binding, .iv = iv, .gcm_key = gcm_key, .hash = hash};
    enum gpuaes_status status = run_on_big_stack(call_wait, &call, 0);
    if (status == GPUAES_BUSY)
        stream_raise(provider, status);
    else if (status == GPUAES_NO_MEMORY)
        error_raise(provider, ERROR_OUT_OF_MEMORY,
                    "memory is too short to wait for cuda-stream; the call can be repeated");
    else if (status != GPUAES_OK)
        error_raise(provider, ERROR_OUTPUT_UNDEFINED, "work queued on cuda-stream: %s",
                    gpuaes_status_text(status));
    return status;
}

int stream_can_repeat(enum gpuaes_status status)
{
    return status == GPUAES_BUSY || status == GPUAES_NO_MEMORY;
}

void stream_raise(const struct provider *provider, enum gpuaes_status status)
{
    if (status == GPUAES_BUSY)
        error_raise(provider, ERROR_CAPTURED,
                    "cuda-stream takes no update and cannot be waited for until that ends; nothing "
                    "was done, and the call can be repeated then");
    else
        error_raise(provider, ERROR_OUTPUT_UNDEFINED, "cuda-stream: %s %s",
                    gpuaes_status_text(status), gpuaes_reason());
}
