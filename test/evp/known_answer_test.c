/*
 * Published vectors through every cipher, both ways: whole and in updates of many lengths, in place
 * and out of place, at odd addresses, and again with a new IV alone; of GCM with additional data in
 * pieces, the tag early and late. Forged messages are refused, and so is each message with another
 * tag. With min-bytes=0 and policy=gpu a device does whole blocks however few they are: the
 * provider's own figures say so.
 *
 * Then the names: whatever fetches a cipher of the default provider fetches ours, by name, alias or
 * object identifier, and through EVP_aes_256_ctr().
 *
 * FIPS 197 appendices B and C; NIST SP 800-38A F.1, F.2 and F.5; see gcm_vectors.h and
 * xts_vectors.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/minmax.h"
#include "test/evp/gcm_vectors.h"
#include "test/evp/xts_vectors.h"
#include "test/support/known_answers.h"

/* ---- Vectors -------------------------------------------------------------- */

#define KEY_128 "2b7e151628aed2a6abf7158809cf4f3c"
#define KEY_192 "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"
#define KEY_256 "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
#define CBC_IV "000102030405060708090a0b0c0d0e0f"
#define COUNTER "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
#define FOUR_BLOCKS                                                                                \
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"                             \
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
#define FIPS_KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define FIPS_PLAIN "00112233445566778899aabbccddeeff"

static const struct aes_vector {
    const char *source, *cipher, *key, *iv, *plain, *coded;
} aes_vectors[] = {
    {"FIPS 197 B", "AES-128-ECB", KEY_128, NULL, "3243f6a8885a308d313198a2e0370734",
     "3925841d02dc09fbdc118597196a0b32"},
    {"FIPS 197 C.1", "AES-128-ECB", FIPS_KEY, NULL, FIPS_PLAIN, "69c4e0d86a7b0430d8cdb78070b4c55a"},
    {"FIPS 197 C.2", "AES-192-ECB", FIPS_KEY, NULL, FIPS_PLAIN, "dda97ca4864cdfe06eaf70a0ec0d7191"},
    {"FIPS 197 C.3", "AES-256-ECB", FIPS_KEY, NULL, FIPS_PLAIN, "8ea2b7ca516745bfeafc49904b496089"},
    {"SP 800-38A F.1.1", "AES-128-ECB", KEY_128, NULL, FOUR_BLOCKS,
     "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"
     "43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4"},
    {"SP 800-38A F.1.3", "AES-192-ECB", KEY_192, NULL, FOUR_BLOCKS,
     "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef"
     "ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e"},
    {"SP 800-38A F.1.5", "AES-256-ECB", KEY_256, NULL, FOUR_BLOCKS,
     "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870"
     "b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7"},
    {"SP 800-38A F.2.1", "AES-128-CBC", KEY_128, CBC_IV, FOUR_BLOCKS,
     "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
     "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7"},
    {"SP 800-38A F.2.3", "AES-192-CBC", KEY_192, CBC_IV, FOUR_BLOCKS,
     "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a"
     "571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd"},
    {"SP 800-38A F.2.5", "AES-256-CBC", KEY_256, CBC_IV, FOUR_BLOCKS,
     "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
     "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b"},
    {"SP 800-38A F.5.1", "AES-128-CTR", KEY_128, COUNTER, FOUR_BLOCKS,
     "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
     "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee"},
    {"SP 800-38A F.5.3", "AES-192-CTR", KEY_192, COUNTER, FOUR_BLOCKS,
     "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94"
     "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050"},
    {"SP 800-38A F.5.5", "AES-256-CTR", KEY_256, COUNTER, FOUR_BLOCKS,
     "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
     "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"},
};

enum { AES_ROWS = sizeof aes_vectors / sizeof *aes_vectors };
enum { GCM_ROWS = sizeof gcm_vectors / sizeof *gcm_vectors };
enum { XTS_ROWS = sizeof xts_vectors / sizeof *xts_vectors };
enum { BLOCK = 16, MARGIN = 32, MOST_IV = 128, MOST = GCM_LONGEST };

struct message {
    const char *source;
    char cipher[sizeof "AES-256-GCM"];
    int mode, authentic, has_plain;
    unsigned char key[LONGEST_KEY], iv[MOST_IV], tag[BLOCK], aad[MOST], plain[MOST], coded[MOST];
    size_t iv_bytes, tag_bytes, aad_bytes, length;
};

