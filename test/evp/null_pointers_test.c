/*
 * Dispatch functions of ciphers, called as a libcrypto may call them: with NULL for each pointer
 * that the default provider takes NULL for, in each state of a message. Ours do the same. Which
 * those are, a child finds out, as some end it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/core_dispatch.h>
#include <sys/resource.h>

#include "test/support/cases.h"

enum { BYTES = 4096, ROOM = BYTES + 64, KEY = 32, IV = 16, IV_OF_GCM = 12, CRASHED = -9 };
enum { OURS, THEIRS, SIDES };

static const char *const names[] = {"AES-128-ECB", "AES-128-CBC", "AES-128-CTR", "AES-128-GCM",
                                    "AES-128-XTS"};

static struct {
    OSSL_FUNC_cipher_newctx_fn *newctx;
    OSSL_FUNC_cipher_freectx_fn *freectx;
    OSSL_FUNC_cipher_encrypt_init_fn *init[2]; /* decryption, encryption */
    OSSL_FUNC_cipher_update_fn *update;
    OSSL_FUNC_cipher_final_fn *final;
    OSSL_FUNC_cipher_cipher_fn *cipher;
    OSSL_FUNC_cipher_get_params_fn *get_params;
    OSSL_FUNC_cipher_get_ctx_params_fn *get_ctx_params;
    OSSL_FUNC_cipher_set_ctx_params_fn *set_ctx_params;
    OSSL_FUNC_cipher_gettable_ctx_params_fn *gettable_ctx_params;
    OSSL_FUNC_cipher_settable_ctx_params_fn *settable_ctx_params;
} f[SIDES];

static void *providers[SIDES];
static unsigned char key[KEY] = "some key, and the tweak's", iv[IV] = "an IV", in[BYTES];
static unsigned char out[ROOM];
static size_t key_bytes, iv_bytes;

static int find(int side, const char *name)
{
    const struct wanted_function wanted[] = {
        {OSSL_FUNC_CIPHER_NEWCTX, &f[side].newctx},
        {OSSL_FUNC_CIPHER_FREECTX, &f[side].freectx},
        {OSSL_FUNC_CIPHER_DECRYPT_INIT, &f[side].init[0]},
        {OSSL_FUNC_CIPHER_ENCRYPT_INIT, &f[side].init[1]},
        {OSSL_FUNC_CIPHER_UPDATE, &f[side].update},
        {OSSL_FUNC_CIPHER_FINAL, &f[side].final},
        {OSSL_FUNC_CIPHER_CIPHER, &f[side].cipher},
        {OSSL_FUNC_CIPHER_GET_PARAMS, &f[side].get_params},
        {OSSL_FUNC_CIPHER_GET_CTX_PARAMS, &f[side].get_ctx_params},
        {OSSL_FUNC_CIPHER_SET_CTX_PARAMS, &f[side].set_ctx_params},
        {OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, &f[side].gettable_ctx_params},
        {OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, &f[side].settable_ctx_params},
        {0, NULL}};
    OSSL_PROVIDER *provider =
        side == THEIRS || stand_in() ? test_providers.reference_default : test_providers.gpuaes;
    providers[side] = OSSL_PROVIDER_get0_provider_ctx(provider);
    return functions_find(provider, OSSL_OP_CIPHER, name, wanted);
}

/* New; with a key; with an IV; after text of which there is more to come; after the end. */
enum { NEW, KEYED, BEGUN, GOING, ENDED, STATES };

static void *enter(int side, int state, int encrypts)
{
    size_t n;
    void *c = f[side].newctx(providers[side]);
    if (state >= KEYED)
        (void)f[side].init[encrypts](c, key, key_bytes, NULL, 0, NULL);
    if (state >= BEGUN && iv_bytes != 0)
        (void)f[side].init[encrypts](c, NULL, 0, iv, iv_bytes, NULL);
    if (state >= GOING)
        (void)f[side].update(c, out, &n, ROOM, in, BYTES);
    if (state >= ENDED)
        (void)f[side].final(c, out, &n, ROOM);
    return c;
}

enum { NEW_KEY = 3, CALLS = 20 };

