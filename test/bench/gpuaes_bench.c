/*
 * What the provider does beside the default provider, measured in one run and
 * interleaved: the two take turns, and medians are compared. Tab-separated
 * values to stdout; lines with # name the machine and the columns.
 *
 *     gpuaes_bench [--quick] [PART...]
 *
 * The parts, all of them where none is named:
 *     small   updates of 16 bytes to 16 KiB, each cipher and direction
 *     bulk    one update of 64 KiB to 1 GiB, pinned and pageable, apart and in place;
 *             then the pinned memory that was held at most
 *     start   the longest single update before, during and after the device's start
 *     load    what loading the module takes: time, and resident memory
 *     base64  the BASE64 cipher beside EVP_EncodeBlock() and EVP_DecodeBlock()
 *
 * Each part is a process of its own, since the device starts once in each.
 * --quick measures little, to see that all parts work; its figures mean nothing.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/core_names.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../cuda/gpuaes.h"
#include "../providers.h"

static int quick;
static struct providers providers;

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* ---- Time and medians ---------------------------------------------------- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts. */
static double quantile(double *values, size_t count, double at)
{
    qsort(values, count, sizeof *values, compare);
    return values[(size_t)(at * (double)(count - 1) + 0.5)];
}

enum { OURS, DEFAULT, SIDES, MOST = 1001 };

/* Seconds of each repetition, and ours / default of each pair. */
struct series {
    double seconds[SIDES][MOST], ratio[MOST];
    size_t count;
};

static struct series series;

/* What is measured: side and argument. */
typedef void measured_fn(int side, void *argument);

/* One warm-up, then `count` pairs; who goes first changes from pair to pair. */
static void measure(size_t count, measured_fn *measured, void *argument)
{
    size_t i;
    int turn, side;
    double began;

    series.count = count > MOST ? MOST : count;
    measured(OURS, argument);
    measured(DEFAULT, argument);
    for (i = 0; i < series.count; i++) {
        for (turn = 0; turn < SIDES; turn++) {
            side = (turn + (int)i) % SIDES;
            began = now();
            measured(side, argument);
            series.seconds[side][i] = now() - began;
        }
        series.ratio[i] = series.seconds[OURS][i] / series.seconds[DEFAULT][i];
    }
}

static double median(int side)
{
    return quantile(series.seconds[side], series.count, 0.5);
}

/* ---- Rows ---------------------------------------------------------------- */

struct row {
    const char *part, *cipher, *what;
    size_t bytes;
    const char *memory, *placement;
    double ours, other;
    const char *unit, *engine;
};

/*
 * `ratio` is time of ours / time of the default's for times, and rate of ours /
 * rate of the default's for rates. `spread` is the distance of the quartiles of
 * the time ratio, as a part of its median; 0 where nothing was repeated.
 */
static void print_columns(void)
{
    puts("# part\tcipher\toperation\tbytes\tmemory\tplacement\tours\tdefault\tunit\tratio\tspread\t"
         "engine");
}

static void print_row(const struct row *r)
{
    double spread = 0;

    if (series.count) {
        double middle = quantile(series.ratio, series.count, 0.5);

        spread = (quantile(series.ratio, series.count, 0.75) -
                  quantile(series.ratio, series.count, 0.25)) /
                 middle;
    }
    printf("%s\t%s\t%s\t%zu\t%s\t%s\t%.6g\t%.6g\t%s\t%.4g\t%.3g\t%s\n", r->part, r->cipher, r->what,
           r->bytes, r->memory, r->placement, r->ours, r->other, r->unit,
           r->other > 0 ? r->ours / r->other : 0.0, spread, r->engine);
    fflush(stdout);
}

/* ---- The device ---------------------------------------------------------- */

/* The sides' contexts for one cipher, without padding. */
struct pair {
    EVP_CIPHER_CTX *context[SIDES];
    unsigned char *in, *out;
    size_t length, calls;
};

