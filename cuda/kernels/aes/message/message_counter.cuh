/*
 * CTR and GCM of messages, NIST SP 800-38A section 6.5 and SP 800-38D: a lane encrypts a segment,
 * and hashes it by Horner's rule; its hash, times the power of H for the blocks behind it, is added
 * to that of the message. The lane that adds the last one makes or compares the tag.
 *
 * Timing does not depend on data or keys: lookups are to the lane's own bank, products are without
 * tables, tags are compared as a whole. An exception: where an IV of GCM has not 12 bytes, the
 * first counter is a hash of it, and its lowest byte decides when rounds are prepared again.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_MESSAGE_COUNTER_CUH
#define GPUAES_KERNELS_MESSAGE_COUNTER_CUH

#include "cuda/kernels/aes/gcm/ghash.cuh"
#include "cuda/kernels/aes/message/message_key.cuh"
#include "cuda/kernels/aes/message/message_stage.cuh"

/* ---- Keystream ---------------------------------------------------------------- */

/* A counter block: words 0 to 2 as loaded, the last one as a number. */
struct counter_words {
    uint32_t c0, c1, c2, low;

    static __device__ __forceinline__ counter_words from(aes_state s)
    {
        return {s.c0, s.c1, s.c2, swap_bytes(s.c3)};
    }

    __device__ __forceinline__ aes_state block() const
    {
        return {c0, c1, c2, swap_bytes(low)};
    }

    /* Adds 1 to what is above the last word. */
    __device__ __forceinline__ void carry()
    {
        c2 = swap_bytes(swap_bytes(c2) + 1);
        if (c2 != 0)
            return;
        c1 = swap_bytes(swap_bytes(c1) + 1);
        if (c1 == 0)
            c0 = swap_bytes(swap_bytes(c0) + 1);
    }

    /* `blocks` further: in CTR all 128 bits count, in GCM the last 32 (inc32, section 6.2). */
    __device__ __forceinline__ void advance(uint32_t blocks, bool is_ctr)
    {
        low += blocks;
        if (is_ctr && low < blocks)
            carry();
    }

    /* One block back, in 128 bits. */
    __device__ __forceinline__ void go_back()
    {
        low--;
        if (low != ~uint32_t{0})
            return;
        c2 = swap_bytes(swap_bytes(c2) - 1);
        if (c2 != ~uint32_t{0})
            return;
        c1 = swap_bytes(swap_bytes(c1) - 1);
        if (c1 == ~uint32_t{0})
            c0 = swap_bytes(swap_bytes(c0) - 1);
    }
};

/*
 * What the first two rounds have in common for counters that differ in their lowest byte: column 0
 * of round 1 without byte 3 of row 3, and round 2 without what depends on that column. A block
 * then takes 5 lookups instead of 32 for them.
 */
template <int TABLES> struct counter_rounds {
    uint32_t key_byte; /* of round key 0: that of the lowest byte, in place */
    uint32_t k0, s0, s1, s2, s3;

    using T = aes_lookup<TABLES>;

    __device__ __forceinline__ void prepare(uint32_t lane, aes_state block, aes_state k0_,
                                            aes_state k1, aes_state k2)
    {
        aes_state s = block ^ k0_;
        key_byte = k0_.c3 & 0xff000000;
        k0 = xor3(T::template table<0>(s.c0, lane), T::template table<1>(s.c1, lane),
                  T::template table<2>(s.c2, lane)) ^
             k1.c0;
        uint32_t t1 = T::column(lane, s.c1, s.c2, s.c3, s.c0, k1.c1);
        uint32_t t2 = T::column(lane, s.c2, s.c3, s.c0, s.c1, k1.c2);
        uint32_t t3 = T::column(lane, s.c3, s.c0, s.c1, s.c2, k1.c3);
        s0 = xor3(T::template table<1>(t1, lane), T::template table<2>(t2, lane),
                  T::template table<3>(t3, lane)) ^
             k2.c0;
        s1 = xor3(T::template table<0>(t1, lane), T::template table<1>(t2, lane),
                  T::template table<2>(t3, lane)) ^
             k2.c1;
        s2 = xor3(T::template table<0>(t2, lane), T::template table<1>(t3, lane),
                  T::template table<3>(t1, lane)) ^
             k2.c2;
        s3 = xor3(T::template table<0>(t3, lane), T::template table<2>(t1, lane),
                  T::template table<3>(t2, lane)) ^
             k2.c3;
    }

    /* The state behind round 2 of the counter whose lowest byte is that of `low`. */
    __device__ __forceinline__ aes_state behind_two(uint32_t lane, uint32_t low) const
    {
        uint32_t t0 = k0 ^ T::template table<3>(low << 24 ^ key_byte, lane);
        return {s0 ^ T::template table<0>(t0, lane), s1 ^ T::template table<3>(t0, lane),
                s2 ^ T::template table<2>(t0, lane), s3 ^ T::template table<1>(t0, lane)};
    }
};

