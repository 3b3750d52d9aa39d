/*
 * The way of a batch through the device, and what becomes of its messages when that fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "cuda/aes/gcm_check.h"
#include "cuda/batch/batch.h"
#include "cuda/launch/kernels_message.h"
#include "cuda/memory/host_copy.h"
#include "cuda/process/cleanse.h"
#include "cuda/process/fork.h"
#include "cuda/process/settings.h"
#include "cuda/process/statistics.h"
#include "cuda/runtime/runtime.h"

/*
 * Bytes of a message of CBC encryption that one launch encrypts: some 10 ms. Others come in
 * between, and none takes so long that it counts as hanging.
 */
enum { STEP = 256 << 10 };
enum { TEMP_ALIGNMENT = 256 };
/*
 * Copy engines carry pinned text faster than kernels that reach it through the bus, where a copy
 * has so many bytes on average. Shorter copies cost the host more than they gain.
 */
enum { LEAST_COPY = 64 << 10 };
enum { IN, OUT, BYTES, KEYS, IV, AAD, AAD_BYTES, TAG }; /* BATCH_ARRAYS of them */

static struct batch_group *group_of(const struct gpuaes_batch *batch,
                                    const struct batch_slice *slice)
{
    return &batch->group[slice->group];
}

/* An address of the CPU in a staged side of a group. */
static unsigned char *host_address(drv_ptr p)
{
    return (unsigned char *)(uintptr_t)p;
}

static int is_staged(const struct batch_group *group)
{
    return group->kind.in_staged || group->kind.out_staged;
}

/* Of a message, in its group's data. */
static size_t data_bytes(const struct batch_group *group, const struct batch_message *m)
{
    const size_t iv = round_up(group->kind.iv_bytes, GPUAES_BLOCK);
    return group->mode->hashes ? iv + round_up(m->aad_bytes, GPUAES_BLOCK) + group->tag_room : iv;
}

static struct slot *slot_of(const struct gpuaes_batch *batch, size_t slice)
{
    return &batch->set->slots[slice % batch->slots];
}

/* ---- One slice ------------------------------------------------------------------------ */

/* Sets the arguments of the slice's launch but for a single key; offsets where there is no slot. */
static struct message_shape shape_of(const struct gpuaes_batch *batch,
                                     const struct batch_slice *slice, const struct slot *slot,
                                     struct message_arguments *a)
{
    const struct batch_group *group = group_of(batch, slice);
    const struct gpuaes_mode *mode = group->mode;
    const drv_ptr arrays = (slot != NULL ? slot->scratch : 0) + slice->arrays;
    const drv_ptr results = (slot != NULL ? slot->staging_address : 0) + slice->results;
    const size_t each = slice->count * sizeof(uint64_t);
    *a = (struct message_arguments){
        .in = arrays + IN * each,
        .out = arrays + OUT * each,
        .bytes = arrays + BYTES * each,
        .iv = arrays + IV * each,
        .aad = mode->hashes ? arrays + AAD * each : 0,
        .aad_bytes = mode->hashes ? arrays + AAD_BYTES * each : 0,
        .tag = mode->hashes ? arrays + TAG * each : 0,
        .status = results + slice->count * GPUAES_BLOCK,
        .keys = slice->keys > 1 ? arrays + KEYS * each : 0,
        .count = slice->count,
        .max_bytes = mode->serial ? min_unsigned(slice->longest, STEP) : slice->longest,
        .key_bytes = group->kind.key_bytes,
        .iv_bytes = group->kind.iv_bytes,
        .tag_bytes = group->kind.tag_bytes,
        .op = group->kind.op,
        .mode = mode->message_mode,
        .decrypts = mode->decrypts || group->kind.op == GPUAES_GCM_DECRYPT,
        .bad_argument = GPUAES_BAD_ARGUMENT,
        .bad_tag = GPUAES_BAD_TAG,
    };
    return kernels_message_shape(&batch->device->kernels, group->kind.op,
                                 key_size_rounds(group->kind.key_bytes / (mode->pairs ? 2 : 1)),
                                 slice->bytes, a);
}

