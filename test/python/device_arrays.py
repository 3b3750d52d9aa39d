"""Arrays in device memory, for tests that have no framework which makes some.

They are made by the libcuda.so.1 that the process finds: the emulator's, or a card's driver. An
array shows itself by __cuda_array_interface__ (DeviceArray) or by DLPack (DlpackArray). All are on
device 0, in its primary context, as those of PyTorch, CuPy and JAX are.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import ctypes
import os
import time
import weakref
from ctypes import byref, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint64, c_void_p

LEGACY_STREAM = 1  # as CUDA, the array interface and DLPack number it
NON_BLOCKING = 1
NOT_READY = 600
DLPACK_CUDA = 2
DLPACK_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class DriverError(RuntimeError):
    """A function of the driver failed."""


class Driver:
    """The driver, with the primary context of device 0. A forked child has none of it."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.process, self.streams = os.getpid(), {LEGACY_STREAM}
        device, self.context = c_int(), c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", byref(self.context), device)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result:
            raise DriverError(f"{name}: CUDA error {result}")

    @contextlib.contextmanager
    def current(self):
        """Makes the context the calling thread's."""
        self.call("cuCtxPushCurrent_v2", self.context)
        try:
            yield self
        finally:
            self.call("cuCtxPopCurrent_v2", byref(c_void_p()))

    def wait(self, stream):
        while (result := self.library.cuStreamQuery(c_void_p(stream))) == NOT_READY:
            time.sleep(0)
        if result:
            raise DriverError(f"cuStreamQuery: CUDA error {result}")

    def allocate(self, size):
        address = c_uint64()
        with self.current():
            self.call("cuMemAlloc_v2", byref(address), c_size_t(max(size, 1)))
        return address.value

    def free(self, address):
        """Waits for the streams first, as a driver does, and the emulator does not."""
        if os.getpid() == self.process:
            with self.current():
                for stream in list(self.streams):
                    captured = c_int()
                    self.library.cuStreamIsCapturing(c_void_p(stream), byref(captured))
                    while not captured.value and self.library.cuStreamQuery(c_void_p(stream)) == NOT_READY:
                        time.sleep(0)
                self.library.cuMemFree_v2(c_uint64(address))

    def write(self, address, data):
        data = bytes(data)
        with self.current():
            self.call(
                "cuMemcpyHtoDAsync_v2", c_uint64(address), data, c_size_t(len(data)), c_void_p(LEGACY_STREAM)
            )
            self.wait(LEGACY_STREAM)

    def read(self, address, size):
        data = ctypes.create_string_buffer(max(size, 1))
        with self.current():
            self.call(
                "cuMemcpyDtoHAsync_v2", data, c_uint64(address), c_size_t(size), c_void_p(LEGACY_STREAM)
            )
            self.wait(LEGACY_STREAM)
        return data.raw[:size]


_driver = None


def driver():
    """The one of the process."""
    global _driver
    if _driver is None:
        _driver = Driver()
    return _driver


@contextlib.contextmanager
def new_stream():
    """A stream that does not wait for the legacy default stream: its number."""
    stream = c_void_p()
    with driver().current():
        driver().call("cuStreamCreate", byref(stream), NON_BLOCKING)
    driver().streams.add(stream.value)
    try:
        yield stream.value
    finally:
        driver().streams.discard(stream.value)
        with driver().current():
            driver().wait(stream.value)
            driver().call("cuStreamDestroy_v2", stream)


class Memory:
    """Device memory, freed with the object."""

    def __init__(self, size):
        self.address, self.size = driver().allocate(size), size
        weakref.finalize(self, driver().free, self.address)


