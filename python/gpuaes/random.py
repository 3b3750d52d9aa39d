"""Cryptographic random numbers for tensors: the keystream of AES-256-CTR, and what is made of it.

    from gpuaes.random import Generator

    generator = Generator()                  # a key of os.urandom()
    generator.normal_(tensor, 0.0, 2.5)      # in place, where the tensor is, on the current stream
    generator.random_(indices, 0, 1000)      # integers
    again = Generator(7).uniform_(tensor)    # the same numbers for a seed, in each run
    noise = generator.normal_like(array)     # a new array, also of JAX, whose arrays are immutable

Numbers are made by the device that has the tensor, or by libcrypto in memory of the host, and are the same: bit by
bit, but for normal numbers, which agree within rounding. `enum gpuaes_random_kind` of gpuaes.h, and libgpuaes(3), say
how numbers are made of the keystream, so that any AES can repeat them.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import array
import ctypes
import functools
import hashlib
import math
import operator
import os
import struct
import sys
import threading
from ctypes import byref
from types import TracebackType
from typing import Any, SupportsFloat, SupportsIndex, overload

from . import _driver, _fork, _library, _memory, _random_cpu
from ._driver import Lane
from ._library import BLOCK, RANDOM_BERNOULLI, RANDOM_BYTES, RANDOM_NORMAL32, RANDOM_NORMAL64, RANDOM_RANGE
from ._library import RANDOM_NORMAL_BFLOAT16, RANDOM_NORMAL_FLOAT16, RANDOM_UNIFORM32, RANDOM_UNIFORM64
from ._library import RANDOM_RANGE_BFLOAT16, RANDOM_RANGE_FLOAT16, RANDOM_RANGE_FLOAT32, RANDOM_RANGE_FLOAT64
from ._library import RANDOM_UNIFORM_BFLOAT16, RANDOM_UNIFORM_FLOAT16, Random, lib
from ._libcrypto import SecretBytes
from ._memory import Memory
from ._owner import Owner
from ._types import ArrayT, Data, DataT, Device, ElementsArray, Integers, T
from .errors import GpuaesError

__all__ = ["Generator"]

KEY_BYTES = 32
_STREAM_BYTES = 1 << 64  # of a key
_FORMAT = struct.Struct("<32sQbB")  # of a state: key, position, kind of the last numbers, forward_secure

_PACKAGES = ("torch", "cupy", "numpy", "jax")
_DEVICE_KINDS = ("cpu", "cuda", "gpu")
_Bytes = bytes  # which is a method below

# The types that are known: bytes, and what they are. What 1 is as bits, of types that have it.
_INTEGERS = {"uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4, "uint64": 8, "int64": 8}
_ONES = {
    "bool": (1, 1),
    **{name: (size, 1) for name, size in _INTEGERS.items()},
    "float16": (2, 0x3C00),
    "bfloat16": (2, 0x3F80),
    "float32": (4, 0x3F800000),
    "float64": (8, 0x3FF0000000000000),
}
_FLOATS = {  # uniform, normal, integers of a range
    "float16": (RANDOM_UNIFORM_FLOAT16, RANDOM_NORMAL_FLOAT16, RANDOM_RANGE_FLOAT16),
    "bfloat16": (RANDOM_UNIFORM_BFLOAT16, RANDOM_NORMAL_BFLOAT16, RANDOM_RANGE_BFLOAT16),
    "float32": (RANDOM_UNIFORM32, RANDOM_NORMAL32, RANDOM_RANGE_FLOAT32),
    "float64": (RANDOM_UNIFORM64, RANDOM_NORMAL64, RANDOM_RANGE_FLOAT64),
}
# A floating-point type has every integer up to this one, and down to its negative.
_WHOLE = {"float16": 1 << 11, "bfloat16": 1 << 8, "float32": 1 << 24, "float64": 1 << 53}


class Generator(Owner):
    """Random numbers of one key, one after the other.

    *Tensors* are filled in place: those of PyTorch and CuPy, NumPy's arrays, and what else can be written and has
    `__cuda_array_interface__` or the buffer protocol, in one piece. Methods that end with _ return their tensor. Methods
    that end with _like return a new one of the same package, type and shape, on the same device, as they would fill it: of
    PyTorch, CuPy, NumPy or JAX. In memory of a device work is queued on the current stream of the package, and nothing waits, but the first call on
    a device, which copies the key there. A stream that is captured into a CUDA graph is refused: each run of the
    graph would give the same numbers.

    *Reproducible.* The same seed, or state, and the same calls give the same numbers, wherever the tensors are. Calls
    of one kind continue each other: two of n elements give what one of 2 n does. A call of another kind begins with the
    next 16 bytes of the keystream, so that no two use the same bits. (random_() without limits, and bytes(), are one
    kind; random_() with limits, randint() and permutation() are one, but for limits with more than 2^32 and less than
    2^64 integers between them, which are another; uniform and normal numbers of each size are one each, and so are
    trials.)

    *Secrets.* Who knows the key, or a state, knows all numbers, also those of the past. With `forward_secure` each
    call ends with a new key, made of the keystream, and the old one is overwritten: what was made before cannot be
    computed any more. Each call then takes some 0.1 ms more on a device, and parts of a call no longer equal the
    whole.

    *Processes.* In a forked child a generator mixes bytes of os.urandom() into its key before its first numbers, so
    that it does not repeat the parent's; also one that was given a seed. A generator can be neither copied nor pickled:
    two would give the same numbers. state() is for those who want that.

    *Threads* may share an object, and take turns. close(), or the end of a `with`, overwrites the key; ValueError after
    that.
    """

    _instead = "make another in each process; state() and set_state() hand on the same numbers"

    def __init__(
        self,
        seed: SupportsIndex | str | _Bytes | bytearray | None = None,
        device: Device | None = None,
        *,
        forward_secure: bool = False,
    ) -> None:
        """`seed` None is a key of os.urandom(). 32 bytes are the key itself; of an int or a str it is the SHA-256 of
        "gpuaes.random int " and its decimal digits, or "gpuaes.random str " and its UTF-8. A key is as hard to guess
        as its seed. A str that begins as the name of a device does, "cuda" or "cpu", is refused: PyTorch's generators
        take the device first.

        `device` None: tensors may be anywhere. Else only those of one place are taken: an ordinal of CUDA, "cuda:N",
        "cuda" (device 0), "cpu", or a torch.device.
        """
        self._device = _place_of(device)
        self._forward_secure = bool(forward_secure)
        self._take(_key_of(seed), 0, RANDOM_BYTES)
        self._lock = _fork.lock_of(self, threading.RLock)
        super().__init__()

    def _facts(self) -> str:
        where = "any device" if self._device is None else f"device {self._device!r}"
        return f"{where}, {'' if self._forward_secure else 'not '}forward secure"

    # ---- The key and the position ---------------------------------------------------------

    def _take(self, key: SecretBytes, position: int, kind: int) -> None:
        """Begins with a key at a place of its keystream."""
        cpu = _random_cpu.Keystream(key)
        self._on_device: dict[int, tuple[int, dict[int, Lane]]] = {}
        self._key, self._cpu, self._position, self._kind = key, cpu, position, kind
        self._process = _fork.generation()

    def _change(self, key: SecretBytes, position: int, kind: int) -> None:
        """The same, and gives up the key before."""
        old, copies = self._key, self._on_device
        self._take(key, position, kind)
        self._give_up(old, copies)

    @staticmethod
    def _give_up(key: SecretBytes, copies: dict[int, tuple[int, dict[int, Lane]]]) -> None:
        key.close()
        for device, (cell, lanes) in copies.items():
            _driver.retire(lanes.values(), functools.partial(_driver.context_of(device).give_cell, cell))

    def _release(self) -> None:
        with self._lock:
            self._cpu.close()
            self._give_up(self._key, self._on_device)

    def _ready(self) -> SecretBytes:
        """The key of this process."""
        self.check_open()
        if self._process != _fork.generation():
            mixed = hashlib.sha256(b"gpuaes.random fork ")
            mixed.update((ctypes.c_char * KEY_BYTES).from_address(self._key.address))
            mixed.update(os.urandom(KEY_BYTES))
            self._change(_taken(mixed.digest()), 0, RANDOM_BYTES)
        return self._key

    def close(self) -> None:
        """Overwrites the key; on a device, once the streams have passed the work with it. Closing again does
        nothing."""
        super().close()

    def __enter__(self) -> Generator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def state(self) -> _Bytes:
        """Returns what set_state() continues with. It contains the key: keep it as secret."""
        with self._lock:
            key = self._ready()
            return _FORMAT.pack(
                ctypes.string_at(key.address, KEY_BYTES), self._position, self._kind, self._forward_secure
            )

    def set_state(self, state: _Bytes | bytearray | memoryview) -> None:
        """Continues from a state(), also in another process, or on another machine."""
        if not isinstance(state, (bytes, bytearray, memoryview)):
            raise ValueError(f"state is {type(state).__name__}: expected {_FORMAT.size} bytes of state()")
        if memoryview(state).nbytes != _FORMAT.size:
            raise ValueError(f"state has {memoryview(state).nbytes} bytes: expected {_FORMAT.size} bytes of state()")
        key, position, kind, forward_secure = _FORMAT.unpack(state)
        if kind not in _random_cpu.WIDTH or forward_secure > 1 or position % _random_cpu.WIDTH[kind]:
            raise ValueError("state has another form: expected bytes of state()")
        with self._lock:
            self._forward_secure = bool(forward_secure)
            self._change(_taken(key), position, kind)

    # ---- Numbers --------------------------------------------------------------------------

    def _reserve(self, r: Random) -> None:
        """Moves past the elements of the struct, and sets the number of the first. They are made after that: what an
        exception breaks off is not made again."""
        kind = _random_cpu.kind_of(r)
        width = _random_cpu.WIDTH[kind]
        begin = self._position
        if kind != self._kind:
            begin += -begin % BLOCK
        if begin + r.count * width > _STREAM_BYTES - BLOCK - KEY_BYTES:
            raise GpuaesError("the keystream of the generator's key is used up: expected a new generator")
        self._kind, self._position = kind, begin + r.count * width
        r.first = begin // width

    def _rekey(self) -> None:
        at = self._position + -self._position % BLOCK
        key = _taken(bytes(KEY_BYTES))
        self._cpu.write(at, key.address, KEY_BYTES)
        self._change(key, 0, RANDOM_BYTES)

    def _fill(self, memory: Memory, r: Random) -> None:
        """Fills `memory` with elements of the kind that the struct has."""
        count, rest = divmod(memory.bytes, _random_cpu.element_bytes(r))
        assert rest == 0
        self._check_place(memory)
        with self._lock:
            key = self._ready()
            if count == 0:
                return
            r.count = count
            if memory.device is None:
                self._reserve(r)
                _random_cpu.fill(self._cpu, r, memory.address)
            else:
                self._queue(memory, r, key)
            if self._forward_secure:
                self._rekey()
        _memory.written(memory)

    def _queue(self, memory: Memory, r: Random, key: SecretBytes) -> None:
        doing = "making random numbers"
        lane = _driver.lane(memory.device or 0, memory.stream, memory.stream_owner)
        try:
            with lane:
                lane.refuse_capture(doing, "a call outside of it, since each run of the graph would give the same numbers")
                r.key = self._key_on(lane, key)
                self._reserve(r)
                _library.check(lib.gpuaes_random_queue(byref(r), memory.address, lane.stream, lane.device), doing)
        finally:  # an exception may come behind what is queued
            _memory.hold(lane, memory)

    def _key_on(self, lane: Lane, key: SecretBytes) -> int:
        """The address of a copy of the key in memory of the device."""
        if lane.device not in self._on_device:
            self._on_device[lane.device] = lane.put_secret(key.address, KEY_BYTES), {}
        cell, lanes = self._on_device[lane.device]
        lanes[lane.stream] = lane
        return cell

    def _check_place(self, memory: Memory) -> None:
        if self._device is None:
            return
        place = "cpu" if memory.device is None else memory.device
        if place != self._device:
            raise ValueError(f"tensor is in memory of {place}: expected {self._device}, the device of the generator")

    def random_(self, tensor: DataT, low: SupportsIndex | None = None, high: SupportsIndex | None = None) -> DataT:
        """Fills a tensor with integers from `low` to `high` - 1; with one limit alone, it is `high`, from 0 on. All are
        as likely, with a relative error of 2^-32 at most; where there are more than 2^32 of them, of 2^-64. Without
        limits, every value of an integer type is as likely, and the tensor's bytes are the keystream.

        Takes int8 to int64, uint8 to uint64, bool, float16, bfloat16, float32 and float64. Of floating-point types the
        integers are at most 2^11 (float16), 2^8 (bfloat16), 2^24 (float32) or 2^53 (float64), and at least its negative:
        the types have no others without gaps. Without limits they are from 0 to that one, as PyTorch's are."""
        return self._random(tensor, *_writable(tensor), low, high)

    def random_like(self, tensor: ArrayT, low: SupportsIndex | None = None, high: SupportsIndex | None = None) -> ArrayT:
        """Returns a new tensor of random_()."""
        return self._random(*_empty_like(tensor), low, high)

    def _random(
        self, tensor: DataT, memory: Memory, dtype: str, low: SupportsIndex | None, high: SupportsIndex | None
    ) -> DataT:
        _check_known(dtype)
        unlimited = low is None and high is None
        if unlimited and dtype in _INTEGERS:
            self._fill(memory, Random(kind=RANDOM_BYTES))
            return tensor
        size = _ONES[dtype][0]
        least, most = _integers_of(dtype)
        first, last = (0, most) if unlimited else _limits(low, high)
        if first < least or last > most:
            raise ValueError(f"limits are {first} and {last + 1}: expected {least} and {most + 1} at most, for {dtype}")
        self._fill(memory, _range(first, last, size, _FLOATS[dtype][2] if dtype in _FLOATS else RANDOM_RANGE))
        return tensor

    def uniform_(self, tensor: DataT, low: SupportsFloat = 0.0, high: SupportsFloat = 1.0) -> DataT:
        """Fills a tensor with numbers from `low` to `high`, without `high` but for rounding: multiples of 2^-24 of the
        distance, of float64 2^-53. Takes float16, bfloat16, float32 and float64.

        Of half types, `low` and `high` are rounded to the type first. Then a multiple of 2^-13 of the distance (float16)
        or 2^-16 (bfloat16) is computed in float32, of a word of the keystream as a float32 is, and rounded down: no number
        is `high`."""
        return self._uniform(tensor, *_writable(tensor), low, high)

    def uniform_like(self, tensor: ArrayT, low: SupportsFloat = 0.0, high: SupportsFloat = 1.0) -> ArrayT:
        """Returns a new tensor of uniform_()."""
        return self._uniform(*_empty_like(tensor), low, high)

    def _uniform(self, tensor: DataT, memory: Memory, dtype: str, low: SupportsFloat, high: SupportsFloat) -> DataT:
        kind = _kind_of(dtype, 0)
        low, high = _rounded(_number(low, "low", dtype), dtype), _rounded(_number(high, "high", dtype), dtype)
        if low > high or not _is_finite(high - low, "float64" if dtype == "float64" else "float32"):
            raise ValueError(f"low is {low} and high is {high}: expected a range from low to high, of a finite length")
        self._fill(memory, Random(kind=kind, scale=high - low, shift=low))
        return tensor

    def normal_(self, tensor: DataT, mean: SupportsFloat = 0.0, std: SupportsFloat = 1.0) -> DataT:
        """Fills a tensor with normal numbers, after Box and Muller; none is farther from the mean than 6.77 times
        `std`, of float64 8.66. Takes float16, bfloat16, float32 and float64.

        Half types are the numbers of a float32 tensor of as many elements, rounded to nearest; what is too large for
        float16 becomes infinite."""
        return self._normal(tensor, *_writable(tensor), mean, std)

    def normal_like(self, tensor: ArrayT, mean: SupportsFloat = 0.0, std: SupportsFloat = 1.0) -> ArrayT:
        """Returns a new tensor of normal_()."""
        return self._normal(*_empty_like(tensor), mean, std)

    def _normal(self, tensor: DataT, memory: Memory, dtype: str, mean: SupportsFloat, std: SupportsFloat) -> DataT:
        kind = _kind_of(dtype, 1)
        mean, std = _number(mean, "mean", dtype), _number(std, "std", dtype)
        if std < 0:
            raise ValueError(f"std is {std}: expected 0 or more")
        self._fill(memory, Random(kind=kind, scale=std, shift=mean))
        return tensor

    def bernoulli_(self, tensor: DataT, p: SupportsFloat = 0.5) -> DataT:
        """Fills a tensor with 1, with the probability `p` (to 2^-63), and 0. Takes bool, int8 to int64, uint8 to uint64,
        float16, bfloat16, float32 and float64."""
        return self._bernoulli(tensor, *_writable(tensor), p)

    def bernoulli_like(self, tensor: ArrayT, p: SupportsFloat = 0.5) -> ArrayT:
        """Returns a new tensor of bernoulli_()."""
        return self._bernoulli(*_empty_like(tensor), p)

    def _bernoulli(self, tensor: DataT, memory: Memory, dtype: str, p: SupportsFloat) -> DataT:
        _check_known(dtype)
        p = _number(p, "p")
        if not 0 <= p <= 1:
            raise ValueError(f"p is {p}: expected 0 to 1")
        size, one = _ONES[dtype]
        self._fill(memory, Random(kind=RANDOM_BERNOULLI, element_bytes=size, probability=p, success=one))
        return tensor

    @overload
    def randint(  # pyright: ignore[reportOverlappingOverload]  # without `size` it is the first
        self, low: SupportsIndex, high: SupportsIndex | None = ..., size: None = ..., *, like: Data | None = ...
    ) -> int: ...
    @overload
    def randint(
        self, low: SupportsIndex, high: SupportsIndex | None = ..., size: SupportsIndex = ..., *, like: ElementsArray[T]
    ) -> T: ...
    @overload
    def randint(
        self, low: SupportsIndex, high: SupportsIndex | None = ..., size: SupportsIndex = ..., *, like: None = None
    ) -> Integers: ...
    def randint(
        self, low: SupportsIndex, high: SupportsIndex | None = None, size: SupportsIndex | None = None, *, like: Any = None
    ) -> Any:
        """Returns an int from `low` to `high` - 1 (from 0 to `low` - 1, where `high` is None), or with `size` an array
        of so many int64: of the package and on the device of the array `like`; where that is None, of NumPy if the
        program has imported it, else array.array."""
        first, last = _limits(low, high)
        if first < -1 << 63 or last >= 1 << 63:
            raise ValueError(f"limits are {first} and {last + 1}: expected 64 bits")
        if size is None:
            one = array.array("q", [0])
            memory = _memory.view(one)
            with self._lock:
                self._ready()
                r = _range(first, last, 8)
                r.count = 1
                self._reserve(r)
                _random_cpu.fill(self._cpu, r, memory.address)
                if self._forward_secure:
                    self._rekey()
            return one[0]
        result, memory = _new(_length(size, "size"), like)
        self._fill(memory, _range(first, last, 8))
        return result

    @overload
    def permutation(self, n: SupportsIndex, *, like: ElementsArray[T]) -> T: ...
    @overload
    def permutation(self, n: SupportsIndex, *, like: None = None) -> Integers: ...
    def permutation(self, n: SupportsIndex, *, like: Any = None) -> Any:
        """Returns the integers from 0 to n - 1 in random order, each order as likely; the array is as of randint().

        Each number gets 64 random bits, by which they are sorted; where two have got the same, all draw again. Waits
        for a device to say so."""
        n = _length(n, "n")
        with self._lock:
            while True:
                keys, memory = _new(n, like)
                self._fill(memory, _range(-1 << 63, (1 << 63) - 1, 8))
                order = _order_of(keys, memory)
                if order is not None:
                    return order

    def bytes(self, count: SupportsIndex) -> _Bytes:
        """Returns random bytes."""
        data = bytearray(_length(count, "count"))
        memory = _memory.view(data)
        with self._lock:
            self._ready()
            if count:
                r = Random(kind=RANDOM_BYTES, count=count)
                self._reserve(r)
                _random_cpu.fill(self._cpu, r, memory.address)
                if self._forward_secure:
                    self._rekey()
        return _Bytes(data)


