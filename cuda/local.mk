# libgpuaes. Its kernels are in cuda/kernels/local.mk.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

include_HEADERS = cuda/gpuaes.h
pkgconfig_DATA = cuda/gpuaes.pc
cmakedir = $(libdir)/cmake/gpuaes
cmake_DATA = cuda/gpuaes-config.cmake cuda/gpuaes-config-version.cmake
# With the header's folder as it lies from there, so that the prefix can be moved, or be in a DESTDIR.
cuda/gpuaes-config.cmake: cuda/gpuaes-config.cmake.in folders
	$(AM_V_GEN)$(MKDIR_P) cuda && include=$$(realpath -m --relative-to='$(cmakedir)' '$(includedir)') && \
	    sed -e "s|@include@|$$include|" -e "s|@libs@|$$(echo $(SYSTEM_LIBS) | tr ' ' ';')|" \
	    $(srcdir)/cuda/gpuaes-config.cmake.in >$@.new && mv -f $@.new $@
EXTRA_DIST += cuda/gpuaes-config.cmake.in
CLEANFILES += cuda/gpuaes-config.cmake

# All host code but the driver table, which is the real one or the emulator's.
noinst_LTLIBRARIES += cuda/libgpuaes_core.la
cuda_libgpuaes_core_la_SOURCES = \
	cuda/aes/aes.c cuda/aes/aes.h \
	cuda/aes/cbc.c cuda/aes/ctr.c cuda/aes/ecb.c \
	cuda/aes/gcm.c \
	cuda/aes/gcm_binding.c \
	cuda/aes/gcm_check.c cuda/aes/gcm_check.h \
	cuda/aes/xts.c \
	cuda/launch/ghash.c cuda/launch/ghash.h \
	cuda/aes/key_schedule.c \
	cuda/runtime/application.c \
	cuda/batch/batch.c cuda/batch/batch.h \
	cuda/batch/run.c \
	cuda/process/cleanse.c cuda/process/cleanse.h \
	cuda/memory/copy.c \
	cuda/device/device.c cuda/device/device.h \
	cuda/driver/driver.h \
	cuda/process/fork.c cuda/process/fork.h \
	cuda/gpuaes.h \
	cuda/memory/host_copy.c cuda/memory/host_copy.h \
	cuda/launch/image_choice.c \
	cuda/launch/kernels.c cuda/launch/kernels.h \
	cuda/launch/mode.h \
	cuda/launch/kernels_message.c cuda/launch/kernels_message.h \
	cuda/queue/queue.c \
	cuda/launch/kernels_random.c \
	cuda/launch/kernels_gcm.c \
	cuda/kernels/common/arguments.h \
	cuda/keystream/keystream.c \
	cuda/device/ring.c cuda/device/ring.h \
	cuda/device/stream_set.c cuda/device/stream_set.h \
	cuda/random/random.c \
	cuda/runtime/runtime.c cuda/runtime/runtime.h \
	cuda/runtime/start.c cuda/runtime/state.h \
	cuda/memory/memory_kind.c cuda/memory/memory_kind.h \
	cuda/memory/pinned.c \
	cuda/process/settings.c cuda/process/settings.h \
	cuda/process/struct_bytes.c cuda/process/struct_bytes.h \
	cuda/process/thread_pool.c cuda/process/thread_pool.h \
	cuda/aes/stream_binding.c cuda/aes/stream_binding.h \
	cuda/driver/root.c cuda/driver/root.h \
	cuda/aes/stream_events.c cuda/aes/stream_events.h \
	cuda/device/memory_pool.c cuda/device/memory_pool.h \
	cuda/process/statistics.c cuda/process/statistics.h \
	cuda/process/status.c \
	cuda/transfer/transfer.c cuda/transfer/transfer.h \
	cuda/transfer/transfer_aes.c \
	cuda/transfer/transfer_base64.c \
	cuda/transfer/transfer_gcm.c \
	cuda/transfer/transfer_gcm_message.c \
	cuda/transfer/job.c
cuda_libgpuaes_core_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden

lib_LTLIBRARIES += cuda/libgpuaes.la
cuda_libgpuaes_la_SOURCES = cuda/driver/libcuda.c cuda/driver/library_path.c cuda/driver/library_path.h \
	cuda/launch/image.c
cuda_libgpuaes_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
cuda_libgpuaes_la_CPPFLAGS = $(AM_CPPFLAGS)
cuda_libgpuaes_la_LDFLAGS = $(AM_LDFLAGS) $(GPUAES_SHARED_LDFLAGS) -version-info 1:0:0 \
	-Wl,--version-script=$(srcdir)/cuda/libgpuaes.map
EXTRA_cuda_libgpuaes_la_DEPENDENCIES = folders cuda/libgpuaes.map
EXTRA_DIST += cuda/libgpuaes.map
cuda_libgpuaes_la_LIBADD = cuda/libgpuaes_core.la $(SYSTEM_LIBS)
if HAVE_CUDA_H
cuda_libgpuaes_la_SOURCES += cuda/driver/abi_check.c
cuda_libgpuaes_la_CPPFLAGS += $(CUDA_CPPFLAGS)
endif
