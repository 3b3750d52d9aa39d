/*
 * The fat binaries of all kernels, inside the library.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/driver/driver.h"

#ifdef GPUAES_CUDA_BUILD

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One after the other. The path is relative to the folder that make runs in. */
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".hidden gpuaes_kernels_image\n"
        ".globl gpuaes_kernels_image\n"
        ".type gpuaes_kernels_image, @object\n"
        "gpuaes_kernels_image:\n"
        ".incbin \"cuda/kernels.fatbin\"\n"
        ".size gpuaes_kernels_image, . - gpuaes_kernels_image\n"
        ".popsection\n");

extern const unsigned char gpuaes_kernels_image[] __attribute__((visibility("hidden")));

/* What a fat binary begins with. The build pads one that another follows. */
struct fatbin_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* that follow the header */
};
enum { IMAGE_ALIGNMENT = 16 };

static size_t image_bytes(const unsigned char *image)
{
    struct fatbin_header header;
    memcpy(&header, image, sizeof header);
    return (header.header_bytes + header.bytes + IMAGE_ALIGNMENT - 1) / IMAGE_ALIGNMENT *
           IMAGE_ALIGNMENT;
}

/* "13.5 sm_80" is 13050. */
static int toolkit_of(const char *build)
{
    char *minor;
    long major = strtol(build, &minor, 10);
    return (int)(major * 1000 + strtol(minor + 1, NULL, 10) * 10);
}

int driver_find_image(unsigned n, struct driver_image *image)
{
    const unsigned char *at = gpuaes_kernels_image;
    const char *build = GPUAES_CUDA_BUILD;
    for (; n != 0; n--) {
        build = strchr(build, ',');
        if (build == NULL)
            return 0;
        build++;
        at += image_bytes(at);
    }
    *image = (struct driver_image){.data = at, .toolkit = toolkit_of(build)};
    return 1;
}

const char *driver_build(void)
{
    return GPUAES_CUDA_BUILD;
}

#else

int driver_find_image(unsigned n, struct driver_image *image)
{
    (void)n;
    (void)image;
    return 0;
}

const char *driver_build(void)
{
    return "none";
}

#endif
