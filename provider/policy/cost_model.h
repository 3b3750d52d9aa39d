/*
 * The cost of work on either side, and the choice that follows from it.
 *
 * A cost is a line, which was measured, times a factor, which the application's
 * own work has shown since. There is a cell for each kind of work, key size, kind
 * of memory and class of lengths, so that none is judged by what another one did.
 * No clock, device or OpenSSL here: times come in as numbers.
 *
 * What a wrong belief may cost:
 *
 * - A side that has become slow by more than MODEL_DRIFT is left after two pieces of
 *   work in a row that say so (one alone may be chance), one by one in each cell.
 *   What drifts by less is followed by a quarter of the difference each time.
 * - The side that is not preferred is probed when the other one has worked MODEL_SOON
 *   times as long as the probe is expected to lose, and after each probe without gain
 *   twice as long as before, up to MODEL_RAREST times: k such probes cost
 *   k / 2^(k + 1) of the time, 1 % from the ninth on, as far as they take the expected
 *   time. A chance slowdown is found out at once, and a side that has become fast
 *   after at most MODEL_RAREST times the expected loss of a probe.
 * - A side that is expected to take four times as long as the other one begins with
 *   MODEL_LATE instead: a probe of it may be long.
 * - A stay on a side that was shorter than the wait for it counts as a probe without
 *   gain, so that a side that is fast and slow in turns is taken ever more rarely.
 * - The CPU is not probed where it is expected to take four times as long: no CPU
 *   changes by so much, and one such probe would be long.
 *
 * Any thread may call any of this at any time: an observation that is lost in a
 * race costs a little time, nothing else.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_POLICY_COST_MODEL_H
#define GPUAES_PROVIDER_POLICY_COST_MODEL_H

#include <stdatomic.h>
#include <stddef.h>

enum model_side { MODEL_CPU, MODEL_GPU, MODEL_SIDES };

#define MODEL_DRIFT 1.5
#define MODEL_MARGIN 0.8 /* of the CPU's time, by the lines alone */
enum { MODEL_SOON = 4, MODEL_LATE = 128, MODEL_RAREST = 8192 };

/* ---- Lines ------------------------------------------------------------------------- */

/* Work of n bytes takes fixed + n * per_byte nanoseconds. */
struct cost_line {
    _Atomic double fixed, per_byte;
};

/* Sets the line through two points, of a slope that is not negative. */
void cost_line_set(struct cost_line *line, size_t short_bytes, double short_ns, size_t long_bytes,
                   double long_ns);

/* HUGE_VAL where the line was never set. */
double cost_line_ns(const struct cost_line *line, size_t bytes);

/*
 * Returns the least length that the line promises in MODEL_MARGIN of a side's time which takes
 * `ns_per_byte` and no fixed cost; SIZE_MAX where there is none.
 */
size_t cost_line_gains_from(const struct cost_line *line, double ns_per_byte);

/* ---- Cells ------------------------------------------------------------------------- */

/* All zeros is a cell of which nothing is known. */
struct model_cell {
    struct {
        _Atomic double factor; /* of the line; 0: this side has not been observed */
        _Atomic double latest; /* the last observation */
    } sides[MODEL_SIDES];
    _Atomic int preferred;     /* enum model_side */
    _Atomic double stayed;     /* ns of work on that side since it came */
    _Atomic double came_after; /* the wait for the probe that brought it */
    _Atomic double held;       /* as `stayed`, but since the last probe of the other side */
    _Atomic double waited;     /* for that probe */
    _Atomic unsigned probes;   /* probes without gain, in a row */
    atomic_int last;           /* the side of the last piece, and 1; 0: there was none */
    atomic_int is_warm;        /* a try has had its first piece, and needs another */
};

struct model_choice {
    enum model_side side;
    int is_try;             /* of the side that would not be chosen: it must be observed */
    int seen;               /* both sides have been observed */
    double ns[MODEL_SIDES]; /* expected */
};

/* By what the lines say of a piece of work, in nanoseconds. */
struct model_choice model_choose(struct model_cell *cell, const double line_ns[MODEL_SIDES]);

/*
 * Tells what a piece of work took on a side. `weight`: how many pieces like it
 * this one stands for, where not each is observed.
 */
void model_observe(struct model_cell *cell, enum model_side side, const double line_ns[MODEL_SIDES],
                   double took_ns, double weight);

#endif
