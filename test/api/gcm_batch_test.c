/*
 * AES-GCM in batches of libgpuaes on the emulator: mixes with other modes in memory of all kinds,
 * in place and not; lengths, IVs and additional data of any size, the wrap of the counter; wrong
 * tags among right ones; arrays of records; more slices than slots; what is refused. The expected
 * results are libcrypto's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/launch/ghash.h"
#include "test/support/application.h"
#include "test/support/mixes.h"

enum { BLOCK = GPUAES_BLOCK };
static struct mix mix;

/* What gpuaes_batch_wait() is to return: the worst status of a message. */
static enum gpuaes_status worst(const struct mix *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->message[i].wrong)
            return GPUAES_BAD_TAG;
    return GPUAES_OK;
}

static int has_statuses(const struct gpuaes_batch *batch, const struct mix *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (gpuaes_batch_status(batch, i) != (m->message[i].wrong ? GPUAES_BAD_TAG : GPUAES_OK)) {
            tap_diag("message %zu, of %zu bytes, has status %d", i, m->message[i].len,
                     gpuaes_batch_status(batch, i));
            return 0;
        }
    return 1;
}

static int mix_runs(struct mix_rules rules)
{
    struct gpuaes_batch *batch = open_batch();
    int right = mix_make(&mix, &rules);
    for (int round = 0; right && round < 2; round++) {
        mix_fill(&mix);
        right = mix_add(batch, &mix) && gpuaes_batch_submit(batch, GPUAES_WAIT) == GPUAES_OK &&
                gpuaes_batch_wait(batch) == worst(&mix) && mix_is_right(&mix) &&
                has_statuses(batch, &mix);
        gpuaes_batch_reset(batch);
    }
    gpuaes_batch_close(batch);
    mix_free(&mix);
    return right;
}

/* ---- Mixes ----------------------------------------------------------------------------- */

static void test_kinds(void)
{
    for (int in = 0; in < 3; in++)
        for (int out = 0; out < 3; out++) {
            struct mix_rules rules = {.in_kind = in,
                                      .out_kind = out,
                                      .count = 60,
                                      .longest = 1000,
                                      .op = -1,
                                      .keys = MIX_KEYS};
            int right = mix_runs(rules);
            rules.keys = 0;
            rules.wrong = 1;
            tap_ok(right && mix_runs(rules), "a mix from %s to %s memory", kind_names[in],
                   kind_names[out]);
            if (in != out)
                continue;
            rules.in_place = 1;
            right = mix_runs(rules);
            rules.keys = 1;
            tap_ok(right && mix_runs(rules), "a mix in place in %s memory", kind_names[in]);
        }
    tap_ok(emulator_unpinned_copies() == 0, "pageable memory is never given to the driver");
}

/* Pinned messages that are long enough for copy engines, of which some are not authentic. */
static void test_long_pinned(void)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        struct mix_rules rules = {.in_kind = GPUAES_PINNED,
                                  .out_kind = GPUAES_PINNED,
                                  .in_place = in_place,
                                  .count = 16,
                                  .op = GPUAES_GCM_DECRYPT,
                                  .keys = MIX_KEYS,
                                  .wrong = 1,
                                  .exact = (64 << 10) + 17};
        const unsigned before = emulator_calls("memcpy_dtoh_async");
        int right =
            mix_runs(rules) && emulator_calls("memcpy_dtoh_async") - before == 2 * rules.count;
        rules.op = GPUAES_GCM_ENCRYPT;
        tap_ok(right && mix_runs(rules), "long messages in pinned memory, %s",
               in_place ? "in place" : "out of place");
    }
}

/* Chunks of a message and messages of one chunk, whole rows of warps and parts. */
static void test_directions(void)
{
    for (int op = GPUAES_GCM_ENCRYPT; op <= GPUAES_GCM_DECRYPT; op++)
        for (int keys = 0; keys < 2; keys++) {
            struct mix_rules rules = {.in_kind = GPUAES_DEVICE,
                                      .out_kind = GPUAES_DEVICE,
                                      .count = 30,
                                      .longest = 4096,
                                      .op = op,
                                      .keys = keys,
                                      .aligned = 1,
                                      .wrong = 1};
            int right = mix_runs(rules);
            rules.in_place = 1;
            rules.aligned = 0;
            tap_ok(right && mix_runs(rules), "%s alone, %s", op_names[op],
                   keys ? "one key" : "a key for each message");
            rules.count = 150;
            rules.longest = 2;
            tap_ok(mix_runs(rules), "%s of short messages", op_names[op]);
        }
}

/* ---- Single messages ------------------------------------------------------------------ */

