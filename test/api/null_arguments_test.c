/*
 * NULL for each pointer that must be given, to each function of libgpuaes: BAD_ARGUMENT, or 0 of
 * those that return no status, or nothing; and that what may be NULL still may.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/library.h"

#define REFUSED(call) tap_ok((call) == GPUAES_BAD_ARGUMENT, "refused: %s", #call)
#define NOTHING(call) tap_ok((call) == 0, "0: %s", #call)
#define RIGHT(call) tap_ok((call) == GPUAES_OK, "OK: %s", #call)

enum { BYTES = 4096 };

static unsigned char key[32] = "a key", iv[16], text[BYTES], out[2 * BYTES], hash[16];
static struct gpuaes_key schedule;
static struct gpuaes_gcm_key gcm;

static void test_process(void)
{
    NOTHING(gpuaes_configure(NULL));
    NOTHING(gpuaes_get_settings(NULL));
    NOTHING(gpuaes_device(0, NULL));
    gpuaes_get_statistics(NULL);
    gpuaes_cleanse(NULL, BYTES);
}

static void test_keys(void)
{
    NOTHING(gpuaes_key_expand(NULL, key, 32));
    NOTHING(gpuaes_key_expand(&schedule, NULL, 32));
    NOTHING(gpuaes_gcm_key_expand(NULL, key, 32));
    NOTHING(gpuaes_gcm_key_expand(&gcm, NULL, 32));
    tap_ok(gpuaes_key_expand(&schedule, key, 32) && gpuaes_gcm_key_expand(&gcm, key, 32),
           "keys are expanded");
}

static void test_memory(void)
{
    tap_ok(gpuaes_memory_kind(NULL, 1) == GPUAES_PAGEABLE, "NULL is no device's memory");
    gpuaes_pinned_free(NULL, BYTES);
    REFUSED(gpuaes_pinned_register(NULL, BYTES));
    REFUSED(gpuaes_pinned_unregister(NULL));
    REFUSED(gpuaes_copy(NULL, text, 1));
    REFUSED(gpuaes_copy(out, NULL, 1));
    RIGHT(gpuaes_copy(NULL, NULL, 0));
}

static void test_aes(void)
{
    REFUSED(gpuaes_aes(GPUAES_ECB_ENCRYPT, NULL, NULL, text, out, BYTES, 0, NULL));
    REFUSED(gpuaes_aes(GPUAES_CTR, &schedule, NULL, text, out, BYTES, 0, NULL));
    REFUSED(gpuaes_aes(GPUAES_CBC_DECRYPT, &schedule, NULL, text, out, BYTES, 0, NULL));
    REFUSED(gpuaes_aes(GPUAES_XTS_ENCRYPT, &schedule, NULL, text, out, BYTES, 0, NULL));
    REFUSED(gpuaes_aes(GPUAES_CTR, &schedule, iv, NULL, out, BYTES, 0, NULL));
    REFUSED(gpuaes_aes(GPUAES_CTR, &schedule, iv, text, NULL, BYTES, 0, NULL));
    REFUSED(gpuaes_aes(GPUAES_CTR, &schedule, iv, NULL, NULL, BYTES, 0, NULL));
    RIGHT(gpuaes_aes(GPUAES_CTR, &schedule, iv, NULL, NULL, 0, 0, NULL));
    RIGHT(gpuaes_aes(GPUAES_ECB_ENCRYPT, &schedule, NULL, text, out, BYTES, GPUAES_WAIT, NULL));
}

static void test_gcm(void)
{
    unsigned char tag[16];
    struct gpuaes_gcm_state state = {{0}, {0}};
    struct gpuaes_gcm_message m = {.iv = iv,
                                   .iv_bytes = 12,
                                   .aad_bytes = 3,
                                   .in = text,
                                   .out = out,
                                   .len = BYTES,
                                   .tag = tag,
                                   .tag_bytes = 16};
    gpuaes_gcm_hash(NULL, hash, text, BYTES);
    gpuaes_gcm_hash(&gcm, NULL, text, BYTES);
    gpuaes_gcm_hash(&gcm, hash, NULL, BYTES);
    gpuaes_gcm_join(NULL, hash, text, 1);
    gpuaes_gcm_join(&gcm, NULL, text, 1);
    gpuaes_gcm_join(&gcm, hash, NULL, 1);
    tap_ok(!memcmp(hash, state.hash, sizeof hash), "a hash stays as it is");
    REFUSED(gpuaes_gcm(GPUAES_GCM_ENCRYPT, NULL, &state, text, out, BYTES, 0, NULL));
    REFUSED(gpuaes_gcm(GPUAES_GCM_ENCRYPT, &gcm, NULL, text, out, BYTES, 0, NULL));
    REFUSED(gpuaes_gcm(GPUAES_GCM_ENCRYPT, &gcm, &state, NULL, out, BYTES, 0, NULL));
    REFUSED(gpuaes_gcm(GPUAES_GCM_ENCRYPT, &gcm, &state, text, NULL, BYTES, 0, NULL));
    REFUSED(gpuaes_gcm_encrypt(&gcm, NULL, 0));
    REFUSED(gpuaes_gcm_decrypt(&gcm, NULL, 0));
    REFUSED(gpuaes_gcm_encrypt(NULL, &m, 0));
    REFUSED(gpuaes_gcm_encrypt(&gcm, &m, 0)); /* the additional data */
    m.aad_bytes = 0;
    RIGHT(gpuaes_gcm_encrypt(&gcm, &m, GPUAES_WAIT));
    m.tag = NULL;
    REFUSED(gpuaes_gcm_decrypt(&gcm, &m, 0));
    m.tag = tag;
    m.in = NULL;
    REFUSED(gpuaes_gcm_decrypt(&gcm, &m, 0));
    m.in = text;
    m.iv = NULL;
    REFUSED(gpuaes_gcm_decrypt(&gcm, &m, 0));
}

