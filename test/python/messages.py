"""What tests of ciphers compare with: the package cryptography; and ways to run what needs a process of its own.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess
import sys

import pytest

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: E402
from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: E402

KEY_BYTES = (16, 24, 32)


def random_bytes(rng, count):
    return rng.randbytes(count)


def sealed(key, nonce, text, aad=None):
    return AESGCM(key).encrypt(nonce, text, aad)


def context(mode, key, iv, encrypt):
    """A context of cryptography."""
    cipher = Cipher(algorithms.AES(key), modes.ECB() if mode == "ECB" else getattr(modes, mode)(iv))
    return cipher.encryptor() if encrypt else cipher.decryptor()


def run_python(lines, *arguments, **environment):
    """Runs Python with this module's folder on its path, and returns what it says. It must succeed, and complain of
    nothing."""
    folder = os.path.dirname(os.path.abspath(__file__))
    result = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {folder!r})\n{lines}", *map(str, arguments)],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=600,
    )
    assert (result.returncode, result.stderr) == (0, ""), result.stdout + result.stderr
    return result.stdout


class Index:
    """An integer of another type, such as NumPy's."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value
