/*
 * Batches and the devices that have their memory: managed memory, devices that are
 * released or lost between an addition and the submission.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/library.h"

enum { BYTES = 1 << 20 };

/* A batch of one message in `memory`, in place. */
static struct gpuaes_batch *batch_of(const struct expected *e, enum gpuaes_op op, void *memory)
{
    struct gpuaes_batch *batch = NULL;
    struct gpuaes_message m = {
        .op = op, .schedule = &e->schedule, .iv = e->iv, .in = memory, .out = memory, .len = BYTES};
    if (gpuaes_batch_open(&batch) != GPUAES_OK || gpuaes_batch_add(batch, &m) != GPUAES_OK)
        return NULL;
    return batch;
}

static int holds(const void *memory, const unsigned char *expected)
{
    unsigned char *got = malloc(BYTES);
    int right = gpuaes_copy(got, memory, BYTES) == GPUAES_OK && memcmp(got, expected, BYTES) == 0;
    free(got);
    return right;
}

/* ---- Managed memory ------------------------------------------------------------------- */

/* It is filled by work on its own device's default stream, which comes first. */
static int managed(const void *devices)
{
    struct gpuaes_settings settings = {.devices = *(const uint64_t *)devices};
    struct expected e;
    emulator_configure("devices=2");
    become_an_application(0);
    become_an_application(1);
    if (!starts_with(&settings))
        return 10;
    unsigned char *p = emulator_managed_alloc(BYTES), *filled = gpuaes_pinned_alloc(BYTES);
    expect(&e, GPUAES_CTR, BYTES);
    memcpy(filled, e.plain, BYTES);
    memset(p, 0, BYTES);
    struct gpuaes_batch *batch = batch_of(&e, GPUAES_CTR, p);
    if (batch == NULL)
        return 11;
    emulator_configure("devices=2,copy-mbps=2");
    if (application.memcpy_htod_async((drv_ptr)(uintptr_t)p, filled, BYTES, DRV_STREAM_LEGACY) !=
        DRV_SUCCESS)
        return 12;
    if (gpuaes_batch_submit(batch, 0) != GPUAES_OK || gpuaes_batch_wait(batch) != GPUAES_OK)
        return 13;
    gpuaes_batch_close(batch);
    if (emulator_device_launches(1) == 0 || emulator_device_launches(0) != 0)
        return 14;
    emulator_configure("devices=2");
    return holds(p, e.cipher) ? 0 : 15;
}

static enum gpuaes_status add_in_place(struct gpuaes_batch *batch, const struct expected *e,
                                       void *memory)
{
    struct gpuaes_message m = {.op = GPUAES_CTR,
                               .schedule = &e->schedule,
                               .iv = e->iv,
                               .in = memory,
                               .out = memory,
                               .len = 4096};
    return gpuaes_batch_add(batch, &m);
}

/* A batch follows the work of one device: memory of two is refused, whatever comes first. */
static int mixed(const void *unused)
{
    struct gpuaes_settings settings = {.devices = 3};
    struct gpuaes_batch *batch;
    struct expected e;
    void *memory[2][2]; /* device and managed memory of each */
    (void)unused;
    emulator_configure("devices=2");
    for (int i = 0; i < 2; i++) {
        become_an_application(i);
        memory[i][0] = take(GPUAES_DEVICE, 4096);
        memory[i][1] = emulator_managed_alloc(4096);
    }
    if (!starts_with(&settings) || gpuaes_batch_open(&batch) != GPUAES_OK)
        return 10;
    expect(&e, GPUAES_CTR, 4096);
    for (int first = 0; first < 4; first++) {
        int owner = first & 1, kind = first >> 1;
        if (add_in_place(batch, &e, memory[owner][kind]) != GPUAES_OK ||
            add_in_place(batch, &e, memory[!owner][1]) != GPUAES_BAD_ARGUMENT ||
            add_in_place(batch, &e, memory[!owner][0]) != GPUAES_BAD_ARGUMENT ||
            add_in_place(batch, &e, memory[owner][!kind]) != GPUAES_OK)
            return 11 + first;
        if (gpuaes_batch_submit(batch, 0) != GPUAES_OK || gpuaes_batch_wait(batch) != GPUAES_OK ||
            gpuaes_batch_status(batch, 3) != GPUAES_OK)
            return 15;
        gpuaes_batch_reset(batch);
    }
    gpuaes_batch_close(batch);
    return emulator_device_launches(0) != 0 && emulator_device_launches(1) != 0 ? 0 : 16;
}

