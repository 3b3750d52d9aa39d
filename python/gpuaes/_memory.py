"""One view of the memory of any object: PyTorch, CuPy, NumPy and JAX arrays, whatever has DLPack,
`__cuda_array_interface__` or the buffer protocol.

No package is imported here: an object of a package can only be given by a program that has imported it.
Memory is never copied to look at it, and must be contiguous in C's order: anything else raises ValueError.

*Streams.* Work on device memory is queued on the current stream of the object's package: that of PyTorch or
CuPy for the object's device, the `stream` of `__cuda_array_interface__`, and the legacy default stream where
there is none, and for DLPack and JAX, whose `__dlpack__` makes that stream wait for the array. A per-thread
default stream counts as the legacy default stream, with which CUDA orders it.

*Lifetime.* The caller may let go of an array as soon as a call returns. PyTorch and CuPy give memory of a stream
to later work of the same stream only; as with their own kernels, memory that was allocated on another stream is the
caller's to keep until the work is done (`torch.Tensor.record_stream`). All other arrays are kept by hold().

*JAX.* Its arrays are immutable: they are read, and results are new arrays; `out=` is refused.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import dataclasses
import re
import sys
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_ssize_t, c_uint8
from ctypes import c_uint16, c_uint64, c_void_p, py_object
from typing import Any, Callable

from . import _driver
from ._owner import Owner

__all__ = ["Memory", "copy_of", "hold", "new_like", "view", "written"]

LEGACY_STREAM = 0
_CUDA_LEGACY, _CUDA_PER_THREAD = 1, 2
_BYTES_MOST, _ADDRESS_MOST = (1 << 63) - 1, (1 << 64) - 1
# The number is of bytes, or of characters of 4 bytes ("<U5"); "t" has bits. A time has its unit behind it: "<M8[ns]".
_TYPESTR = re.compile(r"[<>=|]([A-Za-su-z])(\d+)(?:\[.*\])?", re.ASCII)
_ORDERED_ALLOCATORS = frozenset(("torch", "cupy"))
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED = 1, 2, 3, 13


@dataclasses.dataclass(slots=True, eq=False)
class Memory:
    """Where an object's bytes lie.

    `address` is 0 where there are no bytes. `device` is CUDA's ordinal, None for memory of the host; `stream`
    is a CUstream as an integer, 0 the legacy default stream. `owner` keeps the memory alive. `kind` is the
    object's package: "torch", "cupy", "numpy", "jax", "cuda" (other device memory), "buffer" (other host
    memory) or "bytes".
    """

    address: int
    bytes: int
    device: int | None
    stream: int
    readonly: bool
    owner: Any
    kind: str
    stream_owner: object = None

    def overlaps(self, other: Memory) -> bool:
        """Whether a byte is in both."""
        return self.address < other.address + other.bytes and other.address < self.address + self.bytes


# ---- CPython's buffers ---------------------------------------------------------------


class _PyBuffer(Structure):
    """Py_buffer: its address, and members that are not looked at."""

    _fields_ = [("address", c_void_p), ("others", c_ssize_t * 10)]


def _python(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    # An object of its own for each prototype: those of ctypes.pythonapi belong to the whole program.
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_get_buffer = _python("PyObject_GetBuffer", c_int, py_object, POINTER(_PyBuffer), c_int)
_release_buffer = _python("PyBuffer_Release", None, POINTER(_PyBuffer))
_new_bytes = _python("PyBytes_FromStringAndSize", py_object, c_void_p, c_ssize_t)
_bytes_address = _python("PyBytes_AsString", c_void_p, py_object)
_capsule_set_name = _python("PyCapsule_SetName", c_int, py_object, c_void_p)
_capsule_pointer = _python("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)


def _view_buffer(obj: object, name: str) -> Memory:
    try:
        look = memoryview(obj)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"{name} is {_type_name(obj)}: expected bytes, an object with the buffer protocol, or an array with"
            " DLPack or __cuda_array_interface__"
        ) from None
    if "O" in re.sub(":[^:]*:", "", look.format):  # without names of members
        raise TypeError(f"{name} has elements that are Python objects: expected numbers")
    if not look.c_contiguous:
        raise _not_contiguous(name, obj)
    buffer = _PyBuffer()
    _get_buffer(look, ctypes.byref(buffer), 0)
    _release_buffer(ctypes.byref(buffer))  # what `look` has exported keeps the memory in its place
    return Memory(buffer.address or 0, look.nbytes, None, 0, look.readonly, look, "buffer")


# ---- Errors --------------------------------------------------------------------------


def _type_name(obj: object) -> str:
    kind = type(obj)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _not_contiguous(name: str, obj: object) -> ValueError:
    return ValueError(f"{name} ({_type_name(obj)}) is not contiguous in C's order: expected a contiguous copy of it")


# ---- Arrays of packages --------------------------------------------------------------


def is_of(obj: object, package: str, kind: str) -> bool:
    module = sys.modules.get(package)
    found = getattr(module, kind, None) if module is not None else None
    return found is not None and isinstance(obj, found)


def _view_torch(tensor: Any, torch: Any, writable: bool, name: str) -> Memory:
    if tensor.layout is not torch.strided:
        raise TypeError(f"{name} is a tensor of layout {tensor.layout}: expected torch.strided")
    if not tensor.is_contiguous():
        raise _not_contiguous(name, tensor)
    if tensor.is_neg() or tensor.is_conj():
        raise ValueError(f"{name} is a lazy negative or conjugate view: expected resolve_neg() or resolve_conj() of it")
    if writable and not _torch_may_write(tensor, torch):
        raise ValueError(f"{name} requires a gradient: expected its detach(), or a call under torch.no_grad()")
    where = tensor.device
    if where.type not in ("cuda", "cpu"):
        raise TypeError(f"{name} is on the device {str(where)!r}: expected 'cuda' or 'cpu'")
    address, count = torch_place(tensor, name)
    index = where.index
    if where.type == "cpu":
        return Memory(address, count, None, 0, False, tensor, "torch")
    stream, owner = _torch_stream(torch, index)
    return Memory(address, count, index, stream, False, tensor, "torch", owner)


def _torch_may_write(tensor: Any, torch: Any) -> bool:
    return not tensor.requires_grad or not torch.is_grad_enabled()


def torch_place(tensor: Any, name: str) -> tuple[int, int]:
    """Address and bytes. Raises TypeError for a tensor without storage of its own: a DTensor, another wrapper, one of
    FakeTensorMode."""
    item = tensor.element_size()
    count = tensor.numel() * item
    try:
        address = tensor.data_ptr()
        # The address of a view is that of its storage, and its offset.
        if address and address != tensor.storage_offset() * item or not count:
            return address, count
    except RuntimeError:  # what newer versions of PyTorch do
        pass
    raise TypeError(
        f"{name} ({_type_name(tensor)}) has no storage of its own: expected a tensor that has, such as what the"
        " .to_local() of a DTensor returns"
    )


def _torch_stream(torch: Any, index: int) -> tuple[int, object]:
    """The current stream, and what keeps it: PyTorch destroys none of its own. An ExternalStream, which it did not make, is
    its own number there."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # of current_stream(), without an object
    stream = _legacy(int(raw(index) if raw is not None else torch.cuda.current_stream(index).cuda_stream))
    is_own = stream and getattr(torch.cuda.current_stream(index), "stream_id", stream) != stream  # since PyTorch 2.0
    return stream, torch if is_own else None


