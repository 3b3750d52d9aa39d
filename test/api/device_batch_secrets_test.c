/*
 * Keys of batches that are described in device memory and of random numbers, and what the kernels
 * of batches keep in between: schedules and powers of the hash key last until the keys are closed;
 * masks of tags, counters that come from a hash and encrypted tweaks are gone when the batch is
 * done, also where a launch has failed. All writable memory of the process is searched, in which
 * the emulator's device memory is.
 *
 * Keys and text of the test, and what is looked for, lie in memory that is not searched, and are
 * made by a child.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/hash_forms.h"
#include "test/support/library.h"
#include "test/support/memory_search.h"

enum { BLOCK = GPUAES_BLOCK, KEYS_MOST = 3, COUNT = 40, LEN = 5 * BLOCK + 3, TAG = 16 };

enum kind { KEY, SCHEDULE, POWER, MASK, COUNTER, TWEAK, KINDS };
static const char *const secret_names[] = {"keys",  "schedules", "powers of the hash key",
                                           "masks", "counters",  "tweaks"};
#define BIT(kind) (1U << (kind))
enum { OF_KEYS = BIT(SCHEDULE) | BIT(POWER) };

struct row {
    const char *name;
    enum gpuaes_op op;
    int device_keys;
    size_t key_bytes, keys, iv_bytes;
};
static const struct row rows[] = {
    {"CTR, keys of the device", GPUAES_CTR, 1, 24, 3, BLOCK},
    {"CBC decryption", GPUAES_CBC_DECRYPT, 0, 16, 3, BLOCK},
    {"ECB encryption, one key", GPUAES_ECB_ENCRYPT, 0, 32, 1, BLOCK},
    {"GCM encryption", GPUAES_GCM_ENCRYPT, 0, 32, 3, 12},
    {"GCM decryption, keys of the device", GPUAES_GCM_DECRYPT, 1, 16, 3, 12},
    {"GCM encryption, one key, IVs that are hashed", GPUAES_GCM_ENCRYPT, 0, 24, 1, BLOCK},
    {"XTS encryption, keys of the device", GPUAES_XTS_ENCRYPT, 1, 64, 3, BLOCK},
    {"XTS decryption, one key", GPUAES_XTS_DECRYPT, 0, 32, 1, BLOCK},
};
static const struct row random_row = {"random numbers", GPUAES_CTR, 1, 32, KEYS_MOST, BLOCK};
enum { ROWS = sizeof rows / sizeof *rows };

struct secrets {
    unsigned char key[KEYS_MOST][64], iv[COUNT][BLOCK], text[COUNT][LEN];
    unsigned char kind[NEEDLES_MOST];
};
static struct search *search;
static struct secrets *secrets;

static int is_gcm(const struct row *r)
{
    return r->op == GPUAES_GCM_ENCRYPT || r->op == GPUAES_GCM_DECRYPT;
}

static int is_xts(const struct row *r)
{
    return r->op >= GPUAES_XTS_ENCRYPT;
}

/* ---- What is looked for ---------------------------------------------------------------------- */

static void add(const void *block, enum kind kind)
{
    secrets->kind[search->count] = (unsigned char)kind;
    search_add(search, block);
}

static void add_schedule(const unsigned char *key, size_t key_bytes)
{
    struct gpuaes_key schedule;
    (void)gpuaes_key_expand(&schedule, key, key_bytes);
    add(key, KEY);
    for (unsigned round = 2; round < schedule.rounds; round++) {
        add(&schedule.encrypt[4 * round], SCHEDULE);
        add(&schedule.decrypt[4 * round], SCHEDULE);
    }
}

static void add_powers(const struct gpuaes_gcm_key *key)
{
    static const unsigned exponents[] = {1, 2, 3, 31, 32, 64, 4096, 1 << 20};
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
        unsigned char power[BLOCK], forms[HASH_FORMS][BLOCK];
        hash_key_power(key, exponents[i], power);
        hash_forms(power, forms);
        for (int form = 0; form < HASH_FORMS; form++)
            add(forms[form], POWER);
    }
}

