/*
 * Random use of the ciphers, ours beside the default provider's: after every
 * step the return value, the output with what lies around it, the first error,
 * the initialization vectors and `num` are the same.
 *
 * A case is a walk: a context is initialised and then takes random steps
 * (updates, one-shot calls, copies, re-initialisations, settings, finals), with
 * the probabilities that its kind gives. Or it is a message: encrypted by the
 * default provider, sometimes damaged, and decrypted by both. Of some kinds our
 * side has device-memory=1, and its input and output lie in memory of every kind.
 *
 * GPUAES_TEST_CASES is the number of cases, GPUAES_TEST_SEED repeats a run and
 * GPUAES_TEST_ONLY one case of it. GPUAES_MIN_BYTES is 0 unless it is set:
 * every whole block goes through a kernel.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/core_names.h>

#include "test/support/application.h"
#include "test/support/providers.h"

enum step { UPDATE, ONE_SHOT, COPY, INIT, SET_NUM, SET_PADDING, FINAL, STEPS };
enum layout {
    APART = 1,
    IN_PLACE = 2,
    LAGGING = 4,
    OVERLAPPING = 8,
    ANY_OVERLAP = 16,
    LAYOUTS = 5
};

struct kind {
    const char *name;
    size_t length;        /* updates are shorter than this; short ones are likelier */
    int message;          /* a message rather than a walk */
    unsigned steps;       /* at most */
    unsigned odds[STEPS]; /* of each step, against each other */
    unsigned layouts;     /* one of these for each call */
    int wraps;            /* counters start just below a wrap at 32, 64 or 128 bits */
    int on_device;        /* with device-memory=1, and memory of all kinds in turn */
};

#define UPDATES .odds = {[UPDATE] = 12, [FINAL] = 1}

