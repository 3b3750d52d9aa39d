"""Pinned memory of the host, from and to which a device copies at the rate of the bus.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes

from .. import _library
from .._library import lib
from .._owner import Owner

__all__ = ["Pinned"]


class Pinned(Owner):
    """`view` is its bytes, of which there are one or more. They are overwritten when the memory is freed."""

    def __init__(self, count: int) -> None:
        self.address, self._count = lib.gpuaes_pinned_alloc(count) or 0, count
        if not self.address:
            raise _library.error(_library.NO_MEMORY, "allocating pinned memory")
        super().__init__()
        self.view = memoryview((ctypes.c_char * count).from_address(self.address)).cast("B")

    def _release(self) -> None:
        lib.gpuaes_pinned_free(self.address, self._count)
