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
    int exists;                                       /* it replaces this one: */
    dev_t device;
    ino_t inode;
};

/*
 * Follows the links of `path`, though there may be no file yet. Returns 1; 0 if it names an open
 * file, as /dev/fd/N does, which no other file can replace; or -1 with errno set.
 */
int replacement_find(struct replacement *r, const char *path);

/*
 * Whether no other user can have put the file there, which `status` describes, to get what is
 * written to it. That is so for root, too. Returns 1, or 0 with errno set.
 */
int replacement_is_safe(const struct replacement *r, const struct stat *status);

/*
 * Whether the file, of which `status` tells, can be replaced: what rename() finds out in the end
 * comes too late. Returns 1, or 0 with errno set.
 */
int replacement_is_possible(const struct replacement *r, const struct stat *status);

/*
 * Makes the temporary file; `r` must not move in memory from here on. `replaced` describes the file
 * to be replaced, or is NULL if there is none: the new file gets the permissions of that file
 * alone, not of one that somebody else puts in its place. Returns the descriptor, for reading and
 * writing, or -1 with errno set.
 */
int replacement_create(struct replacement *r, const struct stat *replaced);

/*
 * Gives the file its permissions: those of the file that it replaces, or what open() gives to a new
 * one; fewer where the file system or this user cannot pass them on.
 */
void replacement_permit(const struct replacement *r, int fd);

/* Gives the file its name; with `sync`, that is on the disk then. Returns 1, or 0 with errno set.
 */
int replacement_commit(struct replacement *r, int sync);

/* Removes the temporary file, if there is one, and closes what replacement_find() opened. */
void replacement_abandon(struct replacement *r);

#endif
