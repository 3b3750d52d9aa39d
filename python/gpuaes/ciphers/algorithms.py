"""Algorithms of gpuaes.ciphers, by the names that cryptography has for them.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from .._arguments import secret_key
from .._libcrypto import SecretBytes
from .._owner import Unique
from .._types import Data

__all__ = ["AES"]


class AES(Unique):
    """The algorithm with a key of 16, 24 or 32 bytes. The key is overwritten when the object and all that was made
    with it have been collected. The object can be neither copied nor pickled."""

    _instead = "make another of the key, in each process"
    name = "AES"
    block_size = 128

    def __init__(self, key: Data) -> None:
        self._key: SecretBytes = secret_key(key)

    def _facts(self) -> str:
        return f"key of {self.key_size} bits"

    @property
    def key_size(self) -> int:
        """Bits of the key."""
        return self._key.bytes * 8
