#!/usr/bin/perl
# The Python package: two runs of pytest over test/python/, of which each test is a line here. On the
# emulator, device memory is the emulator's (device_arrays.py), and the package's libgpuaes is in the module
# under test; on a card, PyTorch, CuPy and JAX are tried where they are installed.
#
# GPUAES_TEST_PYTEST: more arguments of pytest, such as "-k random".
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Python;
use Test::More;
use Text::ParseWords qw(shellwords);

plan(skip_all => 'the default provider stands in') if stand_in();
plan(skip_all => 'a sanitizer is not in the programs that load the library') if $ENV{GPUAES_TEST_SANITIZER};
my $why = python_lacks('pytest>=8');
plan(skip_all => $why) if $why;

# Where the tests have another Python than the user, all other programs are still the user's.
mkdir("$folder/own") or die "$folder/own: $!";
chmod(0755, spew("$folder/own/openssl", "#!/bin/sh\n"));
{
    local $ENV{PATH} = "$folder/own:$ENV{PATH}";
    is(run(['/bin/sh', '-c', 'command -v openssl'], env => {python_environment()})->{out}, "$folder/own/openssl\n", 'programs are those of PATH');
}

# One run of pytest, of which each test is a line. pytest ends with 1 where a test failed, which has its line, and with 5
# where a file skips all that it has, which has its line, or the arguments choose none. Anything else is of pytest itself,
# or a signal that ended it.
sub pytest
{
    my ($name, $environment, @tests) = @_;
    my $tap = spew("$folder/tap", '');
    my $run = run(['python3', '-m', 'pytest', '-p', 'no:cacheprovider', '-W', 'error::pytest.PytestUnraisableExceptionWarning',
            '-W', 'error::pytest.PytestUnhandledThreadExceptionWarning', "--basetemp=$folder/pytest",
            shellwords($ENV{GPUAES_TEST_PYTEST} // ''), @tests],
        env => {%$environment, GPUAES_TEST_TAP => $tap}, seconds => 1800);
    diag($1) if $run->{out} =~ /^(GPUAES_TEST_SEED=\d+)$/m;
    my @lines = split(/\n/, slurp($tap));
    foreach my $line (@lines) {
        if ($line =~ /^ok (.*?) # SKIP (.*)$/) {
            SKIP: { skip("$1: $2", 1) }
        } elsif ($line =~ /^(not )?ok (.*)$/) {
            ok(!$1, $2);
        } else {
            diag($line =~ s/^# //r);
        }
    }
    my @ends = (0, 1, @lines || $ENV{GPUAES_TEST_PYTEST} ? 5 : ());
    ok((grep { $run->{status} == $_ << 8 } @ends), "pytest came to its end: $name") or diag(substr("$run->{out}$run->{err}", -5000));
    return;
}

my $with_pyarrow = "$FindBin::Bin/test_parquet_pyarrow.py";
pytest('all others', {python_environment()}, $FindBin::Bin, "--ignore=$with_pyarrow");
# pyarrow comes with NumPy 2, and Debian has NumPy 1, which computes with other types.
my @with_numpy = -d "$build/pyarrow" ? map { "$FindBin::Bin/test_$_.py" } 'columns', 'batch', 'random' : ();
pytest('with pyarrow', {pyarrow_environment()}, $with_pyarrow, @with_numpy);
done_testing();
