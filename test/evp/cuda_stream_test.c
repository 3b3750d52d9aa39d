/*
 * cuda-stream: whole blocks are queued and the update returns; what needs bytes
 * on the host waits. Results are the default provider's, in whatever order the
 * two kinds come. Then what the manual promises: no waiting, the order on the
 * stream, what ends it, several devices, and errors that come later.
 *
 * GPUAES_TEST_SEED repeats a run, GPUAES_TEST_CASES is the number of walks.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <openssl/async.h>
#include <openssl/core_names.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/streams.h"

enum { ROOM = 160000, UPDATES = 16 };

/* Of an update that keeps the device busy for a while: the emulator is slowed down. */
static size_t slow_bytes;

static struct tap_random chance;

static size_t below(size_t limit)
{
    return tap_random_below(&chance, limit);
}

static int is_busy(drv_stream stream)
{
    return application.stream_query(stream) == DRV_NOT_READY;
}

/* ---- Walks ---------------------------------------------------------------- */

struct walk {
    const struct cipher_row *row;
    EVP_CIPHER_CTX *ours, *reference;
    drv_stream stream;
    enum place in_place, out_place;
    unsigned char *in, *out;               /* `out` may be `in` */
    unsigned char *text, *expected, *seen; /* on the host */
    int encrypt;
    unsigned char *iv[2]; /* pointers to the updated IVs of both; NULL: not asked for */
    size_t consumed, written;
};

/* Memory that every device reaches says nothing of which legacy stream is meant. */
enum scope { ANY_MEMORY, OWNED_MEMORY };

static int update(struct walk *w, size_t length)
{
    int n = -1, m = -1;
    int result =
        EVP_CipherUpdate(w->ours, w->out + w->written, &n, w->in + w->consumed, (int)length);
    int expected = EVP_CipherUpdate(w->reference, w->expected + w->written, &m,
                                    w->text + w->consumed, (int)length);

    if (result != expected || n != m) {
        tap_diag("update of %zu bytes: result %d/%d, %d/%d bytes", length, result, expected, n, m);
        ERR_print_errors_fp(stderr);
        return 0;
    }
    w->consumed += length;
    w->written += (size_t)m;
    return w->iv[0] == NULL || !memcmp(w->iv[0], w->iv[1], BLOCK);
}

/* From now on they are compared after each update; perhaps another IV is written there. */
static int hold_ivs(struct walk *w)
{
    unsigned char other[BLOCK];
    int i, good = 1, writes = (int)below(2);

    if (w->row->mode == ECB)
        return 1;
    tap_random_bytes(&chance, other, sizeof other);
    for (i = 0; i < 2; i++) {
        void *updated = NULL;
        OSSL_PARAM params[] = {
            OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_UPDATED_IV, &updated, BLOCK),
            OSSL_PARAM_END};

        good &= EVP_CIPHER_CTX_get_params(i == 0 ? w->ours : w->reference, params) && updated;
        w->iv[i] = updated;
        if (good && writes)
            memcpy(updated, other, BLOCK);
    }
    return good && !memcmp(w->iv[0], w->iv[1], BLOCK);
}

static int same_position(const struct walk *w)
{
    unsigned char updated[2][BLOCK] = {{0}};
    int i, result[2];

    if (w->row->mode == ECB)
        return 1;
    for (i = 0; i < 2; i++) {
        OSSL_PARAM params[] = {
            OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, updated[i], BLOCK),
            OSSL_PARAM_END};

        result[i] = EVP_CIPHER_CTX_get_params(i == 0 ? w->ours : w->reference, params);
    }
    return result[0] == result[1] && !memcmp(updated[0], updated[1], BLOCK);
}

/* Something that is not an update, of both sides. */
static int change(struct walk *w)
{
    EVP_CIPHER_CTX **side[] = {&w->ours, &w->reference};
    unsigned char other[BLOCK];
    int i, good = 1, what = (int)below(5), padding = (int)below(2), with_iv = (int)below(2);

    tap_random_bytes(&chance, other, sizeof other);
    if (what == 0)
        return same_position(w);
    if (what == 1)
        return hold_ivs(w);
    for (i = 0; i < 2; i++) {
        if (what == 2) {
            EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();

            good &= EVP_CIPHER_CTX_copy(copy, *side[i]);
            EVP_CIPHER_CTX_free(*side[i]);
            *side[i] = copy;
            w->iv[i] = NULL;
        } else if (what == 3) {
            good &=
                EVP_CipherInit_ex2(*side[i], NULL, NULL, with_iv ? other : NULL, w->encrypt, NULL);
        } else {
            good &= EVP_CIPHER_CTX_set_padding(*side[i], padding);
        }
    }
    return good;
}

