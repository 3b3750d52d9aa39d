/*
 * Processes that fork before, while and after they use the device, from one
 * thread and while several are at work, by updates of the device and by keystream
 * that is made ahead, with segments in flight. The child goes on with the
 * parent's streams, copies them, makes its own, frees what it inherited and ends in each of
 * three ways; whatever either does, the bytes are the default provider's and
 * nothing hangs. A child of a process that had started finds no device and uses
 * the CPU; one that was forked before may start its own.
 *
 * Each scenario is a run of this program of its own, once with pinned memory that the child
 * shares and once with pinned memory that is absent there (the driver may do either).
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/support/cases.h"
#include "test/support/leaks_allowed.h" /* children end while threads are at work */
#include "test/support/read_ahead_streams.h"

enum { THREADS = 4, STREAMS = 3, PIECE = 20000 };

static const struct scenario {
    const char *name;
    enum { BEFORE, DURING, AFTER } when;
    unsigned threads; /* at work meanwhile */
    int ahead;        /* streams are read ahead of, or have updates of the device */
} scenarios[] = {
    {"before use", BEFORE, 0, 0},
    {"during use", DURING, 0, 0},
    {"after use", AFTER, 0, 0},
    {"while threads work", DURING, THREADS, 0},
    {"of streams that are read ahead of", DURING, 0, 1},
    {"of such streams while threads work", DURING, THREADS / 2, 1},
};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };
static const struct scenario *scenario;

static const char *const endings[] = {"exit", "_exit", "exec"};

/* ---- Streams ------------------------------------------------------------------- */

struct streams {
    struct stream stream[STREAMS];
};

static void streams_open(struct streams *s, uint64_t seed)
{
    static const char *const names[][STREAMS] = {{"AES-256-CTR", "AES-128-ECB", "AES-256-CBC"},
                                                 {"AES-256-CTR", "AES-128-CTR", "AES-192-CTR"}};
    struct memory *memory = memory_new(seed);
    for (int i = 0; i < STREAMS; i++)
        s->stream[i] = stream_open(memory, names[scenario->ahead][i], usual_key, usual_iv);
    if (!scenario->ahead) /* encryption is not for the device */
        (void)stream_init(&s->stream[2], usual_key, usual_iv, 0);
}

static void streams_close(struct streams *s)
{
    struct memory *memory = s->stream[0].memory;
    for (int i = 0; i < STREAMS; i++)
        stream_close(&s->stream[i]);
    free(memory);
}

/* From where the stream is, in large steps and in small ones. */
static int goes_on(struct stream *s)
{
    if (!scenario->ahead) {
        int right = stream_update(s, PIECE - 5);
        return right && stream_update(s, PIECE - 5);
    }
    return stream_agrees(s) && stream_update(s, 1) && stream_agrees(s) &&
           stream_hurry(s, 600 * KIB, 10001) && stream_update(s, 15) &&
           stream_call(s, &(struct call){ONE_SHOT, 32 * KIB, .out_of_place = 0}) &&
           stream_agrees(s);
}

static int all_go_on(struct streams *s)
{
    int right = 1;
    for (int i = 0; right && i < STREAMS; i++)
        right = goes_on(&s->stream[i]);
    return right;
}

/* Of which a copy goes on as well; where it may be, with keystream of the device. */
static int streams_of_its_own(void)
{
    struct streams own;
    struct stream copy = {.side = {NULL}};
    streams_open(&own, 3);
    int right = (!scenario->ahead || stream_hurry(&own.stream[0], BEGINS_AFTER + SOME, 4096)) &&
                all_go_on(&own) && stream_copy(&copy, &own.stream[1]) && goes_on(&copy);
    stream_close(&copy);
    streams_close(&own);
    return right;
}

/* ---- Children ------------------------------------------------------------------- */

static void end(const char *ending, int right)
{
    if (strcmp(ending, "exec") == 0 && right)
        execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
    if (strcmp(ending, "exit") == 0) {
        providers_unload(&test_providers); /* tears the module down in the child */
        exit(!right);
    }
    _exit(!right);
}

/* Goes on with what it inherited, makes its own, forks again, frees all but in one ending. */
static void be_child(const char *ending, struct streams *inherited)
{
    alarm(200);
    int right = all_go_on(inherited) && streams_of_its_own();
    pid_t grandchild = fork();
    if (grandchild == 0)
        _exit(!(all_go_on(inherited) && streams_of_its_own()));
    right = ended_well(grandchild) && right;
    right = right && stream_init(&inherited->stream[0], NULL, other_iv, -1) && all_go_on(inherited);
    struct ahead figures = ahead_get();
    if (!stand_in() && ((scenario->when == BEFORE) != (figures.gpu > 0) || figures.bytes != 0)) {
        fprintf(stderr, "# gpu-bytes=%llu read-ahead-bytes=%llu in a child\n",
                (unsigned long long)figures.gpu, (unsigned long long)figures.bytes);
        right = 0;
    }
    if (strcmp(ending, "_exit") != 0)
        streams_close(inherited);
    end(ending, right);
}

