#!/usr/bin/env python3
"""Encrypts a checkpoint in the safetensors format, and decrypts it, tensor by tensor.

    checkpoint.py [--cuda] encrypt KEY PLAIN ENCRYPTED
    checkpoint.py [--cuda] decrypt KEY ENCRYPTED PLAIN

    KEY      a file of 32 bytes:  head -c 32 /dev/urandom >KEY
    --cuda   by PyTorch in device memory; without it by NumPy

A program that has its tensors already calls save() and load() instead: load(path, key, Torch("cuda"))
reads each tensor into device memory and decrypts it there, so that its text is never in memory of the host.

*The file.* It is a safetensors file itself: 8 bytes with the length of the header, little-endian; the
header in JSON; data. Each tensor becomes an entry of type U8 with 16 bytes more, its ciphertext and then
its tag of AES-256-GCM. `__metadata__` has the salt of the file, and the type and shape that each tensor had. The
first entry, HEADER, is the tag of the header. Names, types and shapes can be read by anybody.

*Nonces.* GCM is broken if a nonce is used twice with a key. So each file has a key of its own, derived from the
given one and 32 random bytes by HKDF (RFC 5869), and within it a nonce is the number of the tensor: 0 for
the header, then 1, 2... save() never writes with an old salt.

*Damage.* load() trusts nothing of the header before its tag has been verified, and returns no tensor that is
not authentic: it raises Refused, which names the tensor.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import hashlib
import hmac
import json
import math
import mmap
import os
import secrets
import struct
import sys

from gpuaes import InvalidTag
from gpuaes.aead import AESGCM

HEADER, TAG, SALT = "gpuaes.header", 16, 32
HEADER_MOST = 100_000_000  # as safetensors itself has it
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


class Refused(Exception):
    """The file is not what it should be; the message says where."""


# ---- Packages of tensors --------------------------------------------------------------


class Numpy:
    """Arrays of NumPy, in memory of the host. It has no BF16."""

    def __init__(self):
        import numpy

        self.package = numpy
        names = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1"}
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
    """Tensors of PyTorch, on one device."""

    def __init__(self, device):
        import torch

        self.package, self.device = torch, device
        names = {
            "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
            "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
        }
        self.types = {name: getattr(torch, text) for name, text in names.items()}

    def bytes_of(self, tensor):
        return tensor.detach().contiguous().reshape(-1).view(self.package.uint8)

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
    """Writes the file under another name first: `path` is the old file or the whole new one."""
    new = f"{path}.new"
    with open(new, "wb") as file:
        file.write(struct.pack("<Q", len(header)))
        file.write(header)
        for piece in pieces:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)


def make_header(entries, metadata=None):
    """The JSON of [(NAME, TYPE, SHAPE, BYTES)], padded to a multiple of 8 bytes."""
    header, at = {"__metadata__": metadata} if metadata else {}, 0
    for name, kind, shape, size in entries:
        if name in header:
            raise ValueError(f"a tensor has the name {name!r}: that is taken")
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)


class File:
    """A file that is mapped: `header` as bytes, `entries` and `metadata` of it, and each entry's data."""

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
            self.entries = json.loads(self.header)
            self.metadata = self.entries.pop("__metadata__", {})
            self.check_entries()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Refused(f"header: not one of safetensors: {error}") from None

    def check_entries(self):
        at = 0
        for name, entry in self.entries.items():
            begin, end = entry["data_offsets"]
            if not all(isinstance(n, int) and n >= 0 for n in (*entry["shape"], begin, end)):
                raise Refused(f"tensor {name}: its shape or its place is not made of numbers")
            if end - begin != math.prod(entry["shape"]) * SIZES[entry["dtype"]]:
                raise Refused(f"tensor {name}: {end - begin} bytes are not those of its type and shape")
            if begin != at or end > len(self.data):
                raise Refused(f"tensor {name}: truncated, or its data lie elsewhere")
            at = end
        if at != len(self.data):
            raise Refused(f"{len(self.data) - at} bytes belong to no tensor")

    def raw(self, name):
        begin, end = self.entries[name]["data_offsets"]
        return self.data[begin:end]


def write_plain(path, tensors, package):
    kinds = {kind: name for name, kind in package.types.items()}
    views = {name: package.bytes_of(tensor) for name, tensor in tensors.items()}
    entries = [(name, kinds[t.dtype], t.shape, len(views[name])) for name, t in tensors.items()]
    write_file(path, make_header(entries), (memoryview(package.to_host(view)) for view in views.values()))


def read_plain(path, package):
    file = File(path)
    return {
        name: package.shaped(package.take(file.raw(name)), entry["dtype"], entry["shape"])
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


def save(path, tensors, key, package):
    """Writes {NAME: tensor}, encrypted where the tensors are, one after the other."""
    kinds = {kind: name for name, kind in package.types.items()}
    originals = {}
    for name, tensor in tensors.items():
        if tensor.dtype not in kinds:
            raise ValueError(f"tensor {name} has the type {tensor.dtype}, which the format does not know here")
        originals[name] = [kinds[tensor.dtype], list(tensor.shape)]
    sizes = {name: math.prod(shape) * SIZES[kind] + TAG for name, (kind, shape) in originals.items()}
    salt = secrets.token_bytes(SALT)
    metadata = {"gpuaes": "1", "salt": salt.hex(), "tensors": json.dumps(originals)}
    entries = [(HEADER, "U8", [TAG], TAG)] + [(name, "U8", [size], size) for name, size in sizes.items()]
    header = make_header(entries, metadata)
    aead = AESGCM(key_of_file(key, salt))

    def pieces():
        yield aead.encrypt(nonce_of(0), b"", header)
        for number, (name, tensor) in enumerate(tensors.items(), 1):
            sealed = aead.encrypt(nonce_of(number), package.bytes_of(tensor), name.encode())
            yield memoryview(package.to_host(sealed))

    write_file(path, header, pieces())


def load(path, key, package):
    """Returns {NAME: tensor}, each of which is read into its memory and decrypted there."""
    file = File(path)
    try:
        if file.metadata["gpuaes"] != "1":
            raise Refused(f"header: version {file.metadata['gpuaes']} is not known: expected 1")
        salt, tag = bytes.fromhex(file.metadata["salt"]), bytes(file.raw(HEADER))
    except (KeyError, TypeError, ValueError):
        raise Refused("header: it is not encrypted, or damaged") from None
    aead = AESGCM(key_of_file(key, salt))
    try:
        aead.decrypt(nonce_of(0), tag, file.header)
    except InvalidTag:
        raise Refused("header: not authentic: another key, or changed") from None

    originals, tensors = json.loads(file.metadata["tensors"]), {}
    for number, (name, (kind, shape)) in enumerate(originals.items(), 1):
        if kind not in package.types:
            raise Refused(f"tensor {name}: its type {kind} is unknown here")
        sealed = package.take(file.raw(name))
        text = sealed[:len(sealed) - TAG]
        try:
            aead.decrypt(nonce_of(number), sealed, name.encode(), out=text)
        except InvalidTag:
            raise Refused(f"tensor {name}: not authentic: changed") from None
        tensors[name] = package.shaped(text, kind, shape)
    return tensors


def main():
    parser = argparse.ArgumentParser(description="Encrypts a safetensors file, and decrypts it.")
    parser.add_argument("--cuda", action="store_true", help="by PyTorch in device memory")
    parser.add_argument("command", choices=["encrypt", "decrypt"])
    parser.add_argument("key", metavar="KEY", help="a file of 32 bytes")
    parser.add_argument("source", metavar="FROM")
    parser.add_argument("target", metavar="TO")
    arguments = parser.parse_args()
    package = Torch("cuda") if arguments.cuda else Numpy()
    try:
        with open(arguments.key, "rb") as file:
            key = file.read()
        if arguments.command == "encrypt":
            save(arguments.target, read_plain(arguments.source, package), key, package)
        else:
            write_plain(arguments.target, load(arguments.source, key, package), package)
    except (Refused, ValueError, OSError) as error:
        where = f"{arguments.source}: " if isinstance(error, Refused) else ""
        sys.exit(f"checkpoint: {where}{error}")


if __name__ == "__main__":
    main()
