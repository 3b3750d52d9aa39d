"""Writes encrypted Parquet files by pyarrow, and looks at what an example decrypted of them.

    parquet_files.py write FOLDER           a line for each file: NAME, options of the examples
    parquet_files.py check FOLDER NAME OUT  what an example wrote into the folder OUT
    parquet_files.py damage FOLDER NAME     a line for each file made of that: NAME, what must be said
    parquet_files.py rows FOLDER            a line for each file with row groups that have no rows: NAME, options
    parquet_files.py check_rows FOLDER NAME OUT
                                            what an example wrote of one of those
    parquet_files.py wrong FOLDER KEY       a line for each file with wrong structures: NAME, what must be said
    parquet_files.py random FOLDER KEY SEED COUNT
                                            a line for each file whose structures were changed at random: NAME

Pages that were decrypted must be those that pyarrow writes without encryption, and in a PLAIN column
the values that pyarrow reads from the encrypted file.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import base64
import os
import random
import struct
import sys

import pyarrow
import pyarrow.parquet as parquet
import pyarrow.parquet.encryption as encryption

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))

import parquet_writer  # noqa: E402
from gpuaes.aead import AESGCM  # noqa: E402
from gpuaes.formats import _thrift  # noqa: E402

ROWS, ROWS_OF_GROUP = 30_000, 12_000
OPEN_COLUMN = 3  # which is not encrypted where columns have keys
PREFIX = b"a prefix of some length"


def table():
    numbers = random.Random(1)
    words = [None if i % 7 == 0 else f"word {i % 50}" for i in range(ROWS)]
    lists = [list(range(i % 4)) for i in range(ROWS)]
    columns = {
        "plain": ([numbers.randrange(-(2**63), 2**63) for _ in range(ROWS)], pyarrow.int64(), False),
        "words": (words, pyarrow.string(), True),
        "lists": (lists, pyarrow.list_(pyarrow.int32()), True),
        "open": ([numbers.random() for _ in range(ROWS)], pyarrow.float64(), False),
    }
    schema = pyarrow.schema([pyarrow.field(n, t, nullable=null) for n, (_, t, null) in columns.items()])
    return pyarrow.table([pyarrow.array(v, t) for v, t, _ in columns.values()], schema=schema)


def write_table(path, **options):
    parquet.write_table(
        table(), path, row_group_size=ROWS_OF_GROUP, data_page_size=2_000, write_batch_size=250,
        use_dictionary=["words", "lists.list.element"], **options
    )


class Kms(encryption.KmsClient):
    """Wraps no key, and keeps those that it saw."""

    keys = {}

    def __init__(self, _configuration):
        encryption.KmsClient.__init__(self)

    def wrap_key(self, key_bytes, master_key_identifier):
        Kms.keys[master_key_identifier] = key_bytes
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key, master_key_identifier):
        return base64.b64decode(wrapped_key)


def factory():
    return encryption.CryptoFactory(Kms)


def write_with_column_keys(path, **options):
    """Three columns have keys of their own, and one is not encrypted."""
    configuration = encryption.EncryptionConfiguration(
        footer_key="footer", double_wrapping=False,
        column_keys={"a": ["plain"], "b": ["words"], "c": ["lists.list.element"]}, **options
    )
    properties = factory().file_encryption_properties(encryption.KmsConnectionConfig(), configuration)
    write_table(path, encryption_properties=properties, compression="none")
    keys = {name: key.hex() for name, key in Kms.keys.items()}
    return f"-f {keys['footer']} -k plain={keys['a']} -k words={keys['b']} -k lists.list.element={keys['c']}"


KEY = bytes(range(32))


def write_with_one_key(path, prefix, **options):
    """All columns have the footer's key; the file does not have the prefix."""
    properties = encryption.create_encryption_properties(
        KEY, aad_prefix=prefix, store_aad_prefix=False, **options
    )
    write_table(path, encryption_properties=properties, compression="snappy")
    return f"-f {KEY.hex()} -p {prefix.hex()}"


def decryption(name):
    if name.endswith("columns"):
        return factory().file_decryption_properties(encryption.KmsConnectionConfig())
    return encryption.create_decryption_properties(KEY, aad_prefix=PREFIX)


def kinds():
    for algorithm in "AES_GCM_V1", "AES_GCM_CTR_V1":
        for plaintext in False, True:
            how = {"encryption_algorithm": algorithm, "plaintext_footer": plaintext}
            yield f"{algorithm}-{'signed' if plaintext else 'encrypted'}", how


def asked_for(name):
    return " -u" if "CTR" in name else ""


def write(folder):
    for compression in "none", "snappy":
        write_table(f"{folder}/{compression}.parquet", compression=compression)
    for name, how in kinds():
        path = f"{folder}/{name}-columns"
        print(f"{name}-columns {write_with_column_keys(path, data_key_length_bits=256, **how)}{asked_for(name)}")
        path = f"{folder}/{name}-footer"
        print(f"{name}-footer {write_with_one_key(path, PREFIX, **how)}{asked_for(name)}")


