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

enum { MIB = 1 << 20, ZERO_COPY = MIB / 2, PIECES = 5 * MIB }; /* read in place, or copied */

/* In a child, since a lost device is lost for good. 0: right, or as the status says. */
static int run_faulty(const void *argument)
{
    const struct work *w = argument;
    struct gpuaes_settings settings = {.timeout_ms = timeout_for(w->faults)};
    struct gpuaes_statistics statistics = {.struct_bytes = sizeof statistics};
    struct gpuaes_report report;
    int status = starts_with(&settings) ? work_status(w, &report) : WORK_WRONG;
    int is_told = status == GPUAES_OK || status == GPUAES_NO_MEMORY || status >= GPUAES_FAULT;
    gpuaes_get_statistics(&statistics);
    if (statistics.faults == 0)
        fprintf(stderr, "# no call of the driver failed\n");
    return !(is_told && (status < GPUAES_FAULT || gpuaes_state() == GPUAES_FAILED) &&
             statistics.faults != 0);
}

/* Where memory is too short to wipe device memory, it may hold text: no other call gets it. */
static int unwiped_memory_is_kept(const void *fault)
{
    struct work w = {GPUAES_CTR, PIECES, GPUAES_PINNED, 0, fault};
    struct gpuaes_report report;
    int right = starts_with(NULL) && work_status(&w, &report) == GPUAES_OK;
    w.faults = ""; /* counts calls anew */
    right = right && work_status(&w, &report) == GPUAES_OK;
    return right && (emulator_calls("mem_alloc") != 0) == (*(const char *)fault != '\0') ? 0 : 1;
}

/* test/fault/faults_test has all of them, through EVP: here it is what callers are told. */
static void test_faults(void)
{
    static const struct {
        const char *function;
        size_t len;
        unsigned fault, lost; /* which call of it */
    } rows[] = {
        {"memcpy_htod_async", PIECES, 1, 2}, {"memcpy_dtoh_async", PIECES, 3, 4},
        {"launch_kernel", PIECES, 5, 1},     {"event_record", PIECES, 2, 3},
        {"event_query", PIECES, 4, 5},       {"stream_query", ZERO_COPY, 1, 2},
        {"memset_d8_async", PIECES, 3, 4},   {"pointer_get_attributes", PIECES, 2, 1},
        {"mem_alloc", PIECES, 2, 3},         {"stream_create", PIECES, 4, 1},
        {"ctx_push_current", PIECES, 1, 2},  {"ctx_pop_current", PIECES, 2, 1},
        {"launch_kernel", ZERO_COPY, 1, 1},
    };
    static const enum gpuaes_op ops[] = {GPUAES_ECB_ENCRYPT, GPUAES_CBC_DECRYPT, GPUAES_CTR};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        char options[96];
        struct work w = {ops[i % 3], rows[i / 2].len, GPUAES_PINNED, i % 4 < 2, options};
        snprintf(options, sizeof options, "%s=%s:%u", i % 2 ? "lost" : "fault",
                 rows[i / 2].function, i % 2 ? rows[i / 2].lost : rows[i / 2].fault);
        child_ok(run_faulty, &w, "%s, %s of pinned memory%s", options, op_names[w.op],
                 w.in_place ? ", in place" : "");
    }
    for (int i = 0; i < 3; i++) {
        struct work w = {ops[i], PIECES, GPUAES_PINNED, i > 0, i == 0 ? "hang=1" : "hang=3"};
        child_ok(run_faulty, &w, "a kernel that never ends is not waited for: %s", op_names[w.op]);
    }
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

static int run_growth(const void *argument)
{
    const struct growth *g = argument;
    struct gpuaes_settings settings = {.pinned_bytes = g->pinned_bytes};
    const struct work first = {GPUAES_CTR, g->first, g->kind, 0, NULL},
                      second = {GPUAES_CTR, g->second, g->kind, 0, g->options};
    struct gpuaes_report report;
    if (!starts_with(&settings) || work_status(&first, &report) != GPUAES_OK)
        return 10;
    if (work_status(&second, &report) != (int)g->status)
        return 11;
    emulator_configure("");
    return gpuaes_state() == GPUAES_READY && work_status(&first, &report) == GPUAES_OK ? 0 : 12;
}

#define ONCE(function, call) "fault=" function ":" #call ":2,"
#define ALWAYS(function)                                                                           \
    ONCE(function, 1)                                                                              \
    ONCE(function, 2)                                                                              \
    ONCE(function, 3)                                                                              \
    ONCE(function, 4) ONCE(function, 5) ONCE(function, 6) ONCE(function, 7) ONCE(function, 8)

static void test_growth(void)
{
    enum { KIB = 1 << 10 };
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
    sleep_ms(4 * TIMEOUT_MS);
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
    struct gpuaes_settings settings = {.struct_bytes = sizeof settings, .timeout_ms = TIMEOUT_MS};
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
    child_ok(unwiped_memory_is_kept, "", "a call works in the device memory of the one before");
    child_ok(unwiped_memory_is_kept, "fault=memset_d8_async:1:2",
             "but not where that could not be wiped for want of memory");
    child_ok(run_stops, NULL, "a process that was stopped looks again, and waits on");
    child_ok(run_hang, NULL, "though not for ever");
    return tap_done();
}
