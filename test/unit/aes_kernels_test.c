/*
 * Every AES kernel on the emulator, launched by itself: each mode and key
 * size, input and output at all offsets from a multiple of 16, out of place and in
 * place, sizes around those of warps, blocks and chunks, counters that carry,
 * CBC that takes its IV from device memory. Then what is particular to the hybrid
 * kernels: CTR over several pages of counters; whole pages and chunks; groups of chunks, also
 * where a block has many warps; the parts that little scratch memory cuts chained CBC into; when
 * they are chosen, and what runs where they cannot. The expected results are libcrypto's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/launch/kernels.h"
#include "test/support/library.h"

enum { BLOCK = GPUAES_BLOCK, PLAIN = 2049, PAGE = 16384, LARGEST = 3 * PAGE + 300, MARGIN = 32 };
enum { PLAIN_ROOM = PLAIN * BLOCK + 3 * MARGIN }; /* compared as a whole */
enum { ROOM = LARGEST * BLOCK + 3 * MARGIN, CTR_CASES = 24, CBC_CASES = 12, END_CASES = 6 };
enum { GROUP_CASES = 24 };

static const uint64_t sizes[] = {1,   2,   31,  32,  33,  63,   64,   65,   127,  129,
                                 255, 256, 257, 511, 513, 1023, 1025, 2047, PLAIN};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const char *const kernel_names[] = {
    [KERNEL_SMALL] = "small", [KERNEL_TWO_TABLE] = "two-table", [KERNEL_HYBRID] = "hybrid"};

static drv_device device;
static struct kernels kernels;
static drv_stream stream;
static drv_ptr in_buffer, out_buffer, iv_buffer;
static struct kernels_scratch scratch = {0, 1 << 20};

/* One key and IV, and what becomes of the message under them. */
static struct text {
    enum gpuaes_op op;
    unsigned key_bytes;
    struct gpuaes_key schedule;
    unsigned char iv[BLOCK], message[LARGEST * BLOCK], expected[LARGEST * BLOCK];
} text;

/* How a launch gets at it. */
struct placement {
    uint64_t blocks;
    unsigned in_at, out_at;
    int in_place;
    int iv_on_device; /* CBC: and the last block written in its place */
    int keystream;    /* CTR: of no input */
    size_t margin;    /* of the output, before and after */
};

/* ---- Texts and launches -------------------------------------------------------------- */

/* Under text.iv. */
static void make_text(enum gpuaes_op op, unsigned key_bytes, uint64_t blocks, int keystream)
{
    unsigned char key[32], iv[BLOCK];
    text.op = op;
    text.key_bytes = key_bytes;
    tap_random_bytes(&random_state, key, sizeof key);
    if (keystream)
        memset(text.message, 0, blocks * BLOCK);
    else
        tap_random_bytes(&random_state, text.message, blocks * BLOCK);
    gpuaes_key_expand(&text.schedule, key, key_bytes);
    memcpy(iv, text.iv, BLOCK);
    reference(op, key, key_bytes, iv, text.message, text.expected, blocks * BLOCK);
}

static unsigned some_key_bytes(void)
{
    return 16 + 8 * (unsigned)tap_random_below(&random_state, 3);
}

static int finish(void)
{
    drv_result r;
    while ((r = application.stream_query(stream)) == DRV_NOT_READY)
        usleep(20); /* the emulator needs the core */
    return r == DRV_SUCCESS;
}

static int write_to(drv_ptr to, const void *from, size_t bytes)
{
    return application.memcpy_htod_async(to, from, bytes, stream) == DRV_SUCCESS;
}

static int read_from(void *to, drv_ptr from, size_t bytes)
{
    return application.memcpy_dtoh_async(to, from, bytes, stream) == DRV_SUCCESS && finish();
}

static int launch(const struct placement *p, drv_ptr in, drv_ptr out)
{
    int decrypts = text.op == GPUAES_ECB_DECRYPT || text.op == GPUAES_CBC_DECRYPT ||
                   text.op == GPUAES_XTS_DECRYPT;
    struct aes_arguments arguments = {.in = p->keystream ? 0 : in, .out = out, .blocks = p->blocks};
    memcpy(arguments.round_key, decrypts ? text.schedule.decrypt : text.schedule.encrypt,
           sizeof arguments.round_key);
    if (p->iv_on_device)
        arguments.iv_at = arguments.next = iv_buffer;
    else
        memcpy(arguments.iv, text.iv, BLOCK);
    return write_to(iv_buffer, text.iv, BLOCK) &&
           kernels_launch_aes(&application, &kernels, text.op, text.schedule.rounds, &arguments,
                              &scratch, stream) == DRV_SUCCESS;
}

