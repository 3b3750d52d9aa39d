/*
 * Tests of the emulator itself: a TAP program.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/driver/driver.h"
#include "test/emulator/hooks.h"
#include "test/unit/emulator_kernels.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

static driver cuda;
static int tests, failures;

static void ok(bool passed, const char *what)
{
    printf("%sok %d - %s\n", passed ? "" : "not ", ++tests, what);
    fflush(stdout);
    failures += !passed;
}

static void is(long long got, long long expected, const char *what)
{
    ok(got == expected, what);
    if (got != expected)
        printf("#   got %lld, expected %lld\n", got, expected);
}

/* A primary context with a stream, a module and some memory. */
struct fixture {
    drv_context context;
    drv_stream stream;
    drv_module module;
    drv_ptr memory;
    enum { BYTES = 1 << 16 };

    explicit fixture(const char *options)
    {
        emulator_configure(options);
        if (cuda.init(0) || cuda.primary_ctx_retain(&context, 0) ||
            cuda.ctx_push_current(context) ||
            cuda.stream_create(&stream, DRV_STREAM_NON_BLOCKING) ||
            cuda.module_load_data(&module, emulator_kernels()) || cuda.mem_alloc(&memory, BYTES)) {
            printf("Bail out! no context\n");
            exit(1);
        }
    }
    ~fixture()
    {
        emulator_configure("");
        drv_context popped;
        cuda.ctx_pop_current(&popped);
        cuda.primary_ctx_release(0);
    }
    fixture(const fixture &) = delete;

    drv_function function(const char *name) const
    {
        drv_function found;
        return cuda.module_get_function(&found, module, name) ? nullptr : found;
    }
    drv_result launch(const char *name, unsigned grid, unsigned block, unsigned shared,
                      uint32_t number = 0, uint64_t words = 0) const
    {
        test_arguments arguments{memory, memory, words, number};
        void *parameters[] = {&arguments};
        drv_result error = cuda.launch_kernel(function(name), grid, 1, 1, block, 1, 1, shared,
                                              stream, parameters, nullptr);
        memset(&arguments, 0xff, sizeof arguments); /* copied when launched */
        return error;
    }
    bool wait() const
    {
        drv_result state;
        while ((state = cuda.stream_query(stream)) == DRV_NOT_READY)
            usleep(50);
        return state == DRV_SUCCESS;
    }
    /* Device memory is the process's own here; the stream has been waited for. */
    uint32_t *words() const
    {
        return reinterpret_cast<uint32_t *>(memory);
    }
};

/* What a forked child ends with: its exit status, or 128 + the signal. */
static int in_child(const std::function<int()> &body)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        _exit(body());
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- Before anything else: the fork and the options ------------------------------ */

/* As ASYNC jobs do. */
static void call_on_stack(char *stack, size_t bytes)
{
    static ucontext_t here, there;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    makecontext(
        &there,
        [] {
            int version;
            cuda.driver_get_version(&version);
        },
        0);
    swapcontext(&here, &there);
}

static void test_children()
{
    is(in_child([] {
           emulator_configure("devices=0");
           return cuda.init(0);
       }),
       DRV_NO_DEVICE, "devices=0: cuInit finds no device");
    is(in_child([] {
           driver other;
           emulator_configure("nodriver=1");
           const char *why = driver_open(&other);
           return why && strstr(why, "libcuda.so.1") ? 7 : 0;
       }),
       7, "nodriver=1: driver_open says that libcuda.so.1 is not there");
    is(in_child([] {
           fclose(stderr);
           emulator_configure("treads=3");
           return 0;
       }),
       128 + SIGABRT, "a wrong option aborts");
    is(in_child([] {
           static char stack[48 << 10];
           fixture f("");
           fclose(stderr);
           call_on_stack(stack, sizeof stack);
           return 0;
       }),
       128 + SIGABRT, "a call on the stack of an ASYNC job aborts");
    is(in_child([] {
           fixture f("");
           fclose(stderr);
           f.launch("test_divergent", 1, 32, 0);
           f.wait();
           return 0;
       }),
       128 + SIGABRT, "divergent threads abort");
    is(in_child([] {
           fixture f("");
           fclose(stderr);
           f.launch("test_overrun", 1, 1, 64, 16);
           f.wait();
           return 0;
       }) > 0,
       1, "a write beyond dynamic shared memory is caught");
    is(in_child([] {
           fixture f("hang=1");
           f.launch("test_add", 1, 1, 0);
           exit(9); /* with all destructors */
           return 0;
       }),
       9, "a process with a hanging kernel exits");
    is(cuda.mem_free(0), DRV_NOT_INITIALIZED, "no function works before cuInit");
}

