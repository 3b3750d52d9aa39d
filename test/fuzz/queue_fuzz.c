/*
 * gpuaes_queue() with any messages of every operation, one key or many, at any alignment: statuses,
 * texts and tags are those of libcrypto, what is out of its range is refused, message by message or
 * as a whole, and no byte next to an output changes.
 *
 * Left out is what no library can see: addresses that are wrong, and messages that overlap each
 * other.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/fuzz/fuzz.h"
#include "test/support/library.h"

enum { MOST = 64, REGION = 256 << 10, MOST_BYTES = 3000, MOST_AAD = 300, MOST_IV = 80 };
enum { TAG = 16, KEYS = 5, TEMP = 1 << 20, BLOCK = GPUAES_BLOCK };

/* In device memory, which the CPU of an emulated device reads as well. */
static struct memory {
    const void *in[MOST], *aad[MOST], *key_at[MOST];
    void *out[MOST];
    size_t bytes[MOST], aad_bytes[MOST];
    const unsigned char *iv[MOST];
    unsigned char *tag[MOST];
    uint32_t key[MOST], status[MOST];
    unsigned char keys[KEYS * 64], ivs[MOST][MOST_IV], aads[MOST][MOST_AAD], tags[MOST][TAG],
        text[REGION], result[REGION];
} * memory;
static unsigned char *temp;
static drv_stream stream;

/* What memory has before, and is to have afterwards. */
static unsigned char text[REGION], expected[REGION], expected_tags[MOST][TAG];
static enum gpuaes_status expected_status[MOST];

enum key_kind { ONE_KEY, KEY_TABLE, KEY_ORDER, KEY_POINTERS, KEY_KINDS };

struct call {
    struct input in;
    struct gpuaes_messages messages;
    enum key_kind kind;
    int in_place, is_right;
    struct gpuaes_key schedule[2];
    size_t used; /* of the region */
};

/* ---- The reference ------------------------------------------------------------------------- */

