/*
 * Batches of libgpuaes on the emulator: mixes of modes, keys, lengths and places in
 * every kind of memory; batches that are used again, are under way
 * together, or are cut into many slices; what is refused. The expected results are
 * libcrypto's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/mixes.h"

static struct mix mix, second_mix;

/* Fills, adds, submits and waits; 1 if all of that is right. */
static int runs(struct gpuaes_batch *batch, const struct mix *m)
{
    mix_fill(m);
    int right = mix_add(batch, m) && gpuaes_batch_submit(batch, GPUAES_WAIT) == GPUAES_OK &&
                gpuaes_batch_wait(batch) == GPUAES_OK && mix_is_right(m) &&
                mix_has_status(batch, m, 0, GPUAES_OK);
    gpuaes_batch_reset(batch);
    return right;
}

static int mix_runs(const struct mix_rules *rules)
{
    struct gpuaes_batch *batch = open_batch();
    int right = mix_make(&mix, rules) && runs(batch, &mix);
    gpuaes_batch_close(batch);
    mix_free(&mix);
    return right;
}

/* ---- All that there is ------------------------------------------------------------- */

static void test_kinds(void)
{
    for (int in = 0; in < 3; in++)
        for (int out = 0; out < 3; out++) {
            struct mix_rules rules = {.in_kind = in, out, 0, 80, 300, -1, MIX_KEYS, 0};
            int right = mix_runs(&rules);
            rules.keys = 0;
            rules.aligned = 1;
            tap_ok(right && mix_runs(&rules), "a mix from %s to %s memory", kind_names[in],
                   kind_names[out]);
            if (in != out)
                continue;
            rules.in_place = 1;
            right = mix_runs(&rules);
            rules.keys = 1;
            rules.aligned = 0;
            tap_ok(right && mix_runs(&rules), "a mix in place in %s memory", kind_names[in]);
        }
    tap_ok(emulator_unpinned_copies() == 0, "pageable memory is never given to the driver");
}

static void test_modes(void)
{
    for (int op = 0; op < ALL_OPS; op++) /* of GCM see gcm_batch_test */
        for (int keys = 0; keys < 2; keys++) {
            struct mix_rules rules = {.in_kind = 2, 2, 1, 70, 1500, op, keys, 0};
            tap_ok(mix_runs(&rules), "%s alone, in place, %s", op_names[op],
                   keys ? "one key" : "a key for each message");
        }
}

/* More than one warp, and one that is not full; all lengths, in no order. */
static int serial_runs(size_t count)
{
    int right = 1;
    for (int variant = 0; variant < 8 && right; variant++) {
        struct mix_rules rules = {.in_kind = 2,
                                  .out_kind = 2,
                                  .in_place = variant & 1,
                                  .count = count,
                                  .longest = 90,
                                  .op = GPUAES_CBC_ENCRYPT,
                                  .keys = variant & 2 ? 0 : 1,
                                  .aligned = variant >> 2};
        right = mix_runs(&rules);
    }
    return right;
}

static void test_serial(void)
{
    tap_ok(serial_runs(333), "serial messages, a lane each");
    const size_t count = sanitized() ? 6 : 12;
    for (int kind = 0; kind < 3; kind += sanitized() ? 2 : 1) {
        struct mix_rules rules = {
            .in_kind = kind, kind, 0, count, MIX_STEP + MIX_STEP, GPUAES_CBC_ENCRYPT, 3, 0};
        int right = mix_runs(&rules);
        rules.in_place = 1;
        tap_ok(right && mix_runs(&rules), "serial messages of some launches, %s memory",
               kind_names[kind]);
    }
}

/* 1 if a mix runs, with so many copies to pinned memory. */
static int runs_by_copies(struct mix_rules rules, unsigned copies)
{
    unsigned before = emulator_calls("memcpy_dtoh_async");
    int right = mix_runs(&rules);
    unsigned made = emulator_calls("memcpy_dtoh_async") - before;
    if (made != copies)
        tap_diag("%u copies instead of %u", made, copies);
    return right && made == copies;
}

