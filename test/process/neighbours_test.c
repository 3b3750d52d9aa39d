/*
 * What else lives in the process: a caller with another context current, streams, pinned
 * and registered memory; signals that arrive all the time; threads that are cancelled;
 * small limits; floating point that traps. Results are right, and nothing of the caller's
 * state changes. Runs against any module; what needs CUDA in the program is skipped
 * without it.
 *
 * Each case is a run of this program of its own.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "test/support/cases.h"
#include "test/support/fault_scenarios.h"

/* ---- The caller's state ----------------------------------------------------------------- */

enum { AN_ERROR = 4711 };

struct state {
    sigset_t mask;
    int error, rounding, traps, cancel_state, cancel_type;
    drv_context context;
    cpu_set_t processors;
    void (*handlers[32])(int);
};

static drv_context current_context(void)
{
    drv_context current = NULL;
    if (application.ctx_pop_current == NULL)
        return NULL;
    if (application.ctx_pop_current(&current) == DRV_SUCCESS && current != NULL)
        (void)application.ctx_push_current(current);
    return current;
}

static void take_state(struct state *s)
{
    memset(s, 0, sizeof *s);
    s->error = errno;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    s->rounding = fegetround();
    s->traps = fegetexcept();
    (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &s->cancel_state);
    (void)pthread_setcancelstate(s->cancel_state, NULL);
    (void)pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &s->cancel_type);
    (void)pthread_setcanceltype(s->cancel_type, NULL);
    (void)sched_getaffinity(0, sizeof s->processors, &s->processors);
    for (int i = 1; i < 32; i++) {
        struct sigaction action = {.sa_handler = SIG_DFL};
        (void)sigaction(i, NULL, &action);
        s->handlers[i] = action.sa_handler;
    }
    s->context = current_context();
    errno = s->error;
}

static int is_same(const struct state *before, const struct state *after)
{
    static const char *const names[] = {"the signal mask", "errno",      "the rounding mode",
                                        "FP traps",        "cancelling", "the current context",
                                        "the affinity",    "a handler"};
    const int same[] = {!memcmp(&before->mask, &after->mask, sizeof before->mask),
                        before->error == after->error,
                        before->rounding == after->rounding,
                        before->traps == after->traps,
                        before->cancel_state == after->cancel_state &&
                            before->cancel_type == after->cancel_type,
                        before->context == after->context,
                        CPU_EQUAL(&before->processors, &after->processors),
                        !memcmp(before->handlers, after->handlers, sizeof before->handlers)};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (!same[i]) {
            fprintf(stderr, "# %s has changed\n", names[i]);
            return 0;
        }
    return 1;
}

/* One update, with the caller's state compared around it. */
static int update_is_right(const char *name, unsigned char *in, unsigned char *out, size_t length)
{
    struct state before, after;
    memset(in, 1, length);
    errno = AN_ERROR;
    take_state(&before);
    int right = update_agrees(&test_providers, name, 1, in, out, length);
    take_state(&after);
    return is_same(&before, &after) && right;
}

static unsigned char pageable[2][8 * MIB + 64];

/* From the start of the device to a large update. */
static int all_sizes(void)
{
    static const size_t lengths[] = {16, 1000, 70000, MIB + 5, 5 * MIB, 16};
    int right = 1;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        right = update_is_right("AES-256-CTR", pageable[0], pageable[1] + 3, lengths[i]) &&
                update_is_right("AES-128-ECB", pageable[0], pageable[0], lengths[i] / 16 * 16) &&
                right;
    return right;
}

/* ---- CUDA in the program --------------------------------------------------------------------- */

static int has_cuda(void)
{
    return !stand_in() && application_begin(0);
}

static int another_context_is_current(void)
{
    if (!has_cuda())
        return -1;
    drv_context own = current_context(), other = NULL;
    int right = all_sizes();
    if (application.primary_ctx_retain(&other, 1) == DRV_SUCCESS) {
        right &= application.ctx_push_current(other) == DRV_SUCCESS && all_sizes() &&
                 current_context() == other;
        (void)application.ctx_pop_current(&other);
    }
    right &= current_context() == own;
    (void)application.ctx_pop_current(&own);
    return right && all_sizes() && current_context() == NULL;
}

/* Work of the application on its own stream, before and behind ours. */
static int streams_and_memory_of_its_own(void)
{
    enum { BYTES = MIB };
    drv_stream stream;
    if (!has_cuda())
        return -1;
    unsigned char *device = application_alloc(DEVICE, BYTES);
    unsigned char *pinned = application_alloc(PINNED, BYTES);
    unsigned char *registered = NULL;
    int right = device && pinned && !posix_memalign((void **)&registered, 4096, BYTES) &&
                application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) == 0 &&
                application.mem_host_register(registered, BYTES, 0) == 0;
    for (unsigned i = 0; right && i < 20; i++) {
        memset(pinned, (int)i, BYTES);
        right =
            application.memcpy_htod_async((drv_ptr)(uintptr_t)device, pinned, BYTES, stream) == 0 &&
            update_is_right("AES-256-CTR", pageable[0], pageable[1], 300000) &&
            update_is_right("AES-128-ECB", registered, registered, BYTES / 2) &&
            application_wait(stream);
        memset(pinned, 0xee, BYTES);
        right =
            right && update_is_right("AES-128-ECB", pinned, pinned, BYTES / 4) &&
            application.memcpy_dtoh_async(pinned, (drv_ptr)(uintptr_t)device, BYTES, stream) == 0 &&
            application_wait(stream) && pinned[0] == i && pinned[BYTES - 1] == i;
    }
    right = right && application.mem_host_unregister(registered) == 0; /* is still its own */
    application_free(PINNED, pinned);
    application_free(DEVICE, device);
    free(registered);
    return right;
}

