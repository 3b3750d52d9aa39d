/*
 * Device memory through EVP, of a context with device-memory=1, beyond what
 * aes_differential_test does with it: what is refused, and what that
 * leaves behind; the order with the application's own work; ASYNC jobs; memory of
 * another device; no parameter at all.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/jobs.h"
#include "test/support/streams.h"

enum { BULK = MIB };

static struct memory *memory; /* on the device, but for what a test says */

static void set_places(enum place in, enum place out)
{
    memory->in_place = in;
    memory->out_place = out;
}

/* Without padding; device_memory 0 leaves the parameter out. */
static struct stream open_stream(const char *name, int encrypt, unsigned device_memory)
{
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &device_memory), OSSL_PARAM_END};
    struct stream s = stream_open_with(memory, name, usual_key, usual_iv, encrypt,
                                       device_memory != 0 ? params : NULL);
    if (!stream_set_padding(&s, 0))
        abort();
    return s;
}

static const char *direction(int encrypt)
{
    return encrypt ? "encrypt" : "decrypt";
}

/* ---- What is refused ------------------------------------------------------ */

static const char bad_range[] = "a device buffer extends past the end of its allocation";

/* A range that leaves its allocation: nothing happens, and all goes on. */
static void check_ranges(const char *name, int encrypt)
{
    enum { SIZE = 4096 };
    unsigned char *in = application_alloc(DEVICE, SIZE), *out = application_alloc(DEVICE, SIZE),
                  host[SIZE], seen[SIZE];
    struct stream s = open_stream(name, encrypt, 1);
    EVP_CIPHER_CTX *ours = s.side[OURS];
    int n = -1;
    memset(host, 0x33, SIZE);
    application_write(DEVICE, in, host, SIZE);
    application_write(DEVICE, out, host, SIZE);
    int refused = !EVP_CipherUpdate(ours, out, &n, in + 16, SIZE) && reason_is(bad_range) &&
                  !EVP_CipherUpdate(ours, out + SIZE - 32, &n, in, 64) && reason_is(bad_range) &&
                  !EVP_CipherUpdate(ours, host, &n, in + SIZE - 8, 9) && reason_is(bad_range);
    application_read(seen, DEVICE, out, SIZE);
    tap_ok(refused && !memcmp(seen, host, SIZE),
           "%s %s: a range that leaves its allocation is refused before anything happens", name,
           direction(encrypt));
    tap_ok(stream_update(&s, SIZE), "%s %s: and the context goes on, CUDA's as well", name,
           direction(encrypt));
    stream_close(&s);
    application_free(DEVICE, in);
    application_free(DEVICE, out);
}

/* EVP_Cipher() of part of a block: the default provider reads and writes too much. */
static void check_one_shot(void)
{
    struct stream s = open_stream("AES-128-CBC", 1, 1);
    tap_ok(EVP_Cipher(s.side[OURS], memory->out_there, memory->in_there, 17) <= 0 &&
               reason_is("device memory cannot be used here") &&
               stream_call(&s, &(struct call){ONE_SHOT, 32, .out_of_place = 1}),
           "a one-shot call of part of a block is refused");
    stream_close(&s);
}

/* The other side is NULL: nobody can do it. */
static void check_null(const char *name, unsigned device_memory)
{
    EVP_CIPHER_CTX *ours = context_open(1, name, usual_key, usual_iv, 1, NULL);
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &device_memory), OSSL_PARAM_END};
    int n = 0, right = device_memory == 0 || EVP_CIPHER_CTX_set_params(ours, params);
    tap_ok(right && !EVP_CipherUpdate(ours, NULL, &n, memory->in_there, 4096) &&
               reason_is("bad parameter") &&
               !EVP_CipherUpdate(ours, memory->out_there, &n, NULL, 4096) &&
               reason_is("bad parameter") &&
               EVP_CipherUpdate(ours, memory->out_there, &n, memory->in_there, 4096),
           "%s, device-memory=%u: one side that is NULL is refused", name, device_memory);
    EVP_CIPHER_CTX_free(ours);
}

