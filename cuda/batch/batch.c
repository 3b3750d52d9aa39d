/*
 * Batches: their messages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/batch/batch.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/runtime/runtime.h"

enum { FIRST_ROOM = 64 };

/* ---- Open and close -------------------------------------------------------------- */

static void free_batch(struct gpuaes_batch *batch)
{
    batch_keys_close(&batch->keys);
    free(batch->message);
    free(batch->status);
    free(batch->slice);
    free(batch->gcm);
    free(batch->data);
    free(batch->order);
    free(batch->order_too);
    free(batch);
}

enum gpuaes_status gpuaes_batch_open(struct gpuaes_batch **batch)
{
    if (batch == NULL)
        return GPUAES_BAD_ARGUMENT;
    *batch = NULL;
    struct gpuaes_batch *b = calloc(1, sizeof *b);
    if (b == NULL)
        return GPUAES_NO_MEMORY;
    b->order = malloc(SLICE_MESSAGES * sizeof *b->order);
    b->order_too = malloc(SLICE_MESSAGES * sizeof *b->order_too);
    if (!batch_keys_open(&b->keys) || b->order == NULL || b->order_too == NULL) {
        free_batch(b);
        return GPUAES_NO_MEMORY;
    }
    *batch = b;
    return GPUAES_OK;
}

static void forget_ranges(struct gpuaes_batch *batch)
{
    memset(batch->range, 0, sizeof batch->range);
}

void gpuaes_batch_reset(struct gpuaes_batch *batch)
{
    if (batch == NULL)
        return;
    if (batch->state == BATCH_UNDER_WAY)
        (void)batch_go_on(batch, 1);
    batch_keys_trim(&batch->keys, BATCH_KEYS_KEPT);
    batch->state = BATCH_OPEN;
    batch->messages = batch->numbers = batch->gcms = 0;
    batch->data_bytes = 0;
    batch->gcm_decrypts = batch->gcm_longest = 0;
    batch->owner = batch->managed = NULL;
    batch->on_device = batch->on_host = 0;
    batch->pinned_bytes = batch->pinned_runs = 0;
    forget_ranges(batch);
}

void gpuaes_batch_forget(struct gpuaes_batch *batch)
{
    if (batch == NULL)
        return;
    gpuaes_batch_reset(batch);
    batch_keys_trim(&batch->keys, 0);
}

void gpuaes_batch_close(struct gpuaes_batch *batch)
{
    if (batch == NULL)
        return;
    gpuaes_batch_reset(batch);
    free_batch(batch);
}

/* ---- Memory of messages ------------------------------------------------------------- */

/* What a batch needs of devices, with one message more. */
struct owners {
    struct device *owner, *managed;
};

/* All that has an owner has one: the batch comes after the work of no other device. */
static enum gpuaes_status check_owner(struct owners *owners, const struct memory *memory)
{
    if (memory->kind == GPUAES_FOREIGN)
        return GPUAES_BAD_RANGE;
    if (memory->owner == NULL)
        return GPUAES_OK;
    if ((owners->owner != NULL && owners->owner != memory->owner) ||
        (owners->managed != NULL && owners->managed != memory->owner))
        return GPUAES_BAD_ARGUMENT;
    if (memory->managed)
        owners->managed = memory->owner;
    else
        owners->owner = memory->owner;
    return GPUAES_OK;
}

/* Asks the driver, and keeps what it says of the whole allocation. */
static enum gpuaes_status ask(struct batch_range *range, const void *p, size_t len,
                              struct owners *owners)
{
    struct runtime_guard guard;
    struct memory memory;
    struct device *device = runtime_enter_device(&guard);
    if (device == NULL)
        return GPUAES_NOT_READY;
    enum gpuaes_status status = memory_look(device, p, len, &memory);
    runtime_leave_device(&guard, device);
    if (status != GPUAES_OK)
        return status;
    int is_whole = memory.bytes != 0;
    range->begin = is_whole ? memory.begin : memory_address(p);
    range->end = range->begin + (is_whole ? memory.bytes : len);
    range->address = memory.address - (memory_address(p) - range->begin);
    range->kind = memory.kind;
    return check_owner(owners, &memory);
}

static int is_known(const struct batch_range *range, const void *p, size_t len)
{
    drv_ptr address = memory_address(p);
    return address >= range->begin && address < range->end && range->end - address >= len;
}

static enum gpuaes_status look(struct batch_range *range, const void *p, size_t len,
                               struct owners *owners)
{
    return is_known(range, p, len) ? GPUAES_OK : ask(range, p, len, owners);
}

