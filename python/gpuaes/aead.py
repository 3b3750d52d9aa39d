"""AES-GCM for bytes and tensors, as cryptography.hazmat.primitives.ciphers.aead has it.

    from gpuaes.aead import AESGCM

    aes = AESGCM(AESGCM.generate_key(bit_length=256))
    sealed = aes.encrypt(nonce, tensor, b"name of the tensor")    # on its device, on the current stream
    again = aes.decrypt(nonce, sealed, b"name of the tensor")     # InvalidTag where something was changed

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, overload

from . import _gcm, _library, _memory
from ._arguments import host_memory, secret_key, small_bytes, writable
from ._driver import DeviceMemory
from ._gcm import TAG_BYTES
from ._memory import Memory
from ._owner import Unique
from ._types import Buffer, CudaArray, Data, DataT, DLPackArray, ElementsArray, T
from .errors import GpuaesError, InvalidTag

__all__ = ["AESGCM"]

_NO_AAD = (0, 0)

# Results to which a device that hangs may still write: never freed.
_lost: list[Any] = []


class AESGCM(Unique):
    """AES in Galois/Counter Mode, NIST SP 800-38D, with a key of 16, 24 or 32 bytes and tags of 16 bytes.

    `data` is bytes, or anything else with memory in one piece: a tensor of PyTorch, an array of CuPy, NumPy or JAX,
    whatever has the buffer protocol, `__cuda_array_interface__` or DLPack. Its bytes count, whatever their type.
    Results are of the same package and on the same device, with elements of one byte; bytes for bytes. For what is of no
    package known here they are a gpuaes.DeviceMemory, or bytes of the host. A sealed message is the ciphertext, followed
    by the tag.

    A nonce has 8 to 128 bytes, best 12, and *must never be used twice with one key*. Nonce and `associated_data` are
    bytes of the host.

    *Device memory* is worked on by its own device, on the current stream of its package, in its order. encrypt() does
    not wait, but with more than 64 MiB of text, or more than 3840 bytes of associated data. decrypt() waits, since it
    must know whether the message is authentic; gpuaes.Batch decrypts without. While the stream is captured into a
    CUDA graph, both raise GpuaesError.

    *Memory of the host* is worked on by libcrypto, or by a device where one is started and the data is large; see
    gpuaes.start(). A device that fails changes nothing of the results.

    An object may be used by several threads. close(), or the end of a `with`, overwrites the key; so does the
    collection of the object. An object that was closed raises ValueError, and so does one that a finalizer finds in a
    reference cycle that is collected. It can be neither copied nor pickled: make another of the key. After a fork, a
    child can use it for memory of the host.
    """

    _instead = "make another of the key, in each process"

    def __init__(self, key: Data) -> None:
        """`key` is bytes of the host; raises ValueError unless it has 16, 24 or 32 of them."""
        self._keys = _gcm.GcmKeys(secret_key(key))

    def _facts(self) -> str:
        return f"key of {8 * self._keys.key.bytes} bits"

    def _is_open(self) -> bool:
        return hasattr(self, "_keys") and self._keys._is_open()

    @staticmethod
    def generate_key(bit_length: int = 256) -> bytes:
        """Returns a random key; `bit_length` is 128, 192 or 256."""
        if bit_length not in (128, 192, 256):
            raise ValueError(f"bit_length is {bit_length!r}: expected 128, 192 or 256")
        return os.urandom(bit_length // 8)

    @overload
    def encrypt(self, nonce: Data, data: Data, associated_data: Data | None = None, *, out: DataT) -> DataT: ...
    @overload
    def encrypt(self, nonce: Data, data: ElementsArray[T], associated_data: Data | None = None, *, out: None = None) -> T: ...
    @overload
    def encrypt(self, nonce: Data, data: CudaArray, associated_data: Data | None = None, *, out: None = None) -> DeviceMemory: ...
    @overload
    def encrypt(
        self, nonce: Data, data: DLPackArray, associated_data: Data | None = None, *, out: None = None
    ) -> DeviceMemory | bytes: ...
    @overload
    def encrypt(self, nonce: Data, data: Buffer, associated_data: Data | None = None, *, out: None = None) -> bytes: ...
    def encrypt(self, nonce: Data, data: Any, associated_data: Data | None = None, *, out: Any = None) -> Any:
        """Returns the ciphertext of `data` and its tag of 16 bytes, in one piece.

        With `out`, a writable array of as many bytes in the same kind of memory, it is written there, and `out` is
        returned. It may begin where `data` does: `encrypt(nonce, tensor[:-16], out=tensor)` works in place. Else
        they must not overlap.
        """
        return self._encrypt(nonce, data, associated_data, out, "out")

    def _encrypt(self, nonce: Any, data: Any, associated_data: Any, out: Any, name: str) -> Any:
        """`name` is what messages call `out`."""
        with self._keys as keys:
            nonce, aad, _kept = self._parameters(nonce, associated_data)
            memory = _memory.view(data)
            if memory.bytes > _library.GCM_TEXT_MOST:
                raise _gcm.too_long(memory.bytes)
            result, place = self._result(out, memory, memory.bytes + TAG_BYTES, name)
            count = memory.bytes
            if memory.device is not None:
                _gcm.run_on_device(keys, True, nonce, aad, memory, place, count, place.address + count)
            else:
                result, place = _on_host(
                    keys, True, nonce, aad, memory, result, place, out, name, count, lambda m: m.address + count
                )
            return self._finished(result, place, out)

    @overload
    def decrypt(self, nonce: Data, data: Data, associated_data: Data | None = None, *, out: DataT) -> DataT: ...
    @overload
    def decrypt(self, nonce: Data, data: ElementsArray[T], associated_data: Data | None = None, *, out: None = None) -> T: ...
    @overload
    def decrypt(self, nonce: Data, data: CudaArray, associated_data: Data | None = None, *, out: None = None) -> DeviceMemory: ...
    @overload
    def decrypt(
        self, nonce: Data, data: DLPackArray, associated_data: Data | None = None, *, out: None = None
    ) -> DeviceMemory | bytes: ...
    @overload
    def decrypt(self, nonce: Data, data: Buffer, associated_data: Data | None = None, *, out: None = None) -> bytes: ...
    def decrypt(self, nonce: Data, data: Any, associated_data: Data | None = None, *, out: Any = None) -> Any:
        """Returns the text of `data`, which ends with its tag of 16 bytes.

        `out` is as for encrypt(), without the tag: `decrypt(nonce, tensor, out=tensor[:-16])` works in place.

        Raises InvalidTag where the message is not authentic, or shorter than a tag. Nothing of its text can be read
        then: `out` has zeros, as where anything else fails once the work has begun, unless the device cannot write any more.
        """
        return self._decrypt(nonce, data, associated_data, out, "out")

    def _decrypt(self, nonce: Any, data: Any, associated_data: Any, out: Any, name: str) -> Any:
        with self._keys as keys:
            nonce, aad, _kept = self._parameters(nonce, associated_data)
            memory = _memory.view(data)
            count = memory.bytes - TAG_BYTES
            if count < 0:
                raise InvalidTag(f"data has {memory.bytes} bytes: a message has {TAG_BYTES} or more")
            if count > _library.GCM_TEXT_MOST:
                raise _gcm.too_long(count)
            result, place = self._result(out, memory, count, name)
            tag = memory.address + count
            if memory.device is not None:
                authentic = _gcm.run_on_device(keys, False, nonce, aad, memory, place, count, tag)
                if not authentic:
                    raise InvalidTag
            else:
                result, place = _on_host(
                    keys, False, nonce, aad, memory, result, place, out, name, count, lambda _: tag
                )
            return self._finished(result, place, out)

    def encrypt_into(self, nonce: Data, data: Data, associated_data: Data | None, buf: Data) -> int:
        """Writes what encrypt() returns to `buf`, which is as its `out`, and returns the number of bytes."""
        count = _memory.view(buf, writable=True, name="buf").bytes
        self._encrypt(nonce, data, associated_data, buf, "buf")
        return count

    def decrypt_into(self, nonce: Data, data: Data, associated_data: Data | None, buf: Data) -> int:
        """The same for decrypt(). Where it raises InvalidTag, `buf` has zeros."""
        count = _memory.view(buf, writable=True, name="buf").bytes
        self._decrypt(nonce, data, associated_data, buf, "buf")
        return count

    def close(self) -> None:
        """Overwrites the key, at the end of calls that other threads have begun: work that is queued needs it no more.
        The object cannot be used any more; closing it again does nothing."""
        self._keys.close()

    def __enter__(self) -> AESGCM:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def _parameters(nonce: Any, associated_data: Any) -> tuple[bytes, tuple[int, int], object]:
        nonce = small_bytes(nonce, "nonce", 8, 128)
        if associated_data is None:
            return nonce, _NO_AAD, None
        aad = host_memory(associated_data, "associated_data")
        return nonce, (aad.address, aad.bytes), aad

    @staticmethod
    def _result(out: Any, data: Memory, count: int, name: str) -> tuple[Any, Memory]:
        if out is None:
            return _memory.new_like(data, count)
        return out, writable(out, data, count, name)

    @staticmethod
    def _finished(result: Any, place: Memory, out: Any) -> Any:
        if out is not None or place.kind == "jax":
            _memory.written(place)
        return result


def _on_host(
    keys: _gcm.GcmKeys,
    encrypt: bool,
    nonce: bytes,
    aad: tuple[int, int],
    data: Memory,
    result: Any,
    place: Memory,
    out: Any,
    name: str,
    count: int,
    tag: Any,
) -> tuple[Any, Memory]:
    """Runs a message, into a new result where a device may still write to the one given."""
    while True:
        try:
            authentic = _gcm.run_on_host(keys, encrypt, nonce, aad, data.address, place.address, count, tag(place))
        except _gcm.LostOutput:
            _lost.append((result, place))
            if out is not None:
                raise GpuaesError(
                    f"a device hangs and may still write to {name}: expected encrypt() or decrypt() without out",
                    _library.UNDEFINED,
                ) from None
            result, place = _memory.new_like(data, place.bytes)
            continue
        if not authentic:
            raise InvalidTag
        return result, place
