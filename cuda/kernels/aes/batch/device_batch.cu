/*
 * Messages that the application describes in device memory: what is in its arrays becomes what the
 * kernels of batches read. See arguments.h.
 *
 * Timing does not depend on data or keys: lookups are to the lane's own bank, and which keys are
 * read depends on their numbers, which are public.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/batch/xts_batch.cuh"

/* ---- Keys ------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(256)
    device_keys_gather(const __grid_constant__ device_keys_arguments a)
{
    uint32_t stride = gridDim.x * blockDim.x;
    uint32_t each = a.pairs != 0 ? 2 : 1;
    for (uint32_t n = blockIdx.x * blockDim.x + threadIdx.x; n < a.count * each; n += stride) {
        bool is_second = n >= a.count;
        uint64_t place = is_second ? (n - a.count) * uint64_t{2} + 1 : uint64_t{n} * each;
        const unsigned char *from =
            reinterpret_cast<const unsigned char *>(a.from) + place * a.words * 4;
        aes_batch_key *key = reinterpret_cast<aes_batch_key *>(a.keys) + n;
        for (uint32_t w = 0; w < a.words; w++, from += 4)
            key->words[w] = from[0] | static_cast<uint32_t>(from[1]) << 8 |
                            static_cast<uint32_t>(from[2]) << 16 |
                            static_cast<uint32_t>(from[3]) << 24;
        key->rounds = a.words + 6;
        key->decrypts = is_second ? 0 : a.decrypts;
        key->hashes = a.hashes;
    }
}
KERNEL(device_keys_gather)

/* ---- Elements of the application's arrays ------------------------------------------- */

static __device__ __forceinline__ uint64_t element(uint64_t array, uint32_t n)
{
    return array != 0 ? reinterpret_cast<const uint64_t *>(array)[n] : 0;
}

/* What the arrays say of a message. */
struct described {
    uint64_t bytes, aad_bytes;
    uint32_t key;
    bool is_good;
};

static __device__ __forceinline__ described read_message(const device_batch_arguments &a,
                                                         uint32_t n)
{
    described d = {element(a.bytes, n), element(a.aad_bytes, n), 0, true};
    if (a.key != 0)
        d.key = reinterpret_cast<const uint32_t *>(a.key)[n];
    bool is_whole = a.mode >= AES_BATCH_XTS || d.bytes % 16 == 0;
    d.is_good =
        is_whole && d.bytes <= a.max_bytes && d.aad_bytes <= a.max_aad && d.key < a.gcm.key_count;
    if (a.mode == AES_BATCH_XTS && d.is_good)
        d.is_good = d.bytes >= 16 && !has_equal_keys(a, d.key);
    return d;
}

/* ---- Sums over tiles ------------------------------------------------------------------- */

/* The sum of what the threads before this one have, of all in *total. Called by all of a block. */
static __device__ __forceinline__ uint32_t add_before(uint32_t own, uint32_t *words,
                                                      uint32_t *total)
{
    uint32_t sum = own;
    __syncthreads();
    words[threadIdx.x] = own;
    __syncthreads();
#pragma unroll 1
    for (uint32_t distance = 1; distance < blockDim.x; distance *= 2) {
        if (threadIdx.x >= distance)
            sum += words[threadIdx.x - distance];
        __syncthreads();
        words[threadIdx.x] = sum;
        __syncthreads();
    }
    *total = words[blockDim.x - 1];
    return sum - own;
}

static __device__ __forceinline__ uint32_t *first_blocks(const device_batch_arguments &a)
{
    return reinterpret_cast<uint32_t *>(a.first);
}

static __device__ __forceinline__ uint32_t *first_chunks(const device_batch_arguments &a)
{
    return reinterpret_cast<uint32_t *>(a.gcm.first);
}

static __device__ __forceinline__ uint2 *tile_sums(const device_batch_arguments &a)
{
    return reinterpret_cast<uint2 *>(a.tiles);
}

/* Writes what is before each message of the tile, and what all have. */
static __device__ __forceinline__ void sum_tile(const device_batch_arguments &a, uint32_t n,
                                                uint32_t blocks, uint32_t chunks, uint32_t *words)
{
    uint2 total = {0, 0};
    bool is_only = a.gcm.count <= blockDim.x;
    uint32_t before = add_before(blocks, words, &total.x);
    if (n < a.gcm.count)
        first_blocks(a)[n] = before;
    if (a.mode == AES_BATCH_GCM) {
        before = add_before(chunks, words, &total.y);
        if (n < a.gcm.count)
            first_chunks(a)[n] = before;
    }
    if (threadIdx.x != 0)
        return;
    tile_sums(a)[blockIdx.x] = total;
    if (!is_only)
        return;
    first_blocks(a)[a.gcm.count] = total.x;
    if (a.mode == AES_BATCH_GCM)
        first_chunks(a)[a.gcm.count] = total.y;
}

