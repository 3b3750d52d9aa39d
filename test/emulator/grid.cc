/*
 * Blocks of device threads: barriers, warps, shared memory.
 *
 * The threads of a block run one at a time, each until it waits or ends; then
 * the next one that is ready runs. When none is, those that wait for something
 * that has come about are made ready: the lanes of a warp that have all
 * reached the same warp operation, or else all threads at a barrier.
 *
 * Fibers are created once and kept, in teams that serve one grid at a time:
 * under TSan a fiber costs half a millisecond to create.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/emulator/grid.h"

#include "test/emulator/fiber.h"
#include "test/emulator/sanitizers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

EMULATOR_THREAD_LOCAL uint3 threadIdx, blockIdx, blockDim, gridDim;
EMULATOR_THREAD_LOCAL uint32_t *shared_words;

#ifdef __x86_64__
const bool emulator::has_carryless_product = __builtin_cpu_supports("pclmul");
#endif

enum { GUARD_BYTES = 1024, POISON = 0xA5, GUARD = 0x5A };

namespace emulator
{

enum class state { ready, at_barrier, in_warp_operation, ended };

struct team;

struct device_thread {
    fiber self;
    team *owner;
    uint3 index;
    state now;
    /* while now == in_warp_operation */
    warp_operation operation;
    uint32_t mask, source;
    uint64_t value, result;
};

struct shared_memory {
    alignas(128) unsigned char bytes[SHARED_LIMIT + GUARD_BYTES];
};

struct team {
    std::vector<std::unique_ptr<device_thread>> threads;
    size_t count; /* of them in the block */
    std::vector<device_thread *> ready;
    const launch *work;
    fiber scheduler;
    std::minstd_rand random;
    std::unique_ptr<shared_memory> shared = std::make_unique<shared_memory>();
};

static EMULATOR_THREAD_LOCAL device_thread *running;

[[noreturn]] static void stop(const team &stopped, const char *why)
{
    fprintf(stderr, "emulator: kernel %s, block (%u,%u,%u): %s\n", stopped.work->name, blockIdx.x,
            blockIdx.y, blockIdx.z, why);
    abort();
}

/* ---- What a device thread does -------------------------------------------- */

/*
 * These two are not inlined: after a launch a fiber may go on in another host
 * thread, where thread-local variables lie elsewhere.
 */
[[gnu::noinline]] static device_thread &current()
{
    return *running;
}

/* The running thread goes on waiting, or ends; the next one or the scheduler runs. */
[[gnu::noinline]] static void leave(device_thread &self, state now)
{
    team &own = *self.owner;
    self.now = now;
    if (own.ready.empty()) {
        fiber_switch(self.self, own.scheduler);
        return;
    }
    device_thread *next = own.ready.back();
    own.ready.pop_back();
    running = next;
    threadIdx = next->index;
    fiber_switch(self.self, next->self);
}

static void thread_main()
{
    fiber_entered();
    device_thread &self = current();
    for (;;) {
        self.owner->work->thread();
        leave(self, state::ended);
    }
}

uint32_t lane()
{
    const uint3 &at = threadIdx;
    return (at.x + blockDim.x * (at.y + blockDim.y * at.z)) % 32;
}

uint64_t warp_exchange(warp_operation operation, uint32_t mask, uint64_t value, uint32_t source)
{
    device_thread &self = current();
    if (!(mask >> lane() & 1))
        stop(*self.owner, "a lane is not in the mask of its own warp operation");
    self.operation = operation;
    self.mask = mask;
    self.value = value;
    self.source = source;
    leave(self, state::in_warp_operation);
    return self.result;
}

/* ---- What the scheduler does ----------------------------------------------- */

/* The lanes of warp `first`/32 for which `holds` is true. */
template <class F> static uint32_t lanes_where(const team &own, size_t first, F holds)
{
    uint32_t lanes = 0;
    for (size_t i = 0; i < 32 && first + i < own.count; i++)
        if (holds(*own.threads[first + i]))
            lanes |= uint32_t{1} << i;
    return lanes;
}

static void make_ready(team &own, device_thread &thread)
{
    thread.now = state::ready;
    own.ready.push_back(&thread);
}

/* All live lanes of a mask have arrived: gives each its result. */
static void complete_warp_operation(team &own, size_t first, uint32_t lanes)
{
    const warp_operation operation = own.threads[first + size_t(__builtin_ctz(lanes))]->operation;
    uint32_t same = lanes_where(
        own, first, [operation](const device_thread &t) { return t.operation == operation; });
    if ((same & lanes) != lanes)
        stop(own, "lanes of a warp wait in different warp operations");
    uint32_t ballot =
        lanes & lanes_where(own, first, [](const device_thread &t) { return t.value; });
    for (uint32_t i = 0; i < 32; i++) {
        if (!(lanes >> i & 1))
            continue;
        device_thread &thread = *own.threads[first + i];
        bool valid = thread.source < 32 && (lanes >> thread.source & 1);
        if (operation == WARP_BALLOT)
            thread.result = ballot;
        else /* the value of a lane that takes no part is undefined */
            thread.result =
                valid ? own.threads[first + thread.source]->value : 0x0101010101010101u * POISON;
        make_ready(own, thread);
    }
}

static void release_warps(team &own)
{
    for (size_t first = 0; first < own.count; first += 32) {
        uint32_t live =
            lanes_where(own, first, [](const device_thread &t) { return t.now != state::ended; });
        uint32_t waiting = lanes_where(
            own, first, [](const device_thread &t) { return t.now == state::in_warp_operation; });
        while (waiting) {
            uint32_t mask = own.threads[first + size_t(__builtin_ctz(waiting))]->mask;
            uint32_t same = waiting & lanes_where(own, first, [mask](const device_thread &t) {
                                return t.mask == mask;
                            });
            if (same == (mask & live))
                complete_warp_operation(own, first, same);
            waiting &= ~same;
        }
    }
}

