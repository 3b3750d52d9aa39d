/*
 * What the host passes to kernels by value, and their names.
 *
 * Included by C host code, by nvcc and by the emulator's C++: plain types only.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_KERNELS_ARGUMENTS_H
#define GPUAES_KERNELS_ARGUMENTS_H

#include <stdint.h>

/*
 * AES kernels: extern "C" void NAME(const struct aes_arguments). The struct is
 * a __grid_constant__ parameter: round keys become constant-bank operands, and
 * no copy of them is left in device memory.
 *
 * `in` and `out` are device addresses aligned to 16. CTR with in == 0 writes
 * the bare keystream. They may be equal in ECB and CTR; CBC needs them apart.
 */
struct aes_arguments {
    uint64_t in, out;
    uint64_t blocks;
    uint32_t iv[4];         /* as loaded from memory, little-endian words */
    uint32_t round_key[60]; /* 4 * (rounds + 1) used */
};

/*
 * Dynamic shared memory in bytes. Large: four tables of 256 words, 32 copies
 * each, so that every lane has its own bank; small: one such table. Decryption
 * adds an inverse S-box of 256 bytes, 32 copies.
 */
enum {
    AES_LARGE_SHARED = 4 * 256 * 4 * 32,
    AES_SMALL_SHARED = 256 * 4 * 32,
    AES_INVERSE_SBOX_SHARED = 256 * 32
};

/* Names: aes_{ecb_encrypt,ecb_decrypt,cbc_decrypt,ctr}_{large,small}_{10,12,14}. */

/*
 * extern "C" void base64_encode(const struct base64_encode_arguments)
 * `in` aligned to 4, `out` aligned to 16. Encodes `bytes`, with padding where
 * they end, into exactly `characters`, which are those of
 * gpuaes_base64_encoded_size(bytes, line_length). The output begins a line. A
 * part of a longer text must end at a multiple of 3 bytes, with lines at a
 * line's end. Any grid, blocks of one dimension; each thread makes 16
 * characters at a time.
 */
struct base64_encode_arguments {
    uint64_t in, out;
    uint64_t bytes;       /* of input, all of it: groups of 3 and a tail of 0 to 2 */
    uint64_t characters;  /* of output, line ends included */
    uint32_t line_length; /* 0: no lines */
};

/*
 * extern "C" void base64_decode(const struct base64_decode_arguments)
 * `in` aligned to 16, `out` aligned to 4, `quads` of 4 characters each, no
 * padding. The offset of the first wrong character, or UINT64_MAX, is left in
 * *error (device address of a uint64_t that the host has set to UINT64_MAX).
 */
struct base64_decode_arguments {
    uint64_t in, out;
    uint64_t quads;
    uint64_t error;
};

#endif
