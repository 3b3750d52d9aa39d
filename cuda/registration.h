/*
 * Ranges of the caller's memory that a call registers for its own duration, so
 * that the device moves them itself.
 *
 * Another call on the same memory must not take it for pinned, since it may be
 * unregistered at any moment; and a fork must not happen while pages are
 * registered, as the kernel would then give parent and child copies of them
 * beneath the device. This file guards against both.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_REGISTRATION_H
#define GPUAES_REGISTRATION_H

#include <stddef.h>

#include "device.h"

/*
 * Registers whole pages, with the device entered. 0, with nothing changed, where
 * they cannot be (no fault is counted), where another call has one of them
 * registered, or while a fork is under way.
 */
int registration_begin(const struct device *device, void *p, size_t bytes);

/* Unregisters what one registration_begin() registered. */
void registration_end(const struct device *device, void *p);

/* Gives one up without unregistering it: the device may still use it. */
void registration_leak(void);

/* Changes whenever a range is unregistered. */
unsigned registration_count(void);

/* 1 if one of the bytes is registered here. */
int registration_touches(const void *p, size_t bytes);

/* Around a fork, in the process that forks. */
void registration_before_fork(void);
void registration_after_fork(void);

#endif
