"""gpuaes.formats.tink compared with PyPI's tink, and what must be refused.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import base64
import ctypes
import io
import json
import os
import subprocess
import sys
import threading

import pytest

pytest.importorskip("gpuaes", exc_type=ImportError)
import gpuaes  # noqa: E402
from gpuaes import GpuaesError, InvalidTag, _driver, _libcrypto, _library  # noqa: E402
from gpuaes._columns import Steps  # noqa: E402
from gpuaes.formats import _files, _tink_files, _tink_segments  # noqa: E402
from gpuaes.formats.tink import StreamingAead  # noqa: E402

KEY, AAD, SEGMENT, HEADER, TAG = bytes(range(32)), b"name", 4096, 40, 16
FIRST, STEP = SEGMENT - HEADER - TAG, SEGMENT - TAG
SIZES = (0, 1, FIRST - 1, FIRST, FIRST + 1, FIRST + STEP, FIRST + STEP + 1, 100_000)


class Files:
    """Streams from file to file, in pieces of three segments."""

    def __init__(self, folder):
        self.folder = folder

    def seal(self, text, aad=AAD, key=KEY, **how):
        (self.folder / "text").write_bytes(text)
        aead = StreamingAead(key, **{"segment_bytes": SEGMENT, **how})
        aead.encrypt_file(self.folder / "text", self.folder / "sealed", aad)
        return (self.folder / "sealed").read_bytes()

    def unseal(self, sealed, aad=AAD, key=KEY, **how):
        (self.folder / "sealed").write_bytes(sealed)
        (self.folder / "again").write_bytes(b"before")
        calls = []
        aead = StreamingAead(key, **{"segment_bytes": SEGMENT, **how})
        try:
            aead.decrypt_file(self.folder / "sealed", self.folder / "again", aad, calls.append)
        except InvalidTag:
            assert (self.folder / "again").read_bytes() == b"before"
            raise
        finally:
            assert set(os.listdir(self.folder)) <= {"again", "sealed", "text"}
        text = (self.folder / "again").read_bytes()
        assert calls == sorted(set(calls)) and calls[-1] == len(text)
        return text


class Arrays:
    """Streams in memory of a device, in batches of five segments, the longest stream with a first one of three."""

    def __init__(self, device_array):
        self.array = device_array

    def seal(self, text, aad=AAD, key=KEY, **how):
        return StreamingAead(key, **{"segment_bytes": SEGMENT, **how}).encrypt(self.array(text), aad).tobytes()

    def unseal(self, sealed, aad=AAD, key=KEY, **how):
        aead = StreamingAead(key, **{"segment_bytes": SEGMENT, **how})
        out = self.array(b"x" * max(0, len(sealed) - HEADER - TAG * -(-len(sealed) // SEGMENT)))
        try:
            aead.decrypt(self.array(sealed), aad, out=None if how else out)
        except InvalidTag:
            assert not out.nbytes or set(out.tobytes()) in ({0}, {ord("x")})  # "x": refused before the work
            raise
        return aead.decrypt(self.array(sealed), aad).tobytes() if how else out.tobytes()


@pytest.fixture(params=["files on the host", "files by a device", "arrays"])
def way(request, tmp_path, monkeypatch):
    monkeypatch.setattr(_tink_files, "_PIECE_BYTES", 3 * SEGMENT)
    monkeypatch.setattr(_tink_files, "_HOST_PIECE_BYTES", 3 * SEGMENT)
    monkeypatch.setattr(_tink_segments, "_BATCH_COUNT", 5)
    monkeypatch.setattr(_tink_segments, "_EARLY_BYTES", SIZES[-1])
    monkeypatch.setattr(_tink_segments, "_ALONE_COUNT", 7)
    if request.param == "files on the host":
        monkeypatch.setenv("GPUAES_POLICY", "cpu")
        return Files(tmp_path)
    device_array = request.getfixturevalue("device_array")
    if request.param == "arrays":
        return Arrays(device_array)
    request.getfixturevalue("everything_on_device")

    def refuse(*_):
        raise AssertionError("the host's AES was called")

    monkeypatch.setattr(_libcrypto, "gcm", refuse)
    return Files(tmp_path)


@pytest.mark.parametrize("size", SIZES)
def test_round_trip(way, rng, size):
    text = rng.randbytes(size)
    assert way.unseal(way.seal(text)) == text


def test_a_device_begins_a_long_stream_with_an_eighth(monkeypatch):
    segments, queued, count = _tink_segments.Segments(_tink_segments.Layout(HEADER, SEGMENT), None, b""), [], 83
    monkeypatch.setattr(_tink_segments.Segments, "queue", lambda self, *arguments: queued.append(arguments[3:6]))
    monkeypatch.setattr(_tink_segments, "_EARLY_BYTES", 80 * STEP)
    for text_bytes in 80 * STEP - 1, 80 * STEP:
        segments.queue_all(True, None, None, count, text_bytes)
    assert queued == [(0, 83, 80 * STEP - 1), (0, 10, 10 * STEP - HEADER), (10, 73, 70 * STEP + HEADER)]
    for batch_count, sizes in (40, [10, 40, 33]), (10, [10] * 8 + [3]), (9, [9] * 9 + [2]):
        queued.clear()
        monkeypatch.setattr(_tink_segments, "_BATCH_COUNT", batch_count)
        segments.queue_all(True, None, None, count, 80 * STEP)
        assert [place[1] for place in queued] == sizes


def test_segments_of_one_length_are_batches_of_their_own(monkeypatch):
    segments, queued = _tink_segments.Segments(_tink_segments.Layout(HEADER, SEGMENT), None, b""), []
    monkeypatch.setattr(_tink_segments.Segments, "queue", lambda self, *arguments: queued.append(arguments[3:7]))
    monkeypatch.setattr(_tink_segments, "_ALONE_COUNT", 9)
    monkeypatch.setattr(_tink_segments, "_BATCH_COUNT", 5)
    for count, sizes in (9, [5, 4]), (10, [1, 4, 4, 1]), (11, [1, 4, 5, 1]), (12, [1, 4, 5, 1, 1]):
        queued.clear()
        segments.queue_all(True, None, None, count, (count - 1) * STEP - HEADER + 7)
        assert [place[1] for place in queued] == sizes and [place[3] for place in queued] == [False] * (len(sizes) - 1) + [True]
        lengths = [segments._cut(first, number, text_bytes, 0, 0)[2] for first, number, text_bytes, _ in queued]
        assert [int(length) for column in lengths for length in column] == [STEP - HEADER] + [STEP] * (count - 2) + [7]
        assert count < 10 or all(isinstance(column, Steps) for column in lengths[1:-1])


def keyset_of(hash_name, derived, segment, prefix="RAW"):
    """A keyset of Tink, whose classes are those of the package."""
    from tink.proto import aes_gcm_hkdf_streaming_pb2 as pb, common_pb2, tink_pb2

    key = pb.AesGcmHkdfStreamingKey(key_value=KEY, params=pb.AesGcmHkdfStreamingParams(
        ciphertext_segment_size=segment, derived_key_size=derived,
        hkdf_hash_type=common_pb2.HashType.Value(hash_name.upper())))
    return tink_pb2.Keyset(primary_key_id=1, key=[tink_pb2.Keyset.Key(
        key_id=1, status=tink_pb2.ENABLED, output_prefix_type=prefix, key_data=tink_pb2.KeyData(
            type_url="type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
            value=key.SerializeToString(), key_material_type=tink_pb2.KeyData.SYMMETRIC))])


@pytest.mark.parametrize("hash_name, derived, segment", [
    ("sha256", 32, SEGMENT), ("sha256", 16, 1 << 20), ("sha1", 32, SEGMENT), ("sha512", 16, 100)])
def test_as_tink_does_it(way, rng, hash_name, derived, segment):
    tink = pytest.importorskip("tink")
    from tink import secret_key_access, streaming_aead

    streaming_aead.register()
    keyset = keyset_of(hash_name, derived, segment).SerializeToString()
    theirs = tink.proto_keyset_format.parse(keyset, secret_key_access.TOKEN).primitive(streaming_aead.StreamingAead)
    how = {"hash_name": hash_name, "derived_key_bytes": derived, "segment_bytes": segment}
    aad = rng.randbytes(rng.choice((0, 5, 50_000)))
    for size in (*SIZES, 2 << 20) if way.unseal.__func__ is Files.unseal else SIZES:
        text = rng.randbytes(size if segment > 100 else size % 5000)
        out = io.BytesIO()
        out.close = lambda: None
        with theirs.new_encrypting_stream(out, aad) as stream:
            stream.write(text)
        assert way.unseal(out.getvalue(), aad, **how) == text
        with theirs.new_decrypting_stream(io.BytesIO(way.seal(text, aad, **how)), aad) as stream:
            assert stream.read() == text


def test_changes_are_noticed(way, rng):
    sealed = way.seal(rng.randbytes(20_000))
    bounds = list(range(0, len(sealed), SEGMENT))
    wrong = [sealed[:at + more] for at in bounds for more in (0, 1, HEADER, HEADER + TAG, SEGMENT - 1)
             if at + more < len(sealed)]
    wrong.append(sealed[:SEGMENT] + sealed[2 * SEGMENT:3 * SEGMENT] + sealed[SEGMENT:2 * SEGMENT] + sealed[3 * SEGMENT:])
    wrong += [sealed + b"\0", sealed[:SEGMENT] + sealed[2 * SEGMENT:]]
    wrong += [sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1:] for at in (0, 1, 39, 40, SEGMENT, len(sealed) - 1)]
    for data in wrong:
        with pytest.raises(InvalidTag, match="^(header|segment [0-4])"):
            way.unseal(data)
    with pytest.raises(InvalidTag, match="^segment 4: not authentic"):
        way.unseal(sealed[:-1] + bytes([sealed[-1] ^ 1]))
    for how in {"aad": b""}, {"key": bytes(32)}, {"segment_bytes": SEGMENT + 1}, {"derived_key_bytes": 16}:
        with pytest.raises(InvalidTag):
            way.unseal(sealed, **how)


@pytest.mark.parametrize("hangs", [False, True])
def test_file_is_finished_without_a_device_that_fails(hangs, tmp_path, device_array, everything_on_device, rng, monkeypatch):
    """Its memory is freed, unless it cannot be waited for: then the text in it is overwritten."""
    monkeypatch.setattr(_tink_files, "_PIECE_BYTES", 3 * SEGMENT)
    monkeypatch.setattr(_tink_files, "_lost", lost := [])
    fetch, calls = _driver.Lane.fetch, []

    def failing(lane, to, source, count):
        if count > 1000:  # no status
            calls.append(count)
            if len(calls) > 1:
                raise GpuaesError("of this test")
        fetch(lane, to, source, count)

    def hanging(_, doing):
        if doing == "overwriting text" and len(calls) > 1:
            raise GpuaesError("of this test")
        wait(_, doing)

    wait = _driver.Lane.wait
    if hangs:
        monkeypatch.setattr(_driver.Lane, "wait", hanging)
    monkeypatch.setattr(_driver.Lane, "fetch", failing)
    text, files = rng.randbytes(40_000), Files(tmp_path)
    sealed = files.seal(text)
    assert len(calls) == 2
    calls.clear()
    pinned = gpuaes.statistics().pinned_bytes
    assert files.unseal(sealed) == text and len(calls) == 2
    assert len(lost) == (2 if hangs else 0) and not any(any(each.view) for work in lost for each in work._near)
    assert hangs or gpuaes.statistics().pinned_bytes == pinned


def test_next_piece_is_read_while_a_device_works(tmp_path, device_array, everything_on_device, rng, monkeypatch):
    monkeypatch.setattr(_tink_files, "_PIECE_BYTES", 3 * SEGMENT)
    fill, run, read, numbers = _tink_files.fill, _tink_files._OnDevice.run, threading.Semaphore(0), []

    def counted(file, view):
        count = fill(file, view)
        read.release()
        return count

    def waiting(work, number, *arguments):
        """Ends once the piece behind this one is read."""
        numbers.append(number)
        if len(numbers) == 1:
            read.acquire()  # of the first piece, before the work
        assert arguments[-1] or read.acquire(timeout=600)
        run(work, number, *arguments)

    monkeypatch.setattr(_tink_files, "fill", counted)
    monkeypatch.setattr(_tink_files._OnDevice, "run", waiting)
    assert Files(tmp_path).seal(rng.randbytes(40_000)) and numbers == [0, 1, 0, 1]


def test_file_at_the_end_of_the_interpreter(tmp_path, device_array, everything_on_device, rng):
    """No thread can be started there."""
    device_array(b"")
    text, files = rng.randbytes(40_000), Files(tmp_path)
    (tmp_path / "text").write_bytes(text)
    program = f"""if True:
        import atexit
        from gpuaes.formats import _tink_files
        from gpuaes.formats.tink import StreamingAead
        import device_arrays
        _tink_files._PIECE_BYTES = {3 * SEGMENT}
        used, run = [], _tink_files._OnDevice.run
        _tink_files._OnDevice.run = lambda *arguments: (used.append(arguments[1]), run(*arguments))
        import gpuaes
        gpuaes.start()
        def seal():
            StreamingAead({KEY!r}, segment_bytes={SEGMENT}).encrypt_file("text", "sealed", {AAD!r})
            print(used)
        atexit.register(seal)
        seal()"""
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[0, 1, 0, 1]\n[0, 1, 0, 1, 0, 0, 0, 0]\n", 0), done.stderr
    assert files.unseal((tmp_path / "sealed").read_bytes()) == text


def test_error_of_the_thread_that_reads(tmp_path, device_array, everything_on_device, monkeypatch):
    monkeypatch.setattr(_tink_files, "_PIECE_BYTES", 3 * SEGMENT)
    fill, views = _tink_files.fill, []

    def failing(file, view):
        views.append(view)
        if len(views) > 2:
            raise OSError("of this test")
        return fill(file, view)

    monkeypatch.setattr(_tink_files, "fill", failing)
    (tmp_path / "text").write_bytes(bytes(40_000))
    with pytest.raises(OSError, match="of this test"):
        StreamingAead(KEY, segment_bytes=SEGMENT).encrypt_file(tmp_path / "text", tmp_path / "sealed")
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_pinned_memory_is_freed_behind_its_copies(tmp_path, device_array, everything_on_device, monkeypatch):
    device_array(b"")
    (tmp_path / "text").write_bytes(bytes(100))
    wait, free, calls = _driver.Lane.wait, _library.lib.gpuaes_pinned_free, []

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_tink_segments.Segments, "check", interrupted)
    monkeypatch.setattr(_driver.Lane, "wait", lambda *arguments: calls.append("wait") or wait(*arguments))
    monkeypatch.setattr(_library.lib, "gpuaes_pinned_free", lambda *arguments: calls.append("free") or free(*arguments))
    with pytest.raises(KeyboardInterrupt):
        StreamingAead(KEY).encrypt_file(tmp_path / "text", tmp_path / "sealed")
    assert calls[-3:] == ["wait", "free", "free"]


def test_arrays_are_kept_until_the_stream_is_done(dlpack_array):
    text = dlpack_array(bytes(100_000))
    sealed = StreamingAead(KEY, segment_bytes=SEGMENT).encrypt(text)
    assert text.exported() == 1
    assert StreamingAead(KEY, segment_bytes=SEGMENT).decrypt(sealed).tobytes() == bytes(100_000)
    _driver.reap(everything=True)
    assert text.exported() == 0


def test_exception_of_progress_leaves_no_file(tmp_path, rng):
    (tmp_path / "text").write_bytes(rng.randbytes(100))
    with pytest.raises(ZeroDivisionError):
        StreamingAead(KEY).encrypt_file(tmp_path / "text", tmp_path / "sealed", progress=lambda done: done // 0)
    assert os.listdir(tmp_path) == ["text"]


def test_new_file_without_proc(tmp_path, monkeypatch):
    def without_proc(path, *how, **more):
        return open("/nowhere" if str(path).startswith("/proc/") else path, *how, **more)

    (tmp_path / "text").write_bytes(b"text")
    monkeypatch.setattr(_files, "open", without_proc, raising=False)
    StreamingAead(KEY).encrypt_file(tmp_path / "text", tmp_path / "sealed")
    assert (tmp_path / "sealed").stat().st_mode & 0o777 == 0o600


def test_targets(tmp_path):
    """A file keeps its mode, a link stays one, and what is no regular file is left alone."""
    (tmp_path / "text").write_bytes(b"text")
    (tmp_path / "link").symlink_to("sealed")
    aead, umask = StreamingAead(KEY), os.umask(0o027)
    try:
        aead.encrypt_file(tmp_path / "text", tmp_path / "link")
    finally:
        os.umask(umask)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "sealed").stat().st_mode & 0o777 == 0o640
    (tmp_path / "sealed").chmod(0o604)
    modes = []
    aead.encrypt_file(tmp_path / "text", tmp_path / "sealed", progress=lambda done: modes.extend(
        path.stat().st_mode & 0o777 for path in tmp_path.glob(".gpuaes-*")))
    assert modes == [0o600] and (tmp_path / "sealed").stat().st_mode & 0o777 == 0o604
    os.mkfifo(tmp_path / "pipe")
    for target in tmp_path / "pipe", "/dev/null", tmp_path:
        with pytest.raises(ValueError, match="is no regular file$"):
            aead.decrypt_file(tmp_path / "sealed", target)
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe", "sealed", "text"] and (tmp_path / "pipe").is_fifo()


def test_pipe_is_read(tmp_path, rng):
    text = rng.randbytes(50_000)
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write(text)  # less than a pipe holds
    aead = StreamingAead(KEY, segment_bytes=SEGMENT)
    with os.fdopen(read) as pipe:
        aead.encrypt_file(f"/dev/fd/{pipe.fileno()}", tmp_path / "sealed")
    aead.decrypt_file(tmp_path / "sealed", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == text


def test_wrong_arguments(device_array):
    for match, make in [
        ("^derived_key_bytes is 24: expected 16 or 32", lambda: StreamingAead(KEY, derived_key_bytes=24)),
        ("^hash_name is 'md5': expected sha1, sha256, sha512", lambda: StreamingAead(KEY, hash_name="md5")),
        ("^segment_bytes is 56: expected 57 to 1073741824", lambda: StreamingAead(KEY, segment_bytes=56)),
        ("^key has 31 bytes: expected 32 to 1048576", lambda: StreamingAead(KEY[1:])),
        ("^data is in memory of the host", lambda: StreamingAead(KEY).encrypt(b"text")),
        ("^out has 5 bytes: expected 61", lambda: StreamingAead(KEY).encrypt(device_array(b"12345"), out=device_array(b"12345"))),
    ]:
        with pytest.raises(ValueError, match=match):
            make()
    room = device_array(bytes(61))
    with pytest.raises(ValueError, match="^out overlaps data"):
        StreamingAead(KEY).encrypt(type(room)(room.memory, (5,), "|u1"), out=room)
    with pytest.raises(ValueError, match="^the stream has more than 4294967296 segments"):
        _tink_segments.Segments(None, None, bytes(7))._nonces((1 << 32) - 1, 2, False)


def test_key_is_overwritten(tmp_path):
    aead = StreamingAead(KEY)
    key = aead._key.buffer
    assert key.raw == KEY
    aead.close()
    assert not any(key.raw)
    with pytest.raises(ValueError, match="was closed"):
        aead.encrypt_file("/dev/null", tmp_path / "sealed")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key, salt, info, derived", [
    (b"\x0b" * 22, bytes(range(13)), bytes(range(0xF0, 0xFA)),
     "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"),
    (bytes(range(80)), bytes(range(0x60, 0xB0)), bytes(range(0xB0, 0x100)),
     "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
     "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87")])
def test_hkdf_of_rfc_5869(key, salt, info, derived):
    held = ctypes.create_string_buffer(key, len(key))
    secret = _libcrypto.SecretBytes(ctypes.addressof(held), len(key))
    assert _libcrypto.hkdf("sha256", secret, salt, info, len(derived) // 2).buffer.raw.hex() == derived


# A key of AES-256-GCM-HKDF with SHA-256 and segments of 4096 bytes, as Tink serializes it, and its keyset.
VALUE = bytes.fromhex("1207088020102018031a20") + KEY


def keyset_json(value=VALUE, **changed):
    data = {"typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey", "keyMaterialType": "SYMMETRIC",
            "value": base64.b64encode(value).decode()}
    key = {"keyData": data, "status": "ENABLED", "keyId": 5, "outputPrefixType": "RAW", **changed}
    return json.dumps({"primaryKeyId": 7, "key": [key, {**key, "keyId": 7}]})


def test_keyset(tmp_path):
    files = Files(tmp_path)
    sealed = files.seal(b"text")
    for aead in StreamingAead.from_keyset(keyset_json()), StreamingAead.from_keyset(keyset_json().encode(), 5):
        aead.decrypt_file(tmp_path / "sealed", tmp_path / "again", AAD)
        assert (tmp_path / "again").read_bytes() == b"text"
    # Unknown fields of each kind are skipped.
    StreamingAead.from_keyset(keyset_json(bytes.fromhex("2005 2d01020304 310102030405060708 3a0161") + VALUE))
    for match, keyset in [
        ("^keyset is not one of Tink in JSON", "secret"), ("^keyset is not one", "[1]"), ("^keyset is not one", b"\xff"),
        ("^keyset is not one", "[" * 200_000), ("^keyset is not one", '{"primaryKeyId": Infinity, "key": []}'),
        ("^keyset is not one", '{"encryptedKeyset": "AAAA"}'), ("^keyset is not one", '{"primaryKeyId": 7, "key": [1]}'),
        (r"^keyset has the keys \[5, 7\]: expected the key 8", keyset_json().replace('"primaryKeyId": 7', '"primaryKeyId": 8')),
        ("^key 7 has the type 'x': expected 'type.googleapis", keyset_json(keyData={"typeUrl": "x", "value": ""})),
        ("^key 7 has the status 'DISABLED'", keyset_json(status="DISABLED")),
        ("^key 7 has the version 1: expected 0", keyset_json(b"\x08\x01" + VALUE)),
        ("^key 7 has the hash type 2: expected 1, 3, 4", keyset_json(VALUE.replace(b"\x18\x03", b"\x18\x02"))),
        ("^derived_key_bytes is 24", keyset_json(VALUE.replace(b"\x10\x20", b"\x10\x18"))),
        ("^key 7 has a value that is no AesGcmHkdf", keyset_json(b"\x12\x01")),
        ("^key 7 has a value that is no AesGcmHkdf", keyset_json(b"\x1a" + b"\xff" * 10)),
        ("^key 7 has a value that is no AesGcmHkdf", keyset_json(b"\x18\x03")),
        ("^key 7 has a value that is no AesGcmHkdf", keyset_json(b"\x0b")),
    ]:
        with pytest.raises(ValueError, match=match) as raised:
            StreamingAead.from_keyset(keyset)
        assert raised.value.__cause__ is None
    for end in range(len(VALUE)):
        with pytest.raises(ValueError):
            StreamingAead.from_keyset(keyset_json(VALUE[:end]))


@pytest.mark.parametrize("template", [f"AES{bits}_GCM_HKDF_{size}" for bits in (128, 256) for size in ("4KB", "1MB")])
def test_keyset_of_tink(tmp_path, rng, template):
    tink = pytest.importorskip("tink")
    from tink import secret_key_access, streaming_aead

    streaming_aead.register()
    handle = tink.new_keyset_handle(getattr(streaming_aead.streaming_aead_key_templates, template))
    keyset = tink.json_proto_keyset_format.serialize(handle, secret_key_access.TOKEN)
    (tmp_path / "text").write_bytes(text := rng.randbytes(10_000))
    StreamingAead.from_keyset(keyset).encrypt_file(tmp_path / "text", tmp_path / "sealed", AAD)
    theirs = handle.primitive(streaming_aead.StreamingAead)
    with theirs.new_decrypting_stream(io.BytesIO((tmp_path / "sealed").read_bytes()), AAD) as stream:
        assert stream.read() == text
