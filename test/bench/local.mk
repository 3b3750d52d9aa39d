# The benchmark, and the report of what it measured.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

# The program on its libraries, and on the module with the emulator, which has the
# library's functions as well: so that there is one state in the process.
EXTRA_LTLIBRARIES += test/bench/libbench.la
CLEANFILES += test/bench/libbench.la
test_bench_libbench_la_SOURCES = \
	test/bench/api.c test/bench/api.h \
	test/bench/buffers.c test/bench/buffers.h \
	test/bench/card.c test/bench/card.h \
	test/bench/crowd.c test/bench/crowd.h \
	test/bench/limits.h test/bench/limits_image.c \
	test/bench/measure.c test/bench/measure.h \
	test/bench/offload.c test/bench/offload.h \
	test/bench/options.h \
	test/bench/part_base64.c \
	test/bench/part_base64_kernels.c \
	test/bench/batches.h \
	test/bench/part_batch.c \
	test/bench/part_batch_mixed.c \
	test/bench/part_bulk.c \
	test/bench/part_devices.c \
	test/bench/part_encoders.c \
	test/bench/part_evp_kernels.c \
	test/bench/part_files.c \
	test/bench/part_header.c \
	test/bench/part_host_limits.c \
	test/bench/part_kernels.c \
	test/bench/part_latency.c \
	test/bench/part_limits.c \
	test/bench/part_load.c \
	test/bench/part_offload.c \
	test/bench/part_programs.c \
	test/bench/part_read_ahead.c \
	test/bench/part_reference_expansion.c \
	test/bench/part_reference_reads.c \
	test/bench/part_reference_tables.c \
	test/bench/part_small.c \
	test/bench/part_start.c \
	test/bench/parts.h \
	test/bench/nvml.h test/bench/power.c test/bench/power.h \
	test/bench/reference.h test/bench/reference_image.c \
	test/bench/reference_run.c test/bench/reference_run.h \
	test/bench/rows.c test/bench/rows.h \
	test/bench/sides.c test/bench/sides.h \
	test/bench/worker.c test/bench/worker.h

test_bench_libbench_la_CPPFLAGS = $(AM_CPPFLAGS) $(bench_cppflags)
bench_cppflags = -DLOAD_PROVIDER='"$(abs_top_builddir)/test/bench/load_provider"' \
	-DSTREAM='"$(abs_top_builddir)/test/bench/stream"' \
	-DCOMMAND='"$(abs_top_builddir)/tool/gpuaes"' \
	-DCOMMAND_EMULATED='"$(abs_top_builddir)/test/emulated/gpuaes"' \
	-DPROGRAMS='"$(abs_srcdir)/test/bench/programs"' -DPERL='"$(PERL)"'

EXTRA_PROGRAMS += $(bench_programs)
test_bench_gpuaes_bench_LDADD = test/bench/libbench.la cuda/libgpuaes.la $(LDADD)
CLEANFILES += $(bench_programs)
bench_programs = test/bench/gpuaes_bench test/bench/load_provider test/bench/stream
if HAVE_CXX
bench_programs += test/bench/gpuaes_bench_emulated
test_bench_gpuaes_bench_emulated_SOURCES = test/bench/gpuaes_bench.c
test_bench_gpuaes_bench_emulated_LDADD = test/bench/libbench.la \
	test/emulated/.libs/gpuaes.so $(LDADD)
test_bench_gpuaes_bench_emulated_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--no-as-needed -Wl,-rpath,$(abs_top_builddir)/test/emulated/.libs
test_bench_gpuaes_bench_emulated_DEPENDENCIES = test/bench/libbench.la test/emulated/gpuaes.so
endif

bench-programs: all $(bench_programs)

