/*
 * AES on streams of the application, on the emulator: order, chaining of CBC,
 * kinds of memory, streams without a handle, several devices, refusals and
 * faults. The expected results are libcrypto's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "test/support/library.h"

enum { LARGEST = (2 << 20) + 48, ROOM = LARGEST + 64 };

static drv_stream stream;

static struct gpuaes_stream_binding *open_queue(void *on)
{
    struct gpuaes_stream_binding *queue = NULL;
    enum gpuaes_status status = gpuaes_stream_binding_open(&queue, on, 0);
    if (status != GPUAES_OK)
        tap_diag("open: status %d, %s", status, gpuaes_reason());
    return queue;
}

/* ---- One call ---------------------------------------------------------------------- */

/* The application's copy, on the same stream as our work and without waiting. */
static void copy_on_stream(void *to, const void *from, size_t len)
{
    application.memcpy_dtod_async((drv_ptr)(uintptr_t)to, (drv_ptr)(uintptr_t)from, len, stream);
}

static int call_is_right(struct gpuaes_stream_binding *queue, enum gpuaes_op op, unsigned char *in,
                         unsigned char *out, size_t len, int pinned)
{
    struct expected e;
    unsigned char iv[16], *got = gpuaes_pinned_alloc(len), *plain = gpuaes_pinned_alloc(len);
    if (got == NULL || plain == NULL) {
        tap_diag("no pinned memory: %s", gpuaes_reason());
        return 0;
    }
    expect(&e, op, len);
    memcpy(plain, e.plain, len);
    copy_on_stream(in, plain, len);
    enum gpuaes_status status =
        gpuaes_stream_binding_aes(queue, op, &e.schedule, e.iv, in, out, len);
    memset(&e.schedule, 0, sizeof e.schedule); /* not needed any more */
    copy_on_stream(got, out, len);
    int right =
        status == GPUAES_OK &&
        gpuaes_stream_binding_wait(queue, op == GPUAES_CBC_DECRYPT ? iv : NULL) == GPUAES_OK &&
        memcmp(got, e.cipher, len) == 0 && (!pinned || memcmp(out, e.cipher, len) == 0) &&
        (op != GPUAES_CBC_DECRYPT || memcmp(iv, e.next_iv, 16) == 0);
    gpuaes_pinned_free(got, len);
    gpuaes_pinned_free(plain, len);
    expected_free(&e);
    if (!right)
        tap_diag("%s, %zu bytes: status %d, %s", op_names[op], len, status, gpuaes_reason());
    return right;
}

static void test_kinds(void)
{
    static const size_t lengths[] = {16, 4096 + 16, 80 << 10, LARGEST};
    struct gpuaes_stream_binding *queue = open_queue(stream);
    for (int in_kind = 1; in_kind < 3; in_kind++)
        for (int out_kind = 1; out_kind < 3; out_kind++) {
            unsigned char *in = take(in_kind, ROOM), *out = take(out_kind, ROOM);
            for (int k = 0; k < STREAM_OPS; k++) {
                const enum gpuaes_op op = single_ops[k];
                int right = queue != NULL;
                for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && right; i++) {
                    size_t in_at = tap_random_below(&random_state, 17);
                    size_t out_at = tap_random_below(&random_state, 17);
                    right = call_is_right(queue, op, in + in_at, out + out_at, lengths[i],
                                          out_kind == GPUAES_PINNED);
                    if (in_kind == out_kind)
                        right = right && call_is_right(queue, op, in + in_at, in + in_at,
                                                       lengths[i], in_kind == GPUAES_PINNED);
                }
                tap_ok(right, "%s from %s to %s memory%s", op_names[op], kind_names[in_kind],
                       kind_names[out_kind], in_kind == out_kind ? ", also in place" : "");
            }
            give(in_kind, in, ROOM);
            give(out_kind, out, ROOM);
        }
    gpuaes_stream_binding_close(queue);
}

/* ---- CBC over several calls ------------------------------------------------------------ */

