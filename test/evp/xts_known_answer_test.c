/*
 * The published vectors through AES-XTS, both ways: in place and out of place, at odd addresses,
 * several units in one context, and again with a new tweak alone. An update is a data unit. Keys of
 * two equal halves are refused for encryption, and so are units of less than a block.
 *
 * With min-bytes=0 and policy=gpu, the device does whole units, or all but the last two blocks
 * where one of them is not whole: the provider's own figures say so.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/evp/xts_vectors.h"
#include "test/support/known_answers.h"

enum { ROWS = sizeof xts_vectors / sizeof *xts_vectors };
enum { BLOCK = 16 };

struct unit {
    const char *source;
    unsigned char key[64], tweak[BLOCK], plain[XTS_LONGEST], coded[XTS_LONGEST];
    size_t key_bytes, length;
};

static struct unit read_unit(const struct xts_vector *v)
{
    struct unit u = {.source = v->source};
    u.key_bytes = from_hex(u.key, v->key);
    from_hex(u.tweak, v->tweak);
    u.length = from_hex(u.coded, v->coded);
    from_hex(u.plain, v->plain);
    return u;
}

/* ---- One run ---------------------------------------------------------------- */

/* How a unit is given to EVP: so many times, and at what distance from a round address. */
struct way {
    const char *name;
    int times, in_place, tweak_only;
    size_t in_at, out_at;
};

