/*
 * The functions of the CUDA driver that libgpuaes calls, as one table.
 *
 * Host code never links libcuda: it calls through a `struct driver`, which is
 * filled either from libcuda.so.1 (libcuda.c) or from the emulator
 * (emulator/driver_emulator.cc). The types repeat those of the toolkit's
 * cuda.h, so that everything but the kernels also builds without a toolkit;
 * where there is one, abi_check.c compares the two at compile time.
 *
 * Semantics are those of the CUDA Driver API reference; nothing is renamed but
 * the prefix. All functions may be called from any thread.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_CUDA_DRIVER_DRIVER_H
#define GPUAES_CUDA_DRIVER_DRIVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int drv_result;             /* CUresult; 0 is success */
typedef int drv_device;             /* CUdevice, an ordinal */
typedef unsigned long long drv_ptr; /* CUdeviceptr */
typedef struct CUctx_st *drv_context;
typedef struct CUmod_st *drv_module;
typedef struct CUfunc_st *drv_function;
typedef struct CUstream_st *drv_stream;
typedef struct CUevent_st *drv_event;

/* CUresult values that are distinguished; every other non-zero value is a fault. */
enum {
    DRV_SUCCESS = 0,
    DRV_INVALID_VALUE = 1,
    DRV_OUT_OF_MEMORY = 2,
    DRV_NOT_INITIALIZED = 3,
    DRV_DEINITIALIZED = 4,
    DRV_NO_DEVICE = 100,
    DRV_INVALID_DEVICE = 101,
    DRV_INVALID_IMAGE = 200,
    DRV_INVALID_CONTEXT = 201,
    DRV_NO_BINARY_FOR_GPU = 209,
    DRV_OPERATING_SYSTEM = 304,
    DRV_INVALID_HANDLE = 400,
    DRV_NOT_FOUND = 500,
    DRV_NOT_READY = 600,
    DRV_ALREADY_REGISTERED = 712,
    DRV_NOT_REGISTERED = 713,
    DRV_LAUNCH_FAILED = 719,
    DRV_NOT_PERMITTED = 800,
    DRV_NOT_SUPPORTED = 801,
    DRV_CAPTURE_FIRST = 900, /* a call that a capture of a graph forbids */
    DRV_CAPTURE_INVALIDATED = 901,
    DRV_CAPTURE_IMPLICIT = 906, /* the legacy stream, while one that it waits for is captured */
    DRV_CAPTURED_EVENT = 907,
    DRV_CAPTURE_LAST = 908,
    DRV_UNKNOWN = 999
};

/* CUdevice_attribute */
enum {
    DRV_ATTR_MAX_THREADS_PER_BLOCK = 1,
    DRV_ATTR_MULTIPROCESSOR_COUNT = 16,
    DRV_ATTR_COMPUTE_MODE = 20,
    DRV_ATTR_MAX_THREADS_PER_MULTIPROCESSOR = 39,
    DRV_ATTR_CC_MAJOR = 75,
    DRV_ATTR_CC_MINOR = 76,
    DRV_ATTR_MAX_SHARED_PER_MULTIPROCESSOR = 81,
    DRV_ATTR_MAX_SHARED_PER_BLOCK_OPTIN = 97,
    DRV_ATTR_RESERVED_SHARED_PER_BLOCK = 111
};
enum { DRV_COMPUTE_MODE_EXCLUSIVE_PROCESS = 3, DRV_COMPUTE_MODE_PROHIBITED = 2 };

/* CUfunction_attribute */
enum { DRV_FUNC_MAX_DYNAMIC_SHARED = 8 };

/* CUpointer_attribute and CUmemorytype */
enum {
    DRV_POINTER_CONTEXT = 1,
    DRV_POINTER_MEMORY_TYPE = 2,
    DRV_POINTER_DEVICE_POINTER = 3,
    DRV_POINTER_IS_MANAGED = 8,
    DRV_POINTER_DEVICE_ORDINAL = 9,
    DRV_POINTER_RANGE_START = 11,
    DRV_POINTER_RANGE_SIZE = 12
};
enum { DRV_MEMORY_HOST = 1, DRV_MEMORY_DEVICE = 2 };

enum { DRV_CAPTURE_RELAXED = 2 }; /* CUstreamCaptureMode */

/* CUstreamCaptureStatus */
enum { DRV_NOT_CAPTURED = 0, DRV_CAPTURED = 1, DRV_CAPTURED_INVALID = 2 };

/* Flags */
enum {
    DRV_STREAM_NON_BLOCKING = 1,
    DRV_EVENT_DISABLE_TIMING = 2,
    DRV_HOST_ALLOC_PORTABLE = 1,
    DRV_HOST_ALLOC_MAPPED = 2,
    DRV_HOST_REGISTER_PORTABLE = 1,
    DRV_HOST_REGISTER_MAPPED = 2
};
#define DRV_STREAM_LEGACY ((drv_stream)0x1)
#define DRV_STREAM_PER_THREAD ((drv_stream)0x2)

/*
 * F(member, exported symbol, parameter list): one row per driver function.
 * The symbol is the one that the toolkit's cuda.h maps the plain name to.
 */
