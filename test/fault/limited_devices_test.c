/*
 * Machines on which the device can do less than usual, or nothing: no driver, no device,
 * short memory, other sizes. The output is right, and the device is used where it can be.
 * For the emulator only.
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
    test_providers = providers_load();
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
    providers_unload(&test_providers);
    return right;
}

int main(int argc, char **argv)
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
    (void)argv;
    setenv("GPUAES_MIN_BYTES", "0", 0);
    if (argc > 1)
        return !run_updates_of_all_modes();
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        int status;
        unsigned long long bytes = 0;
        FILE *report = case_hear(STDOUT_FILENO, &status, NULL, machines[i].options, "1");
        int told = fscanf(report, "%llu", &bytes) == 1;
        fclose(report);
        tap_ok(status == 0 && told &&
                   (stand_in() || machines[i].used < 0 || machines[i].used == (bytes > 0)),
               "%s: output right, %llu bytes by the device", machines[i].options, bytes);
    }
    return tap_done();
}
