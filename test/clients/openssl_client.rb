# What a program does with Ruby's openssl; prints what must not depend on the provider.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
require 'openssl'
require 'socket'

DATA_BYTES = (0..255).to_a.pack('C*') * 4096 # 1 MiB
SUITE = 'ECDHE-RSA-AES256-SHA384'

def digest(bytes)
  OpenSSL::Digest::SHA256.hexdigest(bytes)
end

def both_ways(name)
  coder = OpenSSL::Cipher.new(name).encrypt
  coder.key = DATA_BYTES[0, coder.key_len]
  coder.iv = "\xff" * 15 + "\xf0" if coder.iv_len.positive?
  text = +''
  DATA_BYTES.bytes.each_slice(300_001) { |slice| text << coder.update(slice.pack('C*')) }
  text << coder.final

  decoder = OpenSSL::Cipher.new(name).decrypt
  decoder.key = DATA_BYTES[0, coder.key_len]
  decoder.iv = "\xff" * 15 + "\xf0" if coder.iv_len.positive?
  raise "#{name} is wrong" unless decoder.update(text) + decoder.final == DATA_BYTES

  digest(text)
end

# The ciphertext and its tag; `forge` changes a bit of what is decrypted, which is then refused.
def authenticated(name, forge: false)
  coder = OpenSSL::Cipher.new(name).encrypt
  coder.key = DATA_BYTES[0, coder.key_len]
  coder.iv = "\xff" * coder.iv_len
  coder.auth_data = 'more'
  text = +''
  DATA_BYTES.bytes.each_slice(300_001) { |slice| text << coder.update(slice.pack('C*')) }
  text << coder.final

  decoder = OpenSSL::Cipher.new(name).decrypt
  decoder.key = DATA_BYTES[0, coder.key_len]
  decoder.iv = "\xff" * coder.iv_len
  decoder.auth_data = 'more'
  decoder.auth_tag = coder.auth_tag
  text.setbyte(1000, text.getbyte(1000) ^ 1) if forge
  raise "#{name} is wrong" unless decoder.update(text) + decoder.final == DATA_BYTES

  digest(text + coder.auth_tag)
rescue OpenSSL::Cipher::CipherError
  'refused'
end

def refusal
  decoder = OpenSSL::Cipher.new('aes-256-cbc').decrypt
  decoder.key = 'k' * 32
  decoder.update('x' * 33) + decoder.final
rescue OpenSSL::Cipher::CipherError => e
  e.message
end

def certificate(key)
  name = OpenSSL::X509::Name.parse('/CN=localhost')
  made = OpenSSL::X509::Certificate.new
  made.subject = made.issuer = name
  made.public_key = key
  made.not_before = Time.now - 60
  made.not_after = Time.now + 3600
  made.sign(key, OpenSSL::Digest.new('SHA256'))
end

# 1 MiB each way by TLS 1.2 with a CBC suite, within this process.
def tls
  key = OpenSSL::PKey::RSA.new(2048)
  tcp = TCPServer.new('127.0.0.1', 0)
  context = OpenSSL::SSL::SSLContext.new
  context.key = key
  context.cert = certificate(key)
  server = OpenSSL::SSL::SSLServer.new(tcp, context)
  echo = Thread.new { c = server.accept; c.write(c.read(DATA_BYTES.size)); c.close }

  context = OpenSSL::SSL::SSLContext.new
  context.max_version = OpenSSL::SSL::TLS1_2_VERSION
  context.ciphers = SUITE
  client = OpenSSL::SSL::SSLSocket.new(TCPSocket.new('127.0.0.1', tcp.addr[1]), context).connect
  client.write(DATA_BYTES)
  back = client.read(DATA_BYTES.size)
  echo.join
  [client.cipher[0], back == DATA_BYTES]
end

%w[128 192 256].product(%w[ctr cbc ecb]).each { |bits, mode| puts "#{bits} #{mode} #{both_ways("aes-#{bits}-#{mode}")}" }
%w[128 192 256].each { |bits| puts "#{bits} gcm #{authenticated("aes-#{bits}-gcm")}" }
puts "forged gcm: #{authenticated('aes-256-gcm', forge: true)}"
puts "refused: #{refusal}"
key = OpenSSL::PKey::EC.generate('prime256v1')
pem = key.private_to_pem(OpenSSL::Cipher.new('aes-256-cbc'), 'a password')
puts "an encrypted key is read again: #{OpenSSL::PKey.read(pem, 'a password').to_der == key.to_der}"
puts "PBKDF2 #{digest(OpenSSL::KDF.pbkdf2_hmac('a password', salt: 'salt', iterations: 1000, length: 32, hash: 'sha256'))}"
puts "random #{OpenSSL::Random.random_bytes(100_000).size}"
puts "TLS #{tls.join(' ')}"
