"""Blocks of a KV cache as LMCache's serde "aesgcm" stores them.

    key = lmcache.tenant_key(master_key, cache_salt)
    frames = lmcache.encrypt(key, blocks, [45_056] * count)     # in device memory, one launch for all blocks
    blocks = lmcache.decrypt(key, frames, [45_056] * count)

A frame is a byte 1, an IV of 12 bytes, the ciphertext, and the tag of 16: AES-GCM without additional data.
docs/formats-lmcache.md says where that is specified, and what is checked.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import ctypes
import hmac
import os
from operator import add, le, sub
from typing import Any, Iterator, overload

from .. import _driver, _library, _memory
from .._columns import Column, are_apart, each, edges, every, greatest, least
from .._driver import DeviceMemory
from .._places import Places, check_apart, check_overlaps, row
from .._types import CudaArray, Data, DataT, DLPackArray, ElementsArray, Keys, Numbers, T
from ..batch import Batch, Pieces, numbers_of_keys, refuse

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
_MASKED = [bytes(byte ^ mask for byte in range(256)) for mask in _MASK[:_HEADER]]  # each byte of a header, XOR _MASK
_BUS_BYTES, _DEVICE_BYTES = 256 << 20, 1 << 30  # of a part: while a part passes the bus, or is encrypted, the next is described


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
    each other in a new array. IVs come from os.urandom(). One of `blocks` and `out` is in memory of a device, and
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
    _check_places(Pieces(blocks, begins[:-1], lengths), target, starts, lengths)
    numbers = _numbers(keys, key_numbers, len(lengths))
    work, kept = [], []
    with _until_done(like):
        for part in _parts(starts, sealed_lengths, _DEVICE_BYTES if frames is target else _BUS_BYTES):
            where = begins[:-1][part], lengths[part], starts[part]
            batch, headers = _seal(keys, numbers and numbers[part], blocks, frames, like, *where)
            work.append(batch)
            kept.append(headers)
            if frames is not target:
                first, last = least(where[2]), greatest(each(add, where[2], sealed_lengths[part]))
                _fetch(frames, target, first, last)
    for batch in work:
        batch.check()
    return target


def _seal(
    keys: Keys, numbers: Any, blocks: Any, frames: Any, like: Any, begins: Column, lengths: Column, starts: Column
) -> tuple[Batch[Any, Any], bytearray]:  # fmt: skip
    """Queues encryption, and copies of headers, whose bytes must stay until that is done."""
    source, count = Pieces(blocks, begins, lengths), len(lengths)
    end = _HEADER * count
    headers = bytearray(os.urandom(end))
    headers[::_HEADER] = bytes([_VERSION]) * count
    headers += bytes(end)
    for at, masked in enumerate(_MASKED):
        headers[end + at :: _HEADER] = headers[at:end:_HEADER].translate(masked)
    sent = _new(like, len(headers))
    # IVs are not read from the frames: whoever can write those would choose them.
    sealed = Batch(
        "GCM",
        keys,
        source,
        encrypt=True,
        ivs=Pieces(sent, range(1, end, _HEADER), _IV),
        tags=Pieces(frames, each(add, each(add, starts, lengths), _HEADER), _TAG),
        key_numbers=numbers,
        out=Pieces(frames, each(add, starts, _HEADER), lengths),
    )
    # All arguments have been looked at.
    _send(_memory.view(headers).address, sent, 0, len(headers))
    _copy(Pieces(sent, range(end, 2 * end, _HEADER), _HEADER), Pieces(frames, starts, _HEADER))
    sealed.queue()
    return sealed, headers


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

    Raises MalformedFrame for a frame of another version; of frames of the host, `out` may then have the texts of others.
    Raises InvalidTag, which names frames that are not authentic. The text of such a frame is zeros.
    """
    lengths, begins, starts = _columns(sizes, places)
    texts = _new(frames, int(begins[-1])) if out is None else out
    _check_length(texts, "out", int(begins[-1]))
    _check_end(frames, "frames", greatest(each(add, each(add, starts, lengths), OVERHEAD)))
    like = _on_device_of(frames, texts)
    sealed_lengths, numbers = each(add, lengths, OVERHEAD), _numbers(keys, key_numbers, len(lengths))
    _check_texts(Pieces(texts, begins[:-1], lengths), frames, starts, lengths)
    host = _memory.view(frames) if _is_of_host(frames) else None
    copies = host is not None and _is_dense(starts, sealed_lengths)
    if host:
        _lane(_memory.view(like)).wait("waiting for frames")  # the stream may have yet to write them
    else:
        _check_versions(_versions(frames, starts, like), 0)
    work = []
    with _until_done(like):
        shift = least(starts) if copies else 0
        if copies:
            frames = _new(like, greatest(each(add, starts, sealed_lengths)) - shift)
        for part in _parts(starts, sealed_lengths, _BUS_BYTES if host else _DEVICE_BYTES):
            here, count = starts[part], lengths[part]
            if host:
                _check_versions(_versions_of_host(host, here), part.start)
            if host and copies:
                begin, end = least(here), greatest(each(add, here, sealed_lengths[part]))
                _send(host.address + begin, frames, begin - shift, end - begin)
            here = each(sub, here, shift)
            batch = Batch(
                "GCM",
                keys,
                Pieces(frames, each(add, here, _HEADER), count),
                encrypt=False,
                ivs=Pieces(frames, each(add, here, 1), _IV),
                tags=Pieces(frames, each(add, each(add, here, count), _HEADER), _TAG),
                key_numbers=numbers and numbers[part],
                out=Pieces(texts, begins[:-1][part], count),
            )
            batch.queue()
            work.append((part.start, batch))
    refuse([first + number for first, batch in work for number in batch.not_authentic()])
    return texts


