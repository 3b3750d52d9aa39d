/*
 * Which libcuda.so.1 is opened: the one that the dynamic linker would have found when the
 * library was loaded, or none. With the real table of the driver, before a library that only
 * leaves a mark, in a mount namespace with a /dev of its own: for root.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/driver/driver.h"
#include "cuda/driver/library_path.h"
#include "cuda/gpuaes.h"
#include "test/support/tap.h"

/* Not empty, or nothing would be opened; they are never loaded. */
int driver_find_image(unsigned n, struct driver_image *image)
{
    *image = (struct driver_image){.data = "", .toolkit = 12000};
    return n == 0;
}

const char *driver_build(void)
{
    return "test";
}

static const char *library; /* the one that leaves a mark, where it was built */
static char work[] = "/tmp/gpuaes-driver-XXXXXX";

/* ---- Files ------------------------------------------------------------------------ */

static const char *in_work(const char *name)
{
    static char paths[4][256];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", work, name);
    return path;
}

static int copy_library(const char *to)
{
    char bytes[4096];
    FILE *in = fopen(library, "rb"), *out = fopen(to, "wb");
    size_t n;
    int ok = in != NULL && out != NULL;
    while (ok && (n = fread(bytes, 1, sizeof bytes, in)) != 0)
        ok = fwrite(bytes, 1, n, out) == n;
    if (in != NULL)
        fclose(in);
    return (out == NULL || fclose(out) == 0) && ok;
}

static int make_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    return file != NULL && fputs(text, file) >= 0 && fclose(file) == 0;
}

/* A folder with nothing but these. */
static int make_folders(void)
{
    static const char *const folders[] = {"jail",         "jail/dev", "jail/usr",
                                          "jail/usr/lib", "empty",    "full"};
    int ok = 1;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        ok = ok && mkdir(in_work(folders[i]), 0755) == 0;
    return ok && copy_library(in_work("jail/usr/lib/libcuda.so.1")) &&
           copy_library(in_work("full/libcuda.so.1")) &&
           mknod(in_work("jail/dev/nvidiactl"), S_IFCHR | 0666, 1 << 8 | 3) == 0;
}

/* The files, on a tmpfs that goes with the namespace; and a /dev with one device file. */
static int make_place(void)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", work, "tmpfs", 0, NULL) == 0 && make_folders() &&
           mount("none", "/dev", "tmpfs", 0, NULL) == 0 &&
           mknod("/dev/nvidiactl", S_IFCHR | 0666, 1 << 8 | 3) == 0;
}

/* A cache of the dynamic linker that names the library in `full`, in the place of the host's. */
static int make_cache(void)
{
    char command[1024];
    snprintf(command, sizeof command,
             "PATH=$PATH:/usr/sbin:/sbin; { echo %s/full; cat /etc/ld.so.conf; } >%s/conf &&"
             " ldconfig -X -f %s/conf -C %s/cache",
             work, work, work, work);
    return system(command) == 0 &&
           mount(in_work("cache"), "/etc/ld.so.cache", NULL, MS_BIND, NULL) == 0;
}

/* ---- Cases: this program again, as its constructors have looked for the library then ----- */

static int is_loaded(void)
{
    return getenv("GPUAES_TEST_DRIVER_RAN") != NULL;
}

/* Whether a start opens the library, and why it fails. It always does: there are no functions. */
static int start(int opened, const char *reason)
{
    static const struct gpuaes_settings settings = {.struct_bytes = sizeof settings};
    gpuaes_configure(&settings);
    if (gpuaes_start(NULL, NULL, 1) == GPUAES_FAILED && is_loaded() == opened &&
        strstr(gpuaes_reason(), reason) != NULL)
        return 1;
    fprintf(stderr, "# %s, \"%s\"\n", is_loaded() ? "loaded" : "not loaded", gpuaes_reason());
    return 0;
}

static int is_opened(void)
{
    return start(1, "libcuda.so.1 has no cuInit");
}

