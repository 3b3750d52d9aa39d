/*
 * Calls of GCM while every function of the driver fails, once, at its first, a middle and its last
 * call, the device is lost there, or a kernel hangs. After gpuaes_gcm() a caller who goes on from
 * what is reported gets the text and the tag; gpuaes_gcm_encrypt() and gpuaes_gcm_decrypt() do the
 * whole message or say that they did not, and never take a forged one.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/faulty_calls.h"

enum { KIB = 1 << 10, MIB = 1 << 20, BLOCK = GPUAES_BLOCK, KEY = 32, IV = 12, AAD = 3 * BLOCK };
enum { BLOCKS, MESSAGE, FORGED }; /* gpuaes_gcm(), or a whole message */

static const struct row {
    const char *name;
    int what, encrypt, kind, in_place;
    size_t len;
    struct gpuaes_settings settings;
    const char *emulator;
} rows[] = {
    {"encryption of blocks in pageable memory", .encrypt = 1, .len = 600 * KIB},
    {"decryption of blocks in pageable memory, in place", .in_place = 1, .len = 600 * KIB},
    {"encryption of blocks in pinned memory, in place", .encrypt = 1, .kind = GPUAES_PINNED,
     .in_place = 1, .len = 300 * KIB},
    {"decryption of blocks in pinned memory by copies", .kind = GPUAES_PINNED, .len = 5 * MIB},
    {"encryption of blocks in device memory", .encrypt = 1, .kind = GPUAES_DEVICE,
     .len = 300 * KIB},
    {"decryption of blocks by three threads, with a second device", .len = 3 * MIB,
     .settings = {.devices = GPUAES_ALL_DEVICES, .threads = 3}, .emulator = "devices=2"},
    {"encryption of a message in pageable memory", MESSAGE, .encrypt = 1, .len = 300 * KIB + 5},
    {"decryption of a message in pinned memory, in place", MESSAGE, .kind = GPUAES_PINNED,
     .in_place = 1, .len = 300 * KIB + 5},
    {"encryption of a message in device memory", MESSAGE, .encrypt = 1, .kind = GPUAES_DEVICE,
     .len = 100 * KIB + 5},
    {"decryption of a message in device memory, in place", MESSAGE, .kind = GPUAES_DEVICE,
     .in_place = 1, .len = 100 * KIB + 5},
    {"encryption of less than a block in device memory", MESSAGE, .encrypt = 1,
     .kind = GPUAES_DEVICE, .len = 11},
    {"a forged message in pinned memory", FORGED, .kind = GPUAES_PINNED, .len = 100 * KIB + 5},
    {"a forged message in device memory", FORGED, .kind = GPUAES_DEVICE, .in_place = 1,
     .len = 100 * KIB + 5},
};

/* ---- What is expected ------------------------------------------------------------------- */

struct text {
    unsigned char key[KEY], iv[IV], aad[AAD], tag[BLOCK];
    struct gpuaes_gcm_key expanded;
    unsigned char *in, *expected; /* in memory of the CPU */
};

static struct text text_make(const struct row *r)
{
    struct tap_random random = {5};
    struct text t = {.in = malloc(r->len + BLOCK), .expected = malloc(r->len + BLOCK)};
    unsigned char *plain = r->encrypt ? t.in : t.expected, *sealed = r->encrypt ? t.expected : t.in;
    tap_random_bytes(&random, t.key, KEY);
    tap_random_bytes(&random, t.iv, IV);
    tap_random_bytes(&random, t.aad, AAD);
    tap_random_bytes(&random, plain, r->len);
    const struct reference_message message = {GPUAES_GCM_ENCRYPT, t.key, KEY, t.iv, IV, t.aad, AAD};
    reference_run(&message, plain, sealed, r->len, t.tag);
    gpuaes_gcm_key_expand(&t.expanded, t.key, KEY);
    return t;
}

/* The counter block of the text's first block, or with `number` 1 that of the mask. */
static void counter_of(const struct text *t, unsigned char number, unsigned char counter[BLOCK])
{
    memset(counter, 0, BLOCK);
    memcpy(counter, t->iv, IV);
    counter[BLOCK - 1] = number;
}

