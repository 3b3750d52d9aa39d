/*
 * gpuaes_queue(): rates over number and length of messages, compared with one call of libgpuaes
 * over as many bytes; what a call takes of the host's time, and how long a few short messages take.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"

enum { IV = 12, AAD = 32, TAG = 16, KEY = 32, SHORTEST = 64, HOST_CALLS = 101 };

static const struct mode_row gcm_encrypt = {{NULL, NULL, "AES-256-GCM"}, 1, GPUAES_GCM_ENCRYPT},
                             gcm_decrypt = {{NULL, NULL, "AES-256-GCM"}, 0, GPUAES_GCM_DECRYPT},
                             xts_encrypt = {{NULL, NULL, "AES-256-XTS"}, 1, GPUAES_XTS_ENCRYPT},
                             xts_decrypt = {{NULL, NULL, "AES-256-XTS"}, 0, GPUAES_XTS_DECRYPT};
/* The first three are measured with each shape but those of disks, the last two with those. */
static const struct mode_row *const modes[] = {&mode_rows[MODE_CTR],
                                               &gcm_encrypt,
                                               &gcm_decrypt,
                                               &mode_rows[MODE_ECB_ENCRYPT],
                                               &mode_rows[MODE_ECB_DECRYPT],
                                               &mode_rows[MODE_CBC_ENCRYPT],
                                               &mode_rows[MODE_CBC_DECRYPT],
                                               &xts_encrypt,
                                               &xts_decrypt};
enum { MODES = sizeof modes / sizeof modes[0], MAIN_MODES = 3, DISK_MODES = 2 };

struct shape {
    size_t count;  /* as many as there is memory for, if that is less */
    size_t length; /* 0: evenly in their logarithm, from 64 bytes to */
    size_t most;   /* this, */
    size_t bytes;  /* and of so many in all */
    size_t offset; /* of each text, behind a whole block */
    int keys;      /* a raw key for each message; else a schedule for all */
    int from, to;  /* modes */
};

struct work {
    const struct mode_row *mode;
    const struct shape *shape;
    struct gpuaes_messages messages;
    struct gpuaes_key key, tweak_key;
    struct buffer table;
    unsigned char *host; /* what was copied to the table; its statuses are those read last */
    size_t calls;        /* in a turn */
    drv_stream stream;
    struct call one; /* the reference */
    struct gpuaes_gcm_key gcm_key;
};

/* ---- Descriptions --------------------------------------------------------------------------- */

/* One after the other, the widest first, so that each is aligned. */
enum column {
    KEYS, /* of XTS a pair */
    AAD_TEXT,
    IV_TEXT,
    TAG_TEXT,
    IN_PLACES,
    OUT_PLACES,
    LENGTHS,
    IV_PLACES,
    AAD_PLACES,
    AAD_LENGTHS,
    TAG_PLACES,
    STATUSES,
    COLUMNS
};

/* Where a column for so many messages begins in a table; COLUMNS: where the table ends. */
static size_t column_at(size_t count, enum column number)
{
    static const size_t widths[COLUMNS] = {2 * KEY, AAD, GPUAES_BLOCK, TAG, 8, 8, 8, 8, 8, 8, 8, 4};
    size_t at = 0;
    for (int i = 0; i < (int)number; i++)
        at += count * widths[i];
    return at;
}

static void *column(unsigned char *table, size_t count, enum column number)
{
    return table + column_at(count, number);
}

static size_t next_length(const struct shape *shape, unsigned short random[3])
{
    if (shape->length != 0)
        return options.quick ? shape->length / 16 : shape->length;
    double octaves = log2((double)shape->most / SHORTEST);
    return (size_t)(SHORTEST * exp2((options.quick ? 4 : octaves) * erand48(random)));
}

static size_t room_for(const struct shape *shape, size_t length)
{
    return (shape->offset + length + GPUAES_BLOCK - 1) / GPUAES_BLOCK * GPUAES_BLOCK;
}

static size_t count_of(const struct shape *shape, size_t bytes)
{
    unsigned short random[3] = {0};
    size_t count = 0, most = options.quick ? 4 : shape->count, total = 0;
    for (size_t at = 0; count < most; count++) {
        size_t length = next_length(shape, random);
        at += room_for(shape, length);
        total += length;
        if (at > bytes || (shape->bytes != 0 && total > shape->bytes))
            break;
    }
    return count;
}

