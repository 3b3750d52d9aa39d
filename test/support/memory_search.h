/*
 * Searches all memory of the process that can be written for blocks of 16 bytes, through
 * /proc/self/mem: heap, stacks of all threads, what libraries have, pinned memory and,
 * on the emulator, device memory.
 *
 * What is looked for, and what the test itself needs of it, lies in memory that is shared
 * with children and is not searched: so a child can make it, and leaves nothing.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_MEMORY_SEARCH_H
#define GPUAES_TEST_MEMORY_SEARCH_H

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { NEEDLE = 16, NEEDLES_MOST = 16384, SEARCH_WINDOW = 1 << 20, SEARCH_SLOTS = 1 << 16 };
enum { SEARCH_BITS = 1 << 18 };

struct search {
    unsigned char needle[NEEDLES_MOST][NEEDLE];
    unsigned count;
    uint16_t slot[SEARCH_SLOTS]; /* number of a needle and one, by a hash of its first bytes */
    unsigned char
        bits[SEARCH_BITS / 8]; /* set for these hashes: small enough for the first cache */
    unsigned found[NEEDLES_MOST];
    uintptr_t where[NEEDLES_MOST]; /* it was found last, not in a device's file if elsewhere, too */
    int in_device_file;            /* what is searched now */
    int (*is_ignored)(const void *); /* memory that is nobody's; NULL: none */
    unsigned char window[SEARCH_WINDOW + NEEDLE];
    size_t own_bytes; /* of all of this, with what the test has there */
    unsigned char own[];
};

/*
 * Begins the program again with all functions bound at once: a call that is bound when it is
 * made first saves the vector registers, with whatever they hold, on the stack.
 */
void search_bind_now(char **argv);

/* Returns a search with `room` bytes of memory for the test in `own`, or NULL if there is none.
   Ends the looks of asan_forks.h at this process. */
struct search *search_new(size_t room);

/* Ends the program for a block of 16 equal bytes: the search skips where all bytes are equal. */
void search_add(struct search *s, const unsigned char block[NEEDLE]);

/* Looks in `length` bytes of s->window, which are those at `begin`. */
void search_window(struct search *s, uintptr_t begin, size_t length);

/* All that can be written, but for a sanitizer's shadow. Returns how many needles there are. */
unsigned search_memory(struct search *s);

/* The line of /proc/self/maps that the address lies in, into *line. */
void search_describe(uintptr_t address, char *line, size_t room);

#endif
