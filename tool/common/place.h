/*
 * Where the module and its configuration are. In a wheel of Python, module and library lie beside
 * the command, wherever that is.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_PLACE_H
#define GPUAES_TOOL_COMMON_PLACE_H

/* Returns 1 if the command lies in a wheel. */
int place_is_wheel(void);

/* Returns the folder of the module. */
const char *place_modules(void);

#endif
