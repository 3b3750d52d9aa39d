#!/usr/bin/perl
# Builds the project under each sanitizer, for the tests that make check-all runs there. It begins
# before the quick tests, and so is ready when they are.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Programs;
use Sanitize;
use Test::More;

skip_if_configured();
Sanitize::build_all();
done_testing();
