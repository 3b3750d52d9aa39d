/*
 * Encrypts or decrypts a file with EVP and nothing else: the file is mapped,
 * and all of it is one update (one for each GiB, since EVP counts in int). The
 * configuration decides which provider does the work.
 *
 *     encrypt_file [-d] [-t] CIPHER HEXKEY HEXIV IN OUT
 *
 * Compile it with: cc -O2 encrypt_file.c -lcrypto
 * Set OPENSSL_CONF to gpuaes.cnf, or include that file in openssl.cnf: the
 * program itself loads no provider. GPUAES_LOG=summary says who did the work.
 *
 * -d decrypts. -t does the update twice and prints the seconds that the second
 * took: the first may start a GPU and touches the memory for the first time.
 * HEXIV is "" for ECB. Output is what `openssl enc -K -iv` writes. With GCM, which
 * that refuses, the tag of 16 bytes follows the ciphertext.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 30)
#define TAG_BYTES 16

struct job {
    EVP_CIPHER *cipher;
    int encrypt;
    unsigned char key[EVP_MAX_KEY_LENGTH], iv[EVP_MAX_IV_LENGTH];
    unsigned char *in, *out;
    int has_tag;                 /* GCM */
    size_t in_bytes, text_bytes; /* with the tag, and without */
    size_t out_room, out_bytes;
    double seconds; /* of the updates alone */
};

static void fail(const char *what)
{
    fprintf(stderr, "encrypt_file: %s\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static void fail_at(const char *path)
{
    perror(path);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The digits are not shown: they may be a key. */
static void parse_hex(unsigned char *bytes, int length, const char *hex, const char *name)
{
    size_t found = 0;

    if (strlen(hex) == 2 * (size_t)length &&
        (!length || OPENSSL_hexstr2buf_ex(bytes, (size_t)length, &found, hex, '\0')))
        return;
    fprintf(stderr, "encrypt_file: %s has %zu characters, expected %d hexadecimal digits\n", name,
            strlen(hex), 2 * length);
    exit(1);
}

static void map_input(struct job *job, const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);

    if (file < 0 || fstat(file, &status))
        fail_at(path);
    job->in_bytes = (size_t)status.st_size;
    if (job->in_bytes) {
        job->in = mmap(NULL, job->in_bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
        if (job->in == MAP_FAILED)
            fail_at(path);
    }
    close(file);
    job->text_bytes = job->in_bytes;
    if (job->has_tag && !job->encrypt) {
        if (job->in_bytes < TAG_BYTES)
            fail("the input is shorter than a tag");
        job->text_bytes -= TAG_BYTES;
    }
}

static void make_output(struct job *job)
{
    job->out_room = job->in_bytes + EVP_MAX_BLOCK_LENGTH;
    job->out = mmap(NULL, job->out_room, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (job->out == MAP_FAILED)
        fail_at("output buffer");
}

static void run(struct job *job)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    size_t position = 0;
    double start;
    int written;

    if (!context ||
        !EVP_CipherInit_ex2(context, job->cipher, job->key, job->iv, job->encrypt, NULL))
        fail("cannot initialise the cipher");
    if (job->has_tag && !job->encrypt &&
        !EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, job->in + job->text_bytes))
        fail("cannot set the tag");

    job->out_bytes = 0;
    start = now();
    while (position < job->text_bytes) {
        size_t left = job->text_bytes - position;
        size_t piece = left < PIECE ? left : PIECE;

        if (!EVP_CipherUpdate(context, job->out + job->out_bytes, &written, job->in + position,
                              (int)piece))
            fail("the update failed");
        position += piece;
        job->out_bytes += (size_t)written;
    }
    job->seconds = now() - start;

    if (!EVP_CipherFinal_ex(context, job->out + job->out_bytes, &written))
        fail(job->has_tag ? "the tag is wrong" : "the last block is wrong");
    job->out_bytes += (size_t)written;
    if (job->has_tag && job->encrypt) {
        if (!EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES,
                                 job->out + job->out_bytes))
            fail("cannot get the tag");
        job->out_bytes += TAG_BYTES;
    }
    EVP_CIPHER_CTX_free(context);
}

static void write_output(const struct job *job, const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    size_t position = 0;

    if (file < 0)
        fail_at(path);
    while (position < job->out_bytes) {
        ssize_t written = write(file, job->out + position, job->out_bytes - position);

        if (written < 0)
            fail_at(path);
        position += (size_t)written;
    }
    if (close(file))
        fail_at(path);
}

int main(int argc, char **argv)
{
    struct job job = {.encrypt = 1};
    int option, timed = 0;

    while ((option = getopt(argc, argv, "dt")) != -1) {
        if (option == 'd')
            job.encrypt = 0;
        else if (option == 't')
            timed = 1;
        else
            return 2;
    }
    if (argc - optind != 5) {
        fprintf(stderr, "usage: encrypt_file [-d] [-t] CIPHER HEXKEY HEXIV IN OUT\n");
        return 2;
    }
    argv += optind;

    job.cipher = EVP_CIPHER_fetch(NULL, argv[0], NULL);
    if (!job.cipher) {
        fprintf(stderr, "encrypt_file: there is no cipher %s, such as AES-256-CTR\n", argv[0]);
        return 1;
    }
    parse_hex(job.key, EVP_CIPHER_get_key_length(job.cipher), argv[1], "the key");
    parse_hex(job.iv, EVP_CIPHER_get_iv_length(job.cipher), argv[2], "the IV");

    job.has_tag = EVP_CIPHER_get_mode(job.cipher) == EVP_CIPH_GCM_MODE;
    map_input(&job, argv[3]);
    make_output(&job);
    run(&job);
    if (timed) {
        run(&job);
        printf("%.6f\n", job.seconds);
    }
    write_output(&job, argv[4]);

    OPENSSL_cleanse(job.key, sizeof job.key);
    EVP_CIPHER_free(job.cipher);
    if (job.in)
        munmap(job.in, job.in_bytes);
    munmap(job.out, job.out_room);
    return 0;
}
