/*
 * The arithmetic of the two fields, each against its definition, on all inputs or on a basis:
 * GF(2^8) of AES (S-boxes, T-tables, MixColumns) in kernels and on the CPU, GF(2^128) of GCM and of
 * XTS. docs/soundness.md says what follows from it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/aes.h"
#include "cuda/kernels/common/arguments.h"
#include "cuda/launch/ghash.h"
#include "cuda/launch/mode.h"
#include "test/support/bare_kernels.h"
#include "test/support/element.h"
#include "test/support/library.h"

enum { BLOCK = GPUAES_BLOCK, BITS = 128, LANES = 32, LISTS = 6, POWERS = 57 };
enum { SLICED = 8, STEPS = 7 }; /* blocks of a bitsliced lane; linear steps of its rounds */

/* In device memory, which the CPU of an emulated device reads as well. */
static struct memory {
    uint32_t planes[2][256 / 32][8];
    uint32_t tables[LISTS][256][LANES];
    uint32_t mixed[2][32];
    uint32_t sliced[BITS][SLICED][4][SLICED], stepped[STEPS][BITS][SLICED][4][SLICED];
    uint64_t pairs[64][64][2], halves[2][64][64][2];
    _Alignas(16) unsigned char basis[BITS][BLOCK]; /* block i has bit i alone */
    _Alignas(16) unsigned char products[BITS][BITS][BLOCK], shifted[BITS][LANES][BLOCK];
    _Alignas(16) unsigned char rows[BITS][BLOCK], moved[BITS][LANES][BLOCK];
    _Alignas(16) uint64_t factors[BITS][2], squares[BITS][BITS][2];
    uint32_t powers[POWERS][4];
} * m;

/* ---- GF(2^8), FIPS 197 section 4 ------------------------------------------------------- */

static unsigned multiply(unsigned a, unsigned b)
{
    unsigned product = 0;
    for (; b != 0; b >>= 1) {
        product ^= (b & 1) * a;
        a = a << 1 ^ (a >> 7) * 0x11b;
    }
    return product;
}

static unsigned char sbox[256], inverse_sbox[256];

/* Section 5.1.1. */
static void make_sboxes(void)
{
    for (unsigned x = 0; x < 256; x++) {
        unsigned inverse = 0, s = 0x63;
        for (unsigned y = 1; y < 256; y++)
            if (multiply(x, y) == 1)
                inverse = y;
        for (unsigned shift = 0; shift < 5; shift++)
            s ^= (inverse << shift | inverse >> (8 - shift)) & 0xff;
        sbox[x] = (unsigned char)s;
        inverse_sbox[s] = (unsigned char)x;
    }
}

/* The column that a byte of a row becomes: sections 5.1.3 and 5.3.3. */
static uint32_t mixed(unsigned byte, unsigned row, int inverse)
{
    static const unsigned char factors[2][4] = {{2, 3, 1, 1}, {14, 11, 13, 9}};
    uint32_t column = 0;
    for (unsigned i = 0; i < 4; i++)
        column |= multiply(byte, factors[inverse][(row + 4 - i) % 4]) << 8 * i;
    return column;
}

static uint32_t mixed_column(uint32_t w, int inverse)
{
    uint32_t column = 0;
    for (unsigned row = 0; row < 4; row++)
        column ^= mixed(w >> 8 * row & 0xff, row, inverse);
    return column;
}

static uint32_t substituted(uint32_t w, const unsigned char box[256])
{
    return (uint32_t)box[w & 0xff] | (uint32_t)box[w >> 8 & 0xff] << 8 |
           (uint32_t)box[w >> 16 & 0xff] << 16 | (uint32_t)box[w >> 24] << 24;
}

/* ---- S-boxes and tables of kernels ------------------------------------------------------- */

/* A circuit over all bytes x, each in its own bit of the planes. */
static void check_circuit(int inverse)
{
    const char *name = inverse ? "test_inverse_sbox_circuit" : "test_sbox_circuit";
    unsigned wrong = 0;
    memset(m->planes, 0, sizeof m->planes);
    for (unsigned x = 0; x < 256; x++)
        for (unsigned bit = 0; bit < 8; bit++)
            m->planes[inverse][x / 32][bit] |= (x >> bit & 1) << x % 32;
    int ran = bare_kernel_run(name, 1, 8, 0, (void *[BARE_POINTERS]){m->planes[inverse]});
    for (unsigned x = 0; x < 256; x++) {
        unsigned result = 0;
        for (unsigned bit = 0; bit < 8; bit++)
            result |= (m->planes[inverse][x / 32][bit] >> x % 32 & 1) << bit;
        wrong += result != (inverse ? inverse_sbox : sbox)[x];
    }
    tap_ok(ran && wrong == 0, "%s circuit: all 256 inputs", inverse ? "inverse S-box" : "S-box");
}

