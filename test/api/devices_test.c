/*
 * libgpuaes with several devices and threads, on the emulator: which devices
 * are used, striping, devices that fail before and while they work, memory that
 * belongs to one of them, short memory. The expected results are libcrypto's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "test/support/library.h"

/* The least that two devices and four threads share. */
enum { STRIPED = (16 << 20) + 48, STAGED = (4 << 20) + 16, SMALL = 40 << 10, BYTES = 1 << 20 };

/* One process: how the emulator and the library are set, and what is done. */
struct scene {
    const char *name, *emulator;            /* before the start */
    int (*play)(const struct scene *scene); /* 0: right */
    uint64_t devices, expected;             /* set, and those that are in use then */
    unsigned threads;
    enum gpuaes_op op; /* a call */
    size_t len;
    int kind, in_place;
    const char *after; /* options of the emulator from the call on */
};

static int call_status(const struct scene *scene, struct gpuaes_report *report)
{
    const struct work work = {scene->op, scene->len, scene->kind, scene->in_place, scene->after};
    return work_status(&work, report);
}

/* ---- What is played ---------------------------------------------------------------- */

/* A bit for each device in use. */
static uint64_t devices(void)
{
    struct gpuaes_device_info info = {.struct_bytes = sizeof info};
    uint64_t used = 0;
    for (unsigned n = 0; gpuaes_device(n, &info); n++)
        used |= UINT64_C(1) << info.ordinal;
    return used;
}

static int has_devices(const struct scene *scene)
{
    return devices() != scene->expected;
}

static int none_starts(const void *options)
{
    struct gpuaes_settings settings = {.devices = GPUAES_ALL_DEVICES};
    emulator_configure(options);
    configure(&settings);
    return gpuaes_start(NULL, NULL, 1) == GPUAES_FAILED && gpuaes_reason()[0] != '\0' ? 0 : 1;
}

/* 1 if both devices have launched kernels. */
static int both_launched(void)
{
    return emulator_device_launches(0) > 0 && emulator_device_launches(1) > 0;
}

static int is_striped(const struct scene *scene)
{
    struct gpuaes_report report;
    emulator_configure(scene->emulator);
    return !(call_status(scene, &report) == GPUAES_OK && report.shards == 2 && both_launched());
}

static int is_staged(const struct scene *scene)
{
    struct gpuaes_report report;
    return !(call_status(scene, &report) == GPUAES_OK && report.shards == scene->threads);
}

/* The device of the calling thread does all of it. */
static int is_on_one_device(const struct scene *scene)
{
    return !(is_staged(scene) == 0 && emulator_device_launches(0) > 0 &&
             emulator_device_launches(1) == 0);
}

/* A call is cut into no more parts than there are threads, which cannot share its length evenly. */
static int is_cut_for_threads(const struct scene *scene)
{
    struct gpuaes_report report;
    return !(call_status(scene, &report) == GPUAES_OK && report.shards > 1 &&
             report.shards <= scene->threads);
}

static int is_done(const struct scene *scene)
{
    struct gpuaes_report report;
    return call_status(scene, &report) != GPUAES_OK;
}

static int base64_is_done(const struct scene *scene)
{
    return !base64_agrees(scene->kind, scene->len / 3 * 3);
}

static void *done_by_thread(void *scene)
{
    return is_done(scene) == 0 ? NULL : scene;
}

/* Two threads at work, one after the other, have two devices. */
static int threads_take_turns(const struct scene *scene)
{
    struct scene own = *scene;
    void *wrong = NULL;
    for (int i = 0; i < 2 && wrong == NULL; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, done_by_thread, &own);
        pthread_join(thread, &wrong);
    }
    return !(wrong == NULL && both_launched());
}

/* A device fails in mid-work; the other goes on, and does its part if it can be done. */
static int goes_on_with_one(const struct scene *scene)
{
    struct gpuaes_report report;
    struct gpuaes_statistics s = {.struct_bytes = sizeof s};
    const struct work small = {scene->op, SMALL, scene->kind, 0, NULL};
    int status = call_status(scene, &report);
    /* Only pinned memory may have been overwritten. */
    int overwritten = status == GPUAES_UNDEFINED && scene->kind == GPUAES_PINNED && scene->in_place;
    if (status != GPUAES_OK && !overwritten)
        return 1;
    gpuaes_get_statistics(&s);
    if (gpuaes_state() != GPUAES_READY || devices() != scene->expected || s.faults == 0)
        return 2;
    return work_status(&small, &report) == GPUAES_OK ? 0 : 3;
}

