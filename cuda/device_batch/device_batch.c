/*
 * Messages that are described in device memory: what is queued for them.
 *
 * The host knows how many there are and how long one may be; the rest a kernel finds out, which
 * makes what the kernels of batches read.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/minmax.h"
#include "cuda/device_batch/device_keys.h"
#include "cuda/memory/memory_kind.h"

enum { ALIGNMENT = 256 };
/* Of the longest message from which on there are whole spans. */
enum { FUSED_BLOCKS = AES_BATCH_ROWS_MOST * 32 };
enum { AAD_MOST = GPUAES_BATCH_AAD_BYTES, IV_MOST = GPUAES_BATCH_AAD_BYTES };
/*
 * Numbers of blocks, and sums of one and a span, have 32 bits; a chain, where there is one, takes
 * some 64 MiB at most.
 */
#define BLOCKS_MOST (UINT32_MAX - 1023)
#define CHAINED_BLOCKS_MOST ((uint32_t)1 << 30)

/* ---- Temporary memory ------------------------------------------------------------------- */

/* Of one round of launches; offsets in the temporary memory. */
struct layout {
    uint32_t most;                                                     /* messages of a round */
    uint32_t blocks;                                                   /* of a message at most */
    size_t text, first, taken, tiles, messages, states, chunks, chain; /* 0: there is none */
    size_t bytes;
};

