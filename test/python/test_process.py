"""The package in a process: threads, forks, collection in mid-work, devices that are lost or absent.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import ctypes
import functools
import gc
import threading
import weakref

import pytest

gpuaes = pytest.importorskip("gpuaes", exc_type=ImportError)
messages = pytest.importorskip("messages")
import gpuaes.base64  # noqa: E402
from gpuaes import InvalidTag, _buffers, _driver, _gcm, _library  # noqa: E402
from gpuaes.aead import AESGCM  # noqa: E402
from gpuaes.batch import Batch, Pieces  # noqa: E402
from gpuaes.ciphers import Cipher, algorithms, modes  # noqa: E402
from gpuaes.random import Generator  # noqa: E402


def test_devices_and_statistics(rng, device_array):
    found = gpuaes.start()
    assert found and found == gpuaes.devices() and gpuaes.reason() == ""
    assert found[0].ordinal == 0 and found[0].name and found[0].multiprocessors > 0
    assert gpuaes.start([0])[0] == found[0]
    with pytest.raises(gpuaes.GpuaesError, match=r"devices has \[63\], which cannot be used"):
        gpuaes.start([0, 63])
    assert gpuaes.start([messages.Index(0)]) == found
    for wrong in [64], [-1], ["cuda"], [0, "cuda"], [0.0], [], 0:
        with pytest.raises((TypeError, ValueError), match="^devices"):
            gpuaes.start(wrong)
    before = gpuaes.statistics()
    Cipher(algorithms.AES(bytes(16)), modes.ECB()).encryptor().update(device_array(bytes(32)))
    assert gpuaes.statistics().bytes == before.bytes + 32


def in_threads(count, work):
    """Runs work(number) in each of several threads at once; what one raises is raised."""
    errors, begin = [], threading.Barrier(count)

    def body(number):
        try:
            begin.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=body, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_share_an_object_and_a_stream(rng, device_array, cuda_stream):
    key = rng.randbytes(32)
    texts = [[rng.randbytes(rng.randrange(600)) for _ in range(6)] for _ in range(4)]
    aes = AESGCM(key)

    def work(number):
        for i, text in enumerate(texts[number]):
            nonce = bytes([number, i]) * 6
            expected = messages.sealed(key, nonce, text, b"aad")
            data = device_array(text, stream=cuda_stream)
            sealed = aes.encrypt(nonce, data, b"aad")
            assert sealed.tobytes() == expected
            assert aes.decrypt(nonce, sealed, b"aad").tobytes() == text
            assert aes.encrypt(nonce, text, b"aad") == expected
            with pytest.raises(InvalidTag):
                aes.decrypt(nonce, sealed, b"")

    in_threads(4, work)


def test_more_work_at_once_than_a_stream_has_slots(rng, device_array, cuda_stream):
    key, text = rng.randbytes(32), rng.randbytes(64)
    aes = AESGCM(key)
    sealed = [aes.encrypt(bytes([i]) * 12, device_array(text, stream=cuda_stream)) for i in range(100)]
    assert [each.tobytes() for each in sealed] == [messages.sealed(key, bytes([i]) * 12, text) for i in range(100)]


def test_collection_in_mid_work(rng, device_array, cuda_stream):
    """Objects, inputs and keys go while the stream still has work with them."""
    expected, results = [], []
    for i in range(10):
        key, text = rng.randbytes(16), rng.randbytes(500)
        results.append(AESGCM(key).encrypt(bytes(12), device_array(text, stream=cuda_stream)))
        expected.append(messages.sealed(key, bytes(12), text))
        encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        results.append(encryptor.update(device_array(text, stream=cuda_stream)))
        expected.append(messages.context("CTR", key, bytes(16), True).update(text))
        del encryptor
        gc.collect()
    assert [each.tobytes() for each in results] == expected
    results.clear()
    gc.collect()
    while _driver._retired:  # all is freed once the stream has passed it
        _driver.reap()


@pytest.mark.parametrize("work", ["queue", "call", "random"])
def test_arrays_are_kept_until_work_is_done(rng, device_array, monkeypatch, work):
    """Those of a package whose allocator may not follow the order of streams."""
    data = device_array(rng.randbytes(1000))
    kept = weakref.ref(data)
    if work == "random":
        Generator().random_(data)
    else:
        if work == "call":
            monkeypatch.setattr(_gcm, "QUEUE_MOST", -1)
        AESGCM(rng.randbytes(16)).encrypt(bytes(12), device_array(bytes(984)), out=data)
    del data
    assert kept()
    while _driver._retired:
        _driver.reap()
    assert not kept()


def test_streams_that_come_and_go(rng, device_array):
    import device_arrays

    key, text = rng.randbytes(16), rng.randbytes(100)
    aes = AESGCM(key)
    for i in range(_driver._LANES_MOST + 8):
        with device_arrays.new_stream() as stream:
            sealed = aes.encrypt(i.to_bytes(12, "big"), device_array(text, stream=stream))
            assert sealed.tobytes() == messages.sealed(key, i.to_bytes(12, "big"), text)
    assert len(_driver._lanes) <= _driver._LANES_MOST


def test_keys_are_overwritten_when_their_stream_is_gone(rng, device_array, monkeypatch):
    import device_arrays

    keys, seed = [rng.randbytes(32) for _ in range(3)], rng.randbytes(32)
    generator = Generator(seed)
    with device_arrays.new_stream() as stream:
        data = [device_array(bytes(100), stream=stream)]
        batch = Batch("GCM", keys, data, encrypt=True, ivs=[bytes(12)], key_numbers=[2])
        batch.queue()
        batch.check()
        buffer, table = batch._buffer, batch._table
        assert device_arrays.driver().read(buffer.device + table, 96) == b"".join(keys)
        assert ctypes.string_at(buffer.host + table, 96) == b"".join(keys)
        generator.random_(device_array(bytes(100), stream=stream))
        (cell, _) = generator._on_device[0]
        assert device_arrays.driver().read(cell, 32) == seed
        slots = _driver._lanes[0, stream]._slots
        assert not any(seed in bytes(slot.buffer) for slot in slots)
        _driver._lanes[0, stream].wait("waiting for the stream")
    while _driver._retired:
        _driver.reap()
    batch.close()
    generator.close()
    while _driver._retired:
        _driver.reap()
    assert device_arrays.driver().read(buffer.device + table, 96) == ctypes.string_at(buffer.host + table, 96) == bytes(96)
    assert device_arrays.driver().read(cell, 32) == bytes(32)
    assert _driver.context_of(0).cell() == cell


def test_memory_of_a_batch_is_kept_for_others(rng, device_array, monkeypatch):
    """To allocate takes time, and to free waits for all work of the device."""

    key, data = rng.randbytes(16), device_array(bytes(64))
    ivs = [bytes(16)] * 2

    def run(pieces):
        with contextlib.closing(Batch("CTR", key, pieces, encrypt=True, ivs=ivs, out=pieces)) as batch:
            batch.queue()
            batch.check()
            return batch._buffer

    first = run(Pieces(data, [0, 32], 16))
    while _driver._retired:
        _driver.reap()
    assert first in _buffers._kept
    monkeypatch.setattr(_buffers.lib, "gpuaes_pinned_alloc", None)
    run(Pieces(data, [16, 0], 16))


def test_memory_that_is_kept_has_a_limit(device_array, monkeypatch):
    context = _driver.context_of(0)
    with monkeypatch.context() as patched:
        patched.setattr(_buffers, "_kept", kept := [])
        patched.setattr(_buffers, "_KEPT_BYTES", 200_000)
        small, other, large, larger = (_buffers.take(context, count) for count in (1, 65_537, 150_000, 200_001))
        assert [each.bytes for each in (small, other, large, larger)] == [65_536, 131_072, 196_608, 262_144]
        for buffer in larger, small, other:
            _buffers.give(buffer, 0, 0, True)
        assert kept == [small, other]
        _buffers.give(large, 0, 0, True)  # in the place of older ones
        assert kept == [large]
        # Not for a request of much less, nor for one of more.
        for count in 1, 196_609:
            another = _buffers.take(context, count)
            assert kept == [large] and another is not large
            _buffers._free(another)
        assert _buffers.take(context, 100_000) is large and not kept
        _buffers.give(large, 0, 0, True)
        allocate, calls = _driver.Context.allocate, []

        def full(context, count):
            calls.append(count)
            if len(calls) == 1:
                raise gpuaes.GpuaesError("no memory")
            return allocate(context, count)

        patched.setattr(_driver.Context, "allocate", full)
        small = _buffers.take(context, 1)
        assert calls == [65_536, 65_536] and not kept
        _buffers.give(small, 0, 0, False)
        assert not kept


def test_signal_in_mid_call(device_array, monkeypatch):
    """Its handler may make a batch."""
    context, taken = _driver.context_of(0), []
    with monkeypatch.context() as patched:

        class Interrupted(list):
            def remove(self, buffer):
                if not taken:
                    taken.append(None)
                    taken.append(_buffers.take(context, 1))
                super().remove(buffer)

        patched.setattr(_buffers, "_kept", Interrupted([_buffers.take(context, 1)]))
        taken.append(_buffers.take(context, 1))
        assert taken[1].host != taken[2].host
        for buffer in taken[1:]:
            _buffers._free(buffer)


@pytest.mark.parametrize("named_by", ["array", "cupy"])
def test_streams_that_are_gone_are_left_alone(named_by, rng, device_array, monkeypatch, request):
    import device_arrays

    used, driver = [], _driver.cuda()

    class Watched:
        def __getattr__(self, name):
            def call(*arguments):
                used.extend(name for each in arguments if getattr(each, "value", each) == stream)
                return getattr(driver, name)(*arguments)

            return call

    aes, data = AESGCM(rng.randbytes(32)), rng.randbytes(500)
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(device_arrays.new_stream())
        array = functools.partial(device_array, data, stream=stream)
        if named_by == "cupy":
            cupy = request.getfixturevalue("cupy")
            stack.enter_context(cupy.cuda.ExternalStream(stream))
            array = functools.partial(cupy.asarray, list(data), "u1")
        encryptor = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16))).encryptor()
        results = [aes.encrypt(bytes(12), array()), encryptor.update(array()), gpuaes.base64.encode(array())]
    monkeypatch.setattr(_driver, "_cuda", Watched())
    monkeypatch.setattr(_library.lib, "gpuaes_stream_binding_wait", lambda binding, _: used.append("wait"))
    lane = _driver._lanes[0, stream]
    del results, encryptor
    aes.close()
    gc.collect()
    while _driver._retired:
        _driver.reap()
    lane.wait_at_end()
    del lane
    _driver._lanes.clear()  # as at the end of the process
    gc.collect()
    while _driver._retired:
        _driver.reap()
    assert used == []


def test_events_of_a_call_within_a_call(device_array, monkeypatch):
    """One for both, behind the outer call."""
    import device_arrays

    with device_arrays.new_stream() as stream:
        lane, made, driver = _driver.lane(0, stream), [], _driver.cuda()

        class Watched:
            def __getattr__(self, name):
                made.extend([name] * (name == "cuEventCreate"))
                return getattr(driver, name)

        monkeypatch.setattr(_driver, "_cuda", Watched())
        with lane:
            with lane:
                pass
            assert lane.end() is None and made == []
        assert len(made) == 1
        lane.end().wait()


def test_call_that_is_interrupted_at_its_end(device_array, monkeypatch):
    import device_arrays

    def interrupted(*_):
        raise KeyboardInterrupt

    with device_arrays.new_stream() as stream:
        lane = _driver.lane(0, stream)
        with monkeypatch.context() as patched:
            patched.setattr(_driver._Event, "__init__", interrupted)
            with pytest.raises(KeyboardInterrupt):
                with lane:
                    pass
        assert lane.end().is_passed()

        def take_turn(_):
            assert lane.lock.acquire(blocking=False)
            lane.lock.release()

        in_threads(1, take_turn)


# ---- In processes of their own ------------------------------------------------------------------

FORKS = """
import gc, os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork while threads run, which is what is tried
import device_arrays, gpuaes, messages
from gpuaes.aead import AESGCM
from gpuaes.ciphers import Cipher, algorithms, modes
os.environ["GPUAES_MIN_BYTES"] = "0"
gpuaes.start()
key, text = os.urandom(32), os.urandom(5000)
aes, data = AESGCM(key), device_arrays.DeviceArray.of(text)
on_device = aes.encrypt(bytes(12), data)
context = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
first = context.update(data).tobytes()
twice = messages.context("CTR", key, bytes(16), True).update(2 * text)
child = os.fork()
if child == 0:
    code = 1
    try:
        assert aes.encrypt(bytes(12), text) == messages.sealed(key, bytes(12), text)
        assert context.update(text) == twice[5000:]
        code = 2
        try:
            aes.encrypt(bytes(12), data)
        except gpuaes.GpuaesError:
            code = 3
        del on_device, data
        gc.collect()
        if code == 3 and gpuaes.devices() == [] and gpuaes.reason():
            code = 0
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert on_device.tobytes() == messages.sealed(key, bytes(12), text)
assert first + context.update(text) == twice
print("right")
"""


def test_forked_child_uses_the_cpu(device_array):
    device_array(b"")
    assert messages.run_python(FORKS) == "right\n"


LOST = """
import ctypes, os
import device_arrays, messages
import gpuaes
from gpuaes.aead import AESGCM
from gpuaes.ciphers import Cipher, algorithms, modes
device_arrays.Driver.free = lambda *_: None  # it would complain of the lost device
data = device_arrays.DeviceArray.of(bytes(4096))
key, text = os.urandom(32), os.urandom(50000)
os.environ["GPUAES_MIN_BYTES"] = "0"
gpuaes.start()
hooks = None
for name in "libgpuaes.so.1", "libcuda.so.1":
    hooks = hooks or getattr(ctypes.CDLL(name), "emulator_configure", None)
