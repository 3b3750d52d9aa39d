/*
 * Mixes of messages for batches.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/mixes.h"

/* A data unit of XTS has a block or more, and any tail. */
static void xts_message(struct mix_message *m, const struct mix_rules *rules)
{
    m->key_bytes = m->key_bytes == 16 ? 32 : 64;
    m->len += 16;
    if (!rules->aligned)
        m->len += tap_random_below(&random_state, 16);
}

static void gcm_message(struct mix_message *m, const struct mix_rules *rules)
{
    static const size_t tags[] = {4, 8, 12, 13, 14, 15, 16, 16, 16};
    struct tap_random *r = &random_state;
    m->iv_bytes = tap_random_below(r, 4) ? 12 : 1 + tap_random_below(r, MIX_IV);
    m->aad_bytes = tap_random_below(r, 3) ? tap_random_below(r, MIX_AAD + 1) : 0;
    m->tag_bytes = tags[tap_random_below(r, sizeof tags / sizeof *tags)];
    tap_random_bytes(r, m->aad, sizeof m->aad);
    if (!rules->aligned)
        m->len += tap_random_below(r, 16);
    m->wrong = rules->wrong && m->op == GPUAES_GCM_DECRYPT && tap_random_below(r, 3) == 0;
}

void mix_message(struct mix_message *m, const struct mix_rules *rules,
                 unsigned char keys[MIX_KEYS][64])
{
    static const size_t key_sizes[] = {16, 24, 32};
    struct tap_random *r = &random_state;
    m->op = (enum gpuaes_op)(rules->op >= 0 ? (size_t)rules->op : tap_random_below(r, ALL_OPS));
    size_t number = rules->keys != 0 ? tap_random_below(r, (size_t)rules->keys) : 0;
    tap_random_bytes(r, m->key, sizeof m->key);
    m->key_bytes = key_sizes[rules->keys != 0 ? number % 3 : tap_random_below(r, 3)];
    if (rules->keys != 0)
        memcpy(m->key, keys[number], sizeof m->key);
    tap_random_bytes(r, m->iv, sizeof m->iv);
    if (tap_random_below(r, 4) == 0)
        memset(m->iv + 1, 0xff, 15);
    m->len = 16 * tap_random_below(r, tap_random_below(r, 4) == 0 ? rules->longest + 1 : 40);
    if (rules->longest > MIX_STEP && tap_random_below(r, 4) == 0)
        m->len = 16 * (MIX_STEP - 1 + tap_random_below(r, 3));
    if (op_is_gcm(m->op))
        gcm_message(m, rules);
    if (op_is_xts(m->op))
        xts_message(m, rules);
    if (rules->exact != 0)
        m->len = rules->exact;
}

struct gpuaes_batch *open_batch(void)
{
    struct gpuaes_batch *batch = NULL;
    return gpuaes_batch_open(&batch) == GPUAES_OK ? batch : NULL;
}

/* A message that is not authentic has one bit of its tag, additional data, IV or text wrong. */
static void spoil(struct mix_message *m, unsigned char *text)
{
    struct tap_random *r = &random_state;
    struct {
        unsigned char *p;
        size_t bytes;
    } parts[] = {
        {m->tag, m->tag_bytes}, {m->aad, m->aad_bytes}, {m->iv, m->iv_bytes}, {text, m->len}};
    size_t part = tap_random_below(r, 4);
    if (parts[part].bytes == 0)
        part = 0;
    size_t bit = tap_random_below(r, parts[part].bytes * 8);
    parts[part].p[bit / 8] ^= (unsigned char)(1 << bit % 8);
}

/* What a message becomes, and of GCM its tag. */
static void expect_message(struct mix_message *m, unsigned char *in, unsigned char *out)
{
    const struct reference_message message = {m->op,       m->key, m->key_bytes, m->iv,
                                              m->iv_bytes, m->aad, m->aad_bytes};
    reference_run(&message, in, out, m->len, m->tag);
    if (m->wrong) {
        spoil(m, in);
        memset(out, 0, m->len);
    }
}

