/*
 * Who does a message of AES-GCM, by the settings: CPU or GPU, or neither. Each case is a run of
 * this program of its own, since the device's state belongs to the process. For the emulator only.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <limits.h>

#include "provider/common/errors.h"
#include "test/support/cases.h"
#include "test/support/jobs.h"
#include "test/support/sealed.h"

enum { SMALL = 10000, LARGE = 3 << 20 };

/* Both directions, in so many updates; 1 if all is right. */
static int messages_agree(size_t bytes, size_t updates)
{
    unsigned char *out = malloc(bytes);
    int right = 1;
    for (int i = 0; i < 4 && right; i++) {
        struct sealed s = sealed_make(i < 2 ? "AES-256-GCM" : "AES-128-GCM", i % 2, bytes, 7);
        EVP_CIPHER_CTX *context = sealed_open(&s, NULL);
        right = context != NULL && sealed_agrees(&s, context, out, updates, i / 2);
        EVP_CIPHER_CTX_free(context);
        sealed_free(&s);
    }
    free(out);
    return right;
}

/* ---- Cases: 1 if all is as it should be --------------------------------------------- */

static int no_device_is_touched(void)
{
    int right = messages_agree(SMALL, 1) && messages_agree(LARGE, 1) && messages_agree(LARGE, 5);
    struct figures f = figures_get(&test_providers);
    return right && f.gpu_bytes == 0 && f.launches == 0 && f.start_ms == 0 && f.faults == 0 &&
           application_count("emulator_contexts") == 0 &&
           application_count_of("emulator_calls", "init") == 0;
}

/* By the first context. */
static void start_eagerly(void)
{
    (void)messages_agree(16, 1);
    while (figure("start-ms") == 0) /* the case has a limit */
        sleep_ms(1);
}

static int small_messages_make_no_launch(void)
{
    int right = 1;
    start_eagerly();
    uint64_t launches = figure("launches");
    for (int i = 0; i < 50 && right; i++)
        right = messages_agree(SMALL + (size_t)i, 1 + (size_t)i % 3);
    return right && figure("launches") == launches && figure("gpu-bytes") == 0;
}

/* Whoever has the first text has all of it. */
static int the_first_text_decides(void)
{
    unsigned char *out = malloc(LARGE);
    struct sealed s = sealed_make("AES-256-GCM", 1, LARGE, 9);
    EVP_CIPHER_CTX *context = sealed_open(&s, NULL);
    int right = sealed_update(&s, context, out, 0, SMALL - 1, 0) &&
                sealed_update(&s, context, out, SMALL - 1, LARGE - SMALL + 1, 0) &&
                sealed_end(&s, context) && figure("gpu-bytes") == 0 && figure("start-ms") == 0;
    right = right && sealed_begin(&s, context) && sealed_update(&s, context, out, 0, SMALL, 0) &&
            sealed_update(&s, context, out, SMALL, 5, 0) &&
            sealed_update(&s, context, out, SMALL + 5, LARGE - SMALL - 5, 0) &&
            sealed_end(&s, context);
    uint64_t by_gpu = figure("gpu-bytes");
    EVP_CIPHER_CTX_free(context);
    sealed_free(&s);
    free(out);
    return right && by_gpu > LARGE - 64 && by_gpu + figure("cpu-bytes") == 2 * (uint64_t)LARGE;
}

/* What is refused changes nothing: the message begins with the next text, which is small. */
static int policy_gpu_refuses_without_a_device(void)
{
    unsigned char *out = malloc(LARGE);
    struct sealed s = sealed_make("AES-192-GCM", 1, LARGE, 11);
    EVP_CIPHER_CTX *context = sealed_open(&s, NULL);
    ERR_clear_error();
    int right = messages_agree(SMALL, 1) && !sealed_update(&s, context, out, 0, LARGE, 0) &&
                ERR_GET_REASON(ERR_peek_error()) == ERROR_NO_DEVICE &&
                reason_is("no GPU can be used");
    ERR_clear_error();
    right = right && sealed_update(&s, context, out, 0, SMALL, 0) &&
            sealed_update(&s, context, out, SMALL, LARGE - SMALL, 0) && sealed_end(&s, context);
    EVP_CIPHER_CTX_free(context);
    sealed_free(&s);
    free(out);
    return right && figure("gpu-bytes") == 0;
}

static int policy_gpu_uses_it(void)
{
    int right = messages_agree(LARGE, 1) && messages_agree(LARGE, 3);
    return right && figure("gpu-bytes") > 8 * (uint64_t)LARGE - 1000 && figure("faults") == 0;
}

static int bytes_add_up_to_a_start(void)
{
    int right = 1;
    for (int i = 0; i < 100 && right && figure("start-ms") == 0; i++) {
        right = messages_agree(1 << 20, 1);
        sleep_ms(10);
    }
    return right && figure("start-ms") != 0;
}

static int run_message(void *unused)
{
    (void)unused;
    return messages_agree(LARGE, 2);
}

