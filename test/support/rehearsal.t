#!/usr/bin/perl
# The module that gets installed, and test programs of a card, before a libcuda.so.1 made of
# the emulator: what test/emulated/gpuaes.so leaves out, which has the emulator within it.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Basename qw(dirname);
use FindBin;
use lib $FindBin::Bin;
use Programs;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
my $program = "$source/test/with_emulated_driver";

# Where it cannot work it says why: folders that lack one thing after another, and a user without namespaces.
my $part = "$folder/part";
mkdir("$folder/bin") && mkdir($part) or die "$part: $!";
chmod(0755, spew("$folder/bin/unshare", "#!/bin/sh\nexit 1\n"));
my $refused = sub {
    my ($said, $name, @arguments) = @_;
    my $result = run([$program, @arguments], env => {PATH => "$folder/bin:$ENV{PATH}"});
    is($result->{status} >> 8, 77, "$name: it is not run");
    like($result->{err}, qr/^with_emulated_driver: $said/m, 'and why is said');
};
$refused->(qr/usage: with_emulated_driver BUILD COMMAND\.\.\.$/, 'no command', $part);
$refused->(qr/\Q$folder\E\/nowhere is no build folder$/, 'no build folder', "$folder/nowhere", 'true');
foreach my $file ('provider/.libs/gpuaes.so', 'test/emulated/gpuaes.so', 'test/faulty/libcuda.so.1') {
    $refused->(qr/\Q$part\/$file\E is missing: run make there/, "no $file", $part, 'true');
    system('mkdir', '-p', dirname("$part/$file"));
    spew("$part/$file", '');
}
$refused->(qr/\Q$part\E was built without kernels: /, 'no kernels', $part, 'true');
mkdir("$part/cuda");
spew("$part/cuda/kernels.fatbin", '');
$refused->(qr/this user may not have a mount namespace here$/, 'no namespaces', $part, 'true');

my @rehearse = ($program, $build);
my $probe = run([@rehearse, "$build/tool/gpuaes", 'info']);
if ($probe->{status} == 77 << 8) {
  SKIP: { skip($probe->{err} =~ s/\n.*//sr, 1) }
    done_testing();
    exit(0);
}
is($probe->{status}, 0, 'the command ends well') or diag($probe->{err});
like($probe->{out}, qr/^GPU 0: Emulated GPU 0/m, 'and sees a GPU') or diag($probe->{out});

# Each with what else is in its environment: few cases, for others run them all.
my @programs = (
    ['evp/known_answer_test'],
    ['evp/aes_differential_test'],
    ['evp/async_test'],
    ['evp/base64_test'],
    ['evp/capture_test'],
    ['evp/device_memory_test'],
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
