/*
 * Pointers to the IVs of a context, as EVP_CIPHER_CTX_iv(), EVP_CIPHER_CTX_iv_noconst() and
 * EVP_CIPHER_CTX_original_iv() return them: they hold as long as the context, show its IVs after
 * every call, and what is written through them counts. Ours beside the default provider's,
 * in streams of updates that the CPU does, that a device does, and that are read ahead of.
 *
 * GPUAES_TEST_CASES (40) says how many random walks there are.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/read_ahead_streams.h"

enum { STEPS = 40, LARGE = 64 * KIB };

static struct memory *memory;

/* NULL: not asked for. */
struct pointers {
    unsigned char *updated[SIDES], *original[SIDES];
};

/* ---- Pointers: 1 if both sides agree ------------------------------------------- */

static int take(const struct stream *s, const char *name, unsigned char *iv[SIDES])
{
    int right = 1;
    for (int i = 0; i < SIDES; i++) {
        void *pointer = NULL;
        OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_ptr(name, &pointer, BLOCK),
                               OSSL_PARAM_END};
        right &= EVP_CIPHER_CTX_get_params(s->side[i], params) && pointer != NULL &&
                 (iv[i] == NULL || iv[i] == pointer);
        iv[i] = pointer;
    }
    if (!right)
        tap_diag("%s is not to be had, or elsewhere than before", name);
    return right;
}

static int take_updated(const struct stream *s, struct pointers *p)
{
    return take(s, OSSL_CIPHER_PARAM_UPDATED_IV, p->updated);
}

static int take_original(const struct stream *s, struct pointers *p)
{
    return take(s, OSSL_CIPHER_PARAM_IV, p->original);
}

static int show_the_same(unsigned char *const iv[SIDES], const char *name)
{
    if (iv[OURS] == NULL || !memcmp(iv[OURS], iv[REFERENCE], BLOCK))
        return 1;
    tap_diag("the pointer to the %s IV does not show what the default provider's does", name);
    return 0;
}

static int pointers_agree(const struct pointers *p)
{
    return show_the_same(p->updated, "updated") && show_the_same(p->original, "original");
}

static void write_iv(const struct pointers *p, const unsigned char iv[BLOCK])
{
    for (int i = 0; i < SIDES; i++)
        memcpy(p->updated[i], iv, BLOCK);
}

/* ---- Streams that are read ahead of ----------------------------------------------- */

static const unsigned char third_iv[BLOCK] = "a third one.";

static int go_on(struct stream *s, const struct pointers *p)
{
    static const size_t lengths[] = {5000, 16, 1, LARGE + 7, 8192, 3};
    int right = 1;
    for (size_t i = 0; right && i < sizeof lengths / sizeof lengths[0]; i++)
        right = stream_update(s, lengths[i]) && pointers_agree(p);
    return right;
}

static int while_it_is_read_ahead_of(void)
{
    struct stream s;
    struct pointers p = {{NULL}, {NULL}};
    int right = stream_begin(&s, memory, "AES-256-CTR") && take_original(&s, &p) &&
                stream_served(&s, 1) && pointers_agree(&p) && take_updated(&s, &p) &&
                pointers_agree(&p) && go_on(&s, &p);
    if (right)
        write_iv(&p, other_iv);
    right = right && go_on(&s, &p) && stream_agrees(&s) && stream_init(&s, NULL, third_iv, -1) &&
            pointers_agree(&p) && go_on(&s, &p);
    if (right)
        write_iv(&p, other_iv);
    right = right && go_on(&s, &p) && take_updated(&s, &p) && take_original(&s, &p);
    stream_close(&s);
    return right;
}

static int before_it_is_read_ahead_of(void)
{
    struct stream s = stream_open(memory, "AES-128-CTR", usual_key, usual_iv);
    struct pointers p = {{NULL}, {NULL}};
    uint64_t before = ahead_get().bytes;
    int right = take_updated(&s, &p);
    for (size_t done = 0; right && done < 3 * BEGINS_AFTER; done += PACED)
        right = stream_update(&s, PACED) && pointers_agree(&p);
    if (right)
        write_iv(&p, other_iv);
    right = right && go_on(&s, &p);
    stream_close(&s);
    return right && ahead_get().bytes == before;
}

/* The copy has IVs of its own, to which nobody has a pointer: it is read ahead of. */
static int a_copy(void)
{
    struct stream s, copy = {.side = {NULL}};
    struct pointers p = {{NULL}, {NULL}};
    int right = stream_begin(&s, memory, "AES-192-CTR") && take_updated(&s, &p) &&
                take_original(&s, &p) && stream_update(&s, 333) && stream_copy(&copy, &s);
    if (right)
        write_iv(&p, other_iv);
    right = right && stream_agrees(&copy) && stream_served(&copy, 1) && stream_agrees(&copy) &&
            pointers_agree(&p) && !memcmp(p.updated[OURS], other_iv, BLOCK) && go_on(&s, &p);
    stream_close(&copy);
    stream_close(&s);
    return right;
}