/* All entries that a lane reads, of all tables, in all lanes. */
static void check_tables(unsigned tables, int inverse)
{
    const unsigned char *box = inverse ? inverse_sbox : sbox;
    char name[32];
    unsigned wrong = 0;
    (void)snprintf(name, sizeof name, "test_%stables_%u", inverse ? "inverse_" : "", tables);
    memset(m->tables, 0, sizeof m->tables);
    int ran = bare_kernel_run(name, 1, LANES, tables * AES_TABLE_SHARED + MESSAGE_SBOX_SHARED,
                              (void *[BARE_POINTERS]){m->tables});
    for (unsigned x = 0; x < 256; x++)
        for (unsigned lane = 0; lane < LANES; lane++) {
            const uint32_t bytes = x * 0x01010101u ^ 0xff00ff00u;
            for (unsigned row = 0; row < 4; row++)
                wrong += m->tables[row][x][lane] != mixed(box[x], row, inverse);
            wrong += m->tables[4][x][lane] != substituted(bytes, box);
            wrong += m->tables[5][x][lane] != substituted(bytes, sbox);
        }
    tap_ok(ran && wrong == 0, "T-tables of %scryption, %u in shared memory: all entries, all lanes",
           inverse ? "de" : "en", tables);
}

static void check_columns(void)
{
    unsigned wrong = 0;
    int ran = bare_kernel_run("test_mix_columns", 1, LANES, 0, (void *[BARE_POINTERS]){m->mixed});
    for (unsigned bit = 0; bit < 32; bit++)
        for (int inverse = 0; inverse < 2; inverse++)
            wrong += m->mixed[inverse][bit] != mixed_column(1u << bit, inverse);
    tap_ok(ran && wrong == 0, "MixColumns of raw keys and its inverse: all 32 bits");
}

/* ShiftRows or its inverse: sections 5.1.2 and 5.3.1. */
static void shift_rows(unsigned char s[BLOCK], int inverse)
{
    unsigned char t[BLOCK];
    for (unsigned i = 0; i < BLOCK; i++)
        t[i] = s[(i + (inverse ? 12 : 4) * (i % 4)) % BLOCK];
    memcpy(s, t, BLOCK);
}

/* Each bit of each of the eight blocks, which the others must not get. */
static void check_bitsliced(void)
{
    unsigned wrong = 0;
    memset(m->sliced, 0, sizeof m->sliced);
    for (unsigned bit = 0; bit < BITS; bit++)
        for (unsigned j = 0; j < SLICED; j++)
            m->sliced[bit][j][bit / 32][j] = 1u << bit % 32;
    int ran = bare_kernel_run("test_bitsliced", BITS * SLICED / 64, 64, 0,
                              (void *[BARE_POINTERS]){m->sliced, m->stepped});
    for (unsigned n = 0; n < STEPS * BITS * SLICED; n++) {
        const unsigned step = n / BITS / SLICED, bit = n / SLICED % BITS, j = n % SLICED;
        uint32_t columns[4], want[4][SLICED] = {{0}};
        memcpy(columns, m->basis[bit], BLOCK);
        if (step == 1 || step == 3 || step > 4)
            shift_rows((unsigned char *)columns, step == 3 || step == 6);
        for (unsigned c = 0; c < 4; c++)
            want[c][j] = step == 2 || step == 4 ? mixed_column(columns[c], step == 4) : columns[c];
        wrong += memcmp(m->stepped[step][bit][j], want, sizeof want) != 0;
    }
    tap_ok(ran && wrong == 0,
           "planes, ShiftRows, MixColumns, inverses, bitsliced: all 8 x 128 bits");
}

/* ---- The cipher on the CPU ----------------------------------------------------------------- */

