/*
 * A file on tmpfs that is written by mapping it.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/stages/mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/*
 * EXTENT: a huge page. BATCH: small pages that are populated, and still in the cache when they
 * are written. PAGE: the largest small page that a processor has.
 */
enum { EXTENT = 2 << 20, BATCH = 256 << 10, PAGE = 1 << 16, GROW = 256 << 20 };

/*
 * So many more extents that fail, or take longer than their small pages would, than do not: memory
 * is in pieces. While a GPU starts, all of them may be slow for some tenths of a second.
 */
enum { MANY = 64 };
static const double slow = 0.004;

/* Where a thread that writes to a page is to go on if there is none; NULL while it does not. */
static _Thread_local sigjmp_buf *volatile way_out;

/* What SIGBUS did before, and does where no such thread gets it. */
static struct sigaction otherwise;

static void on_no_page(int number)
{
    if (way_out != NULL)
        siglongjmp(*way_out, 1);
    (void)sigaction(number, &otherwise, NULL);
    (void)raise(number);
}

static void catch_no_page(void)
{
    struct sigaction ours = {.sa_handler = on_no_page};
    (void)sigaction(SIGBUS, &ours, &otherwise);
}

/* 0 where somebody has made the file shorter meanwhile. */
static int copy(char *to, const unsigned char *from, size_t bytes)
{
    sigjmp_buf here;
    int ok = sigsetjmp(here, 1) == 0;
    if (ok) {
        way_out = &here;
        atomic_signal_fence(memory_order_seq_cst);
        memcpy(to, from, bytes);
        atomic_signal_fence(memory_order_seq_cst);
    }
    way_out = NULL;
    return ok;
}

int mapped_open(struct mapped *file, int fd, int seen)
{
    struct statfs system;
    if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC)
        return 0;
    *file = (struct mapped){.fd = fd, .seen = seen};
    catch_no_page();
    (void)pthread_mutex_init(&file->lock, NULL);
    (void)pthread_cond_init(&file->changed, NULL);
    return 1;
}

/*
 * ftruncate() waits for writers: a file that no other process sees grows by much at once. What
 * others see may be theirs where it is none of this stream, and grow meanwhile: it is made just so
 * long as the stream is, and in a way that can make nothing shorter.
 */
int mapped_grow(struct mapped *file, uint64_t end)
{
    if (end <= file->grown)
        return 1;
    int ok;
    if (file->seen) {
        ok = fallocate(file->fd, 0, (off_t)end - 1, 1) == 0;
    } else {
        end = (end + EXTENT - 1) / EXTENT * EXTENT + GROW;
        ok = ftruncate(file->fd, (off_t)end) == 0;
    }
    if (ok)
        file->grown = end;
    return ok;
}

int mapped_cut(const struct mapped *file, uint64_t end)
{
    return file->seen || file->grown <= end || ftruncate(file->fd, (off_t)end) == 0;
}

/* Best effort: fill() asks for what is missing. Returns whether that took long, or failed. */
static int collapse(char *extent)
{
    double begin = clock_seconds(CLOCK_MONOTONIC);
    return madvise(extent, 1, MADV_POPULATE_WRITE) != 0 || /* there must be a page to begin with */
           madvise(extent, EXTENT, MADV_COLLAPSE) != 0 ||
           clock_seconds(CLOCK_MONOTONIC) - begin > slow;
}

/*
 * An extent can be in several pieces. The first thread makes it huge, and the others wait for
 * that, since a page that is written meanwhile hinders it.
 */
static void make_huge(struct mapped *file, char *extent, uint64_t number)
{
    uint64_t *state = &file->extents[number % MAPPED_EXTENTS];
    const uint64_t busy = 2 * number + 1, done = 2 * number + 2;
    (void)pthread_mutex_lock(&file->lock);
    while (*state == busy)
        (void)pthread_cond_wait(&file->changed, &file->lock);
    if (*state != done && file->hindrance < MANY) {
        *state = busy;
        (void)pthread_mutex_unlock(&file->lock);
        int hindered = collapse(extent);
        (void)pthread_mutex_lock(&file->lock);
        if (hindered)
            file->hindrance++;
        else if (file->hindrance > 0)
            file->hindrance--;
        *state = done;
        (void)pthread_cond_broadcast(&file->changed);
    }
    (void)pthread_mutex_unlock(&file->lock);
}

/*
 * A page for which there is no memory would be a signal when it is touched, so they are asked for
 * before.
 */
static int fill(char *map, size_t at, const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        size_t from = (at + i) / PAGE * PAGE, end = from + BATCH;
        if (end > at + bytes)
            end = at + bytes;
        if (madvise(map + from, end - from, MADV_POPULATE_WRITE) != 0 ||
            !copy(map + at + i, data + i, end - at - i))
            return 0;
        i = end - at;
    }
    return 1;
}

int mapped_write(struct mapped *file, const unsigned char *data, size_t bytes, uint64_t at)
{
    size_t before = (size_t)(at % EXTENT), end = before + bytes;
    size_t whole = (end + EXTENT - 1) / EXTENT * EXTENT;
    /* Huge pages must lie in memory as they lie in the file. */
    char *reserved = mmap(NULL, whole + EXTENT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED)
        return 0;
    char *map = reserved + (EXTENT - (uintptr_t)reserved % EXTENT) % EXTENT;
    int ok = mmap(map, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file->fd,
                  (off_t)(at - before)) != MAP_FAILED;
    for (size_t i = before; ok && i < end;) {
        size_t first = i / EXTENT * EXTENT, next = first + EXTENT;
        /* A small file needs none; the file may have grown by the rest of the last one by now. */
        if (bytes >= EXTENT / 2 && at - before + next <= file->grown)
            make_huge(file, map + first, (at - before + first) / EXTENT);
        if (next > end)
            next = end;
        ok = fill(map, i, data + (i - before), next - i);
        i = next;
    }
    (void)munmap(reserved, whole + EXTENT);
    return ok;
}
