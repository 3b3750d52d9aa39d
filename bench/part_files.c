/*
 * AES-256-ECB over the size of a file, compared with one core and with all of them. Files are in
 * memory here, and in the device's, which is the time of the kernel alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"
#include "bench/team.h"

struct files {
    const struct mode_row *mode;
    struct call call; /* ours */
    struct team team;
    struct memory memory; /* of the team */
    struct pair part[TEAM_THREADS];
};

/* Of one thread of the CPU: its part of the message. */
static void encrypt_part(unsigned number, void *argument)
{
    struct files *f = argument;
    struct pair *p = &f->part[number];
    size_t blocks = f->call.length / GPUAES_BLOCK, first = blocks * number / f->team.threads;
    p->in[REFERENCE] = f->memory.in.p + first * GPUAES_BLOCK;
    p->out[REFERENCE] = f->memory.out.p + first * GPUAES_BLOCK;
    p->length = (blocks * (number + 1) / f->team.threads - first) * GPUAES_BLOCK;
    pair_updates(REFERENCE, p);
}

static void encrypt_file(int side, void *argument)
{
    struct files *f = argument;
    if (side == REFERENCE)
        team_run(&f->team, encrypt_part, f);
    else
        call_run(side, &f->call);
}

/* Over size where that is said, else the largest size alone. */
static void rows_of_kind(struct files *f, enum kind kind, size_t most, int over_size)
{
    struct memory m;
    if (!memory_take(&m, "files", kind, most, most))
        return;
    for (size_t length = over_size ? 64 * KIB : most; length <= most; length *= 4) {
        struct row row = aes_row("files", f->mode, 256, kind_name(kind), length);
        row.threads = f->team.threads;
        row.processor = "gpu";
        row.against = of_openssl("default provider");
        f->call = call_make(f->mode->op, 256, m.in.p, m.out.p, length);
        measure_rates(&row, 31, encrypt_file, f, (double)length);
    }
    memory_give(&m);
}

/* With so many threads of the CPU. */
static void rows_of_team(struct files *f, unsigned threads, size_t most)
{
    static const enum kind kinds[] = {PAGEABLE, PINNED, DEVICE};
    if (!memory_take(&f->memory, "files", PAGEABLE, most, most))
        exit(EXIT_FAILURE);
    team_open(&f->team, threads);
    for (unsigned i = 0; i < f->team.threads; i++) {
        f->part[i] = (struct pair){.calls = 1};
        pair_open(&f->part[i], mode_cipher(f->mode, 256), f->mode->encrypt);
    }
    /* One core is as fast whatever it is compared with. */
    for (size_t i = 0; i < (threads > 1 ? sizeof kinds / sizeof kinds[0] : 1); i++)
        rows_of_kind(f, kinds[i], most, f->mode->encrypt);
    for (unsigned i = 0; i < f->team.threads; i++)
        pair_close(&f->part[i]);
    team_close(&f->team);
    memory_give(&f->memory);
}

int part_files(void)
{
    static struct files f;
    size_t most = options.quick ? 256 * KIB : 256 * MIB;
    unsigned cores = cores_allowed();
    options.seconds *= 0.7; /* of many rows */
    if (!device_begin("files"))
        return 0;
    for (int mode = MODE_ECB_ENCRYPT; mode <= MODE_ECB_DECRYPT; mode++) {
        f.mode = &mode_rows[mode];
        rows_of_team(&f, 1, most);
        rows_of_team(&f, cores > 2 ? cores : 2, most);
    }
    return 0;
}
