#!/usr/bin/perl
# The benchmark works: all parts, quickly, and rows of the shape that is promised.
# Its figures mean nothing here.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Programs;
use Test::More;

my $program = "$build/test/bench/gpuaes_bench";
plan(skip_all => "there is no $program: make bench") if !-x $program;

my $result = run([$program, '--quick'], env => without_gpuaes(), seconds => 300);
is($result->{status}, 0, 'it ends well') or diag($result->{err});

my @lines = split(/\n/, $result->{out});
my ($columns) = grep { /^# part\t/ } @lines;
my @names = split(/\t/, $columns // '');
is(scalar(@names), 12, 'it names 12 columns');
foreach my $label ('date', 'GPU', 'OpenSSL', 'CPU', 'cores', 'start-ms') {
    ok(grep({ /^# $label\s*: \S/ } @lines), "the header names: $label");
}

my (%rows, @wrong);
foreach my $line (grep { !/^#/ } @lines) {
    my @fields = split(/\t/, $line, -1);
    $rows{$fields[0]}++;
    my $number = qr/^-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/;
    push(@wrong, $line)
        if @fields != @names
        || $fields[3] !~ /^\d+$/
        || grep({ $fields[$_] !~ $number } 6, 7, 9, 10)
        || $fields[8] !~ /^(?:ns|us|ms|GB\/s|MiB|KiB)$/
        || $fields[11] !~ /^(?:gpu|cpu|mixed|-)$/;
}
is(scalar(@wrong), 0, 'every row has its columns, and numbers where numbers belong')
    or diag(join("\n", @wrong));

# 9 ciphers, 6 of them in two directions, by 6 lengths; then the others' least.
my %least = (small => 90, bulk => 36, pinned => 1, start => 6, load => 4, base64 => stand_in() ? 0 : 6);
foreach my $part (sort keys %least) {
    cmp_ok($rows{$part} // 0, '>=', $least{$part}, "part $part: " . ($rows{$part} // 0) . ' rows');
}

my $one = run([$program, '--quick', 'load'], env => without_gpuaes(), seconds => 60);
my @parts = grep { !/^#/ && !/^load\t/ } split(/\n/, $one->{out});
ok(!$one->{status} && !@parts, 'a part that is named is run alone');
my $unknown = run([$program, 'everything'], env => without_gpuaes(), seconds => 60);
is($unknown->{status} >> 8, 2, 'an unknown part is refused');
like($unknown->{err}, qr/^usage:/m, 'with the usage');

done_testing();
