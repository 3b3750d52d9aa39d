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
enum { STRIPED = (16 << 20) + 48, STAGED = (4 << 20) + 16, SMALL = 40 << 10 };

/* One process: how the emulator and the library are set, and what is done. */
struct scene {
    const char *before, *after; /* options of the emulator, before and after the start */
    struct gpuaes_settings settings;
    int (*play)(const struct scene *scene); /* 0: right */
    enum gpuaes_op op;
    int kind, in_place;
};

static int play_in_child(const void *argument)
{
    const struct scene *scene = argument;
    emulator_configure(scene->before);
    if (!starts_with(&scene->settings))
        return 99;
    return scene->play(scene);
}

static void check(struct scene scene, const char *what)
{
    int status = in_child(play_in_child, &scene);
    if (status != 0)
        tap_diag("status %d, %s, %s", status, op_names[scene.op],
                 scene.in_place ? "in place" : "apart");
    tap_ok(status == 0, "%s", what);
}

static unsigned devices(void)
{
    struct gpuaes_device_info info;
    unsigned n = 0;
    while (gpuaes_device(n, &info))
        n++;
    return n;
}

/* ---- Which devices ---------------------------------------------------------------- */

static int play_both(const struct scene *scene)
{
    struct gpuaes_device_info first, second;
    (void)scene;
    return gpuaes_device(0, &first) && gpuaes_device(1, &second) && first.ordinal == 0 &&
                   second.ordinal == 1 && devices() == 2
               ? 0
               : 1;
}

static int play_second_alone(const struct scene *scene)
{
    struct gpuaes_device_info info;
    (void)scene;
    return devices() == 1 && gpuaes_device(0, &info) && info.ordinal == 1 ? 0 : 1;
}

static int play_first_alone(const struct scene *scene)
{
    struct gpuaes_device_info info;
    (void)scene;
    return devices() == 1 && gpuaes_device(0, &info) && info.ordinal == 0 ? 0 : 1;
}

static int none_starts(const void *options)
{
    struct gpuaes_settings settings = {.devices = GPUAES_ALL_DEVICES};
    emulator_configure(options);
    configure(&settings);
    return gpuaes_start(NULL, NULL, 1) == GPUAES_FAILED && gpuaes_reason()[0] != '\0' ? 0 : 1;
}

static void test_choice(void)
{
    check((struct scene){.before = "devices=2", .settings = {.devices = 3}, .play = play_both},
          "both of two devices");
    check((struct scene){.before = "devices=2",
                         .settings = {.devices = GPUAES_ALL_DEVICES},
                         .play = play_both},
          "all of two devices");
    check((struct scene){.before = "devices=2", .play = play_first_alone},
          "the first device where nothing is set");
    check((struct scene){.before = "devices=2",
                         .settings = {.devices = 6},
                         .play = play_second_alone},
          "the second of two devices; one that does not exist is left out");
    check((struct scene){.before = "devices=2,fault=primary_ctx_retain:2",
                         .settings = {.devices = 3},
                         .play = play_first_alone},
          "a device that cannot be retained is left out");
    check((struct scene){.before = "devices=2,fault=module_load_data:1",
                         .settings = {.devices = 3},
                         .play = play_second_alone},
          "a device that does not load the kernels is left out");
    child_ok(none_starts, "devices=2,fault=module_load_data:1,fault=module_load_data:2",
             "the start fails where no device can be started");
}

/* ---- Work ---------------------------------------------------------------------------- */

/* One call under the scene's faults; 0 if the caller ends up with the right output. */
static int run_call(const struct scene *scene, size_t len, enum gpuaes_status *status,
                    struct gpuaes_report *report)
{
    struct expected e;
    unsigned char iv[16];
    expect(&e, scene->op, len);
    memcpy(iv, e.iv, sizeof iv);
    unsigned char *in = take(scene->kind, len);
    unsigned char *out = scene->in_place ? in : take(scene->kind, len);
    memcpy(in, e.plain, len);
    if (scene->after != NULL)
        emulator_configure(scene->after);
    *status = gpuaes_aes(scene->op, &e.schedule, iv, in, out, len, GPUAES_WAIT, report);
    if (*status == GPUAES_UNDEFINED)
        return 0;
    if (*status == GPUAES_OK &&
        (bytes_done(report) != len ||
         (scene->op >= GPUAES_CBC_DECRYPT && memcmp(iv, e.next_iv, sizeof iv) != 0)))
        return 20;
    return finishes(&e, scene->op, report, in, out, len) ? 0 : 21;
}

