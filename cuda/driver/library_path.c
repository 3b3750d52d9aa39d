/*
 * See library_path.h. The dynamic linker tells its folders, but not what its cache has: that is
 * read here. The library itself is not loaded, which would run its code.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include "cuda/driver/library_path.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char library[] = "libcuda.so.1";

static struct {
    char path[PATH_MAX]; /* empty: it was not found */
    dev_t device;
    ino_t inode;
} found;

/* ---- Files ---------------------------------------------------------------------- */

/* Takes a library for this kind of process. The dynamic linker passes over any other file. */
static int take(const char *path, const ElfW(Ehdr) * process)
{
    ElfW(Ehdr) file_header;
    struct stat file;
    int fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return 0;
    int fits = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
               read(fd, &file_header, sizeof file_header) == (ssize_t)sizeof file_header &&
               memcmp(file_header.e_ident, process->e_ident, EI_VERSION) == 0 &&
               file_header.e_machine == process->e_machine && strlen(path) < sizeof found.path;
    (void)close(fd);
    if (fits) {
        memcpy(found.path, path, strlen(path) + 1);
        found.device = file.st_dev;
        found.inode = file.st_ino;
    }
    return fits;
}

static int take_in(const char *folder, const ElfW(Ehdr) * process)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, library);
    return n > 0 && (size_t)n < sizeof path && take(path, process);
}

/* ---- The cache, as ldconfig of glibc 2.2 and newer writes it -------------------------- */

static const char magic[] = "glibc-ld.so.cache1.1";

struct cache {
    char magic[sizeof magic - 1];
    uint32_t entries, strings;
    uint8_t flags, reserved[3];
    uint32_t extensions, unused[3];
};

struct cache_entry {
    int32_t flags;
    uint32_t name, path; /* offsets from the beginning of struct cache */
    uint32_t os_version;
    uint64_t capabilities; /* of a processor, which no driver's library asks for */
};

static int take_entry(const char *cache, size_t bytes, const struct cache_entry *entry,
                      const ElfW(Ehdr) * process)
{
    return entry->capabilities == 0 && entry->name < bytes && entry->path < bytes &&
           bytes - entry->name >= sizeof library &&
           memcmp(cache + entry->name, library, sizeof library) == 0 &&
           memchr(cache + entry->path, '\0', bytes - entry->path) != NULL &&
           take(cache + entry->path, process);
}

static int take_of_cache(const char *file, size_t bytes, const ElfW(Ehdr) * process)
{
    /* Behind a table for glibc 2.1, where there is one. */
    const char *cache = memmem(file, bytes, magic, sizeof magic - 1);
    struct cache header;
    struct cache_entry entry;
    if (cache == NULL || (bytes -= (size_t)(cache - file)) < sizeof header)
        return 0;
    memcpy(&header, cache, sizeof header);
    const char *entries = cache + sizeof header;
    if (header.entries > (bytes - sizeof header) / sizeof entry)
        return 0;
    for (uint32_t i = 0; i < header.entries; i++) {
        memcpy(&entry, entries + i * sizeof entry, sizeof entry);
        if (take_entry(cache, bytes, &entry, process))
            return 1;
    }
    return 0;
}

static int take_by_cache(const ElfW(Ehdr) * process)
{
    struct stat file;
    int taken = 0, fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (fstat(fd, &file) == 0 && file.st_size > 0) {
        size_t bytes = (size_t)file.st_size;
        void *cache = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
        if (cache != MAP_FAILED) {
            taken = take_of_cache(cache, bytes, process);
            (void)munmap(cache, bytes);
        }
    }
    (void)close(fd);
    return taken;
}

/* ---- Folders ------------------------------------------------------------------------- */

/* For free(); NULL on an error. `object` is the one that would call dlopen(). */
static Dl_serinfo *search_list(struct link_map *object)
{
    Dl_serinfo size, *list = NULL;
    if (dlinfo(object, RTLD_DI_SERINFOSIZE, &size) == 0 && (list = malloc(size.dls_size)) != NULL &&
        dlinfo(object, RTLD_DI_SERINFOSIZE, list) == 0 &&
        dlinfo(object, RTLD_DI_SERINFO, list) == 0)
        return list;
    free(list);
    return NULL;
}

static int is_system_folder(const char *folder)
{
    static const char *const folders[] = {"/lib",     "/lib64",     "/lib/*-linux-gnu*",
                                          "/usr/lib", "/usr/lib64", "/usr/lib/*-linux-gnu*"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (fnmatch(folders[i], folder, FNM_PATHNAME) == 0)
            return 1;
    return 0;
}

/* The system's folders end the list, and come behind the cache; nothing else marks them. */
static void search(const Dl_serinfo *list, const ElfW(Ehdr) * process)
{
    unsigned i = 0, given = list->dls_cnt;
    while (given > 0 && is_system_folder(list->dls_serpath[given - 1].dls_name))
        given--;
    while (i < given)
        if (take_in(list->dls_serpath[i++].dls_name, process))
            return;
    if (take_by_cache(process))
        return;
    while (i < list->dls_cnt)
        if (take_in(list->dls_serpath[i++].dls_name, process))
            return;
}

__attribute__((constructor)) static void find(void)
{
    Dl_info info;
    void *object = NULL;
    if (getauxval(AT_SECURE) != 0 || !dladdr1(&found, &info, &object, RTLD_DL_LINKMAP))
        return;
    Dl_serinfo *list = search_list(object);
    if (list != NULL)
        search(list, info.dli_fbase);
    free(list);
}

const char *driver_path(const char **why)
{
    struct stat file;
    if (found.path[0] == '\0')
        *why = "libcuda.so.1 was not found when gpuaes was loaded: is the NVIDIA driver installed?";
    else if (stat(found.path, &file) != 0 || file.st_dev != found.device ||
             file.st_ino != found.inode)
        *why = "libcuda.so.1 was replaced or removed since gpuaes was loaded";
    else
        return found.path;
    return NULL;
}