# ---- Arguments -----------------------------------------------------------------------


def _key_of(seed: Any) -> SecretBytes:
    if seed is None:
        return _taken(os.urandom(KEY_BYTES))
    if hasattr(seed, "__index__"):
        return _taken(hashlib.sha256(b"gpuaes.random int %d" % _integer(seed, "seed")).digest())
    if isinstance(seed, str):
        if seed.partition(":")[0].lower() in _DEVICE_KINDS:
            raise ValueError(f"seed is {seed!r}, which names a device and is no secret: expected device={seed!r}")
        return _taken(hashlib.sha256(b"gpuaes.random str " + seed.encode()).digest())
    if isinstance(seed, (bytes, bytearray)):
        if len(seed) != KEY_BYTES:
            raise ValueError(f"seed has {len(seed)} bytes: expected {KEY_BYTES}, a key")
        memory = _memory.view(seed)
        return SecretBytes(memory.address, KEY_BYTES)
    raise TypeError(f"seed is {type(seed).__name__}: expected None, an int, a str or {KEY_BYTES} bytes")


def _taken(fresh: _Bytes) -> SecretBytes:
    """A copy of bytes that nobody else has, and which are overwritten: Python's own would keep the key in memory."""
    memory = _memory.view(fresh)
    try:
        return SecretBytes(memory.address, memory.bytes)
    finally:
        lib.gpuaes_cleanse(memory.address, memory.bytes)


