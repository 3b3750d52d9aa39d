"""Writes small encrypted Parquet files, valid or not, for tests of what reads them.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import struct as packing

# Types of Thrift's compact protocol.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

FOOTER, COLUMN_METADATA, DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_HEADER, DICTIONARY_PAGE_HEADER = range(6)
UNIQUE = b"identify"


# ---- Thrift: values are (type, bytes) -------------------------------------------------


def varint(value):
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes(data) + bytes([value])


def integer(value, kind=I64):
    return kind, varint((value << 1 ^ value >> 63) & (1 << 64) - 1)


def binary(data):
    return BINARY, varint(len(data)) + data


def list_of(kind, values, count=None):
    """`count` says another number of elements than there are."""
    count = len(values) if count is None else count
    return LIST, bytes([0xF0 | kind]) + varint(count) + b"".join(data for _, data in values)


def struct(fields, long=False):
    """Of {number: value}. As writers do, a field says how far its number is from the last where that is 1 to 15; in the
    long form, each has its number by itself."""
    data, last = b"", 0
    for number, (kind, value) in fields.items():
        short = 0 < number - last < 16 and not long
        data += (bytes([number - last << 4 | kind]) if short else bytes([kind]) + integer(number)[1]) + value
        last = number
    return STRUCT, data + b"\0"


# ---- Parquet ------------------------------------------------------------------------


def algorithm(prefix=None, unique=UNIQUE, wants_prefix=False, which=1):
    fields = {2: binary(unique), 3: (TRUE if wants_prefix else FALSE, b"")}
    if prefix is not None:
        fields[1] = binary(prefix)
    return struct({which: struct(fields)})


def metadata(begin, size, name=b"a", **more):
    """ColumnMetaData; `more` are fields, f9=... in the place of the ninth."""
    fields = {1: integer(1, I32), 3: list_of(BINARY, [binary(name)]), 7: integer(size), 9: integer(begin)}
    return struct({**fields, **{int(n[1:]): value for n, value in more.items()}})


BY_FOOTER_KEY = struct({1: struct({})})


def by_column_key(name):
    return struct({2: struct({1: list_of(BINARY, [binary(name)])})})


def chunk(described=None, crypto=BY_FOOTER_KEY, sealed=None, more={}):
    """ColumnChunk: its metadata, how it is encrypted, a module of its metadata, and more fields."""
    fields = {2: integer(0), 3: described, **more, 8: crypto, 9: sealed and binary(sealed)}
    return struct({number: value for number, value in fields.items() if value is not None})


def footer(row_groups, names, more):
    """FileMetaData with columns of INT64, a, b, c... without `names`; `more` are fields."""
    count = max(map(len, row_groups), default=0)
    names = names or [chr(ord("a") + n).encode() if n < 26 else b"c%d" % n for n in range(count)]
    root = struct({4: binary(b"schema"), 5: integer(len(names), I32)})
    columns = [struct({1: integer(2, I32), 3: integer(0, I32), 4: binary(name)}) for name in names]
    groups = list_of(STRUCT, [struct({1: list_of(STRUCT, chunks)}) for chunks in row_groups])
    return struct({1: integer(1, I32), 2: list_of(STRUCT, [root, *columns]), 4: groups, **more})


def page_header(text_bytes, page_bytes, more={}, long=False):
    """Of a page of that size without and with encryption; `more` are fields, {4: integer(checksum, I32)}."""
    return struct({1: integer(0, I32), 2: integer(text_bytes, I32), 3: integer(page_bytes, I32), **more}, long)


class Writer:
    """`seal(TYPE, NUMBERS, TEXT)` gives nonce, ciphertext and tag. Headers of pages have their fields in the long form if
    `long`; all else is in the short one."""

    def __init__(self, seal, long=False):
        self.seal, self.long, self.data = seal, long, bytearray(b"PAR1")

    def module(self, kind, numbers, text):
        sealed = self.seal(kind, numbers, text)
        return packing.pack("<I", len(sealed)) + sealed

    def pages(self, row_group=0, column=0, texts=(b"one", b"the other"), header=None, dictionary=None):
        """Adds pages, and returns where they begin, and their size. `header` is one for all of them, in the place of
        the right ones, or makes one of the sizes of a page without and with encryption."""
        begin = len(self.data)
        pages = []
        if dictionary is not None:
            pages.append(([row_group, column], DICTIONARY_PAGE_HEADER, DICTIONARY_PAGE, dictionary))
        pages += [([row_group, column, n], DATA_PAGE_HEADER, DATA_PAGE, text) for n, text in enumerate(texts)]
        for numbers, header_kind, page_kind, text in pages:
            page = self.module(page_kind, numbers, text)
            described = header or page_header(len(text), len(page), long=self.long)
            described = described(len(text), len(page)) if callable(described) else described
            self.data += self.module(header_kind, numbers, described[1]) + page
        return begin, len(self.data) - begin

    def signed(self, row_groups, encryption=None, change=bytes, names=None):
        """The file: its footer, as `change` makes it, is not encrypted. Row groups are lists of chunks."""
        return self.end_signed(change(footer(row_groups, names, {8: encryption or algorithm()})[1]))

    def end_signed(self, footer):
        sealed = self.seal(FOOTER, [], footer)
        end = footer + sealed[:12] + sealed[-16:]
        return bytes(self.data) + end + packing.pack("<I", len(end)) + b"PAR1"

    def encrypted(self, row_groups, encryption=None, change=bytes, names=None):
        """The same, but encrypted; `change` is for what is before it, FileCryptoMetaData."""
        sealed = self.module(FOOTER, [], footer(row_groups, names, {})[1])
        end = change(struct({1: encryption or algorithm()})[1]) + sealed
        return bytes(self.data) + end + packing.pack("<I", len(end)) + b"PARE"


# ---- Files that must be refused --------------------------------------------------------

NESTED = b"\x1c" * 5000 + b"\0" * 5001  # structs, each the first field of another


def wrong_headers(long):
    """Yields (NAME, HEADER), in one form; see Writer.pages()."""
    def of(fields):
        return struct(fields, long)

    def changed(change):
        return lambda *sizes: (STRUCT, change(page_header(*sizes, {4: integer(-1 << 31, I32)}, long)[1]))

    yield "nested", (STRUCT, b"\x0c\x02" * 5000 + b"\0" * 5001 if long else NESTED)
    yield "size-is-a-binary", of({3: binary(b"abc")})
    yield "size-is-64-bits", lambda _, size: of({3: integer(size)})
    yield "another-size", of({3: integer(1, I32)})
    yield "size-is-less", lambda text, size: page_header(text, size - 1, {4: integer(9, I32)}, long)
    yield "negative-size", lambda _, size: of({3: integer(-size, I32)})
    yield "size-and-2^32", lambda _, size: of({3: integer(size + (1 << 32), I32)})
    yield "checksum-alone", of({4: integer(1, I32)})
    yield "checksum-without-end", changed(lambda data: data[:-2])
    yield "no-end", changed(lambda data: data[:-1])
    yield "empty", struct({})


def wrong(seal):
    """Yields (NAME, FILE, PLACE): files with right signatures whose structures are wrong, and how the refusal of
    each begins. The column a has the footer's key."""
    def with_metadata(name, place, **more):
        writer = Writer(seal)
        begin, size = writer.pages()
        return name, writer.signed([[chunk(metadata(begin, size, **more))]]), place

    whole = Writer(seal).pages()[1]  # the size of the pages
    pages = "row group 0, column a: its pages lie outside"
    yield with_metadata("negative-offset", pages, f9=integer(-50))
    yield with_metadata("negative-dictionary-only", pages, f9=integer(0), f11=integer(-50))
    yield with_metadata("offset-of-the-magic", pages, f9=integer(3))
    yield with_metadata("offset-behind-the-file", pages, f9=integer(1 << 40))
    yield with_metadata("offset-of-2^63-1", pages, f9=integer((1 << 63) - 1))
    yield with_metadata("offset-in-the-footer", pages, f9=integer(100))
    yield with_metadata("negative-size", pages, f7=integer(-1))
    yield with_metadata("size-of-2^63-1", pages, f7=integer((1 << 63) - 1))
    yield with_metadata("size-into-the-footer", pages, f7=integer(whole + 1))
    yield with_metadata("size-within-a-module", "row group 0, column a, page 1: truncated", f7=integer(whole - 1))
    yield with_metadata("dictionary-in-the-magic", pages, f11=integer(1))
    yield with_metadata("offset-is-a-binary", "footer: ", f9=binary(b"abc"))
    yield with_metadata("size-is-32-bits", "footer: ", f7=integer(80, I32))
    yield with_metadata("path-is-an-integer", "footer: ", f3=integer(0))
    yield with_metadata("path-of-integers", "footer: ", f3=list_of(I64, [integer(0)]))
    yield with_metadata("unread-field-nested-too-deep", "footer: nested too deep", f99=(STRUCT, NESTED))

    def with_chunk(name, place, make):
        writer = Writer(seal)
        begin, size = writer.pages()
        return name, writer.signed([[make(writer, begin, size)]]), place

    key = {"crypto": by_column_key(b"a"), "described": None}
    yield with_chunk("no-metadata", "row group 0, column ", lambda w, b, s: chunk())
    yield with_chunk("no-metadata-of-a-key", "column a: its key is missing", lambda w, b, s: chunk(**key))
    yield with_chunk("metadata-is-a-list", "footer: ", lambda w, b, s: chunk(list_of(I32, [])))
    yield with_chunk("crypto-has-no-member", "footer: ", lambda w, b, s: chunk(metadata(b, s), struct({})))
    yield with_chunk("crypto-has-two-members", "footer: ", lambda w, b, s: chunk(
        metadata(b, s), struct({1: struct({}), 2: struct({1: list_of(BINARY, [binary(b"a")])})})))
    yield with_chunk("crypto-is-unknown", "footer: ", lambda w, b, s: chunk(metadata(b, s), struct({3: struct({})})))
    place = "row group 0, column a, metadata: "
    yield with_chunk("sealed-metadata-of-0-bytes", place, lambda w, b, s: chunk(metadata(b, s), sealed=b"\0\0\0\0"))
    yield with_chunk("sealed-metadata-is-shorter", place, lambda w, b, s: chunk(
        metadata(b, s), sealed=w.module(COLUMN_METADATA, [0, 0], metadata(b, s)[1])[:-1]))
    yield with_chunk("sealed-metadata-nested", "", lambda w, b, s: chunk(
        metadata(b, s), sealed=w.module(COLUMN_METADATA, [0, 0], NESTED)))
    yield with_chunk("sealed-metadata-negative", pages, lambda w, b, s: chunk(
        metadata(b, s), sealed=w.module(COLUMN_METADATA, [0, 0], metadata(-b, s)[1])))

    for form, long in ("short", False), ("long", True):
        for name, header in wrong_headers(long):
            writer = Writer(seal)
            place = writer.pages(header=header)
            yield f"header-{name}-{form}", writer.signed([[chunk(metadata(*place))]]), ""

    writer = Writer(seal)
    begin, size = writer.pages()
    yield "pages-twice", writer.signed([[chunk(metadata(begin, size)), chunk(metadata(begin, size, b"b"))]]), (
        "row group 0, column b: its pages overlap")
    yield "pages-overlap", writer.signed([[chunk(metadata(begin + 1, size - 1)), chunk(metadata(begin, 9, b"b"))]]), (
        "row group 0, column a: its pages overlap")

    writer = Writer(seal)
    place = writer.pages(texts=[b""] * 32769)
    data = writer.signed([[chunk(metadata(*place))]])
    yield "32769-pages", data, "row group 0, column a, page 32768, header: its number"
    yield "32769-row-groups", Writer(seal).signed([[]] * 32769), "footer: "
    yield "32769-columns", Writer(seal).signed([[chunk(metadata(4, 0))] * 32769]), "footer: "
    for kind in BYTE, I64, BINARY, STRUCT:
        groups = list_of(kind, [], 1 << 40)
        yield f"2^40-of-type-{kind}", Writer(seal).end_signed(struct({4: groups, 8: algorithm()})[1]), "footer: "

    def with_algorithm(name, place, encryption):
        for how in "signed", "encrypted":
            yield f"{name}-{how}", getattr(Writer(seal), how)([], encryption), place

    yield from with_algorithm("no-algorithm", "footer: ", struct({}))
    yield from with_algorithm("two-algorithms", "footer: ", struct({n: struct({2: binary(UNIQUE)}) for n in (1, 2)}))
    yield from with_algorithm("unknown-algorithm", "footer: ", algorithm(which=3))
    yield from with_algorithm("algorithm-is-an-integer", "footer: ", integer(1))
    yield from with_algorithm("algorithm-of-a-binary", "footer: ", struct({1: binary(b"abc")}))
    number = struct({1: struct({1: integer(1 << 34), 2: binary(UNIQUE)})})
    yield from with_algorithm("prefix-is-an-integer", "footer: ", number)
    number = struct({1: struct({2: binary(UNIQUE), 3: integer(1)})})
    yield from with_algorithm("prefix-flag-is-an-integer", "footer: ", number)
    yield from with_algorithm("prefix-of-4097-bytes", "its AAD prefix has 4097 bytes", algorithm(prefix=bytes(4097)))
    yield from with_algorithm("identifier-is-an-integer", "footer: ", struct({1: struct({2: integer(1)})}))
    yield from with_algorithm("identifier-of-3-bytes", "footer: ", algorithm(unique=b"abc"))
    yield from with_algorithm("no-identifier", "footer: ", struct({1: struct({})}))

    def with_end(name, place, *, end=b"", magic=b"PAR1", length=None):
        length = packing.pack("<I", len(end) if length is None else length)
        return name, b"PAR1" + bytes(64) + end + length + magic, place

    yield "empty", b"", "truncated"
    yield "of-4-bytes", b"PAR1", "truncated"
    yield with_end("footer-of-0-bytes", "footer: ")
    yield with_end("footer-of-4-GiB", "footer: truncated", length=(1 << 32) - 1)
    yield with_end("no-parquet", "truncated, or no Parquet file", magic=b"PARX")
    yield with_end("crypto-of-1-byte", "footer: ", end=b"\0", magic=b"PARE")
    yield with_end("nested-structs", "footer: nested too deep", end=b"\x1c" * 2000 + b"\0" * 2001)
    yield with_end("nested-lists", "footer: nested too deep", end=b"\x19" * 2000 + b"\0" * 2001)
    yield with_end("number-without-end", "footer: a number has", end=b"\x15" + b"\xff" * 5000)
    yield with_end("binary-of-2^64-1-bytes", "footer: ends within a value", end=b"\x18" + b"\xff" * 9 + b"\x01abc\0")
    yield with_end("a-map", "footer: ", end=b"\x1b\0\0")
    yield with_end("sealed-footer-is-missing", "footer: truncated", end=struct({1: algorithm()})[1], magic=b"PARE")
    unsigned = struct({4: list_of(STRUCT, []), 8: algorithm()})[1]
    yield with_end("signature-is-missing", "footer: it has no signature", end=unsigned)
