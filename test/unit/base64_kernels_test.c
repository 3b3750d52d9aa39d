/*
 * The Base64 kernels themselves, on the emulator: every alignment of input and
 * output, every kind of line, lengths around the edges of what a thread takes,
 * and wrong characters at every place. The expected results are libcrypto's.
 *
 * Buffers are as large as the work, so that a sanitizer sees a step outside of them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/launch/kernels.h"
#include "test/support/library.h"

/* Alignments repeat after 16 bytes; behind and before them is what must not change. */
enum { ALIGNMENTS = 16, MARGIN = 48, LONGEST = 5000, GUARD = 0x7e };

static struct kernels kernels;
static unsigned char plain[LONGEST];

static void open_device(void)
{
    become_an_application(0);
    if (kernels_load(&application, 0, &kernels) != DRV_SUCCESS) {
        fputs("no emulator\n", stderr);
        exit(EXIT_FAILURE);
    }
}

/* So few threads that each takes several vectors; waits. */
static int launch(drv_function function, void *arguments)
{
    unsigned grid = 1 + (unsigned)tap_random_below(&random_state, 3);
    unsigned threads = tap_random_below(&random_state, 2) ? 32 : 64;
    void *parameters[] = {arguments};
    drv_result r = application.launch_kernel(function, grid, 1, 1, threads, 1, 1, 0,
                                             DRV_STREAM_LEGACY, parameters, NULL);
    while (r == DRV_SUCCESS && (r = application.stream_query(DRV_STREAM_LEGACY)) == DRV_NOT_READY)
        r = DRV_SUCCESS;
    return r == DRV_SUCCESS;
}

/* ---- Device memory, which the emulator lets the CPU touch ------------------------ */

/* `bytes` bytes at `at` behind an address that is aligned to 16. */
struct place {
    drv_ptr allocated;
    unsigned char *p;
    size_t at, bytes;
};

static struct place place_new(size_t at, size_t bytes)
{
    struct place place = {.at = at, .bytes = bytes};
    if (application.mem_alloc(&place.allocated, at + bytes) != DRV_SUCCESS)
        exit(EXIT_FAILURE);
    place.p = (unsigned char *)(uintptr_t)place.allocated + at;
    return place;
}

static void place_free(struct place *place)
{
    application.mem_free(place->allocated);
}

/* ---- Encoding ---------------------------------------------------------------------- */

/* libcrypto's text with line ends put in. */
static size_t expect_text(unsigned char *to, const unsigned char *from, size_t bytes,
                          size_t line_length)
{
    unsigned char text[LONGEST / 3 * 4 + 8];
    size_t characters = (size_t)EVP_EncodeBlock(text, from, (int)bytes), n = 0;
    for (size_t i = 0; i < characters; i++) {
        to[n++] = text[i];
        if (line_length != 0 && ((i + 1) % line_length == 0 || i + 1 == characters))
            to[n++] = '\n';
    }
    return n;
}

/* With guards around the output if `guarded`, else at the very end of its memory. */
static int encodes(size_t in_at, size_t out_at, size_t bytes, size_t line_length, size_t guard)
{
    static unsigned char expected[2 * LONGEST + 16];
    size_t characters = expect_text(expected, plain, bytes, line_length);
    struct place in = place_new(in_at, bytes);
    struct place out = place_new(guard + out_at, characters + guard);
    struct base64_encode_arguments arguments = {.in = in.allocated + in.at,
                                                .out = out.allocated + out.at,
                                                .bytes = bytes,
                                                .characters = characters,
                                                .reciprocal = UINT64_MAX / (line_length + 1),
                                                .line_length = (uint32_t)line_length};
    memcpy(in.p, plain, bytes);
    memset(out.p - out.at, GUARD, out.at + out.bytes);
    int right =
        launch(kernels.base64_encode, &arguments) && memcmp(out.p, expected, characters) == 0;
    for (size_t i = 0; i < out.at; i++)
        right &= out.p[-1 - (ptrdiff_t)i] == GUARD;
    for (size_t i = characters; i < out.bytes; i++)
        right &= out.p[i] == GUARD;
    if (!right)
        tap_diag("%zu bytes in lines of %zu, from %zu to %zu", bytes, line_length, in_at, out_at);
    place_free(&in);
    place_free(&out);
    return right;
}

static void test_encode(void)
{
    static const size_t lines[] = {0, 4, 8, 12, 16, 20, 48, 60, 64, 68, 76, 1000, 8000};
    for (size_t l = 0; l < sizeof lines / sizeof lines[0]; l++) {
        int right = 1;
        for (size_t in_at = 0; in_at < ALIGNMENTS; in_at++)
            for (size_t out_at = 0; out_at < ALIGNMENTS; out_at++) {
                size_t some = 1 + tap_random_below(&random_state, LONGEST);
                right = right &&
                        encodes(in_at, out_at, 1 + (in_at * ALIGNMENTS + out_at) % 120, lines[l],
                                MARGIN) &&
                        encodes(in_at, out_at, some, lines[l], 0);
            }
        tap_ok(right, "encoding in lines of %zu at every alignment", lines[l]);
    }
}

