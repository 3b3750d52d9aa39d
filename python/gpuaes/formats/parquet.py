"""Parquet files with modular encryption, decrypted to plain ones.

    from gpuaes.formats import parquet

    plain = parquet.decrypt(data, {None: footer_key, "a.list.element": key})
    table = pyarrow.parquet.read_table(pyarrow.BufferReader(plain.file))

The pages of all columns and row groups are decrypted by one launch, or one for each size that keys have.
docs/formats-parquet.md says where the format is specified, what is checked, and what is not supported.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, Iterable, Mapping, NamedTuple, Sequence, TypeVar, Union, overload

from .. import _memory
from .._arguments import STRINGS, small_bytes
from .._driver import DeviceMemory
from .._types import Buffer, CudaArray, Data, DLPackArray, ElementsArray, T
from ._parquet_file import File, FindKey, Page
from ._parquet_footer import PREFIX_MOST, RefusedFile
from ._parquet_keys import KmsKeys
from ._parquet_modules import Device

__all__ = ["KmsKeys", "Page", "Plain", "RefusedFile", "decrypt"]


_FileT = TypeVar("_FileT")

if TYPE_CHECKING:

    class Plain(NamedTuple, Generic[_FileT]):
        file: _FileT
        pages: list[Page]
        left: list[str]

else:  # of Python 3.10, which gives a NamedTuple no other base

    class Plain(NamedTuple):
        """`file` is a Parquet file; `pages` are those that were decrypted, and `left` the columns that are not in it."""

        file: Any
        pages: list[Page]
        left: list[str]


_BYTES_OF_A_COPY = 1 << 14  # that the host fetches and sends in the time of a copy of few bytes

Keys = Union[
    FindKey, Mapping[Union[str, None], Union[Data, None]], Mapping[str, Union[Data, None]],
    Mapping[None, Union[Data, None]], Data,
]  # fmt: skip


@overload
def decrypt(
    data: Data, keys: Keys, *, columns: Iterable[str] | None = ..., aad_prefix: Data = ..., like: ElementsArray[T],
    unauthenticated_pages: bool = ...,
) -> Plain[T]: ...
@overload
def decrypt(
    data: Data, keys: Keys, *, columns: Iterable[str] | None = ..., aad_prefix: Data = ..., like: CudaArray | DLPackArray,
    unauthenticated_pages: bool = ...,
) -> Plain[DeviceMemory]: ...
@overload
def decrypt(
    data: ElementsArray[T], keys: Keys, *, columns: Iterable[str] | None = ..., aad_prefix: Data = ..., like: None = ...,
    unauthenticated_pages: bool = ...,
) -> Plain[bytearray | T]: ...
@overload
def decrypt(
    data: CudaArray | DLPackArray, keys: Keys, *, columns: Iterable[str] | None = ..., aad_prefix: Data = ...,
    like: None = ..., unauthenticated_pages: bool = ...,
) -> Plain[bytearray | DeviceMemory]: ...
@overload
def decrypt(
    data: Buffer, keys: Keys, *, columns: Iterable[str] | None = ..., aad_prefix: Data = ..., like: None = ...,
    unauthenticated_pages: bool = ...,
) -> Plain[bytearray]: ...
def decrypt(
    data: Any,
    keys: Keys,
    *,
    columns: Iterable[str] | None = None,
    aad_prefix: Data = b"",
    like: Any = None,
    unauthenticated_pages: bool = False,
) -> Plain[Any]:
    """Returns a file without encryption.

    `data` is the file, in memory of the host or of a device. `keys(column, key_metadata)` returns the key of a column,
    such as "a.list.element", or None where there is none; `column` is None for the footer's key. It may be a mapping of
    columns and None to keys, or the footer's key.

    `columns` are those to keep, or groups of them. Without it, these are all that are not encrypted or whose keys there
    are. `aad_prefix` is needed where the file does not have it; where it does, too, the two must be equal.

    The new file is an array like `like`, memory of a device. Without it, the file is where `data` is, a bytearray on the
    host.

    `unauthenticated_pages` also takes files of AES_GCM_CTR_V1, whose pages have no tags: whoever can write a file can change
    their text. Anybody can make a file of AES_GCM_V1 whose footer is encrypted one of these, without a key.

    Raises RefusedFile, which names the place, where the file is malformed or not authentic.
    """
    if isinstance(columns, STRINGS):
        raise TypeError(f"columns is {columns!r:.60}: expected a sequence of names, or None")
    memory = _memory.view(data, name="data")
    if like is None and memory.device is not None:
        like = data
    prefix = small_bytes(aad_prefix, "aad_prefix", 0, PREFIX_MOST)
    file = File(memory, keys, prefix, Device(like), unauthenticated_pages)
    keep = file.select(None if columns is None else list(columns))
    file.read_metadata()
    file.find_pages()
    file.read_small_modules()
    footer = file.plain_footer(keep)
    plain = _in_host_memory(file, footer) if like is None else _in_device_memory(file, footer, data)
    left = sorted(set(range(len(file.footer.names))).difference(keep))
    return Plain(plain, file.pages, [file.footer.names[column] for column in left])


def _in_host_memory(file: File, footer: bytes) -> bytearray:
    out = bytearray(b"").join((file.before_footer, footer))
    source, shifts, size = _send_chunks(file)
    target, memory = file.device.new(size)
    _decrypt(file, source, shifts, target, shifts)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(out))
    with file.device.lane as lane:
        for chunk, shift in zip(file.chunks, shifts):
            lane.fetch(begin + chunk.begin, memory.address + chunk.begin + shift, chunk.plain_end - chunk.begin)
        lane.wait("copying the file to the host")
    file.patch(out)
    return out


def _in_device_memory(file: File, footer: bytes, data: Any) -> Any:
    size = file.footer_at
    target, memory = file.device.new(size + len(footer))
    if file.memory.device == memory.device and len(file.patches) * _BYTES_OF_A_COPY < size:
        with file.device.lane as lane:  # large pages: all but their headers comes from the device
            lane.copy(memory.address, file.memory.address, size)
        parts: list[tuple[int, Any]] = [*file.patches, (size, footer)]
    else:
        out: Any = file.before_footer
        if out.readonly:
            out = bytearray(out)
        file.patch(out)
        parts = [(0, out), (size, footer)]
    views = [(at, _memory.view(part)) for at, part in parts]
    file.device.send([(memory.address + at, view.address, view.bytes) for at, view in views])
    none = [0] * len(file.chunks)
    if file.memory.device is not None:
        _decrypt(file, data, none, target, none)
    else:
        source, shifts, _ = _send_chunks(file)
        _decrypt(file, source, shifts, target, none)
    _memory.written(memory)
    return target


def _send_chunks(file: File) -> tuple[Any, list[int], int]:
    """Copies encrypted chunks to the device, where they follow each other. Returns the memory, what must be added to
    places in the file for places in it, and its size."""
    ends = [0, *accumulate(chunk.end - chunk.begin for chunk in file.chunks)]
    array, memory = file.device.new(ends[-1])
    file.device.send(
        [
            (memory.address + to, file.memory.address + chunk.begin, chunk.end - chunk.begin)
            for to, chunk in zip(ends, file.chunks)
        ]
    )
    return array, [to - chunk.begin for to, chunk in zip(ends, file.chunks)], ends[-1]


def _decrypt(file: File, source: Any, source_shifts: Sequence[int], target: Any, target_shifts: Sequence[int]) -> None:
    """Decrypts the texts of all pages."""
    source_at, target_at = file.texts.at, []
    if any(source_shifts):
        source_at = []
        for chunk, shift in zip(file.chunks, source_shifts):
            found = file.texts.at[chunk.first : chunk.first + len(chunk.pages)]
            source_at += map(shift.__add__, found)
    for chunk, shift in zip(file.chunks, target_shifts):
        target_at += [begin + header_bytes + shift for *_, begin, header_bytes, _ in chunk.pages]
    if target_at:
        file.device.decrypt(file.texts, source, source_at, target, target_at)
