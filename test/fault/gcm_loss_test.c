/*
 * A device that is lost, hangs or is released, and processes that fork, in the middle of many
 * messages of AES-GCM: the next update may begin anywhere in a block, and text and tag are right to
 * the end, by whatever side. Each case is a run of this program of its own. For the emulator only.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/cases.h"
#include "test/support/device_state.h"
#include "test/support/sealed.h"

enum { MESSAGES = 24, BYTES = 60000, LARGE = 3 << 20 };

/* ---- Messages in progress ------------------------------------------------------------- */

static struct message {
    struct sealed sealed;
    EVP_CIPHER_CTX *context;
    unsigned char *out;
    size_t at;
} messages[MESSAGES];

/* The next update, or what is left of the text. */
static int go_on(struct message *m, size_t bytes)
{
    int in_place = (int)((size_t)(m - messages) / 2 % 2);
    size_t left = m->sealed.bytes - m->at;
    if (bytes > left)
        bytes = left;
    int right = sealed_update(&m->sealed, m->context, m->out, m->at, bytes, in_place);
    m->at += bytes;
    if (!right)
        fprintf(stderr, "# %s, message %zu: wrong before byte %zu\n", m->sealed.cipher,
                (size_t)(m - messages), m->at);
    return right;
}

static int all_go_on(size_t bytes)
{
    int right = 1;
    for (size_t i = 0; i < MESSAGES; i++)
        right &= go_on(&messages[i], bytes + 37 * i);
    return right;
}

static int all_end(void)
{
    int right = 1;
    for (size_t i = 0; i < MESSAGES; i++) {
        struct message *m = &messages[i];
        right &= go_on(m, SIZE_MAX) && sealed_end(&m->sealed, m->context);
    }
    return right;
}

static void message_open(struct message *m, size_t bytes)
{
    static const char *const names[] = {"AES-128-GCM", "AES-192-GCM", "AES-256-GCM"};
    size_t i = (size_t)(m - messages);
    m->sealed = sealed_make(names[i % 3], (int)(i % 2), bytes, 2 * i);
    m->context = sealed_open(&m->sealed, NULL);
    m->out = malloc(bytes);
    m->at = 0;
    if (m->context == NULL || m->out == NULL)
        abort();
}

static void message_close(struct message *m)
{
    EVP_CIPHER_CTX_free(m->context);
    sealed_free(&m->sealed);
    free(m->out);
}

/* Opens all, and gives each its first update by the device. */
static int open_all(size_t bytes, size_t first)
{
    for (int i = 0; i < MESSAGES; i++)
        message_open(&messages[i], bytes);
    return all_go_on(first) && figure("gpu-bytes") != 0 && figure("faults") == 0;
}

static void close_all(void)
{
    for (int i = 0; i < MESSAGES; i++)
        message_close(&messages[i]);
}

/* New messages in the contexts, and a new context. */
static int begin_again(void)
{
    int right = 1;
    for (int i = 0; i < MESSAGES && right; i++) {
        messages[i].at = 0;
        right = sealed_begin(&messages[i].sealed, messages[i].context);
    }
    right = right && all_go_on(20000) && all_end();
    EVP_CIPHER_CTX *context = sealed_open(&messages[0].sealed, NULL);
    right = right && sealed_agrees(&messages[0].sealed, context, messages[0].out, 3, 0);
    EVP_CIPHER_CTX_free(context);
    return right;
}

/* ---- Cases: 1 if all is as it should be ------------------------------------------------- */

/* The fault comes in the second updates. */
static int goes_on_after(const char *fault, size_t bytes)
{
    int right = open_all(bytes, bytes / 3);
    emulate(fault);
    right = right && all_go_on(bytes / 3 + 5);
    if (figure("faults") == 0)
        fprintf(stderr, "# no fault is counted\n");
    right = right && figure("faults") != 0 && all_end() && begin_again();
    close_all();
    return right;
}

static int a_lost_device_is_done_without(void)
{
    return goes_on_after("lost=launch_kernel:9", BYTES) && device_state() == GPUAES_FAILED;
}

