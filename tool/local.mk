# The command gpuaes.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

noinst_LTLIBRARIES += tool/libtool_core.la
tool_libtool_core_la_SOURCES = \
	tool/common/again.c tool/common/again.h \
	tool/commands/base64.c \
	tool/commands/commands.h \
	tool/stages/base64.c tool/stages/base64.h \
	tool/stages/cipher.c tool/stages/cipher.h \
	tool/common/configuration.c tool/common/configuration.h \
	tool/commands/doctor.c \
	tool/commands/enc.c \
	tool/commands/enc_options.c tool/commands/enc_options.h \
	tool/commands/info.c \
	tool/keys/key.c tool/keys/key.h \
	tool/common/library.c tool/common/library.h \
	tool/stages/mapped.c tool/stages/mapped.h \
	tool/common/message.c tool/common/message.h \
	tool/common/options.c tool/common/options.h \
	tool/common/place.c tool/common/place.h \
	tool/commands/stream.c tool/commands/stream.h \
	tool/stages/output.c tool/stages/output.h \
	tool/keys/password.c tool/keys/password.h \
	tool/pipeline/pipeline.c tool/pipeline/pipeline.h \
	tool/common/rates.c tool/common/rates.h \
	tool/stages/replacement.c tool/stages/replacement.h \
	tool/commands/shard.c tool/commands/shard.h \
	tool/stages/source.c tool/stages/source.h \
	tool/common/turns.c tool/common/turns.h \
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
