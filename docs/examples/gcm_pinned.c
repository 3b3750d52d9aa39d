/*
 * Encrypts a large message with AES-256-GCM in pinned memory, which the GPU reads and writes by
 * itself, and decrypts it again: with EVP, in place. Checks both. The default provider, on the CPU,
 * makes the same text and tag; and a message of which one bit was changed is refused.
 *
 *     gcm_pinned [MIB]
 *
 * Compile it with: cc -O2 gcm_pinned.c $(pkg-config --cflags --libs gpuaes) -lcrypto
 * It loads the provider by itself; where gpuaes.so is not in OpenSSL's own folder of modules, set
 * OPENSSL_MODULES to the folder where it is.
 *
 * Prints the rates of a second pass, and which processor did the work. MIB is 256 unless it is
 * given. Without a GPU the CPU does it all, in memory of malloc().
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <gpuaes.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* EVP counts in int, so an update is at most 1 GiB. */
#define PIECE ((size_t)1 << 30)

struct message {
    unsigned char iv[12], tag[16];
    unsigned char *text;
    size_t bytes;
};

/* What is authenticated, but not encrypted. */
static const unsigned char header[] = "from A to B";

static unsigned char key[32];

static void fail(const char *what)
{
    fprintf(stderr, "gcm_pinned: %s\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * A GPU gets a message or not by its first update of text, so that should be as large as it can be.
 */
static void update_all(EVP_CIPHER_CTX *context, const struct message *m)
{
    size_t done;
    int written;

    if (!EVP_CipherUpdate(context, NULL, &written, header, sizeof header))
        fail("the update with additional data failed");
    for (done = 0; done < m->bytes; done += (size_t)written) {
        size_t piece = m->bytes - done < PIECE ? m->bytes - done : PIECE;

        if (!EVP_CipherUpdate(context, m->text + done, &written, m->text + done, (int)piece))
            fail("the update failed");
    }
}

static void encrypt(EVP_CIPHER_CTX *context, struct message *m)
{
    int written;

    if (!EVP_EncryptInit_ex2(context, NULL, key, m->iv, NULL))
        fail("cannot begin an encryption");
    update_all(context, m);
    if (!EVP_EncryptFinal_ex(context, m->text, &written) ||
        !EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, sizeof m->tag, m->tag))
        fail("there is no tag");
}

/* Returns 1 if the message is authentic. Before that is known, its text must not be used. */
static int decrypt(EVP_CIPHER_CTX *context, struct message *m)
{
    int written;

    if (!EVP_DecryptInit_ex2(context, NULL, key, m->iv, NULL) ||
        !EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, sizeof m->tag, m->tag))
        fail("cannot begin a decryption");
    update_all(context, m);
    return EVP_DecryptFinal_ex(context, m->text, &written) > 0;
}

static EVP_CIPHER_CTX *new_context(const char *properties)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", properties);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();

    if (!cipher || !context || !EVP_EncryptInit_ex2(context, cipher, NULL, NULL, NULL))
        fail("there is no AES-256-GCM");
    EVP_CIPHER_free(cipher); /* the context keeps it */
    return context;
}

/* Starts a GPU and waits for it, for all messages of this context. Returns 0 if there is none. */
static int start_gpu(EVP_CIPHER_CTX *context)
{
    unsigned one = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &one), OSSL_PARAM_END};

    if (EVP_CIPHER_CTX_set_params(context, params))
        return 1;
    ERR_clear_error();
    return 0;
}

/* Returns the bytes that GPUs have done for the provider in this process. */
static uint64_t gpu_bytes(const OSSL_PROVIDER *gpuaes)
{
    uint64_t bytes = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64("gpu-bytes", &bytes), OSSL_PARAM_END};

    if (!OSSL_PROVIDER_get_params(gpuaes, params))
        fail("the provider has no statistics");
    return bytes;
}

