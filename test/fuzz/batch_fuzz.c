/*
 * Batches with any descriptors, in memory of every kind, and any order of calls: what the
 * contract allows is done, as libcrypto does it; what it forbids is refused, message by
 * message; and no byte next to an output changes.
 *
 * Left out is what no library can see: memory of the CPU that is shorter than was said,
 * and messages that overlap each other.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/fuzz/fuzz.h"
#include "test/support/library.h"

enum { REGION = 32 << 10, KINDS = 3, MOST_NUMBERS = 256, LONG = 600 * 16 };

static unsigned char *region[KINDS];
static unsigned char plain[REGION], expected[KINDS][REGION], got[REGION];

struct run {
    struct input in;
    struct gpuaes_batch *batch;
    int submitted;
    unsigned char used[KINDS][REGION / 256]; /* by messages that were added */
    unsigned numbers;
    unsigned char refused[MOST_NUMBERS];
};

/* ---- Descriptors --------------------------------------------------------------- */

struct descriptor {
    struct gpuaes_message message;
    int in_kind, out_kind;
    size_t in_at, out_at;
    int is_right;
    struct gpuaes_key schedule;
    unsigned char key[32], iv[16];
};

static void take_key(struct input *in, struct descriptor *d)
{
    static const size_t sizes[] = {16, 24, 32, 16, 24, 32, 0, 33};
    unsigned how = take_byte(in);
    memset(d->key, (int)(how / 64), sizeof d->key);
    d->message.key_bytes = sizes[how % 8];
    if (how / 8 % 4 != 0) {
        d->message.key = d->key;
        d->is_right &= how % 8 < 6;
        return;
    }
    (void)gpuaes_key_expand(&d->schedule, d->key, sizes[how % 3]);
    d->message.schedule = how / 8 % 8 == 4 ? NULL : &d->schedule;
    unsigned rounds = d->schedule.rounds;
    if (how % 8 == 6)
        d->schedule.rounds = take_byte(in);
    int is_possible =
        d->schedule.rounds == 10 || d->schedule.rounds == 12 || d->schedule.rounds == 14;
    if (is_possible)
        d->schedule.rounds = rounds; /* no library sees that a schedule is of another key size */
    d->is_right &= d->message.schedule != NULL && is_possible;
    d->message.key_bytes = sizes[how % 3];
}

static size_t take_length(struct input *in)
{
    static const size_t wrong[] = {SIZE_MAX,
                                   SIZE_MAX - 15,
                                   (size_t)1 << 32,
                                   GPUAES_BATCH_DEVICE_BYTES + 16,
                                   GPUAES_BATCH_PAGEABLE_BYTES + 16,
                                   17};
    unsigned n = take_byte(in);
    if (n < 200)
        return n % 50 * (size_t)16;
    if (n < 230)
        return take_number(in, 2) % LONG & ~(size_t)15;
    if (n < 240)
        return take_number(in, 2) % LONG;
    return wrong[n % (sizeof wrong / sizeof wrong[0])];
}

static int is_in_region(size_t at, size_t len)
{
    return at <= REGION && len <= REGION - at;
}

/* Where it lies, and whether that is allowed. */
static void take_places(struct input *in, struct descriptor *d)
{
    unsigned how = take_byte(in);
    int in_place = how / 9 % 3 == 0;
    struct gpuaes_message *m = &d->message;
    d->in_kind = (int)(how % 3);
    d->out_kind = in_place ? d->in_kind : (int)(how / 3 % 3);
    d->in_at = take_number(in, 2) % REGION;
    d->out_at = in_place ? d->in_at : take_number(in, 2) % REGION;
    m->len = take_length(in);
    int in_host = d->in_kind != GPUAES_DEVICE, out_host = d->out_kind != GPUAES_DEVICE;
    /* Shorter than said, in memory of the CPU: nobody sees that. Too long is seen. */
    if ((in_host || out_host) && m->len <= GPUAES_BATCH_PAGEABLE_BYTES) {
        size_t last = (in_host && d->in_at > d->out_at) || !out_host ? d->in_at : d->out_at;
        if (m->len > REGION - last)
            m->len = 0;
    }
    m->in = region[d->in_kind] + d->in_at;
    m->out = region[d->out_kind] + d->out_at;
    d->is_right &=
        m->len % 16 == 0 && is_in_region(d->in_at, m->len) && is_in_region(d->out_at, m->len);
    if (d->in_kind == d->out_kind && !in_place)
        d->is_right &=
            d->in_at == d->out_at ||
            m->len <= (d->in_at > d->out_at ? d->in_at - d->out_at : d->out_at - d->in_at);
    if (how >= 252) {
        m->out = NULL;
        d->is_right &= m->len == 0;
    }
}

