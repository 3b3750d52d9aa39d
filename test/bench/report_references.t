#!/usr/bin/perl
# The report on a run with the parts that repeat what others published: their figures
# stand beside ours. The run is made up here.
#
# Copyright 2026 The gpuaes Authors. SPDX-License-Identifier: Apache-2.0
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../support", "$FindBin::Bin/../../bench";
use Programs;
use Published;
use Test::More;

my ($gnuplot) = grep { -x $_ } map { "$_/gnuplot" } split(/:/, $ENV{PATH});
my @columns = qw(part cipher operation statistic bytes memory placement devices threads ours reference
    unit ratio spread cpu_ours cpu_reference processor against);

# ---- A run -------------------------------------------------------------------------

my @lines;
sub add
{
    my (%row) = @_;
    %row = (statistic => 'median', bytes => 0, placement => 'out of place', devices => 1, threads => 1, unit => '-', %row);
    $row{ratio} //= sprintf('%.4g', $row{ours} / $row{reference}) if $row{reference};
    push(@lines, join("\t", map { $row{$_} // '-' } @columns));
    return;
}

# Half a millisecond for a MiB by the plain encoder, and so on; the library takes 0.4.
foreach my $mib (1, 12, 24, 36) {
    my $bytes = $mib * $MIB - $mib * $MIB % 3;
    my %how = (part => 'encoders', cipher => 'BASE64', bytes => $bytes, unit => 'ms', reference => 0.4 * $mib);
    add(%how, operation => "encode, $_->[0]", memory => $_->[1], ours => $_->[2] * $mib)
        foreach ['plain', 'pageable', 0.5], ['synchronous', 'pageable', 0.25], ['asynchronous', 'pageable', 0.125],
        ['asynchronous', 'pinned', 0.05];
}
foreach my $exponent (3 .. 8) {
    my %how = (part => 'offload', cipher => 'BASE64', bytes => 3 * 10**$exponent, memory => 'pinned', unit => 'GB/s',
        statistic => 'sustained');
    add(%how, operation => "encode, $_->[0]", ours => $exponent * $_->[1])
        foreach ['scalar', 3], ['vector', 4], ['libgpuaes', 8], ['EVP_EncodeBlock', 0.5];
}
add(part => 'offload-streams', operation => 'encode, scalar', bytes => 3e8, threads => $_, ours => 20 * (2 - 1 / $_),
    reference => 20, unit => 'GB/s', against => 'one stream') foreach 2, 4, 8, 16, 32;
foreach my $case (['nothing', 70, 71, 72], ['encode, scalar', 120, 130, 140]) {
    my ($operation, @watts) = @$case;
    add(part => 'power', operation => $operation, statistic => $_->[0], ours => $_->[1], unit => 'W')
        foreach ['least', $watts[0]], ['mean', $watts[1]], ['most', $watts[2]];
}
foreach my $bytes (65536, 1 << 30) {
    my %how = (part => 'files', cipher => 'AES-256-ECB', operation => 'encrypt', bytes => $bytes, unit => 'GB/s');
    add(%how, memory => 'pageable', ours => 10, reference => 6);
    add(%how, memory => $_->[0], threads => 16, ours => $_->[1], reference => 20)
        foreach ['device', 700], ['pinned', 49], ['pageable', 11];
}
add(part => 'files', cipher => 'AES-256-CTR', operation => 'encrypt, gpuaes enc', bytes => 1 << 30, memory => 'tmpfs',
    ours => 4, reference => 1, spread => 0.01, unit => 'GB/s', against => 'openssl enc');
foreach my $bytes (4096, 1 << 30) {
    my %how = (part => 'tables', cipher => 'AES-128-CTR', bytes => $bytes, unit => 'GB/s');
    my $rate = log($bytes >> 10);
    foreach my $tables ('constant, 1 table', 'constant, 4 tables', 'shared, 1 table', 'shared, 4 tables',
        'shared, 1 table x 16', 'shared, 1 table x 32', 'read-only, 1 table', 'read-only, 4 tables') {
        add(%how, operation => $tables, memory => 'device', ours => $rate * 10, reference => $rate * 80);
        add(%how, operation => "$tables, resident", memory => 'device', ours => $rate * 20, reference => $rate * 80);
        add(%how, operation => $tables, memory => 'pinned', ours => 15, reference => 48);
    }
    add(%how, operation => 'gpuaes, large', memory => 'device', ours => 1000, processor => 'large');
}
add(part => 'reads', operation => $_->[0], memory => $_->[1], bytes => 1024, ours => $_->[2], unit => 'Gword/s')
    foreach ['coherent', 'constant', 4000], ['random', 'constant', 200], ['coherent', 'shared', 3900], ['random', 'shared', 1000];
my %expansion = (part => 'expansion', cipher => 'AES-128', bytes => 16, unit => 'ns');
add(%expansion, operation => 'on the CPU', ours => 250, reference => 150, against => 'EVP_EncryptInit_ex, OpenSSL 3.0.13');
add(%expansion, operation => 'on the device, 1024 keys', memory => 'device', ours => 9, reference => 250);
add(%expansion, operation => 'message, key expanded in each block', cipher => 'AES-128-CTR', bytes => 65536, unit => 'us',
    memory => 'device', ours => 12, reference => 8);
add(part => 'batch', cipher => 'AES-256-CTR', operation => 'encrypt', bytes => $_->[0], memory => 'device', ours => $_->[1],
    reference => 100, against => 'one call over the same bytes') foreach [256, 60], [8192, 104];

my $tsv = spew("$folder/run.tsv", join("\n", "# date: 2026-11-21", '# GPU: Some GPU, of today', '# OpenSSL: OpenSSL 3.0.13 x',
        '# CPU: Some CPU', '# ' . join("\t", @columns), @lines, ''));

# ---- Its figures ---------------------------------------------------------------------

SKIP: {
    skip('gnuplot is not installed', 3) if !$gnuplot;
    my $plot = run(["$source/bench/plot", $folder, $tsv]);
    is($plot->{status}, 0, 'the figures are drawn') or diag($plot->{err});
    my @names = ('encoders', 'offload', 'offload-streams', 'files', 'tables', 'tables-transfers', 'tables-ours');
    is(join(' ', grep { $plot->{out} !~ /^$_$/m } @names), '', "each of them: @names");
    is(join(' ', grep { $_ ne 'files' && slurp("$folder/$_.svg") !~ /published/ } @names), '', 'with what was published');
}

# ---- Its tables ------------------------------------------------------------------------

my $report = run(["$source/bench/report", "--figures=$folder", $tsv]);
is($report->{status}, 0, 'the report is written') or diag($report->{err});
is($report->{err}, '', 'without a complaint');

sub has_row
{
    my ($row, $what) = @_;
    return like($report->{out}, qr/^\| \Q$row\E \|$/m, $what);
}
has_row('36 MiB | 18.0 / 1826 | 9.00 / 141 | 4.50 / 113 | 1.80 / 113 | 14.4 / 349', 'Base64 of 36 MB');
has_row('1 MiB | 0.5 / 52 | 0.25 / 5 | 0.12 / 5 | 0.05 / 5 | 0.4 / 3', 'and of 1 MB');
has_row('3 KB | 9.00 / 0.64 | 12.0 / 0.65 | 24.0 | 1.50', 'Base64 of 3 KB over the bus');
has_row('300 MB | 24.0 / 10.85 | 32.0 / 10.81 | 64.0 | 4.00', 'and of 300 MB');
has_row('8 | 37.5 | 1.88 / 1.7 | 23 % / 21 %', 'streams, with speed-up and efficiency');
has_row('encode, scalar | 120 | 130 | 140', 'power, least, mean and most');
has_row('1 GiB, encrypt | 6.00 | 20.0 | 700 | 49.0 | 11.0 | 35.0', 'a file beside one core and all');
has_row('1 GiB | tmpfs | 4.00 | 1.00 | 4.00 | 0.01', 'a file by the command');
has_row('shared, 4 tables | 139 | 277 | 15.0', 'tables in shared memory');
has_row('gpuaes, `large` | - | 1000 | -', 'a family of ours');
has_row('gpuaes, as it chooses | - | 1109 | 48.0', 'and what is chosen');
has_row('published: shared, 4 tables | 1.93 | - | 0.86', 'beside what was published');
has_row('1 KiB, coherent | 4000 | 3900 | -', 'coherent reads');
has_row('1 KiB, random | 200 | 1000 | -', 'random reads');
has_row('AES-128 | 250 | 150', 'a key on the CPU');
has_row('1024 | 9.00 / 250 | - | -', 'many keys on the device');
has_row('64 KiB | AES-128-CTR | 12.0 | 8.00 | 1.5', 'a key that each block expands');
has_row('8 KiB | 22 % | none', 'descriptors that cost nothing');
has_row('256 B | 45 % | 40 %', 'and that do');
has_row('AES-256, the kernel alone, times all cores of the CPU | 25 | 35.0 | 1.40', 'in short: times what was published');
has_row('Base64 of 36 MB of pageable memory, asynchronous, ms | 113 | 4.50 | 25.1', 'and of times, the other way round');

# ---- A run without them -------------------------------------------------------------------

my $none = spew("$folder/none.tsv", join("\n", '# ' . join("\t", @columns), grep({ /gpuaes enc/ } @lines), $lines[-1], ''));
$report = run(["$source/bench/report", "--figures=$folder/none", $none]);
is($report->{err}, '', 'a run without them is reported without a complaint');
like($report->{out}, qr/\*Not in this run: part `$_`/, "and not measured is: $_")
    foreach 'encoders', 'offload', 'offload-streams', 'power', 'files', 'tables', 'reads', 'expansion';
has_row('36 MiB | - / 1826 | - / 141 | - / 113 | - / 113 | - / 349', 'what was published stands there');
has_row('AES-128-CTR without transfers, GB/s | 1.93 | not measured | -', 'and what was not measured is said');

done_testing();
