/*
 * cuda-stream together with work of the application that takes longer than timeout-ms, in every
 * order with our updates on the same stream: none of it counts as a hang of ours, whatever is asked
 * of the context then. A hang of ours among it is still found.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/cases.h"
#include "test/support/device_state.h"
#include "test/support/streams.h"

/*
 * What is done, a letter each: w, long work of the application; u, an update; h, one that hangs.
 * At the end: i asks for the IV; p is part of a block, and s ends the stream, which wait; f frees
 * the context.
 */
static const struct row {
    const char *steps, *what;
} rows[] = {
    {"wui", "work before an update"},
    {"uwi", "work behind an update"},
    {"uwuwi", "work between updates"},
    {"wuwuwp", "the same, and part of a block"},
    {"uwuws", "the same, and an end of the stream"},
    {"wuuwuuuuuuuuuuuui", "many updates, and work among them"},
    {"wuwuwf", "work around updates, and the context is freed"},
    {"wuuuuuuuuuuuuwf", "many updates, and the context is freed"},
    {"wuhi", "an update that hangs behind work is found"},
    {"uhf", "and so is one when the context is freed"},
};
enum { ROWS = sizeof rows / sizeof rows[0], BYTES = 4096 };

/* Of the emulator, by its option; of a card, where memory moves at some TB/s. */
static size_t work_bytes;
static int work_copies;
static const char *const slow = "copy-mbps=4";

static drv_stream cuda;
static unsigned char *from, *to;
static struct memory *memory;
static struct stream s;

static double now_ms(void)
{
    return clock_seconds(CLOCK_MONOTONIC) * 1e3;
}

static int prepare(void)
{
    setenv("GPUAES_MIN_BYTES", "0", 0);
    test_providers = providers_load();
    if (!application_begin(0))
        return 0;
    work_bytes = application_is_emulated ? 24 * MIB : 1024 * MIB;
    work_copies = application_is_emulated ? 1 : 1600;
    application.stream_create(&cuda, DRV_STREAM_NON_BLOCKING);
    memory = memory_on_device(1, BYTES);
    from = application_alloc(DEVICE, work_bytes);
    to = application_alloc(DEVICE, work_bytes);
    s = stream_open_on(memory, "AES-256-CBC", 0, cuda);
    return from != NULL && to != NULL;
}

static int work(void)
{
    int good = 1;
    for (int i = 0; good && i < work_copies; i++)
        good = application.memcpy_dtod_async((drv_ptr)(uintptr_t)to, (drv_ptr)(uintptr_t)from,
                                             work_bytes, cuda) == DRV_SUCCESS;
    return good;
}

/* Part of a block, which waits, and of which nothing is written. */
static int part_is_right(void)
{
    return stream_update_queued(&s, 0, 0, 7) && s.held == 7;
}

static int step(char letter)
{
    switch (letter) {
    case 'w':
        return work();
    case 'h':
        emulate("copy-mbps=4,hang=1");
        return stream_update_queued(&s, 0, 0, BYTES);
    case 'u':
        return stream_update_queued(&s, 0, 0, BYTES);
    case 'i':
        return stream_agrees(&s);
    case 'p':
        return part_is_right();
    case 's':
        return stop_stream(s.side[OURS]) && stream_agrees(&s);
    default:
        stream_close(&s);
        return 1;
    }
}

static double limit(void)
{
    const char *text = getenv("GPUAES_TIMEOUT_MS");

    return text ? atof(text) : 0;
}

/* Exits by 0 if all is as it should be. */
static void run(const struct row *row)
{
    int hangs = strchr(row->steps, 'h') != NULL, works = strchr(row->steps, 'w') != NULL, good = 1;
    const char *at;

    if (!prepare())
        _exit(2);
    emulate(slow);
    double begun = now_ms(), limit_ms = limit();
    for (at = row->steps; good && *at; at++)
        good = step(*at);
    if (hangs) /* what waits has failed, or could not say so */
        _exit(device_state() != GPUAES_FAILED || (at[-1] == 'i') == good);
    if (!good || !stream_queued_is_right(&s, cuda, BYTES) || device_state() != GPUAES_READY ||
        figure("faults") != 0) {
        tap_diag("%s: failed at step %d, state %d", row->steps, (int)(at - row->steps),
                 device_state());
        ERR_print_errors_fp(stdout);
        fflush(stdout);
        _exit(3);
    }
    if (works && now_ms() - begun <= limit_ms) /* then this shows nothing */
        _exit(4);
    _exit(0);
}

static pid_t begin(const struct row *row)
{
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        run(row);
    return child;
}

static void end(const struct row *row, pid_t child)
{
    tap_ok(ended_well(child), "%s", row->what);
}

/* Not in this process, which must not have a driver when it forks. */
static int is_emulated(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(!application_emulated());
    return exit_status(child) == 0;
}

int main(void)
{
    int emulated = is_emulated(), i;
    pid_t children[ROWS];

    if (stand_in())
        return tap_skip_all("the default provider knows no streams");
    /* Theirs takes longer; ours is done in much less, also on a machine that is busy. */
    setenv("GPUAES_TIMEOUT_MS", emulated ? "5000" : "200", 1);
    for (i = 0; i < ROWS; i++) {
        if (!emulated && strchr(rows[i].steps, 'h')) {
            tap_skip("a card does not hang on demand");
            continue;
        }
        children[i] = begin(&rows[i]);
        if (!emulated) /* they would take turns on it */
            end(&rows[i], children[i]);
    }
    for (i = 0; i < ROWS && emulated; i++)
        end(&rows[i], children[i]);
    return tap_done();
}
