/*
 * Processes that fork before, while and after they use the device, from one
 * thread and beside several that are at work. The child goes on with the
 * parent's streams, makes its own, frees what it inherited and ends in each of
 * three ways; whatever either does, the bytes are the default provider's and
 * nothing hangs. A child of a process that had started finds no device and uses
 * the CPU; one that was forked before may start its own.
 *
 * The device's state belongs to the process, so each scenario is this program
 * again, run by its number, once with pinned memory that the child shares and
 * once with pinned memory that is absent there (the driver may do either).
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "test/support/cases.h"
#include "test/support/leaks_allowed.h" /* children end beside threads */
#include "test/support/providers.h"

enum when { BEFORE, DURING, AFTER };
enum ending { BY_EXIT, BY_IMMEDIATE_EXIT, BY_EXEC };

static const char *const when_names[] = {"before", "during", "after"};
static const char *const ending_names[] = {"exit", "_exit", "exec"};

struct scenario {
    enum when when;
    enum ending ending;
    unsigned threads;
};

static const struct scenario scenarios[] = {
    {BEFORE, BY_EXIT, 0}, {BEFORE, BY_IMMEDIATE_EXIT, 0}, {BEFORE, BY_EXEC, 0},
    {DURING, BY_EXIT, 0}, {DURING, BY_IMMEDIATE_EXIT, 0}, {DURING, BY_EXEC, 0},
    {AFTER, BY_EXIT, 0},  {AFTER, BY_IMMEDIATE_EXIT, 0},  {AFTER, BY_EXEC, 0},
    {DURING, BY_EXIT, 4}, {DURING, BY_IMMEDIATE_EXIT, 4}, {DURING, BY_EXEC, 4},
};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* ---- Streams: ours and the default's, side by side ----------------------- */

enum { STREAMS = 3, PIECE = 20000 };

static const struct {
    const char *cipher;
    int encrypt;
} stream_rows[STREAMS] = {{"AES-256-CTR", 1}, {"AES-128-ECB", 1}, {"AES-256-CBC", 0}};

struct streams {
    EVP_CIPHER_CTX *ours[STREAMS], *reference[STREAMS];
};

static void streams_open(struct streams *s)
{
    static const unsigned char key[32] = "the same in parent and in child",
                               iv[16] = "and so is this.";
    int i;

    for (i = 0; i < STREAMS; i++) {
        const char *cipher = stream_rows[i].cipher;

        s->ours[i] = context_open(1, cipher, key, iv, stream_rows[i].encrypt, NULL);
        s->reference[i] = context_open(0, cipher, key, iv, stream_rows[i].encrypt, NULL);
    }
}

static void streams_close(struct streams *s)
{
    int i;

    for (i = 0; i < STREAMS; i++) {
        EVP_CIPHER_CTX_free(s->ours[i]);
        EVP_CIPHER_CTX_free(s->reference[i]);
    }
}

/* Some updates of each stream; 1 if all were right. */
static int streams_go_on(struct streams *s, unsigned rounds)
{
    unsigned char in[PIECE], ours[PIECE + 32], reference[PIECE + 32];
    int i, n, m;
    unsigned round;

    for (round = 0; round < rounds; round++)
        for (i = 0; i < STREAMS; i++) {
            memset(in, (int)(round * 7) + i, sizeof in);
            memset(in, i, round * 100 % sizeof in);
            if (!EVP_CipherUpdate(s->ours[i], ours, &n, in, PIECE - 5) ||
                !EVP_CipherUpdate(s->reference[i], reference, &m, in, PIECE - 5) || n != m ||
                memcmp(ours, reference, (size_t)n)) {
                fprintf(stderr, "# process %d: %s is wrong\n", (int)getpid(),
                        stream_rows[i].cipher);
                return 0;
            }
        }
    return 1;
}

static int streams_of_its_own(void)
{
    struct streams s;
    int good;

    streams_open(&s);
    good = streams_go_on(&s, 3);
    streams_close(&s);
    return good;
}

/* ---- Children ------------------------------------------------------------ */

static void end(enum ending ending, int good)
{
    if (ending == BY_EXEC && good)
        execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL);
    if (ending == BY_EXIT) {
        providers_unload(&providers); /* tears the module down in the child */
        exit(!good);
    }
    _exit(!good);
}

