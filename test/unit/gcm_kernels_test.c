/*
 * Every GCM kernel on the emulator, launched by itself: each key size and direction, out of place
 * and in place, aligned and not, from one block to several pages of counters, and with what was
 * hashed before. The tags that follow from their hashes are libcrypto's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/minmax.h"
#include "cuda/launch/kernels.h"
#include "test/support/element.h"
#include "test/support/library.h"

enum { BLOCK = GPUAES_BLOCK, PAGE = 16384, LARGEST = 2 * PAGE + 300, MARGIN = 32 };
enum { ROOM = LARGEST * BLOCK + 2 * MARGIN, AAD = 3 * BLOCK };

/* The last for one key size: the first counter is 2, so that a whole page begins near the next. */
static const unsigned sizes[] = {1, 2, 31, 33, 255, 257, 800, 2049, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct kernels kernels;
static drv_stream stream;
static drv_ptr in_buffer, out_buffer, powers, start, sums;

/* ---- Texts --------------------------------------------------------------------------- */

struct text {
    unsigned key_bytes, blocks;
    struct gpuaes_key schedule;
    unsigned char iv[BLOCK]; /* 12 bytes, and the first counter of the text */
    unsigned char aad[AAD], plain[LARGEST * BLOCK], cipher[LARGEST * BLOCK], tag[BLOCK];
    struct element h, mask; /* the hash key; the encrypted first counter block */
};

static struct element encrypt_block(const unsigned char *key, unsigned key_bytes,
                                    const unsigned char *in)
{
    unsigned char iv[BLOCK] = {0}, block[BLOCK];
    reference(GPUAES_ECB_ENCRYPT, key, key_bytes, iv, in, block, BLOCK);
    return element_read(block);
}

static void make_text(struct text *t, unsigned key_bytes, unsigned blocks)
{
    static const unsigned char zeros[BLOCK];
    unsigned char key[32];
    const struct reference_message message = {
        GPUAES_GCM_ENCRYPT, key, key_bytes, t->iv, 12, t->aad, AAD};
    t->key_bytes = key_bytes;
    t->blocks = blocks;
    tap_random_bytes(&random_state, key, sizeof key);
    tap_random_bytes(&random_state, t->iv, BLOCK);
    tap_random_bytes(&random_state, t->aad, AAD);
    tap_random_bytes(&random_state, t->plain, blocks * BLOCK);
    gpuaes_key_expand(&t->schedule, key, key_bytes);
    reference_run(&message, t->plain, t->cipher, blocks * BLOCK, t->tag);

    t->h = encrypt_block(key, key_bytes, zeros);
    memcpy(t->iv + 12, "\0\0\0\1", 4);
    t->mask = encrypt_block(key, key_bytes, t->iv);
    t->iv[15] = 2;
}

/* ---- Launches ------------------------------------------------------------------------ */

static int finish(void)
{
    drv_result r;
    while ((r = application.stream_query(stream)) == DRV_NOT_READY)
        usleep(20); /* the emulator needs the core */
    return r == DRV_SUCCESS;
}

static int run(const char *name, unsigned grid, unsigned threads, unsigned shared, void *arguments)
{
    drv_function function;
    return application.module_get_function(&function, kernels.module, name) == DRV_SUCCESS &&
           application.func_set_attribute(function, DRV_FUNC_MAX_DYNAMIC_SHARED, (int)shared) ==
               DRV_SUCCESS &&
           kernels_launch(&application, function, grid, threads, shared, stream, arguments) ==
               DRV_SUCCESS;
}

enum { HYBRID_SHARED = AES_LARGE_SHARED + AES_HYBRID_QUEUE_SHARED + 32 * AES_HYBRID_WARP_SHARED };

static const struct family {
    const char *name;
    unsigned threads, shared;
} families[] = {
    {"small", 256, AES_SMALL_SHARED},
    {"two_table", 1024, AES_TWO_TABLE_SHARED},
    {"hybrid", 1024, HYBRID_SHARED},
    {"hybrid_unaligned", 1024, HYBRID_SHARED},
};
enum { FAMILIES = sizeof families / sizeof *families, HYBRID = 2, GRID = 3, WARP = 32 };

static void fill_planes(struct aes_hybrid_arguments *hybrid)
{
    for (unsigned round = 0; round < 14; round++)
        for (unsigned column = 0; column < 4; column++)
            for (unsigned bit = 0; bit < 32; bit++)
                if ((hybrid->aes.round_key[4 * round + column] >> bit & 1) != 0)
                    hybrid->planes[round][bit] |= 0xffu << (8 * column);
}

/* The hash before the text, in two sums. */
static int write_start(const struct text *t, struct ghash_sums *to)
{
    static uint64_t before[2][2]; /* the copy may read it later */
    struct element hash = {0, 0};
    for (int i = 0; i < AAD; i += BLOCK)
        hash = element_multiply(element_add(hash, element_read(t->aad + i)), t->h);
    tap_random_bytes(&random_state, before[0], BLOCK);
    before[1][0] = before[0][0] ^ hash.low;
    before[1][1] = before[0][1] ^ hash.high;
    *to = (struct ghash_sums){.own = sums, .before = start, .count = 2};
    element_write_factor(to->factor, element_power(t->h, t->blocks));
    return application.memcpy_htod_async(start, before, sizeof before, stream) == DRV_SUCCESS;
}

static int launch_hybrid(const char *name, const struct family *family, const struct text *t,
                         const struct aes_arguments *aes)
{
    struct aes_gcm_hybrid_arguments g = {.hybrid.aes = *aes};
    struct ghash_powers_arguments p = {.powers = powers};
    p.levels = t->blocks < 256 ? 1 : t->blocks < 65536 ? 2 : 3;
    for (unsigned level = 0; level < p.levels; level++)
        element_write_factor(p.base[level], element_power(t->h, 1U << 8 * level));
    fill_planes(&g.hybrid);
    g.hash.powers = powers;
    g.hash.levels = p.levels;
    for (unsigned i = 0; i < GHASH_STEPS; i++)
        element_write_factor(g.hash.step[i], element_power(t->h, i * GHASH_DISTANCE));
    return write_start(t, &g.hash.sums) &&
           run("ghash_powers", 2, min_unsigned(GHASH_POWERS, kernels.max_threads), 0, &p) &&
           run(name, GRID, min_unsigned(family->threads, kernels.max_threads), family->shared, &g);
}

static int launch_plain(const char *name, const struct family *family, const struct text *t,
                        const struct aes_arguments *aes)
{
    unsigned threads = min_unsigned(family->threads, kernels.max_threads);
    unsigned warps = GRID * threads / WARP, has_tiles = family != families;
    struct aes_gcm_arguments g = {.aes = *aes};
    for (unsigned n = 0; n < GHASH_SQUARES; n++)
        element_write_factor(g.hash.squares[n], element_power(t->h, 1U << n));
    element_write_factor(g.hash.row, element_power(t->h, has_tiles ? WARP : warps * WARP));
    element_write_factor(g.hash.tile, element_power(t->h, warps * 256 - 224));
    g.hash.levels = has_tiles ? 5 : 4;
    return write_start(t, &g.hash.sums) && run(name, GRID, threads, family->shared, &g);
}

static int launch(const struct family *family, const struct text *t, int encrypts, drv_ptr in,
                  drv_ptr out)
{
    char name[64];
    struct aes_arguments aes = {.in = in, .out = out, .blocks = t->blocks};
    memcpy(aes.iv, t->iv, BLOCK);
    memcpy(aes.round_key, t->schedule.encrypt, sizeof aes.round_key);
    (void)snprintf(name, sizeof name, "aes_gcm_%s_%s_%u", encrypts ? "encrypt" : "decrypt",
                   family->name, t->schedule.rounds);
    return family >= &families[HYBRID] ? launch_hybrid(name, family, t, &aes)
                                       : launch_plain(name, family, t, &aes);
}

/* The hash, completed: SP 800-38D section 7.1, steps 5 and 6. */
static int is_tag(const struct text *t, const struct element parts[GRID])
{
    struct element y = {t->blocks * BLOCK * 8, AAD * 8}, want = element_read(t->tag);
    for (int i = 0; i < GRID; i++)
        y = element_add(y, parts[i]);
    y = element_multiply(y, t->h);
    y = element_add(y, t->mask);
    return y.low == want.low && y.high == want.high;
}

static int is_right(const struct family *family, const struct text *t, int encrypts, unsigned in_at,
                    unsigned out_at, int in_place)
{
    static unsigned char before[ROOM], after[ROOM];
    struct element parts[GRID];
    size_t len = (size_t)t->blocks * BLOCK, at = MARGIN + (in_place ? in_at : out_at);
    drv_ptr in = in_buffer + MARGIN + in_at, out = in_place ? in_buffer : out_buffer;
    memset(before, 0xee, sizeof before);
    int ok = application.memcpy_htod_async(out_buffer, before, ROOM, stream) == DRV_SUCCESS &&
             application.memcpy_htod_async(in_buffer, before, ROOM, stream) == DRV_SUCCESS &&
             application.memcpy_htod_async(in, encrypts ? t->plain : t->cipher, len, stream) ==
                 DRV_SUCCESS &&
             launch(family, t, encrypts, in, out + at) &&
             application.memcpy_dtoh_async(after, out, ROOM, stream) == DRV_SUCCESS &&
             application.memcpy_dtoh_async(parts, sums, sizeof parts, stream) == DRV_SUCCESS &&
             finish();
    memcpy(before + at, encrypts ? t->cipher : t->plain, len);
    int same = ok && memcmp(before, after, ROOM) == 0, tagged = ok && is_tag(t, parts);
    if (!same || !tagged)
        tap_diag("%u blocks, offsets %u and %u, in place %d: text %s, tag %s", t->blocks, in_at,
                 out_at, in_place, same ? "right" : "wrong", tagged ? "right" : "wrong");
    return same && tagged;
}

static void check_family(const struct family *family, unsigned key_bytes)
{
    static struct text t;
    int wrong[2] = {0, 0}, aligned = family == &families[HYBRID];
    for (unsigned n = 0; n < (key_bytes == 32 ? SIZES : SIZES - 1); n++) {
        make_text(&t, key_bytes, sizes[n]);
        for (int encrypts = 0; encrypts < 2; encrypts++) {
            unsigned at = aligned ? 0 : (unsigned)tap_random_below(&random_state, 16);
            wrong[encrypts] += !is_right(family, &t, encrypts, 0, aligned ? 0 : n % 16, 0) +
                               !is_right(family, &t, encrypts, at, at, 1);
        }
    }
    for (int encrypts = 0; encrypts < 2; encrypts++)
        tap_ok(wrong[encrypts] == 0, "%s kernel, %s, %u-bit key: text and tag", family->name,
               encrypts ? "encryption" : "decryption", key_bytes * 8);
}

/* ---- Scratch memory -------------------------------------------------------------------- */

static drv_result launch_with(const struct kernels *of, size_t scratch_bytes, unsigned *count)
{
    static struct gpuaes_gcm_key key;
    struct aes_arguments aes = {.in = in_buffer, .out = in_buffer, .blocks = LARGEST};
    struct kernels_sums own = {.memory = out_buffer};
    struct kernels_scratch scratch = {powers, scratch_bytes};
    key.schedule.rounds = 14;
    drv_result r = kernels_launch_gcm(&application, of, GPUAES_GCM_ENCRYPT, &key, &aes, &own,
                                      &scratch, stream);
    *count = own.count;
    return r;
}

static void check_scratch(void)
{
    struct kernels hybrid = kernels;
    unsigned count = 0;
    hybrid.forced = KERNEL_HYBRID;
    size_t need = kernels_gcm_scratch_bytes(&hybrid, GPUAES_GCM_ENCRYPT, LARGEST);
    tap_ok(need == 2 * KERNELS_POWERS_BYTES, "%d blocks need two levels of powers", LARGEST);
    tap_ok(launch_with(&hybrid, need - 1, &count) == DRV_INVALID_VALUE && count == 0,
           "with a byte less than a launch needs it is refused");
    tap_ok(launch_with(&hybrid, need, &count) == DRV_SUCCESS && count > 0 && finish(),
           "with what it needs it runs");
}

static int set_up(void)
{
    become_an_application(0);
    return kernels_load(&application, 0, &kernels) == DRV_SUCCESS &&
           application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) == DRV_SUCCESS &&
           application.mem_alloc(&in_buffer, ROOM) == DRV_SUCCESS &&
           application.mem_alloc(&out_buffer, ROOM) == DRV_SUCCESS &&
           application.mem_alloc(&powers, GHASH_LEVELS * GHASH_POWERS * BLOCK) == DRV_SUCCESS &&
           application.mem_alloc(&start, 2 * BLOCK) == DRV_SUCCESS &&
           application.mem_alloc(&sums, GRID * BLOCK) == DRV_SUCCESS;
}

int main(void)
{
    tap_random_seed(&random_state);
    if (!tap_ok(set_up(), "the kernels are loaded"))
        return tap_done();
    for (const struct family *family = families; family < families + FAMILIES; family++)
        for (unsigned key_bytes = 16; key_bytes <= 32; key_bytes += 8)
            check_family(family, key_bytes);
    check_scratch();
    return tap_done();
}
