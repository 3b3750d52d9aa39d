/*
 * The published vectors through every cipher, both ways, on the device: with
 * min-bytes=0 whole blocks go through a kernel however few they are, and the
 * provider's own figures say so. CBC encryption of one message is serial and
 * stays on the CPU, which the figures say too.
 *
 * Then the names: whatever fetches a cipher of the default provider fetches
 * ours, by name, alias or object identifier, and through EVP_aes_256_ctr().
 *
 * FIPS 197 appendices B and C; NIST SP 800-38A F.1, F.2 and F.5.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/objects.h>

#include "test/support/providers.h"
#include "test/support/vectors.h"

/* Whether one run in updates of `piece` bytes gives `want`; counts what EVP wrote. */
static int run(const EVP_CIPHER *cipher, int encrypt, const struct vector *v,
               const unsigned char *in, const unsigned char *want, size_t length, size_t piece,
               int in_place)
{
    unsigned char key[64], iv[16], buffer[128], *out = buffer + 32;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    size_t done = 0, written = 0;
    int n = 0, good;

    memset(buffer, 0xa5, sizeof buffer);
    if (in_place) {
        memcpy(out, in, length);
        in = out;
    }
    from_hex(key, v->key);
    from_hex(iv, v->iv);
    good = context && EVP_CipherInit_ex2(context, cipher, key, v->iv ? iv : NULL, encrypt, NULL) &&
           EVP_CIPHER_CTX_set_padding(context, 0);
    for (; good && done < length; done += piece) {
        if (piece > length - done)
            piece = length - done;
        good = EVP_CipherUpdate(context, out + written, &n, in + done, (int)piece);
        written += (size_t)n;
    }
    good = good && EVP_CipherFinal_ex(context, out + written, &n) && n == 0;
    EVP_CIPHER_CTX_free(context); /* which adds its bytes to the figures */
    return good && written == length && !memcmp(out, want, length) && out[-1] == 0xa5 &&
           out[length] == 0xa5;
}

/* The whole blocks were counted where they were to go, and nowhere else. */
static void check_figures(const struct vector *v, const char *direction, int on_cpu, size_t length,
                          const struct figures *before)
{
    struct figures after = figures_get(&providers);
    uint64_t gpu = after.gpu_bytes - before->gpu_bytes, cpu = after.cpu_bytes - before->cpu_bytes;
    uint64_t launches = after.launches - before->launches;

    if (stand_in()) {
        tap_skip("%s %s: the default provider keeps no figures", v->source, direction);
        return;
    }
    if (!tap_ok(on_cpu ? gpu == 0 && cpu == length && launches == 0
                       : gpu == length && cpu == 0 && launches > 0,
                "%s %s %s: %zu bytes %s", v->source, v->cipher, direction, length,
                on_cpu ? "on the CPU, serial" : "through a kernel"))
        tap_diag("gpu-bytes=%llu cpu-bytes=%llu launches=%llu", (unsigned long long)gpu,
                 (unsigned long long)cpu, (unsigned long long)launches);
    tap_ok(after.faults == 0, "%s %s %s: no fault", v->source, v->cipher, direction);
}

static void check_direction(const struct vector *v, const EVP_CIPHER *cipher, int encrypt)
{
    const char *direction = encrypt ? "encrypt" : "decrypt";
    unsigned char plain[64], coded[64], *in = encrypt ? plain : coded,
                                        *want = encrypt ? coded : plain;
    size_t length = from_hex(plain, v->plain), piece;
    struct figures before;
    int good = 1;

    from_hex(coded, v->coded);
    before = figures_get(&providers);
    tap_ok(run(cipher, encrypt, v, in, want, length, length, 0), "%s %s %s", v->source, v->cipher,
           direction);
    check_figures(v, direction, encrypt && EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CBC_MODE, length,
                  &before);
    tap_ok(run(cipher, encrypt, v, in, want, length, length, 1), "%s %s %s in place", v->source,
           v->cipher, direction);
    for (piece = 1; piece < length; piece++)
        good &= run(cipher, encrypt, v, in, want, length, piece, 0);
    tap_ok(good, "%s %s %s in updates of 1 to %zu bytes", v->source, v->cipher, direction,
           length - 1);
}

