"""Keys of cleartext keysets of Tink, in JSON.

The value of a key is a protocol buffer, of a format that is small enough to be read here:
https://protobuf.dev/programming-guides/encoding/

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import base64
import json
from typing import Any

_TYPE = "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey"
_HASHES = {1: "sha1", 3: "sha256", 4: "sha512"}
_VARINT, _FIXED64, _STRING, _FIXED32 = 0, 1, 2, 5


def arguments(keyset: str | bytes, key_id: int | None) -> dict[str, Any]:
    """Those of StreamingAead() for the primary key of a keyset, or for the key `key_id`. Raises ValueError, which shows
    nothing of a key."""
    try:
        found = json.loads(keyset)
        keys = {int(key["keyId"]): key for key in found["key"]}
        number = int(found["primaryKeyId"] if key_id is None else key_id)
        data = keys[number]["keyData"] if number in keys else None
        status = keys[number]["status"] if data else ""
        kind, value = (data["typeUrl"], base64.b64decode(data["value"], validate=True)) if data else ("", b"")
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError):
        raise ValueError("keyset is not one of Tink in JSON, or is encrypted: expected a cleartext keyset") from None
    if not data:
        raise ValueError(f"keyset has the keys {sorted(keys)}: expected the key {number}")
    if kind != _TYPE:
        raise ValueError(f"key {number} has the type {kind!r}: expected {_TYPE!r}")
    if status != "ENABLED":
        raise ValueError(f"key {number} has the status {status!r}: expected 'ENABLED'")
    try:
        # AesGcmHkdfStreamingKey: version, params, key_value. AesGcmHkdfStreamingParams: ciphertext_segment_size,
        # derived_key_size, hkdf_hash_type.
        key = _message(value, {1: 0, 2: b"", 3: b""})
        params = _message(key[2], {1: 0, 2: 0, 3: 0})
    except (IndexError, ValueError):
        raise ValueError(f"key {number} has a value that is no AesGcmHkdfStreamingKey") from None
    if key[1]:
        raise ValueError(f"key {number} has the version {key[1]}: expected 0")
    if params[3] not in _HASHES:
        raise ValueError(f"key {number} has the hash type {params[3]}: expected {', '.join(map(str, _HASHES))}")
    sizes = {"segment_bytes": params[1], "derived_key_bytes": params[2]}
    return {"key": key[3], "hash_name": _HASHES[params[3]], **sizes}


def _message(data: bytes, fields: dict[int, Any]) -> dict[int, Any]:
    """The fields of a message; `fields` has those that count, with their defaults. Raises IndexError or ValueError."""
    found, at = dict(fields), 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        value: Any
        if kind == _VARINT:
            value, at = _varint(data, at)
        else:
            count, at = _varint(data, at) if kind == _STRING else ({_FIXED64: 8, _FIXED32: 4}.get(kind), at)
            if count is None or count > len(data) - at:
                raise ValueError
            value, at = data[at : at + count], at + count
        if tag >> 3 in fields:
            if type(value) is not type(fields[tag >> 3]):
                raise ValueError
            found[tag >> 3] = value
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where the next begins."""
    value = 0
    for shift in range(0, 64, 7):
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    raise ValueError
