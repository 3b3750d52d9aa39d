"""gpuaes.ciphers compared with cryptography's: pieces of any length, of the host and of a device, in turn.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import signal
import threading

import pytest

gpuaes = pytest.importorskip("gpuaes", exc_type=ImportError)
messages = pytest.importorskip("messages")
from gpuaes import _libcrypto, _library, ciphers  # noqa: E402
from gpuaes.ciphers import Cipher, algorithms, modes  # noqa: E402

MODES = ("CTR", "ECB", "CBC")


def contexts(mode, key, iv, encrypt):
    """Ours, and cryptography's."""
    ours = Cipher(algorithms.AES(key), modes.ECB() if mode == "ECB" else getattr(modes, mode)(iv))
    return ours.encryptor() if encrypt else ours.decryptor(), messages.context(mode, key, iv, encrypt)


def random_contexts(rng, mode, encrypt):
    iv = rng.choice((rng.randbytes(16), rng.randbytes(11) + b"\xff" * 5, b"\xff" * 16))
    return contexts(mode, rng.randbytes(rng.choice(messages.KEY_BYTES)), iv, encrypt)


def lengths(rng, count):
    return [rng.choice((0, 1, 15, 16, 17, 31, 64, 100, rng.randrange(2000))) for _ in range(count)]