static void pair_open(struct pair *p, const char *cipher, int encrypt)
{
    static const unsigned char key[32] = "the key of all measurements ...",
                               iv[16] = "and the vector.";
    EVP_CIPHER *ciphers[SIDES] = {fetch_ours(&providers, cipher),
                                  fetch_reference(&providers, cipher)};
    int side;

    for (side = 0; side < SIDES; side++) {
        p->context[side] = EVP_CIPHER_CTX_new();
        if (!EVP_CipherInit_ex2(p->context[side], ciphers[side], key, iv, encrypt, NULL)) {
            ERR_print_errors_fp(stderr);
            exit(EXIT_FAILURE);
        }
        EVP_CIPHER_CTX_set_padding(p->context[side], 0);
        EVP_CIPHER_free(ciphers[side]);
    }
}

static void pair_close(struct pair *p)
{
    EVP_CIPHER_CTX_free(p->context[OURS]);
    EVP_CIPHER_CTX_free(p->context[DEFAULT]);
}

static void updates(int side, void *argument)
{
    const struct pair *p = argument;
    size_t i;
    int n;

    for (i = 0; i < p->calls; i++)
        if (!EVP_CipherUpdate(p->context[side], p->out, &n, p->in, (int)p->length)) {
            ERR_print_errors_fp(stderr);
            exit(EXIT_FAILURE);
        }
}

/* Waits until the device can be used, or cannot; the first context starts it. */
static void warm_up(void)
{
    double deadline = now() + (quick ? 3 : 30);
    struct pair p;

    providers = providers_load();
    pair_open(&p, "AES-256-CTR", 1);
    while (!figures_get(&providers).start_ms && now() < deadline &&
           gpuaes_state() != GPUAES_FAILED && !stand_in())
        usleep(1000);
    usleep(quick ? 1000 : 100000);
    pair_close(&p);
}

/* Which engine did it: by the bytes that the device is said to have done since `before`. */
static const char *engine_since(const struct figures *before, double bytes)
{
    double gpu = (double)(figures_get(&providers).gpu_bytes - before->gpu_bytes);

    return gpu >= 0.9 * bytes ? "gpu" : gpu > 0 ? "mixed" : "cpu";
}

/* ---- The machine --------------------------------------------------------- */

static void print_line_of(const char *path, const char *key, const char *label)
{
    char line[512], *value;
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key)) && (value = strchr(line, ':'))) {
            printf("# %s%s", label, value);
            break;
        }
    if (file)
        fclose(file);
}

static int part_header(void)
{
    struct gpuaes_device_info device;
    char date[64] = "", *build = NULL;
    time_t t = time(NULL);
    OSSL_PARAM params[] = {OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, &build, 0),
                           OSSL_PARAM_END};

    warm_up();
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", gmtime(&t));
    printf("# date: %s%s\n", date, quick ? " (quick: the figures mean nothing)" : "");
    if (gpuaes_device(&device))
        printf("# GPU: %s, compute capability %d.%d, %d multiprocessors, driver for CUDA %d.%d\n",
               device.name, device.compute_major, device.compute_minor, device.multiprocessors,
               device.driver_version / 1000, device.driver_version % 1000 / 10);
    else
        printf("# GPU: none that this process can ask%s%s\n", *gpuaes_reason() ? ": " : "",
               gpuaes_reason());
    print_line_of("/proc/driver/nvidia/version", "NVRM version", "driver");
    if (providers.gpuaes && OSSL_PROVIDER_get_params(providers.gpuaes, params) && build)
        printf("# gpuaes: %s\n", build);
    printf("# OpenSSL: %s\n", OpenSSL_version(OPENSSL_VERSION));
    print_line_of("/proc/cpuinfo", "model name", "CPU");
    printf("# cores: %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
    printf("# start-ms: %llu\n", (unsigned long long)figures_get(&providers).start_ms);
    puts("# ratio: of times (ns, us, ms) ours / default, less is better;"
         " of rates (GB/s) ours / default, more is better");
    print_columns();
    return 0;
}

/* ---- Part: small --------------------------------------------------------- */