class _Array:
    def __init__(self, memory, shape, typestr, strides=None, offset=0, stream=None, read_only=False):
        """`strides` in bytes, or None where the array has no gaps; `offset` of the first element, in
        bytes; `stream`: where work on it is queued, None where none is."""
        self.memory, self.shape, self.typestr = memory, tuple(shape), typestr
        self.strides, self.offset, self.stream, self.read_only = strides, offset, stream, read_only

    @classmethod
    def of(cls, data, typestr=None, **how):
        """A copy of bytes or of a NumPy array; `typestr` of the elements, those of `data` otherwise."""
        view = memoryview(data)
        typestr = typestr or getattr(getattr(data, "dtype", None), "str", "|u1")
        memory = Memory(view.nbytes)
        driver().write(memory.address, view.tobytes())
        shape = getattr(data, "shape", (view.nbytes // int(typestr[2:]),))
        return cls(memory, shape, typestr, **how)

    @property
    def itemsize(self):
        return int(self.typestr[2:])

    @property
    def nbytes(self):
        count = self.itemsize
        for length in self.shape:
            count *= length
        return count

    @property
    def address(self):
        return self.memory.address + self.offset

    def tobytes(self):
        """Its bytes, once the work on its stream is done. It must have no gaps."""
        assert self.strides is None, "an array with gaps has no bytes of its own"
        if self.stream is not None:
            with driver().current():
                driver().wait(self.stream)
        return driver().read(self.address, self.nbytes)

    def get(self):
        """A copy as a NumPy array, as CuPy's get() makes it."""
        import numpy

        return numpy.frombuffer(self.tobytes(), dtype=self.typestr).reshape(self.shape).copy()


class DeviceArray(_Array):
    """As Numba and CuPy show theirs: version 3 of the array interface."""

    @property
    def __cuda_array_interface__(self):
        empty = 0 in self.shape
        return {
            "shape": self.shape,
            "typestr": self.typestr,
            "data": (0 if empty else self.address, self.read_only),
            "strides": self.strides,
            "stream": self.stream,
            "version": 3,
        }


class _DlDevice(ctypes.Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class _DlType(ctypes.Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class _DlTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p), ("device", _DlDevice), ("ndim", c_int32), ("dtype", _DlType),
        ("shape", ctypes.POINTER(c_int64)), ("strides", ctypes.POINTER(c_int64)), ("byte_offset", c_uint64),
    ]


class _DlManaged(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_DlManaged))
_DlManaged._fields_ = [("tensor", _DlTensor), ("manager", c_void_p), ("deleter", _Deleter)]

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [c_void_p, ctypes.c_char_p, c_void_p]
_exported = {}  # by the address of the DLManagedTensor, until its consumer deletes it


@_Deleter
def _delete(managed):
    del _exported[ctypes.addressof(managed.contents)]


class DlpackArray(_Array):
    """As JAX shows its arrays: by DLPack alone. `streams` are those that consumers named, and
    exported() is how many of them hold the array."""

    def __init__(self, *arguments, device_type=DLPACK_CUDA, **how):
        super().__init__(*arguments, **how)
        self.streams, self.device_type = [], device_type

    def __dlpack_device__(self):
        return self.device_type, 0

    def __dlpack__(self, *, stream=None, **_later):
        self.streams.append(stream)
        dimensions = len(self.shape)
        shape = (c_int64 * dimensions)(*self.shape)
        strides = None
        if self.strides is not None:
            strides = (c_int64 * dimensions)(*(step // self.itemsize for step in self.strides))
        kind = _DlType(DLPACK_CODES[self.typestr[1]], self.itemsize * 8, 1)
        tensor = _DlTensor(
            self.memory.address, _DlDevice(self.device_type, 0), dimensions, kind, shape,
            ctypes.cast(strides, ctypes.POINTER(c_int64)), self.offset,
        )
        managed = _DlManaged(tensor, None, _delete)
        _exported[ctypes.addressof(managed)] = managed, shape, strides, self
        # Nobody deletes a capsule that no consumer takes; the tests' consumers take each.
        return _new_capsule(ctypes.addressof(managed), b"dltensor", None)

    def exported(self):
        return sum(held[-1] is self for held in _exported.values())
