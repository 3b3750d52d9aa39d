/*
 * Encodes or decodes a file with the provider's cipher BASE64: the file is
 * mapped, and all of it is one update (one for each GiB, since EVP counts in
 * int).
 *
 *     base64_client encode|decode [-l 64|76] [-t] IN OUT
 *
 * Compile it with: cc -O2 base64_client.c -lcrypto
 * Set OPENSSL_CONF to gpuaes.cnf, or include that file in openssl.cnf: the
 * program itself loads no provider.
 *
 * -l makes or expects lines of that length. -t does the update twice and prints
 * the seconds that the second took: the first may start a GPU and touches the
 * memory for the first time.
 *
 * EVP promises a cipher the input's length and a block less one byte of room. The
 * output here has more, and the parameter "outsize" says how much before each update.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 30)

struct job {
    EVP_CIPHER *cipher;
    int encode;
    size_t line_length;
    unsigned char *in, *out;
    size_t in_bytes, out_room, out_bytes;
    double seconds; /* of the updates alone */
};

static void fail(const char *what)
{
    fprintf(stderr, "base64_client: %s\n", what);
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
}

static void make_output(struct job *job)
{
    size_t characters = job->in_bytes / 3 * 4 + 8;

    job->out_room = job->encode ? characters : job->in_bytes + 8;
    if (job->encode && job->line_length)
        job->out_room += characters / job->line_length + 1;
    job->out = mmap(NULL, job->out_room, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (job->out == MAP_FAILED)
        fail_at("output buffer");
}

/* One update. The parameter "outsize" is good for the next update only. */
static void update(EVP_CIPHER_CTX *context, struct job *job, size_t position, size_t length)
{
    size_t room = job->out_room - job->out_bytes;
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("outsize", &room), OSSL_PARAM_END};
    int written = 0;

    if (!EVP_CIPHER_CTX_set_params(context, params) ||
        !EVP_CipherUpdate(context, job->out + job->out_bytes, &written, job->in + position,
                          (int)length))
        fail("the update failed");
    job->out_bytes += (size_t)written;
}

static void run(struct job *job)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    OSSL_PARAM params[] = {OSSL_PARAM_size_t("line-length", &job->line_length), OSSL_PARAM_END};
    double start;
    int written;

    /* A cipher without a key and an IV. */
    if (!context || !EVP_CipherInit_ex2(context, job->cipher, NULL, NULL, job->encode, params))
        fail("cannot initialise the cipher");

    job->out_bytes = 0;
    start = now();
    for (size_t position = 0; position < job->in_bytes; position += PIECE) {
        size_t left = job->in_bytes - position;

        update(context, job, position, left < PIECE ? left : PIECE);
    }
    job->seconds = now() - start;

    if (!EVP_CipherFinal_ex(context, job->out + job->out_bytes, &written))
        fail("the text is not complete");
    job->out_bytes += (size_t)written;
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

static int usage(void)
{
    fprintf(stderr, "usage: base64_client encode|decode [-l 64|76] [-t] IN OUT\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct job job = {.encode = 1};
    int option, timed = 0;

    if (argc < 2 || (strcmp(argv[1], "encode") && strcmp(argv[1], "decode")))
        return usage();
    job.encode = !strcmp(argv[1], "encode");
    argc--;
    argv++;
    while ((option = getopt(argc, argv, "l:t")) != -1) {
        if (option == 'l')
            job.line_length = strtoul(optarg, NULL, 10);
        else if (option == 't')
            timed = 1;
        else
            return usage();
    }
    if (argc - optind != 2)
        return usage();

    job.cipher = EVP_CIPHER_fetch(NULL, "BASE64", NULL);
    if (!job.cipher)
        fail("no cipher BASE64: is the provider gpuaes active in openssl.cnf?");
    map_input(&job, argv[optind]);
    make_output(&job);
    run(&job);
    if (timed) {
        run(&job);
        printf("%.6f\n", job.seconds);
    }
    write_output(&job, argv[optind + 1]);

    EVP_CIPHER_free(job.cipher);
    if (job.in)
        munmap(job.in, job.in_bytes);
    munmap(job.out, job.out_room);
    return 0;
}
