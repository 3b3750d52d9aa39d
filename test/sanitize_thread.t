#!/usr/bin/perl
# The test programs with threads of their own, under ThreadSanitizer.
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Sanitize;

Sanitize::run('tsan', 'thread', 'thread');
