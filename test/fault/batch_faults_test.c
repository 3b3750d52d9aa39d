/*
 * Batches while the driver fails, the device is lost or a kernel hangs: messages that
 * are said to be complete are, and of the others the input is as it was unless they
 * say otherwise. A forked child may do nothing but free them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/batch/batch.h"
#include "test/support/faulty_calls.h"
#include "test/support/mixes.h"

static struct mix mix;
static struct gpuaes_batch *batch;

/* Under options of the emulator. */
static enum gpuaes_status submit_with(const char *options)
{
    emulator_configure(options);
    return gpuaes_batch_submit(batch, 0);
}

/* To its end. */
static enum gpuaes_status run_with(const char *options)
{
    enum gpuaes_status status = submit_with(options);
    return status == GPUAES_OK ? gpuaes_batch_wait(batch) : status;
}

/* Adds one message in place. */
static int adds(const struct gpuaes_message *m)
{
    return gpuaes_batch_add(batch, m) == GPUAES_OK;
}

/* For what comes under such options. */
static int opens(const char *options)
{
    struct gpuaes_settings settings = {.timeout_ms = timeout_for(options)};
    return starts_with(&settings) && gpuaes_batch_open(&batch) == GPUAES_OK;
}

/* A batch of such a mix. */
static int opens_mix(struct mix_rules rules, const char *options)
{
    if (!opens(options) || !mix_make(&mix, &rules))
        return 0;
    mix_fill(&mix);
    return mix_add(batch, &mix);
}

/* ---- Mixes of messages ------------------------------------------------------------------ */

/* Memory of both kinds, in place and not; messages of CBC encryption that take one launch, just, or
   more; both directions of GCM alone. Those of an even number are waited for, others polled. */
static const struct mixed {
    const char *name;
    struct mix_rules rules;
} mixed[] = {
    {"pageable memory", {.in_kind = 0, 0, 0, 30, 60, -1, 4, 0}},
    {"pinned memory", {.in_kind = 1, 1, 0, 31, 60, -1, 4, 0}},
    {"pageable memory in place", {.in_kind = 0, 0, 1, 31, 60, -1, 4, 0}},
    {"pinned memory in place", {.in_kind = 1, 1, 1, 30, 60, -1, 4, 0}},
    {"long CBC, pageable", {.in_kind = 0, 0, 0, 4, MIX_STEP + 9, GPUAES_CBC_ENCRYPT, 4, 0}},
    {"long CBC, pinned in place", {.in_kind = 1, 1, 1, 3, MIX_STEP + 9, GPUAES_CBC_ENCRYPT, 4, 0}},
    {"GCM encryption, pinned", {.in_kind = 1, 1, 0, 20, 60, GPUAES_GCM_ENCRYPT, 4, 0}},
    {"GCM decryption, pageable in place", {.in_kind = 0, 0, 1, 21, 60, GPUAES_GCM_DECRYPT, 4, 0}},
};

/* What the statuses promise of memory that the CPU can read. */
static int keeps_promises(enum gpuaes_status result)
{
    enum gpuaes_status worst = GPUAES_OK;
    for (size_t i = 0; i < mix.count; i++) {
        const struct mix_message *m = &mix.message[i];
        enum gpuaes_status status = gpuaes_batch_status(batch, i);
        worst = status > worst ? status : worst;
        if (status == GPUAES_OK && (memcmp(mix.out + m->at, mix.expected + m->at, m->len) != 0 ||
                                    !mix_tag_is_right(&mix, i)))
            return 0;
        if (status == GPUAES_FAULT && memcmp(mix.in + m->at, mix.plain + m->at, m->len) != 0)
            return 0;
        if (status != GPUAES_OK && status != GPUAES_FAULT && status != GPUAES_UNDEFINED)
            return 0;
    }
    return worst == result;
}

