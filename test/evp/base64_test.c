/*
 * Base64 through the provider, as cipher, encoder and decoder: RFC 4648's
 * vectors, libcrypto's own codec on random data in random pieces with lines of
 * every length, wrong text of every kind with the offset that the error names,
 * the parameter `outsize`, a copy made in mid-stream.
 *
 * GPUAES_MIN_BYTES is 0 unless it is set: then even short texts go through a
 * kernel, which the provider's figures must say.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/base64_objects.h"
#include "test/support/providers.h"

static EVP_CIPHER *base64;

enum { OUTPUT_TOO_SMALL = 6, BAD_BASE64 = 7, READ_FAILED = 16 }; /* provider/common/errors.h */

static const struct format formats[] = {{0, 0}, {64, 0}, {76, 1}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static struct bytes allocate(size_t room)
{
    struct bytes b = {malloc(room ? room : 1), 0};

    if (!b.data)
        abort();
    return b;
}

static struct bytes random_bytes(size_t length)
{
    struct bytes b = allocate(length);

    tap_random_bytes(&random_state, b.data, length);
    b.length = length;
    return b;
}

static int same(const struct bytes *a, const struct bytes *b)
{
    return a->length == b->length && !memcmp(a->data, b->data, a->length);
}

/* What libcrypto makes of it, broken into lines here. */
static struct bytes reference(const unsigned char *in, size_t length, size_t line_length)
{
    struct bytes plain = allocate(length / 3 * 4 + 8), text;

    plain.length = (size_t)EVP_EncodeBlock(plain.data, in, (int)length);
    if (!line_length)
        return plain;
    text = allocate(plain.length + plain.length / line_length + 1);
    for (size_t at = 0; at < plain.length; at += line_length) {
        size_t left = plain.length - at, line = left < line_length ? left : line_length;

        memcpy(text.data + text.length, plain.data + at, line);
        text.length += line;
        text.data[text.length++] = '\n';
    }
    free(plain.data);
    return text;
}

/* ---- The cipher in pieces -------------------------------------------------- */

enum { ALL_AT_ONCE = 0, RANDOM_PIECES = -1 }; /* else the length of a piece */

static EVP_CIPHER_CTX *begin(int encode, struct format format)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("line-length", &format.line_length),
                           OSSL_PARAM_int("skip-white-space", &format.skip), OSSL_PARAM_END};

    if (!context || !EVP_CipherInit_ex2(context, base64, NULL, NULL, encode, params))
        abort();
    return context;
}

static int update(EVP_CIPHER_CTX *context, struct bytes *out, size_t room, const unsigned char *in,
                  size_t length)
{
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &room), OSSL_PARAM_END};
    int written = 0;

    if (!EVP_CIPHER_CTX_set_params(context, params) ||
        !EVP_CipherUpdate(context, out->data + out->length, &written, in, (int)length))
        return 0;
    out->length += (size_t)written;
    return 1;
}

static size_t piece_of(int pieces, size_t left)
{
    size_t piece = left;

    if (pieces == RANDOM_PIECES)
        piece =
            1 + tap_random_below(&random_state, tap_random_next(&random_state) & 1 ? 100 : left);
    else if (pieces != ALL_AT_ONCE)
        piece = (size_t)pieces;
    return piece < left ? piece : left;
}

static int finish(EVP_CIPHER_CTX *context, struct bytes *out)
{
    int written = 0;

    if (!EVP_CipherFinal_ex(context, out->data + out->length, &written))
        return 0;
    out->length += (size_t)written;
    return 1;
}

/* All of it; `room` is that of `out`, no byte more may be written. */
static int run(int encode, struct format format, int pieces, const struct bytes *in,
               struct bytes *out, size_t room)
{
    EVP_CIPHER_CTX *context = begin(encode, format);
    int ok = 1;

    for (size_t at = 0, piece; ok && at < in->length; at += piece) {
        piece = piece_of(pieces, in->length - at);
        ok = update(context, out, room - out->length, in->data + at, piece);
    }
    ok = ok && finish(context, out);
    EVP_CIPHER_CTX_free(context);
    return ok;
}

/* ---- Right text ------------------------------------------------------------ */

