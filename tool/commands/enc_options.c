/*
 * The options of `gpuaes enc`.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/commands/enc_options.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tool/commands/stream.h"
#include "tool/common/message.h"
#include "tool/common/options.h"

static const char help[] =
    "usage: gpuaes enc|dec -CIPHER [OPTION...]\n"
    "\n"
    "Encrypts or decrypts files by the CPU's threads and libcrypto. Options and file format\n"
    "are compatible with openssl enc.\n"
    "\n"
    "  -CIPHER             such as -aes-256-ctr, -aes-128-ecb, -aes-256-cbc; none of them\n"
    "                      notices changed data, and CTR does not notice a wrong password\n"
    "  -e, -d              encrypt, decrypt; the last one counts\n"
    "  -in FILE            input (standard input)\n"
    "  -out FILE           output (standard output); appears when it is complete, in place\n"
    "                      of what was there\n"
    "  --no-clobber        fail if that file exists\n"
    "  -a, -base64         Base64 after encryption, or before decryption\n"
    "  -A                  the Base64 is one line\n"
    "  -nopad              no padding of the last block\n"
    "Keys from a password, which is asked for unless one of these says where it is:\n"
    "  -pass SOURCE        pass:PASSWORD, env:NAME, file:PATH, fd:NUMBER or stdin\n"
    "  -k PASSWORD, -kfile FILE\n"
    "  -pbkdf2, -iter N    PBKDF2 (10000 iterations, or N: take 600000); both sides need the\n"
    "                      same\n"
    "  -md DIGEST          of the derivation (sha256)\n"
    "  -salt, -nosalt      with a salt (the default), without\n"
    "  -saltlen N          bytes of the salt with PBKDF2, up to 16 (8); both sides need the same\n"
    "  -S HEX              this salt, which then is not written to the output\n"
    "Keys as they are:\n"
    "  -K HEX, -iv HEX\n"
    "  -p, -P              print salt, key and IV; -P does nothing else\n"
    "Parts of a stream; see docs/shards.md:\n"
    "  --offset N          begin at this byte (K, M, G, T: powers of 1024)\n"
    "  --length N          so many bytes\n"
    "  --piece             the input is that part alone, not the whole (CTR)\n"
    "How:\n"
    "  --threads N         that read, work and write (the CPUs, 8 at most)\n"
    "  -bufsize N          bytes of a piece (2M)\n"
    "  --sync              wait until the output is on the disk\n"
    "  --progress, --no-progress   always / never show progress (default: only if stderr\n"
    "                      is a terminal)\n"
    "  -v                  say how much was read and written, and by how many threads\n";

static const char opaque[] = "keys that stay inside their provider are not supported; use -K, or "
                             "a password";

static const char list[] = "\"openssl enc -list\" prints the names of all ciphers";

static const char seeding[] = "OpenSSL's generator of random numbers seeds itself from the system";

static const char providers[] = "the command uses OpenSSL's default provider only";

/* Options of openssl enc that are not here, and why. */
static const struct absent {
    const char *name, *why;
} absent[] = {
    {"none", "there would be nothing to encrypt; for Base64 alone use gpuaes base64"},
    {"z", "zlib compression is not supported; compress before, as with gzip or zstd"},
    {"engine", "engines are not supported"},
    {"list", list},
    {"ciphers", list},
    {"rand", seeding},
    {"writerand", seeding},
    {"provider", providers},
    {"provider-path", providers},
    {"provparam", providers},
    {"propquery", providers},
    {"skeyopt", opaque},
    {"skeymgmt", opaque},
    {"skeyuri", opaque},
    {"debug", "OpenSSL's debugging output is not supported"},
};
enum { ABSENT = sizeof absent / sizeof absent[0] };

/* Whether there is a cipher of this name, usable here or not. */
static int is_cipher(const char *name)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return cipher != NULL;
}

static int take_other(void *argument, const char *name)
{
    struct enc_options *options = argument;
    for (int i = 0; i < ABSENT; i++)
        if (strcmp(name, absent[i].name) == 0)
            return complain("-%s: %s", name, absent[i].why);
    if (!is_cipher(name))
        return -1;
    if (options->cipher != NULL && strcmp(options->cipher, name) != 0)
        return complain("-%s: expected one cipher, but -%s is given already", name,
                        options->cipher);
    options->cipher = name;
    return 1;
}

