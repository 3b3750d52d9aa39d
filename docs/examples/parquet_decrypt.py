#!/usr/bin/env python3
"""Decrypts the pages of a Parquet file with modular encryption on a GPU: all of them, of all
columns and row groups, by one call (in AES_GCM_CTR_V1 two: headers are GCM then, pages CTR).

    parquet_decrypt.py -f HEX [-k COLUMN=HEX]... [-p HEX] FILE FOLDER

    -f   key of the footer
    -k   key of a column, a path such as a.list.element; columns without one have the footer's
    -p   AAD prefix, where the file does not have it

FOLDER/R-C gets the pages of row group R in column C (0, 1...) as they are in a file without
encryption: compressed, without their headers. Columns that are not encrypted are left out, and
nothing is written unless all is authentic. All keys have one size.

The format: https://github.com/apache/parquet-format/blob/master/Encryption.md. A module is
length (4) | nonce (12) | ciphertext | tag (16); pages of AES_GCM_CTR_V1 have no tag, and so nothing
shows that they are what was written: the text of such a page is not authenticated.
parquet_decrypt.c does the same in C.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import ctypes
import hmac
import struct
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p

LENGTH, NONCE, TAG = 4, 12, 16


class Refused(Exception):
    """The file is not what it should be; the message says where."""


# ---- Thrift's compact protocol ------------------------------------------------


class Binary(bytearray):
    """`at`: where it was read."""


class Thrift:
    """Reads values; structs and unions become {number of the field: value}."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        self.at += count
        if self.at > len(self.data):
            raise Refused("a Thrift structure ends within a value")
        return self.data[self.at - count:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def integer(self):
        zigzag = self.varint()
        return zigzag >> 1 ^ -(zigzag & 1)

    def list(self):
        byte = self.take(1)[0]
        count, kind = byte >> 4, byte & 15
        if count == 15:
            count = self.varint()
        return [self.take(1) == b"\1" if kind in (1, 2) else self.value(kind) for _ in range(count)]

    def struct(self):
        fields, number = {}, 0
        while True:
            byte = self.take(1)[0]
            if not byte:
                return fields
            number = number + (byte >> 4) if byte >> 4 else self.integer()
            fields[number] = self.value(byte & 15)

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self.integer()
        if kind in (3, 7):
            return self.take(1 if kind == 3 else 8)
        if kind == 8:
            binary = Binary(self.take(self.varint()))
            binary.at = self.at - len(binary)
            return binary
        if kind in (9, 10):
            return self.list()
        if kind == 12:
            return self.struct()
        raise Refused(f"a Thrift structure has a field of type {kind}")


# ---- The GPU ---------------------------------------------------------------------

cuda = ctypes.CDLL("libcuda.so.1")
gpuaes = ctypes.CDLL("libgpuaes.so.0")
for name in "gpuaes_status_text", "gpuaes_reason":
    getattr(gpuaes, name).restype = c_char_p

READY = 2
CTR, GCM_ENCRYPT, GCM_DECRYPT = 3, 5, 6
OK, BAD_TAG, FAULT = 0, 7, 8


class Batch(ctypes.Structure):
    """struct gpuaes_device_batch"""

    _fields_ = [("op", c_int), ("keys", c_void_p)]
    _fields_ += [(n, c_size_t) for n in ("count", "max_bytes", "iv_bytes", "tag_bytes")]
    _fields_ += [(n, c_void_p) for n in ("in_", "out", "bytes", "key", "iv", "aad", "aad_bytes", "tag")]
    _fields_ += [("status", c_void_p)]


def check(status, what):
    if status != OK:
        raise RuntimeError(f"{what}: {gpuaes.gpuaes_status_text(status).decode()}")


def check_cuda(result, what):
    if result:
        raise RuntimeError(f"{what}: CUDA error {result}")


def start():
    """Makes the primary context of GPU 0 current, as PyTorch and CuPy do, and starts libgpuaes."""
    device, context = c_int(), c_void_p()
    check_cuda(cuda.cuInit(0), "cuInit")
    check_cuda(cuda.cuDeviceGet(byref(device), 0), "cuDeviceGet")
    check_cuda(cuda.cuDevicePrimaryCtxRetain(byref(context), device), "cuDevicePrimaryCtxRetain")
    check_cuda(cuda.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")
    if gpuaes.gpuaes_start(None, None, 1) != READY:
        raise RuntimeError(gpuaes.gpuaes_reason().decode())


class DeviceMemory:
    """Copies are in the order of the legacy default stream, and wait until they are done."""

    def __init__(self, size, data=None):
        address = c_uint64()
        check_cuda(cuda.cuMemAlloc_v2(byref(address), c_size_t(max(size, 1))), "cuMemAlloc")
        self.address, self.size = address.value, size
        if data:
            data = (ctypes.c_char * size).from_buffer(data) if isinstance(data, bytearray) else data
            self.copy(cuda.cuMemcpyHtoDAsync_v2, c_uint64(self.address), data, size)

    @staticmethod
    def copy(function, to, from_, size):
        check_cuda(function(to, from_, c_size_t(size), None), "copy")
        check_cuda(cuda.cuStreamSynchronize(None), "copy")

    def read(self, begin, to):
        """Fills `to`, a writable buffer, with the bytes from `begin` on."""
        to = (ctypes.c_char * len(to)).from_buffer(to)
        self.copy(cuda.cuMemcpyDtoHAsync_v2, to, c_uint64(self.address + begin), len(to))

    def read_all(self):
        data = bytearray(self.size)
        self.read(0, data)
        return data

    def __del__(self):
        cuda.cuMemFree_v2(c_uint64(self.address))


def to_device(form, values):
    """An array of numbers."""
    return DeviceMemory(struct.calcsize(f"{len(values)}{form}"), struct.pack(f"{len(values)}{form}", *values))


class Keys:
    """Expanded keys on the device; the first is the footer's."""

    def __init__(self, footer, columns):
        keys = [footer, *columns.values()]
        if len({len(key) for key in keys}) != 1:
            raise Refused("the keys have more than one size")
        self.numbers = {name: i + 1 for i, name in enumerate(columns)}
        self.pointer = c_void_p()
        check(
            gpuaes.gpuaes_device_keys_open(
                byref(self.pointer), GCM_DECRYPT, b"".join(keys), c_size_t(len(footer)),
                c_size_t(len(keys)), None, 0,
            ),
            "keys",
        )

    def __del__(self):
        gpuaes.gpuaes_device_keys_close(self.pointer, None)


# ---- Modules ------------------------------------------------------------------------

FOOTER, COLUMN_METADATA, DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_HEADER, DICTIONARY_PAGE_HEADER = range(6)


class Module:
    def __init__(self, kind, where, numbers, key, at, size):
        self.where, self.key = where, key
        self.aad = struct.pack(f"<B{len(numbers)}H", kind, *numbers)  # row group, column, page
        self.at, self.size = at, size  # of the text in the file; the nonce is before it, a tag behind


def find_module(data, at, end, tag, kind, where, numbers, key):
    """The module at `at`, and where the next one is."""
    length = struct.unpack_from("<I", data, at)[0] if at + LENGTH <= end <= len(data) else 0
    if length < NONCE + tag or length > end - at - LENGTH:
        raise Refused(f"{where}: truncated, or it has a wrong length")
    module = Module(kind, where, numbers, key, at + LENGTH + NONCE, length - NONCE - tag)
    return module, at + LENGTH + length


class Image:
    """The bytes of a file, the same on the host and on the device."""

    def __init__(self, data, prefix, keys):
        self.data, self.prefix, self.keys = bytearray(data), prefix, keys
        self.device = DeviceMemory(len(data), self.data)

    def text(self, module):
        return bytes(self.data[module.at:module.at + module.size])

    def run(self, op, modules):
        """Decrypts modules on the device, in place, by one call, and brings all between the first
        and the last of them to the host. GCM_ENCRYPT makes their tags instead."""
        if not modules:
            return
        counter = b"\0\0\0\1" if op == CTR else b""  # with the nonce, the first counter block
        ivs = [self.data[m.at - NONCE:m.at] + counter for m in modules]
        aads = [self.prefix + m.aad for m in modules]
        iv_memory, aad_memory = (DeviceMemory(len(b), b) for b in (b"".join(ivs), b"".join(aads)))
        aad_at = [aad_memory.address]
        for aad in aads:
            aad_at.append(aad_at[-1] + len(aad))
        arrays = {
            "in_": to_device("Q", [self.device.address + m.at for m in modules]),
            "bytes": to_device("Q", [m.size for m in modules]),
            "key": to_device("I", [m.key for m in modules]),
            "iv": to_device("Q", [iv_memory.address + i * len(ivs[0]) for i in range(len(ivs))]),
            "aad": to_device("Q", aad_at[:-1]),
            "aad_bytes": to_device("Q", [len(aad) for aad in aads]),
            "tag": to_device("Q", [self.device.address + m.at + m.size for m in modules]),
            "status": to_device("I", [FAULT] * len(modules)),
        }
        batch = Batch(
            op=op, keys=self.keys.pointer, count=len(modules), max_bytes=max(m.size for m in modules),
            iv_bytes=len(ivs[0]), tag_bytes=0 if op == CTR else TAG,
            out=arrays["in_"].address, **{name: memory.address for name, memory in arrays.items()},
        )
        size = c_size_t()
        check(gpuaes.gpuaes_device_batch_temp_bytes(byref(batch), byref(size)), "size of the work space")
        work = DeviceMemory(size.value)
        check(gpuaes.gpuaes_device_batch_queue(byref(batch), c_void_p(work.address), size, None), "decryption")

        for module, (status,) in zip(modules, struct.iter_unpack("I", arrays["status"].read_all())):
            if status == BAD_TAG:
                raise Refused(f"{module.where}: not authentic: another key, or changed")
            check(status, module.where)
        begin = min(m.at for m in modules)
        end = min(max(m.at + m.size + TAG for m in modules), len(self.data))
        self.device.read(begin, memoryview(self.data)[begin:end])


# ---- The file --------------------------------------------------------------------------


class ParquetFile:
    """A file whose footer has been decrypted, or found to be authentic."""

    def __init__(self, data, keys, prefix=b""):
        self.given_prefix = prefix
        self.image = Image(data, None, keys)
        if data[-4:] not in (b"PAR1", b"PARE") or len(data) < 12:
            raise Refused("truncated, or no Parquet file: it does not end with PAR1 or PARE")
        self.end = len(data) - 8
        self.begin = self.end - struct.unpack("<I", data[-8:-4])[0]
        if self.begin < 4:
            raise Refused("footer: truncated, or it has a wrong length")
        self.footer = self.encrypted_footer() if data[-4:] == b"PARE" else self.signed_footer()
        self.open_columns()

    def use_algorithm(self, union):
        """EncryptionAlgorithm: AES_GCM_V1, which is 1, or AES_GCM_CTR_V1, with the same fields."""
        ((which, fields),) = union.items()
        prefix = fields.get(1) or self.given_prefix
        if fields.get(3) and not prefix:
            raise Refused("it wants an AAD prefix: -p HEX")
        self.pages_are_ctr = which == 2
        self.image.prefix = bytes(prefix) + fields[2]

    def encrypted_footer(self):
        thrift = Thrift(self.image.data, self.begin)
        self.use_algorithm(thrift.struct()[1])  # FileCryptoMetaData
        module, _ = find_module(self.image.data, thrift.at, self.end, TAG, FOOTER, "footer", [], 0)
        self.image.run(GCM_DECRYPT, [module])
        return Thrift(self.image.data, module.at).struct()

    def signed_footer(self):
        """Has nonce | tag behind it. Its encryption must give this tag, and is of no other use: it is
        done in a copy, where the nonce is before the text, as in a module."""
        thrift = Thrift(self.image.data, self.begin)
        footer = thrift.struct()
        if 8 not in footer:
            raise Refused("it is not encrypted")
        if thrift.at + NONCE + TAG != self.end:
            raise Refused("footer: it has no signature")
        self.use_algorithm(footer[8])
        text, nonce, tag = (
            self.image.data[begin:end]
            for begin, end in ((self.begin, thrift.at), (thrift.at, self.end - TAG), (self.end - TAG, self.end))
        )
        copy = Image(nonce + text + bytes(TAG), self.image.prefix, self.image.keys)
        copy.run(GCM_ENCRYPT, [Module(FOOTER, "footer", [], 0, NONCE, len(text))])
        if not hmac.compare_digest(copy.data[-TAG:], tag):
            raise Refused("footer: not authentic: another key, or changed")
        return footer

    def open_columns(self):
        """Decrypts the metadata of columns with keys of their own, which lies in the footer, by one
        call. self.chunks: those that are encrypted, as (row group, column, name, key, metadata)."""
        self.chunks, encrypted, modules = [], [], []
        for row_group, fields in enumerate(self.footer[4]):
            for column, chunk in enumerate(fields[1]):
                if 8 not in chunk:
                    continue
                ((which, crypto),) = chunk[8].items()  # 1: the footer's key, 2: a path and a key
                path = crypto[1] if which == 2 else chunk[3][3]
                name = b".".join(path).decode()
                key = 0 if which == 1 else self.image.keys.numbers.get(name)
                if key is None:
                    raise Refused(f"column {name}: its key is missing: -k {name}=HEX")
                self.chunks.append([row_group, column, name, key, chunk.get(3)])
                if 9 in chunk:
                    at = chunk[9].at
                    where = f"row group {row_group}, column {name}, metadata"
                    module, _ = find_module(
                        self.image.data, at, at + len(chunk[9]), TAG, COLUMN_METADATA, where,
                        [row_group, column], key,
                    )
                    modules.append(module)
                    encrypted.append(self.chunks[-1])
        self.image.run(GCM_DECRYPT, modules)
        for chunk, module in zip(encrypted, modules):
            chunk[4] = Thrift(self.image.data, module.at).struct()

    def find_pages(self):
        """The modules of all chunks, found by their lengths alone: header, page, header, page..."""
        for row_group, column, name, key, metadata in self.chunks:
            at = metadata[9]  # the first data page
            dictionary = 0 < metadata.get(11, 0) < at
            at = metadata[11] if dictionary else at
            end, page = at + metadata[7], 0
            while at < end:
                kinds = (DICTIONARY_PAGE_HEADER, DICTIONARY_PAGE) if dictionary else (DATA_PAGE_HEADER, DATA_PAGE)
                numbers = [row_group, column] if dictionary else [row_group, column, page]
                where = f"row group {row_group}, column {name}, page {page}"
                header, at = find_module(
                    self.image.data, at, end, TAG, kinds[0], where + ", header", numbers, key
                )
                text, at = find_module(
                    self.image.data, at, end, 0 if self.pages_are_ctr else TAG, kinds[1], where, numbers, key
                )
                yield (row_group, column, name), header, text
                page, dictionary = page + (not dictionary), False

    def decrypt_pages(self):
        """One call for headers and pages, or one for each where pages are CTR. Returns the pages of
        each chunk, a list in a dictionary by (row group, column, name)."""
        found = list(self.find_pages())
        headers, pages = [header for _, header, _ in found], [page for _, _, page in found]
        if self.pages_are_ctr:
            self.image.run(GCM_DECRYPT, headers)
            self.image.run(CTR, pages)
        else:
            self.image.run(GCM_DECRYPT, headers + pages)
        chunks = {}
        for chunk, header, page in found:
            size = LENGTH + NONCE + page.size + (0 if self.pages_are_ctr else TAG)
            if Thrift(self.image.text(header)).struct().get(3) != size:  # PageHeader
                raise Refused(f"{header.where}: the page has another size")
            chunks.setdefault(chunk, []).append(self.image.text(page))
        return chunks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-f", type=bytes.fromhex, required=True, metavar="HEX")
    parser.add_argument("-k", action="append", default=[], metavar="COLUMN=HEX")
    parser.add_argument("-p", type=bytes.fromhex, default=b"", metavar="HEX")
    parser.add_argument("file")
    parser.add_argument("folder")
    given = parser.parse_args()
    columns = {name: bytes.fromhex(key) for name, _, key in (text.rpartition("=") for text in given.k)}

    start()
    with open(given.file, "rb") as file:
        data = file.read()
    try:
        pages = ParquetFile(data, Keys(given.f, columns), given.p).decrypt_pages()
    except Refused as refused:
        sys.exit(f"parquet_decrypt: {given.file}: {refused}")
    except KeyError as missing:
        sys.exit(f"parquet_decrypt: {given.file}: field {missing} of a Thrift structure is missing")
    for (row_group, column, name), texts in pages.items():
        with open(f"{given.folder}/{row_group}-{column}", "wb") as file:
            file.writelines(texts)
        print(f"row group {row_group}, column {name}: {len(texts)} pages")


if __name__ == "__main__":
    main()
