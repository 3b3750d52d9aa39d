/*
 * CTR streams, ours compared with the default provider's.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/read_ahead_streams.h"

const unsigned char usual_key[32] = "the key of a stream that goes on",
                    usual_iv[BLOCK] = "where it begins", other_iv[BLOCK] = "and another IV.";

/* What the device is given for each 256 KiB; more, once that has been too little. */
static _Atomic long pace_ms = 10;

/* ---- What the provider says of itself ----------------------------------------- */

struct ahead ahead_get(void)
{
    struct ahead a = {0};
    OSSL_PARAM params[] = {OSSL_PARAM_uint64("read-ahead-bytes", &a.bytes),
                           OSSL_PARAM_uint64("underruns", &a.underruns),
                           OSSL_PARAM_uint64("faults", &a.faults),
                           OSSL_PARAM_uint64("launches", &a.launches),
                           OSSL_PARAM_uint64("gpu-bytes", &a.gpu),
                           OSSL_PARAM_uint64("cpu-bytes", &a.cpu),
                           OSSL_PARAM_uint64("pinned-bytes", &a.pinned),
                           OSSL_PARAM_uint64("pinned-peak", &a.pinned_peak),
                           OSSL_PARAM_END};
    if (providers.gpuaes && !OSSL_PROVIDER_get_params(providers.gpuaes, params))
        fprintf(stderr, "# the provider does not give its figures\n");
    return a;
}

/* ---- The device --------------------------------------------------------------- */

uint64_t devices_in_use(void)
{
    return figure("devices");
}

int ahead_start(long most_ms)
{
    static const unsigned char nothing[32];
    EVP_CIPHER_CTX *context = context_open(1, "AES-256-CTR", nothing, nothing, 1, NULL);
    int ok = context != NULL;
    EVP_CIPHER_CTX_free(context);
    if (!ok || stand_in())
        return ok;
    for (long i = 0; !devices_in_use() && i < most_ms; i++)
        sleep_ms(1);
    return devices_in_use() != 0;
}

int ahead_begin(void)
{
    setenv("GPUAES_MIN_BYTES", "1G", 0);
    setenv("GPUAES_START", "eager", 0);
    providers = providers_load();
    if (ahead_start(60000))
        return 1;
    fprintf(stderr, "# the device does not start\n");
    return 0;
}

/* ---- Streams ------------------------------------------------------------------ */

struct memory *memory_new(uint64_t seed)
{
    struct memory *m = malloc(sizeof *m);
    struct tap_random random = {seed | 1};
    if (m == NULL)
        abort();
    tap_random_bytes(&random, m->text, sizeof m->text);
    return m;
}

int stream_init(struct stream *s, const unsigned char *key, const unsigned char *iv, int encrypt)
{
    int result[SIDES];
    for (int i = 0; i < SIDES; i++)
        result[i] = EVP_CipherInit_ex2(s->side[i], NULL, key, iv, encrypt, NULL);
    s->run = 0;
    return result[OURS] == result[REFERENCE];
}

void stream_close(struct stream *s)
{
    for (int i = 0; i < SIDES; i++) {
        EVP_CIPHER_CTX_free(s->side[i]);
        s->side[i] = NULL;
    }
}

struct stream stream_open(struct memory *memory, const char *name, const unsigned char *key,
                          const unsigned char *iv)
{
    struct stream s = {.memory = memory};
    for (int i = 0; i < SIDES; i++)
        if ((s.side[i] = context_open(i == OURS, name, key, iv, 1, NULL)) == NULL)
            ERR_print_errors_fp(stderr);
    return s;
}

int stream_copy(struct stream *to, const struct stream *from)
{
    int ok = 1;
    for (int i = 0; i < SIDES; i++) {
        if (to->side[i] == NULL)
            to->side[i] = EVP_CIPHER_CTX_new();
        ok &= EVP_CIPHER_CTX_copy(to->side[i], from->side[i]);
    }
    to->memory = from->memory;
    to->run = 0;
    return ok;
}

int stream_set(struct stream *s, const OSSL_PARAM *params)
{
    int result[SIDES];
    for (int i = 0; i < SIDES; i++)
        result[i] = EVP_CIPHER_CTX_set_params(s->side[i], params);
    ERR_clear_error();
    s->run = 0;
    return result[OURS] == result[REFERENCE];
}

int stream_final(struct stream *s)
{
    unsigned char out[BLOCK];
    int n[SIDES] = {-1, -1}, result[SIDES];
    for (int i = 0; i < SIDES; i++)
        result[i] = EVP_CipherFinal_ex(s->side[i], out, &n[i]);
    ERR_clear_error();
    return result[OURS] == result[REFERENCE] && n[OURS] == n[REFERENCE];
}

