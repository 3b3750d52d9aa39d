/*
 * Random use of the ciphers, ours compared with the default provider's: after every
 * step the return value, the output with what lies around it, the first error,
 * the initialization vectors and `num` are the same.
 *
 * A case is a walk: a context is initialised and then takes random steps, with the probabilities
 * that its kind gives. Or it is a message: encrypted by the default provider, sometimes damaged,
 * and decrypted by both. Of some kinds our side has device-memory=1, and its input and output lie
 * in memory of every kind; or its updates are queued on a CUDA stream; or it is read ahead of.
 *
 * GPUAES_TEST_CASES is the number of cases, GPUAES_TEST_SEED repeats a run (but for the moments
 * at which keystream arrives) and GPUAES_TEST_ONLY one case of it. GPUAES_MIN_BYTES is 0 where
 * neither the kind nor the environment sets it: every whole block goes through a kernel.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/read_ahead_streams.h"

enum step {
    CALL, /* an update */
    ONE_SHOT_CALL,
    COPY,
    INIT,
    SET_NUM,
    SET_PADDING,
    FINAL,
    RUN, /* updates at a pace, until keystream of the device is used */
    CLOSE,
    PAUSE,
    HOLD_IVS, /* pointers to the IVs: from there on they are compared after each call */
    WRITE_IV, /* through such a pointer */
    GET_IVS,
    STEPS
};
enum layout {
    OUT_OF_PLACE = 1,
    IN_PLACE = 2,
    LAGGING = 4,
    OVERLAPPING = 8,
    ANY_OVERLAP = 16,
    LAYOUTS = 5
};
enum { OWN = 1, LEGACY = 2 }; /* CUDA streams */

struct kind {
    const char *name;
    size_t length;        /* updates are shorter than this; short ones are likelier */
    int message;          /* a message rather than a walk */
    unsigned steps;       /* at most */
    unsigned odds[STEPS]; /* of each step, against each other */
    unsigned layouts;     /* one of these for each call */
    size_t wraps;         /* counters wrap at 32, 64 or 128 bits within so many blocks */
    int on_device;        /* with device-memory=1, and memory of all kinds in turn */
    int on_stream;        /* updates are queued on such a stream, and compared at the end */
    int device;           /* whose stream it is */
    int ivs;              /* has IVs: not for ECB */
    int reads_ahead;      /* for CTR alone */
    size_t one_in;        /* of so many cases one is taken: they are slow */
    const char *min_bytes;
};

#define UPDATES .odds = {[CALL] = 12, [FINAL] = 1}
#define QUEUED                                                                                     \
    .length = 9600, .steps = 15, .one_in = 2,                                                      \
    .odds = {                                                                                      \
        [CALL] = 20, [COPY] = 1, [INIT] = 1, [SET_PADDING] = 1, [HOLD_IVS] = 1, [GET_IVS] = 1}

