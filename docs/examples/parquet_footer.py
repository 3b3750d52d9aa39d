"""The structures of Parquet that parquet_decrypt.py needs, read from Thrift's compact protocol:
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift

What is read may come from anybody. A structure that is not valid is refused; depth is limited, and memory is taken
for what is in the file, never for a number in it.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
from types import SimpleNamespace

DEPTH_MOST = 32
NUMBERS = 1 << 15  # of row groups, of columns, and of pages in a chunk: they are numbered by 15 bits
STOP, TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)
BOOL = TRUE


class Refused(Exception):
    """The file is not what it should be; the message says where."""


class Binary(bytes):
    """`at`: where it was read."""


class Struct:
    """Describes a struct by the fields that are read: {number: (name, type)}. A type is BOOL, I32, I64, BINARY, a
    list of one of the others, a Struct or a Union. Other fields are skipped. Those of `optional` may be missing, and
    are None then."""

    def __init__(self, name, fields, optional=()):
        self.name, self.fields = name, fields
        self.optional = optional


class Union(Struct):
    """Has exactly one member, which is one of `fields`: its value is (name, value)."""


class Thrift:
    """Reads values between two places of `data`; `what` is what they are, for messages. `at` is the next place."""

    def __init__(self, data, at, end, what):
        self.data, self.at, self.end, self.what = memoryview(data), at, end, what
        if not 0 <= at <= end <= len(data):
            raise Refused(f"{what}: it lies outside the file")

    def read(self, kind):
        """A value that is described by a Struct or a Union."""
        members = {}
        for number, wire in self._fields():
            name, member = kind.fields.get(number, (None, None))
            if name is None:
                if isinstance(kind, Union):
                    raise Refused(f"{self.what}: {kind.name} has the member {number}, which is unknown")
                self._skip(wire, 1)
                continue
            if name in members:
                raise Refused(f"{self.what}: {kind.name} has {name} twice")
            members[name] = self._value(f"{kind.name}.{name}", member, wire)
        if isinstance(kind, Union):
            if len(members) != 1:
                raise Refused(f"{self.what}: {kind.name} has {len(members)} members, not one")
            return members.popitem()
        for name, _ in kind.fields.values():
            if members.setdefault(name) is None and name not in kind.optional:
                raise Refused(f"{self.what}: {kind.name} has no {name}")
        return SimpleNamespace(**members)

    def _value(self, name, kind, wire):
        if kind == BOOL:
            self._expect(name, FALSE if wire == FALSE else TRUE, wire)
            return wire == TRUE
        self._expect(name, LIST if isinstance(kind, list) else STRUCT if isinstance(kind, Struct) else kind, wire)
        if isinstance(kind, list):
            count, element = self._list()
            if count > NUMBERS:
                raise Refused(f"{self.what}: {name} has {count} elements: expected {NUMBERS} at most")
            return [self._value(name, kind[0], element) for _ in range(count)]
        if isinstance(kind, Struct):
            return self.read(kind)
        if kind == BINARY:
            binary = Binary(self._binary())
            binary.at = self.at - len(binary)
            return binary
        return self._integer()

    def _expect(self, name, expected, wire):
        if wire != expected:
            raise Refused(f"{self.what}: {name} has type {wire}, not {expected}")

    def _take(self, count):
        if count > self.end - self.at:
            raise Refused(f"{self.what}: ends within a value")
        self.at += count
        return self.data[self.at - count:self.at]

    def _varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self._take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128 and value < 1 << 64:
                return value
        raise Refused(f"{self.what}: a number has more than 64 bits")

    def _integer(self):
        zigzag = self._varint()
        return zigzag >> 1 ^ -(zigzag & 1)

    def _binary(self):
        return self._take(self._varint())

    def _fields(self):
        """The numbers of fields and their types, up to the end of the struct."""
        number = 0
        while byte := self._take(1)[0]:
            number = number + (byte >> 4) if byte >> 4 else self._integer()
            yield number, byte & 15

    def _list(self):
        """The number of elements, and their type."""
        byte = self._take(1)[0]
        return byte >> 4 if byte >> 4 < 15 else self._varint(), byte & 15

    def _skip(self, wire, depth):
        if depth > DEPTH_MOST:
            raise Refused(f"{self.what}: nested too deep")
        if wire in (TRUE, FALSE):
            return  # the type is the value
        if wire in (BYTE, DOUBLE):
            self._take(1 if wire == BYTE else 8)
        elif wire in (I16, I32, I64):
            self._varint()
        elif wire == BINARY:
            self._binary()
        elif wire in (LIST, SET):
            count, element = self._list()
            for _ in range(count):
                self._skip(BYTE if element in (TRUE, FALSE) else element, depth + 1)
        elif wire == STRUCT:
            for _, member in self._fields():
                self._skip(member, depth + 1)
        else:
            raise Refused(f"{self.what}: a field has type {wire}")  # the format has no maps


# ---- Structures ---------------------------------------------------------------------

# What both algorithms have.
_AES = Struct(
    "AES", {1: ("aad_prefix", BINARY), 2: ("aad_file_unique", BINARY), 3: ("supply_aad_prefix", BOOL)},
    optional=("aad_prefix", "supply_aad_prefix"),
)
_ALGORITHM = Union("EncryptionAlgorithm", {1: ("AES_GCM_V1", _AES), 2: ("AES_GCM_CTR_V1", _AES)})

COLUMN_METADATA = Struct(
    "ColumnMetaData",
    {
        3: ("path_in_schema", [BINARY]), 7: ("total_compressed_size", I64), 9: ("data_page_offset", I64),
        11: ("dictionary_page_offset", I64),
    },
    optional=("dictionary_page_offset",),
)
_COLUMN_CRYPTO = Union(
    "ColumnCryptoMetaData",
    {
        1: ("ENCRYPTION_WITH_FOOTER_KEY", Struct("EncryptionWithFooterKey", {})),
        2: ("ENCRYPTION_WITH_COLUMN_KEY", Struct("EncryptionWithColumnKey", {1: ("path_in_schema", [BINARY])})),
    },
)
_COLUMN_CHUNK = Struct(
    "ColumnChunk",
    {
        3: ("meta_data", COLUMN_METADATA), 8: ("crypto_metadata", _COLUMN_CRYPTO),
        9: ("encrypted_column_metadata", BINARY),
    },
    optional=("meta_data", "crypto_metadata", "encrypted_column_metadata"),
)
_ROW_GROUP = Struct("RowGroup", {1: ("columns", [_COLUMN_CHUNK])})
FILE_METADATA = Struct(
    "FileMetaData", {4: ("row_groups", [_ROW_GROUP]), 8: ("encryption_algorithm", _ALGORITHM)},
    optional=("encryption_algorithm",),
)
FILE_CRYPTO_METADATA = Struct("FileCryptoMetaData", {1: ("encryption_algorithm", _ALGORITHM)})
PAGE_HEADER = Struct("PageHeader", {3: ("compressed_page_size", I32)})