if hooks is None:
    print("SKIP"); raise SystemExit
hooks(f"lost={sys.argv[1]}".encode())
aes = AESGCM(key)
for _ in range(2):  # the second call finds the device gone
    buffer = bytearray(text) + bytes(16)
    aes.encrypt(bytes(12), memoryview(buffer)[:-16], b"aad", out=buffer)
    assert buffer == messages.sealed(key, bytes(12), text, b"aad")
    aes.decrypt(bytes(12), buffer, b"aad", out=memoryview(buffer)[:-16])
    assert buffer[:-16] == text
    for mode in "CTR", "ECB", "CBC":
        cipher = Cipher(algorithms.AES(key), modes.ECB() if mode == "ECB" else getattr(modes, mode)(bytes(16)))
        assert cipher.decryptor().update(text) == messages.context(mode, key, bytes(16), False).update(text)
try:
    aes.encrypt(bytes(12), data)
except gpuaes.GpuaesError as error:
    print("refused:", error)
assert gpuaes.devices() == []
print("right")
"""


@pytest.mark.parametrize("call", ["launch_kernel:1", "launch_kernel:2", "stream_query:1", "stream_query:2"])
def test_lost_device(call, device_array):
    device_array(b"")
    said = messages.run_python(LOST, call)
    if said == "SKIP\n":
        pytest.skip("the driver does not fail on demand")
    assert "refused: " in said and said.endswith("right\n")


NO_DEVICE = """
import os
import messages, gpuaes
from gpuaes.aead import AESGCM
key, text = os.urandom(16), os.urandom(3000000)
assert AESGCM(key).encrypt(bytes(12), text) == messages.sealed(key, bytes(12), text)
try:
    gpuaes.start()
