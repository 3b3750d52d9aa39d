"""Blocks of a KV cache as LMCache's serde "aesgcm" stores them.

    key = lmcache.tenant_key(master_key, cache_salt)
    frames = lmcache.encrypt(key, blocks, [45_056] * count)     # in device memory, one launch for all blocks
    blocks = lmcache.decrypt(key, frames, [45_056] * count)

A frame is a byte 1, an IV of 12 bytes, the ciphertext, and the tag of 16: AES-GCM without additional data.
docs/formats-lmcache.md says where that is specified, and what is checked.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import hmac
import os
from operator import add, sub
from typing import Any, overload

from .. import _driver, _memory
from .._columns import Column, are_apart, each, edges, greatest, least
from .._driver import DeviceMemory
from .._places import check_apart, row
from .._types import CudaArray, Data, DataT, DLPackArray, ElementsArray, Keys, Numbers, T
from ..batch import Batch, Pieces

__all__ = ["OVERHEAD", "MalformedFrame", "decrypt", "encrypt", "tenant_key"]

_VERSION, _IV, _TAG = 1, 12, 16
_HEADER = 1 + _IV
OVERHEAD = _HEADER + _TAG
_END = 1 << 62  # of any array, so that no sum of two numbers overflows
_INFO = b"lmcache-l2-aesgcm-v1"

# A batch of CTR copies headers between frames and one array by a single launch. Key and IV are zeros and no secret;
# _MASK is their keystream, AES-128 of a block of zeros.
_NO_SECRET = bytes(16)
_MASK = bytes.fromhex("66e94bd4ef8a2c3b884cfa59ca342b2e")


class MalformedFrame(ValueError):
    """A frame is not one of LMCache; the message has its number."""


def tenant_key(master_key: bytes, cache_salt: str, bits: int = 128) -> bytes:
    """Returns the key of a tenant, as LMCache's HkdfKeyProvider derives it: HKDF with SHA-256, without salt."""
    if not master_key:
        raise ValueError("master_key is empty: expected bytes")
    if bits not in (128, 256):
        raise ValueError(f"bits is {bits!r}: expected 128 or 256")
    secret = hmac.digest(bytes(32), master_key, "sha256")
    return hmac.digest(secret, _INFO + cache_salt.encode() + b"\x01", "sha256")[: bits // 8]


@overload
def encrypt(
    keys: Keys, blocks: Data, sizes: Numbers,
    *, key_numbers: Numbers | None = ..., out: DataT, places: Numbers | None = ...,
) -> DataT: ...  # fmt: skip
@overload
def encrypt(
    keys: Keys, blocks: ElementsArray[T], sizes: Numbers,
    *, key_numbers: Numbers | None = ..., out: None = None, places: Numbers | None = ...,
) -> T: ...  # fmt: skip
@overload
def encrypt(
    keys: Keys, blocks: CudaArray | DLPackArray, sizes: Numbers,
    *, key_numbers: Numbers | None = ..., out: None = None, places: Numbers | None = ...,
) -> DeviceMemory: ...  # fmt: skip
def encrypt(
    keys: Keys,
    blocks: Any,
    sizes: Numbers,
    *,
    key_numbers: Numbers | None = None,
    out: Any = None,
    places: Numbers | None = None,
) -> Any:
    """Returns the frames of blocks that follow each other in `blocks`; block i has sizes[i] bytes.

    `keys` and `key_numbers` are as for gpuaes.Batch. Frame i begins at places[i] of `out`; without them, frames follow
    each other in a new array. Each IV comes from os.urandom(). One of `blocks` and `out` is in memory of a device, and
    the other there, too, or in memory of the host, which is pinned unless it is for frames without gaps between them.
    Frames overlap no block, except that the ciphertext of a block may be in its place.
    """
    lengths, begins, starts = _columns(sizes, places)
    _check_length(blocks, "blocks", int(begins[-1]))
    count, sealed_lengths = len(lengths), each(add, lengths, OVERHEAD)
    if not are_apart(starts, sealed_lengths):
        raise ValueError("places has a frame that overlaps another: expected each behind the end of others")
    end = greatest(each(add, starts, sealed_lengths))
    frames = target = _new(blocks, end) if out is None else out
    _check_end(target, "out", end)
    like = _on_device_of(blocks, frames)
    if _is_of_host(target) and end == int(edges(sealed_lengths)[-1]):
        frames = _new(like, end)  # no gap, which a copy would overwrite
    source = Pieces(blocks, begins[:-1], lengths)
    headers_at, tags_at = Pieces(frames, starts, _HEADER), Pieces(frames, each(add, each(add, starts, lengths), _HEADER), _TAG)
    for pieces in headers_at, tags_at:
        check_apart(source.places("blocks"), pieces.places("out"), "out has a frame whose header or tag lies over a block,")
    ivs = os.urandom(_IV * count)
    headers = bytearray(_HEADER * count)
    headers[::_HEADER] = bytes([_VERSION]) * count
    for at in range(_IV):
        headers[1 + at :: _HEADER] = ivs[at::_IV]
    sealed = Batch(
        "GCM",
        keys,
        source,
        encrypt=True,
        ivs=ivs,
        tags=tags_at,
        key_numbers=key_numbers,
        out=Pieces(frames, each(add, starts, _HEADER), lengths),
    )
    masked = _masked(headers)
    rows = range(0, len(headers), _HEADER)
    copied = _copy(Pieces(_sent(_memory.view(masked).address, len(masked), like), rows, _HEADER), headers_at)
    sealed.queue()
    sealed.check()
    copied.check()
    if frames is not target:
        _fetch(frames, target)
    return target


@overload
def decrypt(
    keys: Keys, frames: Data, sizes: Numbers,
    *, key_numbers: Numbers | None = ..., out: DataT, places: Numbers | None = ...,
) -> DataT: ...  # fmt: skip
@overload
def decrypt(
    keys: Keys, frames: ElementsArray[T], sizes: Numbers,
    *, key_numbers: Numbers | None = ..., out: None = None, places: Numbers | None = ...,
) -> T: ...  # fmt: skip
@overload
def decrypt(
    keys: Keys, frames: CudaArray | DLPackArray, sizes: Numbers,
    *, key_numbers: Numbers | None = ..., out: None = None, places: Numbers | None = ...,
) -> DeviceMemory: ...  # fmt: skip
def decrypt(
    keys: Keys,
    frames: Any,
    sizes: Numbers,
    *,
    key_numbers: Numbers | None = None,
    out: Any = None,
    places: Numbers | None = None,
) -> Any:
    """Returns the blocks of frames, one after the other, in a new array or in `out`; sizes[i] is the length of block i,
    which a frame does not have. Frame i begins at places[i] of `frames`, or where the one before it ends.

    Raises MalformedFrame for a frame of another version, and InvalidTag, which names frames that are not authentic. The
    text of such a frame is zeros.
    """
    lengths, begins, starts = _columns(sizes, places)
    texts = _new(frames, int(begins[-1])) if out is None else out
    _check_length(texts, "out", int(begins[-1]))
    _check_end(frames, "frames", greatest(each(add, each(add, starts, lengths), OVERHEAD)))
    like = _on_device_of(frames, texts)
    if _is_of_host(frames):
        frames, starts = _near(frames, starts, each(add, lengths, OVERHEAD), like)
    batch = Batch(
        "GCM",
        keys,
        Pieces(frames, each(add, starts, _HEADER), lengths),
        encrypt=False,
        ivs=Pieces(frames, each(add, starts, 1), _IV),
        tags=Pieces(frames, each(add, each(add, starts, lengths), _HEADER), _TAG),
        key_numbers=key_numbers,
        out=Pieces(texts, begins[:-1], lengths),
    )
    versions = _new(like, len(lengths))
    _copy(Pieces(frames, starts, 1), Pieces(versions, range(len(lengths)), 1)).check()
    masked = _read(versions)
    if wrong := masked.strip(bytes([_VERSION ^ _MASK[0]])):
        number = masked.index(wrong[0])
        raise MalformedFrame(f"frame {number} has version {wrong[0] ^ _MASK[0]}: expected {_VERSION}")
    batch.queue()
    batch.check()
    return texts


def _columns(sizes: Numbers, places: Numbers | None) -> tuple[Column, Column, Column]:
    """The lengths of blocks, where they begin, and where their frames begin."""
    try:
        lengths = row(sizes, "sizes")
        begins = edges(lengths)
        starts = edges(each(add, lengths, OVERHEAD))[:-1] if places is None else row(places, "places")
        if any(len(numbers) and greatest(numbers) >= _END for numbers in (lengths, starts)):
            raise OverflowError
    except OverflowError:
        raise ValueError(f"sizes or places has a number below 0, or of {_END} or more: expected bytes of an array") from None
    if not len(lengths):
        raise ValueError("sizes is empty: expected the length of each block")
    if len(starts) != len(lengths):
        raise ValueError(f"places has {len(starts)}: expected {len(lengths)}, one for each block")
    return lengths, begins, starts


def _check_length(array: Any, name: str, count: int) -> None:
    if (found := _memory.view(array, name=name).bytes) != count:
        raise ValueError(f"{name} has {found} bytes: expected {count}, the sum of sizes")


def _check_end(array: Any, name: str, end: int) -> None:
    if (found := _memory.view(array, name=name).bytes) < end:
        raise ValueError(f"{name} has {found} bytes: expected {end}, where the last frame ends by sizes and places")


def _new(like: Any, count: int) -> Any:
    return _memory.new_like(_memory.view(like), count)[0]


def _on_device_of(*arrays: Any) -> Any:
    """The first of them that is in memory of a device."""
    for array in arrays:
        if _memory.view(array).device is not None:
            return array
    raise ValueError("the data is in memory of the host: expected memory of a device for it or for out")


def _is_of_host(array: Any) -> bool:
    return _memory.view(array).device is None


def _near(frames: Any, starts: Column, lengths: Column, like: Any) -> tuple[Any, Column]:
    """Frames of the host as the device reads them best: a copy of all that lies between the first and the last, unless
    most of that is other data. Kernels read pinned memory at odd offsets at a fifth of the rate of a copy."""
    first, end = least(starts), greatest(each(add, starts, lengths))
    data = _memory.view(frames)
    if end - first > 2 * int(edges(lengths)[-1]):
        return frames, starts
    return _sent(data.address + first, end - first, like), each(sub, starts, first)


def _lane(memory: _memory.Memory) -> _driver.Lane:
    return _driver.lane(memory.device or 0, memory.stream, memory.stream_owner)


def _read(array: Any) -> bytes:
    memory = _memory.view(array)
    return _lane(memory).read(memory.address, memory.bytes)


def _masked(headers: bytearray) -> bytes:
    """Headers, each XOR _MASK."""
    mask = _MASK[:_HEADER] * (len(headers) // _HEADER)
    return (int.from_bytes(headers, "big") ^ int.from_bytes(mask, "big")).to_bytes(len(mask), "big")


def _sent(address: int, count: int, like: Any) -> Any:
    """A copy of bytes of the host in memory of a device."""
    array, memory = _memory.new_like(_memory.view(like), count)
    with _lane(memory) as lane:
        lane.send(memory.address, address, count)
        lane.wait("copying to the device")
    return array


def _fetch(frames: Any, target: Any) -> None:
    memory = _memory.view(frames)
    with _lane(memory) as lane:
        lane.fetch(_memory.view(target, writable=True).address, memory.address, memory.bytes)
        lane.wait("copying frames to the host")


def _copy(source: Pieces, target: Pieces) -> Batch:
    """Queues that pieces are copied, each XOR _MASK."""
    batch = Batch("CTR", _NO_SECRET, source, encrypt=True, ivs=_NO_SECRET * len(source.begins), out=target)
    batch.queue()
    return batch
