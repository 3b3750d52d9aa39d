/*
 * What the host passes to kernels by value, and their names.
 *
 * Included by C host code, by nvcc and by the emulator's C++: plain types only.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_KERNELS_COMMON_ARGUMENTS_H
#define GPUAES_CUDA_KERNELS_COMMON_ARGUMENTS_H

#include <stdint.h>

/*
 * AES kernels: extern "C" void NAME(const struct aes_arguments). The struct is
 * a __grid_constant__ parameter: round keys become constant-bank operands, and
 * no copy of them is left in device memory.
 *
 * `in` and `out` are device addresses of any alignment, the same or without
 * overlap. CTR with in == 0 writes the bare keystream.
 *
 * CBC needs the ciphertext block before each, which in place may be overwritten
 * by another warp: `chain`, if it is not 0, is an array that cbc_chain has
 * filled with the block that precedes each chunk of AES_CHUNK blocks (the first
 * is the IV), and with one entry more, the last block of `in`; within a chunk a
 * warp keeps what it needs. With chain == 0 the kernels read `in` and `iv`, and
 * `in` and `out` must not overlap.
 */
struct aes_arguments {
    uint64_t in, out;
    uint64_t blocks;
    uint64_t chain;         /* aligned to 16, AES_CHAIN_BYTES(blocks) */
    uint64_t iv_at;         /* cbc_chain: where the IV is, if not 0 (then `iv` is not used) */
    uint64_t next;          /* cbc_chain: where the last block goes, if not 0; may be iv_at */
    uint32_t iv[4];         /* as loaded from memory, little-endian words */
    uint32_t round_key[60]; /* 4 * (rounds + 1) used */
};

enum { AES_CHUNK = 256 };
#define AES_CHAIN_BYTES(blocks) ((((blocks) + AES_CHUNK - 1) / AES_CHUNK + 1) * 16)

/*
 * extern "C" void cbc_chain(const struct aes_arguments)
 * Fills `chain` before a CBC kernel runs: reads `iv_at` before it writes `next`
 * (both aligned to 16). Any grid, blocks of one dimension.
 */

/*
 * Hybrid kernels: extern "C" void NAME(const struct aes_hybrid_arguments).
 * `planes` are the round keys of rounds 0 to rounds - 1 as bit planes: byte c of
 * planes[round][8 * row + bit] is 0xff where that bit of column c is set.
 */
struct aes_hybrid_arguments {
    struct aes_arguments aes;
    uint32_t planes[14][32];
};

/*
 * GCM kernels are CTR kernels that hash, too: extern "C" void NAME(const struct aes_gcm_arguments)
 * or, hybrid, NAME(const struct aes_gcm_hybrid_arguments). Of the counter, 32 bits count (SP
 * 800-38D section 6.2): no launch may pass their end. `aes.in` is not 0. The hash is
 *   (hash before + first block) * H^blocks + second block * H^(blocks - 1) + ... + last block * H,
 * and the sum of what the blocks of the grid leave, an element each.
 * Elements are the big-endian numbers of blocks, the low word first; factors are elements
 * multiplied by x, see ghash.cuh.
 */
struct ghash_sums {
    uint64_t own;       /* elements[blocks of the grid], aligned to 16 as is `before` */
    uint64_t before;    /* elements[count], whose sum is the hash before */
    uint64_t factor[2]; /* H^blocks, where `count` is not 0 */
    uint32_t count, unused;
};
enum { GHASH_SQUARES = 24 };
struct ghash_arguments {
    struct ghash_sums sums;
    uint64_t row[2];  /* H^(distance from the block that the thread hashes before) */
    uint64_t tile[2]; /* the same, where that is of another tile of 256 counters */
    uint64_t squares[GHASH_SQUARES][2]; /* H^(2^number) */
    uint32_t levels, unused;            /* 16^levels is more than any of these distances */
};
enum { GHASH_LEVELS = 5, GHASH_POWERS = 256, GHASH_STEPS = 9 };
enum { GHASH_DISTANCE = 256 }; /* of the blocks of a run */
struct ghash_hybrid_arguments {
    struct ghash_sums sums;
    uint64_t powers; /* device: factors[levels][GHASH_POWERS], H^(number * GHASH_POWERS^level) */
    uint64_t step[GHASH_STEPS][2]; /* H^(GHASH_DISTANCE * 0, 1 ... 8) */
    uint32_t levels, unused;       /* GHASH_POWERS^levels is more than the blocks */
};
struct aes_gcm_arguments {
    struct aes_arguments aes;
    struct ghash_arguments hash;
};
struct aes_gcm_hybrid_arguments {
    struct aes_hybrid_arguments hybrid;
    struct ghash_hybrid_arguments hash;
};

