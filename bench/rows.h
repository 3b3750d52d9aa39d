/*
 * The lines of the output: tab-separated values, one row a case. Lines that begin with #
 * tell what was measured with, "# revision: NAME" which code (bench/revision); "# note: TEXT", by
 * hand, is in the report, too.
 *
 * Columns:
 *   part       the part of the benchmark
 *   cipher     AES-256-CTR, BASE64, an algorithm of Parquet with the size of its keys, or -
 *              for none
 *   operation  encrypt, decrypt, encode, decode, or what is measured
 *   statistic  median (of single turns), p99 (99 % are not later), longest, mean, sustained (over
 *              some seconds), "at 0.3 s" (from then on, for 0.1 s), or - for a value that is no
 *              measurement
 *   bytes      input of one turn; of one update in the parts read-ahead and speed; of one message
 *              in batches, of all where their lengths are mixed
 *   memory     pageable, pinned, device, shared, in>out where they differ, the file system, or -
 *   placement  out of place, in place, misaligned (input 1, output 3 bytes off), or -
 *   devices    GPUs that may be used
 *   threads    threads of the library, or threads or processes of the application
 *              where it has several; of the reference in the part files
 *   ours, reference, unit
 *              the figure, and the one it is compared with; - where there is none
 *   ratio      ours / reference
 *   spread     distance of the quartiles of the time ratio, as a part of its median
 *   cpu_ours, cpu_reference
 *              CPU seconds of the process per 10^9 bytes, or -
 *   processor  the side that did it, by the bytes that the device is said to have done: gpu, cpu,
 *              mixed; read-ahead, where 0.9 were combined with its keystream; the family of kernels
 *              that was forced, or the toolkit that compiled them; or -
 *   against    what the reference is
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_ROWS_H
#define GPUAES_BENCH_ROWS_H

#include <stddef.h>

#include "bench/measure.h"

/* Texts that are NULL are printed as -; so are figures that are not above 0. */
struct row {
    const char *part, *cipher, *operation, *statistic;
    size_t bytes;
    const char *memory, *placement;
    unsigned devices, threads; /* 0: 1 */
    double value[SIDES];
    const char *unit;
    double spread, cpu[SIDES];
    const char *processor, *against;
};

/* A row about work of a part out of place. */
struct row row_of(const char *part, const char *cipher, const char *operation, const char *memory,
                  size_t bytes);

/* Names the columns, in a line that begins with #. */
void print_columns(void);

void print_row(const struct row *row);

/* A row of rates, GB/s: each side had `bytes` of work in a turn. */
void print_rates(struct row *row, const struct result *result, double bytes);

/*
 * Measures `most` turns at most, and prints the row: of both sides, or of ours alone where the row
 * is compared with nothing. Returns what it measured.
 */
struct result measure_rates(struct row *row, size_t most, turn_fn *measured, void *argument,
                            double bytes);

/*
 * A row of times: `calls` of them in a turn, in `unit`, of which there are
 * `units` in a second. The statistic says which: p99, else the median.
 */
void print_times(struct row *row, const struct result *result, double calls, const char *unit,
                 double units);

/* Says why a part or some of it is not there; a line that begins with #. */
void print_skipped(const char *part, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
