"""Arrays of NumPy of many types and shapes, for tests of files of tensors.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import numpy

KINDS = "f8 f4 f2 c8 i8 i4 i2 i1 u8 u4 u2 u1 ?".split()
SHAPES = [(), (0, 3), (7,), (16, 5), (2, 3, 4), (0,)]


def arrays_of(rng):
    """{NAME: array} of every type that NumPy has, and of 1 byte to 3 MiB. Names need escapes in JSON."""
    found = {}
    for number, kind in enumerate(KINDS):
        shape = SHAPES[number % len(SHAPES)]
        data = rng.randbytes(numpy.dtype(kind).itemsize * int(numpy.prod(shape)))
        data = bytes(byte & 1 for byte in data) if kind == "?" else data
        found[f"{'zyx'[number % 3]}.\u00fc\"\\\n\x7f{number}"] = numpy.frombuffer(data, kind).reshape(shape)
    for size in 1, 15, 16, 4095, 4096, 4097, 3 << 20:
        found[f"size.{size}"] = numpy.frombuffer(rng.randbytes(size), "u1")
    return found


def same(left, right):
    return left.keys() == right.keys() and all(
        left[n].dtype == right[n].dtype and left[n].shape == right[n].shape and left[n].tobytes() == right[n].tobytes()
        for n in left
    )
