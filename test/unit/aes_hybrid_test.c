/*
 * What is particular to the hybrid kernels, on the emulator: the S-box circuits
 * on all inputs; CTR over several pages of counters, with any first counter; whole
 * pages and chunks of any alignment up to the ends of allocations; the parts that
 * little scratch memory cuts chained CBC into; when they are chosen, and what runs
 * where they cannot. aes_kernels_test has what they share with the plain kernels.
 * The expected results are libcrypto's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/evp.h>

#include "cuda/emulator/hooks.h"
#include "cuda/launch/kernels.h"
#include "test/support/tap.h"

enum { BLOCK = GPUAES_BLOCK, PAGE = 16384, LARGEST = 3 * PAGE + 300, MARGIN = 32 };
enum { ROOM = LARGEST * BLOCK + 2 * MARGIN, CTR_CASES = 24, CBC_CASES = 12, END_CASES = 6 };

static struct driver driver;
static drv_device device;
static struct kernels kernels;
static drv_stream stream;
static drv_ptr in_buffer, out_buffer;
static struct kernels_scratch scratch = {0, 1 << 20};
static unsigned char message[LARGEST * BLOCK], expected[LARGEST * BLOCK];
static unsigned char before[ROOM], after[ROOM];

static int finish(void)
{
    drv_result r;
    while ((r = driver.stream_query(stream)) == DRV_NOT_READY)
        ;
    return r == DRV_SUCCESS;
}

static int write_to(drv_ptr to, const void *from, size_t bytes)
{
    return driver.memcpy_htod_async(to, from, bytes, stream) == DRV_SUCCESS;
}

static int read_from(void *to, drv_ptr from, size_t bytes)
{
    return driver.memcpy_dtoh_async(to, from, bytes, stream) == DRV_SUCCESS && finish();
}

/* ---- S-boxes --------------------------------------------------------------- */

/* The S-box by its definition, FIPS 197 section 5.1.1. */
static unsigned multiply(unsigned a, unsigned b)
{
    unsigned product = 0;
    for (; b != 0; b >>= 1) {
        product ^= (b & 1) * a;
        a = a << 1 ^ (a >> 7) * 0x11b;
    }
    return product;
}

static unsigned sbox(unsigned x)
{
    unsigned inverse = 0, result = 0x63;
    for (unsigned y = 1; y < 256; y++)
        if (multiply(x, y) == 1)
            inverse = y;
    for (unsigned shift = 0; shift < 5; shift++)
        result ^= (inverse << shift | inverse >> (8 - shift)) & 0xff;
    return result;
}

/* Runs a circuit over all bytes x, each in its own bit of the planes. */
static int run_circuit(const char *name, unsigned char result[256])
{
    uint32_t planes[256 / 32][8] = {{0}};
    void *parameters[] = {&in_buffer};
    drv_function function;
    for (unsigned x = 0; x < 256; x++)
        for (unsigned bit = 0; bit < 8; bit++)
            planes[x / 32][bit] |= (x >> bit & 1) << x % 32;
    int ok = driver.module_get_function(&function, kernels.module, name) == DRV_SUCCESS &&
             write_to(in_buffer, planes, sizeof planes) &&
             driver.launch_kernel(function, 1, 1, 1, 8, 1, 1, 0, stream, parameters, NULL) ==
                 DRV_SUCCESS &&
             read_from(planes, in_buffer, sizeof planes);
    for (unsigned x = 0; x < 256; x++) {
        result[x] = 0;
        for (unsigned bit = 0; bit < 8; bit++)
            result[x] |= (unsigned char)((planes[x / 32][bit] >> x % 32 & 1) << bit);
    }
    return ok;
}

static void check_circuits(void)
{
    unsigned char forward[256], inverse[256];
    int wrong = 0;
    tap_ok(run_circuit("test_sbox_circuit", forward) &&
               run_circuit("test_inverse_sbox_circuit", inverse),
           "both circuits ran");
    for (unsigned x = 0; x < 256; x++)
        wrong += forward[x] != sbox(x) || inverse[sbox(x)] != x;
    tap_ok(wrong == 0, "both circuits give the S-box and its inverse for all 256 inputs");
}

/* ---- Whole launches ---------------------------------------------------------- */

/* A message in a place of its own, under a key of its own. */
struct job {
    enum gpuaes_op op;
    uint64_t blocks;
    unsigned in_at, out_at;
    int in_place, keystream;
    size_t margin; /* of the output, before and after */
    unsigned char iv[BLOCK];
    struct gpuaes_key schedule;
};

