"""libgpuaes by ctypes: the functions that this package calls, and their structs.

The contract of each function is in gpuaes.h, and in libgpuaes(3). Sizes are in bytes; addresses are
integers. A ctypes call gives up the interpreter's lock, so that other threads run meanwhile.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import os
from ctypes import (
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_ubyte,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any, Iterator

from .errors import GpuaesError

BLOCK = 16
SONAME = "libgpuaes.so.1"
ENVIRONMENT = "GPUAES_LIBRARY"
# What a wheel of `make wheel` has besides the package; a pure one, over an installed library, does not have it.
NATIVE = Path(__file__).parent / "native"

# enum gpuaes_status
OK, NOT_READY, BUSY, NO_MEMORY, BAD_ARGUMENT, BAD_RANGE, BAD_INPUT, BAD_TAG, FAULT, UNDEFINED = range(10)
# enum gpuaes_state
OFF, STARTING, READY, FAILED = range(4)
# enum gpuaes_op
ECB_ENCRYPT, ECB_DECRYPT, CBC_DECRYPT, CTR, CBC_ENCRYPT, GCM_ENCRYPT, GCM_DECRYPT, XTS_ENCRYPT, XTS_DECRYPT = range(9)

# enum gpuaes_random_kind
(
    RANDOM_BYTES,
    RANDOM_UNIFORM32,
    RANDOM_UNIFORM64,
    RANDOM_NORMAL32,
    RANDOM_NORMAL64,
    RANDOM_RANGE,
    RANDOM_BERNOULLI,
    RANDOM_UNIFORM_FLOAT16,
    RANDOM_UNIFORM_BFLOAT16,
    RANDOM_NORMAL_FLOAT16,
    RANDOM_NORMAL_BFLOAT16,
    RANDOM_RANGE_FLOAT16,
    RANDOM_RANGE_BFLOAT16,
    RANDOM_RANGE_FLOAT32,
    RANDOM_RANGE_FLOAT64,
) = range(15)

WAIT = 1  # a flag: wait for other threads rather than return BUSY
SHARDS = 64
IDLE_DEFAULT = 0xFFFFFFFF

# GCM's limit on the text of a message, NIST SP 800-38D section 5.2.1.1.
GCM_TEXT_MOST = (1 << 36) - 32
# Of gpuaes_queue().
QUEUE_MESSAGES = 1 << 24
QUEUE_BYTES = 1 << 30
QUEUE_UNIT_BYTES = 1 << 24  # of a message of XTS
QUEUE_AAD_BYTES = 64 << 10


class _Sized(Structure):
    """A struct that begins with its size, so that it may grow in later releases."""

    def __init__(self, **members: Any) -> None:
        super().__init__(struct_bytes=ctypes.sizeof(self), **members)


class Settings(_Sized):
    """struct gpuaes_settings"""

    _fields_ = [
        ("struct_bytes", c_size_t),
        ("pinned_bytes", c_size_t),
        ("timeout_ms", c_uint),
        ("idle_seconds", c_uint),
        ("threads", c_uint),
        ("read_ahead_bytes", c_size_t),
        ("devices", c_uint64),
    ]


class DeviceInfo(_Sized):
    """struct gpuaes_device_info"""

    _fields_ = [
        ("struct_bytes", c_size_t),
        ("ordinal", c_int),
        ("name", c_char * 64),
        ("compute_major", c_int),
        ("compute_minor", c_int),
        ("multiprocessors", c_int),
        ("driver_version", c_int),
    ]


class Statistics(_Sized):
    """struct gpuaes_statistics"""

    _fields_ = [("struct_bytes", c_size_t)] + [
        (name, c_uint64)
        for name in (
            "bytes",
            "read_ahead_bytes",
            "underruns",
            "launches",
            "faults",
            "start_ms",
            "pinned_bytes",
            "pinned_peak",
        )
    ]


class Key(Structure):
    """struct gpuaes_key"""

    _fields_ = [("encrypt", c_uint32 * 60), ("decrypt", c_uint32 * 60), ("rounds", c_uint)]


class GcmKey(Structure):
    """struct gpuaes_gcm_key"""

    _fields_ = [("schedule", Key), ("h", c_uint64 * 2), ("steps", c_uint64 * 2 * 9)]


class GcmState(Structure):
    """struct gpuaes_gcm_state"""

    _fields_ = [("counter", c_ubyte * BLOCK), ("hash", c_ubyte * BLOCK)]


class Shard(Structure):
    """struct gpuaes_shard"""

    _fields_ = [
        ("at", c_size_t),
        ("bytes", c_size_t),
        ("done", c_size_t),
        ("iv", c_ubyte * BLOCK),
        ("hash", c_ubyte * BLOCK),
    ]


class Report(Structure):
    """struct gpuaes_report"""

    _fields_ = [("shards", c_uint), ("shard", Shard * SHARDS)]


class GcmMessage(Structure):
    """struct gpuaes_gcm_message"""

    _fields_ = [
        ("iv", c_char_p),
        ("iv_bytes", c_size_t),
        ("aad", c_void_p),
        ("aad_bytes", c_size_t),
        ("in_", c_void_p),
        ("out", c_void_p),
        ("len", c_size_t),
        ("tag", c_void_p),
        ("tag_bytes", c_size_t),
    ]


class Messages(_Sized):
    """struct gpuaes_messages"""

    _fields_ = [
        ("struct_bytes", c_size_t),
        ("op", c_int),
        ("count", c_size_t),
        ("max_bytes", c_size_t),
        ("total_bytes", c_size_t),
        ("key", c_void_p),
        ("tweak_key", c_void_p),
        ("keys", c_void_p),
        ("key_table", c_void_p),
        ("key_index", c_void_p),
        ("key_count", c_size_t),
        ("key_bytes", c_size_t),
        ("in_", c_void_p),
        ("out", c_void_p),
        ("bytes", c_void_p),
        ("iv", c_void_p),
        ("iv_bytes", c_size_t),
        ("aad", c_void_p),
        ("aad_bytes", c_void_p),
        ("tag", c_void_p),
        ("tag_bytes", c_size_t),
        ("status", c_void_p),
    ]


class Random(_Sized):
    """struct gpuaes_random"""

    _fields_ = [
        ("struct_bytes", c_size_t),
        ("kind", c_int),
        ("key", c_void_p),
        ("counter", c_ubyte * BLOCK),
        ("first", c_uint64),
        ("count", c_size_t),
        ("element_bytes", c_size_t),
        ("scale", c_double),
        ("shift", c_double),
        ("low", c_int64),
        ("range", c_uint64),
        ("probability", c_double),
        ("success", c_uint64),
    ]


# Function: its result, its arguments.
_PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "gpuaes_status_text": (c_char_p, [c_int]),
    "gpuaes_configure": (c_int, [POINTER(Settings)]),
    "gpuaes_state": (c_int, []),
    "gpuaes_reason": (c_char_p, []),
    "gpuaes_start": (c_int, [c_void_p, c_void_p, c_int]),
    "gpuaes_application_devices": (c_uint64, []),
    "gpuaes_device": (c_int, [c_uint, POINTER(DeviceInfo)]),
    "gpuaes_pinned_alloc": (c_void_p, [c_size_t]),
    "gpuaes_pinned_free": (None, [c_void_p, c_size_t]),
    "gpuaes_copy": (c_int, [c_void_p, c_void_p, c_size_t]),
    "gpuaes_key_expand": (c_int, [POINTER(Key), c_void_p, c_size_t]),
    "gpuaes_cleanse": (None, [c_void_p, c_size_t]),
    "gpuaes_aes": (c_int, [c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_uint, POINTER(Report)]),
    "gpuaes_gcm_key_expand": (c_int, [POINTER(GcmKey), c_void_p, c_size_t]),
    "gpuaes_gcm": (
        c_int,
        [c_int, c_void_p, POINTER(GcmState), c_void_p, c_void_p, c_size_t, c_uint, POINTER(Report)],
    ),
    "gpuaes_gcm_encrypt": (c_int, [c_void_p, POINTER(GcmMessage), c_uint]),
    "gpuaes_gcm_decrypt": (c_int, [c_void_p, POINTER(GcmMessage), c_uint]),
    "gpuaes_gcm_hash": (None, [c_void_p, c_void_p, c_void_p, c_size_t]),
    "gpuaes_queue_temp_bytes": (c_size_t, [POINTER(Messages)]),
    "gpuaes_queue": (c_int, [POINTER(Messages), c_void_p, c_size_t, c_void_p, c_int]),
    "gpuaes_queue_error": (c_char_p, []),
    "gpuaes_random_queue": (c_int, [POINTER(Random), c_void_p, c_void_p, c_int]),
    "gpuaes_stream_binding_open": (c_int, [POINTER(c_void_p), c_void_p, c_int]),
    "gpuaes_stream_binding_aes": (
        c_int,
        [c_void_p, c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_size_t],
    ),
    "gpuaes_stream_binding_wait": (c_int, [c_void_p, c_void_p]),
    "gpuaes_stream_binding_close": (None, [c_void_p]),
    "gpuaes_base64_encode": (c_int, [c_void_p, c_size_t, c_void_p, c_size_t, c_uint]),
    "gpuaes_base64_decode": (c_int, [c_void_p, c_size_t, c_void_p, c_uint, POINTER(c_size_t)]),
    "gpuaes_get_statistics": (c_int, [POINTER(Statistics)]),
}


def _load() -> ctypes.CDLL:
    """Opens libgpuaes: the file that GPUAES_LIBRARY names; or the one in the package; or SONAME by the dynamic linker.

    Raises ImportError, which says what was tried and what the dynamic linker said.
    """
    name, origin = str(NATIVE / SONAME), "which is in the package"
    if given := os.environ.get(ENVIRONMENT):
        name, origin = given, f"which {ENVIRONMENT} names"
    elif not os.path.exists(name):
        name, origin = SONAME, f"by the dynamic linker, since {ENVIRONMENT} is not set"
    try:
        library = ctypes.CDLL(name)
        for function, (result, arguments) in _PROTOTYPES.items():
            declare(library, function, result, arguments)
    except (OSError, AttributeError) as error:
        raise ImportError(
            f"gpuaes: cannot use libgpuaes: tried {name!r}, {origin}: {error}. Install libgpuaes, or set"
            f" {ENVIRONMENT} to the path of its file {SONAME}"
        ) from error
    return library


def declare(library: ctypes.CDLL, name: str, result: Any, arguments: list[Any]) -> Any:
    """Sets and returns the function of that name. Raises AttributeError where the library has none."""
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


lib = _load()


def status_text(status: int) -> str:
    """A few words for a status of libgpuaes."""
    return str(lib.gpuaes_status_text(status).decode())


def reason() -> str:
    """Why no device can be used, as a sentence without a full stop; "" where nothing has failed."""
    return str(lib.gpuaes_reason().decode())


def error(status: int, doing: str, why: str = "") -> GpuaesError:
    """The exception for a status that is not OK. `doing` says what was tried, as "encrypting data"."""
    text = status_text(status)
    why = why or reason()
    return GpuaesError(f"{doing}: {text}" + (f" ({why})" if why else ""), status)


def check(status: int, doing: str) -> None:
    """Raises GpuaesError unless `status` is OK."""
    if status != OK:
        raise error(status, doing)


def check_queue(status: int, doing: str) -> None:
    """The same for a status of gpuaes_queue(), which says what is wrong with an argument."""
    if status != OK:
        raise error(status, doing, lib.gpuaes_queue_error().decode() if status == BAD_ARGUMENT else "")


def is_ready() -> bool:
    """Whether devices are started. Costs a call of one load."""
    return bool(lib.gpuaes_state() == READY)


def ordinals() -> Iterator[int]:
    """The devices in use, by CUDA's numbers."""
    info = DeviceInfo()
    number = 0
    while lib.gpuaes_device(number, ctypes.byref(info)):
        yield info.ordinal
        number += 1


def cleanse(buffer: Any) -> None:
    """Overwrites a ctypes object with zeros."""
    lib.gpuaes_cleanse(ctypes.addressof(buffer), ctypes.sizeof(buffer))


def start(device: int | None = None) -> None:
    """Starts the devices and waits until they can be used; `device` is one that must be among them.

    Where nothing was configured, they are those on which the application runs CUDA already and `device`,
    or device 0. A start takes 0.3 s where the driver is asleep. Raises GpuaesError where none can be used.
    """
    if lib.gpuaes_state() == OFF:
        devices = lib.gpuaes_application_devices() | (0 if device is None else 1 << device)
        if devices:
            settings = Settings(idle_seconds=IDLE_DEFAULT, devices=devices)
            lib.gpuaes_configure(ctypes.byref(settings))
    if lib.gpuaes_start(None, None, 1) != READY:
        raise error(NOT_READY, "starting the devices")