/* ---- Signals ------------------------------------------------------------------------ */

static pthread_t main_thread;
static atomic_int signals, strays;

static void on_alarm(int number)
{
    (void)number;
    atomic_fetch_add(&signals, 1);
    if (!pthread_equal(pthread_self(), main_thread))
        atomic_fetch_add(&strays, 1);
}

/* System calls are interrupted; our threads take none of the signals. */
static int signals_all_the_time(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    main_thread = pthread_self();
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    int right = all_sizes();
    right &= all_sizes();
    /* Blocked here, they would be taken by any other thread that lets them. */
    sigset_t blocked, before;
    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    right &= all_sizes();
    setitimer(ITIMER_REAL, &never, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    fprintf(stderr, "# %d signals\n", atomic_load(&signals));
    return right && atomic_load(&signals) > 5 && atomic_load(&strays) == 0;
}

/* ---- Cancellation ---------------------------------------------- */

static void free_context(void *context)
{
    EVP_CIPHER_CTX_free(context);
}

static void *until_cancelled(void *unused)
{
    (void)unused;
    static _Thread_local unsigned char buffer[70000];
    int n, state, ok;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); /* libcrypto has locks, too */
    EVP_CIPHER_CTX *context = context_open(1, "AES-256-CTR", fault_key, fault_iv, 1, NULL);
    ok = context != NULL;
    pthread_cleanup_push(free_context, context);
    (void)pthread_setcancelstate(state, NULL);
    for (unsigned i = 0; ok; i++) {
        ok = EVP_CipherUpdate(context, buffer, &n, buffer, i % 3 ? 8000 : sizeof buffer);
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return NULL;
}

/* Nothing stays locked or taken: others go on, and the idle device is released. */
static int cancelled_threads(void)
{
    struct tap_random random = {3};
    int right = 1;
    for (int round = 0; right && round < 12; round++) {
        pthread_t threads[4];
        void *result;
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, until_cancelled, NULL);
        sleep_ms((long)tap_random_below(&random, 40));
        for (int i = 0; i < 4; i++)
            pthread_cancel(threads[i]);
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], &result);
            right &= result == PTHREAD_CANCELED;
        }
        right &= update_is_right("AES-256-CTR", pageable[0], pageable[1], 200000);
    }
    return right && (stand_in() || is_released(60)) && all_sizes();
}

static int cancelled_threads_that_log(void)
{
    (void)!freopen("/dev/null", "w", stderr);
    return cancelled_threads();
}

/* ---- Limits ---------------------------------------------- */

static void limit(int resource, rlim_t most)
{
    struct rlimit l = {most, most};
    if (setrlimit((__rlimit_resource_t)resource, &l) != 0)
        fprintf(stderr, "# a limit cannot be set\n");
}

static int little_locked_memory(void)
{
    limit(RLIMIT_MEMLOCK, 64 * KIB);
    return all_sizes();
}

/* With the libraries open, a device may lack files: then the CPU does it. */
static int few_files(void)
{
    limit(RLIMIT_NOFILE, 8);
    return all_sizes();
}

/* ---- Floating point ---------------------------------------------- */

static int floating_point_traps(void)
{
    (void)feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    (void)fesetround(FE_UPWARD);
    providers_unload(&test_providers);
    test_providers = providers_load();
    int right = all_sizes();
    for (int i = 0; i < 2000 && !stand_in() && !devices_in_use(); i++)
        sleep_ms(5);
    for (int i = 0; i < 20; i++)
        right &= update_is_right("AES-256-CTR", pageable[0], pageable[1], 300000 + (size_t)i) &&
                 update_is_right("AES-256-ECB", pageable[0], pageable[0], 70000 / 16 * 16);
    return right && fegetround() == FE_UPWARD;
}

/* ---- Cases ---------------------------------------------- */

static const struct case_row cases[] = {
    {"another context is current", NULL, NULL, another_context_is_current},
    {"streams, pinned and registered memory of its own", NULL, NULL, streams_and_memory_of_its_own},
    {"signals all the time", NULL, NULL, signals_all_the_time},
    {"signals all the time, policy=auto", "GPUAES_MIN_BYTES=auto GPUAES_START=eager", NULL,
     signals_all_the_time},
    {"cancelled threads", "GPUAES_IDLE_SECONDS=1", NULL, cancelled_threads},
    {"cancelled threads that write a log", "GPUAES_IDLE_SECONDS=1 GPUAES_LOG=debug", NULL,
     cancelled_threads_that_log},
    {"64 KiB of locked memory", NULL, NULL, little_locked_memory},
    {"8 files", NULL, NULL, few_files},
    {"floating point traps, and rounds upwards", "GPUAES_MIN_BYTES=auto GPUAES_START=eager", NULL,
     floating_point_traps},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    if (argc > 1)
        return case_named(argv[1], cases);
    setenv("GPUAES_MIN_BYTES", "0", 0);
    setenv("GPUAES_EMULATOR", "devices=2", 0);
    cases_check(cases, CASES, 1);
    return tap_done();
}
