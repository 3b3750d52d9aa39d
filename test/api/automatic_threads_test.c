/*
 * How many threads do a large call where no number of them is set: by its length, and by the CPUs
 * that the calling thread may use, of which this program says how many there are. What all calls
 * share, what does not count, and faults and forks on the way. On the emulator.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "test/support/library.h"

#define MIB ((size_t)1 << 20)

/* ---- The machine ---------------------------------------------------------------- */

static atomic_uint cpus;  /* 0: the kernel does not say */
static atomic_uint begun; /* threads of the library: none but these are created detached */

/* In the place of libc's. */
int sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t *set)
{
    unsigned count = atomic_load(&cpus);
    if (thread != 0 || count == 0) {
        errno = EINVAL;
        return -1;
    }
    CPU_ZERO_S(bytes, set);
    for (unsigned i = 0; i < count; i++)
        CPU_SET_S(2 * i + 1, bytes, set); /* not the first ones */
    return 0;
}

int pthread_attr_setdetachstate(pthread_attr_t *attributes, int state)
{
    int (*real)(pthread_attr_t *, int);
    void *symbol = dlsym(RTLD_NEXT, "pthread_attr_setdetachstate");
    memcpy(&real, &symbol, sizeof real);
    if (state == PTHREAD_CREATE_DETACHED)
        atomic_fetch_add(&begun, 1);
    return real(attributes, state);
}

/* ---- Calls ------------------------------------------------------------------------ */

/* How many parts the call has; 0 if it is wrong. */
static unsigned parts_of(enum gpuaes_op op, size_t len, int in_place)
{
    struct gpuaes_report report;
    struct work work = {op, len, GPUAES_PAGEABLE, in_place, NULL};
    return work_status(&work, &report) == GPUAES_OK ? report.shards : 0;
}

/* A call has so many parts, and there have been so many helpers; the other thread starts devices.
 */
static int is_done_by(unsigned parts, unsigned helpers, size_t len)
{
    return parts_of(GPUAES_CTR, len, 0) == parts && atomic_load(&begun) - 1 == helpers;
}

/* ---- Cases: 1 if all is right ----------------------------------------------------------- */

struct machine {
    const char *name;
    unsigned cpus, parts; /* parts of a call of `len` */
    struct gpuaes_settings settings;
    size_t len;
};

static int has_parts(const void *argument)
{
    const struct machine *m = argument;
    struct gpuaes_settings told = {.struct_bytes = sizeof told};
    atomic_store(&cpus, m->cpus);
    return !(starts_with(&m->settings) && is_done_by(m->parts, m->parts - 1, m->len) &&
             gpuaes_get_settings(&told) &&
             (m->settings.threads == 0 || told.threads == m->settings.threads));
}

static int starts_on(unsigned count)
{
    atomic_store(&cpus, count);
    return starts_with(NULL);
}

static int number_is_told(void)
{
    struct gpuaes_settings settings = {.struct_bytes = sizeof settings};
    if (!starts_on(6) || !gpuaes_get_settings(&settings) || settings.threads != 3)
        return 0;
    atomic_store(&cpus, 1);
    return gpuaes_get_settings(&settings) && settings.threads == 1;
}

/* An application may take CPUs from a thread at any time, and give them back. */
static int number_follows_the_thread(void)
{
    static const unsigned steps[][3] = {{1, 1, 0}, {4, 2, 1}, {16, 4, 3}, {2, 1, 3}};
    int right = starts_on(1);
    for (size_t i = 0; right && i < sizeof steps / sizeof steps[0]; i++) {
        atomic_store(&cpus, steps[i][0]);
        right = is_done_by(steps[i][1], steps[i][2], 16 * MIB);
    }
    return right;
}

enum { CALLERS = 4 };

/* Four parts each. Where kernels take long, four threads are set: they share less as well. */
static int starts_for_callers(unsigned count)
{
    const struct gpuaes_settings settings = {.threads = sanitized() ? 4 : 0};
    atomic_store(&cpus, count);
    return starts_with(&settings);
}

static void *call(void *argument)
{
    const enum gpuaes_op *op = argument;
    size_t len = (sanitized() ? 4 : 16) * MIB + 48;
    return parts_of(*op, len, *op == GPUAES_CTR) == 4 ? NULL : argument;
}

static int runs_callers(void)
{
    static enum gpuaes_op ops[CALLERS] = {GPUAES_CTR, GPUAES_CBC_DECRYPT, GPUAES_ECB_ENCRYPT,
                                          GPUAES_ECB_DECRYPT};
    pthread_t callers[CALLERS];
    int wrong = 0, count = sanitized() ? 2 : CALLERS;
    for (int i = 0; i < count; i++)
        pthread_create(&callers[i], NULL, call, &ops[i]);
    for (int i = 0; i < count; i++) {
        void *result;
        pthread_join(callers[i], &result);
        wrong |= result != NULL;
    }
    return !wrong && (sanitized() || atomic_load(&begun) - 1 == 3);
}

static int callers_share_helpers(void)
{
    return starts_for_callers(64) && runs_callers();
}

static atomic_int ended;

static void *go_on(void *unused)
{
    (void)unused;
    int right = runs_callers();
    atomic_store(&ended, 1);
    return right ? NULL : &ended;
}

