# make deb: Debian's packages, in deb/, of the tarball of a release and packaging/debian.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

# Their kernels are built as those of this build are. DEB_CONFIGURE has more arguments for configure, and prevails.
DEB_CONFIGURE =
deb_kernels = $(if $(KERNEL_IMAGE),--with-kernel-image=$(KERNEL_IMAGE)) $(if $(NVCC),NVCC=$(NVCC) $(if $(CUDA12_GENCODE),NVCC12=$(NVCC12)),--with-cuda=no)
deb: dist-gzip
	DEB_CONFIGURE='$(deb_kernels) $(DEB_CONFIGURE)' $(srcdir)/packaging/build_deb '$(distdir).tar.gz' deb
check-deb:
	$(call prove,test/emulated,$(deb_scripts))
deb_scripts = test/install/packages.t test/install/prefix.t
EXTRA_DIST += packaging/build_deb packaging/fetch_nvcc packaging/nvcc_by_nvrtc packaging/debian $(deb_scripts)

.PHONY: check-deb deb
