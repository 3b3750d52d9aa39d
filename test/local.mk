# The tests: which there are, how they are built, and what runs them.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

# ---- Lists -----------------------------------------------------------------
#
#   support/   what tests share, and tests of that
#   emulator/  the driver's functions on the CPU; its own local.mk
#   unit/      parts by themselves: kernels, models, the emulator
#   evp/       the provider through EVP
#   api/       libgpuaes
#   fault/     a driver that fails, devices that are lost, hang or lack memory
#   process/   starts, ends, forks, threads and limits of a process, and what else lives in it
#   tool/      the command
#   bench/     the benchmark and its report
#   docs/      pages, manuals and examples
#   install/   what gets installed, packages and configurations
#   openssl/   OpenSSL's own tests and programs, and other versions of it
#   clients/   programs of others
#   python/    the Python package, by pytest
#   fuzz/      the fuzzing targets
#   gpu/       what is about cards and their drivers

# $(call in_tree, patterns): the files of the sources that match.
in_tree = $(patsubst $(srcdir)/%,%,$(wildcard $(addprefix $(srcdir)/,$(1))))

# Programs that speak EVP, and so run against any module.
evp_tests = \
	test/api/queue_idle_test \
	test/api/queue_test \
	test/api/queue_vectors_test \
	test/api/random_test \
	test/evp/aes_differential_test \
	test/evp/aes_parameters_test \
	test/evp/async_test \
	test/evp/base64_test \
	test/evp/capture_test \
	test/evp/cuda_stream_order_test \
	test/evp/cuda_stream_test \
	test/evp/device_memory_test \
	test/evp/frees_test \
	test/evp/gcm_test \
	test/evp/known_answer_test \
	test/evp/properties_test \
	test/evp/read_ahead_test \
	test/evp/skey_test \
	test/evp/summary_test \
	test/evp/xts_test \
	test/process/load_unload_test \
	test/process/neighbours_test \
	test/process/read_ahead_threads_test \
	test/process/small_stack_test \
	test/process/start_waits_test \
	test/process/stress_test
# The same, but they need faults and other tricks of the emulator.
evp_emulator_tests = \
	test/evp/gcm_choice_test \
	test/evp/large_updates_test \
	test/evp/null_pointers_test \
	test/evp/read_ahead_lifetime_test \
	test/evp/secrets_test \
	test/fault/base64_faults_test \
	test/fault/device_loss_test \
	test/fault/device_release_test \
	test/fault/faults_test \
	test/fault/gcm_loss_test \
	test/fault/limited_devices_test \
	test/fault/read_ahead_faults_test \
	test/process/exit_test \
	test/process/exit_ways_test \
	test/process/fork_test \
	test/process/library_contexts_test \
	test/process/processes_test \
	test/process/resource_limits_test \
	test/process/start_test \
	test/unit/faulty_driver_test \
	test/unit/policy_test
# They have another copy of libcrypto than the module; the second one exports it.
if HAVE_STATIC_LIBCRYPTO
two_libcryptos_tests = test/process/two_libcryptos_test test/process/two_libcryptos_exported_test
evp_tests += $(two_libcryptos_tests)
test_process_two_libcryptos_exported_test_SOURCES = test/process/two_libcryptos_test.c
test_process_two_libcryptos_exported_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
endif
# Programs that link libgpuaes and the emulator themselves.
emulator_tests = \
	test/api/automatic_threads_test \
	test/api/batch_devices_test \
	test/api/batch_limits_test \
	test/api/batch_test \
	test/api/batch_threads_test \
	test/api/clock_change_test \
	test/api/devices_test \
	test/api/gcm_batch_test \
	test/api/gcm_test \
	test/api/image_test \
	test/api/keystream_test \
	test/api/library_test \
	test/api/null_arguments_test \
	test/api/operations_test \
	test/api/batch_secrets_test \
	test/api/queue_secrets_test \
	test/api/queue_threads_test \
	test/api/registration_test \
	test/api/struct_bytes_test \
	test/api/stream_binding_test \
	test/fault/batch_faults_test \
	test/fault/device_reset_test \
	test/fault/gcm_check_test \
	test/fault/gcm_faults_test \
	test/fault/library_faults_test \
	test/fault/queue_faults_test \
	test/fault/random_faults_test \
	test/fault/stream_binding_faults_test \
	test/process/root_directory_test \
	test/unit/aes_kernels_test \
	test/unit/base64_kernels_test \
	test/unit/counts_test \
	test/unit/emulator_test \
	test/unit/fields_test \
	test/unit/gcm_kernels_test \
	test/unit/message_plan_test