static int play_striped(const struct scene *scene)
{
    struct gpuaes_report report;
    enum gpuaes_status status;
    emulator_configure("devices=2");
    int wrong = run_call(scene, STRIPED, &status, &report);
    if (wrong != 0 || status != GPUAES_OK)
        return wrong + 1;
    return report.shards == 2 && emulator_device_launches(0) > 0 && emulator_device_launches(1) > 0
               ? 0
               : 2;
}

static int play_staged(const struct scene *scene)
{
    struct gpuaes_report report;
    enum gpuaes_status status;
    int wrong = run_call(scene, STAGED, &status, &report);
    if (wrong != 0 || status != GPUAES_OK)
        return wrong + 1;
    return report.shards == scene->settings.threads ? 0 : 2;
}

static int play_base64(const struct scene *scene)
{
    size_t len = (scene->kind == GPUAES_PAGEABLE ? STAGED : STRIPED) / 3 * 3,
           characters = gpuaes_base64_encoded_size(len, 0), offset = 0;
    unsigned char *plain = take(scene->kind, len), *text = take(scene->kind, characters);
    static unsigned char expected[STRIPED / 3 * 4 + 1];
    unsigned char *back = take(scene->kind, len);
    tap_random_bytes(&random_state, plain, len);
    EVP_EncodeBlock(expected, plain, (int)len);
    if (gpuaes_base64_encode(plain, len, text, 0, GPUAES_WAIT) != GPUAES_OK ||
        memcmp(text, expected, characters) != 0)
        return 1;
    if (gpuaes_base64_decode(text, characters, back, GPUAES_WAIT, &offset) != GPUAES_OK ||
        memcmp(back, plain, len) != 0)
        return 2;
    text[characters - 5] = text[characters - 9] = '*'; /* in the last part */
    if (gpuaes_base64_decode(text, characters, back, GPUAES_WAIT, &offset) != GPUAES_BAD_INPUT ||
        offset != characters - 9)
        return 3;
    text[7] = '*';
    return gpuaes_base64_decode(text, characters, back, GPUAES_WAIT, &offset) == GPUAES_BAD_INPUT &&
                   offset == 7
               ? 0
               : 4;
}

static void *small_work(void *argument)
{
    const struct scene *scene = argument;
    struct gpuaes_report report;
    enum gpuaes_status status;
    return run_call(scene, SMALL, &status, &report) == 0 && status == GPUAES_OK ? NULL : argument;
}

/* Two threads at work, one after the other, have two devices. */
static int play_turns(const struct scene *scene)
{
    struct scene own = *scene;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        void *wrong;
        pthread_create(&thread, NULL, small_work, &own);
        pthread_join(thread, &wrong);
        if (wrong != NULL)
            return 1;
    }
    return emulator_device_launches(0) > 0 && emulator_device_launches(1) > 0 ? 0 : 2;
}

static void test_work(void)
{
    struct scene scene = {
        .before = "devices=2", .settings = {.devices = 3}, .play = play_striped, .kind = 1};
    scene.op = GPUAES_ECB_ENCRYPT;
    check(scene, "ECB encryption over two devices");
    scene.in_place = 1;
    scene.op = GPUAES_CTR;
    check(scene, "CTR in place over two devices");
    scene.op = GPUAES_CBC_DECRYPT;
    check(scene, "CBC decryption in place over two devices");
    check(
        (struct scene){
            .before = "devices=2", .settings = {.devices = 3}, .play = play_base64, .kind = 1},
        "Base64 over two devices");
    check((struct scene){.before = "threads=64", .settings = {.threads = 4}, .play = play_base64},
          "Base64 by four threads");
    check((struct scene){.before = "devices=2",
                         .settings = {.devices = 3},
                         .play = play_turns,
                         .op = GPUAES_CTR,
                         .kind = 1},
          "threads take turns with the devices");
    struct scene threads = {
        .before = "devices=2", .settings = {.devices = 3, .threads = 4}, .play = play_staged};
    for (int op = 0; op < GPUAES_OPS; op++)
        for (threads.in_place = 0; threads.in_place < 2; threads.in_place++) {
            char what[80];
            threads.op = (enum gpuaes_op)op;
            snprintf(what, sizeof what, "%s by four threads, %s", op_names[op],
                     threads.in_place ? "in place" : "apart");
            check(threads, what);
        }
}