static void test_fork()
{
    fixture f("");
    void *pinned;
    is(cuda.mem_host_alloc(&pinned, 10000, 0), 0, "pinned memory");
    memset(pinned, 1, 10000);
    int status = in_child([&] {
        static_cast<char *>(pinned)[5] = 2;
        int value;
        return cuda.device_get_count(&value) == DRV_NOT_INITIALIZED &&
                       cuda.stream_query(f.stream) == DRV_NOT_INITIALIZED
                   ? 5
                   : 1;
    });
    is(status, 5, "in a forked child every call is refused");
    is(static_cast<char *>(pinned)[5], 2, "fork=shared: the child wrote to the parent's memory");
    emulator_configure("fork=absent");
    cuda.mem_host_alloc(&pinned, 10000, 0);
    status = in_child([&] { return msync(pinned, 1, MS_ASYNC) != 0 && errno == ENOMEM ? 6 : 1; });
    is(status, 6, "fork=absent: the child has no such memory");
}

/* ---- Kernels ------------------------------------------------------------------------ */

static void test_kernels()
{
    fixture f("");
    is(f.launch("test_barrier", 3, 64, 256), 0, "launch");
    f.wait();
    bool right = true;
    for (uint32_t i = 0; i < 192; i++)
        right = right && f.words()[i] == 63 - i % 64 + 2 + i / 64;
    ok(right, "barriers and shared memory");

    f.launch("test_early_exit", 2, 64, 0);
    f.wait();
    ok(f.words()[0] == 992 && f.words()[1] == 992, "threads that end do not hold up a barrier");

    f.launch("test_warp", 1, 64, 0);
    f.wait();
    right = true;
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t *out = f.words() + 8 * i, first = i & 32, lane = i & 31;
        right = right && out[0] == (first ? 1520 : 496) && out[1] == first + 5;
        right = right && out[2] == (first ? 0x92492492 : 0x49249249) && out[3] == (first != 0);
        right = right && out[4] == (first != 0);
        right = right && out[5] == (lane < 8 ? (7 - lane) * 10 : 0xffffff00);
        right = right && out[6] == (lane ? i - 1 : i) && out[7] == (i % 8 < 7 ? i + 1 : i);
    }
    ok(right, "shuffles, ballots and votes, also in part of a warp");

    uint64_t sums[3] = {0, ~uint64_t{0}, 0};
    memcpy(f.words(), sums, sizeof sums);
    f.launch("test_atomic", 5, 64, 0);
    f.wait();
    memcpy(sums, f.words(), sizeof sums);
    ok(sums[0] == 320 * 319 / 2 && sums[1] == 1000 && sums[2] == 319, "atomics");

    f.launch("test_integers", 1, 1, 0);
    f.wait();
    const uint32_t expected[12] = {0x778044ff, 0x23456788, 0x88000000, 0x00ffffff,
                                   0x00020002, 0xff0000ff, 0x40000001, 431,
                                   28,         19,         3,          7};
    const uint32_t *out = f.words();
    right = true;
    for (int i = 0; i < 12; i++)
        if (out[i] != expected[i]) {
            printf("#   integers[%d] is %08x, expected %08x\n", i, out[i], expected[i]);
            right = false;
        }
    ok(right, "integer intrinsics");
    is(emulator_launches("test_warp"), 1, "launches are counted by kernel");
    is(emulator_launches(nullptr), 5, "launches are counted");
}

