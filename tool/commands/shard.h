/*
 * A part of a stream: from an offset on, so many bytes, such that the parts put together
 * are what the whole would have been.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMANDS_SHARD_H
#define GPUAES_TOOL_COMMANDS_SHARD_H

#include "tool/commands/enc_options.h"
#include "tool/stages/cipher.h"
#include "tool/stages/source.h"

/* Whether this cipher can do such a part at all, with these options. It says why not. */
int shard_check(const struct enc_options *options, const struct cipher_job *job);

/* Goes there: the input to the offset, the job to its position. As above. */
int shard_enter(const struct enc_options *options, struct source *source, struct cipher_job *job);

#endif
