/*
 * JSON on standard output.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/json.h"

#include <inttypes.h>
#include <openssl/asn1.h>
#include <stdio.h>
#include <string.h>

/* Of the value that is printed next. */
static int depth, needs_comma;

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
        (void)fputc(',', stdout);
    if (depth > 0)
        (void)printf("\n%*s", 2 * depth, "");
    if (name != NULL) {
        print_text(name);
        (void)printf(": ");
    }
    needs_comma = 1;
}

void json_open(const char *name, char bracket)
{
    begin(name);
    (void)fputc(bracket, stdout);
    depth++;
    needs_comma = 0;
}

void json_close(char bracket)
{
    depth--;
    if (needs_comma)
        (void)printf("\n%*s", 2 * depth, "");
    (void)fputc(bracket, stdout);
    needs_comma = depth > 0;
    if (depth == 0)
        (void)fputc('\n', stdout);
}

void json_text(const char *name, const char *value)
{
    begin(name);
    print_text(value);
}

void json_count(const char *name, uint64_t value)
{
    begin(name);
    (void)printf("%" PRIu64, value);
}

/* No locale is set, so that the point is a point. */
void json_figure(const char *name, double value)
{
    begin(name);
    (void)printf("%.3f", value);
}

void json_truth(const char *name, int value)
{
    begin(name);
    (void)printf(value ? "true" : "false");
}
