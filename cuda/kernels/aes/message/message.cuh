/*
 * Messages: what a lane works on, and what the caller's arrays say of it.
 *
 * A message is cut into segments of `segment` blocks; the last one has what is left, and one block
 * more rather than a segment for a single block, so that ciphertext stealing has its two blocks in
 * one place. A lane does a segment, or a part of one.
 *
 * A direct launch numbers segments by message: each block of threads has whole messages, and a
 * thread has one segment at most. A planned launch follows message_plan, which has put the lengths
 * in order: see message_plan.cu. Its last full segments may be cut into equal parts, so that lanes
 * end at about the same time.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_MESSAGE_CUH
#define GPUAES_KERNELS_MESSAGE_CUH

#include "cuda/kernels/common/arguments.h"
#include "cuda/kernels/common/blocks.cuh"

/* ---- The caller's arrays --------------------------------------------------- */

static __device__ __forceinline__ uint64_t array_element(uint64_t array, uint32_t n)
{
    return array != 0 ? reinterpret_cast<const uint64_t *>(array)[n] : 0;
}

static __device__ __forceinline__ uint32_t key_number(const message_arguments &a, uint32_t n)
{
    return a.key_index != 0 ? reinterpret_cast<const uint32_t *>(a.key_index)[n] : n;
}

/* Where the raw key of a message lies, which is not refused. */
static __device__ __forceinline__ uint64_t raw_key_at(const message_arguments &a, uint32_t n)
{
    if (a.keys != 0)
        return array_element(a.keys, n);
    return a.key_table + uint64_t{key_number(a, n)} * a.key_bytes;
}

/* Both halves of a key of XTS; time does not depend on them. */
static __device__ __forceinline__ bool has_equal_halves(uint64_t key, uint32_t bytes)
{
    const unsigned char *p = reinterpret_cast<const unsigned char *>(key);
    uint32_t differ = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < bytes / 2; i++)
        differ |= p[i] ^ p[bytes / 2 + i];
    return differ == 0;
}

/* The text has a length that the mode takes, and the rest is in its range. */
static __device__ __forceinline__ bool is_good(const message_arguments &a, uint32_t n,
                                               uint64_t bytes)
{
    bool is_whole = a.mode >= MESSAGE_XTS || bytes % 16 == 0;
    if (!is_whole || bytes > a.max_bytes || array_element(a.aad_bytes, n) > MESSAGE_AAD_MOST)
        return false;
    if (a.key_table != 0 && key_number(a, n) >= a.key_count)
        return false;
    if (a.mode != MESSAGE_XTS)
        return true;
    bool is_keyed = a.keys != 0 || a.key_table != 0;
    return bytes >= 16 &&
           !(is_keyed && a.decrypts == 0 && has_equal_halves(raw_key_at(a, n), a.key_bytes));
}

/* ---- Segments ------------------------------------------------------------------ */

static __device__ __forceinline__ uint32_t segments_of(const message_arguments &a, uint32_t blocks)
{
    return blocks <= a.segment + 1 ? 1 : (blocks - 2) / a.segment + 1;
}

/* What is not derived: registers are short where it is used. */
struct segment {
    bool is_on;       /* the lane has one */
    bool is_good;     /* it is not refused; a message that is has one segment, without blocks */
    uint32_t message; /* its number */
    uint32_t bytes;   /* of the message; 0 where it is not good */
    uint32_t from;    /* blocks before */
    uint32_t part;    /* blocks, where it is a part of a full segment; else 0 */

    /* Blocks of the message, and of the segment, also one that is not whole. */
    __device__ __forceinline__ uint32_t total() const
    {
        return (bytes + 15) / 16;
    }
    __device__ __forceinline__ uint32_t blocks(const message_arguments &a) const
    {
        return is_last(a) ? total() - from : part != 0 ? part : a.segment;
    }
    __device__ __forceinline__ uint32_t text_bytes(const message_arguments &a) const
    {
        return is_good ? min(bytes - from * 16, blocks(a) * 16) : 0;
    }
    __device__ __forceinline__ uint32_t segments(const message_arguments &a) const
    {
        return segments_of(a, total());
    }
    __device__ __forceinline__ bool is_last(const message_arguments &a) const
    {
        return part == 0 && total() - from <= a.segment + 1;
    }
};

/* Segment `number` of a message, or the last one. */
static __device__ __forceinline__ segment cut_segment(const message_arguments &a, uint32_t n,
                                                      uint32_t number, bool is_last)
{
    uint64_t bytes = array_element(a.bytes, n);
    segment s = {true, is_good(a, n, bytes), n, 0, 0, 0};
    if (s.is_good)
        s.bytes = static_cast<uint32_t>(bytes);
    uint32_t segments = s.segments(a);
    if (is_last)
        number = segments - 1;
    s.is_on = number < segments;
    s.from = s.is_on ? number * a.segment : 0;
    s.is_good = s.is_good && s.is_on;
    return s;
}

