/*
 * Data units on the device and on the CPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/xts/data_unit.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>

#include "provider/common/big_stack.h"
#include "provider/policy/calibration.h"

/* It takes no device to do updates of fewer bytes, and no figures. */
enum { COUNTED = 1024 };

/* The default provider refuses a longer data unit: IEEE Std 1619 section 5.1. */
enum { LONGEST = 16 << 20 };

struct unit {
    const unsigned char *in;
    unsigned char *out;
    size_t bytes, tail; /* of these, so many at the end are the CPU's */
};

static enum policy_work work_of(const struct xts_context *c)
{
    return c->encrypting ? WORK_XTS_ENCRYPT : WORK_XTS_DECRYPT;
}

void xts_set_thresholds(struct xts_context *c)
{
    size_t floor = policy_floor(c->provider, work_of(c), c->cipher->key_bytes);
    c->small = policy_is_forced(c->provider) ? 0 : COUNTED;
    c->large = floor == SIZE_MAX ? MEASURE_FLOOR : floor; /* a device may come yet */
    c->reason_if_small = floor == SIZE_MAX ? CPU_NO_DEVICE : CPU_SMALL;
    c->stays_on_cpu = 0;
}

/* ---- Totals ----------------------------------------------------------------------- */

/* Large units are handed over at once: they take much longer than that. */
static void count(struct xts_context *c, enum cpu_reason why, size_t bytes)
{
    (void)totals_forget(&c->totals);
    c->totals.cpu_bytes[why] += bytes;
    if (bytes >= MEASURE_FLOOR)
        totals_flush(&c->totals);
}

/* ---- The CPU, from any block on ------------------------------------------------------ */

/* Encrypts or decrypts a tweak by the second half of the key. */
static int run_tweak(const struct xts_context *c, int encrypt, const unsigned char in[GPUAES_BLOCK],
                     unsigned char out[GPUAES_BLOCK])
{
    const struct cpu_cipher *ecb = &c->cipher->helper;
    OSSL_FUNC_cipher_encrypt_init_fn *init = encrypt ? ecb->encrypt_init : ecb->decrypt_init;
    size_t written;
    void *context = ecb->newctx(c->provider->cpu.context);
    int ok = context != NULL && init(context, c->key[1], c->cipher->key_bytes, NULL, 0, NULL) &&
             ecb->cipher(context, out, &written, GPUAES_BLOCK, in, GPUAES_BLOCK);
    if (context != NULL)
        ecb->freectx(context);
    return ok;
}

/* The tweak of the whole unit, encrypted. */
static int find_tweak(const struct xts_context *c, unsigned char tweak[GPUAES_BLOCK])
{
    void *iv = NULL;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_UPDATED_IV, &iv, GPUAES_BLOCK),
        OSSL_PARAM_construct_end()};
    return c->cipher->cpu.get_ctx_params(c->cpu, params) && iv != NULL &&
           run_tweak(c, 1, iv, tweak);
}

/* A part of a unit whose first block has that tweak. */
static int on_cpu(const struct xts_context *c, const unsigned char tweak[GPUAES_BLOCK],
                  const unsigned char *in, unsigned char *out, size_t bytes)
{
    const struct cpu_cipher *cpu = &c->cipher->cpu;
    OSSL_FUNC_cipher_encrypt_init_fn *init = c->encrypting ? cpu->encrypt_init : cpu->decrypt_init;
    unsigned char iv[GPUAES_BLOCK];
    size_t written = 0;
    void *context = cpu->dupctx(c->cpu);
    int ok = context != NULL && run_tweak(c, 0, tweak, iv) &&
             init(context, NULL, 0, iv, sizeof iv, NULL) &&
             cpu->cipher(context, out, &written, bytes, in, bytes) && written == bytes;
    if (context != NULL)
        cpu->freectx(context);
    OPENSSL_cleanse(iv, sizeof iv);
    return ok;
}

/* The same where one side or both are device memory. */
static int on_cpu_bounced(const struct xts_context *c, const unsigned char tweak[GPUAES_BLOCK],
                          const unsigned char *in, unsigned char *out, size_t bytes)
{
    unsigned char *host = OPENSSL_malloc(bytes);
    int ok = host != NULL && device_copy(c->provider, host, in, bytes) &&
             on_cpu(c, tweak, host, host, bytes) && device_copy(c->provider, out, host, bytes);
    OPENSSL_clear_free(host, bytes);
    return ok;
}

/* What the device has left of each shard, and with the last one the tail. */
static int finish(const struct xts_context *c, const struct unit *u, const struct work *work,
                  const struct gpuaes_report *report)
{
    int is_bounced = work->in_kind == GPUAES_DEVICE || work->out_kind == GPUAES_DEVICE;
    for (unsigned i = 0; i < report->shards; i++) {
        const struct gpuaes_shard *shard = &report->shard[i];
        size_t at = shard->at + shard->done, left = shard->bytes - shard->done;
        if (i + 1 == report->shards)
            left += u->tail;
        if (left != 0 &&
            !(is_bounced ? on_cpu_bounced : on_cpu)(c, shard->iv, u->in + at, u->out + at, left))
            return 0;
    }
    return 1;
}

