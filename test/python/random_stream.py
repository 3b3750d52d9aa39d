r"""Writes the bytes of a Generator to standard output, for statistical tests, until nobody reads them.

    PYTHONPATH=python GPUAES_LIBRARY=build/cuda/.libs/libgpuaes.so.1 \
        python3 test/python/random_stream.py [cpu|device [SEED]] | dieharder -g 200 -a

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import sys

from gpuaes.random import Generator

PIECE = 1 << 20


def pieces(where, seed):
    """Without end, each of PIECE bytes; those of a device are made there."""
    generator = Generator(seed)
    if where == "cpu":
        while True:
            yield generator.bytes(PIECE)
    import device_arrays

    array = device_arrays.DeviceArray.of(bytes(PIECE))
    while True:
        yield generator.random_(array).tobytes()


if __name__ == "__main__":
    try:
        for piece in pieces(*(sys.argv[1:] + ["cpu", "1"][len(sys.argv) - 1:])):
            sys.stdout.buffer.write(piece)
    except BrokenPipeError:
        sys.stderr.close()  # of the buffer, which is to be flushed at exit
