/*
 * Device memory through EVP: a context with device-memory=1 takes device,
 * managed, pinned and pageable memory, each as input and as output, and does
 * what the default provider does on host memory: in random updates of any size,
 * with any padding, in place and on any overlap, one-shot, copied in mid-stream,
 * to the end. Then: what is refused, and what that leaves behind; the order with
 * the application's own work; ASYNC jobs; no parameter at all.
 *
 * GPUAES_TEST_SEED repeats a run, GPUAES_TEST_CASES is the number of walks.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/async.h>
#include <openssl/core_names.h>

#include "test/support/application.h"
#include "test/support/providers.h"

enum { EDGE = 128, LONGEST = 9000, ARENA = LONGEST + 2 * EDGE, BLOCK = 16, BULK = 1 << 20 };

static struct tap_random chance;
static unsigned char *arena[2][PLACES]; /* two of each, for input and output */
static unsigned char *mirror[2];        /* what the default provider works on */
static unsigned char *seen;

static EVP_CIPHER_CTX *new_context(int ours, const char *name, const unsigned char *key,
                                   const unsigned char *iv, int encrypt, unsigned device_memory)
{
    EVP_CIPHER *cipher = ours ? fetch_ours(&providers, name) : fetch_reference(&providers, name);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &device_memory), OSSL_PARAM_END};
    int ok = EVP_CipherInit_ex2(context, cipher, key, iv, encrypt,
                                ours && device_memory ? params : NULL);

    if (!ok) {
        ERR_print_errors_fp(stderr);
        EVP_CIPHER_CTX_free(context);
        context = NULL;
    }
    EVP_CIPHER_free(cipher);
    return context;
}

/* ---- Walks: ours on memory of two kinds, the default provider on mirrors -- */

struct walk {
    const struct cipher_row *row;
    EVP_CIPHER_CTX *ours, *reference;
    enum place in, out;
    int encrypt, oneshot; /* one-shot calls among the updates */
    size_t held;
};

static size_t below(size_t limit)
{
    return tap_random_below(&chance, limit);
}

static size_t random_length(void)
{
    static const size_t exact[] = {1, 15, 16, 17, 31, 32, 33, 4096};
    size_t kind = below(4);

    return kind == 0   ? exact[below(sizeof exact / sizeof exact[0])]
           : kind == 1 ? 1 + below(64)
           : kind == 2 ? (1 + below(500)) * BLOCK
                       : 1 + below(LONGEST - 1);
}

/* Where the output begins, against input in the same arena. */
static size_t random_overlap(size_t in_at)
{
    static const int exact[] = {0, 0, 0, -16, 16, -1, 1, -5, -64};
    size_t kind = below(12);

    return (size_t)((ptrdiff_t)in_at + (kind < 9 ? exact[kind] : (ptrdiff_t)below(2 * 90) - 90));
}

/* All of both arenas of ours against the mirrors. */
static int same_memory(const struct walk *w, int on_input)
{
    int side, same = 1;

    for (side = 0; side < 2; side++) {
        enum place place = side == 0 ? w->in : w->out;

        if (side == 1 && on_input)
            break;
        same &= application_read(seen, place, arena[side][place], ARENA) &&
                !memcmp(seen, mirror[side], ARENA);
    }
    return same;
}

