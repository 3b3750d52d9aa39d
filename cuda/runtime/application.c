/*
 * The application's own CUDA.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/runtime/application.h"

#include <errno.h>
#include <pthread.h>

#include "cuda/gpuaes.h"
#include "cuda/process/fork.h"
#include "cuda/runtime/runtime.h"

int application_enter(struct application *application)
{
    if (fork_is_child())
        return 0;
    application->error = errno; /* the dynamic linker looks for files */
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &application->cancel_state);
    application->driver = driver_of_application();
    if (application->driver == NULL) {
        (void)pthread_setcancelstate(application->cancel_state, NULL);
        errno = application->error;
        return 0;
    }
    application->capture_mode =
        driver_exchange_capture_mode(application->driver, DRV_CAPTURE_RELAXED);
    return 1;
}

void application_leave(struct application *application)
{
    (void)driver_exchange_capture_mode(application->driver, application->capture_mode);
    (void)pthread_setcancelstate(application->cancel_state, NULL);
    errno = application->error;
}

uint64_t gpuaes_application_devices(void)
{
    struct application application;
    uint64_t devices = 0;
    unsigned flags;
    int active = 0;
    if (!application_enter(&application))
        return 0;
    /* Fails where the application has not initialised CUDA, and behind the last device. */
    for (int i = 0; i < MAX_DEVICES; i++) {
        if (application.driver->primary_ctx_get_state(i, &flags, &active) != DRV_SUCCESS)
            break;
        devices |= (uint64_t)(active != 0) << i;
    }
    application_leave(&application);
    return devices;
}
