"""Files that take the place of others once they are complete.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from typing import Any, Iterator

from .._types import AnyPath


@contextlib.contextmanager
def replacing(path: AnyPath, buffering: int = -1) -> Iterator[Any]:
    """A file that takes the place of `path`, or of the file that a symbolic link there names, once it is complete. Until
    then nobody can foresee its name, and nobody else can open it. Its mode is then that of the old file, or what the
    umask leaves. An exception leaves `path` as it was. Raises ValueError where that is no regular file."""
    path = given = os.fsdecode(path)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG | 0o666 & ~_umask()
    if not stat.S_ISREG(mode):
        raise ValueError(f"{path} is no regular file")
    path = os.path.realpath(path)
    new = os.path.join(os.path.dirname(path), f".gpuaes-{secrets.token_hex(16)}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        error.filename = given  # the caller knows nothing of the other name
        raise
    try:
        with open(descriptor, "wb", buffering) as file:
            yield file
            file.flush()
            os.fchmod(descriptor, mode & 0o777)
            os.fsync(descriptor)
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise


def _umask() -> int:
    """That of the process: os.umask() would change it for all threads to read it. The strictest where there is no /proc."""
    found = None
    with contextlib.suppress(OSError), open("/proc/self/status", encoding="utf-8", errors="replace") as status:
        found = re.search(r"^Umask:\s*([0-7]+)", status.read(), re.M)
    return int(found[1], 8) if found else 0o077
