/*
 * What gpuaes_queue() leaves behind: nothing, but for raw keys where the application has them. No
 * schedule, power of the hash key, mask of a tag, counter that comes from a hash or encrypted tweak
 * is anywhere when the messages are done, also where a launch has failed; nor is a schedule when
 * random numbers are. All writable memory of the process is searched, in which the
 * emulator's device memory is.
 *
 * Keys and text of the test, and what is looked for, lie in memory that is not searched, and are
 * made by a child.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/hash_forms.h"
#include "test/support/library.h"
#include "test/support/memory_search.h"

enum { BLOCK = GPUAES_BLOCK, KEYS_MOST = 3, FEW = 10, COUNT = 150 };
enum { LEN = 40 * BLOCK + 3, TAG = 16 };

enum kind { KEY, SCHEDULE, POWER, MASK, COUNTER, TWEAK, KINDS };
static const char *const secret_names[] = {"keys",  "schedules", "powers of the hash key",
                                           "masks", "counters",  "tweaks"};
#define BIT(kind) (1U << (kind))

/* COUNT messages are more than one launch takes on an emulated device; a few are not. */
struct row {
    const char *name;
    enum gpuaes_op op;
    int is_raw; /* keys lie in device memory */
    size_t key_bytes, keys, iv_bytes, count;
    unsigned launches;
};
static const struct row rows[] = {
    {"CTR, raw keys", GPUAES_CTR, 1, 24, 3, BLOCK, COUNT, 2},
    {"CTR", GPUAES_CTR, 0, 32, 1, BLOCK, FEW, 1},
    {"CBC decryption, raw keys", GPUAES_CBC_DECRYPT, 1, 16, 3, BLOCK, COUNT, 3},
    {"CBC encryption", GPUAES_CBC_ENCRYPT, 0, 16, 1, BLOCK, COUNT, 2},
    {"ECB encryption", GPUAES_ECB_ENCRYPT, 0, 32, 1, BLOCK, COUNT, 2},
    {"GCM encryption, raw keys", GPUAES_GCM_ENCRYPT, 1, 32, 3, 12, COUNT, 2},
    {"GCM decryption, raw keys", GPUAES_GCM_DECRYPT, 1, 16, 3, 12, FEW, 1},
    {"GCM encryption, IVs that are hashed", GPUAES_GCM_ENCRYPT, 0, 24, 1, BLOCK, COUNT, 2},
    {"GCM decryption, IVs that are hashed", GPUAES_GCM_DECRYPT, 0, 32, 1, BLOCK, FEW, 1},
    {"XTS encryption, raw keys", GPUAES_XTS_ENCRYPT, 1, 64, 3, BLOCK, COUNT, 2},
    {"XTS decryption", GPUAES_XTS_DECRYPT, 0, 32, 1, BLOCK, COUNT, 2},
};
static const struct row random_row = {"random numbers", GPUAES_CTR, 1,   32,
                                      KEYS_MOST,        BLOCK,      FEW, 1};
enum { ROWS = sizeof rows / sizeof *rows };

struct secrets {
    unsigned char key[KEYS_MOST][64], iv[COUNT][BLOCK], text[COUNT][LEN];
    unsigned char packed[KEYS_MOST * 64];
    struct gpuaes_key schedule[2]; /* of one key; of XTS that of tweaks */
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
        memcpy(secrets->packed + i * r->key_bytes, secrets->key[i], r->key_bytes);
        for (size_t at = 0; at < r->key_bytes; at += half)
            add_schedule(secrets->key[i] + at, half);
        (void)gpuaes_key_expand(&secrets->schedule[0], secrets->key[i], half);
        (void)gpuaes_key_expand(&secrets->schedule[1], secrets->key[i] + r->key_bytes - half, half);
        if (is_gcm(r) && gpuaes_gcm_key_expand(&gcm, secrets->key[i], half))
            add_powers(&gcm);
    }
    for (size_t i = 0, k = 0; i < r->count && (is_gcm(r) || is_xts(r)); i++) {
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
    (void)COMES(emulator_under_way() == 0);
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

/* ---- Messages -------------------------------------------------------------------------------- */

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
    struct gpuaes_messages messages;
    unsigned char *temp;
    size_t temp_bytes;
    drv_stream stream;
};

