/*
 * A device that fails: each function of the driver at its first, middle and last
 * call and some others, a device that is lost, one that hangs, and machines with no
 * device, no driver or too little memory. The output is right or, where an
 * update is in place, the call fails and says that the buffer is undefined; it
 * is never silently wrong, and nothing hangs. For the emulator only.
 *
 * The device's state belongs to the process, so each fault is this program
 * again, run with the emulator's options in its environment. Sanitizers see the
 * same code fail with fewer of them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../provider/errors.h"
#include "application.h"
#include "providers.h"

static struct providers providers;

static const struct {
    const char *name, *symbol;
} functions[] = {
#define FUNCTION_ROW(member, symbol, parameters) {#member, #symbol},
    DRIVER_FUNCTIONS(FUNCTION_ROW)
#undef FUNCTION_ROW
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* ---- The scenario that a fault interrupts -------------------------------- */

enum { LENGTH = 384 << 10, PARTS_LENGTH = 2 << 20, ODD = 5 };

static size_t longest = LENGTH; /* of the updates */

static const struct {
    const char *cipher;
    int encrypt, in_place;
} tasks[] = {
    {"AES-256-CTR", 1, 0}, {"AES-256-CTR", 1, 1}, {"AES-128-ECB", 1, 0}, {"AES-128-ECB", 0, 1},
    {"AES-192-CBC", 0, 0}, {"AES-192-CBC", 0, 1}, {"AES-256-CBC", 1, 0},
};
enum { TASKS = sizeof tasks / sizeof tasks[0] };

enum verdict { RIGHT, REFUSED, WRONG };

/* What a refusal is allowed to say: that the buffer is undefined. */
static int says_undefined(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    int says = reason && !strcmp(reason, "the GPU failed and the output buffer is undefined");

    if (!says)
        ERR_print_errors_fp(stderr);
    ERR_clear_error();
    return says;
}

/* Updates of several sizes, each compared with the default provider's. */
static enum verdict run_task(size_t task, unsigned char *in, unsigned char *out,
                             unsigned char *expected)
{
    const int lengths[] = {(int)longest, 64, (int)longest / 4 + 48};
    static const unsigned char key[32] = "a key that no device gets to eat",
                               iv[16] = "\xff\xff\xff";
    EVP_CIPHER *ours = fetch_ours(&providers, tasks[task].cipher);
    EVP_CIPHER *reference = fetch_reference(&providers, tasks[task].cipher);
    EVP_CIPHER_CTX *a = EVP_CIPHER_CTX_new(), *b = EVP_CIPHER_CTX_new();
    enum verdict verdict = RIGHT;
    int encrypt = tasks[task].encrypt, n = 0, m = 0;
    size_t i;

    EVP_CipherInit_ex2(a, ours, key, iv, encrypt, NULL);
    EVP_CipherInit_ex2(b, reference, key, iv, encrypt, NULL);
    EVP_CIPHER_CTX_set_padding(a, 0);
    EVP_CIPHER_CTX_set_padding(b, 0);
    for (i = 0; verdict == RIGHT && i < sizeof lengths / sizeof lengths[0]; i++) {
        memset(in, (int)(i * 16 + task), longest);
        EVP_CipherUpdate(b, expected, &m, in, lengths[i]);
        if (tasks[task].in_place)
            memcpy(out, in, longest);
        if (!EVP_CipherUpdate(a, out, &n, tasks[task].in_place ? out : in, lengths[i]))
            verdict = tasks[task].in_place && says_undefined() ? REFUSED : WRONG;
        else if (n != m || memcmp(out, expected, (size_t)m))
            verdict = WRONG;
    }
    if (verdict == WRONG)
        fprintf(stderr, "# %s %s %s: wrong in update %zu\n", tasks[task].cipher,
                encrypt ? "encrypt" : "decrypt", tasks[task].in_place ? "in place" : "apart", i);
    EVP_CIPHER_CTX_free(a);
    EVP_CIPHER_CTX_free(b);
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(reference);
    return verdict;
}

/* The tasks from one on; returns the number that were wrong. */
static void *run_tasks(void *first)
{
    unsigned char *in = malloc(longest + 64), *out = malloc(longest + 64);
    unsigned char *expected = malloc(longest + 64);
    uintptr_t wrong = 0;
    size_t task;

    for (task = *(const size_t *)first; task < TASKS; task++)
        wrong += run_task(task, in + ODD, out + ODD, expected) == WRONG;
    free(in);
    free(out);
    free(expected);
    return (void *)wrong;
}

