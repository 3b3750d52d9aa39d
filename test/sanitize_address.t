#!/usr/bin/perl
# All test programs under AddressSanitizer and UndefinedBehaviorSanitizer.
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Sanitize;

Sanitize::run('asan', 'address', 'address,undefined');
