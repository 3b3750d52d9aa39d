"""gpuaes.formats.parquet with files that pyarrow encrypted: it reads the plain ones as it reads these.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import base64
import datetime
import decimal
import io
import json

import pytest

pytest.importorskip("gpuaes", exc_type=ImportError)
pyarrow = pytest.importorskip("pyarrow", exc_type=ImportError)
encryption = pytest.importorskip("pyarrow.parquet.encryption")
if not hasattr(encryption, "create_encryption_properties"):
    pytest.skip("pyarrow has no keys of the caller: expected 25 or newer", allow_module_level=True)
from pyarrow import fs as filesystem, parquet as theirs  # noqa: E402

from gpuaes.formats import _parquet_file, _thrift, parquet  # noqa: E402

KEY, PREFIX = bytes(range(32)), b"a prefix of some length"
# Before 26, a signed footer says AES_GCM_V1 of either, and pyarrow does not read its own file.
KINDS = [(name, signed) for name in ("AES_GCM_V1", "AES_GCM_CTR_V1") for signed in (False, True)]
if int(pyarrow.__version__.split(".")[0]) < 26:
    KINDS.remove(("AES_GCM_CTR_V1", True))
ALLOWED = {"AES_GCM_V1": {}, "AES_GCM_CTR_V1": {"unauthenticated_pages": True}}
ROWS = 2000


def table(rows=ROWS):
    words = [None if i % 7 == 0 else f"word {i % 50}" for i in range(rows)]
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    columns = {
        "plain": pyarrow.array([i * i for i in range(rows)], pyarrow.int64()),
        "words": pyarrow.array(words, pyarrow.string()),
        "coded": pyarrow.array(words, pyarrow.large_string()).dictionary_encode(),
        "lists": pyarrow.array([list(range(i % 4)) for i in range(rows)], pyarrow.list_(pyarrow.int32())),
        "maps": pyarrow.array([[(f"k{j}", j) for j in range(i % 3)] for i in range(rows)], pyarrow.map_("string", "int64")),
        "records": pyarrow.array([{"x": i, "y": {"z": str(i), "w": i % 2 == 0}} for i in range(rows)]),
        "moments": pyarrow.array([moment + datetime.timedelta(i) for i in range(rows)], pyarrow.timestamp("us", "UTC")),
        "sums": pyarrow.array([decimal.Decimal(i) / 4 for i in range(rows)], pyarrow.decimal128(12, 2)),
        "nothing": pyarrow.nulls(rows),
    }
    fields = [pyarrow.field(name, data.type, nullable=name != "plain") for name, data in columns.items()]
    return pyarrow.table(list(columns.values()), pyarrow.schema(fields, {"of": "the table"}))


def written(tables, properties=None, schema=None, **options):
    options = {"compression": "snappy", "data_page_size": 2000, "write_batch_size": 100, **options}
    out = io.BytesIO()
    with theirs.ParquetWriter(out, schema or tables[0].schema, encryption_properties=properties, **options) as writer:
        for each in tables:
            writer.write_table(each, row_group_size=ROWS // 2 - 100)
    return out.getvalue()


def expected(*tables, columns=None, **shape):
    """What pyarrow reads where nothing was encrypted."""
    return theirs.ParquetFile(io.BytesIO(written(tables, **shape))).read(columns)


def sealed_by(key=KEY, **how):
    return encryption.create_encryption_properties(key, **how)


def read(plain):
    """pyarrow reads it, and what says where something is is right."""
    data = bytes(plain.file)
    footer, _ = _thrift.read(data[-8 - int.from_bytes(data[-8:-4], "little"):-8])
    for page in plain.pages:
        header, length = _thrift.read(data[page.begin:page.begin + page.header_bytes])
        assert length == page.header_bytes and header[3][1] == page.text_bytes
        assert (header[1][1] == 2) == page.is_dictionary
    for group in footer[4][1].values:
        for chunk in group[1][1].values:
            assert 8 not in chunk and 9 not in chunk
            if 4 in chunk:
                index, length = _thrift.read(data[chunk[4][1]:])
                assert length == chunk[5][1]
                for place in index[1][1].values:
                    header, length = _thrift.read(data[place[1][1]:])
                    assert length + header[3][1] == place[2][1]
            if 6 in chunk:
                assert _thrift.read(data[chunk[6][1]:])[1] == chunk[7][1]
    return theirs.ParquetFile(pyarrow.BufferReader(plain.file), page_checksum_verification=True).read()


SHAPES = [
    {}, {"use_dictionary": False, "compression": "none"}, {"write_page_index": True}, {"write_page_checksum": True},
    {"data_page_version": "2.0", "compression": "zstd"}, {"write_statistics": False, "store_schema": False},
    {"data_page_size": 1 << 20, "compression": "gzip"}, {"use_dictionary": ["words"], "use_byte_stream_split": ["plain"]},
]


@pytest.mark.parametrize("algorithm, signed", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_files_are_read(algorithm, signed, shape):
    properties = sealed_by(encryption_algorithm=algorithm, plaintext_footer=signed)
    data = written([table()], properties, **shape)
    plain = parquet.decrypt(data, KEY, **ALLOWED[algorithm])
    if ALLOWED[algorithm]:
        with pytest.raises(parquet.RefusedFile, match="^footer: AES_GCM_CTR_V1: .* expected unauthenticated_pages=True$"):
            parquet.decrypt(data, KEY)
    assert plain.left == []
    found, wanted = read(plain), expected(table(), **shape)
    assert found == wanted and found.schema.equals(wanted.schema, check_metadata=True)


@pytest.mark.parametrize("algorithm, signed", KINDS)
@pytest.mark.parametrize("dictionary", [True, False])
def test_row_groups_without_rows(algorithm, signed, dictionary):
    some = table(100)
    none = some.slice(0, 0)
    for tables in [], [none], [some, none, some], [none, some, none]:
        for page_index in True, False:
            shape = {"use_dictionary": dictionary, "write_page_index": page_index, "schema": some.schema}
            properties = sealed_by(encryption_algorithm=algorithm, plaintext_footer=signed)
            plain = parquet.decrypt(written(tables, properties, **shape), KEY, **ALLOWED[algorithm])
            assert read(plain) == expected(*tables, **shape)


@pytest.mark.parametrize("size", [16, 24, 32])
def test_key_sizes(size):
    plain = parquet.decrypt(written([table(100)], sealed_by(KEY[:size])), KEY[:size])
    assert read(plain) == expected(table(100))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("stored", [False, True])
def test_prefixes(signed, stored):
    data = written([table(10)], sealed_by(plaintext_footer=signed, aad_prefix=PREFIX, store_aad_prefix=stored))
    assert read(parquet.decrypt(data, KEY, aad_prefix=PREFIX)) == expected(table(10))
    if stored:
        assert read(parquet.decrypt(data, KEY)) == expected(table(10))
    else:
        with pytest.raises(parquet.RefusedFile, match="^aad_prefix is empty"):
            parquet.decrypt(data, KEY)
    with pytest.raises(parquet.RefusedFile, match="^aad_prefix is not the" if stored else "^footer: not authentic"):
        parquet.decrypt(data, KEY, aad_prefix=b"another")
    with pytest.raises(parquet.RefusedFile, match="^aad_prefix is given"):
        parquet.decrypt(written([table(10)], sealed_by(plaintext_footer=signed)), KEY, aad_prefix=b"another")


def test_memory_of_the_host():
    data = written([table(50)], sealed_by())
    for kind in bytearray, memoryview, pyarrow.py_buffer:
        assert read(parquet.decrypt(kind(data), KEY)) == expected(table(50))


@pytest.mark.parametrize("algorithm, signed", KINDS)
@pytest.mark.parametrize("bytes_of_a_copy", [0, 1 << 40], ids=["copied-by-device", "copied-by-host"])
def test_memory_of_a_device(algorithm, signed, bytes_of_a_copy, device_array, monkeypatch):
    monkeypatch.setattr(parquet, "_BYTES_OF_A_COPY", bytes_of_a_copy)
    shape = {"write_page_index": True, "write_page_checksum": True}
    data = written([table()], sealed_by(encryption_algorithm=algorithm, plaintext_footer=signed), **shape)
    plain = parquet.decrypt(device_array(data), KEY, **ALLOWED[algorithm])
    plain = plain._replace(file=plain.file.tobytes())
    assert plain == parquet.decrypt(data, KEY, **ALLOWED[algorithm]) and read(plain) == expected(table(), **shape)


def test_headers_are_changed_within_their_bytes(monkeypatch):
    """pyarrow writes no header that must be read."""
    monkeypatch.setattr(_parquet_file.File, "_plain_header", None)
    data = written([table()], sealed_by(), write_page_checksum=True)
    assert read(parquet.decrypt(data, KEY)) == expected(table(), write_page_checksum=True)


def test_parts_of_columns():
    """Indexes, sizes and types are right in what remains."""
    whole = table(500)
    data = written([whole], sealed_by(), write_page_index=True)
    for columns in ["words"], ["lists", "plain"], ["records.y"], ["records.x", "maps", "sums"], []:
        plain = parquet.decrypt(data, KEY, columns=columns)
        kept = {page.column for page in plain.pages}
        assert all(name.startswith(tuple(columns)) for name in kept) and not kept.intersection(plain.left)
        found = read(plain)
        assert found == expected(whole, columns=columns).select(found.column_names)
        assert set(found.column_names) == {name.split(".")[0] for name in columns}
    with pytest.raises(ValueError, match="^columns has 'word'"):
        parquet.decrypt(data, KEY, columns=["word"])


@pytest.mark.parametrize("size", [16, 24, 32])
def test_files_of_duckdb(size, tmp_path):
    """They have no additional data."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.execute("SET force_mbedtls_unsafe = 'true'")  # no extension, which it would download
    key = b"of letters that DuckDB takes as bytes"[:size]
    connection.execute(f"PRAGMA add_parquet_key('key', '{key.decode()}')")
    connection.execute(
        "CREATE TABLE of_all AS SELECT i, CASE WHEN i % 7 = 0 THEN NULL ELSE 'word ' || i % 50 END AS word, [i, i + 1] AS list,"
        " {x: i / 4, y: {z: 'z' || i}} AS record FROM range(10000) rows(i)")
    for name, options in ("sealed", "ENCRYPTION_CONFIG {footer_key: 'key'}, "), ("open", ""):
        connection.execute(f"COPY of_all TO '{tmp_path}/{name}' (FORMAT parquet, {options} ROW_GROUP_SIZE 4096)")
    wanted = theirs.read_table(tmp_path / "open")
    data = (tmp_path / "sealed").read_bytes()
    assert read(parquet.decrypt(data, key)) == wanted
    assert read(parquet.decrypt(data, key, columns=["word"])) == wanted.select(["word"])
    with pytest.raises(parquet.RefusedFile, match="^footer: not authentic"):
        parquet.decrypt(data, bytes(size))


