/*
 * A file that appears under its name when it is complete. Until then it has another name in the
 * same folder, and is readable for its user alone; nothing leaves it behind, be it an error, be it
 * a signal that can be caught.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_STAGES_REPLACEMENT_H
#define GPUAES_TOOL_STAGES_REPLACEMENT_H

#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>

struct replacement {
    const char *path; /* as the user named it */
    int folder;       /* where that leads to, with all links followed; -1: there is none */
    char name[NAME_MAX + 1], temporary[NAME_MAX + 1]; /* in there */
    mode_t mode;                                      /* if it replaces no file */
    int keeps;                                        /* a file that is there stays */
    int exists;                                       /* it replaces this one: */
    struct stat found;
};

enum { REPLACEMENT_NONE = -2 };

/*
 * Follows the links of `path`, though there may be no file yet, and makes the temporary file; `r`
 * must not move in memory from here on. The new file gets the permissions of the file that is found
 * now, and not of one that somebody else puts in its place. Refuses a file that another user can
 * have put there to get what is written to it, for root, too. Returns the descriptor, for reading
 * and writing; REPLACEMENT_NONE for what no other file can replace: a pipe, a device, or an open
 * file, as /dev/fd/N names it; or -1 with errno set, and `hindrance` to what could not be done if
 * that is not to open it. With `keeps`, a regular file that exists is EEXIST, here and in
 * replacement_commit().
 */
int replacement_open(struct replacement *r, const char *path, int keeps, const char **hindrance);

/*
 * Gives the file its permissions: those of the file that it replaces, or what open() gives to a new
 * one; fewer where the file system or this user cannot pass them on.
 */
void replacement_permit(const struct replacement *r, int fd);

/* Gives the file its name; with `sync`, that is on the disk then. Returns 1, or 0 with errno set.
 */
int replacement_commit(struct replacement *r, int sync);

/* Removes the temporary file, if there is one, and closes what replacement_open() opened. */
void replacement_abandon(struct replacement *r);

#endif
