"""Streams of the application: what the package keeps for each, and libcuda by ctypes for what libgpuaes leaves to
the application.

A `Lane` is a CUDA stream with libgpuaes' binding to it, pinned slots through which the host hands small things to
kernels, and device memory that work of the stream uses in its order. `retire()` frees what queued work may still
use, once the streams have passed it.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import atexit
import ctypes
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
_MEMORY_TYPE, _ORDINAL, _EVENT_QUIET, _RELAXED, _NON_BLOCKING, _NOT_READY = 2, 9, 2, 2, 1, 600
_MEMORY_POOLS = 115

_PROTOTYPES: dict[str, list[Any]] = {
    "cuDeviceGetCount": [POINTER(c_int)],
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


def check(result: int, doing: str) -> None:
    """Raises GpuaesError unless a function of libcuda succeeded."""
    if result:
        raise GpuaesError(f"{doing}: the CUDA driver reported error {result}")


_ADDRESS_QUERY = (c_int * 2)(_MEMORY_TYPE, _ORDINAL)


def ordinal_of(address: int, name: str) -> int:
    """The device that owns an address."""
    _library_ready(None)
    found = (c_int * 2)(0, -1)
    values = (c_void_p * 2)(*(ctypes.addressof(found) + i * ctypes.sizeof(c_int) for i in range(2)))
    check(cuda().cuPointerGetAttributes(2, _ADDRESS_QUERY, values, address), f"looking for {name}")
    if not found[0]:
        raise ValueError(f"{name} lies at {address:#x}: expected memory of a device, which the CUDA driver knows")
    return found[1]


def any_ordinal() -> int:
    """The first device in use, for memory of no bytes."""
    _library_ready(None)
    info = _library.DeviceInfo()
    return info.ordinal if lib.gpuaes_device(0, byref(info)) else 0


def _library_ready(device: int | None) -> None:
    if not _library.is_ready():
        _library.start(device)


# ---- What is in use until streams have passed it -------------------------------------

_REAPED_AT_ONCE = 8
_LOOK_SECONDS = 1e-4


class _Mark(Owner):
    """A point in the order of a stream: an event, which outlives the stream. Where it cannot be made or recorded it
    counts as passed, and what is freed behind it waits by itself. Make and record it within Context.relaxed()."""

    __slots__ = ("context", "event", "pending", "instead")

    def __init__(self, context: Context, pending: bool = False) -> None:
        self.context, self.event = context, c_void_p()
        self.pending = pending  # the work that it is to be behind is still being queued
        self.instead: _Mark | None = None
        _cuda.cuEventCreate(byref(self.event), _EVENT_QUIET)
        super().__init__()

    def record(self, stream: int) -> bool:
        """False while the stream is captured into a graph, whose work nobody waits for."""
        capturing = c_int()
        if not _cuda.cuStreamIsCapturing(stream, byref(capturing)) and capturing.value:
            return False
        if self.event:
            _cuda.cuEventRecord(self.event, stream)
        return True

    def is_passed(self) -> bool:
        if self.pending:
            return False
        if self.instead is not None:
            return self.instead.is_passed()
        with self.context.relaxed():
            return not self.event or _cuda.cuEventQuery(self.event) != _NOT_READY

    def wait(self) -> None:
        while not self.is_passed():
            time.sleep(_LOOK_SECONDS)

    def _release(self) -> None:
        event, self.event = self.event, c_void_p()
        if event and self.context.is_ours():
            with self.context.relaxed():
                _cuda.cuEventDestroy_v2(event)


def _end_of(of: Lane) -> _Mark | None:
    """A mark behind all that the package has queued on the stream; None while that is captured."""
    if of.tail:
        return of.tail.mark()
    with of.context.relaxed():
        mark = _Mark(of.context)
        return mark if mark.record(of.stream) else None


class _Retired:
    """Something to be freed behind marks. A stream gets none while it is captured."""

    __slots__ = ("used", "unmarked", "marks", "free")

    def __init__(self, lanes: Iterable[Lane], free: Callable[[], None]) -> None:
        self.used = self.unmarked = tuple(lanes)
        self.marks: list[_Mark] = []
        self.free = free

    def is_ours(self) -> bool:
        return all(lane_.context.is_ours() for lane_ in self.used)

    def mark(self) -> None:
        """Adds the marks that are missing, where that can be done."""
        captured = []
        for lane_ in self.unmarked:
            mark = _end_of(lane_)
            if mark is None:
                captured.append(lane_)
            else:
                self.marks.append(mark)
        self.unmarked = tuple(captured)

    def wait(self) -> None:
        """Waits for what lanes have queued since, too."""
        for lane_ in self.used:
            _wait_at_end(lane_)

    def is_passed(self) -> bool:
        self.mark()
        while self.marks and self.marks[-1].is_passed():
            self.marks.pop()
        return not self.marks and not self.unmarked


_retired: list[_Retired] = []
_kept: list[Any] = []  # in a child: never freed


def _forget_after_fork() -> None:
    """A child has no device: what the parent has there is the parent's."""
    global _lock
    _lock = threading.RLock()
    _kept.extend(_retired)
    _kept.extend(_lanes.values())
    _retired.clear()
    _lanes.clear()


