/*
 * Parameters, settings and the calls at the edge of what is allowed, compared with the
 * default provider's. A scenario, or a script, is played once with our cipher and once with
 * the default's, and writes down all that it sees: results, values, bytes and
 * the first error of each refusal. The two transcripts must be the same text.
 *
 * With min-bytes of 0 contexts have been through a kernel before they are asked; with 1000 some
 * messages are the CPU's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <openssl/asn1.h>
#include <openssl/core_names.h>

#include "test/support/providers.h"

struct play {
    const struct cipher_row *row;
    const EVP_CIPHER *cipher, *reference; /* what is played; the default's, for its lists */
    EVP_CIPHER_CTX *context;
    char text[32768];
    size_t length;
};

static const unsigned char key[LONGEST_KEY + 1] =
    "0123456789abcdefFEDCBA9876543210and 32 bytes more, which XTS has";
static const unsigned char iv[128] = "initialization.";
static unsigned char input[65536];

TAP_PRINTF(2, 3) static void say(struct play *p, const char *format, ...)
{
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(p->text + p->length, sizeof p->text - p->length, format, arguments);
    va_end(arguments);
    if (n > 0 && p->length + (size_t)n < sizeof p->text)
        p->length += (size_t)n;
}

/* A result, and the first error where it is a refusal. */
static void say_result(struct play *p, const char *what, int result)
{
    unsigned long error = first_error();

    say(p, "%s: %d", what, result);
    if (result <= 0)
        say(p, " (library %d, reason %d)", ERR_GET_LIB(error), ERR_GET_REASON(error));
    say(p, "\n");
}

/* All bytes of short output, a checksum of long. */
static void say_bytes(struct play *p, const unsigned char *bytes, size_t length)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    size_t i;

    say(p, "  %zu bytes: ", length);
    for (i = 0; i < length; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    for (i = 0; length <= 48 && i < length; i++)
        say(p, "%02x", bytes[i]);
    say(p, " %016llx\n", (unsigned long long)sum);
}

static int init(struct play *p, const EVP_CIPHER *cipher, const unsigned char *k,
                const unsigned char *v, int encrypt)
{
    int result = EVP_CipherInit_ex2(p->context, cipher, k, v, encrypt, NULL);

    say_result(p, "init", result);
    return result;
}

static void update(struct play *p, size_t length)
{
    static unsigned char out[sizeof input + 64];
    int n = -1, result;

    memset(out, 0, length + 32);
    result = EVP_CipherUpdate(p->context, out, &n, input, (int)length);
    say(p, "%zu bytes ", length);
    say_result(p, "update", result);
    if (result > 0)
        say_bytes(p, out, (size_t)n);
}

static void one_shot(struct play *p, size_t length)
{
    static unsigned char out[sizeof input + 64];
    int result;

    memset(out, 0, length + 32);
    result = EVP_Cipher(p->context, out, input, (unsigned)length);
    say(p, "%zu bytes ", length);
    say_result(p, "one-shot", result);
    if (result > 0)
        say_bytes(p, out, (size_t)result);
}

/* Ours refuse it after text for a reason of their own. */
static void additional_data(struct play *p, size_t length, int at_once)
{
    int n = -1, result = at_once ? EVP_Cipher(p->context, NULL, input, (unsigned)length)
                                 : EVP_CipherUpdate(p->context, NULL, &n, input, (int)length);

    say(p, "%zu bytes of additional data: %d, %d\n", length, result, n);
    ERR_clear_error();
}

static void control(struct play *p, const char *what, int id, size_t value)
{
    unsigned char bytes[64] = {0};

    say(p, "%s %zu ", what, value);
    say_result(p, "control", EVP_CIPHER_CTX_ctrl(p->context, id, (int)value, bytes));
    if (id == EVP_CTRL_AEAD_GET_TAG)
        say_bytes(p, bytes, 16);
}

static void final(struct play *p)
{
    unsigned char out[64] = {0};
    int n = -1, result = EVP_CipherFinal_ex(p->context, out, &n);

    say_result(p, "final", result);
    if (result > 0)
        say_bytes(p, out, (size_t)n);
}

/* Reads one parameter as `type` into `size` bytes and says what came. */
static void get(struct play *p, const char *name, unsigned type, size_t size)
{
    unsigned char value[64] = {0};
    const void *pointer = NULL;
    OSSL_PARAM params[] = {{name, type, value, size, OSSL_PARAM_UNMODIFIED}, OSSL_PARAM_END};
    int result;

    if (type == OSSL_PARAM_OCTET_PTR || type == OSSL_PARAM_UTF8_PTR)
        params[0].data = (void *)&pointer;
    result = EVP_CIPHER_CTX_get_params(p->context, params);
    say(p, "get %s as type %u in %zu ", name, type, size);
    say_result(p, "bytes", result);
    say(p, "  return size %zu%s\n", params[0].return_size,
        OSSL_PARAM_modified(params) ? "" : ", not modified");
    if (result > 0 && params[0].data == (void *)&pointer && pointer && params[0].return_size <= 64)
        say_bytes(p, pointer, params[0].return_size);
    else if (result > 0 && params[0].data == value)
        say_bytes(p, value, size);
}