except gpuaes.GpuaesError as error:
    print("refused:", error)
assert gpuaes.reason() and gpuaes.devices() == []
assert AESGCM(key).encrypt(bytes(12), text) == messages.sealed(key, bytes(12), text)
os.environ["GPUAES_POLICY"] = "gpu"
try:
    AESGCM(key).encrypt(bytes(12), text)
except gpuaes.GpuaesError as error:
    print("refused:", error)
"""


def test_no_device():
    said = messages.run_python(NO_DEVICE, GPUAES_EMULATOR="devices=0", CUDA_VISIBLE_DEVICES="", GPUAES_POLICY="auto")
    assert said.count("refused: starting the devices: ") == 2


def test_library_that_cannot_be_loaded(tmp_path):
    wrong = tmp_path / "libgpuaes.so.1"
    wrong.write_bytes(b"no library")
    for path in wrong, tmp_path / "absent.so", "libc.so.6":
        said = messages.run_python(
            "try:\n    import gpuaes\nexcept ImportError as error:\n    print(error)", GPUAES_LIBRARY=str(path)
        )
        assert f"tried '{path}', which GPUAES_LIBRARY names" in said and "Install libgpuaes" in said


ENDS = """
import device_arrays, gpuaes
from gpuaes.aead import AESGCM
from gpuaes.batch import Batch
from gpuaes.ciphers import Cipher, algorithms, modes
data = device_arrays.DeviceArray.of(bytes(1 << 14))
aes = AESGCM(bytes(16))
results = [aes.encrypt(bytes(12), data) for _ in range(5)]
context = Cipher(algorithms.AES(bytes(16)), modes.CBC(bytes(16))).decryptor()
results.append(context.update(data))
batch = Batch("CTR", bytes(16), [data], encrypt=True, ivs=[bytes(16)])
batch.queue()
print("done")
"""


def test_process_that_ends_in_mid_work(device_array):
    device_array(b"")
    assert messages.run_python(ENDS) == "done\n"


BUSY = """
import ctypes, os, weakref
import device_arrays
from gpuaes import _driver
from gpuaes.ciphers import Cipher, algorithms, modes
hooks = getattr(ctypes.CDLL("libgpuaes.so.1"), "emulator_configure", None)
if hooks is None:
    print("SKIP"); raise SystemExit
