"""docs/examples/*.py: they run, and refuse what was damaged.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import struct
import subprocess
import sys

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("gpuaes", exc_type=ImportError)

TOP = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = TOP / "docs" / "examples"
sys.path.insert(0, str(EXAMPLES))

import checkpoint  # noqa: E402


def run(name, *arguments, path=()):
    """Runs an example: its status and what it said."""
    environment = {**os.environ, "PYTHONPATH": ":".join([*map(str, path), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


# ---- checkpoint.py ----------------------------------------------------------------------


@pytest.fixture
def key(rng):
    return rng.randbytes(32)


@pytest.fixture
def arrays(rng):
    """Of every type that NumPy has, one without elements, and one of a single number."""
    values = {}
    for number, kind in enumerate(checkpoint.Numpy().types.values()):
        shape = [(), (0, 3), (7,), (16, 5), (2, 3, 4)][number % 5]
        data = rng.randbytes(kind.itemsize * int(numpy.prod(shape)))
        if kind == bool:
            data = bytes(byte & 1 for byte in data)
        values[f"layer.{number}.weight"] = numpy.frombuffer(data, kind).reshape(shape)
    values["large"] = numpy.frombuffer(rng.randbytes(200_000), "f4")
    return values


def same(left, right):
    return left.keys() == right.keys() and all(
        left[n].dtype == right[n].dtype and left[n].shape == right[n].shape and left[n].tobytes() == right[n].tobytes()
        for n in left
    )


@pytest.mark.parametrize("where", ["host", "device"])
def test_checkpoint_comes_back(where, arrays, key, tmp_path, request):
    if where == "device":
        request.getfixturevalue("everything_on_device")
    package, path = checkpoint.Numpy(), tmp_path / "sealed"
    checkpoint.save(path, arrays, key, package)
    assert same(checkpoint.load(path, key, package), arrays)
    data = path.read_bytes()
    assert arrays["large"].tobytes() not in data
    checkpoint.save(path, arrays, key, package)
    assert path.read_bytes() != data, "a second file has another salt, and so another key"


def test_checkpoint_is_a_safetensors_file(arrays, key, tmp_path):
    checkpoint.save(tmp_path / "sealed", arrays, key, checkpoint.Numpy())
    file = checkpoint.File(tmp_path / "sealed")
    assert all(entry["dtype"] == "U8" for entry in file.entries.values())
    safetensors = pytest.importorskip("safetensors.numpy")
    found = safetensors.load_file(tmp_path / "sealed")
    assert found["large"].tobytes() == bytes(file.raw("large"))
    safetensors.save_file(arrays, tmp_path / "plain")
    assert same(checkpoint.read_plain(tmp_path / "plain", checkpoint.Numpy()), arrays)


def test_checkpoint_program_goes_both_ways(arrays, key, tmp_path):
    (tmp_path / "key").write_bytes(key)
    checkpoint.write_plain(tmp_path / "plain", arrays, checkpoint.Numpy())
    for command, source, target in ("encrypt", "plain", "sealed"), ("decrypt", "sealed", "again"):
        assert run("checkpoint.py", command, tmp_path / "key", tmp_path / source, tmp_path / target) == (0, "")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "plain").read_bytes()
    (tmp_path / "key").write_bytes(key[:31] + bytes([key[31] ^ 1]))
    refused = run("checkpoint.py", "decrypt", tmp_path / "key", tmp_path / "sealed", tmp_path / "again")
    assert refused == (1, f"checkpoint: {tmp_path / 'sealed'}: header: not authentic: another key, or changed\n")
    (tmp_path / "key").write_bytes(key[:31])
    refused = run("checkpoint.py", "decrypt", tmp_path / "key", tmp_path / "sealed", tmp_path / "again")
    assert refused == (1, "checkpoint: the key has 31 bytes: expected 32\n")


def test_checkpoint_names_what_was_damaged(arrays, key, tmp_path, rng):
    package, path = checkpoint.Numpy(), tmp_path / "sealed"
    checkpoint.save(path, arrays, key, package)
    whole = path.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8:8 + length])

    def refused(data):
        path.write_bytes(data)
        with pytest.raises(checkpoint.Refused) as error:
            checkpoint.load(path, key, package)
        return str(error.value)

    def flipped(at):
        return whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:]

    for name in arrays:
        begin, end = (8 + length + at for at in header[name]["data_offsets"])
        for at in {begin, rng.randrange(begin, end), end - 1}:
            assert refused(flipped(at)) == f"tensor {name}: not authentic: changed"
    # Two tensors of one size in each other's place.
    checkpoint.save(path, {"a": arrays["large"], "b": arrays["large"]}, key, package)
    both = path.read_bytes()
    size = arrays["large"].nbytes + checkpoint.TAG
    assert refused(both[:-2 * size] + both[-size:] + both[-2 * size:-size]) == "tensor a: not authentic: changed"

    for at in rng.sample(range(8, 8 + length), 50):
        assert refused(flipped(at)), "every byte of the header counts"
    salt = whole.index(b'"salt":"') + 8
    other = whole[:salt] + (b"0" if whole[salt:salt + 1] != b"0" else b"1") + whole[salt + 1:]
    assert refused(other) == "header: not authentic: another key, or changed"
    assert refused(flipped(8 + length + 3)) == "header: not authentic: another key, or changed"

    assert refused(b"").startswith("truncated, or no safetensors file")
    assert refused(b"\xff" * 100).startswith("truncated, or no safetensors file")
    assert refused(whole[:-1]) == "tensor large: truncated, or its data lie elsewhere"
    assert refused(whole + b"\0") == "1 bytes belong to no tensor"
    assert refused(struct.pack("<Q", 2) + b"[]").startswith("header: not one of safetensors")
    checkpoint.write_plain(path, arrays, package)
    assert refused(path.read_bytes()) == "header: it is not encrypted, or damaged"


def test_checkpoint_refuses_what_it_cannot_write(key, tmp_path):
    package = checkpoint.Numpy()
    with pytest.raises(ValueError, match="tensor z has the type complex64"):
        checkpoint.save(tmp_path / "sealed", {"z": numpy.zeros(1, "c8")}, key, package)
    with pytest.raises(ValueError, match="'gpuaes.header': that is taken"):
        checkpoint.save(tmp_path / "sealed", {checkpoint.HEADER: numpy.zeros(1, "f4")}, key, package)
    assert not list(tmp_path.iterdir())


def test_checkpoint_of_tensors(key, tmp_path, rng):
    torch = pytest.importorskip("torch")
    package = checkpoint.Torch("cuda" if torch.cuda.is_available() else "cpu")
    values = {}
    for number, (name, kind) in enumerate(package.types.items()):
        data = bytearray(rng.randbytes(checkpoint.SIZES[name] * 60))
        tensor = torch.frombuffer(bytearray(byte & 1 for byte in data) if kind == torch.bool else data, dtype=kind)
        values[name] = tensor.reshape(3, 20).to(package.device)
    values["gaps"] = values["F32"].t()
    checkpoint.save(tmp_path / "sealed", values, key, package)
    loaded = checkpoint.load(tmp_path / "sealed", key, package)
    assert loaded.keys() == values.keys()
    for name, tensor in values.items():
        assert loaded[name].dtype == tensor.dtype and loaded[name].device == tensor.device
        assert bytes(package.to_host(package.bytes_of(loaded[name]))) == bytes(package.to_host(package.bytes_of(tensor)))


# ---- encrypt_cupy.py ----------------------------------------------------------------------


def test_encrypt_cupy(stand_in_path):
    status, said = run("encrypt_cupy.py", 1, path=stand_in_path)
    assert (status, said) == (0, "another header is refused\nthe round trips are right, and the CPU agrees\n")