static void test_batch(void)
{
    struct gpuaes_batch *batch;
    struct gpuaes_message m = {
        .op = GPUAES_CTR, .schedule = &schedule, .iv = iv, .in = text, .out = out, .len = BYTES};
    REFUSED(gpuaes_batch_open(NULL));
    REFUSED(gpuaes_batch_add(NULL, &m));
    REFUSED(gpuaes_batch_submit(NULL, 0));
    REFUSED(gpuaes_batch_poll(NULL));
    REFUSED(gpuaes_batch_wait(NULL));
    REFUSED(gpuaes_batch_status(NULL, 0));
    gpuaes_batch_reset(NULL);
    gpuaes_batch_close(NULL);
    RIGHT(gpuaes_batch_open(&batch));
    REFUSED(gpuaes_batch_add(batch, NULL));
    REFUSED(gpuaes_batch_status(batch, 0)); /* it has a number */
    m.iv = NULL;
    REFUSED(gpuaes_batch_add(batch, &m));
    m.iv = iv;
    RIGHT(gpuaes_batch_add(batch, &m));
    RIGHT(gpuaes_batch_submit(batch, GPUAES_WAIT));
    RIGHT(gpuaes_batch_wait(batch));
    RIGHT(gpuaes_batch_status(batch, 2));
    gpuaes_batch_close(batch);
}

