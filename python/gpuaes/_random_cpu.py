"""Random numbers in memory of the host: what gpuaes_random_queue() writes to memory of a device, by libcrypto's
keystream. All but normal numbers are the same bit by bit; gpuaes.h defines them.

NumPy converts, where it is installed; else Python does, which takes a microsecond for a number.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any

from . import _library
from ._library import BLOCK, RANDOM_BERNOULLI, RANDOM_BYTES, RANDOM_NORMAL32, RANDOM_NORMAL64, RANDOM_RANGE
from ._library import RANDOM_NORMAL_BFLOAT16, RANDOM_NORMAL_FLOAT16, RANDOM_UNIFORM32, RANDOM_UNIFORM64
from ._library import RANDOM_RANGE_BFLOAT16, RANDOM_RANGE_FLOAT16, RANDOM_RANGE_FLOAT32, RANDOM_RANGE_FLOAT64
from ._library import RANDOM_UNIFORM_BFLOAT16, RANDOM_UNIFORM_FLOAT16, Random
from ._libcrypto import CpuCipher, SecretBytes

# Ranges of more integers than this take two words for each.
_WORD_RANGE = 1 << 32
# A kind that the library does not number: RANDOM_RANGE of two words.
WIDE_RANGE = RANDOM_RANGE_FLOAT64 + 1

_HALVES = (RANDOM_UNIFORM_FLOAT16, RANDOM_UNIFORM_BFLOAT16, RANDOM_NORMAL_FLOAT16, RANDOM_NORMAL_BFLOAT16)
_BFLOAT16 = (RANDOM_UNIFORM_BFLOAT16, RANDOM_NORMAL_BFLOAT16)
# Integers of a range as floating-point numbers: the format of struct, and bytes.
_RANGE_FLOATS = {
    RANDOM_RANGE_FLOAT16: ("e", 2),
    RANDOM_RANGE_BFLOAT16: ("H", 2),
    RANDOM_RANGE_FLOAT32: ("f", 4),
    RANDOM_RANGE_FLOAT64: ("d", 8),
}
# Bits of a word that a uniform number of 32 bits or fewer has.
_UNIFORM_BITS = {RANDOM_UNIFORM32: 24, RANDOM_UNIFORM_FLOAT16: 13, RANDOM_UNIFORM_BFLOAT16: 16}
_NORMAL = (RANDOM_NORMAL32, RANDOM_NORMAL64, RANDOM_NORMAL_FLOAT16, RANDOM_NORMAL_BFLOAT16)

# Bytes of keystream for an element, by its kind.
WIDTH = {
    RANDOM_BYTES: 1,
    RANDOM_UNIFORM32: 4,
    RANDOM_UNIFORM64: 8,
    RANDOM_NORMAL32: 4,
    RANDOM_NORMAL64: 8,
    RANDOM_RANGE: 8,
    RANDOM_BERNOULLI: 8,
    WIDE_RANGE: 16,
    **dict.fromkeys(_HALVES, 4),
}

_PIECE = 256 << 10  # bytes of keystream at a time, which the caches hold: whole pairs of any kind
_WORD = (1 << 64) - 1

_numpy: Any = None


def _get_numpy() -> Any:
    """NumPy, or False where it is not installed."""
    global _numpy
    if _numpy is None:
        try:
            import numpy
        except ImportError:
            _numpy = False
        else:
            _numpy = numpy
    return _numpy


class Keystream:
    """That of AES-256-CTR from counter block 0 on, a key's."""

    def __init__(self, key: SecretBytes) -> None:
        self._cipher = CpuCipher("CTR", key, True)
        self._zeros = ctypes.create_string_buffer(_PIECE)

    def close(self) -> None:
        self._cipher.close()

    def write(self, position: int, out: int, count: int) -> None:
        """Writes bytes `position` on to an address."""
        skip = position % BLOCK
        self._cipher.begin((position // BLOCK).to_bytes(BLOCK, "big"))
        zeros = ctypes.addressof(self._zeros)
        if skip:
            left_out = ctypes.create_string_buffer(BLOCK)
            self._cipher.update(zeros, ctypes.addressof(left_out), skip)
        for at in range(0, count, _PIECE):
            self._cipher.update(zeros, out + at, min(_PIECE, count - at))


def kind_of(r: Random) -> int:
    """The kind by which keystream is used: that of ranges does not depend on the type."""
    if r.kind == RANDOM_RANGE or r.kind in _RANGE_FLOATS:
        return WIDE_RANGE if r.range > _WORD_RANGE else RANDOM_RANGE
    return int(r.kind)


def element_bytes(r: Random) -> int:
    if r.kind in _HALVES:
        return 2
    if r.kind in _RANGE_FLOATS:
        return _RANGE_FLOATS[r.kind][1]
    return r.element_bytes if r.kind in (RANDOM_RANGE, RANDOM_BERNOULLI) else WIDTH[r.kind]


def fill(stream: Keystream, r: Random, out: int) -> None:
    """Writes what the struct describes at an address; its key and counter do not count."""
    if r.kind == RANDOM_BYTES:
        stream.write(r.first, out, r.count)
        return
    width, size = WIDTH[kind_of(r)], element_bytes(r)
    convert = _by_numpy if _get_numpy() else _by_python
    # Of normal numbers, pairs of words are taken whole.
    skip = r.first % 2 if r.kind in _NORMAL else 0
    done = 0
    words = ctypes.create_string_buffer(_PIECE)
    while done < r.count:
        begin = r.first + done - skip
        count = min(r.count - done, _PIECE // width - skip)
        needed = count + skip
        needed += needed % 2
        stream.write(begin * width, ctypes.addressof(words), needed * width)
        convert(r, words, needed, skip, count, out + done * size)
        done += count
        skip = (skip + count) % 2 if r.kind in _NORMAL else 0
    _library.cleanse(words)


# ---- By NumPy ------------------------------------------------------------------------


def _by_numpy(r: Random, words: Any, needed: int, skip: int, count: int, out: int) -> None:
    numpy = _numpy
    kind = kind_of(r)
    size = min(WIDTH[kind], 8)
    word = numpy.frombuffer(words, dtype=f"<u{size}", count=needed * WIDTH[kind] // size)
    if r.kind in _UNIFORM_BITS:
        bits = _UNIFORM_BITS[r.kind]
        values = (word >> numpy.uint32(32 - bits)).astype(numpy.float32) * numpy.float32(2.0**-bits)
    elif r.kind == RANDOM_UNIFORM64:
        values = (word >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53
    elif r.kind in _NORMAL and size == 4:
        u = word[0::2].astype(numpy.float32) * numpy.float32(2.0**-32) + numpy.float32(2.0**-33)
        values = _normal(numpy, u, (word[1::2] >> numpy.uint32(8)) * 2.0**-23).astype(numpy.float32)
    elif r.kind == RANDOM_NORMAL64:
        u = (word[0::2] >> numpy.uint64(11)) * 2.0**-53 + 2.0**-54
        values = _normal(numpy, u, (word[1::2] >> numpy.uint64(11)) * 2.0**-52)
    elif kind == WIDE_RANGE:
        low, high = word[0::2], word[1::2]
        middle = high * numpy.uint64(r.range)
        carry = middle + _high_products(numpy, low, r.range) < middle
        values = _high_products(numpy, high, r.range) + carry + numpy.uint64(r.low & _WORD)
    elif kind == RANDOM_RANGE:
        values = _high_products(numpy, word, r.range) + numpy.uint64(r.low & _WORD)
    else:
        threshold = numpy.uint64(int(r.probability * 2.0**63))
        values = numpy.where(word >> numpy.uint64(1) < threshold, numpy.uint64(r.success), numpy.uint64(0))
    if r.kind in (RANDOM_RANGE, RANDOM_BERNOULLI):
        values = values.astype(f"<u{r.element_bytes}")
    elif r.kind == RANDOM_RANGE_BFLOAT16:
        values = (values.view(numpy.int64).astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
    elif r.kind in _RANGE_FLOATS:
        values = values.view(numpy.int64).astype(_RANGE_FLOATS[r.kind][0])
    else:
        number = values.dtype.type
        with numpy.errstate(over="ignore"):
            values = values * number(r.scale) + number(r.shift)
            if r.kind in _HALVES:
                values = _half_by_numpy(numpy, r.kind, values)
    values = numpy.ascontiguousarray(values[skip : skip + count])
    ctypes.memmove(out, values.ctypes.data, values.nbytes)


def _half_by_numpy(numpy: Any, kind: int, values: Any) -> Any:
    """Floats in a half type, as bits: uniform ones rounded down, normal ones to nearest."""
    if kind in _BFLOAT16:
        bits = values.view(numpy.uint32).astype(numpy.uint64)
        up = 0x7FFF + (bits >> 16 & 1) if kind == RANDOM_NORMAL_BFLOAT16 else (bits >> 31) * 0xFFFF
        return (bits + up >> 16).astype(numpy.uint16)
    halves = values.astype(numpy.float16)
    if kind == RANDOM_UNIFORM_FLOAT16:
        halves = numpy.where(halves > values, numpy.nextafter(halves, numpy.float16(-math.inf)), halves)
    return halves.view(numpy.uint16)


def _normal(numpy: Any, u: Any, t: Any) -> Any:
    """Box and Muller: two for each of u and t."""
    values = numpy.empty(2 * len(u))
    length = numpy.sqrt(-2 * numpy.log(u.astype(numpy.float64)))
    values[0::2] = length * numpy.cos(numpy.pi * t)
    values[1::2] = length * numpy.sin(numpy.pi * t)
    return values


def _high_products(numpy: Any, word: Any, by: int) -> Any:
    """The high halves of products of 64 bits each; 0 is 2^64."""
    if by == 0:
        return word
    half, shift = numpy.uint64(0xFFFFFFFF), numpy.uint64(32)
    low, high = word & half, word >> shift
    by_low, by_high = numpy.uint64(by & 0xFFFFFFFF), numpy.uint64(by >> 32)
    middle = high * by_low + (low * by_low >> shift)
    other = low * by_high + (middle & half)
    return high * by_high + (middle >> shift) + (other >> shift)


# ---- By Python -----------------------------------------------------------------------


def _by_python(r: Random, words: Any, needed: int, skip: int, count: int, out: int) -> None:
    kind = kind_of(r)
    letter, size = ("I", 4) if WIDTH[kind] == 4 else ("Q", 8)
    word = struct.unpack_from(f"<{needed * WIDTH[kind] // size}{letter}", words)
    if r.kind in _NORMAL:
        values: list[Any] = _normal_of(size, word)
    elif r.kind in _UNIFORM_BITS:
        bits = _UNIFORM_BITS[r.kind]
        values = [(w >> 32 - bits) * 2.0**-bits for w in word]
    elif r.kind == RANDOM_UNIFORM64:
        values = [(w >> 11) * 2.0**-53 for w in word]
    elif kind == WIDE_RANGE:
        pairs = zip(word[0::2], word[1::2])
        values = [r.low + ((high << 64 | low) * r.range >> 128) for low, high in pairs]
    elif kind == RANDOM_RANGE:
        values = [r.low + (w * (r.range or 1 << 64) >> 64) for w in word]
    else:
        threshold = int(r.probability * 2.0**63)
        values = [r.success if w >> 1 < threshold else 0 for w in word]
    if r.kind in _UNIFORM_BITS or r.kind in _NORMAL and size == 4:
        letter, scale, shift = "f", _single(r.scale), _single(r.shift)
        # A product of floats is exact as a double, and their sum, rounded twice, as if rounded once.
        values = [_single(_single(_single(v) * scale) + shift) for v in values]
        if r.kind in _HALVES:
            letter, values = "H", [_half_by_python(r.kind, v) for v in values]
    elif r.kind in (RANDOM_UNIFORM64, RANDOM_NORMAL64):
        letter, scale, shift = "d", r.scale, r.shift
        values = [v * scale + shift for v in values]
    elif r.kind == RANDOM_RANGE_BFLOAT16:
        letter, values = "H", [struct.unpack("<I", struct.pack("<f", v))[0] >> 16 for v in values]
    elif r.kind in _RANGE_FLOATS:
        letter = _RANGE_FLOATS[r.kind][0]
    else:
        values = [v % (1 << 8 * r.element_bytes) for v in values]
        letter = {1: "B", 2: "H", 4: "I", 8: "Q"}[r.element_bytes]
    data = struct.pack(f"<{count}{letter}", *values[skip : skip + count])
    ctypes.memmove(out, data, len(data))


def _half_by_python(kind: int, value: float) -> int:
    if kind in _BFLOAT16:
        (bits,) = struct.unpack("<I", ctypes.c_float(value))
        up = 0x7FFF + (bits >> 16 & 1) if kind == RANDOM_NORMAL_BFLOAT16 else (bits >> 31) * 0xFFFF
        return int(bits + up >> 16)
    try:
        (half,) = struct.unpack("<H", struct.pack("<e", value))
    except OverflowError:
        half = 0xFC00 if value < 0 else 0x7C00
    if kind == RANDOM_UNIFORM_FLOAT16 and struct.unpack("<e", struct.pack("<H", half))[0] > value:
        half += 1 if half & 0x8000 else -1 if half else 0x8001  # the next one below
    return int(half)


def _single(value: float) -> float:
    """Rounded to a float; infinite beyond the largest."""
    return ctypes.c_float(value).value


def _normal_of(size: int, word: tuple[int, ...]) -> list[float]:
    values: list[float] = []
    for a, b in zip(word[0::2], word[1::2]):
        if size == 4:
            u, t = _single(_single(a) * 2.0**-32 + 2.0**-33), (b >> 8) * 2.0**-23
        else:
            u, t = (a >> 11) * 2.0**-53 + 2.0**-54, (b >> 11) * 2.0**-52
        length = math.sqrt(-2 * math.log(u))
        values += (length * math.cos(math.pi * t), length * math.sin(math.pi * t))
    return values
