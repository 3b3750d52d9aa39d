/*
 * AES-GCM through EVP, call by call as the default provider does it: random messages in memory of
 * every kind, at any alignment, in place and out of place, on a CUDA stream or not, with any IV,
 * additional data and text in any pieces, right and wrong tags; contexts that are used again by IV
 * or by key; the wrap of the 32-bit counter; messages that are given up. Calls out of order are
 * scripts of aes_parameters_test.
 *
 * Messages whose first text is of min-bytes or more are ours, others the CPU's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <openssl/core_names.h>

#include "test/support/application.h"
#include "test/support/sealed.h"

enum { MIN_BYTES = 1000, LARGEST = 300000, MARGIN = 64, ROOM = LARGEST + 2 * MARGIN };
enum { AAD_MOST = 70000, IV_MOST = 128, TAG = 16 };
enum { OURS, THEIRS, SIDES };

static const char *const names[] = {"AES-128-GCM", "AES-192-GCM", "AES-256-GCM"};
static EVP_CIPHER *ciphers[3][SIDES];
static EVP_CIPHER_CTX *contexts[SIDES];
static unsigned char *places_in[PLACES], *places_out[PLACES];
static unsigned char text[ROOM], seen[SIDES][ROOM], aad[AAD_MOST], key[32], iv[IV_MOST], tag[TAG];
static size_t iv_bytes;
static drv_stream stream;

static size_t below(size_t limit)
{
    return tap_random_below(&random_state, limit);
}

/* ---- Both sides -------------------------------------------------------------------------- */

static int set_uint(EVP_CIPHER_CTX *c, const char *name, unsigned value)
{
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint(name, &value), OSSL_PARAM_construct_end()};
    return EVP_CIPHER_CTX_set_params(c, params);
}

static int set_stream(EVP_CIPHER_CTX *c, drv_stream named)
{
    uint64_t handle = (uint64_t)(uintptr_t)named;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint64("cuda-stream", &handle),
                           OSSL_PARAM_construct_end()};
    return EVP_CIPHER_CTX_set_params(c, params);
}

/* Ours says where memory may be a device's, and at times on which stream. */
static int set_place(enum place in, enum place out)
{
    if (stand_in())
        return 1;
    if (below(3) == 0)
        return set_stream(contexts[OURS], stream);
    return set_uint(contexts[OURS], "device-memory", in == DEVICE || out == DEVICE);
}

static int agree(const char *what, int ours, int theirs)
{
    if (ours != theirs)
        tap_diag("%s: %d instead of %d", what, ours, theirs);
    return ours == theirs;
}

static int init(const EVP_CIPHER *const cipher[SIDES], const unsigned char *k,
                const unsigned char *v, int encrypt)
{
    int result[SIDES];
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CipherInit_ex2(contexts[side], cipher == NULL ? NULL : cipher[side], k,
                                          v, encrypt, NULL);
    return agree("init", result[OURS], result[THEIRS]);
}

static int set_iv_length(size_t bytes)
{
    int result[SIDES];
    for (int side = 0; side < SIDES; side++)
        result[side] =
            EVP_CIPHER_CTX_ctrl(contexts[side], EVP_CTRL_AEAD_SET_IVLEN, (int)bytes, NULL);
    return agree("IV length", result[OURS], result[THEIRS]);
}

static int add_aad(const unsigned char *from, size_t bytes)
{
    int result[SIDES], n[SIDES] = {-1, -1};
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CipherUpdate(contexts[side], NULL, &n[side], from, (int)bytes);
    return agree("additional data", result[OURS], result[THEIRS]) &&
           (result[OURS] != 1 || agree("its length", n[OURS], n[THEIRS]));
}

/* By EVP_Cipher() or EVP_CipherUpdate(). */
static int call(int side, unsigned char *out, int *n, const unsigned char *in, size_t bytes,
                int oneshot)
{
    if (!oneshot)
        return EVP_CipherUpdate(contexts[side], out, n, in, (int)bytes);
    *n = EVP_Cipher(contexts[side], out, in, (unsigned)bytes);
    return *n >= 0;
}

/*
 * The next of the text, at random places; `at` is its place in text[], where the default
 * provider's output comes to lie.
 */
static int update(size_t at, size_t bytes, enum place in_place, enum place out_place, int is_same)
{
    size_t in_at = MARGIN + below(17), out_at = MARGIN + below(17);
    unsigned char *in = places_in[in_place] + in_at,
                  *out = is_same ? in : places_out[out_place] + out_at;
    int n[SIDES] = {-1, -1}, result[SIDES], oneshot = below(8) == 0;
    size_t around = bytes + 2 * MARGIN;
    memset(seen[OURS], 0xee, around);
    if (is_same)
        out_place = in_place;
    if (!application_write(out_place, out - MARGIN, seen[OURS], around) ||
        !application_write(in_place, in, text + at, bytes))
        return agree("the application's copies", 0, 1);
    memset(seen[THEIRS], 0xee, around);
    result[OURS] = call(OURS, out, &n[OURS], in, bytes, oneshot);
    result[THEIRS] = call(THEIRS, seen[THEIRS] + MARGIN, &n[THEIRS], text + at, bytes, oneshot);
    if (!agree("update", result[OURS], result[THEIRS]) || !agree("length", n[OURS], n[THEIRS]))
        return 0;
    if (!application_wait(stream) || !application_read(seen[OURS], out_place, out - MARGIN, around))
        return agree("the application's copy", 0, 1);
    int is_right = result[OURS] != 1 || memcmp(seen[OURS], seen[THEIRS], around) == 0;
    return agree("output", is_right, 1);
}

static int get_tag(size_t bytes, unsigned char to[SIDES][TAG])
{
    int result[SIDES];
    memset(to, 0, sizeof(unsigned char[SIDES][TAG]));
    for (int side = 0; side < SIDES; side++)
        result[side] =
            EVP_CIPHER_CTX_ctrl(contexts[side], EVP_CTRL_AEAD_GET_TAG, (int)bytes, to[side]);
    return agree("get the tag", result[OURS], result[THEIRS]) &&
           agree("the tag", memcmp(to[OURS], to[THEIRS], TAG), 0);
}

