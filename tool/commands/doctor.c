/*
 * `gpuaes doctor`: what is wrong here, and what to do about it, in sentences.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/gpuaes.h"
#include "provider/common/settings.h"
#include "tool/commands/commands.h"
#include "tool/common/configuration.h"
#include "tool/common/message.h"
#include "tool/common/options.h"
#include "tool/common/place.h"
#include "tool/common/rates.h"

enum { PROBE = 1 << 20 };

static const char usage[] = "usage: gpuaes doctor\n\n"
                            "Says what is wrong here, and what to do about it. "
                            "Ends with 0 if all is well.\n";

static int examine_module(const struct library *library)
{
    if (library->gpuaes != NULL) {
        (void)printf("The provider gpuaes %s is installed and loads.\n", PACKAGE_VERSION);
        return 1;
    }
    const char *folder = getenv("OPENSSL_MODULES");
    char text[CONFIGURATION_TEXT], path[PATH_MAX];
    unsigned wrong = configuration_environment(text);
    if (wrong != 0) {
        (void)printf("The provider cannot be loaded: %s.\n  Correct %s.\n", text,
                     wrong == 1 ? "that variable, or unset it" : "those variables, or unset them");
        return 0;
    }
    if (folder == NULL)
        folder = place_modules();
    (void)snprintf(path, sizeof path, "%s/gpuaes.so", folder);
    (void)printf("The provider cannot be loaded: %s.\n", library->why_not);
    if (access(path, F_OK) == 0)
        (void)printf("  %s is there: install gpuaes again, built for this system.\n", path);
    else
        (void)printf("  Put gpuaes.so into %s, or set OPENSSL_MODULES to the folder where it is.\n",
                     folder);
    return 0;
}

/* The provider says it on stderr, too, wherever it is loaded. */
static int examine_environment(void)
{
    char sentence[SETTINGS_TEXT];
    int well = 1;
    for (size_t next = 0; settings_unknown_variable(&next, sentence); well = 0)
        (void)printf("%s.\n  Correct that variable, or unset it.\n", sentence);
    return well;
}

/* What to do about a reason of the library, which begins with these words. */
static const struct {
    const char *reason, *advice;
} advices[] = {
    {"gpuaes was built without",
     "Install a package that has kernels, or build gpuaes where configure finds nvcc; quickstart "
     "fetches one."},
    {"the kernels need driver",
     "Install a newer driver, or build gpuaes with the nvcc of an older CUDA."},
    {"loading the kernels",
     "\"gpuaes info\" begins with the architectures that have kernels: build gpuaes for that of "
     "this GPU, or, if it is among them, report this."},
    {"no NVIDIA device files",
     "Either there is no NVIDIA GPU, or its driver is not installed, or this is a container that "
     "was not given the GPU."},
    {"libcuda.so.1 ",
     "Install the driver's library for CUDA (Debian: libcuda1), of a driver that is new enough; a "
     "container gets it with the driver capability \"compute\"."},
    {"no CUDA device",
     "\"nvidia-smi -L\" lists the GPUs that there are; CUDA_VISIBLE_DEVICES may hide them."},
    {"none of the devices",
     "GPUAES_DEVICES, or devices in the configuration, names the GPUs that may be used; "
     "\"nvidia-smi -L\" lists those that there are."},
    {"GPUAES_", "Correct that variable, or unset it."}, /* of the kernels, which no setting names */
};

static const char *advice(const char *why_not)
{
    if (rates_forbidden() != NULL)
        return "Change that variable, or unset it.";
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++)
        if (strncmp(why_not, advices[i].reason, strlen(advices[i].reason)) == 0)
            return advices[i].advice;
    if (access("/dev/nvidiactl", R_OK | W_OK) != 0 && errno == EACCES)
        return "This user may not open /dev/nvidiactl.";
    return "\"nvidia-smi\" says whether the driver works; provider-gpuaes(7) lists what else "
           "can be in the way.";
}

static int examine_device(struct library *library)
{
    const char *why_not;
    char text[RATES_TEXT];
    struct gpuaes_device_info device = {.struct_bytes = sizeof device};
    if (!rates_wait_for_device(library, &why_not)) {
        (void)printf("No GPU can be used: %s.\n  %s\n  All work is done by the CPU.\n", why_not,
                     advice(why_not));
        return 0;
    }
    for (unsigned n = 0; gpuaes_device(n, &device); n++) {
        rates_describe(n, &device, text);
        (void)printf("GPU %d can be used: %s.\n", device.ordinal, text);
    }
    return 1;
}

/* One update; 0 if it failed. */
static int encrypt(const struct library *library, const char *properties, unsigned char *out,
                   const unsigned char *in)
{
    static const unsigned char key[32] = {1, 2, 3}, iv[16] = {250};
    int n = 0;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(library->context, "AES-256-CTR", properties);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int ok = cipher != NULL && context != NULL &&
             EVP_EncryptInit_ex2(context, cipher, key, iv, NULL) &&
             EVP_EncryptUpdate(context, out, &n, in, PROBE);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return ok;
}

/* An update as a program makes it, by the provider on the GPU, and the same by the CPU. */
static int offload(const struct library *library, unsigned char *data, unsigned char *expected)
{
    uint64_t before = library_figure(library, "gpu-bytes");
    if (!encrypt(library, "provider=default", expected, data))
        return complain_openssl("the CPU cannot encrypt");
    if (!encrypt(library, "provider=gpuaes", data, data)) {
        (void)printf("An update of 1 MiB could not be offloaded: %s.\n", openssl_reason());
        return 0;
    }
    if (library_figure(library, "gpu-bytes") - before < PROBE) {
        (void)printf("An update of 1 MiB was not offloaded, though policy=gpu asks for that.\n");
        return 0;
    }
    int same = memcmp(data, expected, PROBE) == 0;
    if (same)
        (void)printf("Self-test passed: an update of 1 MiB was offloaded, and the GPU's result "
                     "matches the CPU's.\n");
    else
        (void)printf(
            "Self-test failed: an update of 1 MiB was offloaded, and the GPU's result does "
            "not match the CPU's: do not use this GPU, and please report it.\n");
    return same;
}

/*
 * Loads the provider with the settings that send an update to the GPU, whatever those of the
 * user are, into a library context of its own. The environment wins, so it is changed, and nothing
 * reads the user's afterwards.
 */
static int examine_offload(void)
{
    struct library library;
    unsigned char *data = calloc(2, PROBE);
    (void)setenv("GPUAES_POLICY", "gpu", 1);
    (void)setenv("GPUAES_MIN_BYTES", "auto", 1);
    if (data == NULL)
        return complain("there is no memory for buffers");
    int ok = library_open(&library);
    if (ok) {
        ok = offload(&library, data, data + PROBE);
        library_close(&library);
    }
    free(data);
    return ok;
}

static int run(struct library *library)
{
    struct configuration configuration;
    configuration_examine(&configuration, library);
    int module = examine_module(library);
    int environment = examine_environment();
    int device = examine_device(library);
    int right = module && device && examine_offload();
    configuration_print(&configuration);
    int well = right && environment && configuration.uses_gpuaes && configuration.change[0] == '\0';
    (void)printf(well ? "All is well.\n" : "Not all is well.\n");
    return well;
}

int doctor_command(int argc, char **argv)
{
    struct library library;
    int read = options_read(argc, argv, usage, &(struct option_rule){0}, NULL, NULL);
    if (read <= 0)
        return read < 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    rates_want_device();
    if (!library_open(&library))
        return EXIT_FAILURE;
    int ok = run(&library);
    library_close(&library);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
