/*
 * Which of the images of kernels a driver gets.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/launch/kernels.h"

enum { MAJOR = 1000 }; /* 12090 is 12.9 */

static int is_wanted(const struct driver_image *image)
{
    const char *wanted = secure_getenv("GPUAES_IMAGE");
    char major[16];
    (void)snprintf(major, sizeof major, "%d", image->toolkit / MAJOR);
    return wanted == NULL || strcmp(wanted, major) == 0;
}

int kernels_oldest_cuda(void)
{
    struct driver_image image;
    int oldest = 0;
    for (unsigned n = 0; driver_find_image(n, &image); n++)
        if (is_wanted(&image))
            oldest = image.toolkit / MAJOR * MAJOR;
    return oldest;
}

/* Of machine code for other devices, and PTX that is newer than the driver. */
static int is_refusal(drv_result r)
{
    return r == DRV_INVALID_IMAGE || r == DRV_NO_BINARY_FOR_GPU || r == DRV_UNSUPPORTED_PTX;
}

/* A driver is not asked about images of a later major version: nobody says what it makes of them.
 */
drv_result kernels_load_image(const struct driver *driver, struct kernels *kernels)
{
    struct driver_image image;
    int version;
    drv_result r = driver->driver_get_version(&version);
    if (r != DRV_SUCCESS)
        return r;
    r = DRV_NO_BINARY_FOR_GPU;
    for (unsigned n = 0; is_refusal(r) && driver_find_image(n, &image); n++)
        if (is_wanted(&image) && image.toolkit / MAJOR <= version / MAJOR) {
            r = driver->module_load_data(&kernels->module, image.data);
            kernels->toolkit = image.toolkit;
        }
    return r;
}
