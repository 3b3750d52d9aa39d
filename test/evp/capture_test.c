/*
 * While the application captures a CUDA graph: what would have to be part of it, or would
 * invalidate it, is refused and has moved nothing; the rest goes on; the graph is the
 * application's alone.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/gpuaes.h"
#include "test/support/streams.h"

enum { BYTES = 8192, UPDATE_BYTES = 2048 };

static const char captured[] = "a CUDA graph is being captured";
static struct memory *memory;

/* ---- The captures themselves ----------------------------------------------- */

/* Else a capture that goes on after a call would show nothing. */
static void check_captures(drv_stream own, drv_stream blocking)
{
    unsigned char seen[BLOCK], host[BLOCK], *out = memory->out_there;
    drv_event event;
    application.event_create(&event, DRV_EVENT_DISABLE_TIMING);
    memset(host, 1, BLOCK);
    int good = application_write(DEVICE, out, host, BLOCK) && application_begin_capture(own) &&
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
    struct stream s;
    size_t at;
};

static struct run begin(const char *name, int encrypt, drv_stream cuda)
{
    return (struct run){stream_open_on(memory, name, encrypt, cuda), 0};
}

static void end(struct run *r)
{
    stream_close(&r->s);
}

static int updates(struct run *r, int count)
{
    int good = 1;
    for (; good && count > 0; count--, r->at += UPDATE_BYTES)
        good = stream_update_queued(&r->s, r->at, r->at, UPDATE_BYTES);
    return good;
}

static int is_refused(struct run *r, int length)
{
    int n = -1;
    return !EVP_CipherUpdate(r->s.side[OURS], memory->out_there + r->at, &n,
                             memory->in_there + r->at, length) &&
           reason_is(captured);
}

/* What is asked of a chain, which is at its end on the device alone. */
static int chain_is_refused(const struct run *r)
{
    unsigned char got[BLOCK];
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    int good = !EVP_CIPHER_CTX_get_updated_iv(r->s.side[OURS], got, BLOCK) && reason_is(captured) &&
               !EVP_CIPHER_CTX_copy(copy, r->s.side[OURS]);

    ERR_clear_error();
    EVP_CIPHER_CTX_free(copy);
    return good;
}

static int output_is_right(const struct run *r, drv_stream cuda)
{
    return stream_queued_is_right(&r->s, cuda, r->at) && stream_agrees(&r->s);
}

static void check_stream(const char *name, int encrypt, drv_stream stream, const char *kind)
{
    struct run r = begin(name, encrypt, stream);
    drv_ptr end_of_out = (drv_ptr)(uintptr_t)(memory->out_there + BYTES - BLOCK);
    int good = updates(&r, 1), nodes;

    good = good && application_begin_capture(stream);
    tap_ok(good && is_refused(&r, UPDATE_BYTES) && is_refused(&r, 7),
           "%s on a %s stream that is captured is refused", name, kind);
    if (strstr(name, "CBC"))
        tap_ok(chain_is_refused(&r) && !stop_stream(r.s.side[OURS]) && reason_is(captured),
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
    good = updates(&r, 1); /* what is made once is made now */
    end(&r);
    before = objects();
    r = begin("AES-256-CBC", 0, stream);
    good = good && updates(&r, 1) && application_begin_capture(stream);
    end(&r);
    tap_ok(good && application_end_capture(stream) == 0 && objects() == before,
           "a context is freed meanwhile, with all that it had");
}

/* ---- The legacy stream, while one that it waits for is captured ------------------ */

/*
 * Additional data on the device after the end of a message: it must be copied before the CPU
 * refuses it, which a card's memory would crash. That the copy is refused shows that it is asked
 * for.
 */
static void check_data_after_the_end(drv_stream blocking)
{
    unsigned one = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &one), OSSL_PARAM_END};
    EVP_CIPHER_CTX *ours = context_open(1, "AES-128-GCM", usual_key, usual_iv, 1, params);
    unsigned char tag[BLOCK];
    int n, good = EVP_CipherUpdate(ours, memory->out_there, &n, memory->in_there, BYTES) &&
                  EVP_CipherFinal_ex(ours, tag, &n) && application_begin_capture(blocking);
    tap_ok(good && !EVP_CipherUpdate(ours, NULL, &n, memory->in_there, BLOCK) &&
               reason_is(captured) && application_end_capture(blocking) == 0 &&
               !EVP_CipherUpdate(ours, NULL, &n, memory->in_there, BLOCK),
           "additional data on the device after the end of a message is not read by the CPU");
    ERR_clear_error();
    EVP_CIPHER_CTX_free(ours);
}

/* On device memory without a stream. */
static struct run begin_waiting(const char *name, int encrypt)
{
    struct run r = begin(name, encrypt, NULL);
    unsigned one = 1;
    OSSL_PARAM on[] = {OSSL_PARAM_uint("device-memory", &one), OSSL_PARAM_END};

