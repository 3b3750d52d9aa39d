"""Messages of GCM (NIST SP 800-38D) with one key: on the CPU, on a device, and begun on one and finished on the
other.

On device memory a message is *queued* (gpuaes_queue): the device makes the tag, so that encryption does not wait. One
of more than QUEUE_MOST bytes is a *call* (gpuaes_gcm_encrypt): its kernels for one long text gain more than the waits
cost. So is one that needs temporary memory, where the driver has no pools for that.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import ctypes
import hmac
import struct
import sys
from ctypes import byref, c_uint32
from typing import Callable

from . import _driver, _libcrypto, _library, _memory, _policy
from ._driver import SLOT_BYTES, Lane, Slot
from ._library import BLOCK, OK, lib
from ._libcrypto import SecretBytes
from ._memory import Memory
from ._owner import Owner
from .errors import GpuaesError

TAG_BYTES = 16
QUEUE_MOST = 64 << 20
QUEUE_MOST_WITHOUT_POOLS = 16 << 10  # needs no temporary memory on any device

# What of a message lies in a slot of its lane, for the device to read: arrays of one element of 8 bytes each, the
# status, the nonce, of at most 128 bytes, and the additional data. All but the latter is packed at once.
_ARRAYS = struct.Struct("<7QI68x128s")
_STATUS_AT, _NONCE_AT, _AAD_AT = 56, 128, 256
AAD_IN_SLOT = SLOT_BYTES - _AAD_AT

_DOING = ("decrypting with GCM", "encrypting with GCM")

Aad = tuple[int, int]  # address, bytes


class LostOutput(Exception):
    """A device that hangs may still write to the output."""


class GcmKeys(Owner):
    """A key of GCM, and what is made of it. Each use is within a `with`: what closes the object meanwhile, such as
    another thread, leaves the key to the end of the last use.

    The list is changed by one operation, which the interpreter's lock makes atomic: a lock of the object might be held
    by another thread when the process forks.
    """

    def __init__(self, key: SecretBytes) -> None:
        self.key = key
        self._users: list[None] = []
        self.expanded = _library.GcmKey()
        self.address = ctypes.addressof(self.expanded)
        lib.gpuaes_gcm_key_expand(byref(self.expanded), key.address, key.bytes)
        super().__init__()

    def _name(self) -> str:
        return "gpuaes.aead.AESGCM"

    def __enter__(self) -> GcmKeys:
        # In this order: close() sees the use, or the use sees close().
        self._users.append(None)
        if not self._owned:
            self.__exit__()
            self.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self._users.pop()
        if not self._owned and not self._users:
            self._wipe()

    def _release(self) -> None:
        """Overwrites the keys, once nothing uses them."""
        if not self._users:
            self._wipe()

    def _wipe(self) -> None:
        """Overwrites the keys at once: what is queued has them as parameters."""
        _library.cleanse(self.expanded)
        self.key.close()

    def __del__(self, _ending: Callable[[], bool] = sys.is_finalizing) -> None:
        # Nothing uses the keys: an exception in __enter__(), or a fork, has left what is there.
        self._users.clear()
        super().__del__(_ending)


# ---- Counters, tags -------------------------------------------------------------------


def _first_counter(keys: GcmKeys, nonce: bytes) -> bytes:
    """J0, section 7.1, step 2."""
    if len(nonce) == 12:
        return nonce + b"\0\0\0\1"
    hash_ = ctypes.create_string_buffer(BLOCK)
    lib.gpuaes_gcm_hash(keys.address, hash_, nonce, len(nonce))
    lib.gpuaes_gcm_hash(keys.address, hash_, struct.pack(">QQ", 0, 8 * len(nonce)), BLOCK)
    return hash_.raw


def _counter(first: bytes, blocks: int) -> bytes:
    """inc32, `blocks` times."""
    low = int.from_bytes(first[12:], "big") + blocks & 0xFFFFFFFF
    return first[:12] + low.to_bytes(4, "big")


class _Message:
    """What of a message is done on the host: all but the whole blocks of its text."""

    def __init__(self, keys: GcmKeys, encrypt: bool, nonce: bytes, aad: Aad, count: int) -> None:
        self.keys, self.encrypt, self.aad, self.count = keys, encrypt, aad, count
        self.whole = count // BLOCK * BLOCK
        self.first = _first_counter(keys, nonce)
        self.state = _library.GcmState()
        ctypes.memmove(byref(self.state), _counter(self.first, 1), BLOCK)
        self.hash = ctypes.addressof(self.state) + BLOCK
        lib.gpuaes_gcm_hash(keys.address, self.hash, aad[0], aad[1])

    def finish(self, end: int, tag: int) -> bool:
        """Runs the text that is no whole block, at the address `end`, in place, with the hash of all before it, and
        writes the tag or compares it. Returns False where it is wrong."""
        rest = self.count - self.whole
        keys = self.keys
        if not self.encrypt:
            lib.gpuaes_gcm_hash(keys.address, self.hash, end, rest)
        if rest:
            counter = _counter(self.first, 1 + self.whole // BLOCK)
            _libcrypto.run("CTR", keys.key, True, counter, end, end, rest)
        if self.encrypt:
            lib.gpuaes_gcm_hash(keys.address, self.hash, end, rest)
        lengths = struct.pack(">QQ", 8 * self.aad[1], 8 * self.count)
        lib.gpuaes_gcm_hash(keys.address, self.hash, lengths, BLOCK)
        own = ctypes.create_string_buffer(ctypes.string_at(self.hash, BLOCK), BLOCK)
        address = ctypes.addressof(own)
        _libcrypto.run("CTR", keys.key, True, self.first, address, address, BLOCK)
        _library.cleanse(self.state)
        if self.encrypt:
            ctypes.memmove(tag, own, TAG_BYTES)
            return True
        same = hmac.compare_digest(own.raw, ctypes.string_at(tag, TAG_BYTES))
        _library.cleanse(own)
        return same


# ---- Memory of the host ----------------------------------------------------------------


def run_on_host(
    keys: GcmKeys, encrypt: bool, nonce: bytes, aad: Aad, source: int, out: int, count: int, tag: int
) -> bool:
    """Runs a message in memory of the host, in place or out of place; `tag` is the address of the tag, which is written
    or compared. Returns False where it is wrong. Raises LostOutput, where `out` is another memory than the input, which
    is as it was then, and GpuaesError, where it is the same. `out` of a decryption that has begun and then fails in any
    way is zeros."""
    if _policy.goes_to_device(count):
        result = _on_device_from_host(keys, encrypt, nonce, aad, source, out, count, tag)
        if result is not None:
            return result
    return _libcrypto.gcm(keys.key, encrypt, nonce, aad, source, out, count, tag)


def _on_device_from_host(
    keys: GcmKeys, encrypt: bool, nonce: bytes, aad: Aad, source: int, out: int, count: int, tag: int
) -> bool | None:
    """None where the device could not do it: the input is as it was, and no text of a decryption is elsewhere."""
    message = _Message(keys, encrypt, nonce, aad, count)
    report = _library.Report()
    op = _library.GCM_ENCRYPT if encrypt else _library.GCM_DECRYPT
    flags = _policy.flags()
    try:
        status = lib.gpuaes_gcm(
            op, keys.address, byref(message.state), source, out, message.whole, flags, byref(report)
        )
        if status == _library.UNDEFINED:
            if source != out:
                raise LostOutput
            raise _library.error(status, "running GCM in place: the data is lost")
        if status != OK:
            if source == out:
                _restore(keys, message.first, out, report)
            elif not encrypt:
                lib.gpuaes_cleanse(out, count)
            return None
        rest = count - message.whole
        if source != out:
            ctypes.memmove(out + message.whole, source + message.whole, rest)
        if message.finish(out + message.whole, tag):
            return True
        lib.gpuaes_cleanse(out, count)
        return False
    except BaseException:
        if not encrypt:
            lib.gpuaes_cleanse(out, count)
        raise


def _restore(keys: GcmKeys, first: bytes, out: int, report: _library.Report) -> None:
    """Undoes what a device completed in place: CTR is its own inverse."""
    for shard in report.shard[: report.shards]:
        at, end = shard.at, shard.at + shard.done
        while at < end:
            counter = _counter(first, 1 + at // BLOCK)
            # libcrypto's counter has 128 bits, GCM's 32.
            piece = min(end - at, ((1 << 32) - int.from_bytes(counter[12:], "big")) * BLOCK)
            _libcrypto.run("CTR", keys.key, True, counter, out + at, out + at, piece)
            at += piece


# ---- Memory of a device ----------------------------------------------------------------


def run_on_device(
    keys: GcmKeys, encrypt: bool, nonce: bytes, aad: Aad, data: Memory, out: Memory, count: int, tag: int
) -> bool:
    """Queues a message on the stream of `data`, whose first `count` bytes are the text; `tag` is an address in
    memory of the device. Encryption waits where the message is too long to be queued, or has more additional data than
    a slot takes; decryption waits, and returns False where the tag is wrong. `out` of a decryption that has
    begun and then fails in any way is zeros, unless the device cannot write any more."""
    lane = _driver.lane(data.device or 0, data.stream, data.stream_owner)
    # Without text there may be no address.
    source, target = (data.address, out.address) if count else (tag, tag)
    try:
        with lane:
            if lane.stream:  # of the legacy one, libgpuaes refuses it
                lane.refuse_capture(_DOING[encrypt])
            most = QUEUE_MOST if lane.context.has_pools else QUEUE_MOST_WITHOUT_POOLS
            run = _queue if count <= most and aad[1] <= AAD_IN_SLOT else _call
            return run(lane, keys, encrypt, nonce, aad, source, target, count, tag)
    finally:  # an exception may come behind what is queued
        _memory.hold(lane, data, out)


def _slot_messages(slot: Slot) -> _library.Messages:
    """One message whose arrays are in the slot."""
    at = slot.address
    slot.messages = messages = _library.Messages(
        count=1,
        tag_bytes=TAG_BYTES,
        in_=at,
        out=at + 8,
        bytes=at + 16,
        iv=at + 24,
        aad=at + 32,
        aad_bytes=at + 40,
        tag=at + 48,
        status=at + _STATUS_AT,
    )
    return messages


def _queue(
    lane: Lane, keys: GcmKeys, encrypt: bool, nonce: bytes, aad: Aad, source: int, out: int, count: int, tag: int
) -> bool:
    slot = lane.slot()
    messages = slot.messages or _slot_messages(slot)
    at = slot.address
    _ARRAYS.pack_into(
        slot.buffer, 0, source, out, count, at + _NONCE_AT, at + _AAD_AT, aad[1], tag, _library.NOT_READY, nonce
    )
    if aad[1]:
        ctypes.memmove(at + _AAD_AT, aad[0], aad[1])
    messages.op = _library.GCM_ENCRYPT if encrypt else _library.GCM_DECRYPT
    messages.key = keys.address  # GcmKey begins with the schedule
    messages.max_bytes = count
    messages.iv_bytes = len(nonce)
    status = lib.gpuaes_queue(messages, None, 0, lane.stream, lane.device)
    doing = _DOING[encrypt]
    if encrypt or status not in (OK, _library.FAULT):
        _library.check_queue(status, doing)
        return True
    try:
        _library.check_queue(status, doing)
        lane.wait(doing)
        status = c_uint32.from_address(at + _STATUS_AT).value
        if status not in (OK, _library.BAD_TAG):
            raise _library.error(status, doing)
    except BaseException:
        _erase_after_failure(lane, out, count, doing)
        raise
    return bool(status == OK)


def _call(
    lane: Lane, keys: GcmKeys, encrypt: bool, nonce: bytes, aad: Aad, source: int, out: int, count: int, tag: int
) -> bool:
    """The same by a call that follows the legacy default stream alone, and so begins when the lane has come to its end."""
    doing = _DOING[encrypt]
    own = ctypes.create_string_buffer(TAG_BYTES)
    message = _library.GcmMessage(nonce, len(nonce), *aad, source, out, count, ctypes.addressof(own), TAG_BYTES)
    lane.wait(doing)
    if encrypt:
        _library.check(lib.gpuaes_gcm_encrypt(keys.address, byref(message), _library.WAIT), doing)
        _library.check(lib.gpuaes_copy(tag, own, TAG_BYTES), doing)
        return True
    _library.check(lib.gpuaes_copy(own, tag, TAG_BYTES), doing)
    try:
        status = lib.gpuaes_gcm_decrypt(keys.address, byref(message), _library.WAIT)
        if status not in (OK, _library.BAD_TAG):
            raise _library.error(status, doing)
    except BaseException:
        _erase_after_failure(lane, out, count, doing)
        raise
    return bool(status == OK)


def _erase_after_failure(lane: Lane, out: int, count: int, doing: str) -> None:
    """Overwrites text of a device that is not known to be authentic, and waits. The exception that is under way says
    more than that this has failed, too."""
    with contextlib.suppress(GpuaesError):
        lane.fill(out, 0, count)
        lane.wait(doing)


def too_long(count: int) -> GpuaesError | ValueError:
    return ValueError(f"data has {count} bytes: expected {_library.GCM_TEXT_MOST} at most, the limit of GCM")