static int is_long(size_t len, enum gpuaes_memory in, enum gpuaes_memory out)
{
    if (in == GPUAES_PAGEABLE || out == GPUAES_PAGEABLE)
        return len > GPUAES_BATCH_PAGEABLE_BYTES;
    return len > GPUAES_BATCH_HOST_BYTES && (in == GPUAES_PINNED || out == GPUAES_PINNED);
}

/* ---- Adding --------------------------------------------------------------------------- */

static int has_room(struct gpuaes_batch *batch)
{
    if (batch->numbers == GPUAES_BATCH_MESSAGES)
        return 0;
    if (batch->numbers < batch->number_room)
        return 1;
    uint32_t room = batch->number_room == 0 ? FIRST_ROOM : batch->number_room * 2;
    unsigned char *status = realloc(batch->status, room);
    if (status != NULL)
        batch->status = status;
    struct batch_message *message = realloc(batch->message, room * sizeof *message);
    if (message != NULL)
        batch->message = message;
    if (status == NULL || message == NULL)
        return 0;
    batch->number_room = room;
    return 1;
}

static int is_bad(const struct gpuaes_message *m)
{
    if (m == NULL || (unsigned)m->op >= GPUAES_BATCH_OPS)
        return 1;
    const struct gpuaes_mode *mode = gpuaes_modes[m->op];
    if ((m->len % GPUAES_BLOCK != 0 && !mode->hashes) || m->len > GPUAES_BATCH_DEVICE_BYTES ||
        (m->len != 0 && (m->in == NULL || m->out == NULL)) ||
        (m->in != m->out && memory_overlap(m->in, m->len, m->out, m->len)))
        return 1;
    if (m->iv == NULL && mode->takes_iv)
        return 1;
    if ((m->key == NULL && m->schedule == NULL) || (mode->hashes && batch_gcm_is_bad(m)))
        return 1;
    return !key_size_is_valid(m->key != NULL ? m->key_bytes : key_size_of(m->schedule->rounds));
}

static uint32_t find_key(struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    if (m->key != NULL)
        return batch_keys_find(&batch->keys, m->key, m->key_bytes, NULL);
    /* A schedule begins with the key. */
    return batch_keys_find(&batch->keys, (const unsigned char *)m->schedule->encrypt,
                           key_size_of(m->schedule->rounds), m->schedule);
}

/*
 * Counts a side of a message that is pinned. Returns 1 if `p`, which is in `range`, follows `bytes`
 * at `before` in the same allocation. An empty message is nowhere, whatever its pointers are.
 */
static int count_pinned(struct gpuaes_batch *batch, const struct batch_range *range,
                        const unsigned char *p, size_t len, const unsigned char *before,
                        size_t bytes)
{
    int follows = bytes != 0 && memory_address(before) + bytes == memory_address(p) &&
                  memory_address(before) >= range->begin;
    batch->pinned_bytes += len;
    batch->pinned_runs += !follows;
    return follows;
}

/* Counts pinned memory of the next message, and sets the flags that tell of it. */
static void join(struct gpuaes_batch *batch, struct batch_message *m)
{
    static const struct batch_message none;
    const struct batch_message *before = batch->messages == 0 ? &none : m - 1;
    const struct batch_range *in = &batch->range[0], *out = &batch->range[m->in != m->out];
    m->flags &= MESSAGE_SERIAL | MESSAGE_CHAINED | MESSAGE_HASHED;
    if (m->in_kind == GPUAES_PINNED &&
        count_pinned(batch, in, m->in, m->bytes, before->in, before->bytes))
        m->flags |= MESSAGE_FOLLOWS_IN;
    if (m->out_kind == GPUAES_PINNED &&
        count_pinned(batch, out, m->out, m->bytes, before->out, before->bytes))
        m->flags |= MESSAGE_FOLLOWS_OUT;
}

/* Both sides are known. */
static void put(struct gpuaes_batch *batch, const struct gpuaes_message *message,
                const struct gpuaes_mode *mode, uint32_t key)
{
    struct batch_message *m = &batch->message[batch->messages];
    const struct batch_range *in = &batch->range[0];
    const struct batch_range *out = message->in == message->out ? in : &batch->range[1];
    m->device.in = in->address + (memory_address(message->in) - in->begin);
    m->device.out = out->address + (memory_address(message->out) - out->begin);
    if (mode->hashes)
        batch_gcm_counter(message, (unsigned char *)m->device.iv);
    else if (message->iv != NULL)
        memcpy(m->device.iv, message->iv, sizeof m->device.iv);
    else
        memset(m->device.iv, 0, sizeof m->device.iv);
    m->device.blocks = (uint32_t)(message->len / GPUAES_BLOCK);
    m->device.key = key;
    m->device.mode = mode->batch_mode;
    m->device.after = 0;
    m->in = message->in;
    m->out = message->out;
    m->number = batch->numbers;
    m->bytes = (uint32_t)message->len;
    m->flags = (unsigned char)(mode->serial * MESSAGE_SERIAL | mode->chained * MESSAGE_CHAINED |
                               mode->hashes * MESSAGE_HASHED);
    m->group = (unsigned char)(batch->keys.key[key].size + (mode->decrypts ? KEY_SIZES : 0));
    m->in_kind = (unsigned char)in->kind;
    m->out_kind = (unsigned char)out->kind;
    m->in_path = m->out_path = PATH_ZERO_COPY;
    batch->on_device |= in->kind == GPUAES_DEVICE || out->kind == GPUAES_DEVICE;
    batch->on_host |= in->kind != GPUAES_DEVICE || out->kind != GPUAES_DEVICE;
    if (batch->on_host)
        join(batch, m);
    batch->messages++;
}

