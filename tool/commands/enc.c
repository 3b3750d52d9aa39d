/*
 * `gpuaes enc` and `gpuaes dec`: files as openssl enc makes and reads them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/minmax.h"
#include "tool/commands/commands.h"
#include "tool/commands/enc_options.h"
#include "tool/commands/shard.h"
#include "tool/commands/stream.h"
#include "tool/common/message.h"
#include "tool/common/options.h"
#include "tool/keys/key.h"
#include "tool/keys/password.h"
#include "tool/stages/base64.h"
#include "tool/stages/cipher.h"

enum { PBKDF2_ITERATIONS = 10000, LEAST_PIECE = 64, PADDING_SPACE = 64 };

struct enc {
    struct enc_options options;
    struct stream stream;
    struct cipher_job job;
    struct base64_encode encode;
    struct base64_decode decode;
    struct key_material material;
    char *password;
};

/* ---- Cipher and key -------------------------------------------------------------------- */

/* Returns 0 for AEAD, XTS, key wrap and others that the format of openssl enc has no place for. */
static int is_usable(const EVP_CIPHER *cipher)
{
    int mode = EVP_CIPHER_get_mode(cipher);
    return (EVP_CIPHER_get_flags(cipher) & (EVP_CIPH_FLAG_AEAD_CIPHER | EVP_CIPH_FLAG_CTS)) == 0 &&
           mode != EVP_CIPH_XTS_MODE && mode != EVP_CIPH_WRAP_MODE &&
           EVP_CIPHER_get_key_length(cipher) != 0;
}

static int complain_unusable(const char *name, const EVP_CIPHER *cipher)
{
    if ((EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER) == 0)
        return complain("-%s: XTS, CTS and key-wrap ciphers are not supported; use for example "
                        "-aes-256-ctr",
                        name);
    return complain("-%s: the format of openssl enc has no place for a tag, so nothing here can "
                    "tell that a file was changed; age, gpg and \"openssl cms -encrypt "
                    "-aes-256-gcm\" can. For secrecy alone use -aes-256-ctr",
                    name);
}

static int fetch_cipher(struct enc *enc)
{
    const char *name = enc->options.cipher;
    enc->job.cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    if (enc->job.cipher == NULL)
        return complain_openssl("-%s: the cipher cannot be fetched", name);
    if (!is_usable(enc->job.cipher))
        return complain_unusable(name, enc->job.cipher);
    enc->job.encrypt = !enc->options.decrypt;
    enc->job.padding = !enc->options.no_padding;
    enc->job.material = &enc->material;
    return 1;
}

static int get_password(struct enc *enc)
{
    const struct enc_options *o = &enc->options;
    if (o->password != NULL)
        enc->password = OPENSSL_strdup(o->password);
    else if (o->key_file != NULL)
        enc->password = password_from_key_file(o->key_file);
    else if (o->pass != NULL)
        enc->password = password_from(o->pass);
    else if (o->key == NULL)
        enc->password = password_ask(EVP_CIPHER_get0_name(enc->job.cipher), !o->decrypt);
    else
        return 1;
    if (enc->password != NULL && enc->password[0] == '\0')
        (void)complain("warning: the password is empty: it protects nothing");
    return enc->password != NULL;
}

/* The header from the input's beginning: SALT_MAGIC, and `salt_bytes`, which it reads into `salt`.
 */
