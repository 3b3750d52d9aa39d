/*
 * Thrift's compact protocol, and the structures of Parquet that parquet_pages.c needs:
 * https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "parquet_footer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *file_name;

void fail(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "%s: %s: ", program_invocation_short_name, file_name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void *checked(void *memory)
{
    if (memory == NULL)
        fail("no memory");
    return memory;
}

/* ---- Thrift's compact protocol --------------------------------------------- */

enum { STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT };

static unsigned char *take(struct thrift *t, size_t count)
{
    unsigned char *taken = t->at;

    if (count > (size_t)(t->end - t->at))
        fail("%s: ends within a value", t->what);
    t->at += count;
    return taken;
}

static uint64_t read_varint(struct thrift *t)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        unsigned char byte = *take(t, 1);

        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    fail("%s: a number has too many bytes", t->what);
}

static int64_t read_integer(struct thrift *t)
{
    uint64_t zigzag = read_varint(t);

    return (int64_t)(zigzag >> 1 ^ -(zigzag & 1));
}

static struct bytes read_binary(struct thrift *t)
{
    size_t count = read_varint(t);

    return (struct bytes){take(t, count), count};
}

/* The type of the next field, whose number becomes *id; STOP at the end of the struct. */
static unsigned next_field(struct thrift *t, int *id)
{
    unsigned byte = *take(t, 1);

    if (byte != STOP)
        *id = byte >> 4 ? (int)((unsigned)*id + (unsigned)(byte >> 4)) : (int)read_integer(t);
    return byte & 15;
}

/* The number of elements; their type becomes *type. */
static size_t read_list(struct thrift *t, unsigned *type)
{
    unsigned byte = *take(t, 1);

    *type = byte & 15;
    return byte >> 4 == 15 ? read_varint(t) : byte >> 4;
}

static void expect(const struct thrift *t, unsigned type, unsigned expected)
{
    if (type != expected)
        fail("%s: a field has type %u, not %u", t->what, type, expected);
}

static int64_t read_integer_field(struct thrift *t, unsigned type, unsigned expected)
{
    expect(t, type, expected);
    return read_integer(t);
}

static struct bytes read_binary_field(struct thrift *t, unsigned type)
{
    expect(t, type, BINARY);
    return read_binary(t);
}

static int read_bool_field(const struct thrift *t, unsigned type)
{
    if (type != FALSE)
        expect(t, type, TRUE);
    return type == TRUE;
}

/* The number of elements, all of which are of the type `expected`. */
static size_t read_list_field(struct thrift *t, unsigned type, unsigned expected)
{
    unsigned element;

    expect(t, type, LIST);
    size_t count = read_list(t, &element);

    if (count > NUMBERS)
        fail("%s: a list has %zu elements: expected %u at most", t->what, count, NUMBERS);
    if (count > 0)
        expect(t, element, expected);
    return count;
}

static void skip(struct thrift *t, unsigned type, unsigned depth)
{
    unsigned element;
    int id = 0;

    if (depth == 32)
        fail("%s: nested too deep", t->what);
    if (type == TRUE || type == FALSE)
        return; /* the type is the value */
    if (type == BYTE || type == DOUBLE) {
        take(t, type == BYTE ? 1 : 8);
    } else if (type == I16 || type == I32 || type == I64) {
        read_varint(t);
    } else if (type == BINARY) {
        read_binary(t);
    } else if (type == LIST || type == SET) {
        for (size_t count = read_list(t, &element); count > 0; count--)
            skip(t, element == TRUE || element == FALSE ? BYTE : element, depth + 1);
    } else if (type == STRUCT) {
        while ((element = next_field(t, &id)) != STOP)
            skip(t, element, depth + 1);
    } else {
        fail("%s: a field has type %u", t->what, type); /* the format has no maps */
    }
}

/* ---- The footer ------------------------------------------------------------- */

/* EncryptionAlgorithm, a union of two structs that have the same fields. */
static void read_algorithm(struct thrift *t, struct algorithm *algorithm)
{
    int which = 0, id = 0;
    unsigned type = next_field(t, &which);

    expect(t, type, STRUCT);
    if (which != 1 && which != 2)
        fail("%s: unknown algorithm %d", t->what, which);
    algorithm->pages_are_ctr = which == 2;
    while ((type = next_field(t, &id)) != STOP) {
        if (id == 1)
            algorithm->prefix = read_binary_field(t, type);
        else if (id == 2)
            algorithm->unique = read_binary_field(t, type);
        else if (id == 3)
            algorithm->wants_prefix = read_bool_field(t, type);
        else
            skip(t, type, 0);
    }
    if (next_field(t, &which) != STOP)
        fail("%s: a union has two members", t->what);
    if (algorithm->unique.count != UNIQUE)
        fail("%s: the file's identifier has %zu bytes, not 8", t->what, algorithm->unique.count);
}