/* Fills the host's table; sets the length of the longest message and of all. */
static void describe(struct work *w, const struct memory *m)
{
    unsigned short random[3] = {0};
    size_t count = w->messages.count, at = 0, number;
    unsigned char *ivs = column(w->host, count, IV_TEXT);
    const unsigned char **in = column(w->host, count, IN_PLACES);
    unsigned char **out = column(w->host, count, OUT_PLACES);
    size_t *bytes = column(w->host, count, LENGTHS);
    unsigned char **iv = column(w->host, count, IV_PLACES);
    unsigned char **aad = column(w->host, count, AAD_PLACES);
    unsigned char **tag = column(w->host, count, TAG_PLACES);
    size_t *aad_bytes = column(w->host, count, AAD_LENGTHS);
    unsigned char *key = column(w->host, count, KEYS);
    const size_t key_bytes = w->messages.key_bytes;
    uint32_t *status = column(w->host, count, STATUSES);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = next_length(w->shape, random);
        in[i] = m->in.p + at + w->shape->offset;
        out[i] = m->out.p + at + w->shape->offset;
        memcpy(ivs + i * GPUAES_BLOCK, &i, sizeof i);
        iv[i] = (unsigned char *)column(w->table.p, count, IV_TEXT) + i * GPUAES_BLOCK;
        aad[i] = (unsigned char *)column(w->table.p, count, AAD_TEXT) + i * AAD;
        aad_bytes[i] = AAD;
        tag[i] = (unsigned char *)column(w->table.p, count, TAG_TEXT) + i * TAG;
        number = i + 1; /* of a pair, the second key is all zeros */
        memcpy(key + i * key_bytes, &number, sizeof number);
        status[i] = GPUAES_UNDEFINED;
        at += room_for(w->shape, bytes[i]);
        w->messages.total_bytes += bytes[i];
        if (bytes[i] > w->messages.max_bytes)
            w->messages.max_bytes = bytes[i];
    }
    card_up(w->table.p, w->host, w->table.bytes, w->stream);
    card_wait(w->stream);
}

static void name_columns(struct gpuaes_messages *m, unsigned char *table, int is_gcm, int keys)
{
    m->in = column(table, m->count, IN_PLACES);
    m->out = column(table, m->count, OUT_PLACES);
    m->bytes = column(table, m->count, LENGTHS);
    m->iv = column(table, m->count, IV_PLACES);
    m->status = column(table, m->count, STATUSES);
    if (is_gcm) {
        m->aad = column(table, m->count, AAD_PLACES);
        m->aad_bytes = column(table, m->count, AAD_LENGTHS);
        m->tag = column(table, m->count, TAG_PLACES);
    }
    if (keys) {
        m->key_table = column(table, m->count, KEYS);
        m->key_count = m->count;
    }
}

/* Ends the program unless all are OK; marks them as not written. */
static void check_statuses(const struct work *w)
{
    uint32_t *status = column(w->host, w->messages.count, STATUSES);
    size_t bytes = w->messages.count * sizeof *status;
    card_down(status, w->messages.status, bytes, w->stream);
    card_wait(w->stream);
    for (size_t i = 0; i < w->messages.count; i++) {
        call_check((enum gpuaes_status)status[i], "a message described in device memory");
        status[i] = GPUAES_UNDEFINED;
    }
    card_up(w->messages.status, status, bytes, w->stream);
    card_wait(w->stream);
}

/* ---- Work ----------------------------------------------------------------------------------- */

static int is_gcm(const struct work *w)
{
    return w->mode == &gcm_encrypt || w->mode == &gcm_decrypt;
}

static int is_xts(const struct work *w)
{
    return w->mode == &xts_encrypt || w->mode == &xts_decrypt;
}

static void queue(const struct work *w)
{
    call_check(gpuaes_queue(&w->messages, NULL, 0, w->stream, 0), "gpuaes_queue");
}

