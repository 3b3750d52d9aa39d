/*
 * Many messages at once, with the provider's own code linked here: contexts of any key, mode
 * and direction do in one launch what contexts of the default provider do one by one; also in
 * an ASYNC job, in several threads, and in a forked child. No key outlives its context. And
 * what is chosen, for a device of which the figures of an H200 are told.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/async.h>
#include <pthread.h>

#include "messages.h"

/* ---- Messages ------------------------------------------------------------------------------ */

static int random_sets(const void *seed)
{
    struct tap_random random = *(const struct tap_random *)seed;
    int i, cases = sanitized() ? 4 : 24, ok = 1;
    struct set *s = malloc(sizeof *s);

    for (i = 0; ok && i < cases; i++) {
        open_set(s, tap_random_next(&random), i % 3, 1 + tap_random_below(&random, MOST));
        if (s->where == PINNED_IN_PLACE)
            ok = pin(s);
        ok = ok && run_set(s);
        close_set(s);
    }
    free(s);
    return ok && gpu_bytes() != 0;
}

static int by_thread(uint64_t seed)
{
    struct set *s = malloc(sizeof *s);
    int ok;

    open_set(s, seed, seed % 2 ? APART : IN_PLACE, MOST / 4);
    ok = run_set(s);
    close_set(s);
    free(s);
    return ok;
}

static void *thread(void *seed)
{
    return (void *)(uintptr_t)by_thread((uint64_t)(uintptr_t)seed);
}

static int threads(const void *unused)
{
    pthread_t id[4];
    void *ok;
    int i, all = 1;

    (void)unused;
    for (i = 0; i < 4; i++)
        if (pthread_create(&id[i], NULL, thread, (void *)(uintptr_t)(i + 1)) != 0)
            return 0;
    for (i = 0; i < 4; i++) {
        pthread_join(id[i], &ok);
        all &= ok != NULL;
    }
    return all;
}

static int job(void *argument)
{
    (void)argument;
    return by_thread(77);
}

static int async_job(const void *unused)
{
    ASYNC_JOB *started = NULL;
    ASYNC_WAIT_CTX *wait = ASYNC_WAIT_CTX_new();
    int result = 0;

    (void)unused;
    ASYNC_start_job(&started, wait, &result, job, NULL, 0);
    ASYNC_WAIT_CTX_free(wait);
    return result && gpu_bytes() != 0;
}

/* The parent's device and batches are not the child's. */
static int forked(const void *unused)
{
    uint64_t before;
    int status = 0, ok = by_thread(5);
    pid_t child = fork();

    (void)unused;
    if (child == 0) {
        before = gpu_bytes();
        _exit(by_thread(6) && gpu_bytes() == before ? 7 : 0);
    }
    waitpid(child, &status, 0);
    return ok && WIFEXITED(status) && WEXITSTATUS(status) == 7 && by_thread(8);
}

/* ---- Secrets ------------------------------------------------------------------------------ */

/* Part of a key that is nowhere written as it is. */
static unsigned char secret_byte(size_t i)
{
    return (unsigned char)(0xc3 ^ (i * 37 + 11));
}

static size_t count_secrets(const unsigned char *p, const unsigned char *end)
{
    size_t found = 0, i;

    for (; p + BLOCK <= end; p += 4) {
        for (i = 0; i < BLOCK && p[i] == secret_byte(i); i++)
            continue;
        found += i == BLOCK;
    }
    return found;
}

/*
 * In the heap and in what programs have as variables. What lies on the stacks of the
 * emulator's threads would be registers of a device.
 */
static size_t secrets_in_memory(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], rights[8];
    unsigned long begin, end;
    size_t found = 0;

    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && !strncmp(rights, "rw", 2) &&
            (strstr(line, "[heap]") || strstr(line, "_test")))
            found += count_secrets((const unsigned char *)begin, (const unsigned char *)end);
    if (maps)
        fclose(maps);
    return found;
}

/* Keys are gone with the contexts that had them: no batch at hand has one. */
static int leave_no_key(const void *unused)
{
    enum { CONTEXTS = 4 };
    static unsigned char memory[CONTEXTS][64];
    unsigned char key[32];
    static const unsigned char iv[BLOCK];
    struct aes_message message[CONTEXTS], *list[CONTEXTS];
    size_t written[CONTEXTS], i, during;
    struct pipes_functions f;
    int ok = pipes_find_functions(providers.gpuaes, "AES-256-CBC", &f);

    (void)unused;
    for (i = 0; i < sizeof key; i++)
        key[i] = secret_byte(i);
    for (i = 0; i < CONTEXTS; i++) {
        list[i] = &message[i];
        message[i].context = f.newctx(ours());
        key[31] = (unsigned char)i; /* several keys, which the device expands */
        ok &= aes_init(message[i].context, 1, key, sizeof key, iv, BLOCK, NULL);
        message[i].call = (struct call){.out = memory[i],
                                        .out_bytes = &written[i],
                                        .room = 64,
                                        .in = memory[i],
                                        .in_bytes = 64};
    }
    gpuaes_cleanse(key, sizeof key);
    ok &= aes_messages_run(ours(), list, CONTEXTS);
    during = secrets_in_memory();
    for (i = 0; i < CONTEXTS; i++)
        f.freectx(message[i].context);
    return ok && gpu_bytes() == sizeof memory && during >= CONTEXTS && secrets_in_memory() == 0;
}