# Programs that link a part of ours, and no device.
part_tests = \
	test/unit/driver_path_test \
	test/unit/stream_detector_test
# Those that use several threads, and so are worth a run under ThreadSanitizer.
threaded_tests = \
	test/api/automatic_threads_test \
	test/api/batch_threads_test \
	test/api/devices_test \
	test/api/queue_threads_test \
	test/evp/async_test \
	test/process/exit_ways_test \
	test/process/read_ahead_threads_test \
	test/process/stress_test \
	test/unit/emulator_test
# Programs that need a card, each by itself.
real_tests = test/gpu/device_secrets_test test/gpu/timing_test
# Programs of the emulator that run on a card as well, behind a driver that fails on demand.
faulty_tests = test/fault/faults_test
# Those of the benchmark want rows of kernels that a build under a sanitizer does not have.
if !SANITIZED
bench_scripts = $(call in_tree,test/bench/*.t)
endif
# Scripts that run against any module, and those that need the emulator.
evp_scripts = test/includes.t test/size.t test/unit/message_sizes.t \
	$(addprefix test/openssl/,late_frees.t programs.t versions.t) \
	$(bench_scripts) $(call in_tree,test/docs/*.t test/tool/*.t) test/gpu/images.t \
	$(addprefix test/install/,configuration.t installed.t linked.t quickstart.t static_client.t)
emulator_scripts = test/install/kernel_image.t test/install/module.t test/install/reproducible.t \
	test/support/check.t test/support/rehearsal.t test/support/run_test.t
# Runs for a minute or more, on as many cores as there are.
long_scripts = test/fuzz/fuzz.t
# What evp_scripts are, for programs of others, where those are installed.
client_scripts = $(call in_tree,test/clients/*.t test/python/*.t)
# Those of the command, with threads and signals, that are worth a run under a sanitizer.
sanitized_scripts = test/tool/output.t test/tool/tmpfs.t
# Programs that scripts run, and what these print of the build.
script_programs = $(bench_programs) revision
# Builds of their own under a sanitizer, and what runs there: long.
sanitizer_scripts = test/support/sanitize_build.t
# The longest first, lest one of them be left when all others are done.
sanitizer_tests = \
	$(addprefix tsan/,$(sanitized_scripts)) asan/test/fault/faults_test \
	$(addprefix asan/,$(sanitized_scripts)) $(addprefix tsan/,$(threaded_tests)) \
	$(addprefix asan/,$(filter-out test/fault/faults_test,$(evp_emulator_tests)) $(evp_tests) $(emulator_tests) $(part_tests))

EXTRA_DIST += test/cross_aarch64 test/in_chroot test/includes test/on_gpu test/on_gpu_tool \
	test/on_gpu_trust test/opened test/with_emulated_driver test/support/run_test \
	test/openssl/debian_openssl test/install/static_client.c test/install/fips_stand_in.c test/evp/make_vectors test/openssl/late_frees.cc \
	$(call in_tree,$(addprefix test/support/,*.pm *.py *.map *_driver.* torch_stub/*.py cupy_stub/*.py)) \
	$(call in_tree,test/clients/* test/install/configurations/* test/gpu/*.cu) \
	$(call in_tree,test/python/*.py test/python/*.txt) \
	$(call in_tree,test/*.t test/*/*.t)

# ---- What tests run against ------------------------------------------------

if HAVE_CXX
# The module on the emulator.
noinst_LTLIBRARIES += test/emulated/gpuaes.la
test_emulated_gpuaes_la_SOURCES =
# Never compiled; it makes automake link by the C++ compiler.
nodist_EXTRA_test_emulated_gpuaes_la_SOURCES = test/emulated/link_by_cxx.cc
test_emulated_gpuaes_la_LDFLAGS = $(AM_LDFLAGS) $(GPUAES_SHARED_LDFLAGS) -rpath /nowhere \
	-module -avoid-version -shared -Wl,--version-script=$(srcdir)/test/support/emulated.map
