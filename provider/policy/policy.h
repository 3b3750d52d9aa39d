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

#include "base/key_size.h"
#include "cuda/gpuaes.h"
#include "provider/common/default_ciphers.h"
#include "provider/common/statistics.h"
#include "provider/policy/cost_model.h"

struct provider;

/* ---- Work -------------------------------------------------------------------------- */

/* The kinds of work that are chosen for separately; those of AES are its operations. */
enum policy_work {
    WORK_ECB_ENCRYPT = GPUAES_ECB_ENCRYPT,
    WORK_ECB_DECRYPT = GPUAES_ECB_DECRYPT,
    WORK_CBC_DECRYPT = GPUAES_CBC_DECRYPT,
    WORK_CTR = GPUAES_CTR,
    WORK_CBC_ENCRYPT = GPUAES_CBC_ENCRYPT, /* never the device's: it is serial */
    WORK_GCM_ENCRYPT = GPUAES_GCM_ENCRYPT,
    WORK_GCM_DECRYPT = GPUAES_GCM_DECRYPT,
    WORK_XTS_ENCRYPT = GPUAES_XTS_ENCRYPT,
    WORK_XTS_DECRYPT = GPUAES_XTS_DECRYPT,
    WORK_BASE64_ENCODE,
    WORK_BASE64_DECODE,
    POLICY_WORKS
};

/* So are these kinds of memory. */
enum work_memory { MEMORY_PINNED, MEMORY_OUT_OF_PLACE, MEMORY_IN_PLACE, WORK_MEMORIES };

/* One piece of work. The caller sets what is above the line. */
struct work {
    enum policy_work kind;
    unsigned key_bytes; /* 0 for Base64 */
    const void *in;
    void *out;
    size_t len, out_len; /* bytes of the input; bytes of the output, to locate it */

    /* ---- Set by policy_choose(), and by policy_locate() the first line: */
    int is_located; /* the kinds of memory are known; else policy_choose() asks */
    enum gpuaes_memory in_kind, out_kind;
    enum work_memory memory;
    enum cpu_reason why;     /* where it chose the CPU, and if the device then fails */
    struct model_cell *cell; /* NULL: not to be observed */
    double line_ns[MODEL_SIDES];
    int64_t begun;
    double weight;
};

/* What each kind of work is called, and how the CPU does it. The ciphers fill in those of AES. */
struct work_row {
    const char *name;
    int encrypts;
    const struct cpu_cipher *cpu[KEY_SIZES]; /* NULL for Base64 */
};
extern struct work_row work_rows[POLICY_WORKS];

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
