/*
 * Gathering: updates of several ASYNC jobs, or of several threads, that share a launch.
 *
 * An update that is gathered waits until a thread of ours has collected others, and the device
 * has done all of them. A job pauses during that, as job.h says; where `batch-wait-us` is set,
 * other threads wait for as long for each other's updates. What the device does not do is done
 * by the caller itself.
 *
 * It is done where it is expected to be faster than the CPU by itself, as gather_choice.h has it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_GATHER_H
#define GPUAES_GATHER_H

#include "aes_cpu.h"

/*
 * Shorter updates cost less than a pause; longer ones take a serial thread of a device more than
 * ten milliseconds, and others are large enough to go by themselves.
 */
enum { GATHER_SHORTEST = 4 << 10, GATHER_LONGEST = 256 << 10 };

/*
 * Whether updates of a context may be gathered: not, where the caller is in an ASYNC job then
 * and a group is just being collected, or at any time. It stays so until the next
 * initialisation, or for some time. In jobs that is for CBC encryption, unless the settings
 * insist: all else is bounded by the bus, and gains nothing by company.
 */
enum { GATHERS_NOT, GATHERS_BESIDE_OTHERS, GATHERS };
int gather_is_possible(const struct aes_context *context);

/* Whether it is time to call gather_update() for an update of such a context. */
int gather_is_asked(struct aes_context *context, size_t bytes);

/* The shortest update that may be. */
size_t gather_floor(const struct provider *provider);

/*
 * An update of such a context. DECLINED: nothing was done, it goes by itself, as all do in a
 * forked child.
 */
int gather_update(struct aes_context *context, const struct call *call);

#endif
