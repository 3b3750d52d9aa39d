/*
 * Fibers: stacks that a thread switches between, known to ASan, TSan and
 * valgrind.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_EMULATOR_FIBER_H
#define GPUAES_EMULATOR_FIBER_H

#include <cstddef>
#include <ucontext.h>

namespace emulator
{

struct fiber {
    ucontext_t context; /* where it begins */
    void *registers[5]; /* where it goes on, once it has left */
    bool has_left;
    void *stack;
    size_t stack_bytes;
    void *tsan;
    void *fake_stack; /* ASan's, while the fiber is not running */
};

/* A fiber that, when first switched to, runs entry(), which must not return. */
void fiber_create(fiber &created, void (*entry)());

/* Lets `adopted` stand for the calling thread itself. */
void fiber_adopt_thread(fiber &adopted);

/* Leaves `from`, the running one, for `to`; returns when `from` is switched to again. */
void fiber_switch(fiber &from, fiber &to);

/* The first thing to do in entry(). */
void fiber_entered();

} // namespace emulator

#endif