static int is_not_found(void)
{
    return start(0, "libcuda.so.1 was not found when gpuaes was loaded");
}

static int enters_jail(void)
{
    return chroot(in_work("jail")) == 0 && chdir("/") == 0 && seteuid(1000) == 0 &&
           start(0, "the root directory changed since gpuaes was loaded");
}

static int opens_what_came_later(void)
{
    return copy_library(in_work("empty/libcuda.so.1")) && is_not_found();
}

static int opens_replaced(void)
{
    return copy_library(in_work("full/new")) &&
           rename(in_work("full/new"), in_work("full/libcuda.so.1")) == 0 &&
           start(0, "libcuda.so.1 was replaced or removed since gpuaes was loaded");
}

static int opens_without_device(void)
{
    return unlink("/dev/nvidiactl") == 0 && make_file("/dev/nvidiactl", "") &&
           start(0, "no NVIDIA device files");
}

static int takes_the_applications(void)
{
    return dlopen(library, RTLD_NOW | RTLD_LOCAL) != NULL && is_opened();
}

static const struct {
    const char *name, *folders; /* of LD_LIBRARY_PATH */
    int cached, nowhere; /* the cache has it; it must not be where the system has libraries */
    int (*run)(void);
    const char *what;
} cases[] = {
    {"path", "full", 0, 0, is_opened, "LD_LIBRARY_PATH has it: it is opened"},
    {"cache", NULL, 1, 0, is_opened, "the cache has it: it is opened"},
    {"none", "empty", 0, 1, is_not_found, "nothing has it: none is opened"},
    {"later", "empty", 0, 1, opens_what_came_later, "what comes after the load is not opened"},
    {"replaced", "full", 0, 0, opens_replaced, "nor is what replaces the one of then"},
    {"plain", "full", 0, 0, opens_without_device, "a plain file is no device file"},
    {"application", "empty", 0, 0, takes_the_applications, "the application's own is taken"},
    {"jail", NULL, 0, 0, enters_jail, "in a chroot, none is opened"},
};

enum { CANNOT = 77 };

static int run_case(const char *name)
{
    const char *why;
    library = getenv("GPUAES_TEST_LIBRARY");
    snprintf(work, sizeof work, "%s", getenv("GPUAES_TEST_WORK"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strcmp(cases[i].name, name) == 0) {
            if (cases[i].nowhere && driver_path(&why) != NULL)
                return CANNOT;
            return cases[i].run() ? EXIT_SUCCESS : EXIT_FAILURE;
        }
    return EXIT_FAILURE;
}

static int begin_case(size_t i)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(300);
        if (!make_place() || (cases[i].cached && !make_cache()))
            _exit(CANNOT);
        unsetenv("LD_LIBRARY_PATH");
        if (cases[i].folders != NULL)
            setenv("LD_LIBRARY_PATH", in_work(cases[i].folders), 1);
        setenv("GPUAES_TEST_WORK", work, 1);
        execl("/proc/self/exe", "driver_path_test", cases[i].name, (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

int main(int argc, char **argv)
{
    static char path[4096];
    const char *top = getenv("TOP_BUILDDIR");
    if (argc > 1)
        _exit(run_case(argv[1])); /* LeakSanitizer would want a /proc */
    snprintf(path, sizeof path, "%s/test/noticed/libcuda.so.1", top != NULL ? top : ".");
    setenv("GPUAES_TEST_LIBRARY", library = path, 1);
    if (mkdtemp(work) == NULL)
        return tap_skip_all("there can be no folder in /tmp");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = begin_case(i);
        if (status == CANNOT)
            tap_skip("%s: needs root, mounts, device files%s%s", cases[i].what,
                     cases[i].cached ? ", ldconfig" : "",
                     cases[i].nowhere ? ", a host without the driver" : "");
        else if (!tap_ok(status == EXIT_SUCCESS, "%s", cases[i].what))
            tap_diag("status %d", status);
    }
    rmdir(work);
    return tap_done();
}