def _place_of(device: Any) -> int | str | None:
    """CUDA's ordinal, or "cpu"."""
    if device is None:
        return device
    if hasattr(device, "__index__") and 0 <= operator.index(device) < 64:
        return int(operator.index(device))
    kind, _, number = str(device).partition(":")
    if kind == "cpu" and not number:
        return "cpu"
    if kind == "cuda" and (not number or (number.isascii() and number.isdigit() and int(number) < 64)):
        return int(number or 0)
    raise ValueError(f"device is {device!r}: expected an ordinal of CUDA, 'cuda:N', 'cpu' or None")


def _rounded(number: float, dtype: str) -> float:
    """To the nearest number of a half type, which a kernel is told as a float32; infinite beyond the largest."""
    if dtype == "bfloat16":
        (bits,) = struct.unpack("<I", ctypes.c_float(number))
        if bits & 0x7F800000 != 0x7F800000:  # neither infinite nor no number
            bits += 0x7FFF + (bits >> 16 & 1)
        return float(struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0])
    if dtype == "float16":
        try:
            return float(struct.unpack("<e", struct.pack("<e", number))[0])
        except OverflowError:
            return math.copysign(math.inf, number)
    return number


def _is_finite(number: float, dtype: str) -> bool:
    """Also in the type that it is to have."""
    return math.isfinite(ctypes.c_float(number).value if dtype == "float32" else _rounded(number, dtype))


