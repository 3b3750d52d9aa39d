/*
 * Any sequence of calls on AES-GCM contexts, ours and the default provider's: after each call
 * the result, the bytes written and what lies around them, the tag and the parameters are the same.
 * Every whole block goes to the (emulated) GPU, or a kilobyte is the least for it, as the input's
 * first byte says. A third context, of the default provider, encrypts what the two decrypt, and so
 * knows the tag that they must accept.
 *
 * Random bytes are always the same, since the cipher makes IVs of them where none was given. Errors
 * are not compared: ours has words of its own for some.
 *
 * Left out is what has no defined result, or another one of ours: provider-gpuaes(7). Those are
 * output that overlaps input; a new key in mid-message without a new IV; what comes after a tag
 * that was refused; and the tag while a message is under way, or once one was given up.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/core_names.h>
#include <openssl/rand.h>

#include "test/fuzz/fuzz.h"

enum { OURS, REFERENCE, SIDES, ENCRYPTING = SIDES, CONTEXTS };
enum { ALL_ON_GPU, FROM_A_KILOBYTE, INSTANCES };
enum { SIZES = 3, LIVE = 3, TAG = 16, EDGE = 64, MOST_BYTES = 80 << 10, MOST_IV = 128 };

static const char *const names[SIZES] = {"AES-128-GCM", "AES-192-GCM", "AES-256-GCM"};
static OSSL_LIB_CTX *libctx[INSTANCES];
static EVP_CIPHER *ciphers[INSTANCES][SIZES][SIDES];
static unsigned char source[MOST_BYTES + 512];
static _Alignas(64) unsigned char in[SIDES][MOST_BYTES + 2 * EDGE],
    out[SIDES][MOST_BYTES + 2 * EDGE];

struct trio {
    EVP_CIPHER_CTX *of[CONTEXTS];
    int cipher; /* the last that was asked for, or -1 */
    int tls, device_memory;
    int begun;      /* something was given since the IV */
    int under_way;  /* text was given, and the message has not ended */
    int has_tag;    /* as a decryption expects one */
    int is_over;    /* it was refused */
    int tag_hidden; /* a message was given up, and none has ended since */
};

struct run {
    struct input in;
    int instance;
    unsigned trios;
    struct trio trio[LIVE];
};

static void must(int same, const char *what, int ours, int reference)
{
    if (!same)
        found("%s: %d of ours, %d of the default's", what, ours, reference);
}

static void same_result(const char *what, const int result[SIDES])
{
    ERR_clear_error();
    must(result[OURS] == result[REFERENCE], what, result[OURS], result[REFERENCE]);
}

/* EVP itself does not look. */
static int has_cipher(const struct trio *x)
{
    return x->cipher >= 0;
}

static int takes_data(const struct trio *x)
{
    return has_cipher(x) && !x->is_over;
}

/* ---- Text ----------------------------------------------------------------------------- */

static size_t take_length(struct input *from)
{
    unsigned n = take_byte(from);
    if (n < 128)
        return n;
    if (n < 192)
        return (n - 127) * (size_t)16;
    if (n < 250)
        return take_number(from, 2) % 5000;
    return take_number(from, 3) % MOST_BYTES;
}

/* The third one gets what came out. */
static void feed_encrypting(const struct trio *x, const unsigned char *text, size_t bytes)
{
    static unsigned char nowhere[MOST_BYTES];
    int n;
    (void)EVP_EncryptUpdate(x->of[ENCRYPTING], nowhere, &n, text, (int)bytes);
    ERR_clear_error();
}

