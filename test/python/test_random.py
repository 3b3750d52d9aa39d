"""Random numbers: of the CPU and of devices, the same for both; their distribution; reproducible and not; types,
threads, forks.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import array
import ctypes
import gc
import hashlib
import itertools
import math
import os
import signal
import struct
import subprocess
import sys
import threading
import types

import pytest

import device_arrays
from gpuaes import GpuaesError, _libcrypto, _random_cpu, random
from gpuaes.ciphers import AES, CTR, Cipher
from gpuaes.random import Generator

KEY = bytes(range(32))


def keystream(key, count):
    """By libcrypto, from counter block 0 on."""
    held = ctypes.create_string_buffer(key, 32)
    secret = _libcrypto.SecretBytes(ctypes.addressof(held), 32)
    data = ctypes.create_string_buffer(count)
    _libcrypto.run("CTR", secret, True, bytes(16), ctypes.addressof(data), ctypes.addressof(data), count)
    return data.raw[:count]


@pytest.fixture(params=["numpy", "python"])
def converter(request, monkeypatch):
    """Runs a test with each way to convert on the CPU."""
    if request.param == "numpy":
        pytest.importorskip("numpy")
        monkeypatch.setattr(_random_cpu, "_numpy", None)
    else:
        monkeypatch.setattr(_random_cpu, "_numpy", False)
    return request.param


def numbers(typecode, count):
    return array.array(typecode, bytes(count * array.array(typecode).itemsize))


# ---- What numbers are made of ----------------------------------------------------------


def test_bytes_are_the_keystream_of_the_key():
    generator = Generator(KEY)
    expected = keystream(KEY, 1_000_000)
    assert generator.bytes(17) + generator.bytes(0) + generator.bytes(999_983) == expected


def test_seeds_are_derived_as_documented():
    for seed, text in (-12, b"gpuaes.random int -12"), ("größe", "gpuaes.random str größe".encode()):
        assert Generator(seed).bytes(100) == keystream(hashlib.sha256(text).digest(), 100)
    assert Generator(bytearray(KEY)).bytes(5) == Generator(KEY).bytes(5)
    assert Generator().bytes(32) != Generator().bytes(32)


def test_each_kind_begins_a_block_and_continues_itself(converter):
    stream = keystream(KEY, 400)
    generator = Generator(KEY)
    floats = numbers("f", 3)
    assert generator.bytes(5) == stream[:5]
    generator.uniform_(floats)
    words = struct.unpack_from("<8I", stream, 16)
    assert list(floats) == [(word >> 8) * 2.0**-24 for word in words[:3]]
    generator.uniform_(floats)
    assert list(floats) == [(word >> 8) * 2.0**-24 for word in words[3:6]]
    doubles = numbers("d", 2)
    generator.uniform_(doubles)
    assert list(doubles) == [(word >> 11) * 2.0**-53 for word in struct.unpack_from("<2Q", stream, 48)]
    (word,) = struct.unpack_from("<Q", stream, 64)
    assert generator.randint(10, 1010) == 10 + (word * 1000 >> 64)
    (word,) = struct.unpack_from("<Q", stream, 72)
    assert generator.randint(7) == word * 7 >> 64
    for number in range(2):  # of more than 2^32
        word = int.from_bytes(stream[80 + 16 * number:96 + 16 * number], "little")
        assert generator.randint(-5, 3 << 61) == -5 + (word * ((3 << 61) + 5) >> 128)
    trials = numbers("B", 4)
    generator.bernoulli_(trials, 0.25)
    assert list(trials) == [int(word >> 1 < 1 << 61) for word in struct.unpack_from("<4Q", stream, 112)]
    assert generator.bytes(9) == stream[144:153]


def test_normal_numbers_by_box_and_muller(converter):
    stream = keystream(KEY, 80_000)
    floats, doubles = numbers("f", 10_000), numbers("d", 5_000)
    Generator(KEY).normal_(floats, 3.0, 2.0)
    Generator(KEY).normal_(doubles, -1.0, 0.5)
    for i in itertools.chain(range(20), (9_998, 9_999)):
        a, b = struct.unpack_from("<2I", stream, i // 2 * 8)
        u = ctypes.c_float(ctypes.c_float(a).value * 2.0**-32 + 2.0**-33).value
        length = math.sqrt(-2 * math.log(u))
        turn = math.pi * (b >> 8) * 2.0**-23
        assert floats[i] == pytest.approx(3 + 2 * length * (math.sin if i % 2 else math.cos)(turn), abs=2e-6)
    for i in itertools.chain(range(20), (4_998, 4_999)):
        a, b = struct.unpack_from("<2Q", stream, i // 2 * 16)
        length = math.sqrt(-2 * math.log((a >> 11) * 2.0**-53 + 2.0**-54))
        turn = math.pi * (b >> 11) * 2.0**-52
        assert doubles[i] == pytest.approx(-1 + length * (math.sin if i % 2 else math.cos)(turn) / 2, abs=1e-14)


# ---- The CPU, devices, and both ways of the CPU ----------------------------------------

FILLS = {
    "bytes": ("u1", lambda g, t: g.random_(t)),
    "uint64": ("u8", lambda g, t: g.random_(t)),
    "bool": ("b1", lambda g, t: g.random_(t)),
    "int8 of a range": ("i1", lambda g, t: g.random_(t, -100, 28)),
    "uint16 of a range": ("u2", lambda g, t: g.random_(t, 60_000)),
    "int32 of a range": ("i4", lambda g, t: g.random_(t, -5, 1 << 30)),
    "int64 of all": ("i8", lambda g, t: g.random_(t, -1 << 63, 1 << 63)),
    "uint64 of half": ("u8", lambda g, t: g.random_(t, (1 << 63) + 3, 1 << 64)),
    "int64 of a word": ("i8", lambda g, t: g.random_(t, -1 << 31, 1 << 31)),
    "int64 of more than a word": ("i8", lambda g, t: g.random_(t, -1 << 31, (1 << 31) + 1)),
    "int64 of three quarters": ("i8", lambda g, t: g.random_(t, -1 << 62, 1 << 63)),
    "integers in float16": ("f2", lambda g, t: g.random_(t, -2048, 2049)),
    "integers in float32": ("f4", lambda g, t: g.random_(t, -7, 1 << 24)),
    "integers in float64": ("f8", lambda g, t: g.random_(t, -5, 1 << 31)),
    "integers in float64 of more than a word": ("f8", lambda g, t: g.random_(t)),
    "uniform float32": ("f4", lambda g, t: g.uniform_(t)),
    "uniform float32 of a range": ("f4", lambda g, t: g.uniform_(t, -3.3, 1e-3)),
    "uniform float64 of a range": ("f8", lambda g, t: g.uniform_(t, 1e10, 3e10)),
    "trials in float16": ("f2", lambda g, t: g.bernoulli_(t, 0.3)),
    "trials in float64": ("f8", lambda g, t: g.bernoulli_(t, 1.0)),
    "trials in int8": ("i1", lambda g, t: g.bernoulli_(t, 0.0)),
    "uniform float16": ("f2", lambda g, t: g.uniform_(t)),
    "uniform float16 of a range": ("f2", lambda g, t: g.uniform_(t, -3.3, 1e-3)),
    "normal float16": ("f2", lambda g, t: g.normal_(t, 0.1, 7)),
    "normal float32": ("f4", lambda g, t: g.normal_(t, 0.1, 7)),
    "normal float64": ("f8", lambda g, t: g.normal_(t, 5, 0.01)),
}


def nearly(name, got, expected):
    """Whether bytes are the same, or of normal numbers nearly."""
    if not name.startswith("normal"):
        return got == expected
    letter, within, share = {"16": ("e", 4e-5, 2**-10), "32": ("f", 4e-5, 0), "64": ("d", 1e-14, 0)}[name[-2:]]
    pairs = zip(*([each for (each,) in struct.iter_unpack(f"<{letter}", data)] for data in (got, expected)))
    return len(got) == len(expected) and all(abs(a - b) <= within + share * abs(b) for a, b in pairs)


def on_cpu(name, count, calls, key=KEY):
    """Bytes of NumPy's arrays that are filled by several calls."""
    numpy = pytest.importorskip("numpy")
    typestr, fill = FILLS[name]
    generator = Generator(key, "cpu")
    arrays = [numpy.empty(count, dtype=typestr) for _ in range(calls)]
    for each in arrays:
        assert fill(generator, each) is each
    return b"".join(each.tobytes() for each in arrays)


