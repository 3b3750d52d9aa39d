/*
 * Several library contexts, each with a configuration of its own, in a process that has one set
 * of devices: before a start they agree on settings, afterwards those that cannot be had are
 * reported, and devices that a context excludes make it refuse to load.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <sched.h>
#include <unistd.h>

#include "cuda/gpuaes.h"
#include "test/support/application.h"
#include "test/support/cases.h"

enum { UPDATE = 1 << 20 };

/* ---- Library contexts ---------------------------------------------------------------------- */

/* One with such lines in the provider's section; programs end with it. */
static OSSL_LIB_CTX *context_with(const char *lines)
{
    static const char before[] = "openssl_conf = start\n[start]\nproviders = list\n[list]\n"
                                 "default = base\ngpuaes = ours\n[base]\nactivate = 1\n"
                                 "[ours]\nactivate = 1\n";
    const char *folder = getenv("TMPDIR");
    char name[PATH_MAX];
    (void)snprintf(name, sizeof name, "%s/gpuaes-contexts-XXXXXX",
                   folder != NULL ? folder : "/tmp");
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    FILE *file = fdopen(mkstemp(name), "w");
    if (context == NULL || file == NULL)
        abort();
    fputs(before, file);
    fputs(lines, file);
    fclose(file);
    (void)OSSL_LIB_CTX_load_config(context, name);
    unlink(name);
    return context;
}

static int is_loaded(OSSL_LIB_CTX *context)
{
    return OSSL_PROVIDER_available(context, "gpuaes");
}

static int is_offloaded(OSSL_LIB_CTX *context)
{
    static unsigned char data[UPDATE];
    int n = 0;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(context, "AES-256-CTR", "provider=gpuaes");
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int right = EVP_CipherInit_ex2(c, cipher, data, data, 1, NULL) &&
                EVP_CipherUpdate(c, data, &n, data, UPDATE);
    EVP_CIPHER_CTX_free(c);
    EVP_CIPHER_free(cipher);
    return right;
}

/* What is in force in the process. */
static struct gpuaes_settings in_force(void)
{
    struct gpuaes_settings is = {0};
    int (*get)(struct gpuaes_settings *);
    void *symbol = library_function("gpuaes_get_settings");
    memcpy(&get, &symbol, sizeof symbol);
    if (symbol != NULL)
        (void)get(&is);
    return is;
}

static int is_in_force(size_t pinned, size_t ahead, unsigned timeout, unsigned idle,
                       unsigned threads, uint64_t devices)
{
    struct gpuaes_settings is = in_force();
    int right = is.pinned_bytes == pinned && is.read_ahead_bytes == ahead &&
                is.timeout_ms == timeout && is.idle_seconds == idle && is.threads == threads &&
                is.devices == devices;
    if (!right)
        printf("# pinned %zu, ahead %zu, timeout %u, idle %u, threads %u, devices %llx\n",
               is.pinned_bytes, is.read_ahead_bytes, is.timeout_ms, is.idle_seconds, is.threads,
               (unsigned long long)is.devices);
    return right;
}

/* ---- Cases: what is right within the process, and what it must say -------------------------- */

static int they_agree(void)
{
    OSSL_LIB_CTX *host = context_with("pinned-bytes = 64M\nread-ahead-bytes = 8M\n"
                                      "timeout-ms = 2000\nidle-seconds = 1\nthreads = 8\n"
                                      "devices = all\n");
    OSSL_LIB_CTX *own = context_with("pinned-bytes = 1M\nread-ahead-bytes = 4M\n"
                                     "timeout-ms = 3000\nidle-seconds = 0\nthreads = 2\n"
                                     "devices = 1\n");
    int right = is_loaded(host) && is_loaded(own) && is_in_force(1 << 20, 4 << 20, 3000, 0, 2, 2);
    OSSL_LIB_CTX_free(own);
    OSSL_LIB_CTX_free(host);
    return right;
}

/* threads=auto, for a large update. */
static unsigned automatic_threads(void)
{
    cpu_set_t cpus[8];
    if (sched_getaffinity(0, sizeof cpus, cpus) != 0)
        return 1;
    int count = CPU_COUNT_S(sizeof cpus, cpus);
    return count < 4 ? 1 : count < 8 ? (unsigned)count / 2 : 4;
}

static int defaults_give_way(void)
{
    OSSL_LIB_CTX *host = context_with("");
    int right = is_in_force(256 << 20, 64 << 20, 10000, 60, automatic_threads(), 1);
    OSSL_LIB_CTX *own = context_with("pinned-bytes = 512M\nread-ahead-bytes = 128M\n"
                                     "timeout-ms = 500\nidle-seconds = 5\nthreads = 3\n"
                                     "devices = 1\n");
    OSSL_LIB_CTX *third = context_with("read-ahead-bytes = 0\n"); /* holds in it alone */
    right = right && is_loaded(host) && is_loaded(own) && is_loaded(third) &&
            is_in_force(512 << 20, 128 << 20, 500, 5, 3, 2);
    OSSL_LIB_CTX_free(third);
    OSSL_LIB_CTX_free(own);
    OSSL_LIB_CTX_free(host);
    return right;
}

