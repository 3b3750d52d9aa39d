/*
 * Batches: their messages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/batch/batch.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/runtime/runtime.h"

/* ---- Open and close -------------------------------------------------------------- */

enum gpuaes_status gpuaes_batch_open(struct gpuaes_batch **batch)
{
    if (batch == NULL)
        return GPUAES_BAD_ARGUMENT;
    *batch = calloc(1, sizeof **batch);
    return *batch != NULL ? GPUAES_OK : GPUAES_NO_MEMORY;
}

void gpuaes_batch_reset(struct gpuaes_batch *batch)
{
    if (batch == NULL)
        return;
    if (batch->state == BATCH_UNDER_WAY)
        (void)batch_go_on(batch, 1);
    batch->state = BATCH_OPEN;
    for (size_t g = 0; g < batch->groups; g++)
        batch->group[g].messages = batch->group[g].data_bytes = batch->group[g].keys = 0;
    batch->messages = batch->numbers = 0;
    batch->owner = NULL;
    batch->is_hashed = 0;
    memset(batch->memory, 0, sizeof batch->memory);
}

void gpuaes_batch_close(struct gpuaes_batch *batch)
{
    if (batch == NULL)
        return;
    gpuaes_batch_reset(batch);
    for (size_t g = 0; g < batch->groups; g++) {
        struct batch_group *group = &batch->group[g];
        if (group->key != NULL)
            gpuaes_cleanse(group->key, group->key_room * sizeof *group->key);
        free(group->message);
        free(group->data);
        free(group->key);
    }
    free(batch->status);
    free(batch->group);
    free(batch->slice);
    free(batch);
}

int batch_grow(void *array, size_t *room, size_t count, size_t size)
{
    enum { FIRST_ROOM = 16 };
    void *old, *grown;
    if (count < *room)
        return 1;
    memcpy(&old, array, sizeof old);
    size_t grown_room = count < FIRST_ROOM ? FIRST_ROOM : count * 2;
    if ((grown = malloc(grown_room * size)) == NULL)
        return 0;
    if (*room != 0) {
        memcpy(grown, old, *room * size);
        gpuaes_cleanse(old, *room * size);
        free(old);
    }
    memcpy(array, &grown, sizeof grown);
    *room = grown_room;
    /* cppcheck-suppress memleak ; *array has it */
    return 1;
}

/* ---- Adding --------------------------------------------------------------------------- */

/* Asks the driver, unless it has told of the allocation; kernels see `p` at *at then. */
static enum gpuaes_status look(struct memory *memory, const void *p, size_t len, drv_ptr *at)
{
    struct runtime_guard guard;
    const drv_ptr address = memory_address(p);
    if (address < memory->begin || len > memory->bytes ||
        address - memory->begin > memory->bytes - len) {
        struct device *device = runtime_enter_device(&guard);
        if (device == NULL)
            return GPUAES_NOT_READY;
        enum gpuaes_status status = memory_look(device, p, len, memory);
        runtime_leave_device(&guard, device);
        if (status != GPUAES_OK)
            return status;
        if (memory->bytes == 0)
            memory->begin = address;
        memory->address -= address - memory->begin;
        memory->bytes = memory->bytes == 0 ? len : memory->bytes;
    }
    *at = memory->address + (address - memory->begin);
    return memory->kind == GPUAES_FOREIGN ? GPUAES_BAD_RANGE : GPUAES_OK;
}

/* All memory that has an owner has one: the batch comes after the work of no other device. */
static enum gpuaes_status look_at_text(struct gpuaes_batch *batch, const struct gpuaes_message *m,
                                       struct batch_message *own)
{
    struct memory *in = &batch->memory[0], *out = &batch->memory[m->in != m->out];
    enum gpuaes_status status = look(in, m->in, m->len, &own->in_at);
    if (status == GPUAES_OK)
        status = look(out, m->out, m->len, &own->out_at);
    if (status != GPUAES_OK)
        return status;
    own->in_staged = in->kind == GPUAES_PAGEABLE;
    own->out_staged = out->kind == GPUAES_PAGEABLE;
    struct device *owner = batch->owner != NULL ? batch->owner
                           : in->owner != NULL  ? in->owner
                                                : out->owner;
    if ((in->owner != NULL && in->owner != owner) || (out->owner != NULL && out->owner != owner) ||
        ((own->in_staged || own->out_staged) && m->len > GPUAES_BATCH_PAGEABLE_BYTES))
        return GPUAES_BAD_ARGUMENT;
    batch->owner = owner;
    return GPUAES_OK;
}

