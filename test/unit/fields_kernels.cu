/*
 * The arithmetic of kernels by itself, for the test of all inputs: S-box circuits, T-tables in
 * shared memory, MixColumns, products of GHASH and of XTS.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/hybrid/bitslice.cuh"
#include "cuda/kernels/aes/message/message_blocks.cuh"
#include "cuda/kernels/aes/message/message_counter.cuh"

/* ---- GF(2^8) --------------------------------------------------------------------------- */

/* Each thread does 32 bytes, as eight planes. */
extern "C" __global__ void test_sbox_circuit(uint32_t *planes)
{
    sbox_circuit(planes + 8 * threadIdx.x);
}
KERNEL(test_sbox_circuit)

extern "C" __global__ void test_inverse_sbox_circuit(uint32_t *planes)
{
    inverse_sbox_circuit(planes + 8 * threadIdx.x);
}
KERNEL(test_inverse_sbox_circuit)

/*
 * The linear steps of bitsliced rounds, each alone on eight blocks of a thread: planes and back;
 * ShiftRows, MixColumns; their inverses; ShiftRows and its inverse on the way back.
 */
extern "C" __global__ void test_bitsliced(const uint32_t *in, uint32_t *out)
{
    const uint32_t n = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    const uint32_t no_key[PLANES] = {};
    for (uint32_t step = 0; step < 7; step++) {
        uint32_t s[PLANES];
        for (uint32_t i = 0; i < PLANES; i++)
            s[i] = in[PLANES * n + i];
        to_planes(s);
        if (step == 1)
            shift_rows<1>(s);
        if (step == 3)
            shift_rows<3>(s);
        if (step == 4)
            premix_columns(s);
        if (step == 2 || step == 4)
            mix_columns(s, no_key);
        if (step == 5)
            from_planes<1>(s);
        else if (step == 6)
            from_planes<3>(s);
        else
            from_planes<0>(s);
        from_planes_half(s, 0);
        from_planes_half(s, 4);
        for (uint32_t i = 0; i < PLANES; i++)
            out[PLANES * (step * threads + n) + i] = s[i];
    }
}
KERNEL(test_bitsliced)

/* Entry x of a row's table; the other bytes of the word that has x are not 0. */
template <int TABLES, int ROW> static __device__ uint32_t entry(uint32_t x, uint32_t lane)
{
    return aes_lookup<TABLES>::template table<ROW>((~0u ^ 0xffu << 8 * ROW) | x << 8 * ROW, lane);
}

/*
 * One warp; each lane has six lists of 256 words, one word of each lane behind the other: the
 * tables of rows 0 to 3, the last round, the table of bytes. These two of a word of four bytes.
 */
template <int TABLES, bool INVERSE> static __device__ void test_tables(uint32_t *out)
{
    if (INVERSE)
        byte_sbox<TABLES>::fill(constant_tables.te);
    fill_tables<TABLES>(INVERSE ? constant_tables.td : constant_tables.te);
    const uint32_t lane = lane_address();
    out += threadIdx.x;
    for (uint32_t x = 0; x < 256; x++, out += LANES) {
        const uint32_t w = x * 0x01010101u, list = 256 * LANES;
        out[0 * list] = entry<TABLES, 0>(x, lane);
        out[1 * list] = entry<TABLES, 1>(x, lane);
        out[2 * list] = entry<TABLES, 2>(x, lane);
        out[3 * list] = entry<TABLES, 3>(x, lane);
        const uint32_t a = w & 0xff, b = ~w & 0xff00, c = w & 0xff0000, d = ~w & 0xff000000;
        out[4 * list] = INVERSE ? aes_lookup<TABLES>::last_inverse_column(lane, a, b, c, d, 0)
                                : aes_lookup<TABLES>::last_column(lane, a, b, c, d, 0);
        out[5 * list] = INVERSE ? byte_sbox<TABLES>{lane}(a | b | c | d)
                                : table_sbox<TABLES>{lane}(a | b | c | d);
    }
}