/* ---- Names --------------------------------------------------------------- */

static int is_ours(const EVP_CIPHER *cipher)
{
    return cipher && !strcmp(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(cipher)),
                             stand_in() ? "default" : "gpuaes");
}

static void check_name(const char *name, void *argument)
{
    EVP_CIPHER *cipher = fetch_ours(&providers, name);

    tap_ok(is_ours(cipher) && EVP_CIPHER_is_a(cipher, (const char *)argument),
           "\"%s\" fetches our %s", name, (const char *)argument);
    EVP_CIPHER_free(cipher);
}

static void check_names(const struct cipher_row *row)
{
    EVP_CIPHER *reference = fetch_reference(&providers, row->name);
    EVP_CIPHER *ours = fetch_ours(&providers, row->name);

    EVP_CIPHER_names_do_all(reference, check_name, (void *)(uintptr_t)row->name);
    if (row->oid)
        check_name(row->oid, (void *)(uintptr_t)row->name);
    tap_ok(ours && EVP_CIPHER_get_nid(ours) == EVP_CIPHER_get_nid(reference) &&
               EVP_CIPHER_get_flags(ours) == EVP_CIPHER_get_flags(reference) &&
               EVP_CIPHER_get_mode(ours) == EVP_CIPHER_get_mode(reference) &&
               EVP_CIPHER_get_block_size(ours) == EVP_CIPHER_get_block_size(reference) &&
               EVP_CIPHER_get_key_length(ours) == (int)row->key_bytes &&
               EVP_CIPHER_get_iv_length(ours) == EVP_CIPHER_get_iv_length(reference),
           "%s has the nid, flags, mode and lengths of the default's", row->name);
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(reference);
}

/* An old program, which never heard of providers: EVP_aes_256_ctr() and no fetch. */
static void check_implicit_fetch(void)
{
    unsigned char key[32] = {0}, iv[16] = {0};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    OSSL_PROVIDER *gpuaes = stand_in() ? NULL : OSSL_PROVIDER_load(NULL, "gpuaes");
    OSSL_PROVIDER *base = OSSL_PROVIDER_load(NULL, "default");

    tap_ok(EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), NULL, key, iv) &&
               is_ours(EVP_CIPHER_CTX_get0_cipher(context)),
           "EVP_aes_256_ctr() is ours where gpuaes was loaded first");
    EVP_CIPHER_CTX_reset(context);
    EVP_set_default_properties(NULL, "provider=default");
    tap_ok(EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), NULL, key, iv) &&
               !strcmp("default", OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(
                                      EVP_CIPHER_CTX_get0_cipher(context)))),
           "and the default's where the default properties ask for that");
    EVP_CIPHER_CTX_reset(context);
    EVP_set_default_properties(NULL, "?provider=gpuaes");
    tap_ok(EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), NULL, key, iv) &&
               is_ours(EVP_CIPHER_CTX_get0_cipher(context)),
           "and ours again with \"?provider=gpuaes\"");
    EVP_CIPHER_CTX_free(context);
    OSSL_PROVIDER_unload(gpuaes);
    OSSL_PROVIDER_unload(base);
}

int main(void)
{
    size_t i;

    setenv("GPUAES_MIN_BYTES", "0", 1);
    providers = providers_load();
    for (i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        EVP_CIPHER *cipher = fetch_ours(&providers, vectors[i].cipher);

        if (!tap_ok(is_ours(cipher), "%s is ours", vectors[i].cipher))
            continue;
        check_direction(&vectors[i], cipher, 1);
        check_direction(&vectors[i], cipher, 0);
        EVP_CIPHER_free(cipher);
    }
    for (i = 0; i < CIPHER_ROWS; i++)
        check_names(&cipher_rows[i]);
    check_implicit_fetch();
    providers_unload(&providers);
    return tap_done();
}
