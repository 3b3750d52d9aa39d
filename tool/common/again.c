/*
 * Whether to call again what failed.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#include "tool/common/again.h"

#include <errno.h>

int may_try_again(int fd, short events)
{
    struct pollfd wanted = {.fd = fd, .events = events};
    return errno == EINTR || (errno == EAGAIN && (poll(&wanted, 1, -1) > 0 || errno == EINTR));
}
