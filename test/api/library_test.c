/*
 * libgpuaes itself, on the emulator: every combination of memory kinds, in
 * place and out of place, at sizes that take one piece and many, at any alignment;
 * Base64 likewise; arguments; copies; the cap on pinned memory. The expected
 * results are libcrypto's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <sys/prctl.h>

#include "test/support/library.h"

enum { LARGEST = 3 << 20, MARGIN = 64, ROOM = LARGEST + 2 * MARGIN };

/* ---- All kinds ------------------------------------------------------------------ */

struct buffers {
    unsigned char *in, *out, *got;
};

/* One random call; 1 if its result, its continuation and its surroundings are right. */
static int is_right(enum gpuaes_op op, const struct buffers *b, int in_place, size_t len,
                    size_t in_at, size_t out_at)
{
    struct expected e;
    unsigned char iv[16];
    expect(&e, op, len);
    memcpy(iv, e.iv, sizeof iv);

    unsigned char *in = b->in + in_at, *out = in_place ? in : b->out + out_at;
    memset(b->got, 0xee, len + 2 * MARGIN);
    if (!in_place)
        gpuaes_copy(out - MARGIN, b->got, len + 2 * MARGIN);
    gpuaes_copy(in, e.plain, len);
    struct gpuaes_report report;
    enum gpuaes_status status = gpuaes_aes(op, &e.schedule, iv, in, out, len, GPUAES_WAIT, &report);
    size_t done = bytes_done(&report);
    gpuaes_copy(b->got, out - MARGIN, len + 2 * MARGIN);
    int bounds = 1;
    for (size_t i = 0; i < MARGIN && !in_place; i++)
        bounds &= b->got[i] == 0xee && b->got[MARGIN + len + i] == 0xee;
    int continues = op < GPUAES_CBC_DECRYPT || memcmp(iv, e.next_iv, sizeof iv) == 0;
    int right = status == GPUAES_OK && done == len && bounds && continues &&
                memcmp(b->got + MARGIN, e.cipher, len) == 0;
    if (!right)
        tap_diag("status %d (%s), %zu of %zu done, bounds %d, iv %d, offsets %zu %zu", status,
                 gpuaes_reason(), done, len, bounds, continues, in_at, out_at);
    expected_free(&e);
    return right;
}

static size_t some_offset(void)
{
    return MARGIN + (tap_random_below(&random_state, 2) ? 0 : tap_random_below(&random_state, 17));
}

static void test_kinds(void)
{
    static const size_t lengths[] = {16, 4096 + 16, 80 << 10, (512 << 10) + 48, (1536 << 10) - 64};
    struct buffers b = {.got = malloc(ROOM)};
    for (int in_kind = 0; in_kind < 3; in_kind++)
        for (int out_kind = 0; out_kind < 3; out_kind++) {
            b.in = take(in_kind, ROOM);
            b.out = take(out_kind, ROOM);
            for (int n = 0; n < SINGLE_OPS; n++) {
                enum gpuaes_op op = single_ops[n];
                int right = b.in != NULL && b.out != NULL;
                for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && right; i++)
                    right = is_right(op, &b, 0, lengths[i], some_offset(), some_offset());
                tap_ok(right, "%s from %s to %s memory", op_names[op], kind_names[in_kind],
                       kind_names[out_kind]);
                if (in_kind != out_kind)
                    continue;
                for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && right; i++)
                    right = is_right(op, &b, 1, lengths[i], some_offset(), 0);
                tap_ok(right, "%s in place in %s memory", op_names[op], kind_names[in_kind]);
            }
            give(in_kind, b.in, ROOM);
            give(out_kind, b.out, ROOM);
        }
    tap_ok(emulator_unpinned_copies() == 0, "pageable memory is never given to the driver");
    free(b.got);
}

/* Input that work on the legacy stream has yet to write, for output in device memory. */
static int comes_after(enum gpuaes_op op, size_t len)
{
    struct expected e;
    expect(&e, op, len);
    unsigned char *from = take(GPUAES_DEVICE, len), *out = take(GPUAES_DEVICE, len);
    unsigned char *in = take(GPUAES_PINNED, len), *got = malloc(len), iv[16];
    memcpy(iv, e.iv, sizeof iv);
    memset(in, 0, len);
    gpuaes_copy(from, e.plain, len);
    emulator_configure("copy-mbps=20");
    int right = application.memcpy_dtoh_async(in, (drv_ptr)(uintptr_t)from, len,
                                              DRV_STREAM_LEGACY) == DRV_SUCCESS &&
                gpuaes_aes(op, &e.schedule, iv, in, out, len, GPUAES_WAIT, NULL) == GPUAES_OK;
    emulator_configure("");
    right = right && gpuaes_copy(got, out, len) == GPUAES_OK && memcmp(got, e.cipher, len) == 0 &&
            (op == GPUAES_ECB_ENCRYPT || memcmp(iv, e.next_iv, sizeof iv) == 0);
    give(GPUAES_DEVICE, from, len);
    give(GPUAES_DEVICE, out, len);
    give(GPUAES_PINNED, in, len);
    free(got);
    expected_free(&e);
    return right;
}