static void test_launch_errors()
{
    fixture f("threads=64,shared=100000");
    drv_function none;
    is(cuda.module_get_function(&none, f.module, "no_such"), DRV_NOT_FOUND, "unknown kernel");
    is(f.launch("test_add", 1, 65, 0), DRV_INVALID_VALUE, "too many threads");
    is(f.launch("test_add", 0, 64, 0), DRV_INVALID_VALUE, "an empty grid");
    is(f.launch("test_add", 1, 64, 49152), 0, "48 KiB of shared memory without asking");
    is(f.launch("test_add", 1, 64, 49153), DRV_INVALID_VALUE, "more must be asked for");
    drv_function add = f.function("test_add");
    is(cuda.func_set_attribute(add, DRV_FUNC_MAX_DYNAMIC_SHARED, 100001), DRV_INVALID_VALUE,
       "no more than the device has");
    is(cuda.func_set_attribute(add, DRV_FUNC_MAX_DYNAMIC_SHARED, 100000), 0, "asking for more");
    is(f.launch("test_add", 1, 64, 100000), 0, "is granted");
    drv_module module;
    is(cuda.module_load_data(&module, nullptr), DRV_INVALID_VALUE, "no image");
    is(cuda.module_load_data(&module, "no image"), DRV_INVALID_IMAGE, "a wrong image");
    struct driver_image newest = {};
    driver_find_image(0, &newest);
    is(cuda.module_load_data(&module, newest.data), 0, "an image of the driver's CUDA");
    cuda.module_unload(module);
    emulator_configure("driver=12090,shared=100000");
    is(cuda.module_load_data(&module, newest.data), DRV_INVALID_IMAGE, "an image of a newer one");
    f.wait();
}

static void test_launch_cost()
{
    fixture f("");
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; i++)
        f.launch("test_barrier", 2, 64, 256);
    f.wait();
    std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
    printf("# a launch of 2 blocks of 64 threads with 6 barriers takes %.0f us\n",
           spent.count() / 200);
}

/* ---- Streams --------------------------------------------------------------------------- */

static void test_streams()
{
    fixture f("kernel-us=20000");
    drv_stream other;
    drv_event done, copied;
    cuda.stream_create(&other, DRV_STREAM_NON_BLOCKING);
    is(cuda.event_create(&done, DRV_EVENT_DISABLE_TIMING), 0, "an event");
    cuda.event_create(&copied, DRV_EVENT_DISABLE_TIMING);
    is(cuda.event_query(done), 0, "that was never recorded is complete");
    void *pinned;
    cuda.mem_host_alloc(&pinned, 4096, 0);
    uint32_t *host = static_cast<uint32_t *>(pinned);
    host[0] = 1;
    cuda.memcpy_htod_async(f.memory, host, 4096, f.stream);
    f.launch("test_add", 1, 64, 0, 41, 1024);
    cuda.event_record(done, f.stream);
    is(cuda.event_query(done), DRV_NOT_READY, "a slow kernel is not ready at once");
    is(cuda.stream_query(other), 0, "another stream is idle meanwhile");
    cuda.stream_wait_event(other, done, 0);
    cuda.memcpy_dtoh_async(host, f.memory, 4096, other);
    cuda.event_record(copied, other);
    is(cuda.stream_destroy(other), 0, "a stream may be destroyed with work in it");
    is(cuda.stream_query(other), DRV_INVALID_HANDLE, "and is no stream then");
    while (cuda.event_query(copied) == DRV_NOT_READY)
        usleep(100);
    is(host[0], 42, "one stream waits for an event in another");
    host[1] = 5;
    is(cuda.memcpy_htod_async(f.memory, host, 8, nullptr), 0, "the legacy stream");
    is(cuda.memset_d8_async(f.memory + 4, 1, 1, DRV_STREAM_LEGACY), 0, "by its other name");
    while (cuda.stream_query(DRV_STREAM_LEGACY) == DRV_NOT_READY)
        usleep(100);
    is(f.words()[1], 1, "works in order");
    is(cuda.event_destroy(done), 0, "an event is destroyed");
    is(cuda.event_query(done), DRV_INVALID_HANDLE, "once");
}

/* ---- Memory ------------------------------------------------------------------------------ */

