/*
 * The published vectors through AES-GCM, both ways: whole and in odd updates, in place and out of
 * place, with additional data whole and in pieces, the tag early and late, and again with a new IV
 * alone. Forged messages are refused, and so is each message with another tag.
 *
 * With min-bytes=0 and policy=gpu, the device does whole blocks however few they are: the
 * provider's own figures say so.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/minmax.h"
#include "test/evp/gcm_vectors.h"
#include "test/support/known_answers.h"

enum { ROWS = sizeof gcm_vectors / sizeof *gcm_vectors };
enum { BLOCK = 16, MARGIN = 32, MOST_IV = 128 };

struct message {
    const char *source;
    int authentic, has_plain;
    unsigned char key[32], iv[MOST_IV], tag[BLOCK];
    unsigned char aad[GCM_LONGEST], plain[GCM_LONGEST], coded[GCM_LONGEST];
    size_t key_bytes, iv_bytes, tag_bytes, aad_bytes, length;
};

static struct message read_message(const struct gcm_vector *v)
{
    struct message m = {
        .source = v->source, .authentic = v->authentic, .has_plain = v->plain != NULL};
    m.key_bytes = from_hex(m.key, v->key);
    m.iv_bytes = from_hex(m.iv, v->iv);
    m.tag_bytes = from_hex(m.tag, v->tag);
    m.aad_bytes = from_hex(m.aad, v->aad);
    m.length = from_hex(m.coded, v->coded);
    from_hex(m.plain, v->plain);
    return m;
}

/* ---- One run ---------------------------------------------------------------- */

/* How a message is given to EVP. Pieces of 0: whole. */
struct way {
    const char *name;
    size_t aad_piece, piece;
    int in_place, early_tag, iv_only;
};

static const struct way whole = {.name = "whole"};
static const struct way ways[] = {
    {"in bytes", .aad_piece = 1, .piece = 1},
    {"in place, with a new IV alone", .in_place = 1, .iv_only = 1, .early_tag = 1},
    {"in updates of 7 bytes, in place", .aad_piece = 5, .piece = 7, .in_place = 1, .early_tag = 1},
    {"in updates of 16 bytes, with a new IV alone", .aad_piece = 16, .piece = 16, .iv_only = 1},
    {"in updates of 33 bytes, in place", .aad_piece = 17, .piece = 33, .in_place = 1},
};
enum { WAYS = sizeof ways / sizeof *ways };

static int begin(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, const struct message *m,
                 int encrypt, const struct way *way)
{
    if (way->iv_only)
        return EVP_CipherInit_ex2(context, NULL, NULL, m->iv, encrypt, NULL);
    return EVP_CipherInit_ex2(context, cipher, NULL, NULL, encrypt, NULL) &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, (int)m->iv_bytes, NULL) &&
           EVP_CipherInit_ex2(context, NULL, m->key, m->iv, encrypt, NULL);
}

static int set_tag(EVP_CIPHER_CTX *context, const unsigned char *tag, size_t bytes)
{
    unsigned char copy[BLOCK];
    memcpy(copy, tag, bytes);
    return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)bytes, copy);
}

/* All of it in updates of `piece` bytes, each of which gives as much; `out` of NULL takes AAD. */
static int feed(EVP_CIPHER_CTX *context, unsigned char *out, const unsigned char *in, size_t length,
                size_t piece)
{
    int n = 0, right = 1;
    if (piece == 0)
        piece = length;
    for (size_t done = 0; right && done < length; done += piece) {
        piece = min_u64(piece, length - done);
        right = EVP_CipherUpdate(context, out != NULL ? out + done : NULL, &n, in + done,
                                 (int)piece) == 1 &&
                n == (int)piece;
    }
    return right;
}

static int has_tag(EVP_CIPHER_CTX *context, const struct message *m)
{
    unsigned char tag[BLOCK];
    return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, (int)m->tag_bytes, tag) == 1 &&
           !memcmp(tag, m->tag, m->tag_bytes);
}

/* The bytes of `want`, if not NULL, and nothing before and after them. */
static int is_written(const unsigned char buffer[GCM_LONGEST + 2 * MARGIN],
                      const unsigned char *want, size_t length)
{
    int right = want == NULL || !memcmp(buffer + MARGIN, want, length);
    for (size_t i = 0; i < MARGIN; i++)
        right &= buffer[i] == 0xa5 && buffer[MARGIN + length + i] == 0xa5;
    return right;
}

/* Whether one run gives the message, and accepts it if `authentic`. */
static int run(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, const struct message *m,
               int encrypt, int authentic, const struct way *way)
{
    unsigned char buffer[GCM_LONGEST + 2 * MARGIN], *out = buffer + MARGIN;
    const unsigned char *in = encrypt ? m->plain : m->coded;
    const unsigned char *want = encrypt ? m->coded : m->has_plain ? m->plain : NULL;
    int n = -1, right;

    memset(buffer, 0xa5, sizeof buffer);
    if (way->in_place)
        in = memcpy(out, in, m->length);
    right = begin(context, cipher, m, encrypt, way) &&
            (encrypt || !way->early_tag || set_tag(context, m->tag, m->tag_bytes)) &&
            feed(context, NULL, m->aad, m->aad_bytes, way->aad_piece) &&
            feed(context, out, in, m->length, way->piece) &&
            (encrypt || way->early_tag || set_tag(context, m->tag, m->tag_bytes)) &&
            (EVP_CipherFinal_ex(context, out + m->length, &n) > 0) == authentic &&
            (!authentic || n == 0) && (!encrypt || has_tag(context, m));
    ERR_clear_error();
    return right && is_written(buffer, want, m->length);
}

