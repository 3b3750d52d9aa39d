/*
 * JSON on standard output.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/json.h"

#include <openssl/asn1.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The value that is printed next is not the first one in its bracket. */
static int needs_comma;

/* A file's name may be any bytes: what is not UTF-8 becomes the replacement character. */
static void print_text(const char *text)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + strlen(text);
    (void)fputc('"', stdout);
    while (p < end) {
        unsigned long character;
        int bytes = UTF8_getc(p, (int)(end - p), &character);
        if (*p == '"' || *p == '\\')
            (void)printf("\\%c", *p);
        else if (*p < ' ')
            (void)printf("\\u%04x", *p);
        else if (bytes <= 0)
            (void)printf("\\ufffd");
        else
            (void)fwrite(p, 1, (size_t)bytes, stdout);
        p += bytes <= 0 ? 1 : bytes;
    }
    (void)fputc('"', stdout);
}

static void begin(const char *name)
{
    if (needs_comma)
        (void)printf(",\n");
    if (name != NULL) {
        print_text(name);
        (void)printf(": ");
    }
    needs_comma = 1;
}

void json_open(const char *name, char bracket)
{
    begin(name);
    (void)printf("%c\n", bracket);
    needs_comma = 0;
}

void json_close(char bracket)
{
    (void)printf("\n%c", bracket);
    needs_comma = 1;
}

void json_text(const char *name, const char *value)
{
    begin(name);
    print_text(value);
}

/* No locale is set, so that the point of a number is a point. */
void json_value(const char *name, const char *format, ...)
{
    va_list arguments;
    begin(name);
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
}
