/*
 * When the device is started and released, by the settings. Each case is a run
 * of this program of its own, since the device's state belongs to the process.
 * For the emulator only.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/cases.h"
#include "test/support/device_state.h"
#include "test/support/providers.h"

enum { MIB = 1 << 20, HUGE_UPDATE = 48 * MIB };

/* One CTR update of both sides from a fresh context; 1 if ours is right. */
static int update_is_right(size_t bytes)
{
    return message_agrees(&test_providers, "AES-256-CTR", bytes);
}

static int has_started(void)
{
    return figure("start-ms") != 0;
}

static int starts_within(int ms)
{
    for (int i = 0; i < ms && !has_started(); i++)
        sleep_ms(1);
    return has_started();
}

static int is_released(void)
{
    return application_count("emulator_device_bytes") == 0 &&
           application_count("emulator_pinned_bytes") == 0;
}

/* A start that is begun is seen at once, and what was released is not started again. */
static int nothing_starts(void)
{
    return device_state() == GPUAES_OFF && !has_started();
}

/* One context's updates of 16 KiB, `bytes` in all; 1 if none of them failed. */
static int small_updates(const char *name, long bytes)
{
    static const unsigned char key[32] = "a key", iv[16] = "an IV";
    static unsigned char buffer[16 << 10];
    EVP_CIPHER_CTX *context = context_open(1, name, key, iv, 1, NULL);
    int n, right = context != NULL;
    for (long i = 0; i < bytes; i += (long)sizeof buffer)
        right &= EVP_CipherUpdate(context, buffer, &n, buffer, sizeof buffer);
    EVP_CIPHER_CTX_free(context);
    return right;
}

/* ---- Cases: 1 if all is as it should be --------------------------------------------- */

static int small_work_never_starts(void)
{
    int right = 1;
    for (int i = 0; i < 8; i++)
        right &= update_is_right(100000);
    return right && nothing_starts();
}

static int bytes_add_up_to_a_start(void)
{
    int right = 1;
    for (int i = 0; i < 8 && !has_started(); i++)
        right &= update_is_right(MIB);
    return right && starts_within(60000);
}

static int64_t now_ms(void)
{
    return (int64_t)(clock_seconds(CLOCK_MONOTONIC) * 1e3);
}

/* Contexts one after the other, for so long or until the device starts. */
static int stream_for(int ms)
{
    int right = 1;
    int64_t begun = now_ms();
    while (right && now_ms() - begun < ms && !has_started())
        right = small_updates("AES-256-CTR", MIB);
    return right;
}

/* It takes 0.4 s without a pause. */
static int a_stream_starts(void)
{
    int64_t begun = now_ms();
    return stream_for(100000) && starts_within(60000) && now_ms() - begun >= 380;
}

static int slow_streams_never_start(void)
{
    int right = 1;
    int64_t begun = now_ms();
    while (now_ms() - begun < 700) {
        right &= small_updates("AES-256-CTR", 64 << 10);
        sleep_ms(1);
    }
    return right && nothing_starts();
}

static int small_blocks_never_start(void)
{
    int right = small_updates("AES-256-ECB", 64 * MIB) && small_updates("AES-256-CBC", 16 * MIB);
    return right && nothing_starts();
}

static int streams_never_start(void)
{
    int right = stream_for(600);
    return right && nothing_starts();
}

/* What a stream holds of the device is given back when it pauses, and comes again. */
static int a_stream_goes_on_after_a_release(void)
{
    int right = stream_for(100000) && device_becomes(GPUAES_READY) && device_becomes(GPUAES_OFF) &&
                is_released();
    for (int64_t begun = now_ms(); is_released() && now_ms() - begun < 100000;)
        right &= small_updates("AES-256-CTR", MIB);
    return right && !is_released() && figure("faults") == 0;
}

static int never_means_never(void)
{
    return update_is_right(8 * MIB) && nothing_starts() && figure("gpu-bytes") == 0;
}

static int eager_starts_with_a_context(void)
{
    return update_is_right(16) && starts_within(60000);
}

