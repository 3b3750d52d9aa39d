/*
 * The Base64 codec behind the cipher, the encoder and the decoder: RFC 4648
 * section 4, in pieces of any size, on the CPU or, for large pieces, the GPU.
 *
 * Lines. With line_length N (64 or 76) the encoder puts "\n" after every N
 * characters and after a last, shorter line. With 0 it puts none.
 *
 * Strict decoding (the default) takes what the encoder makes and nothing else:
 * with line_length 0 no white space at all; with N every line but the last has
 * exactly N characters, each is ended by "\n" or "\r\n", and only the very last
 * line end may be missing. With skip_white_space, white space (space, \t, \n,
 * \v, \f, \r) may stand anywhere, and line_length means nothing. Either way,
 * padding is required, nothing may follow it, and the bits that it leaves over
 * are zero. Errors name the offset in the text as a whole, from 0.
 *
 * Text may be a secret (a key as PEM): state and scratch memory are cleansed.
 * The GPU works without branches or addresses that depend on the data; libcrypto
 * uses tables.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_BASE64_CODEC_H
#define GPUAES_PROVIDER_CIPHERS_BASE64_CODEC_H

#include <openssl/core.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/policy/policy.h"

struct provider;

/* ---- Format: what the cipher, the encoder and the decoder have as parameters -- */

struct base64_format {
    size_t line_length;   /* 0, 64 or 76 */
    int skip_white_space; /* decoding only */
};

#define BASE64_PARAM_LINE_LENGTH "line-length"
#define BASE64_PARAM_SKIP_WHITE_SPACE "skip-white-space"

/* For a table of settable parameters. */
#define BASE64_FORMAT_SETTABLE                                                                     \
    OSSL_PARAM_size_t(BASE64_PARAM_LINE_LENGTH, NULL),                                             \
        OSSL_PARAM_int(BASE64_PARAM_SKIP_WHITE_SPACE, NULL)

/* Takes what `params`, which may be NULL, says; 0 if a value is wrong: the error is raised. */
int base64_format_set(struct base64_format *format, const struct provider *provider,
                      const OSSL_PARAM params[]);

/* ---- A text ---------------------------------------------------------------------- */

struct base64_codec {
    struct provider *provider;
    struct base64_format format;
    uint64_t offset;        /* bytes or characters taken so far */
    size_t column;          /* of the next character, where there are lines */
    unsigned buffered;      /* less than a group: 0 to 2 bytes, or 0 to 3 characters with padding */
    unsigned char group[3]; /* encoding: those bytes */
    int undefined;          /* the device may write to the output at any time, and it must stay */

    /* Decoding. */
    uint32_t bits; /* of the quad that is begun */
    unsigned pads; /* '=' among its characters so far */
    int padded;    /* a padded quad is complete: no characters may follow */
    int after_cr;  /* strict lines: the line feed of a "\r\n" is due */
    int closed;    /* strict lines: a short line has ended, it was the last */
};

void base64_start(struct base64_codec *c, struct provider *provider,
                  const struct base64_format *format);

/* Cleanses the state. After an update that failed, nothing else may follow. */
void base64_clear(struct base64_codec *c);

/* ---- Encoding -------------------------------------------------------------------- */

enum { BASE64_END = 5 }; /* the most that base64_encode_end() writes */

/* Characters that an update of `len` bytes writes, exactly; SIZE_MAX if that is too large. */
size_t base64_encoded_size(const struct base64_codec *c, size_t len);

/*
 * Returns 0, with the error raised, where neither side can do it, with nothing consumed (the
 * settings insist on a GPU and there is none, or it is device memory); and where the output is
 * undefined.
 */
int base64_encode_update(struct base64_codec *c, unsigned char *out, const unsigned char *in,
                         size_t len);

/* Writes padding and the last line end; returns how many characters that is. */
size_t base64_encode_end(struct base64_codec *c, unsigned char *out);

/* ---- Decoding -------------------------------------------------------------------- */

/*
 * The most that an update of this input writes. Where a quick estimate exceeds
 * `outsize`, it reads the input for a better one, exact for valid text.
 */
size_t base64_decoded_size(const struct base64_codec *c, const unsigned char *in, size_t len,
                           size_t outsize);

/*
 * Decodes into `out`, *produced bytes. Returns 0, with the error raised, on invalid text and where
 * base64_encode_update() does. Then the contents of `out` must not be used.
 */
int base64_decode_update(struct base64_codec *c, unsigned char *out, size_t *produced,
                         const unsigned char *in, size_t len);

/* Whether the text may end here; if not, the error is raised. */
int base64_decode_end(struct base64_codec *c);

/* ---- What both directions do about the device -------------------------------------- */

/*
 * Chooses for an update that kind, in, out and len of `work` describe. Returns 1 for the GPU, 0 for
 * the CPU, and -1, with the error raised, if neither can. Does not touch the memory.
 */
int base64_choose(const struct base64_codec *c, struct work *work);

/*
 * Has the device encode or decode; returns 1 if it did. Where it may still write to `out`,
 * raises the error and sets c->undefined.
 */
int base64_run_on_device(struct base64_codec *c, enum policy_work kind, const unsigned char *in,
                         unsigned char *out, size_t bytes);

/*
 * Tells the policy and the statistics that a GPU, where it was chosen, was offered so many bytes
 * and did `by_gpu` of them, and that the CPU did the others.
 */
void base64_done(const struct work *work, int chosen, size_t offered, size_t by_gpu);

#endif
