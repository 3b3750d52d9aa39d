/*
 * The parts of the benchmark. Each runs in a process of its own, in which no
 * device has been started, and returns the exit status. gpuaes_bench.c lists
 * them, and what stands in the environment of each.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_BENCH_PARTS_H
#define GPUAES_BENCH_PARTS_H

int part_header(void);
int part_limits(void);
int part_host_limits(void);
int part_kernels(void);
int part_evp_kernels(void);
int part_base64_kernels(void);
int part_families(void);
int part_gcm_kernels(void);
int part_gcm_images(void);
int part_gcm_evp(void);
int part_gcm_small(void);
int part_gcm_bulk(void);
int part_latency(void);
int part_small(void);
int part_bulk(void);
int part_mixed(void);
int part_threads(void);
int part_devices(void);
int part_start_small(void);
int part_start_large(void);
int part_base64(void);
int part_read_ahead(void);
int part_batch(void);
int part_batch_gcm(void);
int part_batch_overhead(void);
int part_messages(void);
int part_random(void);
int part_files(void);

#endif
