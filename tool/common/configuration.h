/*
 * Whether, and how, OpenSSL's configuration file uses gpuaes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_CONFIGURATION_H
#define GPUAES_TOOL_COMMON_CONFIGURATION_H

#include "tool/common/library.h"

enum { CONFIGURATION_TEXT = 2000 };

struct configuration {
    char path[CONFIGURATION_TEXT];
    int uses_gpuaes; /* programs that read its line openssl_conf get AES from gpuaes */
    int is_for_node; /* it has the line that Node.js reads instead */
    /* Sentences; "" where there is nothing to say. With uses_gpuaes: what else is wrong. */
    char why_not[CONFIGURATION_TEXT];
    char change[CONFIGURATION_TEXT];
};

/*
 * Looks at the file that programs read which are started from here. Call it before a device is
 * started: what the file sets for the whole process comes into force, and could not afterwards.
 */
void configuration_examine(struct configuration *configuration, const struct library *library);

/* Prints the sentences. */
void configuration_print(const struct configuration *configuration);

/*
 * Returns how many settings in the environment have a wrong value. Writes a sentence about each,
 * with a semicolon between two.
 */
unsigned configuration_environment(char why_not[CONFIGURATION_TEXT]);

#endif
