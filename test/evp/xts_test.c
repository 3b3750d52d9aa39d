/*
 * AES-XTS compared with the default provider's: published vectors, names, what is refused, opaque
 * keys, where bytes are counted; then random use, in which results, first errors, bytes with what
 * lies around them and the initialization vectors are the same after each call. All of it is run
 * twice: on the CPU, and with whole blocks on the device. Then memory of all kinds, several
 * threads, and devices that are lost.
 *
 * GPUAES_TEST_CASES is the number of random cases, GPUAES_TEST_SEED repeats a run.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/common/core_3_5.h"
#include "test/support/cases.h"
#include "test/support/compared.h"
#include "test/support/device_state.h"

enum { LONG_MOST = 70000, SHORT_MOST = 5000, KEY_MOST = 64, UNIT_MOST = 16 * MIB };

static const struct row {
    const char *name, *oid;
    unsigned key_bytes;
} rows[] = {{"AES-128-XTS", "1.3.111.2.1619.0.1.1", 32},
            {"AES-256-XTS", "1.3.111.2.1619.0.1.2", 64}};
enum { ROWS = sizeof rows / sizeof rows[0] };

static struct memory *memory;
static int on_device;

/* ---- Vectors of IEEE Std 1619 -------------------------------------------------------- */

static const struct vector {
    const char *source, *cipher, *key, *iv, *plain, *coded;
} vectors[] = {
    {"vector 2", "AES-128-XTS",
     "11111111111111111111111111111111"
     "22222222222222222222222222222222",
     "33333333330000000000000000000000",
     "44444444444444444444444444444444"
     "44444444444444444444444444444444",
     "c454185e6a16936e39334038acef838b"
     "fb186fff7480adc4289382ecd6d394f0"},
    {"vector 15", "AES-128-XTS",
     "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0"
     "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0",
     "9a785634120000000000000000000000", "000102030405060708090a0b0c0d0e0f10",
     "6c1625db4671522d3d7599601de7ca09ed"},
    {"vector 10, two blocks of it", "AES-256-XTS",
     "2718281828459045235360287471352662497757247093699959574966967627"
     "3141592653589793238462643383279502884197169399375105820974944592",
     "ff000000000000000000000000000000",
     "000102030405060708090a0b0c0d0e0f"
     "101112131415161718191a1b1c1d1e1f",
     "1c3b3a102f770386e4836c99e370cf9b"
     "ea00803f5e482357a4ae12d414a3e63b"},
};

static size_t from_hex(unsigned char *to, const char *hex)
{
    size_t length = strlen(hex) / 2;
    unsigned byte;
    for (size_t i = 0; i < length; i++) {
        sscanf(hex + 2 * i, "%2x", &byte);
        to[i] = (unsigned char)byte;
    }
    return length;
}

static void check_vector(const struct vector *v)
{
    unsigned char key[KEY_MOST], iv[BLOCK], text[2][64], out[64];
    size_t length = from_hex(text[0], v->plain);
    from_hex(text[1], v->coded);
    from_hex(key, v->key);
    from_hex(iv, v->iv);
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        EVP_CIPHER_CTX *context = context_open(1, v->cipher, key, iv, encrypt, NULL);
        int n = 0, last = -1;
        tap_ok(context != NULL && EVP_CipherUpdate(context, out, &n, text[!encrypt], (int)length) &&
                   EVP_CipherFinal_ex(context, out + n, &last) && n == (int)length && last == 0 &&
                   memcmp(out, text[encrypt], length) == 0,
               "IEEE 1619 %s: %s %scrypts", v->source, v->cipher, encrypt ? "en" : "de");
        EVP_CIPHER_CTX_free(context);
    }
}

/* ---- Names --------------------------------------------------------------------------- */

static void check_name(const char *name, void *argument)
{
    const struct row *row = argument;
    EVP_CIPHER *cipher = fetch_ours(&test_providers, name);
    tap_ok(cipher != NULL && EVP_CIPHER_is_a(cipher, row->name) &&
               strcmp(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)),
                      stand_in() ? "default" : "gpuaes") == 0,
           "\"%s\" fetches our %s", name, row->name);
    EVP_CIPHER_free(cipher);
}

