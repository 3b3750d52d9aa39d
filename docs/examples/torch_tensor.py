#!/usr/bin/env python3
"""Encrypts a PyTorch tensor on the GPU with OpenSSL, and decrypts it again.

    torch_tensor.py [MIB]

The tensor never leaves the GPU: libcrypto, called through ctypes, takes its
pointer, and the provider gpuaes does the work on PyTorch's current stream, in
its order, so that nothing need be waited for before. (Freeing the context waits
for what is queued; keep it where that matters.) A copy on the host is then
encrypted by the default provider to check the first.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import re
import secrets
import sys
import time

import torch

PIECE = 1 << 30  # EVP counts in int; a multiple of the block

crypto = ctypes.CDLL("libcrypto.so.3")


class Param(ctypes.Structure):
    """OSSL_PARAM; an array of them ends with one whose key is NULL."""

    _fields_ = [
        ("key", ctypes.c_char_p),
        ("data_type", ctypes.c_uint),
        ("data", ctypes.c_void_p),
        ("data_size", ctypes.c_size_t),
        ("return_size", ctypes.c_size_t),
    ]


OSSL_PARAM_UNSIGNED_INTEGER = 2


def declare(name, result, *arguments):
    function = getattr(crypto, name)
    function.restype, function.argtypes = result, arguments
    return function


pointer, text, integer = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
new_library_context = declare("OSSL_LIB_CTX_new", pointer)
load_provider = declare("OSSL_PROVIDER_load", pointer, pointer, text)
fetch_cipher = declare("EVP_CIPHER_fetch", pointer, pointer, text, text)
new_context = declare("EVP_CIPHER_CTX_new", pointer)
free_context = declare("EVP_CIPHER_CTX_free", None, pointer)
initialise = declare(
    "EVP_CipherInit_ex2", integer, pointer, pointer, text, text, integer, ctypes.POINTER(Param)
)
update = declare(
    "EVP_CipherUpdate", integer, pointer, pointer, ctypes.POINTER(integer), pointer, integer
)
finish = declare("EVP_CipherFinal_ex", integer, pointer, pointer, ctypes.POINTER(integer))
next_error = declare("ERR_get_error", ctypes.c_ulong)
error_text = declare("ERR_error_string_n", None, ctypes.c_ulong, text, ctypes.c_size_t)


def check(result):
    """What a function of libcrypto returned, unless it failed."""
    if not result:
        message = ctypes.create_string_buffer(256)
        error_text(next_error(), message, len(message))
        raise RuntimeError(message.value.decode())
    return result


library = check(new_library_context())
check(load_provider(library, b"gpuaes"))
check(load_provider(library, b"default"))


def stream_parameters():
    """For memory of the GPU: the stream on which PyTorch works at this moment."""
    one = ctypes.c_uint(1)
    stream = ctypes.c_uint64(torch.cuda.current_stream().cuda_stream)
    params = (Param * 3)()
    for param, key, value in zip(params, (b"device-memory", b"cuda-stream"), (one, stream)):
        param.key, param.data_type = key, OSSL_PARAM_UNSIGNED_INTEGER
        param.data, param.data_size = ctypes.addressof(value), ctypes.sizeof(value)
    params.values = one, stream  # they must live as long as what points to them
    return params


def run(encrypt, key, iv, out, source, bytes_, properties=b"?provider=gpuaes", params=None):
    """AES-256-CTR from one address to another."""
    cipher = check(fetch_cipher(library, b"AES-256-CTR", properties))
    context = check(new_context())
    written = integer(0)
    try:
        check(initialise(context, cipher, key, iv, encrypt, params))
        for at in range(0, bytes_, PIECE):
            piece = min(PIECE, bytes_ - at)
            check(update(context, out + at, ctypes.byref(written), source + at, piece))
        check(finish(context, out + bytes_, ctypes.byref(written)))
    finally:
        free_context(context)


def encrypt_tensor(encrypt, key, iv, tensor):
    """A new tensor with the bytes of the other, encrypted or decrypted."""
    result = torch.empty_like(tensor)
    bytes_ = tensor.numel() * tensor.element_size()
    run(encrypt, key, iv, result.data_ptr(), tensor.data_ptr(), bytes_, params=stream_parameters())
    return result


def timed(what, encrypt, key, iv, tensor):
    torch.cuda.synchronize()
    begun = time.perf_counter()
    result = encrypt_tensor(encrypt, key, iv, tensor)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begun
    print(f"{what}: {tensor.numel() * tensor.element_size() / seconds * 1e-9:.1f} GB/s")
    return result


def mebibytes(text):
    if not re.fullmatch("[0-9]{1,7}", text) or not 1 <= int(text) <= 1 << 20:
        sys.exit(f"torch_tensor.py: {text}: expected a number of MiB, from 1 to 1048576")
    return int(text)


def main():
    bytes_ = mebibytes(sys.argv[1] if len(sys.argv) > 1 else "256") << 20
    key, iv = secrets.token_bytes(32), secrets.token_bytes(16)
    plain = torch.randint(0, 256, (bytes_,), dtype=torch.uint8, device="cuda")

    encrypt_tensor(1, key, iv, plain)  # the first starts the device and finds the kernels
    cipher = timed("encrypt", 1, key, iv, plain)
    again = timed("decrypt", 0, key, iv, cipher)
    if not torch.equal(plain, again):
        sys.exit("the round trip gives other bytes")

    host, host_cipher = plain.cpu(), cipher.cpu()
    expected = ctypes.create_string_buffer(bytes_)
    run(1, key, iv, ctypes.addressof(expected), host.data_ptr(), bytes_, b"provider=default")
    if ctypes.string_at(host_cipher.data_ptr(), bytes_) != expected.raw[:bytes_]:
        sys.exit("the CPU gives other bytes")
    print("the round trip is right, and the CPU agrees")


if __name__ == "__main__":
    main()
