"""What is in an encrypted Parquet file, and all of the plain one but the texts of pages.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses
import hmac
import struct
from typing import Any, Callable, Mapping, NamedTuple, Sequence, Union

from .. import _memory
from .._arguments import KEY_BYTES, small_bytes
from .._types import Data
from ..aead import AESGCM
from . import _thrift
from ._parquet_bytes import of_host, of_memory
from ._parquet_footer import ORDINALS, Algorithm, Footer, RefusedFile, key_metadata, parse, placed
from ._parquet_modules import LENGTH, NONCE, TAG, Device, Modules, said
from ._thrift import BINARY, I32, I64, STRUCT, Struct

__all__ = ["Chunk", "File", "FindKey", "Page"]

FindKey = Callable[[Union[str, None], Union[bytes, None]], Union[Data, None]]
_BEFORE_MOST = 1 << 16  # bytes of a field that is read before the footer is authentic
_END = 8  # the length of the footer, and a magic number
_FOOTER, _METADATA, _PAGE, _DICTIONARY, _PAGE_HEADER, _DICTIONARY_HEADER = range(6)
_COLUMN_INDEX, _OFFSET_INDEX, _BLOOM_HEADER, _BLOOM_BITS = range(6, 10)
_PAGE_SIZE, _CHECKSUM = 3, 4  # fields of PageHeader


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
    first: int = 0  # of its pages, among those of all chunks
    extras: list[Extra] = dataclasses.field(default_factory=list)
    pages: list[Page] = dataclasses.field(default_factory=list)


class Extra(NamedTuple):
    """An index, or a Bloom filter: some of the small modules, and their place in the file."""

    kind: int
    where: str
    modules: slice
    begin: int
    end: int


class File:
    """A file whose footer has been decrypted, or found to be authentic."""

    def __init__(
        self, memory: _memory.Memory, keys: Any, prefix: bytes, device: Device, unauthenticated_pages: bool = False
    ) -> None:
        self.memory, self.device, self._prefix = memory, device, prefix
        self._unauthenticated_pages = unauthenticated_pages
        self._data = of_memory(memory)
        if callable(keys):
            self._find_key = keys
        else:
            found = keys if isinstance(keys, Mapping) else {None: keys}
            self._find_key = lambda column, metadata: found.get(column)
        self._keys: dict[tuple[str | None, bytes | None], bytes | None] = {}
        self.patches: list[tuple[int, bytes]] = [(0, b"PAR1")]  # all but texts of pages and the footer
        self.chunks: list[Chunk] = []
        self._small = Modules(keep_sealed=True)  # indexes and Bloom filters, then the headers of pages

        data = self._data
        end = data.bytes - _END
        behind = bytes(data.read(end, data.bytes)) if end >= 4 else b""
        if behind[4:] not in (b"PAR1", b"PARE"):
            raise RefusedFile("truncated, or no Parquet file: it does not end with PAR1 or PARE")
        self.footer_at = end - int.from_bytes(behind[:4], "little")
        if self.footer_at < 4:
            raise RefusedFile("footer: truncated, or it has a wrong length")
        text = bytes(data.read(self.footer_at, end))
        self.footer = Footer(self._open(text) if behind[4:] == b"PARE" else self._verify(text))

    # ---- The footer --------------------------------------------------------------------

    def _open(self, text: bytes) -> Struct:
        with placed("footer"):
            crypto, at = _thrift.read_some(text, (1, 2), _BEFORE_MOST)
            self._use(crypto.must(1, STRUCT, "encryption_algorithm"), crypto.value(2, BINARY, "key_metadata"))
        modules = Modules(keep_sealed=True)
        modules.find(of_host(text), at, len(text), self._footer_key, self._aad(_FOOTER), "footer")
        return parse(self.device.texts(modules)[0], "footer")[0]

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
        self.texts = Modules(0 if self._algorithm.pages_are_ctr else TAG)

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
        sealed, modules = [], Modules(keep_sealed=True)
        for chunk in self.chunks:
            with placed(f"{chunk.where}, metadata"):
                text = chunk.fields.value(9, BINARY, "encrypted_column_metadata")
                if text is None:
                    chunk.metadata = chunk.fields.must(3, STRUCT, "meta_data")
                else:
                    aad, where = self._aad(_METADATA, *chunk.numbers), f"{chunk.where}, metadata"
                    modules.find(of_host(text), 0, len(text), chunk.key, aad, where)
                    sealed.append((chunk, where))
        for (chunk, where), text in zip(sealed, self.device.texts(modules)):
            chunk.metadata = parse(text, where)[0]
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
        for chunk in self.chunks:
            self._find_pages(chunk)

    def _find_pages(self, chunk: Chunk) -> None:
        chunk.first = len(self.texts)
        data, key, end = self._data, chunk.key, chunk.end
        aad_of_header, aad_of_text = (self._aad(kind, *chunk.numbers) for kind in (_PAGE_HEADER, _PAGE))
        at = chunk.begin
        if chunk.has_dictionary and at < end:
            aads = [self._aad(kind, *chunk.numbers) for kind in (_DICTIONARY_HEADER, _DICTIONARY)]
            at = self._small.find(data, at, end, key, aads[0], (chunk.where, -1, ", header"))
            at = self.texts.find(data, at, end, key, aads[1], (chunk.where, -1, ""))
        number = 0
        while at < end:
            if number >= ORDINALS:
                where = f"{chunk.where}, page {number}"
                raise RefusedFile(f"{where}: its number is too large: expected less than {ORDINALS}")
            aads = [None, None]
            if aad_of_header is not None and aad_of_text is not None:
                ordinal = number.to_bytes(2, "little")
                aads = [aad_of_header + ordinal, aad_of_text + ordinal]
            at = self._small.find(data, at, end, key, aads[0], (chunk.where, number, ", header"))
            at = self.texts.find(data, at, end, key, aads[1], (chunk.where, number, ""))
            number += 1

    def _place(self, chunk: Chunk) -> None:
        """Offsets of 0 are of no page: a row group without rows may have a dictionary, and no data."""
        size = chunk.metadata.must(7, I64, "total_compressed_size")
        data = chunk.metadata.must(9, I64, "data_page_offset")
        dictionary = chunk.metadata.value(11, I64, "dictionary_page_offset") or 0
        chunk.has_dictionary = 0 < dictionary and (data == 0 or dictionary < data)
        chunk.begin = dictionary if chunk.has_dictionary else data
        if size != 0 and not (4 <= chunk.begin and 0 < size <= self.footer_at - chunk.begin):
            raise RefusedFile(f"{chunk.where}: its pages lie outside of bytes 4 to {self.footer_at}")
        chunk.plain_end = chunk.end = chunk.begin + size

    def _find_extras(self, chunk: Chunk) -> None:
        """The indexes of pages, and the Bloom filter, whose header and bits are two modules."""
        for kind, field, name in (_OFFSET_INDEX, 4, "offset index"), (_COLUMN_INDEX, 6, "column index"):
            at, size = chunk.fields.value(field, I64, name), chunk.fields.value(field + 1, I32, name)
            if at is not None:
                self._extra(chunk, at, at + (size or 0), (name, kind))
        at = chunk.metadata.value(14, I64, "bloom_filter_offset")
        if at is not None:
            parts = ("Bloom filter, header", _BLOOM_HEADER), ("Bloom filter", _BLOOM_BITS)
            self._extra(chunk, at, self.footer_at, *parts)

    def _extra(self, chunk: Chunk, begin: int, end: int, *parts: tuple[str, int]) -> None:
        """Adds modules that follow each other: the name and the kind of each."""
        at, first = begin, len(self._small)
        for name, kind in parts:
            where = f"{chunk.where}, {name}"
            if not 4 <= at <= end <= self.footer_at:
                raise RefusedFile(f"{where}: it lies outside of bytes 4 to {self.footer_at}")
            at = self._small.find(self._data, at, end, chunk.key, self._aad(kind, *chunk.numbers), where)
        where = f"{chunk.where}, {parts[0][0]}"
        chunk.extras.append(Extra(parts[0][1], where, slice(first, len(self._small)), begin, at))

    # ---- The plain file ----------------------------------------------------------------
    #
    # Each chunk begins where it began, and what is not in one stays where it is. The pages of a chunk follow each other,
    # and so a gap is behind them.

    def read_small_modules(self) -> None:
        """Decrypts all but texts of pages, and says where those will be."""
        texts = self.device.texts(self._small)
        of_headers = len(texts) - len(self.texts)
        for chunk, behind in zip(self.chunks, [*(chunk.first for chunk in self.chunks[1:]), len(self.texts)]):
            self._lay_out(chunk, texts[of_headers + chunk.first : of_headers + behind])
            for extra in chunk.extras:
                text = b"".join(texts[extra.modules])
                if extra.kind == _OFFSET_INDEX:
                    text = self._moved(chunk, text, extra.where)
                if len(text) > extra.end - extra.begin:
                    more = f"it has {len(text)} bytes when it is plain, too many for its place"
                    raise RefusedFile(f"{extra.where}: {more}")
                self.patches.append((extra.begin, text))
                if extra.kind == _BLOOM_HEADER:
                    if 15 in chunk.metadata:
                        chunk.metadata[15] = I32, len(text)
                else:
                    chunk.fields[5 if extra.kind == _OFFSET_INDEX else 7] = I32, len(text)

    def _lay_out(self, chunk: Chunk, headers: list[bytes]) -> None:
        at, more = chunk.begin, 0 if self._algorithm.is_duckdb else LENGTH + NONCE + self.texts.tag
        is_dictionary = chunk.has_dictionary
        for number, header in enumerate(headers, chunk.first):
            size = self.texts.sizes[number]
            # A checksum is that of the encrypted page.
            plain = _thrift.with_integer(header, _PAGE_SIZE, size + more, size, dropped=_CHECKSUM)
            if plain is None:
                plain = self._plain_header(header, size + more, size, f"{said(self.texts.where[number])}, header")
            self.patches.append((at, plain))
            chunk.pages.append(Page(chunk.row_group, chunk.name, is_dictionary, at, len(plain), size))
            is_dictionary = False
            at += len(plain) + size
        chunk.plain_end = at

    @staticmethod
    def _plain_header(header: bytes, old: int, new: int, where: str) -> bytes:
        with placed(where):
            fields, _ = _thrift.read(header)
            if fields.must(_PAGE_SIZE, I32, "compressed_page_size") != old:
                raise RefusedFile(f"{where}: the page has another size")
        fields[_PAGE_SIZE] = I32, new
        fields.pop(_CHECKSUM, None)
        return fields.tobytes()

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

    @property
    def before_footer(self) -> memoryview:
        """The encrypted file up to its footer. Of memory of a device, this is a copy, which may be written once small
        modules are read; the caller's own memory is read-only."""
        return self._data.read(0, self.footer_at)

    def patch(self, out: Any) -> None:
        """Writes all but the texts of pages, and the footer."""
        for at, text in self.patches:
            out[at : at + len(text)] = text
