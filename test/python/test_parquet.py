"""gpuaes.formats.parquet: files that must be refused, random ones, and what pyarrow does not write.

test/clients/parquet.t gives the same files to the example in C.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import collections
import os
import pathlib
import pickle
import struct
import sys
import tracemalloc
import types

import pytest

pytest.importorskip("gpuaes", exc_type=ImportError)
TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "test" / "support")]

import parquet_writer as writing  # noqa: E402

from gpuaes import GpuaesError, InvalidTag, _driver  # noqa: E402
from gpuaes.aead import AESGCM  # noqa: E402
from gpuaes.ciphers import Cipher, algorithms, modes  # noqa: E402
from gpuaes.formats import _parquet_bytes, _parquet_file, _pinned, _thrift, parquet  # noqa: E402

KEY = bytes(32)
KEYS = {None: KEY, "b": bytes(range(16)), "c": bytes(range(24))}
COLUMN_INDEX, OFFSET_INDEX, BLOOM_HEADER, BLOOM_BITS = range(6, 10)


def seal_by(*keys):
    """A `seal` for Writer by the key of each column; that of the footer is the first."""
    ciphers = [AESGCM(key) for key in keys]

    def seal(kind, numbers, text, unique=writing.UNIQUE):
        nonce = os.urandom(12)
        aad = unique + struct.pack(f"<B{len(numbers)}H", kind, *(number & 0xFFFF for number in numbers))
        cipher = ciphers[min(numbers[1], len(ciphers) - 1) if numbers else 0]
        return nonce + cipher.encrypt(nonce, text, aad)

    return seal


SEAL = seal_by(KEY)


def seal_ctr(kind, numbers, text):
    """As AES_GCM_CTR_V1 has it: pages have no tag."""
    if kind not in (writing.DATA_PAGE, writing.DICTIONARY_PAGE):
        return SEAL(kind, numbers, text)
    nonce = os.urandom(12)
    return nonce + Cipher(algorithms.AES(KEY), modes.CTR(nonce + b"\0\0\0\1")).encryptor().update(text)


def seal_duckdb(kind, numbers, text):
    """As DuckDB has it: no module has additional data."""
    nonce = os.urandom(12)
    return nonce + AESGCM(KEY).encrypt(nonce, text, None)


KINDS = {
    "GCM": (SEAL, writing.algorithm()), "CTR": (seal_ctr, writing.algorithm(which=2)),
    "DuckDB": (seal_duckdb, writing.struct({1: writing.struct({})})),
}
FORMS = pytest.mark.parametrize("long", [False, True], ids=["short", "long"])


@pytest.fixture
def ways(monkeypatch):
    """Counts the headers that are changed within their bytes ("short"), and those that are read ("long")."""
    counts, short, long = collections.Counter(), _thrift.with_integer, _parquet_file.File._plain_header

    def with_integer(*arguments, **how):
        found = short(*arguments, **how)
        counts.update(["short"] * (found is not None))
        return found

    def plain_header(*arguments):
        counts["long"] += 1
        return long(*arguments)

    monkeypatch.setattr(_thrift, "with_integer", with_integer)
    monkeypatch.setattr(_parquet_file.File, "_plain_header", staticmethod(plain_header))
    return counts


def texts_of(data, keys=KEYS, **how):
    """The texts of all pages: {(row group, column): [text]}."""
    plain, found = parquet.decrypt(data, keys, **how), {}
    for page in plain.pages:
        begin = page.begin + page.header_bytes
        found.setdefault((page.row_group, page.column), []).append(bytes(plain.file[begin:begin + page.text_bytes]))
    return found


def example(how, change=bytes, change_sealed=bytes, header=None, seal=None, long=False, plain=b""):
    """Of two row groups: a column has a dictionary, two have keys of their own, and one is not encrypted, whose pages are
    `plain`."""
    seal = seal or seal_by(*KEYS.values())
    writer = writing.Writer(lambda kind, numbers, text: seal(
        kind, numbers, change_sealed(text) if kind == writing.COLUMN_METADATA else text), long)
    groups = []
    for row_group in range(2):
        begin, size = writer.pages(row_group, 0, dictionary=b"words", header=header)
        chunks = [writing.chunk(writing.metadata(begin + 80, size, f11=writing.integer(begin)))]
        for column, name in (1, b"b"), (2, b"c"):
            described = writing.metadata(*writer.pages(row_group, column, header=header), name=name)
            sealed = writer.module(writing.COLUMN_METADATA, [row_group, column], described[1])
            chunks.append(writing.chunk(None, writing.by_column_key(name), sealed))
        groups.append([*chunks, writing.chunk(writing.metadata(len(writer.data), len(plain), b"d"), crypto=None)])
        writer.data += plain
    return getattr(writer, how)(groups, change=change)


EXPECTED = {
    (row_group, column): texts for row_group in range(2)
    for column, texts in (("a", [b"words", b"one", b"the other"]), ("b", [b"one", b"the other"]), ("c", [b"one", b"the other"]))
}


@FORMS
@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_keys_of_all_sizes(how, long, ways):
    data = example(how, long=long)
    assert texts_of(data) == EXPECTED and ways == {"long" if long else "short": 14}
    for missing in "b", "c":
        keys = {name: key for name, key in KEYS.items() if name != missing}
        plain = parquet.decrypt(data, keys)
        assert plain.left == [missing] and {page.column for page in plain.pages} == {"a", "b", "c"} - {missing}


@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_pages_without_tags_must_be_asked_for(how):
    """Whoever changes a number before an encrypted footer makes pages of AES_GCM_V1 such ones: their headers are still
    authentic, and text that is known can be changed."""
    writer = writing.Writer(SEAL)
    chunk = writing.chunk(writing.metadata(*writer.pages(texts=[text := bytes(100)])))
    assert texts_of(getattr(writer, how)([[chunk]]), KEY, unauthenticated_pages=True) == {(0, "a"): [text]}
    ctr = getattr(writer, how)([[chunk]], writing.algorithm(which=2))
    with pytest.raises(parquet.RefusedFile) as refused:
        parquet.decrypt(ctr, KEY)
    assert str(refused.value) == (
        "footer: AES_GCM_CTR_V1: pages have no tags, so that nothing authenticates them: expected unauthenticated_pages=True")
    assert parquet.decrypt(ctr, KEY, unauthenticated_pages=True).pages[0].text_bytes == len(text) + 16


@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_row_groups_without_rows(how):
    """A dictionary and no data, or nothing."""
    writer = writing.Writer(SEAL)
    full, dictionary = writer.pages(0, 0), writer.pages(1, 0, texts=[], dictionary=b"")
    groups = [
        writing.metadata(*full), writing.metadata(0, dictionary[1], f11=writing.integer(dictionary[0])),
        writing.metadata(0, 0), writing.metadata(-1, 0),
    ]
    data = getattr(writer, how)([[writing.chunk(group)] for group in groups])
    assert texts_of(data) == {(0, "a"): [b"one", b"the other"], (1, "a"): [b""]}
    assert texts_of(getattr(writing.Writer(SEAL), how)([])) == {}


@FORMS
@pytest.mark.parametrize("how", ["signed", "encrypted"])
@pytest.mark.parametrize("kind", KINDS)
def test_headers_of_pages(kind, how, long, ways):
    """Sizes change, checksums go, and all else stays."""
    seal, algorithm = KINDS[kind]
    texts = [os.urandom(size) for size in (0, 1, 40, 63, 64, 100, 8170, 8191)]  # sizes as numbers of one to three bytes

    def decrypted(more, wrong=0):
        def header(text, page):
            return writing.page_header(text, (text if kind == "DuckDB" else page) + wrong, more, long)

        writer = writing.Writer(seal)
        place = writer.pages(texts=texts, header=header, dictionary=b"words")
        described = writing.metadata(place[0] + 1, place[1], f11=writing.integer(place[0]))
        chunk = writing.chunk(described, **({"crypto": None} if kind == "DuckDB" else {}))
        return parquet.decrypt(getattr(writer, how)([[chunk]], algorithm), KEY, unauthenticated_pages=kind == "CTR")

    data_page = writing.struct({1: writing.integer(7), 2: writing.integer(0, writing.I32), 5: writing.struct(
        {1: writing.binary(b"most"), 5: writing.binary(b"least"), 7: (writing.TRUE, b"")}, long)}, long)
    rest = {5: data_page}, {8: data_page}, {18: writing.integer(7)}, {19: writing.integer(7)}, {}
    checksums = {}, *({4: writing.integer(value, writing.I32)} for value in (0, -1 << 31))
    for more in ({**checksum, **each} for checksum in checksums for each in rest):
        ways.clear()
        plain = decrypted(more)
        # The number of a field may be 15 more than the last, also once the checksum is gone.
        assert ways == {"long" if long or 19 in more else "short": 9}
        assert [page.is_dictionary for page in plain.pages] == [True] + [False] * 8
        for page, text in zip(plain.pages, [b"words", *texts]):
            begin = page.begin + page.header_bytes
            assert plain.file[begin:begin + page.text_bytes] == text
            wanted = writing.page_header(len(text), len(text), {n: each for n, each in more.items() if n != 4})
            assert _thrift.read(bytes(plain.file[page.begin:begin])) == (_thrift.read(wanted[1])[0], page.header_bytes)
    for wrong in 1, -1, -16, -32, 1 << 8, 1 << 32:
        with pytest.raises(parquet.RefusedFile, match="^row group 0, column a, dictionary, header: the page has another size$"):
            decrypted(checksums[wrong < 9], wrong)


def with_extras(bloom=b"header", bits=b"bits" * 100, places=2, length=None, numbers=(0, 0), at=1):
    """A column with both indexes and a Bloom filter."""
    writer = writing.Writer(SEAL)
    begin, size = writer.pages()
    where = {}
    location = writing.struct({1: writing.integer(at), 2: writing.integer(9, writing.I32), 3: writing.integer(5)})
    index = writing.struct({1: writing.list_of(writing.STRUCT, [location] * places), 7: writing.binary(b"more")})
    for kind, text in (COLUMN_INDEX, b"index of the column"), (OFFSET_INDEX, index[1]), (BLOOM_HEADER, bloom), (BLOOM_BITS, bits):
        where[kind] = len(writer.data)
        writer.data += writer.module(kind, numbers, text)
    end = len(writer.data)
    described = writing.metadata(
        begin, size, f14=writing.integer(where[BLOOM_HEADER]), f15=writing.integer(end - where[BLOOM_HEADER], writing.I32))
    chunk = writing.chunk(described, sealed=writer.module(writing.COLUMN_METADATA, [0, 0], described[1]), more={
        4: writing.integer(where[OFFSET_INDEX]),
        5: writing.integer(where[BLOOM_HEADER] - where[OFFSET_INDEX] if length is None else length, writing.I32),
        6: writing.integer(where[COLUMN_INDEX]),
        7: writing.integer(where[OFFSET_INDEX] - where[COLUMN_INDEX], writing.I32),
    })
    return writer.signed([[chunk]])


def test_indexes_and_bloom_filters():
    plain = parquet.decrypt(with_extras(), KEY)
    data = bytes(plain.file)
    chunk = _thrift.read(data[-8 - int.from_bytes(data[-8:-4], "little"):-8])[0][4][1].values[0][1][1].values[0]

    def at(fields, begin, size):
        return data[fields[begin][1]:fields[begin][1] + fields[size][1]]

    assert at(chunk, 6, 7) == b"index of the column"
    assert at(chunk[3][1], 14, 15) == b"header" + b"bits" * 100
    index = _thrift.read(at(chunk, 4, 5))[0]
    assert [{n: value for n, (_, value) in place.items()} for place in index[1][1].values] == [
        {1: page.begin, 2: page.header_bytes + page.text_bytes, 3: 5} for page in plain.pages]
    assert index[7][1] == b"more"


@pytest.mark.parametrize("said, how", [
    ("offset index: it has 3 pages, and the chunk 2", {"places": 3}),
    ("offset index: truncated, or it has a wrong length", {"length": 40}),
    ("offset index: truncated", {"length": 0}),
    ("offset index: it lies outside of bytes 4 to", {"length": -1}),
    ("offset index: it lies outside of bytes 4 to", {"length": 1 << 30}),
    (".*: not authentic", {"numbers": (0, 1)}),
])
def test_wrong_indexes_are_refused(said, how):
    with pytest.raises(parquet.RefusedFile, match=f"^row group 0, column a, {said}"):
        parquet.decrypt(with_extras(**how), KEY)


def test_an_index_that_grows_is_refused():
    """Its own places are numbers of a byte each, and there are more than the overhead of a module has room for."""
    writer = writing.Writer(SEAL)
    begin, size = writer.pages(texts=[b""] * 200)
    location = writing.STRUCT, b"\x16\0\x15\0\x16\0\0"
    at = len(writer.data)
    index = writing.struct({1: writing.list_of(writing.STRUCT, [location] * 200)})
    writer.data += writer.module(OFFSET_INDEX, [0, 0], index[1])
    length = len(writer.data) - at
    fields = {4: writing.integer(at), 5: writing.integer(length, writing.I32)}
    data = writer.signed([[writing.chunk(writing.metadata(begin, size), more=fields)]])
    with pytest.raises(parquet.RefusedFile, match="^row group 0, column a, offset index: it has .* too many for its place$"):
        parquet.decrypt(data, KEY)


@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_files_without_additional_data(how):
    """As DuckDB writes them: no module has any, pages have their own size in headers, no column says that it is encrypted."""
    seal, algorithm = KINDS["DuckDB"]
    writer = writing.Writer(seal)
    begin, size = writer.pages(texts=[b"one", b"two"], header=writing.page_header(3, 3))
    chunk = writing.chunk(writing.metadata(begin, size), crypto=None)
    data = getattr(writer, how)([[chunk]], algorithm)
    assert texts_of(data, KEY) == {(0, "a"): [b"one", b"two"]}
    with pytest.raises(parquet.RefusedFile, match="^footer: not authentic"):
        parquet.decrypt(data, bytes(31) + b"1")


@pytest.mark.parametrize("how", ["signed", "encrypted"])
@pytest.mark.parametrize("unique", [b"u", bytes(4096)])
def test_identifiers_of_other_lengths(how, unique):
    writer = writing.Writer(lambda *arguments: SEAL(*arguments, unique=unique))
    begin, size = writer.pages()
    data = getattr(writer, how)([[writing.chunk(writing.metadata(begin, size))]], writing.algorithm(unique=unique))
    assert texts_of(data) == {(0, "a"): [b"one", b"the other"]}


def test_nested_columns():
    """The schema is cut to what is kept."""
    group = {"a": {"list": {"x": None, "y": None}}, "b": {"z": None}}
    elements = []

    def add(name, children):
        fields = {4: writing.binary(name.encode())}
        fields.update({1: writing.integer(2, writing.I32)} if children is None else {5: writing.integer(len(children), writing.I32)})
        elements.append(writing.struct(fields))
        for each in children or {}:
            add(each, children[each])

    add("schema", group)
    chunks = [writing.metadata(4, 0, f3=writing.list_of(writing.BINARY, [writing.binary(p) for p in path.split(b".")]))
              for path in (b"a.list.x", b"a.list.y", b"b.z")]
    footer = writing.struct({1: writing.integer(1, writing.I32), 2: writing.list_of(writing.STRUCT, elements),
                             4: writing.list_of(writing.STRUCT, [writing.struct({1: writing.list_of(
                                 writing.STRUCT, list(map(writing.chunk, chunks)))})]), 8: writing.algorithm()})
    data = writing.Writer(SEAL).end_signed(footer[1])
    for columns, left, kept in [
        (None, [], ["schema 2", "a 1", "list 2", "x", "y", "b 1", "z"]),
        (["a.list.y"], ["a.list.x", "b.z"], ["schema 1", "a 1", "list 1", "y"]),
        (["b", "a.list.x"], ["a.list.y"], ["schema 2", "a 1", "list 1", "x", "b 1", "z"]),
    ]:
        plain = parquet.decrypt(data, KEY, columns=columns)
        end = plain.file[-8 - int.from_bytes(plain.file[-8:-4], "little"):-8]
        schema = _thrift.read(bytes(end))[0][2][1].values
        assert plain.left == left
        assert [each[4][1].decode() + (f" {each[5][1]}" if 5 in each else "") for each in schema] == kept
    for name in "b", b"b":
        with pytest.raises(TypeError, match=f"^columns is {name!r}: expected a sequence of names, or None$"):
            parquet.decrypt(data, KEY, columns=name)


# ---- Memory of a device ----------------------------------------------------------------


@pytest.fixture
def copied(monkeypatch):
    """The sizes of all copies within the device."""
    sizes, copy = [], _driver.Lane.copy

    def noticed(lane, to, source, count):
        sizes.append(count)
        copy(lane, to, source, count)

    monkeypatch.setattr(_driver.Lane, "copy", noticed)
    return sizes


@pytest.fixture(params=[0, 1 << 40], ids=["copied-by-device", "copied-by-host"])
def by_device(request, monkeypatch):
    """Whether the device copies files that are on it, or the host sends all but texts of pages."""
    monkeypatch.setattr(parquet, "_BYTES_OF_A_COPY", request.param)
    return not request.param


def of_kind(kind, how, long=False, texts=(b"one", b"the other")):
    """A small file of one of KINDS."""
    seal, algorithm = KINDS[kind]
    writer = writing.Writer(seal)
    place = writer.pages(texts=texts, header=lambda text, page: writing.page_header(
        text, text if kind == "DuckDB" else page, {4: writing.integer(5, writing.I32)}, long))
    chunk = writing.chunk(writing.metadata(*place), **({"crypto": None} if kind == "DuckDB" else {}))
    return getattr(writer, how)([[chunk]], algorithm)


def files_for_devices(how):
    """Yields (FILE, how to decrypt it): with pages that are not encrypted, indexes, Bloom filters, and of all kinds."""
    for long in False, True:
        yield example(how, long=long, plain=b"not encrypted, and stays as it is"), {"keys": KEYS}
    yield example(how, plain=b"left"), {"keys": KEYS, "columns": ["b", "d"]}
    for extras in {}, {"bloom": b"", "bits": b""}, {"at": 1 << 40}:
        yield with_extras(**extras), {"keys": KEY}
    for kind in KINDS:
        yield of_kind(kind, how), {"keys": KEY, "unauthenticated_pages": kind == "CTR"}
    yield getattr(writing.Writer(SEAL), how)([]), {"keys": KEY}


@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_device_memory(how, device_array, cuda_stream, by_device, copied):
    """From the host or a device, to the device, whose streams are one or two."""
    for data, options in files_for_devices(how):
        expected = parquet.decrypt(data, **options)
        before = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        for stream in None, cuda_stream:
            on_device, on_host = device_array(data, stream=stream), bytearray(data)
            usual, other = device_array(b"x"), device_array(b"x", stream=cuda_stream)
            for source, like in (on_host, usual), (on_device, None), (on_device, usual), (on_device, other):
                copied.clear()
                plain = parquet.decrypt(source, like=like, **options)
                assert copied == ([before] if by_device and source is on_device else [])
                assert plain.file.tobytes() == expected.file and plain[1:] == expected[1:]
                assert plain.file.__cuda_array_interface__["shape"] == (len(expected.file),)
            assert on_device.tobytes() == on_host == data


@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_wrong_files_in_device_memory(how, device_array, by_device, copied):
    data = example(how)
    header = 4 + int.from_bytes(data[4:8], "little")
    for at, said, is_copied in (10, ", header", False), (4 + header + 20, "", by_device):
        changed = bytearray(data)
        changed[at] ^= 1
        copied.clear()
        with pytest.raises(parquet.RefusedFile, match=f"^row group 0, column a, dictionary{said}: not authentic"):
            parquet.decrypt(device_array(changed), KEYS)
        assert bool(copied) == is_copied
    for extras in {"places": 3}, {"numbers": (0, 1)}:
        with pytest.raises(parquet.RefusedFile, match="^row group 0, column a, "):
            parquet.decrypt(device_array(with_extras(**extras)), KEY)
    with pytest.raises(ValueError, match="^like is in memory of the host"):
        parquet.decrypt(data, KEYS, like=bytearray(1))


@pytest.mark.parametrize("kind", KINDS)
def test_large_pages_in_device_memory(kind, device_array, copied):
    """They are copied within the device, and headers one by one; of small ones, the host sends all but texts."""
    for sizes, by_device in ((100_000, 200_000), True), ((30_000, 24_000), True), ((24_000, 24_000), False), ((9, 300), False):
        data = of_kind(kind, "encrypted", texts=list(map(os.urandom, sizes)))
        options = {"unauthenticated_pages": kind == "CTR"}
        on_device, expected = device_array(data), parquet.decrypt(data, KEY, **options).file
        assert parquet.decrypt(on_device, KEY, **options).file.tobytes() == expected
        assert len(copied) == by_device and on_device.tobytes() == data
        copied.clear()


@pytest.mark.parametrize("piece", [1, 16, 1000, 5000])
def test_pieces_of_a_file_are_fetched(piece, device_array, monkeypatch):
    """What a read asks for may begin before the piece that the host has, or be longer than one."""
    monkeypatch.setattr(_parquet_bytes, "_PIECE_BYTES", piece)
    for kind in KINDS:
        data = of_kind(kind, "encrypted", texts=list(map(os.urandom, (3000, 10, 2000))))
        options = {"unauthenticated_pages": kind == "CTR"}
        expected = parquet.decrypt(data, KEY, **options).file
        assert parquet.decrypt(device_array(data), KEY, **options).file.tobytes() == expected
    data = example("signed")
    assert parquet.decrypt(device_array(data), KEYS).file.tobytes() == parquet.decrypt(data, KEYS).file


def test_without_pinned_memory_nothing_is_read(device_array, monkeypatch):
    data, lib = example("signed"), _pinned.lib
    monkeypatch.setattr(_pinned, "lib", types.SimpleNamespace(gpuaes_pinned_alloc=lambda count: 0))
    with pytest.raises(GpuaesError, match="^allocating pinned memory"):
        parquet.decrypt(device_array(data), KEYS)
    monkeypatch.setattr(_pinned, "lib", lib)
    assert parquet.decrypt(device_array(data), KEYS).file.tobytes() == parquet.decrypt(data, KEYS).file


def test_memory_of_the_caller_is_read_only(device_array, monkeypatch):
    files, make = [], parquet.File

    def noticed(*arguments):
        files.append(make(*arguments))
        return files[-1]

    monkeypatch.setattr(parquet, "File", noticed)
    data = example("signed")
    for source in data, bytearray(data), memoryview(bytearray(data)), device_array(data):
        parquet.decrypt(source, KEYS, like=device_array(b"x"))
    assert [file.before_footer.readonly for file in files] == [True, True, True, False]  # the last is a copy


def test_headers_are_changed_as_structs_are(rng):
    """Whatever the short way makes of a header, the long one does, too."""
    inner = _thrift.Struct({1: (writing.I32, 7), 2: (writing.BINARY, b"most"), 5: (writing.STRUCT, _thrift.Struct())})
    changed = 0
    for _ in range(3000):
        large = rng.randrange(1 << rng.randrange(1, 60)) - 9
        kinds = (writing.I64, large), (writing.BINARY, b"text"), (writing.STRUCT, inner), (1, 1)
        numbers = {1, 2, *rng.sample((4, 4, 5, 6, 9, 14, 19, 33), rng.randrange(4))}
        size = rng.randrange(1 << rng.randrange(1, 30))
        fields = _thrift.Struct({number: rng.choice(kinds) for number in numbers} | {3: (writing.I32, size)})
        data = fields.tobytes() + b"behind"
        if rng.randrange(2):
            data = damaged(rng, data)
        short = _thrift.with_integer(data, 3, size, size // 2, dropped=4)
        if short is not None:
            expected = _thrift.read(data)[0]
            assert expected.pop(3) == (writing.I32, size)
            expected.pop(4, None)
            found, end = _thrift.read(short)
            assert found.pop(3) == (writing.I32, size // 2) and found == expected and end == len(short) <= len(data)
            changed += 1
    assert changed > 500


# ---- Files that must be refused ----------------------------------------------------------


@pytest.mark.parametrize("how", ["signed", "encrypted"])
@pytest.mark.parametrize("stored, wanted, given, said", [
    (b"one", False, b"two", "aad_prefix is not the AAD prefix that the file has"),
    (b"one", True, b"", "aad_prefix is empty: expected that of the file, which does not have it"),
    (None, True, b"", "aad_prefix is empty: expected that of the file, which does not have it"),
    (None, False, b"one", "aad_prefix is given: expected none, since the file was written without"),
])
def test_prefixes_must_agree(how, stored, wanted, given, said):
    data = getattr(writing.Writer(SEAL), how)([], writing.algorithm(stored, wants_prefix=wanted))
    with pytest.raises(parquet.RefusedFile) as refused:
        parquet.decrypt(data, KEY, aad_prefix=given)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    "data, place", [pytest.param(data, place, id=name) for name, data, place in writing.wrong(SEAL)]
)
def test_wrong_files_are_refused(data, place):
    """The example in C reads metadata with the footer, and so it says "footer" where it is a column here."""
    with pytest.raises(parquet.RefusedFile) as refused:
        parquet.decrypt(data, {None: KEY, "a": KEY})
    here = "row group 0, column a"
    assert str(refused.value).startswith((place or here, here, "footer: the AAD prefix or identifier has"))


@FORMS
@pytest.mark.parametrize("name", [name for name, _ in writing.wrong_headers(long=False)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong_page", [0, 1])
def test_wrong_headers_are_refused(kind, wrong_page, name, long, ways):
    """By what reads them, behind one that is right as well."""
    (seal, algorithm), header = KINDS[kind], dict(writing.wrong_headers(long))[name]
    made = []

    def each(text, page):
        sizes = text, text if kind == "DuckDB" else page
        made.append(sizes)
        if len(made) <= wrong_page:
            return writing.page_header(*sizes)
        return header(*sizes) if callable(header) else header

    writer = writing.Writer(seal)
    place = writer.pages(header=each)
    chunk = writing.chunk(writing.metadata(*place), **({"crypto": None} if kind == "DuckDB" else {}))
    with pytest.raises(parquet.RefusedFile, match=f"^row group 0, column a, page {wrong_page}, header: "):
        parquet.decrypt(writer.signed([[chunk]], algorithm), KEY, unauthenticated_pages=kind == "CTR")
    assert ways == {**({"short": 1} if wrong_page else {}), "long": 1}


def with_schema(*elements, columns=0):
    """A file with this schema, of elements (name, children)."""
    described = [writing.struct({
        4: writing.binary(name),
        **({1: writing.integer(2, writing.I32)} if children is None else {5: writing.integer(children, writing.I32)}),
    }) for name, children in elements]
    chunks = [writing.chunk(writing.metadata(4, 0, b"a"))] * columns
    groups = [writing.struct({1: writing.list_of(writing.STRUCT, chunks)})]
    return writing.Writer(SEAL).end_signed(writing.struct({
        2: writing.list_of(writing.STRUCT, described), 4: writing.list_of(writing.STRUCT, groups), 8: writing.algorithm()})[1])


@pytest.mark.parametrize("said, elements, columns", [
    ("the schema has 0 elements", [], 0),
    ("the schema ends within a group", [(b"s", 1)], 0),
    ("the schema ends within a group", [(b"s", 1 << 31), (b"a", None)], 1),
    ("element 2 of the schema has no parent", [(b"s", 1), (b"a", None), (b"b", None)], 2),
    ("element 1 of the schema has no parent", [(b"s", 0), (b"a", None)], 1),
    ("element 1 of the schema has no parent", [(b"s", -1), (b"a", None)], 1),
    ("row group 0 has 0 columns, and the schema 1", [(b"s", 1), (b"a", None)], 0),
    ("row group 0 has 2 columns, and the schema 1", [(b"s", 1), (b"a", None)], 2),
    ("a column has a path of more than 1024", [(b"s", 1), (b"a" * 1025, None)], 1),
    ("a column has a path of more than 1024", [(b"s", 1)] * 2000, 0),
    ("the name of element 1 of the schema is not UTF-8", [(b"s", 1), (b"\xff", None)], 1),
    ("the schema has 65538 elements", [(b"s", 65_537)] + [(b"", 0)] * 65_537, 0),
], ids=lambda value: value[:40] if isinstance(value, str) else "")
def test_wrong_schemas_are_refused(said, elements, columns):
    with pytest.raises(parquet.RefusedFile, match=f"^footer: {said}"):
        parquet.decrypt(with_schema(*elements, columns=columns), KEY)


@pytest.mark.parametrize("said, fields", [
    ("row group 0, column a: it is in another file", {1: writing.binary(b"other")}),
    ("row group 0, column a, Bloom filter, header: it lies outside", {3: writing.metadata(4, 0, f14=writing.integer(1 << 40))}),
    ("row group 0, column a, Bloom filter, header: truncated", {3: writing.metadata(4, 0, f14=writing.integer(4))}),
    ("row group 0, column a, metadata: it is that of another column", {3: writing.metadata(4, 0, b"b")}),
])
def test_wrong_chunks_are_refused(said, fields):
    data = writing.Writer(SEAL).signed([[writing.chunk(writing.metadata(4, 0), more=fields)]])
    with pytest.raises(parquet.RefusedFile, match=f"^{said}"):
        parquet.decrypt(data, KEY)


@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_truncated_files_are_refused(how):
    """At each boundary of a module, and near it: the end of the file is missing, or what is before its footer."""
    data = example(how)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    cuts = {len(data) - count for count in (1, 3, 4, 5, 8, 9, 24, 25, 36, 37)} | {footer - 1, footer, footer + 1}
    at = 4
    while at < footer:
        cuts |= {at - 1, at, at + 1, at + 4, at + 16}
        at += 4 + int.from_bytes(data[at:at + 4], "little")
    assert at == footer
    for cut in sorted(cuts):
        with pytest.raises(parquet.RefusedFile):
            parquet.decrypt(data[:cut], KEYS)
        if cut < footer:
            with pytest.raises(parquet.RefusedFile):
                parquet.decrypt(data[:cut] + data[footer:], KEYS)


def test_exchanged_modules_are_refused():
    """Pages of one size: of another page, column, row group and file."""
    texts = [b"one", b"two"]

    def file():
        writer = writing.Writer(SEAL)
        places = [[writer.pages(row_group, column, texts) for column in range(2)] for row_group in range(2)]
        groups = [[writing.chunk(writing.metadata(*place, name=name)) for name, place in zip((b"a", b"b"), group)]
                  for group in places]
        return writer.signed(groups), [[place[0] for place in group] for group in places]

    data, places = file()
    assert texts_of(data) == {(row_group, name): texts for row_group in range(2) for name in "ab"}
    header = 4 + int.from_bytes(data[4:8], "little")
    page = 4 + int.from_bytes(data[4 + header:8 + header], "little")
    first = places[0][0]
    for other, said in [(first + header + page, "page 0"), (places[0][1], "page 0"), (places[1][0], "page 0")]:
        for begin, size, part in (0, header, f"{said}, header"), (header, page, said):
            changed = bytearray(data)
            for to, source in (first, other), (other, first):
                changed[to + begin:to + begin + size] = data[source + begin:source + begin + size]
            with pytest.raises(parquet.RefusedFile, match=f"^row group 0, column a, {part}: not authentic"):
                parquet.decrypt(changed, KEY)
    other = file()[0]
    assert texts_of(data[:first] + other[first:]) == texts_of(other)  # the same identifier and key: allowed
    unique = b"another!"
    writer = writing.Writer(lambda *arguments: SEAL(*arguments, unique=unique))
    places = [writer.pages(0, column, texts) for column in range(2)]
    chunks = [writing.chunk(writing.metadata(*place, name=name)) for name, place in zip((b"a", b"b"), places)]
    other = writer.signed([chunks], writing.algorithm(unique=unique))
    assert texts_of(other) == {(0, "a"): texts, (0, "b"): texts}
    with pytest.raises(parquet.RefusedFile, match="^row group 0, column a, page 0, header: not authentic"):
        parquet.decrypt(data[:first + header] + other[first + header:], KEY)


@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_changed_bytes_are_refused(how, rng):
    data = example(how)
    for at in [len(data) - 1, len(data) - 5, *rng.sample(range(4, len(data)), 60)]:
        changed = bytearray(data)
        changed[at] ^= 1 << rng.randrange(8)
        with pytest.raises(parquet.RefusedFile):
            parquet.decrypt(changed, KEYS)


@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_other_keys_are_refused(how):
    data = example(how)
    for name, place in (None, "footer"), ("b", "row group 0, column b, metadata"), ("c", "row group 0, column c, metadata"):
        for other in bytes(len(KEYS[name]) - 1) + b"x", bytes({16: 24, 24: 32, 32: 16}[len(KEYS[name])]):
            with pytest.raises(parquet.RefusedFile, match=f"^{place}: not authentic: another key, or changed$"):
                parquet.decrypt(data, {**KEYS, name: other})


@pytest.mark.parametrize("hostile", [
    (writing.LIST, b"\xfc" + writing.varint(100_000) + bytes(100_000)),  # of empty structs
    (writing.LIST, b"\xfc" + writing.varint(50_000) + b"\x11\0" * 50_000), (writing.STRUCT, b"\x11" * 100_000 + b"\0"),
    (writing.LIST, b"\xf9" + writing.varint(100_000) + bytes(100_000)),  # of empty lists
    (writing.LIST, b"\xf1" + writing.varint(100_000) + bytes(100_000)), writing.binary(bytes(100_000)),
], ids=["structs", "fields", "struct", "lists", "booleans", "bytes"])
@pytest.mark.parametrize("how", ["signed", "encrypted"])
def test_memory_before_the_footer_is_authentic(how, hostile):
    """Little is taken, whatever nobody has authenticated."""
    signed = how == "signed"
    within = writing.struct({1: writing.struct({2: writing.binary(writing.UNIQUE), 9: hostile})})
    for algorithm, said in (writing.algorithm(), "not authentic"), (within, "a struct has field . .*of more than 65536 bytes"):
        fields = writing.struct({2: hostile, 8: algorithm} if signed else {1: algorithm, 3: hostile})[1]
        end = fields + bytes(28) if signed else fields + struct.pack("<I", 28) + bytes(28)
        data = b"PAR1" + end + struct.pack("<I", len(end)) + (b"PAR1" if signed else b"PARE")
        tracemalloc.start()
        with pytest.raises(parquet.RefusedFile, match="^footer: " + said):
            parquet.decrypt(data, KEY)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < (1 << 20) + 4 * len(data), f"{most} bytes for a file of {len(data)}"


def test_the_refusal_is_caught_as_others_are():
    for kind in InvalidTag, ValueError, parquet.RefusedFile:
        with pytest.raises(kind) as refused:
            parquet.decrypt(b"", KEY)
    again = pickle.loads(pickle.dumps(refused.value))
    assert isinstance(again, parquet.RefusedFile) and str(again) == str(refused.value)


@pytest.mark.parametrize("said, metadata", [
    ("it is no object of JSON", b"\xff\xfe"), ("it is no object of JSON", b"[" * 100_000), ("it is no object of JSON", b"[]"),
    ("it is no object of JSON", b"{"), ("internalStorage is NoneType, not bool", b"{}"),
    ("keyMaterialType is int, not str", b'{"internalStorage": true, "keyMaterialType": 1}'),
    ("it has the type 'X', not 'PKMT1'", b'{"internalStorage": true, "keyMaterialType": "X"}'),
    ("wrappedDEK is NoneType, not str", b'{"internalStorage": true, "keyMaterialType": "PKMT1", "masterKeyID": "a"}'),
    ("wrappedDEK is no Base64", b'{"internalStorage": true, "keyMaterialType": "PKMT1", "masterKeyID": "a", '
     b'"wrappedDEK": "?", "wrappedKEK": "a", "doubleWrapping": true, "keyEncryptionKeyID": "YQ=="}'),
    ("not authentic: another master key, or changed", b'{"internalStorage": true, "keyMaterialType": "PKMT1", '
     b'"masterKeyID": "a", "wrappedDEK": "YQ==", "wrappedKEK": "a", "doubleWrapping": true, "keyEncryptionKeyID": "YQ=="}'),
])
def test_wrong_key_material_is_refused(said, metadata):
    keys = parquet.KmsKeys(lambda wrapped, master: KEY)
    for column, place in (None, "footer"), ("a", "column a"):
        with pytest.raises(parquet.RefusedFile, match=f"^{place}, key metadata: {said}"):
            keys(column, metadata)


def test_key_material_of_another_file():
    material = '{"internalStorage": true, "keyMaterialType": "PKMT1", "masterKeyID": "m", "wrappedDEK": "w", "doubleWrapping": false}'
    keys = parquet.KmsKeys(lambda *wrapped: KEY if wrapped == ("w", "m") else None, {"first": material})
    reference = '{"internalStorage": false, "keyMaterialType": "PKMT1", "keyReference": "%s"}'
    assert keys("a", (reference % "first").encode()) == KEY
    assert keys("a", None) is None
    with pytest.raises(ValueError, match="^materials has no 'second': expected it for column a, key metadata$"):
        keys("a", (reference % "second").encode())


def damaged(rng, data):
    """Bytes that were changed, left out, repeated or put in, such as large numbers."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        large = writing.integer(rng.choice((1, -1)) * (1 << rng.randrange(64)) - rng.randrange(2))[1]
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
@pytest.mark.parametrize("what", ["footer", "sealed footer", "metadata", "header", "file"])
def test_damaged_files_are_refused_or_read(how, what, rng, ways):
    """With right tags. Nothing else than RefusedFile comes of them, and no memory is taken by a number in them."""
    ciphers = seal_by(*KEYS.values())

    def change(data):
        return damaged(rng, data)

    def seal(kind, numbers, text):
        return ciphers(kind, numbers, change(text) if kind == writing.FOOTER and how == "encrypted" else text)

    def header(text, page):
        """Of most pages, it is right."""
        checksum = {4: writing.integer(rng.randrange(1 << 30), writing.I32)} if rng.randrange(2) else {}
        kind, data = writing.page_header(text, page, checksum, long=rng.randrange(4) == 0)
        return kind, data if rng.randrange(20) else change(data)

    ends = set()
    for _ in range(60):
        if what == "file":
            data = change(example(how))
        elif what == "header":
            data = example(how, header=header)
        elif what == "sealed footer":
            data = example(how, seal=seal, change=change if how == "signed" else bytes)
        else:
            data = example(how, **{"change" if what == "footer" else "change_sealed": change})
        tracemalloc.start()
        try:
            ends.add("read" if parquet.decrypt(data, KEYS) else "")
        except parquet.RefusedFile as refused:
            ends.add(str(refused).rpartition(": ")[2])
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < (1 << 20) + 500 * len(data), f"{most} bytes for a file of {len(data)}"
    assert len(ends) > 3, ends
    assert what != "header" or ("read" in ends and min(ways["short"], ways["long"]) > 10), (ends, ways)