static void small_row(const struct cipher_row *cipher, int encrypt, size_t length,
                      unsigned char *buffer)
{
    struct pair p = {.in = buffer, .out = buffer, .length = length};
    struct row row = {.part = "small",
                      .cipher = cipher->name,
                      .bytes = length,
                      .memory = "pageable",
                      .placement = "in place",
                      .unit = "ns"};
    struct figures before = figures_get(&providers);
    double calls;

    pair_open(&p, cipher->name, encrypt);
    p.calls = quick ? 2 : 400000 / (length + 400); /* some 100 us */
    measure(quick ? 3 : 401, updates, &p);
    calls = (double)p.calls;
    row.what = encrypt ? "encrypt" : "decrypt";
    row.ours = median(OURS) / calls * 1e9;
    row.other = median(DEFAULT) / calls * 1e9;
    pair_close(&p);
    row.engine = engine_since(&before, calls * (double)(series.count + 1) * (double)length);
    print_row(&row);
}

static int part_small(void)
{
    static const size_t lengths[] = {16, 64, 256, KIB, 4 * KIB, 16 * KIB};
    unsigned char *buffer = aligned_alloc(4096, 16 * KIB);
    size_t row, l;
    int encrypt;

    memset(buffer, 1, 16 * KIB);
    warm_up();
    for (row = 0; row < CIPHER_ROWS; row++)
        /* CTR does the same in both directions. */
        for (encrypt = 1; encrypt >= (cipher_rows[row].mode == CTR ? 1 : 0); encrypt--)
            for (l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
                small_row(&cipher_rows[row], encrypt, lengths[l], buffer);
    free(buffer);
    return 0;
}

/* ---- Part: bulk ---------------------------------------------------------- */

static void bulk_row(const char *cipher, int encrypt, size_t length, const char *memory,
                     unsigned char *in, unsigned char *out)
{
    struct pair p = {.in = in, .out = out, .length = length, .calls = 1};
    int serial = encrypt && strstr(cipher, "CBC");
    size_t repetitions = length >= 256 * MIB ? (serial ? 3 : 7) : length >= 16 * MIB ? 15 : 51;
    struct row row = {.part = "bulk",
                      .cipher = cipher,
                      .bytes = length,
                      .memory = memory,
                      .placement = in == out ? "in place" : "apart",
                      .unit = "GB/s"};
    struct figures before = figures_get(&providers);

    pair_open(&p, cipher, encrypt);
    measure(quick ? 3 : repetitions, updates, &p);
    row.what = encrypt ? "encrypt" : "decrypt";
    row.ours = (double)length / median(OURS) / 1e9;
    row.other = (double)length / median(DEFAULT) / 1e9;
    pair_close(&p);
    row.engine = engine_since(&before, (double)(series.count + 1) * (double)length);
    print_row(&row);
}

static void bulk_ciphers(size_t length, const char *memory, unsigned char *in, unsigned char *out)
{
    static const struct {
        const char *cipher;
        int encrypt, few; /* few: at some lengths only */
    } rows[] = {{"AES-256-CTR", 1, 0}, {"AES-256-ECB", 1, 0}, {"AES-256-ECB", 0, 0},
                {"AES-256-CBC", 0, 0}, {"AES-256-CBC", 1, 0}, {"AES-128-CTR", 1, 1},
                {"AES-128-ECB", 1, 1}, {"AES-128-CBC", 0, 1}};
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!rows[i].few || length == MIB || length == 64 * MIB || length == GIB) {
            bulk_row(rows[i].cipher, rows[i].encrypt, length, memory, in, out);
            bulk_row(rows[i].cipher, rows[i].encrypt, length, memory, in, in);
        }
}

static uint64_t provider_figure(const char *name)
{
    uint64_t value = 0;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64(name, &value), OSSL_PARAM_END};

    if (providers.gpuaes)
        OSSL_PROVIDER_get_params(providers.gpuaes, params);
    return value;
}

