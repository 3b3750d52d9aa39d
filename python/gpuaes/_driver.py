"""Streams of the application: what the package keeps for each, and libcuda by ctypes for what libgpuaes leaves to
the application.

A `Lane` is a CUDA stream with libgpuaes' binding to it, pinned slots through which the host hands small things to
kernels, and copies in the order of the stream. `retire()` frees what queued work may still use, once the streams have
passed it.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import os
import threading
import time
from collections import OrderedDict
from ctypes import POINTER, byref, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from typing import Any, Callable, Iterable

from . import _fork, _library
from ._library import lib
from ._owner import Owner
from .errors import GpuaesError

# From cuda.h.
_HOST, _MEMORY_TYPE, _ORDINAL, _EVENT_QUIET, _RELAXED, _NON_BLOCKING, _NOT_READY = 1, 2, 9, 2, 2, 1, 600
_CAPTURE_IMPLICIT, _MEMORY_POOLS = 906, 115

_PROTOTYPES: dict[str, list[Any]] = {
    "cuDeviceGetAttribute": [POINTER(c_int), c_int, c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxPushCurrent_v2": [c_void_p],
    "cuCtxPopCurrent_v2": [POINTER(c_void_p)],
    "cuThreadExchangeStreamCaptureMode": [POINTER(c_int)],
    "cuStreamCreate": [POINTER(c_void_p), c_uint],
    "cuStreamSynchronize": [c_void_p],
    "cuStreamIsCapturing": [c_void_p, POINTER(c_int)],
    "cuEventCreate": [POINTER(c_void_p), c_uint],
    "cuEventDestroy_v2": [c_void_p],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventQuery": [c_void_p],
    "cuMemAlloc_v2": [POINTER(c_uint64), c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemcpyHtoDAsync_v2": [c_uint64, c_void_p, c_size_t, c_void_p],
    "cuMemcpyDtoHAsync_v2": [c_void_p, c_uint64, c_size_t, c_void_p],
    "cuMemcpyDtoDAsync_v2": [c_uint64, c_uint64, c_size_t, c_void_p],
    "cuMemsetD8Async": [c_uint64, c_ubyte, c_size_t, c_void_p],
    "cuPointerGetAttributes": [c_uint, POINTER(c_int), POINTER(c_void_p), c_uint64],
}

_lock = threading.RLock()
_cuda: Any = None


def cuda() -> Any:
    """libcuda, which libgpuaes has opened as well. Raises GpuaesError where there is none."""
    global _cuda
    if _cuda is None:
        try:
            library = ctypes.CDLL("libcuda.so.1")
            for name, arguments in _PROTOTYPES.items():
                _library.declare(library, name, c_int, arguments)
        except (OSError, AttributeError) as error:
            raise GpuaesError(f"memory of a device cannot be used without NVIDIA's driver: {error}") from error
        _cuda = library
    return _cuda


def _check(result: int, doing: str) -> None:
    if result:
        raise GpuaesError(f"{doing}: the CUDA driver reported error {result}")


_ADDRESS_QUERY = (c_int * 2)(_MEMORY_TYPE, _ORDINAL)


def _owner_of(address: int, name: str) -> tuple[int, int]:
    """The kind of memory at an address, 0 where the driver does not know it, and its device."""
    _library_ready(None)
    found = (c_int * 2)(0, -1)
    values = (c_void_p * 2)(ctypes.addressof(found), ctypes.addressof(found) + ctypes.sizeof(c_int))
    _check(cuda().cuPointerGetAttributes(2, _ADDRESS_QUERY, values, address), f"looking for {name}")
    return found[0], found[1]


def ordinal_of(address: int, name: str) -> int:
    """The device that owns an address."""
    kind, device = _owner_of(address, name)
    if not kind:
        raise ValueError(f"{name} lies at {address:#x}: expected memory of a device, which the CUDA driver knows")
    return device


def is_pinned(address: int, count: int) -> bool:
    """Whether memory of the host, of a byte or more, is pinned from its first to its last byte."""
    return all(_owner_of(at, "pinned memory")[0] == _HOST for at in (address, address + count - 1))


def any_ordinal() -> int:
    """The first device in use, for memory of no bytes."""
    _library_ready(None)
    return next(_library.ordinals(), 0)


def _library_ready(device: int | None) -> None:
    if not _library.is_ready():
        _library.start(device)


# ---- Contexts and memory -------------------------------------------------------------

CELL_BYTES, _CELLS_BYTES = 32, 4096
_popped = byref(c_void_p())


class _Relaxed:
    """See Context.relaxed(). A class, which takes half the time of a generator."""

    __slots__ = ("_handle", "_failed", "_mode")

    def __init__(self, handle: c_void_p) -> None:
        self._handle = handle

    def __enter__(self) -> None:
        self._failed = _cuda.cuCtxPushCurrent_v2(self._handle)
        self._mode = byref(c_int(_RELAXED))
        _cuda.cuThreadExchangeStreamCaptureMode(self._mode)

    def __exit__(self, *_: object) -> None:
        _cuda.cuThreadExchangeStreamCaptureMode(self._mode)
        if not self._failed:
            _cuda.cuCtxPopCurrent_v2(_popped)


class Context:
    """The primary context of a device, current to the thread within a `with`. `has_pools`: gpuaes_queue() takes
    temporary memory by itself, which some virtual GPUs cannot do."""

    __slots__ = ("handle", "has_pools", "_own", "_cells", "_generation")

    def __init__(self, device: int) -> None:
        self.handle, pools = c_void_p(), c_int()
        _check(cuda().cuDevicePrimaryCtxRetain(byref(self.handle), device), f"using device {device}")
        _check(_cuda.cuDeviceGetAttribute(byref(pools), _MEMORY_POOLS, device), f"asking device {device}")
        self.has_pools = bool(pools.value)
        self._own = c_void_p()
        self._cells: list[int] = []
        self._generation = _fork.generation()

    def is_ours(self) -> bool:
        """False in a forked child, where the parent has it."""
        return self._generation == _fork.generation()

    def __enter__(self) -> None:
        result = _cuda.cuCtxPushCurrent_v2(self.handle)
        if result:
            _check(result, "making a CUDA context current")

    def __exit__(self, *_: object) -> None:
        _cuda.cuCtxPopCurrent_v2(_popped)

    def relaxed(self) -> _Relaxed:
        """The same, and calls that may not be made while a stream is captured into a CUDA graph are no error then, nor
        do they end the capture. For finalizers, too: where the context cannot be made current, calls fail."""
        return _Relaxed(self.handle)

    def own_stream(self) -> int | None:
        """A stream of the package, which waits for no other and is kept; None where it cannot be made."""
        with _lock, self.relaxed():
            if not self._own and _cuda.cuStreamCreate(byref(self._own), _NON_BLOCKING):
                return None
            return self._own.value

    def allocate(self, count: int) -> int:
        address = c_uint64()
        with self.relaxed():
            _check(_cuda.cuMemAlloc_v2(byref(address), max(count, 1)), f"allocating {count} bytes of device memory")
        return address.value

    def free(self, address: int) -> None:
        """Frees memory that no stream uses any more."""
        with self.relaxed():
            _cuda.cuMemFree_v2(address)

    def overwrite(self, address: int, count: int) -> None:
        """Overwrites memory with zeros, on a stream of the package: another may be gone."""
        with self.relaxed():
            own = self.own_stream() or 0
            _cuda.cuMemsetD8Async(address, 0, count, own)
            _Event(self, own).wait()

    def cell(self) -> int:
        """CELL_BYTES of device memory, which are kept for others when they are given back: to free memory would wait for
        all work of the device."""
        with _lock:
            if not self._cells:
                address = self.allocate(_CELLS_BYTES)
                self._cells += range(address, address + _CELLS_BYTES, CELL_BYTES)
            return self._cells.pop()

    def give_cell(self, address: int) -> None:
        """Once no stream uses it any more."""
        self.overwrite(address, CELL_BYTES)
        self._cells.append(address)


_contexts: dict[int, Context] = {}


def context_of(device: int) -> Context:
    with _lock:
        context = _contexts.get(device)
        if context is None:
            context = _contexts[device] = Context(device)
        return context


# ---- What is in use until streams have passed it -------------------------------------

_REAPED_AT_ONCE = 8
_LOOK_SECONDS = 1e-4


class _Event(Owner):
    """A point in the order of a stream, which outlives the stream; without a stream, one that is passed. Where it cannot
    be made, waits for the stream at once. Make it with the context current."""

    __slots__ = ("_context", "_handle")

    def __init__(self, context: Context, stream: int | None = None) -> None:
        self._context, self._handle = context, c_void_p()
        super().__init__()
        failed = _cuda.cuEventCreate(byref(self._handle), _EVENT_QUIET)
        if stream is not None and (failed or _cuda.cuEventRecord(self._handle, stream)):
            _cuda.cuStreamSynchronize(stream)

    def is_passed(self) -> bool:
        with self._context.relaxed():
            return not self._handle or _cuda.cuEventQuery(self._handle) != _NOT_READY

    def wait(self) -> None:
        while not self.is_passed():
            time.sleep(_LOOK_SECONDS)

    def _release(self) -> None:
        handle, self._handle = self._handle, c_void_p()
        if handle and self._context.is_ours():
            with self._context.relaxed():
                _cuda.cuEventDestroy_v2(handle)


class _Retired:
    """Something to be freed behind lanes. An event takes the place of each, as soon as there is one."""

    __slots__ = ("behind", "free")

    def __init__(self, lanes: Iterable[Lane], free: Callable[[], None]) -> None:
        self.behind: list[Lane | _Event] = list(lanes)
        self.free = free

    def mark(self) -> None:
        self.behind = [each.end() or each if isinstance(each, Lane) else each for each in self.behind]

    def is_passed(self) -> bool:
        self.mark()
        self.behind = [each for each in self.behind if isinstance(each, Lane) or not each.is_passed()]
        return not self.behind

    def wait(self) -> None:
        """Waits for what lanes without an event have queued since, too."""
        for each in self.behind:
            each.wait_at_end() if isinstance(each, Lane) else each.wait()


_retired: list[_Retired] = []
at_end: list[Callable[[], None]] = []  # called when the interpreter ends, once nothing is in use


def retire(lanes: Iterable[Lane], free: Callable[[], None]) -> None:
    """Calls `free` when all that is on the streams of `lanes` now is done: within a later call of the package, or
    when the interpreter ends. Neither waits nor raises; may be called by a finalizer, but not once the interpreter is
    taken down, when modules are gone. Does nothing in a forked child, where `free` and what it refers to are kept."""
    entry = _Retired(lanes, free)
    if _is_ours():
        entry.mark()
    _retired.append(entry)


def reap(everything: bool = False) -> None:
    """Frees what streams have passed; with `everything`, waits for the rest and frees it, too."""
    if not _is_ours():
        return
    for _ in range(len(_retired) if everything else min(len(_retired), _REAPED_AT_ONCE)):
        try:
            entry = _retired.pop(0)
        except IndexError:  # another thread has taken it
            return
        if not entry.is_passed():
            if not everything:
                _retired.append(entry)
                continue
            entry.wait()
        entry.free()


def _is_ours() -> bool:
    """False in a forked child: what the parent has on devices is the parent's."""
    return all(context.is_ours() for context in _contexts.values())