/* Makes threads ready whose waiting is over. False when all have ended. */
static bool release(team &own)
{
    release_warps(own);
    if (own.ready.empty()) {
        size_t ended = 0, at_barrier = 0;
        for (size_t i = 0; i < own.count; i++) {
            ended += own.threads[i]->now == state::ended;
            at_barrier += own.threads[i]->now == state::at_barrier;
        }
        if (ended == own.count)
            return false;
        if (ended + at_barrier != own.count)
            stop(own, "threads wait for each other in a barrier and in warp operations, for ever");
        for (size_t i = 0; i < own.count; i++)
            if (own.threads[i]->now == state::at_barrier)
                make_ready(own, *own.threads[i]);
    }
    std::shuffle(own.ready.begin(), own.ready.end(), own.random);
    return true;
}

/* ---- Blocks and grids ------------------------------------------------------- */

static void poison_shared(const team &own)
{
    shared_memory &shared = *own.shared;
    const unsigned used = own.work->shared_bytes;
    ASAN_UNPOISON_MEMORY_REGION(&shared, sizeof shared);
    memset(shared.bytes, POISON, used);
    memset(shared.bytes + used, GUARD, GUARD_BYTES);
    ASAN_POISON_MEMORY_REGION(shared.bytes + used, sizeof shared - used);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(shared.bytes, used);
}

static void check_shared(const team &own)
{
    shared_memory &shared = *own.shared;
    ASAN_UNPOISON_MEMORY_REGION(&shared, sizeof shared);
    for (size_t i = 0; i < GUARD_BYTES; i++)
        if (shared.bytes[own.work->shared_bytes + i] != GUARD)
            stop(own, "a thread wrote beyond the dynamic shared memory of its launch");
}

static void run_block(team &own)
{
    poison_shared(own);
    own.ready.clear();
    for (size_t i = 0; i < own.count; i++)
        make_ready(own, *own.threads[i]);
    std::shuffle(own.ready.begin(), own.ready.end(), own.random);
    do {
        running = own.ready.back();
        threadIdx = running->index;
        own.ready.pop_back();
        fiber_switch(own.scheduler, running->self);
    } while (release(own));
    check_shared(own);
}

static void form_block(team &own, const launch &work)
{
    own.work = &work;
    own.count = size_t{work.block.x} * work.block.y * work.block.z;
    while (own.threads.size() < own.count) {
        own.threads.push_back(std::make_unique<device_thread>());
        fiber_create(own.threads.back()->self, thread_main);
    }
    size_t i = 0;
    for (unsigned z = 0; z < work.block.z; z++)
        for (unsigned y = 0; y < work.block.y; y++)
            for (unsigned x = 0; x < work.block.x; x++, i++) {
                own.threads[i]->index = make_uint3(x, y, z);
                own.threads[i]->owner = &own;
            }
    fiber_adopt_thread(own.scheduler);
}

/* Teams without work. Never freed: workers may still run when the process exits. */
static std::mutex &teams_mutex = *new std::mutex;
static std::vector<team *> &idle_teams = *new std::vector<team *>;

static std::vector<const team *> &all_teams = *new std::vector<const team *>;

static team *take_team()
{
    std::lock_guard<std::mutex> lock(teams_mutex);
    if (idle_teams.empty()) {
        team *created = new team{};
        all_teams.push_back(created);
        return created;
    }
    team *taken = idle_teams.back();
    idle_teams.pop_back();
    return taken;
}

void run_grid(const launch &work)
{
    team *own = take_team();
    form_block(*own, work);
    blockDim = work.block;
    gridDim = work.grid;
    shared_words = reinterpret_cast<uint32_t *>(own->shared->bytes);
    const uint64_t plane = uint64_t{work.grid.x} * work.grid.y, blocks = plane * work.grid.z;
    const uint64_t start = own->random() % blocks;
    for (uint64_t i = 0; i < blocks; i++) {
        uint64_t at = (start + i) % blocks;
        blockIdx = make_uint3(static_cast<uint32_t>(at % work.grid.x),
                              static_cast<uint32_t>(at % plane / work.grid.x),
                              static_cast<uint32_t>(at / plane));
        run_block(*own);
    }
    std::lock_guard<std::mutex> lock(teams_mutex);
    idle_teams.push_back(own);
}

static bool lies_in(const void *p, const void *begin, size_t bytes)
{
    return static_cast<size_t>(static_cast<const char *>(p) - static_cast<const char *>(begin)) <
           bytes;
}

bool is_inside_device(const void *p)
{
    std::lock_guard<std::mutex> lock(teams_mutex);
    for (const team *each : all_teams) {
        if (lies_in(p, each->shared.get(), sizeof *each->shared))
            return true;
        for (const auto &thread : each->threads)
            if (lies_in(p, thread->self.stack, thread->self.stack_bytes))
                return true;
    }
    return false;
}

/* ---- Kernels by name --------------------------------------------------------- */

static std::vector<kernel> &kernels()
{
    static std::vector<kernel> &all = *new std::vector<kernel>;
    return all;
}

kernel_registration::kernel_registration(const char *name, size_t parameter_count,
                                         bind_function bind)
{
    kernels().push_back({name, parameter_count, bind});
}

const kernel *find_kernel(const char *name)
{
    for (const kernel &each : kernels())
        if (strcmp(each.name, name) == 0)
            return &each;
    return nullptr;
}

} // namespace emulator

void __syncthreads()
{
    using namespace emulator;
    leave(current(), state::at_barrier);
}
