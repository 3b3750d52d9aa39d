"""Columns: numbers of 64 bits, one for each message. They are arrays of NumPy where the program has imported it, else of
the array module, whose sums take a hundred times as long.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from array import array
from itertools import accumulate, repeat
from operator import add, eq, gt, le
from typing import Any, Callable

Column = Any

# Until a program has freed a large piece, glibc gives the memory of each column back to the system, and every page of the
# next one costs a fault: half of the time of a description. See mallopt(3), M_MMAP_THRESHOLD. Nothing touches this piece.
bytes(16 << 20)


def column(values: Any) -> Column:
    """A column of integers, or a copy of one. Raises OverflowError for a negative number."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return array("Q", values)
    if isinstance(values, range):
        if len(values) and not 0 <= min(values[0], values[-1]) <= max(values[0], values[-1]) < 1 << 64:
            raise OverflowError("a number is negative, or too large")
        numbers = numpy.arange(len(values), dtype="u8")  # of values itself it would be rounded
        numbers *= numpy.uint64(values.step % (1 << 64))
        numbers += numpy.uint64(values.start % (1 << 64))
        return numbers
    if not isinstance(values, numpy.ndarray):
        return numpy.array(array("Q", values))
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise TypeError(f"an array has the shape {values.shape} and the type {values.dtype}: expected a row of integers")
    if values.dtype.kind == "i" and values.size and values.min() < 0:
        raise OverflowError("a number is negative")
    return values.astype("u8")


def repeated(number: int, count: int) -> Column:
    numpy = sys.modules.get("numpy")
    return array("Q", [number]) * count if numpy is None else numpy.full(count, number, "u8")


def each(operation: Callable[[Any, Any], Any], numbers: Column, other: Column | int) -> Column:
    """What the operation makes of each number, and of `other`, a number or as many. No result may be negative."""
    if isinstance(numbers, array):
        return array("Q", map(operation, numbers, _pairs(other)))
    return operation(numbers, other)


def every(operation: Callable[[Any, Any], Any], numbers: Column, other: Column | int) -> bool:
    """Whether the operation, a comparison, is true for each number."""
    if isinstance(numbers, array):
        return all(map(operation, numbers, _pairs(other)))
    return bool(operation(numbers, other).all())


def _pairs(other: Column | int) -> Any:
    return repeat(other) if isinstance(other, int) else other


def woven(numbers: Column, others: Column) -> Column:
    """Numbers of two columns in turn."""
    result = column(array("Q", bytes(16 * len(numbers))))
    result[::2], result[1::2] = numbers, others
    return result


def greatest(numbers: Column) -> int:
    return max(numbers) if isinstance(numbers, array) else int(numbers.max())


def least(numbers: Column) -> int:
    return min(numbers) if isinstance(numbers, array) else int(numbers.min())


def equal(a: Column, b: Column) -> bool:
    return a == b if isinstance(a, array) else every(eq, a, b)


def edges(lengths: Column) -> Column:
    """Where pieces begin that follow each other, and where the last ends."""
    if isinstance(lengths, array):
        return array("Q", accumulate(lengths, initial=0))
    sums = sys.modules["numpy"].zeros(len(lengths) + 1, "u8")
    lengths.cumsum(out=sums[1:])
    return sums


def are_within(begins: Column, lengths: Column, end: int) -> bool:
    """Whether no piece ends behind `end`. Sums of NumPy could overflow."""
    if isinstance(begins, array):
        return not any(map(gt, map(add, begins, lengths), repeat(end)))
    return every(le, lengths, end) and every(le, begins, end - lengths)


def are_apart(begins: Column, lengths: Column) -> bool:
    """Whether pieces, in any order, have no byte in common. False also where one without bytes lies within another."""
    ends = each(add, begins, lengths)
    if every(le, ends[:-1], begins[1:]):
        return True
    if isinstance(begins, array):
        order: Any = sorted(range(len(begins)), key=begins.__getitem__)
        begins, ends = ([numbers[i] for i in order] for numbers in (begins, ends))
        return all(map(le, ends[:-1], begins[1:]))
    order = begins.argsort(kind="stable")
    return every(le, ends[order][:-1], begins[order][1:])
