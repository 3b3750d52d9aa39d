/*
 * Batches while the driver fails, the device is lost or a kernel hangs: messages that
 * are said to be complete are, and of the others the input is as it was unless they
 * say otherwise. A forked child may do nothing but free them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/batch/batch.h"
#include "test/support/mixes.h"

static struct mix mix;

struct faulty {
    const char *options;
    int in_kind, out_kind, in_place;
    size_t count, longest;
    int op;
};

/* What the statuses promise of memory that the CPU can read. */
static int keeps_promises(const struct gpuaes_batch *batch, enum gpuaes_status result)
{
    enum gpuaes_status worst = GPUAES_OK;
    for (size_t i = 0; i < mix.count; i++) {
        const struct mix_message *m = &mix.message[i];
        enum gpuaes_status status = gpuaes_batch_status(batch, i);
        worst = status > worst ? status : worst;
        if (status == GPUAES_OK && memcmp(mix.out + m->at, mix.expected + m->at, m->len) != 0)
            return 0;
        if (status == GPUAES_FAULT && memcmp(mix.in + m->at, mix.plain + m->at, m->len) != 0)
            return 0;
        if (status != GPUAES_OK && status != GPUAES_FAULT && status != GPUAES_UNDEFINED)
            return 0;
    }
    return worst == result;
}

/* In a child, since a lost device is lost for good. 0: right, or as the statuses say. */
static int run_faulty(const void *argument)
{
    const struct faulty *f = argument;
    struct gpuaes_settings settings = {.timeout_ms = timeout_for(f->options)};
    struct mix_rules rules = {f->in_kind, f->out_kind, f->in_place, f->count,
                              f->longest, f->op,       4,           0};
    struct gpuaes_batch *batch;
    if (!starts_with(&settings) || !mix_make(&mix, &rules))
        return 10;
    mix_fill(&mix);
    if (gpuaes_batch_open(&batch) != GPUAES_OK || !mix_add(batch, &mix))
        return 11;
    emulator_configure(f->options);
    enum gpuaes_status status = gpuaes_batch_submit(batch, 0);
    if (status == GPUAES_NO_MEMORY) { /* nothing was begun */
        emulator_configure(NULL);
        status = gpuaes_batch_submit(batch, 0);
    }
    if (status == GPUAES_OK && f->count % 2 == 0)
        status = gpuaes_batch_wait(batch);
    else if (status == GPUAES_OK)
        while ((status = gpuaes_batch_poll(batch)) == GPUAES_BUSY)
            usleep(200);
    if (!keeps_promises(batch, status) || gpuaes_batch_wait(batch) != status)
        return 12;
    /* Short memory alone loses no device. */
    const char *code = strrchr(f->options, ':');
    int is_short = code != strchr(f->options, ':') && strcmp(code, ":2") == 0;
    if (status != GPUAES_OK && !is_short && gpuaes_state() != GPUAES_FAILED)
        return 13;
    gpuaes_batch_close(batch);
    return 0;
}

static int faulty_child(const struct faulty *f)
{
    int status = in_child(run_faulty, f);
    if (status != 0)
        tap_diag("%s, from %s to %s%s: status %d", f->options, kind_names[f->in_kind],
                 kind_names[f->out_kind], f->in_place ? ", in place" : "", status);
    return status == 0;
}

static void test_faults(void)
{
    static const char *const functions[] = {
        "memcpy_htod_async", "memcpy_dtoh_async", "launch_kernel",   "event_record",
        "event_query",       "stream_query",      "memset_d8_async", "mem_alloc",
        "mem_host_alloc",    "stream_create",     "event_create",    "ctx_push_current",
        "ctx_pop_current",
    };
    static const char *const kinds[] = {"fault=%s:%d", "lost=%s:%d", "fault=%s:%d:2"};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        int right = 1;
        for (int occurrence = 1; occurrence <= 5; occurrence += 2)
            for (int variant = 0; variant < 9; variant++) {
                char options[96];
                int kind = variant / 3 == 0 ? GPUAES_PAGEABLE : GPUAES_PINNED;
                struct faulty f = {options, kind, kind, variant / 3 == 2, 30 + (size_t)variant % 2,
                                   60,      -1};
                snprintf(options, sizeof options, kinds[variant % 3], functions[i], occurrence);
                right &= faulty_child(&f);
            }
        tap_ok(right, "%s fails, or the device is lost there", functions[i]);
    }
}