/* Rounds with keys of zeros, the last of them without MixColumns. */
static int runs_rounds(unsigned rounds, const unsigned char in[BLOCK])
{
    const struct gpuaes_key key = {.rounds = rounds};
    unsigned char result[BLOCK], s[BLOCK];
    uint32_t columns[4];
    memcpy(s, in, BLOCK);
    aes_encrypt_block(&key, in, result);
    for (unsigned round = 1; round <= rounds; round++) {
        for (unsigned i = 0; i < BLOCK; i++)
            s[i] = sbox[s[i]];
        shift_rows(s, 0);
        memcpy(columns, s, BLOCK);
        for (unsigned c = 0; c < 4 && round != rounds; c++)
            columns[c] = mixed_column(columns[c], 0);
        memcpy(s, columns, BLOCK);
    }
    return memcmp(result, s, BLOCK) == 0;
}

static void check_host_rounds(void)
{
    unsigned wrong[2] = {0, 0};
    unsigned char in[BLOCK];
    for (unsigned x = 0; x < 256; x++) {
        for (unsigned i = 0; i < BLOCK; i++)
            in[i] = (unsigned char)(x + 17 * i);
        wrong[0] += !runs_rounds(1, in);
    }
    for (unsigned bit = 0; bit < BITS; bit++) {
        for (unsigned i = 0; i < BLOCK; i++)
            in[i] = inverse_sbox[m->basis[bit][i]];
        wrong[1] += !runs_rounds(2, in);
    }
    tap_ok(wrong[0] == 0, "the CPU's S-box and ShiftRows: all 256 inputs in each of 16 bytes");
    tap_ok(wrong[1] == 0, "the CPU's MixColumns: all 128 bits");
}

/* Of a word of the first bytes, and of the second half of a key of 256 bits. */
static void check_host_schedule(void)
{
    struct gpuaes_key schedule;
    unsigned wrong[2] = {0, 0};
    for (unsigned x = 0; x < 256; x++) {
        const uint32_t w = x * 0x01010101u ^ 0xff00ff00u, key[4] = {0, 0, 0, w};
        (void)gpuaes_key_expand(&schedule, (const unsigned char *)key, sizeof key);
        wrong[0] += schedule.encrypt[4] != (substituted(w >> 8 | w << 24, sbox) ^ 1);
    }
    for (unsigned bit = 0; bit < BITS; bit++) {
        unsigned char key[32] = {0};
        uint32_t columns[4];
        memcpy(key + BLOCK, m->basis[bit], BLOCK);
        memcpy(columns, m->basis[bit], BLOCK);
        (void)gpuaes_key_expand(&schedule, key, sizeof key);
        for (unsigned c = 0; c < 4; c++)
            wrong[1] += schedule.decrypt[4 * 13 + c] != mixed_column(columns[c], 1);
    }
    tap_ok(wrong[0] == 0, "the key schedule's S-box: all 256 inputs in each of 4 bytes");
    tap_ok(wrong[1] == 0, "the key schedule's InvMixColumns: all 128 bits");
}

/* ---- GF(2^128) of GCM ------------------------------------------------------------------------ */

/* The product of two polynomials, by its definition. */
static struct element product_of(uint64_t a, uint64_t b)
{
    struct element product = {0, 0};
    for (int bit = 0; bit < 64; bit++)
        if ((b >> bit & 1) != 0) {
            product.low ^= a << bit;
            product.high ^= bit != 0 ? a >> (64 - bit) : 0;
        }
    return product;
}

/* Of single bits, or else of words: an integer product carries most where all bits are set. */
static void check_carryless(int is_basis)
{
    unsigned wrong[2] = {0, 0};
    tap_random_bytes(&random_state, m->pairs, sizeof m->pairs);
    for (unsigned i = 0; i < 64; i++)
        for (unsigned j = 0; j < 64; j++) {
            uint64_t *pair = m->pairs[i][j];
            if (is_basis) {
                pair[0] = (uint64_t)1 << i;
                pair[1] = (uint64_t)1 << j;
            } else if (i < 8 && j < 8) {
                pair[0] = UINT64_MAX >> 8 * i;
                pair[1] = UINT64_MAX << 8 * j;
            }
        }
    int ran =
        bare_kernel_run("test_carryless", 64, 64, 0, (void *[BARE_POINTERS]){m->pairs, m->halves});
    for (unsigned i = 0; i < 64; i++)
        for (unsigned j = 0; j < 64; j++) {
            struct element want = product_of(m->pairs[i][j][0], m->pairs[i][j][1]);
            for (int way = 0; way < 2; way++)
                wrong[way] +=
                    m->halves[way][i][j][0] != want.low || m->halves[way][i][j][1] != want.high;
        }
    const char *what = is_basis ? "all 64 x 64 pairs of bits" : "4096 pairs of words";
    tap_ok(ran && wrong[0] == 0, "clmad_low() and clmad_high(): %s", what);
    tap_ok(ran && wrong[1] == 0, "product_low() and product_high(), by integers: %s", what);
}

