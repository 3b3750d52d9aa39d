/*
 * The emulator as a struct driver: the table, what happens at every call, and
 * the hooks for tests.
 *
 * Stricter than a card: a stream or event is used with its own context current;
 * mem_free waits for nothing unless it is told to (frees-wait), so memory must not
 * be in use; a pool of which memory is in use is not destroyed; fresh memory is filled with 0xA5.
 * Laxer: kernels can reach all memory of the process;
 * __launch_bounds__ is not checked; blocks of a grid run one after another, so
 * a kernel in which blocks wait for each other hangs; races in shared memory
 * do not show; a capture of a graph does not spread to other streams by events,
 * and forbids other threads nothing; memory of a pool can be used from the call on.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/emulator/emulator.h"
#include "test/emulator/hooks.h"

#include <cerrno>
#include <cstdlib>
#include <pthread.h>

namespace emulator
{

std::atomic<bool> forked{false};

/* Reachable but never freed: workers may still use it while the process exits. */
static driver_state *the_state;

driver_state &state()
{
    static std::once_flag once;
    std::call_once(once, [] { the_state = new driver_state; });
    return *the_state;
}

/* ---- Every call ------------------------------------------------------------------- */

static const fault *find_fault(const std::vector<fault> &faults, unsigned function, unsigned call)
{
    for (const fault &each : faults)
        if (each.function == function && each.call == call)
            return &each;
    return nullptr;
}

static void lose(unsigned fault_device)
{
    for (unsigned i = 0; i < MAX_DEVICES; i++)
        if (fault_device == MAX_DEVICES || fault_device == i)
            state().devices[i].lost = true;
    drop_queued_work();
}

/*
 * The driver needs more stack than an ASYNC job has (32 KiB), whose stack is not the thread's
 * own. Callers make sure of 64 KiB some frames above.
 */
static void check_stack()
{
    struct bounds {
        uintptr_t begin = 0, end = UINTPTR_MAX; /* it cannot be told where no file can be opened */
        bounds()
        {
            pthread_attr_t attributes;
            void *address = nullptr;
            size_t bytes = 0;
            if (pthread_getattr_np(pthread_self(), &attributes) != 0)
                return;
            pthread_attr_getstack(&attributes, &address, &bytes);
            pthread_attr_destroy(&attributes);
            begin = reinterpret_cast<uintptr_t>(address);
            end = begin + bytes;
        }
    };
    static thread_local const bounds own;
    const uintptr_t here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (here < own.begin + (48 << 10) || here >= own.end) {
        fprintf(stderr, "emulator: the driver was called on a stack without room for it\n");
        abort();
    }
}

/* Counts a call. Returns the error that the call must return at once, or DRV_SUCCESS. */
static drv_result begin_call(unsigned function)
{
    check_stack();
    errno = EIO; /* system calls of the real one change it */
    if (forked)
        return DRV_NOT_INITIALIZED;
    state_lock lock(state().mutex);
    driver_state &own = state();
    if (own.ended)
        return DRV_DEINITIALIZED;
    drv_context context = current_context();
    const unsigned device = own.options.fault_device;
    unsigned call = ++own.calls[function];
    if (context)
        own.devices[context->device].calls[function]++;
    if (device != MAX_DEVICES)
        call = context && static_cast<unsigned>(context->device) == device
                   ? own.devices[device].calls[function]
                   : 0;
    if (find_fault(own.options.losses, function, call))
        lose(device);
    /* With another device at hand, a thread can still change to it. */
    const bool changes =
        function == FUNCTION_ctx_push_current || function == FUNCTION_ctx_pop_current;
    if (is_lost(changes ? nullptr : context)) {
        /* A driver returns this once the device has stopped: no thread waits for it after that. */
        own.changed.wait(lock, lost_devices_are_quiet);
        return DRV_LAUNCH_FAILED;
    }
    if (const fault *injected = find_fault(own.options.faults, function, call))
        return injected->code;
    if (!own.initialized && function != FUNCTION_init && function != FUNCTION_driver_get_version)
        return DRV_NOT_INITIALIZED;
    return DRV_SUCCESS;
}

void end_driver()
{
    if (forked)
        return;
    state_lock lock(state().mutex);
    if (state().loading != 0)
        abort();
    state().ended = true;
    lose(MAX_DEVICES);
    state().changed.wait(lock, lost_devices_are_quiet);
    forbid_pinned_memory();
}

/* What the table points to: begin_call(), then the function itself. */
template <unsigned index, auto function> struct entry;
template <unsigned index, class... P, drv_result (*function)(P...)> struct entry<index, function> {
    static drv_result call(P... parameters)
    {
        drv_result error = begin_call(index);
        return error ? error : function(parameters...);
    }
};

/* No lock: the child has only this thread, and another may have held it. */
static void after_fork_in_child()
{
    if (the_state && the_state->initialized)
        forked = true;
}

