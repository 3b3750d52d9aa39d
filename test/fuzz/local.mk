# The fuzzing targets.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

# For libFuzzer, which comes with clang: test/fuzz.t configures a build for them.
fuzz_programs = test/fuzz/ahead_fuzz test/fuzz/base64_fuzz test/fuzz/batch_fuzz \
	test/fuzz/evp_fuzz test/fuzz/settings_fuzz
if HAVE_CXX
EXTRA_PROGRAMS += $(fuzz_programs)
CLEANFILES += $(fuzz_programs)
fuzz_libs = provider/libprovider_core.la $(LIBBASE64_LIBS) $(library_test_libs)
fuzz_ldflags = $(AM_LDFLAGS) -fsanitize=fuzzer
test_fuzz_ahead_fuzz_SOURCES = test/fuzz/evp_fuzz.c
test_fuzz_ahead_fuzz_LDADD = $(fuzz_libs)
test_fuzz_ahead_fuzz_LDFLAGS = $(fuzz_ldflags)
nodist_EXTRA_test_fuzz_ahead_fuzz_SOURCES = test/link_by_cxx.cc
test_fuzz_base64_fuzz_LDADD = $(fuzz_libs)
test_fuzz_base64_fuzz_LDFLAGS = $(fuzz_ldflags)
nodist_EXTRA_test_fuzz_base64_fuzz_SOURCES = test/link_by_cxx.cc
test_fuzz_batch_fuzz_LDADD = $(fuzz_libs)
test_fuzz_batch_fuzz_LDFLAGS = $(fuzz_ldflags)
nodist_EXTRA_test_fuzz_batch_fuzz_SOURCES = test/link_by_cxx.cc
test_fuzz_evp_fuzz_LDADD = $(fuzz_libs)
test_fuzz_evp_fuzz_LDFLAGS = $(fuzz_ldflags)
nodist_EXTRA_test_fuzz_evp_fuzz_SOURCES = test/link_by_cxx.cc
test_fuzz_settings_fuzz_LDADD = $(fuzz_libs)
test_fuzz_settings_fuzz_LDFLAGS = $(fuzz_ldflags)
nodist_EXTRA_test_fuzz_settings_fuzz_SOURCES = test/link_by_cxx.cc
endif
EXTRA_DIST += test/fuzz/fuzz.h $(fuzz_programs:_fuzz=.corpus)

fuzz-programs: $(fuzz_programs)

.PHONY: fuzz-programs