def retire(lanes: Iterable[Lane], free: Callable[[], None]) -> None:
    """Calls `free` when all that is on the streams of `lanes` now is done: within a later call of the package, or
    when the interpreter ends. Neither waits nor raises; may be called by a finalizer, but not once the interpreter is
    taken down, when modules are gone. Does nothing in a forked child, where `free` and what it refers to are kept."""
    entry = _Retired(lanes, free)
    if not entry.is_ours():
        _kept.append(entry)
        return
    entry.mark()
    _retired.append(entry)


def reap(everything: bool = False) -> None:
    """Frees what streams have passed; with `everything`, waits for the rest and frees it, too."""
    for _ in range(len(_retired) if everything else min(len(_retired), _REAPED_AT_ONCE)):
        try:
            entry = _retired.pop(0)
        except IndexError:  # another thread has taken it
            return
        if not entry.is_ours():
            _kept.append(entry)
            continue
        if not entry.is_passed():
            if not everything:
                _retired.append(entry)
                continue
            entry.wait()
        entry.free()


def _wait_at_end(of: Lane) -> None:
    """Waits for the stream's work, and ignores errors. Of a lane that was collected, what it left has waited."""
    if of.tail:
        of.tail.mark().wait()
    elif of.binding:
        lib.gpuaes_stream_binding_wait(of.binding, None)


def _end() -> None:
    for each in _lanes.values():
        if each.context.is_ours():
            _wait_at_end(each)
    _lanes.clear()
    reap(everything=True)


# ---- Contexts and memory -------------------------------------------------------------


class Context:
    """The primary context of a device, current to the thread within a `with`. `has_pools`: gpuaes_queue() takes
    temporary memory by itself, which some virtual GPUs cannot do."""

    __slots__ = ("handle", "has_pools", "_own", "_cells", "_generation")

    def __init__(self, device: int) -> None:
        handle = c_void_p()
        check(cuda().cuDevicePrimaryCtxRetain(byref(handle), device), f"using device {device}")
        pools = c_int()
        check(_cuda.cuDeviceGetAttribute(byref(pools), _MEMORY_POOLS, device), f"asking device {device}")
        self.handle, self.has_pools = handle, bool(pools.value)
        self._own = c_void_p()
        self._cells: list[int] = []
        self._generation = _fork.generation()

    def is_ours(self) -> bool:
        """False in a forked child, where the parent has it."""
        return self._generation == _fork.generation()

    def __enter__(self) -> None:
        result = _cuda.cuCtxPushCurrent_v2(self.handle)
        if result:
            check(result, "making a CUDA context current")

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
            check(_cuda.cuMemAlloc_v2(byref(address), max(count, 1)), f"allocating {count} bytes of device memory")
        return address.value

    def overwrite(self, address: int, count: int) -> None:
        """Overwrites memory that no stream uses any more, on a stream of the package: another may be gone."""
        with self.relaxed():
            own = self.own_stream() or 0
            _cuda.cuMemsetD8Async(address, 0, count, own)
            overwritten = _Mark(self)
            overwritten.record(own)
            overwritten.wait()

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


