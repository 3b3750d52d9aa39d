"""Files of safetensors: their header, the types of tensors, and the way of bytes between a file and memory.

The format: https://github.com/huggingface/safetensors, "Format"

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import re
from typing import Any, Iterable, NamedTuple, TypeVar

from .. import _driver, _memory
from .._types import AnyPath
from ._files import replacing
from ._pinned import Pinned

METADATA = "__metadata__"
_HEADER_MOST = 100_000_000  # as safetensors itself has it
_PIECE = 8 << 20

# The bits of an element, and the name of the type in PyTorch and NumPy, which knows some by ml_dtypes alone.
KINDS = {
    "F64": (64, "float64"), "F32": (32, "float32"), "F16": (16, "float16"), "BF16": (16, "bfloat16"),
    "C64": (64, "complex64"), "I64": (64, "int64"), "I32": (32, "int32"), "I16": (16, "int16"), "I8": (8, "int8"),
    "U64": (64, "uint64"), "U32": (32, "uint32"), "U16": (16, "uint16"), "U8": (8, "uint8"), "BOOL": (8, "bool"),
    "F8_E4M3": (8, "float8_e4m3fn"), "F8_E4M3FNUZ": (8, "float8_e4m3fnuz"), "F8_E5M2": (8, "float8_e5m2"),
    "F8_E5M2FNUZ": (8, "float8_e5m2fnuz"), "F8_E8M0": (8, "float8_e8m0fnu"), "F6_E2M3": (6, ""), "F6_E3M2": (6, ""),
    "F4": (4, "float4_e2m1fn_x2"),
}  # fmt: skip


class RefusedFile(ValueError):
    """A file is malformed, truncated or not authentic; the message says where."""


# ---- Headers -----------------------------------------------------------------------------


class Entry(NamedTuple):
    """A tensor: `begin` and `end` count from the first byte behind the header."""

    begin: int
    end: int
    kind: str
    shape: list[int]


_FileT = TypeVar("_FileT", bound="File")


class File:
    """An open file, whose header has been checked: `header` as bytes, `entries`, {NAME: Entry} in the order of their
    data, and `metadata`. Use it by `with`."""

    def __init__(self, path: AnyPath) -> None:
        self._pinned: Pinned | None = None
        self._passed: list[_driver._Event | None] = [None, None]
        self._file = open(path, "rb", buffering=0)
        try:
            self._parse(os.fstat(self._file.fileno()).st_size)
        except BaseException:
            self._file.close()
            raise

    def _parse(self, size: int) -> None:
        if size < 8:
            raise RefusedFile("truncated, or no safetensors file: it is shorter than 8 bytes")
        length = int.from_bytes(self._take(8), "little")
        if length > min(size - 8, _HEADER_MOST):
            raise RefusedFile(f"truncated, or no safetensors file: a header of {length} bytes in a file of {size}")
        self.header = self._take(length)
        self._data = 8 + length
        entries = parse_object(self.header, "header")
        self.metadata = check_metadata(entries.pop(METADATA, {}))
        found = {name: _entry(name, entry) for name, entry in entries.items()}
        self.entries = dict(sorted(found.items(), key=lambda item: item[1][:2]))
        at = 0
        for name, entry in self.entries.items():
            if entry.begin != at or entry.end > size - self._data:
                raise RefusedFile(f"tensor {name}: truncated, or its data lie elsewhere")
            at = entry.end
        if at != size - self._data:
            raise RefusedFile(f"{size - self._data - at} bytes belong to no tensor")

    def _take(self, count: int) -> bytes:
        data = bytearray(count)
        self._fill(memoryview(data))
        return bytes(data)

    def _fill(self, room: memoryview) -> None:
        """Fills memory of the host with what follows in the file, which may have been truncated since."""
        while room:
            count = self._file.readinto(room)
            if not count:
                raise RefusedFile("truncated while it was read")
            room = room[count:]

    def read_into(self, name: str, array: Any) -> None:
        """Fills an array with the bytes of a tensor, those of device memory on its stream, by two halves of pinned
        memory."""
        entry, memory = self.entries[name], _memory.view(array, writable=True)
        count = entry.end - entry.begin
        self._file.seek(self._data + entry.begin)
        if memory.device is None:
            self._fill(_host(memory.address, count))
            return
        lane = _driver.lane(memory.device, memory.stream, memory.stream_owner)
        lane.refuse_capture("reading a file", "no capture")
        if not self._pinned:
            self._pinned = Pinned(2 * _PIECE)
        for half, at in enumerate(range(0, count, _PIECE)):
            half %= 2
            self._wait(half)
            piece, source = min(_PIECE, count - at), self._pinned.address + half * _PIECE
            self._fill(_host(source, piece))
            with lane:
                lane.send(memory.address + at, source, piece)
                self._passed[half] = lane.event()  # lane.end() would be None while another thread's call is under way

    def _wait(self, half: int) -> None:
        passed, self._passed[half] = self._passed[half], None
        if passed:
            passed.wait()

    def __enter__(self: _FileT) -> _FileT:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self._pinned:
            self._wait(0)
            self._wait(1)
            self._pinned.close()
            self._pinned = None


def _host(address: int, count: int) -> memoryview:
    return memoryview((ctypes.c_ubyte * count).from_address(address)).cast("B") if count else memoryview(b"")


def parse_object(text: Any, where: str) -> dict[str, Any]:
    """The pairs of JSON, none of whose objects has a name twice."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(made := dict(found)) != len(found):
            raise ValueError("a name is there twice")
        return made

    try:
        text = text if isinstance(text, str) else text.decode()
        _check_density(text)
        parsed = json.loads(text, object_pairs_hook=pairs)
        if "\\u" in text:  # Raises for half of a surrogate pair, which JSON may name and UTF-8 cannot.
            json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise RefusedFile(f"{where}: no object of JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise RefusedFile(f"{where}: {type(parsed).__name__}, no object of JSON")
    return parsed


def _check_density(text: str) -> None:
    """Python takes some hundred bytes for an object, and half of that for a list, which may have two bytes each. What is
    within texts does not count."""
    if text.count("{") <= 16 + len(text) // 32 and text.count("[") <= 16 + len(text) // 8:
        return
    without = re.sub('"[^"]*"', "", text.replace("\\\\", "").replace('\\"', ""))
    if without.count("{") > 16 + len(text) // 32 or without.count("[") > 16 + len(text) // 8:
        raise ValueError("more objects or lists than tensors of its length have")


def check_metadata(metadata: Any) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for both in metadata.items() for text in both):
        raise RefusedFile(f"header: {METADATA} is not made of texts")
    return metadata