static int set_tag(const unsigned char *from, size_t bytes)
{
    int result[SIDES];
    for (int side = 0; side < SIDES; side++)
        result[side] =
            EVP_CIPHER_CTX_ctrl(contexts[side], EVP_CTRL_AEAD_SET_TAG, (int)bytes, (void *)from);
    return agree("set the tag", result[OURS], result[THEIRS]);
}

/* *done: what final() returned. */
static int final(int *done)
{
    int result[SIDES], n[SIDES] = {0, 0};
    unsigned char nothing[TAG];
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CipherFinal_ex(contexts[side], nothing, &n[side]);
    *done = result[OURS];
    return agree("final", result[OURS], result[THEIRS]) && agree("its length", n[OURS], n[THEIRS]);
}

/* What a context says of its message. */
static int parameters_agree(void)
{
    unsigned char got[SIDES][IV_MOST] = {{0}};
    int result[SIDES];
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_get_original_iv(contexts[side], got[side], IV_MOST);
    if (!agree("get the IV", result[OURS], result[THEIRS]) ||
        !agree("the IV", memcmp(got[OURS], got[THEIRS], IV_MOST), 0))
        return 0;
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_get_tag_length(contexts[side]);
    return agree("tag length", result[OURS], result[THEIRS]);
}

/* ---- Random messages ------------------------------------------------------------------------- */

static size_t random_length(void)
{
    switch (below(8)) {
    case 0:
        return below(40);
    case 1:
        return below(MIN_BYTES);
    case 2:
        return 16 * below(200);
    case 3:
        return below(LARGEST / 4);
    case 4:
        return 16 * below(LARGEST / 64);
    default:
        return MIN_BYTES + below(20000);
    }
}

/* A device does no message with more than 4096 bytes of them. */
static int random_aad(int is_on_device)
{
    size_t pieces = below(3);
    while (pieces-- != 0) {
        size_t bytes = below(30) == 0 ? below(is_on_device ? 2048 : AAD_MOST) : below(100);
        if (!add_aad(aad, bytes))
            return 0;
    }
    return 1;
}

static int random_text(enum place in, enum place out, int is_same)
{
    size_t at = 0, pieces = 1 + below(5);
    while (pieces-- != 0) {
        size_t bytes = random_length();
        if (bytes > LARGEST - at)
            bytes = LARGEST - at;
        if (!update(at, bytes, in, out, is_same))
            return 0;
        at += bytes;
    }
    return 1;
}

/* By a new key and IV, by an IV alone, or by parts. */
static int random_init(int encrypt, int is_first)
{
    size_t size = below(3);
    const EVP_CIPHER *const cipher[SIDES] = {ciphers[size][OURS], ciphers[size][THEIRS]};
    tap_random_bytes(&random_state, iv, sizeof iv);
    if (!is_first && below(2) == 0)
        return init(NULL, NULL, iv, encrypt);
    tap_random_bytes(&random_state, key, sizeof key);
    iv_bytes = below(2) == 0 ? 12 : 1 + below(IV_MOST);
    if (iv_bytes == 12 && below(2) == 0)
        return init(cipher, key, iv, encrypt);
    if (!init(cipher, NULL, NULL, encrypt) || !set_iv_length(iv_bytes))
        return 0;
    if (below(2) == 0)
        return init(NULL, key, iv, encrypt);
    return below(2) == 0 ? init(NULL, key, NULL, encrypt) && init(NULL, NULL, iv, encrypt)
                         : init(NULL, NULL, iv, encrypt) && init(NULL, key, NULL, encrypt);
}

/* A decryption fails with a tag of its own choice; so the right one is made by the default. */
static int random_message_agrees(int is_first)
{
    unsigned char tags[SIDES][TAG];
    enum place in = (enum place)below(PLACES), out = (enum place)below(PLACES);
    int encrypt = (int)below(2), is_same = (int)below(2), done;
    static const unsigned tag_sizes[] = {4, 8, 12, 13, 14, 15, 16, 16, 16};
    if (is_same)
        out = in;
    /* In this order: another cipher forgets where memory may be. */
    if (!random_init(encrypt, is_first) || !set_place(in, out))
        return 0;
    tap_random_bytes(&random_state, text, 2000);
    if (!random_aad(in < PINNED || out < PINNED) || !random_text(in, out, is_same) ||
        !parameters_agree())
        return 0;
    tap_random_bytes(&random_state, tag, TAG);
    if (!encrypt && below(10) != 0 && !set_tag(tag, tag_sizes[below(9)]))
        return 0;
    if (!final(&done) || !parameters_agree())
        return 0;
    return !encrypt || !done || get_tag(tag_sizes[below(9)], tags);
}

static int restart(void)
{
    for (int side = 0; side < SIDES; side++) {
        EVP_CIPHER_CTX_free(contexts[side]);
        contexts[side] = EVP_CIPHER_CTX_new();
    }
    /* The parameter needs a cipher. */
    for (int side = 0; side < SIDES; side++)
        if (EVP_CipherInit_ex2(contexts[side], ciphers[0][side], NULL, NULL, 1, NULL) != 1)
            return 0;
    return 1;
}

static void check_random(void)
{
    size_t messages = setting("GPUAES_TEST_CASES", sanitized() ? 100 : 500);
    int wrong = 0;
    for (size_t i = 0; i < messages && wrong < 3; i++) {
        int is_first = i % 5 == 0 && restart();
        if (!random_message_agrees(is_first)) {
            tap_diag("message %zu", i);
            wrong++;
            restart();
        }
    }
    tap_ok(wrong == 0, "random messages, with tags that are made or wrong");
}

/* ---- Round trips ----------------------------------------------------------------------------- */

