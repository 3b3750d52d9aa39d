/*
 * Captures of graphs. What a stream is given meanwhile is counted and never done; what is
 * forbidden meanwhile fails and invalidates the capture, as on a card.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "test/emulator/emulator.h"
#include "test/emulator/hooks.h"

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
    stream->graph.nodes += takes;
    if (takes && operation.work)
        stream->graph.work.push_back(operation.work);
    return takes;
}

void clear_graph(emulated_graph &graph)
{
    for (const auto &each : graph.memory)
        free_device_memory(each.first);
    graph = {};
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
    return DRV_SUCCESS;
}

/* Moves out what was captured; false where that was invalidated, or nothing was. */
static bool take_graph(drv_stream stream, emulated_graph &graph)
{
    const bool is_whole = stream->capture == DRV_CAPTURED;
    stream->capture = DRV_NOT_CAPTURED;
    graph = std::move(stream->graph);
    stream->graph = {};
    return is_whole;
}

int emulator_end_capture(struct CUstream_st *stream)
{
    using namespace emulator;
    state_lock lock(state().mutex);
    if (!stream_exists(stream))
        return -1;
    emulated_graph graph;
    const bool is_whole = take_graph(stream, graph);
    const int nodes = graph.nodes;
    clear_graph(graph);
    return is_whole ? nodes : -1;
}

static bool gives_all_back(const emulated_graph &graph)
{
    for (const auto &each : graph.memory)
        if (!each.second)
            return false;
    return true;
}

void *emulator_make_graph(struct CUstream_st *stream)
{
    using namespace emulator;
    state_lock lock(state().mutex);
    if (!stream_exists(stream))
        return nullptr;
    emulated_graph graph;
    if (take_graph(stream, graph) && gives_all_back(graph))
        return new emulated_graph(std::move(graph));
    clear_graph(graph);
    return nullptr;
}

int emulator_run_graph(void *graph, struct CUstream_st *stream)
{
    using namespace emulator;
    state_lock lock(state().mutex);
    if (!stream_exists(stream))
        return DRV_INVALID_VALUE;
    for (const auto &work : static_cast<emulated_graph *>(graph)->work) {
        CUstream_st::operation operation;
        operation.work = work;
        enqueue(stream, std::move(operation));
    }
    return DRV_SUCCESS;
}

void emulator_free_graph(void *graph)
{
    using namespace emulator;
    if (!graph)
        return;
    state_lock lock(state().mutex);
    emulated_graph *own = static_cast<emulated_graph *>(graph);
    clear_graph(*own);
    delete own;
}
