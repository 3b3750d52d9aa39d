"""docs/examples/*.py: they run, and refuse what was damaged.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import subprocess
import sys
import types

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("gpuaes", exc_type=ImportError)

TOP = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = TOP / "docs" / "examples"
sys.path.insert(0, str(EXAMPLES))

import conftest  # noqa: E402


def run(name, *arguments, path=()):
    """Runs an example: its status and what it said."""
    environment = {**os.environ, "PYTHONPATH": ":".join([*map(str, path), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


# ---- encrypt_cupy.py ----------------------------------------------------------------------


def test_encrypt_cupy(stand_in_path):
    status, said = run("encrypt_cupy.py", 1, path=stand_in_path)
    assert (status, said) == (0, "another header is refused\nthe round trips are right, and the CPU agrees\n")


@pytest.mark.parametrize("number", ["x", "0", "-1", "1048577", ""])
def test_encrypt_cupy_refuses_what_is_no_number_of_mebibytes(number, stand_in_path):
    said = f"encrypt_cupy.py: {number}: expected a number of MiB, from 1 to 1048576\n"
    assert run("encrypt_cupy.py", number, path=stand_in_path) == (1, said)


# ---- opacus_secure.py ---------------------------------------------------------------------

@pytest.fixture
def secure():
    """The example, which imports Opacus only where it is used, and a generator for it."""
    random = pytest.importorskip("gpuaes.random", exc_type=ImportError)
    import opacus_secure

    return opacus_secure, random.Generator(conftest.SEED)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_noise_is_normal(dtype, secure):
    example, generator = secure
    count, std = 100_000, 3.0
    noise = example.secure_noise(generator, std, numpy.zeros((100, count // 100), dtype), numpy)
    assert noise.shape == (100, 1000) and noise.dtype == dtype
    # Six standard deviations of the mean and of the variance of so many normal numbers.
    assert abs(noise.mean()) < 6 * std / count**0.5
    assert abs(noise.var() / std**2 - 1) < 6 * (2 / count) ** 0.5
    assert abs(numpy.mean(noise.ravel()[1:] * noise.ravel()[:-1])) < 6 * std**2 / count**0.5
    assert not numpy.array_equal(noise, example.secure_noise(generator, std, noise, numpy))


def test_noise_has_enough_addends(secure):
    """By Opacus' own formula, as docs/python.md shows it."""
    example, _ = secure
    page = (TOP / "docs" / "python.md").read_text(encoding="utf-8")
    for dtype, shares in example.ADDENDS.items():
        bits = numpy.finfo(dtype).nmant + 1
        assert bits * (len(shares) - 1) >= 128 and sum(share * share for share in shares) == 1
        assert f"| {dtype} | {bits} | {len(shares)} | {bits * (len(shares) - 1)} |\n" in page

        class Counted:
            stds = []

            def normal_(self, array, mean, std):
                self.stds.append(std)
                array[...] = 1
                return array

        noise = example.secure_noise(Counted(), 8.0, numpy.zeros(3, dtype), numpy)
        assert Counted.stds == [8 * share for share in shares] and noise.tolist() == [len(shares)] * 3


def test_noise_of_few_bits_is_refused(secure):
    example, generator = secure
    with pytest.raises(TypeError, match="^noise for gradients of float16: expected float64 or float32, "):
        example.secure_noise(generator, 1.0, numpy.zeros(3, "f2"), numpy)
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="^noise for gradients of bfloat16: expected float64 or float32, "):
        example.secure_noise(generator, 1.0, torch.zeros(3, dtype=torch.bfloat16), torch)
    noise = example.secure_noise(generator, 1.0, torch.zeros(1000), torch)
    assert noise.dtype == torch.float32 and 0.8 < noise.std() < 1.2


def test_noise_is_added_to_half_gradients_before_they_are_rounded(secure):
    example, generator = secure

    class Small:
        def normal_(self, array, mean, std):
            array[...] = 2**-12
            return array

    gradient = numpy.ones(5, "f2")
    example.add_noise(Small(), 1.0, gradient, numpy)
    assert (gradient == numpy.float16(1 + 7 * 2**-12)).all() and (gradient > 1 + 2**-10).all()
    gradient = numpy.zeros(100_000, "f2")
    example.add_noise(generator, 3.0, gradient, numpy)
    assert abs(gradient.astype("f8").std() / 3 - 1) < 0.02


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
    modules["torch"].float16, modules["torch"].bfloat16, modules["torch"].float32 = numpy.float16, None, numpy.float32
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
    half = numpy.zeros(1000, "f2")
    half += generate_noise(std=2.0, reference=half, generator=None, secure_mode=False)
    assert half.dtype == numpy.float16 and 1.5 < half.astype("f4").std() < 2.5
    batches = list(Sampler())
    assert len(batches) == 7 and all(150 < len(batch) < 350 for batch in batches)


def test_opacus_trains(secure):
    pytest.importorskip("torch")
    pytest.importorskip("opacus")
    status, said = run("opacus_secure.py", 20)
    assert status == 0 and "epsilon" in said, said
