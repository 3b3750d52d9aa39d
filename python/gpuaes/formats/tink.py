"""Tink's streaming AEAD, AES-GCM-HKDF: a file in segments, each with a tag.

    from gpuaes.formats.tink import StreamingAead

    aead = StreamingAead(key_material, segment_bytes=1 << 20)
    aead.encrypt_file("plain", "sealed", b"name")
    aead.decrypt_file("sealed", "plain", b"name")      # InvalidTag, and no file, where something was changed

The format: https://developers.google.com/tink/streaming-aead/aes_gcm_hkdf_streaming

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import tempfile
from typing import Any, BinaryIO, Callable, Iterator

from .. import _libcrypto
from .._arguments import host_memory
from .._gcm import TAG_BYTES
from .._libcrypto import SecretBytes
from ..aead import AESGCM
from ..errors import InvalidTag

__all__ = ["StreamingAead"]

_PREFIX = 7
_SEGMENTS = 1 << 32
_HASHES = ("sha1", "sha256", "sha512")
Progress = Callable[[int], Any]


class StreamingAead:
    """A key with its parameters, as Tink's AesGcmHkdfStreamingKey. `segment_bytes` counts the tag, and in the first
    segment the header."""

    def __init__(
        self, key: Any, *, derived_key_bytes: int = 32, hash_name: str = "sha256", segment_bytes: int = 1 << 20
    ) -> None:
        if derived_key_bytes not in (16, 32):
            raise ValueError(f"derived_key_bytes is {derived_key_bytes!r}: expected 16 or 32")
        if hash_name not in _HASHES:
            raise ValueError(f"hash_name is {hash_name!r}: expected {', '.join(_HASHES)}")
        self._header = 1 + derived_key_bytes + _PREFIX
        if not self._header + TAG_BYTES < segment_bytes < 1 << 31:
            raise ValueError(
                f"segment_bytes is {segment_bytes!r}: expected {self._header + TAG_BYTES + 1} to {(1 << 31) - 1}"
            )
        memory = host_memory(key, "key")
        if not max(16, derived_key_bytes) <= memory.bytes <= 1 << 16:
            raise ValueError(f"key has {memory.bytes} bytes: expected {max(16, derived_key_bytes)} to {1 << 16}")
        self._key = SecretBytes(memory.address, memory.bytes)
        self._derived, self._hash, self._segment = derived_key_bytes, hash_name, segment_bytes

    def encrypt_file(self, source: Any, target: Any, aad: bytes = b"", progress: Progress | None = None) -> None:
        """Writes `target` from the file `source`. `progress` is called with the bytes of text that are done."""
        self._run(self._sealed, source, target, aad, progress)

    def decrypt_file(self, source: Any, target: Any, aad: bytes = b"", progress: Progress | None = None) -> None:
        """The inverse. Raises InvalidTag where a segment is not authentic, or the file is truncated: `target` is then
        what it was."""
        self._run(self.texts, source, target, aad, progress)

    def _run(self, pieces: Any, source: Any, target: Any, aad: bytes, progress: Progress | None) -> None:
        target = os.path.abspath(os.fspath(target))
        handle, name = tempfile.mkstemp(prefix=".gpuaes-", dir=os.path.dirname(target))  # mode 0600
        done = 0
        try:
            with os.fdopen(handle, "wb") as out, open(source, "rb") as file:
                for piece, text_bytes in pieces(file, aad):
                    out.write(piece)
                    done += text_bytes
                    if progress is not None:
                        progress(done)
                out.flush()
                os.fsync(out.fileno())
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise

    def _sealed(self, file: BinaryIO, aad: bytes) -> Iterator[tuple[bytes, int]]:
        """The header, and each segment as it is written, with the length of its text."""
        salt, prefix = os.urandom(self._derived), os.urandom(_PREFIX)
        yield bytes([self._header]) + salt + prefix, 0
        with AESGCM(self._derive(salt, aad).buffer) as aes:
            for nonce, text in self._segments(file, prefix, self._segment - TAG_BYTES):
                yield aes.encrypt(nonce, text), len(text)

    def texts(self, file: BinaryIO, aad: bytes = b"") -> Iterator[tuple[bytes, int]]:
        """The text of each segment of an open file, and its length, once its tag is right. The whole is authentic when
        the iteration ends."""
        header = file.read(self._header)
        if len(header) != self._header or header[0] != self._header:
            raise InvalidTag("header: truncated, or of other parameters")
        with AESGCM(self._derive(header[1:-_PREFIX], aad).buffer) as aes:
            for number, (nonce, sealed) in enumerate(self._segments(file, header[-_PREFIX:], self._segment)):
                try:
                    text = aes.decrypt(nonce, sealed)
                except InvalidTag:
                    raise InvalidTag(f"segment {number}: not authentic: another key, changed or truncated") from None
                yield text, len(text)

    def _segments(self, file: BinaryIO, prefix: bytes, size: int) -> Iterator[tuple[bytes, bytes]]:
        """Nonces and segments; the last nonce ends with 1, which is known by reading one segment ahead."""
        number, piece = 0, file.read(size - self._header)
        last = False
        while not last:
            following = file.read(size)
            last = not following
            if number == _SEGMENTS:
                raise ValueError(f"the file has more than {_SEGMENTS} segments: expected larger segments")
            yield prefix + number.to_bytes(4, "big") + bytes([last]), piece
            number, piece = number + 1, following

    def _derive(self, salt: bytes, aad: bytes) -> SecretBytes:
        return _libcrypto.hkdf(self._hash, self._key, salt, aad, self._derived)