/* ---- Faults ---------------------------------------------------------------------------- */

/* The second device fails in mid-work; the first goes on, and does its part if it can be done. */
static int play_loss(const struct scene *scene)
{
    struct gpuaes_report report;
    enum gpuaes_status status;
    struct gpuaes_statistics s;
    size_t len = scene->kind == GPUAES_PAGEABLE ? STAGED : STRIPED;
    int wrong = run_call(scene, len, &status, &report);
    if (wrong != 0)
        return wrong;
    /* Only pinned memory may have been overwritten. */
    if (status != GPUAES_OK &&
        (scene->kind == GPUAES_PAGEABLE || !scene->in_place || status != GPUAES_UNDEFINED))
        return 1;
    gpuaes_get_statistics(&s);
    if (gpuaes_state() != GPUAES_READY || devices() != 1 || s.faults == 0)
        return 2;
    struct scene again = *scene;
    again.after = NULL;
    return run_call(&again, SMALL, &status, &report) == 0 && status == GPUAES_OK ? 0 : 3;
}

/* A hang is waited for; then the output may be written at any time. */
static int play_hang(const struct scene *scene)
{
    struct gpuaes_report report;
    enum gpuaes_status status;
    int wrong = run_call(scene, STRIPED, &status, &report);
    if (wrong != 0 || status != GPUAES_UNDEFINED)
        return wrong + 1;
    return gpuaes_state() == GPUAES_READY && devices() == 1 ? 0 : 2;
}

static int play_all_lost(const struct scene *scene)
{
    struct gpuaes_report report;
    enum gpuaes_status status;
    int wrong = run_call(scene, STRIPED, &status, &report);
    if (wrong != 0 || status == GPUAES_OK)
        return wrong + 1;
    return gpuaes_state() == GPUAES_FAILED && gpuaes_reason()[0] != '\0' && devices() == 0 ? 0 : 2;
}

