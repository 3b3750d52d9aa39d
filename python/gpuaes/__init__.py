"""AES and Base64 on NVIDIA GPUs, for tensors and for bytes.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