static int part_bulk(void)
{
    size_t most = quick ? MIB : GIB, length;
    unsigned char *pageable[2] = {aligned_alloc(4096, most), aligned_alloc(4096, most)};
    unsigned char *pinned[2];
    struct row peak = {.part = "pinned",
                       .cipher = "all",
                       .what = "peak against pinned-bytes",
                       .memory = "pinned",
                       .placement = "-",
                       .unit = "MiB",
                       .engine = "-"};

    if (!pageable[0] || !pageable[1]) {
        puts("# bulk: not enough memory");
        return 1;
    }
    memset(pageable[0], 1, most);
    memset(pageable[1], 2, most);
    warm_up();
    pinned[0] = gpuaes_pinned_alloc(most);
    pinned[1] = gpuaes_pinned_alloc(most);
    if (!pinned[0] || !pinned[1])
        printf("# bulk: no pinned memory: %s\n", *gpuaes_reason() ? gpuaes_reason() : "no device");
    for (length = 64 * KIB; length <= most; length *= 4) {
        bulk_ciphers(length, "pageable", pageable[0], pageable[1]);
        if (pinned[0] && pinned[1])
            bulk_ciphers(length, "pinned", pinned[0], pinned[1]);
    }
    series.count = 0;
    peak.ours = (double)provider_figure("pinned-peak") / (double)MIB;
    peak.other = 256; /* the default of pinned-bytes */
    print_row(&peak);
    gpuaes_pinned_free(pinned[0], most);
    gpuaes_pinned_free(pinned[1], most);
    free(pageable[0]);
    free(pageable[1]);
    return 0;
}

/* ---- Part: start --------------------------------------------------------- */

enum phase { BEFORE, DURING, AFTER, PHASES };

struct latencies {
    double longest[PHASES], sum[PHASES];
    size_t count[PHASES];
};

/* Updates of one side for as long as its device starts; without a start, until `until`. */
static void watch_updates(int side, const struct pair *p, size_t start_bytes, double until,
                          struct latencies *l)
{
    size_t done = 0;
    double deadline = now() + until, began, took, ready = 0;
    enum phase phase = BEFORE;
    int n;

    memset(l, 0, sizeof *l);
    while (now() < deadline) {
        if (phase == BEFORE && done >= start_bytes)
            phase = DURING;
        if (phase == DURING && side == OURS && l->count[DURING] % 8 == 0 &&
            figures_get(&providers).start_ms) {
            phase = AFTER;
            ready = now();
        }
        if (phase == AFTER && now() > ready + (quick ? 0.02 : 0.5))
            break;
        began = now();
        EVP_CipherUpdate(p->context[side], p->out, &n, p->in, (int)p->length);
        took = now() - began;
        done += p->length;
        l->count[phase]++;
        l->sum[phase] += took;
        if (took > l->longest[phase])
            l->longest[phase] = took;
    }
}

static void start_rows(size_t length)
{
    static const char *const names[PHASES] = {"before", "during", "after"};
    size_t start_bytes = quick ? MIB : GIB;
    struct pair p = {.length = length};
    struct latencies ours, other;
    struct row row = {.part = "start",
                      .cipher = "AES-256-CTR",
                      .bytes = length,
                      .memory = "pageable",
                      .placement = "in place",
                      .unit = "us",
                      .engine = "-"};
    char number[32], what[64];
    int phase;

    snprintf(number, sizeof number, "%zu", start_bytes);
    setenv("GPUAES_START", "auto", 1);
    setenv("GPUAES_START_BYTES", number, 1);
    providers = providers_load();
    p.in = p.out = aligned_alloc(4096, length);
    memset(p.in, 1, length);
    pair_open(&p, "AES-256-CTR", 1);
    series.count = 0;
    watch_updates(DEFAULT, &p, start_bytes, quick ? 0.1 : 2, &other);
    watch_updates(OURS, &p, start_bytes, quick ? 1 : 5, &ours);
    for (phase = BEFORE; phase < PHASES; phase++) {
        int same = other.count[phase] ? phase : BEFORE; /* the default knows no start */

        if (!ours.count[phase]) {
            printf("# start: no update %s the start\n", names[phase]);
            continue;
        }
        snprintf(what, sizeof what, "longest %s the start", names[phase]);
        row.what = what;
        row.ours = ours.longest[phase] * 1e6;
        row.other = other.longest[same] * 1e6;
        print_row(&row);
        snprintf(what, sizeof what, "mean %s the start", names[phase]);
        row.ours = ours.sum[phase] / (double)ours.count[phase] * 1e6;
        row.other = other.sum[same] / (double)other.count[same] * 1e6;
        print_row(&row);
    }
    row.what = "start-ms";
    row.unit = "ms";
    row.ours = (double)figures_get(&providers).start_ms;
    row.other = 0;
    print_row(&row);
    pair_close(&p);
    free(p.in);
}

/* ---- Part: load ---------------------------------------------------------- */

static double resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file && fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

struct load {
    double first, again, grown, grown_in_use; /* seconds; KiB */
};