/*
 * Whether a message lies behind the one before, so that one copy takes both. A copy must not cross
 * the end of an allocation.
 */
static int follows(const struct batch_kind *kind, const struct batch_message *m)
{
    const struct batch_message *before = m - 1;
    return before->asked == m->asked && before->len % GPUAES_BLOCK == 0 &&
           (!kind->in_pinned || before->in + before->len == m->in) &&
           (!kind->out_pinned || before->out + before->len == m->out);
}

/* Bytes that the text of a slice has in a buffer, or 0 where kernels are to reach it. */
static size_t copied_bytes(const struct batch_group *group, const struct batch_slice *slice)
{
    const struct batch_message *m = &group->message[slice->message];
    size_t bytes = round_up(m[0].len, GPUAES_BLOCK), copies = 1;
    if (is_staged(group) || !(group->kind.in_pinned || group->kind.out_pinned) ||
        slice->bytes > batch_copied_bytes(group->mode))
        return 0;
    for (uint32_t i = 1; i < slice->count; i++) {
        copies += !follows(&group->kind, &m[i]);
        bytes += round_up(m[i].len, GPUAES_BLOCK);
    }
    return bytes / copies >= LEAST_COPY ? bytes : 0;
}

/* Queues the copies of a slice's pinned text to the device, or `back`. */
static drv_result copy_text(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                            const struct slot *slot, int back)
{
    const struct driver *d = batch->device->driver;
    const struct batch_group *group = group_of(batch, slice);
    const struct batch_message *m = &group->message[slice->message], *end = m + slice->count;
    drv_ptr text = slot->buffer[0];
    drv_result r = DRV_SUCCESS;
    while (m < end && r == DRV_SUCCESS) {
        unsigned char *host = host_address(back ? m->out : m->in);
        size_t bytes = m->len;
        while (++m < end && follows(&group->kind, m))
            bytes += m->len;
        r = back ? d->memcpy_dtoh_async(host, text, bytes, slot->stream)
                 : d->memcpy_htod_async(text, host, bytes, slot->stream);
        text += round_up(bytes, GPUAES_BLOCK);
    }
    return r;
}

static void raise_size(size_t *most, size_t value)
{
    *most = *most < value ? value : *most;
}

/* Places what a slice has in a slot, for which the slots must have room. */
static void lay_out(struct gpuaes_batch *batch, struct batch_slice *slice)
{
    const struct batch_group *group = group_of(batch, slice);
    const struct batch_message *m = &group->message[slice->message], *last = m + slice->count - 1;
    struct message_arguments a;
    slice->keys = last->key + 1;
    slice->text = slice->keys > 1 ? (size_t)slice->keys * group->key_room : 0;
    slice->arrays = slice->text;
    if (is_staged(group))
        for (; m <= last; m++)
            slice->arrays += round_up(m->len, GPUAES_BLOCK);
    slice->data = slice->arrays + slice->count * BATCH_ARRAYS * sizeof(uint64_t);
    slice->results = slice->data + last->data + data_bytes(group, last);
    slice->temp = round_up(slice->results, TEMP_ALIGNMENT);
    const size_t temp_bytes = shape_of(batch, slice, NULL, &a).temp_bytes;
    raise_size(&batch->needs.staging, round_up(slice->staging, BUFFER_ROUNDING));
    raise_size(&batch->needs.scratch, round_up(slice->temp + temp_bytes, BUFFER_ROUNDING));
    raise_size(&batch->secret.staging, slice->arrays);
    raise_size(&batch->secret.scratch, slice->arrays);
    slice->copied = copied_bytes(group, slice);
    raise_size(&batch->needs.buffer[0], round_up(slice->copied, BUFFER_ROUNDING));
    raise_size(&batch->secret.buffer[0], slice->copied);
}

