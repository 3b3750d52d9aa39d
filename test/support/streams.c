/*
 * An application with memory on a device, and contexts on its streams.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/streams.h"

const char undefined[] = "the GPU failed and the output buffer is undefined";

void begin_on_device(void)
{
    setenv("GPUAES_MIN_BYTES", "0", 0);
    setenv("GPUAES_EMULATOR", "devices=2", 0);
    tap_random_seed(&random_state);
    test_providers = providers_load();
    if (!application_begin(0)) {
        puts("Bail out! no CUDA");
        exit(EXIT_FAILURE);
    }
}

struct memory *memory_on_device(uint64_t seed, size_t bytes)
{
    struct memory *m = memory_for(seed, bytes);
    m->in_place = m->out_place = DEVICE;
    m->in_there = application_alloc(DEVICE, bytes + 2 * EDGE);
    m->out_there = application_alloc(DEVICE, bytes + 2 * EDGE);
    if (m->in_there == NULL || m->out_there == NULL ||
        !application_write(DEVICE, m->in_there, m->text, bytes))
        abort();
    return m;
}

void memory_on_device_free(struct memory *memory)
{
    application_free(DEVICE, memory->in_there);
    application_free(DEVICE, memory->out_there);
    free(memory);
}

int set_stream(EVP_CIPHER_CTX *context, drv_stream stream)
{
    uint64_t handle = (uintptr_t)stream;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64("cuda-stream", &handle), OSSL_PARAM_END};
    return EVP_CIPHER_CTX_set_params(context, params);
}

struct stream stream_open_on(struct memory *memory, const char *name, int encrypt, drv_stream cuda)
{
    struct stream s = stream_open_with(memory, name, usual_key, usual_iv, encrypt, NULL);
    if (!stream_set_padding(&s, 0) || !set_stream(s.side[OURS], cuda)) {
        ERR_print_errors_fp(stderr);
        abort();
    }
    return s;
}

int stop_stream(EVP_CIPHER_CTX *context)
{
    unsigned zero = 0;
    OSSL_PARAM off[] = {OSSL_PARAM_uint("device-memory", &zero), OSSL_PARAM_END};
    return EVP_CIPHER_CTX_set_params(context, off);
}