/* Of the statuses, those that refuse one message. */
static int is_refusal(enum gpuaes_status status)
{
    return status == GPUAES_BAD_ARGUMENT || status == GPUAES_BAD_RANGE;
}

/* `key`: its number, or NO_KEY where it is to be found yet. */
static enum gpuaes_status take(struct gpuaes_batch *batch, const struct gpuaes_message *message,
                               const struct gpuaes_mode *mode, uint32_t *key)
{
    struct owners owners = {batch->owner, batch->managed};
    int out_of_place = message->in != message->out;
    enum gpuaes_status status = GPUAES_OK;
    if (message->len == 0)
        forget_ranges(batch); /* the text is nowhere */
    else
        status = look(&batch->range[0], message->in, message->len, &owners);
    if (status == GPUAES_OK && out_of_place && message->len != 0)
        status = look(&batch->range[1], message->out, message->len, &owners);
    if (status == GPUAES_OK &&
        is_long(message->len, batch->range[0].kind, batch->range[out_of_place].kind))
        status = GPUAES_BAD_ARGUMENT;
    if (status == GPUAES_OK && *key == NO_KEY)
        *key = find_key(batch, message);
    if (status == GPUAES_OK &&
        (*key == NO_KEY ||
         (mode->hashes && !batch_gcm_has_room(batch, batch_gcm_data_bytes(message)))))
        status = GPUAES_NO_MEMORY;
    if (status != GPUAES_OK) {
        forget_ranges(batch); /* its memory need not stay */
        return status;
    }
    put(batch, message, mode, *key);
    if (mode->hashes)
        batch_gcm_add(batch, message);
    batch->owner = owners.owner;
    batch->managed = owners.managed;
    return GPUAES_OK;
}

static enum gpuaes_status add(struct gpuaes_batch *batch, const struct gpuaes_message *message,
                              uint32_t *key)
{
    enum gpuaes_status status = GPUAES_OK, known = GPUAES_BUSY;
    if (!has_room(batch))
        return GPUAES_NO_MEMORY;
    const struct gpuaes_mode *mode = is_bad(message) ? NULL : gpuaes_modes[message->op];
    if (mode == NULL)
        status = GPUAES_BAD_ARGUMENT;
    else if (message->len == 0 && !mode->hashes)
        known = GPUAES_OK;
    else
        status = take(batch, message, mode, key);
    if (is_refusal(status))
        known = status;
    else if (status != GPUAES_OK)
        return status;
    batch->status[batch->numbers++] = (unsigned char)known;
    return status;
}

/* NOT_READY also where nothing would be asked of a device. */
static enum gpuaes_status check_state(const struct gpuaes_batch *batch)
{
    if (gpuaes_state() == GPUAES_FAILED) /* also in a forked child */
        return GPUAES_NOT_READY;
    return batch->state == BATCH_OPEN ? GPUAES_OK : GPUAES_BUSY;
}

enum gpuaes_status gpuaes_batch_add(struct gpuaes_batch *batch,
                                    const struct gpuaes_message *message)
{
    uint32_t key = NO_KEY;
    if (batch == NULL)
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = check_state(batch);
    return status == GPUAES_OK ? add(batch, message, &key) : status;
}

/* What of a record differs from the one before. */
struct record {
    const unsigned char *in, *iv;
    unsigned char *out;
    size_t len;
};

/*
 * 1 if it was added because it differs from `like`, a message of the same array, in that alone:
 * what was found of that holds. That is not the message before: to copy bytes that have just been
 * written makes the CPU wait.
 */
