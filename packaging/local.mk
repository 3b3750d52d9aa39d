# make deb: Debian's packages, in deb/, of the tarball of a release and packaging/debian.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

# Arguments for configure, such as --with-cuda=no.
DEB_CONFIGURE =
deb: dist-gzip
	GPUAES_CONFIGURE='$(DEB_CONFIGURE)' $(srcdir)/packaging/build_deb '$(distdir).tar.gz' deb
check-deb:
	$(call prove,test/emulated,$(deb_scripts))
deb_scripts = test/install/packages.t test/install/prefix.t
EXTRA_DIST += packaging/build_deb packaging/fetch_nvcc packaging/debian $(deb_scripts)

.PHONY: check-deb deb
