"""The types of the package, by mypy: right calls have the results that are named, each wrong call is refused, and the
package itself has no error.

PyTorch and JAX are stubs with the methods by which their arrays are known: the real ones take a minute, and Debian's PyTorch
has no types.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("mypy.version", minversion="1.15")

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"

TORCH = """
import enum
from typing import Any, Sequence, overload

class dtype: ...

class device:
    type: str
    index: int
    def __init__(self, name: str) -> None: ...

class Tensor:
    dtype: Any
    def __dlpack__(self, *, stream: Any | None = -1, max_version: tuple[int, int] | None = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[enum.IntEnum, int]: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    @overload
    def view(self, dtype: dtype) -> Tensor: ...
    @overload
    def view(self, size: Sequence[int]) -> Tensor: ...
    @overload
    def view(self, *size: int) -> Tensor: ...
"""

JAX = """
from typing import Any

class Array:
    def __dlpack__(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    def view(self, dtype: str | None = None, type: None = None) -> Array: ...
"""

# What both files begin with.
HEAD = """
from __future__ import annotations
from array import array
from typing import Any
from typing_extensions import assert_type
from numpy.typing import NDArray
import jax
import numpy
import torch
import gpuaes
from gpuaes import Batch, DeviceMemory, base64
from gpuaes.aead import AESGCM
from gpuaes.batch import Pieces
from gpuaes.ciphers import Cipher, algorithms, modes
from gpuaes.formats import checkpoint, cryptotensors, lmcache, parquet
from gpuaes.formats.tink import StreamingAead
from gpuaes.random import Generator
aes = AESGCM(b"")
cipher = Cipher(algorithms.AES(b""), modes.CTR(b"")).encryptor()
generator = Generator(7, torch.device("cuda"))
tink = StreamingAead(b"")
footer = {None: b""}
class Named:
    __cuda_array_interface__: dict[str, Any]
class Given:
    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: return 2, 0
def calls(
    tensor: torch.Tensor, floats: NDArray[numpy.float32], bits: NDArray[numpy.bool_], rows: jax.Array, memory: DeviceMemory,
    named: Named, given: Given
) -> None:
"""

# A call, and the type of its result.
RIGHT = """
aes.encrypt(b"", b"")                                              -> bytes
aes.encrypt(bytearray(), bytearray(), memoryview(b""))             -> bytes
aes.encrypt(b"", array("B"), None, out=None)                       -> bytes
aes.encrypt(floats, floats, floats)                                -> NDArray[Any]
aes.encrypt(bits, bits)                                            -> NDArray[Any]
aes.encrypt(b"", rows)                                             -> jax.Array
aes.encrypt(b"", tensor, b"")                                      -> torch.Tensor
aes.encrypt(b"", memory)                                           -> DeviceMemory
aes.encrypt(b"", named)                                            -> DeviceMemory
aes.decrypt(b"", given)                                            -> DeviceMemory | bytes
aes.encrypt(b"", tensor[:-16], out=tensor)                         -> torch.Tensor
aes.decrypt(b"", b"", out=bytearray())                             -> bytearray
aes.decrypt(tensor, tensor)                                        -> torch.Tensor
aes.encrypt_into(b"", tensor, None, tensor)                        -> int
base64.encode(b"")                                                 -> bytes
base64.decode(tensor)                                              -> torch.Tensor
base64.encode(named)                                               -> DeviceMemory
base64.decode(given)                                               -> DeviceMemory | bytes
cipher.update(b"")                                                 -> bytes
cipher.update(floats)                                              -> NDArray[Any]
cipher.update(tensor)                                              -> torch.Tensor
cipher.update(given)                                               -> DeviceMemory | bytes
cipher.update_into(tensor, tensor)                                 -> int
generator.normal_(tensor, 0, 2.5)                                  -> torch.Tensor
generator.uniform_(floats)                                         -> NDArray[numpy.float32]
generator.random_(array("q"), 0, numpy.int64(7))                   -> array[int]
generator.bernoulli_like(floats)                                   -> NDArray[numpy.float32]
generator.normal_like(rows)                                        -> jax.Array
generator.randint(6)                                               -> int
generator.randint(0, 6, 7, like=tensor)                            -> torch.Tensor
generator.randint(6, size=7).tolist()                              -> list[int]
generator.permutation(7, like=floats)                              -> NDArray[Any]
generator.bytes(7)                                                 -> bytes
Batch("GCM", b"", [tensor], encrypt=True, ivs=[b""]).out           -> list[torch.Tensor]
Batch("GCM", b"", [tensor], encrypt=True, ivs=[b""]).status        -> torch.Tensor
Batch("CTR", [b""], tensor, encrypt=True, offsets=numpy.arange(2)).out   -> torch.Tensor
Batch("ECB", b"", Pieces(tensor, range(2), 16), encrypt=True, out=[tensor]).out   -> list[torch.Tensor]
Batch("ECB", b"", memory, encrypt=True, offsets=[0, 16]).not_authentic()   -> list[int]
Batch("GCM", b"", [named], encrypt=True, ivs=[b""]).out            -> list[DeviceMemory]
Batch("ECB", b"", given, encrypt=True, offsets=[0, 16]).status     -> DeviceMemory
lmcache.encrypt(b"", tensor, [1, 2])                               -> torch.Tensor
lmcache.decrypt([b""], tensor, numpy.arange(2), out=bytearray())   -> bytearray
lmcache.decrypt(b"", given, [1, 2])                                -> DeviceMemory
tink.encrypt(named)                                                -> DeviceMemory
tink.encrypt(tensor, b"")                                          -> torch.Tensor
tink.decrypt(tensor, out=memory)                                   -> DeviceMemory
parquet.decrypt(b"", {None: b"", "a": b""}).file                   -> bytearray
parquet.decrypt(b"", lambda column, metadata: None, like=tensor).file   -> torch.Tensor
parquet.decrypt(b"", footer, like=floats).file                     -> NDArray[Any]
parquet.decrypt(named, footer).file                                -> bytearray | DeviceMemory
parquet.decrypt(b"", footer, like=given).file                      -> DeviceMemory
checkpoint.load_file("", b"", device="cuda")                       -> dict[str, torch.Tensor]
cryptotensors.load_file("", b"", b"", allow_plain=True)["a"]       -> torch.Tensor
gpuaes.random.Generator(b"").state()                               -> bytes
gpuaes.start([0])                                                  -> list[gpuaes.Device]
"""

WRONG = """
AESGCM("text")
AESGCM(None)
AESGCM.generate_key("256")
aes.encrypt(1, b"", None)
aes.encrypt(b"", "text", None)
aes.encrypt(b"", [1], None)
aes.encrypt(b"", None)
aes.encrypt(b"", b"", "name")
aes.encrypt(b"", b"", out=16)
aes.decrypt(b"", tensor, associated="")
aes.decrypt_into(b"", b"", None)
base64.encode("text")
base64.decode(tensor, out="text")
algorithms.AES("text")
modes.CTR(1)
Cipher(b"", modes.ECB())
cipher.update("text")
cipher.update_into(b"", 1)
cipher.reset_nonce("text")
Generator(1.5)
Generator(device=1.5)
generator.normal_("text")
generator.normal_(tensor, "0")
generator.normal_like(b"")
generator.random_(tensor, 0.5)
generator.randint(0.5)
generator.randint(0, 6, 7, like=b"")
generator.randint(0, 6, 7, like=memory)
generator.bytes("7")
generator.set_state("text")
Batch("GCM", "key", [tensor], encrypt=True)
Batch("GCM", b"", ["text"], encrypt=True)
Batch("GCM", b"", tensor, encrypt=True)
Batch("GCM", b"", [tensor])
Batch("GCM", b"", [tensor], encrypt=True, ivs=["text"])
Batch("GCM", b"", [tensor], encrypt=True, out=5)
Batch("GCM", b"", [tensor], encrypt=True).outs
Pieces("text", [0], 1)
Pieces(tensor, [0.5], 1)
lmcache.encrypt(b"", tensor, ["1"])
lmcache.tenant_key("master", "salt")
StreamingAead("text")
tink.encrypt(b"")
tink.encrypt_file(b"", 1)
parquet.decrypt("file.parquet", b"")
parquet.decrypt(b"", {1: b""})
parquet.decrypt(b"", b"", columns=[1])
checkpoint.save_file({"a": 1}, "", b"")
checkpoint.load_file("", "key")
checkpoint.load_file("", b"", package="jax")
cryptotensors.load_file("", b"", b"", plain=True)
gpuaes.start("cuda")
gpuaes.nothing
"""


def run(folder, *arguments):
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), "--show-traceback", *map(str, arguments)]
    paths = f"{PYTHON}:{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": paths, "MYPYPATH": str(folder / "stubs"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=PYTHON, env=environment, capture_output=True, text=True)


def lines_of(text):
    return text.strip().splitlines()


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """What mypy says of right and of wrong calls: {file: {line: message}}."""
    pytest.importorskip("numpy")
    folder = tmp_path_factory.mktemp("types")
    (folder / "stubs").mkdir()
    (folder / "stubs/torch.pyi").write_text(TORCH)
    (folder / "stubs/jax.pyi").write_text(JAX)
    calls = (re.split(r"\s+-> ", line) for line in lines_of(RIGHT))
    files = {"right.py": [f"assert_type({call}, {result})" for call, result in calls], "wrong.py": lines_of(WRONG)}
    for name, lines in files.items():
        (folder / name).write_text(HEAD + "".join(f"    {line}\n" for line in lines))
    result = run(folder, "--strict", *(folder / name for name in files))
    assert result.returncode == 1, result.stdout + result.stderr
    found = {name: {} for name in files}
    for path, line, message in re.findall(r"^(.*?):(\d+): error: (.*)$", result.stdout, re.M):
        found[pathlib.Path(path).name][int(line) - HEAD.count("\n") - 1] = message
    return found


def test_right_calls_have_their_types(checked):
    assert {lines_of(RIGHT)[line] if line >= 0 else line: message for line, message in checked["right.py"].items()} == {}


def test_each_wrong_call_is_refused(checked):
    assert [line for number, line in enumerate(lines_of(WRONG)) if number not in checked["wrong.py"]] == []
    assert min(checked["wrong.py"]) == 0, checked


def test_package_has_no_error(tmp_path):
    result = run(tmp_path, "gpuaes")
    assert result.returncode == 0, result.stdout + result.stderr