static const struct way whole = {"whole", .times = 1};
static const struct way ways[] = {
    {"in place", .times = 1, .in_place = 1},
    {"with a new tweak alone", .times = 1, .tweak_only = 1},
    {"in three updates, each of which begins again", .times = 3},
    {"from an odd address", .times = 1, .in_at = 1},
    {"to an odd address, with a new tweak alone", .times = 1, .out_at = 3, .tweak_only = 1},
    {"in place at an odd address", .times = 1, .in_place = 1, .out_at = 7},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* The bytes of `want`, and nothing before and after them. */
static int is_written(const unsigned char *out, const unsigned char *want, size_t length)
{
    int right = !memcmp(out, want, length);
    for (size_t i = 1; i <= BLOCK; i++)
        right &= out[-(ptrdiff_t)i] == 0xa5 && out[length + i - 1] == 0xa5;
    return right;
}

static int update(EVP_CIPHER_CTX *context, const struct unit *u, int encrypt, const struct way *way)
{
    _Alignas(BLOCK) unsigned char source[XTS_LONGEST + BLOCK], buffer[XTS_LONGEST + 3 * BLOCK];
    const unsigned char *text = encrypt ? u->plain : u->coded;
    unsigned char *out = buffer + BLOCK + way->out_at;
    unsigned char *in = way->in_place ? out : source + way->in_at;
    int n = -1;

    memset(buffer, 0xa5, sizeof buffer);
    memcpy(in, text, u->length);
    return EVP_CipherUpdate(context, out, &n, in, (int)u->length) == 1 && n == (int)u->length &&
           is_written(out, encrypt ? u->coded : u->plain, u->length);
}

static int run(EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, const struct unit *u, int encrypt,
               const struct way *way)
{
    unsigned char end[BLOCK];
    int n = -1;
    int right = EVP_CipherInit_ex2(context, way->tweak_only ? NULL : cipher,
                                   way->tweak_only ? NULL : u->key, u->tweak, encrypt, NULL);

    for (int i = 0; right && i < way->times; i++)
        right = update(context, u, encrypt, way);
    return right && EVP_CipherFinal_ex(context, end, &n) == 1 && n == 0;
}

/* ---- A row ------------------------------------------------------------------ */

static void check_figures(const struct unit *u, const char *direction, const struct figures *before)
{
    struct figures after = figures_get(&test_providers);
    uint64_t gpu = after.gpu_bytes - before->gpu_bytes, cpu = after.cpu_bytes - before->cpu_bytes;
    uint64_t launches = after.launches - before->launches;
    size_t rest = u->length % BLOCK, at_least = rest == 0 ? u->length : u->length - rest - BLOCK;

    if (stand_in()) {
        tap_skip("%s %s: the default provider keeps no figures", u->source, direction);
        return;
    }
    if (!tap_ok(gpu >= at_least && gpu + cpu == u->length && (at_least == 0 || launches > 0),
                "%s, %s: %zu bytes through a kernel", u->source, direction, at_least))
        tap_diag("gpu-bytes=%llu cpu-bytes=%llu launches=%llu", (unsigned long long)gpu,
                 (unsigned long long)cpu, (unsigned long long)launches);
}

static void check_direction(const struct unit *u, const EVP_CIPHER *cipher, int encrypt)
{
    const char *direction = encrypt ? "encrypt" : "decrypt";
    struct figures before = figures_get(&test_providers);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int right = 1;

    tap_ok(run(context, cipher, u, encrypt, &whole), "%s, %s", u->source, direction);
    EVP_CIPHER_CTX_free(context); /* which adds its bytes to the figures */
    check_figures(u, direction, &before);

    context = EVP_CIPHER_CTX_new();
    for (int i = 0; i < WAYS; i++)
        if (!run(context, cipher, u, encrypt, &ways[i])) {
            tap_diag("wrong %s", ways[i].name);
            right = 0;
        }
    tap_ok(right, "%s, %s in %d other ways", u->source, direction, WAYS);
    EVP_CIPHER_CTX_free(context);
}

static void check_row(const struct unit *u)
{
    const char *name = u->key_bytes == 32 ? "AES-128-XTS" : "AES-256-XTS";
    EVP_CIPHER *cipher = fetch_ours(&test_providers, name);

    if (is_ours(cipher)) {
        check_direction(u, cipher, 1);
        check_direction(u, cipher, 0);
    } else
        tap_ok(0, "%s, %s is ours", u->source, name);
    EVP_CIPHER_free(cipher);
}

/* ---- What is refused -------------------------------------------------------- */

/* IEEE 1619 vector 1, which OpenSSL only decrypts. */
static void check_equal_halves(void)
{
    static const unsigned char key[32] = {0}, tweak[BLOCK] = {0};
    unsigned char coded[32], plain[32];
    int n = 0;

    tap_ok(context_open(1, "AES-128-XTS", key, tweak, 1, NULL) == NULL &&
               reason_is("xts duplicated keys"),
           "a key of two equal halves does not encrypt");
    EVP_CIPHER_CTX *context = context_open(1, "AES-128-XTS", key, tweak, 0, NULL);
    from_hex(coded, "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e");
    tap_ok(context != NULL && EVP_CipherUpdate(context, plain, &n, coded, sizeof coded) == 1 &&
               n == sizeof coded && !memcmp(plain, (unsigned char[32]){0}, sizeof plain),
           "but it decrypts");
    EVP_CIPHER_CTX_free(context);
}

static void check_short_units(const char *name)
{
    unsigned char bytes[64], out[64];
    int n, right = 1;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    EVP_CIPHER_CTX *context = context_open(1, name, bytes, bytes, 1, NULL);
    for (int length = 1; context != NULL && length < BLOCK; length++)
        right &= EVP_CipherUpdate(context, out, &n, bytes, length) <= 0;
    ERR_clear_error();
    tap_ok(context != NULL && right, "%s refuses units of less than a block", name);
    EVP_CIPHER_CTX_free(context);
}

int main(void)
{
    setenv("GPUAES_MIN_BYTES", "0", 1);
    setenv("GPUAES_POLICY", "gpu", 1);
    test_providers = providers_load();
    for (int i = 0; i < ROWS; i++) {
        struct unit u = read_unit(&xts_vectors[i]);
        check_row(&u);
    }
    check_names("AES-128-XTS", "1.3.111.2.1619.0.1.1", 32);
    check_names("AES-256-XTS", "1.3.111.2.1619.0.1.2", 64);
    check_equal_halves();
    check_short_units("AES-128-XTS");
    check_short_units("AES-256-XTS");
    tap_ok(figure("faults") == 0, "no fault");
    providers_unload(&test_providers);
    return tap_done();
}
