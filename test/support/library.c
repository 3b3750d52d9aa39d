/*
 * Results to compare with, memory and calls, for the test programs of libgpuaes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/library.h"

#include <pthread.h>

#include "test/support/cases.h"

const char *const op_names[ALL_OPS] = {"ECB encrypt", "ECB decrypt", "CBC decrypt",
                                       "CTR",         "CBC encrypt", "GCM encrypt",
                                       "GCM decrypt", "XTS encrypt", "XTS decrypt"};
const enum gpuaes_op single_ops[SINGLE_OPS] = {GPUAES_ECB_ENCRYPT, GPUAES_ECB_DECRYPT,
                                               GPUAES_CBC_DECRYPT, GPUAES_CTR,
                                               GPUAES_XTS_ENCRYPT, GPUAES_XTS_DECRYPT};
const char *const kind_names[3] = {"pageable", "pinned", "device"};

/* ---- The reference ----------------------------------------------------------- */

/* Adds tweaks, the first of which is `tweak`; it becomes that of the next block. */
static void add_tweaks(unsigned char tweak[16], const unsigned char *in, unsigned char *out,
                       size_t len)
{
    for (size_t at = 0; at < len; at += 16) {
        unsigned carry = 0;
        for (size_t i = 0; i < 16; i++) {
            unsigned byte = tweak[i];
            out[at + i] = in[at + i] ^ tweak[i];
            tweak[i] = (unsigned char)(byte << 1 | carry);
            carry = byte >> 7;
        }
        tweak[0] ^= (unsigned char)(carry * 0x87);
    }
}

static void reference_xts(enum gpuaes_op op, const unsigned char *key, size_t key_bytes,
                          unsigned char tweak[16], const unsigned char *in, unsigned char *out,
                          size_t len)
{
    unsigned char first[16];
    memcpy(first, tweak, sizeof first);
    add_tweaks(tweak, in, out, len);
    reference(op == GPUAES_XTS_DECRYPT ? GPUAES_ECB_DECRYPT : GPUAES_ECB_ENCRYPT, key, key_bytes,
              NULL, out, out, len);
    add_tweaks(first, out, out, len);
}

void reference(enum gpuaes_op op, const unsigned char *key, size_t key_bytes, unsigned char iv[16],
               const unsigned char *in, unsigned char *out, size_t len)
{
    if (op == GPUAES_XTS_ENCRYPT || op == GPUAES_XTS_DECRYPT) {
        reference_xts(op, key, key_bytes, iv, in, out, len);
        return;
    }
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n = 0;
    EVP_CipherInit_ex(c, reference_cipher(op, key_bytes), NULL, key, iv,
                      op != GPUAES_ECB_DECRYPT && op != GPUAES_CBC_DECRYPT);
    EVP_CIPHER_CTX_set_padding(c, 0);
    EVP_CipherUpdate(c, out, &n, in, (int)len);
    if (op >= GPUAES_CBC_DECRYPT)
        EVP_CIPHER_CTX_get_updated_iv(c, iv, 16);
    EVP_CIPHER_CTX_free(c);
}

/* ---- Memory of each kind ------------------------------------------------------ */

void *take(int kind, size_t bytes)
{
    drv_ptr p = 0;
    if (kind == GPUAES_PAGEABLE)
        return malloc(bytes);
    if (kind == GPUAES_PINNED)
        return gpuaes_pinned_alloc(bytes);
    return application.mem_alloc(&p, bytes) == DRV_SUCCESS ? (void *)(uintptr_t)p : NULL;
}

void give(int kind, void *p, size_t bytes)
{
    if (kind == GPUAES_PAGEABLE)
        free(p);
    else if (kind == GPUAES_PINNED)
        gpuaes_pinned_free(p, bytes);
    else
        application.mem_free((drv_ptr)(uintptr_t)p);
}

void become_an_application(int device)
{
    drv_context context;
    driver_open(&application);
    application.init(0);
    application.primary_ctx_retain(&context, device);
    application.ctx_push_current(context);
}

void configure(const struct gpuaes_settings *settings)
{
    struct gpuaes_settings patient = *settings;
    patient.struct_bytes = sizeof patient;
    if (patient.timeout_ms == 0)
        patient.timeout_ms = 250000;
    gpuaes_configure(&patient);
}