static void take_descriptor(struct input *in, struct descriptor *d)
{
    unsigned op = take_byte(in);
    memset(d, 0, sizeof *d);
    d->is_right = 1;
    d->message.op = (enum gpuaes_op)(op < 250 ? op % PLAIN_OPS : op);
    d->is_right &= op < 250;
    take_key(in, d);
    memset(d->iv, 0xff, sizeof d->iv);
    take_bytes(in, d->iv + 14, 2);
    d->message.iv = d->iv;
    if (d->iv[14] == 3) {
        d->message.iv = NULL;
        d->is_right &= d->message.op <= GPUAES_ECB_DECRYPT;
    }
    take_places(in, d);
}

/* ---- What is right ---------------------------------------------------------------- */

static void expect_message(const struct descriptor *d, size_t at, size_t len,
                           const unsigned char *iv)
{
    static unsigned char in[REGION];
    unsigned char chain[16];
    size_t bytes = d->message.key != NULL ? d->message.key_bytes : d->schedule.rounds * 4 - 24;
    memcpy(chain, iv, sizeof chain);
    memcpy(in, expected[d->in_kind] + d->in_at + at, len);
    reference(d->message.op, d->key, bytes, chain, in, expected[d->out_kind] + d->out_at + at, len);
}

/* Takes the blocks of a range; 0 if another message has one of them. */
static int is_free(const struct run *r, int kind, size_t at, size_t len)
{
    for (size_t i = at / 256; len != 0 && i <= (at + len - 1) / 256; i++)
        if (r->used[kind][i])
            return 0;
    return 1;
}

static void use(struct run *r, int kind, size_t at, size_t len)
{
    for (size_t i = at / 256; len != 0 && i <= (at + len - 1) / 256; i++)
        r->used[kind][i] = 1;
}

/* Numbers a message, or does not, as it should be; the refused are remembered. */
static void check_status(struct run *r, enum gpuaes_status status, int is_right)
{
    if (r->submitted || r->numbers == MOST_NUMBERS) {
        if (r->submitted && status != GPUAES_BUSY)
            found("added to a submitted batch: %s", gpuaes_status_text(status));
        return;
    }
    if (is_right ? status != GPUAES_OK
                 : status != GPUAES_BAD_ARGUMENT && status != GPUAES_BAD_RANGE)
        found("message %u: %s, should be %s", r->numbers, gpuaes_status_text(status),
              is_right ? "taken" : "refused");
    r->refused[r->numbers++] = (unsigned char)status;
}

/* ---- Calls ------------------------------------------------------------------------------ */

static void add(struct run *r)
{
    struct descriptor d;
    take_descriptor(&r->in, &d);
    if (r->numbers == MOST_NUMBERS ||
        (d.is_right && (!is_free(r, d.in_kind, d.in_at, d.message.len) ||
                        !is_free(r, d.out_kind, d.out_at, d.message.len))))
        return;
    enum gpuaes_status status = gpuaes_batch_add(r->batch, &d.message);
    check_status(r, status, d.is_right);
    if (status != GPUAES_OK)
        return;
    use(r, d.in_kind, d.in_at, d.message.len);
    use(r, d.out_kind, d.out_at, d.message.len);
    expect_message(&d, 0, d.message.len, d.iv);
}

/* Messages side by side, of one length or several: most are like the one before. */
static void add_records(struct run *r)
{
    enum { MOST = 12 };
    struct descriptor d;
    size_t len[MOST], at[MOST], total = 0;
    unsigned char iv[MOST][16];
    unsigned how = take_byte(&r->in), count = how % (MOST + 1);
    take_descriptor(&r->in, &d);
    size_t each = d.message.len % 512 & ~(size_t)15;
    for (unsigned i = 0; i < count; i++) {
        at[i] = total;
        len[i] = how & 64 ? each : take_byte(&r->in) % 32 * (size_t)16;
        total += len[i];
        memset(iv[i], (int)(how + i), sizeof iv[i]);
    }
    int no_iv = how >= 224;
    int is_right = d.is_right && (!no_iv || d.message.op <= GPUAES_ECB_DECRYPT);
    size_t distance = d.in_at > d.out_at ? d.in_at - d.out_at : d.out_at - d.in_at;
    /* Of what is wrong with one of them the other call has plenty. */
    if (!d.is_right || count == 0 || r->numbers + count > MOST_NUMBERS || d.message.out == NULL ||
        !is_in_region(d.in_at, total) || !is_in_region(d.out_at, total) ||
        (d.in_kind == d.out_kind && distance != 0 && distance < total) ||
        !is_free(r, d.in_kind, d.in_at, total) || !is_free(r, d.out_kind, d.out_at, total))
        return;
    d.message.len = each;
    for (unsigned i = 0; i < count; i++) {
        struct gpuaes_message m = d.message;
        m.in = (const unsigned char *)m.in + at[i];
        m.out = (unsigned char *)m.out + at[i];
        m.len = len[i];
        m.iv = no_iv ? NULL : iv[i];
        enum gpuaes_status status = gpuaes_batch_add(r->batch, &m);
        if (status != (r->submitted ? GPUAES_BUSY : is_right ? GPUAES_OK : GPUAES_BAD_ARGUMENT))
            found("record %u of %u: %s", i, count, gpuaes_status_text(status));
    }
    if (r->submitted)
        return;
    for (unsigned i = 0; i < count; i++)
        r->refused[r->numbers++] = (unsigned char)(is_right ? GPUAES_OK : GPUAES_BAD_ARGUMENT);
    if (!is_right)
        return;
    use(r, d.in_kind, d.in_at, total);
    use(r, d.out_kind, d.out_at, total);
    for (unsigned i = 0; i < count; i++)
        expect_message(&d, at[i], len[i], iv[i]);
}