/* Ours decrypts what the default provider encrypted, in one piece or in two, as it is or forged. */
static int round_trip(size_t size, size_t bytes, int is_forged, int is_in_pieces)
{
    struct sealed s = sealed_make(names[size], 0, bytes, tap_random_next(&random_state));
    size_t forged = below(bytes + TAG),
           first = is_in_pieces ? MIN_BYTES + below(bytes - MIN_BYTES) : bytes;
    if (is_forged)
        *(forged < bytes ? s.in + forged : s.tag + forged - bytes) ^= 1;
    EVP_CIPHER_CTX *c = sealed_open(&s, NULL);
    int right = c != NULL;
    for (size_t at = 0; right && at < bytes; at += at == 0 ? first : bytes - first)
        right =
            sealed_update(&s, c, places_out[PAGEABLE], at, at == 0 ? first : bytes - first, 0) ||
            is_forged;
    right = right && sealed_end(&s, c) == !is_forged;
    EVP_CIPHER_CTX_free(c);
    sealed_free(&s);
    return right;
}

static void check_round_trips(void)
{
    int wrong = 0, taken = 0;
    restart();
    for (int i = 0; i < 40; i++) {
        wrong += !round_trip(below(3), MIN_BYTES + 1 + below(40000), 0, i % 2);
        taken += !round_trip(below(3), MIN_BYTES + 1 + below(40000), 1, i % 2);
    }
    tap_ok(wrong == 0, "ours decrypts what the default provider encrypted");
    tap_ok(taken == 0, "and refuses it with any bit of text or tag changed");
}

/* ---- The counter ------------------------------------------------------------------------------
 */

/* Found by search: with the key 0, 1, 2, ... the counter begins so near its end. */
static void check_wrap(void)
{
    static const struct {
        uint64_t iv;
        unsigned blocks;
    } rows[] = {{1263314, 0x4c6}, {1749139, 0x60e}, {2470963, 0x925}};
    for (size_t size = 0; size < 3; size++) {
        const EVP_CIPHER *const cipher[SIDES] = {ciphers[size][OURS], ciphers[size][THEIRS]};
        unsigned char tags[SIDES][TAG];
        int ok = restart(), done;
        memset(iv, 0, sizeof iv);
        for (int i = 0; i < 8; i++)
            iv[i] = (unsigned char)(rows[size].iv >> 8 * i);
        for (int i = 0; i < 32; i++)
            key[i] = (unsigned char)i;
        size_t to_wrap = (size_t)rows[size].blocks * 16, whole = to_wrap + 20000;
        const size_t lengths[][2] = {
            {whole, 0}, {to_wrap, 20000}, {to_wrap - 5, 20005}, {to_wrap + 3, 5000}};
        for (size_t i = 0; i < 8; i++) {
            int encrypt = i % 2 == 0;
            ok = ok && init(cipher, NULL, NULL, encrypt) && set_iv_length(16) &&
                 init(NULL, key, iv, encrypt) &&
                 update(0, lengths[i / 2][0], PAGEABLE, PAGEABLE, 0) &&
                 (lengths[i / 2][1] == 0 ||
                  update(lengths[i / 2][0], lengths[i / 2][1], PINNED, PINNED, 1)) &&
                 (encrypt || set_tag(tag, TAG)) && final(&done) &&
                 (!encrypt || (done && get_tag(TAG, tags)));
        }
        tap_ok(ok, "%s: the wrap of the 32-bit counter", names[size]);
    }
}

/* ---- Additional data ------------------------------------------------------------------ */

static int begin(size_t size, int encrypt)
{
    const EVP_CIPHER *const cipher[SIDES] = {ciphers[size][OURS], ciphers[size][THEIRS]};
    return restart() && init(cipher, key, iv, encrypt);
}

/* A message with so much additional data; returns 1 if a GPU did it, -1 if the sides differ. */
static int gpu_does_with(size_t aad_bytes)
{
    unsigned char tags[SIDES][TAG];
    int done;
    uint64_t before = figure("gpu-bytes");
    int ok = begin(2, 1) && add_aad(aad, 100) && add_aad(aad + 100, aad_bytes - 100) &&
             update(0, 5000, PAGEABLE, PAGEABLE, 0) && final(&done) && done && get_tag(TAG, tags);
    return ok ? figure("gpu-bytes") != before : -1;
}

static void check_long_aad(void)
{
    int n;
    if (stand_in()) {
        tap_skip("the default provider stands in: it has no figures");
        return;
    }
    tap_ok(gpu_does_with(4096) == 1, "a message with 4096 bytes of additional data is a GPU's");
    tap_ok(gpu_does_with(4097) == 0, "one with 4097 is the CPU's");
    /* begin() makes new contexts. */
    const int begun = begin(2, 1);
    EVP_CIPHER_CTX *c = contexts[OURS];
    tap_ok(begun && set_uint(c, "device-memory", 1) && EVP_EncryptUpdate(c, NULL, &n, aad, 4097) &&
               !EVP_EncryptUpdate(c, places_out[DEVICE], &n, places_in[DEVICE], 64) &&
               reason_is("device memory cannot be used here"),
           "and is refused in device memory");
    tap_ok(EVP_EncryptUpdate(c, places_out[PINNED], &n, places_in[PINNED], 5000),
           "but not in memory of the CPU");
}

/* ---- Messages that are given up ------------------------------------------------------- */

/* Makes text[] ciphertext of AES-256, whose tag is `tag`. */
static int encrypt_text(int bytes)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n, ok = EVP_EncryptInit_ex2(c, ciphers[2][THEIRS], key, iv, NULL) &&
                EVP_EncryptUpdate(c, text, &n, text, bytes) &&
                EVP_EncryptFinal_ex(c, text + bytes, &n) &&
                EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG, tag);
    EVP_CIPHER_CTX_free(c);
    return ok;
}

/* Without input as well. */
static int call_without_output(unsigned bytes)
{
    int result[SIDES];
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_Cipher(contexts[side], NULL, NULL, bytes);
    return agree("a call without output", result[OURS], result[THEIRS]);
}

