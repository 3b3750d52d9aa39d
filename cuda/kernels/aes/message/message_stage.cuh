/*
 * Text of 32 messages through shared memory: a warp loads and stores pieces of four or eight blocks
 * of each lane's segment, since a load of 32 lanes from 32 places takes the port 32 cycles.
 *
 * A lane's row has the granules of 16 bytes in which the piece lies in device memory: one more than
 * the piece has blocks; a row of 80 or 144 bytes is read by 32 lanes at once without conflicts. The
 * lane cuts its blocks out of them, and puts its results together to the granules of the output, so
 * that the warp moves whole granules. The lane itself loads the part of a granule at the end of its
 * segment, and stores the parts at both ends. Text may begin at any byte; the only bytes outside of
 * it that are read lie in its first granule, which the warp loads whole.
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

/*
 * Where the granules of a lane's row are in device memory, and which of them the warp moves: one
 * word, since a shuffle takes the port of shared memory. The last granule of a row is not among
 * them: the lane loads it, where text is not aligned.
 */
struct whole_granules {
    uint64_t word; /* the address of the piece, and a bit for each granule but the last one */

    /* Granules `first` to `end` - 1. */
    static __device__ __forceinline__ whole_granules from(uint64_t piece, uint32_t first,
                                                          uint32_t end)
    {
        uint32_t bits = ((1u << end) - 1) & (0u - (1u << first));
        return {piece | uint64_t{bits} << ADDRESS_BITS};
    }
    __device__ __forceinline__ whole_granules of_lane(uint32_t lane) const
    {
        return {__shfl_sync(ALL_LANES, word, static_cast<int>(lane))};
    }
    __device__ __forceinline__ bool have(uint32_t e) const
    {
        return (static_cast<uint32_t>(word >> 32) & 1u << (ADDRESS_BITS - 32 + e)) != 0;
    }
    __device__ __forceinline__ uint64_t at(uint32_t e) const
    {
        return (word & ((uint64_t{1} << ADDRESS_BITS) - 16)) + 16 * e;
    }
    /* Bytes of granule `e`, which is there, before the text. */
    __device__ __forceinline__ uint32_t lead(uint32_t e) const
    {
        bool is_first = e == 0 || !have(e - 1);
        return is_first ? static_cast<uint32_t>(word % 16) : 0;
    }
};

