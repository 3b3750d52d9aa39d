# The emulator of the driver, and how kernels are compiled for it.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

if HAVE_CXX
noinst_LTLIBRARIES += cuda/emulator/libemulator.la
cuda_emulator_libemulator_la_SOURCES = \
	cuda/emulator/captures.cc \
	cuda/emulator/carryless.h \
	cuda/emulator/contexts.cc \
	cuda/emulator/copies.cc \
	cuda/emulator/device.h \
	cuda/emulator/driver_emulator.cc \
	cuda/emulator/emulator.h \
	cuda/emulator/fiber.cc cuda/emulator/fiber.h \
	cuda/emulator/grid.cc cuda/emulator/grid.h \
	cuda/emulator/hooks.h \
	cuda/emulator/integers.h \
	cuda/emulator/memory.cc \
	cuda/emulator/modules.cc \
	cuda/emulator/options.cc \
	cuda/emulator/reals.h \
	cuda/emulator/sanitizers.h \
	cuda/emulator/streams.cc \
	$(KERNEL_SOURCES)
endif

# Kernels for the emulator: device code, by the host's compiler. With lines for a debugger and no
# variables: to follow these through unrolled rounds takes it a third of its time.
SUFFIXES = .cu
compile_emulated = $(CXX) -x c++ -include $(srcdir)/cuda/emulator/device.h \
	$(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CXXFLAGS) -Wno-unknown-pragmas $(CXXFLAGS) -g1
.cu.lo:
	$(AM_V_CXX)$(LIBTOOL) $(AM_V_lt) --tag=CXX $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) \
	    --mode=compile $(compile_emulated) -MMD -MP -MF $(@:.lo=.d) -MT $@ -c -o $@ $<
.cu.o:
	$(AM_V_CXX)$(compile_emulated) -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<
# Tests and the benchmark add those of their own kernels.
emulated_kernel_dependencies = $(KERNEL_SOURCES:.cu=.d)
-include $(emulated_kernel_dependencies)
CLEANFILES += $(emulated_kernel_dependencies)
