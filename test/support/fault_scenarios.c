/*
 * What a fault of the driver interrupts.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/fault_scenarios.h"

#include "provider/common/errors.h"
#include "test/support/sealed.h"

const unsigned char fault_key[32] = "a key that no device gets to eat",
                    fault_iv[16] = "\xff\xff\xff";
uint64_t given;
struct update the_update;

static int says_why(enum refusal refusal)
{
    static const char *const allowed[] = {"the GPU failed and the output buffer is undefined",
                                          "device memory cannot be used here",
                                          "no GPU can be used",
                                          "a device buffer extends past the end of its allocation",
                                          "bad parameter" /* a stream that is not known */,
                                          "out of memory" /* a wait that can be repeated */};
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    int says = 0;
    for (size_t i = 0; reason && i < (refusal == ON_DEVICE ? 6 : 1); i++)
        says |= !strcmp(reason, allowed[i]);
    if (!says)
        ERR_print_errors_fp(stderr);
    ERR_clear_error();
    return says;
}

/* ---- Updates of host memory ------------------------------------------------------- */

EVP_CIPHER_CTX *open_context(const struct scenario *s, int ours, const OSSL_PARAM *params)
{
    EVP_CIPHER_CTX *context =
        context_open(ours, s->cipher, fault_key, fault_iv, s->encrypt, params);
    if (context != NULL)
        EVP_CIPHER_CTX_set_padding(context, 0);
    return context;
}

static void expect(const struct scenario *s, struct update *u)
{
    struct tap_random random = {1};
    EVP_CIPHER_CTX *context = open_context(s, 0, NULL);
    size_t at = 0;
    u->length[0] = s->bytes;
    u->length[1] = 64;
    u->length[2] = (s->bytes < 256 * KIB ? s->bytes / 4 / 16 * 16 : 64 * KIB) + 48;
    u->total = u->length[0] + u->length[1] + u->length[2];
    u->expected = malloc(u->total + 32);
    tap_random_bytes(&random, u->in, u->total);
    for (int i = 0, n; i < 3; at += u->length[i++])
        if (!EVP_CipherUpdate(context, u->expected + at, &n, u->in + at, (int)u->length[i]))
            abort();
    EVP_CIPHER_CTX_free(context);
}

static enum verdict run_updates(const struct scenario *s, const struct update *u)
{
    EVP_CIPHER_CTX *context = open_context(s, 1, NULL);
    enum verdict verdict = GOOD;
    size_t at = 0;
    if (s->in_place)
        memmove(u->out, u->in, u->total);
    for (int i = 0, n = 0; verdict == GOOD && i < 3; at += u->length[i++]) {
        const unsigned char *in = (s->in_place ? u->out : u->in) + at;
        if (!EVP_CipherUpdate(context, u->out + at, &n, in, (int)u->length[i]))
            verdict = says_why(s->refusal) ? REFUSED : WRONG;
        else if (n != (int)u->length[i] || memcmp(u->out + at, u->expected + at, u->length[i]))
            verdict = WRONG;
        else
            given += u->length[i];
    }
    EVP_CIPHER_CTX_free(context);
    return verdict;
}

int work_as_usual(void)
{
    static const struct scenario usual[] = {
        {.cipher = "AES-256-CTR", .encrypt = 1, .in_place = 1, .bytes = 6000},
        {.cipher = "AES-128-ECB", .encrypt = 1, .bytes = 6000},
        {.cipher = "AES-192-CBC", .encrypt = 0, .bytes = 6000},
        {.cipher = "AES-256-CBC", .encrypt = 1, .bytes = 4000}};
    static unsigned char in[8000], out[8000];
    int right = 1;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        struct update u = {.in = in + ODD, .out = out + ODD};
        expect(&usual[i], &u);
        right &= run_updates(&usual[i], &u) == GOOD;
        free(u.expected);
    }
    return right;
}

static int prepare_update(const struct scenario *s)
{
    size_t room = s->bytes + 96 * KIB;
    int ready = work_as_usual() && (s->place == PAGEABLE || application_begin(0));
    the_update.in = ready ? application_alloc(s->place, room) : NULL;
    the_update.out = ready ? application_alloc(s->place, room) : NULL;
    if (the_update.in == NULL || the_update.out == NULL)
        return 0;
    the_update.in += ODD;
    the_update.out += ODD;
    expect(s, &the_update);
    return 1;
}

enum verdict run_update(const struct scenario *s)
{
    return run_updates(s, &the_update);
}

/* ---- Start and release ------------------------------------------------------------- */