static int prepare(const void *argument)
{
    const struct mixed *m = argument;
    if (gpuaes_batch_open(&batch) != GPUAES_OK || !mix_make(&mix, &m->rules))
        return 0;
    mix_fill(&mix);
    return mix_add(batch, &mix);
}

static int run_mixed(const void *unused, int *status)
{
    enum gpuaes_status s = gpuaes_batch_submit(batch, 0);
    (void)unused;
    *status = (int)s;
    if (s == GPUAES_NO_MEMORY) /* nothing was begun */
        return 1;
    if (s == GPUAES_OK && mix.count % 2 == 0)
        s = gpuaes_batch_wait(batch);
    else if (s == GPUAES_OK)
        while ((s = gpuaes_batch_poll(batch)) == GPUAES_BUSY)
            usleep(200);
    *status = (int)s;
    return keeps_promises(s) && gpuaes_batch_wait(batch) == s;
}

static int again(const void *unused, const char *fault)
{
    int status = gpuaes_batch_wait(batch) == GPUAES_OK ? GPUAES_OK : GPUAES_FAULT;
    (void)fault;
    if (status != GPUAES_OK && !run_mixed(unused, &status))
        return 0;
    gpuaes_batch_close(batch);
    return status == GPUAES_OK;
}

static int status_is_known(const void *unused, const char *fault, int status)
{
    (void)unused;
    (void)fault;
    return status == GPUAES_OK || status == GPUAES_NO_MEMORY || status == GPUAES_FAULT ||
           status == GPUAES_UNDEFINED;
}

/* ---- Slices --------------------------------------------------------------------------- */

enum { NO_FAULT = 11 };

/* Several slices: those before the fault are complete. */
static int run_sliced(const void *options)
{
    enum { COUNT = 5 * 16384, BYTES = COUNT * 16 };
    struct expected e;
    size_t complete = 0;
    expect(&e, GPUAES_ECB_ENCRYPT, BYTES);
    unsigned char *p = malloc(BYTES);
    memcpy(p, e.plain, BYTES);
    struct gpuaes_message all = message_of(&e, GPUAES_ECB_ENCRYPT, p, p, 16);
    if (!opens(options) || !batch_adds(batch, all, COUNT))
        return 10;
    if (run_with(options) != GPUAES_FAULT)
        return NO_FAULT;
    for (size_t i = 0; i < COUNT; i++) {
        int done = gpuaes_batch_status(batch, i) == GPUAES_OK;
        complete += (size_t)done;
        if (memcmp(p + i * 16, (done ? e.cipher : e.plain) + i * 16, 16) != 0)
            return 12;
    }
    gpuaes_batch_close(batch);
    return complete > 0 && complete < COUNT && complete % 16384 == 0 ? 0 : 13;
}

/* How often a wait looks at an event depends on the pace of the machine. */
static void test_looks(void)
{
    char options[64];
    int status = NO_FAULT;
    for (int look = 40; look > 1 && status == NO_FAULT; look /= 2) {
        (void)snprintf(options, sizeof options, "fault=event_query:%d", look);
        status = in_child(run_sliced, options);
    }
    if (status != 0)
        tap_diag("status %d", status);
    tap_ok(status == 0, "%s: what was done before is complete", options);
}

/* ---- Work in place ------------------------------------------------------------------ */

static const struct in_place {
    const char *options;
    enum gpuaes_op op;
    enum gpuaes_status expected;
    size_t bytes;
    int kind;
} in_place[] = {
    {"fault=launch_kernel:1", GPUAES_CBC_ENCRYPT, GPUAES_FAULT, 2 << 20, GPUAES_PAGEABLE},
    {"fault=launch_kernel:3", GPUAES_CBC_ENCRYPT, GPUAES_FAULT, 2 << 20, GPUAES_PAGEABLE},
    {"fault=event_query:3", GPUAES_CBC_ENCRYPT, GPUAES_FAULT, 2 << 20, GPUAES_PAGEABLE},
    {"fault=memcpy_dtoh_async:1", GPUAES_CBC_ENCRYPT, GPUAES_FAULT, 2 << 20, GPUAES_PAGEABLE},
    {"fault=launch_kernel:3", GPUAES_CBC_ENCRYPT, GPUAES_FAULT, 2 << 20, GPUAES_PINNED},
    {"fault=memcpy_dtoh_async:1", GPUAES_CBC_ENCRYPT, GPUAES_UNDEFINED, 2 << 20, GPUAES_PINNED},
    {"fault=memcpy_htod_async:1", GPUAES_CTR, GPUAES_FAULT, 4096, GPUAES_PINNED},
    {"fault=launch_kernel:1", GPUAES_CTR, GPUAES_UNDEFINED, 4096, GPUAES_PINNED}};