/* Unloads, and tells how often each function has been called until then. */
static int finish(int wrong)
{
    struct figures figures = figures_get(&providers);
    unsigned (*calls)(const char *) = NULL;
    void *symbol;
    size_t i;

    providers_unload(&providers);
    printf("%llu %llu", (unsigned long long)figures.faults, (unsigned long long)figures.gpu_bytes);
    symbol = application_emulated() ? dlsym(application_library, "emulator_calls") : NULL;
    memcpy(&calls, &symbol, sizeof symbol);
    for (i = 0; i < FUNCTIONS; i++)
        printf(" %u", calls ? calls(functions[i].name) : 0);
    return wrong;
}

/*
 * Once by itself, then from two threads, then unload: what still stands must
 * still work. With `idle`, the device is released in between for want of work.
 */
static int run_scenario(int idle)
{
    static const size_t all = 0, last_ones = TASKS - 3;
    pthread_t threads[2];
    uintptr_t wrong;
    void *result;
    int i;

    alarm(30);
    providers = providers_load();
    wrong = (uintptr_t)run_tasks((void *)(uintptr_t)&all);
    if (idle)
        usleep(2500000);
    for (i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run_tasks, (void *)(uintptr_t)&last_ones);
    for (i = 0; i < 2; i++) {
        pthread_join(threads[i], &result);
        wrong += (uintptr_t)result;
    }
    return finish(wrong != 0);
}

/* Updates so long that they are cut up between devices and threads. */
static int run_parts(void)
{
    static const size_t first = 0;
    int wrong;

    alarm(60);
    longest = PARTS_LENGTH + 16;
    providers = providers_load();
    wrong = run_tasks((void *)(uintptr_t)&first) != NULL;
    return finish(wrong);
}

/* ---- Device memory --------------------------------------------------------- */

/* What may be said of an update that failed; its output is not claimed then. */
static int says_why(void)
{
    static const char *const allowed[] = {"the GPU failed and the output buffer is undefined",
                                          "device memory cannot be used here", "no GPU can be used",
                                          "a device buffer leaves its allocation",
                                          "bad parameter" /* a stream that is not known */};
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    size_t i, says = 0;

    for (i = 0; reason && i < sizeof allowed / sizeof allowed[0]; i++)
        says |= !strcmp(reason, allowed[i]);
    if (!says)
        ERR_print_errors_fp(stderr);
    ERR_clear_error();
    return says != 0;
}

/* A stream on which a kernel hangs is not waited for for ever. */
static int stream_ends(drv_stream stream)
{
    int i;

    for (i = 0; i < 2000 && application.stream_query(stream) == DRV_NOT_READY; i++)
        usleep(1000);
    return application.stream_query(stream) == DRV_SUCCESS;
}

/* As run_task(). The emulator's device memory can be read as it lies. */
static enum verdict run_device_task(size_t task, unsigned char *memory, drv_stream stream)
{
    enum { SIZE = 20000 };
    static const int lengths[] = {4096, 7, 6000, 9, 64, 8192};
    static const unsigned char key[32] = "a key that no device gets to eat", iv[16] = "\xff\xff";
    static unsigned char text[SIZE], expected[SIZE];
    uint64_t handle = (uintptr_t)stream;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64("cuda-stream", &handle), OSSL_PARAM_END};
    unsigned one = 1;
    EVP_CIPHER *ours = fetch_ours(&providers, tasks[task].cipher);
    EVP_CIPHER *reference = fetch_reference(&providers, tasks[task].cipher);
    EVP_CIPHER_CTX *a = EVP_CIPHER_CTX_new(), *b = EVP_CIPHER_CTX_new();
    unsigned char *out = tasks[task].in_place ? memory : memory + SIZE;
    int n = 0, m = 0, good, counted = 1, consumed = 0, written = 0;
    size_t i;

    if (!stream)
        params[0] = (OSSL_PARAM)OSSL_PARAM_uint("device-memory", &one);
    memset(text, (int)task, SIZE);
    memcpy(memory, text, SIZE);
    EVP_CipherInit_ex2(b, reference, key, iv, tasks[task].encrypt, NULL);
    good = EVP_CipherInit_ex2(a, ours, key, iv, tasks[task].encrypt, params);
    EVP_CIPHER_CTX_set_padding(a, 0);
    EVP_CIPHER_CTX_set_padding(b, 0);
    for (i = 0; good && counted && i < sizeof lengths / sizeof lengths[0]; i++) {
        EVP_CipherUpdate(b, expected + written, &m, text + consumed, lengths[i]);
        good = EVP_CipherUpdate(a, out + written, &n, memory + consumed, lengths[i]);
        counted = !good || n == m;
        consumed += lengths[i];
        written += m;
    }
    good = good ? stream_ends(stream) : !says_why() ? -1 : 0;
    EVP_CIPHER_CTX_free(a);
    EVP_CIPHER_CTX_free(b);
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(reference);
    if (!counted || good < 0 || (good && memcmp(out, expected, (size_t)written)))
        return WRONG;
    return good ? RIGHT : REFUSED;
}

