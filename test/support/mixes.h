/*
 * Mixes of messages for batches: random modes, keys, lengths and places in two
 * regions of memory, and what libcrypto makes of them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_MIXES_H
#define GPUAES_TEST_MIXES_H

#include "test/support/library.h"

enum { MIX_MOST = 600, MIX_KEYS = 5 };
/* Blocks of CBC encryption in one launch. Some messages have about as many, where they may. */
enum { MIX_STEP = 16384 };

enum { MIX_IV = 40, MIX_AAD = 100 };

struct mix_message {
    enum gpuaes_op op;
    size_t key_bytes, at, len;
    unsigned char key[64], iv[MIX_IV];
    size_t iv_bytes, aad_bytes, tag_bytes; /* of GCM */
    unsigned char aad[MIX_AAD], tag[16];
    int wrong; /* it is decrypted, and not authentic */
};

struct mix {
    int in_kind, out_kind, in_place;
    size_t count, bytes; /* of the messages; of a region */
    struct mix_message message[MIX_MOST];
    unsigned char *in, *out;         /* the regions */
    unsigned char *plain, *expected; /* what is in them, before and afterwards */
    unsigned char (*tags)[16];       /* that are given, or got */
};

/* What a mix is made of. */
struct mix_rules {
    int in_kind, out_kind, in_place;
    size_t count, longest; /* messages; blocks of one */
    int op;                /* of all; < 0: any */
    int keys;              /* how many there are; 0: each has its own */
    int aligned;           /* no gaps between the messages, and only whole blocks */
    int wrong;             /* some are not authentic */
    size_t exact;          /* bytes of each message; 0: any */
};

void mix_message(struct mix_message *m, const struct mix_rules *rules,
                 unsigned char keys[MIX_KEYS][64]);
struct gpuaes_batch *open_batch(void);

/* 0 where there is no memory of that kind. */
int mix_make(struct mix *mix, const struct mix_rules *rules);
void mix_free(struct mix *mix);

/* Input, and output that is equal to it outside of the messages. */
void mix_fill(const struct mix *mix);
enum gpuaes_status mix_add_one(struct gpuaes_batch *batch, const struct mix *mix, size_t i);

/* Adds all; 1 if all are accepted. */
int mix_add(struct gpuaes_batch *batch, const struct mix *mix);

/* 1 if all messages and what is between them are right. */
int mix_is_right(const struct mix *mix);

/* 1 if message `i` is done and has no tag, or the right one. */
int mix_tag_is_right(const struct mix *mix, size_t i);

/* The statuses of all messages from number `first` on. */
int mix_has_status(const struct gpuaes_batch *batch, const struct mix *mix, size_t first,
                   enum gpuaes_status status);

#endif
