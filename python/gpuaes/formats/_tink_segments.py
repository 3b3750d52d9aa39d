"""The segments of a stream of Tink: where each lies, its nonce, and the work on many of them.

Segment i of a stream has its bytes from i * segment on; the first begins behind the header. So the text of all but the
first and the last is `segment` less a tag, which is called a step here.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from operator import add
from typing import Any, NamedTuple

from .. import _libcrypto
from .._columns import Column, as_array, each, edges, repeated
from .._gcm import TAG_BYTES
from .._libcrypto import SecretBytes
from ..batch import Batch, Pieces
from ..errors import InvalidTag
from ._nonces import counted

PREFIX_BYTES, _NONCE_BYTES, _SEGMENTS_MOST = 7, 12, 1 << 32
_BATCH_COUNT = 1 << 17  # segments of one batch: while a device works on it, the next is described
_ALONE_COUNT = 1 << 14  # of a stream of more, the first segment and the last, which are shorter, are batches of their own
_EARLY_BYTES = 1 << 30  # of a stream with so much text, the first batch is an eighth: some 0.3 ms of a device's work


class Layout(NamedTuple):
    """Sizes in bytes: of the header, and of a segment with its tag, in the first also with the header."""

    header: int
    segment: int

    @property
    def step(self) -> int:
        return self.segment - TAG_BYTES

    def text_at(self, number: int) -> int:
        """Where the text of a segment begins."""
        return max(0, number * self.step - self.header)

    def sealed_at(self, number: int) -> int:
        """Where the ciphertext of a segment begins."""
        return max(self.header, number * self.segment)

    def of_text(self, first: int, text_bytes: int) -> int:
        """How many segments take so much text, from segment `first` on."""
        return -(-(self.text_at(first) + text_bytes + self.header) // self.step) - first

    def of_sealed(self, first: int, sealed_bytes: int) -> tuple[int, int]:
        """How many segments the bytes from segment `first` on are, and the bytes of their text. Raises InvalidTag where
        the last is shorter than a tag."""
        end = self.sealed_at(first) + sealed_bytes
        count = -(-end // self.segment) - first
        last = first + count - 1
        if end - self.sealed_at(last) < TAG_BYTES:
            raise InvalidTag(f"segment {last}: truncated")
        return count, sealed_bytes - count * TAG_BYTES


class Segments:
    """The key of a stream, and work on its segments, from `first` on. `last`: the last of them is the last of all."""

    def __init__(self, layout: Layout, key: SecretBytes, prefix: bytes) -> None:
        self.layout, self._key, self._prefix = layout, key, prefix

    def _nonces(self, first: int, count: int, last: bool) -> bytes:
        """The prefix, the number of the segment, and whether it is the last."""
        if first + count > _SEGMENTS_MOST:
            raise ValueError(f"the stream has more than {_SEGMENTS_MOST} segments: expected larger segments")
        nonces = counted(self._prefix, first, count, b"\0")
        nonces[-1] = last
        return bytes(nonces)

    def _cut(self, first: int, count: int, text_bytes: int, text_at: int, sealed_at: int) -> list[Column]:
        """Where the texts and the ciphertexts of segments begin, if those of the first begin there, and their lengths."""
        lengths = repeated(self.layout.step, count)
        if not first or text_bytes != count * self.layout.step:
            lengths = as_array(lengths)
            lengths[0] -= 0 if first else self.layout.header
            lengths[-1] = text_bytes - int(edges(lengths)[-2])
        begins = [each(add, edges(each(add, lengths, more))[:-1], at) for more, at in ((0, text_at), (TAG_BYTES, sealed_at))]
        return [*begins, lengths]

    def queue(
        self,
        encrypt: bool,
        text: Any,
        sealed: Any,
        first: int,
        count: int,
        text_bytes: int,
        last: bool,
        text_at: int = 0,
        sealed_at: int = 0,
    ) -> Batch:
        """Queues segments, whose text is `text_bytes` from `text_at` on in an array in memory of a device."""
        texts, sealeds, lengths = self._cut(first, count, text_bytes, text_at, sealed_at)
        source, target = Pieces(text, texts, lengths), Pieces(sealed, sealeds, lengths)
        if not encrypt:
            source, target = target, source
        tags = Pieces(sealed, each(add, sealeds, lengths), TAG_BYTES)
        nonces = self._nonces(first, count, last)
        batch = Batch("GCM", self._key.buffer, source, encrypt=encrypt, ivs=nonces, tags=tags, out=target)
        batch.queue()
        return batch

    def queue_all(self, encrypt: bool, text: Any, sealed: Any, count: int, text_bytes: int) -> list[tuple[int, Batch]]:
        """Queues all segments of a stream, and returns batches with the numbers of their first segments."""
        layout = self.layout
        batches = []
        early = min(count // 8, _BATCH_COUNT) if text_bytes >= _EARLY_BYTES else 0
        alone = (1, count - 1) if count > _ALONE_COUNT else ()
        cuts = sorted({0, *range(early or _BATCH_COUNT, count, _BATCH_COUNT), *alone, count})
        for first, end in zip(cuts, cuts[1:]):
            begin, last = layout.text_at(first), end == count
            here = (text_bytes if last else layout.text_at(end)) - begin
            at = begin, layout.sealed_at(first)
            batches.append((first, self.queue(encrypt, text, sealed, first, end - first, here, last, *at)))
        return batches

    def check(self, batch: Batch, first: int) -> None:
        """Waits. Raises InvalidTag."""
        for number in batch.not_authentic():
            raise _wrong(first + number)

    def run_on_host(
        self, encrypt: bool, text: int, sealed: int, first: int, count: int, text_bytes: int, last: bool
    ) -> None:
        """Runs segments at addresses of the host. Raises InvalidTag."""
        nonces = self._nonces(first, count, last)
        cut = (numbers.tolist() for numbers in self._cut(first, count, text_bytes, text, sealed))
        for i, (text_at, sealed_at, length) in enumerate(zip(*cut)):
            nonce = nonces[i * _NONCE_BYTES : (i + 1) * _NONCE_BYTES]
            source, out = (text_at, sealed_at) if encrypt else (sealed_at, text_at)
            if not _libcrypto.gcm(self._key, encrypt, nonce, (0, 0), source, out, length, sealed_at + length):
                raise _wrong(first + i)


def _wrong(number: int) -> InvalidTag:
    return InvalidTag(f"segment {number}: not authentic: another key, changed or truncated")