/* Messages of CBC encryption that take one launch, just, or more. */
static void test_steps(void)
{
    static const char *const options[] = {"fault=launch_kernel:4",   "fault=launch_kernel:6",
                                          "fault=event_query:3",     "lost=event_query:3",
                                          "fault=event_record:2",    "fault=memcpy_dtoh_async:1",
                                          "fault=memset_d8_async:1", "hang=6"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        int right = 1;
        for (int variant = 0; variant < 4; variant++) {
            int kind = variant % 2 ? GPUAES_PINNED : GPUAES_PAGEABLE;
            struct faulty f = {.options = options[i],
                               .in_kind = kind,
                               .out_kind = kind,
                               .in_place = variant / 2,
                               .count = 10 + i % 2,
                               .longest = MIX_STEP + MIX_STEP,
                               .op = GPUAES_CBC_ENCRYPT};
            right &= faulty_child(&f);
        }
        tap_ok(right, "long messages of CBC encryption: %s", options[i]);
    }
}

/* To its end, under options of the emulator. */
static enum gpuaes_status run_with(struct gpuaes_batch *batch, const char *options)
{
    emulator_configure(options);
    enum gpuaes_status status = gpuaes_batch_submit(batch, 0);
    return status == GPUAES_OK ? gpuaes_batch_wait(batch) : status;
}

/* Several slices: those before the fault are complete. */
static int run_sliced(const void *options)
{
    enum { COUNT = 5 * 16384, BYTES = COUNT * 16 };
    struct gpuaes_batch *batch;
    struct expected e;
    expect(&e, GPUAES_CTR, BYTES);
    if (!starts_with(NULL) || gpuaes_batch_open(&batch) != GPUAES_OK)
        return 10;
    unsigned char *p = malloc(BYTES), (*ivs)[16] = calloc(COUNT, 16);
    struct gpuaes_message all = {GPUAES_CTR, NULL, 0, &e.schedule, NULL, p, p, 16};
    memcpy(p, e.plain, BYTES);
    for (size_t i = 0; i < COUNT; i++) {
        unsigned char zero[16] = {0}, next[16];
        memcpy(ivs[i], &i, sizeof i);
        memcpy(next, ivs[i], 16);
        if (i % 1000 == 0)
            reference(GPUAES_CTR, e.key, key_size_of(e.schedule.rounds), next, zero,
                      e.cipher + i * 16, 16);
    }
    if (gpuaes_batch_gather(batch, &all, COUNT, NULL, NULL, ivs[0], NULL) != GPUAES_OK)
        return 11;
    if (run_with(batch, options) != GPUAES_FAULT)
        return 12;
    size_t complete = 0;
    for (size_t i = 0; i < COUNT; i++) {
        enum gpuaes_status one = gpuaes_batch_status(batch, i);
        complete += one == GPUAES_OK;
        for (size_t j = 0; j < 16 && i % 1000 == 0; j++)
            if (p[i * 16 + j] !=
                (e.plain[i * 16 + j] ^ (one == GPUAES_OK ? e.cipher[i * 16 + j] : 0)))
                return 13;
    }
    gpuaes_batch_close(batch);
    return complete > 0 && complete < COUNT && complete % 16384 == 0 ? 0 : 14;
}

