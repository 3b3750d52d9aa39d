"""Structs of Thrift's compact protocol, read and written without their definitions, so that fields nobody knows stay.

What is read may come from anybody: depth is limited, and memory is taken for what is there, never for a number in it. Of
structs, that is some hundred times their bytes: read_some() is for what nothing authenticates.
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
from typing import Any, Dict, NamedTuple, Sequence, Tuple

__all__ = ["List", "Malformed", "Struct", "read", "read_some", "with_integer"]

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_NAMES = "bool bool byte i16 i32 i64 double binary list set map struct".split()
_DEPTH_MOST = 32


class Malformed(ValueError):
    """No struct, or not the expected one."""


class List(NamedTuple):
    """Elements of one type. Those of booleans are their bytes."""

    element: int
    values: list[Any]


class Struct(Dict[int, Tuple[int, Any]]):
    """{number of a field: (type, value)}. The value of a boolean is its type, and that of a
    double its bytes."""

    __slots__ = ()

    def value(self, number: int, wire: int, name: str) -> Any:
        """The value of a field, None where there is none. Raises Malformed for another type."""
        found, value = self.get(number, (wire, None))
        if found != wire and not (wire == TRUE and found == FALSE):
            raise Malformed(f"{name} has type {_NAMES[found - 1]}, not {_NAMES[wire - 1]}")
        return value

    def must(self, number: int, wire: int, name: str) -> Any:
        """The same. Raises Malformed where there is none."""
        value = self.value(number, wire, name)
        if value is None:
            raise Malformed(f"{name} is missing")
        return value

    def elements(self, number: int, wire: int, name: str) -> list[Any]:
        """The elements of a list that must be there."""
        values: list[Any]
        element, values = self.must(number, LIST, name)
        if element != wire and values:
            raise Malformed(f"{name} has elements of type {element}, not {_NAMES[wire - 1]}")
        return values

    def tobytes(self) -> bytes:
        data = bytearray()
        _put_struct(data, self)
        return bytes(data)


def read(data: bytes, at: int = 0) -> tuple[Struct, int]:
    """The struct at a place, and where it ends."""
    reader = _Reader(data, at)
    try:
        return reader.struct(0), reader.at
    except IndexError:
        raise Malformed("ends within a value") from None


def read_some(data: bytes, numbers: Sequence[int], most: int) -> tuple[Struct, int]:
    """Those fields of the struct at the beginning, each of `most` bytes or less, and where it ends. No memory is taken for
    others."""
    reader, fields, number = _Reader(data, 0), Struct(), 0
    try:
        while head := reader._byte():
            number = number + (head >> 4) if head >> 4 else reader._integer()
            begin, wire = reader.at, head & 15
            reader.skip(wire, 1)
            if number in numbers:
                if number in fields or reader.at - begin > most:
                    raise Malformed(f"a struct has field {number} twice, or of more than {most} bytes")
                fields[number] = wire, wire if wire in (TRUE, FALSE) else _Reader(data, begin)._value(wire, 1)
        return fields, reader.at
    except IndexError:
        raise Malformed("ends within a value") from None


def with_integer(data: bytes, number: int, old: int, new: int, dropped: int) -> bytes | None:
    """The struct at the beginning with `new` for `old`, an I32 in field `number`, and without the integer in field
    `dropped`, a greater number. The other bytes stay as they are. None for what a header rarely has, such as lists, and for
    whatever is wrong: read() knows more, and takes five times as long.

    Each field must say how far its number is from the last, so that numbers ascend and none is there twice."""
    at = depth = field = begin = end = cut = cut_end = 0
    try:
        while (head := data[at]) or depth:
            at += 1
            if not head:
                depth -= 1
                continue
            if head < 16:  # a number by itself
                return None
            wire = head & 15
            if not depth:
                field += head >> 4
            if I16 <= wire <= I64:
                value = at
                while data[at] > 127:
                    at += 1
                at += 1
                if at - value > 9:  # perhaps too large
                    return None
                if not depth and field == number:
                    if wire != I32 or data[value:at] != _integer_bytes(old):
                        return None
                    begin, end = value, at
                elif not depth and field == dropped:
                    cut, cut_end = value - 1, at
            elif not depth and field == dropped:
                return None
            elif wire == BINARY:
                if data[at] > 127:
                    return None
                at += 1 + data[at]
            elif wire == STRUCT and depth < _DEPTH_MOST:
                depth += 1
            elif wire not in (TRUE, FALSE):
                return None
    except IndexError:
        return None
    if not begin:
        return None
    if not cut:
        return data[:begin] + _integer_bytes(new) + data[end : at + 1]
    follows = data[cut_end] and data[cut_end] + (data[cut] & 0xF0)  # a type, and how far its number is from the last
    if follows > 255:
        return None
    return data[:begin] + _integer_bytes(new) + data[end:cut] + bytes((follows,)) + data[cut_end + 1 : at + 1]


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def struct(self, depth: int) -> Struct:
        if depth > _DEPTH_MOST:
            raise Malformed("nested too deep")
        fields, number = Struct(), 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            if number in fields:
                raise Malformed(f"a struct has field {number} twice")
            wire = head & 15
            if I16 <= wire <= I64:
                fields[number] = wire, self._integer()
            else:
                fields[number] = wire, wire if wire in (TRUE, FALSE) else self._value(wire, depth + 1)
        return fields

    def _value(self, wire: int, depth: int) -> Any:
        if I16 <= wire <= I64:
            return self._integer()
        if wire == BINARY:
            return self._take(self._varint())
        if wire == STRUCT:
            return self.struct(depth)
        if wire in (LIST, SET):
            return self._list(depth)
        if wire in (TRUE, FALSE, BYTE):
            return self._byte()
        if wire == DOUBLE:
            return self._take(8)
        raise Malformed(f"a field has type {wire}")  # the format has no maps

    def _list(self, depth: int) -> List:
        if depth > _DEPTH_MOST:
            raise Malformed("nested too deep")
        element, count = self._elements()
        return List(element, [self._value(element, depth + 1) for _ in range(count)])

    def _elements(self) -> tuple[int, int]:
        """The type of a list's elements, and how many follow."""
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._varint()
        if count > len(self.data) - self.at:  # each has a byte or more
            raise Malformed(f"a list has {count} elements, more than bytes follow")
        return head & 15, count

    def skip(self, wire: int, depth: int) -> None:
        """Passes the value of a field."""
        if depth > _DEPTH_MOST:
            raise Malformed("nested too deep")
        if wire == STRUCT:
            while head := self._byte():
                if head < 16:
                    self._integer()
                self.skip(head & 15, depth + 1)
        elif wire in (LIST, SET):
            element, count = self._elements()
            if element in (TRUE, FALSE, BYTE):
                self.at += count
            else:
                for _ in range(count):
                    self.skip(element, depth + 1)
        elif wire == BINARY:
            self._take(self._varint())
        elif wire not in (TRUE, FALSE):
            self._value(wire, depth)

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise Malformed("ends within a value")
        self.at += count
        return self.data[self.at - count : self.at]

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128 and value < 1 << 64:
                return value
        raise Malformed("a number has more than 64 bits")

    def _integer(self) -> int:
        byte = self.data[self.at]
        if byte < 128:  # most are, and page headers are many
            self.at += 1
            return byte >> 1 ^ -(byte & 1)
        zigzag = self._varint()
        return zigzag >> 1 ^ -(zigzag & 1)


