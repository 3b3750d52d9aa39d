# make deb: Debian's packages, in deb/, of the tarball of a release and packaging/debian. make wheel: Python's.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

# Their kernels are those of this build, which compiles them once. DEB_CONFIGURE has more arguments for configure, and
# prevails.
DEB_CONFIGURE =
if HAVE_KERNELS
kernels_of_build = --with-kernel-image='$(abs_builddir)/cuda/kernels.fatbin'
deb wheel-aarch64: cuda/kernels.fatbin cuda/kernels.fatbin.manifest
endif
deb: dist-gzip
	DEB_CONFIGURE="--with-cuda=no $(kernels_of_build) $(DEB_CONFIGURE)" $(srcdir)/packaging/build_deb '$(distdir).tar.gz' deb
check-deb:
	$(call prove,test/emulated,$(deb_scripts))
deb_scripts = test/install/packages.t test/install/prefix.t
EXTRA_DIST += packaging/build_deb packaging/fetch_nvcc packaging/nvcc_by_nvrtc packaging/debian $(deb_scripts)

.PHONY: check-deb deb

# ---- make wheel -------------------------------------------------------------

# The Python package with all of it inside, in wheel/: module and command are linked again, to find the library beside
# them, before LD_LIBRARY_PATH. Only the module's entry is exported.
WHEEL_FOLDER = wheel
wheel_native = $(WHEEL_FOLDER)/native
wheel_link = $(CC) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN'
wheel_pages = gpuaes.1 libgpuaes.3 provider-gpuaes.7
# The processor; aarch64 is also built on another machine, with the kernels of this build.
WHEEL_ARCH = $(host_cpu)
wheel: $(if $(filter $(host_cpu),$(WHEEL_ARCH)),wheel-here,wheel-$(WHEEL_ARCH))
wheel-here: cuda/libgpuaes.la provider/libprovider_core.la tool/gpuaes docs/libgpuaes.3
	@test -z '$(LIBBASE64_LIBS)' || { echo 'A wheel has no libbase64: configure --without-libbase64' >&2; exit 1; }
	@command -v groff >/dev/null || { echo 'groff, which formats the pages of a wheel, is not installed' >&2; exit 1; }
	rm -rf $(wheel_native) && $(MKDIR_P) $(wheel_native)
	cp cuda/.libs/libgpuaes.so.1 $(srcdir)/docs/gpuaes.cnf $(wheel_native)
	echo '{ global: OSSL_provider_init; local: *; };' >$(wheel_native)/module.map
	$(wheel_link) -shared $(GPUAES_SHARED_LDFLAGS) -Wl,--version-script=$(wheel_native)/module.map \
	    -o $(wheel_native)/gpuaes.so -Wl,--whole-archive provider/.libs/libprovider_core.a \
	    -Wl,--no-whole-archive cuda/.libs/libgpuaes.so $(provider_libs)
	$(wheel_link) -o $(wheel_native)/gpuaes $(tool_gpuaes_OBJECTS) tool/.libs/libtool_core.a \
	    cuda/.libs/libgpuaes.so $(LIBCRYPTO_LIBS) $(SYSTEM_LIBS)
	$(STRIP) --strip-unneeded $(wheel_native)/libgpuaes.so.1 $(wheel_native)/gpuaes.so $(wheel_native)/gpuaes
	for page in $(wheel_pages); do \
	    file=docs/$$page; test -f $$file || file=$(srcdir)/docs/$$page; \
	    groff -man -Tutf8 -P-cbou -rLL=100n $$file >$(wheel_native)/$$page.txt || exit; \
	done
	OBJDUMP='$(OBJDUMP)' PYTHONPATH="$$PYTHONPATH:$(abs_top_builddir)/python-packages" \
	    $(srcdir)/packaging/build_wheel $(host_cpu) $(wheel_native) $(WHEEL_FOLDER)
	rm -rf $(wheel_native)
wheel-aarch64:
	$(srcdir)/packaging/configure_aarch64 wheel-aarch64 --with-cuda=no $(kernels_of_build)
	PYTHONPATH="$$PYTHONPATH:$(abs_top_builddir)/python-packages" \
	    $(MAKE) -C wheel-aarch64/build wheel WHEEL_FOLDER='$(abspath $(WHEEL_FOLDER))'
EXTRA_DIST += packaging/build_wheel packaging/configure_aarch64 packaging/wheel/gpuaes packaging/wheel/sbom

.PHONY: wheel wheel-aarch64 wheel-here
