/*
 * libgpuaes itself, on the emulator: every combination of memory kinds, in
 * place and apart, at sizes that take one piece and many; pinned memory under
 * faults; the cap on pinned memory; the key schedule; copies. The expected
 * results are libcrypto's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/evp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cuda/driver.h"
#include "../cuda/emulator/hooks.h"
#include "../cuda/gpuaes.h"
#include "tap.h"

enum { LARGEST = 3 << 20, MARGIN = 64, ROOM = LARGEST + 2 * MARGIN };

static struct tap_random random_state;
static struct driver driver;

static const char *const op_names[GPUAES_OPS] = {"ECB encrypt", "ECB decrypt", "CBC decrypt",
                                                 "CTR"};
static const char *const kind_names[] = {"pageable", "pinned", "device"};

/* ---- The reference ----------------------------------------------------------- */

static const EVP_CIPHER *reference_cipher(enum gpuaes_op op, size_t key_bytes)
{
    static const EVP_CIPHER *(*const ciphers[GPUAES_OPS][3])(void) = {
        {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb},
        {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb},
        {EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc},
        {EVP_aes_128_ctr, EVP_aes_192_ctr, EVP_aes_256_ctr},
    };
    return ciphers[op][key_bytes / 8 - 2]();
}

/* Leaves in `iv` what continues the stream. */
static void reference(enum gpuaes_op op, const unsigned char *key, size_t key_bytes,
                      unsigned char iv[16], const unsigned char *in, unsigned char *out, size_t len)
{
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n = 0;
    EVP_CipherInit_ex(c, reference_cipher(op, key_bytes), NULL, key, iv,
                      op == GPUAES_ECB_ENCRYPT || op == GPUAES_CTR);
    EVP_CIPHER_CTX_set_padding(c, 0);
    EVP_CipherUpdate(c, out, &n, in, (int)len);
    if (op == GPUAES_CBC_DECRYPT || op == GPUAES_CTR)
        EVP_CIPHER_CTX_get_updated_iv(c, iv, 16);
    EVP_CIPHER_CTX_free(c);
}

/* ---- Memory of each kind ------------------------------------------------------ */

static void *take(int kind, size_t bytes)
{
    drv_ptr p = 0;
    if (kind == GPUAES_PAGEABLE)
        return malloc(bytes);
    if (kind == GPUAES_PINNED)
        return gpuaes_pinned_alloc(bytes);
    return driver.mem_alloc(&p, bytes) == DRV_SUCCESS ? (void *)(uintptr_t)p : NULL;
}

static void give(int kind, void *p, size_t bytes)
{
    if (kind == GPUAES_PAGEABLE)
        free(p);
    else if (kind == GPUAES_PINNED)
        gpuaes_pinned_free(p, bytes);
    else
        driver.mem_free((drv_ptr)(uintptr_t)p);
}

/* The application's own context, as a program that runs CUDA has it. */
static void become_an_application(void)
{
    drv_context context;
    driver_open(&driver);
    driver.init(0);
    driver.primary_ctx_retain(&context, 0);
    driver.ctx_push_current(context);
}

/* ---- All kinds ------------------------------------------------------------------ */

struct buffers {
    unsigned char *plain, *in, *out, *expected, *got;
};

