/*
 * While the application captures a CUDA graph: what would have to be part of it, or would
 * invalidate it, is refused and has moved nothing; the rest goes on; the graph is the
 * application's alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <openssl/core_names.h>

#include "cuda/gpuaes.h"
#include "test/support/streams.h"

enum { BYTES = 8192, UPDATE = 2048 };

static const char captured[] = "a CUDA graph is being captured";
static unsigned char *in, *out, host[BYTES], expected[BYTES];
static struct tap_random chance;

/* ---- The captures themselves ----------------------------------------------- */

/* Else a capture that goes on after a call would show nothing. */
static void check_captures(drv_stream own, drv_stream blocking)
{
    unsigned char seen[BLOCK];
    drv_event event;
    int good;

    application.event_create(&event, DRV_EVENT_DISABLE_TIMING);
    memset(host, 1, BLOCK);
    good = application_write(DEVICE, out, host, BLOCK) && application_begin_capture(own) &&
           application.memset_d8_async((drv_ptr)(uintptr_t)out, 2, BLOCK, own) == DRV_SUCCESS &&
           application_end_capture(own) == 1;
    tap_ok(good && application_read(seen, DEVICE, out, BLOCK) && !memcmp(seen, host, BLOCK),
           "what is captured is not run");
    good = application_begin_capture(own) && application.stream_query(own) != DRV_SUCCESS &&
           application_end_capture(own) == -1;
    good = good && application_begin_capture(own) &&
           application.event_record(event, own) == DRV_SUCCESS &&
           application.event_query(event) == DRV_CAPTURED_EVENT &&
           application_end_capture(own) == -1;
    tap_ok(good, "a question how far it is invalidates a capture");
    good = application_begin_capture(blocking) &&
           application.event_record(event, DRV_STREAM_LEGACY) == DRV_CAPTURE_IMPLICIT &&
           application_end_capture(blocking) == -1;
    tap_ok(good, "so does the legacy stream, where it waits for what is captured");
    good = application_begin_capture(own) &&
           application.event_record(event, DRV_STREAM_LEGACY) == DRV_SUCCESS &&
           application_end_capture(own) == 0;
    tap_ok(good, "which a non-blocking stream does not do");
    application.event_destroy(event);
}

/* ---- A stream that is captured ----------------------------------------------- */

struct run {
    EVP_CIPHER_CTX *ours, *reference;
    size_t at;
};

static struct run begin(const char *name, int encrypt, drv_stream stream)
{
    struct run r = {.ours = new_context(1, name, encrypt, stream),
                    .reference = new_context(0, name, encrypt, NULL)};

    tap_random_bytes(&chance, host, sizeof host);
    application_write(DEVICE, in, host, sizeof host);
    return r;
}

static void end(struct run *r)
{
    EVP_CIPHER_CTX_free(r->ours);
    EVP_CIPHER_CTX_free(r->reference);
}

static int update(struct run *r)
{
    int n, m;
    size_t at = r->at;

    r->at += UPDATE;
    return EVP_CipherUpdate(r->ours, out + at, &n, in + at, UPDATE) && n == UPDATE &&
           EVP_CipherUpdate(r->reference, expected + at, &m, host + at, UPDATE) && m == UPDATE;
}

static int updates(struct run *r, int count)
{
    int good = 1;

    while (good && count-- > 0)
        good = update(r);
    return good;
}

static int is_refused(struct run *r, int length)
{
    int n = -1;

    return !EVP_CipherUpdate(r->ours, out + r->at, &n, in + r->at, length) && reason_is(captured);
}

/* What is asked of a chain, which is at its end on the device alone. */
static int chain_is_refused(const struct run *r)
{
    unsigned char got[BLOCK];
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    int good = !EVP_CIPHER_CTX_get_updated_iv(r->ours, got, BLOCK) && reason_is(captured) &&
               !EVP_CIPHER_CTX_copy(copy, r->ours);

    ERR_clear_error();
    EVP_CIPHER_CTX_free(copy);
    return good;
}

static int output_is_right(const struct run *r, drv_stream stream)
{
    unsigned char seen[BYTES], got[BLOCK] = {0}, wanted[BLOCK] = {0};

    return application_wait(stream) && application_read(seen, DEVICE, out, r->at) &&
           !memcmp(seen, expected, r->at) &&
           EVP_CIPHER_CTX_get_updated_iv(r->ours, got, BLOCK) ==
               EVP_CIPHER_CTX_get_updated_iv(r->reference, wanted, BLOCK) &&
           !memcmp(got, wanted, BLOCK);
}