def _entry(name: str, entry: Any) -> Entry:
    if not isinstance(entry, dict) or not entry.keys() >= {"dtype", "shape", "data_offsets"}:
        raise RefusedFile(f"tensor {name}: expected dtype, shape and data_offsets")
    count, offsets = bytes_of_shape(name, entry["dtype"], entry["shape"]), entry["data_offsets"]
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(n) is int and n >= 0 for n in offsets):
        raise RefusedFile(f"tensor {name}: its place is not made of two numbers")
    if offsets[1] - offsets[0] != count:
        raise RefusedFile(f"tensor {name}: {offsets[1] - offsets[0]} bytes are not those of its type and shape")
    return Entry(offsets[0], offsets[1], entry["dtype"], entry["shape"])


def bytes_of_shape(name: str, kind: Any, shape: Any) -> int:
    """The bytes of a tensor, which must be whole ones. `kind` and `shape` may be anything."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise RefusedFile(f"tensor {name}: its type {kind!r:.40} is unknown")
    if not isinstance(shape, list) or not all(type(n) is int and 0 <= n < 1 << 63 for n in shape):
        raise RefusedFile(f"tensor {name}: its shape is not made of numbers")
    bits = KINDS[kind][0]
    for n in shape:
        bits *= n
        if bits >= 1 << 66:
            raise RefusedFile(f"tensor {name}: its shape is too large")
    if bits % 8:
        raise RefusedFile(f"tensor {name}: {bits} bits are not whole bytes")
    return bits // 8


def make_header(entries: Iterable[tuple[str, str, list[int], int]], metadata: dict[str, str] | None = None) -> bytes:
    """The JSON of (NAME, TYPE, SHAPE, BYTES), padded to a multiple of 8 bytes, as safetensors itself writes it."""
    header: dict[str, Any] = {METADATA: metadata} if metadata else {}
    at = 0
    for name, kind, shape, count in entries:
        if name in header or name == METADATA:
            raise ValueError(f"a tensor has the name {name!r}: that is taken")
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + count]}
        at += count
    text = compact(header)
    if len(text) > _HEADER_MOST - 8:
        raise ValueError(f"the header has {len(text)} bytes: expected {_HEADER_MOST - 8} at most")
    return text + b" " * (-len(text) % 8)


def compact(value: Any) -> bytes:
    """JSON as Rust's serde writes it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


# ---- Packages of tensors --------------------------------------------------------------------


class Bytes:
    """The bytes of tensors of any type, in memory of the host."""

    @staticmethod
    def new(count: int) -> Any:
        return memoryview(bytearray(count))