_popped = byref(c_void_p())
_contexts: dict[int, Context] = {}


def context_of(device: int) -> Context:
    with _lock:
        context = _contexts.get(device)
        if context is None:
            context = _contexts[device] = Context(device)
        return context


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


class DeviceMemory(Owner):
    """Bytes of a device that the package allocated, since the object it was to resemble has no package known here.

    Has `__cuda_array_interface__`; `tobytes()` waits for its stream and returns a copy. The memory is freed by close(),
    or when the object is collected, once the stream has passed what uses it. ValueError after that. The object can be
    neither copied nor pickled.
    """

    _instead = "take its tobytes(), or pass the object itself"

    def __init__(self, device: int, count: int, stream: int, stream_owner: object = None) -> None:
        self._lane = lane(device, stream, stream_owner)
        self.device, self._address, self.nbytes = device, self._lane.allocate(count), count
        super().__init__()

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
        lane_, address = self._lane, self._address
        retire((lane_,), lambda: lane_.free(address))


# ---- Lanes ---------------------------------------------------------------------------

SLOT_BYTES = 4096
CELL_BYTES, _CELLS_BYTES = 32, 4096
_SLOTS_OF_HALF = 16
_LANES_MOST = 64


class Slot:
    """A piece of pinned memory, which kernels reach at the same address."""

    __slots__ = ("address", "buffer", "messages")

    def __init__(self, address: int) -> None:
        self.address = address
        self.buffer = (ctypes.c_char * SLOT_BYTES).from_address(address)
        self.messages: Any = None  # _gcm.py keeps a struct there


class _Ring:
    """Slots, used in turn. An event for each half says when the stream has passed all that used its slots."""

    __slots__ = ("slots", "events", "recorded", "next", "bytes")

    def __init__(self) -> None:
        self.bytes = 2 * _SLOTS_OF_HALF * SLOT_BYTES
        address = lib.gpuaes_pinned_alloc(self.bytes)
        if not address:
            raise _library.error(_library.NO_MEMORY, "allocating pinned memory")
        self.slots = [Slot(address + at) for at in range(0, self.bytes, SLOT_BYTES)]
        self.events = c_void_p(), c_void_p()
        self.recorded = [False, False]
        self.next = 0
        for event in self.events:
            check(_cuda.cuEventCreate(byref(event), _EVENT_QUIET), "creating an event")

    def free(self) -> None:
        """With the context current, once the stream has passed all."""
        for event in self.events:
            _cuda.cuEventDestroy_v2(event)
        lib.gpuaes_pinned_free(self.slots[0].address, self.bytes)


class _Tail:
    """The end of what the package has queued on a stream that the application may destroy at any time: after that,
    the driver may be asked about an event on it, and not about the stream. Each call sets a mark of its own, so that
    what was retired before a call does not wait for it."""

    __slots__ = ("last", "under_way", "depth")

    def __init__(self, context: Context) -> None:
        with context.relaxed():
            self.last = _Mark(context)  # of calls that have ended
        self.under_way: _Mark | None = None
        self.depth = 0

    @staticmethod
    def next_mark(context: Context) -> _Mark:
        with context.relaxed():
            mark = _Mark(context, pending=True)
        if not mark.event:
            raise GpuaesError("creating an event: the CUDA driver cannot")
        return mark

    def enter(self, mark: _Mark | None) -> None:
        """With a mark for the outermost call of a thread, without one within that."""
        if mark is not None:
            self.under_way = mark
        self.depth += 1

    def leave(self, stream: int) -> None:
        """With the stream's work queued. Whatever fails, nobody waits for the mark afterwards."""
        self.depth -= 1
        mark = self.under_way
        if self.depth or mark is None:
            return
        try:
            with mark.context.relaxed():
                recorded = mark.record(stream)
            if recorded:
                self.last = mark
            else:
                mark.instead = self.last
        finally:
            mark.pending = False
            self.under_way = None

    def mark(self) -> _Mark:
        """Any thread may ask for it."""
        return self.under_way or self.last