/* A hang is waited for; then the output may be written at any time. */
static int hangs(const struct scene *scene)
{
    struct gpuaes_report report;
    return !(call_status(scene, &report) == GPUAES_UNDEFINED && gpuaes_state() == GPUAES_READY &&
             devices() == scene->expected);
}

static int all_are_lost(const struct scene *scene)
{
    struct gpuaes_report report;
    return !(call_status(scene, &report) >= GPUAES_FAULT && gpuaes_state() == GPUAES_FAILED &&
             gpuaes_reason()[0] != '\0' && devices() == 0);
}

/* ---- Memory of a device ---------------------------------------------------------------- */

static int works_on(void *in, void *out, const struct expected *e)
{
    const enum gpuaes_op op = GPUAES_CTR;
    unsigned char iv[16], *got = malloc(BYTES);
    memcpy(iv, e->iv, sizeof iv);
    int right = gpuaes_copy(in, e->plain, BYTES) == GPUAES_OK &&
                gpuaes_aes(op, &e->schedule, iv, in, out, BYTES, GPUAES_WAIT, NULL) == GPUAES_OK &&
                gpuaes_copy(got, out, BYTES) == GPUAES_OK && memcmp(got, e->cipher, BYTES) == 0;
    free(got);
    return right;
}

/* Memory of the second device, which is in use or is the application's choice. */
static int memory_is_worked_on(const struct scene *scene)
{
    const enum gpuaes_op op = GPUAES_CTR;
    struct expected e;
    expect(&e, op, BYTES);
    become_an_application(1);
    unsigned char *one = take(GPUAES_DEVICE, BYTES), *managed = emulator_managed_alloc(BYTES);
    become_an_application(0);
    unsigned char *zero = take(GPUAES_DEVICE, BYTES), iv[16];
    if (gpuaes_memory_kind(one, BYTES) != GPUAES_DEVICE)
        return 1;
    if (!works_on(one, one, &e))
        return 2;
    if (emulator_device_launches(1) == 0 || emulator_device_launches(0) != 0)
        return 3;
    if (gpuaes_aes(op, &e.schedule, iv, one, zero, BYTES, 0, NULL) != GPUAES_BAD_ARGUMENT)
        return 4;
    if (!works_on(managed, zero, &e) || !works_on(zero, zero, &e))
        return 5;
    return devices() == scene->expected && gpuaes_state() == GPUAES_READY ? 0 : 6;
}

static int memory_is_foreign(const struct scene *scene)
{
    struct gpuaes_key key;
    unsigned char iv[16] = {0};
    (void)scene;
    become_an_application(1);
    unsigned char *one = take(GPUAES_DEVICE, 4096);
    gpuaes_key_expand(&key, iv, 16);
    if (gpuaes_memory_kind(one, 4096) != GPUAES_FOREIGN)
        return 1;
    if (gpuaes_aes(GPUAES_CTR, &key, iv, one, one, 4096, 0, NULL) != GPUAES_BAD_RANGE)
        return 2;
    return gpuaes_state() == GPUAES_READY ? 0 : 3;
}

/* ---- Scenes ------------------------------------------------------------------------------ */

#define TWO "devices=2"
#define FIRST "devices=2,fault-device=0,"
#define SECOND "devices=2,fault-device=1,"

static const struct scene choices[] = {
    {"both of two devices", TWO, .devices = 3, .play = has_devices, .expected = 3},
    {"all of two devices", TWO, .devices = GPUAES_ALL_DEVICES, .play = has_devices, .expected = 3},
    {"the first device where nothing is set", TWO, .play = has_devices, .expected = 1},
    {"the second of two devices; one that does not exist is left out", TWO, .devices = 6,
     .play = has_devices, .expected = 2},
    {"a device that cannot be retained is left out", TWO ",fault=primary_ctx_retain:2",
     .devices = 3, .play = has_devices, .expected = 1},
    {"a device that does not load the kernels is left out", TWO ",fault=module_load_data:1",
     .devices = 3, .play = has_devices, .expected = 2},
};

