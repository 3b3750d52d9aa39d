/*
 * Messages of contexts of their own: all in one launch, as the provider does it for
 * pipelines and for updates that it gathers, beside one by one on a core; and what the
 * provider chooses. The provider's own code is linked here, since a pipeline has 32 messages
 * at most.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <openssl/core_dispatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../provider/aes.h"
#include "../../provider/aes_messages.h"
#include "../../provider/aes_update.h"
#include "../pipes.h"
#include "buffers.h"
#include "options.h"
#include "parts.h"
#include "rows.h"

/* What a turn of each side does: REFERENCE is one by one in any case. */
enum way { ONE_LAUNCH, CHOSEN };

struct messages {
    size_t count, length;
    enum way way;
    struct provider *provider;
    struct aes_message *message, **list;
    size_t *written;
    uint64_t launched, turns; /* of CHOSEN */
};

OSSL_provider_init_fn OSSL_provider_init;

static uint64_t launches(void)
{
    struct gpuaes_statistics s;
    gpuaes_get_statistics(&s);
    return s.launches;
}

static void check(int ok)
{
    if (!ok) {
        (void)fprintf(stderr, "gpuaes_bench: messages: an update failed\n");
        exit(EXIT_FAILURE);
    }
}

static void one_launch(struct messages *m)
{
    struct aes_flight flight = {.provider = m->provider, .messages = m->list, .count = m->count};
    (void)aes_flight_pays(&flight);
    flight.work.cell = NULL; /* the choice learns nothing from it */
    aes_flight_begin(&flight);
    aes_flight_wait(&flight);
    for (size_t i = 0; i < m->count; i++)
        check(aes_message_finish(m->list[i]));
}

static void turn(int side, void *argument)
{
    struct messages *m = argument;
    uint64_t before = launches();
    if (side == REFERENCE) {
        for (size_t i = 0; i < m->count; i++)
            check(aes_update_alone(m->list[i]->context, &m->list[i]->call));
    } else if (m->way == ONE_LAUNCH) {
        one_launch(m);
    } else {
        check(aes_messages_run(m->provider, m->list, m->count));
        m->launched += launches() != before;
        m->turns++;
    }
}

static void *new_context(struct provider *provider, const struct pipes_functions *f, size_t number)
{
    unsigned char key[32] = "the key of all measurements ...", iv[16] = {0};
    struct aes_context *c = f->newctx(provider);
    memcpy(iv, &number, sizeof number);
    if (c == NULL || !aes_init(c, 1, key, sizeof key, iv, sizeof iv, NULL))
        exit(EXIT_FAILURE);
    return c;
}

static void open_messages(struct messages *m, const struct pipes_functions *f, unsigned char *in,
                          unsigned char *out)
{
    m->message = calloc(m->count, sizeof *m->message);
    m->list = calloc(m->count, sizeof(struct aes_message *));
    m->written = calloc(m->count, sizeof *m->written);
    if (m->message == NULL || m->list == NULL || m->written == NULL)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < m->count; i++) {
        m->message[i].context = new_context(m->provider, f, i);
        m->message[i].call = (struct call){.out = out + i * m->length,
                                           .out_bytes = &m->written[i],
                                           .room = m->length,
                                           .in = in + i * m->length,
                                           .in_bytes = m->length};
        m->list[i] = &m->message[i];
    }
}

static void close_messages(struct messages *m)
{
    for (size_t i = 0; i < m->count; i++)
        aes_freectx(m->message[i].context);
    free(m->message);
    free(m->list);
    free(m->written);
}

static void message_row(struct messages *m, const char *cipher, const char *memory)
{
    char operation[80];
    m->launched = m->turns = 0;
    struct result result = measure(options.quick ? 1 : 31, turn, m);
    int percent = m->turns == 0 ? 100 : (int)(m->launched * 100 / m->turns);
    (void)snprintf(operation, sizeof operation, "encrypt, %zu messages, %s", m->count,
                   m->way == CHOSEN ? "as chosen" : "one launch");
    struct row row = {.part = "messages",
                      .cipher = cipher,
                      .operation = operation,
                      .statistic = "median",
                      .bytes = m->length,
                      .memory = memory,
                      .placement = "apart",
                      .engine = percent > 90   ? "gpu"
                                : percent < 10 ? "cpu"
                                               : "mixed",
                      .against = "one by one"};
    print_rates(&row, &result, (double)(m->count * m->length));
}

static void rows_of(OSSL_PROVIDER *loaded, const char *cipher, enum kind kind)
{
    static const size_t counts[] = {1, 8, 32, 64, 128, 256, 512, 1024};
    static const size_t lengths[] = {1 << 10, 4 << 10, 16 << 10, 64 << 10};
    size_t most = options.quick ? 32 : 1024, longest = options.quick ? 1 << 10 : 64 << 10;
    struct buffer in = buffer_take(kind, most * longest), out = buffer_take(kind, most * longest);
    struct pipes_functions functions;
    if (in.p == NULL || out.p == NULL || !pipes_find_functions(loaded, cipher, &functions))
        exit(EXIT_FAILURE);
    memset(out.p, 1, most * longest);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0] && counts[i] <= most; i++)
        for (size_t j = 0; j < sizeof lengths / sizeof lengths[0] && lengths[j] <= longest; j++) {
            struct messages m = {.count = counts[i],
                                 .length = lengths[j],
                                 .provider = OSSL_PROVIDER_get0_provider_ctx(loaded)};
            open_messages(&m, &functions, in.p, out.p);
            for (m.way = ONE_LAUNCH; m.way <= CHOSEN; m.way++)
                message_row(&m, cipher, kind_name(kind));
            close_messages(&m);
        }
    buffer_give(&in);
    buffer_give(&out);
}

int part_messages(void)
{
    OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
    OSSL_PROVIDER *loaded = NULL;
    struct pipes_functions functions;
    if (OSSL_PROVIDER_add_builtin(context, "gpuaes", OSSL_provider_init))
        loaded = OSSL_PROVIDER_load(context, "gpuaes");
    if (loaded == NULL || !pipes_find_functions(loaded, "AES-256-CTR", &functions))
        return EXIT_FAILURE;
    functions.freectx(functions.newctx(OSSL_PROVIDER_get0_provider_ctx(loaded)));
    while (gpuaes_state() == GPUAES_STARTING)
        (void)usleep(1000);
    if (gpuaes_state() != GPUAES_READY) {
        print_skipped("messages", "%s", gpuaes_reason());
        return EXIT_SUCCESS;
    }
    for (enum kind kind = PAGEABLE; kind <= PINNED; kind++) {
        rows_of(loaded, "AES-256-CBC", kind);
        rows_of(loaded, "AES-256-CTR", kind);
    }
    OSSL_PROVIDER_unload(loaded);
    OSSL_LIB_CTX_free(context);
    return EXIT_SUCCESS;
}