static int read_header(struct enc *enc, unsigned char *salt, int salt_bytes)
{
    struct source *source = &enc->stream.source;
    unsigned char header[SALT_HEADER_MOST];
    const size_t header_bytes = SALT_MAGIC_BYTES + (size_t)salt_bytes;
    const unsigned char *data;
    /* Base64 has a third more, and lines. */
    long n = source_peek(source, &data, enc->options.base64 ? SOURCE_PEEK / 8 : header_bytes);
    if (n < 0)
        return complain("%s: %s", source->name, strerror(errno));
    int is_base64 = 1;
    if (enc->options.base64)
        n = (long)base64_decode_some(BASE64_WHITE_SPACE, data, (size_t)n, header, header_bytes,
                                     &is_base64);
    else
        memcpy(header, data, (size_t)n);
    if (n < (long)header_bytes && !is_base64)
        return complain("%s: not Base64, which -a expects", source->name);
    if (n < (long)header_bytes || memcmp(header, SALT_MAGIC, SALT_MAGIC_BYTES) != 0)
        return complain("%s: bad magic number: it does not begin with \"" SALT_MAGIC
                        "\" and a salt; was it encrypted with %s-S, -nosalt or -K?",
                        source->name, enc->options.base64 ? "" : "-a, ");
    if (enc->options.base64)
        enc->job.drop = header_bytes;
    else
        (void)source_skip(source, header_bytes);
    memcpy(salt, header + SALT_MAGIC_BYTES, (size_t)salt_bytes);
    return 1;
}

/* As OpenSSL 3.2 and newer choose it. 0: no salt. */
static int choose_salt_bytes(const struct enc_options *o)
{
    if (o->no_salt)
        return 0;
    if (o->salt_bytes != 0 && !o->pbkdf2)
        (void)complain("warning: -saltlen is not used without -pbkdf2 or -iter");
    if (o->salt_bytes == 0 || !o->pbkdf2)
        return SALT_BYTES;
    if (o->salt_bytes > SALT_MOST_BYTES)
        (void)complain("warning: -saltlen %d: %d bytes are used, the most there can be",
                       (int)o->salt_bytes, SALT_MOST_BYTES);
    return (int)min_u64(o->salt_bytes, SALT_MOST_BYTES);
}

static int get_salt(struct enc *enc)
{
    const struct enc_options *o = &enc->options;
    unsigned char *salt = enc->material.salt;
    int bytes = enc->material.salt_bytes = choose_salt_bytes(o);
    if (bytes == 0)
        return 1;
    if (o->salt != NULL)
        return key_read_hex("-S", o->salt, salt, bytes);
    if (o->decrypt)
        return read_header(enc, salt, bytes);
    if (RAND_bytes(salt, bytes) <= 0)
        return complain_openssl("there are no random bytes for a salt");
    memcpy(enc->job.prefix, SALT_MAGIC, SALT_MAGIC_BYTES);
    memcpy(enc->job.prefix + SALT_MAGIC_BYTES, salt, (size_t)bytes);
    enc->job.prefix_bytes = SALT_MAGIC_BYTES + (size_t)bytes;
    return 1;
}

static int derive(struct enc *enc)
{
    const struct enc_options *o = &enc->options;
    const char *name = o->md != NULL ? o->md : "SHA256";
    int iterations = o->iterations != 0 ? (int)o->iterations : o->pbkdf2 ? PBKDF2_ITERATIONS : 0;
    EVP_MD *md = EVP_MD_fetch(NULL, name, NULL);
    if (md == NULL)
        return complain("-md %s: expected a digest, such as sha256", name);
    int ok =
        get_salt(enc) && key_derive(&enc->material, enc->job.cipher, md, enc->password, iterations);
    EVP_MD_free(md);
    return ok;
}

static int get_key(struct enc *enc)
{
    const struct enc_options *o = &enc->options;
    int iv_bytes = EVP_CIPHER_get_iv_length(enc->job.cipher);
    if (enc->password != NULL && !derive(enc))
        return 0;
    if (o->iv != NULL && iv_bytes == 0)
        (void)complain("warning: -iv is not used by this cipher");
    if (o->iv != NULL && iv_bytes != 0 && !key_read_hex("-iv", o->iv, enc->material.iv, iv_bytes))
        return 0;
    if (o->iv == NULL && enc->password == NULL && iv_bytes != 0)
        return complain("-iv is missing: with -K, expected %d hexadecimal digits", 2 * iv_bytes);
    return o->key == NULL || key_read_hex("-K", o->key, enc->material.key,
                                          EVP_CIPHER_get_key_length(enc->job.cipher));
}

/* All that the key was made from. */
static void forget_secrets(struct enc *enc)
{
    enc_options_forget(&enc->options);
    option_forget(&enc->password);
}

/* ---- The stream ------------------------------------------------------------------------ */

