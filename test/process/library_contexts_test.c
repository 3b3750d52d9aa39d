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

/* A large update in it. */
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

/* threads=auto, for a large update. */
static unsigned automatic_threads(void)
{
    cpu_set_t cpus[8];
    if (sched_getaffinity(0, sizeof cpus, cpus) != 0)
        return 1;
    int count = CPU_COUNT_S(sizeof cpus, cpus);
    return count < 4 ? 1 : count < 8 ? (unsigned)count / 2 : 4;
}

#define AUTOMATIC "@" /* stands for the number */

static void put_automatic(char *text)
{
    char *at = strchr(text, *AUTOMATIC);
    if (at != NULL)
        *at = (char)('0' + automatic_threads());
}

/* What the process works with, in the words of the table. */
static int is_in_force(const char *wanted)
{
    struct gpuaes_settings is = {.struct_bytes = sizeof is};
    char text[128], expected[128];
    (void)LIBRARY(gpuaes_get_settings)(&is);
    (void)snprintf(text, sizeof text, "%zuM %zuM, %u ms, %u s, %u threads, devices %llx",
                   is.pinned_bytes >> 20, is.read_ahead_bytes >> 20, is.timeout_ms, is.idle_seconds,
                   is.threads, (unsigned long long)is.devices);
    (void)snprintf(expected, sizeof expected, "%s", wanted);
    put_automatic(expected);
    if (strcmp(text, expected) != 0)
        printf("# in force: %s\n", text);
    return strcmp(text, expected) == 0;
}

/* ---- Cases ---------------------------------------------------------------------------------- */

#define OTHERWISE ", which was set before in another library context or by the application\n"
#define INSTEAD(what, is)                                                                          \
    "gpuaes: setting " what ", but the GPUs of this process work with " is OTHERWISE

#define DEFAULTS "256M 64M, 10000 ms, 60 s, " AUTOMATIC " threads, devices 1"
#define STARTED "policy = gpu\nidle-seconds = 0\n"
enum { CONTEXTS = 3 };

static const struct {
    const char *name;
    const char *lines[CONTEXTS]; /* of library contexts, one after the other */
    int starts;                  /* the first one starts the device */
    int refused;                 /* the second one does not load */
    const char *in_force, *says;
} cases[] = {
    {"without settings the defaults are in force", {""}, 0, 0, DEFAULTS, ""},
    {"threads=auto is one of them", {"threads = auto\n"}, 0, 0, DEFAULTS, ""},
    {"before a start, two library contexts agree",
     {"pinned-bytes = 64M\nread-ahead-bytes = 8M\ntimeout-ms = 2000\nidle-seconds = 1\n"
      "threads = 8\ndevices = all\n",
      "pinned-bytes = 1M\nread-ahead-bytes = 4M\ntimeout-ms = 3000\nidle-seconds = 0\n"
      "threads = 2\ndevices = 1\n"},
     0,
     0,
     "1M 4M, 3000 ms, 0 s, 2 threads, devices 2",
     ""},
    {"what one does not set, another may; no read-ahead holds in one alone",
     {"",
      "pinned-bytes = 512M\nread-ahead-bytes = 128M\ntimeout-ms = 500\nidle-seconds = 5\n"
      "threads = 3\ndevices = 1\n",
      "read-ahead-bytes = 0\n"},
     0,
     0,
     "512M 128M, 500 ms, 5 s, 3 threads, devices 2",
     ""},
    {"threads=auto gives way to a number",
     {"threads = auto\n", "threads = 64\n", "threads = auto\n"},
     0,
     0,
     "256M 64M, 10000 ms, 60 s, 64 threads, devices 1",
     ""},
    {"what another one restricts is reported, once",
     {"threads = 2\ndevices = 1\n", "threads = 4\ndevices = 0,1\n", "threads = 4\n"},
     0,
     0,
     "256M 64M, 10000 ms, 60 s, 2 threads, devices 2",
     INSTEAD("devices has the value \"0,1\"", "1") INSTEAD("threads has the value \"4\"", "2")},
    {"after a start, what cannot be had is reported",
     {STARTED, "idle-seconds = 7\npinned-bytes = 1M\n"},
     1,
     0,
     "256M 64M, 10000 ms, 0 s, " AUTOMATIC " threads, devices 1",
     INSTEAD("pinned-bytes has the value \"1048576\"", "268435456")
         INSTEAD("idle-seconds has the value \"7\"", "0")},
    {"so is a number of threads, and auto is not",
     {STARTED, "threads = 64\n", "threads = auto\n"},
     1,
     0,
     "256M 64M, 10000 ms, 0 s, " AUTOMATIC " threads, devices 1",
     INSTEAD("threads has the value \"64\"", AUTOMATIC)},
    {"other devices than those of the process are refused",
     {"devices = 0\nthreads = 2\n", "devices = 1\nthreads = 3\n"},
     0,
     1,
     "256M 64M, 10000 ms, 60 s, 2 threads, devices 1",
     INSTEAD("devices has the value \"1\"", "0")},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* In a process of its own. */
static int run_case(size_t number)
{
    OSSL_LIB_CTX *contexts[CONTEXTS] = {NULL};
    int right = 1;
    for (int i = 0; i < CONTEXTS && cases[number].lines[i] != NULL; i++) {
        contexts[i] = context_with(cases[number].lines[i]);
        right &=
            OSSL_PROVIDER_available(contexts[i], "gpuaes") != (i == 1 && cases[number].refused);
        right = right && (i != 0 || !cases[number].starts || is_offloaded(contexts[0]));
    }
    right = right && is_in_force(cases[number].in_force);
    for (int i = CONTEXTS; i-- > 0;)
        OSSL_LIB_CTX_free(contexts[i]);
    return right;
}

static void check_case(size_t i)
{
    char said[4096] = "", expected[1024];
    int status;
    FILE *errors = case_hear(STDERR_FILENO, &status, NULL, "devices=2", "%zu", i);
    said[fread(said, 1, sizeof said - 1, errors)] = '\0';
    fclose(errors);
    (void)snprintf(expected, sizeof expected, "%s", cases[i].says);
    put_automatic(expected);
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
        return !run_case(strtoul(argv[1], NULL, 10) % CASES);
    }
    for (size_t i = 0; i < CASES; i++)
        check_case(i);
    return tap_done();
}
