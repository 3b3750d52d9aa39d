"""gpuaes.formats.cryptotensors: files that the package cryptotensors wrote are read, and others refused.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import base64
import json
import struct
import sys

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("cryptography")
pytest.importorskip("gpuaes", exc_type=ImportError)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: E402
from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: E402

from tensors import arrays_of, same  # noqa: E402

from gpuaes import GpuaesError  # noqa: E402
from gpuaes.formats import cryptotensors  # noqa: E402
from gpuaes.formats.cryptotensors import RefusedFile  # noqa: E402

ALLOWED = '{"local":"package model\\nallow = true","remote":"package model\\nallow = true"}'
KEYS, ENCRYPTION, POLICY, SIGNATURE = "__crypto_keys__", "__encryption__", "__policy__", "__signature__"


class Writer:
    """Files as those of the package, by cryptography, so that each part can be another."""

    def __init__(self, rng, chunk=64, algorithm="aes256gcm"):
        self.rng, self.chunk, self.algorithm = rng, chunk, algorithm
        self.key = rng.randbytes(16 if algorithm == "aes128gcm" else 32)
        self.signer = Ed25519PrivateKey.from_private_bytes(rng.randbytes(32))
        self.public = self.signer.public_key().public_bytes_raw()

    def sealed(self, text, key=None):
        """What the header says of a tensor, and its ciphertext."""
        data_key, iv, key_iv = self.rng.randbytes(len(self.key)), self.rng.randbytes(12), self.rng.randbytes(12)
        iv = iv[:8] + bytes([iv[8] & 127]) + iv[9:]
        wrapped = AESGCM(key or self.key).encrypt(key_iv, data_key, None)
        tags = out = b""
        for i, at in enumerate(range(0, max(len(text), 1), self.chunk)):
            nonce = iv[:8] + (int.from_bytes(iv[8:], "big") + i).to_bytes(4, "big")
            piece = AESGCM(data_key).encrypt(nonce, text[at:at + self.chunk], None)
            out, tags = out + piece[:-16], tags + piece[-16:]
        parts = {"wrapped_key": wrapped[:-16], "key_iv": key_iv, "key_tag": wrapped[-16:], "base_iv": iv, "tags": tags}
        return {name: base64.b64encode(part).decode() for name, part in parts.items()}, out

    def about(self, **other):
        enc = {"alg": self.algorithm, "kid": "e", "kty": "oct"}
        sign = {"alg": "ed25519", "kid": "s", "kty": "okp"}
        return {"chunk_size": self.chunk, "enc": enc, "sign": sign, "version": "2", **other}

    def write(self, path, entries, encryption, data, about=None, policy=ALLOWED, signer=None, change=None):
        """`change` gets the header, signed, before it is written."""
        metadata = {KEYS: json.dumps(about or self.about()), ENCRYPTION: json.dumps(encryption), POLICY: policy, "q": "1"}
        metadata = {name: text for name, text in sorted(metadata.items()) if text is not None}
        header = {"__metadata__": metadata, **entries}
        signature = (signer or self.signer).sign(compact(header))
        metadata[SIGNATURE] = base64.b64encode(signature).decode()
        if change:
            change(header)
        text = compact(header)
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)

    def load(self, path, key=None, public=None, **how):
        return cryptotensors.load_file(path, key or self.key, public or self.public, package="numpy", **how)


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def entry(begin, size):
    return {"dtype": "U8", "shape": [size], "data_offsets": [begin, begin + size]}


@pytest.fixture
def writer(rng):
    return Writer(rng)


@pytest.fixture
def simple(writer, tmp_path):
    """write(...) of a file with the tensor `a` of 150 bytes and an empty one, and its text."""
    text = writer.rng.randbytes(150)
    (a, data), (e, _) = writer.sealed(text), writer.sealed(b"")
    path = tmp_path / "file"

    def write(entries=None, encryption="right", data=data, **how):
        entries = entries if entries is not None else {"a": entry(0, 150), "e": entry(150, 0)}
        writer.write(path, entries, {"a": a, "e": e} if encryption == "right" else encryption, data, **how)
        return path

    write.a, write.e, write.data, write.text = a, e, data, text
    return write


def test_right_file_is_read(simple, writer):
    loaded = writer.load(simple())
    assert loaded["a"].tobytes() == simple.text and loaded["e"].shape == (0,)
    assert cryptotensors.read_metadata(simple(), writer.public) == {"q": "1"}


# ---- The package's own files ------------------------------------------------------------


@pytest.fixture
def theirs():
    pytest.importorskip("cryptotensors")
    return pytest.importorskip("cryptotensors.numpy")


def config(writer, **more):
    secret, b64 = writer.signer.private_bytes_raw(), lambda data: base64.b64encode(data).decode()
    return {
        "enc_key": {"kty": "oct", "alg": writer.algorithm, "kid": "e\u00fc", "k": b64(writer.key)},
        "sign_key": {"kty": "okp", "alg": "ed25519", "kid": "s", "d": b64(secret), "x": b64(writer.public)}, **more,
    }


@pytest.mark.parametrize("algorithm, chunk", [("aes256gcm", None), ("aes256gcm", 4096), ("aes128gcm", 1000)])
def test_files_of_the_package_are_read(algorithm, chunk, theirs, rng, tmp_path):
    writer, tensors = Writer(rng, algorithm=algorithm), arrays_of(rng)
    metadata = {"format": "np", "\u4e2d": '"\n\t\x01/\x7f\u2028\U0001f600'}
    more = {"chunk_size": chunk} if chunk else {}
    theirs.save_file(tensors, str(tmp_path / "file"), metadata=metadata, config=config(writer, **more))
    assert same(writer.load(tmp_path / "file"), tensors)
    assert cryptotensors.read_metadata(tmp_path / "file", writer.public) == metadata
    names = [name for name, _ in cryptotensors.read_tensors(tmp_path / "file", writer.key, writer.public, package="numpy")]
    assert set(names) == set(tensors)


def test_files_are_read_into_device_memory(theirs, rng, tmp_path, cupy, monkeypatch):
    """In waves of some tensors."""
    writer, tensors = Writer(rng), {name: each for name, each in arrays_of(rng).items() if each.ndim == 1}
    theirs.save_file(tensors, str(tmp_path / "file"), config=config(writer, chunk_size=50_000))
    monkeypatch.setattr(cryptotensors, "_WAVE_BYTES", 5000)
    loaded = cryptotensors.load_file(tmp_path / "file", writer.key, writer.public, package="cupy")
    assert all(isinstance(each, cupy.ndarray) for each in loaded.values())
    assert same({name: each.get() for name, each in loaded.items()}, tensors)


def test_files_are_read_into_tensors_of_pytorch(theirs, rng, tmp_path):
    torch = pytest.importorskip("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    writer, tensors = Writer(rng), {n: each for n, each in arrays_of(rng).items() if hasattr(torch, each.dtype.name)}
    theirs.save_file(tensors, str(tmp_path / "file"), config=config(writer, chunk_size=50_000))
    loaded = cryptotensors.load_file(tmp_path / "file", writer.key, writer.public, device)
    assert all(each.device.type == device for each in loaded.values())
    assert same({name: each.cpu().numpy() for name, each in loaded.items()}, tensors)


def test_changes_in_device_memory_are_named(simple, writer, cupy):
    for at, number in (0, 0), (64, 1), (149, 2):
        data = bytearray(simple.data)
        data[at] ^= 1
        with pytest.raises(RefusedFile, match=f"^tensor a: chunk {number} is not authentic: changed$"):
            cryptotensors.load_file(simple(data=data), writer.key, writer.public, package="cupy")


def test_tensors_that_are_not_encrypted(theirs, writer, tmp_path):
    tensors = {"a": numpy.arange(100), "b": numpy.arange(50)}
    theirs.save_file(tensors, str(tmp_path / "file"), config=config(writer, tensors=["b"]))
    with pytest.raises(RefusedFile, match="^tensor a: not encrypted, so that nothing authenticates it: expected allow_plain=True$"):
        writer.load(tmp_path / "file")
    assert same(writer.load(tmp_path / "file", allow_plain=True), tensors)


def test_other_versions_and_algorithms_are_refused(theirs, writer, tmp_path):
    tensors = {"a": numpy.arange(100)}
    theirs.save_file(tensors, str(tmp_path / "file"), config=config(writer, version="1"))
    with pytest.raises(RefusedFile, match="^header: version '1': expected '2'$"):
        writer.load(tmp_path / "file")
    writer.algorithm = "chacha20poly1305"
    theirs.save_file(tensors, str(tmp_path / "file"), config=config(writer))
    with pytest.raises(RefusedFile, match="^header: encrypted by 'chacha20poly1305': expected aes128gcm or aes256gcm$"):
        writer.load(tmp_path / "file")
    theirs.save_file(tensors, str(tmp_path / "file"))
    with pytest.raises(RefusedFile, match="^header: __crypto_keys__ is missing: no file of CryptoTensors$"):
        writer.load(tmp_path / "file")


def test_policies_are_not_evaluated(theirs, writer, tmp_path):
    tensors, policy = {"a": numpy.arange(100)}, {"local": "package model\nallow = false", "remote": ""}
    theirs.save_file(tensors, str(tmp_path / "file"), config=config(writer, policy=policy))
    with pytest.raises(RefusedFile, match="^header: __policy__ does not simply allow everything, and is not evaluated: "):
        writer.load(tmp_path / "file")
    assert same(writer.load(tmp_path / "file", ignore_policy=True), tensors)


# ---- What is refused --------------------------------------------------------------------


def test_wrong_keys_are_refused(simple, writer):
    path, other = simple(), bytes(32)
    with pytest.raises(RefusedFile, match="^header: its signature is wrong: another key, or changed$"):
        writer.load(path, public=Ed25519PrivateKey.from_private_bytes(other).public_key().public_bytes_raw())
    with pytest.raises(RefusedFile, match="^header: its signature is wrong"):
        cryptotensors.read_metadata(path, b"\x02" + bytes(31))
    with pytest.raises(RefusedFile, match="^tensor a: its key is not authentic: another master key, or changed$"):
        writer.load(path, key=other)
    for what in {"key": bytes(16)}, {"public": bytes(31)}:
        with pytest.raises(ValueError, match="^(key|verify_key) has (16|31) bytes: expected 32$") as refused:
            writer.load(path, **what)
        assert refused.type is ValueError


def test_truncated_files_are_refused(simple, writer):
    path = simple()
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(RefusedFile):
            writer.load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(RefusedFile, match="^1 bytes belong to no tensor$"):
        writer.load(path)


def test_file_that_shrinks_is_refused(simple, writer, monkeypatch):
    path = simple()

    def shrink(file, *_):
        path.write_bytes(path.read_bytes()[:-1])

    monkeypatch.setattr(cryptotensors._Signed, "check_policy", shrink)
    with pytest.raises(RefusedFile, match="^truncated while it was read$"):
        writer.load(path)


def test_every_changed_byte_is_noticed(simple, writer):
    path = simple()
    whole = path.read_bytes()
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << writer.rng.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(RefusedFile):
            writer.load(path)
    with pytest.raises(RefusedFile, match="^header: its signature is wrong"):
        writer.load(simple(signer=Ed25519PrivateKey.generate()))


def test_a_signature_has_one_text(simple, writer):
    path = simple()
    whole = path.read_bytes()
    at = whole.index(b'=="', whole.index(SIGNATURE.encode())) - 1  # the last digit: four of its bits are of no byte
    digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = digits[digits.index(whole[at]) ^ 1]
    path.write_bytes(whole[:at] + bytes([other]) + whole[at + 1 :])
    with pytest.raises(RefusedFile, match="has bits of no byte$"):
        writer.load(path)


def test_exchanged_chunks_and_tensors_are_refused(writer, tmp_path):
    path = tmp_path / "file"
    (a, one), (b, two) = (writer.sealed(bytes(200)) for _ in range(2))
    entries = {"a": entry(0, 200), "b": entry(200, 200)}
    chunks = [one[at:at + 64] for at in range(0, 200, 64)]
    for data, said in (
        (chunks[1] + chunks[0] + chunks[2] + chunks[3] + two, "tensor a: chunk 0"),
        (chunks[0] + chunks[2] + chunks[1] + chunks[3] + two, "tensor a: chunk 1"),
        (two + one, "tensor a: chunk 0"),
        (one + two[:64] + one[64:128] + two[128:], "tensor b: chunk 1"),
    ):
        writer.write(path, entries, {"a": a, "b": b}, data)
        with pytest.raises(RefusedFile, match=f"^{said} is not authentic: changed$"):
            writer.load(path)


def wrong_files():
    """Those of somebody who can sign: what differs, and what is said."""
    tags = base64.b64encode(bytes(48)).decode()
    for field, value, said in (
        ("tags", tags[:-4], "tensor a: tags: 45 bytes: expected 48"),
        ("tags", tags + tags, "tensor a: tags: 96 bytes: expected 48"),
        ("tags", tags, "tensor a: chunk 0 is not authentic"),
        ("tags", "", "tensor a: tags: 0 bytes: expected 48"),
        ("tags", None, "tensor a: tags: 0 bytes: expected 48"),
        ("tags", 3, "tensor a: tags: 0 bytes: expected 48"),
        ("tags", "\u00fc", "tensor a: tags: no base64"),
        ("tags", "====", "tensor a: tags: no base64"),
        ("base_iv", "AAAA", "tensor a: base_iv: 3 bytes: expected 12"),
        ("base_iv", base64.b64encode(b"\xff" * 12).decode(), "tensor a: base_iv has no numbers for 3 chunks"),
        ("wrapped_key", tags, "tensor a: wrapped_key: 48 bytes: expected 32"),
        ("key_iv", ["A"], "tensor a: key_iv: 0 bytes: expected 12"),
        ("key_tag", "", "tensor a: key_tag: 0 bytes: expected 16"),
    ):
        yield {"field": (field, value)}, said
    for about, said in (
        ({"version": "3"}, "header: version '3': expected '2'"),
        ({"version": 2}, "header: version 2: expected '2'"),
        ({"version": ["x" * 1000]}, "header: version "),
        ({"chunk_size": 0}, "header: chunk_size is 0: expected a number above 0"),
        ({"chunk_size": True}, "header: chunk_size is True"),
        ({"chunk_size": -1}, "header: chunk_size is -1"),
        ({"chunk_size": 1.5}, "header: chunk_size is 1.5"),
        ({"chunk_size": None}, "header: chunk_size is None"),
        ({"chunk_size": 1}, "tensor a: tags: 48 bytes: expected 2400"),
        ({"chunk_size": 10**4000}, "tensor a: tags: 48 bytes: expected 16"),
        ({"enc": None}, "header: encrypted by ''"),
        ({"enc": {"alg": 3}}, "header: encrypted by ''"),
        ({"sign": {"alg": "none"}}, "header: signed by 'none': expected 'ed25519'"),
        ({"sign": []}, "header: signed by ''"),
    ):
        yield {"about": about}, said
    for encryption, said in (
        ({"b": {}}, "header: __encryption__ names other tensors"),
        ({"a": 3}, "tensor a: __encryption__ does not describe it"),
        ({}, "tensor a: not encrypted"),
        ([], "header: __encryption__: list, no object of JSON"),
        (None, "header: __encryption__: NoneType, no object"),
    ):
        yield {"encryption": encryption}, said
    for policy, said in (
        (None, "header: __policy__ is missing"),
        ("3", "header: __policy__: int, no object"),
        ("[" * 100_000, "header: __policy__: no object of JSON"),
        ("{}", "header: __policy__ does not simply allow"),
        ('{"local": "", "local": "package model\\nallow = true"}', "header: __policy__: no object of JSON: a name is there twice"),
    ):
        yield {"policy": policy}, said
    half = {"dtype": "U8", "shape": [75], "data_offsets": [0, 75]}
    for entries, said in (
        ({"a": {**entry(0, 150), "shape": [1 << 62, 1 << 62]}}, "tensor a: its shape is too large"),
        ({"a": entry(0, 150), "b": entry(0, 150)}, "tensor b: truncated, or its data lie elsewhere"),
        ({"a": entry(0, 1 << 62)}, "tensor a: truncated, or its data lie elsewhere"),
        ({"a": half}, "75 bytes belong to no tensor"),
        ({"a": {**entry(0, 150), "dtype": "F6_E2M3", "shape": [200]}, "e": entry(150, 0)}, "tensor a: numpy does not have its type"),
        ({"a": {**entry(0, 150), "shape": [150] + [1] * 100}, "e": entry(150, 0)}, "tensor a: numpy cannot have its shape"),
    ):
        yield {"entries": entries}, said


@pytest.mark.parametrize("how, said", [pytest.param(*both, id=str(n)) for n, both in enumerate(wrong_files())])
def test_wrong_files_are_refused(how, said, simple, writer):
    if field := how.pop("field", None):
        how["encryption"] = {"a": {**simple.a, field[0]: field[1]}, "e": simple.e}
    if "about" in how:
        how["about"] = writer.about(**how["about"])
    with pytest.raises(RefusedFile, match=f"^({said})"):
        writer.load(simple(**how))


def test_wrong_signatures_are_refused(simple, writer):
    for value, said in (("", "0 bytes: expected 64"), ("x", "no base64"), ("AAAA", "3 bytes: expected 64")):
        with pytest.raises(RefusedFile, match=f"^header: {SIGNATURE}: {said}$"):
            writer.load(simple(change=lambda header: header["__metadata__"].update({SIGNATURE: value})))
    for change in (
        lambda header: header["__metadata__"].update({"q": "2"}),
        lambda header: header["__metadata__"].update({"more": ""}),
        lambda header: header["a"].update({"dtype": "I8"}),
        lambda header: header["a"].update({"shape": [75, 2]}),
        lambda header: header.update({"f": header.pop("e")}),
    ):
        with pytest.raises(RefusedFile, match="^header: its signature is wrong"):
            writer.load(simple(change=change))
    # The signature is over the members in the order of the data.
    loaded = writer.load(simple(change=lambda header: header.update({"a": header.pop("a")})))
    assert loaded["a"].tobytes() == simple.text


def test_lack_of_cryptography_is_named(simple, writer, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(GpuaesError, match="^verifying the signature: the package cryptography is needed"):
        writer.load(simple())
