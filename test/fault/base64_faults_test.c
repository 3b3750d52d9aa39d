/*
 * Base64 where the device does not finish in time and goes on later: it may still write to the
 * output then, so that the call must fail, and what was the provider's own output must stay. What
 * is staged is finished by the CPU. For the emulator only; each case is a run of this program of
 * its own.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <malloc.h>
#include <openssl/decoder.h>

#include "provider/common/errors.h"
#include "test/support/base64_objects.h"
#include "test/support/cases.h"
#include "test/support/providers.h"

enum { MIB = 1 << 20, BLOCKS = 128 };

/* Until the device has done what it was late with, at most a minute; 1 if it has. */
static int device_is_quiet(void)
{
    return COMES(application_count("emulator_under_way") == 0);
}

static int says_undefined(void)
{
    int reason = ERR_GET_REASON(ERR_peek_error());
    if (reason != ERROR_OUTPUT_UNDEFINED)
        ERR_print_errors_fp(stderr);
    return reason == ERROR_OUTPUT_UNDEFINED;
}

static int is_filled(const unsigned char *p, size_t bytes)
{
    return p[0] == 'Z' && memcmp(p, p + 1, bytes - 1) == 0;
}

/* ---- The cipher -------------------------------------------------------------------------- */

/* Of `bytes`, in memory of the application, which has another use for it afterwards. */
static int update_fails(int encrypt, enum place place, size_t bytes, size_t line_length)
{
    size_t room = 2 * bytes;
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &room),
                           OSSL_PARAM_size_t("line-length", &line_length), OSSL_PARAM_END};
    EVP_CIPHER *cipher = fetch_ours(&test_providers, "BASE64");
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n = 0, right = application_begin(0);
    static unsigned char *in, *out; /* they stay: the device may use them at any time */
    in = application_alloc(place, bytes);
    out = application_alloc(place, room);
    memset(in, 'A', bytes); /* text and what becomes one */
    for (size_t i = line_length; line_length != 0 && i < bytes; i += line_length + 1)
        in[i] = '\n';
    right = right && EVP_CipherInit_ex2(context, cipher, NULL, NULL, encrypt, params) &&
            !EVP_CipherUpdate(context, out, &n, in, (int)bytes) && says_undefined();
    memset(out, 'Z', room);
    right = right && device_is_quiet();
    if (right && is_filled(out, room)) {
        fprintf(stderr, "# the device was not late\n");
        right = 0;
    }
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return right;
}

static int encoding_to_pinned_memory(void)
{
    return update_fails(1, PINNED, 3 << 16, 0);
}

static int decoding_to_pinned_memory(void)
{
    return update_fails(0, PINNED, 1 << 18, 0);
}

static int decoding_of_lines(void)
{
    return update_fails(0, PINNED, 65 << 12, 64);
}

/* ---- Encoder and decoder ----------------------------------------------------------------- */

static int take_nothing(OSSL_DECODER_INSTANCE *instance, const OSSL_PARAM *params, void *arg)
{
    (void)instance;
    (void)params;
    (void)arg;
    return 1;
}

/* What others allocate afterwards is theirs alone. */
static int others_are_spared(void)
{
    unsigned char *blocks[BLOCKS];
    int right = 1;
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(MIB);
        memset(blocks[i], 'Z', MIB);
    }
    right &= device_is_quiet();
    for (int i = 0; i < BLOCKS; i++) {
        right &= is_filled(blocks[i], MIB);
        free(blocks[i]);
    }
    return right;
}

static int encoder_goes_on(void)
{
    enum { BYTES = 12 * MIB };
    unsigned char *in = application_begin(0) ? application_alloc(PINNED, BYTES) : NULL;
    struct bytes plain = {in, BYTES}, text = {NULL, 0};
    if (in == NULL)
        return 0;
    memset(in, 7, BYTES);
    int right = base64_encode_object(test_providers.ours, &plain, &text, (struct format){0, 0}) &&
                text.length == BYTES / 3 * 4 && memcmp(text.data, "BwcH", 4) == 0 &&
                memcmp(text.data, text.data + 4, text.length - 4) == 0;
    OPENSSL_free(text.data);
    return right && others_are_spared();
}

/* It reads ever larger pieces: the one of 16 MiB is the device's. */
static int decoder_goes_on(void)
{
    enum { BYTES = 22 * MIB };
    OSSL_DECODER *decoder =
        OSSL_DECODER_fetch(test_providers.ours, "OCTETS", "provider=gpuaes,input=base64");
    OSSL_DECODER_CTX *context = OSSL_DECODER_CTX_new();
    static unsigned char *text; /* it stays: the device may use it at any time */
    text = malloc(BYTES);
    const unsigned char *p = text;
    size_t left = BYTES;
    memset(text, 'A', BYTES);
    int right = OSSL_DECODER_CTX_add_decoder(context, decoder) &&
                OSSL_DECODER_CTX_set_construct(context, take_nothing) &&
                OSSL_DECODER_CTX_set_construct_data(context, text) &&
                OSSL_DECODER_CTX_set_input_type(context, "BASE64") &&
                OSSL_DECODER_from_data(context, &p, &left);
    OSSL_DECODER_CTX_free(context);
    OSSL_DECODER_free(decoder);
    return right && others_are_spared();
}

/* The time limit is a tenth of what each kernel takes. */
#define LATE "GPUAES_TIMEOUT_MS=1000 GPUAES_MIN_BYTES="
#define SLOW "kernel-us=10000000"
static const struct case_row cases[] = {
    {"encoding to pinned memory fails", LATE "0", SLOW, encoding_to_pinned_memory},
    {"decoding to pinned memory fails", LATE "0", SLOW, decoding_to_pinned_memory},
    {"so does that of lines", LATE "0", SLOW, decoding_of_lines},
    {"the encoder, whose memory is staged, goes on with the CPU", LATE "0", SLOW, encoder_goes_on},
    {"so does the decoder", LATE "16M", SLOW, decoder_goes_on},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    if (argc > 1) {
        mallopt(M_MMAP_MAX, 0); /* so that what is freed is the next one's */
        return case_named(argv[1], cases);
    }
    cases_check(cases, CASES, CASES);
    return tap_done();
}