EXTRA_test_emulated_gpuaes_la_DEPENDENCIES = test/support/emulated.map
test_emulated_gpuaes_la_LIBADD = provider/libprovider_core.la cuda/libgpuaes_core.la \
	test/emulator/libemulator.la $(provider_libs)

all-local: test/emulated/gpuaes.so $(faulty_driver)
test/emulated/gpuaes.so: test/emulated/gpuaes.la
	$(AM_V_at)rm -f $@ && $(LN_S) .libs/gpuaes.so $@ && touch $@
CLEANFILES += test/emulated/gpuaes.so

# The command on it: the module has the library's functions, so that there is one state in
# the process.
noinst_PROGRAMS += test/emulated/gpuaes
test_emulated_gpuaes_SOURCES = tool/main.c
test_emulated_gpuaes_LDADD = tool/libtool_core.la test/emulated/.libs/gpuaes.so $(LDADD)
test_emulated_gpuaes_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--no-as-needed -Wl,-rpath,$(abs_top_builddir)/test/emulated/.libs
test_emulated_gpuaes_DEPENDENCIES = tool/libtool_core.la test/emulated/gpuaes.so

# A driver that fails on demand before the real one.
CLEANFILES += test/faulty/libcuda.so.1
test/faulty/libcuda.so.1: test/support/faulty_driver.cc cuda/driver/driver.h
	@$(MKDIR_P) $(@D)
	$(AM_V_CXX)$(CXX) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CXXFLAGS) $(CXXFLAGS) -fno-sanitize=all \
	    -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $(srcdir)/test/support/faulty_driver.cc $(SYSTEM_LIBS)
faulty_driver = test/faulty/libcuda.so.1
endif

# ---- Programs --------------------------------------------------------------

# Not check_PROGRAMS, which automake builds for every check, whatever TESTS says.
checked_programs =
if HAVE_CXX
checked_programs += $(evp_tests) $(evp_emulator_tests) $(emulator_tests) $(part_tests)
endif
EXTRA_PROGRAMS += $(checked_programs) $(real_tests)
CLEANFILES += $(checked_programs) $(real_tests)

# What programs share.
EXTRA_LTLIBRARIES += test/support/libtest.la
CLEANFILES += test/support/libtest.la
test_support_libtest_la_SOURCES = \
	test/support/application.c test/support/application.h \
	test/support/asan_forks.c test/support/asan_forks.h \
	test/support/bare_kernels.c test/support/bare_kernels.h \
	test/support/base64_objects.c test/support/base64_objects.h \
	test/support/cases.c test/support/cases.h \
	test/support/compared.c test/support/compared.h \
	test/support/device_state.c test/support/device_state.h \
	test/support/driver_functions.h \
	test/support/element.h \
	test/support/fault_scenarios.c test/support/fault_scenarios.h \
	test/support/faulty_calls.c test/support/faulty_calls.h \
	test/support/hash_forms.c test/support/hash_forms.h \
	test/support/jobs.c test/support/jobs.h \
	test/support/known_answers.c test/support/known_answers.h \
	test/support/leaks_allowed.h \
	test/support/library.c test/support/library.h \
	test/support/memory_search.c test/support/memory_search.h \
	test/support/mixes.c test/support/mixes.h \
	test/support/providers.c test/support/providers.h \
	test/support/reference.c test/support/reference.h \
	test/support/read_ahead_streams.c test/support/read_ahead_streams.h \
	test/support/sealed.c test/support/sealed.h \
	test/support/streams.c test/support/streams.h \
	test/support/tap.c test/support/tap.h

# What all of them link, of which each takes what it needs.
test_libs = test/support/libtest.la provider/libprovider_core.la tool/libtool_core.la \
	cuda/libgpuaes_core.la
