/*
 * The settings: their names, values and limits. provider-gpuaes(7) describes each. Knows
 * no OpenSSL, so that the command checks a configuration by the same rules.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_COMMON_SETTINGS_H
#define GPUAES_PROVIDER_COMMON_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/gpuaes.h"

enum policy_setting { POLICY_AUTO, POLICY_GPU, POLICY_CPU };
enum start_setting { START_AUTO, START_EAGER, START_NEVER };
enum log_setting { LOG_OFF, LOG_SUMMARY, LOG_PROGRESS, LOG_DEBUG };

#define MIN_BYTES_AUTO SIZE_MAX

struct settings {
    enum policy_setting policy;
    enum start_setting start;
    enum log_setting log;
    uint64_t start_bytes;
    size_t min_bytes; /* MIN_BYTES_AUTO: the measured threshold */

    int reads_ahead;                /* read-ahead-bytes is not 0 */
    struct gpuaes_settings process; /* of the whole process; what is not set as there */
};

enum { SETTINGS_TEXT = 256, SETTINGS_KEYS = 11 };

/* A value that is refused. `value` is shortened and printable. */
struct settings_fault {
    const char *key;
    char value[64], expected[112];
};

/* Returns the value of a key, or NULL where it is not set. */
typedef const char *settings_find_fn(const void *arg, const char *key);

/*
 * Reads every setting: the variable GPUAES_KEY of the environment, except in a set-user-ID process,
 * else what `find` returns; NULL: the environment alone. Returns how many values are wrong;
 * `faults` then says which.
 */
unsigned settings_read(struct settings *settings, settings_find_fn *find, const void *arg,
                       struct settings_fault faults[SETTINGS_KEYS]);

/*
 * Reads a decimal number, and behind it one of the letters `units`, of k, K, M, G and T: powers of
 * 1024. Returns 0 if the text is none.
 */
int settings_number(const char *text, const char *units, uint64_t *number);

/* Writes the name of a key's variable in the environment, as GPUAES_MIN_BYTES. */
void settings_variable(const char *key, char name[SETTINGS_TEXT]);

/*
 * Returns 1 if a line of that name in the provider's section is neither a setting nor one of
 * OpenSSL's own, and then writes a sentence that says so.
 */
int settings_is_unknown(const char *name, char sentence[SETTINGS_TEXT]);

/*
 * Looks for a variable GPUAES_* that is no setting, from the *next-th of the environment on;
 * begin with 0. Returns 1 and a sentence as above, or 0 where there is no other.
 */
int settings_unknown_variable(size_t *next, char sentence[SETTINGS_TEXT]);

#endif