static const struct kind kinds[] = {
    {"small updates", .length = 512, .steps = 30, .layouts = OUT_OF_PLACE, UPDATES},
    {"large updates", .length = 4 << 20, .steps = 5, .layouts = OUT_OF_PLACE, UPDATES},
    {"updates in place", .length = 65536, .steps = 15, .layouts = IN_PLACE, UPDATES},
    {"lagging and overlapping updates", .length = 65536, .steps = 15,
     .layouts = OUT_OF_PLACE | LAGGING | OVERLAPPING | ANY_OVERLAP, UPDATES},
    {"counters that wrap", .length = 32768, .steps = 8, .layouts = OUT_OF_PLACE | IN_PLACE,
     .wraps = 600, .odds = {[CALL] = 12, [INIT] = 2, [FINAL] = 1}},
    {"copies in mid-stream", .length = 8192, .steps = 20, .layouts = OUT_OF_PLACE | IN_PLACE,
     .odds = {[CALL] = 12, [COPY] = 4, [INIT] = 1, [FINAL] = 1}},
    {"re-initialisation in mid-stream", .length = 8192, .steps = 20,
     .layouts = OUT_OF_PLACE | IN_PLACE, .odds = {[CALL] = 10, [INIT] = 5, [FINAL] = 1}},
    {"one-shot calls in mid-stream", .length = 16384, .steps = 15,
     .layouts = OUT_OF_PLACE | IN_PLACE | LAGGING,
     .odds = {[CALL] = 5, [ONE_SHOT_CALL] = 8, [INIT] = 1, [FINAL] = 1}},
    {"num and padding set in mid-stream", .length = 4096, .steps = 20, .layouts = OUT_OF_PLACE,
     .odds = {[CALL] = 10, [SET_NUM] = 2, [SET_PADDING] = 2, [FINAL] = 1}},
    {"everything", .length = 262144, .steps = 12,
     .layouts = OUT_OF_PLACE | IN_PLACE | LAGGING | OVERLAPPING, .wraps = 600,
     .odds = {[CALL] = 12,
              [ONE_SHOT_CALL] = 2,
              [COPY] = 2,
              [INIT] = 2,
              [SET_NUM] = 1,
              [SET_PADDING] = 1,
              [FINAL] = 1}},
    {"device, managed, pinned and pageable memory", .on_device = 1, .length = MIB, .steps = 10,
     .layouts = OUT_OF_PLACE | IN_PLACE | LAGGING | ANY_OVERLAP, .wraps = 600,
     .odds = {[CALL] = 12, [COPY] = 1, [INIT] = 1, [FINAL] = 1}},
    {"one-shot calls on such memory", .on_device = 1, .length = 9000, .steps = 10,
     .layouts = OUT_OF_PLACE | IN_PLACE | LAGGING | ANY_OVERLAP,
     .odds = {[CALL] = 8, [ONE_SHOT_CALL] = 4, [COPY] = 1, [INIT] = 1, [FINAL] = 1}},
    {"messages, whole and damaged", .message = 1, .length = 100000, .steps = 10,
     .layouts = OUT_OF_PLACE},
    {"a CUDA stream", .on_stream = OWN, QUEUED},
    {"CUDA's legacy stream", .on_stream = LEGACY, QUEUED},
    {"the legacy stream of another device", .on_stream = LEGACY, .device = 1, QUEUED},
    {"a stream of another device", .on_stream = OWN, .device = 1, QUEUED},
    {"pointers to IVs", .ivs = 1, .length = 1 << 20, .steps = 40, .layouts = OUT_OF_PLACE,
     .wraps = 600, .one_in = 4, .min_bytes = "64K",
     .odds = {[CALL] = 20, [INIT] = 2, [HOLD_IVS] = 4, [WRITE_IV] = 4, [COPY] = 1, [RUN] = 1}},
    {"read-ahead", .reads_ahead = 1, .length = 1 << 19, .steps = 70, .one_in = 8,
     .layouts = OUT_OF_PLACE | IN_PLACE | LAGGING | OVERLAPPING | ANY_OVERLAP, .wraps = 131072,
     .min_bytes = "1G",
     .odds = {[CALL] = 44,
              [ONE_SHOT_CALL] = 14,
              [RUN] = 8,
              [INIT] = 4,
              [COPY] = 3,
              [SET_NUM] = 1,
              [SET_PADDING] = 1,
              [FINAL] = 1,
              [CLOSE] = 2,
              [PAUSE] = 3,
              [HOLD_IVS] = 1}},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], LIVE = 4, ROOM = MIB + 4096, MEMORY_MOST = 4 << 20 };

struct test_case {
    const struct cipher_row *row;
    const struct kind *kind;
    struct tap_random random;
    struct stream live[LIVE];
    unsigned count;
    int encrypt[LIVE];
    size_t taken, given; /* of what is queued, by both sides */
    char log[3000];      /* what was done, shown where a case fails */
    size_t log_length;
};

static struct memory *memory;
static unsigned char *in_places[PLACES], *out_places[PLACES]; /* of the kind's device */
static drv_stream stream;

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
    size_t room = sizeof c->log - c->log_length;
    va_start(arguments, format);
    int n = vsnprintf(c->log + c->log_length, room, format, arguments);
    va_end(arguments);
    c->log_length += n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* ---- Updates and one-shot calls -------------------------------------------- */

