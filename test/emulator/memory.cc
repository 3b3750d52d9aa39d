/*
 * Device memory, pinned memory, and what is known of a pointer.
 *
 * Device memory comes from the heap, so that ASan and valgrind see a kernel
 * that leaves its buffer; pinned memory is mapped, between guard pages.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/emulator/emulator.h"
#include "test/emulator/hooks.h"
#include "test/emulator/sanitizers.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace emulator
{

enum { DEVICE_ALIGNMENT = 512, FRESH = 0xA5 };

static uintptr_t address_of(const void *pointer)
{
    return reinterpret_cast<uintptr_t>(pointer);
}

static void *pointer_of(uintptr_t address)
{
    return reinterpret_cast<void *>(address);
}

static size_t page_bytes()
{
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

static uintptr_t page_down(uintptr_t address)
{
    return address & ~static_cast<uintptr_t>(page_bytes() - 1);
}

static size_t page_up(size_t bytes)
{
    return page_down(bytes + page_bytes() - 1);
}

/* ---- Regions -------------------------------------------------------------------- */

const region *regions::at(uintptr_t address) const
{
    auto after = all.upper_bound(address);
    if (after == all.begin())
        return nullptr;
    const region &found = std::prev(after)->second;
    return address - found.begin < found.bytes ? &found : nullptr;
}

const region *regions::holding(uintptr_t address, size_t bytes) const
{
    const region *found = at(address);
    return found && bytes <= found->bytes - (address - found->begin) ? found : nullptr;
}

bool regions::touching(uintptr_t address, size_t bytes) const
{
    if (bytes == 0)
        return false;
    auto after = all.lower_bound(address);
    return at(address) || (after != all.end() && after->first - address < bytes);
}

static const region *find_region(uintptr_t address)
{
    const region *found = state().device_memory.at(address);
    return found ? found : state().host_memory.at(address);
}

/* ---- Device memory ----------------------------------------------------------------- */

static drv_result allocate_device(void **allocated, size_t bytes, memory_kind kind,
                                  drv_pool pool = nullptr)
{
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (bytes == 0)
        return DRV_INVALID_VALUE;
    device_state &device = state().devices[context->device];
    const size_t limit = size_t{state().options.memory_mib[context->device]} << 20;
    if (device.memory_used > limit || bytes > limit - device.memory_used)
        return DRV_OUT_OF_MEMORY;
    if (posix_memalign(allocated, DEVICE_ALIGNMENT, bytes) != 0)
        return DRV_OUT_OF_MEMORY;
    memset(*allocated, FRESH, bytes);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(*allocated, bytes);
    const uintptr_t begin = address_of(*allocated);
    state().device_memory.all[begin] = {begin, bytes, kind, context, pool};
    device.memory_used += bytes;
    return DRV_SUCCESS;
}

static void release_device(const region &freed)
{
    const region gone = freed;
    state().devices[gone.context->device].memory_used -= gone.bytes;
    state().device_memory.all.erase(gone.begin);
    free(pointer_of(gone.begin));
}

drv_result mem_alloc(drv_ptr *pointer, size_t bytes)
{
    state_lock lock(state().mutex);
    if (!pointer)
        return DRV_INVALID_VALUE;
    void *allocated;
    drv_result error = allocate_device(&allocated, bytes, memory_kind::device);
    if (!error)
        *pointer = address_of(allocated);
    return error;
}

/* What a card's driver waits for before it frees memory; `level` is the option's. */
static void wait_to_free(unsigned level, state_lock &lock)
{
    if (state().options.frees_wait >= level)
        await_context(current_context(), lock);
}

drv_result mem_free(drv_ptr pointer)
{
    state_lock lock(state().mutex);
    if (!current_context())
        return DRV_INVALID_CONTEXT;
    wait_to_free(1, lock);
    if (!pointer)
        return DRV_SUCCESS;
    const region *found = state().device_memory.at(pointer);
    if (!found || found->begin != pointer)
        return DRV_INVALID_VALUE;
    release_device(*found);
    return DRV_SUCCESS;
}

void free_device_memory(uintptr_t begin)
{
    const region *found = state().device_memory.at(begin);
    if (found && found->begin == begin)
        release_device(*found);
}