static const struct kind kinds[] = {
    {"small updates", .length = 512, .steps = 30, .layouts = APART, UPDATES},
    {"large updates", .length = 4 << 20, .steps = 5, .layouts = APART, UPDATES},
    {"updates in place", .length = 65536, .steps = 15, .layouts = IN_PLACE, UPDATES},
    {"lagging and overlapping updates", .length = 65536, .steps = 15,
     .layouts = APART | LAGGING | OVERLAPPING, UPDATES},
    {"counters that wrap", .length = 32768, .steps = 8, .layouts = APART | IN_PLACE, .wraps = 1,
     .odds = {[UPDATE] = 12, [INIT] = 2, [FINAL] = 1}},
    {"copies in mid-stream", .length = 8192, .steps = 20, .layouts = APART | IN_PLACE,
     .odds = {[UPDATE] = 12, [COPY] = 4, [INIT] = 1, [FINAL] = 1}},
    {"re-initialisation in mid-stream", .length = 8192, .steps = 20, .layouts = APART | IN_PLACE,
     .odds = {[UPDATE] = 10, [INIT] = 5, [FINAL] = 1}},
    {"one-shot calls in mid-stream", .length = 16384, .steps = 15,
     .layouts = APART | IN_PLACE | LAGGING,
     .odds = {[UPDATE] = 5, [ONE_SHOT] = 8, [INIT] = 1, [FINAL] = 1}},
    {"num and padding set in mid-stream", .length = 4096, .steps = 20, .layouts = APART,
     .odds = {[UPDATE] = 10, [SET_NUM] = 2, [SET_PADDING] = 2, [FINAL] = 1}},
    {"everything", .length = 262144, .steps = 12,
     .layouts = APART | IN_PLACE | LAGGING | OVERLAPPING, .wraps = 1,
     .odds = {[UPDATE] = 12,
              [ONE_SHOT] = 2,
              [COPY] = 2,
              [INIT] = 2,
              [SET_NUM] = 1,
              [SET_PADDING] = 1,
              [FINAL] = 1}},
    {"device, managed, pinned and pageable memory", .on_device = 1, .length = 9000, .steps = 10,
     .layouts = APART | IN_PLACE | LAGGING | ANY_OVERLAP, .wraps = 1,
     .odds = {[UPDATE] = 12, [COPY] = 1, [INIT] = 1, [FINAL] = 1}},
    {"one-shot calls on such memory", .on_device = 1, .length = 9000, .steps = 10,
     .layouts = APART | IN_PLACE | LAGGING | ANY_OVERLAP,
     .odds = {[UPDATE] = 8, [ONE_SHOT] = 4, [COPY] = 1, [INIT] = 1, [FINAL] = 1}},
    {"messages, whole and damaged", .message = 1, .length = 100000, .steps = 10, .layouts = APART},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

enum { EDGE = 256, LIVE = 3, BLOCK = 16 };

/* Ours and the default's of everything. */
enum { OURS, REFERENCE, SIDES };

struct context {
    EVP_CIPHER_CTX *side[SIDES];
    int encrypt, padding, broken; /* broken: initialise before any other use */
    size_t held;                  /* bytes taken and not yet given back */
};

struct test_case {
    const struct cipher_row *row;
    const struct kind *kind;
    struct tap_random random;
    struct context live[LIVE];
    unsigned count;
    enum place in, out; /* of our side; the default's is PAGEABLE */
    char log[3000];     /* what was done, shown where a case fails */
    size_t log_length;
};

static EVP_CIPHER *ciphers[CIPHER_ROWS][SIDES];
static unsigned char *in_memory[SIDES], *out_memory[SIDES], *data;
static unsigned char *in_places[PLACES], *out_places[PLACES]; /* for what has device-memory=1 */
static size_t memory_size;

static size_t below(struct test_case *c, size_t limit)
{
    return tap_random_below(&c->random, limit);
}

/* 0 .. limit - 1; each power of two is as likely as the next. */
static size_t skewed(struct test_case *c, size_t limit)
{
    size_t bits = 0, n;

    while (((size_t)1 << bits) < limit)
        bits++;
    n = below(c, (size_t)1 << below(c, bits + 1));
    if (below(c, 3) == 0)
        n &= ~(size_t)(BLOCK - 1);
    return n < limit ? n : limit - 1;
}

TAP_PRINTF(2, 3) static void note(struct test_case *c, const char *format, ...)
{
    va_list arguments;
    int n;

    if (c->log_length + 1 >= sizeof c->log)
        return;
    va_start(arguments, format);
    n = vsnprintf(c->log + c->log_length, sizeof c->log - c->log_length, format, arguments);
    va_end(arguments);
    c->log_length += n > 0 ? (size_t)n : 0;
    if (c->log_length >= sizeof c->log)
        c->log_length = sizeof c->log - 1;
}

/* ---- What both sides must agree on --------------------------------------- */

static int same_state(struct test_case *c, struct context *x)
{
    unsigned char iv[SIDES][BLOCK], updated[SIDES][BLOCK];
    unsigned num[SIDES] = {0, 0};
    int i, result[SIDES];

    memset(iv, 0, sizeof iv);
    memset(updated, 0, sizeof updated);
    for (i = 0; i < SIDES; i++) {
        OSSL_PARAM params[] = {
            OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, iv[i], BLOCK),
            OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, updated[i], BLOCK),
            OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, &num[i]), OSSL_PARAM_END};

        if (c->row->mode == ECB)
            params[0] = params[2], params[1] = params[3];
        result[i] = EVP_CIPHER_CTX_get_params(x->side[i], params);
    }
    ERR_clear_error();
    if (result[OURS] == result[REFERENCE] && !memcmp(iv[OURS], iv[REFERENCE], BLOCK) &&
        !memcmp(updated[OURS], updated[REFERENCE], BLOCK) && num[OURS] == num[REFERENCE])
        return 1;
    note(c, " << results %d/%d, iv %s, updated-iv %s, num %u/%u (ours/default's)", result[OURS],
         result[REFERENCE], memcmp(iv[OURS], iv[REFERENCE], BLOCK) ? "differs" : "same",
         memcmp(updated[OURS], updated[REFERENCE], BLOCK) ? "differs" : "same", num[OURS],
         num[REFERENCE]);
    return 0;
}

/* Return values, counts and first errors; the queue is emptied for each side in turn. */
struct outcome {
    int result[SIDES], written[SIDES];
    unsigned long error[SIDES];
};

static int same_outcome(struct test_case *c, const struct outcome *o)
{
    if (o->result[OURS] == o->result[REFERENCE] && o->error[OURS] == o->error[REFERENCE] &&
        (o->result[OURS] <= 0 || o->written[OURS] == o->written[REFERENCE]))
        return 1;
    note(c, " << result %d/%d, written %d/%d, first error %lx/%lx (ours/default's)",
         o->result[OURS], o->result[REFERENCE], o->written[OURS], o->written[REFERENCE],
         o->error[OURS], o->error[REFERENCE]);
    return 0;
}