def _number(value: Any, name: str, dtype: str = "float64") -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}: expected a number") from None
    except OverflowError:
        number = math.inf
    if not _is_finite(number, dtype):
        raise ValueError(f"{name} is {number}: expected a finite {'number' if dtype == 'float64' else dtype}")
    return number


def _integer(value: Any, name: str) -> int:
    """Also of an integer of NumPy."""
    try:
        return int(operator.index(value))
    except TypeError:
        raise TypeError(f"{name} is {value!r}: expected an int") from None


def _length(value: Any, name: str) -> int:
    count = _integer(value, name)
    if not 0 <= count < 1 << 60:
        raise ValueError(f"{name} is {count}: expected an int, 0 or more")
    return count


def _limits(low: SupportsIndex | None, high: SupportsIndex | None) -> tuple[int, int]:
    """The least and the greatest of integers from `low` to `high` - 1, or from 0 to the one that is given."""
    if low is None or high is None:
        low, high = 0, low if high is None else high
    low, high = _integer(low, "low"), _integer(high, "high")
    if low >= high:
        raise ValueError(f"low is {low} and high is {high}: expected low to be less than high")
    return low, high - 1


def _integers_of(dtype: str) -> tuple[int, int]:
    """The least and the greatest integer that random_() makes in elements of a type."""
    if dtype in _WHOLE:
        return -_WHOLE[dtype], _WHOLE[dtype]
    if dtype == "bool":
        return 0, 1
    bits = 8 * _ONES[dtype][0]
    return (-1 << bits - 1, (1 << bits - 1) - 1) if dtype.startswith("int") else (0, (1 << bits) - 1)