@pytest.mark.parametrize("where", ["cpu", "device"])
@pytest.mark.parametrize("encrypt", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_pieces_of_the_host(rng, mode, encrypt, where, request):
    if where == "device":
        request.getfixturevalue("everything_on_device")
    for _ in range(4):
        ours, theirs = random_contexts(rng, mode, encrypt)
        for length in lengths(rng, 6):
            piece = rng.randbytes(length)
            assert ours.update(piece) == theirs.update(piece)
            into = bytearray(length + 16)
            written = ours.update_into(piece, into)
            expected = theirs.update(piece)
            assert written == len(expected) and into[:written] == expected and not any(into[written:])


@pytest.mark.parametrize("encrypt", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_pieces_of_a_device(rng, mode, encrypt, device_array, cuda_stream):
    ours, theirs = random_contexts(rng, mode, encrypt)
    for length in lengths(rng, 6):
        piece = rng.randbytes(length if mode == "CTR" else length // 16 * 16)
        stream = rng.choice((None, cuda_stream))
        kind = rng.randrange(3)
        if kind == 0:
            got = ours.update(device_array(piece, stream=stream)).tobytes()
        elif kind == 1:
            place = device_array(piece + b"beyond", stream=stream)
            data = type(place)(place.memory, (len(piece),), "|u1", stream=stream)
            assert ours.update_into(data, place) == len(piece)
            got = place.tobytes()
            assert got[len(piece):] == b"beyond"
            got = got[:len(piece)]
        else:
            got = ours.update(piece)
        assert got == theirs.update(piece)
    ours.finalize()


@pytest.mark.parametrize("mode", MODES)
def test_in_place(rng, mode, everything_on_device):
    for encrypt in True, False:
        ours, theirs = random_contexts(rng, mode, encrypt)
        for _ in range(2):
            buffer = bytearray(rng.randbytes(320))
            expected = theirs.update(bytes(buffer))
            assert ours.update_into(buffer, buffer) == 320
            assert buffer == expected


def test_arrays_of_numpy(rng):
    numpy = pytest.importorskip("numpy")
    ours, theirs = random_contexts(rng, "CTR", True)
    values = numpy.arange(7, dtype="f4")
    result = ours.update(values)
    assert isinstance(result, numpy.ndarray) and result.tobytes() == theirs.update(values.tobytes())


def test_reset_nonce(rng):
    key, first, second = (rng.randbytes(16) for _ in range(3))
    ours, _ = contexts("CTR", key, first, True)
    ours.update(b"some text")
    ours.reset_nonce(second)
    assert ours.update(b"text") == messages.context("CTR", key, second, True).update(b"text")
    with pytest.raises(ValueError, match="^nonce has 12 bytes: expected 16"):
        ours.reset_nonce(bytes(12))
    with pytest.raises(ValueError, match="mode is ECB: expected CTR"):
        contexts("ECB", key, None, True)[0].reset_nonce(second)


# ---- A device that fails ------------------------------------------------------------------------


class Failing:
    """libgpuaes, of which the device does a part of each call of gpuaes_aes() and then fails."""

    def __init__(self, real, status):
        self.real, self.status = real, status

    def __getattr__(self, name):
        return getattr(self.real, name)

    def gpuaes_aes(self, op, key, iv, source, out, count, flags, report):
        import ctypes

        report, begin = report._obj, count // 32 * 16
        if self.status == _library.BUSY:
            report.shards = 1
            report.shard[0].at, report.shard[0].bytes, report.shard[0].done = 0, count, 0
            report.shard[0].iv[:] = iv.raw
            return self.status
        report.shards = 2
        ivs = [iv.raw, None]
        if op == _library.CTR:
            number = int.from_bytes(iv.raw, "big") + begin // 16
            ivs[1] = (number % 2**128).to_bytes(16, "big")
        else:
            ivs[1] = ctypes.string_at(source + begin - 16, 16)
        for i in range(report.shards):
            state = ctypes.create_string_buffer(ivs[i], 16)
            at = i * begin
            assert self.real.gpuaes_aes(op, key, state, source + at, out + at, 32, 1, None) == _library.OK
            shard = report.shard[i]
            shard.at, shard.bytes, shard.done = at, (begin, count - begin)[i], 32
            shard.iv[:] = state.raw
        return self.status


@pytest.mark.parametrize("status", ["FAULT", "BUSY"])
@pytest.mark.parametrize("mode", MODES)
def test_cpu_finishes_what_a_device_left(rng, mode, status, monkeypatch, everything_on_device, device_array):
    device_array(b"")
    monkeypatch.setattr(ciphers, "lib", Failing(ciphers.lib, getattr(_library, status)))
    for encrypt in True, False:
        ours, theirs = random_contexts(rng, mode, encrypt)
        for length in 160, 176:
            text = rng.randbytes(length)
            assert ours.update(text) == theirs.update(text)
            buffer = bytearray(text)
            ours.update_into(buffer, buffer)
            assert buffer == theirs.update(text)


def test_output_to_which_a_device_may_still_write(rng, monkeypatch, everything_on_device, device_array):
    device_array(b"")
    failing = Failing(ciphers.lib, _library.UNDEFINED)
    monkeypatch.setattr(ciphers, "lib", failing)
    ours, theirs = random_contexts(rng, "CTR", True)
    text = rng.randbytes(160)
    for data, out in (text, bytearray(160)), (bytearray(text),) * 2:
        with pytest.raises(gpuaes.GpuaesError) as raised:
            ours.update_into(data, out)
        assert raised.value.status == _library.UNDEFINED
        theirs.update(text)  # what the device may write has keystream that no other data gets

    def once(*arguments):
        monkeypatch.setenv("GPUAES_POLICY", "cpu")
        return Failing.gpuaes_aes(failing, *arguments)

    failing.gpuaes_aes = once
    assert ours.update(text) == theirs.update(text)


# ---- Work that is broken off --------------------------------------------------------------------


class Interrupted(Exception):
    """Of a signal handler."""


class Interrupting:
    """A library whose functions of these names work, once, and then a signal comes."""

    def __init__(self, real, *names):
        self.real, self.names = real, list(names)

    def __getattr__(self, name):
        function = getattr(self.real, name)
        if name not in self.names:
            return function
        self.names.clear()

        def call(*arguments):
            function(*arguments)
            raise Interrupted

        return call


@pytest.mark.parametrize("where", ["cpu", "cpu by device", "device", "device and another stream"])
@pytest.mark.parametrize("encrypt", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_no_keystream_is_used_again_after_an_interrupt(rng, mode, encrypt, where, monkeypatch, device_array, request):
    """The output of the first piece is there, and the next continues behind it."""
    device_array(b"")
    stream = request.getfixturevalue("cuda_stream") if where == "device and another stream" else None
    monkeypatch.setenv("GPUAES_POLICY", "gpu" if where == "cpu by device" else "cpu")
    for count in (5, 16, 160) if mode == "CTR" else (16, 160):
        ours, theirs = random_contexts(rng, mode, encrypt)
        first, second = rng.randbytes(count), rng.randbytes(64)
        data, out = bytearray(first), bytearray(count)
        if where.startswith("device"):
            data, out = (device_array(each, stream=stream) for each in (first, out))
        expected = theirs.update(first)
        with monkeypatch.context() as patched:
            if mode == "CBC" and encrypt or where == "cpu" or count < 16 and not where.startswith("device"):
                crypto = _libcrypto._get()
                patched.setattr(crypto, "library", Interrupting(crypto.library, "EVP_CipherUpdate"))
            else:
                functions = Interrupting(ciphers.lib, "gpuaes_aes", "gpuaes_stream_binding_aes")
                patched.setattr(ciphers, "lib", functions)
            with pytest.raises(Interrupted):
                ours.update_into(data, out)
        if not where.startswith("device"):
            assert out == expected
        assert ours.update(second) == theirs.update(second)


@pytest.mark.parametrize("encrypt", [True, False])
@pytest.mark.parametrize("mode", ["ECB", "CBC"])
def test_bytes_that_wait_are_used_once(rng, mode, encrypt, monkeypatch):
    """An interrupt behind the block that they begin, with bytes that wait again."""
    ours, theirs = random_contexts(rng, mode, encrypt)
    texts = [rng.randbytes(count) for count in (5, 32, 64)]
    assert ours.update(texts[0]) == theirs.update(texts[0]) == b""
    update = ciphers.CpuCipher.update

    def interrupted(*arguments):
        update(*arguments)
        raise Interrupted

    with monkeypatch.context() as patched:
        patched.setattr(ciphers.CpuCipher, "update", interrupted)
        with pytest.raises(Interrupted):
            ours.update(texts[1][:14])  # of which 3 wait
    theirs.update(texts[1][:14])
    assert ours._waiting == texts[1][11:14]
    assert ours.update(texts[2]) == theirs.update(texts[2])


@pytest.mark.parametrize("where", ["cpu", "device"])
def test_closed_within_a_call(rng, where, monkeypatch, device_array):
    """As by a signal handler. The thread is there so that a call that hangs fails."""
    ours, theirs = random_contexts(rng, "CTR", True)
    text, results = rng.randbytes(64), []
    key = ours._expanded()
    data, patched, name = (text, ciphers.CpuCipher, "update") if where == "cpu" else (device_array(text), ciphers.lib, "gpuaes_stream_binding_aes")
    function = getattr(patched, name)

    def closed(*arguments):
        ours.close()
        assert any(bytes(key))
        return function(*arguments)

    monkeypatch.setattr(patched, name, closed)
    thread = threading.Thread(target=lambda: results.append(ours.update(data)), daemon=True)
    thread.start()
    thread.join(60)
    assert [each if where == "cpu" else each.tobytes() for each in results] == [theirs.update(text)]
    assert not any(bytes(key)) and ours._cpu is None
    with pytest.raises(ValueError, match="was closed"):
        ours.update(data)


@pytest.mark.parametrize("call", ["update", "update_into", "finalize", "reset_nonce"])
def test_calls_within_a_call_are_refused(rng, call, monkeypatch):
    """As by a signal handler. The thread is there so that a call that hangs fails."""
    ours, theirs = random_contexts(rng, "CTR", True)
    text, results, update = rng.randbytes(64), [], ciphers.CpuCipher.update
    arguments = {"update": (text,), "update_into": (text, bytearray(64)), "finalize": (), "reset_nonce": (bytes(16),)}[call]

    def called_again(*of_update):
        with pytest.raises(RuntimeError, match="within a call of the same context"):
            getattr(ours, call)(*arguments)
        update(*of_update)

    with monkeypatch.context() as patched:
        patched.setattr(ciphers.CpuCipher, "update", called_again)
        thread = threading.Thread(target=lambda: results.append(ours.update(text)), daemon=True)
        thread.start()
        thread.join(60)
    assert results == [theirs.update(text)]
    assert ours.update(text) == theirs.update(text)


def test_an_interrupt_leaves_no_lock(rng):
    """Wherever in a call the handler of a signal raises."""
    ours, _ = random_contexts(rng, "CTR", True)

    def interrupt(*_):
        raise Interrupted

    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(300):
            with pytest.raises(Interrupted):
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 2e-4))
                while True:
                    ours.update(b"")
            assert not ours._lock._is_owned()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


class Refusing:
    """libgpuaes, which finds memory of a device that it cannot use."""

    def __init__(self, real):
        self.real = real

    def __getattr__(self, name):
        return getattr(self.real, name)

    def gpuaes_stream_binding_aes(self, *_):
        return _library.BAD_RANGE


@pytest.mark.parametrize("mode, encrypt", [("CTR", True), ("CTR", False), ("ECB", True), ("ECB", False), ("CBC", False)])
def test_what_is_refused_changes_nothing(rng, mode, encrypt, monkeypatch, device_array):
    ours, theirs = random_contexts(rng, mode, encrypt)
    for turn in range(2):  # the second time, a block of CBC lies on the device
        text = rng.randbytes(48)
        with monkeypatch.context() as patched:
            patched.setenv("GPUAES_POLICY", "fast")
            with pytest.raises(ValueError, match="GPUAES_POLICY is 'fast'"):
                ours.update(text)
        assert ours.update(text) == theirs.update(text)
        data = device_array(text)
        with monkeypatch.context() as patched:
            patched.setattr(ciphers, "lib", Refusing(ciphers.lib))
            with pytest.raises(gpuaes.GpuaesError, match="running " + mode):
                ours.update(data)
        assert ours.update(data).tobytes() == theirs.update(text)


# ---- Errors -----------------------------------------------------------------------------------


def test_wrong_objects():
    with pytest.raises(ValueError, match="^key has 5 bytes"):
        algorithms.AES(bytes(5))
    with pytest.raises(ValueError, match="^nonce has 12 bytes: expected 16"):
        modes.CTR(bytes(12))
    with pytest.raises(ValueError, match="^initialization_vector has 17 bytes: expected 16"):
        modes.CBC(bytes(17))
    with pytest.raises(TypeError, match="^algorithm is"):
        Cipher("AES", modes.ECB())
    with pytest.raises(TypeError, match="^mode is"):
        Cipher(algorithms.AES(bytes(16)), "ECB")
    assert algorithms.AES(bytes(24)).key_size == 192


def test_end_of_a_message(rng, device_array):
    ours, _ = random_contexts(rng, "CBC", True)
    ours.update(b"12345")
    with pytest.raises(ValueError, match="ends with 5 bytes of a block"):
        ours.finalize()
    with pytest.raises(ValueError, match="^5 bytes of a block wait"):
        ours.update(device_array(bytes(16)))
    ours.update(bytes(11))
    with pytest.raises(ValueError, match="^data has 15 bytes in memory of device 0: expected a multiple of 16 in CBC"):
        ours.update(device_array(bytes(15)))
    assert ours.finalize() == b""
    for call in (lambda: ours.update(b""), lambda: ours.update_into(b"", bytearray()), ours.finalize):
        with pytest.raises(gpuaes.AlreadyFinalized):
            call()


def test_wrong_buffers(rng, device_array):
    ours, _ = random_contexts(rng, "CTR", True)
    with pytest.raises(ValueError, match="^buf has 4 bytes: expected 5 or more"):
        ours.update_into(b"12345", bytearray(4))
    with pytest.raises(ValueError, match="^buf .*read-only"):
        ours.update_into(b"12345", bytes(5))
    with pytest.raises(ValueError, match="^buf is in memory of device 0: expected memory of the host"):
        ours.update_into(b"12345", device_array(bytes(5)))
    buffer = memoryview(bytearray(64))
    with pytest.raises(ValueError, match="^buf overlaps"):
        ours.update_into(buffer[:32], buffer[1:])
    blocks, _ = random_contexts(rng, "ECB", True)
    blocks.update(b"1")
    with pytest.raises(ValueError, match="^buf overlaps"):  # what waits would push the text on
        blocks.update_into(buffer, buffer)


def test_keys_are_overwritten_with_the_last_object():
    algorithm = algorithms.AES(bytes(range(16)))
    key = algorithm._key.buffer
    context = Cipher(algorithm, modes.ECB()).encryptor()
    schedule = context._expanded()
    del algorithm
    assert any(key.raw) and any(bytes(schedule))
    del context
    assert not any(key.raw) and not any(bytes(schedule))


def test_key_in_the_place_of_the_algorithm_is_not_repeated():
    with pytest.raises(TypeError, match="^algorithm is bytes: expected gpuaes.ciphers.AES$"):
        Cipher(b"a key of 16 byte", modes.CTR(bytes(16)))


def test_names_are_where_cryptography_has_them():
    from gpuaes.ciphers.aead import AESGCM
    from gpuaes.ciphers.algorithms import AES
    from gpuaes.ciphers.modes import CBC, CTR, ECB

    assert AESGCM is gpuaes.aead.AESGCM
    assert (AES, CBC, CTR, ECB) == tuple(getattr(gpuaes.ciphers, name) for name in ("AES", "CBC", "CTR", "ECB"))
