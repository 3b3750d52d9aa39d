"""What a program does with the package cryptography; prints what must not depend on
the provider.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
import hashlib

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.backends.openssl import backend
from cryptography.hazmat.primitives import hashes, padding, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, aead, algorithms, modes
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

DATA = bytes(range(256)) * 4096  # 1 MiB
IV = b"\xff" * 15 + b"\xf0"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def both_ways(bits, mode):
    key = bytes(range(bits // 8))
    encryptor = Cipher(algorithms.AES(key), mode).encryptor()
    # Not in whole blocks, and into a buffer of the caller's.
    text = b"".join(encryptor.update(DATA[i:i + 100001]) for i in range(0, len(DATA), 100001))
    text += encryptor.finalize()
    decryptor = Cipher(algorithms.AES(key), mode).decryptor()
    out = bytearray(len(DATA) + 15)
    n = decryptor.update_into(text, out)
    assert bytes(out[:n]) + decryptor.finalize() == DATA
    return digest(text)


def padded():
    padder = padding.PKCS7(128).padder()
    data = padder.update(DATA[:100001]) + padder.finalize()
    encryptor = Cipher(algorithms.AES(DATA[:32]), modes.CBC(IV)).encryptor()
    return digest(encryptor.update(data) + encryptor.finalize())


def fernet():
    key = Fernet.generate_key()
    token = Fernet(key).encrypt(DATA)
    assert Fernet(key).decrypt(token) == DATA
    try:
        Fernet(key).decrypt(token[:-8] + b"AAAAAAA=")
    except InvalidToken:
        return "refused"
    return "taken"


def encrypted_key():
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                            serialization.BestAvailableEncryption(b"a password"))
    again = serialization.load_pem_private_key(pem, b"a password")
    return again.private_numbers() == key.private_numbers()


def signature():
    from cryptography.hazmat.primitives.asymmetric import padding as signing
    key = rsa.generate_private_key(65537, 2048)
    key.public_key().verify(key.sign(DATA, signing.PKCS1v15(), hashes.SHA256()), DATA,
                            signing.PKCS1v15(), hashes.SHA256())
    return "verified"


def authenticated(bits, data):
    """All in one call, which is one update."""
    key = bytes(range(bits // 8))
    text = aead.AESGCM(key).encrypt(IV[:12], data, b"more")
    assert aead.AESGCM(key).decrypt(IV[:12], text, b"more") == data
    return digest(text)


def authenticated_streams(bits):
    key = bytes(range(bits // 8))
    encryptor = Cipher(algorithms.AES(key), modes.GCM(IV)).encryptor()
    encryptor.authenticate_additional_data(b"mo")
    encryptor.authenticate_additional_data(b"re")
    text = b"".join(encryptor.update(DATA[i:i + 100001]) for i in range(0, len(DATA), 100001))
    text += encryptor.finalize()
    decryptor = Cipher(algorithms.AES(key), modes.GCM(IV, encryptor.tag)).decryptor()
    decryptor.authenticate_additional_data(b"more")
    assert decryptor.update(text) + decryptor.finalize() == DATA
    return digest(text + encryptor.tag)


def forged():
    text = bytearray(aead.AESGCM(DATA[:16]).encrypt(IV[:12], DATA, None))
    text[len(text) // 2] ^= 1
    try:
        aead.AESGCM(DATA[:16]).decrypt(IV[:12], bytes(text), None)
    except InvalidTag:
        return "refused"
    return "taken"


print("libcrypto:", backend.openssl_version_text())
for bits in (128, 192, 256):
    print(bits, "CTR", both_ways(bits, modes.CTR(IV)))
    print(bits, "CBC", both_ways(bits, modes.CBC(IV)))
    print(bits, "ECB", both_ways(bits, modes.ECB()))
    print(bits, "GCM in pieces", authenticated_streams(bits))
    print(bits, "GCM", authenticated(bits, DATA))
print("padded CBC", padded())
print("64 MiB of GCM", authenticated(256, DATA * 64))
print("forged GCM is", forged())
print("PBKDF2", digest(PBKDF2HMAC(hashes.SHA256(), 32, IV, 1000).derive(b"a password")))
print("a changed Fernet token is", fernet())
print("an encrypted key is read again:", encrypted_key())
print("a signature is", signature())
