/*
 * Searches all memory of the process that can be written.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/support/memory_search.h"

#include "test/support/asan_forks.h"

/*
 * The frame of a function that has returned lies in the stack, where other frames soon cover it.
 * The fake stacks that gcc 13 and newer have for detect_stack_use_after_return keep such frames,
 * with what no function would otherwise have left there. No leaks are looked for: a device that is
 * lost keeps memory.
 */
/* No checks of a sanitizer here: they took most of the time of a case. */
#define SEARCH_UNCHECKED __attribute__((no_sanitize("address", "undefined", "thread")))

void search_bind_now(char **argv)
{
    if (getenv("LD_BIND_NOW") == NULL && setenv("LD_BIND_NOW", "1", 1) == 0)
        (void)execv("/proc/self/exe", argv);
}

struct search *search_new(size_t room)
{
    size_t bytes = sizeof(struct search) + room;
    struct search *s = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return NULL;
    s->own_bytes = bytes;
    asan_forks_look_away();
    return s;
}

SEARCH_UNCHECKED static unsigned search_hash(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return (unsigned)(x * UINT64_C(0x9E3779B97F4A7C15) >> 46);
}

SEARCH_UNCHECKED static int all_equal(const unsigned char *p, size_t length)
{
    return p[0] == p[length - 1] && memcmp(p, p + 1, length - 1) == 0;
}

void search_add(struct search *s, const unsigned char block[NEEDLE])
{
    unsigned hash = search_hash(block), at = hash % SEARCH_SLOTS;
    if (s->count == NEEDLES_MOST || all_equal(block, NEEDLE))
        abort();
    memcpy(s->needle[s->count], block, NEEDLE);
    s->bits[hash / 8] |= (unsigned char)(1 << hash % 8);
    while (s->slot[at])
        at = (at + 1) % SEARCH_SLOTS;
    s->slot[at] = (uint16_t)++s->count;
}

/* Counts the needles that begin at s->window[i], of which `hash` is. */
SEARCH_UNCHECKED static void search_slot(struct search *s, unsigned hash, uintptr_t begin, size_t i)
{
    for (unsigned at = hash % SEARCH_SLOTS; s->slot[at]; at = (at + 1) % SEARCH_SLOTS) {
        unsigned n = s->slot[at] - 1u;
        if (memcmp(s->needle[n], s->window + i, NEEDLE) ||
            (s->is_ignored != NULL && s->is_ignored((const void *)(begin + i))))
            continue;
        if (s->found[n]++ == 0 || !s->in_device_file)
            s->where[n] = begin + i;
    }
}

SEARCH_UNCHECKED void search_window(struct search *s, uintptr_t begin, size_t length)
{
    enum { STEP = 1024 };
    for (size_t i = 0; i + NEEDLE <= length;) {
        size_t places = length - NEEDLE + 1 - i < STEP ? length - NEEDLE + 1 - i : STEP,
               end = i + places;
        if (all_equal(s->window + i, places + NEEDLE - 1)) {
            i = end; /* most of memory is zeros */
            continue;
        }
        for (; i < end; i++) {
            unsigned hash = search_hash(s->window + i);
            if (s->bits[hash / 8] >> hash % 8 & 1)
                search_slot(s, hash, begin, i);
        }
    }
}

static void search_range(struct search *s, int memory, uintptr_t begin, uintptr_t end)
{
    while (begin + NEEDLE <= end) {
        size_t length = end - begin < sizeof s->window ? end - begin : sizeof s->window;
        ssize_t got = pread(memory, s->window, length, (off_t)begin);
        if (got < NEEDLE)
            return; /* pages that nobody may read */
        search_window(s, begin, (size_t)got);
        begin += (size_t)got - NEEDLE + 1;
    }
}

unsigned search_memory(struct search *s)
{
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[4608], access[5]; /* a path may have 4096 bytes */
    uintptr_t begin, end, own = (uintptr_t)s;
    unsigned found = 0;
    if (maps == NULL || memory < 0)
        abort();
    memset(s->found, 0, sizeof s->found);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, access) == 3 &&
            access[1] == 'w' && (end <= own || begin >= own + s->own_bytes) &&
            end - begin <= (uintptr_t)1 << 30) {
            s->in_device_file = strstr(line, " /dev/") != NULL;
            search_range(s, memory, begin, end);
        }
    for (unsigned i = 0; i < s->count; i++)
        found += s->found[i] != 0;
    fclose(maps);
    close(memory);
    return found;
}

void search_describe(uintptr_t address, char *line, size_t room)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uintptr_t begin, end;
    int found = 0;
    while (maps && !found && fgets(line, (int)room, maps))
        found = sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 && begin <= address &&
                address < end;
    if (maps)
        fclose(maps);
    line[found ? strcspn(line, "\n") : 0] = '\0';
}
