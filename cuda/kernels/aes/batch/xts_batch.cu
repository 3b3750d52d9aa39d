/*
 * Data units of XTS in batches, IEEE Std 1619 sections 5.3 and 5.4: their tweaks, and ciphertext
 * stealing, after which the batch kernels run the whole blocks that are left. See arguments.h.
 *
 * Timing does not depend on data or keys: lookups are to the lane's own bank.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/batch/xts_batch.cuh"
#include "cuda/kernels/aes/xts/xts_tweak.cuh"

static __device__ __forceinline__ aes_state decrypt_by(uint32_t lane, uint32_t rounds,
                                                       const key_at &key, aes_state s)
{
    if (rounds == 10)
        return decrypt_block<1, 10>(lane, s, key);
    return decrypt_block<1, 14>(lane, s, key);
}

/*
 * Times x^blocks, for each lane of a converged warp that takes part: one after the other, since a
 * warp multiplies together.
 */
static __device__ __forceinline__ aes_state move_each(aes_state t, uint32_t blocks, bool takes_part)
{
    aes_state moved = {};
#pragma unroll 1
    for (uint32_t left = __ballot_sync(ALL_LANES, takes_part); left != 0; left &= left - 1) {
        uint32_t lane = static_cast<uint32_t>(__popc((left & (0 - left)) - 1));
        uint32_t distance = __shfl_sync(ALL_LANES, blocks, static_cast<int>(lane));
        aes_state m = times_x(move_by_rows(shuffle(t, lane), distance / LANES), distance % LANES);
        if (threadIdx.x % LANES == lane)
            moved = m;
    }
    return moved;
}

/*
 * The last whole block of a unit, which is number `blocks` and has `tweak`, and the `rest` bytes
 * behind it. Decryption takes their two tweaks in the opposite order.
 */
static __device__ __forceinline__ void steal(uint32_t lane, const device_batch_arguments &a,
                                             const aes_batch_message &text, uint32_t rest,
                                             aes_state tweak)
{
    uint64_t at = uint64_t{text.blocks} * 16;
    aes_state end = load_part(text.in + at + 16, rest), s = load_part(text.in + at, 16);
    key_at key = schedule_of(a.gcm, text.key);
#pragma unroll 1
    for (uint32_t pass = 0; pass < 2; pass++) {
        aes_state t = pass == (a.decrypts != 0 ? 0 : 1) ? times_x(tweak, 1) : tweak;
        s = a.decrypts != 0 ? decrypt_by(lane, a.gcm.rounds, key, s ^ t)
                            : encrypt_by(lane, a.gcm.rounds, key, s ^ t);
        s = s ^ t;
        if (pass == 0) {
            store_part(text.out + at + 16, rest, s);
            s = s ^ first_bytes(s, rest) ^ end;
        }
    }
    store_part(text.out + at, 16, s);
}

extern "C" __global__ void __launch_bounds__(256)
    xts_batch_begin(const __grid_constant__ device_batch_arguments a)
{
    uint32_t n = blockIdx.x * blockDim.x + threadIdx.x, lane = lane_address();
    uint32_t rest = 0, blocks = 0;
    aes_batch_message *text = reinterpret_cast<aes_batch_message *>(a.text) + n;
    aes_state tweak = {};
    fill_tables<1>(constant_tables.te);
    if (n < a.gcm.count && reinterpret_cast<const uint32_t *>(a.status)[n] == 0) {
        rest = static_cast<uint32_t>(reinterpret_cast<const uint64_t *>(a.bytes)[n] % 16);
        blocks = text->blocks;
        tweak = load_part(reinterpret_cast<const uint64_t *>(a.iv)[n], 16);
        tweak = encrypt_by(lane, a.gcm.rounds, tweak_schedule_of(a, text->key), tweak);
        store_words(text->iv, tweak);
    }
    tweak = move_each(tweak, blocks, rest != 0);
    if (a.decrypts != 0) {
        __syncthreads();
        fill_tables<1>(constant_tables.td);
    }
    if (rest != 0)
        steal(lane, a, *text, rest, tweak);
}
KERNEL(xts_batch_begin)
