/*
 * Mixes of messages for batches.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/mixes.h"

void mix_message(struct mix_message *m, const struct mix_rules *rules,
                 unsigned char keys[MIX_KEYS][32])
{
    static const size_t key_sizes[] = {16, 24, 32};
    struct tap_random *r = &random_state;
    m->op = (enum gpuaes_op)(rules->op >= 0 ? (size_t)rules->op : tap_random_below(r, 5));
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
}

struct gpuaes_batch *open_batch(void)
{
    struct gpuaes_batch *batch = NULL;
    return gpuaes_batch_open(&batch) == GPUAES_OK ? batch : NULL;
}

int mix_make(struct mix *mix, const struct mix_rules *rules)
{
    static unsigned char keys[MIX_KEYS][32];
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
    if (mix->in == NULL || mix->out == NULL)
        return 0;
    tap_random_bytes(&random_state, mix->plain, mix->bytes);
    memcpy(mix->expected, mix->plain, mix->bytes);
    for (size_t i = 0; i < mix->count; i++) {
        const struct mix_message *m = &mix->message[i];
        unsigned char iv[16];
        memcpy(iv, m->iv, sizeof iv);
        reference(m->op, m->key, m->key_bytes, iv, mix->plain + m->at, mix->expected + m->at,
                  m->len);
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
}

void mix_fill(const struct mix *mix)
{
    gpuaes_copy(mix->in, mix->plain, mix->bytes);
    if (!mix->in_place)
        gpuaes_copy(mix->out, mix->plain, mix->bytes);
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
                                     .len = m->len};
    if (i % 3 == 0) {
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

int mix_is_right(const struct mix *mix)
{
    unsigned char *got = malloc(mix->bytes);
    int right = gpuaes_copy(got, mix->out, mix->bytes) == GPUAES_OK &&
                memcmp(got, mix->expected, mix->bytes) == 0;
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
