/*
 * Pipelines: each pipe does what a context of its own does in the default provider, whatever
 * the others do. Through EVP where libcrypto has pipelines, and by the dispatch functions of
 * the module in any case; with everything on the device (min-bytes is 0), by measurement, and
 * on the CPU; and on a device that fails.
 *
 * GPUAES_TEST_CASES is the number of random cases, GPUAES_TEST_SEED repeats a run.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/cases.h"
#include "test/support/pipes.h"

enum { BLOCK = 16, LENGTH = 2048, LONG_LENGTH = 40000, EDGE = 64, STEPS = 4 };

/* ---- One pipe compared with a context of the default provider ------------------ */

struct pipe_case {
    unsigned char iv[BLOCK];
    size_t length, size, consumed[2], written[2]; /* ours, and the reference's */
    unsigned char *in[2], *out[2];
    EVP_CIPHER_CTX *reference;
};

struct test_case {
    const struct cipher_row *row;
    struct tap_random *random;
    struct pipes ours;
    size_t count;
    int encrypt, padding, in_place, copies;
    unsigned char key[32];
    struct pipe_case pipe[PIPES_MOST];
};

static size_t below(struct test_case *c, size_t limit)
{
    return tap_random_below(c->random, limit);
}

static size_t random_length(struct test_case *c)
{
    size_t length = below(c, below(c, 16) ? LENGTH : LONG_LENGTH);

    if (below(c, 8) == 0)
        length = 0;
    /* What is decrypted, or not padded, ought to be whole blocks. */
    return c->row->mode != CTR && (!c->encrypt || !c->padding) ? length & ~(size_t)15 : length;
}

/* What a padded decryption gets was encrypted, and sometimes damaged. */
static void make_input(struct test_case *c, struct pipe_case *p)
{
    EVP_CIPHER *cipher = fetch_reference(&test_providers, c->row->name);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n = 0, last = 0;

    tap_random_bytes(c->random, p->in[1], p->length);
    if (c->row->mode != CTR && !c->encrypt && c->padding && below(c, 20)) {
        EVP_EncryptInit_ex2(context, cipher, c->key, p->iv, NULL);
        EVP_EncryptUpdate(context, p->in[1], &n, p->in[1], (int)p->length);
        EVP_EncryptFinal_ex(context, p->in[1] + n, &last);
        p->length = (size_t)n + (size_t)last;
    }
    memcpy(p->in[0], p->in[1], p->length);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
}

static void open_pipe(struct test_case *c, struct pipe_case *p)
{
    EVP_CIPHER *cipher = fetch_reference(&test_providers, c->row->name);
    int i;

    memset(p, 0, sizeof *p);
    p->length = random_length(c);
    p->size = p->length + EDGE;
    tap_random_bytes(c->random, p->iv, BLOCK);
    if (below(c, 4) == 0)
        memset(p->iv + 4, 0xff, 12); /* a counter that wraps */
    for (i = 0; i < 2; i++) {
        p->in[i] = malloc(p->size);
        memset(p->in[i], 0xa5, p->size);
        p->out[i] = c->in_place ? p->in[i] : malloc(p->size);
    }
    make_input(c, p);
    for (i = 0; i < 2 && !c->in_place; i++)
        memset(p->out[i], 0x5a, p->size);
    p->reference = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(p->reference, cipher, c->key, c->row->mode == ECB ? NULL : p->iv, c->encrypt,
                       NULL);
    EVP_CIPHER_CTX_set_padding(p->reference, c->padding);
    EVP_CIPHER_free(cipher);
}

static void close_pipe(struct test_case *c, struct pipe_case *p)
{
    int i;

    for (i = 0; i < 2; i++) {
        free(p->in[i]);
        if (!c->in_place)
            free(p->out[i]);
    }
    EVP_CIPHER_CTX_free(p->reference);
}

/* ---- Steps ----------------------------------------------------------------------- */