/*
 * Pinned memory: kernels reach short messages, and copy engines carry long ones, and those that lie
 * side by side; from it, to it, or both.
 */
static void test_pinned(void)
{
    enum { LONG = 64 << 10, COUNT = 16, SLICE = 8 << 20, MANY = 40 };
    struct mix_rules rules = {.in_kind = 1, 1, 0, MIX_MOST, 300, GPUAES_CTR, 1, 0};
    tap_ok(runs_by_copies(rules, 0), "short pinned messages, no copy");
    rules.aligned = 1;
    tap_ok(runs_by_copies(rules, 1), "the same side by side, one copy");
    for (int op = 0; op < ALL_OPS; op++)
        for (int kinds = 1; kinds < 4; kinds++) {
            const int is_xts = op == GPUAES_XTS_ENCRYPT || op == GPUAES_XTS_DECRYPT;
            rules = (struct mix_rules){.in_kind = kinds & 1 ? 1 : 2,
                                       .out_kind = kinds & 2 ? 1 : 2,
                                       .count = COUNT,
                                       .op = op,
                                       .keys = 1,
                                       .exact = is_xts ? LONG + 17 : LONG};
            int right = mix_runs(&rules);
            rules.out_kind = rules.in_kind;
            rules.in_place = 1;
            /* Data units of XTS end in a part of a block; of GCM there are many groups. */
            rules.aligned = !is_xts;
            if (kinds == 1 && !op_is_gcm((enum gpuaes_op)op))
                right = right && runs_by_copies(rules, is_xts ? COUNT : 1);
            else
                right = right && mix_runs(&rules);
            tap_ok(right, "%s of long messages from %s to %s memory, and in place", op_names[op],
                   kind_names[kinds & 1 ? 1 : 2], kind_names[kinds & 2 ? 1 : 2]);
        }
    rules = (struct mix_rules){1, 1, .count = MANY, .op = GPUAES_CTR, .keys = 1, .aligned = 1};
    rules.exact = 5 * SLICE / MANY;
    tap_ok(runs_by_copies(rules, 5), "as much as five slices have, a copy each");
    rules.op = GPUAES_CBC_ENCRYPT;
    tap_ok(runs_by_copies(rules, 1), "as much of CBC encryption, one copy");
    rules.exact = 10 * SLICE / MANY;
    tap_ok(runs_by_copies(rules, 0), "long messages of CBC encryption, more than are copied");
    rules.op = GPUAES_CTR;
    rules.count = 2;
    rules.exact = SLICE + GPUAES_BLOCK;
    tap_ok(runs_by_copies(rules, 0), "messages that are too long to be copied");
}

/* More slices than slots, by their number of messages. */
static void test_slices(void)
{
    enum { COUNT = 4 * 16384 + 1000, BYTES = COUNT * 16 };
    struct gpuaes_batch *batch = open_batch();
    struct expected e;
    expect(&e, GPUAES_ECB_DECRYPT, BYTES);
    for (int kind = 0; kind < 3; kind++) {
        unsigned char *p = take(kind, BYTES);
        struct gpuaes_message all = message_of(&e, GPUAES_ECB_DECRYPT, p, p, 16);
        gpuaes_copy(p, e.plain, BYTES);
        int right =
            batch_adds(batch, all, COUNT) && batch_is_done(batch) && holds(p, e.cipher, BYTES);
        tap_ok(right, "more slices than slots, %s memory", kind_names[kind]);
        gpuaes_batch_reset(batch);
        give(kind, p, BYTES);
    }
    gpuaes_batch_close(batch);
    expected_free(&e);
}

/* ---- Use ---------------------------------------------------------------------------------- */