static void prepare(struct job *job)
{
    static const EVP_CIPHER *(*const ciphers[2][3])(void) = {
        {EVP_aes_128_ctr, EVP_aes_192_ctr, EVP_aes_256_ctr},
        {EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc},
    };
    unsigned char key[32];
    size_t k = tap_random_below(&random_state, 3);
    int n = 0;
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    tap_random_bytes(&random_state, key, sizeof key);
    tap_random_bytes(&random_state, message, job->blocks * BLOCK);
    if (job->keystream)
        memset(message, 0, job->blocks * BLOCK);
    gpuaes_key_expand(&job->schedule, key, 16 + 8 * k);
    EVP_CipherInit_ex(c, ciphers[job->op == GPUAES_CBC_DECRYPT][k](), NULL, key, job->iv,
                      job->op == GPUAES_CTR);
    EVP_CIPHER_CTX_set_padding(c, 0);
    EVP_CipherUpdate(c, expected, &n, message, (int)job->blocks * BLOCK);
    EVP_CIPHER_CTX_free(c);
}

static int is_right(const struct job *job)
{
    size_t len = job->blocks * BLOCK, at = job->margin;
    at += job->in_place ? job->in_at : job->out_at;
    struct aes_arguments arguments = {.blocks = job->blocks};
    drv_ptr out = job->in_place ? in_buffer : out_buffer;
    arguments.in = job->keystream ? 0 : in_buffer + job->margin + job->in_at;
    arguments.out = out + at;
    memcpy(arguments.iv, job->iv, BLOCK);
    memcpy(arguments.round_key,
           job->op == GPUAES_CTR ? job->schedule.encrypt : job->schedule.decrypt,
           sizeof arguments.round_key);
    memset(before, 0xee, sizeof before);
    int ok = write_to(out, before, at + len + job->margin) &&
             write_to(in_buffer + job->margin + job->in_at, message, len) &&
             kernels_launch_aes(&driver, &kernels, job->op, job->schedule.rounds, &arguments,
                                &scratch, stream) == DRV_SUCCESS &&
             read_from(after, out, at + len + job->margin);
    memcpy(before + at, expected, len);
    ok = ok && memcmp(before, after, at + len + job->margin) == 0;
    if (!ok)
        tap_diag("%u rounds, %d blocks, offsets %u and %u, in place %d, keystream %d",
                 job->schedule.rounds, (int)job->blocks, job->in_at, job->out_at, job->in_place,
                 job->keystream);
    return ok;
}

/* Any first counter; or one that begins a page, whose pages carry far. */
static void check_ctr(void)
{
    int wrong = 0;
    for (unsigned n = 0; n < CTR_CASES; n++) {
        struct job job = {
            .op = GPUAES_CTR, .in_place = n % 3 == 0, .keystream = n % 4 == 1, .margin = MARGIN};
        tap_random_bytes(&random_state, job.iv, BLOCK);
        if (n % 2 == 0) {
            size_t keep = tap_random_below(&random_state, 14);
            memset(job.iv + keep, 0xff, 14 - keep);
            job.iv[14] &= 0xc0;
            job.iv[15] = (unsigned char)(n % 4 == 0 ? 0 : job.iv[15]);
        }
        job.blocks = n < 2 ? (n + 1) * PAGE : 1 + tap_random_below(&random_state, LARGEST);
        if (n % 5 > 1) {
            job.in_at = (unsigned)tap_random_below(&random_state, 16);
            job.out_at = (unsigned)tap_random_below(&random_state, 16);
        }
        prepare(&job);
        wrong += !is_right(&job);
    }
    tap_ok(wrong == 0, "CTR over pages of counters, any first counter");
}

/* Nothing is touched beyond allocations: memcheck or AddressSanitizer sees it. */
static void check_ends(void)
{
    drv_ptr in = in_buffer, out = out_buffer;
    int wrong = 0;
    for (unsigned n = 0; n < 2 * END_CASES; n++) {
        struct job job = {.op = n % 2 == 0 ? GPUAES_CTR : GPUAES_CBC_DECRYPT};
        job.blocks = n % 2 == 0 ? 3 * PAGE - n % 4 / 2 : AES_CHUNK * (uint64_t)(1 + n / 2);
        job.in_at = (unsigned)tap_random_below(&random_state, 16);
        job.out_at = 1 + (unsigned)tap_random_below(&random_state, 15);
        prepare(&job);
        wrong += driver.mem_alloc(&in_buffer, job.in_at + job.blocks * BLOCK) != DRV_SUCCESS ||
                 driver.mem_alloc(&out_buffer, job.out_at + job.blocks * BLOCK) != DRV_SUCCESS ||
                 !is_right(&job);
        driver.mem_free(in_buffer);
        driver.mem_free(out_buffer);
    }
    in_buffer = in;
    out_buffer = out;
    tap_ok(wrong == 0, "whole pages and chunks between the ends of allocations");
}

