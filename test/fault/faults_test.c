/*
 * Every function of the driver fails, once, at its first, a middle and its last call in
 * each scenario of fault_scenarios.h; the device is lost there; kernels hang. The output
 * is right or, where that is allowed, the call fails and says why; it is never silently
 * wrong, nothing hangs, other work goes on, and nothing leaks.
 *
 * The device's state belongs to the process, so each fault is this program again. A run
 * without a fault counts the calls. For the emulator, and for a card with the driver of
 * faulty_driver.c before the real one. GPUAES_TEST_EVERY=N takes one of N faults,
 * GPUAES_TEST_SCENARIO=WORD the scenarios alone that have this in their names. Under a sanitizer it
 * is one of 16, others with each seed. Of four modes that make the same calls, each
 * has the faults of a fourth of the functions.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <sys/mman.h>

#include "test/support/cases.h"
#include "test/support/driver_functions.h"
#include "test/support/fault_scenarios.h"

/* What a run has to say. */
struct result {
    int good, refused;
    uint64_t faults;
    unsigned calls[FUNCTIONS]; /* while the scenario ran */
};

static int hangs(const char *options)
{
    return strncmp(options, "hang", 4) == 0;
}

static int is_short_of_memory(const char *options)
{
    const char *code = strrchr(options, ':');
    return strncmp(options, "fault", 5) == 0 && code != NULL && !strcmp(code, ":2");
}

/* ---- One run --------------------------------------------------------------------------- */

static void emulate_for(const struct scenario *s, const char *fault)
{
    char options[192];
    snprintf(options, sizeof options, "%s,%s", s->emulator ? s->emulator : "", fault);
    emulate(options);
}

static int complain(int good, const char *what)
{
    if (!good)
        fprintf(stderr, "# %s\n", what);
    return good;
}

/*
 * Work that is done again and again takes nothing more of the driver. Threads at work at once take
 * a stream set each, which an earlier turn may not have needed; a leak grows in every turn.
 */
static int nothing_grows(void)
{
    enum { TURNS = 5 };
    int right = work_as_usual(), grows = 1;
    for (int turn = 0; turn < TURNS && right && grows; turn++) {
        size_t before = application_count("emulator_objects");
        right = work_as_usual();
        grows = application_count("emulator_objects") > before;
    }
    return complain(right, "later work is wrong") && complain(!grows, "later work leaks");
}

/* Where the device is still in use and nobody else's: all of it is freed when it is idle. */
static int all_is_given_back(void)
{
    if (application_count("emulator_contexts") == 0 || application_is_emulated ||
        devices_in_use() == 0)
        return 1;
    return complain(is_released(60), "the idle device is not released") &&
           complain(application_count("emulator_left") == 0,
                    "something is not freed in the release");
}

static int adds_up(void)
{
    struct ahead a = ahead_get();
    int right = a.gpu + a.cpu + a.bytes == given;
    if (!right)
        fprintf(stderr, "# %llu bytes by the GPU, %llu ahead, %llu by the CPU of %llu\n",
                (unsigned long long)a.gpu, (unsigned long long)a.bytes, (unsigned long long)a.cpu,
                (unsigned long long)given);
    return right;
}

static int run_scenario(const struct scenario *s, const char *fault)
{
    struct result result = {0};
    int ready;
    alarm(200);
    application_environment(s->settings);
    if (is_short_of_memory(fault))
        setenv("GPUAES_IDLE_SECONDS", "1", 1);
    emulate_for(s, "");
    test_providers = providers_load();
    ready = complain(s->prepare(s), "the scenario cannot be prepared");
    emulate_for(s, fault);
    enum verdict verdict = ready ? s->run(s) : WRONG;
    for (size_t i = 0; i < FUNCTIONS; i++)
        result.calls[i] = application_count_of("emulator_calls", functions[i]);
    if (s->check != NULL) {
        emulate_for(s, "");
        if (verdict == GOOD && !s->check())
            verdict = WRONG;
    }
    result.refused = verdict == REFUSED;
    result.good =
        complain(verdict != WRONG, "wrong output, or a refusal without a reason") &&
        nothing_grows() && (verdict != GOOD || adds_up()) &&
        complain(application_count("emulator_unpinned_copies") == 0, "a copy of pageable memory");
    if (is_short_of_memory(fault))
        result.good &= all_is_given_back();
    result.faults = ahead_get().faults;
    providers_unload(&test_providers);
    fwrite(&result, sizeof result, 1, stdout);
    return !result.good;
}

