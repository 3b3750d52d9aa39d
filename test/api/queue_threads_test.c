/*
 * gpuaes_queue() by several threads at once, each with a stream and arrays of its own, and
 * temporary memory of the device's pool: all begin with the first GCM of the device, and each
 * learns of its own arguments what is wrong with them.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "test/support/application.h"
#include "test/support/library.h"

enum { THREADS = 4, ROUNDS = 4, COUNT = 150, LEN = 100, KEY = 32, IV = 12, TAG = 16 };

/* In device memory, which the CPU of an emulated device reads as well. */
struct memory {
    const void *in[COUNT];
    void *out[COUNT];
    size_t bytes[COUNT];
    unsigned char *iv[COUNT], *tag[COUNT];
    uint32_t status[COUNT];
    unsigned char text[LEN], ivs[COUNT][IV], result[COUNT][LEN], tags[COUNT][TAG];
};

struct worker {
    pthread_t thread;
    struct memory *memory;
    drv_stream stream;
    unsigned char key[KEY], expected[COUNT][LEN], tags[COUNT][TAG];
    int right;
};

static struct worker workers[THREADS];
static pthread_barrier_t begin;

static void expect_messages(struct worker *w)
{
    for (size_t i = 0; i < COUNT; i++)
        reference_run(&(struct reference_message){.op = GPUAES_GCM_ENCRYPT,
                                                  .key = w->key,
                                                  .key_bytes = KEY,
                                                  .iv = w->memory->ivs[i],
                                                  .iv_bytes = IV},
                      w->memory->text, w->expected[i], LEN, w->tags[i]);
}

static struct gpuaes_messages messages_of(const struct worker *w, const struct gpuaes_key *key)
{
    struct memory *m = w->memory;
    return (struct gpuaes_messages){.struct_bytes = sizeof(struct gpuaes_messages),
                                    .op = GPUAES_GCM_ENCRYPT,
                                    .count = COUNT,
                                    .max_bytes = LEN,
                                    .key = key,
                                    .in = m->in,
                                    .out = m->out,
                                    .bytes = m->bytes,
                                    .iv = (const unsigned char *const *)m->iv,
                                    .iv_bytes = IV,
                                    .tag = m->tag,
                                    .tag_bytes = TAG,
                                    .status = m->status};
}

static int prepare(struct worker *w)
{
    drv_ptr memory;
    if (application.mem_alloc(&memory, sizeof *w->memory) != DRV_SUCCESS ||
        application.stream_create(&w->stream, DRV_STREAM_NON_BLOCKING) != DRV_SUCCESS)
        return 0;
    struct memory *m = w->memory = (struct memory *)(uintptr_t)memory;
    tap_random_bytes(&random_state, w->key, KEY);
    tap_random_bytes(&random_state, m->text, LEN);
    tap_random_bytes(&random_state, m->ivs, sizeof m->ivs);
    for (size_t i = 0; i < COUNT; i++) {
        m->in[i] = m->text;
        m->out[i] = m->result[i];
        m->bytes[i] = LEN;
        m->iv[i] = m->ivs[i];
        m->tag[i] = m->tags[i];
    }
    expect_messages(w);
    return 1;
}

static int is_right(const struct worker *w)
{
    int right = memcmp(w->memory->result, w->expected, sizeof w->expected) == 0 &&
                memcmp(w->memory->tags, w->tags, sizeof w->tags) == 0;
    for (size_t i = 0; i < COUNT; i++)
        right &= w->memory->status[i] == GPUAES_OK;
    return right;
}

static int run_round(struct worker *w)
{
    struct gpuaes_key key;
    char said[64];
    gpuaes_key_expand(&key, w->key, KEY);
    struct gpuaes_messages messages = messages_of(w, &key);
    memset(w->memory->status, 0xee, sizeof w->memory->status);
    memset(w->memory->result, 0, sizeof w->memory->result);
    if (gpuaes_queue(&messages, NULL, 0, w->stream, 0) != GPUAES_OK)
        return 0;
    messages.tag_bytes = 20 + (size_t)(w - workers);
    if (gpuaes_queue(&messages, NULL, 0, w->stream, 0) != GPUAES_BAD_ARGUMENT)
        return 0;
    application_wait(w->stream);
    snprintf(said, sizeof said, "tag_bytes is %zu; ", messages.tag_bytes);
    return is_right(w) && strncmp(gpuaes_queue_error(), said, strlen(said)) == 0;
}

static void *run(void *argument)
{
    struct worker *w = argument;
    drv_context context;
    application.primary_ctx_retain(&context, 0);
    application.ctx_push_current(context);
    pthread_barrier_wait(&begin);
    w->right = 1;
    for (int i = 0; i < ROUNDS && w->right; i++)
        w->right = run_round(w);
    return NULL;
}

int main(void)
{
    int right = 1;
    tap_random_seed(&random_state);
    if (!starts_with(NULL))
        return EXIT_FAILURE;
    become_an_application(0);
    pthread_barrier_init(&begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (!prepare(&workers[i]))
            return EXIT_FAILURE;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, run, &workers[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        right &= workers[i].right;
    }
    tap_ok(right, "%d threads queue messages %d times", THREADS, ROUNDS);
    /* The emulator lets threads of streams that were destroyed go when it makes another one. */
    drv_stream another;
    usleep(100000);
    application.stream_create(&another, DRV_STREAM_NON_BLOCKING);
    return tap_done();
}