/* One key for all messages. */
template <int TABLES, int ROUNDS> struct one_counter_key {
    static constexpr bool is_one = true;
    static constexpr uint32_t WIDTH = 1;
    parameter_key key;
    counter_rounds<TABLES> rounds;

    __device__ __forceinline__ explicit one_counter_key(const message_arguments &a)
        : key{a.round_key}, rounds{}
    {
    }
    __device__ __forceinline__ void begin(const message_arguments &, const segment &)
    {
    }
    __device__ __forceinline__ void prepare(uint32_t lane, const counter_words &c)
    {
        rounds.prepare(lane, c.block(), round_key(key, 0), round_key(key, 1), round_key(key, 2));
    }
    __device__ __forceinline__ void prepare_again(uint32_t lane, const counter_words &c)
    {
        prepare(lane, c);
    }
    /* Rounds 3 to the last. */
    __device__ __forceinline__ void finish(uint32_t lane, aes_state (&s)[WIDTH]) const
    {
        s[0] = encrypt_from<TABLES, ROUNDS, 3>(lane, s[0], key);
    }
    __device__ __forceinline__ aes_state encrypt(uint32_t lane, aes_state s) const
    {
        return encrypt_block<TABLES, ROUNDS>(lane, s, key);
    }
};

/* A raw key for each message. */
template <int TABLES, int ROUNDS> struct raw_counter_key {
    static constexpr bool is_one = false;
    static constexpr uint32_t WIDTH = 2; /* blocks for which the schedule is made once */
    uint64_t raw;                        /* its address, or 0 */
    /* The raw key; after prepare(), the words of rounds 0 to 2 have been made. */
    key_words<ROUNDS - 6> words;
    counter_rounds<TABLES> rounds;

    __device__ __forceinline__ explicit raw_counter_key(const message_arguments &)
        : raw(0), words{}, rounds{}
    {
    }
    __device__ __forceinline__ void begin(const message_arguments &a, const segment &s)
    {
        raw = s.is_good ? raw_key_at(a, s.message) : 0;
        load();
    }
    __device__ __forceinline__ void load()
    {
        words = {};
        if (raw != 0)
            words.load(raw);
    }
    __device__ __forceinline__ void prepare(uint32_t lane, const counter_words &c)
    {
        const table_sbox<TABLES> sbox = {lane};
        aes_state k0 = words.round_key(0);
        uint32_t constant = 1;
        words.make(sbox, 1, constant);
        aes_state k1 = words.round_key(1);
        words.make(sbox, 2, constant);
        rounds.prepare(lane, c.block(), k0, k1, words.round_key(2));
    }
    __device__ __forceinline__ void prepare_again(uint32_t lane, const counter_words &c)
    {
        load();
        prepare(lane, c);
    }
    __device__ __forceinline__ void finish(uint32_t lane, aes_state (&s)[WIDTH]) const
    {
        encrypt_by_words<3>(table_sbox<TABLES>{lane}, s, words);
    }
    /* Before prepare(). */
    __device__ __forceinline__ aes_state encrypt(uint32_t lane, aes_state s) const
    {
        return encrypt_by_words(table_sbox<TABLES>{lane}, s, words);
    }
};

/* ---- Hash ------------------------------------------------------------------------ */

/* The factor of an element: it, times x. */
static __device__ __forceinline__ ghash_element times_x_of_ghash(ghash_element e)
{
    uint64_t carry = e.high >> 63;
    return {e.low << 1 | carry, (e.high << 1 | e.low >> 63) ^ ((0 - carry) & 0xc200000000000000)};
}

/* multiply(e, e) in fewer steps: the square of a sum is the sum of squares. */
static __device__ __forceinline__ ghash_element square(ghash_element e)
{
    return reduce({{clmad_low(e.low, e.low, 0), clmad_high(e.low, e.low, 0),
                    clmad_low(e.high, e.high, 0), clmad_high(e.high, e.high, 0)}});
}