/* ---- Random walks -------------------------------------------------------------------- */

struct walk {
    struct tap_random chance;
    struct stream s;
    struct pointers p;
    int is_ctr;
};

static size_t below(struct walk *w, size_t n)
{
    return tap_random_below(&w->chance, n);
}

static int step_init(struct walk *w)
{
    unsigned char key[32], iv[BLOCK];
    int with_key = below(w, 2) != 0, with_iv = below(w, 2) != 0;
    tap_random_bytes(&w->chance, key, sizeof key);
    tap_random_bytes(&w->chance, iv, sizeof iv);
    /* CBC in the other direction needs the key's other schedule. */
    int direction = with_key ? (int)below(w, 2) : -1;
    return stream_init(&w->s, with_key ? key : NULL, with_iv ? iv : NULL, direction);
}

static int step_write(struct walk *w)
{
    unsigned char iv[BLOCK];
    tap_random_bytes(&w->chance, iv, sizeof iv);
    if (below(w, 3) == 0)
        memset(iv + 4, 0xff, BLOCK - 4); /* it wraps */
    if (w->p.updated[OURS] != NULL)
        write_iv(&w->p, iv);
    return 1;
}

/* The copy takes the place of the stream, half of the time. */
static int step_copy(struct walk *w)
{
    struct stream copy = {.side = {NULL}};
    int right = stream_copy(&copy, &w->s) && stream_update(&copy, 1 + below(w, 2 * LARGE));
    if (right && below(w, 2)) {
        struct stream former = w->s;
        w->s = copy;
        copy = former;
        memset(&w->p, 0, sizeof w->p);
    }
    stream_close(&copy);
    return right;
}

static int step_serve(struct walk *w)
{
    if (!w->is_ctr || w->p.updated[OURS] != NULL)
        return 1;
    return stream_served(&w->s, 1);
}

static int step(struct walk *w)
{
    size_t chosen = below(w, 32);
    int right = chosen < 12   ? stream_update(&w->s, 1 + below(w, 5000))
                : chosen < 20 ? stream_update(&w->s, 1 + below(w, 4 * LARGE))
                : chosen < 22 ? step_init(w)
                : chosen < 26 ? step_write(w)
                : chosen < 27 ? step_copy(w)
                : chosen < 28 ? step_serve(w)
                : chosen < 30 ? take_updated(&w->s, &w->p)
                              : take_original(&w->s, &w->p);
    return right && pointers_agree(&w->p) && (below(w, 2) || stream_agrees(&w->s));
}

static int take_walk(uint64_t seed, const char *name)
{
    struct walk w = {.chance = {seed | 1}, .is_ctr = strstr(name, "CTR") != NULL};
    w.s = stream_open(memory, name, usual_key, usual_iv);
    int right = stream_init(&w.s, usual_key, usual_iv, (int)below(&w, 2));
    for (int i = 0; right && i < STEPS; i++) {
        right = step(&w);
        if (!right)
            tap_diag("step %d", i);
    }
    stream_close(&w.s);
    return right;
}

static void check_walks(const char *name, size_t count, struct tap_random *seeds)
{
    struct ahead before = ahead_get();
    int right = 1;
    for (size_t i = 0; right && i < count; i++)
        right = take_walk(tap_random_next(seeds), name);
    tap_ok(right && (stand_in() || ahead_get().gpu > before.gpu),
           "%s: random walks beside the default provider", name);
}

int main(void)
{
    size_t count = setting("GPUAES_TEST_CASES", 40);
    struct tap_random seeds;
    setenv("GPUAES_MIN_BYTES", "64K", 1);
    tap_random_seed(&seeds);
    memory = memory_new(tap_random_next(&seeds));
    if (!tap_ok(ahead_begin(), "the device is there"))
        return tap_done();
    tap_ok(while_it_is_read_ahead_of(), "pointers to the IVs of a stream that is read ahead of");
    tap_ok(before_it_is_read_ahead_of(), "a stream to whose IV there is a pointer is the CPU's");
    tap_ok(a_copy(), "a copy of such a stream is read ahead of");
    check_walks("AES-128-CBC", count / 4, &seeds);
    check_walks("AES-256-CBC", count / 4, &seeds);
    check_walks("AES-192-CTR", count / 4, &seeds);
    check_walks("AES-256-CTR", count / 4, &seeds);
    free(memory);
    providers_unload(&providers);
    return tap_done();
}
