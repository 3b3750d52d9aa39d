/*
 * Streams and events. Each stream is a thread that works off a queue, so that
 * work is really asynchronous and missing synchronisation shows.
 *
 * The legacy default stream is one more stream of its context: it waits for no
 * other, which is all that holds for non-blocking streams.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/emulator/emulator.h"
#include "test/emulator/hooks.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emulator
{

/* ---- The worker thread --------------------------------------------------------- */

static bool dropped(const CUstream_st &stream)
{
    return is_lost(stream.context) || stream.context->abandoned;
}

/* Does one operation, or drops it; the lock is held except while the work runs. */
static void perform(const CUstream_st &stream, CUstream_st::operation &operation, state_lock &lock)
{
    CUctx_st &context = *stream.context;
    if (operation.hangs) {
        state().changed.wait(lock, [&] { return context.ending; });
        context.abandoned = true;
        state().changed.notify_all();
    }
    if (operation.wait_for)
        state().changed.wait(lock, [&] { return operation.wait_for->reached || dropped(stream); });
    if (operation.work && !dropped(stream)) {
        lock.unlock();
        operation.work();
        lock.lock();
    }
    if (operation.mark) {
        operation.mark->reached = true;
        state().changed.notify_all();
    }
}

static void *work_off(void *argument)
{
    drv_stream stream = static_cast<drv_stream>(argument);
    state_lock lock(state().mutex);
    for (;;) {
        stream->wake.wait(lock, [&] { return !stream->queue.empty() || stream->closing; });
        if (stream->queue.empty())
            break;
        CUstream_st::operation operation = std::move(stream->queue.front());
        stream->queue.pop_front();
        stream->busy = true;
        stream->hanging = operation.hangs;
        perform(*stream, operation, lock);
        stream->busy = false;
        if (is_lost(stream->context))
            state().changed.notify_all();
    }
    stream->finished = true;
    return nullptr;
}

/* Returns null where no thread can be created. */
static std::unique_ptr<CUstream_st> start_stream(drv_context context)
{
    auto stream = std::make_unique<CUstream_st>();
    stream->context = context;
    /*
     * Not std::thread, whose state would be a leak in a forked child. Signals
     * of the application are not for the worker.
     */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&stream->worker, nullptr, work_off, stream.get());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    /* So it is while another thread of the process is in exec() or exits. */
    return error ? nullptr : std::move(stream);
}

/* ---- For the other files --------------------------------------------------------- */

drv_result find_any_stream(drv_stream handle, drv_stream *found)
{
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!handle || handle == DRV_STREAM_LEGACY || handle == DRV_STREAM_PER_THREAD) {
        std::unique_ptr<CUstream_st> &own = handle == DRV_STREAM_PER_THREAD
                                                ? context->thread_streams[pthread_self()]
                                                : context->legacy_stream;
        if (!own)
            own = start_stream(context);
        handle = own.get();
    } else if (!context->streams.count(handle)) {
        return DRV_INVALID_HANDLE;
    }
    if (!handle)
        return DRV_OUT_OF_MEMORY;
    *found = handle;
    return DRV_SUCCESS;
}

drv_result find_stream(drv_stream handle, drv_stream *found)
{
    drv_result error = find_any_stream(handle, found);
    return error ? error : use_during_captures(*found);
}

void enqueue(drv_stream stream, CUstream_st::operation operation)
{
    if (take_into_graph(stream, operation))
        return;
    stream->queue.push_back(std::move(operation));
    stream->wake.notify_one();
}

static std::vector<drv_stream> streams_of(drv_context context)
{
    std::vector<drv_stream> all(context->streams.begin(), context->streams.end());
    all.insert(all.end(), context->closed_streams.begin(), context->closed_streams.end());
    if (context->legacy_stream)
        all.push_back(context->legacy_stream.get());
    for (const auto &each : context->thread_streams)
        if (each.second)
            all.push_back(each.second.get());
    return all;
}

void drop_queued_work()
{
    for (drv_context context : state().contexts)
        for (drv_stream stream : streams_of(context))
            if (is_lost(context))
                for (CUstream_st::operation &each : stream->queue)
                    each.work = nullptr;
    state().changed.notify_all();
}

bool lost_devices_are_quiet()
{
    for (drv_context context : state().contexts)
        for (drv_stream stream : streams_of(context))
            if (is_lost(context) && stream->busy && !stream->hanging)
                return false;
    return true;
}

size_t count_operations()
{
    size_t operations = 0;
    for (drv_context context : state().contexts)
        for (drv_stream stream : streams_of(context))
            if (!stream->busy || !stream->hanging)
                operations += stream->queue.size() + stream->busy;
    return operations;
}

void await_context(drv_context context, state_lock &lock)
{
    std::vector<mark_pointer> ends;
    for (drv_stream stream : streams_of(context)) {
        if (stream->finished || (stream->queue.empty() && !stream->busy))
            continue;
        CUstream_st::operation end;
        ends.push_back(end.mark = std::make_shared<emulated_mark>());
        enqueue(stream, std::move(end));
    }
    state().changed.wait(lock, [&] {
        bool reached = !state().contexts.count(context) || is_lost(context);
        return reached || std::all_of(ends.begin(), ends.end(),
                                      [](const mark_pointer &each) { return each->reached; });
    });
}