/* One random call; 1 if its result, its continuation and its surroundings are right. */
static int is_right(enum gpuaes_op op, const struct buffers *b, int in_place, size_t len,
                    size_t in_at, size_t out_at)
{
    static const size_t key_sizes[] = {16, 24, 32};
    unsigned char key[32], iv[16], iv_expected[16];
    size_t key_bytes = key_sizes[tap_random_below(&random_state, 3)], done = 0;
    struct gpuaes_key schedule;
    tap_random_bytes(&random_state, key, sizeof key);
    tap_random_bytes(&random_state, iv, sizeof iv);
    if (tap_random_below(&random_state, 3) == 0)
        memset(iv + tap_random_below(&random_state, 16), 0xff, 1);
    if (tap_random_below(&random_state, 4) == 0)
        memset(iv, 0xff, 15);
    memcpy(iv_expected, iv, sizeof iv);
    gpuaes_key_expand(&schedule, key, key_bytes);
    tap_random_bytes(&random_state, b->plain, len);
    reference(op, key, key_bytes, iv_expected, b->plain, b->expected, len);

    unsigned char *in = b->in + in_at, *out = in_place ? in : b->out + out_at;
    memset(b->got, 0xee, len + 2 * MARGIN);
    if (!in_place)
        gpuaes_copy(out - MARGIN, b->got, len + 2 * MARGIN);
    gpuaes_copy(in, b->plain, len);
    enum gpuaes_status status = gpuaes_aes(op, &schedule, iv, in, out, len, GPUAES_WAIT, &done);
    gpuaes_copy(b->got, out - MARGIN, len + 2 * MARGIN);
    int bounds = 1;
    for (size_t i = 0; i < MARGIN && !in_place; i++)
        bounds &= b->got[i] == 0xee && b->got[MARGIN + len + i] == 0xee;
    int continues = op < GPUAES_CBC_DECRYPT || memcmp(iv, iv_expected, sizeof iv) == 0;
    int right = status == GPUAES_OK && done == len && bounds && continues &&
                memcmp(b->got + MARGIN, b->expected, len) == 0;
    if (!right)
        tap_diag("status %d (%s), %zu of %zu done, bounds %d, iv %d, offsets %zu %zu", status,
                 gpuaes_reason(), done, len, bounds, continues, in_at, out_at);
    return right;
}

static size_t some_offset(void)
{
    return MARGIN + (tap_random_below(&random_state, 2) ? 0 : tap_random_below(&random_state, 17));
}

static void test_kinds(void)
{
    static const size_t lengths[] = {16,      4096 + 16,      80 << 10,
                                     1 << 20, (1 << 20) + 48, LARGEST - 64};
    struct buffers b = {.plain = malloc(ROOM), .expected = malloc(ROOM), .got = malloc(ROOM)};
    for (int in_kind = 0; in_kind < 3; in_kind++)
        for (int out_kind = 0; out_kind < 3; out_kind++) {
            b.in = take(in_kind, ROOM);
            b.out = take(out_kind, ROOM);
            for (int op = 0; op < GPUAES_OPS; op++) {
                int right = b.in != NULL && b.out != NULL;
                for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && right; i++)
                    right = is_right((enum gpuaes_op)op, &b, 0, lengths[i], some_offset(),
                                     some_offset());
                tap_ok(right, "%s from %s to %s memory", op_names[op], kind_names[in_kind],
                       kind_names[out_kind]);
                if (in_kind != out_kind)
                    continue;
                for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && right; i++)
                    right = is_right((enum gpuaes_op)op, &b, 1, lengths[i], some_offset(), 0);
                tap_ok(right, "%s in place in %s memory", op_names[op], kind_names[in_kind]);
            }
            give(in_kind, b.in, ROOM);
            give(out_kind, b.out, ROOM);
        }
    tap_ok(emulator_unpinned_copies() == 0, "pageable memory is never given to the driver");
    free(b.plain);
    free(b.expected);
    free(b.got);
}

/* ---- Base64 --------------------------------------------------------------------- */

