/*
 * Whether to gather.
 *
 * How many updates there are at once is seen only when they are gathered: a job that does not
 * pause lets no other one begin. So it is tried, as seldom as engine_model.h has it. A try is a
 * whole group: while one is collected, all that come join it. A group of few serial messages is
 * not launched: then the try has cost some 100 us. Where they are many, groups lie over each
 * other, so a try goes on for some groups, and the last one is observed.
 *
 * Tries, and all else by which gathering turns out to be slower than the CPU, may take one part
 * in a hundred of the time: what is lost must be earned before the next try.
 *
 * Costs are per group. A group's cost is the time from its first message, or from the end of the
 * group before, to its end, so that pauses and switches count. The CPU's is that of its messages
 * one after the other, over the number of threads that they came from, as far as there are cores
 * for them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_GATHER_CHOICE_H
#define GPUAES_GATHER_CHOICE_H

#include "engine.h"

enum gather_source { GATHER_JOBS, GATHER_THREADS, GATHER_SOURCES };

struct gather_cell;

/* A piece of work of a kind that has one cell. */
struct gather_work {
    enum gather_source source;
    struct work work;
    struct gather_cell *cell; /* found by gather_choose() */
};

/*
 * Whether to gather it, where a group of cell `open` is just being collected (NULL: none is).
 * Where it is not, and to be observed, gather_passed() is to be called when it is done.
 */
enum gather_choice { GATHER_NOT, GATHER_NOT_OBSERVED, GATHER_IT };
enum gather_choice gather_choose(struct provider *provider, struct gather_work *work,
                                 const struct gather_cell *open);
void gather_passed(struct provider *provider, const struct gather_work *work, double took_ns);

/*
 * Messages of a group, at most: more go into the next one. Serial ones that are worth a launch,
 * at least, since a thread of a device has a fiftieth of a core's rate. For how long a group is
 * not complete after one has come.
 */
enum { GATHER_GROUP = 128, GATHER_FEWEST = 48, GATHER_QUIET_NS = 100000 };

/* What a message costs its thread: two switches of stacks, a lock, a descriptor's signal. */
enum { GATHER_PAUSE_NS = 2000 };

/*
 * Whether serial updates of jobs, of so many bytes, are gathered for now; else it is enough to
 * ask gather_choose() once in so many bytes of a context.
 */
enum { GATHER_ASKED_BYTES = 64 << 10 };
int gather_is_on(size_t bytes);

/* Whether it may still be worth the start of a device, or was seen not to be. */
int gather_may_pay(void);

/* What a group of such work was. */
struct gather_group {
    unsigned messages, threads; /* in the group; that they came from */
    unsigned at_once;           /* messages waiting and under way when it was launched */
    size_t bytes, longest;      /* of all; of one */
    int launched;
    double took_ns;
};
void gather_observe(struct provider *provider, const struct gather_work *first,
                    const struct gather_group *group);

#endif