def _put_varint(data: bytearray, value: int) -> None:
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)


def _put_integer(data: bytearray, value: int) -> None:
    if -64 <= value < 64:
        data.append(value << 1 ^ value >> 63)
    else:
        _put_varint(data, (value << 1 ^ value >> 63) & (1 << 64) - 1)


@functools.lru_cache(maxsize=64)  # pages of a column are of few sizes
def _integer_bytes(value: int) -> bytes:
    data = bytearray()
    _put_integer(data, value)
    return bytes(data)


def _put_struct(data: bytearray, struct: Struct) -> None:
    last = 0
    for number, (wire, value) in sorted(struct.items()):
        if 0 < number - last < 16:
            data.append(number - last << 4 | wire)
        else:
            data.append(wire)
            _put_integer(data, number)
        last = number
        if I16 <= wire <= I64:
            _put_integer(data, value)
        elif wire not in (TRUE, FALSE):
            _put(data, wire, value)
    data.append(0)


def _put(data: bytearray, wire: int, value: Any) -> None:
    if I16 <= wire <= I64:
        _put_integer(data, value)
    elif wire == STRUCT:
        _put_struct(data, value)
    elif wire in (LIST, SET):
        if len(value.values) < 15:
            data.append(len(value.values) << 4 | value.element)
        else:
            data.append(0xF0 | value.element)
            _put_varint(data, len(value.values))
        for each in value.values:
            _put(data, value.element, each)
    elif wire in (BINARY, DOUBLE):
        if wire == BINARY:
            _put_varint(data, len(value))
        data += value
    else:
        data.append(value)