static int is_bad_gcm(const struct gpuaes_message *m)
{
    if (m->iv_bytes == 0 || m->iv_bytes > GPUAES_BATCH_AAD_BYTES ||
        m->aad_bytes > GPUAES_BATCH_AAD_BYTES || (m->aad == NULL && m->aad_bytes != 0))
        return 1;
    return m->tag == NULL || m->tag_bytes > GPUAES_BLOCK ||
           (m->tag_bytes < 12 && m->tag_bytes != 8 && m->tag_bytes != 4);
}

static size_t key_bytes_of(const struct gpuaes_message *m)
{
    return m->key != NULL ? m->key_bytes : key_size_of(m->schedule->rounds);
}

static int is_bad(const struct gpuaes_message *m)
{
    const struct gpuaes_mode *mode = m != NULL ? mode_taken(m->op, TAKEN_BY_BATCH) : NULL;
    if (mode == NULL)
        return 1;
    if ((m->len % GPUAES_BLOCK != 0 && !mode->hashes) || m->len > GPUAES_BATCH_DEVICE_BYTES ||
        (m->len != 0 && (m->in == NULL || m->out == NULL)) ||
        (m->in != m->out && memory_overlap(m->in, m->len, m->out, m->len)))
        return 1;
    if ((m->iv == NULL && mode->takes_iv) || (m->key == NULL && m->schedule == NULL))
        return 1;
    return (mode->hashes && is_bad_gcm(m)) || !key_size_is_valid(key_bytes_of(m));
}

/*
 * The group of a kind, which most messages have in common with the one before; where there is none,
 * one without messages becomes it. NULL: no memory.
 */
static struct batch_group *find_group(struct gpuaes_batch *batch, const struct batch_kind *kind)
{
    size_t g = batch->last, empty = batch->groups;
    if (g < batch->groups && memcmp(&batch->group[g].kind, kind, sizeof *kind) == 0)
        return &batch->group[g];
    for (g = 0; g < batch->groups && memcmp(&batch->group[g].kind, kind, sizeof *kind) != 0; g++)
        if (batch->group[g].messages == 0)
            empty = g;
    if (g == batch->groups && (g = empty) == batch->groups) {
        if (g == GPUAES_BATCH_GROUPS ||
            !batch_grow(&batch->group, &batch->group_room, g, sizeof *batch->group))
            return NULL;
        batch->group[batch->groups++] = (struct batch_group){.kind = *kind};
    }
    batch->group[g].kind = *kind;
    batch->last = (uint32_t)g;
    return &batch->group[g];
}

/* In a time that does not depend on the keys. */
static int keys_are_equal(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    uint64_t differ = 0, x, y;
    for (size_t i = 0; i < bytes; i += sizeof x) {
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        differ |= x ^ y;
    }
    return differ == 0;
}

/* Appends to the group's data, which has room. */
static void add_data(struct batch_group *group, const void *data, size_t bytes)
{
    if (bytes != 0)
        memcpy(group->data + group->data_bytes, data, bytes);
    group->data_bytes += round_up(bytes, GPUAES_BLOCK);
}

static enum gpuaes_status put(struct gpuaes_batch *batch, const struct gpuaes_message *m,
                              struct batch_message *own)
{
    const struct gpuaes_mode *mode = gpuaes_modes[m->op];
    struct batch_kind kind = {m->op, (uint32_t)key_bytes_of(m), mode->takes_iv ? GPUAES_BLOCK : 0,
                              0};
    if (mode->hashes) {
        kind.iv_bytes = (uint32_t)m->iv_bytes;
        kind.tag_bytes = (uint32_t)m->tag_bytes;
    }
    struct batch_group *group = find_group(batch, &kind);
    const size_t bytes = kind.iv_bytes + own->aad_bytes + (size_t)4 * GPUAES_BLOCK;
    if (group == NULL ||
        !batch_grow(&group->message, &group->message_room, group->messages, sizeof *own) ||
        !batch_grow(&group->key, &group->key_room, group->keys, sizeof *group->key) ||
        !batch_grow(&group->data, &group->data_room, group->data_bytes + bytes, 1))
        return GPUAES_NO_MEMORY;
    /* A schedule begins with the key. */
    const unsigned char *key =
        m->key != NULL ? m->key : (const unsigned char *)m->schedule->encrypt;
    if (group->keys == 0 || !keys_are_equal(key, group->key[group->keys - 1], kind.key_bytes))
        memcpy(group->key[group->keys++], key, kind.key_bytes);
    own->key = (uint32_t)group->keys - 1;
    own->data = group->data_bytes;
    add_data(group, m->iv, kind.iv_bytes);
    add_data(group, m->aad, own->aad_bytes);
    add_data(group, m->tag, own->tag == NULL ? kind.tag_bytes : 0);
    group->message[group->messages++] = *own;
    batch->messages++;
    batch->is_hashed |= mode->hashes;
    return GPUAES_OK;
}

