/*
 * Random numbers: the keystream of AES-256-CTR, or what is made of it, written without reading.
 * See struct random_arguments.
 *
 * Round keys come from shared memory, where the first warp of each block of threads expands the raw
 * key. Kernels of CTR have them in parameters, which costs nothing, but the driver keeps a copy of
 * those. A lane takes several blocks at a time, so that a round key is loaded once for all of them:
 * the shared-memory port is what bounds these kernels.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/aes_modes.cuh"
#include "cuda/kernels/aes/message/message_key.cuh"
#include "cuda/kernels/aes/random/random_elements.cuh"

enum { RANDOM_ROUNDS = 14, RANDOM_ROWS = 4 };

struct random_schedule {
    const uint4 *words;
};

static __device__ __forceinline__ aes_state round_key(const random_schedule &schedule, int round)
{
    return to_state(schedule.words[round]);
}

/*
 * Fills tables, then the schedule, which the lanes of a warp all make, each by its own copy of the
 * table. To load the key before would cost registers, and so blocks of threads at once.
 */
template <int TABLES>
static __device__ __forceinline__ random_schedule begin_random(const random_arguments &a)
{
    uint4 *words = reinterpret_cast<uint4 *>(shared_words + TABLES * (AES_TABLE_SHARED / 4));
    fill_tables<TABLES>(constant_tables.te); /* with a barrier */
    if (threadIdx.x < LANES) {
        key_words<RANDOM_ROUNDS - 6> key;
        key.load(a.key);
        const table_sbox<TABLES> sbox = {lane_address()};
        uint32_t constant = 1;
#pragma unroll
        for (int round = 0; round <= RANDOM_ROUNDS; round++) {
            key.make(sbox, round, constant);
            if (threadIdx.x == 0)
                words[round] = to_vector(key.round_key(round));
        }
    }
    __syncthreads();
    return {words};
}

extern "C" __global__ void __launch_bounds__(256)
    random_small(const __grid_constant__ random_arguments a)
{
    random_schedule schedule = begin_random<1>(a);
    uint32_t lane = lane_address();
#pragma unroll 1
    for (uint64_t first = warp_number() * LANES; first < a.blocks; first += warps() * LANES) {
        aes_state s = counter_block(advance(first_counter(a.counter), first + threadIdx.x % LANES));
        store_row(a, first, encrypt_block<1, RANDOM_ROUNDS>(lane, s, schedule));
    }
}
KERNEL(random_small)

/* Runs rounds 3 to the last on several states. */
template <int TABLES>
static __device__ __forceinline__ void encrypt_rows(uint32_t lane, aes_state s[RANDOM_ROWS],
                                                    const random_schedule &schedule)
{
#pragma unroll 1
    for (int round = 3; round < RANDOM_ROUNDS; round++) {
        aes_state key = round_key(schedule, round);
#pragma unroll
        for (int row = 0; row < RANDOM_ROWS; row++)
            s[row] = encrypt_round<TABLES>(lane, s[row], key);
    }
    aes_state key = round_key(schedule, RANDOM_ROUNDS);
#pragma unroll
    for (int row = 0; row < RANDOM_ROWS; row++)
        s[row] = encrypt_last<TABLES>(lane, s[row], key);
}

/* By tiles of 256 counters: see aes_modes.cuh. */
extern "C" __global__ void __launch_bounds__(1024)
    random_large(const __grid_constant__ random_arguments a)
{
    random_schedule schedule = begin_random<4>(a);
    uint32_t lane = lane_address();
    uint32_t skipped = a.counter[3] >> 24; /* counters of tile 0 before ours */
    counter base = first_counter(a.counter);
    base.low -= skipped;
    uint64_t tiles = (a.blocks + skipped + 255) / 256;
#pragma unroll 1
    for (uint64_t n = warp_number(); n < tiles; n += warps()) {
        ctr_tile t = begin_tile<4>(lane, advance(base, n * 256), schedule);
        uint64_t begin = n * 256 - skipped; /* wraps before the first block */
#pragma unroll 1
        for (uint32_t j = 0; j < 256; j += RANDOM_ROWS * LANES) {
            aes_state s[RANDOM_ROWS];
#pragma unroll
            for (uint32_t row = 0; row < RANDOM_ROWS; row++)
                s[row] = after_round2<4>(lane, t, j + row * LANES + threadIdx.x % LANES);
            encrypt_rows<4>(lane, s, schedule);
            /* One copy of what stores: the rows take turns in the first place. */
#pragma unroll 1
            for (uint32_t row = 0; row < RANDOM_ROWS; row++) {
                store_row(a, begin + j + row * LANES, s[0]);
#pragma unroll
                for (int next = 1; next < RANDOM_ROWS; next++)
                    s[next - 1] = s[next];
            }
        }
    }
}
KERNEL(random_large)
