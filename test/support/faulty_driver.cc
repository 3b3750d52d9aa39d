/*
 * A libcuda.so.1 that stands before the real one and fails on demand, so that tests of
 * faults can run on a card with a module that knows nothing of them: found first by
 * LD_LIBRARY_PATH, it forwards each function that libgpuaes calls.
 *
 * It has two of the emulator's hooks, with the same meaning (test/emulator/hooks.h):
 * emulator_configure(), with fault=, lost= and hang= alone, and emulator_calls(). Queued
 * work goes on behind a failure; with hang=N nothing seems to end that is queued from the Nth
 * launch on.
 *
 * GPUAES_TEST_DRIVER names the driver behind, also a module that is built on the emulator; without,
 * it is the next one of LD_LIBRARY_PATH, or what is in a usual place.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/driver/driver.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unistd.h>

namespace
{

enum function {
#define FUNCTION_INDEX(member, symbol, parameters) FUNCTION_##member,
    DRIVER_FUNCTIONS(FUNCTION_INDEX)
#undef FUNCTION_INDEX
        FUNCTIONS
};

const struct {
    const char *member, *symbol;
} names[] = {
#define FUNCTION_NAMES(member, symbol, parameters) {#member, #symbol},
    DRIVER_FUNCTIONS(FUNCTION_NAMES)
#undef FUNCTION_NAMES
};

struct failure {
    unsigned function = FUNCTIONS, call = 0;
    drv_result code = DRV_UNKNOWN;
};

std::mutex mutex; /* of what follows */
failure fault, loss;
unsigned hang, calls[FUNCTIONS];
bool lost, hanging;
std::set<drv_event> late; /* recorded while hanging */

[[noreturn]] void stop(const std::string &what)
{
    fprintf(stderr, "faulty driver: %s\n", what.c_str());
    abort();
}

/* ---- The driver behind ------------------------------------------------------------------ */