/* Each block adds up the tiles before its own. */
extern "C" __global__ void __launch_bounds__(256)
    device_batch_place(const __grid_constant__ device_batch_arguments a)
{
    uint32_t tiles = (a.gcm.count - 1) / a.tile + 1;
#pragma unroll 1
    for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        uint2 own = {0, 0}, before;
        for (uint32_t i = threadIdx.x; i < tile; i += blockDim.x)
            own = {own.x + tile_sums(a)[i].x, own.y + tile_sums(a)[i].y};
        add_before(own.x, shared_words, &before.x);
        add_before(own.y, shared_words, &before.y);
        uint32_t n = tile * a.tile + threadIdx.x;
        if (n < a.gcm.count) {
            first_blocks(a)[n] += before.x;
            if (a.mode == AES_BATCH_GCM)
                first_chunks(a)[n] += before.y;
        }
        if (tile + 1 != tiles || threadIdx.x != 0)
            continue;
        first_blocks(a)[a.gcm.count] = before.x + tile_sums(a)[tile].x;
        if (a.mode == AES_BATCH_GCM)
            first_chunks(a)[a.gcm.count] = before.y + tile_sums(a)[tile].y;
    }
}
KERNEL(device_batch_place)

/* ---- Zeros instead of output ---------------------------------------------------------------- */

/* By a whole block of threads. */
static __device__ __forceinline__ void clear_output(const device_batch_arguments &a, uint32_t n)
{
    uint64_t bytes = element(a.bytes, n), from = element(a.out, n);
    uint64_t to = from + (bytes < a.max_bytes ? bytes : a.max_bytes);
    uint64_t begin = min(to, (from + 15) / 16 * 16), end = max(begin, to / 16 * 16);
    for (uint64_t p = from + threadIdx.x; p < begin; p += blockDim.x)
        *reinterpret_cast<unsigned char *>(p) = 0;
    for (uint64_t p = begin + threadIdx.x * 16; p < end; p += blockDim.x * 16)
        *reinterpret_cast<uint4 *>(p) = make_uint4(0, 0, 0, 0);
    for (uint64_t p = end + threadIdx.x; p < to; p += blockDim.x)
        *reinterpret_cast<unsigned char *>(p) = 0;
}

/* Of the messages from `base` on those that are bad, a thread a message; by a whole block. */
static __device__ __forceinline__ void clear_bad(const device_batch_arguments &a, uint32_t base,
                                                 bool is_bad)
{
    uint32_t bad = __ballot_sync(ALL_LANES, is_bad), warp_count = blockDim.x / LANES;
    __syncthreads();
    if (threadIdx.x % LANES == 0)
        shared_words[threadIdx.x / LANES] = bad;
    __syncthreads();
#pragma unroll 1
    for (uint32_t warp = 0; warp < warp_count; warp++)
        for (uint32_t left = shared_words[warp]; left != 0; left &= left - 1)
            clear_output(a, base + warp * LANES +
                                static_cast<uint32_t>(__popc((left & (0 - left)) - 1)));
}

/* ---- Reading ---------------------------------------------------------------------------- */

static __device__ __forceinline__ aes_batch_message &text_at(const device_batch_arguments &a,
                                                             uint32_t n)
{
    return reinterpret_cast<aes_batch_message *>(a.text)[n];
}

/* A message of no blocks has an address, too: some kernels read before they look. */
static __device__ __forceinline__ void write_text(const device_batch_arguments &a, uint32_t n,
                                                  const described &d)
{
    aes_batch_message &text = text_at(a, n);
    text.in = text.out = a.text;
    text.blocks = 0;
    text.key = 0;
    text.mode = a.mode;
    text.after = 0;
    store_words(text.iv, {});
    if (!d.is_good || d.bytes == 0)
        return;
    text.in = element(a.in, n);
    text.out = element(a.out, n);
    text.blocks = static_cast<uint32_t>(d.bytes / 16);
    if (a.mode == AES_BATCH_XTS && d.bytes % 16 != 0) /* xts_batch_begin runs the last one */
        text.blocks--;
    text.key = d.key;
    if (a.mode == AES_BATCH_CBC || a.mode == AES_BATCH_CTR)
        store_words(text.iv, load_part(element(a.iv, n), 16));
}

/* The end of a text in CTR. */
static __device__ __forceinline__ void
run_end_of_ctr(uint32_t lane, const device_batch_arguments &a, uint32_t n, uint32_t rest)
{
    const aes_batch_message &text = text_at(a, n);
    if (rest == 0)
        return;
    batch_message m = {0, 0, load_words(text.iv), 0, 0, AES_BATCH_CTR, 0};
    aes_state counter = counter_block(counter_at(m, text.blocks));
    run_end(text, rest, encrypt_by(lane, a.gcm.rounds, schedule_of(a.gcm, text.key), counter));
}