def _range(first: int, last: int, size: int, kind: int = RANDOM_RANGE) -> Random:
    """Of integers from `first` to `last`, as 64 bits each."""
    low = first - (1 << 64) if first >= 1 << 63 else first
    return Random(kind=kind, element_bytes=size, low=low, range=(last - first + 1) % (1 << 64))


def _writable(tensor: Any) -> tuple[Memory, str]:
    """Where a tensor lies, and the type of its elements, as "float32"."""
    memory = _memory.view(tensor, writable=True, name="tensor")
    return memory, _dtype_of(tensor, memory)


def _check_known(dtype: str) -> None:
    if dtype not in _ONES:
        raise TypeError(f"tensor has elements of {dtype}: expected bool, integers or floating-point numbers")


def _kind_of(dtype: str, normal: int) -> int:
    if dtype not in _FLOATS:
        raise TypeError(f"tensor has elements of {dtype}: expected {', '.join(_FLOATS)}")
    return _FLOATS[dtype][normal]


def _empty_like(tensor: ArrayT) -> tuple[ArrayT, Memory, str]:
    """A new tensor, where it lies, and the type of its elements."""
    model = _memory.view(tensor, name="tensor")
    if model.kind not in _PACKAGES:
        raise TypeError(f"tensor is {type(tensor).__name__}: expected an array of PyTorch, CuPy, NumPy or JAX")
    dtype = _dtype_of(tensor, model)
    _check_known(dtype)
    array: Any = tensor
    return *_memory.new_like(model, tuple(array.shape), dtype), dtype


