/*
 * What the scenarios of faults have in common: their shape, the answers they may give, and
 * updates of host memory compared with the default provider's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_FAULT_WORK_H
#define GPUAES_TEST_FAULT_WORK_H

#include "provider/common/errors.h"
#include "test/support/application.h"
#include "test/support/read_ahead_streams.h"

enum verdict { GOOD, REFUSED, WRONG };

/* When a scenario may refuse, with one of the reasons that are known. */
enum refusal {
    NEVER,
    IF_IT_HANGS, /* the device may still write to the output */
    IN_PLACE,    /* and it may have overwritten input, too */
    ON_DEVICE    /* no other side could do it */
};

struct scenario {
    const char *name;
    const char *settings;                     /* of the provider: "GPUAES_A=1 GPUAES_B=2" */
    const char *emulator;                     /* options in addition to the fault */
    int (*prepare)(const struct scenario *s); /* before calls are counted; 1 */
    enum verdict (*run)(const struct scenario *s);
    int (*check)(void); /* once the driver works again; NULL: nothing is left to check */
    /* Updates of so much, of 64 bytes, and of a fourth of it, 64 KiB at most. */
    const char *cipher;
    size_t bytes;
    int encrypt, in_place;
    enum place place;
    enum refusal refusal;
};

enum { ODD = 5 };
static const unsigned char fault_key[32] = "a key that no device gets to eat",
                           fault_iv[16] = "\xff\xff\xff";
static uint64_t given; /* bytes of updates that succeeded, as the statistics should have them */

/* 1 if the first error of the queue is one that a refusal may give. */
static int says_why(enum refusal refusal)
{
    static const char *const allowed[] = {"the GPU failed and the output buffer is undefined",
                                          "device memory cannot be used here", "no GPU can be used",
                                          "a device buffer leaves its allocation",
                                          "bad parameter" /* a stream that is not known */};
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    int says = 0;
    for (size_t i = 0; reason && i < (refusal == ON_DEVICE ? 5 : 1); i++)
        says |= !strcmp(reason, allowed[i]);
    if (!says)
        ERR_print_errors_fp(stderr);
    ERR_clear_error();
    return says;
}

/* ---- Updates of host memory ------------------------------------------------------- */

/* Input, output and what is expected of the updates one after the other. */
struct update {
    size_t length[3], total;
    unsigned char *in, *out, *expected;
};
static struct update the_update;

static EVP_CIPHER_CTX *open_context(const struct scenario *s, int ours, const OSSL_PARAM *params)
{
    EVP_CIPHER *cipher =
        ours ? fetch_ours(&providers, s->cipher) : fetch_reference(&providers, s->cipher);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int ok = EVP_CipherInit_ex2(context, cipher, fault_key, fault_iv, s->encrypt, params);
    EVP_CIPHER_free(cipher);
    if (ok)
        EVP_CIPHER_CTX_set_padding(context, 0);
    else
        EVP_CIPHER_CTX_free(context);
    return ok ? context : NULL;
}

static void expect(const struct scenario *s, struct update *u)
{
    struct tap_random random = {1};
    EVP_CIPHER_CTX *context = open_context(s, 0, NULL);
    size_t at = 0;
    u->length[0] = s->bytes;
    u->length[1] = 64;
    u->length[2] = (s->bytes < 256 * KIB ? s->bytes / 4 / 16 * 16 : 64 * KIB) + 48;
    u->total = u->length[0] + u->length[1] + u->length[2];
    u->expected = malloc(u->total + 32);
    tap_random_bytes(&random, u->in, u->total);
    for (int i = 0, n; i < 3; at += u->length[i++])
        if (!EVP_CipherUpdate(context, u->expected + at, &n, u->in + at, (int)u->length[i]))
            abort();
    EVP_CIPHER_CTX_free(context);
}

static enum verdict run_updates(const struct scenario *s, const struct update *u)
{
    EVP_CIPHER_CTX *context = open_context(s, 1, NULL);
    enum verdict verdict = GOOD;
    size_t at = 0;
    if (s->in_place)
        memmove(u->out, u->in, u->total);
    for (int i = 0, n = 0; verdict == GOOD && i < 3; at += u->length[i++]) {
        const unsigned char *in = (s->in_place ? u->out : u->in) + at;
        if (!EVP_CipherUpdate(context, u->out + at, &n, in, (int)u->length[i]))
            verdict = says_why(s->refusal) ? REFUSED : WRONG;
        else if (n != (int)u->length[i] || memcmp(u->out + at, u->expected + at, u->length[i]))
            verdict = WRONG;
        else
            given += u->length[i];
    }
    EVP_CIPHER_CTX_free(context);
    return verdict;
}

/* Ordinary work, which must be right at any time after any fault. */
static int work_as_usual(void)
{
    static const struct scenario usual[] = {
        {.cipher = "AES-256-CTR", .encrypt = 1, .in_place = 1, .bytes = 6000},
        {.cipher = "AES-128-ECB", .encrypt = 1, .bytes = 6000},
        {.cipher = "AES-192-CBC", .encrypt = 0, .bytes = 6000},
        {.cipher = "AES-256-CBC", .encrypt = 1, .bytes = 4000}};
    static unsigned char in[8000], out[8000];
    int right = 1;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        struct update u = {.in = in + ODD, .out = out + ODD};
        expect(&usual[i], &u);
        right &= run_updates(&usual[i], &u) == GOOD;
        free(u.expected);
    }
    return right;
}

static int prepare_update(const struct scenario *s)
{
    size_t room = s->bytes + 96 * KIB;
    int ready = work_as_usual() && (s->place == PAGEABLE || application_begin(0));
    the_update.in = ready ? application_alloc(s->place, room) : NULL;
    the_update.out = ready ? application_alloc(s->place, room) : NULL;
    if (the_update.in == NULL || the_update.out == NULL)
        return 0;
    the_update.in += ODD;
    the_update.out += ODD;
    expect(s, &the_update);
    return 1;
}

static enum verdict run_update(const struct scenario *s)
{
    return run_updates(s, &the_update);
}

#endif