static int choose_layout(struct test_case *c, const struct stream *s)
{
    for (;;) {
        int layout = 1 << below(c, LAYOUTS);
        if (!(c->kind->layouts & (unsigned)layout))
            continue;
        if (memory->in_place != memory->out_place)
            return OUT_OF_PLACE;
        /* A data unit whose buffers overlap is the CPU's, which device memory is not for. */
        if (memory->in_place == DEVICE && c->row->mode == XTS && layout != IN_PLACE)
            return OUT_OF_PLACE;
        /* With bytes held back, the default overwrites in-place input before it is read. */
        if (layout == IN_PLACE && s->held)
            return OUT_OF_PLACE;
        return layout;
    }
}

static struct call random_call(struct test_case *c, const struct stream *s, enum way way,
                               size_t length)
{
    struct call call = {.way = way,
                        .length = length,
                        .in_at = below(c, 4) != 0 ? (unsigned)below(c, 64) : 0,
                        .out_at = below(c, 4) != 0 ? (unsigned)below(c, 64) : 0};
    int layout = choose_layout(c, s);
    call.out_of_place = layout == OUT_OF_PLACE;
    call.distance = layout == LAGGING       ? -BLOCK
                    : layout == OVERLAPPING ? -1 - (int)below(c, 100)
                    : layout == ANY_OVERLAP ? (int)below(c, 180) - 90
                                            : 0;
    if (way == ONE_SHOT && (c->row->mode == ECB || c->row->mode == CBC))
        call.length &= ~(size_t)(BLOCK - 1);
    note(c, " %s(%zu, %s%+d)", way == ONE_SHOT ? "one-shot" : "update", call.length,
         call.out_of_place ? "out of place " : "on input", call.distance);
    return call;
}

/* Whole blocks, which are queued, and a few updates that are not. Ours may be in place. */
static int step_queue(struct test_case *c, struct stream *s)
{
    size_t length = (1 + below(c, c->kind->length / BLOCK)) * BLOCK, held = s->held;
    if (below(c, 5) == 0)
        length = 1 + below(c, 100);
    if (c->taken + length + BLOCK > ROOM)
        return 1;
    note(c, " queue(%zu)", length);
    int right = stream_update_queued(s, c->taken, c->given, length);
    c->taken += length;
    c->given += length + held - s->held;
    return right;
}

static int step_call(struct test_case *c, struct stream *s, enum way way)
{
    if (c->kind->on_stream)
        return step_queue(c, s);
    struct call call = random_call(c, s, way, skewed(c, c->kind->length));
    int right = stream_call(s, &call);
    /* Asking for the state changes the course: several calls without it. */
    for (size_t more = c->kind->reads_ahead ? below(c, 8) : 0; right && more > 0; more--) {
        call = random_call(c, s, way, skewed(c, 1 << 17));
        right = stream_call(s, &call);
    }
    return right;
}

/* As many calls of one kind as it takes. */
static int step_run(struct test_case *c, struct stream *s)
{
    size_t more = 1 + skewed(c, 1 << 19);
    if (c->row->mode != CTR || s->iv[UPDATED][OURS] != NULL) /* it is the CPU's */
        return 1;
    struct call call = random_call(c, s, below(c, 4) ? UPDATE : ONE_SHOT, skewed(c, 1 << 14));
    call.length += 4 * KIB;
    call.distance = 0; /* what overlaps otherwise is the CPU's */
    note(c, " run(%zu more)", more);
    return stream_served_by(s, more, &call);
}

/* ---- Other steps ------------------------------------------------------------ */

static void random_iv(struct test_case *c, unsigned char iv[BLOCK])
{
    size_t wrap = (size_t)1 << (2 + below(c, 3)), back = skewed(c, c->kind->wraps) + 1;
    tap_random_bytes(&c->random, iv, BLOCK);
    if (!c->kind->wraps || (c->kind->reads_ahead && below(c, 3) != 0))
        return;
    memset(iv + BLOCK - wrap, 0xff, wrap);
    for (size_t i = BLOCK; i-- > BLOCK - 3; back >>= 8)
        iv[i] = (unsigned char)(0xff - (back & 0xff));
}