static int finish(struct walk *w)
{
    int n = 0, m = 0;
    int result = EVP_CipherFinal_ex(w->ours, w->out + w->written, &n);
    int expected = EVP_CipherFinal_ex(w->reference, w->expected + w->written, &m);

    ERR_clear_error();
    if (result != expected || (result && n != m))
        return 0;
    w->written += result ? (size_t)m : 0;
    return application_wait(w->stream) &&
           application_read(w->seen, w->out_place, w->out, w->written) &&
           !memcmp(w->seen, w->expected, w->written);
}

/* Blocks, and a few updates that are none. */
static int take_walk(struct walk *w)
{
    size_t steps = 3 + below(12), i;
    int right = 1;

    for (i = 0; right && i < steps; i++) {
        size_t length = (1 + below(600)) * BLOCK;

        if (below(5) == 0)
            length = 1 + below(100);
        right = update(w, length) && (below(5) || change(w));
    }
    return right && finish(w);
}

static int walk_is_right(const struct cipher_row *row, int encrypt, drv_stream stream,
                         enum scope scope)
{
    static const enum place places[] = {DEVICE, DEVICE, DEVICE, MANAGED, PINNED, PAGEABLE};
    struct walk w = {.row = row, .encrypt = encrypt, .stream = stream};
    int apart = (int)below(3), right;

    w.in_place = scope == ANY_MEMORY ? places[below(6)] : DEVICE;
    w.out_place = apart ? places[below(6)] : w.in_place;
    w.in = application_alloc(w.in_place, ROOM);
    w.out = apart ? application_alloc(w.out_place, ROOM) : w.in;
    w.text = malloc(ROOM);
    w.expected = malloc(ROOM);
    w.seen = malloc(ROOM);
    w.ours = new_context(1, row->name, encrypt, stream);
    w.reference = new_context(0, row->name, encrypt, NULL);
    tap_random_bytes(&chance, w.text, ROOM);
    right = w.in && w.out && w.ours && application_write(w.in_place, w.in, w.text, ROOM) &&
            take_walk(&w);
    if (!right)
        tap_diag("%s %s, %s to %s", row->name, encrypt ? "encrypt" : "decrypt",
                 place_names[w.in_place], apart ? place_names[w.out_place] : "itself");
    EVP_CIPHER_CTX_free(w.ours);
    EVP_CIPHER_CTX_free(w.reference);
    application_free(w.in_place, w.in);
    if (apart)
        application_free(w.out_place, w.out);
    free(w.text);
    free(w.expected);
    free(w.seen);
    return right;
}

static void check_walks(drv_stream stream, enum scope scope, const char *what)
{
    size_t rounds = setting("GPUAES_TEST_CASES", 200) / (CIPHER_ROWS * 2) + 1;
    size_t row, i, wrong = 0;

    for (row = 0; row < CIPHER_ROWS; row++)
        for (i = 0; i < rounds * 2 && wrong < 3; i++)
            wrong += !walk_is_right(&cipher_rows[row], i % 2 == 0, stream, scope);
    tap_ok(wrong == 0, "%s: results are the default provider's", what);
}

/* ---- What is promised ----------------------------------------------------- */

struct run {
    drv_stream stream;
    unsigned char *in, *out, *host, *expected;
    EVP_CIPHER_CTX *ours, *reference;
    int queued; /* updates of ours that the other has not made yet */
};

static struct run begin(const char *name, int encrypt, drv_stream stream)
{
    struct run r = {.stream = stream,
                    .in = application_alloc(DEVICE, slow_bytes),
                    .out = application_alloc(DEVICE, slow_bytes),
                    .host = malloc(slow_bytes + BLOCK),
                    .expected = malloc(slow_bytes + BLOCK),
                    .ours = new_context(1, name, encrypt, stream),
                    .reference = new_context(0, name, encrypt, NULL)};

    tap_random_bytes(&chance, r.host, slow_bytes);
    application_write(DEVICE, r.in, r.host, slow_bytes);
    return r;
}

static void end(struct run *r)
{
    EVP_CIPHER_CTX_free(r->ours);
    EVP_CIPHER_CTX_free(r->reference);
    application_wait(r->stream);
    application_free(DEVICE, r->in);
    application_free(DEVICE, r->out);
    free(r->host);
    free(r->expected);
}

/* Enough to keep the device busy for a while: the same output again and again. */
static int queue_much(struct run *r)
{
    int n = 0, i, good = 1, updates = application_is_emulated ? 3 : UPDATES;

    for (i = 0; good && i < updates; i++)
        good =
            EVP_CipherUpdate(r->ours, r->out, &n, r->in, (int)slow_bytes) && n == (int)slow_bytes;
    r->queued = i;
    return good;
}