/* ---- Runs in parallel ---------------------------------------------------------------------- */

static struct result run_with(const struct scenario *s, const char *fault)
{
    struct result result = {0};
    int status;
    FILE *report =
        case_hear(STDOUT_FILENO, &status, NULL, NULL, "%d %s", (int)(s - scenarios), fault);
    int told = fread(&result, sizeof result, 1, report) == 1;
    fclose(report);
    result.good = told && result.good && status == 0;
    if (!result.good)
        fprintf(stderr, "# %s, %s: status %d\n", s->name, fault, status);
    return result;
}

/* ---- The faults of a scenario ----------------------------------------------------- */

enum { KINDS = 6, MOST_FAULTS = FUNCTIONS * KINDS + 2, WORKERS_MOST = 16 };

/* In memory that the workers share. */
struct plan {
    struct result none;
    unsigned faults;
    struct fault {
        unsigned function, call;
        int tried;
        char options[96];
        struct result result;
    } fault[MOST_FAULTS];
};
static struct plan *plans; /* of each scenario */

/* `how`: the code of the failure, or that the device is lost, or hangs, at that launch. */
static void add(struct plan *plan, unsigned function, unsigned call, const char *how)
{
    struct fault *fault = &plan->fault[plan->faults++];
    fault->function = function;
    fault->call = call;
    if (!strcmp(how, "hang"))
        snprintf(fault->options, sizeof fault->options, "hang=%u", call);
    else if (!strcmp(how, "lost"))
        snprintf(fault->options, sizeof fault->options, "lost=%s:%u", functions[function], call);
    else
        snprintf(fault->options, sizeof fault->options, "fault=%s:%u:%s", functions[function], call,
                 how);
}

/* Each of the three calls fails in another way; at the middle one the device may be lost, too. */
static void make_plan(struct plan *plan)
{
    for (unsigned f = 0; f < FUNCTIONS; f++) {
        unsigned calls = plan->none.calls[f], middle = (calls + 1) / 2;
        int launches = !strcmp(functions[f], "launch_kernel");
        if (calls == 0)
            continue;
        add(plan, f, 1, "999");
        add(plan, f, 1, "2");
        if (calls > 1)
            add(plan, f, calls, "719");
        if (launches)
            add(plan, f, calls, "hang");
        if (launches && calls > 1)
            add(plan, f, 1, "hang");
        add(plan, f, middle, "lost");
        if (calls > 2)
            add(plan, f, middle, "999");
        if (calls > 3)
            add(plan, f, middle, "2");
    }
}

/* Sanitized kernels are too slow for a stream to be read ahead of. */
static int is_left_out(const struct scenario *s)
{
    const char *word = getenv("GPUAES_TEST_SCENARIO");
    return (word != NULL && strstr(s->name, word) == NULL) || (sanitized() && s->run == run_stream);
}

static unsigned step, phase; /* one fault of `step` is tried */

static int is_tried(unsigned scenario, unsigned number, unsigned function)
{
    if (scenarios[scenario].is_of_four && step < 4 && (function + scenario) % 4 != 0)
        return 0;
    return (number + scenario) % step == phase;
}

/* One of `workers`: takes turns with the others. */
static void work(unsigned worker, unsigned workers, int plan_is_made)
{
    unsigned turn = 0;
    for (unsigned i = 0; i < SCENARIOS; i++) {
        struct plan *plan = &plans[i];
        if (is_left_out(&scenarios[i]))
            continue;
        if (!plan_is_made && turn++ % workers == worker)
            plan->none = run_with(&scenarios[i], "");
        for (unsigned k = 0; plan_is_made && k < plan->faults; k++) {
            struct fault *fault = &plan->fault[k];
            if (is_tried(i, k, fault->function) && turn++ % workers == worker) {
                set_timeout_for(fault->options);
                fault->tried = 1;
                fault->result = run_with(&scenarios[i], fault->options);
            }
        }
    }
}