/* Every length up to where a few threads have whole vectors. */
static void test_encode_lengths(void)
{
    static const size_t lines[] = {0, 16, 64, 76};
    for (size_t l = 0; l < sizeof lines / sizeof lines[0]; l++) {
        int right = 1;
        for (size_t bytes = 1; bytes < 400; bytes++)
            right = right && encodes(bytes % 7, bytes % 5, bytes, lines[l], 0);
        tap_ok(right, "encoding of 1 to 399 bytes in lines of %zu", lines[l]);
    }
}

/* ---- Decoding ---------------------------------------------------------------------- */

/* Decodes `text`; the offset that the kernel reports, or SIZE_MAX - 1 if it wrote wrongly. */
static size_t decodes(const unsigned char *text, size_t quads, size_t in_at, size_t out_at,
                      size_t guard)
{
    struct place in = place_new(in_at, 4 * quads), error = place_new(0, sizeof(uint64_t));
    struct place out = place_new(guard + out_at, 3 * quads + guard);
    struct base64_decode_arguments arguments = {.in = in.allocated + in.at,
                                                .out = out.allocated + out.at,
                                                .quads = quads,
                                                .error = error.allocated};
    uint64_t found;
    memcpy(in.p, text, 4 * quads);
    memset(error.p, 0xff, sizeof found);
    memset(out.p - out.at, GUARD, out.at + out.bytes);
    int right = launch(kernels.base64_decode, &arguments);
    memcpy(&found, error.p, sizeof found);
    if (found == UINT64_MAX)
        right &= memcmp(out.p, plain, 3 * quads) == 0;
    for (size_t i = 0; i < out.at; i++)
        right &= out.p[-1 - (ptrdiff_t)i] == GUARD;
    for (size_t i = 3 * quads; i < out.bytes; i++)
        right &= out.p[i] == GUARD;
    place_free(&in);
    place_free(&error);
    place_free(&out);
    return right ? (size_t)found : SIZE_MAX - 1;
}

static int decodes_well(size_t quads, size_t in_at, size_t out_at, size_t guard)
{
    unsigned char text[LONGEST / 3 * 4 + 8];
    EVP_EncodeBlock(text, plain, (int)(3 * quads));
    int right = decodes(text, quads, in_at, out_at, guard) == SIZE_MAX;
    if (!right)
        tap_diag("%zu quads from %zu to %zu", quads, in_at, out_at);
    return right;
}

static void test_decode(void)
{
    for (size_t out_at = 0; out_at < 4; out_at++) {
        int right = 1;
        for (size_t in_at = 0; in_at < ALIGNMENTS; in_at++) {
            size_t some = 1 + tap_random_below(&random_state, LONGEST / 3);
            right = right && decodes_well(some, in_at, out_at, 0) &&
                    decodes_well(some, in_at, out_at + 4 * (in_at % 4), MARGIN);
            for (size_t quads = 1; quads < 40; quads++)
                right = right && decodes_well(quads, in_at, out_at, 0);
        }
        tap_ok(right, "decoding to an address of 4 * n + %zu from every alignment", out_at);
    }
}

/* Wrong characters at `first` and behind it: 1 if the first is found. */
static int finds(size_t quads, size_t first, unsigned char wrong, size_t in_at, size_t out_at)
{
    unsigned char text[LONGEST / 3 * 4 + 8];
    EVP_EncodeBlock(text, plain, (int)(3 * quads));
    text[first] = wrong;
    for (size_t i = 0; i < 3; i++)
        text[first + tap_random_below(&random_state, 4 * quads - first)] = wrong;
    size_t found = decodes(text, quads, in_at, out_at, MARGIN);
    if (found != first)
        tap_diag("%#x at %zu of %zu quads, from %zu to %zu: found at %zu", wrong, first, quads,
                 in_at, out_at, found);
    return found == first;
}

static void test_errors(void)
{
    static const unsigned char wrong[] = {'\0', '\n', ' ', '*', ',', '-',  '.',  ':',  '=',
                                          '@',  '[',  '_', '`', '{', 0x7f, 0x80, 0xc1, 0xff};
    int right = 1;
    for (size_t at = 0; at < 4 * 24; at++)
        for (size_t alignment = 0; alignment < 4; alignment++)
            right = right && finds(24, at, wrong[at % sizeof wrong], 0, alignment) &&
                    finds(24, at, '=', 5 * alignment % ALIGNMENTS, alignment);
    tap_ok(right, "a wrong character at every place of a short text");
    right = 1;
    for (size_t w = 0; w < sizeof wrong; w++)
        for (size_t in_at = 0; in_at < ALIGNMENTS; in_at += 4)
            right =
                right && finds(1500, tap_random_below(&random_state, 6000), wrong[w], in_at, w % 4);
    tap_ok(right, "each kind of wrong character somewhere in a longer text");
    right = 1;
    for (unsigned c = 0; c < 256; c++) {
        const char *alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        unsigned char text[64];
        memset(text, 'A', sizeof text);
        text[21] = (unsigned char)c;
        size_t found = decodes(text, 16, 0, 0, MARGIN);
        /* Of a text that is right only the finding is of interest: it is not `plain`. */
        right &= c != 0 && strchr(alphabet, (int)c) != NULL ? found != 21 : found == 21;
    }
    tap_ok(right, "exactly the alphabet is taken");
}

int main(void)
{
    tap_random_seed(&random_state);
    tap_random_bytes(&random_state, plain, sizeof plain);
    open_device();
    test_encode();
    test_encode_lengths();
    test_decode();
    test_errors();
    return tap_done();
}
