/*
 * Slices of a batch, and how their messages are laid out.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "cuda/batch/batch.h"

/*
 * A slice is what the bus moves in a third of a millisecond: with four of them under
 * way, copies each way and kernels run side by side.
 */
enum { SLICE_BUFFER = 16 << 20 };
/*
 * With it the stream sets of batches take 112 MiB, and what others of calls take fits, together
 * with that and keystream made ahead, into the usual cap.
 */
enum { SLICE_STAGING = 7 << 19 };
#define SLICE_BLOCKS ((uint32_t)1 << 26)
/* Below, or where messages are scattered, a copy for each costs more than the bus. */
enum { ZERO_COPY_MAX = 1 << 20, ZERO_COPY_RUN = 64 << 10 };
enum { SCHEDULE_BYTES = AES_BATCH_KEY_WORDS * 4, POWERS_BYTES = GCM_BATCH_POWERS * GPUAES_BLOCK };
enum { COUNTERS = BATCH_GROUPS * 16 };
enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

/* ---- Slices ----------------------------------------------------------------------- */

/* How a side of a message gets to and from the kernels. */
static enum path choose_path(const struct gpuaes_batch *batch, const struct batch_message *message,
                             enum gpuaes_memory kind)
{
    if (message->bytes == 0)
        return PATH_NONE;
    if (kind == GPUAES_DEVICE)
        return PATH_ZERO_COPY;
    if (kind == GPUAES_PAGEABLE)
        return PATH_STAGED;
    if (!batch->zero_copy)
        return PATH_DMA;
    if ((message->flags & (MESSAGE_SERIAL | MESSAGE_HASHED)) == 0)
        return PATH_ZERO_COPY;
    /* A block after the other, each would wait for the bus; what is hashed passes it twice. */
    int is_long = message->bytes >= ZERO_COPY_RUN;
    return is_long || batch->pinned_bytes <= ZERO_COPY_MAX ? PATH_DMA : PATH_STAGED;
}

/* Finds the message's paths, and places in the memory of the slice, which then has more of it. */
static void place_message(const struct gpuaes_batch *batch, struct batch_message *m,
                          struct batch_slice *slice)
{
    enum path in = choose_path(batch, m, m->in_kind), out = choose_path(batch, m, m->out_kind);
    size_t bytes = round_up(m->bytes, GPUAES_BLOCK);
    m->in_path = (unsigned char)in;
    m->out_path = (unsigned char)out;
    m->buffer = (uint32_t)slice->buffer;
    m->staging = (uint32_t)slice->staging;
    if (in != PATH_ZERO_COPY || out != PATH_ZERO_COPY)
        slice->buffer += bytes;
    if (in == PATH_STAGED || out == PATH_STAGED)
        slice->staging += bytes;
}

/* After `before`, as much as fits; one message always does. */
static struct batch_slice next_slice(const struct gpuaes_batch *batch, const struct device *device,
                                     const struct batch_slice *before)
{
    const int many_keys = batch->keys.used > 1, gcm = batch->gcms != 0;
    const size_t key_bytes = sizeof(struct aes_batch_key);
    const size_t message_plan =
        sizeof(struct aes_batch_message) + sizeof(uint32_t) + (many_keys ? key_bytes : 0);
    struct batch_slice slice = {.begin = before->end,
                                .end = before->end,
                                .gcm_begin = before->gcm_end,
                                .gcm_end = before->gcm_end,
                                .plan = COUNTERS + BATCH_GROUPS * sizeof(uint32_t) + GPUAES_BLOCK};
    if (gcm) /* it needs an only key on the device, too */
        slice.plan += BATCH_GCM_PLAN_BYTES + (many_keys ? 0 : key_bytes);
    while (slice.end < batch->messages && slice.end - slice.begin < SLICE_MESSAGES) {
        struct batch_message *m = &batch->message[slice.end];
        struct batch_slice grown = slice;
        grown.plan += message_plan;
        grown.blocks += m->device.blocks;
        grown.end++;
        if (m->flags & MESSAGE_HASHED)
            grown.plan += batch_gcm_plan_bytes(&batch->gcm[grown.gcm_end++]);
        if (batch->on_host)
            place_message(batch, m, &grown);
        if ((grown.buffer > SLICE_BUFFER || grown.plan + grown.staging > SLICE_STAGING ||
             grown.blocks > SLICE_BLOCKS) &&
            slice.end != slice.begin)
            break;
        slice = grown;
    }
    slice.plan = round_up(slice.plan, GPUAES_BLOCK);
    size_t gcms = slice.gcm_end - slice.gcm_begin;
    size_t keys = many_keys ? slice.end - slice.begin : gcms != 0;
    slice.schedules = keys * SCHEDULE_BYTES;
    slice.states = gcms * sizeof(struct gcm_batch_state);
    if (gcms != 0) /* each key to encrypt and to decrypt */
        slice.powers = min_u64(keys, batch->keys.used * (size_t)2) * POWERS_BYTES;
    slice.chain = kernels_batch_chain_bytes(&device->kernels, slice.blocks);
    return slice;
}

