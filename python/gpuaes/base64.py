"""Base64 (RFC 4648, section 4) for bytes and tensors: the standard alphabet with padding, without line ends.

Memory of a device is worked on by its own device. These calls wait: first for the current stream of the array's
package, then for the result. Memory of the host is worked on by Python, or by a device where one is started and the
data is large; see gpuaes.start().

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import binascii
import ctypes
import re
from ctypes import byref, c_size_t
from typing import Any, overload

from . import _driver, _library, _memory, _policy
from ._arguments import writable
from ._driver import DeviceMemory
from ._library import OK, lib
from ._memory import Memory
from ._types import Buffer, CudaArray, Data, DataT, DLPackArray, ElementsArray, T
from .errors import GpuaesError

__all__ = ["decode", "encode"]

_QUAD, _TRIPLE = 4, 3
_ALPHABET = re.compile(rb"[A-Za-z0-9+/]*")

# Results to which a device that hangs may still write: never freed.
_lost: list[Any] = []


@overload
def encode(data: Data, *, out: DataT) -> DataT: ...
@overload
def encode(data: ElementsArray[T], *, out: None = None) -> T: ...
@overload
def encode(data: CudaArray, *, out: None = None) -> DeviceMemory: ...
@overload
def encode(data: DLPackArray, *, out: None = None) -> DeviceMemory | bytes: ...
@overload
def encode(data: Buffer, *, out: None = None) -> bytes: ...
def encode(data: Any, *, out: Any = None) -> Any:
    """Returns the text of `data`, as base64.b64encode() does: bytes for bytes, for an array one of the same package and
    on the same device, with elements of one byte.

    `data` is what gpuaes.aead.AESGCM takes, and the text is of the kind that AESGCM returns for it. With `out`, a writable
    array of as many bytes as the text, apart from `data`, the text is written there, and `out` is returned.
    """
    memory = _memory.view(data)
    count = -(-memory.bytes // _TRIPLE) * _QUAD
    result, place = _result(out, memory, count)
    if memory.device is not None:
        _wait(memory)
        _library.check(_encode(memory, place, _library.WAIT), "encoding Base64")
    elif not _policy.goes_to_device(memory.bytes) or not _done(_encode(memory, place, _policy.flags()), result, out):
        if out is None:
            result, place = _memory.new_like(memory, count)
        text = binascii.b2a_base64(_memory.copy_of(memory), newline=False)
        ctypes.memmove(place.address, text, count)
    _memory.written(place)
    return result


@overload
def decode(data: Data, *, out: DataT) -> DataT: ...
@overload
def decode(data: ElementsArray[T], *, out: None = None) -> T: ...
@overload
def decode(data: CudaArray, *, out: None = None) -> DeviceMemory: ...
@overload
def decode(data: DLPackArray, *, out: None = None) -> DeviceMemory | bytes: ...
@overload
def decode(data: Buffer, *, out: None = None) -> bytes: ...
def decode(data: Any, *, out: Any = None) -> Any:
    """Returns what the text `data` encodes; `out` is as for encode().

    Raises ValueError, which names the place, for a character that is not of the alphabet, white space included, and
    for padding that is missing or wrong. `out` is undefined then.
    """
    memory = _memory.view(data)
    if memory.bytes % _QUAD:
        raise ValueError(f"data has {memory.bytes} characters: expected a multiple of {_QUAD}")
    if memory.bytes == 0:
        return _result(out, memory, 0)[0]
    begin = memory.bytes - _QUAD
    if memory.device is not None:
        _wait(memory)
    end = _last_quad(memory, begin)
    count = begin // _QUAD * _TRIPLE + len(end)
    result, place = _result(out, memory, count)
    offset = c_size_t()
    on_device = memory.device is not None or _policy.goes_to_device(memory.bytes)
    if on_device and begin:
        flags = _library.WAIT if memory.device is not None else _policy.flags()
        status = lib.gpuaes_base64_decode(memory.address, begin, place.address, flags, byref(offset))
        if status == _library.BAD_INPUT:
            raise _not_of_alphabet(offset.value)
        if memory.device is not None:
            _library.check(status, "decoding Base64")
        elif not _done(status, result, out):
            on_device = False
            if out is None:
                result, place = _memory.new_like(memory, count)
    if on_device:
        _store(place, count - len(end), end)
    else:
        ctypes.memmove(place.address, _decode_on_cpu(_memory.copy_of(memory)[:begin], begin) + end, count)
    _memory.written(place)
    return result


def _result(out: Any, data: Memory, count: int) -> tuple[Any, Memory]:
    if out is None:
        return _memory.new_like(data, count)
    place = writable(out, data, count)
    if count and place.address == data.address:
        raise ValueError("out is the memory of data: expected memory apart from it")
    return out, place


def _wait(data: Memory) -> None:
    """libgpuaes follows the legacy default stream alone."""
    _driver.lane(data.device or 0, data.stream, data.stream_owner).wait("waiting for the data")


def _encode(data: Memory, place: Memory, flags: int) -> int:
    if not data.bytes:
        return OK
    return int(lib.gpuaes_base64_encode(data.address, data.bytes, place.address, 0, flags))


def _done(status: int, result: Any, out: Any) -> bool:
    """Whether a device did it; else the CPU is to do it."""
    if status == _library.UNDEFINED:
        _lost.append(result)
        if out is not None:
            raise GpuaesError("a device hangs and may still write to out: expected a call without it", status)
    return status == OK


def _store(place: Memory, at: int, data: bytes) -> None:
    if place.device is None:
        ctypes.memmove(place.address + at, data, len(data))
    elif data:
        _library.check(lib.gpuaes_copy(place.address + at, data, len(data)), "writing the end of the result")


def _last_quad(data: Memory, begin: int) -> bytes:
    """The one that may have padding, decoded. The stream of `data` has been waited for."""
    if data.device is None:
        quad = ctypes.string_at(data.address + begin, _QUAD)
    else:
        buffer = ctypes.create_string_buffer(_QUAD)
        _library.check(lib.gpuaes_copy(buffer, data.address + begin, _QUAD), "reading the end of the text")
        quad = buffer.raw
    padding = 2 if quad.endswith(b"==") else 1 if quad.endswith(b"=") else 0
    return _decode_on_cpu(quad, _QUAD - padding, begin)


def _decode_on_cpu(text: bytes, end: int, at: int = 0) -> bytes:
    """Decodes whole quads, which have padding from the character `end` on; `at` is where they begin in the data."""
    found = _ALPHABET.match(text, 0, end)
    valid = found.end() if found else 0
    if valid != end:
        raise _not_of_alphabet(at + valid)
    return binascii.a2b_base64(text)


def _not_of_alphabet(at: int) -> ValueError:
    return ValueError(f"data is not Base64 at character {at}: expected one of A-Z, a-z, 0-9, + and /")