static void build(struct enc *enc)
{
    const struct enc_options *o = &enc->options;
    struct pipeline *pipeline = &enc->stream.pipeline;
    size_t piece = enc->stream.source.piece;
    pipeline->capacity = piece + PADDING_SPACE;
    /* With the salt in front, the first piece is as long as the others. */
    enc->stream.source.lead = enc->job.prefix_bytes;
    if (o->base64 && o->decrypt) {
        enc->decode.between = BASE64_WHITE_SPACE;
        enc->decode.name = enc->stream.source.name;
        base64_decode_add(&enc->decode, pipeline);
    }
    cipher_add(&enc->job, pipeline);
    if (o->base64 && !o->decrypt) {
        enc->encode = (struct base64_encode){.line = o->one_line ? 0 : 64, .piece = piece};
        pipeline->capacity = base64_encode_capacity(&enc->encode);
        pipeline_add(pipeline, base64_encode_piece, &enc->encode, STAGE_UNORDERED);
    }
}

static void report(const struct stream *stream)
{
    (void)fprintf(stderr,
                  "bytes read   : %8" PRIu64 "\nbytes written: %8" PRIu64 "\nthreads      : %8u\n",
                  stream->source.done, stream->output.position, stream->pipeline.threads);
}

static int run_stream(struct enc *enc)
{
    const struct enc_options *o = &enc->options;
    struct output *output = &enc->stream.output;
    if (!output_open(output, o->out, o->no_clobber, o->sync)) {
        (void)complain("-out %s: %s%s", o->out != NULL ? o->out : "(stdout)", output->hindrance,
                       strerror(errno));
        output_abandon(output);
        return 0;
    }
    build(enc);
    int ok = stream_run(&enc->stream, o->progress);
    if (ok && o->verbose)
        report(&enc->stream);
    return ok;
}

/* ---- The command ----------------------------------------------------------------------- */

static int is_ciphertext_for_terminal(const struct enc_options *o)
{
    return !o->decrypt && !o->base64 && !o->print_only && o->out == NULL && isatty(STDOUT_FILENO);
}

static int run(struct enc *enc)
{
    struct enc_options *o = &enc->options;
    struct source *source = &enc->stream.source;
    if (is_ciphertext_for_terminal(o))
        return complain("the encrypted data would go to the terminal: name a file by -out, or add "
                        "-a for Base64; -out - writes it all the same");
    if (!source_open(source, o->in))
        return complain("-in %s: %s", o->in != NULL ? o->in : "(stdin)", strerror(errno));
    source->limit = o->length;
    stream_begin(&enc->stream, o->piece, o->base64 ? BASE64_UNIT : LEAST_PIECE, o->threads);
    if (!fetch_cipher(enc) || !shard_check(o, &enc->job) || !get_password(enc) ||
        !source_begin(source) || !get_key(enc))
        return 0;
    forget_secrets(enc);
    if (o->print || o->print_only)
        key_print(&enc->material, enc->job.cipher);
    if (o->print_only)
        return 1;
    memcpy(enc->job.before, enc->material.iv, sizeof enc->job.before);
    return shard_enter(o, source, &enc->job) && run_stream(enc);
}

static int close_enc(struct enc *enc, int ok)
{
    cipher_close(&enc->job);
    EVP_CIPHER_free(enc->job.cipher);
    base64_decode_close(&enc->decode);
    stream_close(&enc->stream);
    OPENSSL_cleanse(&enc->material, sizeof enc->material);
    forget_secrets(enc);
    return ok ? 0 : 1;
}

static int enc_main(int argc, char **argv, int decrypt)
{
    static struct enc enc;
    enc.options.decrypt = decrypt;
    int read = enc_options_read(&enc.options, argc, argv);
    if (read <= 0) {
        forget_secrets(&enc);
        return read < 0 ? 0 : 1;
    }
    return close_enc(&enc, run(&enc));
}

int enc_command(int argc, char **argv)
{
    return enc_main(argc, argv, 0);
}

int dec_command(int argc, char **argv)
{
    return enc_main(argc, argv, 1);
}