static void give_text(struct run *r, struct trio *x, int oneshot)
{
    size_t bytes = take_length(&r->in);
    unsigned layout = take_byte(&r->in), from = take_byte(&r->in);
    unsigned in_at = EDGE + layout / 2 % 8, out_at = EDGE + layout / 16;
    int is_out_of_place = layout % 2 == 0, result[SIDES], n[SIDES] = {-1, -1};

    if (!takes_data(x))
        return;
    for (int i = 0; i < SIDES; i++) {
        memset(in[i], 0x5a, bytes + 2 * EDGE);
        memset(out[i], 0xa5, bytes + 2 * EDGE);
        memcpy(in[i] + in_at, source + from, bytes);
        unsigned char *to = is_out_of_place ? out[i] + out_at : in[i] + in_at;
        result[i] = oneshot ? EVP_Cipher(x->of[i], to, in[i] + in_at, (unsigned)bytes)
                            : EVP_CipherUpdate(x->of[i], to, &n[i], in[i] + in_at, (int)bytes);
    }
    x->begun = 1;
    x->under_way |= bytes != 0;
    same_result(oneshot ? "a one-shot call" : "an update", result);
    if (result[REFERENCE] <= 0)
        return;
    must(n[OURS] == n[REFERENCE], "the length", n[OURS], n[REFERENCE]);
    if (memcmp(in[OURS], in[REFERENCE], bytes + 2 * EDGE) != 0 ||
        memcmp(out[OURS], out[REFERENCE], bytes + 2 * EDGE) != 0)
        found("%zu bytes, %s: the text differs", bytes,
              is_out_of_place ? "out of place" : "in place");
    feed_encrypting(x, is_out_of_place ? out[REFERENCE] + out_at : in[REFERENCE] + in_at, bytes);
}

static void give_aad(struct run *r, struct trio *x, int oneshot)
{
    size_t bytes = take_length(&r->in) % 5000;
    int result[CONTEXTS], n[CONTEXTS] = {-1, -1, -1};

    if (!takes_data(x))
        return;
    for (int i = 0; i < CONTEXTS; i++)
        result[i] = oneshot ? EVP_Cipher(x->of[i], NULL, source, (unsigned)bytes)
                            : EVP_CipherUpdate(x->of[i], NULL, &n[i], source, (int)bytes);
    x->begun = 1;
    same_result("additional data", result);
    if (result[REFERENCE] > 0)
        must(n[OURS] == n[REFERENCE], "its length", n[OURS], n[REFERENCE]);
}

/* ---- Tags ----------------------------------------------------------------------------- */

static void set_tag(struct trio *x, unsigned char tag[2 * TAG], size_t bytes)
{
    int result[SIDES];
    if (!has_cipher(x))
        return;
    for (int i = 0; i < SIDES; i++)
        result[i] = EVP_CIPHER_CTX_ctrl(x->of[i], EVP_CTRL_AEAD_SET_TAG, (int)bytes, tag);
    same_result("setting the tag", result);
    x->has_tag |= result[REFERENCE] > 0;
}

static void get_tag(const struct trio *x, size_t bytes)
{
    unsigned char tag[SIDES][2 * TAG] = {{0}};
    int result[SIDES];
    if (!has_cipher(x) || x->tag_hidden || x->under_way)
        return;
    for (int i = 0; i < SIDES; i++)
        result[i] = EVP_CIPHER_CTX_ctrl(x->of[i], EVP_CTRL_AEAD_GET_TAG, (int)bytes, tag[i]);
    same_result("getting the tag", result);
    if (memcmp(tag[OURS], tag[REFERENCE], sizeof tag[OURS]) != 0)
        found("the tag of %zu bytes differs", bytes);
}

/* By final(), or by a call without input. */
static void end(struct trio *x, unsigned how)
{
    int result[SIDES], n[SIDES] = {-1, -1};
    unsigned char nothing[EDGE] = {0};
    if (!takes_data(x))
        return;
    for (int i = 0; i < SIDES; i++)
        result[i] = how == 0   ? EVP_CipherFinal_ex(x->of[i], nothing, &n[i])
                    : how == 1 ? EVP_Cipher(x->of[i], nothing, NULL, 0)
                               : EVP_CipherUpdate(x->of[i], nothing, &n[i], NULL, (int)how);
    x->begun = 1;
    same_result("the end", result);
    if (result[REFERENCE] <= 0 - (how == 1)) {
        x->is_over = x->has_tag || x->tag_hidden;
        return;
    }
    x->has_tag = 1;
    must(n[OURS] == n[REFERENCE], "its length", n[OURS], n[REFERENCE]);
    x->under_way = x->tag_hidden = 0;
    get_tag(x, TAG);
}