def chunks(path, **options):
    """(row group, column, begin, end) of all."""
    metadata = parquet.ParquetFile(path, **options).metadata
    for row_group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(row_group).column(column)
            begin = chunk.dictionary_page_offset or chunk.data_page_offset
            yield row_group, column, begin, begin + chunk.total_compressed_size


def plain_pages(path):
    """The pages of each chunk of a file without encryption."""
    with open(path, "rb") as file:
        data = file.read()
    for row_group, column, at, end in chunks(path):
        pages = []
        while at < end:
            header, begin = _thrift.read(data, at)
            at = begin + header.must(3, _thrift.I32, "compressed_page_size")
            pages.append(data[begin:at])
        yield row_group, column, pages


def check(folder, name, out):
    """What an example wrote is what pyarrow writes without encryption, and what it reads with it."""
    path, one_key = f"{folder}/{name}", name.endswith("footer")
    table_read = parquet.read_table(path, decryption_properties=decryption(name))
    assert table_read == table()
    plain = []
    for row_group, column, pages in plain_pages(f"{folder}/{'snappy' if one_key else 'none'}.parquet"):
        file = f"{out}/{row_group}-{column}"
        if column == OPEN_COLUMN and not one_key:
            assert not os.path.exists(file), file
            continue
        assert len(pages) > 2, (row_group, column)
        with open(file, "rb") as opened:
            data = opened.read()
        assert data == b"".join(pages), file
        plain.append(data if column == 0 else b"")
    if not one_key:  # not compressed: these are the values
        values = table_read["plain"].to_pylist()
        assert list(struct.unpack(f"<{ROWS}q", b"".join(plain))) == values


def modules(path, name):
    """The places of all modules of pages, lists by (row group, column)."""
    with open(path, "rb") as file:
        data = file.read()
    found = {}
    for row_group, column, at, end in chunks(path, decryption_properties=decryption(name)):
        places = found[row_group, column] = []
        while at < end and not (column == OPEN_COLUMN and name.endswith("columns")):
            (length,) = struct.unpack_from("<I", data, at)
            places.append((at, at + 4 + length))
            at += 4 + length
    return data, found


