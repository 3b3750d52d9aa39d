/*
 * The choice of CPU or GPU. First the model by itself, with CPUs and devices of any
 * speed, whose times are made up; then the provider on emulated devices whose kernels
 * take no longer than they are told to. Each of the latter cases is a run of this
 * program of its own, since what was seen belongs to the process. For the emulator
 * only.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdatomic.h>

#include "provider/policy/cost_model.h"
#include "test/support/cases.h"
#include "test/support/providers.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

/* ---- The model: simulated machines ----------------------------------------------------- */

struct speed {
    double fixed, per_byte; /* ns */
};

/* An H200 and a core of its host, as measured: pinned memory, and pageable memory in pieces. */
static const struct speed core = {200, 0.125}, pinned = {11000, 0.034}, staged = {15000, 0.23};

static double ns_of(struct speed s, size_t bytes)
{
    return s.fixed + s.per_byte * (double)bytes;
}

static struct speed times(struct speed s, double factor)
{
    return (struct speed){s.fixed * factor, s.per_byte * factor};
}

struct simulation {
    struct model_cell cell;
    struct cost_line lines[MODEL_SIDES];
    struct speed is[MODEL_SIDES];
    struct tap_random random;
    double noise;      /* a time is longer by up to this part */
    unsigned chance;   /* one in so many times is a hundred times longer; 0: none */
    unsigned gpu, cpu; /* pieces that each side got */
    unsigned changes;  /* of the side that was preferred */
    double took, best; /* ns; what the better side would have taken */
};

/* As the samples at the start would see them. */
static void measure_sides(struct simulation *s)
{
    for (int side = 0; side < MODEL_SIDES; side++)
        cost_line_set(&s->lines[side], 64 * KIB, ns_of(s->is[side], 64 * KIB), 384 * KIB,
                      ns_of(s->is[side], 384 * KIB));
}

static struct simulation begin(struct speed cpu, struct speed gpu)
{
    struct simulation s = {.is = {cpu, gpu}, .random = {.state = 12345}};
    measure_sides(&s);
    return s;
}

static void reset_counts(struct simulation *s)
{
    s->gpu = s->cpu = s->changes = 0;
    s->took = s->best = 0;
}

static enum model_side one_piece(struct simulation *s, size_t bytes)
{
    double lines[MODEL_SIDES], took[MODEL_SIDES];
    int before = atomic_load(&s->cell.preferred);
    for (int side = 0; side < MODEL_SIDES; side++) {
        lines[side] = cost_line_ns(&s->lines[side], bytes);
        took[side] = ns_of(s->is[side], bytes) *
                     (1 + s->noise * (double)tap_random_below(&s->random, 1001) / 1000);
    }
    s->best += took[MODEL_GPU] < took[MODEL_CPU] ? took[MODEL_GPU] : took[MODEL_CPU];
    struct model_choice choice = model_choose(&s->cell, lines);
    double ns = took[choice.side];
    if (s->chance != 0 && tap_random_below(&s->random, s->chance) == 0)
        ns *= 100;
    model_observe(&s->cell, choice.side, lines, ns, 1);
    s->took += took[choice.side];
    s->gpu += choice.side == MODEL_GPU;
    s->cpu += choice.side == MODEL_CPU;
    s->changes += atomic_load(&s->cell.preferred) != before;
    return choice.side;
}

static void pieces(struct simulation *s, unsigned count, size_t bytes)
{
    reset_counts(s);
    for (unsigned i = 0; i < count; i++)
        (void)one_piece(s, bytes);
}

/* Pieces until the side that is not preferred now has been, `most` at most. */
static unsigned pieces_until_change(struct simulation *s, unsigned most, size_t bytes)
{
    unsigned count = 0;
    reset_counts(s);
    while (s->changes == 0 && count < most) {
        (void)one_piece(s, bytes);
        count++;
    }
    return count;
}

