/*
 * AES over memory of any kind: the modes' part of the job.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cuda/aes/aes.h"
#include "cuda/process/statistics.h"
#include "cuda/runtime/runtime.h"
#include "cuda/transfer/job.h"
#include "cuda/transfer/transfer.h"

/* Pieces under way, and the one that is being queued. */
enum { CHAIN = STREAM_SET_SLOTS + 1 };
/* Up to here the CPU is faster in filling the chain of a kernel than another kernel. */
enum { CPU_CHAIN_MAX = 128 << 10 };

struct aes_job {
    struct job job; /* first: the callbacks get this */
    enum gpuaes_op op;
    const struct gpuaes_key *key;
    unsigned char iv[GPUAES_BLOCK];
    unsigned char continues[GPUAES_SHARDS][GPUAES_BLOCK]; /* what follows what is done of a part */
};

/* What one thread does of it. */
struct aes_shard {
    struct transfer transfer; /* first: the callbacks get this */
    enum gpuaes_op op;
    const struct gpuaes_key *key;
    unsigned char iv[GPUAES_BLOCK];           /* CTR: of the whole; CBC: of the next piece */
    unsigned char chain[CHAIN][GPUAES_BLOCK]; /* CBC: what follows each piece under way */
    unsigned char *continues;                 /* what follows the pieces that are complete */
};

void aes_add_blocks(unsigned char counter[GPUAES_BLOCK], uint64_t blocks)
{
    unsigned carry = 0;
    for (int i = GPUAES_BLOCK - 1; i >= 0; i--) {
        unsigned sum = counter[i] + (unsigned)(blocks & 0xff) + carry;
        counter[i] = (unsigned char)sum;
        carry = sum >> 8;
        blocks >>= 8;
    }
}

void aes_fill_arguments(struct aes_arguments *arguments, enum gpuaes_op op,
                        const struct gpuaes_key *key, const unsigned char *iv)
{
    memset(arguments, 0, sizeof *arguments);
    memcpy(arguments->round_key, aes_decrypts(op) ? key->decrypt : key->encrypt,
           sizeof arguments->round_key);
    if (iv != NULL)
        memcpy(arguments->iv, iv, sizeof arguments->iv);
}

/* ---- CBC: the block before each piece ------------------------------------------ */

static int chain_on_device(const struct transfer *t)
{
    return t->in_memory.kind == GPUAES_DEVICE;
}

/* In place, with the kernel at the caller's own memory. */
static int chain_by_cpu(const struct transfer *t)
{
    return t->in == t->out && t->in_memory.kind == GPUAES_PINNED && t->in_bytes <= CPU_CHAIN_MAX;
}

static drv_ptr fill_chain(const struct aes_shard *job, const struct slot *slot)
{
    const struct transfer *t = &job->transfer;
    size_t at = slot->staging_bytes - t->extra, chunk = (size_t)AES_CHUNK * GPUAES_BLOCK;
    unsigned char *entry = slot->staging + at;
    memcpy(entry, job->iv, GPUAES_BLOCK);
    for (size_t next = chunk; next < t->in_bytes; next += chunk)
        memcpy(entry += GPUAES_BLOCK, t->in + next - GPUAES_BLOCK, GPUAES_BLOCK);
    memcpy(entry + GPUAES_BLOCK, t->in + t->in_bytes - GPUAES_BLOCK, GPUAES_BLOCK);
    return slot->staging_address + at;
}

/* Where a slot keeps the block before its piece: at the end of its scratch memory. */
static struct kernels_scratch scratch_of(const struct slot *slot)
{
    struct kernels_scratch scratch = {.address = slot->scratch};
    if (slot->scratch_bytes >= GPUAES_BLOCK)
        scratch.bytes = slot->scratch_bytes / GPUAES_BLOCK * GPUAES_BLOCK - GPUAES_BLOCK;
    return scratch;
}

static unsigned char *last_block_in(const struct slot *slot)
{
    return slot->staging + slot->staging_bytes - GPUAES_BLOCK;
}

/*
 * The kernel gets the block before the piece, and the last block of the piece is
 * kept, before the kernel may write over it.
 */