def _forget_after_fork() -> None:
    global _lock
    _lock = threading.RLock()


def _end() -> None:
    if _is_ours():
        for each in list(_lanes.values()):
            each.wait_at_end()
        _lanes.clear()
        reap(everything=True)
        for free in at_end:
            free()


class DeviceMemory(Owner):
    """Bytes of a device that the package allocated, since the object it was to resemble has no package known here.

    Has `__cuda_array_interface__`; `tobytes()` waits for its stream and returns a copy. The memory is freed by close(),
    or when the object is collected, once the stream has passed what uses it. ValueError after that. The object can be
    neither copied nor pickled.
    """

    _instead = "take its tobytes(), or pass the object itself"

    def __init__(self, device: int, count: int, stream: int, stream_owner: object = None) -> None:
        self._lane = lane(device, stream, stream_owner)
        self.device, self._address, self.nbytes = device, self._lane.context.allocate(count), count
        super().__init__()

    def _name(self) -> str:
        return "gpuaes.DeviceMemory"

    def _facts(self) -> str:
        return f"{self.nbytes} bytes on device {self.device}"

    @property
    def address(self) -> int:
        self.check_open()
        return self._address

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": (self.nbytes,),
            "typestr": "|u1",
            "data": (self.address, False),
            "strides": None,
            "stream": self._lane.stream or 1,
            "version": 3,
        }

    def __len__(self) -> int:
        return self.nbytes

    def tobytes(self) -> bytes:
        return self._lane.read(self.address, self.nbytes)

    def _release(self) -> None:
        retire((self._lane,), functools.partial(self._lane.context.free, self._address))