/* A message of which all is given, and what libcrypto makes of it. */
struct single {
    unsigned char key[32], *iv, *aad, *plain, *cipher, tag[BLOCK];
    size_t iv_bytes, aad_bytes, len;
};

static void encrypt_single(struct single *s)
{
    const struct reference_message message = {GPUAES_GCM_ENCRYPT, s->key, sizeof s->key, s->iv,
                                              s->iv_bytes,        s->aad, s->aad_bytes};
    reference_run(&message, s->plain, s->cipher, s->len, s->tag);
}

/* libcrypto's IVs have 128 bytes at most. */
static void encrypt_with_long_iv(struct single *s)
{
    struct gpuaes_gcm_key key;
    gpuaes_gcm_key_expand(&key, s->key, 32);
    struct gpuaes_gcm_message m = {s->iv,     s->iv_bytes, s->aad, s->aad_bytes, s->plain,
                                   s->cipher, s->len,      s->tag, BLOCK};
    gpuaes_gcm_encrypt(&key, &m, GPUAES_WAIT);
}

/* Encrypted and decrypted in one batch, from fresh memory. 1 if all of that is right. */
static int single_runs(struct single *s)
{
    struct gpuaes_batch *batch = open_batch();
    struct gpuaes_gcm_key key;
    unsigned char *text = malloc(2 * s->len + 1), tag[BLOCK] = {0};
    gpuaes_gcm_key_expand(&key, s->key, 32);
    struct gpuaes_message m = {.op = GPUAES_GCM_ENCRYPT,
                               .schedule = &key.schedule,
                               .iv = s->iv,
                               .in = s->plain,
                               .out = text,
                               .len = s->len,
                               .iv_bytes = s->iv_bytes,
                               .aad = s->aad,
                               .aad_bytes = s->aad_bytes,
                               .tag = tag,
                               .tag_bytes = BLOCK};
    int right = gpuaes_batch_add(batch, &m) == GPUAES_OK;
    m.op = GPUAES_GCM_DECRYPT;
    m.in = s->cipher;
    m.out = text + s->len;
    m.tag = s->tag;
    right = right && gpuaes_batch_add(batch, &m) == GPUAES_OK && batch_is_done(batch) &&
            memcmp(text, s->cipher, s->len) == 0 && memcmp(text + s->len, s->plain, s->len) == 0 &&
            memcmp(tag, s->tag, BLOCK) == 0;
    gpuaes_batch_close(batch);
    free(text);
    return right;
}

static int random_runs(size_t iv_bytes, size_t aad_bytes, size_t len)
{
    struct single s = {.iv = malloc(iv_bytes),
                       .aad = malloc(aad_bytes + 1),
                       .plain = malloc(len + 1),
                       .cipher = malloc(len + 1),
                       .iv_bytes = iv_bytes,
                       .aad_bytes = aad_bytes,
                       .len = len};
    tap_random_bytes(&random_state, s.key, sizeof s.key);
    tap_random_bytes(&random_state, s.iv, iv_bytes);
    tap_random_bytes(&random_state, s.aad, aad_bytes);
    tap_random_bytes(&random_state, s.plain, len);
    if (iv_bytes <= 128)
        encrypt_single(&s);
    else
        encrypt_with_long_iv(&s);
    int right = single_runs(&s);
    if (!right)
        tap_diag("IV %zu, AAD %zu, text %zu", iv_bytes, aad_bytes, len);
    free(s.iv);
    free(s.aad);
    free(s.plain);
    free(s.cipher);
    return right;
}

/*
 * An empty message, which is nowhere, and one that begins where it would be, in place in pinned
 * memory of which there is too much for kernels to work there.
 */
static int empty_goes_before(void)
{
    enum { LEN = 768 << 10 };
    unsigned char iv[12] = {1}, tag[2][BLOCK] = {{0}}, none[BLOCK];
    struct single s = {.iv = iv, .iv_bytes = sizeof iv};
    struct gpuaes_batch *batch = open_batch();
    unsigned char *text = gpuaes_pinned_alloc(LEN);
    s.plain = malloc(LEN);
    s.cipher = malloc(LEN);
    tap_random_bytes(&random_state, s.key, sizeof s.key);
    tap_random_bytes(&random_state, s.plain, LEN);
    memcpy(text, s.plain, LEN);
    encrypt_single(&s);
    memcpy(none, s.tag, BLOCK);
    s.len = LEN;
    encrypt_single(&s);
    struct gpuaes_message m = {.op = GPUAES_GCM_ENCRYPT,
                               .key = s.key,
                               .key_bytes = sizeof s.key,
                               .iv = iv,
                               .in = text,
                               .out = text,
                               .iv_bytes = sizeof iv,
                               .tag = tag[0],
                               .tag_bytes = BLOCK};
    int right = gpuaes_batch_add(batch, &m) == GPUAES_OK;
    m.len = LEN;
    m.tag = tag[1];
    right = right && gpuaes_batch_add(batch, &m) == GPUAES_OK && batch_is_done(batch) &&
            memcmp(text, s.cipher, LEN) == 0 && memcmp(tag[0], none, BLOCK) == 0 &&
            memcmp(tag[1], s.tag, BLOCK) == 0;
    gpuaes_batch_close(batch);
    gpuaes_pinned_free(text, LEN);
    free(s.plain);
    free(s.cipher);
    return right;
}

