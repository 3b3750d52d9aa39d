/*
 * On a card: the time of an AES kernel does not depend on the data or the key, nor that of a GCM
 * kernel on the key of its hash. That of the kernels of gpuaes_queue() does not depend on raw keys
 * in device memory, either.
 *
 * Each kernel works on one device buffer, filled anew before each launch: with equal
 * blocks, with random ones, and with blocks that would collide in one bank of shared
 * memory if lanes shared a table: after the first AddRoundKey the lanes of a warp
 * ask for rows that are congruent modulo 32, later for random ones. CTR, whose tables see
 * counters only, gets other keys and counters as well, and so does GCM, with hash
 * keys of no bits, of random ones and of all bits. The inputs take turns, with a
 * pause between; each is worked on twice, and the second time is that between two
 * events of the stream.
 *
 * The difference of the inputs is that of the largest and the smallest of their
 * medians. The run-to-run spread is the range of one input's times without their
 * lowest and highest twentieth, of the inputs' the largest. The difference must be
 * below 1 % of the median; that of random and colliding blocks, which conflicting
 * lookups would set apart, must be below the spread as well. The distance of the
 * quartiles is printed next to it. A kernel that does leak has to be found out by the
 * same sums, so that the test is known to see what it looks for.
 *
 * On an H200, equal blocks take 0 to 0.7 % less time than others, which is about the
 * spread, and in some rows more. A kernel that only copies within the caches gains
 * 0.4 % from equal blocks: it is not the lookups.
 *
 * Kernels of messages may take 2 % less for equal blocks. Each lookup reads as many banks for any
 * data, but one that lanes make in different rows has to wait more often for a line that comes from
 * memory. As the counters of an H100 say, 2.0 of 173 million wait for equal blocks and 4.4 million
 * for random ones, and 4.2 million lines come.
 *
 * Not for the emulator: its time means nothing.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/gpuaes.h"
#include "test/support/application.h"
#include "test/support/tap.h"

enum { EQUAL, RANDOM, COLLIDING, INPUTS };
enum { RUNS = 61, PAUSE_US = 2000, BLOCKS = 32 << 20 };
#define BYTES ((size_t)BLOCKS * GPUAES_BLOCK)

static const char *const op_names[] = {
    [GPUAES_ECB_ENCRYPT] = "ECB-encrypt", [GPUAES_ECB_DECRYPT] = "ECB-decrypt",
    [GPUAES_CBC_DECRYPT] = "CBC-decrypt", [GPUAES_CTR] = "CTR",
    [GPUAES_GCM_ENCRYPT] = "GCM-encrypt", [GPUAES_GCM_DECRYPT] = "GCM-decrypt"};
static const char *const message_op_names[] = {[GPUAES_ECB_ENCRYPT] = "ECB-encrypt",
                                               [GPUAES_ECB_DECRYPT] = "ECB-decrypt",
                                               [GPUAES_CBC_ENCRYPT] = "CBC-encrypt",
                                               [GPUAES_CBC_DECRYPT] = "CBC-decrypt",
                                               [GPUAES_CTR] = "CTR",
                                               [GPUAES_GCM_ENCRYPT] = "GCM-encrypt",
                                               [GPUAES_GCM_DECRYPT] = "GCM-decrypt",
                                               [GPUAES_XTS_ENCRYPT] = "XTS-encrypt",
                                               [GPUAES_XTS_DECRYPT] = "XTS-decrypt"};
/* Kernels that a process measures: of one text, or of messages. */
enum kind { TEXT, MESSAGES_ONE_KEY, MESSAGES_CTR, MESSAGES_RAW_KEYS };
static const struct family {
    const char *name, *kernel; /* GPUAES_KERNEL */
    enum kind kind;
} families[] = {
    {"small", "small", TEXT},
    {"two_table", "two_table", TEXT},
    {"hybrid", "hybrid", TEXT},
    {"messages", "two_table", MESSAGES_ONE_KEY},
    {"messages_hybrid", "hybrid", MESSAGES_CTR},
    {"messages_raw_keys", "two_table", MESSAGES_RAW_KEYS},
};

static drv_stream stream;
static drv_event began, ended;
static drv_result (*elapsed)(float *, drv_event, drv_event); /* not in the table */
static unsigned char *inputs[INPUTS], *in, *out, *host;

/* ---- The statistic ------------------------------------------------------------ */

