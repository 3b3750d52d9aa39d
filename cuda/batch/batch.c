/*
 * Batches: their messages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/batch/batch.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/aes/aes.h"
#include "cuda/runtime/runtime.h"

/*
 * Of a slice at most. With this staging memory the stream sets of batches take 112 MiB, and what
 * others of calls take fits, together with that and keystream made ahead, into the usual cap.
 */
enum { SLICE_MESSAGES = 16384, SLICE_STAGING = 7 << 19, SLICE_BYTES = 1 << 30 };
/* A longer message of CBC encryption may make its slice too long for copies of pinned text. */
enum { COPIED_SERIAL_MESSAGE = 256 << 10 };
enum { KEY_ROOM = 32, XTS_KEY_ROOM = 64 };

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
    batch->numbers = batch->slices = 0;
    batch->has_like = 0;
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
        gpuaes_cleanse(group->key, group->key_limit);
        free(group->message);
        free(group->data);
        free(group->key);
    }
    free(batch->status);
    free(batch->group);
    free(batch->slice);
    free(batch);
}

/* Returns 0 if memory is short. Cleanses secrets that are outgrown. */
static int grow(void *array, size_t *limit, size_t count, size_t more, size_t size, int secret)
{
    enum { FIRST = 16 };
    void *old, *grown;
    const size_t grown_limit = (count + more) * 2 + FIRST;
    memcpy(&old, array, sizeof old);
    grown = secret ? malloc(grown_limit * size) : realloc(old, grown_limit * size);
    if (grown == NULL)
        return 0;
    if (secret && old != NULL) {
        memcpy(grown, old, count * size);
        gpuaes_cleanse(old, *limit * size);
        free(old);
    }
    memcpy(array, &grown, sizeof grown);
    *limit = grown_limit;
    /* cppcheck-suppress memleak ; *array has it */
    return 1;
}

/* Makes room in *array for `more` elements behind the first `count`; returns 0 if there is none. */
static inline int make_room(void *array, size_t *limit, size_t count, size_t more, size_t size)
{
    return more <= *limit - count || grow(array, limit, count, more, size, 0);
}

/* ---- What is wrong with a message ---------------------------------------------------- */

static inline uint64_t difference(const unsigned char *a, const unsigned char *b)
{
    uint64_t x[2], y[2];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    return (x[0] ^ y[0]) | (x[1] ^ y[1]);
}

/* In a time that does not depend on the keys, of 16, 24, 32 or 64 bytes. */
static inline int keys_are_equal(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    const size_t last = bytes - GPUAES_BLOCK;
    uint64_t differ = difference(a, b) | difference(a + last, b + last);
    for (size_t at = GPUAES_BLOCK; bytes > 2 * GPUAES_BLOCK && at < last; at += GPUAES_BLOCK)
        differ |= difference(a + at, b + at);
    return differ == 0;
}

static int is_bad_kind(const struct gpuaes_message *m, const struct gpuaes_mode *mode)
{
    if (mode == NULL || (m->key == NULL && (m->schedule == NULL || mode->pairs)))
        return 1;
    if (mode->pairs)
        return m->key_bytes != 32 && m->key_bytes != 64;
    if (mode->hashes && (m->iv_bytes == 0 || m->iv_bytes > GPUAES_BATCH_AAD_BYTES ||
                         !gcm_tag_size_is_valid(m->tag_bytes)))
        return 1;
    return !key_size_is_valid(m->key != NULL ? m->key_bytes : key_size_of(m->schedule->rounds));
}

/* Apart from its kind. */
static inline int is_bad(const struct gpuaes_message *m, const struct gpuaes_mode *mode)
{
    if (mode->hashes) {
        if (m->len > GPUAES_BATCH_DEVICE_BYTES || m->tag == NULL ||
            m->aad_bytes > GPUAES_BATCH_AAD_BYTES || (m->aad == NULL && m->aad_bytes != 0))
            return 1;
    } else if (mode->pairs) {
        if (m->len < GPUAES_BLOCK || m->len > GPUAES_QUEUE_UNIT_BYTES)
            return 1;
    } else if (m->len > GPUAES_BATCH_DEVICE_BYTES || m->len % GPUAES_BLOCK != 0) {
        return 1;
    }
    return (m->iv == NULL && mode->takes_iv) ||
           (m->in != m->out && memory_overlap(m->in, m->len, m->out, m->len));
}

/* There is nothing to be done. */
static int is_empty(const struct gpuaes_message *m)
{
    return m->len == 0 && !gpuaes_modes[m->op]->hashes;
}

