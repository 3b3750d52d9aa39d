/*
 * What kernels and host code count with: counter blocks at each carry, from each bit to each bit;
 * segments of messages of every length up to three of them, and of the longest. And the launches
 * that the host shapes by segments: they reach each message, and fit the memory that a caller
 * gives.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/counter.h"
#include "base/minmax.h"
#include "cuda/device/stream_set.h"
#include "cuda/launch/kernels_message.h"
#include "test/support/bare_kernels.h"
#include "test/support/library.h"

enum { BLOCK = GPUAES_BLOCK, THREADS = 64, CARRIES = 64 * 129, MANY = 1 << 17, ROWS = 8 };

/* In device memory, which the CPU of an emulated device reads as well. */
static struct memory {
    _Alignas(16) unsigned char counters[CARRIES][BLOCK], moved[CARRIES][3][BLOCK];
    uint64_t blocks[CARRIES];
    uint32_t rows[CARRIES][4][ROWS];
    struct message_arguments arguments;
    uint64_t bytes[MANY];
    uint32_t numbers[MANY], segments[MANY][5];
} * m;

static struct kernels kernels;

/* ---- Counters -------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

static const wide one = 1;

static void write_counter(unsigned char block[BLOCK], wide number)
{
    for (int i = BLOCK - 1; i >= 0; i--, number >>= 8)
        block[i] = (unsigned char)number;
}

static int is_counter(const unsigned char block[BLOCK], wide number)
{
    unsigned char want[BLOCK];
    write_counter(want, number);
    return memcmp(block, want, BLOCK) == 0;
}

/* In GCM the last 32 bits count: NIST SP 800-38D section 6.2. */
static wide gcm_sum(wide counter, uint64_t blocks)
{
    return counter >> 32 << 32 | (uint32_t)(counter + blocks);
}

/* A counter with all bits from `from` to `to` - 1 set, and none at `to`, which 128 has not. */
static wide carrying(unsigned from, unsigned to)
{
    wide counter;
    tap_random_bytes(&random_state, &counter, sizeof counter);
    const wide below = to < 128 ? (one << to) - 1 : ~(wide)0;
    counter |= below >> from << from;
    return to < 128 ? counter & ~(one << to) : counter;
}

static void add_counter(unsigned *count, wide counters[CARRIES], wide counter, uint64_t blocks)
{
    counters[*count] = counter;
    write_counter(m->counters[*count], counter);
    m->blocks[(*count)++] = blocks;
}

/* Adds 2^from, and less, to counters whose bits carry it up to each bit; and to zeros. */
static void check_carries(void)
{
    static wide counters[CARRIES];
    unsigned count = 0, wrong[5] = {0, 0, 0, 0, 0};
    for (unsigned from = 0; from < 64; from++) {
        const uint64_t bit = (uint64_t)1 << from;
        for (unsigned to = from; to <= 128; to++) {
            uint64_t less;
            tap_random_bytes(&random_state, &less, sizeof less);
            add_counter(&count, counters, carrying(from, to), bit | (less & (bit - 1)));
        }
        add_counter(&count, counters, carrying(from, 128) >> 32 << 32, bit);
        add_counter(&count, counters, carrying(from, 128) >> 64 << 64, bit);
        add_counter(&count, counters, carrying(from, 128), 0);
    }
    int ran = bare_kernel_run("test_counters", CARRIES / THREADS, THREADS, 0,
                              (void *[BARE_POINTERS]){m->counters, m->blocks, m->moved});
    for (unsigned i = 0; i < count; i++) {
        const uint64_t blocks = m->blocks[i], low = (uint32_t)blocks;
        unsigned char ctr[BLOCK], gcm[BLOCK];
        memcpy(ctr, m->counters[i], BLOCK);
        memcpy(gcm, m->counters[i], BLOCK);
        counter_add(ctr, COUNTER_CTR, blocks);
        counter_add(gcm, COUNTER_GCM, blocks);
        wrong[0] += !is_counter(m->moved[i][0], counters[i] + blocks);
        wrong[1] += !is_counter(m->moved[i][1], counters[i] + low);
        wrong[2] += !is_counter(m->moved[i][2], gcm_sum(counters[i], blocks));
        wrong[3] += !is_counter(ctr, counters[i] + blocks);
        wrong[4] += !is_counter(gcm, gcm_sum(counters[i], blocks));
        memcpy(gcm, m->counters[i], BLOCK);
        const uint64_t until = counter_until_wrap(m->counters[i]);
        counter_add(gcm, COUNTER_GCM, until);
        wrong[4] +=
            until == 0 || until > (uint64_t)1 << 32 || !is_counter(gcm, counters[i] >> 32 << 32);
    }
    tap_ok(ran && wrong[0] == 0, "CTR in kernels: carries from each of 64 bits to each of 128");
    tap_ok(ran && wrong[1] == 0, "CTR of messages: carries from each of 32 bits to each of 128");
    tap_ok(ran && wrong[2] == 0, "GCM of messages: 32 bits count");
    tap_ok(wrong[3] == 0, "CTR on the CPU: carries from each of 64 bits to each of 128");
    tap_ok(wrong[4] == 0, "GCM on the CPU: 32 bits count, and their wrap is foreseen");
}

