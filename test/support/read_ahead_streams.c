/*
 * Streams that are read ahead of.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/read_ahead_streams.h"

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
    if (test_providers.gpuaes && !OSSL_PROVIDER_get_params(test_providers.gpuaes, params))
        fprintf(stderr, "# the provider does not give its figures\n");
    return a;
}

/* ---- The device --------------------------------------------------------------- */

uint64_t devices_in_use(void)
{
    return figure("devices");
}

/* Whether a new context, which asks for a device, could be had. */
static int ask_for_device(void)
{
    static const unsigned char nothing[32];
    EVP_CIPHER_CTX *context = context_open(1, "AES-256-CTR", nothing, nothing, 1, NULL);
    int ok = context != NULL;
    EVP_CIPHER_CTX_free(context);
    return ok;
}

int ahead_start(long most_ms)
{
    /* A request that comes while a device is being released starts none: so it is made again. */
    for (long i = 0; i < most_ms; i++) {
        if (i % 100 == 0 && !ask_for_device())
            return 0;
        if (stand_in() || devices_in_use())
            return 1;
        sleep_ms(1);
    }
    return 0;
}

int ahead_begin(void)
{
    setenv("GPUAES_MIN_BYTES", "1G", 0);
    setenv("GPUAES_START", "eager", 0);
    test_providers = providers_load();
    if (ahead_start(60000))
        return 1;
    fprintf(stderr, "# the device does not start\n");
    return 0;
}

/* ---- Pace --------------------------------------------------------------------- */

void slow_down(void)
{
    if (pace_ms < SLOWEST_MS)
        pace_ms += pace_ms / 2;
}

void keep_pace(const struct ahead *before, const struct ahead *now, int *underruns)
{
    if (now->underruns != before->underruns) {
        sleep_ms(3 * pace_ms);
        if (++*underruns > 2)
            slow_down();
    } else if (now->bytes != before->bytes) {
        *underruns = 0;
        sleep_ms(pace_ms * (long)(1 + (now->bytes - before->bytes) / (256 * KIB)));
    }
}

int stream_served_by(struct stream *s, size_t more, const struct call *call)
{
    struct ahead begun = ahead_get(), before = begun, now = begun;
    time_t end = time(NULL) + (sanitized() ? LIMIT_SANITIZED : LIMIT_SECONDS);
    int right = 1, underruns = 0;
    if (s->run < BEGINS_AFTER)
        right = stream_hurry(s, BEGINS_AFTER - s->run, PACED);
    if (stand_in())
        return right && stream_hurry(s, more, call->length);
    while (right && now.bytes < begun.bytes + more && time(NULL) < end) {
        right = stream_call(s, call);
        before = now;
        now = ahead_get();
        keep_pace(&before, &now, &underruns);
    }
    if (right && now.bytes < begun.bytes + more)
        fprintf(stderr, "# %llu bytes were served after %zu of the stream, not %zu\n",
                (unsigned long long)(now.bytes - begun.bytes), s->run, more);
    return right && now.bytes >= begun.bytes + more;
}

int stream_served(struct stream *s, size_t more)
{
    return stream_served_by(s, more, &(struct call){UPDATE, PACED, .out_of_place = 1});
}

int stream_begin(struct stream *s, struct memory *memory, const char *name)
{
    *s = stream_open(memory, name, usual_key, usual_iv);
    return stream_served(s, 1);
}