@pytest.mark.parametrize("name", FILLS)
def test_numpy_and_python_make_the_same(name, monkeypatch, rng):
    count = rng.randrange(1, 3000)
    by_numpy = on_cpu(name, count, 3)
    monkeypatch.setattr(_random_cpu, "_numpy", False)
    assert nearly(name, on_cpu(name, count, 3), by_numpy)


@pytest.mark.parametrize("name", FILLS)
def test_parts_equal_the_whole(name, monkeypatch, rng):
    count = rng.randrange(1, 200)
    assert nearly(name, on_cpu(name, count, 5), on_cpu(name, 5 * count, 1))
    monkeypatch.setattr(_random_cpu, "_PIECE", 64)
    assert nearly(name, on_cpu(name, count, 5), on_cpu(name, 5 * count, 1))


@pytest.mark.parametrize("name", FILLS)
def test_devices_and_the_cpu_make_the_same(name, device_array, cuda_stream, rng):
    typestr, fill = FILLS[name]
    generator = Generator(KEY)
    item = int(typestr[1])
    for count in 1, rng.randrange(2, 100), rng.randrange(100, 20_000):
        generator.set_state(Generator(KEY).state())
        for stream in None, cuda_stream:
            tensor = device_array(bytes(count * item), typestr="<" + typestr, stream=stream)
            assert fill(generator, tensor) is tensor
            if stream is None:
                first = tensor.tobytes()
        assert nearly(name, first + tensor.tobytes(), on_cpu(name, count, 2))