def _dtype_of(tensor: Any, memory: Memory) -> str:
    if memory.kind == "torch":
        return str(tensor.dtype).partition(".")[2]
    if memory.kind == "jax":
        return str(tensor.dtype.name)
    if memory.kind in ("numpy", "cupy"):
        # Of ml_dtypes, which makes no string of its own.
        return "bfloat16" if tensor.dtype.name == "bfloat16" else _name_of(tensor.dtype.str)
    if memory.kind == "cuda":
        return _name_of(tensor.__cuda_array_interface__["typestr"])
    look = memoryview(tensor)
    letter = look.format.lstrip("@=<")
    kinds = {"?": "b", "f": "f", "d": "f", "e": "f", **dict.fromkeys("bhilqn", "i"), **dict.fromkeys("BHILQNc", "u")}
    if letter not in kinds:
        return f"the format {look.format!r}"
    return _name_of(f"<{kinds[letter]}{look.itemsize}")


def _name_of(typestr: str) -> str:
    """Of NumPy's string for a type, as "<f4"."""
    order, kind, size = typestr[0], typestr[1], typestr[2:]
    names = {"b": "bool", "f": "float", "i": "int", "u": "uint"}
    if order not in "<|=" or kind not in names or not size.isdigit():
        return f"the type {typestr!r}"
    return "bool" if kind == "b" else f"{names[kind]}{8 * int(size)}"


# ---- Arrays --------------------------------------------------------------------------


def _new(count: int, like: Any) -> tuple[Any, Memory]:
    """An array of int64 that nobody has seen."""
    if like is not None:
        model = _memory.view(like, name="like")
        if model.kind not in ("torch", "cupy", "numpy"):
            raise TypeError(f"like is {type(like).__name__}: expected an array of PyTorch, CuPy or NumPy")
        return _memory.new_like(model, count, "int64")
    numpy = sys.modules.get("numpy")
    result = numpy.empty(count, dtype="int64") if numpy is not None else array.array("q", bytes(8 * count))
    return result, _memory.view(result)


def _order_of(keys: Any, memory: Memory) -> Any:
    """The numbers of the keys, from the least key on; None where two are the same."""
    if memory.kind == "torch":
        ordered, order = keys.sort()
        return None if bool((ordered[1:] == ordered[:-1]).any()) else order
    if memory.kind in ("numpy", "cupy"):
        order = keys.argsort()
        ordered = keys[order]
        return None if bool((ordered[1:] == ordered[:-1]).any()) else order
    if len(set(keys)) < len(keys):
        return None
    return array.array("q", sorted(range(len(keys)), key=keys.__getitem__))