static void encrypt(const unsigned char *key, size_t key_bytes, const unsigned char in[BLOCK],
                    unsigned char out[BLOCK])
{
    unsigned char iv[BLOCK] = {0};
    reference(GPUAES_ECB_ENCRYPT, key, key_bytes, iv, in, out, BLOCK);
}

/* What belongs to message `i` alone, which has this key. */
static void add_message(const struct row *r, const unsigned char *key, size_t i)
{
    unsigned char made[BLOCK] = {0}, counter[BLOCK] = {0}, lengths[BLOCK] = {0};
    if (is_xts(r)) {
        encrypt(key + r->key_bytes / 2, r->key_bytes / 2, secrets->iv[i], made);
        add(made, TWEAK);
        return;
    }
    struct gpuaes_gcm_key gcm;
    (void)gpuaes_gcm_key_expand(&gcm, key, r->key_bytes);
    memcpy(counter, secrets->iv[i], 12);
    counter[BLOCK - 1] = 1;
    if (r->iv_bytes != 12) { /* SP 800-38D section 7.1, step 2 */
        memset(counter, 0, BLOCK);
        lengths[BLOCK - 1] = BLOCK * 8;
        gpuaes_gcm_hash(&gcm, counter, secrets->iv[i], BLOCK);
        gpuaes_gcm_hash(&gcm, counter, lengths, BLOCK);
    }
    encrypt(key, r->key_bytes, counter, made);
    add(made, MASK);
    if (r->iv_bytes != 12 && counter[BLOCK - 1] != 0xff) {
        counter[BLOCK - 1]++;
        add(counter, COUNTER);
    }
}

/* In a child, whose memory goes with it. */
static int make_secrets(const void *argument)
{
    const struct row *r = argument;
    tap_random_bytes(&random_state, secrets->key, sizeof secrets->key);
    tap_random_bytes(&random_state, secrets->iv, sizeof secrets->iv);
    tap_random_bytes(&random_state, secrets->text, sizeof secrets->text);
    for (size_t i = 0; i < r->keys; i++) {
        size_t half = is_xts(r) ? r->key_bytes / 2 : r->key_bytes;
        struct gpuaes_gcm_key gcm;
        for (size_t at = 0; at < r->key_bytes; at += half)
            add_schedule(secrets->key[i] + at, half);
        if (is_gcm(r) && gpuaes_gcm_key_expand(&gcm, secrets->key[i], half))
            add_powers(&gcm);
    }
    for (size_t i = 0, k = 0; i < COUNT && (is_gcm(r) || is_xts(r)); i++) {
        add_message(r, secrets->key[k], i);
        k = k + 1 < r->keys ? k + 1 : 0;
    }
    return 0;
}

/* ---- Search ------------------------------------------------------------------------------------
 */

/* Kinds of which some are found. */
static unsigned found_kinds(void)
{
    unsigned kinds = 0;
    while (emulator_under_way() != 0)
        usleep(1000);
    (void)search_memory(search);
    for (unsigned i = 0; i < search->count; i++)
        if (search->found[i] != 0)
            kinds |= BIT(secrets->kind[i]);
    return kinds;
}

static int has_only(const char *when, unsigned allowed)
{
    unsigned found = found_kinds() & ~allowed;
    for (enum kind kind = KEY; kind < KINDS; kind++)
        if ((found & BIT(kind)) != 0)
            fprintf(stderr, "# %s: there are %s\n", when, secret_names[kind]);
    for (unsigned i = 0, told = 0; i < search->count && told < 3; i++)
        if (search->found[i] != 0 && (found & BIT(secrets->kind[i])) != 0) {
            char line[300] = "";
            search_describe(search->where[i], line, sizeof line);
            fprintf(stderr, "# at %#" PRIxPTR ": %s\n", search->where[i], line);
            told++;
        }
    return found == 0;
}

/* ---- A batch
 * -------------------------------------------------------------------------------------
 */