# ---- Half types ------------------------------------------------------------------------


@pytest.fixture
def fake_tensor(monkeypatch, request):
    """fake_tensor(DTYPE, COUNT, WHERE): what _memory.py asks of a tensor of PyTorch, in memory of the host or of a
    device. NumPy has no bfloat16."""

    class Tensor:
        layout, requires_grad = "strided", False
        is_contiguous = is_inference = staticmethod(lambda: True)
        is_neg = is_conj = staticmethod(lambda: False)
        storage_offset = staticmethod(lambda: 0)

        def __init__(self, dtype, count, where):
            self.dtype, self.item, self.count = f"torch.{dtype}", {"bfloat16": 2, "float16": 2, "float32": 4}[dtype], count
            self.device = types.SimpleNamespace(type=where, index=0)
            data = bytes(count * self.item)
            self.held = request.getfixturevalue("device_array")(data) if where == "cuda" else ctypes.create_string_buffer(data, len(data))

        def element_size(self):
            return self.item

        def numel(self):
            return self.count

        def data_ptr(self):
            return self.held.address if self.device.type == "cuda" else ctypes.addressof(self.held)

        def values(self):
            """Its numbers, as floats: each half type is the upper half of one, or known to NumPy."""
            numpy = pytest.importorskip("numpy")
            data = self.held.tobytes() if self.device.type == "cuda" else self.held.raw
            if self.dtype == "torch.bfloat16":
                return (numpy.frombuffer(data, "u2").astype("u4") << 16).view("f4")
            return numpy.frombuffer(data, "f2" if self.item == 2 else "f4").astype("f4")

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(
        Tensor=Tensor, strided="strided", autograd=types.SimpleNamespace(graph=None),
        _C=types.SimpleNamespace(_cuda_getCurrentRawStream=lambda index: 0),
    ))
    return Tensor


@pytest.fixture
def fake_jax(monkeypatch, dlpack_array):
    """fake_jax(ARRAY): a copy of an array of NumPy in memory of a device, which shows itself as an array of JAX does."""
    numpy = pytest.importorskip("numpy")

    class Array(device_arrays.DlpackArray):
        dtype = property(lambda self: numpy.dtype(self.typestr))
        devices = staticmethod(lambda: {"device 0"})

        def block_until_ready(self):
            return self

    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(
        Array=Array, device_put=lambda array, device: array,
        numpy=types.SimpleNamespace(zeros=lambda shape, dtype: Array.of(numpy.zeros(shape, dtype))),
    ))
    return Array.of


HALVES = {"float16": (11, 13), "bfloat16": (8, 16)}  # bits of the type, bits of a uniform number


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", HALVES)
def test_normal_halves_are_floats_to_nearest(dtype, where, converter, fake_tensor):
    import numpy

    for mean, std in (0, 1), (0, 3e-7), (-40, 9000), (1, 1e-9):
        floats = Generator(KEY).normal_(fake_tensor("float32", 3001, where), mean, std).values().astype("f8")
        halves = Generator(KEY).normal_(fake_tensor(dtype, 3001, where), mean, std).values().astype("f8")
        if (mean, std) == (1, 1e-9):
            assert (halves == 1).all()
        exponents = numpy.maximum(numpy.frexp(floats)[1], -13 if dtype == "float16" else -125)
        step = numpy.ldexp(1.0, exponents - HALVES[dtype][0])
        assert (halves == numpy.rint(floats / step) * step).all()


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", HALVES)
def test_uniform_halves_stay_below_their_end(dtype, where, converter, fake_tensor):
    import numpy

    count = 20_000  # to nearest, 1 of 512 bfloat16 would be 1
    words = numpy.frombuffer(keystream(KEY, 4 * count), "<u4")
    digits, bits = HALVES[dtype]
    for low, high in (0, 1), (1, 2), (-2, -1), (-1, 1), (256, 258), (1e-7, 3e-7):
        values = Generator(KEY).uniform_(fake_tensor(dtype, count, where), low, high).values().astype("f8")
        least, end = (random._rounded(each, dtype) for each in (low, high))
        assert least <= values.min() and values.max() < end
        exact = (words >> 32 - bits) * 2.0**-bits * (end - least) + least
        step = numpy.ldexp(1.0, numpy.maximum(numpy.frexp(exact)[1], -13 if dtype == "float16" else -125) - digits)
        assert (abs(values - exact) <= step).all()
        if low == 0 or low == -1:  # float32 is exact
            assert (values == numpy.floor(exact / step) * step).all()


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", HALVES)
def test_integers_in_halves_are_those_of_integer_types(dtype, where, converter, fake_tensor):
    most = 1 << HALVES[dtype][0]
    for limits in (-most, most + 1), (-5, 7), (most - 1, most + 1), ():
        integers = numbers("q", 3001)
        Generator(KEY).random_(integers, *limits or (0, most + 1))
        halves = Generator(KEY).random_(fake_tensor(dtype, 3001, where), *limits).values()
        assert halves.tolist() == list(integers)
    generator = Generator(KEY)
    for low, high in (-most - 1, 0), (0, most + 2):
        with pytest.raises(ValueError, match=f"limits are {low} and {high}: expected {-most} and {most + 1} at most, for {dtype}"):
            generator.random_(fake_tensor(dtype, 3, where), low, high)
    assert generator.state() == Generator(KEY).state()


