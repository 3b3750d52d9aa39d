# The emulator of the driver, and how kernels are compiled for it.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

if HAVE_CXX
noinst_LTLIBRARIES += test/emulator/libemulator.la
test_emulator_libemulator_la_SOURCES = \
	test/emulator/captures.cc \
	test/emulator/carryless.h \
	test/emulator/contexts.cc \
	test/emulator/copies.cc \
	test/emulator/device.h \
	test/emulator/driver_emulator.cc \
	test/emulator/emulator.h \
	test/emulator/fiber.cc test/emulator/fiber.h \
	test/emulator/grid.cc test/emulator/grid.h \
	test/emulator/hooks.h \
	test/emulator/integers.h \
	test/emulator/memory.cc \
	test/emulator/modules.cc \
	test/emulator/options.cc \
	test/emulator/reals.h \
	test/emulator/sanitizers.h \
	test/emulator/streams.cc \
	$(KERNEL_SOURCES)
endif

# Kernels for the emulator: device code, by the host's compiler. With lines for a debugger and no
# variables: to follow these through unrolled rounds takes it a third of its time.
SUFFIXES = .cu
compile_emulated = $(CXX) -x c++ -include $(srcdir)/test/emulator/device.h \
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
