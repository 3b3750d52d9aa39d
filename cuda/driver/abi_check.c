/*
 * Compares driver.h with the toolkit's cuda.h, where there is one: types,
 * numbers, and the shape of each function. It is all done by the compiler; the
 * object is empty.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <cuda.h>

#include "cuda/driver/driver.h"

#define SAME_TYPE(ours, theirs)                                                                    \
    _Static_assert(__builtin_types_compatible_p(ours, theirs), #ours " is not " #theirs)
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " != " #theirs)

/* ---- Types -------------------------------------------------------------- */

SAME_TYPE(drv_device, CUdevice);
SAME_TYPE(drv_ptr, CUdeviceptr);
SAME_TYPE(drv_context, CUcontext);
SAME_TYPE(drv_module, CUmodule);
SAME_TYPE(drv_function, CUfunction);
SAME_TYPE(drv_stream, CUstream);
SAME_TYPE(drv_event, CUevent);

/* Enumerations are passed as int. */
_Static_assert(sizeof(drv_result) == sizeof(CUresult), "CUresult is not an int");
_Static_assert(sizeof(int) == sizeof(CUdevice_attribute), "CUdevice_attribute is not an int");
_Static_assert(sizeof(int) == sizeof(CUfunction_attribute), "CUfunction_attribute is not an int");
_Static_assert(sizeof(int) == sizeof(CUpointer_attribute), "CUpointer_attribute is not an int");
_Static_assert(sizeof(int) == sizeof(CUmemorytype), "CUmemorytype is not an int");
_Static_assert(sizeof(int) == sizeof(CUstreamCaptureMode), "CUstreamCaptureMode is not an int");
_Static_assert(sizeof(int) == sizeof(CUstreamCaptureStatus), "CUstreamCaptureStatus is not an int");

/* ---- Numbers ------------------------------------------------------------ */

SAME_VALUE(DRV_SUCCESS, CUDA_SUCCESS);
SAME_VALUE(DRV_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME_VALUE(DRV_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(DRV_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME_VALUE(DRV_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED);
SAME_VALUE(DRV_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME_VALUE(DRV_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME_VALUE(DRV_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
SAME_VALUE(DRV_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME_VALUE(DRV_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME_VALUE(DRV_OPERATING_SYSTEM, CUDA_ERROR_OPERATING_SYSTEM);
SAME_VALUE(DRV_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME_VALUE(DRV_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME_VALUE(DRV_NOT_READY, CUDA_ERROR_NOT_READY);
SAME_VALUE(DRV_ALREADY_REGISTERED, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
SAME_VALUE(DRV_NOT_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
SAME_VALUE(DRV_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
SAME_VALUE(DRV_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED);
SAME_VALUE(DRV_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME_VALUE(DRV_CAPTURE_FIRST, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME_VALUE(DRV_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME_VALUE(DRV_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME_VALUE(DRV_CAPTURED_EVENT, CUDA_ERROR_CAPTURED_EVENT);
SAME_VALUE(DRV_CAPTURE_LAST, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
SAME_VALUE(DRV_UNKNOWN, CUDA_ERROR_UNKNOWN);

SAME_VALUE(DRV_ATTR_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_VALUE(DRV_ATTR_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_VALUE(DRV_ATTR_COMPUTE_MODE, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
SAME_VALUE(DRV_ATTR_MAX_THREADS_PER_MULTIPROCESSOR,
           CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME_VALUE(DRV_ATTR_CC_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_VALUE(DRV_ATTR_CC_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_VALUE(DRV_ATTR_MAX_SHARED_PER_MULTIPROCESSOR,
           CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME_VALUE(DRV_ATTR_MAX_SHARED_PER_BLOCK_OPTIN,
           CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME_VALUE(DRV_ATTR_RESERVED_SHARED_PER_BLOCK,
           CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
SAME_VALUE(DRV_COMPUTE_MODE_EXCLUSIVE_PROCESS, CU_COMPUTEMODE_EXCLUSIVE_PROCESS);
SAME_VALUE(DRV_COMPUTE_MODE_PROHIBITED, CU_COMPUTEMODE_PROHIBITED);

SAME_VALUE(DRV_FUNC_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);

SAME_VALUE(DRV_POINTER_CONTEXT, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME_VALUE(DRV_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_VALUE(DRV_POINTER_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME_VALUE(DRV_POINTER_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME_VALUE(DRV_POINTER_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_VALUE(DRV_POINTER_RANGE_START, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME_VALUE(DRV_POINTER_RANGE_SIZE, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME_VALUE(DRV_MEMORY_HOST, CU_MEMORYTYPE_HOST);
SAME_VALUE(DRV_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE);

SAME_VALUE(DRV_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME_VALUE(DRV_NOT_CAPTURED, CU_STREAM_CAPTURE_STATUS_NONE);
SAME_VALUE(DRV_CAPTURED, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME_VALUE(DRV_CAPTURED_INVALID, CU_STREAM_CAPTURE_STATUS_INVALIDATED);

SAME_VALUE(DRV_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME_VALUE(DRV_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME_VALUE(DRV_HOST_ALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
SAME_VALUE(DRV_HOST_ALLOC_MAPPED, CU_MEMHOSTALLOC_DEVICEMAP);
SAME_VALUE(DRV_HOST_REGISTER_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
SAME_VALUE(DRV_HOST_REGISTER_MAPPED, CU_MEMHOSTREGISTER_DEVICEMAP);

/* ---- Functions ---------------------------------------------------------- */

/*
 * A cast between function types is refused where the numbers of parameters
 * differ, or one of them in size. (It allows int for an enumeration, as we do.)
 */
#pragma GCC diagnostic error "-Wcast-function-type"
#define SAME_SHAPE(member, symbol, parameters)                                                     \
    _Static_assert(sizeof((drv_result(*) parameters)symbol) == sizeof(void *), #symbol);
DRIVER_FUNCTIONS(SAME_SHAPE)

/*
 * cuda.h maps a plain name to the current version of a function by a macro:
 * `plain` expands to `symbol`, or stands for itself where there is no macro.
 */
#define TEXT(x) #x
#define EXPANDED_TEXT(x) TEXT(x)
#define SAME_VERSION(plain, symbol)                                                                \
    _Static_assert(sizeof EXPANDED_TEXT(plain) == sizeof #symbol, #plain " is not " #symbol)

#define NOT_REMAPPED(member, symbol, parameters) SAME_VERSION(symbol, symbol);
DRIVER_FUNCTIONS(NOT_REMAPPED)

SAME_VERSION(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2);
SAME_VERSION(cuCtxPushCurrent, cuCtxPushCurrent_v2);
SAME_VERSION(cuCtxPopCurrent, cuCtxPopCurrent_v2);
SAME_VERSION(cuStreamDestroy, cuStreamDestroy_v2);
SAME_VERSION(cuEventDestroy, cuEventDestroy_v2);
SAME_VERSION(cuMemAlloc, cuMemAlloc_v2);
SAME_VERSION(cuMemFree, cuMemFree_v2);
SAME_VERSION(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2);
SAME_VERSION(cuMemHostRegister, cuMemHostRegister_v2);
SAME_VERSION(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2);
SAME_VERSION(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2);
SAME_VERSION(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2);