/* In place, with scratch memory for one chunk, two, ... at a time. */
static void check_cbc_in_parts(void)
{
    struct kernels_scratch all = scratch;
    int wrong = 0;
    for (unsigned n = 0; n < CBC_CASES; n++) {
        struct job job = {
            .op = GPUAES_CBC_DECRYPT, .in_place = 1, .in_at = n % 3, .margin = MARGIN};
        tap_random_bytes(&random_state, job.iv, BLOCK);
        job.blocks = 1 + tap_random_below(&random_state, 4000);
        scratch.bytes = 96 + 16 * (size_t)(n % 4);
        prepare(&job);
        wrong += !is_right(&job);
    }
    scratch = all;
    tap_ok(wrong == 0, "chained CBC in as many parts as the scratch memory asks for");
}

/* ---- The choice ---------------------------------------------------------------- */

/* Launches `blocks` of CTR-256, and says how often a kernel of some kind was used. */
static unsigned launches_of(const char *kind, uint64_t blocks, const struct kernels_scratch *lent)
{
    struct aes_arguments arguments = {.in = in_buffer, .out = out_buffer, .blocks = blocks};
    char name[64];
    (void)snprintf(name, sizeof name, "aes_ctr_%s_14", kind);
    unsigned launches = emulator_launches(name);
    int ok = kernels_launch_aes(&driver, &kernels, GPUAES_CTR, 14, &arguments, lent, stream) ==
             DRV_SUCCESS;
    return finish() && ok ? emulator_launches(name) - launches : 0;
}

static void check_choice(void)
{
    struct aes_arguments chained = {.in = in_buffer, .out = in_buffer, .blocks = 1};
    kernels.forced = KERNEL_SIZES;
    tap_ok(kernels_scratch_bytes(&kernels, GPUAES_CTR, LARGEST, 0) > 0 &&
               launches_of("hybrid", LARGEST, &scratch) == 1,
           "large work is the hybrid kernel's");
    tap_ok(launches_of("large", LARGEST, NULL) == 1, "without scratch memory it is not");
    tap_ok(kernels_scratch_bytes(&kernels, GPUAES_CTR, 1, 0) == 0 &&
               launches_of("small", 1, &scratch) == 1,
           "little work is not, and needs no scratch memory");
    tap_ok(kernels_launch_aes(&driver, &kernels, GPUAES_CBC_DECRYPT, 14, &chained, NULL, stream) ==
               DRV_INVALID_VALUE,
           "CBC in place without scratch memory is refused");
}

/* An image without hybrid kernels: the tenth of ECB encryption is the first of them. */
static void check_absence(void)
{
    struct kernels without;
    struct aes_arguments arguments = {.in = in_buffer, .out = out_buffer, .blocks = 1};
    emulator_configure("fault=cuModuleGetFunction:10:500");
    int loaded = kernels_load(&driver, device, &without) == DRV_SUCCESS;
    emulator_configure("");
    without.forced = KERNEL_HYBRID;
    tap_ok(loaded &&
               kernels_launch_aes(&driver, &without, GPUAES_ECB_ENCRYPT, 10, &arguments, &scratch,
                                  stream) == DRV_SUCCESS &&
               finish() && emulator_launches("aes_ecb_encrypt_large_10") == 1,
           "where the image has no hybrid kernel, the large one runs");
}

static int set_up(void)
{
    drv_context context;
    return driver_open(&driver) == NULL && driver.init(0) == DRV_SUCCESS &&
           driver.device_get(&device, 0) == DRV_SUCCESS &&
           driver.primary_ctx_retain(&context, device) == DRV_SUCCESS &&
           driver.ctx_push_current(context) == DRV_SUCCESS &&
           kernels_load(&driver, device, &kernels) == DRV_SUCCESS &&
           driver.stream_create(&stream, DRV_STREAM_NON_BLOCKING) == DRV_SUCCESS &&
           driver.mem_alloc(&in_buffer, ROOM) == DRV_SUCCESS &&
           driver.mem_alloc(&out_buffer, ROOM) == DRV_SUCCESS &&
           driver.mem_alloc(&scratch.address, scratch.bytes) == DRV_SUCCESS;
}

int main(void)
{
    tap_random_seed(&random_state);
    if (!tap_ok(set_up(), "the kernels are loaded"))
        return tap_done();
    check_circuits();
    kernels.forced = KERNEL_HYBRID;
    check_ctr();
    check_ends();
    check_cbc_in_parts();
    check_choice();
    check_absence();
    return tap_done();
}
