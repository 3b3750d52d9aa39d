/*
 * Whether to gather: what groups cost, and what the CPU by itself.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "gather_choice.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "engine_measure.h"
#include "engine_messages.h"
#include "gather.h"
#include "provider.h"

/* Classes of lengths, each twice the one before, from the shortest on. */
enum { CLASSES = 8 };

struct gather_cell {
    struct model_cell model;
    struct model_cell search; /* for more messages, while they are few */
    _Atomic double credit;    /* ns that may be lost; below 0: nothing is tried */
    _Atomic int tried;        /* groups for which a try still goes on */
    _Atomic unsigned at_once; /* messages, in the last group; 0: there was none */
    _Atomic unsigned threads; /* that they came from, as far as there are cores for them */
};

static struct gather_cell cells[GATHER_SOURCES][2][CLASSES];

/* Groups until one was worth it; that one was. */
enum { GROUPS_TO_SEE = 3 };
static _Atomic unsigned groups_in_vain;
static _Atomic int has_paid;

/* Groups of a try. */
enum { TRIED_GROUPS = 5 };

/* What the CPU's time earns, and how much is kept of that. */
static const double earns = 0.01, most_credit_ns = 1e6;

/* Where the CPU does the work, it is observed once in so many bytes. */
enum { OBSERVED_BYTES = 1 << 20 };
static _Thread_local size_t unobserved;

static unsigned class_of(size_t bytes)
{
    unsigned class = 0;
    for (size_t limit = (size_t)GATHER_SHORTEST * 2; class < CLASSES - 1 && bytes >= limit;
         limit *= 2)
        class ++;
    return class;
}

static struct gather_cell *cell_of(const struct gather_work *w)
{
    return &cells[w->source][w->work.kind == WORK_CBC_ENCRYPT][class_of(w->work.len)];
}

static int is_on(const struct gather_cell *cell)
{
    return atomic_load(&cell->model.favoured) == MODEL_GPU || atomic_load(&cell->tried) != 0;
}

int gather_is_on(size_t bytes)
{
    return is_on(&cells[GATHER_JOBS][1][class_of(bytes)]);
}

static unsigned cores(void)
{
    static _Atomic unsigned counted;
    unsigned n = atomic_load(&counted);
    cpu_set_t set;
    if (n == 0) {
        n = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
        atomic_store(&counted, n);
    }
    return n;
}

/* What so many messages cost: `work` is one of them. */
static void expect(struct provider *provider, const struct work *work,
                   const struct gather_group *group, double line_ns[MODEL_SIDES])
{
    struct work all = *work;
    struct engine_messages m = {.count = group->messages, .bytes = group->bytes, .first = *work};
    all.len = group->bytes;
    m.longest = work->kind == WORK_CBC_ENCRYPT ? group->longest : 0;
    line_ns[MODEL_CPU] = measured_cpu_ns(provider, &all) / group->threads;
    line_ns[MODEL_GPU] = engine_messages_launch_ns(&m) + (double)group->messages * GATHER_PAUSE_NS;
}

/* A group as the last one was; before that, a message alone. */
static struct gather_group usual_group(const struct gather_work *w)
{
    unsigned n = atomic_load(&w->cell->at_once), threads = atomic_load(&w->cell->threads);
    struct gather_group group = {.messages = n < 1              ? 1
                                             : n > GATHER_GROUP ? GATHER_GROUP
                                                                : n,
                                 .threads = threads < 1 ? 1 : threads,
                                 .longest = w->work.len};
    group.bytes = w->work.len * group.messages;
    return group;
}

/*
 * What the choice is made by, and what it is told. Few serial messages are never launched: what
 * gathering them costs is what the search for more does.
 */
static struct model_cell *weigh(struct provider *provider, const struct gather_work *w,
                                const struct gather_group *group, double line_ns[MODEL_SIDES])
{
    expect(provider, &w->work, group, line_ns);
    if (w->work.kind != WORK_CBC_ENCRYPT || group->messages >= GATHER_FEWEST)
        return &w->cell->model;
    line_ns[MODEL_GPU] =
        line_ns[MODEL_CPU] + GATHER_QUIET_NS + (double)group->messages * GATHER_PAUSE_NS;
    return &w->cell->search;
}

