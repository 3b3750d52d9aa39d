/*
 * The choice of gathering, in a world of its own: jobs that encrypt messages one after the
 * other, on a clock that the costs alone move. It must find out how many jobs there are, take
 * the device where that is faster, and lose next to nothing where it is not.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "../provider/engine_measure.h"
#include "../provider/engine_messages.h"
#include "../provider/gather_choice.h"
#include "../provider/provider.h"
#include "tap.h"

enum { BYTES = 16 << 10 };

/* ---- The world --------------------------------------------------------------------- */

static struct {
    double cpu_ns;     /* a message on the CPU */
    double launch_ns;  /* a group, and */
    double message_ns; /* each message of it, on the device */
    double belief;     /* the samples say that the device takes so many times as long */
    unsigned jobs;     /* that are paused when one is */
    double clock;
    unsigned long updates, gathered;
} world;

static struct provider provider;

int engine_is_forced(const struct provider *unused)
{
    (void)unused;
    return 0;
}

double measured_cpu_ns(struct provider *unused, const struct work *work)
{
    (void)unused;
    return world.cpu_ns * (double)work->len / BYTES;
}

static double device_ns(size_t messages)
{
    return world.launch_ns + world.message_ns * (double)messages;
}

double engine_messages_launch_ns(const struct engine_messages *m)
{
    return device_ns(m->count) * world.belief;
}

static struct gather_work a_message(void)
{
    return (struct gather_work){.source = GATHER_JOBS,
                                .work = {.kind = WORK_CBC_ENCRYPT, .key_bytes = 32, .len = BYTES}};
}

/* All jobs pause; few of them are not launched. */
static void run_group(const struct gather_work *first)
{
    struct gather_group group = {.messages = world.jobs < GATHER_GROUP ? world.jobs : GATHER_GROUP,
                                 .threads = 1,
                                 .at_once = world.jobs,
                                 .longest = BYTES};
    group.bytes = (size_t)BYTES * group.messages;
    group.launched = group.messages >= GATHER_FEWEST;
    if (group.launched)
        group.took_ns = device_ns(group.messages);
    else
        world.clock += GATHER_QUIET_NS + 2000 + world.cpu_ns * group.messages;
    world.clock += group.took_ns;
    world.updates += group.messages;
    world.gathered += group.launched ? group.messages : 0;
    gather_observe(&provider, first, &group);
}

/* As gather_is_asked() has it. */
static int is_asked(void)
{
    static size_t unasked;
    unasked += BYTES;
    if (unasked < GATHER_ASKED_BYTES && !gather_is_on(BYTES))
        return 0;
    unasked = 0;
    return 1;
}

static void run_update(void)
{
    struct gather_work work = a_message();
    switch (!is_asked() ? GATHER_NOT : gather_choose(&provider, &work, NULL)) {
    case GATHER_IT:
        run_group(&work);
        break;
    case GATHER_NOT_OBSERVED:
        gather_passed(&provider, &work, world.cpu_ns);
        /* fall through */
    default:
        world.clock += world.cpu_ns;
        world.updates++;
    }
}

/* For so many milliseconds of the world; what it took of what the CPU alone would have. */
static double live(double ms)
{
    double end = world.clock + ms * 1e6, begun = world.clock;
    unsigned long updates = world.updates;
    world.gathered = 0;
    while (world.clock < end)
        run_update();
    return (world.clock - begun) / ((double)(world.updates - updates) * world.cpu_ns);
}

/* ---- What must hold ------------------------------------------------------------------ */

int main(void)
{
    world.cpu_ns = 15000;
    world.launch_ns = 1000e3;
    world.message_ns = 5000;
    world.belief = 1;
    world.jobs = 1;
    double took = live(3000);
    tap_ok(took < 1.005 && world.gathered == 0, "one job: %.4f of the CPU's time", took);
    world.jobs = 40;
    took = live(3000);
    tap_ok(took < 1.005 && world.gathered == 0, "40 jobs: %.4f of the CPU's time", took);
    tap_ok(gather_may_pay() == 0, "which is not worth the start of a device");

    world.jobs = 64;
    took = live(800);
    tap_ok(took < 1.015, "64 jobs, where the device is no faster: %.4f in 0.8 s", took);
    took = live(3000);
    tap_ok(took < 1.01, "and later: %.4f", took);

    world.launch_ns = 800e3;
    world.message_ns = 3000;
    world.jobs = 256;
    took = live(3000);
    tap_ok(took < 0.75, "256 jobs are found, and the device is faster: %.4f", took);
    tap_ok(gather_may_pay() == 1, "which is worth a start");

    world.message_ns = 60000;
    took = live(10000);
    tap_ok(took < 1.01, "the device has become slow: %.4f", took);
    world.message_ns = 3000;
    (void)live(5000);
    took = live(3000);
    tap_ok(took < 0.75, "and fast again: %.4f", took);

    world.jobs = 2;
    took = live(3000);
    tap_ok(took < 1.01, "the jobs have become two: %.4f", took);

    world.jobs = 100;
    world.belief = 3;
    (void)live(10000);
    took = live(10000);
    tap_ok(took < 0.9, "100 jobs, of which the samples thought too little: %.4f", took);
    world.belief = 0.2;
    world.launch_ns = 3e6;
    (void)live(3000);
    took = live(10000);
    tap_ok(took < 1.01, "and too much: %.4f", took);
    return tap_done();
}
