"""Each block of Python in these pages is a program that runs, and docs/python.md has all public names.

What it imports of CuPy is the stand-in on the emulator (see conftest.py); a block that wants another package skips
where that is not installed.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import importlib
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

gpuaes = pytest.importorskip("gpuaes", exc_type=ImportError)

TOP = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = TOP / "docs" / "examples"
STAND_INS = {"cupy"}


def blocks():
    for page in "docs/python.md", "docs/formats-lmcache.md", "python/README.md":
        text = (TOP / page).read_text(encoding="utf-8")
        for found in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S):
            line = text.count("\n", 0, found.start()) + 2
            yield pytest.param(line, found[1], id=f"{page}:{line}".replace("/", "."))


def test_there_are_blocks():
    assert len(list(blocks())) >= 8 and any("lmcache" in block.id for block in blocks())


def test_public_names_are_described():
    page = (TOP / "docs/python.md").read_text(encoding="utf-8")
    names = [*gpuaes.__all__, *vars(gpuaes.random.Generator), *vars(gpuaes.Batch)]
    assert [name for name in names if name[0] != "_" and not re.search(rf"\b{name}\b", page)] == []


@pytest.mark.parametrize("line, block", list(blocks()))
def test_block_runs(line, block, request, tmp_path):
    wanted = set(re.findall(r"^(?:import|from) (\w+)", block, re.M)) - {"gpuaes", "opacus_secure"}
    folders = request.getfixturevalue("stand_in_path") if wanted & STAND_INS else []
    for package in wanted - STAND_INS:
        if not importlib.util.find_spec(package):
            pytest.skip(f"{package} of Python is not installed")
    if 'device="cuda"' in block and not importlib.import_module("torch").cuda.is_available():
        pytest.skip("PyTorch has no GPU here")
    program = tmp_path / "block.py"
    program.write_text("\n" * (line - 1) + block, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": ":".join([*folders, str(EXAMPLES), os.environ.get("PYTHONPATH", "")])}
    result = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
