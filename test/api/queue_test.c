/*
 * gpuaes_queue(): random messages of each operation, at any alignment, in place and out of place,
 * with one key or many, against libcrypto; refused ones among them; descriptions that an earlier
 * kernel of the stream made; graphs; what is refused. Of XTS, also the published vectors.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <openssl/evp.h>

#include "cuda/gpuaes.h"
#include "test/evp/xts_vectors.h"
#include "test/support/application.h"
#include "test/support/known_answers.h"
#include "test/support/reference.h"
#include "test/support/tap.h"

enum { BLOCK = GPUAES_BLOCK, KEYS_MOST = 600, AAD_MOST = 100, TAG = 16, GAP = 40 };

static const struct {
    const char *name;
    enum gpuaes_op op;
    int any_length;
} ops[] = {
    {"ECB encryption", GPUAES_ECB_ENCRYPT, 0},
    {"ECB decryption", GPUAES_ECB_DECRYPT, 0},
    {"CBC encryption", GPUAES_CBC_ENCRYPT, 0},
    {"CBC decryption", GPUAES_CBC_DECRYPT, 0},
    {"CTR", GPUAES_CTR, 1},
    {"GCM encryption", GPUAES_GCM_ENCRYPT, 1},
    {"GCM decryption", GPUAES_GCM_DECRYPT, 1},
    {"XTS encryption", GPUAES_XTS_ENCRYPT, 1},
    {"XTS decryption", GPUAES_XTS_DECRYPT, 1},
};
enum { OPS = sizeof ops / sizeof ops[0] };
enum { CTR_ROW = 4, GCM_ENCRYPT = 5, GCM_DECRYPT = 6, XTS_ENCRYPT = 7, XTS_DECRYPT = 8 };

/* ---- Messages ---------------------------------------------------------------------------------
 */

/* The application's arrays, as they are in device memory, one after the other. */
struct arrays {
    uint64_t *in, *out, *bytes, *iv, *aad, *aad_bytes, *tag;
    uint64_t *keys;
    uint32_t *key;
};

struct message {
    size_t in, out, len; /* places in the regions */
    size_t said;         /* length that the description says */
    uint32_t key;
    size_t aad_bytes;
    enum gpuaes_status status; /* expected */
};

/* A schedule for all messages; raw keys by number, or by address. */
enum key_kind { ONE_KEY, KEY_TABLE, KEY_POINTERS };

struct test {
    int row, in_place;
    enum key_kind kind;
    int aligned; /* messages begin at multiples of 16 */
    size_t key_bytes, keys, count, max_bytes, iv_bytes, tag_bytes;
    const struct xts_vector *const *vectors; /* one for each message, if not NULL */
    int mostly_short;
    int gives_temp; /* temporary memory of its own */
    struct message *message;
    unsigned char *key;             /* keys * key_bytes */
    size_t text_bytes;              /* of a region */
    unsigned char *text, *expected; /* of the output's region, before and afterwards */
    unsigned char *iv, *aad, *tag, *expected_tag;
    unsigned char *device; /* one allocation: regions, then arrays */
    size_t in_at, out_at, iv_at, aad_at, tag_at, key_at, array_at, status_at, device_bytes;
    unsigned char *staged; /* what goes there */
    struct gpuaes_messages batch;
    struct gpuaes_key schedule[2]; /* of ONE_KEY; of XTS that of tweaks */
    unsigned char *temp;
    size_t temp_bytes;
};

static drv_stream stream;
static int has_pools; /* the driver has, for temporary memory that is not given */

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t below(size_t limit)
{
    return tap_random_below(&random_state, limit);
}

static int is_gcm(const struct test *t)
{
    return op_is_gcm(ops[t->row].op);
}

static int is_xts(int row)
{
    return op_is_xts(ops[row].op);
}

/* Of one key of AES; of XTS, keys are pairs. */
static size_t aes_key_bytes(const struct test *t)
{
    return is_xts(t->row) ? t->key_bytes / 2 : t->key_bytes;
}

/* Output and tag by libcrypto. */
static void run_reference(const struct test *t, const struct message *m, size_t i,
                          const unsigned char *in, unsigned char *out, unsigned char tag[TAG])
{
    const struct reference_message message = {
        .op = ops[t->row].op,
        .key = t->key + m->key * t->key_bytes,
        .key_bytes = t->key_bytes,
        .iv = t->iv + i * t->iv_bytes,
        .iv_bytes = t->iv_bytes,
        .aad = t->aad + i * AAD_MOST,
        .aad_bytes = m->aad_bytes,
    };
    reference_run(&message, in, out, m->len, tag);
}

/* One of 100 from 1 byte to the most, each octave as often as another; some at both ends. */
static size_t mostly_short(size_t most)
{
    size_t octave = below(1600);
    if (octave >= 16)
        return octave < 18 ? (octave - 16) * most : below(100);
    return min_size(most, ((size_t)1 << octave) + below((size_t)1 << octave));
}

static size_t random_length(const struct test *t)
{
    size_t most = t->max_bytes, len = 0;
    switch (t->mostly_short ? 4 : below(4)) {
    case 0:
        len = below(min_size(most, 40) + 1);
        break;
    case 1:
        len = below(min_size(most, 700) + 1);
        break;
    case 2:
        len = below(most + 1);
        break;
    case 4:
        len = mostly_short(most);
        break;
    default:
        len = below(16) == 0 ? most : below(most / 8 + 1);
    }
    if (is_xts(t->row) && len < BLOCK)
        len += BLOCK;
    return ops[t->row].any_length ? len : len / BLOCK * BLOCK;
}

