"""Blocks of a KV cache as LMCache's serde "aesgcm" stores them.

    key = lmcache.tenant_key(master_key, cache_salt)
    frames = lmcache.encrypt(key, blocks, [45_056] * count)     # in device memory, one launch for all blocks
    blocks = lmcache.decrypt(key, frames, [45_056] * count)

A frame is a byte 1, an IV of 12 bytes, the ciphertext, and the tag of 16: AES-GCM without additional data.
docs/formats-lmcache.md says where that is specified, and what is checked.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import hmac
import os
from itertools import accumulate
from typing import Any, Sequence

from .. import _driver, _memory
from .._arguments import integers
from ..batch import Batch, Pieces

__all__ = ["OVERHEAD", "MalformedFrame", "decrypt", "encrypt", "tenant_key"]

_VERSION, _IV, _TAG = 1, 12, 16
_HEADER = 1 + _IV
OVERHEAD = _HEADER + _TAG
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


def encrypt(
    keys: Any,
    blocks: Any,
    sizes: Sequence[int],
    *,
    key_numbers: Sequence[int] | None = None,
    out: Any = None,
    places: Sequence[int] | None = None,
) -> Any:
    """Returns the frames of blocks that follow each other in `blocks`, memory of a device; block i has sizes[i] bytes.

    `keys` and `key_numbers` are as for gpuaes.Batch. Frame i begins at places[i] of `out`; without them, frames follow
    each other in a new array. Each IV comes from os.urandom().
    """
    sizes, places = _places(sizes, places)
    begins = [0, *accumulate(sizes)]
    _check_length(blocks, "blocks", begins[-1])
    end = 0
    for place, size in sorted(zip(places, sizes)):
        if place < end:
            raise ValueError(f"places has {place}, within another frame: expected {end} or more")
        end = place + size + OVERHEAD
    frames = _new(blocks, end) if out is None else out
    ivs = os.urandom(_IV * len(sizes))
    headers = b"".join(
        bytes(a ^ b for a, b in zip(_MASK, bytes([_VERSION]) + ivs[i : i + _IV])) for i in range(0, len(ivs), _IV)
    )
    texts = Pieces(blocks, begins[:-1], sizes)
    sealed = Batch(
        "GCM",
        keys,
        texts,
        encrypt=True,
        ivs=[ivs[i : i + _IV] for i in range(0, len(ivs), _IV)],
        tags=Pieces(frames, [place + _HEADER + size for place, size in zip(places, sizes)], [_TAG] * len(sizes)),
        key_numbers=key_numbers,
        out=Pieces(frames, [place + _HEADER for place in places], sizes),
    )
    source = _on_device(headers, frames)
    rows = range(0, len(headers), _HEADER)
    copied = _copy(Pieces(source, rows, [_HEADER] * len(sizes)), Pieces(frames, places, [_HEADER] * len(sizes)))
    sealed.queue()
    sealed.check()
    copied.check()
    return frames


def decrypt(
    keys: Any,
    frames: Any,
    sizes: Sequence[int],
    *,
    key_numbers: Sequence[int] | None = None,
    out: Any = None,
    places: Sequence[int] | None = None,
) -> Any:
    """Returns the blocks of frames, one after the other, in a new array or in `out`; sizes[i] is the length of block i,
    which a frame does not have. Frame i begins at places[i] of `frames`, or where the one before it ends.

    Raises MalformedFrame for a frame of another version, and InvalidTag, which names frames that are not authentic. The
    text of such a frame is zeros.
    """
    sizes, places = _places(sizes, places)
    begins = [0, *accumulate(sizes)]
    texts = _new(frames, begins[-1]) if out is None else out
    _check_length(texts, "out", begins[-1])
    batch = Batch(
        "GCM",
        keys,
        Pieces(frames, [place + _HEADER for place in places], sizes),
        encrypt=False,
        ivs=Pieces(frames, [place + 1 for place in places], [_IV] * len(sizes)),
        tags=Pieces(frames, [place + _HEADER + size for place, size in zip(places, sizes)], [_TAG] * len(sizes)),
        key_numbers=key_numbers,
        out=Pieces(texts, begins[:-1], sizes),
    )
    heads = [1] * len(sizes)
    versions = _new(frames, len(sizes))
    copied = _copy(Pieces(frames, places, heads), Pieces(versions, range(len(sizes)), heads))
    copied.check()
    for number, masked in enumerate(_read(versions)):
        if masked ^ _MASK[0] != _VERSION:
            raise MalformedFrame(f"frame {number} has version {masked ^ _MASK[0]}: expected {_VERSION}")
    batch.queue()
    batch.check()
    return texts


def _places(sizes: Sequence[int], places: Sequence[int] | None) -> tuple[list[int], list[int]]:
    sizes = integers(sizes, "sizes")
    if not sizes or min(sizes) < 0:
        raise ValueError("sizes is empty or has a negative length: expected the length of each block")
    if places is None:
        return sizes, [0, *accumulate(size + OVERHEAD for size in sizes)][:-1]
    if len(places) != len(sizes):
        raise ValueError(f"places has {len(places)}: expected {len(sizes)}, one for each block")
    return sizes, integers(places, "places")


def _check_length(array: Any, name: str, count: int) -> None:
    if (found := _memory.view(array, name=name).bytes) != count:
        raise ValueError(f"{name} has {found} bytes: expected {count}, the sum of sizes")


def _new(like: Any, count: int) -> Any:
    return _memory.new_like(_memory.view(like), count)[0]


def _lane(memory: _memory.Memory) -> _driver.Lane:
    if memory.device is None:
        raise ValueError("the data is in memory of the host: expected memory of a device")
    return _driver.lane(memory.device, memory.stream, memory.stream_owner)


def _read(array: Any) -> bytes:
    memory = _memory.view(array)
    return _lane(memory).read(memory.address, memory.bytes)


def _on_device(data: bytes, like: Any) -> Any:
    """A copy of bytes of the host in memory of a device."""
    array, memory = _memory.new_like(_memory.view(like), len(data))
    with _lane(memory) as lane:
        lane.send(memory.address, ctypes.addressof(held := ctypes.create_string_buffer(data, len(data))), len(data))
        lane.wait("copying to the device")
    del held
    return array


def _copy(source: Pieces, target: Pieces) -> Batch:
    """Queues that pieces are copied, each XOR _MASK."""
    batch = Batch("CTR", _NO_SECRET, source, encrypt=True, ivs=[_NO_SECRET] * len(source.bytes), out=target)
    batch.queue()
    return batch
