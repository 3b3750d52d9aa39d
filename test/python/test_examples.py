"""docs/examples/*.py: they run, and refuse what was damaged.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import re
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
    for tensors, error, said in (
        ({"z": numpy.zeros(1, "c16")}, ValueError, "tensor z has the type complex128"),
        ({"z": numpy.zeros(1, ">f4")}, ValueError, "tensor z has the type >f4"),
        ({checkpoint.HEADER: numpy.zeros(1, "f4")}, ValueError, "'gpuaes.header': that is taken"),
        ({checkpoint.METADATA: numpy.zeros(1, "f4")}, ValueError, "'__metadata__': that is taken"),
        ({"step": 3}, TypeError, "tensor step is int: expected a tensor"),
        ({0: numpy.zeros(1, "f4")}, TypeError, "a tensor has the name 0: expected a str"),
    ):
        with pytest.raises(error, match=said):
            checkpoint.save(tmp_path / "sealed", tensors, key, package)
    with pytest.raises(checkpoint.Refused, match="__metadata__ is not made of texts"):
        checkpoint.save(tmp_path / "sealed", {}, key, package, {"step": 3})
    assert not list(tmp_path.iterdir())


# The header and data of a file that has every type of safetensors. Names are in another order than their data, and
# not in ASCII.
def every_type(rng):
    entries, data = [], b""
    for number, (kind, bits) in enumerate(checkpoint.BITS.items()):
        shape = [[], [0, 3], [4], [2, 3, 4]][number % 4] if bits >= 8 else [2, 3, 4]
        size = int(numpy.prod(shape)) * bits // 8
        entries.append((f"{'zyx'[number % 3]}.\u00fc\u4e2d.{number}", kind, shape, [len(data), len(data) + size]))
        data += rng.randbytes(size)
    return {name: {"dtype": kind, "shape": shape, "data_offsets": place} for name, kind, shape, place in entries}, data


def write_safetensors(path, entries, data, metadata=None):
    header = json.dumps({**({"__metadata__": metadata} if metadata else {}), **entries}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


def test_checkpoint_program_keeps_types_and_metadata(key, tmp_path, rng):
    """Without NumPy and PyTorch: it takes types that those do not have."""
    entries, data = every_type(rng)
    ordered = list(entries.items())
    metadata = {"format": "pt", "\u4e2d": '"\n'}
    (tmp_path / "key").write_bytes(key)
    (tmp_path / "none").mkdir()
    for package in "numpy", "torch":
        (tmp_path / "none" / f"{package}.py").write_text("raise ImportError")
    for header in entries, dict(sorted(entries.items())), dict(rng.sample(ordered, len(ordered))):
        write_safetensors(tmp_path / "plain", header, data, metadata)
        for command, source, target in ("encrypt", "plain", "sealed"), ("decrypt", "sealed", "again"):
            paths = [tmp_path / name for name in ("key", source, target)]
            assert run("checkpoint.py", command, *paths, path=[tmp_path / "none"]) == (0, "")
        again = checkpoint.File(tmp_path / "again")
        assert again.metadata == metadata and again.entries == entries and bytes(again.data) == data
        assert list(again.entries) == list(entries), "the header is in the order of the data"


def test_checkpoint_gives_the_bytes_of_safetensors(arrays, key, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    (tmp_path / "key").write_bytes(key)
    safetensors.save_file({**arrays, "\u00fc": arrays["large"]}, tmp_path / "plain", metadata={"format": "np"})
    for command, source, target in ("encrypt", "plain", "sealed"), ("decrypt", "sealed", "again"):
        assert run("checkpoint.py", command, *(tmp_path / name for name in ("key", source, target))) == (0, "")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "plain").read_bytes()


def test_checkpoint_names_a_type_that_a_package_lacks(key, tmp_path, rng):
    entries, data = every_type(rng)
    write_safetensors(tmp_path / "plain", entries, data)
    checkpoint.encrypt_file(tmp_path / "plain", tmp_path / "sealed", key, checkpoint.Bytes())
    for read in lambda: checkpoint.load(tmp_path / "sealed", key, checkpoint.Numpy()), lambda: checkpoint.read_plain(
            tmp_path / "plain", checkpoint.Numpy()):
        with pytest.raises(checkpoint.Refused, match="^tensor .*: its type BF16 is unknown here$"):
            read()


def test_checkpoint_keeps_metadata(arrays, key, tmp_path):
    checkpoint.save(tmp_path / "sealed", arrays, key, checkpoint.Numpy(), {"step": "3"})
    assert checkpoint.Sealed(tmp_path / "sealed", key).metadata == {"step": "3"}
    data = (tmp_path / "sealed").read_bytes()
    (tmp_path / "sealed").write_bytes(data.replace(rb'{\"step\": \"3\"}', rb'{\"step\": \"4\"}'))
    with pytest.raises(checkpoint.Refused, match="header: not authentic"):
        checkpoint.Sealed(tmp_path / "sealed", key)


def test_checkpoint_writes_under_a_name_of_its_own(arrays, key, tmp_path):
    package, path, victim = checkpoint.Numpy(), tmp_path / "sealed", tmp_path / "victim"
    victim.write_bytes(b"old")
    (tmp_path / "sealed.new").symlink_to(victim)
    checkpoint.save(path, arrays, key, package)
    assert victim.read_bytes() == b"old" and (tmp_path / "sealed.new").is_symlink()

    seen = []

    class Failing(checkpoint.Numpy):
        def to_host(self, array):
            seen.append({file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()})
            raise OSError("no more")

    before, names = path.read_bytes(), {file.name for file in tmp_path.iterdir()}
    path.chmod(0o600)
    for _ in range(2):
        with pytest.raises(OSError, match="no more"):
            checkpoint.save(path, arrays, key, Failing())
    assert path.read_bytes() == before and {file.name for file in tmp_path.iterdir()} == names
    new = [seen_.keys() - names for seen_ in seen]
    assert [len(both) for both in new] == [1, 1] and new[0] != new[1], "another name each time"
    assert seen[0][new[0].pop()] == 0o600, "as the file that it replaces"
    checkpoint.save(path, arrays, key, package)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ValueError, match="is no regular file"):
        checkpoint.save(tmp_path, arrays, key, package)


def plain_headers():
    """Headers that are wrong, for 8 bytes of data, and what is said."""
    right = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    for entry, said in (
        (3, "tensor a: expected dtype, shape and data_offsets"),
        ({"dtype": "F32", "shape": [2]}, "tensor a: expected dtype, shape and data_offsets"),
        ({**right, "dtype": "F33"}, "tensor a: its type 'F33' is unknown"),
        ({**right, "dtype": ["F32"]}, "tensor a: its type ['F32'] is unknown"),
        ({**right, "shape": 2}, "tensor a: its shape is not made of numbers"),
        ({**right, "shape": [-2]}, "tensor a: its shape is not made of numbers"),
        ({**right, "shape": [2.0]}, "tensor a: its shape is not made of numbers"),
        ({**right, "shape": [True, 2]}, "tensor a: its shape is not made of numbers"),
        ({**right, "shape": [1 << 64, 0]}, "tensor a: its shape is not made of numbers"),
        ({**right, "shape": [1 << 40] * 100_000}, "tensor a: its shape is too large"),
        ({**right, "shape": [3]}, "tensor a: 8 bytes are not those"),
        ({**right, "dtype": "F4", "shape": [3]}, "tensor a: 12 bits are not whole bytes"),
        ({**right, "data_offsets": [0]}, "tensor a: its place is not made of two numbers"),
        ({**right, "data_offsets": [-8, 0]}, "tensor a: its place is not made of two numbers"),
        ({**right, "data_offsets": [0.0, 8.0]}, "tensor a: its place is not made of two numbers"),
        ({**right, "data_offsets": {}}, "tensor a: its place is not made of two numbers"),
        ({**right, "data_offsets": [8, 0]}, "tensor a: -8 bytes are not those"),
        ({**right, "data_offsets": [1 << 70, (1 << 70) + 8]}, "tensor a: truncated, or its data lie elsewhere"),
        ({**right, "data_offsets": [8, 16]}, "tensor a: truncated, or its data lie elsewhere"),
    ):
        yield json.dumps({"a": entry}), said
    yield json.dumps({"a": right, "b": right}), "tensor b: truncated, or its data lie elsewhere"
    half = {"dtype": "U8", "shape": [4]}
    yield json.dumps({"b": {**half, "data_offsets": [4, 8]}}), "tensor b: truncated, or its data lie elsewhere"
    yield json.dumps({"a": {**half, "data_offsets": [0, 4]}}), "4 bytes belong to no tensor"
    twice = f'"a": {json.dumps(right)}'
    yield f"{{{twice}, {twice}}}", "header: not one of safetensors: a name is there twice"
    for metadata in 3, [], {"a": 3}, {"a": None}, "text":
        yield json.dumps({"__metadata__": metadata, "a": right}), "header: __metadata__ is not made of texts"
    for text in "", "null", "[]", "3", "{", '{"a"}', "[" * 100_000, '{"a":' * 100_000, "1" * 5000, "\0":
        yield text, "header: not one of safetensors: "


@pytest.mark.parametrize("header, said", [pytest.param(*both, id=str(n)) for n, both in enumerate(plain_headers())])
def test_checkpoint_refuses_wrong_headers(header, said, tmp_path):
    (tmp_path / "plain").write_bytes(struct.pack("<Q", len(header)) + header.encode() + bytes(8))
    with pytest.raises(checkpoint.Refused) as refused:
        checkpoint.read_plain(tmp_path / "plain", checkpoint.Numpy())
    assert str(refused.value).startswith(said)


def test_checkpoint_refuses_headers_that_are_not_text(tmp_path):
    for header in b"\xff", '{"a": 3}'.encode("utf-16"), b"{\x80}":
        (tmp_path / "plain").write_bytes(struct.pack("<Q", len(header)) + header)
        with pytest.raises(checkpoint.Refused, match="^header: not one of safetensors: "):
            checkpoint.read_plain(tmp_path / "plain", checkpoint.Numpy())


@pytest.mark.parametrize("about, said", [
    ({}, "header: it does not describe the tensors"),
    ({"tensors": "3"}, "header: it does not describe the tensors"),
    ({"tensors": "{"}, "header: it does not describe the tensors"),
    ({"tensors": "[" * 100_000}, "header: it does not describe the tensors"),
    ({"tensors": '{"a": ["F32", [2]], "metadata": "3"}'}, "header: it describes other tensors"),
    ({"tensors": "{}"}, "header: it describes other tensors"),
    ({"tensors": '{"a": ["F32", [2]], "b": ["F32", [2]]}'}, "header: it describes other tensors"),
    ({"tensors": '{"a": ["F32", [2]], "gpuaes.header": ["U8", [0]]}'}, "header: it describes other tensors"),
    ({"tensors": '{"a": 3}'}, "tensor a: expected its type and its shape"),
    ({"tensors": '{"a": ["F32"]}'}, "tensor a: expected its type and its shape"),
    ({"tensors": '{"a": ["F32", [3]]}'}, "tensor a: its data are not those of its type and shape"),
    ({"tensors": '{"a": ["F32", [-2]]}'}, "tensor a: its shape is not made of numbers"),
    ({"tensors": '{"a": [3, [2]]}'}, "tensor a: its type 3 is unknown"),
    ({"tensors": '{"a": ["F32", [2' + ",1" * 100 + ']]}'}, "tensor a: its shape cannot be had here"),
    ({"tensors": '{"a": ["F32", [2]]}', "metadata": "[]"}, "header: it does not describe the tensors"),
    ({"tensors": '{"a": ["F32", [2]]}', "metadata": '{"a": 3}'}, "header: __metadata__ is not made of texts"),
    ({"tensors": '{"a": ["F32", [2]]}', "gpuaes": "2"}, "header: version 2 is not known: expected 1"),
    ({"tensors": '{"a": ["F32", [2]]}', "salt": "x"}, "header: it is not encrypted, or damaged"),
])
def test_checkpoint_refuses_wrong_descriptions(about, said, key, tmp_path):
    """Of somebody who has the key: tags are right."""
    salt = bytes(32)
    about = {"gpuaes": "1", "salt": salt.hex(), **about}
    header = checkpoint.make_header([(checkpoint.HEADER, "U8", [16], 16), ("a", "U8", [24], 24)], about)
    aead = checkpoint.AESGCM(checkpoint.key_of_file(key, salt))
    tag = aead.encrypt(checkpoint.nonce_of(0), b"", header)
    sealed = aead.encrypt(checkpoint.nonce_of(1), bytes(8), b"a")
    (tmp_path / "sealed").write_bytes(struct.pack("<Q", len(header)) + header + tag + sealed)
    with pytest.raises(checkpoint.Refused) as refused:
        checkpoint.load(tmp_path / "sealed", key, checkpoint.Numpy())
    assert str(refused.value).startswith(said)


def test_checkpoint_refuses_a_tag_of_another_size(key, tmp_path):
    for size in 0, 15, 17:
        header = checkpoint.make_header([(checkpoint.HEADER, "U8", [size], size)], {"gpuaes": "1", "salt": ""})
        (tmp_path / "sealed").write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
        with pytest.raises(checkpoint.Refused, match=f"^header: a tag of {size} bytes: expected 16$"):
            checkpoint.load(tmp_path / "sealed", key, checkpoint.Numpy())


def test_checkpoint_refuses_or_reads_random_headers(arrays, tmp_path, rng):
    """Values of a right header change places with wrong ones: nothing comes of it but Refused, or tensors."""
    path, ends = tmp_path / "plain", set()
    checkpoint.write_plain(path, arrays, checkpoint.Numpy(), {"format": "np"})
    whole = path.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header = whole[8:8 + length]
    values = [match.span() for match in re.finditer(rb'"[^"]*"|\d+|\[[^][]*\]|\{[^{}]*\}', header)]
    others = [b"-1", b"1e3", b"true", b"null", b"[]", b"{}", b'""', b"0", b"%d" % (1 << 64), b'"F4"', b'"F64"', b"[" * 3000]
    for _ in range(300):
        begin, end = rng.choice(values)
        other = rng.choice([*others, header[slice(*rng.choice(values))], rng.randbytes(1)])
        changed = header[:begin] + other + header[end:]
        path.write_bytes(struct.pack("<Q", len(changed)) + changed + whole[8 + length:])
        try:
            checkpoint.read_plain(path, checkpoint.Numpy())
            ends.add("read")
        except checkpoint.Refused as refused:
            ends.add(str(refused).partition(":")[2])
    assert len(ends) > 5, ends


def test_checkpoint_of_tensors(key, tmp_path, rng):
    torch = pytest.importorskip("torch")
    package = checkpoint.Torch("cuda" if torch.cuda.is_available() else "cpu")
    values = {}
    for number, (name, kind) in enumerate(package.types.items()):
        data = bytearray(rng.randbytes(checkpoint.BITS[name] // 8 * 60))
        tensor = torch.frombuffer(bytearray(byte & 1 for byte in data) if kind == torch.bool else data, dtype=kind)
        values[name] = tensor.reshape(3, 20).to(package.device)
    values["gaps"] = values["F32"].t()
    checkpoint.save(tmp_path / "sealed", values, key, package)
    loaded = checkpoint.load(tmp_path / "sealed", key, package)
    assert loaded.keys() == values.keys()
    for name, tensor in values.items():
        assert loaded[name].dtype == tensor.dtype and loaded[name].device == tensor.device
        assert bytes(package.to_host(package.bytes_of(loaded[name]))) == bytes(package.to_host(package.bytes_of(tensor)))

    numbers = torch.tensor([1 + 2j, 3 - 4j], device=package.device)
    values = {"conjugated": numbers.conj(), "negated": numbers.conj().imag}
    checkpoint.save(tmp_path / "sealed", values, key, package)
    loaded = checkpoint.load(tmp_path / "sealed", key, package)
    assert loaded["conjugated"].tolist() == [1 - 2j, 3 + 4j] and loaded["negated"].tolist() == [-2.0, 4.0]
    with pytest.raises(ValueError, match="a tensor has the layout torch.sparse_coo: expected torch.strided"):
        checkpoint.save(tmp_path / "sealed", {"s": numbers.real.to_sparse()}, key, package)
    with pytest.raises(TypeError, match="tensor model is dict: expected a tensor"):
        checkpoint.save(tmp_path / "sealed", {"model": {"a": numbers}}, key, package)


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
