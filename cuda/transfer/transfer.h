/*
 * Jobs and transfers: a call of the library is a job, which is cut into transfers for several
 * devices and threads. What is left of a transfer is cut into pieces, which go through the slots of
 * a stream set in turn: copy in, kernel, copy out, each piece on its own stream, so that the
 * copies of one overlap the kernel of another and the work of the CPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_TRANSFER_TRANSFER_H
#define GPUAES_CUDA_TRANSFER_TRANSFER_H

#include "base/minmax.h"
#include "cuda/memory/memory_kind.h"

/*
 * Transfer paths: how the data of a piece gets to the memory that kernels read, and from the
 * memory that they write. Input and output have one each:
 *   none       no input: kernels make a keystream, which the CPU combines with it
 *   zero-copy  kernels reach device memory, and pinned memory of small work
 *   DMA        the copy engines move pinned memory
 *   staged     the CPU moves pageable memory to or from pinned staging memory, which
 *              kernels access directly
 */
enum path { PATH_NONE, PATH_ZERO_COPY, PATH_DMA, PATH_STAGED };

struct job;

/* A part of a job, which the report calls a shard. */
struct transfer {
    const struct job *job;
    size_t at, bytes, done; /* of the job's input */
    struct device *device;
    enum gpuaes_status status;
    unsigned char iv[GPUAES_BLOCK]; /* AES: continues the stream after what is done */
    struct ghash_element hash;      /* GCM: of what is done, by itself */
    struct ghash_element power;     /* GCM: of H, to the number of blocks of a whole piece; */
    size_t power_bytes;             /* and the bytes of that piece, or 0 */
    size_t bad;                     /* Base64: offset in the job's input of a wrong character */

    /* From here on: set by transfer_run(), for what is not done yet. */
    const unsigned char *in; /* for the CPU, and where kernels reach it */
    unsigned char *out;
    drv_ptr in_address, out_address;
    size_t in_bytes, out_bytes;

    enum path in_path, out_path;
    size_t in_piece, out_piece; /* bytes of a piece; only the last one may have fewer */
    int out_in_second;          /* kernels write buffer[1] */
    size_t staging;             /* bytes of it that hold data */

    struct stream_set *set;
    struct stream_set_needs needs; /* what was prepared of it */
    size_t pieces, submitted, finished;
    size_t queued; /* pieces whose work has been queued to its end: all submitted, or all but one */
    size_t writing; /* pieces of which a write to the caller's output has been queued */
    struct kernels_sums sums[STREAM_SET_SLOTS];            /* GCM: of the piece in each slot */
    unsigned char next_iv[STREAM_SET_SLOTS][GPUAES_BLOCK]; /* AES: after the piece in each slot */
};

/* What jobs of one kind do with their data: AES, Base64 encoding or decoding. NULL: nothing. */
struct transform {
    /* Sets what the transfers begin with; called once, before anything is written. */
    void (*begin)(struct job *job);
    /* Returns the bytes at the end of the staging memory that are its own. */
    size_t (*extra)(const struct transfer *transfer);
    /* Returns the device memory that a launch wants in slot->scratch, with input and output in the
     * same place or not. */
    size_t (*scratch)(const struct transfer *transfer, int same);
    /* Queues the kernels of a piece. Called in the order of the pieces, before
     * anything overwrites the input of this one. `in` is 0 for a keystream. */
    drv_result (*launch)(struct transfer *transfer, size_t piece, drv_ptr in, drv_ptr out);
    /* Called in the order of the pieces as their output becomes complete; a status other than OK
     * ends the transfer. */
    enum gpuaes_status (*finished)(struct transfer *transfer, size_t piece);
};

struct job {
    const struct transform *transform;
    const unsigned char *in;
    unsigned char *out;
    size_t in_bytes, out_bytes;
    /* A piece is a multiple of in_unit bytes, which make out_unit bytes each; only the job's last
     * piece may be less. */
    size_t in_unit, out_unit;
    unsigned flags;
    int out_of_place; /* kernels are faster out of place */
    int whole;     /* a piece needs the end of the one before: not cut where input is on a device */
    int keystream; /* kernels can make a keystream, which the CPU combines with the input */

    enum gpuaes_op op; /* AES */
    const struct gpuaes_key *key;
    /* NULL: not GCM. What is left in the scratch memory is secret */
    const struct gpuaes_gcm_key *gcm;
    /* GCM: unless NULL, called while a device works on the begin of the text: once for each
     * attempt, by one thread at a time. */
    void (*meanwhile)(void *arg);
    void *meanwhile_arg;
    unsigned char iv[GPUAES_BLOCK]; /* and after job_run() that of the end, if it returned OK */
    uint32_t line_length;           /* Base64 encoding */

    struct memory in_memory, out_memory; /* from here on: set by job_run() */
    size_t done, bad;                    /* bytes of input; the first wrong character */
    unsigned transfers;
    struct transfer *transfer, only; /* `transfer` is `only` where there is one */
};

/* Makes the report of a call that began nothing. `iv` may be NULL. */
void job_report_nothing(struct gpuaes_report *report, size_t len, const unsigned char *iv);

/*
 * Runs all of it. A transfer whose device fails is done by another one. OK only if all are; else
 * the worst status. Unless it is NULL, *report has been made by job_report_nothing(), and becomes
 * what says how far each transfer got.
 */
enum gpuaes_status job_run(struct job *job, struct gpuaes_report *report);

/* Makes the job of a text of a mode of AES, in bytes. `iv` may be NULL where the mode takes none.
 */
void job_set_aes(struct job *job, const struct transform *transform, enum gpuaes_op op,
                 const struct gpuaes_key *key, const unsigned char *iv, const void *in, void *out,
                 size_t len, unsigned flags);

/* `begin` of a transform of AES: sets the IV of each transfer. */
void job_begin_aes(struct job *job);

/* Returns 1 if either side is device memory: then one device can do it, and no other. */
int job_is_on_device(const struct job *job);

/*
 * Runs the unfinished rest of a transfer on a stream set of its own: raises `done`, sets `status`.
 * See gpuaes_aes() for what the statuses promise.
 */
void transfer_run(struct transfer *transfer);

/* Makes the job of a text of GCM, of any length but 0, whose first counter block is `counter`. */
void gcm_set_job(struct job *job, enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                 const unsigned char counter[GPUAES_BLOCK], const void *in, void *out, size_t len,
                 unsigned flags);

/* Joins the hashes of all shards of a job of GCM that is complete. */
void gcm_hash_of(const struct gpuaes_gcm_key *key, const struct gpuaes_report *report,
                 unsigned char hash[GPUAES_BLOCK]);

/* Piece number `piece`: its place, and its bytes. */
static inline struct slot *piece_slot(const struct transfer *transfer, size_t piece)
{
    return &transfer->set->slots[piece % transfer->needs.slots];
}

static inline size_t piece_in_bytes(const struct transfer *transfer, size_t piece)
{
    return min_u64(transfer->in_bytes - piece * transfer->in_piece, transfer->in_piece);
}

static inline size_t piece_out_bytes(const struct transfer *transfer, size_t piece)
{
    return min_u64(transfer->out_bytes - piece * transfer->out_piece, transfer->out_piece);
}

#endif