/* Describes to kernels what is to be done of messages of which `from` bytes are done. */
static void describe(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                     const struct slot *slot, uint32_t from)
{
    const struct batch_group *group = group_of(batch, slice);
    const struct batch_message *m = &group->message[slice->message];
    const size_t n = slice->count, iv_room = round_up(group->kind.iv_bytes, GPUAES_BLOCK);
    const uint32_t most = group->mode->serial ? STEP : UINT32_MAX;
    const drv_ptr data = slot->scratch + slice->data;
    const drv_ptr tags = slot->staging_address + slice->results;
    const int in_elsewhere = group->kind.in_staged || (slice->copied && group->kind.in_pinned);
    const int out_elsewhere = group->kind.out_staged || (slice->copied && group->kind.out_pinned);
    drv_ptr text = slice->copied ? slot->buffer[0] : slot->scratch + slice->text;
    uint64_t *array = (uint64_t *)(slot->staging + slice->arrays);
    for (size_t i = 0; i < n; i++) {
        const drv_ptr in = in_elsewhere ? text : m[i].in;
        const drv_ptr out = out_elsewhere ? text : m[i].out;
        const uint32_t at = min_unsigned(from, m[i].len);
        array[IN * n + i] = in + at;
        array[OUT * n + i] = out + at;
        array[BYTES * n + i] = min_unsigned(m[i].len - at, most);
        array[IV * n + i] = at != 0 ? out + at - GPUAES_BLOCK : data + m[i].data;
        text += round_up(m[i].len, GPUAES_BLOCK);
    }
    for (size_t i = 0; i < n && slice->keys > 1; i++)
        array[KEYS * n + i] = slot->scratch + (size_t)m[i].key * group->key_room;
    for (size_t i = 0; i < n && group->mode->hashes; i++) {
        const drv_ptr aad = data + m[i].data + iv_room;
        array[AAD * n + i] = aad;
        array[AAD_BYTES * n + i] = m[i].aad_bytes;
        array[TAG * n + i] = group->tag_room == 0 ? tags + i * GPUAES_BLOCK
                                                  : aad + round_up(m[i].aad_bytes, GPUAES_BLOCK);
    }
}

/* The statuses of a slice, which kernels write through the bus, behind its tags. */
static uint32_t *status_of(const struct batch_slice *slice, const struct slot *slot)
{
    return (uint32_t *)(slot->staging + slice->results + slice->count * (size_t)GPUAES_BLOCK);
}

static const unsigned char *key_of(const struct batch_group *group, const struct batch_slice *slice)
{
    return group->key + slice->key_at * group->key_room;
}

/* What comes before the first step. */
static void stage(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                  const struct slot *slot)
{
    const struct batch_group *group = group_of(batch, slice);
    const struct batch_message *m = &group->message[slice->message];
    unsigned char *text = slot->staging + slice->text;
    uint32_t *status = status_of(slice, slot);
    memcpy(slot->staging, key_of(group, slice), slice->text);
    if (slice->results != slice->data)
        memcpy(slot->staging + slice->data, group->data + slice->data_at,
               slice->results - slice->data);
    for (size_t i = 0; i < slice->count; i++)
        status[i] = GPUAES_FAULT; /* until a kernel has written another one */
    for (size_t i = 0; group->kind.in_staged && i < slice->count; i++, m++) {
        host_copy(text, host_address(m->in), m->len, 0);
        text += round_up(m->len, GPUAES_BLOCK);
    }
}

