/*
 * The root directory and the mount namespace that the process had when the library was loaded.
 *
 * The driver is opened late, and is code: if they have changed by then, its name may lead to a
 * file of another user, whose code must not run with this process's rights.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_DRIVER_ROOT_H
#define GPUAES_CUDA_DRIVER_ROOT_H

/*
 * Gives the calling thread a root directory of its own, so that a chroot() of another thread
 * changes nothing between root_changed() and what the thread, or one that it creates, opens
 * then. The thread's working directory becomes that root. Does nothing where a filter of system
 * calls refuses it, as Docker's does.
 */
void root_keep(void);

/* NULL if the calling thread has the root and the mount namespace of then, else a sentence. */
const char *root_changed(void);

#endif
