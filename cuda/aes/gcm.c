/*
 * GCM, NIST SP 800-38D: the modes' rows, keys, and the hash on the CPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "cuda/aes/aes.h"
#include "cuda/process/cleanse.h"

/* ---- The counter --------------------------------------------------------------------- */

static void advance(unsigned char counter[GPUAES_BLOCK], uint64_t blocks, const unsigned char *last)
{
    (void)last;
    counter_add(counter, COUNTER_GCM, blocks);
}

const struct gpuaes_mode gpuaes_gcm_encrypt_mode = {.name = "gcm_encrypt",
                                                    .message_mode = MESSAGE_GCM,
                                                    .taken_by = TAKEN_BY_GCM | TAKEN_BY_BATCH |
                                                                TAKEN_BY_QUEUE,
                                                    .takes_iv = 1,
                                                    .hashes = 1,
                                                    .tables_from = 6,
                                                    .warp_blocks = 256,
                                                    .advance = advance};
const struct gpuaes_mode gpuaes_gcm_decrypt_mode = {.name = "gcm_decrypt",
                                                    .message_mode = MESSAGE_GCM,
                                                    .taken_by = TAKEN_BY_GCM | TAKEN_BY_BATCH |
                                                                TAKEN_BY_QUEUE,
                                                    .takes_iv = 1,
                                                    .hashes = 1,
                                                    .tables_from = 6,
                                                    .warp_blocks = 256,
                                                    .advance = advance};

/* ---- Keys ---------------------------------------------------------------------------- */

/* Sets H and its powers, for a schedule that is there. */
SECRET_FRAME static void set_powers(struct gpuaes_gcm_key *gcm)
{
    unsigned char h[GPUAES_BLOCK] = {0};
    aes_encrypt_block(&gcm->schedule, h, h);
    ghash_set(gcm->h, ghash_factor(ghash_load(h)));
    gpuaes_cleanse(h, sizeof h);
    struct ghash_element step = ghash_power(gcm, GHASH_DISTANCE), power = ghash_power(gcm, 0);
    for (int n = 0; n < GHASH_STEPS; n++) {
        ghash_set(gcm->steps[n], power);
        power = ghash_multiply(power, step);
    }
}

int gpuaes_gcm_key_expand(struct gpuaes_gcm_key *gcm, const unsigned char *key, size_t key_bytes)
{
    if (gcm == NULL)
        return 0;
    memset(gcm, 0, sizeof *gcm);
    if (!gpuaes_key_expand(&gcm->schedule, key, key_bytes))
        return 0;
    set_powers(gcm);
    cleanse_stack();
    return 1;
}

/* ---- The hash ------------------------------------------------------------------------- */

SECRET_FRAME static void add_to_hash(const struct gpuaes_gcm_key *key,
                                     unsigned char hash[GPUAES_BLOCK], const void *data, size_t len)
{
    const struct ghash_element h = ghash_h(key);
    struct ghash_element sum = ghash_load(hash);
    const unsigned char *p = data;
    for (size_t at = 0; at < len; at += GPUAES_BLOCK) {
        unsigned char block[GPUAES_BLOCK] = {0};
        memcpy(block, p + at, len - at < GPUAES_BLOCK ? len - at : GPUAES_BLOCK);
        sum = ghash_multiply(ghash_add(sum, ghash_load(block)), h);
    }
    ghash_store(hash, sum);
}

void gpuaes_gcm_hash(const struct gpuaes_gcm_key *key, unsigned char hash[GPUAES_BLOCK],
                     const void *data, size_t len)
{
    if (key == NULL || hash == NULL || (data == NULL && len != 0))
        return;
    add_to_hash(key, hash, data, len);
    cleanse_stack();
}

SECRET_FRAME static void join(const struct gpuaes_gcm_key *key, unsigned char hash[GPUAES_BLOCK],
                              const unsigned char next[GPUAES_BLOCK], uint64_t blocks)
{
    struct ghash_element moved = ghash_multiply(ghash_load(hash), ghash_power(key, blocks));
    ghash_store(hash, ghash_add(moved, ghash_load(next)));
}

void gpuaes_gcm_join(const struct gpuaes_gcm_key *key, unsigned char hash[GPUAES_BLOCK],
                     const unsigned char next[GPUAES_BLOCK], uint64_t blocks)
{
    if (key == NULL || hash == NULL || next == NULL)
        return;
    join(key, hash, next, blocks);
    cleanse_stack();
}