SECRET_FRAME static drv_result launch(const struct gpuaes_batch *batch,
                                      const struct batch_slice *slice, const struct slot *slot)
{
    const struct device *device = batch->device;
    const struct batch_group *group = group_of(batch, slice);
    struct message_arguments a;
    const struct message_shape shape = shape_of(batch, slice, slot, &a);
    if (slice->keys == 1) {
        struct gpuaes_key key;
        const unsigned char *raw = key_of(group, slice);
        const size_t bytes = group->kind.key_bytes / (group->mode->pairs ? 2 : 1);
        (void)gpuaes_key_expand(&key, raw, bytes);
        memcpy(a.round_key, group->mode->decrypts ? key.decrypt : key.encrypt, sizeof a.round_key);
        if (group->mode->pairs) {
            (void)gpuaes_key_expand(&key, raw + bytes, bytes);
            memcpy(a.tweak_key, key.encrypt, sizeof a.tweak_key);
        }
        gpuaes_cleanse(&key, sizeof key);
    }
    drv_result r = kernels_launch_message(device->driver, &device->kernels, &shape, &a,
                                          slot->scratch + slice->temp, slot->stream);
    gpuaes_cleanse(&a, sizeof a);
    return r;
}

/* Queues the next step of a slice; all but long messages of CBC encryption have one. */
static drv_result step(struct gpuaes_batch *batch, size_t number)
{
    const struct driver *d = batch->device->driver;
    const struct batch_slice *slice = &batch->slice[number];
    const struct slot *slot = slot_of(batch, number);
    struct batch_flight *flight = &batch->flight[number % batch->slots];
    const size_t from = flight->from == 0 ? 0 : slice->arrays;
    if (flight->from == 0)
        stage(batch, slice, slot);
    describe(batch, slice, slot, flight->from);
    drv_result r = d->memcpy_htod_async(slot->scratch + from, slot->staging + from,
                                        slice->results - from, slot->stream);
    const struct batch_kind *kind = &group_of(batch, slice)->kind;
    if (r == DRV_SUCCESS && flight->from == 0 && slice->copied && kind->in_pinned)
        r = copy_text(batch, slice, slot, 0);
    const int copies_out = slice->copied && kind->out_pinned;
    flight->may_write |= r == DRV_SUCCESS && !copies_out;
    if (r == DRV_SUCCESS)
        r = launch(batch, slice, slot);
    cleanse_stack();
    flight->from += STEP;
    const int more = group_of(batch, slice)->mode->serial && slice->longest > flight->from;
    if (r == DRV_SUCCESS && !more && copies_out) {
        flight->may_write = 1;
        r = copy_text(batch, slice, slot, 1);
    }
    if (r == DRV_SUCCESS && !more && kind->out_staged)
        r = d->memcpy_dtoh_async(slot->staging + slice->text, slot->scratch + slice->text,
                                 slice->arrays - slice->text, slot->stream);
    if (r == DRV_SUCCESS)
        r = d->event_record(slot->event, slot->stream);
    flight->queued = r == DRV_SUCCESS && !more;
    return r;
}

/* Once all of it is done: writes what the CPU writes, and statuses. */
static void deliver(struct gpuaes_batch *batch, size_t number)
{
    const struct batch_slice *slice = &batch->slice[number];
    const struct batch_group *group = group_of(batch, slice);
    const struct batch_message *m = &group->message[slice->message];
    const unsigned char *staging = slot_of(batch, number)->staging, *text = staging + slice->text;
    const uint32_t *status = status_of(slice, slot_of(batch, number));
    for (size_t i = 0; i < slice->count; i++, m++) {
        if (group->kind.out_staged) {
            host_copy(host_address(m->out), text, m->len, 0);
            text += round_up(m->len, GPUAES_BLOCK);
        }
        if (group->kind.op == GPUAES_GCM_ENCRYPT)
            memcpy(m->tag, staging + slice->results + i * GPUAES_BLOCK, group->kind.tag_bytes);
        batch->status[m->number] = (unsigned char)status[i];
        if (status[i] > batch->result)
            batch->result = (enum gpuaes_status)status[i];
    }
    batch->done_bytes += slice->bytes;
}

