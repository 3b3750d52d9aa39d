/*
 * Decrypts the pages of an encrypted Parquet file on a GPU and says how long that takes, for
 * bench/parquet_rates.
 *
 *     parquet_pages -f HEX [-k COLUMN=HEX]... FILE
 *
 * The options are those of docs/examples/parquet_decrypt.c. Prints the number of pages and the
 * bytes of their text; then each line of the standard input is done, and answered by its seconds:
 *
 *     batch          decrypts headers and pages, which are on the device, and so are their
 *                    descriptions: one call, in AES_GCM_CTR_V1 two, from the first to the end on
 *                    the device
 *     find           finds the pages in the copy of the file that the host has, describes them to
 *                    the device, decrypts them as above, and reads the headers on the host
 *     file           reads the file into pinned memory, copies it to the device, opens the footer,
 *                    and does the same
 *     text R C PATH  writes what the pages of column C in row group R were decrypted to
 *
 * Memory is taken before any of it. Texts go to memory of their own on the device and stay there.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "docs/examples/parquet_pages.h"

enum { PIECE = 8 << 20, READERS = 16 };

struct bench {
    struct file file;
    struct bytes prefix;
    struct modules modules;
    struct work work[CALLS];
    unsigned calls;
    unsigned char *text;         /* of pages, on the device, where they are in the file */
    unsigned char *headers;      /* their text, on the device, without gaps */
    unsigned char *headers_host; /* the same */
    size_t headers_bytes, pages_bytes;
    unsigned readers;
    atomic_size_t at; /* what the readers have not begun with */
};

/* ---- Pages ------------------------------------------------------------------------ */

/* Sets where texts are decrypted to, and sums up their lengths. */
static void place_texts(struct bench *b)
{
    b->headers_bytes = b->pages_bytes = 0;
    for (size_t i = 0; i < b->modules.count; i += 2) {
        struct module *header = &b->modules.list[i], *page = &b->modules.list[i + 1];

        header->to = b->headers + b->headers_bytes;
        page->to = b->text + page->at;
        b->headers_bytes += header->count;
        b->pages_bytes += page->count;
    }
}

static void find(struct bench *b)
{
    free(b->modules.list);
    b->modules = (struct modules){0};
    find_pages(&b->file, &b->modules);
    place_texts(b);
}

static void decrypt(const struct bench *b)
{
    for (unsigned i = 0; i < b->calls; i++)
        queue(&b->work[i]);
    wait_for_device();
}

static void finish_calls(struct bench *b)
{
    for (unsigned i = 0; i < b->calls; i++)
        finish(&b->work[i]);
}

static void read_headers(struct bench *b)
{
    unsigned char *text = b->headers_host;

    copy_from_device(text, b->headers, b->headers_bytes);
    for (size_t i = 0; i < b->modules.count; i += 2) {
        check_header(&b->file, &b->modules.list[i], text, &b->modules.list[i + 1]);
        text += b->modules.list[i].count;
    }
}

static void find_and_decrypt(struct bench *b)
{
    find(b);
    b->calls = describe_pages(b->work, &b->file, &b->modules);
    decrypt(b);
    finish_calls(b);
    read_headers(b);
}

/* ---- The file ---------------------------------------------------------------------- */

static void *read_pieces(void *argument)
{
    struct bench *b = argument;
    size_t at;

    while ((at = atomic_fetch_add(&b->at, PIECE)) < b->file.size)
        read_piece(&b->file, at, min_u64(PIECE, b->file.size - at));
    return NULL;
}

/* By several threads, so that copies to the device and reads go on at once. */
static void read_file(struct bench *b)
{
    pthread_t threads[READERS];

    atomic_store(&b->at, 0);
    for (unsigned i = 0; i < b->readers; i++)
        if (pthread_create(&threads[i], NULL, read_pieces, b) != 0)
            fail("a thread cannot be started");
    for (unsigned i = 0; i < b->readers; i++)
        (void)pthread_join(threads[i], NULL);
    open_footer(&b->file, b->prefix);
}

static void take_memory(struct bench *b)
{
    b->readers = (unsigned)min_u64((uint64_t)sysconf(_SC_NPROCESSORS_ONLN), READERS);
    open_file(&b->file);
    read_file(b);
    find(b);
    if (b->modules.count == 0)
        fail("it has no encrypted pages");
    b->text = device_alloc(b->file.size);
    b->headers = device_alloc(b->headers_bytes);
    b->headers_host = checked(gpuaes_pinned_alloc(b->headers_bytes));
}

static void write_text(const struct bench *b, unsigned row_group, unsigned column, const char *path)
{
    FILE *stream = fopen(path, "wb");

    if (stream == NULL)
        fail("%s cannot be written", path);
    for (size_t i = 1; i < b->modules.count; i += 2) {
        const struct module *page = &b->modules.list[i];

        if (page->chunk->row_group != row_group || page->chunk->column != column)
            continue;
        unsigned char *text = checked(malloc(page->count + 1));
        copy_from_device(text, page->to, page->count);
        if (fwrite(text, 1, page->count, stream) != page->count)
            fail("%s cannot be written", path);
        free(text);
    }
    if (fclose(stream) != 0)
        fail("%s cannot be written", path);
}

/* ---- The command --------------------------------------------------------------------- */

static void do_line(struct bench *b, const char *line)
{
    unsigned row_group, column;
    char path[4096];

    if (strcmp(line, "batch") == 0) {
        decrypt(b);
    } else if (strcmp(line, "find") == 0) {
        find_and_decrypt(b);
    } else if (strcmp(line, "file") == 0) {
        close_footer(&b->file);
        read_file(b);
        find_and_decrypt(b);
    } else if (sscanf(line, "text %u %u %4095s", &row_group, &column, path) == 3) {
        write_text(b, row_group, column, path);
    } else {
        fail("there is no work \"%s\"", line);
    }
}

int main(int argc, char **argv)
{
    static struct keys keys;
    static struct bench b;
    unsigned char prefix[NAME];
    char line[4200];
    int first;

    b.prefix.at = prefix;
    first = read_options(argc, argv, &keys, &b.prefix);
    if (first == 0 || argc - first != 1) {
        fputs("usage: parquet_pages -f HEX [-k COLUMN=HEX]... FILE\n", stderr);
        return 2;
    }
    file_name = argv[first];
    b.file.keys = &keys;
    open_gpu();
    open_keys(&keys);
    take_memory(&b);
    find_and_decrypt(&b);
    printf("%zu %zu\n", b.modules.count / 2, b.pages_bytes);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        double began = clock_seconds(CLOCK_MONOTONIC);
        do_line(&b, line);
        printf("%.9f\n", clock_seconds(CLOCK_MONOTONIC) - began);
        fflush(stdout);
        finish_calls(&b);
    }
    for (unsigned i = 0; i < CALLS; i++)
        free_work(&b.work[i]);
    free(b.modules.list);
    close_footer(&b.file);
    close_keys(&keys);
    close_file(&b.file);
    device_free(b.text);
    device_free(b.headers);
    gpuaes_pinned_free(b.headers_host, b.headers_bytes);
    return 0;
}
