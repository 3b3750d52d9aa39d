/*
 * Which image of kernels a driver gets, by its version, by what it refuses and by GPUAES_IMAGE, on
 * the emulator, which has one of CUDA 13.5 and one of 12.9; and why none is loaded.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "test/support/library.h"

enum { BYTES = (64 << 10) + 16 };

struct row {
    const char *name, *emulator;
    const char *wanted; /* GPUAES_IMAGE */
    int toolkit;        /* that compiled what is loaded; 0: the start fails */
    unsigned loads;     /* of images, failures included */
    const char *reason; /* of the failure */
};

#define REFUSED(N, CODE) ",fault=module_load_data:" #N ":" #CODE
#define ERROR(CODE) "loading the kernels failed with CUDA error " #CODE

static const struct row rows[] = {
    {"driver 580 gets the image of CUDA 13", "driver=13000", NULL, 13050, 1, NULL},
    {"a driver for CUDA 13.5 does", "driver=13050", NULL, 13050, 1, NULL},
    {"and one for CUDA 14", "driver=14000", NULL, 13050, 1, NULL},
    {"driver 575 gets the image of CUDA 12, and is not asked for the other", "driver=12090", NULL,
     12090, 1, NULL},
    {"driver 525, too", "driver=12000", NULL, 12090, 1, NULL},
    {"driver 520 gets none", "driver=11080", NULL, 0, 0,
     "the kernels need driver 525 or newer, for CUDA 12.0; this driver is for CUDA 11.8"},
    {"an image without code for the device: the other is loaded", "driver=13000" REFUSED(1, 209),
     NULL, 12090, 2, NULL},
    {"an image with PTX that is too new: the other is loaded", "driver=13000" REFUSED(1, 222), NULL,
     12090, 2, NULL},
    {"an image that the driver takes for none: the other is loaded", "driver=13000" REFUSED(1, 200),
     NULL, 12090, 2, NULL},
    {"both are refused", "driver=13000" REFUSED(1, 222) REFUSED(2, 209), NULL, 0, 2, ERROR(209)},
    {"another failure is none of the image's", "driver=13000" REFUSED(1, 2), NULL, 0, 1, ERROR(2)},
    {"a driver that does not say its version", "fault=driver_get_version:2:3", NULL, 0, 0,
     ERROR(3)},
    {"the image of CUDA 12 is asked for", "driver=13000", "12", 12090, 1, NULL},
    {"the image of CUDA 13 is asked for", "driver=13000", "13", 13050, 1, NULL},
    {"the image of CUDA 13 is asked for, of driver 575", "driver=12090", "13", 0, 0,
     "the kernels need driver 580 or newer, for CUDA 13.0; this driver is for CUDA 12.9"},
    {"an image that there is not", "driver=13000", "11", 0, 0,
     "GPUAES_IMAGE is \"11\", expected the major version of a toolkit that compiled the kernels"},
    {"more than a major version", "driver=13000", "12.9", 0, 0,
     "GPUAES_IMAGE is \"12.9\", expected the major version of a toolkit that compiled the kernels"},
};

static int is_same(const char *what, const char *got, const char *expected)
{
    if (strcmp(got, expected) != 0)
        tap_diag("%s: %s, expected %s", what, got, expected);
    return strcmp(got, expected) == 0;
}

/* In a child. */
static int starts_as_said(const void *argument)
{
    const struct row *row = argument;
    const struct work work = {GPUAES_CTR, BYTES, GPUAES_PAGEABLE, 0, NULL};
    struct gpuaes_report report;
    emulator_configure(row->emulator);
    if (row->wanted != NULL)
        setenv("GPUAES_IMAGE", row->wanted, 1);
    int started = starts_with(NULL);
    unsigned loads = emulator_calls("module_load_data");
    int toolkit = gpuaes_device_toolkit(0);
    if (toolkit != row->toolkit || loads != row->loads || gpuaes_device_toolkit(1) != 0) {
        tap_diag("%u images were tried, that of toolkit %d is loaded", loads, toolkit);
        return 1;
    }
    if (row->toolkit == 0)
        return started || !is_same("reason", gpuaes_reason(), row->reason) ||
               emulator_objects() != 0 || emulator_contexts() != 0;
    return !started || work_status(&work, &report) != GPUAES_OK;
}

int main(void)
{
    tap_random_seed(&random_state);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        child_ok(starts_as_said, &rows[i], "%s", rows[i].name);
    return tap_done();
}
