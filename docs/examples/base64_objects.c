/*
 * Encodes or decodes a file with the provider's OSSL_ENCODER and OSSL_DECODER
 * for byte strings, "OCTETS": for programs that want text in a BIO, or have it
 * there. All of the bytes are in memory; the text passes through the BIO.
 *
 *     base64_objects encode|decode [-l 64|76] IN OUT
 *
 * Compile it with: cc -O2 base64_objects.c -lcrypto
 * Set OPENSSL_CONF to gpuaes.cnf, or include that file in openssl.cnf: the
 * program itself loads no provider.
 *
 * -l makes or expects lines of that length.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/decoder.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what)
{
    fprintf(stderr, "base64_objects: %s\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static BIO *open_file(const char *path, const char *mode)
{
    BIO *file = BIO_new_file(path, mode);

    if (!file)
        fail(path);
    return file;
}

/* ---- Encoding ------------------------------------------------------------ */

/* The object to encode: what OSSL_ENCODER_CTX_set_construct_data() was given. */
static const void *give(OSSL_ENCODER_INSTANCE *instance, void *object)
{
    (void)instance;
    return object;
}

/* It is no copy. */
static void forget(void *object)
{
    (void)object;
}

/* Writes the text of `bytes` to `out`. */
static void encode(BIO *out, void *bytes, size_t length, size_t line_length)
{
    OSSL_ENCODER *encoder = OSSL_ENCODER_fetch(NULL, "OCTETS", "provider=gpuaes,output=base64");
    OSSL_ENCODER_CTX *context = OSSL_ENCODER_CTX_new();
    OSSL_PARAM object[] = {OSSL_PARAM_octet_string(OSSL_OBJECT_PARAM_DATA, bytes, length),
                           OSSL_PARAM_END};
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("line-length", &line_length), OSSL_PARAM_END};

    if (!encoder)
        fail("no encoder OCTETS: is the provider gpuaes active in openssl.cnf?");
    if (!context || !OSSL_ENCODER_CTX_add_encoder(context, encoder) ||
        !OSSL_ENCODER_CTX_set_construct(context, give) ||
        !OSSL_ENCODER_CTX_set_construct_data(context, object) ||
        !OSSL_ENCODER_CTX_set_cleanup(context, forget) ||
        !OSSL_ENCODER_CTX_set_params(context, params))
        fail("cannot initialise the encoder");
    if (!OSSL_ENCODER_to_bio(context, out))
        fail("the encoder failed");

    OSSL_ENCODER_CTX_set_construct_data(context, NULL); /* OSSL_ENCODER_CTX_free() would free it */
    OSSL_ENCODER_CTX_free(context);
    OSSL_ENCODER_free(encoder);
}

static void encode_file(const char *path, BIO *out, size_t line_length)
{
    struct stat status;
    void *bytes = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0 || fstat(file, &status))
        fail(path);
    if (status.st_size) {
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes == MAP_FAILED)
            fail(path);
    }
    close(file);
    encode(out, bytes, (size_t)status.st_size, line_length);
    if (bytes)
        munmap(bytes, (size_t)status.st_size);
}

/* ---- Decoding ------------------------------------------------------------ */

/* A BIO may take less than all at one time. */
static int write_all(BIO *out, const unsigned char *bytes, size_t length)
{
    for (size_t at = 0, written; at < length; at += written)
        if (!BIO_write_ex(out, bytes + at, length - at, &written))
            return 0;
    return 1;
}

/* Called once, with all of the bytes, which are there during the call only. */
static int take(OSSL_DECODER_INSTANCE *instance, const OSSL_PARAM *params, void *out)
{
    const OSSL_PARAM *data = OSSL_PARAM_locate_const(params, OSSL_OBJECT_PARAM_DATA);
    const void *bytes;
    size_t length;

    (void)instance;
    return data && OSSL_PARAM_get_octet_string_ptr(data, &bytes, &length) &&
           write_all(out, bytes, length);
}

/* Reads text up to the end of `in` and writes the bytes to `out`. */
static void decode(BIO *in, BIO *out, size_t line_length)
{
    OSSL_DECODER *decoder = OSSL_DECODER_fetch(NULL, "OCTETS", "provider=gpuaes,input=base64");
    OSSL_DECODER_CTX *context = OSSL_DECODER_CTX_new();
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("line-length", &line_length), OSSL_PARAM_END};

    if (!decoder)
        fail("no decoder OCTETS: is the provider gpuaes active in openssl.cnf?");
    if (!context || !OSSL_DECODER_CTX_add_decoder(context, decoder) ||
        !OSSL_DECODER_CTX_set_construct(context, take) ||
        !OSSL_DECODER_CTX_set_construct_data(context, out) ||
        !OSSL_DECODER_CTX_set_input_type(context, "BASE64") ||
        !OSSL_DECODER_CTX_set_params(context, params))
        fail("cannot initialise the decoder");
    if (!OSSL_DECODER_from_bio(context, in))
        fail("the decoder failed");

    OSSL_DECODER_CTX_free(context);
    OSSL_DECODER_free(decoder);
}

/* -------------------------------------------------------------------------- */

static int usage(void)
{
    fprintf(stderr, "usage: base64_objects encode|decode [-l 64|76] IN OUT\n");
    return 2;
}

int main(int argc, char **argv)
{
    size_t line_length = 0;
    int option, encodes;
    BIO *out;

    if (argc < 2 || (strcmp(argv[1], "encode") && strcmp(argv[1], "decode")))
        return usage();
    encodes = !strcmp(argv[1], "encode");
    argc--;
    argv++;
    while ((option = getopt(argc, argv, "l:")) != -1) {
        if (option != 'l')
            return usage();
        line_length = strtoul(optarg, NULL, 10);
    }
    if (argc - optind != 2)
        return usage();

    out = open_file(argv[optind + 1], "wb");
    if (encodes) {
        encode_file(argv[optind], out, line_length);
    } else {
        BIO *in = open_file(argv[optind], "rb");

        decode(in, out, line_length);
        BIO_free(in);
    }
    if (BIO_flush(out) != 1)
        fail(argv[optind + 1]);
    BIO_free(out);
    return 0;
}
