/*
 * Bytes done by each side: counted by each context, and reported for the whole process as
 * provider parameters and in the summary line.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_STATISTICS_H
#define GPUAES_PROVIDER_COMMON_STATISTICS_H

#include <openssl/core.h>
#include <stdint.h>

/* Why the CPU did input bytes. */
enum cpu_reason {
    CPU_SMALL,     /* too small for a device, or below min-bytes */
    CPU_UNSUITED,  /* CBC encryption, TLS records, overlapping buffers and the like */
    CPU_NO_DEVICE, /* none was ready, or is allowed */
    CPU_FASTER,    /* as was expected */
    CPU_FAILED,    /* the device was chosen, and was busy or failed */
    CPU_REASONS
};

/* Adds bytes that the CPU did. An atomic addition: not for hot paths, which count in totals. */
void statistics_add(enum cpu_reason reason, uint64_t bytes);

/* Input bytes that the CPU did for one context, and that are not in the statistics yet. */
struct totals {
    uint64_t cpu_bytes[CPU_REASONS];
    unsigned generation; /* forks before the process that counted them */
};

/* Sets them to 0, for this process. */
void totals_begin(struct totals *totals);

/* Begins anew in a forked child, whose parent reports them. Returns 1 if that is so. */
int totals_forget(struct totals *totals);

/* Adds them to the statistics, and begins anew. */
void totals_flush(struct totals *totals);

/*
 * F(NAME, name, value): the figures, as provider parameters and in the summary; all are uint64_t.
 * Values are of libgpuaes, `s`, and of enum cpu_reason, `cpu`, whose last one is their sum.
 */
#define STATISTICS_FIGURES(F)                                                                      \
    F(GPU_BYTES, "gpu-bytes", s.bytes)                                                             \
    F(CPU_BYTES, "cpu-bytes", cpu[CPU_REASONS])                                                    \
    F(READ_AHEAD_BYTES, "read-ahead-bytes", s.read_ahead_bytes)                                    \
    F(LAUNCHES, "launches", s.launches)                                                            \
    F(FAULTS, "faults", s.faults)                                                                  \
    F(UNDERRUNS, "underruns", s.underruns)                                                         \
    F(START_MS, "start-ms", s.start_ms)                                                            \
    F(PINNED_BYTES, "pinned-bytes", s.pinned_bytes)                                                \
    F(PINNED_PEAK, "pinned-peak", s.pinned_peak)                                                   \
    F(CPU_BYTES_SMALL, "cpu-bytes-small", cpu[CPU_SMALL])                                          \
    F(CPU_BYTES_UNSUITED, "cpu-bytes-unsuited", cpu[CPU_UNSUITED])                                 \
    F(CPU_BYTES_NO_DEVICE, "cpu-bytes-no-device", cpu[CPU_NO_DEVICE])                              \
    F(CPU_BYTES_FASTER, "cpu-bytes-faster", cpu[CPU_FASTER])                                       \
    F(CPU_BYTES_FAILED, "cpu-bytes-failed", cpu[CPU_FAILED])

/* A parameter alone: the driver is asked for it. See provider.c. */
#define STATISTICS_DEVICES "devices"

int statistics_get(OSSL_PARAM params[]);

/*
 * Once the provider is loaded: a forked child counts from 0. With `summary` the line is
 * printed when this process ends, and when a process forked from it ends that has done
 * something; with `progress` also while they work, see statistics_tell().
 */
void statistics_begin(int summary, int progress);

/*
 * Prints the figures if log=progress is set, they have changed, and the last line is a second old
 * or lacks a kind of work or a fault that has come since. Call it after work. Without that setting
 * it is one load.
 */
void statistics_tell(void);

#endif
