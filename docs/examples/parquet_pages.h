/*
 * The pages of a Parquet file with modular encryption: where they are in the file, and their
 * decryption on a GPU. All functions end the program, with a message, on a file that is not as it
 * should be, and where the GPU fails.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARQUET_PAGES_H
#define PARQUET_PAGES_H

#include "parquet_footer.h"
#include "parquet_gpu.h"

enum { LENGTH = 4, NONCE = 12, TAG = 16 };

/* ---- The file -------------------------------------------------------------------- */

/* The same bytes on the host, in pinned memory, and on the device. */
struct file {
    unsigned char *host, *device;
    size_t size;
    int descriptor;
    struct keys *keys;
    struct bytes prefix; /* of additional data, then the file's identifier */
    struct footer footer;
};

/* Opens the file `file_name`, and takes memory for it. */
void open_file(struct file *file);

/* Reads bytes `at` to `at + count` of the file into both memories. Any thread may do so. */
void read_piece(const struct file *file, size_t at, size_t count);

/*
 * Decrypts the footer, or finds that it is authentic, and the metadata of columns. `prefix` is what
 * the file does not have of it, if anything.
 */
void open_footer(struct file *file, struct bytes prefix);

/* Frees what open_footer() made. */
void close_footer(struct file *file);

void close_file(struct file *file);

/* ---- Modules --------------------------------------------------------------------- */

enum module_type {
    FOOTER,
    COLUMN_METADATA,
    DATA_PAGE,
    DICTIONARY_PAGE,
    DATA_PAGE_HEADER,
    DICTIONARY_PAGE_HEADER
};

struct module {
    enum module_type type;
    const struct chunk *chunk; /* NULL: it is the footer's */
    unsigned page;
    unsigned key;
    size_t at, count;  /* of the text within the file; the nonce is before it, a tag behind it */
    unsigned char *to; /* on the device, where the text is decrypted to; in place at first */
};

struct modules {
    struct module *list;
    size_t count;
};

/*
 * Finds the modules of all chunks that are encrypted, by their lengths alone: header, page, header,
 * page... The caller frees the list.
 */
void find_pages(const struct file *file, struct modules *to);

/* A header, whose text is at `text`, must be that of this page, and has the size of its module. */
void check_header(const struct file *file, const struct module *header, unsigned char *text,
                  const struct module *page);

/* ---- Messages -------------------------------------------------------------------- */

/*
 * Modules of one operation and one size of keys, which are described on the device for one call;
 * begins with zeros. Its memory is used again.
 */
struct work {
    struct gpuaes_messages messages;
    const struct module **modules; /* one for each message */
    unsigned char *host, *device;
    size_t size;
    uint32_t *status; /* on the host */
};

/*
 * Describes `n` modules on the device: every one of the list, or with a stride of 2 every other
 * one. The list must stay. Returns the number of calls: one for each size that their keys have.
 */
unsigned describe(struct work work[KEY_SIZES], const struct file *file, enum gpuaes_op op,
                  const struct module *modules, size_t n, size_t stride);

/* Queues the call. */
void queue(const struct work *work);

/* Waits until it is done; all must be authentic. */
void finish(struct work *work);

void free_work(struct work *work);

/*
 * Describes all pages and their headers, of find_pages(). Where pages are CTR, they and their
 * headers, which are GCM even then, are in different calls. Returns the number of calls.
 */
enum { CALLS = 2 * KEY_SIZES };
unsigned describe_pages(struct work work[CALLS], const struct file *file,
                        const struct modules *modules);

#endif
