/*
 * Costs and what follows from them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/policy/cost_model.h"

#include <math.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/minmax.h"

/*
 * The device must be expected to take at most this part of the CPU's time: what
 * the lines do not know (other threads, caches, a busy bus) must not make a program
 * slower than it was. Once it is preferred, less of a gain is enough, but equality is not:
 * of two sides that seem equal the device is the slower one half of the time.
 */
static const double margin_by_lines = MODEL_MARGIN;
static const double margin_by_sight = 0.9; /* both sides were observed */
static const double margin_to_stay = 0.95;

/* What is expected to take longer than this is not tried soon. */
static const double soon_below = 4; /* times the other's time */

static const double cpu_limit = 4; /* times the device's time: it is not tried beyond */

/* Sides that are about equal are not tried all the time, either: after so many pieces, and then
 * after four times as many each time. */
enum { LEAST_PIECES = 4, MOST_PIECES = 4096, MOST_TRIES = 11 };

static double get(const _Atomic double *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void put(_Atomic double *value, double to)
{
    atomic_store_explicit(value, to, memory_order_relaxed);
}

/* ---- Lines ------------------------------------------------------------------------- */

void cost_line_set(struct cost_line *line, size_t short_bytes, double short_ns, size_t long_bytes,
                   double long_ns)
{
    double slope = max_double(0, (long_ns - short_ns) / (double)(long_bytes - short_bytes));
    double fixed = short_ns - slope * (double)short_bytes;
    put(&line->per_byte, fixed < 0 ? short_ns / (double)short_bytes : slope);
    put(&line->fixed, max_double(fixed, 0));
}

double cost_line_ns(const struct cost_line *line, size_t bytes)
{
    double ns = get(&line->fixed) + get(&line->per_byte) * (double)bytes;
    return ns > 0 ? ns : HUGE_VAL;
}

size_t cost_line_gains_from(const struct cost_line *line, double ns_per_byte)
{
    double fixed = get(&line->fixed);
    double gain = ns_per_byte * MODEL_MARGIN - get(&line->per_byte);
    double from = fixed / gain;
    return gain > 0 && from < (double)PTRDIFF_MAX ? (size_t)from : SIZE_MAX;
}

/* ---- Choice ------------------------------------------------------------------------ */

static int is_seen(const struct model_cell *cell, enum model_side side)
{
    return get(&cell->sides[side].factor) > 0;
}

static enum model_side find_better(const struct model_cell *cell, const struct model_choice *c)
{
    double margin = c->seen ? margin_by_sight : margin_by_lines;
    if (atomic_load_explicit(&cell->preferred, memory_order_relaxed) == MODEL_GPU)
        margin = margin_to_stay;
    return c->ns[MODEL_GPU] < c->ns[MODEL_CPU] * margin ? MODEL_GPU : MODEL_CPU;
}

/* For how long the other side must have worked before this one is tried; HUGE_VAL: never. */
static double wait_for_try(const struct model_cell *cell, const struct model_choice *c,
                           enum model_side tried)
{
    double ns = c->ns[tried], other = c->ns[!tried];
    if (!(ns < HUGE_VAL) || (tried == MODEL_CPU && ns > other * cpu_limit))
        return HUGE_VAL;
    double first = ns < other * soon_below ? MODEL_SOON : MODEL_LATE;
    unsigned probes = atomic_load_explicit(&cell->probes, memory_order_relaxed);
    double share = min_double(first * (double)(1U << probes), MODEL_RAREST);
    double least = min_double(LEAST_PIECES * (double)(1U << 2 * probes), MOST_PIECES);
    double pieces = ns < other * MODEL_DRIFT ? 2 : 1; /* see warms_up() */
    return max_double(other * least, (ns - other) * pieces * share);
}

/* One thread alone gets the try. */
static int takes_try(struct model_cell *cell, double wait)
{
    double held = get(&cell->held);
    if (!(held >= wait) || !atomic_compare_exchange_strong(&cell->held, &held, 0))
        return 0;
    put(&cell->waited, wait);
    unsigned probes = atomic_load(&cell->probes);
    atomic_store(&cell->probes, probes < MOST_TRIES ? probes + 1 : probes);
    return 1;
}

/* Of a try whose first piece told nothing. */
static int takes_second(struct model_cell *cell)
{
    return atomic_load_explicit(&cell->is_warm, memory_order_relaxed) &&
           atomic_exchange(&cell->is_warm, 0);
}

static struct model_choice expect(const struct model_cell *cell, const double line_ns[MODEL_SIDES])
{
    struct model_choice c = {.seen = is_seen(cell, MODEL_CPU) && is_seen(cell, MODEL_GPU)};
    for (int side = 0; side < MODEL_SIDES; side++) {
        double factor = get(&cell->sides[side].factor);
        c.ns[side] = line_ns[side] * (factor > 0 ? factor : 1);
    }
    c.side = find_better(cell, &c);
    return c;
}

struct model_choice model_choose(struct model_cell *cell, const double line_ns[MODEL_SIDES])
{
    struct model_choice c = expect(cell, line_ns);
    c.is_try = takes_second(cell) || takes_try(cell, wait_for_try(cell, &c, !c.side));
    if (c.is_try)
        c.side = !c.side;
    return c;
}

/* ---- Observation -------------------------------------------------------------------- */

/*
 * The first piece after one of the other side finds the caches as that side left them: a CPU was
 * seen to take up to 1.2 times as long as with the second. So it tells nothing, unless it
 * was fast all the same, or so slow that caches do not explain it; and a try goes on for another.
 */
static int warms_up(struct model_cell *cell, enum model_side side,
                    const double line_ns[MODEL_SIDES], double took_ns, int is_preferred)
{
    int before = atomic_exchange_explicit(&cell->last, (int)side + 1, memory_order_relaxed);
    double own = get(&cell->sides[side].factor), other = get(&cell->sides[!side].factor);
    if (before == 0 || before == (int)side + 1 || took_ns < line_ns[side] * (own > 0 ? own : 1) ||
        took_ns > line_ns[!side] * (other > 0 ? other : 1) * MODEL_DRIFT)
        return 0;
    atomic_store(&cell->is_warm, !is_preferred);
    return 1;
}

/* What `now` makes of the factor, where `latest` was observed before it. */
static double follow(double factor, double latest, double now)
{
    double old = factor > 0 ? factor : 1;
    if (now > old * MODEL_DRIFT)
        return latest > old * MODEL_DRIFT ? min_double(latest, now) : old;
    if (factor <= 0 || now < old / MODEL_DRIFT)
        return now; /* nothing is fast by chance */
    return old + (now - old) / 4;
}

static void add(_Atomic double *sum, double more)
{
    put(sum, get(sum) + more);
}

/* A side comes because it was tried, or because the other one has become slow. */
static void favour(struct model_cell *cell, enum model_side side, int by_try)
{
    if (!by_try && get(&cell->stayed) >= get(&cell->came_after))
        atomic_store(&cell->probes, 0);
    put(&cell->came_after, by_try ? get(&cell->waited) : 0);
    put(&cell->held, 0);
    put(&cell->stayed, 0);
    atomic_store(&cell->preferred, (int)side);
}

void model_observe(struct model_cell *cell, enum model_side side, const double line_ns[MODEL_SIDES],
                   double took_ns, double weight)
{
    double now = took_ns / line_ns[side];
    _Atomic double *factor = &cell->sides[side].factor, *latest = &cell->sides[side].latest;
    int preferred = atomic_load_explicit(&cell->preferred, memory_order_relaxed);
    if (!warms_up(cell, side, line_ns, took_ns, preferred == (int)side)) {
        put(factor, follow(get(factor), get(latest), now));
        put(latest, now);
    }
    if (preferred == (int)side) {
        add(&cell->held, took_ns * weight);
        add(&cell->stayed, took_ns * weight);
    }
    struct model_choice next = expect(cell, line_ns);
    if ((int)next.side != preferred)
        favour(cell, next.side, preferred != (int)side);
}
