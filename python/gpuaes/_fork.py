"""Forked processes: telling one from its parent, and locks that a child finds free.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import mmap
import os
import weakref
from typing import Any, Callable

__all__ = ["generation", "lock_of"]

_MADV_WIPEONFORK = 18  # of Linux 4.14

# 1 in the process that wrote it. In a child the kernel has wiped it: also where C code has forked, which runs no handler
# of Python, and where the child, in a PID namespace of its own, has the number of its parent.
_page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
with contextlib.suppress(OSError):
    _page.madvise(_MADV_WIPEONFORK)
_page[0] = 1
_generation = 0

_lock_makers: weakref.WeakKeyDictionary[Any, Callable[[], Any]] = weakref.WeakKeyDictionary()


def generation() -> int:
    """A number that a process does not have in common with its parent."""
    global _generation
    if not _page[0]:
        _generation += 1
        _page[0] = 1
    return _generation


def lock_of(holder: Any, make: Callable[[], Any]) -> Any:
    """Returns a lock for holder._lock, which a forked child replaces: the thread that held it is not there."""
    _lock_makers[holder] = make
    return make()


def _after_fork() -> None:
    _page[0] = 0  # an older kernel has not done that
    for holder, make in list(_lock_makers.items()):
        holder._lock = make()


os.register_at_fork(after_in_child=_after_fork)