static int takes_key(const struct test *t, uint32_t key)
{
    const unsigned char *pair = t->key + key * t->key_bytes;
    return ops[t->row].op != GPUAES_XTS_ENCRYPT ||
           memcmp(pair, pair + t->key_bytes / 2, t->key_bytes / 2) != 0;
}

/* A place some bytes behind `at`. */
static size_t place_after(const struct test *t, size_t at)
{
    at += below(17);
    return t->aligned ? (at + BLOCK - 1) / BLOCK * BLOCK : at;
}

/* Places and lengths; a tenth of them bad, if any are to be. */
static void make_messages(struct test *t, int bad)
{
    size_t at = 0;
    for (size_t i = 0; i < t->count; i++) {
        struct message *m = &t->message[i];
        *m = (struct message){.len = random_length(t), .key = (uint32_t)below(t->keys)};
        if (t->vectors != NULL) {
            m->len = strlen(t->vectors[i]->plain) / 2;
            m->key = (uint32_t)i;
        }
        m->aad_bytes = is_gcm(t) ? below(AAD_MOST + 1) : 0;
        m->said = m->len;
        m->in = m->out = place_after(t, at);
        if (!t->in_place) /* begins elsewhere in a sector of 32 bytes */
            m->out += t->aligned ? BLOCK * below(2) : below(2 * BLOCK);
        at = m->out + m->len + below(17);
        if (!takes_key(t, m->key) && t->kind != ONE_KEY)
            m->status = GPUAES_BAD_ARGUMENT;
        if (!bad || below(10) != 0)
            continue;
        m->status = GPUAES_BAD_ARGUMENT;
        if (is_gcm(t) && below(3) == 0) {
            m->aad_bytes = GPUAES_BATCH_AAD_BYTES + 1 + below(SIZE_MAX / 2);
            continue;
        }
        switch (below(ops[t->row].any_length && !is_xts(t->row) ? 2 : 3)) {
        case 0:
            m->said = t->max_bytes + 1 + below(SIZE_MAX / 2);
            at = m->out + t->max_bytes + below(17);
            break;
        case 1:
            m->key = (uint32_t)(t->keys + below(1000));
            break;
        default:
            m->said = m->len + 1 + below(15);
            if (is_xts(t->row))
                m->len = m->said = below(BLOCK);
            at = m->out + m->said + below(17);
            if (m->said > t->max_bytes)
                m->said = t->max_bytes - 1;
        }
    }
    t->text_bytes = at + GAP;
}

static void expect_message(struct test *t, size_t i, int wrong)
{
    struct message *m = &t->message[i];
    unsigned char *out = t->expected + m->out, *tag = t->expected_tag + i * TAG;
    if (m->status != GPUAES_OK) {
        memset(out, 0, min_size(m->said, t->max_bytes));
        return;
    }
    unsigned char *own = malloc(m->len + TAG), made[TAG] = {0};
    run_reference(t, m, i, t->text + m->in, own, made);
    if (ops[t->row].op == GPUAES_GCM_DECRYPT) {
        memcpy(t->tag + i * TAG, made, TAG);
        memset(t->tag + i * TAG + t->tag_bytes, 0xee, TAG - t->tag_bytes);
        if (wrong && below(5) == 0) {
            t->tag[i * TAG + below(t->tag_bytes)] ^= (unsigned char)(1 << below(8));
            m->status = GPUAES_BAD_TAG;
            memset(own, 0, m->len);
        }
        memcpy(tag, t->tag + i * TAG, TAG);
    } else if (is_gcm(t)) {
        memcpy(tag, made, t->tag_bytes);
    }
    if (m->len != 0)
        memcpy(out, own, m->len);
    free(own);
}

static size_t place(struct test *t, size_t bytes)
{
    size_t at = t->device_bytes;
    t->device_bytes += (bytes + 255) / 256 * 256;
    return at;
}

static uint64_t address(const struct test *t, size_t at)
{
    return (uint64_t)(uintptr_t)(t->device + at);
}

static void describe(struct test *t)
{
    uint64_t *words = (uint64_t *)(t->staged + t->array_at);
    struct arrays a = {words,
                       words + t->count,
                       words + 2 * t->count,
                       words + 3 * t->count,
                       words + 4 * t->count,
                       words + 5 * t->count,
                       words + 6 * t->count,
                       words + 7 * t->count,
                       (uint32_t *)(words + 8 * t->count)};
    for (size_t i = 0; i < t->count; i++) {
        const struct message *m = &t->message[i];
        int is_empty = m->said == 0;
        a.in[i] = is_empty ? 0 : address(t, (t->in_place ? t->out_at : t->in_at) + m->in);
        a.out[i] = is_empty ? 0 : address(t, t->out_at + m->out);
        a.bytes[i] = m->said;
        a.iv[i] = address(t, t->iv_at + i * t->iv_bytes);
        a.aad[i] = m->aad_bytes == 0 ? 0 : address(t, t->aad_at + i * AAD_MOST);
        a.aad_bytes[i] = m->aad_bytes;
        a.tag[i] = address(t, t->tag_at + i * TAG);
        a.keys[i] = address(t, t->key_at + m->key * t->key_bytes);
        a.key[i] = m->key;
    }
    memset(t->staged + t->status_at, 0xee, t->count * sizeof(uint32_t));
    memcpy(t->staged + t->in_at, t->text, t->text_bytes);
    memcpy(t->staged + t->out_at, t->text, t->text_bytes);
    memcpy(t->staged + t->iv_at, t->iv, t->count * t->iv_bytes);
    memcpy(t->staged + t->aad_at, t->aad, t->count * AAD_MOST);
    memcpy(t->staged + t->tag_at, t->tag, t->count * TAG);
    memcpy(t->staged + t->key_at, t->key, t->keys * t->key_bytes);
}

