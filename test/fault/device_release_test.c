/*
 * Device memory, and a device that is released for want of work, or lost, in the middle of an
 * update or between two: the device is started again, or the update is refused. On a card the CPU
 * would crash on that memory; on the emulator the figures show that it stayed away.
 *
 * Before each call of the library the provider asks libcrypto for the current job. This program
 * answers in its place, and can so let the device be released just there: an update that has
 * been given to the device would else have to stand still for a second. Each case is a run of this
 * program of its own. For the emulator only.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/async.h>

#include "provider/common/errors.h"
#include "test/support/cases.h"
#include "test/support/device_state.h"

enum { KIB = 1 << 10, BYTES = 256 * KIB, SMALL = 8 * KIB };

/* ---- Releases between calls ------------------------------------------------------------ */

static _Thread_local unsigned calls_until_release; /* 0: none comes */
static int was_released;

/* In the place of libcrypto's: there is no job. */
ASYNC_JOB *ASYNC_get_current_job(void)
{
    if (calls_until_release != 0 && --calls_until_release == 0)
        was_released = device_state() == GPUAES_READY && device_becomes(GPUAES_OFF);
    return NULL;
}

/* ---- Updates --------------------------------------------------------------------------- */

/* Of ours alone: it is refused for want of a device. */
static int is_refused(struct pair *p)
{
    int n, refused = !EVP_CipherUpdate(p->context[0], p->out, &n, p->in, BYTES) &&
                     ERR_GET_REASON(ERR_peek_error()) == ERROR_NO_DEVICE;
    ERR_clear_error();
    return refused;
}

/* ---- Cases: 1 if all is as it should be ------------------------------------------------- */

/* 1 once the device is there, and the provider has seen what memory the application has. */
static int is_seen(void)
{
    uint64_t before = figure("gpu-bytes");
    for (int i = 0; i < 10 && figure("gpu-bytes") == before; i++) {
        struct pair asks = pair_open("AES-128-ECB", 1, DEVICE, DEVICE, 1, BYTES);
        struct pair p = pair_open("AES-128-ECB", 1, DEVICE, DEVICE, 0, BYTES);
        before = figure("gpu-bytes");
        int right = pair_update(&p, BYTES);
        pair_close(&asks);
        pair_close(&p);
        if (!right)
            return 0;
    }
    return figure("gpu-bytes") != before;
}

/*
 * Two updates, with the release before each call of the library in turn that they make. The first
 * leaves a part of a block, so that the second has a head, a middle and a tail.
 */
static int releases_come_anywhere(const char *name, int encrypt, enum place from, enum place to,
                                  int asks)
{
    unsigned releases = 0, call = 1;
    int right = application_begin(0) && is_seen(), reached = 1;
    int is_gcm = strstr(name, "GCM") != NULL; /* which encrypts: its tag is compared */
    for (; right && reached; call++) {
        struct pair p = pair_open(name, encrypt, from, to, asks, BYTES);
        struct figures before = figures_get(&test_providers);
        was_released = 0;
        calls_until_release = call;
        right = pair_update(&p, BYTES - 7) && pair_update(&p, BYTES - 64);
        reached = calls_until_release == 0;
        calls_until_release = 0;
        right = right && (!is_gcm || pair_tags_agree(&p));
        struct figures after = figures_get(&test_providers);
        right = right && after.gpu_bytes - before.gpu_bytes >= 2 * BYTES - 128;
        releases += (unsigned)was_released;
        if (!right)
            fprintf(stderr, "# %s, a release before call %u of the library\n", name, call);
        pair_close(&p);
    }
    if (releases < 3)
        fprintf(stderr, "# %u releases came before %u calls\n", releases, call);
    return right && releases >= 3;
}

static int ctr_goes_on(void)
{
    return releases_come_anywhere("AES-256-CTR", 1, DEVICE, DEVICE, 0);
}

static int cbc_goes_on(void)
{
    return releases_come_anywhere("AES-128-CBC", 0, DEVICE, PAGEABLE, 0);
}

static int gcm_goes_on(void)
{
    return releases_come_anywhere("AES-256-GCM", 1, DEVICE, DEVICE, 0);
}

static int gcm_goes_on_by_its_parameter(void)
{
    return releases_come_anywhere("AES-128-GCM", 1, MANAGED, PAGEABLE, 1);
}

static int ecb_goes_on_by_its_parameter(void)
{
    return releases_come_anywhere("AES-192-ECB", 1, PAGEABLE, MANAGED, 1);
}

/* The release ends the keystream: what comes then is looked at as in any other context. */
static int a_stream_that_was_read_ahead_of_goes_on(void)
{
    if (!application_begin(0))
        return 0;
    struct pair p = pair_open("AES-256-CTR", 1, DEVICE, DEVICE, 0, BYTES);
    unsigned char *host = malloc(SMALL);
    int n, right = device_becomes(GPUAES_READY);
    uint64_t launches = figure("launches");
    memset(host, 0x5a, SMALL);
    for (int i = 0; right && figure("launches") == launches && i < 1000; i++)
        right = EVP_CipherUpdate(p.context[0], host, &n, host, SMALL) &&
                EVP_CipherUpdate(p.context[1], p.expected, &n, p.plain, SMALL);
    right = right && figure("launches") != launches && device_becomes(GPUAES_OFF);
    struct figures before = figures_get(&test_providers), after;
    right = right && pair_update(&p, BYTES);
    after = figures_get(&test_providers);
    right =
        right && after.gpu_bytes - before.gpu_bytes == BYTES && after.cpu_bytes == before.cpu_bytes;
    free(host);
    pair_close(&p);
    return right;
}

/* At the question what memory it is; from then on there is no device. */
static int a_device_that_is_lost_is_missed(void)
{
    int right = application_begin(0) && is_seen();
    struct pair p = pair_open("AES-256-CTR", 1, DEVICE, DEVICE, 0, BYTES);
    emulate("fault=pointer_get_attributes:1");
    right = right && is_refused(&p) && device_state() == GPUAES_FAILED && is_refused(&p);
    pair_close(&p);
    p = pair_open("AES-256-CTR", 1, DEVICE, DEVICE, 0, BYTES);
    right = right && is_refused(&p);
    pair_close(&p);
    p = pair_open("AES-256-CTR", 1, PAGEABLE, PAGEABLE, 0, BYTES);
    right = right && pair_update(&p, BYTES);
    pair_close(&p);
    return right;
}

static const struct case_row cases[] = {
    {"CTR goes on", "GPUAES_IDLE_SECONDS=1", "", ctr_goes_on},
    {"CBC goes on, with what is held back", "GPUAES_IDLE_SECONDS=1", "", cbc_goes_on},
    {"ECB goes on by its parameter", "GPUAES_IDLE_SECONDS=1", "", ecb_goes_on_by_its_parameter},
    {"GCM goes on", "GPUAES_IDLE_SECONDS=1", "", gcm_goes_on},
    {"GCM goes on by its parameter", "GPUAES_IDLE_SECONDS=1", "", gcm_goes_on_by_its_parameter},
    {"a stream that was read ahead of goes on",
     "GPUAES_IDLE_SECONDS=1 GPUAES_POLICY=gpu GPUAES_START=eager", "",
     a_stream_that_was_read_ahead_of_goes_on},
    {"without a device it is refused", "GPUAES_IDLE_SECONDS=0", "",
     a_device_that_is_lost_is_missed},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    if (argc > 1)
        return case_named(argv[1], cases);
    if (stand_in() || application_hook("emulator_contexts") == NULL)
        return tap_skip_all("for the emulator only");
    cases_check(cases, CASES, CASES);
    return tap_done();
}
