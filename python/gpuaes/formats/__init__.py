"""Encrypted formats of other programs, read and written.

Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
"""
