/*
 * GCM: in device memory compared with CTR; through EVP compared with the bare call and with the
 * default provider. A turn through EVP is a message: an IV, 32 bytes of
 * additional data, one update, the tag.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"

enum { TAG = 16, AAD = 32, IV = 12 };

/* ---- The library, in device memory ----------------------------------------------------- */

struct gcm_call {
    enum gpuaes_op op;
    struct gpuaes_gcm_key key;
    struct call ctr; /* memory as well */
};

static void run_call(int side, void *argument)
{
    struct gcm_call *g = argument;
    struct gpuaes_gcm_state state = {.counter = "a nonce.....\0\0\0\2"};
    if (side == REFERENCE)
        call_run(side, &g->ctr);
    else
        call_check(gpuaes_gcm(g->op, &g->key, &state, g->ctr.in, g->ctr.out, g->ctr.length,
                              GPUAES_WAIT, NULL),
                   "gpuaes_gcm");
}

static struct row call_row(struct gcm_call *g, const struct memory *m, unsigned bits, int encrypt,
                           size_t length)
{
    static const unsigned char key[32] = "the key of all measurements ...";
    const char *name = bits == 128 ? "AES-128-GCM" : bits == 192 ? "AES-192-GCM" : "AES-256-GCM";
    struct row row = row_of("gcm-kernels", name, direction(encrypt), "device", length);
    g->op = encrypt ? GPUAES_GCM_ENCRYPT : GPUAES_GCM_DECRYPT;
    gpuaes_gcm_key_expand(&g->key, key, bits / 8);
    g->ctr = call_make(GPUAES_CTR, bits, m->in.p, m->out.p, length);
    row.processor = "gpu";
    row.against = "CTR";
    return row;
}

/* `image`: the toolkit of the kernels, if it was forced; else NULL. */
static void burst_row(const struct memory *m, unsigned bits, int encrypt, size_t length,
                      const char *image)
{
    struct gcm_call g;
    struct row row = call_row(&g, m, bits, encrypt, length);
    if (image != NULL) {
        row.part = "gcm-images";
        row.processor = image;
    }
    measure_rest(length >= GIB ? 0.02 : 0);
    measure_rates(&row, length >= 256 * MIB ? 15 : 51, run_call, &g, (double)length);
    measure_rest(0);
}

/* One side after the other, each for two seconds. */
static void sustained_row(const struct memory *m, int encrypt)
{
    struct gcm_call g;
    struct row row = call_row(&g, m, 256, encrypt, m->in.bytes);
    double seconds = options.quick ? 0.01 : 2;
    row.value[OURS] = (double)m->in.bytes / measure_sustained(seconds, run_call, &g) / 1e9;
    row.value[REFERENCE] = (double)m->in.bytes / measure_sustained(seconds, call_run, &g.ctr) / 1e9;
    row.statistic = "sustained";
    row.unit = "GB/s";
    print_row(&row);
}

int part_gcm_kernels(void)
{
    struct memory m;
    if (!device_memory_take(&m, "gcm-kernels", options.quick ? 64 * KIB : 4 * GIB))
        return 0;
    for (size_t length = 64 * KIB; length <= m.in.bytes; length *= 4)
        for (int encrypt = 1; encrypt >= 0; encrypt--)
            for (unsigned bits = 128; bits <= 256; bits += 64)
                burst_row(&m, bits, encrypt, length, NULL);
    sustained_row(&m, 1);
    sustained_row(&m, 0);
    memory_give(&m);
    return 0;
}

/* GPUAES_IMAGE stands in the environment. */
int part_gcm_images(void)
{
    struct memory m;
    char image[32];
    if (!device_memory_take(&m, "gcm-images", options.quick ? 64 * KIB : 4 * GIB))
        return 0;
    int toolkit = gpuaes_device_toolkit(0);
    (void)snprintf(image, sizeof image, "CUDA %d.%d", toolkit / 1000, toolkit % 1000 / 10);
    for (size_t length = 64 * KIB; length <= m.in.bytes; length *= 16)
        for (int encrypt = 1; encrypt >= 0; encrypt--)
            burst_row(&m, 256, encrypt, length, image);
    memory_give(&m);
    return 0;
}

/* ---- Messages through EVP ------------------------------------------------------------- */

struct messages {
    struct pair pair;
    int encrypt;
    unsigned char tag[TAG];
    struct gcm_call call;
    int bare; /* the reference is the library's call */
};

static void must(int ok)
{
    if (ok > 0)
        return;
    ERR_print_errors_fp(stderr);
    exit(EXIT_FAILURE);
}

static void message(EVP_CIPHER_CTX *context, int encrypt, unsigned char tag[TAG],
                    unsigned char *out, const unsigned char *in, size_t length)
{
    static const unsigned char aad[AAD] = "32 bytes of additional data ...", iv[IV] = "a nonce....";
    unsigned char rest[TAG];
    int n;
    must(EVP_CipherInit_ex2(context, NULL, NULL, iv, -1, NULL));
    must(EVP_CipherUpdate(context, NULL, &n, aad, AAD));
    must(EVP_CipherUpdate(context, out, &n, in, (int)length));
    if (!encrypt)
        must(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG, tag));
    must(EVP_CipherFinal_ex(context, rest, &n));
    if (encrypt)
        must(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG, tag));
}

