"""Tensors in an encrypted file of safetensors: saved from the memory of a device, and loaded into it.

    from gpuaes.formats import checkpoint

    checkpoint.save_file(model.state_dict(), "model.safetensors", key)
    tensors = checkpoint.load_file("model.safetensors", key, device="cuda")

docs/formats-checkpoint.md specifies the file, and says what is checked.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import hmac
import json
import secrets
from typing import TYPE_CHECKING, Any, Callable, Iterator, Literal, Mapping, overload

from .._arguments import small_bytes
from .._gcm import TAG_BYTES
from .._types import AnyPath, Array, Data, Device
from ..aead import AESGCM
from ..errors import InvalidTag
from ._safetensors import Bytes, File, Package, RefusedFile
from ._safetensors import bytes_of_shape, check_metadata, make_header, parse_object, write_file

if TYPE_CHECKING:
    import cupy
    import numpy
    import torch

__all__ = ["RefusedFile", "decrypt_file", "encrypt_file", "load_file", "read_metadata", "save_file"]

_HEADER, _SALT_BYTES, _INFO = "gpuaes.header", 32, b"gpuaes checkpoint 1"


def save_file(tensors: Mapping[str, Array], path: AnyPath, key: Data, metadata: dict[str, str] | None = None) -> None:
    """Writes {NAME: tensor} of PyTorch, CuPy or NumPy, each encrypted where it is, and `metadata`, {TEXT: TEXT}. `key`
    has 32 bytes.

    Raises TypeError for a tensor that has no storage, as a DTensor and one on the device "meta". `path` is the old file
    or the whole new one.
    """
    packages: dict[type, Package] = {}
    originals = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"a tensor has the name {name!r}: expected a str")
        if type(tensor) not in packages:
            packages[type(tensor)] = Package.of(tensor, name)
        originals[name] = packages[type(tensor)].describe(tensor, name)
    _seal(path, originals, lambda name: packages[type(tensors[name])].bytes_of(tensors[name]), key, metadata)


@overload
def load_file(
    path: AnyPath, key: Data, device: Device | None = None, *, package: Literal["torch"] = "torch"
) -> dict[str, torch.Tensor]: ...
@overload
def load_file(
    path: AnyPath, key: Data, device: Device | None = None, *, package: Literal["cupy"]
) -> dict[str, cupy.ndarray]: ...
@overload
def load_file(
    path: AnyPath, key: Data, device: None = None, *, package: Literal["numpy"]
) -> dict[str, numpy.ndarray[Any, Any]]: ...
def load_file(path: AnyPath, key: Data, device: Device | None = None, *, package: str = "torch") -> dict[str, Any]:
    """Returns {NAME: tensor} of PyTorch, or of `package`, "cupy" or "numpy". Each is read into memory of `device`, and
    decrypted there. Raises RefusedFile."""
    maker = Package(package, device)
    with _Sealed(path, key) as sealed:
        return {name: maker.shaped(name, text, *sealed.originals[name]) for name, text in sealed.texts(maker)}


def read_metadata(path: AnyPath, key: Data) -> dict[str, str]:
    """Returns the `metadata` of save_file(). Raises RefusedFile."""
    with _Sealed(path, key) as sealed:
        return sealed.metadata


def encrypt_file(source: AnyPath, target: AnyPath, key: Data) -> None:
    """Writes `target` from a file of safetensors. Tensors may have any type. Raises RefusedFile for `source`."""
    with File(source) as file:

        def text(name: str) -> Any:
            array = Bytes.new(file.entries[name].end - file.entries[name].begin)
            file.read_into(name, array)
            return array

        originals = {name: (entry.kind, entry.shape) for name, entry in file.entries.items()}
        _seal(target, originals, text, key, file.metadata)


def decrypt_file(source: AnyPath, target: AnyPath, key: Data) -> None:
    """The inverse: writes a file of safetensors."""
    with _Sealed(source, key) as sealed:
        entries = [(name, *both, bytes_of_shape(name, *both)) for name, both in sealed.originals.items()]
        write_file(target, make_header(entries, sealed.metadata), (text for _, text in sealed.texts(Bytes)))


def _file_key(key: Data, salt: bytes) -> bytes:
    """HKDF with SHA-256, of whose second step 32 bytes are one block."""
    secret = hmac.digest(salt, small_bytes(key, "key", 32, 32), "sha256")
    return hmac.digest(secret, _INFO + b"\x01", "sha256")


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")


def _check_text(text: str, what: str) -> None:
    """JSON can name half of a surrogate pair, but a file that does is refused when it is loaded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} has half of a surrogate pair: expected text that UTF-8 can encode") from None


