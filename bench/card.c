/*
 * The card as an application uses it concurrently with gpuaes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/card.h"

#include <dlfcn.h>

#include "test/support/application.h"

int card_begin(int ordinal)
{
    return application_begin(ordinal);
}

const struct driver *card(void)
{
    return &application;
}

int card_load(drv_module *module, const void *image)
{
    return image != NULL && !application_is_emulated &&
           application.module_load_data(module, image) == DRV_SUCCESS;
}

typedef drv_result elapsed_fn(float *milliseconds, drv_event begin, drv_event end);

static elapsed_fn *elapsed(void)
{
    elapsed_fn *function = NULL;
    void *driver = application_is_emulated ? NULL : dlopen("libcuda.so.1", RTLD_LAZY);
    void *symbol = driver == NULL ? NULL : dlsym(driver, "cuEventElapsedTime");
    memcpy(&function, &symbol, sizeof function);
    return function;
}

int card_has_time(void)
{
    return elapsed() != NULL;
}

drv_event card_event(void)
{
    drv_event event = NULL;
    card_check(application.event_create(&event, 0), "cuEventCreate");
    return event;
}

void card_record(drv_event event, drv_stream stream)
{
    card_check(application.event_record(event, stream), "cuEventRecord");
}

double card_seconds(drv_event begin, drv_event end)
{
    float milliseconds = 0;
    card_check(elapsed()(&milliseconds, begin, end), "cuEventElapsedTime");
    return milliseconds * 1e-3;
}

void card_end(drv_event event)
{
    card_check(application.event_destroy(event), "cuEventDestroy");
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

void card_up(void *device, const void *host, size_t bytes, drv_stream stream)
{
    card_check(application.memcpy_htod_async(card_address(device), host, bytes, stream),
               "cuMemcpyHtoDAsync");
}

void card_down(void *host, const void *device, size_t bytes, drv_stream stream)
{
    card_check(application.memcpy_dtoh_async(host, card_address(device), bytes, stream),
               "cuMemcpyDtoHAsync");
}

void card_copy(void *to, const void *from, size_t bytes, drv_stream stream)
{
    card_check(application.memcpy_dtod_async(card_address(to), card_address(from), bytes, stream),
               "cuMemcpyDtoDAsync");
}

void card_zero(void *device, size_t bytes, drv_stream stream)
{
    card_check(application.memset_d8_async(card_address(device), 0, bytes, stream),
               "cuMemsetD8Async");
}

void card_check(drv_result result, const char *what)
{
    if (result != DRV_SUCCESS) {
        (void)fprintf(stderr, "gpuaes_bench: %s: error %d\n", what, result);
        exit(EXIT_FAILURE);
    }
}
