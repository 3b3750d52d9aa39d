/*
 * Encrypts a buffer in GPU memory with EVP, without a copy to the host, and
 * checks it: the same encryption by the default provider, on the CPU.
 *
 *     device_memory [MIB]
 *
 * Compile it with: cc -O2 device_memory.c -I/usr/local/cuda/include -lcrypto -lcuda
 * It needs a GPU, and loads the provider by itself; where gpuaes.so is not in
 * OpenSSL's own folder of modules, set OPENSSL_MODULES to the folder where it is.
 *
 * Prints the rate of a second pass: the first starts the device and finds the
 * kernels. MIB is 256 unless it is given.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <cuda.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* EVP counts in int, so an update is at most 1 GiB; a multiple of the block. */
#define PIECE ((size_t)1 << 30)

/* Random bytes in a real program, and never twice the same key and IV. */
static const unsigned char key[32] = "a key of an example", iv[16] = "its IV";

static void fail(const char *what)
{
    fprintf(stderr, "device_memory: %s\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static void check(CUresult result, const char *what)
{
    const char *text = "unknown error";

    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorString(result, &text);
    fprintf(stderr, "device_memory: %s: %s\n", what, text);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* AES-256-CTR; `out` and `in` are what the provider takes. */
static void encrypt(const char *properties, int device_memory, unsigned char *out,
                    const unsigned char *in, size_t bytes)
{
    unsigned one = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_uint("device-memory", &one), OSSL_PARAM_END};
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-256-CTR", properties);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    size_t done;
    int written;

    if (!cipher || !context ||
        !EVP_EncryptInit_ex2(context, cipher, key, iv, device_memory ? params : NULL))
        fail("cannot initialise AES-256-CTR");
    for (done = 0; done < bytes; done += (size_t)written) {
        size_t piece = bytes - done < PIECE ? bytes - done : PIECE;

        if (!EVP_EncryptUpdate(context, out + done, &written, in + done, (int)piece))
            fail("the update failed");
    }
    if (!EVP_EncryptFinal_ex(context, out + done, &written))
        fail("the end failed");
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
}

/* A device pointer goes through EVP as if it pointed to bytes. */
static unsigned char *bytes_at(CUdeviceptr pointer)
{
    return (unsigned char *)(uintptr_t)pointer; /* one address space for both */
}

static size_t mebibytes(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end != '\0' || n < 1 || n > 1 << 20) {
        fprintf(stderr, "device_memory: %s: expected a number of MiB, from 1 to 1048576\n", text);
        exit(1);
    }
    return (size_t)n << 20;
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? mebibytes(argv[1]) : (size_t)256 << 20, i;
    OSSL_PROVIDER *gpuaes = OSSL_PROVIDER_load(NULL, "gpuaes");
    OSSL_PROVIDER *cpu = OSSL_PROVIDER_load(NULL, "default");
    unsigned char *plain = malloc(bytes), *cipher = malloc(bytes), *expected = malloc(bytes);
    CUdeviceptr in, out;
    CUdevice device;
    CUcontext context;
    double begun;
    int differs;

    if (!gpuaes || !cpu)
        fail("the providers do not load");
    if (!bytes || !plain || !cipher || !expected)
        fail("no memory");
    for (i = 0; i < bytes; i++)
        plain[i] = (unsigned char)(i * 2654435761u >> 13);

    /* The primary context, which the CUDA runtime uses, too. */
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuMemAlloc(&in, bytes), "cuMemAlloc");
    check(cuMemAlloc(&out, bytes), "cuMemAlloc");
    check(cuMemcpyHtoD(in, plain, bytes), "cuMemcpyHtoD");

    encrypt("provider=gpuaes", 1, bytes_at(out), bytes_at(in), bytes);
    begun = now();
    encrypt("provider=gpuaes", 1, bytes_at(out), bytes_at(in), bytes);
    printf("%.1f GB/s\n", (double)bytes / (now() - begun) * 1e-9);

    check(cuMemcpyDtoH(cipher, out, bytes), "cuMemcpyDtoH");
    encrypt("provider=default", 0, expected, plain, bytes);
    differs = memcmp(cipher, expected, bytes);
    puts(differs ? "the CPU disagrees" : "the CPU agrees");

    check(cuMemFree(in), "cuMemFree");
    check(cuMemFree(out), "cuMemFree");
    check(cuDevicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
    OSSL_PROVIDER_unload(gpuaes);
    OSSL_PROVIDER_unload(cpu);
    free(plain);
    free(cipher);
    free(expected);
    return differs != 0;
}