static void check_given_up(void)
{
    int done = 0;
    tap_ok(begin(2, 0) && update(0, 5000, PAGEABLE, PAGEABLE, 0) && encrypt_text(16) &&
               init(NULL, NULL, iv, 0) && update(0, 16, PAGEABLE, PAGEABLE, 0) && final(&done) &&
               !done && set_tag(tag, TAG) && final(&done) && done,
           "after one without a tag, the next one still waits for its own");
    tap_ok(encrypt_text(5000) && begin(2, 0) && call_without_output(5) && set_tag(tag, TAG) &&
               update(0, 5000, PAGEABLE, PAGEABLE, 1) && final(&done) && done,
           "an end that comes too early is no additional data");
}

/* What the manual page says of messages that are over, where the default provider goes on. */
static int is_over(int encrypt)
{
    unsigned char nothing[TAG];
    int n;
    EVP_CIPHER_CTX *c = contexts[OURS];
    return EVP_CipherInit_ex2(c, NULL, NULL, NULL, encrypt, NULL) &&
           !EVP_CipherUpdate(c, places_out[PAGEABLE], &n, text, 100) &&
           !EVP_CipherFinal_ex(c, nothing, &n);
}

static void check_over(void)
{
    int done = 0;
    if (stand_in()) {
        tap_skip("the default provider stands in: it goes on");
        return;
    }
    tap_ok(begin(2, 0) && update(0, 5000, PAGEABLE, PAGEABLE, 0) && set_tag(aad, TAG) &&
               final(&done) && !done && is_over(0) && is_over(1) && init(NULL, NULL, iv, 1) &&
               update(0, 5000, PAGEABLE, PAGEABLE, 0) && final(&done) && done,
           "after a wrong tag updates and ends fail, until there is an IV");
    tap_ok(begin(2, 1) && update(0, 5000, PAGEABLE, PAGEABLE, 0) && init(NULL, aad, NULL, 1) &&
               is_over(1) && is_over(0) && init(NULL, NULL, iv, 1) &&
               update(0, 5000, PAGEABLE, PAGEABLE, 0) && final(&done) && done,
           "and after a key without an IV");
}

/* ---- Parameters that are refused, in part ---------------------------------------------- */

static int set_both(const OSSL_PARAM params[])
{
    int result[SIDES];
    for (int side = 0; side < SIDES; side++)
        result[side] = EVP_CIPHER_CTX_set_params(contexts[side], params);
    return agree("parameters", result[OURS], result[THEIRS]);
}

/* Set in mid-message, whose further text and end are the default provider's. */
static void check_in_mid_message(const char *what, int encrypt, const OSSL_PARAM params[])
{
    unsigned char tags[SIDES][TAG];
    int done = 0;
    tap_ok(begin(2, encrypt) && add_aad(aad, 5) && update(0, 5000, PAGEABLE, PAGEABLE, 0) &&
               set_both(params) && update(5000, 2000, PAGEABLE, PAGEABLE, 0) && final(&done) &&
               get_tag(TAG, tags) && init(NULL, key, iv, encrypt) &&
               update(0, 3000, PAGEABLE, PAGEABLE, 0) && final(&done),
           "%s in mid-message, %s", what, encrypt ? "encryption" : "decryption");
}

/* Where it is taken, the rest of the IV is random, and the text is not that of the message. */
static void check_fixed_iv_in_mid_message(const OSSL_PARAM params[])
{
    enum { MORE = 32 };
    unsigned char got[SIDES][MORE], plain[MORE] = {0};
    int result[SIDES], n;
    int ok = begin(2, 1) && update(0, 5000, PAGEABLE, PAGEABLE, 0);
    EVP_CIPHER_CTX *reference = EVP_CIPHER_CTX_new();
    ok = ok && EVP_EncryptInit_ex2(reference, ciphers[2][THEIRS], key, iv, NULL) &&
         EVP_EncryptUpdate(reference, seen[0], &n, text, 5000) &&
         EVP_EncryptUpdate(reference, plain, &n, plain, MORE) && set_both(params);
    for (int side = 0; side < SIDES; side++) {
        memset(got[side], 0, MORE);
        result[side] = EVP_EncryptUpdate(contexts[side], got[side], &n, got[side], MORE);
    }
    ok = ok && agree("text", result[OURS], result[THEIRS]) &&
         agree("whether it goes on", memcmp(got[OURS], plain, MORE) == 0,
               memcmp(got[THEIRS], plain, MORE) == 0);
    tap_ok(ok, "a fixed part of the IV, and a tag, in mid-message, encryption");
    EVP_CIPHER_CTX_free(reference);
}

#define OCTETS(name, bytes, size) OSSL_PARAM_construct_octet_string(name, bytes, size)
#define SIZE(name, value) OSSL_PARAM_construct_size_t(name, value)

