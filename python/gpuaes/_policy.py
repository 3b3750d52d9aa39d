"""Whether the CPU or a device works on memory of the host.

The environment's GPUAES_POLICY and GPUAES_MIN_BYTES take the values that they have for the OpenSSL provider
(see provider-gpuaes(7)):

- `auto`: a device, if one has been started, for HOST_MIN_BYTES or more, or for GPUAES_MIN_BYTES. Data of the
  host starts no device: gpuaes.start() does, and any work on device memory.
- `gpu`: a device, for all data. Where there is none, the call fails.
- `cpu`: libcrypto.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os

from . import _library

# Pageable memory passes the bus in pieces: below this, a core with AES instructions is about as fast, and a
# call does not wait for others that use the device.
HOST_MIN_BYTES = 1 << 20

_SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _min_bytes() -> int:
    text = os.environ.get("GPUAES_MIN_BYTES", "auto").strip()
    if text == "auto":
        return HOST_MIN_BYTES
    factor = _SUFFIXES.get(text[-1:], 1)
    digits = text if factor == 1 else text[:-1]
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(f"GPUAES_MIN_BYTES is {text!r}: expected auto, or a number of bytes, with K, M, G or T behind it")
    return int(digits) * factor


def goes_to_device(count: int) -> bool:
    """Whether a device is to work on so many bytes of the host. Raises GpuaesError where it must, and there is
    none."""
    policy = os.environ.get("GPUAES_POLICY", "auto")
    if policy == "cpu":
        return False
    if policy == "gpu":
        if not _library.is_ready():
            _library.start()
        return True
    if policy != "auto":
        raise ValueError(f"GPUAES_POLICY is {policy!r}: expected auto, gpu or cpu")
    return count >= _min_bytes() and _library.is_ready()


def flags() -> int:
    """Those of libgpuaes' calls: rather than wait for other threads, the CPU does the work where it may."""
    return _library.WAIT if os.environ.get("GPUAES_POLICY") == "gpu" else 0