/* With the right tag, or so much of it; sometimes with another one. */
static void end_rightly(struct run *r, struct trio *x)
{
    unsigned char tag[2 * TAG] = {0};
    unsigned bytes = 1 + take_below(&r->in, TAG), wrong = take_byte(&r->in);
    int n;
    if (!has_cipher(x))
        return;
    (void)EVP_EncryptFinal_ex(x->of[ENCRYPTING], tag, &n);
    (void)EVP_CIPHER_CTX_ctrl(x->of[ENCRYPTING], EVP_CTRL_AEAD_GET_TAG, TAG, tag);
    if (wrong % 8 == 0)
        tag[wrong / 8 % bytes] ^= 1;
    set_tag(x, tag, bytes);
    end(x, 0);
}

/* ---- Parameters ------------------------------------------------------------------------ */

static const char *const keys[] = {OSSL_CIPHER_PARAM_IVLEN,
                                   OSSL_CIPHER_PARAM_KEYLEN,
                                   OSSL_CIPHER_PARAM_AEAD_TAGLEN,
                                   OSSL_CIPHER_PARAM_IV,
                                   OSSL_CIPHER_PARAM_UPDATED_IV,
                                   OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD,
                                   OSSL_CIPHER_PARAM_PADDING,
                                   OSSL_CIPHER_PARAM_NUM,
                                   "unknown",
                                   OSSL_CIPHER_PARAM_AEAD_TAG,
                                   OSSL_CIPHER_PARAM_AEAD_TLS1_AAD,
                                   OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED,
                                   OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN,
                                   OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV};
enum { KEYS = sizeof keys / sizeof keys[0], TAG_KEY = 9, VALUE = 160 };

static const unsigned types[] = {OSSL_PARAM_UNSIGNED_INTEGER, OSSL_PARAM_OCTET_STRING,
                                 OSSL_PARAM_INTEGER, OSSL_PARAM_UTF8_STRING};
enum { TYPES = sizeof types / sizeof types[0] };

/* A parameter of any type and size, more often one that makes sense. */
static OSSL_PARAM take_param(struct input *from, unsigned char value[VALUE])
{
    static const size_t sizes[] = {16, 8, 4, 12, 13, 1, 0, 17, 128, 129};
    unsigned key = take_below(from, KEYS), shape = take_byte(from), fill = take_byte(from);
    int is_number = key <= 2 || (key >= 5 && key <= 8);
    OSSL_PARAM p = {.key = keys[key], .data = value, .return_size = OSSL_PARAM_UNMODIFIED};
    p.data_type = types[shape < 224 ? !is_number : shape % TYPES];
    p.data_size = p.data_type == OSSL_PARAM_OCTET_STRING || p.data_type == OSSL_PARAM_UTF8_STRING
                      ? sizes[shape % 10]
                      : (shape % 2 == 0 ? 8 : 4);
    memset(value, 0, VALUE);
    value[0] = (unsigned char)fill;
    if (p.data_size > 12)
        value[12] = (unsigned char)fill;
    return p;
}

static int is_tls(const OSSL_PARAM *p)
{
    return strncmp(p->key, "tls", 3) == 0;
}

/* libcrypto 3.0 does not look whether the fixed part of an IV is longer than the IV. */
static int is_too_long(const struct trio *x, const OSSL_PARAM *p)
{
    return strcmp(p->key, OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED) == 0 &&
           p->data_size > (size_t)EVP_CIPHER_CTX_get_iv_length(x->of[REFERENCE]);
}

static void set_param(struct run *r, struct trio *x)
{
    unsigned char value[VALUE];
    OSSL_PARAM params[] = {take_param(&r->in, value), OSSL_PARAM_END};
    int result[CONTEXTS];
    if (!has_cipher(x) || is_too_long(x, params))
        return;
    if (is_tls(params)) {
        if (x->device_memory) /* refused: provider-gpuaes(7) */
            return;
        x->tls = 1;
    }
    for (int i = 0; i < CONTEXTS; i++)
        if (i != ENCRYPTING || strcmp(params[0].key, OSSL_CIPHER_PARAM_AEAD_TAG) != 0)
            result[i] = EVP_CIPHER_CTX_set_params(x->of[i], params);
    same_result(params[0].key, result);
    x->has_tag |= result[REFERENCE] > 0 && params[0].key == keys[TAG_KEY];
}

