/*
 * Batches and the devices that have their memory: managed memory, devices that are
 * released or lost between an addition and the submission; and messages on streams of two devices,
 * one of which breaks, with keys of random numbers that lie there.
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

/* XTS with two equal keys, which the batch finds when all else is right. */
static enum gpuaes_status add_equal_keys(struct gpuaes_batch *batch, void *memory)
{
    static const unsigned char keys[32];
    struct gpuaes_message m = message_of(&e, GPUAES_XTS_ENCRYPT, memory, memory, 4096);
    m.key = keys;
    m.key_bytes = sizeof keys;
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

/*
 * A batch follows the work of one device: memory of two is refused, whatever comes first. A message
 * that is refused does not choose the device.
 */
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
        right = add_equal_keys(batch, memory[!owner][0]) == GPUAES_BAD_ARGUMENT &&
                add(batch, memory[owner][kind]) == GPUAES_OK &&
                add(batch, memory[!owner][1]) == GPUAES_BAD_ARGUMENT &&
                add(batch, memory[!owner][0]) == GPUAES_BAD_ARGUMENT &&
                add(batch, memory[owner][!kind]) == GPUAES_OK && batch_is_done(batch) &&
                gpuaes_batch_status(batch, 4) == GPUAES_OK;
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

/* ---- Messages on streams of two devices ----------------------------------------------------- */

enum { LEN = 64 << 10, TEMP = 4096 };

/* One message in the memory of a device, which the CPU of an emulated one reads as well. */
struct described {
    const void *in;
    void *out;
    size_t bytes;
    const unsigned char *iv;
    uint32_t status;
    unsigned char iv_bytes[16], text[LEN];
    _Alignas(256) unsigned char temp[TEMP];
};

struct side {
    struct described *d;
    drv_stream stream;
};

/* On the device whose context is current. */
static int open_side(struct side *s)
{
    drv_ptr memory;
    if (application.mem_alloc(&memory, sizeof *s->d) != DRV_SUCCESS ||
        application.stream_create(&s->stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS)
        return 0;
    s->d = (struct described *)(uintptr_t)memory;
    return 1;
}

static enum gpuaes_status queue_on(const struct side *s)
{
    struct described *d = s->d;
    const struct gpuaes_messages messages = {.struct_bytes = sizeof messages,
                                             .op = GPUAES_CTR,
                                             .key = &e.schedule,
                                             .count = 1,
                                             .max_bytes = LEN,
                                             .iv_bytes = sizeof d->iv_bytes,
                                             .in = &d->in,
                                             .out = &d->out,
                                             .bytes = &d->bytes,
                                             .iv = &d->iv,
                                             .status = &d->status};
    d->in = d->out = d->text;
    d->bytes = LEN;
    d->iv = d->iv_bytes;
    d->status = GPUAES_UNDEFINED;
    memcpy(d->iv_bytes, e.iv, sizeof d->iv_bytes);
    memcpy(d->text, e.plain, LEN);
    return gpuaes_queue(&messages, d->temp, sizeof d->temp, s->stream, 0);
}

/* Random numbers from a key in the memory of the side, in place of the text. */
static enum gpuaes_status queue_random(const struct side *s)
{
    const struct gpuaes_random random = {.struct_bytes = sizeof random,
                                         .kind = GPUAES_RANDOM_BYTES,
                                         .key = s->d->temp,
                                         .count = LEN};
    return gpuaes_random_queue(&random, s->d->text, s->stream, 0);
}

static int is_done(const struct side *s)
{
    return queue_on(s) == GPUAES_OK && COMES(emulator_under_way() == 0) &&
           s->d->status == GPUAES_OK && memcmp(s->d->text, e.cipher, LEN) == 0;
}

/*
 * A kernel that uses a wrong address breaks its context: the application sees it first, and from
 * then on all calls there fail. The other device goes on, and so does what the library does by
 * itself.
 */
static int broken_context(void)
{
    struct side side[2];
    int right = starts_on(3, 0);
    for (int i = 0; i < 2 && right; i++) {
        become_an_application(i);
        right = open_side(&side[i]) && is_done(&side[i]);
    }
    emulator_configure("devices=2,fault-device=1,lost=stream_query:1");
    if (!right || application.stream_query(side[1].stream) == DRV_SUCCESS ||
        queue_on(&side[1]) != GPUAES_FAULT)
        return 0;
    right = gpuaes_state() == GPUAES_READY && is_done(&side[0]) &&
            queue_random(&side[0]) == GPUAES_OK && queue_random(&side[1]) != GPUAES_OK;
    const struct work call = {.op = GPUAES_CTR, .len = BYTES};
    return right && work_status(&call, &(struct gpuaes_report){0}) == GPUAES_OK &&
           is_done(&side[0]);
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
        {"a device whose context is broken, and another that goes on", broken_context},
    };
    tap_random_seed(&random_state);
    emulator_configure("devices=2");
    expect(&e, GPUAES_CTR, BYTES);
    children_ok(cases, sizeof cases / sizeof cases[0]);
    return tap_done();
}
