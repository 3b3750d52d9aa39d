/*
 * Overwriting of secrets that no variable holds any more; gpuaes.h has the rest.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_PROCESS_CLEANSE_H
#define GPUAES_CUDA_PROCESS_CLEANSE_H

/*
 * Overwrites 4 KiB of stack below the caller's frame: what functions that have returned left there,
 * such as registers that they saved. What is to be overwritten must be in functions of its own,
 * which are not inlined (SECRET_FRAME).
 */
void cleanse_stack(void);

#define SECRET_FRAME __attribute__((noinline))

#endif
