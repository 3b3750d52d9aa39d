#!/usr/bin/perl
# test/on_gpu_tool, which measures the command on a card, works: quickly, without a device. It
# prints rows that can be read, and finds out where something else comes out.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib ("$FindBin::Bin/../support", "$FindBin::Bin/../../bench");
use Programs;
use Results;
use Test::More;

plan(skip_all => "coreutils' base64 is not installed") if run(['base64', '--version'])->{out} !~ /coreutils/;
plan(skip_all => 'a sanitizer would measure for long') if $ENV{GPUAES_TEST_SANITIZER};

sub measure
{
    my (%env) = @_;
    return run(['sh', '-c', 'cd "$0" && exec "$@"', $build, "$source/test/on_gpu_tool", '--quick'],
        env => {GPUAES_POLICY => 'cpu', OPENSSL_MODULES => $ENV{OPENSSL_MODULES} // "$build/provider/.libs", %env});
}

my $result = measure();
is($result->{status}, 0, 'it ends well') or diag($result->{err});
my $table = read_results(spew("$folder/tool.tsv", $result->{out}));
my @rows = rows_like($table, part => 'tool', unit => 'GB/s');
cmp_ok(scalar(@rows), '>=', 12, 'there are rows');
my $kind = $rows[0]{memory};    # tmpfs, where that has room
is(scalar(grep { !($_->{ours} > 0) } @rows), 0, 'each with a rate');
foreach (['AES-256-CTR', 'encrypt'], ['AES-256-CBC', 'encrypt'], ['AES-256-CBC', 'decrypt'], ['BASE64', 'encode'], ['BASE64', 'decode'])
{
    my ($cipher, $operation) = @$_;
    my ($row) = rows_like($table, cipher => $cipher, operation => $operation, memory => $kind, threads => 8);
    cmp_ok($row->{ratio} // 0, '>', 0, "$cipher $operation is compared with another program: $row->{against}");
}

# Another base64, which is wrong in a byte.
mkdir("$folder/bin");
spew("$folder/bin/base64", "#!/bin/sh\nPATH=\${PATH#*:}\nbase64 \"\$@\" | sed 's/A/B/'\n");
chmod(0755, "$folder/bin/base64");
my $other = measure(PATH => "$folder/bin:$ENV{PATH}");
is($other->{status} >> 8, 1, 'other bytes are an error');
like($other->{err}, qr/^on_gpu_tool: BASE64 encode, .*: not the same bytes$/m, 'which is named');

# Another df, which knows of no room.
spew("$folder/bin/df", "#!/bin/sh\necho Avail Type\necho 10 tmpfs\n");
chmod(0755, "$folder/bin/df");
unlink("$folder/bin/base64");
my $full = measure(PATH => "$folder/bin:$ENV{PATH}");
is($full->{status}, 0, 'without room it ends well') or diag($full->{err});
like($full->{out}, qr/^# skipped: tool: there is no room for files of \d+ bytes$/m, 'and says what it skipped');
unlike($full->{out}, qr/^tool\t/m, 'and measures no files');

done_testing();
