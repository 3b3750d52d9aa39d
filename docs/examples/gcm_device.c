/*
 * Encrypts a message with AES-256-GCM where it lies in GPU memory, in place, and decrypts it
 * again, by libgpuaes alone; then changes a bit of it, which is refused.
 *
 *     gcm_device [BYTES]
 *
 * Compile it with: cc -O2 gcm_device.c $(pkg-config --cflags --libs gpuaes) -ldl
 * It needs a GPU. BYTES is 16777221 unless it is given; it need be no multiple of anything.
 *
 * Prints the times of a second pass: the first loads kernels and takes memory.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <gpuaes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What is authenticated, but not encrypted. */
static const char header[] = "from A to B";

static _Noreturn void fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("gcm_device: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static double microseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- Memory of the GPU -------------------------------------------------------------- */

static struct {
    int (*init)(unsigned);
    int (*get)(int *, int);
    int (*retain)(void **, int);
    int (*push)(void *);
    int (*alloc)(uint64_t *, size_t);
    int (*release)(uint64_t);
} cuda;

/* By dlopen(), so that the program is compiled where there is no CUDA: see <cuda.h> for all. */
static void open_driver(void)
{
    static const char *const names[] = {
        "cuInit",        "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2",
        "cuMemAlloc_v2", "cuMemFree_v2"};
    enum { COUNT = sizeof names / sizeof names[0] };
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found[COUNT], *context;
    int device;

    for (unsigned i = 0; i < COUNT; i++) {
        found[i] = library ? dlsym(library, names[i]) : NULL;
        if (!found[i])
            fail("there is no CUDA driver: %s", dlerror());
    }
    memcpy(&cuda, found, sizeof cuda);
    /* The primary context, which the CUDA runtime uses, too. */
    if (cuda.init(0) || cuda.get(&device, 0) || cuda.retain(&context, device) || cuda.push(context))
        fail("GPU 0 cannot be used");
}

/* ---- Messages ------------------------------------------------------------------------- */

static void check(enum gpuaes_status status, const char *what)
{
    if (status != GPUAES_OK)
        fail("%s: %s", what, gpuaes_status_text(status));
}

/* Encrypts and decrypts once, with another IV each time. Returns whether the text came back. */
static int pass(const struct gpuaes_gcm_key *key, struct gpuaes_gcm_message *m,
                unsigned char iv[12], const unsigned char *plain, unsigned char *copy)
{
    double begun, encrypted, decrypted;

    iv[11]++; /* never the same IV twice with one key */
    begun = microseconds();
    check(gpuaes_gcm_encrypt(key, m, GPUAES_WAIT), "encryption");
    encrypted = microseconds();
    check(gpuaes_gcm_decrypt(key, m, GPUAES_WAIT), "decryption");
    decrypted = microseconds();
    printf("encryption %.0f us, decryption %.0f us\n", encrypted - begun, decrypted - encrypted);
    check(gpuaes_copy(copy, m->out, m->len), "a copy from the GPU");
    return !memcmp(copy, plain, m->len);
}

/* Returns whether a message of which one bit was changed is refused, and nothing of it is left. */
static int refuses(const struct gpuaes_gcm_key *key, struct gpuaes_gcm_message *m,
                   unsigned char iv[12], unsigned char *copy)
{
    unsigned char *last = (unsigned char *)m->out + m->len - 1, byte;
    size_t i;

    iv[11]++;
    check(gpuaes_gcm_encrypt(key, m, GPUAES_WAIT), "encryption");
    check(gpuaes_copy(&byte, last, 1), "a copy from the GPU");
    byte ^= 1;
    check(gpuaes_copy(last, &byte, 1), "a copy to the GPU");
    if (gpuaes_gcm_decrypt(key, m, GPUAES_WAIT) != GPUAES_BAD_TAG)
        return 0;
    check(gpuaes_copy(copy, m->out, m->len), "a copy from the GPU");
    for (i = 0; i < m->len && copy[i] == 0; i++)
        ;
    return i == m->len;
}

int main(int argc, char **argv)
{
    static const unsigned char raw[32] = "a key"; /* random in a real program */
    unsigned char iv[12] = {0}, tag[16];
    char *end = "";
    size_t bytes = argc > 1 ? strtoul(argv[1], &end, 10) : 16777221, i;
    unsigned char *plain = malloc(bytes), *copy = malloc(bytes);
    struct gpuaes_gcm_key key;
    uint64_t text;

    if (*end != '\0' || bytes < 1 || !plain || !copy)
        fail("%s: expected a number of bytes that fit into memory", argv[1]);
    open_driver();
    if (gpuaes_start(NULL, NULL, 1) != GPUAES_READY)
        fail("no GPU can be used: %s", gpuaes_reason());
    if (cuda.alloc(&text, bytes))
        fail("no memory of the GPU: %zu bytes", bytes);
    for (i = 0; i < bytes; i++)
        plain[i] = (unsigned char)(i * 2654435761u >> 13);

    gpuaes_gcm_key_expand(&key, raw, sizeof raw);
    void *place = (void *)(uintptr_t)text; /* one address space for both */
    struct gpuaes_gcm_message message = {.iv = iv,
                                         .iv_bytes = sizeof iv,
                                         .aad = header,
                                         .aad_bytes = strlen(header),
                                         .in = place,
                                         .out = place,
                                         .len = bytes,
                                         .tag = tag,
                                         .tag_bytes = sizeof tag};
    check(gpuaes_copy(place, plain, bytes), "a copy to the GPU");
    int right = 1;
    for (i = 0; i < 2; i++)
        right = pass(&key, &message, iv, plain, copy) && right;
    puts(right ? "the text came back" : "the text did not come back");
    int refused = refuses(&key, &message, iv, copy);
    puts(refused ? "a changed message is refused" : "a changed message was taken for authentic");

    gpuaes_cleanse(&key, sizeof key);
    (void)cuda.release(text);
    free(plain);
    free(copy);
    return !right || !refused;
}
