/*
 * The command gpuaes: what its subcommands share.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_H
#define GPUAES_TOOL_H

/* The subcommands. Each returns the exit status. */
int enc_command(int argc, char **argv);
int dec_command(int argc, char **argv);
int base64_command(int argc, char **argv);
int info_command(int argc, char **argv);
int doctor_command(int argc, char **argv);
int bench_command(int argc, char **argv);

/* What messages begin with: "gpuaes enc", say. */
extern const char *tool_name;

/* Says what is wrong on stderr, and returns 0. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, with what OpenSSL has to say, if anything. */
int complain_openssl(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What OpenSSL says of its last error, as a sentence; "" if there was none. Forgets it. */
const char *openssl_reason(void);

#endif
