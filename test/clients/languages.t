#!/usr/bin/perl
# With the sample configuration: Ruby's openssl, ciphers, keys, TLS 1.2 with CBC; and Python's package
# cryptography, Debian's, which uses the system's libcrypto, and that of the python3 on PATH, which may
# bring its own.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Client;
use Programs;
use Test::More;

needs();
# What finds an installation, what it runs, and how many bytes of CBC encryption and TLS it has us do.
my @clients = (
    [['ruby', '-e', 'require "openssl"; puts "ruby"'], "$FindBin::Bin/openssl_client.rb", 7_000_000],
    map { [[$_, '-c', 'import cryptography; print(cryptography.__file__)'], "$FindBin::Bin/cryptography_client.py", 0] }
        '/usr/bin/python3', grep { -x } map { "$_/python3" } split(/:/, $ENV{PATH}));
my %found;
foreach my $client (@clients) {
    my ($find, $program, $unsuited) = @$client;
    my $is = run($find, env => without_gpuaes());
    next if $is->{status} || $found{$is->{out}}++;
    my $language = $find->[0];
    my $stock = run([$language, $program], env => without_gpuaes());
    good($stock, "$language: it works without us");
    foreach (['with every default', {GPUAES_MIN_BYTES => 'auto'}, 'cpu-bytes'], ['with each block on the GPU', {}, 'gpu-bytes'])
    {
        my ($how, $env, $figure) = @$_;
        my $ours = run([$language, $program], env => with_gpuaes(%$env));
        good($ours, "$language, $how: it ends well");
        is($ours->{out}, $stock->{out}, "$language, $how: the same results");
        cmp_ok(total($ours->{err}, $figure), '>=', 15_000_000, "$language, $how: $figure");
        cmp_ok(total($ours->{err}, 'cpu-bytes-unsuited'), '>=', $unsuited, "$language, $how: what is serial by us on the CPU")
            if $unsuited;
        is(total($ours->{err}, 'faults'), 0, "$language, $how: no fault");
    }
}
plan(skip_all => 'neither is installed (Debian: ruby, python3-cryptography)') if !%found;

done_testing();