static void test_vectors(void)
{
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"}};

    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct bytes plain = {(unsigned char *)vectors[i][0], strlen(vectors[i][0])};
        struct bytes text = {(unsigned char *)vectors[i][1], strlen(vectors[i][1])};
        struct bytes out = allocate(64), back = allocate(64);
        struct format format = {0, 0};

        tap_ok(run(1, format, ALL_AT_ONCE, &plain, &out, 64) && same(&out, &text),
               "RFC 4648: \"%s\" encodes to \"%s\"", vectors[i][0], vectors[i][1]);
        tap_ok(run(0, format, ALL_AT_ONCE, &text, &back, 64) && same(&back, &plain),
               "RFC 4648: \"%s\" decodes to \"%s\"", vectors[i][1], vectors[i][0]);
        free(out.data);
        free(back.data);
    }
}

/* Every second line end as "\r\n", or white space all over it. */
static struct bytes disguise(const struct bytes *text, int skip)
{
    struct bytes other = allocate(3 * text->length);
    unsigned lines = 0;

    for (size_t i = 0; i < text->length; i++) {
        if (text->data[i] == '\n' && lines++ % 2 == 0)
            other.data[other.length++] = '\r';
        if (skip && tap_random_below(&random_state, 50) == 0)
            other.data[other.length++] =
                (unsigned char)" \t\r\n\v\f"[tap_random_below(&random_state, 6)];
        other.data[other.length++] = text->data[i];
    }
    return other;
}

/* Encodes and decodes one random input; exactly as much room as is needed. */
static int round_trip(size_t length, struct format format, int pieces)
{
    struct bytes plain = random_bytes(length);
    struct bytes text = reference(plain.data, length, format.line_length);
    struct bytes out = allocate(text.length), back = allocate(length), again = allocate(length);
    struct bytes disguised = disguise(&text, format.skip);
    int ok = run(1, format, pieces, &plain, &out, text.length) && same(&out, &text) &&
             run(0, format, pieces, &text, &back, length) && same(&back, &plain) &&
             run(0, format, pieces, &disguised, &again, length) && same(&again, &plain);

    if (!ok) {
        tap_diag("length %zu, line length %zu, skip %d, pieces %d", length, format.line_length,
                 format.skip, pieces);
        ERR_print_errors_fp(stderr);
    }
    free(plain.data);
    free(text.data);
    free(out.data);
    free(back.data);
    free(again.data);
    free(disguised.data);
    return ok;
}

static void test_random(void)
{
    static const size_t lines[] = {0, 64, 76};
    static const struct {
        const char *name;
        size_t step, limit; /* step 0: 30 random lengths */
    } classes[] = {{"0 to 300 bytes", 1, 301}, {"to 100 KB", 0, 100000}, {"to 3 MB", 0, 3000000}};
    enum { CLASSES = sizeof classes / sizeof classes[0] };

    for (unsigned k = 0; k < CLASSES * 3 * 2 * 2; k++) {
        unsigned class = k / 12;
        struct format format = {lines[k / 4 % 3], (int)(k / 2 % 2)};
        int pieces = k % 2 ? RANDOM_PIECES : ALL_AT_ONCE, ok = 1;
        size_t cases = classes[class].step ? classes[class].limit
                       : class == 1        ? 30
                       : sanitized()       ? 1
                                           : 3;

        for (size_t i = 0; ok && i < cases; i++)
            ok = round_trip(
                classes[class].step ? i : tap_random_below(&random_state, classes[class].limit),
                format, pieces);
        tap_ok(ok, "%s, lines of %zu, %s, %s: both ways as libcrypto", classes[class].name,
               format.line_length, format.skip ? "white space skipped" : "strict",
               pieces ? "random pieces" : "one update");
    }
}

/* ---- Wrong text ------------------------------------------------------------ */

#define LINE_64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