/* ---- Memory -------------------------------------------------------------------------- */

static enum gpuaes_status ask(struct gpuaes_batch *batch, struct batch_memory *memory,
                              const void *p, size_t len)
{
    struct runtime_guard guard;
    struct device *device = runtime_enter_device(&guard);
    if (device == NULL)
        return GPUAES_NOT_READY;
    enum gpuaes_status status = memory_look(device, p, len, &memory->known);
    batch->asked++;
    runtime_leave_device(&guard, device);
    if (status != GPUAES_OK)
        return status;
    if (memory->known.bytes == 0) {
        memory->known.begin = memory_address(p);
        memory->known.bytes = len;
    }
    const int is_staged = memory->known.kind == GPUAES_PAGEABLE;
    memory->shift = is_staged ? 0 : memory->known.address - memory_address(p);
    return memory->known.kind == GPUAES_FOREIGN ? GPUAES_BAD_RANGE : GPUAES_OK;
}

static inline int is_known(const struct batch_memory *memory, const void *p, size_t len)
{
    const struct memory *known = &memory->known;
    return len <= known->bytes && memory_address(p) - known->begin <= known->bytes - len;
}

/* The device that owns memory of the batch, that of the message included; NULL: none yet. */
static inline struct device *owner_of(const struct gpuaes_batch *batch,
                                      const struct gpuaes_message *m)
{
    struct device *a = batch->memory[0].known.owner;
    struct device *b = batch->memory[m->in != m->out].known.owner;
    return batch->owner != NULL ? batch->owner : a != NULL ? a : b;
}

/*
 * Asks the driver, unless it has told of the allocations. All memory that has an owner has one: the
 * batch comes after the work of no other device.
 */
static enum gpuaes_status look(struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    struct batch_memory *in = &batch->memory[0], *out = &batch->memory[m->in != m->out];
    enum gpuaes_status status = GPUAES_OK;
    if (m->in == NULL || m->out == NULL)
        return GPUAES_BAD_ARGUMENT;
    if (!is_known(in, m->in, m->len))
        status = ask(batch, in, m->in, m->len);
    if (status == GPUAES_OK && !is_known(out, m->out, m->len))
        status = ask(batch, out, m->out, m->len);
    if (status != GPUAES_OK)
        return status;
    struct device *a = in->known.owner, *b = out->known.owner, *owner = owner_of(batch, m);
    if ((a != NULL && a != owner) || (b != NULL && b != owner) ||
        (m->len > GPUAES_BATCH_PAGEABLE_BYTES &&
         (in->known.kind == GPUAES_PAGEABLE || out->known.kind == GPUAES_PAGEABLE)))
        return GPUAES_BAD_ARGUMENT;
    return GPUAES_OK;
}

/* ---- Groups and slices ----------------------------------------------------------------- */

static int is_pinned(const struct batch_memory *memory)
{
    return memory->known.kind == GPUAES_PINNED && memory->shift == 0;
}

/* Finds the group of a message; where there is none, one without messages becomes it. */
static int find_group(struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    const struct gpuaes_mode *mode = gpuaes_modes[m->op];
    const struct batch_kind kind = {
        .op = m->op,
        .key_bytes = (uint32_t)(m->key != NULL ? m->key_bytes : key_size_of(m->schedule->rounds)),
        .iv_bytes = (uint32_t)(mode->hashes     ? m->iv_bytes
                               : mode->takes_iv ? GPUAES_BLOCK
                                                : 0),
        .tag_bytes = mode->hashes ? (uint32_t)m->tag_bytes : 0,
        .in_staged = m->len != 0 && batch->memory[0].known.kind == GPUAES_PAGEABLE,
        .out_staged = m->len != 0 && batch->memory[m->in != m->out].known.kind == GPUAES_PAGEABLE,
        .in_pinned = m->len != 0 && is_pinned(&batch->memory[0]),
        .out_pinned = m->len != 0 && is_pinned(&batch->memory[m->in != m->out])};
    size_t g, empty = batch->groups;
    for (g = 0; g < batch->groups && memcmp(&batch->group[g].kind, &kind, sizeof kind) != 0; g++)
        if (batch->group[g].messages == 0)
            empty = g;
    g = g == batch->groups ? empty : g;
    if (g == batch->groups) {
        if (g == GPUAES_BATCH_GROUPS ||
            !make_room(&batch->group, &batch->group_limit, g, 1, sizeof *batch->group))
            return 0;
        batch->group[batch->groups++] = (struct batch_group){0};
    }
    struct batch_group *group = &batch->group[g];
    group->kind = kind;
    group->mode = mode;
    group->key_room = mode->pairs ? XTS_KEY_ROOM : KEY_ROOM;
    group->tag_room = kind.op == GPUAES_GCM_DECRYPT ? GPUAES_BLOCK : 0;
    batch->last = g;
    batch->is_hashed |= mode->hashes;
    return 1;
}

