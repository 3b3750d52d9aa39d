# The tests: which there are, how they are built, and what runs them.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

# ---- Lists -----------------------------------------------------------------

# Programs that speak EVP, and so run against any module.
evp_tests = \
	test/aes_differential_test \
	test/aes_known_answer_test \
	test/aes_parameters_test \
	test/async_test \
	test/base64_test \
	test/capture_test \
	test/device_memory_test \
	test/frees_test \
	test/iv_pointers_test \
	test/load_unload_test \
	test/pipeline_test \
	test/neighbours_test \
	test/read_ahead_test \
	test/read_ahead_threads_test \
	test/read_ahead_walks_test \
	test/skey_test \
	test/small_stack_test \
	test/start_waits_test \
	test/stream_order_test \
	test/stream_test \
	test/summary_test \
	test/threads_test
# The same, but they need faults and other tricks of the emulator.
evp_emulator_tests = \
	test/base64_faults_test \
	test/policy_test \
	test/contexts_test \
	test/exit_streams_test \
	test/exit_ways_test \
	test/exit_test \
	test/large_updates_test \
	test/faulty_driver_test \
	test/faults_test \
	test/limits_test \
	test/losses_test \
	test/machines_test \
	test/processes_test \
	test/fork_test \
	test/read_ahead_faults_test \
	test/read_ahead_fork_test \
	test/read_ahead_life_test \
	test/read_ahead_memory_test \
	test/releases_test \
	test/secrets_test \
	test/start_test \
	test/stress_test
# They have another copy of libcrypto than the module; the second one exports it.
if HAVE_STATIC_LIBCRYPTO
evp_tests += test/two_libcryptos_test test/two_libcryptos_exported_test
test_two_libcryptos_test_LDADD = -l:libcrypto.a $(SYSTEM_LIBS) -ldl -lpthread
test_two_libcryptos_exported_test_SOURCES = test/two_libcryptos_test.c
test_two_libcryptos_exported_test_LDADD = $(test_two_libcryptos_test_LDADD)
test_two_libcryptos_exported_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
endif
# Programs that link libgpuaes and the emulator themselves.
library_tests = \
	test/automatic_threads_test \
	test/batch_devices_test \
	test/batch_faults_test \
	test/batch_limits_test \
	test/batch_test \
	test/batch_threads_test \
	test/clock_test \
	test/devices_test \
	test/keystream_test \
	test/library_faults_test \
	test/library_test \
	test/stream_binding_test \
	test/registration_test \
	test/reset_test \
	test/root_test
emulator_tests = \
	test/aes_hybrid_test \
	test/aes_kernels_test \
	test/base64_kernels_test \
	test/driver_path_test \
	test/emulator_test \
	test/stream_detector_test \
	test/offload_test \
	$(library_tests)
# Those that use several threads, and so are worth a run under ThreadSanitizer.
threaded_tests = \
	test/async_test \
	test/automatic_threads_test \
	test/exit_streams_test \
	test/batch_threads_test \
	test/devices_test \
	test/emulator_test \
	test/read_ahead_threads_test \
	test/stress_test \
	test/threads_test
# Programs that need a card, each by itself.
real_tests = test/device_secrets_test test/timing_test
# Programs of the emulator that run on a card as well, behind a driver that fails on demand.
faulty_tests = test/faults_test
# Scripts that run against any module, and those that need the emulator.
evp_scripts = \
	test/bench.t \
	test/configuration.t \
	test/documents.t \
	test/examples.t \
	test/includes.t \
	test/installed.t \
	test/manual.t \
	test/measure_all.t \
	test/openssl_programs.t \
	test/openssl_versions.t \
	test/pages.t \
	test/quickstart.t \
	test/report.t \
	test/report_references.t \
	test/static_client.t \
	test/tool_base64.t \
	test/tool_enc.t \
	test/tool_info.t \
	test/tool_measure.t \
	test/tool_output.t \
	test/tool_secrets.t \
	test/tool_shards.t \
	test/tool_tmpfs.t
emulator_scripts = \
	test/module.t \
	test/rehearsal.t \
	test/reproducible.t \
	test/run_test.t