static int prepare_nothing(const struct scenario *s)
{
    (void)s;
    return 1;
}

static int prepare_device(const struct scenario *s)
{
    (void)s;
    return work_as_usual();
}

static enum verdict run_usual(const struct scenario *s)
{
    (void)s;
    return work_as_usual() ? GOOD : WRONG;
}

int is_released(int seconds)
{
    for (int i = 0; i < 100 * seconds && ahead_get().pinned != 0; i++)
        sleep_ms(10);
    for (int i = 0; i < 50 && devices_in_use() != 0; i++)
        sleep_ms(10);
    return ahead_get().pinned == 0;
}

static enum verdict run_release(const struct scenario *s)
{
    (void)is_released(3); /* which may fail, and then never comes */
    return run_usual(s);
}

/* ---- Read-ahead --------------------------------------------------------------------- */

static struct stream the_stream;

static int prepare_stream(const struct scenario *s)
{
    if (!ahead_begin())
        return 0;
    the_stream = stream_open(memory_new(1), s->cipher, usual_key, usual_iv);
    given += BEGINS_AFTER - 4 * PACED;
    return stream_hurry(&the_stream, BEGINS_AFTER - 4 * PACED, PACED);
}

enum verdict run_stream(const struct scenario *s)
{
    struct ahead before = ahead_get(), now = before;
    int right = 1, underruns = 0;
    for (size_t done = 0; right && done < s->bytes; done += PACED) {
        right = stream_update(&the_stream, PACED);
        given += PACED;
        before = now;
        now = ahead_get();
        keep_pace(&before, &now, &underruns);
    }
    right = right && stream_agrees(&the_stream);
    stream_close(&the_stream);
    return right ? GOOD : WRONG;
}

/* ---- Base64 -------------------------------------------------------------------------- */

static int prepare_base64(const struct scenario *s)
{
    struct tap_random random = {1};
    size_t text = s->bytes / 3 * 4;
    unsigned char *plain = malloc(s->bytes + 64), *encoded = malloc(text + 64);
    tap_random_bytes(&random, plain, s->bytes);
    (void)EVP_EncodeBlock(encoded, plain, (int)s->bytes);
    the_update.in = s->encrypt ? plain : encoded;
    the_update.expected = s->encrypt ? encoded : plain;
    the_update.length[0] = s->encrypt ? s->bytes : text;
    the_update.total = s->encrypt ? text : s->bytes;
    the_update.out = malloc(the_update.total + 64);
    return work_as_usual();
}

static enum verdict run_base64(const struct scenario *s)
{
    const struct update *u = &the_update;
    size_t room = u->total + 64;
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &room), OSSL_PARAM_END};
    EVP_CIPHER *cipher = fetch_ours(&test_providers, s->cipher);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n = 0, m = 0;
    int right = EVP_CipherInit_ex2(context, cipher, NULL, NULL, s->encrypt, params) &&
                EVP_CipherUpdate(context, u->out, &n, u->in, (int)u->length[0]) &&
                EVP_CipherFinal_ex(context, u->out + n, &m) && (size_t)n + (size_t)m == u->total &&
                memcmp(u->out, u->expected, u->total) == 0;
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    given += u->length[0];
    return right ? GOOD : WRONG;
}

/* ---- Device memory ------------------------------------------------------------------- */

static drv_stream application_stream;

static int prepare_device_memory(const struct scenario *s)
{
    int ready = work_as_usual() && application_begin(0) &&
                application.stream_create(&application_stream, DRV_STREAM_NON_BLOCKING) == 0;
    the_update.out = ready ? application_alloc(DEVICE, s->bytes + 96 * KIB) : NULL;
    if (the_update.out == NULL)
        return 0;
    the_update.in = malloc(s->bytes + 96 * KIB);
    expect(s, &the_update);
    return application_write(DEVICE, the_update.out, the_update.in, the_update.total);
}

/* Without the driver where its memory can be read as it lies. */
static int is_as_expected(void)
{
    const struct update *u = &the_update;
    unsigned char *host = malloc(u->total);
    int ok = 1;
    if (application_is_emulated)
        memcpy(host, u->out, u->total);
    else
        ok = application_read(host, DEVICE, u->out, u->total);
    ok = ok && memcmp(host, u->expected, u->total) == 0;
    free(host);
    return ok;
}