static int output_is_right(struct run *r)
{
    int n, i;

    for (i = 0; i < r->queued; i++)
        EVP_CipherUpdate(r->reference, r->expected, &n, r->host, (int)slow_bytes);
    return application_wait(r->stream) && application_read(r->host, DEVICE, r->out, slow_bytes) &&
           !memcmp(r->host, r->expected, slow_bytes);
}

static void check_no_wait(const char *name, int encrypt, drv_stream stream)
{
    struct run r = begin(name, encrypt, stream);
    int n = -1, queued, unwaited;

    EVP_CipherUpdate(r.ours, r.out, &n, r.in, BLOCK); /* what is made once is made now */
    EVP_CipherUpdate(r.reference, r.expected, &n, r.host, BLOCK);
    application_wait(stream);
    emulate("devices=2,kernel-us=100000");
    queued = queue_much(&r);
    unwaited = is_busy(stream);
    unwaited &= EVP_CipherFinal_ex(r.ours, r.out, &n) && n == 0 && is_busy(stream);
    tap_ok(queued && unwaited, "%s: updates and a final without data return at once", name);
    tap_ok(output_is_right(&r), "%s: and the result is right once the stream has passed", name);
    emulate("devices=2");
    end(&r);
}

/* What ends a stream, waits for it. */
static void check_ends(drv_stream stream)
{
    unsigned zero = 0;
    uint64_t got = 12345;
    OSSL_PARAM off[] = {OSSL_PARAM_uint("device-memory", &zero), OSSL_PARAM_END};
    OSSL_PARAM ask[] = {OSSL_PARAM_uint64("cuda-stream", &got), OSSL_PARAM_END};
    struct run r = begin("AES-256-CBC", 0, stream);
    int n;

    emulate("devices=2,kernel-us=50000");
    tap_ok(EVP_CIPHER_CTX_get_params(r.ours, ask) && got == (uintptr_t)stream,
           "the stream can be asked for");
    tap_ok(queue_much(&r) && EVP_CIPHER_CTX_set_params(r.ours, off) && !is_busy(stream),
           "device-memory=0 waits for it");
    got = 12345;
    tap_ok(EVP_CIPHER_CTX_get_params(r.ours, ask) && got == 12345, "and leaves none");
    tap_ok(output_is_right(&r), "and has done it");
    r.queued = 0;
    EVP_CipherUpdate(r.reference, r.expected, &n, r.host, 64);
    tap_ok(EVP_CipherUpdate(r.ours, r.host, &n, r.host, 64) && !memcmp(r.host, r.expected, 64),
           "from where it ended");
    end(&r);
    r = begin("AES-256-CTR", 1, stream);
    queue_much(&r);
    EVP_CIPHER_CTX_free(r.ours);
    tap_ok(!is_busy(stream), "freeing the context waits for it");
    r.ours = NULL;
    emulate("devices=2");
    end(&r);
}

/* The application's work before and behind, on the same stream. */
static void check_order(drv_stream stream)
{
    struct run r = begin("AES-128-CTR", 1, stream);
    drv_ptr in = (drv_ptr)(uintptr_t)r.in;
    int n, right;

    memset(r.host, 0x11, slow_bytes);
    EVP_CipherUpdate(r.reference, r.expected, &n, r.host, (int)slow_bytes);
    emulate("devices=2,kernel-us=20000");
    right = application.memset_d8_async(in, 0x22, slow_bytes, stream) == DRV_SUCCESS &&
            application.memset_d8_async(in, 0x11, slow_bytes, stream) == DRV_SUCCESS &&
            EVP_CipherUpdate(r.ours, r.out, &n, r.in, (int)slow_bytes) &&
            application.memset_d8_async(in, 0x33, slow_bytes, stream) == DRV_SUCCESS;
    tap_ok(right && output_is_right(&r), "work comes in the order of the stream");
    emulate("devices=2");
    end(&r);
}

/* The input of a partial block is still being made when it is needed. */
static void check_host_waits(drv_stream stream)
{
    struct run r = begin("AES-128-CTR", 1, stream);
    drv_ptr in = (drv_ptr)(uintptr_t)r.in;
    int n, right;

    memset(r.host, 0x11, slow_bytes);
    EVP_CipherUpdate(r.reference, r.expected, &n, r.host, (int)slow_bytes);
    right = application.memset_d8_async(in, 0x22, slow_bytes, stream) == DRV_SUCCESS &&
            application.memset_d8_async(in, 0x11, slow_bytes, stream) == DRV_SUCCESS &&
            EVP_CipherUpdate(r.ours, r.out, &n, r.in, 7) && !is_busy(stream) &&
            EVP_CipherUpdate(r.ours, r.out + 7, &n, r.in + 7, (int)slow_bytes - 7);
    tap_ok(right && output_is_right(&r), "part of a block waits for the stream");
    end(&r);
}