static void set(struct play *p, const char *name, unsigned type, const void *value, size_t size)
{
    OSSL_PARAM params[] = {{name, type, (void *)(uintptr_t)value, size, OSSL_PARAM_UNMODIFIED},
                           OSSL_PARAM_END};

    say(p, "set %s as type %u in %zu ", name, type, size);
    say_result(p, "bytes", EVP_CIPHER_CTX_set_params(p->context, params));
}

static void set_uint(struct play *p, const char *name, unsigned value)
{
    say(p, "%u: ", value);
    set(p, name, OSSL_PARAM_UNSIGNED_INTEGER, &value, sizeof value);
}

/* Every context parameter that the default provider knows, as its own type. */
static void get_all(struct play *p)
{
    const OSSL_PARAM *list = EVP_CIPHER_gettable_ctx_params(p->reference);

    for (; list && list->key; list++)
        get(p, list->key, list->data_type,
            list->data_type == OSSL_PARAM_UNSIGNED_INTEGER || list->data_type == OSSL_PARAM_INTEGER
                ? sizeof(size_t)
                : 16);
}

/* ---- Scenarios ----------------------------------------------------------- */

/* What the default lists, the cipher under test lists too; it may list more. */
static void list_contains(struct play *p, const char *what, const OSSL_PARAM *reference,
                          const OSSL_PARAM *list)
{
    for (; reference && reference->key; reference++) {
        const OSSL_PARAM *found = list ? OSSL_PARAM_locate_const(list, reference->key) : NULL;

        say(p, "%s %s: %s, type %u\n", what, reference->key, found ? "listed" : "missing",
            found ? found->data_type : 0);
    }
}

static void the_lists_of_parameters(struct play *p)
{
    list_contains(p, "gettable", EVP_CIPHER_gettable_params(p->reference),
                  EVP_CIPHER_gettable_params(p->cipher));
    list_contains(p, "gettable of a context", EVP_CIPHER_gettable_ctx_params(p->reference),
                  EVP_CIPHER_gettable_ctx_params(p->cipher));
    list_contains(p, "settable of a context", EVP_CIPHER_settable_ctx_params(p->reference),
                  EVP_CIPHER_settable_ctx_params(p->cipher));
    init(p, p->cipher, key, iv, 1);
    list_contains(p, "gettable now", EVP_CIPHER_gettable_ctx_params(p->reference),
                  EVP_CIPHER_CTX_gettable_params(p->context));
    list_contains(p, "settable now", EVP_CIPHER_settable_ctx_params(p->reference),
                  EVP_CIPHER_CTX_settable_params(p->context));
}

static void parameters_of_the_cipher(struct play *p)
{
    const OSSL_PARAM *list = EVP_CIPHER_gettable_params(p->reference);
    size_t size;

    for (; list && list->key; list++)
        for (size = 1; size <= 8; size *= 2) {
            uint64_t value = 0;
            OSSL_PARAM params[] = {
                {list->key, list->data_type, &value, size, OSSL_PARAM_UNMODIFIED}, OSSL_PARAM_END};

            say(p, "%s in %zu ", list->key, size);
            say_result(p, "bytes",
                       EVP_CIPHER_get_params((EVP_CIPHER *)(uintptr_t)p->cipher, params));
            say(p, "  %llu, return size %zu\n", (unsigned long long)value, params[0].return_size);
        }
    say(p, "key %d, iv %d, block %d, mode %d, flags %lx, nid %d, type %d\n",
        EVP_CIPHER_get_key_length(p->cipher), EVP_CIPHER_get_iv_length(p->cipher),
        EVP_CIPHER_get_block_size(p->cipher), EVP_CIPHER_get_mode(p->cipher),
        EVP_CIPHER_get_flags(p->cipher), EVP_CIPHER_get_nid(p->cipher),
        EVP_CIPHER_get_type(p->cipher));
}

