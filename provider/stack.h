/*
 * Whether the driver may be called on the caller's stack. It needs more than the 32 KiB of
 * an ASYNC job, of a thread with a small stack, or of a coroutine of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_STACK_H
#define GPUAES_STACK_H

/*
 * Returns 1 if the caller runs on its thread's own stack and STACK_FOR_DRIVER bytes of that are
 * left, 0 otherwise. The size of another stack, such as a coroutine's, is not known: 0. Costs a
 * system call or, in the main thread, a look into /proc the first time in each thread, then
 * nothing. Where the bounds cannot be found it returns 1.
 */
int stack_has_room_for_driver(void);

#endif