def _seal(path: AnyPath, originals: dict[str, Any], text: Callable[[str], Any], key: Data, metadata: Any) -> None:
    """Writes tensors of {NAME: (TYPE, SHAPE)}, one after the other."""
    for name in originals:
        _check_text(name, f"the tensor {name!r}")
    counts = {name: bytes_of_shape(name, *both) + TAG_BYTES for name, both in originals.items()}
    salt = secrets.token_bytes(_SALT_BYTES)
    about = {"gpuaes": "1", "salt": salt.hex(), "tensors": json.dumps(originals)}
    if metadata:
        try:
            check_metadata(metadata)
        except RefusedFile:
            raise TypeError("metadata is not made of texts: expected {str: str}") from None
        for name, value in metadata.items():
            _check_text(name + value, f"metadata: {name!r}")
        about["metadata"] = json.dumps(metadata)
    sizes = [(_HEADER, TAG_BYTES), *counts.items()]
    header = make_header([(name, "U8", [count], count) for name, count in sizes], about)
    with AESGCM(_file_key(key, salt)) as aead:

        def sealed() -> Iterator[Any]:
            yield aead.encrypt(_nonce(0), b"", header)
            for number, name in enumerate(originals, 1):
                yield aead.encrypt(_nonce(number), text(name), name.encode())

        write_file(path, header, sealed())


class _Sealed(File):
    """An encrypted file whose header is authentic: `originals`, {NAME: (TYPE, SHAPE)}, and the `metadata` of
    save_file()."""

    def __init__(self, path: AnyPath, key: Data) -> None:
        super().__init__(path)
        try:
            self._authenticate(key)
        except BaseException:
            self.__exit__()
            raise

    def _authenticate(self, key: Data) -> None:
        about = self.metadata
        if _HEADER not in self.entries or not about.keys() >= {"gpuaes", "salt", "tensors"}:
            raise RefusedFile("header: it is not encrypted, or damaged")
        if about["gpuaes"] != "1":
            raise RefusedFile(f"header: version {about['gpuaes']:.40} is not known: expected 1")
        try:
            salt = bytes.fromhex(about["salt"])
        except ValueError:
            raise RefusedFile("header: its salt is not hexadecimal") from None
        count = self.entries[_HEADER].end - self.entries[_HEADER].begin
        if count != TAG_BYTES:
            raise RefusedFile(f"header: a tag of {count} bytes: expected {TAG_BYTES}")
        self._aead = AESGCM(_file_key(key, salt))
        self.read_into(_HEADER, tag := Bytes.new(TAG_BYTES))
        try:
            self._aead.decrypt(_nonce(0), tag, self.header)
        except InvalidTag:
            raise RefusedFile("header: not authentic: another key, or changed") from None
        self.originals = parse_object(about["tensors"], "header: tensors")
        self.metadata = check_metadata(parse_object(about.get("metadata", "{}"), "header: metadata"))
        if {_HEADER, *self.originals} != self.entries.keys() or _HEADER in self.originals:
            raise RefusedFile("header: it describes other tensors than there are")
        for name, both in self.originals.items():
            if not isinstance(both, list) or len(both) != 2:
                raise RefusedFile(f"tensor {name}: expected its type and its shape")
            if bytes_of_shape(name, *both) + TAG_BYTES != self.entries[name].end - self.entries[name].begin:
                raise RefusedFile(f"tensor {name}: its data are not those of its type and shape")

    def texts(self, package: Any) -> Iterator[tuple[str, Any]]:
        """(NAME, array of bytes) of each tensor, decrypted in its memory."""
        for number, name in enumerate(self.originals, 1):
            array = package.new(self.entries[name].end - self.entries[name].begin)
            self.read_into(name, array)
            text = array[: len(array) - TAG_BYTES]
            try:
                self._aead.decrypt(_nonce(number), array, name.encode(), out=text)
            except InvalidTag:
                raise RefusedFile(f"tensor {name}: not authentic: changed") from None
            yield name, text

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if hasattr(self, "_aead"):
            self._aead.close()
