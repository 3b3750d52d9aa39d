#!/usr/bin/perl
# Ruby's openssl with the sample configuration: ciphers, keys, TLS 1.2 with CBC.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Client;
use Programs;
use Test::More;

my ($ruby) = needs(ruby => 'ruby');
my $program = "$FindBin::Bin/openssl_client.rb";

my $stock = run([$ruby, $program], env => without_gpuaes());
good($stock, 'it works without us');
foreach (['with every default', {GPUAES_MIN_BYTES => 'auto'}, 'cpu-bytes'], ['with each block on the GPU', {}, 'gpu-bytes'])
{
    my ($how, $env, $figure) = @$_;
    my $ours = run([$ruby, $program], env => with_gpuaes(%$env));
    good($ours, "$how: it ends well");
    is($ours->{out}, $stock->{out}, "$how: the same results");
    cmp_ok(total($ours->{err}, $figure), '>=', 15_000_000, "$how: $figure");
    cmp_ok(total($ours->{err}, 'cpu-bytes-unsuited'), '>=', 7_000_000, "$how: CBC encryption and TLS by us on the CPU");
    is(total($ours->{err}, 'faults'), 0, "$how: no fault");
}

done_testing();
