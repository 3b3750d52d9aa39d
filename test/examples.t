#!/usr/bin/perl
# The examples that use device memory: the C program on a card, the Python program
# with PyTorch where that is installed, and on the emulator with a stand-in for it.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Programs;
use Test::More;

plan(skip_all => 'the default provider stands in') if stand_in();
plan(skip_all => 'a sanitizer is not in the programs that load the module') if $ENV{GPUAES_SANITIZER};

my $emulated = run(['nm', '-D', '--defined-only', "$ENV{OPENSSL_MODULES}/gpuaes.so"])->{out} =~
    /emulator_driver/;
my %environment = (OPENSSL_CONF => '/dev/null', GPUAES_LOG => 'summary', PYTHONDONTWRITEBYTECODE => 1);

sub check
{
    my ($name, $result, $expected) = @_;
    is($result->{status}, 0, "$name ends well") or diag($result->{out}, $result->{err});
    like($result->{out}, $expected, "$name says that the CPU agrees") or diag($result->{err});
    my $bytes = figure($result, 'gpu-bytes') // 0;
    cmp_ok($bytes, '>=', 4 << 20, "$name had the GPU do it");
    return;
}

SKIP: {
    skip('the emulator is no library to link against', 3) if $emulated;
    skip('it was not built: no CUDA toolkit', 3) if !-x "$build/docs/examples/device_memory";
    check('device_memory', run(["$build/docs/examples/device_memory", 4], env => \%environment),
        qr/^the CPU agrees$/m);
}

SKIP: {
    skip('python3 is not installed', 3) if system('python3 -c "import secrets" >/dev/null 2>&1');
    if ($emulated) {
        $environment{PYTHONPATH} = "$source/test/torch_stub";
    } else {
        skip('PyTorch with CUDA is not installed', 3)
            if system('python3 -c "import torch; torch.empty(1, device=\'cuda\')" >/dev/null 2>&1');
    }
    check('torch_tensor.py',
        run(['python3', "$source/docs/examples/torch_tensor.py", 4], env => \%environment),
        qr/^the round trip is right, and the CPU agrees$/m);
}

done_testing();