static void parameters_in_wrong_types_and_sizes(struct play *p)
{
    static const unsigned types[] = {OSSL_PARAM_INTEGER,     OSSL_PARAM_UNSIGNED_INTEGER,
                                     OSSL_PARAM_UTF8_STRING, OSSL_PARAM_OCTET_STRING,
                                     OSSL_PARAM_UTF8_PTR,    OSSL_PARAM_OCTET_PTR};
    static const size_t sizes[] = {0, 1, 4, 8, 15, 16, 17, 40};
    static const char *const names[] = {OSSL_CIPHER_PARAM_KEYLEN,  OSSL_CIPHER_PARAM_IVLEN,
                                        OSSL_CIPHER_PARAM_PADDING, OSSL_CIPHER_PARAM_NUM,
                                        OSSL_CIPHER_PARAM_IV,      OSSL_CIPHER_PARAM_UPDATED_IV,
                                        OSSL_CIPHER_PARAM_TLS_MAC, "no-such-parameter"};
    size_t n, t, s;

    init(p, p->cipher, key, iv, 1);
    update(p, 640);
    for (n = 0; n < sizeof names / sizeof names[0]; n++)
        for (t = 0; t < sizeof types / sizeof types[0]; t++)
            for (s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
                if (types[t] >= OSSL_PARAM_UTF8_STRING || sizes[s] == 1 || sizes[s] == 4 ||
                    sizes[s] == 8)
                    get(p, names[n], types[t], sizes[s]);
}

static void padding_set(struct play *p)
{
    static const unsigned values[] = {0, 1, 2, 0x80000000u};
    uint64_t large = UINT64_C(1) << 40;
    int64_t negative = -1;
    size_t i;

    for (i = 0; i < sizeof values / sizeof values[0]; i++) {
        EVP_CIPHER_CTX_reset(p->context);
        init(p, p->cipher, key, iv, 1);
        set_uint(p, OSSL_CIPHER_PARAM_PADDING, values[i]);
        get(p, OSSL_CIPHER_PARAM_PADDING, OSSL_PARAM_UNSIGNED_INTEGER, sizeof(unsigned));
        update(p, 1000);
        final(p);
    }
    set(p, OSSL_CIPHER_PARAM_PADDING, OSSL_PARAM_UNSIGNED_INTEGER, &large, sizeof large);
    set(p, OSSL_CIPHER_PARAM_PADDING, OSSL_PARAM_INTEGER, &negative, sizeof negative);
    set(p, OSSL_CIPHER_PARAM_PADDING, OSSL_PARAM_UTF8_STRING, "1", 1);
    set(p, OSSL_CIPHER_PARAM_PADDING, OSSL_PARAM_OCTET_STRING, "\1\0\0\0", 4);
    get_all(p);
}

static void num_set(struct play *p)
{
    static const unsigned values[] = {0, 1, 5, 15};
    uint64_t large = UINT64_C(1) << 40;
    size_t i;

    for (i = 0; i < sizeof values / sizeof values[0]; i++) {
        init(p, p->cipher, key, iv, 1);
        update(p, 71);
        set_uint(p, OSSL_CIPHER_PARAM_NUM, values[i]);
        say(p, "num %d\n", EVP_CIPHER_CTX_get_num(p->context));
        update(p, 50);
        update(p, 4096);
        get_all(p);
    }
    set(p, OSSL_CIPHER_PARAM_NUM, OSSL_PARAM_UNSIGNED_INTEGER, &large, sizeof large);
    set(p, OSSL_CIPHER_PARAM_NUM, OSSL_PARAM_UTF8_STRING, "3", 1);
    say_result(p, "set_num", EVP_CIPHER_CTX_set_num(p->context, 3));
    say(p, "num %d\n", EVP_CIPHER_CTX_get_num(p->context));
}

static void key_lengths(struct play *p)
{
    static const unsigned lengths[] = {0, 8, 16, 24, 32, 64};
    size_t length = 8, i;
    OSSL_PARAM params[] = {OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, &length), OSSL_PARAM_END};

    init(p, p->cipher, NULL, NULL, 1);
    for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        say(p, "key length %u ", lengths[i]);
        say_result(p, "set", EVP_CIPHER_CTX_set_key_length(p->context, (int)lengths[i]));
        set_uint(p, OSSL_CIPHER_PARAM_KEYLEN, lengths[i]);
        say(p, "now %d\n", EVP_CIPHER_CTX_get_key_length(p->context));
    }
    say_result(p, "init with a wrong key length among the parameters",
               EVP_CipherInit_ex2(p->context, NULL, key, iv, 1, params));
    length = p->row->key_bytes;
    say_result(p, "init with the right key length among the parameters",
               EVP_CipherInit_ex2(p->context, NULL, key, iv, 1, params));
    update(p, 128);
    set_uint(p, OSSL_CIPHER_PARAM_IVLEN, 12);
    set_uint(p, OSSL_CIPHER_PARAM_IVLEN, 16);
    set_uint(p, "no-such-parameter", 1);
    set(p, OSSL_CIPHER_PARAM_IV, OSSL_PARAM_OCTET_STRING, input, 16);
    set(p, OSSL_CIPHER_PARAM_KEYLEN, OSSL_PARAM_UTF8_STRING, "16", 2);
    update(p, 128);
    get_all(p);
}

static void parameters_with_the_initialisation(struct play *p)
{
    unsigned padding = 0, num = 3;
    OSSL_PARAM params[] = {OSSL_PARAM_uint(OSSL_CIPHER_PARAM_PADDING, &padding),
                           OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, &num), OSSL_PARAM_END};
    OSSL_PARAM bad[] = {
        OSSL_PARAM_utf8_string(OSSL_CIPHER_PARAM_PADDING, (void *)(uintptr_t) "x", 1),
        OSSL_PARAM_END};
    OSSL_PARAM unknown[] = {OSSL_PARAM_uint("no-such-parameter", &num), OSSL_PARAM_END};

    say_result(p, "init", EVP_CipherInit_ex2(p->context, p->cipher, key, iv, 1, params));
    get_all(p);
    update(p, 100);
    final(p);
    say_result(p, "init", EVP_CipherInit_ex2(p->context, NULL, NULL, NULL, 0, params));
    get_all(p);
    say_result(p, "bad", EVP_CipherInit_ex2(p->context, NULL, key, iv, 1, bad));
    say_result(p, "unknown", EVP_CipherInit_ex2(p->context, NULL, key, iv, 1, unknown));
    update(p, 100);
}

