/*
 * The nearest known word to a mistyped one.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/suggest.h"

#include <string.h>

#include "base/minmax.h"

enum { LONGEST = 31 };

/* Characters to insert, delete, replace, or swap with their neighbours (optimal string alignment).
 */
static unsigned edit_distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    unsigned d[LONGEST + 1][LONGEST + 1];
    for (unsigned i = 0; i <= a_bytes; i++)
        d[i][0] = i;
    for (unsigned j = 0; j <= b_bytes; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= a_bytes; i++)
        for (size_t j = 1; j <= b_bytes; j++) {
            unsigned replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            d[i][j] = min_unsigned(replaced, min_unsigned(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = min_unsigned(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[a_bytes][b_bytes];
}

/* One word begins with the other: "encrypt" and "enc", "prog" and "progress". */
static int is_beginning(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    size_t n = min_u64(a_bytes, b_bytes);
    return n >= 3 && memcmp(a, b, n) == 0;
}

void suggestion_begin(struct suggestion *suggestion, const char *word)
{
    size_t most = (strlen(word) + 1) / 3;
    *suggestion = (struct suggestion){.word = word, .distance = most < 3 ? (unsigned)most + 1 : 4};
}

void suggestion_try(struct suggestion *suggestion, const char *known)
{
    size_t word_bytes = strlen(suggestion->word), known_bytes = strlen(known);
    if (word_bytes > LONGEST || known_bytes > LONGEST)
        return;
    unsigned distance = edit_distance(suggestion->word, word_bytes, known, known_bytes);
    if (is_beginning(suggestion->word, word_bytes, known, known_bytes))
        distance = 1;
    if (distance < suggestion->distance) {
        suggestion->distance = distance;
        suggestion->best = known;
    }
}