static int same_memory(struct test_case *c, unsigned char *memory[SIDES], size_t length,
                       const char *what)
{
    size_t i = 0;

    if (!memcmp(memory[OURS], memory[REFERENCE], length))
        return 1;
    while (memory[OURS][i] == memory[REFERENCE][i])
        i++;
    note(c, " << %s differs first at byte %zd", what, (ssize_t)i - EDGE);
    return 0;
}

/* ---- Steps --------------------------------------------------------------- */

static int choose_layout(struct test_case *c, const struct context *x)
{
    for (;;) {
        int layout = 1 << below(c, LAYOUTS);

        if (!(c->kind->layouts & (unsigned)layout))
            continue;
        if (c->in != c->out)
            return APART;
        /* With bytes held back, the default overwrites in-place input before it is read. */
        if (layout == IN_PLACE && x->held)
            return APART;
        return layout;
    }
}

/* Our memory of a kind begins as the host's is, and what became of it is read back to there. */
static unsigned char *to_place(unsigned char *places[], enum place place, unsigned char *host,
                               size_t length)
{
    if (place == PAGEABLE)
        return host;
    if (!application_write(place, places[place], host, length))
        abort();
    return places[place];
}

static void from_place(unsigned char *places[], enum place place, unsigned char *host,
                       size_t length)
{
    if (place != PAGEABLE && !application_read(host, place, places[place], length))
        abort();
}

/* An update, or a one-shot call, of `length` bytes from `from` or random ones. */
static int step_bytes(struct test_case *c, struct context *x, int one_shot, size_t length,
                      const unsigned char *from)
{
    int layout = choose_layout(c, x), i;
    size_t in_offset = EDGE + below(c, 64), out_offset = EDGE + below(c, 64);
    size_t around = length + 2 * EDGE;
    struct outcome o;

    if (layout == LAGGING)
        out_offset = in_offset - BLOCK;
    else if (layout == OVERLAPPING)
        out_offset = in_offset - 1 - below(c, 100);
    else if (layout == IN_PLACE)
        out_offset = in_offset;
    else if (layout == ANY_OVERLAP)
        out_offset = in_offset - 90 + below(c, 180);
    note(c, " %s(%zu, %s%+d)", one_shot ? "one-shot" : "update", length,
         layout == APART ? "apart " : "on input", (int)(out_offset - in_offset));
    tap_random_bytes(&c->random, data, length < 4096 ? length : 4096);
    for (i = 0; i < SIDES; i++) {
        unsigned char *in, *out;

        memset(in_memory[i], 0xc5, around);
        memset(out_memory[i], 0xa5, around);
        memcpy(in_memory[i] + in_offset, from ? from : data, length);
        in = to_place(in_places, i == OURS ? c->in : PAGEABLE, in_memory[i], around);
        out = to_place(out_places, i == OURS ? c->out : PAGEABLE, out_memory[i], around);
        out = (layout == APART ? out : in) + out_offset;
        in += in_offset;
        o.written[i] = -1;
        o.result[i] = one_shot ? EVP_Cipher(x->side[i], out, in, (unsigned)length)
                               : EVP_CipherUpdate(x->side[i], out, &o.written[i], in, (int)length);
        o.error[i] = first_error();
    }
    from_place(in_places, c->in, in_memory[OURS], around);
    from_place(out_places, c->out, out_memory[OURS], around);
    x->broken = o.result[REFERENCE] <= 0;
    if (!one_shot && !x->broken)
        x->held += length - (size_t)o.written[REFERENCE];
    return same_outcome(c, &o) && (x->broken || same_memory(c, out_memory, around, "the output")) &&
           (x->broken || same_memory(c, in_memory, around, "the input memory"));
}

static void random_iv(struct test_case *c, unsigned char iv[BLOCK])
{
    size_t wrap = (size_t)1 << (2 + below(c, 3)), back = skewed(c, 600) + 1, i;

    tap_random_bytes(&c->random, iv, BLOCK);
    if (!c->kind->wraps)
        return;
    memset(iv + BLOCK - wrap, 0xff, wrap);
    for (i = BLOCK; i-- > BLOCK - 2;) {
        iv[i] = (unsigned char)(0xff - (back & 0xff));
        back >>= 8;
    }
}

