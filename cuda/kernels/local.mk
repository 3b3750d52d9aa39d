# The kernels, and how any file of kernels becomes a fat binary.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

KERNEL_SOURCES = \
	cuda/kernels/aes/aes_small.cu \
	cuda/kernels/aes/aes_two_table.cu \
	cuda/kernels/base64/base64_decode.cu \
	cuda/kernels/base64/base64_encode.cu \
	cuda/kernels/aes/cbc_chain.cu \
	cuda/kernels/aes/gcm/aes_gcm.cu \
	cuda/kernels/aes/gcm/gcm_powers.cu \
	cuda/kernels/aes/gcm/gcm_rest.cu \
	cuda/kernels/aes/hybrid/aes_gcm_hybrid.cu \
	cuda/kernels/aes/hybrid/aes_hybrid.cu \
	cuda/kernels/aes/hybrid/message_hybrid.cu \
	cuda/kernels/aes/message/message.cu \
	cuda/kernels/aes/message/message_plan.cu \
	cuda/kernels/aes/random/random.cu \
	cuda/kernels/aes/xts/aes_xts.cu
EXTRA_DIST += \
	$(KERNEL_SOURCES) \
	cuda/kernels/aes/aes_inverse_sbox.blif \
	cuda/kernels/aes/aes_kernels.cuh \
	cuda/kernels/aes/aes_modes.cuh \
	cuda/kernels/aes/aes_rounds.cuh \
	cuda/kernels/aes/aes_sbox.blif \
	cuda/kernels/aes/aes_sbox_circuits.cuh \
	cuda/kernels/aes/aes_tables.cuh \
	cuda/kernels/aes/gcm/gcm_hash.cuh \
	cuda/kernels/aes/hybrid/gcm_hybrid_hash.cuh \
	cuda/kernels/aes/gcm/ghash.cuh \
	cuda/kernels/aes/hybrid/aes_hybrid.cuh \
	cuda/kernels/aes/hybrid/bitslice.cuh \
	cuda/kernels/common/blocks.cuh \
	cuda/kernels/aes/hybrid/hybrid_blocks.cuh \
	cuda/kernels/aes/hybrid/hybrid_ctr.cuh \
	cuda/kernels/aes/hybrid/hybrid_inside.cuh \
	cuda/kernels/common/intrinsics.cuh \
	cuda/kernels/aes/message/message.cuh \
	cuda/kernels/aes/message/message_blocks.cuh \
	cuda/kernels/aes/message/message_counter.cuh \
	cuda/kernels/aes/hybrid/message_hybrid.cuh \
	cuda/kernels/aes/message/message_key.cuh \
	cuda/kernels/aes/message/message_stage.cuh \
	cuda/kernels/aes/no_hash.cuh \
	cuda/kernels/aes/random/random_elements.cuh \
	cuda/kernels/kernels.cu \
	cuda/kernels/aes/make_sbox_circuits.py \
	cuda/kernels/manifest \
	cuda/kernels/common/work_queue.cuh \
	cuda/kernels/aes/xts/xts_tweak.cuh

# One fat binary, embedded by image.c with .incbin. It takes minutes,
# so it is made again only when a kernel, the compiler or its flags changed.
compile_fatbin = $(AM_V_NVCC)$(NVCC) -fatbin -I$(top_srcdir) --threads 0 -std=c++17 $(NVCCFLAGS) $(CUDA_GENCODE) \
	-MMD -MP -MF $@.d -MT $@ -o $@.new
# configure writes it.
DISTCLEANFILES = cuda/kernels.flags
kernel_manifest = $(srcdir)/cuda/kernels/manifest
if HAVE_KERNELS
CLEANFILES += cuda/kernels.fatbin cuda/kernels.fatbin.d cuda/kernels.fatbin.manifest
# The sources as the manifest has them: also those that the image does without.
kernel_files = $(addprefix $(srcdir)/cuda/kernels/,$(shell $(kernel_manifest) sources))
if HAVE_KERNEL_IMAGE
# It was checked by configure; since then the sources may have changed.
cuda/kernels.fatbin: $(KERNEL_IMAGE) $(KERNEL_IMAGE).manifest $(kernel_files) cuda/kernels.flags
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(kernel_manifest) check $(KERNEL_IMAGE) >/dev/null && \
	    cp $(KERNEL_IMAGE) $@.new && mv -f $@.new $@
else
if HAVE_CUDA12
# For drivers before 580: behind the other one, where image.c looks for it.
kernels12 = cuda/kernels12.fatbin
CLEANFILES += $(kernels12)
$(kernels12): $(kernel_files) cuda/kernels.flags
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC12) -fatbin -I$(top_srcdir) --threads 0 -std=c++17 $(NVCCFLAGS) $(CUDA12_GENCODE) \
	    -o $@.new $(srcdir)/cuda/kernels/kernels.cu && mv -f $@.new $@
append_kernels12 = truncate -s %16 $@.new && cat $(kernels12) >>$@.new &&
endif
cuda/kernels.fatbin: cuda/kernels/kernels.cu cuda/kernels.flags $(kernels12)
	@$(MKDIR_P) $(@D)
	$(compile_fatbin) $(srcdir)/cuda/kernels/kernels.cu && $(append_kernels12) mv -f $@.new $@
-include cuda/kernels.fatbin.d
endif
$(cuda_libgpuaes_la_OBJECTS): cuda/kernels.fatbin
cuda/kernels.fatbin.manifest: cuda/kernels.fatbin $(kernel_files)
	$(AM_V_GEN)$(kernel_manifest) write cuda/kernels.fatbin '$(KERNELS_BUILT)' >$@.new && mv -f $@.new $@
# For configure --with-kernel-image elsewhere, with the same sources.
kernel-image: cuda/kernels.fatbin cuda/kernels.fatbin.manifest
	@echo 'Carry both: $(abs_builddir)/cuda/kernels.fatbin and $(abs_builddir)/cuda/kernels.fatbin.manifest'
else
kernel-image:
	@echo 'A kernel image needs nvcc, and configure found none.' >&2; exit 1
endif
.PHONY: kernel-image

AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =
