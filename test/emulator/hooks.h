/*
 * The interface of the emulator to tests: options, counters and events.
 *
 * Every function is exported (also from a shared object built with hidden
 * visibility: find it with dlsym) and may be called from any thread.
 *
 * Options, comma-separated `key=value`, of GPUAES_EMULATOR in the environment
 * (read by the first driver_open) and of emulator_configure():
 *
 *   devices=N           devices; 0: cuInit returns DRV_NO_DEVICE    (1, at most 16)
 *   threads=N           MAX_THREADS_PER_BLOCK                       (64)
 *   multiprocessors=N   MULTIPROCESSOR_COUNT                        (2)
 *   shared=BYTES        MAX_SHARED_PER_BLOCK_OPTIN                  (232448, the most)
 *   capability=NN       compute capability, 90 is 9.0               (90)
 *   driver=NNNNN        the CUDA that the driver is for: 12040 is 12.4. It refuses images of
 *                       kernels that a toolkit of a later major version compiled  (13000)
 *   compute-mode=N      COMPUTE_MODE                                (0)
 *   pools=0|1           MEMORY_POOLS_SUPPORTED; without, no pool can be made  (1)
 *   memory=MIB[:MIB...] memory of each device; the last is for the rest  (1024)
 *   pinned=MIB          host memory that can be pinned              (unlimited)
 *   register=all|anonymous|none  what mem_host_register accepts: every mapping
 *                       that can be written, none of a file, nothing  (all)
 *   fork=shared|absent  pinned memory in a forked child             (shared)
 *   nodriver=1          driver_open finds no libcuda.so.1
 *   in-use=BITS         the application has the primary context of device n for each bit n,
 *                       once driver_of_application() is called
 *   init-ms=N           cuInit takes that long
 *   load-ms=N           cuModuleLoadData does
 *   kernel-us=N         every kernel takes that much longer
 *   copy-mbps=N         every copy takes as long as at N MB/s
 *   idle-kernels=N      1: kernels do nothing: a device as fast as the two above say, faster than
 *                       the CPU too, whose results mean nothing; but it passes the self-test of
 *                       GCM. 2: it fails that, too
 *   frees-wait=N        1: mem_free and mem_free_host, as those of a card, return once all that
 *                       was queued in their context is done; 2: mem_host_unregister, too
 *   fault=FUNCTION:N[:CODE]  the Nth call (from 1) of FUNCTION fails with CODE
 *                            (999); may be given several times
 *   lost=FUNCTION:N     from the Nth call of FUNCTION on every call of every
 *                       function returns DRV_LAUNCH_FAILED and queued work is
 *                       dropped: the device has fallen off the bus
 *   hang=N              the Nth kernel launched never ends
 *   stay-lost=1         emulator_configure() heals no device: threads that are in the
 *                       middle of something would take what was dropped for done
 *   ends-at-exit=1      at exit a handler of the driver, registered by the first cuInit, stops
 *                       the devices and takes pinned memory away, as one of a card may; every
 *                       call then returns DRV_DEINITIALIZED. A module that is being loaded
 *                       then aborts the process, as on a card it may
 *   fault-device=N      fault, lost and hang count only what is called with a
 *                       context of device N current, and only that one is lost
 *
 * FUNCTION is the exported symbol (cuMemAlloc_v2) or the member of struct
 * driver (mem_alloc). A wrong option is reported on stderr and aborts.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_EMULATOR_HOOKS_H
#define GPUAES_EMULATOR_HOOKS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMULATOR_API __attribute__((visibility("default")))

/*
 * Replaces all options (those not named get their defaults), sets all counters
 * to 0 and heals a lost device. Contexts and what is in them stay; a kernel
 * that hangs keeps hanging until its context is released.
 */
EMULATOR_API void emulator_configure(const char *options);

/* Calls of a function since the first driver_open or emulator_configure. */
EMULATOR_API unsigned emulator_calls(const char *function);

/* Successful launches of a kernel; NULL: of all. */
EMULATOR_API unsigned emulator_launches(const char *kernel);

/* Successful launches of all kernels on one device. */
EMULATOR_API unsigned emulator_device_launches(int device);

/* The emulator as the application sees it: what libcuda.so.1 exports on a real machine. */
struct driver;
EMULATOR_API const struct driver *emulator_driver(void);

/*
 * What its module_load_data takes, whatever `driver` is: one image has the kernels of all that is
 * linked with it.
 */
EMULATOR_API const void *emulator_kernels(void);

/* Memory as of cuMemAllocManaged in the current context; free it with mem_free. */
EMULATOR_API void *emulator_managed_alloc(size_t bytes);

/*
 * What cudaDeviceReset() does of the application: the primary context of a device and all that
 * is in it are gone, even while retained. Waits for work that is under way.
 */
EMULATOR_API void emulator_reset(int device);

/*
 * cuStreamBeginCapture() and cuStreamEndCapture(): a stream, not the legacy one, is captured
 * into a graph meanwhile. What it is given never runs. What a capture forbids (to ask how far
 * the stream is, or to use the legacy stream, which waits for it unless it is non-blocking)
 * invalidates it. A drv_result; the number of nodes, or -1 where it was invalidated or there
 * was none.
 */
struct CUstream_st;
EMULATOR_API int emulator_begin_capture(struct CUstream_st *stream);
EMULATOR_API int emulator_end_capture(struct CUstream_st *stream);

/*
 * Ends a capture as emulator_end_capture() does, and keeps what was captured; null where it was
 * invalidated, and where memory was taken from a pool and not given back: it could run once only.
 * Each run queues that work again, what it has read from the host being that of the
 * capture. To be freed when no run is under way.
 */
EMULATOR_API void *emulator_make_graph(struct CUstream_st *stream);
EMULATOR_API int emulator_run_graph(void *graph, struct CUstream_st *stream);
EMULATOR_API void emulator_free_graph(void *graph);

/* cuLaunchHostFunc(). */
EMULATOR_API int emulator_launch_host(struct CUstream_st *stream, void (*function)(void *),
                                      void *argument);

/* Contexts of all devices, and bytes of their memory and of pinned memory, in use now. */
EMULATOR_API size_t emulator_contexts(void);
EMULATOR_API size_t emulator_device_bytes(void);
EMULATOR_API size_t emulator_pinned_bytes(void);

/*
 * What the process holds of the driver now: streams, events, modules, pools, ranges of device
 * memory and of pinned memory, of all contexts.
 */
EMULATOR_API size_t emulator_objects(void);

/* Of those, what contexts that were released for the last time still had. */
EMULATOR_API size_t emulator_left(void);

/*
 * Operations that are queued or being done on all streams but those that hang: 0 once all
 * that was begun is over. For tests that wait for the device, however slow it is.
 */
EMULATOR_API size_t emulator_under_way(void);

/* Ranges that are registered now; in a forked child, those when it was forked. */
EMULATOR_API unsigned emulator_registered(void);

/*
 * 1 for memory that stands for registers and shared memory of a device. Call it while
 * nothing is under way.
 */
EMULATOR_API int emulator_is_inside_device(const void *p);

/*
 * Copies to or from host memory that is not pinned. The real driver stages
 * them in buffers of its own, where plaintext would be left. One that was pinned
 * when the copy was queued, and no longer is when it runs, counts as well.
 */
EMULATOR_API unsigned emulator_unpinned_copies(void);

#ifdef __cplusplus
}
#endif
#endif