/* Forks meet calls and helpers in any state; no child has a device, or waits for a helper. */
static int forks_meanwhile(void)
{
    pthread_t thread;
    void *wrong;
    int status = 0, right = 1;
    if (!starts_for_callers(8))
        return 0;
    pthread_create(&thread, NULL, go_on, NULL);
    while (right && !atomic_load(&ended)) {
        pid_t child = fork();
        if (child == 0) {
            unsigned char iv[16] = {0}, block[64] = {0};
            struct gpuaes_key key;
            gpuaes_key_expand(&key, iv, 16);
            _exit(gpuaes_aes(GPUAES_CTR, &key, iv, block, block, 64, GPUAES_WAIT, NULL) !=
                  GPUAES_NOT_READY);
        }
        right = waitpid(child, &status, 0) == child && status == 0;
        usleep(sanitized() ? 20000 : 1000);
    }
    pthread_join(thread, &wrong);
    return right && wrong == NULL;
}

static int random_lengths_are_right(void)
{
    int right = starts_on(16);
    for (int n = 0; right && n < SINGLE_OPS; n += sanitized() ? 3 : 1) {
        enum gpuaes_op op = single_ops[n];
        size_t more = 16 * MIB + tap_random_below(&random_state, MIB) / 16 * 16;
        size_t less = MIB + tap_random_below(&random_state, 15 * MIB) / 16 * 16;
        right = parts_of(op, more, n % 2) == 4 && parts_of(op, less, 1 - n % 2) != 0;
    }
    return right;
}

static int base64_is_shared(void)
{
    return starts_on(8) && base64_agrees(GPUAES_PAGEABLE, 17 * MIB / 3 * 3) &&
           atomic_load(&begun) - 1 == 3;
}

/* The caller ends up with the right output. */
static int is_finished(const void *argument)
{
    const struct work *w = argument;
    struct gpuaes_settings settings = {.timeout_ms = timeout_for(w->faults)};
    struct gpuaes_report report;
    atomic_store(&cpus, 8);
    return !(starts_with(&settings) && work_status(w, &report) == GPUAES_FAULT &&
             report.shards == 4 && gpuaes_state() == GPUAES_FAILED);
}

static const struct machine machines[] = {
    {"64 CPUs, 32 MiB", 64, 4, {0}, 32 * MIB},
    {"8 CPUs, 16 MiB", 8, 4, {0}, 16 * MIB},
    {"7 CPUs", 7, 3, {0}, 16 * MIB},
    {"6 CPUs", 6, 3, {0}, 16 * MIB},
    {"4 CPUs", 4, 2, {0}, 16 * MIB},
    {"3 CPUs, 32 MiB", 3, 1, {0}, 32 * MIB},
    {"1 CPU", 1, 1, {0}, 16 * MIB},
    {"the kernel does not say", 0, 1, {0}, 16 * MIB},
    {"a block less than 16 MiB", 64, 3, {0}, 16 * MIB - 16},
    {"8 MiB", 64, 2, {0}, 8 * MIB},
    {"a block less than 8 MiB", 64, 1, {0}, 8 * MIB - 16},
    {"a number of one is one, whatever the CPUs", 64, 1, {.threads = 1}, 16 * MIB},
    {"so is a number of four", 1, 4, {.threads = 4}, 4 * MIB},
    {"four threads with staging memory for one",
     1,
     1,
     {.threads = 4, .pinned_bytes = 9 * MIB},
     4 * MIB},
    {"staging memory for one thread", 64, 1, {.pinned_bytes = 9 * MIB}, 16 * MIB},
};
/* The first are of several threads. */
static const struct child_case cases[] = {
    {"several callers share three helpers", callers_share_helpers},
    {"a process that forks meanwhile", forks_meanwhile},
    {"how many there are is told", number_is_told},
    {"what the thread may use counts at each call", number_follows_the_thread},
    {"calls of random lengths are right", random_lengths_are_right},
    {"so is Base64", base64_is_shared},
};
enum { FAULT_BYTES = (16 << 20) + 48 };
static const struct work faults[] = {
    {GPUAES_CTR, FAULT_BYTES, 0, 1, "lost=launch_kernel:7"},
    {GPUAES_CBC_DECRYPT, FAULT_BYTES, 0, 0, "lost=launch_kernel:1"},
    {GPUAES_CBC_DECRYPT, FAULT_BYTES, 0, 1, "fault=launch_kernel:9"},
    {GPUAES_ECB_ENCRYPT, FAULT_BYTES, 0, 1, "lost=memcpy_htod_async:6"},
    {GPUAES_ECB_DECRYPT, FAULT_BYTES, 0, 0, "fault=event_record:5"},
    {GPUAES_CTR, FAULT_BYTES, 0, 0, "hang=6"},
    {GPUAES_CBC_DECRYPT, FAULT_BYTES, 0, 1, "hang=3"},
};

int main(void)
{
    tap_random_seed(&random_state);
    children_ok(cases, THREADS_ALONE ? 2 : sizeof cases / sizeof cases[0]);
    if (THREADS_ALONE)
        return tap_done();
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i += sanitized() ? 4 : 1)
        child_ok(has_parts, &machines[i], "%s: %u threads", machines[i].name, machines[i].parts);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        child_ok(is_finished, &faults[i], "%s, %s, %s", faults[i].faults, op_names[faults[i].op],
                 faults[i].in_place ? "in place" : "out of place");
    return tap_done();
}
