/*
 * Any sequence of calls on AES contexts, ours compared with the default provider's: after each
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
#include "test/fuzz/fuzz.h"
#include "test/support/compared.h"

enum { MOST_BYTES = 80 << 10, LIVE = 3 };
enum { ALL_ON_GPU, READ_AHEAD, FROM_A_KILOBYTE, INSTANCES };

static int reads_ahead;
static OSSL_LIB_CTX *libctx[INSTANCES];
static EVP_CIPHER *ciphers[INSTANCES][CIPHER_ROWS][SIDES];
static struct memory *memory;

struct pair {
    struct stream s;
    int cipher; /* the last that was asked for, or -1 */
    int device_memory, tls;
};

struct run {
    struct input in;
    int instance;
    unsigned pairs;
    struct pair pair[LIVE];
    int served; /* waited for keystream once: that is slow */
};

/* The test's functions have said what differs. */
static void must(int same, const char *what)
{
    if (!same)
        found("%s: the sides differ", what);
}

/* EVP itself does not look. */
static int has_cipher(const struct pair *x)
{
    return EVP_CIPHER_CTX_get0_cipher(x->s.side[OURS]) != NULL &&
           EVP_CIPHER_CTX_get0_cipher(x->s.side[REFERENCE]) != NULL;
}

/* ---- Data ------------------------------------------------------------------------- */

static size_t take_length(struct input *in)
{
    unsigned n = take_byte(in);
    if (n < 128)
        return n;
    if (n < 192)
        return (n - 127) * (size_t)BLOCK;
    if (n < 250)
        return take_number(in, 2) % 5000;
    return take_number(in, 3) % MOST_BYTES;
}

/* Where the output lies. */
static void take_layout(struct input *in, const struct pair *x, struct call *call)
{
    unsigned layout = take_byte(in);
    int shift = (int)(layout >> 2), kind = (int)(layout & 3);
    call->out_of_place = kind == 0 || (kind == 1 && x->s.held != 0);
    call->out_at = call->out_of_place ? (unsigned)shift : 0;
    call->distance = kind == 2 ? -1 - shift : kind == 3 ? 1 + shift : 0;
}

static void bytes(struct run *r, struct pair *x, enum way way, size_t length)
{
    struct call call = {.way = way, .length = length};
    take_layout(&r->in, x, &call);
    call.from = memory->text + take_byte(&r->in);
    if (!has_cipher(x))
        return;
    /* Refused by us: provider-gpuaes(7). */
    if (way == ONE_SHOT && x->device_memory && length % BLOCK != 0)
        call.length -= length % BLOCK;
    must(stream_call(&x->s, &call), "a call");
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
    unsigned shape = take_byte(in);
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
    value[0] = take_byte(in) & 1 && !x->tls;
    x->device_memory = value[0];
    return p;
}

static void take_params(struct input *in, struct pair *x, struct params *to)
{
    unsigned shape = take_byte(in), n = shape % MOST_PARAMS, i;
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
    if (!has_cipher(x))
        return;
    take_params(&r->in, x, &params);
    must(stream_set(&x->s, params.list), "setting parameters");
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
    int result[SIDES];
    unsigned long error[SIDES];
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
            if (take_byte(&r->in) % 4 == 0) {
                params[i].pointer[k] = NULL;
                p->data_type = OSSL_PARAM_OCTET_PTR;
                p->data_size = sizeof params[i].pointer[k];
                p->data = &params[i].pointer[k];
            }
        }
        params[i].list[n] = OSSL_PARAM_construct_end();
        result[i] = EVP_CIPHER_CTX_get_params(x->s.side[i], params[i].list);
        error[i] = first_error();
    }
    must(result[OURS] == result[REFERENCE] && error[OURS] == error[REFERENCE],
         "getting parameters");
    for (const OSSL_PARAM *p = params[OURS].list, *q = params[REFERENCE].list;
         result[OURS] > 0 && p->key != NULL; p++, q++)
        compare_param(p, q);
}

/* ---- Contexts --------------------------------------------------------------------------- */