# ---- Lanes ---------------------------------------------------------------------------

SLOT_BYTES = 4096
_SLOTS_OF_HALF = 16
_RING_BYTES = 2 * _SLOTS_OF_HALF * SLOT_BYTES
_LANES_MOST = 64


class Slot:
    """A piece of pinned memory, which kernels reach at the same address."""

    __slots__ = ("address", "buffer", "messages")

    def __init__(self, address: int) -> None:
        self.address = address
        self.buffer = (ctypes.c_char * SLOT_BYTES).from_address(address)
        self.messages: Any = None  # _gcm.py keeps a struct there


class Lane(Owner):
    """A stream of the application. Enter it (`with lane:`) to queue work: it is the lock of what it keeps. Two threads
    that share a stream take turns.

    The application may destroy a stream that neither is the legacy one nor has an owner after any call. After that, the
    driver may be asked about an event on it, and not about the stream: so each call ends with an event."""

    def __init__(self, device: int, stream: int, owner: object) -> None:
        self.device, self.stream, self.owner = device, stream, owner
        self.context = context_of(device)
        self.lock = threading.RLock()
        self._calls = 0  # under way: one, and those within it
        self._last: _Event | None = None
        if stream and owner is None:
            with self.context.relaxed():
                self._last = _Event(self.context)
        # The ring of slots: the number of the next, and events behind all that used each half.
        self._slots: list[Slot] = []
        self._next = 0
        self._passed: list[_Event | None] = [None, None]
        self.binding: c_void_p | None = c_void_p()
        status = lib.gpuaes_stream_binding_open(byref(self.binding), stream, device)
        if status == _library.BAD_ARGUMENT:
            raise GpuaesError(
                f"device {device} cannot be used, or its stream {stream:#x} is not of its primary CUDA context,"
                f" which PyTorch, CuPy and JAX use: gpuaes has the devices {list(_library.ordinals())}",
                status,
            )
        _library.check(status, f"using stream {stream:#x} of device {device}")
        super().__init__()

    def __enter__(self) -> Lane:
        self.check_open()
        self.lock.acquire()
        self._calls += 1
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._last and self._calls == 1:
                self._last = self.event() or self._last
        finally:
            self._calls -= 1
            self.lock.release()

    def end(self) -> _Event | None:
        """An event behind all that the package has queued on the stream; None while there can be none, since a call is
        under way, or the stream is captured."""
        if self._last:
            return None if self._calls else self._last
        return self.event()

    def event(self) -> _Event | None:
        """An event behind what is on the stream, for a caller that has entered the lane; None while it is captured."""
        with self.context.relaxed():
            return None if self._is_captured() else _Event(self.context, self.stream)

    def _release(self) -> None:
        binding, self.binding = self.binding, None
        retire((self,), functools.partial(self._free, binding))

    def _free(self, binding: c_void_p | None) -> None:
        lib.gpuaes_stream_binding_close(binding)
        if self._slots:
            lib.gpuaes_pinned_free(self._slots[0].address, _RING_BYTES)

    def wait(self, doing: str) -> None:
        """Waits until the stream has done all that was queued on it."""
        self.check_open()
        _library.check(lib.gpuaes_stream_binding_wait(self.binding, None), doing)

    def wait_for_earlier(self, doing: str) -> None:
        """Waits for what earlier calls have queued. The application may have destroyed the stream since."""
        if self._last:
            self._last.wait()
        else:
            self.wait(doing)

    def wait_at_end(self) -> None:
        """The same, and ignores errors, as that the lane was collected: what it left has waited."""
        with contextlib.suppress(GpuaesError, ValueError):
            self.wait_for_earlier("ending")

    def _is_captured(self) -> bool:
        """Also where the stream is the legacy one, and one that it waits for is captured. The context is current."""
        captured = c_int()
        result = _cuda.cuStreamIsCapturing(self.stream, byref(captured))
        return result == _CAPTURE_IMPLICIT or bool(captured.value)

    def is_captured(self) -> bool:
        with self.context:
            return self._is_captured()

    def refuse_capture(self, doing: str, expected: str = "gpuaes.Batch there") -> None:
        """Raises GpuaesError while the stream is captured into a CUDA graph, whose runs would use nonces and counters
        again."""
        if self.is_captured():
            raise GpuaesError(f"{doing}: the stream is captured into a CUDA graph; expected {expected}", _library.BUSY)

    def slot(self) -> Slot:
        """The next slot, for what is queued before the next call of this. Waits where the stream has work with all."""
        if self._next % _SLOTS_OF_HALF == 0:
            self._enter_half(self._next // _SLOTS_OF_HALF)
        slot = self._slots[self._next]
        self._next = (self._next + 1) % (2 * _SLOTS_OF_HALF)
        return slot

    def _enter_half(self, half: int) -> None:
        doing = "waiting for earlier work of the stream"
        self.refuse_capture(doing)
        if self._slots:
            with self.context.relaxed():
                self._passed[1 - half] = _Event(self.context, self.stream)
        else:
            address = lib.gpuaes_pinned_alloc(_RING_BYTES)
            if not address:
                raise _library.error(_library.NO_MEMORY, "allocating pinned memory")
            self._slots = [Slot(address + at) for at in range(0, _RING_BYTES, SLOT_BYTES)]
        event = self._passed[half]
        if event and not event.is_passed():
            self.wait(doing)

    def put_secret(self, address: int, count: int) -> int:
        """Returns a cell with a copy of a secret of the host, which work on any stream may use from now on. It passes a
        slot, since of other memory the driver would keep a copy, on a stream of the package, which is waited for."""
        doing = "copying a key to the device"
        own = self.context.own_stream()
        if own is None:
            raise GpuaesError(f"{doing}: the CUDA driver cannot make a stream")
        slot, cell = self.slot(), self.context.cell()
        try:
            ctypes.memmove(slot.address, address, count)
            with self.context.relaxed():
                _check(_cuda.cuMemcpyHtoDAsync_v2(cell, slot.address, count, own), doing)
                _check(_cuda.cuStreamSynchronize(own), doing)
        finally:
            lib.gpuaes_cleanse(slot.address, count)
        return cell

    def _queue(self, doing: str, function: Any, to: int, what: int, count: int) -> None:
        if count:
            with self.context:
                _check(function(to, what, count, self.stream), doing)

    def copy(self, to: int, source: int, count: int) -> None:
        """Queues a copy within the device."""
        self._queue("copying within device memory", _cuda.cuMemcpyDtoDAsync_v2, to, source, count)

    def fill(self, address: int, value: int, count: int) -> None:
        """Queues that memory is filled with a byte."""
        self._queue("overwriting device memory", _cuda.cuMemsetD8Async, address, value, count)

    def fetch(self, to: int, source: int, count: int) -> None:
        """Queues a copy to the host. The memory must stay until wait()."""
        self._queue("copying to the host", _cuda.cuMemcpyDtoHAsync_v2, to, source, count)

    def send(self, to: int, source: int, count: int) -> None:
        """Queues a copy from the host. The memory must stay until the stream has passed it."""
        self._queue("copying to the device", _cuda.cuMemcpyHtoDAsync_v2, to, source, count)

    def read(self, address: int, count: int) -> bytes:
        """Waits, and returns a copy of device memory."""
        data = ctypes.create_string_buffer(max(count, 1))
        with self:
            self.fetch(ctypes.addressof(data), address, count)
            self.wait("reading device memory")
        return data.raw[:count]


_lanes: OrderedDict[tuple[int, int], Lane] = OrderedDict()


def lane(device: int, stream: int, owner: object = None) -> Lane:
    """Returns the lane of a stream; starts the devices where that has not been done. `owner` keeps the stream.

    Raises GpuaesError where the device cannot be used.
    """
    found = _lanes.get((device, stream))
    if found is None or not found.context.is_ours():
        found = _new_lane(device, stream, owner)
    if _retired:
        reap()
    return found


def _new_lane(device: int, stream: int, owner: object) -> Lane:
    _library_ready(device)  # raises in a forked child of a process that has devices
    with _lock:
        if (device, stream) not in _lanes:
            _lanes[device, stream] = Lane(device, stream, owner)
            if len(_lanes) > _LANES_MOST:
                _lanes.popitem(last=False)
        return _lanes[device, stream]


os.register_at_fork(after_in_child=_forget_after_fork)
atexit.register(_end)
