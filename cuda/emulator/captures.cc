/*
 * Captures of graphs. What a stream is given meanwhile is counted and never done; what is
 * forbidden meanwhile fails and invalidates the capture, as on a card.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "cuda/emulator/emulator.h"
#include "cuda/emulator/hooks.h"

namespace emulator
{

static void invalidate(drv_stream stream)
{
    if (stream->capture == DRV_CAPTURED)
        stream->capture = DRV_CAPTURED_INVALID;
}

/* 1 if it is the legacy stream and would have to wait for one that is captured. */
static bool waits_for_a_capture(const CUstream_st *stream)
{
    if (stream != stream->context->legacy_stream.get())
        return false;
    for (drv_stream each : stream->context->streams)
        if (each->blocking && each->capture != DRV_NOT_CAPTURED)
            return true;
    return false;
}

drv_result use_during_captures(drv_stream stream)
{
    if (stream->capture == DRV_CAPTURED_INVALID)
        return DRV_CAPTURE_INVALIDATED;
    if (!waits_for_a_capture(stream))
        return DRV_SUCCESS;
    for (drv_stream each : stream->context->streams)
        if (each->blocking)
            invalidate(each);
    return DRV_CAPTURE_IMPLICIT;
}

bool take_into_graph(drv_stream stream, const CUstream_st::operation &operation)
{
    const bool takes = stream->capture == DRV_CAPTURED;
    stream->nodes += takes;
    if (takes && operation.work)
        stream->graph.push_back(operation.work);
    return takes;
}

drv_result query_during_captures(drv_stream stream)
{
    if (stream->capture == DRV_NOT_CAPTURED)
        return DRV_SUCCESS;
    invalidate(stream);
    return DRV_CAPTURE_FIRST;
}

drv_result query_during_captures(drv_event event)
{
    if (!event->captured_by)
        return DRV_SUCCESS;
    if (event->context->streams.count(event->captured_by))
        invalidate(event->captured_by);
    return DRV_CAPTURED_EVENT;
}

drv_result stream_is_capturing(drv_stream stream, int *status)
{
    state_lock lock(state().mutex);
    drv_result error = find_any_stream(stream, &stream);
    if (error)
        return error;
    if (!status)
        return DRV_INVALID_VALUE;
    *status = stream->capture;
    return waits_for_a_capture(stream) ? DRV_CAPTURE_IMPLICIT : DRV_SUCCESS;
}

static bool stream_exists(drv_stream stream)
{
    for (drv_context each : state().contexts)
        if (each->streams.count(stream))
            return true;
    return false;
}

} // namespace emulator

int emulator_begin_capture(struct CUstream_st *stream)
{
    using namespace emulator;
    state_lock lock(state().mutex);
    if (!stream_exists(stream) || stream->capture != DRV_NOT_CAPTURED)
        return DRV_INVALID_VALUE;
    stream->capture = DRV_CAPTURED;
    stream->nodes = 0;
    stream->graph.clear();
    return DRV_SUCCESS;
}

int emulator_end_capture(struct CUstream_st *stream)
{
    using namespace emulator;
    state_lock lock(state().mutex);
    if (!stream_exists(stream))
        return -1;
    const int nodes = stream->capture == DRV_CAPTURED ? stream->nodes : -1;
    stream->capture = DRV_NOT_CAPTURED;
    return nodes;
}

void *emulator_make_graph(struct CUstream_st *stream)
{
    if (emulator_end_capture(stream) < 0)
        return nullptr;
    emulator::state_lock lock(emulator::state().mutex);
    return new std::vector<std::function<void()>>(std::move(stream->graph));
}

int emulator_run_graph(void *graph, struct CUstream_st *stream)
{
    using namespace emulator;
    state_lock lock(state().mutex);
    if (!stream_exists(stream))
        return DRV_INVALID_VALUE;
    for (const auto &work : *static_cast<std::vector<std::function<void()>> *>(graph)) {
        CUstream_st::operation operation;
        operation.work = work;
        enqueue(stream, std::move(operation));
    }
    return DRV_SUCCESS;
}

void emulator_free_graph(void *graph)
{
    delete static_cast<std::vector<std::function<void()>> *>(graph);
}