static void one_call(struct work *w)
{
    struct gpuaes_gcm_state state = {.counter = "a nonce.....\0\0\0\2"};
    if (is_gcm(w))
        call_check(gpuaes_gcm(w->one.op, &w->gcm_key, &state, w->one.in, w->one.out, w->one.length,
                              GPUAES_WAIT, NULL),
                   "gpuaes_gcm");
    else
        call_run(REFERENCE, &w->one);
}

/* Calls queued back to back, and one wait. */
static void turn(int side, void *argument)
{
    struct work *w = argument;
    for (size_t i = 0; i < w->calls; i++)
        if (side == REFERENCE)
            one_call(w);
        else
            queue(w);
    card_wait(w->stream);
}

/* One key for all; raw keys are in the table. */
static void take_keys(struct work *w)
{
    static const unsigned char key[KEY] = "the key of all measurements ...", other[KEY] = {0};
    gpuaes_gcm_key_expand(&w->gcm_key, key, KEY);
    if (w->shape->keys)
        return;
    gpuaes_key_expand(&w->key, key, KEY);
    gpuaes_key_expand(&w->tweak_key, other, KEY);
    w->messages.key = &w->key;
    w->messages.tweak_key = is_xts(w) ? &w->tweak_key : NULL;
}

/* Encrypts, and decrypts from then on what that made, which neither side writes. */
static void turn_round(struct work *w)
{
    size_t count = w->messages.count;
    w->messages.op = GPUAES_GCM_ENCRYPT;
    queue(w);
    check_statuses(w);
    w->messages.op = GPUAES_GCM_DECRYPT;
    w->messages.in = column(w->table.p, count, OUT_PLACES);
    w->messages.out = column(w->table.p, count, IN_PLACES);
}

/* Returns 1, or 0 where there is not enough memory. */
static int work_open(struct work *w, const struct memory *m)
{
    size_t count = count_of(w->shape, m->in.bytes);
    w->messages = (struct gpuaes_messages){.struct_bytes = sizeof w->messages,
                                           .op = w->mode->op,
                                           .count = count,
                                           .key_bytes = is_xts(w) ? 2 * KEY : KEY,
                                           .iv_bytes = is_gcm(w) ? IV : GPUAES_BLOCK,
                                           .tag_bytes = TAG};
    w->table = buffer_take(DEVICE, column_at(count, COLUMNS));
    w->host = calloc(1, w->table.bytes);
    if (count == 0 || w->table.p == NULL || w->host == NULL)
        return 0;
    name_columns(&w->messages, w->table.p, is_gcm(w), w->shape->keys);
    describe(w, m);
    take_keys(w);
    int back = w->mode == &gcm_decrypt;
    w->one = call_make(w->mode->op, 256, back ? m->out.p : m->in.p, back ? m->in.p : m->out.p,
                       w->messages.total_bytes / GPUAES_BLOCK * GPUAES_BLOCK);
    if (back)
        turn_round(w);
    return 1;
}

static void work_close(struct work *w)
{
    buffer_give(&w->table);
    free(w->host);
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static struct row work_row(const struct work *w, const char *part, const char *what)
{
    static char operation[80];
    (void)snprintf(operation, sizeof operation, "%s, %zu messages%s%s%s",
                   direction(w->mode->encrypt), w->messages.count,
                   w->shape->keys ? " with a key each" : "",
                   w->shape->offset != 0 ? " at offset 13" : "", what);
    struct row row =
        aes_row(part, w->mode, 256, "device",
                w->shape->length == 0 ? w->messages.total_bytes : w->messages.max_bytes);
    row.operation = operation;
    row.processor = "gpu";
    return row;
}

static void rate_row(struct work *w)
{
    struct row row = work_row(w, "messages", w->shape->length == 0 ? " of mixed lengths" : "");
    if (w->mode != &mode_rows[MODE_CBC_ENCRYPT]) /* which is for batches alone */
        row.against = "one call over the same bytes";
    w->calls = options.quick ? 2 : min_u64(3 + 16 * GIB / w->messages.total_bytes, 64);
    (void)measure_rates(&row, 15, turn, w, (double)(w->calls * w->messages.total_bytes));
}

/* From the call to the end. */
static void whole_row(struct work *w)
{
    struct row row = work_row(w, "messages-time", ", launch to end");
    row.against = "one call over the same bytes";
    w->calls = 1;
    struct result result = measure(1001, turn, w);
    print_times(&row, &result, 1, "us", 1e6);
}

/* On the device. */
static void device_row(const struct work *w)
{
    double seconds[HOST_CALLS];
    size_t calls = options.quick ? LEAST_TURNS : HOST_CALLS;
    drv_event begin = card_event(), end = card_event();
    for (size_t i = 0; i < calls; i++) {
        card_record(begin, w->stream);
        queue(w);
        card_record(end, w->stream);
        card_wait(w->stream);
        seconds[i] = card_seconds(begin, end);
    }
    struct row row = work_row(w, "messages-time", ", between two events");
    struct result result = {.turns = calls, .median[OURS] = quantile(seconds, calls, 0.5)};
    print_times(&row, &result, 1, "us", 1e6);
    card_end(begin);
    card_end(end);
}

/* Of the call alone, on an idle stream. */
static void host_row(const struct work *w)
{
    double seconds[HOST_CALLS];
    size_t calls = options.quick ? LEAST_TURNS : HOST_CALLS;
    for (size_t i = 0; i < calls; i++) {
        double began = now();
        queue(w);
        seconds[i] = now() - began;
        card_wait(w->stream);
    }
    struct row row = work_row(w, "messages-time", ", the host's part");
    struct result result = {.turns = calls, .median[OURS] = quantile(seconds, calls, 0.5)};
    print_times(&row, &result, 1, "us", 1e6);
}

static void measure_work(struct work *w, const struct memory *m)
{
    if (!work_open(w, m))
        print_skipped("messages", "%s: there is not enough memory", mode_cipher(w->mode, 256));
    else {
        if (w->shape->count > 16) {
            rate_row(w);
        } else {
            whole_row(w);
            if (card_has_time())
                device_row(w);
        }
        if (w->shape->length != 0)
            host_row(w);
        check_statuses(w);
    }
    work_close(w);
}

int part_messages(void)
{
    static const struct shape shapes[] = {
        {1048576, 256, 0, 0, 0, 0, 0, MAIN_MODES},
        {262144, KIB, 0, 0, 0, 0, 0, MAIN_MODES},
        {262144, 4 * KIB, 0, 0, 0, 0, 0, MAIN_MODES},
        {65536, 16 * KIB, 0, 0, 0, 0, 0, MODES},
        {16384, 64 * KIB, 0, 0, 0, 0, 0, MAIN_MODES},
        {1024, MIB, 0, 0, 0, 0, 0, MAIN_MODES},
        {1048576, 256, 0, 0, 0, 1, 0, MAIN_MODES},
        {262144, KIB, 0, 0, 0, 1, 0, MAIN_MODES},
        {262144, 4 * KIB, 0, 0, 0, 1, 0, MAIN_MODES},
        {65536, 16 * KIB, 0, 0, 0, 1, 0, MAIN_MODES},
        {1024, MIB, 0, 0, 0, 1, 0, MAIN_MODES},
        {GPUAES_QUEUE_MESSAGES, 0, 4 * KIB, GIB, 0, 0, 0, MAIN_MODES},
        {GPUAES_QUEUE_MESSAGES, 0, 4 * KIB, GIB, 0, 1, 0, MAIN_MODES},
        {GPUAES_QUEUE_MESSAGES, 0, MIB, 16 * GIB, 0, 0, 0, MAIN_MODES},
        {262144, 4 * KIB, 0, 0, 13, 0, 0, MAIN_MODES},
        {65536, 4 * KIB, 0, 0, 0, 0, MODES - DISK_MODES, MODES}, /* pages, and sectors */
        {65536, 4 * KIB, 0, 0, 0, 1, MODES - DISK_MODES, MODES},
        {262144, 512, 0, 0, 0, 0, MODES - DISK_MODES, MODES},
        {16, 4 * KIB, 0, 0, 0, 0, 0, MAIN_MODES}};
    struct memory m;
    if (!device_memory_take(&m, "messages", options.quick ? 256 * KIB : 17 * GIB))
        return 0;
    drv_stream stream = card_stream();
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int mode = shapes[i].from; mode < shapes[i].to; mode++) {
            struct work w = {.mode = modes[mode], .shape = &shapes[i], .stream = stream};
            measure_work(&w, &m);
        }
    memory_give(&m);
    return 0;
}