static const struct wrong {
    const char *name, *text;
    struct format format;
    unsigned offset;
} wrong[] = {
    {"a character outside the alphabet", "Zm9v!mFy", {0, 0}, 4},
    {"a byte over 127", "Zm9vYm\xc3\xa4", {0, 0}, 6},
    {"URL-safe alphabet", "Zm9v-mFy", {0, 0}, 4},
    {"a control character, white space skipped", "Zm9v\001mFy", {0, 1}, 4},
    {"a space in strict text", "Zm9v YmFy", {0, 0}, 4},
    {"leading white space in strict text", " Zm9vYmF", {0, 0}, 0},
    {"trailing white space in strict text", "Zm9vYmF ", {0, 0}, 7},
    {"a line end in text without lines", "Zm9vYmFy\n", {0, 0}, 8},
    {"padding alone", "====", {0, 0}, 0},
    {"padding after one character", "Zm9vZ===", {0, 0}, 5},
    {"padding that is not needed", "Zm9v=", {0, 0}, 4},
    {"half of the padding", "Zm9vZg=v", {0, 0}, 7},
    {"padding cut short", "Zm9vZg=", {0, 0}, 7},
    {"padding missing", "Zm9vZg", {0, 0}, 6},
    {"one character too many", "Zm9vZ", {0, 0}, 5},
    {"text after padding", "Zg==Zm9v", {0, 0}, 4},
    {"more padding after padding", "Zg===", {0, 0}, 4},
    {"four bits left over", "Zm9vZh==", {0, 0}, 6},
    {"two bits left over", "Zm9vZm9=", {0, 0}, 7},
    {"a bit left over behind white space", "Zm 9vZ\nm9 =", {0, 1}, 10},
    {"a wrong character, white space skipped", "Zm 9v\tY\n.Fy", {0, 1}, 8},
    {"text after padding, white space skipped", "Zg ==\n\nZ", {0, 1}, 7},
    {"the end in a quad, white space skipped", "Zm9v Z \n", {0, 1}, 8},
    {"a line that is too long", LINE_64 "ABCD\n", {64, 0}, 64},
    {"text after a line that is too short", "Zm9v\nZm9v\n", {64, 0}, 5},
    {"a line end within a quad", LINE_64 "\nZm9\nv", {64, 0}, 68},
    {"an empty line", LINE_64 "\n\n", {64, 0}, 65},
    {"an empty first line", "\nZm9v", {64, 0}, 0},
    {"two line ends at the end", "Zm9v\n\n", {64, 0}, 5},
    {"a space at a line's end", LINE_64 " \n", {64, 0}, 64},
    {"a space within a line", LINE_64 "\nZm 9v", {64, 0}, 67},
    {"a carriage return alone", LINE_64 "\rZm9v", {64, 0}, 65},
    {"a carriage return at the end", LINE_64 "\r", {64, 0}, 65},
    {"a wrong character in the second line", LINE_64 "\r\nZm9v*m9v", {64, 0}, 70},
    {"padding in the middle of lines", LINE_64 "\nZg==Zm9v\n", {64, 0}, 69},
    {"lines of 64 where 76 are wanted", LINE_64 "\n" LINE_64 "\n", {76, 0}, 65},
};

/* Whether the error is invalid Base64 at that offset; empties the queue. */
static int error_names(size_t offset)
{
    const char *detail = "";
    int flags = 0;
    unsigned long error = ERR_peek_error_all(NULL, NULL, NULL, &detail, &flags);
    char expected[64];
    int ok;

    snprintf(expected, sizeof expected, "at offset %zu:", offset);
    ok = ERR_GET_REASON(error) == BAD_BASE64 && !strncmp(detail, expected, strlen(expected));
    if (!ok)
        tap_diag("expected \"%s\", got reason %d, \"%s\"", expected, ERR_GET_REASON(error), detail);
    ERR_clear_error();
    return ok;
}

static void test_wrong(void)
{
    static const int pieces[] = {ALL_AT_ONCE, 1, 5, RANDOM_PIECES};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct wrong *w = &wrong[i];
        struct bytes text = {(unsigned char *)w->text, strlen(w->text)};
        int ok = 1;

        for (unsigned k = 0; k < 4; k++) {
            struct bytes out = allocate(text.length);

            ok &= !run(0, w->format, pieces[k], &text, &out, text.length) && error_names(w->offset);
            free(out.data);
        }
        tap_ok(ok, "refused at offset %u: %s", w->offset, w->name);
    }
}

/* One wrong character in a large text, in every format. */
static void test_wrong_large(void)
{
    static const struct format all[] = {{0, 0}, {0, 1}, {64, 0}, {76, 0}, {76, 1}};
    for (unsigned i = 0; i < 5 * 4; i++) {
        struct format format = all[i % 5];
        struct bytes plain = random_bytes(1000000 + tap_random_below(&random_state, 1000));
        struct bytes text = reference(plain.data, plain.length, format.line_length);
        struct bytes out = allocate(text.length);
        size_t at;

        do
            at = tap_random_below(&random_state, text.length - 4);
        while (text.data[at] == '\n');
        text.data[at] = (unsigned char)"*_\x80\1"[i / 5];
        tap_ok(!run(0, format, i % 2 ? RANDOM_PIECES : ALL_AT_ONCE, &text, &out, text.length) &&
                   error_names(at),
               "1 MB, lines of %zu%s: one wrong character at offset %zu", format.line_length,
               format.skip ? ", white space skipped" : "", at);
        free(plain.data);
        free(text.data);
        free(out.data);
    }
}