static int add_slice(struct gpuaes_batch *batch, const struct batch_slice *slice)
{
    if (batch->slices == batch->slice_room) {
        uint32_t room = batch->slice_room == 0 ? 16 : batch->slice_room * 2;
        struct batch_slice *grown = realloc(batch->slice, room * sizeof *grown);
        if (grown == NULL)
            return 0;
        batch->slice = grown;
        batch->slice_room = room;
    }
    batch->slice[batch->slices++] = *slice;
    return 1;
}

int batch_cut(struct gpuaes_batch *batch, const struct device *device,
              struct stream_set_needs *needs)
{
    memset(needs, 0, sizeof *needs);
    batch->zero_copy = batch->pinned_bytes <= ZERO_COPY_MAX ||
                       batch->pinned_bytes / batch->pinned_runs < ZERO_COPY_RUN;
    batch->slices = 0;
    struct batch_slice slice = {0};
    while (slice.end < batch->messages) {
        slice = next_slice(batch, device, &slice);
        if (!add_slice(batch, &slice))
            return 0;
        raise_size(&needs->buffer[0], round_up(slice.buffer, BUFFER_ROUNDING));
        raise_size(&needs->staging, round_up(slice.plan + slice.staging, BUFFER_ROUNDING));
        raise_size(&needs->scratch, round_up(slice.plan + slice.schedules + slice.states +
                                                 slice.powers + slice.chain,
                                             BUFFER_ROUNDING));
    }
    needs->slots = min_unsigned(batch->slices, STREAM_SET_SLOTS);
    return 1;
}

/* ---- Order of serial messages --------------------------------------------------------- */

static uint32_t digit(const struct gpuaes_batch *batch, uint32_t message, unsigned shift)
{
    return DIGITS - 1 - (batch->message[message].device.blocks >> shift & (DIGITS - 1));
}

/* One pass of a radix sort, by which longer ones come first. */
static void sort_by(struct gpuaes_batch *batch, uint32_t count, unsigned shift)
{
    uint32_t at[DIGITS + 1] = {0}, *swapped = batch->order;
    for (uint32_t i = 0; i < count; i++)
        at[digit(batch, batch->order[i], shift) + 1]++;
    for (int i = 0; i < DIGITS; i++)
        at[i + 1] += at[i];
    for (uint32_t i = 0; i < count; i++)
        batch->order_too[at[digit(batch, batch->order[i], shift)]++] = batch->order[i];
    batch->order = batch->order_too;
    batch->order_too = swapped;
}

static void sort_serial(struct gpuaes_batch *batch, uint32_t count)
{
    uint32_t longest = 0, shortest = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t blocks = batch->message[batch->order[i]].device.blocks;
        longest = blocks > longest ? blocks : longest;
        shortest = blocks < shortest ? blocks : shortest;
    }
    if (longest == shortest)
        return;
    for (unsigned shift = 0; shift < 32 && longest >> shift != 0; shift += DIGIT_BITS)
        sort_by(batch, count, shift);
}

/* ---- Layout ------------------------------------------------------------------------------ */

struct layout {
    struct gpuaes_batch *batch;
    const struct batch_slice *slice;
    struct slot *slot;
    struct batch_group *group;
    struct batch_gcm_layout *gcm;
    unsigned char *plan;
    size_t keys_at;
    drv_ptr gcm_data; /* where kernels would find offset 0 of the batch's data */
    uint32_t gcms[2]; /* of messages of GCM, encrypted and decrypted, that are laid out */
    uint32_t keys;    /* that are laid out */
    uint32_t parallel[BATCH_GROUPS], blocks[BATCH_GROUPS]; /* of messages that are */
};

