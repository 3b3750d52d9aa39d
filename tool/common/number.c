/*
 * Numbers in options.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool/common/message.h"

int number_read(const char *text, uint64_t *number)
{
    static const char units[] = "kKMGT";
    static const unsigned shifts[] = {10, 10, 20, 30, 40};
    char *end;
    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    unsigned shift = unit != NULL ? shifts[unit - units] : 0;
    if (errno != 0 || end[unit != NULL] != '\0' || n > UINT64_MAX >> shift)
        return 0;
    *number = (uint64_t)n << shift;
    return 1;
}

int number_read_option(const char *option, const char *text, uint64_t least, uint64_t most,
                       uint64_t *number)
{
    if (number_read(text, number) && *number >= least && *number <= most)
        return 1;
    return complain("%s%s: expected a whole number from %llu to %llu%s", option, text,
                    (unsigned long long)least, (unsigned long long)most,
                    most < 1024 ? "" : "; K, M, G or T behind it are powers of 1024, as in 64K");
}
