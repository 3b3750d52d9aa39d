# The kernels, and how any file of kernels becomes a fat binary.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

KERNEL_SOURCES = \
	cuda/kernels/aes/batch/aes_batch.cu \
	cuda/kernels/aes/batch/aes_batch_keys.cu \
	cuda/kernels/aes/hybrid/aes_hybrid.cu \
	cuda/kernels/aes/aes_large.cu \
	cuda/kernels/aes/aes_small.cu \
	cuda/kernels/aes/aes_two_table.cu \
	cuda/kernels/base64/base64_decode.cu \
	cuda/kernels/base64/base64_encode.cu \
	cuda/kernels/aes/cbc_chain.cu
# GCM: on the emulator alone as yet, no host code launches them.
GCM_SOURCES = \
	cuda/kernels/aes/gcm/aes_gcm.cu \
	cuda/kernels/aes/gcm/aes_gcm_hybrid.cu \
	cuda/kernels/aes/gcm/gcm_powers.cu
EXTRA_DIST += \
	$(KERNEL_SOURCES) \
	$(GCM_SOURCES) \
	cuda/kernels/aes/batch/aes_batch.cuh \
	cuda/kernels/aes/batch/aes_batch_messages.cuh \
	cuda/kernels/aes/batch/aes_batch_quads.cuh \
	cuda/kernels/aes/aes_inverse_sbox.blif \
	cuda/kernels/aes/aes_kernels.cuh \
	cuda/kernels/aes/aes_modes.cuh \
	cuda/kernels/aes/aes_rounds.cuh \
	cuda/kernels/aes/aes_sbox.blif \
	cuda/kernels/aes/aes_sbox_circuits.cuh \
	cuda/kernels/aes/aes_tables.cuh \
	cuda/kernels/aes/gcm/gcm_hash.cuh \
	cuda/kernels/aes/gcm/ghash.cuh \
	cuda/kernels/aes/hybrid/aes_hybrid.cuh \
	cuda/kernels/aes/hybrid/bitslice.cuh \
	cuda/kernels/common/blocks.cuh \
	cuda/kernels/aes/hybrid/hybrid_blocks.cuh \
	cuda/kernels/aes/hybrid/hybrid_ctr.cuh \
	cuda/kernels/aes/hybrid/hybrid_inside.cuh \
	cuda/kernels/common/intrinsics.cuh \
	cuda/kernels/aes/no_hash.cuh \
	cuda/kernels/kernels.cu \
	cuda/kernels/aes/make_sbox_circuits.py \
	cuda/kernels/common/work_queue.cuh

# One fat binary, embedded by image.c with .incbin. It takes minutes,
# so it is made again only when a kernel, the compiler or its flags changed.
compile_fatbin = $(AM_V_NVCC)$(NVCC) -fatbin -I$(top_srcdir) --threads 0 -std=c++17 $(NVCCFLAGS) $(CUDA_GENCODE) \
	-MMD -MP -MF $@.d -MT $@ -o $@.new
# configure writes it.
DISTCLEANFILES = cuda/kernels.flags
if HAVE_CUDA
CLEANFILES += cuda/kernels.fatbin cuda/kernels.fatbin.d
cuda/kernels.fatbin: cuda/kernels/kernels.cu cuda/kernels.flags
	@$(MKDIR_P) $(@D)
	$(compile_fatbin) $(srcdir)/cuda/kernels/kernels.cu && mv -f $@.new $@
-include cuda/kernels.fatbin.d
$(cuda_libgpuaes_la_OBJECTS): cuda/kernels.fatbin
endif

AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =
