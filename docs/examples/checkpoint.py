#!/usr/bin/env python3
"""Encrypts a checkpoint in the safetensors format, and decrypts it, tensor by tensor.

    checkpoint.py [--cuda] encrypt KEY PLAIN ENCRYPTED
    checkpoint.py [--cuda] decrypt KEY ENCRYPTED PLAIN

    KEY      a file of 32 bytes:  head -c 32 /dev/urandom >KEY
    --cuda   by PyTorch in device memory; without it in memory of the host, which needs no other package

A program that has its tensors already calls save() and load() instead: load(path, key, Torch("cuda"))
reads each tensor into device memory and decrypts it there, so that its text is never in memory of the host.
The command takes tensors of every type of safetensors; save() and load() those that PyTorch or NumPy has.

*The file.* It is a safetensors file itself: 8 bytes with the length of the header, little-endian; the
header in JSON; data. Each tensor becomes an entry of type U8 with 16 bytes more, its ciphertext and then
its tag of AES-256-GCM. `__metadata__` has the salt of the file, the type and shape that each tensor had, and the
`__metadata__` that the tensors came with. The first entry, HEADER, is the tag of the header. Names, types, shapes
and metadata can be read by anybody.

*Nonces.* GCM is broken if a nonce is used twice with a key. So each file has a key of its own, derived from the
given one and 32 random bytes by HKDF (RFC 5869), and within it a nonce is the number of the tensor: 0 for
the header, then 1, 2... save() never writes with an old salt.

*Damage.* load() trusts nothing of the header before its tag has been verified, and returns no tensor that is
not authentic: it raises Refused, which names the tensor, for any file that is not right. The file that is written
has another name until it is complete.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import hashlib
import hmac
import json
import mmap
import os
import secrets
import struct
import sys

from gpuaes import InvalidTag
from gpuaes.aead import AESGCM

HEADER, METADATA, TAG, SALT = "gpuaes.header", "__metadata__", 16, 32
HEADER_MOST = 100_000_000  # as safetensors itself has it
BITS = {
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16, "C64": 64, "I64": 64, "I32": 32, "I16": 16, "I8": 8, "U64": 64,
    "U32": 32, "U16": 16, "U8": 8, "BOOL": 8, "F8_E4M3": 8, "F8_E4M3FNUZ": 8, "F8_E5M2": 8, "F8_E5M2FNUZ": 8,
    "F8_E8M0": 8, "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}


class Refused(Exception):
    """The file is not what it should be; the message says where."""


# ---- Packages of tensors --------------------------------------------------------------


class Bytes:
    """The bytes of tensors of any type, in memory of the host."""

    def take(self, raw):
        """A copy of bytes."""
        return memoryview(bytearray(raw))

    def to_host(self, view):
        return view


class Numpy:
    """Arrays of NumPy, in memory of the host. It has no BF16, and none with 8 bits or less but integers."""

    def __init__(self):
        import numpy

        self.package = numpy
        names = {
            "F64": "f8", "F32": "f4", "F16": "f2", "C64": "c8", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1",
            "U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1",
        }
        self.types = {name: numpy.dtype("<" + text) for name, text in names.items()}
        self.types["BOOL"] = numpy.dtype("bool")

    def bytes_of(self, array):
        """A view of its bytes, or of a copy of them where it has gaps."""
        return self.package.ascontiguousarray(array).reshape(-1).view("u1")

    def take(self, raw):
        """A copy of bytes."""
        return self.package.frombuffer(raw, "u1").copy()

    def to_host(self, array):
        return array

    def shaped(self, array, name, shape):
        return array.view(self.types[name]).reshape(shape)


class Torch:
    """Tensors of PyTorch, on one device, of the types that its version has."""

    def __init__(self, device):
        import torch

        self.package, self.device = torch, device
        names = {
            "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "C64": "complex64",
            "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32",
            "U16": "uint16", "U8": "uint8", "BOOL": "bool", "F8_E4M3": "float8_e4m3fn",
            "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2": "float8_e5m2", "F8_E5M2FNUZ": "float8_e5m2fnuz",
            "F8_E8M0": "float8_e8m0fnu",
        }
        self.types = {name: getattr(torch, text) for name, text in names.items() if hasattr(torch, text)}

    def bytes_of(self, tensor):
        if tensor.layout != self.package.strided:
            raise ValueError(f"a tensor has the layout {tensor.layout}: expected {self.package.strided}")
        # Negated and conjugated views have other bytes than they show.
        dense = tensor.detach().resolve_conj().resolve_neg().contiguous()
        return dense.reshape(-1).view(self.package.uint8)

    def take(self, raw):
        if not len(raw):
            return self.package.empty(0, dtype=self.package.uint8, device=self.device)
        return self.package.frombuffer(raw, dtype=self.package.uint8).to(self.device, copy=True)

    def to_host(self, tensor):
        return tensor.cpu().numpy()

    def shaped(self, tensor, name, shape):
        return tensor.view(self.types[name]).reshape(shape)


# ---- safetensors ------------------------------------------------------------------------


def write_file(path, header, pieces):
    """Writes the file under another name first, which nobody can foresee: `path` is the old file or the whole new one,
    with the mode of the old."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} is no regular file")
    folder = os.path.dirname(os.path.abspath(path))
    new = os.path.join(folder, f".gpuaes-{secrets.token_hex(8)}")
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else None
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if mode is None else 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(struct.pack("<Q", len(header)))
            file.write(header)
            for piece in pieces:
                file.write(piece)
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.flush()
            os.fsync(descriptor)
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise


def make_header(entries, metadata=None):
    """The JSON of [(NAME, TYPE, SHAPE, BYTES)], padded to a multiple of 8 bytes, as safetensors itself writes it."""
    header, at = {METADATA: metadata} if metadata else {}, 0
    for name, kind, shape, size in entries:
        if name in header or name == METADATA:
            raise ValueError(f"a tensor has the name {name!r}: that is taken")
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    if len(text) > HEADER_MOST - 8:
        raise ValueError(f"the header has {len(text)} bytes: expected {HEADER_MOST - 8} at most")
    return text + b" " * (-len(text) % 8)


def parse_object(text):
    """The pairs of JSON, none of whose objects has a name twice."""
    def pairs(found):
        if len(dict(found)) != len(found):
            raise ValueError("a name is there twice")
        return dict(found)

    parsed = json.loads(text, object_pairs_hook=pairs)
    if not isinstance(parsed, dict):
        raise ValueError(f"it is {type(parsed).__name__}, not an object")
    return parsed


def check_metadata(metadata):
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for both in metadata.items() for text in both):
        raise Refused(f"header: {METADATA} is not made of texts")
    return metadata


def bytes_of_shape(name, kind, shape):
    """The bytes of a tensor, which must be whole ones. `kind` and `shape` may be anything."""
    if not isinstance(kind, str) or kind not in BITS:
        raise Refused(f"tensor {name}: its type {kind!r} is unknown")
    if not isinstance(shape, list) or not all(type(n) is int and 0 <= n < 1 << 63 for n in shape):
        raise Refused(f"tensor {name}: its shape is not made of numbers")
    bits = BITS[kind]
    for n in shape:
        bits *= n
        if bits >= 1 << 66:
            raise Refused(f"tensor {name}: its shape is too large")
    if bits % 8:
        raise Refused(f"tensor {name}: {bits} bits are not whole bytes")
    return bits // 8


class File:
    """A file that is mapped: `header` as bytes, `entries` in the order of their data, `metadata`, and the data of each
    entry."""

    def __init__(self, path):
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < 8:
                raise Refused("truncated, or no safetensors file: it is shorter than 8 bytes")
            # Private and writable, since torch.frombuffer() warns of memory that is read-only.
            self.data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        (length,) = struct.unpack("<Q", self.data[:8])
        if length > min(size - 8, HEADER_MOST):
            raise Refused(f"truncated, or no safetensors file: a header of {length} bytes in a file of {size}")
        self.header, self.data = bytes(self.data[8:8 + length]), self.data[8 + length:]
        try:
            entries = parse_object(self.header.decode())
        except (ValueError, RecursionError) as error:
            raise Refused(f"header: not one of safetensors: {error}") from None
        self.metadata = check_metadata(entries.pop(METADATA, {}))
        self.places = {name: self.place(name, entry) for name, entry in entries.items()}
        self.entries = {name: entries[name] for name in sorted(entries, key=self.places.get)}
        self.check_places()

    @staticmethod
    def place(name, entry):
        """Where the data of an entry begin and end."""
        if not isinstance(entry, dict) or not entry.keys() >= {"dtype", "shape", "data_offsets"}:
            raise Refused(f"tensor {name}: expected dtype, shape and data_offsets")
        size, offsets = bytes_of_shape(name, entry["dtype"], entry["shape"]), entry["data_offsets"]
        if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(n) is int and n >= 0 for n in offsets):
            raise Refused(f"tensor {name}: its place is not made of two numbers")
        begin, end = offsets
        if end - begin != size:
            raise Refused(f"tensor {name}: {end - begin} bytes are not those of its type and shape")
        return begin, end

    def check_places(self):
        """Data must follow each other without a gap, from the first byte to the last."""
        at = 0
        for name in self.entries:
            begin, end = self.places[name]
            if begin != at or end > len(self.data):
                raise Refused(f"tensor {name}: truncated, or its data lie elsewhere")
            at = end
        if at != len(self.data):
            raise Refused(f"{len(self.data) - at} bytes belong to no tensor")

    def raw(self, name):
        begin, end = self.places[name]
        return self.data[begin:end]


def describe(tensors, package):
    """{NAME: [TYPE, SHAPE]}"""
    kinds, described = {kind: name for name, kind in package.types.items()}, {}
    for name, tensor in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"a tensor has the name {name!r}: expected a str")
        if not hasattr(tensor, "dtype") or not hasattr(tensor, "shape"):
            raise TypeError(f"tensor {name} is {type(tensor).__name__}: expected a tensor")
        if tensor.dtype not in kinds:
            raise ValueError(f"tensor {name} has the type {tensor.dtype}, which the format does not know here")
        described[name] = [kinds[tensor.dtype], list(tensor.shape)]
    return described


def shaped(name, array, kind, shape, package):
    """A tensor that has the bytes of `array`."""
    if kind not in package.types:
        raise Refused(f"tensor {name}: its type {kind} is unknown here")
    try:
        return package.shaped(array, kind, shape)
    except (ValueError, OverflowError, RuntimeError) as error:  # such as more than 64 dimensions
        raise Refused(f"tensor {name}: its shape cannot be had here: {error}") from None


def write_plain(path, tensors, package, metadata=None):
    described = describe(tensors, package)
    views = {name: package.bytes_of(tensor) for name, tensor in tensors.items()}
    entries = [(name, *both, len(views[name])) for name, both in described.items()]
    write_file(path, make_header(entries, metadata), (memoryview(package.to_host(view)) for view in views.values()))


def read_plain(path, package):
    file = File(path)
    return {
        name: shaped(name, package.take(file.raw(name)), entry["dtype"], entry["shape"], package)
        for name, entry in file.entries.items()
    }


# ---- Encrypted files ----------------------------------------------------------------------


def key_of_file(key, salt):
    """HKDF with SHA-256: 32 bytes, which are one block of its second step."""
    if len(key) != 32:
        raise ValueError(f"the key has {len(key)} bytes: expected 32")
    secret = hmac.digest(salt, key, "sha256")
    return hmac.digest(secret, b"gpuaes checkpoint 1\x01", "sha256")


def nonce_of(number):
    return number.to_bytes(12, "big")


def seal(path, originals, bytes_of, key, package, metadata=None):
    """Writes tensors of {NAME: [TYPE, SHAPE]}, whose bytes are bytes_of(NAME), one after the other."""
    sizes = {name: bytes_of_shape(name, *both) + TAG for name, both in originals.items()}
    salt = secrets.token_bytes(SALT)
    about = {"gpuaes": "1", "salt": salt.hex(), "tensors": json.dumps(originals)}
    if metadata:
        about["metadata"] = json.dumps(check_metadata(metadata))
    entries = [(HEADER, "U8", [TAG], TAG)] + [(name, "U8", [size], size) for name, size in sizes.items()]
    header = make_header(entries, about)
    aead = AESGCM(key_of_file(key, salt))

    def pieces():
        yield aead.encrypt(nonce_of(0), b"", header)
        for number, name in enumerate(originals, 1):
            sealed = aead.encrypt(nonce_of(number), bytes_of(name), name.encode())
            yield memoryview(package.to_host(sealed))

    write_file(path, header, pieces())