def _frame_parts(frames: Any, starts: Column, lengths: Column, before: int) -> tuple[Places, Places, Places]:
    """The ciphertexts, `before` bytes of the header before each, and the tags."""
    texts_at = each(add, starts, _HEADER)
    parts = (texts_at, lengths), (each(sub, texts_at, before), before), (each(add, texts_at, lengths), _TAG)
    texts, headers, tags = (Pieces(frames, begins, size).places("frames") for begins, size in parts)
    return texts, headers, tags


def _check_places(blocks: Pieces, out: Any, starts: Column, lengths: Column) -> None:
    """Over all parts: one must not be written over blocks of another."""
    source = blocks.places("blocks")
    texts, headers, tags = _frame_parts(out, starts, lengths, _HEADER)
    for places in headers, tags:
        check_apart(source, places, "out has a frame whose header or tag lies over a block,")
    check_overlaps(source, texts)


def _check_texts(out: Pieces, frames: Any, starts: Column, lengths: Column) -> None:
    """Over all parts: one must not be written over frames of another, but for versions, which are read before."""
    target = out.places("out", writable=True)
    texts, ivs, tags = _frame_parts(frames, starts, lengths, _IV)
    for places in ivs, tags:
        check_apart(places, target, "out overlaps the IV or the tag of a frame,")
    check_overlaps(texts, target)


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
    if greatest(lengths) > _library.QUEUE_BYTES:
        i = next(i for i, length in enumerate(lengths.tolist()) if length > _library.QUEUE_BYTES)
        raise ValueError(f"sizes[{i}] is {int(lengths[i])}: expected {_library.QUEUE_BYTES} at most")
    if len(starts) != len(lengths):
        raise ValueError(f"places has {len(starts)}: expected {len(lengths)}, one for each block")
    return lengths, begins, starts


def _numbers(keys: Keys, key_numbers: Numbers | None, count: int) -> Any:
    several = len(keys) if isinstance(keys, (list, tuple)) else 1
    return None if key_numbers is None or not several else numbers_of_keys(key_numbers, count, several)


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


def _is_dense(starts: Column, lengths: Column) -> bool:
    """Whether frames are half or more of what lies between the first and the last. The device then reads a copy of all of
    it: kernels read pinned memory at odd offsets at a fifth of the rate of a copy."""
    return greatest(each(add, starts, lengths)) - least(starts) <= 2 * int(edges(lengths)[-1])


def _parts(starts: Column, lengths: Column, most: int) -> list[slice]:
    """Frames in parts of some `most` bytes. Frames in another order than that of their places are one part."""
    count, total = len(lengths), int(edges(lengths)[-1])
    size = max(1, count * most // max(total, 1)) if every(le, starts[:-1], starts[1:]) else count
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]


def _versions(frames: Any, starts: Column, like: Any) -> bytes:
    versions = _new(like, len(starts))
    _copy(Pieces(frames, starts, 1), Pieces(versions, range(len(starts)), 1))
    memory = _memory.view(versions)
    return _lane(memory).read(memory.address, memory.bytes).translate(_MASKED[0])


def _versions_of_host(host: _memory.Memory, starts: Column) -> bytes:
    data = memoryview((ctypes.c_ubyte * host.bytes).from_address(host.address)).cast("B")
    return bytes(map(data.__getitem__, starts.tolist()))


def _check_versions(versions: bytes, first: int) -> None:
    """Of frames from number `first` on."""
    if wrong := versions.strip(bytes([_VERSION])):
        number = first + versions.index(wrong[0])
        raise MalformedFrame(f"frame {number} has version {wrong[0]}: expected {_VERSION}")


def _lane(memory: _memory.Memory) -> _driver.Lane:
    return _driver.lane(memory.device or 0, memory.stream, memory.stream_owner)


@contextlib.contextmanager
def _until_done(like: Any) -> Iterator[None]:
    """Waits for the work that is queued within, also after an exception: that work uses the caller's memory of the host."""
    try:
        yield
    finally:
        _lane(_memory.view(like)).wait("copying frames")


def _send(address: int, array: Any, begin: int, count: int) -> None:
    """Queues a copy of bytes of the host to byte `begin` of an array."""
    memory = _memory.view(array)
    with _lane(memory) as lane:
        lane.send(memory.address + begin, address, count)


def _fetch(frames: Any, target: Any, begin: int, end: int) -> None:
    """Queues a copy of these bytes to the same place of the host."""
    memory = _memory.view(frames)
    with _lane(memory) as lane:
        lane.fetch(_memory.view(target, writable=True).address + begin, memory.address + begin, end - begin)


def _copy(source: Pieces, target: Pieces) -> None:
    """Queues that pieces are copied, each XOR _MASK."""
    Batch("CTR", _NO_SECRET, source, encrypt=True, ivs=_NO_SECRET * len(source.begins), out=target).queue()