/* ---- Adding ------------------------------------------------------------------------------ */

/* Whether a message has the kind, and memory, of the one before, and may be added. */
static inline int is_alike(const struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    const struct gpuaes_message *like = &batch->like;
    return batch->has_like && gpuaes_state() != GPUAES_FAILED && m->op == like->op &&
           m->key != NULL && m->len != 0 && m->key_bytes == like->key_bytes &&
           m->iv_bytes == like->iv_bytes && m->tag_bytes == like->tag_bytes &&
           (m->in == m->out) == (like->in == like->out) &&
           is_known(&batch->memory[0], m->in, m->len) &&
           (m->in == m->out || is_known(&batch->memory[1], m->out, m->len)) &&
           batch->numbers < batch->number_limit && /* which is no higher than that of messages */
           !is_bad(m, batch->group[batch->last].mode);
}

/* Looks at all of a message. With OK it has a group, the last one. */
static enum gpuaes_status prepare(struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    const struct gpuaes_mode *mode = mode_taken(m->op, TAKEN_BY_BATCH);
    if (gpuaes_state() == GPUAES_FAILED) /* also in a forked child, and where nothing is asked */
        return GPUAES_NOT_READY;
    if (batch->state != BATCH_OPEN)
        return GPUAES_BUSY;
    if (batch->numbers == GPUAES_BATCH_MESSAGES ||
        !make_room(&batch->status, &batch->number_limit, batch->numbers, 1, 1))
        return GPUAES_NO_MEMORY;
    if (batch->number_limit > GPUAES_BATCH_MESSAGES)
        batch->number_limit = GPUAES_BATCH_MESSAGES;
    if (is_bad_kind(m, mode) || is_bad(m, mode))
        return GPUAES_BAD_ARGUMENT;
    if (is_empty(m))
        return GPUAES_OK;
    batch->has_like = 0;
    enum gpuaes_status status = m->len != 0 ? look(batch, m) : GPUAES_OK;
    if (status == GPUAES_OK && !find_group(batch, m))
        status = GPUAES_NO_MEMORY;
    if (status == GPUAES_OK && m->len != 0) {
        batch->like = *m;
        batch->has_like = m->key != NULL; /* else nobody has looked at key_bytes */
    }
    return status;
}

static inline unsigned char *add_data(unsigned char *to, const void *data, size_t bytes)
{
    if (bytes == GPUAES_BLOCK) /* of a size that the compiler knows */
        memcpy(to, data, GPUAES_BLOCK);
    else if (bytes != 0)
        memcpy(to, data, bytes);
    return to + round_up(bytes, GPUAES_BLOCK);
}

static enum gpuaes_status add_key(struct batch_group *group, const unsigned char *key)
{
    const size_t bytes = group->kind.key_bytes, at = group->keys * group->key_room;
    if (group->mode->pairs && !group->mode->decrypts && /* as gpuaes_queue() does */
        keys_are_equal(key, key + bytes / 2, bytes / 2))
        return GPUAES_BAD_ARGUMENT;
    if (group->key_room > group->key_limit - at &&
        !grow(&group->key, &group->key_limit, at, group->key_room, 1, 1))
        return GPUAES_NO_MEMORY;
    memcpy(group->key + at, key, bytes);
    group->keys++;
    return GPUAES_OK;
}

/* Begins a slice with the next message of the last group, whose key is the group's last. */
static struct batch_slice *add_slice(struct gpuaes_batch *batch)
{
    struct batch_group *group = &batch->group[batch->last];
    if (!make_room(&batch->slice, &batch->slice_limit, batch->slices, 1, sizeof *batch->slice) ||
        batch->slice == NULL) /* which make_room() has set, but lint cannot know */
        return NULL;
    group->slice = batch->slices++;
    batch->slice[group->slice] = (struct batch_slice){.group = batch->last,
                                                      .message = group->messages,
                                                      .key_at = group->keys - 1,
                                                      .data_at = group->data_bytes};
    return &batch->slice[group->slice];
}