/* Returns the chunks of what is hashed. */
static __device__ __forceinline__ uint32_t begin_gcm(uint32_t lane, const device_batch_arguments &a,
                                                     uint32_t n, const described &d)
{
    gcm_batch_message &m = reinterpret_cast<gcm_batch_message *>(a.gcm.messages)[n];
    aes_batch_message &text = text_at(a, n);
    uint32_t rest = static_cast<uint32_t>(d.bytes % 16);
    uint32_t aad_bytes = static_cast<uint32_t>(d.aad_bytes);
    uint64_t tag = element(a.tag, n);
    m.iv = element(a.iv, n);
    m.aad = element(a.aad, n);
    m.tag_at = tag;
    m.message = n * static_cast<uint32_t>(sizeof(aes_batch_message));
    m.rest = rest;
    m.aad_bytes = aad_bytes;
    m.iv_bytes = a.iv_bytes == 12 ? 0 : a.iv_bytes;
    m.tag_bytes = a.tag_bytes;
    m.key = text.key = d.key;
    text.after = rest != 0 ? 2 : 1;
    store_words(m.tag, a.gcm.decrypts != 0 ? load_part(tag, a.tag_bytes) : aes_state{});
    if (a.iv_bytes == 12) {
        aes_state iv = load_part(m.iv, 12);
        store_words(text.iv, {iv.c0, iv.c1, iv.c2, swap_bytes(2)});
    }
    begin_message(lane, a.gcm, m, reinterpret_cast<gcm_batch_state *>(a.gcm.states)[n]);
    uint32_t hashed = (aad_bytes + 15) / 16 + text.blocks + (rest != 0 ? 1 : 0) + 1;
    return (hashed - 1) / a.chunk + 1;
}

extern "C" __global__ void __launch_bounds__(256)
    device_batch_read(const __grid_constant__ device_batch_arguments a)
{
    uint32_t n = blockIdx.x * blockDim.x + threadIdx.x, lane = lane_address();
    uint32_t blocks = 0, chunks = 0;
    bool is_refused = false;
    if (a.mode >= AES_BATCH_CTR)
        fill_tables<1>(constant_tables.te);
    if (n == 0)
        *reinterpret_cast<uint32_t *>(a.taken) = 0;
    if (n < a.gcm.count) {
        described d = read_message(a, n);
        /* Until its tag has been compared, no message that is decrypted is authentic. */
        is_refused = !d.is_good;
        uint32_t status = a.gcm.decrypts != 0 ? a.gcm.bad_tag : 0;
        reinterpret_cast<uint32_t *>(a.status)[n] = d.is_good ? status : a.bad_argument;
        write_text(a, n, d);
        blocks = text_at(a, n).blocks;
        if (d.is_good && a.mode == AES_BATCH_CTR)
            run_end_of_ctr(lane, a, n, static_cast<uint32_t>(d.bytes % 16));
        if (d.is_good && a.mode == AES_BATCH_GCM)
            chunks = begin_gcm(lane, a, n, d);
    }
    sum_tile(a, n, blocks, chunks, shared_words + AES_SMALL_SHARED / 4);
    clear_bad(a, blockIdx.x * blockDim.x, is_refused);
}
KERNEL(device_batch_read)

/* ---- The end ------------------------------------------------------------------------------ */

/*
 * Of decryption in GCM: compares the tag, unless gcm_batch_hash has done so; whether it is wrong.
 */
static __device__ __forceinline__ bool is_wrong(const device_batch_arguments &a, uint32_t n)
{
    const uint32_t *status = reinterpret_cast<const uint32_t *>(a.status) + n;
    if (*status == a.bad_argument)
        return false;
    if (a.gcm.text_first != 0) {
        gcm_batch_state &state = reinterpret_cast<gcm_batch_state *>(a.gcm.states)[n];
        finish_message(a.gcm, reinterpret_cast<const gcm_batch_message *>(a.gcm.messages)[n], state,
                       n, {state.hash[0], state.hash[1]});
    }
    return *status != 0;
}

extern "C" __global__ void __launch_bounds__(256)
    device_batch_clear(const __grid_constant__ device_batch_arguments a)
{
    uint32_t stride = gridDim.x * blockDim.x;
#pragma unroll 1
    for (uint32_t base = blockIdx.x * blockDim.x; base < a.gcm.count; base += stride) {
        uint32_t n = base + threadIdx.x;
        bool is_bad = n < a.gcm.count && a.mode == AES_BATCH_GCM && is_wrong(a, n);
        /* The counter of a hashed IV tells the key of the hash; and tweaks are secret. */
        if (n < a.gcm.count)
            store_words(text_at(a, n).iv, {});
        clear_bad(a, base, is_bad);
    }
}
KERNEL(device_batch_clear)