/* In mid-stream, with any of key and IV. */
static int step_init(struct test_case *c, struct stream *s)
{
    unsigned char key[LONGEST_KEY], iv[BLOCK];
    int with_key = s->broken || below(c, 2), with_iv = below(c, 2) != 0;
    int *encrypt = &c->encrypt[s - c->live];
    tap_random_bytes(&c->random, key, sizeof key);
    random_iv(c, iv);
    /* A turn needs a new key schedule, but for CTR, which has one direction only. */
    if ((with_key || c->row->mode == CTR) && below(c, 4) == 0)
        *encrypt = !*encrypt;
    note(c, " init(%s%s%s)", with_key ? "key " : "", with_iv ? "iv " : "",
         *encrypt ? "encrypt" : "decrypt");
    return stream_init(s, with_key ? key : NULL, with_iv ? iv : NULL, *encrypt);
}

/* Over a context that is there, or to a new one; what is queued goes on in the copy. */
static int step_copy(struct test_case *c, struct stream *s)
{
    struct stream copy = {.side = {NULL}};
    unsigned to = (unsigned)below(c, LIVE), from = (unsigned)(s - c->live);
    to = to < c->count ? to : c->count;
    if (c->kind->on_stream) {
        note(c, " copy");
        int right = stream_copy(&copy, s);
        stream_close(s);
        *s = copy;
        return right;
    }
    if (to == from)
        return 1;
    note(c, " copy(to #%u)", to);
    c->count += to == c->count;
    c->encrypt[to] = c->encrypt[from];
    return stream_copy(&c->live[to], s);
}

static int step_set(struct test_case *c, struct stream *s, enum step step)
{
    unsigned value = (unsigned)below(c, step == SET_NUM ? BLOCK : 2);
    const char *key = step == SET_NUM ? OSSL_CIPHER_PARAM_NUM : OSSL_CIPHER_PARAM_PADDING;
    OSSL_PARAM params[] = {OSSL_PARAM_uint(key, &value), OSSL_PARAM_END};
    if (c->kind->reads_ahead) /* the default would use what some former block has left */
        value = 0;
    note(c, " set(%s=%u)", key, value);
    return stream_set(s, params);
}

static int step_close(struct test_case *c, struct stream *s)
{
    if (c->count == 1)
        return 1;
    note(c, " close");
    stream_close(s);
    c->encrypt[s - c->live] = c->encrypt[--c->count];
    *s = c->live[c->count];
    memset(&c->live[c->count], 0, sizeof *s);
    return 1;
}

static int step_hold(struct test_case *c, struct stream *s)
{
    int which = below(c, 2) != 0 ? UPDATED : ORIGINAL;
    note(c, " hold(%s IV)", which == UPDATED ? "updated" : "original");
    return c->row->mode == ECB || stream_hold_iv(s, which);
}

static int step_write_iv(struct test_case *c, struct stream *s)
{
    unsigned char iv[BLOCK];
    random_iv(c, iv);
    if (s->iv[UPDATED][OURS] == NULL)
        return 1;
    note(c, " write(IV)");
    stream_write_iv(s, iv);
    return 1;
}

static int take(struct test_case *c, struct stream *s, enum step step)
{
    switch (step) {
    case CALL:
        return step_call(c, s, UPDATE);
    case ONE_SHOT_CALL:
        return step_call(c, s, ONE_SHOT);
    case COPY:
        return step_copy(c, s);
    case INIT:
        return step_init(c, s);
    case SET_NUM:
    case SET_PADDING:
        return step_set(c, s, step);
    case FINAL:
        note(c, " final");
        return stream_final(s);
    case RUN:
        return step_run(c, s);
    case CLOSE:
        return step_close(c, s);
    case PAUSE:
        note(c, " pause");
        sleep_ms((long)below(c, 20));
        return 1;
    case HOLD_IVS:
        return step_hold(c, s);
    case WRITE_IV:
        return step_write_iv(c, s);
    default:
        return c->row->mode == ECB || stream_agrees(s);
    }
}

