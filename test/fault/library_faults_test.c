/*
 * Large calls on pinned memory while the driver fails, the device is lost or a
 * kernel hangs: what is reported as done is right, and the caller can go on
 * from there.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "cuda/device/device.h"
#include "test/support/library.h"

struct faulty {
    const char *options;
    enum gpuaes_op op;
    int in_place;
};

/* In a child, since a lost device is lost for good. 0: right, or as the status says. */
static int run_faulty(const void *argument)
{
    enum { BYTES = 1 << 19 };
    const struct faulty *f = argument;
    struct gpuaes_settings settings = {.timeout_ms = timeout_for(f->options)};
    struct expected e;
    struct gpuaes_report report;
    unsigned char iv[16];
    expect(&e, f->op, BYTES);
    memcpy(iv, e.iv, sizeof iv);
    if (!starts_with(&settings))
        return 10;
    unsigned char *in = gpuaes_pinned_alloc(BYTES);
    unsigned char *out = f->in_place ? in : gpuaes_pinned_alloc(BYTES);
    if (in == NULL || out == NULL)
        return 11;
    memcpy(in, e.plain, BYTES);
    emulator_configure(f->options);
    enum gpuaes_status status =
        gpuaes_aes(f->op, &e.schedule, iv, in, out, BYTES, GPUAES_WAIT, &report);
    if (status == GPUAES_UNDEFINED)
        return 0;
    if (memcmp(iv, status == GPUAES_OK && f->op >= GPUAES_CBC_DECRYPT ? e.next_iv : e.iv, 16) != 0)
        return 12;
    if (!finishes(&e, f->op, &report, in, out, BYTES))
        return 13;
    if (status == GPUAES_OK)
        return bytes_done(&report) == BYTES ? 0 : 14;
    return gpuaes_state() == GPUAES_FAILED || status == GPUAES_NO_MEMORY ? 0 : 15;
}

static int faulty_child(const char *options, enum gpuaes_op op, int in_place)
{
    struct faulty f = {options, op, in_place};
    int status = in_child(run_faulty, &f);
    if (status != 0)
        tap_diag("%s, %s, %s: status %d", options, op_names[op], in_place ? "in place" : "apart",
                 status);
    return status == 0;
}

static void test_faults(void)
{
    static const char *const functions[] = {
        "memcpy_htod_async", "memcpy_dtoh_async", "launch_kernel",    "event_record",
        "event_query",       "stream_query",      "memset_d8_async",  "pointer_get_attributes",
        "mem_alloc",         "stream_create",     "ctx_push_current", "ctx_pop_current",
    };
    static const enum gpuaes_op ops[] = {GPUAES_ECB_ENCRYPT, GPUAES_CBC_DECRYPT, GPUAES_CTR};
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        int right = 1;
        for (int occurrence = 1; occurrence <= 7; occurrence += 2)
            for (int variant = 0; variant < 6; variant++) {
                char options[96];
                snprintf(options, sizeof options, "%s=%s:%d", variant % 2 ? "lost" : "fault",
                         functions[f], occurrence);
                right &= faulty_child(options, ops[variant / 2], occurrence % 4 == 1);
            }
        tap_ok(right, "%s fails, or the device is lost there, with pinned memory", functions[f]);
    }
    int right = faulty_child("hang=1", GPUAES_CTR, 0) && faulty_child("hang=3", GPUAES_CTR, 1) &&
                faulty_child("hang=2", GPUAES_CBC_DECRYPT, 1);
    tap_ok(right, "a kernel that never ends is not waited for");
}

/* ---- Memory that is short when a call needs more than the one before ------------------ */

struct growth {
    const char *name;
    size_t pinned_bytes; /* the limit; 0: the default */
    size_t first, second;
    const char *options; /* during the second call */
    int kind;            /* of the buffers */
    enum gpuaes_status status;
};

static int is_right(const struct growth *g, size_t bytes, enum gpuaes_status wanted)
{
    struct expected e;
    struct gpuaes_report report;
    unsigned char iv[16];
    expect(&e, GPUAES_CTR, bytes);
    memcpy(iv, e.iv, sizeof iv);
    unsigned char *in = take(g->kind, bytes), *out = take(g->kind, bytes);
    memcpy(in, e.plain, bytes);
    enum gpuaes_status status =
        gpuaes_aes(GPUAES_CTR, &e.schedule, iv, in, out, bytes, GPUAES_WAIT, &report);
    int right = status == wanted && finishes(&e, GPUAES_CTR, &report, in, out, bytes);
    give(g->kind, in, bytes);
    give(g->kind, out, bytes);
    free(e.plain);
    free(e.cipher);
    return right && gpuaes_state() == GPUAES_READY;
}