static void test_queue(void)
{
    const struct gpuaes_messages good = {.struct_bytes = sizeof good,
                                         .op = GPUAES_GCM_ENCRYPT,
                                         .key = &schedule,
                                         .in = (const void *)text,
                                         .out = (void *)text,
                                         .bytes = (const void *)text,
                                         .iv = (const void *)text,
                                         .iv_bytes = 12,
                                         .tag = (void *)text,
                                         .tag_bytes = 16,
                                         .status = (void *)text};
    struct gpuaes_messages m;
    NOTHING(gpuaes_queue_temp_bytes(NULL));
    REFUSED(gpuaes_queue(NULL, NULL, 0, NULL, 0));
    RIGHT(gpuaes_queue(&good, NULL, 0, NULL, 0)); /* no messages */
#define WITHOUT(member)                                                                            \
    m = good;                                                                                      \
    m.member = NULL;                                                                               \
    tap_ok(gpuaes_queue(&m, NULL, 0, NULL, 0) == GPUAES_BAD_ARGUMENT, "no " #member)
    WITHOUT(key);
    WITHOUT(in);
    WITHOUT(out);
    WITHOUT(bytes);
    WITHOUT(iv);
    WITHOUT(tag);
    WITHOUT(status);
#undef WITHOUT
}

static void test_random(void)
{
    struct gpuaes_random r = {
        .struct_bytes = sizeof r, .kind = GPUAES_RANDOM_BYTES, .count = BYTES};
    REFUSED(gpuaes_random_queue(NULL, out, NULL, 0));
    REFUSED(gpuaes_random_queue(&r, out, NULL, 0)); /* the key */
    r.key = key;
    REFUSED(gpuaes_random_queue(&r, NULL, NULL, 0));
    r.count = 0;
    RIGHT(gpuaes_random_queue(&r, NULL, NULL, 0));
}

static void test_stream(void)
{
    struct gpuaes_stream_binding *b;
    REFUSED(gpuaes_stream_binding_open(NULL, NULL, 0));
    RIGHT(gpuaes_stream_binding_open(&b, NULL, 0));
    REFUSED(gpuaes_stream_binding_aes(NULL, GPUAES_CTR, &schedule, iv, text, out, BYTES));
    REFUSED(gpuaes_stream_binding_aes(b, GPUAES_CTR, NULL, iv, text, out, BYTES));
    REFUSED(gpuaes_stream_binding_aes(b, GPUAES_CTR, &schedule, NULL, text, out, BYTES));
    REFUSED(gpuaes_stream_binding_aes(b, GPUAES_CTR, &schedule, iv, NULL, out, BYTES));
    REFUSED(gpuaes_stream_binding_aes(b, GPUAES_CTR, &schedule, iv, text, NULL, BYTES));
    REFUSED(gpuaes_stream_binding_gcm(NULL, GPUAES_GCM_ENCRYPT, &gcm, iv, 1, text, out, BYTES));
    REFUSED(gpuaes_stream_binding_gcm(b, GPUAES_GCM_ENCRYPT, NULL, iv, 1, text, out, BYTES));
    REFUSED(gpuaes_stream_binding_gcm(b, GPUAES_GCM_ENCRYPT, &gcm, NULL, 1, text, out, BYTES));
    REFUSED(gpuaes_stream_binding_gcm(b, GPUAES_GCM_ENCRYPT, &gcm, iv, 1, NULL, out, BYTES));
    REFUSED(gpuaes_stream_binding_wait(NULL, NULL));
    REFUSED(gpuaes_stream_binding_hash(NULL, &gcm, hash));
    REFUSED(gpuaes_stream_binding_hash(b, NULL, hash));
    REFUSED(gpuaes_stream_binding_hash(b, &gcm, NULL));
    RIGHT(gpuaes_stream_binding_wait(b, NULL));
    gpuaes_stream_binding_close(b);
    gpuaes_stream_binding_close(NULL);
}

static void test_keystream(void)
{
    struct gpuaes_keystream *k;
    REFUSED(gpuaes_keystream_open(NULL, &schedule, iv, GPUAES_ALLOCATE));
    REFUSED(gpuaes_keystream_open(&k, NULL, iv, GPUAES_ALLOCATE));
    REFUSED(gpuaes_keystream_open(&k, &schedule, NULL, GPUAES_ALLOCATE));
    NOTHING(gpuaes_keystream_xor(NULL, text, out, BYTES));
    NOTHING(gpuaes_keystream_order(NULL));
    NOTHING(gpuaes_keystream_position(NULL));
    NOTHING(gpuaes_keystream_is_open(NULL));
    gpuaes_keystream_skip(NULL, BYTES);
    gpuaes_keystream_close(NULL);
    RIGHT(gpuaes_keystream_open(&k, &schedule, iv, GPUAES_ALLOCATE));
    /* A late segment is asked for again only as the stream goes on. */
    for (; !gpuaes_keystream_order(k) && gpuaes_keystream_is_open(k); sleep_ms(1))
        gpuaes_keystream_skip(k, BYTES);
    uint64_t position = gpuaes_keystream_position(k);
    NOTHING(gpuaes_keystream_xor(k, NULL, out, BYTES));
    NOTHING(gpuaes_keystream_xor(k, text, NULL, BYTES));
    tap_ok(gpuaes_keystream_position(k) == position, "the position stays");
    tap_ok(gpuaes_keystream_xor(k, text, out, BYTES) == BYTES, "there was keystream");
    gpuaes_keystream_close(k);
}

static void test_base64(void)
{
    REFUSED(gpuaes_base64_encode(NULL, 3, out, 0, 0));
    REFUSED(gpuaes_base64_encode(text, 3, NULL, 0, 0));
    RIGHT(gpuaes_base64_encode(NULL, 0, NULL, 0, 0));
    REFUSED(gpuaes_base64_decode(NULL, 4, out, 0, NULL));
    REFUSED(gpuaes_base64_decode(text, 4, NULL, 0, NULL));
    tap_ok(gpuaes_base64_decode("????", 4, out, GPUAES_WAIT, NULL) == GPUAES_BAD_INPUT,
           "the place of wrong text need not be asked for");
}

int main(void)
{
    tap_ok(starts_with(NULL), "the device starts");
    test_process();
    test_keys();
    test_memory();
    test_aes();
    test_gcm();
    test_batch();
    test_queue();
    test_random();
    test_stream();
    test_keystream();
    test_base64();
    return tap_done();
}
