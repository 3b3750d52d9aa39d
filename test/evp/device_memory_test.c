/*
 * Device memory through EVP, of a context with device-memory=1, beyond what
 * aes_differential_test does with it: long updates; what is refused, and what that
 * leaves behind; the order with the application's own work; ASYNC jobs; memory of
 * another device; no parameter at all.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/async.h>
#include <openssl/core_names.h>

#include "test/support/application.h"
#include "test/support/providers.h"

enum { BULK = 1 << 20 };

static EVP_CIPHER_CTX *new_context(int ours, const char *name, const unsigned char *key,
                                   const unsigned char *iv, int encrypt, unsigned device_memory)
{
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &device_memory), OSSL_PARAM_END};

    return context_open(ours, name, key, iv, encrypt, ours && device_memory ? params : NULL);
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

    tap_random_bytes(&random_state, host, BULK + 64);
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
    unsigned char *in = application_alloc(DEVICE, 32), *out = application_alloc(DEVICE, 32);
    EVP_CIPHER_CTX *ours = new_context(1, "AES-128-CBC", (const unsigned char *)"sixteen bytes...",
                                       (const unsigned char *)"sixteen bytes...", 1, 1);

    tap_ok(EVP_Cipher(ours, out, in, 17) <= 0 && reason_is("device memory cannot be used here") &&
               EVP_Cipher(ours, out, in, 32) == 32,
           "a one-shot call of part of a block is refused");
    EVP_CIPHER_CTX_free(ours);
    application_free(DEVICE, in);
    application_free(DEVICE, out);
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

    tap_random_bytes(&random_state, host, SIZE);
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

int main(void)
{
    setenv("GPUAES_MIN_BYTES", "0", 0);
    setenv("GPUAES_EMULATOR", "devices=2", 0);
    if (stand_in())
        return tap_skip_all("the default provider knows no device memory");
    tap_random_seed(&random_state);
    providers = providers_load();
    if (!application_begin(0)) {
        printf("Bail out! no CUDA\n");
        return EXIT_FAILURE;
    }
    check_lists();
    check_parameter();
    check_settings("GPUAES_POLICY", "cpu");
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
    tap_ok(figure("faults") == 0, "no call of the driver has failed");
    providers_unload(&providers);
    return tap_done();
}