static void test_memory()
{
    fixture f("memory=1,pinned=1");
    drv_ptr more, base = 0;
    size_t bytes = 0;
    int range[] = {DRV_POINTER_RANGE_START, DRV_POINTER_RANGE_SIZE};
    void *values[] = {&base, &bytes};
    is(cuda.mem_alloc(&more, 1 << 20), DRV_OUT_OF_MEMORY, "device memory ends");
    is(cuda.pointer_get_attributes(2, range, values, f.memory + 99), 0,
       "the allocation of a pointer");
    ok(base == f.memory && bytes == fixture::BYTES, "is known");
    alignas(4096) static char heap[20000];
    is(cuda.memcpy_htod_async(f.memory + 8, heap, fixture::BYTES, f.stream), DRV_INVALID_VALUE,
       "a copy beyond the allocation");
    is(emulator_unpinned_copies(), 0, "no copy from unpinned memory yet");
    is(cuda.memcpy_htod_async(f.memory, heap, 100, f.stream), 0, "a copy from unpinned memory");
    is(emulator_unpinned_copies(), 1, "is counted");
    f.wait();
    is(cuda.mem_host_register(heap, 10000, 0), 0, "registering memory");
    is(cuda.mem_host_register(heap + 10001, 1, 0), DRV_ALREADY_REGISTERED,
       "a page is registered once");
    is(cuda.memcpy_htod_async(f.memory, heap, 10001, f.stream), DRV_INVALID_VALUE,
       "a copy that leaves registered memory");
    drv_ptr mapped;
    is(cuda.mem_host_get_device_pointer(&mapped, heap + 3, 0), 0, "its device address");
    is(cuda.mem_host_unregister(heap), 0, "unregistering");
    is(cuda.mem_host_unregister(heap), DRV_NOT_REGISTERED, "twice fails");
    is(cuda.mem_host_register(reinterpret_cast<void *>(4096), 4096, 0), DRV_INVALID_VALUE,
       "registering what is not mapped");
    static const char constant[4096] = "read-only";
    is(cuda.mem_host_register(const_cast<char *>(constant), 16, 0), DRV_INVALID_VALUE,
       "or what is read-only");
    void *pinned;
    is(cuda.mem_host_alloc(&pinned, 2 << 20, 0), DRV_OUT_OF_MEMORY, "pinned memory ends");
    is(cuda.mem_free(f.memory + 1), DRV_INVALID_VALUE, "freeing the middle of something");
    is(static_cast<long long>(emulator_device_bytes()), fixture::BYTES,
       "what is allocated is known");
    is(cuda.mem_free(f.memory), 0, "freeing");
    is(static_cast<long long>(emulator_device_bytes()), 0, "so is that it was freed");
    is(cuda.mem_host_alloc(&pinned, 4096, 0), 0, "pinned memory");
    is(static_cast<long long>(emulator_pinned_bytes()), 4096, "is known, too");
    is(static_cast<long long>(emulator_contexts()), 1, "and that there is a context");
}

