/*
 * The S-box circuits by themselves, for the test of all inputs: each thread does
 * 32 bytes, as eight planes.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/kernels/aes/aes_sbox_circuits.cuh"

extern "C" __global__ void test_sbox_circuit(uint32_t *planes)
{
    sbox_circuit(planes + 8 * threadIdx.x);
}
KERNEL(test_sbox_circuit)

extern "C" __global__ void test_inverse_sbox_circuit(uint32_t *planes)
{
    inverse_sbox_circuit(planes + 8 * threadIdx.x);
}
KERNEL(test_inverse_sbox_circuit)
