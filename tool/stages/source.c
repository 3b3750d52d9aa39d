/*
 * Where a stream comes from.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/stages/source.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/minmax.h"
#include "tool/common/again.h"

enum { PIPE_BYTES = 1 << 20 };

int source_open(struct source *source, const char *path)
{
    struct stat status;
    int is_stdin = path == NULL || strcmp(path, "-") == 0;
    *source = (struct source){.fd = STDIN_FILENO, .limit = UINT64_MAX};
    source->name = is_stdin ? "standard input" : path;
    if (!is_stdin)
        source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (source->fd < 0 || fstat(source->fd, &status) != 0)
        return 0;
    if (S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return 0;
    }
    (void)fcntl(source->fd, F_SETPIPE_SZ, PIPE_BYTES);
    (void)posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    /* Files of /proc say that they have 0 bytes, those of /sys a page, and have others. */
    source->seekable = S_ISREG(status.st_mode) && status.st_size > sysconf(_SC_PAGESIZE);
    source->file_size = (uint64_t)status.st_size;
    return source_begin(source);
}

int source_begin(struct source *source)
{
    off_t at = source->seekable ? lseek(source->fd, 0, SEEK_CUR) : 0;
    if (at < 0)
        return 0;
    source->begin = (uint64_t)at;
    source->size = UINT64_MAX;
    if (source->seekable)
        source->size = source->file_size - min_u64(source->begin, source->file_size);
    return 1;
}

void source_close(struct source *source)
{
    if (source->fd > STDERR_FILENO)
        (void)close(source->fd);
    /* The next reader goes on from there. A pipe takes nothing back. */
    else if (source->seekable)
        (void)lseek(source->fd, (off_t)(source->begin + source->done), SEEK_SET);
    else if (source->peek_bytes != 0)
        (void)lseek(source->fd, -(off_t)source->peek_bytes, SEEK_CUR);
    OPENSSL_cleanse(source->peeked, sizeof source->peeked);
}

/* As many as there are, up to `bytes`, from `at` on where one can seek; -1 on an error. */
static ssize_t read_full(const struct source *source, unsigned char *data, size_t bytes,
                         uint64_t at)
{
    size_t have = 0;
    while (have < bytes) {
        ssize_t n = source->seekable
                        ? pread(source->fd, data + have, bytes - have, (off_t)(at + have))
                        : read(source->fd, data + have, bytes - have);
        if (n < 0 && may_try_again(source->fd, POLLIN))
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

/* Moves what was peeked at. */
static size_t take_peeked(struct source *source, unsigned char *data, size_t bytes)
{
    size_t n = min_u64(bytes, source->peek_bytes);
    if (data != NULL)
        memcpy(data, source->peeked + source->peek_at, n);
    source->peek_at += n;
    source->peek_bytes -= n;
    return n;
}

long source_peek(struct source *source, const unsigned char **data, size_t bytes)
{
    ssize_t n;
    *data = source->peeked;
    if (source->seekable) {
        return read_full(source, source->peeked, min_u64(source->size, bytes), source->begin);
    }
    memmove(source->peeked, source->peeked + source->peek_at, source->peek_bytes);
    source->peek_at = 0;
    if (source->peek_bytes < bytes) {
        n = read_full(source, source->peeked + source->peek_bytes, bytes - source->peek_bytes, 0);
        if (n < 0)
            return -1;
        source->peek_bytes += (size_t)n;
    }
    return (long)min_u64(source->peek_bytes, bytes);
}

int source_skip(struct source *source, uint64_t bytes)
{
    if (source->seekable) {
        if (bytes > source->size)
            return 0;
        source->begin += bytes;
        source->size -= bytes;
        return 1;
    }
    while (bytes != 0) {
        const unsigned char *ignored;
        long n = source_peek(source, &ignored, min_u64(bytes, SOURCE_PEEK));
        if (n <= 0)
            return (int)n;
        bytes -= take_peeked(source, NULL, (size_t)n);
    }
    return 1;
}

uint64_t source_expected(const struct source *source)
{
    return min_u64(source->size, source->limit);
}

uint64_t source_pieces(const struct source *source)
{
    uint64_t bytes = source_expected(source);
    if (bytes == UINT64_MAX)
        return UINT64_MAX;
    return bytes == 0 ? 1 : (bytes + source->lead - 1) / source->piece + 1;
}

static int read_seekable(struct source *source, struct piece *piece)
{
    uint64_t end = source_expected(source);
    uint64_t from = piece->number == 0 ? 0 : piece->number * source->piece - source->lead;
    piece->absent = piece->number > 0 && from >= end;
    if (piece->absent)
        return 1;
    piece->bytes = min_u64(end, (piece->number + 1) * source->piece - source->lead) - from;
    piece->last = from + piece->bytes == end;
    piece->ends = piece->last && end == source->size;
    ssize_t n = read_full(source, piece->data, piece->bytes, source->begin + from);
    if (n < 0)
        return piece_fail(piece, "%s: %s", source->name, strerror(errno));
    if ((size_t)n != piece->bytes)
        return piece_fail(piece, "%s: it became shorter while it was read", source->name);
    return 1;
}

static int read_ordered(struct source *source, struct piece *piece)
{
    const unsigned char *ignored;
    if (source->ended) {
        piece->absent = 1;
        return 1;
    }
    size_t most = source->piece - (piece->number == 0 ? source->lead : 0);
    size_t wanted = min_u64(source->limit - source->taken, most);
    size_t have = take_peeked(source, piece->data, wanted);
    ssize_t n = read_full(source, piece->data + have, wanted - have, 0);
    if (n < 0)
        return piece_fail(piece, "%s: %s", source->name, strerror(errno));
    piece->bytes = have + (size_t)n;
    source->taken += piece->bytes;
    long more = piece->bytes < wanted ? 0 : source_peek(source, &ignored, 1);
    if (more < 0)
        return piece_fail(piece, "%s: %s", source->name, strerror(errno));
    piece->ends = more == 0;
    piece->last = source->ended = piece->ends || source->taken == source->limit;
    return 1;
}

int source_read(void *context, struct piece *piece)
{
    struct source *source = context;
    int ok = source->seekable ? read_seekable(source, piece) : read_ordered(source, piece);
    if (ok && !piece->absent)
        source->done += piece->bytes;
    return ok;
}