/* In a fresh process: the first load, its memory, one small message, a later load. */
static struct load load_once(const char *name)
{
    static const unsigned char key[32], iv[16];
    unsigned char buffer[1024] = {0};
    struct load load;
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new(), *second = OSSL_LIB_CTX_new();
    double resident = resident_kib(), began = now();
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(libctx, name);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_CIPHER *cipher;
    int n;

    load.first = now() - began;
    load.grown = resident_kib() - resident;
    cipher = EVP_CIPHER_fetch(libctx, "AES-256-CTR", NULL);
    if (!cipher || !EVP_EncryptInit_ex2(context, cipher, key, iv, NULL) ||
        !EVP_EncryptUpdate(context, buffer, &n, buffer, sizeof buffer))
        load.first = -1;
    load.grown_in_use = resident_kib() - resident;
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    began = now();
    OSSL_PROVIDER_unload(OSSL_PROVIDER_load(second, name));
    load.again = now() - began;
    OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(libctx);
    OSSL_LIB_CTX_free(second);
    return load;
}

static struct load load_in_child(const char *name)
{
    struct load load = {-1, -1, -1, -1};
    int ends[2];
    pid_t child;

    if (pipe(ends))
        return load;
    child = fork();
    if (child == 0) {
        load = load_once(name);
        _exit(write(ends[1], &load, sizeof load) != (ssize_t)sizeof load);
    }
    close(ends[1]);
    if (read(ends[0], &load, sizeof load) != (ssize_t)sizeof load)
        load.first = -1;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return load;
}

static int part_load(void)
{
    enum { MEASURES = 4 };
    static const char *const whats[MEASURES] = {"first load", "load and unload, again",
                                                "resident memory", "resident memory, in use"};
    static const char *const units[MEASURES] = {"ms", "ms", "KiB", "KiB"};
    const char *names[SIDES] = {stand_in() ? "default" : "gpuaes", "default"};
    static double values[MEASURES][SIDES][MOST];
    size_t repetitions = quick ? 3 : 41, i, m;
    struct row row = {
        .part = "load", .cipher = "-", .memory = "-", .placement = "-", .engine = "-"};
    int side;

    unsetenv("GPUAES_START");
    for (i = 0; i < repetitions; i++)
        for (side = 0; side < SIDES; side++) {
            struct load load = load_in_child(names[side]);

            if (load.first < 0) {
                printf("# load: %s does not load\n", names[side]);
                return 1;
            }
            values[0][side][i] = load.first * 1e3;
            values[1][side][i] = load.again * 1e3;
            values[2][side][i] = load.grown;
            values[3][side][i] = load.grown_in_use;
        }
    series.count = 0;
    for (m = 0; m < MEASURES; m++) {
        row.what = whats[m];
        row.unit = units[m];
        row.ours = quantile(values[m][OURS], repetitions, 0.5);
        row.other = quantile(values[m][DEFAULT], repetitions, 0.5);
        print_row(&row);
    }
    return 0;
}

/* ---- Part: base64 -------------------------------------------------------- */

struct base64 {
    EVP_CIPHER *cipher;
    unsigned char *bytes, *text, *out;
    size_t length, text_length, room;
    int encode, failed;
};

/* The whole in one update, with the room that there is said beforehand. */
static void base64_run(int side, void *argument)
{
    struct base64 *b = argument;
    const unsigned char *in = b->encode ? b->bytes : b->text;
    size_t length = b->encode ? b->length : b->text_length;
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &b->room), OSSL_PARAM_END};
    EVP_CIPHER_CTX *context;
    int n = 0, more = 0;

    if (side == DEFAULT) {
        n = b->encode ? EVP_EncodeBlock(b->out, in, (int)length)
                      : EVP_DecodeBlock(b->out, in, (int)length);
        b->failed |= n <= 0;
        return;
    }
    context = EVP_CIPHER_CTX_new();
    if (!EVP_CipherInit_ex2(context, b->cipher, NULL, NULL, b->encode, params) ||
        !EVP_CipherUpdate(context, b->out, &n, in, (int)length) ||
        !EVP_CipherFinal_ex(context, b->out + n, &more) ||
        (size_t)n + (size_t)more != (b->encode ? b->text_length : b->length)) {
        ERR_print_errors_fp(stderr);
        b->failed = 1;
    }
    EVP_CIPHER_CTX_free(context);
}

