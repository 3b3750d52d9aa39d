/*
 * Machines on which the device can do less than usual, or nothing: no driver, no device,
 * short memory, other sizes. The output is right; the device is used where it can be; and
 * with policy=gpu the refusal says why. For the emulator only.
 *
 * The device's state belongs to the process, so each machine is this program again.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/cases.h"
#include "test/support/fault_scenarios.h"

/* ---- One machine --------------------------------------------------------------------- */

/* All updates of pageable memory of some 100 KiB, and the bytes that the device did. */
static int run_updates_of_all_modes(void)
{
    int right = 1;
    alarm(200);
    providers = providers_load();
    for (size_t i = 0; i < SCENARIOS; i++) {
        const struct scenario *s = &scenarios[i];
        if (s->run != run_update || s->place != PAGEABLE || s->bytes != STAGED_BYTES)
            continue;
        if (!s->prepare(s) || s->run(s) != GOOD) {
            fprintf(stderr, "# %s is wrong\n", s->name);
            right = 0;
        }
        free(the_update.in - ODD);
        free(the_update.out - ODD);
        free(the_update.expected);
    }
    printf("%llu\n", (unsigned long long)ahead_get().gpu);
    providers_unload(&providers);
    return right;
}

/* policy=gpu without a device: a clear error, and no output. */
static int is_refused(void)
{
    static unsigned char buffer[64 * KIB];
    alarm(200);
    providers = providers_load();
    EVP_CIPHER_CTX *context = context_open(1, "AES-256-CTR", fault_key, fault_iv, 1, NULL);
    int n = 0;
    int result = EVP_CipherUpdate(context, buffer, &n, buffer, sizeof buffer);
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    int good = result <= 0 && buffer[0] == 0 && reason && !strcmp(reason, "no GPU can be used");
    if (!good)
        fprintf(stderr, "# result %d, reason \"%s\"\n", result, reason ? reason : "");
    EVP_CIPHER_CTX_free(context);
    providers_unload(&providers);
    return good;
}

/* ---- Machines -------------------------------------------------------------------------- */

/* 1 if it ended well; *bytes are what it printed. */
static int run_on(const char *what, const char *machine, unsigned long long *bytes)
{
    int status;
    FILE *report = case_hear(STDOUT_FILENO, &status, NULL, machine, "%s", what);
    *bytes = 0;
    (void)!fscanf(report, "%llu", bytes);
    fclose(report);
    return status == 0;
}

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
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        unsigned long long bytes = 0;
        int good = run_on("updates", machines[i].options, &bytes);
        tap_ok(good && (stand_in() || machines[i].used < 0 || machines[i].used == (bytes > 0)),
               "%s: output right, %llu bytes by the device", machines[i].options, bytes);
    }
}

static void check_refusals(void)
{
    static const char *const machines[] = {"nodriver=1", "devices=0", "fault=cuInit:1",
                                           "compute-mode=2"};
    setenv("GPUAES_POLICY", "gpu", 1);
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        unsigned long long bytes = 0;
        if (stand_in())
            tap_skip("the default provider has no engine");
        else
            tap_ok(run_on("refusal", machines[i], &bytes),
                   "policy=gpu, %s: refused, with the reason", machines[i]);
    }
}

int main(int argc, char **argv)
{
    setenv("GPUAES_MIN_BYTES", "0", 0);
    if (argc > 1)
        return !(strcmp(argv[1], "refusal") ? run_updates_of_all_modes() : is_refused());
    check_machines();
    check_refusals();
    return tap_done();
}