def _legacy(stream: int) -> int:
    return LEGACY_STREAM if stream in (_CUDA_LEGACY, _CUDA_PER_THREAD) else stream


def _view_cupy(array: Any, cupy: Any, name: str) -> Memory:
    if not array.flags.c_contiguous:
        raise _not_contiguous(name, array)
    device = int(array.device.id)
    stream = cupy.cuda.get_current_stream(device)
    # A stream that CuPy did not make may be destroyed while the object exists: ExternalStream, Stream.from_external().
    is_own = isinstance(stream, cupy.cuda.Stream) and getattr(stream, "_foreign_stream_ref", None) is None
    return Memory(
        int(array.data.ptr), int(array.nbytes), device, _legacy(int(stream.ptr)), False, array, "cupy",
        stream if is_own else None,
    )  # fmt: skip


def _view_numpy(array: Any, name: str) -> Memory:
    if array.dtype.hasobject:
        raise TypeError(f"{name} has elements that are Python objects: expected numbers")
    if is_of(array, "numpy.ma", "MaskedArray"):
        raise TypeError(f"{name} has a mask: expected an array without one")
    if not array.flags.c_contiguous:
        raise _not_contiguous(name, array)
    return Memory(array.ctypes.data, array.nbytes, None, 0, not array.flags.writeable, array, "numpy")


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...] | None, item: int) -> bool:
    """Whether elements of `item` bytes (or one, where strides count elements) follow each other."""
    if strides is None or 0 in shape:
        return True
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != item:
            return False
        item *= length
    return True


