/*
 * The choice between one launch for many messages, and one by one.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "engine_messages.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_measure.h"
#include "offload.h"
#include "provider.h"

/*
 * A thread of a device does one serial message, at a fiftieth of a core's rate or less: so many
 * are needed before it is worth asking, let alone starting a device.
 */
enum { SERIAL_FEWEST = 48 };

/*
 * Bringing the CPU's context to the middle and to the end of a message: about that on an
 * H200's host. In ECB and CBC, a copy of it is asked what it holds back.
 */
static const double context_ns = 200, copied_context_ns = 500;

/* What the lines say costs more than this is not tried, unless it was seen to be better. */
static const double hopeless = 2;

/* Classes of bytes in all, each twice the one before, from the floor to 64 MiB and more. */
enum { CLASSES = 11, SERIAL_OR_NOT = 2, PINNED_OR_NOT = 2 };

static struct model_cell cells[SERIAL_OR_NOT][WORK_MEMORIES][CLASSES];

/* fixed 0: not known */
static struct {
    _Atomic double fixed, byte, message, serial_byte;
} launches[PINNED_OR_NOT];

void engine_messages_set(int pinned, const struct engine_launch *launch)
{
    atomic_store(&launches[pinned].byte, launch->byte);
    atomic_store(&launches[pinned].message, launch->message);
    atomic_store(&launches[pinned].serial_byte, launch->serial_byte);
    atomic_store(&launches[pinned].fixed, launch->fixed);
}

/* ---- Samples ----------------------------------------------------------------------- */

enum { FEW = 32, MANY = 512, ROUNDS = 3 };
enum { SHORT_BYTES = 64 << 10, LONG_BYTES = 384 << 10, SERIAL_SHORT = 512, SERIAL_LONG = 4 << 10 };

/* A device this slow gets no batches unless the settings insist. */
static const double slow_ns = 2e6;

struct sample {
    enum gpuaes_op op;
    size_t count, bytes; /* in all */
};

static int run_sample(struct gpuaes_batch *batch, const struct sample *s, unsigned char *buffer)
{
    static const unsigned char zeros[MANY * GPUAES_BLOCK];
    struct gpuaes_message message = {.op = s->op,
                                     .key = zeros,
                                     .key_bytes = 32,
                                     .in = buffer,
                                     .out = buffer,
                                     .len = s->bytes / s->count};
    size_t added;
    int ok =
        gpuaes_batch_gather(batch, &message, s->count, NULL, NULL, zeros, &added) == GPUAES_OK &&
        gpuaes_batch_submit(batch, GPUAES_WAIT) == GPUAES_OK &&
        gpuaes_batch_wait(batch) == GPUAES_OK;
    gpuaes_batch_reset(batch);
    return ok;
}

/* The best of some rounds; HUGE_VAL if one failed. */
static double sample_ns(struct gpuaes_batch *batch, enum gpuaes_op op, size_t count, size_t bytes,
                        unsigned char *buffer)
{
    struct sample sample = {op, count, bytes};
    double best = HUGE_VAL;
    for (int i = 0; i < ROUNDS; i++) {
        double begun = measure_now_ns();
        if (!run_sample(batch, &sample, buffer))
            return HUGE_VAL;
        double took = measure_now_ns() - begun;
        if (took < best)
            best = took;
        if (i > 0 && best > slow_ns)
            return HUGE_VAL;
    }
    return best;
}

/* A slope must be above that of which it is a part, or it is lost in the noise. */
static double beyond(double slope, double part)
{
    return slope > part ? slope - part : 0;
}