static void test_order(void)
{
    tap_ok(comes_after(GPUAES_CTR, 4 << 20) && comes_after(GPUAES_CBC_DECRYPT, 64 << 10) &&
               comes_after(GPUAES_CBC_DECRYPT, 4 << 20),
           "pinned input is read after work on the legacy stream, where output is device memory");
}

/* All calls of test_kinds(), some of which sleep. */
static void test_thread_state(void)
{
    enum { SLACK_NS = 12345 };
    (void)prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
    test_kinds();
    tap_ok(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == SLACK_NS,
           "the caller's timer slack is as before");
}

/* ---- Base64 --------------------------------------------------------------------- */

/* The text of the reference, in lines. */
static void reference_text(unsigned char *text, size_t characters, const unsigned char *plain,
                           size_t len, size_t line_length)
{
    unsigned char *whole = malloc(len / 3 * 4 + 5);
    EVP_EncodeBlock(whole, plain, (int)len);
    for (size_t i = 0, j = 0; i < characters; i++) {
        int line_end =
            line_length != 0 && (i % (line_length + 1) == line_length || i + 1 == characters);
        text[i] = line_end ? '\n' : whole[j++];
    }
    free(whole);
}

/* 1 if a range of any memory holds these bytes, and the margins around it what they did. */
static int holds_alone(const unsigned char *p, const unsigned char *expected, size_t len)
{
    unsigned char *got = malloc(len + 2 * MARGIN);
    int right = gpuaes_copy(got, p - MARGIN, len + 2 * MARGIN) == GPUAES_OK &&
                memcmp(got + MARGIN, expected, len) == 0;
    for (size_t i = 0; i < MARGIN; i++)
        right = right && got[i] == '!' && got[MARGIN + len + i] == '!';
    free(got);
    return right;
}

static void fill(unsigned char *p, size_t len)
{
    unsigned char *marks = malloc(len);
    memset(marks, '!', len);
    gpuaes_copy(p, marks, len);
    free(marks);
}

static int decodes(unsigned char *text, size_t characters, unsigned char *back,
                   const unsigned char *plain, size_t len)
{
    size_t offset, wrong = characters / 2;
    if (gpuaes_base64_decode(text, characters, back, GPUAES_WAIT, &offset) != GPUAES_OK ||
        !holds_alone(back, plain, len))
        return 0;
    gpuaes_copy(text + wrong, "*", 1);
    return gpuaes_base64_decode(text, characters, back, GPUAES_WAIT, &offset) == GPUAES_BAD_INPUT &&
           offset == wrong;
}

static int base64_is_right(const struct buffers *b, size_t len, size_t line_length)
{
    size_t characters = gpuaes_base64_encoded_size(len, line_length);
    unsigned char *plain = malloc(len), *expected = malloc(characters);
    unsigned char *in = b->in + some_offset(), *text = b->out + some_offset();
    tap_random_bytes(&random_state, plain, len);
    reference_text(expected, characters, plain, len, line_length);
    fill(b->out, ROOM);
    gpuaes_copy(in, plain, len);
    int right = gpuaes_base64_encode(in, len, text, line_length, GPUAES_WAIT) == GPUAES_OK &&
                holds_alone(text, expected, characters);
    if (right && line_length == 0 && len % 3 == 0) {
        fill(b->in, ROOM);
        right = decodes(text, characters, in, plain, len);
    }
    free(plain);
    free(expected);
    if (!right)
        tap_diag("%zu bytes in lines of %zu", len, line_length);
    return right;
}

static void test_base64(void)
{
    static const size_t lengths[] = {1,   2,     3,     11,     12,     13,     15,      30,
                                     999, 16383, 65537, 786435, 786438, 786441, 1048575, 2250001};
    static const size_t lines[] = {0, 64, 76, 400 << 20}; /* more than the cap of pinned memory */
    for (int in_kind = 0; in_kind < 3; in_kind++)
        for (int out_kind = 0; out_kind < 3; out_kind++) {
            struct buffers b = {.in = take(in_kind, ROOM), .out = take(out_kind, ROOM)};
            for (int l = 0; l < 4; l++) {
                int right = b.in != NULL && b.out != NULL;
                for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && right; i++)
                    right = base64_is_right(&b, lengths[i], lines[l]);
                tap_ok(right, "Base64 from %s to %s memory, lines of %zu", kind_names[in_kind],
                       kind_names[out_kind], lines[l]);
            }
            give(in_kind, b.in, ROOM);
            give(out_kind, b.out, ROOM);
        }
}