static void check_refused_parameters(void)
{
    static unsigned char record[13] = {0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3, 0, 80}, short_record[13];
    unsigned char fixed[4] = "abc", zeros[TAG] = {0}, *text_value = fixed;
    size_t twelve = 12, sixteen = 16, zero = 0;
    const struct {
        const char *what;
        OSSL_PARAM params[3];
    } rows[] = {
        {"TLS data", {OCTETS("tlsaad", record, 13)}},
        {"TLS data of a record that is too short", {OCTETS("tlsaad", short_record, 13)}},
        {"TLS data that are too short", {OCTETS("tlsaad", record, 12)}},
        {"TLS data after a wrong tag length",
         {OCTETS("tag", zeros, 0), OCTETS("tlsaad", record, 13)}},
        {"TLS data, and a tag", {OCTETS("tlsaad", record, 13), OCTETS("tag", zeros, TAG)}},
        {"TLS data, and a key length", {OCTETS("tlsaad", record, 13), SIZE("keylen", &zero)}},
        {"a fixed part that is too short", {OCTETS("tlsivfixed", fixed, 3)}},
        {"an inverse IV without a fixed part", {OCTETS("tlsivinv", record, 8)}},
        {"the same length of the IV", {SIZE("ivlen", &twelve)}},
        {"another length of the IV", {SIZE("ivlen", &sixteen)}},
        {"another length, and the same again", {SIZE("ivlen", &sixteen), SIZE("ivlen", &twelve)}},
        {"another length, and a wrong tag", {SIZE("ivlen", &sixteen), OCTETS("tag", zeros, 0)}},
        {"a length of 0", {SIZE("ivlen", &zero)}},
        {"a length that is no number", {OCTETS("ivlen", text_value, 3)}},
    };
    const OSSL_PARAM fixed_iv[] = {OCTETS("tlsivfixed", fixed, 4), OCTETS("tag", zeros, TAG),
                                   OSSL_PARAM_construct_end()};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++)
        check_in_mid_message(rows[i / 2].what, i % 2 != 0, rows[i / 2].params);
    check_in_mid_message("a fixed part of the IV, and a tag", 0, fixed_iv);
    check_fixed_iv_in_mid_message(fixed_iv);
}

/* ---- IVs that the context counts, in mid-message ---------------------------------------- */

static int control(int what, int n, const void *value)
{
    unsigned char bytes[SIDES][IV_MOST] = {{0}};
    int result[SIDES];
    for (int side = 0; side < SIDES; side++) {
        if (value != NULL)
            memcpy(bytes[side], value, n < 0 ? 12 : (size_t)n);
        result[side] = EVP_CIPHER_CTX_ctrl(contexts[side], what, n, bytes[side]);
    }
    return agree("control", result[OURS], result[THEIRS]) &&
           agree("what it writes", memcmp(bytes[OURS], bytes[THEIRS], sizeof bytes[OURS]), 0);
}

/* A message with text, in a context that counts IVs from the one that it was given on. */
static int begin_counted(int encrypt)
{
    static const unsigned char whole[12] = "fixed part!";
    const EVP_CIPHER *const cipher[SIDES] = {ciphers[2][OURS], ciphers[2][THEIRS]};
    return restart() && init(cipher, key, NULL, encrypt) &&
           control(EVP_CTRL_AEAD_SET_IV_FIXED, -1, whole) && init(NULL, NULL, iv, encrypt) &&
           update(0, 5000, PAGEABLE, PAGEABLE, 0);
}

/* The rest of it, and another message. */
static int goes_on(int encrypt)
{
    unsigned char tags[SIDES][TAG];
    int done = 0;
    return update(5000, 2000, PAGEABLE, PAGEABLE, 0) && set_tag(tag, TAG) && final(&done) &&
           get_tag(TAG, tags) && init(NULL, NULL, iv, encrypt) &&
           update(0, 3000, PAGEABLE, PAGEABLE, 0) && final(&done);
}

/* A decryption tells no tag. */
static int get_counted_and_tag(void)
{
    unsigned char made[SIDES][8], tags[SIDES][TAG];
    int result[SIDES];
    for (int side = 0; side < SIDES; side++) {
        OSSL_PARAM params[] = {OCTETS("tlsivgen", made[side], 8), OCTETS("tag", tags[side], TAG),
                               OSSL_PARAM_construct_end()};
        result[side] = EVP_CIPHER_CTX_get_params(contexts[side], params);
    }
    return agree("parameters", result[OURS], result[THEIRS]);
}

static void check_counted_iv_in_mid_message(void)
{
    unsigned char inverse[8] = "inverse", zeros[TAG] = {0};
    const OSSL_PARAM refused[] = {OCTETS("tag", zeros, 0), OCTETS("tlsivinv", inverse, 8),
                                  OSSL_PARAM_construct_end()};
    static unsigned char record[13] = {0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3, 0, 80};
    size_t sixteen = 16, zero = 0;
    /* OpenSSL 3.2 to 3.5 sets them in this order, others in one of their own. */
    const struct {
        const char *what;
        OSSL_PARAM params[3];
    } rows[] = {
        {"a fixed part", {OCTETS("tlsivinv", inverse, 8), OCTETS("tlsivfixed", zeros, 4)}},
        {"TLS data", {OCTETS("tlsivinv", inverse, 8), OCTETS("tlsaad", record, 13)}},
        {"TLS data that are too short",
         {OCTETS("tlsivinv", inverse, 8), OCTETS("tlsaad", record, 12)}},
        {"another length", {OCTETS("tlsivinv", inverse, 8), SIZE("ivlen", &sixteen)}},
        {"a length of 0", {OCTETS("tlsivinv", inverse, 8), SIZE("ivlen", &zero)}},
        {"a wrong tag", {OCTETS("tlsivinv", inverse, 8), OCTETS("tag", zeros, 0)}},
    };
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        const char *way = encrypt ? "encryption" : "decryption";
        tap_ok(begin_counted(encrypt) && control(EVP_CTRL_GCM_SET_IV_INV, 8, inverse) &&
                   goes_on(encrypt),
               "an inverse IV of a context that counts IVs in mid-message, %s", way);
        tap_ok(begin_counted(encrypt) && set_both(refused) && goes_on(encrypt),
               "one that is not reached, behind a wrong tag, %s", way);
        tap_ok(begin_counted(encrypt) && control(EVP_CTRL_GCM_IV_GEN, 8, NULL) && goes_on(encrypt),
               "an IV that is counted in mid-message, %s", way);
        tap_ok(begin_counted(encrypt) && get_counted_and_tag() && goes_on(encrypt),
               "an IV that is counted, and a tag that is asked for, %s", way);
        /* An encryption makes the rest of an IV with a fixed part. */
        for (size_t i = encrypt ? 1 : 0; i < sizeof rows / sizeof rows[0]; i++)
            tap_ok(begin_counted(encrypt) && set_both(rows[i].params) && goes_on(encrypt),
                   "an inverse IV, and %s, %s", rows[i].what, way);
    }
}

