/*
 * `gpuaes doctor`: what is wrong here, and what to do about it, in sentences.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cuda/gpuaes.h"
#include "configuration.h"
#include "describe.h"
#include "rates.h"
#include "tool.h"

enum { PROBE = 1 << 20 };

/* ---- The parts ---------------------------------------------------------------------------- */

static int examine_module(const struct library *library)
{
    if (library->gpuaes != NULL) {
        (void)printf("The provider gpuaes %s is installed and loads.\n", PACKAGE_VERSION);
        return 1;
    }
    const char *folder = getenv("OPENSSL_MODULES");
    (void)printf("The provider cannot be loaded: %s.\n  Put gpuaes.so into %s, or set "
                 "OPENSSL_MODULES to the folder where it is.\n",
                 library->why_not, folder != NULL ? folder : MODULES_FOLDER);
    return 0;
}

static const char *advice(void)
{
    struct stat file;
    if (stat("/dev/nvidiactl", &file) != 0)
        return "There is no /dev/nvidiactl: either there is no NVIDIA GPU, or its driver is not "
               "installed, or this is a container that was not given the GPU.";
    if (!S_ISCHR(file.st_mode))
        return "/dev/nvidiactl is not a character device: the driver did not make it.";
    if (access("/dev/nvidiactl", R_OK | W_OK) != 0)
        return "This user may not open /dev/nvidiactl.";
    return "\"nvidia-smi\" says whether the driver works; provider-gpuaes(7) lists what else "
           "can be in the way.";
}

static int examine_device(struct library *library)
{
    const char *why_not;
    char text[DESCRIBE_TEXT];
    struct gpuaes_device_info device;
    if (!rates_wait_for_device(library, &why_not)) {
        (void)printf("No GPU can be used: %s.\n  %s\n  All work is done by the CPU.\n", why_not,
                     advice());
        return 0;
    }
    for (unsigned n = 0; gpuaes_device(n, &device); n++) {
        describe_device(&device, text);
        (void)printf("GPU %d can be used: %s.\n", device.ordinal, text);
    }
    return 1;
}

/* The same bytes by the GPU and by the CPU. */
static int compare(const struct library *library, unsigned char *data, unsigned char *expected)
{
    static const unsigned char key[32] = {1, 2, 3};
    unsigned char iv[16] = {250};
    struct gpuaes_key schedule;
    int n = 0;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(library->context, "AES-256-CTR", "provider=default");
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int ok =
        cipher != NULL && context != NULL && EVP_EncryptInit_ex2(context, cipher, key, iv, NULL) &&
        EVP_EncryptUpdate(context, expected, &n, data, PROBE) &&
        gpuaes_key_expand(&schedule, key, sizeof key) &&
        gpuaes_aes(GPUAES_CTR, &schedule, iv, data, data, PROBE, GPUAES_WAIT, NULL) == GPUAES_OK &&
        memcmp(data, expected, PROBE) == 0;
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return ok;
}

static int examine_result(const struct library *library)
{
    unsigned char *data = calloc(2, PROBE);
    int ok = data != NULL && compare(library, data, data + PROBE);
    free(data);
    if (ok)
        (void)printf("1 MiB that it encrypted is what the CPU makes of it.\n");
    else
        (void)printf("1 MiB that it was given to encrypt did not become what the CPU makes of "
                     "it: do not use this GPU, and please report it.\n");
    return ok;
}

static int examine_gain(struct library *library)
{
    struct rates rates;
    struct rate ordinary, pinned;
    size_t bytes = 32 << 20;
    if (!rates_open(&rates, library, bytes))
        return complain("there is no memory for buffers");
    if (rates_measure(&rates, RATES_CTR, RATES_ORDINARY, bytes, 0.5, &ordinary))
        (void)printf("AES-256-CTR of 32 MiB: %.1f GB/s with gpuaes, %.1f GB/s without, in ordinary "
                     "memory.\n",
                     ordinary.ours, ordinary.theirs);
    if (rates_measure(&rates, RATES_CTR, RATES_PINNED, bytes, 0.5, &pinned))
        (void)printf("  In pinned memory: %.1f GB/s with gpuaes.\n", pinned.ours);
    rates_close(&rates);
    return 1;
}

static int examine_configuration(void)
{
    struct configuration c;
    configuration_examine(&c);
    if (c.uses_gpuaes)
        (void)printf("Programs that read %s use gpuaes.\n", c.path);
    else
        (void)printf("Programs that read %s do not use gpuaes: %s.\n  What to change: %s.\n",
                     c.path, c.why_not, c.change);
    if (c.note[0] != '\0')
        (void)printf("  A note: %s.\n", c.note);
    return c.uses_gpuaes;
}

/* ---- The command ---------------------------------------------------------------------------- */

static int run(struct library *library)
{
    int module = examine_module(library);
    int device = examine_device(library);
    int right = !device || examine_result(library);
    if (module && device && right)
        (void)examine_gain(library);
    int configured = examine_configuration();
    int well = module && device && right && configured;
    (void)printf(well ? "All is well.\n" : "Not all is well.\n");
    return well;
}

int doctor_command(int argc, char **argv)
{
    struct library library;
    if (argc > 1) {
        int helps = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-help") == 0;
        (void)fprintf(helps ? stdout : stderr,
                      "usage: gpuaes doctor\n\nSays what is wrong here, and what to do about it. "
                      "Ends with 0 if all is well.\n");
        return helps ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    rates_want_device();
    if (!library_open(&library))
        return EXIT_FAILURE;
    library_load(&library);
    int ok = run(&library);
    library_close(&library);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
