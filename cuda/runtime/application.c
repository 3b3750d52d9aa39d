/*
 * The application's own CUDA, where no device of ours is ready: the driver that it has loaded can
 * be asked without a context of ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <pthread.h>

#include "cuda/gpuaes.h"
#include "cuda/process/fork.h"
#include "cuda/runtime/runtime.h"

const struct driver *application_enter(struct runtime_guard *guard)
{
    if (fork_is_child())
        return NULL;
    guard->error = errno; /* the dynamic linker looks for files */
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &guard->cancel_state);
    const struct driver *driver = driver_of_application();
    if (driver != NULL) {
        guard->capture_mode = driver_exchange_capture_mode(driver, DRV_CAPTURE_RELAXED);
        return driver;
    }
    (void)pthread_setcancelstate(guard->cancel_state, NULL);
    errno = guard->error;
    return NULL;
}

void application_leave(struct runtime_guard *guard, const struct driver *driver)
{
    (void)driver_exchange_capture_mode(driver, guard->capture_mode);
    (void)pthread_setcancelstate(guard->cancel_state, NULL);
    errno = guard->error;
}

uint64_t gpuaes_application_devices(void)
{
    struct runtime_guard guard;
    uint64_t devices = 0;
    unsigned flags;
    int active = 0;
    const struct driver *driver = application_enter(&guard);
    if (driver == NULL)
        return 0;
    /* Fails where the application has not initialised CUDA, and behind the last device. */
    for (int i = 0; i < MAX_DEVICES; i++) {
        if (driver->primary_ctx_get_state(i, &flags, &active) != DRV_SUCCESS)
            break;
        devices |= (uint64_t)(active != 0) << i;
    }
    application_leave(&guard, driver);
    return devices;
}
