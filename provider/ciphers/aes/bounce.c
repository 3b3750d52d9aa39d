/*
 * Through host buffers.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "provider/ciphers/aes/bounce.h"

#include <openssl/crypto.h>
#include <string.h>

#include "base/minmax.h"
#include "provider/common/errors.h"
#include "provider/common/offload.h"

/* Bulk goes in pieces, a multiple of the block. */
enum { PIECE = 256 << 10, SLACK = 2 * GPUAES_BLOCK };

/* An overlap of which pieces would make something else than one call does. */
static int needs_image(const struct call *call)
{
    uintptr_t in = (uintptr_t)call->in, out = (uintptr_t)call->out;
    uintptr_t out_bytes = call->in_bytes + call->held;
    if (out + out_bytes <= in || in + call->in_bytes <= out)
        return 0;
    /* Output that does not run ahead of the input finds it read already. */
    return out + call->held > in;
}

static int copy(const struct aes_context *c, void *to, const void *from, size_t len)
{
    struct offload o = {.call = OFFLOAD_COPY, .restarts = 1, .in = from, .out = to, .bytes = len};
    enum gpuaes_status status = len == 0 ? GPUAES_OK : offload(&o);
    if (status == GPUAES_OK)
        return 1;
    if (status == GPUAES_BUSY) {
        error_raise(c->provider, ERROR_CAPTURED,
                    "device memory cannot be used until that ends, but through a cuda-stream "
                    "that is not captured");
        return 0;
    }
    error_raise(c->provider,
                status == GPUAES_BAD_RANGE ? ERROR_BAD_DEVICE_RANGE : ERROR_DEVICE_MEMORY,
                "a copy of %zu bytes: %s", len, gpuaes_status_text(status));
    return 0;
}

/*
 * `in` and `out` of `host` are host memory for as much as `call` has. The CPU's context moves
 * only where a first copy has shown that device memory can be used now.
 */
static int run(struct aes_context *c, const struct call *call, struct call *host)
{
    int shown = call->bounced != BOUNCE_OUT && call->in_bytes != 0;
    host->bounced = 0;
    if (!shown && call->room != 0 && !copy(c, host->out, call->out, 1))
        return 0;
    return copy(c, (void *)(uintptr_t)host->in, call->in, call->in_bytes) && aes_on_cpu(c, host) &&
           copy(c, call->out, host->out, *host->out_bytes);
}

/* Both at their distance in one piece of host memory: for rare overlaps. */
static int run_image(struct aes_context *c, const struct call *call)
{
    uintptr_t in = (uintptr_t)call->in, out = (uintptr_t)call->out;
    uintptr_t low = in < out ? in : out, high = in < out ? out : in;
    size_t size = (size_t)(high - low) + call->in_bytes + SLACK;
    unsigned char *image = OPENSSL_zalloc(size);
    struct call host = *call;
    if (image == NULL)
        return 0;
    host.in = image + (in - low);
    host.out = image + (out - low);
    host.room = min_u64(call->room, call->in_bytes + SLACK);
    int ok = run(c, call, &host);
    OPENSSL_clear_free(image, size);
    return ok;
}

static int run_pieces(struct aes_context *c, const struct call *call, unsigned char *memory,
                      size_t most)
{
    struct call rest = *call;
    size_t total = 0, written;
    do {
        struct call piece = rest, host;
        piece.in_bytes = min_u64(rest.in_bytes, most);
        host = piece;
        host.in = memory;
        host.out = memory + most;
        host.out_bytes = &written;
        host.room = min_u64(rest.room, most + SLACK);
        written = 0;
        if (!run(c, &piece, &host))
            return 0;
        total += written;
        rest.in += piece.in_bytes;
        rest.in_bytes -= piece.in_bytes;
        rest.out += written;
        rest.room -= written;
    } while (rest.in_bytes != 0);
    *call->out_bytes = total;
    return 1;
}

int aes_bounce(struct aes_context *c, const struct call *call)
{
    if (needs_image(call))
        return run_image(c, call);
    size_t most = min_u64(call->in_bytes, PIECE);
    unsigned char *memory = OPENSSL_malloc(2 * most + SLACK);
    if (memory == NULL)
        return 0;
    int ok = run_pieces(c, call, memory, most);
    OPENSSL_clear_free(memory, 2 * most + SLACK);
    return ok;
}

/* The state of before is kept until the output is there. */
int aes_bounced_final(struct aes_context *c, unsigned char *out, size_t *out_bytes, size_t room)
{
    unsigned char block[SLACK];
    void *before = c->functions->dupctx(c->cpu);
    if (before == NULL)
        return 0;
    *out_bytes = 0;
    int ok = c->functions->final(c->cpu, block, out_bytes, min_u64(room, sizeof block));
    if (ok && !copy(c, out, block, *out_bytes)) {
        void *after = c->cpu;
        c->cpu = before;
        before = after;
        ok = 0;
    }
    c->functions->freectx(before);
    OPENSSL_cleanse(block, sizeof block);
    return ok;
}