/* The first initialisation (with `cipher`), or one in mid-stream with any of key and IV. */
static int step_init(struct test_case *c, struct context *x, int first)
{
    unsigned char key[32], iv[BLOCK];
    int with_key = first || x->broken || below(c, 2), with_iv = first || below(c, 2), i;
    size_t row = (size_t)(c->row - cipher_rows);
    unsigned one = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &one), OSSL_PARAM_END};
    struct outcome o;

    tap_random_bytes(&c->random, key, sizeof key);
    random_iv(c, iv);
    /* A turn needs a new key schedule, but for CTR, which has one direction only. */
    if (!first && (with_key || c->row->mode == CTR) && below(c, 4) == 0)
        x->encrypt = !x->encrypt;
    note(c, " init(%s%s%s)", with_key ? "key " : "", with_iv ? "iv " : "",
         x->encrypt ? "encrypt" : "decrypt");
    for (i = 0; i < SIDES; i++) {
        o.written[i] = 0;
        o.result[i] = EVP_CipherInit_ex2(x->side[i], first ? ciphers[row][i] : NULL,
                                         with_key ? key : NULL, with_iv ? iv : NULL, x->encrypt,
                                         first && c->kind->on_device && i == OURS ? params : NULL);
        o.error[i] = first_error();
    }
    x->broken = o.result[REFERENCE] <= 0;
    x->held = 0;
    return same_outcome(c, &o);
}

static int step_copy(struct test_case *c, const struct context *x)
{
    struct context *copy;
    struct outcome o;
    int i;

    if (c->count == LIVE)
        return 1;
    copy = &c->live[c->count];
    *copy = *x;
    note(c, " copy(to #%u)", c->count);
    for (i = 0; i < SIDES; i++) {
        copy->side[i] = EVP_CIPHER_CTX_new();
        o.written[i] = 0;
        o.result[i] = EVP_CIPHER_CTX_copy(copy->side[i], x->side[i]);
        o.error[i] = first_error();
    }
    c->count++;
    return same_outcome(c, &o) && same_state(c, copy);
}

static int step_set(struct test_case *c, struct context *x, enum step step)
{
    unsigned value = (unsigned)below(c, step == SET_NUM ? BLOCK : 2);
    OSSL_PARAM params[] = {
        OSSL_PARAM_uint(step == SET_NUM ? OSSL_CIPHER_PARAM_NUM : OSSL_CIPHER_PARAM_PADDING,
                        &value),
        OSSL_PARAM_END};
    struct outcome o;
    int i;

    note(c, " set(%s=%u)", params[0].key, value);
    for (i = 0; i < SIDES; i++) {
        o.written[i] = 0;
        o.result[i] = EVP_CIPHER_CTX_set_params(x->side[i], params);
        o.error[i] = first_error();
    }
    if (step == SET_PADDING)
        x->padding = (int)value;
    return same_outcome(c, &o);
}

static int step_final(struct test_case *c, struct context *x)
{
    size_t offset = EDGE + below(c, 64);
    struct outcome o;
    int i;

    note(c, " final");
    for (i = 0; i < SIDES; i++) {
        unsigned char *out;

        memset(out_memory[i], 0xa5, 3 * EDGE);
        out = to_place(out_places, i == OURS ? c->out : PAGEABLE, out_memory[i], 3 * EDGE);
        o.written[i] = -1;
        o.result[i] = EVP_CipherFinal_ex(x->side[i], out + offset, &o.written[i]);
        o.error[i] = first_error();
    }
    from_place(out_places, c->out, out_memory[OURS], 3 * EDGE);
    x->broken = 1;
    x->held = 0;
    return same_outcome(c, &o) &&
           (o.result[OURS] <= 0 || same_memory(c, out_memory, 3 * EDGE, "the final output"));
}

static int step_random(struct test_case *c)
{
    unsigned all = 0, i, chosen;
    struct context *x = &c->live[below(c, c->count)];
    size_t length = skewed(c, c->kind->length);
    enum step step = UPDATE;

    for (i = 0; i < STEPS; i++)
        all += c->kind->odds[i];
    chosen = (unsigned)below(c, all);
    for (i = 0; chosen >= c->kind->odds[i]; i++)
        chosen -= c->kind->odds[i];
    step = x->broken ? INIT : (enum step)i;
    if (c->count > 1)
        note(c, " #%d", (int)(x - c->live));
    if (step == ONE_SHOT && c->row->mode != CTR)
        length &= ~(size_t)(BLOCK - 1);
    return (step == UPDATE || step == ONE_SHOT ? step_bytes(c, x, step == ONE_SHOT, length, NULL)
            : step == COPY                     ? step_copy(c, x)
            : step == INIT                     ? step_init(c, x, 0)
            : step == FINAL                    ? step_final(c, x)
                                               : step_set(c, x, step)) &&
           same_state(c, x);
}

