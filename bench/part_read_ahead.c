/*
 * CTR updates of a context that reads ahead, compared with the default provider: by the size of
 * an update, and by the number of streams, a thread each.
 *
 * A turn is long: what is in a ring when it begins, 12 MiB at most, was made in the other
 * side's turn.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/buffers.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"
#include "bench/team.h"

/* Updates of `length` that go through `bytes` of memory again and again, in place. */
struct stream {
    struct pair pair;
    unsigned char *memory;
    size_t bytes, at[SIDES];
    size_t turn; /* bytes of one turn */
};

static void stream_updates(int side, void *argument)
{
    struct stream *s = argument;
    size_t length = s->pair.length;
    for (size_t done = 0; done < s->turn; done += length) {
        unsigned char *p = s->memory + s->at[side];
        int n;
        if (!EVP_CipherUpdate(s->pair.context[side], p, &n, p, (int)length)) {
            ERR_print_errors_fp(stderr);
            exit(EXIT_FAILURE);
        }
        s->at[side] = s->at[side] + 2 * length <= s->bytes ? s->at[side] + length : 0;
    }
}

struct work_done {
    struct figures figures;
    uint64_t ahead;
};

static struct work_done work_done(void)
{
    return (struct work_done){figures_get(&test_providers), provider_figure("read-ahead-bytes")};
}

/* What did it: judged by the bytes that were combined with the device's keystream. */
static const char *processor_ahead(const struct work_done *before, double bytes)
{
    double ahead = (double)(provider_figure("read-ahead-bytes") - before->ahead);
    return ahead >= 0.9 * bytes ? "read-ahead"
           : ahead > 0          ? "mixed"
                                : processor_since(&before->figures, bytes);
}

static struct row ahead_row(const char *operation, const char *memory, size_t bytes)
{
    struct row row = row_of("read-ahead", "AES-256-CTR", operation, memory, bytes);
    row.placement = "in place";
    row.against = of_openssl("default provider");
    return row;
}

static void size_row(const char *memory, unsigned char *p, size_t bytes, size_t length)
{
    struct stream s = {.pair = {.length = length}, .memory = p, .bytes = bytes};
    struct row row = ahead_row("encrypt", memory, length);
    struct work_done before = work_done();
    s.turn = options.quick ? 4 * MIB : length < KIB ? length * 2 * MIB : 512 * MIB;
    pair_open(&s.pair, "AES-256-CTR", 1);
    struct result result = measure(21, stream_updates, &s);
    pair_close(&s.pair);
    row.processor = processor_ahead(&before, (double)(result.turns + 1) * (double)s.turn);
    print_rates(&row, &result, (double)s.turn);
}

/* ---- Several streams --------------------------------------------------------- */

enum { MOST_STREAMS = 64 };

struct streams {
    struct stream stream[MOST_STREAMS];
    struct team team;
    int side; /* of the turn under way */
};

static void updates_of_thread(unsigned number, void *argument)
{
    struct streams *all = argument;
    stream_updates(all->side, &all->stream[number]);
}

static void streams_updates(int side, void *argument)
{
    struct streams *all = argument;
    all->side = side;
    team_run(&all->team, updates_of_thread, all);
}

static void streams_open(struct streams *all, unsigned count, size_t turn)
{
    *all = (struct streams){.side = OURS};
    team_open(&all->team, count);
    for (unsigned i = 0; i < count; i++) {
        struct stream *s = &all->stream[i];
        s->pair.length = s->bytes = 16 * KIB;
        s->turn = turn;
        s->memory = aligned_alloc(4096, s->bytes);
        memset(s->memory, (int)i, s->bytes);
        pair_open(&s->pair, "AES-256-CTR", 1);
    }
}

static void streams_close(struct streams *all)
{
    for (unsigned i = 0; i < all->team.threads; i++) {
        pair_close(&all->stream[i].pair);
        free(all->stream[i].memory);
    }
    team_close(&all->team);
}

/* A figure that has no reference; prints nothing where it is 0. */
static void print_figure_of(unsigned count, const char *operation, double value, const char *unit)
{
    struct row row = {.part = "read-ahead",
                      .cipher = "AES-256-CTR",
                      .operation = operation,
                      .bytes = 16 * KIB,
                      .threads = count,
                      .value = {value},
                      .unit = unit};
    if (value > 0)
        print_row(&row);
}

/* The sum of their rates, and the pinned memory that ours hold meanwhile. */
static void streams_rows(unsigned count)
{
    static struct streams all;
    struct row row = ahead_row("encrypt, streams", "pageable", 16 * KIB);
    struct work_done before = work_done();
    row.threads = count;
    streams_open(&all, count, options.quick ? 2 * MIB : 512 * MIB);
    struct result result = measure(11, streams_updates, &all);
    double bytes = (double)count * (double)all.stream[0].turn,
           mine = (double)(result.turns + 1) * bytes,
           pinned = (double)provider_figure("pinned-bytes") / (double)MIB;
    streams_close(&all);
    double ahead = (double)(provider_figure("read-ahead-bytes") - before.ahead);
    row.processor = processor_ahead(&before, mine);
    print_rates(&row, &result, bytes);
    print_figure_of(count, "pinned memory, streams", pinned, "MiB");
    print_figure_of(count, "bytes read ahead of, streams", 100 * ahead / mine, "%");
}

int part_read_ahead(void)
{
    static const unsigned counts[] = {1, 2, 4, 8, 16, 64};
    size_t cold = options.quick ? 4 * MIB : GIB;
    warm_up();
    if (gpuaes_state() != GPUAES_READY) {
        print_skipped("read-ahead", "%s", no_device());
        return 0;
    }
    struct buffer memory = buffer_take(PAGEABLE, cold);
    for (size_t length = 16; memory.p != NULL && length <= MIB; length *= 4) {
        size_row("pageable", memory.p, length, length);
        size_row("pageable, cold", memory.p, cold, length);
    }
    buffer_give(&memory);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i] <= (options.quick ? 2 : MOST_STREAMS))
            streams_rows(counts[i]);
    return 0;
}