static int step_random(struct test_case *c)
{
    unsigned all = 0, i, number = (unsigned)below(c, c->count);
    struct stream *s = &c->live[number];
    for (i = 0; i < STEPS; i++)
        all += c->kind->odds[i];
    size_t chosen = below(c, all);
    for (i = 0; chosen >= c->kind->odds[i]; i++)
        chosen -= c->kind->odds[i];
    if (c->count > 1)
        note(c, " #%u", number);
    int same = take(c, s, s->broken ? INIT : (enum step)i);
    /* To be asked for IVs is an event of its own: it waits for what is queued. */
    if (c->kind->on_stream || (c->kind->ivs && below(c, 2)))
        return same;
    for (i = 0; same && i < c->count; i++)
        same = stream_agrees(&c->live[i]);
    return same;
}

/* ---- Cases --------------------------------------------------------------- */

static int start(struct test_case *c, int encrypt)
{
    unsigned char key[LONGEST_KEY], iv[BLOCK];
    unsigned one = 1;
    uint64_t handle = (uintptr_t)stream;
    OSSL_PARAM params[] = {c->kind->on_stream ? OSSL_PARAM_construct_uint64("cuda-stream", &handle)
                                              : OSSL_PARAM_construct_uint("device-memory", &one),
                           OSSL_PARAM_construct_end()};
    /* XTS has no such parameter, and finds device memory without. */
    int has_parameter = (c->kind->on_device || c->kind->on_stream) && c->row->mode != XTS;
    tap_random_bytes(&c->random, key, sizeof key);
    random_iv(c, iv);
    c->count = 1;
    c->encrypt[0] = encrypt;
    c->live[0] =
        stream_open_with(memory, c->row->name, key, iv, encrypt, has_parameter ? params : NULL);
    return c->live[0].side[OURS] != NULL;
}

/* The whole output of what was queued. */
static int queued_is_right(struct test_case *c)
{
    struct stream *s = &c->live[0];
    int n = 0, m = 0;
    int ours = EVP_CipherFinal_ex(s->side[OURS], memory->out_there + c->given, &n);
    int theirs = EVP_CipherFinal_ex(s->side[REFERENCE], memory->out[REFERENCE] + c->given, &m);
    ERR_clear_error();
    c->given += theirs > 0 ? (size_t)m : 0;
    return ours == theirs && (ours <= 0 || n == m) && stream_queued_is_right(s, stream, c->given);
}

static int walk(struct test_case *c, int encrypt)
{
    size_t steps = 1 + below(c, c->kind->steps), i;
    int same = start(c, encrypt);
    if (same && c->kind->on_stream) /* with padding a decryption keeps a block back, and waits */
        same = stream_set_padding(&c->live[0], 0) &&
               application_write(memory->in_place, memory->in_there, memory->text, ROOM);
    else if (same && below(c, 2))
        same = step_set(c, &c->live[0], SET_PADDING);
    if (same && c->kind->reads_ahead)
        same = stream_served(&c->live[0], 1);
    for (i = 0; same && i < steps; i++)
        same = step_random(c);
    if (c->kind->on_stream)
        return same && queued_is_right(c);
    for (i = 0; same && i < c->count; i++)
        same = c->live[i].broken || stream_final(&c->live[i]);
    return same;
}

