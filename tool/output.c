/*
 * Where a stream goes to.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "again.h"

enum { PIPE_BYTES = 1 << 20 };

/* ---- The temporary file ------------------------------------------------------------------ */

/* What somebody, or a limit, may end us by; SIGXFSZ becomes an error of write(). */
static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,    SIGQUIT, SIGPIPE, SIGALRM,
                              SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGXCPU, SIGIO};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

/* What a signal removes. Changes with the signals blocked. */
static const char *volatile doomed;

static void on_signal(int number)
{
    if (doomed != NULL)
        (void)unlink(doomed);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void block_signals(sigset_t *before)
{
    sigset_t set;
    (void)sigemptyset(&set);
    for (int i = 0; i < SIGNALS; i++)
        (void)sigaddset(&set, signals[i]);
    (void)pthread_sigmask(SIG_BLOCK, &set, before);
}

/* A signal that is ignored, as under nohup, stays so. */
static void catch_signals(void)
{
    struct sigaction ours = {.sa_handler = on_signal}, there;
    (void)sigfillset(&ours.sa_mask);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < SIGNALS; i++)
        if (sigaction(signals[i], NULL, &there) == 0 && there.sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &ours, NULL);
}

/* ".NAME.XXXXXX" in the target's folder, with a name that is cut where it is too long. */
static char *temporary_name(const char *target)
{
    char *folder = strdup(target), *base = strdup(target), *name = NULL;
    if (folder != NULL && base != NULL &&
        asprintf(&name, "%s/.%.200s.XXXXXX", dirname(folder), basename(base)) < 0)
        name = NULL;
    free(folder);
    free(base);
    return name;
}

static int open_temporary(struct output *output)
{
    sigset_t before;
    output->temporary = temporary_name(output->target);
    if (output->temporary == NULL)
        return 0;
    catch_signals();
    block_signals(&before);
    output->fd = mkostemp(output->temporary, O_CLOEXEC);
    int error = errno;
    if (output->fd >= 0)
        doomed = output->temporary;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return output->fd >= 0;
}

/*
 * Those of the file that it replaces, or what any new file gets, as far as this file system
 * and this user can: until then nobody else may read it.
 */
static void set_permissions(const struct output *output, const struct stat *replaced)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    /* Another user's file becomes ours, as with any other way to replace it. */
    if (replaced != NULL && fchown(output->fd, replaced->st_uid, replaced->st_gid) != 0 &&
        fchown(output->fd, (uid_t)-1, replaced->st_gid) != 0)
        errno = 0;
    (void)fchmod(output->fd, replaced != NULL ? replaced->st_mode & 0777 : 0666 & ~mask);
}

/* ---- Opening -------------------------------------------------------------------------- */

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

static int open_special(struct output *output, const char *path)
{
    output->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (output->fd >= 0)
        (void)fcntl(output->fd, F_SETPIPE_SZ, PIPE_BYTES);
    return output->fd >= 0;
}

/* What a link says, seen from where it is; NULL if this is none. */
static char *read_link(const char *path)
{
    char text[PATH_MAX], *folder = strdup(path), *target = NULL;
    ssize_t n = readlink(path, text, sizeof text - 1);
    if (n > 0 && folder != NULL) {
        text[n] = '\0';
        if (asprintf(&target, "%s/%s", text[0] == '/' ? "" : dirname(folder), text) < 0)
            target = NULL;
    }
    free(folder);
    return target;
}

/* The file's name behind all links, though there may be no file yet. */
static char *follow(const char *path)
{
    char *target = realpath(path, NULL);
    if (target != NULL || errno != ENOENT)
        return target;
    target = strdup(path);
    for (char *next; target != NULL && (next = read_link(target)) != NULL; target = next)
        free(target);
    return target;
}

/*
 * Whether a file can be replaced by another one: what is found out by rename() in the end
 * comes too late. 1, or 0 with errno set.
 */