/* What kernels write themselves may be lost by the first one, and what is copied by the copy to the
 * callers' memory; what the CPU writes is not. */
static int run_in_place(const void *argument)
{
    const struct in_place *test = argument;
    struct expected e;
    if (!opens(test->options))
        return 10;
    unsigned char *p = take(test->kind, test->bytes);
    expect(&e, test->op, test->bytes);
    struct gpuaes_message m = message_of(&e, test->op, p, p, test->bytes);
    memcpy(p, e.plain, test->bytes);
    if (!adds(&m) || run_with(test->options) != test->expected ||
        gpuaes_batch_status(batch, 0) != test->expected)
        return 11;
    if (test->expected == GPUAES_FAULT && memcmp(p, e.plain, test->bytes) != 0)
        return 12;
    gpuaes_batch_close(batch);
    return 0;
}

/* ---- A fault elsewhere ---------------------------------------------------------------------- */

/* Another call loses the device; what is under way in place is done nevertheless. */
static int bystander(int polls)
{
    static const struct work other = {GPUAES_CTR, 4096, GPUAES_PAGEABLE, 0,
                                      "fault=launch_kernel:1"};
    struct gpuaes_report report;
    enum gpuaes_status status = GPUAES_BUSY;
    if (!opens_mix((struct mix_rules){.in_kind = GPUAES_PINNED, GPUAES_PINNED, 1, 20, 60, -1, 2, 0},
                   "") ||
        submit_with("kernel-us=200000") != GPUAES_OK ||
        work_status(&other, &report) != GPUAES_FAULT || gpuaes_state() != GPUAES_FAILED)
        return 0;
    while (polls && (status = gpuaes_batch_poll(batch)) == GPUAES_BUSY)
        usleep(1000);
    return gpuaes_batch_wait(batch) == GPUAES_OK && (!polls || status == GPUAES_OK) &&
           memcmp(mix.out, mix.expected, mix.bytes) == 0;
}

static int bystander_is_waited_for(void)
{
    return bystander(0);
}

static int bystander_is_polled(void)
{
    return bystander(1);
}

/* ---- Wiping ---------------------------------------------------------------------------------- */

enum { KEYS = 8, TEXTS = 10, LONG = 2 << 20 };

static const struct stream_set *set_of_batches(void)
{
    return &batch->device->stream_sets.set[STREAM_SETS - BATCH_STREAM_SETS];
}

/* 1 if memory of the device has one of the blocks, at a multiple of `step`. */
static int has_block(drv_ptr memory, size_t bytes, unsigned char blocks[][16], int count,
                     size_t step)
{
    const unsigned char *p = (const unsigned char *)(uintptr_t)memory;
    for (size_t at = 0; at + 16 <= bytes; at += step)
        for (int i = 0; i < count; i++)
            if (memcmp(p + at, blocks[i], 16) == 0)
                return 1;
    return 0;
}