/* Gives a slice that is not complete its statuses: the device may have written to `out`, or not. */
static void give_up(struct gpuaes_batch *batch, size_t number, int may_write, int still_running)
{
    const struct batch_slice *slice = &batch->slice[number];
    const struct batch_group *group = group_of(batch, slice);
    const struct batch_message *m = &group->message[slice->message];
    for (size_t i = 0; i < slice->count; i++, m++) {
        const int wrote = may_write && !group->kind.out_staged && m->len != 0;
        const enum gpuaes_status status =
            wrote && (still_running || m->in == m->out) ? GPUAES_UNDEFINED : GPUAES_FAULT;
        batch->status[m->number] = (unsigned char)status;
        batch->result = status > batch->result ? status : batch->result;
    }
}

/* ---- The end ----------------------------------------------------------------------------- */

/* Wipes keys and texts; queued, not waited for. The first error. */
static drv_result wipe(const struct gpuaes_batch *batch)
{
    drv_result first = DRV_SUCCESS;
    for (uint32_t s = 0; s < batch->slots; s++) {
        drv_result r = slot_wipe(&batch->set->slots[s], batch->device->driver, &batch->secret);
        first = first == DRV_SUCCESS ? r : first;
    }
    return first;
}

static enum gpuaes_status end(struct gpuaes_batch *batch, int lost)
{
    statistics_count(STATISTIC_BYTES, batch->done_bytes);
    stream_set_return(batch->device, batch->set, lost);
    batch->set = NULL;
    batch->state = BATCH_DONE;
    runtime_unref();
    return batch->result;
}

/*
 * After an error: waits until the device does nothing more for us, and finds out what it did. Where
 * the context is gone, or soon will be, with all work in it, there are no means to learn that.
 */
static enum gpuaes_status fail(struct gpuaes_batch *batch, int is_gone)
{
    int lost = is_gone;
    for (; batch->finished < batch->slices; batch->finished++) {
        const int begun = batch->finished < batch->submitted;
        const struct batch_flight *flight = &batch->flight[batch->finished % batch->slots];
        drv_result r = begun && is_gone ? DRV_NOT_READY : DRV_SUCCESS;
        if (begun && !is_gone)
            r = stream_set_wait(batch->device, batch->set, slot_of(batch, batch->finished), NULL);
        lost |= r == DRV_NOT_READY;
        if (begun && r == DRV_SUCCESS && flight->queued)
            deliver(batch, batch->finished);
        else
            give_up(batch, batch->finished, begun && flight->may_write, r == DRV_NOT_READY);
    }
    if (!lost) {
        (void)wipe(batch);
        stream_set_cleanse_staging(batch->device, batch->set);
    }
    return end(batch, lost);
}

static enum gpuaes_status fault(struct gpuaes_batch *batch, drv_result r)
{
    (void)device_fault_midway(batch->device, "a copy or a kernel", r);
    return fail(batch, 0);
}

/* ---- Under way -------------------------------------------------------------------------- */

/* Queues what comes next of slices under way, and as many more as there are slots for. */
static drv_result pump(struct gpuaes_batch *batch)
{
    drv_result r = DRV_SUCCESS;
    for (size_t i = batch->finished; i < batch->submitted && r == DRV_SUCCESS; i++) {
        if (batch->flight[i % batch->slots].queued)
            continue;
        r = batch->device->driver->event_query(slot_of(batch, i)->event);
        if (r == DRV_SUCCESS) {
            batch->progress_ns = clock_ns(CLOCK_MONOTONIC);
            r = step(batch, i);
        } else if (r == DRV_NOT_READY) {
            r = DRV_SUCCESS;
        }
    }
    while (r == DRV_SUCCESS && batch->submitted < batch->slices &&
           batch->submitted - batch->finished < batch->slots) {
        batch->flight[batch->submitted % batch->slots] = (struct batch_flight){0};
        r = step(batch, batch->submitted++);
    }
    return r;
}

