"""As much of PyTorch as docs/examples/torch_tensor.py uses, on the emulator.

Tensors are device memory of the emulator in the module under test: what an
example gets from torch is then what it would be, a pointer that belongs to a
device, and a stream that the application made.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import os
import random
import re

uint8 = "uint8"

_module = ctypes.CDLL(os.environ["OPENSSL_MODULES"] + "/gpuaes.so")
_module.emulator_driver.restype = ctypes.POINTER(ctypes.c_void_p)


def _functions():
    """The emulator's table, by the order of the rows in driver.h."""
    with open(os.environ["TOP_SRCDIR"] + "/cuda/driver/driver.h", encoding="ascii") as header:
        names = re.findall(r"^    F\((\w+), cu\w+", header.read(), re.MULTILINE)
    table = _module.emulator_driver()
    return {name: ctypes.CFUNCTYPE(ctypes.c_int)(table[i]) for i, name in enumerate(names)}


_driver = _functions()
_LEGACY = ctypes.c_void_p(1)


def _call(name, *arguments):
    result = _driver[name](*arguments)
    if result:
        raise RuntimeError(f"{name}: CUDA error {result}")


def _wait(stream):
    while _driver["stream_query"](stream):
        pass


_context = ctypes.c_void_p()
_stream = ctypes.c_void_p()
_call("init", 0)
_call("primary_ctx_retain", ctypes.byref(_context), 0)
_call("ctx_push_current", _context)
_call("stream_create", ctypes.byref(_stream), 1)


class Tensor:
    def __init__(self, bytes_, on_device):
        self._bytes = bytes_
        self._device = ctypes.c_uint64()
        self._host = None if on_device else ctypes.create_string_buffer(bytes_)
        if on_device:
            _call("mem_alloc", ctypes.byref(self._device), ctypes.c_size_t(bytes_))

    def __del__(self):
        if self._host is None:
            _driver["mem_free"](self._device)

    def numel(self):
        return self._bytes

    def element_size(self):
        return 1

    def data_ptr(self):
        return self._device.value if self._host is None else ctypes.addressof(self._host)

    def cpu(self):
        _wait(_stream)
        copy = Tensor(self._bytes, False)
        size = ctypes.c_size_t(self._bytes)
        _call("memcpy_dtoh_async", copy._host, self._device, size, _LEGACY)
        _wait(_LEGACY)
        return copy


def randint(low, high, size, dtype, device):
    assert (low, high, dtype, device) == (0, 256, uint8, "cuda")
    tensor = Tensor(size[0], True)
    data = random.randbytes(size[0])
    _call("memcpy_htod_async", tensor._device, data, ctypes.c_size_t(size[0]), _LEGACY)
    _wait(_LEGACY)
    return tensor


def empty_like(tensor):
    return Tensor(tensor.numel(), True)


def equal(a, b):
    return a.cpu()._host.raw == b.cpu()._host.raw


class cuda:
    class _Stream:
        cuda_stream = _stream.value

    @staticmethod
    def current_stream():
        return cuda._Stream

    @staticmethod
    def synchronize():
        _wait(_stream)