/* Whether output, what surrounds it and the last block of ciphertext are right. */
static int is_right(const struct placement *p)
{
    static unsigned char before[ROOM], after[ROOM];
    unsigned char last[BLOCK];
    size_t len = p->blocks * BLOCK, at = p->margin + (p->in_place ? p->in_at : p->out_at);
    size_t all = at + len + p->margin;
    if (p->margin != 0 && all < PLAIN_ROOM)
        all = PLAIN_ROOM;
    drv_ptr in = in_buffer + p->margin + p->in_at, out = p->in_place ? in_buffer : out_buffer;
    memset(before, 0xee, all);
    int ok = write_to(out, before, all) && write_to(in, text.message, len) &&
             launch(p, in, out + at) && read_from(after, out, all) &&
             read_from(last, iv_buffer, BLOCK);
    memcpy(before + at, text.expected, len);
    ok = ok && memcmp(before, after, all) == 0 &&
         (!p->iv_on_device || memcmp(last, text.message + len - BLOCK, BLOCK) == 0);
    if (!ok)
        tap_diag("AES-%u, %d blocks, offsets %u and %u, in place %d, IV on the device %d, "
                 "keystream %d",
                 text.key_bytes * 8, (int)p->blocks, p->in_at, p->out_at, p->in_place,
                 p->iv_on_device, p->keystream);
    return ok;
}

/* Nothing is touched beyond an allocation: memcheck or AddressSanitizer sees it. */
static int is_right_between_ends(const struct placement *p)
{
    drv_ptr in = in_buffer, out = out_buffer;
    size_t len = p->blocks * BLOCK;
    int ok = application.mem_alloc(&in_buffer, p->in_at + len) == DRV_SUCCESS &&
             application.mem_alloc(&out_buffer, p->out_at + len) == DRV_SUCCESS && is_right(p);
    application.mem_free(in_buffer);
    application.mem_free(out_buffer);
    in_buffer = in;
    out_buffer = out;
    return ok;
}

/* ---- All kernels --------------------------------------------------------------------- */

/* All pairs of offsets with one key size, each with another number of blocks. */
static void check_offsets(const char *kernel)
{
    unsigned wrong = 0, step = text.key_bytes == 32 ? 1 : 7;
    for (unsigned n = 0; n < 256; n += step)
        wrong += !is_right(&(struct placement){
            .blocks = sizes[n % SIZES], .in_at = n % 16, .out_at = n / 16, .margin = MARGIN});
    tap_ok(wrong == 0, "%s kernel, %s, %u-bit key: %s offsets of input and output", kernel,
           op_names[text.op], text.key_bytes * 8, step == 1 ? "all" : "some");
}

static void check_in_place(const char *kernel)
{
    int wrong = 0;
    for (unsigned n = 0; n < 3 * SIZES; n++)
        wrong += !is_right(
            &(struct placement){.blocks = sizes[n / 3],
                                .in_at = n % 3 == 0 ? 0 : (n / 3 * 3 + n % 3 * 7) % 16,
                                .in_place = 1,
                                .iv_on_device = text.op == GPUAES_CBC_DECRYPT && n % 3 == 2,
                                .margin = MARGIN});
    tap_ok(wrong == 0, "%s kernel, %s, %u-bit key: in place, every size", kernel, op_names[text.op],
           text.key_bytes * 8);
}

static void check_ends(const char *kernel)
{
    int wrong = 0;
    for (unsigned n = 0; n < 2 * 16; n++)
        wrong += !is_right_between_ends(&(struct placement){
            .blocks = n < 16 ? 1 : 33 + 16 * n, .in_at = n % 16, .out_at = n % 16});
    tap_ok(wrong == 0, "%s kernel, %s: up to the end of an allocation", kernel, op_names[text.op]);
}

/* So many bytes at the end of the IV carry within 1024 blocks: up to the whole. */
static void check_carries(const char *kernel)
{
    int wrong = 0;
    for (unsigned bytes = 2; bytes <= BLOCK; bytes++) {
        tap_random_bytes(&random_state, text.iv, BLOCK);
        memset(text.iv + BLOCK - bytes, 0xff, bytes - 1);
        text.iv[14] |= 0xfc;
        make_text(GPUAES_CTR, 32, PLAIN, 0);
        wrong += !is_right(&(struct placement){
            .blocks = bytes % 2 == 0 ? PLAIN : 1025, .out_at = bytes - 1, .margin = MARGIN});
    }
    tap_ok(wrong == 0, "%s kernel: counters that carry to each byte", kernel);
}

