/*
 * Batches, inside: the messages (batch.c), and their way through the device (run.c).
 *
 * Messages that are alike form a group, which is cut into slices. Arrays describe the messages of a
 * slice to the kernels of gpuaes_queue(), one launch does them. While the batch is under way it has
 * a stream set; each slice goes through a slot of it: copy in, kernels, copy out. Up to
 * STREAM_SET_SLOTS slices are under way at once, fewer where memory for them is short.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_BATCH_BATCH_H
#define GPUAES_CUDA_BATCH_BATCH_H

#include "cuda/device/device.h"
#include "cuda/memory/memory_kind.h"

enum { BATCH_KEY_BYTES = 32 };

struct batch_message {
    const unsigned char *in; /* as the CPU sees it, or not; kernels see it at in_at */
    unsigned char *out, *tag;
    drv_ptr in_at, out_at;
    size_t data; /* offset of IV, additional data and tag in the group's data */
    uint32_t len, aad_bytes, key, number;
    uint32_t text; /* once the batch is cut: offset among staged text of the slice */
    unsigned char in_staged, out_staged;
};

/* What messages of one launch have in common. */
struct batch_kind {
    uint32_t op, key_bytes, iv_bytes, tag_bytes;
};

struct batch_group {
    struct batch_kind kind;
    struct batch_message *message;         /* those that are not refused and not empty */
    unsigned char *data;                   /* IVs, additional data and tags, of whole blocks */
    unsigned char (*key)[BATCH_KEY_BYTES]; /* one for messages that follow each other */
    size_t messages, data_bytes, keys, message_room, data_room, key_room;
};

/*
 * A slot's staging memory has keys, staged text, arrays and data, all of which goes to the scratch
 * memory, and results, which kernels write through the bus: tags of 16 bytes, statuses.
 */
struct batch_slice {
    uint32_t group, begin, end, longest; /* messages; bytes */
    int is_raw, out_staged;              /* has several keys, output in pageable memory */
    uint64_t bytes;
    size_t text_bytes;
    size_t text, arrays, data, results, temp; /* offsets; temporary memory is in the scratch */
};

struct batch_flight {
    int launched, queued; /* kernels may write to the callers' memory; all of its work is queued */
    uint32_t from;        /* CBC encryption: bytes of each message that are queued or done */
};

enum batch_state { BATCH_OPEN, BATCH_UNDER_WAY, BATCH_DONE };

struct gpuaes_batch {
    enum batch_state state;
    unsigned char *status; /* of every number */
    struct batch_group *group;
    struct batch_slice *slice;
    size_t numbers, groups, slices, number_room, group_room, slice_room;
    size_t messages;         /* of all groups */
    uint32_t last;           /* group that had a message */
    struct memory memory[2]; /* what the driver has told of input and output last */
    struct device *owner;    /* of device and managed memory; NULL: any device will do */
    int is_hashed;

    struct device *device; /* from here on: while it is under way */
    struct stream_set *set;
    struct stream_set_needs needs, secret; /* secret: bytes of each slot that are wiped */
    uint32_t slots;                        /* of the stream set that slices go through */
    struct batch_flight flight[STREAM_SET_SLOTS];
    uint32_t submitted, finished; /* slices */
    int64_t progress_ns;          /* when something was last done */
    uint64_t done_bytes;
    enum gpuaes_status result; /* the worst of a message so far */
};

/*
 * Makes room for element number `count` of *array. Returns 0 if memory is short. Cleanses what is
 * outgrown.
 */
int batch_grow(void *array, size_t *room, size_t count, size_t size);

/* ---- run.c ---- */

enum gpuaes_status batch_begin(struct gpuaes_batch *batch, unsigned flags);
enum gpuaes_status batch_go_on(struct gpuaes_batch *batch, int wait);

#endif
