/*
 * A file that appears under its name when it is complete.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "tool/stages/replacement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LINKS = 40, NAMES = 100 };

/* ---- Signals ------------------------------------------------------------------------------- */

/* What a signal removes. Changes with the signals blocked. */
static const struct replacement *volatile doomed;

static void on_signal(int number)
{
    const struct replacement *r = doomed;
    if (r != NULL)
        (void)unlinkat(r->folder, r->temporary, 0);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void block_signals(sigset_t *before)
{
    sigset_t all;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, before);
}

/* By default these do not end a process. */
static int is_harmless(int number)
{
    return number == SIGCHLD || number == SIGCONT || number == SIGURG || number == SIGWINCH ||
           number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/*
 * A signal that is ignored, as under nohup, stays so, and one that has a handler keeps it.
 * SIGXFSZ becomes an error of write().
 */
static void catch_signals(void)
{
    struct sigaction ours = {.sa_handler = on_signal}, there;
    (void)sigfillset(&ours.sa_mask);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (!is_harmless(number) && sigaction(number, NULL, &there) == 0 &&
            there.sa_handler == SIG_DFL)
            (void)sigaction(number, &ours, NULL); /* not of SIGKILL and SIGSTOP */
}

/* ---- Where it is ----------------------------------------------------------------------------- */

/* Opens the folder of a file that `path` names, seen from the folder that is open so far. */
static int enter(struct replacement *r, const char *path)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    size_t length = strlen(name);
    if (length == 0 || length > NAME_MAX) {
        errno = length == 0 ? EISDIR : ENAMETOOLONG;
        return 0;
    }
    if (slash != NULL)
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(name - path), path);
    int fd = openat(r->folder, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (r->folder >= 0)
        (void)close(r->folder);
    r->folder = fd;
    memcpy(r->name, name, length + 1);
    return 1;
}

static int is_in_proc(int folder)
{
    struct statfs system;
    return fstatfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/*
 * In a folder such as /tmp, where `writers` may make files, another user may have put this one
 * there as a trap; the folder's owner could do that anywhere below it.
 */
static int is_trusted(const struct stat *folder, mode_t writers, uid_t owner)
{
    return (folder->st_mode & S_ISVTX) == 0 || (folder->st_mode & writers) == 0 ||
           owner == geteuid() || owner == folder->st_uid;
}

/* As the kernel's fs.protected_symlinks = 1 has it. */
static int may_follow(const struct replacement *r)
{
    struct stat link, folder;
    if (fstat(r->folder, &folder) != 0 ||
        fstatat(r->folder, r->name, &link, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    return is_trusted(&folder, S_IWOTH, link.st_uid);
}

/*
 * The kernel follows the folders: a link of /proc leads to what is open, and its text is only a
 * description, which may name another file, or none.
 */
static int follow(struct replacement *r, const char *path)
{
    char text[PATH_MAX];
    if ((size_t)snprintf(text, sizeof text, "%s", path) >= sizeof text) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (int links = 0; links <= LINKS; links++) {
        if (!enter(r, text))
            return -1;
        ssize_t n = readlinkat(r->folder, r->name, text, sizeof text - 1);
        if (n < 0)
            return errno == EINVAL || errno == ENOENT ? 1 : -1;
        if (is_in_proc(r->folder))
            return 0;
        if (!may_follow(r)) {
            errno = EACCES;
            return -1;
        }
        text[n] = '\0';
    }
    errno = ELOOP;
    return -1;
}

static void leave_folder(struct replacement *r)
{
    int error = errno;
    if (r->folder >= 0)
        (void)close(r->folder);
    r->folder = -1;
    errno = error;
}

/* As fs.protected_regular = 2 and fs.protected_fifos = 2 have it for open() with O_CREAT. */
static int is_safe(const struct stat *folder, const struct stat *file)
{
    errno = EACCES;
    return is_trusted(folder, S_IWOTH | S_IWGRP, file->st_uid);
}

/* What rename() would find out in the end, too late. */
static int is_replaceable(const struct replacement *r, const struct stat *folder,
                          const struct stat *file)
{
    struct statx ours, around;
    if ((folder->st_mode & S_ISVTX) != 0 && geteuid() != 0 && geteuid() != file->st_uid &&
        geteuid() != folder->st_uid) {
        errno = EPERM;
        return 0;
    }
    /* A file may be mounted by itself, as containers get them. */
    errno = EBUSY;
    return statx(r->folder, r->name, AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &ours) != 0 ||
           statx(r->folder, "", AT_EMPTY_PATH, STATX_MNT_ID, &around) != 0 ||
           (ours.stx_mask & around.stx_mask & STATX_MNT_ID) == 0 ||
           ours.stx_mnt_id == around.stx_mnt_id;
}

/* ---- The temporary file ---------------------------------------------------------------------- */

/* ".NAME.1a2b3c4d", with a name that is cut where it is too long. */
static int open_new(struct replacement *r, mode_t mode)
{
    for (int i = 0; i < NAMES; i++) {
        unsigned random;
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            return -1;
        (void)snprintf(r->temporary, sizeof r->temporary, ".%.200s.%08x", r->name, random);
        int fd = openat(r->folder, r->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/*
 * What a new file gets depends on umask, on the folder's default ACL and on the file system: the
 * kernel says it, by what it gives to this one while it is empty. With an ACL, the group's bits
 * are its mask, so that they take away and give back what all of its entries allow.
 */
static int create(struct replacement *r)
{
    sigset_t before;
    struct stat status;
    catch_signals();
    block_signals(&before);
    int fd = open_new(r, r->exists ? 0600 : 0666), error = errno;
    if (fd >= 0) {
        doomed = r;
        r->mode = fstat(fd, &status) == 0 ? status.st_mode & 0777 : 0600;
        (void)fchmod(fd, 0600);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return fd;
}

/* The same for a path whose folder is open. */
static int open_found(struct replacement *r, const char **hindrance)
{
    struct stat folder;
    const struct stat *file = &r->found;
    if (r->exists && (fstat(r->folder, &folder) != 0 || !is_safe(&folder, file))) {
        *hindrance = "another user's file, in a folder with the sticky bit, where anybody may put "
                     "one: ";
        return -1;
    }
    if (r->exists && !S_ISREG(file->st_mode))
        return REPLACEMENT_NONE;
    if (r->exists && access(r->path, W_OK) != 0)
        return -1;
    if (r->exists && !is_replaceable(r, &folder, file)) {
        *hindrance = "it cannot be replaced, but standard output could be sent there: ";
        return -1;
    }
    int fd = create(r);
    if (fd < 0)
        *hindrance = "its folder must take a temporary file, which becomes the output: ";
    return fd;
}

int replacement_open(struct replacement *r, const char *path, int keeps, const char **hindrance)
{
    *r = (struct replacement){.path = path, .folder = -1, .keeps = keeps};
    r->exists = stat(path, &r->found) == 0;
    if (!r->exists && (errno != ENOENT || path[0] == '\0'))
        return -1;
    if (r->exists && S_ISDIR(r->found.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (r->exists && keeps && S_ISREG(r->found.st_mode)) {
        errno = EEXIST;
        return -1;
    }
    r->folder = AT_FDCWD;
    int followed = follow(r, path);
    int fd = followed > 0 ? open_found(r, hindrance) : followed == 0 ? REPLACEMENT_NONE : -1;
    if (fd < 0)
        leave_folder(r);
    return fd;
}

/* ---- Permissions -------------------------------------------------------------------- */

static const char acl_name[] = "system.posix_acl_access";

static int is_without_acl(void)
{
    return errno == ENODATA || errno == EOPNOTSUPP;
}

/* Passes on owner and group, as far as this user can; whether the group is the same now. */
static int pass_on_group(int fd, const struct stat *replaced)
{
    struct stat status;
    /* Another user's file becomes ours, as with any other way to replace it. */
    if (fchown(fd, replaced->st_uid, replaced->st_gid) != 0 &&
        fchown(fd, (uid_t)-1, replaced->st_gid) != 0)
        errno = 0;
    return fstat(fd, &status) == 0 && status.st_gid == replaced->st_gid;
}

/*
 * Passes on the ACL, or the lack of one where the folder gave one to the new file. 1: all
 * permissions are set by that; 0: the mode is still to be set; -1: the ACL cannot be passed on.
 */
static int pass_on_acl(const struct replacement *r, int fd, int keeps_group)
{
    char acl[XATTR_SIZE_MAX];
    ssize_t bytes = getxattr(r->path, acl_name, acl, sizeof acl);
    if (bytes >= 0) /* which has the group's bits as well */
        return keeps_group && fsetxattr(fd, acl_name, acl, (size_t)bytes, 0) == 0 ? 1 : -1;
    return is_without_acl() && (fremovexattr(fd, acl_name) == 0 || is_without_acl()) ? 0 : -1;
}

void replacement_permit(const struct replacement *r, int fd)
{
    struct stat replaced;
    mode_t mode = r->mode;
    if (r->exists && fstatat(r->folder, r->name, &replaced, AT_SYMLINK_NOFOLLOW) == 0 &&
        replaced.st_dev == r->found.st_dev && replaced.st_ino == r->found.st_ino) {
        int keeps_group = pass_on_group(fd, &replaced), acl = pass_on_acl(r, fd, keeps_group);
        if (acl > 0)
            return;
        mode = replaced.st_mode & 0777;
        if (acl < 0)
            mode &= 0700;
        /* Where the groups differ, anybody may have been in either class. */
        else if (!keeps_group)
            mode &= 0700 | (mode & 070) >> 3 | (mode & 07) << 3;
    }
    (void)fchmod(fd, mode);
}

/* ---- The end ------------------------------------------------------------------------------- */

static int sync_folder(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        (void)close(fd);
    return ok;
}

static int give_name(const struct replacement *r)
{
    if (!r->keeps)
        return renameat(r->folder, r->temporary, r->folder, r->name) == 0;
    if (renameat2(r->folder, r->temporary, r->folder, r->name, RENAME_NOREPLACE) == 0)
        return 1;
    /* NFS, for one, has links alone for that. */
    return errno == EINVAL && linkat(r->folder, r->temporary, r->folder, r->name, 0) == 0 &&
           unlinkat(r->folder, r->temporary, 0) == 0;
}

int replacement_commit(struct replacement *r, int sync)
{
    sigset_t before;
    block_signals(&before);
    int ok = give_name(r);
    if (ok)
        doomed = NULL;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    ok = ok && (!sync || sync_folder(r->folder));
    if (ok)
        leave_folder(r);
    return ok;
}

void replacement_abandon(struct replacement *r)
{
    if (doomed == r)
        (void)unlinkat(r->folder, r->temporary, 0);
    doomed = NULL;
    leave_folder(r);
}