/* All in place on the device, in pieces off its blocks; with `in_place` on a stream. */
static enum verdict run_device_memory(const struct scenario *s)
{
    const struct update *u = &the_update;
    unsigned one = 1;
    uint64_t handle = (uintptr_t)application_stream;
    OSSL_PARAM params[] = {s->in_place ? OSSL_PARAM_construct_uint64("cuda-stream", &handle)
                                       : OSSL_PARAM_construct_uint("device-memory", &one),
                           OSSL_PARAM_construct_end()};
    EVP_CIPHER_CTX *context = open_context(s, 1, params);
    size_t in_at = 0, out_at = 0;
    int n = 0, ok = context != NULL;
    while (ok && in_at < u->total) {
        size_t length = s->bytes / 3 - (in_at != 0 ? 7 : 0);
        if (length > u->total - in_at)
            length = u->total - in_at;
        ok = EVP_CipherUpdate(context, u->out + out_at, &n, u->out + in_at, (int)length);
        in_at += length;
        out_at += (size_t)n;
    }
    given += in_at;
    EVP_CIPHER_CTX_free(context); /* waits */
    if (!ok)
        return says_why(ON_DEVICE) ? REFUSED : WRONG;
    return GOOD;
}

/* ---- GCM ------------------------------------------------------------------------------- */

static struct sealed the_message;

/* Three updates; all but the first begin and end within a block. */
static void make_message(const struct scenario *s)
{
    struct update *u = &the_update;
    u->length[0] = s->bytes - 5;
    u->length[1] = 64;
    u->length[2] = (s->bytes < 256 * KIB ? s->bytes / 4 : 64 * KIB) + 49;
    u->total = u->length[0] + u->length[1] + u->length[2];
    the_message = sealed_make(s->cipher, s->encrypt, u->total, 3);
}

static int prepare_gcm(const struct scenario *s)
{
    struct update *u = &the_update;
    make_message(s);
    int ready = work_as_usual() && (s->place == PAGEABLE || application_begin(0));
    u->in = ready ? application_alloc(s->place, u->total + ODD) : NULL;
    u->out = ready ? application_alloc(s->place, u->total + ODD) : NULL;
    if (u->in == NULL || u->out == NULL)
        return 0;
    u->in += ODD;
    u->out += ODD;
    u->expected = the_message.expected;
    if (s->place == DEVICE) {
        the_message.aad_there = u->in;
        return application_write(DEVICE, u->out, the_message.in, u->total) &&
               application_write(DEVICE, u->in, the_message.aad, sizeof the_message.aad);
    }
    memcpy(s->in_place ? u->out : u->in, the_message.in, u->total);
    return 1;
}

/*
 * The update of so much text from `at`. In host memory it is repeated if it is refused, with the
 * input as it was: it must be refused again then, or the whole message be right.
 */
static enum verdict run_gcm_update(const struct scenario *s, EVP_CIPHER_CTX *context, size_t at,
                                   size_t bytes, int *repeated)
{
    const struct update *u = &the_update;
    unsigned char *in = (s->in_place || s->place == DEVICE ? u->out : u->in) + at;
    int n = 0;
    if (!EVP_CipherUpdate(context, u->out + at, &n, in, (int)bytes)) {
        if (!says_why(s->refusal))
            return WRONG;
        if (s->place == DEVICE)
            return REFUSED;
        *repeated = 1;
        memcpy(in, the_message.in + at, bytes);
        if (!EVP_CipherUpdate(context, u->out + at, &n, in, (int)bytes))
            return REFUSED;
    }
    given += bytes;
    int right = n == (int)bytes &&
                (s->place == DEVICE || memcmp(u->out + at, u->expected + at, bytes) == 0);
    return right ? GOOD : WRONG;
}

/* The text in device memory is looked at by is_as_expected(). */
static enum verdict run_gcm(const struct scenario *s)
{
    unsigned one = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_uint("device-memory", &one),
                           OSSL_PARAM_construct_end()};
    EVP_CIPHER_CTX *context = sealed_open(&the_message, s->place == DEVICE ? params : NULL);
    enum verdict verdict = GOOD;
    size_t at = 0;
    int repeated = 0;
    if (context == NULL)
        return says_why(s->refusal) ? REFUSED : WRONG;
    for (int i = 0; verdict == GOOD && i < 3; at += the_update.length[i++])
        verdict = run_gcm_update(s, context, at, the_update.length[i], &repeated);
    /* A message that is not complete has no tag. */
    if (verdict != WRONG && sealed_end(&the_message, context) != (verdict == GOOD))
        verdict = WRONG;
    ERR_clear_error();
    EVP_CIPHER_CTX_free(context);
    return verdict == GOOD && repeated ? REFUSED : verdict;
}

/* ---- Many messages ------------------------------------------------------------------- */

enum { MESSAGES = 24, MESSAGE = 6400 };