/* ---- Memory in the order of streams ------------------------------------------------------ */

drv_result mem_pool_create(drv_pool *pool, const struct drv_pool_properties *properties)
{
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!pool || !properties || properties->allocation_type != DRV_POOL_PINNED ||
        properties->location_type != DRV_POOL_OF_DEVICE ||
        properties->location != context->device || properties->handle_types)
        return DRV_INVALID_VALUE;
    if (!state().options.pools)
        return DRV_NOT_SUPPORTED;
    *pool = new CUmemPoolHandle_st{context};
    context->pools.insert(*pool);
    return DRV_SUCCESS;
}

/* Stricter than a card, where memory that is in use goes later. */
drv_result mem_pool_destroy(drv_pool pool)
{
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!context->pools.count(pool))
        return DRV_INVALID_VALUE;
    for (const auto &each : state().device_memory.all)
        if (each.second.pool == pool)
            return DRV_INVALID_VALUE;
    context->pools.erase(pool);
    delete pool;
    return DRV_SUCCESS;
}

/* There is nothing to keep, and no stream that waits for another. */
drv_result mem_pool_set_attribute(drv_pool pool, int attribute, void *value)
{
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    const bool is_known =
        attribute == DRV_POOL_RELEASE_THRESHOLD || attribute == DRV_POOL_INTERNAL_DEPENDENCIES;
    return context->pools.count(pool) && is_known && value ? DRV_SUCCESS : DRV_INVALID_VALUE;
}

/* In a graph the memory is the graph's, whose runs find anything in it. */
drv_result mem_alloc_from_pool_async(drv_ptr *pointer, size_t bytes, drv_pool pool,
                                     drv_stream stream)
{
    state_lock lock(state().mutex);
    drv_result error = find_stream(stream, &stream);
    if (error)
        return error;
    if (!pointer || !stream->context->pools.count(pool))
        return DRV_INVALID_VALUE;
    const bool is_captured = stream->capture == DRV_CAPTURED;
    void *allocated;
    error = allocate_device(&allocated, bytes, memory_kind::device, is_captured ? nullptr : pool);
    if (error)
        return error;
    *pointer = address_of(allocated);
    if (!is_captured)
        return DRV_SUCCESS;
    stream->graph.memory[address_of(allocated)] = false;
    CUstream_st::operation fresh;
    fresh.work = [allocated, bytes] { memset(allocated, FRESH, bytes); };
    enqueue(stream, std::move(fresh));
    return DRV_SUCCESS;
}

drv_result mem_free_async(drv_ptr pointer, drv_stream stream)
{
    state_lock lock(state().mutex);
    drv_result error = find_stream(stream, &stream);
    if (error)
        return error;
    CUstream_st::operation gone;
    if (stream->capture == DRV_CAPTURED) {
        auto own = stream->graph.memory.find(pointer);
        if (own == stream->graph.memory.end() || own->second)
            return DRV_INVALID_VALUE;
        own->second = true;
    } else {
        const region *found = state().device_memory.at(pointer);
        if (!found || found->begin != pointer || !found->pool)
            return DRV_INVALID_VALUE;
        gone.work = [pointer] {
            state_lock inner(state().mutex);
            free_device_memory(pointer);
        };
    }
    enqueue(stream, std::move(gone));
    return DRV_SUCCESS;
}

/* ---- Pinned memory -------------------------------------------------------------------- */

/* Takes `bytes` from what can be pinned. */
static bool take_pinned(size_t bytes)
{
    const size_t limit = size_t{state().options.pinned_mib} << 20;
    if (limit && (state().pinned_used > limit || bytes > limit - state().pinned_used))
        return false;
    state().pinned_used += bytes;
    return true;
}

