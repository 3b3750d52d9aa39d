/*
 * Several devices beside the first one alone: one large call in pinned memory (its
 * pages as they come, huge, or spread over the nodes of the machine) and in
 * pageable memory, an update through EVP, threads with memory of their own, and
 * work in the memory of each device at once. The set of devices holds for a
 * process, so two processes take turns.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "bench/api.h"
#include "bench/buffers.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/rows.h"
#include "bench/sides.h"
#include "bench/worker.h"

enum { MOST_DEVICES = 16, CALLERS = 8 };

enum how {
    ONE_CALL,
    IN_PLACE,
    THREADS,     /* each with a part of the memory of its own */
    THROUGH_EVP, /* updates of 1 GiB */
    RESIDENT     /* a thread for each device, in its memory */
};

static const struct device_case {
    enum kind kind;
    enum how how;
    size_t mode; /* of mode_rows */
} cases[] = {
    {PINNED, ONE_CALL, 0},     {PINNED, ONE_CALL, 1},      {PINNED, ONE_CALL, 2},
    {PINNED, ONE_CALL, 3},     {PINNED, IN_PLACE, 0},      {PINNED, THREADS, 0},
    {PINNED, THREADS, 3},      {PINNED, THROUGH_EVP, 0},   {REGISTERED, ONE_CALL, 0},
    {HUGE_PAGES, ONE_CALL, 0}, {INTERLEAVED, ONE_CALL, 0}, {PAGEABLE, ONE_CALL, 0},
    {PAGEABLE, ONE_CALL, 3},   {DEVICE, RESIDENT, 0},      {DEVICE, RESIDENT, 1},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static size_t length_of(enum kind kind)
{
    if (options.quick)
        return 128 * KIB;
    return kind == PAGEABLE ? GIB : 4 * GIB;
}

/* ---- What a worker does ------------------------------------------------------ */

/* Orders: how many devices there are; memory of a kind; a turn of a case. */
enum { COUNT_DEVICES, TAKE_MEMORY, RUN_CASE = TAKE_MEMORY + KINDS };

struct station {
    struct buffer in[MOST_DEVICES], out[MOST_DEVICES]; /* the first alone, but of DEVICE */
    unsigned devices;
    struct pair pair;
};

static unsigned count_devices(void)
{
    struct gpuaes_device_info info;
    unsigned n = 0;
    warm_up();
    while (n < MOST_DEVICES && gpuaes_device(n, &info))
        n++;
    return n;
}

static int take_memory(struct station *s, enum kind kind)
{
    int right = 1;
    for (unsigned n = 0; n < MOST_DEVICES; n++) {
        buffer_give(&s->in[n]);
        buffer_give(&s->out[n]);
    }
    for (unsigned n = 0; n < (kind == DEVICE ? s->devices : 1); n++) {
        struct gpuaes_device_info info;
        right = right && (kind != DEVICE || (gpuaes_device(n, &info) && card_begin(info.ordinal)));
        if (!right)
            break;
        s->in[n] = buffer_take(kind, length_of(kind));
        s->out[n] = buffer_take(kind, length_of(kind));
        right = s->in[n].p != NULL && s->out[n].p != NULL;
    }
    return right;
}

static void *caller(void *call)
{
    call_run(call);
    return NULL;
}

static void run_calls(struct call *calls, unsigned count)
{
    pthread_t threads[MOST_DEVICES];
    int started[MOST_DEVICES] = {0};
    for (unsigned i = 1; i < count; i++)
        started[i] = pthread_create(&threads[i], NULL, caller, &calls[i]) == 0;
    call_run(&calls[0]);
    for (unsigned i = 1; i < count; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
        else
            call_run(&calls[i]);
}

static void run_evp(struct station *s, const struct device_case *c)
{
    struct pair *p = &s->pair;
    if (p->context[OURS] == NULL) {
        char cipher[32];
        (void)snprintf(cipher, sizeof cipher, "AES-256-%s", mode_rows[c->mode].mode);
        pair_open(p, cipher, mode_rows[c->mode].encrypt);
        p->calls = 1;
    }
    p->length = length_of(c->kind);
    pair_memory(p, s->in[0].p, s->out[0].p);
    pair_updates(OURS, p);
}

static void run_case(struct station *s, const struct device_case *c)
{
    struct call calls[MOST_DEVICES];
    unsigned count = c->how == RESIDENT ? s->devices : c->how == THREADS ? CALLERS : 1;
    size_t each = length_of(c->kind) / (c->how == THREADS ? CALLERS : 1);
    if (c->how == THROUGH_EVP) {
        run_evp(s, c);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned n = c->how == RESIDENT ? i : 0;
        size_t at = c->how == THREADS ? i * each : 0;
        calls[i] = call_make(mode_rows[c->mode].op, 256);
        calls[i].in = s->in[n].p + at;
        calls[i].out = (c->how == IN_PLACE ? s->in : s->out)[n].p + at;
        calls[i].length = each;
    }
    run_calls(calls, count);
}

static int work(int order, void *argument)
{
    struct station *s = argument;
    if (order == COUNT_DEVICES)
        s->devices = count_devices();
    else if (order < RUN_CASE)
        return take_memory(s, (enum kind)(order - TAKE_MEMORY));
    else
        run_case(s, &cases[order - RUN_CASE]);
    return (int)s->devices;
}

/* ---- Rows --------------------------------------------------------------------- */

struct crew {
    struct worker worker[SIDES]; /* of several devices, and of the first */
    int order, failed;
    unsigned devices;
};

static void order_side(int side, void *argument)
{
    struct crew *crew = argument;
    double cpu = 0;
    /* Of one device: ours is the only worker. */
    crew->failed |= worker_order(&crew->worker[side], crew->order, &cpu) == 0;
    measure_add_cpu(cpu);
}

static int device_row(struct crew *crew, size_t number)
{
    static const char *const placements[] = {"out of place", "in place", "out of place",
                                             "out of place", "out of place"};
    static const char *const operations[] = {"one call", "one call", "threads", "EVP updates",
                                             "each device's memory"};
    const struct device_case *c = &cases[number];
    const struct mode_row *mode = &mode_rows[c->mode];
    char cipher[32], operation[64];
    double bytes = (double)length_of(c->kind);
    struct row row = {.part = "devices",
                      .cipher = cipher,
                      .operation = operation,
                      .bytes = length_of(c->kind),
                      .memory = kind_name(c->kind),
                      .placement = placements[c->how],
                      .devices = crew->devices,
                      .threads = c->how == THREADS    ? CALLERS
                                 : c->how == RESIDENT ? crew->devices
                                                      : 1,
                      .processor = c->how == THROUGH_EVP ? NULL : "gpu",
                      .against = crew->devices > 1 ? "one device" : NULL};
    (void)snprintf(cipher, sizeof cipher, "AES-256-%s", mode->mode);
    (void)snprintf(operation, sizeof operation, "%s, %s", direction(mode->encrypt),
                   operations[c->how]);
    crew->order = RUN_CASE + (int)number;
    struct result result =
        crew->devices > 1 ? measure(7, order_side, crew) : measure_alone(7, order_side, crew);
    if (c->how == RESIDENT) { /* more devices, more work */
        result.median[OURS] /= crew->devices;
        result.cpu[OURS] /= crew->devices;
    }
    if (!crew->failed)
        print_rates(&row, &result, bytes);
    return crew->failed;
}

static int take_on_all_sides(struct crew *crew, enum kind kind)
{
    int right = worker_order(&crew->worker[OURS], TAKE_MEMORY + (int)kind, NULL) != 0;
    if (right && crew->devices > 1)
        right = worker_order(&crew->worker[REFERENCE], TAKE_MEMORY + (int)kind, NULL) != 0;
    if (!right)
        print_skipped("devices", "%s memory of %zu bytes", kind_name(kind), length_of(kind));
    return right;
}

static int crew_rows(struct crew *crew)
{
    enum kind has = KINDS;
    int right = 0;
    for (size_t i = 0; i < CASES && !crew->failed; i++) {
        if (cases[i].kind == INTERLEAVED && memory_nodes() < 2) {
            print_skipped("devices", "memory over several nodes: the machine shows one");
            continue;
        }
        if (cases[i].kind != has)
            right = take_on_all_sides(crew, has = cases[i].kind);
        if (right)
            (void)device_row(crew, i);
    }
    return crew->failed;
}

/* Devices of a list beside the first one; *found: how many of the list there are. */
static int devices_rows(const char *list, unsigned *found)
{
    static struct station station; /* each worker's own, after the fork */
    struct crew crew = {.order = COUNT_DEVICES};
    if (!worker_start(&crew.worker[OURS], "GPUAES_DEVICES", list, work, &station) ||
        !worker_start(&crew.worker[REFERENCE], "GPUAES_DEVICES", "0", work, &station))
        return EXIT_FAILURE;
    crew.devices = (unsigned)worker_order(&crew.worker[OURS], COUNT_DEVICES, NULL);
    *found = crew.devices;
    if (crew.devices > 1)
        crew.failed = worker_order(&crew.worker[REFERENCE], COUNT_DEVICES, NULL) != 1;
    if (crew.devices == 0)
        print_skipped("devices", "no device was started");
    else
        (void)crew_rows(&crew);
    return (worker_end(&crew.worker[OURS]) | worker_end(&crew.worker[REFERENCE])) != 0 ||
           crew.failed;
}

int part_devices(void)
{
    unsigned found;
    if (options.devices != NULL)
        return devices_rows(options.devices, &found);
    int failed = devices_rows("all", &found);
    return failed || found <= 2 ? failed : devices_rows("0,1", &found);
}