static int step(struct walk *w)
{
    int on_input = w->in == w->out && below(2), oneshot = w->oneshot && below(3) == 0, n = -1,
        m = -1, result, expected;
    size_t length = random_length(), in_at = EDGE + below(32), out_at = EDGE + below(32), i;
    unsigned char *out = on_input ? arena[0][w->in] : arena[1][w->out];
    unsigned char *out_mirror = mirror[!on_input];

    if (on_input)
        out_at = random_overlap(in_at);
    if (length > LONGEST - EDGE)
        length = LONGEST - EDGE;
    for (i = 0; i < 2; i++)
        tap_random_bytes(&chance, mirror[i], ARENA);
    if (!application_write(w->in, arena[0][w->in], mirror[0], ARENA) ||
        !application_write(w->out, arena[1][w->out], mirror[1], ARENA))
        return 0;
    if (oneshot) {
        if (w->row->mode != CTR)
            length = (length + BLOCK - 1) / BLOCK * BLOCK;
        result = n = EVP_Cipher(w->ours, out + out_at, arena[0][w->in] + in_at, (unsigned)length);
        expected = m =
            EVP_Cipher(w->reference, out_mirror + out_at, mirror[0] + in_at, (unsigned)length);
    } else {
        result = EVP_CipherUpdate(w->ours, out + out_at, &n, arena[0][w->in] + in_at, (int)length);
        expected =
            EVP_CipherUpdate(w->reference, out_mirror + out_at, &m, mirror[0] + in_at, (int)length);
    }
    if (result == expected && n == m && same_memory(w, on_input))
        return 1;
    tap_diag("%s %s, %s to %s: %s of %zu bytes, output %+td of input: result %d/%d, %d/%d bytes",
             w->row->name, w->encrypt ? "encrypt" : "decrypt", place_names[w->in],
             on_input ? "itself" : place_names[w->out], oneshot ? "one-shot" : "update", length,
             on_input ? (ptrdiff_t)out_at - (ptrdiff_t)in_at : 0, result, expected, n, m);
    ERR_print_errors_fp(stderr);
    return 0;
}

static int same_state(const struct walk *w)
{
    unsigned char iv[2][BLOCK] = {{0}}, updated[2][BLOCK] = {{0}};
    unsigned num[2] = {0, 0};
    int i, result[2];

    if (w->row->mode == ECB)
        return 1;
    for (i = 0; i < 2; i++) {
        OSSL_PARAM params[] = {
            OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, iv[i], BLOCK),
            OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, updated[i], BLOCK),
            OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, &num[i]), OSSL_PARAM_END};

        result[i] = EVP_CIPHER_CTX_get_params(i == 0 ? w->ours : w->reference, params);
    }
    return result[0] == result[1] && !memcmp(iv[0], iv[1], BLOCK) &&
           !memcmp(updated[0], updated[1], BLOCK) && num[0] == num[1];
}

/* Goes on with a copy, or from a new IV; the parameter stays. */
static int change(struct walk *w)
{
    unsigned char iv[BLOCK];
    EVP_CIPHER_CTX **side[] = {&w->ours, &w->reference};
    int i, good = 1, copies = (int)below(2);

    tap_random_bytes(&chance, iv, sizeof iv);
    for (i = 0; i < 2; i++) {
        if (copies) {
            EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();

            good &= EVP_CIPHER_CTX_copy(copy, *side[i]);
            EVP_CIPHER_CTX_free(*side[i]);
            *side[i] = copy;
        } else {
            good &= EVP_CipherInit_ex2(*side[i], NULL, NULL, iv, w->encrypt, NULL);
        }
    }
    return good;
}

static int finish(struct walk *w)
{
    size_t at = EDGE + below(32);
    int n = -1, m = -1, result, expected;

    tap_random_bytes(&chance, mirror[1], ARENA);
    if (!application_write(w->out, arena[1][w->out], mirror[1], ARENA))
        return 0;
    result = EVP_CipherFinal_ex(w->ours, arena[1][w->out] + at, &n);
    expected = EVP_CipherFinal_ex(w->reference, mirror[1] + at, &m);
    ERR_clear_error();
    if (result == expected && (!result || n == m) &&
        application_read(seen, w->out, arena[1][w->out], ARENA) && !memcmp(seen, mirror[1], ARENA))
        return 1;
    tap_diag("%s %s to %s: final: result %d/%d, %d/%d bytes", w->row->name,
             w->encrypt ? "encrypt" : "decrypt", place_names[w->out], result, expected, n, m);
    return 0;
}

