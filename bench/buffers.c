/*
 * Memory of each kind.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "bench/buffers.h"

#include <glob.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/card.h"
#include "bench/options.h"
#include "bench/rows.h"
#include "bench/sides.h"

const char *kind_name(enum kind kind)
{
    static const char *const names[KINDS] = {"pageable",   "pinned",     "device",
                                             "registered", "huge pages", "huge pages, interleaved"};
    return names[kind];
}

unsigned memory_nodes(void)
{
    glob_t found;
    unsigned nodes = 1;
    if (glob("/sys/devices/system/node/node[0-9]*", GLOB_NOSORT, NULL, &found) == 0) {
        nodes = (unsigned)found.gl_pathc;
        globfree(&found);
    }
    return nodes;
}

/* Spreads the pages over all nodes, before they are touched. */
static int interleave(void *p, size_t bytes)
{
    enum { POLICY_INTERLEAVE = 3 }; /* MPOL_INTERLEAVE of linux/mempolicy.h */
    unsigned nodes = memory_nodes();
    unsigned long mask = nodes >= 63 ? ~0UL >> 1 : (1UL << nodes) - 1;
    return syscall(SYS_mbind, p, bytes, POLICY_INTERLEAVE, &mask, 64UL, 0UL) == 0;
}

static void *map(enum kind kind, size_t bytes)
{
    /* Rounded up and aligned to 2 MiB, which is a huge page. */
    size_t align = 2 * MIB, whole = (bytes + align - 1) / align * align;
    void *p = aligned_alloc(align, whole);
    if (p == NULL)
        return NULL;
    if (kind == HUGE_PAGES || kind == INTERLEAVED)
        (void)madvise(p, whole, MADV_HUGEPAGE);
    if (kind == INTERLEAVED && !interleave(p, whole)) {
        free(p);
        return NULL;
    }
    return p;
}

/* Combines the bytes, whatever they are, with the keystream of an arbitrary key. */
static void fill_host(unsigned char *p, size_t bytes)
{
    static const unsigned char key[16] = "filling", iv[16] = {0};
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(context, EVP_aes_128_ctr(), NULL, key, iv);
    for (size_t at = 0, piece; at < bytes; at += piece) {
        int n;
        piece = bytes - at < GIB ? bytes - at : GIB;
        EVP_EncryptUpdate(context, p + at, &n, p + at, (int)piece);
    }
    EVP_CIPHER_CTX_free(context);
}

static void fill_device(unsigned char *p, size_t bytes)
{
    static const unsigned char bytes_of_key[16] = "filling";
    unsigned char iv[16] = {0};
    struct gpuaes_key key;
    gpuaes_key_expand(&key, bytes_of_key, sizeof bytes_of_key);
    (void)gpuaes_aes(GPUAES_CTR, &key, iv, p, p, bytes / GPUAES_BLOCK * GPUAES_BLOCK, GPUAES_WAIT,
                     NULL);
}

static unsigned char *take(enum kind kind, size_t bytes)
{
    drv_ptr p = 0;
    switch (kind) {
    case DEVICE:
        return card()->mem_alloc(&p, bytes) == DRV_SUCCESS ? (unsigned char *)(uintptr_t)p : NULL;
    case PINNED:
        return gpuaes_pinned_alloc(bytes);
    default:
        return map(kind, bytes);
    }
}

struct buffer buffer_take(enum kind kind, size_t bytes)
{
    struct buffer b = {.kind = kind, .p = take(kind, bytes), .bytes = bytes};
    if (b.p == NULL)
        return b;
    if (kind == DEVICE)
        fill_device(b.p, bytes);
    else
        fill_host(b.p, bytes);
    if (kind >= REGISTERED && gpuaes_pinned_register(b.p, bytes) != GPUAES_OK) {
        free(b.p);
        b.p = NULL;
    }
    return b;
}

void buffer_give(struct buffer *b)
{
    if (b->p == NULL)
        return;
    if (b->kind == DEVICE)
        (void)card()->mem_free(card_address(b->p));
    else if (b->kind == PINNED)
        gpuaes_pinned_free(b->p, b->bytes);
    else {
        if (b->kind >= REGISTERED)
            (void)gpuaes_pinned_unregister(b->p);
        free(b->p);
    }
    b->p = NULL;
}

int memory_take(struct memory *m, const char *part, enum kind kind, size_t in, size_t out)
{
    *m = (struct memory){buffer_take(kind, in), buffer_take(kind, out)};
    if (m->in.p != NULL && m->out.p != NULL)
        return 1;
    memory_give(m);
    print_skipped(part, "%s memory of %zu bytes: %s", kind_name(kind), in + out,
                  gpuaes_state() == GPUAES_READY ? "there is not so much" : no_device());
    return 0;
}

void memory_give(struct memory *m)
{
    buffer_give(&m->in);
    buffer_give(&m->out);
}
