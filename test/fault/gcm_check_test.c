/*
 * The self-test of GCM on the emulator. It finds out a device that multiplies wrongly before any
 * text is touched; other modes of such a device are not asked either. A device that is short of
 * memory, or that waits for work of the application, is not given up.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/library.h"

enum { BYTES = 64 << 10 };

static const unsigned char zeros[BYTES];

/* ---- GCM -------------------------------------------------------------------------------- */

/* Encrypts in place; what of a refused message is as it was. */
static enum gpuaes_status encrypt(unsigned char *text)
{
    struct gpuaes_gcm_key key;
    struct gpuaes_gcm_state state = {{0}, {0}};
    gpuaes_gcm_key_expand(&key, zeros, 32);
    return gpuaes_gcm(GPUAES_GCM_ENCRYPT, &key, &state, text, text, BYTES, GPUAES_WAIT, NULL);
}

static enum gpuaes_status encrypt_in_batch(unsigned char *text)
{
    unsigned char tag[16];
    const struct gpuaes_message message = {.op = GPUAES_GCM_ENCRYPT,
                                           .key = zeros,
                                           .key_bytes = 32,
                                           .iv = zeros,
                                           .iv_bytes = 12,
                                           .in = text,
                                           .out = text,
                                           .len = BYTES,
                                           .tag = tag,
                                           .tag_bytes = sizeof tag};
    struct gpuaes_batch *batch;
    enum gpuaes_status status = gpuaes_batch_open(&batch);
    if (status == GPUAES_OK)
        status = gpuaes_batch_add(batch, &message);
    if (status == GPUAES_OK)
        status = gpuaes_batch_submit(batch, GPUAES_WAIT);
    if (status == GPUAES_OK)
        status = gpuaes_batch_wait(batch);
    gpuaes_batch_close(batch);
    return status;
}

static const struct way {
    const char *name;
    enum gpuaes_status (*encrypt)(unsigned char *text);
    const char *shortage; /* of the self-test's device memory, behind the text's */
} ways[] = {{"a call", encrypt, "fault=mem_alloc:3:2"},
            {"a batch", encrypt_in_batch, "fault=mem_alloc:2:2"}};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* ---- Devices that are kept -------------------------------------------------------------- */

struct shortage {
    const struct way *way;
    const char *options;
};

/* 0 if the device refuses the text for want of memory, and takes it once there is some. */
static int is_asked_again(const void *argument)
{
    const struct shortage *s = argument;
    static unsigned char text[BYTES];
    if (!starts_with(NULL))
        return 1;
    emulator_configure(s->options);
    if (s->way->encrypt(text) != GPUAES_NO_MEMORY || memcmp(text, zeros, BYTES) != 0)
        return 2;
    return s->way->encrypt(text) == GPUAES_OK && gpuaes_state() == GPUAES_READY ? 0 : 3;
}

/* The first ranges of memory are the text's; the first kernel and copy are the self-test's. */
static void test_shortages(void)
{
    for (size_t i = 0; i < WAYS; i++) {
        const char *const options[] = {"fault=mem_host_alloc:2:2", ways[i].shortage,
                                       "fault=launch_kernel:1:2", "fault=memcpy_dtoh_async:1:2"};
        for (size_t k = 0; k < sizeof options / sizeof options[0]; k++) {
            const struct shortage s = {&ways[i], options[k]};
            child_ok(is_asked_again, &s, "%s: the device is kept, %s", s.way->name, s.options);
        }
    }
}

/* 0 if the self-test does not count work of the application that takes longer than timeout-ms. */
static int is_patient(const void *argument)
{
    enum { BIG = 10 << 20 };
    const struct way *way = argument;
    const struct gpuaes_settings settings = {.timeout_ms = 3000};
    if (!starts_with(&settings))
        return 1;
    become_an_application(0);
    unsigned char *big = take(GPUAES_DEVICE, BIG), *host = gpuaes_pinned_alloc(BIG);
    unsigned char *text = take(GPUAES_DEVICE, BYTES);
    emulator_configure("copy-mbps=2");
    application.memcpy_htod_async((drv_ptr)(uintptr_t)big, host, BIG, DRV_STREAM_LEGACY);
    enum gpuaes_status status = way->encrypt(text);
    emulator_configure(NULL);
    return status == GPUAES_OK && gpuaes_state() == GPUAES_READY ? 0 : 2;
}

/* ---- A device that is given up ---------------------------------------------------------- */

static void test_wrong_device(void)
{
    static unsigned char text[BYTES];
    emulator_configure("idle-kernels=2");
    if (!tap_ok(starts_with(NULL), "the device starts"))
        return;
    tap_ok(encrypt(text) == GPUAES_FAULT, "GCM is refused");
    tap_ok(strstr(gpuaes_reason(), "self-test of GCM") != NULL, "and the self-test is the reason");
    tap_diag("%s", gpuaes_reason());
    tap_ok(memcmp(text, zeros, BYTES) == 0, "the text is as it was");
    tap_ok(gpuaes_state() == GPUAES_FAILED, "the device is not used again");
}

int main(void)
{
    test_shortages(); /* first: children must come from a process without a device */
    for (size_t i = 0; i < WAYS; i++)
        child_ok(is_patient, &ways[i], "%s: the application's work is not under the limit of ours",
                 ways[i].name);
    test_wrong_device();
    return tap_done();
}
