# libgpuaes. Its kernels are in cuda/kernels/local.mk.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

include_HEADERS = cuda/gpuaes.h
pkgconfig_DATA = cuda/gpuaes.pc

# All host code but the driver table, which is the real one or the emulator's.
noinst_LTLIBRARIES += cuda/libgpuaes_core.la
cuda_libgpuaes_core_la_SOURCES = \
	cuda/aes.c cuda/aes.h \
	cuda/aes_key.c \
	cuda/application.c cuda/application.h \
	cuda/base64.c \
	cuda/batch.c cuda/batch.h \
	cuda/batch_keys.c cuda/batch_keys.h \
	cuda/batch_plan.c \
	cuda/batch_run.c \
	cuda/batch_slice.c \
	cuda/cleanse.c \
	cuda/copy.c \
	cuda/device.c cuda/device.h \
	cuda/driver.h \
	cuda/fork.c cuda/fork.h \
	cuda/gpuaes.h \
	cuda/host_copy.c cuda/host_copy.h \
	cuda/kernels.c cuda/kernels.h \
	cuda/kernels_batch.c \
	cuda/kernels/arguments.h \
	cuda/keystream.c \
	cuda/keystream_ring.c cuda/keystream_ring.h \
	cuda/lane.c cuda/lane.h \
	cuda/life.c cuda/life.h \
	cuda/memory.c cuda/memory.h \
	cuda/pinned.c \
	cuda/pool.c cuda/pool.h \
	cuda/queue.c \
	cuda/root.c cuda/root.h \
	cuda/route.c cuda/route.h \
	cuda/spans.c cuda/spans.h \
	cuda/spares.c cuda/spares.h \
	cuda/statistics.c cuda/statistics.h \
	cuda/status.c \
	cuda/transfer.c cuda/transfer.h \
	cuda/work.c cuda/work.h
cuda_libgpuaes_core_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden

lib_LTLIBRARIES += cuda/libgpuaes.la
cuda_libgpuaes_la_SOURCES = cuda/driver_cuda.c cuda/driver_path.c cuda/driver_path.h \
	cuda/kernels_image.c
cuda_libgpuaes_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
cuda_libgpuaes_la_CPPFLAGS = $(AM_CPPFLAGS)
cuda_libgpuaes_la_LDFLAGS = $(AM_LDFLAGS) $(GPUAES_SHARED_LDFLAGS) -version-info 0:0:0
EXTRA_cuda_libgpuaes_la_DEPENDENCIES = folders
cuda_libgpuaes_la_LIBADD = cuda/libgpuaes_core.la $(SYSTEM_LIBS)
if HAVE_CUDA_H
cuda_libgpuaes_la_SOURCES += cuda/driver_check.c
cuda_libgpuaes_la_CPPFLAGS += $(CUDA_CPPFLAGS)
endif
