#!/usr/bin/perl
# Known answers and more by the kernels of each toolkit that the build has, as drivers of different
# versions load them. On a card the driver must be 580 or newer, which loads all; the emulator does too.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs qw(:DEFAULT gpuaes);
use Test::More;

my $on_emulator = ($ENV{OPENSSL_MODULES} // '') =~ m{/emulated/?$};
plan(skip_all => 'the module is a stand-in') if stand_in();
plan(skip_all => 'there is no device') if !$on_emulator && !-e '/dev/nvidiactl';

# Of "gpuaes 0.3.0, CUDA 13.5 sm_90a compute_90, 12.9 sm_90a".
my $built = run([$gpuaes_command, 'info', '--quick'], env => with_gpuaes());
my ($kernels) = $built->{out} =~ /^gpuaes [^,]*, CUDA (.*)/;
$kernels //= '';
plan(skip_all => 'the build has no kernels') if $kernels eq 'none';
is($built->{status}, 0, 'what the build has') or diag($built->{err});
my @majors = $on_emulator ? (13, 12) : map { /^\s*(\d+)/ ? $1 : () } split(/,/, $kernels);
note("kernels: $kernels");

# The others run on the emulator often enough.
my @programs = qw(test/evp/known_answer_test);
push(@programs, qw(test/evp/aes_differential_test test/evp/base64_test test/evp/gcm_test
    test/evp/xts_test test/evp/device_memory_test test/api/queue_test test/api/random_test))
    if !$on_emulator;

foreach my $major (@majors) {
    my $info = run([$gpuaes_command, 'info', '--quick'], env => with_gpuaes(GPUAES_IMAGE => $major));
    like($info->{out}, qr/^GPU 0: .*, kernels of CUDA $major\./m, "the kernels of CUDA $major are loaded");
    foreach my $program (@programs) {
        my $result = run(["$build/$program"], env => without_gpuaes(GPUAES_IMAGE => $major));
        is($result->{status}, 0, "$program by kernels of CUDA $major") or diag($result->{out}, $result->{err});
    }
}
my $none = run([$gpuaes_command, 'info', '--quick'], env => with_gpuaes(GPUAES_IMAGE => 11));
unlike($none->{out}, qr/^GPU \d/m, 'no kernels of CUDA 11 are loaded');
like($none->{out}, qr/^GPU: none: GPUAES_IMAGE is "11", expected the major version of a toolkit/m, 'which is said');

done_testing();
