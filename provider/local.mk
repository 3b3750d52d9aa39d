# The module, gpuaes.so.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

noinst_LTLIBRARIES += provider/libprovider_core.la
provider_libprovider_core_la_SOURCES = \
	provider/ciphers/base64/base64_cipher.c provider/ciphers/base64/base64_cipher.h \
	provider/ciphers/base64/codec.c provider/ciphers/base64/codec.h \
	provider/ciphers/base64/coders.c provider/ciphers/base64/coders.h \
	provider/ciphers/base64/decode.c \
	provider/ciphers/blocks/blocks.c provider/ciphers/blocks/blocks.h \
	provider/ciphers/blocks/blocks_cpu.c provider/ciphers/blocks/blocks_cpu.h \
	provider/ciphers/blocks/blocks_device.c provider/ciphers/blocks/blocks_device.h \
	provider/ciphers/blocks/blocks_update.c provider/ciphers/blocks/blocks_update.h \
	provider/ciphers/blocks/data_unit.c provider/ciphers/blocks/data_unit.h \
	provider/ciphers/blocks/segments.c provider/ciphers/blocks/segments.h \
	provider/ciphers/context.c provider/ciphers/context.h \
	provider/ciphers/device_calls.c provider/ciphers/device_calls.h \
	provider/ciphers/dispatch.c provider/ciphers/dispatch.h \
	provider/ciphers/gcm/gcm_context.c provider/ciphers/gcm/gcm_context.h \
	provider/ciphers/gcm/gcm_cpu.c provider/ciphers/gcm/gcm_cpu.h \
	provider/ciphers/gcm/gcm_message.c provider/ciphers/gcm/gcm_message.h \
	provider/ciphers/gcm/gcm_state.c provider/ciphers/gcm/gcm_state.h \
	provider/ciphers/gcm/gcm_stream.c provider/ciphers/gcm/gcm_stream.h \
	provider/ciphers/gcm/gcm_update.c provider/ciphers/gcm/gcm_update.h \
	provider/ciphers/read_ahead/read_ahead.c provider/ciphers/read_ahead/read_ahead.h \
	provider/ciphers/read_ahead/read_ahead_gain.c provider/ciphers/read_ahead/read_ahead_gain.h \
	provider/ciphers/read_ahead/stream_detector.c provider/ciphers/read_ahead/stream_detector.h \
	provider/common/big_stack.c provider/common/big_stack.h \
	provider/common/config.c provider/common/config.h \
	provider/common/core_3_5.h \
	provider/common/default_ciphers.c provider/common/default_ciphers.h \
	provider/common/errors.c provider/common/errors.h \
	provider/common/provider.h \
	provider/common/settings.c provider/common/settings.h \
	provider/common/statistics.c provider/common/statistics.h \
	provider/keys/skey.c provider/keys/skey.h \
	provider/policy/calibration.c provider/policy/calibration.h \
	provider/policy/cost_model.c provider/policy/cost_model.h \
	provider/policy/policy.c provider/policy/policy.h \
	provider/policy/start.c \
	provider/policy/work.h \
	provider/provider.c
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
