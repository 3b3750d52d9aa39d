"""Modes of gpuaes.ciphers, by the names that cryptography has for them.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from .._arguments import small_bytes
from .._library import BLOCK
from .._types import Data

__all__ = ["CBC", "CTR", "ECB"]


class ECB:
    """Electronic Codebook, NIST SP 800-38A: equal blocks give equal blocks. Data is whole blocks."""

    name = "ECB"


class CBC:
    """Cipher Block Chaining, NIST SP 800-38A, with an initialization vector of 16 bytes. Data is whole blocks; padding
    is the caller's. A device decrypts it in parallel; encryption is serial, and done on the CPU (gpuaes.Batch
    encrypts many messages at once)."""

    name = "CBC"

    def __init__(self, initialization_vector: Data) -> None:
        self.initialization_vector = small_bytes(initialization_vector, "initialization_vector", BLOCK, BLOCK)


class CTR:
    """Counter mode, NIST SP 800-38A: `nonce` is the first counter block, 16 bytes, a big-endian number. Data has any
    length, and may be cut anywhere. *No two messages of one key may have a counter block in common.*"""

    name = "CTR"

    def __init__(self, nonce: Data) -> None:
        self.nonce = small_bytes(nonce, "nonce", BLOCK, BLOCK)
