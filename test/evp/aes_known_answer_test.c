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

#include "test/support/known_answers.h"

/* ---- Vectors -------------------------------------------------------------- */

#define KEY_128 "2b7e151628aed2a6abf7158809cf4f3c"
#define KEY_192 "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"
#define KEY_256 "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
#define CBC_IV "000102030405060708090a0b0c0d0e0f"
#define COUNTER "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
#define FOUR_BLOCKS                                                                                \
    "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"                             \
    "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
#define FIPS_KEY "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define FIPS_PLAIN "00112233445566778899aabbccddeeff"

static const struct vector {
    const char *source, *cipher, *key, *iv, *plain, *coded;
} vectors[] = {
    {"FIPS 197 B", "AES-128-ECB", KEY_128, NULL, "3243f6a8885a308d313198a2e0370734",
     "3925841d02dc09fbdc118597196a0b32"},
    {"FIPS 197 C.1", "AES-128-ECB", FIPS_KEY, NULL, FIPS_PLAIN, "69c4e0d86a7b0430d8cdb78070b4c55a"},
    {"FIPS 197 C.2", "AES-192-ECB", FIPS_KEY, NULL, FIPS_PLAIN, "dda97ca4864cdfe06eaf70a0ec0d7191"},
    {"FIPS 197 C.3", "AES-256-ECB", FIPS_KEY, NULL, FIPS_PLAIN, "8ea2b7ca516745bfeafc49904b496089"},
    {"SP 800-38A F.1.1", "AES-128-ECB", KEY_128, NULL, FOUR_BLOCKS,
     "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf"
     "43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4"},
    {"SP 800-38A F.1.3", "AES-192-ECB", KEY_192, NULL, FOUR_BLOCKS,
     "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef"
     "ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e"},
    {"SP 800-38A F.1.5", "AES-256-ECB", KEY_256, NULL, FOUR_BLOCKS,
     "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870"
     "b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7"},
    {"SP 800-38A F.2.1", "AES-128-CBC", KEY_128, CBC_IV, FOUR_BLOCKS,
     "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
     "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7"},
    {"SP 800-38A F.2.3", "AES-192-CBC", KEY_192, CBC_IV, FOUR_BLOCKS,
     "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a"
     "571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd"},
    {"SP 800-38A F.2.5", "AES-256-CBC", KEY_256, CBC_IV, FOUR_BLOCKS,
     "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
     "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b"},
    {"SP 800-38A F.5.1", "AES-128-CTR", KEY_128, COUNTER, FOUR_BLOCKS,
     "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff"
     "5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee"},
    {"SP 800-38A F.5.3", "AES-192-CTR", KEY_192, COUNTER, FOUR_BLOCKS,
     "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94"
     "1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050"},
    {"SP 800-38A F.5.5", "AES-256-CTR", KEY_256, COUNTER, FOUR_BLOCKS,
     "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
     "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6"},
};

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
    struct figures after = figures_get(&test_providers);
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
    before = figures_get(&test_providers);
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
    test_providers = providers_load();
    for (i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        EVP_CIPHER *cipher = fetch_ours(&test_providers, vectors[i].cipher);

        if (!tap_ok(is_ours(cipher), "%s is ours", vectors[i].cipher))
            continue;
        check_direction(&vectors[i], cipher, 1);
        check_direction(&vectors[i], cipher, 0);
        EVP_CIPHER_free(cipher);
    }
    for (i = 0; i < CIPHER_ROWS; i++)
        check_names(cipher_rows[i].name, cipher_rows[i].oid, cipher_rows[i].key_bytes);
    check_implicit_fetch();
    providers_unload(&test_providers);
    return tap_done();
}
