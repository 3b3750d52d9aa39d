/*
 * Memory that an application registers, on the emulator: gpuaes_pinned_register() and its limits;
 * and that no call registers memory of its caller by itself.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "test/support/library.h"

enum { PAGE = 4096, LARGE = (18 << 20) + 48 };

static unsigned char *pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static uint64_t faults(void)
{
    struct gpuaes_statistics s = {.struct_bytes = sizeof s};
    gpuaes_get_statistics(&s);
    return s.faults;
}

static int started(const char *options, const struct gpuaes_settings *settings)
{
    emulator_configure(options);
    return starts_with(settings);
}

static int small_call_is_right(unsigned char *p)
{
    enum { BYTES = 3 * PAGE };
    struct expected e;
    expect(&e, GPUAES_CTR, BYTES);
    memcpy(p, e.plain, BYTES);
    int right =
        gpuaes_aes(GPUAES_CTR, &e.schedule, e.iv, p, p, BYTES, GPUAES_WAIT, NULL) == GPUAES_OK &&
        memcmp(p, e.cipher, BYTES) == 0;
    expected_free(&e);
    return right;
}

static void test_application(void)
{
    unsigned char *p = pages(8 * PAGE);
    tap_ok(gpuaes_pinned_register(p + 112, 3 * PAGE) == GPUAES_OK &&
               gpuaes_memory_kind(p + 112, 3 * PAGE) == GPUAES_PINNED,
           "registered memory is pinned");
    tap_ok(small_call_is_right(p + 112) && emulator_calls("memcpy_htod_async") == 0,
           "and worked on where it is");
    tap_ok(gpuaes_pinned_register(p + 112, PAGE) == GPUAES_BAD_RANGE &&
               gpuaes_pinned_register(p + 3 * PAGE + 200, PAGE) == GPUAES_BAD_RANGE,
           "what shares a page with it cannot be registered");
    tap_ok(gpuaes_pinned_register(p + 5 * PAGE, PAGE) == GPUAES_OK, "what does not can be");
    tap_ok(gpuaes_pinned_unregister(p) == GPUAES_BAD_RANGE,
           "what was not registered cannot be unregistered");
    tap_ok(gpuaes_pinned_unregister(p + 112) == GPUAES_OK &&
               gpuaes_memory_kind(p + 112, 3 * PAGE) == GPUAES_PAGEABLE,
           "unregistered memory is pageable");
    tap_ok(gpuaes_pinned_unregister(p + 112) == GPUAES_BAD_RANGE, "it is unregistered once");
    tap_ok(gpuaes_pinned_unregister(p + 5 * PAGE) == GPUAES_OK && emulator_registered() == 0,
           "nothing stays registered");
    tap_ok(gpuaes_pinned_register(NULL, PAGE) == GPUAES_BAD_ARGUMENT &&
               gpuaes_pinned_register(p, 0) == GPUAES_BAD_ARGUMENT,
           "nothing at all is a bad argument");
    mprotect(p, PAGE, PROT_READ);
    tap_ok(gpuaes_pinned_register(p, 2 * PAGE) == GPUAES_BAD_RANGE,
           "read-only memory cannot be registered");
    tap_ok(gpuaes_state() == GPUAES_READY && faults() == 0, "which is no fault");
    munmap(p, 8 * PAGE);
}

static int no_device(const void *unused)
{
    unsigned char *p = pages(PAGE);
    (void)unused;
    return gpuaes_pinned_register(p, PAGE) == GPUAES_NOT_READY &&
                   gpuaes_pinned_unregister(p) == GPUAES_NOT_READY
               ? 0
               : 1;
}

static int little_memory(const void *unused)
{
    struct gpuaes_settings settings = {0};
    (void)unused;
    if (!started("pinned=1", &settings))
        return 1;
    unsigned char *p = pages(2 << 20);
    return gpuaes_pinned_register(p, 2 << 20) == GPUAES_NO_MEMORY && gpuaes_state() == GPUAES_READY
               ? 0
               : 2;
}

static unsigned char *held;

static int hold(void)
{
    held = held != NULL ? held : pages(PAGE);
    return gpuaes_pinned_register(held, PAGE) == GPUAES_OK;
}

static int let_go(void)
{
    return gpuaes_pinned_unregister(held) == GPUAES_OK;
}

static int is_kept_meanwhile(const void *unused)
{
    (void)unused;
    return !is_kept(hold, let_go);
}

/* Which would stand in the way of forks and of other calls. */
static void test_calls(void)
{
    for (int i = 0; i < SINGLE_OPS; i++) {
        const struct work work = {single_ops[i], LARGE, GPUAES_PAGEABLE, 1, NULL};
        struct gpuaes_report report;
        unsigned before = emulator_calls("mem_host_register");
        tap_ok(work_status(&work, &report) == GPUAES_OK &&
                   emulator_calls("mem_host_register") == before,
               "%s of pageable memory registers nothing", op_names[single_ops[i]]);
    }
    tap_ok(emulator_unpinned_copies() == 0 && faults() == 0, "and gives none of it to the driver");
}

int main(void)
{
    tap_random_seed(&random_state);
    /* First: children must come from a process without a device. */
    child_ok(no_device, NULL, "without a device nothing can be registered");
    child_ok(little_memory, NULL, "nor where memory cannot be locked");
    child_ok(is_kept_meanwhile, NULL, "the device is kept while memory is registered");
    tap_ok(started("", NULL), "the device starts");
    test_application();
    test_calls();
    return tap_done();
}
