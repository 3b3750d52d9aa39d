/*
 * The application's own CUDA, where no device of ours is ready: the driver that it has loaded
 * can be asked without a context of ours.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_RUNTIME_APPLICATION_H
#define GPUAES_CUDA_RUNTIME_APPLICATION_H

#include "cuda/driver/driver.h"

/*
 * Call before asking that driver. As after runtime_enter(), the thread cannot be cancelled, and a
 * capture of a CUDA graph forbids it nothing until application_leave(). Returns 0, with nothing
 * changed, where the process has no driver yet, and in a forked child.
 */
struct application {
    const struct driver *driver;
    int cancel_state;
    int capture_mode;
    int error; /* errno */
};
int application_enter(struct application *application);
void application_leave(struct application *application);

#endif
