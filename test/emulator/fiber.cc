/*
 * Fibers: begun by ucontext, left and gone on with by the compiler's jumps.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/emulator/fiber.h"

#include "test/emulator/sanitizers.h"

#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace emulator
{

/* Room for kernels built at -O0 with ASan; only pages that are used cost memory. */
enum { STACK_BYTES = 256 * 1024 };

static void *map_stack()
{
    const size_t guard = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void *mapped = mmap(nullptr, guard + STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (mapped == MAP_FAILED || mprotect(mapped, guard, PROT_NONE) != 0) {
        fprintf(stderr, "emulator: no memory for the stack of a device thread\n");
        abort();
    }
    return static_cast<char *>(mapped) + guard;
}

void fiber_create(fiber &created, void (*entry)())
{
    created.stack = map_stack();
    created.stack_bytes = STACK_BYTES;
    created.fake_stack = nullptr;
    created.tsan = nullptr;
    created.has_left = false;
#ifdef EMULATOR_TSAN
    created.tsan = __tsan_create_fiber(0);
#endif
    (void)VALGRIND_STACK_REGISTER(created.stack, static_cast<char *>(created.stack) + STACK_BYTES);
    getcontext(&created.context);
    created.context.uc_stack.ss_sp = created.stack;
    created.context.uc_stack.ss_size = STACK_BYTES;
    created.context.uc_link = nullptr;
    makecontext(&created.context, entry, 0);
}

void fiber_adopt_thread(fiber &adopted)
{
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &adopted.stack, &adopted.stack_bytes);
    pthread_attr_destroy(&attributes);
    adopted.fake_stack = nullptr;
    adopted.tsan = nullptr;
#ifdef EMULATOR_TSAN
    adopted.tsan = __tsan_get_current_fiber();
#endif
}

/*
 * As swapcontext(), but without its system call for the mask of signals, which is the same in all
 * fibers. The compiler's own jumps are known to no sanitizer; these two functions are not
 * instrumented, lest a sanitizer take a jump for an end of the stack, or count a call that does not
 * return.
 */
#define NOT_INSTRUMENTED gnu::noinline, gnu::no_sanitize("address"), gnu::no_sanitize("thread")

[[noreturn, NOT_INSTRUMENTED]] static void go_on_in(fiber &to)
{
    if (to.has_left)
        __builtin_longjmp(to.registers, 1);
    setcontext(&to.context);
    abort();
}

[[NOT_INSTRUMENTED]] void fiber_switch(fiber &from, fiber &to)
{
#ifdef EMULATOR_ASAN
    __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
#ifdef EMULATOR_TSAN
    __tsan_switch_to_fiber(to.tsan, 0);
#endif
    from.has_left = true;
    if (__builtin_setjmp(from.registers) == 0)
        go_on_in(to);
#ifdef EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

void fiber_entered()
{
#ifdef EMULATOR_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

} // namespace emulator
