/*
 * What AES in calls, on streams of the application and ahead of its data has in common.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/aes.h"

#include <string.h>

#include "cuda/memory/memory_kind.h"

const struct gpuaes_mode *const gpuaes_modes[GPUAES_ALL_OPS] = {
    [GPUAES_ECB_ENCRYPT] = &gpuaes_ecb_encrypt,
    [GPUAES_ECB_DECRYPT] = &gpuaes_ecb_decrypt,
    [GPUAES_CBC_ENCRYPT] = &gpuaes_cbc_encrypt,
    [GPUAES_CBC_DECRYPT] = &gpuaes_cbc_decrypt,
    [GPUAES_CTR] = &gpuaes_ctr,
    [GPUAES_GCM_ENCRYPT] = &gpuaes_gcm_encrypt_mode,
    [GPUAES_GCM_DECRYPT] = &gpuaes_gcm_decrypt_mode,
    [GPUAES_XTS_ENCRYPT] = &gpuaes_xts_encrypt,
    [GPUAES_XTS_DECRYPT] = &gpuaes_xts_decrypt,
};

void aes_fill_arguments(struct aes_arguments *arguments, enum gpuaes_op op,
                        const struct gpuaes_key *key, const unsigned char *iv, drv_ptr in,
                        drv_ptr out, size_t bytes)
{
    memset(arguments, 0, sizeof *arguments);
    memcpy(arguments->round_key, gpuaes_modes[op]->decrypts ? key->decrypt : key->encrypt,
           sizeof arguments->round_key);
    if (iv != NULL)
        memcpy(arguments->iv, iv, sizeof arguments->iv);
    arguments->in = in;
    arguments->out = out;
    arguments->blocks = bytes / GPUAES_BLOCK;
}

int aes_bad_arguments(const struct gpuaes_key *key, const void *in, const void *out, size_t len)
{
    return len % GPUAES_BLOCK != 0 || (len != 0 && (in == NULL || out == NULL)) ||
           (in != out && memory_overlap(in, len, out, len)) || key == NULL ||
           !key_size_is_valid(key_size_of(key->rounds));
}
