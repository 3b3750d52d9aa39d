"""What tests of the Python package share.

    test/python/python.t        runs all of them, and says what of the environment they need
    GPUAES_TEST_SEED=N          the random cases of an earlier run

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import importlib.util
import os
import random
import secrets
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import device_arrays  # noqa: E402

SEED = int(os.environ.get("GPUAES_TEST_SEED") or secrets.randbits(32))
pytest_plugins = ["tap"]


def pytest_configure(config):
    """Makes deprecation warnings of the package errors, since a later NumPy refuses what an earlier one warns of. Gives a
    launch ten minutes, since the emulator may take longer than a device may hang, where all cores are busy."""
    config.addinivalue_line("filterwarnings", r"error::DeprecationWarning:gpuaes\.")
    try:
        from gpuaes import _library
    except ImportError:
        return  # each test says so
    settings = _library.Settings(timeout_ms=600_000, idle_seconds=_library.IDLE_DEFAULT)
    _library.lib.gpuaes_configure(ctypes.byref(settings))


def pytest_report_header():
    return f"GPUAES_TEST_SEED={SEED}"


@pytest.fixture
def rng(request):
    """Random numbers that depend on the seed and on the name of the test alone."""
    return random.Random(f"{SEED} {request.node.nodeid}")


@pytest.fixture
def device_array():
    """device_array(DATA, ...): a copy of bytes or of a NumPy array in device memory, which shows
    itself by __cuda_array_interface__; see device_arrays.py. Skips where there is no driver."""
    _need_driver()
    return device_arrays.DeviceArray.of


@pytest.fixture
def dlpack_array():
    """The same, which shows itself by DLPack."""
    _need_driver()
    return device_arrays.DlpackArray.of


@pytest.fixture
def cuda_stream():
    """A stream of its own, that waits for no other: its number."""
    _need_driver()
    with device_arrays.new_stream() as stream:
        yield stream


@pytest.fixture
def everything_on_device(monkeypatch):
    """Sends memory of the CPU to the device as well, however small; an error where there is none."""
    monkeypatch.setenv("GPUAES_POLICY", "gpu")
    monkeypatch.setenv("GPUAES_MIN_BYTES", "0")


@pytest.fixture
def stand_in_path():
    """Folders for PYTHONPATH with which a program finds a cupy: the stand-in that works on the emulator's memory, or
    none on a card, where CuPy must be installed."""
    _need_driver()
    if os.environ.get("GPUAES_TEST_DRIVER"):
        pytest.importorskip("numpy")
        here = os.path.dirname(__file__)
        return [os.path.join(here, "..", "support", "cupy_stub"), here]
    if not importlib.util.find_spec("cupy"):
        pytest.skip("CuPy is not installed")
    return []


@pytest.fixture
def cupy(monkeypatch):
    """CuPy on a card, and on the emulator its stand-in, in this process."""
    _need_driver()
    if not os.environ.get("GPUAES_TEST_DRIVER"):
        return pytest.importorskip("cupy")
    path = os.path.join(os.path.dirname(__file__), "..", "support", "cupy_stub", "cupy.py")
    spec = importlib.util.spec_from_file_location("cupy", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def _need_driver():
    try:
        device_arrays.driver()
    except (OSError, device_arrays.DriverError) as error:
        pytest.skip(f"no device: {error}")