/* Returns whether both sides make the same of a message. */
static int agree(EVP_CIPHER_CTX *cpu, const struct message *made, struct message *plain)
{
    memcpy(plain->iv, made->iv, sizeof plain->iv);
    encrypt(cpu, plain);
    int same = !memcmp(plain->text, made->text, made->bytes) &&
               !memcmp(plain->tag, made->tag, sizeof plain->tag);
    return decrypt(cpu, plain) && same;
}

static int passes_are_right(const OSSL_PROVIDER *gpuaes, EVP_CIPHER_CTX *context,
                            EVP_CIPHER_CTX *cpu, struct message *m, struct message *plain)
{
    uint64_t by_gpu = gpu_bytes(gpuaes);
    double encrypted = 0, decrypted = 0;
    int pass, right = 1;

    for (pass = 0; pass < 2 && right; pass++) {
        m->iv[11]++; /* never the same IV twice with one key */
        double begun = now();
        encrypt(context, m);
        encrypted = now() - begun;
        right = agree(cpu, m, plain);
        begun = now();
        right = decrypt(context, m) && right;
        decrypted = now() - begun;
        right = right && !memcmp(plain->text, m->text, m->bytes);
    }
    by_gpu = gpu_bytes(gpuaes) - by_gpu;
    printf("encryption %.1f GB/s, decryption %.1f GB/s, by %s\n",
           (double)m->bytes / encrypted * 1e-9, (double)m->bytes / decrypted * 1e-9,
           by_gpu == 0             ? "the CPU"
           : by_gpu < 4 * m->bytes ? "the CPU and a GPU"
                                   : "a GPU");
    puts(right ? "the CPU agrees" : "the CPU disagrees");
    m->iv[11]++;
    encrypt(context, m);
    m->text[m->bytes / 2] ^= 1;
    if (decrypt(context, m)) {
        puts("a changed message was taken for authentic");
        right = 0;
    } else
        puts("a changed message is refused");
    return right;
}

static size_t mebibytes(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end != '\0' || n < 1 || n > 1 << 20) {
        fprintf(stderr, "gcm_pinned: %s: expected a number of MiB, from 1 to 1048576\n", text);
        exit(1);
    }
    return (size_t)n << 20;
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? mebibytes(argv[1]) : (size_t)256 << 20, i;
    OSSL_PROVIDER *gpuaes = OSSL_PROVIDER_load(NULL, "gpuaes");
    OSSL_PROVIDER *rest = OSSL_PROVIDER_load(NULL, "default");
    unsigned char *pinned;

    if (!gpuaes || !rest)
        fail("the providers do not load");
    EVP_CIPHER_CTX *context = new_context("provider=gpuaes");
    EVP_CIPHER_CTX *cpu = new_context("provider=default");
    puts(start_gpu(context) ? "a GPU can be used" : "no GPU can be used");
    pinned = gpuaes_pinned_alloc(bytes); /* takes 0.36 ms per MiB: allocate once */
    struct message plain = {.text = malloc(bytes), .bytes = bytes};
    struct message message = {.text = pinned ? pinned : malloc(bytes), .bytes = bytes};
    if (!bytes || !plain.text || !message.text)
        fail("no memory");
    puts(pinned ? "in pinned memory" : "in memory of malloc()");
    if (RAND_bytes(key, sizeof key) <= 0)
        fail("no random key");
    for (i = 0; i < bytes; i++)
        plain.text[i] = message.text[i] = (unsigned char)(i * 2654435761u >> 13);

    int right = passes_are_right(gpuaes, context, cpu, &message, &plain);

    OPENSSL_cleanse(key, sizeof key);
    if (pinned)
        gpuaes_pinned_free(pinned, bytes); /* which cleanses it */
    else
        free(message.text);
    free(plain.text);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_CTX_free(cpu);
    OSSL_PROVIDER_unload(gpuaes);
    OSSL_PROVIDER_unload(rest);
    return !right;
}
