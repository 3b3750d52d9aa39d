# The benchmark, and the report of what it measured.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

# The program on its libraries, and on the module with the emulator, which has the
# library's functions as well: so that there is one state in the process.
EXTRA_LTLIBRARIES += bench/libbench.la
CLEANFILES += bench/libbench.la
bench_libbench_la_SOURCES = \
	bench/api.c bench/api.h \
	bench/buffers.c bench/buffers.h \
	bench/card.c bench/card.h \
	bench/limits.h \
	bench/measure.c bench/measure.h \
	bench/options.h \
	bench/part_base64.c \
	bench/part_batch.c \
	bench/part_messages.c \
	bench/part_devices.c \
	bench/part_files.c \
	bench/part_gcm.c \
	bench/part_header.c \
	bench/part_kernels.c \
	bench/part_limits.c \
	bench/part_random.c \
	bench/part_read_ahead.c \
	bench/part_start.c \
	bench/part_updates.c \
	bench/parts.h \
	bench/rows.c bench/rows.h \
	bench/sides.c bench/sides.h \
	bench/team.c bench/team.h \
	tool/common/turns.c tool/common/turns.h

bench_libbench_la_LIBADD = test/support/libtest.la
bench_cppflags = -DSTREAM='"$(abs_top_builddir)/bench/stream"' \
	-DPROGRAMS='"$(abs_srcdir)/bench/programs"' -DPERL='"$(PERL)"' \
	-DREVISION='"$(abs_top_builddir)/revision"'

EXTRA_PROGRAMS += $(bench_programs)
bench_gpuaes_bench_CPPFLAGS = $(AM_CPPFLAGS) $(bench_cppflags)
bench_gpuaes_bench_LDADD = bench/libbench.la cuda/libgpuaes.la $(LDADD)
CLEANFILES += $(bench_programs)
bench_programs = bench/gpuaes_bench bench/stream
if HAVE_CXX
bench_programs += bench/gpuaes_bench_emulated
bench_gpuaes_bench_emulated_SOURCES = bench/gpuaes_bench.c
bench_gpuaes_bench_emulated_CPPFLAGS = $(bench_gpuaes_bench_CPPFLAGS)
bench_gpuaes_bench_emulated_LDADD = bench/libbench.la \
	test/emulated/.libs/gpuaes.so $(LDADD)
bench_gpuaes_bench_emulated_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--no-as-needed -Wl,-rpath,$(abs_top_builddir)/test/emulated/.libs
bench_gpuaes_bench_emulated_DEPENDENCIES = bench/libbench.la test/emulated/gpuaes.so
endif

bench-programs: all revision $(bench_programs)

# The revision that was built, which heads of measurements name. Programs read it from this file, so that
# nothing else that is built depends on it; a tarball has a copy.
revision:
	@$(srcdir)/bench/revision >$@.new
	@if cmp -s $@.new $@; then rm -f $@.new; else mv -f $@.new $@; fi
CLEANFILES += revision revision.new
dist-hook:
	$(srcdir)/bench/revision >'$(distdir)/.revision'

# Measures into bench.tsv; BENCH_FLAGS: options and parts, see bench/gpuaes_bench --help.
# BENCH_MODULE=test/emulated takes the emulator: its figures mean nothing.
BENCH_MODULE = provider/.libs
bench_program = bench/gpuaes_bench$(if $(filter test/emulated,$(BENCH_MODULE)),_emulated)
bench_environment = OPENSSL_MODULES='$(abs_top_builddir)/$(BENCH_MODULE)'
bench: bench-programs
	$(bench_environment) $(bench_program) $(BENCH_FLAGS) >bench.tsv.new
	mv -f bench.tsv.new bench.tsv
CLEANFILES += bench.tsv bench.tsv.new

# Makes all pages of the values of CARD in DOCS/benchmarks, and the figures. FROM=FOLDER: takes what
# test/on_gpu measured there first.
DOCS = $(srcdir)/docs
CARD = h200
FROM =
need_gnuplot = @test -n '$(GNUPLOT)' || { echo '$@ needs gnuplot (Debian: gnuplot-nox)' >&2; exit 1; }
# What there is of a card, the file of one GPU first.
values_of = $$(cd '$(DOCS)/benchmarks' && for file in $(1).tsv $(1)-*.tsv; do \
	test ! -e "$$file" || echo '$(DOCS)/benchmarks/'"$$file"; done)
# $(call make_page,template,page,card)
make_page = $(PERL) $(srcdir)/bench/report --figures='$(DOCS)/benchmarks' \
	--template='$(srcdir)/docs/benchmarks/$(1)' $(call values_of,$(3)) >report.new && mv -f report.new '$(DOCS)/$(2)'
bench-report:
	$(need_gnuplot)
	test -z '$(FROM)' || cp '$(FROM)'/*.tsv '$(DOCS)/benchmarks'
	$(PERL) $(srcdir)/bench/plot --gnuplot='$(GNUPLOT)' '$(DOCS)/benchmarks' $(call values_of,$(CARD))
	$(call make_page,template.md,benchmarks.md,$(CARD))
	$(call make_page,read-ahead-template.md,read-ahead.md,$(CARD))
CLEANFILES += report.new

# Measures all on this machine's card into DOCS/benchmarks, and makes the pages of it. REPORT_SETS: some of
# it, see bench/measure_all.
report:
	$(need_gnuplot)
	$(MAKE) $(AM_MAKEFLAGS) bench-programs
	$(bench_environment) $(PERL) $(srcdir)/bench/measure_all --program=$(bench_program) \
	    --to='$(DOCS)/benchmarks' --flags='$(BENCH_FLAGS)' $(REPORT_SETS) >report.card
	$(MAKE) $(AM_MAKEFLAGS) bench-report CARD="$$(cat report.card)" DOCS='$(DOCS)'
CLEANFILES += report.card

EXTRA_DIST += bench/limits.cu bench/Results.pm bench/Sides.pm \
	bench/Plot/Gnuplot.pm bench/Report/First.pm bench/Report/Machine.pm bench/Report/Measured.pm \
	bench/Report/Tables.pm \
	bench/format_rates bench/measure_all bench/plot bench/programs bench/python_rates bench/report \
	bench/revision bench/rows.py bench/turns.py

# Kernels that reach the limits of a device, embedded as the library's are.
if HAVE_CUDA
bench_image = bench/limits.fatbin
CLEANFILES += $(bench_image) $(bench_image).d
$(bench_image): bench/limits.cu cuda/kernels.flags
	@$(MKDIR_P) $(@D)
	$(compile_fatbin) $< && mv -f $@.new $@
-include $(bench_image).d
$(bench_libbench_la_OBJECTS): $(bench_image)
endif

.PHONY: bench bench-programs bench-report report revision