struct verdict {
    double median[INPUTS];                /* seconds */
    double difference, quartiles, spread; /* parts of the median */
    double lookups;                       /* the difference of random and colliding blocks */
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double sorted[RUNS], double at)
{
    return sorted[(size_t)(at * (RUNS - 1) + 0.5)];
}

/* Without what lies outside at both ends, as a part of the median. */
static double range(const double sorted[RUNS], double outside)
{
    return (quantile(sorted, 1 - outside) - quantile(sorted, outside)) / quantile(sorted, 0.5);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static struct verdict judge(double seconds[INPUTS][RUNS])
{
    struct verdict v = {.spread = 0};
    double least = 0, most = 0;
    for (int i = 0; i < INPUTS; i++) {
        qsort(seconds[i], RUNS, sizeof seconds[i][0], compare);
        v.median[i] = quantile(seconds[i], 0.5);
        v.spread = larger(v.spread, range(seconds[i], 0.05));
        v.quartiles = larger(v.quartiles, range(seconds[i], 0.25));
        if (i == 0 || v.median[i] < least)
            least = v.median[i];
        if (v.median[i] > most)
            most = v.median[i];
    }
    v.difference = (most - least) / least;
    v.lookups = fabs(v.median[RANDOM] - v.median[COLLIDING]) / least;
    return v;
}

static int finish(void)
{
    drv_result r;
    while ((r = application.stream_query(stream)) == DRV_NOT_READY)
        continue;
    return r == DRV_SUCCESS;
}

/* Queues the work on `in`, which has one of the inputs; 0 on an error. */
typedef int work_fn(const void *argument, int input);

static int time_once(work_fn *work, const void *argument, int input, double *seconds)
{
    float ms;
    if (application.memcpy_dtod_async((drv_ptr)(uintptr_t)in, (drv_ptr)(uintptr_t)inputs[input],
                                      BYTES, stream) != DRV_SUCCESS ||
        !finish())
        return 0;
    usleep(PAUSE_US); /* neither heat nor the power limit may mix the inputs */
    /* The first is not timed: what follows a pause is slower. */
    if (!work(argument, input) || application.event_record(began, stream) != DRV_SUCCESS ||
        !work(argument, input) || application.event_record(ended, stream) != DRV_SUCCESS ||
        !finish() || elapsed(&ms, began, ended) != DRV_SUCCESS)
        return 0;
    *seconds = (double)ms * 1e-3;
    return 1;
}

/* The first round warms up and does not count. */
static int measure(work_fn *work, const void *argument, struct verdict *verdict)
{
    static double seconds[INPUTS][RUNS];
    for (int run = -1; run < RUNS; run++)
        for (int turn = 0; turn < INPUTS; turn++) {
            int input = (turn + run + 1) % INPUTS;
            if (!time_once(work, argument, input, &seconds[input][run < 0 ? 0 : run]))
                return 0;
        }
    *verdict = judge(seconds);
    return 1;
}

static void print_verdict(const char *family, const char *op, unsigned bits,
                          const struct verdict *v)
{
    tap_diag("%s\t%s\t%u\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f", family, op, bits,
             v->median[EQUAL] * 1e3, v->median[RANDOM] * 1e3, v->median[COLLIDING] * 1e3,
             v->difference * 100, v->quartiles * 100, v->spread * 100);
}

/* ---- AES ---------------------------------------------------------------------- */

struct aes_work {
    struct gpuaes_stream_binding *queue;
    enum gpuaes_op op;
    struct gpuaes_key key[INPUTS];
    struct gpuaes_gcm_key gcm[INPUTS];
    unsigned char iv[INPUTS][16];
};

static int is_gcm(enum gpuaes_op op)
{
    return op == GPUAES_GCM_ENCRYPT || op == GPUAES_GCM_DECRYPT;
}

static int queue_aes(const void *argument, int input)
{
    const struct aes_work *w = argument;
    return gpuaes_stream_binding_aes(w->queue, w->op, &w->key[input], w->iv[input], in, out,
                                     BYTES) == GPUAES_OK;
}

/* Each is a message of its own, whose hash is not asked for. */
static int queue_gcm(const void *argument, int input)
{
    const struct aes_work *w = argument;
    return gpuaes_stream_binding_gcm(w->queue, w->op, &w->gcm[input], w->iv[input], 1, in, out,
                                     BYTES) == GPUAES_OK;
}

/* Rows of a table that are congruent modulo 32, and otherwise random. */
static void make_colliding(void *to, size_t bytes)
{
    unsigned char *p = to;
    tap_random_bytes(&random_state, p, bytes);
    for (size_t i = 0; i < bytes; i++)
        p[i] &= 0xe0;
}

/* Blocks that are such rows after the first AddRoundKey. */
static int fill_colliding(const uint32_t round_key[4])
{
    enum { CHUNK = 1 << 16 };
    uint32_t *words = (uint32_t *)(void *)host;
    make_colliding(host, (size_t)CHUNK * GPUAES_BLOCK);
    for (size_t w = 0; w < 4 * (size_t)CHUNK; w++)
        words[w] ^= round_key[w % 4];
    for (size_t at = 0; at < BYTES; at += CHUNK * GPUAES_BLOCK)
        if (application.memcpy_htod_async((drv_ptr)(uintptr_t)inputs[COLLIDING] + at, host,
                                          CHUNK * GPUAES_BLOCK, stream) != DRV_SUCCESS)
            return 0;
    return 1;
}

/* CTR: no key and counters from 0, random ones, and a carry through all bytes midway. */
static void vary_counters(struct aes_work *w, size_t key_bytes)
{
    unsigned char key[32] = {0};
    memset(w->iv, 0, sizeof w->iv);
    gpuaes_key_expand(&w->key[EQUAL], key, key_bytes);
    tap_random_bytes(&random_state, key, sizeof key);
    gpuaes_key_expand(&w->key[RANDOM], key, key_bytes);
    tap_random_bytes(&random_state, w->iv[RANDOM], 13); /* all begin a page of counters */
    memset(w->iv[COLLIDING], 0xff, 16);
    memset(w->iv[COLLIDING] + 13, 0, 3); /* 2^128 - BLOCKS / 2 */
}

/*
 * The same for a counter of 32 bits, which no launch takes past its end; and hash keys that AES
 * hardly makes: 0, and all bits, with the same in place of their powers.
 */
static void vary_hash_keys(struct aes_work *w, size_t key_bytes)
{
    static const unsigned char no_key[32];
    unsigned char key[32];
    vary_counters(w, key_bytes);
    w->iv[RANDOM][12] &= 0x7f;
    w->iv[COLLIDING][12] = 0x7f; /* 2^31 - BLOCKS / 2 */
    tap_random_bytes(&random_state, key, sizeof key);
    gpuaes_gcm_key_expand(&w->gcm[EQUAL], no_key, key_bytes);
    gpuaes_gcm_key_expand(&w->gcm[RANDOM], key, key_bytes);
    w->gcm[COLLIDING] = w->gcm[RANDOM];
    memset(w->gcm[EQUAL].h, 0, sizeof w->gcm[EQUAL].h);
    memset(w->gcm[EQUAL].steps, 0, sizeof w->gcm[EQUAL].steps);
    memset(w->gcm[COLLIDING].h, 0xff, sizeof w->gcm[COLLIDING].h);
    memset(w->gcm[COLLIDING].steps, 0xff, sizeof w->gcm[COLLIDING].steps);
}

static int measure_aes(struct aes_work *w, size_t key_bytes, struct verdict *verdict)
{
    unsigned char key[32];
    tap_random_bytes(&random_state, key, sizeof key);
    for (int i = 0; i < INPUTS; i++) {
        gpuaes_key_expand(&w->key[i], key, key_bytes);
        tap_random_bytes(&random_state, w->iv[i], sizeof w->iv[i]);
    }
    if (w->op == GPUAES_CTR)
        vary_counters(w, key_bytes);
    if (is_gcm(w->op))
        vary_hash_keys(w, key_bytes);
    return fill_colliding(w->op == GPUAES_ECB_ENCRYPT ? w->key[0].encrypt : w->key[0].decrypt) &&
           finish() && measure(is_gcm(w->op) ? queue_gcm : queue_aes, w, verdict);
}

/* 1 if no time depends on the input. */
static int judge_text(const struct family *family)
{
    static struct aes_work work;
    int right = gpuaes_stream_binding_open(&work.queue, stream, 0) == GPUAES_OK;
    for (int op = 0; op < (int)(sizeof op_names / sizeof op_names[0]); op++)
        for (size_t key_bytes = 16; op_names[op] != NULL && key_bytes <= 32; key_bytes += 8) {
            struct verdict v;
            work.op = (enum gpuaes_op)op;
            if (!measure_aes(&work, key_bytes, &v))
                return 0;
            print_verdict(family->name, op_names[op], 8 * (unsigned)key_bytes, &v);
            right &= v.difference < 0.01 && v.lookups < v.spread;
        }
    gpuaes_stream_binding_close(work.queue);
    return right;
}

/* ---- Messages -------------------------------------------------------------------- */

/*
 * Messages have their IVs and raw keys in 64 bytes each, their own ones in all inputs, so that as
 * much memory is read: the same bytes, random ones, or colliding ones. Counters begin a page of
 * 256. Decryption of GCM finds wrong tags, and so zeros all output.
 *
 * On an H200 a lane does four to eight messages, so that it matters little which multiprocessor
 * does the last ones. With uncut messages of 4 KiB, one or two for a lane, times of one input lay
 * in two groups that were 8 % apart. Messages of 1 KiB are not cut into segments: a segment behind
 * the first one differs by its place and length alone, which are public.
 */
enum {
    MESSAGE_BYTES = 1024,
    MESSAGES = (int)(BYTES / MESSAGE_BYTES),
    TEMP_BYTES = 64 << 20,
    SECRET_BYTES = 64
};
enum { IN, OUT, LENGTH, TAG, IVS, KEYS = IVS + INPUTS, STATUS = KEYS + INPUTS, ARRAYS };

struct message_work {
    struct gpuaes_messages messages;
    struct gpuaes_key key[INPUTS], tweak_key;
    uint64_t *array[ARRAYS]; /* in device memory, as the rest */
    unsigned char *secrets[INPUTS], *tags, *temp;
    int has_raw_keys;
};

static int queue_messages(const void *argument, int input)
{
    const struct message_work *w = argument;
    struct gpuaes_messages m = w->messages;
    if (w->has_raw_keys)
        m.keys = (const void *const *)(void *)w->array[KEYS + input];
    else
        m.key = &w->key[input];
    m.iv = (const unsigned char *const *)(void *)w->array[IVS + input];
    return gpuaes_queue(&m, w->temp, TEMP_BYTES, stream, 0) == GPUAES_OK;
}

static uint64_t element(const struct message_work *w, int array, size_t i)
{
    switch (array) {
    case IN:
        return (uint64_t)(uintptr_t)in + i * MESSAGE_BYTES;
    case OUT:
        return (uint64_t)(uintptr_t)out + i * MESSAGE_BYTES;
    case LENGTH:
        return MESSAGE_BYTES;
    case TAG:
        return (uint64_t)(uintptr_t)w->tags + i * GPUAES_BLOCK;
    case STATUS:
        return 0;
    default:
        return (uint64_t)(uintptr_t)w->secrets[(array - IVS) % INPUTS] + i * SECRET_BYTES;
    }
}

static void make_secret(int input, size_t i, unsigned char secret[SECRET_BYTES])
{
    if (input == RANDOM || i == 0) /* the halves of a key of XTS must differ */
        tap_random_bytes(&random_state, secret, SECRET_BYTES);
    if (input == COLLIDING)
        make_colliding(secret, SECRET_BYTES);
    memset(secret + 13, 0, 3);
}

static int write_secrets(struct message_work *w)
{
    const size_t bytes = (size_t)MESSAGES * SECRET_BYTES;
    for (int input = 0; input < INPUTS; input++) {
        unsigned char secret[SECRET_BYTES];
        for (size_t i = 0; i < MESSAGES; i++) {
            make_secret(input, i, secret);
            memcpy(host + i * SECRET_BYTES, secret, sizeof secret);
        }
        w->secrets[input] = application_alloc(DEVICE, bytes);
        if (w->secrets[input] == NULL || !application_write(DEVICE, w->secrets[input], host, bytes))
            return 0;
    }
    return 1;
}

static int prepare_messages(struct message_work *w)
{
    if (!write_secrets(w) ||
        (w->tags = application_alloc(DEVICE, (size_t)MESSAGES * GPUAES_BLOCK)) == NULL ||
        (w->temp = application_alloc(DEVICE, TEMP_BYTES)) == NULL)
        return 0;
    for (int a = 0; a < ARRAYS; a++) {
        uint64_t *values = (uint64_t *)(void *)host;
        const size_t bytes = MESSAGES * sizeof *values;
        for (size_t i = 0; i < MESSAGES; i++)
            values[i] = element(w, a, i);
        w->array[a] = (uint64_t *)(void *)application_alloc(DEVICE, bytes);
        if (w->array[a] == NULL || !application_write(DEVICE, w->array[a], host, bytes))
            return 0;
    }
    return 1;
}

/* In CTR tables see no text, but what the key makes of counters. */
static void choose_message_keys(struct message_work *w, size_t bytes)
{
    unsigned char key[32] = {0}, tweak[32];
    tap_random_bytes(&random_state, tweak, sizeof tweak);
    gpuaes_key_expand(&w->tweak_key, tweak, bytes);
    if (w->messages.op != GPUAES_CTR)
        tap_random_bytes(&random_state, key, sizeof key);
    gpuaes_key_expand(&w->key[EQUAL], key, bytes);
    if (w->messages.op == GPUAES_CTR)
        tap_random_bytes(&random_state, key, sizeof key);
    gpuaes_key_expand(&w->key[RANDOM], key, bytes);
    w->key[COLLIDING] = w->key[RANDOM];
}

/* Every message is done, or its tag is wrong. */
static int statuses_are(const struct message_work *w, enum gpuaes_status wanted)
{
    uint32_t *status = (uint32_t *)(void *)host;
    if (!application_read(host, DEVICE, w->array[STATUS], MESSAGES * sizeof *status))
        return 0;
    size_t i = 0;
    while (i < MESSAGES && status[i] == wanted)
        i++;
    return i == MESSAGES;
}

static int measure_messages(struct message_work *w, enum gpuaes_op op, size_t key_bytes,
                            struct verdict *verdict)
{
    const int gcm = is_gcm(op), xts = op == GPUAES_XTS_ENCRYPT || op == GPUAES_XTS_DECRYPT;
    w->messages = (struct gpuaes_messages){
        .struct_bytes = sizeof w->messages,
        .op = op,
        .count = MESSAGES,
        .max_bytes = MESSAGE_BYTES,
        .tweak_key = xts && !w->has_raw_keys ? &w->tweak_key : NULL,
        .key_bytes = !w->has_raw_keys ? 0
                     : xts            ? 2 * key_bytes
                                      : key_bytes,
        .in = (const void *const *)(void *)w->array[IN],
        .out = (void *const *)(void *)w->array[OUT],
        .bytes = (const size_t *)w->array[LENGTH],
        .iv_bytes = gcm ? 12 : GPUAES_BLOCK,
        .tag = gcm ? (unsigned char *const *)(void *)w->array[TAG] : NULL,
        .tag_bytes = gcm ? GPUAES_BLOCK : 0,
        .status = (uint32_t *)(void *)w->array[STATUS],
    };
    choose_message_keys(w, key_bytes);
    const int decrypts = op == GPUAES_ECB_DECRYPT || op == GPUAES_CBC_DECRYPT;
    return fill_colliding(decrypts ? w->key[COLLIDING].decrypt : w->key[COLLIDING].encrypt) &&
           finish() && measure(queue_messages, w, verdict) &&
           statuses_are(w, op == GPUAES_GCM_DECRYPT ? GPUAES_BAD_TAG : GPUAES_OK);
}

static int judge_messages(const struct family *family)
{
    static struct message_work work;
    int right = 1;
    if (!prepare_messages(&work))
        return 0;
    work.has_raw_keys = family->kind == MESSAGES_RAW_KEYS;
    for (int op = 0; op < (int)(sizeof message_op_names / sizeof message_op_names[0]); op++)
        for (size_t key_bytes = 16; message_op_names[op] != NULL && key_bytes <= 32;
             key_bytes += 8) {
            struct verdict v;
            if ((family->kind == MESSAGES_CTR && op != GPUAES_CTR) ||
                (key_bytes == 24 && op >= GPUAES_XTS_ENCRYPT))
                continue;
            if (!measure_messages(&work, (enum gpuaes_op)op, key_bytes, &v))
                return 0;
            print_verdict(family->name, message_op_names[op], 8 * (unsigned)key_bytes, &v);
            right &= v.difference < 0.02 && v.lookups < v.spread;
        }
    return right;
}

/* ---- The kernel that leaks -------------------------------------------------------- */

#ifdef GPUAES_HAVE_NVCC

/* The path is relative to the folder that make runs in. */
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl leaky_image\n"
        "leaky_image:\n"
        ".incbin \"test/gpu/leaky_kernel.fatbin\"\n"
        ".popsection\n");
