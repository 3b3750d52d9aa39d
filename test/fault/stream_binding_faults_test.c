/*
 * Bindings to streams of the application while devices are lost and memory is short, on the
 * emulator: the hash of a message of GCM stays in no pinned memory that nobody can reach any more,
 * and no device is given up for want of memory before anything is queued.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/aes/stream_binding.h"
#include "test/support/library.h"

enum { BYTES = 64 << 10 };

static const unsigned char raw_key[16] = "sixteen bytes...", counter[GPUAES_BLOCK] = {[15] = 2};

static struct gpuaes_gcm_key key;
static struct gpuaes_stream_binding *binding;
static unsigned char *text;       /* pinned */
static const unsigned char *sums; /* of the binding: its hash is made of them */
static size_t sums_bytes;

static enum gpuaes_status queue(int begins)
{
    return gpuaes_stream_binding_gcm(binding, GPUAES_GCM_ENCRYPT, &key, counter, begins, text, text,
                                     BYTES);
}

static int hash_is_left(void)
{
    for (size_t i = 0; i < sums_bytes; i++)
        if (sums[i] != 0)
            return 1;
    return 0;
}

static int opens(void)
{
    drv_stream stream;
    become_an_application(0);
    if (!starts_with(NULL) || application.stream_create(&stream, DRV_STREAM_NON_BLOCKING) != 0 ||
        gpuaes_stream_binding_open(&binding, stream, 0) != GPUAES_OK)
        return 0;
    text = gpuaes_pinned_alloc(BYTES);
    return text != NULL && gpuaes_gcm_key_expand(&key, raw_key, sizeof raw_key);
}

static int opens_with_hash(void)
{
    if (!opens() || queue(1) != GPUAES_OK || !COMES(emulator_under_way() == 0))
        return 0;
    sums = binding->gcm_sums.host;
    sums_bytes = kernels_gcm_sums_bytes(&binding->device->kernels);
    return hash_is_left();
}

/* By another call than the binding's. */
static int loses_device(void)
{
    unsigned char iv[GPUAES_BLOCK] = {0}, other[4096] = {0};
    emulator_configure("fault=launch_kernel:1");
    enum gpuaes_status status =
        gpuaes_aes(GPUAES_CTR, &key.schedule, iv, other, other, sizeof other, 0, NULL);
    emulator_configure(NULL);
    return status == GPUAES_FAULT && gpuaes_state() == GPUAES_FAILED;
}

/* ---- The hash, once the only device is lost: 1 if all is right ----------------------------------
 */

static int close_cleanses(void)
{
    if (!opens_with_hash() || !loses_device())
        return 0;
    gpuaes_stream_binding_close(binding);
    return !hash_is_left();
}

static int asking_cleanses(void)
{
    unsigned char hash[GPUAES_BLOCK] = {0};
    return opens_with_hash() && loses_device() &&
           gpuaes_stream_binding_hash(binding, &key, hash) == GPUAES_FAULT && !hash_is_left();
}

static int other_message_cleanses(void)
{
    return opens_with_hash() && loses_device() && queue(1) == GPUAES_NOT_READY && !hash_is_left();
}

static int own_fault_cleanses(void)
{
    if (!opens_with_hash())
        return 0;
    emulator_configure("fault=launch_kernel:1");
    return queue(0) == GPUAES_FAULT && gpuaes_state() == GPUAES_FAILED && !hash_is_left();
}