/* What the call takes. */
static void fill_batch(struct test *t)
{
    static const size_t totals[] = {0, 1, 4096, SIZE_MAX}; /* whatever it is, the result is one */
    unsigned char *arrays = t->device + t->array_at;
    size_t step = t->count * sizeof(uint64_t);
    const size_t half = aes_key_bytes(t);
    t->batch = (struct gpuaes_messages){
        .struct_bytes = sizeof t->batch,
        .op = ops[t->row].op,
        .count = t->count,
        .max_bytes = t->max_bytes,
        .total_bytes = totals[below(4)],
        .iv_bytes = t->iv_bytes,
        .tag_bytes = t->tag_bytes,
        .in = (const void *const *)(void *)arrays,
        .out = (void *const *)(void *)(arrays + step),
        .bytes = (const size_t *)(void *)(arrays + 2 * step),
        .iv = (const unsigned char *const *)(void *)(arrays + 3 * step),
        .aad = (const void *const *)(void *)(arrays + 4 * step),
        .aad_bytes = (const size_t *)(void *)(arrays + 5 * step),
        .tag = (unsigned char *const *)(void *)(arrays + 6 * step),
        .status = (uint32_t *)(void *)(t->device + t->status_at),
    };
    LIBRARY(gpuaes_key_expand)(&t->schedule[0], t->key, half);
    LIBRARY(gpuaes_key_expand)(&t->schedule[1], t->key + t->key_bytes - half, half);
    if (t->kind == ONE_KEY) {
        t->batch.key = &t->schedule[0];
        t->batch.tweak_key = is_xts(t->row) ? &t->schedule[1] : NULL;
        return;
    }
    t->batch.key_bytes = t->key_bytes;
    if (t->kind == KEY_POINTERS) {
        t->batch.keys = (const void *const *)(void *)(arrays + 7 * step);
        return;
    }
    t->batch.key_table = t->device + t->key_at;
    t->batch.key_count = t->keys;
    t->batch.key_index = (const uint32_t *)(void *)(arrays + 8 * step);
}

/* The published answer. */
static void expect_vector(struct test *t, size_t i)
{
    const struct message *m = &t->message[i];
    const struct xts_vector *v = t->vectors[i];
    int encrypts = op_encrypts(ops[t->row].op);
    from_hex(t->expected + m->out, encrypts ? v->coded : v->plain);
    from_hex(t->iv + i * BLOCK, v->tweak);
}

/* A counter block that carries to any of its words within some blocks. */
static void end_in_ones(unsigned char iv[BLOCK])
{
    size_t from = below(BLOCK - 1);
    memset(iv + from, 0xff, BLOCK - 1 - from);
    iv[BLOCK - 1] |= 0xe0;
}

/* A counter block whose last words have just carried. */
static void end_in_zeros(unsigned char iv[BLOCK])
{
    size_t from = below(BLOCK - 3);
    memset(iv + from, 0, BLOCK - from);
}

/* Random contents and what they are to become. */
static void fill(struct test *t, int wrong)
{
    tap_random_bytes(&random_state, t->text, t->text_bytes);
    tap_random_bytes(&random_state, t->iv, t->count * t->iv_bytes);
    for (size_t i = 0; i < t->count && t->iv_bytes == BLOCK; i += 3) /* counters soon carry */
        end_in_ones(t->iv + i * BLOCK);
    for (size_t i = 1; i < t->count && t->iv_bytes == BLOCK; i += 3) /* or have just done so */
        end_in_zeros(t->iv + i * BLOCK);
    tap_random_bytes(&random_state, t->aad, t->count * AAD_MOST);
    memset(t->tag, 0xee, t->count * TAG);
    memset(t->expected_tag, 0xee, t->count * TAG);
    for (size_t i = 0; i < t->count && t->vectors != NULL; i++)
        from_hex(t->text + t->message[i].in,
                 op_encrypts(ops[t->row].op) ? t->vectors[i]->plain : t->vectors[i]->coded);
    memcpy(t->expected, t->text, t->text_bytes);
    for (size_t i = 0; i < t->count; i++) {
        if (t->message[i].status == GPUAES_BAD_TAG)
            t->message[i].status = GPUAES_OK;
        if (t->vectors != NULL)
            expect_vector(t, i);
        else
            expect_message(t, i, wrong);
    }
    describe(t);
}

/*
 * Of XTS, the first key of bad ones has two equal halves, and the second one begins so; decryption
 * takes both.
 */
static void make_keys(struct test *t, int bad)
{
    t->key = malloc(t->keys * t->key_bytes + 1);
    tap_random_bytes(&random_state, t->key, t->keys * t->key_bytes);
    for (size_t i = 0; i < t->keys && t->vectors != NULL; i++)
        from_hex(t->key + i * t->key_bytes, t->vectors[i]->key);
    for (size_t i = 0; i < t->keys && i < 2 && bad && is_xts(t->row); i++) {
        unsigned char *pair = t->key + i * t->key_bytes;
        memcpy(pair + t->key_bytes / 2, pair, t->key_bytes / 2 - i);
    }
}