int starts_with(const struct gpuaes_settings *settings)
{
    static const struct gpuaes_settings defaults;
    configure(settings != NULL ? settings : &defaults);
    return gpuaes_start(NULL, NULL, 1) == GPUAES_READY;
}

/* ---- Calls ---------------------------------------------------------------------- */

void expect(struct expected *e, enum gpuaes_op op, size_t len)
{
    static const size_t key_sizes[] = {16, 24, 32};
    static pthread_mutex_t drawing = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&drawing);
    size_t key_bytes = key_sizes[tap_random_below(&random_state, 3)];
    tap_random_bytes(&random_state, e->key, sizeof e->key);
    tap_random_bytes(&random_state, e->iv, sizeof e->iv);
    if (tap_random_below(&random_state, 3) == 0)
        memset(e->iv + tap_random_below(&random_state, 16), 0xff, 1);
    if (tap_random_below(&random_state, 4) == 0)
        memset(e->iv, 0xff, 15);
    memcpy(e->next_iv, e->iv, sizeof e->iv);
    gpuaes_key_expand(&e->schedule, e->key, key_bytes);
    e->plain = malloc(len);
    e->cipher = malloc(len);
    tap_random_bytes(&random_state, e->plain, len);
    pthread_mutex_unlock(&drawing);
    reference(op, e->key, key_bytes, e->next_iv, e->plain, e->cipher, len);
}

void expected_free(struct expected *e)
{
    free(e->plain);
    free(e->cipher);
}

size_t bytes_done(const struct gpuaes_report *report)
{
    size_t done = 0;
    for (unsigned i = 0; i < report->shards; i++)
        done += report->shard[i].done;
    return done;
}

int finishes(const struct expected *e, enum gpuaes_op op, const struct gpuaes_report *report,
             const unsigned char *in, unsigned char *out, size_t len)
{
    size_t key_bytes = key_size_of(e->schedule.rounds);
    unsigned char iv[16];
    size_t end = 0;
    memcpy(iv, e->iv, sizeof iv);
    for (unsigned i = 0; i < report->shards; i++) {
        const struct gpuaes_shard *part = &report->shard[i];
        size_t at = part->at + part->done;
        if (part->at != end || memcmp(out + part->at, e->cipher + part->at, part->done) != 0)
            return 0;
        end = part->at + part->bytes;
        memcpy(iv, part->iv, sizeof iv);
        reference(op, e->key, key_bytes, iv, in + at, out + at, part->bytes - part->done);
    }
    return end == len && memcmp(out, e->cipher, len) == 0 &&
           (op < GPUAES_CBC_DECRYPT || memcmp(iv, e->next_iv, sizeof iv) == 0);
}

int work_status(const struct work *w, struct gpuaes_report *report)
{
    struct expected e;
    unsigned char iv[16], *in = take(w->kind, w->len);
    unsigned char *out = w->in_place ? in : take(w->kind, w->len);
    expect(&e, w->op, w->len);
    memcpy(iv, e.iv, sizeof iv);
    memcpy(in, e.plain, w->len);
    if (w->faults != NULL)
        emulator_configure(w->faults);
    int status = gpuaes_aes(w->op, &e.schedule, iv, in, out, w->len, GPUAES_WAIT, report);
    int moves = status == GPUAES_OK && w->op >= GPUAES_CBC_DECRYPT;
    int right = memcmp(iv, moves ? e.next_iv : e.iv, sizeof iv) == 0 &&
                (status != GPUAES_OK || bytes_done(report) == w->len) &&
                finishes(&e, w->op, report, in, out, w->len);
    if (!right && status != GPUAES_UNDEFINED)
        fprintf(stderr, "# %s of %zu bytes in %s memory%s: %s\n", op_names[w->op], w->len,
                kind_names[w->kind], w->in_place ? ", in place" : "", gpuaes_status_text(status));
    if (status != GPUAES_UNDEFINED) { /* which a device may still write to */
        give(w->kind, in, w->len);
        if (!w->in_place)
            give(w->kind, out, w->len);
    }
    expected_free(&e);
    return right || status == GPUAES_UNDEFINED ? status : WORK_WRONG;
}