/* Whether the oldest slice has come as far as was queued: DRV_NOT_READY also once the time is up.
 */
static drv_result look(struct gpuaes_batch *batch, int *expired)
{
    const struct driver *d = batch->device->driver;
    if (batch->set->follows) {
        drv_result r = d->event_query(batch->set->application);
        if (r != DRV_SUCCESS)
            return r;
        batch->set->follows = 0;
        batch->progress_ns = clock_ns(CLOCK_MONOTONIC);
    }
    drv_event event = slot_of(batch, batch->finished)->event;
    drv_result r = d->event_query(event);
    *expired = r == DRV_NOT_READY &&
               clock_ns(CLOCK_MONOTONIC) - batch->progress_ns > settings_timeout_ns();
    if (*expired) { /* or the process has been stopped since that query, and not the device */
        r = d->event_query(event);
        *expired = r == DRV_NOT_READY;
    }
    batch->set->timed_out |= *expired;
    return r;
}

static enum gpuaes_status go_on_entered(struct gpuaes_batch *batch, int wait)
{
    while (batch->finished < batch->slices) {
        const struct slot *slot = slot_of(batch, batch->finished);
        int expired = wait;
        drv_result r = wait ? stream_set_wait(batch->device, batch->set, slot, slot->event)
                            : look(batch, &expired);
        if (r == DRV_SUCCESS && batch->flight[batch->finished % batch->slots].queued)
            deliver(batch, batch->finished++);
        int busy = r == DRV_NOT_READY && !expired;
        if (r == DRV_SUCCESS)
            batch->progress_ns = clock_ns(CLOCK_MONOTONIC);
        if (r == DRV_SUCCESS || busy)
            r = pump(batch);
        if (r != DRV_SUCCESS)
            return fault(batch, r);
        if (busy)
            return GPUAES_BUSY;
    }
    drv_result r = wipe(batch);
    if (r != DRV_SUCCESS) {
        (void)device_fault(batch->device, "cuMemsetD8Async", r); /* the result itself is right */
        r = wipe(batch);
        stream_set_cleanse_staging(batch->device, batch->set);
    }
    return end(batch, r == DRV_OUT_OF_MEMORY); /* its device memory may hold text: it is nobody's */
}

/*
 * In any state of the devices: it holds what it works on, and another's fault may have ended
 * nothing of it. What fails once may be the report of another's fault.
 */
enum gpuaes_status batch_go_on(struct gpuaes_batch *batch, int wait)
{
    struct runtime_guard guard;
    if (batch->state == BATCH_DONE)
        return batch->result;
    if (fork_is_child())
        return GPUAES_NOT_READY;
    if (!runtime_reenter(&guard))
        return fail(batch, 1);
    int entered = device_enter(batch->device);
    if (!entered)
        entered = device_enter(batch->device);
    enum gpuaes_status status = entered ? go_on_entered(batch, wait) : fail(batch, 1);
    if (entered)
        device_leave(batch->device);
    runtime_leave(&guard);
    return status;
}

static int is_begun(const struct gpuaes_batch *batch)
{
    return batch != NULL && batch->state != BATCH_OPEN;
}

enum gpuaes_status gpuaes_batch_poll(struct gpuaes_batch *batch)
{
    return is_begun(batch) ? batch_go_on(batch, 0) : GPUAES_BAD_ARGUMENT;
}

enum gpuaes_status gpuaes_batch_wait(struct gpuaes_batch *batch)
{
    return is_begun(batch) ? batch_go_on(batch, 1) : GPUAES_BAD_ARGUMENT;
}

/* ---- Begin ---------------------------------------------------------------------------------- */