/* An end without a tag takes what was told of a TLS record. */
static void check_end_without_tag(void)
{
    static unsigned char record[13] = {0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3, 0, 80};
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_string("tlsaad", record, 13),
                                 OSSL_PARAM_construct_end()};
    int done = 0;
    tap_ok(begin(2, 0) && update(0, 5000, PAGEABLE, PAGEABLE, 0) && set_both(params) &&
               final(&done) && !done && init(NULL, key, iv, 0) &&
               update(0, 16, PAGEABLE, PAGEABLE, 0) && update(16, 3000, PAGEABLE, PAGEABLE, 0),
           "a decryption without a tag that ends forgets TLS data");
    tap_ok(begin(2, 0) && update(0, 5000, PAGEABLE, PAGEABLE, 0) && set_both(params) &&
               call_without_output(0) && init(NULL, key, iv, 0) &&
               update(0, 16, PAGEABLE, PAGEABLE, 0),
           "and one that ends by a call without input");
}

/* What is behind a shorter tag is the default provider's, too. */
static void check_behind_short_tag(void)
{
    unsigned char tags[SIDES][TAG] = {{0}};
    int done = 0, ok = encrypt_text(5000) && begin(2, 0) && set_tag(tag, 4) &&
                       update(0, 5000, PAGEABLE, PAGEABLE, 0) && final(&done) && done &&
                       init(NULL, NULL, NULL, 1);
    for (int side = 0; side < SIDES; side++)
        (void)EVP_CIPHER_CTX_ctrl(contexts[side], EVP_CTRL_AEAD_GET_TAG, TAG, tags[side]);
    tap_ok(ok && !memcmp(tags[OURS], tags[THEIRS], TAG), "what is behind a short tag");
    for (size_t bytes = 1; bytes <= TAG; bytes += 3)
        tap_ok(begin(2, 0) && set_tag(aad, TAG) && set_tag(aad + TAG, bytes) &&
                   update(0, 5000, PAGEABLE, PAGEABLE, 0) && parameters_agree() &&
                   init(NULL, NULL, NULL, 1) && get_tag(TAG, tags) && init(NULL, NULL, NULL, 0) &&
                   final(&done),
               "what is behind a tag of %zu bytes, of a longer one, in mid-message", bytes);
}

/* ---- Messages that are given up, on a stream --------------------------------------------- */

/* What is queued of it is not the next message's. */
static void check_given_up_on_stream(void)
{
    unsigned char tags[SIDES][TAG];
    int done = 0;
    if (stand_in()) {
        tap_skip("the default provider stands in: it knows no streams");
        return;
    }
    tap_ok(begin(2, 1) && set_stream(contexts[OURS], stream) &&
               update(0, 4096, DEVICE, DEVICE, 0) && set_iv_length(16) && init(NULL, NULL, iv, 1) &&
               update(0, 4096, DEVICE, DEVICE, 1) && final(&done) && done && get_tag(TAG, tags),
           "one that another length of the IV ended, on a stream");
    tap_ok(begin(2, 1) && set_stream(contexts[OURS], stream) &&
               update(0, 4096, DEVICE, DEVICE, 0) && init(NULL, NULL, iv, 1) &&
               update(0, 5000, DEVICE, DEVICE, 1) && final(&done) && done && get_tag(TAG, tags),
           "one that another IV ended, on a stream");
    unsigned bad = 7;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint("device-memory", &bad),
                           OSSL_PARAM_construct_end()};
    tap_ok(begin(2, 1) && set_uint(contexts[OURS], "device-memory", 1) &&
               update(0, 4096, DEVICE, DEVICE, 0) &&
               !EVP_CipherInit_ex2(contexts[OURS], NULL, NULL, iv, 1, params) &&
               update(4096, 160, DEVICE, DEVICE, 0) && final(&done) && done && get_tag(TAG, tags) &&
               init(NULL, NULL, iv, 1) && update(0, 64, DEVICE, DEVICE, 0) && final(&done) &&
               get_tag(TAG, tags),
           "an initialisation that is refused for a parameter changes nothing");
}

/* ---- Made IVs, and TLS --------------------------------------------------------------- */

/* By ours, which has a key and an IV, from text[] to places_out[PAGEABLE]. */
static int seals(EVP_CIPHER_CTX *c, int aad_bytes, int bytes)
{
    unsigned char nothing[TAG];
    int n;
    return (aad_bytes == 0 || EVP_EncryptUpdate(c, NULL, &n, aad, aad_bytes)) &&
           EVP_EncryptUpdate(c, places_out[PAGEABLE], &n, text, bytes) &&
           EVP_EncryptFinal_ex(c, nothing, &n) &&
           EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG, tag);
}

/* The default provider decrypts it. */
static int opens(int aad_bytes, int bytes)
{
    EVP_CIPHER_CTX *c = contexts[THEIRS];
    unsigned char nothing[TAG];
    int n;
    return EVP_DecryptInit_ex2(c, ciphers[2][THEIRS], key, iv, NULL) &&
           (aad_bytes == 0 || EVP_DecryptUpdate(c, NULL, &n, aad, aad_bytes)) &&
           EVP_DecryptUpdate(c, seen[0], &n, places_out[PAGEABLE], bytes) &&
           EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, TAG, tag) &&
           EVP_DecryptFinal_ex(c, nothing, &n) && memcmp(seen[0], text, (size_t)bytes) == 0;
}