static int base64_is_right(int in_kind, int out_kind, size_t len, size_t line_length)
{
    size_t characters = gpuaes_base64_encoded_size(len, line_length), offset;
    unsigned char *in = take(in_kind, len), *text = take(out_kind, characters),
                  *back = take(in_kind, len), *expected = malloc(len / 3 * 4 + 5);
    int right = in != NULL && text != NULL && back != NULL;
    if (right) {
        tap_random_bytes(&random_state, in, len);
        memset(text, '!', characters);
        EVP_EncodeBlock(expected, in, (int)len);
        right = gpuaes_base64_encode(in, len, text, line_length, GPUAES_WAIT) == GPUAES_OK;
        for (size_t i = 0, j = 0; right && i < characters; i++) {
            int line_end =
                line_length != 0 && (i % (line_length + 1) == line_length || i + 1 == characters);
            right = text[i] == (line_end ? '\n' : expected[j]);
            j += line_end ? 0 : 1;
        }
    }
    if (right && line_length == 0 && len % 3 == 0) {
        right = gpuaes_base64_decode(text, characters, back, GPUAES_WAIT, &offset) == GPUAES_OK &&
                memcmp(in, back, len) == 0;
        text[characters / 2] = '*';
        right = right &&
                gpuaes_base64_decode(text, characters, back, GPUAES_WAIT, &offset) ==
                    GPUAES_BAD_INPUT &&
                offset == characters / 2;
    }
    give(in_kind, in, len);
    give(out_kind, text, characters);
    give(in_kind, back, len);
    free(expected);
    if (!right)
        tap_diag("%zu bytes in lines of %zu", len, line_length);
    return right;
}

static void test_base64(void)
{
    static const size_t lengths[] = {1,   2,     3,     11,     12,     13,     15,      30,
                                     999, 16383, 65537, 786435, 786438, 786441, 1048575, 2500001};
    static const size_t lines[] = {0, 64, 76};
    for (int in_kind = 0; in_kind < 2; in_kind++)
        for (int out_kind = 0; out_kind < 2; out_kind++)
            for (int l = 0; l < 3; l++) {
                int right = 1;
                for (size_t i = 0; i < sizeof lengths / sizeof lengths[0] && right; i++)
                    right = base64_is_right(in_kind, out_kind, lengths[i], lines[l]);
                tap_ok(right, "Base64 from %s to %s memory, lines of %zu", kind_names[in_kind],
                       kind_names[out_kind], lines[l]);
            }
}

static void test_arguments(void)
{
    unsigned char iv[16] = {0}, *p = malloc(4096);
    struct gpuaes_key key;
    size_t done = 1;
    drv_ptr device;
    driver.mem_alloc(&device, 4096);
    unsigned char *d = (unsigned char *)(uintptr_t)device;

    tap_ok(!gpuaes_key_expand(&key, p, 17), "a key of 17 bytes is refused");
    gpuaes_key_expand(&key, iv, 16);
    tap_ok(gpuaes_aes(GPUAES_CTR, &key, iv, p, p, 17, 0, &done) == GPUAES_BAD_ARGUMENT && done == 0,
           "17 bytes are refused");
    tap_ok(gpuaes_aes(GPUAES_CTR, &key, iv, p, p + 16, 64, 0, &done) == GPUAES_BAD_ARGUMENT,
           "an overlap is refused");
    tap_ok(gpuaes_aes(GPUAES_CTR, &key, iv, p, p, 0, 0, &done) == GPUAES_OK, "no bytes are done");
    tap_ok(gpuaes_aes(GPUAES_CTR, &key, iv, d, d, 8192, 0, &done) == GPUAES_BAD_RANGE,
           "a device range that leaves its allocation is refused");
    tap_ok(gpuaes_memory_kind(d, 4096) == GPUAES_DEVICE &&
               gpuaes_memory_kind(p, 4096) == GPUAES_PAGEABLE,
           "kinds of memory are told apart");
    tap_ok(gpuaes_state() == GPUAES_READY, "and the device is as good as before");
    driver.mem_free(device);
    free(p);
}

/* ---- Pinned memory under faults --------------------------------------------------- */

/*
 * In a child, since a lost device is lost for good: one large call on pinned
 * memory with a fault. Exit status 0: right, or as the status says.
 */