static int run_device(void)
{
    unsigned char *memory = NULL;
    drv_stream stream = NULL;
    size_t task;
    int wrong = 0;

    alarm(30);
    providers = providers_load();
    if (application_begin(0) && application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) == 0)
        memory = application_alloc(DEVICE, 40000);
    for (task = 0; memory && task < TASKS * 2; task++)
        if (run_device_task(task / 2, memory, task % 2 ? stream : NULL) == WRONG) {
            fprintf(stderr, "# device memory, task %zu: wrong\n", task);
            wrong = 1;
        }
    return finish(wrong);
}

/* engine=gpu without a device: a clear error, and no output. */
static int run_refusal(void)
{
    unsigned char key[32] = {0}, iv[16] = {0}, *buffer = calloc(1, LENGTH);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_CIPHER *cipher;
    const char *reason;
    int n = 0, result, good;

    alarm(30);
    providers = providers_load();
    cipher = fetch_ours(&providers, "AES-256-CTR");
    EVP_CipherInit_ex2(context, cipher, key, iv, 1, NULL);
    result = EVP_CipherUpdate(context, buffer, &n, buffer, LENGTH);
    reason = ERR_reason_error_string(ERR_peek_error());
    good = result <= 0 && reason && !strcmp(reason, "no GPU can be used");
    if (!good)
        fprintf(stderr, "# result %d, reason \"%s\"\n", result, reason ? reason : "");
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    free(buffer);
    return finish(!good);
}

/* ---- The faults ---------------------------------------------------------- */

struct result {
    int good;
    unsigned long long faults, gpu_bytes;
    unsigned calls[FUNCTIONS];
};

/* Runs this program again with these options of the emulator. */
static struct result run_with(const char *argument, const char *options)
{
    struct result result = {0, 0, 0, {0}};
    int ends[2], status = -1;
    pid_t child;
    FILE *report;
    size_t i;

    if (pipe(ends))
        return result;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        setenv("GPUAES_EMULATOR", options, 1);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "faults_test", argument, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    report = fdopen(ends[0], "r");
    result.good = report && fscanf(report, "%llu %llu", &result.faults, &result.gpu_bytes) == 2;
    for (i = 0; result.good && i < FUNCTIONS; i++)
        result.good = fscanf(report, "%u", &result.calls[i]) == 1;
    if (report)
        fclose(report);
    result.good = waitpid(child, &status, 0) == child && status == 0 && result.good;
    if (!result.good)
        fprintf(stderr, "# GPUAES_EMULATOR=%s: status %#x%s\n", options, (unsigned)status,
                WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ", hung" : "");
    return result;
}

