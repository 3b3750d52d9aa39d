/*
 * The plan of a launch of messages: a tile of messages is ordered by what is left behind full
 * segments, and each message with full segments is listed once. And as many full segments as 32
 * bits can number: of messages of 1 GiB, of which the kernels do the last segments; the text before
 * these is not there, and is not touched. And the launch of shorter ones, whose last full segments
 * are cut into parts.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/minmax.h"
#include "cuda/launch/kernels_message.h"
#include "test/support/library.h"

enum { BLOCK = GPUAES_BLOCK, LANES = 32, SEGMENT = 16, LONG = 1024, MANY = 50000, MARGIN = 64 };
/* Of a message: the full segments of the last two groups, the end, and what shifts it. */
enum { ROOM = (2 * LANES * SEGMENT + SEGMENT + 2) * BLOCK };

/* In device memory, which the CPU of an emulated device reads as well. */
struct memory {
    _Alignas(16) struct message_queue plan;
    _Alignas(16) struct message_sum sums[MANY];
    struct message_full full[MANY];
    uint64_t in[MANY], bytes[MANY], iv[MANY], tag[LONG], keys[LONG];
    uint32_t order[MANY], status[MANY];
    unsigned char ivs[LONG][BLOCK], tags[LONG][BLOCK], key[64];
    unsigned char before[MARGIN], text[LONG][ROOM], after[MARGIN];
    unsigned char temp[LONG * 64]; /* of a launch */
};

static struct kernels kernels;
static drv_stream stream;
static struct memory *m;

static uint64_t address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static int finish(void)
{
    while (emulator_under_way() != 0)
        usleep(1000);
    return application.stream_query(stream) == DRV_SUCCESS;
}

static uint32_t blocks_of(uint32_t n)
{
    return (uint32_t)((m->bytes[n] + BLOCK - 1) / BLOCK);
}

/* Of a message: those before its end. */
static uint32_t full_of(uint32_t n)
{
    return blocks_of(n) <= SEGMENT + 1 ? 0 : (blocks_of(n) - 2) / SEGMENT;
}

static struct message_arguments arguments_of(enum gpuaes_op op, uint32_t count)
{
    const struct gpuaes_mode *mode = gpuaes_modes[op];
    return (struct message_arguments){.in = address(m->in),
                                      .out = address(m->in),
                                      .bytes = address(m->bytes),
                                      .iv = address(m->iv),
                                      .status = address(m->status),
                                      .plan = address(&m->plan),
                                      .order = address(m->order),
                                      .full = address(m->full),
                                      .sums = address(m->sums),
                                      .count = count,
                                      .max_bytes = GPUAES_QUEUE_BYTES,
                                      .iv_bytes = BLOCK,
                                      .segment = SEGMENT,
                                      .op = op,
                                      .mode = mode->message_mode,
                                      .decrypts = mode->decrypts != 0,
                                      .bad_argument = GPUAES_BAD_ARGUMENT,
                                      .bad_tag = GPUAES_BAD_TAG};
}

static unsigned plan_threads(void)
{
    return min_unsigned(MESSAGE_LARGE_THREADS, kernels.max_threads);
}

static int plan(struct message_arguments *a)
{
    const unsigned threads = plan_threads(), words = MESSAGE_CLASSES + 2 * threads + 2;
    m->plan = (struct message_queue){0};
    return kernels_launch(&application, kernels.message_plan,
                          (a->count - 1) / (threads * MESSAGE_TILE) + 1, threads,
                          words * (unsigned)sizeof(uint32_t), stream, a) == DRV_SUCCESS &&
           finish();
}

/* Each message with full segments has its place, one behind the other. */
static int full_is_right(uint32_t count)
{
    uint64_t segments = 0, entries = 0;
    for (uint32_t n = 0; n < count; n++) {
        segments += full_of(n);
        entries += full_of(n) != 0;
        if (m->sums[n].hash[0] != 0 || m->sums[n].hash[1] != 0 || m->sums[n].blocks != 0)
            return 0;
    }
    if (segments > UINT32_MAX || m->plan.full != (entries << 32 | segments))
        return 0;
    segments = 0;
    for (uint64_t i = 0; i < entries; i++) {
        uint32_t n = m->full[i].message;
        if (n >= count || full_of(n) == 0 || m->full[i].begin != segments ||
            m->sums[n].begin != segments)
            return 0;
        segments += full_of(n);
    }
    return segments == (uint32_t)m->plan.full;
}