static int run_update(struct test_case *c, int last)
{
    unsigned char *out[PIPES_MOST];
    const unsigned char *in[PIPES_MOST];
    size_t room[PIPES_MOST], in_bytes[PIPES_MOST], out_bytes[PIPES_MOST], count = c->count, i;
    int ok, n;

    for (i = 0; i < count; i++) {
        struct pipe_case *p = &c->pipe[i];
        size_t left = p->length - p->consumed[0];
        in_bytes[i] = last ? left : below(c, left + 1);
        if (!last && below(c, 3) == 0)
            in_bytes[i] &= ~(size_t)15;
        in[i] = p->in[0] + p->consumed[0];
        out[i] = p->out[0] + p->written[0];
        room[i] = p->size - p->written[0];
    }
    ok = pipes_update(&c->ours, out, out_bytes, room, in, in_bytes);
    for (i = 0; i < count; i++) {
        struct pipe_case *p = &c->pipe[i];
        ok &= EVP_CipherUpdate(p->reference, p->out[1] + p->written[1], &n,
                               p->in[1] + p->consumed[1], (int)in_bytes[i]);
        ok &= out_bytes[i] == (size_t)n;
        p->consumed[0] = p->consumed[1] += in_bytes[i];
        p->written[0] += out_bytes[i];
        p->written[1] += (size_t)n;
    }
    return ok;
}

/* Where a pipe's end is bad, the others' are not. */
static int run_final(struct test_case *c)
{
    unsigned char *out[PIPES_MOST];
    size_t room[PIPES_MOST], out_bytes[PIPES_MOST] = {0}, i;
    int ours, all = 1, same = 1, n;

    for (i = 0; i < c->count; i++) {
        out[i] = c->pipe[i].out[0] + c->pipe[i].written[0];
        room[i] = BLOCK;
    }
    ours = pipes_final(&c->ours, out, out_bytes, room);
    for (i = 0; i < c->count; i++) {
        struct pipe_case *p = &c->pipe[i];
        int theirs = EVP_CipherFinal_ex(p->reference, p->out[1] + p->written[1], &n);
        all &= theirs;
        same &= !theirs || out_bytes[i] == (size_t)n;
    }
    ERR_clear_error();
    return same && ours == all;
}

static int same_output(const struct test_case *c)
{
    size_t i;

    for (i = 0; i < c->count; i++) {
        const struct pipe_case *p = &c->pipe[i];
        if (memcmp(p->out[0], p->out[1], p->size) != 0)
            return 0;
    }
    return 1;
}

static int initialise(struct test_case *c, const unsigned char *key)
{
    const unsigned char *iv[PIPES_MOST];
    size_t i;

    for (i = 0; i < c->count; i++)
        iv[i] = c->pipe[i].iv;
    return pipes_init(&c->ours, c->encrypt, key, c->row->key_bytes, c->count,
                      c->row->mode == ECB ? NULL : iv, c->row->mode == ECB ? 0 : BLOCK) &&
           pipes_set_padding(&c->ours, (unsigned)c->padding);
}

/* A message in each pipe. */
static int run_messages(struct test_case *c, const unsigned char *key)
{
    int ok = 1, step, steps = (int)below(c, STEPS);
    size_t i;

    for (i = 0; i < c->count; i++)
        open_pipe(c, &c->pipe[i]);
    ok = initialise(c, key);
    for (step = 0; ok && step <= steps; step++) {
        if (c->copies && below(c, 2))
            ok = pipes_become_copy(&c->ours);
        ok = ok && run_update(c, step == steps);
    }
    ok = ok && run_final(c) && same_output(c);
    for (i = 0; i < c->count; i++)
        close_pipe(c, &c->pipe[i]);
    return ok;
}

/* A context, and what it does one after the other. */
static int run_case(const struct cipher_row *row, struct tap_random *random, int by_evp)
{
    struct test_case c = {.row = row, .random = random};
    int ok, round, rounds;

    tap_random_bytes(random, c.key, sizeof c.key);
    c.count = 1 + below(&c, below(&c, 4) ? 8 : PIPES_MOST);
    c.encrypt = (int)below(&c, 2);
    c.padding = below(&c, 4) != 0;
    c.in_place = (int)below(&c, 2);
    c.copies = below(&c, 4) == 0;
    ok = pipes_open(&c.ours, &test_providers, row->name, by_evp);
    rounds = 1 + (int)below(&c, 3);
    for (round = 0; ok && round < rounds; round++) {
        /* The key stays; so may the number of pipes. */
        ok = run_messages(&c, round == 0 ? c.key : NULL);
        if (below(&c, 2))
            c.count = 1 + below(&c, 8);
    }
    pipes_close(&c.ours);
    return ok;
}

