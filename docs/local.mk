# The manuals, the sample configuration, the pages and the examples.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

dist_man1_MANS = docs/gpuaes.1
dist_man7_MANS = docs/provider-gpuaes.7
dist_man3_MANS = docs/libgpuaes.3
# It is found as gpuaes(3), and by the name of each function, too.
man3_links = gpuaes gpuaes_aes gpuaes_application_devices gpuaes_base64_decode \
	gpuaes_base64_encode gpuaes_base64_encoded_size gpuaes_batch_add gpuaes_batch_close \
	gpuaes_batch_forget gpuaes_batch_gather gpuaes_batch_open gpuaes_batch_poll gpuaes_batch_reset \
	gpuaes_batch_status gpuaes_batch_submit gpuaes_batch_wait gpuaes_build gpuaes_cleanse \
	gpuaes_configure gpuaes_copy gpuaes_device gpuaes_get_settings gpuaes_get_statistics \
	gpuaes_key_expand \
	gpuaes_keystream_close gpuaes_keystream_is_open gpuaes_keystream_open gpuaes_keystream_order \
	gpuaes_keystream_position gpuaes_keystream_skip gpuaes_keystream_xor \
	gpuaes_memory_kind gpuaes_pinned_alloc gpuaes_pinned_free gpuaes_pinned_register \
	gpuaes_pinned_unregister gpuaes_queue_aes gpuaes_queue_close gpuaes_queue_open \
	gpuaes_queue_wait gpuaes_reason gpuaes_start gpuaes_state gpuaes_status_text

# The sample with the module's own path, so that OpenSSL finds it wherever it is. An
# installed one that somebody changed is kept.
docs/installed.cnf: docs/gpuaes.cnf folders
	$(AM_V_GEN)$(MKDIR_P) docs && sed '/^\[gpuaes_section\]/a module = $(modulesdir)/gpuaes.so' \
	    $(srcdir)/docs/gpuaes.cnf >$@
CLEANFILES += docs/installed.cnf

# Installed as they lie here, since they name each other.
nobase_dist_doc_DATA = docs/gpuaes.cnf \
	docs/benchmarks.md docs/design.md docs/packaging.md docs/read-ahead.md docs/shards.md \
	docs/configuration/one-container.md docs/configuration/one-context.md \
	docs/configuration/one-program.md docs/configuration/whole-host.md \
	docs/examples/base64_client.c docs/examples/base64_objects.c docs/examples/device_memory.c \
	docs/examples/encrypt_file.c docs/examples/torch_tensor.py \
	$(patsubst $(srcdir)/%,%,$(foreach kind,svg tsv,$(wildcard $(srcdir)/docs/benchmarks/*.$(kind))))
examplesdir = $(docdir)/docs/examples
dist_examples_SCRIPTS = docs/examples/shard docs/examples/shards.sbatch
EXTRA_DIST += $(foreach kind,md png,$(wildcard $(srcdir)/docs/benchmarks/*.$(kind)))

noinst_PROGRAMS += docs/examples/base64_client docs/examples/base64_objects docs/examples/encrypt_file
# An application of CUDA, which links the driver; all others of ours do not.
if HAVE_LIBCUDA
noinst_PROGRAMS += docs/examples/device_memory
docs_examples_device_memory_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
docs_examples_device_memory_LDADD = $(LIBCRYPTO_LIBS) $(CUDA_LIBS)
endif
