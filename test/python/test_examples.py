"""docs/examples/*.py: they run, and refuse what was damaged.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import types

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("gpuaes", exc_type=ImportError)

TOP = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = TOP / "docs" / "examples"
sys.path.insert(0, str(EXAMPLES))

import checkpoint  # noqa: E402
import conftest  # noqa: E402


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


# ---- opacus_secure.py ---------------------------------------------------------------------

@pytest.fixture
def secure():
    """The example, which imports Opacus only where it is used, and a generator for it."""
    random = pytest.importorskip("gpuaes.random", exc_type=ImportError)
    import opacus_secure

    return opacus_secure, random.Generator(conftest.SEED)


def test_noise_is_normal(secure):
    example, generator = secure
    count, std = 100_000, 3.0
    noise = example.secure_noise(generator, std, numpy.zeros((100, count // 100), "f4"), numpy)
    assert noise.shape == (100, 1000) and noise.dtype == numpy.float32
    # Six standard deviations of the mean and of the variance of so many normal numbers.
    assert abs(noise.mean()) < 6 * std / count**0.5
    assert abs(noise.var() / std**2 - 1) < 6 * (2 / count) ** 0.5
    assert abs(numpy.mean(noise.ravel()[1:] * noise.ravel()[:-1])) < 6 * std**2 / count**0.5
    assert not numpy.array_equal(noise, example.secure_noise(generator, std, noise, numpy))


def test_batches_are_poisson(secure):
    example, generator = secure
    count, rate, steps = 1000, 0.1, 200
    batches = list(example.secure_batches(generator, count, rate, steps))
    assert len(batches) == steps and len({len(batch) for batch in batches}) > 10
    assert all(batch == sorted(set(batch)) and 0 <= batch[0] and batch[-1] < count for batch in batches)
    expected, deviation = count * rate * steps, (count * rate * (1 - rate) * steps) ** 0.5
    assert abs(sum(map(len, batches)) - expected) < 6 * deviation


def test_opacus_gets_them(secure, monkeypatch):
    """With modules that are made as Opacus' are, and NumPy in the place of PyTorch."""
    example, generator = secure
    modules = {
        name: types.ModuleType(name)
        for name in ("opacus", "opacus.optimizers", "opacus.optimizers.one", "opacus.optimizers.two", "opacus.utils",
                     "opacus.utils.uniform_sampler", "torch")
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)

    class Sampler:
        num_samples, sample_rate = 500, 0.5

        def __len__(self):
            return 7

        def __iter__(self):
            return iter(())

    modules["opacus"].__version__, modules["opacus"].optimizers = "1.6", modules["opacus.optimizers"]
    modules["opacus.utils.uniform_sampler"].UniformWithReplacementSampler = Sampler
    modules["torch"].Tensor = type("Tensor", (), {})
    modules["torch"].zeros_like, modules["torch"].empty_like = numpy.zeros_like, numpy.empty_like
    with pytest.raises(RuntimeError, match="Opacus 1.6 is not made as"):
        example.use_in_opacus(generator)
    for name in "one", "two":
        modules[f"opacus.optimizers.{name}"]._generate_noise = None
    example.use_in_opacus(generator)
    like = numpy.zeros(1000, "f4")
    for name in "one", "two":
        generate_noise = modules[f"opacus.optimizers.{name}"]._generate_noise
        assert not generate_noise(std=0, reference=like, generator=None, secure_mode=False).any()
        assert 1.5 < generate_noise(std=2.0, reference=like, generator=None, secure_mode=False).std() < 2.5
    batches = list(Sampler())
    assert len(batches) == 7 and all(150 < len(batch) < 350 for batch in batches)


def test_opacus_trains(secure):
    pytest.importorskip("torch")
    pytest.importorskip("opacus")
    status, said = run("opacus_secure.py", 20)
    assert status == 0 and "epsilon" in said, said