void end_streams(drv_context context, state_lock &lock)
{
    std::vector<drv_stream> ending = streams_of(context);
    (void)context->legacy_stream.release(); /* is in `ending`, as are these */
    for (auto &each : context->thread_streams)
        (void)each.second.release();
    context->ending = true;
    for (drv_stream each : ending) {
        each->closing = true;
        each->wake.notify_one();
    }
    state().changed.notify_all();
    lock.unlock();
    for (drv_stream each : ending) {
        pthread_join(each->worker, nullptr);
        delete each;
    }
    lock.lock();
}

/* Frees streams that were destroyed and have now finished. */
static void reap_streams(drv_context context)
{
    std::vector<drv_stream> &closed = context->closed_streams;
    for (size_t i = closed.size(); i-- > 0;)
        if (closed[i]->finished) {
            pthread_detach(closed[i]->worker); /* it has given up the lock for good */
            delete closed[i];
            closed.erase(closed.begin() + static_cast<ptrdiff_t>(i));
        }
}

/* ---- Functions of the table -------------------------------------------------------- */

drv_result stream_create(drv_stream *stream, unsigned flags)
{
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!stream || flags > DRV_STREAM_NON_BLOCKING)
        return DRV_INVALID_VALUE;
    reap_streams(context);
    *stream = start_stream(context).release();
    if (!*stream)
        return DRV_OUT_OF_MEMORY;
    (*stream)->blocking = (flags & DRV_STREAM_NON_BLOCKING) == 0;
    context->streams.insert(*stream);
    return DRV_SUCCESS;
}

drv_result stream_destroy(drv_stream stream)
{
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!context->streams.erase(stream))
        return DRV_INVALID_HANDLE;
    stream->closing = true;
    context->closed_streams.push_back(stream);
    stream->wake.notify_one();
    return DRV_SUCCESS;
}

/*
 * What was dropped must not look done to a call that began before another thread's call lost
 * the device.
 */
static bool lost_meanwhile(drv_context context, state_lock &lock)
{
    if (!is_lost(context))
        return false;
    state().changed.wait(lock, lost_devices_are_quiet);
    return true;
}

drv_result stream_query(drv_stream stream)
{
    state_lock lock(state().mutex);
    drv_result error = find_stream(stream, &stream);
    if (!error)
        error = query_during_captures(stream);
    if (error)
        return error;
    if (lost_meanwhile(stream->context, lock))
        return DRV_LAUNCH_FAILED;
    return stream->queue.empty() && !stream->busy ? DRV_SUCCESS : DRV_NOT_READY;
}

drv_result stream_get_ctx(drv_stream stream, drv_context *context)
{
    state_lock lock(state().mutex);
    if (!context)
        return DRV_INVALID_VALUE;
    for (drv_context each : state().contexts)
        if (each->streams.count(stream)) {
            *context = each;
            return DRV_SUCCESS;
        }
    drv_result error = find_any_stream(stream, &stream);
    if (!error)
        *context = stream->context;
    return error;
}

/* An event may be of another context than the stream that waits for it. */
static bool event_exists(drv_event event)
{
    for (drv_context each : state().contexts)
        if (each->events.count(event))
            return true;
    return false;
}

drv_result stream_wait_event(drv_stream stream, drv_event event, unsigned flags)
{
    state_lock lock(state().mutex);
    drv_result error = find_stream(stream, &stream);
    if (error)
        return error;
    if (!event_exists(event))
        return DRV_INVALID_HANDLE;
    if (flags)
        return DRV_INVALID_VALUE;
    CUstream_st::operation wait;
    wait.wait_for = event->last;
    enqueue(stream, std::move(wait));
    return DRV_SUCCESS;
}

drv_result event_create(drv_event *event, unsigned flags)
{
    (void)flags;
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!event)
        return DRV_INVALID_VALUE;
    *event = new CUevent_st{context, nullptr, nullptr};
    context->events.insert(*event);
    return DRV_SUCCESS;
}

drv_result event_destroy(drv_event event)
{
    state_lock lock(state().mutex);
    drv_context context = current_context();
    if (!context)
        return DRV_INVALID_CONTEXT;
    if (!context->events.erase(event))
        return DRV_INVALID_HANDLE;
    delete event;
    return DRV_SUCCESS;
}

drv_result event_record(drv_event event, drv_stream stream)
{
    state_lock lock(state().mutex);
    drv_result error = find_stream(stream, &stream);
    if (error)
        return error;
    if (!stream->context->events.count(event))
        return DRV_INVALID_HANDLE;
    event->captured_by = stream->capture == DRV_CAPTURED ? stream : nullptr;
    CUstream_st::operation record;
    record.mark = event->last = std::make_shared<emulated_mark>();
    if (state().options.idle_kernels && stream->queue.empty() && !stream->busy)
        record.mark->reached = true; /* as fast as the kernels */
    else
        enqueue(stream, std::move(record));
    return DRV_SUCCESS;
}

drv_result event_query(drv_event event)
{
    state_lock lock(state().mutex);
    if (!current_context())
        return DRV_INVALID_CONTEXT;
    if (!event_exists(event))
        return DRV_INVALID_HANDLE;
    drv_result error = query_during_captures(event);
    if (error)
        return error;
    if (lost_meanwhile(event->context, lock))
        return DRV_LAUNCH_FAILED;
    return !event->last || event->last->reached ? DRV_SUCCESS : DRV_NOT_READY;
}

} // namespace emulator

int emulator_launch_host(struct CUstream_st *stream, void (*function)(void *), void *argument)
{
    using namespace emulator;
    state_lock lock(state().mutex);
    drv_result error = find_stream(stream, &stream);
    CUstream_st::operation operation;
    operation.work = [function, argument] { function(argument); };
    if (!error)
        enqueue(stream, std::move(operation));
    return error;
}