/* After a fault no key stays on the device; the context is the application's, too. */
static int wiped(const void *argument)
{
    const char *options = argument;
    static unsigned char data[KEYS][16], keys[KEYS][16];
    int right = opens(options);
    tap_random_bytes(&random_state, keys, sizeof keys);
    for (int i = 0; right && i < KEYS; i++)
        right = adds(&(struct gpuaes_message){
            .op = GPUAES_ECB_ENCRYPT, keys[i], 16, NULL, NULL, data[i], data[i], 16});
    /* Where a wipe alone has failed, the results are right. */
    int wipes = strstr(options, "memset") != NULL;
    if (!right || run_with(options) != (wipes ? GPUAES_OK : GPUAES_FAULT) ||
        gpuaes_state() != GPUAES_FAILED)
        return 10;
    const struct slot *slot = &set_of_batches()->slots[0];
    return COMES(!has_block(slot->scratch, slot->scratch_bytes, keys, KEYS, 4)) ? 0 : 11;
}

/* Nor does what follows from keys: the hash keys of GCM, and masks of tags. */
static int gcm_wiped(const void *argument)
{
    const char *options = argument;
    static unsigned char data[KEYS][20], secrets[3 * KEYS][16], tag[KEYS][16];
    unsigned char iv[16] = {0}, first[16] = {[15] = 1};
    int right = opens(options);
    tap_random_bytes(&random_state, secrets, sizeof secrets);
    for (int i = 0; right && i < KEYS; i++) {
        struct gpuaes_gcm_key key;
        gpuaes_gcm_key_expand(&key, secrets[i], 16);
        memcpy(secrets[KEYS + i], key.h, 16);
        reference(GPUAES_ECB_ENCRYPT, secrets[i], 16, NULL, first, secrets[2 * KEYS + i], 16);
        right = adds(&(struct gpuaes_message){.op = GPUAES_GCM_ENCRYPT + i % 2,
                                              .key = secrets[i],
                                              .key_bytes = 16,
                                              .iv = iv,
                                              .iv_bytes = 12,
                                              .in = data[i],
                                              .out = data[i],
                                              .len = sizeof data[i],
                                              .tag = tag[i],
                                              .tag_bytes = 16});
    }
    if (!right || run_with(options) != (options[0] != 0 ? GPUAES_FAULT : GPUAES_BAD_TAG))
        return 10;
    const struct slot *slot = &set_of_batches()->slots[0];
    return COMES(!has_block(slot->scratch, slot->scratch_bytes, secrets, 3 * KEYS, 4)) ? 0 : 11;
}

/* Slots whose memory still has a block of the text, clear or not. */
static int count_texts(unsigned char blocks[2][16])
{
    int found = 0;
    for (int i = 0; i < STREAM_SET_SLOTS; i++) {
        const struct slot *slot = &set_of_batches()->slots[i];
        found += has_block(slot->scratch, slot->scratch_bytes, blocks, 2, 16);
    }
    return found;
}

/* A wipe that fails is done again. */
static int wiped_again(const void *options)
{
    static const unsigned char key[16] = "no key at all ..";
    unsigned char block[2][16] = {"a block of text."}, iv[16] = {0};
    int right = opens(options);
    unsigned char *p = take(GPUAES_PAGEABLE, (size_t)TEXTS * LONG);
    for (size_t at = 0; at < (size_t)TEXTS * LONG; at += 16)
        memcpy(p + at, block[0], 16);
    reference(GPUAES_ECB_ENCRYPT, key, 16, iv, block[0], block[1], 16);
    for (size_t i = 0; right && i < TEXTS; i++)
        right = adds(&(struct gpuaes_message){
            .op = GPUAES_ECB_ENCRYPT, key, 16, NULL, NULL, p + i * LONG, p + i * LONG, LONG});
    if (!right || run_with(options) != GPUAES_OK || batch->slots < 2 ||
        gpuaes_state() != GPUAES_FAILED)
        return 10;
    return COMES(count_texts(block) == 0) ? 0 : 11;
}

/* ---- Fork ------------------------------------------------------------------------------- */