int enc_options_read(struct enc_options *o, int argc, char **argv)
{
    const struct option_rule rules[] = {
        {"e", OPTION_FLAG, &o->decrypt, 0, 0, NULL},
        {"d", OPTION_FLAG, &o->decrypt, 1, 0, NULL},
        {"in", OPTION_TEXT, &o->in, 0, 0, NULL},
        {"out", OPTION_TEXT, &o->out, 0, 0, NULL},
        {"a", OPTION_FLAG, &o->base64, 1, 0, NULL},
        {"base64", OPTION_FLAG, &o->base64, 1, 0, NULL},
        {"A", OPTION_FLAG, &o->one_line, 1, 0, NULL},
        {"nopad", OPTION_FLAG, &o->no_padding, 1, 0, NULL},
        {"pass", OPTION_SECRET, &o->pass, 0, 0, NULL},
        /* These say the same thing: the last one counts. */
        {"k", OPTION_SECRET, &o->password, 0, 0, &o->key_file},
        {"kfile", OPTION_TEXT, &o->key_file, 0, 0, &o->password},
        {"pbkdf2", OPTION_FLAG, &o->pbkdf2, 1, 0, NULL},
        {"iter", OPTION_NUMBER, &o->iterations, 1, 0x7fffffff, NULL},
        {"md", OPTION_TEXT, &o->md, 0, 0, NULL},
        {"salt", OPTION_FLAG, &o->no_salt, 0, 0, NULL},
        {"nosalt", OPTION_FLAG, &o->no_salt, 1, 0, NULL},
        {"S", OPTION_SECRET, &o->salt, 0, 0, NULL},
        {"saltlen", OPTION_NUMBER, &o->salt_bytes, 1, 0x7fffffff, NULL},
        {"K", OPTION_SECRET, &o->key, 0, 0, NULL},
        {"iv", OPTION_TEXT, &o->iv, 0, 0, NULL},
        {"p", OPTION_FLAG, &o->print, 1, 0, NULL},
        {"P", OPTION_FLAG, &o->print_only, 1, 0, NULL},
        {"v", OPTION_FLAG, &o->verbose, 1, 0, NULL},
        {"bufsize", OPTION_BYTES, &o->piece, 0, (uint64_t)1 << 29, NULL},
        {"offset", OPTION_BYTES, &o->offset, 0, INT64_MAX, NULL},
        {"length", OPTION_BYTES, &o->length, 0, INT64_MAX, NULL},
        {"piece", OPTION_FLAG, &o->is_piece, 1, 0, NULL},
        {"threads", OPTION_NUMBER, &o->threads, 1, PIPELINE_THREADS, NULL},
        {"sync", OPTION_FLAG, &o->sync, 1, 0, NULL},
        {"no-clobber", OPTION_FLAG, &o->no_clobber, 1, 0, NULL},
        {"progress", OPTION_FLAG, &o->progress, PROGRESS_ALWAYS, 0, NULL},
        {"no-progress", OPTION_FLAG, &o->progress, PROGRESS_NEVER, 0, NULL},
        {NULL, OPTION_FLAG, NULL, 0, 0, NULL}};
    o->offset = o->length = UINT64_MAX;
    int read = options_read(argc, argv, help, rules, take_other, o);
    if (read <= 0)
        return read;
    if (o->cipher == NULL)
        return complain("which cipher? Expected one such as -aes-256-ctr (\"openssl enc -list\" "
                        "shows all); for "
                        "Base64 alone there is gpuaes base64");
    if (o->iterations != 0)
        o->pbkdf2 = 1;
    if (o->offset != UINT64_MAX)
        o->part = o->length != UINT64_MAX ? "--offset and --length" : "--offset";
    else if (o->length != UINT64_MAX)
        o->part = "--length";
    if (o->offset == UINT64_MAX)
        o->offset = 0;
    return 1;
}

void enc_options_forget(struct enc_options *o)
{
    char **secrets[] = {&o->pass, &o->password, &o->salt, &o->key};
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
        option_forget(secrets[i]);
}