static void test_pools()
{
    fixture f("memory=1,kernel-us=20000");
    struct drv_pool_properties properties = {DRV_POOL_PINNED, 0, DRV_POOL_OF_DEVICE, 1,
                                             nullptr,         {}};
    drv_pool pool;
    drv_ptr memory, more;
    is(cuda.mem_pool_create(&pool, &properties), DRV_INVALID_VALUE, "a pool of another device");
    properties.location = 0;
    is(cuda.mem_pool_create(&pool, &properties), 0, "a pool");
    const size_t objects = emulator_objects(), bytes = emulator_device_bytes();
    is(cuda.mem_alloc_from_pool_async(&memory, 4096, pool, f.stream), 0, "memory of a pool");
    is(cuda.mem_alloc_from_pool_async(&more, 1 << 20, pool, f.stream), DRV_OUT_OF_MEMORY,
       "ends as other memory does");
    is(cuda.mem_pool_destroy(pool), DRV_INVALID_VALUE, "while it is in use the pool stays");
    f.words()[0] = 7;
    f.launch("test_add", 1, 1, 0, 1, 1);
    is(cuda.mem_free_async(memory + 1, f.stream), DRV_INVALID_VALUE, "the middle is not freed");
    is(cuda.mem_free_async(f.memory, f.stream), DRV_INVALID_VALUE, "nor is other memory");
    is(cuda.mem_free_async(memory, f.stream), 0, "memory is freed");
    ok(emulator_objects() == objects + 1, "but not before the work that is queued");
    f.wait();
    ok(emulator_objects() == objects && emulator_device_bytes() == bytes, "and then it is");
    is(emulator_begin_capture(f.stream), 0, "in a graph");
    cuda.mem_alloc_from_pool_async(&memory, 4096, pool, f.stream);
    cuda.memset_d8_async(memory, 1, 4096, f.stream);
    is(cuda.mem_free_async(f.memory, f.stream), DRV_INVALID_VALUE, "other memory is not freed");
    ok(!emulator_make_graph(f.stream) && emulator_objects() == objects,
       "memory that is not given back makes no graph");
    emulator_begin_capture(f.stream);
    cuda.mem_alloc_from_pool_async(&memory, 4096, pool, f.stream);
    cuda.mem_free_async(memory, f.stream);
    is(emulator_end_capture(f.stream), 2, "two nodes");
    emulator_begin_capture(f.stream);
    cuda.mem_alloc_from_pool_async(&memory, 4096, pool, f.stream);
    cuda.memcpy_dtod_async(f.memory, memory, 4, f.stream);
    cuda.memset_d8_async(memory, 1, 4096, f.stream);
    cuda.mem_free_async(memory, f.stream);
    void *graph = emulator_make_graph(f.stream);
    for (int run = 0; run < 2; run++) {
        f.words()[0] = 0;
        is(emulator_run_graph(graph, f.stream), 0, "a graph runs");
        f.wait();
        ok(f.words()[0] == 0xA5A5A5A5, "and finds what was never written");
    }
    ok(emulator_objects() == objects + 1, "its memory is kept");
    emulator_free_graph(graph);
    ok(emulator_objects() == objects, "until the graph is freed");
    is(cuda.mem_pool_destroy(pool), 0, "and the pool is destroyed");
    is(cuda.mem_alloc_from_pool_async(&memory, 4096, pool, f.stream), DRV_INVALID_VALUE, "once");
    emulator_configure("pools=0");
    is(cuda.mem_pool_create(&pool, &properties), DRV_NOT_SUPPORTED, "not every driver has pools");
}

static void test_frees()
{
    fixture f("frees-wait=1,kernel-us=20000");
    drv_ptr memory;
    cuda.mem_alloc(&memory, 64);
    f.words()[0] = 7;
    f.launch("test_add", 1, 1, 0, 1, 1);
    is(cuda.mem_free(memory), 0, "memory is freed");
    is(cuda.stream_query(f.stream), 0, "once all that is under way is done");
}

static void test_reset()
{
    fixture f("");
    emulator_reset(0);
    is(static_cast<long long>(emulator_contexts()), 0, "a reset leaves no context");
    is(cuda.ctx_push_current(f.context), DRV_INVALID_CONTEXT, "nor one that was known");
}

static void test_idle_kernels()
{
    fixture f("idle-kernels=1");
    f.words()[0] = 7;
    is(f.launch("test_add", 1, 1, 0, 1, 1), 0, "an idle kernel is launched");
    f.wait();
    is(f.words()[0], 7, "and does nothing");
    emulator_configure("");
    f.launch("test_add", 1, 1, 0, 1, 1);
    f.wait();
    is(f.words()[0], 8, "until it is told to");
}

static void test_pointers()
{
    fixture f("devices=2");
    unsigned type, managed;
    int ordinal;
    drv_ptr device;
    int attributes[] = {DRV_POINTER_MEMORY_TYPE, DRV_POINTER_DEVICE_POINTER, DRV_POINTER_IS_MANAGED,
                        DRV_POINTER_DEVICE_ORDINAL};
    void *values[] = {&type, &device, &managed, &ordinal};
    auto ask = [&](drv_ptr pointer) {
        return cuda.pointer_get_attributes(4, attributes, values, pointer);
    };
    int local = 0;
    drv_ptr local_pointer = reinterpret_cast<uintptr_t>(&local);
    is(ask(local_pointer), 0, "attributes of pageable memory");
    ok(!type && !device && !managed && !ordinal, "are zero");
    ask(f.memory + 5);
    ok(type == DRV_MEMORY_DEVICE && device == f.memory + 5 && !managed, "of device memory");
    void *own = emulator_managed_alloc(100);
    ask(reinterpret_cast<uintptr_t>(own));
    ok(type == DRV_MEMORY_DEVICE && managed, "of managed memory");
    void *pinned;
    cuda.mem_host_alloc(&pinned, 100, 0);
    ask(reinterpret_cast<uintptr_t>(pinned));
    ok(type == DRV_MEMORY_HOST && device, "of pinned memory");
    drv_context second;
    drv_ptr there;
    cuda.primary_ctx_retain(&second, 1);
    cuda.ctx_push_current(second);
    cuda.mem_alloc(&there, 16);
    ask(there);
    is(ordinal, 1, "of another device's memory");
    is(cuda.stream_query(f.stream), DRV_INVALID_HANDLE, "a stream of another context");
    cuda.ctx_pop_current(&second);
    cuda.primary_ctx_release(1);
    ask(there);
    is(type, 0, "releasing a context frees its memory");
}

