/*
 * See root.h.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "cuda/driver/root.h"

#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    dev_t device;
    ino_t inode;
};

static struct {
    struct place root;
    struct place mounts; /* zeros where /proc does not tell */
} at_load;

static struct place place_of(const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0)
        return (struct place){0, 0};
    return (struct place){file.st_dev, file.st_ino};
}

/* A thread may have a root and a mount namespace that differ from those of the others. */
static struct place root_now(void)
{
    return place_of("/");
}

static struct place mounts_now(void)
{
    return place_of("/proc/thread-self/ns/mnt");
}

__attribute__((constructor)) static void remember(void)
{
    at_load.root = root_now();
    at_load.mounts = mounts_now();
}

void root_keep(void)
{
    /* In its own working directory it would keep a file system busy that the others have left. */
    int kept = unshare(CLONE_FS) == 0 && chdir("/") == 0;
    (void)kept;
}

static int same(struct place a, struct place b)
{
    return a.device == b.device && a.inode == b.inode;
}

/* Where /proc has come or gone, the namespaces cannot be compared, and count as changed. */
const char *root_changed(void)
{
    if (!same(root_now(), at_load.root))
        return "the root directory changed since gpuaes was loaded";
    if (!same(mounts_now(), at_load.mounts))
        return "the mount namespace changed since gpuaes was loaded";
    return NULL;
}