static int run_faulty(const char *options, enum gpuaes_op op, int in_place)
{
    enum { BYTES = 1 << 21 };
    unsigned char key[32] = {1}, iv[16] = {2}, iv_expected[16] = {2}, begin[16];
    unsigned char *expected = malloc(BYTES), *plain = malloc(BYTES);
    struct gpuaes_settings settings = {.timeout_ms = 300};
    struct gpuaes_key schedule;
    size_t done;
    gpuaes_configure(&settings);
    gpuaes_key_expand(&schedule, key, sizeof key);
    tap_random_bytes(&random_state, plain, BYTES);
    reference(op, key, sizeof key, iv_expected, plain, expected, BYTES);
    if (gpuaes_start(NULL, NULL, 1) != GPUAES_READY)
        return 10;
    unsigned char *in = gpuaes_pinned_alloc(BYTES);
    unsigned char *out = in_place ? in : gpuaes_pinned_alloc(BYTES);
    if (in == NULL || out == NULL)
        return 11;
    memcpy(in, plain, BYTES);
    memcpy(begin, iv, sizeof iv);
    emulator_configure(options);
    enum gpuaes_status status = gpuaes_aes(op, &schedule, iv, in, out, BYTES, GPUAES_WAIT, &done);
    if (memcmp(out, expected, done) != 0)
        return 12;
    if (status == GPUAES_OK)
        return done == BYTES && memcmp(iv, iv_expected, 16) == 0 ? 0 : 13;
    if (status == GPUAES_UNDEFINED)
        return 0;
    /* The caller goes on where the device ended. */
    reference(op, key, sizeof key, iv, in + done, out + done, BYTES - done);
    if (memcmp(out, expected, BYTES) != 0)
        return 14;
    return gpuaes_state() == GPUAES_FAILED || status == GPUAES_NO_MEMORY ? 0 : 15;
}

static int faulty_child(const char *options, enum gpuaes_op op, int in_place)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(run_faulty(options, op, in_place));
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0)
        tap_diag("%s, %s, %s: status %#x", options, op_names[op], in_place ? "in place" : "apart",
                 (unsigned)status);
    return status == 0;
}

static void test_faults(void)
{
    static const char *const functions[] = {
        "memcpy_htod_async", "memcpy_dtoh_async", "launch_kernel",    "event_record",
        "event_query",       "stream_query",      "memset_d8_async",  "pointer_get_attributes",
        "mem_alloc",         "stream_create",     "ctx_push_current", "ctx_pop_current",
    };
    static const enum gpuaes_op ops[] = {GPUAES_ECB_ENCRYPT, GPUAES_CBC_DECRYPT, GPUAES_CTR};
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        int right = 1;
        for (int occurrence = 1; occurrence <= 7; occurrence += 2)
            for (int variant = 0; variant < 6; variant++) {
                char options[96];
                snprintf(options, sizeof options, "%s=%s:%d", variant % 2 ? "lost" : "fault",
                         functions[f], occurrence);
                right &= faulty_child(options, ops[variant / 2], occurrence % 4 == 1);
            }
        tap_ok(right, "%s fails, or the device is lost there, with pinned memory", functions[f]);
    }
    int right = faulty_child("hang=1", GPUAES_CTR, 0) && faulty_child("hang=3", GPUAES_CTR, 1) &&
                faulty_child("hang=2", GPUAES_CBC_DECRYPT, 1);
    tap_ok(right, "a kernel that never ends is not waited for");
}

/* ---- Limits ------------------------------------------------------------------------ */

static void test_cap(void)
{
    struct gpuaes_statistics s;
    gpuaes_get_statistics(&s);
    tap_ok(s.pinned_peak > 0 && s.pinned_peak <= 256u << 20, "pinned memory stays under its cap");
    tap_ok(s.faults == 0, "no call of the driver has failed");
    tap_ok(gpuaes_base64_encoded_size(57, 76) == 77 && gpuaes_base64_encoded_size(1, 0) == 4 &&
               gpuaes_base64_encoded_size(SIZE_MAX, 0) == SIZE_MAX,
           "sizes of Base64 text");
}

int main(void)
{
    tap_random_seed(&random_state);
    test_faults(); /* first: its children must come from a process without a device */
    become_an_application();
    tap_ok(gpuaes_start(NULL, NULL, 1) == GPUAES_READY, "the device starts");
    test_kinds();
    test_base64();
    test_arguments();
    test_cap();
    return tap_done();
}