/* For messages as they are now. */
static int take_temp(struct test *t)
{
    if (t->temp != NULL)
        application_free(DEVICE, t->temp);
    t->temp_bytes = t->gives_temp ? LIBRARY(gpuaes_queue_temp_bytes)(&t->batch) : 0;
    t->temp = t->gives_temp ? application_alloc(DEVICE, t->temp_bytes) : NULL;
    return !t->gives_temp || t->temp != NULL;
}

/* 1 if all memory could be had. `t` has what is not computed here. */
static int make(struct test *t, int bad, int wrong)
{
    t->message = calloc(t->count, sizeof *t->message);
    make_keys(t, bad);
    make_messages(t, bad);
    t->text = malloc(t->text_bytes);
    t->expected = malloc(t->text_bytes);
    t->iv = malloc(t->count * t->iv_bytes);
    t->aad = malloc(t->count * AAD_MOST);
    t->tag = malloc(t->count * TAG);
    t->expected_tag = malloc(t->count * TAG);
    t->in_at = place(t, t->text_bytes);
    t->out_at = place(t, t->text_bytes);
    t->iv_at = place(t, t->count * t->iv_bytes);
    t->aad_at = place(t, t->count * AAD_MOST);
    t->tag_at = place(t, t->count * TAG);
    t->key_at = place(t, t->keys * t->key_bytes + 1) + below(2);
    t->array_at = place(t, t->count * (8 * sizeof(uint64_t) + sizeof(uint32_t)));
    t->status_at = place(t, t->count * sizeof(uint32_t));
    t->staged = calloc(1, t->device_bytes);
    t->device = application_alloc(DEVICE, t->device_bytes);
    if (t->device == NULL)
        return 0;
    fill(t, wrong);
    fill_batch(t);
    return take_temp(t);
}

static void unmake(struct test *t)
{
    application_free(DEVICE, t->device);
    if (t->temp != NULL)
        application_free(DEVICE, t->temp);
    free(t->message);
    free(t->key);
    free(t->text);
    free(t->expected);
    free(t->iv);
    free(t->aad);
    free(t->tag);
    free(t->expected_tag);
    free(t->staged);
}

static int upload(const struct test *t)
{
    return application_write(DEVICE, t->device, t->staged, t->device_bytes);
}

/* 1 if output, tags and statuses are what they should be; nothing else may have changed. */
static int is_right(const struct test *t)
{
    unsigned char *got = malloc(t->device_bytes);
    int right =
        application_wait(stream) && application_read(got, DEVICE, t->device, t->device_bytes);
    for (size_t i = 0; right && i < t->count; i++) {
        const struct message *m = &t->message[i];
        uint32_t status;
        memcpy(&status, got + t->status_at + i * sizeof status, sizeof status);
        int same =
            m->len == 0 || memcmp(got + t->out_at + m->out, t->expected + m->out, m->len) == 0;
        int tagged =
            !is_gcm(t) || memcmp(got + t->tag_at + i * TAG, t->expected_tag + i * TAG, TAG) == 0;
        if (status == (uint32_t)m->status && same && tagged)
            continue;
        tap_diag("message %zu of %zu, %zu bytes (said: %zu), key %u: status %u instead of %d, %s%s",
                 i, t->count, m->len, m->said, m->key, status, m->status, same ? "" : "other text ",
                 tagged ? "" : "other tag");
        right = 0;
    }
    if (right && memcmp(got + t->out_at, t->expected, t->text_bytes) != 0) {
        tap_diag("bytes between the messages have changed");
        right = 0;
    }
    if (right && !t->in_place && memcmp(got + t->in_at, t->text, t->text_bytes) != 0) {
        tap_diag("the input has changed");
        right = 0;
    }
    free(got);
    return right;
}

static int queue(const struct test *t)
{
    enum gpuaes_status status = LIBRARY(gpuaes_queue)(&t->batch, t->temp, t->temp_bytes, stream, 0);
    if (status != GPUAES_OK)
        tap_diag("queueing: status %d, %s", status, LIBRARY(gpuaes_queue_error)());
    return status == GPUAES_OK;
}

static int runs(struct test t, int bad, int wrong)
{
    int right = make(&t, bad, wrong) && upload(&t) && queue(&t) && is_right(&t);
    unmake(&t);
    return right;
}

/*
 * 1 where texts have to be short: on an emulated device, which does 5 to 10 MB in a second, and
 * where few cases are asked for, as for a card under compute-sanitizer.
 */
static int is_slow(void)
{
    return application_is_emulated || setting("GPUAES_TEST_CASES", 1000) < 100;
}

static struct test test_of(int row, size_t count, size_t max_bytes, size_t keys)
{
    static const unsigned tags[] = {4, 8, 12, 13, 14, 15, 16, 16, 16};
    size_t key_bytes = is_xts(row) ? (size_t)32 << below(2) : 16 + 8 * below(3);
    return (struct test){.row = row,
                         .key_bytes = key_bytes,
                         .keys = keys,
                         .kind = keys > 1 ? KEY_TABLE : ONE_KEY,
                         .count = count,
                         .max_bytes = max_bytes,
                         .iv_bytes = !op_is_gcm(ops[row].op) ? BLOCK
                                     : below(2)              ? 12
                                                             : 1 + below(60),
                         .tag_bytes = tags[below(9)],
                         .gives_temp = !has_pools || below(2) == 0};
}

/* ---- Tests
 * --------------------------------------------------------------------------------------- */

