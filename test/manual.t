#!/usr/bin/perl
# The manual of the library: it formats without a warning, names every function of
# the header, and its example compiles without a warning and runs.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Programs;
use Test::More;

my $manual = slurp("$source/docs/libgpuaes.3");

my @functions = slurp("$source/cuda/gpuaes.h") =~ /^GPUAES_API[^;(]*?(\w+)\(/mg;
cmp_ok(scalar(@functions), '>', 20, 'the header declares functions');
my @missing = grep { $manual !~ /\b\Q$_\E\(/ } @functions;
is("@missing", '', 'each function of the header has its prototype in the manual');

foreach my $page (qw(gpuaes.1 libgpuaes.3 provider-gpuaes.7)) {
  SKIP: {
        skip('groff is not installed', 1) if system('groff --version >/dev/null 2>&1');
        my $result = run(['groff', '-man', '-ww', '-Tutf8', "$source/docs/$page"]);
        is($result->{err}, '', "$page formats without a warning");
    }
}

SKIP: {
    my $compiler = $ENV{CC} // 'cc';
    skip('a sanitizer is not in the example', 3) if $ENV{GPUAES_SANITIZER};
    skip("there is no C compiler ($compiler)", 3) if system("$compiler --version >/dev/null 2>&1");
    my ($example) = $manual =~ /^\.EX\n(.*?)^\.EE$/ms;
    $example =~ s/\\-/-/g;
    $example =~ s/\\e/\\/g;
    spew("$folder/example.c", $example);
    my $compiled = run([split(' ', $compiler), '-std=c11', '-D_POSIX_C_SOURCE=200809L', '-Wall', '-Wextra',
            '-Werror', "-I$source/cuda", '-o', "$folder/example", "$folder/example.c",
            "-L$build/cuda/.libs", '-lgpuaes']);
    is($compiled->{status}, 0, 'the example compiles') or diag($compiled->{err});
    my $result = run(["$folder/example"], env => {LD_LIBRARY_PATH => "$build/cuda/.libs"});
    if (-e '/dev/nvidiactl') {
        is($result->{status}, 0, 'the example ends well') or diag($result->{err});
        like($result->{out}, qr{^\d+\.\d GB/s$}, 'the example prints a rate');
    } else {
        is($result->{status} >> 8, 2, 'without a device the example ends with 2');
        like($result->{err}, qr/^no device: \w/, 'and says why');
    }
}

done_testing();