static int base64_rows(struct base64 *b, size_t length)
{
    struct row row = {.part = "base64",
                      .cipher = "BASE64",
                      .memory = "pageable",
                      .placement = "apart",
                      .unit = "GB/s"};
    size_t repetitions = quick ? 3 : length >= 64 * MIB ? 7 : 31;

    b->length = length / 3 * 3;
    b->text_length = b->length / 3 * 4;
    b->room = b->text_length + 64;
    EVP_EncodeBlock(b->text, b->bytes, (int)b->length);
    for (b->encode = 1; b->encode >= 0; b->encode--) {
        struct figures before = figures_get(&providers);
        double taken = (double)(b->encode ? b->length : b->text_length);

        b->failed = 0;
        measure(repetitions, base64_run, b);
        if (b->failed) {
            printf("# base64: %s of %zu bytes failed\n", b->encode ? "encode" : "decode",
                   b->length);
            return 1;
        }
        row.what = b->encode ? "encode" : "decode";
        row.bytes = b->length;
        row.ours = taken / median(OURS) / 1e9;
        row.other = taken / median(DEFAULT) / 1e9;
        row.engine = engine_since(&before, (double)(series.count + 1) * taken);
        print_row(&row);
    }
    return 0;
}

static int part_base64(void)
{
    size_t most = quick ? MIB : 256 * MIB, length, i;
    struct base64 b = {.bytes = malloc(most),
                       .text = malloc(most / 3 * 4 + 64),
                       .out = malloc(most / 3 * 4 + 128)};
    int failed = 0;

    for (i = 0; i < most; i++)
        b.bytes[i] = (unsigned char)(i * 167 + (i >> 8));
    warm_up();
    b.cipher = fetch_ours(&providers, "BASE64");
    if (!b.cipher)
        puts("# base64: the provider has no BASE64");
    for (length = 64 * KIB; b.cipher && !failed && length <= most; length *= 4)
        failed = base64_rows(&b, length);
    EVP_CIPHER_free(b.cipher);
    free(b.bytes);
    free(b.text);
    free(b.out);
    return failed;
}

/* ---- Processes ----------------------------------------------------------- */

static int part_start_small(void)
{
    start_rows(64 * KIB);
    return 0;
}

static int part_start_large(void)
{
    start_rows(MIB);
    return 0;
}

static const struct {
    const char *name, *of; /* of: what is named to get it */
    int (*run)(void);
} parts[] = {
    {"header", NULL, part_header},
    {"small", "small", part_small},
    {"bulk", "bulk", part_bulk},
    {"start-64k", "start", part_start_small},
    {"start-1m", "start", part_start_large},
    {"load", "load", part_load},
    {"base64", "base64", part_base64},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

static int wanted(size_t part, int argc, char **argv)
{
    int i, named = 0;

    for (i = 1; i < argc; i++)
        if (strcmp(argv[i], "--quick")) {
            named = 1;
            if (parts[part].of && !strcmp(argv[i], parts[part].of))
                return 1;
        }
    return !named || !parts[part].of;
}

static int known(const char *name)
{
    size_t i;

    for (i = 0; i < PARTS; i++)
        if (parts[i].of && !strcmp(parts[i].of, name))
            return 1;
    return !strcmp(name, "--quick");
}

/* Runs one part in a process of its own; 1 if it failed. */
static int run_part(size_t part)
{
    int status = -1;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        setenv("GPUAES_START", "eager", 1);
        exit(parts[part].run());
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status) {
        fprintf(stderr, "gpuaes_bench: part %s failed, status %#x\n", parts[part].name,
                (unsigned)status);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int i, failed = 0;
    size_t part;

    for (i = 1; i < argc; i++) {
        if (!known(argv[i])) {
            fprintf(stderr, "usage: gpuaes_bench [--quick] [small|bulk|start|load|base64]...\n");
            return 2;
        }
        quick |= !strcmp(argv[i], "--quick");
    }
    for (part = 0; part < PARTS; part++)
        if (wanted(part, argc, argv))
            failed |= run_part(part);
    return failed;
}
