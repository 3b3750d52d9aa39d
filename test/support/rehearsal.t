#!/usr/bin/perl
# The module that gets installed, and test programs of a card, before a libcuda.so.1 made of
# the emulator: what test/emulated/gpuaes.so leaves out, which has the emulator within it.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Programs;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
my @rehearse = ("$source/test/with_emulated_driver", $build);
my $probe = run([@rehearse, "$build/tool/gpuaes", 'info']);
plan(skip_all => 'there are no namespaces, or no overlays, for us') if $probe->{status} == 77 << 8;
plan(skip_all => 'the module was built without CUDA: it has no kernels')
    if $probe->{out} =~ /without the CUDA toolkit/;

is($probe->{status}, 0, 'the command ends well') or diag($probe->{err});
like($probe->{out}, qr/^GPU 0: Emulated GPU 0/m, 'and sees a GPU') or diag($probe->{out});

# Each with what else is in its environment: few cases, for others run them all.
my @programs = (
    ['evp/aes_known_answer_test'],
    ['evp/aes_differential_test'],
    ['evp/async_test'],
    ['evp/base64_test'],
    ['evp/capture_test'],
    ['evp/device_memory_test'],
    ['evp/gcm_known_answer_test'],
    ['process/neighbours_test'],
    ['process/read_ahead_threads_test'],
    ['tool/base64.t'],
    ['process/two_libcryptos_test'],
    ['fault/faults_test', GPUAES_TEST_EVERY => 20]);
foreach my $case (@programs) {
    my ($program, %environment) = @$case;
    my @command = $program =~ /\.t$/ ? ($^X, "$source/test/$program") : "$build/test/$program";
    my $result = run([@rehearse, @command], env => {GPUAES_TEST_CASES => 30, %environment});
    my $held = () = $result->{out} =~ /^ok (?!.*# SKIP)/mg;
    ok($result->{status} == 0 && $held > 0 && $result->{out} !~ /^not ok (?!.*# TODO)/m,
        "$program: $held assertions")
        or diag($result->{err}, grep { /^not ok/ } split(/^/m, $result->{out}));
}
done_testing();