/* A permutation of each tile, from long ends to short ones: classes are 3 % wide. */
static int order_is_right(uint32_t count)
{
    static unsigned char is_listed[MANY];
    const uint32_t tile = plan_threads() * MESSAGE_TILE;
    memset(is_listed, 0, sizeof is_listed);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t n = m->order[i];
        if (n / tile != i / tile || n >= count || is_listed[n]++)
            return 0;
        if (i % tile == 0)
            continue;
        const uint32_t before = m->order[i - 1];
        const uint32_t end = blocks_of(n) - full_of(n) * SEGMENT;
        if (end > (blocks_of(before) - full_of(before) * SEGMENT) * 33 / 32)
            return 0;
    }
    return 1;
}

/* Each octave is as likely as another; a tenth has no text. */
static void test_order(void)
{
    struct message_arguments a = arguments_of(GPUAES_CTR, MANY);
    for (uint32_t n = 0; n < MANY; n++)
        m->bytes[n] =
            tap_random_below(&random_state, 10) == 0
                ? 0
                : tap_random_below(&random_state, (size_t)1 << tap_random_below(&random_state, 25));
    const int planned = plan(&a);
    tap_ok(planned && full_is_right(MANY) && order_is_right(MANY),
           "%d messages, of which %u have full segments, are in order", MANY,
           (unsigned)(m->plan.full >> 32));
    a.segment = INT32_MAX;
    a.full = a.sums = 0;
    for (uint32_t n = 0; n < MANY; n++)
        m->bytes[n] = m->bytes[n] % (SEGMENT * BLOCK);
    tap_ok(plan(&a) && m->plan.full == 0 && order_is_right(MANY),
           "%d messages of a segment each are in order", MANY);
}

/* Each message ends where its room does. */
static void describe_long(enum gpuaes_op op, int is_ragged)
{
    memset(m->before, 0xee, MARGIN);
    memset(m->after, 0xee, MARGIN);
    tap_random_bytes(&random_state, m->text, sizeof m->text);
    tap_random_bytes(&random_state, m->ivs, sizeof m->ivs);
    for (uint32_t n = 0; n < LONG; n++) {
        size_t missing = is_ragged ? tap_random_below(&random_state, SEGMENT * BLOCK) : 0;
        m->bytes[n] = GPUAES_QUEUE_BYTES - (op == GPUAES_CTR ? missing : missing & ~(size_t)15);
        m->in[n] = address(m->text[n]) + ROOM - m->bytes[n];
        m->iv[n] = address(m->ivs[n]);
    }
}

/* What becomes of a message from `block` on. */
static void expect_end(enum gpuaes_op op, const unsigned char *key, uint32_t n, uint64_t block,
                       unsigned char expected[LONG][ROOM])
{
    const struct gpuaes_mode *mode = gpuaes_modes[op];
    const size_t bytes = m->bytes[n] - block * BLOCK, at = ROOM - bytes;
    unsigned char iv[BLOCK], last[2][BLOCK] = {{0}};
    memcpy(iv, m->ivs[n], BLOCK);
    if (mode->advance != NULL)
        mode->advance(iv, block, NULL);
    reference(op, key, 32, iv, m->text[n] + at, expected[n] + at, bytes / BLOCK * BLOCK);
    if (bytes % BLOCK == 0 || mode->advance == NULL)
        return;
    memcpy(last[0], m->text[n] + ROOM - bytes % BLOCK, bytes % BLOCK);
    memcpy(iv, m->ivs[n], BLOCK);
    mode->advance(iv, m->bytes[n] / BLOCK, NULL);
    reference(op, key, 32, iv, last[0], last[1], BLOCK);
    memcpy(expected[n] + ROOM - bytes % BLOCK, last[1], bytes % BLOCK);
}

static int is_right(unsigned char expected[LONG][ROOM])
{
    int right = memcmp(m->text, expected, sizeof m->text) == 0;
    for (size_t i = 0; i < MARGIN; i++)
        right &= m->before[i] == 0xee && m->after[i] == 0xee;
    return right;
}

