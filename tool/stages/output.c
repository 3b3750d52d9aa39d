/*
 * Where a stream goes to.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/stages/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/common/again.h"

enum { PIPE_BYTES = 1 << 20 };

/* A shell opens what output is sent to for writing only, and such a file cannot be mapped. */
static void reopen_for_mapping(struct output *output)
{
    int fd = open("/proc/self/fd/1", O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        output->fd = output->mapped.fd = fd;
        output->maps = 1;
    }
}

static int open_stdout(struct output *output)
{
    struct stat status;
    output->name = "standard output";
    output->is_stdout = 1;
    output->fd = STDOUT_FILENO;
    int flags = fcntl(output->fd, F_GETFL);
    if (flags < 0 || fstat(output->fd, &status) != 0)
        return 0;
    if ((flags & O_ACCMODE) == O_RDONLY) { /* it must not be opened again for more than that */
        errno = EBADF;
        return 0;
    }
    (void)fcntl(output->fd, F_SETPIPE_SZ, PIPE_BYTES);
    off_t at = S_ISREG(status.st_mode) ? lseek(output->fd, 0, SEEK_CUR) : -1;
    output->seekable = at >= 0 && (flags & O_APPEND) == 0;
    output->begin = at >= 0 ? (uint64_t)at : 0;
    if (output->seekable && mapped_open(&output->mapped, output->fd, 1))
        reopen_for_mapping(output);
    return 1;
}

/* As other programs do: for what is no regular file, or is open already. */
static int open_in_place(struct output *output, const char *path)
{
    struct stat status;
    output->fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    if (output->fd < 0)
        return 0;
    (void)fcntl(output->fd, F_SETPIPE_SZ, PIPE_BYTES);
    output->seekable = fstat(output->fd, &status) == 0 && S_ISREG(status.st_mode);
    return 1;
}

int output_open(struct output *output, const char *path, int keeps, int sync)
{
    *output = (struct output){.fd = -1, .name = path, .sync = sync, .hindrance = ""};
    output->replacement.folder = -1;
    if (path == NULL || strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return open_stdout(output);
    output->fd = replacement_open(&output->replacement, path, keeps, &output->hindrance);
    if (output->fd == REPLACEMENT_NONE)
        return open_in_place(output, path);
    output->seekable = output->fd >= 0;
    output->maps = output->seekable && mapped_open(&output->mapped, output->fd, 0);
    return output->seekable;
}

static int write_at(const struct output *output, const unsigned char *data, size_t bytes,
                    uint64_t at)
{
    for (size_t have = 0; have < bytes;) {
        ssize_t n = output->seekable
                        ? pwrite(output->fd, data + have, bytes - have, (off_t)(at + have))
                        : write(output->fd, data + have, bytes - have);
        if (n < 0 && !may_try_again(output->fd, POLLOUT))
            return 0;
        have += n > 0 ? (size_t)n : 0;
    }
    return 1;
}

static int write_piece(struct output *output, struct piece *piece)
{
    uint64_t at = output->begin + piece->to;
    if (!(output->maps && mapped_write(&output->mapped, piece->data, piece->bytes, at)) &&
        !write_at(output, piece->data, piece->bytes, at))
        return piece_fail(piece, "%s: %s", output->name, strerror(errno));
    return !piece->broken;
}

int output_place(void *context, struct piece *piece)
{
    struct output *output = context;
    piece->to = output->position;
    output->position += piece->bytes;
    if (output->maps && !mapped_grow(&output->mapped, output->begin + output->position))
        output->maps = 0;
    /* What is behind a broken piece is not to be written. */
    return (output->seekable && !piece->broken) || write_piece(output, piece);
}

int output_write(void *context, struct piece *piece)
{
    struct output *output = context;
    return !output->seekable || write_piece(output, piece);
}

/* Others write to standard output behind what we wrote. */
static void leave_stdout(const struct output *output)
{
    if (output->is_stdout && output->seekable)
        (void)lseek(STDOUT_FILENO, (off_t)(output->begin + output->position), SEEK_SET);
}

int output_commit(struct output *output)
{
    const int is_replacement = output->replacement.folder >= 0;
    if (!mapped_cut(&output->mapped, output->begin + output->position))
        return 0;
    if (is_replacement)
        replacement_permit(&output->replacement, output->fd);
    if (output->sync && fsync(output->fd) != 0 && errno != EINVAL && errno != EROFS)
        return 0;
    leave_stdout(output);
    int fd = output->fd;
    output->fd = -1;
    return close(fd) == 0 &&
           (!is_replacement || replacement_commit(&output->replacement, output->sync));
}

void output_abandon(struct output *output)
{
    leave_stdout(output);
    if (output->fd >= 0)
        (void)close(output->fd);
    output->fd = -1;
    replacement_abandon(&output->replacement);
}
