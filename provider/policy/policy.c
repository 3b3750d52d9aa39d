/*
 * The choice of CPU or GPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/policy/policy.h"

#include <openssl/async.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/key_size.h"
#include "base/minmax.h"
#include "provider/common/big_stack.h"
#include "provider/common/default_ciphers.h"
#include "provider/common/errors.h"
#include "provider/common/provider.h"
#include "provider/policy/calibration.h"

/* With policy=gpu and no min-bytes: less than this is not worth being strict. */
enum { STRICT_FLOOR = 16 << 10 };

/* The CPU's work is observed once in so many bytes of a thread: a clock takes time, too. */
enum { OBSERVED_BYTES = 1 << 20 };

/* Classes of lengths, each twice the one before, from the floor to 64 MiB and more. */
enum { CLASSES = 11 };

static struct model_cell cells[POLICY_WORKS][KEY_SIZES][WORK_MEMORIES][CLASSES];

static int has_fixed_minimum(const struct settings *s)
{
    return s->min_bytes != MIN_BYTES_AUTO;
}

int policy_is_forced(const struct provider *provider)
{
    return provider->settings.policy == POLICY_GPU || has_fixed_minimum(&provider->settings);
}

unsigned policy_flags(const struct provider *provider)
{
    return policy_is_forced(provider) ? GPUAES_WAIT : 0;
}

/* By the samples; where the application runs CUDA, the memory of each work is looked at. */
static size_t find_floor(enum policy_work work, unsigned key_bytes)
{
    if (policy_saw_cuda())
        return MEASURE_FLOOR;
    return min_u64(measured_floor(work, key_bytes), POLICY_ASK_AGAIN);
}

size_t policy_floor(const struct provider *provider, enum policy_work work, unsigned key_bytes)
{
    const struct settings *s = &provider->settings;
    if (s->policy == POLICY_CPU)
        return SIZE_MAX;
    enum gpuaes_state state = gpuaes_state();
    int may_come = state == GPUAES_READY || state == GPUAES_STARTING ||
                   (state == GPUAES_OFF && s->start != START_NEVER);
    if (state == GPUAES_FAILED)
        policy_explain_absence(provider); /* the start fails in the background */
    /* Without a device, memory of the application's CUDA is refused: the CPU would crash on it. */
    if (!may_come && s->policy != POLICY_GPU && !policy_saw_cuda())
        return SIZE_MAX;
    if (has_fixed_minimum(s))
        return s->min_bytes;
    return s->policy == POLICY_GPU ? STRICT_FLOOR : find_floor(work, key_bytes);
}

/* ---- Memory -------------------------------------------------------------------------- */

/*
 * Asking the driver for the kind of memory costs half a microsecond where its data has left the
 * caches, so pages that were pageable last time count as pageable: memory is pinned by pages. They
 * do for KNOWN_BYTES of a thread's work, since pages may be pinned later, or be given back
 * and come again with pinned memory. Where the application runs CUDA they never do: the addresses
 * may be a device's since then, and the CPU would crash on them.
 */
enum { PAGE = 4096, KNOWN_BYTES = 16 << 20 };

static _Thread_local struct pages {
    uintptr_t begin, end;
} known_pageable_in, known_pageable_out;

/* Bytes of this thread's work for which known pages still count as pageable. */
static _Thread_local size_t known_for;

static struct pages pages_of(const void *p, size_t len)
{
    uintptr_t begin = (uintptr_t)p;
    return (struct pages){begin / PAGE * PAGE, (begin + len + PAGE - 1) / PAGE * PAGE};
}

static int are_known(const struct pages *known, const void *p, size_t len)
{
    return (uintptr_t)p >= known->begin && (uintptr_t)p + len <= known->end;
}

static int is_known_pageable(const struct work *work)
{
    if (work->len > known_for || !are_known(&known_pageable_in, work->in, work->len) ||
        !are_known(&known_pageable_out, work->out, work->out_len))
        return 0;
    known_for -= work->len;
    return 1;
}