/* Pages for `bytes` with a guard page on either side; NULL if there are none. */
static void *map_pinned(size_t bytes, bool absent_after_fork)
{
    const size_t guard = page_bytes(), usable = page_up(bytes);
    void *mapped = mmap(nullptr, usable + 2 * guard, PROT_NONE,
                        (absent_after_fork ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return nullptr;
    void *memory = static_cast<char *>(mapped) + guard;
    if (mprotect(memory, usable, PROT_READ | PROT_WRITE) != 0)
        return nullptr;
    if (absent_after_fork)
        madvise(memory, usable, MADV_DONTFORK);
    memset(memory, FRESH, bytes);
    ASAN_POISON_MEMORY_REGION(static_cast<char *>(memory) + bytes, usable - bytes);
    return memory;
}

static void unmap_pinned(uintptr_t begin, size_t bytes)
{
    const size_t guard = page_bytes(), usable = page_up(bytes);
    ASAN_UNPOISON_MEMORY_REGION(pointer_of(begin), usable);
    munmap(pointer_of(begin - guard), usable + 2 * guard);
}

static void release_host(const region &freed)
{
    const region gone = freed;
    state().host_memory.all.erase(gone.begin);
    state().pinned_used -= gone.bytes;
    if (gone.kind == memory_kind::pinned)
        unmap_pinned(gone.begin, gone.bytes);
}

drv_result mem_host_alloc(void **pointer, size_t bytes, unsigned flags)
{
    (void)flags; /* portable and mapped is what all pinned memory is here */
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!pointer || bytes == 0)
        return DRV_INVALID_VALUE;
    if (!take_pinned(bytes))
        return DRV_OUT_OF_MEMORY;
    void *memory = map_pinned(bytes, state().options.absent_after_fork);
    if (!memory) {
        state().pinned_used -= bytes;
        return DRV_OUT_OF_MEMORY;
    }
    const uintptr_t begin = address_of(memory);
    state().host_memory.all[begin] = {begin, bytes, memory_kind::pinned, context};
    *pointer = memory;
    return DRV_SUCCESS;
}

drv_result mem_free_host(void *pointer)
{
    state_lock lock(state().mutex);
    if (!current_context())
        return DRV_INVALID_CONTEXT;
    wait_to_free(1, lock);
    const region *found = state().host_memory.at(address_of(pointer));
    if (!found || found->begin != address_of(pointer) || found->kind != memory_kind::pinned)
        return DRV_INVALID_VALUE;
    release_host(*found);
    return DRV_SUCCESS;
}

drv_result mem_host_get_device_pointer(drv_ptr *device_pointer, void *host_pointer, unsigned flags)
{
    state_lock lock(state().mutex);
    if (!current_context())
        return DRV_INVALID_CONTEXT;
    if (!device_pointer || flags || !state().host_memory.at(address_of(host_pointer)))
        return DRV_INVALID_VALUE;
    *device_pointer = address_of(host_pointer);
    return DRV_SUCCESS;
}

/* True if a page of the range is pinned already; pages are what is locked. */
static bool shares_page(uintptr_t begin, size_t bytes)
{
    const uintptr_t first = page_down(begin), end = page_up(begin + bytes);
    for (const auto &each : state().host_memory.all) {
        const region &other = each.second;
        if (page_down(other.begin) < end && first < page_up(other.begin + other.bytes))
            return true;
    }
    return false;
}

enum { HOST_REGISTER_READ_ONLY = 8 }; /* CU_MEMHOSTREGISTER_READ_ONLY */

/* True if all pages of the range are mapped, and writable unless asked for reading. */
static bool can_register(uintptr_t begin, size_t bytes, unsigned flags)
{
    uintptr_t next = page_down(begin);
    const uintptr_t end = page_up(begin + bytes);
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return true;
    char line[4608], access[5]; /* a path may have 4096 bytes */
    while (next < end && fgets(line, sizeof line, maps)) {
        uintptr_t from, to;
        unsigned long inode;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &from, &to, access, &inode) ==
                4 &&
            from <= next && next < to && access[0] == 'r' &&
            (access[1] == 'w' || flags & HOST_REGISTER_READ_ONLY) &&
            (inode == 0 || state().options.register_files))
            next = to;
    }
    fclose(maps);
    return next >= end;
}

