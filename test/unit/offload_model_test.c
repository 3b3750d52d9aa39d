/*
 * When the command takes a GPU: a table of what was measured, and what is chosen from it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/tap.h"
#include "tool/pipeline/offload.h"

#define GB 1e9

/* After so many GB: what each of them took of the threads, in seconds. */
struct host {
    double threads, done;
    double reading_and_writing, ciphers, waiting;
    double left; /* GB; below 0: unknown */
    double piece;
};

static int gains(struct host h)
{
    struct offload_figures figures = {
        .threads = h.threads,
        .bytes = h.done * GB,
        .pieces = h.done * GB / h.piece,
        .left = h.left * GB,
        .offloadable = h.done * h.ciphers,
        .waiting = h.done * h.waiting,
        .seconds = h.done * (h.reading_and_writing + h.ciphers + h.waiting) / h.threads,
    };
    return offload_gains(&figures);
}

int main(void)
{
    const double piece = 2 << 20;
    static const double quick = 0.17, slow = 0.4; /* seconds of a core for a GB of AES */
    static const struct {
        const char *name;
        struct host host;
        int gains;
    } cases[] = {
        {"16 cores, 8 GB: they alone are as fast", {8, 0.13, 0.58, quick, 0, 8, piece}, 0},
        {"16 cores, 1000 GB: still no tenth", {8, 0.13, 0.58, quick, 0, 1000, piece}, 0},
        {"two cores, 8 GB", {2, 0.03, 0.5, slow, 0, 8, piece}, 1},
        {"two cores, 0.5 GB: over before a GPU is there", {2, 0.03, 0.5, slow, 0, 0.5, piece}, 0},
        {"two cores, 1.5 GB: the start and the exit cost more",
         {2, 0.03, 0.5, slow, 0, 1.5, piece},
         0},
        {"two cores, unknown size, early", {2, 0.5, 0.5, slow, 0, -1, piece}, 0},
        {"two cores, unknown size, later", {2, 8, 0.5, slow, 0, -1, piece}, 1},
        {"two cores, and a slow reader that all wait for", {2, 8, 0.5, slow, 3, 100, piece}, 0},
        {"a slow disk that the threads read at once", {2, 8, 20, slow, 0, 100, piece}, 0},
        {"two cores, pieces of 64 KiB: each is a launch", {2, 1, 0.5, slow, 0, 100, 64 << 10}, 0},
        {"a cipher without AES instructions", {8, 0.13, 0.58, 6, 0, 8, piece}, 1},
        {"nothing left", {2, 8, 0.5, slow, 0, 0, piece}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        tap_ok(gains(cases[i].host) == cases[i].gains, "%s: %s", cases[i].name,
               cases[i].gains ? "a GPU" : "no GPU");
    return tap_done();
}
