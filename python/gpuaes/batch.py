"""Many messages in memory of a device, by a few launches, without work of the host for each.

    from gpuaes.batch import Batch

    batch = Batch("GCM", key, tensors, encrypt=False, ivs=nonces, tags=tags)
    batch.queue()         # on the current stream; does not wait
    batch.check()         # waits; InvalidTag names the messages that are not authentic

What describes the messages is written to the device once. The batch may then be queued as often as there is new data
in the same places, also while the stream is captured into a CUDA graph, whose runs read the data anew. The batch must
outlive such a graph, which has a copy of an only key, and check() knows of its runs where they are on the current
stream.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
from array import array
from ctypes import byref
from functools import partial
from operator import add, and_, eq, ge, sub
from typing import Any, Callable, Generic, Iterable, Sequence, SupportsIndex, TypeVar, Union, overload

from . import _buffers, _driver, _library, _memory
from ._arguments import KEY_BYTES, STRINGS, byte_strings, integers, place, secret_key
from ._columns import are_apart, as_array, column, each, edges, equal, every, greatest, repeated, total
from ._driver import DeviceMemory
from ._libcrypto import SecretBytes
from ._library import BLOCK, OK, lib
from ._memory import Memory
from ._owner import Owner
from ._places import Pieces, Places, check_apart, check_overlaps, places_between, places_of
from ._types import CudaArray, Data, DeviceT, DLPackArray, ElementsArray, Keys, Numbers, OutT, T
from .errors import GpuaesError, InvalidTag

__all__ = ["Batch", "Pieces"]

Strings = Union[Data, Pieces, Sequence[Data]]
Arrays = Union[Data, Pieces, Sequence[Union[Data, Pieces]]]
_Out = TypeVar("_Out", bound=Arrays)

_OPS = {
    ("CTR", True): _library.CTR,
    ("CTR", False): _library.CTR,
    ("ECB", True): _library.ECB_ENCRYPT,
    ("ECB", False): _library.ECB_DECRYPT,
    ("CBC", True): _library.CBC_ENCRYPT,
    ("CBC", False): _library.CBC_DECRYPT,
    ("GCM", True): _library.GCM_ENCRYPT,
    ("GCM", False): _library.GCM_DECRYPT,
    ("XTS", True): _library.XTS_ENCRYPT,
    ("XTS", False): _library.XTS_DECRYPT,
}
_TAG_BYTES = (4, 8, 12, 13, 14, 15, 16)
_NONCE_MOST = 128
_NOT_QUEUED = 0xFF  # each byte of a status before the first queue()


class Batch(Owner, Generic[OutT, DeviceT]):
    """Messages of one mode and direction, in memory of one device.

    `out` is the results: a list of arrays for a list, one array for an array with offsets. `tags` of GCM encryption is
    an array of uint8, `tag_bytes` for each message. `status` is an array with an int32 for each message (of four bytes
    each, where the memory's package is not known): 0 once it is complete, 7 where it is not authentic, 4 where XTS refuses
    its key; `out` of such a message is zeros. They are on the device, and valid once the stream has passed queue().

    Calls on one batch must not overlap in time. The batch keeps all arrays that it was given. close() overwrites an only
    key at once, and several, which lie on the device, once the streams have passed the work with them, and so does the
    collection of the object; ValueError after that.
    A batch can be neither copied nor pickled.
    """

    out: OutT
    tags: Any
    status: DeviceT
    _instead = "describe the messages again, in each process"

    @overload
    def __init__(
        self: Batch[list[T], T],
        mode: str, keys: Keys, messages: Sequence[ElementsArray[T]], *, encrypt: bool, offsets: None = ...,
        ivs: Strings | None = ..., aad: Sequence[Data] | None = ..., tags: Strings | None = ...,
        tag_bytes: int = ..., key_numbers: Numbers | None = ..., out: None = ...,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self: Batch[T, T],
        mode: str, keys: Keys, messages: ElementsArray[T], *, encrypt: bool, offsets: Iterable[SupportsIndex],
        ivs: Strings | None = ..., aad: Sequence[Data] | None = ..., tags: Strings | None = ...,
        tag_bytes: int = ..., key_numbers: Numbers | None = ..., out: None = ...,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self: Batch[list[DeviceMemory], DeviceMemory],
        mode: str, keys: Keys, messages: Sequence[CudaArray | DLPackArray], *, encrypt: bool, offsets: None = ...,
        ivs: Strings | None = ..., aad: Sequence[Data] | None = ..., tags: Strings | None = ...,
        tag_bytes: int = ..., key_numbers: Numbers | None = ..., out: None = ...,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self: Batch[DeviceMemory, DeviceMemory],
        mode: str, keys: Keys, messages: CudaArray | DLPackArray, *, encrypt: bool, offsets: Iterable[SupportsIndex],
        ivs: Strings | None = ..., aad: Sequence[Data] | None = ..., tags: Strings | None = ...,
        tag_bytes: int = ..., key_numbers: Numbers | None = ..., out: None = ...,
    ) -> None: ...  # fmt: skip
    @overload
    def __init__(
        self: Batch[_Out, Any],
        mode: str, keys: Keys, messages: Arrays, *, encrypt: bool, offsets: Iterable[SupportsIndex] | None = ...,
        ivs: Strings | None = ..., aad: Sequence[Data] | None = ..., tags: Strings | None = ...,
        tag_bytes: int = ..., key_numbers: Numbers | None = ..., out: _Out,
    ) -> None: ...  # fmt: skip
    def __init__(
        self,
        mode: str,
        keys: Any,
        messages: Any,
        *,
        encrypt: bool,
        offsets: Iterable[SupportsIndex] | None = None,
        ivs: Any = None,
        aad: Sequence[Data] | None = None,
        tags: Any = None,
        tag_bytes: int = 16,
        key_numbers: Numbers | None = None,
        out: Any = None,
    ) -> None:
        """Describes the messages to their device, on the current stream.

        `mode` is "CTR", "ECB", "CBC", "GCM" or "XTS". `keys` is a key, or a sequence of keys of one size, and `key_numbers`
        says which of them each message has (without it, the first). A key of XTS has 32 or 64 bytes, of which the second
        half is for tweaks; with two equal halves it encrypts nothing: queue() or check() raises GpuaesError.

        `messages` is a sequence of arrays in memory of a device, or one such array: then message i has its bytes from
        offsets[i] to offsets[i + 1]. In ECB and CBC a message has whole blocks. It has at most 1 GiB, in XTS 16 bytes to
        16 MiB.

        `ivs` has an initialization vector for each message (CTR, CBC, and the tweak of XTS: 16 bytes; GCM: a nonce of 1 to
        128 bytes, best 12; all of one length): a sequence of byte strings, or an array on the device or the host in which
        they follow each other. `aad` of GCM is a sequence of byte strings, of 64 KiB at most. `tags` of GCM decryption is as `ivs`.

        One of `messages` and `out` may be in pinned memory of the host, which the device reads or writes over the bus.

        `messages`, `out`, `ivs` and `tags` may be Pieces of an array, also with gaps between them, and
        `messages` and `out` lists of them. The tags of encryption are then written there. Where the program has
        imported NumPy, to describe Pieces takes some nanoseconds for each, else a microsecond. Pieces of one length in
        equal slots take less.

        `out` has the shape of `messages`; it may be `messages`, which is in place. None: new arrays. A result overlaps
        nothing but its own message, in the same place. The tags of encryption overlap nothing.
        """
        self._key, self._tweak_key = _library.Key(), _library.Key()
        self._buffer: _buffers.Buffer | None = None
        self._was_captured = False
        self._table = self._key_bytes = self._temp = self._temp_bytes = 0
        self._lanes: dict[int, _driver.Lane] = {}
        if (mode, bool(encrypt)) not in _OPS:
            raise ValueError(f"mode is {mode!r}: expected CTR, ECB, CBC, GCM or XTS")
        self._mode, self._encrypts, self._op = mode, bool(encrypt), _OPS[mode, bool(encrypt)]
        if tag_bytes not in _TAG_BYTES:
            raise ValueError(f"tag_bytes is {tag_bytes!r}: expected 12 to 16, or 4 or 8")
        parts, whole = _parts(messages, offsets)
        self._check_lengths(parts)
        self.out, targets = self._targets(messages, parts, whole, out)
        self._count = len(parts)
        self._first = _first_of(messages if parts.first.device is not None else self.out)
        first = _memory.view(self._first, name="messages")
        _check_memory(parts, targets, first)
        self._home = self._last = lane = _driver.lane(first.device or 0, first.stream, first.stream_owner)
        self._owners: list[Any] = []
        self._batch = _library.Messages(op=self._op, count=self._count)
        secrets, numbers = self._take_keys(keys, key_numbers)
        self.status, status = self._new_status(first)
        self.tags, tag_memory = self._tag_array(tags, tag_bytes, first)
        self._describe(parts, targets, secrets, numbers, ivs, aad, tag_memory, tag_bytes, status, lane)

    def _facts(self) -> str:
        does = "encryption" if self._encrypts else "decryption"
        return f"{self._count} messages, {self._mode} {does}, device {self._home.device}"

    # ---- Arguments --------------------------------------------------------------------

    def _check_lengths(self, parts: Places) -> None:
        if len(parts) > _library.QUEUE_MESSAGES:
            raise ValueError(f"messages has {len(parts)}: expected {_library.QUEUE_MESSAGES} at most")
        if self._mode in ("ECB", "CBC") and greatest(each(and_, parts.lengths, BLOCK - 1)):
            raise _refused(parts, lambda count: count % BLOCK, f"a multiple of {BLOCK} in {self._mode}")
        most = _library.QUEUE_UNIT_BYTES if self._mode == "XTS" else _library.QUEUE_BYTES
        if greatest(parts.lengths) > most:
            raise _refused(parts, lambda count: count > most, f"{most} at most")
        if self._mode == "XTS" and not every(ge, parts.lengths, BLOCK):
            raise _refused(parts, lambda count: count < BLOCK, f"{BLOCK} or more in XTS")

    def _targets(self, messages: Any, parts: Places, whole: Any, out: Any) -> tuple[Any, Places]:
        if out is None:
            if len(parts.memories) != len(parts) and whole is None or isinstance(messages, Pieces):
                raise ValueError("out is None: expected Pieces of an array, as messages has")
            made = [_memory.new_like(part, part.bytes) for part in parts.memories]
            if whole is not None:
                return made[0][0], parts.moved(parts.first, made[0][1])
            memories = [memory for _, memory in made]
            addresses = column([memory.address for memory in memories])
            return [array_ for array_, _ in made], Places(memories, addresses, parts.lengths)
        if whole is not None:
            memory = _memory.view(out, writable=True, name="out")
            if memory.bytes != parts.first.bytes:
                raise ValueError(f"out has {memory.bytes} bytes: expected {parts.first.bytes}, as messages has")
            targets = parts.moved(parts.first, memory)
        else:
            found = out.places if isinstance(out, Pieces) else partial(places_of, out)
            targets = found("out", writable=True)
        if len(targets) != len(parts):
            raise ValueError(f"out has {len(targets)} arrays or pieces: expected {len(parts)}")
        if not equal(targets.lengths, parts.lengths):
            for i, (target, part) in enumerate(zip(targets.lengths, parts.lengths)):
                if target != part:
                    raise ValueError(f"out[{i}] has {target} bytes: expected {part}")
        check_overlaps(parts, targets)
        return out, targets

    def _take_keys(self, keys: Any, key_numbers: Numbers | None) -> tuple[list[SecretBytes], Sequence[int]]:
        """Keeps the schedule of the only key, or returns keys, and the numbers by which messages have them."""
        sequence = [keys] if not isinstance(keys, (list, tuple)) else list(keys)
        if not sequence:
            raise ValueError("keys is empty: expected a key, or several")
        sizes = (32, 64) if self._mode == "XTS" else KEY_BYTES
        secrets = [secret_key(key, f"keys[{i}]" if len(sequence) > 1 else "key", sizes) for i, key in enumerate(sequence)]
        size = secrets[0].bytes
        for i, secret in enumerate(secrets):
            if secret.bytes != size:
                raise ValueError(f"keys[{i}] has {secret.bytes} bytes: expected {size}, as keys[0] has")
        numbers = None if key_numbers is None else numbers_of_keys(key_numbers, self._count, len(secrets))
        super().__init__()  # from here on there is something to give up
        if numbers is None or len(secrets) == 1:
            self._expand(secrets[0])
            return [], []
        self._batch.key_count, self._batch.key_bytes = len(secrets), size
        return secrets, numbers

    def _expand(self, secret: SecretBytes) -> None:
        size = secret.bytes
        if self._mode == "XTS":
            size //= 2
            lib.gpuaes_key_expand(byref(self._tweak_key), secret.address + size, size)
            self._batch.tweak_key = ctypes.addressof(self._tweak_key)
        lib.gpuaes_key_expand(byref(self._key), secret.address, size)
        self._batch.key = ctypes.addressof(self._key)

    def _new_status(self, like: Memory) -> tuple[Any, Memory]:
        if like.kind in ("torch", "cupy"):
            return _memory.new_like(like, self._count, "int32")
        return _memory.new_like(like, 4 * self._count)

    def _tag_array(self, tags: Any, tag_bytes: int, like: Memory) -> tuple[Any, Any]:
        """The array of tags, and where they are: places on the device, or bytes that must get there."""
        if self._mode != "GCM":
            if tags is not None:
                raise ValueError(f"tags is given: expected None in {self._mode}")
            return None, None
        if isinstance(tags, Pieces):
            return tags, self._strings(tags, "tags", tag_bytes, tag_bytes, like)[0]
        if self._encrypts:
            if tags is not None:
                raise ValueError("tags is given: expected None, since encryption makes them")
            made, memory = _memory.new_like(like, self._count * tag_bytes)
            return made, self._row(memory, tag_bytes)
        if tags is None:
            raise ValueError("tags is None: expected the tags, which decryption compares")
        strings, found = self._strings(tags, "tags", tag_bytes, tag_bytes, like)
        if found != tag_bytes:
            raise ValueError(f"tags has {found} bytes for each message: expected {tag_bytes}")
        return tags, strings

    def _strings(self, values: Any, name: str, least: int, most: int, like: Memory) -> tuple[Any, int]:
        """Byte strings of one length for all messages: places on the device, or bytes of the host, and the length."""
        if isinstance(values, Pieces):
            places = values.places(name, writable=self._encrypts and name == "tags")
            size = int(places.lengths[0])
            if len(places) != self._count or not least <= size <= most or not every(eq, places.lengths, size):
                raise ValueError(f"{name} has {len(places)} pieces: expected {self._count}, of {least} to {most} bytes each")
            _check_device(places.first, name, like)
            return places, size
        if isinstance(values, (list, tuple)):
            if len(values) != self._count:
                raise ValueError(f"{name} has {len(values)}: expected {self._count}, one for each message")
            copies = byte_strings(values, name, least, most)
            sizes = list(map(len, copies))
            if sizes.count(sizes[0]) != len(sizes):
                i, size = next((i, size) for i, size in enumerate(sizes) if size != sizes[0])
                raise ValueError(f"{name}[{i}] has {size} bytes: expected {sizes[0]}, as {name}[0] has")
            return b"".join(copies), sizes[0]
        memory = _memory.view(values, name=name)
        size = memory.bytes // self._count
        if memory.bytes % self._count or not least <= size <= most:
            expected = f"{least}" if least == most else f"{least} to {most}"
            raise ValueError(f"{name} has {memory.bytes} bytes: expected {expected} for each of {self._count} messages")
        if memory.device is None:
            return _memory.copy_of(memory), size
        if memory.device != like.device:
            raise ValueError(f"{name} is in {place(memory)}: expected {place(like)} or memory of the host")
        return self._row(memory, size), size

    def _row(self, memory: Memory, size: int) -> Places:
        """A place of `size` bytes for each message, one after the other."""
        begins = range(memory.address, memory.address + self._count * size, size)
        return Places([memory], column(begins), repeated(size, self._count))

    # ---- Arrays on the device ----------------------------------------------------------

    def _describe(
        self,
        parts: Places,
        targets: Places,
        secrets: list[SecretBytes],
        numbers: Sequence[int],
        ivs: Any,
        aad: Sequence[Any] | None,
        tags: Any,
        tag_bytes: int,
        status: Memory,
        lane: _driver.Lane,
    ) -> None:
        count = self._count
        blob = _Blob()
        batch = self._batch
        batch.max_bytes = greatest(parts.lengths)
        batch.total_bytes = total(parts.lengths)
        fields = {
            "in_": blob.add(parts.addresses),
            "out": blob.add(targets.addresses),
            "bytes": blob.add(parts.lengths),
        }
        if secrets:
            fields["key_index"] = blob.add(array("I", numbers))
            self._key_bytes = sum(secret.bytes for secret in secrets)
            fields["key_table"] = self._table = blob.reserve(self._key_bytes)
        pointers: list[tuple[str, Any, int]] = []  # field, places or offset in the blob, bytes of each
        if self._mode == "ECB":
            if ivs is not None:
                raise ValueError("ivs is given: expected None in ECB")
        else:
            if ivs is None:
                raise ValueError(f"ivs is None: expected one for each message in {self._mode}")
            least, most = (1, _NONCE_MOST) if self._mode == "GCM" else (BLOCK, BLOCK)
            strings, batch.iv_bytes = self._strings(ivs, "ivs", least, most, parts.first)
            pointers.append(("iv", blob.add(strings) if isinstance(strings, bytes) else strings, batch.iv_bytes))
            self._check_apart(parts, targets, strings, tags)
        if self._mode == "GCM":
            batch.tag_bytes = tag_bytes
            pointers.append(("tag", blob.add(tags) if isinstance(tags, bytes) else tags, tag_bytes))
        texts = self._additional(aad)
        if texts is not None:
            at = blob.add(b"".join(texts))
            ends = edges(column(list(map(len, texts))))
            fields["aad_bytes"] = blob.add(each(sub, ends[1:], ends[:-1]))
        # Arrays of pointers follow: their places are known first, then where the memory begins.
        for name, _, _ in pointers:
            fields[name] = blob.reserve(8 * count)
        if texts is not None:
            fields["aad"] = blob.reserve(8 * count)
        self._buffer = buffer = _buffers.take(lane.context, blob.bytes)
        base = buffer.device
        for name, where, size in pointers:
            if isinstance(where, Places):
                addresses = where.addresses
            else:
                addresses = column(range(base + where, base + where + count * size, size))
            blob.parts.append((fields[name], as_array(addresses)))
        if texts is not None:
            blob.parts.append((fields["aad"], as_array(each(add, ends[:-1], base + at))))
        for name, offset in fields.items():
            setattr(batch, name, base + offset)
        batch.status = status.address
        used = [*parts.memories, *targets.memories, status]
        for _, where, _ in pointers:
            used += where.memories if isinstance(where, Places) else []
        # Not the caller's lists, which may change.
        self._owners = [memory.owner for memory in used]
        of_dlpack = [owner if type(owner) is tuple else (owner,) for owner in self._owners]
        self._memories = [each for owner in of_dlpack for each in owner if isinstance(each, Owner)]
        if not lane.context.has_pools:
            self._temp_bytes = lib.gpuaes_queue_temp_bytes(batch)
            self._temp = lane.context.allocate(self._temp_bytes)
        blob.write(buffer.host)
        at = buffer.host + self._table
        for secret in secrets:
            ctypes.memmove(at, secret.address, secret.bytes)
            at += secret.bytes
        with lane:
            lane.refuse_capture("describing a batch")
            lane.send(base, buffer.host, blob.bytes)
            lane.fill(status.address, _NOT_QUEUED, 4 * count)
        self._lanes[lane.stream] = lane

    def _check_apart(self, parts: Places, targets: Places, ivs: Any, tags: Any) -> None:
        """Results and tags that are written must be apart from whatever else is read or written."""
        if isinstance(tags, Places) and not self._encrypts:
            check_apart(tags, targets, "out overlaps tags")
        elif isinstance(self.tags, Pieces):
            # Where each tag follows its result, the two are one piece.
            follow = equal(tags.addresses, each(add, targets.addresses, targets.lengths))
            if not follow or not are_apart(targets.addresses, each(add, targets.lengths, tags.lengths)):
                if not are_apart(tags.addresses, tags.lengths):
                    raise ValueError("tags overlap one another: expected pieces apart")
                check_apart(targets, tags, "tags overlap out")
            check_apart(parts, tags, "tags overlap messages")
            if isinstance(ivs, Places):
                check_apart(ivs, tags, "tags overlap ivs")
        if isinstance(ivs, Places):
            check_apart(ivs, targets, "out overlaps ivs")

    def _additional(self, aad: Sequence[Any] | None) -> list[bytes] | None:
        if aad is None:
            return None
        if self._mode != "GCM":
            raise ValueError(f"aad is given: expected None in {self._mode}")
        if isinstance(aad, (*STRINGS, memoryview)) or not hasattr(aad, "__len__"):
            raise TypeError(f"aad is {aad!r:.60}: expected a sequence of byte strings")
        if len(aad) != self._count:
            raise ValueError(f"aad has {len(aad)}: expected {self._count}, one for each message")
        return byte_strings(aad, "aad", 0, _library.QUEUE_AAD_BYTES)

    # ---- Work -------------------------------------------------------------------------

    def queue(self) -> None:
        """Queues all messages on the current stream of the messages' package, and returns. Waits for the last queue()
        where that was on another stream, and for arrays of JAX, whose own streams do not know of the work. Raises
        GpuaesError."""
        self._check_usable()
        memory = _memory.view(self._first, name="messages")
        lane = self._home
        if memory.stream != lane.stream:
            lane = _driver.lane(memory.device or 0, memory.stream, memory.stream_owner)
        self._wait_for_other(lane)
        self._lanes[lane.stream] = self._last = lane
        with lane:
            self._was_captured |= lane.is_captured()
            status = lib.gpuaes_queue(self._batch, self._temp, self._temp_bytes, lane.stream, lane.device)
        _library.check_queue(status, "queueing a batch")
        if memory.kind == "jax":
            lane.wait("running a batch")

    def check(self) -> None:
        """Waits for the batch. Raises InvalidTag, which names messages that are not authentic, GpuaesError, and ValueError
        where the batch was not queued."""
        refuse(self.not_authentic())

    def not_authentic(self) -> list[int]:
        """Waits for the batch, and returns the numbers of the messages whose tags are wrong. Raises as check() does."""
        found = self._wait()
        if found == bytes(len(found)):
            return []
        numbers = array("I", found)
        if _NOT_QUEUED * 0x01010101 in numbers:
            raise ValueError("the batch was not queued: expected queue() before check()")
        wrong = [i for i, number in enumerate(numbers) if number == _library.BAD_TAG]
        for i, number in enumerate(numbers):
            if not wrong and number != OK:
                raise GpuaesError(f"message {i}: {_library.status_text(number)}", number)
        return wrong

    def _wait(self) -> bytes:
        """The status of each message, once the batch is done."""
        self._check_usable()
        memory = _memory.view(self._first, name="messages")
        lane = _driver.lane(memory.device or 0, memory.stream, memory.stream_owner)
        self._wait_for_other(lane)
        return lane.read(self._batch.status, 4 * self._count)

    def _check_usable(self) -> None:
        """Also by the memory of ours that the device has addresses of: a finalizer may have freed it first."""
        self.check_open()
        for owner in self._memories:
            owner.check_open()

    def _wait_for_other(self, lane: _driver.Lane) -> None:
        """Waits where the last work was queued on another stream: it shares memory with what comes."""
        if self._last.stream != lane.stream:
            self._last.wait_for_earlier("running a batch")

    def __len__(self) -> int:
        return self._count

    def _release(self) -> None:
        _library.cleanse(self._key)
        _library.cleanse(self._tweak_key)
        home, buffer, table, key_bytes, temp, owners = (
            self._home, self._buffer, self._table, self._key_bytes, self._temp, self._owners
        )  # fmt: skip
        is_kept = not self._was_captured  # a run of the graph may be under way: to free waits for it

        def free() -> None:
            if buffer:
                _buffers.give(buffer, table, key_bytes, is_kept)
            if temp:
                home.context.free(temp)
            _ = owners  # until here

        _driver.retire(list(self._lanes.values()) or [home], free)


class _Blob:
    """What goes to the device in one piece; each part is aligned to 16. write() alone copies, since new memory costs more
    than a copy."""

    def __init__(self) -> None:
        self.bytes = 0
        self.parts: list[tuple[int, Any]] = []

    def add(self, part: Any) -> int:
        """Returns where the bytes of an object, or of a column, will be."""
        part = as_array(part)
        at = self.reserve(memoryview(part).nbytes)
        self.parts.append((at, part))
        return at

    def reserve(self, count: int) -> int:
        at = self.bytes
        self.bytes += count + -count % BLOCK
        return at

    def write(self, address: int) -> None:
        """Writes all parts to memory of the host."""
        target = memoryview((ctypes.c_ubyte * self.bytes).from_address(address)).cast("B")
        for at, part in self.parts:
            if len(part):
                source = memoryview(part).cast("B")
                target[at : at + len(source)] = source


def numbers_of_keys(key_numbers: Numbers, count: int, keys: int) -> Sequence[int]:
    """The numbers by which `count` messages have keys. Raises TypeError and ValueError."""
    numbers = integers(key_numbers.tolist() if hasattr(key_numbers, "tolist") else key_numbers, "key_numbers")
    if len(numbers) != count:
        raise ValueError(f"key_numbers has {len(numbers)}: expected {count}, one for each message")
    if min(numbers) < 0 or keys <= max(numbers):
        i, number = next((i, n) for i, n in enumerate(numbers) if not 0 <= n < keys)
        raise ValueError(f"key_numbers[{i}] is {number}: expected 0 to {keys - 1}")
    return numbers


def refuse(wrong: list[int]) -> None:
    """Raises InvalidTag, which names messages that are not authentic, unless there are none."""
    if wrong:
        more = f" and {len(wrong) - 8} more" if len(wrong) > 8 else ""
        raise InvalidTag(f"messages {wrong[:8]}{more} are not authentic: their tags are wrong")


def _parts(messages: Any, offsets: Iterable[SupportsIndex] | None) -> tuple[Places, Any]:
    """Where the messages are, and the array of which they are parts."""
    if isinstance(messages, Pieces):
        if offsets is not None:
            raise ValueError("offsets is given with Pieces: expected None")
        return messages.places("messages"), None
    if isinstance(messages, (list, tuple)):
        if offsets is not None:
            raise ValueError("offsets is given with a sequence of arrays: expected one array as messages")
        if not messages:
            raise ValueError("messages is empty: expected one array or more")
        return places_of(messages, "messages"), None
    memory = _memory.view(messages, name="messages")
    if offsets is None:
        raise ValueError("offsets is None: expected them with one array as messages")
    return places_between(memory, offsets), messages


def _first_of(messages: Any) -> Any:
    """An array, whose stream is that of the work."""
    if isinstance(messages, Pieces):
        return messages.array
    return _first_of(messages[0]) if isinstance(messages, (list, tuple)) else messages


def _check_device(memory: Memory, name: str, like: Memory) -> None:
    """It must be memory that the device of `like` reaches."""
    if memory.device is None and memory.bytes and not _driver.is_pinned(memory.address, memory.bytes):
        raise ValueError(f"{name} is in memory of the host that is not pinned: expected pinned memory, or memory of a device")
    if memory.device is not None and memory.device != like.device:
        raise ValueError(f"{name} is in {place(memory)}: expected {place(like)}")


def _check_memory(parts: Places, targets: Places, first: Memory) -> None:
    for name, places in ("messages", parts), ("out", targets):
        for i, memory in enumerate(places.memories):
            _check_device(memory, f"{name}[{i}]", first)
            if name == "messages" and memory.device is not None and memory.stream != first.stream:
                raise ValueError(
                    f"messages[{i}] is in {place(memory)}, with the stream {memory.stream:#x}: expected {first.stream:#x},"
                    " as messages[0] has"
                )
    if first.device is None:
        raise ValueError("messages and out are in memory of the host: expected one of them in memory of a device")


def _refused(parts: Places, is_wrong: Callable[[int], Any], expected: str) -> ValueError:
    """About the first message whose length is wrong."""
    i, count = next((i, count) for i, count in enumerate(parts.lengths.tolist()) if is_wrong(count))
    return ValueError(f"messages[{i}] has {count} bytes: expected {expected}")