/* What two threads do here at once may be lost. */
static void earn(struct gather_cell *cell, double ns)
{
    double credit = atomic_load(&cell->credit) + ns;
    atomic_store(&cell->credit, credit < most_credit_ns ? credit : most_credit_ns);
}

enum gather_choice gather_choose(struct provider *provider, struct gather_work *w,
                                 const struct gather_cell *open)
{
    double line_ns[MODEL_SIDES];
    w->cell = cell_of(w);
    if (w->cell == open || atomic_load(&w->cell->tried) != 0 || engine_is_forced(provider))
        return GATHER_IT;
    size_t asked = w->work.len > GATHER_ASKED_BYTES ? w->work.len : GATHER_ASKED_BYTES;
    unobserved += asked;
    struct gather_group group = usual_group(w);
    struct model_cell *model = weigh(provider, w, &group, line_ns);
    earn(w->cell, earns * line_ns[MODEL_CPU] * (double)asked / (double)group.bytes);
    if (!is_on(w->cell) && atomic_load(&w->cell->credit) < 0)
        return unobserved < OBSERVED_BYTES ? GATHER_NOT : GATHER_NOT_OBSERVED;
    struct model_choice choice = model_choose(model, line_ns);
    if (choice.side == MODEL_CPU)
        return choice.is_try || unobserved >= OBSERVED_BYTES ? GATHER_NOT_OBSERVED : GATHER_NOT;
    if (choice.is_try && model == &w->cell->model)
        atomic_store(&w->cell->tried, TRIED_GROUPS);
    return GATHER_IT;
}

void gather_passed(struct provider *provider, const struct gather_work *w, double took_ns)
{
    double line_ns[MODEL_SIDES];
    struct gather_group group = usual_group(w);
    double weight = (double)unobserved / (double)group.bytes;
    unobserved = 0;
    struct model_cell *model = weigh(provider, w, &group, line_ns);
    took_ns *= (double)group.messages / group.threads;
    /* The search has no other side, which would look good beside a CPU that is slow today. */
    if (model == &w->cell->search)
        took_ns = line_ns[MODEL_CPU];
    model_observe(model, MODEL_CPU, line_ns, took_ns, weight);
}

static void explain(const struct provider *provider, const struct gather_group *group,
                    const double line_ns[MODEL_SIDES])
{
    if (provider->settings.log == LOG_DEBUG)
        (void)fprintf(stderr,
                      "gpuaes: debug gathered %u messages of %u threads, %zu bytes, %u at once: %s"
                      " %.0f us, GPU %.0f us, CPU %.0f us expected\n",
                      group->messages, group->threads, group->bytes, group->at_once,
                      group->launched ? "took" : "not launched,", group->took_ns / 1e3,
                      line_ns[MODEL_GPU] / 1e3, line_ns[MODEL_CPU] / 1e3);
}

/* Whether a launched group tells something: not the first ones of a try. */
static int is_told(struct gather_cell *cell)
{
    int tried = atomic_load(&cell->tried);
    if (tried != 0)
        atomic_store(&cell->tried, tried - 1);
    return tried <= 1;
}

void gather_observe(struct provider *provider, const struct gather_work *first,
                    const struct gather_group *group)
{
    double line_ns[MODEL_SIDES];
    struct gather_cell *cell = first->cell;
    struct gather_group counted = *group;
    if (counted.threads > cores())
        counted.threads = cores();
    atomic_store(&cell->at_once, group->at_once);
    atomic_store(&cell->threads, counted.threads);
    if (engine_is_forced(provider))
        return;
    expect(provider, &first->work, &counted, line_ns);
    explain(provider, group, line_ns);
    double lost = group->launched ? group->took_ns - line_ns[MODEL_CPU]
                                  : GATHER_QUIET_NS + (double)group->messages * GATHER_PAUSE_NS;
    if (lost > 0)
        earn(cell, -lost);
    if (!group->launched) {
        atomic_store(&cell->tried, 0);
        atomic_fetch_add(&groups_in_vain, 1);
    } else if (is_told(cell)) {
        model_observe(&cell->model, MODEL_GPU, line_ns, group->took_ns, 1);
        if (atomic_load(&cell->model.favoured) == MODEL_GPU)
            atomic_store(&has_paid, 1);
        else
            atomic_fetch_add(&groups_in_vain, 1);
    }
}

int gather_may_pay(void)
{
    return atomic_load(&has_paid) || atomic_load(&groups_in_vain) < GROUPS_TO_SEE;
}