static void get_param(struct run *r, struct trio *x)
{
    unsigned char value[SIDES][VALUE];
    struct input same = r->in;
    OSSL_PARAM params[SIDES][2];
    int result[SIDES];
    if (!has_cipher(x))
        return;
    for (int i = 0; i < SIDES; i++) {
        r->in = same;
        params[i][0] = take_param(&r->in, value[i]);
        params[i][1] = OSSL_PARAM_construct_end();
        if ((params[i]->key == keys[TAG_KEY] && (x->tag_hidden || x->under_way)) ||
            (is_tls(params[i]) && x->device_memory))
            return;
        x->tls |= is_tls(params[i]);
        result[i] = EVP_CIPHER_CTX_get_params(x->of[i], params[i]);
    }
    same_result(params[OURS]->key, result);
    if (params[OURS]->return_size != params[REFERENCE]->return_size)
        found("getting %s: %zu/%zu bytes", params[OURS]->key, params[OURS]->return_size,
              params[REFERENCE]->return_size);
    if (result[REFERENCE] > 0 && memcmp(value[OURS], value[REFERENCE], VALUE) != 0)
        found("getting %s: another value", params[OURS]->key);
}

static void set_iv_length(struct run *r, struct trio *x)
{
    int bytes = (int)take_below(&r->in, MOST_IV + 4), result[CONTEXTS];
    if (!has_cipher(x))
        return;
    for (int i = 0; i < CONTEXTS; i++)
        result[i] = EVP_CIPHER_CTX_ctrl(x->of[i], EVP_CTRL_AEAD_SET_IVLEN, bytes, NULL);
    same_result("setting the length of the IV", result);
}

/* Ours alone has it; the memory is the CPU's all the same. */
static void set_device_memory(struct run *r, struct trio *x)
{
    unsigned value = take_below(&r->in, 2);
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &value), OSSL_PARAM_END};
    if (!has_cipher(x) || x->tls)
        return;
    if (EVP_CIPHER_CTX_set_params(x->of[OURS], params) <= 0)
        found("device-memory is refused");
    x->device_memory = (int)value;
}

/* ---- Contexts ---------------------------------------------------------------------------- */

static void begin_message(struct trio *x)
{
    x->tag_hidden |= x->under_way;
    x->begun = x->under_way = x->is_over = 0;
}

static void init(struct run *r, struct trio *x, int iv_only)
{
    unsigned char key[32], iv[MOST_IV];
    unsigned how = iv_only ? 0 : take_byte(&r->in);
    int cipher = !iv_only && (x->cipher < 0 || how % 4 == 0) ? (int)take_below(&r->in, SIZES) : -1;
    int direction = iv_only ? -1 : (int)(how / 4 % 3) - 1, result[CONTEXTS];
    int with_key = !iv_only && how / 12 % 4 != 0,
        with_iv = iv_only || how / 48 % 4 != 0 || (with_key && x->begun);

    memset(key, (int)take_byte(&r->in), sizeof key);
    memset(iv, (int)take_byte(&r->in), sizeof iv);
    if (cipher < 0 && x->cipher < 0)
        return;
    if (cipher >= 0 && cipher != x->cipher)
        x->tls = x->device_memory = x->has_tag = 0;
    for (int i = 0; i < CONTEXTS; i++)
        result[i] = EVP_CipherInit_ex2(
            x->of[i],
            cipher < 0 ? NULL : ciphers[r->instance][cipher][i == OURS ? OURS : REFERENCE],
            with_key ? key : NULL, with_iv ? iv : NULL, i == ENCRYPTING ? 1 : direction, NULL);
    same_result("initialising", result);
    if (cipher >= 0)
        x->cipher = cipher;
    if (with_iv)
        begin_message(x);
}

static void reset(struct trio *x)
{
    for (int i = 0; i < CONTEXTS; i++)
        (void)EVP_CIPHER_CTX_reset(x->of[i]);
    x->cipher = -1;
    x->tls = x->device_memory = x->begun = x->under_way = x->tag_hidden = 0;
    x->has_tag = x->is_over = 0;
}

