/*
 * Large updates on stacks that have no room for the driver: threads with small stacks, and
 * coroutines, whose stacks are not the thread's. The device does the work all the same. The
 * emulated driver ends the process if it is called where there is no room. On a card the room
 * that is asked for must be what the driver needs: an update tells by a painted stack. Where no
 * thread can be created, the CPU does the work.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "test/support/cases.h"

enum { KIB = 1 << 10, MIB = 1 << 20, BYTES = MIB, BLOCK = 16, LEAST_STACK = 24 * KIB };
/* What provider/common/big_stack.c wants to be left before it lets the driver be called. */
enum { ASKED_FOR = 64 * KIB };

static unsigned char *in, *out, *expected;

static const unsigned char key[32] = {1, 2, 3}, iv[BLOCK] = {4, 5, 6};

static int no_threads;

/* Stands before that of libc. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (create == NULL) {
        void *found = dlsym(RTLD_NEXT, "pthread_create");
        memcpy(&create, &found, sizeof create);
    }
    return no_threads ? EAGAIN : create(thread, attributes, run, argument);
}

/* One update on the stack under test; its context is made and freed elsewhere. */
struct update {
    EVP_CIPHER_CTX *context;
    int done;
    ucontext_t here, there;
};

static void run_update(struct update *u)
{
    int n = 0;
    u->done = EVP_CipherUpdate(u->context, out, &n, in, BYTES) && n == BYTES;
}

static void *run_in_thread(void *argument)
{
    run_update(argument);
    return NULL;
}

static int in_thread(struct update *u, size_t stack_bytes)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    int begun = pthread_attr_setstacksize(&attributes, stack_bytes) == 0 &&
                pthread_create(&thread, &attributes, run_in_thread, u) == 0;
    pthread_attr_destroy(&attributes);
    return begun && pthread_join(thread, NULL) == 0;
}

/* Leaves in `deepest` the bytes of the stack that were written. */
static size_t deepest;

static int on_painted_stack(struct update *u, size_t stack_bytes)
{
    enum { PAINT = 0xa5 };
    pthread_t thread;
    pthread_attr_t attributes;
    unsigned char *stack =
        mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return 0;
    memset(stack, PAINT, stack_bytes);
    pthread_attr_init(&attributes);
    int ended = pthread_attr_setstack(&attributes, stack, stack_bytes) == 0 &&
                pthread_create(&thread, &attributes, run_in_thread, u) == 0 &&
                pthread_join(thread, NULL) == 0;
    pthread_attr_destroy(&attributes);
    size_t left = 0;
    while (left < stack_bytes && stack[left] == PAINT)
        left++;
    if (stack_bytes - left > deepest)
        deepest = stack_bytes - left;
    munmap(stack, stack_bytes);
    return ended;
}

static struct update *resumed; /* makecontext() passes integers alone */

static void run_in_coroutine(void)
{
    run_update(resumed);
}

static int in_coroutine(struct update *u, size_t stack_bytes)
{
    void *stack =
        mmap(NULL, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || getcontext(&u->there) != 0)
        return 0;
    u->there.uc_stack.ss_sp = stack;
    u->there.uc_stack.ss_size = stack_bytes;
    u->there.uc_link = &u->here;
    resumed = u;
    makecontext(&u->there, run_in_coroutine, 0);
    int right = swapcontext(&u->here, &u->there) == 0;
    resumed = NULL;
    munmap(stack, stack_bytes);
    return right;
}

static EVP_CIPHER_CTX *open_context(EVP_CIPHER *cipher, int encrypts)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_CipherInit_ex2(context, cipher, key, iv, encrypts, NULL);
    EVP_CIPHER_CTX_set_padding(context, 0);
    return context;
}

static int update_is_right(const struct cipher_row *row, int encrypts,
                           int (*run)(struct update *, size_t), size_t stack_bytes)
{
    EVP_CIPHER *ours = fetch_ours(&test_providers, row->name);
    EVP_CIPHER *reference = fetch_reference(&test_providers, row->name);
    struct update u = {.context = open_context(ours, encrypts)};
    EVP_CIPHER_CTX *r = open_context(reference, encrypts);
    int n = 0;
    memset(out, 0, BYTES);
    int right = EVP_CipherUpdate(r, expected, &n, in, BYTES) && n == BYTES &&
                run(&u, stack_bytes) && u.done && memcmp(out, expected, BYTES) == 0;
    EVP_CIPHER_CTX_free(u.context);
    EVP_CIPHER_CTX_free(r);
    EVP_CIPHER_free(ours);
    EVP_CIPHER_free(reference);
    return right;
}

static size_t least_stack(void)
{
    return sanitized() ? 64 * KIB : LEAST_STACK; /* their frames are larger */
}

static void make_buffers(struct tap_random *random)
{
    in = malloc(BYTES);
    out = malloc(BYTES);
    expected = malloc(BYTES);
    tap_random_bytes(random, in, BYTES);
}

/* All ciphers, decrypting, so that CBC is the device's as well. */
static void all_ciphers(const char *where, int (*run)(struct update *, size_t), size_t stack_bytes)
{
    const char *who = no_threads ? "CPU" : "device";
    size_t right = 0;
    struct figures before = figures_get(&test_providers);
    for (size_t i = 0; i < CIPHER_ROWS; i++)
        right += (size_t)update_is_right(&cipher_rows[i], 0, run, stack_bytes);
    uint64_t bytes = figure("gpu-bytes") - before.gpu_bytes;
    tap_ok(right == CIPHER_ROWS, "%s of %zu KiB: %zu of %d updates right", where, stack_bytes / KIB,
           right, (int)CIPHER_ROWS);
    if (stand_in())
        tap_skip("the default provider keeps no figures");
    else
        tap_ok(bytes == (no_threads ? 0 : (uint64_t)CIPHER_ROWS * BYTES),
               "the %s did them: %llu bytes of the device", who, (unsigned long long)bytes);
}

/* An update that looks whether the application runs CUDA, which asks the driver. */
static int looks_for_cuda(void)
{
    return update_is_right(&cipher_rows[CIPHER_ROWS - 1], 1, in_coroutine, least_stack());
}

int main(int argc, char **argv)
{
    struct tap_random random;
    size_t least = least_stack();
    (void)argv;
    tap_random_seed(&random);
    if (argc > 1) {
        make_buffers(&random);
        return case_run(looks_for_cuda, 200);
    }
    tap_ok(exit_status(case_begin(NULL, "in-use=1", "1")) == 0,
           "an update on a small stack, in an application that runs CUDA");
    setenv("GPUAES_POLICY", "gpu", 1);
    setenv("GPUAES_MIN_BYTES", "0", 1);
    test_providers = providers_load();
    make_buffers(&random);
    for (size_t stack = least; stack <= 384 * KIB; stack *= 4)
        all_ciphers("a thread with a stack", in_thread, stack);
    for (size_t stack = least; stack <= 384 * KIB; stack *= 4)
        all_ciphers("a coroutine with a stack", in_coroutine, stack);
    no_threads = 1;
    all_ciphers("a coroutine without other threads, with a stack", in_coroutine, least);
    no_threads = 0;
    all_ciphers("a painted stack", on_painted_stack, MIB);
    if (sanitized())
        tap_skip("frames are larger under a sanitizer");
    else
        tap_ok(deepest <= ASKED_FOR, "updates use %zu bytes of stack", deepest);

    free(in);
    free(out);
    free(expected);
    providers_unload(&test_providers);
    return tap_done();
}