test_programs = $(evp_tests) $(evp_emulator_tests) $(emulator_tests) $(part_tests) $(real_tests)
$(test_programs): $(test_libs)
$(test_programs): private LDADD = $(test_libs) $(LIBCRYPTO_LIBS) $(SYSTEM_LIBS)
$(two_libcryptos_tests): private LDADD = $(test_libs) $(STATIC_LIBCRYPTO_LIBS) $(SYSTEM_LIBS)
# The kernels as objects: nothing refers to them, so a program would not get them
# out of the archive.
emulator_libs = $(KERNEL_SOURCES:.cu=.lo) test/emulator/libemulator.la
$(emulator_tests): $(emulator_libs)
$(emulator_tests): private LDADD = $(test_libs) $(emulator_libs) $(LIBCRYPTO_LIBS) $(SYSTEM_LIBS)
$(emulator_tests): private CCLD = $(CXX)

test_evp_known_answer_test_SOURCES = test/evp/known_answer_test.c \
	test/evp/gcm_vectors.h test/evp/gcm_vectors.inc test/evp/xts_vectors.h test/evp/xts_vectors.inc
test_unit_emulator_test_SOURCES = test/unit/emulator_test.cc test/unit/emulator_kernels.cu test/unit/emulator_kernels.h
test_unit_counts_test_SOURCES = test/unit/counts_test.c test/unit/counts_kernels.cu
test_unit_fields_test_SOURCES = test/unit/fields_test.c test/unit/fields_kernels.cu
emulated_kernel_dependencies += test/unit/counts_kernels.d test/unit/emulator_kernels.d \
	test/unit/fields_kernels.d
if HAVE_CXX
# The real table of the driver, and no emulator.
test_unit_driver_path_test_SOURCES = test/unit/driver_path_test.c cuda/driver/libcuda.c \
	cuda/driver/library_path.c cuda/driver/library_path.h
test_unit_driver_path_test_CFLAGS = $(AM_CFLAGS)
EXTRA_test_unit_driver_path_test_DEPENDENCIES = test/noticed/libcuda.so.1
CLEANFILES += test/noticed/libcuda.so.1
test/noticed/libcuda.so.1: test/support/noticed_driver.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -fno-sanitize=all \
	    -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $(srcdir)/test/support/noticed_driver.c
endif
test_gpu_timing_test_LDADD = test/support/libtest.la cuda/libgpuaes.la $(SYSTEM_LIBS)
if HAVE_CUDA
CLEANFILES += test/gpu/leaky_kernel.fatbin test/gpu/leaky_kernel.fatbin.d
test/gpu/leaky_kernel.fatbin: test/gpu/leaky_kernel.cu cuda/kernels.flags
	@$(MKDIR_P) $(@D)
	$(compile_fatbin) $(srcdir)/test/gpu/leaky_kernel.cu && mv -f $@.new $@
-include test/gpu/leaky_kernel.fatbin.d
$(test_gpu_timing_test_OBJECTS): test/gpu/leaky_kernel.fatbin
endif

# ---- Targets ---------------------------------------------------------------

# TESTS="test/a_test test/b.t" on the command line runs those alone, and for programs builds no others.
# A script may run any program.
all_tests = $(evp_emulator_tests) $(evp_tests) $(emulator_tests) $(part_tests) \
	$(evp_scripts) $(emulator_scripts) $(client_scripts) $(long_scripts)
PROVE_FLAGS = --failures --timer
# On two cores: tests wait for a sixth of their time, for children, time limits and idle devices.
PROVE_JOBS = 3
# What prove runs each test by.
PROVE_EXEC = $(srcdir)/test/support/run_test
# $(call prove, folder of the module, tests, more environment): built programs lie
# here, scripts among the sources, and what Sanitize.pm runs in a folder of its own.
prove = @test -n '$(PROVE)' || { echo 'prove (it comes with perl) is needed' >&2; exit 1; }; \
	env OPENSSL_MODULES='$(abs_top_builddir)/$(1)' \
	    GPUAES_TEST_MODULES_REAL='$(abs_top_builddir)/provider/.libs' \
	    TOP_SRCDIR='$(abs_top_srcdir)' TOP_BUILDDIR='$(abs_top_builddir)' $(3) \
	    $(PROVE) $(PROVE_FLAGS) -j$(PROVE_JOBS) --exec '$(PROVE_EXEC)' \
	    $(foreach t,$(2),$(if $(filter %.t,$(filter-out asan/% tsan/%,$(t))),$(srcdir)/)$(t))