/* ---- Cases --------------------------------------------------------------- */

static int start(struct test_case *c, int encrypt)
{
    struct context *x = &c->live[0];
    unsigned i;

    c->count = 1;
    for (i = 0; i < SIDES; i++)
        x->side[i] = EVP_CIPHER_CTX_new();
    x->encrypt = encrypt;
    x->padding = 1;
    return step_init(c, x, 1) && (below(c, 2) || step_set(c, x, SET_PADDING));
}

static int walk(struct test_case *c, int encrypt)
{
    size_t steps = 1 + below(c, c->kind->steps), i;
    int same = start(c, encrypt);

    for (i = 0; same && i < steps; i++)
        same = step_random(c);
    for (i = 0; same && i < c->count; i++)
        same = c->live[i].broken || step_final(c, &c->live[i]);
    return same;
}

/* A message of the default provider's making, damaged in one of three ways or not at all. */
static size_t make_message(struct test_case *c, unsigned char *message, const unsigned char *key,
                           const unsigned char *iv)
{
    size_t length = skewed(c, c->kind->length), damage = below(c, 6);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n = 0, more = 0;

    tap_random_bytes(&c->random, message, length);
    EVP_EncryptInit_ex2(context, ciphers[c->row - cipher_rows][REFERENCE], key, iv, NULL);
    EVP_EncryptUpdate(context, message, &n, message, (int)length);
    EVP_EncryptFinal_ex(context, message + n, &more);
    EVP_CIPHER_CTX_free(context);
    length = (size_t)n + (size_t)more;
    if (damage == 0 && length)
        message[length - 1 - below(c, length < 32 ? length : 32)] ^= 0x40;
    else if (damage == 1 && length)
        length -= 1 + below(c, length < 17 ? length : 17);
    else if (damage == 2)
        length += 1 + below(c, 17);
    note(c, " message(%zu, damage %zu)", length, damage);
    return length;
}

static int message(struct test_case *c, int encrypt)
{
    unsigned char key[32], iv[BLOCK], *text = calloc(1, c->kind->length + 64);
    size_t row = (size_t)(c->row - cipher_rows), length, done = 0, piece;
    struct context *x = &c->live[0];
    int same = 1, i;

    tap_random_bytes(&c->random, key, sizeof key);
    random_iv(c, iv);
    length = make_message(c, text, key, iv);
    c->count = 1;
    for (i = 0; i < SIDES; i++) {
        x->side[i] = EVP_CIPHER_CTX_new();
        same &= EVP_CipherInit_ex2(x->side[i], ciphers[row][i], key, iv, encrypt, NULL);
    }
    for (; same && done < length; done += piece) {
        piece = below(c, 4) ? 1 + skewed(c, c->kind->length) : length - done;
        if (piece > length - done)
            piece = length - done;
        same = step_bytes(c, x, 0, piece, text + done) && same_state(c, x);
    }
    free(text);
    return same && (x->broken || step_final(c, x)) && same_state(c, x);
}

static int run_case(const struct cipher_row *row, const struct kind *kind, int encrypt,
                    uint64_t seed, size_t number)
{
    struct test_case c = {.row = row, .kind = kind, .in = PAGEABLE, .out = PAGEABLE};
    size_t i;
    int same;

    c.random.state = seed ^ ((number + 1) * UINT64_C(0x9E3779B97F4A7C15));
    tap_random_next(&c.random);
    if (kind->on_device) {
        c.in = (enum place)(number % PLACES);
        c.out = (enum place)(number / PLACES % PLACES);
        note(&c, " %s to %s:", place_names[c.in], place_names[c.out]);
    }
    same = kind->message ? message(&c, encrypt) : walk(&c, encrypt);
    for (i = 0; i < c.count; i++) {
        EVP_CIPHER_CTX_free(c.live[i].side[OURS]);
        EVP_CIPHER_CTX_free(c.live[i].side[REFERENCE]);
    }
    if (!same)
        tap_diag("case %zu (GPUAES_TEST_ONLY=%zu):%s", number, number, c.log);
    return same;
}

