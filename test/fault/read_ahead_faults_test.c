/*
 * A device that fails, is lost or hangs while it makes keystream ahead of a stream:
 * the bytes, the IVs and `num` are the default provider's all the same, and nothing
 * is waited for longer than timeout-ms. For the emulator only.
 *
 * The device's state belongs to the process, so each fault is this program again,
 * which tells the emulator of the fault once the stream has got so far.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/cases.h"
#include "test/support/read_ahead_streams.h"

/* ---- The scenario that a fault interrupts ------------------------------------------ */

/* When the emulator is told. */
enum moment { BEFORE_START, BEFORE_RING, IN_MID_STREAM };
static const char *const moments[] = {"before the start", "before a ring begins", "in mid-stream"};

static int go_on(struct stream *s, size_t length)
{
    int right = 1;
    for (size_t done = 0; right && done < length; done += 16 * KIB) {
        right = stream_update(s, 16 * KIB - 7) && stream_update(s, 7);
        sleep_ms(1);
    }
    return right && stream_agrees(s);
}

/* What streams do after the fault: go on, are copied, begin again, end. */
static int work_goes_on(struct stream *s, struct memory *memory)
{
    struct stream copy = {.side = {NULL}}, new = {.side = {NULL}};
    int right = go_on(s, SOME) && stream_copy(&copy, s) && go_on(&copy, 50000) &&
                stream_init(s, NULL, other_iv, -1);
    new = stream_open(memory, "AES-192-CTR", usual_key, usual_iv);
    right = right && stream_hurry(s, BEGINS_AFTER, 16 * KIB) && go_on(s, SOME) &&
            stream_hurry(&new, BEGINS_AFTER, 64 * KIB) && go_on(&new, SOME);
    stream_close(s);
    right = right && go_on(&copy, SOME);
    stream_close(&copy);
    stream_close(&new);
    return right;
}

/* Prints the faults that were counted, and whether there was read-ahead before. */
static int run_scenario(enum moment moment, const char *options)
{
    struct memory *memory = memory_new(1);
    alarm(sanitized() ? 400 : 200);
    if (!application_emulated())
        return 1;
    int started = ahead_begin();
    struct stream s = stream_open(memory, "AES-256-CTR", usual_key, usual_iv);
    int right = started || moment == BEFORE_START;
    if (moment == BEFORE_RING)
        right = right && stream_hurry(&s, BEGINS_AFTER - 4 * PACED, PACED);
    if (moment == IN_MID_STREAM)
        right = right && stream_served(&s, SOME + 1);
    if (moment != BEFORE_START)
        emulate(options);
    right = right && work_goes_on(&s, memory);
    struct ahead end = ahead_get();
    printf("%llu %llu\n", (unsigned long long)end.faults, (unsigned long long)end.bytes);
    stream_close(&s);
    providers_unload(&test_providers);
    free(memory);
    return !right;
}

/* ---- Faults --------------------------------------------------------------------------- */

static struct case_result {
    int good;
    unsigned long long faults, bytes;
} run_with(enum moment moment, const char *options)
{
    struct case_result result = {0, 0, 0};
    int status;
    FILE *report = case_hear(STDOUT_FILENO, &status, NULL, moment == BEFORE_START ? options : "",
                             "%d %s", (int)moment, options);
    result.good = fscanf(report, "%llu %llu", &result.faults, &result.bytes) == 2 && status == 0;
    fclose(report);
    return result;
}

enum counted { IS_COUNTED, MAY_BE_COUNTED };

static void check(enum moment moment, const char *options, enum counted counted)
{
    struct case_result r = run_with(moment, options);
    tap_ok(r.good && (counted == MAY_BE_COUNTED || r.faults != 0) &&
               (moment != IN_MID_STREAM || r.bytes != 0),
           "%s, %s: output right, %llu faults, %llu bytes served", options, moments[moment],
           r.faults, r.bytes);
}

/* test/fault/faults_test lets each call fail in each way: here streams go on behind that. */
static void check_functions(void)
{
    static const char *const by_each_ring[] = {"launch_kernel", "event_record", "event_query",
                                               "ctx_push_current", "ctx_pop_current"};
    static const char *const by_a_new_ring[] = {"mem_host_alloc", "mem_host_get_device_pointer",
                                                "event_create", "stream_create"};
    char options[64];
    for (size_t i = 0; i < sizeof by_each_ring / sizeof by_each_ring[0]; i++) {
        snprintf(options, sizeof options, "fault=%s:2:719", by_each_ring[i]);
        check(BEFORE_RING, options, IS_COUNTED);
        snprintf(options, sizeof options, "lost=%s:2", by_each_ring[i]);
        check(IN_MID_STREAM, options, IS_COUNTED);
    }
    for (size_t i = 0; i < sizeof by_a_new_ring / sizeof by_a_new_ring[0]; i++) {
        snprintf(options, sizeof options, "fault=%s:1", by_a_new_ring[i]);
        check(BEFORE_RING, options, IS_COUNTED);
        snprintf(options, sizeof options, "fault=%s:1:2", by_a_new_ring[i]);
        check(BEFORE_RING, options, MAY_BE_COUNTED); /* out of memory is no fault */
    }
    check(BEFORE_START, "fault=launch_kernel:6", MAY_BE_COUNTED);
}

static void check_hangs(void)
{
    static const struct {
        enum moment moment;
        const char *options;
    } rows[] = {{BEFORE_RING, "hang=1"},
                {BEFORE_RING, "hang=3"},
                {IN_MID_STREAM, "hang=1"},
                {IN_MID_STREAM, "hang=2"}};
    setenv("GPUAES_TIMEOUT_MS", "2000", 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(rows[i].moment, rows[i].options, IS_COUNTED);
    unsetenv("GPUAES_TIMEOUT_MS");
}

/* One of two is lost: the other may go on, or the CPU does. */
static void check_two_devices(void)
{
    setenv("GPUAES_DEVICES", "all", 1);
    check(IN_MID_STREAM, "devices=2,fault-device=0,lost=launch_kernel:1", MAY_BE_COUNTED);
    check(IN_MID_STREAM, "devices=2,fault-device=1,lost=launch_kernel:1", MAY_BE_COUNTED);
    check(IN_MID_STREAM, "devices=2,fault-device=0,fault=event_query:2", MAY_BE_COUNTED);
    unsetenv("GPUAES_DEVICES");
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return run_scenario((enum moment)atoi(argv[1]), argv[2]);
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    struct case_result none = run_with(IN_MID_STREAM, "devices=1");
    tap_ok(none.good && none.faults == 0 && none.bytes > SOME,
           "no fault: output right, %llu bytes served", none.bytes);
    check_functions();
    check_hangs();
    check_two_devices();
    return tap_done();
}
