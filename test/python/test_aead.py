"""gpuaes.aead.AESGCM compared with cryptography's: memory of the host and of a device, in place, wrong tags, errors.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import threading

import pytest

gpuaes = pytest.importorskip("gpuaes", exc_type=ImportError)
messages = pytest.importorskip("messages")
from gpuaes import InvalidTag, _gcm, _library  # noqa: E402
from gpuaes.aead import AESGCM  # noqa: E402
from gpuaes.ciphers import Cipher, algorithms, modes  # noqa: E402

SIZES = (0, 1, 15, 16, 17, 255, 256, 1000, 5000)


@pytest.fixture(params=["queue", "call"])
def way(request, monkeypatch):
    """Both ways of a message on a device, whatever its length."""
    if request.param == "call":
        monkeypatch.setattr(_gcm, "QUEUE_MOST", -1)
    return request.param


def case(rng, size):
    key, nonce = rng.randbytes(rng.choice(messages.KEY_BYTES)), rng.randbytes(rng.choice((12, 12, 8, 16, 128)))
    aad = rng.choice((None, b"", rng.randbytes(rng.randrange(1, 200))))
    text = rng.randbytes(size)
    return key, nonce, aad, text, messages.sealed(key, nonce, text, aad)


@pytest.mark.parametrize("where", ["cpu", "device"])
@pytest.mark.parametrize("size", SIZES)
def test_host_memory(rng, size, where, request):
    if where == "device":
        request.getfixturevalue("everything_on_device")
    key, nonce, aad, text, expected = case(rng, size)
    with AESGCM(key) as aes:
        assert aes.encrypt(nonce, text, aad) == expected
        assert aes.decrypt(nonce, bytearray(expected), aad) == text
        buffer = bytearray(text) + bytes(16)
        view = memoryview(buffer)
        assert aes.encrypt(nonce, view[:size], aad, out=buffer) is buffer and buffer == expected
        aes.decrypt(nonce, buffer, aad, out=view[:size])
        assert buffer[:size] == text
        wrong = bytearray(expected)
        wrong[rng.randrange(len(wrong))] ^= 1 << rng.randrange(8)
        with pytest.raises(InvalidTag):
            aes.decrypt(nonce, wrong, aad)
        with pytest.raises(InvalidTag):
            aes.decrypt(nonce, wrong, aad, out=memoryview(wrong)[:size])
        assert not any(wrong[:size])


@pytest.mark.parametrize("size", SIZES)
def test_device_memory(rng, size, way, device_array, cuda_stream):
    key, nonce, aad, text, expected = case(rng, size)
    aes = AESGCM(key)
    for stream in None, cuda_stream:
        sealed = aes.encrypt(nonce, device_array(text, stream=stream), aad)
        assert sealed.tobytes() == expected
        again = aes.decrypt(nonce, sealed, aad)
        assert again.tobytes() == text
        with pytest.raises(InvalidTag):
            aes.decrypt(nonce, sealed, b"other" + (aad or b""))


def test_device_memory_in_place(rng, way, device_array, cuda_stream):
    for size in 1, 16, 333:
        key, nonce, aad, text, expected = case(rng, size)
        aes = AESGCM(key)
        whole = device_array(text + bytes(16), stream=cuda_stream)
        part = type(whole)(whole.memory, (size,), "|u1", stream=cuda_stream)
        assert aes.encrypt(nonce, part, aad, out=whole) is whole and whole.tobytes() == expected
        assert aes.decrypt(nonce, whole, aad, out=part) is part and part.tobytes() == text
        wrong = device_array(expected[:-1] + bytes([expected[-1] ^ 1]), stream=cuda_stream)
        part = type(whole)(wrong.memory, (size,), "|u1", stream=cuda_stream)
        with pytest.raises(InvalidTag):
            aes.decrypt(nonce, wrong, aad, out=part)
        assert part.tobytes() == bytes(size)

@pytest.mark.parametrize("place", ["apart", "in place"])
@pytest.mark.parametrize("where", ["host", "device"])
def test_into_buffers(rng, where, place, device_array):
    key, nonce, aad, text = rng.randbytes(32), rng.randbytes(12), b"header", rng.randbytes(1000)
    sealed, aead = messages.sealed(key, nonce, text, aad), AESGCM(key)

    def array(data, of=None):
        """A buffer, or a part of another one from its beginning."""
        if where == "host":
            return memoryview(of)[: len(data)] if of is not None else bytearray(data)
        return type(of)(of.memory, (len(data),), "|u1") if of is not None else device_array(data)

    def found(buffer):
        return bytes(buffer) if where == "host" else buffer.tobytes()

    buf = array(text + bytes(16))
    data = array(text, of=buf) if place == "in place" else array(text)
    assert aead.encrypt_into(nonce, data, aad, buf) == len(sealed)
    assert found(buf) == sealed
    opened = array(text, of=buf) if place == "in place" else array(bytes(len(text)))
    assert aead.decrypt_into(nonce, buf, aad, opened) == len(text)
    assert found(opened) == text
    buf = array(sealed[:-1] + bytes([sealed[-1] ^ 1]))
    opened = array(text, of=buf) if place == "in place" else array(b"x" * len(text))
    with pytest.raises(gpuaes.InvalidTag):
        aead.decrypt_into(nonce, buf, aad, opened)
    assert found(opened) == bytes(len(text))
    for wrong in (None, bytes(len(sealed)), bytearray(len(sealed) - 1), bytearray(len(sealed) + 1)):
        with pytest.raises((TypeError, ValueError), match="^buf "):
            aead.encrypt_into(nonce, text, aad, wrong)
        with pytest.raises((TypeError, ValueError), match="^buf "):
            aead.decrypt_into(nonce, sealed + sealed, aad, wrong)


def test_alignment_and_long_additional_data(rng, way, device_array):
    key, nonce = rng.randbytes(32), rng.randbytes(12)
    text, aad = rng.randbytes(100), rng.randbytes(_gcm.AAD_IN_SLOT + 1)
    whole = device_array(b"..." + text)
    whole.offset, whole.shape = 3, (100,)
    for each in aad, aad[1:]:
        assert AESGCM(key).encrypt(nonce, whole, each).tobytes() == messages.sealed(key, nonce, text, each)


def test_message_of_many_segments(rng, device_array):
    """Which takes temporary memory of the stream."""
    key, nonce, text = rng.randbytes(32), rng.randbytes(12), rng.randbytes(300_001)
    aes, expected = AESGCM(key), messages.sealed(key, nonce, text)
    sealed = aes.encrypt(nonce, device_array(text))
    assert sealed.tobytes() == expected
    assert aes.decrypt(nonce, sealed, out=device_array(bytes(len(text)))).tobytes() == text
    out = device_array(b"!" * len(text))
    with pytest.raises(InvalidTag):
        aes.decrypt(nonce, device_array(expected[:-1] + bytes([expected[-1] ^ 1])), out=out)
    assert not any(out.tobytes())


def test_messages_follow_their_stream(rng, way, device_array, cuda_stream):
    """Which no other waits for: the text is written by what was queued before."""
    key, nonce, text = rng.randbytes(32), rng.randbytes(12), rng.randbytes(1 << 18)
    data = device_array(text, stream=cuda_stream)
    Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update_into(data, data)
    sealed = AESGCM(key).encrypt(nonce, data)
    text = messages.context("CTR", key, bytes(16), True).update(text)
    assert sealed.tobytes() == messages.sealed(key, nonce, text)


def test_counter_that_wraps(rng, way, device_array, everything_on_device):
    """A nonce whose first counter block ends near 2^32: inc32 leaves the other 12 bytes alone."""
    key, hash_ = rng.randbytes(16), None
    # With a hash key, a nonce of 16 bytes gives any J0 that is wanted: J0 = (nonce * H + lengths) * H.
    gcm = messages.context("ECB", key, None, True).update(bytes(16))
    hash_ = int.from_bytes(gcm, "big")
    wanted = int.from_bytes(rng.randbytes(12) + b"\xff\xff\xff\xfd", "big")
    inverse = power(hash_, 2**128 - 2)
    nonce = (multiply(multiply(wanted, inverse) ^ 128, inverse)).to_bytes(16, "big")
    text = rng.randbytes(150)
    expected = messages.sealed(key, nonce, text)
    aes = AESGCM(key)
    assert aes.encrypt(nonce, device_array(text)).tobytes() == expected
    assert aes.encrypt(nonce, text) == expected


def multiply(x, y):
    """In GCM's field: the first bit of a block is the highest here."""
    product = 0
    for i in range(127, -1, -1):
        if y >> i & 1:
            product ^= x
        x = x >> 1 ^ (0xE1 << 120 if x & 1 else 0)
    return product


