/*
 * Any sequence of calls on AES contexts, ours beside the default provider's: after each
 * call the result, the first error, the bytes written and what lies around them are the
 * same. Every whole block goes to the (emulated) GPU, or a kilobyte is the least for it, as the
 * input's first byte says. The program by the name of ahead_fuzz lets CTR streams be read ahead
 * of: an input that comes so far takes a hundred times as long.
 *
 * Left out is what has no defined result: memory that is not there; input in place while
 * bytes are held back, which the default provider overwrites before it reads them; a `num`
 * beyond the block.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/core_names.h>
#include <time.h>

#include "test/fuzz/fuzz.h"

enum { BLOCK = 16, EDGE = 512, LONGEST = 80 << 10, MEMORY = LONGEST + 4 * EDGE, LIVE = 3 };
enum { OURS, REFERENCE, SIDES };
enum { ALL_ON_GPU, READ_AHEAD, FROM_A_KILOBYTE, INSTANCES };

static const char *const names[] = {"AES-128-ECB", "AES-192-ECB", "AES-256-ECB",
                                    "AES-128-CBC", "AES-192-CBC", "AES-256-CBC",
                                    "AES-128-CTR", "AES-192-CTR", "AES-256-CTR"};
enum { CIPHERS = sizeof names / sizeof names[0], FIRST_CTR = 6 };

static int reads_ahead;
static OSSL_LIB_CTX *libctx[INSTANCES];
static EVP_CIPHER *ciphers[INSTANCES][CIPHERS], *references[CIPHERS];
static unsigned char in_memory[SIDES][MEMORY], out_memory[SIDES][MEMORY], text[2 * MEMORY];

struct pair {
    EVP_CIPHER_CTX *side[SIDES];
    int cipher; /* the last that was asked for, or -1 */
    int device_memory, tls;
    size_t held; /* bytes taken and not given back */
};

struct run {
    struct input in;
    int instance;
    unsigned pairs;
    struct pair pair[LIVE];
    int served; /* waited for keystream once: that is slow */
};

/* ---- What both sides must agree on ---------------------------------------------- */

struct outcome {
    int result[SIDES], written[SIDES];
    unsigned long error[SIDES];
};

static void compare(const struct outcome *o, const char *what)
{
    if (o->result[OURS] != o->result[REFERENCE] || o->error[OURS] != o->error[REFERENCE] ||
        (o->result[OURS] > 0 && o->written[OURS] != o->written[REFERENCE]))
        found("%s: result %d/%d, written %d/%d, error %lx/%lx (ours/default's)", what,
              o->result[OURS], o->result[REFERENCE], o->written[OURS], o->written[REFERENCE],
              o->error[OURS], o->error[REFERENCE]);
}

static void compare_memory(unsigned char memory[SIDES][MEMORY], size_t length, const char *what)
{
    size_t i = 0;
    if (memcmp(memory[OURS], memory[REFERENCE], length) == 0)
        return;
    while (memory[OURS][i] == memory[REFERENCE][i])
        i++;
    found("%s differs first at byte %zd", what, (ssize_t)i - EDGE);
}

/* EVP itself does not look. */
static int has_cipher(const struct pair *x)
{
    return EVP_CIPHER_CTX_get0_cipher(x->side[OURS]) != NULL &&
           EVP_CIPHER_CTX_get0_cipher(x->side[REFERENCE]) != NULL;
}

/* ---- Data ------------------------------------------------------------------------- */

static size_t take_length(struct input *in)
{
    unsigned n = take(in);
    if (n < 128)
        return n;
    if (n < 192)
        return (n - 127) * (size_t)BLOCK;
    if (n < 250)
        return take_number(in, 2) % 5000;
    return take_number(in, 3) % LONGEST;
}

