/*
 * The lines of the output.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "bench/rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct row row_of(const char *part, const char *cipher, const char *operation, const char *memory,
                  size_t bytes)
{
    return (struct row){.part = part,
                        .cipher = cipher,
                        .operation = operation,
                        .bytes = bytes,
                        .memory = memory,
                        .placement = "out of place"};
}

void print_columns(void)
{
    puts("# part\tcipher\toperation\tstatistic\tbytes\tmemory\tplacement\tdevices\tthreads\tours\t"
         "reference\tunit\tratio\tspread\tcpu_ours\tcpu_reference\tprocessor\tagainst");
}

static const char *text(const char *s)
{
    return s != NULL ? s : "-";
}

static void print_figure(double value, int digits)
{
    if (value > 0)
        printf("%.*g\t", digits, value);
    else
        printf("-\t");
}

void print_row(const struct row *r)
{
    double ratio = r->value[REFERENCE] > 0 ? r->value[OURS] / r->value[REFERENCE] : 0;
    printf("%s\t%s\t%s\t%s\t%zu\t%s\t%s\t%u\t%u\t", r->part, text(r->cipher), r->operation,
           text(r->statistic), r->bytes, text(r->memory), text(r->placement),
           r->devices != 0 ? r->devices : 1, r->threads != 0 ? r->threads : 1);
    print_figure(r->value[OURS], 6);
    print_figure(r->value[REFERENCE], 6);
    printf("%s\t", r->unit);
    print_figure(ratio, 4);
    print_figure(r->spread, 3);
    print_figure(r->cpu[OURS], 3);
    print_figure(r->cpu[REFERENCE], 3);
    printf("%s\t%s\n", text(r->processor), text(r->against));
    fflush(stdout);
}

void print_rates(struct row *row, const struct result *result, double bytes)
{
    row->unit = "GB/s";
    if (row->statistic == NULL)
        row->statistic = "median";
    row->spread = result->spread;
    for (int side = 0; side < SIDES; side++) {
        row->value[side] = result->median[side] > 0 ? bytes / result->median[side] / 1e9 : 0;
        row->cpu[side] = result->cpu[side] / bytes * 1e9;
    }
    print_row(row);
}

struct result measure_rates(struct row *row, size_t most, turn_fn *measured, void *argument,
                            double bytes)
{
    struct result result =
        (row->against != NULL ? measure : measure_alone)(most, measured, argument);
    print_rates(row, &result, bytes);
    return result;
}

void print_times(struct row *row, const struct result *result, double calls, const char *unit,
                 double units)
{
    if (row->statistic == NULL)
        row->statistic = "median";
    int late = strcmp(row->statistic, "p99") == 0;
    row->unit = unit;
    row->spread = result->spread;
    for (int side = 0; side < SIDES; side++)
        row->value[side] = (late ? result->late : result->median)[side] / calls * units;
    print_row(row);
}

void print_skipped(const char *part, const char *format, ...)
{
    va_list arguments;
    printf("# skipped: %s: ", part);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}
