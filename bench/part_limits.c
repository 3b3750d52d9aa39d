/*
 * What the card, its bus and the CPU's memory can do: copies by the application's own CUDA within
 * device memory and over the bus, the shared-memory port, the least time of a launch; copies by the
 * CPU, ordinary and non-temporal, of one thread and of one for each core. Rates are of the bytes
 * copied; twice as many are moved.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "bench/buffers.h"
#include "bench/card.h"
#include "bench/limits.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"
#include "bench/team.h"

/* ---- Copies of the card -------------------------------------------------------- */

enum { UP = 1, DOWN = 2 }; /* to and from the device */

struct transfers {
    struct memory device, pinned;
    drv_stream stream[2];
    size_t length;
    int ways; /* 0: within the device */
};

/*
 * Both ways in pieces, each begun together: two long copies do not share the bus
 * evenly, and the slower one would count.
 */
static void copy(int side, void *argument)
{
    const struct transfers *t = argument;
    size_t most = t->ways == (UP | DOWN) ? 64 * MIB : t->length, piece;
    (void)side;
    for (size_t at = 0; at < t->length; at += piece) {
        piece = t->length - at < most ? t->length - at : most;
        if (t->ways == 0)
            card_copy(t->device.out.p + at, t->device.in.p + at, piece, t->stream[0]);
        if (t->ways & UP)
            card_up(t->device.in.p + at, t->pinned.in.p + at, piece, t->stream[0]);
        if (t->ways & DOWN)
            card_down(t->pinned.out.p + at, t->device.out.p + at, piece, t->stream[1]);
        card_wait(t->stream[0]);
        card_wait(t->stream[1]);
    }
}

static void copy_row(struct transfers *t, const char *operation, int ways)
{
    struct row row = {.part = "limits",
                      .operation = operation,
                      .bytes = t->length,
                      .memory = ways != 0 ? "pinned" : "device"};
    t->ways = ways;
    measure_rates(&row, 31, copy, t, (double)t->length);
}

static void copy_rows(void)
{
    size_t most = options.quick ? MIB : GIB;
    struct transfers t = {.stream = {card_stream(), card_stream()}, .length = most};
    if (!memory_take(&t.device, "limits", DEVICE, most, most))
        return;
    copy_row(&t, "device copy", 0);
    if (memory_take(&t.pinned, "limits", PINNED, most, most)) {
        for (; t.length >= 64 * KIB; t.length /= 16) {
            copy_row(&t, "to device", UP);
            copy_row(&t, "from device", DOWN);
            copy_row(&t, "both ways, each", UP | DOWN);
        }
        memory_give(&t.pinned);
    }
    memory_give(&t.device);
}

/* ---- Kernels ---------------------------------------------------------------------- */

#ifdef GPUAES_HAVE_NVCC
/* The path of the fat binary is relative to the folder that make runs in. */
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl gpuaes_bench_image\n"
        ".type gpuaes_bench_image, @object\n"
        "gpuaes_bench_image:\n"
        ".incbin \"bench/limits.fatbin\"\n"
        ".size gpuaes_bench_image, . - gpuaes_bench_image\n"
        ".popsection\n");
extern const unsigned char gpuaes_bench_image[];
static const void *const kernels = gpuaes_bench_image;
#else
static const void *const kernels = NULL;
#endif

struct limit {
    drv_function function;
    unsigned grid, threads;
    struct limit_arguments arguments;
    drv_stream stream;
};

static void launch(int side, void *argument)
{
    struct limit *l = argument;
    void *parameters[] = {&l->arguments};
    (void)side;
    card_check(card()->launch_kernel(l->function, l->grid, 1, 1, l->threads, 1, 1, 0, l->stream,
                                     parameters, NULL),
               "cuLaunchKernel");
    card_wait(l->stream);
}

static unsigned multiprocessors(void)
{
    drv_device device;
    int count;
    card_check(card()->device_get(&device, 0), "cuDeviceGet");
    card_check(card()->device_get_attribute(&count, DRV_ATTR_MULTIPROCESSOR_COUNT, device),
               "cuDeviceGetAttribute");
    return (unsigned)count;
}

