/*
 * gpuaes_queue() while every function of the driver fails, once, at each of its calls, or the
 * device is lost there: what it says is true, what is reported as queued is right unless the device
 * fails, where memory is short nothing is queued, and what went wrong once can be repeated.
 * Temporary memory comes from the device's pool, and all of it goes back.
 *
 * A lost device is lost for good, so each fault is a child of its own. A child without a fault
 * counts the calls. GPUAES_TEST_EVERY=N takes one of N faults, by the seed others in each run
 * (under a sanitizer one of 8).
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <sys/mman.h>

#include "test/support/driver_functions.h"
#include "test/support/library.h"

enum { BLOCK = GPUAES_BLOCK, KEY = 32, KEYS = 3, COUNT = 60, LEN = 40 * BLOCK, AAD = 20, TAG = 16 };

enum key_kind { ONE_KEY, KEY_TABLE, KEY_POINTERS };

/* COUNT messages are more than one launch takes on an emulated device; a few are not. */
static const struct row {
    const char *name;
    enum gpuaes_op op;
    enum key_kind kind;
    size_t count;
    unsigned launches; /* of kernels, without a self-test */
} rows[] = {
    {"CTR, a few messages", GPUAES_CTR, ONE_KEY, 10, 1},
    {"CTR", GPUAES_CTR, KEY_TABLE, COUNT, 2},
    {"CBC decryption", GPUAES_CBC_DECRYPT, KEY_POINTERS, COUNT, 3},
    {"GCM encryption, a few messages", GPUAES_GCM_ENCRYPT, KEY_TABLE, 10, 1},
    {"GCM decryption", GPUAES_GCM_DECRYPT, ONE_KEY, COUNT, 2},
    {"XTS decryption", GPUAES_XTS_DECRYPT, KEY_TABLE, COUNT, 2},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- Messages -------------------------------------------------------------------------------- */

/* As it lies in device memory, which the CPU of an emulated device reads as well. */
struct memory {
    const void *in[COUNT], *aad[COUNT], *key_at[COUNT];
    void *out[COUNT];
    size_t bytes[COUNT], aad_bytes[COUNT];
    unsigned char *tag[COUNT], *iv[COUNT];
    uint32_t key[COUNT], status[COUNT];
    unsigned char text[COUNT][LEN], result[COUNT][LEN], ivs[COUNT][BLOCK], aads[COUNT][AAD],
        tags[COUNT][TAG], keys[KEYS][KEY];
};

struct test {
    const struct row *row;
    struct memory *memory;
    unsigned char keys[KEYS][KEY], expected[COUNT][LEN], tags[COUNT][TAG];
    drv_stream stream;
};

static int is_gcm(const struct row *r)
{
    return r->op == GPUAES_GCM_ENCRYPT || r->op == GPUAES_GCM_DECRYPT;
}

/* Output and, of GCM, the tag of ciphertext: from libcrypto. */
static void expect_message(struct test *t, size_t i)
{
    const EVP_CIPHER *const gcm = EVP_aes_256_gcm();
    const struct memory *m = t->memory;
    int n, encrypts = t->row->op == GPUAES_CTR || t->row->op == GPUAES_GCM_ENCRYPT;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    const EVP_CIPHER *plain = t->row->op == GPUAES_CTR           ? EVP_aes_256_ctr()
                              : t->row->op == GPUAES_XTS_DECRYPT ? EVP_aes_128_xts()
                                                                 : EVP_aes_256_cbc();
    const unsigned char *key = t->keys[t->row->kind == ONE_KEY ? 0 : i % KEYS];
    for (int turn = encrypts || !is_gcm(t->row); turn < 2; turn++) {
        /* Of decryption, the text comes first; with it the tag. */
        int encrypts_now = is_gcm(t->row) ? turn : encrypts;
        unsigned char out[LEN];
        EVP_CipherInit_ex(c, is_gcm(t->row) ? gcm : plain, NULL, key, m->ivs[i], encrypts_now);
        EVP_CIPHER_CTX_set_padding(c, 0);
        if (is_gcm(t->row))
            EVP_CipherUpdate(c, NULL, &n, m->aads[i], AAD);
        EVP_CipherUpdate(c, out, &n,
                         turn == 1 && !encrypts && is_gcm(t->row) ? t->expected[i] : m->text[i],
                         LEN);
        if (is_gcm(t->row) && encrypts_now) {
            EVP_CipherFinal_ex(c, out + n, &n);
            EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, TAG, t->tags[i]);
        }
        if (turn == 0 || encrypts || !is_gcm(t->row))
            memcpy(t->expected[i], out, LEN);
    }
    EVP_CIPHER_CTX_free(c);
}