static double lost(const struct simulation *s)
{
    return s->took / s->best - 1;
}

/* ---- The model: assertions -------------------------------------------------------------- */

static void test_lines(void)
{
    struct cost_line line = {0};
    tap_ok(!(cost_line_ns(&line, MIB) < 1e300), "a line that was not measured is infinite");
    cost_line_set(&line, 1000, 3000, 2000, 4000);
    tap_ok(cost_line_ns(&line, 0) == 2000 && cost_line_ns(&line, 5000) == 7000,
           "a line goes through its points and on");
    cost_line_set(&line, 1000, 3000, 2000, 2900);
    tap_ok(cost_line_ns(&line, 100000) == 3000, "and never falls");
    cost_line_set(&line, 1000, 1000, 2000, 3000);
    tap_ok(cost_line_ns(&line, 500) == 500, "nor begins below zero");
}

static void test_sizes(void)
{
    for (size_t bytes = 64 * KIB; bytes <= 64 * MIB; bytes *= 2) {
        struct simulation s = begin(core, pinned);
        double ratio = ns_of(pinned, bytes) / ns_of(core, bytes);
        pieces(&s, 2000, bytes);
        unsigned better = ratio < 1 ? s.gpu : s.cpu;
        int about_equal = ratio > 0.9 && ratio < 1;
        tap_ok((better >= 1980 && lost(&s) < 0.01) || about_equal,
               "%zu KiB, device %.2f: %u of 2000, %.2f %% lost", bytes / KIB, ratio, better,
               100 * lost(&s));
    }
}

static void test_slow_device(void)
{
    static const double slower[] = {1.3, 2, 5, 30, 1000};
    for (size_t i = 0; i < sizeof slower / sizeof slower[0]; i++) {
        struct simulation s = begin(core, times(core, slower[i]));
        pieces(&s, 20000, MIB);
        tap_ok(s.gpu <= 20 && lost(&s) < 0.01 && s.changes == 0,
               "a device %g times slower gets %u of 20000, %.2f %% lost", slower[i], s.gpu,
               100 * lost(&s));
    }
}

/* CTR of newer releases of OpenSSL on CPUs with wide vector AES. */
static void test_fast_cpu(void)
{
    static const struct speed wide = {200, 0.027};
    for (size_t bytes = 64 * KIB; bytes <= 64 * MIB; bytes *= 32) {
        struct simulation s = begin(wide, pinned);
        pieces(&s, 10000, bytes);
        tap_ok(s.gpu <= 20 && lost(&s) < 0.01, "a core of 37 GB/s keeps %zu KiB: %u of 10000",
               bytes / KIB, s.gpu);
    }
}

/* The line of the samples is wrong: what is larger is moved in another way. */
static void test_wrong_lines(void)
{
    struct simulation s = begin(core, staged);
    s.is[MODEL_GPU] = times(core, 0.5);
    pieces(&s, 20, 64 * MIB);
    tap_ok(s.gpu >= 15, "a device that is better than its samples is found: %u of 20", s.gpu);
    s = begin(times(core, 0.3), pinned);
    s.is[MODEL_CPU] = times(core, 3);
    pieces(&s, 100, 256 * KIB);
    tap_ok(s.gpu >= 95, "so is one with a CPU that is worse than its samples: %u of 100", s.gpu);
    s = begin(core, times(core, 0.5));
    s.is[MODEL_GPU] = times(core, 20);
    pieces(&s, 10000, MIB);
    tap_ok(s.gpu <= 20, "a device that is worse than its samples is left: %u of 10000", s.gpu);
}

/*
 * AES-256 in pageable memory on an H100's host, in microseconds: the CPU, the CPU after a piece of
 * the device, the device, and what samples promise of it. CTR is as measured; of GCM the CPU's
 * figures are, with a device that lies between them; the last row is made up.
 */
