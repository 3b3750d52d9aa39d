#!/usr/bin/perl
# Each device has kernels of messages of a size that its shared memory has room for, among those that are
# compiled for what it runs: by the sources, as there are no such devices here.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Test::More;

# Compute capability: for which one its kernels are compiled (m4/gpuaes_cuda.m4), and KiB of shared memory
# for a block (CUDA C++ programming guide, table of technical specifications per compute capability).
my %devices = (
    '7.5' => [750, 64], '8.0' => [800, 163], '8.6' => [800, 99], '8.7' => [800, 163], '8.9' => [800, 99],
    '9.0' => [900, 227], '10.0' => [1000, 227], '10.3' => [1000, 227], '12.0' => [1200, 99], '12.1' => [1200, 99],
);
my @compiler = split(' ', $ENV{CC} // 'cc');
plan(skip_all => "there is no $compiler[0]") if !grep { -x "$_/$compiler[0]" } '', split(/:/, $ENV{PATH});

# What is compiled: the end of the source says which sizes.
my ($sizes) = slurp("$source/cuda/kernels/aes/message/message.cu") =~ /\n(#if !defined\(__CUDA_ARCH__\).*)/s;
spew("$folder/sizes.cc", $sizes);

sub compiled
{
    my ($arch) = @_;
    my $result = run([@compiler, '-E', '-P', '-D__CUDACC__', "-D__CUDA_ARCH__=$arch", "$folder/sizes.cc"]);
    is($result->{status}, 0, "the sizes for $arch") or diag($result->{err});
    return $result->{out} =~ /^MESSAGE_SIZE\((\w+)/mg;
}

# What the launch asks for: a size has so many tables, blocks of a piece, and warps at least.
my @asked = slurp("$source/cuda/launch/kernels_message.c") =~ /\{"(\w+)", (\d+), (\w+), (\d+)\}/g;
spew("$folder/bytes.c", join("\n", '#include <stdio.h>', '#include "cuda/kernels/common/arguments.h"', 'int main(void) {',
    (map {
        my ($name, $tables, $piece, $warps) = @asked[4 * $_ .. 4 * $_ + 3];
        "printf(\"$name %d\\n\", $tables * AES_TABLE_SHARED + MESSAGE_SBOX_SHARED + MESSAGE_HASH_SHARED + "
            . "$warps * (MESSAGE_ROWS_SHARED($piece) + MESSAGE_REST_SHARED));";
    } 0 .. @asked / 4 - 1), "}\n"));
my $made = run([@compiler, "-I$source", '-o', "$folder/bytes", "$folder/bytes.c"]);
is($made->{status}, 0, 'the bytes of each size') or diag($made->{err});
my %bytes = run(["$folder/bytes"])->{out} =~ /^(\w+) (\d+)$/mg;
is(join(' ', sort keys(%bytes)), 'large middle small', 'the launch knows these sizes');

foreach my $device (sort keys(%devices)) {
    my ($arch, $shared) = @{$devices{$device}};
    my @fitting = grep { ($bytes{$_} // ~0) <= 1024 * $shared } compiled($arch);
    ok(scalar(@fitting), "a device of $device has kernels: @fitting");
}

done_testing();