/* In device memory, which the CPU of an emulated device reads as well. */
struct memory {
    const void *in[COUNT];
    void *out[COUNT];
    size_t bytes[COUNT];
    const unsigned char *iv[COUNT];
    unsigned char *tag[COUNT];
    uint32_t key[COUNT], status[COUNT];
    unsigned char text[COUNT][LEN], ivs[COUNT][BLOCK], tags[COUNT][TAG], keys[KEYS_MOST * 64];
};

struct test {
    const struct row *row;
    struct memory *memory;
    struct gpuaes_device_keys *keys;
    struct gpuaes_device_batch batch;
    unsigned char *temp;
    size_t temp_bytes;
    drv_stream stream;
};

static void describe(struct test *t)
{
    struct memory *m = t->memory;
    memset(m, 0, sizeof *m);
    memcpy(m->text, secrets->text, sizeof m->text);
    memcpy(m->ivs, secrets->iv, sizeof m->ivs);
    for (size_t i = 0; i < COUNT; i++) {
        int is_whole = !is_gcm(t->row) && !is_xts(t->row);
        m->in[i] = m->out[i] = m->text[i];
        m->bytes[i] = is_whole ? LEN / BLOCK * BLOCK : LEN;
        m->iv[i] = m->ivs[i];
        m->tag[i] = m->tags[i];
        m->key[i] = (uint32_t)(i % t->row->keys);
    }
    t->batch = (struct gpuaes_device_batch){.op = t->row->op,
                                            .count = COUNT,
                                            .max_bytes = LEN,
                                            .iv_bytes = t->row->iv_bytes,
                                            .tag_bytes = TAG,
                                            .in = m->in,
                                            .out = m->out,
                                            .bytes = m->bytes,
                                            .key = m->key,
                                            .iv = m->iv,
                                            .tag = m->tag,
                                            .status = m->status};
}

/* From the CPU's memory, or from the device's, where the test overwrites it behind that. */
static int open_keys(struct test *t)
{
    const struct row *r = t->row;
    unsigned char *packed =
        r->device_keys ? t->memory->keys : (unsigned char *)secrets + sizeof *secrets;
    for (size_t i = 0; i < r->keys; i++)
        memcpy(packed + i * r->key_bytes, secrets->key[i], r->key_bytes);
    int opened = gpuaes_device_keys_open(&t->keys, r->op, packed, r->key_bytes, r->keys, t->stream,
                                         0) == GPUAES_OK;
    while (emulator_under_way() != 0)
        usleep(1000);
    memset(t->memory->keys, 0, sizeof t->memory->keys);
    t->batch.keys = t->keys;
    return opened;
}