static void expect_message(struct call *c, size_t i, size_t at, int wrong_tag)
{
    static unsigned char made[MOST_BYTES + 2 * BLOCK];
    unsigned char tag[TAG];
    const size_t key = c->kind == ONE_KEY ? 0 : memory->key[i];
    const struct reference_message message = {
        .op = c->messages.op,
        .key = memory->keys + key * c->messages.key_bytes,
        .key_bytes = c->messages.key_bytes,
        .iv = memory->ivs[i],
        /* Without an IV the call is refused. */
        .iv_bytes = c->messages.iv_bytes != 0 ? c->messages.iv_bytes : 12,
        .aad = memory->aads[i],
        .aad_bytes = c->messages.aad != NULL ? memory->aad_bytes[i] : 0,
    };
    reference_run(&message, text + at, made, memory->bytes[i], tag);
    if (c->messages.op == GPUAES_GCM_DECRYPT) {
        memcpy(memory->tags[i], tag, c->messages.tag_bytes);
        if (wrong_tag) {
            memory->tags[i][(size_t)wrong_tag % c->messages.tag_bytes] ^= 0x10;
            expected_status[i] = GPUAES_BAD_TAG;
            memset(made, 0, memory->bytes[i]);
        }
        memcpy(expected_tags[i], memory->tags[i], TAG);
    } else if (op_is_gcm(c->messages.op)) {
        memcpy(expected_tags[i], tag, c->messages.tag_bytes);
    }
    memcpy(expected + at, made, memory->bytes[i]);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static size_t take_length(struct call *c)
{
    const unsigned how = take_byte(&c->in);
    size_t bytes = how < 128 ? how : take_number(&c->in, 2) % (c->messages.max_bytes + 1);
    if (bytes > c->messages.max_bytes)
        bytes = c->messages.max_bytes;
    if (c->messages.op < GPUAES_GCM_ENCRYPT && c->messages.op != GPUAES_CTR)
        bytes &= ~(size_t)15;
    return op_is_xts(c->messages.op) && bytes < BLOCK ? BLOCK : bytes;
}

/* Changes what is said of a message, so that it is refused. Returns how much of it is zeroed. */
static size_t spoil(struct call *c, size_t i, unsigned how)
{
    const size_t max = c->messages.max_bytes;
    expected_status[i] = GPUAES_BAD_ARGUMENT;
    if (op_is_gcm(c->messages.op) && c->messages.aad != NULL && how % 3 == 0) {
        memory->aad_bytes[i] = GPUAES_QUEUE_AAD_BYTES + 1 + (size_t)how;
    } else if (c->kind == KEY_TABLE && how % 3 == 1) {
        memory->key[i] = (uint32_t)c->messages.key_count + how;
    } else {
        memory->bytes[i] = how % 2 ? SIZE_MAX - how : max + 1 + how;
        return max;
    }
    return memory->bytes[i];
}

static int has_equal_halves(const struct call *c, size_t i)
{
    const size_t half = c->messages.key_bytes / 2;
    const unsigned char *key = memory->keys + memory->key[i] * c->messages.key_bytes;
    return memcmp(key, key + half, half) == 0;
}

/* Returns 0 when the region is full. */
static int add_message(struct call *c, size_t i)
{
    struct memory *m = memory;
    const unsigned how = take_byte(&c->in), extra = take_byte(&c->in);
    const size_t at = c->used + extra % 19;
    if (at + c->messages.max_bytes + BLOCK > REGION)
        return 0;
    m->bytes[i] = take_length(c);
    m->in[i] = (c->in_place ? m->result : m->text) + at;
    m->out[i] = m->result + at;
    memset(m->ivs[i], (int)(0xf0 + how % 16), MOST_IV);
    take_bytes(&c->in, m->ivs[i] + 14, 2);
    m->iv[i] = m->ivs[i];
    memset(m->aads[i], (int)extra, MOST_AAD);
    m->aad[i] = m->aads[i];
    m->aad_bytes[i] = extra % 4 == 0 ? (size_t)extra + 40 : extra % 32;
    m->key[i] = c->kind == KEY_ORDER ? (uint32_t)i : how % KEYS;
    m->key_at[i] = m->keys + m->key[i] * c->messages.key_bytes;
    m->tag[i] = m->tags[i];
    memset(m->tags[i], 0xee, TAG);
    memset(expected_tags[i], 0xee, TAG);
    expected_status[i] = GPUAES_OK;
    size_t zeros = m->bytes[i];
    if (how >= 240)
        zeros = spoil(c, i, extra);
    else if (c->messages.op == GPUAES_XTS_ENCRYPT && c->kind != ONE_KEY && has_equal_halves(c, i))
        expected_status[i] = GPUAES_BAD_ARGUMENT;
    if (expected_status[i] == GPUAES_OK)
        expect_message(c, i, at, how >= 224 ? (int)extra + 1 : 0);
    else
        memset(expected + at, 0, zeros);
    c->used = at + zeros;
    return 1;
}

static void take_keys(struct call *c)
{
    struct gpuaes_messages *g = &c->messages;
    const unsigned how = take_byte(&c->in);
    g->key_bytes = op_is_xts(c->messages.op) ? 32 + 32 * (how & 1) : 16 + 8 * (how % 3);
    c->kind = (enum key_kind)(how / 3 % KEY_KINDS);
    for (size_t i = 0; i < sizeof memory->keys; i++)
        memory->keys[i] = (unsigned char)(i * how >> 3);
    for (unsigned i = 0; i < KEYS; i++)
        memory->keys[i * g->key_bytes] = (unsigned char)i;
    if (how >= 240) /* of XTS: two equal halves */
        memset(memory->keys, 1, sizeof memory->keys);
    const size_t half = op_is_xts(c->messages.op) ? g->key_bytes / 2 : g->key_bytes;
    (void)gpuaes_key_expand(&c->schedule[0], memory->keys, half);
    (void)gpuaes_key_expand(&c->schedule[1], memory->keys + g->key_bytes - half, half);
    if (c->kind == ONE_KEY) {
        g->key = &c->schedule[0];
        g->tweak_key = op_is_xts(c->messages.op) ? &c->schedule[1] : NULL;
        if (g->op == GPUAES_XTS_ENCRYPT)
            c->is_right &= memcmp(memory->keys, memory->keys + half, half) != 0;
    } else if (c->kind == KEY_POINTERS) {
        g->keys = memory->key_at;
    } else {
        g->key_table = memory->keys;
        g->key_count = KEYS;
        g->key_index = c->kind == KEY_TABLE ? memory->key : NULL;
    }
}

/* Some of them are out of their range. */
static void take_sizes(struct call *c)
{
    struct gpuaes_messages *g = &c->messages;
    const unsigned how = take_byte(&c->in);
    g->max_bytes = BLOCK + take_number(&c->in, 2) % (MOST_BYTES - BLOCK);
    g->total_bytes = take_number(&c->in, 2);
    g->tag_bytes = how < 128 ? 12 + how % 5 : how % 18;
    g->iv_bytes = how / 16 % 2 ? 12 : take_below(&c->in, MOST_IV + 1);
    if (op_is_gcm(c->messages.op)) {
        c->is_right &= g->iv_bytes != 0 && (g->tag_bytes == 4 || g->tag_bytes == 8 ||
                                            (g->tag_bytes >= 12 && g->tag_bytes <= TAG));
    } else {
        if (how < 240)
            g->iv_bytes = BLOCK;
        c->is_right &=
            g->iv_bytes == BLOCK || g->op == GPUAES_ECB_ENCRYPT || g->op == GPUAES_ECB_DECRYPT;
    }
}

/* Without the right sizes, there is nothing to compare. */
static void take_call(struct call *c)
{
    struct gpuaes_messages *g = &c->messages;
    const unsigned how = take_byte(&c->in);
    *g = (struct gpuaes_messages){.struct_bytes = sizeof *g,
                                  .op = (enum gpuaes_op)(how % (GPUAES_XTS_DECRYPT + 1)),
                                  .in = memory->in,
                                  .out = memory->out,
                                  .bytes = memory->bytes,
                                  .iv = memory->iv,
                                  .tag = memory->tag,
                                  .status = memory->status};
    c->is_right = 1;
    c->used = 0;
    c->in_place = how >= 128;
    take_sizes(c);
    take_keys(c);
    if (take_byte(&c->in) % 4 != 0) {
        g->aad = memory->aad;
        g->aad_bytes = memory->aad_bytes;
    }
    size_t count = take_below(&c->in, (c->kind == KEY_ORDER ? KEYS : MOST) + 1);
    memcpy(expected, text, REGION);
    while (c->is_right && g->count < count && add_message(c, g->count))
        g->count++;
    if (!c->is_right)
        g->count = count;
    memcpy(memory->text, text, REGION);
    memcpy(memory->result, text, REGION);
    memset(memory->status, 0xee, sizeof memory->status);
}

/* ---- The target --------------------------------------------------------------------------------
 */

static void check_done(const struct call *c)
{
    for (size_t i = 0; i < c->messages.count; i++) {
        if (memory->status[i] != (uint32_t)expected_status[i])
            found("op %d, message %zu: status %u, should be %d", c->messages.op, i,
                  memory->status[i], expected_status[i]);
        if (op_is_gcm(c->messages.op) && memcmp(memory->tags[i], expected_tags[i], TAG) != 0)
            found("op %d, message %zu: another tag", c->messages.op, i);
    }
    for (size_t i = 0; i < REGION; i++)
        if (memory->result[i] != expected[i])
            found("op %d: the output is wrong from byte %zu on", c->messages.op, i);
    if (!c->in_place && memcmp(memory->text, text, REGION) != 0)
        found("op %d: the input has changed", c->messages.op);
}

static void run_call(struct call *c)
{
    take_call(c);
    const size_t temp_bytes = gpuaes_queue_temp_bytes(&c->messages);
    if (temp_bytes > TEMP)
        found("%zu bytes of temporary memory", temp_bytes);
    const int gives = c->messages.count % 2 != 0;
    enum gpuaes_status status =
        gpuaes_queue(&c->messages, gives ? temp : NULL, gives ? temp_bytes : 0, stream, 0);
    if (status != (c->is_right ? GPUAES_OK : GPUAES_BAD_ARGUMENT))
        found("op %d, %zu messages: %s, %s", c->messages.op, c->messages.count,
              gpuaes_status_text(status), gpuaes_queue_error());
    while (application.stream_query(stream) == DRV_NOT_READY)
        usleep(10);
    if (c->is_right)
        check_done(c);
}

int LLVMFuzzerInitialize(int *arguments, char ***argument)
{
    drv_ptr p, q;
    uint32_t x = 1;
    (void)arguments;
    (void)argument;
    if (!starts_with(NULL))
        found("no device");
    become_an_application(0);
    if (application.mem_alloc(&p, sizeof *memory) != DRV_SUCCESS ||
        application.mem_alloc(&q, TEMP) != DRV_SUCCESS ||
        application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS)
        found("no memory");
    memory = (struct memory *)(uintptr_t)p;
    temp = (unsigned char *)(uintptr_t)q;
    for (size_t i = 0; i < REGION; i++, x = x * 1664525 + 1013904223)
        text[i] = (unsigned char)(x >> 24);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST_CALLS = 4 };
    static struct call c;
    c.in = (struct input){data, size};
    for (int i = 0; i < MOST_CALLS && (i == 0 || c.in.left != 0); i++)
        run_call(&c);
    return 0;
}
