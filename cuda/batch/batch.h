/*
 * Batches, inside: the messages (batch.c), and their way through the device (run.c).
 *
 * Messages that are alike form a group, which is cut into slices as they are added. Arrays describe
 * the messages of a slice to the kernels of gpuaes_queue(), one launch does them. While the batch
 * is under way it has a stream set; each slice goes through a slot of it: copy in, kernels, copy
 * out. Up to STREAM_SET_SLOTS slices are under way at once, fewer where memory for them is short.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_BATCH_BATCH_H
#define GPUAES_CUDA_BATCH_BATCH_H

#include "cuda/launch/mode.h"
#include "cuda/memory/memory_kind.h"

/* Of a message in staging memory: an element of each array, tag and status. */
enum { BATCH_ARRAYS = 8, BATCH_MESSAGE_BYTES = BATCH_ARRAYS * 8 + GPUAES_BLOCK + 4 };

/* What the driver has told of memory; kernels see `p` at `p` + shift. */
struct batch_memory {
    struct memory known;
    drv_ptr shift;
};

/* A message that is neither refused nor empty. It is written once, without a copy elsewhere. */
struct batch_message {
    drv_ptr in, out;    /* as kernels see them; of a group's staged side as the CPU does */
    unsigned char *tag; /* of GCM */
    uint32_t len, aad_bytes, number;
    uint32_t data, key; /* of the slice: offset of IV, additional data and tag; number of the key */
    uint32_t asked;     /* those with the same number are in the same allocations */
};

/* What the messages of a group have in common. */
struct batch_kind {
    enum gpuaes_op op;
    uint32_t key_bytes, iv_bytes, tag_bytes;
    uint8_t in_staged, out_staged; /* that side is in pageable memory */
    uint8_t in_pinned, out_pinned; /* in memory that copy engines reach at the same address */
};

struct batch_group {
    struct batch_kind kind;
    const struct gpuaes_mode *mode;
    uint32_t key_room, tag_room; /* bytes of a key in `key`, and of a tag in `data` */
    struct batch_message *message;
    unsigned char *data; /* IVs, additional data, and tags to compare, of whole blocks */
    unsigned char *key;  /* one for messages that follow each other */
    size_t messages, data_bytes, keys, message_limit, data_limit, key_limit;
    size_t slice; /* number of the last one */
};

/*
 * Returns the most bytes of text in a slice whose pinned side is copied. CBC encryption is as fast
 * as copies only with a thousand messages or more under way at once; other modes need a few.
 */
static inline size_t batch_copied_bytes(const struct gpuaes_mode *mode)
{
    return (size_t)(mode->serial ? 64 : 8) << 20;
}

/*
 * A slot's staging memory has keys, staged text, arrays and data, all of which goes to the scratch
 * memory, and results, which kernels write through the bus: tags of 16 bytes, statuses. Buffer 0
 * has pinned text that is copied.
 */
struct batch_slice {
    size_t group, message, key_at, data_at; /* the first message, and what it has in the group */
    uint32_t count, longest, keys;
    size_t bytes;
    size_t copied;                            /* bytes of buffer 0; 0: kernels reach the text */
    size_t staging;                           /* bytes of it, at most */
    size_t text, arrays, data, results, temp; /* offsets; temporary memory is in the scratch */
};

struct batch_flight {
    int may_write, queued; /* the device, to the callers' memory; all of its work is queued */
    uint32_t from;         /* CBC encryption: bytes of each message that are queued or done */
};

enum batch_state { BATCH_OPEN, BATCH_UNDER_WAY, BATCH_DONE };

struct gpuaes_batch {
    enum batch_state state;
    unsigned char *status; /* of every number */
    struct batch_group *group;
    struct batch_slice *slice;
    size_t numbers, groups, slices, number_limit, group_limit, slice_limit;
    size_t last;                   /* group that had a message */
    struct batch_memory memory[2]; /* of the last input and output */
    uint32_t asked;                /* how often the driver was, about them */
    int has_like;                  /* the last group has messages of these sizes: */
    struct gpuaes_message like;
    struct device *owner; /* of device and managed memory; NULL: any device will do */
    int is_hashed;

    struct device *device; /* from here on: while it is under way */
    struct stream_set *set;
    struct stream_set_needs needs, secret; /* secret: bytes of each slot that are wiped */
    uint32_t slots;                        /* of the stream set that slices go through */
    struct batch_flight flight[STREAM_SET_SLOTS];
    size_t submitted, finished; /* slices */
    int64_t progress_ns;        /* when something was last done */
    uint64_t done_bytes;
    enum gpuaes_status result; /* the worst of a message so far */
};

/* ---- run.c ---- */

enum gpuaes_status batch_go_on(struct gpuaes_batch *batch, int wait);

#endif