static __device__ __forceinline__ segment no_segment()
{
    return {false, false, 0, 0, 0, 0};
}

static __device__ __forceinline__ segment direct_segment(const message_arguments &a)
{
    uint32_t own = threadIdx.x / a.segments;
    uint32_t n = blockIdx.x * a.per_block + own;
    if (own >= a.per_block || n >= a.count)
        return no_segment();
    return cut_segment(a, n, threadIdx.x % a.segments, false);
}

/* ---- The plan ---------------------------------------------------------------- */

static __device__ __forceinline__ message_queue &queue_of(const message_arguments &a)
{
    return *reinterpret_cast<message_queue *>(a.plan);
}

static __device__ __forceinline__ message_sum &sum_of(const message_arguments &a, uint32_t n)
{
    return reinterpret_cast<message_sum *>(a.sums)[n];
}

/* The entry of `full` that segment `u` of all full ones belongs to. */
static __device__ __forceinline__ message_full find_full(const message_arguments &a,
                                                         uint32_t entries, uint32_t u)
{
    const message_full *full = reinterpret_cast<const message_full *>(a.full);
    uint32_t low = 0, high = entries;
#pragma unroll 1
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (full[middle].begin <= u)
            low = middle;
        else
            high = middle;
    }
    return full[low];
}

struct planned {
    uint32_t entries; /* messages that have full segments */
    uint32_t whole;   /* full segments that are not cut, which come first */
    uint32_t parts;   /* of those that are, */
    uint32_t shift;   /* 2^shift of each */
    uint32_t whole_groups, end_groups, groups;
};

static __device__ __forceinline__ uint32_t groups_of(uint32_t segments)
{
    return segments / LANES + (segments % LANES != 0 ? 1 : 0);
}

/*
 * A full segment for each lane is cut into two parts; where there are fewer, into more, so that
 * each lane has two, but none is shorter than the least part.
 */
static __device__ __forceinline__ planned read_plan(const message_arguments &a)
{
    unsigned long long both = queue_of(a).full;
    uint32_t full = static_cast<uint32_t>(both), lanes = gridDim.x * blockDim.x;
    uint32_t cut = a.least_part != 0 ? min(full, lanes) : 0;
    planned p;
    p.entries = static_cast<uint32_t>(both >> 32);
    p.whole = full - cut;
    p.shift = 1;
    while (cut != 0 && full < 2 * lanes >> p.shift && a.segment >> (p.shift + 1) >= a.least_part)
        p.shift++;
    p.parts = cut << p.shift;
    p.whole_groups = groups_of(p.whole);
    p.end_groups = groups_of(a.count);
    p.groups = p.whole_groups + p.end_groups + groups_of(p.parts);
    return p;
}

/* Segment `u` of all full ones. */
static __device__ __forceinline__ segment full_segment(const message_arguments &a, const planned &p,
                                                       uint32_t u)
{
    message_full entry = find_full(a, p.entries, u);
    return cut_segment(a, entry.message, u - entry.begin, false);
}

/*
 * The lane's segment in group `group` of a converged warp: whole full segments, then the ends of
 * messages, then parts.
 */
static __device__ __forceinline__ segment planned_segment(const message_arguments &a,
                                                          const planned &p, uint32_t group)
{
    uint32_t l = threadIdx.x % LANES;
    if (group < p.whole_groups) {
        uint32_t u = group * LANES + l;
        return u < p.whole ? full_segment(a, p, u) : no_segment();
    }
    group -= p.whole_groups;
    if (group < p.end_groups) {
        uint32_t i = group * LANES + l;
        if (i >= a.count)
            return no_segment();
        return cut_segment(a, reinterpret_cast<const uint32_t *>(a.order)[i], 0, true);
    }
    uint32_t i = (group - p.end_groups) * LANES + l;
    if (i >= p.parts)
        return no_segment();
    segment s = full_segment(a, p, p.whole + (i >> p.shift));
    s.part = a.segment >> p.shift;
    s.from += (i & ((1u << p.shift) - 1)) * s.part;
    return s;
}

/* The number of the next group for a converged warp. */
static __device__ __forceinline__ uint32_t next_group(const message_arguments &a)
{
    uint32_t ticket = 0;
    if (threadIdx.x % LANES == 0)
        ticket = atomicAdd(&queue_of(a).taken, 1u);
    return __shfl_sync(ALL_LANES, ticket, 0);
}

/* Gives a converged warp its next segments; false when there are none. */
static __device__ __forceinline__ bool next_segment(const message_arguments &a, uint32_t turn,
                                                    segment &s)
{
    if (a.plan == 0) {
        s = direct_segment(a);
        return turn == 0;
    }
    planned p = read_plan(a);
    uint32_t group = next_group(a);
    if (group < p.groups)
        s = planned_segment(a, p, group);
    return group < p.groups;
}

/* ---- A few bytes at any address ------------------------------------------------- */