def swap(data, first, second):
    """Two pieces that do not overlap change places."""
    (a, b), (c, d) = first, second
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def damage(folder, name):
    """Files that must be refused; prints their names, and what must be said."""
    data, places = modules(f"{folder}/{name}", name)
    numbers, words = places[1, 0], places[1, 1]  # header, page, header, page...; words: with a dictionary
    end = numbers[5][1]

    def both(page):
        """A page of numbers with its header."""
        return numbers[2 * page][0], numbers[2 * page + 1][1]

    def flip(at):
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]

    files = [
        ("truncated", data[:len(data) // 2], "truncated, or no Parquet file"),
        ("footer-changed", flip(len(data) - 100), "footer: "),
        ("header-changed", flip(numbers[2][0] + 20), "row group 1, column plain, page 1, header: not authentic"),
        ("dictionary-header-changed", flip(words[0][0] + 20), "row group 1, column words, page 0, header: not authentic"),
        ("length-changed", flip(numbers[2][0] + 3), "row group 1, column plain, page 1, header: truncated"),
        ("swapped", swap(data, both(1), both(3)), "row group 1, column plain, page 1, header: not authentic"),
    ]
    if "CTR" not in name:
        files += [
            ("page-changed", flip(end - 20), "row group 1, column plain, page 2: not authentic"),
            ("tag-changed", flip(end - 1), "row group 1, column plain, page 2: not authentic"),
            ("nonce-changed", flip(numbers[5][0] + 4), "row group 1, column plain, page 2: not authentic"),
            ("row-groups-swapped", swap(data, places[0, 0][1], numbers[1]), "row group 0, column plain, page 0: not authentic"),
            ("pages-swapped", swap(data, numbers[3], numbers[5]), "row group 1, column plain, page 1: not authentic"),
        ]
    else:  # nothing but the size is known of a page
        said = "row group 1, column words, page 0, header: the page has another size"
        files += [("page-of-another-size", swap(data, words[1], words[3]), said)]
    for kind, bytes_, said in files:
        with open(f"{folder}/{name}-{kind}", "wb") as file:
            file.write(bytes_)
        print(f"{name}-{kind} {said}")


# ---- Row groups without rows ------------------------------------------------------------


def rows(folder):
    """Files with the prefix in them, and the same without encryption."""
    some = pyarrow.table({"a": [1, 2, 3], "s": ["p", "q", None]})
    none = some.slice(0, 0)
    kinds = {"no-row-groups": [], "no-rows": [none], "rows-around": [some, none, some], "rows-within": [none, some, none]}
    for kind, tables in kinds.items():
        for dictionary in True, False:
            name = kind if dictionary else f"{kind}-no-dictionary"
            properties = encryption.create_encryption_properties(KEY, aad_prefix=PREFIX)
            for path, encrypted in (f"{folder}/{name}.plain", None), (f"{folder}/{name}", properties):
                with parquet.ParquetWriter(
                    path, some.schema, use_dictionary=dictionary, compression="none", encryption_properties=encrypted
                ) as writer:
                    for one in tables:
                        writer.write_table(one)
            print(name, f"-f {KEY.hex()}")


def check_rows(folder, name, out):
    """An example wrote the pages that pyarrow writes without encryption, and no files for chunks without pages."""
    path, plain = f"{folder}/{name}", f"{folder}/{name}.plain"
    properties = encryption.create_decryption_properties(KEY)
    assert parquet.read_table(path, decryption_properties=properties) == parquet.read_table(plain)
    expected = {
        f"{row_group}-{column}": b"".join(pages) for row_group, column, pages in plain_pages(plain) if pages
    }
    found = {}
    for file in os.listdir(out):
        with open(f"{out}/{file}", "rb") as opened:
            found[file] = opened.read()
    assert found == expected, (found, expected)


# ---- Structures that are wrong, with right signatures ------------------------------------


def seal_with(key):
    aead = AESGCM(key)

    def seal(kind, numbers, text):
        nonce = os.urandom(12)
        aad = struct.pack(f"<B{len(numbers)}H", kind, *(n & 0xFFFF for n in numbers))
        return nonce + aead.encrypt(nonce, text, parquet_writer.UNIQUE + aad)

    return seal


def wrong(folder, key):
    for name, data, said in parquet_writer.wrong(seal_with(bytes.fromhex(key))):
        with open(f"{folder}/wrong-{name}", "wb") as file:
            file.write(data)
        print(f"wrong-{name} {said}")


def key_sizes(folder):
    """Columns with the footer's key of 32 bytes, and with their own of 16 and 24."""
    sizes = (32, 16, 24)
    keys = [os.urandom(size) for size in sizes]
    writer = parquet_writer.Writer(lambda kind, numbers, text: seal_with(keys[numbers[1] if numbers else 0])(
        kind, numbers, text))
    chunks = [parquet_writer.chunk(parquet_writer.metadata(*writer.pages(0, 0), name=b"32"))]
    for column in 1, 2:
        name = str(sizes[column]).encode()
        described = parquet_writer.metadata(*writer.pages(0, column), name=name)
        sealed = writer.module(parquet_writer.COLUMN_METADATA, [0, column], described[1])
        chunks.append(parquet_writer.chunk(None, parquet_writer.by_column_key(name), sealed))
    with open(f"{folder}/key-sizes", "wb") as file:
        file.write(writer.encrypted([chunks], names=[b"32", b"16", b"24"]))
    print("key-sizes", f"-f {keys[0].hex()} -k 16={keys[1].hex()} -k 24={keys[2].hex()}")


def damaged(numbers, data):
    """Up to three numbers or bytes are others."""
    data = bytearray(data)
    for _ in range(numbers.randint(1, 3)):
        at = numbers.randrange(len(data))
        large = parquet_writer.integer(numbers.choice((1, -1)) << numbers.randrange(63))[1]
        data[at:at + numbers.randrange(len(large) + 1)] = numbers.choice((large, numbers.randbytes(1)))
    return bytes(data)


def random_files(folder, key, seed, count):
    numbers, seal = random.Random(int(seed)), seal_with(bytes.fromhex(key))
    for number in range(int(count)):
        where = ("signed", "encrypted", parquet_writer.COLUMN_METADATA, parquet_writer.DATA_PAGE_HEADER)
        damaged_kind = numbers.choice(where)

        def change(text):
            return damaged(numbers, text)

        def seal_damaged(kind, ordinals, text):
            return seal(kind, ordinals, change(text) if kind == damaged_kind else text)

        writer = parquet_writer.Writer(seal_damaged)
        described = parquet_writer.metadata(*writer.pages(0, 0, dictionary=b"words"))
        sealed = writer.module(parquet_writer.COLUMN_METADATA, [0, 0], described[1])
        chunks = [parquet_writer.chunk(described, sealed=sealed)]
        how = damaged_kind if isinstance(damaged_kind, str) else "signed"
        with open(f"{folder}/random-{number}", "wb") as file:
            file.write(getattr(writer, how)([chunks], **({"change": change} if how == damaged_kind else {})))
        print(f"random-{number}")


if __name__ == "__main__":
    commands = {
        "write": write, "check": check, "damage": damage, "rows": rows, "check_rows": check_rows, "wrong": wrong,
        "key_sizes": key_sizes, "random": random_files,
    }
    commands[sys.argv[1]](*sys.argv[2:])