/* ---- The device ------------------------------------------------------------------------- */

static const struct gpuaes_key *find_schedule(struct xts_context *c)
{
    if (!c->expanded && !gpuaes_key_expand(&c->schedule, c->key[0], c->cipher->key_bytes))
        return NULL;
    c->expanded = 1;
    return &c->schedule;
}

static int on_device(struct xts_context *c, const struct unit *u, const struct work *work,
                     unsigned flags)
{
    unsigned char tweak[GPUAES_BLOCK];
    struct gpuaes_report report;
    if (!find_tweak(c, tweak))
        return 0;
    struct device_call call = {.op = (enum gpuaes_op)work->kind,
                               .key = find_schedule(c),
                               .iv = tweak,
                               .in = u->in,
                               .out = u->out,
                               .len = u->bytes - u->tail,
                               .flags = flags,
                               .report = &report};
    report.shards = 0;
    count(c, CPU_SMALL, u->tail);
    enum gpuaes_status status = run_on_big_stack(device_aes, &call, flags);
    int ok = device_judge(c->provider, &c->totals, work, &call, status) != REFUSED &&
             finish(c, u, work, &report);
    totals_flush(&c->totals);
    OPENSSL_cleanse(tweak, sizeof tweak);
    OPENSSL_cleanse(&report, sizeof report);
    return ok;
}

/* ---- The choice --------------------------------------------------------------------------- */

/*
 * Turning the direction without giving the key again leaves the default provider with the schedule
 * of the other one: what it makes of it is its own.
 */
static int is_eligible(const struct xts_context *c)
{
    return c->has_key && c->has_iv && c->encrypting == c->key_encrypting;
}

/*
 * Sets the tail: from the last whole block on, if there is a part of one. Returns 0 if the default
 * provider would refuse the unit, or if its result depends on how the buffers overlap.
 */
static int is_suited(struct unit *u, size_t outsize)
{
    uintptr_t in = (uintptr_t)u->in, out = (uintptr_t)u->out;
    size_t part = u->bytes % GPUAES_BLOCK;
    u->tail = part == 0 ? 0 : part + GPUAES_BLOCK;
    return u->in != NULL && u->out != NULL && u->bytes >= GPUAES_BLOCK && u->bytes <= LONGEST &&
           outsize >= u->bytes && (in == out || in + u->bytes <= out || out + u->bytes <= in);
}

/* Asks the policy, or remembers what it said. */
static enum policy_choice choose(struct xts_context *c, struct work *work)
{
    c->unasked += work->len;
    if (c->stays_on_cpu && c->unasked < POLICY_ASK_AGAIN && !policy_is_forced(c->provider)) {
        work->why = CPU_FASTER;
        return CHOICE_CPU;
    }
    enum policy_choice choice = policy_choose(c->provider, work);
    c->stays_on_cpu = choice == CHOICE_CPU && work->why == CPU_FASTER;
    c->unasked = 0;
    return choice;
}

/* `why`: what the CPU's bytes are counted as. */
static int by_cpu(struct xts_context *c, OSSL_FUNC_cipher_update_fn *function, unsigned char *out,
                  size_t *out_bytes, size_t outsize, const unsigned char *in, size_t in_bytes,
                  enum cpu_reason why)
{
    int ok = function(c->cpu, out, out_bytes, outsize, in, in_bytes);
    if (ok)
        count(c, why, in_bytes);
    return ok;
}

/* By itself: smaller updates would get its stack frame. */
__attribute__((noinline)) static int
large_unit(struct xts_context *c, OSSL_FUNC_cipher_update_fn *function, unsigned char *out,
           size_t *out_bytes, size_t outsize, const unsigned char *in, size_t in_bytes)
{
    struct work work = {.kind = work_of(c),
                        .key_bytes = c->cipher->key_bytes,
                        .in = in,
                        .out = out,
                        .len = in_bytes,
                        .out_len = in_bytes,
                        .why = CPU_UNSUITED};
    struct unit unit = {.in = in, .out = out, .bytes = in_bytes};
    enum policy_choice choice =
        is_eligible(c) && is_suited(&unit, outsize) ? choose(c, &work) : CHOICE_CPU;
    if (choice == CHOICE_FAIL)
        return 0;
    if (choice == CHOICE_CPU) {
        int ok = by_cpu(c, function, out, out_bytes, outsize, in, in_bytes, work.why);
        if (ok)
            policy_done(&work, MODEL_CPU);
        return ok;
    }
    unsigned flags = choice == CHOICE_GPU_ONLY ? GPUAES_WAIT : policy_flags(c->provider);
    if (!on_device(c, &unit, &work, flags))
        return 0;
    *out_bytes = in_bytes;
    return 1;
}

int xts_unit(struct xts_context *c, OSSL_FUNC_cipher_update_fn *function, unsigned char *out,
             size_t *out_bytes, size_t outsize, const unsigned char *in, size_t in_bytes)
{
    if (in_bytes < c->large)
        return by_cpu(c, function, out, out_bytes, outsize, in, in_bytes, c->reason_if_small);
    return large_unit(c, function, out, out_bytes, outsize, in, in_bytes);
}