/* Numbers of each group; the serial messages are left in `order`. */
static uint32_t count_groups(struct layout *l)
{
    struct gpuaes_batch *batch = l->batch;
    uint32_t serial = 0;
    memset(l->group, 0, BATCH_GROUPS * sizeof *l->group);
    for (uint32_t i = l->slice->begin; i < l->slice->end; i++) {
        const struct batch_message *m = &batch->message[i];
        struct batch_group *group = &l->group[m->group];
        if (group->parallel + group->serial == 0)
            group->key = m->device.key;
        group->many |= group->key != m->device.key;
        if (m->flags & MESSAGE_SERIAL) {
            group->serial++;
            if (group->longest < m->device.blocks)
                group->longest = m->device.blocks;
            batch->order[serial++] = i;
        } else {
            group->parallel++;
            group->blocks += m->device.blocks;
        }
    }
    return serial;
}

/* Of each serial message of the slice, which one of its group it is. */
static void rank_serial(struct layout *l, uint32_t count)
{
    struct gpuaes_batch *batch = l->batch;
    uint32_t ranked[BATCH_GROUPS] = {0};
    sort_serial(batch, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t message = batch->order[i];
        batch->order_too[message - l->slice->begin] = ranked[batch->message[message].group]++;
    }
}

/* Messages of all groups, counters, prefix sums, keys. */
static void place_groups(struct layout *l)
{
    size_t count = l->slice->end - l->slice->begin, messages = 0;
    size_t taken = count * sizeof(struct aes_batch_message), first = taken + COUNTERS;
    memset(l->plan + taken, 0, COUNTERS);
    for (int g = 0; g < BATCH_GROUPS; g++) {
        struct batch_group *group = &l->group[g];
        group->messages = messages;
        group->first = first;
        group->taken = taken;
        messages += (size_t)(group->parallel + group->serial) * sizeof(struct aes_batch_message);
        first += ((size_t)group->parallel + 1) * sizeof(uint32_t);
        taken += GPUAES_BLOCK;
    }
    l->keys_at = round_up(first, GPUAES_BLOCK);
}

/* The place of a message's key among those of the slice. */
static uint32_t lay_out_key(struct layout *l, const struct batch_message *m)
{
    struct batch_key *key = &l->batch->keys.key[m->device.key];
    int decrypts = m->group >= KEY_SIZES;
    uint32_t *place = &key->place[decrypts];
    if (key->stamp[decrypts] != l->batch->stamp) {
        key->stamp[decrypts] = l->batch->stamp;
        *place = l->keys++;
        struct aes_batch_key *to = (struct aes_batch_key *)(l->plan + l->keys_at) + *place;
        memcpy(to->words, key->bytes, sizeof to->words);
        to->rounds = key->rounds;
        to->decrypts = (uint32_t)decrypts;
        to->hashes = 0;
    }
    return *place;
}

/* What the next message of GCM has besides; `device` is the offset of it in the plan. */
static void lay_out_gcm(struct layout *l, uint32_t key, size_t device)
{
    const struct batch_gcm *gcm = &l->batch->gcm[l->slice->gcm_begin + l->gcms[0] + l->gcms[1]];
    int decrypts = gcm->tag == NULL;
    uint32_t number = l->gcms[decrypts]++, *chunks = &l->gcm->chunks[decrypts];
    struct gcm_batch_message *to =
        (struct gcm_batch_message *)(l->plan + l->gcm->messages[decrypts]) + number;
    uint32_t *first = (uint32_t *)(l->plan + l->gcm->first[decrypts]) + number;
    first[0] = *chunks;
    *chunks += gcm->blocks <= l->gcm->each ? 1 : (gcm->blocks + l->gcm->each - 1) / l->gcm->each;
    first[1] = *chunks;
    *to = gcm->device;
    to->message = (uint32_t)device;
    to->iv += l->gcm_data;
    to->aad += l->gcm_data;
    to->key = key;
}