static void test_random(void)
{
    for (int row = 0; row < OPS; row++) {
        int right = 1;
        for (int i = 0; i < 6 && right; i++) {
            struct test t = test_of(row, 1 + below(i < 3 ? 40 : 700), i % 2 ? 3000 : 500,
                                    i % 3 ? 1 + below(KEYS_MOST) : 1);
            t.in_place = i / 2 % 2;
            t.kind = t.keys == 1 && i % 2 == 0 ? ONE_KEY : i % 3 == 1 ? KEY_TABLE : KEY_POINTERS;
            right = runs(t, 0, i % 2);
        }
        tap_ok(right, "%s: random messages", ops[row].name);
    }
}

static void test_sizes(void)
{
    for (int row = 0; row < OPS; row++) {
        struct test t = test_of(row, 6, is_slow() ? 70000 : 5000000, 2);
        int right = runs(t, 0, 1);
        /* As long as may be said, whatever lengths there are. */
        for (t.in_place = 0; t.in_place < 2 && right; t.in_place++) {
            struct test small = test_of(row, 70, is_xts(row) ? 50 : 2000, 1);
            small.in_place = t.in_place;
            right = make(&small, 0, 1);
            small.batch.max_bytes = is_xts(row) ? GPUAES_QUEUE_UNIT_BYTES : GPUAES_QUEUE_BYTES;
            right =
                right && take_temp(&small) && upload(&small) && queue(&small) && is_right(&small);
            unmake(&small);
        }
        tap_ok(right, "%s: long messages, and such as may be long", ops[row].name);
    }
    struct test t = test_of(GCM_ENCRYPT, 300, 0, 2);
    tap_ok(runs(t, 0, 0), "GCM without text");
    t = test_of(CTR_ROW, 300, 15, 2);
    tap_ok(runs(t, 0, 0), "CTR of less than a block");
}

static void test_known(void)
{
    enum { ROWS = sizeof xts_vectors / sizeof *xts_vectors };
    const struct xts_vector *vectors[ROWS];
    for (int row = XTS_ENCRYPT; row < OPS; row++)
        for (size_t key_bytes = 32; key_bytes <= 64; key_bytes *= 2) {
            size_t count = 0;
            for (size_t i = 0; i < ROWS; i++)
                if (strlen(xts_vectors[i].key) == 2 * key_bytes)
                    vectors[count++] = &xts_vectors[i];
            struct test t = test_of(row, count, XTS_LONGEST, count);
            t.key_bytes = key_bytes;
            t.vectors = vectors;
            int right = runs(t, 0, 0);
            t.in_place = 1;
            tap_ok(right && count > 30 && runs(t, 0, 0), "%s: %zu published answers, keys of %zu",
                   ops[row].name, count, key_bytes);
        }
}

/* Segments: few long messages, with one key and with their own. */
static void test_segments(void)
{
    for (int row = 0; row < OPS; row++) {
        int right = 1;
        for (int i = 0; i < 4 && right; i++) {
            struct test t = test_of(row, is_slow() ? 1 + below(60) : 20000,
                                    is_slow() ? 20000 : 40000, i < 3 ? 1 : KEYS_MOST);
            t.aligned = i != 1;
            t.in_place = i == 2;
            right = runs(t, 0, 1);
        }
        tap_ok(right, "%s: segments", ops[row].name);
    }
}

static void test_bad(void)
{
    for (int row = 0; row < OPS; row++) {
        struct test t = test_of(row, 400, 1600, 5);
        int right = runs(t, 1, 1);
        t.in_place = 1;
        tap_ok(right && runs(t, 1, 1), "%s: bad messages are refused, and harm no other",
               ops[row].name);
    }
}

static void test_many(void)
{
    for (int row = CTR_ROW; row < OPS; row++) {
        int is_all = !application_is_emulated || row == CTR_ROW || row == GCM_DECRYPT;
        size_t count = 100 * setting("GPUAES_TEST_CASES", is_all && !sanitized() ? 1000 : 200);
        struct test t = test_of(row, count, 65536, KEYS_MOST);
        t.iv_bytes = op_is_gcm(ops[row].op) ? 12 : BLOCK;
        t.mostly_short = is_slow();
        tap_ok(runs(t, 0, 1), "%s: %zu messages", ops[row].name, count);
    }
}

/* A key for each message without numbers; additional data that is not given. */
static void test_options(void)
{
    struct test t = test_of(GCM_DECRYPT, 50, 500, 50);
    int right = make(&t, 0, 0);
    for (size_t i = 0; i < t.count; i++)
        t.message[i].key = (uint32_t)i;
    fill(&t, 0);
    t.batch.key_index = NULL;
    tap_ok(right && upload(&t) && queue(&t) && is_right(&t),
           "without numbers of keys, each message has its own");
    unmake(&t);

    t = test_of(GCM_ENCRYPT, 50, 500, 7);
    right = make(&t, 0, 0);
    for (size_t i = 0; i < t.count; i++)
        t.message[i].aad_bytes = 0;
    fill(&t, 0);
    t.batch.aad = NULL;
    t.batch.aad_bytes = NULL;
    tap_ok(right && upload(&t) && queue(&t) && is_right(&t), "without additional data");
    unmake(&t);
}

