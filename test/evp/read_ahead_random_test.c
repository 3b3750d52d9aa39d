/*
 * Read-ahead under random use, ours compared with the default provider's: some streams at
 * once, each of which takes random steps: updates and one-shot calls of all sizes
 * in buffers of all kinds, initialisations with any of key and IV, copies, settings,
 * finals, pauses; and time and again a run at a pace until keystream of the device
 * is used. After every step the bytes, the IVs and `num` are the same.
 *
 * GPUAES_TEST_CASES (12) walks; GPUAES_TEST_SEED repeats them (but for the moments
 * at which segments arrive) and GPUAES_TEST_ONLY takes one of them alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/read_ahead_streams.h"

enum { LIVE = 4, STEPS_MOST = 60 };

struct walk {
    struct tap_random chance;
    struct memory *memory;
    struct stream live[LIVE];
    unsigned count;
    char log[3000]; /* what was done, shown where a walk fails */
    size_t log_length;
};

static size_t below(struct walk *w, size_t limit)
{
    return tap_random_below(&w->chance, limit);
}

/* 0 .. limit - 1; each power of two is as likely as the next. */
static size_t skewed(struct walk *w, unsigned bits)
{
    return below(w, (size_t)1 << below(w, bits + 1));
}

TAP_PRINTF(2, 3) static void note(struct walk *w, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof w->log - w->log_length;
    va_start(arguments, format);
    int n = vsnprintf(w->log + w->log_length, room, format, arguments);
    va_end(arguments);
    w->log_length += n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* ---- Steps -------------------------------------------------------------------- */

static struct call random_call(struct walk *w, unsigned bits)
{
    static const int distances[] = {0, 0, 0, 0, -16, -1, -100, 16, 5, 200};
    struct call call = {.way = below(w, 4) ? UPDATE : ONE_SHOT,
                        .length = skewed(w, bits),
                        .apart = below(w, 2) != 0,
                        .in_at = below(w, 3) ? 0 : (unsigned)below(w, 16),
                        .out_at = below(w, 3) ? 0 : (unsigned)below(w, 16)};
    if (below(w, 3) == 0)
        call.length &= ~(size_t)(BLOCK - 1);
    call.distance = distances[below(w, sizeof distances / sizeof distances[0])];
    note(w, " %s(%zu %s%d)", call.way == UPDATE ? "update" : "one-shot", call.length,
         call.apart ? "apart " : "at ", call.distance);
    return call;
}

static int step_calls(struct walk *w, struct stream *s)
{
    int right = 1;
    for (size_t times = 1 + below(w, 8); right && times; times--) {
        struct call call = random_call(w, 17);
        right = stream_call(s, &call);
    }
    return right;
}

static int step_large(struct walk *w, struct stream *s)
{
    struct call call = random_call(w, 21);
    return stream_call(s, &call);
}

/* As many of one kind as it takes. */
static int step_run(struct walk *w, struct stream *s)
{
    struct call call = random_call(w, 14);
    call.length += 4 * KIB;
    call.distance = 0; /* what overlaps otherwise is the CPU's */
    size_t more = 1 + skewed(w, 19);
    note(w, " run(%zu more)", more);
    return stream_served_by(s, more, &call);
}

static int step_init(struct walk *w, struct stream *s)
{
    unsigned char key[32], iv[BLOCK];
    int with_key = below(w, 3) == 0, with_iv = below(w, 3) != 0, direction = (int)below(w, 3) - 1;
    tap_random_bytes(&w->chance, key, sizeof key);
    tap_random_bytes(&w->chance, iv, sizeof iv);
    if (below(w, 3) == 0) { /* wraps soon after a ring begins */
        size_t ones = (size_t)4 << below(w, 3);
        memset(iv + BLOCK - ones, 0xff, ones);
        iv[13] = 0xfe;
        iv[14] = (unsigned char)below(w, 256);
    }
    note(w, " init(%s%s%d)", with_key ? "key " : "", with_iv ? "iv " : "", direction);
    return stream_init(s, with_key ? key : NULL, with_iv ? iv : NULL, direction);
}

static int step_copy(struct walk *w, const struct stream *s)
{
    unsigned to = (unsigned)below(w, LIVE);
    to = to < w->count ? to : w->count;
    if (&w->live[to] == s)
        return 1;
    note(w, " copy(to #%u)", to);
    w->count += to == w->count;
    return stream_copy(&w->live[to], s) && stream_agrees(&w->live[to]);
}

/* Another `num` than 0 would have the default use what some former block has left. */
static int step_set(struct walk *w, struct stream *s)
{
    unsigned value = 0;
    const char *key = below(w, 2) ? OSSL_CIPHER_PARAM_NUM : OSSL_CIPHER_PARAM_PADDING;
    OSSL_PARAM params[] = {OSSL_PARAM_uint(key, &value), OSSL_PARAM_END};
    note(w, " set(%s=0)", key);
    return stream_set(s, params);
}

static int step_final(struct walk *w, struct stream *s)
{
    note(w, " final");
    return stream_final(s) && stream_update(s, below(w, 5000)) && step_init(w, s);
}

static int step_close(struct walk *w, struct stream *s)
{
    if (w->count == 1)
        return 1;
    note(w, " close");
    stream_close(s);
    *s = w->live[--w->count];
    memset(&w->live[w->count], 0, sizeof *s);
    return 1;
}

static int step_pause(struct walk *w)
{
    note(w, " pause");
    sleep_ms((long)below(w, 20));
    return 1;
}

static int step(struct walk *w)
{
    struct stream *s = &w->live[below(w, w->count)];
    note(w, " #%d", (int)(s - w->live));
    size_t chosen = below(w, 40);
    int right = chosen < 16   ? step_calls(w, s)
                : chosen < 18 ? step_large(w, s)
                : chosen < 26 ? step_run(w, s)
                : chosen < 30 ? step_init(w, s)
                : chosen < 33 ? step_copy(w, s)
                : chosen < 34 ? step_set(w, s)
                : chosen < 35 ? step_final(w, s)
                : chosen < 37 ? step_close(w, s)
                              : step_pause(w);
    for (unsigned i = 0; right && i < w->count; i++)
        right = stream_agrees(&w->live[i]);
    return right;
}

/* ---- Walks -------------------------------------------------------------------- */

static int take_walk(struct walk *w)
{
    static const char *const names[] = {"AES-128-CTR", "AES-192-CTR", "AES-256-CTR"};
    unsigned char key[32], iv[BLOCK];
    tap_random_bytes(&w->chance, key, sizeof key);
    tap_random_bytes(&w->chance, iv, sizeof iv);
    const char *name = names[below(w, 3)];
    note(w, "%s:", name);
    w->live[0] = stream_open(w->memory, name, key, iv);
    w->count = 1;
    int right = stream_served(&w->live[0], 1);
    for (size_t steps = 10 + below(w, STEPS_MOST); right && steps; steps--)
        right = step(w);
    for (unsigned i = 0; i < w->count; i++)
        stream_close(&w->live[i]);
    return right;
}

int main(void)
{
    size_t count = setting("GPUAES_TEST_CASES", 12), wrong = 0;
    struct tap_random seeds;
    tap_random_seed(&seeds);
    struct memory *memory = memory_new(tap_random_next(&seeds));
    if (!tap_ok(ahead_begin(), "the device is there"))
        return tap_done();
    for (size_t i = 0; i < count && wrong < 3; i++) {
        struct walk *w = calloc(1, sizeof *w);
        w->memory = memory;
        w->chance.state = tap_random_next(&seeds) | 1;
        if (setting("GPUAES_TEST_ONLY", i) == i) {
            uint64_t before = ahead_get().bytes;
            int right = take_walk(w);
            wrong += (size_t)!tap_ok(right, "walk %zu is right, %llu bytes served", i,
                                     (unsigned long long)(ahead_get().bytes - before));
            if (!right)
                tap_diag("%s", w->log);
        }
        free(w);
    }
    if (stand_in())
        tap_skip("the default provider keeps no figures");
    else
        tap_ok(ahead_get().faults == 0, "no call of the driver has failed");
    free(memory);
    providers_unload(&providers);
    return tap_done();
}
