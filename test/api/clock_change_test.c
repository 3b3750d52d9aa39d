/*
 * A wait for a release that is under way: somebody who sets the clock of the system meanwhile
 * neither ends nor prolongs it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#include "test/support/library.h"

/* Seconds by which somebody has set the clock since a deadline by it was computed. */
static _Atomic long set_by;

int clock_gettime(clockid_t clock, struct timespec *t)
{
    long result = syscall(SYS_clock_gettime, clock, t);
    if (clock == CLOCK_REALTIME)
        t->tv_sec -= atomic_load(&set_by);
    return (int)result;
}

/* From here on mem_free() waits for a kernel of the application. */
static int begin_kernel(void)
{
    static unsigned char nothing[4096];
    void *parameters[] = {nothing, nothing, nothing, nothing};
    drv_module module;
    drv_function function;
    drv_stream stream;
    emulator_configure("frees-wait=1,kernel-us=500000,idle-kernels=1");
    return application.module_load_data(&module, emulator_kernels()) == DRV_SUCCESS &&
           application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) == DRV_SUCCESS &&
           application.module_get_function(&function, module, "base64_encode") == DRV_SUCCESS &&
           application.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL) ==
               DRV_SUCCESS;
}

/* So that there is memory to be freed. */
static int works(void)
{
    static unsigned char text[4096];
    struct gpuaes_key key;
    unsigned char iv[16] = {0};
    return gpuaes_key_expand(&key, text, 32) &&
           gpuaes_aes(GPUAES_CTR, &key, iv, text, text, sizeof text, GPUAES_WAIT, NULL) ==
               GPUAES_OK;
}

static int run(const void *unused)
{
    struct gpuaes_settings settings = {.idle_seconds = 1};
    (void)unused;
    become_an_application(0);
    if (!starts_with(&settings) || !works())
        return 10;
    while (gpuaes_state() == GPUAES_READY) {
        if (emulator_under_way() == 0 && !begin_kernel())
            return 11;
        usleep(1000);
    }
    atomic_store(&set_by, 24L * 3600);
    return gpuaes_start(NULL, NULL, 1) == GPUAES_READY ? 0 : 12;
}

int main(void)
{
    child_ok(run, NULL, "a wait for a release goes on when the clock is set");
    return tap_done();
}