/* Where the output lies, in the memory of the input if `in_place` says so. */
static size_t take_layout(struct input *in, const struct pair *x, int *in_place)
{
    unsigned layout = take(in);
    size_t shift = layout >> 2;
    *in_place = (layout & 3) != 0;
    switch (layout & 3) {
    case 1:
        if (x->held == 0)
            return EDGE;
        *in_place = 0;
        return EDGE + shift;
    case 2:
        return EDGE - 1 - shift;
    case 3:
        return EDGE + 1 + shift;
    default:
        return EDGE + shift;
    }
}

static void bytes(struct run *r, struct pair *x, int one_shot, size_t length)
{
    int in_place;
    size_t to = take_layout(&r->in, x, &in_place), around = length + 2 * EDGE;
    const unsigned char *from = text + take(&r->in);
    struct outcome o;

    if (!has_cipher(x))
        return;
    /* Refused by us: provider-gpuaes(7). */
    if (one_shot && x->device_memory && length % BLOCK != 0)
        length -= length % BLOCK;
    for (int i = 0; i < SIDES; i++) {
        unsigned char *out = (in_place ? in_memory[i] : out_memory[i]) + to;
        memset(in_memory[i], 0xc5, around);
        memset(out_memory[i], 0xa5, around);
        memcpy(in_memory[i] + EDGE, from, length);
        o.written[i] = -1;
        o.result[i] = one_shot ? EVP_Cipher(x->side[i], out, in_memory[i] + EDGE, (unsigned)length)
                               : EVP_CipherUpdate(x->side[i], out, &o.written[i],
                                                  in_memory[i] + EDGE, (int)length);
        o.error[i] = first_error();
    }
    compare(&o, one_shot ? "a one-shot call" : "an update");
    if (o.result[REFERENCE] <= 0)
        return;
    if (!one_shot)
        x->held += length - (size_t)o.written[REFERENCE];
    compare_memory(out_memory, around, "the output");
    compare_memory(in_memory, around, "the input's memory");
}

static void final(struct pair *x)
{
    struct outcome o;
    for (int i = 0; i < SIDES; i++) {
        memset(out_memory[i], 0xa5, 3 * EDGE);
        o.written[i] = -1;
        o.result[i] = EVP_CipherFinal_ex(x->side[i], out_memory[i] + EDGE, &o.written[i]);
        o.error[i] = first_error();
    }
    compare(&o, "the end");
    x->held = 0;
    if (o.result[REFERENCE] > 0)
        compare_memory(out_memory, 3 * EDGE, "the end's output");
}

/* ---- Parameters ---------------------------------------------------------------------- */

static const char *const keys[] = {
    OSSL_CIPHER_PARAM_PADDING,     OSSL_CIPHER_PARAM_NUM,          OSSL_CIPHER_PARAM_IV,
    OSSL_CIPHER_PARAM_UPDATED_IV,  OSSL_CIPHER_PARAM_KEYLEN,       OSSL_CIPHER_PARAM_IVLEN,
    OSSL_CIPHER_PARAM_TLS_VERSION, OSSL_CIPHER_PARAM_TLS_MAC_SIZE, OSSL_CIPHER_PARAM_TLS_MAC,
    OSSL_CIPHER_PARAM_USE_BITS,    OSSL_CIPHER_PARAM_RANDOM_KEY,   "unknown"};
enum { KEYS = sizeof keys / sizeof keys[0], VALUE = 48, MOST_PARAMS = 3 };

static const unsigned types[] = {OSSL_PARAM_UNSIGNED_INTEGER, OSSL_PARAM_INTEGER,
                                 OSSL_PARAM_OCTET_STRING,     OSSL_PARAM_UTF8_STRING,
                                 OSSL_PARAM_OCTET_PTR,        OSSL_PARAM_REAL};
enum { TYPES_TO_SET = 4, TYPES = sizeof types / sizeof types[0] };

struct params {
    OSSL_PARAM list[MOST_PARAMS + 1];
    unsigned char value[MOST_PARAMS][VALUE];
    void *pointer[MOST_PARAMS];
};

