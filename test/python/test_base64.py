"""gpuaes.base64 compared with Python's own.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import base64

import pytest

gpuaes = pytest.importorskip("gpuaes", exc_type=ImportError)
import gpuaes.base64  # noqa: E402
from gpuaes import _library  # noqa: E402

SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 100, 999, 1000)
WRONG = {
    b"ab!=": 2, b"a===": 1, b"====": 0, b"abcd=abc": 4, b"ab=c": 2, b"ab\ncabcd": 2, b"=bcd": 0, b"abcdab c": 6,
    b"abc\xff": 3, b"abcdefgh----": 8,
}


@pytest.mark.parametrize("where", ["cpu", "device"])
def test_host_memory(rng, where, request):
    if where == "device":
        request.getfixturevalue("everything_on_device")
    for size in SIZES:
        data = rng.randbytes(size)
        text = base64.b64encode(data)
        assert gpuaes.base64.encode(data) == text and gpuaes.base64.decode(text) == data
        out = bytearray(len(text))
        assert gpuaes.base64.encode(data, out=out) is out and out == text
        out = bytearray(size)
        assert gpuaes.base64.decode(bytearray(text), out=out) is out and out == data
    for text, at in WRONG.items():
        with pytest.raises(ValueError, match=f"character {at}:"):
            gpuaes.base64.decode(text)


def test_device_memory(rng, device_array, cuda_stream):
    for size in SIZES:
        stream = rng.choice((None, cuda_stream))
        data = rng.randbytes(size)
        text = base64.b64encode(data)
        made = gpuaes.base64.encode(device_array(data, stream=stream))
        assert made.tobytes() == text and gpuaes.base64.decode(made).tobytes() == data
        out = device_array(bytes(len(text)), stream=stream)
        assert gpuaes.base64.encode(device_array(data, stream=stream), out=out) is out and out.tobytes() == text
    for text, at in WRONG.items():
        with pytest.raises(ValueError, match=f"character {at}:"):
            gpuaes.base64.decode(device_array(text))


def test_wrong_arguments():
    with pytest.raises(ValueError, match="^data has 5 characters: expected a multiple of 4"):
        gpuaes.base64.decode(b"abcde")
    with pytest.raises(TypeError, match="^data is str"):
        gpuaes.base64.encode("text")
    with pytest.raises(ValueError, match="^out has 5 bytes: expected 4"):
        gpuaes.base64.encode(b"abc", out=bytearray(5))
    buffer = memoryview(bytearray(8))
    with pytest.raises(ValueError, match="^out is the memory of data"):
        gpuaes.base64.encode(buffer[:6], out=buffer)


@pytest.mark.parametrize("status", [_library.FAULT, _library.BUSY, _library.UNDEFINED])
def test_cpu_does_what_a_device_could_not(status, monkeypatch, everything_on_device, device_array):
    device_array(b"")

    class Failing:
        def __getattr__(self, name):
            return lambda *_: status

    monkeypatch.setattr(gpuaes.base64, "lib", Failing())
    assert gpuaes.base64.encode(b"some bytes") == b"c29tZSBieXRlcw=="
    assert gpuaes.base64.decode(b"c29tZSBieXRlcw==") == b"some bytes"
    if status == _library.UNDEFINED:
        with pytest.raises(gpuaes.GpuaesError, match="may still write to out"):
            gpuaes.base64.encode(b"some bytes", out=bytearray(16))
    else:
        out = bytearray(16)
        assert gpuaes.base64.encode(b"some bytes", out=out) == b"c29tZSBieXRlcw=="
