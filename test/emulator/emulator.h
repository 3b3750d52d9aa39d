/*
 * The emulated driver's state, and what its files offer each other.
 *
 * One mutex guards all state; kernels and copies run without it, on the thread
 * of their stream. Nothing here is ever freed at exit, as worker threads may
 * still be running then.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_EMULATOR_EMULATOR_H
#define GPUAES_EMULATOR_EMULATOR_H

#include "cuda/driver/driver.h"
#include "test/emulator/grid.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <set>
#include <string>
#include <vector>

/* ---- The driver's objects (the opaque handles of driver.h) ----------------- */

/* A point in a stream. */
struct emulated_mark {
    bool reached = false;
};
using mark_pointer = std::shared_ptr<emulated_mark>;

/* What a stream is captured into: its work, and the memory that it takes. */
struct emulated_graph {
    int nodes = 0;
    std::vector<std::function<void()>> work;
    std::map<uintptr_t, bool> memory; /* begin: whether it is given back */
};

struct CUstream_st {
    struct operation {
        std::function<void()> work; /* may be empty */
        mark_pointer wait_for;      /* before the work */
        mark_pointer mark;          /* reached after it */
        bool hangs = false;
    };
    drv_context context;
    std::deque<operation> queue;
    std::condition_variable wake; /* the queue has grown, or `closing` */
    bool busy = false;
    bool hanging = false;  /* busy with what never ends */
    bool closing = false;  /* the worker ends once the queue is empty */
    bool finished = false; /* the worker has ended */
    bool blocking = true;  /* ordered by the legacy stream */
    int capture = DRV_NOT_CAPTURED;
    emulated_graph graph;
    pthread_t worker;
};

struct CUevent_st {
    drv_context context;
    mark_pointer last;                /* where it was last recorded */
    drv_stream captured_by = nullptr; /* that was in a capture of this stream */
};

struct CUfunc_st {
    drv_module module;
    const emulator::kernel *kernel;
    unsigned dynamic_shared_limit;
};

struct CUmemPoolHandle_st {
    drv_context context;
};

struct CUmod_st {
    drv_context context;
    std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};

struct CUctx_st {
    drv_device device;
    bool ending = false;    /* released for the last time: a hanging kernel stops */
    bool abandoned = false; /* a kernel hung: what is queued is dropped */
    std::unique_ptr<CUstream_st> legacy_stream;                       /* made when first used */
    std::map<pthread_t, std::unique_ptr<CUstream_st>> thread_streams; /* so are these */
    std::set<drv_stream> streams;                                     /* live handles */
    std::vector<drv_stream> closed_streams; /* destroyed, perhaps still at work */
    std::set<drv_event> events;
    std::set<drv_module> modules;
    std::set<drv_pool> pools;
};

namespace emulator
{

enum { MAX_DEVICES = 16 };

/* ---- options.cc ------------------------------------------------------------- */

struct fault {
    unsigned function; /* index into function_names */
    unsigned call;
    drv_result code;
};

struct options {
    unsigned devices = 1;
    unsigned threads = 64;
    unsigned multiprocessors = 2;
    unsigned shared = SHARED_LIMIT;
    unsigned capability = 90;
    unsigned driver = 13000;
    unsigned compute_mode = 0;
    unsigned pools = 1;
    unsigned memory_mib[MAX_DEVICES];
    unsigned pinned_mib = 0; /* 0: unlimited */
    unsigned nodriver = 0;
    unsigned in_use = 0;
    unsigned init_ms = 0;
    unsigned load_ms = 0;
    unsigned kernel_us = 0;
    unsigned copy_mbps = 0;
    unsigned idle_kernels = 0;
    unsigned frees_wait = 0;
    unsigned stay_lost = 0;
    unsigned ends_at_exit = 0;
    unsigned hang = 0;
    bool absent_after_fork = false;
    bool register_files = true, register_any = true;
    unsigned fault_device = MAX_DEVICES; /* that is: any */
    std::vector<fault> faults, losses;
};

/* Aborts with a sentence if `text` is wrong. NULL is no options. */
options parse_options(const char *text);

enum function_index {
#define FUNCTION_INDEX(member, symbol, parameters) FUNCTION_##member,
    DRIVER_FUNCTIONS(FUNCTION_INDEX)
#undef FUNCTION_INDEX
        FUNCTION_COUNT
};

/* The index of a symbol or member of the table, or FUNCTION_COUNT. */
unsigned find_function(const char *name);

/* ---- State -------------------------------------------------------------------- */

enum class memory_kind { device, managed, pinned, registered };

struct region {
    uintptr_t begin;
    size_t bytes;
    memory_kind kind;
    drv_context context;
    drv_pool pool = nullptr; /* that it is of, outside of graphs */
};

/* Ranges of memory that do not overlap, by their first byte. */
class regions
{
  public:
    std::map<uintptr_t, region> all;