drv_result mem_host_register(void *pointer, size_t bytes, unsigned flags)
{
    state_lock lock(state().mutex);
    drv_context context = current_context();
    const uintptr_t begin = address_of(pointer);
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!pointer || bytes == 0 || begin + bytes < begin)
        return DRV_INVALID_VALUE;
    if (!state().options.register_any)
        return DRV_NOT_SUPPORTED;
    if (shares_page(begin, bytes))
        return DRV_ALREADY_REGISTERED;
    if (!can_register(begin, bytes, flags))
        return DRV_INVALID_VALUE;
    if (!take_pinned(bytes))
        return DRV_OUT_OF_MEMORY;
    state().host_memory.all[begin] = {begin, bytes, memory_kind::registered, context};
    return DRV_SUCCESS;
}

drv_result mem_host_unregister(void *pointer)
{
    state_lock lock(state().mutex);
    if (!current_context())
        return DRV_INVALID_CONTEXT;
    wait_to_free(2, lock);
    const region *found = state().host_memory.at(address_of(pointer));
    if (!found || found->begin != address_of(pointer) || found->kind != memory_kind::registered)
        return DRV_NOT_REGISTERED;
    release_host(*found);
    return DRV_SUCCESS;
}

void free_memory_of(drv_context context)
{
    for (regions *kind : {&state().device_memory, &state().host_memory})
        for (auto each = kind->all.begin(); each != kind->all.end();) {
            const region &found = (each++)->second;
            if (found.context != context)
                continue;
            if (kind == &state().device_memory)
                release_device(found);
            else
                release_host(found);
        }
}

void forbid_pinned_memory()
{
    for (const auto &each : state().host_memory.all)
        if (each.second.kind == memory_kind::pinned)
            (void)mprotect(pointer_of(each.first), page_up(each.second.bytes), PROT_NONE);
}

/* ---- Pointers --------------------------------------------------------------------------- */

/* Memory of another device is beyond the current context's kernels. */
static bool is_within_reach(const region &found)
{
    const drv_context current = current_context();
    return found.kind != memory_kind::device ||
           (current && current->device == found.context->device);
}

/* `found` is NULL for memory that the driver does not know: all values are 0. */
static drv_result write_attribute(int attribute, void *value, const region *found, drv_ptr pointer)
{
    const bool on_device =
        found && (found->kind == memory_kind::device || found->kind == memory_kind::managed);
    switch (attribute) {
    case DRV_POINTER_CONTEXT:
        *static_cast<drv_context *>(value) = found ? found->context : nullptr;
        return DRV_SUCCESS;
    case DRV_POINTER_MEMORY_TYPE:
        *static_cast<unsigned *>(value) = on_device ? DRV_MEMORY_DEVICE
                                          : found   ? DRV_MEMORY_HOST
                                                    : 0;
        return DRV_SUCCESS;
    case DRV_POINTER_DEVICE_POINTER:
        *static_cast<drv_ptr *>(value) = found && is_within_reach(*found) ? pointer : 0;
        return DRV_SUCCESS;
    case DRV_POINTER_IS_MANAGED:
        *static_cast<unsigned *>(value) = found && found->kind == memory_kind::managed;
        return DRV_SUCCESS;
    case DRV_POINTER_DEVICE_ORDINAL:
        *static_cast<int *>(value) = found ? found->context->device : 0;
        return DRV_SUCCESS;
    case DRV_POINTER_RANGE_START:
        *static_cast<drv_ptr *>(value) = found ? found->begin : 0;
        return DRV_SUCCESS;
    case DRV_POINTER_RANGE_SIZE:
        *static_cast<size_t *>(value) = found ? found->bytes : 0;
        return DRV_SUCCESS;
    default:
        return DRV_INVALID_VALUE;
    }
}

drv_result pointer_get_attributes(unsigned count, int *attributes, void **values, drv_ptr pointer)
{
    state_lock lock(state().mutex);
    if (count == 0 || !attributes || !values)
        return DRV_INVALID_VALUE;
    const region *found = find_region(pointer);
    for (unsigned i = 0; i < count; i++) {
        drv_result error = write_attribute(attributes[i], values[i], found, pointer);
        if (error)
            return error;
    }
    return DRV_SUCCESS;
}

} // namespace emulator

void *emulator_managed_alloc(size_t bytes)
{
    using namespace emulator;
    if (forked)
        return nullptr;
    state_lock lock(state().mutex);
    void *allocated;
    return allocate_device(&allocated, bytes, memory_kind::managed) ? nullptr : allocated;
}