static int tag_is_right(const struct text *t, unsigned char hash[BLOCK], size_t len)
{
    unsigned char lengths[BLOCK] = {0}, mask[BLOCK] = {0}, counter[BLOCK];
    for (int i = 0; i < 8; i++) {
        lengths[7 - i] = (unsigned char)((uint64_t)AAD * 8 >> 8 * i);
        lengths[15 - i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
    }
    gpuaes_gcm_hash(&t->expanded, hash, lengths, BLOCK);
    counter_of(t, 1, counter);
    reference(GPUAES_CTR, t->key, KEY, counter, mask, mask, BLOCK);
    for (int i = 0; i < BLOCK; i++)
        hash[i] ^= mask[i];
    return memcmp(hash, t->tag, BLOCK) == 0;
}

/* ---- Calls ------------------------------------------------------------------------------- */

/* What the CPU does of a shard that is left: `in` and `out` begin there. */
static void finish(const struct row *r, const struct text *t, unsigned char counter[BLOCK],
                   unsigned char hash[BLOCK], const unsigned char *in, unsigned char *out,
                   size_t len)
{
    if (!r->encrypt)
        gpuaes_gcm_hash(&t->expanded, hash, in, len);
    reference(GPUAES_CTR, t->key, KEY, counter, in, out, len);
    if (r->encrypt)
        gpuaes_gcm_hash(&t->expanded, hash, out, len);
}

/* 1 if a caller without a device gets the text and the tag. On the emulator it can read it all. */
static int finishes_right(const struct row *r, const struct text *t,
                          const struct gpuaes_gcm_state *state, struct gpuaes_report *report,
                          const unsigned char *in, unsigned char *out)
{
    unsigned char hash[BLOCK];
    size_t end = 0;
    memcpy(hash, state->hash, BLOCK);
    for (unsigned i = 0; i < report->shards; i++) {
        struct gpuaes_shard *s = &report->shard[i];
        size_t at = s->at + s->done;
        if (s->at != end || memcmp(out + s->at, t->expected + s->at, s->done) != 0)
            return 0;
        end = s->at + s->bytes;
        gpuaes_gcm_join(&t->expanded, hash, s->hash, s->done / BLOCK);
        if (at != end)
            finish(r, t, s->iv, hash, in + at, out + at, end - at);
    }
    return end == r->len && memcmp(out, t->expected, r->len) == 0 && tag_is_right(t, hash, r->len);
}

static int blocks_are_right(const struct row *r, const struct text *t, const unsigned char *in,
                            unsigned char *out, int *status)
{
    struct gpuaes_gcm_state state = {{0}, {0}}, before;
    struct gpuaes_report report;
    counter_of(t, 2, state.counter);
    gpuaes_gcm_hash(&t->expanded, state.hash, t->aad, AAD);
    before = state;
    *status = gpuaes_gcm(r->encrypt ? GPUAES_GCM_ENCRYPT : GPUAES_GCM_DECRYPT, &t->expanded, &state,
                         in, out, r->len, GPUAES_WAIT, &report);
    if (*status == GPUAES_UNDEFINED)
        return memcmp(&state, &before, sizeof state) == 0;
    if (*status != GPUAES_OK)
        return memcmp(&state, &before, sizeof state) == 0 &&
               finishes_right(r, t, &before, &report, in, out);
    return bytes_done(&report) == r->len && memcmp(out, t->expected, r->len) == 0 &&
           tag_is_right(t, state.hash, r->len);
}

static int is_zero(const unsigned char *p, size_t len)
{
    return p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

static int message_is_right(const struct row *r, struct text *t, const unsigned char *in,
                            unsigned char *out, int *status)
{
    unsigned char tag[BLOCK] = {0};
    if (!r->encrypt)
        memcpy(tag, t->tag, BLOCK);
    tag[9] ^= r->what == FORGED;
    struct gpuaes_gcm_message m = {t->iv, IV, t->aad, AAD, in, out, r->len, tag, BLOCK};
    *status = (r->encrypt ? gpuaes_gcm_encrypt : gpuaes_gcm_decrypt)(&t->expanded, &m, GPUAES_WAIT);
    if (r->what == FORGED)
        return *status != GPUAES_OK && (*status != GPUAES_BAD_TAG || is_zero(out, r->len));
    if (*status != GPUAES_OK) /* without a tag */
        return *status != GPUAES_BAD_TAG && (!r->encrypt || is_zero(tag, BLOCK));
    return memcmp(out, t->expected, r->len) == 0 && memcmp(tag, t->tag, BLOCK) == 0;
}

/* ---- Faults -------------------------------------------------------------------------------- */

static struct text text;
static unsigned char *in, *out;

static int prepare(const void *argument)
{
    const struct row *r = argument;
    text = text_make(r);
    in = take(r->kind, r->len);
    out = r->in_place ? in : take(r->kind, r->len);
    return in != NULL && out != NULL && gpuaes_copy(in, text.in, r->len) == GPUAES_OK;
}

/* Input that is not the output stays as it was. */
static int run(const void *argument, int *status)
{
    const struct row *r = argument;
    int right = r->what == BLOCKS ? blocks_are_right(r, &text, in, out, status)
                                  : message_is_right(r, &text, in, out, status);
    return right && (r->in_place || memcmp(in, text.in, r->len) == 0);
}

static int status_is_known(const void *argument, const char *fault, int status)
{
    const struct row *r = argument;
    (void)fault;
    return status == GPUAES_OK || status == GPUAES_NO_MEMORY || status == GPUAES_FAULT ||
           status == GPUAES_UNDEFINED || (r->what == FORGED && status == GPUAES_BAD_TAG) ||
           (r->what != BLOCKS && r->kind == GPUAES_DEVICE && status == GPUAES_NOT_READY);
}

int main(void)
{
    for (const struct row *r = rows; r < rows + sizeof rows / sizeof rows[0]; r++)
        faulty_call_check(
            &(struct faulty_call){.name = r->name,
                                  .row = r,
                                  .settings = r->settings,
                                  .emulator = r->emulator,
                                  .wanted = r->what == FORGED ? GPUAES_BAD_TAG : GPUAES_OK,
                                  .prepare = prepare,
                                  .run = run,
                                  .knows = status_is_known});
    return tap_done();
}