/* One function of the driver at several of its `calls`. */
static void check_function(const char *argument, size_t function, unsigned calls)
{
    enum { ANY = 999, NO_MEMORY = DRV_OUT_OF_MEMORY, LAUNCH_FAILED = DRV_LAUNCH_FAILED };
    const struct {
        unsigned call;
        int code;
    } faults[] = {{1, ANY},
                  {calls / 2 + 1, NO_MEMORY},
                  {calls, LAUNCH_FAILED},
                  {1, NO_MEMORY},
                  {2, ANY},
                  {3, ANY},
                  {4, LAUNCH_FAILED},
                  {5, ANY},
                  {9, ANY}};
    const char *name = functions[function].name;
    unsigned long long counted = 0;
    char options[128];
    int good = 1;
    size_t i, count = sanitized() ? 3 : sizeof faults / sizeof faults[0];

    if (!calls) {
        tap_skip("%s is not called here", name);
        return;
    }
    for (i = 0; i < count; i++) {
        struct result result;

        if (faults[i].call > calls)
            continue;
        snprintf(options, sizeof options, "fault=%s:%u:%d", functions[function].symbol,
                 faults[i].call, faults[i].code);
        result = run_with(argument, options);
        good = good && result.good;
        counted += result.faults;
    }
    tap_ok(good, "%s: %s fails, of %u calls: output right", argument, name, calls);
    if (!counted)
        tap_diag("no fault was counted: %s may fail", name);
}

static void check_functions(void)
{
    struct result host = run_with("scenario", "devices=1"), device = {1, 0, 0, {0}};
    size_t i;

    if (!stand_in()) /* which knows no device memory */
        device = run_with("device", "devices=1");
    tap_ok(host.good && device.good && !host.faults && !device.faults, "no fault: output right");
    for (i = 0; i < FUNCTIONS; i++)
        if (host.calls[i] || !device.calls[i])
            check_function("scenario", i, host.calls[i]);
        else
            check_function("device", i, device.calls[i]);
}

/* What is called only when the device is released. */
static void check_releases(void)
{
    static const char *const names[] = {"primary_ctx_release", "module_unload", "stream_destroy",
                                        "event_destroy",       "mem_free",      "mem_free_host"};
    char options[128];
    size_t i;

    setenv("GPUAES_IDLE_SECONDS", "1", 1);
    tap_ok(run_with("idle", "devices=1").good, "released when idle, and taken again: output right");
    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(options, sizeof options, "fault=%s:1,fault=%s:2", names[i], names[i]);
        tap_ok(run_with("idle", options).good, "%s fails in a release: output right", names[i]);
    }
    tap_ok(run_with("idle", "lost=mem_free:1").good, "the device is lost in a release");
    unsetenv("GPUAES_IDLE_SECONDS");
}

static void check_losses(void)
{
    static const char *const options[] = {
        "lost=launch_kernel:1",     "lost=launch_kernel:3",     "lost=memcpy_htod_async:1",
        "lost=memcpy_htod_async:4", "lost=memcpy_dtoh_async:1", "lost=memcpy_dtoh_async:5",
        "lost=event_record:2",      "lost=event_query:2",       "lost=stream_create:1",
        "lost=module_load_data:1",  "lost=mem_alloc:1",         "lost=mem_host_alloc:2",
        "lost=ctx_push_current:3",  "lost=ctx_pop_current:5",   "lost=primary_ctx_retain:1",
        "lost=stream_query:3",
    };
    size_t i;

    for (i = 0; i < sizeof options / sizeof options[0]; i++)
        tap_ok(run_with("scenario", options[i]).good, "%s: output right", options[i]);
}

static void check_hangs(void)
{
    static const char *const options[] = {"hang=1", "hang=2", "hang=5", "hang=8"};
    size_t i;

    setenv("GPUAES_TIMEOUT_MS", "300", 1);
    for (i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct result result = run_with("scenario", options[i]);

        tap_ok(result.good && (stand_in() || result.faults), "%s: output right, %llu faults",
               options[i], result.faults);
    }
    unsetenv("GPUAES_TIMEOUT_MS");
}

/* Machines on which the device can do less, or nothing. */
static void check_machines(void)
{
    static const struct {
        const char *options;
        int used; /* whether the device does work: 1, 0, or -1 if it may do either */
    } machines[] = {
        {"nodriver=1", 0},        {"devices=0", 0},          {"compute-mode=2", 0},
        {"memory=1", -1},         {"memory=8", -1},          {"memory=64", 1},
        {"pinned=0", -1},         {"pinned=1", -1},          {"pinned=4", -1},
        {"pinned=64", 1},         {"init-ms=300", 1},        {"devices=4", 1},
        {"multiprocessors=1", 1}, {"threads=32", -1},        {"threads=256", 1},
        {"shared=49152", -1},     {"shared=101376", 1},      {"shared=65536,capability=75", 1},
        {"kernel-us=2000", 1},    {"memory=8,pinned=4", -1},
    };
    size_t i;

    for (i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        struct result result = run_with("scenario", machines[i].options);

        tap_ok(result.good && (stand_in() || machines[i].used < 0 ||
                               machines[i].used == (result.gpu_bytes > 0)),
               "%s: output right, %llu bytes by the device", machines[i].options, result.gpu_bytes);
    }
}