/* ---- Contexts ---------------------------------------------------------------------------- */

static void test_contexts()
{
    fixture f("");
    unsigned flags;
    int active;
    drv_context popped;
    drv_ptr memory;
    std::thread([&] {
        is(cuda.mem_alloc(&memory, 1), DRV_INVALID_CONTEXT, "a thread begins without a context");
        is(cuda.ctx_pop_current(&popped), DRV_INVALID_CONTEXT, "and has none to pop");
        cuda.ctx_push_current(f.context);
        is(cuda.mem_alloc(&memory, 1), 0, "but can push one");
        cuda.ctx_pop_current(&popped);
    }).join();
    ok(popped == f.context, "popping returns it");
    cuda.primary_ctx_get_state(0, &flags, &active);
    ok(active && driver_of_application() != nullptr, "the primary context is active");
    is(cuda.ctx_push_current(nullptr), DRV_INVALID_CONTEXT, "NULL is no context");
    is(cuda.primary_ctx_release(1), DRV_INVALID_DEVICE, "there is one device");
}

/* ---- Faults -------------------------------------------------------------------------------- */

static void test_faults()
{
    fixture f("");
    emulator_configure("fault=cuMemAlloc_v2:2:2,fault=stream_query:1");
    drv_ptr memory;
    is(cuda.mem_alloc(&memory, 1), 0, "the first call succeeds");
    is(cuda.mem_alloc(&memory, 1), 2, "the second fails as told");
    is(cuda.mem_alloc(&memory, 1), 0, "the third succeeds");
    is(cuda.stream_query(f.stream), DRV_UNKNOWN, "by the name in the table, with code 999");
    is(emulator_calls("cuMemAlloc_v2"), 3, "calls are counted");

    emulator_configure("kernel-us=30000,lost=cuEventCreate:1");
    f.words()[0] = 7;
    f.launch("test_add", 1, 1, 0, 1, 1);
    f.launch("test_add", 1, 1, 0, 1, 1);
    drv_event event;
    is(cuda.event_create(&event, 0), DRV_LAUNCH_FAILED, "a device is lost");
    is(cuda.stream_query(f.stream), DRV_LAUNCH_FAILED, "for good");
    emulator_configure("");
    f.wait();
    ok(f.words()[0] <= 8, "queued work was dropped");
}

static void test_hang()
{
    fixture f("hang=2");
    drv_event event;
    drv_stream other;
    cuda.event_create(&event, 0);
    cuda.stream_create(&other, 0);
    f.launch("test_add", 1, 1, 0);
    ok(f.wait(), "the first kernel ends");
    f.launch("test_add", 1, 1, 0);
    cuda.event_record(event, f.stream);
    cuda.stream_wait_event(other, event, 0);
    usleep(20000);
    is(cuda.event_query(event), DRV_NOT_READY, "the second never does");
    is(cuda.stream_query(other), DRV_NOT_READY, "and what waits for it waits");
} /* and its context can be released */

int main()
{
    const char *why = driver_open(&cuda);
    if (why) {
        printf("Bail out! %s\n", why);
        return 1;
    }
    test_children();
    test_fork();
    test_kernels();
    test_launch_errors();
    test_launch_cost();
    test_streams();
    test_memory();
    test_pools();
    test_frees();
    test_reset();
    test_idle_kernels();
    test_pointers();
    test_contexts();
    test_faults();
    test_hang();
    printf("1..%d\n", tests);
    return failures != 0;
}
