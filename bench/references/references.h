/*
 * Kernels as published work had them, to compare figures with: AES in CTR mode
 * with its tables in each kind of memory, bare reads of each, and the expansion of
 * keys. They are not how AES should be done today: the time of most of them depends on
 * key and data, which is why the library has none of them.
 *
 * Included by C host code, by nvcc and by the emulator's C++: plain types only.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_REFERENCES_H
#define GPUAES_BENCH_REFERENCES_H

#include <stdint.h>

/*
 * extern "C" void reference_ctr_MEMORY_SHAPE_ROUNDS(const struct reference_ctr_arguments),
 * ROUNDS 10 or 14. MEMORY_SHAPE says where the T-tables are, and how many words each of
 * them has, in shared memory, which is dynamic:
 *   constant_1, constant_4      constant memory: one table and rotations, or four
 *   read_only_1, read_only_4    device memory, by loads that take it for read-only: what
 *                               texture memory was; both are served by the L1 cache today
 *   shared_1, shared_4          shared memory, filled by each block of threads
 *   shared_1x16, shared_1x32    one table, so many copies, each in banks of its own
 *   expand_4                    as shared_4, and the schedule behind it in shared memory:
 *                               the first thread of each block expands the key
 * A thread takes a block of data, and with a smaller grid one grid's threads on, and so on.
 * Counter and round keys are in constant memory, where parameters are. `in` and `out` are
 * aligned to 16, the same or disjoint. Any grid, blocks of one dimension.
 */
enum {
    REFERENCE_TABLE = 1024, /* bytes */
    REFERENCE_SCHEDULE = 240
};
struct reference_ctr_arguments {
    uint64_t in, out;
    uint64_t blocks;
    uint64_t counter[2];    /* the high half first, most significant bit first */
    uint32_t round_key[60]; /* little-endian words; expand_4: the key itself */
};

/*
 * extern "C" void reference_reads_MEMORY_WORDS(const struct reference_reads_arguments)
 * MEMORY constant, shared or read_only, WORDS 256 or 1024 of a table that tells for each
 * word which one comes next; reference_reads_own_bank_256: shared memory, each lane with
 * a copy in its bank. Each thread goes REFERENCE_CHAINS ways at once of `steps` each, a
 * multiple of REFERENCE_UNROLL, and adds up the numbers of the words where they end into
 * its word of `out`. Any grid, blocks of one dimension.
 */
enum { REFERENCE_CHAINS = 4, REFERENCE_UNROLL = 8 };
struct reference_reads_arguments {
    uint64_t out;
    uint32_t steps;
    uint32_t coherent; /* all lanes go the same ways; else each its own */
};

#ifdef __cplusplus
#define REFERENCE_FUNCTION static __host__ __device__ constexpr
#else
#define REFERENCE_FUNCTION static inline
#endif

/*
 * The word that a way comes through as its `position`, of a power of 2: each once, in
 * no order that banks would show. The words of a table are one single cycle.
 */
REFERENCE_FUNCTION uint32_t reference_word(uint32_t position, uint32_t words)
{
    uint32_t x = position & (words - 1);
    for (int i = 0; i < 3; i++) {
        x = (x * 0x9e3779b1u + 0x3c6ef372u) & (words - 1);
        x ^= x >> 5;
    }
    return x;
}

/* The position in which a way begins. */
REFERENCE_FUNCTION uint32_t reference_start(uint32_t thread, uint32_t chain, uint32_t coherent)
{
    uint32_t x = (coherent != 0 ? 0 : thread * REFERENCE_CHAINS) + chain;
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

/*
 * extern "C" void reference_base64_scalar(const struct reference_base64_arguments)
 * extern "C" void reference_base64_vector(const struct reference_base64_arguments)
 * Encode with a table of 64 characters in constant memory, padding where the input
 * ends: a group of 3 bytes a thread, by single bytes; or four groups, by words and one
 * vector, for which `in` is aligned to 4 and `out` to 16. A grid of one dimension with
 * as many threads as there are groups, or fours of them.
 */
enum { REFERENCE_BASE64_FOUR = 4 };
struct reference_base64_arguments {
    uint64_t in, out;
    uint64_t bytes; /* of input */
};

/*
 * extern "C" void limit_nothing(const struct limit_arguments): the least time of a launch.
 * extern "C" void limit_shared_port(const struct limit_arguments)
 * Each thread loads LIMIT_LOADS words a round from shared memory, each lane of a
 * warp out of its own bank, as the lookups of the AES kernels do. Best: two blocks
 * of 1024 threads a multiprocessor, no dynamic shared memory, some thousand rounds.
 * Both are for the reference lines of figures, and not on the emulator.
 */
enum { LIMIT_LOADS = 64 };
struct limit_arguments {
    uint32_t rounds;
};

#endif
