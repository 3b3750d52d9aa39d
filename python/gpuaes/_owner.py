"""Objects that own memory, a key or a handle: there is one of each, and nothing works with it once it is closed. What
repr() says of one has no key, no text and no address.

A finalizer may run while the object can still be reached: from another object of a reference cycle that is collected
with it. So what an object has given up raises ValueError, and is never used again.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from typing import Callable, NoReturn

__all__ = ["Owner", "Unique"]


class Unique:
    """Refuses copy.copy(), copy.deepcopy() and pickle, and shows itself by _facts()."""

    __slots__ = ("__weakref__",)

    # What the caller is to do instead.
    _instead = "make another"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self._name()} can be neither copied nor pickled: {self._instead}")

    def __repr__(self) -> str:
        return f"<{self._name()}: {self._facts() if self._is_open() else 'closed'}>"

    def _facts(self) -> str:
        """What repr() says of an object that is open."""
        return "open"

    def _is_open(self) -> bool:
        return True

    def _name(self) -> str:
        return f"{type(self).__module__}.{type(self).__qualname__}"


class Owner(Unique):
    """Gives up what it owns once: by close(), or when it is collected.

    A subclass calls __init__() as soon as there is something to give up, gives it up in _release(), and calls
    check_open() before each use.
    """

    __slots__ = ("_owned",)

    _owned: list[None]

    def __init__(self) -> None:
        self._owned = [None]  # Of several threads that close the object, one gets the item.

    def _release(self) -> None:
        raise NotImplementedError

    def _is_open(self) -> bool:
        return bool(getattr(self, "_owned", None))  # none where __init__() has failed

    def check_open(self) -> None:
        """Raises ValueError once the object is closed."""
        if not self._owned:
            raise ValueError(f"{self._name()} was closed, or is being collected: what it held is gone")

    def close(self) -> None:
        """Gives up what the object owns. The object cannot be used any more; closing it again does nothing."""
        try:
            self._owned.pop()
        except (AttributeError, IndexError):  # __init__() was not called, or the object is closed
            return
        self._release()

    def __del__(self, _ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not _ending():
            self.close()
