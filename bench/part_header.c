/*
 * The head of the output: the machine, the versions, the columns.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/core_names.h>
#include <time.h>

#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

static void print_line_of(const char *path, const char *key, const char *label)
{
    char line[512], *value;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, strlen(key)) == 0 && (value = strchr(line, ':')) != NULL) {
            printf("# %s%s", label, value);
            break;
        }
    if (file != NULL)
        (void)fclose(file);
}

static void print_devices(void)
{
    struct gpuaes_device_info d = {.struct_bytes = sizeof d};
    unsigned n = 0;
    for (; gpuaes_device(n, &d); n++)
        printf("# GPU: %s, compute capability %d.%d, %d multiprocessors, driver for CUDA %d.%d, "
               "kernels of CUDA %d.%d\n",
               d.name, d.compute_major, d.compute_minor, d.multiprocessors, d.driver_version / 1000,
               d.driver_version % 1000 / 10, gpuaes_device_toolkit(n) / 1000,
               gpuaes_device_toolkit(n) % 1000 / 10);
    if (n == 0)
        printf("# GPU: none: %s\n", no_device());
}

int part_header(void)
{
    char date[64] = "", *build = NULL;
    time_t t = time(NULL);
    OSSL_PARAM params[] = {OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, &build, 0),
                           OSSL_PARAM_END};

    warm_up();
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", gmtime(&t));
    printf("# date: %s%s\n", date, options.quick ? " (quick: the figures mean nothing)" : "");
    print_devices();
    print_line_of("/proc/driver/nvidia/version", "NVRM version", "driver");
    if (test_providers.gpuaes != NULL && OSSL_PROVIDER_get_params(test_providers.gpuaes, params) &&
        build != NULL)
        printf("# gpuaes: %s\n", build);
    print_line_of(options.revision, "revision", "revision");
    printf("# OpenSSL: %s\n", OpenSSL_version(OPENSSL_VERSION));
    print_line_of("/proc/cpuinfo", "model name", "CPU");
    printf("# cores: %u\n", cores_allowed());
    print_columns();
    return 0;
}