/* A parameter of any type and size, more often one that makes sense. */
static OSSL_PARAM take_param(struct input *in, unsigned char value[VALUE])
{
    static const size_t sizes[] = {4, 8, 1, 2, 16, 32, 0, 15};
    unsigned shape = take(in);
    OSSL_PARAM p = {.key = keys[take_below(in, KEYS)], .data = value};
    p.data_type = types[shape < 192 ? 0 : shape % TYPES_TO_SET];
    p.data_size = sizes[shape < 128 ? 0 : shape / 4 % 8];
    p.return_size = OSSL_PARAM_UNMODIFIED;
    memset(value, 0, VALUE);
    take_bytes(in, value, p.data_type == OSSL_PARAM_UNSIGNED_INTEGER ? 2 : p.data_size);
    if (strcmp(p.key, OSSL_CIPHER_PARAM_NUM) == 0) {
        /* libcrypto 3.0 takes any, and reads that far beyond the block. */
        memset(value + 1, 0, VALUE - 1);
        value[0] %= BLOCK;
    }
    return p;
}

static OSSL_PARAM take_own(struct input *in, struct pair *x, unsigned char value[VALUE])
{
    OSSL_PARAM p = OSSL_PARAM_construct_uint("device-memory", (unsigned *)(void *)value);
    memset(value, 0, VALUE);
    value[0] = take(in) & 1 && !x->tls;
    x->device_memory = value[0];
    return p;
}

static void take_params(struct input *in, struct pair *x, struct params *to)
{
    unsigned shape = take(in), n = shape % MOST_PARAMS, i;
    for (i = 0; i < n; i++) {
        to->list[i] = take_param(in, to->value[i]);
        if (strncmp(to->list[i].key, "tls", 3) == 0) {
            /* Refused with device memory: provider-gpuaes(7). */
            if (x->device_memory)
                to->list[i].key = "unknown";
            else
                x->tls = 1;
        }
    }
    if (shape >= 224)
        to->list[i++] = take_own(in, x, to->value[n]);
    to->list[i] = OSSL_PARAM_construct_end();
}

static void set_params(struct run *r, struct pair *x)
{
    struct params params;
    struct outcome o = {.written = {0}};
    if (!has_cipher(x))
        return;
    take_params(&r->in, x, &params);
    for (int i = 0; i < SIDES; i++) {
        o.result[i] = EVP_CIPHER_CTX_set_params(x->side[i], params.list);
        o.error[i] = first_error();
    }
    compare(&o, "setting parameters");
}

/* What was given back; a pointer is into a context, and followed. */
static void compare_param(const OSSL_PARAM *p, const OSSL_PARAM *q)
{
    const void *a = p->data, *b = q->data;
    if (p->return_size != q->return_size)
        found("getting %s: %zu/%zu bytes", p->key, p->return_size, q->return_size);
    if (p->return_size == OSSL_PARAM_UNMODIFIED)
        return;
    if (p->data_type == OSSL_PARAM_OCTET_PTR) {
        a = *(void **)p->data;
        b = *(void **)q->data;
    }
    if ((a == NULL) != (b == NULL))
        found("getting %s: one pointer is none", p->key);
    size_t length = p->data_type == OSSL_PARAM_OCTET_PTR ? p->return_size : p->data_size;
    if (a != NULL && memcmp(a, b, length) != 0)
        found("getting %s: another value", p->key);
}

static void get_params(struct run *r, struct pair *x)
{
    struct params params[SIDES];
    struct outcome o = {.written = {0}};
    struct input same = r->in;
    memset(params, 0, sizeof params);
    if (!has_cipher(x))
        return;
    for (int i = 0; i < SIDES; i++) {
        r->in = same;
        unsigned n = 1 + take_below(&r->in, MOST_PARAMS);
        for (unsigned k = 0; k < n; k++) {
            OSSL_PARAM *p = &params[i].list[k];
            *p = take_param(&r->in, params[i].value[k]);
            if (strcmp(p->key, OSSL_CIPHER_PARAM_RANDOM_KEY) == 0)
                p->key = "unknown";
            if (take(&r->in) % 4 == 0) {
                params[i].pointer[k] = NULL;
                p->data_type = OSSL_PARAM_OCTET_PTR;
                p->data_size = sizeof params[i].pointer[k];
                p->data = &params[i].pointer[k];
            }
        }
        params[i].list[n] = OSSL_PARAM_construct_end();
        o.result[i] = EVP_CIPHER_CTX_get_params(x->side[i], params[i].list);
        o.error[i] = first_error();
    }
    compare(&o, "getting parameters");
    for (const OSSL_PARAM *p = params[OURS].list, *q = params[REFERENCE].list;
         o.result[OURS] > 0 && p->key != NULL; p++, q++)
        compare_param(p, q);
}

