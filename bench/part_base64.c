/*
 * The BASE64 cipher compared with EVP_EncodeBlock(), EVP_EncodeUpdate() and
 * EVP_DecodeBlock(), in pageable and in pinned memory. Rates are of the bytes that
 * the text stands for.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/buffers.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"

enum task { ENCODE, ENCODE_LINES, DECODE, TASKS };

struct base64 {
    EVP_CIPHER *cipher;
    unsigned char *bytes, *text, *out;
    size_t length, text_length, outsize;
    enum task task;
    int failed;
};

/* libcrypto's. */
static void base64_reference(struct base64 *b)
{
    int n = 0, more = 0;
    if (b->task == ENCODE)
        n = EVP_EncodeBlock(b->out, b->bytes, (int)b->length);
    else if (b->task == DECODE)
        n = EVP_DecodeBlock(b->out, b->text, (int)b->text_length);
    else {
        EVP_ENCODE_CTX *context = EVP_ENCODE_CTX_new();
        EVP_EncodeInit(context); /* lines of 64 characters */
        b->failed |= !EVP_EncodeUpdate(context, b->out, &n, b->bytes, (int)b->length);
        EVP_EncodeFinal(context, b->out + n, &more);
        EVP_ENCODE_CTX_free(context);
    }
    b->failed |= n + more <= 0;
}

/* The whole in one update, after the outsize has been set. */
static void base64_ours(struct base64 *b)
{
    int decode = b->task == DECODE, n = 0, more = 0;
    size_t length = decode ? b->text_length : b->length;
    size_t line_length = b->task == ENCODE_LINES ? 64 : 0;
    size_t expected = decode ? b->length : gpuaes_base64_encoded_size(length, line_length);
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &b->outsize),
                           OSSL_PARAM_size_t("line-length", &line_length), OSSL_PARAM_END};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (!EVP_CipherInit_ex2(context, b->cipher, NULL, NULL, !decode, params) ||
        !EVP_CipherUpdate(context, b->out, &n, decode ? b->text : b->bytes, (int)length) ||
        !EVP_CipherFinal_ex(context, b->out + n, &more) || (size_t)n + (size_t)more != expected) {
        ERR_print_errors_fp(stderr);
        b->failed = 1;
    }
    EVP_CIPHER_CTX_free(context);
}

static void base64_run(int side, void *argument)
{
    if (side == OURS)
        base64_ours(argument);
    else
        base64_reference(argument);
}

static int base64_rows(struct base64 *b, enum kind kind, size_t length)
{
    static const struct {
        const char *operation, *against;
    } tasks[TASKS] = {{"encode", "EVP_EncodeBlock"},
                      {"encode, lines of 64", "EVP_EncodeUpdate"},
                      {"decode", "EVP_DecodeBlock"}};
    b->length = length / 3 * 3;
    b->text_length = b->length / 3 * 4;
    EVP_EncodeBlock(b->text, b->bytes, (int)b->length);
    for (b->task = ENCODE; b->task < TASKS; b->task++) {
        double taken = (double)(b->task == DECODE ? b->text_length : b->length);
        struct row row =
            row_of("base64", "BASE64", tasks[b->task].operation, kind_name(kind), b->length);
        row.against = of_openssl(tasks[b->task].against);
        struct result result = measure_evp(&row, 31, base64_run, b, taken);
        if (b->failed) {
            (void)fprintf(stderr, "gpuaes_bench: %s of %zu bytes failed\n", row.operation,
                          b->length);
            return EXIT_FAILURE;
        }
        print_rates(&row, &result, (double)b->length);
    }
    return 0;
}

static int base64_memory(EVP_CIPHER *cipher, enum kind kind)
{
    size_t most = options.quick ? MIB : 256 * MIB;
    /* Lines of 64 characters add a 64th; EVP_EncodeUpdate() a final NUL. */
    size_t outsize = most / 3 * 4 + most / 32 + 128;
    struct buffer bytes = buffer_take(kind, most);
    struct memory m;
    int failed = 0;
    if (bytes.p != NULL && memory_take(&m, "base64", kind, outsize, outsize)) {
        struct base64 b = {
            .cipher = cipher, .bytes = bytes.p, .text = m.in.p, .out = m.out.p, .outsize = outsize};
        for (size_t length = 64 * KIB; !failed && length <= most; length *= 4)
            failed = base64_rows(&b, kind, length);
        memory_give(&m);
    } else if (bytes.p == NULL) {
        print_skipped("base64", "%s memory: %s", kind_name(kind), no_device());
    }
    buffer_give(&bytes);
    return failed;
}

int part_base64(void)
{
    warm_up();
    EVP_CIPHER *cipher = fetch_ours(&test_providers, "BASE64");
    if (cipher == NULL) {
        print_skipped("base64", "the provider has no BASE64");
        return 0;
    }
    int failed = base64_memory(cipher, PAGEABLE) | base64_memory(cipher, PINNED);
    EVP_CIPHER_free(cipher);
    return failed;
}