/* ---- Several devices ------------------------------------------------------ */

/* The settings name the first alone. */
static void check_second_device(void)
{
    drv_context popped;
    drv_stream stream;
    EVP_CIPHER_CTX *wrong;

    if (!application_begin(1)) {
        tap_skip("there is one device only");
        return;
    }
    check_walks(DRV_STREAM_LEGACY, OWNED_MEMORY, "the legacy stream of device 1");
    application.stream_create(&stream, DRV_STREAM_NON_BLOCKING);
    check_no_wait("AES-256-CTR", 1, NULL);
    check_walks(stream, ANY_MEMORY, "a stream of device 1");
    application.stream_destroy(stream);
    application.ctx_pop_current(&popped);
    wrong = new_context(1, "AES-256-CTR", 1, NULL);
    tap_ok(wrong != NULL, "the first device still works");
    EVP_CIPHER_CTX_free(wrong);
}

/* ---- Errors that come later ------------------------------------------------ */

static void check_loss(drv_stream stream)
{
    struct run r;
    int n, good;

    if (!application_is_emulated) {
        tap_skip("a card is not lost on demand");
        return;
    }
    r = begin("AES-256-CBC", 0, stream);
    good = EVP_CipherUpdate(r.ours, r.out, &n, r.in, 4096);
    emulate("devices=2,lost=launch_kernel:1");
    good = good && !EVP_CipherUpdate(r.ours, r.out, &n, r.in, 4096);
    tap_ok(good && reason_is(undefined), "a device that is lost: the update fails");
    tap_ok(!EVP_CipherUpdate(r.ours, r.out, &n, r.in, 7), "and so does the next");
    ERR_clear_error();
    end(&r);
}

/* A chain on `stream`, of which nothing has been waited for. */
static struct run begin_chain(drv_stream stream)
{
    struct run r = begin("AES-256-CBC", 0, stream);
    int n;

    if (!EVP_CipherUpdate(r.ours, r.out, &n, r.in, 4096))
        tap_diag("nothing was queued");
    EVP_CipherUpdate(r.reference, r.expected, &n, r.host, 4096);
    application_wait(stream);
    return r;
}

/* What needs the IV that is lost; `in_place` is memory that the context takes. */
static int is_refused(struct run *r, unsigned char *in_place)
{
    unsigned char updated[BLOCK];
    OSSL_PARAM ask[] = {OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, updated, BLOCK),
                        OSSL_PARAM_END};
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    int n, good;

    ERR_clear_error();
    good = !EVP_CipherUpdate(r->ours, in_place, &n, in_place, BLOCK) && reason_is(undefined) &&
           !EVP_CipherUpdate(r->ours, in_place, &n, in_place, 4096) && reason_is(undefined) &&
           !EVP_CIPHER_CTX_get_params(r->ours, ask) && reason_is(undefined) &&
           !EVP_CIPHER_CTX_copy(copy, r->ours) && !EVP_CipherFinal_ex(r->ours, updated, &n);
    EVP_CIPHER_CTX_free(copy);
    ERR_clear_error();
    return good;
}

static int starts_again(struct run *r)
{
    return EVP_CipherInit_ex2(r->ours, NULL, NULL, iv, 0, NULL) &&
           EVP_CipherInit_ex2(r->reference, NULL, NULL, iv, 0, NULL);
}

/* Device 0 is lost, and the next stream is of device 1. */
static int loss_before_other_stream(drv_stream first, drv_stream *second)
{
    struct run r = begin_chain(first);
    unsigned char *text, seen[4096];
    int n, good;

    application_begin(1);
    application.stream_create(second, DRV_STREAM_NON_BLOCKING);
    text = application_alloc(DEVICE, sizeof seen);
    application_write(DEVICE, text, r.host, sizeof seen);
    emulate("devices=2,fault-device=0,lost=event_query:1");
    good = !set_stream(r.ours, *second);
    good = !set_stream(r.ours, *second) && good && is_refused(&r, text); /* still */
    good = good && starts_again(&r) && set_stream(r.ours, *second) &&
           EVP_CipherUpdate(r.ours, text, &n, text, sizeof seen) && application_wait(*second) &&
           application_read(seen, DEVICE, text, sizeof seen) &&
           EVP_CipherUpdate(r.reference, r.expected, &n, r.host, sizeof seen) &&
           !memcmp(seen, r.expected, sizeof seen);
    application_free(DEVICE, text);
    end(&r);
    return good;
}