static void init(struct run *r, struct pair *x)
{
    unsigned char key[32], iv[BLOCK];
    unsigned how = take_byte(&r->in);
    int cipher = x->cipher < 0 || how % 8 == 0 ? (int)take_below(&r->in, CIPHER_ROWS) : -1;
    int direction = (int)(how / 8 % 3) - 1;
    int with_key = how / 24 % 2 == 0, with_iv = how / 48 % 2 == 0, with_params = how >= 192;
    struct params params;

    memset(key, (int)take_byte(&r->in), sizeof key);
    memset(iv, 0xff, sizeof iv);
    take_bytes(&r->in, iv + BLOCK - 2, 2);
    if (cipher >= 0 && cipher != x->cipher)
        x->device_memory = x->tls = 0;
    if (with_params)
        take_params(&r->in, x, &params);
    if (cipher >= 0)
        x->cipher = cipher;
    must(stream_init_with(&x->s, cipher >= 0 ? ciphers[r->instance][cipher] : NULL,
                          with_key ? key : NULL, with_iv ? iv : NULL, direction,
                          with_params ? params.list : NULL),
         "initialising");
}

static void copy(struct run *r, const struct pair *x)
{
    if (r->pairs == LIVE)
        return;
    struct pair *new = &r->pair[r->pairs++];
    *new = *x;
    memset(&new->s, 0, sizeof new->s);
    must(stream_copy(&new->s, &x->s), "copying");
}

static void reset(struct pair *x)
{
    for (int i = 0; i < SIDES; i++)
        (void)EVP_CIPHER_CTX_reset(x->s.side[i]);
    x->cipher = -1;
    x->device_memory = x->tls = 0;
    x->s.held = 0;
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
    size_t step = 1 + take_length(&r->in) % 5000;
    if (r->instance != READ_AHEAD || x->cipher < 0 || cipher_rows[x->cipher].mode != CTR ||
        !has_cipher(x) || r->served || x->device_memory)
        return;
    uint64_t before = read_ahead_bytes();
    r->served = 1;
    for (int i = 0; i < BEGINS_AFTER / PIECE + 1; i++)
        bytes(r, x, UPDATE, PIECE);
    for (int i = 0; i < MOST_WAITS && read_ahead_bytes() == before; i++) {
        bytes(r, x, UPDATE, step);
        sleep_ms(1);
    }
}

/* ---- The target ---------------------------------------------------------------------------- */

static void step(struct run *r)
{
    unsigned what = take_byte(&r->in);
    struct pair *x = &r->pair[what / 32 % r->pairs];
    switch (what % 32) {
    case 0:
        must(stream_final(&x->s), "the end");
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
        bytes(r, x, ONE_SHOT, take_length(&r->in));
        break;
    default:
        bytes(r, x, UPDATE, take_length(&r->in));
        break;
    }
    if (has_cipher(x))
        must(stream_agrees(&x->s), "the state");
}

int LLVMFuzzerInitialize(int *arguments, char ***argument)
{
    static const char *const min_bytes[] = {
        [ALL_ON_GPU] = "0", [READ_AHEAD] = "1G", [FROM_A_KILOBYTE] = "1K"};
    reads_ahead = *arguments > 0 && strstr((*argument)[0], "ahead_fuzz") != NULL;
    for (int k = 0; k < INSTANCES; k++) {
        (void)setenv("GPUAES_MIN_BYTES", min_bytes[k], 1);
        libctx[k] = load_ours();
        for (int i = 0; i < CIPHER_ROWS; i++) {
            const char *name = cipher_rows[i].name;
            ciphers[k][i][OURS] = EVP_CIPHER_fetch(libctx[k], name, "provider=gpuaes");
            ciphers[k][i][REFERENCE] = EVP_CIPHER_fetch(NULL, name, "provider=default");
        }
    }
    memory = memory_for(1, MOST_BYTES + 256);
    start_device(libctx[ALL_ON_GPU]);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST_STEPS = 64 };
    struct run r = {.in = {data, size}, .pairs = 1, .pair = {{.s.memory = memory, .cipher = -1}}};
    unsigned char first = (unsigned char)take_byte(&r.in);
    r.instance = reads_ahead ? READ_AHEAD : first < 32 ? ALL_ON_GPU : FROM_A_KILOBYTE;
    for (int i = 0; i < SIDES; i++)
        r.pair[0].s.side[i] = EVP_CIPHER_CTX_new();
    init(&r, &r.pair[0]);
    for (int i = 0; i < MOST_STEPS && r.in.left != 0; i++)
        step(&r);
    for (unsigned i = 0; i < r.pairs; i++)
        stream_close(&r.pair[i].s);
    return 0;
}
