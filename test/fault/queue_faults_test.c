/*
 * gpuaes_queue() while every function of the driver fails, once, at each of its calls, or the
 * device is lost there: what it says is true, what is reported as queued is right unless the device
 * fails, where memory is short nothing is queued, and what went wrong once can be repeated.
 * Temporary memory comes from the device's pool, and all of it goes back.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/application.h"
#include "test/support/faulty_calls.h"

enum { BLOCK = GPUAES_BLOCK, KEY = 32, KEYS = 3, COUNT = 60, LEN = 40 * BLOCK, AAD = 20, TAG = 16 };

enum key_kind { ONE_KEY, KEY_TABLE, KEY_POINTERS };

/* COUNT messages are more than one launch takes on an emulated device; a few are not. */
static const struct row {
    const char *name;
    enum gpuaes_op op;
    enum key_kind kind;
    size_t count;
    unsigned launches; /* of kernels, without a self-test */
} rows[] = {
    {"CTR, a few messages", GPUAES_CTR, ONE_KEY, 10, 1},
    {"CTR", GPUAES_CTR, KEY_TABLE, COUNT, 2},
    {"CBC decryption", GPUAES_CBC_DECRYPT, KEY_POINTERS, COUNT, 3},
    {"GCM encryption, a few messages", GPUAES_GCM_ENCRYPT, KEY_TABLE, 10, 1},
    {"GCM decryption", GPUAES_GCM_DECRYPT, ONE_KEY, COUNT, 2},
    {"XTS decryption", GPUAES_XTS_DECRYPT, KEY_TABLE, COUNT, 2},
};

/* ---- Messages -------------------------------------------------------------------------------- */

/* As it lies in device memory, which the CPU of an emulated device reads as well. */
struct memory {
    const void *in[COUNT], *aad[COUNT], *key_at[COUNT];
    void *out[COUNT];
    size_t bytes[COUNT], aad_bytes[COUNT];
    unsigned char *tag[COUNT], *iv[COUNT];
    uint32_t key[COUNT], status[COUNT];
    unsigned char text[COUNT][LEN], result[COUNT][LEN], ivs[COUNT][BLOCK], aads[COUNT][AAD],
        tags[COUNT][TAG], keys[KEYS][KEY];
};

struct test {
    const struct row *row;
    struct memory *memory;
    unsigned char keys[KEYS][KEY], expected[COUNT][LEN], tags[COUNT][TAG];
    drv_stream stream;
};

static void expect_message(struct test *t, size_t i)
{
    const struct memory *m = t->memory;
    const struct reference_message message = {
        .op = t->row->op,
        .key = t->keys[t->row->kind == ONE_KEY ? 0 : i % KEYS],
        .key_bytes = KEY,
        .iv = m->ivs[i],
        .iv_bytes = 12,
        .aad = m->aads[i],
        .aad_bytes = AAD,
    };
    reference_run(&message, m->text[i], t->expected[i], LEN, t->tags[i]);
}

static void fill(struct test *t)
{
    struct memory *m = t->memory;
    tap_random_bytes(&random_state, m->text, sizeof m->text);
    tap_random_bytes(&random_state, m->ivs, sizeof m->ivs);
    tap_random_bytes(&random_state, m->aads, sizeof m->aads);
    tap_random_bytes(&random_state, t->keys, sizeof t->keys);
    memcpy(m->keys, t->keys, sizeof t->keys);
    for (size_t i = 0; i < t->row->count; i++) {
        m->in[i] = m->text[i];
        m->out[i] = m->result[i];
        m->bytes[i] = LEN;
        m->iv[i] = m->ivs[i];
        m->aad[i] = m->aads[i];
        m->aad_bytes[i] = AAD;
        m->tag[i] = m->tags[i];
        m->key[i] = (uint32_t)i % KEYS;
        m->key_at[i] = m->keys[i % KEYS];
        m->status[i] = 0xee;
        expect_message(t, i);
        memcpy(m->tags[i], t->row->op == GPUAES_GCM_DECRYPT ? t->tags[i] : m->aads[i], TAG);
    }
    memset(m->result, 0, sizeof m->result);
}