/* An initialisation that is refused late: the key and the IV have been taken, a parameter not. */
static void initialisation_half_refused(struct play *p)
{
    const char *const names[] = {"padding", "num"};
    char wrong[] = "not a number";
    size_t i;
    int given;

    for (i = 0; i < 2; i++)
        for (given = 0; given < 4; given++) {
            OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(names[i], wrong, 0),
                                   OSSL_PARAM_construct_end()};
            EVP_CIPHER_CTX_reset(p->context);
            init(p, p->cipher, key, iv, 0);
            update(p, 2048);
            say_result(p, "half refused",
                       EVP_CipherInit_ex2(p->context, NULL, given & 1 ? key + 1 : NULL,
                                          given & 2 ? key + 2 : NULL, 0, params));
            init(p, NULL, NULL, i ? iv : NULL, 0);
            get_all(p);
            update(p, 2048);
            init(p, NULL, key, NULL, 0);
            update(p, 2048);
        }
}

static void null_buffers_and_no_bytes(struct play *p)
{
    unsigned char out[64];
    int n = -1;

    init(p, p->cipher, key, iv, 1);
    update(p, 0);
    say_result(p, "no output, no input", EVP_CipherUpdate(p->context, NULL, &n, NULL, 0));
    say(p, "  %d\n", n);
    n = -1;
    say_result(p, "no input", EVP_CipherUpdate(p->context, out, &n, NULL, 0));
    say(p, "  %d\n", n);
    if (p->row->mode != CTR) {
        n = -1;
        say_result(p, "no output, bytes that are held",
                   EVP_CipherUpdate(p->context, NULL, &n, input, 5));
        say(p, "  %d\n", n);
    }
    one_shot(p, 0);
    say_result(p, "one-shot without output", EVP_Cipher(p->context, NULL, NULL, 0));
    say_result(p, "one-shot final", EVP_Cipher(p->context, out, NULL, 0));
    update(p, 4096);
    final(p);
}

static void wrong_lengths_and_paddings(struct play *p)
{
    size_t length;

    for (length = 0; length <= 50; length += 1 + length / 20) {
        init(p, p->cipher, key, iv, 0);
        EVP_CIPHER_CTX_set_padding(p->context, 1);
        update(p, length);
        final(p);
        init(p, p->cipher, key, iv, (int)length % 2);
        EVP_CIPHER_CTX_set_padding(p->context, 0);
        update(p, length);
        final(p);
    }
    for (length = 0; length < 40; length += 13) {
        init(p, p->cipher, key, iv, 1);
        one_shot(p, length & ~(size_t)15);
        get_all(p);
    }
}

static void the_other_evp_calls(struct play *p)
{
    unsigned char random_key[64], vector[16], *der = NULL;
    ASN1_TYPE *type = ASN1_TYPE_new();
    int result, length;

    init(p, p->cipher, key, iv, 1);
    update(p, 1000);
    say_result(p, "rand_key", EVP_CIPHER_CTX_rand_key(p->context, random_key));
    memset(vector, 0, sizeof vector);
    say_result(p, "original_iv", EVP_CIPHER_CTX_get_original_iv(p->context, vector, sizeof vector));
    say_bytes(p, vector, sizeof vector);
    say_result(p, "updated_iv", EVP_CIPHER_CTX_get_updated_iv(p->context, vector, sizeof vector));
    say_bytes(p, vector, sizeof vector);
    say(p, "tag length %d\n", EVP_CIPHER_CTX_get_tag_length(p->context));
    say(p, "key %d, iv %d, block %d, num %d\n", EVP_CIPHER_CTX_get_key_length(p->context),
        EVP_CIPHER_CTX_get_iv_length(p->context), EVP_CIPHER_CTX_get_block_size(p->context),
        EVP_CIPHER_CTX_get_num(p->context));
    result = EVP_CIPHER_param_to_asn1(p->context, type);
    say_result(p, "param_to_asn1", result);
    length = result > 0 ? i2d_ASN1_TYPE(type, &der) : 0;
    say_bytes(p, der, length > 0 ? (size_t)length : 0);
    if (result > 0)
        say_result(p, "asn1_to_param", EVP_CIPHER_asn1_to_param(p->context, type));
    say_result(p, "tag", EVP_CIPHER_CTX_ctrl(p->context, EVP_CTRL_AEAD_GET_TAG, 16, vector));
    say_result(p, "iv length", EVP_CIPHER_CTX_ctrl(p->context, EVP_CTRL_AEAD_SET_IVLEN, 12, NULL));
    say_result(p, "rc2", EVP_CIPHER_CTX_ctrl(p->context, EVP_CTRL_SET_RC2_KEY_BITS, 128, NULL));
    ERR_clear_error();
    update(p, 1000);
    OPENSSL_free(der);
    ASN1_TYPE_free(type);
}

