/*
 * Compares driver.h with the toolkit's cuda.h, where there is one: types,
 * numbers, and the shape of each function. It is all done by the compiler; the
 * object is empty.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include <cuda.h>

#include "cuda/driver/driver.h"

#define SAME_TYPE(type, cuda_type)                                                                 \
    _Static_assert(__builtin_types_compatible_p(type, cuda_type), #type " is not " #cuda_type)

/* ---- Types -------------------------------------------------------------- */

SAME_TYPE(drv_device, CUdevice);
SAME_TYPE(drv_ptr, CUdeviceptr);
SAME_TYPE(drv_context, CUcontext);
SAME_TYPE(drv_module, CUmodule);
SAME_TYPE(drv_function, CUfunction);
SAME_TYPE(drv_stream, CUstream);
SAME_TYPE(drv_event, CUevent);
SAME_TYPE(drv_pool, CUmemoryPool);

/* Enumerations are passed as int. */
_Static_assert(sizeof(drv_result) == sizeof(CUresult), "CUresult is not an int");
_Static_assert(sizeof(int) == sizeof(CUdevice_attribute), "CUdevice_attribute is not an int");
_Static_assert(sizeof(int) == sizeof(CUfunction_attribute), "CUfunction_attribute is not an int");
_Static_assert(sizeof(int) == sizeof(CUpointer_attribute), "CUpointer_attribute is not an int");
_Static_assert(sizeof(int) == sizeof(CUmemorytype), "CUmemorytype is not an int");
_Static_assert(sizeof(int) == sizeof(CUstreamCaptureMode), "CUstreamCaptureMode is not an int");
_Static_assert(sizeof(int) == sizeof(CUstreamCaptureStatus), "CUstreamCaptureStatus is not an int");

#define SAME_PLACE(member, cuda_member)                                                            \
    _Static_assert(offsetof(struct drv_pool_properties, member) ==                                 \
                       offsetof(CUmemPoolProps, cuda_member),                                      \
                   #member " is not " #cuda_member)
SAME_PLACE(allocation_type, allocType);
SAME_PLACE(handle_types, handleTypes);
SAME_PLACE(location_type, location.type);
SAME_PLACE(location, location.id);
SAME_PLACE(security_attributes, win32SecurityAttributes);
_Static_assert(sizeof(struct drv_pool_properties) == sizeof(CUmemPoolProps),
               "CUmemPoolProps has another size");
_Static_assert(sizeof(int) == sizeof(CUmemPool_attribute), "CUmemPool_attribute is not an int");

/* ---- Numbers ------------------------------------------------------------ */

#define SAME_NUMBER(name, number, cuda_name)                                                       \
    _Static_assert((int)(name) == (int)(cuda_name), #name " != " #cuda_name);
DRIVER_NUMBERS(SAME_NUMBER)

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
