/*
 * Results to compare with, memory and calls, for the test programs of libgpuaes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/library.h"

const char *const op_names[GPUAES_BATCH_OPS] = {"ECB encrypt", "ECB decrypt", "CBC decrypt", "CTR",
                                                "CBC encrypt"};
const char *const kind_names[3] = {"pageable", "pinned", "device"};

/* ---- The reference ----------------------------------------------------------- */

const EVP_CIPHER *reference_cipher(enum gpuaes_op op, size_t key_bytes)
{
    static const EVP_CIPHER *(*const ciphers[GPUAES_BATCH_OPS][3])(void) = {
        {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb},
        {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb},
        {EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc},
        {EVP_aes_128_ctr, EVP_aes_192_ctr, EVP_aes_256_ctr},
        {EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc},
    };
    return ciphers[op][key_size_index(key_bytes)]();
}

void reference(enum gpuaes_op op, const unsigned char *key, size_t key_bytes, unsigned char iv[16],
               const unsigned char *in, unsigned char *out, size_t len)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n = 0;
    EVP_CipherInit_ex(c, reference_cipher(op, key_bytes), NULL, key, iv,
                      op != GPUAES_ECB_DECRYPT && op != GPUAES_CBC_DECRYPT);
    EVP_CIPHER_CTX_set_padding(c, 0);
    EVP_CipherUpdate(c, out, &n, in, (int)len);
    if (op >= GPUAES_CBC_DECRYPT)
        EVP_CIPHER_CTX_get_updated_iv(c, iv, 16);
    EVP_CIPHER_CTX_free(c);
}

/* ---- Memory of each kind ------------------------------------------------------ */

void *take(int kind, size_t bytes)
{
    drv_ptr p = 0;
    if (kind == GPUAES_PAGEABLE)
        return malloc(bytes);
    if (kind == GPUAES_PINNED)
        return gpuaes_pinned_alloc(bytes);
    return application.mem_alloc(&p, bytes) == DRV_SUCCESS ? (void *)(uintptr_t)p : NULL;
}

void give(int kind, void *p, size_t bytes)
{
    if (kind == GPUAES_PAGEABLE)
        free(p);
    else if (kind == GPUAES_PINNED)
        gpuaes_pinned_free(p, bytes);
    else
        application.mem_free((drv_ptr)(uintptr_t)p);
}

void become_an_application(int device)
{
    drv_context context;
    driver_open(&application);
    application.init(0);
    application.primary_ctx_retain(&context, device);
    application.ctx_push_current(context);
}

void configure(const struct gpuaes_settings *settings)
{
    struct gpuaes_settings patient = *settings;
    if (patient.timeout_ms == 0)
        patient.timeout_ms = 250000;
    gpuaes_configure(&patient);
}

int starts_with(const struct gpuaes_settings *settings)
{
    static const struct gpuaes_settings defaults;
    configure(settings != NULL ? settings : &defaults);
    return gpuaes_start(NULL, NULL, 1) == GPUAES_READY;
}

/* ---- Calls ---------------------------------------------------------------------- */

void expect(struct expected *e, enum gpuaes_op op, size_t len)
{
    static const size_t key_sizes[] = {16, 24, 32};
    size_t key_bytes = key_sizes[tap_random_below(&random_state, 3)];
    tap_random_bytes(&random_state, e->key, sizeof e->key);
    tap_random_bytes(&random_state, e->iv, sizeof e->iv);
    if (tap_random_below(&random_state, 3) == 0)
        memset(e->iv + tap_random_below(&random_state, 16), 0xff, 1);
    if (tap_random_below(&random_state, 4) == 0)
        memset(e->iv, 0xff, 15);
    memcpy(e->next_iv, e->iv, sizeof e->iv);
    gpuaes_key_expand(&e->schedule, e->key, key_bytes);
    e->plain = malloc(len);
    e->cipher = malloc(len);
    tap_random_bytes(&random_state, e->plain, len);
    reference(op, e->key, key_bytes, e->next_iv, e->plain, e->cipher, len);
}

void expected_free(struct expected *e)
{
    free(e->plain);
    free(e->cipher);
}

size_t bytes_done(const struct gpuaes_report *report)
{
    size_t done = 0;
    for (unsigned i = 0; i < report->shards; i++)
        done += report->shard[i].done;
    return done;
}

int finishes(const struct expected *e, enum gpuaes_op op, const struct gpuaes_report *report,
             const unsigned char *in, unsigned char *out, size_t len)
{
    size_t key_bytes = key_size_of(e->schedule.rounds);
    unsigned char iv[16];
    size_t end = 0;
    memcpy(iv, e->iv, sizeof iv);
    for (unsigned i = 0; i < report->shards; i++) {
        const struct gpuaes_shard *part = &report->shard[i];
        size_t at = part->at + part->done;
        if (part->at != end || memcmp(out + part->at, e->cipher + part->at, part->done) != 0)
            return 0;
        end = part->at + part->bytes;
        memcpy(iv, part->iv, sizeof iv);
        reference(op, e->key, key_bytes, iv, in + at, out + at, part->bytes - part->done);
    }
    if (report->shards == 0) { /* nothing was begun */
        reference(op, e->key, key_bytes, iv, in, out, len);
        end = len;
    }
    return end == len && memcmp(out, e->cipher, len) == 0 &&
           (op < GPUAES_CBC_DECRYPT || memcmp(iv, e->next_iv, sizeof iv) == 0);
}

int in_child(int (*body)(const void *), const void *argument)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(300);
        _exit(body(argument));
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

int child_ok(int (*body)(const void *), const void *argument, const char *format, ...)
{
    char what[256];
    va_list arguments;
    int status = in_child(body, argument);
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (status != 0)
        tap_diag("status %d", status);
    return tap_ok(status == 0, "%s", what);
}