/*
 * extern "C" void ghash_powers(const struct ghash_powers_arguments)
 * Fills `powers` for a hybrid kernel. Any grid, blocks of one dimension and up to GHASH_POWERS
 * threads.
 */
struct ghash_powers_arguments {
    uint64_t powers;
    uint64_t base[GHASH_LEVELS][2]; /* H^(GHASH_POWERS^level) */
    uint32_t levels, unused;
};

/*
 * extern "C" void gcm_rest(const struct gcm_rest_arguments)
 * Encrypts or decrypts the 1 to 15 bytes behind the last whole block of a text. One block of 32
 * threads.
 */
struct gcm_rest_arguments {
    uint64_t in, out;    /* of any alignment, the same or without overlap */
    uint64_t ciphertext; /* where the ciphertext goes for the hash: 16 bytes, zeros behind it */
    uint32_t keystream[4];
    uint32_t bytes, decrypts;
};

/*
 * Dynamic shared memory in bytes. A table has 256 words, 32 copies each, so that
 * every lane has its own bank. Hybrid: as large, a queue, and for each warp a cache.
 */
enum {
    AES_TABLE_SHARED = 256 * 4 * 32,
    AES_SMALL_SHARED = AES_TABLE_SHARED,
    AES_TWO_TABLE_SHARED = 2 * AES_TABLE_SHARED,
    AES_LARGE_SHARED = 4 * AES_TABLE_SHARED,
    AES_HYBRID_WARP_SHARED = 1024 + 128,
    AES_HYBRID_QUEUE_SHARED = 16
};

/*
 * Names: aes_{ecb_encrypt,ecb_decrypt,cbc_decrypt,ctr}_SIZE_{10,12,14}, with SIZE
 * small, two_table or hybrid; not every architecture has hybrid, nor has XTS
 * (xts_encrypt, xts_decrypt), whose `iv` is the encrypted tweak of the first block.
 */

/*
 * Messages that arrays in device memory describe: struct gpuaes_messages of gpuaes.h. extern "C"
 * void message_KIND_SIZE_ROUNDS(const struct message_arguments), KIND ctr, gcm, encrypt or decrypt
 * (of ECB, CBC, XTS) with one key, or those with _raw with a raw key for each message; SIZE
 *
 *   large   four tables, and pieces of MESSAGE_LARGE_PIECE blocks;
 *   middle  four tables, and pieces of MESSAGE_SMALL_PIECE blocks;
 *   small   one table, and pieces of MESSAGE_SMALL_PIECE blocks.
 *
 * A launch does all of the messages: it reads the arrays, encrypts, hashes, makes or compares tags,
 * writes statuses and zeros the output of messages that are not OK.
 *
 * Without `plan` the grid has count / per_block blocks, rounded up, and a message's segments lie in
 * one of them: per_block * segments is at most the threads of a block. With `plan`, one block a
 * multiprocessor, behind message_plan on the stream, whose grid has count / (threads *
 * MESSAGE_TILE) blocks, and before which *plan is zero. CBC decryption in several segments has
 * message_chain between these, any grid.
 *
 * Of CTR with one key and a plan also extern "C" void message_ctr_hybrid_ROUNDS(const struct
 * message_hybrid_arguments), blocks of up to MESSAGE_HYBRID_THREADS threads. MESSAGE_TABLES_OF of
 * their warps look tables up, with MESSAGE_SMALL_PIECE; others have MESSAGE_LARGE_PIECE.
 *
 * Shared memory: the tables, of `decrypt` MESSAGE_SBOX_SHARED, MESSAGE_ROWS_SHARED for each warp;
 * of GCM also MESSAGE_HASH_SHARED, and MESSAGE_REST_SHARED for each warp. message_plan has
 * MESSAGE_CLASSES + 34 words.
 */
