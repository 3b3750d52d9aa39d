"""What is in an encrypted Parquet file, and all of the plain one but the texts of pages.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import dataclasses
import hmac
import struct
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence, Union

from .. import _driver, _memory
from .._arguments import KEY_BYTES, small_bytes
from .._types import Data
from ..aead import AESGCM
from . import _thrift
from ._parquet_footer import ORDINALS, Algorithm, Footer, RefusedFile, key_metadata, parse, placed
from ._parquet_modules import NONCE, TAG, Device, Module, find
from ._thrift import BINARY, I32, I64, STRUCT, Struct

__all__ = ["Chunk", "File", "FindKey", "Page"]

FindKey = Callable[[Union[str, None], Union[bytes, None]], Union[Data, None]]
_BEFORE_MOST = 1 << 16  # bytes of a field that is read before the footer is authentic
_END = 8  # the length of the footer, and a magic number
_FOOTER, _METADATA, _PAGE, _DICTIONARY, _PAGE_HEADER, _DICTIONARY_HEADER = range(6)
_COLUMN_INDEX, _OFFSET_INDEX, _BLOOM_HEADER, _BLOOM_BITS = range(6, 10)


class Page(NamedTuple):
    """A page in the plain file: its header, and behind that its text, as compressed by the writer."""

    row_group: int
    column: str
    is_dictionary: bool
    begin: int
    header_bytes: int
    text_bytes: int


@dataclasses.dataclass
class Chunk:
    """An encrypted ColumnChunk."""

    where: str
    row_group: int
    numbers: tuple[int, int]  # of row group and column, in additional data
    name: str
    key: bytes
    fields: Struct
    metadata: Struct = dataclasses.field(default_factory=Struct)
    # Where its pages are in the encrypted file, and where they end in the plain one, in which they begin there, too.
    begin: int = 0
    end: int = 0
    plain_end: int = 0
    has_dictionary: bool = False
    modules: list[tuple[Module, Module]] = dataclasses.field(default_factory=list)  # of each page: header, text
    extras: list[tuple[int, list[Module]]] = dataclasses.field(default_factory=list)  # indexes and Bloom filters
    pages: list[Page] = dataclasses.field(default_factory=list)


class File:
    """A file whose footer has been decrypted, or found to be authentic."""

    def __init__(
        self, memory: _memory.Memory, keys: Any, prefix: bytes, device: Device, unauthenticated_pages: bool = False
    ) -> None:
        self.memory, self.device, self._prefix = memory, device, prefix
        self._unauthenticated_pages = unauthenticated_pages
        if memory.device is not None:
            lane = _driver.lane(memory.device, memory.stream, memory.stream_owner)
            self._data: Any = lane.read(memory.address, memory.bytes)
        elif memory.bytes:
            self._data = memoryview((ctypes.c_char * memory.bytes).from_address(memory.address)).cast("B")
        else:
            self._data = b""
        if callable(keys):
            self._find_key = keys
        else:
            found = keys if isinstance(keys, Mapping) else {None: keys}
            self._find_key = lambda column, metadata: found.get(column)
        self._keys: dict[tuple[str | None, bytes | None], bytes | None] = {}
        self._patches: list[tuple[int, bytes]] = []  # of the file, but for the texts of pages and the footer
        self.chunks: list[Chunk] = []

        data = self._data
        if len(data) < _END + 4 or bytes(data[-4:]) not in (b"PAR1", b"PARE"):
            raise RefusedFile("truncated, or no Parquet file: it does not end with PAR1 or PARE")
        end = len(data) - _END
        self._begin = end - int.from_bytes(data[end : end + 4], "little")
        if self._begin < 4:
            raise RefusedFile("footer: truncated, or it has a wrong length")
        text = bytes(data[self._begin : end])
        self.footer = Footer(self._open(text) if data[-1:] == b"E" else self._verify(text))

    # ---- The footer --------------------------------------------------------------------

    def _open(self, text: bytes) -> Struct:
        with placed("footer"):
            crypto, at = _thrift.read_some(text, (1, 2), _BEFORE_MOST)
            self._use(crypto.must(1, STRUCT, "encryption_algorithm"), crypto.value(2, BINARY, "key_metadata"))
        module = find(text, at, len(text), self._footer_key, self._aad(_FOOTER), "footer")
        return parse(self.device.texts([module])[0], "footer")[0]

    def _verify(self, text: bytes) -> Struct:
        """Has nonce | tag behind it: its encryption must give this tag, and is of no other use."""
        with placed("footer"):
            fields, at = _thrift.read_some(text, (8, 9), _BEFORE_MOST)
            algorithm = fields.value(8, STRUCT, "encryption_algorithm")
            if algorithm is None:
                raise RefusedFile("it is not encrypted")
            if at + NONCE + TAG != len(text):
                raise RefusedFile("footer: it has no signature")
            self._use(algorithm, fields.value(9, BINARY, "footer_signing_key_metadata"))
        with AESGCM(self._footer_key) as aes:
            sealed = aes.encrypt(text[at : at + NONCE], text[:at], self._aad(_FOOTER))
        if not hmac.compare_digest(sealed[-TAG:], text[-TAG:]):
            raise RefusedFile("footer: not authentic: another key, or changed")
        return parse(text, "footer")[0]

    def _use(self, algorithm: Struct, metadata: bytes | None) -> None:
        self._algorithm = Algorithm(algorithm, self._prefix)
        # Nothing authenticates the algorithm before an encrypted footer: a file of AES_GCM_V1 may have been made to say this.
        if self._algorithm.pages_are_ctr and not self._unauthenticated_pages:
            raise RefusedFile(
                "footer: AES_GCM_CTR_V1: pages have no tags, so that nothing authenticates them:"
                " expected unauthenticated_pages=True"
            )
        key = self._key(None, metadata)
        if key is None:
            raise ValueError("keys has no key of the footer: expected one for None")
        self._footer_key = key

    def _aad(self, kind: int, *numbers: int) -> bytes | None:
        if self._algorithm.aad is None:
            return None
        return self._algorithm.aad + struct.pack(f"<B{len(numbers)}H", kind, *numbers)

    def _key(self, column: str | None, metadata: bytes | None) -> bytes | None:
        if (column, metadata) not in self._keys:
            key, name = self._find_key(column, metadata), "the footer's key" if column is None else f"the key of {column}"
            if key is not None:
                key = small_bytes(key, name, KEY_BYTES[0], KEY_BYTES[-1])
                if len(key) not in KEY_BYTES:
                    raise ValueError(f"{name} has {len(key)} bytes: expected 16, 24 or 32")
            self._keys[column, metadata] = key
        return self._keys[column, metadata]

    # ---- Columns -----------------------------------------------------------------------

    def select(self, asked: list[str] | None) -> list[int]:
        """The columns to keep. self.chunks are those of them that are encrypted."""
        keep, used = [], set()
        for column, name in enumerate(self.footer.names):
            if asked is not None:
                parts = name.split(".")
                groups = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}.intersection(asked)
                used |= groups
                if not groups:
                    continue
            chunks = self._chunks_of(column, name)
            if chunks is not None:
                keep.append(column)
                self.chunks += chunks
            elif asked is not None:
                raise ValueError(f"columns has {name}, whose key is missing")
        for name in asked or ():
            if name not in used:
                raise ValueError(f"columns has {name!r}: expected columns of the file, or groups of them")
        self.chunks.sort(key=lambda chunk: chunk.row_group)
        return keep

    def _chunks_of(self, column: int, name: str) -> list[Chunk] | None:
        """The encrypted chunks of a column; None where a key is missing."""
        shown = name if name.isprintable() else ascii(name)
        chunks = []
        for row_group in range(len(self.footer.row_groups)):
            where = f"row group {row_group}, column {shown}"
            fields = self.footer.columns(row_group)[column]
            if 8 not in fields and not self._algorithm.is_duckdb:
                continue
            with placed(where):
                has_own, metadata = key_metadata(fields)
                key = self._key(name, metadata) if has_own else self._footer_key
                if key is None:
                    return None
                if fields.value(1, BINARY, "file_path"):
                    raise RefusedFile(f"{where}: it is in another file")
            numbers = self.footer.ordinal(row_group), column
            chunks.append(Chunk(where, row_group, numbers, name, key, fields))
        return chunks

    def read_metadata(self) -> None:
        """Where it is a module, which lies in the footer, and where it does not."""
        sealed = []
        for chunk in self.chunks:
            with placed(f"{chunk.where}, metadata"):
                text = chunk.fields.value(9, BINARY, "encrypted_column_metadata")
                if text is None:
                    chunk.metadata = chunk.fields.must(3, STRUCT, "meta_data")
                else:
                    aad = self._aad(_METADATA, *chunk.numbers)
                    where = f"{chunk.where}, metadata"
                    sealed.append((chunk, find(text, 0, len(text), chunk.key, aad, where)))
        for (chunk, module), text in zip(sealed, self.device.texts([module for _, module in sealed])):
            chunk.metadata = parse(text, module.where)[0]
        for chunk in self.chunks:
            with placed(f"{chunk.where}, metadata"):
                path = b".".join(chunk.metadata.elements(3, BINARY, "path_in_schema"))
                if path != chunk.name.encode():
                    raise RefusedFile(f"{chunk.where}, metadata: it is that of another column")

    def find_pages(self) -> None:
        """The modules of all chunks, by their lengths alone: header, page, header, page..."""
        for chunk in self.chunks:
            with placed(f"{chunk.where}, metadata"):
                self._place(chunk)
                self._find_extras(chunk)
        behind = 0
        for chunk in sorted(self.chunks, key=lambda chunk: chunk.begin):
            if chunk.begin < chunk.end and chunk.begin < behind:
                raise RefusedFile(f"{chunk.where}: its pages overlap those of another chunk")
            behind = max(behind, chunk.end)
        tag = 0 if self._algorithm.pages_are_ctr else TAG
        for chunk in self.chunks:
            at, number, is_dictionary = chunk.begin, 0, chunk.has_dictionary
            while at < chunk.end:
                where = f"{chunk.where}, {'dictionary' if is_dictionary else f'page {number}'}"
                kinds: tuple[int, int] = _DICTIONARY_HEADER, _DICTIONARY
                numbers: tuple[int, ...] = chunk.numbers
                if not is_dictionary:
                    if number >= ORDINALS:
                        raise RefusedFile(f"{where}: its number is too large: expected less than {ORDINALS}")
                    kinds, numbers = (_PAGE_HEADER, _PAGE), (*numbers, number)
                    number += 1
                is_dictionary = False
                aad = [self._aad(kind, *numbers) for kind in kinds]
                header = find(self._data, at, chunk.end, chunk.key, aad[0], f"{where}, header")
                text = find(self._data, header.end, chunk.end, chunk.key, aad[1], where, tag)
                chunk.modules.append((header, text))
                at = text.end

    def _place(self, chunk: Chunk) -> None:
        """Offsets of 0 are of no page: a row group without rows may have a dictionary, and no data."""
        size = chunk.metadata.must(7, I64, "total_compressed_size")
        data = chunk.metadata.must(9, I64, "data_page_offset")
        dictionary = chunk.metadata.value(11, I64, "dictionary_page_offset") or 0
        chunk.has_dictionary = 0 < dictionary and (data == 0 or dictionary < data)
        chunk.begin = dictionary if chunk.has_dictionary else data
        if size != 0 and not (4 <= chunk.begin and 0 < size <= self._begin - chunk.begin):
            raise RefusedFile(f"{chunk.where}: its pages lie outside of bytes 4 to {self._begin}")
        chunk.plain_end = chunk.end = chunk.begin + size

    def _find_extras(self, chunk: Chunk) -> None:
        """The indexes of pages, and the Bloom filter, whose header and bits are two modules."""
        for kind, field, name in (_OFFSET_INDEX, 4, "offset index"), (_COLUMN_INDEX, 6, "column index"):
            at, size = chunk.fields.value(field, I64, name), chunk.fields.value(field + 1, I32, name)
            if at is not None:
                chunk.extras.append((kind, [self._extra(chunk, at, at + (size or 0), name, kind)]))
        at = chunk.metadata.value(14, I64, "bloom_filter_offset")
        if at is not None:
            header = self._extra(chunk, at, self._begin, "Bloom filter, header", _BLOOM_HEADER)
            bits = self._extra(chunk, header.end, self._begin, "Bloom filter", _BLOOM_BITS)
            chunk.extras.append((_BLOOM_HEADER, [header, bits]))

    def _extra(self, chunk: Chunk, at: int, end: int, name: str, kind: int) -> Module:
        where = f"{chunk.where}, {name}"
        if not 4 <= at <= end <= self._begin:
            raise RefusedFile(f"{where}: it lies outside of bytes 4 to {self._begin}")
        return find(self._data, at, end, chunk.key, self._aad(kind, *chunk.numbers), where)

    # ---- The plain file ----------------------------------------------------------------
    #
    # Each chunk begins where it began, and what is not in one stays where it is. The pages of a chunk follow each other,
    # and so a gap is behind them.

    def read_small_modules(self) -> None:
        """Decrypts all but texts of pages, and says where those will be."""
        modules: list[Module] = []
        for chunk in self.chunks:
            modules += (header for header, _ in chunk.modules)
            for _, extra in chunk.extras:
                modules += extra
        texts = iter(self.device.texts(modules))
        for chunk in self.chunks:
            self._lay_out(chunk, texts)
            for kind, extra in chunk.extras:
                text = b"".join(next(texts) for _ in extra)
                if kind == _OFFSET_INDEX:
                    text = self._moved(chunk, text, extra[0].where)
                if len(text) > extra[-1].end - extra[0].begin:
                    raise RefusedFile(f"{extra[0].where}: it has {len(text)} bytes when it is plain, too many for its place")
                self._patches.append((extra[0].begin, text))
                if kind == _BLOOM_HEADER:
                    if 15 in chunk.metadata:
                        chunk.metadata[15] = I32, len(text)
                else:
                    chunk.fields[5 if kind == _OFFSET_INDEX else 7] = I32, len(text)

    def _lay_out(self, chunk: Chunk, texts: Iterator[bytes]) -> None:
        at = chunk.begin
        for number, (header, text) in enumerate(chunk.modules):
            with placed(header.where):
                fields, _ = _thrift.read(next(texts))
                size = text.size if self._algorithm.is_duckdb else text.end - text.begin
                if fields.must(3, I32, "compressed_page_size") != size:
                    raise RefusedFile(f"{header.where}: the page has another size")
            fields[3] = I32, text.size
            fields.pop(4, None)  # a checksum of the encrypted page
            plain = fields.tobytes()
            self._patches.append((at, plain))
            is_dictionary = chunk.has_dictionary and not number
            chunk.pages.append(Page(chunk.row_group, chunk.name, is_dictionary, at, len(plain), text.size))
            at += len(plain) + text.size
        chunk.plain_end = at

    def _moved(self, chunk: Chunk, text: bytes, where: str) -> bytes:
        """An OffsetIndex, with the new places of pages."""
        index = parse(text, where)[0]
        with placed(where):
            places = index.elements(1, STRUCT, "page_locations")
        pages = [page for page in chunk.pages if not page.is_dictionary]
        if len(places) != len(pages):
            raise RefusedFile(f"{where}: it has {len(places)} pages, and the chunk {len(pages)}")
        for place, page in zip(places, pages):
            place[1] = I64, page.begin
            place[2] = I32, page.header_bytes + page.text_bytes
        return index.tobytes()

    def plain_footer(self, keep: Sequence[int]) -> bytes:
        """All behind the pages of the plain file."""
        for chunk in self.chunks:
            data = next((page.begin for page in chunk.pages if not page.is_dictionary), None)
            chunk.metadata[7] = I64, chunk.plain_end - chunk.begin
            if data is not None:
                chunk.metadata[9] = I64, data
            chunk.fields[3] = STRUCT, chunk.metadata
            chunk.fields.pop(8, None)  # crypto_metadata
            chunk.fields.pop(9, None)  # encrypted_column_metadata
        with placed("footer"):
            footer = self.footer.plain(keep)
        return footer + len(footer).to_bytes(4, "little") + b"PAR1"

    @property
    def pages(self) -> list[Page]:
        return [page for chunk in self.chunks for page in chunk.pages]

    def skeleton(self, footer: bytes) -> bytearray:
        """The encrypted file, with another footer."""
        return bytearray(b"").join((b"PAR1", self._data[4 : self._begin], footer))

    def patch(self, out: bytearray) -> None:
        """Writes all but the texts of pages."""
        for at, text in self._patches:
            out[at : at + len(text)] = text