device_arrays.Driver.free = lambda *_: None  # it would wait for the stream
reap, _driver.reap = _driver.reap, lambda: None  # the second call finds the first at work
encryptor = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16))).encryptor()
with device_arrays.new_stream() as stream:
    first, second = (device_arrays.DeviceArray.of(bytes(160), stream=stream) for _ in range(2))
    encryptor.update_into(first, first)
    first.tobytes()  # the stream has passed the call
    hooks(b"hang=1")
    encryptor.update_into(second, second)
    references = weakref.ref(first), weakref.ref(second)
    del first, second
    for _ in range(len(_driver._retired) + 1):
        reap()
    print(*("kept" if each() else "gone" for each in references), flush=True)
    os._exit(0)
"""


def test_what_a_stream_has_passed_is_let_go_of_while_it_is_busy(device_array):
    """The stream never comes to the end of what was queued later."""
    device_array(b"")
    said = messages.run_python(BUSY)
    if said == "SKIP\n":
        pytest.skip("the driver does not hang on demand")
    assert said == "gone kept\n"


QUEUED = """
import ctypes, os
import device_arrays
from gpuaes.aead import AESGCM
from gpuaes.ciphers import Cipher, algorithms, modes
hooks = getattr(ctypes.CDLL("libgpuaes.so.1"), "emulator_configure", None)
if hooks is None:
    print("SKIP"); raise SystemExit
