/*
 * AES-256 over the size of a file, as work of 2012 showed it: a thread of the GPU for
 * each block, beside one core and beside all of them. Files are in memory here, and in
 * the device's, which is the time of the kernel alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/api.h"
#include "bench/buffers.h"
#include "bench/crowd.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"

struct files {
    struct call call; /* ours */
    struct crowd crowd;
};

static void encrypt_file(int side, void *argument)
{
    struct files *f = argument;
    if (side == REFERENCE)
        crowd_run(&f->crowd);
    else
        call_run(&f->call);
}

static void file_row(struct files *f, enum kind kind, int encrypt, size_t length)
{
    struct row row = {.part = "files",
                      .cipher = "AES-256-ECB",
                      .operation = direction(encrypt),
                      .bytes = length,
                      .memory = kind_name(kind),
                      .placement = "out of place",
                      .threads = f->crowd.threads,
                      .processor = "gpu",
                      .against = of_openssl("default provider")};
    f->call.length = f->crowd.length = length;
    struct result result = measure(31, encrypt_file, f);
    print_rates(&row, &result, (double)length);
}

/* Over size where that is said, else the largest size alone. */
static void rows_of_kind(struct files *f, enum kind kind, int encrypt, size_t most, int over_size)
{
    struct buffer in = buffer_take(kind, most), out = buffer_take(kind, most);
    f->call = call_make(encrypt ? GPUAES_ECB_ENCRYPT : GPUAES_ECB_DECRYPT, 256);
    f->call.in = in.p;
    f->call.out = out.p;
    if (in.p == NULL || out.p == NULL)
        print_skipped("files", "%s memory: %s", kind_name(kind), no_device());
    else
        for (size_t length = over_size ? 64 * KIB : most; length <= most; length *= 4)
            file_row(f, kind, encrypt, length);
    buffer_give(&in);
    buffer_give(&out);
}

/* With so many threads of the CPU. */
static void rows_of_crowd(struct files *f, unsigned threads, int encrypt, size_t most)
{
    static const enum kind kinds[] = {PAGEABLE, PINNED, DEVICE};
    struct buffer in = buffer_take(PAGEABLE, most), out = buffer_take(PAGEABLE, most);
    if (in.p == NULL || out.p == NULL) {
        print_skipped("files", "there is no memory");
        exit(EXIT_FAILURE);
    }
    crowd_open(&f->crowd, threads, encrypt);
    f->crowd.in = in.p;
    f->crowd.out = out.p;
    /* One core is as fast whatever stands beside it. */
    for (size_t i = 0; i < (threads > 1 ? sizeof kinds / sizeof kinds[0] : 1); i++)
        rows_of_kind(f, kinds[i], encrypt, most, encrypt);
    crowd_close(&f->crowd);
    buffer_give(&in);
    buffer_give(&out);
}

int part_files(void)
{
    static struct files f;
    size_t most = options.quick ? 256 * KIB : 256 * MIB;
    unsigned cores = cores_allowed();
    options.seconds *= 0.7; /* of many rows */
    warm_up();
    if (gpuaes_state() != GPUAES_READY || !card_begin(0)) {
        print_skipped("files", "%s", no_device());
        return 0;
    }
    for (int encrypt = 1; encrypt >= 0; encrypt--) {
        rows_of_crowd(&f, 1, encrypt, most);
        rows_of_crowd(&f, cores > 2 ? cores : 2, encrypt, most);
    }
    return 0;
}