/* By its path, since the name alone is ours; NULL if that is what is there. */
void *open_driver_in(const std::string &folder)
{
    void *library = dlopen((folder + "/libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    return library && dlsym(library, "emulator_calls") ? nullptr : library;
}

void *open_driver()
{
    const char *given = getenv("GPUAES_TEST_DRIVER"), *path = getenv("LD_LIBRARY_PATH");
    if (given)
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    std::istringstream folders(path ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (void *library = folder.empty() ? nullptr : open_driver_in(folder))
            return library;
    /* Where distributions have it, and containers get it. */
    for (const char *folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                               "/usr/lib64", "/usr/local/nvidia/lib64"})
        if (void *library = open_driver_in(folder))
            return library;
    return nullptr;
}

/* The emulator has all kernels in one image: whatever is loaded stands for it. */
decltype(driver::module_load_data) load_emulated;
const void *emulated_image;
void *(*alloc_emulated)(size_t);
/* Not in the table: only tests call them. */
drv_result (*alloc_managed)(drv_ptr *, size_t, unsigned);
drv_result (*begin_capture)(drv_stream, int);
drv_result (*end_capture)(drv_stream, void **);
drv_result (*get_nodes)(void *, void *, size_t *);
drv_result (*destroy_graph)(void *);
drv_result (*synchronize)(drv_stream);

drv_result alloc_managed_emulated(drv_ptr *p, size_t bytes, unsigned)
{
    *p = reinterpret_cast<drv_ptr>(alloc_emulated(bytes));
    return *p ? DRV_SUCCESS : DRV_OUT_OF_MEMORY;
}

/* Of a graph nothing is known but the number of its nodes, which stands for it. */
int (*begin_emulated)(drv_stream);
int (*end_emulated)(drv_stream);

drv_result begin_capture_emulated(drv_stream stream, int)
{
    return begin_emulated(stream);
}

drv_result end_capture_emulated(drv_stream stream, void **graph)
{
    const int nodes = end_emulated(stream);
    *graph = nodes < 0 ? nullptr : reinterpret_cast<void *>(static_cast<uintptr_t>(nodes) + 1);
    return nodes < 0 ? DRV_CAPTURE_INVALIDATED : DRV_SUCCESS;
}

drv_result get_nodes_emulated(void *graph, void *, size_t *count)
{
    *count = reinterpret_cast<uintptr_t>(graph) - 1;
    return DRV_SUCCESS;
}

drv_result destroy_graph_emulated(void *)
{
    return DRV_SUCCESS;
}

drv_result synchronize_emulated(drv_stream stream);

template <class F> void find_in(void *library, const char *symbol, F &function)
{
    function = reinterpret_cast<F>(dlsym(library, symbol));
    if (!function)
        stop(std::string("the driver has no ") + symbol);
}

void use_emulated(driver &table, void *library)
{
    const driver *(*emulator)();
    const void *(*kernels)();
    find_in(library, "emulator_driver", emulator);
    find_in(library, "emulator_kernels", kernels);
    find_in(library, "emulator_managed_alloc", alloc_emulated);
    find_in(library, "emulator_begin_capture", begin_emulated);
    find_in(library, "emulator_end_capture", end_emulated);
    table = *emulator();
    alloc_managed = alloc_managed_emulated;
    begin_capture = begin_capture_emulated;
    end_capture = end_capture_emulated;
    get_nodes = get_nodes_emulated;
    destroy_graph = destroy_graph_emulated;
    synchronize = synchronize_emulated;
    load_emulated = table.module_load_data;
    emulated_image = kernels();
    table.module_load_data = [](drv_module *module, const void *image) {
        return load_emulated(module, image ? emulated_image : nullptr);
    };
}

const driver &real()
{
    static driver table;
    static std::once_flag once;
    std::call_once(once, [] {
        void *library = open_driver();
        if (!library)
            stop("no driver; GPUAES_TEST_DRIVER may name it");
        if (dlsym(library, "emulator_driver")) {
            use_emulated(table, library);
            return;
        }
        find_in(library, "cuMemAllocManaged", alloc_managed);
        find_in(library, "cuStreamBeginCapture_v2", begin_capture);
        find_in(library, "cuStreamEndCapture", end_capture);
        find_in(library, "cuGraphGetNodes", get_nodes);
        find_in(library, "cuGraphDestroy", destroy_graph);
        find_in(library, "cuStreamSynchronize", synchronize);
#define FIND(member, symbol, parameters) find_in(library, #symbol, table.member);
        DRIVER_FUNCTIONS(FIND)
#undef FIND
    });
    return table;
}

drv_result synchronize_emulated(drv_stream stream)
{
    drv_result r;
    while ((r = real().stream_query(stream)) == DRV_NOT_READY)
        usleep(20); /* the emulator needs the core */
    return r;
}

/* ---- Every call --------------------------------------------------------------------------- */

/* Counts a call; what it returns at once, or success. */
drv_result begin_call(unsigned function)
{
    std::lock_guard<std::mutex> lock(mutex);
    const unsigned call = ++calls[function];
    if (function == FUNCTION_launch_kernel && call == hang)
        hanging = true;
    if (function == loss.function && call == loss.call)
        lost = true;
    if (lost)
        return DRV_LAUNCH_FAILED;
    if (function == fault.function && call == fault.call)
        return fault.code;
    if (hanging && function == FUNCTION_stream_query)
        return DRV_NOT_READY;
    return DRV_SUCCESS;
}

/* Of an event: DRV_NOT_READY for a question whether it is reached that is behind what hangs. */
drv_result look_at_event(unsigned function, drv_event event)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (function == FUNCTION_event_record && hanging)
        late.insert(event);
    return function == FUNCTION_event_query && late.count(event) ? DRV_NOT_READY : DRV_SUCCESS;
}

template <unsigned index, auto member> struct entry;
template <unsigned index, class... P, drv_result (*driver::*member)(P...)>
struct entry<index, member> {
    static drv_result call(P... parameters)
    {
        drv_result error = begin_call(index);
        if constexpr (index == FUNCTION_event_record || index == FUNCTION_event_query)
            if (!error)
                error = look_at_event(index, std::get<0>(std::tie(parameters...)));
        return error ? error : (real().*member)(parameters...);
    }
};

unsigned find(const std::string &name)
{
    for (unsigned i = 0; i < FUNCTIONS; i++)
        if (name == names[i].member || name == names[i].symbol)
            return i;
    stop("no function " + name);
}

/* FUNCTION:N[:CODE] */
failure parse(const std::string &text)
{
    failure parsed;
    const size_t colon = text.find(':');
    parsed.function = find(text.substr(0, colon));
    char *end;
    parsed.call = static_cast<unsigned>(strtoul(text.c_str() + colon + 1, &end, 10));
    if (*end == ':')
        parsed.code = atoi(end + 1);
    return parsed;
}

} // namespace