static void test_measured(void)
{
    enum { BUSY = 50, PIECES = 10000, COUNTED = 1000 }; /* at first the CPU does other work, too */
    static const struct {
        const char *name;
        double cpu, after_gpu, gpu, promised;
        enum model_side side;
    } cases[] = {
        {"CTR of 1 MiB out of place", 216, 231, 225, 147, MODEL_CPU},
        {"CTR of 1 MiB in place", 233, 232, 169, 147, MODEL_GPU},
        {"CTR of 16 MiB out of place", 4168, 4663, 1068, 2200, MODEL_GPU},
        {"GCM of 4 MiB in place", 440, 521, 480, 400, MODEL_CPU},
        {"sides that are equal", 220, 220, 216, 150, MODEL_CPU},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct model_cell cell = {0};
        double lines[MODEL_SIDES] = {cases[i].cpu, cases[i].promised};
        enum model_side before = MODEL_CPU;
        unsigned right = 0;
        for (unsigned piece = 0; piece < PIECES; piece++) {
            enum model_side side = model_choose(&cell, lines).side;
            double cpu = before == MODEL_GPU ? cases[i].after_gpu : cases[i].cpu;
            cpu *= piece < BUSY ? 2 : 1;
            model_observe(&cell, side, lines, side == MODEL_GPU ? cases[i].gpu : cpu, 1);
            right += piece >= PIECES - COUNTED && side == cases[i].side;
            before = side;
        }
        tap_ok(right >= 960, "%s: the better side gets %u of 1000", cases[i].name, right);
    }
}

/* The length from which asking is worth it: an H100's pinned memory, and a core of its host. */
static void test_gains_from(void)
{
    struct cost_line line = {0};
    cost_line_set(&line, 64 * KIB, 17500, 384 * KIB, 30000);
    size_t from = cost_line_gains_from(&line, 0.2);
    tap_ok(from > 64 * KIB && from < 256 * KIB &&
               cost_line_ns(&line, from + 1) <= 0.2 * MODEL_MARGIN * (double)(from + 1),
           "64 KiB is not asked about, but from %zu bytes on", from);
    tap_ok(cost_line_gains_from(&line, 0.03) == SIZE_MAX, "and nothing for a faster core");
}

static void test_drift(void)
{
    struct simulation s = begin(core, pinned);
    pieces(&s, 1000, MIB);
    s.is[MODEL_GPU] = times(pinned, 100);
    unsigned left = pieces_until_change(&s, 100, MIB);
    tap_ok(left == 2, "a device that becomes slow is left after two pieces (%u)", left);
    pieces(&s, 100000, MIB);
    tap_ok(s.gpu <= 20 && lost(&s) < 0.01, "and gets %u of 100000 then, %.2f %% lost", s.gpu,
           100 * lost(&s));
    s.is[MODEL_GPU] = pinned;
    unsigned found = pieces_until_change(&s, 10000000, MIB);
    double worst = (double)MODEL_RAREST * (100 * ns_of(pinned, MIB) / ns_of(core, MIB) - 1);
    tap_ok((double)found <= worst, "it is found to be fast again after %u pieces, %.0f at most",
           found, worst);
    pieces(&s, 1000, MIB);
    tap_ok(s.gpu >= 995, "and gets nearly all of them: %u of 1000", s.gpu);

    s = begin(core, times(core, 1.5));
    pieces(&s, 1000, MIB);
    s.is[MODEL_CPU] = times(core, 4);
    left = pieces_until_change(&s, 100, MIB);
    tap_ok(left == 2, "a CPU that becomes slow is left after two pieces (%u)", left);
    s.is[MODEL_CPU] = core;
    pieces(&s, 20000, MIB);
    tap_ok(lost(&s) < 0.1 && one_piece(&s, MIB) == MODEL_CPU,
           "and is found to be fast again, %.2f %% lost", 100 * lost(&s));
}