static int so_is_one_that_is_lost_between(void)
{
    return goes_on_after("lost=ctx_push_current:1", BYTES) && device_state() == GPUAES_FAILED;
}

static int so_is_one_that_hangs(void)
{
    return goes_on_after("hang=9", BYTES) && device_state() == GPUAES_FAILED;
}

static int another_takes_over(void)
{
    return goes_on_after("devices=2,stay-lost=1,fault-device=0,lost=launch_kernel:9", BYTES) &&
           device_state() == GPUAES_READY;
}

/* A large update is cut up between threads, whose device stops in the middle. */
static int another_does_what_is_left(void)
{
    int right = open_all(LARGE, 2005);
    emulate("devices=2,stay-lost=1,fault-device=0,lost=launch_kernel:7");
    right = right && all_go_on(LARGE - 9999) && figure("faults") != 0 && all_end();
    close_all();
    return right && device_state() == GPUAES_READY;
}

static int a_released_device_comes_back(void)
{
    int right = open_all(BYTES, 20005);
    for (int round = 0; round < 2 && right; round++) {
        right = device_becomes(GPUAES_OFF);
        uint64_t before = figure("gpu-bytes");
        right = right && all_go_on(15007) && figure("gpu-bytes") - before >= MESSAGES * 14000;
    }
    right = right && device_becomes(GPUAES_OFF) && all_end() && device_becomes(GPUAES_OFF) &&
            begin_again();
    close_all();
    return right && figure("faults") == 0;
}

/* What a child does with the messages that it inherited: no device is its own. */
static int go_on_as_a_child(void)
{
    uint64_t before = figure("gpu-bytes");
    return all_go_on(15003) && all_end() && begin_again() && figure("gpu-bytes") == before;
}

/* Both go on with the same messages, at the same time. */
static int forks_go_on(void)
{
    int right = open_all(BYTES, 20005);
    for (int round = 0; round < 2; round++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            alarm(200);
            _exit(!go_on_as_a_child());
        }
        uint64_t before = figure("gpu-bytes");
        right = right && all_go_on(11111) && figure("gpu-bytes") - before >= MESSAGES * 11000;
        right = ended_well(child) && right;
    }
    right = right && all_end() && begin_again();
    close_all();
    return right && figure("faults") == 0;
}

/* A child whose parent has not begun may have a device of its own. */
static int a_child_may_begin(void)
{
    for (int i = 0; i < MESSAGES; i++)
        message_open(&messages[i], BYTES);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(200);
        _exit(!(all_go_on(20005) && figure("gpu-bytes") != 0 && all_end()));
    }
    int right = all_go_on(20005) && all_end();
    close_all();
    return ended_well(child) && right;
}

static const struct case_row cases[] = {
    {"the device is lost in an update", "", "", a_lost_device_is_done_without},
    {"the device is lost between two updates", "", "", so_is_one_that_is_lost_between},
    {"a kernel hangs", "GPUAES_TIMEOUT_MS=15000", "", so_is_one_that_hangs},
    {"one of two devices is lost, the other goes on", "GPUAES_DEVICES=all", "devices=2",
     another_takes_over},
    {"one of two devices is lost in a large update", "GPUAES_DEVICES=all GPUAES_THREADS=3",
     "devices=2", another_does_what_is_left},
    {"an idle device is released, and comes back", "GPUAES_IDLE_SECONDS=1", "",
     a_released_device_comes_back},
    {"the process forks, with pinned memory that is shared", "", "fork=shared", forks_go_on},
    {"the process forks, with pinned memory that is absent", "", "fork=absent", forks_go_on},
    {"the process forks before the first text", "", "", a_child_may_begin},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    if (argc > 1)
        return case_named(argv[1], cases);
    if (stand_in() || application_hook("emulator_contexts") == NULL)
        return tap_skip_all("for the emulator only");
    setenv("GPUAES_MIN_BYTES", "1000", 1);
    cases_check(cases, CASES, 3);
    return tap_done();
}