device_arrays.Driver.free = lambda *_: None  # it would wait for the stream
aes = AESGCM(bytes(16))
aes.encrypt(bytes(12), device_arrays.DeviceArray.of(bytes(32))).tobytes()
with device_arrays.new_stream() as stream:
    data = device_arrays.DeviceArray.of(bytes(32), stream=stream)
    hooks(b"hang=1")
    Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16))).encryptor().update_into(data, data)
    for i in range(32):  # as many as there are slots
        aes.encrypt(i.to_bytes(12, "big"), data)
    print("queued", flush=True)
    os._exit(0)
"""


def test_messages_are_queued_behind_work_that_does_not_end(device_array):
    """Those that have slots of their own wait for nothing."""
    device_array(b"")
    said = messages.run_python(QUEUED)
    if said == "SKIP\n":
        pytest.skip("the driver does not hang on demand")
    assert said == "queued\n"


CAPTURED = """
import ctypes, gc
import gpuaes
import device_arrays
from gpuaes import _driver
driver, stream, graph = device_arrays.driver(), ctypes.c_void_p(), ctypes.c_void_p()
gpuaes.start([0])
made = gpuaes.DeviceMemory(0, 32, 0)
with driver.current():
    if not hasattr(driver.library, "cuStreamBeginCapture_v2"):
        print("SKIP"); raise SystemExit
    driver.call("cuStreamCreate", ctypes.byref(stream), 0)
    driver.call("cuStreamBeginCapture_v2", stream, 2)
    del made
    gc.collect()
    _driver.reap()
    driver.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    driver.call("cuGraphDestroy", graph)
    driver.call("cuStreamDestroy_v2", stream)
while _driver._retired:
    _driver.reap()