/* The same text in each; what is expected of it follows in `expected`. */
static int prepare_messages(const struct scenario *s)
{
    EVP_CIPHER_CTX *context = open_context(s, 0, NULL);
    int n, ok;
    the_update.in = calloc(1, MESSAGE);
    the_update.out = calloc(MESSAGES, MESSAGE);
    the_update.expected = malloc(MESSAGE + 32);
    ok = EVP_CipherUpdate(context, the_update.expected, &n, the_update.in, MESSAGE);
    EVP_CIPHER_CTX_free(context);
    return ok && work_as_usual();
}

static int is_message_right(int i)
{
    return memcmp(the_update.out + i * MESSAGE, the_update.expected, MESSAGE) == 0;
}

/* A batch of the C interface; a refusal must say so. */
static enum verdict run_batch(const struct scenario *s)
{
    struct gpuaes_batch *batch;
    enum verdict verdict = GOOD;
    (void)s;
    if (LIBRARY(gpuaes_batch_open)(&batch) != GPUAES_OK)
        return WRONG;
    for (int i = 0; i < MESSAGES && verdict == GOOD; i++) {
        struct gpuaes_message message = {.op = GPUAES_CBC_ENCRYPT,
                                         .key = fault_key,
                                         .key_bytes = 16,
                                         .iv = fault_iv,
                                         .in = the_update.in,
                                         .out = the_update.out + i * MESSAGE,
                                         .len = MESSAGE};
        if (LIBRARY(gpuaes_batch_add)(batch, &message) != GPUAES_OK)
            verdict = REFUSED;
    }
    if (verdict == GOOD && LIBRARY(gpuaes_batch_submit)(batch, GPUAES_WAIT) != GPUAES_OK)
        verdict = REFUSED;
    if (verdict == GOOD && LIBRARY(gpuaes_batch_wait)(batch) != GPUAES_OK)
        verdict = REFUSED;
    for (int i = 0; i < MESSAGES; i++)
        if (LIBRARY(gpuaes_batch_status)(batch, (size_t)i) == GPUAES_OK && !is_message_right(i))
            verdict = WRONG;
    LIBRARY(gpuaes_batch_close)(batch);
    given += (uint64_t)MESSAGES * MESSAGE;
    return verdict;
}

/* ---- ASYNC jobs ------------------------------------------------------------------------ */

static struct job the_job;

static int prepare_job(const struct scenario *s)
{
    const struct cipher_row *row = cipher_rows;
    while (strcmp(row->name, s->cipher) != 0)
        row++;
    the_job = (struct job){.row = row,
                           .encrypt = s->encrypt,
                           .updates = 2,
                           .least = s->bytes,
                           .longest = s->bytes,
                           .random = {1}};
    return work_as_usual();
}

static enum verdict run_job(const struct scenario *s)
{
    int right = job_is_right(&the_job);
    ASYNC_cleanup_thread();
    given += the_job.updates * s->bytes;
    return right ? GOOD : WRONG;
}

#define UPDATE_OF(cipher_name, direction, same, kind, size)                                        \
    .prepare = prepare_update, .run = run_update, .cipher = cipher_name, .encrypt = direction,     \
    .in_place = same, .place = kind, .bytes = size
#define GCM_OF(cipher_name, direction, same, kind, size)                                           \
    .prepare = prepare_gcm, .run = run_gcm, .cipher = cipher_name, .encrypt = direction,           \
    .in_place = same, .place = kind, .bytes = size
enum { PINNED_BYTES = 5 << 20 };