static int is_replaceable(const char *target, const struct stat *status)
{
    struct stat around;
    struct statx file, beside;
    char *name = strdup(target), *folder = name != NULL ? dirname(name) : NULL;
    int ok = folder != NULL && stat(folder, &around) == 0;
    if (ok && (around.st_mode & S_ISVTX) != 0 && geteuid() != 0 && geteuid() != status->st_uid &&
        geteuid() != around.st_uid) {
        errno = EPERM;
        ok = 0;
    }
    /* A file may be mounted by itself, as containers get them. */
    if (ok && statx(AT_FDCWD, target, 0, STATX_MNT_ID, &file) == 0 &&
        statx(AT_FDCWD, folder, 0, STATX_MNT_ID, &beside) == 0 &&
        (file.stx_mask & beside.stx_mask & STATX_MNT_ID) != 0 &&
        file.stx_mnt_id != beside.stx_mnt_id) {
        errno = EBUSY;
        ok = 0;
    }
    free(name);
    return ok;
}

int output_open(struct output *output, const char *path, int sync)
{
    struct stat status;
    *output = (struct output){.fd = -1, .name = path, .sync = sync, .hindrance = ""};
    if (path == NULL || strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return open_stdout(output);
    int exists = stat(path, &status) == 0;
    if (!exists && (errno != ENOENT || path[0] == '\0'))
        return 0;
    if (exists ? S_ISDIR(status.st_mode) : path[strlen(path) - 1] == '/') {
        errno = EISDIR;
        return 0;
    }
    if (exists && !S_ISREG(status.st_mode))
        return open_special(output, path);
    if (exists && access(path, W_OK) != 0)
        return 0;
    output->target = follow(path);
    output->seekable = 1;
    if (output->target == NULL)
        return 0;
    if (exists && !is_replaceable(output->target, &status)) {
        output->hindrance = "it cannot be replaced, but standard output could be sent there: ";
        return 0;
    }
    if (!open_temporary(output)) {
        output->hindrance = "no file can be made in its folder, where one is written first: ";
        return 0;
    }
    output->maps = mapped_open(&output->mapped, output->fd, 0);
    set_permissions(output, exists ? &status : NULL);
    return 1;
}

/* ---- Writing -------------------------------------------------------------------------- */

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

static int write_data(struct output *output, const unsigned char *data, size_t bytes, uint64_t at)
{
    return (output->maps && mapped_write(&output->mapped, data, bytes, at)) ||
           write_at(output, data, bytes, at);
}

static int write_piece(struct output *output, struct piece *piece)
{
    uint64_t at = output->begin + piece->to;
    if (!write_data(output, piece->data, piece->bytes, at))
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

/* ---- The end -------------------------------------------------------------------------- */

static void forget_temporary(struct output *output)
{
    doomed = NULL;
    free(output->temporary);
    output->temporary = NULL;
}

static int sync_folder(const char *target)
{
    char *name = strdup(target);
    int fd = name != NULL ? open(dirname(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        (void)close(fd);
    free(name);
    return ok;
}

/* Cuts off what it grew too much, and has it on the disk if that is asked for. */
static int complete(const struct output *output)
{
    if (!mapped_cut(&output->mapped, output->begin + output->position))
        return 0;
    return !output->sync || fsync(output->fd) == 0 || errno == EINVAL || errno == EROFS;
}

static int close_output(struct output *output)
{
    int ok = complete(output), error = errno;
    if (output->target == NULL && output->seekable)
        (void)lseek(STDOUT_FILENO, (off_t)(output->begin + output->position), SEEK_SET);
    if (close(output->fd) != 0) {
        error = errno;
        ok = 0;
    }
    output->fd = -1;
    errno = error;
    return ok;
}

int output_commit(struct output *output)
{
    sigset_t before;
    int ok = close_output(output);
    if (!ok || output->target == NULL)
        return ok;
    block_signals(&before);
    ok = rename(output->temporary, output->target) == 0;
    if (ok)
        forget_temporary(output);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    ok = ok && (!output->sync || sync_folder(output->target));
    if (ok) {
        free(output->target);
        output->target = NULL;
    }
    return ok;
}

void output_abandon(struct output *output)
{
    int error = errno;
    if (output->target == NULL && output->seekable)
        (void)lseek(STDOUT_FILENO, (off_t)(output->begin + output->position), SEEK_SET);
    if (output->fd >= 0)
        (void)close(output->fd);
    output->fd = -1;
    if (output->temporary != NULL) {
        (void)unlink(output->temporary);
        forget_temporary(output);
    }
    free(output->target);
    output->target = NULL;
    errno = error;
}
