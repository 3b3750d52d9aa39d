"""As much of CuPy as the documents and examples use, on the emulator.

Arrays are device memory of the emulator (test/python/device_arrays.py must be in the path): what the package gets
from cupy is then what it would be, a pointer that belongs to a device, and the stream that is current in the thread.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import threading
import types

import device_arrays
import numpy

float32, int32, uint8 = numpy.float32, numpy.int32, numpy.uint8


_pool = {}  # (stream, bytes): memory that was freed


class _Block:
    """Memory that later work of the same stream gets when it is freed, as from CuPy's pool, without a wait."""

    def __init__(self, size):
        self.key = cuda.get_current_stream().ptr, size
        kept = _pool.setdefault(self.key, [])
        self.memory = kept.pop() if kept else device_arrays.Memory(size)
        self.address = self.memory.address

    def __del__(self):
        _pool[self.key].append(self.memory)


class ndarray:
    """One that has no gaps."""

    def __init__(self, memory, offset, shape, dtype):
        self._memory, self._offset, self.shape, self.dtype = memory, offset, shape, numpy.dtype(dtype)
        self.size = int(numpy.prod(shape))
        self.nbytes, self.ndim = self.size * self.dtype.itemsize, len(shape)
        self.flags = types.SimpleNamespace(c_contiguous=True)
        self.device = cuda.Device(0)
        self.data = types.SimpleNamespace(ptr=memory.address + offset)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, part):
        begin, end, step = part.indices(len(self))
        assert self.ndim == 1 and step == 1 and isinstance(part, slice)
        offset = self._offset + begin * self.dtype.itemsize
        return ndarray(self._memory, offset, (max(end - begin, 0),), self.dtype)

    def view(self, dtype):
        assert self.ndim == 1
        return ndarray(self._memory, self._offset, (self.nbytes // numpy.dtype(dtype).itemsize,), dtype)

    def reshape(self, *shape):
        return ndarray(self._memory, self._offset, numpy.empty(self.shape, "u1").reshape(*shape).shape, self.dtype)

    def copy(self):
        return asarray(self.get())

    def get(self):
        cuda.get_current_stream().synchronize()
        data = device_arrays.driver().read(self.data.ptr, self.nbytes)
        return numpy.frombuffer(data, self.dtype).reshape(self.shape).copy()


def empty(shape, dtype=numpy.float64):
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    return ndarray(_Block(int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize), 0, shape, dtype)


def asarray(values, dtype=None):
    values = numpy.ascontiguousarray(values, dtype)
    array = empty(values.shape, values.dtype)
    cuda.get_current_stream().synchronize()
    device_arrays.driver().write(array.data.ptr, values.tobytes())
    return array


def arange(count, dtype=numpy.int64):
    return asarray(numpy.arange(count, dtype=dtype))


def asnumpy(array):
    return array.get()


def array_equal(a, b):
    return numpy.array_equal(a.get(), b.get())


class _Stream:
    def __init__(self, ptr):
        self.ptr = ptr

    def synchronize(self):
        with device_arrays.driver().current():
            device_arrays.driver().wait(self.ptr or device_arrays.LEGACY_STREAM)

    def __enter__(self):
        _current.__dict__.setdefault("streams", []).append(self)
        return self

    def __exit__(self, *_):
        _current.streams.pop()


class _OwnStream(_Stream):
    def __init__(self, non_blocking=False):
        assert non_blocking, "the stand-in has no others"
        self._made = device_arrays.new_stream()
        super().__init__(self._made.__enter__())

    def __del__(self):
        self._made.__exit__(None, None, None)


class _Device:
    def __init__(self, id):  # pylint: disable=redefined-builtin
        self.id = id

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


_current = threading.local()


class cuda:
    Device, Stream, ExternalStream = _Device, _OwnStream, _Stream

    @staticmethod
    def get_current_stream(device_id=0):
        assert device_id in (0, None)
        return (getattr(_current, "streams", None) or [_Stream(0)])[-1]
