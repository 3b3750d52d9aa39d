# The manuals, the sample configuration, the pages and the examples.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

dist_man1_MANS = docs/gpuaes.1
dist_man7_MANS = docs/provider-gpuaes.7
dist_man3_MANS = docs/libgpuaes.3
# What it says of functions, structs and constants is the header's text. A tarball has the page.
docs/libgpuaes.3: docs/libgpuaes.3.in docs/header_page cuda/gpuaes.h
	$(AM_V_GEN)$(MKDIR_P) docs && $(PERL) $(srcdir)/docs/header_page $(srcdir)/cuda/gpuaes.h \
	    $(srcdir)/docs/libgpuaes.3.in >$@.new && mv -f $@.new $@
# Each function has a page of its own, made of that one.
function_names = $(shell sed 's/ .*//' $(srcdir)/docs/functions)
function_page = $(srcdir)/docs/function_page $(srcdir)/docs/functions \
	$$(test -f docs/libgpuaes.3 || echo $(srcdir)/)docs/libgpuaes.3
EXTRA_DIST += docs/function_page docs/functions docs/header_page docs/libgpuaes.3.in

# The documents name the folders of the default prefix; installed, those of this one.
documents = $(addprefix $(docdir)/,$(filter %.md,$(dist_doc_DATA) $(nobase_dist_doc_DATA))) \
	$(man1dir)/gpuaes.1 $(man7dir)/provider-gpuaes.7
name_folders = sed -i -e 's|/usr/local/etc|$(sysconfdir)|g' \
	-e 's|/usr/local/lib/ossl-modules|$(modulesdir)|g' \
	-e 's|/usr/local/share/doc/gpuaes|$(docdir)|g'

# The sample with the module's own path, so that OpenSSL finds it wherever it is. An
# installed one that somebody changed is kept.
docs/installed.cnf: docs/gpuaes.cnf folders
	$(AM_V_GEN)$(MKDIR_P) docs && sed '/^\[gpuaes_section\]/a module = $(modulesdir)/gpuaes.so' \
	    $(srcdir)/docs/gpuaes.cnf >$@.new && mv -f $@.new $@
# Not left for make install, whose files would be root's.
noinst_DATA = docs/installed.cnf
CLEANFILES += docs/installed.cnf

# Installed as they lie here, since they name each other.
nobase_dist_doc_DATA = docs/gpuaes.cnf \
	docs/architecture.md docs/benchmarks.md \
	docs/formats-checkpoint.md docs/formats-cryptotensors.md docs/formats-lmcache.md \
	docs/formats-parquet.md docs/formats-tink.md docs/packaging.md \
	docs/python.md docs/read-ahead.md docs/shards.md docs/soundness.md docs/start-c.md docs/start-openssl.md \
	docs/start-parquet.md docs/start-tensors.md \
	docs/configuration/one-container.md docs/configuration/one-context.md \
	docs/configuration/one-program.md docs/configuration/whole-host.md \
	docs/examples/base64_client.c docs/examples/base64_objects.c docs/examples/batch.c \
	docs/examples/device_memory.c docs/examples/encrypt_cupy.py \
	docs/examples/encrypt_file.c docs/examples/gcm_device.c docs/examples/gcm_pinned.c docs/examples/opacus_secure.py \
	docs/examples/parquet_decrypt.c docs/examples/parquet_footer.c docs/examples/parquet_footer.h \
	docs/examples/parquet_gpu.c docs/examples/parquet_gpu.h \
	docs/examples/parquet_pages.c docs/examples/parquet_pages.h \
	docs/examples/torch_tensor.py \
	$(patsubst $(srcdir)/%,%,$(wildcard $(srcdir)/docs/decisions/*.md) \
	$(wildcard $(srcdir)/docs/benchmarks/*/*.tsv) \
	$(foreach kind,md svg tsv txt,$(wildcard $(srcdir)/docs/benchmarks/*.$(kind))))
examplesdir = $(docdir)/docs/examples
dist_examples_SCRIPTS = docs/examples/shard docs/examples/shards.sbatch
EXTRA_DIST += $(wildcard $(srcdir)/docs/benchmarks/*.png)

noinst_PROGRAMS += docs/examples/base64_client docs/examples/base64_objects docs/examples/batch docs/examples/encrypt_file \
	docs/examples/gcm_device docs/examples/gcm_pinned docs/examples/parquet_decrypt
# It allocates by libgpuaes, the same one that the module has.
docs_examples_gcm_pinned_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/cuda
docs_examples_gcm_pinned_LDADD = cuda/libgpuaes.la $(LIBCRYPTO_LIBS)
docs_examples_gcm_pinned_LDFLAGS = $(AM_LDFLAGS) -no-install
# Those that need libgpuaes alone; all but the first open the driver themselves.
docs_examples_batch_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/cuda
docs_examples_batch_LDADD = cuda/libgpuaes.la
docs_examples_batch_LDFLAGS = $(AM_LDFLAGS) -no-install
docs_examples_gcm_device_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/cuda
docs_examples_gcm_device_LDADD = cuda/libgpuaes.la $(SYSTEM_LIBS)
docs_examples_gcm_device_LDFLAGS = $(AM_LDFLAGS) -no-install
parquet_sources = docs/examples/parquet_footer.c docs/examples/parquet_footer.h \
	docs/examples/parquet_gpu.c docs/examples/parquet_gpu.h \
	docs/examples/parquet_pages.c docs/examples/parquet_pages.h
docs_examples_parquet_decrypt_SOURCES = docs/examples/parquet_decrypt.c $(parquet_sources)
docs_examples_parquet_decrypt_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/cuda
docs_examples_parquet_decrypt_LDADD = cuda/libgpuaes.la $(SYSTEM_LIBS)
docs_examples_parquet_decrypt_LDFLAGS = $(AM_LDFLAGS) -no-install
# An application of CUDA, which links the driver; all others of ours do not.
if HAVE_LIBCUDA
noinst_PROGRAMS += docs/examples/device_memory
docs_examples_device_memory_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
docs_examples_device_memory_LDADD = $(LIBCRYPTO_LIBS) $(CUDA_LIBS)
endif
