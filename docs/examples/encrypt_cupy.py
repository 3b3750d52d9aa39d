#!/usr/bin/env python3
"""Encrypts a CuPy array on the GPU, and decrypts it again.

    encrypt_cupy.py [MIB]

First a message with a tag (AES-256-GCM) in new memory, then a stream in place (AES-256-CTR), each on the CUDA
stream that is current: so a kernel that was queued before has written the array, and one that is queued
afterwards reads what was encrypted. Nothing passes through memory of the host. At last a copy on the host is
decrypted by the CPU, to see that both agree.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import re
import secrets
import sys

import cupy

from gpuaes import InvalidTag
from gpuaes.aead import AESGCM
from gpuaes.ciphers import AES, CTR, Cipher


def seal_and_open(array, key):
    """GCM. A nonce must never be used twice with a key: with random ones, use a key for 2^32 messages at most."""
    nonce, header = secrets.token_bytes(12), b"what is known of the array"
    aead = AESGCM(key)
    sealed = aead.encrypt(nonce, array, header)  # an array of uint8, 16 longer: the tag is at its end
    opened = aead.decrypt(nonce, sealed, header).view(array.dtype).reshape(array.shape)
    if not cupy.array_equal(opened, array):
        sys.exit("GCM: the round trip gives other numbers")
    try:
        aead.decrypt(nonce, sealed, b"something else")
    except InvalidTag:
        print("another header is refused")
    # Bytes of the host are encrypted on the CPU.
    if aead.decrypt(nonce, cupy.asnumpy(sealed).tobytes(), header) != cupy.asnumpy(array).tobytes():
        sys.exit("GCM: the CPU gives other bytes")


def encrypt_in_place(array, key):
    """CTR, on a stream of the program's own. It has no tag: nothing shows that text was changed."""
    counter, before = secrets.token_bytes(16), cupy.asnumpy(array)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        encryptor = Cipher(AES(key), CTR(counter)).encryptor()
        encryptor.update_into(array, array)
        encryptor.finalize()
        stream.synchronize()
        encrypted = cupy.asnumpy(array)
        decryptor = Cipher(AES(key), CTR(counter)).decryptor()
        decryptor.update_into(array, array)
        decryptor.finalize()
        stream.synchronize()
    if encrypted.tobytes() == before.tobytes() or cupy.asnumpy(array).tobytes() != before.tobytes():
        sys.exit("CTR: the round trip gives other numbers")
    on_cpu = Cipher(AES(key), CTR(counter)).encryptor()
    if on_cpu.update(before.tobytes()) + on_cpu.finalize() != encrypted.tobytes():
        sys.exit("CTR: the CPU gives other bytes")


def mebibytes(text):
    if not re.fullmatch("[0-9]{1,7}", text) or not 1 <= int(text) <= 1 << 20:
        sys.exit(f"encrypt_cupy.py: {text}: expected a number of MiB, from 1 to 1048576")
    return int(text)


def main():
    count = mebibytes(sys.argv[1] if len(sys.argv) > 1 else "256") << 18
    array = cupy.arange(count, dtype=cupy.float32)
    key = AESGCM.generate_key(256)
    seal_and_open(array, key)
    encrypt_in_place(array, key)
    print("the round trips are right, and the CPU agrees")


if __name__ == "__main__":
    main()
