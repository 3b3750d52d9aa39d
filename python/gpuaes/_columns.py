"""Columns: numbers of 64 bits, one for each message. Numbers with equal steps between them, as messages of one length in
equal slots have, are Steps, whatever their count. Others are arrays of NumPy where the program has imported it, else of the
array module, whose sums take a hundred times as long.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from array import array
from itertools import accumulate, repeat
from operator import add, eq, gt, le, sub
from typing import Any, Callable

Column = Any

# Until a program has freed a large piece, glibc gives the memory of each column back to the system, and every page of the
# next one costs a fault: half of the time of a description. See mallopt(3), M_MMAP_THRESHOLD. Nothing touches this piece.
bytes(16 << 20)


class Steps:
    """A column of `count` numbers: the first, and so much more each time. It cannot be written."""

    __slots__ = ("count", "first", "step")

    def __init__(self, first: int, step: int, count: int) -> None:
        self.first, self.step, self.count = first, step, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, at: Any) -> Any:
        place = range(self.count)[at]
        if isinstance(place, int):
            return self.first + self.step * place
        return Steps(self.first + self.step * place.start, self.step * place.step, len(place))

    def tolist(self) -> list[int]:
        made: list[int] = as_array(self).tolist()
        return made

    def tobytes(self) -> bytes:
        made: bytes = as_array(self).tobytes()
        return made


def column(values: Any) -> Column:
    """A column of integers, or a copy of one. Raises OverflowError for a negative number."""
    if isinstance(values, Steps):
        return values
    if isinstance(values, range):
        return _in_range(Steps(values.start, values.step, len(values)))
    if isinstance(values, (bytes, bytearray)):  # of which the array module would take eight for a number
        raise TypeError(f"{type(values).__name__} is no row of integers")
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return _steps_of(array("Q", values))
    if not isinstance(values, numpy.ndarray):
        return _steps_of(numpy.array(array("Q", values)))
    masks = sys.modules.get("numpy.ma")
    if masks is not None and masks.is_masked(values):
        raise TypeError("an array has a mask: expected a row of integers")
    values = numpy.asarray(values)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise TypeError(f"an array has the shape {values.shape} and the type {values.dtype}: expected a row of integers")
    if values.dtype.kind == "i" and values.size and values.min() < 0:
        raise OverflowError("a number is negative")
    return _steps_of(values.astype("u8"))


def _in_range(steps: Steps) -> Steps:
    if len(steps) and not 0 <= least(steps) <= greatest(steps) < 1 << 64:
        raise OverflowError("a number is negative, or too large")
    return steps


def _steps_of(numbers: Column) -> Column:
    """The same numbers, as Steps if they are that. Of others the last one nearly always shows it."""
    if len(numbers) < 2:
        return numbers
    steps = Steps(int(numbers[0]), int(numbers[1]) - int(numbers[0]), len(numbers))
    return steps if steps[-1] == int(numbers[-1]) and equal(numbers, as_array(steps)) else numbers


def as_array(numbers: Column) -> Column:
    """The same numbers in an array, which has the buffer protocol. Raises OverflowError where it cannot have them."""
    if not isinstance(numbers, Steps):
        return numbers
    _in_range(numbers)
    numpy = sys.modules.get("numpy")
    if numpy is None:
        end = numbers.first + numbers.step * numbers.count
        return array("Q", range(numbers.first, end, numbers.step) if numbers.step else repeat(numbers.first, numbers.count))
    made = numpy.arange(numbers.count, dtype="u8")  # of the numbers themselves it would be rounded
    made *= numpy.uint64(numbers.step % (1 << 64))
    made += numpy.uint64(numbers.first % (1 << 64))  # of no numbers, it may be out of range
    return made


def repeated(number: int, count: int) -> Column:
    """Raises OverflowError for a negative number."""
    return _in_range(Steps(number, 0, count))


def each(operation: Callable[[Any, Any], Any], numbers: Column, other: Column | int) -> Column:
    """What the operation makes of each number, and of `other`, a number or as many. No result may be negative."""
    if isinstance(numbers, Steps) and isinstance(other, (int, Steps)):
        first, step = (other.first, other.step) if isinstance(other, Steps) else (other, 0)
        if operation in (add, sub):
            return Steps(operation(numbers.first, first), operation(numbers.step, step), numbers.count)
        if not numbers.step and not step:
            return Steps(operation(numbers.first, first), 0, numbers.count)
    numbers, other = as_array(numbers), as_array(other)
    if isinstance(numbers, array):
        return array("Q", map(operation, numbers, _pairs(other)))
    return operation(numbers, other)


def every(operation: Callable[[Any, Any], Any], numbers: Column, other: Column | int) -> bool:
    """Whether the operation, a comparison, is true for each number."""
    if isinstance(numbers, Steps) and isinstance(other, (int, Steps)):
        # Their difference has equal steps, too: what holds at both ends holds between them.
        at_ends = (operation(numbers[at], other if isinstance(other, int) else other[at]) for at in (0, -1))
        return not len(numbers) or all(at_ends)
    numbers, other = as_array(numbers), as_array(other)
    if isinstance(numbers, array):
        return all(map(operation, numbers, _pairs(other)))
    return bool(operation(numbers, other).all())


def _pairs(other: Column | int) -> Any:
    return repeat(other) if isinstance(other, int) else other


def woven(numbers: Column, others: Column) -> Column:
    """Numbers of two columns in turn."""
    result = as_array(repeated(0, 2 * len(numbers)))
    result[::2], result[1::2] = as_array(numbers), as_array(others)
    return result


def greatest(numbers: Column) -> int:
    if isinstance(numbers, Steps):
        return int(max(numbers[0], numbers[-1]))
    return max(numbers) if isinstance(numbers, array) else int(numbers.max())


def total(numbers: Column) -> int:
    if isinstance(numbers, Steps):
        return len(numbers) * int(numbers[0] + numbers[-1]) // 2 if len(numbers) else 0
    return sum(numbers) if isinstance(numbers, array) else int(numbers.sum())


def least(numbers: Column) -> int:
    if isinstance(numbers, Steps):
        return int(min(numbers[0], numbers[-1]))
    return min(numbers) if isinstance(numbers, array) else int(numbers.min())


def equal(a: Column, b: Column) -> bool:
    return a == b if isinstance(a, array) and isinstance(b, array) else every(eq, a, b)


def edges(lengths: Column) -> Column:
    """Where pieces begin that follow each other, and where the last ends."""
    if isinstance(lengths, Steps) and not lengths.step:
        return Steps(0, lengths.first, len(lengths) + 1)
    lengths = as_array(lengths)
    if isinstance(lengths, array):
        return array("Q", accumulate(lengths, initial=0))
    sums = sys.modules["numpy"].zeros(len(lengths) + 1, "u8")
    lengths.cumsum(out=sums[1:])
    return sums


def are_within(begins: Column, lengths: Column, end: int) -> bool:
    """Whether no piece ends behind `end`. Sums of NumPy could overflow."""
    if isinstance(begins, Steps) and isinstance(lengths, Steps):
        return every(le, each(add, begins, lengths), end)
    begins, lengths = as_array(begins), as_array(lengths)
    if isinstance(begins, array):
        return not any(map(gt, map(add, begins, lengths), repeat(end)))
    return every(le, lengths, end) and every(le, begins, end - lengths)


def are_apart(begins: Column, lengths: Column) -> bool:
    """Whether pieces, in any order, have no byte in common. False also where one without bytes lies within another."""
    ends = each(add, begins, lengths)
    if every(le, ends[:-1], begins[1:]):
        return True
    begins, ends = as_array(begins), as_array(ends)
    if isinstance(begins, array):
        order: Any = sorted(range(len(begins)), key=begins.__getitem__)
        begins, ends = ([numbers[i] for i in order] for numbers in (begins, ends))
        return all(map(le, ends[:-1], begins[1:]))
    order = begins.argsort(kind="stable")
    return every(le, ends[order][:-1], begins[order][1:])
