/*
 * As many blocks as a round of messages that are described in device memory may have: numbers of
 * blocks have 32 bits, and some more are added to them. The kernels add up 256 messages of a
 * quarter of a GiB, and run what two warps take of the end; the text before that is not there, and
 * is not touched.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/launch/kernels.h"
#include "test/support/library.h"

enum { BLOCK = GPUAES_BLOCK, COUNT = 256, EACH = (1 << 24) - 4, ROWS = 8, SPANS = 2, MARGIN = 64 };
enum { SPAN = 32 * ROWS, ROOM = SPANS * SPAN * BLOCK };
#define MOST (UINT32_MAX - 1023) /* of a round: see cuda/device_batch/device_batch.c */
_Static_assert((uint64_t)COUNT *EACH == MOST, "as many as a round has at most");

/* In device memory, which the CPU of an emulated device reads as well. */
struct memory {
    uint64_t in[COUNT], out[COUNT], bytes[COUNT], iv[COUNT];
    uint32_t status[COUNT], tiles[COUNT][2], taken;
    _Alignas(16) uint32_t schedule[AES_BATCH_KEY_WORDS];
    _Alignas(16) struct aes_batch_message text[COUNT];
    uint32_t first[COUNT + 1];
    _Alignas(16) unsigned char ivs[BLOCK], before[MARGIN], end[ROOM], after[MARGIN];
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

/* The last message is `missing` blocks shorter, and ends where `end` does. */
static void describe(const struct gpuaes_key *key, const unsigned char *iv, uint32_t missing)
{
    memset(m, 0xee, sizeof *m);
    memcpy(m->schedule, key->encrypt, sizeof m->schedule);
    memcpy(m->ivs, iv, BLOCK);
    for (size_t i = 0; i < COUNT; i++) {
        m->bytes[i] = (uint64_t)(i == COUNT - 1 ? EACH - missing : EACH) * BLOCK;
        m->in[i] = m->out[i] = address(m->end) + ROOM - m->bytes[i];
        m->iv[i] = address(m->ivs);
    }
    tap_random_bytes(&random_state, m->end, sizeof m->end);
}

static int read_descriptions(const struct gpuaes_mode *mode, unsigned rounds)
{
    struct device_batch_arguments a = {
        .in = address(m->in),
        .out = address(m->out),
        .bytes = address(m->bytes),
        .iv = address(m->iv),
        .status = address(m->status),
        .text = address(m->text),
        .first = address(m->first),
        .tiles = address(m->tiles),
        .taken = address(&m->taken),
        .max_bytes = EACH * BLOCK,
        .iv_bytes = BLOCK,
        .mode = mode->batch_mode,
        .bad_argument = GPUAES_BAD_ARGUMENT,
        .gcm = {
            .schedules = address(m->schedule), .count = COUNT, .key_count = 1, .rounds = rounds}};
    const enum device_batch_kernel order[] = {DEVICE_BATCH_READ_KERNEL, DEVICE_BATCH_PLACE_KERNEL};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (kernels_launch_device_batch(&application, &kernels, order[i], &a, stream) !=
            DRV_SUCCESS)
            return 0;
    return finish();
}

static int sums_are_right(uint32_t missing)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < COUNT; i++, sum += EACH)
        if (m->status[i] != GPUAES_OK || m->first[i] != sum)
            return 0;
    return m->first[COUNT] == MOST - missing;
}

static int run_end(const struct gpuaes_key *key)
{
    struct aes_batch_arguments a = {.messages = address(m->text),
                                    .first = address(m->first),
                                    .keys = address(m->schedule),
                                    .taken = address(&m->taken),
                                    .parallel = COUNT,
                                    .to = UINT32_MAX};
    const struct kernels_batch_kind kind = {.many = 1,
                                            .key_size = key_size_index(key_size_of(key->rounds))};
    m->taken = kernels_batch_spans(&kernels, MOST) - SPANS;
    return kernels_launch_batch(&application, &kernels, &kind, &a, MOST, stream) == DRV_SUCCESS &&
           a.rows == ROWS && finish();
}

static int margins_are_whole(void)
{
    for (size_t i = 0; i < MARGIN; i++)
        if (m->before[i] != 0xee || m->after[i] != 0xee)
            return 0;
    return 1;
}

static void check(enum gpuaes_op op, uint32_t missing)
{
    static unsigned char expected[ROOM];
    const struct gpuaes_mode *mode = gpuaes_modes[op];
    unsigned char key[32], iv[BLOCK];
    struct gpuaes_key schedule;
    tap_random_bytes(&random_state, key, sizeof key);
    tap_random_bytes(&random_state, iv, sizeof iv);
    gpuaes_key_expand(&schedule, key, sizeof key);
    describe(&schedule, iv, missing);
    /* The spans begin so many blocks before the end. */
    size_t blocks = SPANS * SPAN - missing, at = ROOM - blocks * BLOCK;
    memcpy(expected, m->end, ROOM);
    if (mode->advance != NULL)
        mode->advance(iv, EACH - missing - blocks, NULL);
    reference(op, key, sizeof key, iv, m->end + at, expected + at, blocks * BLOCK);
    tap_ok(read_descriptions(mode, schedule.rounds) && sums_are_right(missing),
           "%s: %u blocks are added up", op_names[op], MOST - missing);
    tap_ok(run_end(&schedule) && memcmp(m->end, expected, ROOM) == 0 && margins_are_whole(),
           "%s: the last %zu of them are right", op_names[op], blocks);
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
    check(GPUAES_ECB_ENCRYPT, 0);
    check(GPUAES_ECB_ENCRYPT, 1 + (uint32_t)tap_random_below(&random_state, SPAN - 1));
    check(GPUAES_CTR, 0);
    check(GPUAES_CTR, 1 + (uint32_t)tap_random_below(&random_state, SPAN - 1));
    return tap_done();
}