/* ---- TLS records, as libssl hands them over ------------------------------ */

static void tls_setup(struct play *p, int encrypt, int version, size_t mac)
{
    OSSL_PARAM params[] = {OSSL_PARAM_int(OSSL_CIPHER_PARAM_TLS_VERSION, &version),
                           OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &mac), OSSL_PARAM_END};

    EVP_CIPHER_CTX_reset(p->context);
    init(p, p->cipher, key, iv, encrypt);
    say(p, "version %x, mac %zu ", (unsigned)version, mac);
    say_result(p, "parameters", EVP_CIPHER_CTX_set_params(p->context, params));
}

/* One record in place; with a MAC the plain text and the MAC are said, if the padding was good. */
static void tls_record(struct play *p, unsigned char *record, size_t length, size_t mac, int good)
{
    const unsigned char *found = NULL;
    OSSL_PARAM params[] = {
        OSSL_PARAM_octet_ptr(OSSL_CIPHER_PARAM_TLS_MAC, (void **)(uintptr_t)&found, mac),
        OSSL_PARAM_END};
    int n = -1, result = EVP_CipherUpdate(p->context, record, &n, record, (int)length);

    say(p, "record of %zu ", length);
    say_result(p, "update", result);
    say(p, "  %d\n", n);
    if (result > 0 && good)
        say_bytes(p, record, length);
    if (result > 0 && mac && EVP_CIPHER_CTX_get_params(p->context, params) > 0) {
        say(p, "  MAC of %zu%s\n", params[0].return_size, found ? "" : " missing");
        if (found && good)
            say_bytes(p, found, mac);
    }
    ERR_clear_error();
}

static void tls_records(struct play *p, int version)
{
    static const size_t macs[] = {0, 20, 32, 48}, lengths[] = {1, 100, 1000, 16384};
    static unsigned char record[16384 + 512], again[16384 + 512];
    size_t m, l, head = version >= 0x302 ? 16 : 0, length, padded;

    for (m = 0; m < sizeof macs / sizeof macs[0]; m++)
        for (l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            /* libssl pads itself no more: the provider does, to a whole block */
            length = head + lengths[l] + macs[m];
            padded = (length + 16) & ~(size_t)15;
            memset(record, 0, sizeof record);
            memcpy(record, input, length);
            tls_setup(p, 1, version, 0);
            tls_record(p, record, length, 0, 1);
            memcpy(again, record, padded);
            tls_setup(p, 0, version, macs[m]);
            tls_record(p, again, padded, macs[m], 1);
            memcpy(again, record, padded);
            /* This spoils the padding length, in the last block. */
            again[padded > 16 ? padded - 17 : 15] ^= 0x80;
            tls_record(p, again, padded, macs[m], 0);
            tls_record(p, again, padded - 1, macs[m], 0);
            tls_record(p, again, 16, macs[m], 0);
        }
}

static void tls_1_0_records(struct play *p)
{
    tls_records(p, 0x301);
}

static void tls_1_2_records(struct play *p)
{
    tls_records(p, 0x303);
}

static void dtls_1_2_records(struct play *p)
{
    tls_records(p, 0xfefd);
}

static void ssl_3_records(struct play *p)
{
    tls_records(p, 0x300);
}

/* Bulk first, then a record, a copy of the context, and bulk again. */
static void tls_parameters_in_mid_stream(struct play *p)
{
    int version = 0x303, none = 0;
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    unsigned char record[80];

    init(p, p->cipher, key, iv, 1);
    update(p, 4096);
    set(p, OSSL_CIPHER_PARAM_TLS_VERSION, OSSL_PARAM_INTEGER, &version, sizeof version);
    memcpy(record, input, sizeof record);
    tls_record(p, record, 64, 0, 1);
    say_result(p, "copy", EVP_CIPHER_CTX_copy(copy, p->context));
    EVP_CIPHER_CTX_free(p->context);
    p->context = copy;
    tls_record(p, record, 64, 0, 1);
    update(p, 4096);
    set(p, OSSL_CIPHER_PARAM_TLS_VERSION, OSSL_PARAM_INTEGER, &none, sizeof none);
    update(p, 4096);
    init(p, NULL, key, iv, 1);
    update(p, 4096);
    set(p, OSSL_CIPHER_PARAM_TLS_VERSION, OSSL_PARAM_UTF8_STRING, "3", 1);
    set(p, OSSL_CIPHER_PARAM_TLS_MAC_SIZE, OSSL_PARAM_UTF8_STRING, "3", 1);
}

/* ---- Scripts ------------------------------------------------------------- */

