/*
 * Forked children that AddressSanitizer stops for ever.
 *
 * That of gcc 12 lets a thread fork while another one holds a lock of its allocator; in
 * the child that lock is never released. (Glibc's own malloc() cannot have that.) A child
 * that is found in the sanitizer's code four times at the same place is ended, and says
 * so in the file that GPUAES_TEST_FORKS names, so that the test may be run again. What
 * waits for anything else, our own locks among it, is left to the test's limits. Without
 * AddressSanitizer the functions do nothing.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TEST_ASAN_FORKS_H
#define GPUAES_TEST_ASAN_FORKS_H

/* Has each child that this process forks from now on looked at. */
void asan_forks_watch(void);

/* Ends the looks at this process; its children are still looked at. Each look is a signal, which
   saves the vector registers on the stack, with whatever they hold. */
void asan_forks_look_away(void);

#endif
