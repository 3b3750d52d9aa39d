"""Files of Tink, in pieces of some segments, so that memory does not grow with the file.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from .. import _driver, _library, _policy
from .._gcm import TAG_BYTES
from .._library import lib
from ..errors import GpuaesError
from ._pinned import Pinned
from ._tink_segments import Segments

Progress = Callable[[int], Any]
# Of a device's work, and of libcrypto's, which passes the caches of a core.
_PIECE_BYTES, _HOST_PIECE_BYTES = 32 << 20, 1 << 20

# What a device that hangs may still use: never freed.
_lost: list[Any] = []


def fill(file: Any, view: memoryview) -> int:
    """Reads until the view is full, or the file ends, and returns how much was read."""
    filled = 0
    while filled < len(view) and (count := file.readinto(view[filled:])):
        filled += count
    return filled


def _write(file: Any, view: memoryview) -> None:
    while view:
        view = view[file.write(view) :]


def run(segments: Segments, encrypt: bool, file: Any, out: Any, progress: Progress | None) -> None:
    """Writes the segments of what follows in `file`, or their text. Where a device does the work, a thread reads the next
    piece of a long file meanwhile, and while this one is written."""
    layout = segments.layout
    size = os.fstat(file.fileno()).st_size or _PIECE_BYTES  # 0 of a pipe, from which no thread reads: it may have nothing for long
    unit = layout.step if encrypt else layout.segment
    work = _begin(segments, encrypt, layout.of_text(0, size))
    first = done = number = 0
    pool = ThreadPoolExecutor(1) if len(work.sources) > 1 else None
    try:
        want = work.count * unit - layout.header
        # One byte more than is worked on now says whether this is the last piece.
        filled = fill(file, work.sources[0][: want + 1])
        while True:
            got, last = min(filled, want), filled <= want
            count, text_bytes = (layout.of_text(first, got), got) if encrypt else layout.of_sealed(first, got)
            ahead = None
            if pool and not last:
                following = work.sources[1 - number]
                following[0] = work.sources[number][want]
                with contextlib.suppress(RuntimeError):  # where the interpreter ends, there are no new threads
                    ahead = pool.submit(fill, file, following[1 : work.count * unit + 1])
            try:
                work.run(number, first, count, text_bytes, last)
            except GpuaesError:
                if isinstance(work, _OnHost):
                    raise
                if ahead:
                    ahead.result()
                work = _instead_of(work)
                work.run(number, first, count, text_bytes, last)
            _write(out, work.target[: text_bytes + count * TAG_BYTES if encrypt else text_bytes])
            done += text_bytes
            if progress is not None:
                progress(done)
            if last:
                return
            if ahead:
                filled, number = 1 + ahead.result(), 1 - number
            else:
                source = work.sources[number]
                source[0] = source[want]
                filled = 1 + fill(file, source[1 : work.count * unit + 1])
            first, want = first + count, work.count * unit
    finally:
        if pool:
            pool.shutdown()
        work.close()


# ---- Where pieces are worked on --------------------------------------------------------


def _begin(segments: Segments, encrypt: bool, count: int) -> _OnHost | _OnDevice:
    """Memory of the host for pieces of `count` segments or less: run() works from one of `sources`, which have a byte more, to
    `target`, and close() overwrites all."""
    on_device = max(1, min(count, _PIECE_BYTES // segments.layout.segment))
    if _policy.goes_to_device(on_device * segments.layout.step):
        with contextlib.suppress(GpuaesError):
            return _OnDevice(segments, encrypt, on_device, 1 if count <= on_device else 2)
    return _OnHost(segments, encrypt, max(1, min(count, _HOST_PIECE_BYTES // segments.layout.segment)))


def _instead_of(work: _OnDevice) -> _OnHost:
    """After a failure of the device, which has changed nothing of its sources."""
    host = _OnHost(work.segments, work.encrypt, work.count, len(work.sources))
    for to, source in zip(host.sources, work.sources):
        to[:] = source
    work.close()
    return host


def _sizes(segments: Segments, encrypt: bool, count: int) -> tuple[int, int]:
    """Those of source and target."""
    text, sealed = count * segments.layout.step, count * segments.layout.segment
    return (text + 1, sealed) if encrypt else (sealed + 1, text)


class _OnHost:
    def __init__(self, segments: Segments, encrypt: bool, count: int, sources: int = 1) -> None:
        self._segments, self._encrypt, self.count = segments, encrypt, count
        source, target = _sizes(segments, encrypt, count)
        self._buffers = [(ctypes.c_char * size).from_buffer(bytearray(size)) for size in [target] + [source] * sources]
        self.target, *self.sources = (memoryview(buffer).cast("B") for buffer in self._buffers)

    def run(self, number: int, first: int, count: int, text_bytes: int, last: bool) -> None:
        source, target = map(ctypes.addressof, (self._buffers[1 + number], self._buffers[0]))
        text, sealed = (source, target) if self._encrypt else (target, source)
        self._segments.run_on_host(self._encrypt, text, sealed, first, count, text_bytes, last)

    def close(self) -> None:
        for buffer in self._buffers:
            _library.cleanse(buffer)


class _OnDevice:
    """On a stream of the package, on the first device."""

    def __init__(self, segments: Segments, encrypt: bool, count: int, sources: int) -> None:
        self.segments, self.encrypt, self.count = segments, encrypt, count
        source, target = _sizes(segments, encrypt, count)
        device = next(_library.ordinals())
        context = _driver.context_of(device)
        stream = context.own_stream()
        if stream is None:
            raise GpuaesError("the CUDA driver cannot make a stream")
        self._lane = _driver.lane(device, stream, context)
        self._near = [Pinned(size) for size in [target] + [source] * sources]
        self._far = [_driver.DeviceMemory(device, size, stream, context) for size in (source, target)]
        self.target, *self.sources = (pinned.view for pinned in self._near)

    def run(self, number: int, first: int, count: int, text_bytes: int, last: bool) -> None:
        source, target = self._near[1 + number], self._near[0]
        far_source, far_target = self._far
        text, sealed = (far_source, far_target) if self.encrypt else (far_target, far_source)
        sealed_bytes = text_bytes + count * TAG_BYTES
        sent, fetched = (text_bytes, sealed_bytes) if self.encrypt else (sealed_bytes, text_bytes)
        with self._lane as lane:
            lane.send(far_source.address, source.address, sent)
            batch = self.segments.queue(self.encrypt, text, sealed, first, count, text_bytes, last)
            lane.fetch(target.address, far_target.address, fetched)
            self.segments.check(batch, first)  # waits
            batch.close()

    def close(self) -> None:
        """Keeps the memory where the device cannot be waited for, and overwrites what the host has of it."""
        try:
            with self._lane as lane:
                for memory in self._far:
                    lane.fill(memory.address, 0, memory.nbytes)
                lane.wait("overwriting text")
        except GpuaesError:
            _lost.append(self)
            for pinned in self._near:
                lib.gpuaes_cleanse(pinned.address, len(pinned.view))
            return
        for each in (*self._far, *self._near):
            each.close()
