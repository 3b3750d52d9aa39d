/*
 * While a kernel of the application does not end: updates that need more memory than
 * those before them, and contexts on a stream that end, do not wait for it, though a driver
 * that frees memory does. An idle device whose release waits holds nobody up, an unload and
 * the end of the process included. Runs against any module; on a card the kernel ends after
 * 20 s by itself.
 *
 * Each case is a run of this program of its own.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/cases.h"
#include "test/support/compared.h"

enum { LARGEST = 32 * MIB, LARGEST_OWN = 8 * MIB, SKIPPED = 77 };

static drv_stream own_stream;

/* ---- The application's kernel ------------------------------------------------------------ */

/* Spins until the word is not 0, 20 s at most. */
static const char spin[] =
    ".version 6.3\n.target sm_75\n.address_size 64\n"
    ".visible .entry spin(.param .u64 word)\n{\n"
    ".reg .pred %p;\n.reg .u32 %r;\n.reg .u64 %word, %begun, %now;\n"
    "ld.param.u64 %word, [word];\nmov.u64 %begun, %globaltimer;\n"
    "again: ld.volatile.global.u32 %r, [%word];\nsetp.ne.u32 %p, %r, 0;\n@%p bra done;\n"
    "mov.u64 %now, %globaltimer;\nsub.u64 %now, %now, %begun;\n"
    "setp.lt.u64 %p, %now, 20000000000;\n@%p bra again;\ndone: ret;\n}\n";
static volatile unsigned *word; /* what it waits for */

static const void *kernels(void)
{
    const void *(*image)(void);
    void *symbol = application_is_emulated ? application_hook("emulator_kernels") : NULL;
    memcpy(&image, &symbol, sizeof symbol);
    return symbol != NULL ? image() : spin;
}

/* From here on something of the application is under way on a stream of its own. */
static int begin_kernel(const char *options)
{
    static unsigned char nothing[4096]; /* the arguments of a kernel that is never begun */
    drv_module module;
    drv_function function;
    char hang[64];
    snprintf(hang, sizeof hang, "%s,hang=1", options);
    emulate(hang);
    word = (unsigned *)(void *)application_alloc(PINNED, 64);
    if (word == NULL)
        return 0;
    *word = 0;
    const volatile unsigned *argument = word;
    void *parameters[] = {application_is_emulated ? (void *)nothing : (void *)&argument, nothing,
                          nothing, nothing};
    int loads = application.module_load_data(&module, kernels()) == DRV_SUCCESS;
    if (!loads && !application_is_emulated) {
        fprintf(stderr, "# the driver does not take a kernel of ours\n");
        _exit(SKIPPED);
    }
    int begun =
        loads && application.stream_create(&own_stream, DRV_STREAM_NON_BLOCKING) == DRV_SUCCESS &&
        application.module_get_function(&function, module,
                                        application_is_emulated ? "base64_encode" : "spin") == 0 &&
        application.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, own_stream, parameters, NULL) ==
            DRV_SUCCESS;
    emulate(options);
    return begun;
}

static int is_under_way(void)
{
    return application.stream_query(own_stream) == DRV_NOT_READY;
}

/* ---- Updates ------------------------------------------------------------------------ */

static struct memory *memory;
static unsigned char *there[PLACES];

/* All before the kernel: what the application allocates may wait for it, too. */
static int make_memory(void)
{
    memory = memory_for(1, LARGEST + BLOCK);
    there[PINNED] = application_alloc(PINNED, LARGEST_OWN + BLOCK + 2 * EDGE);
    there[DEVICE] = application_alloc(DEVICE, LARGEST_OWN + BLOCK + 2 * EDGE);
    return there[PINNED] != NULL && there[DEVICE] != NULL;
}

/* In place, but in pageable memory. The end of a context on a stream waits for that alone. */
static int update_is_right(const char *name, enum place place, size_t length, drv_stream cuda)
{
    uint64_t handle = (uintptr_t)cuda;
    OSSL_PARAM params[] = {OSSL_PARAM_uint64("cuda-stream", &handle), OSSL_PARAM_END};
    memory->in_place = place;
    memory->out_place = cuda != NULL ? place : PAGEABLE;
    memory->in_there = memory->out_there = there[place];
    struct stream s =
        stream_open_with(memory, name, usual_key, usual_iv, 0, cuda != NULL ? params : NULL);
    int right = stream_set_padding(&s, 0);
    if (cuda == NULL)
        right = right &&
                stream_call(&s, &(struct call){UPDATE, length, .out_of_place = place == PAGEABLE});
    else
        right = right && application_write(place, there[place], memory->text, length) &&
                stream_update_queued(&s, 0, 0, length);
    stream_close(&s);
    right = right && (cuda == NULL || stream_queued_is_right(&s, cuda, length));
    if (!right)
        fprintf(stderr, "# %s of %zu bytes in %s memory is wrong\n", name, length,
                place_names[place]);
    return right;
}