static void compare_state(struct pair *x)
{
    unsigned char iv[SIDES][2][BLOCK];
    unsigned num[SIDES] = {0, 0};
    struct outcome o = {.written = {0}};
    if (!has_cipher(x))
        return;
    memset(iv, 0, sizeof iv);
    for (int i = 0; i < SIDES; i++) {
        OSSL_PARAM ivs[] = {OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, iv[i][0], BLOCK),
                            OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, iv[i][1], BLOCK),
                            OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, &num[i]), OSSL_PARAM_END};
        o.result[i] = EVP_CIPHER_CTX_get_params(x->side[i], ivs);
        o.error[i] = first_error();
    }
    compare(&o, "getting the state");
    if (memcmp(iv[OURS], iv[REFERENCE], sizeof iv[0]) != 0 || num[OURS] != num[REFERENCE])
        found("another IV or num");
}

/* ---- Contexts --------------------------------------------------------------------------- */

static void init(struct run *r, struct pair *x)
{
    unsigned char key[32], iv[BLOCK];
    unsigned how = take(&r->in);
    int cipher = x->cipher < 0 || how % 8 == 0 ? (int)take_below(&r->in, CIPHERS) : -1;
    int direction = (int)(how / 8 % 3) - 1;
    int with_key = how / 24 % 2 == 0, with_iv = how / 48 % 2 == 0, with_params = how >= 192;
    struct params params;
    struct outcome o = {.written = {0}};

    memset(key, (int)take(&r->in), sizeof key);
    memset(iv, 0xff, sizeof iv);
    take_bytes(&r->in, iv + BLOCK - 2, 2);
    if (cipher >= 0 && cipher != x->cipher)
        x->device_memory = x->tls = 0;
    if (with_params)
        take_params(&r->in, x, &params);
    for (int i = 0; i < SIDES; i++) {
        EVP_CIPHER *chosen = cipher < 0  ? NULL
                             : i == OURS ? ciphers[r->instance][cipher]
                                         : references[cipher];
        o.result[i] =
            EVP_CipherInit_ex2(x->side[i], chosen, with_key ? key : NULL, with_iv ? iv : NULL,
                               direction, with_params ? params.list : NULL);
        o.error[i] = first_error();
    }
    x->held = 0;
    if (cipher >= 0)
        x->cipher = cipher;
    compare(&o, "initialising");
}

static void copy(struct run *r, const struct pair *x)
{
    struct outcome o = {.written = {0}};
    if (r->pairs == LIVE)
        return;
    struct pair *new = &r->pair[r->pairs++];
    *new = *x;
    for (int i = 0; i < SIDES; i++) {
        new->side[i] = EVP_CIPHER_CTX_new();
        o.result[i] = EVP_CIPHER_CTX_copy(new->side[i], x->side[i]);
        o.error[i] = first_error();
    }
    compare(&o, "copying");
}

static void reset(struct pair *x)
{
    for (int i = 0; i < SIDES; i++)
        (void)EVP_CIPHER_CTX_reset(x->side[i]);
    x->cipher = -1;
    x->device_memory = x->tls = 0;
    x->held = 0;
}

/* ---- Read-ahead ------------------------------------------------------------------------- */