static int walk_is_right(const struct cipher_row *row, int encrypt, enum place in, enum place out)
{
    struct walk w = {.row = row, .encrypt = encrypt, .in = in, .out = out};
    unsigned char key[32], iv[BLOCK];
    size_t steps = 2 + below(8), wrap = (size_t)4 << below(3), i;
    int padding = (int)below(2), right;

    tap_random_bytes(&chance, key, sizeof key);
    tap_random_bytes(&chance, iv, sizeof iv);
    if (below(2)) /* the counter wraps, at 32, 64 or 128 bits */
        memset(iv + BLOCK - wrap, 0xff, wrap);
    w.oneshot = below(3) == 0;
    w.ours = new_context(1, row->name, key, iv, encrypt, 1);
    w.reference = new_context(0, row->name, key, iv, encrypt, 0);
    right = w.ours && w.reference;
    if (right) {
        EVP_CIPHER_CTX_set_padding(w.ours, padding);
        EVP_CIPHER_CTX_set_padding(w.reference, padding);
    }
    for (i = 0; right && i < steps; i++)
        right = step(&w) && same_state(&w) && (below(6) || change(&w));
    right = right && finish(&w);
    EVP_CIPHER_CTX_free(w.ours);
    EVP_CIPHER_CTX_free(w.reference);
    return right;
}

static void check_walks(void)
{
    size_t rounds = setting("GPUAES_TEST_CASES", 600) / (CIPHER_ROWS * 32) + 1;
    struct figures before = figures_get(&providers), after;
    size_t row, pair, i;

    for (row = 0; row < CIPHER_ROWS; row++) {
        size_t wrong = 0;

        for (i = 0; i < rounds; i++)
            for (pair = 0; pair < PLACES * PLACES * 2; pair++)
                wrong += !walk_is_right(&cipher_rows[row], pair / PLACES / PLACES == 0,
                                        (enum place)(pair % PLACES),
                                        (enum place)(pair / PLACES % PLACES));
        tap_ok(wrong == 0, "%s: device, managed, pinned and pageable, in and out",
               cipher_rows[row].name);
    }
    after = figures_get(&providers);
    tap_ok(after.gpu_bytes > before.gpu_bytes && after.launches > before.launches,
           "whole blocks went through kernels");
}

/* ---- Bulk ----------------------------------------------------------------- */

/* One long update and the rest, from device memory to device memory. */
static int bulk_is_right(const char *name, int encrypt, int in_place)
{
    static const unsigned char key[32] = "bulk", iv[16] = "\xff\xff\xff\xff";
    unsigned char *in = application_alloc(DEVICE, BULK + 64),
                  *out = in_place ? in : application_alloc(DEVICE, BULK + 64);
    unsigned char *host = malloc(BULK + 64), *expected = malloc(BULK + 64);
    EVP_CIPHER_CTX *ours = new_context(1, name, key, iv, encrypt, 1),
                   *reference = new_context(0, name, key, iv, encrypt, 0);
    int n = -1, m = -1, right;

    tap_random_bytes(&chance, host, BULK + 64);
    EVP_CIPHER_CTX_set_padding(ours, 0);
    EVP_CIPHER_CTX_set_padding(reference, 0);
    right = application_write(DEVICE, in, host, BULK) &&
            EVP_CipherUpdate(reference, expected, &m, host, BULK) &&
            EVP_CipherUpdate(ours, out, &n, in, BULK) && n == m &&
            application_read(host, DEVICE, out, BULK) && !memcmp(host, expected, BULK);
    EVP_CIPHER_CTX_free(ours);
    EVP_CIPHER_CTX_free(reference);
    application_free(DEVICE, in);
    if (!in_place)
        application_free(DEVICE, out);
    free(host);
    free(expected);
    return right;
}

