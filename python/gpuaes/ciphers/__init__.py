"""AES in CTR, CBC and ECB for bytes and tensors, in pieces, as cryptography.hazmat.primitives.ciphers has it.

    from gpuaes.ciphers import Cipher, algorithms, modes

    encryptor = Cipher(algorithms.AES(key), modes.CTR(nonce)).encryptor()
    sealed = encryptor.update(tensor)       # on its device, on the current stream
    encryptor.update_into(tensor, tensor)   # in place
    encryptor.finalize()

These modes do not authenticate: gpuaes.aead.AESGCM does.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import functools
import threading
from ctypes import byref
from typing import Any, overload

from .. import _driver, _fork, _library, _memory, _policy
from .._arguments import place as place_words
from .._arguments import small_bytes
from .._driver import DeviceMemory, Lane
from .._library import BLOCK, OK, lib
from .._libcrypto import CpuCipher
from .._memory import Memory
from .._owner import Owner
from .._types import Buffer, CudaArray, Data, DLPackArray, ElementsArray, T
from ..errors import AlreadyFinalized, GpuaesError
from . import algorithms, modes
from .algorithms import AES
from .modes import CBC, CTR, ECB

__all__ = ["AES", "CBC", "CTR", "ECB", "Cipher", "CipherContext", "algorithms", "modes"]

# Of CBC encryption on a device: what is on its way to the CPU and back at a time.
_PIECE = 16 << 20

# Results to which a device that hangs may still write: never freed.
_lost: list[Any] = []


class Cipher:
    """A key and a mode, from which contexts are made."""

    def __init__(self, algorithm: AES, mode: ECB | CBC | CTR, backend: object = None) -> None:
        """`backend` is ignored, as in cryptography."""
        if not isinstance(algorithm, AES):
            # Not its value, which is often the key.
            raise TypeError(f"algorithm is {type(algorithm).__name__}: expected gpuaes.ciphers.AES")
        if not isinstance(mode, (ECB, CBC, CTR)):
            raise TypeError(f"mode is {mode!r}: expected ECB, CBC or CTR of gpuaes.ciphers")
        self.algorithm, self.mode = algorithm, mode

    def __repr__(self) -> str:
        return f"<gpuaes.ciphers.Cipher: AES-{self.algorithm.key_size}-{self.mode.name}>"

    def encryptor(self) -> CipherContext:
        """Returns a context that encrypts one message."""
        return CipherContext(self.algorithm, self.mode, True)

    def decryptor(self) -> CipherContext:
        """Returns a context that decrypts one message."""
        return CipherContext(self.algorithm, self.mode, False)


class CipherContext(Owner):
    """One message, in pieces. Calls from several threads take turns.

    `data` is what gpuaes.aead.AESGCM takes; pieces may be of different kinds. In CTR a piece has any length. In ECB
    and CBC, bytes of the host that do not fill a block wait for the next piece; a piece in memory of a device must
    have whole blocks, and come when none wait.

    Work on a device is queued on the stream of the piece's package and not waited for, but: CBC encryption is done on
    the CPU; a second piece of CBC decryption waits for the first.

    A piece counts as done once the work with it has begun. Where an exception breaks it off, of a signal handler or of
    a device that fails, the next piece continues behind it, and never with the same keystream. An argument that is
    refused changes nothing. Threads take turns; a signal handler that calls a context within a call of the same thread gets
    RuntimeError.

    close() overwrites the expanded key, at the end of calls that have begun, and so does the collection of the object. A
    context that was closed raises ValueError. It can be neither copied nor pickled: both would encrypt with the same keystream.
    """

    _instead = "begin another message, with a nonce or an initialization vector of its own"

    def __init__(self, algorithm: AES, mode: ECB | CBC | CTR, encrypt: bool) -> None:
        self._algorithm, self._mode, self._encrypts = algorithm, mode.name, encrypt
        self._key = algorithm._key
        self._cpu: CpuCipher | None = None
        self._schedule: _library.Key | None = None
        self._finalized = False
        # Where the message goes on. Each is moved before the work with a piece begins, which may be broken off.
        self._position = 0  # of CTR, bytes
        self._waiting = b""  # of a block of ECB or CBC
        # Of CTR the first counter block; of CBC decryption the block before the next, which may lie on a device. For
        # CBC encryption libcrypto keeps that, and moves on as it writes.
        self._iv: bytes | _Chained = self._first_block(mode)
        self._lock = _fork.lock_of(self, threading.RLock)
        super().__init__()

    def _facts(self) -> str:
        does = "encryption" if self._encrypts else "decryption"
        return f"AES-{self._algorithm.key_size}-{self._mode}, {does}{', finalized' * self._finalized}"

    @staticmethod
    def _first_block(mode: ECB | CBC | CTR) -> bytes:
        if isinstance(mode, CTR):
            return mode.nonce
        return mode.initialization_vector if isinstance(mode, CBC) else bytes(BLOCK)

    def _release(self) -> None:
        # A call that is under way does so at its end: it may be of this thread, within which a signal handler or a finalizer
        # closes the context.
        lock = self._lock
        if not lock._is_owned() and lock.acquire(blocking=False):
            try:
                self._forget()
            finally:
                lock.release()

    def _forget(self) -> None:
        """Gives up the expanded key, and text."""
        self._cpu, self._waiting, self._iv = None, b"", bytes(BLOCK)
        schedule, self._schedule = self._schedule, None
        if schedule is not None:
            _library.cleanse(schedule)

    # ---- Calls ------------------------------------------------------------------------

    @overload
    def update(self, data: ElementsArray[T]) -> T: ...
    @overload
    def update(self, data: CudaArray) -> DeviceMemory: ...
    @overload
    def update(self, data: DLPackArray) -> DeviceMemory | bytes: ...
    @overload
    def update(self, data: Buffer) -> bytes: ...
    def update(self, data: Any) -> Any:
        """Returns the next piece of the result, as AESGCM does: of the package of `data`; bytes for bytes."""
        memory = _memory.view(data)
        with _Call(self), self._lock:
            count = self._count(memory)
            before = self._position, self._iv, self._waiting
            while True:
                result, place = _memory.new_like(memory, count)
                try:
                    self._run(memory, place, count)
                    break
                except _LostOutput:
                    # Nobody sees what is lost, so that the same piece may be done again.
                    _lost.append((result, place))
                    self._position, self._iv, self._waiting = before
        if place.kind == "jax":
            _memory.written(place)
        return result

    def update_into(self, data: Data, buf: Data) -> int:
        """Writes the next piece of the result to the beginning of `buf`, and returns its bytes: those of `data`, but
        for blocks that wait.

        `buf` is writable memory of the same kind. It may begin where `data` does, if none wait; else they must not
        overlap.
        """
        memory = _memory.view(data)
        with _Call(self), self._lock:
            count = self._count(memory)
            place = self._target(memory, buf, count)
            try:
                self._run(memory, place, count)
            except _LostOutput:
                _lost.append((buf, place))
                raise GpuaesError(
                    "a device hangs and may still write to buf: the piece is lost; update() would have done it again",
                    _library.UNDEFINED,
                ) from None
        _memory.written(place)
        return count

    def finalize(self) -> bytes:
        """Ends the message; returns b"". Raises ValueError where bytes of ECB or CBC wait for the rest of a block."""
        with _Call(self), self._lock:
            self._check_usable()
            if self._waiting:
                raise ValueError(
                    f"the data ends with {len(self._waiting)} bytes of a block: expected a multiple of {BLOCK}"
                )
            self._finalized = True
            self._forget()
        return b""

    def reset_nonce(self, nonce: Data) -> None:
        """Begins another message of CTR with the same key."""
        if self._mode != "CTR":
            raise ValueError(f"the mode is {self._mode}: expected CTR, which has a nonce")
        nonce = small_bytes(nonce, "nonce", BLOCK, BLOCK)
        with _Call(self), self._lock:
            self._check_usable()
            self._iv, self._position = nonce, 0

    # ---- Lengths ----------------------------------------------------------------------

    def _check_usable(self) -> None:
        self.check_open()
        if self._finalized:
            raise AlreadyFinalized

    def _count(self, data: Memory) -> int:
        """Bytes that a piece gives."""
        self._check_usable()
        if self._mode == "CTR":
            return data.bytes
        if data.device is None:
            return (len(self._waiting) + data.bytes) // BLOCK * BLOCK
        if data.bytes % BLOCK:
            raise ValueError(
                f"data has {data.bytes} bytes in {place_words(data)}: expected a multiple of {BLOCK} in {self._mode}"
            )
        if self._waiting and data.bytes:
            raise ValueError(
                f"{len(self._waiting)} bytes of a block wait for bytes of the host, and data is in {place_words(data)}"
            )
        return data.bytes

    def _target(self, data: Memory, buf: Any, count: int) -> Memory:
        if buf is data.owner and data.device is not None and _memory.is_writable(data):
            return data
        place = _memory.view(buf, writable=True, name="buf")
        if place.bytes < count:
            raise ValueError(f"buf has {place.bytes} bytes: expected {count} or more")
        if place.device != data.device:
            raise ValueError(f"buf is in {place_words(place)}: expected {place_words(data)}, where the data is")
        if place.device is not None and place.stream != data.stream:
            raise ValueError(f"buf has the stream {place.stream:#x}: expected {data.stream:#x}, that of the data")
        place.bytes = count
        if count and data.bytes and place.overlaps(data) and (place.address != data.address or self._waiting):
            raise ValueError("buf overlaps the data in part: expected the same place, or memory apart from it")
        return place

    # ---- Work -------------------------------------------------------------------------

    def _run(self, data: Memory, out: Memory, count: int) -> None:
        if data.device is not None:
            if count:
                self._run_on_device(data, out, count)
        elif self._mode == "CTR":
            self._run_host_ctr(data.address, out.address, count)
        else:
            self._run_host_blocks(data, out.address, count)

    def _run_host_ctr(self, source: int, out: int, count: int) -> None:
        position = self._position
        head = min(count, -position % BLOCK)
        whole = (count - head) // BLOCK * BLOCK
        on_device = whole and _policy.goes_to_device(count)
        self._position += count
        if not on_device:
            self._ctr_on_cpu(position, source, out, count)
            return
        # The device first: where its output is lost, nothing has been done.
        self._blocks_on_device(self._counter(position + head), source + head, out + head, whole)
        self._ctr_on_cpu(position, source, out, head)
        end = head + whole
        self._ctr_on_cpu(position + end, source + end, out + end, count - end)

    def _run_host_blocks(self, data: Memory, out: int, count: int) -> None:
        """ECB and CBC: what waits, and then whole blocks."""
        source, waiting = data.address, self._waiting
        if not count:
            self._waiting = waiting + ctypes.string_at(source, data.bytes)
            return
        taken = BLOCK - len(waiting) if waiting else 0
        first = waiting + ctypes.string_at(source, taken) if taken else b""
        begin, whole = source + taken, count - len(first)
        end = begin + whole
        serial = self._mode == "CBC" and self._encrypts
        on_device = whole and not serial and _policy.goes_to_device(whole)
        iv = self._block_before()
        if not self._encrypts:
            self._iv = ctypes.string_at(end - BLOCK, BLOCK) if whole else first
        self._waiting = ctypes.string_at(end, data.bytes - taken - whole)
        if first:
            block = ctypes.create_string_buffer(first, BLOCK)
            self._cpu_cipher(iv).update(ctypes.addressof(block), out, BLOCK)
            _library.cleanse(block)
            iv = first
        if on_device:
            self._blocks_on_device(iv, begin, out + len(first), whole)
        elif whole:
            self._cpu_cipher(iv).update(begin, out + len(first), whole)

    def _blocks_on_device(self, iv: bytes, source: int, out: int, count: int) -> None:
        """Whole blocks of the host; the CPU does what the device could not. Raises _LostOutput."""
        report = _library.Report()
        state = ctypes.create_string_buffer(iv, BLOCK)
        status = lib.gpuaes_aes(
            self._op(), byref(self._expanded()), state, source, out, count, _policy.flags(), byref(report)
        )
        if status == OK:
            return
        if status == _library.UNDEFINED:
            if source != out:
                raise _LostOutput
            raise _library.error(status, f"running {self._mode} in place: the data is lost")
        for shard in report.shard[: report.shards]:
            at = shard.at + shard.done
            self._cpu_cipher(bytes(shard.iv)).update(source + at, out + at, shard.bytes - shard.done)

    # ---- On the CPU -------------------------------------------------------------------

    def _cpu_cipher(self, iv: bytes) -> CpuCipher:
        """The context of libcrypto, which begins with `iv`, or, of CBC encryption, continues."""
        cipher = self._cpu
        if cipher is None:
            cipher = CpuCipher(self._mode, self._key, self._encrypts)
        elif self._mode == "CBC" and self._encrypts:
            return cipher
        cipher.begin(None if self._mode == "ECB" else iv)
        self._cpu = cipher
        return cipher

    def _block_before(self) -> bytes:
        """What CBC decryption continues with. Waits for the stream of the last piece."""
        if isinstance(self._iv, _Chained):
            self._iv = self._iv.read()
        return self._iv

    def _counter(self, position: int) -> bytes:
        """The counter block of a position."""
        number = int.from_bytes(self._block_before(), "big") + position // BLOCK
        return (number % (1 << 128)).to_bytes(BLOCK, "big")

    def _ctr_on_cpu(self, position: int, source: int, out: int, count: int) -> None:
        if not count:
            return
        cipher = self._cpu_cipher(self._counter(position))
        skipped = position % BLOCK
        if skipped:
            unused = ctypes.create_string_buffer(BLOCK)
            cipher.update(ctypes.addressof(unused), ctypes.addressof(unused), skipped)
            _library.cleanse(unused)
        cipher.update(source, out, count)

    # ---- On a device ------------------------------------------------------------------

    def _op(self) -> int:
        if self._mode == "CTR":
            return _library.CTR
        if self._mode == "ECB":
            return _library.ECB_ENCRYPT if self._encrypts else _library.ECB_DECRYPT
        return _library.CBC_DECRYPT

    def _expanded(self) -> _library.Key:
        if self._schedule is None:
            self._schedule = _library.Key()
            lib.gpuaes_key_expand(byref(self._schedule), self._key.address, self._key.bytes)
        return self._schedule

    def _run_on_device(self, data: Memory, out: Memory, count: int) -> None:
        lane = _driver.lane(data.device or 0, data.stream, data.stream_owner)
        iv = self._block_before()
        try:
            with lane:
                self._queue_piece(lane, iv, data.address, out.address, count)
        finally:  # an exception may come behind what is queued
            _memory.hold(lane, data, out)

    def _queue_piece(self, lane: Lane, iv: bytes, source: int, out: int, count: int) -> None:
        before = self._position, self._iv
        if self._mode == "CTR" and self._position % BLOCK == 0 == count % BLOCK:
            # Whole blocks, the most frequent: the library refuses a capture itself.
            self._position += count
            self._queue_next(before, lane, self._counter(before[0]), source, out, count)
            return
        lane.refuse_capture(f"running {self._mode}")
        if self._mode == "CTR":
            self._device_ctr(lane, source, out, count)
        elif self._mode == "ECB":
            self._queue(lane, iv, source, out, count)
        elif self._encrypts:
            self._device_cbc_encrypt(lane, iv, source, out, count)
        else:
            self._iv = _Chained(lane, source + count - BLOCK)
            self._queue_next(before, lane, iv, source, out, count)

    def _queue(self, lane: Lane, iv: bytes, source: int, out: int, count: int) -> None:
        status = lib.gpuaes_stream_binding_aes(
            lane.binding, self._op(), byref(self._expanded()), iv, source, out, count
        )
        if status == _library.BUSY:
            lane.refuse_capture(f"running {self._mode}")
        if status != OK:
            raise _library.error(status, f"running {self._mode} on device {lane.device}")

    def _queue_next(
        self, before: tuple[int, bytes | _Chained], lane: Lane, iv: bytes, source: int, out: int, count: int
    ) -> None:
        """Queues a piece, behind which the message has moved from `before`, and goes back where nothing was done."""
        try:
            self._queue(lane, iv, source, out, count)
        except GpuaesError as error:
            if error.status != _library.FAULT:
                self._position, self._iv = before
            raise

    def _device_ctr(self, lane: Lane, source: int, out: int, count: int) -> None:
        position = self._position
        head = min(count, -position % BLOCK)
        whole = (count - head) // BLOCK * BLOCK
        end = head + whole
        self._position += count
        if head:
            self._part_of_block(lane, position, source, out, head)
        if whole:
            self._queue(lane, self._counter(position + head), source + head, out + head, whole)
        if end < count:
            self._part_of_block(lane, position + end, source + end, out + end, count - end)

    def _part_of_block(self, lane: Lane, position: int, source: int, out: int, count: int) -> None:
        """CTR of bytes within a block: in a whole block of a slot, which is overwritten."""
        block = lane.slot().address
        at = block + position % BLOCK
        lane.fetch(at, source, count)
        self._queue(lane, self._counter(position), block, block, BLOCK)
        lane.send(out, at, count)
        lane.fill(block, 0, BLOCK)

    def _device_cbc_encrypt(self, lane: Lane, iv: bytes, source: int, out: int, count: int) -> None:
        buffer = ctypes.create_string_buffer(min(count, _PIECE))
        host = ctypes.addressof(buffer)
        doing = "encrypting with CBC"
        try:
            for at in range(0, count, _PIECE):
                piece = min(_PIECE, count - at)
                lane.fetch(host, source + at, piece)
                lane.wait(doing)
                self._cpu_cipher(iv).update(host, host, piece)
                lane.send(out + at, host, piece)
                lane.wait(doing)
        finally:
            _library.cleanse(buffer)


class _Call:
    """A call of a context. What was closed within it is given up at its end, once the lock is free."""

    __slots__ = ("_context",)

    def __init__(self, context: CipherContext) -> None:
        self._context = context

    def __enter__(self) -> None:
        """Refuses a call within a call of the same thread, as of a signal handler: it would wait for itself."""
        self._context.check_open()
        if self._context._lock._is_owned():
            raise RuntimeError(
                "a call was made within a call of the same context, as by a signal handler: expected that to return first"
            )

    def __exit__(self, *_: object) -> None:
        if not self._context._owned:
            self._context._release()


class _LostOutput(Exception):
    """A device that hangs may still write to the output."""


class _Chained(Owner):
    """A copy of the last block of a piece of ciphertext on its device, in the order of the stream."""

    def __init__(self, lane: Lane, source: int) -> None:
        self._lane, self._address = lane, lane.context.allocate(BLOCK)
        super().__init__()
        lane.copy(self._address, source, BLOCK)

    def read(self) -> bytes:
        self.check_open()
        return self._lane.read(self._address, BLOCK)

    def _release(self) -> None:
        _driver.retire((self._lane,), functools.partial(self._lane.context.free, self._address))
