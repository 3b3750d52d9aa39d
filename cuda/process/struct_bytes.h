/*
 * Structs of gpuaes.h that begin with struct_bytes, which may have another size in the caller's
 * release than in this one. gpuaes.h has the rule.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_PROCESS_STRUCT_BYTES_H
#define GPUAES_CUDA_PROCESS_STRUCT_BYTES_H

#include <stddef.h>

/*
 * Copies what the caller gave to `own`, of own_bytes bytes. Returns 1, or 0 where `given` is NULL,
 * struct_bytes is out of its range, or a member that this release does not know is not 0.
 */
int struct_take(void *own, size_t own_bytes, const void *given);

/* Writes `own` to the caller's struct. Returns 1, or 0, with nothing written, as struct_take(). */
int struct_give(void *given, const void *own, size_t own_bytes);

#endif