/* A message of the default provider's making, damaged in one of three ways or not at all. */
static size_t make_message(struct test_case *c, unsigned char *message, const unsigned char *key,
                           const unsigned char *iv)
{
    size_t length = skewed(c, c->kind->length), damage = below(c, 6);
    EVP_CIPHER_CTX *context = context_open(0, c->row->name, key, iv, 1, NULL);
    int n = 0, more = 0;
    tap_random_bytes(&c->random, message, length);
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
    unsigned char key[LONGEST_KEY], iv[BLOCK], *text = calloc(1, c->kind->length + 64);
    struct stream *s = &c->live[0];
    tap_random_bytes(&c->random, key, sizeof key);
    random_iv(c, iv);
    size_t length = make_message(c, text, key, iv), piece;
    c->count = 1;
    *s = stream_open_with(memory, c->row->name, key, iv, encrypt, NULL);
    int same = s->side[OURS] != NULL;
    for (size_t done = 0; same && done < length; done += piece) {
        piece = below(c, 4) ? 1 + skewed(c, c->kind->length) : length - done;
        piece = piece < length - done ? piece : length - done;
        struct call call = random_call(c, s, UPDATE, piece);
        call.from = text + done;
        same = stream_call(s, &call) && stream_agrees(s);
    }
    free(text);
    return same && (s->broken || stream_final(s)) && stream_agrees(s);
}

/* On the device in all combinations; of what is queued most, and a third in place. */
static void choose_places(struct test_case *c, size_t number)
{
    static const enum place queued[] = {DEVICE, DEVICE, DEVICE, MANAGED, PINNED, PAGEABLE};
    memory->in_place = memory->out_place = PAGEABLE;
    if (c->kind->on_device) {
        memory->in_place = (enum place)(number % PLACES);
        memory->out_place = (enum place)(number / PLACES % PLACES);
    } else if (c->kind->on_stream) {
        int in_place = below(c, 3) == 0;
        /* Memory that every device reaches says nothing of which legacy stream is meant. */
        memory->in_place =
            c->kind->device && c->kind->on_stream == LEGACY ? DEVICE : queued[below(c, 6)];
        memory->out_place = in_place ? memory->in_place : queued[below(c, 6)];
        memory->out_there = in_place ? in_places[memory->in_place] : out_places[memory->out_place];
    }
    if (c->kind->on_device)
        memory->out_there = out_places[memory->out_place];
    memory->in_there = in_places[memory->in_place];
    if (c->kind->on_device || c->kind->on_stream)
        note(c, " %s to %s:", place_names[memory->in_place], place_names[memory->out_place]);
}

static int run_case(const struct cipher_row *row, const struct kind *kind, int encrypt,
                    uint64_t seed, size_t number)
{
    struct test_case c = {.row = row, .kind = kind};
    c.random.state = seed ^ ((number + 1) * UINT64_C(0x9E3779B97F4A7C15));
    tap_random_next(&c.random);
    choose_places(&c, number);
    int same = kind->message ? message(&c, encrypt) : walk(&c, encrypt);
    for (size_t i = 0; i < c.count; i++)
        stream_close(&c.live[i]);
    if (!same)
        tap_diag("case %zu (GPUAES_TEST_ONLY=%zu):%s", number, number, c.log);
    return same;
}

/* One assertion: some cases of one cipher, kind and direction. */
static void run_group(const struct kind *kind, const struct cipher_row *row, int encrypt,
                      size_t cases, uint64_t seed)
{
    size_t group = (size_t)((kind - kinds) * UNTAGGED_ROWS + (row - cipher_rows)) * 2 + !encrypt;
    size_t count = kind->one_in != 0 ? cases / kind->one_in + 1 : cases, failed = 0;
    struct figures before = figures_get(&test_providers), after;
    for (size_t i = 0; i < count && failed < 3; i++) {
        size_t number = group * cases + i;
        if (setting("GPUAES_TEST_ONLY", number) == number)
            failed += !run_case(row, kind, encrypt, seed, number);
    }
    tap_ok(failed == 0, "%s %s: %s, %zu cases", row->name, encrypt ? "encrypt" : "decrypt",
           kind->name, count);
    after = figures_get(&test_providers);
    /* Of each pair of kinds, if there are so many cases. CBC encryption has no kernel. */
    if ((kind->on_device || (kind->ivs && !stand_in())) && cases >= PLACES * PLACES &&
        (row->mode != CBC || !encrypt))
        tap_ok(after.gpu_bytes > before.gpu_bytes && after.launches > before.launches,
               "whole blocks went through kernels");
}

/* ---- Kinds --------------------------------------------------------------- */