/* ---- A row ------------------------------------------------------------------ */

/* Whole blocks were the device's, and nothing but the rest of the text the CPU's. */
static void check_figures(const struct message *m, const char *direction,
                          const struct figures *before)
{
    struct figures after = figures_get(&test_providers);
    uint64_t gpu = after.gpu_bytes - before->gpu_bytes, cpu = after.cpu_bytes - before->cpu_bytes;
    uint64_t launches = after.launches - before->launches;

    if (stand_in()) {
        tap_skip("%s %s: the default provider keeps no figures", m->source, direction);
        return;
    }
    if (!tap_ok(gpu >= m->length - m->length % BLOCK && gpu + cpu == m->length &&
                    (m->length < BLOCK || launches > 0),
                "%s, %s: whole blocks of %zu bytes through a kernel", m->source, direction,
                m->length))
        tap_diag("gpu-bytes=%llu cpu-bytes=%llu launches=%llu", (unsigned long long)gpu,
                 (unsigned long long)cpu, (unsigned long long)launches);
}

static void check_whole(const struct message *m, const EVP_CIPHER *cipher, int encrypt)
{
    const char *direction = encrypt ? "encrypt" : m->authentic ? "decrypt" : "decrypt a forgery";
    struct figures before = figures_get(&test_providers);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();

    tap_ok(run(context, cipher, m, encrypt, m->authentic, &whole), "%s, %s", m->source, direction);
    EVP_CIPHER_CTX_free(context); /* which adds its bytes to the figures */
    check_figures(m, direction, &before);
}

/* In one context, which keeps the key and the length of the IV where a way gives an IV alone. */
static void check_ways(const struct message *m, const EVP_CIPHER *cipher, int encrypt)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int right = 1;

    for (int i = 0; i < WAYS; i++)
        if (!run(context, cipher, m, encrypt, m->authentic, &ways[i])) {
            tap_diag("wrong %s", ways[i].name);
            right = 0;
        }
    tap_ok(right, "%s, %s in %d other ways", m->source, encrypt ? "encrypt" : "decrypt", WAYS);
    EVP_CIPHER_CTX_free(context);
}

/* One bit, another one for each row; the last byte counts for short tags, too. */
static void check_wrong_tags(const struct message *m, const EVP_CIPHER *cipher, size_t row)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    const size_t places[] = {row / 8 % m->tag_bytes, m->tag_bytes - 1};
    struct message forged = *m;
    int right = 1;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        forged.tag[places[i]] ^= (unsigned char)(1 << row % 8);
        right &= run(context, cipher, &forged, 0, 0, &whole);
        forged.tag[places[i]] = m->tag[places[i]];
    }
    tap_ok(right, "%s, refused with a bit of the tag changed", m->source);
    tap_ok(run(context, cipher, m, 0, 1, &whole), "%s, accepted after that", m->source);
    EVP_CIPHER_CTX_free(context);
}

static void check_row(const struct message *m, size_t row)
{
    char name[sizeof "AES-256-GCM"];
    snprintf(name, sizeof name, "AES-%d-GCM", 8 * (int)m->key_bytes);
    EVP_CIPHER *cipher = fetch_ours(&test_providers, name);

    if (!is_ours(cipher)) {
        tap_ok(0, "%s, %s is ours", m->source, name);
        return;
    }
    for (int encrypt = m->authentic; encrypt >= 0; encrypt--) {
        check_whole(m, cipher, encrypt);
        check_ways(m, cipher, encrypt);
    }
    if (m->authentic)
        check_wrong_tags(m, cipher, row);
    EVP_CIPHER_free(cipher);
}

/* ---- Lengths ---------------------------------------------------------------- */

static const int refused_iv_lengths[] = {-1, 0, MOST_IV + 1}, refused_tag_lengths[] = {-1, 0, 17};
enum { REFUSED = sizeof refused_iv_lengths / sizeof *refused_iv_lengths };

static void check_lengths(const char *name)
{
    unsigned char bytes[MOST_IV + 1] = {0};
    EVP_CIPHER_CTX *context = context_open(1, name, bytes, bytes, 0, NULL);

    for (int i = 0; context != NULL && i < REFUSED; i++) {
        int iv = refused_iv_lengths[i], tag = refused_tag_lengths[i];
        tap_ok(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, iv, NULL) <= 0,
               "%s refuses an IV of %d bytes", name, iv);
        tap_ok(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tag, bytes) <= 0,
               "%s refuses a tag of %d bytes", name, tag);
    }
    ERR_clear_error();
    EVP_CIPHER_CTX_free(context);
}

int main(void)
{
    setenv("GPUAES_MIN_BYTES", "0", 1);
    setenv("GPUAES_POLICY", "gpu", 1);
    test_providers = providers_load();
    for (size_t i = 0; i < ROWS; i += sanitized() ? 5 : 1) {
        struct message m = read_message(&gcm_vectors[i]);
        check_row(&m, i);
    }
    check_names("AES-128-GCM", "2.16.840.1.101.3.4.1.6", 16);
    check_names("AES-192-GCM", "2.16.840.1.101.3.4.1.26", 24);
    check_names("AES-256-GCM", "2.16.840.1.101.3.4.1.46", 32);
    check_lengths("AES-128-GCM");
    check_lengths("AES-256-GCM");
    tap_ok(figure("faults") == 0, "no fault");
    providers_unload(&test_providers);
    return tap_done();
}
