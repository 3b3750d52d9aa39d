"""Objects that own memory, a key or a handle: they can be neither copied nor pickled, and nothing works with what a
finalizer has given up.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import copy
import gc
import pickle

import pytest

gpuaes = pytest.importorskip("gpuaes", exc_type=ImportError)
messages = pytest.importorskip("messages")
from gpuaes import _driver, _memory  # noqa: E402
from gpuaes._owner import Owner, Unique  # noqa: E402
from gpuaes.aead import AESGCM  # noqa: E402
from gpuaes.batch import Batch  # noqa: E402
from gpuaes.ciphers import AES, CBC, CTR, ECB, Cipher  # noqa: E402
from gpuaes.formats.tink import StreamingAead  # noqa: E402
from gpuaes.random import Generator  # noqa: E402

KEY, IV, TEXT = bytes(range(32)), bytes(range(16)), bytes(range(96))
NONCE = IV[:12]


class Case:
    """An object that has done some work, and more that it can do: what work() returns is `right`."""

    def __init__(self, made, work, right):
        self.made, self.work, self.right = made, work, right


def aesgcm(device_array):
    aes = AESGCM(KEY)
    aes.encrypt(bytes(12), TEXT)
    return Case(aes, lambda: aes.encrypt(NONCE, TEXT), messages.sealed(KEY, NONCE, TEXT))


def aesgcm_on_device(device_array):
    aes, data = AESGCM(KEY), device_array(TEXT)
    aes.encrypt(bytes(12), data)
    return Case(aes, lambda: aes.encrypt(NONCE, data).tobytes(), messages.sealed(KEY, NONCE, TEXT))


def cipher(device_array):
    made = Cipher(AES(KEY), CTR(IV))
    return Case(made, lambda: made.encryptor().update(TEXT), messages.context("CTR", KEY, IV, True).update(TEXT))


def context(mode, encrypt, where):
    def make(device_array):
        ours = Cipher(AES(KEY), mode).encryptor() if encrypt else Cipher(AES(KEY), mode).decryptor()
        theirs = messages.context(mode.name, KEY, IV, encrypt)
        theirs.update(TEXT)
        data = device_array(TEXT) if where == "device" else TEXT
        ours.update(data)
        return Case(ours, lambda: bytes(as_bytes(ours.update(data))), theirs.update(TEXT))

    return make


def generator(device_array):
    made, other = Generator(KEY), Generator(KEY)
    made.bytes(10), other.bytes(10)
    return Case(made, lambda: made.bytes(20) + made.state(), other.bytes(20) + other.state())


def generator_on_device(device_array):
    made, data = Generator(KEY), device_array(bytes(64))
    made.random_(data)
    return Case(made, lambda: made.random_(data).tobytes(), Generator(KEY).bytes(128)[64:])


def batch(device_array):
    made = Batch("CTR", KEY, [device_array(TEXT)], encrypt=True, ivs=[IV])
    made.queue()
    made.check()

    def work():
        made.queue()
        made.check()
        return made.out[0].tobytes()

    return Case(made, work, messages.context("CTR", KEY, IV, True).update(TEXT))


def batch_of_dlpack(device_array):
    import device_arrays

    made = Batch("CTR", KEY, [device_arrays.DlpackArray.of(TEXT)], encrypt=True, ivs=[IV])

    def work():
        made.queue()
        made.check()
        return made.out[0].tobytes()

    return Case(made, work, messages.context("CTR", KEY, IV, True).update(TEXT))


def device_memory(device_array):
    made = AESGCM(KEY).encrypt(NONCE, device_array(TEXT))
    right = messages.sealed(KEY, NONCE, TEXT)
    return Case(made, lambda: made.tobytes() + AESGCM(KEY).decrypt(NONCE, made).tobytes(), right + TEXT)


def as_bytes(result):
    return result if isinstance(result, bytes) else result.tobytes()


CASES = {
    "AESGCM": aesgcm,
    "AESGCM on a device": aesgcm_on_device,
    "Cipher": cipher,
    **{
        f"{mode.name} {'encryption' if encrypt else 'decryption'} on the {where}": context(mode, encrypt, where)
        for mode in (CTR(IV), CBC(IV), ECB())
        for encrypt in (True, False)
        for where in ("host", "device")
    },
    "Generator": generator,
    "Generator on a device": generator_on_device,
    "Batch": batch,
    "Batch of DLPack": batch_of_dlpack,
    "DeviceMemory": device_memory,
}


@pytest.fixture(params=CASES)
def make(request, device_array):
    return lambda: CASES[request.param](device_array)


def test_objects_are_not_copied(make):
    case = make()
    # A Cipher owns nothing itself: a copy has the same AES.
    ways = [copy.copy] * (not isinstance(case.made, Cipher)) + [copy.deepcopy, pickle.dumps]
    for way in ways:
        with pytest.raises(TypeError, match=r"^gpuaes\.[\w.]+ can be neither copied nor pickled: \w+"):
            way(case.made)
    gc.collect()
    assert case.work() == case.right


SHOWN = {
    "AESGCM": "<gpuaes.aead.AESGCM: key of 256 bits>",
    "Cipher": "<gpuaes.ciphers.Cipher: AES-256-CTR>",
    "CBC decryption on the host": "<gpuaes.ciphers.CipherContext: AES-256-CBC, decryption>",
    "Generator": "<gpuaes.random.Generator: any device, not forward secure>",
    "Batch": "<gpuaes.batch.Batch: 1 messages, CTR encryption, device 0>",
    "DeviceMemory": "<gpuaes.DeviceMemory: 112 bytes on device 0>",
}


@pytest.mark.parametrize("name", SHOWN)
def test_objects_show_themselves_without_secrets(name, device_array):
    made = CASES[name](device_array).made
    assert repr(made) == SHOWN[name]
    if name != "Cipher":
        made.close()
        assert repr(made) == SHOWN[name].partition(":")[0] + ": closed>"
        assert type(made).__name__ in repr(type(made).__new__(type(made)))  # as a debugger shows one that is being made
    assert repr(AES(KEY)) == "<gpuaes.ciphers.algorithms.AES: key of 256 bits>"
    aead = StreamingAead(KEY)
    assert repr(aead) == "<gpuaes.formats.tink.StreamingAead: AES256_GCM_HKDF, sha256, segments of 1048576 bytes>"
    with pytest.raises(TypeError, match="StreamingAead can be neither copied nor pickled: make another of the key"):
        pickle.dumps(aead)


def owners_of(made):
    """The objects of the package that an object refers to, and that own something; but for lanes, which all objects on
    a stream share."""
    found, look = [], [made]
    while look:
        each = look.pop()
        if isinstance(each, _driver.Lane) or any(each is other for other in found):
            continue
        if isinstance(each, Unique) or type(each).__module__.startswith("gpuaes.") or isinstance(each, (dict, list, tuple)):
            found.append(each)
            look.extend(gc.get_referents(each))
    return [each for each in found if isinstance(each, Owner)]


def test_what_was_given_up_is_not_used(make):
    """Of the objects in a reference cycle, finalizers run in any order: each is the first in turn."""
    case = make()
    owners = owners_of(case.made)
    assert owners
    refused = 0
    for number in range(len(owners)):
        case = make()
        owners_of(case.made)[number].__del__()
        try:
            assert case.work() == case.right
        except ValueError as error:
            assert "was closed, or is being collected" in str(error)
            refused += 1
    assert refused


@pytest.mark.parametrize("name", CASES)
def test_finalizers_in_a_cycle(name, device_array):
    """As objects have that write what is left when they are collected."""
    outcome, arrays = [], []

    def kept_array(data):
        arrays.append(device_array(data))
        return arrays[-1]

    class Writer:
        def __init__(self):
            self.case, self.cycle = CASES[name](kept_array), self

        def __del__(self):
            try:
                outcome.append(self.case.work() == self.case.right)
            except ValueError as error:
                outcome.append("was closed, or is being collected" in str(error))

    for _ in range(3):
        Writer()
        gc.collect()
    assert outcome == [True] * 3


def test_closed_objects_are_refused(make):
    case = make()
    if not isinstance(case.made, Cipher):
        case.made.close()
        case.made.close()
        with pytest.raises(ValueError, match=r"^gpuaes(\.\w+)+ was closed"):
            case.work()


def test_classes_with_finalizers_are_owners():
    """A finalizer of its own would be one that leaves the object usable."""
    import importlib
    import pkgutil

    for module in pkgutil.iter_modules(gpuaes.__path__):
        for kind in vars(importlib.import_module(f"gpuaes.{module.name}")).values():
            if isinstance(kind, type) and kind.__module__.startswith("gpuaes.") and hasattr(kind, "__del__"):
                assert issubclass(kind, Owner), kind


def test_threads_close_an_object_once(device_array):
    import threading

    released = []

    class Counted(Owner):
        def _release(self):
            released.append(self)

    for _ in range(50):
        made, begin = Counted(), threading.Barrier(4)
        threads = [threading.Thread(target=lambda: (begin.wait(), made.close())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(released) == 50


def test_objects_whose_making_failed_give_up_nothing():
    class Failed(Owner):
        def __init__(self):
            raise MemoryError

        def _release(self):
            raise AssertionError("there is nothing to give up")

    with pytest.raises(MemoryError):
        Failed()
    gc.collect()
    made = Failed.__new__(Failed)
    made.close()


def test_buffers_are_exported_as_long_as_they_are_viewed():
    data = bytearray(16)
    memory = _memory.view(data)
    with pytest.raises(BufferError):
        data.extend(b"!")
    del memory
    data.extend(b"!")
    assert len(data) == 17