/* What tables alone could do: the words of the port over those that a block of AES takes. */
static void print_bounds(double words)
{
    for (int ctr = 0; ctr < 2; ctr++)
        for (unsigned bits = 128; bits <= 256; bits += 64) {
            /* CTR keeps what a page of counters shares: 27 words of the first two rounds and
               5 of the third, less what keeping it takes. */
            double lookups = 16.0 * key_size_rounds(bits / 8) - (ctr ? 30 : 0);
            struct row row = {.part = "limits",
                              .cipher =
                                  mode_cipher(&mode_rows[ctr ? MODE_CTR : MODE_ECB_ENCRYPT], bits),
                              .operation = "tables alone",
                              .value = {words * GPUAES_BLOCK / lookups / 1e9, 0},
                              .unit = "GB/s"};
            print_row(&row);
        }
}

static void kernel_rows(void)
{
    drv_module module;
    struct limit l = {NULL, 1, 32, {options.quick ? 10 : 4000}, card_stream()};
    if (!card_load(&module, kernels)) {
        print_skipped("limits", "there are no kernels for this device in this program");
        return;
    }
    card_check(card()->module_get_function(&l.function, module, "limit_nothing"), "limit_nothing");
    struct result result = measure_alone(1001, launch, &l);
    struct row time = {.part = "limits", .operation = "empty launch and wait", .memory = "device"};
    print_times(&time, &result, 1, "us", 1e6);

    card_check(card()->module_get_function(&l.function, module, "limit_shared_port"),
               "limit_shared_port");
    l.threads = 1024;
    l.grid = 2 * multiprocessors();
    result = measure_alone(31, launch, &l);
    double words = (double)l.grid * l.threads * l.arguments.rounds * LIMIT_LOADS;
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
    if (device_begin("limits")) {
        copy_rows();
        kernel_rows();
    }
    return 0;
}

/* ---- Copies by the CPU --------------------------------------------------------------- */

typedef void copy_fn(unsigned char *to, const unsigned char *from, size_t bytes);

struct copies {
    copy_fn *copy;
    struct memory memory;
    size_t bytes;
    struct team team;
};

static void copy_by_memcpy(unsigned char *to, const unsigned char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

#ifdef __SSE2__
static void copy_non_temporal(unsigned char *to, const unsigned char *from, size_t bytes)
{
    const __m128i *in = (const __m128i *)from;
    __m128i *out = (__m128i *)to;
    for (size_t i = 0; i < bytes / sizeof *in; i++)
        _mm_stream_si128(out + i, _mm_load_si128(in + i));
    _mm_sfence();
}
#endif

static void copy_slice(unsigned number, void *argument)
{
    const struct copies *c = argument;
    size_t each = c->bytes / c->team.threads / 64 * 64, at = number * each;
    c->copy(c->memory.out.p + at, c->memory.in.p + at,
            number + 1 < c->team.threads ? each : c->bytes - at);
}

static void run_copies(int side, void *argument)
{
    struct copies *c = argument;
    (void)side;
    team_run(&c->team, copy_slice, c);
}

int part_host_limits(void)
{
    static const struct {
        const char *operation;
        copy_fn *copy;
    } rows[] = {{"memcpy", copy_by_memcpy},
#ifdef __SSE2__
                {"non-temporal copy", copy_non_temporal}
#endif
    };
    static struct copies c;
    unsigned cores = cores_allowed();
    c.bytes = options.quick ? MIB : GIB;
    if (!memory_take(&c.memory, "limits", PAGEABLE, c.bytes, c.bytes))
        return 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int all = 0; all < (cores > 1 ? 2 : 1); all++) {
            team_open(&c.team, all ? cores : 1);
            c.copy = rows[i].copy;
            struct row row = row_of("limits", NULL, rows[i].operation, "pageable", c.bytes);
            row.threads = c.team.threads;
            row.processor = "cpu";
            measure_rates(&row, 15, run_copies, &c, (double)c.bytes);
            team_close(&c.team);
        }
    memory_give(&c.memory);
    return 0;
}
