"""The package's own exceptions.

An argument that is wrong raises ValueError or TypeError, whose message names the argument, its value and
what was expected.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

__all__ = ["AlreadyFinalized", "GpuaesError", "InvalidTag"]


class GpuaesError(RuntimeError):
    """A device, the driver or libcrypto failed, or no device can do the work.

    `status` is libgpuaes' enum gpuaes_status, or None where another library reported the error.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class InvalidTag(Exception):
    """A message is not authentic. None of its text was returned."""

    def __init__(self, message: str = "the message is not authentic: its tag is wrong") -> None:
        super().__init__(message)


class AlreadyFinalized(Exception):
    """A cipher context was used after its finalize()."""

    def __init__(self, message: str = "the context was finalized before") -> None:
        super().__init__(message)
