/*
 * Whole messages of GCM, NIST SP 800-38D section 7.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "cuda/aes/aes.h"
#include "cuda/process/cleanse.h"
#include "cuda/transfer/transfer.h"

enum { ZEROS = 1 << 20 };

static int is_bad(const struct gpuaes_gcm_key *key, const struct gpuaes_gcm_message *m)
{
    if (key == NULL || m == NULL || !key_size_is_valid(key_size_of(key->schedule.rounds)))
        return 1;
    if (m->iv == NULL || m->iv_bytes == 0 || (m->aad == NULL && m->aad_bytes != 0))
        return 1;
    if (m->len > GCM_TEXT_MOST || (m->len != 0 && (m->in == NULL || m->out == NULL)) ||
        (m->in != m->out && memory_overlap(m->in, m->len, m->out, m->len)))
        return 1;
    return m->tag == NULL || !gcm_tag_size_is_valid(m->tag_bytes);
}

/*
 * What of a tag does not depend on the text, which the CPU makes while a device works on that: the
 * tag is mask + (frame_hash + hash of the ciphertext by itself) H.
 */
struct frame {
    const struct gpuaes_gcm_key *key;
    const struct gpuaes_gcm_message *message;
    unsigned char first[GPUAES_BLOCK]; /* J0 */
    unsigned char mask[GPUAES_BLOCK];
    unsigned char frame_hash[GPUAES_BLOCK]; /* additional data and lengths, each in its place */
    int is_made;
};

static void make_frame(void *arg)
{
    struct frame *f = arg;
    const struct gpuaes_gcm_message *m = f->message;
    unsigned char lengths[GPUAES_BLOCK];
    if (f->is_made)
        return;
    aes_encrypt_block(&f->key->schedule, f->first, f->mask);
    memset(f->frame_hash, 0, sizeof f->frame_hash);
    gpuaes_gcm_hash(f->key, f->frame_hash, m->aad, m->aad_bytes);
    gcm_write_lengths(lengths, m->aad_bytes, m->len);
    gpuaes_gcm_join(f->key, f->frame_hash, lengths, (m->len + GPUAES_BLOCK - 1) / GPUAES_BLOCK);
    f->is_made = 1;
}

/* The text, and the tag that belongs to it. */
static enum gpuaes_status run(enum gpuaes_op op, const struct gpuaes_gcm_key *key,
                              const struct gpuaes_gcm_message *m, unsigned flags,
                              unsigned char tag[GPUAES_BLOCK])
{
    struct frame frame = {.key = key, .message = m};
    struct job job;
    struct gpuaes_report report;
    unsigned char counter[GPUAES_BLOCK], hash[GPUAES_BLOCK];
    enum gpuaes_status status = GPUAES_OK;
    gcm_first_counter(gpuaes_gcm_hash, key, m->iv, m->iv_bytes, frame.first);
    memcpy(counter, frame.first, sizeof counter);
    gpuaes_modes[op]->advance(counter, 1, NULL);
    job_report_nothing(&report, m->len, counter);
    if (m->len != 0) {
        gcm_set_job(&job, op, key, counter, m->in, m->out, m->len, flags);
        job.meanwhile = make_frame;
        job.meanwhile_arg = &frame;
        status = job_run(&job, &report);
    }
    if (status == GPUAES_OK) {
        make_frame(&frame); /* of a message without text */
        gcm_hash_of(key, &report, hash);
        gpuaes_gcm_hash(key, hash, frame.frame_hash, sizeof frame.frame_hash);
        for (int i = 0; i < GPUAES_BLOCK; i++)
            tag[i] = hash[i] ^ frame.mask[i];
        gpuaes_cleanse(hash, sizeof hash);
    }
    cleanse_stack();
    gpuaes_cleanse(report.shard, report.shards * sizeof *report.shard);
    gpuaes_cleanse(&frame, sizeof frame);
    return status;
}

/* Overwrites memory of any kind. */
static enum gpuaes_status clear(unsigned char *p, size_t len)
{
    enum gpuaes_status status = GPUAES_OK;
    if (gpuaes_memory_kind(p, len) < GPUAES_DEVICE) {
        memset(p, 0, len);
        return status;
    }
    void *zeros = calloc(1, ZEROS);
    if (zeros == NULL)
        return GPUAES_NO_MEMORY;
    for (size_t at = 0; at < len && status == GPUAES_OK; at += ZEROS)
        status = gpuaes_copy(p + at, zeros, min_u64(len - at, ZEROS));
    free(zeros);
    return status;
}

enum gpuaes_status gpuaes_gcm_encrypt(const struct gpuaes_gcm_key *key,
                                      const struct gpuaes_gcm_message *message, unsigned flags)
{
    unsigned char tag[GPUAES_BLOCK];
    if (is_bad(key, message))
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = run(GPUAES_GCM_ENCRYPT, key, message, flags, tag);
    if (status == GPUAES_OK)
        memcpy(message->tag, tag, message->tag_bytes);
    gpuaes_cleanse(tag, sizeof tag);
    return status;
}

enum gpuaes_status gpuaes_gcm_decrypt(const struct gpuaes_gcm_key *key,
                                      const struct gpuaes_gcm_message *message, unsigned flags)
{
    unsigned char tag[GPUAES_BLOCK], differ = 0;
    if (is_bad(key, message))
        return GPUAES_BAD_ARGUMENT;
    enum gpuaes_status status = run(GPUAES_GCM_DECRYPT, key, message, flags, tag);
    if (status != GPUAES_OK)
        return status;
    for (size_t i = 0; i < message->tag_bytes; i++)
        differ |= tag[i] ^ message->tag[i];
    gpuaes_cleanse(tag, sizeof tag);
    if (differ == 0)
        return status;
    status = message->len == 0 ? GPUAES_OK : clear(message->out, message->len);
    return status == GPUAES_OK ? GPUAES_BAD_TAG : status;
}