static void work_all(int plan_is_made)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned workers = processors > 5 ? WORKERS_MOST : (unsigned)processors * 3;
    fflush(NULL);
    for (unsigned i = 0; i < workers; i++)
        if (fork() == 0) {
            work(i, workers, plan_is_made);
            _exit(0);
        }
    while (wait(NULL) > 0)
        continue;
}

/* ---- Verdicts ---------------------------------------------------------------------- */

/* Functions whose failure changes nothing, or only what is tried next. */
static int may_go_unnoticed(const char *function)
{
    static const char *const names[] = {"mem_host_register",
                                        "thread_exchange_stream_capture_mode",
                                        "primary_ctx_get_state",
                                        "stream_destroy",
                                        "stream_get_ctx",
                                        "event_destroy",
                                        "mem_free",
                                        "mem_free_host",
                                        "mem_host_unregister",
                                        "module_unload",
                                        "mem_pool_destroy",
                                        "ctx_pop_current"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i], function))
            return 1;
    return 0;
}

/*
 * How often the driver is asked whether it is done depends on the pace of both: but for
 * the first time, the call that should have failed may never come.
 */
static int may_not_come(const struct fault *fault)
{
    const char *function = functions[fault->function];
    return fault->call > 1 &&
           (!strcmp(function, "event_query") || !strcmp(function, "stream_query"));
}

static int is_allowed(const struct scenario *s, const struct fault *fault)
{
    return !fault->result.refused || s->refusal == ON_DEVICE || s->refusal == IN_PLACE ||
           (s->refusal == IF_IT_HANGS && hangs(fault->options));
}

static unsigned judge(const struct scenario *s, const struct plan *plan)
{
    unsigned tried = 0, reached = 0, missed = 0, bad = 0, refused = 0, unnoticed = 0;
    for (unsigned k = 0; k < plan->faults; k++) {
        const struct fault *fault = &plan->fault[k];
        const struct result *r = &fault->result;
        const char *function = functions[fault->function];
        if (!fault->tried)
            continue;
        int was_reached = r->calls[fault->function] >= fault->call;
        tried++;
        reached += (unsigned)was_reached;
        missed += !was_reached && !may_not_come(fault);
        refused += (unsigned)r->refused;
        bad += !r->good || !is_allowed(s, fault);
        if (!is_allowed(s, fault))
            fprintf(stderr, "# %s, %s: refused though nothing hangs\n", s->name, fault->options);
        if (was_reached && r->faults == 0 && !may_go_unnoticed(function)) {
            fprintf(stderr, "# %s, %s: no fault is counted\n", s->name, fault->options);
            unnoticed++;
        }
    }
    tap_ok(plan->none.good && plan->none.faults == 0 && !plan->none.refused,
           "%s: right without a fault", s->name);
    /* One may be missed: on a busy machine a device that is late is given up as one that hangs. */
    tap_ok(reached != 0 && missed <= 1 + tried / 10 && bad == 0,
           "%s: %u faults tried, %u reached, %u refused, all others right", s->name, tried, reached,
           refused);
    tap_ok(unnoticed == 0, "%s: the statistics say that the device failed", s->name);
    return tried;
}

int main(int argc, char **argv)
{
    unsigned tried = 0;
    setenv("GPUAES_MIN_BYTES", "0", 0);
    if (argc > 2)
        return run_scenario(&scenarios[strtoul(argv[1], NULL, 10) % SCENARIOS], argv[2]);
    if (stand_in() || application_hook("emulator_configure") == NULL)
        return tap_skip_all("this driver does not fail on demand");
    plans = mmap(NULL, SCENARIOS * sizeof *plans, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (plans == MAP_FAILED)
        return EXIT_FAILURE;
    tap_random_seed(&random_state);
    step = (unsigned)setting("GPUAES_TEST_EVERY", sanitized() ? 16 : 1);
    if (getenv("GPUAES_TEST_EVERY") == NULL)
        phase = (unsigned)tap_random_below(&random_state, step);
    set_timeout_for("");
    work_all(0);
    for (int i = 0; i < SCENARIOS; i++)
        if (!is_left_out(&scenarios[i]))
            make_plan(&plans[i]);
    work_all(1);
    for (int i = 0; i < SCENARIOS; i++)
        if (!is_left_out(&scenarios[i]))
            tried += judge(&scenarios[i], &plans[i]);
    tap_diag("%d scenarios, %u faults tried", SCENARIOS, tried);
    return tap_done();
}
