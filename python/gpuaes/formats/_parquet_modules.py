"""Encrypted modules of a Parquet file, many of which a device decrypts by one launch for each size of keys.

A module is length (4) | nonce (12) | ciphertext | tag (16); pages of AES_GCM_CTR_V1 have no tag.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import struct
from itertools import accumulate
from typing import Any, Sequence, Tuple, Union

from .. import _driver, _library, _memory
from ..batch import Batch, Pieces
from ..errors import InvalidTag
from ._parquet_bytes import Bytes
from ._parquet_footer import RefusedFile

__all__ = ["LENGTH", "NONCE", "TAG", "Device", "Modules", "said"]

LENGTH, NONCE, TAG = 4, 12, 16
_FIRST_COUNTER = b"\0\0\0\1"
_length_at = struct.Struct("<I").unpack_from


# What a message calls a module: words, or a chunk, the number of a page in it (-1 for the dictionary) and what follows,
# of which words are made for a message alone.
Where = Union[str, Tuple[str, int, str]]


def said(where: Where) -> str:
    if isinstance(where, str):
        return where
    chunk, number, more = where
    return f"{chunk}, {'dictionary' if number < 0 else f'page {number}'}{more}"


class Modules:
    """Modules in columns, since there are many. Text i has sizes[i] bytes, and its ciphertext is at[i] bytes behind the
    beginning of the data in which it was found. Nonces and tags follow each other, and so do all `sealed` ciphertexts,
    where these are kept. Nothing refers to the data."""

    def __init__(self, tag: int = TAG, keep_sealed: bool = False) -> None:
        self.tag = tag
        self.at: list[int] = []
        self.sizes: list[int] = []
        self.keys: list[bytes] = []
        self.aad: list[bytes | None] = []
        self.where: list[Where] = []
        self.nonces, self.tags = bytearray(), bytearray()
        self.sealed = bytearray() if keep_sealed else None

    def __len__(self) -> int:
        return len(self.at)

    def find(self, data: Bytes, at: int, end: int, key: bytes, aad: bytes | None, where: Where) -> int:
        """Adds the module at `at`: none of it lies outside of `data`, or behind `end`. Returns where it ends."""
        if not 0 <= at <= end - LENGTH <= data.bytes - LENGTH:
            raise RefusedFile(f"{said(where)}: truncated")
        # Not by data.read(): its calls would cost as much as all the rest, for each module.
        if at < data.begin or data.end < at + LENGTH + NONCE:
            data.fetch(at, at + LENGTH + NONCE)
        view, shift = data.view, data.begin
        length: int = _length_at(view, at - shift)[0]
        begin, behind = at + LENGTH + NONCE, at + LENGTH + length
        text_end = behind - self.tag
        if not begin <= text_end <= end - self.tag:
            raise RefusedFile(f"{said(where)}: truncated, or it has a wrong length")
        if text_end - begin > _library.QUEUE_BYTES:
            found, most = text_end - begin, _library.QUEUE_BYTES
            raise RefusedFile(f"{said(where)}: it has {found} bytes: expected {most} at most")
        self.at.append(begin)
        self.sizes.append(text_end - begin)
        self.keys.append(key)
        self.aad.append(aad)
        self.where.append(where)
        self.nonces += view[at + LENGTH - shift : begin - shift]
        if data.end < behind:
            data.fetch(text_end if self.sealed is None else begin, behind)
            view, shift = data.view, data.begin
        self.tags += view[text_end - shift : behind - shift]
        if self.sealed is not None:
            self.sealed += view[begin - shift : text_end - shift]
        return behind


class Device:
    """Where modules are decrypted: memory is made like an array."""

    def __init__(self, like: Any) -> None:
        if like is None:
            like = _driver.DeviceMemory(_driver.any_ordinal(), 1, _memory.LEGACY_STREAM)
        self._like = memory = _memory.view(like, name="like")
        if memory.device is None:
            raise ValueError("like is in memory of the host: expected memory of a device, or None")
        self.lane = _driver.lane(memory.device, memory.stream, memory.stream_owner)

    def new(self, count: int) -> tuple[Any, _memory.Memory]:
        return _memory.new_like(self._like, max(count, 1))

    def send(self, copies: Sequence[tuple[int, int, int]]) -> None:
        """Copies from the host, each (to, from, bytes), and waits, so that its memory may go."""
        with self.lane as lane:
            for copy in copies:
                lane.send(*copy)
            lane.wait("copying to the device")

    def texts(self, modules: Modules) -> list[bytes]:
        """Those of small modules, whose ciphertexts were kept."""
        sealed = modules.sealed
        if not modules or sealed is None:
            return []
        begins = [0, *accumulate(modules.sizes)]
        array, memory = self.new(len(sealed))
        self.send([(memory.address, _memory.view(sealed).address, len(sealed))])
        self.decrypt(modules, array, begins[:-1], array, begins[:-1])
        text = self.lane.read(memory.address, len(sealed))
        return [text[begin:end] for begin, end in zip(begins, begins[1:])]

    def decrypt(
        self, modules: Modules, source: Any, source_at: Sequence[int], target: Any, target_at: Sequence[int]
    ) -> None:
        """The ciphertext of module i is at source_at[i]; its text gets to target_at[i]. Waits."""
        with contextlib.ExitStack() as stack:
            queued = []
            key_sizes = list(map(len, modules.keys))
            for size in sorted(set(key_sizes)):
                chosen = [number for number, found in enumerate(key_sizes) if found == size]
                batch = self._batch(modules, chosen, source, source_at, target, target_at)
                stack.callback(batch.close)
                batch.queue()
                queued.append((batch, chosen))
            for batch, chosen in queued:
                self._check(batch, modules, chosen)

    def _batch(
        self, modules: Modules, chosen: list[int], source: Any, source_at: Sequence[int], target: Any,
        target_at: Sequence[int],
    ) -> Batch[Any, Any]:  # fmt: skip
        """Of modules whose keys have one size."""

        def of(column: Sequence[Any]) -> Any:
            return column if len(chosen) == len(column) else list(map(column.__getitem__, chosen))

        def packed(column: bytearray, size: int) -> bytes:
            if len(chosen) == len(modules):
                return bytes(column)
            return b"".join([column[size * number : size * (number + 1)] for number in chosen])

        keys, aad, sizes = of(modules.keys), of(modules.aad), of(modules.sizes)
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        ivs = packed(modules.nonces, NONCE)
        if not modules.tag:
            ivs = b"".join([ivs[at : at + NONCE] + _FIRST_COUNTER for at in range(0, len(ivs), NONCE)])
        return Batch(
            "GCM" if modules.tag else "CTR",
            list(numbers),
            Pieces(source, of(source_at), sizes),
            encrypt=False,
            ivs=ivs,
            aad=aad if modules.tag and aad[0] is not None else None,
            tags=packed(modules.tags, TAG) if modules.tag else None,
            key_numbers=list(map(numbers.__getitem__, keys)),
            out=Pieces(target, of(target_at), sizes),
        )

    def _check(self, batch: Batch[Any, Any], modules: Modules, chosen: list[int]) -> None:
        try:
            batch.check()
        except InvalidTag:
            status = _memory.view(batch.status)
            codes = memoryview(self.lane.read(status.address, status.bytes)).cast("i")
            wrong = modules.where[chosen[codes.tolist().index(_library.BAD_TAG)]]
            raise RefusedFile(f"{said(wrong)}: not authentic: another key, or changed") from None
