/*
 * The choice of CPU or GPU: when the device is started (start.c), and which
 * work it gets (policy.c).
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_POLICY_POLICY_H
#define GPUAES_PROVIDER_POLICY_POLICY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/gpuaes.h"
#include "provider/policy/work.h"

struct provider;

/* ---- Choice ---------------------------------------------------------------------- */

enum policy_choice {
    CHOICE_CPU,
    CHOICE_GPU,
    CHOICE_GPU_ONLY, /* device memory: the CPU cannot read it */
    CHOICE_FAIL      /* no device, and policy=gpu or device memory; the error is raised */
};

/*
 * Chooses for one piece of work, whose memory is never dereferenced here. Starts the device where
 * the settings ask for it, and waits for the start only where they say so, and for device memory of
 * an application whose CUDA was seen.
 */
enum policy_choice policy_choose(struct provider *provider, struct work *work);

/* To be called when work has been done, all of it by one side. */
void policy_done(const struct work *work, enum model_side side);

/*
 * Where the last work of a context was left to the CPU by choice, it is enough
 * to ask again after so many bytes: then the question costs next to nothing.
 */
enum { POLICY_ASK_AGAIN = 256 << 10 };

/*
 * Work of fewer bytes need not be offered to policy_choose(): the smallest length that may
 * ever be worth it. POLICY_ASK_AGAIN at most where measurements decide; SIZE_MAX where no work
 * ever will be, in this process and with these settings.
 */
size_t policy_floor(const struct provider *provider, enum policy_work work, unsigned key_bytes);

/* The settings decide for the device, not the measurement: policy=gpu, or a fixed min-bytes. */
int policy_is_forced(const struct provider *provider);

/* 1 if no part of `work` is device memory. 0 also while no device is ready: ask policy_choose(). */
int policy_rules_out_device_memory(struct work *work);

/* GPUAES_WAIT where the settings insist on the device, else 0. */
unsigned policy_flags(const struct provider *provider);

/* Why none is ready, once a start has been waited for, in words that follow "but". */
const char *policy_absence(const struct provider *provider);

/* With log=debug, says why there is no device, once in a process. */
void policy_explain_absence(const struct provider *provider);

/* With log=debug, says why the device did not do what it was chosen for. */
void policy_explain_failure(const struct provider *provider, enum gpuaes_status status);

/* ---- Start ------------------------------------------------------------------------- */

/* Call for every new context, for start=eager. */
void policy_context_created(struct provider *provider);

/* Counts work towards `start-bytes`, for the whole process, while no device is started. */
void policy_count(uint64_t bytes);

/* Starts the device in the background. */
void policy_start(const struct provider *provider);

/* Has the start's thread call a function once the device is ready, this time and later ones. */
void policy_when_ready(void (*function)(void));

/*
 * The state after starting the device for work of `len` bytes, if the settings
 * ask for it; waits only where they say so.
 */
enum gpuaes_state policy_start_for(const struct provider *provider, size_t len);

/* CUDA of the application was seen: kinds of memory can be asked without a start. */
void policy_note_cuda(void);

/* For good, since its memory may be a device's from then on. Inline: each small message asks. */
extern atomic_int policy_cuda_seen;
static inline int policy_saw_cuda(void)
{
    return atomic_load_explicit(&policy_cuda_seen, memory_order_relaxed);
}

/*
 * For work that cannot do without a device (device memory): starts one if need be, and
 * waits for it. Returns 0, with the error raised, if there is none.
 */
int policy_require(struct provider *provider);

/*
 * Finds what memory `work->in` and `work->out` are, of work that may be in device memory, with a
 * device in use. Returns 0, with the error raised, where a range cannot be used.
 */
int policy_locate(struct provider *provider, struct work *work);

#endif
