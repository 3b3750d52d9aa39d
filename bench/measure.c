/*
 * Time, medians, and two sides that take turns.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "measure.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "../base/clock.h"
#include "options.h"

enum { LEAST_TURNS = 3 };

double now(void)
{
    return clock_seconds(CLOCK_MONOTONIC);
}

double cpu_now(void)
{
    return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

unsigned cores_allowed(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

double quantile(double *values, size_t count, double at)
{
    qsort(values, count, sizeof *values, compare);
    return values[(size_t)(at * (double)(count - 1) + 0.5)];
}

static double added_cpu;

void measure_add_cpu(double seconds)
{
    added_cpu += seconds;
}

static useconds_t rest;

void measure_rest(double for_seconds)
{
    rest = (useconds_t)(for_seconds * 1e6);
}

/* Seconds of each turn, and ours / reference of each pair of turns. */
static double seconds[SIDES][MOST_TURNS], ratios[MOST_TURNS];

static struct result run(int sides, size_t most, measured_fn *measured, void *argument)
{
    struct result result = {0};
    for (int side = 0; side < sides; side++)
        measured(side, argument);
    most = options.quick ? LEAST_TURNS : most < MOST_TURNS ? most : MOST_TURNS;
    double deadline = now() + options.seconds;
    size_t i = 0;
    for (; i < most && (i < LEAST_TURNS || now() < deadline); i++) {
        for (int turn = 0; turn < sides; turn++) {
            int side = (turn + (int)i) % sides;
            if (rest != 0)
                usleep(rest);
            added_cpu = 0;
            double cpu = cpu_now(), began = now();
            measured(side, argument);
            seconds[side][i] = now() - began;
            result.cpu[side] += cpu_now() - cpu + added_cpu;
        }
        ratios[i] = sides == 1 ? seconds[OURS][i] : seconds[OURS][i] / seconds[REFERENCE][i];
    }
    result.turns = i;
    for (int side = 0; side < sides; side++) {
        result.median[side] = quantile(seconds[side], i, 0.5);
        result.late[side] = quantile(seconds[side], i, 0.99);
        result.cpu[side] /= (double)i;
    }
    result.spread =
        (quantile(ratios, i, 0.75) - quantile(ratios, i, 0.25)) / quantile(ratios, i, 0.5);
    return result;
}

struct result measure(size_t most, measured_fn *measured, void *argument)
{
    return run(SIDES, most, measured, argument);
}

struct result measure_alone(size_t most, measured_fn *measured, void *argument)
{
    return run(1, most, measured, argument);
}

double measure_sustained(double for_seconds, measured_fn *measured, void *argument)
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