def save(path, tensors, key, package, metadata=None):
    """Writes {NAME: tensor}, encrypted where the tensors are, and metadata of safetensors, which is {TEXT: TEXT}."""
    originals = describe(tensors, package)
    seal(path, originals, lambda name: package.bytes_of(tensors[name]), key, package, metadata)


class Sealed:
    """An encrypted file whose header is authentic: `originals`, {NAME: [TYPE, SHAPE]}, and `metadata`."""

    def __init__(self, path, key):
        self.file = file = File(path)
        try:
            if file.metadata["gpuaes"] != "1":
                raise Refused(f"header: version {file.metadata['gpuaes']} is not known: expected 1")
            salt, tag = bytes.fromhex(file.metadata["salt"]), bytes(file.raw(HEADER))
        except (KeyError, ValueError):
            raise Refused("header: it is not encrypted, or damaged") from None
        if len(tag) != TAG:
            raise Refused(f"header: a tag of {len(tag)} bytes: expected {TAG}")
        self.aead = AESGCM(key_of_file(key, salt))
        try:
            self.aead.decrypt(nonce_of(0), tag, file.header)
        except InvalidTag:
            raise Refused("header: not authentic: another key, or changed") from None
        try:
            self.originals = parse_object(file.metadata["tensors"])
            self.metadata = check_metadata(parse_object(file.metadata.get("metadata", "{}")))
        except (KeyError, ValueError, RecursionError) as error:
            raise Refused(f"header: it does not describe the tensors: {error}") from None
        if {HEADER, *self.originals} != file.entries.keys() or HEADER in self.originals:
            raise Refused("header: it describes other tensors than there are")
        for name, both in self.originals.items():
            if not isinstance(both, list) or len(both) != 2:
                raise Refused(f"tensor {name}: expected its type and its shape")
            if bytes_of_shape(name, *both) + TAG != len(file.raw(name)):
                raise Refused(f"tensor {name}: its data are not those of its type and shape")

    def texts(self, package):
        """Yields (NAME, array of bytes), each decrypted in its memory."""
        for number, name in enumerate(self.originals, 1):
            sealed = package.take(self.file.raw(name))
            text = sealed[:len(sealed) - TAG]
            try:
                self.aead.decrypt(nonce_of(number), sealed, name.encode(), out=text)
            except InvalidTag:
                raise Refused(f"tensor {name}: not authentic: changed") from None
            yield name, text


def load(path, key, package):
    """Returns {NAME: tensor}, each of which is read into its memory and decrypted there."""
    sealed = Sealed(path, key)
    return {name: shaped(name, text, *sealed.originals[name], package) for name, text in sealed.texts(package)}


# ---- The command ----------------------------------------------------------------------------


def encrypt_file(source, target, key, package):
    file = File(source)
    originals = {name: [entry["dtype"], entry["shape"]] for name, entry in file.entries.items()}
    seal(target, originals, lambda name: package.take(file.raw(name)), key, package, file.metadata)


def decrypt_file(source, target, key, package):
    sealed = Sealed(source, key)
    entries = [(name, *both, bytes_of_shape(name, *both)) for name, both in sealed.originals.items()]
    texts = (memoryview(package.to_host(text)) for _, text in sealed.texts(package))
    write_file(target, make_header(entries, sealed.metadata), texts)


def main():
    parser = argparse.ArgumentParser(description="Encrypts a safetensors file, and decrypts it.")
    parser.add_argument("--cuda", action="store_true", help="by PyTorch in device memory")
    parser.add_argument("command", choices=["encrypt", "decrypt"])
    parser.add_argument("key", metavar="KEY", help="a file of 32 bytes")
    parser.add_argument("source", metavar="FROM")
    parser.add_argument("target", metavar="TO")
    arguments = parser.parse_args()
    package = Torch("cuda") if arguments.cuda else Bytes()
    try:
        with open(arguments.key, "rb") as file:
            key = file.read()
        work = encrypt_file if arguments.command == "encrypt" else decrypt_file
        work(arguments.source, arguments.target, key, package)
    except (Refused, ValueError, OSError) as error:
        where = f"{arguments.source}: " if isinstance(error, Refused) else ""
        sys.exit(f"checkpoint: {where}{error}")


if __name__ == "__main__":
    main()
