/*
 * Every plain AES kernel on the emulator, launched by itself: each mode and key
 * size, input and output at all offsets from a multiple of 16, apart and in
 * place, sizes around those of warps, blocks and chunks, counters that carry,
 * CBC that takes its IV from device memory. The expected results are libcrypto's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/evp.h>
#include <unistd.h>

#include "cuda/launch/kernels.h"
#include "test/support/tap.h"

enum { BLOCK = GPUAES_BLOCK, LARGEST = 2049, MARGIN = 32, ROOM = LARGEST * BLOCK + 2 * MARGIN };

static const uint64_t sizes[] = {1,   2,   31,  32,  33,  63,   64,   65,   127,    129,
                                 255, 256, 257, 511, 513, 1023, 1025, 2047, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const char *const op_names[GPUAES_OPS] = {"ECB encryption", "ECB decryption",
                                                 "CBC decryption", "CTR"};
static const char *const kernel_names[] = {[KERNEL_SMALL] = "small",
                                           [KERNEL_TWO_TABLE] = "two-table",
                                           [KERNEL_LARGE] = "large",
                                           [KERNEL_HYBRID] = "hybrid"};

static struct driver driver;
static struct kernels kernels;
static drv_stream stream;
static drv_ptr in_buffer, out_buffer, iv_buffer;
static struct kernels_scratch scratch;

/* One key and IV, and what becomes of the message under them. */
struct text {
    enum gpuaes_op op;
    unsigned key_bytes;
    struct gpuaes_key schedule;
    unsigned char iv[BLOCK];
    unsigned char message[LARGEST * BLOCK], expected[LARGEST * BLOCK];
};

/* How a launch gets at a text. */
struct placement {
    uint64_t blocks;
    unsigned in_at, out_at;
    int in_place;
    int iv_on_device; /* CBC: and the last block written in its place */
};

static void make_expected(struct text *text, const unsigned char key[32])
{
    static const EVP_CIPHER *(*const ciphers[GPUAES_OPS][3])(void) = {
        {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb},
        {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb},
        {EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc},
        {EVP_aes_128_ctr, EVP_aes_192_ctr, EVP_aes_256_ctr},
    };
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n = 0;
    EVP_CipherInit_ex(c, ciphers[text->op][key_size_index(text->key_bytes)](), NULL, key, text->iv,
                      text->op == GPUAES_ECB_ENCRYPT || text->op == GPUAES_CTR);
    EVP_CIPHER_CTX_set_padding(c, 0);
    EVP_CipherUpdate(c, text->expected, &n, text->message, sizeof text->message);
    EVP_CIPHER_CTX_free(c);
}

/* `carry` bytes at the end of the IV are such that they carry within 1024 blocks. */
static void make_text(struct text *text, enum gpuaes_op op, unsigned key_bytes, size_t carry)
{
    unsigned char key[32];
    text->op = op;
    text->key_bytes = key_bytes;
    tap_random_bytes(&random_state, key, sizeof key);
    tap_random_bytes(&random_state, text->iv, BLOCK);
    if (carry >= 2) {
        memset(text->iv + BLOCK - carry, 0xff, carry - 1);
        text->iv[14] = (unsigned char)(text->iv[14] | 0xfc);
    }
    tap_random_bytes(&random_state, text->message, sizeof text->message);
    gpuaes_key_expand(&text->schedule, key, key_bytes);
    make_expected(text, key);
}

static drv_result copy_in(drv_ptr to, const void *from, size_t bytes)
{
    return driver.memcpy_htod_async(to, from, bytes, stream);
}

static drv_result finish(void)
{
    drv_result r;
    while ((r = driver.stream_query(stream)) == DRV_NOT_READY)
        usleep(20); /* the emulator needs the core */
    return r;
}

static drv_result launch(const struct text *text, const struct placement *p, drv_ptr in,
                         drv_ptr out)
{
    int decrypts = text->op == GPUAES_ECB_DECRYPT || text->op == GPUAES_CBC_DECRYPT;
    struct aes_arguments arguments = {.in = in, .out = out, .blocks = p->blocks};
    memcpy(arguments.round_key, decrypts ? text->schedule.decrypt : text->schedule.encrypt,
           sizeof arguments.round_key);
    if (p->iv_on_device) {
        arguments.iv_at = arguments.next = iv_buffer;
        drv_result r = copy_in(iv_buffer, text->iv, BLOCK);
        if (r != DRV_SUCCESS)
            return r;
    } else {
        memcpy(arguments.iv, text->iv, BLOCK);
    }
    return kernels_launch_aes(&driver, &kernels, text->op, text->schedule.rounds, &arguments,
                              &scratch, stream);
}

/* Whether output, what surrounds it and the last block of ciphertext are right. */
static int is_right(const struct text *text, const struct placement *p)
{
    static unsigned char before[ROOM], after[ROOM];
    unsigned char last[BLOCK];
    size_t len = p->blocks * BLOCK, at = MARGIN + (p->in_place ? p->in_at : p->out_at);
    drv_ptr in = in_buffer + MARGIN + p->in_at, out = p->in_place ? in_buffer : out_buffer;
    memset(before, 0xee, sizeof before);
    int ok = copy_in(in_buffer, before, ROOM) == DRV_SUCCESS &&
             copy_in(out_buffer, before, ROOM) == DRV_SUCCESS &&
             copy_in(in, text->message, len) == DRV_SUCCESS &&
             launch(text, p, in, out + at) == DRV_SUCCESS &&
             driver.memcpy_dtoh_async(after, out, ROOM, stream) == DRV_SUCCESS &&
             driver.memcpy_dtoh_async(last, iv_buffer, BLOCK, stream) == DRV_SUCCESS &&
             finish() == DRV_SUCCESS;
    memcpy(before + at, text->expected, len);
    ok = ok && memcmp(before, after, sizeof after) == 0;
    if (p->iv_on_device)
        ok = ok && memcmp(last, text->message + len - BLOCK, BLOCK) == 0;
    if (!ok)
        tap_diag("AES-%u, %d blocks, offsets %u and %u, in place %d, IV on the device %d",
                 text->key_bytes * 8, (int)p->blocks, p->in_at, p->out_at, p->in_place,
                 p->iv_on_device);
    return ok;
}