static void fill(struct test *t)
{
    struct memory *m = t->memory;
    tap_random_bytes(&random_state, m->text, sizeof m->text);
    tap_random_bytes(&random_state, m->ivs, sizeof m->ivs);
    tap_random_bytes(&random_state, m->aads, sizeof m->aads);
    tap_random_bytes(&random_state, t->keys, sizeof t->keys);
    memcpy(m->keys, t->keys, sizeof t->keys);
    for (size_t i = 0; i < t->row->count; i++) {
        m->in[i] = m->text[i];
        m->out[i] = m->result[i];
        m->bytes[i] = LEN;
        m->iv[i] = m->ivs[i];
        m->aad[i] = m->aads[i];
        m->aad_bytes[i] = AAD;
        m->tag[i] = m->tags[i];
        m->key[i] = (uint32_t)i % KEYS;
        m->key_at[i] = m->keys[i % KEYS];
        m->status[i] = 0xee;
        expect_message(t, i);
        memcpy(m->tags[i], t->row->op == GPUAES_GCM_DECRYPT ? t->tags[i] : m->aads[i], TAG);
    }
    memset(m->result, 0, sizeof m->result);
}

static int is_right(const struct test *t)
{
    for (size_t i = 0; i < t->row->count; i++)
        if (t->memory->status[i] != GPUAES_OK ||
            memcmp(t->memory->result[i], t->expected[i], LEN) != 0 ||
            (is_gcm(t->row) && memcmp(t->memory->tags[i], t->tags[i], TAG) != 0))
            return 0;
    return 1;
}

/* Until the stream is done, as an application waits. */
static drv_result wait_for(drv_stream stream)
{
    drv_result r;
    while ((r = application.stream_query(stream)) == DRV_NOT_READY)
        usleep(100);
    return r;
}

/* ---- Children -------------------------------------------------------------------------------- */

/* In memory that children share. */
struct trial {
    unsigned calls[FUNCTIONS];
    unsigned launches;
    int queued; /* enum gpuaes_status */
};
static struct trial *trial;

/* `schedule` must stay until the messages are queued. */
static struct gpuaes_messages messages_of(const struct test *t, struct gpuaes_key *schedule)
{
    struct memory *m = t->memory;
    struct gpuaes_messages messages = {.struct_bytes = sizeof messages,
                                       .op = t->row->op,
                                       .count = t->row->count,
                                       .max_bytes = LEN,
                                       .key_bytes = KEY,
                                       .in = m->in,
                                       .out = m->out,
                                       .bytes = m->bytes,
                                       .iv = (const unsigned char *const *)m->iv,
                                       .iv_bytes = is_gcm(t->row) ? 12 : BLOCK,
                                       .aad = m->aad,
                                       .aad_bytes = m->aad_bytes,
                                       .tag = m->tag,
                                       .tag_bytes = TAG,
                                       .status = m->status};
    if (t->row->kind == ONE_KEY) {
        gpuaes_key_expand(schedule, t->keys[0], KEY);
        messages.key = schedule;
    } else if (t->row->kind == KEY_TABLE) {
        messages.key_table = m->keys;
        messages.key_count = KEYS;
        messages.key_index = m->key;
    } else {
        messages.keys = m->key_at;
    }
    return messages;
}

static int is_untouched(const struct test *t)
{
    for (size_t i = 0; i < t->row->count; i++)
        if (t->memory->status[i] != 0xee)
            return 0;
    return 1;
}

/* 1 if what the call says is true. */
static int run_queue(struct test *t)
{
    struct gpuaes_key schedule;
    const struct gpuaes_messages messages = messages_of(t, &schedule);
    trial->queued = gpuaes_queue(&messages, NULL, 0, t->stream, 0);
    const int failed = wait_for(t->stream) != DRV_SUCCESS;
    if (trial->queued == GPUAES_OK)
        return failed || is_right(t);
    return trial->queued == GPUAES_FAULT || is_untouched(t);
}

