/*
 * An application that resets the device, as cudaDeviceReset() does, while the library has
 * memory on it: forbidden, and no reason to crash where the driver can be asked first. What
 * is freed, closed or waited for touches nothing that went with the context; calls fail, and
 * the rest of the process goes on without the device. On the emulator.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/library.h"

enum { BYTES = 1 << 20 };

static struct expected e;

static int is_given_up(void)
{
    return gpuaes_state() == GPUAES_FAILED;
}

/* ---- Cases: 1 if all is right --------------------------------------------------------------- */

static int call_fails(void)
{
    const struct work work = {GPUAES_CTR, BYTES, GPUAES_PAGEABLE, 0, NULL};
    struct gpuaes_report report;
    int right = starts_with(NULL) && work_status(&work, &report) == GPUAES_OK;
    emulator_reset(0);
    return right && work_status(&work, &report) == GPUAES_FAULT && is_given_up();
}

/* What is late is asked for again only as the stream goes on. */
static struct gpuaes_keystream *make_keystream(void)
{
    struct gpuaes_keystream *k;
    unsigned char out[64];
    if (!starts_with(NULL) ||
        gpuaes_keystream_open(&k, &e.schedule, e.iv, GPUAES_ALLOCATE) != GPUAES_OK)
        return NULL;
    (void)COMES(emulator_under_way() == 0);
    while (!gpuaes_keystream_order(k) && gpuaes_keystream_position(k) < BYTES / 2)
        gpuaes_keystream_skip(k, 4096);
    size_t at = (size_t)gpuaes_keystream_position(k);
    int right = gpuaes_keystream_xor(k, e.plain + at, out, sizeof out) == sizeof out &&
                memcmp(out, e.cipher + at, sizeof out) == 0;
    return right ? k : NULL;
}

static int keystream_closes(void)
{
    struct gpuaes_keystream *k = make_keystream();
    emulator_reset(0);
    if (k == NULL)
        return 0;
    gpuaes_keystream_close(k);
    return is_given_up();
}

/* The device was given up before, for another reason, and reset then. */
static int keystream_closes_later(void)
{
    struct gpuaes_keystream *k = make_keystream();
    unsigned char iv[16] = {0}, out[4096];
    emulator_configure("fault=launch_kernel:1");
    if (k == NULL ||
        gpuaes_aes(GPUAES_CTR, &e.schedule, iv, e.plain, out, sizeof out, 0, NULL) != GPUAES_FAULT)
        return 0;
    emulator_reset(0);
    gpuaes_keystream_close(k);
    return is_given_up();
}

static int pinned_is_freed(void)
{
    void *p = starts_with(NULL) ? gpuaes_pinned_alloc(BYTES) : NULL;
    emulator_reset(0);
    gpuaes_pinned_free(p, BYTES);
    return p != NULL && is_given_up();
}

static int queue_closes(void)
{
    struct gpuaes_stream_binding *queue = NULL;
    unsigned char iv[16];
    int right = starts_with(NULL);
    unsigned char *p = take(GPUAES_PINNED, 4096);
    right = right && gpuaes_stream_binding_open(&queue, NULL, 0) == GPUAES_OK &&
            gpuaes_stream_binding_aes(queue, GPUAES_CBC_DECRYPT, &e.schedule, e.iv, p, p, 4096) ==
                GPUAES_OK;
    emulator_reset(0);
    right = right && gpuaes_stream_binding_wait(queue, iv) == GPUAES_FAULT;
    gpuaes_stream_binding_close(queue);
    return right && is_given_up();
}

static int batch_closes(void)
{
    struct gpuaes_batch *batch = NULL;
    unsigned char *out = malloc(BYTES);
    struct gpuaes_message message = message_of(&e, GPUAES_CTR, e.plain, out, BYTES);
    int right = starts_with(NULL) && gpuaes_batch_open(&batch) == GPUAES_OK &&
                gpuaes_batch_add(batch, &message) == GPUAES_OK &&
                gpuaes_batch_submit(batch, 0) == GPUAES_OK;
    emulator_reset(0);
    enum gpuaes_status status = gpuaes_batch_wait(batch);
    right = right && (status == GPUAES_FAULT || status == GPUAES_UNDEFINED);
    gpuaes_batch_close(batch);
    free(out);
    return right && is_given_up();
}

/* What the stream sets have is gone as well. */
static int idle_release_fails(void)
{
    static const struct gpuaes_settings settings = {.idle_seconds = 4};
    const struct work work = {GPUAES_CTR, 4096, GPUAES_PAGEABLE, 0, NULL};
    struct gpuaes_report report;
    int right = starts_with(&settings) && work_status(&work, &report) == GPUAES_OK;
    emulator_reset(0);
    return right && library_becomes(GPUAES_FAILED);
}

int main(void)
{
    static const struct child_case cases[] = {
        {"after a reset a call fails, and can be finished by the CPU", call_fails},
        {"after a reset keystream is closed", keystream_closes},
        {"after a reset keystream of a device that was lost is closed", keystream_closes_later},
        {"after a reset pinned memory is freed", pinned_is_freed},
        {"after a reset a queue is waited for and closed", queue_closes},
        {"after a reset a batch is waited for and closed", batch_closes},
        {"after a reset a release for want of work gives the device up", idle_release_fails}};
    tap_random_seed(&random_state);
    expect(&e, GPUAES_CTR, BYTES);
    children_ok(cases, sizeof cases / sizeof cases[0]);
    return tap_done();
}