static int chain_is_right(int in_place)
{
    enum { CALLS = 5 };
    static const size_t lengths[CALLS] = {16, 4096, 48, 1 << 20, 160};
    struct gpuaes_stream_binding *queue = open_queue(stream);
    struct expected e;
    size_t len = 0, at = 0;
    unsigned char iv[16], *got = malloc(LARGEST);
    for (int i = 0; i < CALLS; i++)
        len += lengths[i];
    expect(&e, GPUAES_CBC_DECRYPT, len);
    unsigned char *in = take(GPUAES_DEVICE, len);
    unsigned char *out = in_place ? in : take(GPUAES_DEVICE, len);
    gpuaes_copy(in, e.plain, len);
    int right = queue != NULL;
    for (int i = 0; i < CALLS && right; i++) {
        right =
            gpuaes_stream_binding_aes(queue, GPUAES_CBC_DECRYPT, &e.schedule, i == 0 ? e.iv : NULL,
                                      in + at, out + at, lengths[i]) == GPUAES_OK;
        at += lengths[i];
    }
    right = right && gpuaes_stream_binding_wait(queue, iv) == GPUAES_OK;
    gpuaes_copy(got, out, len);
    right = right && memcmp(got, e.cipher, len) == 0 && memcmp(iv, e.next_iv, 16) == 0;
    gpuaes_stream_binding_close(queue);
    give(GPUAES_DEVICE, in, len);
    if (!in_place)
        give(GPUAES_DEVICE, out, len);
    free(got);
    expected_free(&e);
    return right;
}

/* ---- Streams ----------------------------------------------------------------------------- */

static int works(struct gpuaes_stream_binding *queue)
{
    struct expected e;
    unsigned char *p = gpuaes_pinned_alloc(4096);
    expect(&e, GPUAES_CTR, 4096);
    memcpy(p, e.plain, 4096);
    int right =
        queue != NULL &&
        gpuaes_stream_binding_aes(queue, GPUAES_CTR, &e.schedule, e.iv, p, p, 4096) == GPUAES_OK &&
        gpuaes_stream_binding_wait(queue, NULL) == GPUAES_OK && memcmp(p, e.cipher, 4096) == 0;
    gpuaes_stream_binding_close(queue);
    gpuaes_pinned_free(p, 4096);
    expected_free(&e);
    return right;
}

static void *other_thread(void *queue)
{
    return works(queue) ? queue : NULL;
}

static void test_streams(void)
{
    pthread_t thread;
    void *right;
    tap_ok(works(open_queue(NULL)), "the legacy default stream");
    tap_ok(works(open_queue(DRV_STREAM_LEGACY)), "the same by its handle");
    pthread_create(&thread, NULL, other_thread, open_queue(stream));
    pthread_join(thread, &right);
    tap_ok(right != NULL, "a queue is used by another thread than the one that opened it");
    struct gpuaes_stream_binding *queue;
    tap_ok(gpuaes_stream_binding_open(&queue, NULL, 1) == GPUAES_BAD_ARGUMENT && queue == NULL &&
               gpuaes_stream_binding_open(&queue, NULL, -1) == GPUAES_BAD_ARGUMENT,
           "a device that is not there is refused");
    tap_ok(gpuaes_stream_binding_open(&queue, &thread, 0) == GPUAES_BAD_ARGUMENT,
           "what is no stream is refused");
    tap_ok(gpuaes_stream_binding_open(&queue, DRV_STREAM_PER_THREAD, 0) == GPUAES_BAD_ARGUMENT &&
               queue == NULL,
           "so is the default stream of each thread");
    gpuaes_stream_binding_close(NULL);
}

/* ---- Refusals ---------------------------------------------------------------------------- */

static void test_arguments(void)
{
    struct gpuaes_stream_binding *queue = open_queue(stream);
    unsigned char iv[16] = {0}, *pageable = malloc(4096), *device = take(GPUAES_DEVICE, 4096);
    struct gpuaes_key key;
    gpuaes_key_expand(&key, iv, 16);
    tap_ok(gpuaes_stream_binding_aes(queue, GPUAES_CTR, &key, iv, pageable, device, 4096) ==
                   GPUAES_BAD_RANGE &&
               gpuaes_stream_binding_aes(queue, GPUAES_CTR, &key, iv, device, pageable, 4096) ==
                   GPUAES_BAD_RANGE,
           "pageable memory is refused");
    tap_ok(gpuaes_stream_binding_aes(queue, GPUAES_CTR, &key, iv, device, device, 8192) ==
               GPUAES_BAD_RANGE,
           "so is a range that leaves its allocation");
    tap_ok(gpuaes_stream_binding_aes(queue, GPUAES_CTR, &key, iv, device, device, 20) ==
                   GPUAES_BAD_ARGUMENT &&
               gpuaes_stream_binding_aes(queue, GPUAES_CTR, &key, NULL, device, device, 16) ==
                   GPUAES_BAD_ARGUMENT &&
               gpuaes_stream_binding_aes(queue, GPUAES_CTR, &key, iv, device, device + 16, 64) ==
                   GPUAES_BAD_ARGUMENT,
           "so are a part of a block, no IV, an overlap");
    tap_ok(gpuaes_stream_binding_aes(queue, GPUAES_CBC_DECRYPT, &key, NULL, device, device, 16) ==
               GPUAES_BAD_ARGUMENT,
           "so is going on with a chain that was not begun");
    tap_ok(gpuaes_stream_binding_wait(queue, iv) == GPUAES_BAD_ARGUMENT,
           "so is asking where that is");
    tap_ok(gpuaes_stream_binding_aes(queue, GPUAES_CTR, &key, iv, device, device, 0) == GPUAES_OK,
           "nothing is done at once");
    tap_ok(gpuaes_stream_binding_wait(queue, NULL) == GPUAES_OK && gpuaes_state() == GPUAES_READY,
           "and the device is as good as before");
    gpuaes_stream_binding_close(queue);
    give(GPUAES_DEVICE, device, 4096);
    free(pageable);
}