    if (!stop_stream(r.s.side[OURS]) || !EVP_CIPHER_CTX_set_params(r.s.side[OURS], on))
        tap_diag("the context cannot do without a stream");
    return r;
}

static int host_goes_on(struct run *r)
{
    uint64_t before = figure("gpu-bytes");
    memory->in_place = memory->out_place = PAGEABLE;
    int right = stream_update(&r->s, BYTES) && figure("gpu-bytes") == before + BYTES;
    memory->in_place = memory->out_place = DEVICE;
    return right;
}

static void check_without_stream(drv_stream blocking)
{
    struct run r = begin_waiting("AES-128-CTR", 1);
    int good = updates(&r, 1) && application_begin_capture(blocking);

    tap_ok(good && is_refused(&r, UPDATE_BYTES) && is_refused(&r, 7),
           "device memory without a stream is refused while a blocking stream is captured");
    tap_ok(host_goes_on(&r), "host memory is not, and goes to the GPU");
    good = application_end_capture(blocking) == 0;
    r.at = 0;
    tap_ok(good && updates(&r, 1) && output_is_right(&r, NULL),
           "no capture is invalidated, and no position has moved");
    end(&r);
}

/* The input could be read: only the output is on the device. */
static void check_output_alone(drv_stream blocking)
{
    struct run r = begin_waiting("AES-256-CTR", 1);
    int good = application_begin_capture(blocking), n = 0;

    good = good && !EVP_CipherUpdate(r.s.side[OURS], memory->out_there, &n, memory->text, 7) &&
           reason_is(captured) &&
           !EVP_CipherUpdate(r.s.side[OURS], memory->out_there, &n, memory->text, UPDATE_BYTES) &&
           reason_is(captured) && application_end_capture(blocking) == 0;
    tap_ok(good && updates(&r, 1) && output_is_right(&r, NULL),
           "nor has one where only the output is on the device");
    end(&r);
}

/* A block that was held back would be written first. */
static void check_held_block(drv_stream blocking)
{
    struct run r = begin_waiting("AES-128-CBC", 0);
    const size_t held = UPDATE_BYTES - BLOCK;
    int n = 0, good = stream_set_padding(&r.s, 1) &&
                      stream_update_queued(&r.s, 0, 0, UPDATE_BYTES) && r.s.held == BLOCK &&
                      application_begin_capture(blocking) &&
                      !EVP_CipherUpdate(r.s.side[OURS], memory->out_there + held, &n,
                                        memory->in_there + UPDATE_BYTES, UPDATE_BYTES) &&
                      reason_is(captured) && application_end_capture(blocking) == 0 &&
                      stream_update_queued(&r.s, UPDATE_BYTES, held, UPDATE_BYTES);
    tap_ok(good && stream_queued_is_right(&r.s, NULL, held + UPDATE_BYTES),
           "nor has a padded decryption, which holds a block back");
    end(&r);
}

static void check_legacy(drv_stream own, drv_stream blocking)
{
    struct run r = begin("AES-192-CBC", 0, NULL);
    int good = updates(&r, 1) && application_begin_capture(blocking);

    tap_ok(good && is_refused(&r, UPDATE_BYTES) && chain_is_refused(&r), "so is the legacy stream");
    tap_ok(application_end_capture(blocking) == 0 && updates(&r, 1) && output_is_right(&r, NULL),
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
    unsigned char counter[BLOCK] = {7}, *in = memory->in_there, *out = memory->out_there,
                  host[BYTES];
    struct gpuaes_key schedule;
    struct gpuaes_report report;
    LIBRARY(gpuaes_key_expand)(&schedule, usual_key, 32);
    int good = application_begin_capture(blocking) &&
               LIBRARY(gpuaes_copy)(out, in, BYTES) == GPUAES_BUSY &&
               LIBRARY(gpuaes_copy)(host, in, BYTES) == GPUAES_BUSY &&
               LIBRARY(gpuaes_aes)(GPUAES_CTR, &schedule, counter, in, out, BYTES, GPUAES_WAIT,
                                   &report) == GPUAES_BUSY &&
               counter[0] == 7 && counter[15] == 0 && application_end_capture(blocking) == 0;
    tap_ok(good && LIBRARY(gpuaes_copy)(out, in, BYTES) == GPUAES_OK &&
               LIBRARY(gpuaes_aes)(GPUAES_CTR, &schedule, counter, in, out, BYTES, GPUAES_WAIT,
                                   &report) == GPUAES_OK,
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

    if (stand_in())
        return tap_skip_all("the default provider knows no streams");
    begin_on_device();
    application.stream_create(&own, DRV_STREAM_NON_BLOCKING);
    application.stream_create(&blocking, 0);
    memory = memory_on_device(tap_random_next(&random_state), BYTES);
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
    check_data_after_the_end(blocking);
    tap_ok(figure("faults") == 0, "none of it counts as a fault");
    memory_on_device_free(memory);
    providers_unload(&test_providers);
    return tap_done();
}
