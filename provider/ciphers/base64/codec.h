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
 * The GPU path and the single characters here work without branches or
 * addresses that depend on the data; libcrypto's own codec uses tables.
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

/*
 * Chooses for an update that kind, in, out and len of `work` describe. Returns 1 for the GPU, 0 for
 * the CPU, and -1, with the error raised, if neither can: the settings insist on a GPU and there is
 * none, or it is device memory. Does not touch the memory.
 */
int base64_choose(struct provider *provider, struct work *work);

/* Tells the policy and the totals that a GPU did `by_gpu` bytes, and the CPU the others. */
void base64_done(struct totals *totals, const struct work *work, int chosen, size_t by_gpu);

/*
 * Returns 1 if the CPU may finish the work of a device that failed, and 0, with the error
 * raised, if the device may still write to the output.
 */
int base64_cpu_may_go_on(const struct provider *provider, enum gpuaes_status status);

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

/* ---- Encoding ------------------------------------------------------------ */

struct base64_encoding {
    struct provider *provider;
    size_t line_length;
    size_t column; /* of the next character */
    unsigned char held[3];
    unsigned held_bytes; /* 0 to 2: less than a group of three */
    int undefined;       /* the device may write to the output at any time, and it must stay */
    struct totals totals;
};

enum { BASE64_ENCODING_END = 5 }; /* the most that base64_encoding_end() writes */

void base64_encoding_start(struct base64_encoding *e, struct provider *provider,
                           const struct base64_format *format);

/* Characters that an update of `len` bytes writes, exactly; SIZE_MAX if that is too large. */
size_t base64_encoding_size(const struct base64_encoding *e, size_t len);

/*
 * Returns 0 where base64_choose() does, with nothing consumed; and where the output
 * is undefined: then only base64_encoding_clear() may follow.
 */
int base64_encoding_update(struct base64_encoding *e, unsigned char *out, const unsigned char *in,
                           size_t len);

/* Characters that base64_encoding_end() writes. */
size_t base64_encoding_end_size(const struct base64_encoding *e);

/* Writes padding and the last line end; returns how many characters that is. */
size_t base64_encoding_end(struct base64_encoding *e, unsigned char *out);

/* Puts the count into the statistics and cleanses the state. Once is enough, twice is harmless. */
void base64_encoding_clear(struct base64_encoding *e);

/* ---- Decoding ------------------------------------------------------------ */

struct base64_decoding {
    struct provider *provider;
    size_t line_length;
    int skip_white_space;

    uint64_t offset;  /* of the update's first character in the text */
    uint64_t last_at; /* offset of the last character that was not padding */
    uint32_t bits;    /* of the quad that is begun */
    unsigned held;    /* its characters so far, padding included: 0 to 3 */
    unsigned pads;    /* '=' among them */
    int padded;       /* a padded quad is complete: no characters may follow */
    int undefined;    /* as in base64_encoding */

    /* Strict lines only. */
    size_t column; /* of the next character */
    int after_cr;  /* the line feed of a "\r\n" is due */
    int closed;    /* a short line has ended: it was the last */

    struct totals totals;
};

void base64_decoding_start(struct base64_decoding *d, struct provider *provider,
                           const struct base64_format *format);

/*
 * The most that an update of this input writes. Where a quick estimate exceeds
 * `room`, it reads the input for a better one, exact for valid text.
 */
size_t base64_decoding_size(const struct base64_decoding *d, const unsigned char *in, size_t len,
                            size_t room);

/*
 * Decodes into `out`, *produced bytes. Returns 0, with the error raised, on invalid text, where
 * base64_choose() returns -1, and where the output is undefined. Then the contents of `out` must
 * not be used, and only base64_decoding_clear() may follow.
 */
int base64_decoding_update(struct base64_decoding *d, unsigned char *out, size_t *produced,
                           const unsigned char *in, size_t len);

/* Whether the text may end here; if not, the error is raised. */
int base64_decoding_end(struct base64_decoding *d);

void base64_decoding_clear(struct base64_decoding *d);

#endif
