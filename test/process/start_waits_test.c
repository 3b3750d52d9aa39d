/*
 * A start together with the application's own CUDA delays nobody: host memory is the CPU's at once,
 * at the first start and after an idle release. Only device memory waits, which the CPU could
 * not read: on a card it would crash, and on the emulator the figures show who did it. Each
 * case is a run of this program of its own; most need the emulator's options.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "provider/common/errors.h"
#include "test/support/cases.h"
#include "test/support/device_state.h"
#include "test/support/providers.h"

enum { KIB = 1 << 10, MIB = 1 << 20, THREADS = 8 };

/* One update from a fresh context without parameters: 1 if it is right, 0 if it fails. */
static int update(const char *name, int encrypt, enum place from, enum place to, int bytes)
{
    struct pair p = pair_open(name, encrypt, from, to, 0, (size_t)bytes);
    int right = pair_update(&p, bytes);
    pair_close(&p);
    return right;
}

static int host_update(void)
{
    return update("AES-256-CTR", 1, PAGEABLE, PAGEABLE, MIB);
}

/* By the device alone. */
static int device_update(const char *name, int encrypt, enum place from, enum place to, int bytes)
{
    struct figures before = figures_get(&test_providers), after;
    int right = update(name, encrypt, from, to, bytes);
    after = figures_get(&test_providers);
    return right && after.gpu_bytes - before.gpu_bytes == (uint64_t)bytes &&
           after.cpu_bytes == before.cpu_bytes;
}

/* ---- Cases: 1 if all is as it should be ------------------------------------------------- */

/* The device takes seconds, so that an update that waits for it finds it ready. */
static int host_memory_does_not_wait(void)
{
    int right = application_begin(0) && host_update() && device_state() == GPUAES_STARTING;
    for (int i = 0; i < 20; i++)
        right &= host_update();
    right &= update("AES-128-ECB", 0, PINNED, PINNED, 2 * MIB);
    right &= device_state() == GPUAES_STARTING && figure("gpu-bytes") == 0;
    return right && device_becomes(GPUAES_READY) && host_update();
}

static int nor_after_a_release(void)
{
    int right = host_update() && device_becomes(GPUAES_READY) && device_becomes(GPUAES_OFF);
    emulate("init-ms=15000");
    right = right && host_update() && device_state() == GPUAES_STARTING;
    return right && device_becomes(GPUAES_READY) && host_update();
}

static int device_memory_waits(void)
{
    int right = application_begin(0) && device_update("AES-256-CTR", 1, DEVICE, DEVICE, MIB) &&
                device_state() == GPUAES_READY;
    return right && figure("faults") == 0;
}

/* Of either side, and of less than starts it. */
static int so_it_does_during_a_start(void)
{
    static const struct {
        const char *name;
        int encrypt, bytes;
        enum place from, to;
    } updates[] = {{"AES-128-CBC", 0, 64 * KIB, DEVICE, PAGEABLE},
                   {"AES-192-ECB", 1, 64 * KIB, PAGEABLE, DEVICE},
                   {"AES-256-CTR", 1, 300 * KIB, MANAGED, MANAGED},
                   {"AES-128-ECB", 0, 40 * MIB, DEVICE, PINNED}};
    int right = application_begin(0);
    for (size_t i = 0; i < sizeof updates / sizeof updates[0]; i++) {
        right = right && host_update() && device_state() == GPUAES_STARTING &&
                device_update(updates[i].name, updates[i].encrypt, updates[i].from, updates[i].to,
                              updates[i].bytes) &&
                device_becomes(GPUAES_OFF);
        /* After a release it is found as well, and starts the device by itself. */
        right = right &&
                device_update(updates[i].name, updates[i].encrypt, updates[i].from, updates[i].to,
                              updates[i].bytes) &&
                device_becomes(GPUAES_OFF);
    }
    return right;
}

static void *update_by_thread(void *number)
{
    enum place place = (uintptr_t)number % 2 ? DEVICE : PAGEABLE;
    int right = application_begin(0) && update("AES-256-CTR", 1, place, place, MIB);
    return right ? number : NULL;
}

/* All at once, each with the first update of the process. */
static int threads_find_it(void)
{
    pthread_t threads[THREADS];
    void *result;
    int right = application_begin(0);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, update_by_thread, (void *)(i + 1));
    for (uintptr_t i = 0; i < THREADS; i++)
        right &= pthread_join(threads[i], &result) == 0 && result != NULL;
    return right && figure("gpu-bytes") >= THREADS / 2 * MIB;
}

/* The application is told where no device can be started for it. */
static int without_a_device_it_fails(void)
{
    int right = application_begin(0) && !update("AES-256-CTR", 1, DEVICE, DEVICE, MIB);
    right &= ERR_GET_REASON(ERR_peek_error()) == ERROR_NO_DEVICE;
    ERR_clear_error();
    return right && host_update();
}

/* A context on device 0 would cost the application, which uses device 1, its memory. */
static int other_devices_are_left_alone(void)
{
    int right = 1;
    for (int i = 0; i < 20; i++)
        right &= host_update() && device_state() == GPUAES_OFF;
    return right && application_count("emulator_contexts") == 1;
}

static int unless_their_memory_is_used(void)
{
    return application_begin(1) && device_update("AES-256-CTR", 1, DEVICE, DEVICE, MIB) &&
           device_state() == GPUAES_READY;
}

static int the_device_that_is_set_is_started(void)
{
    return host_update() && device_becomes(GPUAES_READY) &&
           application_count("emulator_contexts") == 1;
}

/*
 * Launches take long on a busy machine, and must not be taken for hung ones: a case would free the
 * memory that they use.
 */
#define LONG "GPUAES_TIMEOUT_MS=200000"

static const struct case_row cases[] = {
    {"device memory waits", LONG, "init-ms=300", device_memory_waits},
    {"so it does during a start, and after a release", LONG " GPUAES_IDLE_SECONDS=1",
     "init-ms=3000", so_it_does_during_a_start},
    {"threads that come at the same time find it", LONG, "init-ms=100", threads_find_it},
    {"host memory does not wait", LONG, "init-ms=20000", host_memory_does_not_wait},
    {"nor for samples on a slow device", "", "in-use=1,kernel-us=1000000",
     host_memory_does_not_wait},
    {"nor after an idle release", LONG " GPUAES_IDLE_SECONDS=1", "in-use=1", nor_after_a_release},
    {"without a device device memory is refused", "", "in-use=1,fault=module_load_data:1",
     without_a_device_it_fails},
    {"devices that are not set are not started", "", "devices=2,in-use=2",
     other_devices_are_left_alone},
    {"unless the memory of others is used", LONG, "devices=2,in-use=2",
     unless_their_memory_is_used},
    {"those that are set are", "GPUAES_DEVICES=1", "devices=2,in-use=2",
     the_device_that_is_set_is_started},
};
/* The first run on a card as well. */
enum { CASES = sizeof cases / sizeof cases[0], ANYWHERE = 3 };

int main(int argc, char **argv)
{
    if (argc > 1)
        return case_named(argv[1], cases);
    if (stand_in())
        return tap_skip_all("the default provider starts nothing");
    int emulated = application_hook("emulator_contexts") != NULL;
    cases_check(cases, emulated ? CASES : ANYWHERE, CASES);
    return tap_done();
}