static void check_bulk(void)
{
    tap_ok(bulk_is_right("AES-256-CTR", 1, 0) && bulk_is_right("AES-256-CTR", 1, 1), "1 MiB: CTR");
    tap_ok(bulk_is_right("AES-128-ECB", 1, 0) && bulk_is_right("AES-128-ECB", 0, 1), "1 MiB: ECB");
    tap_ok(bulk_is_right("AES-192-CBC", 0, 0) && bulk_is_right("AES-192-CBC", 0, 1),
           "1 MiB: CBC decryption");
    tap_ok(bulk_is_right("AES-256-CBC", 1, 0) && bulk_is_right("AES-256-CBC", 1, 1),
           "1 MiB: CBC encryption, by the CPU in pieces");
}

/* ---- What is refused ------------------------------------------------------ */

/* Ours is the last; before it libcrypto may say what it thinks of a parameter (3.5 does). */
static int reason_is(const char *text)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    int is = reason && !strcmp(reason, text);

    if (!is)
        tap_diag("the reason is \"%s\"", reason ? reason : "");
    ERR_clear_error();
    return is;
}

static const char bad_range[] = "a device buffer extends past the end of its allocation";

/* A range that leaves its allocation: nothing happens, and all goes on. */
static void check_ranges(const char *name, int encrypt)
{
    static const unsigned char key[32] = "ranges", iv[16] = "iv";
    enum { SIZE = 4096 };
    unsigned char *in = application_alloc(DEVICE, SIZE), *out = application_alloc(DEVICE, SIZE),
                  host[SIZE], expected[SIZE + 16];
    EVP_CIPHER_CTX *ours = new_context(1, name, key, iv, encrypt, 1),
                   *reference = new_context(0, name, key, iv, encrypt, 0);
    int n = -1, m = 0, refused;

    memset(host, 0x33, SIZE);
    EVP_CIPHER_CTX_set_padding(ours, 0);
    EVP_CIPHER_CTX_set_padding(reference, 0);
    application_write(DEVICE, in, host, SIZE);
    application_write(DEVICE, out, host, SIZE);
    refused = !EVP_CipherUpdate(ours, out, &n, in + 16, SIZE) && reason_is(bad_range) &&
              !EVP_CipherUpdate(ours, out + SIZE - 32, &n, in, 64) && reason_is(bad_range) &&
              !EVP_CipherUpdate(ours, host, &n, in + SIZE - 8, 9) && reason_is(bad_range);
    application_read(expected, DEVICE, out, SIZE);
    tap_ok(refused && !memcmp(expected, host, SIZE),
           "%s %s: a range that leaves its allocation is refused before anything happens", name,
           encrypt ? "encrypt" : "decrypt");
    EVP_CipherUpdate(reference, expected, &m, host, SIZE);
    tap_ok(EVP_CipherUpdate(ours, out, &n, in, SIZE) && n == m &&
               application_read(host, DEVICE, out, SIZE) && !memcmp(host, expected, SIZE),
           "%s %s: and the context goes on, CUDA's as well", name, encrypt ? "encrypt" : "decrypt");
    EVP_CIPHER_CTX_free(ours);
    EVP_CIPHER_CTX_free(reference);
    application_free(DEVICE, in);
    application_free(DEVICE, out);
}

/* EVP_Cipher() of part of a block: the default provider reads and writes too much. */
static void check_one_shot(void)
{
    EVP_CIPHER_CTX *ours = new_context(1, "AES-128-CBC", (const unsigned char *)"sixteen bytes...",
                                       (const unsigned char *)"sixteen bytes...", 1, 1);

    tap_ok(EVP_Cipher(ours, arena[1][DEVICE], arena[0][DEVICE], 17) <= 0 &&
               reason_is("device memory cannot be used here") &&
               EVP_Cipher(ours, arena[1][DEVICE], arena[0][DEVICE], 32) == 32,
           "a one-shot call of part of a block is refused");
    EVP_CIPHER_CTX_free(ours);
}