# Runs for a minute or more, on as many cores as there are.
long_scripts = test/fuzz.t
# What evp_scripts are, for programs of others, where those are installed.
client_scripts = \
	test/clients/nginx.t \
	test/clients/postgresql.t \
	test/clients/python.t \
	test/clients/ruby.t \
	test/clients/ssh.t
# Those of the command, with threads and signals, that are worth a run under a sanitizer.
sanitized_scripts = test/tool_output.t test/tool_tmpfs.t
# Programs that scripts run.
script_programs = $(bench_programs)
# Builds of their own under a sanitizer, and what runs there: long.
sanitizer_scripts = test/sanitize_build.t
# The longest first, lest one of them be left when all others are done.
sanitizer_tests = \
	$(addprefix tsan/,$(sanitized_scripts)) asan/test/faults_test \
	$(addprefix asan/,$(sanitized_scripts)) $(addprefix tsan/,$(threaded_tests)) \
	$(addprefix asan/,$(evp_emulator_tests:test/faults_test=) $(evp_tests) $(emulator_tests))

EXTRA_DIST += test/Programs.pm test/Sanitize.pm test/application.h test/asan_forks.h \
	test/cases.h test/device_state.h test/emulated.map test/fault_scenarios.h \
	test/fault_work.h test/faulty_driver.cc test/in_chroot test/includes test/jobs.h test/leaks_allowed.h \
	test/library.h test/memory_search.h test/mixes.h \
	test/noticed_driver.c test/on_gpu \
	test/on_gpu_tool test/on_gpu_trust test/opened test/pipes.h test/providers.h \
	test/read_ahead_streams.h test/run_test test/streams.h test/tap.h \
	test/vectors.h \
	test/with_emulated_driver \
	test/torch_stub/torch.py \
	$(wildcard $(srcdir)/test/configurations/*) \
	test/clients/Client.pm test/clients/cryptography_client.py \
	test/clients/docker_stand_in test/clients/openssl_client.rb \
	$(long_scripts) $(evp_scripts) $(emulator_scripts) $(client_scripts) $(sanitizer_scripts)

# ---- What tests run against ------------------------------------------------

if HAVE_CXX
# The module on the emulator.
noinst_LTLIBRARIES += test/emulated/gpuaes.la
# The benchmark's kernels, too: only here does its program on the emulator find them.
test_emulated_gpuaes_la_SOURCES = $(reference_sources)
# Never compiled; it makes automake link by the C++ compiler.
nodist_EXTRA_test_emulated_gpuaes_la_SOURCES = test/emulated/link_by_cxx.cc
test_emulated_gpuaes_la_LDFLAGS = $(AM_LDFLAGS) $(GPUAES_SHARED_LDFLAGS) -rpath /nowhere \
	-module -avoid-version -shared -Wl,--version-script=$(srcdir)/test/emulated.map
EXTRA_test_emulated_gpuaes_la_DEPENDENCIES = test/emulated.map
test_emulated_gpuaes_la_LIBADD = provider/libprovider_core.la cuda/libgpuaes_core.la \
	cuda/emulator/libemulator.la $(provider_libs)

all-local: test/emulated/gpuaes.so
test/emulated/gpuaes.so: test/emulated/gpuaes.la
	$(AM_V_at)rm -f $@ && $(LN_S) .libs/gpuaes.so $@
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
test/faulty/libcuda.so.1: test/faulty_driver.cc cuda/driver/driver.h
	@$(MKDIR_P) $(@D)
	$(AM_V_CXX)$(CXX) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CXXFLAGS) $(CXXFLAGS) -fno-sanitize=all \
	    -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $(srcdir)/test/faulty_driver.cc $(SYSTEM_LIBS)
faulty_driver = test/faulty/libcuda.so.1
# A management library of GPUs for the benchmark's test.
CLEANFILES += test/fake/libnvidia-ml.so.1
test/fake/libnvidia-ml.so.1: bench/fake_nvml.c bench/nvml.h
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -fno-sanitize=all \
	    -fPIC -shared -Wl,-soname,libnvidia-ml.so.1 -o $@ $(srcdir)/bench/fake_nvml.c
fake_nvml = test/fake/libnvidia-ml.so.1
endif

# ---- Programs --------------------------------------------------------------

if HAVE_CXX
check_PROGRAMS += $(evp_tests) $(evp_emulator_tests) $(emulator_tests)
# The model of costs by itself, too.
test_policy_test_SOURCES = test/policy_test.c provider/policy/cost_model.c provider/policy/cost_model.h
test_policy_test_CFLAGS = $(AM_CFLAGS)
test_stream_detector_test_SOURCES = test/stream_detector_test.c provider/policy/stream_detector.c \
	provider/policy/stream_detector.h
test_stream_detector_test_CFLAGS = $(AM_CFLAGS)
test_offload_test_SOURCES = test/offload_test.c tool/pipeline/offload_model.c tool/pipeline/offload_model.h
test_offload_test_CFLAGS = $(AM_CFLAGS)
test_secrets_test_SOURCES = test/secrets_test.c cuda/aes/key_schedule.c cuda/gpuaes.h
test_secrets_test_CFLAGS = $(AM_CFLAGS)
test_emulator_test_SOURCES = test/emulator_test.cc test/emulator_kernels.cu test/emulator_kernels.h
test_emulator_test_LDADD = cuda/emulator/libemulator.la $(SYSTEM_LIBS)
# The kernels as objects: nothing refers to them, so a program would not get them
# out of the archive.
library_test_libs = cuda/libgpuaes_core.la $(KERNEL_SOURCES:.cu=.lo) \
	cuda/emulator/libemulator.la $(LIBCRYPTO_LIBS) $(SYSTEM_LIBS)
test_aes_hybrid_test_SOURCES = test/aes_hybrid_test.c test/sbox_kernels.cu
test_aes_hybrid_test_LDADD = $(library_test_libs)
test_aes_kernels_test_LDADD = $(library_test_libs)
test_automatic_threads_test_LDADD = $(library_test_libs)
test_base64_kernels_test_LDADD = $(library_test_libs)
test_batch_devices_test_LDADD = $(library_test_libs)
test_batch_faults_test_LDADD = $(library_test_libs)
test_batch_limits_test_LDADD = $(library_test_libs)
test_batch_test_LDADD = $(library_test_libs)
test_batch_threads_test_LDADD = $(library_test_libs)
test_clock_test_LDADD = $(library_test_libs)
test_devices_test_LDADD = $(library_test_libs)
test_keystream_test_LDADD = $(library_test_libs)
test_library_faults_test_LDADD = $(library_test_libs)
test_library_test_LDADD = $(library_test_libs)
test_stream_binding_test_LDADD = $(library_test_libs)
test_registration_test_LDADD = $(library_test_libs)
test_reset_test_LDADD = $(library_test_libs)
test_root_test_LDADD = $(library_test_libs)
nodist_EXTRA_test_aes_hybrid_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_aes_kernels_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_base64_kernels_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_automatic_threads_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_batch_devices_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_batch_faults_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_batch_limits_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_batch_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_batch_threads_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_clock_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_devices_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_keystream_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_library_faults_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_library_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_stream_binding_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_registration_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_reset_test_SOURCES = test/link_by_cxx.cc
nodist_EXTRA_test_root_test_SOURCES = test/link_by_cxx.cc
# The real table of the driver, and no emulator.
test_driver_path_test_SOURCES = test/driver_path_test.c cuda/driver/libcuda.c cuda/driver/library_path.c \
	cuda/driver/library_path.h
test_driver_path_test_CFLAGS = $(AM_CFLAGS)
test_driver_path_test_LDADD = cuda/libgpuaes_core.la $(SYSTEM_LIBS)
EXTRA_test_driver_path_test_DEPENDENCIES = test/noticed/libcuda.so.1
CLEANFILES += test/noticed/libcuda.so.1
test/noticed/libcuda.so.1: test/noticed_driver.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -fno-sanitize=all \
	    -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $(srcdir)/test/noticed_driver.c
endif
emulated_kernel_dependencies += test/emulator_kernels.d test/sbox_kernels.d

EXTRA_PROGRAMS += $(real_tests)
CLEANFILES += $(real_tests)
EXTRA_DIST += test/leaky_kernel.cu
test_device_secrets_test_SOURCES = test/device_secrets_test.c cuda/aes/key_schedule.c cuda/gpuaes.h
test_device_secrets_test_CFLAGS = $(AM_CFLAGS)
test_timing_test_LDADD = cuda/libgpuaes.la $(SYSTEM_LIBS)
if HAVE_CUDA
CLEANFILES += test/leaky_kernel.fatbin test/leaky_kernel.fatbin.d
test/leaky_kernel.fatbin: test/leaky_kernel.cu cuda/kernels.flags
	@$(MKDIR_P) $(@D)
	$(compile_fatbin) $(srcdir)/test/leaky_kernel.cu && mv -f $@.new $@
-include test/leaky_kernel.fatbin.d
$(test_timing_test_OBJECTS): test/leaky_kernel.fatbin
endif

# ---- Targets ---------------------------------------------------------------

# TESTS="test/a_test test/b.t" on the command line runs those alone.
all_tests = $(evp_emulator_tests) $(evp_tests) $(emulator_tests) \
	$(evp_scripts) $(emulator_scripts) $(client_scripts) $(long_scripts)
PROVE_FLAGS = --failures --timer
# On two cores: tests wait for a sixth of their time, for children, time limits and idle devices.
PROVE_JOBS = 3
# $(call prove, folder of the module, tests, more environment): built programs lie
# here, scripts beside the sources, and what Sanitize.pm runs in a folder of its own.
prove = @test -n '$(PROVE)' || { echo 'prove (it comes with perl) is needed' >&2; exit 1; }; \
	env OPENSSL_MODULES='$(abs_top_builddir)/$(1)' \
	    GPUAES_TEST_MODULES_REAL='$(abs_top_builddir)/provider/.libs' \
	    TOP_SRCDIR='$(abs_top_srcdir)' TOP_BUILDDIR='$(abs_top_builddir)' $(3) \
	    $(PROVE) $(PROVE_FLAGS) -j$(PROVE_JOBS) --exec '$(srcdir)/test/run_test' \
	    $(foreach t,$(2),$(if $(filter %.t,$(filter-out asan/% tsan/%,$(t))),$(srcdir)/)$(t))

if HAVE_CXX
check-local: $(script_programs) $(faulty_driver) $(fake_nvml)
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
	test/aes_differential_test \
	test/aes_known_answer_test \
	test/base64_test \
	test/batch_test \
	test/library_test
quick_scripts = test/manual.t test/module.t
check-quick: all
	$(MAKE) $(AM_MAKEFLAGS) $(quick_programs)
	$(call prove,test/emulated,$(quick_programs) $(quick_scripts),GPUAES_TEST_CASES=$(QUICK_CASES))
QUICK_CASES = 20

# The build and some tests for another processor, in aarch64/: ten minutes the
# first time, and it fetches OpenSSL.
check-aarch64:
	$(srcdir)/test/cross_aarch64 aarch64
EXTRA_DIST += test/cross_aarch64

# Everything that a change must pass. The builds begin first, and are ready when the quick tests are.
check-all: all $(faulty_driver) $(fake_nvml)
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(script_programs)
	@echo 'One line for each test: first those of this build, while two more are built under'
	@echo 'sanitizers, then minutes of fuzzing, then those of the builds in asan/ and tsan/.'
	$(call prove,test/emulated,$(sanitizer_scripts) $(all_tests) $(sanitizer_tests))

# OpenSSL's own tests, of each of these releases of Debian: minutes the first time, and
# it fetches OpenSSL. MODULE=provider/.libs takes the installed kind of module to a card.
RELEASES = bookworm trixie
MODULE = test/emulated
check-openssl: $(RELEASES:%=check-openssl-%)
check-openssl-%: all test/openssl_base64_data
	$(call prove,$(MODULE),test/openssl_data.t :: $* openssl-$*)
EXTRA_PROGRAMS += test/openssl_base64_data
CLEANFILES += test/openssl_base64_data
EXTRA_DIST += test/debian_openssl test/openssl_data.t test/static_client.c

# For the builds under sanitizers and test/on_gpu: what to build, and what to run.
test-programs: all $(faulty_driver) $(fake_nvml)
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS)
thread-programs: all $(faulty_driver) $(fake_nvml)
	$(MAKE) $(AM_MAKEFLAGS) $(threaded_tests)
list-evp:
	@echo $(evp_tests)

.PHONY: check-aarch64 check-all check-openssl check-quick check-real list-evp test-programs \
	thread-programs