static void test_drift_factor(void)
{
    struct simulation s = begin(core, pinned);
    pieces(&s, 100, MIB);
    double lines[MODEL_SIDES] = {cost_line_ns(&s.lines[MODEL_CPU], MIB),
                                 cost_line_ns(&s.lines[MODEL_GPU], MIB)};
    s.is[MODEL_GPU] = times(pinned, MODEL_DRIFT * 0.98);
    (void)one_piece(&s, MIB);
    double now = model_choose(&s.cell, lines).ns[MODEL_GPU] / lines[MODEL_GPU];
    tap_ok(now > 1.08 && now < 1.16, "less than the factor is followed in part: %.2f", now);
    s.is[MODEL_GPU] = times(pinned, 2);
    (void)one_piece(&s, MIB);
    double once = model_choose(&s.cell, lines).ns[MODEL_GPU] / lines[MODEL_GPU];
    (void)one_piece(&s, MIB);
    double twice = model_choose(&s.cell, lines).ns[MODEL_GPU] / lines[MODEL_GPU];
    tap_ok(once == now && twice > 1.9, "more than that not once (%.2f), but twice (%.2f)", once,
           twice);
    s.is[MODEL_GPU] = pinned;
    (void)one_piece(&s, MIB);
    now = model_choose(&s.cell, lines).ns[MODEL_GPU] / lines[MODEL_GPU];
    tap_ok(now < 1.01, "and what is faster at once: %.2f", now);
}

static void test_noise(void)
{
    struct simulation s = begin(core, times(core, 0.95));
    s.noise = 0.3;
    pieces(&s, 100000, MIB);
    tap_ok(s.changes <= 1000, "sides that are about equal change %u times in 100000", s.changes);
    s = begin(core, pinned);
    s.noise = 0.2;
    s.chance = 1000;
    pieces(&s, 100000, MIB);
    tap_ok(s.gpu >= 99000, "what is slow by chance changes nothing: %u of 100000", s.gpu);
    /* Ten pieces fast, ten pieces slow, all the time. */
    s = begin(core, pinned);
    double took = 0, cpu = 0;
    for (unsigned i = 0; i < 10000; i++) {
        s.is[MODEL_GPU] = times(pinned, i % 2 ? 1 : 50);
        pieces(&s, 10, MIB);
        took += s.took;
        cpu += 10 * ns_of(core, MIB);
    }
    tap_ok(took < cpu * 1.02, "a device that is slow in turns costs %.2f %%",
           100 * (took / cpu - 1));
}

/* ---- On emulated devices ------------------------------------------------------------------ */

/* The context stays: the first one starts the device. */
static EVP_CIPHER_CTX *open_context(const char *name)
{
    static const unsigned char key[32] = "a key", iv[16] = "an IV";
    EVP_CIPHER_CTX *context = context_open(1, name, key, iv, 1, NULL);
    (void)COMES(figure("devices") != 0);
    return context;
}

/* Updates, in place; how many of them the device did. */
static unsigned on_device(EVP_CIPHER_CTX *context, unsigned char *buffer, int bytes, unsigned count)
{
    uint64_t before = figure("gpu-bytes");
    int n;
    for (unsigned i = 0; i < count; i++)
        EVP_CipherUpdate(context, buffer, &n, buffer, bytes);
    return (unsigned)((figure("gpu-bytes") - before) / (uint64_t)bytes);
}

enum { LENGTH = 4 * MIB }; /* what the device reads and writes by itself, where it is pinned */

static unsigned char *take(enum place place)
{
    unsigned char *p = application_begin(0) ? application_alloc(place, LENGTH) : NULL;
    if (p == NULL)
        exit(EXIT_FAILURE);
    memset(p, 1, LENGTH);
    return p;
}

/*
 * 1 once the device gets nearly all: at once, if nothing else runs on the machine, and
 * after some tries otherwise.
 */