/* Two devices and two threads: what one loses the others do, or the CPU. */
static void check_parts(void)
{
    static const char *const options[] = {
        "devices=2",
        "devices=2,fault=launch_kernel:1",
        "devices=2,fault=launch_kernel:4",
        "devices=2,fault=memcpy_htod_async:2",
        "devices=2,fault=event_query:3",
        "devices=2,fault=event_record:5",
        "devices=2,fault=mem_host_alloc:2",
        "devices=2,lost=launch_kernel:6",
        "devices=2,lost=event_record:4",
        "devices=1,fault=launch_kernel:2",
        "devices=1,lost=memcpy_htod_async:5",
    };
    size_t i;

    setenv("GPUAES_DEVICES", "all", 1);
    setenv("GPUAES_THREADS", "2", 1);
    for (i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct result result = run_with("parts", options[i]);

        tap_ok(result.good && (stand_in() || (result.faults == 0) == (i == 0)),
               "threads=2, %s: output right, %llu faults", options[i], result.faults);
    }
    setenv("GPUAES_TIMEOUT_MS", "1000", 1);
    tap_ok(run_with("parts", "devices=2,hang=3").good, "threads=2, a kernel hangs: output right");
    unsetenv("GPUAES_TIMEOUT_MS");
    unsetenv("GPUAES_THREADS");
    unsetenv("GPUAES_DEVICES");
}

/* Device memory, also on a stream: right, or refused; never silently wrong. */
static void check_device_memory(void)
{
    static const char *const names[] = {
        "launch_kernel", "memcpy_htod_async", "memcpy_dtoh_async", "memcpy_dtod_async",
        "event_record",  "stream_wait_event", "stream_query",      "pointer_get_attributes",
        "mem_alloc",     "mem_host_alloc",    "ctx_push_current",  "ctx_pop_current",
    };
    static const char *const forms[] = {"fault=%s:1",   "fault=%s:3", "fault=%s:8",
                                        "fault=%s:2:2", "lost=%s:5",  "lost=%s:20"};
    char options[128];
    size_t i, k;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        int good = 1;

        for (k = 0; k < sizeof forms / sizeof forms[0]; k += sanitized() ? 2 : 1) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(options, sizeof options, forms[k], names[i]);
#pragma GCC diagnostic pop
            good &= run_with("device", options).good;
        }
        tap_ok(good, "device memory, %s fails: right or refused", names[i]);
    }
    setenv("GPUAES_TIMEOUT_MS", "1000", 1);
    tap_ok(run_with("device", "hang=2").good && run_with("device", "hang=7").good,
           "device memory, a kernel hangs: right or refused");
    unsetenv("GPUAES_TIMEOUT_MS");
}

static void check_refusals(void)
{
    static const char *const options[] = {"nodriver=1", "devices=0", "fault=cuInit:1",
                                          "compute-mode=2"};
    size_t i;

    setenv("GPUAES_ENGINE", "gpu", 1);
    for (i = 0; i < sizeof options / sizeof options[0]; i++)
        if (stand_in())
            tap_skip("the default provider has no engine");
        else
            tap_ok(run_with("refusal", options[i]).good, "engine=gpu, %s: refused, with the reason",
                   options[i]);
    unsetenv("GPUAES_ENGINE");
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "parts"))
        return run_parts();
    if (argc > 1 && !strcmp(argv[1], "device"))
        return run_device();
    if (argc > 1)
        return strcmp(argv[1], "refusal") ? run_scenario(!strcmp(argv[1], "idle")) : run_refusal();
    setenv("GPUAES_MIN_BYTES", "0", 1);
    check_functions();
    check_releases();
    check_losses();
    check_hangs();
    check_machines();
    check_refusals();
    check_parts();
    if (stand_in())
        tap_skip("the default provider knows no device memory");
    else
        check_device_memory();
    return tap_done();
}