/* All pairs of offsets with one key size, each with another number of blocks. */
static void check_offsets(const struct text *text, enum kernel_size size)
{
    unsigned wrong = 0, step = text->key_bytes == 32 ? 1 : 7;
    for (unsigned n = 0; n < 256; n += step) {
        struct placement p = {sizes[n % SIZES], n % 16, n / 16, 0, 0};
        wrong += !is_right(text, &p);
    }
    tap_ok(wrong == 0, "%s kernel, %s, %u-bit key: %s offsets of input and output",
           kernel_names[size], op_names[text->op], text->key_bytes * 8, step == 1 ? "all" : "some");
}

static void check_in_place(const struct text *text, enum kernel_size size)
{
    int wrong = 0;
    for (unsigned n = 0; n < SIZES; n++)
        for (unsigned k = 0; k < 3; k++) {
            struct placement p = {sizes[n], k == 0 ? 0 : (n * 3 + k * 7) % 16, 0, 1, 0};
            p.iv_on_device = text->op == GPUAES_CBC_DECRYPT && k == 2;
            wrong += !is_right(text, &p);
        }
    tap_ok(wrong == 0, "%s kernel, %s, %u-bit key: in place, every size", kernel_names[size],
           op_names[text->op], text->key_bytes * 8);
}

/* Nothing is touched beyond an allocation: memcheck or AddressSanitizer sees it. */
static void check_ends(const struct text *text, enum kernel_size size)
{
    static unsigned char got[LARGEST * BLOCK];
    int wrong = 0;
    for (unsigned n = 0; n < 2 * 16; n++) {
        struct placement p = {n < 16 ? 1 : 33 + 16 * n, n % 16, n % 16, 0, 0};
        size_t len = p.blocks * BLOCK;
        drv_ptr in = 0, out = 0;
        int ok = driver.mem_alloc(&in, p.in_at + len) == DRV_SUCCESS &&
                 driver.mem_alloc(&out, p.out_at + len) == DRV_SUCCESS &&
                 copy_in(in + p.in_at, text->message, len) == DRV_SUCCESS &&
                 launch(text, &p, in + p.in_at, out + p.out_at) == DRV_SUCCESS &&
                 driver.memcpy_dtoh_async(got, out + p.out_at, len, stream) == DRV_SUCCESS &&
                 finish() == DRV_SUCCESS && memcmp(got, text->expected, len) == 0;
        wrong += !ok;
        driver.mem_free(in);
        driver.mem_free(out);
    }
    tap_ok(wrong == 0, "%s kernel, %s: up to the end of an allocation", kernel_names[size],
           op_names[text->op]);
}

/* The carry leaves byte 15, 14, the lower half, the whole. */
static void check_carries(struct text *text, enum kernel_size size)
{
    static const size_t carries[] = {2, 3, 5, 8, 9, 13, 16};
    int wrong = 0;
    for (size_t i = 0; i < sizeof carries / sizeof *carries; i++) {
        struct placement p = {i % 2 == 0 ? LARGEST : 1025, 0, (unsigned)i, 0, 0};
        make_text(text, GPUAES_CTR, 32, carries[i]);
        wrong += !is_right(text, &p);
    }
    tap_ok(wrong == 0, "%s kernel: counters that carry", kernel_names[size]);
}

static int set_up(void)
{
    drv_context context;
    drv_device device;
    scratch.bytes = 4096;
    return driver_open(&driver) == NULL && driver.init(0) == DRV_SUCCESS &&
           driver.device_get(&device, 0) == DRV_SUCCESS &&
           driver.primary_ctx_retain(&context, device) == DRV_SUCCESS &&
           driver.ctx_push_current(context) == DRV_SUCCESS &&
           kernels_load(&driver, device, &kernels) == DRV_SUCCESS &&
           driver.stream_create(&stream, DRV_STREAM_NON_BLOCKING) == DRV_SUCCESS &&
           driver.mem_alloc(&in_buffer, ROOM) == DRV_SUCCESS &&
           driver.mem_alloc(&out_buffer, ROOM) == DRV_SUCCESS &&
           driver.mem_alloc(&iv_buffer, BLOCK) == DRV_SUCCESS &&
           driver.mem_alloc(&scratch.address, scratch.bytes) == DRV_SUCCESS;
}

int main(void)
{
    static struct text text;
    tap_random_seed(&random_state);
    if (!tap_ok(set_up(), "the kernels are loaded"))
        return tap_done();
    for (int size = KERNEL_SMALL; size < KERNEL_SIZES; size++) {
        kernels.forced = (enum kernel_size)size;
        tap_ok(kernels.aes[GPUAES_CTR][size][0] != NULL, "%s kernel: there is one",
               kernel_names[size]);
        for (int op = 0; op < GPUAES_OPS; op++)
            for (unsigned key_bytes = 16; key_bytes <= 32; key_bytes += 8) {
                make_text(&text, (enum gpuaes_op)op, key_bytes, 0);
                check_offsets(&text, kernels.forced);
                check_in_place(&text, kernels.forced);
                if (key_bytes == 16)
                    check_ends(&text, kernels.forced);
            }
        check_carries(&text, kernels.forced);
    }
    return tap_done();
}
