/*
 * Sets of messages for tests that have the provider's own code linked in: contexts of any key,
 * mode and direction, each beside one of the default provider. And children of the test, since
 * the device's state belongs to a process: each has its own emulator.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_MESSAGES_H
#define GPUAES_TEST_MESSAGES_H

#include <openssl/core_dispatch.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../provider/aes.h"
#include "../provider/aes_messages.h"
#include "../provider/aes_update.h"
#include "../provider/engine_measure.h"
#include "pipes.h"

enum { BLOCK = 16, MOST = 96, LENGTH = 1500, ROOM = 4096, ROUNDS = 3 };

OSSL_provider_init_fn OSSL_provider_init;

static struct providers providers;

/* The providers, ours built in. Settings and emulator are as the environment says. */
static void load(void)
{
    providers.properties = "provider=gpuaes";
    providers.ours = OSSL_LIB_CTX_new();
    providers.reference = OSSL_LIB_CTX_new();
    if (OSSL_PROVIDER_add_builtin(providers.ours, "gpuaes", OSSL_provider_init))
        providers.gpuaes = OSSL_PROVIDER_load(providers.ours, "gpuaes");
    providers.reference_default = OSSL_PROVIDER_load(providers.reference, "default");
    if (!providers.gpuaes || !providers.reference_default) {
        puts("Bail out! the providers do not load");
        exit(EXIT_FAILURE);
    }
}

static struct provider *ours(void)
{
    return OSSL_PROVIDER_get0_provider_ctx(providers.gpuaes);
}

/* ---- A set of messages, and what they should become -------------------------------- */

struct subject {
    struct aes_context *context;
    EVP_CIPHER_CTX *reference;
    OSSL_FUNC_cipher_freectx_fn *freectx;
    unsigned char *in, *out, *expected;
    size_t in_bytes, out_bytes, expected_bytes;
};

struct set {
    struct tap_random random;
    enum { APART, IN_PLACE, PINNED_IN_PLACE } where;
    size_t count;
    struct subject subject[MOST];
    struct aes_message message[MOST], *list[MOST];
    unsigned char *pinned;
};

/* Two keys for all of them, and some of their own. */
static void open_subject(struct set *s, struct subject *x)
{
    const struct cipher_row *row = &cipher_rows[tap_random_below(&s->random, CIPHER_ROWS)];
    unsigned char key[32] = "one of two keys, or of its own.", iv[BLOCK];
    int encrypt = (int)tap_random_below(&s->random, 2);
    EVP_CIPHER *cipher = fetch_reference(&providers, row->name);
    struct pipes_functions f;
    OSSL_PARAM params[] = {OSSL_PARAM_END, OSSL_PARAM_END};
    unsigned padding = 0;

    tap_random_bytes(&s->random, iv, BLOCK);
    if (tap_random_below(&s->random, 3) == 0)
        tap_random_bytes(&s->random, key, sizeof key);
    key[0] ^= (unsigned char)tap_random_below(&s->random, 2);
    params[0] = OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_PADDING, &padding);
    x->reference = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(x->reference, cipher, key, row->mode == ECB ? NULL : iv, encrypt, params);
    EVP_CIPHER_free(cipher);
    if (!pipes_find_functions(providers.gpuaes, row->name, &f))
        abort();
    x->freectx = f.freectx;
    x->context = f.newctx(ours());
    if (!aes_init(x->context, encrypt, key, row->key_bytes, iv, row->mode == ECB ? 0 : BLOCK,
                  params))
        abort();
}

UNUSED static void open_set(struct set *s, uint64_t seed, int where, size_t count)
{
    size_t i;

    memset(s, 0, sizeof *s);
    s->random.state = seed;
    s->where = where;
    s->count = count;
    for (i = 0; i < count; i++) {
        struct subject *x = &s->subject[i];
        open_subject(s, x);
        s->message[i].context = x->context;
        s->list[i] = &s->message[i];
        x->expected = malloc(ROOM);
        x->in = malloc(ROOM);
        x->out = where == APART ? malloc(ROOM) : x->in;
    }
}

UNUSED static void close_set(struct set *s)
{
    size_t i;

    for (i = 0; i < s->count; i++) {
        struct subject *x = &s->subject[i];
        x->freectx(x->context);
        EVP_CIPHER_CTX_free(x->reference);
        free(x->expected);
        if (s->where != PINNED_IN_PLACE)
            free(x->in);
        if (s->where == APART)
            free(x->out);
    }
    gpuaes_pinned_free(s->pinned, MOST * ROOM);
}

/* Pinned memory takes a device. 0 where there is none. */
UNUSED static int pin(struct set *s)
{
    size_t i;

    if (gpuaes_start(NULL, NULL, 1) == GPUAES_READY)
        s->pinned = gpuaes_pinned_alloc(MOST * ROOM);
    for (i = 0; s->pinned && i < s->count; i++) {
        free(s->subject[i].in);
        s->subject[i].in = s->subject[i].out = s->pinned + i * ROOM;
    }
    if (!s->pinned)
        s->where = IN_PLACE;
    return s->pinned != NULL;
}

/* An update of each; the reference's is made first. */
UNUSED static void prepare(struct set *s)
{
    size_t i;
    int n;

    for (i = 0; i < s->count; i++) {
        struct subject *x = &s->subject[i];
        x->in_bytes = tap_random_below(&s->random, LENGTH);
        /* In place, what is held back would put the output ahead of the input. */
        if (tap_random_below(&s->random, 2) ||
            (s->where != APART && EVP_CIPHER_CTX_get_block_size(x->reference) != 1))
            x->in_bytes &= ~(size_t)15;
        tap_random_bytes(&s->random, x->in, ROOM);
        if (x->out != x->in)
            memset(x->out, 0, ROOM);
        memcpy(x->expected, x->out, ROOM);
        EVP_CipherUpdate(x->reference, x->expected, &n, x->in, (int)x->in_bytes);
        x->expected_bytes = (size_t)n;
        s->message[i].call = (struct call){.out = x->out,
                                           .out_bytes = &x->out_bytes,
                                           .room = ROOM,
                                           .in = x->in,
                                           .in_bytes = x->in_bytes};
    }
}

UNUSED static size_t count_wrong(const struct set *s)
{
    size_t i, wrong = 0;

    for (i = 0; i < s->count; i++) {
        const struct subject *x = &s->subject[i];
        wrong += x->out_bytes != x->expected_bytes || memcmp(x->out, x->expected, ROOM) != 0;
    }
    return wrong;
}

/* Some updates of all; the first that is not right ends it. */
UNUSED static int run_set(struct set *s)
{
    int round, ok = 1;

    for (round = 0; ok && round < ROUNDS; round++) {
        prepare(s);
        ok = aes_messages_run(ours(), s->list, s->count) && count_wrong(s) == 0;
    }
    return ok;
}

UNUSED static uint64_t gpu_bytes(void)
{
    struct gpuaes_statistics statistics;

    gpuaes_get_statistics(&statistics);
    return statistics.bytes;
}

/* ---- Children --------------------------------------------------------------------------- */

typedef int child_fn(const void *argument);

/* What a child says, in a process whose emulator has these options. */
UNUSED static int run_child(const char *options, child_fn *function, const void *argument)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        alarm(200);
        setenv("GPUAES_EMULATOR", options, 1);
        set_timeout_for(options);
        load();
        status = function(argument);
        providers_unload(&providers);
        _exit(status);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

#endif
