"""The arrays that other tests use: their bytes, the interfaces that they show, and their ends.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import gc

import pytest

import device_arrays


def test_bytes_come_back(device_array, dlpack_array, rng):
    for make in device_array, dlpack_array:
        for size in 0, 1, 15, 4096, 100_003:
            data = rng.randbytes(size)
            assert make(data).tobytes() == data


def test_numpy_array_keeps_type_and_shape(device_array):
    numpy = pytest.importorskip("numpy")
    data = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)
    array = device_array(data)
    assert array.__cuda_array_interface__["typestr"] == "<f4"
    assert (array.get() == data).all() and array.get().shape == (2, 3, 4)


def test_interface_is_of_device_memory(device_array, cuda_stream):
    array = device_array(bytes(64), stream=cuda_stream)
    interface = array.__cuda_array_interface__
    assert interface["data"] == (array.memory.address, False) and interface["stream"] == cuda_stream
    assert device_array(b"").__cuda_array_interface__["data"][0] == 0


def test_dlpack_is_deleted_by_its_consumer(dlpack_array):
    numpy = pytest.importorskip("numpy")
    # As memory of the CPU, which the emulator's is, NumPy takes it, and so reads what we wrote.
    array = dlpack_array(numpy.arange(6, dtype=numpy.int16).reshape(2, 3), device_type=1)
    try:
        taken = numpy.from_dlpack(array)
    except (RuntimeError, BufferError) as error:
        pytest.fail(str(error))
    assert taken.dtype == numpy.int16 and taken.shape == (2, 3)
    assert array.exported() == 1
    del taken
    gc.collect()
    assert array.exported() == 0


def test_memory_is_freed_with_the_array(device_array, monkeypatch):
    freed = []
    monkeypatch.setattr(device_arrays.Driver, "free", lambda self, address: freed.append(address))
    array = device_array(bytes(16))
    address = array.memory.address
    del array
    gc.collect()
    assert freed == [address]