static void configure(const char *text)
{
    options parsed = parse_options(text);
    state_lock lock(state().mutex);
    driver_state &own = state();
    own.options = parsed;
    own.configured = true;
    for (device_state &each : own.devices) {
        each.lost = each.lost && parsed.stay_lost;
        each.launches = 0;
        for (unsigned &calls : each.calls)
            calls = 0;
    }
    own.launches.clear();
    own.total_launches = own.unpinned_copies = 0;
    own.left = 0;
    for (unsigned &each : own.calls)
        each = 0;
    own.changed.notify_all(); /* threads that wait for a lost device: none is lost any more */
}

static void configure_once()
{
    static std::once_flag once;
    std::call_once(once, [] {
        pthread_atfork(nullptr, nullptr, after_fork_in_child);
        if (!state().configured)
            configure(getenv("GPUAES_EMULATOR"));
    });
}

/* in-use=BITS: takes the primary contexts as the application would have. */
static void use_devices()
{
    drv_context context;
    state_lock lock(state().mutex);
    const unsigned bits = state().options.in_use;
    state().initialized = state().initialized || bits != 0;
    lock.unlock();
    for (int device = 0; device < MAX_DEVICES; device++)
        if (bits >> device & 1)
            primary_ctx_retain(&context, device);
}

} // namespace emulator

/* ---- driver.h ------------------------------------------------------------------------- */

const char *driver_open(struct driver *table)
{
    using namespace emulator;
    configure_once();
    if (state().options.nodriver)
        return "libcuda.so.1 is not installed";
#define FILL(member, symbol, parameters)                                                           \
    table->member = entry<FUNCTION_##member, emulator::member>::call;
    DRIVER_FUNCTIONS(FILL)
#undef FILL
    return nullptr;
}

const struct driver *driver_of_application(void)
{
    using namespace emulator;
    if (forked)
        return nullptr;
    configure_once();
    static std::once_flag once;
    std::call_once(once, use_devices);
    state_lock lock(state().mutex);
    const bool loaded = state().initialized;
    lock.unlock();
    return loaded ? emulator_driver() : nullptr;
}

const char *driver_build(void)
{
    return "emulator";
}

/* ---- hooks.h: in a forked child nothing has happened ------------------------------------ */

void emulator_configure(const char *options)
{
    if (!emulator::forked)
        emulator::configure(options);
}

const struct driver *emulator_driver(void)
{
    static struct driver table;
    static const char *const refused = driver_open(&table);
    return refused == nullptr ? &table : nullptr;
}

const void *emulator_kernels(void)
{
    struct driver_image image;
    return driver_find_image(1, &image) ? image.data : nullptr;
}

unsigned emulator_calls(const char *function)
{
    using namespace emulator;
    const unsigned index = find_function(function);
    if (forked || index == FUNCTION_COUNT)
        return 0;
    state_lock lock(state().mutex);
    return state().calls[index];
}

unsigned emulator_launches(const char *kernel)
{
    using namespace emulator;
    if (forked)
        return 0;
    state_lock lock(state().mutex);
    if (!kernel)
        return state().total_launches;
    auto found = state().launches.find(kernel);
    return found == state().launches.end() ? 0 : found->second;
}

unsigned emulator_device_launches(int device)
{
    using namespace emulator;
    if (forked || device < 0 || device >= MAX_DEVICES)
        return 0;
    state_lock lock(state().mutex);
    return state().devices[device].launches;
}

size_t emulator_contexts(void)
{
    using namespace emulator;
    if (forked)
        return 0;
    state_lock lock(state().mutex);
    return state().contexts.size();
}

size_t emulator_objects(void)
{
    using namespace emulator;
    if (forked)
        return 0;
    state_lock lock(state().mutex);
    size_t objects = 0;
    for (drv_context each : state().contexts)
        objects += objects_of(each);
    return objects;
}

size_t emulator_left(void)
{
    using namespace emulator;
    if (forked)
        return 0;
    state_lock lock(state().mutex);
    return state().left;
}

size_t emulator_under_way(void)
{
    using namespace emulator;
    if (forked)
        return 0;
    state_lock lock(state().mutex);
    return count_operations();
}

size_t emulator_device_bytes(void)
{
    using namespace emulator;
    size_t bytes = 0;
    if (forked)
        return 0;
    state_lock lock(state().mutex);
    for (const device_state &each : state().devices)
        bytes += each.memory_used;
    return bytes;
}

size_t emulator_pinned_bytes(void)
{
    using namespace emulator;
    if (forked)
        return 0;
    state_lock lock(state().mutex);
    return state().pinned_used;
}

/* No lock: in a forked child another thread may have held it. */
unsigned emulator_registered(void)
{
    unsigned count = 0;
    for (const auto &each : emulator::state().host_memory.all)
        count += each.second.kind == emulator::memory_kind::registered;
    return count;
}

int emulator_is_inside_device(const void *p)
{
    return emulator::is_inside_device(p);
}

unsigned emulator_unpinned_copies(void)
{
    using namespace emulator;
    if (forked)
        return 0;
    state_lock lock(state().mutex);
    return state().unpinned_copies;
}