#define DRIVER_FUNCTIONS(F)                                                                        \
    F(init, cuInit, (unsigned flags))                                                              \
    F(driver_get_version, cuDriverGetVersion, (int *version))                                      \
    F(device_get_count, cuDeviceGetCount, (int *count))                                            \
    F(device_get, cuDeviceGet, (drv_device * device, int ordinal))                                 \
    F(device_get_name, cuDeviceGetName, (char *name, int size, drv_device device))                 \
    F(device_get_attribute, cuDeviceGetAttribute, (int *value, int attribute, drv_device device))  \
    F(primary_ctx_get_state, cuDevicePrimaryCtxGetState,                                           \
      (drv_device device, unsigned *flags, int *active))                                           \
    F(primary_ctx_retain, cuDevicePrimaryCtxRetain, (drv_context * context, drv_device device))    \
    F(primary_ctx_release, cuDevicePrimaryCtxRelease_v2, (drv_device device))                      \
    F(ctx_push_current, cuCtxPushCurrent_v2, (drv_context context))                                \
    F(ctx_pop_current, cuCtxPopCurrent_v2, (drv_context * context))                                \
    F(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode, (int *mode))         \
    F(module_load_data, cuModuleLoadData, (drv_module * module, const void *image))                \
    F(module_unload, cuModuleUnload, (drv_module module))                                          \
    F(module_get_function, cuModuleGetFunction,                                                    \
      (drv_function * function, drv_module module, const char *name))                              \
    F(func_set_attribute, cuFuncSetAttribute, (drv_function function, int attribute, int value))   \
    F(launch_kernel, cuLaunchKernel,                                                               \
      (drv_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, drv_stream stream,               \
       void **parameters, void **extra))                                                           \
    F(stream_create, cuStreamCreate, (drv_stream * stream, unsigned flags))                        \
    F(stream_destroy, cuStreamDestroy_v2, (drv_stream stream))                                     \
    F(stream_query, cuStreamQuery, (drv_stream stream))                                            \
    F(stream_is_capturing, cuStreamIsCapturing, (drv_stream stream, int *status))                  \
    F(stream_get_ctx, cuStreamGetCtx, (drv_stream stream, drv_context * context))                  \
    F(stream_wait_event, cuStreamWaitEvent, (drv_stream stream, drv_event event, unsigned flags))  \
    F(event_create, cuEventCreate, (drv_event * event, unsigned flags))                            \
    F(event_destroy, cuEventDestroy_v2, (drv_event event))                                         \
    F(event_record, cuEventRecord, (drv_event event, drv_stream stream))                           \
    F(event_query, cuEventQuery, (drv_event event))                                                \
    F(mem_alloc, cuMemAlloc_v2, (drv_ptr * pointer, size_t bytes))                                 \
    F(mem_free, cuMemFree_v2, (drv_ptr pointer))                                                   \
    F(mem_host_alloc, cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags))              \
    F(mem_free_host, cuMemFreeHost, (void *pointer))                                               \
    F(mem_host_get_device_pointer, cuMemHostGetDevicePointer_v2,                                   \
      (drv_ptr * device_pointer, void *host_pointer, unsigned flags))                              \
    F(mem_host_register, cuMemHostRegister_v2, (void *pointer, size_t bytes, unsigned flags))      \
    F(mem_host_unregister, cuMemHostUnregister, (void *pointer))                                   \
    F(memcpy_htod_async, cuMemcpyHtoDAsync_v2,                                                     \
      (drv_ptr to, const void *from, size_t bytes, drv_stream stream))                             \
    F(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2,                                                     \
      (void *to, drv_ptr from, size_t bytes, drv_stream stream))                                   \
    F(memcpy_dtod_async, cuMemcpyDtoDAsync_v2,                                                     \
      (drv_ptr to, drv_ptr from, size_t bytes, drv_stream stream))                                 \
    F(memset_d8_async, cuMemsetD8Async,                                                            \
      (drv_ptr pointer, unsigned char value, size_t bytes, drv_stream stream))                     \
    F(pointer_get_attributes, cuPointerGetAttributes,                                              \
      (unsigned count, int *attributes, void **values, drv_ptr pointer))

struct driver {
#define DRIVER_MEMBER(member, symbol, parameters) drv_result(*member) parameters;
    DRIVER_FUNCTIONS(DRIVER_MEMBER)
#undef DRIVER_MEMBER
};

/*
 * Lets the calling thread allocate and query while another one captures a graph
 * (DRV_CAPTURE_RELAXED); returns the mode that it had, to be set again by the same call.
 */
static inline int driver_exchange_capture_mode(const struct driver *driver, int mode)
{
    (void)driver->thread_exchange_stream_capture_mode(&mode);
    return mode;
}

/*
 * Fills *table. Returns NULL, or a sentence (static storage) that says why
 * there is no driver: no device files, no libcuda.so.1 where it was when this
 * library was loaded, a symbol that is missing. Calls no driver function.
 * Called once a process, under a lock; the caller has asked root_changed().
 */
const char *driver_open(struct driver *table);

/*
 * The driver where somebody, the application above all, has loaded it into this
 * process already, initialised or not; else NULL. Never loads anything. Once
 * there is one, costs a load; before, a search under the dynamic linker's lock.
 */
const struct driver *driver_of_application(void);

/* The image for module_load_data, or NULL in a build without a toolkit. */
const void *driver_kernels(void);

/* "13.0 sm_75 sm_80 ... compute_120", "emulator", or "none". */
const char *driver_build(void);

#ifdef __cplusplus
}
#endif
#endif