/* ---- The cipher's ways ------------------------------------------------------ */

static int reason(void)
{
    int found = ERR_GET_REASON(ERR_peek_error());

    ERR_clear_error();
    return found;
}

/*
 * Without outsize nothing is written beyond the input's length and a block less one byte, which
 * is what EVP_EncryptUpdate(3) asks callers for. Returns whether an update of `length` bytes behind
 * `held` others keeps to it, encoded or refused.
 */
static int keeps_to_promise(size_t held, size_t length)
{
    struct format format = {0, 0};
    struct bytes plain = random_bytes(held + length), out = allocate(512);
    size_t room = length + (size_t)EVP_CIPHER_get_block_size(base64) - 1;
    EVP_CIPHER_CTX *context = begin(1, format);
    int written = 0, kept = 1;

    memset(out.data, 0xff, 512);
    if (!EVP_CipherUpdate(context, out.data, &written, plain.data, (int)held) || written != 0)
        kept = 0;
    if (!EVP_CipherUpdate(context, out.data, &written, plain.data + held, (int)length) &&
        reason() != OUTPUT_TOO_SMALL)
        kept = 0;
    for (size_t i = room; i < 512; i++)
        kept = kept && out.data[i] == 0xff;
    if (!kept || (size_t)written > room)
        tap_diag("%zu bytes behind %zu: %d of %zu bytes", length, held, written, room);
    EVP_CIPHER_CTX_free(context);
    free(plain.data);
    free(out.data);
    return kept && (size_t)written <= room;
}

static void test_promise(void)
{
    int ok = 1;

    for (size_t held = 0; held < 3; held++)
        for (size_t length = 1; length <= 200; length++)
            ok &= keeps_to_promise(held, length);
    tap_ok(ok, "1 to 200 bytes: no byte beyond what EVP_EncryptUpdate(3) promises");
}

static void test_outsize(void)
{
    struct format format = {0, 0};
    struct bytes plain = random_bytes(3000), out = allocate(4000);
    struct bytes text = reference(plain.data, plain.length, 0);
    EVP_CIPHER_CTX *context = begin(1, format);
    int written;

    tap_ok(EVP_CIPHER_get_key_length(base64) == 0 && EVP_CIPHER_get_iv_length(base64) == 0 &&
               EVP_CIPHER_get_block_size(base64) == 32,
           "no key, no IV, block size 32");
    tap_ok(EVP_CipherUpdate(context, out.data, &written, plain.data, 93) && written == 124,
           "93 bytes fit into what EVP promises");
    tap_ok(!EVP_CipherUpdate(context, out.data + 124, &written, plain.data + 93, 2907) &&
               reason() == OUTPUT_TOO_SMALL,
           "2907 bytes do not, and are refused");
    out.length = 124;
    tap_ok(!update(context, &out, 3875, plain.data + 93, 2907) && reason() == OUTPUT_TOO_SMALL,
           "nor into one byte less than needed");
    tap_ok(update(context, &out, 3876, plain.data + 93, 2907) && finish(context, &out) &&
               same(&out, &text),
           "they fit once outsize says so, and nothing had been consumed");
    EVP_CIPHER_CTX_free(context);

    context = begin(1, format);
    out.length = 0;
    tap_ok(update(context, &out, 4000, plain.data, 300) &&
               !EVP_CipherUpdate(context, out.data + 400, &written, plain.data + 300, 300) &&
               reason() == OUTPUT_TOO_SMALL,
           "outsize is good for one update only");
    EVP_CIPHER_CTX_free(context);

    context = begin(0, format);
    out.length = 0;
    tap_ok(!update(context, &out, 2999, text.data, text.length) && reason() == OUTPUT_TOO_SMALL,
           "decoding: one byte less than needed is refused");
    tap_ok(EVP_CipherUpdate(context, out.data, &written, text.data, (int)text.length) &&
               written == 3000 && !memcmp(out.data, plain.data, 3000),
           "decoding needs no outsize");
    EVP_CIPHER_CTX_free(context);
    free(plain.data);
    free(out.data);
    free(text.data);
}