static void check_names(const struct row *row)
{
    EVP_CIPHER *ours = fetch_ours(&test_providers, row->name),
               *reference = fetch_reference(&test_providers, row->name);
    EVP_CIPHER_names_do_all(reference, check_name, (void *)(uintptr_t)row);
    check_name(row->oid, (void *)(uintptr_t)row);
    tap_ok(ours != NULL && EVP_CIPHER_get_nid(ours) == EVP_CIPHER_get_nid(reference) &&
               EVP_CIPHER_get_flags(ours) == EVP_CIPHER_get_flags(reference) &&
               EVP_CIPHER_get_mode(ours) == EVP_CIPHER_get_mode(reference) &&
               EVP_CIPHER_get_block_size(ours) == EVP_CIPHER_get_block_size(reference) &&
               EVP_CIPHER_get_key_length(ours) == (int)row->key_bytes &&
               EVP_CIPHER_get_iv_length(ours) == EVP_CIPHER_get_iv_length(reference),
           "%s has the nid, flags, mode and lengths of the default's", row->name);
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(reference);
}

static int lists_agree(const OSSL_PARAM *ours, const OSSL_PARAM *reference)
{
    for (; ours->key != NULL && reference->key != NULL; ours++, reference++)
        if (strcmp(ours->key, reference->key) != 0 || ours->data_type != reference->data_type)
            return 0;
    return ours->key == NULL && reference->key == NULL;
}

static void check_lists(const struct row *row)
{
    EVP_CIPHER *ours = fetch_ours(&test_providers, row->name),
               *reference = fetch_reference(&test_providers, row->name);
    tap_ok(lists_agree(EVP_CIPHER_gettable_params(ours), EVP_CIPHER_gettable_params(reference)) &&
               lists_agree(EVP_CIPHER_gettable_ctx_params(ours),
                           EVP_CIPHER_gettable_ctx_params(reference)) &&
               lists_agree(EVP_CIPHER_settable_ctx_params(ours),
                           EVP_CIPHER_settable_ctx_params(reference)),
           "%s has the default's parameters", row->name);
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(reference);
}

/* ---- Keys ---------------------------------------------------------------------------- */

static void random_key(unsigned char key[KEY_MOST], unsigned bytes)
{
    tap_random_bytes(&random_state, key, bytes);
}

/* Both halves are the same: refused when it is to encrypt. */
static void equal_halves(unsigned char key[KEY_MOST], unsigned bytes)
{
    random_key(key, bytes);
    memcpy(key + bytes / 2, key, bytes / 2);
}

static void check_equal_halves(const struct row *row)
{
    unsigned char key[KEY_MOST], equal[KEY_MOST];
    random_key(key, row->key_bytes);
    equal_halves(equal, row->key_bytes);
    struct stream s = stream_open(memory, row->name, key, usual_iv);
    int right = stream_init(&s, equal, other_iv, 1) && s.broken;
    /* The key of before, and the IV of the refused initialisation. */
    right = right && stream_update(&s, 100) && !s.broken && stream_agrees(&s);
    right = right && stream_init(&s, equal, NULL, 0) && stream_update(&s, 100);
    tap_ok(right, "%s refuses a key of equal halves where the default's does", row->name);
    stream_close(&s);
}

/* A copy without a key: the default provider's own would crash in an update. */
static void check_keyless_copy(const struct row *row, const unsigned char *iv)
{
    unsigned char key[KEY_MOST], out[64];
    int n;
    random_key(key, row->key_bytes);
    struct stream s = stream_open(memory, row->name, NULL, iv), copy = {.side = {NULL}};
    int right = stream_update(&s, 64) && s.broken && stream_copy(&copy, &s);
    if (!stand_in())
        right = right && !EVP_CipherUpdate(copy.side[OURS], out, &n, memory->text, sizeof out);
    ERR_clear_error();
    right = right && stream_agrees(&copy) && stream_init(&copy, key, NULL, 1) &&
            stream_update(&copy, 100) && copy.broken == (iv == NULL);
    right =
        right && stream_init(&copy, NULL, other_iv, 1) && stream_update(&copy, 100) && !copy.broken;
    tap_ok(right && stream_update(&s, 64) && s.broken,
           "%s: a copy without a key, but %s IV, takes one", row->name, iv != NULL ? "an" : "no");
    stream_close(&copy);
    stream_close(&s);
}