/* The place of the key of a message of GCM. */
static uint32_t lay_out_gcm_key(struct layout *l, const struct batch_message *m)
{
    uint32_t key = lay_out_key(l, m);
    ((struct aes_batch_key *)(l->plan + l->keys_at))[key].hashes = 1;
    return key;
}

/* Its number in the group. */
static uint32_t number_message(struct layout *l, const struct batch_message *m, uint32_t i)
{
    struct batch_group *group = &l->group[m->group];
    if (m->flags & MESSAGE_SERIAL)
        return group->parallel + l->batch->order_too[i - l->slice->begin];
    uint32_t number = l->parallel[m->group]++;
    ((uint32_t *)(l->plan + group->first))[number] = l->blocks[m->group];
    l->blocks[m->group] += m->device.blocks;
    return number;
}

/* Writes it as kernels see it in a slot that has `buffer`. Returns 1 if it is chained, in place. */
static int write_message(struct aes_batch_message *to, const struct batch_message *m,
                         drv_ptr buffer)
{
    *to = m->device;
    if (m->in_path != PATH_ZERO_COPY)
        to->in = buffer + m->buffer;
    if (m->out_path != PATH_ZERO_COPY)
        to->out = buffer + m->buffer;
    return (m->flags & MESSAGE_CHAINED) != 0 && to->in == to->out;
}

static void lay_out_message(struct layout *l, uint32_t i)
{
    const struct batch_message *m = &l->batch->message[i];
    struct batch_group *group = &l->group[m->group];
    struct aes_batch_message *to =
        (struct aes_batch_message *)(l->plan + group->messages) + number_message(l, m, i);
    group->chained |= write_message(to, m, l->slot->buffer[0]);
    if (group->many)
        to->key = lay_out_key(l, m);
    if (m->flags & MESSAGE_HASHED)
        lay_out_gcm(l, lay_out_gcm_key(l, m), (size_t)((unsigned char *)to - l->plan));
}

/* All messages, if they are of one group, parallel, and have one key. */
static int lay_out_alike(struct layout *l)
{
    const struct batch_message *m = &l->batch->message[l->slice->begin];
    struct batch_group *group = &l->group[m->group];
    const drv_ptr buffer = l->slot->buffer[0];
    uint32_t count = l->slice->end - l->slice->begin, blocks = 0;
    struct aes_batch_message *to = (struct aes_batch_message *)(l->plan + group->messages);
    uint32_t *first = (uint32_t *)(l->plan + group->first);
    uint32_t gcms = l->slice->gcm_end - l->slice->gcm_begin;
    if (group->parallel != count || group->many || (gcms != 0 && gcms != count))
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        group->chained |= write_message(&to[i], &m[i], buffer);
        first[i] = blocks;
        blocks += m[i].device.blocks;
    }
    l->blocks[m->group] = blocks;
    uint32_t key = gcms != 0 ? lay_out_gcm_key(l, m) : 0;
    for (uint32_t i = 0; i < gcms; i++)
        lay_out_gcm(l, key, group->messages + i * sizeof *to);
    return 1;
}

void batch_lay_out(struct gpuaes_batch *batch, const struct batch_slice *slice, struct slot *slot,
                   struct batch_layout *layout)
{
    struct batch_group *group = layout->group;
    struct layout l = {.batch = batch,
                       .slice = slice,
                       .slot = slot,
                       .group = group,
                       .gcm = &layout->gcm,
                       .plan = slot->staging};
    batch->stamp++;
    uint32_t serial = count_groups(&l);
    place_groups(&l);
    if (slice->gcm_begin != slice->gcm_end) {
        l.keys_at = batch_gcm_place(batch, slice, l.plan, l.keys_at, l.gcm);
        l.gcm_data = slot->scratch + l.gcm->data - batch->gcm[slice->gcm_begin].device.iv;
    }
    rank_serial(&l, serial);
    if (!lay_out_alike(&l))
        for (uint32_t i = slice->begin; i < slice->end; i++)
            lay_out_message(&l, i);
    for (int g = 0; g < BATCH_GROUPS; g++)
        memcpy(l.plan + group[g].first + group[g].parallel * sizeof(uint32_t), &l.blocks[g],
               sizeof(uint32_t));
    layout->keys = l.keys_at;
    layout->key_count = l.keys;
    layout->bytes = l.keys_at + l.keys * sizeof(struct aes_batch_key);
}