static const struct scene works[] = {
    {"ECB encryption over two devices", TWO, .devices = 3, .play = is_striped,
     .op = GPUAES_ECB_ENCRYPT, .len = STRIPED, .kind = GPUAES_PINNED},
    {"CTR in place over two devices", TWO, .devices = 3, .play = is_striped, .op = GPUAES_CTR,
     .len = STRIPED, .kind = GPUAES_PINNED, .in_place = 1},
    {"CBC decryption in place over two devices", TWO, .devices = 3, .play = is_striped,
     .op = GPUAES_CBC_DECRYPT, .len = STRIPED, .kind = GPUAES_PINNED, .in_place = 1},
    {"Base64 over two devices", TWO, .devices = 3, .play = base64_is_done, .len = STRIPED,
     .kind = GPUAES_PINNED},
    {"pageable memory, by four threads and one of two devices", TWO, .devices = 3, .threads = 4,
     .play = is_on_one_device, .op = GPUAES_CTR, .len = STAGED, .kind = GPUAES_PAGEABLE},
    {"a block more than 32 threads share evenly", "", .threads = 32, .play = is_cut_for_threads,
     .op = GPUAES_ECB_ENCRYPT, .len = (32 << 20) + 16, .kind = GPUAES_PAGEABLE},
    {"Base64 by four threads", "threads=64", .threads = 4, .play = base64_is_done, .len = STAGED,
     .kind = GPUAES_PAGEABLE},
    {"threads take turns with the devices", TWO, .devices = 3, .play = threads_take_turns,
     .op = GPUAES_CTR, .len = SMALL, .kind = GPUAES_PINNED},
    {"memory of either device is worked on there", TWO, .devices = 3, .play = memory_is_worked_on,
     .expected = 3},
    {"a device that only the application uses works on its memory", TWO,
     .play = memory_is_worked_on, .expected = 1},
    {"memory of a device that cannot be used is foreign", TWO ",fault=module_load_data:2",
     .play = memory_is_foreign},
    {"a device with little memory leaves its part to the other", TWO ",memory=1:1024", .devices = 3,
     .play = is_done, .op = GPUAES_ECB_DECRYPT, .len = STRIPED, .kind = GPUAES_PINNED},
};

static const struct scene losses[] = {
    {"the first is lost by its first launch", TWO, .devices = 3, .threads = 4,
     .play = goes_on_with_one, .expected = 2, .op = GPUAES_ECB_ENCRYPT, .len = STAGED,
     .kind = GPUAES_PAGEABLE, .after = FIRST "lost=launch_kernel:1"},
    {"the second is lost by its first launch, with pinned memory", TWO, .devices = 3, .threads = 4,
     .play = goes_on_with_one, .expected = 1, .op = GPUAES_ECB_ENCRYPT, .len = STRIPED,
     .kind = GPUAES_PINNED, .after = SECOND "lost=launch_kernel:1"},
    {"the first is lost by its third launch", TWO, .devices = 3, .threads = 4,
     .play = goes_on_with_one, .expected = 2, .op = GPUAES_ECB_DECRYPT, .len = STAGED,
     .kind = GPUAES_PAGEABLE, .in_place = 1, .after = FIRST "lost=launch_kernel:3"},
    {"the second is lost by its third launch, with pinned memory", TWO, .devices = 3, .threads = 4,
     .play = goes_on_with_one, .expected = 1, .op = GPUAES_ECB_DECRYPT, .len = STRIPED,
     .kind = GPUAES_PINNED, .in_place = 1, .after = SECOND "lost=launch_kernel:3"},
    {"the first is lost by a copy", TWO, .devices = 3, .threads = 4, .play = goes_on_with_one,
     .expected = 2, .op = GPUAES_ECB_DECRYPT, .len = STAGED, .kind = GPUAES_PAGEABLE,
     .after = FIRST "lost=memcpy_htod_async:2"},
    {"the first is lost by a copy, with pinned memory", TWO, .devices = 3, .threads = 4,
     .play = goes_on_with_one, .expected = 2, .op = GPUAES_ECB_DECRYPT, .len = STRIPED,
     .kind = GPUAES_PINNED, .after = FIRST "lost=memcpy_htod_async:2"},
    {"the first does not tell how far it is", TWO, .devices = 3, .threads = 4,
     .play = goes_on_with_one, .expected = 2, .op = GPUAES_CTR, .len = STAGED,
     .kind = GPUAES_PAGEABLE, .after = FIRST "fault=event_query:3"},
    {"the context of the first cannot be left", TWO, .devices = 3, .threads = 4,
     .play = goes_on_with_one, .expected = 2, .op = GPUAES_ECB_ENCRYPT, .len = STAGED,
     .kind = GPUAES_PAGEABLE, .in_place = 1, .after = FIRST "fault=ctx_pop_current:1"},
    {"the first is lost before it has all streams", TWO, .devices = 3, .threads = 4,
     .play = goes_on_with_one, .expected = 2, .op = GPUAES_ECB_DECRYPT, .len = STAGED,
     .kind = GPUAES_PAGEABLE, .after = FIRST "lost=stream_create:2"},
    {"a device that hangs is dropped, and the other goes on", TWO, .devices = 3, .play = hangs,
     .expected = 1, .op = GPUAES_CTR, .len = STRIPED, .kind = GPUAES_PINNED,
     .after = SECOND "hang=2"},
    {"with all devices lost the state is FAILED", TWO, .devices = 3, .play = all_are_lost,
     .op = GPUAES_ECB_ENCRYPT, .len = STRIPED, .kind = GPUAES_PINNED,
     .after = TWO ",lost=launch_kernel:3"},
};