@pytest.mark.parametrize("dtype", HALVES)
def test_limits_of_halves_are_those_of_the_type(dtype, fake_tensor):
    tensor, generator = fake_tensor(dtype, 3, "cpu"), Generator(1)
    too_large = 65520 if dtype == "float16" else 3.4e38
    for call, name in (lambda: generator.normal_(tensor, too_large), "mean"), (lambda: generator.uniform_(tensor, 0, too_large), "high"):
        with pytest.raises(ValueError, match=rf"^{name} is .*: expected a finite {dtype}$"):
            call()
    assert generator.uniform_(tensor, 0.1, 0.1).values().tolist() == [random._rounded(0.1, dtype)] * 3


def test_a_generator_serves_all_memory_in_turn(device_array):
    generator = Generator(KEY)
    parts = []
    for i in range(6):
        tensor = bytearray(1001) if i % 2 else device_array(bytes(1001))
        generator.random_(tensor)
        parts.append(bytes(tensor) if i % 2 else tensor.tobytes())
    assert b"".join(parts) == keystream(KEY, 6006)


def test_devices_are_bound(device_array):
    with pytest.raises(ValueError, match="memory of 0: expected cpu"):
        Generator(1, "cpu").random_(device_array(bytes(16)))
    with pytest.raises(ValueError, match="memory of cpu: expected 0"):
        Generator(1, "cuda").random_(bytearray(16))
    for place in "cuda:0", 0:
        assert Generator(1, place).random_(device_array(bytes(16))).tobytes() == Generator(1).bytes(16)
    for bad in "cuda:x", "gpu", -1, "cpu:0", 64:
        with pytest.raises(ValueError, match="device is"):
            Generator(1, bad)


def test_keys_on_devices_are_given_up_in_mid_work(device_array, cuda_stream):
    tensors = []
    for i in range(20):
        tensor = device_array(bytes(100_000), stream=cuda_stream)
        generator = Generator(i)
        generator.random_(tensor)
        tensors.append(tensor)
        if i % 2:
            generator.close()
        del generator
    gc.collect()
    for i, tensor in enumerate(tensors):
        assert tensor.tobytes() == Generator(i).bytes(100_000)


# ---- Distributions: of fixed keys, so that the results are the same in each run ---------


def test_bytes_are_uniform():
    counts = [0] * 256
    for byte in Generator("chi-square").bytes(1 << 20):
        counts[byte] += 1
    expected = (1 << 20) / 256
    chi_square = sum((count - expected) ** 2 / expected for count in counts)
    assert 200 < chi_square < 315  # 255 degrees of freedom: all but 1 of 100


@pytest.mark.parametrize("typecode", ["f", "d"])
def test_moments(typecode):
    pytest.importorskip("numpy")
    count = 200_000
    values = numbers(typecode, count)
    within = 4 / math.sqrt(count)
    Generator("uniform").uniform_(values)
    mean = math.fsum(values) / count
    assert abs(mean - 0.5) < within / math.sqrt(12)
    assert abs(math.fsum((v - 0.5) ** 2 for v in values) / count - 1 / 12) < within * math.sqrt(1 / 180)
    assert min(values) >= 0 and max(values) < 1
    Generator("normal").normal_(values)
    moments = [math.fsum(v**n for v in values) / count for n in (1, 2, 3, 4)]
    for moment, expected, variance in zip(moments, (0, 1, 0, 3), (1, 2, 15, 96)):
        assert abs(moment - expected) < within * math.sqrt(variance)
    assert abs(math.fsum(a * b for a, b in zip(values, values[1:])) / count) < within


def test_integers_and_trials_are_uniform():
    pytest.importorskip("numpy")
    values = numbers("q", 70_000)
    Generator("integers").random_(values, -3, 4)
    counts = [values.count(v) for v in range(-3, 4)]
    assert sum(counts) == 70_000
    assert sum((count - 10_000) ** 2 / 10_000 for count in counts) < 18.5  # 6 degrees: 1 of 200
    trials = numbers("B", 70_000)
    Generator("trials").bernoulli_(trials, 0.2)
    assert abs(sum(trials) - 14_000) < 4 * math.sqrt(70_000 * 0.16)