/* ---- In processes of their own ----------------------------------------------------------- */

static int no_device(const void *unused)
{
    struct gpuaes_stream_binding *queue;
    (void)unused;
    return gpuaes_stream_binding_open(&queue, NULL, 0) == GPUAES_NOT_READY ? 0 : 1;
}

/* A stream of the second device; its context is in use, or not. */
static int second_device(const void *argument)
{
    struct gpuaes_settings settings = {.devices = *(const uint64_t *)argument};
    struct gpuaes_stream_binding *queue;
    drv_stream own;
    emulator_configure("devices=2");
    become_an_application(1);
    if (!starts_with(&settings) || application.stream_create(&own, 1) != 0)
        return 1;
    enum gpuaes_status status = gpuaes_stream_binding_open(&queue, own, 0);
    if ((settings.devices & 2) == 0)
        return status == GPUAES_BAD_ARGUMENT ? 0 : 2;
    if (status != GPUAES_OK || !works(queue))
        return 3;
    return emulator_device_launches(1) > 0 && emulator_device_launches(0) == 0 ? 0 : 4;
}

/* The driver says that the context is broken, not that the stream is of no device. */
static int unknown_stream(const void *unused)
{
    struct gpuaes_stream_binding *queue;
    drv_stream own;
    (void)unused;
    become_an_application(0);
    if (!starts_with(NULL) || application.stream_create(&own, 1) != 0)
        return 1;
    emulator_configure("fault=stream_get_ctx:1");
    enum gpuaes_status status = gpuaes_stream_binding_open(&queue, own, 0);
    return status == GPUAES_FAULT && queue == NULL ? 0 : 2;
}

static int fault(const void *options)
{
    struct gpuaes_settings settings = {.timeout_ms = timeout_for(options)};
    struct gpuaes_stream_binding *queue;
    struct gpuaes_key key;
    unsigned char iv[16] = {0};
    gpuaes_key_expand(&key, iv, 16);
    if (!starts_with(&settings))
        return 1;
    become_an_application(0);
    unsigned char *p = gpuaes_pinned_alloc(4096);
    if (gpuaes_stream_binding_open(&queue, NULL, 0) != GPUAES_OK)
        return 2;
    emulator_configure(options);
    enum gpuaes_status status =
        gpuaes_stream_binding_aes(queue, GPUAES_ECB_ENCRYPT, &key, iv, p, p, 4096);
    if (status == GPUAES_OK)
        status = gpuaes_stream_binding_wait(queue, NULL);
    int right = status == GPUAES_FAULT && gpuaes_state() == GPUAES_FAILED;
    gpuaes_stream_binding_close(queue);
    return right ? 0 : 3;
}