/* The last block has no room: it can still be had. */
static void check_final(void)
{
    static const unsigned char key[32] = "final", iv[16] = "iv", text[21] = "twenty-one characters";
    unsigned char *out = application_alloc(DEVICE, 64), host[64], expected[64];
    EVP_CIPHER_CTX *ours = new_context(1, "AES-256-CBC", key, iv, 1, 1),
                   *reference = new_context(0, "AES-256-CBC", key, iv, 1, 0);
    int n = 0, m = 0, rest = 0;

    EVP_CipherUpdate(reference, expected, &m, text, sizeof text);
    EVP_CipherFinal_ex(reference, expected + m, &rest);
    tap_ok(EVP_CipherUpdate(ours, out, &n, text, sizeof text) && n == m &&
               !EVP_CipherFinal_ex(ours, out + 56, &rest) && reason_is(bad_range) &&
               EVP_CipherFinal_ex(ours, out + n, &rest) && rest == 16 &&
               application_read(host, DEVICE, out, 32) && !memcmp(host, expected, 32),
           "final: refused where its output has no room, and right where it has");
    EVP_CIPHER_CTX_free(ours);
    EVP_CIPHER_CTX_free(reference);
    application_free(DEVICE, out);
}

/* ---- The parameter -------------------------------------------------------- */

static int set_uint(EVP_CIPHER_CTX *context, const char *name, unsigned value)
{
    OSSL_PARAM params[] = {OSSL_PARAM_uint(name, &value), OSSL_PARAM_END};

    return EVP_CIPHER_CTX_set_params(context, params);
}

static unsigned get_device_memory(EVP_CIPHER_CTX *context)
{
    unsigned value = 77;
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &value), OSSL_PARAM_END};

    return EVP_CIPHER_CTX_get_params(context, params) ? value : 88;
}

/* Ours beside all that the default provider lists. */
static int lists(const OSSL_PARAM *ours, const OSSL_PARAM *theirs)
{
    int has = OSSL_PARAM_locate_const(ours, "device-memory") &&
              OSSL_PARAM_locate_const(ours, "cuda-stream");

    for (; has && theirs->key; theirs++)
        has = OSSL_PARAM_locate_const(ours, theirs->key) != NULL;
    return has;
}

static void check_lists(void)
{
    size_t row;
    int good = 1;

    for (row = 0; row < CIPHER_ROWS; row++) {
        EVP_CIPHER *ours = fetch_ours(&providers, cipher_rows[row].name),
                   *theirs = fetch_reference(&providers, cipher_rows[row].name);

        good &= lists(EVP_CIPHER_settable_ctx_params(ours), EVP_CIPHER_settable_ctx_params(theirs));
        good &= lists(EVP_CIPHER_gettable_ctx_params(ours), EVP_CIPHER_gettable_ctx_params(theirs));
        EVP_CIPHER_free(ours);
        EVP_CIPHER_free(theirs);
    }
    tap_ok(good, "the parameters are listed, with all of the default provider");
}

static void check_types(EVP_CIPHER_CTX *context)
{
    int32_t narrow = 1;
    uint64_t wide = 0, *pointer = &wide;
    OSSL_PARAM by_int32[] = {OSSL_PARAM_int32("device-memory", &narrow), OSSL_PARAM_END};
    OSSL_PARAM by_uint64[] = {OSSL_PARAM_uint64("device-memory", pointer), OSSL_PARAM_END};
    char text[] = "1";
    OSSL_PARAM by_text[] = {OSSL_PARAM_utf8_string("device-memory", text, 1), OSSL_PARAM_END};

    tap_ok(EVP_CIPHER_CTX_set_params(context, by_int32) && get_device_memory(context) == 1 &&
               EVP_CIPHER_CTX_set_params(context, by_uint64) && get_device_memory(context) == 0,
           "integers of any type are taken");
    tap_ok(!EVP_CIPHER_CTX_set_params(context, by_text) && reason_is("bad parameter") &&
               !set_uint(context, "device-memory", 2) && reason_is("bad parameter") &&
               !set_uint(context, "cuda-stream", 2) && reason_is("bad parameter") &&
               get_device_memory(context) == 0,
           "text, 2 and the stream of each thread are refused");
}

