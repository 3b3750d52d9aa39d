/*
 * Fibers by ucontext.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/emulator/fiber.h"

#include "cuda/emulator/sanitizers.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
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

#ifdef EMULATOR_ASAN
/* libc's own: ASan's warns on stderr, and cannot know that it is told of each switch. */
static int switch_context(ucontext_t *from, const ucontext_t *to)
{
    using function = int (*)(ucontext_t *, const ucontext_t *);
    static const function swap =
        reinterpret_cast<function>(dlsym(dlopen("libc.so.6", RTLD_LAZY), "swapcontext"));
    return swap(from, to);
}
#else
static int switch_context(ucontext_t *from, const ucontext_t *to)
{
    return swapcontext(from, to);
}
#endif

void fiber_switch(fiber &from, fiber &to)
{
#ifdef EMULATOR_ASAN
    __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
#ifdef EMULATOR_TSAN
    __tsan_switch_to_fiber(to.tsan, 0);
#endif
    switch_context(&from.context, &to.context);
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