    /* The region that `address` lies in, or NULL. */
    const region *at(uintptr_t address) const;
    /* The region that `bytes` bytes at `address` lie in, all of them, or NULL. */
    const region *holding(uintptr_t address, size_t bytes) const;
    /* True if one of the bytes lies in a region. */
    bool touching(uintptr_t address, size_t bytes) const;
};

struct device_state {
    drv_context primary = nullptr;
    unsigned retained = 0;
    size_t memory_used = 0;
    bool lost = false;
    unsigned launches = 0;
    unsigned calls[FUNCTION_COUNT] = {}; /* with its context current */
};

struct driver_state {
    std::mutex mutex;
    std::condition_variable changed; /* a mark was reached, the device lost, a context ends */
    bool configured = false;
    bool initialized = false;
    bool ended = false;
    unsigned loading = 0; /* calls of module_load_data under way */
    emulator::options options;
    device_state devices[MAX_DEVICES];
    std::set<drv_context> contexts; /* live */
    regions device_memory, host_memory;
    size_t pinned_used = 0;
    unsigned calls[FUNCTION_COUNT] = {};
    std::map<std::string, unsigned> launches;
    unsigned total_launches = 0;
    unsigned unpinned_copies = 0;
    size_t left = 0; /* objects of contexts that were released */
};

driver_state &state();
using state_lock = std::unique_lock<std::mutex>;

/* Set in a forked child of a process that had initialised the driver. */
extern std::atomic<bool> forked;

/* ---- contexts.cc ---------------------------------------------------------------- */

/* The calling thread's current context, or NULL. */
drv_context current_context();
/* Gives the lock up for so long. */
void take_time(state_lock &lock, unsigned ms);

/* True if the context's device is lost; NULL: if all devices are. */
bool is_lost(drv_context context);

/* Streams, events, modules, pools and memory of a context; needs the lock. */
size_t objects_of(drv_context context);

/* ---- streams.cc: all need the lock ------------------------------------------------ */

/* Finds a stream of the current context; starts one that has no handle if need be. */
drv_result find_any_stream(drv_stream handle, drv_stream *found);
/* The same, for uses that a capture forbids or takes into its graph. */
drv_result find_stream(drv_stream handle, drv_stream *found);
void enqueue(drv_stream stream, CUstream_st::operation operation);
void drop_queued_work();       /* of lost devices; what is running finishes */
bool lost_devices_are_quiet(); /* nothing runs on them any more, but for what hangs */
size_t count_operations();     /* queued or being done, but where a stream hangs */

/* Waits until all that is queued in the context is done or dropped, or the context ends. */
void await_context(drv_context context, state_lock &lock);

/* Lets the streams finish (or drops their work) and frees them; unlocks meanwhile. */
void end_streams(drv_context context, state_lock &lock);

/* ---- captures.cc: all need the lock ------------------------------------------------ */

/* The result of using a stream that may be captured, or wait for one that is. */
drv_result use_during_captures(drv_stream stream);
/* 1 if the operation has become a node of a graph, and so is not to be done. */
bool take_into_graph(drv_stream stream, const CUstream_st::operation &operation);
/* The result of a query: DRV_CAPTURE_FIRST if a capture forbids it. */
drv_result query_during_captures(drv_stream stream);
drv_result query_during_captures(drv_event event);

/* Forgets a graph, and frees its memory. */
void clear_graph(emulated_graph &graph);

/* ---- memory.cc: need the lock ------------------------------------------------------- */

void free_device_memory(uintptr_t begin); /* if there is any */

void free_memory_of(drv_context context);
void forbid_pinned_memory(); /* from now on the process ends where it touches any */

/* ---- driver_emulator.cc ------------------------------------------------------------- */

/* Does what a driver's handler may do when the process exits. */
void end_driver();

/* ---- The functions of the table ------------------------------------------------------ */

#define DECLARE_FUNCTION(member, symbol, parameters) drv_result member parameters;
DRIVER_FUNCTIONS(DECLARE_FUNCTION)
#undef DECLARE_FUNCTION

} // namespace emulator

#endif
