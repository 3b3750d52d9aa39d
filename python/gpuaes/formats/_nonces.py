"""Nonces that differ in a number, as streams of segments or chunks have them.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys

from .._columns import column


def counted(prefix: bytes, first: int, count: int, suffix: bytes = b"") -> bytearray:
    """One after the other: `prefix`, a number from `first` on, big-endian in 4 bytes, and `suffix`."""
    numbers = column(range(first, first + count)).tobytes()
    size = len(prefix) + 4 + len(suffix)
    nonces = bytearray(prefix + bytes(4) + suffix) * count
    for at, place in enumerate(range(3, -1, -1) if sys.byteorder == "little" else range(4, 8)):
        nonces[len(prefix) + at :: size] = numbers[place::8]
    return nonces