/* ---- What is exported ------------------------------------------------------------------------ */

/* One function for each row of the table: the linker is told which by a resolver. */
#define EXPORT(member, symbol, parameters)                                                         \
    static decltype(driver::member) resolve_##member()                                             \
    {                                                                                              \
        return entry<FUNCTION_##member, &driver::member>::call;                                    \
    }                                                                                              \
    drv_result symbol parameters __attribute__((ifunc("resolve_" #member)));

extern "C" {
DRIVER_FUNCTIONS(EXPORT)

drv_result cuMemAllocManaged(drv_ptr *p, size_t bytes, unsigned flags);
drv_result cuStreamBeginCapture_v2(drv_stream stream, int mode);
drv_result cuStreamEndCapture(drv_stream stream, void **graph);
drv_result cuGraphGetNodes(void *graph, void *nodes, size_t *count);
drv_result cuGraphDestroy(void *graph);
drv_result cuStreamSynchronize(drv_stream stream);

void emulator_configure(const char *options);
unsigned emulator_calls(const char *function);
}

drv_result cuMemAllocManaged(drv_ptr *p, size_t bytes, unsigned flags)
{
    (void)real();
    return alloc_managed(p, bytes, flags);
}

drv_result cuStreamBeginCapture_v2(drv_stream stream, int mode)
{
    (void)real();
    return begin_capture(stream, mode);
}

drv_result cuStreamEndCapture(drv_stream stream, void **graph)
{
    (void)real();
    return end_capture(stream, graph);
}

drv_result cuGraphGetNodes(void *graph, void *nodes, size_t *count)
{
    (void)real();
    return get_nodes(graph, nodes, count);
}

drv_result cuGraphDestroy(void *graph)
{
    (void)real();
    return destroy_graph(graph);
}

drv_result cuStreamSynchronize(drv_stream stream)
{
    (void)real();
    return synchronize(stream);
}

void emulator_configure(const char *options)
{
    std::lock_guard<std::mutex> lock(mutex);
    fault = loss = {};
    hang = 0;
    lost = hanging = false;
    late.clear();
    for (unsigned &each : calls)
        each = 0;
    std::string rest = options;
    while (!rest.empty()) {
        const size_t comma = rest.find(','), equals = rest.find('=');
        const std::string key = rest.substr(0, equals),
                          value = rest.substr(equals + 1, comma - equals - 1);
        if (key == "fault")
            fault = parse(value);
        else if (key == "lost")
            loss = parse(value);
        else if (key == "hang")
            hang = static_cast<unsigned>(atoi(value.c_str()));
        rest.erase(0, comma == std::string::npos ? comma : comma + 1);
    }
}

unsigned emulator_calls(const char *function)
{
    std::lock_guard<std::mutex> lock(mutex);
    return calls[find(function)];
}