int mix_make(struct mix *mix, const struct mix_rules *rules)
{
    static unsigned char keys[MIX_KEYS][64];
    tap_random_bytes(&random_state, keys, sizeof keys);
    *mix = (struct mix){rules->in_kind,
                        rules->out_kind,
                        rules->in_place,
                        rules->count,
                        0,
                        {{0}},
                        NULL,
                        NULL,
                        NULL,
                        NULL,
                        NULL};
    for (size_t i = 0; i < mix->count; i++) {
        struct mix_message *m = &mix->message[i];
        mix_message(m, rules, keys);
        if (!rules->aligned && tap_random_below(&random_state, 2))
            mix->bytes += tap_random_below(&random_state, 20);
        m->at = mix->bytes;
        mix->bytes += m->len;
    }
    mix->bytes += 16;
    mix->in = take(mix->in_kind, mix->bytes);
    mix->out = mix->in_place ? mix->in : take(mix->out_kind, mix->bytes);
    mix->plain = malloc(mix->bytes);
    mix->expected = malloc(mix->bytes);
    mix->tags = calloc(mix->count + 1, sizeof *mix->tags); /* never of no bytes */
    if (mix->in == NULL || mix->out == NULL)
        return 0;
    tap_random_bytes(&random_state, mix->plain, mix->bytes);
    memcpy(mix->expected, mix->plain, mix->bytes);
    for (size_t i = 0; i < mix->count; i++) {
        struct mix_message *m = &mix->message[i];
        expect_message(m, mix->plain + m->at, mix->expected + m->at);
    }
    return 1;
}

void mix_free(struct mix *mix)
{
    give(mix->in_kind, mix->in, mix->bytes);
    if (!mix->in_place)
        give(mix->out_kind, mix->out, mix->bytes);
    free(mix->plain);
    free(mix->expected);
    free(mix->tags);
}

void mix_fill(const struct mix *mix)
{
    gpuaes_copy(mix->in, mix->plain, mix->bytes);
    if (!mix->in_place)
        gpuaes_copy(mix->out, mix->plain, mix->bytes);
    memset(mix->tags, 0, mix->count * sizeof *mix->tags);
    for (size_t i = 0; i < mix->count; i++)
        if (mix->message[i].op == GPUAES_GCM_DECRYPT)
            memcpy(mix->tags[i], mix->message[i].tag, 16);
}

enum gpuaes_status mix_add_one(struct gpuaes_batch *batch, const struct mix *mix, size_t i)
{
    const struct mix_message *m = &mix->message[i];
    struct gpuaes_key schedule;
    gpuaes_key_expand(&schedule, m->key, m->key_bytes);
    struct gpuaes_message message = {.op = m->op,
                                     .key = m->key,
                                     .key_bytes = m->key_bytes,
                                     .iv = m->iv,
                                     .in = mix->in + m->at,
                                     .out = mix->out + m->at,
                                     .len = m->len,
                                     .iv_bytes = m->iv_bytes,
                                     .aad = m->aad,
                                     .aad_bytes = m->aad_bytes,
                                     .tag = mix->tags[i],
                                     .tag_bytes = m->tag_bytes};
    if (i % 3 == 0 && !op_is_xts(m->op)) {
        message.key = NULL;
        message.schedule = &schedule;
    }
    return gpuaes_batch_add(batch, &message);
}

int mix_add(struct gpuaes_batch *batch, const struct mix *mix)
{
    int right = 1;
    for (size_t i = 0; i < mix->count; i++)
        right &= mix_add_one(batch, mix, i) == GPUAES_OK;
    return right;
}

int mix_tag_is_right(const struct mix *mix, size_t i)
{
    static const unsigned char zeros[16];
    const struct mix_message *m = &mix->message[i];
    return m->op != GPUAES_GCM_ENCRYPT ||
           (memcmp(mix->tags[i], m->tag, m->tag_bytes) == 0 &&
            memcmp(mix->tags[i] + m->tag_bytes, zeros, 16 - m->tag_bytes) == 0);
}

int mix_is_right(const struct mix *mix)
{
    unsigned char *got = malloc(mix->bytes);
    int right = gpuaes_copy(got, mix->out, mix->bytes) == GPUAES_OK &&
                memcmp(got, mix->expected, mix->bytes) == 0;
    for (size_t i = 0; i < mix->count && right; i++) {
        right = mix_tag_is_right(mix, i);
        if (!right)
            tap_diag("message %zu has a wrong tag: %s, %zu bytes", i, op_names[mix->message[i].op],
                     mix->message[i].len);
    }
    for (size_t i = 0; i < mix->count && !right; i++) {
        const struct mix_message *m = &mix->message[i];
        if (memcmp(got + m->at, mix->expected + m->at, m->len) != 0) {
            tap_diag("message %zu is wrong: %s, %zu bytes at %zu", i, op_names[m->op], m->len,
                     m->at);
            break;
        }
    }
    free(got);
    return right;
}

int mix_has_status(const struct gpuaes_batch *batch, const struct mix *mix, size_t first,
                   enum gpuaes_status status)
{
    for (size_t i = 0; i < mix->count; i++)
        if (gpuaes_batch_status(batch, first + i) != status)
            return 0;
    return 1;
}
