"""The package as a whole: its version, and the wheel that pip and `python -m build` make of it, and pip installs.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import importlib
import os
import pathlib
import re
import shutil
import signal
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


def configure(monkeypatch, capsys, native, home):
    """What `python -m gpuaes provider --config` says, with a provider in the folder `native`."""
    program = importlib.import_module("gpuaes.__main__")
    native.mkdir(exist_ok=True)
    (native / "gpuaes.so").touch()
    shutil.copy(TOP / "docs/gpuaes.cnf", native)
    monkeypatch.setattr(program, "NATIVE", native)
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(sys, "argv", ["gpuaes", "provider", "--config"])
    monkeypatch.setenv("XDG_CONFIG_HOME", home)
    program.main()
    return capsys.readouterr().out


def test_configuration_keeps_what_the_user_has_set(monkeypatch, capsys, tmp_path):
    pytest.importorskip("gpuaes", exc_type=ImportError)
    path = tmp_path / "gpuaes/gpuaes.cnf"
    assert configure(monkeypatch, capsys, tmp_path / "old", str(tmp_path)) == f"{path}\n"
    made = path.read_text()
    assert f"[gpuaes_section]\nmodule = {tmp_path}/old/gpuaes.so\nactivate = 1\n" in made
    kept = made.replace("# log = summary\n", "log = summary\n")
    path.write_text(kept)
    path.chmod(0o600)
    configure(monkeypatch, capsys, tmp_path / "old", str(tmp_path))
    assert path.read_text() == kept
    new = tmp_path / os.fsdecode(b"new\xff")
    configure(monkeypatch, capsys, new, str(tmp_path))
    assert path.read_bytes() == kept.encode().replace(b"/old/", b"/new\xff/") and path.stat().st_mode & 0o777 == 0o600
    path.write_text("[other]\nmodule = a\n[gpuaes_section]\nlog = off\n[another]\nmodule = b")
    configure(monkeypatch, capsys, tmp_path / "old", str(tmp_path))
    assert re.findall("^module = (.*)", path.read_text(), re.M) == ["a", f"{tmp_path}/old/gpuaes.so", "b"]
    path.write_text("[other]\n")
    with pytest.raises(SystemExit, match=r"gpuaes.cnf has no line \[gpuaes_section\]: expected one"):
        configure(monkeypatch, capsys, new, str(tmp_path))
    assert [each.name for each in path.parent.iterdir()] == ["gpuaes.cnf"]


def test_configuration_of_a_user_without_a_folder(monkeypatch, capsys, tmp_path):
    pytest.importorskip("gpuaes", exc_type=ImportError)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    with pytest.raises(SystemExit, match="^python -m gpuaes: the configuration cannot be written: Could not determine home"):
        configure(monkeypatch, capsys, tmp_path, "")


def test_command_is_ended_by_a_pipe_without_a_reader(tmp_path):
    pytest.importorskip("gpuaes", exc_type=ImportError)
    (tmp_path / "gpuaes").write_text("#!/bin/sh\nkill -PIPE $$\n")
    (tmp_path / "gpuaes").chmod(0o700)
    lines = (
        "import importlib, pathlib, sys; program = importlib.import_module('gpuaes.__main__');"
        " program.NATIVE = pathlib.Path(sys.argv.pop()); program.main()"
    )
    result = subprocess.run([sys.executable, "-c", lines, "info", str(tmp_path)])
    assert result.returncode == -signal.SIGPIPE