static int forked(const void *kind)
{
    const int memory = *(const int *)kind;
    if (!opens_mix((struct mix_rules){.in_kind = memory, memory, 0, 20, 60, -1, 2, 0}, "") ||
        submit_with("kernel-us=100000") != GPUAES_OK)
        return 10;
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
    int right = status == 0 && gpuaes_batch_wait(batch) == GPUAES_OK && mix_is_right(&mix);
    gpuaes_batch_close(batch);
    return right ? 0 : 11;
}

/* ---- The devices' lifetime --------------------------------------------------------------- */

/* Under way until it is waited for. Where the devices have been released, nothing is left. */
static int hold(void)
{
    mix_fill(&mix);
    if (gpuaes_batch_open(&batch) == GPUAES_OK && mix_add(batch, &mix) &&
        gpuaes_batch_submit(batch, 0) == GPUAES_OK)
        return 1;
    gpuaes_batch_close(batch);
    return 0;
}

static int let_go(void)
{
    return gpuaes_batch_wait(batch) == GPUAES_OK && mix_is_right(&mix);
}

/* A message without text needs no device. */
static int first_with_text_is_refused(void)
{
    size_t i = 0;
    while (i < mix.count && mix.message[i].len == 0)
        i++;
    return i == mix.count || mix_add_one(batch, &mix, i) == GPUAES_NOT_READY;
}

static int is_kept_meanwhile(void)
{
    struct mix_rules rules = {.in_kind = GPUAES_PAGEABLE, GPUAES_PAGEABLE, 0, 5, 10, -1, 2, 0};
    int right = mix_make(&mix, &rules) && is_kept(hold, let_go);
    gpuaes_batch_reset(batch);
    return right && first_with_text_is_refused();
}

static const struct child_case others[] = {
    {"a batch under way is done after a fault elsewhere, waited for", bystander_is_waited_for},
    {"a batch under way is done after a fault elsewhere, polled", bystander_is_polled},
    {"devices are not released while a batch is under way", is_kept_meanwhile},
};

int main(void)
{
    static const char *const slices[] = {"fault=launch_kernel:3", "fault=memcpy_dtoh_async:5"};
    static const char *const wipes[] = {"fault=launch_kernel:1", "fault=memcpy_dtoh_async:1",
                                        "fault=memset_d8_async:2"};
    static const char *const gcm_wipes[] = {"", "fault=launch_kernel:2", "fault=launch_kernel:3",
                                            "fault=memcpy_dtoh_async:1"};
    static const int kinds[] = {GPUAES_PAGEABLE, GPUAES_PINNED};
    for (size_t i = 0; i < sizeof mixed / sizeof mixed[0]; i++)
        faulty_call_check(&(struct faulty_call){.name = mixed[i].name,
                                                .row = &mixed[i],
                                                .prepare = prepare,
                                                .run = run_mixed,
                                                .again = again,
                                                .knows = status_is_known});
    for (size_t i = 0; i < 2; i++)
        child_ok(run_sliced, slices[i], "%s: what was done before is complete", slices[i]);
    test_looks();
    for (size_t i = 0; i < sizeof in_place / sizeof in_place[0]; i++)
        child_ok(run_in_place, &in_place[i], "%s, %zu bytes in place in %s memory: %s",
                 in_place[i].options, in_place[i].bytes, kind_names[in_place[i].kind],
                 gpuaes_status_text(in_place[i].expected));
    for (size_t i = 0; i < 3; i++)
        child_ok(wiped, wipes[i], "%s: no key is left on the device", wipes[i]);
    for (size_t i = 0; i < 4; i++)
        child_ok(gcm_wiped, gcm_wipes[i], "'%s': no secret of GCM is left", gcm_wipes[i]);
    /* The first ones are of the plans of launches. */
    child_ok(wiped_again, "fault=memset_d8_async:12", "a wipe that fails is done again");
    for (size_t i = 0; i < 2; i++)
        child_ok(forked, &kinds[i], "a fork while a batch of %s memory is under way",
                 kind_names[i]);
    children_ok(others, sizeof others / sizeof others[0]);
    return tap_done();
}