static struct message read_text(const char *source, const char *key, const char *iv,
                                const char *plain, const char *coded)
{
    struct message m = {.source = source, .authentic = 1, .has_plain = plain != NULL};
    from_hex(m.key, key);
    m.iv_bytes = from_hex(m.iv, iv);
    m.length = from_hex(m.coded, coded);
    from_hex(m.plain, plain);
    return m;
}

static struct message read_aes(const struct aes_vector *v)
{
    struct message m = read_text(v->source, v->key, v->iv, v->plain, v->coded);
    snprintf(m.cipher, sizeof m.cipher, "%s", v->cipher);
    return m;
}

static struct message read_gcm(const struct gcm_vector *v)
{
    struct message m = read_text(v->source, v->key, v->iv, v->plain, v->coded);
    snprintf(m.cipher, sizeof m.cipher, "AES-%d-GCM", 4 * (int)strlen(v->key));
    m.authentic = v->authentic;
    m.tag_bytes = from_hex(m.tag, v->tag);
    m.aad_bytes = from_hex(m.aad, v->aad);
    return m;
}

static struct message read_xts(const struct xts_vector *v)
{
    struct message m = read_text(v->source, v->key, v->tweak, v->plain, v->coded);
    snprintf(m.cipher, sizeof m.cipher, "AES-%d-XTS", 2 * (int)strlen(v->key));
    return m;
}

/* ---- One run ---------------------------------------------------------------- */

/* How a message is given to EVP: pieces of 0 are whole, places are off a round address. */
static const struct way {
    const char *name;
    size_t piece, aad_piece, in_at, out_at;
    int in_place, early_tag, iv_only;
} ways[] = {
    {.name = "whole"},
    {.name = "in bytes", .piece = 1, .aad_piece = 1},
    {.name = "in updates of 7 bytes", .piece = 7, .aad_piece = 5, .early_tag = 1},
    {.name = "in updates of 7 bytes, in place", .piece = 7, .in_place = 1, .out_at = 7},
    {.name = "in updates of 16 bytes, new IV alone", .piece = 16, .aad_piece = 16, .iv_only = 1},
    {.name = "in updates of 33 bytes", .piece = 33, .aad_piece = 17},
    {.name = "in updates of 33 bytes, in place", .piece = 33, .in_place = 1},
    {.name = "in place, with a new IV alone", .in_place = 1, .iv_only = 1, .early_tag = 1},
    {.name = "in place at an odd address", .in_place = 1, .out_at = 7},
    {.name = "from an odd address", .in_at = 1},
    {.name = "to an odd address, with a new IV alone", .out_at = 3, .iv_only = 1},
};
enum { WAYS = sizeof ways / sizeof *ways };

static int is_of_blocks(const struct message *m)
{
    return m->mode == EVP_CIPH_ECB_MODE || m->mode == EVP_CIPH_CBC_MODE;
}

/* An update of XTS is a data unit. What is held back of a block comes to lie on later input. */
static int is_possible(const struct way *way, const struct message *m)
{
    return way->piece == 0 || (m->mode != EVP_CIPH_XTS_MODE && !(way->in_place && is_of_blocks(m)));
}

static int begin(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, const struct message *m,
                 int encrypt, const struct way *way)
{
    if (way->iv_only)
        return EVP_CipherInit_ex2(context, NULL, NULL, m->iv, encrypt, NULL);
    return EVP_CipherInit_ex2(context, cipher, NULL, NULL, encrypt, NULL) &&
           (m->mode != EVP_CIPH_GCM_MODE ||
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, (int)m->iv_bytes, NULL)) &&
           EVP_CipherInit_ex2(context, NULL, m->key, m->iv, encrypt, NULL) &&
           EVP_CIPHER_CTX_set_padding(context, 0);
}

static int set_tag(EVP_CIPHER_CTX *context, const struct message *m)
{
    unsigned char copy[BLOCK];
    memcpy(copy, m->tag, BLOCK);
    return m->tag_bytes == 0 ||
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)m->tag_bytes, copy);
}