def _bytes_of(shape: tuple[int, ...], item: int, name: str) -> int:
    """Those of an array. ctypes would cut off what a C function cannot take."""
    count = item
    for length in shape:
        count *= length
    if min(shape, default=0) < 0 or count > _BYTES_MOST:
        raise ValueError(
            f"{name} has the shape {shape} and elements of {item} bytes: expected lengths of 0 or more, and less than"
            " 2^63 bytes in all"
        )
    return count


def _view_cuda(obj: Any, name: str) -> Memory:
    """By `__cuda_array_interface__`, of any version."""
    interface = obj.__cuda_array_interface__
    if missing := [key for key in ("shape", "typestr", "data") if key not in interface]:
        raise TypeError(f"{name}.__cuda_array_interface__ has no {missing[0]!r}: expected 'shape', 'typestr' and 'data'")
    shape, typestr = tuple(interface["shape"]), interface["typestr"]
    if interface.get("mask") is not None:
        raise TypeError(f"{name} has a mask: expected an array without one")
    found = _TYPESTR.fullmatch(str(typestr))
    if not found:
        raise TypeError(f"{name}.__cuda_array_interface__ has the typestr {typestr!r}: expected one of whole bytes, as '<f4'")
    if found[1] == "O":
        raise TypeError(f"{name} has elements that are Python objects: expected numbers")
    item = int(found[2]) * (4 if found[1] == "U" else 1)
    if not _is_dense(shape, interface.get("strides"), item):
        raise _not_contiguous(name, obj)
    address, readonly = interface["data"]
    count = _bytes_of(shape, item, name)
    if address and not 0 < address <= _ADDRESS_MOST:
        raise ValueError(f"{name}.__cuda_array_interface__ has the address {address:#x}: expected one of 64 bits")
    stream = interface.get("stream")
    if stream == 0:
        raise ValueError(f"{name}.__cuda_array_interface__ has the stream 0, which is ambiguous: expected 1, 2 or None")
    device = _driver.ordinal_of(address, name) if count else _driver.any_ordinal()
    return Memory(address or 0, count, device, _legacy(stream or 0), bool(readonly), obj, "cuda")


# ---- DLPack --------------------------------------------------------------------------