static void test_sizes(void)
{
    int right = 1;
    for (size_t len = 0; len < 70 && right; len++)
        right = random_runs(12, len % 40, len);
    tap_ok(right, "texts of 0 to 69 bytes");
    for (size_t bytes = 1; bytes < 50 && right; bytes++)
        right = random_runs(bytes, 50 - bytes, 100);
    tap_ok(right, "IVs of 1 to 49 bytes");
    tap_ok(random_runs(12, GPUAES_BATCH_AAD_BYTES, 40) && random_runs(12, 8193, 65536) &&
               random_runs(128, 0, 1) && random_runs(GPUAES_BATCH_AAD_BYTES, 1, 5000),
           "IVs and additional data of 64 KiB");
    tap_ok(random_runs(12, 13, GPUAES_BATCH_PAGEABLE_BYTES) &&
               random_runs(12, 13, GPUAES_BATCH_PAGEABLE_BYTES - 1),
           "a text of 2 MiB");
    tap_ok(empty_goes_before(), "an empty text before one at the same place");
}

/* ---- The counter ----------------------------------------------------------------------- */

/* The factor of 1 / H: H to the power of 2^128 - 2. */
static struct ghash_element inverse(const struct gpuaes_gcm_key *key)
{
    struct ghash_element square = {key->h[0], key->h[1]}, result = ghash_power(key, 0);
    for (int i = 1; i < 128; i++) {
        square = ghash_multiply(square, square);
        result = ghash_multiply(result, square);
    }
    return result;
}

/* With an IV whose hash has counters that wrap after `blocks` blocks. */
static int wraps_right(uint32_t blocks, size_t len)
{
    unsigned char iv[BLOCK], counter[BLOCK], *text = malloc(2 * len + BLOCK);
    struct single s = {
        .iv = iv, .plain = text, .cipher = text + len, .iv_bytes = sizeof iv, .len = len};
    struct gpuaes_gcm_key key;
    uint32_t low = 0 - blocks;
    tap_random_bytes(&random_state, s.key, sizeof s.key);
    tap_random_bytes(&random_state, s.plain, len);
    tap_random_bytes(&random_state, counter, sizeof counter);
    for (int i = 0; i < 4; i++)
        counter[15 - i] = (unsigned char)(low >> 8 * i);
    gpuaes_gcm_key_expand(&key, s.key, 32);
    struct ghash_element lengths = {8 * sizeof iv, 0}, by = inverse(&key);
    ghash_store(iv,
                ghash_multiply(ghash_add(ghash_multiply(ghash_load(counter), by), lengths), by));
    encrypt_single(&s);
    int right = single_runs(&s);
    free(text);
    return right;
}

static void test_counter(void)
{
    tap_ok(wraps_right(1, 100) && wraps_right(2, 4096) && wraps_right(255, 8000) &&
               wraps_right(256, 4096) && wraps_right(300, 5001) && wraps_right(3, 33),
           "the counter wraps in 32 bits");
}

/* ---- Gathered, and many ------------------------------------------------------------------ */