/* A capture forbids to follow the legacy stream: nothing was begun, and nothing is lost. */
static int capture(const void *unused)
{
    struct expected e;
    (void)unused;
    become_an_application(0);
    if (!starts_with(NULL))
        return 10;
    unsigned char *p = take(GPUAES_DEVICE, BYTES);
    expect(&e, GPUAES_CTR, BYTES);
    struct gpuaes_batch *batch = batch_of(&e, GPUAES_CTR, p);
    if (batch == NULL || gpuaes_copy(p, e.plain, BYTES) != GPUAES_OK)
        return 11;
    emulator_configure("fault=event_record:1:901");
    if (gpuaes_batch_submit(batch, 0) != GPUAES_BUSY || gpuaes_state() != GPUAES_READY ||
        gpuaes_batch_status(batch, 0) != GPUAES_BUSY)
        return 12;
    if (gpuaes_batch_submit(batch, 0) != GPUAES_OK || gpuaes_batch_wait(batch) != GPUAES_OK)
        return 13;
    gpuaes_batch_close(batch);
    return holds(p, e.cipher) ? 0 : 14;
}

/* ---- Devices that come and go ------------------------------------------------------------ */

/* A guest is adopted again after all devices were released. */
static int released(const void *unused)
{
    struct gpuaes_settings settings = {.idle_seconds = 4};
    struct expected e;
    (void)unused;
    emulator_configure("devices=2");
    become_an_application(1);
    if (!starts_with(&settings))
        return 10;
    unsigned char *p = take(GPUAES_DEVICE, BYTES);
    expect(&e, GPUAES_CBC_ENCRYPT, BYTES);
    if (gpuaes_copy(p, e.plain, BYTES) != GPUAES_OK)
        return 11;
    struct gpuaes_batch *batch = batch_of(&e, GPUAES_CBC_ENCRYPT, p);
    for (int i = 0; i < 600 && gpuaes_state() != GPUAES_OFF; i++)
        usleep(100000);
    if (batch == NULL || gpuaes_state() != GPUAES_OFF)
        return 12;
    if (gpuaes_batch_submit(batch, 0) != GPUAES_NOT_READY)
        return 13;
    if (!starts_with(NULL))
        return 14;
    if (gpuaes_batch_submit(batch, 0) != GPUAES_OK || gpuaes_batch_wait(batch) != GPUAES_OK)
        return 15;
    gpuaes_batch_close(batch);
    return holds(p, e.cipher) ? 0 : 16;
}

/* The device that has the memory is lost, and another goes on: no use in trying again. */
static int lost(const void *unused)
{
    struct gpuaes_settings settings = {.devices = 3};
    struct expected e;
    (void)unused;
    emulator_configure("devices=2");
    become_an_application(1);
    if (!starts_with(&settings))
        return 10;
    unsigned char *p = take(GPUAES_DEVICE, BYTES);
    expect(&e, GPUAES_CTR, BYTES);
    struct gpuaes_batch *batch = batch_of(&e, GPUAES_CTR, p);
    emulator_configure("devices=2,fault-device=1,fault=launch_kernel:1");
    if (batch == NULL ||
        gpuaes_aes(GPUAES_CTR, &e.schedule, e.iv, p, p, BYTES, 0, NULL) < GPUAES_FAULT ||
        gpuaes_state() != GPUAES_READY)
        return 11;
    if (gpuaes_batch_submit(batch, 0) != GPUAES_FAULT ||
        gpuaes_batch_status(batch, 0) != GPUAES_FAULT || gpuaes_batch_wait(batch) != GPUAES_FAULT)
        return 12;
    gpuaes_batch_close(batch);
    return 0;
}

int main(void)
{
    static const uint64_t first = 1, both = 3;
    tap_random_seed(&random_state);
    child_ok(managed, &both, "managed memory is worked on by its own device");
    child_ok(managed, &first, "also where only the application uses that");
    child_ok(mixed, NULL, "memory of two devices is refused, managed memory, too");
    child_ok(capture, NULL, "a batch while the application captures a graph");
    child_ok(released, NULL, "memory of a device that was released meanwhile");
    child_ok(lost, NULL, "memory of a device that was lost");
    return tap_done();
}
