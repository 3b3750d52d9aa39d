/*
 * Calls of libgpuaes while the driver fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/faulty_calls.h"

#include <sys/mman.h>

#include "test/support/driver_functions.h"

/* In memory that children share. */
static struct trial {
    unsigned calls[FUNCTIONS];
    int status;
} * trial;

struct fault {
    const struct faulty_call *of;
    unsigned function, call;
    char options[96];
};

/* After which a single device is given up; memory that is short may fail a call, and lose none. */
static int is_failure(int status)
{
    return status == GPUAES_FAULT || status == GPUAES_UNDEFINED;
}

static int run_fault(const void *argument)
{
    const struct fault *f = argument;
    const struct faulty_call *c = f->of;
    const char *const usual = c->emulator != NULL ? c->emulator : "";
    struct gpuaes_settings settings = c->settings;
    char options[160];
    settings.timeout_ms = timeout_for(f->options);
    emulator_configure(usual);
    if (!starts_with(&settings))
        return 1;
    become_an_application(0);
    if (!c->prepare(c->row))
        return 2;
    snprintf(options, sizeof options, "%s,%s", usual, f->options);
    emulator_configure(options);
    int right = c->run(c->row, &trial->status);
    for (unsigned i = 0; i < FUNCTIONS; i++)
        trial->calls[i] = emulator_calls(functions[i]);
    if (!right)
        return 3;
    if (!c->is_queued && c->emulator == NULL && is_failure(trial->status) &&
        strstr(f->options, ":2") == NULL && gpuaes_state() != GPUAES_FAILED)
        return 5;
    if (c->again == NULL || trial->status == GPUAES_FAULT || gpuaes_state() != GPUAES_READY)
        return 0;
    emulator_configure(usual);
    return c->again(c->row, f->options) ? 0 : 4;
}

static int try(const struct fault *f)
{
    memset(trial, 0, sizeof *trial);
    int child = in_child(run_fault, f);
    if (child == 0 && f->of->knows(f->of->row, f->options, trial->status))
        return 1;
    tap_diag("%s, %s: child %d, %s", f->of->name, f->options, child,
             gpuaes_status_text((enum gpuaes_status)trial->status));
    return 0;
}

static int is_query(unsigned function)
{
    return strstr(functions[function], "_query") != NULL;
}

/* Whether a stream or event is queried depends on the pace of both. Each query makes the context
   current and exchanges the mode of captures. */
static int depends_on_pace(unsigned function)
{
    return is_query(function) || strstr(functions[function], "_current") != NULL ||
           strstr(functions[function], "_capture_mode") != NULL;
}

static struct count {
    unsigned tried, bad, missed, told;
} count;
static size_t step, turn; /* one fault of `step` is tried */

/*
 * Threads and devices share the calls of a run as their pace has it, so that a run may make fewer
 * of them than the one that was counted: the fault is then tried again, at the last of them. Calls
 * are counted on all devices together.
 */
static void try_fault(const struct faulty_call *c, unsigned function, unsigned call,
                      const char *how)
{
    struct fault f = {.of = c, .function = function};
    unsigned calls = call;
    int is_good;
    if (turn++ % step != 0)
        return;
    do {
        f.call = calls;
        if (!strcmp(how, "hang"))
            snprintf(f.options, sizeof f.options, "hang=%u", f.call);
        else
            snprintf(f.options, sizeof f.options, "%.5s=%s:%u%s", how, functions[function], f.call,
                     how + strcspn(how, ":"));
        is_good = try(&f);
        calls = trial->calls[function];
    } while (is_good && calls != 0 && calls < f.call);
    count.tried++;
    count.bad += !is_good;
    if (calls == 0 && !depends_on_pace(function)) {
        tap_diag("%s, %s: there was no call", c->name, f.options);
        count.missed++;
    }
    count.told += trial->status != (int)c->wanted;
}

static void try_function(const struct faulty_call *c, unsigned function, unsigned calls)
{
    const unsigned middle = (calls + 1) / 2;
    for (unsigned call = 1; c->is_queued && call <= calls; call++) {
        if (call > 3 && is_query(function))
            break;
        try_fault(c, function, call, "fault");
        try_fault(c, function, call, "fault:2");
        try_fault(c, function, call, "lost");
    }
    if (calls == 0 || c->is_queued)
        return;
    try_fault(c, function, 1, "fault");
    try_fault(c, function, middle, "lost");
    if (calls > 1)
        try_fault(c, function, calls, "fault:719");
    if (calls > 2)
        try_fault(c, function, middle, "fault:2");
    if (strcmp(functions[function], "launch_kernel") != 0)
        return;
    try_fault(c, function, calls, "hang");
    for (unsigned call = 2; call <= 6 && call < calls; call++)
        try_fault(c, function, call, "fault"); /* each kernel of a message has its own */
}

static void begin(void)
{
    trial = mmap(NULL, sizeof *trial, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        abort();
    tap_random_seed(&random_state);
    step = setting("GPUAES_TEST_EVERY", sanitized() ? 8 : 1);
    turn = tap_random_below(&random_state, step);
}

void faulty_call_check(const struct faulty_call *c)
{
    const struct fault none = {.of = c};
    if (trial == NULL)
        begin();
    if (!tap_ok(try(&none) && trial->status == (int)c->wanted, "%s: %s without a fault", c->name,
                gpuaes_status_text(c->wanted)))
        return;
    const struct trial usual = *trial;
    count = (struct count){0};
    for (unsigned i = 0; i < FUNCTIONS; i++)
        try_function(c, i, usual.calls[i]);
    /* Of a few faults of queued work, all may be without effect. */
    tap_ok(count.tried != 0 && count.bad == 0 && count.missed == 0 &&
               (!c->is_queued || step != 1 || count.told > count.tried / 3),
           "%s: %u faults, of which %u are told; the other calls are right", c->name, count.tried,
           count.told);
}
