/*
 * What an AES mode is: one row for each, in a file of its own (modes/), and the ciphers that it
 * has. All other files read the row.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_AES_MODE_H
#define GPUAES_PROVIDER_CIPHERS_AES_MODE_H

#include "cuda/gpuaes.h"
#include "provider/common/default_ciphers.h"

/* M(bits, MODE, mode, names): one row for each cipher, names as the default provider's. */
#define AES_CIPHERS(M)                                                                             \
    M(128, ECB, ecb, "AES-128-ECB:2.16.840.1.101.3.4.1.1")                                         \
    M(192, ECB, ecb, "AES-192-ECB:2.16.840.1.101.3.4.1.21")                                        \
    M(256, ECB, ecb, "AES-256-ECB:2.16.840.1.101.3.4.1.41")                                        \
    M(128, CBC, cbc, "AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2")                                  \
    M(192, CBC, cbc, "AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22")                                 \
    M(256, CBC, cbc, "AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42")                                 \
    M(128, CTR, ctr, "AES-128-CTR")                                                                \
    M(192, CTR, ctr, "AES-192-CTR")                                                                \
    M(256, CTR, ctr, "AES-256-CTR")

struct aes_context;
struct request;

enum {
    /* Any length, without padding or buffer; both directions are one operation. */
    MODE_STREAM = 1,
    /*
     * A block depends on the ciphertext of the one before: one message's encryption is serial, and
     * what follows a decryption needs its last block of input as the IV.
     */
    MODE_CHAINED = 2,
    MODE_KEYSTREAM = 4 /* a device can make keystream ahead of the data; see read_ahead.h */
};

struct aes_mode {
    unsigned flags;
    unsigned iv_bytes;       /* 0: it has none */
    enum gpuaes_op op[2];    /* of decryption and of encryption */
    const char *op_names[2]; /* in logs */

    /*
     * Sets where a request is cut, and what it will write: see struct request. Returns 0 if the
     * default provider's context cannot tell.
     */
    int (*segment)(const struct aes_context *context, struct request *request);

    /*
     * Asks and tells the default provider's context the IV that continues the message at a block
     * boundary. Return 0 if that fails.
     */
    int (*get_position)(const struct aes_context *context, unsigned char iv[GPUAES_BLOCK]);
    int (*set_position)(struct aes_context *context, const unsigned char iv[GPUAES_BLOCK]);

    /* The IV after so many blocks; NULL where it does not follow from their number. */
    void (*advance)(unsigned char iv[GPUAES_BLOCK], uint64_t blocks);
};

extern const struct aes_mode aes_ecb, aes_cbc, aes_ctr;

/* A mode with one size of keys. */
struct aes_cipher {
    const struct aes_mode *mode;
    const char *names;
    unsigned key_bytes;
    struct cpu_cipher cpu; /* the default provider's functions */

    /* The parameters of a context: ours and the default provider's. */
    OSSL_PARAM gettable[32], settable[32];
};

enum {
#define AES_ENUM(bits, MODE, mode, names) AES_##bits##_##MODE,
    AES_CIPHERS(AES_ENUM)
#undef AES_ENUM
        AES_CIPHER_COUNT
};
extern struct aes_cipher aes_ciphers[AES_CIPHER_COUNT];

/*
 * Learns the default provider's part of all ciphers. Call before any of them is used; once in a
 * process is enough. Returns 0 if it lacks a function.
 */
int aes_learn_ciphers(const struct cpu *cpu);

#endif
