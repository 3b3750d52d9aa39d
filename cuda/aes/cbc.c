/*
 * CBC, NIST SP 800-38A section 6.2. Decryption is parallel, but each block needs the block of
 * ciphertext before it, which may be overwritten in place, or belong to the piece before.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cuda/aes/aes.h"
#include "cuda/transfer/transfer.h"

/* Up to here the CPU is faster in filling the chain of a kernel than another kernel. */
enum { CPU_CHAIN_MAX = 128 << 10 };

static void advance(unsigned char iv[GPUAES_BLOCK], uint64_t blocks, const unsigned char *last)
{
    (void)blocks;
    memcpy(iv, last, GPUAES_BLOCK);
}

/* In place, with the kernel at the caller's own memory. */
static int chain_by_cpu(const struct transfer *t)
{
    return t->in == t->out && t->job->in_memory.kind == GPUAES_PINNED &&
           t->in_bytes <= CPU_CHAIN_MAX;
}

static size_t extra(const struct transfer *t)
{
    if (aes_is_on_device(t))
        return GPUAES_BLOCK;
    return chain_by_cpu(t) ? AES_CHAIN_BYTES(t->in_bytes / GPUAES_BLOCK) : 0;
}

static drv_ptr fill_chain(const struct transfer *t, const struct slot *slot)
{
    size_t at = slot->staging_bytes - extra(t), chunk = (size_t)AES_CHUNK * GPUAES_BLOCK;
    unsigned char *entry = slot->staging + at;
    memcpy(entry, t->iv, GPUAES_BLOCK);
    for (size_t next = chunk; next < t->in_bytes; next += chunk)
        memcpy(entry += GPUAES_BLOCK, t->in + next - GPUAES_BLOCK, GPUAES_BLOCK);
    memcpy(entry + GPUAES_BLOCK, t->in + t->in_bytes - GPUAES_BLOCK, GPUAES_BLOCK);
    return slot->staging_address + at;
}

/*
 * The kernel gets the block before the piece, and the last block of the piece is kept, before the
 * kernel may write over it.
 */
static drv_result prepare(struct transfer *t, struct slot *slot, struct piece *piece,
                          struct aes_arguments *arguments)
{
    const struct driver *d = t->shard->device->driver;
    size_t last = piece->in_at + piece->in_bytes - GPUAES_BLOCK;
    if (chain_by_cpu(t))
        arguments->chain = fill_chain(t, slot);
    if (!aes_is_on_device(t)) {
        memcpy(piece->last, t->in + last, GPUAES_BLOCK);
        return DRV_SUCCESS;
    }
    drv_result r = d->memcpy_dtoh_async(aes_last_block(slot), t->in_address + last, GPUAES_BLOCK,
                                        slot->stream);
    if (r != DRV_SUCCESS || piece->in_at == 0)
        return r;
    const struct kernels_scratch scratch = aes_scratch(slot);
    arguments->iv_at = scratch.address + scratch.bytes;
    return d->memcpy_dtod_async(arguments->iv_at, t->in_address + piece->in_at - GPUAES_BLOCK,
                                GPUAES_BLOCK, slot->stream);
}

const struct gpuaes_mode gpuaes_cbc_encrypt = {
    .name = "cbc_encrypt", .batch_mode = AES_BATCH_CBC, .takes_iv = 1, .serial = 1};

const struct gpuaes_mode gpuaes_cbc_decrypt = {.name = "cbc_decrypt",
                                               .batch_mode = AES_BATCH_CBC,
                                               .decrypts = 1,
                                               .takes_iv = 1,
                                               .chained = 1,
                                               .large_from = 1,
                                               .advance = advance,
                                               .extra = extra,
                                               .prepare = prepare};