if HAVE_CXX
wanted_programs = $(if $(filter-out $(checked_programs),$(or $(TESTS),all)),\
	$(checked_programs) $(script_programs),$(TESTS))
check-local: $(wanted_programs) $(faulty_driver)
	$(call prove,test/emulated,$(or $(TESTS),$(all_tests)))
else
check-local:
	@echo 'The tests need the emulator, and that a C++17 compiler: nothing was tested.' >&2; exit 1
endif

# What needs no emulator, on a real GPU, with the module that gets installed.
check-real: all
	@test -e /dev/nvidiactl || { echo 'check-real needs an NVIDIA GPU: no /dev/nvidiactl' >&2; exit 1; }
	$(MAKE) $(AM_MAKEFLAGS) $(evp_tests) $(real_tests) $(faulty_tests) $(script_programs) $(faulty_driver)
	$(call prove,provider/.libs,$(or $(TESTS),$(evp_tests) $(evp_scripts) $(client_scripts)))
	$(if $(TESTS),,$(call prove,provider/.libs,$(real_tests)))
	$(if $(TESTS),,$(call prove,provider/.libs,$(faulty_tests),LD_LIBRARY_PATH="$(abs_top_builddir)/test/faulty$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}" GPUAES_TEST_EVERY=8))

# A selection of some minutes, for the build of a package; of its programs alone where an
# emulator of another processor runs them.
quick_programs = \
	test/evp/aes_differential_test \
	test/evp/known_answer_test \
	test/evp/base64_test \
	test/api/batch_test \
	test/api/library_test
quick_scripts = test/docs/manual.t test/install/module.t
check-quick: all
	$(MAKE) $(AM_MAKEFLAGS) $(quick_programs)
	$(call prove,test/emulated,$(quick_programs) $(quick_scripts),GPUAES_TEST_CASES=$(QUICK_CASES))
QUICK_CASES = 20

# The build and some tests for another processor, in aarch64/: ten minutes the
# first time, and it fetches OpenSSL.
check-aarch64:
	$(srcdir)/test/cross_aarch64 aarch64

# Everything that a change must pass. The builds begin first, and are ready when the quick tests are.
check-all: all $(faulty_driver)
	$(MAKE) $(AM_MAKEFLAGS) $(checked_programs) $(script_programs)
	@echo 'One line for each test: first those of this build, while two more are built under'
	@echo 'sanitizers, then minutes of fuzzing, then those of the builds in asan/ and tsan/.'
	$(call prove,test/emulated,$(sanitizer_scripts) $(all_tests) $(sanitizer_tests))

# OpenSSL's own tests, of each of these releases of Debian: minutes the first time, and
# it fetches OpenSSL. MODULE=provider/.libs takes the installed kind of module to a card.
RELEASES = bookworm trixie
MODULE = test/emulated
check-openssl: $(RELEASES:%=check-openssl-%)
check-openssl-%: all
	$(call prove,$(MODULE),test/openssl/data.t :: $* openssl-$*)

# For the builds under sanitizers and test/on_gpu: what to build, and what to run. Under a sanitizer
# nothing runs but the module and the command on the emulator, the programs, and libgpuaes in one of them.
if SANITIZED
tested = test/emulated/gpuaes.so test/emulated/gpuaes cuda/libgpuaes.la
else
tested = all
endif
test-programs: $(tested) $(faulty_driver)
	$(MAKE) $(AM_MAKEFLAGS) $(checked_programs)
thread-programs: $(tested) $(faulty_driver)
	$(MAKE) $(AM_MAKEFLAGS) $(threaded_tests)
list-evp:
	@echo $(evp_tests)

# Builds of their own: those of sanitize_build.t and fuzz.t, of make deb and make wheel.
distclean-local:
	rm -rf asan tsan fuzz deb wheel wheel-aarch64

.PHONY: check-aarch64 check-all check-openssl check-quick check-real list-evp test-programs \
	thread-programs
