#!/usr/bin/perl
# Python's package cryptography with the sample configuration: Debian's, which uses the
# system's libcrypto, and that of the python3 on PATH, which may bring its own.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Client;
use Programs;
use Test::More;

my $program = "$FindBin::Bin/cryptography_client.py";
my @have = grep { !system("'$_' -c 'import cryptography' >/dev/null 2>&1") }
    grep { -x } '/usr/bin/python3', map { "$_/python3" } split(/:/, $ENV{PATH});
plan(skip_all => 'cryptography is not installed (Debian: python3-cryptography)') if !@have;
my %is;    # one of each installation
my @pythons = grep { !$is{run([$_, '-c', 'import cryptography; print(cryptography.__file__)'])->{out}}++ } @have;
needs($pythons[0] => 'python3-cryptography');

foreach my $python (@pythons) {
    my $stock = run([$python, $program], env => without_gpuaes());
    good($stock, "$python: it works without us");
    my ($name) = $stock->{out} =~ /^libcrypto: (.*)$/m;
    foreach (['with every default', {GPUAES_MIN_BYTES => 'auto'}, 'cpu-bytes'], ['with each block on the GPU', {}, 'gpu-bytes'])
    {
        my ($how, $env, $figure) = @$_;
        my $ours = run([$python, $program], env => with_gpuaes(%$env));
        good($ours, "$name, $how: it ends well");
        is($ours->{out}, $stock->{out}, "$name, $how: the same results");
        cmp_ok(total($ours->{err}, $figure), '>=', 15_000_000, "$name, $how: $figure");
        is(total($ours->{err}, 'faults'), 0, "$name, $how: no fault");
    }
}

done_testing();