static void test_slices(void)
{
    static const char *const options[] = {"fault=launch_kernel:3", "fault=memcpy_dtoh_async:5",
                                          "fault=event_query:40"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        child_ok(run_sliced, options[i], "%s: what was done before is complete", options[i]);
}

static void test_hangs(void)
{
    int right = 1;
    for (int variant = 0; variant < 6; variant++) {
        int kind = variant % 2 ? GPUAES_PINNED : GPUAES_PAGEABLE;
        struct faulty f = {"hang=2", kind, kind, variant / 2 == 1, 30 + (size_t)variant % 3,
                           60,       -1};
        right &= faulty_child(&f);
    }
    tap_ok(right, "a kernel that never ends is not waited for");
}

/* ---- Work in place ------------------------------------------------------------------ */

struct in_place {
    const char *options;
    size_t bytes;
    enum gpuaes_status expected;
};

/*
 * What kernels write themselves may be lost by the first one; what is copied, not before
 * the last one is done.
 */
static int in_place(const void *argument)
{
    const struct in_place *test = argument;
    struct gpuaes_batch *batch;
    struct expected e;
    if (!starts_with(NULL) || gpuaes_batch_open(&batch) != GPUAES_OK)
        return 10;
    unsigned char *p = gpuaes_pinned_alloc(test->bytes);
    expect(&e, GPUAES_CBC_ENCRYPT, test->bytes);
    enum gpuaes_op op = test->bytes > 4096 ? GPUAES_CBC_ENCRYPT : GPUAES_CTR;
    struct gpuaes_message m = {op, NULL, 0, &e.schedule, e.iv, p, p, test->bytes};
    memcpy(p, e.plain, test->bytes);
    if (gpuaes_batch_add(batch, &m) != GPUAES_OK)
        return 11;
    enum gpuaes_status status = run_with(batch, test->options);
    if (status != test->expected || gpuaes_batch_status(batch, 0) != status)
        return 12;
    if (status == GPUAES_FAULT && memcmp(p, e.plain, test->bytes) != 0)
        return 13;
    gpuaes_batch_close(batch);
    return 0;
}

static void test_in_place(void)
{
    enum { LONG = 2 << 20, SHORT = 4096 };
    static const struct in_place tests[] = {{"fault=launch_kernel:1", LONG, GPUAES_FAULT},
                                            {"fault=launch_kernel:3", LONG, GPUAES_FAULT},
                                            {"fault=event_query:3", LONG, GPUAES_FAULT},
                                            {"fault=memcpy_dtoh_async:1", LONG, GPUAES_UNDEFINED},
                                            {"fault=launch_kernel:1", SHORT, GPUAES_UNDEFINED}};
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        child_ok(in_place, &tests[i], "%s, %zu bytes in place: %s", tests[i].options,
                 tests[i].bytes, gpuaes_status_text(tests[i].expected));
}

/* ---- A fault elsewhere ---------------------------------------------------------------------- */

/* Another call loses the device; what is under way in place is done nevertheless. */
static int bystander(const void *polls)
{
    struct mix_rules rules = {GPUAES_PINNED, GPUAES_PINNED, 1, 20, 60, -1, 2, 0};
    struct gpuaes_batch *batch;
    struct expected e;
    enum gpuaes_status status = GPUAES_BUSY;
    if (!starts_with(NULL) || !mix_make(&mix, &rules) || gpuaes_batch_open(&batch) != GPUAES_OK)
        return 10;
    mix_fill(&mix);
    expect(&e, GPUAES_CTR, 4096);
    emulator_configure("kernel-us=200000");
    if (!mix_add(batch, &mix) || gpuaes_batch_submit(batch, 0) != GPUAES_OK)
        return 11;
    emulator_configure("fault=launch_kernel:1");
    if (gpuaes_aes(GPUAES_CTR, &e.schedule, e.iv, e.plain, e.plain, 4096, 0, NULL) !=
            GPUAES_FAULT ||
        gpuaes_state() != GPUAES_FAILED)
        return 12;
    while (*(const int *)polls && (status = gpuaes_batch_poll(batch)) == GPUAES_BUSY)
        usleep(1000);
    if (gpuaes_batch_wait(batch) != GPUAES_OK || (*(const int *)polls && status != GPUAES_OK))
        return 13;
    if (memcmp(mix.out, mix.expected, mix.bytes) != 0)
        return 14;
    gpuaes_batch_close(batch);
    return 0;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/* Copies of keys in the device memory of the first stream set that batches have. */
static int count_keys(const struct gpuaes_batch *batch, unsigned char keys[][16], int count)
{
    const struct slot *slot =
        &batch->device->stream_sets.set[STREAM_SETS - BATCH_STREAM_SETS].slots[0];
    const unsigned char *p = (const unsigned char *)(uintptr_t)slot->scratch;
    int found = 0;
    for (size_t at = 0; at + 16 <= slot->scratch_bytes; at += 4)
        for (int i = 0; i < count; i++)
            found += memcmp(p + at, keys[i], 16) == 0;
    return found;
}

/* After a fault no key stays on the device; the context is the application's, too. */
static int wiped(const void *options)
{
    enum { COUNT = 8 };
    static unsigned char data[COUNT][16], keys[COUNT][16];
    struct gpuaes_batch *batch;
    if (!starts_with(NULL) || gpuaes_batch_open(&batch) != GPUAES_OK)
        return 10;
    tap_random_bytes(&random_state, keys, sizeof keys);
    for (int i = 0; i < COUNT; i++) {
        struct gpuaes_message m = {
            GPUAES_ECB_ENCRYPT, keys[i], 16, NULL, NULL, data[i], data[i], 16};
        if (gpuaes_batch_add(batch, &m) != GPUAES_OK)
            return 11;
    }
    if (run_with(batch, options) != GPUAES_FAULT)
        return 12;
    for (int i = 0; i < 6000 && count_keys(batch, keys, COUNT) != 0; i++)
        usleep(10000);
    return count_keys(batch, keys, COUNT) == 0 ? 0 : 13;
}

/* Slots of that stream set whose buffer still has a block of the text, clear or not. */
static int count_texts(const struct gpuaes_batch *batch, unsigned char block[2][16])
{
    const struct stream_set *set = &batch->device->stream_sets.set[STREAM_SETS - BATCH_STREAM_SETS];
    int found = 0;
    for (int i = 0; i < STREAM_SET_SLOTS; i++) {
        const unsigned char *p = (const unsigned char *)(uintptr_t)set->slots[i].buffer[0];
        size_t bytes = set->slots[i].buffer_bytes[0], at = 0;
        while (at < bytes && memcmp(p + at, block[0], 16) != 0 && memcmp(p + at, block[1], 16) != 0)
            at += 16;
        found += at < bytes;
    }
    return found;
}

/* One wipe that fails leaves what it was to wipe, but nothing of the other slots. */
static int wiped_elsewhere(const void *options)
{
    enum { COUNT = 10, LONG = 2 << 20 };
    static const unsigned char key[16] = "no key at all ..";
    unsigned char block[2][16] = {"a block of text."}, iv[16] = {0};
    struct gpuaes_batch *batch;
    if (!starts_with(NULL) || gpuaes_batch_open(&batch) != GPUAES_OK)
        return 10;
    unsigned char *p = take(GPUAES_PINNED, (size_t)COUNT * LONG);
    for (size_t at = 0; at < (size_t)COUNT * LONG; at += 16)
        memcpy(p + at, block[0], 16);
    reference(GPUAES_ECB_ENCRYPT, key, 16, iv, block[0], block[1], 16);
    for (size_t i = 0; i < COUNT; i++) {
        struct gpuaes_message m = {GPUAES_ECB_ENCRYPT, key,          16,  NULL, NULL,
                                   p + i * LONG,       p + i * LONG, LONG};
        if (gpuaes_batch_add(batch, &m) != GPUAES_OK)
            return 11;
    }
    emulator_configure(options);
    if (gpuaes_batch_submit(batch, 0) != GPUAES_OK || gpuaes_batch_wait(batch) != GPUAES_OK ||
        batch->slots < 2 || gpuaes_state() != GPUAES_FAILED)
        return 12;
    for (int i = 0; i < 6000 && count_texts(batch, block) > 1; i++)
        usleep(10000);
    return count_texts(batch, block) == 1 ? 0 : 13;
}

static void test_wiping(void)
{
    static const char *const options[] = {"fault=launch_kernel:2", "fault=memcpy_dtoh_async:1",
                                          "fault=memset_d8_async:2"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        child_ok(wiped, options[i], "%s: no key is left on the device", options[i]);
    const char *option = "fault=memset_d8_async:1";
    child_ok(wiped_elsewhere, option, "%s: text is left in one slot alone", option);
}

/* ---- Fork ------------------------------------------------------------------------------- */

static int forked(const void *kind)
{
    const int *memory = kind;
    struct mix_rules rules = {*memory, *memory, 0, 20, 60, -1, 2, 0};
    struct gpuaes_batch *batch;
    if (!starts_with(NULL) || !mix_make(&mix, &rules) || gpuaes_batch_open(&batch) != GPUAES_OK)
        return 10;
    mix_fill(&mix);
    emulator_configure("kernel-us=100000");
    if (!mix_add(batch, &mix) || gpuaes_batch_submit(batch, 0) != GPUAES_OK)
        return 11;
    pid_t child = fork();
    if (child == 0) {
        int refused = gpuaes_batch_poll(batch) == GPUAES_NOT_READY &&
                      gpuaes_batch_wait(batch) == GPUAES_NOT_READY &&
                      gpuaes_batch_status(batch, 0) <= GPUAES_BUSY;
        gpuaes_batch_reset(batch);
        refused = refused && mix_add_one(batch, &mix, 0) == GPUAES_NOT_READY;
        gpuaes_batch_close(batch);
        _exit(refused ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0)
        return 12;
    int right = gpuaes_batch_wait(batch) == GPUAES_OK && mix_is_right(&mix);
    gpuaes_batch_close(batch);
    return right ? 0 : 13;
}

/* ---- The devices' life ------------------------------------------------------------------- */

static int idle(const void *unused)
{
    struct gpuaes_settings settings = {.idle_seconds = 4};
    struct mix_rules rules = {GPUAES_PAGEABLE, GPUAES_PAGEABLE, 0, 5, 10, -1, 2, 0};
    struct gpuaes_batch *batch;
    (void)unused;
    if (!mix_make(&mix, &rules)) /* before the start: the device may be released soon after it */
        return 9;
    if (!starts_with(&settings) || gpuaes_batch_open(&batch) != GPUAES_OK)
        return 10;
    mix_fill(&mix);
    if (!mix_add(batch, &mix) || gpuaes_batch_submit(batch, 0) != GPUAES_OK)
        return 11;
    sleep(6);
    if (gpuaes_state() != GPUAES_READY || gpuaes_batch_wait(batch) != GPUAES_OK ||
        !mix_is_right(&mix))
        return 12;
    for (int i = 0; i < 600 && gpuaes_state() != GPUAES_OFF; i++)
        usleep(100000);
    gpuaes_batch_reset(batch);
    struct gpuaes_statistics s;
    gpuaes_get_statistics(&s);
    if (gpuaes_state() != GPUAES_OFF || s.pinned_bytes != 0 || s.faults != 0)
        return 13;
    int refused = mix_add_one(batch, &mix, 0) == GPUAES_NOT_READY;
    gpuaes_batch_close(batch);
    return refused ? 0 : 14;
}

int main(void)
{
    static const int kinds[] = {GPUAES_PAGEABLE, GPUAES_PINNED};
    tap_random_seed(&random_state);
    test_faults();
    test_steps();
    test_slices();
    test_hangs();
    test_in_place();
    test_wiping();
    for (int polls = 0; polls < 2; polls++)
        child_ok(bystander, &polls, "a batch under way is done after a fault elsewhere, %s",
                 polls ? "polled" : "waited for");
    for (int i = 0; i < 2; i++)
        child_ok(forked, &kinds[i], "a fork while a batch of %s memory is under way",
                 kind_names[kinds[i]]);
    child_ok(idle, NULL, "devices are not released while a batch is under way");
    return tap_done();
}
