/*
 * The keys of a batch: each that differs has a number, and is expanded once, if here
 * at all: where messages of one launch have several keys, the device expands them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_BATCH_KEYS_H
#define GPUAES_CUDA_BATCH_KEYS_H

#include "cuda/gpuaes.h"

enum { KEY_BYTES_MOST = 32, HASH_WORDS = KEY_BYTES_MOST / 4 + 1 };
#define NO_KEY UINT32_MAX

struct batch_key {
    unsigned char bytes[KEY_BYTES_MOST]; /* the rest is 0 */
    unsigned rounds, size;               /* place among KEY_SIZES */
    uint32_t schedule;                   /* number of its schedule, from 1; 0: not expanded here */
    uint64_t round;                      /* in which it was last found */
    uint64_t stamp[2]; /* to encrypt, to decrypt: the layout that last placed the key, */
    uint32_t place[2]; /* and its place there */
};

struct batch_keys {
    struct batch_key *key;
    struct gpuaes_key *schedule; /* of those that were needed last */
    uint32_t schedules;
    uint32_t count, room;
    uint32_t used;   /* keys of this round, GPUAES_BATCH_KEYS at most */
    uint64_t round;  /* from 1, one more each time that they are trimmed */
    uint32_t *table; /* numbers plus 1, 0 where there is none; twice `room` and more */
    uint32_t table_size;
    uint32_t last; /* found: messages with one key follow each other */
    uint64_t secret[HASH_WORDS];
};

/* 0 where there is no memory, or no random number. */
int batch_keys_open(struct batch_keys *keys);

/* Cleanses. */
void batch_keys_close(struct batch_keys *keys);

/*
 * The number of a key of 16, 24 or 32 bytes; `schedule` is it expanded, or NULL.
 * NO_KEY where there is no room.
 */
uint32_t batch_keys_find(struct batch_keys *keys, const unsigned char *key, size_t key_bytes,
                         const struct gpuaes_key *schedule);

/* Until it is called again. */
const struct gpuaes_key *batch_keys_schedule(struct batch_keys *keys, uint32_t number);

/* Between rounds: where there are more than may stay, all of them are cleansed. */
enum { BATCH_KEYS_KEPT = 1024 };
void batch_keys_trim(struct batch_keys *keys, uint32_t most);

#endif
