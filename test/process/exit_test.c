/*
 * A process that ends while the device starts, or soon after: by return from
 * main(), by exit() in another thread, by _exit(), by exec. It ends as it would
 * have without us, and at once. Each case is a run of this program of its own.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "test/support/application.h"
#include "test/support/cases.h"
#include "test/support/leaks_allowed.h" /* who ends in the middle of a start frees nothing */
#include "test/support/providers.h"

enum { STATUS = 42, LIMIT_SECONDS = 100, TURNS = 8, STEP_MS = 45 };

static void *leave(void *unused)
{
    (void)unused;
    exit(STATUS);
}

/* start=eager: the first context starts the device. */
static int begin_and_end(const char *how, long ms)
{
    static const unsigned char key[32] = "a key", iv[16] = "";
    unsigned char text[64] = "text", out[80];
    struct providers p = providers_load();
    EVP_CIPHER *cipher = fetch_ours(&p, "AES-256-CTR");
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    pthread_t thread;
    int n;
    if (!EVP_CipherInit_ex2(context, cipher, key, iv, 1, NULL) ||
        !EVP_CipherUpdate(context, out, &n, text, sizeof text))
        return 1;
    if (strcmp(how, "load") == 0)
        while (application_count_of("emulator_calls", "module_load_data") == 0)
            sleep_ms(1);
    sleep_ms(ms);
    if (strcmp(how, "unload") == 0) {
        EVP_CIPHER_CTX_free(context);
        EVP_CIPHER_free(cipher);
        providers_unload(&p);
    } else if (strcmp(how, "_exit") == 0) {
        _exit(STATUS);
    } else if (strcmp(how, "exec") == 0) {
        execl("/bin/sh", "sh", "-c", "exit 42", (char *)NULL);
    } else if (strcmp(how, "thread") == 0) {
        if (pthread_create(&thread, NULL, leave, NULL) == 0)
            pthread_join(thread, NULL);
    }
    return STATUS;
}

/* 1 if the run ended as it wanted to. */
static int ends_well(const char *how, long ms)
{
    const char *emulator = strcmp(how, "load") == 0 ? "ends-at-exit=1,load-ms=200" : NULL;
    int status = exit_status(case_begin("GPUAES_START=eager", emulator, "%s %ld", how, ms));
    if (status != STATUS)
        tap_diag("%s after %ld ms: status %d", how, ms, status);
    return status == STATUS;
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"return", "thread", "_exit", "exec", "unload"};
    if (argc == 3) {
        alarm(LIMIT_SECONDS);
        return begin_and_end(argv[1], strtol(argv[2], NULL, 10));
    }
    setenv("GPUAES_EMULATOR", "init-ms=150", 0);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        int right = 1;
        for (long turn = 0; turn < TURNS; turn++)
            right &= ends_well(ways[i], turn * STEP_MS + (long)i * 7);
        tap_ok(right, "a process can end while the device starts: %s", ways[i]);
    }
    if (application_hook("emulator_calls") != NULL)
        tap_ok(ends_well("load", 0), "an exit waits for kernels that are being loaded");
    else
        tap_skip("this driver does not tell when it loads kernels");
    return tap_done();
}
