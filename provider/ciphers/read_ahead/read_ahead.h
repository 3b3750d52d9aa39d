/*
 * CTR updates from keystream that a device makes ahead of them; see struct read_ahead_door.
 *
 * Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef GPUAES_PROVIDER_CIPHERS_READ_AHEAD_READ_AHEAD_H
#define GPUAES_PROVIDER_CIPHERS_READ_AHEAD_READ_AHEAD_H

#include "provider/ciphers/context.h"

extern const struct read_ahead_door read_ahead;

#endif