/* A message of GCM that goes on and ends in a copy, where the default provider has copies. */
static void end_copy(struct play *p)
{
    EVP_CIPHER_CTX *original = p->context;
    p->context = EVP_CIPHER_CTX_new();
    say(p, "copy: %d\n", EVP_CIPHER_CTX_copy(p->context, original));
    ERR_clear_error();
    update(p, 77);
    final(p);
    control(p, "tag", EVP_CTRL_AEAD_GET_TAG, 16);
    EVP_CIPHER_CTX_free(p->context);
    p->context = original;
}

/*
 * Which ciphers: all, all but GCM, or GCM alone. Where text is given without a key, the default
 * provider of OpenSSL 3.0.2 reads a null pointer, and that of 3.0.13 refuses.
 */
enum modes { ANY, NO_GCM, NO_GCM_NO_KEY, GCM_ALONE };

static int is_taken(enum modes modes, const struct cipher_row *row)
{
    if (modes == NO_GCM_NO_KEY && OpenSSL_version_num() < 0x300000d0L)
        return 0;
    return modes == ANY || (row->mode == GCM) == (modes == GCM_ALONE);
}

#define IV_OF(n)                                                                                   \
    "; iv-length " n "; get; init iv; update 100; get; final; tag 16; init iv; update 5000; get;"  \
    "final; tag 16"

/*
 * Calls one after the other, both ways. `init` has the words cipher, key, other-key and iv for what
 * it gives, and turned or same for a direction that is not the script's, or none; `get` asks for
 * all parameters. Of GCM, a random IV is made where none is given, and our ciphers refuse text
 * where the default provider's take a key alone in mid-message.
 */
static const struct script {
    enum modes modes;
    const char *name, *calls;
} scripts[] = {
    {ANY, "parameters_in_every_state",
     "init cipher; get; init key; get; init iv; get; update 1024; get; update 5; get;"
     "update 4096; get; final; get"},
    {ANY, "padding_by_evp_calls",
     "no-padding; init cipher key iv; update 33; final; reset; padding 0;"
     "init cipher key iv; padding 1; update 4096; padding 0; update 64; update 16; final"},
    {ANY, "initialisation_in_parts",
     "init cipher; init key; init iv; update 2048; update 7; direction; final; reset;"
     "init cipher; init iv; init key; update 2048; update 7; direction; final; reset;"
     "init cipher; init key same; init iv same; update 2048; update 7; direction; final"},
    {NO_GCM_NO_KEY, "initialisation_again",
     "init cipher key iv; update 2053; init; get; update 1027; init other-key; get;"
     "update 1027; init iv; update 1027; init cipher same; get; update 1024;"
     "init cipher key same; update 1024; final"},
    /* Nobody means to, but the default takes it: the key schedule is kept. */
    {ANY, "direction_turned_without_a_key",
     "init cipher key iv; update 2048; init turned; padding 0; update 2048; init iv;"
     "update 2048; final"},
    {NO_GCM_NO_KEY, "a_context_without_a_key",
     "update 16; final; init cipher; update 5; update 64; one-shot 64; final;"
     "init cipher iv turned; update 64; update 0; one-shot 0; final; reset;"
     "init cipher key; update 64; one-shot 64; final"},
    {ANY, "use_after_final",
     "init cipher key iv; padding 0; update 1024; final; final; update 512; one-shot 256; final;"
     "init; update 512; final; reset; init cipher key iv; padding 1; update 1024; final; final;"
     "update 512; one-shot 256; final; init; update 512; final"},
    {GCM_ALONE, "additional_data_after_text",
     "init cipher key iv; aad 3; update 5000; aad 20; update 100; final; tag 16"},
    {GCM_ALONE, "text_after_the_end",
     "init cipher key iv; update 5000; final; tag 16; update 5000; update 5; final; tag 16;"
     "init iv; aad 20; update 7000; final; tag 16"},
    {GCM_ALONE, "bad_lengths",
     "init cipher key iv; set-tag 0; set-tag 17; iv-length 0; iv-length 129; iv-length 1000;"
     "update 5000; final; set-tag 12; final; tag 17; tag 1; tag 16"},
    {GCM_ALONE, "nothing_new_in_mid_message",
     "init cipher key iv; update 5000; init; update 50; final; tag 16"},
    {GCM_ALONE, "another_length_of_the_iv_in_mid_message",
     "init cipher key iv; update 5000; iv-length 16; update 50; final; tag 16"},
    {GCM_ALONE, "the_same_length_of_the_iv_in_mid_message",
     "init cipher key iv; update 5000; iv-length 12; update 50; final; tag 16"},
    {GCM_ALONE, "lengths_of_ivs",
     "init cipher key iv" IV_OF("12") IV_OF("16") IV_OF("12") IV_OF("12") IV_OF("1") IV_OF("60")
         IV_OF("60") IV_OF("12")},
    {GCM_ALONE, "tags_before_the_end",
     "init cipher key iv; aad 5; update 5000; tag 16; final; tag 16; init iv; aad 5; tag 16;"
     "update 5000; tag 16; final; tag 16"},
    {GCM_ALONE, "a_copy",
     "init cipher key iv; aad 7; update 5000; end-copy; update 33; end-copy; final; tag 16"},
    {GCM_ALONE, "a_key_after_the_iv_was_used",
     "init cipher key iv; aad-at-once 0; init other-key; update 5000; final; tag 16"},
    {GCM_ALONE, "key_and_iv_in_mid_message",
     "init cipher key iv; update 5000; init other-key iv; aad 3; update 6000; final; tag 16"},
};
enum { SCRIPTS = sizeof scripts / sizeof scripts[0] };

