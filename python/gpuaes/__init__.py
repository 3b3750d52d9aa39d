"""AES and Base64 on NVIDIA GPUs, for tensors and for bytes.

- `gpuaes.aead.AESGCM`: authenticated encryption
- `gpuaes.ciphers`: AES in CTR, CBC and ECB, in pieces
- `gpuaes.batch.Batch`: many messages at once
- `gpuaes.base64`: encode, decode
- `gpuaes.random`: random numbers for tensors

Arrays of PyTorch, CuPy, NumPy and JAX, and whatever has DLPack, `__cuda_array_interface__` or the buffer protocol,
are worked on where they are, on the current stream of their package. The package has no compiled code: it calls
libgpuaes (see libgpuaes(3)), which GPUAES_LIBRARY names or the dynamic linker finds, and libcrypto for the CPU.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

from . import _library, aead, base64, batch, ciphers
from ._arguments import STRINGS, integers
from ._driver import DeviceMemory
from .batch import Batch
from .errors import AlreadyFinalized, GpuaesError, InvalidTag

__all__ = [
    "AlreadyFinalized",
    "Batch",
    "Device",
    "DeviceMemory",
    "GpuaesError",
    "InvalidTag",
    "Statistics",
    "__version__",
    "aead",
    "base64",
    "batch",
    "ciphers",
    "devices",
    "reason",
    "start",
    "statistics",
]

__version__ = "0.3.0"


if TYPE_CHECKING:  # which knows all names, and would take any for one that __getattr__() has
    from . import random as random
else:

    def __getattr__(name: str) -> Any:
        """gpuaes.random, which is imported when it is first used."""
        if name == "random":
            return importlib.import_module(".random", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Device(NamedTuple):
    """A device in use. `ordinal` is CUDA's number of it in this process, as in "cuda:0"; `driver_version` is 13000 for
    13.0."""

    ordinal: int
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    driver_version: int


class Statistics(NamedTuple):
    """Totals of the process since it began, or was forked; libgpuaes(3) says what each counts."""

    bytes: int
    read_ahead_bytes: int
    underruns: int
    launches: int
    faults: int
    start_ms: int
    pinned_bytes: int
    pinned_peak: int


def start(devices: Iterable[SupportsIndex] | None = None) -> list[Device]:
    """Starts the devices of the process, waits until they can be used, and returns them.

    `devices` are CUDA's ordinals. Where it is None, they are those on which the application runs CUDA already, or
    device 0. The first start of the process decides which devices share large work on data of the host, which goes to
    them from then on; work on a tensor starts the tensor's device by itself. A start takes 0.3 s where the driver is
    asleep, and its devices stay in use.

    Raises ValueError for an ordinal that is none, and GpuaesError where none of the devices can be used, or the
    process has started others.
    """
    wanted = None
    if devices is not None:
        if isinstance(devices, STRINGS) or not isinstance(devices, Iterable):
            raise TypeError(f"devices is {devices!r}: expected a list of ordinals, or None")
        wanted = integers(devices, "devices")
        for ordinal in wanted:
            if not 0 <= ordinal < 64:
                raise ValueError(f"devices has {ordinal}: expected ordinals from 0 to 63")
        wanted = sorted(set(wanted))
        if not wanted:
            raise ValueError("devices is empty: expected ordinals, or None")
        mask = sum(1 << ordinal for ordinal in wanted)
        settings = _library.Settings(idle_seconds=_library.IDLE_DEFAULT, devices=mask)
        _library.lib.gpuaes_configure(ctypes.byref(settings))
    _library.start()
    found = _devices()
    missing = set(wanted or ()) - {device.ordinal for device in found}
    if missing:
        raise GpuaesError(
            f"devices has {sorted(missing)}, which cannot be used: the process uses"
            f" {[device.ordinal for device in found]}"
        )
    return found


def devices() -> list[Device]:
    """Returns the devices in use: none before a start, nor where none could be started (see reason())."""
    return _devices()


def _devices() -> list[Device]:
    found: list[Device] = []
    info = _library.DeviceInfo()
    while _library.lib.gpuaes_device(len(found), ctypes.byref(info)):
        found.append(
            Device(
                info.ordinal,
                info.name.decode(errors="replace"),
                (info.compute_major, info.compute_minor),
                info.multiprocessors,
                info.driver_version,
            )
        )
    return found


def reason() -> str:
    """Returns why no device can be used, as a sentence without a full stop; "" where nothing has failed."""
    return _library.reason()


def statistics() -> Statistics:
    """Returns what the devices have done for this process."""
    totals = _library.Statistics()
    _library.lib.gpuaes_get_statistics(ctypes.byref(totals))
    return Statistics(*(getattr(totals, name) for name in Statistics._fields))
