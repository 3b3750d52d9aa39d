"""gpuaes.formats.tink compared with PyPI's tink, and what must be refused.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import io
import os

import pytest

pytest.importorskip("gpuaes", exc_type=ImportError)
from gpuaes import InvalidTag, _libcrypto  # noqa: E402
from gpuaes.formats.tink import StreamingAead  # noqa: E402

KEY, AAD, SEGMENT, HEADER, TAG = bytes(range(32)), b"name", 4096, 40, 16
FIRST = SEGMENT - HEADER - TAG
SIZES = (0, 1, FIRST - 1, FIRST, FIRST + 1, FIRST + SEGMENT - TAG, FIRST + SEGMENT - TAG + 1, 100_000)


def seal(folder, text, **how):
    (folder / "text").write_bytes(text)
    StreamingAead(KEY, **{"segment_bytes": SEGMENT, **how}).encrypt_file(folder / "text", folder / "sealed", AAD)
    return (folder / "sealed").read_bytes()


def unseal(folder, sealed, aad=AAD, key=KEY, **how):
    (folder / "sealed").write_bytes(sealed)
    calls = []
    aead = StreamingAead(key, **{"segment_bytes": SEGMENT, **how})
    aead.decrypt_file(folder / "sealed", folder / "again", aad, calls.append)
    text = (folder / "again").read_bytes()
    assert calls[-1] == len(text)
    return text


@pytest.mark.parametrize("size", SIZES)
def test_round_trip(tmp_path, rng, size):
    text = rng.randbytes(size)
    assert unseal(tmp_path, seal(tmp_path, text)) == text
    assert os.stat(tmp_path / "sealed").st_mode & 0o777 == 0o600


@pytest.mark.parametrize("hash_name, derived, segment", [
    ("sha256", 32, SEGMENT), ("sha256", 16, 1 << 20), ("sha1", 32, SEGMENT), ("sha512", 16, 100)])
def test_as_tink_does_it(tmp_path, rng, hash_name, derived, segment):
    tink = pytest.importorskip("tink")
    from tink import secret_key_access, streaming_aead
    from tink.proto import aes_gcm_hkdf_streaming_pb2 as pb, common_pb2, tink_pb2

    streaming_aead.register()
    key = pb.AesGcmHkdfStreamingKey(key_value=KEY, params=pb.AesGcmHkdfStreamingParams(
        ciphertext_segment_size=segment, derived_key_size=derived,
        hkdf_hash_type=common_pb2.HashType.Value(hash_name.upper())))
    keyset = tink_pb2.Keyset(primary_key_id=1, key=[tink_pb2.Keyset.Key(
        key_id=1, status=tink_pb2.ENABLED, output_prefix_type=tink_pb2.RAW, key_data=tink_pb2.KeyData(
            type_url="type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
            value=key.SerializeToString(), key_material_type=tink_pb2.KeyData.SYMMETRIC))])
    handle = tink.proto_keyset_format.parse(keyset.SerializeToString(), secret_key_access.TOKEN)
    theirs = handle.primitive(streaming_aead.StreamingAead)
    how = {"hash_name": hash_name, "derived_key_bytes": derived, "segment_bytes": segment}
    for size in (*SIZES, 3 << 20):
        text = rng.randbytes(size if segment > 100 else size % 5000)
        out = io.BytesIO()
        out.close = lambda: None
        with theirs.new_encrypting_stream(out, AAD) as stream:
            stream.write(text)
        assert unseal(tmp_path, out.getvalue(), **how) == text
        with theirs.new_decrypting_stream(io.BytesIO(seal(tmp_path, text, **how)), AAD) as stream:
            assert stream.read() == text


def test_changes_are_noticed(tmp_path, rng):
    sealed = seal(tmp_path, rng.randbytes(20_000))
    (tmp_path / "again").write_bytes(b"before")
    bounds = list(range(0, len(sealed), SEGMENT))
    wrong = [sealed[:at + more] for at in bounds for more in (0, 1, HEADER, HEADER + TAG, SEGMENT - 1)
             if at + more < len(sealed)]
    wrong.append(sealed[:SEGMENT] + sealed[2 * SEGMENT:3 * SEGMENT] + sealed[SEGMENT:2 * SEGMENT] + sealed[3 * SEGMENT:])
    wrong += [sealed + b"\0", sealed[:SEGMENT] + sealed[2 * SEGMENT:]]
    wrong += [sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1:] for at in (0, 1, 39, 40, SEGMENT, len(sealed) - 1)]
    for data in wrong:
        with pytest.raises(InvalidTag):
            unseal(tmp_path, data)
    for how in {"aad": b""}, {"key": bytes(32)}, {"segment_bytes": SEGMENT + 1}, {"derived_key_bytes": 16}:
        with pytest.raises(InvalidTag):
            unseal(tmp_path, sealed, **how)
    assert (tmp_path / "again").read_bytes() == b"before"
    assert sorted(os.listdir(tmp_path)) == ["again", "sealed", "text"]


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
