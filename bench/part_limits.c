/*
 * What the card and its bus can do, measured by the application's own CUDA:
 * copies within device memory and over the bus, the shared-memory port, the least
 * time of a launch.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "base/key_size.h"
#include "bench/buffers.h"
#include "bench/card.h"
#include "bench/limits.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"

enum { UP = 1, DOWN = 2 }; /* to and from the device */

struct transfers {
    struct buffer device[2], pinned[2];
    drv_stream stream[2];
    size_t length;
    int ways;
};

static void device_copy(int side, void *argument)
{
    const struct transfers *t = argument;
    (void)side;
    card_check(card()->memcpy_dtod_async(card_address(t->device[1].p), card_address(t->device[0].p),
                                         t->length, t->stream[0]),
               "cuMemcpyDtoDAsync");
    card_wait(t->stream[0]);
}

/*
 * Both ways in pieces, each begun together: two long copies do not share the bus
 * evenly, and the slower one would count.
 */
static void bus_copies(int side, void *argument)
{
    const struct transfers *t = argument;
    size_t most = t->ways == (UP | DOWN) ? 64 * MIB : t->length, piece;
    (void)side;
    for (size_t at = 0; at < t->length; at += piece) {
        piece = t->length - at < most ? t->length - at : most;
        if (t->ways & UP)
            card_check(card()->memcpy_htod_async(card_address(t->device[0].p + at),
                                                 t->pinned[0].p + at, piece, t->stream[0]),
                       "cuMemcpyHtoDAsync");
        if (t->ways & DOWN)
            card_check(card()->memcpy_dtoh_async(t->pinned[1].p + at,
                                                 card_address(t->device[1].p + at), piece,
                                                 t->stream[1]),
                       "cuMemcpyDtoHAsync");
        card_wait(t->stream[0]);
        card_wait(t->stream[1]);
    }
}

static void copy_rows(struct transfers *t)
{
    static const struct {
        const char *operation;
        int ways;
    } buses[] = {{"to device", UP}, {"from device", DOWN}, {"both ways, each", UP | DOWN}};
    struct row row = {.part = "limits", .bytes = t->length, .memory = "device"};
    struct result result;
    if (t->device[0].p == NULL || t->device[1].p == NULL) {
        print_skipped("limits", "copies: no device memory");
        return;
    }
    row.operation = "device copy";
    result = measure_alone(31, device_copy, t);
    print_rates(&row, &result, (double)t->length);
    if (t->pinned[0].p == NULL || t->pinned[1].p == NULL) {
        print_skipped("limits", "copies over the bus: no pinned memory");
        return;
    }
    row.memory = "pinned";
    size_t most = t->length;
    for (t->length = most; t->length >= 64 * KIB; t->length /= 16)
        for (size_t i = 0; i < sizeof buses / sizeof buses[0]; i++) {
            row.operation = buses[i].operation;
            row.bytes = t->length;
            t->ways = buses[i].ways;
            result = measure_alone(31, bus_copies, t);
            print_rates(&row, &result, (double)t->length);
        }
}

/* ---- Kernels of our own ---------------------------------------------------- */

struct launch {
    drv_function function;
    unsigned grid, block;
    void *arguments;
    drv_stream stream;
};

static void launch(int side, void *argument)
{
    const struct launch *l = argument;
    void *parameters[] = {l->arguments};
    (void)side;
    card_check(card()->launch_kernel(l->function, l->grid, 1, 1, l->block, 1, 1, 0, l->stream,
                                     parameters, NULL),
               "cuLaunchKernel");
    card_wait(l->stream);
}

/* What tables alone could do: the words of the port over those that a block of AES takes. */
static void print_bounds(double words)
{
    for (int ctr = 0; ctr < 2; ctr++)
        for (unsigned bits = 128; bits <= 256; bits += 64) {
            /* CTR keeps what a page of counters shares: 27 words of the first two rounds and
               5 of the third, less what keeping it takes. */
            unsigned rounds = key_size_rounds(bits / 8);
            double lookups = 16.0 * rounds - (ctr ? 30 : 0);
            char cipher[32];
            struct row row = {.part = "limits",
                              .cipher = cipher,
                              .operation = "tables alone",
                              .value = {words * GPUAES_BLOCK / lookups / 1e9, 0},
                              .unit = "GB/s"};
            (void)snprintf(cipher, sizeof cipher, "AES-%u-%s", bits, ctr ? "CTR" : "ECB");
            print_row(&row);
        }
}

static void kernel_rows(drv_stream stream)
{
    drv_module module;
    struct launch empty = {.grid = 1, .block = 32, .stream = stream}, port = {.stream = stream};
    if (limits_image() == NULL ||
        card()->module_load_data(&module, limits_image()) != DRV_SUCCESS) {
        print_skipped("limits", "there are no kernels for this device in this program");
        return;
    }
    card_check(card()->module_get_function(&empty.function, module, "limit_device_copy"),
               "limit_device_copy");
    card_check(card()->module_get_function(&port.function, module, "limit_shared_port"),
               "limit_shared_port");
    struct limit_device_copy_arguments nothing = {0, 0, 0};
    empty.arguments = &nothing;
    struct result result = measure_alone(1001, launch, &empty);
    struct row time = {.part = "limits", .operation = "empty launch and wait", .memory = "device"};
    print_times(&time, &result, 1, "us", 1e6);

    struct limit_shared_port_arguments rounds = {options.quick ? 10 : 4000};
    port.arguments = &rounds;
    port.block = 1024;
    port.grid = 2 * (unsigned)card_attribute(DRV_ATTR_MULTIPROCESSOR_COUNT, 0);
    result = measure_alone(31, launch, &port);
    double words = (double)port.grid * port.block * rounds.rounds * LIMIT_LOADS;
    struct row row = {.part = "limits",
                      .operation = "shared-memory port",
                      .statistic = "median",
                      .memory = "shared",
                      .value = {words / result.median[OURS] / 1e9, 0},
                      .unit = "Gword/s",
                      .spread = result.spread};
    print_row(&row);
    print_bounds(words / result.median[OURS]);
}

int part_limits(void)
{
    struct transfers t = {.length = options.quick ? MIB : GIB};
    warm_up();
    if (gpuaes_state() != GPUAES_READY || !card_begin(0)) {
        print_skipped("limits", "the device: %s", no_device());
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        t.device[i] = buffer_take(DEVICE, t.length);
        t.pinned[i] = buffer_take(PINNED, t.length);
        t.stream[i] = card_stream();
    }
    copy_rows(&t);
    kernel_rows(t.stream[0]);
    for (int i = 0; i < 2; i++) {
        buffer_give(&t.device[i]);
        buffer_give(&t.pinned[i]);
    }
    return 0;
}