/* Counters that are 0 to 8 blocks before a carry out of the last word, up to each bit above. */
static void check_rows(void)
{
    static wide counters[CARRIES];
    unsigned count = 0, wrong = 0;
    for (unsigned to = 32; to <= 128; to++)
        for (unsigned before = 0; before <= ROWS; before++, count++) {
            counters[count] = carrying(32, to) >> 32 << 32 | (uint32_t)(0 - before);
            write_counter(m->counters[count], counters[count]);
        }
    int ran = bare_kernel_run("test_counters_in_rows", (count - 1) / THREADS + 1, THREADS, 0,
                              (void *[BARE_POINTERS]){m->counters, m->rows});
    for (unsigned i = 0; i < count; i++)
        for (unsigned row = 0; row < ROWS; row++) {
            uint32_t block[4];
            for (unsigned word = 0; word < 4; word++)
                block[word] = m->rows[i][word][row];
            wrong += !is_counter((const unsigned char *)block, counters[i] + row);
        }
    tap_ok(ran && wrong == 0, "eight counters of a bitsliced lane: carries to each of 128 bits");
}

/* ---- Segments ----------------------------------------------------------------------------- */

static uint64_t blocks_of(uint64_t bytes)
{
    return (bytes + BLOCK - 1) / BLOCK;
}

/* Full segments are cut off while what is left is longer than one by two blocks or more. */
static uint32_t segments_of(uint64_t blocks, uint64_t segment)
{
    const uint64_t sure = blocks / segment < 4 ? 0 : blocks / segment - 4;
    uint32_t segments = 1 + (uint32_t)sure;
    for (blocks -= sure * segment; blocks > segment + 1; blocks -= segment)
        segments++;
    return segments;
}

static int is_cut(uint32_t n, uint32_t segment)
{
    const uint64_t bytes = m->bytes[n];
    const uint32_t segments = segments_of(blocks_of(bytes), segment), *s = m->segments[n];
    const uint32_t number = m->numbers[n] == UINT32_MAX ? segments - 1 : m->numbers[n];
    if (number >= segments)
        return s[0] == 0 && s[3] == 0;
    const uint64_t from = (uint64_t)number * segment, left = bytes - from * BLOCK;
    const int is_last = number == segments - 1;
    return s[0] == 1 && s[1] == from && s[2] == (is_last ? blocks_of(left) : segment) &&
           s[3] == (is_last ? left : (uint64_t)segment * BLOCK) && (s[4] != 0) == is_last;
}

static void add_segments(uint32_t *count, uint64_t bytes, uint32_t from, uint32_t to)
{
    for (uint32_t number = from; number <= to; number++, ++*count) {
        m->bytes[*count] = bytes;
        m->numbers[*count] = number;
    }
    m->bytes[*count] = bytes;
    m->numbers[(*count)++] = UINT32_MAX;
}