/* The last block has no room: it can still be had. */
static void check_final(void)
{
    struct stream s = open_stream("AES-256-CBC", 1, 1);
    unsigned char *room = application_alloc(DEVICE, 64);
    int n = 0;
    tap_ok(stream_set_padding(&s, 1) && stream_update(&s, 21) &&
               !EVP_CipherFinal_ex(s.side[OURS], room + 56, &n) && reason_is(bad_range) &&
               stream_final(&s),
           "final: refused where its output has no room, and right where it has");
    stream_close(&s);
    application_free(DEVICE, room);
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

static int lists(const OSSL_PARAM *list)
{
    return OSSL_PARAM_locate_const(list, "device-memory") &&
           OSSL_PARAM_locate_const(list, "cuda-stream");
}

/* aes_parameters_test looks for those of the default provider. */
static void check_lists(void)
{
    int good = 1;
    for (size_t row = 0; row < CIPHER_ROWS; row++) {
        EVP_CIPHER *ours = fetch_ours(&test_providers, cipher_rows[row].name);
        good &= lists(EVP_CIPHER_settable_ctx_params(ours)) &&
                lists(EVP_CIPHER_gettable_ctx_params(ours));
        EVP_CIPHER_free(ours);
    }
    tap_ok(good, "the parameters are listed");
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
    const unsigned char *key = usual_key, *iv = usual_iv;
    EVP_CIPHER_CTX *context = context_open(1, "AES-256-CBC", key, iv, 0, NULL), *copy;
    EVP_CIPHER *cipher = fetch_ours(&test_providers, "AES-128-ECB");
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
    tap_ok(!EVP_CipherInit_ex2(context, cipher, usual_key, usual_iv, 1, params) &&
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
    struct stream s = open_stream("AES-128-CTR", 1, 1);
    unsigned char *host = memory->in[REFERENCE], *expected = memory->out[REFERENCE];
    drv_ptr in = (drv_ptr)(uintptr_t)memory->in_there;
    int n = 0, right = 1;
    for (int i = 0; right && i < 20; i++) {
        size_t length = i % 2 ? BULK : 7; /* by a kernel, through the host */
        memset(host, i, BULK);
        EVP_CipherUpdate(s.side[REFERENCE], expected, &n, host, (int)length);
        for (int filler = i + 100; right && filler >= i; filler -= 100)
            right = application.memset_d8_async(in, (unsigned char)filler, BULK,
                                                DRV_STREAM_LEGACY) == DRV_SUCCESS;
        right =
            right &&
            EVP_CipherUpdate(s.side[OURS], memory->out_there, &n, memory->in_there, (int)length) &&
            application_read(host, DEVICE, memory->out_there, length) &&
            !memcmp(host, expected, length);
    }
    tap_ok(right, "work comes after what is queued on the legacy stream");
    stream_close(&s);
}

enum { UNALIGNED = 40001, HEAD = 5 };

/*
 * A head, whole blocks and a tail. Without the parameter device memory is found
 * in an update above the threshold, which min-bytes=0 makes the least.
 */
static void check_found(unsigned device_memory)
{
    struct stream s = open_stream("AES-192-CTR", 1, device_memory);
    set_places(PAGEABLE, PAGEABLE);
    int right = stream_update(&s, HEAD);
    set_places(DEVICE, DEVICE);
    tap_ok(right &&
               stream_call(&s, &(struct call){UPDATE, UNALIGNED, .out_of_place = 1, HEAD, HEAD}),
           "an update off the blocks, device-memory=%u", device_memory);
    stream_close(&s);
}

/* Data units, which have no such parameter: the CPU does what is no whole block of them. */
static void check_units(enum place in, enum place out)
{
    static const size_t lengths[] = {16, 17, 33, UNALIGNED, 300 * KIB, 600 * KIB + 9};
    int right = 1;
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        struct stream s =
            stream_open_with(memory, "AES-128-XTS", usual_key, usual_iv, encrypt, NULL);
        set_places(in, out);
        for (size_t i = 0; right && i < sizeof lengths / sizeof lengths[0]; i++)
            right = stream_call(&s, &(struct call){UPDATE, lengths[i], .out_of_place = 1}) &&
                    stream_call(&s, &(struct call){ONE_SHOT, lengths[i], .out_of_place = 1}) &&
                    (in != out || stream_update(&s, lengths[i])) && !s.broken;
        set_places(DEVICE, DEVICE);
        stream_close(&s);
    }
    tap_ok(right, "data units in %s and %s memory", place_names[in], place_names[out]);
}

/* The application's own CUDA calls are outside, as the stack of a job is small. */
static int run_update(void *argument)
{
    EVP_CIPHER_CTX *context = *(EVP_CIPHER_CTX **)argument;
    int n = 0;
    return EVP_CipherUpdate(context, memory->out_there, &n, memory->in_there, UNALIGNED) &&
           n == UNALIGNED;
}

static void check_job(unsigned device_memory)
{
    struct stream s = open_stream("AES-192-CTR", 1, device_memory);
    int n;
    application_write(DEVICE, memory->in_there, memory->text, UNALIGNED);
    EVP_CipherUpdate(s.side[REFERENCE], memory->out[REFERENCE], &n, memory->text, UNALIGNED);
    tap_ok(run_in_job(run_update, &s.side[OURS], sizeof(void *)) &&
               stream_queued_is_right(&s, DRV_STREAM_LEGACY, UNALIGNED),
           "an ASYNC job, device-memory=%u", device_memory);
    stream_close(&s);
}

/* ---- Memory of another device ---------------------------------------------- */

/* One update from memory of a device to memory of a device. */
static int between_is_right(unsigned char *in, int in_device, unsigned char *out, int out_device)
{
    enum { SIZE = 5000 };
    unsigned char host[SIZE], expected[SIZE];
    drv_context popped;
    struct stream s = open_stream("AES-256-CTR", 1, 1);
    int n = 0;
    EVP_CipherUpdate(s.side[REFERENCE], expected, &n, memory->text, SIZE);
    int right = application_begin(in_device) && application_write(DEVICE, in, memory->text, SIZE) &&
                application.ctx_pop_current(&popped) == DRV_SUCCESS &&
                EVP_CipherUpdate(s.side[OURS], out, &n, in, SIZE) &&
                application_begin(out_device) && application_read(host, DEVICE, out, SIZE) &&
                !memcmp(host, expected, SIZE) &&
                application.ctx_pop_current(&popped) == DRV_SUCCESS;
    ERR_print_errors_fp(stderr);
    stream_close(&s);
    return right;
}

/* The settings name device 0 alone: memory is worked on where it lies all the same. */
static void check_second_device(void)
{
    drv_context popped;
    unsigned char *here = memory->in_there;
    if (!application_begin(1)) {
        tap_skip("there is one device only");
        return;
    }
    unsigned char *there = application_alloc(DEVICE, 5000);
    application.ctx_pop_current(&popped);
    tap_ok(between_is_right(there, 1, there, 1), "memory of a second device");
    tap_ok(between_is_right(there, 1, here, 0) && between_is_right(here, 0, there, 1),
           "from one device to the other, by the CPU");
    application_begin(1);
    application_free(DEVICE, there);
    application.ctx_pop_current(&popped);
}

int main(void)
{
    if (stand_in())
        return tap_skip_all("the default provider knows no device memory");
    begin_on_device();
    memory = memory_on_device(tap_random_next(&random_state), BULK);
    check_lists();
    check_parameter();
    check_settings("GPUAES_POLICY", "cpu");
    check_ranges("AES-256-CTR", 1);
    check_ranges("AES-128-CBC", 1);
    check_ranges("AES-128-ECB", 0);
    check_one_shot();
    check_null("AES-256-CTR", 1);
    check_null("AES-256-CTR", 0);
    check_null("AES-128-XTS", 0);
    check_final();
    check_order();
    check_found(1);
    check_found(0);
    check_units(DEVICE, DEVICE);
    check_units(PAGEABLE, DEVICE);
    check_units(DEVICE, PAGEABLE);
    check_job(1);
    check_job(0);
    check_second_device();
    tap_ok(figure("faults") == 0, "no call of the driver has failed");
    memory_on_device_free(memory);
    providers_unload(&test_providers);
    return tap_done();
}