static void run_messages(int side, void *argument)
{
    struct messages *s = argument;
    const struct pair *p = &s->pair;
    if (side == REFERENCE && s->bare)
        run_call(OURS, &s->call);
    for (size_t i = 0; i < p->calls && !(side == REFERENCE && s->bare); i++)
        message(p->context[side], s->encrypt, s->tag, p->out[side], p->in[side], p->length);
}

/* What is decrypted has been encrypted into the place of the input, so that the tag is right. */
static void prepare(struct messages *s, const char *cipher, int device_memory)
{
    struct pair encryption = s->pair;
    if (!s->encrypt) {
        pair_open(&encryption, cipher, 1);
        if (device_memory)
            pair_device_memory(&encryption);
        message(encryption.context[OURS], 1, s->tag, s->pair.in[OURS], s->pair.in[OURS],
                s->pair.length);
        pair_close(&encryption);
    }
    pair_open(&s->pair, cipher, s->encrypt);
    if (device_memory)
        pair_device_memory(&s->pair);
}

static struct row message_row(const struct messages *s, const char *part, const char *memory)
{
    struct row row = row_of(part, "AES-256-GCM", direction(s->encrypt), memory, s->pair.length);
    row.against = of_openssl("default provider");
    return row;
}

int part_gcm_small(void)
{
    static const size_t lengths[] = {16, 64, 256, KIB, 4 * KIB, 16 * KIB};
    struct memory m;
    warm_up();
    if (!memory_take(&m, "gcm-small", PAGEABLE, 16 * KIB, 16 * KIB))
        return 0;
    for (int encrypt = 1; encrypt >= 0; encrypt--)
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            struct messages s = {.encrypt = encrypt};
            s.pair.length = lengths[i];
            s.pair.calls = options.quick ? 2 : 400000 / (lengths[i] + 2000);
            pair_memory(&s.pair, m.in.p, m.out.p);
            struct row row = message_row(&s, "gcm-small", "pageable");
            prepare(&s, row.cipher, 0);
            struct result result = measure_evp(&row, 401, run_messages, &s,
                                               (double)s.pair.calls * (double)s.pair.length);
            print_times(&row, &result, (double)s.pair.calls, "ns", 1e9);
            pair_close(&s.pair);
        }
    memory_give(&m);
    return 0;
}

static void bulk_row(const struct memory *m, int encrypt, size_t length)
{
    struct messages s = {.encrypt = encrypt};
    s.pair.length = length;
    s.pair.calls = 1;
    pair_memory(&s.pair, m->in.p, m->out.p);
    struct row row = message_row(&s, "gcm-bulk", kind_name(m->in.kind));
    prepare(&s, row.cipher, 0);
    if (length >= 4 * MIB) /* the provider learns from these */
        for (int lessons = 3; lessons > 0; lessons--)
            run_messages(OURS, &s);
    struct result result =
        measure_evp(&row, length >= 256 * MIB ? 7 : 25, run_messages, &s, (double)length);
    print_rates(&row, &result, (double)length);
    pair_close(&s.pair);
}

int part_gcm_bulk(void)
{
    warm_up();
    for (int pinned = 0; pinned < 2; pinned++) {
        size_t most = options.quick ? MIB : GIB;
        struct memory m;
        enum kind kind = pinned ? PINNED : PAGEABLE;
        if (!memory_take(&m, "gcm-bulk", kind, most, most))
            continue;
        for (size_t length = 64 * KIB; length <= most; length *= 4)
            for (int encrypt = 1; encrypt >= 0; encrypt--)
                bulk_row(&m, encrypt, length);
        memory_give(&m);
    }
    return 0;
}

/* Compared with bare calls of libgpuaes. */
int part_gcm_evp(void)
{
    struct memory m;
    if (!device_memory_take(&m, "gcm-evp", options.quick ? 256 * KIB : GIB))
        return 0;
    for (size_t length = m.in.bytes; length >= 256 * KIB; length /= 16)
        for (int encrypt = 1; encrypt >= 0; encrypt--) {
            struct messages s = {.encrypt = encrypt, .bare = 1};
            s.pair.length = length;
            s.pair.calls = 1;
            pair_memory(&s.pair, m.in.p, m.out.p);
            (void)call_row(&s.call, &m, 256, encrypt, length);
            struct row row = message_row(&s, "gcm-evp", "device");
            row.against = "bare call";
            prepare(&s, row.cipher, 1);
            struct result result = measure_evp(&row, 31, run_messages, &s, (double)length);
            print_rates(&row, &result, (double)length);
            pair_close(&s.pair);
        }
    memory_give(&m);
    return 0;
}