enum message_mode {
    MESSAGE_ECB,
    MESSAGE_CBC,
    MESSAGE_XTS, /* from here on, a text may end with a part of a block */
    MESSAGE_CTR,
    MESSAGE_GCM
};
enum {
    MESSAGE_LARGE_THREADS = 640, /* each thread may have 96 registers */
    MESSAGE_SMALL_THREADS = 512,
    MESSAGE_LARGE_PIECE = 8, /* blocks that a lane has in shared memory at a time */
    MESSAGE_SMALL_PIECE = 4,
    MESSAGE_HYBRID_THREADS = 896,
    MESSAGE_TABLE_WARPS = 20, /* of so many threads of a hybrid kernel; others are bitsliced */
    MESSAGE_SBOX_SHARED = 256 / 4 * 4 * 32,
    MESSAGE_HASH_SHARED = 16,
    MESSAGE_REST_SHARED = 32 * 16,
    MESSAGE_CLASSES = 1024, /* of lengths */
    MESSAGE_TILE = 2,       /* messages of a thread of message_plan */
    MESSAGE_AAD_MOST = 1 << 16
};
#define MESSAGE_TABLES_OF(warps) ((warps)*MESSAGE_TABLE_WARPS / (MESSAGE_HYBRID_THREADS / 32))
/* Of a warp: a row for each lane, of a piece and one granule. */
#define MESSAGE_ROWS_SHARED(piece) (((piece) + 1) * 16 * 32)
struct message_queue {
    unsigned long long full; /* full segments; 32 bits higher, messages that have some */
    uint32_t taken;          /* groups of 32 segments */
    uint32_t unused;
};
/* Messages with full segments, in the order of these. */
struct message_full {
    uint32_t begin; /* full segments before those of this message */
    uint32_t message;
};
struct message_sum {
    uint32_t hash[4]; /* of GCM: of the segments so far, an element */
    uint32_t blocks;  /* of the segments so far, where the last one counts as a full one */
    uint32_t begin;   /* as in message_full */
    uint32_t unused[2];
};
struct message_arguments {
    /* The caller's arrays, each with an element for each message; 0: there is none. */
    uint64_t in, out, bytes, iv, aad, aad_bytes, tag, status;
    uint64_t keys;      /* _raw: addresses of keys; or */
    uint64_t key_table; /* keys without gaps, and */
    uint64_t key_index; /* a number for each message; 0: message n has key n */
    /* Temporary memory; 0: there is none. */
    uint64_t plan;  /* struct message_queue, aligned to 16 as is all of this */
    uint64_t order; /* uint32_t[count] */
    uint64_t full;  /* struct message_full[count], where messages have more than one segment */
    uint64_t sums;  /* struct message_sum[count], there */
    uint64_t chain; /* of CBC decryption: a block for each full segment */
    uint32_t count, key_count;
    uint32_t max_bytes; /* of a text */
    uint32_t key_bytes, iv_bytes, tag_bytes;
    uint32_t segment;             /* blocks */
    uint32_t least_part;          /* blocks of a part of a full one, 2^n of it; 0: no parts */
    uint32_t segments, per_block; /* without a plan */
    uint32_t op, mode;            /* of the host; enum message_mode */
    uint32_t decrypts;
    uint32_t bad_argument, bad_tag; /* enum gpuaes_status */
    uint32_t round_key[60];         /* one key, in the order of use */
    uint32_t tweak_key[60];         /* of XTS, for encryption */
};
struct message_hybrid_arguments {
    struct message_arguments message;
    uint32_t planes[14][32]; /* as in aes_hybrid_arguments */
};