def power(x, exponent):
    result = 1 << 127
    while exponent:
        if exponent & 1:
            result = multiply(result, x)
        x, exponent = multiply(x, x), exponent >> 1
    return result


def test_arrays_of_packages(rng):
    numpy = pytest.importorskip("numpy")
    key, nonce = rng.randbytes(32), rng.randbytes(12)
    values = numpy.arange(10, dtype="f8")
    sealed = AESGCM(key).encrypt(nonce, values)
    assert isinstance(sealed, numpy.ndarray) and sealed.tobytes() == messages.sealed(key, nonce, values.tobytes())
    assert (AESGCM(key).decrypt(nonce, sealed).view("f8") == values).all()
    again = numpy.empty_like(values)
    assert AESGCM(key).decrypt(nonce, sealed, out=again) is again and (again == values).all()


def test_arrays_of_jax(rng):
    pytest.importorskip("jax")
    import jax.numpy
    import numpy

    key, nonce = rng.randbytes(32), rng.randbytes(12)
    values = jax.numpy.arange(10, dtype="float32")
    sealed = AESGCM(key).encrypt(nonce, values)
    assert isinstance(sealed, jax.Array)
    assert numpy.asarray(sealed).tobytes() == messages.sealed(key, nonce, numpy.asarray(values).tobytes())
    assert (numpy.asarray(AESGCM(key).decrypt(nonce, sealed)).view("float32") == numpy.asarray(values)).all()
    with pytest.raises(ValueError, match="immutable"):
        AESGCM(key).encrypt(nonce, b"text", out=jax.numpy.zeros(20, "uint8"))