static int is_right(const struct test *t)
{
    for (size_t i = 0; i < t->row->count; i++)
        if (t->memory->status[i] != GPUAES_OK ||
            memcmp(t->memory->result[i], t->expected[i], LEN) != 0 ||
            (op_is_gcm(t->row->op) && memcmp(t->memory->tags[i], t->tags[i], TAG) != 0))
            return 0;
    return 1;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* `schedule` must stay until the messages are queued. */
static struct gpuaes_messages messages_of(const struct test *t, struct gpuaes_key *schedule)
{
    struct memory *m = t->memory;
    struct gpuaes_messages messages = {.struct_bytes = sizeof messages,
                                       .op = t->row->op,
                                       .count = t->row->count,
                                       .max_bytes = LEN,
                                       .key_bytes = KEY,
                                       .in = m->in,
                                       .out = m->out,
                                       .bytes = m->bytes,
                                       .iv = (const unsigned char *const *)m->iv,
                                       .iv_bytes = op_is_gcm(t->row->op) ? 12 : BLOCK,
                                       .aad = m->aad,
                                       .aad_bytes = m->aad_bytes,
                                       .tag = m->tag,
                                       .tag_bytes = TAG,
                                       .status = m->status};
    if (t->row->kind == ONE_KEY) {
        gpuaes_key_expand(schedule, t->keys[0], KEY);
        messages.key = schedule;
    } else if (t->row->kind == KEY_TABLE) {
        messages.key_table = m->keys;
        messages.key_count = KEYS;
        messages.key_index = m->key;
    } else {
        messages.keys = m->key_at;
    }
    return messages;
}

static int is_untouched(const struct test *t)
{
    for (size_t i = 0; i < t->row->count; i++)
        if (t->memory->status[i] != 0xee)
            return 0;
    return 1;
}

static struct test test;
static size_t bytes_before; /* of device memory */

static int prepare(const void *row)
{
    test.row = row;
    test.memory = take(GPUAES_DEVICE, sizeof *test.memory);
    if (test.memory == NULL ||
        application.stream_create(&test.stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS)
        return 0;
    fill(&test);
    bytes_before = emulator_device_bytes();
    return 1;
}

/* Without a fault, the launches are as many as the row says; the first GCM has its self-test's. */
static int launches_are_right(const struct row *r)
{
    const unsigned launches = emulator_launches(NULL);
    return launches >= r->launches && (op_is_gcm(r->op) || launches == r->launches);
}

static int run(const void *row, int *status)
{
    struct gpuaes_key schedule;
    const struct gpuaes_messages messages = messages_of(&test, &schedule);
    (void)row;
    *status = gpuaes_queue(&messages, NULL, 0, test.stream, 0);
    const int failed = !application_wait(test.stream);
    if (*status == GPUAES_OK)
        return failed || (is_right(&test) && launches_are_right(test.row));
    return *status == GPUAES_FAULT || is_untouched(&test);
}

/* What was short once is there again, and all temporary memory goes back. */
static int again(const void *row, const char *fault)
{
    int status;
    fill(&test);
    return run(row, &status) && status == GPUAES_OK && is_right(&test) &&
           (strstr(fault, "lost") != NULL || op_is_gcm(test.row->op) ||
            emulator_device_bytes() == bytes_before);
}

/* What a call may say of a fault: not that an argument is wrong, the stream least of all. */
static int is_known(const void *row, const char *fault, int status)
{
    (void)row;
    (void)fault;
    return status == GPUAES_OK || status == GPUAES_NO_MEMORY || status == GPUAES_FAULT ||
           status == GPUAES_NOT_READY;
}

/* A driver without pools: what needs temporary memory is given some. */
static int run_without_pools(const void *row)
{
    struct gpuaes_key schedule;
    emulator_configure("pools=0");
    if (!starts_with(NULL))
        return 1;
    become_an_application(0);
    if (!prepare(row))
        return 2;
    struct gpuaes_messages messages = messages_of(&test, &schedule);
    const size_t bytes = gpuaes_queue_temp_bytes(&messages);
    if (gpuaes_queue(&messages, NULL, 0, test.stream, 0) != GPUAES_BAD_ARGUMENT ||
        strncmp(gpuaes_queue_error(), "temp is NULL", 12) != 0 || !is_untouched(&test))
        return 3;
    void *temp = take(GPUAES_DEVICE, bytes);
    if (temp == NULL || gpuaes_queue(&messages, temp, bytes, test.stream, 0) != GPUAES_OK ||
        !application_wait(test.stream) || !is_right(&test))
        return 4;
    messages.count = 1;
    return gpuaes_queue(&messages, NULL, 0, test.stream, 0) == GPUAES_OK &&
                   application_wait(test.stream)
               ? 0
               : 5;
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        faulty_call_check(&(struct faulty_call){.name = rows[i].name,
                                                .row = &rows[i],
                                                .is_queued = 1,
                                                .prepare = prepare,
                                                .run = run,
                                                .again = again,
                                                .knows = is_known});
    child_ok(run_without_pools, &rows[1], "without memory pools, temporary memory must be given");
    return tap_done();
}
