/*
 * Each function takes the operations that the table in gpuaes.h marks, and refuses all others.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/library.h"

enum { BYTES = 64 };

static unsigned char key[32] = "a key", iv[16], text[BYTES], tag[16];
static struct gpuaes_key schedule;
static struct gpuaes_gcm_key gcm;
static struct gpuaes_stream_binding *binding;

static enum gpuaes_status by_aes(enum gpuaes_op op)
{
    return gpuaes_aes(op, &schedule, iv, text, text, BYTES, GPUAES_WAIT, NULL);
}

static enum gpuaes_status by_gcm(enum gpuaes_op op)
{
    struct gpuaes_gcm_state state = {{0}, {0}};
    return gpuaes_gcm(op, &gcm, &state, text, text, BYTES, GPUAES_WAIT, NULL);
}

static enum gpuaes_status by_batch(enum gpuaes_op op)
{
    struct gpuaes_batch *batch = NULL;
    enum gpuaes_status status = gpuaes_batch_open(&batch);
    const struct gpuaes_message message = {.op = op,
                                           .key = key,
                                           .key_bytes = sizeof key,
                                           .iv = iv,
                                           .in = text,
                                           .out = text,
                                           .len = BYTES,
                                           .iv_bytes = 12,
                                           .tag = tag,
                                           .tag_bytes = sizeof tag};
    if (status == GPUAES_OK)
        status = gpuaes_batch_add(batch, &message);
    gpuaes_batch_close(batch);
    return status;
}

/* Which says of each argument what is wrong with it. */
static enum gpuaes_status by_queue(enum gpuaes_op op)
{
    const struct gpuaes_messages messages = {.struct_bytes = sizeof messages, .op = op};
    (void)gpuaes_queue(&messages, NULL, 0, NULL, 0);
    return strncmp(gpuaes_queue_error(), "op is ", 6) == 0 ? GPUAES_BAD_ARGUMENT : GPUAES_OK;
}

static enum gpuaes_status by_binding_aes(enum gpuaes_op op)
{
    unsigned char *p = gpuaes_pinned_alloc(BYTES);
    enum gpuaes_status status = gpuaes_stream_binding_aes(binding, op, &schedule, iv, p, p, BYTES);
    (void)gpuaes_stream_binding_wait(binding, NULL);
    gpuaes_pinned_free(p, BYTES);
    return status;
}

static enum gpuaes_status by_binding_gcm(enum gpuaes_op op)
{
    unsigned char *p = gpuaes_pinned_alloc(BYTES);
    enum gpuaes_status status = gpuaes_stream_binding_gcm(binding, op, &gcm, iv, 1, p, p, BYTES);
    (void)gpuaes_stream_binding_wait(binding, NULL);
    gpuaes_pinned_free(p, BYTES);
    return status;
}

/* "x" for each operation that is taken, by enum gpuaes_op, and one behind the last. */
static const struct {
    const char *name, *taken;
    enum gpuaes_status (*call)(enum gpuaes_op op);
} rows[] = {
    {"gpuaes_aes", "xxxx---xx-", by_aes},
    {"gpuaes_gcm", "-----xx---", by_gcm},
    {"gpuaes_batch_add", "xxxxxxxxx-", by_batch},
    {"gpuaes_queue", "xxxxxxxxx-", by_queue},
    {"gpuaes_stream_binding_aes", "xxxx------", by_binding_aes},
    {"gpuaes_stream_binding_gcm", "-----xx---", by_binding_gcm},
};

int main(void)
{
    tap_ok(starts_with(NULL) && gpuaes_key_expand(&schedule, key, sizeof key) &&
               gpuaes_gcm_key_expand(&gcm, key, sizeof key) &&
               gpuaes_stream_binding_open(&binding, NULL, 0) == GPUAES_OK,
           "a device, keys and a stream");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int right = 1;
        for (int op = 0; op <= ALL_OPS; op++) {
            enum gpuaes_status status = rows[i].call((enum gpuaes_op)op);
            if (status == (rows[i].taken[op] == 'x' ? GPUAES_OK : GPUAES_BAD_ARGUMENT))
                continue;
            tap_diag("%s: %s", op < ALL_OPS ? op_names[op] : "behind the last",
                     gpuaes_status_text(status));
            right = 0;
        }
        tap_ok(right && rows[i].call((enum gpuaes_op) - 1) == GPUAES_BAD_ARGUMENT, "%s",
               rows[i].name);
    }
    gpuaes_stream_binding_close(binding);
    return tap_done();
}
