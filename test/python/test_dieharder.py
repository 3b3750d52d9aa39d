"""The bytes of gpuaes.random.Generator, as dieharder judges them: a few tests of some seconds. The seed is fixed, and
with it the verdicts. random_stream.py says how to run all of them, which takes long.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import re
import shutil
import subprocess

import pytest

pytest.importorskip("gpuaes.random", exc_type=ImportError)
import random_stream  # noqa: E402

SEED = "dieharder"
FROM_STANDARD_INPUT = "200"
# dieharder's number of a test, and how many p-values of it are made.
TESTS = {"diehard_birthdays": (0, 8), "diehard_count_1s_str": (8, 4), "diehard_runs": (15, 8), "sts_monobit": (100, 8)}


def verdicts(test, pieces):
    """Of a few p-values dieharder calls some WEAK; it says FAILED of one in 500,000 of a good generator."""
    number, count = TESTS[test]
    command = ["dieharder", "-g", FROM_STANDARD_INPUT, "-d", str(number), "-p", str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=False) as process:
        try:
            for piece in pieces:
                process.stdin.write(piece)
                process.stdin.flush()
        except BrokenPipeError:
            pass
        said = process.stdout.read().decode()
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
    found = re.findall(rf"^ *{test}\|.*\| *(PASSED|WEAK|FAILED) *$", said, re.M)
    assert found, said
    return found


@pytest.fixture(autouse=True)
def installed():
    if not shutil.which("dieharder"):
        pytest.skip("dieharder is not installed")


@pytest.mark.parametrize("where", ["cpu", "device"])
@pytest.mark.parametrize("test", TESTS)
def test_bytes_look_random(test, where, request):
    if where == "device":
        request.getfixturevalue("device_array")  # skips where there is none
    assert "FAILED" not in verdicts(test, random_stream.pieces(where, SEED))


def test_bytes_that_lack_a_bit_do_not():
    """One bit in 16 is always 0."""

    def damaged():
        for piece in random_stream.pieces("cpu", SEED):
            changed = bytearray(piece)
            changed[::2] = bytes(byte & 0x7F for byte in piece[::2])
            yield changed

    assert "FAILED" in verdicts("sts_monobit", damaged())