/* Each length up to some blocks more than three segments, and the longest ones. */
static void check_segments(uint32_t segment)
{
    const uint64_t most = min_u64((3 * (uint64_t)segment + 3) * BLOCK, 1600 * BLOCK);
    uint32_t count = 0, wrong = 0;
    for (uint64_t bytes = 0; bytes <= most; bytes++)
        add_segments(&count, bytes, 0, segments_of(blocks_of(bytes), segment));
    for (uint64_t less = 0; less < 64; less++) {
        const uint64_t bytes = GPUAES_QUEUE_BYTES - less;
        const uint32_t segments = segments_of(blocks_of(bytes), segment);
        add_segments(&count, bytes, segments < 3 ? 0 : segments - 3, segments);
    }
    m->arguments = (struct message_arguments){.bytes = (uint64_t)(uintptr_t)m->bytes,
                                              .count = count,
                                              .max_bytes = GPUAES_QUEUE_BYTES,
                                              .segment = segment,
                                              .mode = MESSAGE_CTR};
    int ran = bare_kernel_run("test_segments", (count - 1) / THREADS + 1, THREADS, 0,
                              (void *[BARE_POINTERS]){&m->arguments, m->numbers, m->segments});
    for (uint32_t n = 0; n < count; n++)
        wrong += !is_cut(n, segment);
    tap_ok(ran && wrong == 0, "segments of %u blocks: %u cuts", segment, count);
}

/* ---- Launches ------------------------------------------------------------------------------ */

/* A direct launch has a thread for each segment, and each message is in one block of threads. */
static int is_shaped(enum gpuaes_op op, int raw, uint32_t count, uint64_t bytes, unsigned *planned)
{
    struct message_arguments a = {
        .count = count, .max_bytes = (uint32_t)bytes, .op = op, .key_table = raw != 0};
    static const uint64_t totals[] = {0, 1, 4096, UINT64_MAX};
    const uint64_t total = totals[(count + bytes) % 4];
    const struct message_shape shape = kernels_message_shape(&kernels, op, 14, total, &a);
    const uint64_t blocks = blocks_of(bytes), grid = shape.kernel.grid;
    *planned += shape.is_planned != 0;
    if (shape.is_planned)
        return a.segment != 0 && shape.temp_bytes <= kernels_message_temp_bytes(op, count, bytes);
    return a.segments == segments_of(blocks, a.segment) && a.per_block != 0 &&
           a.per_block * a.segments <= shape.kernel.threads && grid * a.per_block >= count &&
           (grid - 1) * a.per_block < count;
}

static void check_shapes(enum gpuaes_op op, int raw)
{
    unsigned shapes = 0, planned = 0, wrong = 0;
    for (uint32_t count = 1; count <= 200; count += 1 + count / 16)
        for (uint64_t blocks = 1; blocks < 2500; blocks++, shapes++)
            wrong += !is_shaped(op, raw, count, blocks * BLOCK - (shapes % 2) * 15, &planned);
    tap_ok(wrong == 0 && planned > 0 && planned < shapes, "%s%s: %u launches, %u with a plan",
           op_names[op], raw ? " with raw keys" : "", shapes, planned);
}

/* The longest segments, of launches with the most text. */
static void check_longest_segments(void)
{
    static const struct {
        enum gpuaes_op op;
        int raw;
        uint32_t segment, least_part;
    } rows[] = {{GPUAES_CTR, 0, 128, 16},
                {GPUAES_CTR, 1, 128, 16},
                {GPUAES_GCM_DECRYPT, 0, 256, 32},
                {GPUAES_GCM_DECRYPT, 1, 512, 32},
                {GPUAES_CBC_ENCRYPT, 1, INT32_MAX, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct message_arguments a = {.count = 1 << 20,
                                      .max_bytes = 1 << 16,
                                      .op = rows[i].op,
                                      .key_table = rows[i].raw != 0};
        const struct message_shape shape = kernels_message_shape(&kernels, rows[i].op, 14, 0, &a);
        const size_t most = kernels_message_temp_bytes(rows[i].op, a.count, a.max_bytes);
        tap_ok(shape.is_planned && a.segment == rows[i].segment &&
                   a.least_part == rows[i].least_part && shape.temp_bytes <= most,
               "%s%s: segments of %u blocks, parts of %u or more", op_names[rows[i].op],
               rows[i].raw ? " with raw keys" : "", (unsigned)a.segment, (unsigned)a.least_part);
    }
}

static void check_segments_by_total(void)
{
    /* Of 64 KiB, so many that each lane has four segments of 100 blocks. */
    const uint32_t threads = kernels.message[MESSAGE_KIND_GCM][0].threads;
    const uint32_t some = 100 * 4 * (kernels.multiprocessors * threads + 1) / 4096;
    const struct {
        enum gpuaes_op op;
        uint32_t count, max_bytes;
        uint64_t total;
        uint32_t segment;
        const char *what;
    } rows[] = {
        {GPUAES_GCM_ENCRYPT, 3001, 1 << 20, 0, 256, "an unknown total"},
        {GPUAES_GCM_ENCRYPT, 3001, 1 << 20, 1 << 16, 16, "few long messages"},
        {GPUAES_GCM_ENCRYPT, 3001, 1 << 20, 1, 16, "less than a block"},
        {GPUAES_GCM_ENCRYPT, some, 1 << 16, UINT64_MAX, 128, "more than there may be"},
        {GPUAES_CTR, 1 << 24, 65568, 1, 32, "so little that their number would not fit"},
        {GPUAES_CBC_DECRYPT, 3001, 1 << 20, 1, 128, "none of a chain"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct message_arguments a = {
            .count = rows[i].count, .max_bytes = rows[i].max_bytes, .op = rows[i].op};
        const struct message_shape shape =
            kernels_message_shape(&kernels, a.op, 14, rows[i].total, &a);
        tap_ok(shape.is_planned && a.segment == rows[i].segment &&
                   shape.temp_bytes <= kernels_message_temp_bytes(a.op, a.count, a.max_bytes),
               "segments by a total that is %s: %u blocks", rows[i].what, (unsigned)a.segment);
    }
}

/* As many launches of CBC encryption fit side by side as a batch has under way. */
static void check_serial_shapes(void)
{
    struct kernels large = kernels;
    const unsigned least = 132 / STREAM_SET_SLOTS;
    unsigned wrong = 0;
    large.multiprocessors = 132;
    large.message[MESSAGE_KIND_ENCRYPT][0].threads = MESSAGE_LARGE_THREADS;
    for (uint32_t count = 1; count <= 132 * 512; count++) {
        struct message_arguments a = {.count = count, .max_bytes = 16384, .op = GPUAES_CBC_ENCRYPT};
        const struct message_shape shape =
            kernels_message_shape(&large, GPUAES_CBC_ENCRYPT, 14, 0, &a);
        const unsigned spread = (count - 1) / 132 + 1;
        wrong += shape.is_planned || shape.kernel.grid > 132 || a.per_block < spread ||
                 (count <= least * 256 && shape.kernel.grid > least) ||
                 (spread <= 256 && a.per_block > 256);
    }
    tap_ok(wrong == 0, "CBC encryption: the launches of a batch fit side by side");
}

int main(void)
{
    static const uint32_t sizes[] = {4, 8, 16, 32, 64, 128, 256, 512, INT32_MAX};
    static const enum gpuaes_op ops[] = {GPUAES_CTR,         GPUAES_ECB_DECRYPT,
                                         GPUAES_CBC_DECRYPT, GPUAES_CBC_ENCRYPT,
                                         GPUAES_GCM_ENCRYPT, GPUAES_XTS_ENCRYPT};
    tap_random_seed(&random_state);
    m = bare_kernels_open(&kernels, sizeof *m);
    if (!tap_ok(m != NULL, "the kernels are loaded"))
        return tap_done();
    check_carries();
    check_rows();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_segments(sizes[i]);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int raw = 0; raw < 2; raw++)
            check_shapes(ops[i], raw);
    check_longest_segments();
    check_segments_by_total();
    check_serial_shapes();
    return tap_done();
}
