/*
 * Updates in ASYNC jobs: the CPU does them, or the device where the settings insist on it; no job
 * pauses, and a random number generator on our AES works in them. The emulated driver ends the
 * process if it is called on a job's stack.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/rand.h>
#include <pthread.h>

#include "test/support/cases.h"
#include "test/support/jobs.h"
#include "test/support/sealed.h"

enum { STATUS = 42, SECONDS = 300 };

/* ---- All ciphers --------------------------------------------------------------------- */

/* Each cipher, both ways. Returns how many jobs were right. */
static size_t run_all(size_t least, size_t longest)
{
    size_t right = 0;
    for (size_t i = 0; i < 2 * UNTAGGED_ROWS; i++) {
        struct job j = {.row = &cipher_rows[i / 2],
                        .encrypt = (int)(i % 2),
                        .updates = 4,
                        .least = least,
                        .longest = longest,
                        .random = {tap_random_next(&random_state) | 1}};
        if (job_is_right(&j))
            right++;
        else
            tap_diag("wrong: %s %s", j.row->name, j.encrypt ? "encrypt" : "decrypt");
    }
    return right;
}

static void check_all(size_t least, size_t longest)
{
    size_t right = run_all(least, longest);
    tap_ok(right == 2 * UNTAGGED_ROWS, "jobs of %zu to %zu bytes an update: %zu right", least,
           longest, right);
}

/* ---- Who does them -------------------------------------------------------------------- */

/* With a device that is ready, and expected to be faster. */
static int stays_on_cpu(void)
{
    job_is_right(&(struct job){.row = cipher_rows, .longest = 1});
    while (figure("start-ms") == 0) /* the case has a limit */
        sleep_ms(1);
    struct figures before = figures_get(&test_providers);
    size_t right = run_all(256 * KIB, 512 * KIB);
    struct figures after = figures_get(&test_providers);
    return right == 2 * UNTAGGED_ROWS && after.gpu_bytes == before.gpu_bytes &&
           after.cpu_bytes > before.cpu_bytes;
}

static void check_choice(void)
{
    if (stand_in()) {
        tap_skip("the default provider has no device");
        return;
    }
    int status = exit_status(
        case_begin("GPUAES_START=eager GPUAES_MIN_BYTES=auto", "idle-kernels=1", "%d", STATUS));
    tap_ok(status == 0, "updates in a job stay on the CPU: status %d", status);
    tap_ok(figure("gpu-bytes") > 0, "unless min-bytes insists on the device");
}

/* ---- GCM --------------------------------------------------------------------------------- */

/* Three messages: small, large by few updates, and by many that begin anywhere in a block. */
static int seal_messages(void *unused)
{
    static const struct {
        size_t bytes, updates;
    } rows[] = {{1000, 3}, {300000, 2}, {100000, 60}};
    int right = 1;
    (void)unused;
    for (size_t i = 0; i < 6 && right; i++) {
        struct sealed s =
            sealed_make(i < 3 ? "AES-128-GCM" : "AES-256-GCM", i % 2 == 0, rows[i % 3].bytes, i);
        unsigned char *out = malloc(s.bytes);
        EVP_CIPHER_CTX *context = sealed_open(&s, NULL);
        right = context != NULL && sealed_agrees(&s, context, out, rows[i % 3].updates, i >= 3);
        EVP_CIPHER_CTX_free(context);
        sealed_free(&s);
        free(out);
    }
    return right;
}

static void check_gcm(void)
{
    uint64_t before = figure("gpu-bytes");
    tap_ok(run_in_job(seal_messages, NULL, 0), "messages of GCM in a job");
    if (stand_in())
        tap_skip("the default provider has no device");
    else
        tap_ok(figure("gpu-bytes") - before > 600000, "by the device, where min-bytes insists");
}

/* ---- Base64 ------------------------------------------------------------------------------ */