def test_tensors_of_the_cpu(rng):
    torch = pytest.importorskip("torch")
    key, nonce = rng.randbytes(32), rng.randbytes(12)
    values = torch.arange(10, dtype=torch.float32)
    sealed = AESGCM(key).encrypt(nonce, values)
    assert isinstance(sealed, torch.Tensor) and sealed.numpy().tobytes() == messages.sealed(
        key, nonce, values.numpy().tobytes()
    )
    assert torch.equal(AESGCM(key).decrypt(nonce, sealed).view(torch.float32), values)


def test_device_does_large_host_data_once_it_is_started(rng, monkeypatch, device_array):
    device_array(b"")  # skips where there is none
    monkeypatch.delenv("GPUAES_POLICY", raising=False)
    gpuaes.start()
    key, nonce, text = rng.randbytes(16), rng.randbytes(12), rng.randbytes(4096)

    def bytes_of_device(min_bytes, policy="auto"):
        monkeypatch.setenv("GPUAES_MIN_BYTES", min_bytes)
        monkeypatch.setenv("GPUAES_POLICY", policy)
        before = gpuaes.statistics().bytes
        assert AESGCM(key).encrypt(nonce, text) == messages.sealed(key, nonce, text)
        return gpuaes.statistics().bytes - before

    assert bytes_of_device("4096") == 4096 and bytes_of_device("4K") == 4096
    assert bytes_of_device("4097") == bytes_of_device("auto") == bytes_of_device("0", "cpu") == 0
    assert bytes_of_device("1G", "gpu") == 4096
    for name, value in ("GPUAES_MIN_BYTES", "many"), ("GPUAES_POLICY", "fast"):
        monkeypatch.setenv("GPUAES_POLICY", "auto")
        monkeypatch.setenv(name, value)
        with pytest.raises(ValueError, match=f"{name} is '{value}'"):
            AESGCM(key).encrypt(nonce, text)


# ---- A device that fails ------------------------------------------------------------------------


