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
static int life_goes_on(struct stream *s, struct memory *memory)
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
    right = right && life_goes_on(&s, memory);
    struct ahead end = ahead_get();
    printf("%llu %llu\n", (unsigned long long)end.faults, (unsigned long long)end.bytes);
    stream_close(&s);
    providers_unload(&providers);
    free(memory);
    return !right;
}

/* ---- Faults --------------------------------------------------------------------------- */

struct result {
    int good;
    unsigned long long faults, bytes;
    double seconds;
};

static struct result run_with(enum moment moment, const char *options)
{
    struct result result = {0, 0, 0, -clock_seconds(CLOCK_MONOTONIC)};
    int status;
    FILE *report = case_hear(STDOUT_FILENO, &status, NULL, moment == BEFORE_START ? options : "",
                             "%d %s", (int)moment, options);
    result.good = fscanf(report, "%llu %llu", &result.faults, &result.bytes) == 2 && status == 0;
    result.seconds += clock_seconds(CLOCK_MONOTONIC);
    fclose(report);
    if (!result.good)
        fprintf(stderr, "# GPUAES_EMULATOR=%s %s: status %d\n", options, moments[moment], status);
    return result;
}

/* Where its failure must be counted: where a ring is made, or wherever there is one. */
enum called { BY_A_NEW_RING, BY_EACH_RING, NOT_SURE };

static void check_function(const char *name, enum called called)
{
    static const struct {
        const char *form;
        enum moment moment;
        enum called counts; /* from this on */
    } rows[] = {
        {"fault=%s:6", BEFORE_START, NOT_SURE},        {"fault=%s:1", BEFORE_RING, BY_A_NEW_RING},
        {"fault=%s:2:719", BEFORE_RING, BY_EACH_RING}, {"lost=%s:3", BEFORE_RING, BY_EACH_RING},
        {"fault=%s:1:2", BEFORE_RING, NOT_SURE}, /* out of memory is no fault */
        {"fault=%s:1", IN_MID_STREAM, BY_EACH_RING},   {"lost=%s:2", IN_MID_STREAM, BY_EACH_RING}};
    int good = 1, counted = 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char options[128];
        /* The formats are the rows above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(options, sizeof options, rows[i].form, name);
#pragma GCC diagnostic pop
        struct result result = run_with(rows[i].moment, options);
        good &= result.good;
        good &= rows[i].moment != IN_MID_STREAM || result.bytes > 0;
        if (rows[i].counts <= called && !result.faults) {
            fprintf(stderr, "# %s %s: no fault is counted\n", options, moments[rows[i].moment]);
            counted = 0;
        }
    }
    tap_ok(good && counted, "%s fails: output right, and the fault is counted", name);
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
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct result result = run_with(rows[i].moment, rows[i].options);
        tap_ok(result.good && result.faults, "%s, %s: output right, %llu faults, %.1f s",
               moments[rows[i].moment], rows[i].options, result.faults, result.seconds);
    }
    unsetenv("GPUAES_TIMEOUT_MS");
}

/* One of two is lost: the other may go on, or the CPU does. */
static void check_two_devices(void)
{
    static const char *const options[] = {"devices=2,fault-device=0,lost=launch_kernel:1",
                                          "devices=2,fault-device=1,lost=launch_kernel:1",
                                          "devices=2,fault-device=0,fault=event_query:2"};
    setenv("GPUAES_DEVICES", "all", 1);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        tap_ok(run_with(IN_MID_STREAM, options[i]).good, "devices=all, %s: output right",
               options[i]);
    unsetenv("GPUAES_DEVICES");
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return run_scenario((enum moment)atoi(argv[1]), argv[2]);
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    struct result none = run_with(IN_MID_STREAM, "devices=1");
    tap_ok(none.good && none.faults == 0 && none.bytes > SOME,
           "no fault: output right, %llu bytes served", none.bytes);
    check_function("launch_kernel", BY_EACH_RING);
    check_function("event_record", BY_EACH_RING);
    check_function("event_query", BY_EACH_RING);
    check_function("ctx_push_current", BY_EACH_RING);
    check_function("ctx_pop_current", BY_EACH_RING);
    check_function("mem_host_alloc", BY_A_NEW_RING);
    check_function("mem_host_get_device_pointer", BY_A_NEW_RING);
    check_function("event_create", BY_A_NEW_RING);
    check_function("stream_create", BY_A_NEW_RING);
    check_hangs();
    check_two_devices();
    return tap_done();
}
