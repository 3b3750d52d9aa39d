/*
 * The summary line: of a process, and of a child that it forks. A child that worked
 * prints its own figures, one that did not prints nothing, and neither is ended by a
 * standard error that cannot be written to. And the line of log=debug on a device that
 * there is not.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>

#include "test/support/cases.h"
#include "test/support/device_state.h"

enum {
    STATUS = 42,
    PARENT_BYTES = 32768,
    CHILD_BYTES = 65536,
    LARGE_BYTES = 2 << 20,
    BASE64_BYTES = 3000,
    TEXT_BYTES = 8192
};

static unsigned char data[LARGE_BYTES];
static EVP_CIPHER_CTX *parents, *parents_base64; /* that a child inherits */

static EVP_CIPHER_CTX *begin_with(const char *name, const unsigned char *key)
{
    size_t room = sizeof data;
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &room), OSSL_PARAM_END};
    EVP_CIPHER_CTX *context = context_open(1, name, key, key, 1, key == NULL ? params : NULL);
    if (context == NULL)
        _exit(1);
    return context;
}

static EVP_CIPHER_CTX *begin(void)
{
    static const unsigned char key[32] = "a key, of which 16 are the IV";
    return begin_with("AES-256-CTR", key);
}

/* It may write twice as much. */
static void encode(EVP_CIPHER_CTX *context)
{
    static unsigned char text[2 * BASE64_BYTES];
    int n;
    if (!EVP_CipherUpdate(context, text, &n, data, BASE64_BYTES))
        _exit(1);
}

static void update(EVP_CIPHER_CTX *context, int bytes)
{
    int n;
    if (!EVP_CipherUpdate(context, data, &n, data, bytes))
        _exit(1);
}

static void encrypt(int bytes)
{
    EVP_CIPHER_CTX *context = begin();
    update(context, bytes);
    EVP_CIPHER_CTX_free(context);
}

static void say_to(int descriptor)
{
    if (descriptor < 0 || dup2(descriptor, STDERR_FILENO) < 0)
        _exit(1);
    close(descriptor);
}

static void work(void)
{
    encrypt(CHILD_BYTES);
}

static void do_nothing(void)
{
}

static void free_what_is_there(void)
{
    EVP_CIPHER_CTX_free(parents);
    EVP_CIPHER_CTX_free(parents_base64);
}

static void begin_again(void)
{
    EVP_CipherInit_ex2(parents, NULL, NULL, NULL, 1, NULL);
    update(parents, CHILD_BYTES);
    EVP_CIPHER_CTX_free(parents);
}

static void go_on(void)
{
    update(parents, LARGE_BYTES);
    EVP_CIPHER_CTX_free(parents);
}

/* Says what it counts, which nobody asked it to print at the end. */
static void count(void)
{
    uint64_t bytes = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64("cpu-bytes", &bytes), OSSL_PARAM_END};
    work();
    (void)OSSL_PROVIDER_get_params(test_providers.gpuaes, params);
    fprintf(stderr, "counted %d\n", (int)bytes);
}

static void say_to_nobody(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        _exit(1);
    close(ends[0]);
    say_to(ends[1]);
    work();
}

/* What sshd does with its first child. */
static void say_beyond_limit(void)
{
    const char *folder = getenv("TMPDIR");
    char name[PATH_MAX];
    (void)snprintf(name, sizeof name, "%s/gpuaes-summary-XXXXXX", folder != NULL ? folder : "/tmp");
    int file = mkstemp(name);
    unlink(name);
    say_to(file);
    work();
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
}

/* As programs in Go end: no destructor runs. */
static void leave_at_once(void)
{
    update(begin(), LARGE_BYTES);
    _exit(STATUS);
}

/* A child is killed. */
static void be_killed(int signal)
{
    pid_t pid = fork();
    if (pid == 0) {
        update(begin(), LARGE_BYTES);
        raise(signal);
    }
    int status = 0;
    int killed = waitpid(pid, &status, 0) == pid && WIFSIGNALED(status);
    _exit(killed && WTERMSIG(status) == signal ? STATUS : 1);
}

static void be_terminated(void)
{
    be_killed(SIGTERM);
}

static void be_killed_at_once(void)
{
    be_killed(SIGKILL);
}

/* Ends without a word of the end. */
static void work_for_long(void)
{
    EVP_CIPHER_CTX *context = begin();
    update(context, LARGE_BYTES);
    sleep_ms(1100);
    update(context, LARGE_BYTES);
    _exit(STATUS);
}

/* Far less than a second, as long as this machine runs at all. */
static void work_in_haste(void)
{
    EVP_CIPHER_CTX *context = begin();
    for (int i = 0; i < 20; i++)
        update(context, 4096);
    _exit(STATUS);
}

/* A reader that has gone away must not end it, nor leave a signal behind. */
static void tell_nobody(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        _exit(1);
    close(ends[0]);
    say_to(ends[1]);
    update(begin(), LARGE_BYTES);
    sigset_t pending;
    _exit(sigpending(&pending) == 0 && !sigismember(&pending, SIGPIPE) ? STATUS : 1);
}

/* Has no device, and learns that in the background. */
static void miss_device(void)
{
    do {
        encrypt(CHILD_BYTES);
        usleep(1000);
    } while (device_state() != GPUAES_FAILED);
    work();
    work();
}