static void play_init(struct play *p, const char *words, int encrypt)
{
    init(p, strstr(words, " cipher") ? p->cipher : NULL,
         strstr(words, " other-key") ? key + 1
         : strstr(words, " key")     ? key
                                     : NULL,
         strstr(words, " iv") ? iv : NULL,
         strstr(words, " same")     ? -1
         : strstr(words, " turned") ? !encrypt
                                    : encrypt);
}

static void play_call(struct play *p, const char *call, int encrypt)
{
    char verb[16] = "";
    unsigned n = 0;
    (void)sscanf(call, "%15s %u", verb, &n);
    if (!strcmp(verb, "init"))
        play_init(p, call, encrypt);
    else if (!strcmp(verb, "update"))
        update(p, n);
    else if (!strcmp(verb, "one-shot"))
        one_shot(p, n);
    else if (!strcmp(verb, "final"))
        final(p);
    else if (!strcmp(verb, "aad") || !strcmp(verb, "aad-at-once"))
        additional_data(p, n, verb[3] == '-');
    else if (!strcmp(verb, "iv-length"))
        control(p, verb, EVP_CTRL_AEAD_SET_IVLEN, n);
    else if (!strcmp(verb, "set-tag"))
        control(p, verb, EVP_CTRL_AEAD_SET_TAG, n);
    else if (!strcmp(verb, "tag"))
        control(p, verb, EVP_CTRL_AEAD_GET_TAG, n);
    else if (!strcmp(verb, "end-copy"))
        end_copy(p);
    else if (!strcmp(verb, "get"))
        get_all(p);
    else if (!strcmp(verb, "reset"))
        EVP_CIPHER_CTX_reset(p->context);
    else if (!strcmp(verb, "no-padding"))
        EVP_CIPHER_CTX_set_flags(p->context, EVP_CIPH_NO_PADDING);
    else if (!strcmp(verb, "padding"))
        say_result(p, "set_padding", EVP_CIPHER_CTX_set_padding(p->context, (int)n));
    else if (!strcmp(verb, "direction"))
        say(p, "encrypting: %d\n", EVP_CIPHER_CTX_is_encrypting(p->context));
    else
        abort();
}

static void play_script(struct play *p, const char *script)
{
    char text[2048], *rest, *call;
    for (int encrypt = 1; encrypt >= 0; encrypt--) {
        EVP_CIPHER_CTX_reset(p->context);
        snprintf(text, sizeof text, "%s", script);
        for (rest = text; (call = strsep(&rest, ";")) != NULL;)
            play_call(p, call + strspn(call, " "), encrypt);
    }
}

/* ---- The play ------------------------------------------------------------ */

#define SCENARIO(name, modes)                                                                      \
    {                                                                                              \
#name, name, modes                                                                         \
    }
static const struct {
    const char *name;
    void (*play)(struct play *p);
    enum modes modes;
} scenarios[] = {
    SCENARIO(the_lists_of_parameters, ANY),
    SCENARIO(parameters_of_the_cipher, ANY),
    SCENARIO(parameters_in_wrong_types_and_sizes, ANY),
    SCENARIO(padding_set, ANY),
    SCENARIO(num_set, ANY),
    SCENARIO(key_lengths, ANY),
    SCENARIO(parameters_with_the_initialisation, ANY),
    SCENARIO(initialisation_half_refused, NO_GCM),
    SCENARIO(null_buffers_and_no_bytes, ANY),
    SCENARIO(wrong_lengths_and_paddings, ANY),
    SCENARIO(the_other_evp_calls, ANY),
    SCENARIO(ssl_3_records, ANY),
    SCENARIO(tls_1_0_records, ANY),
    SCENARIO(tls_1_2_records, ANY),
    SCENARIO(dtls_1_2_records, ANY),
    SCENARIO(tls_parameters_in_mid_stream, ANY),
};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* The first lines that differ, one above the other. */
static void show_difference(const char *ours, const char *reference)
{
    size_t line = 1;

    while (*ours && *reference) {
        size_t n = strcspn(ours, "\n"), m = strcspn(reference, "\n");

        if (n != m || memcmp(ours, reference, n))
            break;
        ours += n + (ours[n] == '\n');
        reference += m + (reference[m] == '\n');
        line++;
    }
    tap_diag("line %zu, ours:      %.*s", line, (int)strcspn(ours, "\n"), ours);
    tap_diag("line %zu, default's: %.*s", line, (int)strcspn(reference, "\n"), reference);
}