static void check_stream(const char *name, int encrypt, drv_stream stream, const char *kind)
{
    struct run r = begin(name, encrypt, stream);
    drv_ptr end_of_out = (drv_ptr)(uintptr_t)(out + BYTES - BLOCK);
    int good = update(&r), nodes;

    good = good && application_begin_capture(stream);
    tap_ok(good && is_refused(&r, UPDATE) && is_refused(&r, 7),
           "%s on a %s stream that is captured is refused", name, kind);
    if (strstr(name, "CBC"))
        tap_ok(chain_is_refused(&r) && !stop_stream(r.ours) && reason_is(captured),
               "so is what would have to wait for the stream");
    application.memset_d8_async(end_of_out, 2, BLOCK, stream);
    nodes = application_end_capture(stream);
    tap_ok(nodes == 1, "the graph is the application's alone (%d nodes)", nodes);
    tap_ok(updates(&r, 2) && output_is_right(&r, stream), "and then it goes on from where it was");
    end(&r);
}

static size_t objects(void)
{
    return application_count("emulator_objects");
}

static void check_free(drv_stream stream)
{
    struct run r;
    size_t before;
    int good;

    r = begin("AES-256-CBC", 0, stream);
    good = update(&r); /* what is made once is made now */
    end(&r);
    before = objects();
    r = begin("AES-256-CBC", 0, stream);
    good = good && update(&r) && application_begin_capture(stream);
    end(&r);
    tap_ok(good && application_end_capture(stream) == 0 && objects() == before,
           "a context is freed meanwhile, with all that it had");
}

/* ---- The legacy stream, while one that it waits for is captured ------------------ */

/* On device memory without a stream. */
static struct run begin_waiting(const char *name, int encrypt)
{
    struct run r = begin(name, encrypt, NULL);
    unsigned one = 1;
    OSSL_PARAM on[] = {OSSL_PARAM_uint("device-memory", &one), OSSL_PARAM_END};

    if (!stop_stream(r.ours) || !EVP_CIPHER_CTX_set_params(r.ours, on))
        tap_diag("the context cannot do without a stream");
    return r;
}

static int host_goes_on(struct run *r)
{
    static unsigned char text[BYTES];
    uint64_t before = figure("gpu-bytes");
    int n, m;

    return EVP_CipherUpdate(r->ours, text, &n, host, BYTES) &&
           EVP_CipherUpdate(r->reference, expected, &m, host, BYTES) &&
           !memcmp(text, expected, BYTES) && figure("gpu-bytes") == before + BYTES;
}

static void check_without_stream(drv_stream blocking)
{
    struct run r = begin_waiting("AES-128-CTR", 1);
    int good = update(&r) && application_begin_capture(blocking);

    tap_ok(good && is_refused(&r, UPDATE) && is_refused(&r, 7),
           "device memory without a stream is refused while a blocking stream is captured");
    tap_ok(host_goes_on(&r), "host memory is not, and goes to the GPU");
    good = application_end_capture(blocking) == 0;
    r.at = 0;
    tap_ok(good && update(&r) && output_is_right(&r, NULL),
           "no capture is invalidated, and no position has moved");
    end(&r);
}

/* The input could be read: only the output is on the device. */
static void check_output_alone(drv_stream blocking)
{
    struct run r = begin_waiting("AES-256-CTR", 1);
    int good = application_begin_capture(blocking), n = 0;

    good = good && !EVP_CipherUpdate(r.ours, out, &n, host, 7) && reason_is(captured) &&
           !EVP_CipherUpdate(r.ours, out, &n, host, UPDATE) && reason_is(captured) &&
           application_end_capture(blocking) == 0;
    tap_ok(good && update(&r) && output_is_right(&r, NULL),
           "nor has one where only the output is on the device");
    end(&r);
}

/* A block that was held back would be written first. */
static void check_held_block(drv_stream blocking)
{
    struct run r = begin_waiting("AES-128-CBC", 0);
    unsigned char seen[BYTES];
    const int held = UPDATE - BLOCK;
    const size_t total = UPDATE + UPDATE - BLOCK;
    int n = 0, m = 0, good;

    EVP_CIPHER_CTX_set_padding(r.ours, 1);
    EVP_CIPHER_CTX_set_padding(r.reference, 1);
    good = EVP_CipherUpdate(r.ours, out, &n, in, UPDATE) && n == held &&
           application_begin_capture(blocking) &&
           !EVP_CipherUpdate(r.ours, out + held, &n, in + UPDATE, UPDATE) && reason_is(captured) &&
           application_end_capture(blocking) == 0 &&
           EVP_CipherUpdate(r.ours, out + held, &n, in + UPDATE, UPDATE) && n == UPDATE;
    EVP_CipherUpdate(r.reference, expected, &m, host, UPDATE);
    EVP_CipherUpdate(r.reference, expected + held, &m, host + UPDATE, UPDATE);
    tap_ok(good && application_read(seen, DEVICE, out, total) && !memcmp(seen, expected, total),
           "nor has a padded decryption, which holds a block back");
    end(&r);
}