@pytest.mark.parametrize("low, high", [(0, 3 << 61), (-1 << 62, 1 << 63), (-3 << 60, 3 << 60)])
def test_integers_of_large_ranges_are_uniform(low, high):
    """Made of a word of 64 bits, a third of them would be likelier than the rest, or less likely."""
    pytest.importorskip("numpy")
    values = Generator("large ranges").randint(low, high, size=60_000)
    counts = [int((values % 3 == rest).sum()) for rest in range(3)]
    assert sum((count - 20_000) ** 2 / 20_000 for count in counts) < 10.6  # 2 degrees: 1 of 200


def test_permutations_are_as_likely():
    generator = Generator("permutations")
    counts = {}
    for _ in range(6000):
        order = tuple(generator.permutation(3))
        counts[order] = counts.get(order, 0) + 1
    assert sorted(counts) == sorted(itertools.permutations(range(3)))
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 16.7  # 5 degrees: 1 of 200


def test_permutations_of_equal_keys_are_drawn_again(monkeypatch):
    generator = Generator(1)
    drawn = []
    fill = Generator._fill

    def fill_badly(self, memory, r):
        fill(self, memory, r)
        drawn.append(1)
        if len(drawn) < 3:
            ctypes.memmove(memory.address + 8, memory.address, 8)

    monkeypatch.setattr(Generator, "_fill", fill_badly)
    assert sorted(generator.permutation(50)) == list(range(50))
    assert len(drawn) == 3


def test_arrays_without_numpy():
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from gpuaes.random import Generator\n"
        "g = Generator(5); print(list(g.permutation(9)), list(g.randint(0, 100, 9)), g.randint(3, 9))"
    )
    without = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    generator = Generator(5)
    assert without.stdout.strip() == " ".join(
        str(value) for value in (list(map(int, generator.permutation(9))), list(map(int, generator.randint(0, 100, 9))),
                                 generator.randint(3, 9))
    )


def test_arrays_like_others():
    numpy = pytest.importorskip("numpy")
    generator = Generator(9)
    order = generator.permutation(1000, like=numpy.empty(0))
    assert order.dtype == numpy.int64 and (numpy.sort(order) == numpy.arange(1000)).all()
    values = generator.randint(-5, 5, 1000, like=order)
    assert values.dtype == numpy.int64 and values.min() == -5 and values.max() == 4
    assert len(generator.permutation(0)) == 0 and len(generator.randint(1, size=0)) == 0
    with pytest.raises(TypeError, match="like is bytearray"):
        generator.permutation(3, like=bytearray(8))


def test_integers_of_numpy():
    numpy = pytest.importorskip("numpy")
    number = numpy.int64
    assert "device 0" in repr(Generator(7, number(0)))
    assert Generator(number(7)).bytes(8) == Generator(7).bytes(8)
    assert Generator(7).permutation(number(9)).tolist() == Generator(7).permutation(9).tolist()
    assert Generator(7).randint(number(5), number(9)) == Generator(7).randint(5, 9)
    assert list(Generator(7).permutation(True)) == [0]


# ---- State -----------------------------------------------------------------------------


def test_states_continue():
    generator = Generator(3)
    floats = numbers("f", 7)
    generator.normal_(floats)
    state = generator.state()
    generator.normal_(floats)
    expected = list(floats), generator.bytes(33), generator.randint(1000)
    for other in generator, Generator():
        other.set_state(state)
        other.normal_(floats)
        assert (list(floats), other.bytes(33), other.randint(1000)) == expected
    for bad in b"", state + b"\0", state[:-2] + b"\x7f\0", "state", None:
        with pytest.raises(ValueError, match="state"):
            generator.set_state(bad)


def test_the_end_of_a_keystream():
    generator = Generator(KEY)
    state = bytearray(generator.state())
    state[32:40] = ((1 << 64) - 100).to_bytes(8, "little")
    generator.set_state(memoryview(state))
    assert len(generator.bytes(52)) == 52
    with pytest.raises(GpuaesError, match="used up"):
        generator.bytes(1)


def test_forward_security():
    generator = Generator(KEY, forward_secure=True)
    first = generator.bytes(20)
    key = keystream(KEY, 64)[32:64]
    assert first == keystream(KEY, 20)
    assert generator.state()[:32] == key and generator._key.buffer.raw == key
    assert generator.bytes(3) == keystream(key, 3)
    assert KEY not in generator.state()
    again = Generator(forward_secure=False)
    again.set_state(generator.state())
    assert again.bytes(5) == generator.bytes(5)
    assert again.state() == generator.state()


