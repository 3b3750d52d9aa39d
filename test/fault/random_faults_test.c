/*
 * Random numbers while every function of the driver fails, once, at each of its
 * calls, or the device is lost there: what a call says is true, what is reported as queued is right
 * unless the device fails, and what went wrong once can be repeated.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/application.h"
#include "test/support/faulty_calls.h"

enum { KEY = 32, COUNT = 5000 };

static const unsigned char key[KEY] = "a key of thirty-two bytes.......";

/* The keystream of libcrypto, from counter block 0 on. */
static int is_right(const unsigned char *out)
{
    static unsigned char zeros[COUNT], expected[COUNT];
    static const unsigned char counter[GPUAES_BLOCK];
    int n = 0;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(c, EVP_aes_256_ctr(), NULL, key, counter);
    EVP_EncryptUpdate(c, expected, &n, zeros, COUNT);
    EVP_CIPHER_CTX_free(c);
    return n == COUNT && memcmp(out, expected, COUNT) == 0;
}

/* In device memory, which this CPU reads as well. */
struct memory {
    unsigned char key[KEY], out[COUNT];
};

static struct memory *memory;
static drv_stream stream;

static int prepare(const void *unused)
{
    (void)unused;
    memory = take(GPUAES_DEVICE, sizeof *memory);
    return memory != NULL &&
           application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) == DRV_SUCCESS;
}

static int run(const void *unused, int *status)
{
    const struct gpuaes_random random = {.struct_bytes = sizeof random,
                                         .kind = GPUAES_RANDOM_BYTES,
                                         .key = memory->key,
                                         .count = COUNT};
    (void)unused;
    memcpy(memory->key, key, KEY);
    memset(memory->out, 0, COUNT);
    *status = gpuaes_random_queue(&random, memory->out, stream, 0);
    int failed = !application_wait(stream);
    return *status != GPUAES_OK || failed || is_right(memory->out);
}

/* What was short once is there again. */
static int again(const void *unused, const char *fault)
{
    int status;
    (void)fault;
    return run(unused, &status) && status == GPUAES_OK && is_right(memory->out);
}

/*
 * Memory that the driver does not know is the caller's mistake. Short memory before anything is
 * queued loses no device.
 */
static int is_known(const void *unused, const char *fault, int status)
{
    (void)unused;
    if (strcmp(fault, "fault=stream_is_capturing:1:2") == 0)
        return status == GPUAES_NO_MEMORY;
    if (status == GPUAES_BAD_RANGE)
        return strstr(fault, "pointer_get") != NULL || strstr(fault, "mem_get") != NULL;
    return status == GPUAES_OK || status == GPUAES_NO_MEMORY || status == GPUAES_FAULT ||
           status == GPUAES_NOT_READY;
}

int main(void)
{
    faulty_call_check(&(struct faulty_call){.name = "random numbers",
                                            .is_queued = 1,
                                            .prepare = prepare,
                                            .run = run,
                                            .again = again,
                                            .knows = is_known});
    return tap_done();
}
