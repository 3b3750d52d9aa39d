/*
 * A hash table of expanded keys.
 *
 * Where a key lies in it is seen by whoever watches the caches, so it is hashed with
 * random numbers of the batch: sums of products, whose high bits say nothing about
 * the key to somebody who does not know them. Keys are compared in constant time.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "cuda/batch/keys.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/key_size.h"

enum { FIRST_ROOM = 16, SCHEDULES = 64 };

static uint32_t place_of(const struct batch_keys *keys, const unsigned char *key, size_t key_bytes)
{
    uint64_t hash = keys->secret[HASH_WORDS - 1] * key_bytes;
    for (size_t i = 0; i < key_bytes / 4; i++) {
        uint32_t word;
        memcpy(&word, key + 4 * i, sizeof word);
        hash += keys->secret[i] * word;
    }
    return (uint32_t)(hash >> 32) & (keys->table_size - 1);
}

static int is_key(const struct batch_key *entry, const unsigned char *key, size_t key_bytes)
{
    uint64_t differ = 0, a, b;
    if (entry->rounds != key_size_rounds(key_bytes))
        return 0;
    for (size_t i = 0; i < key_bytes; i += sizeof a) {
        memcpy(&a, entry->bytes + i, sizeof a);
        memcpy(&b, key + i, sizeof b);
        differ |= a ^ b;
    }
    return differ == 0;
}

static void put(struct batch_keys *keys, uint32_t number)
{
    const struct batch_key *entry = &keys->key[number];
    uint32_t at = place_of(keys, entry->bytes, key_size_of(entry->rounds));
    while (keys->table[at] != 0)
        at = (at + 1) & (keys->table_size - 1);
    keys->table[at] = number + 1;
}

static void cleanse(struct batch_keys *keys)
{
    if (keys->count != 0)
        gpuaes_cleanse(keys->key, keys->count * sizeof *keys->key);
}

static void drop_schedules(struct batch_keys *keys)
{
    if (keys->schedules != 0)
        gpuaes_cleanse(keys->schedule, keys->schedules * sizeof *keys->schedule);
    for (uint32_t i = 0; i < keys->count; i++)
        keys->key[i].schedule = 0;
    keys->schedules = 0;
}

static void free_arrays(struct batch_keys *keys)
{
    free(keys->key);
    free(keys->table);
}

/* Not by realloc(), which would leave keys behind. */
static int grow(struct batch_keys *keys)
{
    uint32_t room = keys->room == 0 ? FIRST_ROOM : keys->room * 2;
    struct batch_keys grown = *keys;
    grown.key = malloc(room * sizeof *grown.key);
    grown.table = calloc((size_t)room * 2, sizeof *grown.table);
    grown.room = room;
    grown.table_size = room * 2;
    if (grown.key == NULL || grown.table == NULL) {
        free_arrays(&grown);
        return 0;
    }
    for (uint32_t i = 0; i < keys->count; i++) {
        grown.key[i] = keys->key[i];
        put(&grown, i);
    }
    struct batch_keys old = *keys;
    *keys = grown;
    cleanse(&old);
    free_arrays(&old);
    return 1;
}

int batch_keys_open(struct batch_keys *keys)
{
    memset(keys, 0, sizeof *keys);
    keys->round = 1;
    keys->schedule = malloc(SCHEDULES * sizeof *keys->schedule);
    return keys->schedule != NULL && getentropy(keys->secret, sizeof keys->secret) == 0 &&
           grow(keys);
}

void batch_keys_close(struct batch_keys *keys)
{
    drop_schedules(keys);
    cleanse(keys);
    free(keys->schedule);
    free_arrays(keys);
    gpuaes_cleanse(keys, sizeof *keys);
}

/* At a free place of the table. */
static uint32_t add(struct batch_keys *keys, uint32_t at, const unsigned char *key,
                    size_t key_bytes, const struct gpuaes_key *schedule)
{
    struct batch_key *entry = &keys->key[keys->count];
    memset(entry, 0, sizeof *entry);
    memcpy(entry->bytes, key, key_bytes);
    entry->rounds = key_size_rounds(key_bytes);
    entry->size = key_size_index(key_bytes);
    if (schedule != NULL && keys->schedules < SCHEDULES) {
        keys->schedule[keys->schedules++] = *schedule;
        entry->schedule = keys->schedules;
    }
    keys->table[at] = ++keys->count;
    return keys->count - 1;
}

/* Where it is in the table, or may be put. */
static uint32_t find_place(const struct batch_keys *keys, const unsigned char *key,
                           size_t key_bytes)
{
    uint32_t at = place_of(keys, key, key_bytes);
    while (keys->table[at] != 0 && !is_key(&keys->key[keys->table[at] - 1], key, key_bytes))
        at = (at + 1) & (keys->table_size - 1);
    return at;
}

static uint32_t find_or_add(struct batch_keys *keys, const unsigned char *key, size_t key_bytes,
                            const struct gpuaes_key *schedule)
{
    uint32_t at = find_place(keys, key, key_bytes);
    if (keys->table[at] != 0)
        return keys->table[at] - 1;
    if (keys->used == GPUAES_BATCH_KEYS)
        return NO_KEY;
    if (keys->count == keys->room) {
        if (!grow(keys))
            return NO_KEY;
        at = find_place(keys, key, key_bytes);
    }
    return add(keys, at, key, key_bytes, schedule);
}

/* Counts a key of this round; NO_KEY if there are too many. */
static uint32_t use(struct batch_keys *keys, uint32_t number)
{
    if (number == NO_KEY)
        return NO_KEY;
    struct batch_key *key = &keys->key[number];
    if (key->round != keys->round) {
        if (keys->used == GPUAES_BATCH_KEYS)
            return NO_KEY;
        keys->used++;
        key->round = keys->round;
    }
    keys->last = number;
    return number;
}

uint32_t batch_keys_find(struct batch_keys *keys, const unsigned char *key, size_t key_bytes,
                         const struct gpuaes_key *schedule)
{
    uint32_t found = keys->last;
    if (found >= keys->count || !is_key(&keys->key[found], key, key_bytes))
        found = find_or_add(keys, key, key_bytes, schedule);
    return use(keys, found);
}

const struct gpuaes_key *batch_keys_schedule(struct batch_keys *keys, uint32_t number)
{
    struct batch_key *key = &keys->key[number];
    if (key->schedule == 0) {
        if (keys->schedules == SCHEDULES)
            drop_schedules(keys);
        (void)gpuaes_key_expand(&keys->schedule[keys->schedules++], key->bytes,
                                key_size_of(key->rounds));
        key->schedule = keys->schedules;
    }
    return &keys->schedule[key->schedule - 1];
}

void batch_keys_trim(struct batch_keys *keys, uint32_t most)
{
    keys->used = 0;
    keys->round++;
    if (keys->count <= most)
        return;
    drop_schedules(keys);
    cleanse(keys);
    memset(keys->table, 0, keys->table_size * sizeof *keys->table);
    keys->count = 0;
}