static void test_reuse(void)
{
    struct gpuaes_batch *batch = open_batch();
    struct mix_rules rules = {.in_kind = 1, 1, 0, 60, 100, -1, 3, 0};
    int right = mix_make(&mix, &rules);
    right = right && runs(batch, &mix) && runs(batch, &mix);
    unsigned before = emulator_calls("mem_alloc") + emulator_calls("mem_host_alloc");
    for (int i = 0; i < 5; i++)
        right = right && runs(batch, &mix);
    tap_ok(right, "a batch is used again");
    tap_ok(emulator_calls("mem_alloc") + emulator_calls("mem_host_alloc") == before,
           "and then allocates nothing");
    mix_free(&mix);
    /* More keys than are kept. */
    unsigned char key[32] = {0}, iv[16] = {0}, text[16] = {0}, *p = gpuaes_pinned_alloc(4096 * 16);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 1500; i++) {
            struct gpuaes_message m = {
                .op = GPUAES_CTR, key, 32, NULL, iv, p + 16 * i, p + 16 * i, 16};
            memcpy(key, &i, sizeof i);
            memset(p + 16 * i, 0, 16);
            right = right && gpuaes_batch_add(batch, &m) == GPUAES_OK;
        }
        right = right && batch_is_done(batch);
        for (unsigned i = 0; i < 1500; i += 499) {
            unsigned char want[16], counter[16] = {0};
            memcpy(key, &i, sizeof i);
            reference(GPUAES_CTR, key, 32, counter, text, want, 16);
            right = right && memcmp(p + 16 * i, want, 16) == 0;
        }
        gpuaes_batch_reset(batch);
    }
    tap_ok(right, "more keys than stay between batches");
    gpuaes_pinned_free(p, 4096 * 16);
    gpuaes_batch_close(batch);
}

