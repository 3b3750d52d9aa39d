/*
 * cuda-stream beyond what aes_differential_test does with it: whole blocks are queued and the
 * update returns; what needs bytes on the host waits; the order on the stream, what ends it,
 * several devices, and errors that come later.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "test/support/cases.h"
#include "test/support/jobs.h"
#include "test/support/streams.h"

/* Of an update that keeps the device busy for a while: the emulator is slowed down. */
static size_t slow_bytes;

static struct memory *memory; /* of the current device of the application */

static int is_busy(drv_stream cuda)
{
    return application.stream_query(cuda) == DRV_NOT_READY;
}

static int is_right(struct stream *s, drv_stream cuda)
{
    return stream_queued_is_right(s, cuda, slow_bytes);
}

/* Enough to keep the device busy for a while: the same output again and again. */
static int queue_much(struct stream *s)
{
    int right = 1;
    for (int updates = application_is_emulated ? 3 : 16; right && updates > 0; updates--)
        right = stream_update_queued(s, 0, 0, slow_bytes);
    return right;
}

/* ---- What is promised ----------------------------------------------------- */

static void check_no_wait(const char *name, int encrypt, drv_stream cuda)
{
    struct stream s = stream_open_on(memory, name, encrypt, cuda);
    struct application_hold hold;
    int n = -1, queued = stream_update_queued(&s, 0, 0, BLOCK); /* what is made once is made now */
    application_wait(cuda);
    queued = queued && application_hold(cuda, &hold) && stream_update_queued(&s, 0, 0, slow_bytes);
    int unwaited = is_busy(cuda) && EVP_CipherFinal_ex(s.side[OURS], memory->out_there, &n) &&
                   n == 0 && is_busy(cuda);
    application_release(&hold);
    tap_ok(queued && unwaited, "%s: updates and a final without data return at once", name);
    tap_ok(is_right(&s, cuda), "%s: and the result is right once the stream has passed", name);
    stream_close(&s);
}

/* What ends a stream, waits for it. */
static void check_ends(drv_stream cuda)
{
    uint64_t got = 12345;
    OSSL_PARAM ask[] = {OSSL_PARAM_uint64("cuda-stream", &got), OSSL_PARAM_END};
    struct stream s = stream_open_on(memory, "AES-256-CBC", 0, cuda);
    EVP_CIPHER_CTX *ours = s.side[OURS];
    emulate("devices=2,kernel-us=50000");
    tap_ok(EVP_CIPHER_CTX_get_params(ours, ask) && got == (uintptr_t)cuda,
           "the stream can be asked for");
    tap_ok(queue_much(&s) && stop_stream(ours) && !is_busy(cuda), "device-memory=0 waits for it");
    got = 12345;
    tap_ok(EVP_CIPHER_CTX_get_params(ours, ask) && got == 12345, "and leaves none");
    tap_ok(is_right(&s, cuda), "and has done it");
    memory->in_place = memory->out_place = PAGEABLE;
    tap_ok(stream_update(&s, 64), "from where it ended");
    memory->in_place = memory->out_place = DEVICE;
    stream_close(&s);
    s = stream_open_on(memory, "AES-256-CTR", 1, cuda);
    queue_much(&s);
    stream_close(&s);
    tap_ok(!is_busy(cuda), "freeing the context waits for it");
    emulate("devices=2");
}

static int fill_input(int value, drv_stream cuda)
{
    return application.memset_d8_async((drv_ptr)(uintptr_t)memory->in_there, (unsigned char)value,
                                       slow_bytes, cuda) == DRV_SUCCESS;
}

/* The application's work before and behind, on the same stream. */
static void check_order(drv_stream cuda)
{
    struct stream s = stream_open_on(memory, "AES-128-CTR", 1, cuda);
    memset(memory->text, 0x11, slow_bytes);
    emulate("devices=2,kernel-us=20000");
    tap_ok(fill_input(0x22, cuda) && fill_input(0x11, cuda) &&
               stream_update_queued(&s, 0, 0, slow_bytes) && fill_input(0x33, cuda) &&
               is_right(&s, cuda),
           "work comes in the order of the stream");
    emulate("devices=2");
    stream_close(&s);
}

/* The input of a partial block is still being made when it is needed. */
static void check_host_waits(drv_stream cuda)
{
    struct stream s = stream_open_on(memory, "AES-128-CTR", 1, cuda);
    tap_ok(fill_input(0x22, cuda) && fill_input(0x11, cuda) && stream_update_queued(&s, 0, 0, 7) &&
               !is_busy(cuda) && stream_update_queued(&s, 7, 7, slow_bytes - 7) &&
               is_right(&s, cuda),
           "part of a block waits for the stream");
    stream_close(&s);
}

/* ---- Several devices ------------------------------------------------------ */

/* The settings name the first alone. */
static void check_second_device(void)
{
    drv_context popped;
    struct memory *first = memory;
    if (!application_begin(1)) {
        tap_skip("there is one device only");
        return;
    }
    memory = memory_on_device(2, slow_bytes);
    check_no_wait("AES-256-CTR", 1, NULL);
    memory_on_device_free(memory);
    memory = first;
    application.ctx_pop_current(&popped);
    struct stream s = stream_open_on(memory, "AES-256-CTR", 1, NULL);
    tap_ok(stream_update_queued(&s, 0, 0, BLOCK), "the first device still works");
    stream_close(&s);
}

