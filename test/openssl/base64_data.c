/*
 * OpenSSL's Base64 test data, the file evpencod.txt of evp_test, through the cipher
 * BASE64 of the preferred provider, in updates of several lengths:
 *
 *     openssl_base64_data FILE
 *
 * A canonical text is what the encoder makes of the input, and decodes to it; a valid one
 * decodes to it with white space skipped; an invalid one is refused. One thing that
 * OpenSSL has beyond RFC 4648 is refused by us: '-' as the end of the text.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096, LINE_LENGTH = 64 };

struct bytes {
    unsigned char data[ROOM];
    size_t length;
};

struct stanza {
    char kind[16]; /* "canonical", "valid" or "invalid" */
    struct bytes input, output;
};

static unsigned texts, refused_soft_ends, failed;

static void require(int condition, const struct stanza *s, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "%s text \"%.*s\": %s\n", s->kind, (int)s->output.length, s->output.data, what);
    ERR_print_errors_fp(stderr);
    failed++;
}

/* ---- The file ------------------------------------------------------------------ */

/* As evp_test reads a value: "text" with \n for a line feed, or hexadecimal digits. */
static void parse(const char *value, struct bytes *to)
{
    size_t length = strlen(value);
    to->length = 0;
    if (length / 2 >= ROOM)
        exit(EXIT_FAILURE);
    if (value[0] != '"') {
        for (size_t i = 0; i + 1 < length; i += 2)
            if (sscanf(value + i, "%2hhx", &to->data[to->length++]) != 1)
                exit(EXIT_FAILURE);
        return;
    }
    for (size_t i = 1; i + 1 < length && to->length < ROOM; i++) {
        int feed = value[i] == '\\' && value[i + 1] == 'n';
        to->data[to->length++] = feed ? '\n' : (unsigned char)value[i];
        i += (size_t)feed;
    }
}

/* ---- The cipher ------------------------------------------------------------------ */

struct how {
    int encrypt;
    size_t line_length;
    int skip_white_space;
    size_t piece;
};

/* 1 and the result, or 0 if any call refuses. */
static int run_cipher(EVP_CIPHER *cipher, const struct how *how, const struct bytes *in,
                      struct bytes *out)
{
    size_t line_length = how->line_length;
    int skip = how->skip_white_space, written = 0, last = 0;
    OSSL_PARAM format[] = {OSSL_PARAM_size_t("line-length", &line_length),
                           OSSL_PARAM_int("skip-white-space", &skip), OSSL_PARAM_END};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int ok = EVP_CipherInit_ex2(context, cipher, NULL, NULL, how->encrypt, format);
    out->length = 0;
    for (size_t at = 0; ok && at < in->length; at += how->piece) {
        size_t left = in->length - at, room = ROOM - out->length;
        OSSL_PARAM outsize[] = {OSSL_PARAM_size_t("outsize", &room), OSSL_PARAM_END};
        ok = EVP_CIPHER_CTX_set_params(context, outsize) &&
             EVP_CipherUpdate(context, out->data + out->length, &written, in->data + at,
                              (int)(left < how->piece ? left : how->piece));
        out->length += ok ? (size_t)written : 0;
    }
    ok = ok && EVP_CipherFinal_ex(context, out->data + out->length, &last);
    out->length += ok ? (size_t)last : 0;
    EVP_CIPHER_CTX_free(context);
    return ok;
}

static int same(const struct bytes *a, const struct bytes *b)
{
    return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

static void check(EVP_CIPHER *cipher, const struct stanza *s, size_t piece)
{
    static struct bytes result;
    struct how encode = {1, LINE_LENGTH, 0, piece}, strict = {0, LINE_LENGTH, 0, piece};
    struct how lax = {0, 0, 1, piece};
    int soft_end = memchr(s->output.data, '-', s->output.length) != NULL;
    int decoded = run_cipher(cipher, &lax, &s->output, &result);

    if (strcmp(s->kind, "invalid") == 0 || soft_end) {
        require(!decoded, s, "was taken");
        refused_soft_ends += soft_end && strcmp(s->kind, "invalid") != 0;
        return;
    }
    require(decoded && same(&result, &s->input), s, "does not decode");
    if (strcmp(s->kind, "canonical") != 0)
        return;
    require(run_cipher(cipher, &strict, &s->output, &result) && same(&result, &s->input), s,
            "does not decode with line-length=64");
    require(run_cipher(cipher, &encode, &s->input, &result) && same(&result, &s->output), s,
            "is not what encoding makes");
}

static void check_all(EVP_CIPHER *cipher, struct stanza *s)
{
    static const size_t pieces[] = {ROOM, 1, 3, 16};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        check(cipher, s, pieces[i]);
        ERR_clear_error();
    }
    texts++;
    memset(s, 0, sizeof *s);
}

int main(int arguments, char **argument)
{
    static struct stanza s;
    static char line[2 * ROOM];
    FILE *file = arguments == 2 ? fopen(argument[1], "r") : NULL;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "BASE64", NULL);
    if (file == NULL || cipher == NULL) {
        fprintf(stderr, "the file or the cipher BASE64 is missing\n");
        return EXIT_FAILURE;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        char key[16], value[2 * ROOM];
        if (sscanf(line, " %15[A-Za-z] = %8191[^\n]", key, value) != 2)
            continue;
        if (strcmp(key, "Encoding") == 0) {
            if (s.kind[0] != '\0')
                check_all(cipher, &s);
            (void)sscanf(value, "%15s", s.kind);
        } else if (strcmp(key, "Input") == 0) {
            parse(value, &s.input);
        } else if (strcmp(key, "Output") == 0) {
            parse(value, &s.output);
        }
    }
    if (s.kind[0] != '\0')
        check_all(cipher, &s);
    (void)fclose(file);
    EVP_CIPHER_free(cipher);
    printf("%u texts, %u of them with the end '-' that we refuse (RFC 4648 has none)\n", texts,
           refused_soft_ends / 4);
    return failed != 0 || texts == 0;
}