static void check_made_ivs(void)
{
    unsigned char fixed[4] = "abc";
    for (int large = 0; large < 2; large++) {
        int bytes = large ? 5000 : 50;
        EVP_CIPHER_CTX *c = (restart(), contexts[OURS]);
        tap_ok(EVP_EncryptInit_ex2(c, ciphers[2][OURS], key, NULL, NULL) && seals(c, 9, bytes) &&
                   EVP_CIPHER_CTX_get_original_iv(c, iv, 12) && opens(9, bytes),
               "an IV that the cipher makes, %d bytes of text", bytes);
        c = (restart(), contexts[OURS]);
        int ok = EVP_EncryptInit_ex2(c, ciphers[2][OURS], key, NULL, NULL) &&
                 EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IV_FIXED, 4, fixed) > 0;
        memcpy(iv, fixed, 4);
        for (int i = 0; i < 3; i++)
            ok = ok && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_IV_GEN, 8, iv + 4) > 0 &&
                 seals(c, 0, bytes) && opens(0, bytes);
        tap_ok(ok, "IVs with a fixed part, %d bytes of text", bytes);
    }
}

/* What the default provider refused for want of an IV is in no tag, once there is one. */
static void check_refused_additional_data(void)
{
    int n;
    EVP_CIPHER_CTX *c = (restart(), contexts[OURS]);
    tap_ok(EVP_DecryptInit_ex2(c, ciphers[2][OURS], key, NULL, NULL) &&
               !EVP_DecryptUpdate(c, NULL, &n, aad, 9) &&
               EVP_EncryptInit_ex2(c, NULL, NULL, NULL, NULL) && seals(c, 0, 5000) &&
               EVP_CIPHER_CTX_get_original_iv(c, iv, 12) && opens(0, 5000),
           "additional data that a decryption without an IV refused, and an encryption");
    c = (restart(), contexts[OURS]);
    tap_ok(EVP_EncryptInit_ex2(c, ciphers[2][OURS], key, NULL, NULL) &&
               EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, 8, NULL) &&
               !EVP_EncryptUpdate(c, NULL, &n, aad, 20) &&
               EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IVLEN, 12, NULL) && seals(c, 9, 5000) &&
               EVP_CIPHER_CTX_get_original_iv(c, iv, 12) && opens(9, 5000),
           "and those before an IV that is too short to be made");
}

/* The default provider must not touch device memory. */
static void check_counted_iv_in_device_memory(void)
{
    unsigned char fixed[4] = "abc", made[8];
    int n;
    EVP_CIPHER_CTX *c = (restart(), contexts[OURS]);
    if (stand_in()) {
        tap_skip("the default provider stands in");
        return;
    }
    tap_ok(EVP_EncryptInit_ex2(c, ciphers[2][OURS], key, NULL, NULL) &&
               EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_IV_FIXED, 4, fixed) > 0 &&
               set_uint(c, "device-memory", 1) &&
               EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_IV_GEN, 8, made) > 0 &&
               !EVP_EncryptUpdate(c, places_out[DEVICE], &n, places_in[DEVICE], 64) &&
               reason_is("device memory cannot be used here") &&
               EVP_EncryptUpdate(c, places_out[PAGEABLE], &n, places_in[PINNED], 64),
           "a message with a counted IV is refused in device memory, and goes on in the CPU's");
}

/* A TLS 1.2 record by each side, and back by the other. */
static void check_tls(void)
{
    unsigned char header[13] = {0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3, 0, 0}, fixed[12] = "fixed part!";
    enum { BYTES = 2000, RECORD = 8 + BYTES + TAG };
    int ok = 1;
    for (int from = 0; from < SIDES; from++) {
        unsigned char *record = places_in[PAGEABLE];
        restart();
        EVP_CIPHER_CTX *e = contexts[from], *d = contexts[!from];
        header[11] = (8 + BYTES) >> 8;
        header[12] = (8 + BYTES) & 255;
        ok = ok && EVP_EncryptInit_ex2(e, ciphers[2][from], key, NULL, NULL) &&
             EVP_CIPHER_CTX_ctrl(e, EVP_CTRL_AEAD_SET_IV_FIXED, -1, fixed) > 0 &&
             EVP_CIPHER_CTX_ctrl(e, EVP_CTRL_AEAD_TLS1_AAD, sizeof header, header) == TAG;
        memcpy(record + 8, text, BYTES);
        ok = ok && EVP_Cipher(e, record, record, RECORD) == RECORD;
        header[11] = RECORD >> 8;
        header[12] = RECORD & 255;
        ok = ok && EVP_DecryptInit_ex2(d, ciphers[2][!from], key, NULL, NULL) &&
             EVP_CIPHER_CTX_ctrl(d, EVP_CTRL_AEAD_SET_IV_FIXED, -1, fixed) > 0 &&
             EVP_CIPHER_CTX_ctrl(d, EVP_CTRL_AEAD_TLS1_AAD, sizeof header, header) == TAG &&
             EVP_Cipher(d, record, record, RECORD) > 0 && memcmp(record + 8, text, BYTES) == 0;
    }
    tap_ok(ok, "TLS records");
}

/* Told before an IV, which begins a record as it is. */
static void check_tls_before_iv(void)
{
    unsigned char header[13] = {0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3, 0, 0}, fixed[12] = "fixed part!";
    enum { BYTES = 2000, RECORD = 8 + BYTES + TAG };
    const EVP_CIPHER *const cipher[SIDES] = {ciphers[2][OURS], ciphers[2][THEIRS]};
    unsigned char tags[SIDES][TAG];
    int result[SIDES], done = 0;
    header[11] = (8 + BYTES) >> 8;
    header[12] = (8 + BYTES) & 255;
    for (int ivs = 1; ivs < 3; ivs++) {
        int ok = restart() && init(cipher, key, NULL, 1) &&
                 control(EVP_CTRL_AEAD_SET_IV_FIXED, -1, fixed) &&
                 control(EVP_CTRL_AEAD_TLS1_AAD, sizeof header, header);
        for (int i = 0; i < ivs; i++)
            ok = ok && init(NULL, i == 0 ? NULL : key, iv, 1);
        for (int side = 0; side < SIDES; side++) {
            memcpy(seen[side], text, RECORD);
            result[side] = EVP_Cipher(contexts[side], seen[side], seen[side], RECORD);
        }
        tap_ok(ok && result[OURS] == RECORD && agree("record", result[OURS], result[THEIRS]) &&
                   memcmp(seen[OURS], seen[THEIRS], RECORD) == 0 && init(NULL, NULL, iv, 1) &&
                   update(0, 5000, PAGEABLE, PAGEABLE, 0) && final(&done) && done &&
                   get_tag(TAG, tags),
               "a TLS record, told before IVs: %d", ivs);
    }
}