#define TABLES_KERNEL(name, tables, inverse)                                                       \
    extern "C" __global__ void name(uint32_t *out)                                                 \
    {                                                                                              \
        test_tables<tables, inverse>(out);                                                         \
    }                                                                                              \
    KERNEL(name)
TABLES_KERNEL(test_tables_1, 1, false)
TABLES_KERNEL(test_tables_2, 2, false)
TABLES_KERNEL(test_tables_4, 4, false)
TABLES_KERNEL(test_inverse_tables_1, 1, true)
TABLES_KERNEL(test_inverse_tables_2, 2, true)
TABLES_KERNEL(test_inverse_tables_4, 4, true)

/* One warp, a bit of a column each: MixColumns and its inverse. */
extern "C" __global__ void test_mix_columns(uint32_t *out)
{
    out[threadIdx.x] = mix_column(1u << threadIdx.x);
    out[LANES + threadIdx.x] = unmix_column(1u << threadIdx.x);
}
KERNEL(test_mix_columns)

/* ---- GF(2^128) of GCM -------------------------------------------------------------------- */

/* As kernels of GCM have products, and as they have them on GPUs without the instruction. */
extern "C" __global__ void test_carryless(const uint64_t *factors, uint64_t *products)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, count = gridDim.x * blockDim.x;
    const uint64_t a = factors[2 * i], b = factors[2 * i + 1];
    products[2 * i] = clmad_low(a, b, 0);
    products[2 * i + 1] = clmad_high(a, b, 0);
    products[2 * (count + i)] = product_low(a, b);
    products[2 * (count + i) + 1] = product_high(a, b);
}
KERNEL(test_carryless)

static __device__ ghash_element element_of(const uint4 &block)
{
    return to_element(to_state(block));
}

/*
 * Thread 128 i + j has elements i and j: the product of one and the factor of the other, and the
 * square of the sum of their factors, or of one where i = j.
 */
extern "C" __global__ void test_ghash(const uint4 *elements, uint4 *factors, uint4 *products,
                                      uint4 *squares)
{
    const uint32_t at = blockIdx.x * blockDim.x + threadIdx.x, i = at / 128, j = at % 128;
    const ghash_element a = times_x_of_ghash(element_of(elements[i]));
    const ghash_element b = times_x_of_ghash(element_of(elements[j]));
    products[at] = to_vector(to_block(multiply(element_of(elements[i]), b)));
    squares[at] = to_words(square(i == j ? a : a ^ b));
    if (j == 0)
        factors[i] = to_words(a);
}
KERNEL(test_ghash)

/* ---- GF(2^128) of XTS -------------------------------------------------------------------- */

/*
 * Block i of threads, a warp, has tweak i: its products with all of them; times x^n in lane n;
 * times x^32; and times x^(2^n), as kernels of messages have it.
 */
extern "C" __global__ void test_tweaks(const uint4 *tweaks, uint4 *products, uint4 *shifted,
                                       uint4 *rows, uint4 *moved)
{
    const uint32_t i = blockIdx.x, l = threadIdx.x;
    const aes_state t = to_state(tweaks[i]);
    for (uint32_t j = 0; j < gridDim.x; j++) {
        const uint32_t power[] = {tweaks[j].x, tweaks[j].y, tweaks[j].z, tweaks[j].w};
        const aes_state product = multiply_together(t, power);
        if (l == j % LANES)
            products[i * gridDim.x + j] = to_vector(product);
    }
    shifted[i * LANES + l] = to_vector(times_x(t, l));
    moved[i * LANES + l] = to_vector(move_tweak(t, 1u << l));
    if (l == 0)
        rows[i] = to_vector(times_x32(t));
}
KERNEL(test_tweaks)

/* One warp: the powers that move_by_rows() reads. */
extern "C" __global__ void test_tweak_powers(uint32_t *out)
{
    for (uint32_t i = threadIdx.x; i < XTS_POWERS * 4; i += LANES)
        out[i] = constant_powers.power[i / 4][i % 4];
}
KERNEL(test_tweak_powers)
