"""Runs the command gpuaes, and says where what came with the package lies.

    python -m gpuaes COMMAND...           the command, such as `doctor`; see gpuaes(1)
    python -m gpuaes provider --config    makes a configuration for OpenSSL with the provider, and prints its path
    python -m gpuaes --help [PAGE]        this text and gpuaes(1), or another page: provider-gpuaes, libgpuaes

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import NoReturn

from ._library import NATIVE
from .formats._files import replacing

_PAGES = {"gpuaes": "gpuaes.1", "provider-gpuaes": "provider-gpuaes.7", "libgpuaes": "libgpuaes.3"}


def _fail(text: str) -> NoReturn:
    sys.exit(f"python -m gpuaes: {text}")


def _packed(name: str) -> Path:
    """A file that a wheel has besides the package."""
    path = NATIVE / name
    if not path.exists():
        _fail(f"there is no {path}: this package came without command, provider and manual, which are of the system here")
    return path


def _folder() -> Path:
    """Where a configuration may lie: in the virtual environment, with which it goes, or with the user's."""
    if sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix) / "etc"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "gpuaes"


def _configure() -> Path:
    """Writes the sample configuration with the path of the provider. Of one that is there, only that line is changed."""
    module = re.sub(r"[\\#$\"'`]", r"\\\g<0>", str(_packed("gpuaes.so")))
    path = _folder() / "gpuaes.cnf"
    try:
        old = os.fsdecode(path.read_bytes())
    except FileNotFoundError:
        old = ""
    text = old or _packed("gpuaes.cnf").read_text()
    section = re.search(r"^\[\s*gpuaes_section\s*\].*\n", text, re.M)
    if not section:
        _fail(f"{path} has no line [gpuaes_section]: expected one, or no such file")
    # Its line with the path, or the place where it begins.
    found = re.compile(r"^[ \t]*(?:module[ \t]*=.*(?:\n|\Z)|\[)", re.M).search(text, section.end())
    begin, end = found.span() if found and "=" in found[0] else (section.end(), section.end())
    text = f"{text[:begin]}module = {module}\n{text[end:]}"
    if text != old:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:  # programs that start meanwhile never see a part of it
            file.write(os.fsencode(text))
    return path


def main() -> None:
    """Does what the arguments of the process say."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        name = words[1] if len(words) > 1 else "gpuaes"
        if name not in _PAGES:
            _fail(f"the page is {name!r}: expected {', '.join(_PAGES)}")
        if len(words) < 2:
            print((__doc__ or "").partition("\n\nCopyright")[0], end="\n\n")
        print(_packed(f"{_PAGES[name]}.txt").read_text(), end="")
    elif words == ["provider", "--config"]:
        try:
            sys.stdout.buffer.write(os.fsencode(_configure()) + b"\n")
        except (OSError, RuntimeError, ValueError) as error:
            _fail(f"the configuration cannot be written: {error}")
    elif words[0] == "provider":
        _fail(f"provider has the arguments {words[1:]}: expected --config")
    else:
        command = _packed("gpuaes")
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and so would the command
        os.execv(command, ["gpuaes", *words])


if __name__ == "__main__":
    main()
