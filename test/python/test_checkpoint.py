"""gpuaes.formats.checkpoint: tensors come back, and what was damaged is refused.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import re
import struct
import sys
import tracemalloc

import pytest

numpy = pytest.importorskip("numpy")
pytest.importorskip("gpuaes", exc_type=ImportError)
from tensors import arrays_of, same  # noqa: E402

from gpuaes import _driver  # noqa: E402
from gpuaes.aead import AESGCM  # noqa: E402
from gpuaes.formats import _safetensors, checkpoint  # noqa: E402
from gpuaes.formats._safetensors import KINDS  # noqa: E402
from gpuaes.formats.checkpoint import RefusedFile  # noqa: E402

HEADER = "gpuaes.header"


@pytest.fixture
def key(rng):
    return rng.randbytes(32)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sealed"


@pytest.fixture
def arrays(rng):
    return arrays_of(rng)


def load(path, key):
    return checkpoint.load_file(path, key, package="numpy")


def header_of(data):
    (length,) = struct.unpack("<Q", data[:8])
    return length, json.loads(data[8:8 + length])


@pytest.mark.parametrize("where", ["host", "device"])
def test_tensors_come_back(where, arrays, key, path, request):
    if where == "device":
        request.getfixturevalue("everything_on_device")
    arrays["gaps"] = arrays["size.4096"].reshape(64, 64).T
    checkpoint.save_file(arrays, path, key)
    assert same(load(path, key), arrays)
    data = path.read_bytes()
    assert arrays["size.4096"].tobytes() not in data
    checkpoint.save_file(arrays, path, key)
    assert path.read_bytes() != data, "a second file has another salt, and so another key"


def test_tensors_in_device_memory(arrays, key, path, cupy, monkeypatch):
    """In pieces that are smaller than a tensor."""
    monkeypatch.setattr(_safetensors, "_PIECE", 1 << 20)
    arrays = {name: each for name, each in arrays.items() if each.ndim == 1}
    checkpoint.save_file({name: cupy.asarray(each) for name, each in arrays.items()}, path, key)
    assert same(load(path, key), arrays)
    loaded = checkpoint.load_file(path, key, package="cupy")
    assert all(isinstance(each, cupy.ndarray) for each in loaded.values())
    assert same({name: each.get() for name, each in loaded.items()}, arrays)
    data = bytearray(path.read_bytes())
    data[-20] ^= 1
    path.write_bytes(data)
    with pytest.raises(RefusedFile, match="^tensor size.3145728: not authentic: changed$"):
        checkpoint.load_file(path, key, package="cupy")


def test_pieces_are_waited_for_while_another_thread_uses_the_stream(key, path, cupy, cuda_stream, monkeypatch):
    """Each piece but the first of either half, and at the end both."""
    monkeypatch.setattr(_safetensors, "_PIECE", 1 << 16)
    checkpoint.save_file({"a": cupy.asarray(range(5 << 14), "f4")}, path, key)
    waited, real = [], _safetensors.File._wait

    def wait(self, half):
        waited.append(self._passed[half])
        real(self, half)

    monkeypatch.setattr(_safetensors.File, "_wait", wait)
    monkeypatch.setattr(_driver.Lane, "end", lambda self: None)  # as while a call is under way
    with cupy.cuda.ExternalStream(cuda_stream):
        checkpoint.load_file(path, key, package="cupy")
    assert [each is None for each in waited] == [True] * 2 + [False] * (len(waited) - 2) and len(waited) > 6


def test_packages_that_are_missing_are_named(arrays, key, path, monkeypatch):
    checkpoint.save_file(arrays, path, key)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"^package is 'torch', which cannot be imported \(.*torch.*\): expected an") as raised:
        checkpoint.load_file(path, key)
    assert isinstance(raised.value.__cause__, ImportError)


def test_file_is_one_of_safetensors(arrays, key, path):
    safetensors = pytest.importorskip("safetensors.numpy")
    checkpoint.save_file(arrays, path, key)
    found = safetensors.load_file(path)
    assert found.keys() == {HEADER, *arrays}
    assert all(found[name].dtype == "u1" and len(found[name]) == each.nbytes + 16 for name, each in arrays.items())


def test_metadata_is_kept(arrays, key, path):
    metadata = {"step": "3", "\u4e2d": '"\n'}
    checkpoint.save_file(arrays, path, key, metadata)
    assert checkpoint.read_metadata(path, key) == metadata
    path.write_bytes(path.read_bytes().replace(rb"\"step\": \"3\"", rb"\"step\": \"4\""))
    with pytest.raises(RefusedFile, match="^header: not authentic"):
        checkpoint.read_metadata(path, key)
    checkpoint.save_file(arrays, path, key)
    assert checkpoint.read_metadata(path, key) == {}


# ---- Files of safetensors ---------------------------------------------------------------


def test_file_of_safetensors_goes_both_ways(arrays, key, path, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    safetensors.save_file(arrays, tmp_path / "plain", metadata={"format": "np"})
    checkpoint.encrypt_file(tmp_path / "plain", path, key)
    assert same(load(path, key), arrays)
    checkpoint.decrypt_file(path, tmp_path / "again", key)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "plain").read_bytes()
    with pytest.raises(RefusedFile, match="^header: not authentic: another key, or changed$"):
        checkpoint.decrypt_file(path, tmp_path / "other", bytes(32))
    with pytest.raises(ValueError, match="^key has 31 bytes: expected 32$"):
        checkpoint.decrypt_file(path, tmp_path / "other", bytes(31))
    assert not (tmp_path / "other").exists()


def every_type(rng):
    """The header and data of a file that has every type of safetensors, with names that are not in order."""
    entries, data = [], b""
    for number, (kind, (bits, _)) in enumerate(KINDS.items()):
        shape = [[], [0, 3], [4], [2, 3, 4]][number % 4] if bits >= 8 else [2, 3, 4]
        size = int(numpy.prod(shape)) * bits // 8
        entries.append((f"{'zyx'[number % 3]}.\u00fc\u4e2d.{number}", kind, shape, [len(data), len(data) + size]))
        data += rng.randbytes(size)
    return {name: {"dtype": kind, "shape": shape, "data_offsets": place} for name, kind, shape, place in entries}, data


def write_plain(path, entries, data, metadata=None):
    header = json.dumps({**({"__metadata__": metadata} if metadata else {}), **entries}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)


def test_types_metadata_and_any_order_are_kept(key, path, tmp_path, rng):
    entries, data = every_type(rng)
    metadata = {"format": "pt", "\u4e2d": '"\n'}
    for header in entries, dict(sorted(entries.items())), dict(rng.sample(list(entries.items()), len(entries))):
        write_plain(tmp_path / "plain", header, data, metadata)
        checkpoint.encrypt_file(tmp_path / "plain", path, key)
        checkpoint.decrypt_file(path, tmp_path / "again", key)
        again = (tmp_path / "again").read_bytes()
        length, found = header_of(again)
        assert found.pop("__metadata__") == metadata and found == entries and again[8 + length:] == data
        assert list(found) == list(entries), "the header is in the order of the data"


def test_type_that_a_package_lacks_is_named(key, path, tmp_path, rng):
    entries, data = every_type(rng)
    write_plain(tmp_path / "plain", entries, data)
    checkpoint.encrypt_file(tmp_path / "plain", path, key)
    with pytest.raises(RefusedFile, match="^tensor .*: numpy does not have its type (BF16|F8_E4M3|F6_E2M3)$"):
        load(path, key)


def test_small_types_of_ml_dtypes(key, path, rng):
    types = pytest.importorskip("ml_dtypes")
    names = "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split()
    arrays = {name: numpy.frombuffer(rng.randbytes(60), getattr(types, name)) for name in names}
    checkpoint.save_file(arrays, path, key)
    assert same(load(path, key), arrays)


# ---- What is refused --------------------------------------------------------------------


def test_damage_is_named(arrays, key, path, rng):
    checkpoint.save_file(arrays, path, key)
    whole = path.read_bytes()
    length, header = header_of(whole)

    def refused(data):
        path.write_bytes(data)
        with pytest.raises(RefusedFile) as error:
            load(path, key)
        return str(error.value)

    def flipped(at):
        return whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:]

    for name in arrays:
        begin, end = (8 + length + at for at in header[name]["data_offsets"])
        for at in {begin, rng.randrange(begin, end), end - 1}:
            assert refused(flipped(at)) == f"tensor {name}: not authentic: changed"
    for at in rng.sample(range(8, 8 + length), 50):
        assert refused(flipped(at)), "every byte of the header counts"
    salt = whole.index(b'"salt":"') + 8
    other = whole[:salt] + (b"0" if whole[salt:salt + 1] != b"0" else b"1") + whole[salt + 1:]
    assert refused(other) == "header: not authentic: another key, or changed"
    assert refused(flipped(8 + length + 3)) == "header: not authentic: another key, or changed"

    assert refused(b"").startswith("truncated, or no safetensors file")
    assert refused(b"\xff" * 100).startswith("truncated, or no safetensors file")
    bounds = {8, 8 + length, *(8 + length + at for each in list(header.values())[1:] for at in each["data_offsets"])}
    for at in {at + more for at in bounds for more in (-1, 0, 1)} - {len(whole), len(whole) + 1}:
        assert "truncated" in refused(whole[:at])
    assert refused(whole + b"\0") == "1 bytes belong to no tensor"
    assert refused(struct.pack("<Q", 2) + b"[]") == "header: list, no object of JSON"
    write_plain(path, {"a": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}}, b"abc")
    assert refused(path.read_bytes()) == "header: it is not encrypted, or damaged"


def test_exchanged_tensors_are_refused(key, path):
    array = numpy.arange(1000)
    checkpoint.save_file({"a": array, "b": array}, path, key)
    whole, size = path.read_bytes(), array.nbytes + 16
    path.write_bytes(whole[:-2 * size] + whole[-size:] + whole[-2 * size:-size])
    with pytest.raises(RefusedFile, match="^tensor a: not authentic: changed$"):
        load(path, key)


@pytest.mark.parametrize("tensors, error, said", [
    ({"z": numpy.zeros(1, "c16")}, TypeError, "tensor z has the type complex128"),
    ({"z": numpy.zeros(1, ">f4")}, TypeError, "tensor z has the type >f4"),
    ({"z": numpy.zeros(1, "O")}, TypeError, "tensor z has the type object"),
    ({"z": numpy.ma.zeros((2, 2), "f4").T}, TypeError, "^tensor z has a mask: expected an array without one$"),
    ({"z": numpy.ma.zeros((2, 2), "f4")}, TypeError, "^tensor z has a mask: expected an array without one$"),
    ({HEADER: numpy.zeros(1, "f4")}, ValueError, "'gpuaes.header': that is taken"),
    ({"__metadata__": numpy.zeros(1, "f4")}, ValueError, "'__metadata__': that is taken"),
    ({"step": 3}, TypeError, "tensor step is int: expected a tensor"),
    ({0: numpy.zeros(1, "f4")}, TypeError, "a tensor has the name 0: expected a str"),
    ({"\ud800": numpy.zeros(1, "f4")}, ValueError, r"^the tensor '\\ud800' has half of a surrogate pair"),
])  # fmt: skip
def test_tensors_that_cannot_be_written(tensors, error, said, key, path, tmp_path):
    with pytest.raises(error, match=said):
        checkpoint.save_file(tensors, path, key)
    assert not list(tmp_path.iterdir())


def test_wrong_arguments_are_refused(arrays, key, path, tmp_path):
    with pytest.raises(TypeError, match="^metadata is not made of texts: expected {str: str}$"):
        checkpoint.save_file(arrays, path, key, {"step": 3})
    with pytest.raises(ValueError, match="^key has 16 bytes: expected 32$"):
        checkpoint.save_file(arrays, path, key[:16])
    for metadata in {"source": os.fsdecode(b"\xff")}, {"source": "\ud83d\ude00"}, {"source\ud83d": "\ude00"}:
        with pytest.raises(ValueError, match="^metadata: 'source.* has half of a surrogate pair"):
            checkpoint.save_file(arrays, path, key, metadata)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="^package is 'jax': expected torch, cupy or numpy$"):
        checkpoint.load_file(path, key, package="jax")
    with pytest.raises(ValueError, match="^device is 'cuda': expected None for numpy$"):
        checkpoint.load_file(path, key, "cuda", package="numpy")
    with pytest.raises(ValueError, match="is no regular file$"):
        checkpoint.save_file(arrays, tmp_path, key)
    path.symlink_to("missing/sealed")
    for missing in path, tmp_path / "missing/sealed":
        with pytest.raises(FileNotFoundError, match=f"'{re.escape(str(missing))}'$"):
            checkpoint.save_file(arrays, missing, key)


def test_file_has_another_name_until_it_is_complete(arrays, key, path, tmp_path, monkeypatch):
    checkpoint.save_file(arrays, path, key)
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    path.chmod(0o640)
    (link := tmp_path.parent / f"{tmp_path.name}.link").symlink_to(path)
    checkpoint.save_file(arrays, link, key)
    assert link.is_symlink() and load(path, key).keys() == arrays.keys()
    before, seen = path.read_bytes(), []
    bytes_of = _safetensors.Package.bytes_of

    def failing(package, tensor):
        seen.append({file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir() if file != path})
        if len(seen) % 5 == 0:
            raise OSError("no more")
        return bytes_of(package, tensor)

    monkeypatch.setattr(_safetensors.Package, "bytes_of", failing)
    for _ in range(2):
        with pytest.raises(OSError, match="no more"):
            checkpoint.save_file(arrays, path, key)
        assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    assert all(list(each.values()) == [0o600] for each in seen)
    assert len({name for each in seen for name in each}) == 2, "another name each time"
    monkeypatch.setattr(_safetensors.Package, "bytes_of", bytes_of)
    checkpoint.save_file(arrays, path, key)
    assert path.read_bytes() != before and path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


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
    yield f"{{{twice}, {twice}}}", "header: no object of JSON: a name is there twice"
    for metadata in 3, [], {"a": 3}, {"a": None}, "text":
        yield json.dumps({"__metadata__": metadata, "a": right}), "header: __metadata__ is not made of texts"
    for text in "", "{", '{"a"}', "[" * 100_000, '{"a":' * 100_000, "1" * 5000, "\0", '{"\\ud800": 3}':
        yield text, "header: no object of JSON: "
    for text, kind in ("null", "NoneType"), ("[]", "list"), ("3", "int"):
        yield text, f"header: {kind}, no object of JSON"


@pytest.mark.parametrize("header, said", [pytest.param(*both, id=str(n)) for n, both in enumerate(plain_headers())])
def test_wrong_headers_are_refused(header, said, key, path, tmp_path):
    (tmp_path / "plain").write_bytes(struct.pack("<Q", len(header)) + header.encode() + bytes(8))
    with pytest.raises(RefusedFile) as refused:
        checkpoint.encrypt_file(tmp_path / "plain", path, key)
    assert str(refused.value).startswith(said) and not path.exists()


@pytest.mark.parametrize("part, ends", [
    ("{},", "more objects or lists than"), ('{"":0},', "more objects or lists than"), ("[],", "more objects or lists than"),
    ('{"":0' + " " * 26 + "},", "tensor a: expected dtype"), ("[" + " " * 6 + "],", "tensor a: expected dtype"),
    ('"{[",', "tensor a: expected dtype"), ('"\\\\","{}\\"[]",', "tensor a: expected dtype"),
])  # fmt: skip
def test_memory_for_headers_that_nobody_has_authenticated(part, ends, key, path):
    header = ('{"a":[' + part * (300_000 // len(part)) + "0]}").encode()
    assert memory_for(header, ends, key, path) < 20 * len(header)


@pytest.mark.parametrize("page", ["checkpoint", "cryptotensors"])
def test_memory_for_short_names(page, key, path):
    """As many as make Python enlarge their table. The pages say what it takes."""
    said = (pathlib.Path(__file__).parents[2] / f"docs/formats-{page}.md").read_text()
    names = (f'"{chr(0x100 + number % 1000)}{chr(0x100 + number // 1000)}":0' for number in range(2**17 // 3 + 10))
    header = f'{{"a":{{{",".join(names)}}}}}'.encode()
    most = memory_for(header, "tensor a: expected dtype", key, path)
    assert most < int(re.search(r"up to (\d+) times its\sbytes", said)[1]) * len(header)


def memory_for(header, ends, key, path):
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    tracemalloc.start()
    with pytest.raises(RefusedFile, match=ends):
        load(path, key)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_texts_may_have_many_brackets(arrays, key, path):
    arrays = {f"{name}{'[{' * 100}": each for name, each in arrays.items()}
    checkpoint.save_file(arrays, path, key, metadata := {"index": "[[],{}]" * 1000, '\\"[': "{" * 1000})
    assert same(load(path, key), arrays) and checkpoint.read_metadata(path, key) == metadata


def test_headers_that_are_not_text_are_refused(key, path):
    for header in b"\xff", '{"a": 3}'.encode("utf-16"), b"{\x80}":
        path.write_bytes(struct.pack("<Q", len(header)) + header)
        with pytest.raises(RefusedFile, match="^header: no object of JSON: "):
            load(path, key)


@pytest.mark.parametrize("about, said", [
    ({"tensors": None}, "header: it is not encrypted, or damaged"),
    ({"tensors": "3"}, "header: tensors: int, no object of JSON"),
    ({"tensors": "{"}, "header: tensors: no object of JSON"),
    ({"tensors": "[" * 100_000}, "header: tensors: no object of JSON"),
    ({"tensors": '{"a": ["F32", [2]], "metadata": "3"}'}, "header: it describes other tensors"),
    ({"tensors": "{}"}, "header: it describes other tensors"),
    ({"tensors": '{"a": ["F32", [2]], "b": ["F32", [2]]}'}, "header: it describes other tensors"),
    ({"tensors": '{"a": ["F32", [2]], "gpuaes.header": ["U8", [0]]}'}, "header: it describes other tensors"),
    ({"tensors": '{"a": 3}'}, "tensor a: expected its type and its shape"),
    ({"tensors": '{"a": ["F32"]}'}, "tensor a: expected its type and its shape"),
    ({"tensors": '{"a": ["F32", [3]]}'}, "tensor a: its data are not those of its type and shape"),
    ({"tensors": '{"a": ["F32", [-2]]}'}, "tensor a: its shape is not made of numbers"),
    ({"tensors": '{"a": [3, [2]]}'}, "tensor a: its type 3 is unknown"),
    ({"tensors": '{"a": ["F32", [2' + ",1" * 100 + ']]}'}, "tensor a: numpy cannot have its shape"),
    ({"metadata": "[]"}, "header: metadata: list, no object of JSON"),
    ({"metadata": '{"a": 3}'}, "header: __metadata__ is not made of texts"),
    ({"gpuaes": "2"}, "header: version 2 is not known: expected 1"),
    ({"salt": "x"}, "header: its salt is not hexadecimal"),
])  # fmt: skip
def test_wrong_descriptions_are_refused(about, said, key, path):
    """Of somebody who has the key: tags are right."""
    salt = bytes(32)
    about = {"gpuaes": "1", "salt": salt.hex(), "tensors": '{"a": ["F32", [2]]}', **about}
    about = {name: text for name, text in about.items() if text is not None}
    header = _safetensors.make_header([(HEADER, "U8", [16], 16), ("a", "U8", [24], 24)], about)
    aead = AESGCM(checkpoint._file_key(key, salt))
    tag = aead.encrypt(bytes(12), b"", header)
    sealed = aead.encrypt((1).to_bytes(12, "big"), bytes(8), b"a")
    path.write_bytes(struct.pack("<Q", len(header)) + header + tag + sealed)
    with pytest.raises(RefusedFile) as refused:
        load(path, key)
    assert str(refused.value).startswith(said)


def test_tag_of_another_size_is_refused(key, path):
    for size in 0, 15, 17:
        header = _safetensors.make_header(
            [(HEADER, "U8", [size], size)], {"gpuaes": "1", "salt": "", "tensors": "{}"})
        path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
        with pytest.raises(RefusedFile, match=f"^header: a tag of {size} bytes: expected 16$"):
            load(path, key)


def test_random_headers_are_refused_or_read(key, path, tmp_path, rng):
    """Values of a right header change places with wrong ones: nothing comes of it but RefusedFile, or a file."""
    entries, data = every_type(rng)
    plain, ends = tmp_path / "plain", set()
    write_plain(plain, entries, data, {"format": "np"})
    whole = plain.read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header = whole[8:8 + length]
    values = [match.span() for match in re.finditer(rb'"[^"]*"|\d+|\[[^][]*\]|\{[^{}]*\}', header)]
    others = [b"-1", b"1e3", b"true", b"null", b"[]", b"{}", b'""', b"0", b"%d" % (1 << 64), b'"F4"', b'"F64"', b"[" * 3000]
    for _ in range(300):
        begin, end = rng.choice(values)
        other = rng.choice([*others, header[slice(*rng.choice(values))], rng.randbytes(1)])
        changed = header[:begin] + other + header[end:]
        plain.write_bytes(struct.pack("<Q", len(changed)) + changed + whole[8 + length:])
        try:
            checkpoint.encrypt_file(plain, path, key)
            ends.add("read")
        except RefusedFile as refused:
            ends.add(str(refused).partition(":")[2])
    assert len(ends) > 5, ends


# ---- PyTorch ----------------------------------------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def test_tensors_of_pytorch(torch, key, path, rng):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    package, values = _safetensors.Package("torch", device), {}
    for kind, type_ in package._types.items():
        data = bytearray(rng.randbytes(KINDS[kind][0] * 60 // 8))
        tensor = torch.frombuffer(bytearray(byte & 1 for byte in data) if kind == "BOOL" else data, dtype=type_)
        values[kind] = tensor.reshape(3, -1).to(device)
    values["gaps"], values["empty"], values["number"] = values["F32"].t(), torch.zeros(0, 3), torch.tensor(3)
    values["parameter"] = torch.nn.Parameter(torch.arange(3.0))
    checkpoint.save_file(values, path, key)
    loaded = checkpoint.load_file(path, key, device)
    assert loaded.keys() == values.keys()
    for name, tensor in values.items():
        tensor = tensor.detach().contiguous()
        assert (loaded[name].dtype, loaded[name].shape, loaded[name].device.type) == (tensor.dtype, tensor.shape, device)
        assert torch.equal(*(each.cpu().reshape(-1).view(torch.uint8) for each in (loaded[name], tensor)))
    numbers = torch.tensor([1 + 2j, 3 - 4j], device=device)
    checkpoint.save_file({"conjugated": numbers.conj(), "negated": numbers.conj().imag}, path, key)
    loaded = checkpoint.load_file(path, key, device)
    assert loaded["conjugated"].tolist() == [1 - 2j, 3 + 4j] and loaded["negated"].tolist() == [-2.0, 4.0]


def test_tensors_of_pytorch_without_bytes(torch, key, path, tmp_path):
    from torch._subclasses.fake_tensor import FakeTensorMode

    class Wrapper(torch.Tensor):
        """As a DTensor is made."""

        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(cls, (100,), dtype=torch.float32)

        @classmethod
        def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
            raise AssertionError(function)

    with FakeTensorMode():
        fake = torch.zeros(100)
    for tensor in Wrapper(), fake, torch.zeros(100, device="meta"):
        with pytest.raises(TypeError, match=r"^tensor w \(.*\) has no storage of its own: expected .*to_local\(\) of a DTensor"):
            checkpoint.save_file({"w": tensor}, path, key)
    with pytest.raises(TypeError, match="^tensor w has the layout torch.sparse_coo: expected torch.strided$"):
        checkpoint.save_file({"w": torch.zeros(3).to_sparse()}, path, key)
    with pytest.raises(TypeError, match="^tensor model is dict: expected a tensor"):
        checkpoint.save_file({"model": {"a": torch.zeros(3)}}, path, key)
    assert not list(tmp_path.iterdir())