/* What a kernel of the stream has written: the arrays, which are decrypted as one message. */
static void test_order(void)
{
    struct test t = test_of(GCM_ENCRYPT, 500, 1500, 9);
    struct test array = test_of(CTR_ROW, 1, 1 << 20, 1);
    int right = make(&t, 0, 0) && make(&array, 0, 0);
    const size_t bytes = t.device_bytes - t.iv_at;
    array.message[0] = (struct message){.len = bytes, .said = bytes};
    array.text = realloc(array.text, bytes);
    unsigned char *hidden = malloc(bytes);
    run_reference(&array, &array.message[0], 0, t.staged + t.iv_at, hidden, NULL);
    const uint64_t place_of_arrays = address(&t, t.iv_at);
    memcpy(array.staged, &place_of_arrays, sizeof place_of_arrays);
    array.batch.in = (const void *const *)(void *)array.device;
    array.batch.out = (void *const *)(void *)array.device;
    memcpy(array.staged + array.array_at + 2 * sizeof(uint64_t), &bytes, sizeof bytes);
    right = right && upload(&t) && upload(&array) &&
            application_write(DEVICE, t.device + t.iv_at, hidden, bytes);
    tap_ok(right && queue(&array) && queue(&t) && is_right(&t),
           "descriptions, IVs and additional data that a kernel of the stream writes");
    free(hidden);
    unmake(&array);
    unmake(&t);
}

/* A graph reads the arrays anew whenever it runs. */
static void test_graph(void)
{
    for (int row = CTR_ROW; row < OPS; row++) {
        struct test t = test_of(row, 400, 1500, 9);
        struct application_graph graph = {0};
        t.gives_temp = !has_pools || row % 2 == 0;
        int right = make(&t, 0, 1);
        const size_t room = t.text_bytes;
        right = right && application_begin_capture(stream) && queue(&t) &&
                application_make_graph(stream, &graph);
        for (int run = 0; run < 3 && right; run++) {
            do /* of other lengths, which fit: memory is that of the first ones */
                make_messages(&t, 0);
            while (t.text_bytes > room);
            fill(&t, 1);
            right = upload(&t) && application_run_graph(&graph, stream) && is_right(&t);
        }
        tap_ok(right, "%s: a graph that is captured once and runs thrice", ops[row].name);
        application_free_graph(&graph);
        unmake(&t);
    }
}

/*
 * Temporary memory of the device's pool is taken and given back in the order of a stream: calls
 * that follow each other on a stream, and those of another one, which have to wait for nothing.
 */
static void test_pools(void)
{
    enum { CALLS = 8 };
    struct test t[CALLS];
    drv_stream first = stream, second;
    int right = 1;
    if (!has_pools) {
        tap_skip("the driver has no memory pools");
        return;
    }
    application.stream_create(&second, DRV_STREAM_NON_BLOCKING);
    for (int i = 0; i < CALLS; i++) {
        t[i] = test_of(i % OPS, 300, 3000, 1 + below(KEYS_MOST));
        t[i].gives_temp = 0;
        right = make(&t[i], 0, 1) && upload(&t[i]) && right;
    }
    for (int i = 0; i < CALLS && right; i++) {
        stream = i % 3 == 1 ? second : first;
        right = queue(&t[i]);
    }
    for (int i = 0; i < CALLS; i++) {
        stream = i % 3 == 1 ? second : first;
        right = right && is_right(&t[i]);
    }
    for (int i = 0; i < CALLS; i++)
        unmake(&t[i]);
    stream = first;
    application.stream_destroy(second);
    tap_ok(right, "calls that follow each other take temporary memory of a pool");
}

/* Refused, with a sentence that begins with the name of the member. */
static int refused(const struct test *t, const struct gpuaes_messages *batch, const char *member)
{
    return LIBRARY(gpuaes_queue)(batch, t->temp, t->temp_bytes, stream, 0) == GPUAES_BAD_ARGUMENT &&
           strncmp(LIBRARY(gpuaes_queue_error)(), member, strlen(member)) == 0;
}

