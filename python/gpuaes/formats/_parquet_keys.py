"""Keys that a key management service wrapped, as parquet-mr and pyarrow write them into the metadata of keys.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Callable, Mapping

from ..aead import AESGCM
from ..errors import InvalidTag
from ._parquet_footer import RefusedFile

__all__ = ["KmsKeys"]

_NONCE = 12


class KmsKeys:
    """Finds keys for decrypt() by `unwrap(wrapped_key, master_key_identifier)`, the unwrap_key of a pyarrow KmsClient:
    it takes two strings, and returns the key, or None for a master key that the reader may not use.

    `materials` are those of an external file, {reference: key material}, where key metadata has references.
    Keys that wrap keys are kept, so that each is unwrapped once.
    """

    def __init__(self, unwrap: Callable[[str, str], bytes | None], materials: Mapping[str, str] | None = None) -> None:
        self._unwrap, self._materials = unwrap, materials or {}
        self._unwrapped: dict[tuple[str, str], bytes | None] = {}

    def __call__(self, column: str | None, metadata: bytes | None) -> bytes | None:
        where = "footer, key metadata" if column is None else f"column {column}, key metadata"
        if not metadata:
            return None
        material = _Material(metadata, where)
        if not material.flag("internalStorage"):
            reference = material.text("keyReference")
            if reference not in self._materials:
                raise ValueError(f"materials has no {reference!r}: expected it for {where}")
            material = _Material(self._materials[reference], where)
        if material.text("keyMaterialType") != "PKMT1":
            raise RefusedFile(f"{where}: it has the type {material.text('keyMaterialType')!r}, not 'PKMT1'")
        master, wrapped = material.text("masterKeyID"), material.text("wrappedDEK")
        if not material.flag("doubleWrapping"):
            return self._key(wrapped, master)
        wrapping = self._key(material.text("wrappedKEK"), master)
        if wrapping is None:
            return None
        sealed = material.base64("wrappedDEK")
        try:
            with AESGCM(wrapping) as aes:
                nonce, aad = sealed[:_NONCE].ljust(_NONCE), material.base64("keyEncryptionKeyID")
                key: bytes = aes.decrypt(nonce, sealed[_NONCE:], aad)
        except InvalidTag:
            raise RefusedFile(f"{where}: not authentic: another master key, or changed") from None
        return key

    def _key(self, wrapped: str, master: str) -> bytes | None:
        if (wrapped, master) not in self._unwrapped:
            self._unwrapped[wrapped, master] = self._unwrap(wrapped, master)
        return self._unwrapped[wrapped, master]


class _Material:
    """Key material, an object of JSON."""

    def __init__(self, text: bytes | str, where: str) -> None:
        self.where = where
        try:
            self._fields = json.loads(text)
        except (ValueError, RecursionError):
            self._fields = None
        if not isinstance(self._fields, dict):
            raise RefusedFile(f"{where}: it is no object of JSON")

    def _field(self, name: str, kind: type) -> Any:
        value = self._fields.get(name)
        if not isinstance(value, kind):
            raise RefusedFile(f"{self.where}: {name} is {type(value).__name__}, not {kind.__name__}")
        return value

    def text(self, name: str) -> str:
        return str(self._field(name, str))

    def flag(self, name: str) -> bool:
        return bool(self._field(name, bool))

    def base64(self, name: str) -> bytes:
        try:
            return base64.b64decode(self.text(name), validate=True)
        except (binascii.Error, ValueError):
            raise RefusedFile(f"{self.where}: {name} is no Base64") from None