/* There and back. */
static int code_base64(void *unused)
{
    enum { BYTES = 90000 };
    int n = 0, m = 0;
    EVP_CIPHER *base64 = EVP_CIPHER_fetch(test_providers.ours, "BASE64", test_providers.properties);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    unsigned char *in = malloc(BYTES), *text = malloc(BYTES * 2), *out = malloc(BYTES * 2);
    size_t room = (size_t)BYTES * 2;
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &room), OSSL_PARAM_END};
    (void)unused;
    tap_random_bytes(&random_state, in, BYTES);
    int right = EVP_CipherInit_ex2(context, base64, NULL, NULL, 1, params) &&
                EVP_CipherUpdate(context, text, &n, in, BYTES) && n == BYTES / 3 * 4 &&
                EVP_CipherInit_ex2(context, base64, NULL, NULL, 0, params) &&
                EVP_CipherUpdate(context, out, &m, text, n);
    right = right && m > BYTES - 64 && memcmp(in, out, (size_t)m) == 0;
    free(in);
    free(text);
    free(out);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(base64);
    return right;
}

static void check_base64(void)
{
    if (stand_in())
        tap_skip("the default provider has no BASE64");
    else
        tap_ok(run_in_job(code_base64, NULL, 0), "Base64 in a job");
}

/* ---- Random numbers --------------------------------------------------------------------- */

enum { REQUEST = 64 << 10 };
static unsigned char random_bytes[2][REQUEST];

static int ask_for_random_bytes(void *unused)
{
    (void)unused;
    return RAND_bytes_ex(test_providers.ours, random_bytes[0], REQUEST, 0) == 1 &&
           RAND_priv_bytes_ex(test_providers.ours, random_bytes[1], REQUEST, 0) == 1;
}

static void check_random_numbers(void)
{
    int right = RAND_set_DRBG_type(test_providers.ours, "CTR-DRBG",
                                   stand_in() ? "provider=default" : "?provider=gpuaes",
                                   "AES-256-CTR", NULL);
    tap_ok(right && run_in_job(ask_for_random_bytes, NULL, 0) &&
               memcmp(random_bytes[0], random_bytes[1], REQUEST) != 0,
           "a random number generator on our AES in a job");
}

/* ---- Threads -------------------------------------------------------------------------------- */

struct jobs_of_thread {
    pthread_t thread;
    struct job pattern;
    size_t right;
};

enum { THREADS = 4, JOBS = 16 };

static void *run_jobs(void *argument)
{
    struct jobs_of_thread *own = argument;
    for (int i = 0; i < JOBS; i++) {
        struct job j = own->pattern;
        j.row = &cipher_rows[i % UNTAGGED_ROWS];
        own->right += (size_t)job_is_right(&j);
    }
    ASYNC_cleanup_thread();
    return NULL;
}

static void check_threads(void)
{
    struct jobs_of_thread threads[THREADS];
    size_t right = 0;
    for (int i = 0; i < THREADS; i++) {
        threads[i].right = 0;
        threads[i].pattern = (struct job){.encrypt = i % 2,
                                          .updates = 3,
                                          .least = 500,
                                          .longest = 80000,
                                          .random = {tap_random_next(&random_state) | 1}};
        pthread_create(&threads[i].thread, NULL, run_jobs, &threads[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i].thread, NULL);
        right += threads[i].right;
    }
    tap_ok(right == (size_t)THREADS * JOBS, "jobs of %d threads: %zu of %d right", THREADS, right,
           THREADS * JOBS);
}

int main(int argc, char **argv)
{
    tap_random_seed(&random_state);
    if (argc > 1 && strcmp(argv[1], "42") == 0)
        return case_run(stays_on_cpu, SECONDS);
    setenv("GPUAES_MIN_BYTES", "0", 0);
    test_providers = providers_load();
    check_all(1, 4000);
    check_all(70000, 200000);
    check_choice();
    check_gcm();
    check_base64();
    check_random_numbers();
    check_threads();
    providers_unload(&test_providers);
    return tap_done();
}
