"""The package's exceptions, with and without the package cryptography.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import pickle
import subprocess
import sys

import pytest

gpuaes = pytest.importorskip("gpuaes", exc_type=ImportError)
from gpuaes.aead import AESGCM  # noqa: E402
from gpuaes.ciphers import AES, ECB, Cipher  # noqa: E402
from gpuaes.formats import parquet  # noqa: E402


def finish_twice():
    encryptor = Cipher(AES(bytes(16)), ECB()).encryptor()
    encryptor.finalize()
    encryptor.finalize()


CASES = {"InvalidTag": lambda: AESGCM(bytes(16)).decrypt(bytes(12), bytes(16)), "AlreadyFinalized": finish_twice}


@pytest.mark.parametrize("name", CASES)
def test_handlers_of_cryptography_catch_them(name):
    theirs = getattr(pytest.importorskip("cryptography.exceptions"), name)
    with pytest.raises(theirs) as caught:
        CASES[name]()
    error, ours = caught.value, getattr(gpuaes, name)
    assert isinstance(error, ours) and str(error) and type(error).__name__ == name
    loaded = pickle.loads(pickle.dumps(error))
    assert isinstance(loaded, ours) and isinstance(loaded, theirs) and str(loaded) == str(error)
    assert type(error) is type(ours("of that kind"))


def test_handlers_of_cryptography_catch_classes_of_formats():
    theirs = pytest.importorskip("cryptography.exceptions").InvalidTag
    with pytest.raises(theirs) as caught:
        parquet.decrypt(b"PAR1" + bytes(20) + b"PARE", bytes(16))
    error = caught.value
    error.place = 3
    assert isinstance(error, parquet.RefusedFile) and isinstance(error, ValueError)
    loaded = pickle.loads(pickle.dumps(error))
    assert type(loaded) is type(error) and str(loaded) == str(error) and loaded.place == 3


def test_cryptography_is_not_imported():
    program = """
import sys, pickle, gpuaes
from gpuaes.aead import AESGCM
try:
    AESGCM(bytes(16)).decrypt(bytes(12), bytes(16))
except gpuaes.InvalidTag as error:
    assert type(error) is gpuaes.InvalidTag and str(pickle.loads(pickle.dumps(error))) == str(error)
    print("caught", [name for name in sys.modules if name.startswith("cryptography")])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout == "caught []\n", result.stderr