static int prepare(struct test *t)
{
    drv_ptr memory;
    if (application.mem_alloc(&memory, sizeof *t->memory) != DRV_SUCCESS ||
        application.stream_create(&t->stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS)
        return 0;
    t->memory = (struct memory *)(uintptr_t)memory;
    fill(t);
    return 1;
}

struct fault {
    const struct row *row;
    char options[96];
};

static int run_fault(const void *argument)
{
    const struct fault *f = argument;
    static struct test t;
    struct gpuaes_settings settings = {.timeout_ms = timeout_for(f->options)};
    t.row = f->row;
    emulator_configure("");
    if (!starts_with(&settings))
        return 1;
    become_an_application(0);
    if (!prepare(&t))
        return 2;
    emulator_configure(f->options);
    size_t before = emulator_device_bytes();
    int right = run_queue(&t);
    for (unsigned i = 0; i < FUNCTIONS; i++)
        trial->calls[i] = emulator_calls(functions[i]);
    trial->launches = emulator_launches(NULL);
    struct trial first = *trial;
    emulator_configure("");
    /* What was short once is there again. */
    if (right && first.queued != GPUAES_FAULT && gpuaes_state() == GPUAES_READY) {
        fill(&t);
        right = run_queue(&t) && trial->queued == GPUAES_OK && is_right(&t) &&
                (strstr(f->options, "lost") != NULL || is_gcm(t.row) ||
                 emulator_device_bytes() == before);
    }
    *trial = first;
    return right ? 0 : 3;
}

/* What a call may say of a fault: not that an argument is wrong, the stream least of all. */
static int is_known(void)
{
    return trial->queued == GPUAES_OK || trial->queued == GPUAES_NO_MEMORY ||
           trial->queued == GPUAES_FAULT || trial->queued == GPUAES_NOT_READY;
}

static int try(const struct fault *f)
{
    memset(trial, 0, sizeof *trial);
    int child = in_child(run_fault, f);
    if (child == 0 && is_known())
        return 1;
    tap_diag("%s, %s: child %d; queued %d", f->row->name, f->options, child, trial->queued);
    return 0;
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static size_t step, turn; /* one fault of `step` is tried */

struct count {
    unsigned tried, bad, failed;
};

static void try_fault(struct count *count, const struct row *r, unsigned function, unsigned call,
                      const char *how, const char *code)
{
    struct fault f = {.row = r};
    if (turn++ % step != 0)
        return;
    snprintf(f.options, sizeof f.options, "%s=%s:%u%s", how, functions[function], call, code);
    count->tried++;
    count->bad += !try(&f);
    count->failed += trial->queued > GPUAES_OK;
}

static void check_row(const struct row *r)
{
    struct fault none = {.row = r};
    struct count count = {0};
    const int right = try(&none);
    if (!tap_ok(right && trial->queued == GPUAES_OK && trial->launches >= r->launches &&
                    (is_gcm(r) || trial->launches == r->launches),
                "%s: without a fault, %u launches", r->name, trial->launches))
        return;
    struct trial usual = *trial;
    for (unsigned i = 0; i < FUNCTIONS; i++)
        for (unsigned call = 1; call <= usual.calls[i]; call++) {
            if (call > 3 && strstr(functions[i], "_query") != NULL)
                break; /* how often they come depends on the pace */
            try_fault(&count, r, i, call, "fault", "");
            try_fault(&count, r, i, call, "fault", ":2");
            try_fault(&count, r, i, call, "lost", "");
        }
    /* Of a few that are tried, all may be without effect. */
    tap_ok(count.tried != 0 && count.bad == 0 && (step != 1 || count.failed > count.tried / 3),
           "%s: %u faults, of which %u are told", r->name, count.tried, count.failed);
}

/* A driver without pools: what needs temporary memory is given some. */
static int run_without_pools(const void *argument)
{
    static struct test t;
    struct gpuaes_key schedule;
    drv_ptr temp;
    emulator_configure("pools=0");
    if (!starts_with(NULL))
        return 1;
    become_an_application(0);
    t.row = argument;
    if (!prepare(&t))
        return 2;
    struct gpuaes_messages messages = messages_of(&t, &schedule);
    const size_t bytes = gpuaes_queue_temp_bytes(&messages);
    if (gpuaes_queue(&messages, NULL, 0, t.stream, 0) != GPUAES_BAD_ARGUMENT ||
        strncmp(gpuaes_queue_error(), "temp is NULL", 12) != 0 || !is_untouched(&t))
        return 3;
    if (application.mem_alloc(&temp, bytes) != DRV_SUCCESS ||
        gpuaes_queue(&messages, (void *)(uintptr_t)temp, bytes, t.stream, 0) != GPUAES_OK ||
        wait_for(t.stream) != DRV_SUCCESS || !is_right(&t))
        return 4;
    messages.count = 1;
    return gpuaes_queue(&messages, NULL, 0, t.stream, 0) == GPUAES_OK &&
                   wait_for(t.stream) == DRV_SUCCESS
               ? 0
               : 5;
}

int main(void)
{
    trial = mmap(NULL, sizeof *trial, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        return EXIT_FAILURE;
    tap_random_seed(&random_state);
    step = setting("GPUAES_TEST_EVERY", sanitized() ? 8 : 1);
    turn = tap_random_below(&random_state, step);
    for (size_t i = 0; i < ROWS; i++)
        check_row(&rows[i]);
    child_ok(run_without_pools, &rows[1], "without memory pools, temporary memory must be given");
    return tap_done();
}
