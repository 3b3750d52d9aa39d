/*
 * What parquet_pages.c needs of a GPU: memory, copies and keys. All functions end the program, with
 * a message, where the GPU fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARQUET_GPU_H
#define PARQUET_GPU_H

#include <gpuaes.h>

#include "parquet_footer.h"

enum { KEYS = 64, KEY_SIZES = 3 };

/* Fails with what was to be done, unless the status is GPUAES_OK. */
void check(enum gpuaes_status status, const char *what);

/* ---- Memory of the device ------------------------------------------------------ */

/* Makes the primary context of GPU 0 current, and starts libgpuaes. */
void open_gpu(void);

/* Returns NULL for 0 bytes. One address space for host and device, so the pointer can be had as any
 * other. */
unsigned char *device_alloc(size_t count);
void device_free(void *memory);

/*
 * Copy in the order of the legacy default stream, as messages are queued here, and return when it
 * is done. Any thread may call them, in which the context need not be current.
 */
void copy_to_device(void *to, const void *from, size_t count);
void copy_from_device(void *to, const void *from, size_t count);

/* Waits until all that is queued on that stream is done. */
void wait_for_device(void);

/* ---- Keys ------------------------------------------------------------------------ */

/* Of 16, 24 and 32 bytes. A table for each of these sizes, in which each key has its number. */
struct keys {
    unsigned char bytes[KEYS][32]; /* until they are on the device */
    size_t sizes[KEYS];
    char names[KEYS][NAME]; /* of columns; the first key is the footer's */
    unsigned count;
    unsigned char *on_device;
};

static inline size_t key_size(unsigned number)
{
    return 16 + 8 * (size_t)number;
}

/* On the device: where the table of that size begins. */
const unsigned char *key_table(const struct keys *keys, size_t size);

/*
 * Reads options -f, -k, -p and -u as in parquet_decrypt.c into *keys, *prefix, whose bytes are the
 * caller's, NAME of them, and *takes_unauthenticated, which becomes 1 for -u. Returns the number of
 * the first argument behind them, or 0 where the options are wrong. Fails where their digits are.
 */
int read_options(int argc, char **argv, struct keys *keys, struct bytes *prefix,
                 int *takes_unauthenticated);

/* Copies the keys to the device, and cleanses those of the host. */
void open_keys(struct keys *keys);

/* Cleanses those of the device behind all that is queued, and frees their memory. */
void close_keys(struct keys *keys);

#endif
