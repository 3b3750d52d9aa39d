/*
 * The functions of the CUDA driver that libgpuaes calls, as one table.
 *
 * Host code never links libcuda: it calls through a `struct driver`, which is
 * filled either from libcuda.so.1 (libcuda.c) or from the emulator
 * (test/emulator/driver_emulator.cc). The types repeat those of the toolkit's
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
typedef struct CUmemPoolHandle_st *drv_pool;

/* CUmemPoolProps */
struct drv_pool_properties {
    int allocation_type, handle_types;
    int location_type, location; /* of a device, its ordinal */
    void *security_attributes;
    unsigned char left_zero[64];
};

/*
 * N(name, number, what it is called in cuda.h): results that are told from other faults,
 * attributes, modes and flags. DRV_CAPTURE_FIRST to DRV_CAPTURE_LAST are calls that a capture of a
 * graph forbids, DRV_CAPTURE_IMPLICIT of the legacy stream, while one that it waits for is
 * captured.
 */
#define DRIVER_NUMBERS(N)                                                                          \
    N(DRV_SUCCESS, 0, CUDA_SUCCESS)                                                                \
    N(DRV_INVALID_VALUE, 1, CUDA_ERROR_INVALID_VALUE)                                              \
    N(DRV_OUT_OF_MEMORY, 2, CUDA_ERROR_OUT_OF_MEMORY)                                              \
    N(DRV_NOT_INITIALIZED, 3, CUDA_ERROR_NOT_INITIALIZED)                                          \
    N(DRV_DEINITIALIZED, 4, CUDA_ERROR_DEINITIALIZED)                                              \
    N(DRV_NO_DEVICE, 100, CUDA_ERROR_NO_DEVICE)                                                    \
    N(DRV_INVALID_DEVICE, 101, CUDA_ERROR_INVALID_DEVICE)                                          \
    N(DRV_INVALID_IMAGE, 200, CUDA_ERROR_INVALID_IMAGE)                                            \
    N(DRV_INVALID_CONTEXT, 201, CUDA_ERROR_INVALID_CONTEXT)                                        \
    N(DRV_NO_BINARY_FOR_GPU, 209, CUDA_ERROR_NO_BINARY_FOR_GPU)                                    \
    N(DRV_UNSUPPORTED_PTX, 222, CUDA_ERROR_UNSUPPORTED_PTX_VERSION)                                \
    N(DRV_OPERATING_SYSTEM, 304, CUDA_ERROR_OPERATING_SYSTEM)                                      \
    N(DRV_INVALID_HANDLE, 400, CUDA_ERROR_INVALID_HANDLE)                                          \
    N(DRV_NOT_FOUND, 500, CUDA_ERROR_NOT_FOUND)                                                    \
    N(DRV_NOT_READY, 600, CUDA_ERROR_NOT_READY)                                                    \
    N(DRV_ALREADY_REGISTERED, 712, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)                      \
    N(DRV_NOT_REGISTERED, 713, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)                              \
    N(DRV_LAUNCH_FAILED, 719, CUDA_ERROR_LAUNCH_FAILED)                                            \
    N(DRV_NOT_PERMITTED, 800, CUDA_ERROR_NOT_PERMITTED)                                            \
    N(DRV_NOT_SUPPORTED, 801, CUDA_ERROR_NOT_SUPPORTED)                                            \
    N(DRV_CAPTURE_FIRST, 900, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)                               \
    N(DRV_CAPTURE_INVALIDATED, 901, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)                         \
    N(DRV_CAPTURE_IMPLICIT, 906, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)                               \
    N(DRV_CAPTURED_EVENT, 907, CUDA_ERROR_CAPTURED_EVENT)                                          \
    N(DRV_CAPTURE_LAST, 908, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)                               \
    N(DRV_UNKNOWN, 999, CUDA_ERROR_UNKNOWN)                                                        \
    N(DRV_ATTR_MAX_THREADS_PER_BLOCK, 1, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)                \
    N(DRV_ATTR_MULTIPROCESSOR_COUNT, 16, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)                 \
    N(DRV_ATTR_COMPUTE_MODE, 20, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)                                 \
    N(DRV_ATTR_CC_MAJOR, 75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)                         \
    N(DRV_ATTR_CC_MINOR, 76, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)                         \
    N(DRV_ATTR_MAX_SHARED_PER_BLOCK_OPTIN, 97,                                                     \
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                                       \
    N(DRV_ATTR_MEMORY_POOLS, 115, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)                      \
    N(DRV_COMPUTE_MODE_EXCLUSIVE_PROCESS, 3, CU_COMPUTEMODE_EXCLUSIVE_PROCESS)                     \
    N(DRV_COMPUTE_MODE_PROHIBITED, 2, CU_COMPUTEMODE_PROHIBITED)                                   \
    N(DRV_FUNC_MAX_DYNAMIC_SHARED, 8, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)             \
    N(DRV_POINTER_CONTEXT, 1, CU_POINTER_ATTRIBUTE_CONTEXT)                                        \
    N(DRV_POINTER_MEMORY_TYPE, 2, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)                                \
    N(DRV_POINTER_DEVICE_POINTER, 3, CU_POINTER_ATTRIBUTE_DEVICE_POINTER)                          \
    N(DRV_POINTER_IS_MANAGED, 8, CU_POINTER_ATTRIBUTE_IS_MANAGED)                                  \
    N(DRV_POINTER_DEVICE_ORDINAL, 9, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)                          \
    N(DRV_POINTER_RANGE_START, 11, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)                          \
    N(DRV_POINTER_RANGE_SIZE, 12, CU_POINTER_ATTRIBUTE_RANGE_SIZE)                                 \
    N(DRV_MEMORY_HOST, 1, CU_MEMORYTYPE_HOST)                                                      \
    N(DRV_MEMORY_DEVICE, 2, CU_MEMORYTYPE_DEVICE)                                                  \
    N(DRV_CAPTURE_RELAXED, 2, CU_STREAM_CAPTURE_MODE_RELAXED)                                      \
    N(DRV_NOT_CAPTURED, 0, CU_STREAM_CAPTURE_STATUS_NONE)                                          \
    N(DRV_CAPTURED, 1, CU_STREAM_CAPTURE_STATUS_ACTIVE)                                            \
    N(DRV_CAPTURED_INVALID, 2, CU_STREAM_CAPTURE_STATUS_INVALIDATED)                               \
    N(DRV_POOL_PINNED, 1, CU_MEM_ALLOCATION_TYPE_PINNED)                                           \
    N(DRV_POOL_OF_DEVICE, 1, CU_MEM_LOCATION_TYPE_DEVICE)                                          \
    N(DRV_POOL_INTERNAL_DEPENDENCIES, 3, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)        \
    N(DRV_POOL_RELEASE_THRESHOLD, 4, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)                            \
    N(DRV_STREAM_NON_BLOCKING, 1, CU_STREAM_NON_BLOCKING)                                          \
    N(DRV_EVENT_DISABLE_TIMING, 2, CU_EVENT_DISABLE_TIMING)                                        \
    N(DRV_HOST_ALLOC_PORTABLE, 1, CU_MEMHOSTALLOC_PORTABLE)                                        \
    N(DRV_HOST_ALLOC_MAPPED, 2, CU_MEMHOSTALLOC_DEVICEMAP)                                         \
    N(DRV_HOST_REGISTER_PORTABLE, 1, CU_MEMHOSTREGISTER_PORTABLE)                                  \
    N(DRV_HOST_REGISTER_MAPPED, 2, CU_MEMHOSTREGISTER_DEVICEMAP)

#define DRIVER_NUMBER(name, number, cuda_name) name = (number),
enum { DRIVER_NUMBERS(DRIVER_NUMBER) };
#undef DRIVER_NUMBER
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
    F(mem_pool_create, cuMemPoolCreate,                                                            \
      (drv_pool * pool, const struct drv_pool_properties *properties))                             \
    F(mem_pool_destroy, cuMemPoolDestroy, (drv_pool pool))                                         \
    F(mem_pool_set_attribute, cuMemPoolSetAttribute, (drv_pool pool, int attribute, void *value))  \
    F(mem_alloc_from_pool_async, cuMemAllocFromPoolAsync,                                          \
      (drv_ptr * pointer, size_t bytes, drv_pool pool, drv_stream stream))                         \
    F(mem_free_async, cuMemFreeAsync, (drv_ptr pointer, drv_stream stream))                        \
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

/*
 * An image of all kernels. A driver loads it if it is for a CUDA of the toolkit's major version or
 * a newer one.
 */
struct driver_image {
    const void *data; /* for module_load_data */
    int toolkit;      /* that compiled it: 13050 is 13.5, as driver_get_version counts */
};

/*
 * Finds image `n` of this build, from 0, that of the newest toolkit first. Returns 0 where there
 * are not so many: none without a toolkit.
 */
int driver_find_image(unsigned n, struct driver_image *image);

/* "13.5 sm_75 ... compute_120, 12.9 sm_75 ...": each image; or "emulator", or "none". */
const char *driver_build(void);

#ifdef __cplusplus
}
#endif
#endif