static int auto_gives_way(void)
{
    OSSL_LIB_CTX *host = context_with("threads = auto\n");
    int right = in_force().threads == automatic_threads();
    OSSL_LIB_CTX *own = context_with("threads = 64\n");
    OSSL_LIB_CTX *third = context_with("threads = auto\n");
    right =
        right && is_loaded(host) && is_loaded(own) && is_loaded(third) && in_force().threads == 64;
    OSSL_LIB_CTX_free(third);
    OSSL_LIB_CTX_free(own);
    OSSL_LIB_CTX_free(host);
    return right;
}

static int auto_stays_after_a_start(void)
{
    OSSL_LIB_CTX *host = context_with("policy = gpu\nidle-seconds = 0\n");
    int right = is_offloaded(host);
    OSSL_LIB_CTX *own = context_with("threads = 64\n");
    OSSL_LIB_CTX *third = context_with("threads = auto\n");
    right =
        right && is_loaded(own) && is_loaded(third) && in_force().threads == automatic_threads();
    OSSL_LIB_CTX_free(third);
    OSSL_LIB_CTX_free(own);
    OSSL_LIB_CTX_free(host);
    return right;
}

static int what_gives_way_is_said(void)
{
    OSSL_LIB_CTX *host = context_with("threads = 2\ndevices = 1\n");
    OSSL_LIB_CTX *own = context_with("threads = 4\ndevices = 0,1\n");
    OSSL_LIB_CTX *again = context_with("threads = 4\n");
    int right = is_loaded(host) && is_loaded(own) && is_loaded(again) && in_force().threads == 2 &&
                in_force().devices == 2;
    OSSL_LIB_CTX_free(again);
    OSSL_LIB_CTX_free(own);
    OSSL_LIB_CTX_free(host);
    return right;
}

static int a_start_ends_it(void)
{
    OSSL_LIB_CTX *host = context_with("policy = gpu\nidle-seconds = 0\n");
    int right = is_offloaded(host);
    OSSL_LIB_CTX *own = context_with("idle-seconds = 7\npinned-bytes = 1M\n");
    right = right && is_loaded(own) && in_force().idle_seconds == 0;
    OSSL_LIB_CTX_free(own);
    OSSL_LIB_CTX_free(host);
    return right;
}

static int other_devices_are_refused(void)
{
    OSSL_LIB_CTX *host = context_with("devices = 0\nthreads = 2\n");
    OSSL_LIB_CTX *own = context_with("devices = 1\nthreads = 3\n");
    int right = is_loaded(host) && !is_loaded(own) && in_force().threads == 2;
    OSSL_LIB_CTX_free(own);
    OSSL_LIB_CTX_free(host);
    return right;
}

#define OTHERWISE ", which was set before in another library context or by the application\n"
#define AUTOMATIC "@" /* stands for the number */
#define INSTEAD(what, is)                                                                          \
    "gpuaes: setting " what ", but the GPUs of this process work with " is OTHERWISE

static const struct {
    const char *name;
    int (*run)(void);
    const char *says;
} cases[] = {
    {"before a start, two library contexts agree", they_agree, ""},
    {"what one does not set, another may", defaults_give_way, ""},
    {"threads=auto gives way to a number", auto_gives_way, ""},
    {"what another one restricts is reported, once", what_gives_way_is_said,
     INSTEAD("devices has the value \"0,1\"", "1") INSTEAD("threads has the value \"4\"", "2")},
    {"after a start, what cannot be had is reported", a_start_ends_it,
     INSTEAD("pinned-bytes has the value \"1048576\"", "268435456")
         INSTEAD("idle-seconds has the value \"7\"", "0")},
    {"so is a number of threads, and auto is not", auto_stays_after_a_start,
     INSTEAD("threads has the value \"64\"", AUTOMATIC)},
    {"other devices than those of the process are refused", other_devices_are_refused,
     INSTEAD("devices has the value \"1\"", "0")},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void run_case(size_t i)
{
    char said[4096] = "", expected[1024];
    int status;
    FILE *errors = case_hear(STDERR_FILENO, &status, NULL, "devices=2", "%zu", i);
    said[fread(said, 1, sizeof said - 1, errors)] = '\0';
    fclose(errors);
    (void)snprintf(expected, sizeof expected, "%s", cases[i].says);
    if (strchr(expected, *AUTOMATIC) != NULL)
        *strchr(expected, *AUTOMATIC) = (char)('0' + automatic_threads());
    if (!tap_ok(status == 0 && strcmp(said, expected) == 0, "%s", cases[i].name))
        tap_diag("status %d, said: %s", status, said);
}

int main(int argc, char **argv)
{
    /* The environment wins, and would be the same for all. */
    static const char *const set[] = {"GPUAES_PINNED_BYTES", "GPUAES_READ_AHEAD_BYTES",
                                      "GPUAES_THREADS",      "GPUAES_IDLE_SECONDS",
                                      "GPUAES_DEVICES",      "GPUAES_TIMEOUT_MS"};
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        unsetenv(set[i]);
    if (argc > 1) {
        alarm(200);
        return !cases[strtoul(argv[1], NULL, 10) % CASES].run();
    }
    for (size_t i = 0; i < CASES; i++)
        run_case(i);
    return tap_done();
}