/* The calls: each without some pointer. */
static int call(int number, int side, void *c, int encrypts)
{
    size_t n = 0;
    switch (number) {
    case 0:
        return f[side].get_ctx_params(c, NULL);
    case 1:
        return f[side].set_ctx_params(c, NULL);
    case 2:
        return f[side].init[encrypts](c, NULL, 0, NULL, 0, NULL);
    case NEW_KEY:
        return f[side].init[encrypts](c, key, key_bytes, NULL, 0, NULL);
    case 4:
        return f[side].init[encrypts](c, NULL, 0, iv, iv_bytes, NULL);
    case 5:
        return f[side].update(c, NULL, &n, 0, NULL, 0);
    case 6:
        return f[side].update(c, out, &n, ROOM, NULL, 0);
    case 7:
        return f[side].update(c, NULL, &n, 0, in, 0);
    case 8:
        return f[side].update(c, NULL, &n, 0, in, BYTES);
    case 9:
        return f[side].cipher(c, NULL, &n, 0, NULL, 0);
    case 10:
        return f[side].cipher(c, out, &n, ROOM, NULL, 0);
    case 11:
        return f[side].cipher(c, NULL, &n, 0, in, 0);
    case 12:
        return f[side].final(c, NULL, &n, 0);
    case 13:
        return f[side].final(c, out, NULL, ROOM);
    case 14:
        return f[side].update(c, out, NULL, ROOM, in, 32);
    case 15:
        return f[side].update(c, out, &n, ROOM, NULL, 32);
    case 16:
        return f[side].get_params(NULL);
    case 17:
        return f[side].gettable_ctx_params(NULL, providers[side]) != NULL;
    case 18:
        return f[side].settable_ctx_params(NULL, providers[side]) != NULL;
    default:
        f[side].freectx(NULL);
        return 1;
    }
}

/* The call, and the next text as well. Without a key, that of 3.5 may take text for all that. */
static int run(int number, int side, int state, int encrypts)
{
    size_t n;
    void *c = enter(side, state, encrypts);
    int result = call(number, side, c, encrypts);
    if (state != NEW || number == NEW_KEY)
        result = 2 * result + f[side].update(c, out, &n, ROOM, in, 32);
    f[side].freectx(c);
    ERR_clear_error();
    return result;
}

/* What the default provider's does, or CRASHED. */
static int theirs(int number, int state, int encrypts)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        for (int signal = 1; signal < 32; signal++)
            (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        _exit(run(number, THEIRS, state, encrypts));
    }
    int ended = waitpid(child, &status, 0) == child && WIFEXITED(status);
    return ended && WEXITSTATUS(status) <= 3 ? WEXITSTATUS(status) : CRASHED;
}

/*
 * With a new key and no IV in mid-message, the default provider's GCM encrypts under an IV that is
 * nobody's. Ours refuses text then.
 */
static int is_left_out(int number, int state)
{
    return number == NEW_KEY && iv_bytes == IV_OF_GCM && state >= GOING;
}

/* How often ours agrees; -1 if it does not. */
static int agreed(int state, int encrypts)
{
    int taken = 0;
    for (int number = 0; number < CALLS; number++) {
        if (is_left_out(number, state))
            continue;
        int expected = theirs(number, state, encrypts);
        if (expected == CRASHED)
            continue;
        int got = run(number, OURS, state, encrypts);
        if (got != expected) {
            tap_diag("call %d: %d instead of %d", number, got, expected);
            return -1;
        }
        taken++;
    }
    return taken;
}

int main(void)
{
    static const char *const states[] = {"new", "with a key", "begun", "after text", "ended"};
    if (sanitized())
        return tap_skip_all("a sanitizer ends the children that find out");
    setenv("GPUAES_MIN_BYTES", "1000", 1);
    setenv("GPUAES_POLICY", "gpu", 1);
    test_providers = providers_load();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int ready = find(OURS, names[i]) && find(THEIRS, names[i]);
        tap_ok(ready, "%s has all functions", names[i]);
        key_bytes = strstr(names[i], "XTS") != NULL ? KEY : KEY / 2;
        iv_bytes = strstr(names[i], "ECB") != NULL   ? 0
                   : strstr(names[i], "GCM") != NULL ? IV_OF_GCM
                                                     : IV;
        for (int state = 0; ready && state < STATES; state++)
            for (int encrypts = 0; encrypts < 2; encrypts++) {
                int calls = agreed(state, encrypts);
                tap_ok(calls >= 8, "%s, %s, %s: %d calls", names[i], states[state],
                       encrypts ? "encryption" : "decryption", calls);
            }
    }
    if (stand_in())
        tap_skip("the default provider stands in: it has no figures");
    else
        tap_ok(figure("gpu-bytes") > 0, "a device did some of the text");
    providers_unload(&test_providers);
    return tap_done();
}
