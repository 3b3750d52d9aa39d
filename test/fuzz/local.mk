# The fuzzing targets.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

# For libFuzzer, which comes with clang: test/fuzz/fuzz.t configures a build for them.
fuzz_programs = test/fuzz/ahead_fuzz test/fuzz/base64_fuzz test/fuzz/batch_fuzz \
	test/fuzz/evp_fuzz test/fuzz/gcm_fuzz test/fuzz/queue_fuzz
if HAVE_CXX
EXTRA_PROGRAMS += $(fuzz_programs)
CLEANFILES += $(fuzz_programs)
test_fuzz_ahead_fuzz_SOURCES = test/fuzz/evp_fuzz.c
$(fuzz_programs): $(test_libs) $(emulator_libs)
$(fuzz_programs): private LDADD = $(test_libs) $(emulator_libs) $(provider_libs)
$(fuzz_programs): private CCLD = $(CXX) -fsanitize=fuzzer
endif
EXTRA_DIST += test/fuzz/fuzz.h $(fuzz_programs:_fuzz=.corpus)

fuzz-programs: $(fuzz_programs)

.PHONY: fuzz-programs