static void open_trio(struct run *r)
{
    struct trio *x = &r->trio[r->trios++];
    for (int i = 0; i < CONTEXTS; i++)
        x->of[i] = EVP_CIPHER_CTX_new();
    reset(x);
}

/* 3.0 has no copies of such contexts. */
static void copy(struct run *r, const struct trio *x)
{
    int result[CONTEXTS];
    if (r->trios == LIVE || !has_cipher(x))
        return;
    open_trio(r);
    struct trio *new = &r->trio[r->trios - 1], contexts = *new;
    for (int i = 0; i < CONTEXTS; i++)
        result[i] = EVP_CIPHER_CTX_copy(new->of[i], x->of[i]);
    same_result("copying", result);
    *new = *x;
    memcpy(new->of, contexts.of, sizeof new->of);
    if (result[REFERENCE] <= 0)
        reset(new);
}

/* ---- The target ---------------------------------------------------------------------------- */

static void step(struct run *r)
{
    unsigned what = take_byte(&r->in);
    struct trio *x = &r->trio[what / 32 % r->trios];
    unsigned char tag[2 * TAG];
    switch (what % 32) {
    case 0:
        end(x, 0);
        break;
    case 1:
        end(x, 1 + take_below(&r->in, EDGE));
        break;
    case 2:
    case 3:
        end_rightly(r, x);
        break;
    case 4:
    case 5:
        init(r, x, 0);
        break;
    case 6:
    case 7:
        init(r, x, 1);
        break;
    case 8:
        copy(r, x);
        break;
    case 9:
        memset(tag, (int)take_byte(&r->in), sizeof tag);
        set_tag(x, tag, take_below(&r->in, TAG + 2));
        break;
    case 10:
        get_tag(x, take_below(&r->in, TAG + 2));
        break;
    case 11:
        set_param(r, x);
        break;
    case 12:
        get_param(r, x);
        break;
    case 13:
        reset(x);
        break;
    case 14:
        set_iv_length(r, x);
        break;
    case 15:
        set_device_memory(r, x);
        break;
    case 16:
    case 17:
    case 18:
        give_aad(r, x, what % 32 == 18);
        break;
    case 19:
    case 20:
        give_text(r, x, 1);
        break;
    default:
        give_text(r, x, 0);
        break;
    }
}

static int no_chance(unsigned char *bytes, int count)
{
    memset(bytes, 0x3c, (size_t)count);
    return 1;
}

static int is_seeded(void)
{
    return 1;
}

int LLVMFuzzerInitialize(int *arguments, char ***argument)
{
    static const RAND_METHOD method = {
        .bytes = no_chance, .pseudorand = no_chance, .status = is_seeded};
    static const char *const min_bytes[] = {[ALL_ON_GPU] = "0", [FROM_A_KILOBYTE] = "1K"};
    (void)arguments;
    (void)argument;
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (unsigned char)(i * 2654435761U >> 13);
    for (int k = 0; k < INSTANCES; k++) {
        (void)setenv("GPUAES_MIN_BYTES", min_bytes[k], 1);
        libctx[k] = load_ours();
        for (int i = 0; i < SIZES; i++) {
            ciphers[k][i][OURS] = EVP_CIPHER_fetch(libctx[k], names[i], "provider=gpuaes");
            ciphers[k][i][REFERENCE] = EVP_CIPHER_fetch(NULL, names[i], "provider=default");
        }
    }
    start_device(libctx[ALL_ON_GPU]);
    return RAND_set_rand_method(&method) == 1 ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST_STEPS = 64 };
    struct run r = {.in = {data, size}};
    r.instance = take_byte(&r.in) < 96 ? ALL_ON_GPU : FROM_A_KILOBYTE;
    open_trio(&r);
    init(&r, &r.trio[0], 0);
    for (int i = 0; i < MOST_STEPS && r.in.left != 0; i++)
        step(&r);
    for (unsigned i = 0; i < r.trios; i++)
        for (int k = 0; k < CONTEXTS; k++)
            EVP_CIPHER_CTX_free(r.trio[i].of[k]);
    return 0;
}