static unsigned questions(void)
{
    return application_count_of("emulator_calls", "pointer_get_attributes");
}

/* How often the driver was asked what memory it is, for so many messages. */
static unsigned asked_for(const struct sealed *s, EVP_CIPHER_CTX *context, unsigned char *pinned,
                          unsigned messages)
{
    unsigned before = questions();
    for (unsigned i = 0; i < messages; i++)
        if (!sealed_begin(s, context) || !sealed_agrees(s, context, pinned, 1, 1))
            return UINT_MAX;
    return questions() - before;
}

/* One that was left to the CPU by choice decides for a mebibyte of messages that are no longer. */
static int a_choice_holds(void)
{
    enum { BYTES = 100 << 10, MESSAGES = 100 };
    struct sealed s = sealed_make("AES-256-GCM", 1, BYTES, 13);
    struct sealed longer = sealed_make("AES-256-GCM", 1, 2 * BYTES, 13);
    struct sealed long_one = sealed_make("AES-256-GCM", 1, 3 * BYTES, 13);
    start_eagerly();
    while (!application_begin(0))
        sleep_ms(1);
    unsigned char *pinned = application_alloc(PINNED, long_one.bytes);
    EVP_CIPHER_CTX *context = sealed_open(&s, NULL);
    unsigned asked = asked_for(&s, context, pinned, MESSAGES);
    unsigned of_longer = asked_for(&longer, context, pinned, 1);
    /* From 256 KiB on memory is recognised without being named: each is asked for. */
    unsigned of_long = asked_for(&long_one, context, pinned, 3);
    tap_diag("%u questions, %u for a longer message, %u for three long ones", asked, of_longer,
             of_long);
    EVP_CIPHER_CTX_free(context);
    application_free(PINNED, pinned);
    sealed_free(&s);
    sealed_free(&longer);
    sealed_free(&long_one);
    uint64_t faster = figure("cpu-bytes-faster"), all = faster + figure("cpu-bytes-small");
    return asked == 1 && of_longer == 0 && of_long == 3 && faster >= (uint64_t)BYTES * (1 + 9) &&
           all / BYTES == MESSAGES + 2 + 9;
}

/* Each byte of some pages by itself: the driver is asked about pages. */
static int bytes_are_asked_for_by_pages(void)
{
    enum { PAGE = 4096, BYTES = 4 * PAGE, MOST = 64 };
    static const unsigned char key[32] = "a key", iv[16] = "an IV";
    static _Alignas(PAGE) unsigned char text[BYTES];
    int n, right = 1;
    EVP_CIPHER_CTX *context = context_open(1, "AES-256-CTR", key, iv, 1, NULL);
    unsigned before = questions();
    for (int i = 0; i < BYTES; i++)
        right &= EVP_CipherUpdate(context, text + i, &n, text + i, 1);
    unsigned asked = questions() - before;
    tap_diag("%u questions", asked);
    EVP_CIPHER_CTX_free(context);
    return right && asked >= 1 && asked <= MOST;
}

/* With a device that is ready, and expected to be faster. */
static int jobs_stay_on_the_cpu(void)
{
    start_eagerly();
    return run_in_job(run_message, NULL, 0) && figure("gpu-bytes") == 0;
}

static const struct case_row cases[] = {
    {"policy=cpu touches no device", "GPUAES_POLICY=cpu GPUAES_START_BYTES=0 GPUAES_MIN_BYTES=0",
     "", no_device_is_touched},
    {"nor does start=never", "GPUAES_START=never GPUAES_START_BYTES=0 GPUAES_MIN_BYTES=0", "",
     no_device_is_touched},
    {"small messages make no launch", "GPUAES_START=eager", "", small_messages_make_no_launch},
    {"the first text decides", "GPUAES_MIN_BYTES=10000", "", the_first_text_decides},
    {"with policy=gpu, bytes are asked for by pages", "GPUAES_POLICY=gpu GPUAES_MIN_BYTES=0", "",
     bytes_are_asked_for_by_pages},
    {"policy=gpu refuses large updates without a device", "GPUAES_POLICY=gpu", "devices=0",
     policy_gpu_refuses_without_a_device},
    {"so it does without a driver", "GPUAES_POLICY=gpu", "nodriver=1",
     policy_gpu_refuses_without_a_device},
    {"and uses one that there is", "GPUAES_POLICY=gpu", "", policy_gpu_uses_it},
    {"start-bytes of messages start the device", "GPUAES_START_BYTES=3M", "",
     bytes_add_up_to_a_start},
    {"a choice holds, and below 256 KiB samples make it", "GPUAES_START=eager",
     "idle-kernels=1,kernel-us=20000", a_choice_holds},
    {"ASYNC jobs stay on the CPU", "GPUAES_START=eager", "idle-kernels=1", jobs_stay_on_the_cpu},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    if (argc > 1)
        return case_named(argv[1], cases);
    if (stand_in() || application_hook("emulator_contexts") == NULL)
        return tap_skip_all("for the emulator only");
    cases_check(cases, CASES, 1);
    return tap_done();
}