/* A process that works and forks; it ends as its child ended. */
static void fork_and(void (*child)(void))
{
    parents = begin();
    update(parents, PARENT_BYTES - BASE64_BYTES);
    parents_base64 = begin_with("BASE64", NULL);
    encode(parents_base64);
    pid_t pid = fork();
    if (pid == 0) {
        child();
        exit(STATUS);
    }
    int status = exit_status(pid);
    free_what_is_there();
    exit(status);
}

static int times(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        n++;
    return n;
}

#define CPU "GPUAES_POLICY=cpu GPUAES_LOG=summary"
#define LINE "gpuaes: summary "
#define PROGRESS "GPUAES_MIN_BYTES=0 GPUAES_LOG=progress"
#define PROGRESS_LINE "gpuaes: progress "

static const struct {
    const char *what, *settings;
    int is_forked; /* else it has no parent that works as well */
    void (*body)(void);
    const char *says; /* how many times both print a text, and that; a | between several */
} cases[] = {
    {"a child that works prints its figures from the fork on, and the parent its own", CPU, 1, work,
     "2" LINE "|1 cpu-bytes=65536 |1 cpu-bytes=32768 "},
    {"a child that does nothing prints nothing", CPU, 1, do_nothing,
     "1" LINE "|1 cpu-bytes=32768 "},
    {"nor does one that frees what its parent worked with", CPU, 1, free_what_is_there,
     "1" LINE "|1 cpu-bytes=32768 "},
    {"a child that begins anew with that counts its own", CPU, 1, begin_again,
     "1 cpu-bytes=65536 "},
    {"so does one that goes on amid a message", "GPUAES_START=never GPUAES_LOG=summary", 1, go_on,
     "1 cpu-bytes=2097152 "},
    {"without a summary a child counts from 0 as well", "GPUAES_POLICY=cpu GPUAES_LOG=off", 1,
     count, "1counted 65536\n|0gpuaes"},
    {"a process that uses nothing says so, and shows no figures", CPU, 0, do_nothing,
     "1" LINE "nothing was done: gpuaes finished no update of 1 KiB or more pid=|0bytes="},
    {"a process without a device is told so once",
     "GPUAES_START=eager GPUAES_LOG=debug GPUAES_EMULATOR=devices=0 CUDA_VISIBLE_DEVICES=-1", 0,
     miss_device, "1gpuaes: debug no device: "},
    {"log=progress: a process that ends by _exit() has told what the GPU did", PROGRESS, 0,
     leave_at_once, "1" PROGRESS_LINE "gpu-bytes=2097152 cpu-bytes=0 |0" LINE},
    {"one that SIGTERM ends, a child too", PROGRESS, 0, be_terminated,
     "1" PROGRESS_LINE "gpu-bytes=2097152 cpu-bytes=0 |0" LINE},
    {"one that SIGKILL ends", PROGRESS, 0, be_killed_at_once,
     "1" PROGRESS_LINE "gpu-bytes=2097152 cpu-bytes=0 |0" LINE},
    {"one that works for more than a second", PROGRESS, 0, work_for_long,
     "1" PROGRESS_LINE "gpu-bytes=2097152 |1" PROGRESS_LINE "gpu-bytes=4194304 "},
    {"no line for each of many updates", PROGRESS, 0, work_in_haste,
     "1" PROGRESS_LINE "gpu-bytes=4096 |0" PROGRESS_LINE "gpu-bytes=8192 "},
    {"the CPU's work is told when a context is freed", "GPUAES_POLICY=cpu GPUAES_LOG=progress", 0,
     work, "1" PROGRESS_LINE "gpu-bytes=0 cpu-bytes=65536 |1" LINE},
    {"nobody who reads the progress: no signal", PROGRESS, 0, tell_nobody, ""},
    {"without log=progress there is none", "GPUAES_MIN_BYTES=0 GPUAES_LOG=summary", 0,
     leave_at_once, "0gpuaes"},
    {"a broken pipe does not end a process", CPU, 1, say_to_nobody, ""},
    {"a limit on files does not end one", CPU, 1, say_beyond_limit, ""},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static int run_case(size_t number)
{
    test_providers = providers_load();
    if (cases[number].is_forked)
        fork_and(cases[number].body);
    cases[number].body();
    return STATUS;
}

static void check_case(size_t number)
{
    static char text[TEXT_BYTES];
    char says[TEXT_BYTES];
    int status;
    FILE *output = case_hear(STDERR_FILENO, &status, cases[number].settings, NULL, "%zu", number);
    text[fread(text, 1, sizeof text - 1, output)] = '\0';
    fclose(output);
    (void)snprintf(says, sizeof says, "%s", cases[number].says);
    for (char *rest = says, *one; (one = strsep(&rest, "|")) != NULL && *one != '\0';)
        if (times(text, one + 1) != *one - '0')
            status = -1;
    if (!tap_ok(status == STATUS, "%s", cases[number].what))
        tap_diag("status %d: %s", status, text);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return run_case(strtoul(argv[1], NULL, 10) % CASES);
    if (stand_in())
        return tap_skip_all("the default provider keeps no figures");
    for (size_t i = 0; i < CASES; i++)
        check_case(i);
    return tap_done();
}
