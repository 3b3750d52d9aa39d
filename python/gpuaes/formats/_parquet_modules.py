"""Encrypted modules of a Parquet file, many of which a device decrypts by one launch for each size of keys.

A module is length (4) | nonce (12) | ciphertext | tag (16); pages of AES_GCM_CTR_V1 have no tag.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
from itertools import accumulate
from typing import Any, NamedTuple, Sequence

from .. import _driver, _library, _memory
from ..batch import Batch, Pieces
from ..errors import InvalidTag
from ._parquet_footer import RefusedFile

__all__ = ["LENGTH", "NONCE", "TAG", "Device", "Module", "find"]

LENGTH, NONCE, TAG = 4, 12, 16
_FIRST_COUNTER = b"\0\0\0\1"


class Module(NamedTuple):
    """`size` bytes of text at `at` of `data`, between nonce and tag."""

    data: Any
    at: int
    size: int
    tag: int
    key: bytes
    aad: bytes | None
    where: str

    @property
    def begin(self) -> int:
        return self.at - LENGTH - NONCE

    @property
    def end(self) -> int:
        return self.at + self.size + self.tag


def find(data: Any, at: int, end: int, key: bytes, aad: bytes | None, where: str, tag: int = TAG) -> Module:
    """The module at `at`: none of it lies outside of `data`, or behind `end`."""
    if not 0 <= at <= end - LENGTH <= len(data) - LENGTH:
        raise RefusedFile(f"{where}: truncated")
    length = int.from_bytes(data[at : at + LENGTH], "little")
    if not NONCE + tag <= length <= end - at - LENGTH:
        raise RefusedFile(f"{where}: truncated, or it has a wrong length")
    size = length - NONCE - tag
    if size > _library.QUEUE_BYTES:
        raise RefusedFile(f"{where}: it has {size} bytes: expected {_library.QUEUE_BYTES} at most")
    return Module(data, at + LENGTH + NONCE, size, tag, key, aad, where)


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

    def texts(self, modules: Sequence[Module]) -> list[bytes]:
        """Those of small modules."""
        if not modules:
            return []
        begins = [0, *accumulate(module.size for module in modules)]
        sealed = b"".join(module.data[module.at : module.at + module.size] for module in modules)
        array, memory = self.new(len(sealed))
        self.send([(memory.address, _memory.view(sealed).address, len(sealed))])
        self.decrypt(modules, array, begins, array, begins)
        text = self.lane.read(memory.address, len(sealed))
        return [text[begin:end] for begin, end in zip(begins, begins[1:])]

    def decrypt(
        self, modules: Sequence[Module], source: Any, source_at: Sequence[int], target: Any, target_at: Sequence[int]
    ) -> None:
        """The ciphertext of module i is at source_at[i]; its text gets to target_at[i]. All have a tag, or none. Waits."""
        with contextlib.ExitStack() as stack:
            queued = []
            for size in sorted({len(module.key) for module in modules}):
                numbers = [i for i, module in enumerate(modules) if len(module.key) == size]
                chosen = [modules[i] for i in numbers]
                keys = {key: i for i, key in enumerate(dict.fromkeys(module.key for module in chosen))}
                sizes = [module.size for module in chosen]
                aad: list[Any] = [module.aad for module in chosen]
                ivs = [bytes(module.data[module.at - NONCE : module.at]) for module in chosen]
                has_tags = chosen[0].tag > 0
                batch = Batch(
                    "GCM" if has_tags else "CTR",
                    list(keys),
                    Pieces(source, [source_at[i] for i in numbers], sizes),
                    encrypt=False,
                    ivs=ivs if has_tags else [iv + _FIRST_COUNTER for iv in ivs],
                    aad=aad if has_tags and aad[0] is not None else None,
                    tags=[bytes(module.data[module.end - TAG : module.end]) for module in chosen] if has_tags else None,
                    key_numbers=[keys[module.key] for module in chosen],
                    out=Pieces(target, [target_at[i] for i in numbers], sizes),
                )
                stack.callback(batch.close)
                batch.queue()
                queued.append((batch, chosen))
            for batch, chosen in queued:
                self._check(batch, chosen)

    def _check(self, batch: Batch, modules: Sequence[Module]) -> None:
        try:
            batch.check()
        except InvalidTag:
            status = _memory.view(batch.status)
            codes = memoryview(self.lane.read(status.address, status.bytes)).cast("i")
            wrong = modules[codes.tolist().index(_library.BAD_TAG)]
            raise RefusedFile(f"{wrong.where}: not authentic: another key, or changed") from None
