/*
 * The subcommands. Each returns the exit status.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMANDS_COMMANDS_H
#define GPUAES_TOOL_COMMANDS_COMMANDS_H

typedef int command_fn(int argc, char **argv);
command_fn enc_command, dec_command, base64_command, info_command, doctor_command;

#endif