static int has_tag(EVP_CIPHER_CTX *context, const struct message *m)
{
    unsigned char tag[BLOCK];
    return m->tag_bytes == 0 ||
           (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, (int)m->tag_bytes, tag) == 1 &&
            !memcmp(tag, m->tag, m->tag_bytes));
}

/* All of it in updates of `piece` bytes, which give as much in all; `out` of NULL takes AAD. */
static int feed(EVP_CIPHER_CTX *context, unsigned char *out, const unsigned char *in, size_t length,
                size_t piece)
{
    size_t written = 0;
    int n = 0, right = 1;
    for (size_t done = 0; right && done < length; done += piece) {
        piece = min_u64(piece != 0 ? piece : length, length - done);
        right = EVP_CipherUpdate(context, out != NULL ? out + written : NULL, &n, in + done,
                                 (int)piece) == 1;
        written += (size_t)n;
    }
    return right && written == length;
}

/* The bytes of `want`, if not NULL, and nothing before and after them. */
static int is_written(const unsigned char *out, const unsigned char *want, size_t length)
{
    int right = want == NULL || !memcmp(out, want, length);
    for (size_t i = 1; i <= BLOCK; i++)
        right &= out[-(ptrdiff_t)i] == 0xa5 && out[length + i - 1] == 0xa5;
    return right;
}

/* Whether one run gives the message, and accepts it if `authentic`. */
static int run(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, const struct message *m,
               int encrypt, int authentic, const struct way *way)
{
    _Alignas(BLOCK) unsigned char buffer[MOST + 2 * MARGIN], source[MOST + BLOCK];
    unsigned char *out = buffer + BLOCK + way->out_at;
    unsigned char *in = way->in_place ? out : source + way->in_at;
    const unsigned char *want = encrypt ? m->coded : m->has_plain ? m->plain : NULL;
    int n = -1;

    memset(buffer, 0xa5, sizeof buffer);
    memcpy(in, encrypt ? m->plain : m->coded, m->length);
    int right = begin(context, cipher, m, encrypt, way) &&
                (encrypt || !way->early_tag || set_tag(context, m)) &&
                feed(context, NULL, m->aad, m->aad_bytes, way->aad_piece) &&
                feed(context, out, in, m->length, way->piece) &&
                (encrypt || way->early_tag || set_tag(context, m)) &&
                (EVP_CipherFinal_ex(context, out + m->length, &n) > 0) == authentic &&
                (!authentic || n == 0) && (!encrypt || has_tag(context, m));
    ERR_clear_error();
    return right && is_written(out, want, m->length);
}

/* ---- A row ------------------------------------------------------------------ */

/* The bytes were counted where they were to go, and nowhere else. */
static void check_figures(const struct message *m, int encrypt, const char *direction,
                          const struct figures *before)
{
    struct figures after = figures_get(&test_providers);
    uint64_t gpu = after.gpu_bytes - before->gpu_bytes, cpu = after.cpu_bytes - before->cpu_bytes;
    uint64_t launches = after.launches - before->launches;
    int is_serial = encrypt && m->mode == EVP_CIPH_CBC_MODE;
    size_t rest = m->length % BLOCK, at_least = is_serial ? 0 : m->length - rest;

    if (stand_in()) {
        tap_skip("%s, %s: the default provider keeps no figures", m->source, direction);
        return;
    }
    if (m->mode == EVP_CIPH_XTS_MODE && rest != 0) /* which takes from the block before */
        at_least -= BLOCK;
    if (!tap_ok((is_serial ? gpu == 0 : gpu >= at_least) && gpu + cpu == m->length &&
                    (launches > 0) == (gpu > 0),
                "%s, %s: %zu of %zu bytes through a kernel", m->source, direction, at_least,
                m->length))
        tap_diag("gpu-bytes=%llu cpu-bytes=%llu launches=%llu", (unsigned long long)gpu,
                 (unsigned long long)cpu, (unsigned long long)launches);
}

static void check_whole(const struct message *m, const EVP_CIPHER *cipher, int encrypt)
{
    const char *direction = encrypt ? "encrypt" : m->authentic ? "decrypt" : "decrypt a forgery";
    struct figures before = figures_get(&test_providers);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();

    tap_ok(run(context, cipher, m, encrypt, m->authentic, &ways[0]), "%s, %s %s", m->source,
           m->cipher, direction);
    EVP_CIPHER_CTX_free(context); /* which adds its bytes to the figures */
    check_figures(m, encrypt, direction, &before);
}