static struct {
    OSSL_FUNC_cipher_newctx_fn *newctx;
    OSSL_FUNC_cipher_freectx_fn *freectx;
    OSSL_FUNC_cipher_update_fn *update;
    cipher_skey_init_fn *init[2]; /* [1]: encrypts */
} functions;
static struct {
    skeymgmt_free_fn *free;
    skeymgmt_import_fn *import;
} management;

static int find_functions(const struct row *row)
{
    const struct wanted_function wanted[] = {{OSSL_FUNC_CIPHER_NEWCTX, &functions.newctx},
                                             {OSSL_FUNC_CIPHER_FREECTX, &functions.freectx},
                                             {OSSL_FUNC_CIPHER_UPDATE, &functions.update},
                                             {CIPHER_ENCRYPT_SKEY_INIT, &functions.init[1]},
                                             {CIPHER_DECRYPT_SKEY_INIT, &functions.init[0]},
                                             {0, NULL}},
                                 of_keys[] = {{SKEYMGMT_FREE, &management.free},
                                              {SKEYMGMT_IMPORT, &management.import},
                                              {0, NULL}};
    return functions_find(test_providers.gpuaes, OSSL_OP_CIPHER, row->name, wanted) &&
           functions_find(test_providers.gpuaes, OPERATION_SKEYMGMT, "GENERIC-SECRET", of_keys);
}

/* With a key, then with the key that it has. */
static int opaque_key_is_right(void *context, void *key, int encrypt, const unsigned char *in,
                               const unsigned char *want, size_t bytes)
{
    unsigned char out[100] = {0};
    size_t n = 0;
    for (int again = 0; again < 2; again++)
        if (!functions.init[encrypt](context, again ? NULL : key, usual_iv, BLOCK, NULL) ||
            !functions.update(context, out, &n, sizeof out, in, bytes) || n != bytes ||
            memcmp(out, want, bytes) != 0)
            return 0;
    return 1;
}

static void check_opaque_keys(const struct row *row)
{
    unsigned char key[KEY_MOST], coded[100];
    int n = 0;
    if (stand_in()) {
        tap_skip("opaque keys: the default provider has no such functions");
        return;
    }
    random_key(key, row->key_bytes);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(SKEY_PARAM_RAW_BYTES, key, row->key_bytes),
        OSSL_PARAM_construct_end()};
    EVP_CIPHER_CTX *reference = context_open(0, row->name, key, usual_iv, 1, NULL);
    int right = EVP_CipherUpdate(reference, coded, &n, memory->text, sizeof coded);
    void *provider = OSSL_PROVIDER_get0_provider_ctx(test_providers.gpuaes);
    if (tap_ok(find_functions(row), "%s takes opaque keys", row->name)) {
        void *context = functions.newctx(provider);
        void *opaque = management.import(provider, SKEYMGMT_SELECT_SECRET_KEY, params);
        right = right && context != NULL && opaque != NULL &&
                opaque_key_is_right(context, opaque, 1, memory->text, coded, sizeof coded) &&
                opaque_key_is_right(context, opaque, 0, coded, memory->text, sizeof coded);
        tap_ok(right, "%s with one does what it does with its bytes", row->name);
        management.free(opaque);
        functions.freectx(context);
    }
    EVP_CIPHER_CTX_free(reference);
}

/* ---- Lengths ------------------------------------------------------------------------- */

static void check_lengths(const struct row *row)
{
    unsigned char key[KEY_MOST];
    int right = 1;
    random_key(key, row->key_bytes);
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        struct stream s = stream_open_with(memory, row->name, key, usual_iv, encrypt, NULL);
        for (size_t length = 0; right && length <= 200; length++)
            right = stream_update(&s, length) && s.broken == (length < BLOCK) &&
                    stream_call(&s, &(struct call){ONE_SHOT, length, .out_of_place = 0}) &&
                    stream_final(&s);
        stream_close(&s);
    }
    tap_ok(right, "%s: every length of 0 to 200 bytes", row->name);
}

/* A data unit has 2^20 blocks at most. */
static void check_longest(const struct row *row)
{
    unsigned char key[KEY_MOST];
    struct memory *large = memory_for(1, UNIT_MOST + 1);
    random_key(key, row->key_bytes);
    struct stream s = stream_open(large, row->name, key, usual_iv);
    int right = stream_update(&s, UNIT_MOST) && !s.broken && stream_update(&s, UNIT_MOST + 1) &&
                s.broken && stream_update(&s, UNIT_MOST - 1) && !s.broken;
    tap_ok(right, "%s: the longest data unit, and one that is longer", row->name);
    stream_close(&s);
    free(large);
}