static void check_parameter(void)
{
    static const unsigned char key[32] = "parameter", iv[16] = "iv";
    EVP_CIPHER_CTX *context = new_context(1, "AES-256-CBC", key, iv, 0, 0), *copy;
    EVP_CIPHER *cipher = fetch_ours(&providers, "AES-128-ECB");

    check_types(context);
    set_uint(context, "device-memory", 1);
    tap_ok(EVP_CipherInit_ex2(context, NULL, key, iv, 0, NULL) && get_device_memory(context) == 1,
           "initialising again leaves the parameter");
    copy = EVP_CIPHER_CTX_new();
    tap_ok(EVP_CIPHER_CTX_copy(copy, context) && get_device_memory(copy) == 1, "a copy has it");
    EVP_CIPHER_CTX_free(copy);
    tap_ok(!set_uint(context, OSSL_CIPHER_PARAM_TLS_VERSION, 0x0303) &&
               reason_is("device memory cannot be used here") &&
               set_uint(context, "device-memory", 0) &&
               set_uint(context, OSSL_CIPHER_PARAM_TLS_VERSION, 0x0303) &&
               !set_uint(context, "device-memory", 1) &&
               reason_is("device memory cannot be used here"),
           "TLS records and device memory exclude each other");
    EVP_CIPHER_CTX_reset(context);
    tap_ok(EVP_CipherInit_ex2(context, cipher, key, NULL, 1, NULL) &&
               get_device_memory(context) == 0,
           "another cipher begins without it");
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
}

/* Settings under which there is no device for it. */
static void check_settings(const char *variable, const char *value)
{
    static const unsigned char key[32] = "settings", iv[16] = "iv";
    unsigned one = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &one), OSSL_PARAM_END};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    OSSL_LIB_CTX *library = OSSL_LIB_CTX_new();
    OSSL_PROVIDER *provider;
    EVP_CIPHER *cipher;

    setenv(variable, value, 1);
    provider = OSSL_PROVIDER_load(library, "gpuaes");
    unsetenv(variable);
    cipher = EVP_CIPHER_fetch(library, "AES-256-CTR", NULL);
    tap_ok(!EVP_CipherInit_ex2(context, cipher, key, iv, 1, params) &&
               reason_is("no GPU can be used"),
           "%s=%s: device-memory is refused", variable, value);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(library);
}

/* ---- Order, and other callers --------------------------------------------- */

/* The application fills the input on the legacy stream and does not wait. */
static void check_order(void)
{
    static const unsigned char key[32] = "order", iv[16] = "iv";
    unsigned char *in = application_alloc(DEVICE, BULK), *out = application_alloc(DEVICE, BULK);
    unsigned char *host = calloc(1, BULK), *expected = malloc(BULK);
    EVP_CIPHER_CTX *ours = new_context(1, "AES-128-CTR", key, iv, 1, 1),
                   *reference = new_context(0, "AES-128-CTR", key, iv, 1, 0);
    int n = 0, i, right = 1;

    for (i = 0; right && i < 20; i++) {
        size_t length = i % 2 ? BULK : 7; /* by a kernel, through the host */

        memset(host, i, BULK);
        EVP_CipherUpdate(reference, expected, &n, host, (int)length);
        right = application.memset_d8_async((drv_ptr)(uintptr_t)in, (unsigned char)(i + 100), BULK,
                                            DRV_STREAM_LEGACY) == DRV_SUCCESS &&
                application.memset_d8_async((drv_ptr)(uintptr_t)in, (unsigned char)i, BULK,
                                            DRV_STREAM_LEGACY) == DRV_SUCCESS &&
                EVP_CipherUpdate(ours, out, &n, in, (int)length) &&
                application_read(host, DEVICE, out, length) && !memcmp(host, expected, length);
    }
    tap_ok(right, "work comes after what is queued on the legacy stream");
    EVP_CIPHER_CTX_free(ours);
    EVP_CIPHER_CTX_free(reference);
    application_free(DEVICE, in);
    application_free(DEVICE, out);
    free(host);
    free(expected);
}

