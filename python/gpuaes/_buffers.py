"""Pairs of pinned and device memory, through which the description of messages gets to a device. A pair that is given back
is kept for the next batch: to free it would wait for all work of the device. A copy from memory that is not pinned would
wait for the stream.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from . import _driver, _library
from ._library import lib
from .errors import GpuaesError

_ROUNDED, _KEPT_BYTES = 1 << 16, 64 << 20


class Buffer(NamedTuple):
    """As many `bytes` at an address of the host and at one of the device."""

    context: _driver.Context
    host: int
    device: int
    bytes: int


# The oldest first. There is no lock: the handler of a signal, or a finalizer, may call these functions in mid-call.
_kept: list[Buffer] = []


def take(context: _driver.Context, count: int) -> Buffer:
    """Returns a buffer of `count` bytes or more. Raises GpuaesError."""
    for buffer in reversed(list(_kept)):
        if buffer.context is context and count <= buffer.bytes <= 2 * count + _ROUNDED:
            with contextlib.suppress(ValueError):  # another thread, or a handler, has taken it
                _kept.remove(buffer)
                return buffer
    size = -(-count // _ROUNDED) * _ROUNDED
    try:
        return _allocate(context, size)
    except GpuaesError:
        if not _kept:
            raise
        free_kept()
        return _allocate(context, size)


def _allocate(context: _driver.Context, size: int) -> Buffer:
    with context.relaxed():
        host = lib.gpuaes_pinned_alloc(size) or 0
    if not host:
        raise _library.error(_library.NO_MEMORY, "allocating pinned memory for a batch")
    try:
        return Buffer(context, host, context.allocate(size), size)
    except BaseException:
        lib.gpuaes_pinned_free(host, size)
        raise


def give(buffer: Buffer, at: int, secret: int, is_kept: bool) -> None:
    """Takes back a buffer that no stream uses any more, and overwrites its `secret` bytes from `at` on."""
    if secret:
        lib.gpuaes_cleanse(buffer.host + at, secret)
        buffer.context.overwrite(buffer.device + at, secret)
    if not is_kept or buffer.bytes > _KEPT_BYTES:
        _free(buffer)
        return
    _kept.append(buffer)
    while sum(each.bytes for each in list(_kept)) > _KEPT_BYTES:
        _free_oldest()


def free_kept() -> None:
    while _kept:
        _free_oldest()


def _free_oldest() -> None:
    with contextlib.suppress(IndexError):
        _free(_kept.pop(0))


def _free(buffer: Buffer) -> None:
    lib.gpuaes_pinned_free(buffer.host, buffer.bytes)
    buffer.context.free(buffer.device)


_driver.at_end.append(free_kept)