struct gpuaes_message message_of(const struct expected *e, enum gpuaes_op op, const void *in,
                                 void *out, size_t len)
{
    return (struct gpuaes_message){
        .op = op, .schedule = &e->schedule, .iv = e->iv, .in = in, .out = out, .len = len};
}

int batch_adds(struct gpuaes_batch *batch, struct gpuaes_message first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gpuaes_message m = first;
        m.in = (const unsigned char *)first.in + i * first.len;
        m.out = (unsigned char *)first.out + i * first.len;
        m.iv += i * first.iv_bytes;
        if (first.tag_bytes != 0) {
            m.aad = (const unsigned char *)first.aad + i * first.aad_bytes;
            m.tag += i * first.tag_bytes;
        }
        if (gpuaes_batch_add(batch, &m) != GPUAES_OK)
            return 0;
    }
    return 1;
}

int batch_is_done(struct gpuaes_batch *batch)
{
    return gpuaes_batch_submit(batch, 0) == GPUAES_OK && gpuaes_batch_wait(batch) == GPUAES_OK;
}

int holds(const void *memory, const unsigned char *expected, size_t len)
{
    unsigned char *got = malloc(len);
    int right = gpuaes_copy(got, memory, len) == GPUAES_OK && memcmp(got, expected, len) == 0;
    free(got);
    return right;
}

int library_becomes(enum gpuaes_state wanted)
{
    return COMES(gpuaes_state() == wanted);
}

int is_kept(int (*hold)(void), int (*let_go)(void))
{
    static const struct gpuaes_settings settings = {.idle_seconds = 1};
    struct gpuaes_statistics s = {.struct_bytes = sizeof s};
    int held = 0;
    /* On a busy machine the device may be released between the two. */
    for (int i = 0; i < 60 && !held; i++)
        held = starts_with(&settings) && hold();
    sleep_ms(2500);
    int right = held && gpuaes_state() == GPUAES_READY && let_go() && library_becomes(GPUAES_OFF);
    gpuaes_get_statistics(&s);
    return right && s.pinned_bytes == 0 && s.faults == 0;
}

static int decodes_to(const unsigned char *text, size_t characters, unsigned char *back,
                      size_t wrong)
{
    size_t offset = SIZE_MAX;
    enum gpuaes_status expected = wrong == SIZE_MAX ? GPUAES_OK : GPUAES_BAD_INPUT;
    return gpuaes_base64_decode(text, characters, back, GPUAES_WAIT, &offset) == expected &&
           (wrong == SIZE_MAX || offset == wrong);
}

int base64_agrees(int kind, size_t len)
{
    size_t characters = gpuaes_base64_encoded_size(len, 0), last = characters - 9;
    unsigned char *plain = take(kind, len), *text = take(kind, characters), *back = take(kind, len);
    unsigned char *expected = malloc(characters + 1);
    tap_random_bytes(&random_state, plain, len);
    EVP_EncodeBlock(expected, plain, (int)len);
    int right = gpuaes_base64_encode(plain, len, text, 0, GPUAES_WAIT) == GPUAES_OK &&
                memcmp(text, expected, characters) == 0 &&
                decodes_to(text, characters, back, SIZE_MAX) && memcmp(back, plain, len) == 0;
    text[last] = text[last + 4] = '*';
    right = right && decodes_to(text, characters, back, last);
    text[7] = '*';
    right = right && decodes_to(text, characters, back, 7);
    give(kind, plain, len);
    give(kind, text, characters);
    give(kind, back, len);
    free(expected);
    return right;
}

int in_child(int (*body)(const void *), const void *argument)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(300);
        _exit(body(argument));
    }
    return exit_status(child);
}

int child_ok(int (*body)(const void *), const void *argument, const char *format, ...)
{
    char what[256];
    va_list arguments;
    int status = in_child(body, argument);
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (status != 0)
        tap_diag("status %d", status);
    return tap_ok(status == 0, "%s", what);
}

static int run_case(const void *argument)
{
    const struct child_case *c = argument;
    return !c->run();
}

void children_ok(const struct child_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        child_ok(run_case, &cases[i], "%s", cases[i].name);
}