static void test_losses(void)
{
    static const char *const faults[] = {
        "devices=2,fault-device=1,lost=launch_kernel:1",
        "devices=2,fault-device=1,lost=launch_kernel:3",
        "devices=2,fault-device=0,lost=memcpy_htod_async:2",
        "devices=2,fault-device=1,fault=event_query:3",
        "devices=2,fault-device=1,fault=ctx_push_current:1",
        "devices=2,fault-device=1,lost=stream_create:2",
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        for (int kind = 0; kind < 2; kind++) {
            struct scene scene = {.before = "devices=2",
                                  .after = faults[i],
                                  .settings = {.devices = 3, .threads = 4, .timeout_ms = 50000},
                                  .play = play_loss,
                                  .op = (enum gpuaes_op)(i % GPUAES_OPS),
                                  .kind = kind,
                                  .in_place = i % 3 == 1};
            char what[120];
            if (kind == GPUAES_PINNED && i >= 3)
                continue; /* the first three have shown what pinned memory changes */
            if (strstr(faults[i], "htod") != NULL)
                scene.op = GPUAES_ECB_DECRYPT; /* CTR needs no copy to the device */
            if (strstr(faults[i], "ctx_push") != NULL)
                scene.after = "devices=2,fault-device=1,fault=ctx_pop_current:1";
            snprintf(what, sizeof what, "%s memory: %s", kind_names[kind], scene.after);
            check(scene, what);
        }
    check((struct scene){.before = "devices=2",
                         .after = "devices=2,fault-device=1,hang=2",
                         .settings = {.devices = 3, .timeout_ms = 5000},
                         .play = play_hang,
                         .op = GPUAES_CTR,
                         .kind = 1},
          "a device that hangs is dropped, and the other goes on");
    check((struct scene){.before = "devices=2",
                         .after = "devices=2,lost=launch_kernel:3",
                         .settings = {.devices = 3},
                         .play = play_all_lost,
                         .op = GPUAES_ECB_ENCRYPT,
                         .kind = 1},
          "with all devices lost the state is FAILED");
}

/* ---- Memory of a device ---------------------------------------------------------------- */

static int works_on(void *in, void *out, const struct expected *e, enum gpuaes_op op, size_t len)
{
    unsigned char iv[16], *got = malloc(len);
    memcpy(iv, e->iv, sizeof iv);
    int right = gpuaes_copy(in, e->plain, len) == GPUAES_OK &&
                gpuaes_aes(op, &e->schedule, iv, in, out, len, GPUAES_WAIT, NULL) == GPUAES_OK &&
                gpuaes_copy(got, out, len) == GPUAES_OK && memcmp(got, e->cipher, len) == 0;
    free(got);
    return right;
}

/* Memory of the second device, which is in use or is the application's choice. */
static int play_owned(const struct scene *scene)
{
    enum { BYTES = 1 << 20 };
    struct expected e;
    expect(&e, scene->op, BYTES);
    become_an_application(1);
    unsigned char *one = take(GPUAES_DEVICE, BYTES), *managed = emulator_managed_alloc(BYTES);
    become_an_application(0);
    unsigned char *zero = take(GPUAES_DEVICE, BYTES), iv[16];
    unsigned before = devices();
    if (gpuaes_memory_kind(one, BYTES) != GPUAES_DEVICE)
        return 1;
    if (!works_on(one, one, &e, scene->op, BYTES))
        return 2;
    if (emulator_device_launches(1) == 0 || emulator_device_launches(0) != 0)
        return 3;
    if (gpuaes_aes(scene->op, &e.schedule, iv, one, zero, BYTES, 0, NULL) != GPUAES_BAD_ARGUMENT)
        return 4;
    if (!works_on(managed, zero, &e, scene->op, BYTES) ||
        !works_on(zero, zero, &e, scene->op, BYTES))
        return 5;
    return devices() == before && gpuaes_state() == GPUAES_READY ? 0 : 6;
}

static int play_foreign(const struct scene *scene)
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

/* The thread's own device has too little memory for it. */
static int play_short(const struct scene *scene)
{
    struct gpuaes_report report;
    enum gpuaes_status status;
    size_t len = scene->kind == GPUAES_PAGEABLE ? STAGED : STRIPED;
    int wrong = run_call(scene, len, &status, &report);
    return wrong != 0 || status != GPUAES_OK ? wrong + 1 : 0;
}

static void test_memory(void)
{
    check((struct scene){.before = "devices=2",
                         .settings = {.devices = 3},
                         .play = play_owned,
                         .op = GPUAES_CTR},
          "memory of either device is worked on there");
    check((struct scene){.before = "devices=2", .play = play_owned, .op = GPUAES_CTR},
          "a device that only the application uses works on its memory");
    check((struct scene){.before = "devices=2,fault=module_load_data:2", .play = play_foreign},
          "memory of a device that cannot be used is foreign");
    check((struct scene){.before = "devices=2,memory=1:1024",
                         .settings = {.devices = 3},
                         .play = play_short,
                         .op = GPUAES_ECB_DECRYPT,
                         .kind = 1},
          "a device with little memory leaves its part to the other");
    check((struct scene){.before = "devices=1",
                         .settings = {.threads = 4, .pinned_bytes = 9 << 20},
                         .play = play_short,
                         .op = GPUAES_CTR},
          "four threads with staging memory for one");
}

/* What threads share, and no more. */
static void test_threads_alone(void)
{
    check((struct scene){.before = "devices=2",
                         .settings = {.devices = 3},
                         .play = play_striped,
                         .op = GPUAES_CTR,
                         .kind = 1},
          "CTR over two devices");
    check(
        (struct scene){
            .before = "", .settings = {.threads = 4}, .play = play_staged, .op = GPUAES_CTR},
        "CTR by four threads");
    check((struct scene){.before = "devices=2",
                         .after = "devices=2,fault-device=1,lost=launch_kernel:1",
                         .settings = {.devices = 3},
                         .play = play_loss,
                         .op = GPUAES_CTR,
                         .kind = 1},
          "a device that is lost while another works");
    check((struct scene){.before = "devices=2",
                         .after = "devices=2,fault-device=1,fault=event_query:3",
                         .settings = {.devices = 3, .threads = 4},
                         .play = play_loss,
                         .op = GPUAES_CTR},
          "staging memory is wiped once, after a fault while another device works");
}

int main(void)
{
    tap_random_seed(&random_state);
    test_choice();
    if (THREADS_ALONE) {
        test_threads_alone();
        return tap_done();
    }
    test_work();
    test_losses();
    test_memory();
    return tap_done();
}