/* Work of the application that takes longer than the limit for ours. */
static int patience(const void *on_queue)
{
    enum { BIG = 10 << 20 };
    struct gpuaes_settings settings = {.timeout_ms = 3000};
    struct gpuaes_stream_binding *queue = NULL;
    struct expected e;
    if (!starts_with(&settings))
        return 1;
    become_an_application(0);
    unsigned char *big = take(GPUAES_DEVICE, BIG), *host = gpuaes_pinned_alloc(BIG);
    unsigned char *p = take(GPUAES_DEVICE, 4096);
    expect(&e, GPUAES_CTR, 4096);
    if (gpuaes_copy(p, e.plain, 4096) != GPUAES_OK ||
        (on_queue != NULL && gpuaes_stream_binding_open(&queue, NULL, 0) != GPUAES_OK))
        return 2;
    emulator_configure("copy-mbps=2");
    application.memcpy_htod_async((drv_ptr)(uintptr_t)big, host, BIG, DRV_STREAM_LEGACY);
    enum gpuaes_status status =
        queue != NULL ? gpuaes_stream_binding_aes(queue, GPUAES_CTR, &e.schedule, e.iv, p, p, 4096)
                      : gpuaes_aes(GPUAES_CTR, &e.schedule, e.iv, p, p, 4096, 0, NULL);
    if (status == GPUAES_OK && queue != NULL)
        status = gpuaes_stream_binding_wait(queue, NULL);
    emulator_configure(NULL);
    if (status != GPUAES_OK || gpuaes_state() != GPUAES_READY)
        return 3;
    gpuaes_stream_binding_close(queue);
    return holds(p, e.cipher, 4096) ? 0 : 4;
}

/* Between pinned and pageable memory as well, which the CPU copies. */
static int copies_in_order(const void *unused)
{
    enum { BYTES = 64 << 10 };
    static unsigned char got[BYTES], other[BYTES];
    (void)unused;
    if (!starts_with(NULL))
        return 1;
    become_an_application(0);
    unsigned char *text = take(GPUAES_DEVICE, BYTES), *pinned = gpuaes_pinned_alloc(BYTES);
    if (pinned == NULL)
        return 2;
    memset(pinned, 0, BYTES);
    memset(other, 7, BYTES);
    if (gpuaes_copy(text, other, BYTES) != GPUAES_OK)
        return 3;
    emulator_configure("copy-mbps=1");
    application.memcpy_dtoh_async(pinned, (drv_ptr)(uintptr_t)text, BYTES, DRV_STREAM_LEGACY);
    int right = gpuaes_copy(got, pinned, BYTES) == GPUAES_OK && !memcmp(got, other, BYTES);
    application.memcpy_htod_async((drv_ptr)(uintptr_t)text, pinned, BYTES, DRV_STREAM_LEGACY);
    memset(other, 9, BYTES);
    right = right && gpuaes_copy(pinned, other, BYTES) == GPUAES_OK;
    emulator_configure(NULL);
    return right && gpuaes_copy(other, text, BYTES) == GPUAES_OK && !memcmp(got, other, BYTES) ? 0
                                                                                               : 4;
}

static struct gpuaes_stream_binding *held;

static int hold(void)
{
    return gpuaes_stream_binding_open(&held, NULL, 0) == GPUAES_OK;
}

static int let_go(void)
{
    gpuaes_stream_binding_close(held);
    return 1;
}

static int is_kept_meanwhile(const void *unused)
{
    (void)unused;
    return !is_kept(hold, let_go);
}

static void test_processes(void)
{
    static const char *const faults[] = {"lost=launch_kernel:1", "fault=launch_kernel:1",
                                         "lost=event_query:1", "fault=event_query:1:700", "hang=1"};
    const uint64_t both = 3, first = 1;
    child_ok(no_device, NULL, "no queue without a device");
    child_ok(second_device, &both, "a stream of the second device");
    child_ok(second_device, &first, "which is refused where that is not in use");
    child_ok(unknown_stream, NULL, "a driver that does not tell whose a stream is");
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        child_ok(fault, faults[i], "%s is reported", faults[i]);
    child_ok(patience, NULL, "the application's work is not under the limit of ours");
    child_ok(patience, &both, "nor is it on a queue");
    child_ok(copies_in_order, NULL, "gpuaes_copy() comes after what is queued, also of the host");
    child_ok(is_kept_meanwhile, NULL, "the device is kept while a queue is open");
}

int main(void)
{
    tap_random_seed(&random_state);
    test_processes(); /* first: children must come from a process without a device */
    become_an_application(0);
    tap_ok(starts_with(NULL), "the device starts");
    application.stream_create(&stream, DRV_STREAM_NON_BLOCKING);
    test_kinds();
    tap_ok(chain_is_right(0), "CBC continues over calls");
    tap_ok(chain_is_right(1), "CBC continues over calls in place");
    test_streams();
    test_arguments();
    tap_ok(emulator_unpinned_copies() == 0, "nothing pageable is given to the driver");
    return tap_done();
}