class _DLTensor(Structure):
    _fields_ = [
        ("data", c_uint64),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _DLManagedTensor(Structure):
    _fields_ = [("tensor", _DLTensor), ("manager", c_void_p), ("deleter", c_void_p)]


_delete = ctypes.PYFUNCTYPE(None, c_void_p)
_UNUSED, _USED = b"dltensor", ctypes.create_string_buffer(b"used_dltensor")  # a capsule keeps the address of its name


class _Consumed(Owner):
    """A tensor that came in a capsule, until this is gone."""

    __slots__ = ("address", "tensor")

    def __init__(self, capsule: object) -> None:
        self.address = _capsule_pointer(capsule, _UNUSED)
        managed = _DLManagedTensor.from_address(self.address)
        self.tensor = managed.tensor
        _capsule_set_name(capsule, ctypes.addressof(_USED))
        super().__init__()

    def _release(self) -> None:
        deleter = _DLManagedTensor.from_address(self.address).deleter
        if deleter:
            _delete(deleter)(self.address)


def _view_dlpack(obj: Any, name: str, kind: str) -> Memory:
    """By DLPack."""
    place, _ = obj.__dlpack_device__()
    if place in (_DL_CUDA, _DL_CUDA_MANAGED):
        capsule = obj.__dlpack__(stream=_CUDA_LEGACY)
    elif place in (_DL_CPU, _DL_CUDA_HOST):
        capsule = obj.__dlpack__()
    else:
        raise TypeError(f"{name} is on a device of DLPack's type {int(place)}: expected memory of CUDA or of the host")
    consumed = _Consumed(capsule)
    tensor = consumed.tensor
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else None
    if not _is_dense(shape, strides, 1):
        raise _not_contiguous(name, obj)
    if tensor.bits * tensor.lanes % 8:
        raise TypeError(f"{name} has elements of {tensor.bits * tensor.lanes} bits: expected whole bytes")
    count = _bytes_of(shape, tensor.bits * tensor.lanes // 8, name)
    on_device = place in (_DL_CUDA, _DL_CUDA_MANAGED)
    # DLPack does not say what may be written, and some of its arrays are immutable.
    return Memory(
        tensor.data + tensor.byte_offset if count and tensor.data else 0,
        count,
        tensor.device_id if on_device else None,
        LEGACY_STREAM,
        True,
        (obj, consumed),
        kind,
    )


# ---- The public functions ------------------------------------------------------------


def view(obj: Any, writable: bool = False, name: str = "data") -> Memory:
    """Returns where the bytes of `obj` lie; `name` is what messages call it.

    Raises TypeError for an object that has no bytes to offer, and ValueError for one that is not contiguous,
    or is read-only where `writable` asks for more.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(obj, torch.Tensor):
        return _view_torch(obj, torch, writable, name)
    memory = _look(obj, name)
    if memory.bytes and not memory.address:
        raise TypeError(f"{name} ({_type_name(obj)}) has {memory.bytes} bytes and no memory: expected an array that has")
    if writable and memory.readonly:
        why = "its memory is read-only; expected memory that can"
        if memory.kind == "jax":
            why = "JAX arrays are immutable; expected a call that returns a new one, such as normal_like()"
        raise ValueError(f"{name} ({_type_name(obj)}) cannot be written: {why}")
    return memory


def is_writable(memory: Memory) -> bool:
    """Whether view() of the same object takes it as writable, too."""
    if memory.kind == "torch":
        return _torch_may_write(memory.owner, sys.modules["torch"])
    return not memory.readonly


def _look(obj: Any, name: str) -> Memory:
    if type(obj) is Memory:  # of a module of this package that has looked already
        return obj
    if type(obj) is bytes:
        return Memory(_bytes_address(obj), len(obj), None, 0, True, obj, "bytes")
    if isinstance(obj, (bytearray, memoryview)):
        return _view_buffer(obj, name)
    if is_of(obj, "numpy", "ndarray"):
        return _view_numpy(obj, name)
    if is_of(obj, "cupy", "ndarray"):
        return _view_cupy(obj, sys.modules["cupy"], name)
    if is_of(obj, "jax", "Array"):
        if not hasattr(obj, "__dlpack_device__"):
            raise TypeError(f"{name} is {_type_name(obj)}: expected a JAX array with memory, no key or traced array")
        return _view_dlpack(obj, name, "jax")
    if hasattr(obj, "__cuda_array_interface__"):
        return _view_cuda(obj, name)
    try:
        return _view_buffer(obj, name)
    except TypeError:
        if not hasattr(obj, "__dlpack__") or not hasattr(obj, "__dlpack_device__"):
            raise
    memory = _view_dlpack(obj, name, "cuda")
    if memory.device is None:
        memory.kind = "buffer"
    return memory


def new_like(memory: Memory, count: int | tuple[int, ...], dtype: str = "uint8") -> tuple[Any, Memory]:
    """Returns a new array of `count` elements, or of a shape, not initialised, of the package and on the device of
    `memory`, and where it lies.

    For host memory without a package it is bytes, for which dtype must be "uint8", and `count` a number; they may be
    written only until others see them. For device memory without a package it is a gpuaes.DeviceMemory of bytes.
    """
    if memory.kind == "torch":
        torch = sys.modules["torch"]
        tensor = torch.empty(count, dtype=getattr(torch, dtype), device=memory.owner.device)
        place = torch_place(tensor, "result")
        return tensor, Memory(*place, memory.device, memory.stream, False, tensor, "torch")
    if memory.kind == "cupy":
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(memory.device):
            array = cupy.empty(count, dtype=dtype)
        return array, Memory(
            int(array.data.ptr), array.nbytes, memory.device, memory.stream, False, array, "cupy", memory.stream_owner
        )
    if memory.kind == "numpy":
        array = sys.modules["numpy"].empty(count, dtype=dtype)
        return array, _view_numpy(array, "result")
    if memory.kind == "jax":
        return _new_jax(memory, count, dtype)
    if dtype != "uint8" or not isinstance(count, int):
        raise ValueError(f"dtype is {dtype!r}: expected 'uint8', and a number of them, for memory without a package")
    if memory.device is None:
        data = _new_bytes(None, count)
        return data, Memory(_bytes_address(data), count, None, 0, False, data, "bytes")
    held = _driver.DeviceMemory(memory.device, count, memory.stream, memory.stream_owner)
    return held, Memory(held.address, count, memory.device, memory.stream, False, held, "cuda")


def _new_jax(memory: Memory, count: int | tuple[int, ...], dtype: str) -> tuple[Any, Memory]:
    """An array that nobody else has seen, so that it may still be written. JAX's own streams do not know of
    that: the writer waits before it hands the array out (see `written`)."""
    jax = sys.modules["jax"]
    source = memory.owner[0]
    array = jax.device_put(jax.numpy.zeros(count, dtype=dtype), next(iter(source.devices()))).block_until_ready()
    place = _view_dlpack(array, "result", "jax")
    place.readonly = False
    return array, place


def copy_of(memory: Memory) -> bytes:
    """Returns a copy of memory of the host, of any length: ctypes.string_at() cuts its own off at 32 bits."""
    return _new_bytes(memory.address, memory.bytes) if memory.bytes else b""


def hold(lane: _driver.Lane, *memories: Memory) -> None:
    """Keeps arrays until the stream has passed what is queued on it now, but for those of PyTorch and CuPy, whose
    allocators follow the order of the stream."""
    for memory in memories:
        if memory.kind not in _ORDERED_ALLOCATORS:
            owners = [memory.owner for memory in memories]
            _driver.retire((lane,), owners.clear)
            return


def written(memory: Memory) -> None:
    """Tells the package of `memory` that it was written: PyTorch then notices that a gradient would be wrong, and for
    JAX it waits until that is so."""
    if memory.kind == "jax" and memory.device is not None:
        with _driver.lane(memory.device, memory.stream) as lane:
            lane.wait("waiting for the result")
    if memory.kind == "torch":
        torch = sys.modules["torch"]
        increment = getattr(torch.autograd.graph, "increment_version", None)  # since PyTorch 2.1
        if increment is not None and not memory.owner.is_inference():
            increment(memory.owner)
