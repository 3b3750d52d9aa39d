# What cuda/, provider/ and tool/ share: headers that know neither CUDA nor OpenSSL.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0

noinst_HEADERS = base/clock.h base/counter.h base/gcm.h base/key_size.h base/minmax.h
