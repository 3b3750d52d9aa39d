/*
 * The knobs: provider section of openssl.cnf, overridden by GPUAES_* in the
 * environment. provider-gpuaes(7) describes each.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CONFIG_H
#define GPUAES_CONFIG_H

#include <stddef.h>
#include <stdint.h>

enum engine_setting { ENGINE_AUTO, ENGINE_GPU, ENGINE_CPU };
enum start_setting { START_AUTO, START_EAGER, START_NEVER };
enum log_setting { LOG_OFF, LOG_SUMMARY, LOG_DEBUG };

#define MIN_BYTES_AUTO SIZE_MAX

struct settings {
    enum engine_setting engine;
    enum start_setting start;
    enum log_setting log;
    uint64_t start_bytes;
    size_t min_bytes; /* MIN_BYTES_AUTO: what was measured */
    size_t pinned_bytes;
    size_t read_ahead_bytes; /* 0: nothing is read ahead */
    unsigned timeout_ms;
    unsigned idle_seconds;
    unsigned batch_wait_us; /* 0: threads do not wait for each other */
    unsigned threads;       /* that move the data of one call */
    uint64_t devices;       /* bit n: CUDA device n */
};

struct provider;

/*
 * Reads every knob into provider->settings. 0 if a value is wrong: the reason
 * stands in the error queue and on stderr, since OpenSSL is silent about a
 * provider that refuses to load from openssl.cnf.
 */
int config_read(struct provider *provider);

#endif