/* It shares the pinned memory of its parent. */
static int forked_child_leaves_it(void)
{
    unsigned char hash[GPUAES_BLOCK] = {0}, expected[GPUAES_BLOCK] = {0};
    int status = 1;
    emulator_configure("fork=shared");
    if (!opens_with_hash())
        return 0;
    pid_t child = fork();
    if (child == 0) {
        (void)gpuaes_stream_binding_hash(binding, &key, hash);
        gpuaes_stream_binding_close(binding);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        return 0;
    gpuaes_gcm_hash(&key, expected, text, BYTES);
    return gpuaes_stream_binding_hash(binding, &key, hash) == GPUAES_OK &&
           memcmp(hash, expected, sizeof hash) == 0;
}

/* ---- Want of memory: 1 if all is right ----------------------------------------------------------
 */

static const char *const no_event = "fault=event_create:1:2";

/* The call is refused while `fault` is in force, and can be repeated. */
#define IS_REPEATED(fault, call)                                                                   \
    __extension__({                                                                                \
        emulator_configure(fault);                                                                 \
        enum gpuaes_status refused_ = (call);                                                      \
        emulator_configure(NULL);                                                                  \
        refused_ == GPUAES_NO_MEMORY &&gpuaes_state() == GPUAES_READY && (call) == GPUAES_OK;      \
    })

static int aes_is_repeated(void)
{
    unsigned char iv[GPUAES_BLOCK] = {0}, expected[BYTES];
    if (!opens())
        return 0;
    memset(text, 0, BYTES);
    memset(expected, 0, BYTES);
    reference(GPUAES_CTR, raw_key, sizeof raw_key, iv, expected, expected, BYTES);
    return IS_REPEATED(no_event,
                       gpuaes_stream_binding_aes(binding, GPUAES_CTR, &key.schedule,
                                                 (unsigned char[16]){0}, text, text, BYTES)) &&
           IS_REPEATED(no_event, gpuaes_stream_binding_wait(binding, NULL)) &&
           memcmp(text, expected, BYTES) == 0;
}

static int gcm_is_repeated(void)
{
    unsigned char hash[GPUAES_BLOCK] = {0}, expected[GPUAES_BLOCK] = {0};
    if (!opens_with_hash())
        return 0;
    gpuaes_gcm_hash(&key, expected, text, BYTES);
    int right = IS_REPEATED(no_event, queue(0)) && COMES(emulator_under_way() == 0);
    gpuaes_gcm_hash(&key, expected, text, BYTES);
    return right && IS_REPEATED(no_event, gpuaes_stream_binding_hash(binding, &key, hash)) &&
           memcmp(hash, expected, sizeof hash) == 0;
}

static int other_message_is_repeated(void)
{
    return opens_with_hash() && IS_REPEATED(no_event, queue(1));
}

/* What could not be overwritten is given to nobody. */
static int closes(const char *fault)
{
    if (!opens_with_hash())
        return 0;
    const drv_stream stream = binding->stream;
    const drv_ptr powers = binding->gcm_memory.address;
    emulator_configure(fault);
    gpuaes_stream_binding_close(binding);
    emulator_configure(NULL);
    return gpuaes_state() == GPUAES_READY && !hash_is_left() &&
           gpuaes_stream_binding_open(&binding, stream, 0) == GPUAES_OK && queue(1) == GPUAES_OK &&
           (binding->gcm_memory.address != powers) == (fault != NULL);
}

static int closes_as_usual(void)
{
    return closes(NULL);
}

static int closes_without_stream(void)
{
    return closes("fault=stream_create:1:2");
}

static int closes_without_wiping(void)
{
    return closes("fault=memset_d8_async:1:2");
}

int main(void)
{
    static const struct child_case cases[] = {
        {"the hash is overwritten when the binding is closed", close_cleanses},
        {"the hash is overwritten when it is asked for", asking_cleanses},
        {"the hash is overwritten when another message begins", other_message_cleanses},
        {"the hash is overwritten when a launch of its message fails", own_fault_cleanses},
        {"a forked child leaves the hash to its parent", forked_child_leaves_it},
        {"AES and a wait without memory for events can be repeated", aes_is_repeated},
        {"GCM and its hash without memory for events can be repeated", gcm_is_repeated},
        {"so can another message", other_message_is_repeated},
        {"what a binding was closed with is for others", closes_as_usual},
        {"but not powers that no stream could be made for", closes_without_stream},
        {"nor powers that the driver had no memory to overwrite", closes_without_wiping}};
    children_ok(cases, sizeof cases / sizeof cases[0]);
    return tap_done();
}
