"""gpuaes.formats.lmcache: its frames are those that LMCache's own serializer makes.

LMCache needs PyTorch and CUDA, so that its serialize() and deserialize() stand here, by cryptography, as aesgcm.py and
key_provider.py of lmcache 0.5.6 have them.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import os
import sys

import pytest

pytest.importorskip("cryptography")
from cryptography.exceptions import InvalidTag as TheirInvalidTag  # noqa: E402
from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: E402
from cryptography.hazmat.primitives.hashes import SHA256  # noqa: E402
from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: E402

from gpuaes import GpuaesError, InvalidTag, _driver  # noqa: E402
from gpuaes.formats import lmcache  # noqa: E402
from gpuaes.formats._pinned import Pinned  # noqa: E402

SIZES = [0, 1, 15, 16, 17, 4096, 45_056, 12_345, 1 << 20]


def theirs(key, block):
    iv = os.urandom(12)
    return b"\x01" + iv + AESGCM(key).encrypt(iv, block, None)


def opened(key, frame, size):
    end = 13 + size + 16
    if len(frame) < end or frame[0] != 1:
        raise ValueError("malformed")
    return AESGCM(key).decrypt(frame[1:13], frame[13:end], None)


@pytest.fixture
def blocks(rng):
    return [rng.randbytes(size) for size in SIZES]


@pytest.mark.parametrize("bits", [128, 256])
@pytest.mark.parametrize("salt", ["", "tenant", "Mieter ü"])
def test_key_is_that_of_the_provider(bits, salt):
    wanted = HKDF(SHA256(), bits // 8, None, b"lmcache-l2-aesgcm-v1" + salt.encode()).derive(b"master")
    assert lmcache.tenant_key(b"master", salt, bits) == wanted


@pytest.mark.parametrize("bits", [128, 256])
def test_frames_of_lmcache_are_read(bits, blocks, device_array):
    keys = [lmcache.tenant_key(b"master", salt, bits) for salt in "ab"]
    numbers = [i % 2 for i in range(len(blocks))]
    frames = [theirs(keys[number], block) for number, block in zip(numbers, blocks)]
    read = lmcache.decrypt(keys, device_array(b"".join(frames)), SIZES, key_numbers=numbers)
    assert read.tobytes() == b"".join(blocks)
    # Slots that are larger than their frames, in another order.
    slot = max(SIZES) + lmcache.OVERHEAD + 3
    places = [slot * i + 1 for i in reversed(range(len(blocks)))]
    room = bytearray(1 + slot * len(blocks))
    for place, frame in zip(places, frames):
        room[place : place + len(frame)] = frame
    read = lmcache.decrypt(keys, device_array(room), SIZES, key_numbers=numbers, places=places)
    assert read.tobytes() == b"".join(blocks)


def test_frames_are_read_by_lmcache(blocks, device_array):
    key = lmcache.tenant_key(b"master", "tenant")
    ivs = set()
    for places in None, [(max(SIZES) + 100) * i + 7 for i in range(len(SIZES))]:
        room = None if places is None else device_array(bytes((max(SIZES) + 100) * len(SIZES)))
        frames = lmcache.encrypt(key, device_array(b"".join(blocks)), SIZES, places=places, out=room).tobytes()
        at = 0
        for i, block in enumerate(blocks):
            at = at if places is None else places[i]
            ivs.add(frames[at + 1 : at + 13])
            assert opened(key, frames[at:], len(block)) == block
            at += len(block) + lmcache.OVERHEAD
        assert places is not None or at == len(frames)
    assert len(ivs) == 2 * len(blocks)


@pytest.mark.parametrize("package", ["numpy", None])
def test_pinned_memory_in_any_order(package, rng, device_array, monkeypatch):
    """Frames in slots of pinned memory; numbers as an array of NumPy, and without NumPy."""
    if package:
        numbers_of = pytest.importorskip(package).array
    else:
        monkeypatch.setitem(sys.modules, "numpy", None)
        numbers_of = list
    key, sizes = lmcache.tenant_key(b"master", "tenant"), [100] * 50
    text, places = rng.randbytes(5000), [130 * i + 3 for i in range(50)]
    rng.shuffle(places)
    sizes, places = numbers_of(sizes), numbers_of(places)
    with contextlib.closing(Pinned(130 * 50 + 3)) as pinned:
        assert lmcache.encrypt(key, device_array(text), sizes, out=pinned.view, places=places) is pinned.view
        frames = bytes(pinned.view)
        assert b"".join(opened(key, frames[place:], 100) for place in places) == text
        out = lmcache.decrypt(key, pinned.view, sizes, out=device_array(bytes(5000)), places=places)
        assert out.tobytes() == text
        pinned.view[int(places[7]) + 50] ^= 1
        with pytest.raises(InvalidTag, match=r"messages \[7\] are not"):
            lmcache.decrypt(key, pinned.view, sizes, out=device_array(bytes(5000)), places=places)


@pytest.mark.parametrize("behind", [0, 500])
def test_frames_of_the_host_without_gaps_pass_the_bus_by_a_copy(behind, rng, device_array):
    key, sizes = lmcache.tenant_key(b"master", "tenant"), [rng.randrange(300) for _ in range(40)]
    text, end = rng.randbytes(sum(sizes)), sum(sizes) + lmcache.OVERHEAD * 40
    after = bytes(range(256)) * 2
    frames = bytearray(end) + after[:behind]  # pageable memory, which no kernel can read
    assert lmcache.encrypt(key, device_array(text), sizes, out=frames) is frames
    assert frames[end:] == after[:behind]
    places = [0]
    for size in sizes:
        places.append(places[-1] + size + lmcache.OVERHEAD)
    assert b"".join(opened(key, bytes(frames[at:]), size) for at, size in zip(places, sizes)) == text
    assert lmcache.decrypt(key, frames, sizes, out=device_array(bytes(len(text)))).tobytes() == text
    first = sum(sizes[:10])
    some = lmcache.decrypt(key, frames, sizes[10:], out=device_array(bytes(len(text) - first)), places=places[10:-1])
    assert some.tobytes() == text[first:]
    frames[places[7] + 13 + sizes[7]] ^= 1
    with pytest.raises(InvalidTag, match=r"messages \[7\] are not"):
        lmcache.decrypt(key, frames, sizes, out=device_array(bytes(len(text))))
    with pytest.raises(ValueError, match=f"^frames has {end - 1} bytes: expected {end}, "):
        lmcache.decrypt(key, frames[: end - 1], sizes, out=device_array(bytes(len(text))))


def test_frames_of_the_host_pass_the_bus_in_parts(rng, device_array, monkeypatch):
    monkeypatch.setattr(lmcache, "_BUS_BYTES", 1000)
    keys = [lmcache.tenant_key(b"master", salt) for salt in "ab"]
    sizes, numbers = [rng.randrange(300) for _ in range(40)], [rng.randrange(2) for _ in range(40)]
    text, places = rng.randbytes(sum(sizes)), [0]
    for size in sizes:
        places.append(places[-1] + size + lmcache.OVERHEAD)
    assert len(lmcache._parts(lmcache.row(places[:-1], ""), lmcache.row([size + lmcache.OVERHEAD for size in sizes], ""), 1000)) > 4
    with contextlib.closing(Pinned(places[-1])) as pinned:
        lmcache.encrypt(keys, device_array(text), sizes, key_numbers=numbers, out=pinned.view)
        frames = bytes(pinned.view)
        assert b"".join(opened(keys[n], frames[at:], size) for n, at, size in zip(numbers, places, sizes)) == text
        out = device_array(bytes(len(text)))
        assert lmcache.decrypt(keys, pinned.view, sizes, key_numbers=numbers, out=out).tobytes() == text
        for wrong in [3, 38]:
            pinned.view[places[wrong] + 20 + sizes[wrong]] ^= 1
        with pytest.raises(InvalidTag, match=r"messages \[3, 38\] are not"):
            lmcache.decrypt(keys, pinned.view, sizes, key_numbers=numbers, out=out)
        pinned.view[places[39]] = 7
        with pytest.raises(lmcache.MalformedFrame, match="^frame 39 has version 7: expected 1$"):
            lmcache.decrypt(keys, pinned.view, sizes, key_numbers=numbers, out=out)
        # Frames in another order than that of their blocks, without gaps.
        order = rng.sample(range(40), 40)
        at, there = 0, [0] * 40
        for i in order:
            there[i], at = at, at + sizes[i] + lmcache.OVERHEAD
        lmcache.encrypt(keys, device_array(text), sizes, key_numbers=numbers, out=pinned.view, places=there)
        assert lmcache.decrypt(keys, pinned.view, sizes, key_numbers=numbers, out=out, places=there).tobytes() == text


def test_frames_of_a_device_are_done_in_parts(rng, device_array, monkeypatch):
    monkeypatch.setattr(lmcache, "_DEVICE_BYTES", 1000)
    queued, queue = [], lmcache.Batch.queue
    monkeypatch.setattr(lmcache.Batch, "queue", lambda batch: (queued.append(len(batch)), queue(batch))[1])
    key = lmcache.tenant_key(b"master", "tenant")
    for sizes in [rng.randrange(300) for _ in range(40)], [150] * 40:
        text, places = rng.randbytes(sum(sizes)), [0]
        for size in sizes:
            places.append(places[-1] + size + lmcache.OVERHEAD)
        queued.clear()
        sealed = lmcache.encrypt(key, device_array(text), sizes)
        assert sum(queued) == 80 and len(queued) > 8
        frames = bytearray(sealed.tobytes())
        assert b"".join(opened(key, bytes(frames[at:]), size) for at, size in zip(places, sizes)) == text
        assert lmcache.decrypt(key, sealed, sizes).tobytes() == text
        for wrong in [3, 38]:
            frames[places[wrong] + 20 + sizes[wrong]] ^= 1
        with pytest.raises(InvalidTag, match=r"messages \[3, 38\] are not"):
            lmcache.decrypt(key, device_array(frames), sizes)
        frames[places[39]], out = 7, device_array(b"x" * len(text))
        with pytest.raises(lmcache.MalformedFrame, match="^frame 39 has version 7: expected 1$"):
            lmcache.decrypt(key, device_array(frames), sizes, out=out)
        assert out.tobytes() == b"x" * len(text)


def test_numbers_of_keys_are_checked_for_all_frames(device_array):
    for key_numbers, said in [([0], "^key_numbers has 1: expected 2"), ([0, 0, 0], "^key_numbers has 3"), ([0, 2], r"\[1\] is 2")]:
        for call in lmcache.encrypt, lmcache.decrypt:
            with pytest.raises(ValueError, match=said):
                call([bytes(16)] * 2, device_array(bytes(58)), [29, 29] if call is lmcache.encrypt else [0, 0], key_numbers=key_numbers)
    with pytest.raises(ValueError, match="^keys is empty"):
        lmcache.encrypt([], device_array(bytes(58)), [29, 29], key_numbers=[0, 0])


def test_nothing_is_under_way_after_an_error(rng, device_array, monkeypatch):
    """The memory of the host may go then."""
    monkeypatch.setattr(lmcache, "_BUS_BYTES", 1000)
    sizes, waited = [300] * 20, []
    wait = _driver.Lane.wait
    monkeypatch.setattr(_driver.Lane, "wait", lambda lane, doing: (waited.append(doing), wait(lane, doing))[1])
    text, frames = device_array(rng.randbytes(6000)), bytearray(329 * 20)

    def fails(*arguments, **_):
        raise GpuaesError("no memory")

    lmcache.encrypt(bytes(16), text, sizes, out=frames)
    for call in (lambda: lmcache.encrypt(bytes(16), text, sizes, out=frames)), (lambda: lmcache.decrypt(bytes(16), frames, sizes, out=text)):
        with monkeypatch.context() as patched:
            patched.setattr(lmcache.Batch, "queue", fails)
            with pytest.raises(GpuaesError, match="no memory"):
                call()
        assert waited[-1] == "copying frames"


def test_frames_over_blocks(rng, device_array):
    """A ciphertext may be in the place of its block. What else of a frame lies over a block would be encrypted instead."""
    key, text = lmcache.tenant_key(b"master", "tenant"), rng.randbytes(300)

    def encrypted(begin, sizes, places):
        room = device_array(text)
        blocks = type(room)(room.memory, (sum(sizes),), "|u1", offset=begin)
        return lmcache.encrypt(key, blocks, sizes, out=room, places=places).tobytes()

    for begin, sizes, places in [(13, [50], [0]), (13, [0, 50, 0], [100, 0, 200]), (100, [20, 20], [0, 140]), (100, [20, 20], [140, 50])]:
        frames, at = encrypted(begin, sizes, places), begin
        for size, place in zip(sizes, places):
            assert opened(key, frames[place:], size) == text[at : at + size]
            at += size
    for begin, sizes, places in [(0, [16], [3]), (100, [16], [99]), (100, [16], [115]), (100, [16], [56]), (100, [16], [71]),
                                 (13, [20, 20], [0, 100]), (100, [20, 20], [139, 0])]:
        with pytest.raises(ValueError, match="^out has a frame whose header or tag lies over a block, at message"):
            encrypted(begin, sizes, places)


@pytest.mark.parametrize("sizes", [[150] * 40, [130 + i % 40 for i in range(40)]])
def test_parts_are_apart(sizes, rng, device_array, monkeypatch):
    """No part is written over what another one has yet to read; nothing is written by a call that is refused."""
    monkeypatch.setattr(lmcache, "_DEVICE_BYTES", 1000)
    key, count, text = lmcache.tenant_key(b"master", "tenant"), sum(sizes), rng.randbytes(20_000)

    def piece(room, begin, length):
        return type(room)(room.memory, (length,), "|u1", offset=begin)

    for at in 0, 900, 1050, 3000, count - 1, count:
        room = device_array(text)
        places = [at + sum(sizes[:i]) + lmcache.OVERHEAD * i for i in range(40)]
        if at < count:
            with pytest.raises(ValueError, match="^out "):
                lmcache.encrypt(key, piece(room, 0, count), sizes, out=room, places=places)
            assert room.tobytes() == text
        else:
            frames = lmcache.encrypt(key, piece(room, 0, count), sizes, out=room, places=places).tobytes()
            assert b"".join(opened(key, frames[place:], size) for place, size in zip(places, sizes)) == text[:count]
    frames = lmcache.encrypt(key, device_array(text[:count]), sizes).tobytes()
    for at in 14, 2000, len(frames) - 1, len(frames):
        room = device_array(frames + bytes(20_000 - len(frames)))
        out, before = piece(room, at, count), room.tobytes()
        if at < len(frames):
            with pytest.raises(ValueError, match="^out overlaps"):
                lmcache.decrypt(key, piece(room, 0, len(frames)), sizes, out=out)
            assert room.tobytes() == before
        else:
            assert lmcache.decrypt(key, piece(room, 0, len(frames)), sizes, out=out).tobytes() == text[:count]


def test_refused_arguments_change_nothing(rng, device_array, monkeypatch):
    monkeypatch.setattr(lmcache, "_DEVICE_BYTES", 1000)
    monkeypatch.setattr(lmcache._library, "QUEUE_BYTES", 500)
    before, sizes = rng.randbytes(9000), [100] * 30 + [501]
    room, count = device_array(before), sum(sizes)
    for key, more in (bytes(15), {}), ("abc", {}), ([bytes(16), bytes(32)], {"key_numbers": [0, 1] * 15}), ([], {}):
        with pytest.raises((TypeError, ValueError)):
            lmcache.encrypt(key, device_array(bytes(3000)), [100] * 30, out=room, **more)
    for call, source in (lmcache.encrypt, bytes(count)), (lmcache.decrypt, bytes(b"\1" * (count + 29 * 31))):
        out = room if call is lmcache.encrypt else type(room)(room.memory, (count,), "|u1")
        with pytest.raises(ValueError, match=r"^sizes\[30\] is 501: expected 500 at most$"):
            call(bytes(16), device_array(source), sizes, out=out)
    assert room.tobytes() == before


def test_a_text_may_lie_over_the_version_of_a_frame(rng, device_array):
    key, text = bytes(16), rng.randbytes(100)
    frame = theirs(key, text)
    room = device_array(bytes(99) + frame)
    frames = type(room)(room.memory, (99 + len(frame),), "|u1")
    assert lmcache.decrypt(key, frames, [100], out=type(room)(room.memory, (100,), "|u1"), places=[99]).tobytes() == text


def test_who_writes_frames_does_not_choose_their_ivs(rng, device_array, monkeypatch):
    key, text, queue = lmcache.tenant_key(b"master", "tenant"), rng.randbytes(400), lmcache.Batch.queue
    places = [0, 200, 400, 600]
    with contextlib.closing(Pinned(800)) as pinned:

        def overwrite(batch):
            for place in places:
                pinned.view[place + 1 : place + 13] = bytes(12)
            queue(batch)

        monkeypatch.setattr(lmcache.Batch, "queue", overwrite)
        lmcache.encrypt(key, device_array(text), [100] * 4, out=pinned.view, places=places)
        frames = bytes(pinned.view)
    for i, place in enumerate(places):
        sealed = frames[place + 13 : place + 129]
        assert sealed != AESGCM(key).encrypt(bytes(12), text[100 * i : 100 * i + 100], None)


def test_changed_frames_are_refused(blocks, device_array):
    key = lmcache.tenant_key(b"master", "tenant")
    frame = theirs(key, blocks[4])
    for at in range(len(frame)):
        changed = bytearray(frame)
        changed[at] ^= 1
        if not at:
            with pytest.raises(lmcache.MalformedFrame, match="^frame 1 has version 0: expected 1$"):
                lmcache.decrypt(key, device_array(frame + changed), [17, 17])
            continue
        out = device_array(b"x" * 34)
        with pytest.raises(InvalidTag, match=r"^messages \[1\] are not authentic"):
            lmcache.decrypt(key, device_array(frame + changed), [17, 17], out=out)
        assert out.tobytes() == blocks[4] + bytes(17)
    with pytest.raises(InvalidTag):
        lmcache.decrypt(lmcache.tenant_key(b"master", "other"), device_array(frame), [17])
    for length in range(len(frame)):
        with pytest.raises(ValueError, match=rf"^frames has {length or 1} bytes: expected {len(frame)}, .* by sizes and places$"):
            lmcache.decrypt(key, device_array(frame[:length] or b"x"), [17])
    with pytest.raises(TheirInvalidTag):
        opened(key, bytes(changed), 17)


def test_wrong_arguments_are_refused(device_array):
    key, data = bytes(16), device_array(bytes(64))
    for said, call in [
        ("^sizes is empty", lambda: lmcache.encrypt(key, data, [])),
        ("^blocks has 64 bytes: expected 63", lambda: lmcache.encrypt(key, data, [63])),
        ("^places has 1: expected 2", lambda: lmcache.encrypt(key, data, [32, 32], places=[0])),
        ("^places has a frame that overlaps", lambda: lmcache.encrypt(key, data, [32, 32], places=[0, 60])),
        ("^sizes or places has a number below 0", lambda: lmcache.encrypt(key, data, [65, -1])),
        ("^sizes or places has a number below 0, or of 4611686018427387904", lambda: lmcache.decrypt(key, data, [1 << 63])),
        ("^frames has 64 bytes: expected 4611686018427387967", lambda: lmcache.decrypt(key, data, [35], places=[(1 << 62) - 1])),
        ("^frames has 64 bytes: expected 93", lambda: lmcache.decrypt(key, data, [64])),
        ("^out has 64 bytes: expected 101", lambda: lmcache.encrypt(key, data, [64], out=data, places=[8])),
        ("memory of a device", lambda: lmcache.decrypt(key, bytes(64), [3])),
        ("^bits is 192", lambda: lmcache.tenant_key(b"m", "", 192)),
    ]:
        with pytest.raises(ValueError, match=said):
            call()
    with pytest.raises(TypeError, match=r"^places\[0\] is 0\.5: expected an integer"):
        lmcache.decrypt(key, data, [16], places=[0.5])
    with pytest.raises(TypeError, match="^sizes is 16: expected integers"):
        lmcache.decrypt(key, data, 16)
    with pytest.raises(TypeError, match=r"^sizes is b'\\x03\\x00.*': expected integers"):
        lmcache.decrypt(key, data, (3).to_bytes(8, "little"))