/* Memory of all kinds, and a stream, of a device of the application; 0 if there is none. */
static int take_device(const struct kind *kind)
{
    if (stand_in() || !application_begin(kind->device))
        return 0;
    for (enum place place = DEVICE; place < PLACES; place++) {
        in_places[place] = application_alloc(place, ROOM);
        out_places[place] = application_alloc(place, ROOM);
        if (in_places[place] == NULL || out_places[place] == NULL)
            abort();
    }
    stream = DRV_STREAM_LEGACY;
    return kind->on_stream != OWN ||
           application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) == DRV_SUCCESS;
}

static void give_device_back(const struct kind *kind)
{
    drv_context popped;
    for (enum place place = DEVICE; place < PLACES; place++) {
        application_free(place, in_places[place]);
        application_free(place, out_places[place]);
    }
    if (kind->on_stream == OWN)
        application.stream_destroy(stream);
    application.ctx_pop_current(&popped);
}

/* XTS knows no streams; its updates are data units, and nothing in them tells of damage. */
static int is_taken(const struct kind *kind, enum mode mode)
{
    return (!kind->reads_ahead || mode == CTR) && (!kind->ivs || mode != ECB) &&
           ((!kind->on_stream && !kind->message) || mode != XTS);
}

/* By a provider with the kind's settings. */
static struct figures run_kind(const struct kind *kind, const char *min_bytes, size_t cases,
                               uint64_t seed)
{
    int needs_device = kind->on_device || kind->on_stream;
    struct figures figures = {0, 0, 0, 0, 0};
    if (kind->on_device) /* XTS finds device memory in updates of so many bytes */
        min_bytes = "0";
    setenv("GPUAES_MIN_BYTES", kind->min_bytes != NULL ? kind->min_bytes : min_bytes, 1);
    if (kind->min_bytes == NULL)
        test_providers = providers_load();
    else if (!tap_ok(ahead_begin(), "the device is there"))
        return figures;
    if (needs_device && !take_device(kind)) {
        tap_skip("%s: %s", kind->name, stand_in() ? "the default provider has none" : "no device");
    } else {
        for (size_t i = 0; i < UNTAGGED_ROWS; i++)
            for (int encrypt = 1; encrypt >= 0; encrypt--)
                if (is_taken(kind, cipher_rows[i].mode))
                    run_group(kind, &cipher_rows[i], encrypt, cases, seed);
        if (needs_device)
            give_device_back(kind);
    }
    figures = figures_get(&test_providers);
    if (!stand_in())
        tap_ok(figures.faults == 0, "%s: no call of the driver has failed", kind->name);
    providers_unload(&test_providers);
    return figures;
}

int main(void)
{
    /* Under a sanitizer fewer, but still one for each pair of places. */
    size_t cases =
        setting("GPUAES_TEST_CASES", sanitized() ? 3600 : 6000) / (13 * UNTAGGED_ROWS * 2) + 1;
    const char *given = getenv("GPUAES_MIN_BYTES");
    char min_bytes[32];
    uint64_t gpu_bytes = 0, cpu_bytes = 0;
    snprintf(min_bytes, sizeof min_bytes, "%s", given != NULL ? given : "0");
    setenv("GPUAES_EMULATOR", "devices=2", 0);
    tap_random_seed(&random_state);
    memory = memory_for(tap_random_next(&random_state), MEMORY_MOST);
    for (size_t i = 0; i < KINDS; i++) {
        if (cases == 1 && kinds[i].min_bytes != NULL) {
            tap_skip("%s: read-ahead keeps no pace on a slow emulator", kinds[i].name);
            continue;
        }
        struct figures figures = run_kind(&kinds[i], min_bytes, cases, random_state.state);
        gpu_bytes += figures.gpu_bytes;
        cpu_bytes += figures.cpu_bytes;
    }
    tap_diag("gpu-bytes=%llu cpu-bytes=%llu", (unsigned long long)gpu_bytes,
             (unsigned long long)cpu_bytes);
    if (stand_in())
        tap_skip("the default provider keeps no figures");
    else
        tap_ok(gpu_bytes > cpu_bytes / 4, "much of this went through kernels");
    free(memory);
    return tap_done();
}
