/*
 * Time, cores, and what turns of one or two sides took.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "bench/measure.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/options.h"

double now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

double cpu_now(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

unsigned cores_allowed(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

/* Of the turn under way, and of all turns of each side. */
static double added_cpu, cpu_began, cpu_spent[SIDES];
static useconds_t rest;

void measure_elsewhere(double cpu)
{
    added_cpu = cpu;
}

void measure_rest(double for_seconds)
{
    rest = (useconds_t)(for_seconds * 1e6);
}

static void before_turn(int side, void *argument)
{
    (void)side;
    (void)argument;
    if (rest != 0)
        usleep(rest);
    added_cpu = 0;
    cpu_began = cpu_now();
}

static void after_turn(int side, void *argument)
{
    (void)argument;
    cpu_spent[side] += cpu_now() - cpu_began + added_cpu;
}

static struct result run(int sides, size_t most, turn_fn *measured, void *argument)
{
    struct result result = {0};
    struct turns turns = {.turn = measured,
                          .before = before_turn,
                          .after = after_turn,
                          .argument = argument,
                          .sides = sides,
                          .most = options.quick       ? LEAST_TURNS
                                  : most < MOST_TURNS ? most
                                                      : MOST_TURNS,
                          .limit = options.seconds};
    double ratios[MOST_TURNS]; /* ours / reference of each pair of turns */
    memset(cpu_spent, 0, sizeof cpu_spent);
    turns_take(&turns);
    for (size_t i = 0; i < turns.count; i++)
        ratios[i] = turns.seconds[OURS][i] / (sides == 1 ? 1 : turns.seconds[REFERENCE][i]);
    result.turns = turns.count;
    for (int side = 0; side < sides; side++) {
        result.median[side] = quantile(turns.seconds[side], turns.count, 0.5);
        result.late[side] = quantile(turns.seconds[side], turns.count, 0.99);
        result.cpu[side] = cpu_spent[side] / (double)turns.count;
    }
    result.spread = (quantile(ratios, turns.count, 0.75) - quantile(ratios, turns.count, 0.25)) /
                    quantile(ratios, turns.count, 0.5);
    return result;
}

struct result measure(size_t most, turn_fn *measured, void *argument)
{
    return run(SIDES, most, measured, argument);
}

struct result measure_alone(size_t most, turn_fn *measured, void *argument)
{
    return run(1, most, measured, argument);
}

double measure_sustained(double for_seconds, turn_fn *measured, void *argument)
{
    size_t turns = 0;
    double began = now(), ended;
    do {
        measured(OURS, argument);
        turns++;
        ended = now();
    } while (ended - began < for_seconds);
    return (ended - began) / (double)turns;
}