static int is_same(const uint64_t words[2], struct element e)
{
    return words[0] == e.low && words[1] == e.high;
}

static struct element factor(struct element e)
{
    uint64_t words[2];
    element_write_factor(words, e);
    return (struct element){words[0], words[1]};
}

/* Of basis element i, or of the sum of two: squaring is additive. */
static struct element factor_of_square(unsigned i, unsigned j)
{
    struct element e = element_read(m->basis[i]);
    if (i != j)
        e = element_add(e, element_read(m->basis[j]));
    return factor(element_multiply(e, e));
}

static void check_ghash_of_kernels(void)
{
    unsigned wrong[3] = {0, 0, 0};
    int ran =
        bare_kernel_run("test_ghash", BITS * 2, BITS / 2, 0,
                        (void *[BARE_POINTERS]){m->basis, m->factors, m->products, m->squares});
    for (unsigned i = 0; i < BITS; i++) {
        const struct element e = element_read(m->basis[i]);
        wrong[0] += !is_same(m->factors[i], factor(e));
        for (unsigned j = 0; j < BITS; j++) {
            const struct element product = element_read(m->products[i][j]);
            wrong[1] += !is_same((const uint64_t[2]){product.low, product.high},
                                 element_multiply(e, element_read(m->basis[j])));
            wrong[2] += !is_same(m->squares[i][j], factor_of_square(i, j));
        }
    }
    tap_ok(ran && wrong[0] == 0, "factors of elements in kernels: all 128 bits");
    tap_ok(ran && wrong[1] == 0, "products of GHASH in kernels: all 128 x 128 pairs of bits");
    tap_ok(ran && wrong[2] == 0, "squares in kernels: all 128 bits and sums of two");
}

static void check_ghash_of_host(void)
{
    unsigned wrong[3] = {0, 0, 0};
    for (unsigned i = 0; i < BITS; i++) {
        const struct ghash_element e = ghash_load(m->basis[i]), f = ghash_factor(e);
        wrong[0] += !is_same((const uint64_t[2]){f.low, f.high}, factor(element_read(m->basis[i])));
        for (unsigned j = 0; j < BITS; j++) {
            const struct ghash_element other = ghash_factor(ghash_load(m->basis[j]));
            const struct ghash_element square = ghash_square(i == j ? f : ghash_add(f, other));
            unsigned char block[BLOCK];
            ghash_store(block, ghash_multiply(e, other));
            const struct element product = element_read(block);
            wrong[1] +=
                !is_same((const uint64_t[2]){product.low, product.high},
                         element_multiply(element_read(m->basis[i]), element_read(m->basis[j])));
            wrong[2] +=
                !is_same((const uint64_t[2]){square.low, square.high}, factor_of_square(i, j));
        }
    }
    tap_ok(wrong[0] == 0, "factors of elements on the CPU: all 128 bits");
    tap_ok(wrong[1] == 0, "products of GHASH on the CPU: all 128 x 128 pairs of bits");
    tap_ok(wrong[2] == 0, "squares on the CPU: all 128 bits and sums of two");
}

/* Integer products with holes carry: a basis is not enough. */
static void check_host_carries(void)
{
    unsigned wrong = 0;
    for (unsigned n = 0; n < 4096; n++) {
        unsigned char a[BLOCK], b[BLOCK], block[BLOCK];
        tap_random_bytes(&random_state, a, BLOCK);
        tap_random_bytes(&random_state, b, BLOCK);
        if (n < 4)
            memset(a, 0xff, BLOCK);
        if (n % 2 == 0 && n < 4)
            memset(b, 0xff, BLOCK);
        ghash_store(block, ghash_multiply(ghash_load(a), ghash_factor(ghash_load(b))));
        const struct element want = element_multiply(element_read(a), element_read(b));
        const struct element have = element_read(block);
        wrong += have.low != want.low || have.high != want.high;
    }
    tap_ok(wrong == 0, "products of GHASH on the CPU: 4096 pairs of elements, of all bits first");
}