static void measure_kind(struct gpuaes_batch *batch, int pinned, unsigned char *buffer)
{
    double brief = sample_ns(batch, GPUAES_CTR, FEW, SHORT_BYTES, buffer);
    if (!(brief < HUGE_VAL))
        return;
    double lengthy = sample_ns(batch, GPUAES_CTR, FEW, LONG_BYTES, buffer);
    double many = sample_ns(batch, GPUAES_CTR, MANY, SHORT_BYTES, buffer);
    double serial = sample_ns(batch, GPUAES_CBC_ENCRYPT, FEW, (size_t)FEW * SERIAL_SHORT, buffer);
    double longer = sample_ns(batch, GPUAES_CBC_ENCRYPT, FEW, (size_t)FEW * SERIAL_LONG, buffer);
    if (!(lengthy < HUGE_VAL && many < HUGE_VAL && serial < HUGE_VAL && longer < HUGE_VAL))
        return;
    struct engine_launch l = {.byte = beyond(lengthy, brief) / (LONG_BYTES - SHORT_BYTES),
                              .message = beyond(many, brief) / (MANY - FEW)};
    l.fixed = beyond(brief, l.byte * SHORT_BYTES) + 1;
    l.serial_byte = beyond(beyond(longer, serial) / (SERIAL_LONG - SERIAL_SHORT), l.byte * FEW);
    engine_messages_set(pinned, &l);
}

void engine_messages_measure(void)
{
    unsigned char *pinned = gpuaes_pinned_alloc(LONG_BYTES), *pageable = calloc(1, LONG_BYTES);
    struct gpuaes_batch *batch;
    if (gpuaes_batch_open(&batch) == GPUAES_OK) {
        if (pinned != NULL)
            measure_kind(batch, 1, pinned);
        if (pageable != NULL)
            measure_kind(batch, 0, pageable);
        gpuaes_batch_close(batch);
    }
    gpuaes_pinned_free(pinned, LONG_BYTES);
    free(pageable);
}

/* ---- Costs ------------------------------------------------------------------------- */

static double contexts_ns(const struct engine_messages *m)
{
    size_t ctr = 0;
    for (int key = 0; key < AES_KEY_SIZES; key++)
        ctr += m->small[WORK_CTR][key].count + m->large[WORK_CTR][key].count;
    return (double)ctr * context_ns + (double)(m->count - ctr) * copied_context_ns;
}

double engine_messages_launch_ns(const struct engine_messages *m)
{
    int pinned = m->first.memory == MEMORY_PINNED;
    double fixed = atomic_load(&launches[pinned].fixed);
    double more = m->count > FEW ? (double)(m->count - FEW) : 0;
    if (fixed <= 0)
        return HUGE_VAL;
    return fixed + (double)m->bytes * atomic_load(&launches[pinned].byte) +
           more * atomic_load(&launches[pinned].message) +
           (double)m->longest * atomic_load(&launches[pinned].serial_byte) + contexts_ns(m) +
           offload_hand_over_ns();
}

static double share_ns(struct provider *provider, const struct engine_messages *m, int kind,
                       int key)
{
    const struct engine_share *small = &m->small[kind][key], *large = &m->large[kind][key];
    struct work work = {.kind = (enum engine_work)kind, .key_bytes = 16 + 8 * (unsigned)key};
    if (small->count + large->count == 0)
        return 0;
    work.len = small->bytes;
    double ns = measured_cpu_ns(provider, &work);
    if (large->count == 0)
        return ns;
    work.len = large->bytes;
    double cpu = measured_cpu_ns(provider, &work);
    work.len = large->bytes / large->count;
    double gpu = measured_gpu_ns(&work, m->first.memory == MEMORY_PINNED) * (double)large->count;
    return ns + (cpu < gpu ? cpu : gpu);
}

static double one_by_one_ns(struct provider *provider, const struct engine_messages *m)
{
    double ns = 0;
    for (int kind = 0; kind < GPUAES_BATCH_OPS; kind++)
        for (int key = 0; key < AES_KEY_SIZES; key++)
            ns += share_ns(provider, m, kind, key);
    return ns;
}

/* ---- Choice -------------------------------------------------------------------------- */

void engine_messages_add(struct engine_messages *m, const struct work *work)
{
    struct engine_share(*shares)[AES_KEY_SIZES] = work->len < MEASURE_FLOOR ? m->small : m->large;
    struct engine_share *share = &shares[work->kind][work->key_bytes / 8 - 2];
    if (m->count == 0)
        m->first = *work;
    share->count++;
    share->bytes += work->len;
    m->count++;
    m->bytes += work->len;
    if (work->kind == WORK_CBC_ENCRYPT && work->len > m->longest)
        m->longest = work->len;
}

