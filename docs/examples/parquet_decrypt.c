/*
 * Decrypts the pages of a Parquet file with modular encryption on a GPU: all of them, of all
 * columns and row groups, by one call (in AES_GCM_CTR_V1 two: headers are GCM then, pages CTR), or
 * by one for each size that keys have.
 *
 *     parquet_decrypt -f HEX [-k COLUMN=HEX]... [-p HEX] [-u] FILE FOLDER
 *
 *     -f   key of the footer
 *     -k   key of a column, a path such as a.list.element; columns without one have the footer's
 *     -p   AAD prefix; where the file has it, too, the two must be equal
 *     -u   also a file of AES_GCM_CTR_V1: nothing authenticates the text of its pages, and
 *          anybody can make a file of AES_GCM_V1 with an encrypted footer say that it is one
 *
 * FOLDER/R-C gets the pages of row group R in column C (0, 1...) as they are in a file without
 * encryption: compressed, without their headers. Columns that are not encrypted, or have no pages
 * there, are left out, and nothing is written unless all is authentic.
 *
 * Compile it with: cc -O2 parquet_{decrypt,pages,gpu,footer}.c -lgpuaes -ldl
 *
 * gpuaes.formats.parquet does the same in Python.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>

#include "parquet_pages.h"

/* Writes the pages of the chunk that the first module is of; returns the number of its modules. */
static size_t write_chunk(const struct file *file, const struct module *modules, size_t count,
                          const char *folder)
{
    const struct chunk *chunk = modules->chunk;
    char path[4096];
    FILE *stream;
    size_t i;

    (void)snprintf(path, sizeof path, "%s/%u-%u", folder, chunk->row_group, chunk->column);
    stream = fopen(path, "wb");
    for (i = 0; stream != NULL && i < count && modules[i].chunk == chunk; i += 2)
        if (fwrite(file->host + modules[i + 1].at, 1, modules[i + 1].count, stream) !=
            modules[i + 1].count)
            fail("%s cannot be written", path);
    if (stream == NULL || fclose(stream) != 0)
        fail("%s cannot be written", path);
    return i;
}

/* Decrypts in place, and brings all between the first and the last module to the host. */
static void decrypt_pages(const struct file *file, const struct modules *modules)
{
    struct work work[CALLS] = {0};
    unsigned calls = describe_pages(work, file, modules);
    size_t begin = file->size, end = 0;

    for (unsigned i = 0; i < calls; i++)
        queue(&work[i]);
    for (unsigned i = 0; i < calls; i++)
        finish(&work[i]);
    for (size_t i = 0; i < modules->count; i++) {
        const struct module *module = &modules->list[i];

        begin = module->at < begin ? module->at : begin;
        end = module->at + module->count > end ? module->at + module->count : end;
    }
    copy_from_device(file->host + begin, file->device + begin, end - begin);
    for (unsigned i = 0; i < CALLS; i++)
        free_work(&work[i]);
}

int main(int argc, char **argv)
{
    static struct keys keys;
    unsigned char bytes[NAME];
    struct bytes prefix = {bytes, 0};
    struct file file = {.keys = &keys};
    struct modules modules = {0};
    int takes_unauthenticated = 0;
    int first = read_options(argc, argv, &keys, &prefix, &takes_unauthenticated);

    if (first == 0 || argc - first != 2) {
        fputs("usage: parquet_decrypt -f HEX [-k COLUMN=HEX]... [-p HEX] [-u] FILE FOLDER\n",
              stderr);
        return 2;
    }
    file_name = argv[first];
    open_gpu();
    open_keys(&keys);
    open_file(&file);
    read_piece(&file, 0, file.size);
    open_footer(&file, prefix);
    if (file.footer.algorithm.pages_are_ctr && !takes_unauthenticated)
        fail("AES_GCM_CTR_V1: nothing authenticates its pages: expected -u");
    find_pages(&file, &modules);
    if (modules.count > 0)
        decrypt_pages(&file, &modules);
    for (size_t i = 0; i < modules.count; i += 2)
        check_header(&file, &modules.list[i], file.host + modules.list[i].at, &modules.list[i + 1]);
    for (size_t i = 0, count; i < modules.count; i += count) {
        count = write_chunk(&file, modules.list + i, modules.count - i, argv[first + 1]);
        printf("row group %u, column %s: %zu pages\n", modules.list[i].chunk->row_group,
               modules.list[i].chunk->name, count / 2);
    }
    free(modules.list);
    close_footer(&file);
    close_keys(&keys);
    close_file(&file);
    return 0;
}
