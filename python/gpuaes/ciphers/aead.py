"""gpuaes.aead, where cryptography has it.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from ..aead import AESGCM

__all__ = ["AESGCM"]