# ---- Keys that a service wraps -----------------------------------------------------------


class Kms(encryption.KmsClient):
    """Wraps keys by showing them backwards, and counts what it unwraps."""

    def __init__(self, _configuration=None):
        encryption.KmsClient.__init__(self)
        self.unwrapped = []

    def wrap_key(self, key_bytes, master_key_identifier):
        return base64.b64encode(key_bytes[::-1] + master_key_identifier.encode())

    def unwrap_key(self, wrapped_key, master_key_identifier):
        self.unwrapped.append(master_key_identifier)
        name = master_key_identifier.encode()
        key = base64.b64decode(wrapped_key)
        assert key.endswith(name)
        return key[:-len(name)][::-1]


COLUMN_KEYS = {"a": ["plain"], "b": ["words", "lists.list.element"], "c": ["records.x"]}


def wrapped(tables, shape=None, **how):
    configuration = encryption.EncryptionConfiguration(footer_key="f", **{"column_keys": COLUMN_KEYS, **how})
    factory = encryption.CryptoFactory(Kms)
    return written(
        tables, factory.file_encryption_properties(encryption.KmsConnectionConfig(), configuration), **(shape or {}))


@pytest.mark.parametrize("algorithm, signed", KINDS)
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("bits", [128, 192, 256])
def test_wrapped_keys(algorithm, signed, double, bits):
    how = {"double_wrapping": double, "encryption_algorithm": algorithm, "plaintext_footer": signed}
    data = wrapped([table()], {"write_page_index": True}, data_key_length_bits=bits, **how)
    kms, allowed = Kms(), ALLOWED[algorithm]
    plain = parquet.decrypt(data, parquet.KmsKeys(kms.unwrap_key), **allowed)
    assert read(plain) == expected(table())
    assert {page.column for page in plain.pages} == {"plain", "words", "lists.list.element", "records.x"}
    # A key that wraps keys is unwrapped once, for all columns and row groups.
    assert sorted(kms.unwrapped) == (list("abcf") if double else list("abbcf"))
    # With its own unwrap function, a key may be refused: its columns are left.
    known = parquet.KmsKeys(lambda key, name: None if name in "bc" else kms.unwrap_key(key, name))
    plain = parquet.decrypt(data, known, **allowed)
    assert plain.left == ["words", "lists.list.element", "records.x"]
    kept = [name for name in table().column_names if name not in ("words", "lists")]
    wanted = expected(table(), columns=kept, store_schema=False).to_pydict()
    for record in wanted["records"]:
        del record["x"]
    assert read(plain).to_pydict() == wanted
    with pytest.raises(ValueError, match="^columns has words, whose key is missing$"):
        parquet.decrypt(data, known, columns=["words"], **allowed)
    columns = ["plain", "sums"]
    assert read(parquet.decrypt(data, known, columns=columns, **allowed)) == expected(table(), columns=columns)


