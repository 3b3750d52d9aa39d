"""AES on the CPU, and HKDF, by libcrypto's EVP.

libgpuaes has no AES on the CPU. What is too small for a device, and what a device could not do, comes from
here. The functions are those of OpenSSL's default provider in a library context of the package's own: a
configuration of the system that prefers another provider has no part in them.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ulong, c_void_p
from typing import Any

from . import _library
from ._owner import Owner
from .errors import GpuaesError

_SONAME = "libcrypto.so.3"
_PIECE = 1 << 30  # EVP counts in int; whole blocks

_GCM_SET_IVLEN, _GCM_GET_TAG, _GCM_SET_TAG = 0x9, 0x10, 0x11  # EVP_CTRL_AEAD_*

_PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "OSSL_LIB_CTX_new": (c_void_p, []),
    "OSSL_PROVIDER_load": (c_void_p, [c_void_p, c_char_p]),
    "EVP_CIPHER_fetch": (c_void_p, [c_void_p, c_char_p, c_char_p]),
    "EVP_CIPHER_CTX_new": (c_void_p, []),
    "EVP_CIPHER_CTX_free": (None, [c_void_p]),
    "EVP_CIPHER_CTX_set_padding": (c_int, [c_void_p, c_int]),
    "EVP_CIPHER_CTX_ctrl": (c_int, [c_void_p, c_int, c_int, c_void_p]),
    "EVP_CipherInit_ex": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_int]),
    "EVP_CipherUpdate": (c_int, [c_void_p, c_void_p, POINTER(c_int), c_void_p, c_int]),
    "EVP_CipherFinal_ex": (c_int, [c_void_p, c_void_p, POINTER(c_int)]),
    "EVP_Q_mac": (c_void_p, [c_void_p, c_char_p, c_char_p, c_char_p] + [c_void_p, *[c_void_p, c_size_t] * 3, c_void_p]),
    "ERR_get_error": (c_ulong, []),
    "ERR_error_string_n": (None, [c_ulong, c_void_p, c_size_t]),
}


class _Crypto:
    """libcrypto, a library context with the default provider alone, and the ciphers fetched from it."""

    def __init__(self) -> None:
        try:
            self.library = ctypes.CDLL(_SONAME)
            for name, (result, arguments) in _PROTOTYPES.items():
                _library.declare(self.library, name, result, arguments)
        except (OSError, AttributeError) as error:
            raise GpuaesError(f"AES on the CPU needs {_SONAME} of OpenSSL 3: {error}") from error
        self.context = self.library.OSSL_LIB_CTX_new()
        if not self.context or not self.library.OSSL_PROVIDER_load(self.context, b"default"):
            raise self.error("loading OpenSSL's default provider")
        self.ciphers: dict[str, int] = {}

    def error(self, doing: str) -> GpuaesError:
        text = ctypes.create_string_buffer(256)
        code, last = 0, self.library.ERR_get_error()
        while last:
            code, last = last, self.library.ERR_get_error()
        self.library.ERR_error_string_n(code, text, len(text))
        return GpuaesError(f"{doing}: libcrypto: {text.value.decode()}")

    def cipher(self, name: str) -> int:
        found = self.ciphers.get(name)
        if found is None:
            found = self.library.EVP_CIPHER_fetch(self.context, name.encode(), None)
            if not found:
                raise self.error(f"fetching {name}")
            self.ciphers[name] = found
        return found


_lock = threading.Lock()
_crypto: _Crypto | None = None


def _get() -> _Crypto:
    global _crypto
    if _crypto is None:
        with _lock:
            if _crypto is None:
                _crypto = _Crypto()
    return _crypto


def _forget_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_lock)


class SecretBytes(Owner):
    """A key in memory that is overwritten by close(), or when the object is collected."""

    __slots__ = ("buffer", "bytes")

    def __init__(self, address: int, count: int) -> None:
        self.buffer = ctypes.create_string_buffer(count)
        self.bytes = count
        super().__init__()
        ctypes.memmove(self.buffer, address, count)

    def _name(self) -> str:
        return "the key"

    @property
    def address(self) -> int:
        self.check_open()
        return ctypes.addressof(self.buffer)

    def _release(self) -> None:
        _library.cleanse(self.buffer)


class CpuCipher(Owner):
    """An EVP context of "CTR", "ECB", "CBC" or "GCM" with a key, without padding. One thread at a time."""

    __slots__ = ("_library", "_error", "_handle", "_written", "_out")

    def __init__(self, mode: str, key: SecretBytes, encrypt: bool) -> None:
        crypto = _get()
        self._library, self._error = crypto.library, crypto.error
        self._written = c_int()
        self._out = byref(self._written)
        cipher = crypto.cipher(f"AES-{key.bytes * 8}-{mode}")
        self._handle = self._library.EVP_CIPHER_CTX_new()
        self._check(self._handle, "making a context")
        super().__init__()
        self._check(
            self._library.EVP_CipherInit_ex(self._context, cipher, None, key.address, None, int(encrypt)),
            "setting a key",
        )
        self._library.EVP_CIPHER_CTX_set_padding(self._context, 0)

    @property
    def _context(self) -> int:
        self.check_open()
        return int(self._handle)

    def _release(self) -> None:
        self._library.EVP_CIPHER_CTX_free(self._handle)

    def _check(self, result: Any, doing: str) -> None:
        if not result:
            raise self._error(doing)

    def begin(self, iv: bytes | None) -> None:
        """Starts a message. ECB has no iv."""
        self._check(
            self._library.EVP_CipherInit_ex(self._context, None, None, None, iv, -1), "setting an initialization vector"
        )

    def control(self, what: int, count: int, address: int | None) -> None:
        self._check(self._library.EVP_CIPHER_CTX_ctrl(self._context, what, count, address), "setting a parameter")

    def update(self, source: int, out: int | None, count: int) -> None:
        """Runs `count` bytes, of ECB and CBC whole blocks; `out` None: they are additional data of GCM."""
        for at in range(0, count, _PIECE):
            piece = min(_PIECE, count - at)
            to = None if out is None else out + at
            self._check(
                self._library.EVP_CipherUpdate(self._context, to, self._out, source + at, piece), "running AES on the CPU"
            )

    def finish(self) -> bool:
        """Ends a message of GCM. False: its tag is wrong."""
        nothing = ctypes.create_string_buffer(16)
        return bool(self._library.EVP_CipherFinal_ex(self._context, nothing, self._out))


def run(mode: str, key: SecretBytes, encrypt: bool, iv: bytes | None, source: int, out: int, count: int) -> None:
    """Runs whole blocks (CTR: any number of bytes) from one address to another, or in place."""
    cipher = CpuCipher(mode, key, encrypt)
    cipher.begin(iv)
    cipher.update(source, out, count)


def gcm(
    key: SecretBytes,
    encrypt: bool,
    nonce: bytes,
    aad: tuple[int, int],
    source: int,
    out: int,
    count: int,
    tag: int,
) -> bool:
    """Runs a message of GCM; `aad` is an address and a length, `tag` the address of 16 bytes, which encryption
    writes and decryption compares. Returns False where the tag is wrong. `out` of a decryption is zeros then, and
    where anything fails once text may be there; it is as it was where the work could not begin."""
    cipher = CpuCipher("GCM", key, encrypt)
    cipher.control(_GCM_SET_IVLEN, len(nonce), None)
    cipher.begin(nonce)
    if aad[1]:
        cipher.update(aad[0], None, aad[1])
    try:
        cipher.update(source, out, count)
        if not encrypt:
            cipher.control(_GCM_SET_TAG, 16, tag)
        if not cipher.finish():
            _library.lib.gpuaes_cleanse(out, count)
            _get().library.ERR_get_error()
            return False
        if encrypt:
            cipher.control(_GCM_GET_TAG, 16, tag)
        return True
    except BaseException:
        if not encrypt:
            _library.lib.gpuaes_cleanse(out, count)
        raise


def hkdf(hash_name: str, key: SecretBytes, salt: bytes, info: bytes, count: int) -> SecretBytes:
    """Returns a key of `count` bytes, derived by HKDF (RFC 5869). libcrypto's own HKDF takes some KiB of info at most."""
    crypto = _get()

    def mac(key: Any, key_bytes: int, text: Any, text_bytes: int, out: Any) -> None:
        if not crypto.library.EVP_Q_mac(
            crypto.context, b"HMAC", None, hash_name.encode(), None, key, key_bytes, text, text_bytes, out, size, None
        ):
            raise crypto.error(f"deriving a key by HKDF with {hash_name}")

    size = hashlib.new(hash_name).digest_size
    secret, made = ctypes.create_string_buffer(size), ctypes.create_string_buffer(count + size)
    # The block before, the info, the number of the block. The first block has none before it.
    text = ctypes.create_string_buffer(bytes(size) + info, size + len(info) + 1)
    begin = ctypes.addressof(text)
    try:
        mac(salt, len(salt), key.address, key.bytes, secret)
        for at in range(0, count, size):
            text[size + len(info)] = bytes([at // size + 1])
            skipped = 0 if at else size
            mac(secret, size, begin + skipped, len(text) - skipped, ctypes.addressof(made) + at)
            ctypes.memmove(text, ctypes.addressof(made) + at, size)
        return SecretBytes(ctypes.addressof(made), count)
    finally:
        for each in secret, made, text:
            _library.cleanse(each)