static void check_done(struct run *r)
{
    for (unsigned i = 0; i < r->numbers; i++)
        if ((unsigned char)gpuaes_batch_status(r->batch, i) != r->refused[i])
            found("message %u is %s", i, gpuaes_status_text(gpuaes_batch_status(r->batch, i)));
    for (int kind = 0; kind < KINDS; kind++) {
        if (gpuaes_copy(got, region[kind], REGION) != GPUAES_OK)
            found("no copy of %s memory", kind_names[kind]);
        for (size_t i = 0; i < REGION; i++)
            if (got[i] != expected[kind][i])
                found("%s memory is wrong from byte %zu on", kind_names[kind], i);
    }
}

static void wait_for(struct run *r)
{
    enum gpuaes_status status = gpuaes_batch_wait(r->batch);
    if (status != (r->submitted ? GPUAES_OK : GPUAES_BAD_ARGUMENT))
        found("waiting: %s", gpuaes_status_text(status));
    if (r->submitted)
        check_done(r);
}

static void reset(struct run *r)
{
    gpuaes_batch_reset(r->batch);
    if (!r->submitted) /* what was added is not done */
        for (int kind = 0; kind < KINDS; kind++)
            (void)gpuaes_copy(expected[kind], region[kind], REGION);
    memset(r->used, 0, sizeof r->used);
    r->numbers = 0;
    r->submitted = 0;
}

static void step(struct run *r)
{
    enum gpuaes_status status;
    switch (take_byte(&r->in) % 16) {
    case 0:
        status = gpuaes_batch_submit(r->batch, take_byte(&r->in) & 1 ? GPUAES_WAIT : 0);
        if (status != (r->submitted ? GPUAES_BAD_ARGUMENT : GPUAES_OK))
            found("submitting: %s", gpuaes_status_text(status));
        r->submitted = 1;
        break;
    case 1:
        status = gpuaes_batch_poll(r->batch);
        if (r->submitted ? status != GPUAES_OK && status != GPUAES_BUSY
                         : status != GPUAES_BAD_ARGUMENT)
            found("polling: %s", gpuaes_status_text(status));
        break;
    case 2:
        wait_for(r);
        break;
    case 3:
        (void)gpuaes_batch_status(r->batch, (size_t)take_number(&r->in, 8));
        break;
    case 4:
    case 5:
        reset(r);
        break;
    case 6:
    case 7:
        add_records(r);
        break;
    default:
        add(r);
        break;
    }
}

/* ---- The target ------------------------------------------------------------------------------ */

int LLVMFuzzerInitialize(int *arguments, char ***argument)
{
    uint32_t x = 1;
    (void)arguments;
    (void)argument;
    if (!starts_with(NULL))
        found("no device");
    become_an_application(0);
    for (int kind = 0; kind < KINDS; kind++)
        region[kind] = take(kind, REGION);
    for (size_t i = 0; i < REGION; i++, x = x * 1664525 + 1013904223)
        plain[i] = (unsigned char)(x >> 24);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST_STEPS = 40 };
    static struct run r;
    memset(&r, 0, sizeof r);
    r.in = (struct input){data, size};
    for (int kind = 0; kind < KINDS; kind++) {
        memcpy(expected[kind], plain, REGION);
        (void)gpuaes_copy(region[kind], plain, REGION);
    }
    if (gpuaes_batch_open(&r.batch) != GPUAES_OK)
        found("no batch");
    for (int i = 0; i < MOST_STEPS && r.in.left != 0; i++)
        step(&r);
    if (r.submitted)
        wait_for(&r);
    gpuaes_batch_close(r.batch);
    return 0;
}