static drv_result chain_piece(struct aes_shard *job, const struct device *device, struct slot *slot,
                              const struct piece *piece, struct aes_arguments *arguments)
{
    const struct transfer *t = &job->transfer;
    const struct driver *d = device->driver;
    size_t last = piece->in_at + piece->in_bytes - GPUAES_BLOCK;
    memcpy(arguments->iv, job->iv, GPUAES_BLOCK);
    if (chain_by_cpu(t))
        arguments->chain = fill_chain(job, slot);
    if (!chain_on_device(t)) {
        memcpy(job->iv, t->in + last, GPUAES_BLOCK);
        memcpy(job->chain[piece->number % CHAIN], job->iv, GPUAES_BLOCK);
        return DRV_SUCCESS;
    }
    drv_result r = d->memcpy_dtoh_async(last_block_in(slot), t->in_memory.address + last,
                                        GPUAES_BLOCK, slot->stream);
    if (r != DRV_SUCCESS || piece->in_at == 0)
        return r;
    arguments->iv_at = slot->scratch + scratch_of(slot).bytes;
    return d->memcpy_dtod_async(arguments->iv_at,
                                t->in_memory.address + piece->in_at - GPUAES_BLOCK, GPUAES_BLOCK,
                                slot->stream);
}

/* ---- Part of a transfer --------------------------------------------------------- */

static size_t scratch(const struct transfer *t, const struct device *device, size_t in_bytes,
                      int same)
{
    const struct aes_shard *job = (const struct aes_shard *)t;
    /* Pieces behind the first find the block before them on the device. */
    int chained = same || (chain_on_device(t) && in_bytes < t->in_bytes);
    size_t bytes = kernels_scratch_bytes(&device->kernels, job->op, in_bytes / GPUAES_BLOCK,
                                         job->op == GPUAES_CBC_DECRYPT && chained);
    return bytes == 0 ? 0 : (bytes / GPUAES_BLOCK + 2) * GPUAES_BLOCK;
}

static drv_result launch(struct transfer *t, struct device *device, struct slot *slot,
                         const struct piece *piece, drv_ptr in, drv_ptr out)
{
    struct aes_shard *job = (struct aes_shard *)t;
    struct aes_arguments arguments;
    struct kernels_scratch room = scratch_of(slot);
    unsigned char iv[GPUAES_BLOCK];
    memcpy(iv, job->iv, sizeof iv);
    if (job->op == GPUAES_CTR)
        aes_add_blocks(iv, piece->in_at / GPUAES_BLOCK);
    aes_fill_arguments(&arguments, job->op, job->key, iv);
    arguments.in = in;
    arguments.out = out;
    arguments.blocks = piece->in_bytes / GPUAES_BLOCK;
    drv_result r = DRV_SUCCESS;
    if (job->op == GPUAES_CBC_DECRYPT)
        r = chain_piece(job, device, slot, piece, &arguments);
    if (r == DRV_SUCCESS)
        r = kernels_launch_aes(device->driver, &device->kernels, job->op, job->key->rounds,
                               &arguments, &room, slot->stream);
    gpuaes_cleanse(&arguments, sizeof arguments);
    return r;
}

static enum gpuaes_status finished(struct transfer *t, struct slot *slot, const struct piece *piece)
{
    struct aes_shard *job = (struct aes_shard *)t;
    if (job->op == GPUAES_CTR)
        aes_add_blocks(job->continues, piece->in_bytes / GPUAES_BLOCK);
    else if (job->op == GPUAES_CBC_DECRYPT)
        memcpy(job->continues,
               chain_on_device(t) ? last_block_in(slot) : job->chain[piece->number % CHAIN],
               GPUAES_BLOCK);
    return GPUAES_OK;
}

/* ---- Part of the work ------------------------------------------------------------- */

/* The IV of each part, before any part may write over it. */
static void begin(struct job *job)
{
    struct aes_job *w = (struct aes_job *)job;
    for (unsigned i = 0; i < job->shards; i++) {
        size_t at = job->shard[i].at;
        if (w->op == GPUAES_CBC_DECRYPT && at != 0) {
            memcpy(w->continues[i], job->in + at - GPUAES_BLOCK, GPUAES_BLOCK);
        } else {
            memcpy(w->continues[i], w->iv, GPUAES_BLOCK);
            if (w->op == GPUAES_CTR)
                aes_add_blocks(w->continues[i], at / GPUAES_BLOCK);
        }
    }
}

static struct memory memory_at(struct memory memory, size_t at)
{
    memory.address += at;
    return memory;
}

