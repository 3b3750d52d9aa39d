/*
 * Two sides that take turns at the same work, and how long each turn took.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_TURNS_H
#define GPUAES_TOOL_COMMON_TURNS_H

#include <stddef.h>

enum { OURS, REFERENCE, SIDES, LEAST_TURNS = 3, MOST_TURNS = 1001 };

/* Does what one side does in one turn. */
typedef void turn_fn(int side, void *argument);

struct turns {
    turn_fn *turn;
    turn_fn *before, *after; /* called around a turn, and not timed; or NULL */
    void *argument;
    int sides;    /* SIDES, or 1: OURS alone */
    size_t most;  /* turns of a side; MOST_TURNS at most */
    double limit; /* seconds for all of them */

    /* What turns_take() sets: */
    size_t count;                      /* turns of each side */
    double seconds[SIDES][MOST_TURNS]; /* of each turn */
};

/*
 * Takes one turn of each side to warm up, then `most` turns of each, fewer (but LEAST_TURNS)
 * once the limit is reached. The side that goes first changes from turn to turn.
 */
void turns_take(struct turns *turns);

/* Returns the value that is `at` (0 to 1) of the way from the least to the most. Sorts. */
double quantile(double *values, size_t count, double at);

#endif