class Package:
    """PyTorch, CuPy or NumPy: arrays of bytes on a device, and the tensors of the types that it has."""

    def __init__(self, name: str, device: Any = None) -> None:
        if name not in ("torch", "cupy", "numpy"):
            raise ValueError(f"package is {name!r}: expected torch, cupy or numpy")
        if name == "numpy" and device is not None:
            raise ValueError(f"device is {device!r}: expected None for numpy")
        self._name, self._device = name, device
        try:
            self._module = importlib.import_module(name)
        except ImportError as error:
            raise ImportError(
                f"package is {name!r}, which cannot be imported ({error}): expected an installed one of torch, cupy or numpy"
            ) from error
        found = {kind: self._type(called) for kind, (_, called) in KINDS.items() if called}
        self._types = {kind: type_ for kind, type_ in found.items() if type_ is not None}

    @classmethod
    def of(cls, tensor: Any, name: str) -> Package:
        for package, kind in ("torch", "Tensor"), ("cupy", "ndarray"), ("numpy", "ndarray"):
            if _memory.is_of(tensor, package, kind):
                return cls(package)
        raise TypeError(f"tensor {name} is {type(tensor).__name__}: expected a tensor of PyTorch, CuPy or NumPy")

    def _type(self, called: str) -> Any:
        if self._name == "torch":
            return getattr(self._module, called, None)
        with contextlib.suppress(TypeError):
            return importlib.import_module("numpy").dtype(called)
        return None

    def new(self, count: int) -> Any:
        """A new array of bytes."""
        if self._name == "torch":
            return self._module.empty(count, dtype=self._module.uint8, device=self._device)
        if self._name == "numpy":
            return self._module.empty(count, "u1")
        with self._module.cuda.Device(self._device):
            return self._module.empty(count, "u1")

    def describe(self, tensor: Any, name: str) -> tuple[str, list[int]]:
        """Type and shape, as the format has them. Raises TypeError for a tensor that has no bytes to be read."""
        if self._name == "torch":
            if tensor.layout != self._module.strided:
                raise TypeError(f"tensor {name} has the layout {tensor.layout}: expected torch.strided")
            _memory.torch_place(tensor, f"tensor {name}")
        if _memory.is_of(tensor, "numpy.ma", "MaskedArray"):
            raise TypeError(f"tensor {name} has a mask: expected an array without one")
        kind = next((kind for kind, type_ in self._types.items() if type_ == tensor.dtype), None)
        if kind is None:
            raise TypeError(f"tensor {name} has the type {tensor.dtype}, which the format does not know")
        shape = [int(length) for length in tensor.shape]
        if kind == "F4":  # two in an element
            shape = [*shape[:-1], 2 * shape[-1]] if shape else [2]
        return kind, shape

    def bytes_of(self, tensor: Any) -> Any:
        """A view of its bytes, or of a copy of them where it has gaps."""
        if self._name == "torch":
            # Negated and conjugated views have other bytes than they show.
            dense = tensor.detach().resolve_conj().resolve_neg().contiguous()
            return dense.reshape(-1).view(self._module.uint8)
        if not tensor.flags.c_contiguous:
            tensor = tensor.copy(order="C")
        return tensor.reshape(-1).view("u1")

    def shaped(self, name: str, array: Any, kind: str, shape: list[int]) -> Any:
        """The tensor that has the bytes of `array`."""
        if kind not in self._types:
            raise RefusedFile(f"tensor {name}: {self._name} does not have its type {kind}")
        if kind == "F4":
            if not shape or shape[-1] % 2:
                raise RefusedFile(f"tensor {name}: {self._name} has pairs of F4: expected an even last length")
            shape = [*shape[:-1], shape[-1] // 2]
        try:
            return array.view(self._types[kind]).reshape(tuple(shape))
        except (ValueError, OverflowError, RuntimeError) as error:  # such as more than 64 dimensions
            raise RefusedFile(f"tensor {name}: {self._name} cannot have its shape: {error}") from None


# ---- Writing ----------------------------------------------------------------------------------


def write_file(path: AnyPath, header: bytes, arrays: Iterable[Any]) -> None:
    """Writes a whole file, or nothing."""
    with replacing(path) as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header)
        for array in arrays:
            memory = _memory.view(array)
            if memory.device is None:
                file.write(_host(memory.address, memory.bytes))
                continue
            lane = _driver.lane(memory.device, memory.stream, memory.stream_owner)
            for at in range(0, memory.bytes, _PIECE):
                file.write(lane.read(memory.address + at, min(_PIECE, memory.bytes - at)))