/* ---- Errors that come later ------------------------------------------------ */

static void check_loss(drv_stream cuda)
{
    int n;
    if (!application_is_emulated) {
        tap_skip("a card is not lost on demand");
        return;
    }
    struct stream s = stream_open_on(memory, "AES-256-CBC", 0, cuda);
    int good = stream_update_queued(&s, 0, 0, 4096);
    emulate("devices=2,lost=launch_kernel:1");
    good = good && !EVP_CipherUpdate(s.side[OURS], memory->out_there, &n, memory->in_there, 4096);
    tap_ok(good && reason_is(undefined), "a device that is lost: the update fails");
    tap_ok(!EVP_CipherUpdate(s.side[OURS], memory->out_there, &n, memory->in_there, 7),
           "and so does the next");
    ERR_clear_error();
    stream_close(&s);
}

/* A chain on a stream, of which nothing has been waited for. */
static struct stream begin_chain(drv_stream cuda)
{
    struct stream s = stream_open_on(memory, "AES-256-CBC", 0, cuda);
    if (!stream_update_queued(&s, 0, 0, 4096))
        tap_diag("nothing was queued");
    application_wait(cuda);
    return s;
}

/* What needs the IV that is lost; `in_place` is memory that the context takes. */
static int is_refused(EVP_CIPHER_CTX *ours, unsigned char *in_place)
{
    unsigned char updated[BLOCK];
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    int n;
    ERR_clear_error();
    int good = !EVP_CipherUpdate(ours, in_place, &n, in_place, BLOCK) && reason_is(undefined) &&
               !EVP_CipherUpdate(ours, in_place, &n, in_place, 4096) && reason_is(undefined) &&
               !EVP_CIPHER_CTX_get_updated_iv(ours, updated, BLOCK) && reason_is(undefined) &&
               !EVP_CIPHER_CTX_copy(copy, ours) && !EVP_CipherFinal_ex(ours, updated, &n);
    EVP_CIPHER_CTX_free(copy);
    ERR_clear_error();
    return good;
}

/* Device 0 is lost, and the next stream is of device 1. */
static int loss_before_other_stream(drv_stream first, drv_stream *second)
{
    struct stream s = begin_chain(first);
    application_begin(1);
    application.stream_create(second, DRV_STREAM_NON_BLOCKING);
    s.memory = memory = memory_on_device(2, slow_bytes);
    emulate("devices=2,fault-device=0,lost=event_query:1");
    int good = !set_stream(s.side[OURS], *second);
    good = !set_stream(s.side[OURS], *second) && good; /* still */
    good = good && is_refused(s.side[OURS], memory->in_there) &&
           stream_init(&s, NULL, usual_iv, 0) && set_stream(s.side[OURS], *second) &&
           stream_update_queued(&s, 0, 0, 4096) && stream_queued_is_right(&s, *second, 4096);
    stream_close(&s);
    return good;
}

static int loss_before_cpu(drv_stream cuda, const char *fault)
{
    struct stream s = begin_chain(cuda);
    emulate(fault);
    int good = !stop_stream(s.side[OURS]);
    good = !stop_stream(s.side[OURS]) && good && is_refused(s.side[OURS], memory->in[OURS]);
    memory->in_place = memory->out_place = PAGEABLE;
    good = good && stream_init(&s, NULL, usual_iv, 0) && stream_update(&s, 4096);
    stream_close(&s);
    return good;
}

/* Without a fork the losses would be those of the other tests. 1 if all is right. */
static int run_losses(const char *devices)
{
    drv_stream first, second;
    pid_t child = fork();
    if (child != 0)
        return ended_well(child);
    setenv("GPUAES_DEVICES", devices, 1);
    begin_on_device();
    if (!application_is_emulated)
        _exit(0);
    slow_bytes = 64 * KIB;
    memory = memory_on_device(1, slow_bytes);
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

static void check_no_thread(drv_stream cuda)
{
    struct stream s = begin_chain(cuda);
    tap_ok(!run_in_job(stop_in_job, &s.side[OURS], sizeof(void *)) && reason_is("out of memory"),
           "an ASYNC job without a thread cannot wait");
    memory->in_place = memory->out_place = PAGEABLE;
    tap_ok(stop_stream(s.side[OURS]) && stream_update(&s, 64), "and loses nothing");
    memory->in_place = memory->out_place = DEVICE;
    stream_close(&s);
}

int main(void)
{
    drv_stream stream;

    if (stand_in())
        return tap_skip_all("the default provider knows no streams");
    tap_ok(run_losses("0"), "a chain that is lost is refused, then restarted on the CPU");
    tap_ok(run_losses("all"), "and on a stream of another device");
    begin_on_device();
    application.stream_create(&stream, DRV_STREAM_NON_BLOCKING);
    slow_bytes = application_is_emulated ? 64 * KIB : 64 * MIB;
    memory = memory_on_device(tap_random_next(&random_state), slow_bytes);
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
    memory_on_device_free(memory);
    providers_unload(&test_providers);
    return tap_done();
}