static void check_kernel(enum kernel_size size)
{
    const char *kernel = kernel_names[size];
    kernels.forced = size;
    tap_ok(kernels.aes[GPUAES_CTR][size][0] != NULL, "%s kernel: there is one", kernel);
    for (int i = 0; i < SINGLE_OPS; i++)
        for (unsigned key_bytes = 16; key_bytes <= 32; key_bytes += 8) {
            tap_random_bytes(&random_state, text.iv, BLOCK);
            make_text(single_ops[i], key_bytes, PLAIN, 0);
            check_offsets(kernel);
            check_in_place(kernel);
            if (key_bytes == 16)
                check_ends(kernel);
        }
    check_carries(kernel);
}

/* ---- Hybrid kernels: pages and chunks ------------------------------------------------- */

/* Any first counter; or one that begins a page, whose pages carry far. */
static void check_pages(void)
{
    int wrong = 0;
    for (unsigned n = 0; n < CTR_CASES; n++) {
        struct placement p = {.in_place = n % 3 == 0, .keystream = n % 4 == 1, .margin = MARGIN};
        tap_random_bytes(&random_state, text.iv, BLOCK);
        if (n % 2 == 0) {
            size_t keep = tap_random_below(&random_state, 14);
            memset(text.iv + keep, 0xff, 14 - keep);
            text.iv[14] &= 0xc0;
            text.iv[15] = (unsigned char)(n % 4 == 0 ? 0 : text.iv[15]);
        }
        p.blocks = n < 2 ? (n + 1) * PAGE : 1 + tap_random_below(&random_state, LARGEST);
        if (n % 5 > 1) {
            p.in_at = (unsigned)tap_random_below(&random_state, 16);
            p.out_at = (unsigned)tap_random_below(&random_state, 16);
        }
        make_text(GPUAES_CTR, some_key_bytes(), p.blocks, p.keystream);
        wrong += !is_right(&p);
    }
    tap_ok(wrong == 0, "CTR over pages of counters, any first counter");
}

static void check_whole_pages(void)
{
    int wrong = 0;
    for (unsigned n = 0; n < 2 * END_CASES; n++) {
        struct placement p = {.in_at = (unsigned)tap_random_below(&random_state, 16),
                              .out_at = 1 + (unsigned)tap_random_below(&random_state, 15)};
        p.blocks = n % 2 == 0 ? 3 * PAGE - n % 4 / 2 : AES_CHUNK * (uint64_t)(1 + n / 2);
        make_text(n % 2 == 0 ? GPUAES_CTR : GPUAES_CBC_DECRYPT, some_key_bytes(), p.blocks, 0);
        wrong += !is_right_between_ends(&p);
    }
    tap_ok(wrong == 0, "whole pages and chunks between the ends of allocations");
}

/* So many groups that blocks of threads are dealt some, and some are left over. */
static void check_groups(const char *how)
{
    static const enum gpuaes_op ops[] = {GPUAES_ECB_ENCRYPT, GPUAES_ECB_DECRYPT, GPUAES_CBC_DECRYPT,
                                         GPUAES_CTR};
    int wrong = 0;
    for (unsigned n = 0; n < GROUP_CASES; n++) {
        struct placement p = {.in_place = n / 4 % 2 == 0, .margin = MARGIN};
        p.blocks = LARGEST / 2 + tap_random_below(&random_state, LARGEST / 2);
        if (n % 3 != 0) {
            p.in_at = (unsigned)tap_random_below(&random_state, 16);
            p.out_at = (unsigned)tap_random_below(&random_state, 16);
        }
        tap_random_bytes(&random_state, text.iv, BLOCK);
        make_text(ops[n % 4], some_key_bytes(), p.blocks, 0);
        wrong += !is_right(&p);
    }
    tap_ok(wrong == 0, "many groups of chunks, %s", how);
}

/* As on a GPU: 32 warps have a rest of chunks, of which bitsliced warps take none. */
static void check_many_warps(void)
{
    struct kernels few = kernels;
    emulator_configure("threads=1024,multiprocessors=3");
    int loaded = kernels_load(&application, device, &kernels) == DRV_SUCCESS;
    kernels.forced = KERNEL_HYBRID;
    if (tap_ok(loaded && kernels.max_threads == 1024, "kernels of blocks of 32 warps are loaded"))
        check_groups("blocks of 32 warps");
    emulator_configure("");
    kernels = few;
}