template <uint32_t PIECE_BLOCKS> struct stage {
    static constexpr uint32_t BLOCKS = PIECE_BLOCKS, PIECE_BYTES = 16 * BLOCKS,
                              ROW_GRANULES = BLOCKS + 1, ROWS_OF_ACCESS = LANES / BLOCKS;
    static constexpr uint32_t SHARED = MESSAGE_ROWS_SHARED(BLOCKS);
    static_assert(BLOCKS <= 64 - ADDRESS_BITS, "one word has an address and a bit for each block");

    aes_state before;    /* the lane's last block written, where some output is not aligned */
    uint32_t lead;       /* of the first piece: bytes of its granules before the output */
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
        before = {};
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
        uint32_t n = BLOCKS;
#pragma unroll 1
        while (n != 0 && __any_sync(ALL_LANES, left > 16 * (n - 1)) == 0)
            n--;
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

    /* Loads a piece of each lane. */
    __device__ __forceinline__ void load() const
    {
        const uint32_t end = offset_of(in) + bytes_ahead();
        const whole_granules own_granules =
            whole_granules::from(in, skips() ? 1 : 0, min(end / 16, BLOCKS));
#pragma unroll
        for (uint32_t access = 0; access < BLOCKS; access++) {
            uint32_t q = row_of(access);
            whole_granules of_row = own_granules.of_lane(q);
            if (of_row.have(granule()))
                copy_async(rows + q * ROW_GRANULES + granule(), of_row.at(granule()),
                           of_row.lead(granule()));
        }
        if (any_in_offset && end >= 16 * ROW_GRANULES)
            copy_async(own() + BLOCKS, own_granules.at(BLOCKS), 0);
        load_end(end);
        copy_wait();
        __syncwarp();
    }

    /* Block `k` of the lane's piece; what is behind the segment is zero in the last granule. */
    __device__ __forceinline__ aes_state read(uint32_t k) const
    {
        const uint4 *row = own() + k;
        if (!any_in_offset)
            return to_state(row[0]);
        return window(to_state(row[0]), to_state(row[1]), offset_of(in));
    }

    /* In the order of k: later blocks of the input stay. */
    __device__ __forceinline__ void write(uint32_t k, aes_state s)
    {
        aes_state granule = s;
        if (any_out_offset) {
            granule = shifted(s);
            if (left > 16 * k)
                before = s;
        }
        own()[k] = to_vector(granule);
    }

    /* Stores the piece of each lane, and goes on to the next one. */
    __device__ __forceinline__ void store()
    {
        const uint32_t end = offset_of(out) + bytes_ahead();
        store_whole(end);
        store_begin();
        store_end(end);
        __syncwarp();
        left -= min(left, static_cast<uint32_t>(PIECE_BYTES));
        in += PIECE_BYTES;
        out += PIECE_BYTES;
        lead = 0;
    }

  private:
    /* A shorter segment has too few sectors to pay for the time of the block that is skipped. */
    static constexpr uint32_t SECTOR = 32, LEAST_TO_SKIP = 4 * PIECE_BYTES;

    static __device__ __forceinline__ uint32_t offset_of(uint64_t at)
    {
        return static_cast<uint32_t>(at % 16);
    }

    /* Bytes that are left, or some number that is more than a piece and a granule. */
    __device__ __forceinline__ uint32_t bytes_ahead() const
    {
        return min(left, 2u * PIECE_BYTES);
    }

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

    /*
     * Loads what the segment has of its last granule, if that is not whole. `end` is the segment's,
     * from the begin of the piece's first granule.
     */
    __device__ __forceinline__ void load_end(uint32_t end) const
    {
        uint32_t part = end % 16, granules = any_in_offset ? ROW_GRANULES : BLOCKS;
        if (left != 0 && part != 0 && end < 16 * granules)
            own()[end / 16] = to_vector(load_some(in - offset_of(in) + (end - part), part));
    }

    /* The granule in which a block of the output begins: it ends with the block's first bytes. */
    __device__ __forceinline__ aes_state shifted(aes_state s) const
    {
        return offset_of(out) != 0 ? window(before, s, 16 - offset_of(out)) : s;
    }

    /*
     * Stores the granules of each row that are whole. The bytes of the last one wait for the next
     * piece: parts of granules cost as much as whole ones.
     */
    __device__ __forceinline__ void store_whole(uint32_t end) const
    {
        const whole_granules own_granules =
            whole_granules::from(out, (lead + 15) / 16, min(end / 16, BLOCKS));
        __syncwarp();
#pragma unroll
        for (uint32_t access = 0; access < BLOCKS; access++) {
            uint32_t q = row_of(access);
            whole_granules of_row = own_granules.of_lane(q);
            uint4 block = rows[q * ROW_GRANULES + granule()];
            if (of_row.have(granule()))
                __stcs(reinterpret_cast<uint4 *>(of_row.at(granule())), block);
        }
    }

    /* Stores what the lane's segment has of its first granule, if that is not whole. */
    __device__ __forceinline__ void store_begin() const
    {
        uint32_t skipped = skips() ? 1 : 0, offset = lead % 16;
        if (offset != 0 && left != 0)
            store_some(out + 16 * skipped, min(16 - offset, left - 16 * skipped),
                       window(to_state(own()[skipped]), {}, offset));
    }

    /* Stores what the segment has of its last granule, if that is another one, and not whole. */
    __device__ __forceinline__ void store_end(uint32_t end) const
    {
        uint32_t part = end % 16, begin = end - part;
        if (left != 0 && left <= PIECE_BYTES && part != 0 && begin >= lead)
            store_some(out - offset_of(out) + begin, part,
                       begin < left ? to_state(own()[begin / 16]) : shifted({}));
    }
};

#endif