/* In one context, which keeps the key and the length of the IV where a way gives an IV alone. */
static void check_ways(const struct message *m, const EVP_CIPHER *cipher, int encrypt)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int right = run(context, cipher, m, encrypt, m->authentic, &ways[0]);

    for (int i = 1; i < WAYS; i++)
        if (is_possible(&ways[i], m) && !run(context, cipher, m, encrypt, m->authentic, &ways[i])) {
            tap_diag("wrong %s", ways[i].name);
            right = 0;
        }
    tap_ok(right, "%s, %s in other ways", m->source, encrypt ? "encrypt" : "decrypt");
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
        right &= run(context, cipher, &forged, 0, 0, &ways[0]);
        forged.tag[places[i]] = m->tag[places[i]];
    }
    tap_ok(right, "%s, refused with a bit of the tag changed", m->source);
    tap_ok(run(context, cipher, m, 0, 1, &ways[0]), "%s, accepted after that", m->source);
    EVP_CIPHER_CTX_free(context);
}

static void check_row(struct message m, size_t row)
{
    EVP_CIPHER *cipher = fetch_ours(&test_providers, m.cipher);

    if (!is_ours(cipher)) {
        tap_ok(0, "%s, %s is ours", m.source, m.cipher);
        return;
    }
    m.mode = EVP_CIPHER_get_mode(cipher);
    for (int encrypt = m.authentic; encrypt >= 0; encrypt--) {
        check_whole(&m, cipher, encrypt);
        check_ways(&m, cipher, encrypt);
    }
    if (m.authentic && m.tag_bytes != 0)
        check_wrong_tags(&m, cipher, row);
    EVP_CIPHER_free(cipher);
}

/* ---- Names --------------------------------------------------------------- */

/* An old program, which never heard of providers: EVP_aes_256_ctr() and no fetch. */
static void check_implicit_fetch(void)
{
    unsigned char key[32] = {0}, iv[16] = {0};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    OSSL_PROVIDER *gpuaes = stand_in() ? NULL : OSSL_PROVIDER_load(NULL, "gpuaes");
    OSSL_PROVIDER *base = OSSL_PROVIDER_load(NULL, "default");

    tap_ok(EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), NULL, key, iv) &&
               is_ours(EVP_CIPHER_CTX_get0_cipher(context)),
           "EVP_aes_256_ctr() is ours where gpuaes was loaded first");
    EVP_CIPHER_CTX_reset(context);
    EVP_set_default_properties(NULL, "provider=default");
    tap_ok(EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), NULL, key, iv) &&
               !strcmp("default", OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(
                                      EVP_CIPHER_CTX_get0_cipher(context)))),
           "and the default's where the default properties ask for that");
    EVP_CIPHER_CTX_reset(context);
    EVP_set_default_properties(NULL, "?provider=gpuaes");
    tap_ok(EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), NULL, key, iv) &&
               is_ours(EVP_CIPHER_CTX_get0_cipher(context)),
           "and ours again with \"?provider=gpuaes\"");
    EVP_CIPHER_CTX_free(context);
    OSSL_PROVIDER_unload(gpuaes);
    OSSL_PROVIDER_unload(base);
}

int main(void)
{
    setenv("GPUAES_MIN_BYTES", "0", 1);
    setenv("GPUAES_POLICY", "gpu", 1);
    test_providers = providers_load();
    for (size_t i = 0; i < AES_ROWS; i++)
        check_row(read_aes(&aes_vectors[i]), i);
    for (size_t i = 0; i < GCM_ROWS; i += sanitized() ? 5 : 1)
        check_row(read_gcm(&gcm_vectors[i]), i);
    for (size_t i = 0; i < XTS_ROWS; i++)
        check_row(read_xts(&xts_vectors[i]), i);
    for (size_t i = 0; i < ALL_ROWS; i++)
        check_names(cipher_rows[i].name, cipher_rows[i].oid, cipher_rows[i].key_bytes);
    check_implicit_fetch();
    tap_ok(figure("faults") == 0, "no fault");
    providers_unload(&test_providers);
    return tap_done();
}