static int records_are_right(size_t count, size_t bytes, int kind)
{
    struct gpuaes_batch *batch = open_batch();
    unsigned char key[16], *iv = malloc(count * 12), *aad = malloc(count * 5);
    unsigned char *tags = calloc(count, 12), *plain = malloc(count * bytes);
    unsigned char *p = take(kind, count * bytes), *got = malloc(count * bytes);
    int right = 1;
    tap_random_bytes(&random_state, key, sizeof key);
    tap_random_bytes(&random_state, iv, count * 12);
    tap_random_bytes(&random_state, aad, count * 5);
    tap_random_bytes(&random_state, plain, count * bytes);
    gpuaes_copy(p, plain, count * bytes);
    struct gpuaes_message all = {.op = GPUAES_GCM_ENCRYPT,
                                 .key = key,
                                 .key_bytes = 16,
                                 .iv = iv,
                                 .in = p,
                                 .out = p,
                                 .len = bytes,
                                 .iv_bytes = 12,
                                 .aad = aad,
                                 .aad_bytes = 5,
                                 .tag = tags,
                                 .tag_bytes = 12};
    right = batch_adds(batch, all, count) && batch_is_done(batch) &&
            gpuaes_copy(got, p, count * bytes) == GPUAES_OK;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_DecryptInit_ex(c, EVP_aes_128_gcm(), NULL, key, NULL);
    for (size_t i = 0; i < count && right; i++) {
        int n = 0;
        EVP_DecryptInit_ex(c, NULL, NULL, NULL, iv + i * 12);
        EVP_DecryptUpdate(c, NULL, &n, aad + i * 5, 5);
        EVP_DecryptUpdate(c, got + i * bytes, &n, got + i * bytes, (int)bytes);
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 12, tags + i * 12);
        right = EVP_DecryptFinal_ex(c, got + i * bytes, &n) == 1 &&
                memcmp(got + i * bytes, plain + i * bytes, bytes) == 0;
    }
    EVP_CIPHER_CTX_free(c);
    gpuaes_batch_reset(batch);
    all.op = GPUAES_GCM_DECRYPT;
    tags[(count - 1) * 12] ^= 1;
    right = right && batch_adds(batch, all, count) && gpuaes_batch_submit(batch, 0) == GPUAES_OK &&
            gpuaes_batch_wait(batch) == GPUAES_BAD_TAG &&
            gpuaes_batch_status(batch, count - 1) == GPUAES_BAD_TAG;
    memset(plain + (count - 1) * bytes, 0, bytes);
    for (size_t i = 0; i + 1 < count; i++)
        right = right && gpuaes_batch_status(batch, i) == GPUAES_OK;
    right = right && holds(p, plain, count * bytes);
    gpuaes_batch_close(batch);
    give(kind, p, count * bytes);
    free(iv);
    free(aad);
    free(tags);
    free(plain);
    free(got);
    return right;
}

static void test_records(void)
{
    for (int kind = 0; kind < 3; kind++) {
        tap_ok(records_are_right(40, 1000, kind), "records in %s memory", kind_names[kind]);
        tap_ok(records_are_right(16384 + 300, 17, kind), "more than a slice in %s memory",
               kind_names[kind]);
    }
}

/* ---- Refusals ------------------------------------------------------------------------------- */

static void test_refusals(void)
{
    static unsigned char text[64], tag[BLOCK], key[16], iv[GPUAES_BATCH_AAD_BYTES + 1];
    struct gpuaes_batch *batch = open_batch();
    const struct gpuaes_message good = {.op = GPUAES_GCM_ENCRYPT,
                                        .key = key,
                                        .key_bytes = 16,
                                        .iv = iv,
                                        .in = text,
                                        .out = text,
                                        .len = 33,
                                        .iv_bytes = 12,
                                        .tag = tag,
                                        .tag_bytes = 16};
    struct gpuaes_message bad[9];
    enum { BAD = sizeof bad / sizeof *bad };
    for (size_t i = 0; i < BAD; i++)
        bad[i] = good;
    bad[0].iv = NULL;
    bad[1].iv_bytes = 0;
    bad[2].iv_bytes = sizeof iv;
    bad[3].aad_bytes = 1;
    bad[4].aad = iv;
    bad[4].aad_bytes = sizeof iv;
    bad[5].tag = NULL;
    bad[6].tag_bytes = 5;
    bad[7].tag_bytes = 17;
    bad[8].out = text + 1;
    int right = gpuaes_batch_add(batch, &good) == GPUAES_OK;
    for (size_t i = 0; i < BAD; i++)
        right &= gpuaes_batch_add(batch, &bad[i]) == GPUAES_BAD_ARGUMENT;
    tap_ok(right && batch_is_done(batch) && gpuaes_batch_status(batch, 0) == GPUAES_OK &&
               gpuaes_batch_status(batch, BAD) == GPUAES_BAD_ARGUMENT,
           "bad messages are refused, and others are done");
    gpuaes_batch_close(batch);
}

/* A device whose blocks have as many warps as real ones. */
static int many_warps(const void *unused)
{
    struct mix_rules rules = {
        .in_kind = 2, .out_kind = 2, .count = 80, .longest = 700, .op = -1, .wrong = 1};
    (void)unused;
    emulator_configure("threads=256");
    become_an_application(0);
    return starts_with(NULL) && mix_runs(rules) ? 0 : 1;
}

int main(void)
{
    tap_random_seed(&random_state);
    child_ok(many_warps, NULL, "blocks of eight warps");
    become_an_application(0);
    if (!tap_ok(starts_with(NULL), "the device starts"))
        return tap_done();
    test_kinds();
    test_long_pinned();
    test_directions();
    test_sizes();
    test_counter();
    test_records();
    test_refusals();
    return tap_done();
}