def test_forward_security_on_devices(device_array, cuda_stream):
    on_device, on_host = Generator(KEY, forward_secure=True), Generator(KEY, "cpu", forward_secure=True)
    for count in 1, 100, 5000:
        tensor, expected = device_array(bytes(4 * count), typestr="<f4", stream=cuda_stream), numbers("f", count)
        on_device.uniform_(tensor)
        on_host.uniform_(expected)
        assert tensor.tobytes() == expected.tobytes()


def test_closed_generators_have_no_key():
    with Generator(KEY) as generator:
        held = generator._key
        assert held.buffer.raw == KEY
    assert held.buffer.raw == bytes(32)
    generator.close()
    for call in (lambda: generator.bytes(1), generator.state, lambda: generator.random_(bytearray(1))):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_keys_lie_in_no_bytes_of_python(monkeypatch):
    """But for the caller's own."""
    made = []

    def random_bytes(count):
        made.append(bytes(bytearray(KEY)))
        return made[-1]

    monkeypatch.setattr(os, "urandom", random_bytes)
    generator = Generator()
    assert generator.state()[:32] == KEY and made == [bytes(32)]
    state = bytes(bytearray(generator.state()))
    Generator(state[:32]).set_state(state)
    assert state == generator.state() and KEY == bytes(range(32))
    seen, view = [], random._memory.view

    def watched(data, *arguments, **how):
        seen.append(data)
        return view(data, *arguments, **how)

    monkeypatch.setattr(random._memory, "view", watched)
    for make in lambda: Generator(7), lambda: Generator("seven"), lambda: generator.set_state(state):
        make()
        assert seen.pop() == bytes(32)
    assert not seen


def test_names_of_devices_are_no_seeds():
    """PyTorch's generators take the device first."""
    for name in "cuda", "cuda:0", "cuda:x", "CUDA", "cpu", "gpu":
        with pytest.raises(ValueError, match=f"seed is '{name}', which names a device .*: expected device='{name}'"):
            Generator(name)
    assert Generator("cudas").bytes(4) != Generator("", device="cpu").bytes(4)


# ---- Threads and processes ----------------------------------------------------------------


def test_threads_share_a_stream():
    generator, parts = Generator(KEY), []
    lock = threading.Lock()

    def draw():
        for _ in range(50):
            part = generator.bytes(48)
            with lock:
                parts.append(part)

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stream = keystream(KEY, 48 * 200)
    assert sorted(parts) == sorted(stream[at : at + 48] for at in range(0, len(stream), 48))