/* In place, with scratch memory for one chunk, two, ... at a time. */
static void check_cbc_in_parts(void)
{
    struct kernels_scratch all = scratch;
    int wrong = 0;
    for (unsigned n = 0; n < CBC_CASES; n++) {
        struct placement p = {1 + tap_random_below(&random_state, 4000), n % 3, 0, 1, 0, 0, MARGIN};
        tap_random_bytes(&random_state, text.iv, BLOCK);
        scratch.bytes = 48 + 16 * (size_t)(n % 4);
        make_text(GPUAES_CBC_DECRYPT, some_key_bytes(), p.blocks, 0);
        wrong += !is_right(&p);
    }
    scratch = all;
    tap_ok(wrong == 0, "chained CBC in as many parts as the scratch memory asks for");
}

/* ---- Hybrid kernels: the choice ------------------------------------------------------- */

/* Launches `blocks` of CTR-256, and says how often a kernel of some kind was used. */
static unsigned launches_of(const char *kind, uint64_t blocks)
{
    struct aes_arguments arguments = {.in = in_buffer, .out = out_buffer, .blocks = blocks};
    char name[64];
    (void)snprintf(name, sizeof name, "aes_ctr_%s_14", kind);
    unsigned launches = emulator_launches(name);
    int ok = kernels_launch_aes(&application, &kernels, GPUAES_CTR, 14, &arguments, NULL, stream) ==
             DRV_SUCCESS;
    return finish() && ok ? emulator_launches(name) - launches : 0;
}

static void check_choice(void)
{
    struct aes_arguments chained = {.in = in_buffer, .out = in_buffer, .blocks = 1};
    kernels.forced = KERNEL_SIZES;
    uint64_t most = (uint64_t)kernels.multiprocessors * kernels.max_threads * (AES_CHUNK / 32);
    tap_ok(launches_of("hybrid", LARGEST) == 1 && launches_of("hybrid", most + 1) == 1,
           "work of more than a chunk a warp is the hybrid kernel's");
    tap_ok(launches_of("two_table", most) == 1, "work of a chunk a warp is the two-table kernel's");
    tap_ok(launches_of("small", 1) == 1, "little work is the small kernel's");
    tap_ok(kernels_launch_aes(&application, &kernels, GPUAES_CBC_DECRYPT, 14, &chained, NULL,
                              stream) == DRV_INVALID_VALUE,
           "CBC in place without scratch memory is refused");
}

/* An image without hybrid kernels: the seventh of ECB encryption is the first of them. */
static void check_absence(void)
{
    struct kernels without;
    struct aes_arguments arguments = {.in = in_buffer, .out = out_buffer, .blocks = 1};
    emulator_configure("fault=cuModuleGetFunction:7:500");
    int loaded = kernels_load(&application, device, &without) == DRV_SUCCESS;
    emulator_configure("");
    without.forced = KERNEL_HYBRID;
    tap_ok(loaded &&
               kernels_launch_aes(&application, &without, GPUAES_ECB_ENCRYPT, 10, &arguments,
                                  &scratch, stream) == DRV_SUCCESS &&
               finish() && emulator_launches("aes_ecb_encrypt_two_table_10") == 1,
           "where the image has no hybrid kernel, the two-table one runs");
}

static int set_up(void)
{
    become_an_application(0);
    return application.device_get(&device, 0) == DRV_SUCCESS &&
           kernels_load(&application, device, &kernels) == DRV_SUCCESS &&
           application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) == DRV_SUCCESS &&
           application.mem_alloc(&in_buffer, ROOM) == DRV_SUCCESS &&
           application.mem_alloc(&out_buffer, ROOM) == DRV_SUCCESS &&
           application.mem_alloc(&iv_buffer, BLOCK) == DRV_SUCCESS &&
           application.mem_alloc(&scratch.address, scratch.bytes) == DRV_SUCCESS;
}

int main(void)
{
    tap_random_seed(&random_state);
    if (!tap_ok(set_up(), "the kernels are loaded"))
        return tap_done();
    for (int size = KERNEL_SMALL; size < KERNEL_SIZES; size++)
        check_kernel((enum kernel_size)size);
    kernels.forced = KERNEL_HYBRID;
    check_pages();
    check_whole_pages();
    check_groups("blocks of two warps");
    check_many_warps();
    check_cbc_in_parts();
    check_choice();
    check_absence();
    return tap_done();
}