static size_t place(struct layout *l, size_t bytes)
{
    size_t at = l->bytes;
    l->bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static struct layout lay_out(const struct gpuaes_device_batch *b)
{
    const struct gpuaes_mode *mode = gpuaes_modes[b->op];
    const struct kernels *kernels = &b->keys->device->kernels;
    struct layout l = {.blocks = (uint32_t)(b->max_bytes / GPUAES_BLOCK)};
    uint32_t blocks_most = mode->chained ? CHAINED_BLOCKS_MOST : BLOCKS_MOST;
    l.most = (uint32_t)min_u64(b->count, l.blocks == 0 ? b->count : blocks_most / l.blocks);
    size_t numbers = (l.most + (size_t)1) * sizeof(uint32_t);
    l.taken = place(&l, sizeof(uint32_t));
    l.text = place(&l, l.most * sizeof(struct aes_batch_message));
    l.first = place(&l, numbers);
    l.tiles =
        place(&l, (l.most / kernels_device_batch_tile(kernels) + (size_t)1) * 2 * sizeof(uint32_t));
    if (mode->hashes) {
        l.messages = place(&l, l.most * sizeof(struct gcm_batch_message));
        l.states = place(&l, l.most * sizeof(struct gcm_batch_state));
        l.chunks = place(&l, numbers);
    }
    if (mode->chained)
        l.chain = place(&l, kernels_batch_chain_bytes(kernels, l.most * l.blocks));
    return l;
}

/* ---- Arguments ------------------------------------------------------------------------------ */

static int is_bad_size(const struct gpuaes_device_batch *b)
{
    if (b == NULL || (unsigned)b->op >= GPUAES_ALL_OPS || b->keys == NULL ||
        b->count > GPUAES_DEVICE_BATCH_MESSAGES)
        return 1;
    const struct gpuaes_mode *mode = gpuaes_modes[b->op];
    const size_t most = mode->pairs ? GPUAES_DEVICE_BATCH_UNIT_BYTES : GPUAES_DEVICE_BATCH_BYTES;
    return b->max_bytes > most || mode->decrypts != b->keys->decrypts ||
           mode->pairs != b->keys->pairs || (mode->hashes && !b->keys->hashes);
}

static int is_bad_gcm(const struct gpuaes_device_batch *b)
{
    return b->iv_bytes == 0 || b->iv_bytes > IV_MOST || b->tag == NULL ||
           (b->aad == NULL) != (b->aad_bytes == NULL) || b->tag_bytes > GPUAES_BLOCK ||
           (b->tag_bytes < 12 && b->tag_bytes != 8 && b->tag_bytes != 4);
}

static int is_bad(const struct gpuaes_device_batch *b, const void *temp)
{
    const struct gpuaes_mode *mode = gpuaes_modes[b->op];
    if (temp == NULL || (uintptr_t)temp % ALIGNMENT != 0 || b->in == NULL || b->out == NULL ||
        b->bytes == NULL || b->status == NULL || (mode->takes_iv && b->iv == NULL))
        return 1;
    return mode->hashes ? is_bad_gcm(b) : mode->takes_iv && b->iv_bytes != GPUAES_BLOCK;
}

/* Whether the text's kernel hashes most of it: see aes_batch_whole.cuh. */
static int is_fused(const struct gpuaes_device_batch *b, const struct layout *l, uint32_t count)
{
    return gpuaes_modes[b->op]->hashes && l->blocks >= FUSED_BLOCKS &&
           kernels_batch_has_whole_spans(&b->keys->device->kernels, count * l->blocks);
}

static uint64_t array(const void *elements, size_t at, size_t size)
{
    return elements == NULL ? 0 : memory_address(elements) + at * size;
}

/* Those from number `at` on. */
static struct device_batch_arguments arguments_of(const struct gpuaes_device_batch *b,
                                                  const struct layout *l, drv_ptr temp, size_t at)
{
    enum { POINTER = sizeof(void *), SIZE = sizeof(size_t), NUMBER = sizeof(uint32_t) };
    const struct gpuaes_mode *mode = gpuaes_modes[b->op];
    const struct kernels *kernels = &b->keys->device->kernels;
    const uint32_t count = (uint32_t)min_u64(l->most, b->count - at);
    const int fused = is_fused(b, l, count);
    return (struct device_batch_arguments){
        .in = array(b->in, at, POINTER),
        .out = array(b->out, at, POINTER),
        .bytes = array(b->bytes, at, SIZE),
        .key = array(b->key, at, NUMBER),
        .iv = mode->takes_iv ? array(b->iv, at, POINTER) : 0,
        .aad = mode->hashes ? array(b->aad, at, POINTER) : 0,
        .aad_bytes = mode->hashes ? array(b->aad_bytes, at, SIZE) : 0,
        .tag = mode->hashes ? array(b->tag, at, POINTER) : 0,
        .status = array(b->status, at, NUMBER),
        .text = temp + l->text,
        .first = temp + l->first,
        .tiles = temp + l->tiles,
        .taken = temp + l->taken,
        .tweaks = mode->pairs ? device_keys_tweaks(b->keys) : 0,
        .max_bytes = (uint32_t)b->max_bytes,
        .max_aad = AAD_MOST,
        .iv_bytes = (uint32_t)b->iv_bytes,
        .tag_bytes = (uint32_t)b->tag_bytes,
        .mode = mode->batch_mode,
        .chunk = kernels_gcm_batch_chunk(kernels, l->most * l->blocks),
        .bad_argument = GPUAES_BAD_ARGUMENT,
        .decrypts = (uint32_t)mode->decrypts,
        .gcm = {.messages = temp + l->messages,
                .first = temp + l->chunks,
                .schedules = device_keys_schedules(b->keys),
                .powers = device_keys_powers(b->keys),
                .states = temp + l->states,
                .status = array(b->status, at, NUMBER),
                .plan = temp + l->text,
                .text_first = fused ? temp + l->first : 0,
                .count = count,
                .chunks = fused ? count : 0,
                .key_count = b->keys->count,
                .decrypts = b->op == GPUAES_GCM_DECRYPT,
                .levels = GCM_BATCH_LEVELS,
                .rounds = b->keys->rounds,
                .bad_tag = GPUAES_BAD_TAG},
    };
}

/* ---- Launches ------------------------------------------------------------------------------- */

struct round {
    int is_captured;
    const struct gpuaes_device_batch *batch;
    const struct layout *layout;
    struct device_batch_arguments arguments;
    drv_ptr temp;
    drv_stream stream;
};

static drv_result launch(struct round *round, enum device_batch_kernel kernel)
{
    struct device *device = round->batch->keys->device;
    return kernels_launch_device_batch(device->driver, &device->kernels, kernel, &round->arguments,
                                       round->stream);
}

static drv_result read_descriptions(struct round *round)
{
    drv_result r = launch(round, DEVICE_BATCH_READ_KERNEL);
    if (r == DRV_SUCCESS && round->arguments.gcm.count > round->arguments.tile)
        r = launch(round, DEVICE_BATCH_PLACE_KERNEL);
    if (r == DRV_SUCCESS && gpuaes_modes[round->batch->op]->pairs)
        r = launch(round, DEVICE_BATCH_XTS_KERNEL);
    return r;
}

static drv_result hash(struct round *round, enum gpuaes_op op)
{
    struct device *device = round->batch->keys->device;
    if (round->batch->op != op)
        return DRV_SUCCESS;
    return kernels_launch_gcm_batch(device->driver, &device->kernels, GCM_BATCH_HASH_KERNEL,
                                    &round->arguments.gcm, round->stream);
}

static drv_result run_text(const struct round *round)
{
    const struct layout *l = round->layout;
    const struct gpuaes_device_keys *keys = round->batch->keys;
    const struct gpuaes_mode *mode = gpuaes_modes[round->batch->op];
    const uint32_t count = round->arguments.gcm.count;
    struct kernels_batch_kind kind = {.decrypts = mode->decrypts,
                                      /* A graph would keep the parameters. */
                                      .many = round->is_captured || keys->only.rounds == 0,
                                      .counts = mode->batch_mode >= AES_BATCH_CTR,
                                      .key_size = key_size_index(key_size_of(keys->rounds))};
    struct aes_batch_arguments a = {.messages = round->arguments.text,
                                    .first = round->arguments.first,
                                    .keys = device_keys_schedules(keys),
                                    .taken = round->arguments.taken,
                                    .chain = l->chain != 0 ? round->temp + l->chain : 0,
                                    .parallel = mode->serial ? 0 : count,
                                    .serial = mode->serial ? count : 0,
                                    .hashes_input = round->batch->op == GPUAES_GCM_DECRYPT,
                                    .to = UINT32_MAX};
    const struct gcm_batch_arguments *gcm = &round->arguments.gcm;
    if (gcm->text_first != 0) {
        a.states = gcm->states;
        a.powers = gcm->powers;
    }
    if (l->blocks == 0) /* whatever text there is has been run where it was read */
        return DRV_SUCCESS;
    if (!kind.many)
        memcpy(a.round_key, mode->decrypts ? keys->only.decrypt : keys->only.encrypt,
               sizeof a.round_key);
    drv_result r = kernels_launch_batch(keys->device->driver, &keys->device->kernels, &kind, &a,
                                        mode->serial ? 0 : count * l->blocks, round->stream);
    gpuaes_cleanse(&a, sizeof a);
    return r;
}

/*
 * Where not all could be queued: masks of tags, counters and tweaks, which other kernels wipe. What
 * is decrypted has statuses that say so, where there are tags.
 */
static void wipe_rest(const struct round *round)
{
    const struct layout *l = round->layout;
    const struct driver *d = round->batch->keys->device->driver;
    const size_t count = round->arguments.gcm.count;
    if (l->states != 0)
        (void)d->memset_d8_async(round->temp + l->states, 0, count * sizeof(struct gcm_batch_state),
                                 round->stream);
    (void)d->memset_d8_async(round->temp + l->text, 0, count * sizeof(struct aes_batch_message),
                             round->stream);
}

static drv_result queue_round(struct round *round)
{
    drv_result r = read_descriptions(round);
    if (r == DRV_SUCCESS)
        r = hash(round, GPUAES_GCM_DECRYPT);
    if (r == DRV_SUCCESS)
        r = run_text(round);
    if (r == DRV_SUCCESS)
        r = hash(round, GPUAES_GCM_ENCRYPT);
    if (r == DRV_SUCCESS &&
        (round->batch->op == GPUAES_GCM_DECRYPT || gpuaes_modes[round->batch->op]->pairs))
        r = launch(round, DEVICE_BATCH_CLEAR_KERNEL);
    if (r != DRV_SUCCESS)
        wipe_rest(round);
    return r;
}

static enum gpuaes_status queue(const struct gpuaes_device_batch *batch, const struct layout *l,
                                drv_ptr temp, drv_stream stream)
{
    int status = DRV_NOT_CAPTURED;
    /* Fails for the legacy stream while one that it waits for is captured. */
    drv_result r = batch->keys->device->driver->stream_is_capturing(stream, &status);
    for (size_t at = 0; at < batch->count && r == DRV_SUCCESS; at += l->most) {
        struct round round = {status != DRV_NOT_CAPTURED,       batch, l,
                              arguments_of(batch, l, temp, at), temp,  stream};
        r = queue_round(&round);
    }
    if (r == DRV_SUCCESS)
        return GPUAES_OK;
    return device_fault(batch->keys->device, "queueing a batch",
                        r == DRV_OUT_OF_MEMORY ? DRV_UNKNOWN : r);
}

/* ---- Calls ------------------------------------------------------------ */

enum gpuaes_status gpuaes_device_batch_temp_bytes(const struct gpuaes_device_batch *batch,
                                                  size_t *bytes)
{
    if (bytes == NULL)
        return GPUAES_BAD_ARGUMENT;
    *bytes = 0;
    if (is_bad_size(batch))
        return GPUAES_BAD_ARGUMENT;
    *bytes = lay_out(batch).bytes;
    return GPUAES_OK;
}

enum gpuaes_status gpuaes_device_batch_queue(const struct gpuaes_device_batch *batch, void *temp,
                                             size_t temp_bytes, void *stream)
{
    struct runtime_guard guard;
    if (is_bad_size(batch))
        return GPUAES_BAD_ARGUMENT;
    if (batch->count == 0)
        return GPUAES_OK;
    const struct layout l = lay_out(batch);
    if (is_bad(batch, temp) || temp_bytes < l.bytes)
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = device_keys_enter(batch->keys, stream, &guard);
    if (status != GPUAES_OK)
        return status;
    status = queue(batch, &l, memory_address(temp), stream);
    runtime_leave_device(&guard, batch->keys->device);
    return status;
}