/*
 * Random numbers: extern "C" void random_SIZE(const struct random_arguments), SIZE small or large.
 * Block `n` of the keystream is counter block `counter` + n, encrypted by AES-256; see enum
 * gpuaes_random_kind for what becomes of it. Elements `first` to `end` - 1 are written, counted
 * from the first one of block 0, in which `first` lies; element `first` goes to `out`. Any grid,
 * blocks of one dimension and whole warps. Shared memory: the tables, and RANDOM_KEY_SHARED for the
 * schedule, which each block of threads makes of the raw key: the driver keeps a copy of
 * parameters, and none of device memory. Timing does not depend on key or numbers: a lane reads
 * tables in its own bank. But for normal numbers: a square root near 0 takes longer.
 */
enum random_kind {
    RANDOM_BYTES,
    RANDOM_UNIFORM32,
    RANDOM_UNIFORM64,
    RANDOM_NORMAL32,
    RANDOM_NORMAL64,
    RANDOM_RANGE,
    RANDOM_BERNOULLI,
    RANDOM_UNIFORM_FLOAT16,
    RANDOM_UNIFORM_BFLOAT16,
    RANDOM_NORMAL_FLOAT16,
    RANDOM_NORMAL_BFLOAT16,
    RANDOM_RANGE_FLOAT16,
    RANDOM_RANGE_BFLOAT16,
    RANDOM_RANGE_FLOAT32,
    RANDOM_RANGE_FLOAT64
};
enum { RANDOM_KEY_SHARED = 4 * 60 };
#define RANDOM_WORD_RANGE ((uint64_t)1 << 32) /* an integer of more takes a block */
struct random_arguments {
    uint64_t out; /* aligned to an element */
    uint64_t key; /* 32 bytes */
    uint64_t blocks;
    uint64_t first, end;
    uint32_t counter[4];    /* as loaded from memory, little-endian words */
    uint32_t kind;          /* enum random_kind */
    uint32_t element_bytes; /* from RANGE on */
    uint64_t range, low;    /* RANGE: a range of 0 is 2^64; other kinds: range is 0 */
    uint64_t threshold;     /* BERNOULLI: for 63 bits of a word; */
    uint64_t success;       /* what is written below it */
    double scale64, shift64;
    float scale32, shift32;
};

/*
 * extern "C" void base64_encode(const struct base64_encode_arguments)
 * `in` and `out` at any alignment; nothing outside of the two ranges is written,
 * nor outside of the aligned words that hold input read. Encodes `bytes`, with
 * padding where they end, into exactly `characters`, which are those of
 * gpuaes_base64_encoded_size(bytes, line_length). The output begins a line. A
 * part of a longer text must end at a multiple of 3 bytes, with lines at a
 * line's end. Any grid, blocks of one dimension; each thread makes 16
 * characters at a time, and one at a time where a line has less than 16.
 */
struct base64_encode_arguments {
    uint64_t in, out;
    uint64_t bytes;       /* of input, all of it: groups of 3 and a tail of 0 to 2 */
    uint64_t characters;  /* of output, line ends included */
    uint64_t reciprocal;  /* UINT64_MAX / (line_length + 1) */
    uint32_t line_length; /* 0: no lines; else a multiple of 4 */
};

/*
 * extern "C" void base64_decode(const struct base64_decode_arguments)
 * `in` and `out` at any alignment, as for base64_encode; `quads` of 4 characters
 * each, no padding. The offset of the first wrong character, or UINT64_MAX, is
 * left in *error (device address of a uint64_t that the host has set to UINT64_MAX).
 */
struct base64_decode_arguments {
    uint64_t in, out;
    uint64_t quads;
    uint64_t error;
};

#endif
