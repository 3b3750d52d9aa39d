/*
 * Room for the driver on the caller's stack. It needs more than the 32 KiB of an ASYNC job, of a
 * thread with a small stack, or of a coroutine of the application.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_STACK_H
#define GPUAES_PROVIDER_COMMON_STACK_H

/*
 * Returns 1 if the caller runs on its thread's own stack and 64 KiB of that are left, 0 otherwise.
 * The size of another stack, such as an ASYNC job's, is not known: 0. Costs a system call or, in
 * the main thread, a look into /proc the first time in each thread, then nothing. Where the
 * bounds cannot be found it returns 1.
 */
int stack_has_room_for_driver(void);

/*
 * Calls function(arg) on a stack that has that room, a new thread's, and waits for it. Returns 1,
 * or 0 without having called anything if no thread can be created. Takes some 50 us more than
 * the call itself. Signals of the caller's thread stay pending meanwhile: a handler that forked
 * would leave its child waiting for a thread that the child does not have.
 */
int stack_call_elsewhere(void *(*function)(void *), void *arg);

#endif
