#!/usr/bin/env python3
"""Decrypts the pages of a Parquet file with modular encryption on a GPU: all of them, of all
columns and row groups, by one call (in AES_GCM_CTR_V1 two: headers are GCM then, pages CTR), or by
one for each size that keys have.

    parquet_decrypt.py -f HEX [-k COLUMN=HEX]... [-p HEX] FILE FOLDER

    -f   key of the footer
    -k   key of a column, a path such as a.list.element; columns without one have the footer's
    -p   AAD prefix; where the file has it, too, the two must be equal

FOLDER/R-C gets the pages of row group R in column C (0, 1...) as they are in a file without
encryption: compressed, without their headers. Columns that are not encrypted, or have no pages there,
are left out, and nothing is written unless all is authentic.

The format: https://github.com/apache/parquet-format/blob/master/Encryption.md. A module is
length (4) | nonce (12) | ciphertext | tag (16); pages of AES_GCM_CTR_V1 have no tag, and so nothing
shows that they are what was written: the text of such a page is not authenticated.
parquet_footer.py reads the structures; parquet_decrypt.c does the same in C.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import argparse
import ctypes
import hmac
import os
import struct
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

from parquet_footer import (
    COLUMN_METADATA as METADATA, FILE_CRYPTO_METADATA, FILE_METADATA, NUMBERS, PAGE_HEADER, Refused, Thrift,
)

LENGTH, NONCE, TAG, UNIQUE = 4, 12, 16, 8
PREFIX_MOST = 4096  # it is repeated for each module


# ---- The GPU ---------------------------------------------------------------------

cuda = gpuaes = None  # the libraries, which start() opens

READY = 2
CTR, GCM_ENCRYPT, GCM_DECRYPT = 3, 5, 6
OK, BAD_ARGUMENT, BAD_TAG, FAULT = 0, 4, 7, 8


class Messages(ctypes.Structure):
    """struct gpuaes_messages"""

    _fields_ = [("struct_bytes", c_size_t), ("op", c_int), ("count", c_size_t), ("max_bytes", c_size_t)]
    _fields_ += [(n, c_void_p) for n in ("key", "tweak_key", "keys", "key_table", "key_index")]
    _fields_ += [(n, c_size_t) for n in ("key_count", "key_bytes")]
    _fields_ += [(n, c_void_p) for n in ("in_", "out", "bytes", "iv")] + [("iv_bytes", c_size_t)]
    _fields_ += [(n, c_void_p) for n in ("aad", "aad_bytes", "tag")] + [("tag_bytes", c_size_t)]
    _fields_ += [("status", c_void_p)]


def check(status, what):
    if status != OK:
        raise RuntimeError(f"{what}: {gpuaes.gpuaes_status_text(status).decode()}")


def check_cuda(result, what):
    if result:
        raise RuntimeError(f"{what}: CUDA error {result}")


def start():
    """Makes the primary context of GPU 0 current, as PyTorch and CuPy do, and starts libgpuaes."""
    global cuda, gpuaes
    cuda = ctypes.CDLL("libcuda.so.1")
    gpuaes = ctypes.CDLL(os.environ.get("GPUAES_LIBRARY", "libgpuaes.so.1"))
    for name in "gpuaes_status_text", "gpuaes_reason", "gpuaes_queue_error":
        getattr(gpuaes, name).restype = c_char_p
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
    """Raw keys on the device; the first is the footer's. A table for each size, in which each key has its
    number."""

    def __init__(self, footer, columns):
        keys = [footer, *columns.values()]
        self.numbers = {name: i + 1 for i, name in enumerate(columns)}
        self.sizes = [len(key) for key in keys]
        self.tables = {
            size: DeviceMemory(size * len(keys), b"".join(key if len(key) == size else bytes(size) for key in keys))
            for size in dict.fromkeys(self.sizes)
        }

    def cleanse(self):
        """Overwrites those of the device behind all that is queued."""
        for table in self.tables.values():
            check_cuda(cuda.cuMemsetD8Async(c_uint64(table.address), 0, c_size_t(table.size), None), "cuMemsetD8Async")
        check_cuda(cuda.cuStreamSynchronize(None), "cuStreamSynchronize")


# ---- Modules ------------------------------------------------------------------------

FOOTER, COLUMN_METADATA, DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_HEADER, DICTIONARY_PAGE_HEADER = range(6)


class Module:
    def __init__(self, kind, where, numbers, key, at, size):
        if max(numbers, default=0) >= NUMBERS:
            raise Refused(f"{where}: its number is too large: expected less than {NUMBERS}")
        self.where, self.key = where, key
        self.aad = struct.pack(f"<B{len(numbers)}H", kind, *numbers)  # row group, column, page
        self.at, self.size = at, size  # of the text in the file; the nonce is before it, a tag behind


def find_module(data, at, end, tag, kind, where, numbers, key):
    """The module at `at`, and where the next one is: none of it is outside of `data`, or behind `end`."""
    if not 0 <= at <= end - LENGTH <= len(data) - LENGTH:
        raise Refused(f"{where}: truncated")
    (length,) = struct.unpack_from("<I", data, at)
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
        """Decrypts modules on the device, in place, by one call for each size of keys, and brings all between
        the first and the last of them to the host. GCM_ENCRYPT makes their tags instead."""
        for size in self.keys.tables:
            self.queue(op, size, [m for m in modules if self.keys.sizes[m.key] == size])
        if modules:
            begin = min(m.at for m in modules)
            end = min(max(m.at + m.size + TAG for m in modules), len(self.data))
            self.device.read(begin, memoryview(self.data)[begin:end])

    def queue(self, op, key_bytes, modules):
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
            "key_index": to_device("I", [m.key for m in modules]),
            "iv": to_device("Q", [iv_memory.address + i * len(ivs[0]) for i in range(len(ivs))]),
            "aad": to_device("Q", aad_at[:-1]),
            "aad_bytes": to_device("Q", [len(aad) for aad in aads]),
            "tag": to_device("Q", [self.device.address + m.at + m.size for m in modules]),
            "status": to_device("I", [FAULT] * len(modules)),
        }
        messages = Messages(
            struct_bytes=ctypes.sizeof(Messages), op=op, count=len(modules), max_bytes=max(m.size for m in modules),
            key_table=self.keys.tables[key_bytes].address, key_count=len(self.keys.sizes), key_bytes=key_bytes,
            iv_bytes=len(ivs[0]), tag_bytes=0 if op == CTR else TAG,
            out=arrays["in_"].address, **{name: memory.address for name, memory in arrays.items()},
        )
        status = gpuaes.gpuaes_queue(byref(messages), None, c_size_t(0), None, 0)
        if status == BAD_ARGUMENT:
            raise Refused(f"decryption: {gpuaes.gpuaes_queue_error().decode()}")
        check(status, "decryption")

        for module, (status,) in zip(modules, struct.iter_unpack("I", arrays["status"].read_all())):
            if status == BAD_TAG:
                raise Refused(f"{module.where}: not authentic: another key, or changed")
            check(status, module.where)


# ---- The file --------------------------------------------------------------------------


class ParquetFile:
    """A file whose footer has been decrypted, or found to be authentic."""

    def __init__(self, data, keys, prefix=b""):
        if data[-4:] not in (b"PAR1", b"PARE") or len(data) < 12:
            raise Refused("truncated, or no Parquet file: it does not end with PAR1 or PARE")
        self.end = len(data) - 8
        self.begin = self.end - struct.unpack("<I", data[-8:-4])[0]
        if self.begin < 4:
            raise Refused("footer: truncated, or it has a wrong length")
        self.given_prefix = prefix
        self.image = Image(data, None, keys)
        self.footer = self.encrypted_footer() if data[-4:] == b"PARE" else self.signed_footer()
        self.open_columns()

    def use_algorithm(self, algorithm):
        name, fields = algorithm
        given, stored = self.given_prefix, fields.aad_prefix
        if fields.supply_aad_prefix and not given:
            raise Refused("it wants an AAD prefix: -p HEX")
        if given and stored and given != stored:
            raise Refused("its AAD prefix is not the one that was given")
        if given and not stored and not fields.supply_aad_prefix:
            raise Refused("it has no AAD prefix, but one was given")
        prefix = stored or given
        if len(prefix) > PREFIX_MOST:
            raise Refused(f"its AAD prefix has {len(prefix)} bytes: expected {PREFIX_MOST} at most")
        if len(fields.aad_file_unique) != UNIQUE:
            raise Refused(f"footer: the file's identifier has {len(fields.aad_file_unique)} bytes, not {UNIQUE}")
        self.pages_are_ctr = name == "AES_GCM_CTR_V1"
        self.image.prefix = prefix + fields.aad_file_unique

    def encrypted_footer(self):
        thrift = Thrift(self.image.data, self.begin, self.end, "footer")
        self.use_algorithm(thrift.read(FILE_CRYPTO_METADATA).encryption_algorithm)
        module, _ = find_module(self.image.data, thrift.at, self.end, TAG, FOOTER, "footer", [], 0)
        self.image.run(GCM_DECRYPT, [module])
        return self.thrift(module).read(FILE_METADATA)

    def signed_footer(self):
        """Has nonce | tag behind it. Its encryption must give this tag, and is of no other use: it is
        done in a copy, where the nonce is before the text, as in a module."""
        thrift = Thrift(self.image.data, self.begin, self.end, "footer")
        footer = thrift.read(FILE_METADATA)
        if footer.encryption_algorithm is None:
            raise Refused("it is not encrypted")
        if thrift.at + NONCE + TAG != self.end:
            raise Refused("footer: it has no signature")
        self.use_algorithm(footer.encryption_algorithm)
        text, nonce, tag = (
            self.image.data[begin:end]
            for begin, end in ((self.begin, thrift.at), (thrift.at, self.end - TAG), (self.end - TAG, self.end))
        )
        copy = Image(nonce + text + bytes(TAG), self.image.prefix, self.image.keys)
        copy.run(GCM_ENCRYPT, [Module(FOOTER, "footer", [], 0, NONCE, len(text))])
        if not hmac.compare_digest(copy.data[-TAG:], tag):
            raise Refused("footer: not authentic: another key, or changed")
        return footer

    def thrift(self, module):
        return Thrift(self.image.data, module.at, module.at + module.size, module.where)

    def open_columns(self):
        """Decrypts the metadata of columns with keys of their own, which lies in the footer.
        self.chunks: those that are encrypted, as (row group, column, name, key, metadata)."""
        self.chunks, encrypted, modules = [], [], []
        for row_group, fields in enumerate(self.footer.row_groups):
            for column, chunk in enumerate(fields.columns):
                if chunk.crypto_metadata is None:
                    continue
                where = f"row group {row_group}, column {column}"
                which, crypto = chunk.crypto_metadata
                has_key = which == "ENCRYPTION_WITH_COLUMN_KEY"
                if not has_key and chunk.meta_data is None:
                    raise Refused(f"{where}: its metadata is missing")
                path = (crypto if has_key else chunk.meta_data).path_in_schema
                try:
                    name = b".".join(path).decode()
                except UnicodeDecodeError:
                    raise Refused(f"{where}: its name is not UTF-8") from None
                key = self.image.keys.numbers.get(name) if has_key else 0
                if key is None:
                    raise Refused(f"column {name}: its key is missing: -k {name}=HEX")
                self.chunks.append([row_group, column, name, key, chunk.meta_data])
                sealed = chunk.encrypted_column_metadata
                where = f"row group {row_group}, column {name}, metadata"
                if sealed is not None:
                    module, _ = find_module(
                        self.image.data, sealed.at, sealed.at + len(sealed), TAG, COLUMN_METADATA, where,
                        [row_group, column], key,
                    )
                    modules.append(module)
                    encrypted.append(self.chunks[-1])
                elif chunk.meta_data is None:
                    raise Refused(f"{where}: missing")
        self.image.run(GCM_DECRYPT, modules)
        for chunk, module in zip(encrypted, modules):
            chunk[4] = self.thrift(module).read(METADATA)

    def places(self):
        """Where the pages of each chunk lie: (begin, end, has a dictionary), in the order of self.chunks. They are
        before the footer, and apart from each other."""
        places = []
        for row_group, column, name, key, metadata in self.chunks:
            # Offsets of 0 are of no page: a row group without rows may have a dictionary, and no data.
            data, dictionary = metadata.data_page_offset, max(metadata.dictionary_page_offset or 0, 0)
            first = dictionary if dictionary and (data == 0 or dictionary < data) else 0
            begin, size = first or data, metadata.total_compressed_size
            if size != 0 and not (4 <= begin and 0 < size <= self.begin - begin):
                raise Refused(f"row group {row_group}, column {name}: its pages lie outside of bytes 4 to {self.begin}")
            places.append((begin, begin + size, first > 0))
        behind = 0
        for (begin, end, _), chunk in sorted(zip(places, self.chunks), key=lambda both: both[0]):
            if begin < end and begin < behind:
                raise Refused(f"row group {chunk[0]}, column {chunk[2]}: its pages overlap those of another chunk")
            behind = max(behind, end)
        return places

    def find_pages(self):
        """The modules of all chunks, found by their lengths alone: header, page, header, page..."""
        for (row_group, column, name, key, _), (at, end, dictionary) in zip(self.chunks, self.places()):
            page = 0
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
        """Headers and pages at once, or one behind the other where pages are CTR. Returns the pages of each
        chunk, a list in a dictionary by (row group, column, name)."""
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
            if self.thrift(header).read(PAGE_HEADER).compressed_page_size != size:
                raise Refused(f"{header.where}: the page has another size")
            chunks.setdefault(chunk, []).append(self.image.text(page))
        return chunks


def key(text):
    """Of hexadecimal digits. A message must not repeat it."""
    try:
        bytes_ = bytes.fromhex(text)
    except ValueError:
        bytes_ = b""
    if len(bytes_) not in (16, 24, 32):
        raise argparse.ArgumentTypeError("it is no key: expected 32, 48 or 64 hexadecimal digits")
    return bytes_


def column_key(text):
    name, _, digits = text.rpartition("=")
    return name, key(digits)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-f", type=key, required=True, metavar="HEX")
    parser.add_argument("-k", type=column_key, action="append", default=[], metavar="COLUMN=HEX")
    parser.add_argument("-p", type=bytes.fromhex, default=b"", metavar="HEX")
    parser.add_argument("file")
    parser.add_argument("folder")
    given = parser.parse_args()

    start()
    try:
        with open(given.file, "rb") as file:
            data = file.read()
        keys = Keys(given.f, dict(given.k))
        try:
            pages = ParquetFile(data, keys, given.p).decrypt_pages()
        finally:
            keys.cleanse()
    except Refused as refused:
        sys.exit(f"parquet_decrypt: {given.file}: {refused}")
    except OSError as error:
        sys.exit(f"parquet_decrypt: {error}")
    for (row_group, column, name), texts in pages.items():
        with open(f"{given.folder}/{row_group}-{column}", "wb") as file:
            file.writelines(texts)
        print(f"row group {row_group}, column {name}: {len(texts)} pages")


if __name__ == "__main__":
    main()
