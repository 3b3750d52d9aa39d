"""Encrypted formats of other programs, read and written by the queue. Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0"""
