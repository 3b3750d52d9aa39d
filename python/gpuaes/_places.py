"""Where the messages of a batch lie: addresses and lengths in columns, so that a check or a sum over all messages is one
call of C.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from array import array
from itertools import repeat
from operator import add, index, le, sub
from typing import Any, Iterable, NamedTuple, Sequence, SupportsIndex

from . import _memory
from ._arguments import STRINGS, integers
from ._columns import Column, are_apart, are_within, column, each, equal, every, greatest, least, repeated, woven
from ._memory import Memory
from ._types import Data, Numbers


class Places:
    """Byte strings in memory. `memories` has the view of each array in which they lie."""

    __slots__ = ("memories", "addresses", "lengths")

    def __init__(self, memories: list[Memory], addresses: Column, lengths: Column) -> None:
        self.memories, self.addresses, self.lengths = memories, addresses, lengths

    @property
    def first(self) -> Memory:
        return self.memories[0]

    def __len__(self) -> int:
        return len(self.addresses)

    def moved(self, source: Memory, target: Memory) -> Places:
        """The same places, relative to another memory."""
        return Places([target], each(add, each(sub, self.addresses, source.address), target.address), self.lengths)


class Pieces(NamedTuple):
    """Pieces of one array: piece i has bytes[i] bytes from begins[i] on, or each has `bytes`. The numbers are a sequence, a
    range, or an array of the array module or of NumPy."""

    array: Data
    begins: Numbers
    bytes: Numbers | int

    def places(self, name: str, writable: bool = False) -> Places:
        whole = _memory.view(self.array, writable=writable, name=name)
        sizes: Any = self.bytes
        try:
            size = None if hasattr(sizes, "__len__") else index(sizes)  # one for all
            count = len(self.begins)
            found = len(sizes) if size is None else count
        except TypeError:
            raise TypeError(
                f"{name} has begins {self.begins!r:.60} and bytes {sizes!r:.60}: expected rows of integers, or one length for all"
            ) from None
        if not count or count != found:
            raise ValueError(f"{name} has {count} begins and {found} lengths: expected as many, 1 or more")
        try:
            begins = row(self.begins, f"{name}.begins")
            lengths = row(sizes, f"{name}.bytes") if size is None else repeated(size, len(begins))
            if len(begins) != len(lengths):
                raise ValueError(f"{name} has {len(begins)} begins and {len(lengths)} lengths: expected as many")
            fits = are_within(begins, lengths, whole.bytes)
        except OverflowError:  # a negative number
            fits = False
        if not fits:
            # Sums of NumPy's numbers would overflow.
            pairs = zip(map(int, self.begins), map(int, sizes) if size is None else repeat(size))
            for i, (begin, length) in enumerate(pairs):
                if begin < 0 or length < 0 or begin + length > whole.bytes:
                    raise ValueError(
                        f"{name}[{i}] has {length} bytes at {begin}: expected a piece of {whole.bytes} bytes"
                    )
        return Places([whole], each(add, begins, whole.address), lengths)


def row(numbers: Any, name: str) -> Column:
    """A column. TypeError names the number that is no integer."""
    try:
        return column(numbers)
    except TypeError:
        integers(numbers, name)
        raise


def places_of(arrays: Sequence[Any], name: str, writable: bool = False) -> Places:
    """Those of arrays, or of Pieces of them."""
    if isinstance(arrays, STRINGS):
        raise TypeError(f"{name} is {arrays!r:.60}: expected a sequence of arrays")
    memories, addresses, lengths = [], array("Q"), array("Q")
    for i, each_ in enumerate(arrays):
        if isinstance(each_, Pieces):
            places = each_.places(f"{name}[{i}]", writable)
            memories.append(places.first)
            addresses.frombytes(places.addresses.tobytes())
            lengths.frombytes(places.lengths.tobytes())
        else:
            memory = _memory.view(each_, writable=writable, name=f"{name}[{i}]")
            memories.append(memory)
            addresses.append(memory.address)
            lengths.append(memory.bytes)
    return Places(memories, column(addresses), column(lengths))


def places_between(whole: Memory, offsets: Iterable[SupportsIndex]) -> Places:
    """Message i of `whole` has its bytes from offsets[i] to offsets[i + 1]."""
    at: Any = offsets if hasattr(offsets, "__len__") else list(offsets)
    if len(at) < 2:
        raise ValueError(f"offsets has {len(at)}: expected one more than there are messages")
    try:
        found = row(at, "offsets")
        fits = every(le, found[:-1], found[1:]) and found[-1] <= whole.bytes
    except OverflowError:  # a negative number
        fits = False
    if not fits:
        for i, offset in enumerate(at):
            if not (at[i - 1] if i else 0) <= offset <= whole.bytes:
                raise ValueError(
                    f"offsets[{i}] is {offset}: expected {at[i - 1] if i else 0} to {whole.bytes}, in ascending order"
                )
    return Places([whole], each(add, found[:-1], whole.address), each(sub, found[1:], found[:-1]))


def check_overlaps(sources: Places, targets: Places) -> None:
    """A result may overlap its own message, in the same place, and nothing else."""
    in_place = equal(sources.addresses, targets.addresses)
    if are_apart(targets.addresses, targets.lengths) and (in_place or _on_one_side(sources, targets)):
        return
    _find_overlap(sources, targets, "out overlaps another message, or its own in part,", True)


def check_apart(sources: Places, targets: Places, refused: str) -> None:
    """No byte of results, which are apart from one another, may be in `sources`."""
    begin, end = _span(targets)
    first, last = _span(sources)
    if first < end and begin < last and not _are_woven_apart(sources, targets):
        _find_overlap(sources, targets, refused, False)


def _span(places: Places) -> tuple[int, int]:
    """Begin and end of the arrays in which they lie."""
    return min(each_.address for each_ in places.memories), max(each_.address + each_.bytes for each_ in places.memories)


def _are_woven_apart(sources: Places, targets: Places) -> bool:
    """Whether all are apart. In turn, tags that follow their messages are in order."""
    before, behind = sorted((sources, targets), key=lambda places: int(places.addresses[0]))
    ends = [each(add, places.addresses, places.lengths) for places in (before, behind)]
    if every(le, ends[0], behind.addresses) and every(le, ends[1][:-1], before.addresses[1:]):
        return True
    return are_apart(woven(before.addresses, behind.addresses), woven(before.lengths, behind.lengths))


def _find_overlap(sources: Places, targets: Places, refused: str, may_be_in_place: bool) -> None:
    theirs = list(zip(targets.addresses.tolist(), targets.lengths.tolist()))
    spans = [(at, at + count, i, True) for i, (at, count) in enumerate(theirs) if count]
    for i, (at, count) in enumerate(zip(sources.addresses.tolist(), sources.lengths.tolist())):
        if count and not (may_be_in_place and at == theirs[i][0]):
            spans.append((at, at + count, i, False))
    spans.sort()
    end_of_out = end_of_any = -1
    for begin, end, i, is_out in spans:
        if begin < (end_of_any if is_out else end_of_out):
            raise ValueError(f"{refused} at message {i}: expected memory apart")
        end_of_any = max(end_of_any, end)
        if is_out:
            end_of_out = max(end_of_out, end)


def _on_one_side(sources: Places, targets: Places) -> bool:
    """Whether all messages lie before all results, or behind them."""
    begin, end = least(targets.addresses), greatest(each(add, targets.addresses, targets.lengths))
    return greatest(each(add, sources.addresses, sources.lengths)) <= begin or end <= least(sources.addresses)
