/*
 * What parquet_pages.c needs of a Parquet file's footer, read from Thrift's compact protocol. All
 * functions end the program on a structure that is not valid.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef PARQUET_FOOTER_H
#define PARQUET_FOOTER_H

#include <stddef.h>
#include <stdint.h>

/* What messages are about: the program sets it before it reads a file. */
extern const char *file_name;

/* Prints a message that begins with the name of the program and file_name, and exits. */
void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...);

/* The same memory, unless it is NULL: then there is none left, and the program fails. */
void *checked(void *memory);

/* NUMBERS: of row groups, of columns, and of pages in a chunk; they are numbered by 15 bits. */
enum { NAME = 256, UNIQUE = 8, NUMBERS = 1 << 15 };

struct bytes {
    unsigned char *at;
    size_t count;
};

struct thrift {
    unsigned char *at, *end;
    const char *what; /* is read, for messages */
};

struct algorithm {
    int pages_are_ctr, wants_prefix;
    struct bytes prefix, unique;
};

enum encryption { NOT_ENCRYPTED, FOOTER_KEY, COLUMN_KEY };

struct chunk { /* of a column, in one row group */
    unsigned row_group, column, key;
    enum encryption encryption;
    char name[NAME];
    struct bytes encrypted_metadata;
    int64_t data_page, dictionary_page, size; /* INT64_MIN: missing. Offsets of 0 are of no page. */
};

struct footer {
    size_t begin; /* in the file */
    struct algorithm algorithm;
    struct chunk *chunks;
    size_t count;
};

/* FileMetaData */
void read_footer(struct thrift *t, struct footer *footer);

/* FileCryptoMetaData, which is before a footer that is encrypted. */
void read_file_crypto(struct thrift *t, struct algorithm *algorithm);

/* ColumnMetaData */
void read_column_metadata(struct thrift *t, struct chunk *chunk);

/* PageHeader: the size of the page's module, or -1 where there is none. */
int64_t read_page_size(struct thrift *t);

#endif