/* Word `w` of a mask that has the first `bytes` of a block. */
static __device__ __forceinline__ uint32_t byte_mask(uint32_t bytes, uint32_t w)
{
    uint32_t in_word = bytes <= 4 * w ? 0 : min(bytes - 4 * w, 4u);
    return in_word == 4 ? ~uint32_t{0} : (1u << 8 * in_word) - 1;
}

static __device__ __forceinline__ aes_state keep_bytes(aes_state s, uint32_t bytes)
{
    return {s.c0 & byte_mask(bytes, 0), s.c1 & byte_mask(bytes, 1), s.c2 & byte_mask(bytes, 2),
            s.c3 & byte_mask(bytes, 3)};
}

/* The widest access, a power of two of bytes, that an address and a length allow. */
static __device__ __forceinline__ uint32_t access_bytes(uint64_t at, uint32_t bytes)
{
    uint32_t end = static_cast<uint32_t>(at) | 16;
    return min(end & (0 - end), 1u << (31 - __clz(static_cast<int>(bytes))));
}

/*
 * `bytes` of a block, up to 16, then zeros. Loads of 32 lanes from 32 places take the port 32
 * cycles each, so they are as wide as the address allows.
 */
static __device__ __forceinline__ aes_state load_some(uint64_t from, uint32_t bytes)
{
    aes_state s = {}; /* its last bytes are those loaded so far */
#pragma unroll 1
    for (uint32_t left = bytes; left != 0;) {
        uint32_t width = access_bytes(from, left);
        if (width == 16)
            return to_state(*reinterpret_cast<const uint4 *>(from));
        uint2 some = {};
        if (width == 8)
            some = *reinterpret_cast<const uint2 *>(from);
        else if (width == 4)
            some.x = *reinterpret_cast<const uint32_t *>(from);
        else if (width == 2)
            some.x = *reinterpret_cast<const uint16_t *>(from);
        else
            some.x = *reinterpret_cast<const unsigned char *>(from);
        s = window(s, {some.x, some.y, 0, 0}, width);
        from += width;
        left -= width;
    }
    return bytes % 16 == 0 ? s : window(s, {}, 16 - bytes);
}

/*
 * Stores the first `bytes` of a block, up to 16, by as few accesses as the address allows: each
 * writes a part of a sector, which costs more than to write all of it.
 */
static __device__ __forceinline__ void store_some(uint64_t to, uint32_t bytes, aes_state s)
{
#pragma unroll 1
    while (bytes != 0) {
        uint32_t width = access_bytes(to, bytes);
        if (width == 16)
            *reinterpret_cast<uint4 *>(to) = to_vector(s);
        else if (width == 8)
            *reinterpret_cast<uint2 *>(to) = make_uint2(s.c0, s.c1);
        else if (width == 4)
            *reinterpret_cast<uint32_t *>(to) = s.c0;
        else if (width == 2)
            *reinterpret_cast<uint16_t *>(to) = static_cast<uint16_t>(s.c0);
        else
            *reinterpret_cast<unsigned char *>(to) = static_cast<unsigned char>(s.c0);
        s = window(s, {}, width % 16);
        to += width;
        bytes -= width;
    }
}

/* ---- Results ---------------------------------------------------------------------- */

/* Overwrites `bytes` bytes at any address with zeros, by a converged warp. */
static __device__ __forceinline__ void zero_bytes(uint64_t from, uint64_t bytes)
{
    uint32_t l = threadIdx.x % LANES;
    uint64_t to = from + bytes;
    uint64_t begin = min(to, (from + 15) / 16 * 16), end = max(begin, to / 16 * 16);
    for (uint64_t p = from + l; p < begin; p += LANES)
        *reinterpret_cast<unsigned char *>(p) = 0;
    for (uint64_t p = begin + l * 16; p < end; p += LANES * 16)
        *reinterpret_cast<uint4 *>(p) = make_uint4(0, 0, 0, 0);
    for (uint64_t p = end + l; p < to; p += LANES)
        *reinterpret_cast<unsigned char *>(p) = 0;
}

/*
 * Writes the status of each lane's message that is complete, and zeros the output of those that
 * are not OK; by a converged warp.
 */
static __device__ __forceinline__ void finish(const message_arguments &a, const segment &s,
                                              bool is_complete, bool is_wrong)
{
    if (is_complete)
        reinterpret_cast<uint32_t *>(a.status)[s.message] = !s.is_good ? a.bad_argument
                                                            : is_wrong ? a.bad_tag
                                                                       : 0;
    uint32_t bad = __ballot_sync(ALL_LANES, is_complete && (!s.is_good || is_wrong));
#pragma unroll 1
    for (; bad != 0; bad &= bad - 1) {
        int from = __popc((bad & (0 - bad)) - 1);
        uint32_t n = __shfl_sync(ALL_LANES, s.message, from);
        zero_bytes(array_element(a.out, n), min(array_element(a.bytes, n), uint64_t{a.max_bytes}));
    }
}

#endif