/* All that comes before the first slice: where memory is short here, nothing is broken. */
static drv_result prepare(struct gpuaes_batch *batch)
{
    drv_result r = stream_set_prepare(batch->device, batch->set, &batch->needs);
    if (r == DRV_SUCCESS && batch->is_hashed)
        r = gcm_check(batch->device, batch->set->slots[0].stream);
    if (r == DRV_SUCCESS && batch->owner != NULL)
        r = stream_set_follow(batch->device, batch->set, batch->needs.slots);
    return r;
}

/* Where device memory is too short for copies, kernels are to reach pinned text. */
static drv_result prepare_without_copies(struct gpuaes_batch *batch)
{
    for (size_t i = 0; i < batch->slices; i++)
        batch->slice[i].copied = 0;
    batch->needs.buffer[0] = batch->secret.buffer[0] = 0;
    batch->needs.slots = min_unsigned(batch->slices, STREAM_SET_SLOTS);
    return prepare(batch);
}

static enum gpuaes_status begin_entered(struct gpuaes_batch *batch, unsigned flags)
{
    batch->needs = batch->secret = (struct stream_set_needs){0};
    batch->needs.slots = min_unsigned(batch->slices, STREAM_SET_SLOTS);
    for (size_t i = 0; i < batch->slices; i++)
        lay_out(batch, &batch->slice[i]);
    batch->set = stream_set_take(batch->device, STREAM_SET_BATCH, flags);
    if (batch->set == NULL)
        return stream_set_refusal(batch->device);
    drv_result r = prepare(batch);
    if (r == DRV_OUT_OF_MEMORY && batch->needs.buffer[0] != 0)
        r = prepare_without_copies(batch);
    if (r != DRV_SUCCESS) {
        stream_set_return(batch->device, batch->set, r == DRV_NOT_READY);
        return device_fault(batch->device, "preparing buffers", r);
    }
    runtime_ref(); /* until it is done */
    batch->state = BATCH_UNDER_WAY;
    batch->slots = batch->needs.slots;
    batch->submitted = batch->finished = 0;
    batch->done_bytes = 0;
    batch->progress_ns = clock_ns(CLOCK_MONOTONIC);
    r = pump(batch);
    return r == DRV_SUCCESS ? GPUAES_OK : fault(batch, r);
}

/* On the device that has its memory, or any. After an idle release it may be in use no more. */
static enum gpuaes_status begin(struct gpuaes_batch *batch, unsigned flags)
{
    struct runtime_guard guard;
    if (!runtime_enter(&guard))
        return gpuaes_state() == GPUAES_FAILED && !fork_is_child() ? GPUAES_FAULT
                                                                   : GPUAES_NOT_READY;
    batch->device =
        batch->owner != NULL ? runtime_device_of(batch->owner->info.ordinal) : runtime_own_device();
    enum gpuaes_status status = GPUAES_FAULT;
    if (batch->device == NULL) {
        if (batch->owner == NULL || atomic_load(&batch->owner->use) != DEVICE_LOST)
            status = GPUAES_NOT_READY;
    } else if (device_enter(batch->device)) {
        status = begin_entered(batch, flags);
        device_leave(batch->device);
    }
    runtime_leave(&guard);
    return status;
}

enum gpuaes_status gpuaes_batch_submit(struct gpuaes_batch *batch, unsigned flags)
{
    if (batch == NULL || batch->state != BATCH_OPEN)
        return GPUAES_BAD_ARGUMENT;
    batch->result = GPUAES_OK;
    batch->has_like = 0; /* an add must look at the state */
    enum gpuaes_status status = batch->slices != 0 ? begin(batch, flags) : GPUAES_OK;
    if (batch->state == BATCH_UNDER_WAY)
        return GPUAES_OK;
    if (batch->slices == 0 || status == GPUAES_FAULT)
        batch->state = BATCH_DONE;
    if (batch->result == GPUAES_OK && status == GPUAES_FAULT) { /* nothing was begun */
        batch->result = status;
        for (size_t i = 0; i < batch->slices; i++)
            give_up(batch, i, 0, 0);
    }
    return status;
}
