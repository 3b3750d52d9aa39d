/*
 * Random numbers while every function of the driver fails, once, at each of its
 * calls, or the device is lost there: what a call says is true, what is reported as queued is right
 * unless the device fails, and what went wrong once can be repeated.
 *
 * A lost device is lost for good, so each fault is a child of its own. A child without a fault
 * counts the calls.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <sys/mman.h>

#include "test/support/driver_functions.h"
#include "test/support/library.h"

enum { KEY = 32, COUNT = 5000 };

static const unsigned char key[KEY] = "a key of thirty-two bytes.......";

/* In memory that children share. */
struct trial {
    unsigned calls[FUNCTIONS];
    int queued; /* enum gpuaes_status */
};
static struct trial *trial;

/* The keystream of libcrypto, from counter block 0 on. */
static int is_right(const unsigned char *out)
{
    static unsigned char zeros[COUNT], expected[COUNT];
    static const unsigned char counter[GPUAES_BLOCK];
    int n = 0;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(c, EVP_aes_256_ctr(), NULL, key, counter);
    EVP_EncryptUpdate(c, expected, &n, zeros, COUNT);
    EVP_CIPHER_CTX_free(c);
    return n == COUNT && memcmp(out, expected, COUNT) == 0;
}

/* Until the stream is done, as an application waits. */
static drv_result wait_for(drv_stream stream)
{
    drv_result r;
    while ((r = application.stream_query(stream)) == DRV_NOT_READY)
        usleep(100);
    return r;
}

/* In device memory, which this CPU reads as well. */
struct memory {
    unsigned char key[KEY], out[COUNT];
};

/* 1 if what the call says is true. */
static int run_call(struct memory *m, drv_stream stream)
{
    const struct gpuaes_random random = {
        .struct_bytes = sizeof random, .kind = GPUAES_RANDOM_BYTES, .key = m->key, .count = COUNT};
    memcpy(m->key, key, KEY);
    memset(m->out, 0, COUNT);
    trial->queued = gpuaes_random_queue(&random, m->out, stream, 0);
    int failed = wait_for(stream) != DRV_SUCCESS;
    return trial->queued != GPUAES_OK || failed || is_right(m->out);
}

static int run_fault(const void *argument)
{
    const char *options = argument;
    struct gpuaes_settings settings = {.timeout_ms = timeout_for(options)};
    drv_stream stream;
    drv_ptr memory;
    emulator_configure("");
    if (!starts_with(&settings))
        return 1;
    become_an_application(0);
    if (application.mem_alloc(&memory, sizeof(struct memory)) != DRV_SUCCESS ||
        application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS)
        return 2;
    struct memory *m = (struct memory *)(uintptr_t)memory;
    emulator_configure(options);
    int right = run_call(m, stream);
    for (unsigned i = 0; i < FUNCTIONS; i++)
        trial->calls[i] = emulator_calls(functions[i]);
    struct trial first = *trial;
    emulator_configure("");
    /* What was short once is there again. */
    int lost = first.queued == GPUAES_FAULT || gpuaes_state() != GPUAES_READY;
    if (right && !lost)
        right = run_call(m, stream) && trial->queued == GPUAES_OK && is_right(m->out);
    *trial = first;
    return right ? 0 : 3;
}

/* Memory that the driver does not know is the caller's mistake. */
static int is_known(const char *options, int status)
{
    if (status == GPUAES_BAD_RANGE)
        return strstr(options, "pointer_get") != NULL || strstr(options, "mem_get") != NULL;
    return status == GPUAES_OK || status == GPUAES_NO_MEMORY || status == GPUAES_FAULT ||
           status == GPUAES_NOT_READY;
}

static int try(const char *options)
{
    memset(trial, 0, sizeof *trial);
    int child = in_child(run_fault, options);
    if (child == 0 && is_known(options, trial->queued))
        return 1;
    tap_diag("%s: child %d; queued %d", options, child, trial->queued);
    return 0;
}

int main(void)
{
    static const char *const ways[][2] = {{"fault", ""}, {"fault", ":2"}, {"lost", ""}};
    unsigned tried = 0, bad = 0, told = 0;
    trial = mmap(NULL, sizeof *trial, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        return EXIT_FAILURE;
    if (!tap_ok(try("") && trial->queued == GPUAES_OK, "without a fault"))
        return tap_done();
    struct trial usual = *trial;
    for (unsigned i = 0; i < FUNCTIONS; i++)
        for (unsigned call = 1; call <= usual.calls[i]; call++)
            for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
                char options[96];
                if (call > 3 && strstr(functions[i], "_query") != NULL)
                    break; /* how often they come depends on the pace */
                snprintf(options, sizeof options, "%s=%s:%u%s", ways[way][0], functions[i], call,
                         ways[way][1]);
                tried++;
                bad += !try(options);
                told += trial->queued != GPUAES_OK;
            }
    tap_ok(tried != 0 && bad == 0 && told > tried / 3, "%u faults, of which %u are told", tried,
           told);
    return tap_done();
}
