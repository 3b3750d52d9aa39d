/*
 * XTS of whole blocks: ECB between two additions of a tweak. `iv` is the encrypted tweak, that of
 * the first block.
 *
 * A warp takes rows of 32 blocks that follow each other, so that its tweaks do, and are shifted by
 * a word from row to row.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/aes_kernels.cuh"
#include "cuda/kernels/aes/xts/xts_tweak.cuh"

/* As for ECB, the first input is on its way while the tables are filled. */
template <int TABLES, int ROUNDS, int DECRYPT>
static __device__ __forceinline__ void xts(const aes_arguments &a)
{
    uint64_t rows = (a.blocks + LANES - 1) / LANES, span = (rows + warps() - 1) / warps();
    uint64_t row = warp_number() * span, end = min(row + span, rows);
    aes_state s = {}, tweak = {};
    if (row < end) {
        s = load_block(a.in, a.blocks, row * LANES + threadIdx.x % LANES);
        tweak = row_tweak(a, row);
    }
    fill_tables<TABLES>(DECRYPT ? constant_tables.td : constant_tables.te);
    uint32_t lane = lane_address();
    while (row < end) {
        s = s ^ tweak;
        s = DECRYPT ? decrypt_block<TABLES, ROUNDS>(lane, s, a)
                    : encrypt_block<TABLES, ROUNDS>(lane, s, a);
        store_blocks(a.out, a.blocks, row * LANES, s ^ tweak);
        tweak = times_x32(tweak);
        if (++row < end)
            s = load_block(a.in, a.blocks, row * LANES + threadIdx.x % LANES);
    }
}

template <int TABLES, int ROUNDS>
static __device__ __forceinline__ void xts_encrypt(const aes_arguments &a)
{
    xts<TABLES, ROUNDS, 0>(a);
}

template <int TABLES, int ROUNDS>
static __device__ __forceinline__ void xts_decrypt(const aes_arguments &a)
{
    xts<TABLES, ROUNDS, 1>(a);
}

/* Names: aes_xts_{encrypt,decrypt}_SIZE_ROUNDS. */
#define XTS_KERNELS(mode, rounds)                                                                  \
    AES_KERNEL(mode, small, 256, rounds, 1, mode)                                                  \
    AES_KERNEL(mode, two_table, 1024, rounds, 2, mode)

XTS_KERNELS(xts_encrypt, 10)
XTS_KERNELS(xts_encrypt, 12)
XTS_KERNELS(xts_encrypt, 14)
XTS_KERNELS(xts_decrypt, 10)
XTS_KERNELS(xts_decrypt, 12)
XTS_KERNELS(xts_decrypt, 14)