static uint64_t read_ahead_bytes(void)
{
    uint64_t figure = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64("read-ahead-bytes", &figure), OSSL_PARAM_END};
    OSSL_PROVIDER *gpuaes = OSSL_PROVIDER_load(libctx[READ_AHEAD], "gpuaes");
    (void)OSSL_PROVIDER_get_params(gpuaes, params);
    (void)OSSL_PROVIDER_unload(gpuaes);
    return figure;
}

/* As far as a stream must go to be read ahead of, and on until keystream is there. */
static void serve(struct run *r, struct pair *x)
{
    enum { BEGINS_AFTER = 1 << 20, PIECE = 64 << 10, MOST_WAITS = 100 };
    struct timespec pause = {0, 1000000};
    size_t step = 1 + take_length(&r->in) % 5000;
    if (r->instance != READ_AHEAD || x->cipher < FIRST_CTR || !has_cipher(x) || r->served ||
        x->device_memory)
        return;
    uint64_t before = read_ahead_bytes();
    r->served = 1;
    for (int i = 0; i < BEGINS_AFTER / PIECE + 1; i++)
        bytes(r, x, 0, PIECE);
    for (int i = 0; i < MOST_WAITS && read_ahead_bytes() == before; i++) {
        bytes(r, x, 0, step);
        nanosleep(&pause, NULL);
    }
}

/* ---- The target ---------------------------------------------------------------------------- */

static void step(struct run *r)
{
    unsigned what = take(&r->in);
    struct pair *x = &r->pair[what / 32 % r->pairs];
    switch (what % 32) {
    case 0:
        final(x);
        break;
    case 1:
    case 2:
    case 3:
        init(r, x);
        break;
    case 4:
        copy(r, x);
        break;
    case 5:
    case 6:
        set_params(r, x);
        break;
    case 7:
    case 8:
        get_params(r, x);
        break;
    case 9:
        reset(x);
        break;
    case 10:
        serve(r, x);
        break;
    case 11:
    case 12:
    case 13:
    case 14:
        bytes(r, x, 1, take_length(&r->in));
        break;
    default:
        bytes(r, x, 0, take_length(&r->in));
        break;
    }
    compare_state(x);
}

int LLVMFuzzerInitialize(int *arguments, char ***argument)
{
    static const char *const min_bytes[] = {
        [ALL_ON_GPU] = "0", [READ_AHEAD] = "1G", [FROM_A_KILOBYTE] = "1K"};
    uint32_t x = 1;
    reads_ahead = *arguments > 0 && strstr((*argument)[0], "ahead_fuzz") != NULL;
    for (int k = 0; k < INSTANCES; k++) {
        (void)setenv("GPUAES_MIN_BYTES", min_bytes[k], 1);
        libctx[k] = load_ours();
        for (int i = 0; i < CIPHERS; i++)
            ciphers[k][i] = EVP_CIPHER_fetch(libctx[k], names[i], "provider=gpuaes");
    }
    for (int i = 0; i < CIPHERS; i++)
        references[i] = EVP_CIPHER_fetch(NULL, names[i], "provider=default");
    for (size_t i = 0; i < sizeof text; i++, x = x * 1664525 + 1013904223)
        text[i] = (unsigned char)(x >> 24);
    start_device(libctx[ALL_ON_GPU]);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST_STEPS = 64 };
    struct run r = {.in = {data, size}, .pairs = 1, .pair = {{.cipher = -1}}};
    unsigned char first = (unsigned char)take(&r.in);
    r.instance = reads_ahead ? READ_AHEAD : first < 32 ? ALL_ON_GPU : FROM_A_KILOBYTE;
    for (int i = 0; i < SIDES; i++)
        r.pair[0].side[i] = EVP_CIPHER_CTX_new();
    init(&r, &r.pair[0]);
    for (int i = 0; i < MOST_STEPS && r.in.left != 0; i++)
        step(&r);
    for (unsigned i = 0; i < r.pairs; i++)
        for (int side = 0; side < SIDES; side++)
            EVP_CIPHER_CTX_free(r.pair[i].side[side]);
    return 0;
}
