/*
 * Whether to call again what failed.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_TOOL_COMMON_AGAIN_H
#define GPUAES_TOOL_COMMON_AGAIN_H

#include <poll.h>

/*
 * After read() or write() has failed, with errno set: 1 where a signal came between, and,
 * once there is something to be read or written (POLLIN, POLLOUT), where the other owners
 * of the pipe or terminal have made it one that never waits. Else 0.
 */
int may_try_again(int fd, short events);

#endif