/* The application's first use comes after ours: it is found some updates later. */
static int cuda_that_comes_later_starts_it(void)
{
    int right = update_is_right(2 * MIB) && !has_started() && application_begin(0);
    for (int i = 0; i < 40 && !starts_within(50); i++)
        right &= update_is_right(2 * MIB);
    return right && starts_within(60000);
}

/* The start takes a while: what is done meanwhile is done by the CPU, and right. */
static int the_start_delays_nobody(void)
{
    int right = update_is_right(MIB) && !has_started();
    for (int i = 0; i < 20; i++)
        right &= update_is_right(70000);
    return right && starts_within(60000) && update_is_right(MIB);
}

static int a_huge_update_is_right_across_the_start(void)
{
    return update_is_right(HUGE_UPDATE) && starts_within(60000) && update_is_right(MIB);
}

static int idle_device_is_released_and_comes_back(void)
{
    int right = update_is_right(MIB);
    right &= application_count("emulator_contexts") == 1 && !is_released();
    right &= device_becomes(GPUAES_OFF) && is_released() && figure("pinned-bytes") == 0 &&
             figure("gpu-bytes") == MIB;
    right &= update_is_right(MIB);
    return right && figure("gpu-bytes") == 2 * MIB && application_count("emulator_contexts") == 1;
}

/* A child of a process that had a device must not start one, released or not. */
static int child_of_a_released_one_starts_nothing(void)
{
    int right = update_is_right(MIB) && device_becomes(GPUAES_OFF);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(update_is_right(MIB) && figure("faults") == 0 && !has_started() ? 0 : 1);
    return ended_well(child) && right;
}

/* Four streams may hang; the wait is one timeout, not four. */
static int one_timeout_for_all(void)
{
    double took = -clock_seconds(CLOCK_MONOTONIC);
    int right = update_is_right(3 * MIB);
    took += clock_seconds(CLOCK_MONOTONIC);
    tap_diag("%.2f s", took);
    return right && took >= 10 && took < 35;
}

static int policy_gpu_fails_without_a_device(void)
{
    int small = update_is_right(512);
    ERR_clear_error();
    static unsigned char in[MIB] = {1}, out[MIB + 16];
    int large = update_agrees(&test_providers, "AES-256-CTR", 1, in, out, MIB) || out[0] != 0;
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    return small && !large && reason != NULL && strcmp(reason, "no GPU can be used") == 0;
}

static int policy_gpu_uses_it(void)
{
    return update_is_right(MIB) && figure("gpu-bytes") == MIB;
}

static int policy_cpu_does_not(void)
{
    return update_is_right(8 * MIB) && nothing_starts();
}

static int a_failed_start_is_no_failure(void)
{
    int first = update_is_right(MIB), second = update_is_right(MIB);
    return first && second && figure("gpu-bytes") == 0;
}

/* A context that is told of device memory; NULL if it is refused. */
static EVP_CIPHER_CTX *device_memory_context(void)
{
    unsigned one = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &one), OSSL_PARAM_END};
    return context_open(1, "AES-128-CTR", (const unsigned char *)"sixteen bytes...",
                        (const unsigned char *)"sixteen bytes...", 1, params);
}

static int device_memory_starts_at_once(void)
{
    EVP_CIPHER_CTX *context = device_memory_context();
    int right = context != NULL && has_started();
    EVP_CIPHER_CTX_free(context);
    return right;
}

static int device_memory_is_refused(void)
{
    EVP_CIPHER_CTX *context = device_memory_context();
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    int right = context == NULL && reason != NULL && strcmp(reason, "no GPU can be used") == 0;
    EVP_CIPHER_CTX_free(context);
    return right && !has_started();
}

static int one_device_is_in_use(void)
{
    int right = figure("devices") == 0 && update_is_right(MIB);
    return right && figure("devices") == 1;
}

static int two_devices_are_in_use(void)
{
    return update_is_right(8 * MIB) && figure("devices") == 2;
}