/* H^n, n not 0, as a factor. */
static __device__ __forceinline__ ghash_element power(ghash_element h, uint32_t n)
{
    ghash_element p = h;
#pragma unroll 1
    for (int bit = 30 - __clz(static_cast<int>(n)); bit >= 0; bit--) {
        p = square(p);
        if ((n >> bit & 1) != 0)
            p = multiply(p, h);
    }
    return p;
}

/* Adds bytes at any address, padded to whole blocks. */
static __device__ __forceinline__ ghash_element hash_bytes(ghash_element sum, ghash_element h,
                                                           uint64_t from, uint64_t bytes)
{
#pragma unroll 1
    for (; bytes != 0; from += 16) {
        uint32_t part = static_cast<uint32_t>(min(bytes, uint64_t{16}));
        sum = multiply(sum ^ to_element(load_some(from, part)), h);
        bytes -= part;
    }
    return sum;
}

/* The first counter block: of GCM J0, section 7.1, which is that before the first block of text. */
template <bool IS_GCM>
static __device__ __forceinline__ counter_words begin_counter(const message_arguments &a,
                                                              const segment &s, ghash_element h)
{
    if (!s.is_good)
        return {};
    uint64_t iv = array_element(a.iv, s.message);
    if (!IS_GCM)
        return counter_words::from(load_some(iv, 16));
    if (a.iv_bytes == 12) {
        aes_state words = load_some(iv, 12);
        return {words.c0, words.c1, words.c2, 1};
    }
    ghash_element sum = hash_bytes({}, h, iv, a.iv_bytes);
    return counter_words::from(
        to_block(multiply(sum ^ ghash_element{uint64_t{a.iv_bytes} * 8, 0}, h)));
}

/* ---- A segment ---------------------------------------------------------------------- */

/*
 * Behind the stage in shared memory. A tag is a sum: of H^(blocks behind, and that of the lengths)
 * times the hash of each segment, and of what does not depend on the text. The latter waits in
 * `rest`, or, where a block of threads has all segments of its messages, in `sum` from the begin.
 */
struct counter_shared {
    ghash_element h; /* of one key */
    union {
        ghash_element rest[MESSAGE_LARGE_THREADS];
        message_sum sum[MESSAGE_LARGE_THREADS / 2];
    };
};
static_assert(sizeof(counter_shared) ==
                  MESSAGE_HASH_SHARED + MESSAGE_LARGE_THREADS / LANES * MESSAGE_REST_SHARED,
              "as the host reserves it");

static __device__ __forceinline__ void add_to_sum(message_sum &sum, ghash_element e)
{
    atomicXor(&sum.hash[0], static_cast<uint32_t>(e.low));
    atomicXor(&sum.hash[1], static_cast<uint32_t>(e.low >> 32));
    atomicXor(&sum.hash[2], static_cast<uint32_t>(e.high));
    atomicXor(&sum.hash[3], static_cast<uint32_t>(e.high >> 32));
}

/* Takes the sum, which tells H, and leaves 0. */
static __device__ __forceinline__ ghash_element take_sum(message_sum &sum)
{
    uint64_t w0 = atomicExch(&sum.hash[0], 0u), w1 = atomicExch(&sum.hash[1], 0u);
    uint64_t w2 = atomicExch(&sum.hash[2], 0u), w3 = atomicExch(&sum.hash[3], 0u);
    return {w1 << 32 | w0, w3 << 32 | w2};
}

/* Whether the sums of the launch are in shared memory. */
static __device__ __forceinline__ bool has_shared_sums(const message_arguments &a)
{
    return a.plan == 0 && a.segments > 1;
}

/*
 * Makes H and the counter, and puts aside what the tag has besides the text: the mask, lengths and
 * additional data of the lane with a message's first segment. Returns the counter block before the
 * first block of the message.
 */
