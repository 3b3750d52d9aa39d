/*
 * JSON on standard output.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/json.h"

#include <inttypes.h>
#include <stdio.h>

/* Of the value that is printed next. */
static int depth, needs_comma;

/* Bytes of the UTF-8 character at `p`, which is none of ASCII (RFC 3629); 0 if it is not valid. */
static size_t utf8_bytes(const unsigned char *p)
{
    static const struct {
        unsigned char least, most, second_least, second_most;
        size_t bytes;
    } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                 {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (p[0] < forms[i].least || p[0] > forms[i].most)
            continue;
        if (p[1] < forms[i].second_least || p[1] > forms[i].second_most)
            return 0;
        for (size_t n = 2; n < forms[i].bytes; n++)
            if ((p[n] & 0xc0) != 0x80)
                return 0;
        return forms[i].bytes;
    }
    return 0;
}

/* A file's name may be any bytes: what is not UTF-8 becomes the replacement character. */
static void print_text(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    (void)fputc('"', stdout);
    while (*p != '\0') {
        size_t bytes = *p < 0x80 ? 1 : utf8_bytes(p);
        if (*p == '"' || *p == '\\')
            (void)printf("\\%c", *p);
        else if (*p < ' ')
            (void)printf("\\u%04x", *p);
        else if (bytes == 0)
            (void)printf("\\ufffd");
        else
            (void)fwrite(p, 1, bytes, stdout);
        p += bytes == 0 ? 1 : bytes;
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
