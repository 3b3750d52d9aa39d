"""Files of CryptoTensors, version 2: safetensors whose tensors are encrypted in chunks, and whose header is signed.

    from gpuaes.formats import cryptotensors

    tensors = cryptotensors.load_file("model.safetensors", master_key, public_key, device="cuda")

docs/formats-cryptotensors.md says where that is specified, what is checked, and what is not supported.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import base64
import contextlib
from array import array
from typing import TYPE_CHECKING, Any, Iterator, Literal, NamedTuple, overload

from .. import _library, _memory
from .._arguments import small_bytes
from .._columns import as_array, repeated
from .._gcm import TAG_BYTES
from .._types import AnyPath, Data, Device
from ..aead import AESGCM
from ..batch import Batch, Pieces
from ..errors import GpuaesError, InvalidTag
from ._nonces import counted
from ._safetensors import METADATA, File, Package, RefusedFile, compact, parse_object

if TYPE_CHECKING:
    import cupy
    import numpy
    import torch

__all__ = ["RefusedFile", "load_file", "read_metadata", "read_tensors"]

_KEYS, _ENCRYPTION, _POLICY, _SIGNATURE = "__crypto_keys__", "__encryption__", "__policy__", "__signature__"
_KEY_BYTES = {"aes128gcm": 16, "aes256gcm": 32}
_CHUNK_BYTES, _IV_BYTES = 2 << 20, 12
_ALLOWS_ALL = "package model\nallow = true"

_WAVE_BYTES = 256 << 20  # of whole tensors, which one launch decrypts


@overload
def load_file(
    path: AnyPath, key: Data, verify_key: Data, device: Device | None = None,
    *, package: Literal["torch"] = "torch", allow_plain: bool = ..., ignore_policy: bool = ...,
) -> dict[str, torch.Tensor]: ...  # fmt: skip
@overload
def load_file(
    path: AnyPath, key: Data, verify_key: Data, device: Device | None = None,
    *, package: Literal["cupy"], allow_plain: bool = ..., ignore_policy: bool = ...,
) -> dict[str, cupy.ndarray]: ...  # fmt: skip
@overload
def load_file(
    path: AnyPath, key: Data, verify_key: Data, device: None = None,
    *, package: Literal["numpy"], allow_plain: bool = ..., ignore_policy: bool = ...,
) -> dict[str, numpy.ndarray[Any, Any]]: ...  # fmt: skip
def load_file(path: AnyPath, key: Data, verify_key: Data, device: Any = None, **how: Any) -> dict[str, Any]:
    """Returns all that read_tensors() yields, and takes the same arguments."""
    return dict(read_tensors(path, key, verify_key, device, **how))


@overload
def read_tensors(
    path: AnyPath, key: Data, verify_key: Data, device: Device | None = None,
    *, package: Literal["torch"] = "torch", allow_plain: bool = ..., ignore_policy: bool = ...,
) -> Iterator[tuple[str, torch.Tensor]]: ...  # fmt: skip
@overload
def read_tensors(
    path: AnyPath, key: Data, verify_key: Data, device: Device | None = None,
    *, package: Literal["cupy"], allow_plain: bool = ..., ignore_policy: bool = ...,
) -> Iterator[tuple[str, cupy.ndarray]]: ...  # fmt: skip
@overload
def read_tensors(
    path: AnyPath, key: Data, verify_key: Data, device: None = None,
    *, package: Literal["numpy"], allow_plain: bool = ..., ignore_policy: bool = ...,
) -> Iterator[tuple[str, numpy.ndarray[Any, Any]]]: ...  # fmt: skip
def read_tensors(
    path: AnyPath,
    key: Data,
    verify_key: Data,
    device: Device | None = None,
    *,
    package: str = "torch",
    allow_plain: bool = False,
    ignore_policy: bool = False,
) -> Iterator[tuple[str, Any]]:
    """Yields (NAME, tensor) of PyTorch, or of `package`, "cupy" or "numpy", in the order of their data. Each is read into
    memory of `device`, and decrypted there before it is yielded.

    `key` is the master key, of 16 or 32 bytes, and `verify_key` the public key of Ed25519, of 32 bytes. `allow_plain`
    also yields tensors that are not encrypted, whose data nothing authenticates. `ignore_policy` reads a file whose
    policy does not simply allow everything: no policy is evaluated here.

    Raises RefusedFile, and GpuaesError where the package cryptography, which verifies the signature, is not installed.
    """
    maker = Package(package, device)
    with _Signed(path, verify_key) as file:
        file.check_policy(ignore_policy)
        file.unwrap(key, allow_plain)
        wave: list[tuple[str, Any]] = []
        count = 0
        for name, entry in file.entries.items():
            room = maker.new(entry.end - entry.begin)
            file.read_into(name, room)
            wave.append((name, room))
            count += entry.end - entry.begin
            if count >= _WAVE_BYTES:
                yield from file.opened(wave, maker)
                wave, count = [], 0
        yield from file.opened(wave, maker)


def read_metadata(path: AnyPath, verify_key: Data) -> dict[str, str]:
    """Returns the metadata that the file was saved with. Raises as read_tensors()."""
    with _Signed(path, verify_key) as file:
        ours = {_KEYS, _ENCRYPTION, _POLICY, _SIGNATURE}
        return {name: text for name, text in file.metadata.items() if name not in ours}


class _Secrets(NamedTuple):
    """The key of a tensor, the first initialization vector, and a tag of each chunk."""

    key: bytes
    iv: bytes
    tags: bytes

    @property
    def chunks(self) -> int:
        return len(self.tags) // TAG_BYTES

    def ivs(self) -> bytearray:
        return counted(self.iv[:8], int.from_bytes(self.iv[8:], "big"), self.chunks)


class _Signed(File):
    """A file whose header has the signature of a key."""

    def __init__(self, path: AnyPath, verify_key: Data) -> None:
        super().__init__(path)
        try:
            self._verify(small_bytes(verify_key, "verify_key", 32, 32))
        except BaseException:
            self.__exit__()
            raise

    def _verify(self, verify_key: bytes) -> None:
        for name in _KEYS, _ENCRYPTION, _POLICY, _SIGNATURE:
            if name not in self.metadata:
                raise RefusedFile(f"header: {name} is missing: no file of CryptoTensors")
        self._about = about = parse_object(self.metadata[_KEYS], f"header: {_KEYS}")
        if about.get("version") != "2":
            raise RefusedFile(f"header: version {about.get('version')!r:.40}: expected '2'")
        if self._algorithm("sign") != "ed25519":
            raise RefusedFile(f"header: signed by {self._algorithm('sign')!r:.40}: expected 'ed25519'")
        signature = _decoded(self.metadata[_SIGNATURE], 64, f"header: {_SIGNATURE}")
        try:
            from cryptography.exceptions import InvalidSignature
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        except ImportError as error:
            raise GpuaesError(f"verifying the signature: the package cryptography is needed: {error}") from None
        # What is signed is the header as the writer of CryptoTensors makes it: all that is used of this one.
        signed: dict[str, Any] = {METADATA: {name: self.metadata[name] for name in sorted(self.metadata) if name != _SIGNATURE}}
        for name, entry in self.entries.items():
            signed[name] = {"dtype": entry.kind, "shape": entry.shape, "data_offsets": [entry.begin, entry.end]}
        try:
            Ed25519PublicKey.from_public_bytes(verify_key).verify(signature, compact(signed))
        except InvalidSignature:
            raise RefusedFile("header: its signature is wrong: another key, or changed") from None

    def _algorithm(self, part: str) -> str:
        found = self._about.get(part)
        name = found.get("alg") if isinstance(found, dict) else None
        return name.replace("-", "").lower() if isinstance(name, str) else ""

    def check_policy(self, ignore: bool) -> None:
        policy = parse_object(self.metadata[_POLICY], f"header: {_POLICY}")
        if policy.get("local") != _ALLOWS_ALL and not ignore:
            raise RefusedFile(
                f"header: {_POLICY} does not simply allow everything, and is not evaluated: expected ignore_policy=True"
            )

    def unwrap(self, key: Data, allow_plain: bool) -> None:
        """Decrypts the keys of all tensors, and checks how many chunks they have."""
        algorithm = self._algorithm("enc")
        if algorithm not in _KEY_BYTES:
            raise RefusedFile(f"header: encrypted by {algorithm!r:.40}: expected {' or '.join(_KEY_BYTES)}")
        size = _KEY_BYTES[algorithm]
        self._chunk = self._about.get("chunk_size", _CHUNK_BYTES)
        if type(self._chunk) is not int or self._chunk < 1:
            raise RefusedFile(f"header: chunk_size is {self._chunk!r:.40}: expected a number above 0")
        encryption = parse_object(self.metadata[_ENCRYPTION], f"header: {_ENCRYPTION}")
        if not encryption.keys() <= self.entries.keys():
            raise RefusedFile(f"header: {_ENCRYPTION} names other tensors than there are")
        self._secrets: dict[str, _Secrets] = {}
        with AESGCM(small_bytes(key, "key", size, size)) as master:
            for name, entry in self.entries.items():
                if name in encryption:
                    self._secrets[name] = self._unwrapped(name, entry.end - entry.begin, encryption[name], master, size)
                elif not allow_plain:
                    raise RefusedFile(f"tensor {name}: not encrypted, so that nothing authenticates it: expected allow_plain=True")

    def _unwrapped(self, name: str, count: int, about: Any, master: AESGCM, size: int) -> _Secrets:
        where = f"tensor {name}"
        if not isinstance(about, dict):
            raise RefusedFile(f"{where}: {_ENCRYPTION} does not describe it")
        chunks = max(1, -(-count // self._chunk))
        if (most := min(self._chunk, count)) > _library.QUEUE_BYTES:
            raise RefusedFile(f"{where}: a chunk of {most} bytes: expected {_library.QUEUE_BYTES} at most")
        tags = _decoded(about.get("tags"), TAG_BYTES * chunks, f"{where}: tags")
        iv = _decoded(about.get("base_iv"), _IV_BYTES, f"{where}: base_iv")
        if int.from_bytes(iv[8:], "big") + chunks > 1 << 32:
            raise RefusedFile(f"{where}: base_iv has no numbers for {chunks} chunks")
        wrapped = _decoded(about.get("wrapped_key"), size, f"{where}: wrapped_key")
        key_tag = _decoded(about.get("key_tag"), TAG_BYTES, f"{where}: key_tag")
        try:
            key = master.decrypt(_decoded(about.get("key_iv"), _IV_BYTES, f"{where}: key_iv"), wrapped + key_tag)
        except InvalidTag:
            raise RefusedFile(f"{where}: its key is not authentic: another master key, or changed") from None
        return _Secrets(key, iv, tags)

    def opened(self, wave: list[tuple[str, Any]], maker: Package) -> Iterator[tuple[str, Any]]:
        """Decrypts arrays in place, and yields tensors once all of them are authentic."""
        on_device: list[tuple[str, Any]] = []
        for name, room in wave:
            if name in self._secrets and len(room) and _memory.view(room).device is not None:
                on_device.append((name, room))
            elif name in self._secrets:
                self._open_on_host(name, room)
        if on_device:
            self._open_on_device(on_device)
        for name, room in wave:
            yield name, maker.shaped(name, room, self.entries[name].kind, self.entries[name].shape)

    def _open_on_host(self, name: str, room: Any) -> None:
        """Also an array without bytes, wherever it is."""
        secrets, ivs = self._secrets[name], self._secrets[name].ivs()
        with AESGCM(secrets.key) as aead:
            for i in range(secrets.chunks):
                iv, tag = ivs[_IV_BYTES * i :][:_IV_BYTES], secrets.tags[TAG_BYTES * i :][:TAG_BYTES]
                place = room[self._chunk * i :][: self._chunk]
                try:
                    if len(place):
                        aead.decrypt(iv, _memory.copy_of(_memory.view(place)) + tag, out=place)
                    else:
                        aead.decrypt(iv, tag)
                except InvalidTag:
                    raise _not_authentic(name, i) from None

    def _open_on_device(self, wave: list[tuple[str, Any]]) -> None:
        """All chunks by one launch."""
        secrets, pieces, keys = [self._secrets[name] for name, _ in wave], [], array("I")
        for i, (each, (_, room)) in enumerate(zip(secrets, wave)):
            lengths = as_array(repeated(self._chunk, each.chunks))
            lengths[-1] = len(room) - self._chunk * (each.chunks - 1)
            pieces.append(Pieces(room, range(0, len(room), self._chunk), lengths))
            keys += array("I", [i]) * each.chunks
        with contextlib.closing(Batch(
            "GCM",
            [each.key for each in secrets],
            pieces,
            encrypt=False,
            ivs=b"".join(each.ivs() for each in secrets),
            tags=b"".join(each.tags for each in secrets),
            key_numbers=keys,
            out=pieces,
        )) as batch:  # fmt: skip
            batch.queue()
            for number in batch.not_authentic():
                raise _not_authentic(wave[keys[number]][0], number - keys.index(keys[number]))


def _not_authentic(name: str, chunk: int) -> RefusedFile:
    return RefusedFile(f"tensor {name}: chunk {chunk} is not authentic: changed")


def _decoded(text: Any, count: int, where: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        raise RefusedFile(f"{where}: no base64") from None
    if len(data) != count:
        raise RefusedFile(f"{where}: {len(data)} bytes: expected {count}")
    if base64.b64encode(data).decode() != text:  # bits behind the last byte, which the signature's text does not sign
        raise RefusedFile(f"{where}: base64 whose last digit has bits of no byte")
    return data