extern const unsigned char leaky_image[];

static int launch_leaky(const void *argument, int input)
{
    (void)input;
    const drv_function *function = argument;
    uint64_t blocks = BLOCKS;
    void *parameters[] = {&in, &out, &blocks};
    return application.launch_kernel(*function, 1024, 1, 1, 256, 1, 1, 0, stream, parameters,
                                     NULL) == DRV_SUCCESS;
}

/* 1 if its times are told apart. */
static int leak_is_found(void)
{
    static const uint32_t no_key[4];
    drv_module module;
    drv_function function;
    struct verdict v;
    if (application.module_load_data(&module, leaky_image) != DRV_SUCCESS ||
        application.module_get_function(&function, module, "leaky") != DRV_SUCCESS ||
        !fill_colliding(no_key) || !finish() || !measure(launch_leaky, &function, &v))
        return 0;
    print_verdict("leaky", "-", 0, &v);
    return v.difference > 0.10 && v.lookups > 0.05 && v.lookups > v.spread;
}

#else

/* A build without nvcc has no such kernel. */
static int leak_is_found(void)
{
    return 1;
}

#endif

/* ---- Processes ---------------------------------------------------------------------- */

static int prepare(void)
{
    void *symbol = NULL, *pinned;
    if (!application_begin(0) || application_is_emulated ||
        (symbol = dlsym(application_library, "cuEventElapsedTime")) == NULL)
        return 0;
    memcpy(&elapsed, &symbol, sizeof symbol);
    if (application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS ||
        application.event_create(&began, 0) != DRV_SUCCESS ||
        application.event_create(&ended, 0) != DRV_SUCCESS ||
        application.mem_host_alloc(&pinned, BYTES / 8, 0) != DRV_SUCCESS ||
        (in = application_alloc(DEVICE, BYTES)) == NULL ||
        (out = application_alloc(DEVICE, BYTES)) == NULL)
        return 0;
    host = pinned;
    for (int i = 0; i < INPUTS; i++)
        if ((inputs[i] = application_alloc(DEVICE, BYTES)) == NULL)
            return 0;
    tap_random_bytes(&random_state, host, BYTES / 8);
    for (size_t at = 0; at < BYTES; at += BYTES / 8)
        if (application.memcpy_htod_async((drv_ptr)(uintptr_t)inputs[RANDOM] + at, host, BYTES / 8,
                                          stream) != DRV_SUCCESS)
            return 0;
    return application.memset_d8_async((drv_ptr)(uintptr_t)inputs[EQUAL], 0, BYTES, stream) ==
               DRV_SUCCESS &&
           finish();
}