/* Of what the CPU does, updates of 1 KiB and more are counted; of what the device does, all. */
static void check_figures(const struct row *row)
{
    static const size_t lengths[] = {65537, 1023, 4097, 33, 15};
    unsigned char key[KEY_MOST];
    if (stand_in()) {
        tap_skip("figures: the default provider has none");
        return;
    }
    random_key(key, row->key_bytes);
    struct stream s = stream_open(memory, row->name, key, usual_iv);
    uint64_t small = figure("cpu-bytes-small"), cpu = figure("cpu-bytes"),
             gpu = figure("gpu-bytes");
    int right = 1;
    for (size_t i = 0; right && i < sizeof lengths / sizeof lengths[0]; i++)
        right = stream_update(&s, lengths[i]);
    stream_close(&s);
    small = figure("cpu-bytes-small") - small;
    cpu = figure("cpu-bytes") - cpu;
    gpu = figure("gpu-bytes") - gpu;
    if (on_device)
        tap_ok(right && gpu == 65520 + 1008 - 16 + 4080 + 16 && small == 17 + 31 + 17 + 17 &&
                   cpu == small,
               "%s: whole blocks are the device's, but for the last one before a part", row->name);
    else
        tap_ok(right && gpu == 0 && cpu == 65537 + 4097, "%s: the CPU's data units are counted",
               row->name);
}

/* ---- Random use ---------------------------------------------------------------------- */

struct walk {
    const struct row *row;
    struct stream stream;
    int encrypt, has_key;
    int is_keyless_copy; /* the default's would crash in an update */
    char log[2000];
    size_t log_length;
};

TAP_PRINTF(2, 3) static void note(struct walk *w, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof w->log - w->log_length;
    va_start(arguments, format);
    int n = vsnprintf(w->log + w->log_length, room, format, arguments);
    va_end(arguments);
    w->log_length += n > 0 && (size_t)n < room ? (size_t)n : 0;
}

static size_t below(size_t limit)
{
    return tap_random_below(&random_state, limit);
}

static int step_init(struct walk *w, int insists)
{
    unsigned char key[KEY_MOST], iv[BLOCK];
    int with_key = insists || below(4) == 0, with_iv = insists || below(4) != 0,
        is_equal = with_key && !insists && below(4) == 0;
    tap_random_bytes(&random_state, iv, sizeof iv);
    if (below(4) == 0)
        memset(iv, 0, sizeof iv);
    random_key(key, w->row->key_bytes);
    if (is_equal)
        equal_halves(key, w->row->key_bytes);
    if (below(4) == 0)
        w->encrypt = !w->encrypt;
    note(w, " init(%s%s%s)", with_key ? is_equal ? "equal-key " : "key " : "", with_iv ? "iv " : "",
         w->encrypt ? "encrypt" : "decrypt");
    int right = stream_init(&w->stream, with_key ? key : NULL, with_iv ? iv : NULL, w->encrypt);
    if (with_key && !w->stream.broken)
        w->has_key = 1;
    w->is_keyless_copy &= !w->has_key;
    return right;
}

static int step_call(struct walk *w)
{
    static const int distances[] = {0, 0, 0, -BLOCK, BLOCK, -5, 100};
    struct call call = {.way = below(4) == 0 ? ONE_SHOT : UPDATE,
                        .length = below(below(8) == 0 ? LONG_MOST : SHORT_MOST + 1),
                        .out_of_place = below(2) != 0,
                        .in_at = (unsigned)below(64),
                        .out_at = (unsigned)below(64),
                        .distance = distances[below(sizeof distances / sizeof distances[0])]};
    if (below(4) == 0)
        call.length = below(3 * BLOCK);
    if (below(4) == 0)
        call.length &= ~(size_t)(BLOCK - 1);
    note(w, " %s(%zu, %s%+d)", call.way == ONE_SHOT ? "one-shot" : "update", call.length,
         call.out_of_place ? "out of place " : "on input", call.distance);
    return stream_call(&w->stream, &call);
}