static int loss_before_cpu(drv_stream stream, const char *fault)
{
    struct run r = begin_chain(stream);
    unsigned char text[4096];
    int n, good;

    memcpy(text, r.host, sizeof text);
    emulate(fault);
    good = !stop_stream(r.ours);
    good = !stop_stream(r.ours) && good && is_refused(&r, text); /* still */
    good = good && starts_again(&r) && EVP_CipherUpdate(r.ours, text, &n, text, sizeof text) &&
           EVP_CipherUpdate(r.reference, r.expected, &n, r.host, sizeof text) &&
           !memcmp(text, r.expected, sizeof text);
    end(&r);
    return good;
}

/* Without a fork the losses would be those of the other tests. 1 if all is right. */
static int run_losses(const char *devices)
{
    drv_stream first, second;
    int status;
    pid_t child = fork();

    if (child != 0)
        return waitpid(child, &status, 0) == child && status == 0;
    setenv("GPUAES_DEVICES", devices, 1);
    tap_random_seed(&chance);
    providers = providers_load();
    if (!application_begin(0) || !application_is_emulated)
        _exit(application_is_emulated);
    slow_bytes = 64 << 10;
    application.stream_create(&first, DRV_STREAM_NON_BLOCKING);
    if (!strcmp(devices, "0"))
        _exit(!loss_before_cpu(first, "devices=2,lost=event_query:1"));
    _exit(!loss_before_other_stream(first, &second) ||
          !loss_before_cpu(second, "devices=2,fault-device=1,lost=event_query:1"));
}

/* ---- No thread in an ASYNC job ---------------------------------------------- */

/* Threads that want more stack than there is cannot be made. */
static int stop_in_job(void *argument)
{
    EVP_CIPHER_CTX *context = *(EVP_CIPHER_CTX **)argument;
    pthread_attr_t usual, huge;
    int stopped;

    pthread_getattr_default_np(&usual);
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, (size_t)1 << 50);
    pthread_setattr_default_np(&huge);
    stopped = stop_stream(context);
    pthread_setattr_default_np(&usual);
    pthread_attr_destroy(&usual);
    pthread_attr_destroy(&huge);
    return stopped;
}

static void check_no_thread(drv_stream stream)
{
    struct run r = begin_chain(stream);
    ASYNC_WAIT_CTX *wait = ASYNC_WAIT_CTX_new();
    ASYNC_JOB *job = NULL;
    int stopped = -1, n;

    tap_ok(ASYNC_start_job(&job, wait, &stopped, stop_in_job, &r.ours, sizeof(void *)) ==
                   ASYNC_FINISH &&
               stopped == 0 && reason_is("out of memory"),
           "an ASYNC job without a thread cannot wait");
    tap_ok(stop_stream(r.ours) && EVP_CipherUpdate(r.ours, r.host, &n, r.host + 4096, 64) &&
               EVP_CipherUpdate(r.reference, r.expected, &n, r.host + 4096, 64) &&
               !memcmp(r.host, r.expected, 64),
           "and loses nothing");
    ASYNC_WAIT_CTX_free(wait);
    end(&r);
}

int main(void)
{
    drv_stream stream;

    setenv("GPUAES_MIN_BYTES", "0", 0);
    setenv("GPUAES_EMULATOR", "devices=2", 0);
    if (stand_in())
        return tap_skip_all("the default provider knows no streams");
    tap_ok(run_losses("0"), "a chain that is lost is refused, then restarted on the CPU");
    tap_ok(run_losses("all"), "and on a stream of another device");
    tap_random_seed(&chance);
    providers = providers_load();
    if (!application_begin(0) ||
        application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS) {
        printf("Bail out! no CUDA\n");
        return EXIT_FAILURE;
    }
    slow_bytes = application_is_emulated ? 64 << 10 : 64 << 20;
    check_walks(stream, ANY_MEMORY, "a non-blocking stream");
    check_walks(NULL, ANY_MEMORY, "the legacy stream");
    check_no_wait("AES-256-CTR", 1, stream);
    check_no_wait("AES-128-ECB", 1, stream);
    check_no_wait("AES-192-CBC", 0, stream);
    check_ends(stream);
    check_order(stream);
    check_host_waits(stream);
    check_no_thread(stream);
    check_second_device();
    tap_ok(figure("faults") == 0, "no call of the driver has failed");
    check_loss(stream);
    providers_unload(&providers);
    return tap_done();
}