/* ---- Calls that begin nothing ---------------------------------------------------- */

static int tells_that_all_is_left(const struct gpuaes_report *report, const unsigned char iv[16],
                                  size_t len)
{
    const struct gpuaes_shard expected = {.bytes = len};
    struct gpuaes_shard shard = report->shard[0];
    int right = report->shards == 1 && memcmp(shard.iv, iv, sizeof shard.iv) == 0;
    memset(shard.iv, 0, sizeof shard.iv);
    return right && memcmp(&shard, &expected, sizeof shard) == 0;
}

/* 1 if gpuaes_aes() and gpuaes_gcm() have that status, and report what is left. */
static int begins_nothing(enum gpuaes_status status, void *p, size_t len)
{
    struct gpuaes_report report;
    struct gpuaes_gcm_key key;
    struct gpuaes_gcm_state state = {{0}, {0}};
    unsigned char iv[16];
    for (int i = 0; i < 16; i++)
        state.counter[i] = iv[i] = (unsigned char)(i + 1);
    gpuaes_gcm_key_expand(&key, iv, sizeof iv);
    memset(&report, 0xee, sizeof report);
    int right = gpuaes_aes(GPUAES_CTR, &key.schedule, iv, p, p, len, 0, &report) == status &&
                tells_that_all_is_left(&report, iv, len);
    memset(&report, 0xee, sizeof report);
    return right && gpuaes_gcm(GPUAES_GCM_ENCRYPT, &key, &state, p, p, len, 0, &report) == status &&
           tells_that_all_is_left(&report, iv, len);
}

static void test_arguments(void)
{
    unsigned char iv[16] = {0}, *p = malloc(4096);
    struct gpuaes_key key;
    drv_ptr device;
    application.mem_alloc(&device, 4096);
    unsigned char *d = (unsigned char *)(uintptr_t)device;

    tap_ok(!gpuaes_key_expand(&key, p, 17), "a key of 17 bytes is refused");
    gpuaes_key_expand(&key, iv, 16);
    tap_ok(begins_nothing(GPUAES_BAD_ARGUMENT, p, 17), "17 bytes are refused");
    tap_ok(gpuaes_aes(GPUAES_CTR, NULL, iv, p, p, 16, 0, NULL) == GPUAES_BAD_ARGUMENT,
           "so is no key");
    tap_ok(gpuaes_aes(GPUAES_CTR, &key, iv, p, p + 16, 64, 0, NULL) == GPUAES_BAD_ARGUMENT,
           "an overlap is refused");
    tap_ok(begins_nothing(GPUAES_BAD_ARGUMENT, p, (size_t)0 - 16), "so are 2^64 - 16 bytes");
    tap_ok(begins_nothing(GPUAES_OK, p, 0), "no bytes are done");
    tap_ok(begins_nothing(GPUAES_BAD_RANGE, d, 8192),
           "a device range that leaves its allocation is refused");
    tap_ok(gpuaes_memory_kind(d, 4096) == GPUAES_DEVICE &&
               gpuaes_memory_kind(p, 4096) == GPUAES_PAGEABLE,
           "kinds of memory are told apart");
    tap_ok(gpuaes_state() == GPUAES_READY, "and the device is as good as before");
    application.mem_free(device);
    free(p);
}

/* ---- Limits ------------------------------------------------------------------------ */

static void test_cap(void)
{
    struct gpuaes_statistics s = {.struct_bytes = sizeof s};
    gpuaes_get_statistics(&s);
    tap_ok(s.pinned_peak > 0 && s.pinned_peak <= 256u << 20, "pinned memory stays under its cap");
    tap_ok(s.faults == 0, "no call of the driver has failed");
    tap_ok(gpuaes_base64_encoded_size(57, 76) == 77 && gpuaes_base64_encoded_size(1, 0) == 4 &&
               gpuaes_base64_encoded_size(6, SIZE_MAX - 3) == 9 &&
               gpuaes_base64_encoded_size(SIZE_MAX, 0) == SIZE_MAX,
           "sizes of Base64 text");
}

int main(void)
{
    tap_random_seed(&random_state);
    become_an_application(0);
    unsigned char text[64] = {0};
    tap_ok(begins_nothing(GPUAES_NOT_READY, text, sizeof text), "no device is ready yet");
    tap_ok(starts_with(NULL), "the device starts");
    test_thread_state();
    test_order();
    test_base64();
    test_arguments();
    test_cap();
    return tap_done();
}
