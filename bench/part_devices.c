/*
 * Several devices compared with the first one alone: one large call in pinned memory (its
 * pages as they come, huge, or spread over the nodes of the machine) and in
 * pageable memory, an update through EVP, threads with memory of their own, and
 * work in the memory of each device at once. The set of devices holds for a
 * process, so two processes take turns.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/api.h"
#include "bench/options.h"
#include "bench/parts.h"
#include "bench/sides.h"
#include "bench/team.h"

enum { MOST_DEVICES = 16, CALLERS = 8 };

enum how { ONE_CALL, IN_PLACE, THREADS, THROUGH_EVP, RESIDENT };
static const struct {
    const char *operation, *placement;
} hows[] = {
    [ONE_CALL] = {"one call", "out of place"},
    [IN_PLACE] = {"one call", "in place"},
    [THREADS] = {"threads", "out of place"}, /* each with a part of the memory of its own */
    [THROUGH_EVP] = {"EVP updates", "out of place"},
    [RESIDENT] = {"each device's memory", "out of place"}, /* by a thread for each */
};

static const struct device_case {
    enum kind kind;
    enum how how;
    enum mode_number mode;
} cases[] = {
    {PINNED, ONE_CALL, MODE_CTR},           {PINNED, ONE_CALL, MODE_ECB_ENCRYPT},
    {PINNED, ONE_CALL, MODE_ECB_DECRYPT},   {PINNED, ONE_CALL, MODE_CBC_DECRYPT},
    {PINNED, IN_PLACE, MODE_CTR},           {PINNED, THREADS, MODE_CTR},
    {PINNED, THREADS, MODE_CBC_DECRYPT},    {PINNED, THROUGH_EVP, MODE_CTR},
    {REGISTERED, ONE_CALL, MODE_CTR},       {HUGE_PAGES, ONE_CALL, MODE_CTR},
    {INTERLEAVED, ONE_CALL, MODE_CTR},      {PAGEABLE, ONE_CALL, MODE_CTR},
    {PAGEABLE, ONE_CALL, MODE_CBC_DECRYPT}, {DEVICE, RESIDENT, MODE_CTR},
    {DEVICE, RESIDENT, MODE_ECB_ENCRYPT},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static size_t length_of(enum kind kind)
{
    if (options.quick)
        return 128 * KIB;
    return kind == PAGEABLE ? GIB : 4 * GIB;
}

/* ---- What each process does ---------------------------------------------------- */

/* Orders: how many devices there are; memory of a kind; a turn of a case. */
enum { COUNT_DEVICES, TAKE_MEMORY, RUN_CASE = TAKE_MEMORY + KINDS };

static struct station {
    struct memory memory[MOST_DEVICES]; /* the first alone, but of DEVICE */
    unsigned devices;
    struct pair pair;
    struct team team;
    struct call calls[MOST_DEVICES];
    unsigned call_count;
} station;

static unsigned count_devices(void)
{
    struct gpuaes_device_info info = {.struct_bytes = sizeof info};
    unsigned n = 0;
    warm_up();
    while (n < MOST_DEVICES && gpuaes_device(n, &info))
        n++;
    team_open(&station.team, MOST_DEVICES);
    return n;
}

static int take_memory(enum kind kind)
{
    for (unsigned n = 0; n < MOST_DEVICES; n++)
        memory_give(&station.memory[n]);
    for (unsigned n = 0; n < (kind == DEVICE ? station.devices : 1); n++) {
        struct gpuaes_device_info info = {.struct_bytes = sizeof info};
        if (kind == DEVICE && (!gpuaes_device(n, &info) || !card_begin(info.ordinal)))
            return 0;
        if (!memory_take(&station.memory[n], "devices", kind, length_of(kind), length_of(kind)))
            return 0;
    }
    return 1;
}

static void run_evp(const struct device_case *c)
{
    const struct mode_row *mode = &mode_rows[c->mode];
    struct pair *p = &station.pair;
    if (p->context[OURS] == NULL)
        pair_open(p, mode_cipher(mode, 256), mode->encrypt);
    p->calls = 1;
    p->length = length_of(c->kind);
    pair_memory(p, station.memory[0].in.p, station.memory[0].out.p);
    pair_updates(OURS, p);
}

static void run_call(unsigned number, void *argument)
{
    (void)argument;
    if (number < station.call_count)
        call_run(OURS, &station.calls[number]);
}

static void run_case(const struct device_case *c)
{
    size_t each = length_of(c->kind) / (c->how == THREADS ? CALLERS : 1);
    if (c->how == THROUGH_EVP) {
        run_evp(c);
        return;
    }
    station.call_count = c->how == RESIDENT ? station.devices : c->how == THREADS ? CALLERS : 1;
    for (unsigned i = 0; i < station.call_count; i++) {
        const struct memory *m = &station.memory[c->how == RESIDENT ? i : 0];
        size_t at = c->how == THREADS ? i * each : 0;
        station.calls[i] = call_make(mode_rows[c->mode].op, 256, m->in.p + at,
                                     (c->how == IN_PLACE ? m->in.p : m->out.p) + at, each);
    }
    if (station.call_count == 1)
        run_call(0, NULL);
    else
        team_run(&station.team, run_call, NULL);
}

/* What it says of an order: 0: that cannot be done. */
struct reply {
    int done;
    double cpu;
};

static int work(int order)
{
    if (order == COUNT_DEVICES)
        station.devices = count_devices();
    else if (order < RUN_CASE)
        return take_memory((enum kind)(order - TAKE_MEMORY));
    else
        run_case(&cases[order - RUN_CASE]);
    return (int)station.devices;
}

/* ---- Two processes ------------------------------------------------------------- */

/* The last order: the other process holds the pipe's end as well, so that closing it says nothing.
 */
enum { STOP = -1 };

struct crew {
    struct {
        pid_t pid;
        int orders, replies;
    } worker[SIDES];
    int order, failed; /* of the turns */
};

static void serve(int orders, int replies)
{
    int order;
    while (read(orders, &order, sizeof order) == (ssize_t)sizeof order && order != STOP) {
        double cpu = cpu_now();
        struct reply reply = {.done = work(order)};
        reply.cpu = cpu_now() - cpu;
        if (write(replies, &reply, sizeof reply) != (ssize_t)sizeof reply)
            break;
    }
}

/* Forks both, each with its devices; they take orders. Returns 0 if that fails. */
static int crew_start(struct crew *c, const char *const devices[SIDES])
{
    *c = (struct crew){.failed = 0};
    (void)signal(SIGPIPE, SIG_IGN); /* a process that died is found when it does not reply */
    for (int side = 0; side < SIDES; side++) {
        int orders[2], replies[2];
        if (pipe(orders) != 0 || pipe(replies) != 0)
            return 0;
        (void)fflush(NULL);
        c->worker[side].pid = fork();
        if (c->worker[side].pid == 0) {
            (void)close(orders[1]);
            (void)close(replies[0]);
            setenv("GPUAES_DEVICES", devices[side], 1);
            serve(orders[0], replies[1]);
            exit(0);
        }
        (void)close(orders[0]);
        (void)close(replies[1]);
        c->worker[side].orders = orders[1];
        c->worker[side].replies = replies[0];
        if (c->worker[side].pid < 0)
            return 0;
    }
    return 1;
}

/* Gives one side an order and waits; `done` is 0 also where the process has died. */
static struct reply crew_order(const struct crew *c, int side, int order)
{
    struct reply reply = {0};
    if (write(c->worker[side].orders, &order, sizeof order) != (ssize_t)sizeof order ||
        read(c->worker[side].replies, &reply, sizeof reply) != (ssize_t)sizeof reply)
        reply.done = 0;
    return reply;
}

static void crew_turn(int side, void *argument)
{
    struct crew *c = argument;
    struct reply reply = crew_order(c, side, c->order);
    c->failed |= reply.done == 0;
    measure_elsewhere(reply.cpu);
}

/* Ends both; returns 0 if they end well and no turn has failed. */
static int crew_end(struct crew *c)
{
    int failed = c->failed;
    for (int side = 0; side < SIDES; side++) {
        int status = -1, stop = STOP;
        if (write(c->worker[side].orders, &stop, sizeof stop) != (ssize_t)sizeof stop)
            perror("gpuaes_bench: worker");
        (void)close(c->worker[side].orders);
        (void)close(c->worker[side].replies);
        (void)waitpid(c->worker[side].pid, &status, 0);
        failed |= status != 0;
    }
    return failed;
}

/* ---- Rows --------------------------------------------------------------------- */

static void device_row(struct crew *crew, size_t number, unsigned devices)
{
    const struct device_case *c = &cases[number];
    const struct mode_row *mode = &mode_rows[c->mode];
    char operation[64];
    struct row row = {.part = "devices",
                      .cipher = mode_cipher(mode, 256),
                      .operation = operation,
                      .bytes = length_of(c->kind),
                      .memory = kind_name(c->kind),
                      .placement = hows[c->how].placement,
                      .devices = devices,
                      .threads = c->how == THREADS    ? CALLERS
                                 : c->how == RESIDENT ? devices
                                                      : 1,
                      .processor = c->how == THROUGH_EVP ? NULL : "gpu",
                      .against = devices > 1 ? "one device" : NULL};
    (void)snprintf(operation, sizeof operation, "%s, %s", direction(mode->encrypt),
                   hows[c->how].operation);
    crew->order = RUN_CASE + (int)number;
    struct result result = (devices > 1 ? measure : measure_alone)(7, crew_turn, crew);
    if (c->how == RESIDENT) { /* more devices, more work */
        result.median[OURS] /= devices;
        result.cpu[OURS] /= devices;
    }
    if (!crew->failed)
        print_rates(&row, &result, (double)row.bytes);
}

static void crew_rows(struct crew *crew, unsigned devices)
{
    enum kind has = KINDS;
    int right = 0;
    for (size_t i = 0; i < CASES && !crew->failed; i++) {
        enum kind kind = cases[i].kind;
        if (kind == INTERLEAVED && memory_nodes() < 2) {
            print_skipped("devices", "memory over several nodes: the machine shows one");
            continue;
        }
        if (kind != has)
            right = crew_order(crew, OURS, TAKE_MEMORY + (int)kind).done != 0 &&
                    (devices < 2 || crew_order(crew, REFERENCE, TAKE_MEMORY + (int)kind).done != 0);
        has = kind;
        if (right)
            device_row(crew, i, devices);
    }
}

/* Devices of a list compared with the first one; *found: how many of the list there are. */
static int devices_rows(const char *list, unsigned *found)
{
    struct crew crew;
    const char *const lists[SIDES] = {list, "0"};
    if (!crew_start(&crew, lists))
        return EXIT_FAILURE;
    *found = (unsigned)crew_order(&crew, OURS, COUNT_DEVICES).done;
    if (*found > 1)
        crew.failed = crew_order(&crew, REFERENCE, COUNT_DEVICES).done != 1;
    if (*found == 0)
        print_skipped("devices", "no device was started");
    else
        crew_rows(&crew, *found);
    return crew_end(&crew);
}

int part_devices(void)
{
    unsigned found;
    int failed = devices_rows("all", &found);
    return failed || found <= 2 ? failed : devices_rows("0,1", &found);
}