static void describe(struct test *t)
{
    struct memory *m = t->memory;
    const struct row *r = t->row;
    memset(m, 0, sizeof *m);
    memcpy(m->text, secrets->text, sizeof m->text);
    memcpy(m->ivs, secrets->iv, sizeof m->ivs);
    for (size_t i = 0; i < r->count; i++) {
        int is_whole = !is_gcm(r) && !is_xts(r);
        m->in[i] = m->out[i] = m->text[i];
        m->bytes[i] = is_whole ? LEN / BLOCK * BLOCK : LEN;
        m->iv[i] = m->ivs[i];
        m->tag[i] = m->tags[i];
        m->key[i] = (uint32_t)(i % r->keys);
    }
    t->messages = (struct gpuaes_messages){.struct_bytes = sizeof t->messages,
                                           .op = r->op,
                                           .count = r->count,
                                           .max_bytes = LEN,
                                           .in = m->in,
                                           .out = m->out,
                                           .bytes = m->bytes,
                                           .iv = m->iv,
                                           .iv_bytes = r->iv_bytes,
                                           .tag = m->tag,
                                           .tag_bytes = TAG,
                                           .status = m->status};
    if (!r->is_raw) {
        t->messages.key = &secrets->schedule[0];
        t->messages.tweak_key = is_xts(r) ? &secrets->schedule[1] : NULL;
        return;
    }
    memcpy(m->keys, secrets->packed, sizeof m->keys);
    t->messages.key_table = m->keys;
    t->messages.key_count = r->keys;
    t->messages.key_bytes = r->key_bytes;
    t->messages.key_index = m->key;
}

static int prepare(struct test *t)
{
    drv_ptr memory, temp;
    search = search_new(sizeof *secrets);
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
    t->temp_bytes = gpuaes_queue_temp_bytes(&t->messages);
    if (application.mem_alloc(&temp, t->temp_bytes) != DRV_SUCCESS)
        return 0;
    t->temp = (unsigned char *)(uintptr_t)temp;
    return 1;
}

static enum gpuaes_status queue(const struct test *t)
{
    return gpuaes_queue(&t->messages, t->temp, t->temp_bytes, t->stream, 0);
}

/* While the application has its raw keys, and when it has overwritten them. */
static int has_nothing(const struct test *t, const char *when)
{
    if (!has_only(when, t->row->is_raw ? BIT(KEY) : 0))
        return 0;
    memset(t->memory->keys, 0, sizeof t->memory->keys);
    return has_only("after raw keys were overwritten", 0);
}

/* 1 if the search finds a block of each kind in the temporary memory. */
static int search_works(const struct test *t)
{
    unsigned kinds = 0;
    size_t used = 0;
    for (unsigned i = 0; i < search->count; i++)
        if ((kinds & BIT(secrets->kind[i])) == 0) {
            memcpy(t->temp + used, search->needle[i], NEEDLE);
            used += NEEDLE;
            kinds |= BIT(secrets->kind[i]);
        }
    int found = (found_kinds() & kinds) == kinds;
    memset(t->temp, 0, used);
    return found;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static int run_row(const void *argument)
{
    struct test t = {.row = argument};
    if (!prepare(&t))
        return 1;
    if (!search_works(&t))
        return 2;
    const unsigned before = emulator_launches(NULL);
    if (queue(&t) != GPUAES_OK)
        return 3;
    if (!has_nothing(&t, "after the messages"))
        return 4;
    /* The first GCM of a device has launches of its own. */
    return is_gcm(t.row) || emulator_launches(NULL) - before == t.row->launches ? 0 : 5;
}

/* Numbers of each key, as bytes and as integers. */
static int run_random(const void *argument)
{
    struct test t = {.row = argument};
    if (!prepare(&t))
        return 1;
    if (!search_works(&t))
        return 2;
    for (size_t key = 0; key < t.row->keys; key++) {
        struct gpuaes_random r = {.struct_bytes = sizeof r,
                                  .key = t.memory->keys + key * t.row->key_bytes,
                                  .count = sizeof t.memory->text};
        if (gpuaes_random_queue(&r, t.memory->text, t.stream, 0) != GPUAES_OK)
            return 3;
        r.kind = GPUAES_RANDOM_RANGE;
        r.element_bytes = 1;
        if (gpuaes_random_queue(&r, t.memory->text, t.stream, 0) != GPUAES_OK)
            return 4;
    }
    return has_nothing(&t, "after random numbers") ? 0 : 5;
}

struct fault {
    const struct row *row;
    char options[96];
};

/* One launch fails, and the device is given up. */
static int run_fault(const void *argument)
{
    const struct fault *f = argument;
    struct test t = {.row = f->row};
    if (!prepare(&t))
        return 1;
    emulator_configure(f->options);
    if (queue(&t) != GPUAES_FAULT)
        return 2;
    emulator_configure("");
    return has_nothing(&t, f->options) ? 0 : 3;
}

static void check_faults(const struct row *r)
{
    struct fault f = {.row = r};
    for (unsigned launch = 1; launch <= r->launches; launch++) {
        snprintf(f.options, sizeof f.options, "fault=launch_kernel:%u", launch);
        child_ok(run_fault, &f, "%s: launch %u fails, and no secret is left", r->name, launch);
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    search_bind_now(argv);
    tap_random_seed(&random_state);
    for (size_t i = 0; i < ROWS; i++) {
        child_ok(run_row, &rows[i], "%s: no secret outlives its use", rows[i].name);
        check_faults(&rows[i]);
    }
    child_ok(run_random, &random_row, "random numbers: no key outlives its use");
    return tap_done();
}