template <class KEY>
static __device__ __forceinline__ counter_words begin_tag(const message_arguments &a,
                                                          const segment &s, const KEY &key,
                                                          uint32_t lane, ghash_element &h,
                                                          ghash_element &hash,
                                                          counter_shared &shared)
{
    bool is_first = s.is_good && s.from == 0;
    bool any_first = __any_sync(ALL_LANES, is_first) != 0;
    aes_state block = {};
    counter_words c = {};
    /* H, then the mask: one copy of the rounds. */
#pragma unroll 1
    for (int turn = KEY::is_one ? 1 : 0; turn < 2; turn++) {
        if (turn == 1) {
            c = begin_counter<true>(a, s, h);
            if (!any_first)
                break;
            block = c.block();
        }
        block = key.encrypt(lane, block);
        if (turn == 0)
            h = times_x_of_ghash(to_element(block));
    }
    if (!any_first)
        return c;
    ghash_element rest = {};
    if (is_first) {
        uint64_t aad_bytes = array_element(a.aad_bytes, s.message);
        rest = multiply({uint64_t{s.bytes} * 8, aad_bytes * 8}, h) ^ to_element(block);
        hash = hash_bytes({}, h, array_element(a.aad, s.message), aad_bytes);
    }
    if (!has_shared_sums(a))
        shared.rest[threadIdx.x] = rest;
    else if (is_first)
        add_to_sum(shared.sum[threadIdx.x / a.segments], rest);
    return c;
}

/* Lanes that follow each other and have segments of one message. */
struct lane_run {
    bool is_head; /* the lane is the first one of its run */
    uint32_t lanes;
};

/* Sums up the hashes of each run into its head, by a converged warp; `message` is one in no run. */
static __device__ __forceinline__ lane_run sum_up_runs(uint32_t message, ghash_element &hash)
{
    uint32_t l = threadIdx.x % LANES;
#pragma unroll 1
    for (uint32_t distance = 1; distance < LANES; distance *= 2) {
        ghash_element other = {__shfl_down_sync(ALL_LANES, hash.low, distance),
                               __shfl_down_sync(ALL_LANES, hash.high, distance)};
        uint32_t of_other = __shfl_down_sync(ALL_LANES, message, distance);
        if (l + distance < LANES && of_other == message)
            hash = hash ^ other;
    }
    uint32_t before = __shfl_up_sync(ALL_LANES, message, 1);
    bool is_head = l == 0 || before != message;
    uint32_t behind = __ballot_sync(ALL_LANES, is_head) >> l >> 1;
    uint32_t lanes = behind != 0 ? static_cast<uint32_t>(__popc(behind ^ (behind - 1))) : LANES - l;
    return {is_head, lanes};
}

/*
 * Adds the hashes of segments to the tags of their messages, by a converged warp. Returns true,
 * with the tag, in one lane of each message that is complete: atomic operations of 32 lanes on one
 * message are one after the other, so that one lane has them for all.
 */
static __device__ __forceinline__ bool end_tag(const message_arguments &a, const segment &s,
                                               ghash_element h, ghash_element &hash,
                                               counter_shared &shared)
{
    constexpr uint32_t none = ~uint32_t{0};
    uint32_t segments = s.segments(a), behind = s.total() - s.from - s.blocks(a) + 1;
    uint32_t blocks = s.part != 0 ? s.part : a.segment;
    bool is_near = has_shared_sums(a);
    if (s.is_good) {
        hash = multiply(hash, power(h, behind));
        if (s.from == 0 && !is_near)
            hash = hash ^ shared.rest[threadIdx.x];
        if (segments == 1 && is_near)
            hash = hash ^ take_sum(shared.sum[threadIdx.x / a.segments]);
    }
    bool is_part = s.is_good && segments > 1;
    if (__any_sync(ALL_LANES, is_part) == 0)
        return s.is_good;
    ghash_element sum_of_run = is_part ? hash : ghash_element{};
    lane_run run = sum_up_runs(is_part ? s.message : none, sum_of_run);
    if (!is_part || !run.is_head)
        return s.is_good && segments == 1;
    message_sum &sum = is_near ? shared.sum[threadIdx.x / a.segments] : sum_of(a, s.message);
    add_to_sum(sum, sum_of_run);
    /* Of decryption also the text, which the last lane may have to overwrite. */
    bool is_fenced = !is_near || a.decrypts != 0;
    if (is_fenced)
        __threadfence();
    else
        __threadfence_block();
    if (atomicAdd(&sum.blocks, run.lanes * blocks) + run.lanes * blocks != segments * a.segment)
        return false;
    if (is_fenced)
        __threadfence();
    hash = take_sum(sum);
    return true;
}

/* Writes the tag, or compares it; returns true where it is wrong. */
static __device__ __forceinline__ bool use_tag(const message_arguments &a, uint32_t message,
                                               aes_state tag)
{
    uint64_t at = array_element(a.tag, message);
    if (a.decrypts == 0) {
        store_some(at, a.tag_bytes, tag);
        return false;
    }
    aes_state d = keep_bytes(tag, a.tag_bytes) ^ load_some(at, a.tag_bytes);
    return (d.c0 | d.c1 | d.c2 | d.c3) != 0;
}

