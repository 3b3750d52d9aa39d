/*
 * The card as an application uses it beside us.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/card.h"

#include "test/support/application.h"

int card_begin(int ordinal)
{
    return application_begin(ordinal);
}

const struct driver *card(void)
{
    return &application;
}

int card_module(drv_module *module, const void *image)
{
    const void *(*emulated)(void);
    void *hook = application_is_emulated ? application_hook("emulator_kernels") : NULL;
    memcpy(&emulated, &hook, sizeof hook);
    if (emulated != NULL)
        image = emulated();
    return image != NULL && application.module_load_data(module, image) == DRV_SUCCESS;
}

int card_attribute(int attribute, int ordinal)
{
    drv_device device;
    int value = 0;
    card_check(application.device_get(&device, ordinal), "cuDeviceGet");
    card_check(application.device_get_attribute(&value, attribute, device), "cuDeviceGetAttribute");
    return value;
}

drv_stream card_stream(void)
{
    drv_stream stream = NULL;
    card_check(application.stream_create(&stream, DRV_STREAM_NON_BLOCKING), "cuStreamCreate");
    return stream;
}

void card_wait(drv_stream stream)
{
    drv_result r;
    do
        r = application.stream_query(stream);
    while (r == DRV_NOT_READY);
    card_check(r, "cuStreamQuery");
}

void card_check(drv_result result, const char *what)
{
    if (result != DRV_SUCCESS) {
        (void)fprintf(stderr, "gpuaes_bench: %s: error %d\n", what, result);
        exit(EXIT_FAILURE);
    }
}