static void test_random_cases(const char *settings, int by_evp)
{
    int cases = (int)setting("GPUAES_TEST_CASES", sanitized() ? 8 : 40);
    int on_device = getenv("GPUAES_MIN_BYTES") != NULL && cases >= 16;
    for (size_t row = 0; row < CIPHER_ROWS; row++) {
        struct figures before = figures_get(&test_providers), after;
        struct tap_random random;
        int good = 1, i;
        tap_random_seed(&random);
        for (i = 0; good && i < cases; i++)
            good = run_case(&cipher_rows[row], &random, by_evp);
        after = figures_get(&test_providers);
        good &= after.faults == 0;
        good &=
            !on_device || (after.gpu_bytes > before.gpu_bytes && after.launches > before.launches);
        tap_ok(good, "%s, %s, %s: pipes do what contexts of their own do (%d cases)", settings,
               by_evp ? "EVP" : "dispatch functions", cipher_rows[row].name, i);
    }
}

/* ---- What the device does ------------------------------------------------------------ */

enum { WHOLE_PIPES = 3, WHOLE_BYTES = 5 * BLOCK };

/* Whole blocks in each pipe, in place; 1 if that succeeds. */
static int run_whole(const struct cipher_row *row, int encrypt,
                     unsigned char text[WHOLE_PIPES][WHOLE_BYTES], int by_evp)
{
    static const unsigned char key[32] = "a key", iv[BLOCK] = "an IV";
    const unsigned char *ivs[WHOLE_PIPES], *in[WHOLE_PIPES];
    unsigned char *out[WHOLE_PIPES];
    size_t in_bytes[WHOLE_PIPES], out_bytes[WHOLE_PIPES];
    int has_iv = row->mode != ECB;
    struct pipes p;

    for (size_t i = 0; i < WHOLE_PIPES; i++) {
        ivs[i] = iv;
        in[i] = out[i] = text[i];
        in_bytes[i] = WHOLE_BYTES;
    }
    int ok = pipes_open(&p, &test_providers, row->name, by_evp) &&
             pipes_init(&p, encrypt, key, row->key_bytes, WHOLE_PIPES, has_iv ? ivs : NULL,
                        has_iv ? BLOCK : 0) &&
             pipes_set_padding(&p, 0) && pipes_update(&p, out, out_bytes, in_bytes, in, in_bytes);
    pipes_close(&p);
    return ok;
}

/* CBC encryption is serial; all else is the device's, in every pipe. */
static void test_whole_blocks(int by_evp)
{
    for (size_t row = 0; row < CIPHER_ROWS; row++) {
        static const unsigned char plain[WHOLE_PIPES][WHOLE_BYTES] = {"one", "two", "three"};
        unsigned char text[WHOLE_PIPES][WHOLE_BYTES];
        struct figures before = figures_get(&test_providers), after;
        size_t ways = cipher_rows[row].mode == CBC ? 1 : 2;
        memcpy(text, plain, sizeof text);
        int good = run_whole(&cipher_rows[row], 1, text, by_evp) &&
                   run_whole(&cipher_rows[row], 0, text, by_evp) &&
                   memcmp(text, plain, sizeof text) == 0;
        after = figures_get(&test_providers);
        tap_ok(good && after.gpu_bytes - before.gpu_bytes == ways * sizeof text &&
                   after.launches > before.launches && after.faults == before.faults,
               "%s, %s: the device does what is parallel", by_evp ? "EVP" : "dispatch functions",
               cipher_rows[row].name);
    }
}

/* ---- What is refused ---------------------------------------------------------------- */

