"""Where the messages of a batch lie: addresses and lengths in arrays, so that a check or a sum over all messages is one
call of C.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from array import array
from itertools import islice
from operator import add, le
from typing import Any, Iterable, NamedTuple, Sequence

from . import _memory
from ._arguments import integers
from ._memory import Memory


class Places:
    """Byte strings in memory. `memories` has the view of each, or one view that has all of them."""

    __slots__ = ("memories", "addresses", "lengths")

    def __init__(self, memories: list[Memory], addresses: array[int], lengths: array[int]) -> None:
        self.memories, self.addresses, self.lengths = memories, addresses, lengths

    @property
    def first(self) -> Memory:
        return self.memories[0]

    def __len__(self) -> int:
        return len(self.addresses)

    def moved(self, source: Memory, target: Memory) -> Places:
        """The same places, relative to another memory."""
        shift = target.address - source.address
        return Places([target], array("Q", [at + shift for at in self.addresses]), self.lengths)


class Pieces(NamedTuple):
    """Pieces of one array: piece i has bytes[i] bytes from begins[i] on."""

    array: Any
    begins: Sequence[int]
    bytes: Sequence[int]

    def places(self, name: str, writable: bool = False) -> Places:
        whole = _memory.view(self.array, writable=writable, name=name)
        if not self.bytes or len(self.begins) != len(self.bytes):
            raise ValueError(
                f"{name} has {len(self.begins)} begins and {len(self.bytes)} lengths: expected as many, 1 or more"
            )
        try:
            begins, lengths = array("Q", self.begins), array("Q", self.bytes)
            fits = max(map(add, begins, lengths)) <= whole.bytes
        except OverflowError:  # a negative number
            fits = False
        if not fits:
            for i, (begin, count) in enumerate(zip(self.begins, self.bytes)):
                if begin < 0 or count < 0 or begin + count > whole.bytes:
                    raise ValueError(f"{name}[{i}] has {count} bytes at {begin}: expected a piece of {whole.bytes} bytes")
        address = whole.address
        return Places([whole], array("Q", [address + begin for begin in begins]), lengths)


def places_of(arrays: Sequence[Any], name: str, writable: bool = False) -> Places:
    """Those of arrays."""
    memories = [_memory.view(each, writable=writable, name=f"{name}[{i}]") for i, each in enumerate(arrays)]
    return Places(
        memories, array("Q", [memory.address for memory in memories]), array("Q", [memory.bytes for memory in memories])
    )


def places_between(whole: Memory, offsets: Iterable[int]) -> Places:
    """Message i of `whole` has its bytes from offsets[i] to offsets[i + 1]."""
    at = integers(offsets, "offsets")
    if len(at) < 2:
        raise ValueError(f"offsets has {len(at)}: expected one more than there are messages")
    for i, offset in enumerate(at):
        if not (at[i - 1] if i else 0) <= offset <= whole.bytes:
            raise ValueError(
                f"offsets[{i}] is {offset}: expected {at[i - 1] if i else 0} to {whole.bytes}, in ascending order"
            )
    return Places(
        [whole],
        array("Q", [whole.address + begin for begin in at[:-1]]),
        array("Q", [end - begin for begin, end in zip(at, at[1:])]),
    )


def check_overlaps(sources: Places, targets: Places) -> None:
    """A result may overlap its own message, in the same place, and nothing else."""
    in_place = sources.addresses == targets.addresses
    if _follow(targets) and (in_place or _are_apart(sources, targets)):
        return
    spans = [(at, at + count, i, True) for i, (at, count) in enumerate(zip(targets.addresses, targets.lengths)) if count]
    for i, (at, count) in enumerate(zip(sources.addresses, sources.lengths)):
        if count and at != targets.addresses[i]:
            spans.append((at, at + count, i, False))
    spans.sort()
    end_of_out = end_of_any = -1
    for begin, end, i, is_out in spans:
        if begin < (end_of_any if is_out else end_of_out):
            raise ValueError(f"out overlaps another message, or its own in part, at message {i}: expected memory apart")
        end_of_any = max(end_of_any, end)
        if is_out:
            end_of_out = max(end_of_out, end)


def _follow(places: Places) -> bool:
    """Whether each begins where the one before it ends, or later."""
    return all(map(le, map(add, places.addresses, places.lengths), islice(places.addresses, 1, None)))


def _are_apart(sources: Places, targets: Places) -> bool:
    """Whether all messages lie on one side of all results, which follow each other."""
    begin, end = targets.addresses[0], targets.addresses[-1] + targets.lengths[-1]
    return max(map(add, sources.addresses, sources.lengths)) <= begin or min(sources.addresses) >= end
