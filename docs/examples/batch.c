/*
 * Encrypts many messages of AES-256-GCM in memory of the host, each with a key of its own, by one
 * batch, and decrypts them by another. One of them was changed in between: it is refused, and the
 * others are not affected.
 *
 *     batch [MESSAGES]
 *
 * Compile it with: cc -O2 batch.c $(pkg-config --cflags --libs gpuaes)
 *
 * Prints how fast that was and what became of the messages. MESSAGES is 10000 unless it is given.
 * Ends with 2 where no GPU can be used: the library has no AES for the CPU.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <gpuaes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { TEXT = 16384 };

/* With a key that is used once, any IV will do. */
struct message {
    unsigned char key[32], iv[12], tag[16];
    unsigned char text[TEXT];
};

/* What is authenticated, but not encrypted. */
static const unsigned char header[] = "from A to B";

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "batch: %s: %s\n", what, why);
    exit(1);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t number(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*end != '\0' || n < 1 || n > GPUAES_BATCH_MESSAGES)
        fail(text, "expected a number of messages, from 1 to 1048576");
    return n;
}

/* Stands for what else the program has to do while the device is at work. */
static void other_work(void)
{
    const struct timespec while_ns = {.tv_nsec = 50000};

    nanosleep(&while_ns, NULL);
}

/*
 * Adds all in place, and does other work until they are done. Returns the status of the batch: the
 * worst of the messages.
 */
static enum gpuaes_status run(struct gpuaes_batch *batch, enum gpuaes_op op, struct message *m,
                              size_t count)
{
    enum gpuaes_status status;

    gpuaes_batch_reset(batch); /* it allocates nothing when it is used again */
    for (size_t i = 0; i < count; i++) {
        const struct gpuaes_message message = {.op = op,
                                               .key = m[i].key,
                                               .key_bytes = sizeof m[i].key,
                                               .iv = m[i].iv,
                                               .iv_bytes = sizeof m[i].iv,
                                               .aad = header,
                                               .aad_bytes = sizeof header,
                                               .in = m[i].text,
                                               .out = m[i].text,
                                               .len = sizeof m[i].text,
                                               .tag = m[i].tag,
                                               .tag_bytes = sizeof m[i].tag};
        status = gpuaes_batch_add(batch, &message);
        if (status != GPUAES_OK)
            fail("adding a message", gpuaes_status_text(status));
    }
    status = gpuaes_batch_submit(batch, GPUAES_WAIT);
    if (status != GPUAES_OK)
        return status;
    /* Batches of more than 4 slices go on within these calls. gpuaes_batch_wait() would wait. */
    while ((status = gpuaes_batch_poll(batch)) == GPUAES_BUSY)
        other_work();
    return status;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? number(argv[1]) : 10000, bytes = count * sizeof(struct message);
    size_t changed = count / 2, refused = 0, wrong = 0;
    struct gpuaes_batch *batch = NULL;
    struct message *m;
    double begun;

    if (gpuaes_start(NULL, NULL, 1) != GPUAES_READY) {
        fprintf(stderr, "batch: no GPU can be used: %s\n", gpuaes_reason());
        return 2;
    }
    m = gpuaes_pinned_alloc(bytes); /* takes 0.36 ms per MiB: allocate once */
    if (m == NULL || gpuaes_batch_open(&batch) != GPUAES_OK)
        fail("beginning", "no memory");
    for (size_t i = 0; i < count; i++) {
        if (getrandom(m[i].key, sizeof m[i].key, 0) != sizeof m[i].key)
            fail("making a key", "no random numbers");
        memset(m[i].iv, 0, sizeof m[i].iv);
        memset(m[i].text, (int)(i % 251), sizeof m[i].text);
    }
    begun = now();
    enum gpuaes_status status = run(batch, GPUAES_GCM_ENCRYPT, m, count);
    if (status != GPUAES_OK)
        fail("encrypting", gpuaes_status_text(status));
    printf("%zu messages are encrypted: %.1f GB/s\n", count,
           (double)(count * TEXT) / (now() - begun) * 1e-9);

    m[changed].text[TEXT / 3] ^= 1;
    status = run(batch, GPUAES_GCM_DECRYPT, m, count);
    if (status != GPUAES_OK && status != GPUAES_BAD_TAG)
        fail("decrypting", gpuaes_status_text(status));
    for (size_t i = 0; i < count; i++) {
        const unsigned char expected = i == changed ? 0 : (unsigned char)(i % 251);
        const enum gpuaes_status own = gpuaes_batch_status(batch, i);
        if (own != GPUAES_OK) {
            printf("message %zu: %s\n", i, gpuaes_status_text(own));
            refused++;
        }
        for (size_t at = 0; at < TEXT; at++)
            wrong += m[i].text[at] != expected;
    }
    printf("%zu messages are decrypted, %zu refused\n", count - refused, refused);
    gpuaes_batch_close(batch);    /* which cleanses the keys */
    gpuaes_pinned_free(m, bytes); /* and so does this */
    return wrong != 0 || refused != 1;
}