/* Adds a message of the last group. */
static inline enum gpuaes_status put(struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    struct batch_group *group = &batch->group[batch->last];
    const struct batch_kind *kind = &group->kind;
    /* A schedule begins with the key. */
    const unsigned char *key = m->key != NULL ? m->key : (const void *)m->schedule->encrypt;
    const int hashes = group->mode->hashes;
    size_t data = round_up(kind->iv_bytes, GPUAES_BLOCK);
    if (hashes)
        data += round_up(m->aad_bytes, GPUAES_BLOCK) + group->tag_room;
    if (!make_room(&group->message, &group->message_limit, group->messages, 1,
                   sizeof *group->message) ||
        !make_room(&group->data, &group->data_limit, group->data_bytes, data, 1))
        return GPUAES_NO_MEMORY;
    if (group->keys == 0 ||
        !keys_are_equal(key, group->key + (group->keys - 1) * group->key_room, kind->key_bytes)) {
        enum gpuaes_status status = add_key(group, key);
        if (status != GPUAES_OK)
            return status;
    }
    size_t staging = BATCH_MESSAGE_BYTES + data + group->key_room;
    if (kind->in_staged | kind->out_staged)
        staging += round_up(m->len, GPUAES_BLOCK);
    /* Copies would leave too few long serial messages under way: kernels reach more of them. */
    const int is_copied = (kind->in_pinned | kind->out_pinned) &&
                          !(group->mode->serial && m->len > COPIED_SERIAL_MESSAGE);
    const size_t most = is_copied ? batch_copied_bytes(group->mode) : SLICE_BYTES;
    struct batch_slice *slice = group->messages != 0 ? &batch->slice[group->slice] : NULL;
    if (slice == NULL || slice->count == SLICE_MESSAGES || slice->bytes + m->len > most ||
        slice->staging + staging > SLICE_STAGING)
        slice = add_slice(batch);
    if (slice == NULL)
        return GPUAES_NO_MEMORY;
    struct batch_message *own = &group->message[group->messages++];
    own->in = memory_address(m->in) + batch->memory[0].shift;
    own->out = memory_address(m->out) + batch->memory[m->in != m->out].shift;
    own->len = (uint32_t)m->len;
    own->number = (uint32_t)batch->numbers;
    own->data = (uint32_t)(group->data_bytes - slice->data_at);
    own->key = (uint32_t)(group->keys - 1 - slice->key_at);
    own->asked = batch->asked;
    if (hashes) {
        own->tag = m->tag;
        own->aad_bytes = (uint32_t)m->aad_bytes;
    }
    if (data != 0) { /* ECB has none, and no memory for it */
        unsigned char *to = add_data(group->data + group->data_bytes, m->iv, kind->iv_bytes);
        if (hashes)
            to = add_data(to, m->aad, m->aad_bytes);
        if (group->tag_room != 0)
            memcpy(to, m->tag, kind->tag_bytes);
    }
    group->data_bytes += data;
    slice->count++;
    slice->longest = own->len > slice->longest ? own->len : slice->longest;
    slice->bytes += m->len;
    slice->staging += staging;
    return GPUAES_OK;
}

/* A message that is not added has a number where it alone is refused. */
static enum gpuaes_status refuse(struct gpuaes_batch *batch, enum gpuaes_status status)
{
    if (status != GPUAES_OK) /* its memory need not stay */
        memset(batch->memory, 0, sizeof batch->memory);
    if (status == GPUAES_OK || status == GPUAES_BAD_ARGUMENT || status == GPUAES_BAD_RANGE)
        batch->status[batch->numbers++] = (unsigned char)status;
    return status;
}

enum gpuaes_status gpuaes_batch_add(struct gpuaes_batch *batch, const struct gpuaes_message *m)
{
    static const struct gpuaes_message none = {.op = (enum gpuaes_op)GPUAES_ALL_OPS};
    enum gpuaes_status status;
    if (batch == NULL)
        return GPUAES_BAD_ARGUMENT;
    if (m == NULL)
        m = &none;
    if (!is_alike(batch, m)) {
        status = prepare(batch, m);
        if (status != GPUAES_OK || is_empty(m))
            return refuse(batch, status);
    }
    status = put(batch, m);
    if (status != GPUAES_OK)
        return refuse(batch, status);
    batch->status[batch->numbers++] = GPUAES_BUSY;
    if (m->len != 0)
        batch->owner = owner_of(batch, m);
    return GPUAES_OK;
}

enum gpuaes_status gpuaes_batch_status(const struct gpuaes_batch *batch, size_t number)
{
    if (batch == NULL || number >= batch->numbers)
        return GPUAES_BAD_ARGUMENT;
    return (enum gpuaes_status)batch->status[number];
}
