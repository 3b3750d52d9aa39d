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
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/gpuaes.h"
#include "test/support/application.h"
#include "test/support/providers.h"

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
    (void)OSSL_PROVIDER_get_params(providers.gpuaes, params);
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

/* Has no device, and learns that in the background. */
static void miss_device(void)
{
    enum gpuaes_state (*state)(void);
    void *symbol = library_function("gpuaes_state");
    memcpy(&state, &symbol, sizeof symbol);
    if (symbol == NULL)
        _exit(1);
    do {
        encrypt(CHILD_BYTES);
        usleep(1000);
    } while (state() != GPUAES_FAILED);
    work();
    work();
}

/* A process that works and forks; it ends as its child ended. */
static void fork_and(void (*child)(void))
{
    int status;
    parents = begin();
    update(parents, PARENT_BYTES - BASE64_BYTES);
    parents_base64 = begin_with("BASE64", NULL);
    encode(parents_base64);
    pid_t pid = fork();
    if (pid == 0) {
        child();
        exit(STATUS);
    }
    waitpid(pid, &status, 0);
    EVP_CIPHER_CTX_free(parents);
    EVP_CIPHER_CTX_free(parents_base64);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Runs it in a process of its own, or in a child of that; what all print goes to `text`. */
static int run_in(int is_forked, void (*child)(void), char text[TEXT_BYTES])
{
    int ends[2], status;
    size_t have = 0;
    ssize_t n;
    if (pipe(ends) != 0)
        exit(EXIT_FAILURE);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        say_to(ends[1]);
        providers = providers_load();
        if (is_forked)
            fork_and(child);
        child();
        exit(STATUS);
    }
    close(ends[1]);
    while (have < TEXT_BYTES - 1 && (n = read(ends[0], text + have, TEXT_BYTES - 1 - have)) > 0)
        have += (size_t)n;
    text[have] = '\0';
    close(ends[0]);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns the child's status. */
static int run(void (*child)(void), char text[TEXT_BYTES])
{
    return run_in(1, child, text);
}

static int times(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        n++;
    return n;
}

int main(void)
{
    char text[TEXT_BYTES];
    if (stand_in()) {
        tap_skip("the default provider keeps no figures");
        return tap_done();
    }
    setenv("GPUAES_POLICY", "cpu", 1);
    setenv("GPUAES_LOG", "summary", 1);

    int status = run(work, text);
    tap_ok(status == STATUS, "a child that works ends well");
    tap_ok(times(text, "gpuaes: summary ") == 2, "both print a line");
    tap_ok(times(text, " cpu-bytes=65536 ") == 1, "the child's figures begin with the fork");
    tap_ok(times(text, " cpu-bytes=32768 ") == 1, "the parent's are its own");

    status = run(do_nothing, text);
    tap_ok(status == STATUS, "a child that does nothing ends well");
    tap_ok(times(text, "gpuaes: summary ") == 1, "it prints nothing");
    tap_ok(times(text, " cpu-bytes=32768 ") == 1, "and its parent its line");

    status = run_in(0, do_nothing, text);
    tap_ok(status == STATUS &&
               times(text, "gpuaes: summary nothing was used: no update of 1 KiB or more came to "
                           "gpuaes pid=") == 1 &&
               times(text, "bytes=") == 0,
           "a process that uses nothing says so, and shows no figures");

    status = run(free_what_is_there, text);
    tap_ok(status == STATUS && times(text, "gpuaes: summary ") == 1,
           "nor does one that frees what its parent worked with");
    tap_ok(times(text, " cpu-bytes=32768 ") == 1, "which is the parent's to count");

    status = run(begin_again, text);
    tap_ok(status == STATUS && times(text, " cpu-bytes=65536 ") == 1,
           "a child that works with that counts its own");
    setenv("GPUAES_POLICY", "auto", 1);
    setenv("GPUAES_START", "never", 1);
    status = run(go_on, text);
    tap_ok(status == STATUS && times(text, " cpu-bytes=2097152 ") == 1,
           "so does one that goes on amid a message");
    setenv("GPUAES_POLICY", "cpu", 1);

    setenv("GPUAES_LOG", "off", 1);
    status = run(count, text);
    tap_ok(status == STATUS && !strcmp(text, "counted 65536\n"),
           "without a summary a child counts from 0 as well");
    setenv("GPUAES_LOG", "summary", 1);

    setenv("GPUAES_POLICY", "auto", 1);
    setenv("GPUAES_START", "eager", 1);
    setenv("GPUAES_LOG", "debug", 1);
    setenv("GPUAES_EMULATOR", "devices=0", 1);
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    status = run_in(0, miss_device, text);
    if (!tap_ok(status == STATUS && times(text, "gpuaes: debug no device: ") == 1,
                "who has no device is told so once"))
        tap_diag("status %d: %s", status, text);
    setenv("GPUAES_POLICY", "cpu", 1);

    tap_ok(run(say_to_nobody, text) == STATUS, "a broken pipe does not end a process");
    tap_ok(run(say_beyond_limit, text) == STATUS, "a limit on files does not end one");
    return tap_done();
}