/* Of growing sizes, in all kinds of memory; each of them more than the one before. */
static int growing_updates(void)
{
    static const enum place places[] = {PAGEABLE, PINNED, DEVICE};
    int right = 1;
    for (size_t length = 64 * KIB; right && length <= LARGEST; length *= 4)
        for (size_t p = 0; right && p < sizeof places / sizeof places[0]; p++) {
            if (places[p] != PAGEABLE && length > LARGEST_OWN)
                continue;
            right = update_is_right("AES-128-CBC", places[p], length + BLOCK, NULL) &&
                    update_is_right("AES-256-CTR", places[p], length, NULL);
            if (right && !is_under_way()) {
                fprintf(stderr, "# %zu bytes of %s memory waited for the kernel\n", length,
                        place_names[places[p]]);
                right = 0;
            }
        }
    return right;
}

/* ---- Cases -------------------------------------------------------------------------- */

static int begins(const char *options)
{
    test_providers = providers_load();
    if (!application_begin(0))
        return 0;
    return make_memory() && update_is_right("AES-256-CTR", PAGEABLE, 64 * KIB, NULL) &&
           begin_kernel(options);
}

static int updates_grow(void)
{
    return begins("frees-wait=2") && growing_updates() && is_under_way();
}

static int streams_end(void)
{
    drv_stream stream;
    int right = begins("frees-wait=2") &&
                application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) == DRV_SUCCESS;
    for (int i = 0; right && i < 8; i++)
        right = update_is_right("AES-128-CBC", DEVICE, i % 2 ? 4 * MIB : 64 * KIB, stream);
    return right && is_under_way();
}

static int release_waits(void)
{
    size_t calls = 0;
    unsigned (*count)(const char *);
    void *symbol = application_hook("emulator_calls");
    memcpy(&count, &symbol, sizeof symbol);
    int right = begins("frees-wait=1");
    for (int i = 0; right && i < 6000 && calls == 0; i++) {
        sleep_ms(10);
        calls = count("mem_free") + count("mem_free_host");
    }
    struct figures before = figures_get(&test_providers);
    right = right && calls != 0 && update_is_right("AES-256-CTR", PAGEABLE, 8 * MIB, NULL) &&
            update_is_right("AES-128-CBC", PAGEABLE, 64 * KIB, NULL) &&
            figure("gpu-bytes") == before.gpu_bytes && is_under_way();
    providers_unload(&test_providers);
    return right;
}

static const struct {
    const char *name, *settings;
    int (*run)(void);
    int emulated; /* it cannot be had from a card */
} cases[] = {
    {"updates that grow do not wait", "GPUAES_MIN_BYTES=0", updates_grow, 0},
    {"nor do contexts on a stream that end", "GPUAES_MIN_BYTES=0", streams_end, 0},
    {"a release that waits holds nobody up",
     "GPUAES_MIN_BYTES=4096 GPUAES_IDLE_SECONDS=1 GPUAES_TIMEOUT_MS=10000", release_waits, 1},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static int run_case(size_t number)
{
    alarm(sanitized() ? 600 : 300);
    if (!application_emulated() && (cases[number].emulated || !application_real()))
        return SKIPPED;
    int right = cases[number].run();
    if (word != NULL)
        *word = 1;
    return !right;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return run_case(strtoul(argv[1], NULL, 10) % CASES);
    if (stand_in())
        return tap_skip_all("the default provider has no device");
    setenv("GPUAES_IDLE_SECONDS", "0", 1);
    for (size_t i = 0; i < CASES; i++) {
        int status = exit_status(case_begin(cases[i].settings, NULL, "%zu", i));
        if (status == SKIPPED)
            tap_skip("%s: not here", cases[i].name);
        else if (!tap_ok(status == 0, "%s for the application's kernel", cases[i].name))
            tap_diag("status %d", status);
    }
    return tap_done();
}
