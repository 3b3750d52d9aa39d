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
#include "batch_keys.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_ROOM = 16, KEPT = 1024 };

static uint32_t place_of(const struct batch_keys *keys, const unsigned char bytes[KEY_BYTES_MOST],
                         size_t key_bytes)
{
    uint64_t hash = keys->secret[HASH_WORDS - 1] * key_bytes;
    for (size_t i = 0; i < KEY_BYTES_MOST / 4; i++) {
        uint32_t word;
        memcpy(&word, bytes + 4 * i, sizeof word);
        hash += keys->secret[i] * word;
    }
    return (uint32_t)(hash >> 32) & (keys->table_size - 1);
}

static int is_key(const struct batch_key *entry, const unsigned char bytes[KEY_BYTES_MOST],
                  size_t key_bytes)
{
    unsigned char differ = 0;
    for (size_t i = 0; i < KEY_BYTES_MOST; i++)
        differ |= (unsigned char)(entry->bytes[i] ^ bytes[i]);
    return differ == 0 && entry->schedule.rounds == key_bytes / 4 + 6;
}

static void put(struct batch_keys *keys, uint32_t number)
{
    const struct batch_key *entry = &keys->key[number];
    uint32_t at = place_of(keys, entry->bytes, (entry->schedule.rounds - 6) * 4);
    while (keys->table[at] != 0)
        at = (at + 1) & (keys->table_size - 1);
    keys->table[at] = number + 1;
}

/* Not by realloc(), which would leave keys behind. */
static int grow(struct batch_keys *keys)
{
    uint32_t room = keys->room == 0 ? FIRST_ROOM : keys->room * 2;
    struct batch_key *key = malloc(room * sizeof *key);
    uint32_t *table = calloc((size_t)room * 2, sizeof *table);
    if (key == NULL || table == NULL) {
        free(key);
        free(table);
        return 0;
    }
    if (keys->count != 0) {
        memcpy(key, keys->key, keys->count * sizeof *key);
        gpuaes_cleanse(keys->key, keys->count * sizeof *key);
    }
    free(keys->key);
    free(keys->table);
    keys->key = key;
    keys->table = table;
    keys->room = room;
    keys->table_size = room * 2;
    for (uint32_t i = 0; i < keys->count; i++)
        put(keys, i);
    return 1;
}

int batch_keys_open(struct batch_keys *keys)
{
    memset(keys, 0, sizeof *keys);
    return getentropy(keys->secret, sizeof keys->secret) == 0 && grow(keys);
}

void batch_keys_close(struct batch_keys *keys)
{
    if (keys->key != NULL)
        gpuaes_cleanse(keys->key, keys->count * sizeof *keys->key);
    free(keys->key);
    free(keys->table);
    gpuaes_cleanse(keys, sizeof *keys);
}

static uint32_t add(struct batch_keys *keys, const unsigned char bytes[KEY_BYTES_MOST],
                    size_t key_bytes, const struct gpuaes_key *schedule)
{
    if (keys->count == GPUAES_BATCH_KEYS || (keys->count == keys->room && !grow(keys)))
        return NO_KEY;
    struct batch_key *entry = &keys->key[keys->count];
    memcpy(entry->bytes, bytes, KEY_BYTES_MOST);
    entry->stamp = 0;
    if (schedule != NULL)
        entry->schedule = *schedule;
    else
        (void)gpuaes_key_expand(&entry->schedule, bytes, key_bytes);
    put(keys, keys->count);
    return keys->count++;
}

uint32_t batch_keys_find(struct batch_keys *keys, const unsigned char *key, size_t key_bytes,
                         const struct gpuaes_key *schedule)
{
    unsigned char bytes[KEY_BYTES_MOST] = {0};
    memcpy(bytes, key, key_bytes);
    uint32_t found = keys->last;
    if (found >= keys->count || !is_key(&keys->key[found], bytes, key_bytes)) {
        uint32_t at = place_of(keys, bytes, key_bytes);
        while (keys->table[at] != 0 && !is_key(&keys->key[keys->table[at] - 1], bytes, key_bytes))
            at = (at + 1) & (keys->table_size - 1);
        found = keys->table[at] != 0 ? keys->table[at] - 1 : add(keys, bytes, key_bytes, schedule);
    }
    if (found != NO_KEY)
        keys->last = found;
    gpuaes_cleanse(bytes, sizeof bytes);
    return found;
}

void batch_keys_trim(struct batch_keys *keys)
{
    if (keys->count <= KEPT)
        return;
    gpuaes_cleanse(keys->key, keys->count * sizeof *keys->key);
    memset(keys->table, 0, keys->table_size * sizeof *keys->table);
    keys->count = 0;
}