static void check_legacy(drv_stream own, drv_stream blocking)
{
    struct run r = begin("AES-192-CBC", 0, NULL);
    int good = update(&r) && application_begin_capture(blocking);

    tap_ok(good && is_refused(&r, UPDATE) && chain_is_refused(&r), "so is the legacy stream");
    tap_ok(application_end_capture(blocking) == 0 && update(&r) && output_is_right(&r, NULL),
           "and goes on afterwards");
    end(&r);
    r = begin("AES-192-CBC", 0, own);
    good = application_begin_capture(blocking) && updates(&r, 2) &&
           application_end_capture(blocking) == 0;
    tap_ok(good && output_is_right(&r, own), "another stream is not concerned");
    end(&r);
}

static void check_beside(drv_stream own)
{
    struct run r = begin_waiting("AES-128-CTR", 1);
    int good =
        application_begin_capture(own) && updates(&r, 2) && application_end_capture(own) == 0;

    tap_ok(good && output_is_right(&r, NULL),
           "nothing is refused where the captured stream is not ordered by the legacy stream");
    end(&r);
}

/* ---- libgpuaes ------------------------------------------------------------------- */

static void check_library(drv_stream blocking)
{
    enum gpuaes_status (*copy)(void *, const void *, size_t);
    enum gpuaes_status (*aes)(enum gpuaes_op, const struct gpuaes_key *, unsigned char *,
                              const void *, void *, size_t, unsigned, struct gpuaes_report *);
    int (*expand)(struct gpuaes_key *, const unsigned char *, size_t);
    void *symbols[] = {library_function("gpuaes_copy"), library_function("gpuaes_aes"),
                       library_function("gpuaes_key_expand")};
    unsigned char counter[BLOCK] = {7};
    struct gpuaes_key schedule;
    struct gpuaes_report report;
    int good;

    memcpy(&copy, &symbols[0], sizeof copy);
    memcpy(&aes, &symbols[1], sizeof aes);
    memcpy(&expand, &symbols[2], sizeof expand);
    expand(&schedule, key, 32);
    good =
        application_begin_capture(blocking) && copy(out, in, BYTES) == GPUAES_BUSY &&
        copy(host, in, BYTES) == GPUAES_BUSY &&
        aes(GPUAES_CTR, &schedule, counter, in, out, BYTES, GPUAES_WAIT, &report) == GPUAES_BUSY &&
        counter[0] == 7 && counter[15] == 0 && application_end_capture(blocking) == 0;
    tap_ok(good && copy(out, in, BYTES) == GPUAES_OK &&
               aes(GPUAES_CTR, &schedule, counter, in, out, BYTES, GPUAES_WAIT, &report) ==
                   GPUAES_OK,
           "the library says that it is busy until then");
}

int main(void)
{
    static const struct {
        const char *name;
        int encrypt;
    } modes[] = {{"AES-256-CTR", 1}, {"AES-128-ECB", 1}, {"AES-192-CBC", 0}};
    drv_stream own, blocking;
    size_t i;

    setenv("GPUAES_MIN_BYTES", "0", 0);
    if (stand_in())
        return tap_skip_all("the default provider knows no streams");
    tap_random_seed(&chance);
    providers = providers_load();
    if (!application_begin(0) ||
        application.stream_create(&own, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS ||
        application.stream_create(&blocking, 0) != DRV_SUCCESS) {
        printf("Bail out! no CUDA\n");
        return EXIT_FAILURE;
    }
    in = application_alloc(DEVICE, BYTES);
    out = application_alloc(DEVICE, BYTES);
    check_captures(own, blocking);
    for (i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        check_stream(modes[i].name, modes[i].encrypt, own, "non-blocking");
        check_stream(modes[i].name, modes[i].encrypt, blocking, "blocking");
    }
    check_free(own);
    check_without_stream(blocking);
    check_output_alone(blocking);
    check_held_block(blocking);
    check_legacy(own, blocking);
    check_beside(own);
    check_library(blocking);
    tap_ok(figure("faults") == 0, "none of it counts as a fault");
    providers_unload(&providers);
    return tap_done();
}