/* ---- GF(2^128) of XTS, IEEE Std 1619 section 5.2 ----------------------------------------------
 */

__extension__ typedef unsigned __int128 wide; /* little-endian, as the host's are */

static wide tweak_times_x(wide a)
{
    return a << 1 ^ (a >> 127) * 0x87;
}

static wide tweak_multiply(wide a, wide b)
{
    wide product = 0;
    for (; b != 0; b >>= 1, a = tweak_times_x(a))
        product ^= (b & 1) * a;
    return product;
}

static int is_tweak(const void *words, wide want)
{
    return memcmp(words, &want, sizeof want) == 0;
}

static void check_tweaks_of_kernels(void)
{
    unsigned wrong[4] = {0, 0, 0, 0};
    int ran = bare_kernel_run(
                  "test_tweaks", BITS, LANES, 0,
                  (void *[BARE_POINTERS]){m->basis, m->products, m->shifted, m->rows, m->moved}) &&
              bare_kernel_run("test_tweak_powers", 1, LANES, 0, (void *[BARE_POINTERS]){m->powers});
    for (unsigned i = 0; i < BITS; i++) {
        wide t, other, x32, power = 2;
        memcpy(&t, m->basis[i], sizeof t);
        for (unsigned j = 0; j < BITS; j++) {
            memcpy(&other, m->basis[j], sizeof other);
            wrong[0] += !is_tweak(m->products[i][j], tweak_multiply(t, other));
        }
        x32 = t;
        for (unsigned n = 0; n < LANES; n++, x32 = tweak_times_x(x32)) {
            wrong[1] += !is_tweak(m->shifted[i][n], x32);
            wrong[3] += !is_tweak(m->moved[i][n], tweak_multiply(power, t));
            power = tweak_multiply(power, power);
        }
        wrong[1] += !is_tweak(m->rows[i], x32);
    }
    wide power = 0x87; /* x^128 */
    for (unsigned n = 0; n < POWERS; n++, power = tweak_multiply(power, power))
        wrong[2] += !is_tweak(m->powers[n], power);
    tap_ok(ran && wrong[0] == 0, "products of XTS in kernels: all 128 x 128 pairs of bits");
    tap_ok(ran && wrong[1] == 0, "tweaks times x^0 to x^32 in kernels: all 128 bits");
    tap_ok(ran && wrong[2] == 0, "powers of x for rows of 32 blocks: all %d", POWERS);
    tap_ok(ran && wrong[3] == 0, "tweaks of messages, 2^0 to 2^31 blocks on: all 128 bits");
}

static void check_tweaks_of_host(void)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < BITS; i++) {
        wide t, power = 2;
        memcpy(&t, m->basis[i], sizeof t);
        for (unsigned n = 0; n < 64; n++, power = tweak_multiply(power, power)) {
            unsigned char tweak[BLOCK];
            memcpy(tweak, m->basis[i], BLOCK);
            gpuaes_modes[GPUAES_XTS_ENCRYPT]->advance(tweak, (uint64_t)1 << n, NULL);
            wrong += !is_tweak(tweak, tweak_multiply(power, t));
        }
    }
    tap_ok(wrong == 0, "tweaks on the CPU, 2^0 to 2^63 blocks on: all 128 bits");
}

int main(void)
{
    static struct kernels kernels;
    tap_random_seed(&random_state);
    make_sboxes();
    m = bare_kernels_open(&kernels, sizeof *m);
    if (!tap_ok(m != NULL, "the kernels are loaded"))
        return tap_done();
    for (unsigned i = 0; i < BITS; i++)
        m->basis[i][i / 8] = (unsigned char)(1u << i % 8);
    for (int inverse = 0; inverse < 2; inverse++) {
        check_circuit(inverse);
        for (unsigned tables = 1; tables <= 4; tables *= 2)
            check_tables(tables, inverse);
    }
    check_columns();
    check_bitsliced();
    check_host_rounds();
    check_host_schedule();
    check_carryless(1);
    check_carryless(0);
    check_ghash_of_kernels();
    check_ghash_of_host();
    check_host_carries();
    check_tweaks_of_kernels();
    check_tweaks_of_host();
    return tap_done();
}