/* Parent and child go on at the same time. */
static int fork_and_go_on(const char *ending, struct streams *s)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        be_child(ending, s);
    int right = scenario->when != DURING || all_go_on(s);
    return ended_well(child) && right && (scenario->when != DURING || all_go_on(s));
}

/* ---- Threads at work meanwhile ------------------------------------------------ */

static atomic_uint at_work;
static atomic_int stop;

static void *work(void *unused)
{
    struct streams s;
    (void)unused;
    streams_open(&s, 2);
    int right = !scenario->ahead || stream_hurry(&s.stream[0], BEGINS_AFTER, PACED);
    atomic_fetch_add(&at_work, 1);
    while (right && !atomic_load(&stop)) {
        for (int i = 0; right && i < (scenario->ahead ? 1 : STREAMS); i++)
            right = stream_update(&s.stream[i], PACED);
        if (scenario->ahead)
            sleep_ms(1);
    }
    right = right && stream_agrees(&s.stream[0]);
    streams_close(&s);
    return right ? &stop : NULL;
}

/* ---- Scenarios ------------------------------------------------------------------- */

static int is_served(struct streams *s)
{
    int right = 1;
    for (int i = 0; scenario->ahead && right && i < STREAMS - 1; i++)
        right = stream_served(&s->stream[i], 1);
    return right;
}

static int during(const char *ending, struct streams *s)
{
    pthread_t threads[THREADS];
    const unsigned count = scenario->threads;
    int right = (scenario->ahead || all_go_on(s)) && is_served(s);
    for (unsigned i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    while (atomic_load(&at_work) < count)
        sleep_ms(1);
    /* Where keystream is made: in mid-block, right behind a segment, and somewhere. */
    for (size_t i = 0; right && i < 3; i++)
        right = (!scenario->ahead || stream_update(&s->stream[i % 2], i * 7)) &&
                fork_and_go_on(ending, s);
    atomic_store(&stop, 1);
    for (unsigned i = 0; i < count; i++) {
        void *result;
        pthread_join(threads[i], &result);
        right = right && result != NULL;
    }
    return right && is_served(s) && streams_of_its_own();
}

/* The whole of one scenario, in a process of its own. */
static int run(const char *ending)
{
    struct streams s;
    alarm(300);
    if (scenario->ahead && !ahead_begin())
        return 0;
    if (!scenario->ahead)
        test_providers = providers_load();
    streams_open(&s, 1); /* contexts, but not a byte yet */
    int right = scenario->when != AFTER || all_go_on(&s);
    if (scenario->when == DURING)
        right = right && during(ending, &s);
    for (int i = 0; right && scenario->when != DURING && i < 2; i++)
        right = fork_and_go_on(ending, &s);
    right = right && all_go_on(&s) && streams_of_its_own();
    streams_close(&s);
    struct ahead figures = ahead_get();
    if (!stand_in() && ((figures.gpu == 0 && figures.bytes == 0) || figures.faults != 0)) {
        fprintf(stderr, "# the parent: gpu-bytes=%llu faults=%llu\n",
                (unsigned long long)figures.gpu, (unsigned long long)figures.faults);
        right = 0;
    }
    providers_unload(&test_providers);
    return right;
}

int main(int argc, char **argv)
{
    static const char *const memories[] = {"fork=shared", "fork=absent"};
    if (argc > 2) {
        scenario = &scenarios[strtoul(argv[1], NULL, 10) % SCENARIOS];
        return !run(argv[2]);
    }
    for (size_t i = 0; i < SCENARIOS * 3 * 2; i++) {
        if (sanitized() && i % 3 != i / 3 % 3) /* one of three endings */
            continue;
        const char *ending = endings[i % 3], *memory = memories[i / 3 % 2];
        const struct scenario *s = &scenarios[i / 6];
        char emulator[64];
        snprintf(emulator, sizeof emulator, "%s%s", memory, s->ahead ? ",kernel-us=3000" : "");
        tap_ok(ended_well(case_begin(s->ahead ? NULL : "GPUAES_MIN_BYTES=0", emulator, "%zu %s",
                                     i / 6, ending)),
               "fork %s, child ends by %s, %s", s->name, ending, memory);
    }
    return tap_done();
}