static void test_parameters(void)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    size_t length = 65, got = 1;
    OSSL_PARAM bad[] = {OSSL_PARAM_size_t("line-length", &length), OSSL_PARAM_END};
    OSSL_PARAM get[] = {OSSL_PARAM_size_t("line-length", &got), OSSL_PARAM_END};
    unsigned char key[1] = {0};

    ERR_clear_error();
    tap_ok(!EVP_CipherInit_ex2(context, base64, NULL, NULL, 1, bad), "lines of 65 are refused");
    const char *data = NULL;
    (void)ERR_peek_error_all(NULL, NULL, NULL, &data, NULL);
    tap_ok(data != NULL && !strcmp(data, "line-length is 65, expected 0, 64 or 76"),
           "the error names the value: %s", data != NULL ? data : "none");
    ERR_clear_error();
    OSSL_PARAM text[] = {OSSL_PARAM_construct_utf8_string("line-length", "64", 0), OSSL_PARAM_END};
    int taken = EVP_CipherInit_ex2(context, base64, NULL, NULL, 1, text);
    (void)ERR_peek_last_error_all(NULL, NULL, NULL, &data, NULL); /* the first may be libcrypto's */
    tap_ok(!taken && data != NULL && strstr(data, "line-length must be an integer") != NULL,
           "so is a text");
    length = 76;
    tap_ok(EVP_CipherInit_ex2(context, base64, key, key, 1, bad) &&
               EVP_CIPHER_CTX_get_params(context, get) && got == 76,
           "lines of 76 are not, with a key of no bytes");
    ERR_clear_error();
    EVP_CIPHER_CTX_free(context);
}

/* ---- Each format, both ways ----------------------------------------------------- */

struct coding {
    int encode;
    struct format format;
    struct bytes in, expected;
};

static void each_way(const char *what, size_t length, int (*is_right)(const struct coding *))
{
    for (unsigned i = 0; i < 2 * FORMATS; i++) {
        struct format format = formats[i / 2];
        struct bytes plain = random_bytes(length);
        struct bytes text = reference(plain.data, length, format.line_length);
        struct coding c = {i % 2 != 0, format, i % 2 ? plain : text, i % 2 ? text : plain};

        tap_ok(is_right(&c), "%s, lines of %zu: %s", c.encode ? "encoding" : "decoding",
               format.line_length, what);
        free(plain.data);
        free(text.data);
    }
}

/* Gives the rest of the input, from `at` on, behind what is in `out`. */
static int ends_well(const struct coding *c, EVP_CIPHER_CTX *context, struct bytes *out, size_t at)
{
    return update(context, out, c->expected.length - out->length, c->in.data + at,
                  c->in.length - at) &&
           finish(context, out) && same(out, &c->expected);
}

static int copy_is_right(const struct coding *c)
{
    struct bytes out = allocate(c->expected.length), other = allocate(c->expected.length);
    EVP_CIPHER_CTX *context = begin(c->encode, c->format), *copy = EVP_CIPHER_CTX_new();
    size_t at = 50000 + tap_random_below(&random_state, 7);
    int right = update(context, &out, c->expected.length, c->in.data, at) &&
                EVP_CIPHER_CTX_copy(copy, context);

    memcpy(other.data, out.data, out.length);
    other.length = out.length;
    right = right && ends_well(c, context, &out, at) && ends_well(c, copy, &other, at);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_CTX_free(copy);
    free(out.data);
    free(other.data);
    return right;
}

/* Without another initialisation. The first text ends with padding and a short line. */
static int next_text_is_right(const struct coding *c)
{
    struct bytes out = allocate(c->expected.length);
    EVP_CIPHER_CTX *context = begin(c->encode, c->format);
    int right = ends_well(c, context, &out, 0);

    out.length = 0;
    right = right && ends_well(c, context, &out, 0);
    EVP_CIPHER_CTX_free(context);
    free(out.data);
    return right;
}

/* Of text the device does not see the line ends, and the end is the CPU's, not a failure. */
static int figures_are_right(const struct coding *c)
{
    struct bytes out = allocate(c->expected.length);
    struct figures before = figures_get(&test_providers);
    uint64_t failed = figure("cpu-bytes-failed");
    int right = run(c->encode, c->format, ALL_AT_ONCE, &c->in, &out, c->expected.length);
    struct figures after = figures_get(&test_providers);
    uint64_t gpu = after.gpu_bytes - before.gpu_bytes,
             all = gpu + after.cpu_bytes - before.cpu_bytes;

    free(out.data);
    right = right && after.launches > before.launches && gpu >= c->in.length * 64 / 65 - 128 &&
            all <= c->in.length && figure("cpu-bytes-failed") == failed &&
            (all == c->in.length || (!c->encode && c->format.line_length != 0));
    if (!right)
        tap_diag("gpu-bytes=%llu of %llu", (unsigned long long)gpu, (unsigned long long)all);
    return right;
}

