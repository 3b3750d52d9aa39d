/*
 * Processes of many kinds: forks while the device starts, by system call, while threads
 * work; children that exec or end at once; the module opened and closed; several
 * library contexts; unloading while streams go on; filters of system calls. Bytes are
 * the default provider's, and nothing hangs. For the emulator only.
 *
 * Each case is a run of this program of its own, with pinned memory that children share
 * and with pinned memory that they do not have. fork_test.c and exit_test.c have more.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "test/support/cases.h"
#include "test/support/fault_scenarios.h"
#include "test/support/leaks_allowed.h" /* children end while threads run */

enum { THREADS = 6 };
extern char **environ;

/* Small work that any thread may do, with contexts of its own. */
static int one_stream(unsigned number, int rounds)
{
    const char *name = number % 2 ? "AES-256-CTR" : "AES-128-ECB";
    int right = 1;
    while (right && rounds-- > 0)
        right = message_agrees(&test_providers, name, 2000);
    return right;
}

/* ---- Threads at work meanwhile ------------------------------------------------------- */

static atomic_int stop, at_work;

static void *go_on(void *number)
{
    int right = one_stream((unsigned)(uintptr_t)number, 1);
    atomic_fetch_add(&at_work, 1);
    while (right && !atomic_load(&stop))
        right = one_stream((unsigned)(uintptr_t)number, 5);
    return right ? number : NULL;
}

/* 1 if `body` and all threads at the same time found all right. */
static int while_threads_work(int (*body)(void))
{
    pthread_t threads[THREADS];
    void *result;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, go_on, (void *)(i + 1));
    while (atomic_load(&at_work) < THREADS)
        sleep_ms(1);
    int right = body();
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        right &= result != NULL;
    }
    return right;
}

/* ---- Forks ------------------------------------------------------------------------------- */

/* The start takes a while; children at each stage of it. */
static int fork_while_it_starts(void)
{
    int right = 1;
    setenv("GPUAES_MIN_BYTES", "auto", 1);
    setenv("GPUAES_START", "eager", 1);
    test_providers = providers_load();
    for (unsigned i = 0; i < 12; i++) {
        right &= one_stream(i, 1);
        pid_t child = fork();
        if (child == 0) {
            alarm(2 * LIMIT_SECONDS);
            int good = one_stream(i, 3) && work_as_usual();
            if (i % 3 == 0)
                execl("/bin/true", "true", (char *)NULL);
            if (i % 3 == 1)
                _exit(!good);
            providers_unload(&test_providers);
            exit(!good);
        }
        right &= ended_well(child);
        sleep_ms(15);
    }
    return right && COMES(devices_in_use()) && devices_in_use() == 1 && work_as_usual();
}

/* By the system call, past all handlers of pthread_atfork(). */
static int fork_by_system_call(void)
{
    test_providers = providers_load();
    int right = work_as_usual();
    for (int i = 0; i < 3; i++) {
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (child == 0)
            _exit(!(work_as_usual() && one_stream(1, 3)));
        right &= ended_well(child) && work_as_usual();
    }
    return right;
}

static char *const true_arguments[] = {(char *)"true", NULL};

/* A function of its own: variables of a function that calls vfork() may be clobbered. */
static pid_t vfork_and_exec(void)
{
    pid_t child = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
    if (child == 0) {
        (void)execv("/bin/true", true_arguments);
        _exit(1);
    }
    return child;
}

static pid_t child_that_leaves(int how)
{
    pid_t child = -1;
    if (how == 2)
        return vfork_and_exec();
    if (how == 3)
        return posix_spawn(&child, "/bin/true", NULL, NULL, true_arguments, environ) ? -1 : child;
    child = fork();
    if (child == 0 && how == 1)
        (void)execv("/bin/true", true_arguments);
    if (child == 0)
        _exit(how);
    return child;
}

static int leave_at_once(void)
{
    int right = 1;
    for (int i = 0; i < 24; i++)
        right &= ended_well(child_that_leaves(i % 4));
    return right;
}

static int children_that_leave_at_once(void)
{
    test_providers = providers_load();
    return work_as_usual() && while_threads_work(leave_at_once) && work_as_usual();
}

static void *fork_and_wait(void *unused)
{
    (void)unused;
    int right = 1;
    for (int i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(2 * LIMIT_SECONDS);
            _exit(!one_stream(1, 2));
        }
        right &= ended_well(child);
    }
    return right ? &stop : NULL;
}

static int fork_in_threads(void)
{
    pthread_t threads[4];
    void *result;
    int right = 1;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, fork_and_wait, NULL);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        right &= result != NULL;
    }
    return right;
}

static int many_threads_fork(void)
{
    test_providers = providers_load();
    return work_as_usual() && while_threads_work(fork_in_threads) && work_as_usual();
}

/* ---- The module ------------------------------------------------------------------------------ */

static int open_and_close(void)
{
    char path[4096];
    const char *folder = getenv("OPENSSL_MODULES");
    snprintf(path, sizeof path, "%s/gpuaes.so", folder ? folder : ".");
    for (int i = 0; i < 100; i++) {
        void *module = dlopen(path, RTLD_NOW | (i % 2 ? RTLD_LOCAL : RTLD_GLOBAL));
        if (module == NULL || dlsym(module, "OSSL_provider_init") == NULL || dlclose(module) != 0)
            return 0;
    }
    return 1;
}

