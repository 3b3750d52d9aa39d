/*
 * gpuaes_queue(), gpuaes_random_queue() and devices that are released when idle: a graph that
 * captured their work runs after that time as before. Nothing of the driver is left by a release,
 * also where the messages took temporary memory of the device's pool.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/evp.h>

#include "cuda/gpuaes.h"
#include "test/support/cases.h"

/* As many messages as an emulated device does not take without a plan. */
enum { BLOCK = GPUAES_BLOCK, LEN = 100, KEY = 32, COUNT = 200 };

/* Equal messages of CTR, as they lie in device memory; or random numbers, for the first result. */
struct memory {
    uint64_t in[COUNT], out[COUNT], bytes[COUNT], iv[COUNT];
    uint32_t status[COUNT];
    unsigned char counter[BLOCK], key[KEY], text[LEN], result[COUNT][LEN];
};

typedef enum gpuaes_status queue_fn(void);

static struct memory *device, staged;
static struct gpuaes_key schedule;
static unsigned char expected[LEN];
static drv_stream stream;

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static int make(void)
{
    int n;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    tap_random_bytes(&random_state, staged.key, KEY);
    tap_random_bytes(&random_state, staged.counter, BLOCK);
    for (size_t i = 0; i < COUNT; i++) {
        staged.in[i] = address(device->text);
        staged.out[i] = address(device->result[i]);
        staged.bytes[i] = LEN;
        staged.iv[i] = address(device->counter);
    }
    EVP_EncryptInit_ex(c, EVP_aes_256_ctr(), NULL, staged.key, staged.counter);
    EVP_EncryptUpdate(c, expected, &n, staged.text, LEN);
    EVP_CIPHER_CTX_free(c);
    LIBRARY(gpuaes_key_expand)(&schedule, staged.key, KEY);
    return application_write(DEVICE, device, &staged, sizeof staged);
}

static enum gpuaes_status queue_messages(void)
{
    const struct gpuaes_messages messages = {.struct_bytes = sizeof messages,
                                             .op = GPUAES_CTR,
                                             .count = COUNT,
                                             .max_bytes = LEN,
                                             .key = &schedule,
                                             .in = (const void *const *)(void *)device->in,
                                             .out = (void *const *)(void *)device->out,
                                             .bytes = (const size_t *)(void *)device->bytes,
                                             .iv = (const unsigned char *const *)(void *)device->iv,
                                             .iv_bytes = BLOCK,
                                             .status = device->status};
    return LIBRARY(gpuaes_queue)(&messages, NULL, 0, stream, 0);
}

static enum gpuaes_status queue_random(void)
{
    struct gpuaes_random random = {.struct_bytes = sizeof random,
                                   .kind = GPUAES_RANDOM_BYTES,
                                   .key = device->key,
                                   .count = LEN};
    memcpy(random.counter, staged.counter, BLOCK);
    return LIBRARY(gpuaes_random_queue)(&random, device->result[0], stream, 0);
}

static int runs(queue_fn *queue, struct application_graph *graph)
{
    static struct memory got;
    int right = application_write(DEVICE, device, &staged, sizeof staged) &&
                application_run_graph(graph, stream) && application_wait(stream) &&
                application_read(&got, DEVICE, device, sizeof got);
    for (size_t i = 0; i < (queue == queue_random ? 1 : COUNT) && right; i++)
        right = got.status[i] == GPUAES_OK && memcmp(got.result[i], expected, LEN) == 0;
    return right;
}

/* 1 if the devices are released within so many seconds. */
static int are_released(int seconds)
{
    for (int i = 0; i < 10 * seconds && LIBRARY(gpuaes_state)() != GPUAES_OFF; i++)
        usleep(100000);
    return LIBRARY(gpuaes_state)() == GPUAES_OFF;
}

/* 1, or -1 where there is no GPU. */
static int check(queue_fn *queue)
{
    struct application_graph graph = {0};
    tap_random_seed(&random_state);
    if (!application_begin(0))
        return -1;
    application.stream_create(&stream, DRV_STREAM_NON_BLOCKING);
    device = (void *)application_alloc(DEVICE, sizeof *device);
    const size_t objects = application_count("emulator_objects"); /* of ours alone */
    if (LIBRARY(gpuaes_start)(NULL, NULL, 1) != GPUAES_READY)
        return -1;
    int right = device != NULL && make() && queue() == GPUAES_OK && application_wait(stream) &&
                are_released(30) && queue() == GPUAES_NOT_READY;
    if (!right)
        tap_diag("idle devices were not released after work that is done");
    if (right && application_count("emulator_objects") != objects) {
        tap_diag("%zu objects of the driver, and %zu before the start",
                 application_count("emulator_objects"), objects);
        right = 0;
    }
    right = right && LIBRARY(gpuaes_start)(NULL, NULL, 1) == GPUAES_READY &&
            application_begin_capture(stream) && queue() == GPUAES_OK &&
            application_make_graph(stream, &graph) && runs(queue, &graph) && !are_released(3) &&
            runs(queue, &graph);
    application_free_graph(&graph);
    application_free(DEVICE, (void *)device);
    application.stream_destroy(stream);
    return right;
}

static int check_messages(void)
{
    return check(queue_messages);
}

static int check_random(void)
{
    return check(queue_random);
}

int main(int argc, char **argv)
{
    static const struct case_row cases[] = {
        {"a graph of messages keeps the devices", "GPUAES_IDLE_SECONDS=1", NULL, check_messages},
        {"a graph of random numbers keeps the devices", "GPUAES_IDLE_SECONDS=1", NULL,
         check_random},
    };
    if (argc > 1)
        return case_named(argv[1], cases);
    cases_check(cases, sizeof cases / sizeof cases[0], 2);
    return tap_done();
}