static int device_gets_all(EVP_CIPHER_CTX *context, unsigned char *buffer)
{
    unsigned got = 0, updates = 0;
    for (; updates < 100000 && got < 45; updates += 50)
        got = on_device(context, buffer, LENGTH, 50);
    tap_diag("%u of 50, after %u", got, updates - 50);
    return got >= 45;
}

static int fast_device_gets_work(void)
{
    EVP_CIPHER_CTX *context = open_context("AES-256-CTR");
    int right = device_gets_all(context, take(PINNED));
    EVP_CIPHER_CTX_free(context);
    return right;
}

/*
 * Kernels that really compute are slower than any CPU, unless others take that from one update of
 * 64 KiB and the next. A device that is taken for the faster one gets nearly all.
 */
static int slow_device_gets_little(void)
{
    EVP_CIPHER_CTX *context = open_context("AES-256-CTR");
    unsigned char *buffer = take(PINNED);
    unsigned got = on_device(context, buffer, LENGTH, 50) + on_device(context, buffer, MIB, 50) +
                   on_device(context, buffer, 64 * KIB, 50);
    EVP_CIPHER_CTX_free(context);
    return got <= 15 && figure("cpu-bytes-faster") > 0;
}

static int changes_are_followed(void)
{
    EVP_CIPHER_CTX *context = open_context("AES-256-CTR");
    unsigned char *buffer = take(PINNED);
    int fast = device_gets_all(context, buffer);
    emulate("idle-kernels=1,kernel-us=200000");
    unsigned slow = on_device(context, buffer, LENGTH, 100);
    tap_diag("slow: %u of 100", slow);
    emulate("idle-kernels=1");
    int fast_again = device_gets_all(context, buffer);
    EVP_CIPHER_CTX_free(context);
    return fast && slow <= 50 && fast_again;
}

/* What is pinned is not copied here, what is pageable is. */
static int memory_is_judged_by_itself(void)
{
    EVP_CIPHER_CTX *context = open_context("AES-256-ECB");
    unsigned char *at_hand = take(PINNED), *pageable = take(PAGEABLE);
    unsigned first = on_device(context, pageable, LENGTH, 20);
    int gets_all = device_gets_all(context, at_hand);
    unsigned second = on_device(context, pageable, LENGTH, 20);
    application_free(PAGEABLE, pageable);
    EVP_CIPHER_CTX_free(context);
    return gets_all && first == 0 && second == 0;
}

/* Once for 17 updates of 1 MiB: what is pageable may be pinned later. */
static int memory_is_looked_at_again(void)
{
    static unsigned char buffer[MIB];
    EVP_CIPHER_CTX *context = open_context("AES-256-CTR");
    unsigned before = application_count_of("emulator_calls", "pointer_get_attributes");
    on_device(context, buffer, MIB, 256);
    unsigned looks = application_count_of("emulator_calls", "pointer_get_attributes") - before;
    tap_diag("%u looks for 256 updates", looks);
    EVP_CIPHER_CTX_free(context);
    return looks >= 12 && looks <= 64;
}

/* The device was used for samples alone, which are in no figure. */
static int has_sampled_uncounted(void)
{
    return application_count_of("emulator_launches", NULL) != 0 && figure("launches") == 0 &&
           figure("gpu-bytes") == 0 && figure("read-ahead-bytes") == 0;
}

/* Every byte is in one of the figures, and in the right one. */
static int figures_say_why(void)
{
    static const unsigned char zeros[32] = "";
    EVP_CIPHER_CTX *context = open_context("AES-128-ECB");
    unsigned char *buffer = take(PAGEABLE);
    int n;
    on_device(context, buffer, 32 * KIB, 3);
    on_device(context, buffer, LENGTH, 2);
    EVP_CIPHER_CTX_free(context);
    context = context_open(1, "AES-128-CBC", zeros, zeros, 1, NULL);
    EVP_CipherUpdate(context, buffer, &n, buffer, MIB);
    application_free(PAGEABLE, buffer);
    EVP_CIPHER_CTX_free(context);
    return figure("cpu-bytes-small") == 3 * 32 * KIB && figure("cpu-bytes-faster") == 2 * LENGTH &&
           figure("cpu-bytes-unsuited") == MIB && figure("cpu-bytes-no-device") == 0 &&
           figure("cpu-bytes-failed") == 0 &&
           figure("cpu-bytes") == 3 * 32 * KIB + 2 * LENGTH + MIB && has_sampled_uncounted();
}