static enum gpuaes_memory kind_of(const void *p, size_t bytes)
{
    return bytes == 0 ? GPUAES_PAGEABLE : gpuaes_memory_kind(p, bytes);
}

static enum gpuaes_status locate(void *arg)
{
    struct work *w = arg;
    w->in_kind = kind_of(w->in, w->len);
    w->out_kind =
        w->in == w->out && w->len == w->out_len ? w->in_kind : kind_of(w->out, w->out_len);
    return GPUAES_OK;
}

/* Sets work->memory. CHOICE_GPU, or CHOICE_GPU_ONLY for device memory. */
static enum policy_choice find_memory(struct work *work)
{
    work->memory = work->in == work->out ? MEMORY_IN_PLACE : MEMORY_OUT_OF_PLACE;
    if (!work->is_located && ((!policy_saw_cuda() && is_known_pageable(work)) ||
                              run_on_big_stack(locate, work, 0) != GPUAES_OK))
        return CHOICE_GPU;
    if (work->in_kind >= GPUAES_DEVICE || work->out_kind >= GPUAES_DEVICE) {
        policy_note_cuda();
        return CHOICE_GPU_ONLY;
    }
    if (work->in_kind == GPUAES_PINNED && work->out_kind == GPUAES_PINNED)
        work->memory = MEMORY_PINNED;
    if (work->in_kind == GPUAES_PAGEABLE && work->out_kind == GPUAES_PAGEABLE) {
        known_pageable_in = pages_of(work->in, work->len);
        known_pageable_out = pages_of(work->out, work->out_len);
        known_for = KNOWN_BYTES;
    }
    return CHOICE_GPU;
}

/*
 * Both ranges are looked at before anything happens. Kinds mean something only if the device was
 * there all the time: one that was released meanwhile, for want of work, is started again.
 */
int policy_locate(struct provider *provider, struct work *work)
{
    do {
        if (!policy_require(provider))
            return 0;
        if (run_on_big_stack(locate, work, 0) != GPUAES_OK) {
            error_raise(provider, ERROR_DEVICE_MEMORY,
                        "what memory it is cannot be found: no thread could be created");
            return 0;
        }
    } while (gpuaes_state() != GPUAES_READY);
    work->is_located = 1;
    int input = work->in_kind == GPUAES_FOREIGN;
    if (!input && work->out_kind != GPUAES_FOREIGN)
        return 1;
    error_raise(provider, ERROR_BAD_DEVICE_RANGE,
                "%s of %zu bytes, or it is not of a primary context", input ? "input" : "output",
                input ? work->len : work->out_len);
    return 0;
}

int policy_rules_out_device_memory(struct work *work)
{
    return gpuaes_state() == GPUAES_READY && find_memory(work) != CHOICE_GPU_ONLY;
}

/* ---- The model ------------------------------------------------------------------------ */

static struct model_cell *cell_of(const struct work *work)
{
    int class = 0;
    for (size_t limit = (size_t)MEASURE_FLOOR * 2; class < CLASSES - 1 && work->len >= limit;
         limit *= 2)
        class ++;
    return &cells[work->kind][key_size_index(work->key_bytes)][work->memory][class];
}

/* Bytes of this thread since one of its works was observed last. */
static _Thread_local size_t unobserved;

/* What the device does is observed always: it may be held up for long. */
static void begin_observation(struct work *work, struct model_cell *cell,
                              const struct model_choice *choice)
{
    unobserved += work->len;
    if (choice->side == MODEL_CPU && !choice->is_try && unobserved < OBSERVED_BYTES)
        return;
    work->cell = cell;
    work->weight = (double)unobserved / (double)work->len;
    unobserved = 0;
    work->begun = clock_ns(CLOCK_MONOTONIC);
}