static const struct case_row cases[] = {
    {"small work starts nothing", "", "", small_work_never_starts},
    {"start-bytes of work start the device", "GPUAES_START_BYTES=3M", "", bytes_add_up_to_a_start},
    {"so does a long CTR stream of small updates", "GPUAES_START_BYTES=1M", "", a_stream_starts},
    {"a slow stream starts nothing", "GPUAES_START_BYTES=1M", "", slow_streams_never_start},
    {"small ECB and CBC updates never do", "GPUAES_START_BYTES=1", "", small_blocks_never_start},
    {"nor do small CTR updates without read-ahead",
     "GPUAES_START_BYTES=1 GPUAES_READ_AHEAD_BYTES=0", "", streams_never_start},
    {"nor with start=never", "GPUAES_START=never GPUAES_START_BYTES=0", "", streams_never_start},
    {"a stream of small updates goes on after a release",
     "GPUAES_START_BYTES=32K GPUAES_IDLE_SECONDS=1", "", a_stream_goes_on_after_a_release},
    {"start=never never does", "GPUAES_START=never GPUAES_START_BYTES=0", "", never_means_never},
    {"start=eager does with the first context", "GPUAES_START=eager", "",
     eager_starts_with_a_context},
    {"so does CUDA that comes later than the module", "GPUAES_START_BYTES=1G", "",
     cuda_that_comes_later_starts_it},
    {"a slow start delays nobody", "GPUAES_START_BYTES=0", "init-ms=6000", the_start_delays_nobody},
    {"a huge update is right across the start", "GPUAES_START_BYTES=0", "init-ms=5",
     a_huge_update_is_right_across_the_start},
    {"an idle device is released, and comes back", "GPUAES_MIN_BYTES=0 GPUAES_IDLE_SECONDS=5", "",
     idle_device_is_released_and_comes_back},
    {"a child of a process whose device was released starts nothing",
     "GPUAES_MIN_BYTES=0 GPUAES_IDLE_SECONDS=1", "", child_of_a_released_one_starts_nothing},
    {"a device that hangs is waited for once", "GPUAES_MIN_BYTES=0 GPUAES_TIMEOUT_MS=10000",
     "hang=1", one_timeout_for_all},
    {"policy=gpu fails clearly without a device", "GPUAES_POLICY=gpu", "devices=0",
     policy_gpu_fails_without_a_device},
    {"so it does without a driver", "GPUAES_POLICY=gpu", "nodriver=1",
     policy_gpu_fails_without_a_device},
    {"with a driver that does not start", "GPUAES_POLICY=gpu", "fault=cuInit:1",
     policy_gpu_fails_without_a_device},
    {"and with a device in prohibited mode", "GPUAES_POLICY=gpu", "compute-mode=2",
     policy_gpu_fails_without_a_device},
    {"policy=gpu uses the device", "GPUAES_POLICY=gpu", "", policy_gpu_uses_it},
    {"policy=cpu does not", "GPUAES_POLICY=cpu GPUAES_START_BYTES=0", "", policy_cpu_does_not},
    {"a family of kernels that there is not is no failure", "GPUAES_MIN_BYTES=0 GPUAES_KERNEL=huge",
     "", a_failed_start_is_no_failure},
    {"device-memory=1 starts the device and waits", "", "init-ms=100",
     device_memory_starts_at_once},
    {"device-memory=1 without a device is refused", "", "devices=0", device_memory_is_refused},
    {"start=never forbids it", "GPUAES_START=never", "", device_memory_is_refused},
    {"policy=cpu forbids it", "GPUAES_POLICY=cpu", "", device_memory_is_refused},
    {"one device is in use", "GPUAES_MIN_BYTES=0", "devices=3", one_device_is_in_use},
    {"devices=0,2 uses two of three", "GPUAES_MIN_BYTES=0 GPUAES_DEVICES=0,2 GPUAES_THREADS=4",
     "devices=3", two_devices_are_in_use},
    {"devices=all uses all that there are", "GPUAES_MIN_BYTES=0 GPUAES_DEVICES=all", "devices=2",
     two_devices_are_in_use},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    if (argc > 1)
        return case_named(argv[1], cases);
    cases_check(cases, CASES, 1);
    return tap_done();
}
