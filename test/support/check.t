#!/usr/bin/perl
# `make check TESTS=...` builds the programs that it names and no others; a script gets all of them.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Programs qw(:DEFAULT good);
use Test::More;

plan(skip_all => 'the sources are not built here') if !-f "$build/Makefile";

# Which of two programs would be compiled, if both had changed.
sub compiled
{
    my ($tests) = @_;
    my @changed = map { ('-W', "$source/test/unit/$_.c") } qw(policy_test stream_detector_test);
    # Their names in the Makefile begin with $(srcdir), as make has it.
    my ($srcdir) = slurp("$build/Makefile") =~ /^srcdir = (.*)$/m;
    s{^\Q$source\E}{$srcdir} foreach @changed;
    my $made = run(['make', '-n', '-C', $build, @changed, 'check', @$tests], seconds => 300);
    good($made, join(' ', 'make check', @$tests));
    return join(' ', grep { $made->{out} =~ m{ -c .*\btest/unit/$_\.c\b} } qw(policy_test stream_detector_test));
}

is(compiled(['TESTS=test/unit/policy_test']), 'policy_test', 'a program: it alone');
is(compiled(['TESTS=test/unit/stream_detector_test test/unit/policy_test']), 'policy_test stream_detector_test', 'two of them: both');
is(compiled(['TESTS=test/includes.t']), 'policy_test stream_detector_test', 'a script: all programs');
is(compiled([]), 'policy_test stream_detector_test', 'all tests: all programs');

done_testing();