struct job {
    unsigned device_memory;
    int right;
};

/*
 * A head, whole blocks and a tail. Without the parameter device memory is found
 * in an update above the threshold, which min-bytes=0 makes the least.
 */
static int run_unaligned(void *argument)
{
    struct job *job = *(struct job **)argument;
    static const unsigned char key[32] = "job", iv[16] = "iv";
    enum { SIZE = 40001, HEAD = 5 };
    unsigned char *in = application_alloc(DEVICE, SIZE), *out = application_alloc(DEVICE, SIZE);
    unsigned char *host = malloc(SIZE), *expected = malloc(SIZE);
    EVP_CIPHER_CTX *ours = new_context(1, "AES-192-CTR", key, iv, 1, job->device_memory),
                   *reference = new_context(0, "AES-192-CTR", key, iv, 1, 0);
    int n = 0, m = 0;

    memset(host, 0x42, SIZE);
    EVP_CipherUpdate(reference, expected, &n, host, SIZE);
    job->right = application_write(DEVICE, in, host, SIZE) &&
                 EVP_CipherUpdate(ours, host, &n, host, HEAD) &&
                 EVP_CipherUpdate(ours, out + HEAD, &m, in + HEAD, SIZE - HEAD) &&
                 m == SIZE - HEAD && application_read(host + HEAD, DEVICE, out + HEAD, (size_t)m) &&
                 !memcmp(host, expected, SIZE);
    EVP_CIPHER_CTX_free(ours);
    EVP_CIPHER_CTX_free(reference);
    application_free(DEVICE, in);
    application_free(DEVICE, out);
    free(host);
    free(expected);
    return 1;
}

static void check_found(unsigned device_memory)
{
    struct job job = {device_memory, 0}, *argument = &job;

    run_unaligned(&argument);
    tap_ok(job.right, "an update off the blocks, device-memory=%u", device_memory);
}

/* The application's own CUDA calls are outside, as the stack of a job is small. */
struct outside {
    EVP_CIPHER_CTX *context;
    unsigned char *in, *out;
    int length, written, result;
};

static int run_update(void *argument)
{
    struct outside *o = *(struct outside **)argument;

    o->result = EVP_CipherUpdate(o->context, o->out, &o->written, o->in, o->length);
    return 1;
}

static void check_job(unsigned device_memory)
{
    static const unsigned char key[32] = "job", iv[16] = "iv";
    enum { SIZE = 40001 };
    ASYNC_JOB *job = NULL;
    ASYNC_WAIT_CTX *wait = ASYNC_WAIT_CTX_new();
    struct outside o = {.context = new_context(1, "AES-192-CTR", key, iv, 1, device_memory),
                        .in = application_alloc(DEVICE, SIZE),
                        .out = application_alloc(DEVICE, SIZE),
                        .length = SIZE};
    struct outside *argument = &o;
    EVP_CIPHER_CTX *reference = new_context(0, "AES-192-CTR", key, iv, 1, 0);
    unsigned char *host = malloc(SIZE), *expected = malloc(SIZE);
    int result = 0, n;

    memset(host, 0x42, SIZE);
    EVP_CipherUpdate(reference, expected, &n, host, SIZE);
    application_write(DEVICE, o.in, host, SIZE);
    tap_ok(ASYNC_start_job(&job, wait, &result, run_update, &argument, sizeof(struct outside *)) ==
                   ASYNC_FINISH &&
               o.result == 1 && o.written == SIZE && application_read(host, DEVICE, o.out, SIZE) &&
               !memcmp(host, expected, SIZE),
           "an ASYNC job, device-memory=%u", device_memory);
    EVP_CIPHER_CTX_free(o.context);
    EVP_CIPHER_CTX_free(reference);
    application_free(DEVICE, o.in);
    application_free(DEVICE, o.out);
    ASYNC_WAIT_CTX_free(wait);
    free(host);
    free(expected);
}

