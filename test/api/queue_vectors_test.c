/*
 * The published vectors of AES-GCM through gpuaes_queue(), both ways: those whose keys, IVs and
 * tags have the same lengths are the messages of one call, with raw keys by number. Forged messages
 * are refused, and no text of theirs is left.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/gpuaes.h"
#include "test/evp/gcm_vectors.h"
#include "test/support/application.h"
#include "test/support/known_answers.h"
#include "test/support/tap.h"

enum { VECTORS = sizeof gcm_vectors / sizeof *gcm_vectors };
enum { ROOM = 528, TAG = 16, MOST_IV = 128, KEY = 32 };

/* As it lies in device memory. Texts are in place; keys follow each other without gaps. */
struct memory {
    uint64_t text[VECTORS], bytes[VECTORS], iv[VECTORS], aad[VECTORS], aad_bytes[VECTORS],
        tag[VECTORS];
    uint32_t key[VECTORS], status[VECTORS];
    unsigned char texts[VECTORS][ROOM], aads[VECTORS][ROOM], ivs[VECTORS][MOST_IV],
        tags[VECTORS][TAG], keys[VECTORS * KEY];
};

static struct memory *device, staged, result;
static drv_stream stream;

struct group {
    size_t key_bytes, iv_bytes, tag_bytes, count;
    const struct gcm_vector *of[VECTORS];
};

static size_t hex_bytes(const char *hex)
{
    return strlen(hex) / 2;
}

static int belongs(const struct group *g, const struct gcm_vector *v)
{
    return hex_bytes(v->key) == g->key_bytes && hex_bytes(v->iv) == g->iv_bytes &&
           hex_bytes(v->tag) == g->tag_bytes;
}

/* Encryption makes the tags of those that are authentic. */
static int is_chosen(const struct gcm_vector *v, int encrypts)
{
    return !encrypts || (v->authentic && v->plain != NULL);
}

static uint64_t address(const void *in_staged)
{
    return (uint64_t)(uintptr_t)device +
           (uint64_t)((const unsigned char *)in_staged - (const unsigned char *)&staged);
}

static void stage(const struct group *g, int encrypts)
{
    memset(&staged, 0xee, sizeof staged);
    for (size_t i = 0; i < g->count; i++) {
        const struct gcm_vector *v = g->of[i];
        staged.bytes[i] = from_hex(staged.texts[i], encrypts ? v->plain : v->coded);
        staged.aad_bytes[i] = from_hex(staged.aads[i], v->aad);
        from_hex(staged.ivs[i], v->iv);
        from_hex(staged.keys + i * g->key_bytes, v->key);
        if (!encrypts)
            from_hex(staged.tags[i], v->tag);
        staged.text[i] = address(staged.texts[i]);
        staged.aad[i] = address(staged.aads[i]);
        staged.iv[i] = address(staged.ivs[i]);
        staged.tag[i] = address(staged.tags[i]);
        staged.key[i] = (uint32_t)i;
    }
}

static int queue(const struct group *g, int encrypts)
{
    const struct gpuaes_messages messages = {.struct_bytes = sizeof messages,
                                             .op =
                                                 encrypts ? GPUAES_GCM_ENCRYPT : GPUAES_GCM_DECRYPT,
                                             .count = g->count,
                                             .max_bytes = GCM_LONGEST,
                                             .key_table = device->keys,
                                             .key_index = device->key,
                                             .key_count = g->count,
                                             .key_bytes = g->key_bytes,
                                             .in = (const void *const *)(void *)device->text,
                                             .out = (void *const *)(void *)device->text,
                                             .bytes = (const size_t *)(void *)device->bytes,
                                             .iv = (const unsigned char *const *)(void *)device->iv,
                                             .iv_bytes = g->iv_bytes,
                                             .aad = (const void *const *)(void *)device->aad,
                                             .aad_bytes = (const size_t *)(void *)device->aad_bytes,
                                             .tag = (unsigned char *const *)(void *)device->tag,
                                             .tag_bytes = g->tag_bytes,
                                             .status = device->status};
    size_t temp_bytes = LIBRARY(gpuaes_queue_temp_bytes)(&messages);
    void *temp = application_alloc(DEVICE, temp_bytes);
    int queued = LIBRARY(gpuaes_queue)(&messages, temp, temp_bytes, stream, 0) == GPUAES_OK;
    if (!queued)
        tap_diag("%s", LIBRARY(gpuaes_queue_error)());
    queued &= application_wait(stream);
    application_free(DEVICE, temp);
    return queued;
}