/* ---- The choice ---------------------------------------------------------------------------- */

/* About what an H200 takes, and a core of its host for a byte of CBC encryption and of CTR. */
static const struct engine_launch h200[] = {{60000, 0.4, 60, 45}, {25000, 0.03, 60, 45}};
static const double host_cbc_ns = 1, host_ctr_ns = 0.2;

struct shape {
    const char *text;
    size_t count, length;
    enum engine_work kind;
    int launches;
};

static const struct shape shapes[] = {
    {"32 pipes of CBC encryption", 32, 16 << 10, WORK_CBC_ENCRYPT, 0},
    {"32 large pipes of CBC encryption", 32, 1 << 20, WORK_CBC_ENCRYPT, 0},
    {"50 CBC encryptions", 50, 2 << 10, WORK_CBC_ENCRYPT, 0},
    {"8192 CBC encryptions", 8192, 16 << 10, WORK_CBC_ENCRYPT, 1},
    {"32 pipes of 256 bytes in CTR", 32, 256, WORK_CTR, 0},
    {"one CTR message", 1, 4 << 20, WORK_CTR, 0},
};

/* An H200 that is faster than the CPU by as much as usual, however busy the machine is. */
static void set_launches(const struct shape *shape)
{
    struct work byte = {.kind = shape->kind, .key_bytes = 32, .len = 1};
    double usual_ns = shape->kind == WORK_CTR ? host_ctr_ns : host_cbc_ns;
    double slower = measured_cpu_ns(ours(), &byte) / usual_ns;
    int pinned;

    for (pinned = 0; pinned < 2; pinned++) {
        const struct engine_launch *l = &h200[pinned];
        struct engine_launch launch = {.fixed = l->fixed * slower,
                                       .byte = l->byte * slower,
                                       .message = l->message * slower,
                                       .serial_byte = l->serial_byte * slower};
        engine_messages_set(pinned, &launch);
    }
}

/* How often a launch was chosen, of many times that none was made. */
static unsigned choose_often(const struct shape *shape)
{
    static unsigned char memory[BLOCK];
    unsigned launches = 0, i;

    for (i = 0; i < 1000; i++) {
        struct engine_messages m;
        size_t n;
        memset(&m, 0, sizeof m);
        for (n = 0; n < shape->count; n++) {
            struct work work = {.kind = shape->kind,
                                .key_bytes = 32,
                                .in = memory,
                                .out = memory,
                                .len = shape->length};
            engine_messages_add(&m, &work);
        }
        launches += engine_messages_choose(ours(), &m) == CHOICE_GPU;
    }
    return launches;
}

static int choose(const void *argument)
{
    const struct shape *shape = argument;
    unsigned launches;

    if (gpuaes_start(NULL, NULL, 1) != GPUAES_READY)
        return 0;
    set_launches(shape);
    launches = choose_often(shape);
    return shape->launches ? launches == 1000 : launches == 0;
}

static int know_nothing(const void *argument)
{
    return gpuaes_start(NULL, NULL, 1) == GPUAES_READY && choose_often(argument) == 0;
}

/* engine=gpu, and no GPU */
static int insist(const void *unused)
{
    struct set *s = malloc(sizeof *s);
    const char *reason;
    int refused;

    (void)unused;
    open_set(s, 3, APART, MOST);
    prepare(s);
    ERR_clear_error();
    refused = !aes_messages_run(ours(), s->list, s->count);
    reason = ERR_reason_error_string(ERR_peek_last_error());
    refused &= reason && !strcmp(reason, "no GPU can be used");
    close_set(s);
    free(s);
    return refused;
}

static void test_choice(void)
{
    size_t i;

    for (i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        tap_ok(run_child("devices=1", choose, &shapes[i]) == 1, "%s: %s", shapes[i].text,
               shapes[i].launches ? "one launch" : "one by one");
    tap_ok(run_child("devices=1", know_nothing, &shapes[3]) == 1,
           "a device that was not measured gets none");
    setenv("GPUAES_ENGINE", "gpu", 1);
    tap_ok(run_child("devices=0", insist, NULL) == 1, "engine=gpu without one: refused");
    unsetenv("GPUAES_ENGINE");
}

int main(void)
{
    struct tap_random random;

    tap_random_seed(&random);
    test_choice();
    setenv("GPUAES_MIN_BYTES", "0", 1);
    tap_ok(run_child("devices=1", random_sets, &random) == 1,
           "messages do what contexts of the default provider do");
    tap_ok(run_child("devices=1", threads, NULL) == 1, "so they do in threads");
    tap_ok(run_child("devices=1", async_job, NULL) == 1, "and in an ASYNC job");
    tap_ok(run_child("devices=1", forked, NULL) == 1, "a forked child does them on the CPU");
    if (sanitized())
        tap_skip("secrets: a sanitizer has memory of its own");
    else
        tap_ok(run_child("devices=1", leave_no_key, NULL) == 1, "no key outlives its context");
    tap_ok(run_child("devices=0", threads, NULL) == 1, "no device: the CPU does it");
    return tap_done();
}