static int step_copy(struct walk *w)
{
    struct stream copy = {.side = {NULL}};
    note(w, " copy");
    int right = stream_copy(&copy, &w->stream);
    stream_close(&w->stream);
    w->stream = copy;
    w->is_keyless_copy = !w->has_key;
    return right;
}

static int step_set(struct walk *w)
{
    size_t bytes = below(2) != 0 ? w->row->key_bytes : 16 * below(5);
    OSSL_PARAM params[] = {OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, &bytes), OSSL_PARAM_END};
    note(w, " set(keylen=%zu)", bytes);
    return stream_set(&w->stream, params);
}

/* With a parameter that may be refused. */
static int step_init_with(struct walk *w)
{
    unsigned char key[KEY_MOST];
    size_t bytes = below(2) != 0 ? w->row->key_bytes : 24;
    OSSL_PARAM params[] = {OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, &bytes), OSSL_PARAM_END};
    random_key(key, w->row->key_bytes);
    note(w, " init(key, keylen=%zu)", bytes);
    int right = stream_init_with(&w->stream, NULL, key, usual_iv, w->encrypt, params);
    if (!w->stream.broken)
        w->has_key = 1;
    return right;
}

static int step(struct walk *w)
{
    size_t which = below(20);
    if (w->is_keyless_copy || which < 5)
        return step_init(w, w->is_keyless_copy);
    switch (which) {
    case 5:
        return step_copy(w);
    case 6:
        return step_set(w);
    case 7:
        return step_init_with(w);
    case 8:
        note(w, " final");
        return stream_final(&w->stream);
    default:
        return step_call(w);
    }
}

static int walk(const struct row *row)
{
    struct walk w = {.row = row, .encrypt = 1};
    int right = 1;
    w.stream = stream_open(memory, row->name, NULL, below(2) != 0 ? usual_iv : NULL);
    for (size_t steps = 3 + below(30); right && steps > 0; steps--)
        right = step(&w) && stream_agrees(&w.stream);
    stream_close(&w.stream);
    if (!right)
        tap_diag("%s:%s", row->name, w.log);
    return right;
}

static void check_walks(const struct row *row)
{
    size_t cases = setting("GPUAES_TEST_CASES", sanitized() ? 40 : 200), wrong = 0;
    for (size_t i = 0; i < cases; i++)
        wrong += !walk(row);
    tap_ok(wrong == 0, "%s: %zu cases of random use", row->name, cases);
}

/* ---- In one process -------------------------------------------------------------------- */

/* With a provider that has these settings. */
static void check_all(const char *settings)
{
    application_environment(settings);
    test_providers = providers_load();
    memory = memory_for(tap_random_next(&random_state), LONG_MOST + 200);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        check_vector(&vectors[i]);
    for (size_t i = 0; i < ROWS; i++) {
        check_names(&rows[i]);
        check_lists(&rows[i]);
        check_equal_halves(&rows[i]);
        check_keyless_copy(&rows[i], usual_iv);
        check_keyless_copy(&rows[i], NULL);
        check_opaque_keys(&rows[i]);
        check_lengths(&rows[i]);
        check_longest(&rows[i]);
        check_figures(&rows[i]);
        check_walks(&rows[i]);
    }
    free(memory);
    providers_unload(&test_providers);
}

/* ---- In processes of their own ----------------------------------------------------------- */

enum { PLACE_CASES = 6, PLACE_MOST = 300000 };

static size_t some_length(size_t most)
{
    return BLOCK + below(2) * below(32) + below(most - 2 * BLOCK);
}

static int is_right_there(enum place in, enum place out, unsigned char *there[2][PLACES])
{
    const struct row *row = &rows[below(ROWS)];
    unsigned char key[KEY_MOST];
    int right = 1;
    random_key(key, row->key_bytes);
    memory->in_place = in;
    memory->out_place = out;
    memory->in_there = there[0][in];
    memory->out_there = there[1][out];
    for (int encrypt = 0; encrypt < 2; encrypt++) {
        struct stream s = stream_open_with(memory, row->name, key, usual_iv, encrypt, NULL);
        for (int i = 0; right && i < PLACE_CASES; i++) {
            struct call call = {.way = i % 2 == 0 ? UPDATE : ONE_SHOT,
                                .length = i == 0 ? 17 + below(30) : some_length(PLACE_MOST),
                                .out_of_place = in != out || i % 3 != 0,
                                .in_at = (unsigned)below(32),
                                .out_at = (unsigned)below(32)};
            right = stream_call(&s, &call) && !s.broken;
        }
        stream_close(&s);
    }
    if (!right)
        tap_diag("%s, %s to %s", row->name, place_names[in], place_names[out]);
    return right;
}