const struct scenario scenarios[SCENARIOS] = {
    {"start-up", .prepare = prepare_nothing, .run = run_usual},
    {"ECB encryption", UPDATE_OF("AES-128-ECB", 1, 0, PAGEABLE, STAGED_BYTES), .is_of_four = 1},
    {"ECB decryption", UPDATE_OF("AES-256-ECB", 0, 0, PAGEABLE, STAGED_BYTES), .is_of_four = 1},
    {"CBC decryption", UPDATE_OF("AES-192-CBC", 0, 0, PAGEABLE, STAGED_BYTES), .is_of_four = 1},
    {"CTR", UPDATE_OF("AES-256-CTR", 1, 0, PAGEABLE, STAGED_BYTES), .is_of_four = 1},
    {"ECB encryption in place", UPDATE_OF("AES-256-ECB", 1, 1, PAGEABLE, STAGED_BYTES),
     .is_of_four = 1},
    {"ECB decryption in place", UPDATE_OF("AES-192-ECB", 0, 1, PAGEABLE, STAGED_BYTES),
     .is_of_four = 1},
    {"CBC decryption in place", UPDATE_OF("AES-128-CBC", 0, 1, PAGEABLE, STAGED_BYTES),
     .is_of_four = 1},
    {"CTR in place", UPDATE_OF("AES-128-CTR", 1, 1, PAGEABLE, STAGED_BYTES), .is_of_four = 1},
    {"CTR, pinned", UPDATE_OF("AES-256-CTR", 1, 0, PINNED, STAGED_BYTES), .refusal = IF_IT_HANGS},
    {"CBC in place, pinned", UPDATE_OF("AES-256-CBC", 0, 1, PINNED, STAGED_BYTES),
     .refusal = IN_PLACE},
    {"CBC in place, pinned, by copies", UPDATE_OF("AES-128-CBC", 0, 1, PINNED, PINNED_BYTES),
     .refusal = IN_PLACE},
    {"XTS", UPDATE_OF("AES-128-XTS", 1, 0, PAGEABLE, STAGED_BYTES + 9)},
    {"XTS in place", UPDATE_OF("AES-128-XTS", 0, 1, PAGEABLE, STAGED_BYTES + 9)},
    {"read-ahead", "GPUAES_MIN_BYTES=1G GPUAES_START=eager", .prepare = prepare_stream,
     .run = run_stream, .cipher = "AES-256-CTR", .bytes = 768 * KIB},
    {"Base64 encoding", .prepare = prepare_base64, .run = run_base64, .cipher = "BASE64",
     .encrypt = 1, .bytes = 300000},
    {"Base64 decoding", .prepare = prepare_base64, .run = run_base64, .cipher = "BASE64",
     .encrypt = 0, .bytes = 300000},
    {"a batch", .prepare = prepare_messages, .run = run_batch, .refusal = ON_DEVICE,
     .cipher = "AES-128-CBC", .encrypt = 1},
    {"an ASYNC job with large updates", .prepare = prepare_job, .run = run_job,
     .cipher = "AES-256-CTR", .encrypt = 1, .bytes = 160000},
    {"device memory, CBC", .prepare = prepare_device_memory, .run = run_device_memory,
     .check = is_as_expected, .refusal = ON_DEVICE, .cipher = "AES-128-CBC", .encrypt = 0,
     .bytes = 60000},
    {"device memory, CTR on a stream", .prepare = prepare_device_memory, .run = run_device_memory,
     .check = is_as_expected, .refusal = ON_DEVICE, .cipher = "AES-128-CTR", .encrypt = 1,
     .in_place = 1, .bytes = 60000},
    {"device memory, CBC on a stream", .prepare = prepare_device_memory, .run = run_device_memory,
     .check = is_as_expected, .refusal = ON_DEVICE, .cipher = "AES-256-CBC", .encrypt = 0,
     .in_place = 1, .bytes = 60000},
    {"two devices, two threads", "GPUAES_DEVICES=all GPUAES_THREADS=2", "devices=2",
     UPDATE_OF("AES-256-CTR", 1, 0, PAGEABLE, 2 << 20)},
    {"GCM encryption", GCM_OF("AES-256-GCM", 1, 0, PAGEABLE, STAGED_BYTES)},
    {"GCM decryption in place", GCM_OF("AES-128-GCM", 0, 1, PAGEABLE, STAGED_BYTES)},
    {"GCM decryption, pinned", GCM_OF("AES-192-GCM", 0, 0, PINNED, STAGED_BYTES),
     .refusal = IF_IT_HANGS},
    {"GCM encryption in place, pinned", GCM_OF("AES-256-GCM", 1, 1, PINNED, STAGED_BYTES),
     .refusal = IN_PLACE},
    {"GCM decryption in place, pinned, by copies",
     GCM_OF("AES-128-GCM", 0, 1, PINNED, PINNED_BYTES), .refusal = IN_PLACE},
    {"GCM encryption, device memory", GCM_OF("AES-256-GCM", 1, 1, DEVICE, 60000),
     .check = is_as_expected, .refusal = ON_DEVICE},
    {"GCM decryption, device memory", GCM_OF("AES-192-GCM", 0, 1, DEVICE, 60000),
     .check = is_as_expected, .refusal = ON_DEVICE},
    {"GCM encryption, two devices, two threads", "GPUAES_DEVICES=all GPUAES_THREADS=2", "devices=2",
     GCM_OF("AES-128-GCM", 1, 0, PAGEABLE, 2 << 20)},
    {"release of an idle device", "GPUAES_IDLE_SECONDS=1", .prepare = prepare_device,
     .run = run_release},
};
