"""Arrays of PyTorch, CuPy and JAX in device memory: results, their package, streams and lifetimes.

On a card, with what is installed there. On the emulator, with the stand-in for CuPy, which has no arithmetic, and
with tensors of the CPU, whose bytes the device works on.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import gc
import importlib
import os
import sys

import pytest

numpy = pytest.importorskip("numpy")
gpuaes = pytest.importorskip("gpuaes", exc_type=ImportError)
from gpuaes.aead import AESGCM  # noqa: E402
from gpuaes.batch import Batch  # noqa: E402
from gpuaes.ciphers import AES, CTR, Cipher  # noqa: E402

KEY, NONCE, COUNTER = bytes(range(32)), bytes(range(12)), bytes(range(100, 116))


def installed(name):
    """The package, with a device; skips where it is not there."""
    module = pytest.importorskip(name)
    if os.environ.get("GPUAES_TEST_DRIVER"):
        pytest.skip(f"{name} is for a card, and this is the emulator")
    return module


class Torch:
    name, can_add, can_write = "torch", True, True

    def __init__(self):
        self.torch = installed("torch")
        if not self.torch.cuda.is_available():
            pytest.skip("PyTorch has no device")
        self.kind = self.torch.Tensor

    def array(self, values):
        return self.torch.from_numpy(values.copy()).to("cuda")

    def host(self, array):
        return array.cpu().numpy()

    def empty(self, count, dtype):
        return self.torch.empty(count, dtype=getattr(self.torch, dtype), device="cuda")

    def stream(self):
        return self.torch.cuda.stream(self.torch.cuda.Stream())


class TorchOfTheCpu:
    name, can_add, can_write = "torch-cpu", True, True

    def __init__(self):
        self.torch = pytest.importorskip("torch")
        self.kind = self.torch.Tensor

    def array(self, values):
        return self.torch.from_numpy(values.copy())

    def host(self, array):
        assert array.device.type == "cpu"
        return array.numpy()

    def empty(self, count, dtype):
        return self.torch.empty(count, dtype=getattr(self.torch, dtype))

    def stream(self):
        return contextlib.nullcontext()


class Cupy:
    name, can_write = "cupy", True

    def __init__(self):
        if os.environ.get("GPUAES_TEST_DRIVER"):
            self.cupy, self.can_add = importlib.import_module("cupy"), False
        else:
            self.cupy, self.can_add = installed("cupy"), True
        self.kind = self.cupy.ndarray

    def array(self, values):
        return self.cupy.asarray(values)

    def host(self, array):
        return self.cupy.asnumpy(array)

    def empty(self, count, dtype):
        return self.cupy.empty(count, dtype=dtype)

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)


class Jax:
    name, can_add, can_write = "jax", True, False

    def __init__(self):
        self.jax = installed("jax")
        if self.jax.default_backend() != "gpu":
            pytest.skip("JAX has no device")
        self.kind = self.jax.Array

    def array(self, values):
        return self.jax.device_put(values)

    def host(self, array):
        return numpy.asarray(array)


@pytest.fixture(params=[Torch, TorchOfTheCpu, Cupy, Jax], ids=lambda made: made.name)
def package(request, monkeypatch):
    if request.param is Cupy:
        for folder in request.getfixturevalue("stand_in_path"):
            monkeypatch.syspath_prepend(folder)
    made = request.param()
    if request.param is TorchOfTheCpu:
        request.getfixturevalue("device_array")  # skips where there is no driver
        request.getfixturevalue("everything_on_device")
    yield made
    if request.param is Cupy and os.environ.get("GPUAES_TEST_DRIVER"):
        # Other tests shall not find the stand-in.
        del sys.modules["cupy"]


@pytest.fixture
def writable(package):
    if not package.can_write:
        pytest.skip(f"arrays of {package.name} are immutable")
    return package


def values_of(rng, count, dtype="uint8"):
    return numpy.frombuffer(rng.randbytes(count * numpy.dtype(dtype).itemsize), dtype)


@pytest.mark.parametrize("count", [0, 1, 4099, 100_000])
def test_messages(package, rng, count):
    values = values_of(rng, count, "int16")
    expected = AESGCM(KEY).encrypt(NONCE, values.tobytes(), b"header")
    aead, array = AESGCM(KEY), package.array(values)
    sealed = aead.encrypt(NONCE, array, b"header")
    assert isinstance(sealed, package.kind) and package.host(sealed).tobytes() == expected
    opened = aead.decrypt(NONCE, sealed, b"header")
    assert isinstance(opened, package.kind) and package.host(opened).tobytes() == values.tobytes()
    with pytest.raises(gpuaes.InvalidTag):
        aead.decrypt(NONCE, sealed, b"another")
    assert package.host(array).tobytes() == values.tobytes()


def test_streams_in_pieces(package, rng):
    values = values_of(rng, 50_000)
    expected = Cipher(AES(KEY), CTR(COUNTER)).encryptor().update(values.tobytes())
    encryptor, array, found = Cipher(AES(KEY), CTR(COUNTER)).encryptor(), package.array(values), b""
    for begin, end in (0, 5), (5, 32_000), (32_000, 32_001), (32_001, 50_000):
        found += package.host(encryptor.update(array[begin:end])).tobytes()
    assert found == expected


def test_in_place(writable, rng):
    values = values_of(rng, 4096)
    array = writable.array(values)
    Cipher(AES(KEY), CTR(COUNTER)).encryptor().update_into(array, array)
    assert writable.host(array).tobytes() == Cipher(AES(KEY), CTR(COUNTER)).encryptor().update(values.tobytes())
    whole = writable.array(numpy.concatenate([values, numpy.zeros(16, "uint8")]))
    assert AESGCM(KEY).encrypt(NONCE, whole[:-16], out=whole) is whole
    assert writable.host(whole).tobytes() == AESGCM(KEY).encrypt(NONCE, values.tobytes())
    AESGCM(KEY).decrypt(NONCE, whole, out=whole[:-16])
    assert writable.host(whole[:-16]).tobytes() == values.tobytes()


def test_work_follows_the_current_stream(writable, rng):
    """Nothing waits between what comes before, the encryption, and what comes behind it."""
    values = values_of(rng, 1 << 20, "int32")
    with writable.stream():
        array = writable.array(values)
        added = 0
        if writable.can_add:
            added = 300
            for _ in range(added):
                array += 1
        sealed = AESGCM(KEY).encrypt(NONCE, array)
        Cipher(AES(KEY), CTR(COUNTER)).encryptor().update_into(array, array)
        if writable.can_add:
            array ^= -1
        found = writable.host(sealed).tobytes(), writable.host(array)
    text = (values + numpy.int32(added)).tobytes()
    assert found[0] == AESGCM(KEY).encrypt(NONCE, text)
    ciphertext = numpy.frombuffer(Cipher(AES(KEY), CTR(COUNTER)).encryptor().update(text), "int32")
    assert numpy.array_equal(found[1], ~ciphertext if writable.can_add else ciphertext)


def test_arrays_may_go_at_once(package, rng):
    """Their memory may be given to others as soon as the calls return."""
    texts = [values_of(rng, 65_536) for _ in range(20)]
    sealed = []
    for number, text in enumerate(texts):
        array = package.array(text)
        sealed.append(AESGCM(KEY).encrypt(number.to_bytes(12, "big"), array))
        del array
        package.array(numpy.zeros(65_536, "uint8"))
        gc.collect()
    for number, (text, found) in enumerate(zip(texts, sealed)):
        assert package.host(found).tobytes() == AESGCM(KEY).encrypt(number.to_bytes(12, "big"), text.tobytes())


def test_batches(writable, rng):
    if writable.name == "torch-cpu":
        pytest.skip("batches are of device memory")
    texts = [values_of(rng, rng.randrange(1, 5000)) for _ in range(30)]
    nonces = [number.to_bytes(12, "big") for number in range(30)]
    sealed = Batch("GCM", KEY, [writable.array(text) for text in texts], encrypt=True, ivs=nonces)
    sealed.queue()
    opened = Batch("GCM", KEY, sealed.out, encrypt=False, ivs=nonces, tags=sealed.tags)
    opened.queue()
    opened.check()
    tags = writable.host(sealed.tags).tobytes()
    for number, (text, nonce) in enumerate(zip(texts, nonces)):
        found = writable.host(sealed.out[number]).tobytes() + tags[16 * number:16 * number + 16]
        assert found == AESGCM(KEY).encrypt(nonce, text.tobytes())
        assert writable.host(opened.out[number]).tobytes() == text.tobytes()


@pytest.mark.parametrize("method, dtype", [("random_", "int32"), ("uniform_", "float32"), ("bernoulli_", "uint8")])
def test_random_numbers_are_those_of_the_cpu(writable, method, dtype):
    random = pytest.importorskip("gpuaes.random", exc_type=ImportError)
    array = writable.empty(10_001, dtype)
    assert getattr(random.Generator(5), method)(array) is array
    expected = getattr(random.Generator(5), method)(numpy.empty(10_001, dtype))
    assert numpy.array_equal(writable.host(array), expected)


def test_errors_of_tensors_are_named():
    package = Torch()
    with pytest.raises(ValueError, match="contiguous"):
        AESGCM(KEY).encrypt(NONCE, package.torch.zeros(8, 8, device="cuda").t())
    with pytest.raises(ValueError, match="out .*device 0"):
        AESGCM(KEY).encrypt(NONCE, package.torch.zeros(8, device="cuda"), out=bytearray(48))


def test_graphs_of_tensors():
    """A graph would use a nonce again; a batch may be captured, and reads the data anew."""
    package = Torch()
    torch = package.torch
    array, aead = torch.zeros(4096, dtype=torch.uint8, device="cuda"), AESGCM(KEY)
    stream, graph, refused = torch.cuda.Stream(), torch.cuda.CUDAGraph(), None
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        batch = Batch("CTR", KEY, [array], encrypt=True, ivs=[COUNTER])
        batch.queue()
        aead.encrypt(NONCE, array)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        batch.queue()
        try:
            aead.encrypt(NONCE, array)
        except gpuaes.GpuaesError as error:
            refused = str(error)
    assert refused and "captured" in refused
    for value in 1, 2:
        array.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        expected = Cipher(AES(KEY), CTR(COUNTER)).encryptor().update(bytes([value]) * 4096)
        assert package.host(batch.out[0]).tobytes() == expected