static enum gpuaes_status run(struct job *job, unsigned number)
{
    struct aes_job *w = (struct aes_job *)job;
    struct shard *shard = &job->shard[number];
    size_t at = shard->at + shard->done;
    struct aes_shard task = {
        .transfer = {.in = job->in + at,
                     .out = job->out + at,
                     .in_bytes = shard->bytes - shard->done,
                     .out_bytes = shard->bytes - shard->done,
                     .in_memory = memory_at(job->in_memory, at),
                     .out_memory = memory_at(job->out_memory, at),
                     .in_unit = GPUAES_BLOCK,
                     .out_unit = GPUAES_BLOCK,
                     .scratch = scratch,
                     .launch = launch,
                     .finished = finished},
        .op = w->op,
        .key = w->key,
        .continues = w->continues[number],
    };
    struct transfer *t = &task.transfer;
    memcpy(task.iv, task.continues, GPUAES_BLOCK);
    t->out_of_place = w->op == GPUAES_CBC_DECRYPT;
    t->keystream = w->op == GPUAES_CTR && t->in_memory.kind != GPUAES_DEVICE &&
                   t->out_memory.kind == GPUAES_PAGEABLE;
    if (w->op == GPUAES_CBC_DECRYPT && chain_on_device(t))
        t->extra = GPUAES_BLOCK;
    else if (w->op == GPUAES_CBC_DECRYPT && chain_by_cpu(t))
        t->extra = AES_CHAIN_BYTES(t->in_bytes / GPUAES_BLOCK);
    enum gpuaes_status status = transfer_run(shard->device, t, job->flags);
    shard->done += t->in_done;
    gpuaes_cleanse(&task, sizeof task);
    return status;
}

static int overlap(const unsigned char *a, const unsigned char *b, size_t len)
{
    return a != b && a < b + len && b < a + len;
}

int aes_bad_arguments(enum gpuaes_op op, const struct gpuaes_key *key, const void *in,
                      const void *out, size_t len)
{
    return (unsigned)op >= GPUAES_OPS || len % GPUAES_BLOCK != 0 || overlap(in, out, len) ||
           key == NULL || !key_size_is_valid(key_size_of(key->rounds));
}

static void count_bytes(const struct aes_job *w)
{
    size_t done = 0;
    for (unsigned i = 0; i < w->job.shards; i++)
        done += w->job.shard[i].done;
    statistics_add_bytes(done);
}

static void fill_report(struct gpuaes_report *report, const struct aes_job *w)
{
    report->shards = w->job.shards;
    for (unsigned i = 0; i < w->job.shards; i++) {
        struct gpuaes_shard *part = &report->shard[i];
        part->at = w->job.shard[i].at;
        part->bytes = w->job.shard[i].bytes;
        part->done = w->job.shard[i].done;
        memcpy(part->iv, w->continues[i], GPUAES_BLOCK);
    }
}

enum gpuaes_status gpuaes_aes(enum gpuaes_op op, const struct gpuaes_key *key,
                              unsigned char iv[GPUAES_BLOCK], const void *in, void *out, size_t len,
                              unsigned flags, struct gpuaes_report *report)
{
    struct aes_job w; /* large: not all of it is set */
    if (report != NULL)
        report->shards = 0;
    if (aes_bad_arguments(op, key, in, out, len))
        return GPUAES_BAD_ARGUMENT;
    if (len == 0)
        return GPUAES_OK;
    w.job.in = in;
    w.job.out = out;
    w.job.in_bytes = w.job.out_bytes = len;
    w.job.in_unit = w.job.out_unit = GPUAES_BLOCK;
    w.job.flags = flags;
    w.job.whole = op == GPUAES_CBC_DECRYPT; /* the CPU does not see the block before a part */
    w.job.begin = begin;
    w.job.run = run;
    w.op = op;
    w.key = key;
    memset(w.iv, 0, GPUAES_BLOCK);
    if (aes_takes_iv(op))
        memcpy(w.iv, iv, GPUAES_BLOCK);
    enum gpuaes_status status = job_run(&w.job);
    count_bytes(&w);
    if (aes_takes_iv(op) && status == GPUAES_OK)
        memcpy(iv, w.continues[w.job.shards - 1], GPUAES_BLOCK);
    if (report != NULL)
        fill_report(report, &w);
    return status;
}