print("right")
"""


def test_memory_that_is_freed_while_a_stream_is_captured(device_array):
    """One that the legacy stream, on which the memory was used, would wait for: the capture goes on."""
    device_array(b"")
    said = messages.run_python(CAPTURED)
    if said == "SKIP\n":
        pytest.skip("the driver has no cuStreamBeginCapture")
    assert said == "right\n"


PRIVATE = """
import os
from gpuaes.aead import AESGCM
import messages
assert AESGCM(bytes(16)).encrypt(bytes(12), b"text") == messages.sealed(bytes(16), bytes(12), b"text")
"""


def test_configuration_of_the_system_has_no_part(tmp_path):
    """One in which no provider has AES."""
    (tmp_path / "openssl.cnf").write_text(
        "openssl_conf = init\n[init]\nproviders = providers\n[providers]\nnull = null\n[null]\nactivate = 1\n"
    )
    lines = PRIVATE.replace("import messages\n", "").replace(
        'messages.sealed(bytes(16), bytes(12), b"text")', repr(messages.sealed(bytes(16), bytes(12), b"text"))
    )
    messages.run_python(lines, OPENSSL_CONF=str(tmp_path / "openssl.cnf"))


DEVICES = """
import ctypes, gpuaes, messages
from gpuaes import _driver
from gpuaes.aead import AESGCM
driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
assert driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
if count.value < 2:
    print("SKIP")
    raise SystemExit
wanted = [0, 1] if sys.argv[1] == "both" else [0]
assert [device.ordinal for device in gpuaes.start(wanted)] == wanted
aes = AESGCM(bytes(16))
for ordinal in 0, 1:
    data = gpuaes.DeviceMemory(ordinal, 32, 0)
    with _driver.lane(ordinal, 0) as lane:
        lane.fill(data.address, 7, 32)
    sealed = aes.encrypt(bytes(12), data)
    assert sealed.device == ordinal
    assert sealed.tobytes() == messages.sealed(bytes(16), bytes(12), bytes([7] * 32))
    try:
        aes.encrypt(bytes(12), data, out=gpuaes.DeviceMemory(1 - ordinal, 48, 0))
    except ValueError as error:
        print("refused:", error)
"""


@pytest.mark.parametrize("which", ["both", "first"])
def test_two_devices(which, device_array):
    device_array(b"")
    said = messages.run_python(DEVICES, which, GPUAES_EMULATOR="devices=2").splitlines()
    if said == ["SKIP"]:
        pytest.skip("there are not two devices")
    # Where one was started, the library takes the other in use when there is work for it.
    assert said == [
        f"refused: out is in memory of device {1 - i}: expected memory of device {i}, where the data is" for i in (0, 1)
    ]


POOLS = """
import device_arrays, gpuaes, messages
from gpuaes import Batch, _driver
from gpuaes.aead import AESGCM
gpuaes.start([0])
key, aes, texts = bytes(range(32)), AESGCM(bytes(range(32))), [bytes([i]) * (100 + i) for i in range(200)]
for i, count in enumerate((100, 16 << 10, (16 << 10) + 1, 300000)):
    text, nonce = bytes(count), i.to_bytes(12, "big")
    sealed = aes.encrypt(nonce, device_arrays.DeviceArray.of(text))
    assert sealed.tobytes() == messages.sealed(key, nonce, text)
    assert aes.decrypt(nonce, sealed).tobytes() == text
ivs = [i.to_bytes(12, "little") for i in range(len(texts))]
data = [device_arrays.DeviceArray.of(text) for text in texts]
batch = Batch("GCM", key, data, encrypt=True, ivs=ivs)
batch.queue()
batch.check()
tags = batch.tags.tobytes()
for i, (text, out) in enumerate(zip(texts, batch.out)):
    assert out.tobytes() + tags[16 * i : 16 * i + 16] == messages.sealed(key, ivs[i], text)
print(_driver.context_of(0).has_pools, bool(batch._temp))
"""


@pytest.mark.parametrize("pools", [0, 1])
def test_temporary_memory(pools, device_array):
    """Also where the driver has no memory pools."""
    device_array(b"")
    if not pools and not hasattr(_library.lib, "emulator_configure"):
        pytest.skip("the driver has what it has")
    said = messages.run_python(POOLS, GPUAES_EMULATOR=f"pools={pools}").split()
    assert said == [str(bool(pools)), str(not pools)]
