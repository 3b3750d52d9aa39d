"""What the footer of a Parquet file says, and how some of its columns become those of a plain file.

https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any, Iterator, Sequence

from ..errors import InvalidTag
from . import _thrift
from ._thrift import BINARY, I16, I32, I64, LIST, STRUCT, TRUE, List, Struct

__all__ = ["ORDINALS", "Algorithm", "Footer", "RefusedFile", "parse", "placed"]

ORDINALS = 1 << 15  # row groups, columns, and pages of a chunk are numbered by 15 bits
PREFIX_MOST = 4096  # it is repeated for each module
_NAME_MOST = 1024
_ELEMENTS_MOST = 1 << 16


class RefusedFile(InvalidTag, ValueError):
    """The file is not what its writer made, or the keys are not its keys; the message names the place."""


@contextlib.contextmanager
def placed(where: str) -> Iterator[None]:
    """Names the place of what is malformed."""
    try:
        yield
    except _thrift.Malformed as error:
        raise RefusedFile(f"{where}: {error}") from None


def parse(data: bytes, where: str) -> tuple[Struct, int]:
    """A struct at the beginning of `data`, and its length."""
    with placed(where):
        return _thrift.read(data)


class Algorithm:
    """EncryptionAlgorithm. `aad` precedes what each module adds, and is None where modules have no additional data."""

    def __init__(self, union: Struct, given: bytes) -> None:
        which = _member(union, "EncryptionAlgorithm")
        fields = union.must(which, STRUCT, "EncryptionAlgorithm")
        prefix = fields.value(1, BINARY, "aad_prefix") or b""
        unique = fields.value(2, BINARY, "aad_file_unique")
        wanted = fields.value(3, TRUE, "supply_aad_prefix") == TRUE
        if wanted and not given:
            raise RefusedFile("aad_prefix is empty: expected that of the file, which does not have it")
        if given and prefix and given != prefix:
            raise RefusedFile("aad_prefix is not the AAD prefix that the file has")
        if given and not prefix and not wanted:
            raise RefusedFile("aad_prefix is given: expected none, since the file was written without")
        if len(prefix) > PREFIX_MOST or len(unique or b"") > PREFIX_MOST:
            raise RefusedFile(f"footer: the AAD prefix or identifier has more than {PREFIX_MOST} bytes")
        self.pages_are_ctr = which == 2
        self.is_duckdb = not unique and not prefix and not given
        self.aad = None if self.is_duckdb else (prefix or given) + (unique or b"")


def _member(union: Struct, name: str) -> int:
    """The number of the only member of a union of two."""
    if len(union) != 1 or next(iter(union)) not in (1, 2):
        raise _thrift.Malformed(f"{name} has the members {list(union)[:9]}: expected one, 1 or 2")
    return next(iter(union))


def key_metadata(chunk: Struct) -> tuple[bool, bytes | None]:
    """Whether an encrypted column has a key of its own, and the metadata of that."""
    crypto = chunk.value(8, STRUCT, "crypto_metadata")
    if crypto is None:  # as DuckDB writes it
        return False, None
    has_own = _member(crypto, "crypto_metadata") == 2
    return has_own, crypto.must(2, STRUCT, "crypto_metadata").value(2, BINARY, "key_metadata") if has_own else None


class Footer:
    """FileMetaData. `names` are the paths of columns, such as a.list.element."""

    def __init__(self, fields: Struct) -> None:
        with placed("footer"):
            self.fields = fields
            self.row_groups = fields.elements(4, STRUCT, "row_groups")
            self._schema = fields.elements(2, STRUCT, "schema")
            self._parents, self._leaves, self.names = self._walk()
            for number, group in enumerate(self.row_groups):
                found = len(group.elements(1, STRUCT, "RowGroup.columns"))
                if found != len(self.names):
                    raise _thrift.Malformed(f"row group {number} has {found} columns, and the schema {len(self.names)}")
                if not 0 <= self.ordinal(number) < ORDINALS:
                    raise _thrift.Malformed(f"row group {number} is numbered {self.ordinal(number)}")

    def columns(self, row_group: int) -> list[Struct]:
        columns: list[Struct] = self.row_groups[row_group][1][1].values
        return columns

    def ordinal(self, row_group: int) -> int:
        """The number that additional data has."""
        found = self.row_groups[row_group].value(7, I16, "RowGroup.ordinal")
        return row_group if found is None else int(found)

    def _walk(self) -> tuple[list[int], list[int], list[str]]:
        """The parent of each element of the schema, the elements that are columns, and their paths."""
        if not 0 < len(self._schema) <= _ELEMENTS_MOST:
            raise _thrift.Malformed(f"the schema has {len(self._schema)} elements: expected 1 to {_ELEMENTS_MOST}")
        parents, leaves, names = [], [], []
        groups: list[tuple[int, str, int]] = []  # element, path, and the children that follow
        for number, element in enumerate(self._schema):
            parent, path, left = groups.pop() if groups else (-1, "", 1 - number)
            if left <= 0:
                raise _thrift.Malformed(f"element {number} of the schema has no parent")
            parents.append(parent)
            try:
                name = element.must(4, BINARY, "SchemaElement.name").decode()
            except UnicodeDecodeError:
                raise _thrift.Malformed(f"the name of element {number} of the schema is not UTF-8") from None
            if number:
                groups.append((parent, path, left - 1))
                path = f"{path}.{name}" if path else name
            if len(path) > _NAME_MOST:
                raise _thrift.Malformed(f"a column has a path of more than {_NAME_MOST} characters")
            if number and 1 in element:  # its type
                leaves.append(number)
                names.append(path)
            else:
                groups.append((number, path, element.value(5, I32, "SchemaElement.num_children") or 0))
            while groups and not groups[-1][2]:
                groups.pop()
        if groups:
            raise _thrift.Malformed("the schema ends within a group")
        if len(names) > ORDINALS:
            raise _thrift.Malformed(f"the schema has {len(names)} columns: expected {ORDINALS} at most")
        return parents, leaves, names

    def plain(self, keep: Sequence[int]) -> bytes:
        """The footer of a plain file with some of the columns, whose ColumnChunks are plain ones."""
        if len(keep) < len(self.names):
            self._project(keep)
        for number, group in enumerate(self.row_groups):
            described = [column.must(3, STRUCT, "meta_data") for column in self.columns(number)]
            for field, of_column, name in (2, 6, "total_uncompressed_size"), (6, 7, "total_compressed_size"):
                if field in group:
                    group[field] = I64, sum(each.must(of_column, I64, name) for each in described)
        self.fields.pop(8, None)  # encryption_algorithm
        self.fields.pop(9, None)  # footer_signing_key_metadata
        return self.fields.tobytes()

    def _project(self, keep: Sequence[int]) -> None:
        kept = {0}
        for column in keep:
            element = self._leaves[column]
            while element not in kept:
                kept.add(element)
                element = self._parents[element]
        children = Counter(self._parents[element] for element in kept)
        for element in kept:
            if element == 0 or children[element]:
                self._schema[element][5] = I32, children[element]
        self._replace(self.fields, 2, [self._schema[element] for element in sorted(kept)])
        for group in self.row_groups:
            self._replace(group, 1, [group[1][1].values[column] for column in keep])
            group.pop(4, None)  # sorting_columns have numbers of columns
        orders = self.fields.value(7, LIST, "column_orders")
        if orders is not None and len(orders.values) == len(self.names):
            self._replace(self.fields, 7, [orders.values[column] for column in keep])
        if 5 in self.fields:  # Arrow's schema is one of all columns
            pairs = self.fields.elements(5, STRUCT, "key_value_metadata")
            self._replace(self.fields, 5, [p for p in pairs if p.value(1, BINARY, "key") != b"ARROW:schema"])

    @staticmethod
    def _replace(fields: Struct, number: int, values: list[Any]) -> None:
        fields[number] = LIST, List(fields[number][1].element, values)