/* ---- Memory of another device ---------------------------------------------- */

/* One update from memory of a device to memory of a device. */
static int between_is_right(unsigned char *in, int in_device, unsigned char *out, int out_device)
{
    static const unsigned char key[32] = "another", iv[16] = "iv";
    enum { SIZE = 5000 };
    unsigned char host[SIZE], expected[SIZE];
    drv_context popped;
    EVP_CIPHER_CTX *ours = new_context(1, "AES-256-CTR", key, iv, 1, 1),
                   *reference = new_context(0, "AES-256-CTR", key, iv, 1, 0);
    int n = 0, right;

    tap_random_bytes(&chance, host, SIZE);
    EVP_CipherUpdate(reference, expected, &n, host, SIZE);
    right = application_begin(in_device) && application_write(DEVICE, in, host, SIZE) &&
            application.ctx_pop_current(&popped) == DRV_SUCCESS &&
            EVP_CipherUpdate(ours, out, &n, in, SIZE) && application_begin(out_device) &&
            application_read(host, DEVICE, out, SIZE) && !memcmp(host, expected, SIZE) &&
            application.ctx_pop_current(&popped) == DRV_SUCCESS;
    ERR_print_errors_fp(stderr);
    EVP_CIPHER_CTX_free(ours);
    EVP_CIPHER_CTX_free(reference);
    return right;
}

/* The settings name device 0 alone: memory is worked on where it lies all the same. */
static void check_second_device(void)
{
    drv_context popped;
    unsigned char *there, *here = application_alloc(DEVICE, 5000);

    if (!application_begin(1)) {
        tap_skip("there is one device only");
    } else {
        there = application_alloc(DEVICE, 5000);
        application.ctx_pop_current(&popped);
        tap_ok(between_is_right(there, 1, there, 1), "memory of a second device");
        tap_ok(between_is_right(there, 1, here, 0) && between_is_right(here, 0, there, 1),
               "from one device to the other, by the CPU");
        application_begin(1);
        application_free(DEVICE, there);
        application.ctx_pop_current(&popped);
    }
    application_free(DEVICE, here);
}

static int prepare(void)
{
    int side;
    enum place place;

    if (!application_begin(0))
        return 0;
    for (side = 0; side < 2; side++) {
        for (place = DEVICE; place < PLACES; place++)
            if ((arena[side][place] = application_alloc(place, ARENA)) == NULL)
                return 0;
        mirror[side] = malloc(ARENA);
    }
    seen = malloc(ARENA);
    return 1;
}

static void release(void)
{
    int side;
    enum place place;

    for (side = 0; side < 2; side++) {
        for (place = DEVICE; place < PLACES; place++)
            application_free(place, arena[side][place]);
        free(mirror[side]);
    }
    free(seen);
}

int main(void)
{
    setenv("GPUAES_MIN_BYTES", "0", 0);
    setenv("GPUAES_EMULATOR", "devices=2", 0);
    if (stand_in())
        return tap_skip_all("the default provider knows no device memory");
    tap_random_seed(&chance);
    providers = providers_load();
    if (!prepare()) {
        printf("Bail out! no CUDA, or too little memory\n");
        return EXIT_FAILURE;
    }
    check_lists();
    check_parameter();
    check_settings("GPUAES_POLICY", "cpu");
    check_walks();
    check_bulk();
    check_ranges("AES-256-CTR", 1);
    check_ranges("AES-128-CBC", 1);
    check_ranges("AES-128-ECB", 0);
    check_one_shot();
    check_final();
    check_order();
    check_found(1);
    check_found(0);
    check_job(1);
    check_job(0);
    check_second_device();
    tap_ok(figures_get(&providers).faults == 0, "no call of the driver has failed");
    release();
    providers_unload(&providers);
    return tap_done();
}