/* The call that needs more makes do with less or is refused; the device is as good as before. */
static int run_growth(const void *argument)
{
    const struct growth *g = argument;
    struct gpuaes_settings settings = {.pinned_bytes = g->pinned_bytes, .timeout_ms = 60000};
    if (!starts_with(&settings) || !is_right(g, g->first, GPUAES_OK))
        return 10;
    emulator_configure(g->options);
    if (!is_right(g, g->second, g->status))
        return 11;
    emulator_configure("");
    return is_right(g, g->first, GPUAES_OK) ? 0 : 12;
}

/* As often as a call tries it: for four slots, three, two, one, each in two sizes. */
#define ONCE(function, call) "fault=" function ":" #call ":2,"
#define ALWAYS(function)                                                                           \
    ONCE(function, 1)                                                                              \
    ONCE(function, 2)                                                                              \
    ONCE(function, 3)                                                                              \
    ONCE(function, 4) ONCE(function, 5) ONCE(function, 6) ONCE(function, 7) ONCE(function, 8)

static void test_growth(void)
{
    enum { KIB = 1 << 10, MIB = 1 << 20 };
    static const struct growth cases[] = {
        {"pinned memory up to its limit", 300 * KIB, 64 * KIB, 4 * MIB, "", GPUAES_PAGEABLE,
         GPUAES_NO_MEMORY},
        {"pinned memory for some slots", 8 * MIB, 2 * MIB, 24 * MIB, "", GPUAES_PAGEABLE,
         GPUAES_OK},
        {"pinned memory for one size", 0, 64 * KIB, 4 * MIB, "fault=mem_host_alloc:1:2",
         GPUAES_PAGEABLE, GPUAES_OK},
        {"none of it to be had", 0, 64 * KIB, 4 * MIB, ALWAYS("mem_host_alloc"), GPUAES_PAGEABLE,
         GPUAES_NO_MEMORY},
        {"no address of it", 0, 64 * KIB, 4 * MIB, ALWAYS("mem_host_get_device_pointer"),
         GPUAES_PAGEABLE, GPUAES_NO_MEMORY},
        {"device memory, for some slots", 0, 8 * MIB, 32 * MIB, "fault=mem_alloc:2:2",
         GPUAES_PINNED, GPUAES_OK},
        {"no device memory", 0, 8 * MIB, 32 * MIB, ALWAYS("mem_alloc"), GPUAES_PINNED,
         GPUAES_NO_MEMORY}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        child_ok(run_growth, &cases[i], "%s: a larger call gets %s, and the device stays",
                 cases[i].name, gpuaes_status_text(cases[i].status));
}

/* ---- A process that is stopped ---------------------------------------------------------- */

enum { TIMEOUT_MS = 50, STOPS = 5 };
static int queries;

/* The first answers come late, as after a SIGSTOP, and are not true any more. */
static drv_result query_before_a_stop(drv_stream stream)
{
    (void)stream;
    if (queries++ == STOPS)
        return DRV_SUCCESS;
    usleep(4 * TIMEOUT_MS * 1000);
    return DRV_NOT_READY;
}

static drv_result query_for_ever(drv_stream stream)
{
    (void)stream;
    queries++;
    return DRV_NOT_READY;
}

static drv_result wait_with(drv_result (*query)(drv_stream))
{
    struct gpuaes_settings settings = {.timeout_ms = TIMEOUT_MS};
    struct driver driver = {.stream_query = query};
    struct device device = {.driver = &driver};
    gpuaes_configure(&settings);
    return device_wait(&device, NULL, NULL);
}

/* The device may have been stopped with it, as by a machine that is moved to another host. */
static int run_stops(const void *unused)
{
    (void)unused;
    return wait_with(query_before_a_stop) == DRV_SUCCESS && queries == STOPS + 1 ? 0 : 1;
}

static int run_hang(const void *unused)
{
    int64_t begun = clock_ns(CLOCK_MONOTONIC);
    (void)unused;
    drv_result r = wait_with(query_for_ever);
    int64_t waited = clock_ns(CLOCK_MONOTONIC) - begun;
    return r == DRV_NOT_READY && queries > STOPS && waited > TIMEOUT_MS * INT64_C(1000000) ? 0 : 1;
}

int main(void)
{
    tap_random_seed(&random_state);
    test_faults();
    test_growth();
    child_ok(run_stops, NULL, "a process that was stopped looks again, and waits on");
    child_ok(run_hang, NULL, "though not for ever");
    return tap_done();
}
