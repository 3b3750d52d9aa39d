#!/usr/bin/perl
# What measures all parts of the benchmark: files that have the names of the card and of a set; nothing, and a
# reason, without a GPU. Pages are made of the files of one card.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use File::Basename qw(basename);
use FindBin;
use lib "$FindBin::Bin/../support";
use Programs;
use Python;
use Test::More;

my $emulated = ($ENV{OPENSSL_MODULES} // '') =~ m{/emulated/?$};
my $program = "$build/bench/gpuaes_bench" . ($emulated ? '_emulated' : '');
plan(skip_all => "there is no $program: make bench-programs") if !-x $program;
plan(skip_all => 'the default provider has no GPU') if stand_in();

my $to = "$folder/kept so far";
mkdir($to);
sub measure_all
{
    my ($settings, @sets) = @_;
    my $env = without_gpuaes(GPUAES_EMULATOR => 'devices=2', GPUAES_TIMEOUT_MS => 600000, %$settings);
    return run(["$source/bench/measure_all", "--program=$program", "--to=$to", '--flags=--quick', @sets],
        env => $env);
}
sub kept { return join(' ', map { basename($_) } glob("'$to'/*")) }

SKIP: {
    skip('needs the emulator', 6) if !$emulated;
    my $none = measure_all({GPUAES_EMULATOR => 'nodriver=1'});
    isnt($none->{status}, 0, 'without a GPU it fails');
    like($none->{err}, qr/^There is no GPU: .+\. Nothing is measured\.$/, 'and says why');
    is($none->{out} . kept(), '', 'and measures nothing');

    # A set that fails keeps no other from being measured.
    my $more = measure_all({GPUAES_EMULATOR => 'devices=2,idle-kernels=1'}, 'random', 'devices');
    isnt($more->{status}, 0, 'where a set fails, it fails');
    like($more->{err}, qr/^measure_all: the set random failed/m, 'and names the set');
    is(kept(), 'emulated_gpu_0-random.tsv.new emulated_gpu_0-x2.tsv', 'after it has measured the others');
    unlink(glob("'$to'/*"));
}

my $result = measure_all({}, 'batch');
SKIP: {
    skip('there is no GPU', 4) if $result->{err} =~ /^There is no GPU/;
    is($result->{status}, 0, 'one set is measured') or diag($result->{err});
    my ($card) = $result->{out} =~ /^([a-z0-9_]+)\n$/;
    is(kept(), ($card // '') . '-batch.tsv', 'into a file that has the name of the card, which it prints');
    my $rows = slurp("$to/" . kept());
    like($rows, qr/^batch\t/m, 'with its rows');
    like($rows, qr/^# GPU: (?!none)/m, 'and the card');
}

# The command, which is a program of its own.
my $tool = measure_all({}, 'tool');
SKIP: {
    skip('there is no GPU', 3) if $tool->{err} =~ /^There is no GPU/;
    is($tool->{status}, 0, 'the command is measured') or diag($tool->{err});
    my $rows = slurp("$to/" . $tool->{out} =~ s/\n//r . '-tool.tsv');
    like($rows, qr/^tool\tAES-256-CTR\tencrypt\t/m, 'with its rows');
    is(join(' ', $rows =~ /^# (\w+)/mg), join(' ', slurp("$to/" . $tool->{out} =~ s/\n//r . '-batch.tsv') =~ /^# (\w+)/mg),
        'and the head that a set of gpuaes_bench has: of one GPU');
}

SKIP: {
    my $lacks = python_lacks('numpy');
    skip($lacks, 2) if $lacks;
    my $python = measure_all({python_environment()}, 'python');
    skip('there is no GPU', 2) if $python->{err} =~ /^There is no GPU/;
    is($python->{status}, 0, 'the Python package is measured') or diag($python->{err});
    my $rows = slurp("$to/" . $python->{out} =~ s/\n//r . '-python.tsv');
    my @what = ('encrypt a tensor', 'a call, and a wait for the device', 'random bytes', 'random uniforms', 'random normals');
    is(join(', ', grep { $rows !~ /^python\t\S+\t\Q$_\E\tmedian\t/m } @what), '', 'with its rows');
}

SKIP: {
    my %python = pyarrow_environment();
    my $lacks = python_lacks(\%python, 'numpy', 'cryptography');
    skip($lacks, 2) if $lacks;
    my $formats = measure_all(\%python, 'formats');
    skip('there is no GPU', 2) if $formats->{err} =~ /^There is no GPU/;
    is($formats->{status}, 0, 'formats are measured') or diag($formats->{err});
    my $rows = slurp("$to/" . $formats->{out} =~ s/\n//r . '-formats.tsv');
    my @what = ('Tink, segments of 1024 KiB: encrypt', 'Tink, segments of 4 KiB: decrypt', 'LMCache, 9 blocks: encrypt',
        'LMCache, 9 blocks: decrypt, described before', 'load a checkpoint');
    push(@what, 'load CryptoTensors') if !python_lacks(\%python, 'cryptotensors');
    push(@what, 'Parquet, pages of 64 KiB: decrypt a file of 8', 'Parquet, pages of 4 KiB: decrypt 256, described before')
        if !python_lacks(\%python, 'pyarrow.parquet.encryption');
    is(join(', ', grep { $rows !~ /^formats\t\S+\t\Q$_\E\tmedian\t/m } @what), '', 'with rows: ' . join(', ', @what));
}

# Whichever program measured.
SKIP: {
    my @kept = glob("'$to'/*.tsv");
    skip('nothing was measured', 1) if !@kept;
    my $revision = slurp("$build/revision");
    is(join(' ', grep { slurp($_) !~ /^# \Q$revision\E/m } @kept), '', 'files name the revision of the build: ' . scalar(@kept));
}

# A part that no set has is not measured at all.
my ($parts) = run([$program, '--help'])->{out} =~ /^Parts,.*?:\n(.*)/ms;
my ($sets) = slurp("$source/bench/measure_all") =~ /^my \@sets = \((.*?)\);/ms;
my @parts = $parts =~ /^  (\S+) /mg;
cmp_ok(scalar(@parts), '>', 20, 'there are parts');
is(join(' ', grep { my $part = $_; !grep { $_ eq $part } split(/[^\w-]+/, $sets) } @parts), '', 'each of which is in a set');

my $unknown = measure_all({}, 'everything');
isnt($unknown->{status}, 0, 'an unknown set is refused');
like($unknown->{err}, qr/there is no set everything/, 'with a reason');

done_testing();