static int all_places(void)
{
    unsigned char *there[2][PLACES];
    int right = 1;
    memory = memory_for(tap_random_next(&random_state), PLACE_MOST + 200);
    if (stand_in() || !application_begin(0))
        return -1;
    for (int i = 0; i < 2; i++)
        for (enum place place = DEVICE; place < PLACES; place++)
            there[i][place] = application_alloc(place, PLACE_MOST + 2 * EDGE + 200);
    for (enum place in = DEVICE; in < PLACES; in++)
        for (enum place out = DEVICE; out < PLACES; out++)
            right &= is_right_there(in, out, there);
    for (int i = 0; i < 2; i++)
        for (enum place place = DEVICE; place < PLACES; place++)
            application_free(place, there[i][place]);
    free(memory);
    return right && figure("gpu-bytes") > 0 && figure("faults") == 0;
}

static int longest_units(void)
{
    struct memory *large = memory_for(tap_random_next(&random_state), UNIT_MOST + 64);
    int right = 1;
    for (int i = 0; right && i < 4; i++) {
        const struct row *row = &rows[i / 2];
        unsigned char key[KEY_MOST];
        random_key(key, row->key_bytes);
        struct stream s = stream_open_with(large, row->name, key, usual_iv, i % 2, NULL);
        struct call call = {UPDATE, UNIT_MOST - below(BLOCK), .out_of_place = below(2) != 0,
                            .in_at = 5};
        right = stream_call(&s, &call) && !s.broken && stream_update(&s, UNIT_MOST / 2 + 1) &&
                stream_init(&s, NULL, other_iv, -1) && stream_update(&s, UNIT_MOST / 4);
        stream_close(&s);
    }
    free(large);
    return right;
}

static int several_threads(void)
{
    return longest_units() &&
           (stand_in() || (figure("gpu-bytes") > 4 * (uint64_t)UNIT_MOST && figure("faults") == 0));
}

static int is_lost(void)
{
    if (stand_in() || application_hook("emulator_contexts") == NULL)
        return -1;
    return longest_units() && figure("faults") > 0 && figure("gpu-bytes") > 0 &&
           figure("cpu-bytes-failed") > 0;
}

/* By the model's choice, which a CPU will mostly win. */
static int own_choice(void)
{
    unsigned char key[KEY_MOST];
    int right = 1;
    memory = memory_for(tap_random_next(&random_state), MIB + 200);
    random_key(key, rows[0].key_bytes);
    struct stream s = stream_open(memory, rows[0].name, key, usual_iv);
    for (int i = 0; i < 6000 && device_state() == GPUAES_STARTING; i++)
        sleep_ms(10);
    for (int i = 0; right && i < 60; i++)
        right = stream_update(&s, some_length(MIB)) && stream_init(&s, NULL, other_iv, -1);
    stream_close(&s);
    free(memory);
    return right && (stand_in() || figure("cpu-bytes") + figure("gpu-bytes") > 0);
}

static const struct case_row cases[] = {
    {"memory of all kinds", "GPUAES_MIN_BYTES=0 GPUAES_POLICY=gpu", NULL, all_places},
    {"the longest units, by several threads", "GPUAES_MIN_BYTES=0 GPUAES_THREADS=4", NULL,
     several_threads},
    {"a device that is lost", "GPUAES_MIN_BYTES=0", "lost=launch_kernel:20", is_lost},
    {"a device that is lost, and several threads", "GPUAES_MIN_BYTES=0 GPUAES_THREADS=4",
     "lost=launch_kernel:20", is_lost},
    {"CPU or GPU as the policy has it", "GPUAES_START=eager", NULL, own_choice},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    tap_random_seed(&random_state);
    if (argc > 1)
        return case_named(argv[1], cases);
    cases_check(cases, CASES, 2);
    check_all("GPUAES_POLICY=cpu");
    on_device = 1;
    check_all("GPUAES_POLICY=gpu GPUAES_MIN_BYTES=0");
    return tap_done();
}