static int it_is_opened_and_closed(void)
{
    int right = open_and_close();
    setenv("GPUAES_START", "eager", 1);
    for (int i = 0; i < 20; i++) { /* the start begins in the first of them */
        test_providers = providers_load();
        right &= one_stream((unsigned)i, 1) && open_and_close();
        providers_unload(&test_providers);
    }
    test_providers = providers_load();
    return right && work_as_usual();
}

/* A library context of its own for each thread, again and again. */
static void *own_library_context(void *unused)
{
    (void)unused;
    int right = 1;
    for (int i = 0; i < 4; i++) {
        struct providers own = providers_load();
        right &= message_agrees(&own, "AES-256-CTR", 3000);
        providers_unload(&own);
    }
    return right ? &stop : NULL;
}

static int library_contexts_at_once(void)
{
    pthread_t threads[THREADS];
    void *result;
    int right = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, own_library_context, NULL);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        right &= result != NULL;
    }
    test_providers = providers_load();
    return right && work_as_usual();
}

static atomic_int held;

static void *hold_and_go_on(void *unused)
{
    (void)unused;
    struct stream s = stream_open(memory_new(1), "AES-128-CTR", usual_key, usual_iv);
    int right = stream_update(&s, 500);
    atomic_fetch_add(&held, 1);
    while (right && !atomic_load(&stop)) {
        right = stream_update(&s, 3000);
        atomic_fetch_add(&at_work, 1);
    }
    right = right && stream_update(&s, 3000) && stream_agrees(&s);
    stream_close(&s);
    free(s.memory);
    return right ? &stop : NULL;
}

/* Contexts hold the provider; what the application lets go of goes with the last of them. */
static int unload_while_streams_run(void)
{
    pthread_t threads[THREADS];
    void *result;
    int right = 1;
    test_providers = providers_load();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, hold_and_go_on, NULL);
    while (atomic_load(&held) < THREADS)
        sleep_ms(1);
    OSSL_PROVIDER_unload(test_providers.gpuaes);
    test_providers.gpuaes = NULL;
    for (int from = atomic_load(&at_work); atomic_load(&at_work) < from + 10 * THREADS;)
        sleep_ms(1);
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        right &= result != NULL;
    }
    providers_unload(&test_providers);
    test_providers = providers_load();
    return right && work_as_usual();
}

/* ---- Filters of system calls -------------------------------------------------------- */

/* From now on these calls fail with EPERM. */
static int forbid(const int *calls, size_t count)
{
    struct sock_filter filter[16] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sock_fprog program = {.filter = filter};
    unsigned short at = 1;
    for (size_t i = 0; i < count; i++) {
        filter[at++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
        filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = at;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int no_threads(void)
{
    static const int calls[] = {SYS_clone, SYS_clone3};
    test_providers = providers_load();
    return forbid(calls, 2) && work_as_usual() && devices_in_use() == 0 && one_stream(1, 5);
}

static int no_threads_any_more(void)
{
    static const int calls[] = {SYS_clone, SYS_clone3};
    test_providers = providers_load();
    return work_as_usual() && forbid(calls, 2) && work_as_usual() && one_stream(1, 5);
}

static int no_files(void)
{
    static const int calls[] = {SYS_openat, SYS_openat2};
    test_providers = providers_load();
    return forbid(calls, 2) && work_as_usual() && one_stream(1, 5);
}

static int no_advice_and_no_sleep(void)
{
    static const int calls[] = {SYS_madvise, SYS_nanosleep, SYS_clock_nanosleep, SYS_sched_yield};
    test_providers = providers_load();
    return forbid(calls, 4) && work_as_usual() && one_stream(1, 5);
}

/* ---- Cases ---------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(void);
    const char *emulator;
} cases[] = {
    {"fork while the device starts", fork_while_it_starts, "init-ms=120"},
    {"fork by system call", fork_by_system_call, ""},
    {"children that leave at once, while threads work", children_that_leave_at_once, ""},
    {"forks from several threads, while others work", many_threads_fork, ""},
    {"the module is opened and closed", it_is_opened_and_closed, "init-ms=50"},
    {"several library contexts at once", library_contexts_at_once, "init-ms=20"},
    {"unload while streams run", unload_while_streams_run, ""},
    {"threads are forbidden", no_threads, ""},
    {"threads are forbidden once the device is there", no_threads_any_more, ""},
    {"opening files is forbidden", no_files, ""},
    {"advice and sleep are forbidden", no_advice_and_no_sleep, ""},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    static const char *const layouts[] = {"fork=shared", "fork=absent"};
    if (argc > 1) {
        alarm(2 * LIMIT_SECONDS);
        return !cases[strtoul(argv[1], NULL, 10) % CASES].run();
    }
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    setenv("GPUAES_MIN_BYTES", "0", 1);
    for (size_t i = 0; i < CASES; i++)
        for (int layout = 0; layout < 2; layout++) {
            char options[64];
            snprintf(options, sizeof options, "%s,%s", layouts[layout], cases[i].emulator);
            /* A sanitizer's allocator may be locked for ever in what several threads fork. */
            int right = 0;
            for (int tries = sanitized() ? 3 : 1; tries > 0 && !right; tries--)
                right = ended_well(case_begin(NULL, options, "%zu", i));
            tap_ok(right, "%s, %s", cases[i].name, layouts[layout]);
        }
    return tap_done();
}