static int figures_say_that_it_failed(void)
{
    EVP_CIPHER_CTX *context = open_context("AES-256-CTR");
    unsigned char *buffer = take(PINNED);
    int n;
    emulate("idle-kernels=1,fault=cuLaunchKernel:1");
    /* On a busy machine the CPU may be given some before. */
    for (int i = 0; i < 100 && figure("faults") == 0; i++)
        EVP_CipherUpdate(context, buffer + LENGTH / 2, &n, buffer, LENGTH / 2);
    for (int i = 0; i < 2; i++)
        EVP_CipherUpdate(context, buffer + LENGTH / 2, &n, buffer, LENGTH / 2);
    EVP_CIPHER_CTX_free(context);
    return figure("cpu-bytes-failed") == LENGTH / 2 && figure("cpu-bytes-no-device") == LENGTH &&
           figure("gpu-bytes") == 0 && figure("faults") == 1;
}

/* What a device that failed has left undefined, the CPU does not do. */
static int figures_leave_out_what_is_undefined(void)
{
    EVP_CIPHER_CTX *context = open_context("AES-256-CTR");
    unsigned char *buffer = take(PINNED);
    int n, done = 1;
    emulate("idle-kernels=1,fault=cuLaunchKernel:1");
    for (int i = 0; i < 100 && done; i++)
        done = EVP_CipherUpdate(context, buffer, &n, buffer, LENGTH);
    EVP_CIPHER_CTX_free(context);
    return !done && figure("faults") == 1 && figure("cpu-bytes-failed") == 0;
}

static int figures_say_that_there_is_none(void)
{
    static unsigned char buffer[LENGTH], key[32];
    EVP_CIPHER_CTX *context = context_open(1, "AES-256-CTR", key, key, 1, NULL);
    on_device(context, buffer, LENGTH, 3);
    EVP_CIPHER_CTX_free(context);
    return figure("cpu-bytes-no-device") == 3 * LENGTH &&
           figure("cpu-bytes-no-device") == figure("cpu-bytes");
}

#define FAST "idle-kernels=1"

static const struct case_row cases[] = {
    {"a fast device gets large updates", "GPUAES_START=eager", FAST, fast_device_gets_work},
    {"a slow device gets hardly anything", "GPUAES_START=eager", "", slow_device_gets_little},
    {"a device that becomes slow is left, and found when it is fast again", "GPUAES_START=eager",
     FAST, changes_are_followed},
    {"each kind of memory is judged by itself", "GPUAES_START=eager", FAST ",copy-mbps=10",
     memory_is_judged_by_itself},
    {"memory is looked at once in a while", "GPUAES_START=eager", "", memory_is_looked_at_again},
    {"the figures say why the CPU did it", "GPUAES_START=eager", "", figures_say_why},
    {"that the device failed", "GPUAES_START=eager", FAST, figures_say_that_it_failed},
    {"but not of an output that is undefined", "GPUAES_START=eager", FAST,
     figures_leave_out_what_is_undefined},
    {"and that there was none", "GPUAES_START=never", "", figures_say_that_there_is_none},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(int argc, char **argv)
{
    if (argc > 1)
        return case_named(argv[1], cases);
    test_lines();
    test_sizes();
    test_slow_device();
    test_fast_cpu();
    test_wrong_lines();
    test_measured();
    test_gains_from();
    test_drift();
    test_drift_factor();
    test_noise();
    cases_check(cases, CASES, 1);
    return tap_done();
}