def in_child(function, seconds=600):
    """What a forked child's function returns, as bytes; b"" where it takes longer."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(seconds)
            os.write(writing, function())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return data


def test_children_do_not_repeat_their_parent():
    generator = Generator(KEY)
    generator.bytes(16)
    first, second = in_child(lambda: generator.bytes(32)), in_child(lambda: generator.bytes(32))
    own = generator.bytes(32)
    assert own == keystream(KEY, 48)[16:]
    assert len({first, second, own}) == 3 and len(first) == len(second) == 32
    # A generator that is made in a child, or set there, is what it is anywhere.
    assert in_child(lambda: Generator(KEY).bytes(20)) == keystream(KEY, 20)
    state = generator.state()

    def continued():
        generator.set_state(state)
        return generator.bytes(20)

    assert in_child(continued) == generator.bytes(20)


def test_children_of_processes_with_devices(device_array):
    generator = Generator(KEY)
    tensor = generator.random_(device_array(bytes(64)))
    assert tensor.tobytes() == keystream(KEY, 64)
    first = in_child(lambda: generator.bytes(32))
    assert len(first) == 32 and first != generator.bytes(32)


def test_children_of_c_code_do_not_repeat_their_parent(monkeypatch):
    """Its fork() runs no handler of Python, and in a PID namespace the child may have the number of its parent."""
    generator = Generator(KEY)
    generator.bytes(16)
    number = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: number)
    monkeypatch.setattr(os, "fork", ctypes.PyDLL(None).fork)
    first, second = in_child(lambda: generator.bytes(32)), in_child(lambda: generator.bytes(32))
    own = generator.bytes(32)
    assert own == keystream(KEY, 48)[16:]
    assert len({first, second, own}) == 3 and len(first) == len(second) == 32


@pytest.mark.parametrize("kind", ["generator", "context"])
def test_a_lock_that_another_thread_held_does_not_stop_a_child(kind):
    if kind == "generator":
        made = Generator(KEY)
        work = lambda: made.bytes(8)  # noqa: E731
    else:
        made = Cipher(AES(KEY), CTR(bytes(16))).encryptor()
        work = lambda: made.update(bytes(8))  # noqa: E731
    held, done = threading.Event(), threading.Event()

    def hold():
        with made._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert len(in_child(work, seconds=60)) == 8
    finally:
        done.set()
        thread.join()


# ---- What is refused -------------------------------------------------------------------------


def test_states_of_another_size_are_refused():
    with pytest.raises(ValueError, match="^state has 3 bytes: expected 42 bytes"):
        Generator(1).set_state(bytes(3))


def test_types_are_refused_by_name(device_array):
    numpy = pytest.importorskip("numpy")
    generator = Generator(1)
    refused = [
        (generator.random_, "c8", "'<c8'"),
        (generator.uniform_, "i4", "int32"),
        (generator.normal_, "b1", "bool"),
        (generator.normal_, ">f4", "'>f4'"),
        (generator.bernoulli_, "c16", "'<c16'"),
        (generator.bernoulli_, "M8[s]", "M8"),
    ]
    for method, dtype, name in refused:
        tensors = [numpy.zeros(4, dtype=dtype)]
        if dtype[0] != "M":
            tensors.append(device_array(tensors[0].tobytes(), typestr=tensors[0].dtype.str))
        for tensor in tensors:
            with pytest.raises(TypeError, match="tensor has elements of .*" + name):
                method(tensor)
    with pytest.raises(TypeError, match="tensor has elements of int32"):
        generator.uniform_(numbers("i", 3))
    state = generator.state()
    assert state == Generator(1).state(), "a refused call uses no keystream"


def test_memory_is_refused():
    numpy = pytest.importorskip("numpy")
    generator = Generator(1)
    with pytest.raises(ValueError, match="not contiguous"):
        generator.uniform_(numpy.zeros((4, 4))[:, 1])
    fixed = numpy.zeros(4)
    fixed.flags.writeable = False
    for tensor in fixed, bytes(8):
        with pytest.raises(ValueError, match="cannot be written"):
            generator.random_(tensor) if isinstance(tensor, bytes) else generator.uniform_(tensor)
    with pytest.raises(TypeError, match="tensor is list"):
        generator.uniform_([0.0])


def test_arguments_are_refused():
    generator, floats, small = Generator(1), numbers("f", 2), numbers("b", 2)
    for call, message in [
        (lambda: Generator(1.5), "seed is float"),
        (lambda: Generator(b"short"), "seed has 5 bytes"),
        (lambda: Generator(1, "cuda:\u00b2"), "device is 'cuda:"),
        (lambda: generator.uniform_(floats, 2, 1), "low is 2.0 and high is 1.0"),
        (lambda: generator.uniform_(floats, -1e308, 1e308), "low is"),
        (lambda: generator.uniform_(floats, math.nan), "low is nan"),
        (lambda: generator.uniform_(floats, "a"), "low is 'a'"),
        (lambda: generator.normal_(floats, 0, -1), "std is -1.0"),
        (lambda: generator.normal_(floats, math.inf), "mean is inf"),
        (lambda: generator.normal_(floats, 10**400), "mean is inf"),
        (lambda: generator.normal_(floats, 1e39), r"mean is 1e\+39: expected a finite float32"),
        (lambda: generator.normal_(floats, 0, 1e39), r"std is 1e\+39: expected a finite float32"),
        (lambda: generator.uniform_(floats, -1e39, 0), r"low is -1e\+39: expected a finite float32"),
        (lambda: generator.uniform_(floats, -3e38, 3e38), r"low is -3e\+38 and high is 3e\+38: expected"),
        (lambda: generator.bernoulli_(floats, 1.1), "p is 1.1"),
        (lambda: generator.random_(small, 5, 5), "low is 5 and high is 5"),
        (lambda: generator.random_(small, 0), "low is 0 and high is 0"),
        (lambda: generator.random_(small, 0, 129), "limits are 0 and 129"),
        (lambda: generator.random_(small, -129, 0), "limits are -129 and 0"),
        (lambda: generator.random_(small, 0.5, 3), "low is 0.5"),
        (lambda: generator.random_(floats, 0, (1 << 24) + 2), "limits are 0 and 16777218: .* 16777217 at most, for float32"),
        (lambda: generator.random_(floats, -(1 << 24) - 1, 0), "limits are -16777217 and 0"),
        (lambda: generator.randint(0), "low is 0 and high is 0"),
        (lambda: generator.randint(0, 1 << 64), "limits are"),
        (lambda: generator.randint(5, size=-1), "size is -1"),
        (lambda: generator.permutation(-1), "n is -1"),
        (lambda: generator.bytes(2.0), "count is 2.0"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            call()
    assert generator.state() == Generator(1).state()


# ---- Packages --------------------------------------------------------------------------


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    places = ["cpu"] + ["cuda"] * torch.cuda.is_available()
    for place in places:
        generator = Generator(KEY, torch.device(place))
        tensor = torch.empty(10, 100, dtype=torch.int32, device=place)
        assert generator.random_(tensor) is tensor
        assert tensor.cpu().numpy().tobytes() == keystream(KEY, 4000)
        for dtype in torch.bfloat16, torch.float16, torch.bool, torch.int8:
            values = generator.bernoulli_(torch.empty(1000, dtype=dtype, device=place), 0.5)
            assert set(values.to(torch.float32).cpu().tolist()) == {0.0, 1.0}
        for dtype in torch.bfloat16, torch.float16:
            parameter = torch.nn.Parameter(torch.empty(1001, dtype=dtype, device=place))
            with torch.no_grad():
                assert Generator(KEY).normal_(parameter) is parameter
            floats = Generator(KEY).normal_(torch.empty(1001, device=place))
            assert torch.equal(parameter.detach(), floats.to(dtype))
            assert Generator(KEY).uniform_(torch.empty(100_000, dtype=dtype, device=place)).float().max() < 1
            integers = Generator(KEY).random_(torch.empty(1001, dtype=torch.int64, device=place), -5, 200)
            halves = Generator(KEY).random_(torch.empty(1001, dtype=dtype, device=place), -5, 200)
            assert torch.equal(halves, integers.to(dtype))
            with pytest.raises(ValueError, match="requires a gradient: expected .* torch.no_grad"):
                generator.normal_(parameter)
        order = generator.permutation(1000, like=tensor)
        assert order.device.type == place and order.sort().values.tolist() == list(range(1000))
        with pytest.raises(ValueError, match="contiguous"):
            generator.uniform_(torch.empty(4, 4, device=place).t())


def test_arrays_of_cupy():
    cupy = pytest.importorskip("cupy")
    if not getattr(cupy, "is_available", lambda: False)():
        pytest.skip("CuPy finds no device")
    generator = Generator(KEY)
    values = generator.uniform_(cupy.empty(5000, dtype=cupy.float32))
    expected = numbers("f", 5000)
    Generator(KEY).uniform_(expected)
    assert values.get().tobytes() == expected.tobytes()
    order = Generator(4).permutation(1000, like=values)
    assert order.get().tolist() == list(Generator(4).permutation(1000))


def test_new_arrays_are_like_others(fake_jax):
    numpy = pytest.importorskip("numpy")
    ways = [
        ("normal", "float32", (0.5, 2)), ("normal", "float16", ()), ("uniform", "float64", (-1, 1)),
        ("random", "int32", (5,)), ("random", "uint8", ()), ("bernoulli", "bool", (0.3,)),
    ]
    for method, dtype, arguments in ways:
        model = numpy.zeros((3, 50), dtype)
        expected = getattr(Generator(KEY), method + "_")(model.copy(), *arguments)
        for array in model, fake_jax(model):
            made = getattr(Generator(KEY), method + "_like")(array, *arguments)
            assert type(made) is type(array) and made is not array and made.shape == (3, 50) and made.dtype == dtype
            values = made if array is model else made.get()
            assert nearly(f"{method} {dtype}", values.tobytes(), expected.tobytes())
            assert not (array if array is model else array.get()).any()


def test_new_arrays_are_refused(fake_jax):
    numpy = pytest.importorskip("numpy")
    generator = Generator(1)
    for call, message in [
        (lambda: generator.normal_like(bytearray(4)), "tensor is bytearray: expected an array of PyTorch, CuPy, NumPy or JAX"),
        (lambda: generator.normal_like(numpy.zeros(3, "i4")), "tensor has elements of int32: expected float16, bfloat16"),
        (lambda: generator.normal_like(numpy.zeros(3, ">f4")), "tensor has elements of the type '>f4'"),
        (lambda: generator.random_like(numpy.zeros(3, "c8")), "tensor has elements of the type '<c8'"),
    ]:
        with pytest.raises(TypeError, match=f"^{message}"):
            call()
    with pytest.raises(ValueError, match="JAX arrays are immutable; .*normal_like"):
        generator.normal_(fake_jax(numpy.zeros(4, "f4")))
    assert generator.state() == Generator(1).state()


def test_arrays_of_jax():
    jax = pytest.importorskip("jax")
    numpy = pytest.importorskip("numpy")
    for dtype in "float32", "float16", "bfloat16":
        array = jax.numpy.zeros((7, 11), dtype)
        made = Generator(KEY).normal_like(array)
        assert isinstance(made, jax.Array) and made.dtype == dtype and made.shape == (7, 11) and not array.any()
        expected = Generator(KEY).normal_(numpy.empty((7, 11), "f4"))
        assert numpy.allclose(numpy.asarray(made, "f4"), expected, rtol=2**-7)
        again = Generator(KEY).normal_like(jax.numpy.zeros((7, 11), dtype))
        assert (made == again).all()
    trials = Generator(KEY).bernoulli_like(jax.numpy.zeros(1000, "bool"))
    assert trials.dtype == "bool" and 300 < int(trials.sum()) < 700
    values = Generator(KEY).uniform_like(numpy.zeros(1000, jax.numpy.bfloat16))
    assert values.dtype == jax.numpy.bfloat16 and 0 <= values.min() and values.max() < 1
