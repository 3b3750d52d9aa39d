/*
 * Copies and memset. Host memory is read and written when the stream gets
 * there, not when the copy is asked for.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/emulator/emulator.h"

#include <cstring>
#include <time.h>

namespace emulator
{

/* Device memory, or pinned memory by its device address. */
static bool is_device_range(uintptr_t address, size_t bytes)
{
    return state().device_memory.holding(address, bytes) ||
           state().host_memory.holding(address, bytes);
}

/*
 * Host memory is pinned as a whole or not at all; a range that leaves pinned
 * memory is an error for the real driver as well.
 */
static drv_result check_host_range(uintptr_t address, size_t bytes)
{
    if (is_device_range(address, bytes))
        return DRV_SUCCESS;
    if (state().host_memory.touching(address, bytes))
        return DRV_INVALID_VALUE;
    state().unpinned_copies++;
    return DRV_SUCCESS;
}

static void pause_for_copy(size_t bytes, unsigned mbps)
{
    if (mbps == 0)
        return;
    const uint64_t ns = uint64_t{bytes} * 1000 / mbps;
    struct timespec pause = {static_cast<time_t>(ns / 1000000000),
                             static_cast<long>(ns % 1000000000)};
    nanosleep(&pause, nullptr);
}

/* `host` is 0, or an address that was pinned when the copy was queued. */
static void check_pinned(uintptr_t host, size_t bytes)
{
    state_lock lock(state().mutex);
    if (host && !is_device_range(host, bytes))
        state().unpinned_copies++;
}

static void enqueue_copy(drv_stream stream, uintptr_t to, uintptr_t from, size_t bytes,
                         uintptr_t host)
{
    const unsigned mbps = state().options.copy_mbps;
    const uintptr_t pinned = host && is_device_range(host, bytes) ? host : 0;
    CUstream_st::operation copy;
    copy.work = [=] {
        check_pinned(pinned, bytes);
        pause_for_copy(bytes, mbps);
        check_pinned(pinned, bytes);
        memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    };
    enqueue(stream, std::move(copy));
}

drv_result memcpy_htod_async(drv_ptr to, const void *from, size_t bytes, drv_stream stream)
{
    state_lock lock(state().mutex);
    drv_result error = find_stream(stream, &stream);
    if (error || bytes == 0)
        return error;
    const uintptr_t host = reinterpret_cast<uintptr_t>(from);
    if (!from || !is_device_range(to, bytes))
        return DRV_INVALID_VALUE;
    error = check_host_range(host, bytes);
    if (!error)
        enqueue_copy(stream, to, host, bytes, host);
    return error;
}

drv_result memcpy_dtoh_async(void *to, drv_ptr from, size_t bytes, drv_stream stream)
{
    state_lock lock(state().mutex);
    drv_result error = find_stream(stream, &stream);
    if (error || bytes == 0)
        return error;
    const uintptr_t host = reinterpret_cast<uintptr_t>(to);
    if (!to || !is_device_range(from, bytes))
        return DRV_INVALID_VALUE;
    error = check_host_range(host, bytes);
    if (!error)
        enqueue_copy(stream, host, from, bytes, host);
    return error;
}

drv_result memcpy_dtod_async(drv_ptr to, drv_ptr from, size_t bytes, drv_stream stream)
{
    state_lock lock(state().mutex);
    drv_result error = find_stream(stream, &stream);
    if (error || bytes == 0)
        return error;
    if (!is_device_range(to, bytes) || !is_device_range(from, bytes))
        return DRV_INVALID_VALUE;
    enqueue_copy(stream, to, from, bytes, 0);
    return DRV_SUCCESS;
}

drv_result memset_d8_async(drv_ptr pointer, unsigned char value, size_t bytes, drv_stream stream)
{
    state_lock lock(state().mutex);
    drv_result error = find_stream(stream, &stream);
    if (error || bytes == 0)
        return error;
    if (!is_device_range(pointer, bytes))
        return DRV_INVALID_VALUE;
    CUstream_st::operation fill;
    fill.work = [=] { memset(reinterpret_cast<void *>(pointer), value, bytes); };
    enqueue(stream, std::move(fill));
    return DRV_SUCCESS;
}

} // namespace emulator