/* Goes on with what it inherited, makes its own, forks again, frees everything. */
static void be_child(const struct scenario *scenario, struct streams *inherited)
{
    struct figures figures;
    pid_t grandchild;
    int good;

    alarm(200);
    good = (!inherited || streams_go_on(inherited, 2)) && streams_of_its_own();
    grandchild = fork();
    if (grandchild == 0)
        _exit(!((!inherited || streams_go_on(inherited, 1)) && streams_of_its_own()));
    good = ended_well(grandchild) && good;
    figures = figures_get(&providers);
    if (!stand_in() && (scenario->when == BEFORE) != (figures.gpu_bytes > 0)) {
        fprintf(stderr, "# gpu-bytes=%llu in a child forked %s use\n",
                (unsigned long long)figures.gpu_bytes, when_names[scenario->when]);
        good = 0;
    }
    if (inherited)
        streams_close(inherited);
    end(scenario->ending, good);
}

static int one_child(const struct scenario *scenario, struct streams *inherited)
{
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0)
        be_child(scenario, inherited);
    return ended_well(child);
}

/* ---- Threads at work meanwhile ------------------------------------------- */

enum { THREADS = 4 };
static atomic_uint at_work;
static atomic_int stop;

static void *work(void *argument)
{
    struct streams *s = argument;

    int good = streams_go_on(s, 1);

    atomic_fetch_add(&at_work, 1);
    while (good && !atomic_load(&stop))
        good = streams_go_on(s, 2);
    return good ? s : NULL;
}

static int during(const struct scenario *scenario)
{
    struct streams own = {0}, theirs[THREADS] = {0};
    pthread_t threads[THREADS] = {0};
    unsigned i;
    int good;
    void *result;

    for (i = 0; i < scenario->threads; i++)
        streams_open(&theirs[i]);
    streams_open(&own);
    good = streams_go_on(&own, 2);
    for (i = 0; i < scenario->threads; i++)
        pthread_create(&threads[i], NULL, work, &theirs[i]);
    while (atomic_load(&at_work) < scenario->threads)
        usleep(1000);
    for (i = 0; good && i < (scenario->threads ? 5 : 2); i++)
        good = one_child(scenario, &own) && streams_go_on(&own, 2);
    atomic_store(&stop, 1);
    for (i = 0; i < scenario->threads; i++) {
        pthread_join(threads[i], &result);
        good = good && result;
        streams_close(&theirs[i]);
    }
    streams_close(&own);
    return good && streams_of_its_own();
}

/* The whole of one scenario, in a process of its own. */
static int run_scenario(const struct scenario *scenario)
{
    struct figures figures;
    struct streams unused;
    int good = 1;

    alarm(300);
    providers = providers_load();
    if (scenario->when == BEFORE) {
        streams_open(&unused); /* contexts, but not a byte yet */
        good =
            one_child(scenario, &unused) && one_child(scenario, NULL) && streams_go_on(&unused, 2);
        streams_close(&unused);
    } else if (scenario->when == AFTER) {
        good = streams_of_its_own() && one_child(scenario, NULL) && one_child(scenario, NULL) &&
               streams_of_its_own();
    } else {
        good = during(scenario);
    }
    figures = figures_get(&providers);
    if (!stand_in() && (!figures.gpu_bytes || figures.faults)) {
        fprintf(stderr, "# the parent: gpu-bytes=%llu faults=%llu\n",
                (unsigned long long)figures.gpu_bytes, (unsigned long long)figures.faults);
        good = 0;
    }
    providers_unload(&providers);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const memories[] = {"fork=shared", "fork=absent"};
    size_t memory, i;

    if (argc > 1)
        return !run_scenario(&scenarios[strtoul(argv[1], NULL, 10) % SCENARIOS]);
    setenv("GPUAES_MIN_BYTES", "0", 1);
    for (memory = 0; memory < 2; memory++)
        for (i = 0; i < SCENARIOS; i++)
            tap_ok(ended_well(case_begin(NULL, memories[memory], "%zu", i)),
                   "fork %s use, child ends by %s, %u threads at work, %s",
                   when_names[scenarios[i].when], ending_names[scenarios[i].ending],
                   scenarios[i].threads, memories[memory]);
    return tap_done();
}