/* ---- CUDA streams ------------------------------------------------------------------- */

static int tags_agree(EVP_CIPHER_CTX *c, const unsigned char expected[TAG])
{
    unsigned char got[TAG];
    int n;
    return EVP_EncryptFinal_ex(c, got, &n) &&
           EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG, got) &&
           memcmp(got, expected, TAG) == 0;
}

static int encrypt_in_place(EVP_CIPHER_CTX *c, unsigned char *at, int bytes)
{
    int n = -1;
    return EVP_EncryptUpdate(c, at, &n, at, bytes) && n == bytes;
}

/* Updates are queued, and the tag is made of all of them. */
static void check_stream(void)
{
    enum { PIECE = 4096, PIECES = 6, ALL = PIECE * PIECES };
    unsigned char *on_device = places_in[DEVICE], expected[TAG];
    EVP_CIPHER_CTX *c = (restart(), contexts[OURS]), *r = contexts[THEIRS];
    drv_stream other;
    int n, ok;
    if (stand_in()) {
        tap_skip("the default provider stands in: it knows no streams");
        return;
    }
    application.stream_create(&other, DRV_STREAM_NON_BLOCKING);
    ok = EVP_EncryptInit_ex2(r, ciphers[2][THEIRS], key, iv, NULL) &&
         EVP_EncryptUpdate(r, seen[THEIRS], &n, text, ALL) &&
         EVP_EncryptFinal_ex(r, expected, &n) &&
         EVP_CIPHER_CTX_ctrl(r, EVP_CTRL_AEAD_GET_TAG, TAG, expected) &&
         EVP_EncryptInit_ex2(c, ciphers[2][OURS], key, iv, NULL) && set_stream(c, stream) &&
         application_write(DEVICE, on_device, text, ALL);
    for (int at = 0; at < ALL; at += PIECE)
        ok = ok && encrypt_in_place(c, on_device + at, PIECE);
    tap_ok(ok && tags_agree(c, expected) && application_read(seen[OURS], DEVICE, on_device, ALL) &&
               !memcmp(seen[OURS], seen[THEIRS], ALL),
           "a message that is queued on a stream");
    ok = EVP_EncryptInit_ex2(c, NULL, NULL, iv, NULL) && encrypt_in_place(c, on_device, PIECE) &&
         EVP_EncryptInit_ex2(c, NULL, NULL, iv, NULL) && set_stream(c, other) &&
         application_write(DEVICE, on_device, text, ALL) && encrypt_in_place(c, on_device, PIECE) &&
         set_stream(c, stream) && encrypt_in_place(c, on_device + PIECE, ALL - PIECE);
    tap_ok(ok && tags_agree(c, expected), "one on two streams, after one given up");
    tap_ok(EVP_EncryptInit_ex2(c, NULL, NULL, iv, NULL) &&
               application_write(DEVICE, on_device, text, ALL) &&
               application_begin_capture(stream) && !encrypt_in_place(c, on_device, PIECE) &&
               reason_is("a CUDA graph is being captured") && application_end_capture(stream) == 0,
           "a captured stream is refused, and the capture goes on");
    tap_ok(encrypt_in_place(c, on_device, ALL) && tags_agree(c, expected),
           "and the call is repeated after it");
    tap_ok(!set_uint(c, "device-memory", 2) && reason_is("bad parameter") &&
               !set_stream(c, (drv_stream)2) && reason_is("bad parameter"),
           "values that cannot be set");
    restart();
    application.stream_destroy(other);
}

/* ---- Main ---------------------------------------------------------------------------- */

static void set_up(void)
{
    setenv("GPUAES_MIN_BYTES", "1000", 1);
    test_providers = providers_load();
    if (!application_begin(0)) {
        puts("Bail out! no CUDA");
        exit(EXIT_FAILURE);
    }
    application.stream_create(&stream, DRV_STREAM_NON_BLOCKING);
    for (size_t size = 0; size < 3; size++) {
        ciphers[size][OURS] = fetch_ours(&test_providers, names[size]);
        ciphers[size][THEIRS] = fetch_reference(&test_providers, names[size]);
    }
    for (enum place place = 0; place < PLACES; place++) {
        places_in[place] = application_alloc(place, ROOM);
        places_out[place] = application_alloc(place, ROOM);
    }
    tap_random_bytes(&random_state, text, sizeof text);
    tap_random_bytes(&random_state, aad, sizeof aad);
}

int main(void)
{
    tap_random_seed(&random_state);
    set_up();
    uint64_t before = figure("gpu-bytes");
    check_random();
    check_round_trips();
    check_wrap();
    check_long_aad();
    check_given_up();
    check_over();
    check_refused_parameters();
    check_counted_iv_in_mid_message();
    check_end_without_tag();
    check_behind_short_tag();
    check_given_up_on_stream();
    check_made_ivs();
    check_refused_additional_data();
    check_counted_iv_in_device_memory();
    check_tls();
    check_tls_before_iv();
    check_stream();
    if (stand_in())
        tap_skip("the default provider stands in: it has no figures");
    else
        tap_ok(figure("gpu-bytes") - before > 1000000, "the device did its part");
    for (enum place place = 0; place < PLACES; place++) {
        application_free(place, places_in[place]);
        application_free(place, places_out[place]);
    }
    for (size_t size = 0; size < 3; size++)
        for (int side = 0; side < SIDES; side++)
            EVP_CIPHER_free(ciphers[size][side]);
    for (int side = 0; side < SIDES; side++)
        EVP_CIPHER_CTX_free(contexts[side]);
    application.stream_destroy(stream);
    providers_unload(&test_providers);
    return tap_done();
}
