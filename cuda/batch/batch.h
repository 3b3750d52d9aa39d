/*
 * Batches, inside: the messages (batch.c), how they are laid out for a device
 * (layout.c), the work of some of them (slice.c), and of all (run.c); what those of GCM
 * have besides (gcm.c).
 *
 * A batch is cut into slices of messages that follow each other. While it is under
 * way it has a stream set; each slice goes through a slot of it: copies in, kernels,
 * copies out. Up to STREAM_SET_SLOTS slices are under way at once, fewer where memory for
 * them is short. Kernels end within some milliseconds: long messages of CBC encryption
 * take several, each of which is queued when the one before is done.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_BATCH_BATCH_H
#define GPUAES_CUDA_BATCH_BATCH_H

#include "cuda/batch/keys.h"
#include "cuda/transfer/transfer.h"

enum { SLICE_MESSAGES = 16384 };
/* Messages of one table and key size share a launch. */
enum { BATCH_GROUPS = 2 * KEY_SIZES };

/*
 * Of the mode, what laying out a message asks several times. FOLLOWS_IN, FOLLOWS_OUT: the memory
 * is pinned, and that of the message before ends where it begins, in the same allocation.
 */
enum {
    MESSAGE_SERIAL = 1,
    MESSAGE_CHAINED = 2,
    MESSAGE_HASHED = 4,
    MESSAGE_FOLLOWS_IN = 8,
    MESSAGE_FOLLOWS_OUT = 16
};

struct batch_message {
    struct aes_batch_message device; /* with memory as kernels see it, and the number of the key */
    const unsigned char *in;         /* as the CPU sees it, or not */
    unsigned char *out;
    uint32_t number, bytes;
    uint32_t buffer, staging; /* once the batch is cut: its places in the memory of its slice */
    unsigned char flags, group, in_kind, out_kind;
    unsigned char in_path, out_path; /* enum path; in host memory once the batch is cut */
};

/* What a message of GCM has besides. They are in the order of the messages. */
struct batch_gcm {
    struct gcm_batch_message device; /* `iv`, `aad`: offsets in the batch's data; no `key` */
    unsigned char *tag;              /* to write; NULL: it is decrypted */
    uint32_t message;                /* its place in the batch's messages */
    uint32_t blocks;                 /* that are hashed: additional data, text, lengths */
};

/* How those of a slice are laid out, of encryption [0] and decryption [1]. */
struct batch_gcm_layout {
    size_t messages[2], first[2], data; /* offsets in the plan's memory */
    size_t results;                     /* in staging memory */
    uint32_t count[2], chunks[2];       /* messages; chunks of those that are laid out */
    uint32_t each, levels;              /* blocks of a chunk at most */
};

/* The messages of one launch. */
struct batch_group {
    uint32_t parallel, serial, blocks; /* messages; blocks of the parallel ones */
    uint32_t key;                      /* of the first message */
    int many;                          /* keys */
    uint32_t longest;                  /* blocks of the first of the serial ones */
    int chained;                       /* CBC decryption in place */
    size_t messages, first, taken;     /* offsets in the plan's memory */
};
struct batch_layout {
    struct batch_group group[BATCH_GROUPS];
    struct batch_gcm_layout gcm;
    size_t keys, bytes; /* offset of the keys; all of it */
    uint32_t key_count;
};

struct batch_slice {
    uint32_t begin, end;    /* messages */
    uint32_t blocks;        /* of all of them */
    size_t buffer, staging; /* bytes that go through them */
    size_t plan;            /* bytes at most that are uploaded; after them, on the device: */
    size_t schedules, states, powers, chain;
    uint32_t gcm_begin, gcm_end; /* messages of GCM */
};

struct batch_flight {
    int queued;                 /* all of a slice's work is */
    int launched, copies_out;   /* kernels, copies may write to the callers' memory */
    uint32_t from;              /* serial messages: blocks that are queued or done */
    struct batch_layout layout; /* what is left to queue */
};

/* Memory that the driver has told of, so that it is asked once of an allocation. */
struct batch_range {
    drv_ptr begin, end; /* for the CPU */
    drv_ptr address;    /* of `begin`, as kernels see it */
    enum gpuaes_memory kind;
};

enum batch_state { BATCH_OPEN, BATCH_UNDER_WAY, BATCH_DONE };

struct gpuaes_batch {
    enum batch_state state;
    struct batch_message *message; /* those that are not refused and not empty */
    unsigned char *status;         /* of every number */
    uint32_t messages, message_room, numbers, number_room;
    struct batch_slice *slice;
    uint32_t slices, slice_room;
    struct batch_gcm *gcm;
    unsigned char *data; /* IVs and additional data, each padded to whole blocks */
    size_t data_bytes, data_room;
    uint32_t gcms, gcm_room, gcm_decrypts;
    uint32_t gcm_longest; /* blocks that are hashed */
    struct batch_keys keys;
    uint64_t stamp;              /* of the last layout of keys */
    uint32_t *order, *order_too; /* serial messages of a slice, to sort them */
    struct batch_range range[2]; /* of input, of output */
    struct device *owner;        /* of device memory; NULL: any device will do, */
    struct device *managed;      /* preferably that of managed memory, if not NULL */
    uint64_t pinned_bytes, pinned_runs;
    int on_device, on_host; /* a message is in device memory; one is not */