#define REFUSED(member, value, what)                                                               \
    do {                                                                                           \
        struct gpuaes_messages batch = t.batch;                                                    \
        batch.member = value;                                                                      \
        tap_ok(refused(&t, &batch, #member), "refused: " what);                                    \
    } while (0)

/* The temporary memory that a call takes, by its refusal of too little. */
static unsigned long long temp_wanted(const struct test *t, size_t total)
{
    static const char before[] = "temp_bytes is 256; expected ";
    struct gpuaes_messages batch = t->batch;
    batch.count = GPUAES_QUEUE_MESSAGES;
    batch.max_bytes = 1600; /* a segment, or several short ones */
    batch.total_bytes = total;
    const enum gpuaes_status status = LIBRARY(gpuaes_queue)(&batch, t->temp, 256, stream, 0);
    const char *why = LIBRARY(gpuaes_queue_error)();
    return status == GPUAES_BAD_ARGUMENT && strncmp(why, before, sizeof before - 1) == 0
               ? strtoull(why + sizeof before - 1, NULL, 10)
               : 0;
}

static void test_refused(void)
{
    struct test t = test_of(GCM_ENCRYPT, 200, 5000, 3);
    t.gives_temp = 1;
    int right = make(&t, 0, 0) && upload(&t);
    t.batch.max_bytes = GPUAES_QUEUE_BYTES; /* so that a card takes temporary memory, too */
    tap_ok(right && take_temp(&t), "messages to spoil");
    const unsigned long long least = temp_wanted(&t, 0), more = temp_wanted(&t, 1);
    tap_ok(least > 256 && more > least, "segments by total_bytes: %llu bytes for %llu", more,
           least);
    REFUSED(struct_bytes, 0, "a struct without its size");
    REFUSED(op, (enum gpuaes_op)(GPUAES_XTS_DECRYPT + 1), "an operation that there is not");
    REFUSED(key_bytes, 17, "keys of 17 bytes");
    REFUSED(key_count, 0, "no keys");
    REFUSED(count, GPUAES_QUEUE_MESSAGES + 1, "too many messages");
    REFUSED(max_bytes, (size_t)GPUAES_QUEUE_BYTES + 1, "too long messages");
    REFUSED(iv_bytes, 0, "an IV of no bytes");
    REFUSED(tag_bytes, 11, "a tag of 11 bytes");
    REFUSED(tag_bytes, 17, "a tag of 17 bytes");
    REFUSED(in, NULL, "no input");
    REFUSED(out, NULL, "no output");
    REFUSED(bytes, NULL, "no lengths");
    REFUSED(iv, NULL, "no IVs");
    REFUSED(tag, NULL, "no tags");
    REFUSED(aad, NULL, "lengths of additional data without it");
    REFUSED(aad_bytes, NULL, "additional data without lengths");
    REFUSED(status, NULL, "no statuses");
    struct gpuaes_messages batch = t.batch;
    batch.key_table = NULL;
    batch.key_index = NULL;
    tap_ok(refused(&t, &batch, "0 of key, keys and key_table"), "refused: no kind of keys");
    batch = t.batch;
    batch.key = &t.schedule[0];
    tap_ok(refused(&t, &batch, "2 of key, keys and key_table"), "refused: two kinds of keys");
    struct gpuaes_key other = t.schedule[0];
    other.rounds = 11;
    batch.key = &other;
    batch.key_table = NULL;
    tap_ok(refused(&t, &batch, "key->rounds is 11"), "refused: a schedule of 11 rounds");
    tap_ok(
        LIBRARY(gpuaes_queue)(NULL, t.temp, t.temp_bytes, stream, 0) == GPUAES_BAD_ARGUMENT &&
            LIBRARY(gpuaes_queue)(&t.batch, NULL, t.temp_bytes, stream, 0) == GPUAES_BAD_ARGUMENT &&
            LIBRARY(gpuaes_queue)(&t.batch, t.temp, 100, stream, 0) == GPUAES_BAD_ARGUMENT &&
            LIBRARY(gpuaes_queue)(&t.batch, t.temp + 16, t.temp_bytes, stream, 0) ==
                GPUAES_BAD_ARGUMENT,
        "refused: no messages; temporary memory that is none but has a size, small or not aligned");
    enum gpuaes_status status = LIBRARY(gpuaes_queue)(&t.batch, NULL, 0, stream, 0);
    tap_ok(status == (has_pools ? GPUAES_OK : GPUAES_BAD_ARGUMENT),
           "temporary memory need not be given, where the driver has pools");
    tap_ok(LIBRARY(gpuaes_queue)(&t.batch, t.temp, t.temp_bytes, NULL, 77) == GPUAES_BAD_ARGUMENT &&
               strncmp(LIBRARY(gpuaes_queue_error)(), "device is 77;", 13) == 0,
           "refused: the legacy stream of a device that there is not");
    batch = t.batch;
    batch.count = 0;
    tap_ok(LIBRARY(gpuaes_queue)(&batch, NULL, 0, stream, 0) == GPUAES_OK &&
               LIBRARY(gpuaes_queue_temp_bytes)(&batch) == 0,
           "no messages are nothing to do");
    batch.count = GPUAES_QUEUE_MESSAGES + 1;
    tap_ok(LIBRARY(gpuaes_queue_temp_bytes)(NULL) == 0 &&
               strncmp(LIBRARY(gpuaes_queue_error)(), "messages is NULL", 16) == 0 &&
               LIBRARY(gpuaes_queue_temp_bytes)(&batch) == 0 &&
               strncmp(LIBRARY(gpuaes_queue_error)(), "count is", 8) == 0,
           "no size for messages that would be refused, and a sentence");
    right = application_wait(stream) && queue(&t) && is_right(&t);
    tap_ok(right, "and after all that the messages are as they were");
    unmake(&t);
}

/* However many messages there are, and however long, there is a size. */
static void test_temp_sizes(void)
{
    static const size_t counts[] = {1, 1000, 1 << 22, (1 << 22) + 1, GPUAES_QUEUE_MESSAGES},
                        lengths[] = {0, 1, 16, 17, 64, 1 << 20, GPUAES_QUEUE_UNIT_BYTES};
    enum { LENGTHS = sizeof lengths / sizeof lengths[0] };
    struct test t = test_of(GCM_ENCRYPT, 2, 16, 1);
    int right = make(&t, 0, 0) && upload(&t);
    for (int op = 0; right && op <= GPUAES_XTS_DECRYPT; op++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0] * LENGTHS; i++) {
            const int is_gcm = op == GPUAES_GCM_ENCRYPT || op == GPUAES_GCM_DECRYPT;
            struct gpuaes_messages batch = t.batch;
            batch.op = (enum gpuaes_op)op;
            batch.count = counts[i / LENGTHS];
            batch.max_bytes = lengths[i % LENGTHS];
            batch.key_bytes = op >= GPUAES_XTS_ENCRYPT ? 32 : 16;
            batch.iv_bytes = is_gcm ? 12 : BLOCK;
            right = right && LIBRARY(gpuaes_queue_temp_bytes)(&batch) >= batch.count;
        }
    tap_ok(right, "a size of temporary memory for any number of messages of any length");
    unmake(&t);
}

static void test_refused_xts(void)
{
    struct test t = test_of(XTS_ENCRYPT, 20, 500, 1);
    int right = make(&t, 0, 0) && upload(&t);
    tap_ok(right, "units of XTS to spoil");
    REFUSED(max_bytes, (size_t)GPUAES_QUEUE_UNIT_BYTES + 1, "too long units of XTS");
    REFUSED(iv_bytes, 12, "a tweak of 12 bytes");
    REFUSED(iv, NULL, "no tweaks");
    REFUSED(tweak_key, NULL, "no key for tweaks");
    REFUSED(tweak_key, &t.schedule[0], "two equal keys");
    tap_ok(application_wait(stream) && queue(&t) && is_right(&t),
           "and after all that the units are as they were");
    unmake(&t);
}

/* The first counter block, SP 800-38D section 7.1, step 2; IVs have 12 or 16 bytes here. */
static void make_counter(const struct test *t, size_t i, unsigned char counter[BLOCK])
{
    unsigned char data[2 * BLOCK] = {0};
    struct gpuaes_gcm_key key;
    memset(counter, 0, BLOCK);
    if (t->iv_bytes == 12) {
        memcpy(counter, t->iv + i * 12, 12);
        counter[BLOCK - 1] = 1;
        return;
    }
    memcpy(data, t->iv + i * BLOCK, BLOCK);
    data[2 * BLOCK - 1] = BLOCK * 8;
    LIBRARY(gpuaes_gcm_key_expand)(&key, t->key, t->key_bytes);
    LIBRARY(gpuaes_gcm_hash)(&key, counter, data, sizeof data);
}

static int has(const unsigned char *memory, size_t bytes, const unsigned char block[BLOCK])
{
    return memmem(memory, bytes, block, BLOCK) != NULL;
}

/* The mask of a tag tells, with the tag, the key of the hash; the hash of an IV tells it, too. */
static int temp_has_secret(const struct test *t)
{
    static const EVP_CIPHER *(*const ecb[])(void) = {EVP_aes_128_ecb, EVP_aes_192_ecb,
                                                     EVP_aes_256_ecb};
    unsigned char *left = malloc(t->temp_bytes), counter[BLOCK] = {0}, secret[2 * BLOCK];
    int n, found = !application_read(left, DEVICE, t->temp, t->temp_bytes);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(c, ecb[t->key_bytes / 8 - 2](), NULL, t->key, NULL);
    EVP_EncryptUpdate(c, secret, &n, counter, BLOCK); /* the key of the hash itself */
    found += has(left, t->temp_bytes, secret) || has(left, t->temp_bytes, t->key);
    for (size_t i = 0; i < t->count; i++) {
        /* The tag of an empty message is its mask. */
        int is_empty = t->message[i].len + t->message[i].aad_bytes == 0;
        make_counter(t, i, counter);
        EVP_EncryptUpdate(c, secret, &n, counter, BLOCK);
        found += !is_empty && has(left, t->temp_bytes, secret);
        counter[BLOCK - 1]++;
        if (t->iv_bytes != 12 && counter[BLOCK - 1] != 0)
            found += has(left, t->temp_bytes, counter);
    }
    EVP_CIPHER_CTX_free(c);
    free(left);
    return found;
}

static void test_secrets(void)
{
    for (int row = GCM_ENCRYPT; row <= GCM_DECRYPT; row++)
        for (size_t iv_bytes = 12; iv_bytes <= BLOCK; iv_bytes += 4) {
            struct test t = test_of(row, 300, 3000, 1);
            t.iv_bytes = iv_bytes;
            t.gives_temp = 1;
            int right = make(&t, 0, 1) && upload(&t) && queue(&t) && is_right(&t);
            tap_ok(right && !temp_has_secret(&t),
                   "%s, IVs of %zu bytes: no secret stays in the temporary memory", ops[row].name,
                   iv_bytes);
            unmake(&t);
        }
}

/* The encrypted tweaks of the units. */
static void test_tweaks(void)
{
    for (int row = XTS_ENCRYPT; row < OPS; row++) {
        struct test t = test_of(row, 300, 3000, 1);
        t.gives_temp = 1;
        int n, right = make(&t, 0, 1) && upload(&t) && queue(&t) && is_right(&t);
        const size_t key_bytes = aes_key_bytes(&t);
        unsigned char *left = malloc(t.temp_bytes + 1), tweak[BLOCK];
        EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
        EVP_EncryptInit_ex(c, key_bytes == 16 ? EVP_aes_128_ecb() : EVP_aes_256_ecb(), NULL,
                           t.key + key_bytes, NULL);
        right = right && application_read(left, DEVICE, t.temp, t.temp_bytes);
        for (size_t i = 0; right && i < t.count; i++)
            right = EVP_EncryptUpdate(c, tweak, &n, t.iv + i * BLOCK, BLOCK) &&
                    !has(left, t.temp_bytes, tweak);
        tap_ok(right, "%s: no tweak stays in the temporary memory", ops[row].name);
        EVP_CIPHER_CTX_free(c);
        free(left);
        unmake(&t);
    }
}

int main(void)
{
    tap_random_seed(&random_state);
    test_providers = providers_load(); /* it brings the library */
    if (!application_begin(0))
        return tap_skip_all("there is no GPU");
    if (LIBRARY(gpuaes_start)(NULL, NULL, 1) != GPUAES_READY)
        return tap_skip_all("the GPU does not start");
    application.stream_create(&stream, DRV_STREAM_NON_BLOCKING);
    application.device_get_attribute(&has_pools, DRV_ATTR_MEMORY_POOLS, 0);
    test_random();
    test_sizes();
    test_known();
    test_segments();
    test_bad();
    test_many();
    test_options();
    test_order();
    test_graph();
    test_pools();
    test_refused();
    test_temp_sizes();
    test_refused_xts();
    test_secrets();
    test_tweaks();
    application.stream_destroy(stream);
    providers_unload(&test_providers);
    return tap_done();
}
