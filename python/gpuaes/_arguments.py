"""Arguments that several modules take: small byte strings of the host, keys, and results in an `out`.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex, cast

from . import _memory
from ._libcrypto import SecretBytes
from ._memory import Memory

KEY_BYTES = (16, 24, 32)
STRINGS = (str, bytes, bytearray)  # where several things are expected, one string is no row of its elements


def host_memory(value: Any, name: str) -> Memory:
    """A view of memory of the host. Raises TypeError for memory of a device."""
    memory = _memory.view(value, name=name)
    if memory.device is not None:
        raise TypeError(f"{name} is in memory of device {memory.device}: expected bytes of the host")
    return memory


def small_bytes(value: Any, name: str, least: int, most: int) -> bytes:
    """A copy of a byte string whose length is in a range."""
    if type(value) is bytes and least <= len(value) <= most:
        return value
    memory = host_memory(value, name)
    if not least <= memory.bytes <= most:
        expected = f"{least}" if least == most else f"{least} to {most}"
        raise ValueError(f"{name} has {memory.bytes} bytes: expected {expected}")
    return _memory.copy_of(memory)


def integers(values: Iterable[SupportsIndex], name: str) -> list[int]:
    """Of any integer type, such as NumPy's."""
    try:
        if isinstance(values, STRINGS):
            raise TypeError
        values = list(values)
    except TypeError:
        raise TypeError(f"{name} is {values!r:.60}: expected integers") from None
    if set(map(type, values)) <= {int}:
        return cast("list[int]", values)  # by C alone
    result = []
    for i, value in enumerate(values):
        try:
            result.append(int(operator.index(value)))
        except TypeError:
            raise TypeError(f"{name}[{i}] is {value!r}: expected an integer") from None
    return result


def byte_strings(values: Any, name: str, least: int, most: int) -> list[bytes]:
    """Copies of byte strings whose lengths are in a range."""
    if set(map(type, values)) == {bytes} and least <= min(map(len, values)) and max(map(len, values)) <= most:
        return list(values)  # by C alone
    return [small_bytes(value, f"{name}[{i}]", least, most) for i, value in enumerate(values)]


def secret_key(value: Any, name: str = "key", sizes: tuple[int, ...] = KEY_BYTES) -> SecretBytes:
    """A copy of a key of AES, in memory that can be cleansed."""
    memory = host_memory(value, name)
    if memory.bytes not in sizes:
        expected = f"{', '.join(map(str, sizes[:-1]))} or {sizes[-1]}"
        raise ValueError(f"{name} has {memory.bytes} bytes: expected {expected}")
    return SecretBytes(memory.address, memory.bytes)


def writable(out: Any, data: Memory, count: int, name: str = "out") -> Memory:
    """A view of the caller's memory for a result of `count` bytes, which is `data` in place or has no byte of it."""
    memory = _memory.view(out, writable=True, name=name)
    if memory.bytes != count:
        raise ValueError(f"{name} has {memory.bytes} bytes: expected {count}")
    if memory.device != data.device:
        raise ValueError(f"{name} is in {place(memory)}: expected {place(data)}, where the data is")
    if memory.device is not None and memory.stream != data.stream:
        raise ValueError(
            f"{name} has the stream {memory.stream:#x}: expected {data.stream:#x}, on which the data is worked on"
        )
    if count and data.bytes and memory.address != data.address and memory.overlaps(data):
        raise ValueError(f"{name} overlaps the data in part: expected the same place, or memory apart from it")
    return memory


def place(memory: Memory) -> str:
    """Words for where memory is."""
    return "memory of the host" if memory.device is None else f"memory of device {memory.device}"