/* ---- Encoder and decoder ----------------------------------------------------- */

static int decode(BIO *bio, struct bytes *plain, struct format format)
{
    int ok = base64_decode_object(test_providers.ours, bio, plain, format);
    BIO_free(bio);
    return ok;
}

static void test_objects(void)
{
    static const size_t lengths[] = {1, 2, 3, 57, 1000, 16000, 5000003};
    struct bytes none = {NULL, 0};
    for (unsigned i = 0; i < 7 * FORMATS; i++) {
        struct format format = formats[i % FORMATS];
        struct bytes plain = random_bytes(lengths[i / FORMATS]), text = {NULL, 0}, back = {NULL, 0};
        struct bytes expected = reference(plain.data, plain.length, format.line_length);
        tap_ok(base64_encode_object(test_providers.ours, &plain, &text, format) &&
                   same(&text, &expected) &&
                   decode(BIO_new_mem_buf(text.data, (int)text.length), &back, format) &&
                   same(&back, &plain),
               "encoder and decoder, %zu bytes, lines of %zu", plain.length, format.line_length);
        free(plain.data);
        free(expected.data);
        OPENSSL_free(back.data);
        OPENSSL_free(text.data);
    }
    tap_ok(!decode(BIO_new_mem_buf("Zm9vZ!==", 8), &none, formats[0]) && error_names(5),
           "the decoder's error names the offset");
}

/*
 * Where text ends. A read of a pair's end that is empty fails: only BIO_eof() tells whether more
 * may come. The end of memory that could grow is the text's.
 */
static void test_ends(void)
{
    static const size_t lengths[] = {3000, 600000};
    enum { OPEN, CLOSED, MEMORY, ENDS };
    static const char *const names[] = {"more may come: an error, and nothing is handed on",
                                        "the writer has closed", "memory that could grow"};
    for (unsigned i = 0; i < 2 * ENDS; i++) {
        unsigned end = i % ENDS;
        struct bytes plain = random_bytes(lengths[i / ENDS]), back = {NULL, 0};
        struct bytes text = reference(plain.data, plain.length, 0);
        BIO *reader = end == MEMORY ? BIO_new(BIO_s_mem()) : NULL, *writer = reader;
        if ((end != MEMORY && !BIO_new_bio_pair(&writer, text.length, &reader, 1)) ||
            BIO_write(writer, text.data, (int)text.length) != (int)text.length)
            abort();
        if (end == CLOSED)
            BIO_shutdown_wr(writer);
        int decoded = decode(reader, &back, formats[0]);
        tap_ok(end == OPEN ? !decoded && back.data == NULL && reason() == READ_FAILED
                           : decoded && same(&back, &plain),
               "decoder, %zu bytes, %s", plain.length, names[end]);
        if (end != MEMORY)
            BIO_free(writer);
        free(plain.data);
        free(text.data);
        OPENSSL_free(back.data);
    }
}

int main(void)
{
    const char *policy = getenv("GPUAES_POLICY");
    setenv("GPUAES_MIN_BYTES", "0", 0);
    const char *least = getenv("GPUAES_MIN_BYTES");
    int is_forced = least && !strcmp(least, "0") && (!policy || strcmp(policy, "cpu"));
    tap_random_seed(&random_state);
    if (stand_in()) {
        tap_skip("the default provider has no BASE64");
        return tap_done();
    }
    test_providers = providers_load();
    base64 = EVP_CIPHER_fetch(test_providers.ours, "BASE64", test_providers.properties);
    if (!tap_ok(base64 != NULL, "the cipher BASE64 is found"))
        return tap_done();
    test_vectors();
    test_promise();
    test_outsize();
    test_parameters();
    test_wrong();
    test_wrong_large();
    each_way("a copy in mid-stream, and both go on by themselves", 100001, copy_is_right);
    each_way("after the end of a text another begins", 1001, next_text_is_right);
    test_random();
    test_objects();
    test_ends();
    if (is_forced)
        each_way("all but an end of it was done by a kernel", 300000, figures_are_right);
    else
        tap_skip("figures: GPUAES_MIN_BYTES is not 0, or GPUAES_POLICY is cpu");
    EVP_CIPHER_free(base64);
    providers_unload(&test_providers);
    return tap_done();
}
