/*
 * Text of 32 messages through shared memory: a warp loads and stores pieces of four or eight blocks
 * of each lane's segment, since a load of 32 lanes from 32 places takes the port 32 cycles.
 *
 * A lane's row has the piece at the address that it has in device memory, modulo 16, and so one
 * granule of 16 bytes more than the piece; a row of 80 or 144 bytes is read by 32 lanes at once
 * without conflicts. The result lies aligned at the begin of the row. Text may begin at any byte;
 * the only bytes outside of it that are read lie in its first granule.
 *
 * Device memory is written in sectors of 32 bytes, and to write half of one costs more than to
 * write all of it. Where the output of a long segment begins in the second half of a sector, the
 * first piece has a block less, so that the other pieces have whole sectors.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_MESSAGE_STAGE_CUH
#define GPUAES_KERNELS_MESSAGE_STAGE_CUH

#include "cuda/kernels/aes/message/message.cuh"

/* Addresses of devices and of their hosts are shorter. */
enum { ADDRESS_BITS = 56 };

template <uint32_t PIECE_BLOCKS> struct stage {
    static constexpr uint32_t BLOCKS = PIECE_BLOCKS, PIECE_BYTES = 16 * BLOCKS,
                              ROW_GRANULES = BLOCKS + 1, ROWS_OF_ACCESS = LANES / BLOCKS;
    static constexpr uint32_t SHARED = MESSAGE_ROWS_SHARED(BLOCKS);
    static_assert(PIECE_BYTES < 1 << (64 - ADDRESS_BITS), "one word has an address and a length");

    aes_state carry;     /* the last block of the piece before, where some output is not aligned */
    uint32_t lead;       /* of the first piece: bytes of its granules before the text */
    uint4 *rows;         /* of the warp */
    uint64_t in, out;    /* of the lane's next piece */
    uint32_t left;       /* bytes of the segment from there on */
    bool any_in_offset;  /* some lane's input is not aligned */
    bool any_out_offset; /* some lane's output is not */

    __device__ __forceinline__ uint4 *own() const
    {
        return rows + threadIdx.x % LANES * ROW_GRANULES;
    }

    /*
     * Begins with `bytes` of the lane's segment, by a converged warp. The rows of warp 0 lie, or
     * would lie, at byte `base` of shared memory, and those of other warps follow them.
     */
    __device__ __forceinline__ void begin(const message_arguments &a, const segment &s,
                                          uint32_t base, uint32_t bytes)
    {
        rows = reinterpret_cast<uint4 *>(shared_words) + (base + threadIdx.x / LANES * SHARED) / 16;
        uint64_t at = uint64_t{s.from} * 16;
        left = bytes;
        carry = {};
        in = bytes != 0 ? array_element(a.in, s.message) + at : 0;
        out = bytes != 0 ? array_element(a.out, s.message) + at : 0;
        lead = static_cast<uint32_t>(out % SECTOR);
        if (lead >= 16 && bytes >= LEAST_TO_SKIP) {
            in -= 16;
            out -= 16;
            left += 16;
        } else {
            lead %= 16;
        }
        any_in_offset = __any_sync(ALL_LANES, in % 16 != 0) != 0;
        any_out_offset = __any_sync(ALL_LANES, out % 16 != 0) != 0;
    }

    /* Whether a lane of the warp has more. */
    __device__ __forceinline__ bool goes_on() const
    {
        return __any_sync(ALL_LANES, left != 0) != 0;
    }

    /* Blocks of the longest piece of the warp. */
    __device__ __forceinline__ uint32_t blocks() const
    {
        uint32_t n = 0;
#pragma unroll
        for (uint32_t k = 0; k < BLOCKS; k++)
            n += __any_sync(ALL_LANES, left > 16 * k) != 0 ? 1 : 0;
        return n;
    }

    /* Whether the lane's piece begins with a block that is not part of the text. */
    __device__ __forceinline__ bool skips() const
    {
        return lead >= 16;
    }

    /* Whether block `k` of the lane's piece is part of the text. */
    __device__ __forceinline__ bool has(uint32_t k) const
    {
        return left > 16 * k && (k != 0 || !skips());
    }

    /* Bytes of the lane's piece. */
    __device__ __forceinline__ uint32_t valid() const
    {
        return min(left, static_cast<uint32_t>(PIECE_BYTES));
    }

    /* Loads a piece of each lane. */
    __device__ __forceinline__ void load() const
    {
        const uint32_t skipped = skipping();
#pragma unroll
        for (uint32_t access = 0; access < BLOCKS; access++) {
            uint32_t q = row_of(access);
            piece of_row = piece_of(q, in);
            load_granule(rows + q * ROW_GRANULES, of_row.at, granule(), skipped >> q & 1,
                         of_row.bytes);
        }
        if (any_in_offset)
            load_granule(own(), in, BLOCKS, 0, left);
        copy_wait();
        __syncwarp();
    }

    /* Block `k` of the lane's piece; what is behind the segment is zero in the last granule. */
    __device__ __forceinline__ aes_state read(uint32_t k) const
    {
        const uint4 *row = own() + k;
        if (!any_in_offset)
            return to_state(row[0]);
        return window(to_state(row[0]), to_state(row[1]), static_cast<uint32_t>(in % 16));
    }

    /* In the order of k: later blocks of the input stay. */
    __device__ __forceinline__ void write(uint32_t k, aes_state s) const
    {
        own()[k] = to_vector(s);
    }

    /* Stores the piece of each lane, and goes on to the next one. */
    __device__ __forceinline__ void store()
    {
        if (any_out_offset)
            store_shifted();
        else
            store_aligned();
        __syncwarp();
        left -= valid();
        in += PIECE_BYTES;
        out += PIECE_BYTES;
        lead = 0;
    }

  private:
    /* A shorter segment has too few sectors to pay for the time of the block that is skipped. */
    static constexpr uint32_t SECTOR = 32, LEAST_TO_SKIP = 4 * PIECE_BYTES;

    /*
     * The lane's granule of a row in each access, and its row. Eight lanes that pass the port
     * together have a row of eight granules, or rows `q` and `q` + 4 of four, which lie in
     * different banks.
     */
    static __device__ __forceinline__ uint32_t granule()
    {
        return threadIdx.x % BLOCKS;
    }
    static __device__ __forceinline__ uint32_t row_of(uint32_t access)
    {
        uint32_t l = threadIdx.x % LANES;
        return access * ROWS_OF_ACCESS + l / 8 + (BLOCKS == 4 ? l / 4 % 2 * 4 : 0);
    }

    /* Where the piece of a row's lane is, and its bytes: a shuffle takes the port, too. */
    struct piece {
        uint64_t at;
        uint32_t bytes;
    };
    __device__ __forceinline__ piece piece_of(uint32_t row, uint64_t own) const
    {
        uint64_t both =
            __shfl_sync(ALL_LANES, own | uint64_t{valid()} << ADDRESS_BITS, static_cast<int>(row));
        return {both & ((uint64_t{1} << ADDRESS_BITS) - 1),
                static_cast<uint32_t>(both >> ADDRESS_BITS)};
    }

    /* The lanes that skip a block. */
    __device__ __forceinline__ uint32_t skipping() const
    {
        return __ballot_sync(ALL_LANES, skips());
    }

    /* Granule `e` of what begins at `at`, from block `first` on, and has `bytes` bytes. */
    static __device__ __forceinline__ void load_granule(uint4 *row, uint64_t at, uint32_t e,
                                                        uint32_t first, uint32_t bytes)
    {
        uint32_t offset = static_cast<uint32_t>(at % 16), end = offset + bytes;
        if (bytes != 0 && end > 16 * e && e >= first)
            copy_async(row + e, at - offset + 16 * e, e == first ? offset : 0,
                       min(end - 16 * e, 16u));
    }

    __device__ __forceinline__ void store_aligned() const
    {
        const uint32_t skipped = skipping();
        __syncwarp();
#pragma unroll
        for (uint32_t access = 0; access < BLOCKS; access++) {
            uint32_t q = row_of(access);
            piece of_row = piece_of(q, out);
            uint4 block = rows[q * ROW_GRANULES + granule()];
            if (granule() >= (skipped >> q & 1) && of_row.bytes >= 16 * granule() + 16)
                __stcs(reinterpret_cast<uint4 *>(of_row.at + 16 * granule()), block);
        }
        store_end(0);
    }

    /*
     * The bytes of the last granule wait for the next piece, so that granules are written whole:
     * parts of them cost as much as whole ones.
     */
    __device__ __forceinline__ void store_shifted()
    {
        uint32_t offset = static_cast<uint32_t>(out % 16);
        uint32_t whole = (left <= PIECE_BYTES ? offset + left : 0u + PIECE_BYTES) / 16;
        uint32_t flags = (valid() != 0 ? whole : 0) | (lead + 15) / 16 * FIRST;
        own()[BLOCKS] = to_vector(carry);
        carry = to_state(own()[BLOCKS - 1]);
        __syncwarp();
#pragma unroll
        for (uint32_t access = 0; access < BLOCKS; access++) {
            uint32_t q = row_of(access);
            uint64_t at = __shfl_sync(ALL_LANES, out, static_cast<int>(q));
            uint32_t of_row = __shfl_sync(ALL_LANES, flags, static_cast<int>(q));
            store_granule(rows + q * ROW_GRANULES, at, granule(), of_row);
        }
        store_begin();
        store_end(offset);
    }

    /* A word has the end of a piece's whole granules, and FIRST times the number of the first. */
    static constexpr uint32_t FIRST = 0x100;

    /* Granule `e` of a piece off by `offset`; the first one begins with bytes of the last piece. */
    static __device__ __forceinline__ aes_state granule_of(const uint4 *row, uint32_t e,
                                                           uint32_t offset)
    {
        aes_state s = to_state(row[e]);
        if (offset != 0)
            s = window(to_state(row[e == 0 ? 0u + BLOCKS : e - 1]), s, 16 - offset);
        return s;
    }

    /* Stores granule `e` of the piece that goes to `at`, if it is whole. */
    static __device__ __forceinline__ void store_granule(const uint4 *row, uint64_t at, uint32_t e,
                                                         uint32_t flags)
    {
        uint32_t offset = static_cast<uint32_t>(at % 16);
        if (e >= flags / FIRST && e < flags % FIRST)
            __stcs(reinterpret_cast<uint4 *>(at - offset + 16 * e),
                   to_vector(granule_of(row, e, offset)));
    }

    /* Stores what the lane's segment has of its first granule, if that is not whole. */
    __device__ __forceinline__ void store_begin() const
    {
        uint32_t skipped = skips() ? 1 : 0;
        if (lead % 16 != 0 && left != 0)
            store_some(out + 16 * skipped, min(16 - lead % 16, left - 16 * skipped),
                       to_state(own()[skipped]));
    }

    /* Stores what the segment has of its last granule, if that is another one, and not whole. */
    __device__ __forceinline__ void store_end(uint32_t offset) const
    {
        uint32_t end = offset + left, part = end % 16, begin = end - part;
        if (left != 0 && left <= PIECE_BYTES && part != 0 && begin >= lead)
            store_some(out - offset + begin, part, granule_of(own(), begin / 16, offset));
    }
};

#endif
