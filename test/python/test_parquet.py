"""docs/examples/parquet_decrypt.py and parquet_footer.py without a device: files that must be refused, and random ones.

A stand-in for the memory of the device takes each module for authentic, so that structures get as far as they can, and
checks that what would be handed to kernels lies in the file. test/clients/parquet.t has the same files on a device.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys
import tracemalloc
import types

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "docs" / "examples"), str(TOP / "test" / "support")]

import parquet_decrypt  # noqa: E402
import parquet_writer as parquet  # noqa: E402
from parquet_footer import Refused  # noqa: E402

KEYS = types.SimpleNamespace(numbers={})


def seal(kind, numbers, text):
    """It is not encrypted: nonce, text and tag."""
    return bytes(12) + text + bytes(16)


class Image:
    """In the place of parquet_decrypt.Image."""

    def __init__(self, data, prefix, keys):
        self.data, self.prefix, self.keys, self.calls = bytearray(data), prefix, keys, []

    text = parquet_decrypt.Image.text

    def run(self, op, modules):
        tag = 0 if op == parquet_decrypt.CTR else parquet_decrypt.TAG
        places = sorted((m.at - parquet_decrypt.NONCE, m.at + m.size + tag) for m in modules)
        for (begin, end), (following, _) in zip(places, [*places[1:], (len(self.data), None)]):
            assert 0 <= begin < end <= following, "modules lie in the file, and apart from each other"
        assert all(m.size >= 0 and len(self.prefix) + len(m.aad) < 5000 for m in modules)
        self.calls.append((op, modules))


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setattr(parquet_decrypt, "Image", Image)
    monkeypatch.setattr(parquet_decrypt, "hmac", types.SimpleNamespace(compare_digest=lambda a, b: True))


def pages_of(data, prefix=b"", numbers=None):
    keys = types.SimpleNamespace(numbers=numbers or {})
    return parquet_decrypt.ParquetFile(data, keys, prefix).decrypt_pages()


def example(how, change=bytes, change_sealed=bytes, header=None):
    """Of two row groups: a column has a dictionary, one a key of its own, and one is not encrypted."""
    writer = parquet.Writer(lambda kind, numbers, text: seal(
        kind, numbers, change_sealed(text) if kind == parquet.COLUMN_METADATA else text))
    groups = []
    for row_group in range(2):
        begin, size = writer.pages(row_group, 0, dictionary=b"words", header=header)
        first = parquet.chunk(parquet.metadata(begin + 80, size, f11=parquet.integer(begin)))
        described = parquet.metadata(*writer.pages(row_group, 1, header=header), name=b"b")
        sealed = writer.module(parquet.COLUMN_METADATA, [row_group, 1], described[1])
        groups.append([first, parquet.chunk(None, parquet.by_column_key(b"b"), sealed), parquet.chunk(crypto=None)])
    return getattr(writer, how)(groups, change=change)


@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_right_files_are_read(how):
    expected = {
        (row_group, column, name): texts for row_group in range(2)
        for column, name, texts in ((0, "a", [b"words", b"one", b"the other"]), (1, "b", [b"one", b"the other"]))
    }
    assert pages_of(example(how), numbers={"b": 1}) == expected


@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_row_groups_without_rows(how):
    """As pyarrow writes them: a dictionary and no data, or nothing."""
    writer = parquet.Writer(seal)
    full, dictionary = writer.pages(0, 0), writer.pages(1, 0, texts=[], dictionary=b"")
    groups = [
        parquet.metadata(*full), parquet.metadata(0, dictionary[1], f11=parquet.integer(dictionary[0])),
        parquet.metadata(0, 0), parquet.metadata(-1, 0),
    ]
    data = getattr(writer, how)([[parquet.chunk(group)] for group in groups] + [[]])
    assert pages_of(data) == {(0, 0, "a"): [b"one", b"the other"], (1, 0, "a"): [b""]}


@pytest.mark.parametrize("how", ["signed", "encrypted"])
@pytest.mark.parametrize("stored, wanted, given, said", [
    (None, False, b"", None), (b"one", False, b"", None), (b"one", False, b"one", None), (None, True, b"one", None),
    (b"one", True, b"one", None),
    (b"one", False, b"two", "its AAD prefix is not the one that was given"),
    (b"one", True, b"", "it wants an AAD prefix: -p HEX"), (None, True, b"", "it wants an AAD prefix: -p HEX"),
    (None, False, b"one", "it has no AAD prefix, but one was given"),
    (None, True, bytes(4097), "its AAD prefix has 4097 bytes: expected 4096 at most"),
])
def test_prefixes_must_agree(how, stored, wanted, given, said):
    data = getattr(parquet.Writer(seal), how)([], parquet.algorithm(stored, wants_prefix=wanted))
    if said is None:
        file = parquet_decrypt.ParquetFile(data, KEYS, given)
        assert file.image.prefix == (stored or given) + parquet.UNIQUE
        return
    with pytest.raises(Refused) as refused:
        parquet_decrypt.ParquetFile(data, KEYS, given)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    "data, place", [pytest.param(data, place, id=name) for name, data, place in parquet.wrong(seal)]
)
def test_wrong_files_are_refused(data, place):
    with pytest.raises(Refused) as refused:
        pages_of(data)
    assert str(refused.value).startswith(place)


def test_metadata_of_a_key_must_be_there():
    data = parquet.Writer(seal).signed([[parquet.chunk(crypto=parquet.by_column_key(b"b"))]])
    with pytest.raises(Refused, match="^row group 0, column b, metadata: missing$"):
        pages_of(data, numbers={"b": 1})
    data = parquet.Writer(seal).signed([[parquet.chunk(crypto=parquet.by_column_key(b"\xff"))]])
    with pytest.raises(Refused, match="^row group 0, column 0: its name is not UTF-8$"):
        pages_of(data)


def damaged(rng, data):
    """Bytes that were changed, left out, repeated or put in, such as large numbers."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        large = parquet.integer(rng.choice((1, -1)) * (1 << rng.randrange(64)) - rng.randrange(2))[1]
        what = rng.randrange(6)
        if what == 0:
            data[at:at + 1] = bytes([rng.randrange(256)])
        elif what == 1:
            data[at:at + len(large)] = large
        elif what == 2:
            data[at:at + 1] = large
        elif what == 3:
            del data[at:min(end, at + 20)]
        elif what == 4:
            data[at:at] = data[at:end] * rng.choice((1, 100))
        else:
            data[at:at] = rng.choice((b"\x1c", b"\x19\x1c", b"\x19\xfc")) * rng.choice((1, 3, 2000))
    return bytes(data)


@pytest.mark.parametrize("how", ["signed", "encrypted"])
@pytest.mark.parametrize("what", ["footer", "metadata", "header", "file"])
def test_damaged_files_are_refused_or_read(how, what, rng):
    """Nothing else than Refused comes of them, no address outside of the file, and no memory by a number in it."""
    def change(data):
        return damaged(rng, data)

    plain = parquet.struct({3: parquet.integer(35, parquet.I32)})
    ends = set()
    for _ in range(150):
        if what == "file":
            data = change(example(how))
        elif what == "header":
            data = example(how, header=(parquet.STRUCT, change(plain[1])))
        else:
            data = example(how, **{"change" if what == "footer" else "change_sealed": change})
        tracemalloc.start()
        try:
            pages_of(data, numbers={"b": 1})
            ends.add("read")
        except Refused as refused:
            ends.add(str(refused).rpartition(": ")[2])
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < (1 << 20) + 500 * len(data), f"{most} bytes for a file of {len(data)}"
    assert len(ends) > 3, ends