static void play(struct play *p, size_t number)
{
    memset(p->text, 0, sizeof p->text);
    p->length = 0;
    p->context = EVP_CIPHER_CTX_new();
    ERR_clear_error();
    if (number < SCRIPTS)
        play_script(p, scripts[number].calls);
    else
        scenarios[number - SCRIPTS].play(p);
    ERR_clear_error();
    EVP_CIPHER_CTX_free(p->context);
}

static void check_cipher(const struct cipher_row *row)
{
    static struct play ours, reference;
    EVP_CIPHER *cipher = fetch_ours(&test_providers, row->name),
               *standard = fetch_reference(&test_providers, row->name);
    ours.row = reference.row = row;
    ours.cipher = cipher;
    ours.reference = reference.cipher = reference.reference = standard;
    for (size_t i = 0; i < SCRIPTS + SCENARIOS; i++) {
        if (!is_taken(i < SCRIPTS ? scripts[i].modes : scenarios[i - SCRIPTS].modes, row))
            continue;
        play(&ours, i);
        play(&reference, i);
        if (!tap_ok(reference.length > 60 && !strcmp(ours.text, reference.text),
                    "%s: %s, %zu characters", row->name,
                    i < SCRIPTS ? scripts[i].name : scenarios[i - SCRIPTS].name, reference.length))
            show_difference(ours.text, reference.text);
    }
    EVP_CIPHER_free(cipher);
    EVP_CIPHER_free(standard);
}

/* ---- The provider's own ------------------------------------------------------------------ */

/* In any type and size: what is refused or does not fit writes no byte beyond the size. */
static int provider_parameters_keep_to_their_size(void)
{
    static const unsigned types[] = {OSSL_PARAM_UNSIGNED_INTEGER, OSSL_PARAM_INTEGER,
                                     OSSL_PARAM_UTF8_STRING, OSSL_PARAM_OCTET_STRING,
                                     OSSL_PARAM_REAL};
    const OSSL_PARAM *list = OSSL_PROVIDER_gettable_params(test_providers.gpuaes);
    int right = list != NULL && list->key != NULL;
    for (; right && list->key != NULL; list++)
        for (size_t i = 0; i < sizeof types / sizeof types[0] * 33; i++) {
            unsigned char value[40], untouched[40];
            OSSL_PARAM params[] = {{list->key, types[i / 33], value, i % 33, 0}, OSSL_PARAM_END};
            memset(value, 0xee, sizeof value);
            memset(untouched, 0xee, sizeof untouched);
            (void)OSSL_PROVIDER_get_params(test_providers.gpuaes, params);
            right &= memcmp(value + i % 33, untouched, sizeof value - i % 33) == 0;
        }
    ERR_clear_error();
    return right;
}

/* Initialisations with an IV alone take a short way: the device does what comes after them. */
static int long_after_short(const char *name, int encrypt)
{
    unsigned char text[4096] = {0};
    EVP_CIPHER *cipher = fetch_ours(&test_providers, name);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n, right = EVP_CipherInit_ex2(c, cipher, key, iv, encrypt, NULL);
    right = right && EVP_CIPHER_CTX_set_padding(c, 0);
    for (int i = 0; i < 100 && right; i++)
        right = EVP_CipherInit_ex2(c, NULL, NULL, iv, encrypt, NULL) &&
                EVP_CipherUpdate(c, text, &n, text, 48) && EVP_CipherFinal_ex(c, text, &n);
    const uint64_t before = figure("gpu-bytes");
    right = right && EVP_CipherInit_ex2(c, NULL, NULL, iv, encrypt, NULL) &&
            EVP_CipherUpdate(c, text, &n, text, sizeof text) && EVP_CipherFinal_ex(c, text, &n) &&
            figure("gpu-bytes") - before == sizeof text;
    if (!right)
        tap_diag("%s: %llu bytes", name, (unsigned long long)(figure("gpu-bytes") - before));
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
    return right;
}

int main(void)
{
    static const char *const min_bytes[] = {"0", "1000"};
    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (unsigned char)(i * 131 + (i >> 8) * 17);
    for (size_t i = 0; i < sizeof min_bytes / sizeof min_bytes[0]; i++) {
        setenv("GPUAES_MIN_BYTES", min_bytes[i], 1);
        test_providers = providers_load();
        for (size_t row = 0; row < ALL_ROWS; row++)
            check_cipher(&cipher_rows[row]);
        if (!stand_in()) {
            tap_ok(figure("gpu-bytes") > 1000000, "min-bytes=%s: a device did its part",
                   min_bytes[i]);
            tap_ok(long_after_short("AES-256-CTR", 1) && long_after_short("AES-256-ECB", 0) &&
                       long_after_short("AES-256-CBC", 0),
                   "min-bytes=%s: a long message after short ones", min_bytes[i]);
            tap_ok(provider_parameters_keep_to_their_size(), "the provider's own parameters");
        }
        providers_unload(&test_providers);
    }
    return tap_done();
}