static int add_alike(struct gpuaes_batch *batch, const struct batch_message *like,
                     const struct record *record)
{
    struct batch_message *m = &batch->message[batch->messages];
    int out_of_place = record->in != record->out;
    if (batch->numbers >= batch->number_room || like->bytes != record->len ||
        !is_known(&batch->range[0], record->in, record->len) ||
        (out_of_place && !is_known(&batch->range[1], record->out, record->len)))
        return 0;
    *m = *like;
    m->device.in += memory_address(record->in) - memory_address(like->in);
    m->device.out += memory_address(record->out) - memory_address(like->out);
    if (record->iv != NULL)
        memcpy(m->device.iv, record->iv, sizeof m->device.iv);
    m->in = record->in;
    m->out = record->out;
    m->number = batch->numbers;
    if (batch->on_host)
        join(batch, m);
    batch->messages++;
    batch->status[batch->numbers++] = GPUAES_BUSY;
    return 1;
}

static int is_hashed(const struct gpuaes_message *message)
{
    return (unsigned)message->op < GPUAES_BATCH_OPS && gpuaes_modes[message->op]->hashes;
}

/* Record `i` by itself. Of GCM, arrays have the rest; what is not there is refused. */
static enum gpuaes_status add_record(struct gpuaes_batch *batch, const struct gpuaes_message *all,
                                     const struct record *record, const unsigned char *iv, size_t i,
                                     uint32_t *key)
{
    struct gpuaes_message one = *all;
    one.in = record->in;
    one.out = record->out;
    one.len = record->len;
    one.iv = record->iv;
    if (!is_hashed(all))
        return add(batch, &one, key);
    one.iv = iv != NULL ? iv + i * all->iv_bytes : NULL;
    if (all->aad != NULL)
        one.aad = (const unsigned char *)all->aad + i * all->aad_bytes;
    if (all->tag != NULL)
        one.tag = all->tag + i * all->tag_bytes;
    return add(batch, &one, key);
}

enum gpuaes_status gpuaes_batch_gather(struct gpuaes_batch *batch,
                                       const struct gpuaes_message *message, size_t count,
                                       const size_t *at, const size_t *len, const unsigned char *iv,
                                       size_t *added)
{
    if (added != NULL)
        *added = 0;
    if (batch == NULL || message == NULL)
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status first = check_state(batch), status = first;
    const uint32_t messages = batch->messages;
    uint32_t key = NO_KEY, like = messages; /* the last message whose memory was looked at */
    const int hashed = is_hashed(message);
    const size_t data_bytes = hashed ? batch_gcm_data_bytes(message) : 0;
    size_t next = 0, i = 0;
    for (; status == GPUAES_OK && i < count; i++) {
        struct record one = {.in = message->in, .out = message->out};
        size_t offset = at != NULL ? at[i] : next;
        one.len = len != NULL ? len[i] : message->len;
        if (message->in != NULL) /* which is refused, as long as it stays so */
            one.in += offset;
        if (message->out != NULL)
            one.out += offset;
        if (iv != NULL && !hashed)
            one.iv = iv + i * GPUAES_BLOCK;
        next = offset + one.len;
        if (batch->messages != messages && (!hashed || batch_gcm_has_room(batch, data_bytes)) &&
            add_alike(batch, &batch->message[like], &one)) {
            if (hashed)
                batch_gcm_add_alike(batch, message, iv, i);
            continue;
        }
        uint32_t next_message = batch->messages;
        status = add_record(batch, message, &one, iv, i, &key);
        if (batch->messages != next_message)
            like = next_message;
        if (status == GPUAES_OK || !is_refusal(status))
            continue;
        if (first == GPUAES_OK)
            first = status;
        status = GPUAES_OK;
    }
    if (status != GPUAES_OK && i != 0)
        i--;
    if (added != NULL)
        *added = i;
    return status != GPUAES_OK ? status : first;
}

/* ---- Under way ---------------------------------------------------------------------------- */

/* The device failed before anything was begun. */
static void refuse_all(struct gpuaes_batch *batch)
{
    for (uint32_t i = 0; i < batch->messages; i++)
        batch->status[batch->message[i].number] = GPUAES_FAULT;
    batch->result = GPUAES_FAULT;
    batch->state = BATCH_DONE;
}

enum gpuaes_status gpuaes_batch_submit(struct gpuaes_batch *batch, unsigned flags)
{
    if (batch == NULL || batch->state != BATCH_OPEN)
        return GPUAES_BAD_ARGUMENT;
    if (batch->messages == 0) {
        batch->result = GPUAES_OK;
        batch->state = BATCH_DONE;
        return GPUAES_OK;
    }
    enum gpuaes_status status = batch_begin(batch, flags);
    if (batch->state == BATCH_UNDER_WAY)
        return GPUAES_OK;
    if (status == GPUAES_FAULT && batch->state == BATCH_OPEN)
        refuse_all(batch);
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

enum gpuaes_status gpuaes_batch_status(const struct gpuaes_batch *batch, size_t number)
{
    if (batch == NULL || number >= batch->numbers)
        return GPUAES_BAD_ARGUMENT;
    return (enum gpuaes_status)batch->status[number];
}
