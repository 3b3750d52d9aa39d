/*
 * What a batch leaves behind once it is closed: nothing. No key, no schedule and no text is
 * anywhere, neither where the CPU staged text, nor where copy engines carried it, nor after a
 * launch has failed. All writable memory of the process is searched, in which the emulator's device
 * memory is.
 *
 * Keys and text of the test, and what is looked for, lie in memory that is not searched, and are
 * made by a child.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/library.h"
#include "test/support/memory_search.h"

enum { BLOCK = GPUAES_BLOCK, KEY_BYTES = 32, MESSAGES = 8, LEN = 80 * 1024, KEYS = 2 };
enum { EVERY = 4096 }; /* of so many bytes of text, the first block is looked for */

/* Pinned messages of LEN bytes are copied; those of SHORT, with gaps between them, are not. */
enum { SHORT = 8 * 1024, GAP = 48 };
static const struct row {
    const char *name;
    enum gpuaes_op op;
    int kind;
    size_t keys, len;
    const char *fault; /* of the emulator; NULL: none */
} rows[] = {
    {"CTR, pageable memory", GPUAES_CTR, GPUAES_PAGEABLE, 1, SHORT, NULL},
    {"CTR, pageable memory, a key for each", GPUAES_CTR, GPUAES_PAGEABLE, KEYS, SHORT, NULL},
    {"CTR, pinned memory", GPUAES_CTR, GPUAES_PINNED, 1, SHORT, NULL},
    {"CTR, pinned memory by copies", GPUAES_CTR, GPUAES_PINNED, 1, LEN, NULL},
    {"CBC encryption, pinned memory by copies", GPUAES_CBC_ENCRYPT, GPUAES_PINNED, KEYS, LEN, NULL},
    {"CBC decryption, pinned memory by copies", GPUAES_CBC_DECRYPT, GPUAES_PINNED, KEYS, LEN, NULL},
    {"ECB, device memory", GPUAES_ECB_ENCRYPT, GPUAES_DEVICE, KEYS, LEN, NULL},
    {"a launch fails, pageable memory", GPUAES_CTR, GPUAES_PAGEABLE, KEYS, SHORT,
     "fault=launch_kernel:1"},
    {"a launch fails, pinned memory by copies", GPUAES_CTR, GPUAES_PINNED, KEYS, LEN,
     "fault=launch_kernel:1"},
    {"a copy back fails", GPUAES_CTR, GPUAES_PINNED, 1, LEN, "fault=memcpy_dtoh_async:1"},
};

struct secrets {
    unsigned char key[KEYS][KEY_BYTES], iv[BLOCK], text[MESSAGES][LEN], expected[MESSAGES][LEN];
    unsigned first_text; /* number of the first needle of a text */
};
static struct search *search;
static struct secrets *secrets;

static const unsigned char *key_of(const struct row *r, size_t i)
{
    return secrets->key[r->keys > 1 ? i % r->keys : 0];
}

/* In a child, whose memory goes with it. */
static int make_secrets(const void *argument)
{
    const struct row *r = argument;
    tap_random_bytes(&random_state, secrets, sizeof *secrets);
    for (size_t k = 0; k < r->keys; k++) {
        struct gpuaes_key schedule;
        (void)gpuaes_key_expand(&schedule, secrets->key[k], KEY_BYTES);
        search_add(search, secrets->key[k]);
        for (unsigned round = 2; round < schedule.rounds; round++) {
            search_add(search, (const void *)&schedule.encrypt[4 * round]);
            search_add(search, (const void *)&schedule.decrypt[4 * round]);
        }
    }
    secrets->first_text = search->count;
    for (size_t i = 0; i < MESSAGES; i++) {
        unsigned char iv[BLOCK];
        memcpy(iv, secrets->iv, BLOCK);
        reference(r->op, key_of(r, i), KEY_BYTES, iv, secrets->text[i], secrets->expected[i],
                  r->len);
        for (size_t at = 0; at < r->len; at += EVERY) {
            search_add(search, secrets->text[i] + at);
            search_add(search, secrets->expected[i] + at);
        }
    }
    return 0;
}

/* Counts the needles that are found, and says where the first ones are. */
static unsigned tell(void)
{
    unsigned count = 0;
    (void)COMES(emulator_under_way() == 0);
    (void)search_memory(search);
    for (unsigned i = 0; i < search->count; i++) {
        if (search->found[i] == 0 || count++ >= 3)
            continue;
        char line[300] = "";
        search_describe(search->where[i], line, sizeof line);
        fprintf(stderr, "# a %s at %#" PRIxPTR ": %s\n", i < secrets->first_text ? "key" : "text",
                search->where[i], line);
    }
    return count;
}

static int run_row(const void *argument)
{
    const struct row *r = argument;
    const size_t stride = r->len + (r->len == SHORT ? GAP : 0);
    struct gpuaes_batch *batch;
    search = search_new(sizeof *secrets);
    if (search == NULL)
        return 1;
    secrets = (struct secrets *)(void *)search->own;
    search->is_ignored = emulator_is_inside_device;
    if (in_child(make_secrets, r) != 0)
        return 2;
    become_an_application(0);
    if (!starts_with(NULL) || gpuaes_batch_open(&batch) != GPUAES_OK)
        return 3;
    unsigned char *p = take(r->kind, MESSAGES * stride);
    for (size_t i = 0; i < MESSAGES; i++)
        memcpy(p + i * stride, secrets->text[i], r->len);
    if (search_memory(search) == 0 || search->found[secrets->first_text] == 0)
        return 4; /* the search does not work */
    for (size_t i = 0; i < MESSAGES; i++) {
        unsigned char *text = p + i * stride;
        const struct gpuaes_message m = {
            .op = r->op, key_of(r, i), KEY_BYTES, NULL, secrets->iv, text, text, r->len};
        if (gpuaes_batch_add(batch, &m) != GPUAES_OK)
            return 5;
    }
    if (r->fault != NULL)
        emulator_configure(r->fault);
    if (gpuaes_batch_submit(batch, 0) == GPUAES_OK)
        (void)gpuaes_batch_wait(batch);
    emulator_configure("");
    for (size_t i = 0; i < MESSAGES; i++)
        if (r->fault == NULL && memcmp(p + i * stride, secrets->expected[i], r->len) != 0)
            return 6;
    memset(p, 0, MESSAGES * stride);
    gpuaes_batch_close(batch);
    return tell() == 0 ? 0 : 7;
}

int main(int argc, char **argv)
{
    (void)argc;
    search_bind_now(argv);
    tap_random_seed(&random_state);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        child_ok(run_row, &rows[i], "%s: nothing is left", rows[i].name);
    return tap_done();
}