    struct device *device; /* from here on: while it is under way */
    struct stream_set *set;
    uint32_t slots; /* of the stream set that slices go through */
    struct batch_flight flight[STREAM_SET_SLOTS];
    uint32_t submitted, finished; /* slices */
    int zero_copy;                /* kernels themselves reach pinned memory */
    int64_t progress_ns;          /* when something was last done */
    uint64_t done_bytes;
    enum gpuaes_status result; /* the worst of a message so far */
};

/* ---- layout.c ---- */

/*
 * Cuts the batch into slices, finds paths and places of messages, and sets what a stream set needs.
 * Returns 0 if memory is short.
 */
int batch_cut(struct gpuaes_batch *batch, const struct device *device,
              struct stream_set_needs *needs);

/* Raises *most to a value that is larger. */
static inline void raise_size(size_t *most, size_t value)
{
    if (*most < value)
        *most = value;
}

/*
 * Lays out the arguments of a slice's kernels in the slot's staging memory, as they
 * will be in its scratch memory: `plan` bytes at most. `layout` is filled in.
 */
void batch_lay_out(struct gpuaes_batch *batch, const struct batch_slice *slice, struct slot *slot,
                   struct batch_layout *layout);

/* ---- slice.c ---- */

/* The slot and the progress of a slice that is under way. */
struct slot *batch_slot(const struct gpuaes_batch *batch, uint32_t slice);
struct batch_flight *batch_flight_of(struct gpuaes_batch *batch, uint32_t slice);

/*
 * The first queues the work of a slice. The second queues its next step once the last one is done,
 * while its flight is not `queued`. Both record the slot's event afterwards.
 */
drv_result batch_slice_begin(struct gpuaes_batch *batch, uint32_t slice);
drv_result batch_slice_go_on(struct gpuaes_batch *batch, uint32_t slice);

/* Call when all of a slice's work is done. */
void batch_slice_deliver(struct gpuaes_batch *batch, uint32_t slice);

/*
 * Wipes the messages' data in the slots; queued, not waited for. After a fault,
 * also the keys that the slices may not have wiped.
 */
drv_result batch_wipe(const struct gpuaes_batch *batch, int failed);

/* ---- gcm.c ---- */

/* Returns 1 if what GCM has besides other modes is bad. */
int batch_gcm_is_bad(const struct gpuaes_message *message);

/* Bytes of the batch's data that a message takes. */
size_t batch_gcm_data_bytes(const struct gpuaes_message *message);

/* Returns 1 if there is memory for one message more that takes so much data, or 0. */
int batch_gcm_has_room(struct gpuaes_batch *batch, size_t data_bytes);

/* Writes the counter block of the first text; 0 where kernels are to compute it. */
void batch_gcm_counter(const struct gpuaes_message *message, unsigned char counter[GPUAES_BLOCK]);

/* Makes the last message one of GCM. There is room. */
void batch_gcm_add(struct gpuaes_batch *batch, const struct gpuaes_message *message);

/* Does so for record `i` of gathered ones, which was copied from the record before. */
void batch_gcm_add_alike(struct gpuaes_batch *batch, const struct gpuaes_message *records,
                         const unsigned char *iv, size_t i);

/* Where its IV and additional data end in the batch's data. */
static inline size_t batch_gcm_data_end(const struct batch_gcm *gcm)
{
    return gcm->device.aad + round_up(gcm->device.aad_bytes, GPUAES_BLOCK);
}

/* Bytes at most that a slice's plan has of a message of GCM, and of all of them together. */
enum { BATCH_GCM_PLAN_BYTES = 2 * sizeof(uint32_t) + GPUAES_BLOCK };
static inline size_t batch_gcm_plan_bytes(const struct batch_gcm *gcm)
{
    return sizeof(struct gcm_batch_message) + GPUAES_BLOCK + sizeof(uint32_t) +
           (batch_gcm_data_end(gcm) - gcm->device.iv);
}

/*
 * Finds places for messages of GCM from offset `at` of the plan on, and lays out their data.
 * Returns the offset behind all of it.
 */
size_t batch_gcm_place(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                       unsigned char *plan, size_t at, struct batch_gcm_layout *layout);

/* Queue what comes before the text, and after it. */
drv_result batch_gcm_before(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                            const struct slot *slot, const struct batch_layout *layout);
drv_result batch_gcm_after(const struct gpuaes_batch *batch, const struct batch_slice *slice,
                           const struct slot *slot, const struct batch_layout *layout);

/* Writes tags, and the status of messages whose tag is wrong. */
void batch_gcm_deliver(struct gpuaes_batch *batch, const struct batch_slice *slice,
                       const struct slot *slot, const struct batch_gcm_layout *layout);

/* ---- run.c ---- */

enum gpuaes_status batch_begin(struct gpuaes_batch *batch, unsigned flags);
enum gpuaes_status batch_go_on(struct gpuaes_batch *batch, int wait);

#endif
