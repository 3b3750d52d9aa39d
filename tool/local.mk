# The command gpuaes.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

noinst_LTLIBRARIES += tool/libtool_core.la
tool_libtool_core_la_SOURCES = \
	tool/again.c tool/again.h \
	tool/base64.c \
	tool/base64_decode.c tool/base64_decode.h \
	tool/base64_encode.c tool/base64_encode.h \
	tool/bench.c \
	tool/cipher.c tool/cipher.h \
	tool/ciphers.c tool/ciphers.h \
	tool/configuration.c tool/configuration.h \
	tool/describe.c tool/describe.h \
	tool/doctor.c \
	tool/enc.c \
	tool/enc_options.c tool/enc_options.h \
	tool/info.c \
	tool/json.c tool/json.h \
	tool/key.c tool/key.h \
	tool/library.c tool/library.h \
	tool/mapped.c tool/mapped.h \
	tool/message.c \
	tool/number.c tool/number.h \
	tool/offload.c tool/offload.h \
	tool/offload_model.c tool/offload_model.h \
	tool/output.c tool/output.h \
	tool/password.c tool/password.h \
	tool/pipeline.c tool/pipeline.h \
	tool/progress.c tool/progress.h \
	tool/rates.c tool/rates.h \
	tool/replacement.c tool/replacement.h \
	tool/shard.c tool/shard.h \
	tool/source.c tool/source.h \
	tool/suggest.c tool/suggest.h \
	tool/tool.h \
	tool/turns.c tool/turns.h \
	tool/words.c tool/words.h \
	provider/common/settings.c provider/common/settings.h
tool_libtool_core_la_CPPFLAGS = $(AM_CPPFLAGS) $(tool_cppflags)
tool_cppflags = -DMODULES_FOLDER='"$(modulesdir)"' \
	-DINSTALLED_CNF='"$(sysconfdir)/gpuaes.cnf"'
$(tool_libtool_core_la_OBJECTS): folders

bin_PROGRAMS += tool/gpuaes
tool_gpuaes_SOURCES = tool/main.c
tool_gpuaes_LDADD = tool/libtool_core.la cuda/libgpuaes.la $(LDADD)

completionsdir = $(datadir)/bash-completion/completions
dist_completions_DATA = tool/completions/gpuaes
zshcompletionsdir = $(datadir)/zsh/site-functions
dist_zshcompletions_DATA = tool/completions/_gpuaes
fishcompletionsdir = $(datadir)/fish/vendor_completions.d
dist_fishcompletions_DATA = tool/completions/gpuaes.fish