static void test_long(enum gpuaes_op op, int is_ragged)
{
    static unsigned char expected[LONG][ROOM];
    unsigned char key[32];
    struct gpuaes_key schedule;
    tap_random_bytes(&random_state, key, sizeof key);
    gpuaes_key_expand(&schedule, key, sizeof key);
    describe_long(op, is_ragged);
    struct message_arguments a = arguments_of(op, LONG);
    memcpy(a.round_key, gpuaes_modes[op]->decrypts ? schedule.decrypt : schedule.encrypt,
           sizeof a.round_key);
    const int planned = plan(&a) && full_is_right(LONG);
    const uint32_t full = (uint32_t)m->plan.full, groups = (full + LANES - 1) / LANES - 2;
    tap_ok(planned && full > UINT32_MAX - 2 * LONG, "%s: %u full segments", op_names[op], full);
    if (!planned)
        return;

    const struct message_full last = m->full[LONG - 1];
    memcpy(expected, m->text, sizeof expected);
    for (uint32_t n = 0; n < LONG; n++)
        expect_end(op, key, n,
                   (n == last.message ? groups * LANES - last.begin : full_of(n)) *
                       (uint64_t)SEGMENT,
                   expected);
    struct message_arguments chosen = a; /* for what the launch is shaped by */
    kernels.forced = KERNEL_TWO_TABLE;   /* its arguments are those alone */
    const struct message_shape shape =
        kernels_message_shape(&kernels, op, schedule.rounds, 0, &chosen);
    m->plan.taken = groups;
    tap_ok(kernels_launch(&application, shape.kernel.function, shape.kernel.grid,
                          shape.kernel.threads, shape.kernel.shared, stream, &a) == DRV_SUCCESS &&
               finish() && is_right(expected),
           "%s: the last of them, and the ends of messages%s, are right", op_names[op],
           is_ragged ? " of other lengths" : "");
}

/* ---- Parts ----------------------------------------------------------------------- */

/* What becomes of messages that begin where their room does, and are in place. */
static struct {
    unsigned char text[LONG][ROOM], tags[LONG][BLOCK];
    uint32_t status[LONG];
} expected_short;

/* Of 64 messages one is too long, and one of decryption has a wrong tag. */
enum { TOO_LONG = 3, FORGED = 5 };

static void describe_short(enum gpuaes_op op)
{
    const size_t least = op_is_xts(op) ? BLOCK : 0;
    tap_random_bytes(&random_state, m->text, sizeof m->text);
    tap_random_bytes(&random_state, m->ivs, sizeof m->ivs);
    for (uint32_t n = 0; n < LONG; n++) {
        size_t bytes = least + tap_random_below(&random_state, ROOM + 1 - least);
        m->bytes[n] = op == GPUAES_ECB_DECRYPT ? bytes & ~(size_t)15 : bytes;
        m->in[n] = address(m->text[n]);
        m->iv[n] = address(m->ivs[n]);
        m->tag[n] = address(m->tags[n]);
        m->status[n] = GPUAES_FAULT;
    }
}

/* `key` is that of the text and, behind it, that of tweaks. */
static void expect_short(enum gpuaes_op op, const unsigned char key[64])
{
    memcpy(expected_short.text, m->text, sizeof m->text);
    for (uint32_t n = 0; n < LONG; n++) {
        const struct reference_message message = {.op = op,
                                                  .key = key,
                                                  .key_bytes = op_is_xts(op) ? 64 : 32,
                                                  .iv = m->ivs[n],
                                                  .iv_bytes = BLOCK};
        const int is_forged = op == GPUAES_GCM_DECRYPT && n % 64 == FORGED;
        reference_run(&message, m->text[n], expected_short.text[n], m->bytes[n],
                      expected_short.tags[n]);
        expected_short.status[n] = is_forged ? GPUAES_BAD_TAG : GPUAES_OK;
        if (is_forged) {
            expected_short.tags[n][n % BLOCK] ^= 1;
            memset(expected_short.text[n], 0, m->bytes[n]);
        }
        if (n % 64 == TOO_LONG) {
            expected_short.status[n] = GPUAES_BAD_ARGUMENT;
            memset(expected_short.text[n], 0, ROOM);
            m->bytes[n] = ROOM + BLOCK;
        }
    }
    if (op == GPUAES_GCM_DECRYPT)
        memcpy(m->tags, expected_short.tags, sizeof m->tags);
}

static int short_are_right(enum gpuaes_op op)
{
    int right = memcmp(m->text, expected_short.text, sizeof m->text) == 0 &&
                memcmp(m->status, expected_short.status, sizeof expected_short.status) == 0;
    for (uint32_t n = 0; n < LONG && op_is_gcm(op); n++)
        right &=
            n % 64 == TOO_LONG || memcmp(m->tags[n], expected_short.tags[n], sizeof *m->tags) == 0;
    return right;
}

/*
 * With segments of 512 blocks the launch has so few full ones that all of them are cut, and into
 * more than two parts where these may be so short; with short segments most are not.
 */
static void test_parts(enum gpuaes_op op, int raw, uint32_t segment, uint32_t least_part)
{
    unsigned char key[64];
    struct gpuaes_key schedule, tweak_schedule;
    tap_random_bytes(&random_state, key, sizeof key);
    gpuaes_key_expand(&schedule, key, 32);
    gpuaes_key_expand(&tweak_schedule, key + 32, 32);
    describe_short(op);
    expect_short(op, key);
    struct message_arguments a = arguments_of(op, LONG);
    a.max_bytes = ROOM;
    a.tag = address(m->tag);
    a.tag_bytes = BLOCK;
    a.decrypts |= op == GPUAES_GCM_DECRYPT;
    memcpy(a.round_key, gpuaes_modes[op]->decrypts ? schedule.decrypt : schedule.encrypt,
           sizeof a.round_key);
    memcpy(a.tweak_key, tweak_schedule.encrypt, sizeof a.tweak_key);
    memcpy(m->key, key, sizeof key);
    for (uint32_t n = 0; n < LONG; n++)
        m->keys[n] = address(m->key);
    a.keys = raw ? address(m->keys) : 0;
    a.key_bytes = op_is_xts(op) ? 64 : 32;
    kernels.forced = KERNEL_SIZES;
    const struct message_shape shape = kernels_message_shape(&kernels, op, schedule.rounds, 0, &a);
    a.segment = segment;
    a.least_part = least_part;
    tap_ok(
        shape.is_planned &&
            kernels_launch_message(&application, &kernels, &shape, &a, address(m->temp), stream) ==
                DRV_SUCCESS &&
            finish() && short_are_right(op),
        "%s%s: messages of up to %d bytes are right, of the last segments of %u blocks parts of %u",
        op_names[op], raw ? " with raw keys" : "", ROOM, (unsigned)segment, (unsigned)least_part);
}

int main(void)
{
    drv_device device;
    drv_ptr memory;
    tap_random_seed(&random_state);
    become_an_application(0);
    if (application.device_get(&device, 0) != DRV_SUCCESS ||
        kernels_load(&application, device, &kernels) != DRV_SUCCESS ||
        application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS ||
        application.mem_alloc(&memory, sizeof *m) != DRV_SUCCESS)
        return EXIT_FAILURE;
    m = (struct memory *)(uintptr_t)memory;
    test_order();
    for (int is_ragged = 0; is_ragged < 2; is_ragged++) {
        test_long(GPUAES_CTR, is_ragged);
        test_long(GPUAES_ECB_DECRYPT, is_ragged);
    }
    for (uint32_t segment = 2; segment <= 512; segment *= 16)
        for (uint32_t least = segment / 2; least != 0; least /= 8) {
            test_parts(GPUAES_CTR, 0, segment, least);
            test_parts(GPUAES_GCM_ENCRYPT, 0, segment, least);
            test_parts(GPUAES_GCM_DECRYPT, 0, segment, least);
            test_parts(GPUAES_XTS_DECRYPT, 0, segment, least);
            test_parts(GPUAES_ECB_DECRYPT, 0, segment, least);
        }
    test_parts(GPUAES_GCM_ENCRYPT, 1, 512, 32);
    test_parts(GPUAES_GCM_DECRYPT, 1, 512, 32);
    test_parts(GPUAES_XTS_DECRYPT, 1, 128, 16);
    return tap_done();
}
