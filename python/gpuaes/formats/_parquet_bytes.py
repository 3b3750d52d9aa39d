"""The bytes of a Parquet file, as its reader asks for them: in memory of the host, or of a device.

Of a file in memory of a device the reader needs the lengths, nonces and tags of modules, and the headers of pages. It asks
for them in ascending order, so that the host gets the file in large pieces, in pinned memory. A copy of the whole would
be in memory that is new to the process, which costs more than the copy itself.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from typing import Any

from .. import _driver
from .._memory import Memory
from ._pinned import Pinned

__all__ = ["Bytes", "of_host", "of_memory"]

_PIECE_BYTES = 8 << 20


class Bytes:
    """`bytes` bytes, of which `view` has `begin` to `end` - 1: all of them, where they are in memory of the host."""

    def __init__(self, view: memoryview, count: int) -> None:
        self.view, self.bytes = view, count
        self.begin, self.end = 0, len(view)

    def fetch(self, begin: int, end: int) -> None:
        """Lets `view` have bytes `begin` to `end` - 1, or those of them that there are, and some behind them."""

    def read(self, begin: int, end: int) -> memoryview:
        """Returns bytes `begin` to `end` - 1, or those of them that there are. They stay until the next fetch."""
        if begin < self.begin or self.end < end:
            self.fetch(begin, end)
        return self.view[begin - self.begin : min(end, self.end) - self.begin]


class _Fetched(Bytes):
    """In memory of a device."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memoryview(b""), memory.bytes)
        self._address = memory.address
        self._lane = _driver.lane(memory.device or 0, memory.stream, memory.stream_owner)
        self._pinned: Pinned | None = None

    def fetch(self, begin: int, end: int) -> None:
        count = min(max(end - begin, _PIECE_BYTES), self.bytes - begin)
        if count > _PIECE_BYTES:
            view, address = _new_memory(count)
        else:
            if self._pinned is None:
                self._pinned = Pinned(min(_PIECE_BYTES, self.bytes))
            view, address = self._pinned.view, self._pinned.address
        self.view, self.begin, self.end = view, begin, begin
        with self._lane as lane:
            lane.fetch(address, self._address + begin, count)
            lane.wait("copying the file to the host")
        self.end = begin + count


def _new_memory(count: int) -> tuple[memoryview, int]:
    """To take new memory costs as much as a copy to it, unless its pages are large."""
    data = mmap.mmap(-1, count, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(AttributeError, OSError):  # systems that have no such pages
        data.madvise(mmap.MADV_HUGEPAGE)
    return memoryview(data), ctypes.addressof(ctypes.c_char.from_buffer(data))


def of_host(data: Any) -> Bytes:
    """Bytes that are an object of the host."""
    return Bytes(memoryview(data), len(data))


def of_memory(memory: Memory) -> Bytes:
    """The bytes of an array, which on the host may be those of an immutable object."""
    if memory.device is not None:
        return _Fetched(memory)
    if not memory.bytes:
        return of_host(b"")
    return of_host(memoryview((ctypes.c_char * memory.bytes).from_address(memory.address)).cast("B").toreadonly())