/* What threads share, and no more: for ThreadSanitizer. */
static const struct scene threads_alone[] = {
    {"CTR over two devices", TWO, .devices = 3, .play = is_striped, .op = GPUAES_CTR,
     .len = STRIPED, .kind = GPUAES_PINNED},
    {"CTR by four threads", "", .threads = 4, .play = is_staged, .op = GPUAES_CTR, .len = STAGED,
     .kind = GPUAES_PAGEABLE},
    {"a device that is lost while another works", TWO, .devices = 3, .play = goes_on_with_one,
     .expected = 1, .op = GPUAES_CTR, .len = STRIPED, .kind = GPUAES_PINNED,
     .after = SECOND "lost=launch_kernel:1"},
    {"staging memory is wiped once, after a fault while other threads work", TWO, .devices = 3,
     .threads = 4, .play = goes_on_with_one, .expected = 2, .op = GPUAES_CTR, .len = STAGED,
     .kind = GPUAES_PAGEABLE, .after = FIRST "fault=event_query:3"},
};

static int play_in_child(const void *argument)
{
    const struct scene *scene = argument;
    struct gpuaes_settings settings = {.devices = scene->devices, .threads = scene->threads};
    if (scene->play == hangs)
        settings.timeout_ms = 5000;
    emulator_configure(scene->emulator);
    return starts_with(&settings) ? scene->play(scene) : 99;
}

static void check(const struct scene *scenes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        child_ok(play_in_child, &scenes[i], "%s", scenes[i].name);
}

#define CHECK(scenes) check(scenes, sizeof(scenes) / sizeof(scenes)[0])

static void check_operations(void)
{
    for (int i = 0; i < 2 * SINGLE_OPS; i++) {
        struct scene scene = {"",
                              TWO,
                              is_staged,
                              .devices = 3,
                              .threads = 4,
                              .op = single_ops[i / 2],
                              .len = STAGED,
                              .in_place = i % 2};
        child_ok(play_in_child, &scene, "%s by four threads, %s", op_names[scene.op],
                 i % 2 ? "in place" : "out of place");
    }
}

int main(void)
{
    tap_random_seed(&random_state);
    CHECK(choices);
    child_ok(none_starts, "devices=2,fault=module_load_data:1,fault=module_load_data:2",
             "the start fails where no device can be started");
    if (THREADS_ALONE) {
        CHECK(threads_alone);
        return tap_done();
    }
    CHECK(works);
    check_operations();
    CHECK(losses);
    return tap_done();
}