static int is_right(const struct gcm_vector *v, size_t i, int encrypts)
{
    unsigned char want[ROOM], tag[TAG];
    memset(want, 0xee, sizeof want);
    memset(tag, 0xee, sizeof tag);
    from_hex(tag, v->tag);
    if (v->authentic)
        from_hex(want, encrypts ? v->coded : v->plain);
    else
        memset(want, 0, hex_bytes(v->coded));
    enum gpuaes_status status = v->authentic ? GPUAES_OK : GPUAES_BAD_TAG;
    if (result.status[i] == (uint32_t)status && memcmp(result.texts[i], want, ROOM) == 0 &&
        memcmp(result.tags[i], tag, TAG) == 0)
        return 1;
    tap_diag("%s: status %u; expected %d", v->source, result.status[i], status);
    return 0;
}

/* Returns how many vectors there are, or -1 unless all are right. */
static int run_group(struct group *g, const unsigned char *is_done, int encrypts)
{
    g->count = 0;
    for (size_t i = 0; i < VECTORS; i++)
        if (!is_done[i] && belongs(g, &gcm_vectors[i]) && is_chosen(&gcm_vectors[i], encrypts))
            g->of[g->count++] = &gcm_vectors[i];
    if (g->count == 0)
        return 0;
    stage(g, encrypts);
    int right = application_write(DEVICE, device, &staged, sizeof staged) && queue(g, encrypts) &&
                application_read(&result, DEVICE, device, sizeof result);
    for (size_t i = 0; right && i < g->count; i++)
        right = is_right(g->of[i], i, encrypts);
    return right ? (int)g->count : -1;
}

static int is_a_tag(size_t bytes)
{
    return (bytes >= 12 && bytes <= TAG) || bytes == 8 || bytes == 4;
}

static void run_all(int encrypts)
{
    static struct group g;
    unsigned char is_done[VECTORS] = {0};
    int right = 1, run = 0, groups = 0, wanted = 0;
    for (size_t i = 0; i < VECTORS; i++) {
        const struct gcm_vector *v = &gcm_vectors[i];
        g.key_bytes = hex_bytes(v->key);
        g.iv_bytes = hex_bytes(v->iv);
        g.tag_bytes = hex_bytes(v->tag);
        wanted += is_chosen(v, encrypts) && is_a_tag(g.tag_bytes);
        if (is_done[i] || !is_a_tag(g.tag_bytes))
            continue;
        int count = run_group(&g, is_done, encrypts);
        right &= count >= 0;
        run += count;
        groups += count > 0;
        for (size_t k = i; k < VECTORS; k++)
            if (belongs(&g, &gcm_vectors[k]))
                is_done[k] = 1;
    }
    tap_ok(right && run == wanted && run > 200, "GCM %s: %d published answers, in %d calls",
           encrypts ? "encryption" : "decryption", run, groups);
}

int main(void)
{
    test_providers = providers_load(); /* it brings the library */
    if (!application_begin(0))
        return tap_skip_all("there is no GPU");
    if (LIBRARY(gpuaes_start)(NULL, NULL, 1) != GPUAES_READY)
        return tap_skip_all("the GPU does not start");
    application.stream_create(&stream, DRV_STREAM_NON_BLOCKING);
    device = (void *)application_alloc(DEVICE, sizeof *device);
    if (tap_ok(device != NULL, "memory")) {
        run_all(1);
        run_all(0);
        application_free(DEVICE, device);
    }
    application.stream_destroy(stream);
    providers_unload(&test_providers);
    return tap_done();
}