class Failing:
    """libgpuaes, of which the device does half of each call of gpuaes_gcm() and then fails."""

    def __init__(self, real, status):
        self.real, self.status = real, status

    def __getattr__(self, name):
        return getattr(self.real, name)

    def gpuaes_gcm(self, op, key, state, source, out, count, flags, report):
        begin = count // 32 * 16
        half = begin // 32 * 16
        for at, end in (0, half), (begin, begin + 16):
            counter = bytearray(bytes(state._obj.counter))
            counter[12:] = ((int.from_bytes(counter[12:], "big") + at // 16) % 2**32).to_bytes(4, "big")
            part = _library.GcmState()
            part.counter[:] = counter
            done = self.real.gpuaes_gcm(op, key, part, source + at, out + at, end - at, 1, None)
            assert done == _library.OK
        report = report._obj
        report.shards = 2
        report.shard[0].at, report.shard[0].bytes, report.shard[0].done = 0, begin, half
        report.shard[1].at, report.shard[1].bytes, report.shard[1].done = begin, count - begin, 16
        return self.status


@pytest.mark.parametrize("status", ["FAULT", "NO_MEMORY", "BUSY"])
def test_cpu_finishes_what_a_device_left(rng, status, monkeypatch, everything_on_device, device_array):
    device_array(b"")
    monkeypatch.setattr(_gcm, "lib", Failing(_gcm.lib, getattr(_library, status)))
    for size in 150, 160:
        key, nonce, aad, text, expected = case(rng, size)
        aes = AESGCM(key)
        assert aes.encrypt(nonce, text, aad) == expected
        assert aes.decrypt(nonce, expected, aad) == text
        buffer = bytearray(text) + bytes(16)
        aes.encrypt(nonce, memoryview(buffer)[:size], aad, out=buffer)
        assert buffer == expected
        aes.decrypt(nonce, buffer, aad, out=memoryview(buffer)[:size])
        assert buffer[:size] == text


def test_output_to_which_a_device_may_still_write(rng, monkeypatch, everything_on_device, device_array):
    device_array(b"")
    key, nonce, aad, text, expected = case(rng, 160)
    aes = AESGCM(key)
    failing = Failing(_gcm.lib, _library.UNDEFINED)
    monkeypatch.setattr(_gcm, "lib", failing)
    for out in bytearray(176), bytearray(text) + bytes(16):
        data = text if not any(out) else memoryview(out)[:160]
        with pytest.raises(gpuaes.GpuaesError) as raised:
            aes.encrypt(nonce, data, aad, out=out)
        assert raised.value.status == _library.UNDEFINED
    calls = []

    def once(*arguments):
        calls.append(arguments)
        monkeypatch.setenv("GPUAES_POLICY", "cpu")
        return Failing.gpuaes_gcm(failing, *arguments)

    failing.gpuaes_gcm = once
    assert aes.encrypt(nonce, text, aad) == expected  # in another memory
    assert len(calls) == 1


def test_message_that_no_kernel_has_looked_at_is_not_authentic(rng, monkeypatch, device_array):
    key, nonce, aad, text, expected = case(rng, 100)
    aes, data, out = AESGCM(key), device_array(expected), device_array(b"!" * 100)

    class Idle:
        def __getattr__(self, name):
            return (lambda *_: _library.OK) if name == "gpuaes_queue" else getattr(_library.lib, name)

    for _ in range(40):  # each slot has the status of an earlier message
        aes.decrypt(nonce, data, aad)
    monkeypatch.setattr(_gcm, "lib", Idle())
    with pytest.raises(gpuaes.GpuaesError):
        aes.decrypt(nonce, data, aad, out=out)
    assert out.tobytes() == bytes(100)


FAULTS = """
import ctypes
import device_arrays, gpuaes, messages
from gpuaes import _gcm
from gpuaes.aead import AESGCM
if sys.argv[1] == "call":
    _gcm.QUEUE_MOST = -1
hooks = getattr(ctypes.CDLL("libgpuaes.so.1"), "emulator_configure", None)
if hooks is None:
    print("SKIP"); raise SystemExit
gpuaes.start([0, 1])
text, key, failed = bytes(range(1, 200)), bytes(32), 0
sealed, aes = messages.sealed(key, bytes(12), text), AESGCM(key)
data = device_arrays.DeviceArray.of(sealed)
aes.decrypt(bytes(12), data)
for call in range(1, 5):
    out = device_arrays.DeviceArray.of(b"!" * len(text))
    hooks(f"fault={sys.argv[2]}:{call}".encode())
    try:
        aes.decrypt(bytes(12), data, out=out)
    except gpuaes.GpuaesError:
        failed += 1
        hooks(b"")
        assert out.tobytes() in (bytes(len(text)), b"!" * len(text)), out.tobytes()
    else:
        hooks(b"")
        assert out.tobytes() == text
    if 0 not in [device.ordinal for device in gpuaes.devices()]:
        # It is lost: a call that finds it so leaves the message alone.
        part = device_arrays.DeviceArray(data.memory, (len(text),), "|u1")
        try:
            aes.decrypt(bytes(12), data, out=part)
        except gpuaes.GpuaesError:
            assert data.tobytes() == sealed
        else:
            raise AssertionError("a lost device was used")
        break
print(f"{failed} failed")
"""


@pytest.mark.parametrize("way_, function", [
    ("queue", "event_record"), ("queue", "event_query"),
    ("call", "event_record"), ("call", "memcpy_dtoh_async"), ("call", "launch_kernel"),
])
def test_nothing_is_left_of_what_a_device_failed_to_decrypt(way_, function, device_array):
    """Device memory is zeros, or as it was where the call had not begun."""
    device_array(b"")
    # Where the last device is lost, no call gets as far as to one.
    said = messages.run_python(FAULTS, way_, function, GPUAES_EMULATOR="devices=2")
    if said == "SKIP\n":
        pytest.skip("the driver does not fail on demand")
    assert int(said.removesuffix(" failed\n")) >= 1


@pytest.mark.parametrize("where", ["apart", "in place"])
def test_nothing_is_left_on_the_host_either(rng, where, monkeypatch, everything_on_device, device_array):
    """A device that hangs, and a libcrypto that fails behind it."""
    device_array(b"")
    key, nonce, aad, text, expected = case(rng, 160)
    aes = AESGCM(key)

    def decrypt():
        data = bytearray(expected)
        out = memoryview(data)[:160] if where == "in place" else bytearray(b"!" * 160)
        with pytest.raises(gpuaes.GpuaesError):
            aes.decrypt(nonce, data, aad, out=out)
        return bytes(out)

    for status in "UNDEFINED", "FAULT":
        monkeypatch.setattr(_gcm, "lib", Failing(_library.lib, getattr(_library, status)))
        if status == "FAULT":
            def fails(*_):
                raise gpuaes.GpuaesError("no libcrypto")

            monkeypatch.setattr(_gcm._libcrypto, "run", fails)
            monkeypatch.setattr(_gcm._libcrypto, "gcm", fails)
        assert decrypt() == bytes(160)


@pytest.mark.parametrize("where", ["apart", "in place"])
@pytest.mark.parametrize("step", ["__init__", "begin", "update", "finish"])
def test_output_of_the_host_is_left_alone_until_the_work_begins(rng, step, where, monkeypatch):
    monkeypatch.setenv("GPUAES_POLICY", "cpu")
    key, nonce, text = rng.randbytes(32), rng.randbytes(12), rng.randbytes(160)
    sealed = messages.sealed(key, nonce, text)
    data = bytearray(sealed)
    out = memoryview(data)[:160] if where == "in place" else bytearray(b"!" * 160)
    before = bytes(out)
    aes, real = AESGCM(key), getattr(_gcm._libcrypto.CpuCipher, step)

    def fails(*arguments):
        real(*arguments)
        raise MemoryError

    monkeypatch.setattr(_gcm._libcrypto.CpuCipher, step, fails)
    with pytest.raises(MemoryError):
        aes.decrypt(nonce, data, out=out)
    assert bytes(out) == (before if step in ("__init__", "begin") else bytes(160))


# ---- Errors -----------------------------------------------------------------------------------


def test_generated_keys():
    assert {len(AESGCM.generate_key(bits)) for bits in (128, 192, 256)} == {16, 24, 32}
    assert AESGCM.generate_key() != AESGCM.generate_key()
    with pytest.raises(ValueError, match="bit_length is 100: expected"):
        AESGCM.generate_key(100)


@pytest.mark.parametrize("size", [0, 1, 15, 17, 33])
def test_wrong_keys(size):
    with pytest.raises(ValueError, match=f"^key has {size} bytes: expected 16, 24 or 32"):
        AESGCM(bytes(size))


def test_wrong_arguments(device_array):
    aes = AESGCM(bytes(16))
    with pytest.raises(TypeError, match="^key is str"):
        AESGCM("0123456789abcdef")
    with pytest.raises(ValueError, match="^nonce has 7 bytes: expected 8 to 128"):
        aes.encrypt(bytes(7), b"")
    with pytest.raises(TypeError, match="^nonce is str"):
        aes.encrypt("nonce nonce!", b"")
    with pytest.raises(TypeError, match="^data is str"):
        aes.encrypt(bytes(12), "text")
    with pytest.raises(TypeError, match="^associated_data is int"):
        aes.encrypt(bytes(12), b"", 5)
    with pytest.raises(TypeError, match="^associated_data is in memory of device 0"):
        aes.encrypt(bytes(12), b"", device_array(bytes(4)))
    with pytest.raises(ValueError, match="^out has 16 bytes: expected 17"):
        aes.encrypt(bytes(12), b"a", out=bytearray(16))
    with pytest.raises(ValueError, match="^out .*read-only"):
        aes.encrypt(bytes(12), b"a", out=bytes(17))
    with pytest.raises(ValueError, match="^out is in memory of the host: expected memory of device 0"):
        aes.encrypt(bytes(12), device_array(b"a"), out=bytearray(17))
    buffer = memoryview(bytearray(100))
    with pytest.raises(ValueError, match="^out overlaps the data in part"):
        aes.encrypt(bytes(12), buffer[:32], out=buffer[8:56])
    with pytest.raises(InvalidTag, match="15 bytes"):
        aes.decrypt(bytes(12), bytes(15))


def test_streams_that_differ(device_array, cuda_stream):
    data, out = device_array(bytes(16), stream=cuda_stream), device_array(bytes(32))
    with pytest.raises(ValueError, match="^out has the stream 0x0: expected 0x"):
        AESGCM(bytes(16)).encrypt(bytes(12), data, out=out)


def test_closed_object():
    aes = AESGCM(bytes(16))
    key = aes._keys.key
    expanded = aes._keys.expanded
    aes.close()
    aes.close()
    with pytest.raises(ValueError, match="closed"):
        aes.encrypt(bytes(12), b"")
    assert not any(bytes(expanded)) and not any(key.buffer.raw)


def test_keys_are_overwritten_with_the_object():
    aes = AESGCM(bytes(range(16)))
    key, expanded = aes._keys.key, aes._keys.expanded
    assert any(bytes(expanded))
    del aes
    assert not any(bytes(expanded)) and not any(key.buffer.raw)


def test_capture_is_refused(device_array, cuda_stream):
    import device_arrays

    data = device_array(bytes(32), stream=cuda_stream)
    aes, encryptor = AESGCM(bytes(16)), Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16))).encryptor()
    encryptor.update(b"12345")  # the next begins within a block
    whole = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16))).encryptor()
    aes.encrypt(bytes(12), data)
    driver = device_arrays.driver()
    with driver.current():
        import ctypes

        begin = getattr(driver.library, "cuStreamBeginCapture_v2", None)
        if begin is None:
            pytest.skip("the driver has no cuStreamBeginCapture")
        graph = ctypes.c_void_p()
        driver.call("cuStreamBeginCapture_v2", ctypes.c_void_p(cuda_stream), 2)
        try:
            for call in lambda: aes.encrypt(bytes(12), data), lambda: encryptor.update(data), lambda: whole.update(data):
                with pytest.raises(gpuaes.GpuaesError, match="captured into a CUDA graph"):
                    call()
        finally:
            driver.call("cuStreamEndCapture", ctypes.c_void_p(cuda_stream), ctypes.byref(graph))
            driver.call("cuGraphDestroy", graph)
    assert whole.update(data).tobytes() == messages.context("CTR", bytes(16), bytes(16), True).update(bytes(32))


def test_closed_by_another_thread_in_mid_call(rng, device_array):
    """The call ends with its own key, not with one that is overwritten."""
    key, text = rng.randbytes(32), rng.randbytes(100)

    class Closing:
        def __init__(self, array):
            self.array = array

        @property
        def __cuda_array_interface__(self):
            thread = threading.Thread(target=aes.close)
            thread.start()
            thread.join()
            return self.array.__cuda_array_interface__

    sealed = messages.sealed(key, bytes(12), text)
    aes = AESGCM(key)
    held, expanded = aes._keys.key, aes._keys.expanded
    assert aes.encrypt(bytes(12), Closing(device_array(text))).tobytes() == sealed
    assert held.buffer.raw == bytes(32) and bytes(expanded) == bytes(len(bytes(expanded)))
    for call in aes.encrypt, aes.decrypt:
        with pytest.raises(ValueError, match="closed"):
            call(bytes(12), sealed)
    aes = AESGCM(key)
    assert aes.decrypt(bytes(12), Closing(device_array(sealed))).tobytes() == text