# Measures into bench.tsv; BENCH_FLAGS: options and parts, see test/bench/gpuaes_bench --help.
# BENCH_MODULE=test/emulated takes the emulator: its figures mean nothing.
BENCH_MODULE = provider/.libs
bench_program = test/bench/gpuaes_bench$(if $(filter test/emulated,$(BENCH_MODULE)),_emulated)
bench_environment = OPENSSL_MODULES='$(abs_top_builddir)/$(BENCH_MODULE)'
bench: bench-programs
	$(bench_environment) $(bench_program) $(BENCH_FLAGS) >bench.tsv.new
	mv -f bench.tsv.new bench.tsv
CLEANFILES += bench.tsv bench.tsv.new

# Draws the figures of runs, and writes the report on them, into DOCS. The first of TSV is
# that of one GPU; others add what it does not have.
DOCS = $(srcdir)/docs
TSV = bench.tsv
need_gnuplot = @test -n '$(GNUPLOT)' || { echo '$@ needs gnuplot (Debian: gnuplot-nox)' >&2; exit 1; }
make_page = $(PERL) $(srcdir)/test/bench/report --figures='$(DOCS)/benchmarks' \
	--template='$(srcdir)/docs/benchmarks/$(1)' $(TSV) >report.new && mv -f report.new '$(DOCS)/$(2)'
bench-report:
	$(need_gnuplot)
	for file in $(TSV); do \
	    to='$(DOCS)/benchmarks/'$$(basename "$$file"); \
	    cmp -s "$$file" "$$to" || cp "$$file" "$$to" || exit; \
	done
	$(PERL) $(srcdir)/test/bench/plot --gnuplot='$(GNUPLOT)' '$(DOCS)/benchmarks' $(TSV)
	$(call make_page,template.md,benchmarks.md)
	$(call make_page,read-ahead-template.md,read-ahead.md)
CLEANFILES += report.new

# Both: measures all on this machine's card, keeps the values in DOCS/benchmarks under the
# card's name, and makes the report of them. REPORT_SETS: some of it, see test/bench/measure_all.
report:
	$(need_gnuplot)
	$(MAKE) $(AM_MAKEFLAGS) bench-programs
	$(bench_environment) $(PERL) $(srcdir)/test/bench/measure_all --program=$(bench_program) \
	    --to='$(DOCS)/benchmarks' --flags='$(BENCH_FLAGS)' $(REPORT_SETS) >report.files
	$(MAKE) $(AM_MAKEFLAGS) bench-report TSV="$$(cat report.files)" DOCS='$(DOCS)'
CLEANFILES += report.files

reference_sources = test/bench/reference_base64.cu test/bench/reference_ctr.cu \
	test/bench/reference_reads.cu
emulated_kernel_dependencies += $(reference_sources:.cu=.d)
EXTRA_DIST += test/bench/limits.cu test/bench/reference.cu $(reference_sources) \
	test/bench/Aims.pm test/bench/Published.pm test/bench/Results.pm test/bench/Sides.pm \
	test/bench/Plot/Gnuplot.pm test/bench/Plot/Lines.pm test/bench/Plot/References.pm \
	test/bench/Report/Batches.pm test/bench/Report/Machine.pm test/bench/Report/Programs.pm \
	test/bench/Report/References.pm test/bench/Report/Tables.pm test/bench/Report/Updates.pm \
	test/bench/measure_all test/bench/plot test/bench/programs test/bench/report

# Kernels that reach the limits of a device, and those of published work; embedded as the
# others are.
if HAVE_CUDA
bench_images = test/bench/limits.fatbin test/bench/reference.fatbin
CLEANFILES += $(bench_images) $(bench_images:=.d)
$(bench_images): test/bench/%.fatbin: test/bench/%.cu cuda/kernels.flags
	@$(MKDIR_P) $(@D)
	$(compile_fatbin) $(srcdir)/test/bench/$*.cu && mv -f $@.new $@
-include $(bench_images:=.d)
$(test_bench_libbench_la_OBJECTS): $(bench_images)
endif

.PHONY: bench bench-programs bench-report report