/* Moves the counter by a block. */
template <class KEY>
static __device__ __forceinline__ void go_on(KEY &key, uint32_t lane, counter_words &c, bool is_ctr)
{
    c.advance(1, is_ctr);
    if ((c.low & 0xff) == 0)
        key.prepare_again(lane, c);
}

template <class KEY, uint32_t PIECE, bool IS_GCM>
static __device__ __forceinline__ void run_counter(const message_arguments &a, const segment &s,
                                                   KEY &key, uint32_t lane, uint32_t tables,
                                                   counter_shared &shared)
{
    stage<PIECE> text;
    text.begin(a, s, tables, s.text_bytes(a));
    key.begin(a, s);

    ghash_element h = {}, hash = {};
    if (IS_GCM && KEY::is_one)
        h = shared.h;
    counter_words c =
        IS_GCM ? begin_tag(a, s, key, lane, h, hash, shared) : begin_counter<false>(a, s, h);
    c.advance(s.from + (IS_GCM ? 1 : 0), !IS_GCM);
    key.prepare(lane, c);

#pragma unroll 1
    while (const uint32_t blocks = text.blocks()) {
        text.load();
#pragma unroll 1
        for (uint32_t k = 0; k < blocks; k += KEY::WIDTH) {
            aes_state pad[KEY::WIDTH];
#pragma unroll
            for (uint32_t i = 0; i < KEY::WIDTH; i++) {
                pad[i] = key.rounds.behind_two(lane, c.low);
                if (i + 1 < KEY::WIDTH && text.has(k + i))
                    go_on(key, lane, c, !IS_GCM);
            }
            key.finish(lane, pad);
#pragma unroll
            for (uint32_t i = 0; i < KEY::WIDTH; i++) {
                aes_state in = text.read(k + i), out = in ^ pad[i];
                text.write(k + i, out);
                if (IS_GCM && text.has(k + i)) {
                    aes_state cipher = a.decrypts != 0 ? in : out;
                    if (text.left < 16 * (k + i) + 16)
                        cipher = keep_bytes(cipher, text.left - 16 * (k + i));
                    hash = multiply(hash ^ to_element(cipher), KEY::is_one ? shared.h : h);
                }
            }
            if (text.has(k + KEY::WIDTH - 1))
                go_on(key, lane, c, !IS_GCM);
        }
        text.store();
    }

    bool is_complete = s.is_on && s.from == 0, is_wrong = false;
    if (IS_GCM) {
        is_complete = end_tag(a, s, KEY::is_one ? shared.h : h, hash, shared);
        if (is_complete)
            is_wrong = use_tag(a, s.message, to_block(hash));
        is_complete |= s.is_on && !s.is_good;
    }
    finish(a, s, is_complete, is_wrong);
}

/* ---- Kernels ------------------------------------------------------------------------- */

/* What the blocks of threads have in shared memory before their first segment. */
template <class KEY>
static __device__ __forceinline__ void begin_gcm(const message_arguments &a, const KEY &key,
                                                 uint32_t lane, counter_shared &shared)
{
    if (has_shared_sums(a))
        for (uint32_t i = threadIdx.x; i < a.per_block; i += blockDim.x)
            shared.sum[i] = {};
    if (KEY::is_one) {
        ghash_element h = times_x_of_ghash(to_element(key.encrypt(lane, {})));
        if (threadIdx.x == 0)
            shared.h = h;
    }
    __syncthreads();
}

template <int TABLES, uint32_t PIECE, int ROUNDS, template <int, int> class KEY, bool IS_GCM>
static __device__ __forceinline__ void message_counter(const message_arguments &a)
{
    const uint32_t tables = TABLES * AES_TABLE_SHARED;
    counter_shared &shared = *reinterpret_cast<counter_shared *>(
        shared_words + (tables + blockDim.x / LANES * stage<PIECE>::SHARED) / 4);
    fill_tables<TABLES>(constant_tables.te);
    uint32_t lane = lane_address();
    KEY<TABLES, ROUNDS> key(a);
    if (IS_GCM)
        begin_gcm(a, key, lane, shared);
    segment s;
    for (uint32_t turn = 0; next_segment(a, turn, s); turn++)
        run_counter<KEY<TABLES, ROUNDS>, PIECE, IS_GCM>(a, s, key, lane, tables, shared);
}

#endif
