"""gpuaes.batch.Batch compared with cryptography, message by message.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import gc
import re
import sys
import weakref
from array import array

import pytest

gpuaes = pytest.importorskip("gpuaes", exc_type=ImportError)
messages = pytest.importorskip("messages")
from gpuaes import InvalidTag, _buffers, _columns, _driver, _library  # noqa: E402
from gpuaes.batch import Batch, Pieces  # noqa: E402
from gpuaes.formats._pinned import Pinned  # noqa: E402

SIZES = (0, 1, 16, 500, 1000)


def run(batch):
    batch.queue()
    batch.check()
    return batch


def statuses(batch):
    return [int.from_bytes(batch.status.tobytes()[i:i + 4], "little") for i in range(0, 4 * len(batch), 4)]


def gcm_case(rng):
    keys = [rng.randbytes(32) for _ in range(3)]
    numbers = [rng.randrange(3) for _ in SIZES]
    texts = [rng.randbytes(size) for size in SIZES]
    nonces = [rng.randbytes(12) for _ in SIZES]
    aads = [rng.randbytes(rng.randrange(50)) for _ in SIZES]
    sealed = [messages.sealed(keys[k], *each) for k, *each in zip(numbers, nonces, texts, aads)]
    return keys, numbers, texts, nonces, aads, sealed


def test_gcm_of_a_list(rng, device_array, cuda_stream):
    keys, numbers, texts, nonces, aads, sealed = gcm_case(rng)
    data = [device_array(text, stream=cuda_stream) for text in texts]
    batch = run(Batch("GCM", keys, data, encrypt=True, ivs=nonces, aad=aads, key_numbers=numbers))
    tags = batch.tags.tobytes()
    assert [out.tobytes() + tags[16 * i:16 * i + 16] for i, out in enumerate(batch.out)] == sealed
    assert statuses(batch) == [0] * 5
    assert batch._batch.total_bytes == sum(SIZES)
    # In place, with nonces and tags that lie on the device.
    again = Batch(
        "GCM", keys, batch.out, encrypt=False, ivs=device_array(b"".join(nonces), stream=cuda_stream), aad=aads,
        key_numbers=numbers, tags=batch.tags, out=batch.out,
    )
    run(again)
    assert [out.tobytes() for out in batch.out] == texts
    again.queue()  # the text is no ciphertext, but for that of the empty one, and perhaps of a byte
    wrong = [i for i, text in enumerate(texts) if text != sealed[i][:-16]]
    with pytest.raises(InvalidTag, match=rf"messages {re.escape(str(wrong))} are not authentic"):
        again.check()
    assert statuses(again) == [7 if i in wrong else 0 for i in range(len(SIZES))]
    assert [out.tobytes() for out in batch.out] == [bytes(size) if i in wrong else texts[i] for i, size in enumerate(SIZES)]


def test_gcm_of_one_array(rng, device_array):
    key, nonces = rng.randbytes(16), [rng.randbytes(9) for _ in SIZES]
    text, offsets = rng.randbytes(sum(SIZES) + 7), [3]
    for size in SIZES:
        offsets.append(offsets[-1] + size)
    data = device_array(text)
    batch = run(Batch("GCM", key, data, encrypt=True, offsets=offsets, ivs=b"".join(nonces), tag_bytes=12, out=data))
    assert batch.out is data
    got, tags = data.tobytes(), batch.tags.tobytes()
    assert got[:3] == text[:3] and got[offsets[-1]:] == text[offsets[-1]:]
    for i, (begin, end) in enumerate(zip(offsets, offsets[1:])):
        expected = messages.sealed(key, nonces[i], text[begin:end])
        assert got[begin:end] + tags[12 * i:12 * i + 12] == expected[:-4]
    offsets = list(map(messages.Index, offsets))
    new = run(Batch("GCM", key, data, encrypt=False, offsets=offsets, ivs=nonces, tag_bytes=12, tags=tags)).out
    assert new.tobytes()[3:offsets[-1]] == text[3:offsets[-1]]


@pytest.mark.parametrize("encrypt", [True, False])
@pytest.mark.parametrize("mode", ["CTR", "ECB", "CBC", "XTS"])
def test_other_modes(rng, mode, encrypt, device_array):
    sizes = [16 if mode == "XTS" else 0, 16, 4800, 33 if mode in ("CTR", "XTS") else 32]
    keys = [rng.randbytes(rng.choice((32, 64)) if mode == "XTS" else 24)]
    keys.append(rng.randbytes(len(keys[0])))
    texts, ivs = [rng.randbytes(size) for size in sizes], [rng.randbytes(16) for _ in sizes]

    def of(keys, numbers):
        data = [device_array(text) for text in texts]
        return run(Batch(mode, keys, data, encrypt=encrypt, ivs=None if mode == "ECB" else ivs, key_numbers=numbers))

    for out, text, iv in zip(of(keys[1], None).out, texts, ivs):
        assert out.tobytes() == messages.context(mode, keys[1], iv, encrypt).update(text)
    batch = of(keys, [1, 0, 1, 0])
    for out, text, iv, key in zip(batch.out, texts, ivs, (keys[1], keys[0]) * 2):
        assert out.tobytes() == messages.context(mode, key, iv, encrypt).update(text)
    assert batch.tags is None


def test_queued_again_with_other_data_and_on_another_stream(rng, device_array, cuda_stream):
    import device_arrays

    key, iv, data = rng.randbytes(16), rng.randbytes(16), device_array(bytes(64))
    batch = run(Batch("CTR", key, [data], encrypt=True, ivs=[iv]))
    text = rng.randbytes(64)
    device_arrays.driver().write(data.address, text)
    data.stream = cuda_stream
    run(batch)
    assert batch.out[0].tobytes() == messages.context("CTR", key, iv, True).update(text)


def test_checked_on_another_stream(rng, device_array, cuda_stream):
    """check() waits for the stream of queue(), whichever is current, and so does queue() on another."""
    import device_arrays

    key, text = rng.randbytes(16), rng.randbytes(64 << 10)
    sealed = messages.sealed(key, bytes(12), text)
    data = device_array(sealed[:-16], stream=cuda_stream)
    batch = Batch("GCM", key, [data], encrypt=False, ivs=[bytes(12)], tags=[sealed[-16:]])
    data.stream = None
    run(batch)
    for _ in range(20):
        device_arrays.driver().write(data.address, sealed[:-17] + bytes([sealed[-17] ^ 1]))
        data.stream = cuda_stream
        batch.queue()
        data.stream = None
        with pytest.raises(InvalidTag):
            batch.check()
        device_arrays.driver().write(data.address, sealed[:-16])
        batch.queue()
        batch.check()


def test_queued_again_when_the_stream_is_gone(rng, device_array, monkeypatch):
    """The driver may end a process that asks about such a stream."""
    import device_arrays

    key, iv, text = rng.randbytes(16), rng.randbytes(16), rng.randbytes(64)
    data = device_array(text)
    batch = Batch("CTR", key, [data], encrypt=True, ivs=[iv])
    with device_arrays.new_stream() as stream:
        data.stream = stream
        run(batch)
        gone = _driver._lanes[0, stream].binding.value
    data.stream = None
    wait = _library.lib.gpuaes_stream_binding_wait

    def noted(binding, state):
        assert binding.value != gone
        return wait(binding, state)

    monkeypatch.setattr(_library.lib, "gpuaes_stream_binding_wait", noted)
    run(batch)
    assert batch.out[0].tobytes() == messages.context("CTR", key, iv, True).update(text)


def test_keys_are_overwritten_with_the_object(rng, device_array):
    data = [device_array(bytes(32))]
    for close in True, False:
        batch = run(Batch("XTS", rng.randbytes(64), data, encrypt=True, ivs=[bytes(16)]))
        keys = [batch._key, batch._tweak_key]
        assert all(any(bytes(key)) for key in keys)
        if close:
            batch.close()
        del batch
        assert not any(any(bytes(key)) for key in keys)


def test_error_says_what_is_wrong(device_array):
    batch = Batch("XTS", bytes(64), [device_array(bytes(32))], encrypt=True, ivs=[bytes(16)])
    with pytest.raises(gpuaes.GpuaesError, match="tweak_key is equal to key; expected two keys") as raised:
        batch.queue()
    assert raised.value.status == _library.BAD_ARGUMENT
    keys = [bytes(64), bytes(range(64))]
    data = [device_array(bytes(32)) for _ in range(2)]
    batch = Batch("XTS", keys, data, encrypt=True, ivs=[bytes(16)] * 2, key_numbers=[1, 0])
    batch.queue()
    with pytest.raises(gpuaes.GpuaesError, match="^message 1: ") as raised:
        batch.check()
    assert raised.value.status == _library.BAD_ARGUMENT
    assert batch.out[1].tobytes() == bytes(32) != batch.out[0].tobytes()


def test_collected_in_mid_work(rng, device_array, cuda_stream):
    key = rng.randbytes(16)
    expected, outs = [], []
    for _ in range(8):
        text, iv, out = rng.randbytes(1024), rng.randbytes(16), device_array(bytes(1024), stream=cuda_stream)
        Batch("CTR", key, [device_array(text, stream=cuda_stream)], encrypt=True, ivs=[iv], out=[out]).queue()
        gc.collect()
        outs.append(out)
        expected.append(messages.context("CTR", key, iv, True).update(text))
    assert [out.tobytes() for out in outs] == expected


def test_arrays_are_kept(rng, device_array, dlpack_array):
    """Also where the caller changes the lists that it gave, until the work is done."""
    key, nonces, text = rng.randbytes(16), rng.randbytes(24), rng.randbytes(64)
    arrays, tags = [device_array(text), device_array(text)], device_array(bytes(32))
    out, ivs = [device_array(bytes(64)), device_array(bytes(64))], dlpack_array(nonces)
    kept = [weakref.ref(each) for each in (*arrays, *out, tags)]
    batch = Batch("GCM", key, arrays, encrypt=True, ivs=ivs, out=out, tags=Pieces(tags, [0, 16], 16))
    del batch.tags
    arrays.clear(), out.clear()
    del tags
    gc.collect()
    assert all(ref() for ref in kept) and ivs.exported() == 1
    batch.queue()
    results = [kept[i]() for i in (2, 3, 4)]
    del batch
    assert ivs.exported() == 1 and all(ref() for ref in kept[:2])  # no call has found the stream behind it
    sealed = [messages.sealed(key, nonces[at : at + 12], text) for at in (0, 12)]
    assert [each.tobytes() for each in results[:2]] == [each[:-16] for each in sealed]
    assert results[2].tobytes() == sealed[0][-16:] + sealed[1][-16:]
    del results
    _driver.reap(everything=True)
    gc.collect()
    assert not any(ref() for ref in kept) and ivs.exported() == 0


def test_captured_graph_is_not_refused(device_array, cuda_stream):
    """What a run of the graph does is tried on a card: the emulator runs none."""
    import ctypes

    import device_arrays

    driver = device_arrays.driver()
    if not hasattr(driver.library, "cuStreamBeginCapture_v2"):
        pytest.skip("the driver has no cuStreamBeginCapture")
    data = [device_array(bytes(64), stream=cuda_stream)]
    batch = run(Batch("CTR", bytes(16), data, encrypt=True, ivs=[bytes(16)]))
    with driver.current():
        graph, nodes = ctypes.c_void_p(), ctypes.c_size_t()
        driver.call("cuStreamBeginCapture_v2", ctypes.c_void_p(cuda_stream), 2)
        try:
            batch.queue()
        finally:
            driver.call("cuStreamEndCapture", ctypes.c_void_p(cuda_stream), ctypes.byref(graph))
        driver.call("cuGraphGetNodes", graph, None, ctypes.byref(nodes))
        driver.call("cuGraphDestroy", graph)
    assert nodes.value > 0
    # A run of the graph may still read the arrays: to free them waits for it, and no other batch gets them.
    buffer = batch._buffer
    batch.close()
    _driver.reap(everything=True)
    assert buffer not in _buffers._kept


def test_ranges_are_exact_columns():
    """arange() of NumPy rounds the number of elements."""
    pytest.importorskip("numpy")
    for numbers in (range(0), range(5), range(7, -1, -1), range(3, 3 << 62, 1 << 62), range(1 << 63, 5, -(1 << 61)),
                    range(0, (1 << 60) + 1, 1 << 60)):
        assert _columns.column(numbers).tolist() == list(numbers)
    for numbers in range(-1, 5), range(5, -2, -1), range(0, (1 << 64) + 5, 1 << 63):
        with pytest.raises(OverflowError):
            _columns.column(numbers)


def test_wrong_arguments(device_array, cuda_stream):
    def refused(match, *arguments, kind=ValueError, **more):
        with pytest.raises(kind, match=match):
            Batch(*arguments, **{"encrypt": True, **more})

    key, iv, array = bytes(16), bytes(16), device_array(bytes(64))
    refused("^mode is 'OFB': expected", "OFB", key, [array])
    refused("^key has 16 bytes: expected 32 or 64", "XTS", key, [array], ivs=[iv])
    refused(r"^messages\[0\] has 15 bytes: expected 16 or more in XTS", "XTS", bytes(32), [device_array(bytes(15))])
    refused("^messages is empty", "CTR", key, [])
    refused(r"^messages\[1\] is in memory of the host", "CTR", key, [array, bytes(16)], ivs=[iv] * 2)
    refused(r"^messages\[1\] is in memory of device 0, with the stream", "CTR", key,
            [array, device_array(b"", stream=cuda_stream)], ivs=[iv] * 2)
    refused(r"^messages\[0\] has 5 bytes: expected a multiple of 16 in CBC", "CBC", key, [device_array(bytes(5))])
    refused(r"^key has 5 bytes: expected 16, 24 or 32", "CTR", bytes(5), [array])
    refused(r"^keys\[1\] has 16 bytes: expected 32", "CTR", [bytes(32), key], [array])
    refused("^keys is empty", "CTR", [], [array])
    refused("^key_numbers has 2: expected 1", "CTR", key, [array], key_numbers=[0, 0])
    refused(r"^key_numbers\[0\] is 1: expected 0 to 0", "CTR", key, [array], key_numbers=[1])
    refused("^ivs is None: expected", "CTR", key, [array])
    refused("^ivs is given: expected None in ECB", "ECB", key, [array], ivs=[iv])
    refused(r"^ivs\[0\] has 12 bytes: expected 16", "CTR", key, [array], ivs=[bytes(12)])
    refused("^ivs has 15 bytes: expected 16 for each of 1", "CTR", key, [array], ivs=bytes(15))
    refused(r"^ivs\[1\] has 13 bytes: expected 12", "GCM", key, [array] * 2, ivs=[bytes(12), bytes(13)])
    refused("^tags is None: expected", "GCM", key, [array], ivs=[iv], encrypt=False)
    refused("^tags is given: expected None, since", "GCM", key, [array], ivs=[iv], tags=bytes(16))
    refused("^tag_bytes is 5: expected", "GCM", key, [array], ivs=[iv], tag_bytes=5)
    refused("^aad is given: expected None in CTR", "CTR", key, [array], ivs=[iv], aad=[b""])
    refused("^aad has 2: expected 1", "GCM", key, [array], ivs=[iv], aad=[b""] * 2)
    refused(r"^aad\[0\] has 65537 bytes: expected 0 to 65536", "GCM", key, [array], ivs=[iv], aad=[bytes(65537)])
    refused("^offsets is None: expected", "CTR", key, array, ivs=[iv])
    refused(r"^offsets\[1\] is 16\.5: expected an integer", "CTR", key, array, ivs=[iv], offsets=[0, 16.5], kind=TypeError)
    refused(r"^key_numbers\[0\] is 0\.5: expected an integer", "CTR", [key, key], [array], ivs=[iv], key_numbers=[0.5], kind=TypeError)
    for pieces, said in [
        (Pieces(array, [0], 16.5), r"^messages has begins \[0\] and bytes 16\.5: expected rows of integers"),
        (Pieces(array, 0, 16), "^messages has begins 0 and bytes 16: expected rows of integers"),
        (Pieces(array, [0.5], 16), r"^messages\.begins\[0\] is 0\.5: expected an integer"),
        (Pieces(array, [0, 16], [16, None]), r"^messages\.bytes\[1\] is None: expected an integer"),
    ]:
        refused(said, "CTR", key, pieces, ivs=[iv], out=pieces, kind=TypeError)
    refused("^key_numbers is 0: expected integers", "CTR", [key, key], [array], ivs=[iv], key_numbers=0, kind=TypeError)
    for aad in 5, "a", b"a", memoryview(b"a"):
        refused("^aad is .*: expected a sequence", "GCM", key, [array], ivs=[iv], aad=aad, kind=TypeError)
    for string in bytes(16), bytearray(16), "a":
        said = re.escape(f" is {string!r}"[:20])
        refused(f"^key_numbers{said}.*: expected integers", "CTR", [key] * 98, [array] * len(string), ivs=[iv] * len(string),
                key_numbers=string, kind=TypeError)
        refused(f"^out{said}.*: expected a sequence of arrays", "CTR", key, [array], ivs=[iv], out=string, kind=TypeError)
    for string in bytes(16), bytearray(16), "ab":
        said = re.escape(f" is {string!r}"[:20])
        refused(f"^offsets{said}.*: expected integers", "CTR", key, array, ivs=[iv], offsets=string, kind=TypeError)
        refused(f"^messages.begins{said}.*: expected integers", "CTR", key, Pieces(array, string, 0), ivs=[iv], kind=TypeError)
    refused("^offsets is given with a sequence", "CTR", key, [array], ivs=[iv], offsets=[0, 1])
    refused(r"^offsets\[1\] is 65: expected 0 to 64", "CTR", key, array, ivs=[iv], offsets=[0, 65])
    refused(r"^offsets\[2\] is 15: expected 16 to 64", "CTR", key, array, ivs=[iv] * 2, offsets=[0, 16, 15])
    refused(r"^out\[0\] has 16 bytes: expected 64", "CTR", key, [array], ivs=[iv], out=[device_array(bytes(16))])
    refused("^out has 2 arrays or pieces: expected 1", "CTR", key, [array], ivs=[iv], out=[array, array])
    refused("^out overlaps", "CTR", key, [array, device_array(bytes(64))], ivs=[iv] * 2, out=[array, array])
    with pytest.raises(ValueError, match="was not queued"):
        Batch("CTR", key, [array], encrypt=True, ivs=[iv]).check()


@pytest.fixture(params=["numpy", "array"])
def columns(request, monkeypatch):
    """Makes a sequence of numbers as a program does that has imported NumPy, or has not."""
    if request.param == "numpy":
        return pytest.importorskip("numpy").array
    monkeypatch.setitem(sys.modules, "numpy", None)
    return lambda numbers: array("q", numbers)


def test_pieces(rng, device_array, columns):
    """Pieces with gaps, in any order; those that leave their array or overlap are refused."""
    key, sizes = rng.randbytes(32), [7, 0, 300, 16]
    begins, tags = [400, 9, 50, 20], [500, 530, 600, 560]
    text, nonces = rng.randbytes(700), [rng.randbytes(12) for _ in sizes]
    data, out = device_array(text), device_array(bytes(700))
    run(Batch("GCM", key, Pieces(data, columns(begins), columns(sizes)), encrypt=True, ivs=nonces,
              out=Pieces(out, begins, sizes), tags=Pieces(out, tags, 16)))
    expected = bytearray(700)
    for begin, size, nonce, tag in zip(begins, sizes, nonces, tags):
        sealed = messages.sealed(key, nonce, text[begin:begin + size])
        expected[begin:begin + size], expected[tag:tag + 16] = sealed[:-16], sealed[-16:]
    assert out.tobytes() == expected

    def refused(match, source, target):
        with pytest.raises(ValueError, match=match):
            Batch("CTR", key, Pieces(data, *source), encrypt=True, ivs=bytes(32), out=Pieces(data, *target))
        source, target = (list(map(columns, each)) for each in (source, target))
        with pytest.raises(ValueError, match=match):
            Batch("CTR", key, Pieces(data, *source), encrypt=True, ivs=bytes(32), out=Pieces(data, *target))

    ok = [200, 300], [16, 16]
    refused(r"^messages\[1\] has 16 bytes at 685: expected a piece of 700", ([0, 685], [16, 16]), ok)
    refused(r"^messages\[0\] has 16 bytes at -1: expected a piece", ([-1, 30], [16, 16]), ok)
    refused(r"^messages\[1\] has -2 bytes at 30: expected a piece", ([1, 30], [16, -2]), ok)
    refused(r"^messages\[1\] has 1 bytes at \d{19}: expected a piece", ([1, (1 << 63) - 1], [1, 1]), ok)
    refused(r"^messages has 1 begins and 2 lengths", ([1], [16, 16]), ok)
    refused(r"^out\[1\] has 17 bytes: expected 16", ok, ([100, 400], [16, 17]))
    refused("^out overlaps .* at message 1", ([0, 16], [16, 16]), ([100, 115], [16, 16]))
    refused("^out overlaps .* at message 0", ([0, 16], [16, 16]), ([8, 200], [16, 16]))
    refused("^out overlaps", ([0, 16], [16, 16]), ([16, 0], [16, 16]))
    for target in [400, 500], [500, 400], [0, 100], [200, 300]:  # behind, in another order, before, in place
        run(Batch("CTR", key, Pieces(data, *ok), encrypt=True, ivs=bytes(32), out=Pieces(data, target, ok[1])))
    # Tags and nonces on the device: nothing that is written lies in them.
    def refused_gcm(match, encrypt, out, tags, ivs=b"1" * 24):
        for kind in list, columns:
            with pytest.raises(ValueError, match=match):
                Batch("GCM", key, Pieces(data, kind([200, 300]), 16), encrypt=encrypt, out=Pieces(data, kind(out), 16),
                      tags=Pieces(data, kind(tags), 16), ivs=Pieces(data, kind(ivs), 12) if isinstance(ivs, list) else ivs)

    refused_gcm("^tags overlap one another", True, [400, 500], [100, 115])
    refused_gcm("^tags overlap out at message 1", True, [400, 500], [100, 501])
    refused_gcm("^tags overlap out at message 1", True, [400, 426], [416, 450])
    refused_gcm("^tags overlap messages at message 0", True, [400, 500], [215, 100])
    refused_gcm("^tags overlap messages at message 1", True, [400, 500], [100, 300])
    refused_gcm("^tags overlap out at message 1", True, [200, 300], [216, 299])
    refused_gcm("^tags overlap ivs at message", True, [400, 500], [100, 150], [620, 160])
    refused_gcm("^out overlaps ivs at message", True, [400, 500], [100, 150], [620, 489])
    refused_gcm("^out overlaps ivs at message", False, [400, 500], [100, 150], [620, 489])
    refused_gcm("^out overlaps tags at message", False, [400, 500], [100, 485])
    with pytest.raises(ValueError, match="^out overlaps ivs"):
        Batch("GCM", key, Pieces(data, *ok), encrypt=True, out=Pieces(out, [0, 20], 16), ivs=type(out)(out.memory, (24,), "|u1"))
    for encrypt, places, tags in [(True, [200, 300], [316, 216]), (True, [400, 500], [416, 516]), (True, [400, 500], [516, 416]),
                                  (False, [200, 300], [100, 100]), (False, [400, 500], [216, 190])]:
        Batch("GCM", key, Pieces(data, [200, 300], 16), encrypt=encrypt, out=Pieces(data, places, 16),
              tags=Pieces(data, tags, 16), ivs=Pieces(data, [600, 600], 12)).queue()
    # Numbers of NumPy.
    ones = columns([1, 16])
    one = Pieces(data, [200], ones[1])
    run(Batch("CTR", key, one, encrypt=True, ivs=bytes(16), out=one))
    with pytest.raises(ValueError, match=r"^messages\[0\] has -16 bytes at 0: expected a piece"):
        Batch("CTR", key, Pieces(data, [0], -ones[1]), encrypt=True, ivs=bytes(16), out=one)
    with pytest.raises(TypeError, match=r"^messages\.begins\[0\] is .*0\.5.*: expected an integer"):
        Batch("CTR", key, Pieces(data, ones / 2 if hasattr(ones, "dtype") else [0.5, 8], 16), encrypt=True, ivs=bytes(32), out=one)
    # A range, and pieces of two arrays.
    other = device_array(rng.randbytes(48))
    pieces = [Pieces(data, range(500, 564, 32), 32), Pieces(other, [0, 32], [16, 1])]
    before = [data.tobytes()[at : at + 32] for at in (500, 532)] + [other.tobytes()[:16], other.tobytes()[32:33]]
    run(Batch("CTR", key, pieces, encrypt=True, ivs=(ivs := rng.randbytes(64)), out=pieces))
    after = [data.tobytes()[at : at + 32] for at in (500, 532)] + [other.tobytes()[:16], other.tobytes()[32:33]]
    assert after == [messages.context("CTR", key, ivs[16 * i : 16 * i + 16], True).update(text) for i, text in enumerate(before)]
    with pytest.raises(ValueError, match="^out is None: expected Pieces"):
        Batch("CTR", key, pieces, encrypt=True, ivs=ivs)


def test_pinned_memory(rng, device_array):
    """On either side, and no pageable memory, of which the device would know nothing."""
    key, text, ivs = rng.randbytes(16), rng.randbytes(1000), rng.randbytes(32)
    expected = b"".join(messages.context("CTR", key, ivs[at : at + 16], True).update(text[30 * at :][:480]) for at in (0, 16))
    with contextlib.closing(Pinned(1000)) as pinned:
        pinned.view[:] = text
        data = device_array(bytes(1000))
        pieces = [0, 480], 480
        run(Batch("CTR", key, Pieces(pinned.view, *pieces), encrypt=True, ivs=ivs, out=Pieces(data, *pieces)))
        assert data.tobytes() == expected + bytes(40)
        pinned.view[:] = bytes(1000)
        run(Batch("CTR", key, Pieces(data, *pieces), encrypt=False, ivs=ivs, out=Pieces(pinned.view, *pieces)))
        assert bytes(pinned.view) == text[:960] + bytes(40)
        for said, source, target in [
            (r"^messages\[0\] is in memory of the host that is not pinned", bytes(1000), data),
            (r"^out\[0\] is in memory of the host that is not pinned", data, bytearray(1000)),
            ("^messages and out are in memory of the host: expected one", pinned.view, pinned.view),
        ]:
            with pytest.raises(ValueError, match=said):
                Batch("CTR", key, Pieces(source, *pieces), encrypt=True, ivs=ivs, out=Pieces(target, *pieces))