static void test_refusals(void)
{
    static const unsigned char key[32], iv[BLOCK], *ivs[PIPES_MOST + 1];
    static unsigned char memory[PIPES_MOST][64];
    unsigned char *out[PIPES_MOST];
    const unsigned char *in[PIPES_MOST];
    size_t room[PIPES_MOST], in_bytes[PIPES_MOST], out_bytes[PIPES_MOST], i, written = 0;
    struct pipes p;

    for (i = 0; i < PIPES_MOST; i++) {
        ivs[i] = iv;
        in[i] = out[i] = memory[i];
        room[i] = sizeof memory[i];
        in_bytes[i] = 32;
    }
    ivs[PIPES_MOST] = iv;
    if (!tap_ok(pipes_open(&p, &test_providers, "AES-256-CBC", 0), "a context"))
        return;
    p.count = 2;
    tap_ok(!pipes_update(&p, out, out_bytes, room, in, in_bytes) && reason_is("not initialised"),
           "no update before an initialisation");
    tap_ok(!pipes_init(&p, 1, key, 32, 0, ivs, BLOCK) && reason_is("wrong number of pipes") &&
               !pipes_init(&p, 1, key, 32, PIPES_MOST + 1, ivs, BLOCK) &&
               reason_is("wrong number of pipes"),
           "neither 0 nor 33 pipes");
    tap_ok(!pipes_init(&p, 1, key, 31, 2, ivs, BLOCK) && reason_is("invalid key length"),
           "no key of 31 bytes");
    tap_ok(!pipes_init(&p, 1, key, 32, 2, ivs, 15) && reason_is("invalid iv length"),
           "no initialization vector of 15 bytes");
    tap_ok(pipes_init(&p, 1, key, 32, 4, ivs, BLOCK), "4 pipes");
    tap_ok(!p.functions.pipes_update(p.direct, 3, out, out_bytes, room, in, in_bytes) &&
               reason_is("wrong number of pipes") &&
               !p.functions.pipes_final(p.direct, 0, out, out_bytes, room) &&
               reason_is("wrong number of pipes"),
           "not 3 pipes in an update, nor none at the end");
    tap_ok(!p.functions.pipes_update(p.direct, 4, NULL, out_bytes, NULL, in, in_bytes) &&
               reason_is("bad parameter"),
           "no additional data, which the ciphers do not take");
    tap_ok(!p.functions.update(p.direct, memory[0], &written, 64, memory[0], 32) &&
               reason_is("wrong number of pipes"),
           "no update of one message where there are pipes");
    room[2] = 16;
    memset(out_bytes, 0, sizeof out_bytes);
    tap_ok(!pipes_update(&p, out, out_bytes, room, in, in_bytes) &&
               reason_is("output buffer too small") && out_bytes[0] == 32 && out_bytes[1] == 32 &&
               out_bytes[3] == 32,
           "a pipe that lacks room fails, and the others are done");
    pipes_close(&p);
}

/* ---- Parameters ---------------------------------------------------------------------- */

static void test_parameters(int by_evp)
{
    static const unsigned char key[32] = "k", ivs[2][BLOCK] = {"first", "second"};
    const unsigned char *iv[] = {ivs[0], ivs[1]}, *in[] = {key, key};
    unsigned char text[2][64], got[BLOCK] = {0}, updated[BLOCK] = {0}, *out[] = {text[0], text[1]};
    size_t room[] = {64, 64}, in_bytes[] = {32, 16}, out_bytes[2] = {0, 0}, key_bytes = 0;
    unsigned padding = 7;
    OSSL_PARAM params[] = {OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, got, BLOCK),
                           OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, updated, BLOCK),
                           OSSL_PARAM_uint(OSSL_CIPHER_PARAM_PADDING, &padding),
                           OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, &key_bytes), OSSL_PARAM_END};
    const char *way = by_evp ? "EVP" : "dispatch functions";
    struct pipes p;

    if (!tap_ok(pipes_open(&p, &test_providers, "AES-256-CBC", by_evp) &&
                    pipes_init(&p, 1, key, 32, 2, iv, BLOCK) && pipes_set_padding(&p, 0) &&
                    pipes_update(&p, out, out_bytes, room, in, in_bytes),
                "%s: two pipes without padding", way))
        return;
    tap_ok(pipes_get_params(&p, params) && !memcmp(got, ivs[0], BLOCK) &&
               !memcmp(updated, text[0] + 16, BLOCK) && padding == 0 && key_bytes == 32,
           "%s: parameters are those of the first pipe", way);
    tap_ok(pipes_final(&p, out, out_bytes, room) && out_bytes[0] == 0 && out_bytes[1] == 0,
           "%s: padding was set in all of them", way);
    pipes_close(&p);
}

/* 3.5 then says that there are 0 pipes: that must not pass for an update. */
static void test_named_again(void)
{
    static const unsigned char key[32], iv[BLOCK];
    const unsigned char *ivs[] = {iv, iv}, *in[] = {key, key};
    unsigned char text[2][32], *out[] = {text[0], text[1]};
    size_t room[] = {32, 32}, in_bytes[] = {32, 32}, out_bytes[2] = {0, 0};
    struct pipes p;
    int ok = pipes_open(&p, &test_providers, "AES-256-CTR", 1) &&
             pipes_init(&p, 1, key, 32, 2, ivs, BLOCK);

    p.count = 0; /* so that the cipher is named */
    ok = ok && pipes_init(&p, 1, key, 32, 2, ivs, BLOCK);
    if (ok && !pipes_update(&p, out, out_bytes, room, in, in_bytes))
        ok = reason_is("wrong number of pipes");
    else
        ok = ok && out_bytes[0] == 32 && out_bytes[1] == 32;
    tap_ok(ok, "EVP: a cipher named again: all pipes are done, or it says why not");
    pipes_close(&p);
}