static int prepare(struct test *t)
{
    drv_ptr memory, temp;
    search = search_new(sizeof *secrets + sizeof t->memory->keys);
    if (search == NULL)
        return 0;
    secrets = (struct secrets *)(void *)search->own;
    search->is_ignored = emulator_is_inside_device;
    if (in_child(make_secrets, t->row) != 0)
        return 0;
    become_an_application(0);
    if (!starts_with(NULL) || application.mem_alloc(&memory, sizeof *t->memory) != DRV_SUCCESS ||
        application.stream_create(&t->stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS)
        return 0;
    t->memory = (struct memory *)(uintptr_t)memory;
    describe(t);
    if (!open_keys(t) || gpuaes_device_batch_temp_bytes(&t->batch, &t->temp_bytes) != GPUAES_OK ||
        application.mem_alloc(&temp, t->temp_bytes) != DRV_SUCCESS)
        return 0;
    t->temp = (unsigned char *)(uintptr_t)temp;
    return 1;
}

static enum gpuaes_status queue(const struct test *t)
{
    return gpuaes_device_batch_queue(&t->batch, t->temp, t->temp_bytes, t->stream);
}

/* A schedule begins or ends with its key; what that was made of must be gone by then. */
static int has_raw_keys(void)
{
    (void)found_kinds();
    for (unsigned i = 0; i < search->count; i++)
        if (secrets->kind[i] == KEY && search->found[i] > 1)
            return 1;
    return 0;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static int run_row(const void *argument)
{
    struct test t = {.row = argument};
    unsigned of_keys = is_gcm(t.row) ? OF_KEYS : BIT(SCHEDULE), allowed = of_keys | BIT(KEY);
    if (!prepare(&t))
        return 1;
    if ((found_kinds() & of_keys) != of_keys)
        return 2; /* the search finds nothing at all */
    if (t.row->keys > 1 && has_raw_keys())
        return 3;
    if (queue(&t) != GPUAES_OK || !has_only("after the batch", allowed))
        return 4;
    if (gpuaes_device_keys_close(t.keys, t.stream) != GPUAES_OK ||
        !has_only("after the keys were closed", 0))
        return 5;
    return 0;
}

/* Numbers of each key, as bytes and as integers. */
static int run_random(const void *argument)
{
    struct test t = {.row = argument};
    if (!prepare(&t))
        return 1;
    if ((found_kinds() & BIT(SCHEDULE)) == 0)
        return 2; /* the search finds nothing at all */
    if (has_raw_keys())
        return 3;
    for (uint32_t key = 0; key < t.row->keys; key++) {
        struct gpuaes_random r = {.keys = t.keys, .key = key, .count = sizeof t.memory->text};
        if (gpuaes_random_queue(&r, t.memory->text, t.stream) != GPUAES_OK)
            return 4;
        r.kind = GPUAES_RANDOM_RANGE;
        r.element_bytes = 1;
        if (gpuaes_random_queue(&r, t.memory->text, t.stream) != GPUAES_OK)
            return 5;
    }
    if (!has_only("after random numbers", BIT(SCHEDULE) | BIT(KEY)) || has_raw_keys())
        return 6;
    if (gpuaes_device_keys_close(t.keys, t.stream) != GPUAES_OK ||
        !has_only("after the keys were closed", 0))
        return 7;
    return 0;
}

struct fault {
    const struct row *row;
    char options[96];
    int wipes; /* the library can */
};

/* One launch fails: the device is given up, with the keys that it has. */
static int run_fault(const void *argument)
{
    const struct fault *f = argument;
    struct test t = {.row = f->row};
    unsigned in_between = BIT(MASK) | BIT(COUNTER) | BIT(TWEAK);
    if (!prepare(&t))
        return 1;
    emulator_configure(f->options);
    if (queue(&t) != GPUAES_FAULT)
        return 2;
    emulator_configure("");
    if (!f->wipes)
        return (found_kinds() & in_between) != 0 ? 0 : 3;
    return has_only(f->options, ~in_between) ? 0 : 4;
}

/* Each of the launches; and one that is not wiped, to show that the search finds secrets. */
static void check_faults(const struct row *r)
{
    struct fault f = {.row = r, .wipes = 1};
    const unsigned launches = r->op == GPUAES_GCM_ENCRYPT ? 3 : 4;
    for (unsigned launch = 1; launch <= launches; launch++) {
        snprintf(f.options, sizeof f.options, "fault=launch_kernel:%u", launch);
        child_ok(run_fault, &f, "%s: launch %u fails, and no mask, counter or tweak is left",
                 r->name, launch);
    }
    f.wipes = 0;
    snprintf(f.options, sizeof f.options, "fault=launch_kernel:%d,fault=memset_d8_async:1,%s",
             is_xts(r) ? 3 : 2, "fault=memset_d8_async:2");
    child_ok(run_fault, &f, "%s: they are there where the wipe fails, too", r->name);
}

int main(int argc, char **argv)
{
    (void)argc;
    search_bind_now(argv);
    tap_random_seed(&random_state);
    for (size_t i = 0; i < ROWS; i++) {
        child_ok(run_row, &rows[i], "%s: no secret outlives its use", rows[i].name);
        if (is_gcm(&rows[i]) || is_xts(&rows[i]))
            check_faults(&rows[i]);
    }
    child_ok(run_random, &random_row, "random numbers: no key outlives its use");
    return tap_done();
}