def test_wrapped_uniform_key():
    data = wrapped([table(100)], column_keys=None, uniform_encryption=True)
    kms = Kms()
    assert read(parquet.decrypt(data, parquet.KmsKeys(kms.unwrap_key))) == expected(table(100))
    assert kms.unwrapped == ["f"]


def test_wrapped_keys_in_a_file_of_their_own(tmp_path):
    path = tmp_path / "x.parquet"
    configuration = encryption.EncryptionConfiguration(footer_key="f", column_keys=COLUMN_KEYS, internal_key_material=False)
    properties = encryption.CryptoFactory(Kms).file_encryption_properties(
        encryption.KmsConnectionConfig(), configuration, path, filesystem.LocalFileSystem())
    theirs.write_table(table(100), path, encryption_properties=properties)
    materials = json.loads((tmp_path / "_KEY_MATERIAL_FOR_x.parquet.json").read_text())
    keys = parquet.KmsKeys(Kms().unwrap_key, materials)
    assert read(parquet.decrypt(path.read_bytes(), keys)) == expected(table(100))
    with pytest.raises(ValueError, match="^materials has no 'footerKey': expected it for footer, key metadata$"):
        parquet.decrypt(path.read_bytes(), parquet.KmsKeys(Kms().unwrap_key))


def test_keys_by_name():
    keys, kms = {}, Kms()
    finder = parquet.KmsKeys(kms.unwrap_key)

    def noticed(column, metadata):
        keys[column] = finder(column, metadata)
        return keys[column]

    data = wrapped([table(100)])
    assert read(parquet.decrypt(data, noticed)) == expected(table(100))
    assert set(keys) == {None, "plain", "words", "lists.list.element", "records.x"}
    assert read(parquet.decrypt(data, keys)) == expected(table(100))
    del keys["words"]
    assert parquet.decrypt(data, keys).left == ["words"]
    assert parquet.decrypt(data, keys[None]).left == ["plain", "words", "lists.list.element", "records.x"]
    with pytest.raises(parquet.RefusedFile, match="^row group 0, column plain, metadata: not authentic"):
        parquet.decrypt(data, {**keys, "plain": bytes(16)})
    with pytest.raises(parquet.RefusedFile, match="^footer: not authentic"):
        parquet.decrypt(data, bytes(16))
    with pytest.raises(ValueError, match="^the key of plain has 17 bytes: expected 16, 24 or 32$"):
        parquet.decrypt(data, {**keys, "plain": bytes(17)})
    with pytest.raises(ValueError, match="^keys has no key of the footer"):
        parquet.decrypt(data, {"plain": bytes(16)})