static void add_shares(struct engine_share *sum, const struct engine_share shares[AES_KEY_SIZES])
{
    for (int key = 0; key < AES_KEY_SIZES; key++) {
        sum->count += shares[key].count;
        sum->bytes += shares[key].bytes;
    }
}

static struct model_cell *cell_of(const struct engine_messages *m)
{
    int class = 0;
    for (size_t limit = (size_t)MEASURE_FLOOR * 2; class < CLASSES - 1 && m->bytes >= limit;
         limit *= 2)
        class ++;
    return &cells[m->longest != 0][m->first.memory][class];
}

static void explain(const struct provider *provider, const struct engine_messages *m,
                    const struct model_choice *choice)
{
    if (provider->settings.log == LOG_DEBUG)
        (void)fprintf(stderr,
                      "gpuaes: debug %zu messages, %zu bytes, longest serial %zu: one launch"
                      " %.0f us, one by one %.0f us (%s): %s%s\n",
                      m->count, m->bytes, m->longest, choice->ns[MODEL_GPU] / 1e3,
                      choice->ns[MODEL_CPU] / 1e3, choice->seen ? "observed" : "expected",
                      choice->side == MODEL_GPU ? "one launch" : "one by one",
                      choice->is_try ? ", to see what it takes" : "");
}

static enum engine_choice choose_by_model(struct provider *provider, struct engine_messages *m)
{
    struct model_cell *cell = cell_of(m);
    struct model_choice choice = {.side = MODEL_CPU};
    m->line_ns[MODEL_GPU] = engine_messages_launch_ns(m);
    m->line_ns[MODEL_CPU] = one_by_one_ns(provider, m);
    memcpy(choice.ns, m->line_ns, sizeof choice.ns);
    if (m->line_ns[MODEL_GPU] < m->line_ns[MODEL_CPU] * hopeless) {
        choice = model_choose(cell, m->line_ns);
        m->cell = cell;
        m->begun = measure_now_ns();
    }
    explain(provider, m, &choice);
    return choice.side == MODEL_GPU ? CHOICE_GPU : CHOICE_CPU;
}

static enum engine_choice choose_ready(struct provider *provider, struct engine_messages *m)
{
    m->why = CPU_FAILED;
    if (engine_find_memory(&m->first) == CHOICE_GPU_ONLY)
        return CHOICE_CPU; /* one by one, this is found again */
    if (engine_is_forced(provider))
        return CHOICE_GPU;
    enum engine_choice choice = choose_by_model(provider, m);
    if (choice == CHOICE_CPU)
        m->why = CPU_FASTER;
    return choice;
}

enum engine_choice engine_messages_choose(struct provider *provider, struct engine_messages *m)
{
    size_t floor = engine_floor(provider);
    m->cell = NULL;
    m->why = floor == SIZE_MAX ? CPU_NO_DEVICE : CPU_SMALL;
    if (m->bytes < floor || m->count < 2)
        return CHOICE_CPU;
    struct engine_share serial = {0, 0};
    add_shares(&serial, m->small[WORK_CBC_ENCRYPT]);
    add_shares(&serial, m->large[WORK_CBC_ENCRYPT]);
    m->why = CPU_UNSUITED;
    if (m->bytes == serial.bytes && serial.count < SERIAL_FEWEST && !engine_is_forced(provider))
        return CHOICE_CPU;
    /* Small ones of other modes gain where memory is pinned: then there is a device already. */
    engine_count(serial.count < SERIAL_FEWEST ? 0 : serial.bytes);
    if (engine_start_for(provider, m->bytes) == GPUAES_READY)
        return choose_ready(provider, m);
    m->why = CPU_NO_DEVICE;
    return m->bytes == serial.bytes ? CHOICE_CPU : engine_without_device(provider);
}

void engine_messages_done(const struct engine_messages *m, enum model_side side)
{
    if (m->cell != NULL)
        model_observe(m->cell, side, m->line_ns, measure_now_ns() - m->begun, 1);
}