/* One assertion: some cases of one cipher, kind and direction. */
static void run_group(size_t group, size_t cases, uint64_t seed)
{
    const struct cipher_row *row = &cipher_rows[group / 2 % CIPHER_ROWS];
    const struct kind *kind = &kinds[group / 2 / CIPHER_ROWS];
    int encrypt = group % 2 == 0;
    struct figures before = figures_get(&providers), after;
    size_t i, failed = 0;

    if (kind->on_device && in_places[DEVICE] == NULL) {
        tap_skip("%s: %s", row->name, stand_in() ? "the default provider has none" : "no CUDA");
        return;
    }
    for (i = 0; i < cases && failed < 3; i++) {
        size_t number = group * cases + i;

        if (setting("GPUAES_TEST_ONLY", number) == number)
            failed += !run_case(row, kind, encrypt, seed, number);
    }
    tap_ok(failed == 0, "%s %s: %s, %zu cases", row->name, encrypt ? "encrypt" : "decrypt",
           kind->name, cases);
    after = figures_get(&providers);
    /* Of each pair of kinds, if there are so many cases. CBC encryption has no kernel. */
    if (kind->on_device && cases >= PLACES * PLACES && (row->mode != CBC || !encrypt))
        tap_ok(after.gpu_bytes > before.gpu_bytes && after.launches > before.launches,
               "whole blocks went through kernels");
}

/* Memory of all kinds for what has device-memory=1. Without CUDA there is none. */
static void allocate_places(void)
{
    enum { ROOM = 16384 };
    enum place place;

    if (stand_in() || !application_begin(0))
        return;
    for (place = DEVICE; place < PLACES; place++) {
        in_places[place] = application_alloc(place, ROOM);
        out_places[place] = application_alloc(place, ROOM);
        if (in_places[place] == NULL || out_places[place] == NULL)
            abort();
    }
}

static void free_places(void)
{
    enum place place;

    for (place = DEVICE; place < PLACES && in_places[DEVICE] != NULL; place++) {
        application_free(place, in_places[place]);
        application_free(place, out_places[place]);
    }
}

static void allocate(void)
{
    size_t i;

    for (i = 0; i < KINDS; i++)
        if (kinds[i].length > memory_size)
            memory_size = kinds[i].length;
    memory_size = (memory_size + 4 * EDGE + 63) & ~(size_t)63;
    data = calloc(1, memory_size);
    for (i = 0; i < SIDES; i++) {
        in_memory[i] = aligned_alloc(64, memory_size);
        out_memory[i] = aligned_alloc(64, memory_size);
    }
    for (i = 0; i < CIPHER_ROWS; i++) {
        ciphers[i][OURS] = fetch_ours(&providers, cipher_rows[i].name);
        ciphers[i][REFERENCE] = fetch_reference(&providers, cipher_rows[i].name);
    }
}

int main(void)
{
    size_t groups = KINDS * CIPHER_ROWS * 2, i;
    size_t cases = setting("GPUAES_TEST_CASES", 6000) / groups + 1;
    struct tap_random random;
    struct figures figures;

    setenv("GPUAES_MIN_BYTES", "0", 0);
    tap_random_seed(&random);
    providers = providers_load();
    allocate();
    allocate_places();
    for (i = 0; i < groups; i++)
        run_group(i, cases, random.state);
    figures = figures_get(&providers);
    tap_diag("gpu-bytes=%llu cpu-bytes=%llu launches=%llu", (unsigned long long)figures.gpu_bytes,
             (unsigned long long)figures.cpu_bytes, (unsigned long long)figures.launches);
    if (stand_in())
        tap_skip("the default provider keeps no figures");
    else
        tap_ok(figures.gpu_bytes > figures.cpu_bytes / 4 && figures.launches > 0 &&
                   figures.faults == 0,
               "much of this went through kernels, without a fault");
    for (i = 0; i < CIPHER_ROWS; i++) {
        EVP_CIPHER_free(ciphers[i][OURS]);
        EVP_CIPHER_free(ciphers[i][REFERENCE]);
    }
    for (i = 0; i < SIDES; i++) {
        free(in_memory[i]);
        free(out_memory[i]);
    }
    free(data);
    free_places();
    providers_unload(&providers);
    return tap_done();
}
