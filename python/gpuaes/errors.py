"""The package's own exceptions.

An argument that is wrong raises ValueError or TypeError, whose message names the argument, its value and
what was expected.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import functools
import sys
from typing import Any

__all__ = ["AlreadyFinalized", "GpuaesError", "InvalidTag"]


class GpuaesError(RuntimeError):
    """A device, the driver or libcrypto failed, or no device can do the work.

    `status` is libgpuaes' enum gpuaes_status, or None where another library reported the error.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@functools.cache
def _with(ours: type[Any], theirs: type[Any]) -> type[Any]:
    return type(ours.__name__, (ours, theirs), {"__doc__": ours.__doc__, "__module__": ours.__module__})


class _AsInCryptography(Exception):
    """Is caught by handlers of the class of cryptography.exceptions with the same name, too; so are its subclasses.

    Nobody can name that class who has not imported it. So an object gets it as a base when it is made, if the module is
    there by then: to import it would open cryptography's own OpenSSL.
    """

    def __new__(cls: Any, *arguments: object) -> Any:
        module = sys.modules.get("cryptography.exceptions")
        ours = (kind.__name__ for kind in cls.__mro__ if kind.__module__ == __name__)
        theirs = next((getattr(module, name) for name in ours if hasattr(module, name)), None)
        if theirs is not None and not issubclass(cls, theirs):
            cls = _with(cls, theirs)
        return super().__new__(cls, *arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        # By the name of the class; the process that loads it looks for itself.
        kind = type(self)
        return getattr(sys.modules[kind.__module__], kind.__name__), self.args, self.__dict__


class InvalidTag(_AsInCryptography):
    """A message is not authentic. None of its text was returned."""

    def __init__(self, message: str = "the message is not authentic: its tag is wrong") -> None:
        super().__init__(message)


class AlreadyFinalized(_AsInCryptography):
    """A cipher context was used after its finalize()."""

    def __init__(self, message: str = "the context was finalized before") -> None:
        super().__init__(message)