void policy_done(const struct work *work, enum model_side side)
{
    if (work->cell != NULL)
        model_observe(work->cell, side, work->line_ns, clock_ns_since(work->begun), work->weight);
}

static void explain(const struct provider *provider, const struct work *work,
                    const struct model_choice *choice)
{
    static const char *const memories[WORK_MEMORIES] = {[MEMORY_PINNED] = "pinned",
                                                        [MEMORY_OUT_OF_PLACE] = "pageable",
                                                        [MEMORY_IN_PLACE] = "pageable in-place"};
    if (provider->settings.log == LOG_DEBUG)
        (void)fprintf(
            stderr, "gpuaes: debug %s of %zu %s bytes: GPU %.0f us, CPU %.0f us (%s): %s%s\n",
            work_rows[work->kind].name, work->len, memories[work->memory],
            choice->ns[MODEL_GPU] / 1e3, choice->ns[MODEL_CPU] / 1e3,
            choice->seen ? "observed" : "expected", choice->side == MODEL_GPU ? "GPU" : "CPU",
            choice->is_try ? ", to see what it takes" : "");
}

static enum policy_choice choose_by_model(struct provider *provider, struct work *work)
{
    work->line_ns[MODEL_CPU] = measured_cpu_ns(provider, work);
    work->line_ns[MODEL_GPU] = measured_gpu_ns(work);
    struct model_cell *cell = cell_of(work);
    struct model_choice choice = model_choose(cell, work->line_ns);
    explain(provider, work, &choice);
    begin_observation(work, cell, &choice);
    return choice.side == MODEL_GPU ? CHOICE_GPU : CHOICE_CPU;
}

/* ---- Choice --------------------------------------------------------------------------- */

void policy_explain_failure(const struct provider *provider, enum gpuaes_status status)
{
    const char *reason = gpuaes_reason();
    if (provider->settings.log == LOG_DEBUG)
        (void)fprintf(stderr, "gpuaes: debug %s%s%s\n", gpuaes_status_text(status),
                      reason[0] != '\0' ? ": " : "", reason);
}

static enum policy_choice choose_ready(struct provider *provider, struct work *work)
{
    enum policy_choice choice = find_memory(work);
    work->why = CPU_FAILED;
    if (choice != CHOICE_GPU || policy_is_forced(provider))
        return choice;
    work->why = CPU_UNSUITED;
    if (ASYNC_get_current_job() != NULL) /* its thread has other jobs, which would wait, too */
        return CHOICE_CPU;
    choice = choose_by_model(provider, work);
    work->why = choice == CHOICE_CPU ? CPU_FASTER : CPU_FAILED;
    return choice;
}

/* CHOICE_CPU or CHOICE_FAIL. */
static enum policy_choice choose_without_device(const struct provider *provider)
{
    if (provider->settings.policy != POLICY_GPU)
        return CHOICE_CPU;
    error_raise(provider, ERROR_NO_DEVICE, "policy=gpu, but %s", policy_absence(provider));
    return CHOICE_FAIL;
}

/* While no device is ready: the CPU would crash on it, so that it has to wait. */
static int is_in_device_memory(struct work *work)
{
    return policy_saw_cuda() && find_memory(work) == CHOICE_GPU_ONLY;
}

enum policy_choice policy_choose(struct provider *provider, struct work *work)
{
    size_t floor = policy_floor(provider, work->kind, work->key_bytes);
    work->cell = NULL;
    work->why = floor == SIZE_MAX ? CPU_NO_DEVICE : CPU_SMALL;
    if (work->len >= MEASURE_FLOOR)
        policy_count(work->len);
    if (work->len < floor)
        return CHOICE_CPU;
    if (policy_start_for(provider, work->len) == GPUAES_READY)
        return choose_ready(provider, work);
    work->why = CPU_NO_DEVICE;
    if (is_in_device_memory(work))
        return policy_require(provider) ? choose_ready(provider, work) : CHOICE_FAIL;
    return choose_without_device(provider);
}
