"""Tink's streaming AEAD, AES-GCM-HKDF: a file or an array in segments, each with a tag.

    from gpuaes.formats.tink import StreamingAead

    aead = StreamingAead(key_material, segment_bytes=1 << 20)
    aead.encrypt_file("plain", "sealed", b"name")
    aead.decrypt_file("sealed", "plain", b"name")      # InvalidTag, and no file, where something was changed
    sealed = aead.encrypt(tensor, b"name")             # in memory of a device, all segments at once

The format: https://developers.google.com/tink/streaming-aead/aes_gcm_hkdf_streaming
docs/formats-tink.md says what is checked.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any, overload

from .. import _driver, _libcrypto, _library, _memory
from .._arguments import host_memory, small_bytes, writable
from .._driver import DeviceMemory
from .._gcm import TAG_BYTES
from .._libcrypto import SecretBytes
from .._memory import Memory
from .._owner import Owner
from .._types import AnyPath, Array, CudaArray, Data, DataT, DLPackArray, ElementsArray, Path, T
from ..errors import GpuaesError, InvalidTag
from . import _tink_files, _tink_keyset
from ._files import replacing
from ._tink_files import Progress
from ._tink_segments import PREFIX_BYTES, Layout, Segments

__all__ = ["StreamingAead"]

_HASHES = ("sha1", "sha256", "sha512")
_KEY_MOST = _AAD_MOST = 1 << 20


class StreamingAead(Owner):
    """A key with its parameters, as Tink's AesGcmHkdfStreamingKey. `segment_bytes` counts the tag, and in the first
    segment the header.

    close(), or the collection of the object, overwrites the key.
    """

    _instead = "make another of the key, in each process"

    def __init__(
        self, key: Data, *, derived_key_bytes: int = 32, hash_name: str = "sha256", segment_bytes: int = 1 << 20
    ) -> None:
        if derived_key_bytes not in (16, 32):
            raise ValueError(f"derived_key_bytes is {derived_key_bytes!r}: expected 16 or 32")
        if hash_name not in _HASHES:
            raise ValueError(f"hash_name is {hash_name!r}: expected {', '.join(_HASHES)}")
        header = 1 + derived_key_bytes + PREFIX_BYTES
        if not header + TAG_BYTES < segment_bytes <= _library.QUEUE_BYTES:
            raise ValueError(
                f"segment_bytes is {segment_bytes!r}: expected {header + TAG_BYTES + 1} to {_library.QUEUE_BYTES}"
            )
        memory = host_memory(key, "key")
        least = max(16, derived_key_bytes)
        if not least <= memory.bytes <= _KEY_MOST:
            raise ValueError(f"key has {memory.bytes} bytes: expected {least} to {_KEY_MOST}")
        self._key = SecretBytes(memory.address, memory.bytes)
        super().__init__()
        self._derived, self._hash, self._layout = derived_key_bytes, hash_name, Layout(header, segment_bytes)

    def _facts(self) -> str:
        return f"AES{8 * self._derived}_GCM_HKDF, {self._hash}, segments of {self._layout.segment} bytes"

    @classmethod
    def from_keyset(cls, keyset: str | bytes, key_id: int | None = None) -> StreamingAead:
        """Makes one of a cleartext keyset of Tink in JSON: of its primary key, or of the key `key_id`, such as for files that
        were encrypted before the primary key was rotated. What JSON has of the key is not overwritten."""
        return cls(**_tink_keyset.arguments(keyset, key_id))

    # ---- Files ------------------------------------------------------------------------

    def encrypt_file(self, source: AnyPath, target: Path, aad: Data = b"", progress: Progress | None = None) -> None:
        """Writes `target`, a regular file, from the file `source`. `progress` is called with the bytes of text that are done, each time
        after 32 MiB or less, or after a segment where that is longer.

        A device works on the segments where AESGCM would use one for data of the host: see gpuaes.start().
        """
        with open(source, "rb", buffering=0) as file, replacing(target, buffering=0) as out:
            header, segments = self._new(aad)
            out.write(header)
            _tink_files.run(segments, True, file, out, progress)

    def decrypt_file(self, source: AnyPath, target: Path, aad: Data = b"", progress: Progress | None = None) -> None:
        """The inverse. Raises InvalidTag where a segment is not authentic, or the file is truncated: `target` is then
        what it was."""
        with open(source, "rb", buffering=0) as file, replacing(target, buffering=0) as out:
            header = bytearray(self._layout.header)
            count = _tink_files.fill(file, memoryview(header))
            _tink_files.run(self._old(bytes(header[:count]), aad), False, file, out, progress)

    # ---- Memory of a device -----------------------------------------------------------

    @overload
    def encrypt(self, data: Array, aad: Data = b"", *, out: DataT) -> DataT: ...
    @overload
    def encrypt(self, data: ElementsArray[T], aad: Data = b"", *, out: None = None) -> T: ...
    @overload
    def encrypt(self, data: CudaArray | DLPackArray, aad: Data = b"", *, out: None = None) -> DeviceMemory: ...
    def encrypt(self, data: Any, aad: Data = b"", *, out: Any = None) -> Any:
        """Returns the stream with the bytes of `data`, an array in memory of a device, in a new array or in `out`. All is
        queued on the current stream of the array's package; does not wait for it."""
        memory = _on_device(data)
        layout = self._layout
        count = layout.of_text(0, memory.bytes)
        result, place = _result(out, memory, layout.header + memory.bytes + count * TAG_BYTES)
        header, segments = self._new(aad)
        with _lane(memory) as lane:
            lane.refuse_capture("encrypting a stream", "encrypt() outside")
            slot = lane.slot()
            ctypes.memmove(slot.address, header, len(header))
            lane.send(place.address, slot.address, len(header))
            segments.queue_all(True, memory, place, count, memory.bytes)
        if out is not None:
            _memory.written(place)
        return result

    @overload
    def decrypt(self, data: Array, aad: Data = b"", *, out: DataT) -> DataT: ...
    @overload
    def decrypt(self, data: ElementsArray[T], aad: Data = b"", *, out: None = None) -> T: ...
    @overload
    def decrypt(self, data: CudaArray | DLPackArray, aad: Data = b"", *, out: None = None) -> DeviceMemory: ...
    def decrypt(self, data: Any, aad: Data = b"", *, out: Any = None) -> Any:
        """Returns the text of a stream, which is in memory of a device, in a new array or in `out`. Waits. Raises
        InvalidTag where a segment is not authentic, or the stream is truncated; all of `out` is zeros then."""
        memory = _on_device(data)
        layout = self._layout
        with _lane(memory) as lane:
            lane.refuse_capture("decrypting a stream", "decrypt() outside")
            segments = self._old(lane.read(memory.address, min(memory.bytes, layout.header)), aad)
            count, text_bytes = layout.of_sealed(0, memory.bytes - layout.header)
            result, place = _result(out, memory, text_bytes)
            try:
                for first, batch in segments.queue_all(False, place, memory, count, text_bytes):
                    segments.check(batch, first)
            except BaseException:
                with contextlib.suppress(GpuaesError):
                    lane.fill(place.address, 0, text_bytes)
                    lane.wait("decrypting a stream")
                raise
        if out is not None:
            _memory.written(place)
        return result

    # ---- Headers ----------------------------------------------------------------------

    def _new(self, aad: Any) -> tuple[bytes, Segments]:
        """A header, and the segments behind it."""
        header = bytes([self._layout.header]) + os.urandom(self._derived + PREFIX_BYTES)
        return header, self._old(header, aad)

    def _old(self, header: bytes, aad: Any) -> Segments:
        self.check_open()
        if len(header) != self._layout.header or header[0] != self._layout.header:
            raise InvalidTag("header: truncated, or of other parameters")
        info = small_bytes(aad, "aad", 0, _AAD_MOST)
        key = _libcrypto.hkdf(self._hash, self._key, header[1:-PREFIX_BYTES], info, self._derived)
        return Segments(self._layout, key, header[-PREFIX_BYTES:])

    def _release(self) -> None:
        self._key.close()


def _on_device(data: Any) -> Memory:
    memory = _memory.view(data)
    if memory.device is None:
        raise ValueError("data is in memory of the host: expected memory of a device, or encrypt_file(), decrypt_file()")
    return memory


def _lane(memory: Memory) -> _driver.Lane:
    return _driver.lane(memory.device or 0, memory.stream, memory.stream_owner)


def _result(out: Any, memory: Memory, count: int) -> tuple[Any, Memory]:
    if out is None:
        return _memory.new_like(memory, count)
    place = writable(out, memory, count)
    if place.overlaps(memory):
        raise ValueError("out overlaps data: expected memory apart from it, since a stream is longer than its text")
    return out, place