enum { RIGHT, WRONG, NO_DEVICE };

static int judge_family(const struct family *family)
{
    if (family == NULL)
        return leak_is_found();
    return family->kind == TEXT ? judge_text(family) : judge_messages(family);
}

/* `family` NULL: the kernel that leaks. */
static int judge_in_child(const struct family *family)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        if (family != NULL)
            setenv("GPUAES_KERNEL", family->kernel, 1);
        if (!prepare() || gpuaes_start(NULL, NULL, 1) != GPUAES_READY)
            _exit(NO_DEVICE);
        _exit(judge_family(family) ? RIGHT : WRONG);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
}

/* With a name, as an argument, of one family: that alone. */
int main(int argc, char **argv)
{
    tap_random_seed(&random_state);
    tap_diag("kernel\toperation\tkey bits\tequal ms\trandom ms\tcolliding ms\tdifference %%\t"
             "quartiles %%\tspread %%");
    int status = judge_in_child(NULL);
    if (status == NO_DEVICE) {
        tap_skip("no GPU with room for %zu MiB", (INPUTS + 2) * BYTES >> 20);
        return tap_done();
    }
#ifdef GPUAES_HAVE_NVCC
    tap_ok(status == RIGHT, "a kernel whose time depends on the data is found out");
#else
    tap_skip("no nvcc compiled the kernel whose time depends on the data");
#endif
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++)
        if (argc < 2 || strcmp(argv[1], families[f].name) == 0)
            tap_ok(judge_in_child(&families[f]) == RIGHT,
                   "the time of the %s kernels does not depend on the input", families[f].name);
    return tap_done();
}