static void test_poll(void)
{
    struct gpuaes_batch *batch = open_batch(), *second = open_batch();
    struct mix_rules rules = {.in_kind = 1, 1, 0, 50, 300, -1, 3, 0};
    int right = mix_make(&mix, &rules) && mix_make(&second_mix, &rules);
    mix_fill(&mix);
    mix_fill(&second_mix);
    tap_ok(gpuaes_batch_poll(batch) == GPUAES_BAD_ARGUMENT &&
               gpuaes_batch_wait(batch) == GPUAES_BAD_ARGUMENT,
           "what was not submitted is not waited for");
    emulator_configure("kernel-us=20000");
    right = right && mix_add(batch, &mix) && mix_add(second, &second_mix) &&
            gpuaes_batch_submit(batch, 0) == GPUAES_OK &&
            gpuaes_batch_submit(second, 0) == GPUAES_OK;
    tap_ok(right && gpuaes_batch_poll(batch) == GPUAES_BUSY &&
               mix_add_one(batch, &mix, 0) == GPUAES_BUSY &&
               gpuaes_batch_submit(batch, 0) == GPUAES_BAD_ARGUMENT,
           "a batch under way is busy");
    enum gpuaes_status status;
    while ((status = gpuaes_batch_poll(second)) == GPUAES_BUSY)
        usleep(1000);
    tap_ok(status == GPUAES_OK && mix_is_right(&second_mix), "it is polled until it is done");
    tap_ok(gpuaes_batch_wait(batch) == GPUAES_OK && mix_is_right(&mix), "another one meanwhile");
    emulator_configure(NULL);
    gpuaes_batch_reset(batch);
    right = mix_add(batch, &mix) && gpuaes_batch_submit(batch, 0) == GPUAES_OK;
    gpuaes_batch_close(batch);
    tap_ok(right, "a batch under way may be closed");
    gpuaes_batch_close(second);
    gpuaes_batch_close(NULL);
    mix_free(&mix);
    mix_free(&second_mix);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void test_refusals(void)
{
    enum { BYTES = 4096, HOST = GPUAES_BATCH_PAGEABLE_BYTES + 32 };
    static unsigned char host[HOST];
    struct gpuaes_batch *batch = open_batch();
    unsigned char key[32] = {1}, iv[16] = {2}, text[16] = {0}, *p = take(GPUAES_DEVICE, BYTES);
    struct gpuaes_key odd = {.rounds = 11}, schedule = {.rounds = 10};
    const enum gpuaes_op unknown = (enum gpuaes_op)ALL_OPS, xts = GPUAES_XTS_ENCRYPT;
    unsigned char equal[64] = {0}, pair[64] = {[15] = 1}; /* equal: of 32 bytes, too */
    const struct {
        const char *name;
        struct gpuaes_message message;
        enum gpuaes_status status;
    } rows[] = {
        {"a good message", {.op = GPUAES_CTR, key, 32, NULL, iv, p, p, 160}, GPUAES_OK},
        {"a part of a block", {.op = GPUAES_CTR, key, 32, NULL, iv, p, p, 17}, GPUAES_BAD_ARGUMENT},
        {"a mode that is not there",
         {.op = unknown, key, 32, NULL, iv, p, p, 160},
         GPUAES_BAD_ARGUMENT},
        {"a key of another size",
         {.op = GPUAES_CTR, key, 20, NULL, iv, p, p, 160},
         GPUAES_BAD_ARGUMENT},
        {"11 rounds", {.op = GPUAES_CTR, NULL, 0, &odd, iv, p, p, 160}, GPUAES_BAD_ARGUMENT},
        {"no IV", {.op = GPUAES_CTR, key, 32, NULL, NULL, p, p, 160}, GPUAES_BAD_ARGUMENT},
        {"an overlap", {.op = GPUAES_CTR, key, 32, NULL, iv, p, p + 16, 160}, GPUAES_BAD_ARGUMENT},
        {"outside its allocation",
         {.op = GPUAES_CTR, key, 32, NULL, iv, p, p, 8192},
         GPUAES_BAD_RANGE},
        {"much pageable memory",
         {.op = GPUAES_CTR, key, 32, NULL, iv, host, host, HOST},
         GPUAES_BAD_ARGUMENT},
        {"no output", {.op = GPUAES_CTR, key, 32, NULL, iv, p, NULL, 160}, GPUAES_BAD_ARGUMENT},
        {"a short data unit", {.op = xts, pair, 32, NULL, iv, p, p, 15}, GPUAES_BAD_ARGUMENT},
        {"no data unit", {.op = xts, pair, 32, NULL, iv, p, p, 0}, GPUAES_BAD_ARGUMENT},
        {"a long data unit",
         {.op = xts, pair, 32, NULL, iv, p, p, GPUAES_QUEUE_UNIT_BYTES + 16},
         GPUAES_BAD_ARGUMENT},
        {"half a pair of keys", {.op = xts, pair, 16, NULL, iv, p, p, 160}, GPUAES_BAD_ARGUMENT},
        {"a pair of 48 bytes", {.op = xts, pair, 48, NULL, iv, p, p, 160}, GPUAES_BAD_ARGUMENT},
        {"one schedule of two",
         {.op = xts, NULL, 0, &schedule, iv, p, p, 160},
         GPUAES_BAD_ARGUMENT},
        {"no tweak", {.op = xts, pair, 64, NULL, NULL, p, p, 160}, GPUAES_BAD_ARGUMENT},
        {"two equal halves", {.op = xts, equal, 64, NULL, iv, p, p, 160}, GPUAES_BAD_ARGUMENT},
        {"two equal halves again",
         {.op = xts, equal, 32, NULL, iv, p, p, 160},
         GPUAES_BAD_ARGUMENT},
        {"two halves", {.op = xts, pair, 64, NULL, iv, p + 160, p + 160, 17}, GPUAES_OK},
        {"and then equal ones",
         {.op = xts, equal, 64, NULL, iv, p + 192, p + 192, 17},
         GPUAES_BAD_ARGUMENT},
        {"two equal halves that decrypt",
         {.op = GPUAES_XTS_DECRYPT, equal, 64, NULL, iv, p + 192, p + 192, 17},
         GPUAES_OK},
        {"nothing at all", {.op = GPUAES_CTR, key, 32, NULL, iv, p + 1024, p + 2048, 0}, GPUAES_OK},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    for (size_t i = 0; i < ROWS; i++)
        tap_ok(gpuaes_batch_add(batch, &rows[i].message) == rows[i].status, "%s: %s", rows[i].name,
               gpuaes_status_text(rows[i].status));
    tap_ok(batch_is_done(batch), "those that were taken are done");
    int right = gpuaes_batch_status(batch, ROWS) == GPUAES_BAD_ARGUMENT;
    for (size_t i = 0; i < ROWS; i++)
        right &= gpuaes_batch_status(batch, i) == rows[i].status;
    tap_ok(right, "each has its status, and what is not there has none");
    gpuaes_batch_reset(batch);
    tap_ok(batch_is_done(batch), "a batch of nothing is done");
    gpuaes_key_expand(&schedule, key, 32);
    tap_ok(gpuaes_aes(GPUAES_CBC_ENCRYPT, &schedule, iv, text, text, 16, 0, NULL) ==
               GPUAES_BAD_ARGUMENT,
           "CBC encryption is for batches alone");
    gpuaes_batch_close(batch);
    give(GPUAES_DEVICE, p, BYTES);
}

/* What is wrong is found also where all else is as in the message before, which was taken. */
static void test_alike(void)
{
    enum { BYTES = 4096 };
    static unsigned char key[32] = {1}, equal[32], pair[32] = {1}, iv[16], tag[16];
    struct gpuaes_batch *batch = open_batch();
    unsigned char *p = take(GPUAES_DEVICE, BYTES);
    const struct gpuaes_message ctr = {.op = GPUAES_CTR, key, 32, NULL, iv, p, p + 2048, 160};
    const struct gpuaes_message xts = {
        .op = GPUAES_XTS_ENCRYPT, pair, 32, NULL, iv, p, p + 2048, 160};
    const struct gpuaes_message gcm = {
        .op = GPUAES_GCM_DECRYPT, key, 32, NULL, iv, p, p + 2048, 160, 12, NULL, 0, tag, 16};
    const struct {
        const char *name;
        struct gpuaes_message good, bad;
        enum gpuaes_status status;
    } rows[] = {
        {"a part of a block", ctr, {.op = GPUAES_CTR, key, 32, NULL, iv, p, p + 2048, 17}, 0},
        {"no IV", ctr, {.op = GPUAES_CTR, key, 32, NULL, NULL, p, p + 2048, 160}, 0},
        {"no key", ctr, {.op = GPUAES_CTR, NULL, 32, NULL, iv, p, p + 2048, 160}, 0},
        {"an overlap", ctr, {.op = GPUAES_CTR, key, 32, NULL, iv, p, p + 16, 160}, 0},
        {"a key of another size", ctr, {.op = GPUAES_CTR, key, 20, NULL, iv, p, p + 2048, 160}, 0},
        {"no output", ctr, {.op = GPUAES_CTR, key, 32, NULL, iv, p, NULL, 160}, 0},
        {"outside its allocation",
         ctr,
         {.op = GPUAES_CTR, key, 32, NULL, iv, p, p + 4000, 160},
         GPUAES_BAD_RANGE},
        {"a short data unit", xts, {.op = xts.op, pair, 32, NULL, iv, p, p + 2048, 15}, 0},
        {"two equal halves", xts, {.op = xts.op, equal, 32, NULL, iv, p, p + 2048, 160}, 0},
        {"no tag",
         gcm,
         {.op = gcm.op, key, 32, NULL, iv, p, p + 2048, 160, 12, iv, 9, NULL, 16},
         0},
        {"no additional data",
         gcm,
         {.op = gcm.op, key, 32, NULL, iv, p, p + 2048, 160, 12, NULL, 9, tag, 16},
         0},
        {"another tag",
         gcm,
         {.op = gcm.op, key, 32, NULL, iv, p, p + 2048, 160, 12, iv, 9, tag, 7},
         0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const enum gpuaes_status expected =
            rows[i].status != 0 ? rows[i].status : GPUAES_BAD_ARGUMENT;
        const int right = gpuaes_batch_add(batch, &rows[i].good) == GPUAES_OK &&
                          gpuaes_batch_add(batch, &rows[i].bad) == expected &&
                          gpuaes_batch_add(batch, &rows[i].good) == GPUAES_OK &&
                          gpuaes_batch_status(batch, 1) == expected;
        tap_ok(right, "like the one before, but %s", rows[i].name);
        gpuaes_batch_reset(batch);
    }
    int right = gpuaes_batch_add(batch, &ctr) == GPUAES_OK && batch_is_done(batch);
    tap_ok(right && gpuaes_batch_add(batch, &ctr) == GPUAES_BUSY,
           "nor is one taken like those of a batch that is done");
    gpuaes_batch_close(batch);
    give(GPUAES_DEVICE, p, BYTES);
}

/* ---- Less shared memory; without a device -------------------------------------------- */

struct less_shared {
    const char *machine, *kernel;
};

static int runs_with_less_shared(const void *less)
{
    const struct less_shared *l = less;
    struct mix_rules rules = {.in_kind = 0, 0, 1, 90, 300, -1, MIX_KEYS, 0};
    emulator_configure(l->machine);
    if (!starts_with(NULL) || !mix_runs(&rules))
        return 1;
    rules.keys = 1;
    if (!mix_runs(&rules))
        return 2;
    rules.keys = 0;
    rules.op = GPUAES_ECB_DECRYPT;
    return mix_runs(&rules) && emulator_launches(l->kernel) != 0 ? 0 : 3;
}

/* CTR of many messages with one key, by kernels of one family; NULL: as without the variable. */
static int ctr_kernels(const void *family)
{
    const struct mix_rules rules = {.count = 600, .longest = 100, .op = GPUAES_CTR, .keys = 1};
    const char *kernel = family == NULL ? "message_ctr_hybrid_%d" : "message_ctr_large_%d";
    unsigned launches = 0;
    if (family != NULL)
        setenv("GPUAES_KERNEL", family, 1);
    emulator_configure("multiprocessors=1");
    if (!starts_with(NULL) || !mix_runs(&rules))
        return 1;
    for (int rounds = 10; rounds <= 14; rounds += 2) {
        char name[64];
        (void)snprintf(name, sizeof name, kernel, rounds);
        launches += emulator_launches(name);
    }
    return launches != 0 ? 0 : 2;
}

/* A device whose blocks have eight warps. */
static int many_warps(const void *unused)
{
    (void)unused;
    emulator_configure("threads=256");
    become_an_application(0);
    return starts_with(NULL) && serial_runs(100) ? 0 : 1;
}

static int no_device(const void *unused)
{
    struct gpuaes_batch *batch = open_batch();
    unsigned char key[16] = {0}, text[16] = {0};
    struct gpuaes_message m = {.op = GPUAES_ECB_ENCRYPT, key, 16, NULL, NULL, text, text, 16};
    (void)unused;
    int right = gpuaes_batch_add(batch, &m) == GPUAES_NOT_READY;
    gpuaes_batch_close(batch);
    return right ? 0 : 1;
}

int main(void)
{
    tap_random_seed(&random_state);
    child_ok(no_device, NULL, "no message is taken without a device");
    child_ok(runs_with_less_shared,
             &(struct less_shared){"shared=65536", "message_decrypt_raw_small_10"},
             "a device with little shared memory");
    child_ok(runs_with_less_shared,
             &(struct less_shared){"shared=166912", "message_decrypt_raw_middle_10"},
             "a device with as much as compute capability 8.0 has");
    child_ok(ctr_kernels, NULL, "messages of CTR by a hybrid kernel");
    child_ok(ctr_kernels, "two_table", "messages of CTR by tables alone");
    child_ok(many_warps, NULL, "serial messages, in blocks of eight warps");
    become_an_application(0);
    tap_ok(starts_with(NULL), "the device starts");
    test_kinds();
    test_modes();
    test_serial();
    test_pinned();
    test_slices();
    test_reuse();
    test_poll();
    test_refusals();
    test_alike();
    return tap_done();
}
