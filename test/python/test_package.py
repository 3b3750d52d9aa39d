"""The package as a whole: its version, and the wheel that pip and `python -m build` make of it, and pip installs.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
SOURCE = TOP / "python"


def release():
    """The version of configure.ac."""
    return re.search(r"^AC_INIT\(\[gpuaes\], \[(.*?)\]\)", (TOP / "configure.ac").read_text(), re.M)[1]


def run(*command, **environment):
    result = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def can_import(module):
    """In a process of its own, since setuptools changes what others import."""
    lines = f"import importlib; importlib.import_module({module!r})"
    return subprocess.run([sys.executable, "-c", lines], capture_output=True).returncode == 0


@pytest.fixture(scope="module", params=["pip", "build"])
def wheel(tmp_path_factory, request):
    """A wheel of a copy of the sources, in which the build leaves its own files; build makes it of its sdist. Nothing is
    fetched."""
    for package, module in ("pip 21", "pip"), ("setuptools 77", "setuptools.config.pyprojecttoml"):
        if not can_import(module):
            pytest.skip(f"{package} or newer of Python is not installed")
    if not can_import("setuptools.command.bdist_wheel") and not can_import("wheel"):
        pytest.skip("wheel of Python is not installed, and setuptools is older than 70.1")
    if request.param == "build" and not can_import("build.__main__"):
        pytest.skip("build of Python is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "python"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    if request.param == "build":
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source))
    else:
        run(
            sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
            "--wheel-dir", str(folder), str(source),
        )
    (made,) = folder.glob("*.whl")
    return made


def test_version_is_that_of_the_release():
    gpuaes = pytest.importorskip("gpuaes", exc_type=ImportError)
    assert gpuaes.__version__ == release()


def test_wheel_is_pure_and_whole(wheel):
    assert wheel.name == f"gpuaes-{release()}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"gpuaes-{release()}.dist-info/METADATA").decode()
        tags = archive.read(f"gpuaes-{release()}.dist-info/WHEEL").decode()
    modules = {str(path.relative_to(SOURCE)) for path in (SOURCE / "gpuaes").rglob("*.py")} | {"gpuaes/py.typed"}
    assert {name for name in names if not name.startswith("gpuaes-")} == modules
    assert "Root-Is-Purelib: true" in tags and not any(".so" in name for name in names)
    assert any(name.endswith("/LICENSE") for name in names)
    assert "Requires-Python: >=3.10" in metadata and "License-Expression: Apache-2.0" in metadata
    assert all("extra ==" in line for line in metadata.splitlines() if line.startswith("Requires-Dist"))


def test_installed_wheel_is_what_gets_imported(wheel, tmp_path):
    run(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile",
        "--target", str(tmp_path), str(wheel),
    )
    lines = "import gpuaes; print(gpuaes.__file__, gpuaes.__version__)"
    said = run(sys.executable, "-c", lines, PYTHONPATH=str(tmp_path))
    assert said.split() == [str(tmp_path / "gpuaes" / "__init__.py"), release()]


def test_line_of_the_page_installs(tmp_path):
    """Nothing is fetched: setuptools is that of the tests."""
    for module in "ensurepip", "setuptools.command.bdist_wheel":
        if not can_import(module):
            pytest.skip(f"{module} of Python is not installed (Debian: python3-venv; PyPI: setuptools 70.1)")
    (line,) = re.findall(r"^(python3 -m venv .*?) +# after", (TOP / "docs" / "python.md").read_text(), re.M)
    shutil.copytree(SOURCE, tmp_path / "python", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    run("sh", "-ec", f"cd '{tmp_path}' && {line}", PIP_NO_INDEX="1", PIP_NO_BUILD_ISOLATION="0")
    # -I: without PYTHONPATH.
    said = run(str(tmp_path / "venv/bin/python3"), "-Ic", "import gpuaes; print(gpuaes.__file__)")
    assert said.startswith(str(tmp_path / "venv"))


def test_library_that_is_missing_is_named():
    pytest.importorskip("gpuaes", exc_type=ImportError)
    result = subprocess.run(
        [sys.executable, "-c", "import gpuaes"],
        env={**os.environ, "GPUAES_LIBRARY": "/nowhere/libgpuaes.so.1"}, capture_output=True, text=True,
    )
    assert result.returncode == 1
    assert re.search(r"^ImportError: .*/nowhere/libgpuaes\.so\.1", result.stderr, re.M)