class Lane(Owner):
    """A stream of the application. Enter it (`with lane:`) for all else: it is the lock of what it keeps, and makes
    its context current. Two threads that share a stream take turns. A stream that neither is the legacy one nor has an
    owner may be gone after any call: it has a tail."""

    def __init__(self, device: int, stream: int, owner: object) -> None:
        self.device, self.stream, self.owner = device, stream, owner
        self.context = context_of(device)
        self.tail: _Tail | None = None
        self.lock = threading.RLock()
        self.cell = 0
        self.ring: _Ring | None = None
        self._capturing = c_int()
        self._capturing_reference = byref(self._capturing)
        self.binding = c_void_p()
        status = lib.gpuaes_stream_binding_open(byref(self.binding), stream, device)
        if status == _library.BAD_ARGUMENT:
            raise GpuaesError(
                f"device {device} cannot be used, or its stream {stream:#x} is not of its primary CUDA context,"
                f" which PyTorch, CuPy and JAX use: gpuaes has the devices {_in_use()}",
                status,
            )
        _library.check(status, f"using stream {stream:#x} of device {device}")
        super().__init__()
        if stream and owner is None:
            self.tail = _Tail(self.context)

    def __enter__(self) -> Lane:
        self.check_open()
        self.lock.acquire()
        try:
            mark = self.tail.next_mark(self.context) if self.tail and self.tail.depth == 0 else None
            self.context.__enter__()
        except BaseException:
            self.lock.release()
            raise
        if self.tail:
            self.tail.enter(mark)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self.tail:
                self.tail.leave(self.stream)
        finally:
            try:
                self.context.__exit__()
            finally:
                self.lock.release()

    def _release(self) -> None:
        if self.context.is_ours():
            remains = _Remains(self)
            self.binding = c_void_p()
            retire((remains,), remains.free_all)  # type: ignore[arg-type]

    def wait(self, doing: str) -> None:
        """Waits until the stream has done all that was queued on it."""
        self.check_open()
        _library.check(lib.gpuaes_stream_binding_wait(self.binding, None), doing)

    def wait_for_earlier(self, doing: str) -> None:
        """Waits for what earlier calls have queued. The application may have destroyed the stream since."""
        if self.tail:
            self.tail.last.wait()
        else:
            self.wait(doing)

    def refuse_capture(self, doing: str) -> None:
        """Raises GpuaesError while the stream is captured into a CUDA graph, whose runs would use nonces and counters
        again."""
        check(_cuda.cuStreamIsCapturing(self.stream, self._capturing_reference), doing)
        if self._capturing.value:
            raise GpuaesError(
                f"{doing}: the stream is captured into a CUDA graph; expected gpuaes.Batch there", _library.BUSY
            )

    def slot(self) -> Slot:
        """The next slot, for what is queued before the next call of this. Waits where the stream has work with all."""
        ring = self.ring
        if ring is None:
            with self.context.relaxed():
                ring = self.ring = _Ring()
        if ring.next % _SLOTS_OF_HALF == 0:
            self._enter_half(ring, ring.next // _SLOTS_OF_HALF)
        slot = ring.slots[ring.next]
        ring.next = (ring.next + 1) % (2 * _SLOTS_OF_HALF)
        return slot

    def _enter_half(self, ring: _Ring, half: int) -> None:
        with self.context.relaxed():
            check(_cuda.cuEventRecord(ring.events[1 - half], self.stream), "recording an event")
            ring.recorded[1 - half] = True
            passed = not ring.recorded[half] or _cuda.cuEventQuery(ring.events[half]) != _NOT_READY
        if not passed:
            self.wait("waiting for earlier work of the stream")

    def own_cell(self) -> int:
        """CELL_BYTES of device memory, which all work of the stream shares in its order."""
        self.cell = self.cell or self.context.cell()
        return self.cell

    def put_secret(self, address: int, count: int) -> int:
        """Returns a cell with a copy of a secret of the host, which work on any stream may use from now on. It passes a
        slot, since of other memory the driver would keep a copy, on a stream of the package, which is waited for."""
        doing = "copying a key to the device"
        with self.context.relaxed():
            own = self.context.own_stream()
            if own is None:
                raise GpuaesError(f"{doing}: the CUDA driver cannot make a stream")
            slot, cell = self.slot(), self.context.cell()
            try:
                ctypes.memmove(slot.address, address, count)
                check(_cuda.cuMemcpyHtoDAsync_v2(cell, slot.address, count, own), doing)
                check(_cuda.cuStreamSynchronize(own), doing)
            finally:
                lib.gpuaes_cleanse(slot.address, count)
        return cell

    def allocate(self, count: int) -> int:
        return self.context.allocate(count)

    def free(self, address: int, secret: int = 0) -> None:
        """Frees memory that no stream uses any more; overwrites its first `secret` bytes before."""
        if secret:
            self.context.overwrite(address, secret)
        with self.context.relaxed():
            _cuda.cuMemFree_v2(address)

    def copy(self, to: int, source: int, count: int) -> None:
        """Queues a copy within the device."""
        check(_cuda.cuMemcpyDtoDAsync_v2(to, source, count, self.stream), "copying within device memory")

    def fill(self, address: int, value: int, count: int) -> None:
        """Queues that memory is filled with a byte."""
        if count:
            check(_cuda.cuMemsetD8Async(address, value, count, self.stream), "overwriting device memory")

    def fetch(self, to: int, source: int, count: int) -> None:
        """Queues a copy to the host. The memory must stay until wait()."""
        if count:
            check(_cuda.cuMemcpyDtoHAsync_v2(to, source, count, self.stream), "copying to the host")

    def send(self, to: int, source: int, count: int) -> None:
        """Queues a copy from the host. The memory must stay until the stream has passed it."""
        if count:
            check(_cuda.cuMemcpyHtoDAsync_v2(to, source, count, self.stream), "copying to the device")

    def read(self, address: int, count: int) -> bytes:
        """Waits, and returns a copy of device memory."""
        data = ctypes.create_string_buffer(max(count, 1))
        with self:
            self.fetch(ctypes.addressof(data), address, count)
            self.wait("reading device memory")
        return data.raw[:count]


class _Remains:
    """What a lane leaves behind when it is collected."""

    def __init__(self, gone: Lane) -> None:
        self.context, self.stream, self.owner = gone.context, gone.stream, gone.owner
        self.binding, self.ring, self.cell = gone.binding, gone.ring, gone.cell
        self.tail = gone.tail

    def free_all(self) -> None:
        lib.gpuaes_stream_binding_close(self.binding)
        with self.context.relaxed():
            if self.ring is not None:
                self.ring.free()
        if self.cell:
            self.context.give_cell(self.cell)


def _in_use() -> list[int]:
    info = _library.DeviceInfo()
    found: list[int] = []
    while lib.gpuaes_device(len(found), byref(info)):
        found.append(info.ordinal)
    return found


_lanes: OrderedDict[tuple[int, int], Lane] = OrderedDict()


def lane(device: int, stream: int, owner: object = None) -> Lane:
    """Returns the lane of a stream; starts the devices where that has not been done. `owner` keeps the stream.

    Raises GpuaesError where the device cannot be used.
    """
    found = _lanes.get((device, stream))
    if found is None:
        _library_ready(device)
        with _lock:
            found = _lanes.get((device, stream))
            if found is None:
                found = _lanes[device, stream] = Lane(device, stream, owner)
                if len(_lanes) > _LANES_MOST:
                    _lanes.popitem(last=False)
    if _retired:
        reap()
    return found


os.register_at_fork(after_in_child=_forget_after_fork)
atexit.register(_end)