static enum gpuaes_status take(struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    struct batch_message own = {.in = m->in,
                                .out = m->out,
                                .tag = m->op == GPUAES_GCM_ENCRYPT ? m->tag : NULL,
                                .len = (uint32_t)m->len,
                                .number = (uint32_t)batch->numbers};
    if (gpuaes_modes[m->op]->hashes)
        own.aad_bytes = (uint32_t)m->aad_bytes;
    enum gpuaes_status status = m->len != 0 ? look_at_text(batch, m, &own) : GPUAES_OK;
    if (status == GPUAES_OK)
        status = put(batch, m, &own);
    if (status != GPUAES_OK) /* its memory need not stay */
        memset(batch->memory, 0, sizeof batch->memory);
    return status;
}

/* Of the statuses, those that refuse one message. */
static int is_refusal(enum gpuaes_status status)
{
    return status == GPUAES_BAD_ARGUMENT || status == GPUAES_BAD_RANGE;
}

static enum gpuaes_status add(struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    enum gpuaes_status status = GPUAES_OK, known = GPUAES_BUSY;
    if (batch->numbers == GPUAES_BATCH_MESSAGES ||
        !batch_grow(&batch->status, &batch->number_room, batch->numbers, 1))
        return GPUAES_NO_MEMORY;
    if (is_bad(m))
        status = GPUAES_BAD_ARGUMENT;
    else if (m->len == 0 && !gpuaes_modes[m->op]->hashes)
        known = GPUAES_OK;
    else
        status = take(batch, m);
    if (status == GPUAES_OK || is_refusal(status))
        batch->status[batch->numbers++] = (unsigned char)(status == GPUAES_OK ? known : status);
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
    if (batch == NULL)
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = check_state(batch);
    return status == GPUAES_OK ? add(batch, message) : status;
}

/* What is not there is refused, as long as it stays so. */
static void *element(const void *array, size_t offset)
{
    return array != NULL ? (unsigned char *)(uintptr_t)array + offset : NULL;
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
    const struct gpuaes_mode *mode = mode_taken(message->op, TAKEN_BY_BATCH);
    const size_t iv_bytes = mode != NULL && mode->hashes ? message->iv_bytes : GPUAES_BLOCK;
    enum gpuaes_status first = check_state(batch), status = first;
    struct gpuaes_message one = *message;
    size_t next = 0, i = 0;
    for (; status == GPUAES_OK && i < count; i++) {
        const size_t offset = at != NULL ? at[i] : next;
        one.len = len != NULL ? len[i] : message->len;
        one.in = element(message->in, offset);
        one.out = element(message->out, offset);
        one.iv = element(iv, i * iv_bytes);
        one.aad = element(message->aad, i * message->aad_bytes);
        one.tag = element(message->tag, i * message->tag_bytes);
        next = offset + one.len;
        status = add(batch, &one);
        if (is_refusal(status)) {
            first = first == GPUAES_OK ? status : first;
            status = GPUAES_OK;
        }
    }
    if (added != NULL)
        *added = status == GPUAES_OK || i == 0 ? i : i - 1;
    return status != GPUAES_OK ? status : first;
}

enum gpuaes_status gpuaes_batch_status(const struct gpuaes_batch *batch, size_t number)
{
    if (batch == NULL || number >= batch->numbers)
        return GPUAES_BAD_ARGUMENT;
    return (enum gpuaes_status)batch->status[number];
}