int stream_agrees(const struct stream *s)
{
    unsigned char iv[SIDES][BLOCK] = {{0}}, updated[SIDES][BLOCK] = {{0}};
    unsigned num[SIDES] = {99, 99};
    int result[SIDES];
    for (int i = 0; i < SIDES; i++) {
        OSSL_PARAM params[] = {
            OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, iv[i], BLOCK),
            OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, updated[i], BLOCK),
            OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, &num[i]), OSSL_PARAM_END};
        result[i] = EVP_CIPHER_CTX_get_params(s->side[i], params);
    }
    ERR_clear_error(); /* 3.5 leaves one where an IV is asked for as a string */
    int same = result[OURS] == result[REFERENCE] && num[OURS] == num[REFERENCE] &&
               !memcmp(iv[OURS], iv[REFERENCE], BLOCK) &&
               !memcmp(updated[OURS], updated[REFERENCE], BLOCK);
    if (!same)
        fprintf(stderr, "# results %d/%d, num %u/%u, iv %s, updated-iv %s (ours/default's)\n",
                result[OURS], result[REFERENCE], num[OURS], num[REFERENCE],
                memcmp(iv[OURS], iv[REFERENCE], BLOCK) ? "differs" : "same",
                memcmp(updated[OURS], updated[REFERENCE], BLOCK) ? "differs" : "same");
    return same;
}

/* ---- Data --------------------------------------------------------------------- */

static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t length)
{
    size_t i = 0;
    while (i < length && a[i] == b[i])
        i++;
    return i;
}

int same_memory(struct memory *m, const struct call *call)
{
    size_t around = call->length + 2 * EDGE;
    if (!memcmp(m->out[OURS], m->out[REFERENCE], around) &&
        !memcmp(m->in[OURS], m->in[REFERENCE], around))
        return 1;
    fprintf(stderr, "# %s of %zu bytes, %s%d: byte %zd of the output, %zd of the input differ\n",
            call->way == UPDATE ? "update" : "one-shot call", call->length,
            call->apart ? "apart " : "at distance ", call->distance,
            (ssize_t)first_difference(m->out[OURS], m->out[REFERENCE], around) - EDGE,
            (ssize_t)first_difference(m->in[OURS], m->in[REFERENCE], around) - EDGE);
    return 0;
}

int stream_call(struct stream *s, const struct call *call)
{
    struct memory *m = s->memory;
    size_t around = call->length + 2 * EDGE;
    int result[SIDES], written[SIDES] = {-1, -1};
    unsigned long error[SIDES];
    for (int i = 0; i < SIDES; i++) {
        unsigned char *in = m->in[i] + EDGE + call->in_at;
        unsigned char *out = call->apart ? m->out[i] + EDGE + call->out_at : in + call->distance;
        memcpy(m->in[i], m->text, around);
        memset(m->out[i], 0xa5, around);
        result[i] = call->way == ONE_SHOT
                        ? EVP_Cipher(s->side[i], out, in, (unsigned)call->length)
                        : EVP_CipherUpdate(s->side[i], out, &written[i], in, (int)call->length);
        error[i] = first_error();
    }
    s->run += call->length;
    if (result[OURS] == result[REFERENCE] && written[OURS] == written[REFERENCE] &&
        error[OURS] == error[REFERENCE])
        return same_memory(m, call);
    fprintf(stderr, "# result %d/%d, written %d/%d, first error %lx/%lx (ours/default's)\n",
            result[OURS], result[REFERENCE], written[OURS], written[REFERENCE], error[OURS],
            error[REFERENCE]);
    return 0;
}

int stream_update(struct stream *s, size_t length)
{
    return stream_call(s, &(struct call){UPDATE, length, .apart = 1});
}

int stream_hurry(struct stream *s, size_t length, size_t piece)
{
    int right = 1;
    for (; right && length; length -= piece) {
        piece = piece < length ? piece : length;
        right = stream_update(s, piece);
    }
    return right;
}

/* ---- Pace --------------------------------------------------------------------- */

void slow_down(void)
{
    if (pace_ms < SLOWEST_MS)
        pace_ms += pace_ms / 2;
}

void keep_pace(const struct ahead *before, const struct ahead *now, int *lates)
{
    if (now->underruns != before->underruns) {
        sleep_ms(3 * pace_ms);
        if (++*lates > 2)
            slow_down();
    } else if (now->bytes != before->bytes) {
        *lates = 0;
        sleep_ms(pace_ms * (long)(1 + (now->bytes - before->bytes) / (256 * KIB)));
    }
}

int stream_served_by(struct stream *s, size_t more, const struct call *call)
{
    struct ahead begun = ahead_get(), before = begun, now = begun;
    time_t end = time(NULL) + (sanitized() ? LIMIT_SANITIZED : LIMIT_SECONDS);
    int right = 1, lates = 0;
    if (s->run < BEGINS_AFTER)
        right = stream_hurry(s, BEGINS_AFTER - s->run, PACED);
    if (stand_in())
        return right && stream_hurry(s, more, call->length);
    while (right && now.bytes < begun.bytes + more && time(NULL) < end) {
        right = stream_call(s, call);
        before = now;
        now = ahead_get();
        keep_pace(&before, &now, &lates);
    }
    if (right && now.bytes < begun.bytes + more)
        fprintf(stderr, "# %llu bytes were served after %zu of the stream, not %zu\n",
                (unsigned long long)(now.bytes - begun.bytes), s->run, more);
    return right && now.bytes >= begun.bytes + more;
}

int stream_served(struct stream *s, size_t more)
{
    return stream_served_by(s, more, &(struct call){UPDATE, PACED, .apart = 1});
}

int stream_begin(struct stream *s, struct memory *memory, const char *name)
{
    *s = stream_open(memory, name, usual_key, usual_iv);
    return stream_served(s, 1);
}