/* ---- A device that fails ---------------------------------------------------------------- */

enum { RIGHT, WRONG, NO_EMULATOR };

/* Every pipe is right, whatever became of the device, which did fail. */
static int run_with_faults(const char *options)
{
    struct tap_random random = {.state = 99};
    int ok = 1, i;

    alarm(200);
    setenv("GPUAES_EMULATOR", options, 1);
    set_timeout_for(options);
    test_providers = providers_load();
    for (i = 0; ok && i < 5 * CIPHER_ROWS; i++)
        ok = run_case(&cipher_rows[i % CIPHER_ROWS], &random, 0);
    if (!application_emulated())
        return NO_EMULATOR;
    return ok && figure("faults") > 0 ? RIGHT : WRONG;
}

static void test_faults(void)
{
    static const char *const options[] = {"fault=launch_kernel:3", "fault=memcpy_htod_async:4",
                                          "fault=stream_query:2",  "fault=memset_d8_async:1",
                                          "lost=stream_create:1",  "lost=launch_kernel:4",
                                          "lost=stream_query:3",   "hang=2"};
    size_t i;

    for (i = 0; i < sizeof options / sizeof options[0]; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(run_with_faults(options[i]));
        int status = exit_status(child);
        if (status == NO_EMULATOR) {
            tap_skip("faults: they take the emulator");
            return;
        }
        tap_ok(status == RIGHT, "%s: the CPU does what the device does not", options[i]);
    }
}

/* ---- All of it ------------------------------------------------------------------------ */

static void test_registration(int has_evp)
{
    size_t row;

    for (row = 0; row < CIPHER_ROWS; row++) {
        EVP_CIPHER *ours = fetch_ours(&test_providers, cipher_rows[row].name);
        EVP_CIPHER *theirs = fetch_reference(&test_providers, cipher_rows[row].name);
        struct pipes_functions functions;
        tap_ok(pipes_find_functions(test_providers.gpuaes, cipher_rows[row].name, &functions),
               "%s has pipelines by number", cipher_rows[row].name);
        if (has_evp)
            tap_ok(pipes_evp.can_pipeline(ours, 0) && pipes_evp.can_pipeline(ours, 1) &&
                       !pipes_evp.can_pipeline(theirs, 1),
                   "%s: libcrypto knows it", cipher_rows[row].name);
        EVP_CIPHER_free(ours);
        EVP_CIPHER_free(theirs);
    }
}

static void test_with(const char *settings, const char *name, const char *value, int has_evp)
{
    int by_evp;

    if (name)
        setenv(name, value, 1);
    test_providers = providers_load();
    for (by_evp = 0; by_evp <= has_evp; by_evp++)
        test_random_cases(settings, by_evp);
    providers_unload(&test_providers);
    if (name)
        unsetenv(name);
}

int main(void)
{
    int has_evp = pipes_find_evp(), by_evp;

    tap_diag("%s", OpenSSL_version(OPENSSL_VERSION));
    if (stand_in()) {
        tap_skip("the default provider has no pipelines");
        return tap_done();
    }
    if (!has_evp)
        tap_skip("EVP pipelines: %s has none; 3.5 has", OpenSSL_version(OPENSSL_VERSION));
    setenv("GPUAES_MIN_BYTES", "0", 1);
    test_faults();
    test_providers = providers_load();
    test_registration(has_evp);
    for (by_evp = 0; by_evp <= has_evp; by_evp++) {
        test_whole_blocks(by_evp);
        test_parameters(by_evp);
    }
    test_refusals();
    if (has_evp)
        test_named_again();
    providers_unload(&test_providers);
    test_with("on the device", NULL, NULL, has_evp);
    unsetenv("GPUAES_MIN_BYTES");
    test_with("by measurement", "GPUAES_START", "eager", has_evp);
    test_with("on the CPU", "GPUAES_POLICY", "cpu", has_evp);
    return tap_done();
}