/* The elements of the list, with dots between them. */
static void read_path_field(struct thrift *t, unsigned type, char name[NAME])
{
    size_t used = 0;

    for (size_t count = read_list_field(t, type, BINARY); count > 0; count--) {
        struct bytes element = read_binary(t);

        if (element.count + 2 > NAME - used)
            fail("%s: the path of a column is too long", t->what);
        if (used > 0)
            name[used++] = '.';
        memcpy(name + used, element.at, element.count);
        name[used += element.count] = '\0';
    }
}

void read_column_metadata(struct thrift *t, struct chunk *chunk)
{
    unsigned type;
    int id = 0;

    while ((type = next_field(t, &id)) != STOP) {
        if (id == 3)
            read_path_field(t, type, chunk->name);
        else if (id == 7)
            chunk->size = read_integer_field(t, type, I64);
        else if (id == 9)
            chunk->data_page = read_integer_field(t, type, I64);
        else if (id == 11)
            chunk->dictionary_page = read_integer_field(t, type, I64);
        else
            skip(t, type, 0);
    }
}

/* ColumnCryptoMetaData, a union: of nothing, for the footer's key, and of a column's path. */
static void read_column_crypto(struct thrift *t, struct chunk *chunk)
{
    int which = 0, id = 0;
    unsigned type = next_field(t, &which);

    expect(t, type, STRUCT);
    if (which != 1 && which != 2)
        fail("%s: unknown key %d of a column", t->what, which);
    chunk->encryption = which == 1 ? FOOTER_KEY : COLUMN_KEY;
    while ((type = next_field(t, &id)) != STOP) {
        if (chunk->encryption == COLUMN_KEY && id == 1)
            read_path_field(t, type, chunk->name);
        else
            skip(t, type, 0);
    }
    if (next_field(t, &which) != STOP)
        fail("%s: a union has two members", t->what);
}

/* ColumnChunk */
static void read_chunk(struct thrift *t, struct chunk *chunk)
{
    unsigned type;
    int id = 0;

    while ((type = next_field(t, &id)) != STOP) {
        if (id == 3) {
            expect(t, type, STRUCT);
            read_column_metadata(t, chunk);
        } else if (id == 8) {
            expect(t, type, STRUCT);
            read_column_crypto(t, chunk);
        } else if (id == 9) {
            chunk->encrypted_metadata = read_binary_field(t, type);
        } else {
            skip(t, type, 0);
        }
    }
}

/* RowGroup */
static void read_row_group(struct thrift *t, unsigned row_group, struct footer *footer)
{
    unsigned type;
    int id = 0;

    while ((type = next_field(t, &id)) != STOP) {
        if (id != 1) {
            skip(t, type, 0);
            continue;
        }
        size_t columns = read_list_field(t, type, STRUCT);

        for (unsigned column = 0; column < columns; column++) {
            footer->chunks =
                checked(realloc(footer->chunks, (footer->count + 1) * sizeof *footer->chunks));
            struct chunk *chunk = &footer->chunks[footer->count++];

            *chunk = (struct chunk){.row_group = row_group, .column = column};
            chunk->data_page = chunk->size = INT64_MIN;
            read_chunk(t, chunk);
        }
    }
}

void read_footer(struct thrift *t, struct footer *footer)
{
    unsigned type;
    int id = 0;

    while ((type = next_field(t, &id)) != STOP) {
        if (id == 4) {
            size_t row_groups = read_list_field(t, type, STRUCT);

            for (unsigned i = 0; i < row_groups; i++)
                read_row_group(t, i, footer);
        } else if (id == 8) {
            expect(t, type, STRUCT);
            read_algorithm(t, &footer->algorithm);
        } else {
            skip(t, type, 0);
        }
    }
}

void read_file_crypto(struct thrift *t, struct algorithm *algorithm)
{
    unsigned type;
    int id = 0;

    while ((type = next_field(t, &id)) != STOP) {
        if (id == 1) {
            expect(t, type, STRUCT);
            read_algorithm(t, algorithm);
        } else {
            skip(t, type, 0);
        }
    }
}

int64_t read_page_size(struct thrift *t)
{
    int64_t size = -1;
    unsigned type;
    int id = 0;

    while ((type = next_field(t, &id)) != STOP) {
        if (id == 3)
            size = read_integer_field(t, type, I32);
        else
            skip(t, type, 0);
    }
    return size;
}
