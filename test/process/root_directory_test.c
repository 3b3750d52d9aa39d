/*
 * No device is started where the process has another root directory, or is in another mount
 * namespace, than when the library was loaded: on the emulator.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "test/support/library.h"

enum { RIGHT = 0, WRONG = 1, CANNOT = 77 };

static char jail[] = "/tmp/gpuaes-root-XXXXXX";

/* Root, or as good as root, in a user namespace. */
static int may_chroot(void)
{
    return geteuid() == 0 || unshare(CLONE_NEWUSER) == 0;
}

static int refused(const char *reason)
{
    if (starts_with(NULL))
        return WRONG;
    if (strcmp(gpuaes_reason(), reason) == 0)
        return RIGHT;
    tap_diag("the reason is \"%s\"", gpuaes_reason());
    return WRONG;
}

/* ---- Before the start ------------------------------------------------------------- */

static int play_other_root(const void *unused)
{
    (void)unused;
    if (!may_chroot() || chroot(jail) != 0)
        return CANNOT;
    return refused("the root directory changed since gpuaes was loaded");
}

static int play_other_namespace(const void *unused)
{
    (void)unused;
    if (!may_chroot() || access("/proc/thread-self/ns/mnt", F_OK) != 0 || unshare(CLONE_NEWNS) != 0)
        return CANNOT;
    return refused("the mount namespace changed since gpuaes was loaded");
}

static int play_same_root(const void *unused)
{
    int root = open("/", O_RDONLY | O_DIRECTORY);
    (void)unused;
    if (!may_chroot() || root < 0 || chroot(jail) != 0)
        return CANNOT;
    return fchdir(root) == 0 && chroot(".") == 0 && starts_with(NULL) ? RIGHT : WRONG;
}

/* ---- During the start ---------------------------------------------------------------- */

static atomic_int looking, moved;
static ino_t root_of_start, folder_of_start;

static ino_t inode(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 ? file.st_ino : 0;
}

/* In the start's thread. */
static void look(void *unused)
{
    (void)unused;
    atomic_store(&looking, 1);
    while (!atomic_load(&moved))
        sleep_ms(1);
    root_of_start = inode("/");
    folder_of_start = inode(".");
}

static int play_during(const void *unused)
{
    static const struct gpuaes_settings settings = {.struct_bytes = sizeof settings,
                                                    .timeout_ms = 250000};
    ino_t root = inode("/");
    (void)unused;
    if (!may_chroot())
        return CANNOT;
    gpuaes_configure(&settings);
    gpuaes_start(look, NULL, 0);
    while (!atomic_load(&looking) && gpuaes_state() == GPUAES_STARTING)
        sleep_ms(1);
    int done = chroot(jail) == 0;
    atomic_store(&moved, 1);
    enum gpuaes_state state = gpuaes_start(NULL, NULL, 1);
    if (!done)
        return CANNOT;
    return state == GPUAES_READY && root_of_start == root && folder_of_start == root ? RIGHT
                                                                                     : WRONG;
}

/* ---- After an idle release -------------------------------------------------------------- */

static int play_again(const void *unused)
{
    static const struct gpuaes_settings settings = {.idle_seconds = 1};
    (void)unused;
    if (!may_chroot() || !starts_with(&settings))
        return CANNOT;
    if (chroot(jail) != 0)
        return CANNOT;
    while (gpuaes_state() != GPUAES_OFF)
        sleep_ms(10);
    return refused("the root directory changed since gpuaes was loaded");
}

static void check(int (*play)(const void *), const char *what)
{
    int status = in_child(play, NULL);
    if (status == CANNOT)
        tap_skip("%s: needs root, or a user namespace", what);
    else if (!tap_ok(status == RIGHT, "%s", what))
        tap_diag("status %d", status);
}

int main(void)
{
    (void)random_state;
    if (mkdtemp(jail) == NULL)
        return tap_skip_all("there can be no folder in /tmp");
    check(play_other_root, "another root directory: no start, and the reason says why");
    check(play_other_namespace, "another mount namespace: no start, and the reason says why");
    check(play_same_root, "there and back: a start");
    check(play_during, "a chroot() during the start does not move its thread");
    check(play_again, "another root directory after an idle release: no start");
    rmdir(jail);
    return tap_done();
}
