# The module, gpuaes.so.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

noinst_LTLIBRARIES += provider/libprovider_core.la
provider_libprovider_core_la_SOURCES = \
	provider/aes.c provider/aes.h \
	provider/aes_bounce.c provider/aes_bounce.h \
	provider/aes_cpu.c provider/aes_cpu.h \
	provider/aes_device.c provider/aes_device.h \
	provider/aes_parameters.c provider/aes_parameters.h \
	provider/aes_parts.c \
	provider/aes_pipeline.c provider/aes_pipeline.h \
	provider/aes_read_ahead.c provider/aes_read_ahead.h \
	provider/aes_split.c provider/aes_split.h \
	provider/aes_stream.c provider/aes_stream.h \
	provider/aes_update.c provider/aes_update.h \
	provider/base64_cipher.c provider/base64_cipher.h \
	provider/base64_codec.c provider/base64_codec.h \
	provider/base64_coder.c provider/base64_coder.h \
	provider/base64_decoder.c provider/base64_decoder.h \
	provider/base64_decoding.c \
	provider/base64_encoder.c provider/base64_encoder.h \
	provider/config.c provider/config.h \
	provider/core_pipeline.h \
	provider/core_skey.h \
	provider/cpu.c provider/cpu.h \
	provider/engine.c provider/engine.h \
	provider/engine_measure.c provider/engine_measure.h \
	provider/engine_model.c provider/engine_model.h \
	provider/engine_start.c \
	provider/engine_stream.c provider/engine_stream.h \
	provider/errors.c provider/errors.h \
	provider/offload.c provider/offload.h \
	provider/process.c provider/process.h \
	provider/provider.c provider/provider.h \
	provider/read_ahead_measure.c provider/read_ahead_measure.h \
	provider/settings.c provider/settings.h \
	provider/skey.c provider/skey.h \
	provider/stack.c provider/stack.h \
	provider/statistics.c provider/statistics.h
provider_libs = $(LIBCRYPTO_LIBS) $(LIBBASE64_LIBS) $(SYSTEM_LIBS)

modules_LTLIBRARIES += provider/gpuaes.la
provider_gpuaes_la_SOURCES =
provider_gpuaes_la_LDFLAGS = $(AM_LDFLAGS) $(GPUAES_SHARED_LDFLAGS) $(RPATH_LDFLAGS) \
	-module -avoid-version -shared -export-symbols-regex '^OSSL_provider_init$$'
EXTRA_provider_gpuaes_la_DEPENDENCIES = folders
provider_gpuaes_la_LIBADD = provider/libprovider_core.la cuda/libgpuaes.la $(provider_libs)

# Installing the module links it again, against the installed library. The
# target stands in a variable because automake must not take the rule for its own.
modules_install = install-modulesLTLIBRARIES
$(modules_install): install-libLTLIBRARIES
