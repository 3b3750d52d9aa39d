/*
 * Structs that begin with struct_bytes, from programs that were compiled with another release: of
 * fewer members, and of more.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>

#include "test/support/library.h"

enum { BYTES = 256, MOST = 4096, FILLED = 0xa5 };

/* Members that no release has are behind `known`. */
static union {
    size_t struct_bytes;
    struct gpuaes_settings settings;
    struct gpuaes_device_info info;
    struct gpuaes_statistics statistics;
    struct gpuaes_messages messages;
    struct gpuaes_random random;
    unsigned char byte[2 * MOST];
} later;

static unsigned char *pinned;

static int reads_settings(void)
{
    return gpuaes_configure(&later.settings);
}

static int writes_settings(void)
{
    return gpuaes_get_settings(&later.settings);
}

static int writes_info(void)
{
    return gpuaes_device(0, &later.info);
}

static int writes_statistics(void)
{
    return gpuaes_get_statistics(&later.statistics);
}

static int reads_messages(void)
{
    return gpuaes_queue(&later.messages, NULL, 0, NULL, 0) == GPUAES_OK;
}

static int reads_messages_for_temp(void)
{
    return gpuaes_queue_temp_bytes(&later.messages) != 0;
}

static int reads_random(void)
{
    return gpuaes_random_queue(&later.random, pinned, NULL, 0) == GPUAES_OK;
}

/* A call with what is in `later`, of `known` bytes; a call that writes fills it. */
static const struct {
    const char *name;
    int (*call)(void);
    size_t known;
    int writes;
} rows[] = {
    {"gpuaes_configure", reads_settings, sizeof(struct gpuaes_settings), 0},
    {"gpuaes_get_settings", writes_settings, sizeof(struct gpuaes_settings), 1},
    {"gpuaes_device", writes_info, sizeof(struct gpuaes_device_info), 1},
    {"gpuaes_get_statistics", writes_statistics, sizeof(struct gpuaes_statistics), 1},
    {"gpuaes_queue", reads_messages, sizeof(struct gpuaes_messages), 0},
    {"gpuaes_queue_temp_bytes", reads_messages_for_temp, sizeof(struct gpuaes_messages), 0},
    {"gpuaes_random_queue", reads_random, sizeof(struct gpuaes_random), 0},
};
typedef int call_fn(void);

/* What the functions take that read; no messages and no elements are right. */
static void prepare(call_fn *call, size_t struct_bytes)
{
    static struct gpuaes_key schedule;
    memset(&later, 0, sizeof later);
    if (call == reads_settings)
        later.settings.idle_seconds = GPUAES_IDLE_DEFAULT;
    if (call == reads_messages) {
        (void)gpuaes_key_expand(&schedule, pinned, 16);
        later.messages.key = &schedule;
        later.messages.in = (void *)pinned;
        later.messages.out = (void *)pinned;
        later.messages.bytes = (void *)pinned;
        later.messages.status = (void *)pinned;
    }
    if (call == reads_messages_for_temp)
        later.messages.count = 4;
    later.struct_bytes = struct_bytes;
}

static void test_row(size_t i)
{
    call_fn *const call = rows[i].call;
    const size_t known = rows[i].known;
    static const size_t wrong[] = {0, sizeof(size_t) - 1, MOST + 1, SIZE_MAX};
    int right = 1;
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        prepare(call, wrong[k]);
        right &= !call();
    }
    tap_ok(right, "%s refuses sizes that there cannot be", rows[i].name);

    prepare(call, known);
    tap_ok(call(), "and takes its own");
    prepare(call, MOST);
    tap_ok(call(), "one with members of a later release, which are 0");
    for (size_t at = known; !rows[i].writes && at < MOST;
         at += at == known ? MOST - 1 - known : 1) {
        prepare(call, MOST);
        later.byte[at] = 1;
        right &= !call();
    }
    tap_ok(right, "but not where they are not, up to the last");
    prepare(call, MOST);
    later.byte[MOST] = 1;
    tap_ok(call(), "and does not look behind the struct");
}

static void test_written(size_t i)
{
    const size_t known = rows[i].known, few = sizeof(size_t) + 4;
    static unsigned char whole[MOST];
    prepare(rows[i].call, known);
    int right = rows[i].call();
    memcpy(whole, &later, known);
    memset(&later, FILLED, sizeof later);
    later.struct_bytes = known + 8;
    right &= rows[i].call() && later.struct_bytes == known + 8 &&
             !memcmp(later.byte + sizeof(size_t), whole + sizeof(size_t), few - sizeof(size_t));
    for (size_t at = known; at < known + 16; at++)
        right &= later.byte[at] == (at < known + 8 ? 0 : FILLED);
    tap_ok(right, "%s writes 0 for members that it does not know", rows[i].name);
    memset(&later, FILLED, sizeof later);
    later.struct_bytes = few;
    right = rows[i].call() && later.struct_bytes == few &&
            !memcmp(later.byte + sizeof(size_t), whole + sizeof(size_t), few - sizeof(size_t));
    for (size_t at = few; at < sizeof later; at++)
        right &= later.byte[at] == FILLED;
    tap_ok(right, "and only the members that an older program has");
}

/* Members that an older program does not have count as 0, whatever lies there. */
static void test_read(void)
{
    prepare(reads_random, offsetof(struct gpuaes_random, counter));
    later.random.count = 1; /* would need a key */
    tap_ok(reads_random(), "an older program has no count of random elements");
    prepare(reads_messages_for_temp, offsetof(struct gpuaes_messages, max_bytes));
    later.messages.max_bytes = SIZE_MAX;
    tap_ok(reads_messages_for_temp(), "nor a length of messages");
}

int main(void)
{
    test_read();
    tap_ok(starts_with(NULL) && (pinned = gpuaes_pinned_alloc(BYTES)) != NULL, "the device starts");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        test_row(i);
        if (rows[i].writes)
            test_written(i);
    }
    gpuaes_pinned_free(pinned, BYTES);
    return tap_done();
}
