/*
 * Batches and the devices that have their memory: managed memory, devices that are
 * released or lost between an addition and the submission.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/library.h"

enum { BYTES = 1 << 20 };

static struct expected e;

/* Of one message in `memory`, in place; NULL if that is refused. */
static struct gpuaes_batch *batch_of(enum gpuaes_op op, void *memory)
{
    struct gpuaes_batch *batch = NULL;
    struct gpuaes_message m = message_of(&e, op, memory, memory, BYTES);
    return gpuaes_batch_open(&batch) == GPUAES_OK && gpuaes_batch_add(batch, &m) == GPUAES_OK
               ? batch
               : NULL;
}

static enum gpuaes_status add(struct gpuaes_batch *batch, void *memory)
{
    struct gpuaes_message m = message_of(&e, GPUAES_CTR, memory, memory, 4096);
    return gpuaes_batch_add(batch, &m);
}

static int starts_on(uint64_t devices, unsigned idle_seconds)
{
    struct gpuaes_settings settings = {.devices = devices, .idle_seconds = idle_seconds};
    return starts_with(&settings);
}

/* ---- Cases: 1 if all is right ---------------------------------------------------------- */

/* It is filled by work on its own device's default stream, which comes first. */
static int managed_memory(uint64_t devices)
{
    become_an_application(0);
    become_an_application(1);
    if (!starts_on(devices, 0))
        return 0;
    unsigned char *p = emulator_managed_alloc(BYTES), *filled = gpuaes_pinned_alloc(BYTES);
    memcpy(filled, e.plain, BYTES);
    memset(p, 0, BYTES);
    struct gpuaes_batch *batch = batch_of(GPUAES_CTR, p);
    emulator_configure("devices=2,copy-mbps=2");
    int right = batch != NULL &&
                application.memcpy_htod_async((drv_ptr)(uintptr_t)p, filled, BYTES,
                                              DRV_STREAM_LEGACY) == DRV_SUCCESS &&
                batch_is_done(batch);
    gpuaes_batch_close(batch);
    right = right && emulator_device_launches(1) != 0 && emulator_device_launches(0) == 0;
    emulator_configure("devices=2");
    return right && holds(p, e.cipher, BYTES);
}

static int managed_by_its_device(void)
{
    return managed_memory(3);
}

static int managed_by_the_applications_device(void)
{
    return managed_memory(1);
}

/* A batch follows the work of one device: memory of two is refused, whatever comes first. */
static int memory_of_two(void)
{
    struct gpuaes_batch *batch;
    void *memory[2][2]; /* device and managed memory of each */
    for (int i = 0; i < 2; i++) {
        become_an_application(i);
        memory[i][0] = take(GPUAES_DEVICE, 4096);
        memory[i][1] = emulator_managed_alloc(4096);
    }
    int right = starts_on(3, 0) && gpuaes_batch_open(&batch) == GPUAES_OK;
    for (int first = 0; right && first < 4; first++) {
        int owner = first & 1, kind = first >> 1;
        right = add(batch, memory[owner][kind]) == GPUAES_OK &&
                add(batch, memory[!owner][1]) == GPUAES_BAD_ARGUMENT &&
                add(batch, memory[!owner][0]) == GPUAES_BAD_ARGUMENT &&
                add(batch, memory[owner][!kind]) == GPUAES_OK && batch_is_done(batch) &&
                gpuaes_batch_status(batch, 3) == GPUAES_OK;
        gpuaes_batch_reset(batch);
    }
    return right && emulator_device_launches(0) != 0 && emulator_device_launches(1) != 0;
}

/* Device memory of the application, with the text in it; `*batch` works on it in place. */
static unsigned char *device_batch(enum gpuaes_op op, struct gpuaes_batch **batch)
{
    unsigned char *p = take(GPUAES_DEVICE, BYTES);
    int right = gpuaes_copy(p, e.plain, BYTES) == GPUAES_OK && (*batch = batch_of(op, p)) != NULL;
    return right ? p : NULL;
}

/* A capture forbids to follow the legacy stream: nothing was begun, and nothing is lost. */
static int capture(void)
{
    struct gpuaes_batch *batch;
    become_an_application(0);
    unsigned char *p = starts_on(1, 0) ? device_batch(GPUAES_CTR, &batch) : NULL;
    emulator_configure("fault=event_record:1:901");
    return p != NULL && gpuaes_batch_submit(batch, 0) == GPUAES_BUSY &&
           gpuaes_state() == GPUAES_READY && gpuaes_batch_status(batch, 0) == GPUAES_BUSY &&
           batch_is_done(batch) && holds(p, e.cipher, BYTES);
}

/* A guest is adopted again after all devices were released. */
static int released(void)
{
    struct gpuaes_batch *batch;
    become_an_application(1);
    unsigned char *p = starts_on(0, 4) ? device_batch(GPUAES_CTR, &batch) : NULL;
    return p != NULL && library_becomes(GPUAES_OFF) &&
           gpuaes_batch_submit(batch, 0) == GPUAES_NOT_READY && starts_with(NULL) &&
           batch_is_done(batch) && holds(p, e.cipher, BYTES);
}

/* The device that has the memory is lost, and another goes on: no use in trying again. */
static int lost(void)
{
    struct gpuaes_batch *batch;
    become_an_application(1);
    unsigned char *p = starts_on(3, 0) ? device_batch(GPUAES_CTR, &batch) : NULL;
    emulator_configure("devices=2,fault-device=1,fault=launch_kernel:1");
    return p != NULL &&
           gpuaes_aes(GPUAES_CTR, &e.schedule, e.iv, p, p, BYTES, 0, NULL) >= GPUAES_FAULT &&
           gpuaes_state() == GPUAES_READY && gpuaes_batch_submit(batch, 0) == GPUAES_FAULT &&
           gpuaes_batch_status(batch, 0) == GPUAES_FAULT &&
           gpuaes_batch_wait(batch) == GPUAES_FAULT;
}

int main(void)
{
    static const struct child_case cases[] = {
        {"managed memory is worked on by its own device", managed_by_its_device},
        {"also where only the application uses that", managed_by_the_applications_device},
        {"memory of two devices is refused, managed memory, too", memory_of_two},
        {"a batch while the application captures a graph", capture},
        {"memory of a device that was released meanwhile", released},
        {"memory of a device that was lost", lost},
    };
    tap_random_seed(&random_state);
    emulator_configure("devices=2");
    expect(&e, GPUAES_CTR, BYTES);
    children_ok(cases, sizeof cases / sizeof cases[0]);
    return tap_done();
}
